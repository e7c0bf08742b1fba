r"""Derivatives, many pairs at once: keys in tiles, the weights of a few queries in a strip that is read again.

Derivatives need the weights of a row after its sums are known, so a strip of ``ROWS`` queries keeps them, and no
exponential is taken twice. Rows are shifted by the largest of the very scores that are weighed, so that no score is too
large and no bound too far: the heaviest key has the weight one, and a mass lies between one and the number of keys.

In narrow problems, everything about keys lies coordinate by coordinate in tiles, ``(tiles, rows TILE)``, one row after
another at distances that the compiler knows; it then stores to one array while it reads another without asking often
whether they overlap. In wide problems, a strip is a matrix, and sums over it are products with others, by BLAS on one
thread, in blocks that start at fixed rows.
"""

from __future__ import annotations

import numpy as np

from theory._jit import njit
from theory.engine import blocks, fused
from theory.engine.exponential import LOG2E, exp2
from theory.engine.fused import ordered
from theory.engine.pairs import Array, Counts, Form, Pairs
from theory.engine.registers import as_float

ROWS = 8  # queries of a strip; taken: strips of five thousand keys stay in the second cache
TILE = 288  # keys; measured: whole vectors, four at a time, and no near power of two, or stores stop the next loads
WIDEST = fused.WIDEST  # of keys and values; beyond, products of matrices are faster here too
_MOST, _LARGE = 192, 1 << 20  # taken: queries and pairs of a wide strip

_BELOW_SIGN = 0x7FFFFFFFFFFFFFFF
LOWEST = int(np.float64(-np.inf).view(np.int64)) ^ _BELOW_SIGN  # of all floats in order


def _unordered(k: int) -> float:
    """Return the float of which ``k`` is the integer in order."""
    return as_float(int(k ^ ((k >> 63) & _BELOW_SIGN)))


unordered = njit(_unordered, inline=True)


def tiled(*columns: Array) -> Array:
    """Return matrices of as many rows side by side, (n, w), in tiles of their columns, (tiles, w TILE), and zeros."""
    width = sum(part.shape[1] for part in columns)
    n = columns[0].shape[0]
    filled = np.zeros((-(-n // TILE) * TILE, width))
    np.concatenate(columns, axis=1, out=filled[:n])
    cut = filled.reshape(-1, TILE, width).transpose(0, 2, 1)
    return np.ascontiguousarray(cut).reshape(-1, width * TILE)


def untiled(tiles: Array, n: int) -> Array:
    """Return the matrix (n, w) that lies in tiles."""
    width = tiles.shape[1] // TILE
    cut = tiles.reshape(-1, width, TILE).transpose(0, 2, 1)
    return np.ascontiguousarray(cut.reshape(-1, width)[:n])


def height(n: int) -> int:
    """Return how many queries a wide strip of ``n`` keys has."""
    return max(16, min(_MOST, _LARGE // n))


def fill(pairs: Pairs, rows: slice, keys: Array, log_weights: Array, scores: Array) -> None:
    """Fill ``scores`` (b, n) in base two for some queries of a wide problem; keys come as (d, n)."""
    factor = float(pairs.coefficients[0]) * LOG2E
    if pairs.form is Form.DOT:
        np.matmul(pairs.queries[rows] * factor, keys, out=scores)
    else:
        blocks.distances(pairs.queries[rows], keys, factor, scores)
    scores += log_weights


def _tilt(scores: Array, changes: Array, stop: Counts, mass: Array, left: Array) -> None:
    """Replace scores by weights relative to the heaviest, changes by those times what they are off their mean.

    ``mass`` and ``left`` are the sums of both; both are zero from ``stop`` on.
    """
    for i in range(stop.size):
        row, change = scores[i], changes[i]
        top = LOWEST
        for j in range(stop[i]):
            top = max(top, ordered(row[j]))
        shift = unordered(top)
        total, mean = 0.0, 0.0
        for j in range(stop[i]):
            w = exp2(row[j] - shift)
            row[j] = w
            total += w
            mean += w * change[j]
        mean /= total
        rest = 0.0
        for j in range(stop[i]):
            tilted = row[j] * (change[j] - mean)
            change[j] = tilted
            rest += tilted
        row[stop[i] :] = 0.0
        change[stop[i] :] = 0.0
        mass[i], left[i] = total, rest


tilt = njit(_tilt, sums=True)


def middle_of(pairs: Pairs) -> Array:
    """Return where features are taken from: for distances, a point that few far keys do not move."""
    return np.median(pairs.keys, axis=0) if pairs.form is Form.DISTANCE else np.zeros(pairs.keys.shape[1])
