r"""How far one attention output over n drawn keys lies from that over their law: covariance and bias of order 1/n.

For keys from :math:`\mu` under the tilt q, with :math:`w = e^{\langle q, x\rangle}`, :math:`Z(q) = \mu(w)` and
:math:`c(q) = \mu(wx)/Z(q)` the mean of the tilted law, the delta method for :math:`\sum w_jx_j/\sum w_j` says

.. math:: n\,\mathrm{Cov} \to \frac{Z(2q)}{Z(q)^2}\{\mathrm{Cov}_{2q} + \delta\delta^\top\}, \qquad
   n\,(\mathbb{E} - c) \to -\frac{Z(2q)}{Z(q)^2}\,\delta, \qquad \delta = c(2q) - c(q),

where :math:`\mathrm{Cov}_{2q}` belongs to the law tilted twice as much. A Gaussian keeps its covariance under tilts and
has :math:`Z(2q)/Z(q)^2 = e^{\langle q, \Sigma q\rangle}`, :math:`\delta = \Sigma q`.

The delta method is a limit in n at fixed q. What becomes of :math:`\mathbb{E}\sum_j P_j^2`, the covariance of the
output across :math:`\Sigma q`, when both grow is computed by :func:`participation`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_between, as_count, as_matrix, as_vector
from theory.attention import Measure, boltzmann_gibbs
from theory.attention.measure import as_measure
from theory.evidence import Interval, Kind, as_intervals, is_enclosed
from theory.evidence.roundoff import EXP_ULPS, U, gamma

Array = NDArray[np.float64]


class Fluctuation(NamedTuple):
    """The limits of n times covariance (d, d) and bias (d,) of an output over n keys."""

    covariance: Array
    bias: Array


def delta_method(mu: Measure, tilt: ArrayLike) -> Fluctuation:
    """Return the limits for keys from the atoms of ``mu`` under ``tilt``, shape (d,), by moments of two tilted laws.

    Enclosed if the tilt is exact.

    Raises
    ------
    ValueError
        If the tilt does not fit.
    """
    scores = as_measure(mu, "mu").points @ as_vector(tilt, "tilt", size=mu.dim)
    once, twice = _tilted(mu, scores), _tilted(mu, 2.0 * scores)
    present = mu.weights > 0.0
    boost = np.sum(once.weights[present] ** 2 / mu.weights[present])
    shift = (twice.weights - once.weights) @ (mu.points - once.mean)
    return Fluctuation(boost * (twice.covariance + np.outer(shift, shift)), -boost * shift)


class _Law(NamedTuple):
    """Weights, mean and covariance of a tilted law."""

    weights: Any
    mean: Any
    covariance: Any


def _tilted(mu: Measure, scores: Any) -> _Law:
    if not is_enclosed(scores):
        law = boltzmann_gibbs(mu, scores)
        return _Law(law.weights, law.mean(), law.covariance())
    weights = mu.weights * np.exp(scores - scores.mid.max())
    weights = weights / weights.sum()
    mean = weights @ mu.points
    apart = mu.points - mean
    return _Law(weights, mean, (weights[:, np.newaxis] * apart).T @ apart)


def gaussian_fluctuation(covariance: ArrayLike, tilt: ArrayLike) -> Fluctuation:
    r"""Return the limits for keys from a Gaussian of the given covariance (d, d), whatever its mean.

    Enclosed if the tilt is exact.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    OverflowError
        If :math:`e^{\langle q, \Sigma q\rangle}` leaves float64.
    """
    q = as_vector(tilt, "tilt")
    sigma = as_matrix(covariance, "covariance", shape=(q.size, q.size))
    shift = sigma @ q
    with np.errstate(over="ignore", invalid="ignore"):
        boost = np.exp(q @ shift)
        found = Fluctuation(boost * (sigma + np.outer(shift, shift)), -boost * shift)
    if not np.isfinite(as_intervals(found.covariance).hi if is_enclosed(q) else found.covariance).all():
        raise ValueError(f"tilt: expected one whose moments float64 can hold, got a factor of {boost}")
    return found


_STRIP = 1.5  # taken: below pi / 2
_DIGITS = 45.0  # taken: what is cut off is of the relative size exp(-45), below rounding
_FLATTEST, _STEEPEST = 1e-100, 50.0  # taken: of the tilt; nodes grow in number as its square
_ROWS = 16  # measured: so many nodes of s at a time stay in cache


def participation(tilt: float, keys: int) -> Interval:
    r"""Enclose :math:`\mathbb{E}\sum_j P_j^2` for standard normal keys on the line, however many.

    With :math:`\zeta = u e^{pz - p^2/2}` it is :math:`\int n\,\mathbb{E}[\zeta^2e^{-\zeta}]\,
    \{\mathbb{E}e^{-\zeta}\}^{n-1}\,d\log u`, a sum of positive terms by two trapezoidal rules, in logarithms, so that
    neither p nor n is limited; :mod:`theory.particles.mean_field.self_normalised` derives the bounds of the rules.

    Parameters
    ----------
    tilt : float
        p > 0, the standard deviation of the scores.
    keys : int
        n, at least 8.

    Returns
    -------
    Interval
        Kind ``NUMERIC``.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    p = as_between(tilt, "tilt", _FLATTEST, _STEEPEST)
    log_n = math.log(as_count(keys, "keys", least=8))
    over = log_n / p**2
    rate = max(log_n - p * p if over > 1.5 else (over - 0.5) ** 2 / 2.0 * p * p if over > 0.5 else 0.0, 0.0)
    spare = max(p * p - log_n, 0.0) + rate + _DIGITS
    h = min(1.0 / (p * max(8.0, (spare + 10.0) / math.pi**2)), 0.25)
    a = min(math.pi / (2.0 * p) * (1.0 - 1e-12), 2.0 * math.pi / h)
    strip = a * a / 2.0 - 2.0 * math.pi * a / h + 1.0  # logarithm of the relative error of the inner rule
    far = max(math.sqrt(2.0 * (log_n + rate + _DIGITS)), p + 10.0)
    z = h * np.arange(math.floor((p - 10.0) / h), math.ceil(far / h) + 1)
    mass = log_n - z * z / 2.0 + math.log(h / math.sqrt(2.0 * math.pi))
    step = 2.0 * math.pi * _STRIP / (rate + _DIGITS + 10.0)
    size = 2.0 * log_n + p * far + p * p + far * far + spare
    slip = 16 * U * (size + EXP_ULPS)  # of every exponent
    total = charge = 0.0
    first = -log_n - spare / 2.0 - 5.0
    nodes = 0
    done = False
    while not done:
        s = first + step * np.arange(nodes, nodes + _ROWS)
        nodes += _ROWS
        log_zeta = s[:, np.newaxis] + p * z - p * p / 2.0
        zeta = np.exp(np.minimum(log_zeta, 700.0))
        kept = np.exp(np.maximum(mass + 2.0 * log_zeta - zeta, -745.0))
        escape = np.exp(np.maximum(mass + np.where(zeta < 1e-17, log_zeta, _log_fall(zeta)), -745.0)).sum(axis=1)
        survive = np.exp(np.maximum(_log_power(escape, log_n), -745.0))
        inner = kept.sum(axis=1)
        total += step * float(survive @ inner)
        moved = np.exp(np.minimum(s + log_n + strip, 1.0)) + np.exp(s + log_n - 50.0) + math.exp(log_n - far**2 / 2.0)
        off = np.exp(log_n + 2.0 * s + p * p + strip) + math.exp(log_n - far * far / 2.0)
        off += np.exp(log_n + 2.0 * s + p * p - (p + 10.0) ** 2 / 2.0)
        relative = np.expm1(np.minimum(moved + slip * (8.0 + escape), 700.0))
        charge += step * float(survive @ (inner * relative + slip * (zeta * kept).sum(axis=1) + off * (1.0 + relative)))
        left = _log_power(escape[-1:], log_n)[0] + 3.0 * escape[-1] * math.exp(-log_n)
        above = math.exp(min(log_n + 2.0 * p * p - 2.0 * s[-1] + left, 700.0))
        done = above < total * math.exp(-_DIGITS)
    below = math.exp(log_n + 2.0 * first + p * p)
    rule = 3.0 / math.cos(_STRIP) ** 2 * math.exp(-2.0 * math.pi * _STRIP / step)
    rounding = gamma(z.size + nodes + 16) * total
    return Interval.within(total, charge + above + below + rule + rounding, Kind.NUMERIC)


def _log_fall(zeta: Array) -> Array:
    """Return the logarithm of 1 - exp(-zeta)."""
    found: Array = np.log(-np.expm1(-np.maximum(zeta, 1e-300)))
    return found


def _log_power(escape: Array, log_n: float) -> Array:
    """Return the logarithm of (1 - escape/n)**(n - 1); beyond n = e**40 the difference to exp(-escape) is rounding."""
    if log_n > 40.0:
        return -escape
    n = math.exp(log_n)
    found: Array = (n - 1.0) * np.log1p(-np.minimum(escape / n, 1.0 - U))
    return found
