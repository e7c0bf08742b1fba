"""The kernels compiled by Numba: one pass over the keys in tiles, memory O(d_v) per query.

A running maximum is replaced at most once per tile; the mass and the average gathered so far are then rescaled.
Kernels take contiguous float64 arrays, trust them, and draw nothing.
"""

from __future__ import annotations

import math

import numpy as np

from theory.engine.jit import njit
from theory.engine.pairs import Array
from theory.engine.reference import TILE


def _fill_scores(
    form: int, query: Array, keys: Array, log_weights: Array, coefficients: Array, start: int, stop: int, scores: Array
) -> float:
    """Write the scores of one query with the keys ``start`` to ``stop`` and return the largest."""
    peak = -np.inf
    for j in range(start, stop):
        s = 0.0
        if form == 0:
            for f in range(query.size):
                s += query[f] * keys[j, f]
            s *= coefficients[0]
        elif form == 1:
            for f in range(query.size):
                difference = query[f] - keys[j, f]
                s += difference * difference
            s *= -coefficients[0]
        else:
            for f in range(query.size):
                s += coefficients[f] * math.tanh(query[f] + keys[j, f])
        s += log_weights[j]
        scores[j - start] = s
        peak = max(peak, s)
    return peak


fill_scores = njit(_fill_scores)


def _attention(
    form: int, queries: Array, keys: Array, values: Array, log_weights: Array, coefficients: Array, visible: Array,
    output: Array, log_partition: Array,
) -> None:  # fmt: skip
    scores = np.empty(TILE)
    for i in range(queries.shape[0]):
        peak, mass = -np.inf, 0.0
        output[i] = 0.0
        for start in range(0, visible[i], TILE):
            stop = min(start + TILE, visible[i])
            top = fill_scores(form, queries[i], keys, log_weights, coefficients, start, stop, scores)
            if top > peak:
                shrink = math.exp(peak - top)
                mass *= shrink
                output[i] *= shrink
                peak = top
            for j in range(start, stop):
                w = math.exp(scores[j - start] - peak)
                mass += w
                for c in range(values.shape[1]):
                    output[i, c] += w * values[j, c]
        output[i] /= mass
        log_partition[i] = peak + math.log(mass)


def _weights(
    form: int, queries: Array, keys: Array, log_weights: Array, coefficients: Array, visible: Array, rows: Array
) -> None:
    for i in range(queries.shape[0]):
        stop = visible[i]
        peak = fill_scores(form, queries[i], keys, log_weights, coefficients, 0, stop, rows[i])
        mass = 0.0
        for j in range(stop):
            rows[i, j] = math.exp(rows[i, j] - peak)
            mass += rows[i, j]
        for j in range(stop):
            rows[i, j] /= mass
        rows[i, stop:] = 0.0


attention = njit(_attention)
weights = njit(_weights)
