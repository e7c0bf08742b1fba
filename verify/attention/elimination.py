"""Linear algebra without rounding: the rank of a matrix, by elimination among fractions."""

from fractions import Fraction

import numpy as np


def rank(matrix):
    """The rank of a matrix of floats or integers, each taken as the fraction that it is."""
    rows, found = [[Fraction(x) for x in np.asarray(row).tolist()] for row in matrix], 0
    for column in range(len(rows[0])):
        pivot = next((r for r in range(found, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for r in range(found + 1, len(rows)):
            factor = rows[r][column] / rows[found][column]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[found], strict=True)]
        found += 1
    return found
