r"""Compiled: the gaps of a row of scores to its largest one.

A row is read once to see its largest and least score, in integers (:func:`theory.engine.fused.ordered`), which shows
NaN, infinities and masks as well. Its gaps are then formed as :mod:`theory.maxent.batch` says.
"""

from __future__ import annotations

import numpy as np

from theory._jit import njit
from theory.engine.fused import ordered
from theory.engine.pairs import Array
from theory.engine.registers import as_float

FARTHEST = 1.7976931348623157e308  # the largest number
_POSITIVE = 0x7FF0000000000000  # the place of infinity among ordered floats
_NEGATIVE = -0x7FF0000000000001  # and of minus infinity
_BELOW_SIGN = 0x7FFFFFFFFFFFFFFF
_FIRST = -0x8000000000000000
_LAST = 0x7FFFFFFFFFFFFFFF


def _scan(row: Array) -> tuple[int, int]:
    """Return the places of the least and of the largest number of a row among ordered floats."""
    least = _LAST
    most = _FIRST
    for j in range(row.size):
        place = ordered(row[j])
        least = min(least, place)
        most = max(most, place)
    return least, most


def _float_at(place: int) -> float:
    """Return the float at a place among ordered floats; the same turn as there undoes it."""
    return as_float(place ^ ((place >> 63) & _BELOW_SIGN))


def _fill_gaps(row: Array, top: float, tau: float, gaps: Array) -> None:
    """Write the gaps of finite scores over the temperature; what is masked becomes minus infinity, or far away."""
    if tau == 1.0:
        for j in range(row.size):
            gaps[j] = row[j] - top
    else:
        for j in range(row.size):
            gaps[j] = (row[j] - top) / tau


def _fill_wide_gaps(row: Array, top: float, tau: float, gaps: Array) -> None:
    """Do the same where the range overflows, the temperature may bring it back, or an entry is masked."""
    for j in range(row.size):
        gap = row[j] - top
        gap = gap / tau if gap > -np.inf else 2.0 * ((row[j] / 2.0 - top / 2.0) / tau)
        gaps[j] = -np.inf if row[j] == -np.inf else max(gap, -FARTHEST)


scan = njit(_scan)
float_at = njit(_float_at, inline=True)
fill_gaps = njit(_fill_gaps)
fill_wide_gaps = njit(_fill_wide_gaps)


def _read(row: Array, tau: float, gaps: Array) -> int:
    """Write the gaps of a row: 1 if all entries count, 0 if some are masked, 2 if all are, -1 if one is refused."""
    least, most = scan(row)
    if most >= _POSITIVE or least < _NEGATIVE:
        return -1
    if most == _NEGATIVE:
        return 2
    top = float_at(most)
    masked = least == _NEGATIVE
    if masked or not (float_at(least) - top) / tau > -np.inf:
        fill_wide_gaps(row, top, tau, gaps)
    else:
        fill_gaps(row, top, tau, gaps)
    return 0 if masked else 1


read = njit(_read)
