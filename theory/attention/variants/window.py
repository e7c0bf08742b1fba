r"""Sliding windows: softmax over the keys beside the query.

Layers of causal windows of :math:`w` keys pass :math:`w - 1` tokens further each: :math:`L` of them reach back exactly
:math:`L(w - 1)`.

This is not the numerical method ``local`` of :func:`theory.attention.attend`, which sees all keys and only computes
those that are far away in space as far as they count.

References
----------
I. Beltagy, M. E. Peters, A. Cohan, *Longformer: the long-document transformer*, 2020 (arXiv:2004.05150).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_count, as_masses
from theory.attention.masses import logs_of
from theory.attention.score import Array, DotProduct, Score, as_score
from theory.attention.variants.rows import blocks_of, enclose_softmax, scores_of, softmax_of, tokens_of
from theory.evidence import as_intervals, exact, is_enclosed
from theory.evidence.intervals import cover

_SCALED = DotProduct()


def attend_window(
    queries: ArrayLike, keys: ArrayLike, values: ArrayLike, *, back: int, ahead: int = 0, score: Score = _SCALED,
    weights: ArrayLike | None = None,
) -> Array:  # fmt: skip
    r"""Return attention outputs when query i sees the keys i - ``back`` to i + ``ahead`` of the sequence.

    A causal window of w keys has ``back = w - 1`` and ``ahead = 0``. Time and memory grow like the tokens times the
    window.

    Parameters
    ----------
    queries, keys, values : array_like, shapes (n, d_q), (n, d_k) and (n, d_v)
    back, ahead : int
        Non-negative.
    score : Score, default DotProduct()
    weights : array_like, shape (n,), optional
        As in :func:`theory.attention.attend`.

    Returns
    -------
    ndarray, shape (n, d_v)

    Raises
    ------
    ValueError
        If a shape does not fit, or a query sees no key of positive weight.
    """
    q, k, v = tokens_of(queries, keys, values, paired=True)
    before = as_count(back, "back", least=0)
    after = as_count(ahead, "ahead", least=0)
    if is_enclosed(q, k, v):
        middles = (as_intervals(part).mid for part in (q, k, v))
        floats = attend_window(*middles, back=before, ahead=after, score=score, weights=weights)
        return cover(_enclose(q, k, v, before, after, score, weights), floats)  # type: ignore[no-any-return]
    n = k.shape[0]
    mass = np.ones(n) if weights is None else as_masses(weights, "weights", size=n)
    with np.errstate(divide="ignore"):
        logs = logs_of(mass)
    output = np.empty((n, v.shape[1]))
    for block in blocks_of(n):
        near = slice(max(0, block.start - before), min(n, block.stop + after))
        s = scores_of(score, q[block], k[near])
        apart = np.arange(near.start, near.stop) - np.arange(block.start, block.stop)[:, np.newaxis]
        seen = (apart >= -before) & (apart <= after) & (mass[near] > 0.0)
        if not seen.any(axis=1).all():
            alone = block.start + int((~seen.any(axis=1)).argmax())
            raise ValueError(f"weights: expected a key of positive weight in every window, got none for {alone}")
        output[block] = softmax_of(np.where(seen, s + logs[near], -np.inf)) @ v[near]
    return output


def _enclose(q: Any, k: Any, v: Any, before: int, after: int, score: Score, weights: ArrayLike | None) -> Any:
    n = len(k)
    mass = np.ones(n) if weights is None else as_masses(weights, "weights", size=n)
    outputs = []
    for block in blocks_of(n):
        near = slice(max(0, block.start - before), min(n, block.stop + after))
        apart = np.arange(near.start, near.stop) - np.arange(block.start, block.stop)[:, np.newaxis]
        seen = (apart >= -before) & (apart <= after) & (mass[near] > 0.0)
        scores = as_score(score).matrix(exact(q[block]), k[near])
        outputs.append(enclose_softmax(scores, seen, mass[near]) @ v[near])
    return np.concatenate(outputs)
