r"""What may be printed of an interval: certified digits only.

A number with an enclosure :math:`[l, h]` is printed by the decimal digits that :math:`l` and :math:`h` share, cut and
never rounded; where a carry runs between the ends (0.99 and 1.01 share none), by both ends, rounded outward. A bound is
rounded away from the truth: an upper one up, a lower one down. The ends are binary fractions, so their decimal
expansions are exact and no digit is guessed.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, Context, Decimal

from theory.evidence.interval import Interval

_SHOWN = 12  # chosen: more digits than a paper prints, fewer than a float64 holds
_ENDS = 18  # derived: 17 digits tell two neighbouring float64 apart
_LOST = 3  # chosen: cutting may hide as many digits, of those that show two of the width, before the ends are better
_BOUND = 2  # chosen: a bound needs its order of magnitude and one digit more
_PLAIN = range(-3, 4)  # decimal exponents written without a power of ten


def at_most(value: float, *, tex: bool = False, figures: int = _BOUND) -> str:
    r"""Return ``value`` rounded up to a few significant digits.

    Examples
    --------
    >>> at_most(3.14159e-14), at_most(3.14159e-14, tex=True), at_most(0.25)
    ('3.2e-14', '3.2\\times10^{-14}', '0.25')
    """
    return _short(value, ROUND_CEILING, tex, figures)


def at_least(value: float, *, tex: bool = False, figures: int = _BOUND) -> str:
    """Return ``value`` rounded down to a few significant digits.

    Examples
    --------
    >>> at_least(0.6666), at_least(-0.6666)
    ('0.66', '-0.67')
    """
    return _short(value, ROUND_FLOOR, tex, figures)


def common(interval: Interval, *, tex: bool = False) -> str:
    """Return the digits on which both ends agree, or both ends rounded outward if those say much more.

    Dots mark where the digits were cut; a number without them is exact.

    Examples
    --------
    >>> common(Interval(1.5346071, 1.5346079)), common(Interval.exactly(0.25)), common(Interval(0.99, 1.01))
    ('1.534607...', '0.25', '[0.9899, 1.011]')
    """
    lo = interval.lo
    hi = interval.hi
    figures = _figures(interval)
    if math.isfinite(lo) and math.isfinite(hi) and (lo > 0.0 or hi < 0.0 or lo == hi):
        a, b = Decimal(lo), Decimal(hi)
        for kept in range(_SHOWN, max(0, min(_SHOWN, figures - _LOST) - 1), -1):
            cut = Context(prec=kept, rounding=ROUND_DOWN)
            shared = cut.plus(a)
            if shared == cut.plus(b):
                exact = shared == a == b
                return _write(shared.normalize() if exact else shared, tex, "" if exact else _dots(tex))
    low = at_least(lo, tex=tex, figures=figures)
    high = at_most(hi, tex=tex, figures=figures)
    return f"[{low}, {high}]"


def _figures(interval: Interval) -> int:
    """Return how many significant digits of the larger end show the width to two digits."""
    if not 0.0 < interval.width < math.inf:
        return _BOUND
    size = max(abs(interval.lo), abs(interval.hi))
    return max(_BOUND, min(_ENDS, Decimal(size).adjusted() - Decimal(interval.width).adjusted() + 2))


def _short(value: float, rounding: str, tex: bool, figures: int) -> str:
    if math.isinf(value):
        return ("-" if value < 0.0 else "") + (r"\infty" if tex else "inf")
    return _write(Context(prec=figures, rounding=rounding).plus(Decimal(value + 0.0)), tex, "")  # no negative zero


def _write(number: Decimal, tex: bool, dots: str) -> str:
    exponent = number.adjusted()
    if number == 0 or exponent in _PLAIN:
        return f"{number:f}{dots}"
    mantissa = f"{number.scaleb(-exponent, Context(prec=_ENDS)):f}{dots}"
    return rf"{mantissa}\times10^{{{exponent}}}" if tex else f"{mantissa}e{exponent:+03d}"


def _dots(tex: bool) -> str:
    return r"\ldots" if tex else "..."
