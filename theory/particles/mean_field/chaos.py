r"""Tokens that attend to each other beside tokens that attend to their law, where the law is known: Gaussian tokens.

With :math:`V = I`, scores :math:`-\alpha\langle x, y\rangle` and independent :math:`x_i(0) \sim N(0, I)`, the law
stays Gaussian with covariance :math:`\sigma^2I`, :math:`\sigma^2 = 1/(1 + 2\alpha t)`, and a token of the mean-field
system is at :math:`\sigma x_i(0)`. A token among n is off by :math:`\Xi_t(x_i(0))/\sqrt n` to first order. Linearise:
the field's derivative in the token is :math:`-\kappa`, :math:`\kappa = \alpha\sigma^2`. That in the measure is
:math:`\sigma\nabla_p(e^{\langle p, z\rangle - |p|^2/2})` at a token that started at z, with :math:`p = -\kappa x` the
tilt in units of :math:`1/\sigma`; it acts on displacements :math:`\Xi(z)` too. So

.. math:: \dot\Xi_t(x) = -\kappa\,\Xi_t(x) + \nabla_p\{\sigma H(p) + \langle p, \mathbb{E}_z\Xi_t(z + p)\rangle\},
   \quad H(p) = n^{-1/2}\sum_j(e^{\langle p, z_j\rangle - |p|^2/2} - 1),

at :math:`p = -\kappa x`, where H tends to a Gaussian field of covariance :math:`e^{\langle p, p'\rangle} - 1`. Then
:math:`\Xi = \nabla\Phi` with a random series :math:`\Phi = \sum\phi_{lj}|x|^{2j}Y_l(x)` over harmonic polynomials.
Averaging over z turns the coefficients of a power series into those of Hermite polynomials,
:math:`g = e^{\Delta/2}\phi`, and with :math:`k = 2j + l`

.. math:: \dot\phi_{lj} = -\kappa\phi_{lj} - \frac{(-\kappa)^k}{\kappa}(\sigma h_{lj} + k\,g_{lj}),

where the last term is the feedback of the others' displacements. This is linear, upper triangular for each l, and its
coefficients vanish like :math:`\kappa^k`. The :math:`h_{lj}` are independent; their variance
:math:`\Gamma(d/2)/(2^kj!\,\Gamma(j + l + d/2))` is a coefficient of :math:`e^{\langle x, y\rangle}`. As Hermite
polynomials are orthogonal, :math:`\mathbb{E}|\Xi|^2 = \sum k\,\mathbb{E}g_{lj}^2/\mathrm{var}\,h_{lj}`.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_between, as_count, as_flag, as_points, as_positive, as_real
from theory.evidence import Interval
from theory.particles.dynamics.flows import Trajectory, flow

Array = NDArray[np.float64]
_WEAKEST, _EARLIEST, _LATEST = 1e-8, 1e-100, 1e4  # taken: what an adaptive integrator gets through
DEGREE = 24  # taken: mean squares fall like (2 kappa**2)**k, to 1e-21 for kappa = 1/4


def mean_field_deviation(alpha: float, time: float) -> float:
    """Return the standard deviation of a mean-field token, in units of that at the start."""
    return 1.0 / math.sqrt(1.0 + 2.0 * as_positive(alpha, "alpha") * as_positive(time, "time"))


def tagged_variance(dim: int, alpha: float, time: float, *, feedback: bool = True) -> Interval:
    r"""Enclose the limit of n times the mean square distance of a token from its mean-field token.

    Parameters
    ----------
    dim : int
        Dimension d of the tokens.
    alpha : float
        Positive; :math:`\alpha < 1/\sqrt 2`, beyond which the mean is infinite from the start.
    time : float
        Positive.
    feedback : bool, default True
        Without it, the other tokens stay on their mean-field paths, and only their number is finite.

    Returns
    -------
    Interval
        Kind ``NUMERIC``, from two runs of the integrator, and the share of the degrees that are left out as it is at
        short times; unknown where that tells nothing.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    return _tagged_variance(
        as_count(dim, "dim"), as_positive(alpha, "alpha"), as_positive(time, "time"), as_flag(feedback, "feedback")
    )


@cache  # seconds for a dimension, and claims and twins ask for the same few
def _tagged_variance(d: int, alpha: float, time: float, feedback: bool) -> Interval:
    total = Interval.exactly(0.0)
    for harmonic in range(min(DEGREE, 1 if d == 1 else DEGREE) + 1):
        copies = _harmonics(d, harmonic)
        size = (DEGREE - harmonic) // 2 + 1
        heat = _heat(d, harmonic, size)
        variance = _variances(d, harmonic, size)
        degree = _degrees(harmonic, size)

        def second(phi: Array, heat: Array = heat, variance: Array = variance, degree: Array = degree) -> float:
            g = heat @ phi
            return float(np.sum(degree[:, np.newaxis] * g * g * variance / variance[:, np.newaxis]))

        total = total + copies * _response(heat * feedback, degree, alpha, time).observe(second)[-1]
    beyond = total.hi * _beyond(d, 2.0 * alpha * alpha)
    return total + Interval(-beyond, beyond)


def linear_displacement(start: ArrayLike, alpha: float, time: float, *, feedback: bool = True) -> Array:
    r"""Return :math:`\Xi(x_i)/\sqrt n` of the tokens on the line that started at ``start``, shape (n, 1).

    The fluctuations h are those of the tokens themselves: means of Hermite polynomials. Arguments and errors as for
    :func:`tagged_variance`.
    """
    z = as_points(start, "start", dim=1)
    feedback = as_flag(feedback, "feedback")
    means = _hermite_means(z[:, 0]) / np.array([float(math.factorial(k)) for k in range(DEGREE + 1)])
    slopes = np.zeros(DEGREE)
    for harmonic in (0, 1):
        degree = np.arange(harmonic, DEGREE + 1, 2)
        phi = _line_response(harmonic, as_positive(alpha, "alpha"), as_positive(time, "time"), feedback) @ means[degree]
        slopes[degree[degree > 0] - 1] = (degree * phi)[degree > 0]
    return as_real(np.polynomial.polynomial.polyval(z, slopes), "start")


@cache
def _line_response(harmonic: int, alpha: float, time: float, feedback: bool) -> Array:
    size = (DEGREE - harmonic) // 2 + 1
    response: Array = _response(_heat(1, harmonic, size) * feedback, _degrees(harmonic, size), alpha, time).last
    return response


def _response(heat: Array, degree: Array, alpha: float, time: float) -> Trajectory:
    """Return the matrix that takes the fluctuations h to the coefficients phi, at times zero and ``time``."""
    a = as_positive(alpha, "alpha")
    t = as_between(time, "time", _EARLIEST, _LATEST)
    if not a > _WEAKEST:
        raise ValueError(f"alpha: expected more than {_WEAKEST:g}, below which its inverse takes the digits, got {a}")
    if not a * a < 0.5:
        raise ValueError(f"alpha: expected less than 1/sqrt(2), beyond which the mean is infinite, got {a}")
    size = degree.size

    def velocity(state: Array) -> Array:
        phi, variance = state[:-1], state[-1, 0]
        kappa = a * variance
        source = math.sqrt(variance) * np.eye(size) + degree[:, np.newaxis] * (heat @ phi)
        moving = -kappa * phi - ((-kappa) ** degree / kappa)[:, np.newaxis] * source
        shrinking = np.zeros((1, size))
        shrinking[0, 0] = -2.0 * a * variance * variance
        return np.concatenate([moving, shrinking])

    start = np.zeros((size + 1, size))
    start[-1, 0] = 1.0
    path = flow(velocity, start, [0.0, t])
    return Trajectory(path.times, path.states[:, :-1], path.coarse[:, :-1], path.evaluations)


def _beyond(dim: int, ratio: float) -> float:
    r"""Return the share of degrees above ``DEGREE`` in :math:`\sum(k + 1)\binom{k - 1 + d/2}kq^k`, or more.

    At short times these are the sizes of the degrees of the mean square; later ones fall faster, as kappa does.
    """
    term, kept = 1.0, 1.0
    for k in range(1, DEGREE):
        term *= ratio * (k + 1.0) * (k - 1.0 + dim / 2.0) / (k * k)
        kept += term
    fall = ratio * (DEGREE + 1.0) * (DEGREE - 1.0 + dim / 2.0) / DEGREE**2  # falls with the degree
    return fall * term / (kept * (1.0 - fall)) if fall < 1.0 else math.inf


def _degrees(harmonic: int, size: int) -> Array:
    return np.arange(float(harmonic), harmonic + 2.0 * size - 1.0, 2.0)


def _heat(dim: int, harmonic: int, size: int) -> Array:
    r"""Return the matrix of :math:`e^{\Delta/2}` on :math:`|x|^{2j}Y_l`, of which the Laplacian lowers j."""
    lower = np.zeros((size, size))
    for j in range(1, size):
        lower[j - 1, j] = j * (2.0 * j + 2.0 * harmonic + dim - 2.0)
    heat, power = np.eye(size), np.eye(size)
    for order in range(1, size):
        power = power @ lower / order
        heat += power
    return heat


def _variances(dim: int, harmonic: int, size: int) -> Array:
    half = dim / 2.0
    logs = [
        math.lgamma(half) - (2 * j + harmonic) * math.log(2.0) - math.lgamma(j + 1.0) - math.lgamma(j + harmonic + half)
        for j in range(size)
    ]
    return np.array([math.exp(one) for one in logs])


def _harmonics(dim: int, harmonic: int) -> int:
    """Return how many independent harmonic polynomials of a degree there are."""
    if dim == 1:
        return 1
    more = math.comb(harmonic + dim - 3, dim - 1) if harmonic >= 2 else 0
    return math.comb(harmonic + dim - 1, dim - 1) - more


def _hermite_means(z: Array) -> Array:
    """Return the means of the Hermite polynomials He_0 to the one of degree ``DEGREE``."""
    before = np.zeros_like(z)
    now = np.ones_like(z)
    means = [1.0]
    for k in range(DEGREE):
        before, now = now, z * now - k * before
        means.append(float(now.mean()))
    return np.array(means)
