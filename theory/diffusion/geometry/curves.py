r"""Closed curves whose metric a score learns, and what one layer of attention does along them.

A score :math:`-f(x, y)/2\varepsilon` of angles carries the metric :math:`g = \frac12\partial_y^2f|_{y=x}`. If f is the
squared distance of features, :math:`f(x, y) = |F(x) - F(y)|^2`, that is the pull-back :math:`g = |F'|^2`; the density
that counts is the one with respect to :math:`\sqrt g\,dx`.

On a torus, features :math:`Wx` of a matrix W make the wrapped Gaussian of covariance
:math:`\varepsilon(W^\top W)^{-1}`, whose Fourier coefficients are known (:func:`linear_multiplier`).

References
----------
T. Ruan and S. Zhang, Towards understanding how attention mechanism works in deep learning, arXiv:2412.18288.
R. Coifman and S. Lafon, Diffusion maps, *Applied and Computational Harmonic Analysis* 21 (2006).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_callable, as_flag, as_having, as_matrix, as_number, as_points, as_positive, as_vector
from theory.diffusion.limits.densities import CircleDensity
from theory.diffusion.limits.laplace import GeneralScore, average_at_peak
from theory.evidence import Interval
from theory.evidence.roundoff import U

Array = NDArray[np.float64]
_REACH = 20.0  # taken: widths; where the metric shrinks fivefold on the way, weights still fall to exp(-37)
_SLIP = 64.0 * U  # derived: a squared sine of a difference of two terms of its size, each off by at most 10 u


class Curve(Protocol):
    """An angle and what is learned about it."""

    def dissimilarity(self, x: Array, y: Array) -> Array:
        """Return f of angles that broadcast, in arrays with a last axis of one, without that axis."""
        ...

    def metric(self, x: ArrayLike) -> Array:
        r"""Return :math:`g(x) = \frac12\partial_y^2f(x, y)|_{y=x}`, per squared radian."""
        ...


@dataclass(frozen=True)
class Ellipse:
    r"""Squared distances in the plane of :math:`F(x) = (a\cos x, b\sin x)`.

    Parameters
    ----------
    a, b : float
        Half-axes, positive.
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", as_positive(self.a, "a"))
        object.__setattr__(self, "b", as_positive(self.b, "b"))

    def features(self, x: ArrayLike) -> Array:
        """Return the points of angles of shape (n, 1), shape (n, 2)."""
        x = as_points(x, "x", dim=1)
        return np.concatenate([self.a * np.cos(x), self.b * np.sin(x)], axis=1)

    def dissimilarity(self, x: Array, y: Array) -> Array:
        """Return f, by the half-angle formula, so that it is relatively accurate near the diagonal."""
        middle = 0.5 * (x + y)[..., 0]
        half = np.sin(0.5 * (y - x)[..., 0])
        return np.asarray(4.0 * half**2 * ((self.a * np.sin(middle)) ** 2 + (self.b * np.cos(middle)) ** 2))

    def metric(self, x: ArrayLike) -> Array:
        """Return the squared speed."""
        x = np.asarray(x, dtype=np.float64)
        return np.asarray((self.a * np.sin(x)) ** 2 + (self.b * np.cos(x)) ** 2)


@dataclass(frozen=True)
class Reparametrised:
    r"""Squared chords of :math:`\varphi(x) = x + s\sin x` on the unit circle.

    Parameters
    ----------
    strength : float
        s, between -1 and 1.
    """

    strength: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "strength", as_number(self.strength, "strength"))
        if not abs(self.strength) < 1.0:
            raise ValueError(f"strength: expected a number between -1 and 1, got {self.strength}")

    def features(self, x: ArrayLike) -> Array:
        """Return the points of angles of shape (n, 1), shape (n, 2)."""
        x = as_points(x, "x", dim=1)
        turned = x + self.strength * np.sin(x)
        return np.concatenate([np.cos(turned), np.sin(turned)], axis=1)

    def dissimilarity(self, x: Array, y: Array) -> Array:
        """Return f, relatively accurate near the diagonal."""
        middle = 0.5 * (x + y)[..., 0]
        v = (y - x)[..., 0]
        apart = v + 2.0 * self.strength * np.cos(middle) * np.sin(0.5 * v)
        return np.asarray(4.0 * np.sin(0.5 * apart) ** 2)

    def metric(self, x: ArrayLike) -> Array:
        """Return the squared speed."""
        return np.asarray((1.0 + self.strength * np.cos(np.asarray(x, dtype=np.float64))) ** 2)


@dataclass(frozen=True)
class Modulated:
    r"""Chords of the unit circle that count differently: :math:`f = 4\sin^2\frac{x-y}2\,(1 + c\cos 2m)`.

    Parameters
    ----------
    strength : float
        c, between -1 and 1.
    symmetric : bool, default True
        Whether :math:`m = \frac12(x + y)`, or the query x. Both have the metric :math:`1 + c\cos 2x`.
    """

    strength: float
    symmetric: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "symmetric", as_flag(self.symmetric, "symmetric"))
        object.__setattr__(self, "strength", as_number(self.strength, "strength"))
        if not abs(self.strength) < 1.0:
            raise ValueError(f"strength: expected a number between -1 and 1, got {self.strength}")

    def dissimilarity(self, x: Array, y: Array) -> Array:
        """Return f, relatively accurate near the diagonal."""
        place = (0.5 * (x + y) if self.symmetric else x)[..., 0]
        return np.asarray(4.0 * np.sin(0.5 * (y - x)[..., 0]) ** 2 * self.metric(place))

    def metric(self, x: ArrayLike) -> Array:
        """Return the factor at x."""
        return np.asarray(1.0 + self.strength * np.cos(2.0 * np.asarray(x, dtype=np.float64)))


def layer_change(
    curve: Curve, density: CircleDensity, function: Callable[[Array], Array], epsilon: float, x: float
) -> Interval:  # fmt: skip
    r"""Enclose :math:`(P_\varepsilon h(x) - h(x))/\varepsilon` for tokens of a density, through the engine.

    Parameters
    ----------
    curve : Curve
        Its dissimilarity is to be relatively accurate to 64 u, at the angles as they are given.
    density : CircleDensity
        With respect to the angle.
    function : callable
        h, from angles (n,) to (n,), accurate to 8 u.
    epsilon : float
        Positive.
    x : float
        The angle of the query.
    """
    epsilon = as_positive(epsilon, "epsilon")
    here = as_number(x, "x")
    as_having(curve, "curve", "metric", "dissimilarity")
    as_callable(density, "density")
    as_callable(function, "function")
    width = math.sqrt(epsilon / float(curve.metric(here)))
    # f is below (reach width)^2 times the largest metric, where tokens are; its own error is relative
    largest = float(curve.metric(np.linspace(0.0, 2.0 * math.pi, 65)).max()) * 1.1
    error = _SLIP * largest * (_REACH * width) ** 2
    score = GeneralScore(curve.dissimilarity, epsilon, error)
    start = function(np.array([here])).item()
    rise = average_at_peak(
        score, [here], [here], [width], lambda y: function(y[:, 0]) - start, lambda y: density(y[:, 0]),
        reach=min(_REACH, math.pi / width),
    )  # fmt: skip
    return (rise + Interval.within(0.0, 16.0 * U * (1.0 + abs(start)))) / epsilon


def root_length(curve: Curve, angles: ArrayLike) -> Interval:
    r"""Enclose :math:`\sum_i\sqrt{f(x_i, x_{i+1})}` over successive angles, shape (n,).

    Raises
    ------
    ValueError
        If there are fewer than two angles.
    """
    as_having(curve, "curve", "metric", "dissimilarity")
    x = as_vector(angles, "angles")[:, np.newaxis]
    if x.shape[0] < 2:
        raise ValueError(f"angles: expected at least two, got {x.shape[0]}")
    pieces = np.sqrt(curve.dissimilarity(x[:-1], x[1:]))
    total = math.fsum(pieces.tolist())
    # every piece within 64 u, and moved by its own slope if the angles, of which the sum keeps only the ends, are off
    largest = math.sqrt(float(curve.metric(np.linspace(0.0, 2.0 * math.pi, 65)).max()) * 1.1)
    return Interval.within(total, 64.0 * U * total + 4.0 * U * largest * float(np.abs(x).sum()))


def linear_multiplier(epsilon: float, matrix: ArrayLike) -> Callable[..., Array]:
    r"""Return the Fourier coefficients of the wrapped kernel :math:`e^{-|W(x - y)|^2/2\varepsilon}`, of mass one.

    They are :math:`e^{-\varepsilon k^\top(W^\top W)^{-1}k/2}`.

    Raises
    ------
    ValueError
        If ``matrix`` has dependent columns, or ``epsilon`` is not positive.
    """
    w = as_matrix(matrix, "matrix")
    epsilon = as_positive(epsilon, "epsilon")
    if np.linalg.matrix_rank(w) < w.shape[1]:
        raise ValueError(f"matrix: expected independent columns, got rank {np.linalg.matrix_rank(w)} of {w.shape[1]}")
    solver = np.linalg.inv(np.linalg.qr(w, mode="r")).T  # k^T (R^T R)^(-1) k = |R^(-T) k|^2

    def factor(*k: Array) -> Array:
        parts = [sum(row[j] * k[j] for j in range(w.shape[1])) for row in solver]
        return np.exp(-0.5 * epsilon * np.asarray(sum(part**2 for part in parts)))

    return factor
