r"""Derivatives of attention along a direction, and gradients, in one pass over the keys.

With weights :math:`p`, a change :math:`\dot s` of the scores and :math:`\dot v` of the values,

.. math:: \dot o = \sum_j p_j \dot v_j + \sum_j p_j \dot s_j (v_j - o),

and for a cotangent :math:`\bar o` the gradient in the scores is
:math:`\bar s_j = p_j(\langle\bar o, v_j\rangle - \sum_k p_k\langle\bar o, v_k\rangle)`. Asked with enclosures, the
formulas are evaluated as they stand, and the answer holds what the engine makes of the middles too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory import engine
from theory._validate import as_points, as_vector
from theory.attention.score import DotProduct, SquaredDistance, pairs_of
from theory.attention.variants.rows import enclose_softmax
from theory.engine import Direction
from theory.evidence import as_intervals, exact, is_enclosed
from theory.evidence.intervals import cover

_SCALED = DotProduct()
Smooth = DotProduct | SquaredDistance


def attend_jvp(
    queries: ArrayLike, keys: ArrayLike, values: ArrayLike, direction: Direction, *, score: Smooth = _SCALED,
    log_weights: ArrayLike | None = None, visible: NDArray[np.int64] | None = None,
) -> Any:  # fmt: skip
    """Return the derivative of the outputs along a direction, shape (m, d_v).

    Parameters
    ----------
    queries, keys, values : array_like or Intervals, shapes (m, d), (n, d) and (n, d_v)
    direction : Direction
        Tangents of queries, keys, values and log-weights.
    score : DotProduct or SquaredDistance
        Without a form.
    log_weights : array_like, shape (n,), optional
        Added to every query's scores; zero unless given.
    visible : ndarray of int64, shape (m,), optional
        How many keys each query sees; all of them unless given.

    Returns
    -------
    ndarray or Intervals, shape (m, d_v)
        Enclosed if an argument is.
    """
    q, k, v, added = _problem(queries, keys, values, score, log_weights)
    if not is_enclosed(q, k, v):
        pairs = pairs_of(score, q, k)
        return engine.jvp(pairs, v, direction, log_weights=added, visible=visible)[1]
    floats = attend_jvp(
        as_intervals(q).mid, as_intervals(k).mid, as_intervals(v).mid, direction,
        score=score, log_weights=added, visible=visible,
    )  # fmt: skip
    law = _law(q, k, score, added, visible)
    dq, dk = exact(direction.queries), exact(direction.keys)
    if isinstance(score, DotProduct):
        change = _beta(score, k) * (dq @ k.T + q @ dk.T)
    else:
        apart = q[:, np.newaxis, :] - k[np.newaxis, :, :]
        change = -2.0 * score.scale * (apart * (dq[:, np.newaxis, :] - dk[np.newaxis, :, :])).sum(axis=2)
    tilted = law * (change + direction.log_weights)
    along = exact(direction.values)
    moved = [row @ along + tilt @ (v - row @ v) for row, tilt in zip(law, tilted, strict=True)]
    return cover(np.stack(moved), floats)


def attend_vjp(
    queries: ArrayLike, keys: ArrayLike, values: ArrayLike, cotangent: ArrayLike, *,
    score: Smooth = _SCALED, log_weights: ArrayLike | None = None, visible: NDArray[np.int64] | None = None,
) -> Direction:  # fmt: skip
    """Return the gradient of ``sum(cotangent * output)`` in queries, keys, values and log-weights.

    Parameters as of :func:`attend_jvp`; ``cotangent`` is (m, d_v). Enclosed if an argument is.
    """
    q, k, v, added = _problem(queries, keys, values, score, log_weights)
    cotangent = as_points(cotangent, "cotangent", size=q.shape[0], dim=v.shape[1])
    if not is_enclosed(q, k, v):
        return engine.vjp(pairs_of(score, q, k), v, cotangent, log_weights=added, visible=visible)
    floats = attend_vjp(
        as_intervals(q).mid, as_intervals(k).mid, as_intervals(v).mid, cotangent,
        score=score, log_weights=added, visible=visible,
    )  # fmt: skip
    law = _law(q, k, score, added, visible)
    pull = exact(cotangent) @ v.T
    scores = law * (pull - (law * pull).sum(axis=1, keepdims=True))
    if isinstance(score, DotProduct):
        by_query = _beta(score, k) * (scores @ k)
        by_key = _beta(score, k) * (scores.T @ q)
    else:
        by_query = -2.0 * score.scale * (scores.sum(axis=1)[:, np.newaxis] * q - scores @ k)
        by_key = -2.0 * score.scale * (scores.sum(axis=0)[:, np.newaxis] * k - scores.T @ q)
    gradient = (by_query, by_key, law.T @ exact(cotangent), scores.sum(axis=0))
    return Direction(*(cover(part, seen) for part, seen in zip(gradient, floats, strict=True)))


def _problem(queries: Any, keys: Any, values: Any, score: Smooth, log_weights: Any) -> tuple[Any, Any, Any, Any]:
    if not isinstance(score, (DotProduct, SquaredDistance)) or getattr(score, "form", None) is not None:
        raise TypeError(f"score: expected DotProduct or SquaredDistance without a form, got {type(score).__name__}")
    q, k = as_points(queries, "queries"), as_points(keys, "keys")
    v = as_points(values, "values", size=k.shape[0])
    added = np.zeros(k.shape[0]) if log_weights is None else as_vector(log_weights, "log_weights", size=k.shape[0])
    return (exact(q), exact(k), exact(v), added) if is_enclosed(q, k, v) else (q, k, v, added)


def _law(q: Any, k: Any, score: Smooth, added: Any, visible: NDArray[np.int64] | None) -> Any:
    seen = np.arange(len(k)) < (np.full(len(q), len(k)) if visible is None else visible)[:, np.newaxis]
    return enclose_softmax(score.matrix(q, k) + exact(added), seen)


def _beta(score: DotProduct, k: Any) -> Any:
    """Return the inverse temperature, the root of the dimension enclosed."""
    return 1 / np.sqrt(exact(float(k.shape[1]))) if score.scale is None else score.scale
