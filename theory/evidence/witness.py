"""The point where a search ended, as data that is the same on every machine.

A climb ends where rounding lets it end, so two processors find points that differ in their last digits, and so do the
values there. A *witness* is the point rounded to few bits: it is no worse a lower bound, and what is judged is an
enclosure at that point. Rounding first and enclosing after gives up about the square of the rounding at a smooth
maximum (3e-10 of the value at 12 bits), and a move of the last digits crosses the border of a cell seldom: for one of
relative size r, with chance about r times two to the number of bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_positive, as_real

BITS = 12


def coarse(values: ArrayLike, bits: int = BITS) -> NDArray[np.float64]:
    """Round every number to so many significant bits.

    Parameters
    ----------
    values : array_like
        Finite numbers, of any shape and unit.
    bits : int, default 12
        Significant bits that are kept, between 1 and 53.

    Returns
    -------
    ndarray
        The witness, of the shape of ``values``; ties go to the even neighbour.

    Raises
    ------
    ValueError
        If a number is not finite or ``bits`` is out of range.
    """
    real = as_real(values, "values")
    kept = as_count(bits, "bits")
    if kept > 53:
        raise ValueError(f"bits: expected at most 53, got {kept}")
    mantissa, exponent = np.frexp(real)
    rounded: NDArray[np.float64] = np.ldexp(np.round(np.ldexp(mantissa, kept)), exponent - kept)
    return rounded


def first_best(values: Sequence[float], tolerance: float = 1e-9) -> int:
    """Return the number of the first value that is as good as the largest, so that order alone breaks ties.

    Parameters
    ----------
    values : sequence of float
        At least one finite number.
    tolerance : float, default 1e-9
        Relative distance from the largest at which a value counts as equal to it; far above rounding.

    Raises
    ------
    ValueError
        If there is no value, one is not finite, or the tolerance is not positive.
    """
    seen = as_real(values, "values")
    near = as_positive(tolerance, "tolerance")
    if seen.ndim != 1 or seen.size == 0:
        raise ValueError(f"values: expected at least one number in a row, got shape {seen.shape}")
    top = float(seen.max())
    return int(np.flatnonzero(seen >= top - near * abs(top))[0])
