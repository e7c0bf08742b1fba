r"""Features of which distances are learned: a small residual network, and a matrix.

.. math:: g(x) = x + U^\top\tanh(W^\top x + b) + c, \qquad
    J(x) = I + U^\top\mathrm{diag}(1 - t^2)\,W^\top, \quad t = \tanh(W^\top x + b).

Since :math:`0 < 1 - t^2 \le 1`, with :math:`r = \|U\|\|W\|`,
:math:`(1 - r)|x - y| \le |g(x) - g(y)| \le (1 + r)|x - y|`: where :math:`r < 1`, g is an injective immersion.

References
----------
T. Ruan and S. Zhang, Towards understanding how attention mechanism works in deep learning, arXiv:2412.18288, section 6;
J. Behrmann, W. Grathwohl, R. Chen, D. Duvenaud, J.-H. Jacobsen, *Invertible residual networks*, ICML 2019 (the bounds).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_matrix, as_points, as_vector, frozen
from theory.evidence.roundoff import SUBNORMAL, U, gamma

Array = NDArray[np.float64]
_TANH_ULPS = 4  # NumPy documents four for its vectorised functions of float64


class Features(Protocol):
    """A smooth map whose squared distances make a score."""

    def __call__(self, x: ArrayLike) -> Array:
        """Return the features of points (n, d), shape (n, k)."""
        ...

    def jacobian(self, x: ArrayLike) -> Array:
        """Return the derivatives, (n, k, d), of feature a in direction b at [i, a, b]."""
        ...

    def rounding(self, x: ArrayLike) -> float:
        """Bound the Euclidean distance of every computed feature vector from the true one."""
        ...

    @property
    def lipschitz(self) -> float:
        """An upper bound on the Lipschitz constant."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ResidualFeatures:
    r"""A residual network with one hidden layer, :math:`g(x) = x + \tanh(xW + b)\,U + c` for rows x.

    Parameters
    ----------
    inner : array_like, shape (d, w)
        W, per unit of length.
    inner_bias : array_like, shape (w,)
        b.
    outer : array_like, shape (w, d)
        U, in units of length.
    outer_bias : array_like, shape (d,)
        c; no distance depends on it.

    Raises
    ------
    ValueError
        If a shape does not fit or a number is not finite.
    """

    inner: Array
    inner_bias: Array
    outer: Array
    outer_bias: Array

    def __post_init__(self) -> None:
        inner = as_matrix(self.inner, "inner")
        d, w = inner.shape
        object.__setattr__(self, "inner", frozen(inner))
        object.__setattr__(self, "outer", frozen(as_matrix(self.outer, "outer", shape=(w, d))))
        object.__setattr__(self, "inner_bias", frozen(as_vector(self.inner_bias, "inner_bias", size=w)))
        object.__setattr__(self, "outer_bias", frozen(as_vector(self.outer_bias, "outer_bias", size=d)))

    @property
    def dim(self) -> int:
        """d, of points and of features."""
        return int(self.inner.shape[0])

    def __call__(self, x: ArrayLike) -> Array:
        """Return the features of points (n, d), shape (n, d), enclosed if the points are."""
        x = as_points(x, "x", dim=self.dim)
        image: Array = x + self._hidden(x) @ self.outer + self.outer_bias
        return image

    def jacobian(self, x: ArrayLike) -> Array:
        """Return the derivatives, (n, d, d), of feature a in direction b at [i, a, b]; enclosed if the points are."""
        slope = 1.0 - self._hidden(as_points(x, "x", dim=self.dim)) ** 2
        jacobian: Array = np.eye(self.dim) + (self.outer.T * slope[:, np.newaxis, :]) @ self.inner.T
        return jacobian

    def hessian(self, x: ArrayLike) -> Array:
        """Return the second derivatives, (n, d, d, d), of feature a in directions b and c; enclosed if points are."""
        t = self._hidden(as_points(x, "x", dim=self.dim))
        bend = -2.0 * t * (1.0 - t * t)
        slopes = (self.outer.T * bend[:, np.newaxis, :])[:, :, np.newaxis, :] * self.inner
        hessian: Array = slopes @ self.inner.T
        return hessian

    @property
    def branch(self) -> float:
        r""":math:`\|U\|\|W\|`, which bounds the Lipschitz constant of what is added to the identity."""
        return float(np.linalg.norm(self.inner, 2) * np.linalg.norm(self.outer, 2)) * (1.0 + 1e3 * U)

    @property
    def lipschitz(self) -> float:
        r""":math:`1 + \|U\|\|W\|`: distances of features are at most so many times those of points."""
        return math.nextafter(1.0 + self.branch, math.inf)

    @property
    def expansion(self) -> float:
        r""":math:`1 - \|U\|\|W\|`: they are at least so many times those of points; nothing if not positive."""
        return math.nextafter(1.0 - self.branch, -math.inf)

    def rounding(self, x: ArrayLike) -> float:
        """Bound the Euclidean distance of every computed feature vector from the true one."""
        x = np.abs(as_points(x, "x", dim=self.dim))
        inner, outer = np.abs(self.inner), np.abs(self.outer)
        before = gamma(self.dim + 1) * (x @ inner + np.abs(self.inner_bias))
        after = (before + 2 * _TANH_ULPS * U) @ outer  # tanh does not expand, and is at most one
        size = x + np.ones(inner.shape[1]) @ outer + np.abs(self.outer_bias)
        lost = (inner.shape[1] + 1) * SUBNORMAL  # products that leave the normal range; in the argument tanh hides it
        return _longest(after + gamma(inner.shape[1] + 3) * size + lost) * (1.0 + 1e3 * U)

    def _hidden(self, x: Array) -> Array:
        hidden: Array = np.tanh(x @ self.inner + self.inner_bias)
        return hidden


@dataclass(frozen=True, slots=True, eq=False)
class LinearFeatures:
    """Rows times a matrix: attention by Euclidean distances of keys and queries that share their projection.

    Parameters
    ----------
    matrix : array_like, shape (d, k)
        Per unit of length. If it has a kernel, distances of features are a pseudo-metric.

    Raises
    ------
    ValueError
        If it is not a finite matrix.

    References
    ----------
    H. Kim, G. Papamakarios, A. Mnih, *The Lipschitz constant of self-attention*, ICML 2021.
    """

    matrix: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", frozen(as_matrix(self.matrix, "matrix")))

    def __call__(self, x: ArrayLike) -> Array:
        """Return the features of points (n, d), shape (n, k), enclosed if the points are."""
        image: Array = as_points(x, "x", dim=self.matrix.shape[0]) @ self.matrix
        return image

    def jacobian(self, x: ArrayLike) -> Array:
        """Return the matrix once for every point, (n, k, d)."""
        x = as_points(x, "x", dim=self.matrix.shape[0])
        return np.broadcast_to(self.matrix.T, (x.shape[0], *self.matrix.T.shape))

    @property
    def lipschitz(self) -> float:
        """The norm of the matrix, rounded up."""
        return float(np.linalg.norm(self.matrix, 2)) * (1.0 + 1e3 * U)

    def rounding(self, x: ArrayLike) -> float:
        """Bound the Euclidean distance of every computed feature vector from the true one."""
        size = np.abs(as_points(x, "x", dim=self.matrix.shape[0])) @ np.abs(self.matrix)
        lost = self.matrix.shape[0] * SUBNORMAL  # where products leave the normal range
        return _longest(gamma(self.matrix.shape[0] + 2) * size + lost) * (1.0 + 1e3 * U)


def _longest(rows: Array) -> float:
    """Return the largest Euclidean length, also of rows whose squares float64 cannot hold."""
    largest = float(rows.max(initial=0.0))
    scale = math.ldexp(1.0, min(math.frexp(largest)[1], 1023)) if 0.0 < largest < math.inf else 1.0
    return scale * float(np.linalg.norm(rows / scale, axis=1).max(initial=0.0))
