r"""Densities on the circle whose logarithm, or which themselves, are trigonometric polynomials.

.. math:: p(x) \propto e^{u(x)} \quad\text{or}\quad p(x) \propto u(x), \qquad
   u(x) = c_0 + \sum_{k \ge 1} a_k\cos kx + b_k\sin kx .

The first is positive whatever the coefficients; the second has finitely many Fourier coefficients, so that convolutions
are finite sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_flag, as_generator, as_real, as_vector, frozen
from theory.evidence import as_intervals, exact, is_enclosed, within
from theory.evidence.roundoff import U

Array = NDArray[np.float64]
_NODES = 4096  # taken: of the quadratures, far more than a smooth density needs
_RESOLVED = 1e-11  # taken: of the mass, the largest coefficient beyond a third of the nodes; some roundings
_FLAT = 1e6  # taken: beyond that quotient of mass and density a place is as good as its neighbours
_AT_ONCE = 1 << 16  # taken: levels of which the waves are held in memory together
_NEWTON = 60  # taken: steps; quadratic, and halving where Newton leaves the bracket


@dataclass(frozen=True, eq=False)
class CircleDensity:
    r"""A density with respect to the arc :math:`dx` on :math:`[0, 2\pi)`.

    Parameters
    ----------
    cosines, sines : array_like, shape (K,)
        :math:`a_1, \dots, a_K` and :math:`b_1, \dots, b_K`.
    logarithmic : bool, default True
        Whether they are those of the logarithm of the density, or of the density itself with :math:`c_0 = 1`.

    Raises
    ------
    ValueError
        If the coefficients are not finite vectors of one size, or on 4096 nodes the density is not positive or so sharp
        that they do not resolve it.
    """

    cosines: Array
    sines: Array
    logarithmic: bool = True

    def __post_init__(self) -> None:
        a = as_vector(self.cosines, "cosines")
        object.__setattr__(self, "logarithmic", as_flag(self.logarithmic, "logarithmic"))
        object.__setattr__(self, "cosines", frozen(a))
        object.__setattr__(self, "sines", frozen(as_vector(self.sines, "sines", size=a.size)))
        if not self.logarithmic and not self._series(self._nodes).min() > 0.0:
            raise ValueError("cosines, sines: expected a positive density, got one that is not")
        with np.errstate(over="ignore", invalid="ignore"):
            sizes = np.abs(np.fft.rfft(self(self._nodes)))
        if 2 * a.size >= _NODES or not sizes[_NODES // 3 :].max() <= _RESOLVED * sizes[0]:
            raise ValueError(f"cosines, sines: expected a density that {_NODES} nodes resolve, got a sharper one")

    def __call__(self, x: ArrayLike) -> Array:
        """Return the density at angles of any shape, enclosed if they are."""
        x = as_real(x, "x")
        u = self._series(x)
        if is_enclosed(x):
            total = within(self._offset, 64.0 * U * (1.0 + abs(self._offset)))  # a sum of positive numbers of this size
            return np.exp(u - total) if self.logarithmic else u / (2.0 * exact(math.pi))  # type: ignore[no-any-return]
        return np.exp(u - self._offset) if self.logarithmic else u / (2.0 * math.pi)

    def log_slope(self, x: ArrayLike) -> Array:
        r"""Return :math:`(\log p)'` at angles of any shape."""
        x = as_real(x, "x")
        slope = self._series(x, order=1)
        return slope if self.logarithmic else slope / self._series(x)

    def cumulative(self, x: ArrayLike) -> Array:
        """Return the mass of ``[0, x]``, for angles of any shape; it grows by one per turn."""
        x = as_real(x, "x")
        coefficients = self._coefficients
        kept = np.flatnonzero(np.abs(coefficients) > 1e-16)[1:]  # smaller ones are rounding
        wave = np.exp(1j * np.multiply.outer(x, kept)) - 1.0
        mass: Array = coefficients[0].real * x + 2.0 * ((wave / (1j * kept)) @ coefficients[kept]).real
        return mass

    def quantiles(self, levels: ArrayLike) -> Array:
        """Return the angles in [0, 2 pi] up to which the masses ``levels`` lie, each between 0 and 1.

        Of enclosed levels, exactly known, they are enclosed: masses are sums of coefficients, together one, within
        16 u, and so is an angle of itself.
        """
        levels = as_vector(levels, "levels")
        if is_enclosed(levels):
            given = as_intervals(levels)
            if not given.is_exact:
                raise ValueError("levels: expected exactly known ones, got some with a width")
            angles = self.quantiles(given.mid)
            return within(angles, 16.0 * U * (2.0 * math.pi + 1.0 / self(angles)))  # type: ignore[no-any-return]
        if levels.min() < 0.0 or levels.max() > 1.0:
            raise ValueError(f"levels: expected numbers from 0 to 1, got {levels.min()} to {levels.max()}")
        parts = [self._quantiles(levels[k : k + _AT_ONCE]) for k in range(0, levels.size, _AT_ONCE)]
        return np.concatenate(parts)

    def _quantiles(self, levels: Array) -> Array:
        """Invert the mass by Newton's steps, halved where they leave the bracket."""
        low = np.zeros(levels.size)
        high = np.full(levels.size, 2.0 * math.pi)
        x: Array = np.interp(levels, self._masses, np.append(self._nodes, 2.0 * math.pi))
        for _ in range(_NEWTON):
            excess = self.cumulative(x) - levels
            slope = self(x)
            low = np.where(excess < 0.0, x, low)
            high = np.where(excess < 0.0, high, x)
            with np.errstate(divide="ignore", invalid="ignore"):  # a density that underflows: halved instead
                step = x - excess / slope
                noise = 2e-16 * (2.0 * math.pi + np.minimum(1.0 / slope, _FLAT))
            settled = np.abs(step - x) <= noise
            if settled.all():
                break
            moved = np.where((step > low) & (step < high), step, 0.5 * (low + high))
            x = np.where(settled, x, moved)
        return x

    def tokens(self, n: int) -> Array:
        r"""Return the quantile tokens :math:`F^{-1}((j + \frac12)/n)`, shape (n, 1).

        Their mean of a smooth periodic function is spectrally close to its integral: a trapezoidal rule in the level.
        """
        n = as_count(n, "n")
        return self.quantiles((np.arange(n) + 0.5) / n)[:, np.newaxis]

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """Draw independent angles, shape (n, 1)."""
        return self.quantiles(as_generator(rng).uniform(size=as_count(n, "n")))[:, np.newaxis]

    @cached_property
    def _nodes(self) -> Array:
        return 2.0 * math.pi * np.arange(_NODES) / _NODES

    @cached_property
    def _coefficients(self) -> NDArray[np.complex128]:
        """The Fourier coefficients of the density, of no negative frequency."""
        return np.fft.rfft(self(self._nodes)) / _NODES

    @cached_property
    def _masses(self) -> Array:
        """The mass up to every node, and one."""
        return np.maximum.accumulate(np.append(self.cumulative(self._nodes), 1.0))

    @cached_property
    def _offset(self) -> float:
        """The logarithm of the integral of ``exp(u)``."""
        u = self._series(self._nodes)
        top = float(u.max())
        return top + math.log(2.0 * math.pi / _NODES * math.fsum(np.exp(u - top).tolist()))

    def _series(self, x: Array, order: int = 0) -> Array:
        """Return the trigonometric polynomial, or its derivative."""
        k = np.arange(1.0, self.cosines.size + 1.0)
        even, odd = np.flatnonzero(self.cosines), np.flatnonzero(self.sines)  # a wave without a share is not computed
        a, b = self.cosines[even], self.sines[odd]
        phase = x[..., np.newaxis]
        if order:
            found: Array = np.sin(phase * k[even]) @ (-k[even] * a) + np.cos(phase * k[odd]) @ (k[odd] * b)
            return found
        constant = 0.0 if self.logarithmic else 1.0
        value: Array = constant + np.cos(phase * k[even]) @ a + np.sin(phase * k[odd]) @ b
        return value
