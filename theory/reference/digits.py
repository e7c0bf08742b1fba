r"""Balls as text: decimals that enclose a number, and the number of a float format that is nearest to it.

Both are functions of the true number and not of the ball that was computed: balls are recomputed with more bits until
nothing that is written depends on their radius. So the files are the same on every machine and with every version of
the ball arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory._validate import as_choice
from theory.evidence import precision

DIGITS = 20  # chosen: of an end; the five beyond fifteen keep the width of an answer far below a rounding of float64
BITS = (192, 384, 768, 1536, 3072)  # chosen: what is not settled at the last has an end on the grid, and gets its place
_VANISHING = -332_193  # derived: 2 to this power is just above 10^-100000
VANISHING = "1e-100000"

Answers = Mapping[str, NDArray[Any]]


class Format(NamedTuple):
    """A binary floating-point format: significant bits, exponents of the least and largest normal numbers.

    ``largest`` is the largest number where it is not the one of all bits set.
    """

    bits: int
    least: int
    most: int
    largest: float = math.inf


FORMATS = {
    "binary64": Format(53, -1022, 1023),
    "binary32": Format(24, -126, 127),
    "binary16": Format(11, -14, 15),
    "bfloat16": Format(8, -126, 127),
    "e4m3": Format(4, -6, 8, 448.0),
}


class UnsettledError(ArithmeticError):
    """A ball too wide for what is to be written of it."""


def certified(compute: Callable[[], Answers], form: str = "binary64") -> dict[str, dict[str, Any]]:
    """Return what is written of arrays of balls, computed with as many bits as it takes.

    Parameters
    ----------
    compute : callable
        Returns named arrays whose entries are balls, or infinite floats, from exact numbers, in the precision in force.
    form : {"binary64", "binary32", "binary16", "bfloat16", "e4m3"}
        In which the nearest numbers are given.

    Raises
    ------
    ArithmeticError
        If a number cannot be told from zero, or lies between two numbers of the format for all that is known.
    """
    target = FORMATS[as_choice(form, "form", FORMATS)]
    for bits in BITS:
        with precision(bits):
            found = compute()
            try:
                return {name: _written(values, form, target, last=bits == BITS[-1]) for name, values in found.items()}
            except UnsettledError:
                if bits == BITS[-1]:
                    raise
    raise AssertionError  # the last precision has returned or raised


def _written(values: NDArray[Any], form: str, target: Format, *, last: bool) -> dict[str, Any]:
    entries = np.asarray(values, dtype=object)
    ends = [enclosing_decimals(entry, last=last) for entry in entries.flat]
    return {
        "format": form,
        "shape": list(entries.shape),
        "lo": [lo for lo, _ in ends],
        "hi": [hi for _, hi in ends],
        "nearest": [hexadecimal(nearest_number(entry, target)) for entry in entries.flat],
    }


def hexadecimal(number: float) -> str:
    """Return a float as ``float.fromhex`` reads it, in its shortest form."""
    if not math.isfinite(number):
        return str(number)
    mantissa, _, exponent = float(number).hex().partition("p")
    whole, _, digits = mantissa.partition(".")
    digits = digits.rstrip("0")
    return f"{whole}.{digits}p{exponent}" if digits else f"{whole}p{exponent}"


def enclosing_decimals(entry: Any, *, last: bool = True) -> tuple[str, str]:
    """Return two decimals between which a ball lies, equal if it is one; a number below 10^-100000 is only bounded."""
    if isinstance(entry, float):  # infinite
        return str(entry), str(entry)
    if entry == 0:
        return "0", "0"
    if not (entry > 0 or entry < 0):
        raise UnsettledError(f"expected a number that is not zero, got {entry}")
    size = abs(entry).upper()
    if _exponent(size) < _VANISHING:
        return ("0", VANISHING) if entry > 0 else (f"-{VANISHING}", "0")
    place = math.floor(_exponent(size) * math.log10(2.0)) - DIGITS + 1  # or one more
    if _floor(size, place) >= 10**DIGITS:
        place += 1
    below, above = _floor(entry.lower(), place), -_floor(-entry.upper(), place)
    if above - below > (2 if last else 1):
        raise UnsettledError(f"expected {DIGITS} digits, got {entry}")
    return _decimal(below, place), _decimal(above, place)


def nearest_number(entry: Any, target: Format) -> float:
    """Return the number of a format that is nearest to a ball, ties to even, as a float."""
    if isinstance(entry, float):
        return entry
    if entry == 0:
        return 0.0
    low, high = (_rounded(end, target) for end in (entry.lower(), entry.upper()))
    if low != high:
        raise UnsettledError(f"expected one nearest number, got {entry}")
    return low


def _rounded(end: Any, target: Format) -> float:
    """Round an exact ball."""
    if end == 0:
        return 0.0
    sign, exponent = (1.0 if end > 0 else -1.0), _exponent(end)
    if exponent < target.least - target.bits - 1:
        return sign * 0.0
    mantissa, power = (int(part) for part in abs(end).man_exp())
    place = max(exponent, target.least) - target.bits + 1
    units = round(mantissa * Fraction(2) ** (power - place))  # to even, as Python rounds a fraction
    beyond = units.bit_length() + place > target.most + 1 or math.ldexp(units, place) > target.largest
    return sign * (math.inf if beyond else math.ldexp(units, place))


def _exponent(exact: Any) -> int:
    """Return the exponent of the power of two at or below the size of an exact ball."""
    mantissa, power = exact.man_exp()
    return abs(int(mantissa)).bit_length() + int(power) - 1


def _floor(exact: Any, place: int) -> int:
    """Return how many whole times a power of ten is in an exact ball."""
    mantissa, power = (int(part) for part in exact.man_exp())
    above: int = mantissa * 10 ** max(-place, 0) << max(power, 0)
    below: int = 10 ** max(place, 0) << max(-power, 0)
    return above // below


def _decimal(units: int, place: int) -> str:
    """Return units of a power of ten, without zeros at the end."""
    if units == 0:
        return "0"
    while units % 10 == 0:
        units, place = units // 10, place + 1
    if 0 < place <= DIGITS:
        units, place = units * 10**place, 0
    sign, digits = int(units < 0), tuple(map(int, str(abs(units))))
    return str(Decimal((sign, digits, place))).replace("E", "e").replace("e+", "e")
