r"""Linear attention: scores that are products of features, so that the keys are summed once for all queries.

With features :math:`\phi` the weights are :math:`p_{ij} = m_j\langle\phi(q_i), \phi(k_j)\rangle / z_i` with
:math:`z_i` their sum, and
:math:`\sum_j p_{ij} v_j = \phi(q_i)^\top S / \phi(q_i)^\top c` with :math:`S = \sum_j m_j \phi(k_j) v_j^\top` and
:math:`c = \sum_j m_j \phi(k_j)`. Under a causal mask both are running sums,
:math:`S_i = S_{i-1} + m_i \phi(k_i) v_i^\top`. With :math:`r` features this takes :math:`O(n r d_v)` operations and,
beside the tokens, memory for :math:`S`; the quadratic form of :func:`linear_weights` gives the same.

This is attention with another kernel, not an approximation of the softmax, unless the features estimate the
exponential; see :mod:`theory.attention.variants.features`.

References
----------
A. Katharopoulos, A. Vyas, N. Pappas, F. Fleuret, *Transformers are RNNs*, ICML 2020 (arXiv:2006.16236).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_masses, as_matrix
from theory.attention.score import Array
from theory.attention.variants.rows import tokens_of
from theory.evidence import as_intervals, exact, is_enclosed
from theory.evidence.intervals import cover

Features = Callable[[Array], Array]
_TILE = 64  # tokens that a causal pass takes at once; taken
_LEAST = 2.0**-960  # derived: a product loses 2^-1075 below the normal range, and 2^52 of them 2^-63 of this


def attend_linear(
    queries: ArrayLike, keys: ArrayLike, values: ArrayLike, *, features: Features,
    weights: ArrayLike | None = None, causal: bool = False,
) -> Array:  # fmt: skip
    """Return the outputs of linear attention by the recurrence over the keys.

    Parameters
    ----------
    queries, keys, values : array_like, shapes (m, d), (n, d) and (n, d_v)
    features : callable
        From points, shape (n, d), to features, shape (n, r), such as :class:`PositiveFeatures`.
    weights : array_like, shape (n,), optional
        Non-negative masses of the keys; only their ratios matter.
    causal : bool, default False
        Query i sees the keys up to and including the i-th.

    Returns
    -------
    ndarray, shape (m, d_v)
        In the unit of the values.

    Raises
    ------
    ValueError
        If a shape does not fit, or the sum of a query's scores vanishes or is too small beside its features for float64
        to divide by. It may be negative where features are.
    TypeError
        If ``features`` cannot be called.
    """
    q, k, v = tokens_of(queries, keys, values, causal)
    if is_enclosed(q, k, v):
        middles = (as_intervals(part).mid for part in (q, k, v))
        floats = attend_linear(*middles, features=features, weights=weights, causal=causal)
        return cover(_enclose(q, k, features, weights, causal) @ v, floats)  # type: ignore[no-any-return]
    left, right = _features(q, k, features, weights)
    if not causal:
        return _divided(*products(left, right, v))
    output, mass = np.empty((left.shape[0], v.shape[1])), np.empty(left.shape[0])
    state = np.zeros((right.shape[1], v.shape[1]))
    count = np.zeros(right.shape[1])
    for start in range(0, left.shape[0], _TILE):
        tile = slice(start, start + _TILE)
        among = np.tril(left[tile] @ right[tile].T)
        output[tile] = left[tile] @ state + among @ v[tile]
        mass[tile] = left[tile] @ count + among.sum(axis=1)
        state += right[tile].T @ v[tile]
        count += right[tile].sum(axis=0)
    return _divided(output, mass)


def linear_weights(
    queries: ArrayLike, keys: ArrayLike, *, features: Features, weights: ArrayLike | None = None,
    causal: bool = False,
) -> Array:  # fmt: skip
    """Return the whole (m, n) matrix of weights, the quadratic form; parameters as in :func:`attend_linear`."""
    q, k, _ = tokens_of(queries, keys, keys, causal)
    if is_enclosed(q, k):
        middles = (as_intervals(part).mid for part in (q, k))
        floats = linear_weights(*middles, features=features, weights=weights, causal=causal)
        return cover(_enclose(q, k, features, weights, causal), floats)  # type: ignore[no-any-return]
    left, right = _features(q, k, features, weights)
    scores = np.tril(left @ right.T) if causal else left @ right.T
    return _divided(scores, scores.sum(axis=1))


def products(left: Array, right: Array, values: Array) -> tuple[Array, Array]:
    """Return numerators (m, d_v) and normalisers (m,) from the features of queries, (m, r), and keys, (n, r)."""
    return left @ (right.T @ values), left @ right.sum(axis=0)


def _features(q: Array, k: Array, features: Features, weights: ArrayLike | None) -> tuple[Array, Array]:
    if not callable(features):
        raise TypeError(f"features: expected a map from points to features, got {type(features).__name__}")
    left = _halved(as_matrix(features(q), "features", shape=(q.shape[0], None)), axis=1)
    right = _halved(as_matrix(features(k), "features", shape=(k.shape[0], left.shape[1])))
    if weights is not None:
        right = right * _halved(as_masses(weights, "weights", size=k.shape[0]))[:, np.newaxis]
    return left, right


def _enclose(q: Any, k: Any, features: Features, weights: ArrayLike | None, causal: bool) -> Any:
    """Enclose the quadratic form."""
    left, right = exact(features(exact(q))), exact(features(exact(k)))
    if weights is not None:
        right = right * as_masses(weights, "weights", size=len(right))[:, np.newaxis]
    scores = left @ right.T
    if causal:
        scores = scores * np.tri(len(left))
    return scores / scores.sum(axis=1, keepdims=True)


def _halved(numbers: Array, axis: int | None = None) -> Array:
    """Divide by the power of two that brings the largest size, along ``axis``, below one: it cancels in a weight."""
    _, power = np.frexp(np.abs(numbers).max(axis=axis, keepdims=True))
    halved: Array = np.ldexp(numbers, -power)
    return halved


def _divided(numerators: Array, masses: Array) -> Array:
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        quotients: Array = numerators / masses[:, np.newaxis]
    bad = ~np.isfinite(quotients).all(axis=1) | (np.abs(masses) < _LEAST)
    if bad.any():
        at = int(bad.argmax())
        raise ValueError(f"features: expected scores with a sum that float64 can divide by, got {masses[at]} for {at}")
    return quotients
