r"""The closest pair of many clusters on its way together, followed in a clock that runs with it.

Clusters of masses :math:`m_k` at unit vectors :math:`x_k` move by attention. If the first two are the closest, all
speeds are of the size :math:`e^{-\beta(1 - \langle x_1, x_2\rangle)}` or far less, which float64 cannot hold beside
positions of size one. So exponents are shifted: time is measured by the *running* clock :math:`dt =
e^{\beta(1 - \langle x_1(t), x_2(t)\rangle)}ds`, in which the pair moves at speeds of order one; the time :math:`t`
itself comes out divided by its factor at the start, which is the *frozen* clock :math:`\sigma =
e^{-\beta(1 - \langle x_1(0), x_2(0)\rangle)}t`; and what the others travel is kept times :math:`e^{\beta g}`, where
:math:`g` is by how much the overlap of the pair exceeds all others at the start. The independent variable is
:math:`\ell = -\log\tan(\varphi/2)` of the angle :math:`\varphi` of the pair, in which nothing is stiff.

A run of clusters that meet two by two until one is left (:func:`follow_coarsening`) is followed stage by stage, while
all clusters interact. A pair nearer than ``JOINED`` becomes one cluster at its centre of mass, which by then moves as a
point does up to :math:`(\beta\cdot\text{JOINED})^2`, relatively.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_callable, as_masses, as_points, as_positive, as_vector, frozen
from theory.evidence import is_enclosed
from theory.evidence.interval import Interval, Kind
from theory.evidence.roundoff import U, gamma
from theory.particles.dynamics.flows import Trajectory, flow

Array = NDArray[np.float64]
JOINED = 1e-6  # chosen: the angle in radians below which a pair is one cluster


@dataclass(frozen=True, slots=True, eq=False)
class ClosestPair:
    r"""Clusters of which the first two are closest, as a field over :math:`\ell`.

    Parameters
    ----------
    points : array_like, shape (K, d)
        Unit vectors, d at least 2.
    weights : array_like, shape (K,)
        Positive.
    beta : float
        Inverse temperature, positive.

    Raises
    ------
    ValueError
        If the points are not unit vectors of distinct places, the first two are not the closest pair, or a weight is
        not positive.
    """

    points: Array
    weights: Array
    beta: float
    missing: float = field(init=False)
    """What the overlap of the pair lacks to one."""
    gap: float = field(init=False)
    """By how much the overlap of the pair exceeds all others; infinite without others."""
    _itself: NDArray[np.bool_] = field(init=False, repr=False)
    _shift: Array | None = field(init=False, repr=False)  # of the exponents of the others, if there are any

    def __post_init__(self) -> None:
        x = as_points(self.points, "points")
        beta = as_positive(self.beta, "beta")
        m = as_masses(self.weights, "weights", size=x.shape[0])
        if not m.min() > 0.0:
            raise ValueError(f"weights: expected positive numbers, got {m.min()} at index {int(m.argmin())}")
        if x.shape[0] < 2 or x.shape[1] < 2 or np.abs(np.linalg.norm(x, axis=1) - 1.0).max() > gamma(x.shape[1] + 8):
            raise ValueError("points: expected at least two unit vectors in at least two dimensions, got others")
        missing = shortfall(x)
        nearest = float(min([missing[i, j] for i in range(2, len(x)) for j in range(i)], default=math.inf))
        if not 0.0 < missing[0, 1] < min(nearest, 2.0):
            raise ValueError("points: expected the first two to be the one closest pair, got another")
        object.__setattr__(self, "points", frozen(x))
        object.__setattr__(self, "weights", frozen(m))
        object.__setattr__(self, "beta", beta)
        object.__setattr__(self, "missing", float(missing[0, 1]))
        object.__setattr__(self, "gap", nearest - float(missing[0, 1]))
        others = (np.arange(len(x)) >= 2)[:, np.newaxis]
        object.__setattr__(self, "_itself", np.eye(len(x), dtype=bool))
        object.__setattr__(self, "_shift", beta * self.gap * others if others.any() else None)

    @property
    def angle(self) -> float:
        """Angle of the pair in radians."""
        return _angle(self.points)

    @property
    def start(self) -> Array:
        """State: the pair, scaled displacements of the others, and a row with the running and the frozen clock."""
        k, d = self.points.shape
        state = np.zeros((k + 1, d))
        state[:2] = self.points[:2]
        return state

    def positions(self, state: Array) -> Array:
        """Return the clusters, shape (K, d)."""
        x = state[:-1].copy()
        x[2:] *= math.exp(-self.beta * self.gap)
        x[2:] += self.points[2:]
        return x

    def velocities(self, x: Array) -> Array:
        r"""Return velocities per running clock, those of the others times :math:`e^{\beta g}`; shape (K, d).

        Enclosed if the clusters are.
        """
        missing = shortfall(x)
        far = np.exp(-self.beta * missing)
        lead = -self.beta * (missing - missing[0, 1])
        if self._shift is not None:
            lead = lead + self._shift
        # what a cluster feels of itself is normal
        attention = self.weights * np.where(self._itself, 0.0, np.exp(np.where(self._itself, 0.0, lead)))
        attention = attention / (far @ self.weights)[:, np.newaxis]
        # the projection of y at x is y - x + (1 - <x, y>) x, without cancellation
        slack = (attention * missing).sum(axis=1) - attention.sum(axis=1)
        moved: Array = attention @ x + slack[:, np.newaxis] * x
        return moved

    def __call__(self, state: Array, /) -> Array:
        r"""Return the derivative of the state by :math:`\ell`."""
        x = self.positions(state)
        moved = self.velocities(x)
        apart = x[0] - x[1]
        square = float(apart @ apart)
        sine = math.sqrt(square * (1.0 - square / 4.0))
        closing = -float(apart @ (moved[0] - moved[1])) / sine  # of the angle, per running clock
        if not closing > 0.0:
            raise ArithmeticError("points: expected a pair that approaches, got one that is pulled apart")
        derivative = np.zeros_like(state)
        derivative[:-1] = moved
        derivative[-1, :2] = 1.0, math.exp(self.beta * (square / 2.0 - self.missing))
        return derivative * (sine / closing)


@dataclass(frozen=True, slots=True, eq=False)
class Approach:
    r"""A pair at given angles; lists have an entry for each.

    ``running`` and ``frozen`` are the clocks, ``log_time`` is the logarithm of the time, ``others`` the largest
    distance that another cluster has travelled, ``first`` that of the first one, and ``energy`` is the interaction
    energy in units of its maximum, the sum of :math:`m_jm_ke^{-\beta(1 - \langle x_j, x_k\rangle)}` over all j, k.
    """

    pair: ClosestPair
    angles: Array
    trajectory: Trajectory

    @property
    def running(self) -> list[Interval]:
        """Of the angles: the running clock."""
        return self._seen(lambda state: float(state[-1, 0]))

    @property
    def frozen(self) -> list[Interval]:
        """Of the angles: the frozen clock."""
        return self._seen(lambda state: float(state[-1, 1]))

    @property
    def log_time(self) -> list[Interval]:
        """Of the angles: the logarithm of the time since the start."""
        reach = self.pair.beta * self.pair.missing
        return [_log(clock) + Interval.within(reach, 8 * U * reach) for clock in self.frozen]

    @property
    def others(self) -> list[Interval]:
        """Of the angles: the largest distance travelled outside the pair, zero without others."""
        least = math.exp(-self.pair.beta * self.pair.gap)
        size = Interval(least, math.nextafter(least, math.inf), Kind.NUMERIC)  # it may leave float64
        slack = 1.0 + Interval.within(0.0, gamma(8) * (1.0 + self.pair.beta))
        seen = self._seen(lambda state: float(np.linalg.norm(state[2:-1], axis=1).max(initial=0.0)))
        return [size * slack * one for one in seen]

    @property
    def first(self) -> list[Interval]:
        """Of the angles: the angle that the first cluster has travelled."""
        return self._seen(lambda state: _angle(np.stack([state[0], self.pair.points[0]])))

    @property
    def energy(self) -> list[Interval]:
        """Of the angles: the energy in units of its maximum."""
        return self._seen(
            lambda state: interaction_energy(self.pair.positions(state), self.pair.weights, self.pair.beta)
        )

    @property
    def slip(self) -> float:
        """Return how far a coordinate at the end may be off."""
        found = self.trajectory.states[-1][:-1]
        coarse = self.trajectory.coarse[-1][:-1]
        return 2.0 * float(np.abs(found - coarse).max()) + 4.0 * U * self.trajectory.evaluations

    def _seen(self, function: Callable[[Array], float]) -> list[Interval]:
        return self.trajectory.observe(function)[1:]


def follow_pair(points: ArrayLike, weights: ArrayLike, beta: float, angles: ArrayLike) -> Approach:
    """Follow the closest pair, the first two clusters, through decreasing angles.

    Parameters
    ----------
    points, weights, beta
        As for :class:`ClosestPair`.
    angles : array_like, shape (T,)
        In radians, decreasing, positive and below the angle of the pair.

    Raises
    ------
    ValueError
        As for :class:`ClosestPair`, or if the angles are others.
    ArithmeticError
        If the pair is pulled apart.
    """
    pair = ClosestPair(points, weights, beta)  # type: ignore[arg-type]  # it converts
    stops = as_vector(angles, "angles")
    levels = -np.log(np.tan(np.concatenate([[pair.angle], stops]) / 2.0)) if stops.min() > 0.0 else np.zeros(1)
    if stops.max() >= pair.angle or not (np.diff(levels) > 0.0).all() or levels.size < 2:
        raise ValueError(f"angles: expected decreasing ones between zero and {pair.angle}, got others")
    return Approach(pair, stops, flow(pair, pair.start, levels - levels[0]))


def follow_coarsening(
    points: ArrayLike, weights: ArrayLike, beta: float, stops: Callable[[float], ArrayLike]
) -> Iterator[Approach]:
    r"""Yield the approaches of closest pairs, each joined at its end, until one cluster is left.

    Parameters
    ----------
    points, weights, beta
        As for :class:`ClosestPair`, in any order.
    stops : callable
        Where to look: from the exponent :math:`\beta(1 - \cos\varphi)` of a pair at the start of its stage to smaller
        ones, decreasing, shape (T,). The last angle of each approach is ``JOINED``.

    Raises
    ------
    ValueError
        As for :func:`follow_pair`.
    ArithmeticError
        If a pair is pulled apart, or the next one is about to meet when one is joined.
    """
    x = as_points(points, "points")
    m = as_masses(weights, "weights")
    beta = as_positive(beta, "beta")
    as_callable(stops, "stops")
    while len(x) > 1:
        missing = _apart(x)
        i, j = sorted(int(k) for k in np.unravel_index(int(missing.argmin()), missing.shape))
        order = [i, j, *(k for k in range(len(x)) if k not in (i, j))]
        x, m = x[order], m[order]
        exponents = as_vector(stops(beta * float(missing[i, j])), "stops")
        found = follow_pair(x, m, beta, np.append(2.0 * np.arcsin(np.sqrt(exponents / (2.0 * beta))), JOINED))
        yield found
        x = found.pair.positions(found.trajectory.last)
        x = np.vstack([m[:2] @ x[:2], x[2:]])
        m = np.append(m[0] + m[1], m[2:])
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        if len(x) > 1 and not beta * _apart(x).min() > 1.0:
            raise ArithmeticError("points: expected pairs that meet one after the other, got two at once")


def interaction_energy(points: Array, weights: Array, beta: float) -> float:
    """Return the interaction energy of clusters in units of its maximum."""
    return float(weights @ np.exp(-beta * shortfall(points)) @ weights)


def shortfall(x: Array) -> Array:
    """Return what overlaps lack to one, by distances."""
    apart = x[:, np.newaxis] - x
    if is_enclosed(x):
        return (apart * apart).sum(axis=2) / 2.0  # type: ignore[no-any-return]
    lacking: Array = np.einsum("ijk,ijk->ij", apart, apart) / 2.0
    return lacking


def _angle(x: Array) -> float:
    return 2.0 * math.asin(min(1.0, float(np.linalg.norm(x[0] - x[1])) / 2.0))


def _log(value: Interval) -> Interval:
    if not value.lo > 0.0:
        return Interval.unknown(value.kind)
    low, high = math.log(value.lo), math.log(value.hi)
    slack = 4 * math.ulp(max(abs(low), abs(high), 1.0))
    return Interval(low - slack, high + slack, value.kind)


def _apart(x: Array) -> Array:
    """Return what overlaps lack to one, infinite for a cluster and itself."""
    lacking: Array = shortfall(x) + np.diag(np.full(len(x), np.inf))
    return lacking
