r"""The corner that can be solved: tokens on the circle at inverse temperature zero.

There :math:`\dot\theta_i = \operatorname{Im}(\bar z e^{-i\theta_i})` with :math:`\bar z` the mean of the
:math:`e^{i\theta_j}`, a flow of Möbius maps: it conserves the cross-ratios

.. math:: \frac{\sin\frac{\theta_1 - \theta_3}2\,\sin\frac{\theta_2 - \theta_k}2}
   {\sin\frac{\theta_1 - \theta_k}2\,\sin\frac{\theta_2 - \theta_3}2}, \qquad k = 4, \dots, n,

and takes Poisson kernels :math:`\frac1{2\pi}\frac{1 - r^2}{1 - 2r\cos\theta + r^2}` to such kernels. Here are tokens at
the quantiles of one, and what is observed of them, enclosed if the angles are.

References
----------
S. Watanabe and S. H. Strogatz, Constants of motion for superconducting Josephson arrays, *Physica D* 74 (1994).
E. Ott and T. M. Antonsen, Low dimensional behavior of large systems of globally coupled oscillators, *Chaos* 18 (2008).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_number, as_points
from theory.evidence import as_intervals, is_enclosed

Array = NDArray[np.float64]


def poisson_quantiles(n: int, radius: float) -> Array:
    r"""Return the :math:`(j - \frac12)/n` quantiles of the Poisson kernel about zero, shape (n, 1), ascending.

    Raises
    ------
    ValueError
        Unless ``0 <= radius < 1``.
    """
    r = as_number(radius, "radius")
    if not 0.0 <= r < 1.0:
        raise ValueError(f"radius: expected a number in [0, 1), got {r!r}")
    count = as_count(n, "n")
    half = np.pi * (np.arange(1, count + 1) - 0.5 * (count + 1)) / count  # half of the uniform angles, odd about zero
    angles: Array = 2.0 * np.arctan((1.0 - r) / (1.0 + r) * np.tan(half))
    return angles[:, np.newaxis]


def cross_ratios(theta: ArrayLike) -> Array:
    """Return the n - 3 cross-ratios of angles of shape (n, 1).

    Raises
    ------
    ValueError
        If there are fewer than four angles, or two of those compared are equal.
    """
    first, second, third, rest = _four(theta)
    top = np.sin((first - third) / 2) * np.sin((second - rest) / 2)
    bottom = np.sin((second - third) / 2)
    below = np.sin((first - rest) / 2) * bottom
    if not as_intervals(np.abs(below)).lo.min() > 0.0:
        raise ValueError("theta: expected distinct angles, got two that are equal")
    ratios: Array = top / below
    return ratios


def cross_ratio_rates(theta: ArrayLike, velocity: ArrayLike) -> Array:
    """Return the derivatives of the logarithms of the cross-ratios of angles that move, per unit of time.

    Raises
    ------
    ValueError
        As for :func:`cross_ratios`, or if the shapes differ.
    """
    parts = _four(theta)
    speeds = as_points(velocity, "velocity", dim=1, size=3 + parts[3].size)[:, 0]
    moving = speeds[:1], speeds[1:2], speeds[2:3], speeds[3:]
    cross_ratios(theta)

    def growth(i: int, j: int) -> Array:
        rate: Array = 0.5 * (moving[i] - moving[j]) / _tan((parts[i] - parts[j]) / 2)
        return rate

    return growth(0, 2) + growth(1, 3) - growth(0, 3) - growth(1, 2)


def mean_overlap(theta: ArrayLike) -> Any:
    """Return the mean cosine of angles of shape (n, 1): the radius, if the mean direction is the angle zero."""
    return _number(np.cos(as_points(theta, "theta", dim=1)).mean())


def distance_to_consensus(theta: ArrayLike) -> Any:
    """Return the chordal distance W2 from the law of the tokens to the point mass at the angle zero."""
    halves = np.sin(as_points(theta, "theta", dim=1) / 2)
    return _number(2.0 * np.sqrt((halves * halves).mean()))


def rate_of_approach(theta: ArrayLike, velocity: ArrayLike) -> Any:
    """Return the derivative of the logarithm of that distance, of angles that move, per unit of time.

    Raises
    ------
    ValueError
        If the shapes differ, or all tokens lie at the angle zero.
    """
    angles = as_points(theta, "theta", dim=1)
    moving = as_points(velocity, "velocity", dim=1, size=angles.shape[0])
    squares = (np.sin(angles / 2) ** 2).mean()
    if not as_intervals(squares).lo > 0.0:
        raise ValueError("theta: expected tokens away from the angle zero, got all of them there")
    return _number((np.sin(angles) * moving).mean() / (4.0 * squares))


def _number(value: Any) -> Any:
    """Return a plain number, or its enclosure."""
    return value if is_enclosed(value) else float(value)


def _tan(angles: Any) -> Any:
    """Return the tangents, of enclosures by sine and cosine."""
    return np.sin(angles) / np.cos(angles) if is_enclosed(angles) else np.tan(angles)


def _four(theta: ArrayLike) -> tuple[Array, Array, Array, Array]:
    angles = as_points(theta, "theta", dim=1)[:, 0]
    if angles.size < 4:
        raise ValueError(f"theta: expected at least four angles, got {angles.size}")
    return angles[:1], angles[1:2], angles[2:3], angles[3:]
