r"""The rules by which NumPy's functions act on enclosures, each rounding outward.

A sum of two doubles errs by a double that two-sum computes, so it steps outward only where it rounded. Products,
quotients and roots are rounded correctly, and step one double outward. Functions of the mathematical library step
``EXP_ULPS`` units. A sum of :math:`n` terms, in any order, is off by at most :math:`\gamma_{n-1}\sum|x_i|`. A product
of matrices is Rump's: middles and radii go through BLAS, since :math:`|fl(AB) - AB| \le \gamma_n|A||B| + n\eta` in any
order of its sums, and :math:`AB` moves by at most :math:`|A|R_B + R_A(|B| + R_B)`.

References
----------
N. J. Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., SIAM 2002, sections 3.1, 3.5 and 4.2.
D. E. Knuth, *The Art of Computer Programming*, vol. 2, section 4.2.2, theorem B.
S. M. Rump, Fast and parallel interval arithmetic, *BIT* 39 (1999).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from theory._validate import as_flag, as_index
from theory.evidence.interval import Interval, Kind, made
from theory.evidence.intervals import QUIET, Array, Intervals, as_intervals, bounded_by, compiled, unchecked
from theory.evidence.roundoff import EXP_ULPS, SUBNORMAL, U, gamma

Ends = tuple[Array, Array]
_gamma = lru_cache(4096)(gamma)
STEP = 2 * EXP_ULPS * U  # a unit in the last place is at most 2 U of the number
SLIP = EXP_ULPS * SUBNORMAL
LARGEST = float(np.finfo(np.float64).max)
_MOST = 2**20  # chosen: whole powers up to this one take at most forty products


def _down(x: Any) -> Any:
    return np.nextafter(x, -np.inf)


def _up(x: Any) -> Any:
    return np.nextafter(x, np.inf)


def _two_sum(x: Array, y: Array) -> Ends:
    """Return the rounded sum and its error, exactly; the error is NaN where the sum overflows."""
    total = x + y
    rounded = total - x
    return total, (x - (total - rounded)) + (y - rounded)


def _add(a: Intervals, b: Intervals) -> Ends:
    below, error = _two_sum(a.lo, b.lo)
    lo = np.where(error >= 0.0, below, _down(below))
    above, error = (below, error) if a.is_exact and b.is_exact else _two_sum(a.hi, b.hi)
    hi = np.where(error <= 0.0, above, _up(above))
    return lo, hi


def _subtract(a: Intervals, b: Intervals) -> Ends:
    return _add(a, unchecked(*_negative(b), b.kind))


def _negative(a: Intervals) -> Ends:
    hi = -a.lo
    return (hi if a.is_exact else -a.hi), hi


def _corners(combine: Callable[[Array, Array], Array], a: Intervals, b: Intervals) -> Ends:
    """Enclose what rises or falls in each argument, by its values at the corners, which are correctly rounded."""
    found = []
    for x in (a.lo,) if a.is_exact else (a.lo, a.hi):
        for y in (b.lo,) if b.is_exact else (b.lo, b.hi):
            corner = combine(x, y)
            nothing = (x == 0.0) | ((y == 0.0) if combine is np.multiply else np.isinf(y))  # 0 times infinity, too
            found.append((np.where(nothing, 0.0, _down(corner)), np.where(nothing, 0.0, _up(corner))))
    lo, hi = found[0]
    for below, above in found[1:]:
        lo = np.minimum(lo, below)
        hi = np.maximum(hi, above)
    return lo, hi


def _multiply(a: Intervals, b: Intervals) -> Ends:
    return _corners(np.multiply, a, b)


def _divide(a: Intervals, b: Intervals) -> Ends:
    lo, hi = _corners(np.divide, a, b)
    unknown = (b.lo <= 0.0) & (b.hi >= 0.0)
    return np.where(unknown, -np.inf, lo), np.where(unknown, np.inf, hi)


def _reciprocal(a: Intervals) -> Ends:
    return _ends(np.true_divide, as_intervals(1.0), a)


def _absolute(a: Intervals) -> Ends:
    least = np.minimum(abs(a.lo), abs(a.hi))
    most = np.maximum(abs(a.lo), abs(a.hi))
    return np.where((a.lo < 0.0) & (a.hi > 0.0), 0.0, least), most


def _square(a: Intervals) -> Ends:
    least, most = _absolute(a)
    lo = np.where(least == 0.0, 0.0, np.maximum(_down(least * least), 0.0))
    return lo, np.where(most == 0.0, 0.0, _up(most * most))


def _power(a: Intervals, b: Intervals) -> Ends:
    """Enclose powers: whole ones by products, others of positive numbers by the library at the corners."""
    if _is_whole(b):
        return _whole_power(a, int(b.lo))
    if not ((a.lo > 0.0).all() or ((a.lo >= 0.0).all() and (b.lo > 0.0).all())):
        raise ValueError(f"power: expected a whole exponent up to {_MOST}, or bases that are certainly positive")
    corners = [np.power(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    low, high = np.minimum.reduce(corners), np.maximum.reduce(corners)
    return _library_ends(low, high, 0.0, np.inf)


def _is_whole(exponent: Intervals) -> bool:
    """Tell whether an exponent is one small whole number."""
    known = exponent.ndim == 0 and exponent.is_exact
    return known and float(exponent.lo).is_integer() and abs(float(exponent.lo)) <= _MOST


def _whole_power(a: Intervals, exponent: int) -> Ends:
    if exponent < 0:
        return _reciprocal(unchecked(*_whole_power(a, -exponent), a.kind))
    power = as_intervals(np.ones(a.shape))
    base = a
    while exponent:
        if exponent % 2:
            power = unchecked(*_ends(np.multiply, power, base), a.kind)
        exponent //= 2
        if exponent:
            base = unchecked(*_ends(np.square, base), a.kind)
    return power.lo, power.hi


def _sqrt(a: Intervals) -> Ends:
    if (a.hi < 0.0).any():
        raise ValueError(f"sqrt: expected numbers that may be non-negative, got at most {a.hi.min()}")
    low, high = np.sqrt(np.maximum(a.lo, 0.0)), np.sqrt(a.hi)
    return np.maximum(_down(low), 0.0), np.where(high == 0.0, 0.0, _up(high))


def _library_ends(low: Array, high: Array, least: float, most: float) -> Ends:
    """Step outward from two values of the mathematical library, not beyond the range of the function."""
    loops = compiled()
    if loops and loops.in_rows(low, high):
        found: Ends = loops.library(low, high, least, most)
        return found
    low = np.minimum(low, LARGEST)  # a value that overflows is at least this, or below zero at most that
    high = np.maximum(high, -LARGEST)
    lo = _down(low - STEP * abs(low) - SLIP)
    hi = _up(high + STEP * abs(high) + SLIP)
    return np.clip(lo, least, most), np.clip(hi, least, most)


def _rising(function: Any, least: float = -np.inf, most: float = np.inf) -> Callable[[Intervals], Ends]:
    """Return the rule of an increasing function of the mathematical library."""

    def rule(a: Intervals) -> Ends:
        low = function(a.lo)
        return _library_ends(low, low if a.is_exact else function(a.hi), least, most)

    return rule


def _logarithm(function: Any, least: float) -> Callable[[Intervals], Ends]:
    """Return the rule of a logarithm, which is -infinity where its argument may be ``least``, at which it ends."""

    def rule(a: Intervals) -> Ends:
        if (a.hi <= least).any():
            raise ValueError(f"{function.__name__}: expected numbers that may exceed {least}, got at most {a.hi.min()}")
        return _library_ends(function(np.maximum(a.lo, least)), function(a.hi), -np.inf, np.inf)

    return rule


def _cosh(a: Intervals) -> Ends:
    least, most = _absolute(a)
    return _library_ends(np.cosh(least), np.cosh(most), 1.0, np.inf)


def _wave(function: Any) -> Callable[[Intervals], Ends]:
    """Return the rule of a sine or cosine, which moves no faster than its argument."""

    def rule(a: Intervals) -> Ends:
        value = function(a.mid)
        reach = a.radius
        lo, hi = _library_ends(value, value, -1.0, 1.0)
        if not a.is_exact:
            lo = np.maximum(_down(lo - reach), -1.0)
            hi = np.minimum(_up(hi + reach), 1.0)
        return lo, hi

    return rule


def _hypot(a: Intervals, b: Intervals) -> Ends:
    (first_least, first_most), (second_least, second_most) = _absolute(a), _absolute(b)
    return _library_ends(np.hypot(first_least, second_least), np.hypot(first_most, second_most), 0.0, np.inf)


def _rounding_of(sizes: Array, n: int) -> Array:
    """Return the n-th gamma of sizes, not below it where it underflows: a large factor may be waiting."""
    return np.where(sizes == 0.0, 0.0, _up(_gamma(n) * sizes))


def _matmul(a: Intervals, b: Intervals) -> Ends:
    x = a.mid
    y = b.mid
    n = a.shape[-1]
    sizes = abs(y)
    rounding = _rounding_of(sizes, n)
    radius = b.radius_about(y)
    from_right = rounding if b.is_exact else radius + rounding
    reach = abs(x) @ from_right
    if not a.is_exact:
        reach = reach + a.radius_about(x) @ (sizes + radius)
    middle = x @ y
    factor, more = 1.0 + _gamma(n + 8), 2 * n * SUBNORMAL  # of what rounds and underflows in the bound itself
    if not middle.ndim:
        alone: Ends = _about(float(middle), float(reach) * factor + more)
        return alone
    loops = compiled()
    if loops and loops.in_rows(middle, reach):
        found: Ends = loops.matrix(middle, reach, factor, more)
        return found
    reach = reach * factor + more
    known = np.isfinite(middle + reach)
    middle, reach = np.where(known, middle, 0.0), np.where(known, reach, np.inf)
    return _down(middle - reach), _up(middle + reach)


def _about(middle: float, reach: float) -> Any:
    """Enclose a single product of a row with a column, as :func:`_matmul` does many."""
    if not math.isfinite(middle + reach):
        return -math.inf, math.inf
    return math.nextafter(middle - reach, -math.inf), math.nextafter(middle + reach, math.inf)


def _minimum(a: Intervals, b: Intervals) -> Ends:
    return np.minimum(a.lo, b.lo), np.minimum(a.hi, b.hi)


def _maximum(a: Intervals, b: Intervals) -> Ends:
    return np.maximum(a.lo, b.lo), np.maximum(a.hi, b.hi)


_ARITHMETIC, _LIBRARY = Kind.PROVED, Kind.NUMERIC  # the strongest kind that an answer can have
RULES: dict[Any, tuple[Callable[..., Ends], Kind]] = {
    np.add: (_add, _ARITHMETIC),
    np.subtract: (_subtract, _ARITHMETIC),
    np.multiply: (_multiply, _ARITHMETIC),
    np.true_divide: (_divide, _ARITHMETIC),
    np.reciprocal: (_reciprocal, _ARITHMETIC),
    np.matmul: (_matmul, _LIBRARY),
    np.power: (_power, _ARITHMETIC),
    np.square: (_square, _ARITHMETIC),
    np.negative: (_negative, _ARITHMETIC),
    np.positive: (lambda a: (a.lo, a.hi), _ARITHMETIC),
    np.absolute: (_absolute, _ARITHMETIC),
    np.maximum: (_maximum, _ARITHMETIC),
    np.minimum: (_minimum, _ARITHMETIC),
    np.sqrt: (_sqrt, _ARITHMETIC),
    np.hypot: (_hypot, _LIBRARY),
    np.exp: (_rising(np.exp, 0.0), _LIBRARY),
    np.expm1: (_rising(np.expm1, -1.0), _LIBRARY),
    np.log: (_logarithm(np.log, 0.0), _LIBRARY),
    np.log1p: (_logarithm(np.log1p, -1.0), _LIBRARY),
    np.tanh: (_rising(np.tanh, -1.0, 1.0), _LIBRARY),
    np.sinh: (_rising(np.sinh), _LIBRARY),
    np.cosh: (_cosh, _LIBRARY),
    np.arctan: (_rising(np.arctan), _LIBRARY),
    np.sin: (_wave(np.sin), _LIBRARY),
    np.cos: (_wave(np.cos), _LIBRARY),
}


def apply(ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Apply the rule of a NumPy function to enclosures; there is none that drops the error.

    Raises
    ------
    TypeError
        If the function has no rule, as a comparison has none, or is to write into an array.
    """
    if method == "__call__" and ufunc in RULES and not options:
        return combine(ufunc, *inputs)
    if ufunc not in RULES or method not in ("__call__", "reduce") or options.get("out") is not None:
        raise TypeError(f"{ufunc.__name__}: enclosures have no such operation; only theory.evidence.judge may compare")
    if method == "reduce":
        _refuse(ufunc.__name__, set(options) - {"out", "axis", "keepdims"})
        return reduced(ufunc, inputs[0], options.get("axis", 0), options.get("keepdims", False))
    _refuse(ufunc.__name__, set(options) - {"out"})
    return combine(ufunc, *inputs)


def combine(ufunc: Any, *inputs: Any) -> Any:
    """Apply the rule of a NumPy function that has one to enclosures, floats and balls."""
    kind = RULES[ufunc][1]
    first = as_intervals(inputs[0])
    parts = (first, *map(as_intervals, inputs[1:]))
    if len(inputs) == 2 and inputs[0] is inputs[1]:  # one number, not two
        parts = (first, first)
        if ufunc is np.multiply:
            ufunc, parts = np.square, (first,)
    if ufunc is np.power and not _is_whole(parts[1]):
        kind = _LIBRARY
    for part in parts:
        kind = max(kind, part.kind)
    return bounded_by(*_ends(ufunc, *parts), kind)


def _ends(ufunc: Any, *parts: Intervals) -> Ends:
    """Return the ends of a result, by the compiled rule where there is one."""
    loops = compiled()
    faster = loops and loops.RULES.get(ufunc)
    found: Ends | None = faster(*parts) if faster else None
    if found is not None:
        return found
    with QUIET():
        return RULES[ufunc][0](*parts)


def _refuse(name: str, options: set[str]) -> None:
    """Raise for options that would be passed over, or that would write floats where enclosures belong."""
    if options:
        raise TypeError(f"{name}: enclosures have no option {', '.join(sorted(options))}")


def reduced(ufunc: Any, x: Intervals, axis: Any, keepdims: bool) -> Any:
    """Enclose the sum, the largest or the smallest along an axis, several, or all."""
    if ufunc not in (np.add, np.maximum, np.minimum):
        raise TypeError(f"{ufunc.__name__}.reduce: expected a sum, a maximum or a minimum")
    how = {"axis": axis, "keepdims": keepdims}
    if ufunc is not np.add:
        lo = ufunc.reduce(x.lo, **how)
        return bounded_by(lo, lo if x.is_exact else ufunc.reduce(x.hi, **how), x.kind)
    return _sum(x, how, signed=True)


def _sum(x: Intervals, how: dict[str, Any], *, signed: bool) -> Any:
    """Enclose the sum of numbers, or of such as are their own sizes."""
    with QUIET():
        below = np.add.reduce(x.lo, **how)
        small = np.add.reduce(abs(x.lo), **how) if signed else below
        above, large = below, small
        if not x.is_exact:
            above = np.add.reduce(x.hi, **how)
            large = np.add.reduce(abs(x.hi), **how) if signed else above
        terms = x.size // max(below.size, 1)
        ends = _sum_ends if below.ndim else _total_ends
        lo, hi = ends(below, above, small, large, _sum_error(terms))
    return bounded_by(lo, hi, max(x.kind, Kind.NUMERIC) if terms > 1 else x.kind)


@lru_cache(4096)
def _sum_error(terms: int) -> float:
    """Bound the error of a sum, as a share of the computed sum of the sizes."""
    return gamma(max(terms - 1, 0)) * (1.0 + gamma(terms + 2))


def _total_ends(below: Any, above: Any, small: Any, large: Any, off: float) -> Any:
    """Step outward from one sum, as :func:`_sum_ends` does from several."""
    slack = off * float(small)
    lo = math.nextafter(float(below) - slack, -math.inf) if slack > 0.0 else float(below)
    slack = off * float(large)
    hi = math.nextafter(float(above) + slack, math.inf) if slack > 0.0 else float(above)
    return -math.inf if math.isnan(lo) else lo, math.inf if math.isnan(hi) else hi


def _sum_ends(below: Any, above: Any, small: Any, large: Any, off: float) -> Any:
    """Step outward from sums by a share of the sums of the sizes."""
    loops = compiled()
    if loops and loops.in_rows(below, above, small, large):
        return loops.sums(below, above, small, large, off)
    slack = off * small
    lo = np.where(slack > 0.0, _down(below - slack), below)
    slack = off * large
    hi = np.where(slack > 0.0, _up(above + slack), above)
    return np.where(np.isnan(lo), -np.inf, lo), np.where(np.isnan(hi), np.inf, hi)


def norm(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the Euclidean length along an axis, of enclosures, of balls, or of floats, which are exact.

    Parameters
    ----------
    x : Intervals, ndarray of balls or array_like
    axis : int, optional
        The axis along which the entries of one vector lie; all by default.
    keepdims : bool, default False
        Whether that axis stays, with length one.

    Returns
    -------
    Interval, Intervals, ball or ndarray of balls
    """
    kept = keepdims if type(keepdims) is bool else as_flag(keepdims, "keepdims")
    of_balls = isinstance(x, np.ndarray) and x.dtype == object and all(hasattr(entry, "rad") for entry in x.flat)
    given = x if of_balls else as_intervals(x, "x")
    if axis is not None:
        last = isinstance(axis, int) and axis == -1
        axis = as_index(given.ndim - 1 if last else axis, "axis", size=given.ndim)
    if of_balls:
        return np.sqrt((given * given).sum(axis=axis, keepdims=kept))
    squares = unchecked(*_ends(np.square, given), given.kind)
    total = _sum(squares, {"axis": axis, "keepdims": kept}, signed=False)
    return _root(total) if isinstance(total, Interval) else combine(np.sqrt, total)


def _root(square: Interval) -> Interval:
    """Enclose the root of one number that is not negative, as :func:`_sqrt` does of many."""
    low = math.sqrt(max(square.lo, 0.0))
    high = math.sqrt(square.hi)
    return made(max(math.nextafter(low, -math.inf), 0.0), math.nextafter(high, math.inf) if high else 0.0, square.kind)


def _joined(join: Callable[..., Array]) -> Callable[..., Any]:
    def rule(parts: Any, axis: int = 0, **options: Any) -> Any:
        _refuse(join.__name__, set(options))
        along = {"axis": axis} if join in (np.concatenate, np.stack) else {}
        each = [as_intervals(part) for part in parts]
        lo = join([part.lo for part in each], **along)
        certain = all(part.is_exact for part in each)
        hi = lo if certain else join([part.hi for part in each], **along)
        return bounded_by(lo, hi, max(part.kind for part in each))

    return rule


def _convolve(x: Any, y: Any, mode: str = "full") -> Any:
    """Enclose a convolution, of which every entry is a product of a row with a column."""
    a, b = as_intervals(x), as_intervals(y)
    n = min(a.size, b.size)
    with QUIET():
        middle = np.convolve(a.mid, b.mid, mode)  # type: ignore[call-overload]
        reach = np.convolve(abs(a.mid), b.radius + _rounding_of(abs(b.mid), n), mode)  # type: ignore[call-overload]
        reach = reach + np.convolve(a.radius, abs(b.mid) + b.radius, mode)  # type: ignore[call-overload]
        reach = reach * (1.0 + gamma(n + 8)) + 2.0 * SUBNORMAL * n
        return bounded_by(_down(middle - reach), _up(middle + reach), max(a.kind, b.kind, _LIBRARY))


def _dot(x: Any, y: Any) -> Any:
    if np.ndim(y) > 2:
        raise TypeError("dot: expected a vector or a matrix on the right of enclosures")
    return x @ y


def _where(condition: Any, x: Any, y: Any) -> Any:
    a, b = as_intervals(x), as_intervals(y)
    lo = np.where(condition, a.lo, b.lo)
    return bounded_by(lo, np.where(condition, a.hi, b.hi), max(a.kind, b.kind))


def _moved(move: Callable[..., Array]) -> Callable[..., Any]:
    """Return the rule of a function that moves entries and changes none."""

    def rule(x: Any, *args: Any, **options: Any) -> Any:
        _refuse(move.__name__, set(options) & {"out"})
        return as_intervals(x).each(lambda ends: move(ends, *args, **options))

    return rule


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A002  NumPy's own name
    if ord is not None and not (ord == 2 and (axis is not None or np.ndim(x) == 1)):
        raise TypeError("norm: expected Euclidean lengths of enclosures")
    return norm(x, axis, keepdims)


_MOVES = (
    np.atleast_1d, np.atleast_2d, np.broadcast_to, np.diagonal, np.expand_dims, np.flip, np.moveaxis, np.ravel,
    np.repeat, np.reshape, np.roll, np.squeeze, np.swapaxes, np.take, np.tile, np.transpose,
)  # fmt: skip
FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{move: _moved(move) for move in _MOVES},
    np.concatenate: _joined(np.concatenate),
    np.stack: _joined(np.stack),
    np.vstack: _joined(np.vstack),
    np.hstack: _joined(np.hstack),
    np.where: _where,
    np.convolve: _convolve,
    np.linalg.norm: _norm,
    np.sum: lambda x, axis=None, **options: x.sum(axis=axis, **options),
    np.mean: lambda x, axis=None, **options: x.mean(axis=axis, **options),
    np.max: lambda x, axis=None, **options: x.max(axis=axis, **options),
    np.min: lambda x, axis=None, **options: x.min(axis=axis, **options),
    np.ptp: lambda x, axis=None: x.max(axis=axis) - x.min(axis=axis),
    np.diff: lambda x: x[..., 1:] - x[..., :-1],
    np.outer: lambda x, y: np.reshape(x, (-1, 1)) * np.reshape(y, (1, -1)),
    np.dot: _dot,
    np.trace: lambda x: np.diagonal(x).sum(axis=-1),
    np.shape: lambda x: x.shape,
    np.ndim: lambda x: x.ndim,
    np.size: lambda x: x.size,
}
