r"""Bandwidth studies: what is left of a limit at falling bandwidths, and after extrapolation.

If :math:`A(\varepsilon) = A + c_1\varepsilon + c_2\varepsilon^2 + \dots`, then :math:`R(\varepsilon) =
2A(\varepsilon/2) - A(\varepsilon)` is of second order, and :math:`\frac13(4R(\varepsilon/2) - R(\varepsilon))` of
third (Richardson).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theory._validate import as_count
from theory.evidence import Interval, Intervals, Table, as_intervals
from theory.evidence.interval import enclose

Array = NDArray[np.float64]
Levels: TypeAlias = "Intervals | Sequence[Sequence[Interval]]"  # at falling bandwidths, of every one the places


def read_levels(table: Table, name: str, *, by: str = "epsilon") -> tuple[Array, Intervals]:
    """Return the falling values of one column of a study and, for each, the places of another.

    Parameters
    ----------
    table : Table
        With as many rows, in one order, for each value of ``by``.
    name : str
        A column of intervals.
    by : str, default "epsilon"

    Returns
    -------
    bandwidths : ndarray, shape (m,)
        Falling.
    levels : Intervals, shape (m, n)
    """
    bandwidths = np.unique(table[by])[::-1]
    levels: Intervals = np.stack([table.where(**{by: value})[name] for value in bandwidths.tolist()])  # type: ignore[assignment]
    return bandwidths, levels


def extrapolate(levels: Levels, *, order: int = 1) -> Intervals:
    r"""Remove the leading term of order :math:`\varepsilon^k` from values at bandwidths half as large each.

    Parameters
    ----------
    levels : Intervals, shape (m, n), or sequence of sequences of Interval
        At least two levels, coarse to fine, with n places each.
    order : int, default 1
        k.

    Returns
    -------
    Intervals, shape (m - 1, n)

    Raises
    ------
    ValueError
        If there are fewer than two levels, a level has more places than another, or ``order`` is not positive.
    """
    values = _as_levels(levels, "levels")
    if len(values) < 2:
        raise ValueError(f"levels: expected at least two, got {len(values)}")
    power = 2 ** as_count(order, "order")
    extrapolated: Intervals = (power * values[1:] - values[:-1]) / (power - 1)
    return extrapolated


def largest_errors(levels: Levels, truth: Any) -> Intervals:
    """Return the largest error of each level over its places, shape (m,).

    Parameters
    ----------
    levels : Intervals, shape (m, n), or sequence of sequences of Interval
    truth : Intervals, shape (n,), or sequence of numbers, intervals or balls

    Raises
    ------
    ValueError
        If a level has no place or other than as many as the truth.
    """
    values = _as_levels(levels, "levels")
    target = _as_places(truth)
    if values.shape[1:] != target.shape or not len(target):
        raise ValueError(f"levels, truth: expected equally many places, got shapes {values.shape}, {target.shape}")
    largest: Intervals = abs(values - target).max(axis=1)
    return largest


def _as_levels(levels: Levels, name: str) -> Intervals:
    """Return levels as one array of enclosures, or raise ``TypeError`` if they are none."""
    if isinstance(levels, Intervals):
        return levels
    nested = isinstance(levels, (list, tuple)) and all(isinstance(level, (list, tuple, Intervals)) for level in levels)
    if not nested or not all(isinstance(value, Interval) for level in levels for value in level):
        raise TypeError(f"{name}: expected sequences of intervals, got {type(levels).__name__}")
    counts = [len(level) for level in levels]
    if len(set(counts)) > 1:
        raise ValueError(f"{name}: expected equally many places each, got {counts}")
    return as_intervals([list(level) for level in levels])


def _as_places(truth: Any) -> Intervals:
    """Return what the levels tend to as an array of enclosures."""
    if isinstance(truth, Intervals):
        return truth
    if not isinstance(truth, (list, tuple)) and not isinstance(truth, np.ndarray):
        raise TypeError(f"truth: expected a sequence of numbers or intervals, got {type(truth).__name__}")
    return as_intervals([enclose(target, "truth") for target in truth])
