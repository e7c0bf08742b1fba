"""Numbers of few bits in software: which there are, and the nearest of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_choice, as_real


class Format(NamedTuple):
    """Significant bits, exponents of the least and largest normal numbers, and the largest number."""

    bits: int
    least: int
    largest: float

    @property
    def unit(self) -> float:
        """Half the distance of one and the next larger number."""
        return float(2.0**-self.bits)

    @property
    def speck(self) -> float:
        """Half the least positive number."""
        return float(2.0 ** (self.least - self.bits))


FORMATS = {
    "float64": Format(53, -1022, float(np.finfo(np.float64).max)),
    "float32": Format(24, -126, float(np.finfo(np.float32).max)),
    "bfloat16": Format(8, -126, 255.0 * 2.0**120),
    "float16": Format(11, -14, 65504.0),
    "e4m3": Format(4, -6, 448.0),  # 480 would be its largest, but that is NaN
}


def round_to(values: ArrayLike, form: str) -> NDArray[np.float64]:
    """Return the nearest numbers of a format, ties to even, subnormal ones kept.

    Parameters
    ----------
    values : array_like
        Rounded as the float64 numbers they are.
    form : {"float64", "float32", "bfloat16", "float16", "e4m3"}
        The last is the format of eight bits with four of exponent, with finite numbers up to 448.

    Raises
    ------
    ValueError
        If a number is rounded beyond the largest of the format.

    Examples
    --------
    >>> round_to([1.0 / 3.0, 1.0 + 2.0**-8], "bfloat16").tolist()
    [0.333984375, 1.0]
    """
    x = as_real(values, "values")
    target = FORMATS[as_choice(form, "form", FORMATS)]
    found = nearest(x, target)
    if not (np.abs(found) <= target.largest).all():
        raise ValueError(f"values: expected numbers of at most {target.largest:g} for {form}, got {np.abs(x).max():g}")
    return found


def nearest(x: Any, target: Format) -> NDArray[np.float64]:
    """Return the nearest numbers of a format, as if its exponents had no end above."""
    place = np.maximum(np.frexp(x)[1] - 1, target.least) - target.bits + 1
    found: NDArray[np.float64] = np.ldexp(np.rint(np.ldexp(x, -place)), place)
    return found
