"""Any compiled score, any width: one query at a time, tiles of keys, a running maximum.

What the sums of a tile are added to is rescaled when a tile has a larger score than all before it; that happens at most
once per tile. Keys and values come coordinate by coordinate, ``(f, n)`` and ``(d_v, n)``. Kernels take contiguous
float64 arrays, trust them, and draw nothing.
"""

from __future__ import annotations

import math

import numpy as np

from theory._jit import njit
from theory.engine.exponential import LOG2E, exp2
from theory.engine.pairs import TILE, Array, Counts, Pairs
from theory.engine.threads import over_rows


def _fill_scores(
    form: int, query: Array, keys: Array, log_weights: Array, coefficients: Array, start: int, scores: Array
) -> float:
    """Write the scores of one query with ``scores.size`` keys from number ``start`` on and return the largest."""
    stop = start + scores.size
    scores[:] = 0.0
    for f in range(query.size):
        q, coordinate = query[f], keys[f, start:stop]
        if form == 0:
            for j in range(scores.size):
                scores[j] += q * coordinate[j]
        elif form == 1:
            for j in range(scores.size):
                difference = q - coordinate[j]
                scores[j] += difference * difference
        elif form == 2:
            for j in range(scores.size):
                scores[j] += coefficients[f] * math.tanh(q + coordinate[j])
        else:
            for j in range(scores.size):
                half = math.sin(0.5 * (q - coordinate[j]))
                scores[j] += 4.0 * half * half
    factor = 1.0 if form == 2 else coefficients[0] if form == 0 else -coefficients[0]
    peak = -np.inf
    for j in range(scores.size):
        scores[j] = factor * scores[j] + log_weights[start + j]
        peak = max(peak, scores[j])
    return peak


def _weigh(scores: Array, peak: float) -> float:
    """Replace scores by ``exp(score - peak)`` and return their sum."""
    mass = 0.0
    for j in range(scores.size):
        w = exp2((scores[j] - peak) * LOG2E)
        scores[j] = w
        mass += w
    return mass


def _dot(a: Array, b: Array) -> float:
    total = 0.0
    for j in range(a.size):
        total += a[j] * b[j]
    return total


fill_scores = njit(_fill_scores)
weigh = njit(_weigh, sums=True)
dot = njit(_dot, sums=True)


def _attention(
    form: int, queries: Array, keys: Array, values: Array, log_weights: Array, coefficients: Array, visible: Counts,
    output: Array, log_partition: Array,
) -> None:  # fmt: skip
    buffer = np.empty(TILE)
    for i in range(queries.shape[0]):
        peak = -np.inf
        mass = 0.0
        output[i] = 0.0
        for start in range(0, visible[i], TILE):
            tile = buffer[: min(TILE, visible[i] - start)]
            top = fill_scores(form, queries[i], keys, log_weights, coefficients, start, tile)
            if top > peak:
                shrink = math.exp(peak - top)
                mass *= shrink
                output[i] *= shrink
                peak = top
            mass += weigh(tile, peak)
            for c in range(values.shape[0]):
                output[i, c] += dot(tile, values[c, start : start + tile.size])
        output[i] /= mass
        log_partition[i] = peak + math.log(mass)


def _weights(
    form: int, queries: Array, keys: Array, log_weights: Array, coefficients: Array, visible: Counts, rows: Array
) -> None:
    for i in range(queries.shape[0]):
        stop = visible[i]
        peak = fill_scores(form, queries[i], keys, log_weights, coefficients, 0, rows[i, :stop])
        mass = 0.0
        for j in range(stop):
            rows[i, j] = math.exp(rows[i, j] - peak)
            mass += rows[i, j]
        rows[i, :stop] /= mass
        rows[i, stop:] = 0.0


_attend = njit(_attention)
_weigh_rows = njit(_weights)


def columns(points: Array) -> Array:
    """Return points coordinate by coordinate."""
    return np.ascontiguousarray(points.T)


def attention(pairs: Pairs, values: Array, log_weights: Array, visible: Counts) -> tuple[Array, Array]:
    """Return output (m, d_v) and log-partition (m,); query ``i`` sees the first ``visible[i] >= 1`` keys."""
    m, n = pairs.queries.shape[0], pairs.keys.shape[0]
    output, log_partition = np.empty((m, values.shape[1])), np.empty(m)
    keys, moved = columns(pairs.keys), columns(values)

    def run(part: slice) -> None:
        _attend(
            int(pairs.form), pairs.queries[part], keys, moved, log_weights, pairs.coefficients, visible[part],
            output[part], log_partition[part],
        )  # fmt: skip

    over_rows(run, m, m * n)
    return output, log_partition


def weights(pairs: Pairs, log_weights: Array, visible: Counts) -> Array:
    """Return the attention weights (m, n)."""
    m, n = pairs.queries.shape[0], pairs.keys.shape[0]
    rows = np.empty((m, n))
    keys = columns(pairs.keys)

    def run(part: slice) -> None:
        _weigh_rows(
            int(pairs.form), pairs.queries[part], keys, log_weights, pairs.coefficients, visible[part], rows[part]
        )

    over_rows(run, m, m * n)
    return rows
