r"""What is computed of a density, widened by all that may be off.

*Closed forms.* A Cholesky factor is exact for a matrix off by :math:`(d + 1)du` relative to its norm, and so are the
solutions with it, so a Mahalanobis square is off by that times the condition number. Every term of the logarithm of the
peak :math:`P` is a logarithm of a few roundings, or a gamma function within 16 units in the last place.

*On cells.* A base :math:`1 + e(f - N)`, :math:`e = \alpha - 1`, is off by a few roundings of its terms, and a density
:math:`p` by :math:`p^{2-\alpha}/|e|` times that. The mass falls in the normaliser, which therefore lies
between two numbers at which the mass is certainly above and below 1.

*Escort.* A weight :math:`q = p^{2-\alpha}` is off by :math:`|2 - \alpha|p^{1-\alpha}` times what the density is, and a
covariance under it by the sum of these times the ranges of both statistics.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_vector
from theory.evidence import Interval, Intervals, Kind, ball, within
from theory.evidence.roundoff import EXP_ULPS, U, gamma
from theory.maxent.sparse.enclosed import slope_error

if TYPE_CHECKING:
    from theory.maxent.densities.beta_gaussian import BetaGaussian

Array = NDArray[np.float64]
_WIDENINGS = 30  # taken: how often a bracket of the normaliser may be doubled


@dataclass(frozen=True, slots=True)
class EnclosedBetaGaussian:
    """A beta-Gaussian whose numbers are enclosed; see :meth:`theory.maxent.BetaGaussian.enclosed`.

    Parameters
    ----------
    law : BetaGaussian
        Of exactly known mean, scatter and order.
    """

    law: BetaGaussian

    @property
    def form_error(self) -> float:
        """Bound on the relative error of a Mahalanobis square."""
        d = self.law.dim
        return 8 * d * (d + 1) * float(np.linalg.cond(self.law.scatter)) * U

    @property
    def peak_error(self) -> float:
        """Bound on the relative error of the peak."""
        d = self.law.dim
        e = self.law.alpha - 1.0
        b = 1.0 / abs(e) if e else 1.0
        own = 2.0 + abs(math.log(b)) + math.log1p(b + d) + float(np.abs(np.log(np.diag(self.law.scatter))).max())
        rounding = (EXP_ULPS + 8) * U * (d * own + abs(self.law.log_peak)) + 64 * U
        return (0.5 * d * self.form_error + rounding) / (1.0 + 0.5 * e * d)

    @property
    def radius(self) -> Interval:
        """The Mahalanobis radius of the support, of orders above one."""
        e = self.law.alpha - 1.0
        return Interval.within(self.law.radius, self.law.radius * (0.5 * e * self.peak_error + 8 * U))

    def density(self, x: ArrayLike) -> Interval:
        """Enclose the density at one point, shape (d,): its base, its power and its peak are all rounded."""
        point = as_vector(x, "x", size=self.law.dim)
        p = float(self.law.density(point))
        score = float(self.law._score(point[np.newaxis])[0])  # noqa: SLF001  of the same room
        e = self.law.alpha - 1.0
        rise, form = self.peak_error, self.form_error
        if e == 0.0:
            return Interval.within(p, p * (rise + (form + 8 * U) * abs(score) + 16 * U))
        way = e * score * math.exp(-e * self.law.log_peak)
        slip = abs(way) * (form + abs(e) * rise + 8 * U) + 4 * U
        least = max(1.0 + way - math.copysign(slip, e), 0.0) ** (1.0 / e)
        most = max(1.0 + way + math.copysign(slip, e), 0.0) ** (1.0 / e)
        centre = max(1.0 + way, 0.0) ** (1.0 / e)
        wide = math.exp(self.law.log_peak) * max(most - centre, centre - least)
        return Interval.within(p, 2.0 * (wide + p * (rise + 64 * U * (1.0 + abs(math.log(p or 1.0))))))

    def covariance(self) -> Intervals:
        """Enclose the covariance, (d, d)."""
        found = self.law.covariance()
        e = self.law.alpha - 1.0
        d = self.law.dim
        relative = abs(e) * self.peak_error + 16 * U + 64 * U / (2.0 + e * (d + 2))
        enclosed: Intervals = within(found, np.abs(found) * relative)
        return enclosed

    def entropy(self) -> Interval:
        """Enclose the entropy."""
        value = self.law.entropy()
        e = self.law.alpha - 1.0
        d = self.law.dim
        log = self.law.log_peak
        error = 4.0 * (self.peak_error + EXP_ULPS * U * (1.0 + abs(log))) * (1.0 + math.exp(e * log))
        return Interval.within(value, error / self.law.alpha + 16 * U * (abs(value) + d / self.law.alpha))

    def escort(self) -> tuple[Interval, Intervals]:
        """Enclose the mass and the covariance of the escort."""
        mass, covariance = self.law.escort()
        relative = abs(self.law.alpha - 1.0) * self.peak_error + 16 * U
        return Interval.within(mass, mass * relative), within(covariance, np.abs(covariance) * relative)


def density_error(density: Array, scores: Array, normaliser: float, alpha: float) -> Array:
    """Bound the errors of densities on cells; none where there is none."""
    on = density > 0.0
    p = np.where(on, density, 1.0)
    e = alpha - 1.0
    apart = np.abs(scores - normaliser)
    base = 16 * U * (1.0 + abs(e) * apart)
    return np.where(on, p ** (2.0 - alpha) * base / abs(e or 1.0) + 32 * U * p * (1.0 + apart), 0.0)


def enclose_normaliser(found: float, scores: Any, weights: Any, alpha: float) -> Interval:
    """Enclose the normaliser that a computed one stands for; scores and weights are balls.

    Below order one the ends must leave every base positive.
    """
    reach = 2 * U * (1.0 + abs(found))
    for _ in range(_WIDENINGS):
        low, high = found - reach, found + reach
        if _mass(scores, weights, low, alpha) >= 1 and _mass(scores, weights, high, alpha) <= 1:
            return Interval(low, high, Kind.CERTIFIED)
        reach = 2.0 * reach
    return Interval.unknown(Kind.CERTIFIED)


def _mass(scores: Any, weights: Any, normaliser: float, alpha: float) -> Any:
    """Return the mass of the density at a normaliser; ball."""
    away = scores - ball(normaliser)
    if alpha == 1.0:
        return (weights * np.exp(away)).sum()
    e = ball(alpha) - 1
    bases = 1 + e * away
    powers = np.array([base ** (1 / e) if base > 0 else base * 0 for base in bases], dtype=object)
    return (weights * powers).sum()


def enclose_escort(found: Array, density: Intervals, weights: Array, psi: Array, phi: Array, alpha: float) -> Intervals:
    """Enclose escort covariances, (l, k), of densities known up to their radii."""
    on = density.mid > 0.0
    p = np.where(on, density.mid, 1.0)
    q = np.where(on, p ** (2.0 - alpha), 0.0)
    own = 2.0 * slope_error(p, q, alpha)
    q_error = np.where(on, abs(2.0 - alpha) * p ** (1.0 - alpha) * density.radius + own, 0.0)
    ranges = np.ptp(psi, axis=0)[:, np.newaxis] * np.ptp(phi, axis=0)
    rounding = gamma(4 * len(weights) + 16) * float((weights * q).sum())
    enclosed: Intervals = within(found, (4.0 * float((weights * q_error).sum()) + rounding) * ranges)
    return enclosed
