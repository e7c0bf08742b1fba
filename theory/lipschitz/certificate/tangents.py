r"""Derivatives of a layer at given tokens: forward, backward, and their largest singular values.

With laws P, values v and outputs :math:`F_i = \sum_jP_{ij}v_j` of a head, a cotangent u of its outputs pulls back to
:math:`P^\top u` in the values, to :math:`\langle u_i, v_j\rangle` in the laws, and through the softmax to
:math:`P_{ij}(\langle u_i, v_j\rangle - \sum_kP_{ik}\langle u_i, v_k\rangle)` in the scores, which are bilinear in
queries and keys. The Jacobian of n tokens has :math:`n^2dd'` entries; where these are many it is applied, not stored.
All is in floats, but states that are enclosures are pushed forward as such.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, svds

from theory.evidence import Interval, is_enclosed
from theory.lipschitz.certificate.ascent import restricted_jacobian
from theory.lipschitz.certificate.turned import Turns, turn
from theory.lipschitz.certificate.weights import Array, AttentionWeights

_DENSE = 1024  # taken: rows and columns of a Jacobian that is stored
_LARGEST = 24  # taken: singular values of one that is not


class HeadState(NamedTuple):
    """What one head computes of tokens, in floats or enclosures."""

    queries: Any
    """With their bias, turned by their positions, (n, d_k)."""
    keys: Any
    """Turned likewise, (n, d_k)."""
    values: Any
    """(n, d_v), for distance attention of the keys' own map."""
    laws: Any
    """Weights, (n, n)."""
    value_map: Any
    """What makes values of tokens, (d_v, d)."""
    factor: Any
    """Of the scores."""
    turns: Turns | None = None
    """Of the positions, if they turn queries and keys."""


class Spectrum(NamedTuple):
    """Singular values of a Jacobian, largest first, and the displacement that belongs to the first."""

    values: Array
    worst: Array
    """(n, d), of length one."""
    whole: bool
    """Whether these are all of them."""


def head_states(layer: AttentionWeights, points: Array, turns: Turns | None = None) -> list[HeadState]:
    """Return what every head computes of tokens (n, d), whose positions turn them or not, in floats."""
    found = []
    for head in range(layer.heads):
        query, value = layer.w_query[head], layer.w_value[head]
        q, k = points @ query.T, points @ layer.w_key[head].T
        if layer.b_query is not None:
            q = q + layer.b_query[head]
        if turns is not None:
            k = k if layer.b_key is None else k + layer.b_key[head]
            q, k = turn(q, turns), turn(k, turns)
        scores = q @ k.T / layer.divisor
        if layer.score == "distance":  # the rest is the same for all keys
            scores = 2.0 * scores - np.square(k).sum(axis=1) / layer.divisor
            value = value @ query.T @ (query / layer.divisor)
        laws = laws_of(scores, causal=layer.causal)
        found.append(HeadState(q, k, points @ value.T, laws, value, 1.0 / layer.divisor, turns))
    return found


def factor_of(layer: AttentionWeights) -> Interval:
    """Enclose the factor of the scores."""
    if layer.scale is not None:
        return Interval.exactly(layer.scale)
    return 1.0 / Interval.exactly(layer.w_query.shape[1]).sqrt()


def laws_of(scores: Any, *, causal: bool, masses: Array | None = None) -> Any:
    """Return the weights of scores, shape (n, n), in floats or enclosures, for keys of masses, or of equal ones."""
    seen = np.tril(np.ones(scores.shape)) if causal else np.ones(scores.shape)
    middle = scores.mid if is_enclosed(scores) else scores
    shift = np.where(seen > 0.0, middle, -np.inf).max(axis=1, keepdims=True)
    above = (scores - shift) * seen if is_enclosed(scores) else np.where(seen > 0.0, scores - shift, 0.0)
    raw = np.exp(above) * (seen if masses is None else seen * masses)
    return raw / raw.sum(axis=1, keepdims=True)


def outputs(layer: AttentionWeights, points: Array, turns: Turns | None = None) -> Array:
    """Return the outputs of a layer, (n, d_out), whose tokens are turned by their positions or not."""
    total = points if layer.residual else np.zeros((len(points), layer.slice(0).shape[0]))
    for head, state in enumerate(head_states(layer, points, turns)):
        total = total + (state.laws @ state.values) @ layer.slice(head).T
    return np.asarray(total)


def push_forward(layer: AttentionWeights, states: list[HeadState], tangent: Any) -> Any:
    """Return how outputs move, (n, d_out), as tokens move by a tangent, (n, d)."""
    total = tangent if layer.residual else np.zeros((len(tangent), layer.slice(0).shape[0]))
    for head, state in enumerate(states):
        asked, told = tangent @ layer.w_query[head].T, tangent @ layer.w_key[head].T
        if state.turns is not None:
            asked, told = turn(asked, state.turns), turn(told, state.turns)
        slopes = asked @ state.keys.T + state.queries @ told.T
        if layer.score == "distance":
            slopes = 2.0 * slopes - 2.0 * (state.keys * told).sum(axis=1)
        slopes = slopes * state.factor
        change = state.laws * (slopes - (state.laws * slopes).sum(axis=1, keepdims=True))
        moved = change @ state.values + state.laws @ (tangent @ state.value_map.T)
        total = total + moved @ layer.slice(head).T
    return total


def pull_back(layer: AttentionWeights, states: list[HeadState], cotangent: Array) -> Array:
    """Return the gradient in the tokens, (n, d), of the product of outputs with a cotangent, (n, d_out)."""
    total = cotangent if layer.residual else np.zeros((len(cotangent), layer.dim))
    for head, state in enumerate(states):
        u = cotangent @ layer.slice(head)
        in_laws = u @ state.values.T
        in_scores = state.laws * (in_laws - (state.laws * in_laws).sum(axis=1, keepdims=True)) * state.factor
        in_queries, in_keys = in_scores @ state.keys, in_scores.T @ state.queries
        if state.turns is not None:
            in_queries, in_keys = turn(in_queries, state.turns, back=True), turn(in_keys, state.turns, back=True)
        if layer.score == "distance":
            in_queries, in_keys = 2.0 * in_queries, 2.0 * in_keys - 2.0 * in_scores.sum(axis=0)[:, None] * state.keys
        total = total + state.laws.T @ u @ state.value_map
        total = total + in_queries @ layer.w_query[head] + in_keys @ layer.w_key[head]
    return np.asarray(total)


def spectrum(
    layer: AttentionWeights, points: Array, turns: Turns | None = None, *, largest: int = _LARGEST
) -> Spectrum:
    """Return singular values of the Jacobian at tokens: all if it is small, else the largest."""
    n, d = points.shape
    rows, columns = n * layer.slice(0).shape[0], n * d
    states = head_states(layer, points, turns)
    if max(rows, columns) <= _DENSE:
        if turns is None:
            blocks = restricted_jacobian(layer, points, np.ones(n), np.eye(d))
            matrix = blocks.transpose(0, 2, 1, 3).reshape(rows, columns)
        else:
            ways = np.eye(columns).reshape(columns, n, d)
            matrix = np.stack([push_forward(layer, states, way).ravel() for way in ways], axis=1)
        _, values, right = np.linalg.svd(matrix, full_matrices=False)
        return Spectrum(np.asarray(values, dtype=np.float64), right[0].reshape(n, d), True)
    jacobian = LinearOperator(
        (rows, columns),
        matvec=lambda h: push_forward(layer, states, h.reshape(n, d)).ravel(),
        rmatvec=lambda g: pull_back(layer, states, g.reshape(n, -1)).ravel(),
        dtype=np.float64,
    )
    start = np.random.default_rng(0).normal(size=min(rows, columns))
    _, values, right = svds(jacobian, k=min(largest, min(rows, columns) - 1), v0=start)
    order = np.argsort(-values)
    return Spectrum(np.asarray(values[order], dtype=np.float64), right[order[0]].reshape(n, d), False)


def head_alone(layer: AttentionWeights, head: int) -> AttentionWeights:
    """Return one head with its part of the output matrix, without a residual."""
    one = slice(head, head + 1)
    return replace(
        layer,
        w_query=layer.w_query[one],
        w_key=layer.w_key[one],
        w_value=layer.w_value[one],
        w_out=layer.slice(head),
        b_query=None if layer.b_query is None else layer.b_query[one],
        b_key=None if layer.b_key is None else layer.b_key[one],
        residual=False,
    )
