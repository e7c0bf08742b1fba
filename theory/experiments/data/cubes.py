"""The figure of cubes that all generated bodies share: its surface, and which part of the body every face is.

A row of cubes is a limb; a trunk of 3 by 4 by 2 carries them. The boundary is a closed surface of genus zero.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Cell = tuple[int, int, int]

LABELS = ("head", "torso", "upper arm", "forearm", "hand", "thigh", "shank", "foot")
_HEAD, _TORSO, _UPPER, _FOREARM, _HAND, _THIGH, _SHANK, _FOOT = range(8)


def _cells() -> dict[Cell, int]:
    """Return the cubes of the figure, by their lowest corner, and the part of the body that each belongs to."""
    cells = dict.fromkeys(product(range(3), range(4), range(2)), _TORSO)
    cells |= {(1, y, z): _HEAD for y, z in product(range(4, 8), range(2))}
    for step, part in enumerate((_UPPER, _UPPER, _FOREARM, _FOREARM, _HAND)):
        cells |= {(x, 3, z): part for x, z in product((3 + step, -1 - step), range(2))}
    for step, part in enumerate((_THIGH, _THIGH, _SHANK, _SHANK, _FOOT)):
        cells |= {(x, -1 - step, z): part for x, z in product((0, 2), range(3 if part == _FOOT else 2))}
    return cells


@cache
def template() -> tuple[list[Cell], Integers, Integers]:
    """Return the corners on the boundary of the figure, its triangles, anticlockwise from outside, and their parts."""
    cells = _cells()
    numbers: dict[Cell, int] = {}
    faces, labels = [], []
    for cell, part in cells.items():
        for axis, sign in product(range(3), (-1, 1)):
            beside = list(cell)
            beside[axis] += sign
            if tuple(beside) in cells:
                continue
            one = np.eye(3, dtype=int)[(axis + 1) % 3]
            two = np.eye(3, dtype=int)[(axis + 2) % 3]
            base = np.array(cell) + np.eye(3, dtype=int)[axis] * (sign > 0)
            round_ = [base, base + one, base + one + two, base + two][::sign]
            a, b, c, d = (numbers.setdefault((int(p[0]), int(p[1]), int(p[2])), len(numbers)) for p in round_)
            faces += [(a, b, c), (a, c, d)]
            labels += [part, part]
    return list(numbers), np.array(faces), np.array(labels)
