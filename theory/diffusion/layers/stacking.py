r"""Stacks of layers of which every one averages with the same weights: powers of :math:`P_\varepsilon`.

As every layer averages, :math:`\|P_\varepsilon\|_\infty = 1`: rounding of one layer is carried on undiminished at worst
and after n layers is n times that of one. A layer advances the limiting equation by :math:`\varepsilon/2`, so that time
t takes :math:`2t/\varepsilon` layers (:func:`count_layers`).

Three kinds of layers: tokens that attend to each other (:class:`TokenLayer`), the exact operator of a kernel that is
the same everywhere on the torus (:class:`TorusLayer`), and that of a zonal kernel for functions of the height on the
sphere (:class:`ZonalLayer`).

References
----------
R. Coifman and S. Lafon, Diffusion maps, *Applied and Computational Harmonic Analysis* 21 (2006).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike, NDArray

from theory._validate import (
    as_callable,
    as_count,
    as_having,
    as_instance,
    as_masses,
    as_points,
    as_positive,
    as_real,
    as_vector,
)
from theory.attention import SquaredDistance
from theory.attention.enclosed import enclose_weights
from theory.attention.output import weight_error
from theory.attention.score import BoundedScore
from theory.diffusion.limits.grid import PeriodicGrid
from theory.diffusion.limits.operators import chordal, half_inverse, propagate, sphere_multipliers
from theory.evidence import as_intervals, exact, is_enclosed, within
from theory.evidence.roundoff import U, average_error, gamma

Array = NDArray[np.float64]
_SQUARINGS = 20  # taken: more layers than 2**20 are not stacked


class Layer(Protocol):
    """One layer: an average of values, and what rounding may do to an average of values of size one."""

    error: float

    def __call__(self, values: Array, /) -> Array:
        """Average."""
        ...


def count_layers(time: float, epsilon: float) -> int:
    r"""Return the number :math:`2t/\varepsilon` of layers that take time t.

    Raises
    ------
    ValueError
        If it is not an integer, or ``time`` or ``epsilon`` is not positive.
    """
    t, width = as_positive(time, "time"), as_positive(epsilon, "epsilon")
    layers = 2.0 * t / width
    if not layers.is_integer():
        raise ValueError(f"time: expected a multiple of epsilon / 2 = {0.5 * width}, got {t}")
    return int(layers)


def apply_layers(layer: Layer, values: ArrayLike, depths: Sequence[int]) -> list[Any]:
    """Apply a layer over and over.

    Averages of averages that are off by e each, of values of size one, are off by :math:`ne(1 + e)^n` after n layers.

    Parameters
    ----------
    layer : Layer
    values : array_like or Intervals
        What the first layer averages.
    depths : sequence of int
        After how many layers the result is wanted, rising, from 0 on.

    Returns
    -------
    list of ndarray or of Intervals
        One for each depth, enclosed if the values are.

    Raises
    ------
    ValueError
        If ``depths`` do not rise.
    """
    if not isinstance(depths, (list, tuple, range, np.ndarray)):
        raise TypeError(f"depths: expected a sequence of integers, got {type(depths).__name__}")
    as_callable(layer, "layer")
    wanted = [as_count(d, "depths", least=0) for d in depths]
    if any(b <= a for a, b in itertools.pairwise(wanted)):
        raise ValueError(f"depths: expected rising numbers, got {wanted}")
    given = as_real(values, "values")
    if given.size == 0:
        raise ValueError(f"values: expected at least one, got shape {given.shape}")
    start = as_intervals(given) if is_enclosed(given) else None
    current = given if start is None else start.mid
    size = float(np.abs(current).max())
    done = 0
    results = []
    for count in wanted:
        for _ in range(count - done):
            current = layer(current)
        done = count
        if start is None:
            results.append(current)
        else:
            off = float(start.radius.max()) + count * layer.error * size
            results.append(within(current, off * (1.0 + layer.error) ** count))
    return results


class TokenLayer:
    r"""Attention of weighted tokens to each other, with weights :math:`e^{-f/2\varepsilon}` computed once.

    Parameters
    ----------
    keys : array_like or Intervals, shape (n, d)
    epsilon : float
        Positive.
    score : BoundedScore, optional
        :math:`-f/2\varepsilon`; that of squared distances unless given.
    weights : array_like or Intervals, shape (n,), optional
        Of the tokens; equal unless given.
    queries : array_like or Intervals, shape (m, d), optional
        The keys unless given.

    Attributes
    ----------
    rows : ndarray or Intervals, shape (m, n)
        The weights, enclosed if anything asked for is.
    error : float
        Bound on the rounding of an average of values of size one.
    """

    def __init__(
        self, keys: ArrayLike, epsilon: float, *, score: BoundedScore | None = None, weights: ArrayLike | None = None,
        queries: ArrayLike | None = None,
    ) -> None:  # fmt: skip
        tokens = as_points(keys, "keys")
        width = as_positive(epsilon, "epsilon")
        scale = half_inverse(epsilon)
        own: BoundedScore = SquaredDistance(scale) if score is None else as_having(score, "score", "matrix")
        asked = tokens if queries is None else as_points(queries, "queries", dim=tokens.shape[1])
        n = tokens.shape[0]
        masses = None if weights is None else as_masses(weights, "weights", size=n)
        with np.errstate(divide="ignore"):  # a token may have no mass
            logs = None if masses is None else np.log(masses)
        if is_enclosed(tokens, asked, logs):
            self.rows: Any = enclose_weights(own, asked, tokens, log_weights=logs)
            enclosed = as_intervals(self.rows)
            self._weights = enclosed.mid
            self.error = float((enclosed.radius.sum(axis=1) + gamma(n + 2)).max())
            return
        # a value that is one for a single token and zero for the others reads off its weight, relatively accurate
        self.rows = propagate(asked, tokens, np.eye(n), width, score=own, weights=masses)
        self._weights = self.rows
        self.error = average_error(1.0, n, relative=weight_error(asked, tokens, own, logs))

    def __call__(self, values: Any) -> Any:
        """Average values of shape (n,) or (n, k); enclosed ones give enclosures."""
        if is_enclosed(values):
            given = as_intervals(values)
            off = float(np.abs(given.mid).max()) * self.error + float(given.radius.max()) * (1.0 + self.error)
            enclosed: Array = within(self._weights @ given.mid, off)
            return enclosed
        averaged: Array = self._weights @ values
        return averaged


def equidistant_layer(
    density: Callable[[Array], ArrayLike], epsilon: float, *, count: int | None = None
) -> tuple[Array, TokenLayer]:
    r"""Return the angles of equidistant tokens, and the layer in which they weigh their density.

    The circle with the chordal kernel.

    Parameters
    ----------
    density : callable
        From enclosed angles to positive, enclosed masses of any total.
    epsilon : float
        Positive.
    count : int, optional
        Of tokens; unless given at least 48, and so many that the kernel is resolved.

    Returns
    -------
    angles : ndarray, shape (count,)
    layer : TokenLayer
        Its rows are enclosed.
    """
    as_callable(density, "density")
    width = as_positive(epsilon, "epsilon")
    enough = max(48, 8 * math.ceil(1.5 / math.sqrt(width)))
    grid = PeriodicGrid((enough if count is None else as_count(count, "count"),))
    weights = as_vector(density(exact(grid.axes[0])), "density", size=grid.size)
    return grid.axes[0], TokenLayer(exact(grid.nodes), width, score=chordal(width), weights=weights)


class TorusLayer:
    r"""The exact operator :math:`h \mapsto K(hp)/Kp` of a kernel with given Fourier coefficients.

    Its values on the grid are averages if the grid resolves the kernel, which is up to the caller: the coefficients
    beyond half its size are to be negligible.

    Parameters
    ----------
    grid : PeriodicGrid
    density : array_like
        Positive, on the grid, of any total mass.
    multiplier : callable
        As in :meth:`PeriodicGrid.multiply`, at most one in size.

    Raises
    ------
    ValueError
        If the density or its smoothed form is not positive.
    """

    def __init__(self, grid: PeriodicGrid, density: ArrayLike, multiplier: Callable[..., ArrayLike]) -> None:
        self._grid = as_instance(grid, "grid", PeriodicGrid)
        self._p = as_real(density, "density")
        if self._p.shape != grid.shape:
            raise ValueError(f"density: expected shape {grid.shape}, got shape {self._p.shape}")
        mass = grid.multiply(self._p, multiplier)
        if not min(self._p.min(), mass.min()) > 0.0:
            raise ValueError(f"density: expected one that stays positive when smoothed, got {mass.min()}")
        self._mass = mass
        # once per node, as the layers all use them; multipliers and densities are within 64 u
        self._factors = np.asarray(multiplier(*grid.frequencies))
        slip = grid.rounding(self._p)
        self.error = 2.01 * slip / float(mass.min()) + 256 * U  # of numerator and denominator

    def __call__(self, values: Array) -> Array:
        """Average values on the grid."""
        return self._grid.multiply(values * self._p, lambda *_: self._factors) / self._mass


class ZonalLayer:
    r"""The exact operator of weights :math:`e^{b\langle x,y\rangle}` for functions of the height z on the unit sphere.

    On Gauss-Legendre nodes, by Legendre polynomials: those of degree l are multiplied by :math:`i_l(b)/i_0(b)`. A
    kernel that the nodes do not resolve is cut off, exact for polynomials of degree below the nodes, but with weights
    below zero: then :math:`\|P^k\|_\infty` may exceed one, and ``error`` includes by how much.

    Parameters
    ----------
    density : callable
        From heights to a positive density.
    b : float
        Positive; :math:`1/\varepsilon` for squared distances.
    nodes : int, default 48

    Attributes
    ----------
    heights : ndarray, shape (nodes,)
        Rising, from the south to the north.
    """

    def __init__(self, density: Callable[[Array], ArrayLike], b: float, *, nodes: int = 48) -> None:
        n = as_count(nodes, "nodes")
        as_callable(density, "density")
        self.heights, weights = legendre.leggauss(n)
        p = as_vector(density(self.heights), "density", size=n)
        if not p.min() > 0.0:
            raise ValueError(f"density: expected positive numbers, got {p.min()}")
        basis = legendre.legvander(self.heights, n - 1) * np.sqrt(np.arange(n) + 0.5)
        spread = basis * sphere_multipliers(n - 1, b)
        kernel = spread @ (basis.T * (weights * p))
        size = float((np.abs(spread) @ (np.abs(basis.T) * (weights * p))).sum(axis=1).max())
        self.rows = kernel / kernel.sum(axis=1, keepdims=True)
        # a power is a product of squarings; it carries values, and the rounding of those before, with its norm
        carried = 1.0
        power = self.rows
        for _ in range(_SQUARINGS):
            carried *= max(1.0, float(np.abs(power).sum(axis=1).max()))
            power = power @ power
        # a polynomial of degree l by its recurrence is off by some l u, as is a multiplier; sums of n terms
        self.error = 2.0 * gamma(8 * n) * size / float(kernel.sum(axis=1).min()) * carried**2

    def __call__(self, values: Array) -> Array:
        """Average values on the nodes."""
        averaged: Array = self.rows @ values
        return averaged
