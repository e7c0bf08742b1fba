r"""Singular values and eigenvalues of matrices that are known up to an error, and ranks of exact ones.

LAPACK proposes factors, and nothing it says is believed: for any :math:`U, \Sigma, V` the residual
:math:`R = U\Sigma V^\top - A` and the defects :math:`g = \|U^\top U - I\|`, :math:`h = \|V^\top V - I\|` are enclosed,
and by Ostrowski's and Weyl's theorems

.. math:: |\sigma_i(A) - \theta_i\sigma_i| \le \|R\|, \qquad
          \sqrt{(1 - g)(1 - h)} \le \theta_i \le \sqrt{(1 + g)(1 + h)}.

For a symmetric matrix and :math:`R = Q\Lambda Q^\top - A` the same holds with :math:`1 - g \le \theta_i \le 1 + g`.
Norms are bounded by Frobenius'.

References
----------
R. A. Horn and C. R. Johnson, *Matrix Analysis*, 2nd ed., Cambridge 2013, theorems 4.3.1 and 4.5.9.
S. M. Rump, Verified bounds for singular values, in particular for the spectral norm of a matrix and its inverse, *BIT*
51 (2011), 367-384.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from theory.evidence.interval import Interval
from theory.evidence.intervals import Intervals, as_intervals, exact
from theory.evidence.outward import norm


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
