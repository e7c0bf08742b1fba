r"""Sparse maps asked with enclosures: what is computed at the middles, widened by all that may be off.

*Weights.* A computed weight is off by at most :func:`~theory.maxent.sparse.threshold.weight_error`; above order 2 a
base that is off by :math:`(2(\alpha-1) + 8)u` moves it by :math:`p^{2-\alpha}/(\alpha-1)` times that, twice over.
Scores known up to :math:`\rho` move scores over temperature by :math:`\rho/\tau`, and a law by no more than
:func:`moved_by` says.

*Value.* The maximum is 1-Lipschitz in the scores, because its gradient is a law; scores within
:math:`\tau` times the stationarity residual have the computed law and threshold.

*Derivative in the scores.* A slope :math:`q = p^{2-\alpha}` is off by :math:`d`, the larger of its differences to those
at both ends of the weight, and by its own rounding, see :func:`slope_error`. With :math:`m = \langle q, c\rangle/Q` the
mean then moves by at most :math:`\sum_i d_i|c_i - m|/(Q - \sum d)`, and by no more than :math:`c` ranges, and a product
by :math:`d_i|c_i - m|` and :math:`q_i + d_i` times that.

*Derivative in the order.* :math:`r = (p - p^{1-e} - ep\log p)/e^2`, :math:`e = \alpha - 1`, has the slope
:math:`((1-e)(1 - p^{-e}) - e\log p)/e^2`, at order one :math:`-\log p - \frac12\log^2p`; as it is computed, its
logarithm, its power and :math:`\varphi` lose at most :math:`64u` of it, and :math:`9u|e\log p|` more, by which
the exponent :math:`e\log p` is off; above order 2 as much of :math:`r + q/e^2`, which is computed instead.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.evidence import Intervals, within
from theory.evidence.intervals import weakest
from theory.evidence.roundoff import EXP_ULPS, SUBNORMAL, U, gamma
from theory.maxent.sparse.threshold import weight_error

Array = NDArray[np.float64]
_LEAST = 0.5  # derived: below it the error of a weight has no published bound
_NORMAL = 2.0**-1022
_BESIDE = 1e-4  # taken: a difference of orders from one below which the limit is taken, doubled


def moved_by(rho: float, n: int, alpha: float) -> float:
    r"""Bound :math:`\sum_i|\Delta p_i|` when every score over temperature moves by at most :math:`\rho`.

    Up to order 2 the entropy is strongly concave with constant 1 in :math:`\ell_2`, which gives :math:`n\rho`; above,
    its divergence is at least :math:`\|\Delta p\|_\alpha^\alpha/(\alpha(\alpha-1))`, and both divergences add up to
    :math:`\langle\Delta s, \Delta p\rangle/\tau \le \rho\|\Delta p\|_1`. With
    :math:`\|\Delta p\|_1 \le n^{1-1/\alpha}\|\Delta p\|_\alpha` that is
    :math:`\|\Delta p\|_1 \le n(\frac12\alpha(\alpha-1)\rho)^{1/(\alpha-1)}`.
    """
    if alpha <= 2.0:
        return n * rho
    return float(n * (0.5 * alpha * (alpha - 1.0) * rho) ** (1.0 / (alpha - 1.0)))


def enclose_entmax(found: Array, scores: Intervals, alpha: Any, tau: Any) -> Intervals:
    """Enclose the weights that were computed at the middles of scores with one order, from one half on."""
    order = _one(alpha)
    coldest = float(np.min(tau))
    n = found.shape[-1]
    error = np.full(found.shape, weight_error(order, n))
    if order > 2.0:
        base = (2.0 * order + 6.0) * U
        known = found ** (order - 1.0) > 8.0 * base
        steep = np.where(known, found, 1.0) ** (2.0 - order) / (order - 1.0)
        error = np.where(known, np.minimum(2.0 * base * steep, error), error)
    error = error + moved_by(float(scores.radius.max()) / coldest, n, order)
    # not cut at zero, so that the middle tells what is off the support
    enclosed: Intervals = within(found, error, weakest(scores))
    return enclosed


def enclose_threshold(found: Any, scores: Intervals, alpha: Any, tau: Any) -> Any:
    """Enclose the threshold of one row: the sum falls at least at the rate 1, below order one n^(alpha - 1)."""
    n = scores.size
    nu = float(found)
    rounding = (8 * U + gamma(n + 16)) * (1.0 + abs(nu))
    moved = 2.0 * float(scores.radius.max()) / float(tau)
    return within(nu, 2 * rounding * max(1.0, n ** (1.0 - _one(alpha))) + moved, weakest(scores))


def enclose_value(found: Any, scores: Intervals, alpha: float, tau: float, residual: float) -> Any:
    """Enclose the maximum of one row; it is rounded once for every entry."""
    n = scores.size
    entropy = 1.0 + max(1.0, n ** (1.0 - alpha)) * np.log(n)
    size = float(np.abs(scores.mid).max()) + tau * entropy
    error = tau * residual + gamma(n + 64) * size + float(scores.radius.max())
    return within(found, error, weakest(scores))


def slope_error(p: Array, q: Array, alpha: float) -> Array:
    r"""Bound how far powers :math:`q = p^{2-\alpha}` of positive numbers may be off as they are computed.

    A power is within ``EXP_ULPS`` units in the last place, each up to :math:`2u` of it, or a few of the least numbers
    where it is subnormal. An exponent that is off by :math:`\eta` moves it by :math:`\eta|\log p|` of itself; from
    order 1 to 4 the difference :math:`2 - \alpha` is exact, below order 1 it is rounded.
    """
    off = float(abs(Fraction(2) - Fraction(alpha) - Fraction(2.0 - alpha)))
    relative = np.expm1(2 * EXP_ULPS * U + off * np.abs(np.log(p))) * (1.0 + 2.0**-30)
    error: Array = q * relative + np.where(q < _NORMAL, EXP_ULPS * SUBNORMAL, 0.0)
    return error


def enclose_vjp(found: Array, weights: Intervals, cotangent: Array, alpha: Any, tau: Any) -> Intervals:
    """Enclose the product of the Jacobian of one row with a cotangent."""
    order = _one(alpha)
    p = weights.mid
    q = np.where(p > 0.0, np.where(p > 0.0, p, 1.0) ** (2.0 - order), 0.0)
    off = _slope_radius(weights, q, order)
    largest = float(np.abs(cotangent).max())
    apart = np.abs(cotangent - q @ cotangent / q.sum())
    least = float(q.sum()) - float(off.sum())
    moved = float(np.ptp(cotangent))
    if least > 0.0:
        moved = min(moved, float(off @ apart) / least)
    rounding = gamma(p.size + 6) * largest
    with np.errstate(invalid="ignore"):
        error = 2.0 * (off * apart + (q + off) * (moved + rounding + 4 * U * apart))
    error = (np.where(np.isinf(off), np.inf, error) + SUBNORMAL) / float(tau) + SUBNORMAL
    enclosed: Intervals = within(found, error, weakest(weights))
    return enclosed


def _slope_radius(weights: Intervals, q: Array, order: float) -> Array:
    """Bound how far slopes may be from those that are computed at the middles; a slope has one sense in the weight.

    The support is that of the middles. A weight on it that may be next to zero has an unbounded slope above order 2,
    none below, and at order 2 the slope of every other.
    """
    p = weights.mid
    on = p > 0.0
    own = np.where(on, slope_error(np.where(on, p, 1.0), q, order), 0.0)
    off = own
    for end in (p - weights.radius, p + weights.radius):
        here = on & (end > 0.0)
        safe = np.where(here, end, 1.0)
        with np.errstate(over="ignore"):
            power = safe ** (2.0 - order)
            reached = np.abs(power - q) + slope_error(safe, power, order)
        vanished = q if order < 2.0 else np.where(on & (order > 2.0), np.inf, 0.0)
        off = np.maximum(off, own + np.where(here, reached, vanished))
    return off * (1.0 + 4 * U)


def enclose_alpha_derivative(found: Array, weights: Intervals, alpha: Any) -> Intervals:
    """Enclose the derivative of the weights of one row in the order."""
    e = _one(alpha) - 1.0
    on = weights.mid > 0.0
    p, off = weights.mid[on], weights.radius[on]
    log = np.log(p)
    if abs(e) < _BESIDE:
        r = -0.5 * p * log**2
        slope = np.abs(log) + 0.5 * log**2  # doubled below
    else:
        r = (p - p ** (1.0 - e) - e * p * log) / e**2
        slope = np.abs((1.0 - e) * (1.0 - p**-e) - e * log) / e**2
    q = p ** (1.0 - e)
    total = q.sum()
    mean = abs(r.sum() / total)
    kept = np.abs(r) + (p * (1.0 - e * log) / e**2 if e > 1.0 else 0.0)
    own = slope * off + (64.0 + 9.0 * np.abs(e * log)) * U * kept
    moved = np.abs(1.0 - e) * p**-e * off + 2.0 * slope_error(p, q, 1.0 + e)
    error = np.zeros(weights.shape)
    error[on] = own + moved * mean + q * (own.sum() + moved.sum() * mean) / total + gamma(weights.size + 4) * q * mean
    enclosed: Intervals = within(found, 4.0 * error, weakest(weights))
    return enclosed


def _one(alpha: Any) -> float:
    order = float(np.asarray(alpha).max())
    if np.ndim(alpha) or not _LEAST <= order < np.inf:
        raise ValueError(f"alpha: expected one finite order from {_LEAST} on of enclosed scores, got {alpha!r}")
    return order
