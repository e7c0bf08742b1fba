"""The engine in plain NumPy: slow, readable, and the oracle of the compiled passes, with the same signatures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from theory.engine.pairs import Array, Form, Pairs

BLOCK = 256  # queries; taken


def scores(pairs: Pairs, rows: slice = slice(None)) -> Array:
    """Return the scores of some queries with every key, shape (b, n)."""
    queries = pairs.queries[rows]
    keys = pairs.keys
    c = pairs.coefficients
    if pairs.given is not None:
        return pairs.given(queries, keys)
    if pairs.form is Form.DOT:
        found: Array = c[0] * (queries @ keys.T)
    elif pairs.form is Form.DISTANCE:
        found = -c[0] * cdist(queries, keys, "sqeuclidean")
    elif pairs.form is Form.TORUS:
        half = np.sin(0.5 * (queries[:, np.newaxis, :] - keys[np.newaxis, :, :]))
        found = -4.0 * c[0] * np.einsum("ijf,ijf->ij", half, half)
    else:
        found = np.zeros((queries.shape[0], keys.shape[0]))
        for f, factor in enumerate(c):
            found += factor * np.tanh(queries[:, f, np.newaxis] + keys[np.newaxis, :, f])
    return found


def slopes(pairs: Pairs, rows: slice) -> tuple[Array, Array]:
    """Return the derivatives of the scores by the features of the query and by those of the key, each (b, n, f)."""
    queries = pairs.queries[rows, np.newaxis, :]
    keys = pairs.keys[np.newaxis, :, :]
    c = pairs.coefficients
    shape = np.broadcast_shapes(queries.shape, keys.shape)
    if pairs.form is Form.DOT:
        return np.broadcast_to(c[0] * keys, shape), np.broadcast_to(c[0] * queries, shape)
    if pairs.form is Form.DISTANCE:
        by_key = 2.0 * c[0] * (queries - keys)
        return -by_key, by_key
    if pairs.form is Form.TORUS:
        by_key = 2.0 * c[0] * np.sin(queries - keys)
        return -by_key, by_key
    both = c / np.cosh(queries + keys) ** 2
    return both, both


class _Laws(NamedTuple):
    rows: slice
    law: Array
    log_partition: Array


def _laws(pairs: Pairs, log_weights: Array, visible: NDArray[np.int64]) -> Iterator[_Laws]:
    """Yield the attention weights (b, n) and log-partitions (b,) of one block of queries after another."""
    for start in range(0, pairs.queries.shape[0], BLOCK):
        rows = slice(start, start + BLOCK)
        logits = scores(pairs, rows) + log_weights
        logits[np.arange(logits.shape[1])[np.newaxis, :] >= visible[rows, np.newaxis]] = -np.inf
        peak = logits.max(axis=1, keepdims=True)
        law = np.exp(logits - peak)
        mass = law.sum(axis=1, keepdims=True)
        law /= mass
        yield _Laws(rows, law, (peak + np.log(mass))[:, 0])


def attention(
    pairs: Pairs, values: Array, log_weights: Array, visible: NDArray[np.int64], *, single: bool = False
) -> tuple[Array, Array]:
    """Return output (m, d_v) and log-partition (m,); query ``i`` sees the first ``visible[i] >= 1`` keys."""
    output = np.empty((pairs.queries.shape[0], values.shape[1]))
    log_partition = np.empty(pairs.queries.shape[0])
    for rows, law, logs in _laws(pairs, log_weights, visible):
        output[rows], log_partition[rows] = law @ values, logs
    return (output.astype(np.float32), log_partition.astype(np.float32)) if single else (output, log_partition)


def weights(pairs: Pairs, log_weights: Array, visible: NDArray[np.int64]) -> Array:
    """Return the attention weights (m, n)."""
    return np.concatenate([law for _, law, _ in _laws(pairs, log_weights, visible)])


def moments(
    pairs: Pairs, values: Array, log_weights: Array, visible: NDArray[np.int64]
) -> tuple[Array, Array, Array, Array]:
    """Return output (m, d_v), log-partition (m,), entropy (m,) and covariance of the values (m, d_v, d_v) per row."""
    m = pairs.queries.shape[0]
    d_v = values.shape[1]
    output, log_partition = np.empty((m, d_v)), np.empty(m)
    entropy, covariance = np.empty(m), np.empty((m, d_v, d_v))
    for rows, law, logs in _laws(pairs, log_weights, visible):
        output[rows], log_partition[rows] = law @ values, logs
        positive = np.where(law > 0.0, law, 1.0)
        entropy[rows] = -(positive * np.log(positive)).sum(axis=1)
        centred = values[np.newaxis, :, :] - output[rows, np.newaxis, :]
        covariance[rows] = np.einsum("ij,ijc,ije->ice", law, centred, centred)
    return output, log_partition, entropy, covariance


def jvp(
    pairs: Pairs, values: Array, log_weights: Array, visible: NDArray[np.int64],
    direction: tuple[Array, Array, Array, Array],
) -> tuple[Array, Array]:  # fmt: skip
    """Return the output and its derivative along tangents of queries, keys, values and log-weights."""
    queries, keys, moved, added = direction
    output = np.empty((pairs.queries.shape[0], values.shape[1]))
    derivative = np.empty((queries.shape[0], values.shape[1]))
    for rows, law, _ in _laws(pairs, log_weights, visible):
        by_query, by_key = slopes(pairs, rows)
        change = np.einsum("ijf,if->ij", by_query, queries[rows]) + np.einsum("ijf,jf->ij", by_key, keys) + added
        change -= (law * change).sum(axis=1, keepdims=True)
        output[rows] = law @ values
        derivative[rows] = law @ moved + (law * change) @ values
    return output, derivative


def vjp(
    pairs: Pairs, values: Array, log_weights: Array, visible: NDArray[np.int64], cotangent: Array
) -> tuple[Array, Array, Array, Array]:
    """Return the cotangents of queries, keys, values and log-weights that belong to one of the output, (m, d_v)."""
    queries, keys = np.zeros_like(pairs.queries), np.zeros_like(pairs.keys)
    moved = np.zeros_like(values)
    added = np.zeros(values.shape[0])
    for rows, law, _ in _laws(pairs, log_weights, visible):
        by_query, by_key = slopes(pairs, rows)
        gain = cotangent[rows] @ values.T
        gain -= (law * gain).sum(axis=1, keepdims=True)
        gain *= law
        queries[rows] = np.einsum("ij,ijf->if", gain, by_query)
        keys += np.einsum("ij,ijf->jf", gain, by_key)
        moved += law.T @ cotangent[rows]
        added += gain.sum(axis=0)
    return queries, keys, moved, added
