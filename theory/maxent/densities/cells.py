r"""Continuous attention on a grid, or against any measure: densities, their normaliser, escort covariances.

For a measure with masses :math:`\mu_i` (cells of a grid of width :math:`h`: all :math:`h`), the maximiser of
:math:`\sum_i \mu_i(p_if_i + \dots)` over densities, :math:`\sum_i \mu_ip_i = 1`, of entropy :math:`H_\alpha = \frac{1 -
\sum_i\mu_ip_i^\alpha}{\alpha(\alpha-1)}`, is :math:`p_i = \exp_\alpha(f_i - N)`, with one number :math:`N` that
normalises it. At :math:`\alpha = 1` it is :math:`\log\sum\mu e^f`; otherwise :math:`p = [(\alpha-1)(f -
A)]_+^{1/(\alpha-1)}` with :math:`A = N - \frac1{\alpha-1}`. The masses matter: without them the weights of entmax on
the same scores do not tend to a density.

A change of parameter, :math:`f = \langle\vartheta, \phi\rangle`, moves expectations by the escort covariance
(differentiate :math:`p_i = \exp_\alpha(f_i - N)`, :math:`dp_i = p_i^{2-\alpha}(df_i - dN)`, with
:math:`\sum\mu\,dp = 0`):

.. math:: \partial_\vartheta \mathbb E_p[\psi] = \int q\,\psi\phi^\top - \frac{\int q\psi\int q\phi^\top}{\int q},
          \qquad q = p^{2-\alpha} \text{ on the support},

and :math:`\nabla N = \int q\phi/\int q` is the escort mean, while that of the conjugate is the mean.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_masses, as_number, as_points, as_positive, as_real, as_vector
from theory.evidence import Intervals, as_intervals, within
from theory.maxent.batch import Array
from theory.maxent.densities.enclosed import density_error, enclose_escort, enclose_normaliser
from theory.maxent.sparse.entmax import slopes
from theory.maxent.sparse.threshold import solve
from theory.maxent.sparse.tsallis import deformed_exp


class OnCells(NamedTuple):
    """A density at the cells and its normaliser."""

    density: Array
    normaliser: float


def density_on_cells(scores: ArrayLike, weights: ArrayLike, alpha: float) -> OnCells:
    r"""Return the density of largest :math:`\mathbb E f + H_\alpha` with respect to a measure on n cells.

    Parameters
    ----------
    scores : array_like or ndarray of balls, shape (n,)
        Finite :math:`f`, dimensionless; of balls, as the masses then are, the answer is enclosed.
    weights : array_like, shape (n,)
        Masses of the cells, non-negative, not all zero; on a grid its width.
    alpha : float
        Positive, finite.

    Raises
    ------
    ValueError
        If shapes do not fit, a number is not finite, a mass is negative, ``alpha`` is not positive, or the density
        leaves what float64 resolves: at masses far from one its power :math:`p^{\alpha-1}` vanishes beside one, or
        overflows.
    """
    if any(isinstance(given, np.ndarray) and given.dtype == object for given in (scores, weights)):
        return _enclosed(scores, weights, as_positive(alpha, "alpha"))
    f = as_vector(scores, "scores")
    mu = as_masses(weights, "weights", size=f.size)
    order = np.array([[as_positive(alpha, "alpha")]])
    peak = float(f[mu > 0.0].max())
    gaps = np.where(mu > 0.0, f - peak, 0.0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = solve(gaps[np.newaxis], mu[np.newaxis], order)
    if not (np.isfinite(found.weights).all() and np.isfinite(found.threshold).all()):
        raise ValueError(f"weights: expected masses at which float64 resolves the density, got {float(mu.max())!r}")
    return OnCells(found.weights[0], peak + float(found.threshold[0, 0]))


def _enclosed(scores: Any, weights: Any, alpha: float) -> OnCells:
    """Enclose the density, and the normaliser for certain, of scores and masses that are balls."""
    f, mu = as_intervals(scores).mid, as_intervals(weights).mid
    density, normaliser = density_on_cells(f, mu, alpha)
    error = density_error(density, f, normaliser, alpha)
    return OnCells(within(density, error), enclose_normaliser(normaliser, scores, weights, alpha))  # type: ignore[arg-type]


def density_at(scores: ArrayLike, normaliser: float, alpha: float) -> Array:
    r"""Return :math:`\exp_\alpha(f - N)`: the density at any scores, with the normaliser found on the cells."""
    order = np.array(as_positive(alpha, "alpha") - 1.0)
    f = as_real(scores, "scores")
    n = as_number(normaliser, "normaliser")
    with np.errstate(over="ignore", under="ignore"):
        density = np.asarray(deformed_exp(f - n, order)[0])
    if not np.isfinite(density).all():
        raise ValueError(f"scores: expected scores whose density float64 holds, got {float(f.max())!r}")
    return density


def escort_covariance(density: ArrayLike, weights: ArrayLike, psi: ArrayLike, phi: ArrayLike, alpha: float) -> Array:
    r"""Return :math:`\partial_\vartheta\mathbb E_p[\psi]` at :math:`f = \langle\vartheta, \phi\rangle`, shape (l, k).

    Parameters
    ----------
    density, weights : array_like, shape (n,)
        As :func:`density_on_cells` gives and takes them.
    psi, phi : array_like, shapes (n, l) and (n, k)
        Statistics at the cells.
    alpha : float

    Raises
    ------
    ValueError
        If shapes do not fit, a number is not finite, a mass is negative or ``alpha`` is not positive.
    """
    if isinstance(density, Intervals):
        found = escort_covariance(density.mid, weights, psi, phi, alpha)
        statistics = as_points(psi, "psi"), as_points(phi, "phi")
        return enclose_escort(found, density, as_masses(weights, "weights"), *statistics, alpha)  # type: ignore
    mu = as_masses(weights, "weights")
    p = as_masses(density, "density", size=mu.size)
    left = as_points(psi, "psi", size=mu.size)
    right = as_points(phi, "phi", size=mu.size)
    q = mu * slopes(p, np.array(as_positive(alpha, "alpha")))
    total = q.sum()
    moved: Array = (left - q @ left / total).T @ (q[:, np.newaxis] * (right - q @ right / total))
    return moved
