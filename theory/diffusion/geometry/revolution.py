r"""Surfaces of revolution on which the drift-diffusion of a density is plain heat flow.

For a density p on the circle, :math:`L_{g,p}` acts as the Laplacian of :math:`dx^2 + c^2p^4d\theta^2` on functions of x
alone. Up to :math:`c\,|(p^2)'| < 1` that is the metric of a surface in space, periodic along its axis: the meridian has
arc length x and the parallels have radius :math:`r = cp^2`, so that the height obeys :math:`z' = \sqrt{1 - r'^2}`.
Attention between uniform tokens of that surface therefore has the same limit as attention on the circle with density p.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_instance, as_positive, as_vector
from theory.diffusion.limits.densities import CircleDensity

Array = NDArray[np.float64]
_NODES = 2048  # taken: of the Fourier series of the height, far more than a smooth profile needs
_RESOLVED = 1e-12  # taken: of the mean, the largest coefficient beyond a third of the nodes; some roundings
_REACH = 12.0  # derived: a Gaussian is below exp(-72) beyond so many standard deviations
_TURN = 2.0 * math.pi


class Tokens(NamedTuple):
    """A quadrature of a surface."""

    meridian: Array
    """shape (n,): arc length x, in radians of the circle"""
    points: Array
    """shape (n, 3)"""
    areas: Array
    """shape (n,)"""


@dataclass(frozen=True, eq=False)
class Revolution:
    r"""The surface whose parallels have radius :math:`r = cp^2`.

    Parameters
    ----------
    density : CircleDensity
        p, as a function of arc length on the meridian.
    steepest : float, default 0.9
        The largest slope of the radius, below one; it fixes c.

    Raises
    ------
    ValueError
        If ``steepest`` is not between 0 and 1 or so close to 1 that the height is not resolved, or the density is
        constant, or so nearly that c is not finite.
    """

    density: CircleDensity
    steepest: float = 0.9

    def __post_init__(self) -> None:
        object.__setattr__(self, "steepest", as_positive(self.steepest, "steepest"))
        as_instance(self.density, "density", CircleDensity)
        if not self.steepest < 1.0:
            raise ValueError(f"steepest: expected a number below 1, got {self.steepest}")
        if not self._squared_slope(self._grid()).any():
            raise ValueError("density: expected one that is not constant, got a constant one")
        if not math.isfinite(self.scale * float(self.density(self._grid()).max()) ** 2):
            raise ValueError("density: expected one that is not constant, got one that varies too little")
        modes = np.abs(self._modes())
        if not modes[_NODES // 3 :].max() <= _RESOLVED * modes[0]:
            raise ValueError(f"steepest: expected a slope that {_NODES} nodes resolve, got {self.steepest}")

    @property
    def scale(self) -> float:
        """The factor c."""
        return self.steepest / float(np.abs(self._squared_slope(self._grid())).max())

    def radius(self, x: ArrayLike) -> Array:
        """Return the radius of the parallels at arc lengths ``x``, shape (n,)."""
        radius: Array = self.scale * self.density(as_vector(x, "x")) ** 2
        return radius

    def height(self, x: ArrayLike) -> Array:
        """Return the coordinate along the axis at arc lengths ``x``, shape (n,); it grows by a period per turn."""
        x = as_vector(x, "x")
        modes = self._modes()
        k = np.arange(1, _NODES // 2)
        wave = np.exp(1j * np.multiply.outer(x, k)) - 1.0
        rising: Array = modes[0].real * x + 2.0 * ((wave / (1j * k)) @ modes[1 : _NODES // 2]).real
        return rising

    def points(self, x: ArrayLike, theta: ArrayLike) -> Array:
        """Return points of space, shape (n, 3), at arc lengths and angles of shape (n,)."""
        x = as_vector(x, "x")
        theta = as_vector(theta, "theta", size=x.size)
        r = self.radius(x)
        return np.stack([r * np.cos(theta), r * np.sin(theta), self.height(x)], axis=1)

    def quadrature(self, along: int, around: int, *, reach: float) -> Tokens:
        """Return uniform tokens of one period and of ``reach`` (in arc length) before and after it.

        Parameters
        ----------
        along, around : int
            Tokens per period and per parallel.
        reach : float
            Positive.
        """
        n, m = as_count(along, "along"), as_count(around, "around")
        extra = math.ceil(as_positive(reach, "reach") / _TURN * n)
        x = _TURN * np.arange(-extra, n + extra) / n
        xs = np.repeat(x, m)
        thetas = np.tile(_TURN * np.arange(m) / m, x.size)
        heights, radii = np.repeat(self.height(x), m), np.repeat(self.radius(x), m)
        points = np.stack([radii * np.cos(thetas), radii * np.sin(thetas), heights], axis=1)
        return Tokens(xs, points, radii * (_TURN / n) * (_TURN / m))

    def tokens(self, epsilon: float, *, per_width: float) -> Tokens:
        r"""Return tokens enough for a kernel of standard deviation :math:`\sqrt\varepsilon`.

        Parameters
        ----------
        epsilon : float
            Positive.
        per_width : float
            Tokens per standard deviation, in both directions.
        """
        width = math.sqrt(as_positive(epsilon, "epsilon"))
        fine = as_positive(per_width, "per_width") / width
        largest = float(self.radius(self._grid()).max())
        along, around = math.ceil(_TURN * fine), math.ceil(_TURN * largest * fine)
        return self.quadrature(along, around, reach=_REACH * width / self._rise())

    def _modes(self) -> NDArray[np.complex128]:
        """Return the Fourier coefficients of the slope of the height."""
        slope = np.sqrt(1.0 - (self.scale * self._squared_slope(self._grid())) ** 2)
        return np.asarray(np.fft.rfft(slope) / _NODES)

    def _rise(self) -> float:
        """Return how much height an arc of the meridian gains at least, per length."""
        return math.sqrt(1.0 - self.steepest**2)  # z' = sqrt(1 - r'^2), and |r'| is at most that

    def _squared_slope(self, x: Array) -> Array:
        """Return the derivative of the squared density."""
        slope: Array = 2.0 * self.density.log_slope(x) * self.density(x) ** 2
        return slope

    @staticmethod
    def _grid() -> Array:
        return _TURN * np.arange(_NODES) / _NODES
