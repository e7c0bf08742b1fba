r"""The generators that attention layers tend to, and their semigroups, by Fourier series on a torus.

For density p and drift coefficient :math:`2\kappa`, on the flat torus with a constant inverse metric,

.. math:: L h = g^{ij}\partial_i\partial_j h + 2\kappa\,g^{ij}\,\partial_i\log p\;\partial_j h .

:math:`\kappa = 1` for row-normalised attention, :math:`1 - \alpha` if keys are weighted by their smoothed density to
the power :math:`-\alpha`, :math:`\frac12` for Sinkhorn's normalisation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_instance, as_matrix, as_number, as_real
from theory.diffusion.limits.grid import PeriodicGrid
from theory.evidence import Interval, Intervals, as_intervals, is_enclosed

Array = NDArray[np.float64]
_DEGREE = 18  # derived: the rest is below 2^-19 / 19! = 2e-23

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
    ndarray or Intervals
        On the grid, per squared radian; enclosed if the density or the values are.

    Raises
    ------
    ValueError
        If a shape does not fit, the density is not positive or the inverse metric is not symmetric.
    """
    p = as_real(density, "density")
    kappa = as_number(kappa, "kappa")
    h = as_real(values, "values")
    for name, given in (("density", p), ("values", h)):
        if given.shape != as_instance(grid, "grid", PeriodicGrid).shape:
            raise ValueError(f"{name}: expected shape {grid.shape}, got shape {given.shape}")
    least = float(as_intervals(p).lo.min())
    if not least > 0.0:
        raise ValueError(f"density: expected positive numbers, got {least}")
    d = grid.dim
    inverse = np.eye(d) if inverse_metric is None else as_matrix(inverse_metric, "inverse_metric", shape=(d, d))
    if np.abs(inverse - inverse.T).max() > 1e-12 * np.abs(inverse).max():  # an inverse may be off by some roundings
        raise ValueError("inverse_metric: expected a symmetric matrix, got one that is not")
    with np.errstate(over="ignore", invalid="ignore"):
        slopes = grid.gradient(np.log(p))
        drift = 2.0 * kappa * np.stack([sum(row[j] * slopes[j] for j in range(d)) for row in inverse])
        found = (drift * grid.gradient(h)).sum(axis=0)
        for i in range(d):
            for j in range(d):
                if inverse[i, j] != 0.0:
                    orders = [(k == i) + (k == j) for k in range(d)]
                    found = found + inverse[i, j] * grid.derivative(h, *orders)
    result: Array = found
    if not np.isfinite(as_intervals(result).hi if is_enclosed(result) else result).all():
        raise ValueError("values, kappa, inverse_metric: expected ones of which float64 holds the sum, got an overflow")
    return result


def semigroup(generator: ArrayLike, time: float, values: ArrayLike) -> Array:
    r"""Return :math:`e^{tL}h` for a dense generator of shape (N, N) and a function of shape (N,) or (N, k).

    By scaling and squaring: ``scipy.linalg.expm``, or, if the generator is enclosed, Taylor's polynomial of degree m
    with a rest of at most :math:`\frac{a^{m + 1}}{(m + 1)!}\frac1{1 - a}` in every row, where a is the norm of what is
    left of :math:`tL` after halving it.

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
    if is_enclosed(matrix):
        return _exponential(as_number(time, "time") * as_intervals(matrix)) @ as_intervals(function)  # type: ignore[no-any-return]
    with np.errstate(over="ignore", invalid="ignore"):
        exponent = as_number(time, "time") * matrix
        fits = np.isfinite(exponent).all() and np.abs(exponent).sum(axis=0).max() < _LARGEST
        evolved: Array = expm(exponent) @ function if fits else np.full(function.shape, np.nan)
    if not np.isfinite(evolved).all():
        raise ValueError("time, generator, values: expected ones of which float64 holds the result, got an overflow")
    return evolved


def _exponential(exponent: Intervals) -> Intervals:
    """Enclose the exponential of a matrix."""
    size = float(abs(exponent).sum(axis=1).hi.max())
    halvings = max(0, math.ceil(math.log2(size)) + 1) if size > 0.0 else 0
    small = exponent * 0.5**halvings
    one = np.eye(len(exponent))
    power: Any = as_intervals(one)
    for k in range(_DEGREE, 0, -1):
        power = one + small @ power / k
    left = (0.5 ** (_DEGREE + 1)) / math.factorial(_DEGREE + 1) * 2.0
    power = power + Interval.within(0.0, left)
    for _ in range(halvings):
        power = power @ power
    return power  # type: ignore[no-any-return]
