r"""One tile of keys, wide problems: scores of a block of queries by BLAS, exponentials in place, sums by BLAS.

A block of ``ROWS`` queries and a tile of ``TILE`` keys make a square of scores that stays in the second cache. Squared
distances are summed coordinate by coordinate from differences, never from the expanded square, which loses all digits
where two tokens are close.

BLAS rounds by the shape of a block, so blocks start at fixed rows, whatever the number of threads, and BLAS itself is
held to one thread while they run.
"""

from __future__ import annotations

import numpy as np

from theory._jit import njit
from theory.engine.exponential import exp2, exp2_single
from theory.engine.fold import Folded
from theory.engine.pairs import Array, Counts, Form

ROWS = 96  # measured, as is TILE: larger squares leave the cache, smaller ones cost calls
UNIT = 48  # taken: a multiple of the widths of BLAS kernels, so that equal keys have equal scores wherever they stand
TILE = 384  # no power of two, or the coordinates of a key compete for the same lines of the cache


def _weigh(scores: Array, shift: Array, stop: Counts, mass: Array) -> None:
    """Replace scores by ``2^(score - shift)``, by zero from ``stop`` on, and add each row to its mass."""
    for i in range(scores.shape[0]):
        row = scores[i]
        top = shift[i]
        total = 0.0
        for j in range(stop[i]):
            w = exp2(row[j] - top)
            row[j] = w
            total += w
        row[stop[i] :] = 0.0
        mass[i] += total


def _weigh_single(scores: Array, shift: Array, stop: Counts, mass: Array) -> None:
    """Do as ``_weigh`` in single precision."""
    for i in range(scores.shape[0]):
        row = scores[i]
        top = shift[i]
        total = np.float32(0.0)
        for j in range(stop[i]):
            w = exp2_single(row[j] - top)
            row[j] = w
            total += w
        row[stop[i] :] = 0.0
        mass[i] += total


def _distances(queries: Array, keys: Array, factor: float, scores: Array) -> None:
    """Fill ``scores`` (b, t) with ``-factor |query - key|^2`` from differences; keys come as (d, t)."""
    for i in range(queries.shape[0]):
        row = scores[i]
        row[:] = 0.0
        for f in range(queries.shape[1]):
            q, coordinate = queries[i, f], keys[f]
            for j in range(row.size):
                difference = q - coordinate[j]
                row[j] += difference * difference
        for j in range(row.size):
            row[j] *= -factor


weigh = njit(_weigh, sums=True)
weigh_single = njit(_weigh_single, sums=True)
distances = njit(_distances, sums=True)


def fill(problem: Folded, rows: slice, keys: Array, log_weights: Array, scores: Array) -> None:
    """Fill ``scores`` (b, t) for some queries and one tile of keys (d, t); ``log_weights`` may be empty."""
    if problem.form is Form.DOT:
        np.matmul(problem.queries[rows], keys, out=scores)
    else:
        distances(problem.queries[rows], keys, scores.dtype.type(problem.factor), scores)
    if log_weights.size:
        scores += log_weights
