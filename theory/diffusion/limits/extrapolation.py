r"""Ladders of bandwidths: what a layer changes per :math:`\varepsilon`, and what is left after extrapolation.

If :math:`A(\varepsilon) = A + c_1\varepsilon + c_2\varepsilon^2 + \dots`, then :math:`R(\varepsilon) =
2A(\varepsilon/2) - A(\varepsilon)` is of second order, and :math:`\frac13(4R(\varepsilon/2) - R(\varepsilon))` of
third (Richardson).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from theory._validate import as_count, as_number
from theory.evidence.interval import Interval, enclose

Levels = Sequence[Sequence[Interval]]  # of the ladder, coarse to fine, and in each the places


def extrapolate(levels: Levels, *, order: int = 1) -> list[list[Interval]]:
    r"""Remove the leading term of order :math:`\varepsilon^k` from values at bandwidths half as large each.

    Parameters
    ----------
    levels : sequence of sequences of Interval
        At least two levels, with equally many places each.
    order : int, default 1
        k.

    Returns
    -------
    list of lists of Interval
        One level less.

    Raises
    ------
    ValueError
        If there are fewer than two levels, a level has more places than another, or ``order`` is not positive.
    """
    _demand(levels, "levels")
    if len(levels) < 2:
        raise ValueError(f"levels: expected at least two, got {len(levels)}")
    if len({len(level) for level in levels}) != 1:
        raise ValueError(f"levels: expected equally many places each, got {[len(level) for level in levels]}")
    power = 2 ** as_count(order, "order")
    return [
        [(power * fine - coarse) / (power - 1) for coarse, fine in zip(before, after, strict=True)]
        for before, after in itertools.pairwise(levels)
    ]


def largest_errors(levels: Levels, truth: Sequence[Interval | float]) -> list[Interval]:
    """Return the largest error of each level over its places.

    Raises
    ------
    ValueError
        If a level has no place or other than as many as the truth.
    """
    _demand(levels, "levels")
    if not isinstance(truth, (list, tuple)):
        raise TypeError(f"truth: expected a sequence of numbers or intervals, got {type(truth).__name__}")
    for target in truth:
        if not isinstance(target, Interval):
            as_number(target, "truth")
    if not truth or any(len(level) != len(truth) for level in levels):
        raise ValueError(f"levels, truth: expected equally many, got {[len(level) for level in levels]}, {len(truth)}")
    return [
        Interval.largest(abs(value - enclose(target)) for value, target in zip(level, truth, strict=True))
        for level in levels
    ]


def _demand(levels: Levels, name: str) -> None:
    """Raise ``TypeError`` unless levels are sequences of intervals."""
    nested = isinstance(levels, (list, tuple)) and all(isinstance(level, (list, tuple)) for level in levels)
    if not nested or not all(isinstance(value, Interval) for level in levels for value in level):
        raise TypeError(f"{name}: expected sequences of intervals, got {type(levels).__name__}")
