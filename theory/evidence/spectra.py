r"""Singular values and eigenvalues of matrices that are known up to an error, and ranks of exact ones.

LAPACK proposes factors, and nothing it says is believed: for any :math:`U, \Sigma, V` the residual
:math:`R = U\Sigma V^\top - A` and the defects :math:`g = \|U^\top U - I\|`, :math:`h = \|V^\top V - I\|` are enclosed,
and by Ostrowski's and Weyl's theorems

.. math:: |\sigma_i(A) - \theta_i\sigma_i| \le \|R\|, \qquad
          \sqrt{(1 - g)(1 - h)} \le \theta_i \le \sqrt{(1 + g)(1 + h)}.

For a symmetric matrix and :math:`R = Q\Lambda Q^\top - A` the same holds with :math:`1 - g \le \theta_i \le 1 + g`.
Norms are bounded by Frobenius'.

Of many small matrices the norms are bounded from above by powers: with :math:`A_{k+1} = \mathrm{fl}(A_k^\top A_k)`, of
m rows, :math:`\|A_k\|^2 \le \|A_{k+1}\| + \gamma_m\|A_k\|_F^2`, and in the end the norm is at most Frobenius'. After p
steps of matrices of rank r that is at most :math:`r^{2^{-p-1}}` times the norm.

The norm of one large matrix is at most the root of t if :math:`t - A^\top A` is positive semidefinite. If Cholesky's
algorithm, run on floats M of order n, comes to its end, no eigenvalue of M is below :math:`-\gamma_{n+2}/(1 -
\gamma_{n+2})` times its trace, in whatever order sums are taken (Rump 2006).

References
----------
R. A. Horn and C. R. Johnson, *Matrix Analysis*, 2nd ed., Cambridge 2013, theorems 4.3.1 and 4.5.9.
S. M. Rump, Verified bounds for singular values, in particular for the spectral norm of a matrix and its inverse, *BIT*
51 (2011), 367-384.
S. M. Rump, Verification of positive definiteness, *BIT* 46 (2006), 433-452.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory.evidence.interval import Interval
from theory.evidence.intervals import Intervals, as_intervals, exact
from theory.evidence.outward import norm
from theory.evidence.roundoff import SUBNORMAL, gamma

Array = NDArray[np.float64]
_SWEEPS = 60  # taken: of a power iteration, which proposes what Cholesky's algorithm confirms
_MARGINS = (1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1.0)  # taken: by what it may propose too little, tried one after another
_POWERS = 5  # taken: with 64 columns what is too much is 64 to the power 1/64, seven per cent


def singular_values(matrix: Any) -> Intervals:
    """Enclose the singular values of a matrix, the largest first.

    Parameters
    ----------
    matrix : Intervals or array_like, shape (m, n)
        Floats are exact.

    Returns
    -------
    Intervals, shape (min(m, n),)

    Raises
    ------
    ValueError
        If ``matrix`` is not a matrix.

    Examples
    --------
    >>> 5.0 in singular_values([[3.0, 0.0], [4.0, 0.0]])[0]
    True
    """
    a = _matrix(matrix)
    left, values, right = np.linalg.svd(a.mid)
    diagonal = np.zeros(a.shape)
    np.fill_diagonal(diagonal, values)
    rest = norm(exact(left) @ diagonal @ right - a)
    stretch = np.sqrt(_unit(_defect(left)) * _unit(_defect(right)))
    enclosed: Intervals = np.maximum(exact(values) * stretch + _symmetric(rest), 0.0)
    return enclosed


def eigenvalues(matrix: Any) -> Intervals:
    """Enclose the eigenvalues of a symmetric matrix, the smallest first; of enclosures the symmetric part is taken.

    Parameters
    ----------
    matrix : Intervals or array_like, shape (n, n)

    Returns
    -------
    Intervals, shape (n,)
    """
    a = _matrix(matrix)
    if a.shape[0] != a.shape[1]:
        raise ValueError(f"matrix: expected a square one, got shape {a.shape}")
    a = (a + a.T) / 2
    values, vectors = np.linalg.eigh(a.mid)
    rest = norm((exact(vectors) * values) @ vectors.T - a)
    enclosed: Intervals = exact(values) * _unit(_defect(vectors)) + _symmetric(rest)
    return enclosed


def spectral_norm(matrix: Any) -> Interval:
    """Enclose the largest singular value of a matrix."""
    largest: Interval = singular_values(matrix)[0]
    return largest


def norm_bound(matrix: ArrayLike) -> float:
    """Bound the largest singular value of a large matrix of floats from above, nearly by itself where it stands apart.

    Parameters
    ----------
    matrix : array_like, shape (m, n)
        Floats, exactly as they are.

    Returns
    -------
    float
        Infinite if nothing can be said.

    Raises
    ------
    ValueError
        If ``matrix`` is not a matrix.

    Examples
    --------
    >>> norm_bound([[3.0, 0.0], [4.0, 0.0]])  # doctest: +ELLIPSIS
    5.0000...
    """
    a = _matrix(matrix).mid
    if not a.any():
        return 0.0
    unit = float(np.ldexp(1.0, int(np.frexp(abs(a).max())[1])))
    if not 0.0 < unit < np.inf:
        return np.inf
    a = a / unit  # exact, but for what underflows
    gram = a.T @ a
    whole = float(_squares(a[np.newaxis]).hi[0])
    vector = np.random.default_rng(0).normal(size=len(gram))
    for _ in range(_SWEEPS):
        vector = gram @ vector
        vector /= np.linalg.norm(vector)
    largest = float(vector @ gram @ vector)
    for margin in _MARGINS:
        level = largest * (1.0 + margin)
        rest = -gram
        rest[np.diag_indices_from(rest)] += level
        try:
            np.linalg.cholesky(rest)
        except np.linalg.LinAlgError:
            continue
        share = gamma(len(gram) + 2)
        trace = exact(np.maximum(np.diag(rest), 0.0)).sum()
        lost = trace * (share / (1.0 - share)) * (1.0 + gamma(8)) + gamma(len(a) + 2) * Interval.exactly(whole)
        lost = lost + 2.0**-50 * Interval.exactly(level) + 4.0 * (a.size + gram.size) * SUBNORMAL
        return float(((Interval.exactly(level) + lost).sqrt() * unit).hi)
    return np.inf


def norm_bounds(matrices: Any) -> Array:
    """Bound the largest singular values of many matrices from above, by at most a fourteenth too much at 64 columns.

    Parameters
    ----------
    matrices : Intervals or array_like, shape (n, a, b)
        Floats are exact.

    Returns
    -------
    numpy.ndarray, shape (n,)

    Raises
    ------
    ValueError
        If ``matrices`` are no matrices.

    Examples
    --------
    >>> float(norm_bounds([[[3.0, 0.0], [4.0, 0.0]]])[0])  # doctest: +ELLIPSIS
    5.000...
    """
    given = as_intervals(np.asarray(matrices, dtype=np.float64) if isinstance(matrices, (list, tuple)) else matrices)
    if given.ndim != 3 or not given.size:
        raise ValueError(f"matrices: expected shape (n, a, b), got shape {given.shape}")
    flat = given.reshape(len(given), -1)
    rest = norm(exact(flat.radius), axis=1)
    middle = given.mid if given.shape[1] >= given.shape[2] else given.mid.transpose(0, 2, 1)
    units, slack = [], []
    for _ in range(_POWERS):
        unit = np.frexp(abs(middle).max(axis=(1, 2)))[1]
        middle = np.ldexp(middle, -unit[:, np.newaxis, np.newaxis])  # exact, but for what underflows
        squares = _squares(middle)
        units.append(unit)
        slack.append(squares * gamma(middle.shape[1] + 2) + (squares.hi > 0.0) * (middle.size * SUBNORMAL))
        middle = middle.transpose(0, 2, 1) @ middle
    found = np.sqrt(_squares(middle))
    for unit, error in zip(reversed(units), reversed(slack), strict=True):
        found = np.sqrt(found + error) * exact(np.ldexp(1.0, unit))
    bound: Array = np.asarray((found + rest).hi)
    return bound


def _squares(matrices: Array) -> Intervals:
    """Enclose the sums of the squares of the entries of many matrices."""
    flat = exact(matrices.reshape(len(matrices), -1))
    found: Intervals = (flat * flat).sum(axis=1)
    return found


def _matrix(values: Any) -> Intervals:
    matrix = as_intervals(np.asarray(values, dtype=np.float64) if isinstance(values, (list, tuple)) else values)
    if matrix.ndim != 2 or not matrix.size:
        raise ValueError(f"matrix: expected shape (m, n), got shape {matrix.shape}")
    return matrix


def _defect(factor: Any) -> float:
    """Bound how far the columns of a square factor are from orthonormal."""
    return float(norm(exact(factor.T) @ factor - np.eye(len(factor))).hi)


def _unit(defect: float) -> Interval:
    return Interval.exactly(1.0) + Interval(-defect, defect)


def _symmetric(reach: Interval) -> Interval:
    return Interval(-reach.hi, reach.hi, reach.kind)


def exact_rank(matrix: ArrayLike) -> int:
    """Return the rank of a matrix of floats or integers, each taken as the fraction that it is, by elimination."""
    given = matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix, dtype=object)
    rows = [[Fraction(x) for x in row] for row in given.tolist()]
    found = 0
    for column in range(len(rows[0])):
        pivot = next((k for k in range(found, len(rows)) if rows[k][column]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for k in range(found + 1, len(rows)):
            factor = rows[k][column] / rows[found][column]
            rows[k] = [a - factor * b for a, b in zip(rows[k], rows[found], strict=True)]
        found += 1
    return found
