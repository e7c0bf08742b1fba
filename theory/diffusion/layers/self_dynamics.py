r"""Self-attention of moving tokens: every layer computes the weights anew from the features that it is given.

With :math:`f = \|H_i - H_j\|^2` a layer of tokens of density p on a surface H moves them by

.. math:: H_{\text{new}} - H = \tfrac\varepsilon2(\vec{\mathcal H} + 2\nabla\log p) + O(\varepsilon^2),

the vector of mean curvature (the trace, not the average of the principal ones) and twice the slope of the density,
since the coordinates of a surface in space have Laplacian :math:`\Delta_gH = \vec{\mathcal H}`. Uniform spheres shrink
(:func:`sphere_layer`); closed curves move (:func:`advance_tokens`, :class:`PlaneCurve`); along the surface the density
gathers where it is large, which is a heat equation run backward (:func:`line_tokens` for flat space).

References
----------
M. Carreira-Perpinan, Fast nonparametric clustering with Gaussian blurring mean-shift, *ICML* (2006).
M. Gage and R. Hamilton, The heat equation shrinking convex plane curves, *Journal of Differential Geometry* 23 (1986).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_flag, as_instance, as_masses, as_points, as_positive, as_vector, frozen
from theory.attention import SquaredDistance, rounding
from theory.diffusion.limits.grid import PeriodicGrid
from theory.diffusion.limits.operators import half_inverse, propagate
from theory.evidence import Interval, Kind, as_intervals, exact, is_enclosed
from theory.evidence.roundoff import U

Array = NDArray[np.float64]
_MOST = 1e7  # taken: of equidistant tokens
_SHARPEST = 1e8  # taken: of the squared radius in bandwidths; nodes are eight times its root
_REACH = 14.0  # derived: a Gaussian is below exp(-98) beyond so many standard deviations


def advance_tokens(tokens: ArrayLike, epsilon: float, weights: ArrayLike | None = None) -> Array:
    r"""Return where a layer of self-attention takes tokens of shape (n, d), of equal weights unless given.

    Enclosed if tokens or weights are. Tokens that are off by :math:`\delta` move a score by at most
    :math:`\frac1{2\varepsilon}(2D + 2\delta)2\delta`, with the diameter D, which counts as an error of the weights.
    """
    cloud: Array = as_points(tokens, "tokens")
    given = as_intervals(cloud)
    if given.is_exact:
        return propagate(cloud, cloud, cloud, epsilon, weights=weights)
    off = float(np.linalg.norm(given.radius, axis=1).max())
    across = 2.0 * float(np.linalg.norm(given.mid - given.mid.mean(axis=0), axis=1).max())
    moved = half_inverse(epsilon) * 4.0 * off * (across + off) * (1.0 + 64 * U)
    law = as_intervals(np.ones(len(given)) if weights is None else as_masses(weights, "weights", size=len(given)))
    loose = law * np.exp(Interval(-moved, moved))
    return propagate(exact(given.mid), given.mid, cloud, epsilon, weights=loose)


def advance_rounding(tokens: ArrayLike, epsilon: float, weights: ArrayLike | None = None) -> float:
    """Bound the rounding of every coordinate of :func:`advance_tokens`."""
    cloud = as_points(tokens, "tokens")
    law = None if weights is None else as_masses(weights, "weights", size=cloud.shape[0])
    return rounding(cloud, cloud, cloud, score=SquaredDistance(half_inverse(epsilon)), weights=law)


class PlaneCurve(NamedTuple):
    """A closed curve in the plane, at equal steps of a parameter that runs around the circle."""

    points: Array
    """shape (n, 2)"""

    @property
    def tangent(self) -> Array:
        """Derivative by the parameter, shape (n, 2)."""
        grid = PeriodicGrid((self.points.shape[0],))
        return np.stack([grid.derivative(column, 1) for column in self.points.T], axis=1)

    @property
    def speed(self) -> Array:
        """Arc per parameter, shape (n,)."""
        along = self.tangent
        length: Array = np.hypot(along[:, 0], along[:, 1])
        return length

    @property
    def area(self) -> float:
        """Enclosed, positive if the curve turns to the left."""
        x, y = self.points.T
        dx, dy = self.tangent.T
        swept = x * dy - y * dx
        if is_enclosed(swept):
            return exact(math.pi) / len(swept) * swept.sum()  # type: ignore[no-any-return]
        return math.pi / int(x.size) * math.fsum(swept.tolist())

    def shorten(self, epsilon: float) -> PlaneCurve:
        """Return the curve after a layer whose tokens weigh what arc they stand for: uniform on the curve as it is."""
        return PlaneCurve(advance_tokens(self.points, epsilon, self.speed))


def ellipse(first: float, second: float, nodes: int) -> PlaneCurve:
    """Return an ellipse with these half-axes, at equal steps of its eccentric angle."""
    a = as_positive(first, "first")
    b = as_positive(second, "second")
    n = as_count(nodes, "nodes", least=8)
    angle = 2.0 * np.pi * np.arange(n) / n
    return PlaneCurve(np.stack([a * np.cos(angle), b * np.sin(angle)], axis=1))


def height_tokens(dim: int, nodes: int) -> tuple[Array, Array]:
    r"""Return tokens on the unit sphere that are to a query at its pole what uniform ones are, and their masses.

    Scores depend on the height only, and components across the axis cancel; so heights of a Gauss quadrature with
    weight :math:`(1 - z^2)^{d/2 - 1}`, each at two opposite points of its parallel, are enough.

    Parameters
    ----------
    dim : int
        d, of the sphere.
    nodes : int
        Heights.

    Returns
    -------
    points : ndarray, shape (2 nodes, 2)
        Height and distance from the axis.
    masses : ndarray, shape (2 nodes,)
    """
    return _sphere_tokens(as_count(dim, "dim"), as_count(nodes, "nodes"))


@lru_cache(maxsize=64)
def _sphere_tokens(d: int, n: int) -> tuple[Array, Array]:
    from scipy.special import roots_gegenbauer  # noqa: PLC0415  slow to load

    if d == 1:
        z = np.cos(np.pi * (np.arange(n) + 0.5) / n)
        weights = np.ones(n)
    else:
        z, weights = roots_gegenbauer(n, 0.5 * (d - 1))
    away = np.sqrt((1.0 - z) * (1.0 + z))
    points = np.stack([np.tile(z, 2), np.concatenate([away, -away])], axis=1)
    masses = np.tile(weights, 2)
    return frozen(points), frozen(masses / masses.sum())


def sphere_layer(radius: Interval, epsilon: float, dim: int) -> Interval:
    r"""Enclose the radius of uniform tokens on a sphere of dimension d after a layer, by attention at its pole.

    The map is :math:`R \mapsto RA(b)` with :math:`b = R^2/\varepsilon` and a ratio A of Bessel functions that obeys
    :math:`A' = 1 - A^2 - dA/b \le A/b`, so that an error of the radius is multiplied by :math:`A + 2bA' \le 3`. The
    ratio itself, known at the middle, changes over the interval by :math:`A'` times its length, and
    :math:`A \ge b/(\frac d2 + \sqrt{(\frac d2 + 1)^2 + b^2})` [1]_, which leaves of :math:`A'` a multiple of
    :math:`b^{-2}`: with :math:`b^{-1}` alone widths would grow exponentially with the layers.

    Parameters
    ----------
    radius : Interval
        Positive.
    epsilon : float
        Positive; heights in the number of :math:`R/\sqrt\varepsilon` are summed.
    dim : int

    References
    ----------
    .. [1] D. E. Amos, *Computation of modified Bessel functions and their ratios*, Math. Comp. 28 (1974), 239-251.
    """
    if not as_instance(radius, "radius", Interval).lo > 0.0:
        raise ValueError(f"radius: expected a positive interval, got {radius}")
    e = as_positive(epsilon, "epsilon")
    r = as_positive(radius.mid, "radius")
    dim = as_count(dim, "dim")
    if not r * r / e < _SHARPEST:
        raise ValueError(f"epsilon: expected one to resolve with fewer nodes, got {e} for the radius {r}")
    points, masses = height_tokens(dim, 32 * math.ceil(1.0 + 0.25 * r / math.sqrt(e)))
    cloud = r * points
    query = np.array([[r, 0.0]])
    found = float(propagate(query, cloud, cloud, e, weights=masses)[0, 0])
    error = rounding(query, cloud, cloud, score=SquaredDistance(0.5 / e), weights=masses)
    # heights and masses of the quadrature are off by some u, scores by b u of the heights
    error += 64.0 * (1.0 + r * r / e) * U * r
    b = radius * radius / e
    off = min(2.0 * radius.width / radius.lo, _steepest_ratio(b, dim) * b.width)
    ratio = Interval.within(found / r, error / r + off + 2.0 * U)
    slope = min(3.0, (ratio + 2.0 * b * (1.0 - ratio * ratio) - 2.0 * dim * ratio).hi)
    return Interval.within(found, error + 0.5 * slope * radius.width, Kind.NUMERIC)


def _steepest_ratio(b: Interval, d: int) -> float:
    """Bound the slope of the ratio of Bessel functions over an interval, by a smaller ratio, of which L/b falls."""
    least, last = (x / (0.5 * d + math.hypot(0.5 * d + 1.0, x)) for x in (b.lo, b.hi))
    return 1.0 - least * least - d * last / b.hi + 16.0 * U * (1.0 + d)


def sphere_radii(start: float, epsilon: float, dim: int, layers: int, *, kept: bool = False) -> list[Interval]:
    """Return the radii of uniform tokens on a sphere, from the first to the one after so many layers.

    Every layer computes the weights anew, or they are ``kept``: then all average with those of the first cloud.
    """
    radii = [Interval.exactly(as_positive(start, "start"))]
    kept = as_flag(kept, "kept")
    share = sphere_layer(radii[0], epsilon, dim) / radii[0]
    for _ in range(as_count(layers, "layers", least=0)):
        radii.append(radii[-1] * share if kept else sphere_layer(radii[-1], epsilon, dim))
    return radii


def line_tokens(means: ArrayLike, variances: ArrayLike, shares: ArrayLike, step: float) -> tuple[Array, Array]:
    """Return equidistant tokens on the line that weigh what a mixture of Gaussians puts there.

    Parameters
    ----------
    means, variances, shares : array_like or Intervals, shape (k,)
        Of the parts; if any are enclosed, so are the masses.
    step : float
        Between tokens.

    Returns
    -------
    tokens : ndarray, shape (n, 1)
        As far as 14 standard deviations from a mean.
    masses : ndarray, shape (n,)

    Raises
    ------
    ValueError
        If a variance or a share is not positive, or shapes differ.
    """
    m = as_vector(means, "means")
    s = as_vector(variances, "variances", size=m.size)
    w = as_masses(shares, "shares", size=m.size)
    middle, spread = as_intervals(m).mid, as_intervals(s).mid
    if not spread.min() > 0.0:
        raise ValueError(f"variances: expected positive numbers, got {spread.min()}")
    h = as_positive(step, "step")
    reach = _REACH * np.sqrt(spread)
    low, high = float((middle - reach).min()), float((middle + reach).max())
    if not (high - low) / h < _MOST:
        raise ValueError(f"step, means, variances: expected fewer than {_MOST:g} tokens, got a step of {h}")
    if not max(abs(low), abs(high)) < 2.0**52 * h:
        raise ValueError(f"means: expected places that differ by a step of {h}, got {low} to {high}")
    x = h * np.arange(math.floor(low / h), math.ceil(high / h) + 1)
    if is_enclosed(m, s, w):
        m, s, w = as_intervals(m), as_intervals(s), as_intervals(w)  # type: ignore[assignment]
    densities = np.exp(-0.5 * (x[:, np.newaxis] - m) ** 2 / s) / np.sqrt(s)
    masses = densities @ w
    sizes = as_intervals(masses).mid
    kept = sizes > 1e-40 * sizes.max()
    return x[kept][:, np.newaxis], masses[kept] / masses[kept].sum()


def shorten_curve(curve: PlaneCurve, epsilon: float, layers: int) -> Iterator[PlaneCurve]:
    """Yield a closed curve before and after each of some layers of :meth:`Curve.shorten`."""
    as_instance(curve, "curve", PlaneCurve)
    yield curve
    for _ in range(as_count(layers, "layers", least=0)):
        curve = curve.shorten(epsilon)
        yield curve
