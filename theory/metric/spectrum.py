r"""The spectrum of attention whose scores are symmetric: real, and from zero on for a positive kernel.

With :math:`K_{ij} = e^{a(x_i, x_j)}` symmetric and D the diagonal of its row sums, the rows :math:`S = D^{-1}K` are
similar to :math:`A = D^{-1/2}KD^{-1/2}`, which is symmetric, and :math:`\pi \propto D\mathbf 1` is stationary with
detailed balance. If K is positive semi-definite, as the Gaussian kernel of any features is, all eigenvalues lie in
[0, 1].

With :math:`m_i` the largest score of row i and :math:`r_i = \sum_je^{a_{ij} - m_i}`, from 1 to n, the entries are
computed as :math:`A_{ij} = e^{a_{ij} - (m_i + m_j)/2}/\sqrt{r_ir_j}`, so that no row underflows.

*Width.* The entries of A are positive and its norm is one, so entries known up to a relative error :math:`\rho` move no
eigenvalue by more than :math:`\rho` (Weyl). For approximate eigenvectors V with :math:`\|V^\top V - I\| \le \delta` and
their orthogonal polar factor Q, :math:`\|V - Q\| \le \delta`; so every eigenvalue of A, which are those of
:math:`Q^\top AQ`, is within :math:`\|V^\top AV - \Lambda\| + \delta(2 + \delta)` of one of :math:`\Lambda`.

References
----------
G. Stewart and J. Sun, *Matrix Perturbation Theory*, Academic Press 1990, chapter IV.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_having, as_points
from theory.attention.score import BoundedScore, bounded
from theory.evidence import Intervals, within
from theory.evidence.roundoff import EXP_ULPS, SUBNORMAL, TINY, gamma

Array = NDArray[np.float64]


def attention_spectrum(score: BoundedScore, tokens: ArrayLike) -> Intervals:
    """Enclose the eigenvalues of the rows of self-attention.

    Parameters
    ----------
    score : Score
        Symmetric, with bounds on its own rounding, such as a :class:`~theory.metric.MetricScore`.
    tokens : array_like, shape (n, d)

    Returns
    -------
    Intervals, shape (n,)
        In increasing order, kind ``NUMERIC``.

    Raises
    ------
    ValueError
        If the scores of the tokens are not symmetric.
    TypeError
        If the score does not bound its rounding.
    """
    scores, relative = _scores(score, tokens)
    n = scores.shape[0]
    most = scores.max(axis=1)
    root = np.sqrt(np.exp(scores - most[:, np.newaxis]).sum(axis=1))
    matrix = np.exp(scores - 0.5 * (most[:, np.newaxis] + most)) / root[:, np.newaxis] / root
    relative = _quotient_error(relative) * (1.0 + gamma(2 * n + 16)) - 1.0  # entry and roots of two sums
    middles, vectors = np.linalg.eigh(matrix)
    near, gram = vectors.T @ matrix @ vectors, vectors.T @ vectors
    size = np.abs(vectors).T @ matrix @ np.abs(vectors)
    off = _norm(gram - np.eye(n)) + gamma(n + 2) * _norm(np.abs(vectors).T @ np.abs(vectors))
    rest = _norm(near - np.diag(middles)) + gamma(2 * n + 4) * _norm(size)
    error = (rest + off * (2.0 + off)) * (1.0 + relative) + relative + n * n * SUBNORMAL
    enclosed: Intervals = within(middles, error)
    return enclosed


def stationary_law(score: BoundedScore, tokens: ArrayLike) -> Intervals:
    r"""Enclose the stationary law of the rows, :math:`\pi \propto K\mathbf 1`, shape (n,).

    Parameters and errors as in :func:`attention_spectrum`.
    """
    scores, relative = _scores(score, tokens)
    sums = np.exp(scores - scores.max()).sum(axis=1)
    n = sums.size
    law = sums / sums.sum()
    error = _quotient_error(relative) * (1.0 + gamma(3 * n + 4)) - 1.0
    enclosed: Intervals = within(law, error * law + TINY)
    return enclosed


def _quotient_error(relative: float) -> float:
    """Bound a quotient of numbers that are known up to ``relative``; infinite if nothing is known."""
    return (1.0 + relative) / (1.0 - relative) if relative < 1.0 else math.inf


def _scores(score: BoundedScore, tokens: ArrayLike) -> tuple[Array, float]:
    """Return symmetric scores, and a bound on the relative error of the exponentials of their differences."""
    x = as_points(tokens, "tokens")
    as_having(score, "score", "matrix")
    scores = score.matrix(x, x)
    size, error = bounded(score).bounds(x, x)
    if np.abs(scores - scores.T).max() > 2.0 * error:
        raise ValueError("score: expected a symmetric one, got one that is not")
    drift = 2.0 * error + gamma(8) * size  # of a score and of a largest one, and of three roundings of their difference
    return 0.5 * (scores + scores.T), math.expm1(drift) + gamma(2 * EXP_ULPS + 4) if drift < 1.0 else math.inf


def _norm(matrix: Array) -> float:
    """Bound the spectral norm by that of Frobenius."""
    return float(np.linalg.norm(matrix)) * (1.0 + gamma(matrix.size + 4))
