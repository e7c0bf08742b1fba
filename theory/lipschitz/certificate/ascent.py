"""The displacement of a cloud that a layer stretches most, in a small space of directions, by floats."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

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
    space = orthonormal_basis([*plane.T, *_main_directions(layer)[: _DIRECTIONS - plane.shape[1]]])
    n = len(points)
    r = space.shape[1]
    blocks = np.empty((n, n, r), dtype=object)
    for j in range(n):
        for k in range(r):
            tangent = np.zeros_like(points)
            tangent[j] = space[:, k]
            moved = layer.push(points, tangent, masses, _floats, _shifted)[1]
            for i in range(n):
                blocks[i, j, k] = moved[i]
    jacobian = np.array(blocks.tolist()).transpose(0, 1, 3, 2)  # (n, n, d_out, r)
    w = masses / masses.sum()
    if p == 2:
        scaled = np.sqrt(w)[:, np.newaxis, np.newaxis, np.newaxis] * jacobian
        scaled = scaled / np.sqrt(w)[np.newaxis, :, np.newaxis, np.newaxis]
        flat = scaled.transpose(0, 2, 1, 3).reshape(-1, n * r)
        worst = np.linalg.svd(flat, full_matrices=False)[2][0].reshape(n, r) / np.sqrt(w)[:, np.newaxis]
        return np.asarray(worst @ space.T)
    ends = [_ascended(jacobian, w, p, at) for at in range(n)]
    return np.asarray(max(ends, key=lambda end: end[0])[1] @ space.T)


@lru_cache(maxsize=2)  # of a wide layer it takes longer than all else
def _main_directions(layer: AttentionWeights) -> Array:
    """Return the directions in which tokens at one place move on most, largest first."""
    return np.asarray(np.linalg.svd(layer.mean_map(), full_matrices=False)[2])


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
        u = np.linalg.svd(column.reshape(-1, r))[2][0]
        for _ in range(_STEPS):
            images = column @ u
            lengths = np.maximum(np.linalg.norm(images, axis=1, keepdims=True), 1e-300)
            u = _unit(np.einsum("iab,ia->b", column, images / lengths), u)
        tangent[at] = u
        return float(np.linalg.norm(column @ u, axis=1).sum()), tangent
    row = jacobian[at].transpose(0, 2, 1)  # (n, r, d_out)
    v = np.linalg.svd(row.reshape(-1, row.shape[2]))[2][0]
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
