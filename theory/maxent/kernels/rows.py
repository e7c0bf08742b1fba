r"""Compiled maps of rows of scores to laws: softmax, and the maximisers of :mod:`theory.maxent.sparse`.

A row is read once to see its largest and least score, in integers (:func:`theory.engine.fused.ordered`), which shows
NaN, infinities and masks as well. Its gaps are then formed as :mod:`theory.maxent.batch` says. Above order 1 only the
entries that have weight at the left end of the bracket of the threshold can have any; they are moved together, and all
that follows costs what they cost. What is masked is left out, so that a mask changes no digit of what remains.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from theory._jit import njit
from theory.engine.fused import ordered
from theory.engine.pairs import Array
from theory.engine.registers import as_float
from theory.engine.threads import over_rows
from theory.maxent.kernels.threshold import FARTHEST, LANES, deformed_log, divide, solve, weigh

_POSITIVE = 0x7FF0000000000000  # the place of infinity among ordered floats
_NEGATIVE = -0x7FF0000000000001  # and of minus infinity
_BELOW_SIGN = 0x7FFFFFFFFFFFFFFF
_FIRST = -0x8000000000000000
_LAST = 0x7FFFFFFFFFFFFFFF
_APART = 128  # derived: at most eight of the widest registers at once, twice over
_SMALL = 1 << 16  # measured: entries below which a look at the number of threads costs more than they do

_BEYOND = 1.0 + 2.0**-30  # derived: what rounding may do to the end of the support is far less


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


def _softmax(rows: Array, tau: Array, laws: Array) -> bool:
    """Write softmax of every row, and return whether every score was a number or minus infinity."""
    n = rows.shape[1]
    for i in range(rows.shape[0]):
        law = laws[i]
        kind = read(rows[i], tau[i % tau.size], law)
        if kind < 0:
            return False
        if kind == 2:
            law[:] = 0.0
        elif kind == 1:
            divide(law, weigh(law))
        else:  # what is left is moved together, so that a mask changes no digit, and back
            k = 0
            for j in range(n):
                gap = law[j]
                law[k] = gap
                k += gap > -np.inf
            part = law[:k]
            divide(part, weigh(part))
            for j in range(n - 1, -1, -1):
                if rows[i, j] > -np.inf:
                    k -= 1
                    law[j] = law[k]
                else:
                    law[j] = 0.0
    return True


def _gather(gaps: Array, limit: float, near: Array, places: NDArray[np.int64]) -> int:
    """Move the gaps beyond a limit together, and return how many there are."""
    k = 0
    for j in range(gaps.size):
        near[k] = gaps[j]
        places[k] = j
        k += gaps[j] > limit
    return k


def _scatter(weights: Array, places: NDArray[np.int64], k: int, law: Array) -> None:
    law[:] = 0.0
    for i in range(k):
        law[places[i]] = weights[i]


gather = njit(_gather)
scatter = njit(_scatter)


def _rooms(n: int) -> tuple[Array, Array, Array, Array, Array]:
    """Return five arrays that lie far apart in memory.

    A loop that reads some and writes others runs in vector registers only if they are seen not to overlap, by more than
    it takes in at once; its sums would else be taken in another order, by where the arrays happen to lie.
    """
    block = np.empty((5, n + LANES + _APART))
    return block[0], block[1], block[2], block[3], block[4]


rooms = njit(_rooms)


def _entmax(rows: Array, alpha: Array, tau: Array, laws: Array) -> bool:
    """Write entmax of every row, and return whether every score was a number or minus infinity."""
    n = rows.shape[1]
    gaps = np.empty(n)
    near, counts, weights, slopes, more = rooms(n)
    counts[:] = 1.0
    places = np.empty(n, dtype=np.int64)
    for i in range(rows.shape[0]):
        kind = read(rows[i], tau[i % tau.size], gaps)
        if kind < 0:
            return False
        if kind == 2:
            laws[i] = 0.0
            continue
        e = alpha[i % alpha.size] - 1.0
        whole = n if kind == 1 else np.sum(gaps > -np.inf)
        k = gather(gaps, -_BEYOND / e if e > 0.0 else -np.inf, near, places)
        solve(near, counts, k, e, 1.0, float(whole), weights, slopes, more)
        scatter(weights, places, k, laws[i])
    return True


def _solve_rows(gaps: Array, measure: Array, alpha: Array, laws: Array, thresholds: Array) -> bool:
    """Write laws and thresholds of rows of gaps under a measure; zeros where there is none."""
    n = gaps.shape[1]
    shown = np.empty(n)
    near, counts, weights, slopes, more = rooms(n)
    places = np.empty(n, dtype=np.int64)
    for i in range(gaps.shape[0]):
        e = alpha[i] - 1.0
        whole = 0.0
        share = 0.0
        top = -np.inf
        for j in range(n):
            here = measure[i, j] > 0.0
            shown[j] = gaps[i, j] if here else -np.inf
            whole += measure[i, j]
            share = measure[i, j] if shown[j] > top else share
            top = max(top, shown[j])
        if whole == 0.0:
            laws[i] = 0.0
            thresholds[i] = 0.0
            continue
        low = -deformed_log(1.0 / share, e)
        k = gather(shown, low - _BEYOND / e if e > 0.0 else -np.inf, near, places)
        for j in range(k):
            counts[j] = measure[i, places[j]]
        thresholds[i] = solve(near, counts, k, e, share, whole, weights, slopes, more)
        scatter(weights, places, k, laws[i])
    return True


Kernel = Callable[..., bool]
softmax_rows: Kernel = njit(_softmax)
entmax_rows: Kernel = njit(_entmax)
solved_rows: Kernel = njit(_solve_rows)


def over(kernel: Kernel, *arrays: Array) -> bool:
    """Run a kernel on all rows, in threads if there are many, and return whether it accepts them.

    Every array has one entry or row for each row of the first, or one entry for all of them.
    """
    rows = arrays[0]
    with np.errstate(all="ignore"):  # where kernels run as Python; what overflows is compared with its end
        if rows.size < _SMALL:
            return kernel(*arrays)
        accepted: list[bool] = []

        def run(part: slice) -> None:
            accepted.append(kernel(*(x if x.shape == (1,) else x[part] for x in arrays)))

        over_rows(run, rows.shape[0], rows.size)
    return all(accepted)
