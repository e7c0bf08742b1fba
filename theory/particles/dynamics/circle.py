"""Attention of tokens on the circle, in angles, by fast sums."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_choice, as_flag, as_masses, as_number, as_points, as_positive, frozen
from theory.attention import TorusDistance, read
from theory.engine import METHODS
from theory.evidence import Interval, exact, is_enclosed
from theory.particles.dynamics.fields import Array, exponentials

_HALF_TURN = Interval(math.pi, math.nextafter(math.pi, math.inf))


@dataclass(frozen=True, slots=True, eq=False)
class CircleField:
    r"""Attention of tokens on the circle, in angles.

    .. math:: \dot\theta_i = \sum_j P_{ij} \sin(\theta_j - \theta_i), \quad P_{ij} \propto m_j e^{\beta\cos(\theta_i -
       \theta_j)}, \qquad\text{or with}\quad m_j e^{\beta\cos(\theta_i - \theta_j)} \quad\text{in its place.}

    By fast sums where they pay: work and memory O(n).

    Parameters
    ----------
    beta : float
        Any finite inverse temperature.
    normalised : bool, default True
        Whether rows are divided by their sums.
    weights : array_like, shape (n,), optional
        Of the tokens; :math:`1/n` each unless given.
    method, accuracy
        As in :func:`theory.attention.attend`.

    Raises
    ------
    ValueError
        If ``beta`` is not finite or the weights are negative or all zero; when called, as
        :func:`theory.attention.attend` says.
    OverflowError
        When called, if a sum that is not divided by leaves float64.
    """

    beta: float
    normalised: bool = True
    weights: Array | None = None
    method: str = "auto"
    accuracy: float = 1e-12

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", as_number(self.beta, "beta"))
        object.__setattr__(self, "normalised", as_flag(self.normalised, "normalised"))
        object.__setattr__(self, "accuracy", as_positive(self.accuracy, "accuracy"))
        as_choice(self.method, "method", METHODS)
        if self.weights is not None:
            object.__setattr__(self, "weights", frozen(as_masses(self.weights, "weights")))

    def __call__(self, theta: ArrayLike, /) -> Array:
        """Return the angular velocities of angles of shape (n, 1), per unit of time; enclosed if the angles are."""
        angles = as_points(theta, "theta", dim=1)
        values = np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
        mean, log_mass = self._read(angles, values)
        turned: Array = values[:, :1] * mean[:, 1:] - values[:, 1:] * mean[:, :1]
        return turned if self.normalised else exponentials(log_mass)[:, np.newaxis] * turned

    def _read(self, angles: Array, values: Array) -> tuple[Array, Array]:
        """Return each token's mean of the values and the logarithm of the mass it divides by."""
        n = angles.shape[0]
        weights = np.full(n, 1.0 / n) if self.weights is None else as_masses(self.weights, "weights", size=n)
        if self.beta == 0.0:  # everybody reads the same
            if is_enclosed(values):
                weights = exact(weights) if self.weights is not None else exact(np.ones(n)) / n
            total = weights.sum()
            mean = (weights @ values) / total
            return np.broadcast_to(mean, values.shape), np.log(total) + np.zeros(n)
        score = TorusDistance(0.5 * abs(self.beta))
        turn: Any = np.pi
        method = self.method
        if is_enclosed(angles):
            turn = _HALF_TURN
            method = "dense"
        keys = angles if self.beta > 0.0 else angles + turn  # a repelling cosine is an attracting one half a turn away
        found = read(angles, keys, values, score=score, weights=weights, method=method, accuracy=self.accuracy)
        return found.output, found.log_partition + abs(self.beta)
