"""The displacement of a cloud that a layer stretches most, in a small space of directions, by floats."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.linalg

from theory.lipschitz.certificate.weights import Array, AttentionWeights, Numbers

_DIRECTIONS = 8  # taken: dimension of the space of displacements that are tried
_STEPS = 40  # taken: each step raises the stretch, and it is certified wherever the ascent ends


def orthonormal_basis(vectors: list[Array]) -> Array:
    """Return an orthonormal basis of the span of some vectors, shape (d, r), by Gram and Schmidt, twice."""
    kept: list[Array] = []
    for vector in vectors:
        rest = vector / np.linalg.norm(vector)
        for _ in range(2):
            for direction in kept:
                rest = rest - (rest @ direction) * direction
        if np.linalg.norm(rest) > 1e-6:
            kept.append(rest / np.linalg.norm(rest))
    return np.array(kept).T


def improve_displacement(layer: AttentionWeights, points: Array, masses: Array, p: float, plane: Array) -> Array:
    """Return the displacement in a small space of directions that the whole layer stretches most, or nearly so."""
    space = orthonormal_basis([*plane.T, *main_directions(layer)[: _DIRECTIONS - plane.shape[1]]])
    n, r = len(points), space.shape[1]
    jacobian = restricted_jacobian(layer, points, masses, space)
    w = masses / masses.sum()
    if p == 2:
        scaled = np.sqrt(w)[:, np.newaxis, np.newaxis, np.newaxis] * jacobian
        scaled = scaled / np.sqrt(w)[np.newaxis, :, np.newaxis, np.newaxis]
        flat = scaled.transpose(0, 2, 1, 3).reshape(-1, n * r)
        worst = np.linalg.svd(flat, full_matrices=False)[2][0].reshape(n, r) / np.sqrt(w)[:, np.newaxis]
        return np.asarray(worst @ space.T)
    ends = [_ascended(jacobian, w, p, at) for at in range(n)]
    return np.asarray(max(ends, key=lambda end: end[0])[1] @ space.T)


def restricted_jacobian(layer: AttentionWeights, points: Array, masses: Array, space: Array) -> Array:
    """Return the derivative of each output in each token moved in a space of directions, in floats, (n, n, d_out, r).

    Parameters
    ----------
    layer : AttentionWeights
    points : numpy.ndarray, shape (n, d)
    masses : numpy.ndarray, shape (n,)
    space : numpy.ndarray, shape (d, r)
        The directions.
    """
    n, r = len(points), space.shape[1]
    found = np.zeros((n, n, layer.slice(0).shape[0], r))
    if layer.residual:
        found[range(n), range(n)] = space
    seen = np.tril(np.ones((n, n), dtype=bool)) if layer.causal else np.ones((n, n), dtype=bool)
    for head in range(layer.heads):
        first, second = layer.w_query[head] / layer.divisor, layer.w_key[head]
        value = layer.w_value[head]
        q, k = points @ layer.w_query[head].T, points @ second.T
        if layer.score == "dot":
            q = q if layer.b_query is None else q + layer.b_query[head]
            scores = q @ k.T / layer.divisor
            asked = np.broadcast_to((k @ (first @ space))[np.newaxis], (n, n, r))  # of query i moved, by its keys
            told = np.broadcast_to((q / layer.divisor @ (second @ space))[:, np.newaxis], (n, n, r))  # of key j moved
        else:
            apart = q[:, np.newaxis] - q[np.newaxis]
            scores = -(apart * apart).sum(axis=2) / layer.divisor
            asked = -2.0 * apart @ (first @ space)
            told = -asked
            value = value @ layer.w_query[head].T @ first
        raw = _shifted(np.where(seen, scores, -np.inf)) * seen * masses
        laws = raw / raw.sum(axis=1, keepdims=True)
        values = points @ value.T  # (n, d_v)
        apart = values[np.newaxis] - (laws @ values)[:, np.newaxis]
        moved = np.einsum("ij,ijv,ijr->ijvr", laws, apart, told, optimize=True)
        moved += laws[:, :, np.newaxis, np.newaxis] * (value @ space)
        moved[range(n), range(n)] += np.einsum("ij,ijv,ijr->ivr", laws, apart, asked, optimize=True)
        found += np.einsum("ov,ijvr->ijor", layer.slice(head), moved, optimize=True)
    return found


@lru_cache(maxsize=2)  # it is asked for in every metric
def main_directions(layer: AttentionWeights) -> Array:
    """Return the directions in which tokens at one place move on most, largest first, as rows."""
    moved = layer.mean_map()
    first = max(moved.shape[1] - _DIRECTIONS, 0)
    found = scipy.linalg.eigh(moved.T @ moved, subset_by_index=(first, moved.shape[1] - 1))[1]
    return np.ascontiguousarray(found.T[::-1])


def singular_pair(query: Array, key: Array) -> tuple[Array, Array]:
    """Return the key and the query, of length one, whose score is the largest."""
    (asked, first), (told, second) = (np.linalg.qr(matrix.T) for matrix in (query, key))
    left, _, right = np.linalg.svd(first @ second.T)
    return told @ right[0], asked @ left[:, 0]


def float_stretch(layer: AttentionWeights, points: Array, tangent: Array, masses: Array, p: float) -> float:
    """Return by how much a layer stretches a displacement, by floats; no number if there is none."""
    moved = layer.push(points, tangent, masses, _floats, _shifted)[1]
    after, before = (np.linalg.norm(h, axis=1) for h in (moved, tangent))
    with np.errstate(all="ignore"):
        if p == math.inf:
            return float(after.max() / before.max())
        return float((masses @ after**p / (masses @ before**p)) ** (1.0 / p))


def _ascended(jacobian: Array, w: Array, p: float, at: int) -> tuple[float, Array]:
    """Climb to a displacement: of atom ``at`` alone for p = 1; for p = inf, of all, to move output ``at`` most."""
    n, _, _, r = jacobian.shape
    tangent = np.zeros((n, r))
    if p == 1:
        column = w[:, np.newaxis, np.newaxis] * jacobian[:, at] / w[at]
        u = np.linalg.svd(column.reshape(-1, r), full_matrices=False)[2][0]
        for _ in range(_STEPS):
            images = column @ u
            lengths = np.maximum(np.linalg.norm(images, axis=1, keepdims=True), 1e-300)
            u = _unit(np.einsum("iab,ia->b", column, images / lengths), u)
        tangent[at] = u
        return float(np.linalg.norm(column @ u, axis=1).sum()), tangent
    row = jacobian[at].transpose(0, 2, 1)  # (n, r, d_out)
    v = np.linalg.svd(row.reshape(-1, row.shape[2]), full_matrices=False)[2][0]
    for _ in range(_STEPS):
        pulled = row @ v
        tangent = pulled / np.maximum(np.linalg.norm(pulled, axis=1, keepdims=True), 1e-300)
        v = _unit(np.einsum("jrb,jr->b", row, tangent), v)
    return float(np.linalg.norm(np.einsum("jrb,jr->b", row, tangent))), tangent


def _unit(vector: Array, otherwise: Array) -> Array:
    size = float(np.linalg.norm(vector))
    return vector / size if size > 0.0 else otherwise


def _floats(values: Any) -> Array:
    return np.asarray(values, dtype=np.float64)


def _shifted(scores: Numbers) -> Numbers:
    return np.asarray(np.exp(np.maximum(scores - scores.max(axis=1, keepdims=True), -700.0)))
