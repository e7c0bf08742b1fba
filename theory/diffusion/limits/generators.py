r"""The generators that attention layers tend to, and their semigroups, by Fourier series on a torus.

For density p and drift coefficient :math:`2\kappa`, on the flat torus with a constant inverse metric,

.. math:: L h = g^{ij}\partial_i\partial_j h + 2\kappa\,g^{ij}\,\partial_i\log p\;\partial_j h .

:math:`\kappa = 1` for row-normalised attention, :math:`1 - \alpha` if keys are weighted by their smoothed density to
the power :math:`-\alpha`, :math:`\frac12` for Sinkhorn's normalisation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_instance, as_matrix, as_number, as_real
from theory.diffusion.limits.grid import PeriodicGrid

Array = NDArray[np.float64]

_LARGEST = 1e100  # taken: of the norm of an exponent, which is halved until it is small


def drift_diffusion(
    grid: PeriodicGrid, density: ArrayLike, values: ArrayLike, *, kappa: float = 1.0,
    inverse_metric: ArrayLike | None = None,
) -> Array:  # fmt: skip
    r"""Apply :math:`L` to a function on the grid.

    Parameters
    ----------
    grid : PeriodicGrid
    density : array_like
        Positive, on the grid, with respect to the volume of the metric, of any total mass.
    values : array_like
        On the grid.
    kappa : float, default 1.0
        Half the drift coefficient.
    inverse_metric : array_like, shape (d, d), optional
        :math:`g^{ij}`, constant and symmetric; the identity unless given.

    Returns
    -------
    ndarray
        On the grid, per squared radian.

    Raises
    ------
    ValueError
        If a shape does not fit, the density is not positive or the inverse metric is not symmetric.
    """
    p, kappa, h = as_real(density, "density"), as_number(kappa, "kappa"), as_real(values, "values")
    for name, given in (("density", p), ("values", h)):
        if given.shape != as_instance(grid, "grid", PeriodicGrid).shape:
            raise ValueError(f"{name}: expected shape {grid.shape}, got shape {given.shape}")
    if not p.min() > 0.0:
        raise ValueError(f"density: expected positive numbers, got {p.min()}")
    d = grid.dim
    inverse = np.eye(d) if inverse_metric is None else as_matrix(inverse_metric, "inverse_metric", shape=(d, d))
    if np.abs(inverse - inverse.T).max() > 1e-12 * np.abs(inverse).max():  # an inverse may be off by some roundings
        raise ValueError("inverse_metric: expected a symmetric matrix, got one that is not")
    with np.errstate(over="ignore", invalid="ignore"):
        drift = 2.0 * kappa * np.tensordot(inverse, grid.gradient(np.log(p)), axes=1)
        found = np.einsum("i...,i...->...", drift, grid.gradient(h))
        for i in range(d):
            for j in range(d):
                if inverse[i, j] != 0.0:
                    orders = [(k == i) + (k == j) for k in range(d)]
                    found = found + inverse[i, j] * grid.derivative(h, *orders)
    result: Array = found
    if not np.isfinite(result).all():
        raise ValueError("values, kappa, inverse_metric: expected ones of which float64 holds the sum, got an overflow")
    return result


def semigroup(generator: ArrayLike, time: float, values: ArrayLike) -> Array:
    r"""Return :math:`e^{tL}h` for a dense generator of shape (N, N) and a function of shape (N,) or (N, k).

    By scaling and squaring (``scipy.linalg.expm``).

    Raises
    ------
    ValueError
        If a shape does not fit or a number is not finite.
    """
    from scipy.linalg import expm  # noqa: PLC0415  slow to load

    matrix = as_matrix(generator, "generator")
    matrix = as_matrix(matrix, "generator", shape=(matrix.shape[0], matrix.shape[0]))
    function = as_real(values, "values")
    if function.ndim not in (1, 2) or function.shape[0] != matrix.shape[0]:
        raise ValueError(f"values: expected shape ({matrix.shape[0]},) or ({matrix.shape[0]}, k), got {function.shape}")
    with np.errstate(over="ignore", invalid="ignore"):
        exponent = as_number(time, "time") * matrix
        fits = np.isfinite(exponent).all() and np.abs(exponent).sum(axis=0).max() < _LARGEST
        evolved: Array = expm(exponent) @ function if fits else np.full(function.shape, np.nan)
    if not np.isfinite(evolved).all():
        raise ValueError("time, generator, values: expected ones of which float64 holds the result, got an overflow")
    return evolved
