r"""A trained network as a map of the plane: what its first layer measures distances of, and the metric that it learned.

Tokens before the first layer are affine in the points, :math:`h = xA + a`, so distances of features are those of

.. math:: G(x) = g(xA + a), \qquad J(x) = A^\top + U^\top\mathrm{diag}(1 - t^2)\,(AW)^\top, \quad
    t = \tanh((xA + a)W + b),

a map of the plane, whose pull-back :math:`M = J^\top J` is the learned metric where the data are.

References
----------
T. Ruan and S. Zhang, arXiv:2412.18288, sections 5 and 6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_instance, as_matrix, as_points, as_vector, frozen
from theory.evidence.roundoff import U, gamma
from theory.metric.features import ResidualFeatures
from theory.metric.network import InformationPropagation
from theory.metric.similarity import MetricSimilarity, split_parameters

Array = NDArray[np.float64]
_STEEPEST = float(np.arctanh(3**-0.5))  # where the second derivative of the hyperbolic tangent is largest


@dataclass(frozen=True, slots=True, eq=False)
class Chart:
    """Features after an affine map.

    Parameters
    ----------
    features : ResidualFeatures
        g.
    matrix : array_like, shape (k, d)
        A.
    shift : array_like, shape (d,)
        a.

    Raises
    ------
    ValueError
        If a shape does not fit or a number is not finite.
    """

    features: ResidualFeatures
    matrix: Array
    shift: Array

    def __post_init__(self) -> None:
        as_instance(self.features, "features", ResidualFeatures)
        object.__setattr__(self, "matrix", frozen(as_matrix(self.matrix, "matrix", shape=(None, self.features.dim))))
        object.__setattr__(self, "shift", frozen(as_vector(self.shift, "shift", size=self.features.dim)))

    @property
    def slopes(self) -> Array:
        """AW, of the hidden units in the plane, (k, w)."""
        return np.asarray(self.matrix @ self.features.inner)

    @property
    def offset(self) -> Array:
        """What is added before the hidden layer, (w,)."""
        return np.asarray(self.shift @ self.features.inner + self.features.inner_bias)

    def __call__(self, x: ArrayLike) -> Array:
        """Return G at points (n, k), shape (n, d)."""
        return self.features(self._points(x) @ self.matrix + self.shift)

    def differences(self, x: ArrayLike, steps: ArrayLike) -> Array:
        r"""Return :math:`G(x + v) - G(x)`, (n, d), for points and steps (n, k), to a share of the step.

        By :math:`\tanh a - \tanh b = \tanh(a - b)(1 - \tanh a\tanh b)`.
        """
        x = self._points(x)
        v = as_points(steps, "steps", dim=self.matrix.shape[0])
        turned = np.tanh(v @ self.slopes) * (1.0 - self._hidden(x) * self._hidden(x + v))
        return np.asarray(v @ self.matrix + turned @ self.features.outer)

    def bound_hidden_changes(self, x: ArrayLike, half: ArrayLike) -> tuple[Array, Array]:
        r"""Bound, over rectangles, what hidden units do beyond their value and slope at the centre.

        Parameters
        ----------
        x, half : array_like, shape (n, k)
            Centres, and halves of the sides.

        Returns
        -------
        (ndarray, ndarray)
            How much :math:`1 - t^2` changes, and by how much t differs from its first order, (n, w) each, rounded up.
        """
        centre = self._points(x)
        sides = as_points(half, "half", dim=self.matrix.shape[0])
        z = np.abs(centre @ self.slopes + self.offset)
        reach = sides @ np.abs(self.slopes) + self.hidden_rounding(np.abs(centre) + sides)
        low = np.maximum(z - reach, 0.0)
        high = z + reach
        at, most, least = (1.0 - np.tanh(v) ** 2 for v in (z, low, high))
        steepest = np.tanh(np.clip(_STEEPEST, low, high))
        bend = 2.0 * steepest * (1.0 - steepest**2)
        return np.maximum(most - at, at - least) + 64.0 * U, (0.5 * bend + 64.0 * U) * reach**2

    def hidden_rounding(self, most: Array) -> Array:
        """Bound, where no coordinate is larger than in ``most``, the rounding before the hidden layer, (n, w)."""
        g = self.features
        size = most @ (np.abs(self.matrix) @ np.abs(g.inner)) + np.abs(self.shift) @ np.abs(g.inner)
        return np.asarray(gamma(2 * sum(self.matrix.shape) + 16) * (1.0 + size + np.abs(g.inner_bias)))

    def jacobian(self, x: ArrayLike) -> Array:
        """Return J, (n, d, k)."""
        slope = 1.0 - self._hidden(self._points(x)) ** 2
        branch = np.einsum("ka,ik,bk->iab", self.features.outer, slope, self.slopes, optimize=True)
        return np.asarray(self.matrix.T + branch)

    def hessian(self, x: ArrayLike) -> Array:
        """Return the second derivatives, (n, d, k, k)."""
        t = self._hidden(self._points(x))
        bend = -2.0 * t * (1.0 - t * t)
        bent: Array = np.einsum("ka,ik,bk,ck->iabc", self.features.outer, bend, self.slopes, self.slopes, optimize=True)
        return bent

    def metric(self, x: ArrayLike) -> Array:
        """Return M, (n, k, k)."""
        jacobian = self.jacobian(x)
        return np.asarray(jacobian.swapaxes(1, 2) @ jacobian)

    @property
    def lipschitz(self) -> float:
        """An upper bound on the Lipschitz constant."""
        return float(np.linalg.norm(self.matrix, 2)) * self.features.lipschitz * (1.0 + 1e3 * U)

    def rounding(self, x: ArrayLike) -> float:
        """Bound the Euclidean distance of every computed feature vector from the true one."""
        points = self._points(x)
        size = np.abs(points) @ np.abs(self.matrix) + np.abs(self.shift)
        before = gamma(len(self.matrix) + 1) * float(np.linalg.norm(size, axis=1).max())
        return before * self.features.lipschitz + self.features.rounding(points @ self.matrix + self.shift)

    def _points(self, x: ArrayLike) -> Array:
        return as_points(x, "x", dim=self.matrix.shape[0])

    def _hidden(self, x: Array) -> Array:
        hidden: Array = np.tanh(x @ self.slopes + self.offset)
        return hidden


def chart_of_first_layer(network: InformationPropagation, theta: ArrayLike) -> Chart:
    """Return the map of which the first layer of a network takes distances.

    Raises
    ------
    TypeError
        If its attention is not metric-attention.
    ValueError
        If ``theta`` has another size than the network.
    """
    as_instance(network, "network", InformationPropagation)
    if not isinstance(network.similarity, MetricSimilarity):
        raise TypeError(f"network: expected metric-attention, got {type(network.similarity).__name__}")
    pieces = split_parameters(as_vector(theta, "theta", size=network.size), network.shapes)
    return Chart(network.similarity.features(pieces[4]), pieces[0], pieces[1])


def flatten_chart(chart: Chart) -> Chart:
    """Return the map with the nearest affine map of rank one before the same features: it is no immersion anywhere."""
    as_instance(chart, "chart", Chart)
    left, values, right = np.linalg.svd(chart.matrix, full_matrices=False)
    return Chart(chart.features, values[0] * np.outer(left[:, 0], right[0]), chart.shift)
