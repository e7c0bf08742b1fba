r"""Exact sums of doubles.

A double is :math:`k\,2^e` with integers :math:`k, e`. Written on one common grid, finitely many doubles are integers;
their sums, products and comparisons have no rounding, and the only rounding is outward, at the very end.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from theory.evidence import Interval, Kind

_DIGITS = 53  # binary digits of a double


def grid(values: NDArray[np.float64]) -> tuple[list[int], int]:
    """Return integers ``k`` and one exponent ``e <= 0`` such that ``values``, finite, are exactly ``k * 2**e``."""
    fraction, exponent = np.frexp(values)
    digits = np.ldexp(fraction, _DIGITS).astype(np.int64)
    exponent = exponent.astype(np.int64) - _DIGITS
    e = int(exponent.min(where=digits != 0, initial=0))
    shift = np.where(digits == 0, 0, exponent - e)
    return [k << s for k, s in zip(digits.tolist(), shift.tolist(), strict=True)], e


def inner(masses: Iterable[int], values: NDArray[np.float64]) -> Fraction:
    """Return the exact sum of ``masses[k] * values[k]``."""
    steps, e = grid(values)
    return Fraction(sum(mass * step for mass, step in zip(masses, steps, strict=True)), 1 << -e)


def enclosure(lo: Fraction, hi: Fraction) -> Interval:
    """Enclose what lies between two exact numbers; beyond the range of doubles the outer end is infinite."""
    return Interval(Interval.exactly(lo).lo, Interval.exactly(hi).hi, Kind.CERTIFIED)
