r"""Attention as it is used: each query averages the values under the softmax of its scores with the keys.

.. math:: \mathrm{Att}(q; K, V) = \sum_j p_j v_j, \qquad p_j \propto w_j\, e^{a(q, k_j)}.

Weights :math:`w_j` of the keys enter as :math:`+\log w_j` in the scores: a key of weight two is a key written twice,
a key of weight zero is absent.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory import engine
from theory._backend import backend
from theory._validate import as_bound, as_choice, as_flag, as_masses, as_points, as_scores
from theory.attention.masses import logs_of
from theory.attention.score import Array, BoundedScore, DotProduct, Score, bounded, pairs_of, says_form
from theory.engine import AttentionResult, Form, Pairs, Prepared
from theory.evidence import as_intervals, is_enclosed
from theory.evidence.roundoff import EXP_ULPS, U, average_error, gamma, softmax_error

_SCALED = DotProduct()
_DOUBLE = np.dtype(np.float64)


class _Problem(NamedTuple):
    """Checked arguments, keys of weight zero left out."""

    queries: Array
    keys: Array
    values: Array
    log_weights: Array | None
    visible: NDArray[np.int64] | None

    def pairs(self, score: Score) -> Pairs:
        return pairs_of(score, self.queries, self.keys)

    def is_enclosed(self) -> bool:
        if type(self.queries) is type(self.keys) is type(self.values) is np.ndarray and self.log_weights is None:
            return False  # as most are
        return is_enclosed(self.queries, self.keys, self.values, self.log_weights)


def _problem(
    queries: ArrayLike, keys: ArrayLike, values: ArrayLike, weights: ArrayLike | None, causal: bool
) -> _Problem:
    q = as_points(queries, "queries")
    k = q if keys is queries else as_points(keys, "keys")
    m, n = q.shape[0], k.shape[0]
    v = k if values is keys else as_points(values, "values", size=n)
    if as_flag(causal, "causal") and m != n:
        raise ValueError(f"causal: expected as many queries as keys, got {m} and {n}")
    if weights is None:
        return _Problem(q, k, v, None, np.arange(1, n + 1) if causal else None)
    w = as_masses(weights, "weights", size=n)
    present = as_intervals(w).hi > 0.0
    visible = np.cumsum(present, dtype=np.int64) if causal else None
    if visible is not None and visible[0] == 0:
        raise ValueError("weights: expected a key of positive weight at or before every query, got none for query 0")
    if not present.all():
        k, v, w = k[present], v[present], w[present]
    return _Problem(q, k, v, logs_of(w), visible)


def attend(
    queries: ArrayLike, keys: ArrayLike, values: ArrayLike, *, score: Score = _SCALED,
    weights: ArrayLike | None = None, causal: bool = False,
    method: str = "dense", accuracy: float = 1e-12, precision: str = "double",
) -> Array:  # fmt: skip
    """Return the attention outputs.

    Parameters
    ----------
    queries : array_like or Intervals, shape (m, d_q)
    keys : array_like or Intervals, shape (n, d_k)
    values : array_like or Intervals, shape (n, d_v)
        If any argument is enclosed, the outputs are, with the rounding of the method ``dense``.
    score : Score, default DotProduct()
        How a query scores a key; the scaled dot product unless given.
    weights : array_like, shape (n,), optional
        Non-negative masses of the keys, of any positive total; only their ratios matter.
    causal : bool, default False
        Query i sees the keys up to and including the i-th.
    method : {"dense", "nufft", "local", "cells", "auto"}
        ``dense`` takes all pairs, for any score. For dot products and squared distances in up to three dimensions
        ``nufft`` and ``cells``, and for narrow distance kernels ``local``, cost about as much as the tokens, not their
        pairs; ``auto`` takes the cheapest. See :func:`theory.engine.attention`.
    accuracy : float, default 1e-12
        What a method other than ``dense`` may be off in any entry, in units of the largest size of a value.
    precision : {"double", "single"}
        Of the arithmetic and of the output, for ``dense``.

    Returns
    -------
    ndarray or Intervals, shape (m, d_v)
        In the unit of the values. The (m, n) weights are never formed.

    Raises
    ------
    ValueError
        If a shape does not fit, a number is not finite, a weight is negative, the weights vanish, a query sees no key,
        or a method does not apply or cannot reach ``accuracy``.
    ArithmeticError
        If ``nufft`` finds its promise broken by its own check.
    TypeError
        If the numbers are not real or float64 would lose digits.

    Examples
    --------
    >>> import numpy as np
    >>> attend([[0.0]], [[1.0], [2.0]], [[1.0], [3.0]])
    array([[2.]])
    """
    return read(
        queries, keys, values, score=score, weights=weights, causal=causal,
        method=method, accuracy=accuracy, precision=precision,
    ).output  # fmt: skip


def read(
    queries: ArrayLike, keys: ArrayLike, values: ArrayLike, *, score: Score = _SCALED,
    weights: ArrayLike | None = None, causal: bool = False,
    method: str = "dense", accuracy: float = 1e-12, precision: str = "double",
) -> AttentionResult:  # fmt: skip
    r"""Return the outputs with the logarithms of what they were divided by.

    Parameters and errors as in :func:`attend`.

    Returns
    -------
    AttentionResult
        ``output``, shape (m, d_v), and ``log_partition``, shape (m,): :math:`\log\sum_j w_j e^{a(q, k_j)}`, with
        weights one unless given.
    """
    if method == "dense" and precision == "double" and type(accuracy) is float:
        found = _quick(queries, keys, values, score, weights, causal) if 0.0 < accuracy < 1.0 else None
        if found is not None:
            return found
    problem = _problem(queries, keys, values, weights, causal)
    if problem.is_enclosed():
        return _enclosed(problem, score, method, precision)
    return _run(problem, score, method, accuracy, precision)


def _quick(
    queries: Any, keys: Any, values: Any, score: Score, weights: ArrayLike | None, causal: bool
) -> AttentionResult | None:
    """Return the answer where a prepared problem has it, or ``None``, which says nothing of the arguments."""
    if not (type(queries) is type(keys) is type(values) is np.ndarray) or type(causal) is not bool:
        return None
    if keys.ndim != 2 or not keys.size or not says_form(score):
        return None
    known: Any = score
    form, coefficient, matrix = known.as_form(keys.shape[1])
    if matrix is not None or (causal and queries.shape[:1] != keys.shape[:1]):
        return None
    logs = None
    if weights is not None:
        if not _are_positive(weights) or weights.shape != keys.shape[:1]:
            return None
        logs = logs_of(weights)
    return _settled(form, coefficient, len(keys) if causal else 0, backend()).quick(queries, keys, values, logs)


def _are_positive(weights: ArrayLike) -> TypeGuard[Array]:
    """Tell whether weights are an array of positive numbers with a sum that float64 holds, as most are."""
    if type(weights) is not np.ndarray or weights.dtype != _DOUBLE or not weights.flags.c_contiguous:
        return False
    if weights.ndim != 1 or not weights.size or not weights.min() > 0.0:
        return False
    return math.isfinite(np.vdot(weights, weights))  # and so is their sum


@lru_cache(maxsize=16)
def _settled(form: Form, coefficient: float, causal: int, _backend: str) -> Prepared:
    """Return a problem of this form, in which a query sees its own and earlier ones of so many keys, or all if none."""
    visible = np.arange(1, causal + 1) if causal else None
    return engine.prepare(form, np.array([coefficient]), visible=visible)


def _run(problem: _Problem, score: Score, method: str, accuracy: float, precision: str) -> AttentionResult:
    return engine.attention(
        problem.pairs(score), problem.values, log_weights=problem.log_weights, visible=problem.visible,
        method=method, accuracy=accuracy, precision=precision,
    )  # fmt: skip


def _enclosed(problem: _Problem, score: Score, method: str, precision: str) -> AttentionResult:
    from theory.attention.enclosed import enclose_outputs  # noqa: PLC0415  which rests on the bounds of this module

    as_choice(method, "method", ["dense"])
    as_choice(precision, "precision", ["double"])
    logs = problem.log_weights
    q, k, v = (as_intervals(part).mid for part in (problem.queries, problem.keys, problem.values))
    middle = _Problem(q, k, v, None if logs is None else as_intervals(logs).mid, problem.visible)
    computed = _run(middle, score, method, 1e-12, precision)
    return enclose_outputs(
        score, problem.queries, problem.keys, problem.values,
        log_weights=logs, visible=problem.visible, computed=computed,
    )  # fmt: skip


def rounding(
    queries: ArrayLike, keys: ArrayLike, values: ArrayLike, *, score: BoundedScore = _SCALED,
    weights: ArrayLike | None = None, causal: bool = False,
) -> float:  # fmt: skip
    """Bound how far any entry of :func:`attend` of the same arguments lies from the truth, by the method ``dense``.

    Returns
    -------
    float
        In the unit of the values; derived in :mod:`theory.evidence.roundoff`, valid for any order of the sums and for
        every backend, in double precision.
    """
    problem = _problem(queries, keys, values, weights, causal)
    problem.pairs(score)  # refuses what does not fit
    relative = weight_error(problem.queries, problem.keys, score, problem.log_weights)
    return average_error(float(np.abs(problem.values).max()), problem.keys.shape[0], relative=relative)


def weight_error(
    queries: Array, keys: Array, score: BoundedScore, log_weights: Array | None = None, *, moved: float = 0.0
) -> float:
    """Bound the relative error of every weight that the engine computes, if true scores are up to ``moved`` away."""
    queries, keys = as_points(queries, "queries"), as_points(keys, "keys")
    size, error = bounded(score).bounds(queries, keys)
    error += as_bound(moved, "moved")
    n = keys.shape[0]
    added = 0.0
    if log_weights is not None:
        added = _largest(log_weights)
        error += 2 * EXP_ULPS * U * added + 2 * U * (size + added)
    # into base two: the factor, its product and that of the log-weight; and the shift, which is subtracted first, so
    # that the sums of up to eight products round at its size
    error += 14 * U * (size + added)
    return softmax_error(error, 2.0 * (size + added), n, merges=math.ceil(n / engine.TILE))


def _largest(log_weights: Array) -> float:
    """Return the largest size of a log-weight; a key without weight, minus infinity, is left out by the engine."""
    logs = as_scores(log_weights, "log_weights")
    if logs.ndim != 1 or logs.size == 0:
        raise ValueError(f"log_weights: expected shape (n,), got shape {logs.shape}")
    return float(np.abs(logs[logs > -math.inf]).max(initial=0.0))


def partition_error(queries: Array, keys: Array, score: BoundedScore, log_weights: Array | None = None) -> float:
    """Bound the error of every log-partition: that of a weight, a logarithm, and a sum of two numbers of its size."""
    relative = weight_error(queries, keys, score, log_weights)
    if relative >= 1.0:
        return math.inf
    added = 0.0 if log_weights is None else _largest(log_weights)
    size = score.bounds(queries, keys)[0] + added + math.log(len(keys))
    return -math.log1p(-relative) + gamma(2 * EXP_ULPS + 6) * size
