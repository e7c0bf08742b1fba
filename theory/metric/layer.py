r"""One layer of learned similarity, :math:`H \mapsto SH` with S the softmax of the scores, and its derivative.

With :math:`\bar Y` the gradient in the output and :math:`C = \bar YH^\top`, the gradient in the scores is
:math:`S \circ (C - (S \circ C)\mathbf 1\mathbf 1^\top)` and that in the averaged tokens :math:`S^\top\bar Y`. There is
no value matrix, as in the algorithm of the paper. A pair that is not visible has weight zero, as for nodes of a graph
that are not neighbours.

References
----------
T. Ruan and S. Zhang, arXiv:2412.18288, algorithm 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_having, as_real, as_vector
from theory.evidence import is_enclosed
from theory.metric.similarity import Similarity, contract_rows, recentered, sizes_of

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def attention_weights(similarity: Similarity, theta: ArrayLike, h: ArrayLike, *, mask: Mask | None = None) -> Array:
    """Return the rows S of the layer, (..., n, n), enclosed if a token or a parameter is.

    Parameters
    ----------
    similarity : Similarity
    theta : array_like, shape (p,)
        Its parameters.
    h : array_like, shape (..., n, d)
        Tokens.
    mask : ndarray of bool, shape (n, n) or (..., n, n), optional
        Which keys a query sees; all unless given, and at least one.

    Raises
    ------
    ValueError
        If a shape does not fit, a number is not finite, or a query sees no key.
    """
    theta, h = _validate_problem(similarity, theta, h)
    return softmax_rows(_scores(similarity, theta, h), _validate_mask(mask, h))


def average_tokens(similarity: Similarity, theta: ArrayLike, h: ArrayLike, *, mask: Mask | None = None) -> Array:
    """Return :math:`SH`, (..., n, d); parameters and errors as in :func:`attention_weights`."""
    averages: Array = attention_weights(similarity, theta, h, mask=mask) @ as_real(h, "h")
    return averages


def vjp(
    similarity: Similarity, theta: ArrayLike, h: ArrayLike, cotangent: ArrayLike, *, mask: Mask | None = None
) -> tuple[Array, Array]:
    r"""Return the gradient of :math:`\langle\bar Y, SH\rangle` in the tokens, (..., n, d), and the parameters, (p,).

    ``cotangent`` is :math:`\bar Y`, in the shape of the tokens; the others and errors as in :func:`attention_weights`.
    """
    theta, h = _validate_problem(similarity, theta, h)
    bar = as_real(cotangent, "cotangent")
    if bar.shape != h.shape:
        raise ValueError(f"cotangent: expected shape {h.shape}, got shape {bar.shape}")
    with np.errstate(over="ignore", invalid="ignore"):
        rows = softmax_rows(_scores(similarity, theta, h), _validate_mask(mask, h))
        tokens, slopes = pull_through_rows(similarity, theta, h, rows, bar)
    if not (_is_finite(tokens) and _is_finite(slopes)):
        raise ValueError("cotangent: expected one whose gradient float64 can hold, got an overflow")
    return tokens, slopes


def pull_through_rows(
    similarity: Similarity, theta: Array, h: Array, rows: Array, cotangent: Array
) -> tuple[Array, Array]:
    """Return what :func:`vjp` does, for rows that are known already and arguments that were checked."""
    bar = cotangent @ np.swapaxes(recentered(h), -1, -2)  # a common shift drops out next, as rows add up to one
    bar = bar - contract_rows(rows, bar)[..., np.newaxis]
    tokens, slopes = similarity.pull(theta, h, bar * rows)
    return tokens + np.swapaxes(rows, -1, -2) @ cotangent, slopes


def softmax_rows(scores: Array, mask: Mask | None = None) -> Array:
    """Return the softmax of the last axis, zero where ``mask`` is False; enclosed if the scores are."""
    if mask is not None:
        scores = np.where(mask, scores, scores.min())
    kernel = np.exp(scores - scores.max(axis=-1, keepdims=True))
    if mask is not None:
        kernel = np.where(mask, kernel, 0.0)
    rows: Array = kernel / kernel.sum(axis=-1, keepdims=True)
    return rows


def _scores(similarity: Similarity, theta: Array, h: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        scores = similarity.scores(theta, h)
    if not _is_finite(scores):
        raise ValueError("h: expected tokens whose scores float64 can hold, got one that is not finite")
    return scores


def _is_finite(values: Array) -> bool:
    """Tell whether all numbers, or the ends of all enclosures, are finite."""
    ends = (values.lo, values.hi) if is_enclosed(values) else (values,)  # type: ignore[attr-defined]
    return all(np.isfinite(end).all() for end in ends)


def _validate_mask(mask: Mask | None, h: Array) -> Mask | None:
    if mask is None:
        return None
    if isinstance(mask, np.ma.MaskedArray):
        raise TypeError("mask: expected a plain array, got a masked array")
    flags = np.asarray(mask)
    shape = (*h.shape[:-1], h.shape[-2])
    if flags.dtype != np.bool_ or flags.shape not in (shape, shape[-2:]):
        raise ValueError(f"mask: expected booleans of shape {shape[-2:]}, got {flags.dtype} of shape {flags.shape}")
    if not flags.any(axis=-1).all():
        raise ValueError("mask: expected a key for every query, got none for some query")
    return flags


def _validate_problem(similarity: Similarity, theta: ArrayLike, h: ArrayLike) -> tuple[Array, Array]:
    as_having(similarity, "similarity", "scores", "pull")
    tokens = as_real(h, "h")
    if tokens.ndim < 2 or tokens.shape[-1] != similarity.dim or tokens.shape[-2] < 1:
        raise ValueError(f"h: expected shape (..., n, {similarity.dim}), got shape {tokens.shape}")
    return as_vector(theta, "theta", size=sum(sizes_of(similarity.shapes))), tokens
