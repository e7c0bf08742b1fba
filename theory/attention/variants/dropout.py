r"""Inverted dropout of attention weights.

Each weight is kept with probability :math:`1 - r` and divided by that: :math:`\tilde p_i = \xi_i p_i / (1 - r)`. Then
:math:`\mathbb{E}\,\tilde p = p` and :math:`\mathrm{Var}\,\tilde p_i = \frac{r}{1 - r} p_i^2`; the sum of a row has
mean one and variance :math:`\frac{r}{1 - r}\|p\|_2^2`, so it is hardly ever one. Dividing by the sum again would make
the weights biased.

References
----------
N. Srivastava, G. Hinton, A. Krizhevsky, I. Sutskever, R. Salakhutdinov, *Dropout: a simple way to prevent neural
networks from overfitting*, J. Machine Learning Research 15 (2014).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory import engine
from theory._validate import as_flags, as_generator, as_masses, as_real, as_share
from theory.attention.masses import logs_of
from theory.attention.score import Array, DotProduct, Score, as_score, pairs_of
from theory.attention.variants.rows import blocks_of, enclose_softmax, tokens_of
from theory.evidence import as_intervals, exact, is_enclosed
from theory.evidence.intervals import cover

_SCALED = DotProduct()


def attend_dropout(
    queries: ArrayLike, keys: ArrayLike, values: ArrayLike, *, rate: float, rng: np.random.Generator,
    score: Score = _SCALED, weights: ArrayLike | None = None, causal: bool = False,
) -> Array:  # fmt: skip
    """Return attention outputs with inverted dropout of the weights, an own draw for every pair.

    Parameters
    ----------
    queries, keys, values, score, weights, causal
        As in :func:`theory.attention.attend`.
    rate : float
        Probability that a weight is dropped, at least 0 and below 1.
    rng : numpy.random.Generator
        Asked for one uniform number per query and key of positive weight, in this order.

    Returns
    -------
    ndarray, shape (m, d_v)

    Raises
    ------
    ValueError
        If ``rate`` is not in [0, 1), or as in :func:`theory.attention.attend`.
    TypeError
        If ``rng`` is no generator.
    """
    as_generator(rng)
    r = _rate(rate)
    q, k, v = tokens_of(queries, keys, values, causal)
    mass = np.ones(k.shape[0]) if weights is None else as_masses(weights, "weights", size=k.shape[0])
    present = mass > 0.0
    visible = np.cumsum(present, dtype=np.int64) if causal else np.full(q.shape[0], int(present.sum()))
    if visible[0] == 0:
        raise ValueError("weights: expected a key of positive weight at or before every query, got none for 0")
    k, v, mass = k[present], v[present], mass[present]
    outputs = []
    for block in blocks_of(q.shape[0]):
        law = _law(score, q[block], k, mass, visible[block])
        outputs.append(drop_weights(law, rng.random(law.shape) >= r, r) @ v)
    return np.concatenate(outputs)


def _law(score: Score, queries: Any, keys: Any, mass: Array, visible: NDArray[np.int64]) -> Any:
    """Return the weights of some queries; enclosed ones hold what floats make of the middles, too."""
    if is_enclosed(queries, keys):
        floats = _law(score, as_intervals(queries).mid, as_intervals(keys).mid, mass, visible)
        scores = as_score(score).matrix(exact(queries), keys)
        return cover(enclose_softmax(scores, np.arange(len(keys)) < visible[:, np.newaxis], mass), floats)
    pairs = pairs_of(score, queries, np.ascontiguousarray(keys))
    return engine.weights(pairs, log_weights=logs_of(mass), visible=visible)


def drop_weights(weights: ArrayLike, kept: NDArray[np.bool_], rate: float) -> Array:
    """Return the weights that are kept, each divided by the probability 1 - ``rate`` of that, and zero elsewhere.

    Raises
    ------
    ValueError
        If ``rate`` is not in [0, 1), or ``kept`` is no mask of the shape of ``weights``.
    """
    p = as_real(weights, "weights")
    mask = as_flags(kept, "kept", shape=p.shape)
    left = 1.0 - exact(_rate(rate)) if is_enclosed(p) else 1.0 - _rate(rate)
    thinned: Array = np.where(mask, p / left, 0.0)
    return thinned


def _rate(rate: float) -> float:
    dropped_share = as_share(rate, "rate")
    if not dropped_share < 1.0:
        raise ValueError(f"rate: expected a number of at least 0 and below 1, got {rate!r}")
    return dropped_share
