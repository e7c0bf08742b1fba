r"""Compiled: entmax of rows.

Above order 1 only the entries that have weight at the left end of the bracket of the threshold can have any; they are
moved together, and all that follows costs what they cost. What is masked is left out, so that a mask changes no digit
of what remains.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from theory._jit import njit
from theory.engine.pairs import Array
from theory.maxent.kernels.gaps import read
from theory.maxent.kernels.search import deformed_log
from theory.maxent.kernels.threshold import LANES, solve

_APART = 128  # derived: at most eight of the widest registers at once, twice over
_BEYOND = 1.0 + 2.0**-30  # derived: what rounding may do to the end of the support is far less


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


entmax_rows = njit(_entmax)
solved_rows = njit(_solve_rows)
