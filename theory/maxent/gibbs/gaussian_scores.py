r"""Softmax of independent Gaussian scores, on average, for a finite number of them: integrals in balls.

Scores :math:`\sigma g_i` and independent Gumbel variables :math:`\gamma_i`: the largest of
:math:`\sigma g_i + \gamma_i` is :math:`\log Z` and one more Gumbel variable. With :math:`y = e^{\sigma(g - x)}`,
:math:`A_0(x) = \mathbb E e^{-y}` and :math:`A_1(x) = \mathbb E ye^{-y}`, the largest over sigma has the density
:math:`\rho = n\sigma A_1A_0^{n-1}`, so that :math:`\mathbb E\log Z = \sigma\int x\rho - \gamma`, and

.. math:: 1 - \mathbb E\sum p_i^2 = n(n-1)\sigma\int A_1^2A_0^{n-2}\,dx,\qquad
          \mathbb E H = \mathbb E\log Z - \sigma^2\bigl(1 - \mathbb E\sum p_i^2\bigr).

*Certificate.* All integrals are sums on one lattice of step h, those inside are one convolution. A function that is
analytic in a strip of half-width a, where its integrals along lines are at most M, is summed with an error of at most
:math:`2M/(e^{2\pi a/h} - 1)`. With :math:`\sigma a \le 5/4`, :math:`c = \cos\sigma a`, the modulus of
:math:`A_k(x + ib)` is at most :math:`A_k(x + \sigma^{-1}\log\frac1c)c^{-k}`: along each line M is at most
:math:`c^{-2}` times what the integral is on the real one. What is left out of a sum is bounded by
:math:`A_1 \le e^{\lambda^2/2 - \lambda|x|}`, for every :math:`\lambda \le \sigma`.

References
----------
B. Derrida, *Random-energy model: an exactly solvable model of disordered systems*, Phys. Rev. B 24 (1981).
L. N. Trefethen and J. A. C. Weideman, *The exponentially convergent trapezoidal rule*, SIAM Review 56 (2014).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

from theory._validate import as_between, as_count
from theory.evidence import Interval, ball, hull, precision
from theory.evidence.enclosure import coefficient, power_series, variable

_MOST = 10**30  # taken: numbers of scores up to this
_RANGE = (0.0625, 100.0)  # taken: deviations, between which a lattice has at most some ten thousand points
_NATS = 36.0  # taken: by which errors are smaller than one over the number of scores
_ANGLE = 1.25  # taken: half of the strip times the deviation, less than a quarter of the circle
_STRIP = 4.0  # taken: half of the strip, at most, so that the normal density stays moderate there


class GaussianWeights(NamedTuple):
    """Means over Gaussian scores: log-partition, sum of squares of weights, entropy; and the mass of the density."""

    log_partition: Interval
    participation: Interval
    entropy: Interval
    mass: Interval


def gaussian_weights(size: int, deviation: float) -> GaussianWeights:
    """Enclose what softmax does on average to independent Gaussian scores.

    Parameters
    ----------
    size : int
        Number of scores, from 2 to 1e30.
    deviation : float
        Of each score, over the temperature; from 1/16 to 100.

    Returns
    -------
    GaussianWeights
        Of which ``mass`` is one, up to errors, whatever the arguments.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    n = as_count(size, "size", least=2)
    if n > _MOST:
        raise ValueError(f"size: expected at most 10**30, got {size}")
    sigma = as_between(deviation, "deviation", *_RANGE)
    nats = _NATS + 5.0 * math.ceil(math.log(n) / 5.0)  # in steps, so that sizes share a lattice
    with precision(int(3.0 * nats / math.log(2.0)) + 64):
        step, reach, zeroth, first = _lattice(sigma, nats)
        s, angle = ball(sigma), ball(_angle(sigma))
        mass, mean, apart = ball(0), ball(0), ball(0)
        for j, a0, a1 in zip(range(-reach, reach + 1), zeroth, first, strict=True):
            power = _power(a0, n - 2)
            density = a1 * a0 * power
            mass += density
            mean += j * step * density
            apart += a1 * a1 * power
        scale = n * s * step
        c, summed = angle.cos(), _of_the_sum(angle, s, step)
        left, weighted = _left_out(s, reach * step)
        farthest = n * (1 + 2 / s) + (angle - c.log()) / s
        mass = _wider(scale * mass, n * s * left + summed / c)
        mean = _wider(scale * mean, n * s * weighted + summed * farthest / c)
        apart = _wider(scale * (n - 1) * apart, n * n * s * left + summed / c**2)
        log_partition = s * mean + ball(1).digamma()
        entropy = log_partition - s * s * apart
        return GaussianWeights(hull(log_partition), hull(1 - apart), hull(entropy), hull(mass))


@lru_cache(maxsize=64)
def _lattice(sigma: float, nats: float) -> tuple[Any, int, list[Any], list[Any]]:
    """Return the step, how many places lie on each side of zero, and both functions at all of them."""
    width = 2.0 * math.pi * _angle(sigma) / (sigma * (nats + 8.0))  # of which 8 are for the growth in the strip
    near, far = math.sqrt(2.0 * nats), math.sqrt(4.0 * nats)
    far = far if far <= sigma else 2.0 * nats / sigma + sigma / 2.0  # where the bound of the first is exp(-2 nats)
    inner, reach = math.ceil(near / width), math.ceil(far / width)
    s, step, angle = ball(sigma), ball(width), ball(_angle(sigma))
    share = step / (2 * _pi()).sqrt()
    normal = [share * (-((i * step) ** 2) / 2).exp() for i in range(-inner, inner + 1)]
    middle = 2 * inner + reach
    y = [(-s * step * m).exp() for m in range(-inner - reach, inner + reach + 1)]  # m steps below
    kept = [value if value < 4.0 * nats else None for value in y]  # y exp(-y) is less than exp(-2 nats) beyond
    decay = [ball(0) if value is None else (-value).exp() for value in kept]
    length = len(normal) + len(y)
    variable(length)  # of which products keep as many terms
    law = _padded(normal, length)
    lost = (-((inner * step) ** 2) / 2).exp() + 2 * (-2 * ball(nats)).exp()
    lost += _of_the_sum(angle, s, step) * ((angle / s) ** 2 / 2).exp()
    zeroth = law * _padded(decay, length)
    first = law * _padded(
        [fall if value is None else value * fall for value, fall in zip(kept, decay, strict=True)], length
    )
    places = range(middle - reach, middle + reach + 1)
    return (
        step,
        reach,
        [_wider(coefficient(zeroth, k), lost) for k in places],
        [_wider(coefficient(first, k), lost / (angle.cos() * ball(1).exp())) for k in places],
    )


def _pi() -> Any:
    return 2 * ball(0).acos()


def _angle(sigma: float) -> float:
    return min(_ANGLE, _STRIP * sigma)


def _of_the_sum(angle: Any, s: Any, step: Any) -> Any:
    """Return by what a sum on the lattice errs, as a share of the integrals along lines in the strip."""
    return 2 / ((2 * _pi() * angle / (s * step)).exp() - 1)


def _left_out(s: Any, edge: Any) -> tuple[Any, Any]:
    """Return bounds on the sums of the first function, and of it times the distance, at all places beyond an edge."""
    slope = s if s <= edge else edge
    height = 2 * (slope * slope / 2 - slope * edge).exp() / slope
    return height, height * (edge + 2 / slope)


def _power(value: Any, exponent: int) -> Any:
    """Return a power of a number that is not negative; that of a ball around zero has no value in the library."""
    if value > 0 or exponent == 0:
        return value**exponent
    return ball(0).union(abs(value).upper() ** exponent)


def _padded(values: list[Any], length: int) -> Any:
    return power_series(values + [ball(0)] * (length - len(values)))


def _wider(value: Any, error: Any) -> Any:
    """Return a ball that holds all numbers this near to one in the ball."""
    return (value - error).union(value + error)
