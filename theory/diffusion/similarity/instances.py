r"""Clustering, regression and embedding methods, each as one attention kernel through the engine.

What differs between the methods is a score, the weights of the keys, and the values:

* *k-means and its soft versions*: points attend to centres; then centres attend to points, of which the point i weighs
  :math:`Z_i^{-r}` if memberships :math:`u_{ij} = e^{a(x_i, c_j)}/Z_i` enter with the power r, since :math:`u^r =
  e^{ra}Z^{-r}`. Two passes are one step (:func:`regroup`). Gaussian scores give soft k-means, the scores
  :math:`-\log|x - c|^2/(m - 1)` fuzzy c-means, and the largest weight alone k-means.
* *mean shift* and *kernel regression* are :func:`theory.diffusion.propagate` with the bandwidth :math:`\varepsilon =
  h^2`.
* *k nearest neighbours*: equal weights on the k best scores (:func:`nearest_rows`).
* *support vectors*: attention before its normalisation (:func:`attend_unnormalised`).
* *diffusion maps*: keys weighted by a power of their degree (:func:`attend_density_corrected`).
* *graph attention and convolution*: :mod:`theory.diffusion.similarity.graphs`.

Asked with enclosures, every method answers enclosures, by the lemmas of :mod:`theory.attention.enclosed`.

References
----------
T. Ruan and S. Zhang, Towards understanding how attention mechanism works in deep learning, arXiv:2412.18288, section 2.
J. C. Bezdek, *Pattern Recognition with Fuzzy Objective Function Algorithms*, Plenum 1981.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory import engine
from theory._validate import as_count, as_having, as_number, as_points, as_positive, as_scores, as_vector
from theory.attention import Score
from theory.attention.enclosed import enclose_outputs, enclose_weights
from theory.attention.score import Constants, pairs_of
from theory.engine import AttentionResult
from theory.evidence import is_enclosed
from theory.evidence.roundoff import EXP_ULPS, U, gamma

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LogDistance:
    r""":math:`a(x, y) = -p\log(c + |x - y|^2)`, so that :math:`e^a = (c + |x - y|^2)^{-p}`.

    Parameters
    ----------
    power : float
        p > 0: :math:`1/(m - 1)` for fuzzy c-means, 1 for the Student kernel of t-SNE.
    offset : float, default 0.0
        :math:`c \ge 0`; if zero, queries must differ from keys.

    Raises
    ------
    ValueError
        If a parameter is out of its range; by :meth:`matrix`, if a logarithm has no argument.
    """

    power: float
    offset: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "power", as_positive(self.power, "power"))
        object.__setattr__(self, "offset", as_number(self.offset, "offset"))
        if not self.offset >= 0.0:
            raise ValueError(f"offset: expected a non-negative number, got {self.offset}")

    def matrix(self, x: ArrayLike, y: ArrayLike) -> Any:
        """Return the (m, n) scores."""
        queries = as_points(x, "x")
        apart = queries[:, np.newaxis, :] - as_points(y, "y", dim=queries.shape[1])[np.newaxis, :, :]
        if is_enclosed(apart):
            return -self.power * np.log(self.offset + (apart * apart).sum(axis=2))
        with np.errstate(over="ignore"):
            base = self.offset + np.einsum("ijk,ijk->ij", apart, apart)
        if not base.min() > 0.0:
            raise ValueError("y: expected keys that differ from the queries, got a distance of 0")
        if not base.max() < math.inf:
            raise ValueError("x, y: expected distances whose squares float64 can hold, got an overflow")
        return np.asarray(-self.power * np.log(base))

    def constants(self, radius: float) -> Constants:
        """Raise: the score has no constants without an offset."""
        raise NotImplementedError(f"constants of LogDistance on a ball of radius {radius}")

    def bounds(self, x: Array, y: Array) -> tuple[float, float]:
        """Bound size and rounding: the argument is relatively exact, the logarithm to a few ulp of its size."""
        size = float(np.abs(self.matrix(x, y)).max())
        error = self.power * gamma(x.shape[1] + 6) + (2 * EXP_ULPS + 3) * U * size
        return size + error, 2.0 * error


def biased_weights(queries: ArrayLike, keys: ArrayLike, score: Score, *, bias: ArrayLike | None = None) -> Any:
    """Return the attention weights of queries on keys, shape (m, n), with ``bias``, shape (n,), added to every score.

    Asked with enclosures, it answers enclosures.

    Raises
    ------
    ValueError
        If a shape does not fit or a score cannot be formed.
    TypeError
        If it is asked with enclosures and the score does not bound its own rounding.
    """
    q, k = as_points(queries, "queries"), as_points(keys, "keys")
    as_having(score, "score", "matrix")
    added = None if bias is None else as_vector(bias, "bias", size=k.shape[0])
    if is_enclosed(q, k, added):
        return enclose_weights(score, q, k, log_weights=added)
    return engine.weights(pairs_of(score, q, k), log_weights=added)


def regroup(
    points: ArrayLike, centres: ArrayLike, score: Score, *, power: float = 1.0, back: Score | None = None,
    bias: ArrayLike | None = None, values: ArrayLike | None = None,
) -> Any:  # fmt: skip
    r"""Return the means :math:`\sum_i u_{ij}^r x_i/\sum_i u_{ij}^r` under the memberships of points in centres.

    Parameters
    ----------
    points, centres : array_like, shapes (n, d) and (k, d)
        Enclosures give enclosures.
    score : Score
        Of a point with a centre; memberships are the softmax over centres.
    power : float, default 1.0
        r, positive.
    back : Score, optional
        r times the score, with the centre as query; terms of the centre alone are free. The score unless given.
    bias : array_like, shape (k,), optional
        Added to the scores of every centre.
    values : array_like, shape (n, d_v), optional
        What is averaged; the points unless given.

    Returns
    -------
    ndarray, shape (k, d_v)
    """
    x, c = as_points(points, "points"), as_points(centres, "centres")
    as_having(score, "score", "matrix")
    r = as_positive(power, "power")
    returning = score if back is None else as_having(back, "back", "matrix")
    added = None if bias is None else as_vector(bias, "bias", size=c.shape[0])
    v = x if values is None else as_points(values, "values", size=x.shape[0])
    there = _read(score, x, c, c, added)
    weights = -r * there.log_partition
    return _read(returning, c, x, v, weights).output


def _read(
    score: Score, queries: Array, keys: Array, values: Array, log_weights: Array | None = None
) -> AttentionResult:
    """Return outputs and log-partitions, enclosed if anything asked for is."""
    if is_enclosed(queries, keys, values, log_weights):
        return enclose_outputs(score, queries, keys, values, log_weights=log_weights)
    return engine.attention(pairs_of(score, queries, keys), values, log_weights=log_weights)


def nearest_rows(scores: ArrayLike, k: int) -> Array:
    """Return the rows that give weight 1/k to each of the ``k`` largest scores; of equal ones the first count.

    Raises
    ------
    ValueError
        If there are fewer than ``k`` scores in a row.
    """
    s = as_scores(scores)
    count = as_count(k, "k")
    if s.ndim != 2 or s.size == 0 or count > s.shape[1]:
        raise ValueError(f"scores: expected a matrix of at least {count} columns, got shape {s.shape}")
    rows = np.zeros(s.shape)
    np.put_along_axis(rows, np.argsort(-s, axis=1, kind="stable")[:, :count], 1.0 / count, axis=1)
    return rows


def attend_unnormalised(queries: ArrayLike, keys: ArrayLike, coefficients: ArrayLike, score: Score) -> Any:
    r"""Return :math:`\sum_j \alpha_j e^{a(x, y_j)}`, shape (m,): what attention averages, times what it divides by."""
    q, k = as_points(queries, "queries"), as_points(keys, "keys")
    alpha = as_vector(coefficients, "coefficients", size=k.shape[0])
    as_having(score, "score", "matrix")
    found = _read(score, q, k, alpha[:, np.newaxis])
    with np.errstate(over="ignore"):
        sums: Array = np.exp(found.log_partition) * found.output[:, 0]
    if not is_enclosed(sums) and not np.isfinite(sums).all():
        raise ValueError(f"score: expected exponentials that float64 can add, got exp({found.log_partition.max()})")
    return sums


def attend_density_corrected(
    tokens: ArrayLike, score: Score, *, alpha: float = 1.0, queries: ArrayLike | None = None
) -> Any:
    r"""Return the weights :math:`\propto e^{a(x_i, x_j)}d_j^{-\alpha}` among tokens, :math:`d_j = \sum_k e^{a_{jk}}`.

    The query's own degree cancels: diffusion maps are attention with weighted keys. Rows are those of the tokens, or of
    ``queries``, shape (m, d).
    """
    x = as_points(tokens, "tokens")
    power = as_number(alpha, "alpha")
    as_having(score, "score", "matrix")
    asked = x if queries is None else as_points(queries, "queries", dim=x.shape[1])
    degrees = _read(score, x, x, x).log_partition
    return biased_weights(asked, x, score, bias=-power * degrees)
