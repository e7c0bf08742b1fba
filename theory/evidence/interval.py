r"""A measurement is an interval.

An :class:`Interval` encloses a real number and says by what right (:class:`Kind`). Its arithmetic rounds outward, so
the sum, product or quotient of enclosures encloses the sum, product or quotient; the result keeps the weaker kind. A
bare number is exact and leaves the kind alone. There is no comparison: ``a < b`` of two enclosures may be unknown,
and only :mod:`theory.evidence.judge` may decide.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import IntEnum
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias

import numpy as np


class Kind(IntEnum):
    """How the width of an interval was obtained, from the strongest to the weakest."""

    PROVED = 0
    """On a whole stated box, or symbolically."""
    CERTIFIED = 1
    """On each listed instance, by a two-sided enclosure."""
    NUMERIC = 2
    """On each listed instance, by an a-priori rounding bound."""
    ESTIMATED = 3
    """On each listed instance, if the stated multiple of the difference of two computations bounds the error of one."""
    TREND = 4
    """In the limit, if the levels seen are asymptotic."""
    STATISTICAL = 5
    """With a stated probability."""


def as_kind(value: Kind, name: str = "kind") -> Kind:
    """Convert a number of a kind to the kind."""
    if type(value) is not Kind and type(value) is not int:
        raise TypeError(f"{name}: expected a Kind, got {type(value).__name__}")
    try:
        return Kind(value)
    except ValueError as error:
        raise ValueError(f"{name}: expected a Kind, got {value!r}") from error


_LARGEST = sys.float_info.max
_WHOLE = 2**53  # the largest range of consecutive integers that floats hold
Number: TypeAlias = "Interval | int | float | Fraction | np.floating | np.integer"


def _below(value: float) -> float:
    return math.nextafter(value, -math.inf)


def _above(value: float) -> float:
    return math.nextafter(value, math.inf)


def _real(value: object, name: str) -> int | float | Fraction:
    """Return an exactly known number as Python has it; NumPy's own types would round what they are combined with."""
    if isinstance(value, float):
        return float(value)
    if isinstance(value, (np.floating, np.integer)):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction)):
        raise TypeError(f"{name}: expected an Interval or a real number, got {type(value).__name__}")
    return value


def _finite(value: int | float | Fraction, name: str) -> int | float | Fraction:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name}: expected a finite number, got {value!r}")
    return value


def _bracket(value: int | float | Fraction) -> tuple[float, float]:
    """Return the two floats nearest to an exact number, equal if it is a float."""
    if isinstance(value, float):
        return value, value
    try:
        near = float(value)
    except OverflowError:
        return (_LARGEST, math.inf) if value > 0 else (-math.inf, -_LARGEST)
    exact = Fraction(near)
    return (near if exact <= value else _below(near)), (near if exact >= value else _above(near))


@dataclass(frozen=True, slots=True)
class Interval:
    """An enclosure ``lo <= truth <= hi`` of one real number.

    Parameters
    ----------
    lo, hi : real
        Ends, in the unit of the quantity, rounded outward to floats; an infinite end means that this side is
        unbounded.
    kind : Kind, default Kind.NUMERIC
        By what right the truth lies inside.

    Raises
    ------
    ValueError
        If an end is NaN, the ends are reversed, or the interval holds no real number.
    """

    ENCLOSES: ClassVar[bool] = True
    lo: float
    hi: float
    kind: Kind = Kind.NUMERIC

    def __post_init__(self) -> None:
        object.__setattr__(self, "lo", _bracket(_real(self.lo, "lo"))[0])
        object.__setattr__(self, "hi", _bracket(_real(self.hi, "hi"))[1])
        if type(self.kind) is not Kind:
            object.__setattr__(self, "kind", as_kind(self.kind))
        if not self.lo <= self.hi or self.lo == math.inf or self.hi == -math.inf:
            raise ValueError(f"lo, hi: expected lo <= hi with a real number between, got {self.lo!r}, {self.hi!r}")

    @classmethod
    def exactly(cls, value: int | float | Fraction, kind: Kind = Kind.CERTIFIED) -> Interval:
        """Enclose an exactly known number; only a number that is no float gets a width."""
        return cls(*_bracket(_finite(_real(value, "value"), "value")), kind)

    @classmethod
    def within(cls, value: float, error: float, kind: Kind = Kind.NUMERIC) -> Interval:
        """Enclose the truth behind a finite ``value`` that is off by at most ``error``, which may be infinite."""
        centre, reach = _real(value, "value"), _real(error, "error")
        _finite(centre, "value")  # an overflow would satisfy every lower bound
        if not reach >= 0.0:
            raise ValueError(f"error: expected a non-negative bound, got {error!r}")
        if not (isinstance(centre, float) and isinstance(reach, float)):
            slack = cls.exactly(reach, kind)
            return cls.exactly(centre, kind) + cls(-slack.hi, slack.hi, kind)
        if reach == 0.0:
            return cls(centre, centre, kind)
        return cls(_below(centre - reach), _above(centre + reach), kind)

    @classmethod
    def printed(cls, digits: str, kind: Kind = Kind.NUMERIC) -> Interval:
        """Enclose a number quoted to a few digits: half a unit of the last one on either side."""
        if not isinstance(digits, str):
            raise TypeError(f"digits: expected the text of a number, got {type(digits).__name__}")
        try:
            quoted = Decimal(digits)
            half = Fraction(10) ** int(quoted.as_tuple().exponent) / 2
        except (InvalidOperation, ValueError) as fault:  # the exponent of a NaN or an infinity is a letter
            raise ValueError(f"digits: expected a decimal number, got {digits!r}") from fault
        return cls(_bracket(Fraction(quoted) - half)[0], _bracket(Fraction(quoted) + half)[1], kind)

    @classmethod
    def unknown(cls, kind: Kind = Kind.NUMERIC) -> Interval:
        """Return the whole line: what could not be measured."""
        return cls(-math.inf, math.inf, kind)

    @classmethod
    def largest(cls, values: Iterable[Interval]) -> Interval:
        """Enclose the largest of several enclosed numbers."""
        if not isinstance(values, Iterable):
            raise TypeError(f"values: expected intervals, got {type(values).__name__}")
        seen = list(values)
        for value in seen:
            if not isinstance(value, Interval):
                raise TypeError(f"values: expected intervals, got {type(value).__name__}")
        if not seen:
            raise ValueError("values: expected at least one interval, got none")
        return cls(max(v.lo for v in seen), max(v.hi for v in seen), max(v.kind for v in seen))

    @property
    def mid(self) -> float:
        """The middle, or an end or zero if the interval is unbounded."""
        if math.isinf(self.lo) or math.isinf(self.hi):
            return 0.0 if math.isinf(self.lo) and math.isinf(self.hi) else self.hi if math.isinf(self.lo) else self.lo
        return min(max(self.lo / 2 + self.hi / 2, self.lo), self.hi)  # halves of subnormal numbers round

    @property
    def width(self) -> float:
        """An upper bound of ``hi - lo``."""
        return 0.0 if self.lo == self.hi else _above(self.hi - self.lo)

    def __contains__(self, value: int | float | Fraction) -> bool:
        """Tell whether an exactly known number lies inside."""
        return self.lo <= _real(value, "value") <= self.hi

    def __neg__(self) -> Interval:
        return made(-self.hi, -self.lo, self.kind)

    def __abs__(self) -> Interval:
        if self.lo >= 0.0:
            return self
        if self.hi <= 0.0:
            return -self
        return made(0.0, max(-self.lo, self.hi), self.kind)

    def __add__(self, other: Number) -> Interval:
        if _is_array(other):
            return NotImplemented
        b = enclose(other)
        lo = self.lo + b.lo if self.lo == 0.0 or b.lo == 0.0 else _below(self.lo + b.lo)  # adding zero is exact
        hi = self.hi + b.hi if self.hi == 0.0 or b.hi == 0.0 else _above(self.hi + b.hi)
        return made(lo, hi, max(self.kind, b.kind))

    def __sub__(self, other: Number) -> Interval:
        if _is_array(other):
            return NotImplemented
        b = enclose(other)
        lo = self.lo - b.hi if self.lo == 0.0 or b.hi == 0.0 else _below(self.lo - b.hi)
        hi = self.hi - b.lo if self.hi == 0.0 or b.lo == 0.0 else _above(self.hi - b.lo)
        return made(lo, hi, max(self.kind, b.kind))

    def __mul__(self, other: Number) -> Interval:
        if _is_array(other):
            return NotImplemented
        b = enclose(other)
        kind = max(self.kind, b.kind)
        ends = (self.lo, self.hi, b.lo, b.hi)
        if 0.0 not in ends:
            corners = (self.lo * b.lo, self.lo * b.hi, self.hi * b.lo, self.hi * b.hi)
            return made(_below(min(corners)), _above(max(corners)), kind)
        return _hull_of([(0.0, True) if 0.0 in (x, y) else (x * y, False) for x in ends[:2] for y in ends[2:]], kind)

    def __truediv__(self, other: Number) -> Interval:
        if _is_array(other):
            return NotImplemented
        b = enclose(other)
        kind = max(self.kind, b.kind)
        if b.lo <= 0.0 <= b.hi:
            return made(-math.inf, math.inf, kind)
        if self.lo != 0.0 and self.hi != 0.0 and b.lo != -math.inf and b.hi != math.inf:
            corners = (self.lo / b.lo, self.lo / b.hi, self.hi / b.lo, self.hi / b.hi)
            return made(_below(min(corners)), _above(max(corners)), kind)
        return _hull_of(
            [
                (0.0, True) if x == 0.0 or math.isinf(y) else (x / y, False)
                for x in (self.lo, self.hi)
                for y in (b.lo, b.hi)
            ],
            kind,
        )

    def __pow__(self, exponent: int) -> Interval:
        if isinstance(exponent, bool) or not isinstance(exponent, int) or exponent < 0:
            raise ValueError(f"exponent: expected a non-negative integer, got {exponent!r}")
        base = abs(self) if exponent % 2 == 0 else self
        power = Interval.exactly(1.0, self.kind)
        for _ in range(exponent):
            power = power * base
        return Interval(max(power.lo, 0.0), power.hi, power.kind) if exponent % 2 == 0 else power

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        from theory.evidence.outward import apply  # noqa: PLC0415  which makes what it answers of this class

        return apply(ufunc, method, inputs, options)

    def sqrt(self) -> Interval:
        """Enclose the square root of a number known to be non-negative."""
        if self.hi < 0.0:
            raise ValueError(f"sqrt: expected a number that may be non-negative, got {self}")
        root = math.sqrt(max(self.lo, 0.0))
        return made(max(_below(root), 0.0), _above(math.sqrt(self.hi)), self.kind)

    def __radd__(self, other: Number) -> Interval:
        return self + other

    def __rsub__(self, other: Number) -> Interval:
        return -self + other

    def __rmul__(self, other: Number) -> Interval:
        return self * other

    def __rtruediv__(self, other: Number) -> Interval:
        return enclose(other) / self

    def __str__(self) -> str:
        if self.lo == self.hi:
            return f"{self.lo:.6g}"
        if self.width < 1e-6 * abs(self.mid):
            return f"{self.mid:.10g} +- {self.width / 2:.1e}"
        return f"[{self.lo:.6g}, {self.hi:.6g}]"


_set_lo, _set_hi, _set_kind = (vars(Interval)[name].__set__ for name in Interval.__slots__)


def made(lo: float, hi: float, kind: Kind) -> Interval:
    """Return the interval between two floats, of which only their order is checked."""
    if not lo <= hi or lo == math.inf or hi == -math.inf:
        raise ValueError(f"lo, hi: expected lo <= hi with a real number between, got {lo!r}, {hi!r}")
    new = object.__new__(Interval)
    _set_lo(new, lo)
    _set_hi(new, hi)
    _set_kind(new, kind)
    return new


_OWN = {Interval, float, int}


def _hull_of(corners: list[tuple[float, bool]], kind: Kind) -> Interval:
    """Return the interval around computed corners, of which the exact ones need no step outward."""
    lo = min(c if exact else _below(c) for c, exact in corners)
    return made(lo, max(c if exact else _above(c) for c, exact in corners), kind)


def _is_array(value: object) -> bool:
    """Tell whether NumPy's rules combine an interval with this value."""
    if type(value) in _OWN:  # as most are
        return False
    return hasattr(value, "__array_ufunc__") and not isinstance(value, (Interval, np.generic))


def enclose(value: Number, name: str = "operand") -> Interval:
    """Return an interval as it is, the hull of a ball, or an exact number as an interval of the strongest kind."""
    if isinstance(value, Interval):
        return value
    if type(value) is int and abs(value) <= _WHOLE:
        value = float(value)
    if type(value) is float and math.isfinite(value):
        return made(value, value, Kind.PROVED)
    if hasattr(value, "rad"):
        from theory.evidence.enclosure import hull  # noqa: PLC0415  loads FLINT, which has made the ball

        return hull(value)
    return Interval(*_bracket(_finite(_real(value, name), name)), Kind.PROVED)
