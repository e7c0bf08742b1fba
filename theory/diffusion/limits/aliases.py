r"""What finitely many quantile tokens leave of the whole law: aliases of the level, by contours.

A mean over N equally spaced levels t of g(t) is the sum of the Fourier coefficients of g at multiples of N. Those of
:math:`K(x, y)(h(y) - Ph(x))` and of :math:`K(x, y)`, :math:`y = F^{-1}(t)`, are integrals over y of these times
:math:`p(y)e^{-2\pi imNF(y)}`, entire functions, that may be taken as far below the real axis as one likes. With the
offset of a half in the levels their signs alternate.

*Error.* Exponents are sums of terms of size :math:`\cosh(\sigma)/\varepsilon` and :math:`mN`, each within 128
roundings. A trapezoidal rule of n nodes misses less than :math:`e^{-na}` times the integrals of the sizes a above and
below. Every alias is smaller than the one before by the largest size of :math:`e^{-2\pi iNF}` on the contour.

References
----------
L. N. Trefethen and J. A. C. Weideman, The exponentially convergent trapezoidal rule, *SIAM Review* 56 (2014).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory._validate import as_callable, as_count, as_instance, as_positive
from theory.diffusion.limits.densities import CircleDensity
from theory.diffusion.limits.grid import PeriodicGrid
from theory.diffusion.limits.operators import chordal_multiplier, convolve
from theory.evidence import Intervals, within
from theory.evidence.roundoff import U

Array = NDArray[np.float64]
Function = Callable[[NDArray[np.complex128]], NDArray[np.complex128]]
_NODES = 256  # taken: of the circle, where a bandwidth of a hundredth is resolved
_HEIGHTS = tuple(0.05 * k for k in range(1, 15))  # taken: of the contours; any one bounds
_AROUND, _APART = 512, 0.5  # taken: nodes on a contour, and how far from it two others are that bound what these miss
_MOST = 8  # taken: aliases that are summed; what is left is bounded
_NEGLIGIBLE = 2.0**-70


class Aliases(NamedTuple):
    """What N tokens return less what the whole law does, at 256 equidistant queries.

    Parameters
    ----------
    error : Intervals, shape (256,)
    bound : float
        What the sizes on the contours bound it by; infinite if they do not.
    """

    error: Intervals
    bound: float


class _Contour(NamedTuple):
    """The integrands on a line below the real axis, their sizes, and the level there."""

    parts: tuple[NDArray[np.complex128], NDArray[np.complex128]]
    lengths: tuple[Array, Array]
    level: NDArray[np.complex128]

    def sizes(self, frequency: int) -> list[Array]:
        """Bound the aliases of both integrands at a frequency, at every query."""
        damping = np.exp(2.0 * np.pi * frequency * self.level.imag)
        return [length @ damping for length in self.lengths]


def quantile_aliases(
    density: CircleDensity, function: Function, epsilon: float, counts: Sequence[int]
) -> dict[int, Aliases]:
    """Enclose what attention with chordal scores to N quantile tokens is off, for several N.

    Parameters
    ----------
    density : CircleDensity
        Logarithmic, so that it is entire.
    function : callable
        h, entire and 2 pi-periodic, from complex angles of any shape.
    epsilon : float
        The bandwidth, positive.
    counts : sequence of int
        The numbers N of tokens.

    Raises
    ------
    ValueError
        If the density is not the exponential of a polynomial.
    """
    if not as_instance(density, "density", CircleDensity).logarithmic:
        raise ValueError("density: expected the exponential of a trigonometric polynomial, got a polynomial")
    as_callable(function, "function")
    width = as_positive(epsilon, "epsilon")
    contours = _Contours(density, function, width)
    return {n: contours.aliases(n) for n in (as_count(count, "counts") for count in counts)}


class _Contours:
    """The contours at all heights for one law, made once for all numbers of tokens."""

    def __init__(self, density: CircleDensity, function: Function, epsilon: float) -> None:
        grid = PeriodicGrid((_NODES,))
        self._x = grid.axes[0][:, np.newaxis]
        self._y = 2.0 * np.pi * np.arange(_AROUND) / _AROUND
        self._density, self._function, self._epsilon = density, function, epsilon
        self._log_total = float(density.cosines.sum() - np.log(density(0.0)))
        values = np.asarray(function(grid.axes[0]).real, dtype=np.float64)
        self._here = convolve(grid, density(grid.axes[0]), values, chordal_multiplier(epsilon))[:, np.newaxis]
        self._rule = np.polynomial.legendre.leggauss(24)
        self._made: dict[float, _Contour] = {}

    def _law(self, z: NDArray[np.complex128]) -> NDArray[np.complex128]:
        k = np.arange(1.0, self._density.cosines.size + 1.0)
        phase = np.multiply.outer(z, k)
        exponent = np.cos(phase) @ self._density.cosines + np.sin(phase) @ self._density.sines
        return np.asarray(np.exp(exponent - self._log_total))

    def at(self, height: float) -> _Contour:
        """Return the contour so far below the real axis."""
        if height not in self._made:
            nodes, weights = self._rule
            z = self._y - 1j * height
            down = 0.5 * height * (nodes + 1.0)
            below = self._law(self._y[:, np.newaxis] - 1j * down) @ (0.5 * height * weights)
            level = self._density.cumulative(self._y) - 1j * below
            kernel = np.exp((np.cos(self._x - z) - 1.0) / self._epsilon) * self._law(z) * (2.0 * np.pi / _AROUND)
            parts = kernel * (self._function(z) - self._here), kernel
            self._made[height] = _Contour(parts, (np.abs(parts[0]), np.abs(parts[1])), level)
        return self._made[height]

    def aliases(self, n: int) -> Aliases:
        """Sum the aliases of N tokens until they are negligible, each on the contour where it is smallest."""
        mass = self.at(0.0).parts[1].real.sum(axis=1)
        sums, widths = [0.0 * mass, mass], [0.0, 0.0]
        bounds = [0.0 * mass, 0.0 * mass]
        for m in range(1, _MOST + 1):
            frequency = m * n
            height = min(_HEIGHTS, key=lambda h: float(self.at(h).sizes(frequency)[0].max()))
            contour = self.at(height)
            sizes = contour.sizes(frequency)
            rest = float(np.exp(2.0 * np.pi * n * contour.level.imag).max())  # of every alias the next has at most that
            last = m == _MOST or float((sizes[0] / mass).max()) < _NEGLIGIBLE
            for k, size in enumerate(sizes):
                bounds[k] = bounds[k] + 2.0 * size * (1.0 + (rest / (1.0 - rest) if last else 0.0))
                if last:
                    widths[k] += 2.0 * float(size.max()) / (1.0 - rest)
                else:
                    sums[k] = sums[k] + 2.0 * (-1.0) ** m * self._alias(contour, k, frequency)
                    widths[k] += 2.0 * self._missed(height, k, frequency)
            if last:
                break
        error: Intervals = within(sums[0], widths[0]) / within(sums[1], widths[1])
        certain = float((bounds[1] / mass).max()) < 1.0
        return Aliases(error, float((bounds[0] / (mass - bounds[1])).max()) if certain else math.inf)

    def _alias(self, contour: _Contour, k: int, frequency: int) -> Array:
        wave = np.exp(-2j * np.pi * frequency * contour.level)
        return np.asarray((contour.parts[k] @ wave).real)

    def _missed(self, height: float, k: int, frequency: int) -> float:
        """Bound what rounding does to an alias, and what the rule misses."""
        slip = 128.0 * U * (2.0 * math.cosh(height) / self._epsilon + 2.0 * np.pi * frequency)
        beside = [float(self.at(height + side).sizes(frequency)[k].max()) for side in (-_APART, _APART)]
        own = float(self.at(height).sizes(frequency)[k].max())
        return slip * own + 2.0 * sum(beside) * math.exp(-_AROUND * _APART)
