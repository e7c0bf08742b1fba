r"""Attention whose rows are not the softmax over all keys: any map from scores to weights, or the ``k`` best keys.

Every query still averages the values, :math:`o_i = \sum_j p_{ij} v_j`; the row :math:`p_i` comes from the scores
:math:`s_i` by a map that the caller chooses, such as a sparse one. Keys that a query does not see have the score
:math:`-\infty`.

The row map :func:`top_k` is the softmax over the :math:`k` largest scores. Among all laws on :math:`k` keys none is
nearer to the softmax :math:`p` in total variation: a law on the keys :math:`S` differs from :math:`p` by at least
:math:`\|p' - p\|_1 = 2 p(S^c)`, and :math:`S^c` has the least mass when it holds the least weights.

Work goes by blocks of queries: the weights of all pairs are never held at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_flag, as_points, as_real, as_scores
from theory.attention.score import Array, DotProduct, Score, as_score
from theory.evidence import as_intervals, exact, is_enclosed
from theory.evidence.intervals import cover

Rows = Callable[[Array], Array]
_SCALED = DotProduct()
_BLOCK = 256  # queries; taken


def attend_rows(
    queries: ArrayLike, keys: ArrayLike, values: ArrayLike, *, rows: Rows, score: Score = _SCALED,
    causal: bool = False,
) -> Array:  # fmt: skip
    r"""Return attention outputs under a map from scores to weights that the caller chooses.

    Parameters
    ----------
    queries, keys, values : array_like, shapes (m, d_q), (n, d_k) and (n, d_v)
    rows : callable
        From scores, shape (b, n), to weights of the same shape, row by row; :math:`-\infty` marks a key that the query
        does not see. What the weights of a row sum to is the map's affair. Masses of the keys mean something else to
        every map, so they belong into it, such as the prior of a softmax.
    score : Score, default DotProduct()
    causal : bool, default False
        Query i sees the keys up to and including the i-th.

    Returns
    -------
    ndarray, shape (m, d_v)
        In the unit of the values.

    Raises
    ------
    ValueError
        If a shape does not fit, or the map returns another shape, a number that is not finite, or a weight other than
        zero on a key that is not seen.
    TypeError
        If ``rows`` cannot be called.

    Examples
    --------
    >>> import functools
    >>> attend_rows([[1.0]], [[3.0], [3.0], [0.0]], [[1.0], [3.0], [9.0]], rows=functools.partial(top_k, k=2))
    array([[2.]])
    """
    if not callable(rows):
        raise TypeError(f"rows: expected a map from scores to weights, got {type(rows).__name__}")
    q, k, v = tokens_of(queries, keys, values, causal)
    if is_enclosed(q, k, v):
        return _enclose_rows(q, k, v, rows, score, causal=causal)  # type: ignore[no-any-return]
    output = np.empty((q.shape[0], v.shape[1]))
    for block in blocks_of(q.shape[0]):
        s = scores_of(score, q[block], k)
        hidden = _later(block, k.shape[0]) if causal else np.zeros(s.shape, dtype=bool)
        s[hidden] = -np.inf
        weights = as_real(rows(s), "rows")
        if weights.shape != s.shape:
            raise ValueError(f"rows: expected weights of shape {s.shape}, got shape {weights.shape}")
        if (weights[hidden] != 0.0).any():
            raise ValueError("rows: expected weight zero where the score is -inf, got another")
        output[block] = weights @ v
    return output


def _enclose_rows(q: Any, k: Any, v: Any, rows: Rows, score: Score, *, causal: bool) -> Any:
    """Enclose the outputs query by query, from the keys that it sees, and what floats make of the middles."""
    outputs = []
    for i in range(len(q)):
        seen = slice(0, i + 1 if causal else None)
        law = rows(as_score(score).matrix(exact(q[i : i + 1]), k[seen]))
        outputs.append(law @ v[seen])
    middles = (as_intervals(part).mid for part in (q, k, v))
    return cover(np.concatenate(outputs), attend_rows(*middles, rows=rows, score=score, causal=causal))


def enclose_softmax(scores: Any, seen: NDArray[np.bool_], weights: Any = 1.0) -> Any:
    """Enclose the weighted softmax of rows over the keys that are seen, shape (m, n)."""
    peaks = np.max(np.where(seen, scores.mid, -np.inf), axis=1, keepdims=True)
    masses = np.where(seen, np.exp(np.where(seen, scores - peaks, 0.0)) * weights, 0.0)
    return masses / masses.sum(axis=1, keepdims=True)


def top_k(scores: ArrayLike, k: int) -> Array:
    r"""Return the softmax over the ``k`` largest scores of each row; of equal ones the first count.

    Parameters
    ----------
    scores : array_like, shape (m, n)
        Finite, or :math:`-\infty` for a key that is not seen; a row that sees fewer than ``k`` keys takes them all.
    k : int

    Raises
    ------
    ValueError
        If ``k`` exceeds n, or a row sees no key.
    """
    count = as_count(k, "k")
    if is_enclosed(scores):
        return _enclose_top(scores, count)  # type: ignore[no-any-return]
    s, hidden = _masked(scores)
    if count > s.shape[1]:
        raise ValueError(f"k: expected at most the number of keys, {s.shape[1]}, got {count}")
    if hidden.all(axis=1).any():
        raise ValueError(f"scores: expected a key in every row, got none in row {int(hidden.all(axis=1).argmax())}")
    chosen = np.argsort(-s, axis=1, kind="stable")[:, :count]
    best = np.take_along_axis(s, chosen, axis=1)
    weights = np.zeros(s.shape)
    np.put_along_axis(weights, chosen, softmax_of(best), axis=1)
    return weights


def _enclose_top(scores: Any, count: int) -> Any:
    """Enclose the softmax over the keys that floats choose by the middles, and what they make of it."""
    s = as_intervals(scores)
    floats = top_k(s.mid, count)
    return cover(enclose_softmax(s, floats > 0.0), floats)


def tokens_of(
    queries: ArrayLike, keys: ArrayLike, values: ArrayLike, causal: bool = False, *, paired: bool = False
) -> tuple[Array, Array, Array]:
    """Return queries, keys and values that fit each other; as many queries as keys if masked or paired."""
    q, k = as_points(queries, "queries"), as_points(keys, "keys")
    if (as_flag(causal, "causal") or paired) and q.shape[0] != k.shape[0]:
        raise ValueError(f"queries: expected as many as keys, {k.shape[0]}, got {q.shape[0]}")
    return q, k, as_points(values, "values", size=k.shape[0])


def blocks_of(m: int) -> Iterator[slice]:
    """Cut m queries into blocks."""
    for start in range(0, m, _BLOCK):
        yield slice(start, min(start + _BLOCK, m))


def scores_of(score: Score, queries: Array, keys: Array) -> Array:
    """Return a fresh array of the finite scores of some queries with keys, shape (b, n)."""
    found = as_score(score).matrix(queries, keys)
    return as_points(found, "score.matrix", size=queries.shape[0], dim=keys.shape[0]).copy()


def _masked(scores: ArrayLike) -> tuple[Array, NDArray[np.bool_]]:
    """Read scores of which minus infinity marks a key that is not seen, and tell where."""
    s = as_scores(scores)
    hidden = np.isneginf(s)
    as_points(np.where(hidden, 0.0, s), "scores")
    return s, hidden


def _later(block: slice, n: int) -> NDArray[np.bool_]:
    """Tell which of n keys come after the query, shape (b, n)."""
    return np.arange(n) > np.arange(block.start, block.stop)[:, np.newaxis]


def softmax_of(scores: Array) -> Array:
    """Return the softmax of rows that hold a finite score each."""
    with np.errstate(over="ignore", under="ignore"):
        law: Array = np.exp(scores - scores.max(axis=1, keepdims=True))
    law /= law.sum(axis=1, keepdims=True)
    return law
