r"""How fast clusters grow out of tokens spread evenly over the sphere.

Let the law of the tokens be :math:`(1 + \epsilon h)\sigma` with :math:`\sigma` uniform on :math:`S^{d-1}`. To first
order in :math:`\epsilon` the velocity of USA is :math:`\epsilon\,\mathsf P^\perp_x\int e^{\beta\langle x,
y\rangle}y\,h(y)\,d\sigma`, and :math:`h` grows by minus its divergence. For a zonal harmonic :math:`h = P_l(\langle
\cdot, e\rangle)` that divergence, taken at the pole :math:`e`, is a mean over :math:`u = \langle y, e\rangle`:

.. math:: \lambda_l = \int e^{\beta u}\bigl[(d - 1)u - \beta(1 - u^2)\bigr]P_l(u)\,d\sigma .

The denominator of SA is constant to first order where the velocity vanishes, so SA divides by it. On the circle a law
:math:`1 + \epsilon\cos l\theta` is also put down as tokens, and what attention does to their mode l is measured.

References
----------
B. Geshkovski, C. Letrouit, Y. Polyanskiy, P. Rigollet, A mathematical perspective on transformers, *Bulletin of the
American Mathematical Society* 62 (2025).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from theory._validate import as_count, as_flag, as_instance, as_points, as_positive
from theory.evidence import Interval, Kind, ball
from theory.evidence.enclosure import hull
from theory.evidence.quadrature import integral_over
from theory.evidence.roundoff import EXP_ULPS, U, gamma
from theory.particles.dynamics.circle import CircleField
from theory.particles.dynamics.fields import Array
from theory.particles.mean_field.zonal import PANELS, zonal_means, zonal_polynomials

_NEAR = 1e-10  # chosen: relative half-width of an enclosed tie, far above what its approximation is off by
_STEEPEST = 1e4  # taken: of beta
_NEWTON = 60
_PAIRWISE = 64  # derived: roundings in a pairwise sum of up to 2**40 numbers, sixteen of a block and one a level


def growth_rates(beta: float, degree: int, *, dim: int = 2, normalised: bool = True) -> list[Interval]:
    """Enclose the growth rates of the harmonics of degree one to ``degree`` about the uniform law.

    Parameters
    ----------
    beta : float
        Inverse temperature, positive.
    degree : int
        Largest degree.
    dim : int, default 2
        d of the sphere in d dimensions, at least two.
    normalised : bool, default True
        SA, or USA.

    Returns
    -------
    list of Interval
        Of kind ``CERTIFIED``, per unit of time; from the linearised field by quadrature.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    scale = as_positive(beta, "beta")
    top = as_count(degree, "degree")
    dim = as_count(dim, "dim", least=2)
    if not scale <= _STEEPEST:
        raise ValueError(f"beta: expected at most {_STEEPEST:g}, since panels are as many, got {scale}")
    b = ball(scale)
    panels = PANELS + math.ceil(scale)
    normalised = as_flag(normalised, "normalised")
    rates = zonal_means(lambda u: _kernel(u, b, dim), top, dim=dim, panels=panels)[1:]
    mass = zonal_means(lambda u: (b * u).exp(), 0, dim=dim, panels=panels)[0] if normalised else 1
    return [hull(rate / mass) for rate in rates]


def _kernel(u: Any, beta: Any, dim: int) -> Any:
    return (beta * u).exp() * ((dim - 1) * u - beta * (1 - u * u))


def crossover_beta(degree: int, *, dim: int = 2) -> Interval:
    """Enclose a beta at which the harmonics of degree l and l + 1 grow equally fast; below it the first is ahead.

    Parameters
    ----------
    degree : int
        l, at least one.
    dim : int, default 2
        d of the sphere in d dimensions, at least two.

    Returns
    -------
    Interval
        Of kind ``CERTIFIED``: the difference of the rates changes its sign inside.

    Raises
    ------
    ValueError
        If an argument is out of range.
    ArithmeticError
        If no change of sign is certain.
    """
    ell, d = as_count(degree, "degree"), as_count(dim, "dim", least=2)
    nodes = 8 * ell + 64
    cosines, masses = special.roots_gegenbauer(nodes, 0.5 * d - 1.0) if d > 2 else special.roots_chebyt(nodes)
    ahead = np.subtract(*zonal_polynomials(cosines, ell + 1, d)[:-3:-1])

    def lead(beta: float) -> float:
        kernel = np.exp(beta * (cosines - 1.0)) * ((d - 1) * cosines - beta * (1.0 - cosines**2))
        return float(masses @ (kernel * ahead))

    least = most = 0.25 * ell * (ell + d - 2) + 0.25  # far below, where rounding hides the sign
    while lead(most) <= 0.0:
        least = most
        most = 2.0 * most
    near = float(optimize.brentq(lead, least, most, xtol=1e-12 * most, rtol=1e-13))
    found = Interval(near * (1.0 - _NEAR), near * (1.0 + _NEAR), Kind.CERTIFIED)
    if not (_lead(found.lo, ell, d) < 0 and _lead(found.hi, ell, d) > 0):
        raise ArithmeticError(f"degree: expected a certain change of sign near beta = {near}, got none")
    return found


def _lead(beta: float, degree: int, dim: int) -> Any:
    """Return, as a ball, by how much degree l + 1 grows faster than l, up to a positive factor."""
    b = ball(beta)
    pi = ball(0).pi()

    def lead(t: Any) -> Any:
        u = t.cos()
        if dim == 2:  # the recurrence would widen the balls of a panel with every degree
            return _kernel(u, b, dim) * (-b).exp() * (((degree + 1) * t).cos() - (degree * t).cos())
        last, ahead = zonal_polynomials(u, degree + 1, dim)[-2:]
        return _kernel(u, b, dim) * (-b).exp() * (ahead - last) * t.sin() ** (dim - 2)

    return integral_over(lead, 0, pi)


def cosine_quantiles(n: int, degree: int, amplitude: float) -> Array:
    r"""Return n angles, shape (n, 1), at the quantiles of the law :math:`1 + \epsilon\cos l\theta` on the circle.

    Raises
    ------
    ValueError
        Unless ``0 < amplitude < 1``.
    ArithmeticError
        If Newton's method does not settle, as it may for amplitudes near one.
    """
    ell = as_count(degree, "degree")
    epsilon = as_positive(amplitude, "amplitude")
    if not epsilon < 1.0:
        raise ValueError(f"amplitude: expected less than one, got {epsilon}")
    count = as_count(n, "n")
    wanted = 2.0 * np.pi * np.arange(count) / count
    angles = wanted.copy()
    for _ in range(_NEWTON):
        step = (angles + epsilon / ell * np.sin(ell * angles) - wanted) / (1.0 + epsilon * np.cos(ell * angles))
        angles -= step
        if float(np.abs(step).max()) <= 128 * U * np.pi / (1.0 - epsilon):
            return angles[:, np.newaxis]
    raise ArithmeticError(f"amplitude: expected one at which Newton's method settles, got {epsilon}")


def fourier_mode(angles: ArrayLike, degree: int) -> complex:
    r"""Return :math:`\frac1n\sum_j e^{il\theta_j}`."""
    turns = np.exp(1j * as_count(degree, "degree") * as_points(angles, "angles", dim=1))
    return complex(turns.mean())


def mode_growth(field: CircleField, angles: ArrayLike, degree: int) -> Interval:
    r"""Enclose :math:`\frac{d}{dt}\log|z_l|` of the mode :math:`z_l = \frac1n\sum_j e^{il\theta_j}` in a field.

    Parameters
    ----------
    field : Circle
        With equal weights.
    angles : array_like, shape (n, 1)
    degree : int
        l.

    Returns
    -------
    Interval
        Of kind ``NUMERIC``: a velocity is off by twice what its two coordinates are, by the accuracy of the field and
        the rounding of scores, and a mode by its summation; unknown if the mode may vanish.

    Raises
    ------
    ValueError
        If the field has weights, or an argument is not as above.
    """
    if as_instance(field, "field", CircleField).weights is not None:
        raise ValueError("field: expected equal weights, got others")
    theta = as_points(angles, "angles", dim=1)
    ell = as_count(degree, "degree")
    velocities = field(theta)
    turns = np.exp(1j * ell * theta[:, 0])
    z = complex(turns.mean())
    moved = complex((1j * ell * velocities[:, 0] * turns).mean())
    n = theta.shape[0]
    beta = abs(field.beta)
    reach = 2.0 * float(np.abs(theta).max()) + 2.0 * np.pi
    score = beta * ((16 * EXP_ULPS + 8) + 4.0 * reach) * U
    sums = gamma(_PAIRWISE if field.method == "nufft" else n + 16)  # what fast sums promise has their rounding in it
    off = 4.0 * (field.accuracy + 2.0 * score + sums) * (1.0 if field.normalised else math.exp(beta))
    fastest = float(np.abs(velocities).max())
    turned = (2 * EXP_ULPS + ell * reach) * U + gamma(_PAIRWISE)  # of a turn, and of a mean of them
    if not abs(z) > turned:
        return Interval.unknown(Kind.NUMERIC)
    error = (ell * (off + fastest * turned) + abs(moved / z) * turned) / (abs(z) - turned)
    return Interval.within((moved / z).real, error * (1.0 + gamma(16)))
