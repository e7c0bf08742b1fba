r"""Nystrom attention: three thin softmax matrices through landmarks instead of one of all pairs.

With landmarks :math:`\tilde Q, \tilde K` and :math:`\sigma` the softmax of the rows, the weights are
:math:`\sigma(Q\tilde K^\top)\,\sigma(\tilde Q\tilde K^\top)^{+}\,\sigma(\tilde Q K^\top)`. With every token a landmark
this is :math:`A A^{+} A = A`. With fewer the rows still sum to one where the middle matrix is invertible, but a weight
may be negative, and the output may leave the convex hull of the values.

For a symmetric positive semi-definite kernel matrix the same product, :func:`through_landmarks`, is the projection on
the landmarks: the rest is a Schur complement, positive semi-definite and zero on the landmarks.

References
----------
Y. Xiong et al., *Nystromformer: a Nystrom-based algorithm for approximating self-attention*, AAAI 2021
(arXiv:2102.03902).
C. Williams, M. Seeger, *Using the Nystrom method to speed up kernel machines*, NeurIPS 2000.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from theory import engine
from theory._validate import as_bound, as_count, as_matrix, as_points
from theory.attention.enclosed import known
from theory.attention.output import weight_error
from theory.attention.score import Array, BoundedScore, DotProduct, pairs_of
from theory.attention.variants.rows import tokens_of
from theory.evidence import as_intervals, exact, is_enclosed, within
from theory.evidence.intervals import cover
from theory.evidence.roundoff import gamma

_SCALED = DotProduct()


class _Factors(NamedTuple):
    left: Array
    middle: Array
    right: Array


def attend_nystrom(
    queries: ArrayLike, keys: ArrayLike, values: ArrayLike, *, query_landmarks: ArrayLike, key_landmarks: ArrayLike,
    score: BoundedScore = _SCALED,
) -> Array:  # fmt: skip
    """Return attention outputs through landmarks, in memory of the tokens times the landmarks.

    Parameters
    ----------
    queries, keys, values : array_like, shapes (m, d_q), (n, d_k) and (n, d_v)
    query_landmarks, key_landmarks : array_like, shapes (l, d_q) and (l, d_k)
        Such as :func:`segment_means` of queries and keys.
    score : Score, default DotProduct()

    Returns
    -------
    ndarray, shape (m, d_v)

    Raises
    ------
    ValueError
        If a shape does not fit.
    """
    q, k, v = tokens_of(queries, keys, values)
    if is_enclosed(q, k, v):
        marks: dict[str, Any] = {"query_landmarks": query_landmarks, "key_landmarks": key_landmarks, "score": score}
        floats = attend_nystrom(known(q, "queries"), known(k, "keys"), as_intervals(v).mid, **marks)
        return cover(nystrom_weights(exact(q), k, **marks) @ v, floats)  # type: ignore[no-any-return]
    left, middle, right = _factors(q, k, query_landmarks, key_landmarks, score)
    output: Array = left @ (np.linalg.pinv(middle) @ (right @ v))
    return output


def nystrom_weights(
    queries: ArrayLike, keys: ArrayLike, *, query_landmarks: ArrayLike, key_landmarks: ArrayLike,
    score: BoundedScore = _SCALED,
) -> Array:  # fmt: skip
    """Return the whole (m, n) matrix of weights; parameters as in :func:`attend_nystrom`."""
    q, k = as_points(queries, "queries"), as_points(keys, "keys")
    if is_enclosed(q, k):
        x, y = known(q, "queries"), known(k, "keys")
        marks: dict[str, Any] = {"query_landmarks": query_landmarks, "key_landmarks": key_landmarks, "score": score}
        return within(nystrom_weights(x, y, **marks), nystrom_error(x, y, **marks))  # type: ignore[no-any-return]
    return through_landmarks(*_factors(q, k, query_landmarks, key_landmarks, score))


def nystrom_error(
    queries: ArrayLike, keys: ArrayLike, *, query_landmarks: ArrayLike, key_landmarks: ArrayLike,
    score: BoundedScore = _SCALED,
) -> float:  # fmt: skip
    """Bound how far any entry of :func:`nystrom_weights` of the same arguments lies from the truth.

    Infinite where the middle matrix is too near to a singular one; see :func:`landmark_error`.
    """
    q, k = as_points(queries, "queries"), as_points(keys, "keys")
    factors = _factors(q, k, query_landmarks, key_landmarks, score)
    x = np.concatenate([q, np.asarray(query_landmarks)])
    y = np.concatenate([k, np.asarray(key_landmarks)])
    return landmark_error(*factors, relative=weight_error(x, y, score))


def landmark_error(left: ArrayLike, middle: ArrayLike, right: ArrayLike, *, relative: float = 0.0) -> float:
    r"""Bound how far any entry of :func:`through_landmarks` lies from the truth if the entries are off relatively.

    A posteriori: with :math:`X` the computed inverse of the middle matrix :math:`A` and
    :math:`\rho = \|I - AX\|_\infty < 1`, the true one differs by at most :math:`\|X\|_\infty\,\rho/(1 - \rho)`.
    Infinite where :math:`A` is too near to a singular matrix for that.
    """
    first, a, last = _fitting(left, middle, right)
    before, after = np.abs(first), np.abs(last)
    relative = as_bound(relative, "relative")
    inverse: Array = np.asarray(np.linalg.pinv(a), dtype=np.float64)
    count = a.shape[0]
    norm = _norm(inverse)
    spread = _norm(np.abs(a) @ np.abs(inverse)) + 1.0
    rho = (_norm(np.eye(count) - a @ inverse) + (relative + gamma(count + 4)) * spread) * (1.0 + gamma(4 * count))
    if not rho < 1.0 or not relative < 1.0:
        return math.inf
    rounds = (1.0 + relative) ** 2 * (1.0 + gamma(2 * count + 8)) - 1.0
    share = rho / (1.0 - rho) * (1.0 + rounds) + rounds + gamma(4)
    return share * norm * _norm(before) * float(after.max()) * (1.0 + gamma(8 * count))


def through_landmarks(left: ArrayLike, middle: ArrayLike, right: ArrayLike) -> Array:
    """Return the product of a matrix (m, l), the pseudo-inverse of one (l, l), and a matrix (l, n)."""
    if is_enclosed(left, middle, right):
        floats = known(left, "left"), known(middle, "middle"), known(right, "right")
        return within(through_landmarks(*floats), landmark_error(*floats))  # type: ignore[no-any-return]
    before, between, after = _fitting(left, middle, right)
    with np.errstate(over="ignore", invalid="ignore"):
        found: Array = before @ np.linalg.pinv(between) @ after
    if not np.isfinite(found).all():
        raise ValueError("middle: expected a matrix whose pseudo-inverse float64 holds, got one too near to zero")
    return found


def segment_means(points: ArrayLike, count: int) -> Array:
    """Return the means of ``count`` consecutive segments of the sequence, as equal in length as can be."""
    x = as_points(points, "points")
    number = as_count(count, "count")
    if number > x.shape[0]:
        raise ValueError(f"count: expected at most the number of points, {x.shape[0]}, got {number}")
    return np.stack([_mean(part) for part in np.array_split(x, number)])


def _mean(points: Array) -> Array:
    """Return the mean; where the sum leaves the range of float64, that of the halved points, which does not."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean: Array = points.mean(axis=0)
    wide = ~np.isfinite(mean)
    if wide.any():
        halvings = points.shape[0].bit_length()
        mean[wide] = np.ldexp(np.ldexp(points[:, wide], -halvings).mean(axis=0), halvings)
    return mean


def _factors(
    queries: Array, keys: Array, query_landmarks: ArrayLike, key_landmarks: ArrayLike, score: BoundedScore
) -> _Factors:
    across = as_points(query_landmarks, "query_landmarks", dim=queries.shape[1])
    down = as_points(key_landmarks, "key_landmarks", dim=keys.shape[1], size=across.shape[0])
    pairs = (pairs_of(score, queries, down), pairs_of(score, across, down), pairs_of(score, across, keys))
    return _Factors(*(engine.weights(each) for each in pairs))


def _fitting(left: ArrayLike, middle: ArrayLike, right: ArrayLike) -> _Factors:
    """Return three matrices that can be multiplied, the one between them square."""
    between = as_matrix(middle, "middle")
    count = between.shape[0]
    if count != between.shape[1]:
        raise ValueError(f"middle: expected a square matrix, got shape {between.shape}")
    before = as_matrix(left, "left", shape=(None, count))
    return _Factors(before, between, as_matrix(right, "right", shape=(count, None)))


def _norm(matrix: Array) -> float:
    """Return the largest sum of sizes in a row."""
    return float(np.abs(matrix).sum(axis=1).max())
