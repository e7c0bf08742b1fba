r"""Arrays of which every entry is an enclosure: the error travels with the numbers.

An :class:`Intervals` is an array of :class:`~theory.evidence.interval.Interval`, held as two arrays of ends and one
kind. NumPy's operators and functions act on it by the rules of :mod:`theory.evidence.outward`, so that a formula which
is written for floats encloses its value when it is asked with enclosures, and no width is derived by hand. *The type of
the question decides the type of the answer*: an instrument asked with floats answers floats, asked with
:func:`exact` numbers it answers enclosures. What has no rule raises: comparisons, and conversion to floats.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from math import isfinite, isnan
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_real, frozen
from theory.evidence.interval import Interval, Kind, as_kind, enclose, made
from theory.evidence.roundoff import U

Array = NDArray[np.float64]
_ROUNDINGS = 16.0  # taken: floats that are off by so many times the widest enclosure are at fault
_WHOLE = 2**53  # the largest range of consecutive integers that floats hold
QUIET = partial(np.errstate, all="ignore")  # an overflow is an infinite end, which is what is known


@cache
def _rules() -> Any:
    """Return the module of the rules, which makes what it answers of the class below."""
    from theory.evidence import outward  # noqa: PLC0415

    return outward


def compiled() -> Any:
    """Return the module of the compiled rules if something has loaded the compiler; else None.

    They answer the same bits, and loading it takes longer than they save in a few thousand operations.
    """
    return _loops() if "theory._jit" in sys.modules else None


@cache
def _loops() -> Any:
    from theory.evidence import compiled as loops  # noqa: PLC0415

    return loops if loops.READY else None


def _operators(ufunc: Any, name: str) -> tuple[Any, Any]:
    """Return an operator and its reflection, which ask NumPy only where other operands have a say."""
    ahead, behind = (getattr(NDArrayOperatorsMixin, f"__{side}{name}__") for side in ("", "r"))

    def operator(self: Any, other: Any) -> Any:
        return _rules().combine(ufunc, self, other) if type(other) in _OPERANDS else ahead(self, other)

    def reflected(self: Any, other: Any) -> Any:
        return _rules().combine(ufunc, other, self) if type(other) in _OPERANDS else behind(self, other)

    return operator, reflected


class Intervals(NDArrayOperatorsMixin):
    """An array of enclosures of one kind; the index of one entry gives an :class:`Interval`.

    Parameters
    ----------
    lo, hi : array_like
        Ends, of one shape; infinite where a side is unbounded.
    kind : Kind, default Kind.NUMERIC
        By what right the truths lie inside.

    Raises
    ------
    ValueError
        If the shapes differ, an end is NaN, ends are reversed, or an entry holds no real number.
    """

    ENCLOSES = True
    __slots__ = ("hi", "kind", "lo")
    lo: Array
    hi: Array
    kind: Kind

    def __init__(self, lo: ArrayLike, hi: ArrayLike, kind: Kind = Kind.NUMERIC) -> None:
        self.kind = as_kind(kind)
        self.lo = _settled(_as_ends(lo, "lo"))
        self.hi = self.lo if hi is lo else _settled(_as_ends(hi, "hi"))
        if self.lo.shape != self.hi.shape:
            raise ValueError(f"hi: expected the shape of lo, {self.lo.shape}, got {self.hi.shape}")
        sound = (self.lo <= self.hi) & (self.lo < np.inf) & (self.hi > -np.inf)
        if not sound.all():
            at = tuple(int(k) for k in np.argwhere(~sound)[0])
            raise ValueError(
                f"lo, hi: expected lo <= hi with a real number between, got {self.lo[at]!r}, {self.hi[at]!r} at {at}"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self.lo.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.lo.ndim

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.lo.size

    @property
    def T(self) -> Any:  # noqa: N802  NumPy's own name
        """The array with its axes reversed."""
        return self.each(np.transpose)

    @property
    def is_exact(self) -> bool:
        """Whether the numbers are known exactly."""
        return self.hi is self.lo

    @property
    def mid(self) -> Array:
        """The middles, with which compiled code is asked; zero where an entry is unknown."""
        if self.is_exact:
            return self.lo
        loops = compiled()
        middles: Array | None = loops.middle(self.lo, self.hi) if loops else None
        if middles is not None:
            return middles
        with QUIET():
            middle = np.clip(self.lo / 2 + self.hi / 2, self.lo, self.hi)  # halves of subnormal numbers round
        return np.where(np.isfinite(middle), middle, 0.0)

    @property
    def radius(self) -> Array:
        """Bounds on the distance of a truth from its middle."""
        return self.radius_about(self.mid)

    def radius_about(self, middle: Array) -> Array:
        """Bound the distances of the truths from middles that :attr:`mid` has answered."""
        if self.is_exact:
            return np.zeros(self.shape)
        loops = compiled()
        bounds: Array | None = loops.radius(self.lo, self.hi, middle) if loops else None
        if bounds is not None:
            return bounds
        with QUIET():
            reach = np.maximum(middle - self.lo, self.hi - middle)
            return np.where(reach == 0.0, 0.0, np.nextafter(reach, np.inf))

    @property
    def width(self) -> Array:
        """Upper bounds of ``hi - lo``."""
        with QUIET():
            return np.where(self.lo == self.hi, 0.0, np.nextafter(self.hi - self.lo, np.inf))

    def each(self, view: Callable[[Array], Any]) -> Any:
        """Apply to both ends what moves entries and changes none, such as a transposition."""
        lo = view(self.lo)
        return bounded_by(lo, lo if self.is_exact else view(self.hi), self.kind)

    def reshape(self, *shape: Any) -> Any:
        """Return the same entries in another shape."""
        return self.each(lambda ends: ends.reshape(*shape))

    def ravel(self) -> Any:
        """Return the entries in a row."""
        return self.reshape(-1)

    def sum(self, axis: Any = None, dtype: None = None, out: None = None, keepdims: bool = False) -> Any:
        """Enclose the sum along an axis."""
        _refuse_places(dtype, out)
        return self._reduced(np.add, axis, keepdims)

    def mean(self, axis: Any = None, dtype: None = None, out: None = None, keepdims: bool = False) -> Any:
        """Enclose the mean along an axis."""
        _refuse_places(dtype, out)
        total = self.sum(axis=axis, keepdims=keepdims)
        return total / (self.size // getattr(total, "size", 1))

    def max(self, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
        """Enclose the largest entry along an axis."""
        _refuse_places(None, out)
        return self._reduced(np.maximum, axis, keepdims)

    def min(self, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
        """Enclose the smallest entry along an axis."""
        _refuse_places(None, out)
        return self._reduced(np.minimum, axis, keepdims)

    def _reduced(self, ufunc: Any, axis: Any, keepdims: bool) -> Any:
        return _rules().reduced(ufunc, self, axis, keepdims)

    def __len__(self) -> int:
        return len(self.lo)

    def __getitem__(self, at: Any) -> Any:
        return self.each(lambda ends: ends[at])

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __contains__(self, values: ArrayLike) -> bool:
        """Tell whether exactly known numbers all lie inside."""
        numbers = np.asarray(values)
        numbers = numbers.astype(object) if numbers.dtype.kind in "iu" else numbers  # floats would round them
        return bool(((self.lo <= numbers) & (numbers <= self.hi)).all())

    def __bool__(self) -> bool:
        raise TypeError("an enclosure is neither true nor false: only theory.evidence.judge may decide")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Intervals: expected an operation that keeps the error (.mid drops it, knowingly)")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return _rules().apply(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        rule = _rules().FUNCTIONS.get(function)
        if rule is None:
            raise TypeError(f"{function.__name__}: expected floats; it has no rule for enclosures")
        return rule(*args, **options)

    __add__, __radd__ = _operators(np.add, "add")
    __sub__, __rsub__ = _operators(np.subtract, "sub")
    __mul__, __rmul__ = _operators(np.multiply, "mul")
    __truediv__, __rtruediv__ = _operators(np.true_divide, "truediv")
    __matmul__, __rmatmul__ = _operators(np.matmul, "matmul")

    def __abs__(self) -> Any:
        return _rules().combine(np.absolute, self)

    def __neg__(self) -> Any:
        return _rules().combine(np.negative, self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Intervals, (self.lo, self.hi, self.kind)

    def __repr__(self) -> str:
        return f"Intervals({self.mid!r} +- {self.radius.max(initial=0.0):.1e}, {self.kind.name})"


_OPERANDS = {
    Intervals,
    Interval,
    np.ndarray,
    np.float64,
    float,
    int,
}  # whose own rule for an operator is that of enclosures


def _as_ends(values: Any, name: str) -> Array:
    """Convert ends to float64; they may be infinite."""
    if type(values) is np.ndarray and values.dtype == np.float64:
        return values
    if type(values) is float:
        return np.array(values) if not isnan(values) else as_real(values, name)
    given = np.asarray(0.0 if isinstance(values, np.ma.MaskedArray) else values, dtype=object)
    infinite = np.array([isinstance(end, (float, np.floating)) and np.isinf(end) for end in given.ravel()], dtype=bool)
    if not infinite.any():
        return as_real(values, name)
    plain = np.array(values, dtype=np.float64)
    as_real(np.where(infinite.reshape(given.shape), 0.0, given).tolist(), name)
    return plain


def _settled(ends: Array) -> Array:
    """Return ends that cannot change under their holder: a copy, unless they are read-only."""
    return frozen(ends) if ends.flags.writeable else ends


def _refuse_places(dtype: Any, out: Any) -> None:
    """Raise where floats of a type, or in an array of floats, were asked for."""
    if dtype is not None or out is not None:
        raise TypeError("dtype, out: enclosures have no such option")


def bounded_by(lo: Any, hi: Any, kind: Kind) -> Any:
    """Return the enclosures between ends that a rule made sound: an array, or an interval where there is no axis."""
    if type(lo) is float or not lo.ndim:
        return made(float(lo), float(hi), kind)
    return unchecked(lo, hi, kind)


def exact(values: ArrayLike, kind: Kind = Kind.CERTIFIED) -> Any:
    """Enclose numbers that are known exactly, so that what is computed from them has its rounding enclosed.

    Parameters
    ----------
    values : array_like
        Finite numbers of any shape and unit; enclosures stay as they are.
    kind : Kind, default Kind.CERTIFIED

    Returns
    -------
    Intervals
        Of the shape of ``values``; an :class:`Interval` of a single number.

    Examples
    --------
    >>> import numpy as np
    >>> x = exact([3.0, 4.0])
    >>> print(np.sqrt((x * x).sum()))
    5 +- 2.2e-15
    """
    kind = kind if type(kind) is Kind else as_kind(kind)
    given: Any = values
    if is_enclosed(given):
        return given
    if type(given) is float and isfinite(given):
        return made(given, given, kind)
    ends = _settled(as_real(given, "values"))
    return bounded_by(ends, ends, kind)


def within(values: ArrayLike, error: ArrayLike, kind: Kind = Kind.NUMERIC) -> Any:
    """Enclose what is behind computed numbers of which each is off by at most its error.

    Parameters
    ----------
    values : array_like
        Finite numbers.
    error : array_like
        Bounds, in the unit of ``values``, broadcast against them; infinite where nothing is known.
    kind : Kind, default Kind.NUMERIC
        By what right the bounds hold.

    Returns
    -------
    Intervals
        Of the shape of ``values``; an :class:`Interval` of a single number.

    Raises
    ------
    ValueError
        If a value is not finite, a bound negative or NaN, or the shapes do not fit.
    """
    kind = as_kind(kind)
    centre = as_real(values, "values")
    reach = _as_ends(error, "error")
    if not (reach >= 0.0).all():
        raise ValueError(f"error: expected non-negative bounds, got {reach[~(reach >= 0.0)].flat[0]}")
    try:
        if reach.shape != centre.shape:
            everywhere = np.empty(centre.shape)
            everywhere[...] = reach
            reach = everywhere
    except ValueError as unfit:
        raise ValueError(f"error: expected bounds that broadcast to {centre.shape}, got {reach.shape}") from unfit
    loops = compiled()
    if loops and loops.in_rows(centre, reach):
        lo, hi = loops.within(centre, reach)
        return bounded_by(lo, hi, kind)
    with QUIET():
        known = reach == 0.0
        lo = np.where(known, centre, np.nextafter(centre - reach, -np.inf))
        hi = np.where(known, centre, np.nextafter(centre + reach, np.inf))
    return bounded_by(lo, hi, kind)


def cover(enclosed: Any, computed: ArrayLike) -> Any:
    """Return the least enclosures that hold the truth and what floats made of it, or what floats made if it is wrong.

    Floats round about as much as the enclosures are wide. Where they are off by many times that, they are at fault, and
    the answer is theirs alone: an enclosure of both would be as wide as the fault, and refute nothing.

    Parameters
    ----------
    enclosed : Interval or Intervals
        Of the truth.
    computed : array_like
        What the same question asked with floats was answered, of the same shape.
    """
    held = as_intervals(enclosed)
    floats = as_real(computed, "computed")
    if not held.size:
        return enclosed
    with QUIET():
        width = held.hi - held.lo
        near = _ROUNDINGS * (np.where(np.isfinite(width), width, 0.0).max() + U * np.abs(floats).max())
        wrong = (floats < held.lo - near) | (floats > held.hi + near)
        lo = np.where(wrong, floats - width, np.minimum(held.lo, floats))
        hi = np.where(wrong, floats + width, np.maximum(held.hi, floats))
    return bounded_by(lo, hi, held.kind)


def as_intervals(value: Any, name: str = "operand") -> Intervals:
    """Return numbers, an interval, balls or enclosures as an array of enclosures.

    Numbers are exact and of the strongest kind, so that they leave the kind of what they are combined with alone.
    """
    if isinstance(value, Intervals):
        return value
    if type(value) is np.ndarray and value.dtype == np.float64:
        return _certain(value, name)
    if type(value) is int and abs(value) <= _WHOLE:
        value = float(value)
    if type(value) is float:
        alone = np.array(value)
        return unchecked(alone, alone, Kind.PROVED) if isfinite(value) else _certain(alone, name)
    if not isinstance(value, (np.ndarray, list, tuple)):
        one = enclose(value, name)
        lo = np.array(one.lo)
        return unchecked(lo, lo if one.lo == one.hi else np.array(one.hi), one.kind)
    entries = value if isinstance(value, np.ndarray) else np.asarray(value, dtype=object)
    if entries.dtype != object or isinstance(value, np.ma.MaskedArray):
        return _certain(as_real(value, name), name)
    return _of_objects(entries, name)


def _of_objects(entries: Any, name: str) -> Intervals:
    """Return an object array of numbers, intervals or balls as an array of enclosures."""
    if any(isinstance(entry, (list, tuple)) for entry in entries.ravel()):
        raise ValueError(f"{name}: expected a rectangular array, got a ragged sequence")
    if entries.size > 1 and all(hasattr(entry, "rad") for entry in entries.flat):
        from theory.evidence.enclosure import ball_ends  # noqa: PLC0415  loads FLINT, which has made the balls

        below, above = ball_ends(entries)
        return unchecked(below, above, Kind.CERTIFIED)
    each = [enclose(entry, name) for entry in entries.ravel()]
    kind = max((entry.kind for entry in each), default=Kind.PROVED)
    lo = np.array([entry.lo for entry in each], dtype=np.float64).reshape(entries.shape)
    hi = np.array([entry.hi for entry in each], dtype=np.float64).reshape(entries.shape)
    return unchecked(lo, lo if np.array_equal(lo, hi) else hi, kind)


def is_enclosed(*values: Any) -> bool:
    """Tell whether a question is asked with enclosures: an interval or an array of them is among the arguments."""
    for value in values:  # noqa: SIM110  instruments ask it of every argument, and a generator takes as long as a sum
        if isinstance(value, (Interval, Intervals)):
            return True
    return False


def weakest(*values: Any) -> Kind:
    """Return the weakest kind of these enclosures, and of a rounding bound: by what right code asked with them errs."""
    kinds: list[Kind] = [value.kind for value in values if is_enclosed(value)]
    return max([Kind.NUMERIC, *kinds])


def _certain(values: Array, name: str) -> Intervals:
    known = np.isfinite(values)
    if np.count_nonzero(known) < values.size:
        raise ValueError(f"{name}: expected finite numbers, got {values[~known].flat[0]}")
    return unchecked(values, values, Kind.PROVED)


def unchecked(lo: Array, hi: Array, kind: Kind) -> Intervals:
    """Return the array of enclosures between ends that a rule made sound, also where there is no axis."""
    new = object.__new__(Intervals)
    new.lo, new.hi, new.kind = lo, hi, kind
    return new
