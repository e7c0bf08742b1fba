r"""Entropy of attention weights, and covariance of the values under them, in one pass over the keys.

For a query with the weights :math:`p`, :math:`H = -\sum_j p_j \log p_j` and
:math:`C = \sum_j p_j (v_j - o)(v_j - o)^\top`. Asked with enclosures, both formulas are evaluated as they stand, with
:math:`-\log p_j = \log Z - s_j`, and the answer holds what the engine makes of the middles too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from theory import engine
from theory._validate import as_masses, as_points
from theory.attention.enclosed import enclose_outputs
from theory.attention.masses import logs_of
from theory.attention.score import DotProduct, Score, as_score, pairs_of
from theory.engine import Moments
from theory.evidence import as_intervals, exact, is_enclosed
from theory.evidence.intervals import cover

_SCALED = DotProduct()


def attend_moments(
    queries: ArrayLike, keys: ArrayLike, values: ArrayLike, *, score: Score = _SCALED, weights: ArrayLike | None = None
) -> Moments:
    """Return outputs and log-partitions with the entropy of each row and the covariance of the values under it.

    Parameters
    ----------
    queries, keys, values : array_like or Intervals, shapes (m, d_q), (n, d_k) and (n, d_v)
    score : Score, default DotProduct()
    weights : array_like, shape (n,), optional
        Positive masses of the keys.

    Returns
    -------
    Moments
        Enclosed if an argument is.

    Raises
    ------
    ValueError
        If a shape does not fit, or a mass is not positive.
    """
    q, k = as_points(queries, "queries"), as_points(keys, "keys")
    v = as_points(values, "values", size=k.shape[0])
    mass = np.ones(k.shape[0]) if weights is None else as_masses(weights, "weights", size=k.shape[0])
    if not mass.min() > 0.0:
        raise ValueError(f"weights: expected positive masses, got {mass.min()}")
    if is_enclosed(q, k, v):
        return _enclose(q, k, v, score, mass)
    return engine.moments(pairs_of(score, q, k), v, log_weights=logs_of(mass))


def _enclose(queries: Any, keys: Any, values: Any, score: Score, mass: Any) -> Moments:
    q, k, v = as_intervals(queries), as_intervals(keys), as_intervals(values)
    floats = engine.moments(pairs_of(score, q.mid, k.mid), v.mid, log_weights=logs_of(mass))
    found = enclose_outputs(score, q, k, v, log_weights=np.log(exact(mass)))
    logits = as_score(score).matrix(q, k) + np.log(exact(mass))  # type: ignore[arg-type]
    shifted = logits - logits.mid.max(axis=1, keepdims=True)
    total = np.exp(shifted).sum(axis=1, keepdims=True)
    law = np.exp(shifted) / total
    entropy = np.log(total)[:, 0] - (law * shifted).sum(axis=1)
    covariances = []
    for row in law:
        centred = v - row @ v
        covariances.append(centred.T @ (row[:, np.newaxis] * centred))
    return Moments(
        cover(found.output, floats.output), cover(found.log_partition, floats.log_partition),
        cover(entropy, floats.entropy), cover(np.stack(covariances), floats.covariance),
    )  # fmt: skip
