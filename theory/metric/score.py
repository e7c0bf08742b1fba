r"""The score whose distances are learned, so that everything about attention applies to it.

.. math:: a(x, y) = -\frac{1}{2\varepsilon}|g(x) - g(y)|^2 .

At :math:`\varepsilon = \frac12` its rows are those of metric-attention as it was proposed; the root of
:math:`|g(x) - g(y)|^2` is a pseudo-metric, a metric if g is injective.

References
----------
T. Ruan and S. Zhang, Towards understanding how attention mechanism works in deep learning, arXiv:2412.18288.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_points, as_positive
from theory.attention import SquaredDistance
from theory.attention.score import Constants, require_finite
from theory.engine import Pairs
from theory.evidence import is_enclosed
from theory.evidence.roundoff import U
from theory.metric.features import Features

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class MetricScore:
    r""":math:`a(x, y) = -|g(x) - g(y)|^2/2\varepsilon`, by differences.

    Parameters
    ----------
    features : Features
        g.
    epsilon : float, default 0.5
        Bandwidth :math:`\varepsilon > 0`, in squared units of the features.

    Raises
    ------
    ValueError
        If ``epsilon`` is not positive.
    TypeError
        If ``features`` are no features.
    """

    features: Features
    epsilon: float = 0.5

    def __post_init__(self) -> None:
        if isinstance(self.features, type) or not callable(self.features):
            raise TypeError(f"features: expected a map such as ResidualFeatures(...), got {self.features!r}")
        object.__setattr__(self, "epsilon", as_positive(self.epsilon, "epsilon"))
        if not 0.5 / self.epsilon < math.inf:
            raise ValueError(f"epsilon: expected a number of which float64 holds the inverse, got {self.epsilon!r}")

    @property
    def _distance(self) -> SquaredDistance:
        return SquaredDistance(0.5 / self.epsilon)

    def matrix(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Return the (m, n) scores, enclosed if the points are."""
        left = self.features(as_points(x, "x"))
        right = self.features(as_points(y, "y"))
        if is_enclosed(left, right):
            apart = left[:, np.newaxis, :] - right[np.newaxis, :, :]
            scores: Array = (apart * apart).sum(axis=2) / (-2.0 * self.epsilon)
            return scores
        return self._distance.matrix(left, right)

    def pairs(self, x: Array, y: Array) -> Pairs:
        """Return the features of queries and keys."""
        return self._distance.pairs(self.features(x), self.features(y))

    def bounds(self, x: Array, y: Array) -> tuple[float, float]:
        """Bound size and rounding error: that of squared distances, and what the error of the features moves them.

        Both depend on differences of features only, so that lengths are counted from the first query.
        """
        left, right = self.features(x), self.features(y)
        slip = self.features.rounding(x) + self.features.rounding(y)
        left, right = left - left[0], right - left[0]
        size, error = self._distance.bounds(left, right)
        reach = float(np.linalg.norm(left, axis=1).max() + np.linalg.norm(right, axis=1).max())
        moved = (0.5 / self.epsilon) * (2.0 * reach + slip) * slip * 1.001
        return (size + moved) * (1.0 + 8.0 * U), (error + moved) * (1.0 + 8.0 * U)

    def constants(self, radius: float) -> Constants:
        r"""Return :math:`\beta D^2, 2\beta DL, 2\beta DL, 2\beta L^2` with :math:`D = 2LR, \beta = 1/2\varepsilon`."""
        slope = self.features.lipschitz
        beta = 0.5 / self.epsilon
        diameter = 2.0 * slope * as_positive(radius, "radius")
        steep = 2.0 * beta * diameter * slope
        return require_finite(Constants(beta * diameter * diameter, steep, steep, 2.0 * beta * slope * slope))

    def pull_back(self, x: ArrayLike) -> Array:
        r"""Return the metric :math:`J^\top J` at points (n, d), shape (n, d, d), which small distances see."""
        jacobian = self.features.jacobian(as_points(x, "x"))
        metric: Array = np.swapaxes(jacobian, 1, 2) @ jacobian
        return metric
