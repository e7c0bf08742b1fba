r"""The rules of :mod:`theory.evidence.outward` in one loop each, compiled; every end has the bits that NumPy gives it.

A kernel takes the ends of its operands in a row, and fills those of the answer. It contracts no product, and has no
order of sums to choose, so that IEEE arithmetic leaves one answer, up to the sign of a zero, of which NumPy's extrema
keep either; where it leaves more, in sums, products of matrices and the functions of the library, the numbers are
NumPy's and only the step outward is taken here. A neighbour of a float is that of its bits as an integer, which runs
in vector registers, as ``nextafter`` does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from theory._jit import njit
from theory.evidence.intervals import Array, Intervals
from theory.evidence.outward import LARGEST, SLIP, STEP, Ends

_LEAST = 5e-324  # the smallest positive number


# --- kernels ---


def _up(x: float) -> float:
    if x == 0.0:
        return _LEAST
    if not x < np.inf:
        return x
    bits = np.float64(x).view(np.int64)
    return np.int64(bits + (1 if x > 0.0 else -1)).view(np.float64)


def _down(x: float) -> float:
    return -up(-x)


def _add(a: Array, a_hi: Array, b: Array, b_hi: Array, lo: Array, hi: Array) -> None:
    for k in range(lo.size):
        total = a[k] + b[k]
        part = total - a[k]
        error = (a[k] - (total - part)) + (b[k] - part)
        lo[k] = total if error >= 0.0 else down(total)
        total = a_hi[k] + b_hi[k]
        part = total - a_hi[k]
        error = (a_hi[k] - (total - part)) + (b_hi[k] - part)
        hi[k] = total if error <= 0.0 else up(total)


def _subtract(a: Array, a_hi: Array, b: Array, b_hi: Array, lo: Array, hi: Array) -> None:
    for k in range(lo.size):
        total = a[k] - b_hi[k]
        part = total - a[k]
        error = (a[k] - (total - part)) + (-b_hi[k] - part)
        lo[k] = total if error >= 0.0 else down(total)
        total = a_hi[k] - b[k]
        part = total - a_hi[k]
        error = (a_hi[k] - (total - part)) + (-b[k] - part)
        hi[k] = total if error <= 0.0 else up(total)


def _product_below(x: float, y: float) -> float:
    return 0.0 if x == 0.0 or y == 0.0 else down(x * y)


def _product_above(x: float, y: float) -> float:
    return 0.0 if x == 0.0 or y == 0.0 else up(x * y)


def _multiply(a: Array, a_hi: Array, b: Array, b_hi: Array, lo: Array, hi: Array) -> None:
    for k in range(lo.size):
        least = min(product_below(a[k], b[k]), product_below(a[k], b_hi[k]))
        lo[k] = min(least, product_below(a_hi[k], b[k]), product_below(a_hi[k], b_hi[k]))
        most = max(product_above(a[k], b[k]), product_above(a[k], b_hi[k]))
        hi[k] = max(most, product_above(a_hi[k], b[k]), product_above(a_hi[k], b_hi[k]))


def _quotient_below(x: float, y: float) -> float:
    return 0.0 if x == 0.0 or abs(y) == np.inf else down(x / y)


def _quotient_above(x: float, y: float) -> float:
    return 0.0 if x == 0.0 or abs(y) == np.inf else up(x / y)


def _divide(a: Array, a_hi: Array, b: Array, b_hi: Array, lo: Array, hi: Array) -> None:
    for k in range(lo.size):
        if b[k] <= 0.0 and b_hi[k] >= 0.0:
            lo[k], hi[k] = -np.inf, np.inf
            continue
        least = min(quotient_below(a[k], b[k]), quotient_below(a[k], b_hi[k]))
        lo[k] = min(least, quotient_below(a_hi[k], b[k]), quotient_below(a_hi[k], b_hi[k]))
        most = max(quotient_above(a[k], b[k]), quotient_above(a[k], b_hi[k]))
        hi[k] = max(most, quotient_above(a_hi[k], b[k]), quotient_above(a_hi[k], b_hi[k]))


def _absolute(a: Array, a_hi: Array, lo: Array, hi: Array) -> None:
    for k in range(lo.size):
        lo[k] = 0.0 if a[k] < 0.0 < a_hi[k] else min(abs(a[k]), abs(a_hi[k]))
        hi[k] = max(abs(a[k]), abs(a_hi[k]))


def _square(a: Array, a_hi: Array, lo: Array, hi: Array) -> None:
    for k in range(lo.size):
        least = 0.0 if a[k] < 0.0 < a_hi[k] else min(abs(a[k]), abs(a_hi[k]))
        most = max(abs(a[k]), abs(a_hi[k]))
        lo[k] = 0.0 if least == 0.0 else max(down(least * least), 0.0)
        hi[k] = 0.0 if most == 0.0 else up(most * most)


def _sqrt(a: Array, a_hi: Array, lo: Array, hi: Array) -> bool:
    for k in range(lo.size):
        if a_hi[k] < 0.0:
            return True
        low = np.sqrt(max(a[k], 0.0))
        high = np.sqrt(a_hi[k])
        lo[k] = max(down(low), 0.0)
        hi[k] = 0.0 if high == 0.0 else up(high)
    return False


def _library(low: Array, high: Array, least: float, most: float, lo: Array, hi: Array) -> None:
    for k in range(lo.size):
        below = min(low[k], LARGEST)
        above = max(high[k], -LARGEST)
        lo[k] = min(max(down(below - STEP * abs(below) - SLIP), least), most)
        hi[k] = min(max(up(above + STEP * abs(above) + SLIP), least), most)


def _sums(below: Array, above: Array, low_sizes: Array, high_sizes: Array, off: float, lo: Array, hi: Array) -> None:
    for k in range(lo.size):
        slack = off * low_sizes[k]
        low = down(below[k] - slack) if slack > 0.0 else below[k]
        slack = off * high_sizes[k]
        high = up(above[k] + slack) if slack > 0.0 else above[k]
        lo[k] = -np.inf if np.isnan(low) else low
        hi[k] = np.inf if np.isnan(high) else high


def _middle(lo: Array, hi: Array, mid: Array) -> None:
    for k in range(mid.size):
        middle = min(max(lo[k] / 2.0 + hi[k] / 2.0, lo[k]), hi[k])
        mid[k] = middle if np.isfinite(middle) else 0.0


def _radius(lo: Array, hi: Array, mid: Array, radius: Array) -> None:
    for k in range(mid.size):
        reach = max(mid[k] - lo[k], hi[k] - mid[k])
        radius[k] = 0.0 if reach == 0.0 else up(reach)


def _within(centre: Array, reach: Array, lo: Array, hi: Array) -> None:
    for k in range(lo.size):
        lo[k] = centre[k] if reach[k] == 0.0 else down(centre[k] - reach[k])
        hi[k] = centre[k] if reach[k] == 0.0 else up(centre[k] + reach[k])


def _matrix(middle: Array, reach: Array, factor: float, more: float, lo: Array, hi: Array) -> None:
    for k in range(lo.size):
        off = reach[k] * factor + more
        known = np.isfinite(middle[k] + off)
        lo[k] = down(middle[k] - off) if known else -np.inf
        hi[k] = up(middle[k] + off) if known else np.inf


up, down = njit(_up), njit(_down)
product_below, product_above = njit(_product_below), njit(_product_above)
quotient_below, quotient_above = njit(_quotient_below), njit(_quotient_above)
_library_loop, _sums_loop, _within_loop = njit(_library), njit(_sums), njit(_within)
_matrix_loop = njit(_matrix)
READY = hasattr(up, "signatures")  # the compiler may be off, and loops in Python take longer than NumPy


# --- what is asked of them: arrays in rows, or None is the answer ---


def in_rows(*arrays: Any) -> bool:
    """Tell whether these are arrays of which the entries lie in the order of the indices."""
    for array in arrays:  # noqa: SIM110  a generator takes as long as a kernel
        if type(array) is not np.ndarray or not array.flags.c_contiguous:
            return False
    return True


def _entrywise(kernel: Any) -> Callable[..., Array | None]:
    """Return a function of arrays in rows, or all in columns, as the answer then is; of others it answers None."""

    def answer(*arrays: Array) -> Array | None:
        if in_rows(*arrays):
            entries = np.empty(arrays[0].shape)
            kernel(*[array.ravel() for array in arrays], entries.ravel())
            return entries
        turned = [array.T for array in arrays]
        if not in_rows(*turned):
            return None
        entries = np.empty(turned[0].shape)
        kernel(*[array.ravel() for array in turned], entries.ravel())
        return entries.T

    return answer


middle, radius = _entrywise(njit(_middle)), _entrywise(njit(_radius))


def _pair(kernel: Any) -> Callable[[Intervals, Intervals], Ends | None]:
    def rule(a: Intervals, b: Intervals) -> Ends | None:
        if not (_lies_in_rows(a) and _lies_in_rows(b)):
            return None
        shape = a.lo.shape
        if shape != b.lo.shape:
            try:
                shape = np.broadcast(a.lo, b.lo).shape
            except ValueError:
                return None
        lo, hi = np.empty(shape), np.empty(shape)
        kernel(*_spread(a, shape), *_spread(b, shape), lo.ravel(), hi.ravel())
        return lo, hi

    return rule


def _single(kernel: Any) -> Callable[[Intervals], Ends | None]:
    def rule(a: Intervals) -> Ends | None:
        if not _lies_in_rows(a):
            return None
        lo, hi = np.empty(a.lo.shape), np.empty(a.lo.shape)
        refused = kernel(a.lo.ravel(), a.hi.ravel(), lo.ravel(), hi.ravel())
        return None if refused else (lo, hi)

    return rule


def _lies_in_rows(a: Intervals) -> bool:
    return a.lo.flags.c_contiguous and (a.hi is a.lo or a.hi.flags.c_contiguous)


def _spread(a: Intervals, shape: tuple[int, ...]) -> Ends:
    """Return ends in a row, repeated as broadcasting does."""
    if a.lo.shape == shape:
        return a.lo.ravel(), a.hi.ravel()
    lo = np.empty(shape)
    lo[...] = a.lo
    if a.is_exact:
        return lo.ravel(), lo.ravel()
    hi = np.empty(shape)
    hi[...] = a.hi
    return lo.ravel(), hi.ravel()


RULES: dict[Any, Callable[..., Ends | None]] = {
    np.add: _pair(njit(_add)),
    np.subtract: _pair(njit(_subtract)),
    np.multiply: _pair(njit(_multiply)),
    np.true_divide: _pair(njit(_divide)),
    np.absolute: _single(njit(_absolute)),
    np.square: _single(njit(_square)),
    np.sqrt: _single(njit(_sqrt)),
}


def library(low: Array, high: Array, least: float, most: float) -> Ends:
    """Step outward from two arrays of values of the mathematical library, in rows, not beyond a range."""
    lo, hi = np.empty(low.shape), np.empty(low.shape)
    _library_loop(low.ravel(), high.ravel(), least, most, lo.ravel(), hi.ravel())
    return lo, hi


def sums(below: Array, above: Array, low_sizes: Array, high_sizes: Array, off: float) -> Ends:
    """Step outward from sums, in rows, by a share of the sums of the sizes."""
    lo, hi = np.empty(below.shape), np.empty(below.shape)
    rows = (below.ravel(), above.ravel(), low_sizes.ravel(), high_sizes.ravel())
    _sums_loop(*rows, off, lo.ravel(), hi.ravel())
    return lo, hi


def within(centre: Array, reach: Array) -> Ends:
    """Enclose numbers, in rows, that are off by at most so much."""
    lo, hi = np.empty(centre.shape), np.empty(centre.shape)
    _within_loop(centre.ravel(), reach.ravel(), lo.ravel(), hi.ravel())
    return lo, hi


def matrix(middle: Array, reach: Array, factor: float, more: float) -> Ends:
    """Enclose a product of matrices, in rows, by what it is off up to a factor and an underflow."""
    lo, hi = np.empty(middle.shape), np.empty(middle.shape)
    _matrix_loop(middle.ravel(), reach.ravel(), factor, more, lo.ravel(), hi.ravel())
    return lo, hi
