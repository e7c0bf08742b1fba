r"""Sparse maps asked with enclosures: what is computed at the middles, widened by all that may be off.

*Weights.* A computed weight is off by at most :func:`~theory.maxent.sparse.threshold.weight_error`; above order 2 a
base that is off by :math:`(2(\alpha-1) + 8)u` moves it by :math:`p^{2-\alpha}/(\alpha-1)` times that, twice over.
Scores known up to :math:`\rho` move scores over temperature by :math:`\rho/\tau`, and a law by no more than
:func:`moved_by` says.

*Value.* The maximum is 1-Lipschitz in the scores, because its gradient is a law; scores within
:math:`\tau` times the stationarity residual have the computed law and threshold.

*Derivative in the scores.* A slope :math:`q = p^{2-\alpha}` is off by :math:`|2-\alpha|p^{1-\alpha}` times what the
weight is off by, and by its own rounding.

*Derivative in the order.* :math:`r = (p - p^{1-e} - ep\log p)/e^2`, :math:`e = \alpha - 1`, has the slope
:math:`((1-e)(1 - p^{-e}) - e\log p)/e^2`, at order one :math:`-\log p - \frac12\log^2p`; as it is computed, its
logarithm, its power and :math:`\varphi` lose at most :math:`64u` of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.evidence import Intervals, within
from theory.evidence.intervals import weakest
from theory.evidence.roundoff import U, gamma
from theory.maxent.sparse.threshold import weight_error

Array = NDArray[np.float64]
_LEAST = 0.5  # derived: below it the error of a weight has no published bound
_BESIDE = 1e-4  # taken: a difference of orders from one below which the limit is taken, doubled


def moved_by(rho: float, n: int, alpha: float) -> float:
    r"""Bound :math:`\sum_i|\Delta p_i|` when every score over temperature moves by at most :math:`\rho`.

    Up to order 2 the entropy is strongly concave with constant 1 in :math:`\ell_2`, which gives :math:`n\rho`; above,
    its divergence is at least :math:`\|p - q\|_\alpha^\alpha/(\alpha(\alpha-1))`.
    """
    if alpha <= 2.0:
        return n * rho
    return float(n * (0.5 * n * alpha * (alpha - 1.0) * rho) ** (1.0 / (alpha - 1.0)))


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


def enclose_vjp(found: Array, weights: Intervals, cotangent: Array, alpha: Any, tau: Any) -> Intervals:
    """Enclose the product of the Jacobian of one row with a cotangent."""
    order = _one(alpha)
    p, off = weights.mid, weights.radius
    on = p > 0.0
    safe = np.where(on, p, 1.0)
    q = np.where(on, safe ** (2.0 - order), 0.0)
    slope = np.where(on, abs(2.0 - order) * q / safe * off + 16 * U * q, 0.0)
    if order < 2.0:  # of a weight that may vanish the slope lies between zero and that of the largest
        slope = np.where(on & (p <= 2.0 * off), (p + off) ** (2.0 - order), slope)
    apart = np.abs(cotangent - q @ cotangent / q.sum())
    mean = (slope @ apart) / q.sum() + gamma(p.size + 6) * float(np.abs(cotangent).max())
    error = 2.0 * (slope * apart + q * (mean + 4 * U * apart)) / float(tau)
    enclosed: Intervals = within(found, error, weakest(weights))
    return enclosed


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
    own = slope * off + 64 * U * np.abs(r)
    moved = np.abs(1.0 - e) * p**-e * off + 16 * U * q
    error = np.zeros(weights.shape)
    error[on] = own + moved * mean + q * (own.sum() + moved.sum() * mean) / total + gamma(weights.size + 4) * q * mean
    enclosed: Intervals = within(found, 4.0 * error, weakest(weights))
    return enclosed


def _one(alpha: Any) -> float:
    order = float(np.asarray(alpha).max())
    if np.ndim(alpha) or not _LEAST <= order < np.inf:
        raise ValueError(f"alpha: expected one finite order from {_LEAST} on of enclosed scores, got {alpha!r}")
    return order
