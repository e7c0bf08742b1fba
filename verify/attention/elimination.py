"""Linear algebra without rounding: what a matrix of integers is, by elimination among fractions."""

from fractions import Fraction


def rank(matrix):
    """The rank of a matrix of integers, by elimination among fractions."""
    rows, found = [[Fraction(int(x)) for x in row] for row in matrix], 0
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
