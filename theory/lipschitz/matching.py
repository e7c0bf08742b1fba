r"""Wasserstein distances of any order between small clouds, enclosed.

On the line the monotone coupling is optimal for every :math:`p \ge 1`, so that :math:`W_p^p` is a finite sum over
pieces of mass, and :math:`W_\infty` the longest way of a piece. For n equal masses on either side some permutation is
optimal: plans are averages of permutations (Birkhoff), and for :math:`W_\infty` a plan along short arcs contains one
(Hall).

References
----------
C. Villani, *Optimal Transport: Old and New*, Springer 2009, chapters 3 and 6.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_points
from theory.attention import Measure
from theory.attention.measure import as_measure
from theory.attention.score import Array
from theory.evidence import Interval, Intervals, Kind, ball, exact, is_enclosed, norm
from theory.evidence.enclosure import balls, hull
from theory.evidence.roundoff import gamma
from theory.lipschitz._numbers import exponent

_MOST = 6  # taken: 720 permutations
_TIE = (
    1e-9  # derived: float64 sums of six costs are off by less than 1e-13 of the largest; all nearer ones are enclosed
)


def wp_line(mu: Measure, nu: Measure, p: float) -> Interval:
    """Enclose the distance of two measures on the line; weights are normalised exactly. Kind ``CERTIFIED``.

    Atoms may be enclosed, weights must be known exactly.

    Raises
    ------
    ValueError
        If a dimension is not one, a weight is not known exactly or ``p`` is below one.
    """
    if as_measure(mu, "mu").dim != 1 or as_measure(nu, "nu").dim != 1:
        raise ValueError(f"mu, nu: expected dimension 1, got {mu.dim} and {nu.dim}")
    order = exponent(p)
    if is_enclosed(mu.points, nu.points):
        (x, near), (y, close) = (_places(exact(law.points)) for law in (mu, nu))
        return _widened(wp_line(_placed(mu, x, "mu"), _placed(nu, y, "nu"), order), near + close)
    (x, a), (y, b) = _sorted(mu), _sorted(nu)
    i = j = 0
    pieces: list[tuple[Fraction, Any]] = []
    left, right = a[0], b[0]
    while True:
        step = min(left, right)
        if step > 0:
            pieces.append((step, abs(ball(x[i]) - ball(y[j]))))
        left, right = left - step, right - step
        if left == 0:
            i += 1
            if i == len(a):
                break
            left = a[i]
        if right == 0:
            j += 1
            if j == len(b):
                break
            right = b[j]
    if math.isinf(order):
        return Interval.largest(hull(way) for _, way in pieces)
    power = ball(order)
    return _root(sum(ball(mass) * way**power for mass, way in pieces), power)


def wp_tokens(x: ArrayLike, y: ArrayLike, p: float) -> Interval:
    """Enclose the distance of the empirical measures of two clouds of shape (n, d), n at most 6. Kind ``CERTIFIED``.

    Raises
    ------
    ValueError
        If the shapes differ, there are more tokens, or ``p`` is below one.
    """
    first = as_points(x, "x")
    n, d = first.shape
    second = as_points(y, "y", size=n, dim=d)
    if n > _MOST:
        raise ValueError(f"x: expected at most {_MOST} tokens, got {n}")
    order = exponent(p)
    if is_enclosed(first, second):
        (one, near), (other, close) = (_places(exact(tokens)) for tokens in (first, second))
        return _widened(wp_tokens(one, other, order), near + close)
    with np.errstate(over="ignore"):
        gaps = first[:, np.newaxis, :] - second[np.newaxis, :, :]
    if not np.isfinite(gaps).all():
        raise ValueError(f"x, y: expected differences that float64 can hold, got {gaps[~np.isfinite(gaps)][0]}")
    ways = np.linalg.norm(np.ldexp(gaps, -np.frexp(np.abs(gaps).max())[1]), axis=2)  # squares neither lost nor infinite
    chosen = np.array(list(permutations(range(n))))
    costs = ways[np.arange(n), chosen]
    size = ways.max() or 1.0
    worth = costs.max(axis=1) if math.isinf(order) else ((costs / size) ** order).sum(axis=1)
    tie = _TIE * size if math.isinf(order) else n * max(_TIE, order * gamma(4 * d + 32))  # powers multiply the error
    near = chosen[worth <= worth.min() + tie]
    enclosed = np.frompyfunc(lambda square: square.sqrt() if square > 0 else square.nonnegative_part().sqrt(), 1, 1)(
        ((balls(first)[:, np.newaxis, :] - balls(second)[np.newaxis, :, :]) ** 2).sum(axis=2)
    )
    if math.isinf(order):
        lengths = [[hull(way) for way in row] for row in enclosed]
        return _smallest([Interval.largest(lengths[i][k] for i, k in enumerate(each)) for each in near.tolist()])
    power = ball(order)
    powers = enclosed**power
    least = _smallest([hull(powers[np.arange(n), each].sum()) for each in near])
    if not least.hi < math.inf:
        raise ValueError(f"x, y, p: expected powers of distances that float64 can hold, got {least.hi}")
    return _root(ball(max(least.lo, 0.0)).union(ball(least.hi)) / n, power)


def _places(points: Intervals) -> tuple[Array, Interval]:
    """Return the middles, and a bound on how far an atom is from its own: so far the measures are, in every W_p."""
    return points.mid, norm(exact(points.radius), axis=1).max()


def _placed(mu: Measure, points: Array, name: str) -> Measure:
    weights = exact(mu.weights)
    if weights.radius.any():
        raise ValueError(f"{name}: expected weights that are known exactly, got radii up to {weights.radius.max()}")
    return Measure(points, weights.mid)


def _widened(distance: Interval, reach: Interval) -> Interval:
    """Return the distance of measures that are no further than a reach from those with this distance."""
    wide: Interval = distance + Interval.within(0.0, reach.hi)
    return Interval(max(wide.lo, 0.0), wide.hi, wide.kind)


def _smallest(costs: list[Interval]) -> Interval:
    least = -Interval.largest(-cost for cost in costs)
    return Interval(max(least.lo, 0.0), least.hi, least.kind)


def _sorted(mu: Measure) -> tuple[list[float], list[Fraction]]:
    """Return places in order and exact masses with sum one."""
    order = np.argsort(mu.points[:, 0], kind="stable")
    masses = [Fraction(w) for w in mu.weights[order].tolist()]
    total = sum(masses)
    return mu.points[order, 0].tolist(), [mass / total for mass in masses]


def _root(mean: Any, power: Any) -> Interval:
    if mean > 0:
        return hull(mean ** (1 / power))
    return Interval(0.0, max(hull(mean.upper() ** (1 / power)).hi, 0.0) if mean.upper() > 0 else 0.0, Kind.CERTIFIED)
