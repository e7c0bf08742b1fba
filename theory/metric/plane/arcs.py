r"""The law of the two moons, and what attention does to all of it: a layer, its first order, and the semigroup.

A point is on one of two half circles, at a uniform angle, plus Gaussian noise: by quadrature in the angle a mixture of
Gaussians to rounding, so that density and slope are known. (Drawn sets have equally spaced angles, which n points of a
moon turn into this law as n grows.) With the map G of :mod:`theory.metric.plane.chart`,

.. math:: P_\varepsilon h(x) = \frac{\int e^{-|G(x) - G(y)|^2/2\varepsilon}h(y)p(y)\,dy}
    {\int e^{-|G(x) - G(y)|^2/2\varepsilon}p(y)\,dy}, \qquad
    \frac{P_\varepsilon h - h}{\varepsilon} \to \tfrac12Lh, \quad
    Lh = \Delta_Mh + 2\langle\nabla_M\log p_M, \nabla_Mh\rangle_M ,

with :math:`M = J^\top J` and :math:`p_M = p/\sqrt{\det M}`. Tokens are affine in the points, so a layer is known from
what it does to the points: h is the identity of the plane.

References
----------
T. Ruan and S. Zhang, arXiv:2412.18288, theorem 3; L. Trefethen and J. Weideman, *The exponentially convergent
trapezoidal rule*, SIAM Review 56 (2014), 385-458.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_instance, as_points, as_positive, frozen
from theory.evidence import Interval, Kind
from theory.evidence.roundoff import gamma
from theory.metric.plane.chart import Chart

Array = NDArray[np.float64]
NODES = 56  # of each half circle; measured: 3e-13 of the density for noise of 0.2 where there are points
_STEP = 0.7  # taken: of a Gaussian of size one; the error of the rule is 1e-17
_DEEP = 48.0  # taken: minus the logarithm of the weight that is left out, 1e-21
_LEAF, _PART = 8, 4_000  # steps along the smallest squares; squares at a time, for memory
_NARROWEST = 1e-100  # taken: of the noise, and its inverse
_FINEST = 1e-20  # taken: of the bandwidth
_OFF = 1e-9  # taken: by how much an exponent of the density may be off
_SPAN = 8.0  # taken: how many standard deviations of the noise a point is from the moons, at most
_AGREED, _ROUNDS = 1e-9, 12  # taken: of the width of the weights, change between two lattices; lattices that are tried


@dataclass(frozen=True, slots=True)
class MoonsLaw:
    """The law of the two moons.

    Parameters
    ----------
    noise : float, default 0.2
        Standard deviation, positive.

    Raises
    ------
    ValueError
        If ``noise`` is not positive.
    """

    noise: float = 0.2
    centres: Array = field(init=False)
    masses: Array = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", as_positive(self.noise, "noise"))
        if not _NARROWEST < self.noise < 1.0 / _NARROWEST:
            raise ValueError(
                f"noise: expected a number between {_NARROWEST:g} and {1.0 / _NARROWEST:g}, got {self.noise}"
            )
        nodes, masses = np.polynomial.legendre.leggauss(NODES)
        t = 0.5 * np.pi * (nodes + 1.0)
        upper = np.stack([np.cos(t), np.sin(t)], axis=1)
        lower = np.stack([1.0 - np.cos(t), 0.5 - np.sin(t)], axis=1)
        object.__setattr__(self, "centres", frozen(np.concatenate([upper, lower])))
        object.__setattr__(self, "masses", frozen(np.tile(masses / 4.0, 2)))

    def density(self, x: ArrayLike) -> Array:
        """Return p at points (n, 2), per unit of area."""
        y = as_points(x, "x", dim=2)
        scale = self.noise**-2
        reach = float(np.abs(y).max()) + 2.0
        if not gamma(16) * scale * reach * reach < _OFF:  # the exponent, taken apart below, would be off by more
            return np.asarray(self._parts(y)[1].sum(axis=1))
        shift = np.log(self.masses * scale / (2.0 * np.pi)) - 0.5 * scale * np.square(self.centres).sum(axis=1)
        exponent = (scale * y) @ self.centres.T
        exponent += shift - 0.5 * scale * np.einsum("ni,ni->n", y, y)[:, np.newaxis]
        return np.asarray(np.exp(exponent, out=exponent).sum(axis=1))

    def slope(self, x: ArrayLike) -> Array:
        r"""Return :math:`\nabla\log p`, (n, 2)."""
        return self._slope(*self._parts(as_points(x, "x", dim=2)))

    def across(self, x: ArrayLike) -> Array:
        """Return the unit vectors along which the odds of the two classes change most, (n, 2)."""
        steps, parts = self._parts(as_points(x, "x", dim=2))
        direction = self._slope(steps[:, NODES:], parts[:, NODES:]) - self._slope(steps[:, :NODES], parts[:, :NODES])
        return np.asarray(direction / np.linalg.norm(direction, axis=1, keepdims=True))

    def odds(self, x: ArrayLike) -> Array:
        """Return the probability, (n,), that a point at x is on the lower moon."""
        parts = self._parts(as_points(x, "x", dim=2))[1]
        return np.asarray(parts[:, NODES:].sum(axis=1) / _validate_density(parts.sum(axis=1)))

    @property
    def box(self) -> Array:
        """Corners of the rectangle within three standard deviations of the moons, (2, 2)."""
        return np.array([[-1.0, -0.5], [2.0, 1.0]]) + 3.0 * self.noise * np.array([[-1.0], [1.0]])

    def _parts(self, x: Array) -> tuple[Array, Array]:
        steps = self.centres - x[:, np.newaxis]
        with np.errstate(over="ignore"):  # the density vanishes there
            square = np.einsum("nki,nki->nk", steps, steps)
        return steps, self.masses * np.exp(-0.5 * square / self.noise**2) / (2.0 * np.pi * self.noise**2)

    def _slope(self, steps: Array, parts: Array) -> Array:
        total = _validate_density(parts.sum(axis=1, keepdims=True))
        return np.asarray(np.einsum("nk,nki->ni", parts, steps) / total / self.noise**2)


def _validate_density(density: Array) -> Array:
    """Return a density that a quotient is taken by, or raise ``ValueError`` where it leaves float64."""
    if not density.min() > 0.0:
        raise ValueError("x: expected points so near the moons that float64 holds the density, got one where it is 0")
    return density


class Change(NamedTuple):
    """What a layer adds to each point, (n, 2), and how far that is from the truth, (n,)."""

    value: Array
    error: Array

    def intervals(self, axis: int) -> list[Interval]:
        """Return one coordinate."""
        pairs = zip(self.value[:, axis].tolist(), self.error.tolist(), strict=True)
        return [Interval.within(v, e, Kind.TREND) for v, e in pairs]


def layer_change(chart: Chart, law: MoonsLaw, x: ArrayLike, epsilon: float) -> Change:
    r"""Return :math:`P_\varepsilon h - h` at points (n, 2) for h the identity, by the trapezoidal rule.

    On a lattice of the whole plane, of which squares are left out where the features are certainly too far for a
    weight above :math:`e^{-48}`. It is refined until the rules on it and on the lattice in its gaps agree; their
    difference, and rounding, are the error.

    Raises
    ------
    ValueError
        If ``epsilon`` is not positive, or too small for the stretch of the map.
    """
    points = as_points(x, "x", dim=2)
    epsilon = as_positive(epsilon, "epsilon")
    as_instance(chart, "chart", Chart)
    as_instance(law, "law", MoonsLaw)
    if not epsilon > _FINEST:
        raise ValueError(f"epsilon: expected more than {_FINEST:g}, got {epsilon}")
    size = epsilon**0.5
    stretch = np.linalg.norm(chart.jacobian(points), 2, axis=(1, 2))
    step = _STEP * np.minimum(size / stretch, law.noise)
    value = np.zeros_like(points)
    error = np.zeros(len(points))
    left = np.arange(len(points))
    for _ in range(_ROUNDS):
        (mass, first, slip), (other, second, _) = (
            _sums(chart, law, points[left], size, step[left], shift) for shift in (0.0, 0.5)
        )
        apart = np.linalg.norm(first - second, axis=1)
        value[left], error[left] = (first + second) / 2.0, apart + slip
        left = left[(apart > _AGREED * size / stretch[left]) | (abs(mass - other) > _AGREED * mass)]
        if not left.size:
            return Change(value, error)
        step[left] /= 1.4
    raise ValueError(
        f"epsilon: expected a bandwidth that a lattice resolves, got {epsilon} at {points[left[0]].tolist()}"
    )


class FirstOrder(NamedTuple):
    r"""What :math:`L` is made of at points, for h the identity, (n, 2) each, and a bound of the rounding, (n,).

    :math:`Lh` is ``laplace`` plus twice ``pull`` less twice ``volume``: :math:`\Delta_Mh`,
    :math:`M^{-1}\nabla\log p` and :math:`M^{-1}\nabla\log\sqrt{\det M}`.
    """

    laplace: Array
    pull: Array
    volume: Array
    error: Array


def first_order(chart: Chart, law: MoonsLaw, x: ArrayLike) -> FirstOrder:
    """Return the parts of the operator that a layer tends to, at points (n, 2)."""
    points = as_points(x, "x", dim=2)
    as_instance(chart, "chart", Chart)
    as_instance(law, "law", MoonsLaw)
    jacobian = chart.jacobian(points)
    hessian = chart.hessian(points)
    metric = jacobian.swapaxes(1, 2) @ jacobian
    inverse = np.linalg.inv(metric)
    slope = law.slope(points)
    bent = np.einsum("naij,nak->nkij", hessian, jacobian, optimize=True)
    laplace = -np.einsum("nlk,nkij,nij->nl", inverse, bent, inverse, optimize=True)
    volume = np.einsum("nij,njik->nk", inverse, bent, optimize=True)
    small, large = np.linalg.eigvalsh(metric).T
    curved = np.abs(hessian).sum(axis=(1, 2, 3)) * np.sqrt(large) / small + np.linalg.norm(slope, axis=1)
    return FirstOrder(
        laplace,
        np.einsum("nlk,nk->nl", inverse, slope),
        np.einsum("nlk,nk->nl", inverse, volume),
        gamma(512) * large / small * curved / small,
    )


def _sums(
    chart: Chart, law: MoonsLaw, points: Array, size: float, step: Array, shift: float
) -> tuple[Array, Array, Array]:
    """Return the masses of the weights on lattices around points, their mean steps, and a bound of the rounding."""
    which, corner = _squares(chart, law, points, size, step)
    ticks = np.stack(np.meshgrid(np.arange(_LEAF), np.arange(_LEAF), indexing="ij"), axis=-1).reshape(-1, 2) + shift
    totals = np.zeros((4, len(points)))
    for part in range(0, len(which), _PART):
        of = np.repeat(which[part : part + _PART], len(ticks))
        steps = (corner[part : part + _PART, np.newaxis] + ticks).reshape(-1, 2) * step[of, np.newaxis]
        apart = chart.differences(points[of], steps) / size
        exponent = 0.5 * np.einsum("na,na->n", apart, apart)
        kept = exponent < _DEEP
        of, steps, exponent = of[kept], steps[kept], exponent[kept]
        weights = np.exp(-exponent) * law.density(points[of] + steps)
        slips = weights * gamma(8192) * (1.0 + exponent) * np.linalg.norm(steps, axis=1)  # the density: 1e-12
        for k, summand in enumerate((weights, weights * steps[:, 0], weights * steps[:, 1], slips)):
            totals[k] += np.bincount(of, summand, len(points))
    return totals[0] * step**2, (totals[1:3] / totals[0]).T, totals[3] / totals[0]


def _squares(chart: Chart, law: MoonsLaw, points: Array, size: float, step: Array) -> tuple[NDArray[np.int64], Array]:
    """Return squares of the lattices that may have weight, as numbers of points and lower left corners in steps."""
    farthest = _SPAN * law.noise + np.abs(law.centres - points[:, np.newaxis]).max(axis=(1, 2))
    levels = max(0, int(np.ceil(np.log2((farthest / step).max() / _LEAF))))
    side = _LEAF * 2**levels  # of the square around a quarter of the plane, in steps
    which = np.arange(len(points))
    corner = np.full((len(points), 2), -float(side))
    quarters = np.array([(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)])
    for _ in range(levels + 1):
        which = np.repeat(which, 4)
        corner = (corner[:, np.newaxis] + side * quarters).reshape(-1, 2)
        width = step[which]
        steps = (corner + side / 2.0) * width[:, np.newaxis]
        half = np.repeat((side / 2.0 + 1.0) * width, 2).reshape(-1, 2)
        apart = chart.differences(points[which], steps)
        length = np.linalg.norm(apart, axis=1)
        unit = apart / np.maximum(length, 1e-300)[:, np.newaxis]
        there = points[which] + steps
        seen = np.abs(np.einsum("na,nak->nk", unit, chart.jacobian(there)))
        beyond = np.abs(unit @ chart.features.outer.T) * chart.bound_hidden_changes(there, half)[1]
        near = length - np.einsum("nk,nk->n", seen, half) - beyond.sum(axis=1) < size * (2.0 * _DEEP) ** 0.5
        near &= (np.abs(steps) - half < farthest[which, np.newaxis]).all(axis=1)
        which = which[near]
        corner = corner[near]
        side = side // 2
    return which, corner
