"""Noisy attention: branches of equilibria, least free energies that were found, and certificates."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from theory.evidence import Interval, Kind, Table, first_best, stream
from theory.evidence.enclosure import hull, precision
from theory.particles.mean_field.free_energy import (
    Equilibrium,
    FreeEnergyParts,
    ZonalFreeEnergy,
    enclose_free_energy,
    threshold,
)

BETAS = (1.0, 2.0, 2.4, 2.5, 3.0, 4.0)
FACTORS = (0.98, 1.0, 1.02)
SMALL = tuple(2.0**-k for k in range(1, 6))
OTHERS = ((3, 1.0), (3, 1.7), (3, 2.0), (4, 1.0), (4, 2.0))  # dimension and beta, where only small parts are looked at
_FIELDS = {"quick": np.geomspace(0.05, 4.0, 48), "paper": np.geomspace(0.02, 4.0, 120)}
_CERTIFIED = 16  # coefficients of the potential that a certificate is made of
_PLACES = 2.0**20  # of a witness: of a free energy that is least at it, 1e-13 is given up
_LEVELS = 2.0**30  # of the strength above a crossing at which its density is judged
_SAFETY = 2.0  # taken, as for trajectories


def noisy(*, scale: str, root: int) -> Table:
    r"""Return equilibria, searches and certificates; K is in units of the threshold :math:`K_\#` of each ``beta``.

    ``part`` is ``branch`` or ``small`` for the equilibrium whose logarithm has the coefficient ``field`` of the first
    harmonic: ``strength`` is its K, ``order`` its order parameter, ``value`` its :math:`F_K(\rho) - F_K(1)`. It is
    ``search`` for the least value that five descents found, uniform law included; ``certified`` for the enclosed
    value of one density; ``crossing`` for an equilibrium with the free energy of the uniform law, where ``strength``
    encloses the K at which the density has it.
    """
    rows: list[tuple[str, int, float, float, Interval, Interval, Interval]] = []
    rng = stream("noisy", 0, root=root)
    with precision():
        for beta in BETAS:
            unit = hull(threshold(beta))
            sphere = ZonalFreeEnergy(beta)
            rows += [_point("branch", sphere, unit, float(field)) for field in _FIELDS[scale]]
            for factor in FACTORS:
                rows.append(_searched(sphere, factor, unit, rng))
                found = _outer(sphere, _above(factor * unit.mid))
                if found is not None and found.excess < 0.0:
                    field, balls = _witness(sphere, found)
                    strength = Interval.exactly(factor * unit.mid) / unit
                    value = balls.excess(factor * unit.mid)
                    rows.append(("certified", 2, beta, field, strength, hull(balls.order), value))
        for dim, beta in ((2, 2.5), (2, 3.0), (2, 4.0), (3, 2.0), (4, 2.0)):
            sphere = ZonalFreeEnergy(beta, dim)
            unit = hull(threshold(beta, dim=dim))
            found = _outer(sphere, lambda e: e.excess)
            if found is not None:
                field, balls = _witness(sphere, found)
                level = hull(balls.crossing())
                value = balls.excess(math.ceil(level.hi * _LEVELS) / _LEVELS)
                rows.append(("crossing", dim, beta, field, level / unit, hull(balls.order), value))
        for dim, beta in (*((2, b) for b in BETAS), *OTHERS):
            sphere = ZonalFreeEnergy(beta, dim)
            unit = hull(threshold(beta, dim=dim))
            rows += [_point("small", sphere, unit, field) for field in SMALL]
    names = ("part", "dim", "beta", "field", "strength", "order", "value")
    return Table(Kind.NUMERIC, dict.fromkeys(names, "1"), dict(zip(names, zip(*rows, strict=True), strict=True)))


def _above(strength: float) -> Callable[[Equilibrium], float]:
    return lambda e: e.strength - strength


def _witness(sphere: ZonalFreeEnergy, found: Equilibrium) -> tuple[float, FreeEnergyParts]:
    """Enclose the density of the rounded coefficients; the first of them comes along."""
    potential = _rounded(found)
    return float(potential[0]), enclose_free_energy(sphere.beta, potential, dim=sphere.dim)


def _rounded(found: Equilibrium) -> NDArray[np.float64]:
    """Round all coefficients to the same place: small ones have no digit that another machine would find again."""
    places: NDArray[np.float64] = np.round(found.potential[:_CERTIFIED] * _PLACES) / _PLACES
    return places


@cache
def _coarse(beta: float, dim: int) -> ZonalFreeEnergy:
    return ZonalFreeEnergy(beta, dim, nodes=96, degrees=28)


def _point(
    part: str, sphere: ZonalFreeEnergy, unit: Interval, field: float
) -> tuple[str, int, float, float, Interval, Interval, Interval]:
    """Follow the branch to one field, on two rules: twice their difference and the error on the finer are the width."""
    fine = sphere.branch(field)
    coarse = _coarse(sphere.beta, sphere.dim).branch(field)
    slack = sphere.slack(fine)
    order = _both(float(fine.overlaps[0]), float(coarse.overlaps[0]), slack.order)
    strength = _both(fine.strength, coarse.strength, slack.strength) / unit
    value = _both(fine.excess, coarse.excess, slack.excess)
    return part, sphere.dim, sphere.beta, field, strength, order, value


def _both(fine: float, coarse: float, slack: float) -> Interval:
    return Interval.within(fine, _SAFETY * (abs(fine - coarse) + slack))


def _searched(
    sphere: ZonalFreeEnergy, factor: float, unit: Interval, rng: np.random.Generator
) -> tuple[str, int, float, float, Interval, Interval, Interval]:
    """Descend from five densities, and keep the lowest that was seen, the uniform law among them."""
    starts = np.zeros((5, sphere.degrees))
    starts[0, 0], starts[1, 0], starts[2, 0], starts[3, 1] = 0.1, 1.0, 4.0, 2.0
    starts[4, :8] = rng.normal(size=8)
    strength = factor * unit.mid
    nothing = Interval.exactly(0.0)
    seen = [sphere.descend(strength, start) for start in starts]
    least = first_best([0.0, *(-each.excess for each in seen)])
    order, value = nothing, nothing  # of the uniform law
    if least > 0 and _rounded(seen[least - 1]).any():
        _, balls = _witness(sphere, seen[least - 1])
        order = hull(balls.order)
        value = balls.excess(strength)
    return "search", 2, sphere.beta, 0.0, Interval.exactly(strength) / unit, order, value


@cache
def _scanned(beta: float, dim: int) -> tuple[Equilibrium, ...]:
    """Return the equilibria of a list of fields, from large to small."""
    sphere = ZonalFreeEnergy(beta, dim)
    return tuple(sphere.branch(float(field)) for field in np.geomspace(0.05, 12.0, 32)[::-1])


def _outer(sphere: ZonalFreeEnergy, level: Callable[[Equilibrium], float]) -> Equilibrium | None:
    """Return the equilibrium of the largest field at which ``level`` changes its sign, if it does."""
    scanned = _scanned(sphere.beta, sphere.dim)
    for above, below in itertools.pairwise(scanned):
        if (level(above) < 0.0) != (level(below) < 0.0):
            ends = float(below.potential[0]), float(above.potential[0])
            field = optimize.brentq(lambda x: level(sphere.branch(x)), *ends, xtol=1e-13)
            return sphere.branch(float(field))
    return None
