"""The kernels in plain NumPy: slow, readable, and the oracle of the compiled ones, with the same signatures."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

from theory.engine.pairs import Array, Form

TILE = 256  # keys that share one running maximum in the compiled kernel, and queries that share one block here


def _scores(form: int, queries: Array, keys: Array, coefficients: Array, given: Callable[..., Array] | None) -> Array:
    """Return the scores of every query with every key, shape (b, n)."""
    if given is not None:
        return given(queries, keys)
    scores: Array
    if form == Form.DOT:
        scores = coefficients[0] * (queries @ keys.T)
        return scores
    if form == Form.DISTANCE:
        scores = -coefficients[0] * cdist(queries, keys, "sqeuclidean")
        return scores
    scores = np.zeros((queries.shape[0], keys.shape[0]))
    for h, c in enumerate(coefficients):
        scores += c * np.tanh(queries[:, h, np.newaxis] + keys[np.newaxis, :, h])
    return scores


def _laws(
    form: int, queries: Array, keys: Array, log_weights: Array, coefficients: Array, visible: Array,
    given: Callable[..., Array] | None,
) -> tuple[Array, Array]:  # fmt: skip
    """Return the rows, shape (b, n), and the log-partition of each."""
    scores = _scores(form, queries, keys, coefficients, given) + log_weights
    scores[np.arange(keys.shape[0])[np.newaxis, :] >= visible[:, np.newaxis]] = -np.inf
    peak = scores.max(axis=1, keepdims=True)
    rows = np.exp(scores - peak)
    mass = rows.sum(axis=1, keepdims=True)
    rows /= mass
    return rows, (peak + np.log(mass))[:, 0]


def attention(
    form: int, queries: Array, keys: Array, values: Array, log_weights: Array, coefficients: Array, visible: Array,
    output: Array, log_partition: Array, given: Callable[..., Array] | None = None,
) -> None:  # fmt: skip
    """Fill ``output`` (m, d_v) and ``log_partition`` (m,); query ``i`` sees the first ``visible[i] >= 1`` keys."""
    for start in range(0, queries.shape[0], TILE):
        block = slice(start, start + TILE)
        laws, log_partition[block] = _laws(form, queries[block], keys, log_weights, coefficients, visible[block], given)
        output[block] = laws @ values


def weights(
    form: int, queries: Array, keys: Array, log_weights: Array, coefficients: Array, visible: Array, rows: Array,
    given: Callable[..., Array] | None = None,
) -> None:  # fmt: skip
    """Fill ``rows`` (m, n) with the attention weights."""
    for start in range(0, queries.shape[0], TILE):
        block = slice(start, start + TILE)
        rows[block] = _laws(form, queries[block], keys, log_weights, coefficients, visible[block], given)[0]
