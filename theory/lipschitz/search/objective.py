r"""The logarithm of a local stretch of self-attention, with its gradient in atoms, weights, direction and form.

With tangent h and cotangent g, and :math:`\dot s_{ij}` the derivative of the score along h,

.. math:: \varphi = \sum_i \langle g_i, dF_i[h] \rangle = \sum_{ij} P_{ij}
          \bigl(\langle g_i, h_j\rangle + \langle g_i, x_j - m_i\rangle \dot s_{ij}\bigr).

The three norms choose h and g: for p = 1 one atom moves by a direction u and :math:`g_i = w_i dF_i / |dF_i|`; for
:math:`p = \infty` one output is seen along a direction v and every :math:`h_j` follows the gradient of
:math:`\varphi`; for p = 2 both are singular vectors. Where they are optimal the stretch changes as
:math:`\varphi` does with them held fixed, so that one sweep backwards through the sum above gives every derivative.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_TINY = 1e-300


class State(NamedTuple):
    """What determines a stretch: the cloud, a unit direction, the atom or output singled out, and the score."""

    points: Array
    log_weights: Array
    direction: Array
    chosen: int
    form: Array | None  # B of a dot product; None for squared distance
    scale: float  # beta of squared distance
    causal: bool


class Gradient(NamedTuple):
    """Derivatives of the logarithm of the stretch; ``log_weights`` before any normalisation."""

    points: Array
    log_weights: Array
    direction: Array
    form: Array | None


def log_stretch(state: State, p: float) -> tuple[float, Gradient, Array]:
    """Return the logarithm of the stretch, its gradient, and the displacement that is stretched, shape (n, d)."""
    x, logs, chosen = state.points, state.log_weights, state.chosen
    laws = _laws(state)
    w = np.exp(logs)
    centred = x[np.newaxis] - (laws @ x)[:, np.newaxis]
    unit = state.direction / np.sqrt(state.direction @ state.direction)
    from_weights = np.zeros(x.shape[0])
    from_direction = np.zeros(x.shape[1])
    if p == 1:
        h = np.zeros_like(x)
        h[chosen] = unit
        image = _forward(state, laws, centred, h)
        lengths = np.sqrt((image**2).sum(axis=1)) + _TINY
        total = float(w @ lengths)
        value = math.log(total) - float(logs[chosen])
        g = (w / lengths / total)[:, np.newaxis] * image
        from_weights = w * lengths / total
        from_weights[chosen] -= 1.0
        from_direction = _pulled(state, laws, centred, g)[chosen]
    elif p == 2:
        root = np.exp(0.5 * logs)
        left, values, right = np.linalg.svd(_scaled(state, laws, centred, root))
        h = right[0].reshape(x.shape) / root[:, np.newaxis]
        top = left[:, 0].reshape(x.shape)
        g = root[:, np.newaxis] * top / max(float(values[0]), _TINY)
        value = math.log(max(float(values[0]), _TINY))
        from_weights = 0.5 * (top**2).sum(axis=1) - 0.5 * (right[0].reshape(x.shape) ** 2).sum(axis=1)
    else:
        g = np.zeros_like(x)
        g[chosen] = unit
        pulled = _pulled(state, laws, centred, g)
        lengths = np.sqrt((pulled**2).sum(axis=1)) + _TINY
        total = float(lengths.sum())
        value = math.log(total)
        h = pulled / lengths[:, np.newaxis]
        g = g / total
        from_direction = _forward(state, laws, centred, h)[chosen] / total
    points, weights, form = _backward(state, laws, centred, h, g)
    norm = np.sqrt(state.direction @ state.direction)
    from_direction = (from_direction - (from_direction @ unit) * unit) / norm
    return value, Gradient(points, weights + from_weights, from_direction, form), h


def _laws(state: State) -> Array:
    x = state.points
    if state.form is not None:
        scores = x @ state.form @ x.T
    else:
        apart = x[:, np.newaxis] - x[np.newaxis]
        scores = -state.scale * np.einsum("ijk,ijk->ij", apart, apart)
    scores = scores + state.log_weights
    if state.causal:
        scores = np.where(np.tri(x.shape[0], dtype=bool), scores, -np.inf)
    raw = np.exp(scores - scores.max(axis=1, keepdims=True))
    laws: Array = raw / raw.sum(axis=1, keepdims=True)
    return laws


def _speeds(state: State, h: Array) -> Array:
    """Return the derivative of every score along a displacement."""
    x = state.points
    if state.form is not None:
        speeds: Array = h @ (x @ state.form.T).T + (x @ state.form) @ h.T
        return speeds
    apart = x[:, np.newaxis] - x[np.newaxis]
    moved = h[:, np.newaxis] - h[np.newaxis]
    return np.asarray(-2.0 * state.scale * np.einsum("ijk,ijk->ij", apart, moved))


def _forward(state: State, laws: Array, centred: Array, h: Array) -> Array:
    """Return the derivative of the outputs along a displacement."""
    image: Array = laws @ h + np.einsum("ij,ijk->ik", laws * _speeds(state, h), centred)
    return image


def _pulled(state: State, laws: Array, centred: Array, g: Array) -> Array:
    """Return the transposed derivative applied to a cotangent."""
    x = state.points
    gain = laws * np.einsum("ijk,ik->ij", centred, g)
    pulled: Array = laws.T @ g
    if state.form is not None:
        return np.asarray(pulled + gain @ (x @ state.form.T) + gain.T @ (x @ state.form))
    both = gain + gain.T
    return np.asarray(pulled - 2.0 * state.scale * (both.sum(axis=1)[:, np.newaxis] * x - both @ x))


def _scaled(state: State, laws: Array, centred: Array, root: Array) -> Array:
    """Return the Jacobian between the weighted Euclidean spaces, shape (n d, n d)."""
    x = state.points
    n, d = x.shape
    if state.form is not None:
        by_key = np.broadcast_to((x @ state.form)[:, np.newaxis], (n, n, d))
        by_query = np.broadcast_to((x @ state.form.T)[np.newaxis], (n, n, d))
    else:
        by_key = 2.0 * state.scale * (x[:, np.newaxis] - x[np.newaxis])
        by_query = -by_key
    blocks = laws[..., np.newaxis, np.newaxis] * (np.eye(d) + centred[..., np.newaxis] * by_key[..., np.newaxis, :])
    at = np.arange(n)
    blocks[at, at] += np.einsum("ij,ijk,ijl->ikl", laws, centred, by_query)
    blocks = blocks * (root[:, np.newaxis] / root[np.newaxis])[..., np.newaxis, np.newaxis]
    return np.asarray(blocks.transpose(0, 2, 1, 3).reshape(n * d, n * d))


def _backward(state: State, laws: Array, centred: Array, h: Array, g: Array) -> tuple[Array, Array, Array | None]:
    """Return the derivatives of the sum with h and g held fixed: by points, by log-weights, by the form."""
    x = state.points
    speeds = _speeds(state, h)
    along = np.einsum("ijk,ik->ij", centred, g)
    drift = (laws * speeds).sum(axis=1, keepdims=True)
    by_law = g @ h.T + along * (speeds - drift)  # up to a constant of the row, which a law does not see
    by_score = laws * (by_law - (laws * by_law).sum(axis=1, keepdims=True))
    by_speed = laws * along
    points = (laws * (speeds - drift)).T @ g
    if state.form is not None:
        form = state.form
        points = points + by_score @ (x @ form.T) + by_score.T @ (x @ form)
        points = points + by_speed @ (h @ form.T) + by_speed.T @ (h @ form)
        by_form = x.T @ by_score @ x + h.T @ by_speed @ x + x.T @ by_speed @ h
        return points, by_score.sum(axis=0), by_form
    for part, vectors in ((by_score, x), (by_speed, h)):
        both = part + part.T
        points = points - 2.0 * state.scale * (both.sum(axis=1)[:, np.newaxis] * vectors - both @ vectors)
    return points, by_score.sum(axis=0), None
