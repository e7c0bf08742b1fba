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

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_count, as_masses
from theory.attention.score import Array, DotProduct, Score
from theory.attention.variants import blocks_of, scores_of, softmax_of, tokens_of

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
    before, after = as_count(back, "back", least=0), as_count(ahead, "ahead", least=0)
    n = k.shape[0]
    mass = np.ones(n) if weights is None else as_masses(weights, "weights", size=n)
    with np.errstate(divide="ignore"):
        logs = np.log(mass)
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
