r"""The free energy of noisy attention on the sphere, its equilibria, and bounds that hold.

Tokens with :math:`dX_i = 2K\,\mathsf P^\perp\frac1n\sum_j e^{\beta\langle X_i, X_j\rangle}X_j\,dt + \sqrt2\,dB_i` have
a law :math:`\rho\sigma`, with :math:`\sigma` uniform on :math:`S^{d-1}`, that descends

.. math:: F_K(\rho) = \int\rho\log\rho\,d\sigma - K\iint W(\langle x, y\rangle)\,\rho\rho\,d\sigma d\sigma, \qquad
          W(u) = \frac{e^{\beta u} - 1}\beta .

For a density of :math:`u = \langle x, e\rangle` alone let :math:`P_l` be as in ``zonal``,
:math:`N_l = 1/\langle P_l^2\rangle`, :math:`a_l = \langle\rho P_l\rangle` and :math:`W_l = \langle WP_l\rangle`. Then
:math:`F_K(\rho) - F_K(1) = \langle\rho\log\rho\rangle - K\sum_{l\ge1}N_lW_la_l^2`, and equilibria solve
:math:`\log\rho = 2K\sum_l N_lW_la_lP_l + c`. To prescribe the coefficient of :math:`P_1` in the logarithm, and to
solve for :math:`K`, follows a branch around its folds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from theory._validate import as_count, as_positive, as_vector
from theory.evidence import Interval, ball
from theory.evidence.enclosure import balls, bits_in_force, hull, precision
from theory.evidence.roundoff import EXP_ULPS, U, gamma
from theory.particles.mean_field.zonal import expand_zonal, integrate_weights, zonal_means, zonal_polynomials

Array = NDArray[np.float64]
_SETTLED = 1e-14  # taken: change of the overlaps at which an iteration ends
_STEPS = 1000


class Equilibrium(NamedTuple):
    r"""A density on the sphere that solves the equation of equilibrium, up to rounding if it is ``settled``."""

    strength: float
    """K"""
    potential: Array
    """coefficients of the logarithm of the density, from degree one on"""
    overlaps: Array
    r""":math:`a_l` of this density, from degree one on; the first is the order parameter"""
    excess: float
    r""":math:`F_K(\rho) - F_K(1)` of this density, settled or not"""
    settled: bool


class Slack(NamedTuple):
    """How far a point of a branch may lie from the equilibrium that the rule defines, to first order."""

    strength: float
    order: float
    excess: float


@dataclass(frozen=True, eq=False)
class ZonalFreeEnergy:
    """Zonal densities on the sphere, on the nodes of a Gauss rule.

    Parameters
    ----------
    beta : float
        Inverse temperature of the interaction, positive.
    dim : int, default 2
        d of the sphere in d dimensions, at least two.
    nodes, degrees : int
        Nodes of the rule, and degrees that are kept: the rest of the interaction is left out, which is below rounding
        up to beta about 15 and no longer at 50.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """

    beta: float
    dim: int = 2
    nodes: int = 128
    degrees: int = 32

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", as_positive(self.beta, "beta"))
        for name, least in (("dim", 2), ("nodes", 1), ("degrees", 1)):
            object.__setattr__(self, name, as_count(getattr(self, name), name, least=least))
        if not 2 <= self.degrees < self.nodes:
            raise ValueError(f"degrees: expected 2 <= degrees < nodes, got {self.degrees} and {self.nodes}")

    @cached_property
    def _rule(self) -> tuple[Array, Array]:
        if self.dim == 2:
            return np.cos((np.arange(self.nodes) + 0.5) * np.pi / self.nodes), np.full(self.nodes, 1.0 / self.nodes)
        cosines, masses = special.roots_gegenbauer(self.nodes, 0.5 * self.dim - 1.0)
        return cosines, masses / masses.sum()

    @cached_property
    def _harmonics(self) -> Array:
        return np.stack(zonal_polynomials(self._rule[0], self.degrees, self.dim)[1:])

    @cached_property
    def weights(self) -> Array:
        """:math:`N_l W_l` from degree one on."""
        cosines, masses = self._rule
        kernel = np.expm1(self.beta * cosines) / self.beta
        return np.asarray((self._harmonics @ (masses * kernel)) / (self._harmonics**2 @ masses))

    def branch(self, field: float) -> Equilibrium:
        """Return the equilibrium of which the logarithm has the coefficient ``field`` of the first harmonic, and its K.

        Raises
        ------
        ValueError
            If ``field`` is not positive.
        """
        first = as_positive(field, "field")
        start = np.zeros(self.degrees)
        start[0] = first
        potential, overlaps, entropy, settled = self._settle(
            start, lambda a: first * self.weights * a / (self.weights[0] * a[0])
        )
        strength = float(first / (2.0 * self.weights[0] * overlaps[0]))
        return self._found(strength, potential, overlaps, entropy, settled)

    def slack(self, found: Equilibrium) -> Slack:
        r"""Bound the error of what :meth:`branch` found: where its iteration ended, and the rounding of every sum.

        The overlaps solve :math:`a = A(a)`, where A goes through the potential :math:`\kappa_1W_la_l/W_1a_1`. If one
        more evaluation moves them by r, and rounding moves an evaluation by :math:`\eta`, they are off by at most
        :math:`|(1 - DA)^{-1}|(r + \eta)` and by terms of second order. Near a threshold the inverse is large.

        Parameters
        ----------
        found : Equilibrium
            What :meth:`branch` of this sphere returned.
        """
        kappa = found.potential
        a = found.overlaps
        w = self.weights
        masses = self._rule[1]
        degrees = np.arange(1, self.degrees + 1)
        uneven = 16.0 * U * degrees**2  # of a harmonic, by its recurrence and by the rounding of its node
        logs = kappa @ self._harmonics
        size = float(np.abs(kappa).sum())
        relative = gamma(self.degrees + 2) * size + float(np.abs(kappa) @ uneven) + (4.0 * size + 2 * EXP_ULPS + 4) * U
        noise = 2.0 * relative + gamma(self.nodes + 4) + uneven
        moment = 1.0 / (self._harmonics**2 @ masses)
        kernel = float(masses @ np.abs(np.expm1(self.beta * self._rule[0]))) / self.beta
        kernel_off = gamma(self.nodes + 16) + (2.0 * self.beta + 2 * EXP_ULPS) * U
        off = moment * kernel * (kernel_off + 2.0 * uneven)  # of the weights
        share = kappa[0] / (w[0] * a[0])
        turned = abs(share) * np.abs(a) * (off + w * off[0] / w[0])
        turned[0] = 0.0  # the first coefficient is prescribed
        density = masses * np.exp(logs - logs.max())
        spread = (self._harmonics * (density / density.sum())) @ self._harmonics.T - np.outer(a, a)
        follow = np.diag(share * w)
        follow[:, 0] -= share * w * a / a[0]
        again = self._overlaps(share * w * a)
        inverse = np.abs(np.linalg.inv(np.eye(self.degrees) - spread @ follow))
        apart = inverse @ (np.abs(again - a) + noise + np.abs(spread) @ turned)
        order = float(apart[0])
        strength = found.strength * (order / abs(float(a[0])) + float(off[0] / w[0]) + 4.0 * U)
        paired = float(w @ a**2)
        excess = relative + gamma(self.nodes + 4) + gamma(self.degrees + 8) * 4.0 * size
        excess += found.strength * (gamma(self.degrees + 8) * paired + float(off @ a**2)) + strength * paired
        excess += float(np.abs(kappa - 2.0 * found.strength * w * a) @ apart)
        return Slack(strength, order, excess)

    def descend(self, strength: float, start: ArrayLike) -> Equilibrium:
        """Iterate the equation of equilibrium at fixed K; the free energy never grows on the way.

        Parameters
        ----------
        strength : float
            K, positive.
        start : array_like, shape (degrees,)
            Coefficients of the logarithm of the first density.

        Raises
        ------
        ValueError
            If an argument is not as above.
        """
        k = as_positive(strength, "strength")
        potential = as_vector(start, "start", size=self.degrees)
        return self._found(k, *self._settle(potential, lambda a: 2.0 * k * self.weights * a))

    def _found(self, k: float, potential: Array, overlaps: Array, entropy: float, settled: bool) -> Equilibrium:
        return Equilibrium(k, potential, overlaps, entropy - k * float(self.weights @ overlaps**2), settled)

    def _overlaps(self, potential: Array) -> Array:
        logs = potential @ self._harmonics
        density = self._rule[1] * np.exp(logs - logs.max())
        found: Array = self._harmonics @ (density / density.sum())
        return found

    def _settle(self, potential: Array, follow: Callable[[Array], Array]) -> tuple[Array, Array, float, bool]:
        masses = self._rule[1]
        harmonics = self._harmonics
        before = np.full(potential.size, np.inf)
        step = 0
        change = math.inf
        while True:
            logs = potential @ harmonics
            top = float(logs.max())
            density = masses * np.exp(logs - top)
            total = float(density.sum())
            overlaps = harmonics @ (density / total)
            change = float(np.abs(overlaps - before).max())
            before = overlaps
            step = step + 1
            if change <= _SETTLED or step == _STEPS:
                entropy = float(potential @ overlaps) - top - math.log(total)
                return potential, overlaps, entropy, change <= _SETTLED
            potential = follow(overlaps)


class FreeEnergyParts(NamedTuple):
    """Balls that belong to one density: what its free energy is made of."""

    entropy: Any
    r""":math:`\int\rho\log\rho\,d\sigma`"""
    interaction: Any
    r""":math:`\iint W\rho\rho - \iint W`"""
    order: Any
    r""":math:`\langle\rho P_1\rangle`"""

    def excess(self, strength: Any) -> Interval:
        r"""Enclose :math:`F_K(\rho) - F_K(1)`; ``strength`` is K, a number or a ball."""
        k = strength if hasattr(strength, "is_finite") else ball(strength)
        return hull(self.entropy - k * self.interaction)

    def crossing(self) -> Any:
        r"""Enclose the K at which :math:`F_K(\rho) = F_K(1)`; above, the uniform law is no minimiser. A ball."""
        return self.entropy / self.interaction


def couplings(beta: float, degree: int, *, dim: int = 2) -> list[Any]:
    r"""Enclose :math:`W_l` for every degree up to ``degree``; balls."""
    strength = as_positive(beta, "beta")
    highest = as_count(degree, "degree", least=0)
    return list(_couplings(strength, highest, as_count(dim, "dim", least=2), bits_in_force()))


@cache
def _couplings(beta: float, degree: int, dim: int, bits: int) -> list[Any]:
    b = ball(beta)
    with precision(bits):
        return zonal_means(lambda u: ((b * u).exp() - 1) / b, degree, dim=dim)


def threshold(beta: float, *, dim: int = 2) -> Any:
    r"""Enclose the K at which :math:`\partial_s^2F_K(1 + sP_1) = \langle P_1^2\rangle(1 - 2KW_1)` vanishes; a ball."""
    return 1 / (2 * couplings(beta, 1, dim=dim)[1])


def enclose_free_energy(beta: float, potential: ArrayLike, *, dim: int = 2, degrees: int = 24) -> FreeEnergyParts:
    r"""Enclose the parts of the free energy of the density :math:`\propto\exp\sum_{l\ge1}\kappa_lP_l`.

    The density is the one with exactly these coefficients, an equilibrium or not, so a negative excess is a
    certificate. The interaction beyond ``degrees`` lies between zero and :math:`W_{l+1}` times what those degrees leave
    of :math:`\langle\rho^2\rangle = 1 + \sum_lN_la_l^2`, since the :math:`W_l` are positive and decrease.

    Parameters
    ----------
    beta : float
        Positive.
    potential : array_like, shape (k,)
        :math:`\kappa_l` from degree one on, at most ``degrees`` of them.
    dim : int, default 2
    degrees : int, default 24
        Overlaps that are integrated one by one.

    Raises
    ------
    ValueError
        If an argument is not as above.
    """
    kappa = balls(as_vector(potential, "potential"))
    degrees, dim = as_count(degrees, "degrees"), as_count(dim, "dim", least=2)
    if not kappa.size <= degrees:
        raise ValueError(f"degrees: expected at least the {kappa.size} degrees of the potential, got {degrees}")
    logs = expand_zonal(kappa.tolist(), dim=dim)
    masses = integrate_weights([[log.exp() for log in pair] for pair in logs], degrees, dim=dim)
    overlaps = [mass / masses[0] for mass in masses[1:]]
    waves = couplings(beta, degrees + 1, dim=dim)
    sizes = [2 if dim == 2 else _multiplicity(ell, dim) for ell in range(1, degrees + 1)]
    squares = [n * a * a for n, a in zip(sizes, overlaps, strict=True)]
    interaction = sum((w * square for w, square in zip(waves[1:-1], squares, strict=True)), masses[0] * 0)
    rest = (
        integrate_weights([[(2 * log).exp() for log in pair] for pair in logs], 0, dim=dim)[0] / masses[0] ** 2
        - 1
        - sum(squares, masses[0] * 0)
    )
    entropy = sum((k * a for k, a in zip(kappa, overlaps, strict=False)), -masses[0].log())
    return FreeEnergyParts(entropy, interaction + (waves[-1] * rest).union(masses[0] * 0), overlaps[0])


def _multiplicity(degree: int, dim: int) -> int:
    """Return how many harmonics of this degree are orthogonal to each other."""
    return math.comb(degree + dim - 1, dim - 1) - math.comb(degree + dim - 3, dim - 1)
