r"""Operator norms of a matrix, exactly, and of the Jacobian of softmax in closed form.

*Any matrix.* A convex function is largest at an extreme point of the ball. From :math:`\ell_1` these are the unit
vectors (columns), from :math:`\ell_\infty` the :math:`2^n` sign vectors; norms into :math:`\ell_\infty` and from
:math:`\ell_2` into :math:`\ell_1` are those of the transpose between the dual spaces. :math:`\ell_2 \to \ell_2` is the
largest singular value. These serve :func:`induced_norms`.

*Softmax.* For :math:`J = \mathrm{diag}(p) - pp^\top`, :math:`Jx = p \odot (x - \mathbb E_px)`, :math:`q_i = 1 - p_i`:

* row :math:`i` has the absolute sum :math:`p_iq_i + p_i\sum_{j \ne i}p_j = 2p_iq_i`: the norms
  :math:`\ell_\infty \to \ell_\infty` and, by symmetry, :math:`\ell_1 \to \ell_1`;
* the largest entry is a :math:`p_iq_i \ge p_ip_j`: :math:`\ell_1 \to \ell_\infty`;
* :math:`\max y^\top Jx` over signs is attained at :math:`y = x` since :math:`J` is positive semi-definite, and
  :math:`x^\top Jx = \mathrm{Var}_p(x) = 4P(1 - P)` with :math:`P = p(S)` for :math:`x = 1_S - 1_{S^c}`:
  :math:`\ell_\infty \to \ell_1`;
* the longest column: :math:`\max_j p_j\sqrt{q_j^2 + \sum_{i\ne j}p_i^2}` for :math:`\ell_1 \to \ell_2` and, dually,
  :math:`\ell_2 \to \ell_\infty`;
* for the same :math:`x`, :math:`(Jx)_i = 2p_i(1 - P)` on :math:`S` and :math:`-2p_iP` off it, hence
  :math:`\max_S 2\sqrt{(1 - P)^2\sum_Sp^2 + P^2\sum_{S^c}p^2}`: :math:`\ell_\infty \to \ell_2`, dually
  :math:`\ell_2 \to \ell_1`;
* :math:`\ell_2 \to \ell_2` is the largest eigenvalue, which has no closed form.

Divide by the temperature. The maxima over sets :math:`S` go through all of them; they are subset sums, for which
nothing quicker is known.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_matrix, as_positive, as_simplex
from theory.evidence import Intervals, Kind, as_intervals, balls, hull, within
from theory.evidence.roundoff import gamma
from theory.maxent.batch import Array
from theory.maxent.gibbs.softmax import laplacian

_SPECTRAL = 64  # taken: LAPACK's bound is a modest multiple of the rounding of the norm for sides up to 16
_MOST = 20  # taken: the sets of 20 entries are a million


class Norms(NamedTuple):
    """Operator norms, named by the space they start from and the one they end in."""

    one_one: float
    one_two: float
    one_inf: float
    two_one: float
    two_two: float
    two_inf: float
    inf_one: float
    inf_two: float
    inf_inf: float


def induced_norms(matrix: ArrayLike) -> Norms:
    """Return the operator norms of a matrix of shape (m, n), m and n at most 20, by going through extreme points.

    Of enclosures they are enclosed.

    Raises
    ------
    ValueError
        If the matrix is not one, is not finite, or has a side above 20.
    """
    if isinstance(matrix, Intervals):
        # no norm exceeds the sum of the absolute entries, neither of the matrix nor of what it may be off by
        found = induced_norms(matrix.mid)
        rounding = gamma(4 * max(matrix.shape) + 16 + _SPECTRAL) * float(np.abs(matrix.mid).sum())
        return Norms(*within(np.array(found), rounding + float(matrix.radius.sum())))
    a = as_matrix(matrix, "matrix")
    if max(a.shape) > _MOST:
        raise ValueError(f"matrix: expected sides of at most {_MOST}, got shape {a.shape}")
    size = float(np.ldexp(1.0, np.frexp(np.abs(a).max())[1] - 1))  # a power of two: squares stay in range, exactly
    a = a / size
    forward = np.zeros(2)
    backward = np.zeros(2)
    for best, m in ((forward, a), (backward, a.T)):
        for signs in _signs(m.shape[1]):
            image = m @ signs
            best[:] = np.maximum(best, (np.abs(image).sum(axis=0).max(), np.sqrt((image**2).sum(axis=0).max())))
    found = Norms(
        one_one=float(np.abs(a).sum(axis=0).max()),
        one_two=float(np.sqrt((a**2).sum(axis=0)).max()),
        one_inf=float(np.abs(a).max()),
        two_one=float(backward[1]),
        two_two=float(np.linalg.svd(a, compute_uv=False).max()),
        two_inf=float(np.sqrt((a**2).sum(axis=1)).max()),
        inf_one=float(forward[0]),
        inf_two=float(forward[1]),
        inf_inf=float(np.abs(a).sum(axis=1).max()),
    )
    return Norms(*(size * norm for norm in found))


def softmax_norms(weights: ArrayLike, *, tau: float = 1.0) -> Norms:
    r"""Return the operator norms of :math:`(\mathrm{diag}(p) - pp^\top)/\tau` for a law of at most 20 entries.

    Raises
    ------
    ValueError
        If the law leaves the simplex or has more entries, or ``tau`` is not positive.
    """
    p = as_simplex(weights, "weights")
    t = as_positive(tau, "tau")
    if p.size > _MOST:
        raise ValueError(f"weights: expected at most {_MOST} entries, got {p.size}")
    jacobian = laplacian(p) + 0.0  # without the sign of zero
    variances = np.diag(jacobian)  # p (1 - p), with 1 - p summed from the others
    rest = np.where(p > 0.0, variances / np.where(p > 0.0, p, 1.0), 1.0)
    others = np.array([np.delete(p, i) @ np.delete(p, i) for i in range(p.size)])
    column = float((p * np.sqrt(rest**2 + others)).max()) / t
    inside, outside, squares, other_squares = (_subset_sums(v) for v in (p, p, p**2, p**2))
    outside = outside[::-1]  # the complement of a set has the reflected number
    other_squares = other_squares[::-1]
    halves = 2.0 * float(np.sqrt(outside**2 * squares + inside**2 * other_squares).max()) / t
    row = 2.0 * float(variances.max()) / t
    if not row < np.inf:
        raise ValueError(f"tau: expected a temperature at which float64 holds the derivative, got {tau!r}")
    return Norms(
        one_one=row,
        one_two=column,
        one_inf=float(variances.max()) / t,
        two_one=halves,
        two_two=max(float(np.linalg.eigvalsh(jacobian)[-1]), 0.0) / t,
        two_inf=column,
        inf_one=4.0 * float((inside * outside).max()) / t,
        inf_two=halves,
        inf_inf=row,
    )


def _subset_sums(values: Array) -> Array:
    """Return the sums over all subsets; bit i of an index tells whether entry i is in."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums


def _signs(n: int) -> list[Array]:
    """Return the sign vectors of length n, up to their own sign, as columns in blocks."""
    free = min(n - 1, 10)
    low = 1.0 - 2.0 * ((np.arange(2**free) >> np.arange(free)[:, np.newaxis]) & 1)
    fixed = [np.ones((1, low.shape[1])), low]
    rest = n - 1 - free
    blocks = []
    for code in range(2**rest):
        high = [np.full((1, low.shape[1]), 1.0 - 2.0 * ((code >> bit) & 1)) for bit in range(rest)]
        blocks.append(np.vstack([*fixed, *high]))
    return blocks


def softmax_spectrum(weights: NDArray[np.object_]) -> Intervals:
    r"""Enclose the eigenvalues of :math:`\mathrm{diag}(q) - qq^\top`, largest first.

    Approximate ones and their vectors have :math:`V\Lambda V^\top + E` for the matrix: its eigenvalues are those of
    :math:`V\Lambda V^\top` up to :math:`\|E\|` (Weyl), which are :math:`\lambda_i` up to
    :math:`\|V^\top V - I\||\lambda_i|` (Ostrowski); both in balls and in the Frobenius norm.

    Parameters
    ----------
    weights : ndarray of balls, shape (n,)
        Positive weights :math:`q`, of a law or a part of one.

    Returns
    -------
    Intervals, shape (n,)
        Kind ``CERTIFIED``.

    Raises
    ------
    TypeError
        If the weights are no vector of balls.
    """
    if not isinstance(weights, np.ndarray) or weights.dtype != object or weights.ndim != 1:
        raise TypeError(f"weights: expected a vector of balls, got {type(weights).__name__}")
    exact = np.diag(weights) - np.outer(weights, weights)
    found, vectors = np.linalg.eigh(as_intervals(exact).mid)
    v = balls(vectors)
    rest = exact - (v * balls(found)) @ v.T
    turned = v.T @ v - balls(np.eye(weights.size))
    far, bent = (hull(np.sqrt((matrix * matrix).sum())).hi for matrix in (rest, turned))
    bounds = 1.001 * (far + bent * np.abs(found))
    spectrum: Intervals = within(found[::-1], bounds[::-1], Kind.CERTIFIED)
    return spectrum
