r"""Softmax asked with enclosures: what is computed at the middles, widened by all that may be off.

*Weights.* A gap :math:`(s_i - \max s)/\tau` is formed by one subtraction and one division, so it is off by
:math:`2u` of itself, and a prior costs a product or two. Scores known up to :math:`\rho` move every score by
:math:`\rho/\tau`, a temperature known up to :math:`\sigma` moves every gap by its share :math:`\sigma/(\tau-\sigma)`,
and a prior known up to a factor :math:`1 + r` adds :math:`\log(1 + r)`. A relative error of the weights follows by
:func:`~theory.evidence.roundoff.softmax_error`.

*Logarithm and value.* :math:`\log(1 + r) \le r`, so the logarithm of a weight is off by the relative error of the
weight, and by a few roundings of its own size; so is :math:`\tau` times that of the sum.

*Derivative.* A product of two weights is off by the error of either times the other, and by its rounding; the diagonal
of the Jacobian is the sum of a row of them. A centred cotangent is within twice its size, and its mean off by what the
weights and the sum of n products are off by.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.evidence import Intervals, Kind, as_intervals, is_enclosed, within
from theory.evidence.intervals import weakest
from theory.evidence.roundoff import EXP_ULPS, TINY, U, gamma, softmax_error

Array = NDArray[np.float64]


def middle(value: Any) -> Any:
    """Return the middle of an enclosure, and what has no error as it is."""
    return value.mid if hasattr(value, "mid") and hasattr(value, "kind") else value


def relative_error(scores: Any, prior: Any, tau: Any, axis: int) -> float:
    """Bound the relative error of every weight of :func:`theory.maxent.softmax` at the middles of its arguments."""
    s = np.asarray(middle(scores), dtype=np.float64)
    present = s > -np.inf
    top = np.max(s, axis=axis, keepdims=True, where=present, initial=-np.inf)
    bottom = np.min(s, axis=axis, keepdims=True, where=present, initial=np.inf)
    coldest = np.asarray(getattr(tau, "lo", tau))
    spread = float(np.where(present.any(axis=axis, keepdims=True), top - bottom, 0.0).max() / coldest.min())
    share = float((as_intervals(tau).radius / coldest).max()) if is_enclosed(tau) else 0.0
    moved = float(scores.radius.max() / coldest.min()) if isinstance(scores, Intervals) else 0.0
    if isinstance(prior, Intervals):
        with np.errstate(divide="ignore", over="ignore"):  # of a mass that may vanish nothing is known
            moved += float(np.where(prior.radius > 0.0, prior.radius / np.maximum(prior.lo, 0.0), 0.0).max())
    return softmax_error((2 * U + share) * spread + moved, spread, s.shape[axis]) + gamma(4)


def enclose_weights(found: Array, relative: float, kind: Kind) -> Intervals:
    """Enclose weights that were computed up to a relative error; what is masked has none, exactly."""
    error = np.where(found > 0.0, relative * np.where(found > 0.0, found, 1.0) + TINY, TINY * (found > 0.0))
    enclosed: Intervals = np.minimum(np.maximum(within(found, error, kind), 0.0), 1.0)
    return enclosed


def enclose_logarithms(found: Array, relative: float, kind: Kind) -> Intervals:
    """Enclose the logarithms of such weights."""
    enclosed: Intervals = within(found, relative + 4 * U * np.abs(found), kind)
    return enclosed


def enclose_values(found: Array, scores: Any, prior: Any, tau: Any, relative: float) -> Any:
    """Enclose the attained maxima, which are off as a logarithm of a weight is, and by their last operations."""
    s = np.asarray(middle(scores))
    t = as_intervals(tau).hi.max()
    logs = 0.0
    if prior is not None:
        masses = np.asarray(middle(prior))
        logs = float(np.abs(np.log(masses[masses > 0.0])).max())
    size = float(np.abs(s[s > -np.inf]).max()) + t * (1.0 + logs) + np.abs(found)
    # the slope in the temperature is an entropy, or less a divergence from the prior
    moved = max(logs, float(np.log(s.size))) * float(as_intervals(tau).radius.max()) if is_enclosed(tau) else 0.0
    return within(found, t * relative + (2 * EXP_ULPS + 6) * U * size + moved, weakest(scores, prior, tau))


def enclose_jacobian(found: Array, weights: Intervals) -> Intervals:
    """Enclose the Jacobian at temperature one that was computed at the middles of weights, shape (..., n, n)."""
    p, off = weights.mid, weights.radius
    left, across = off[..., :, np.newaxis], p[..., np.newaxis, :]
    products = p[..., :, np.newaxis] * across
    error = left * across + p[..., :, np.newaxis] * off[..., np.newaxis, :] + left * off[..., np.newaxis, :]
    error = 1.5 * error + gamma(p.shape[-1] + 8) * products
    own = np.arange(p.shape[-1])
    error[..., own, own] = 0.0
    error[..., own, own] = error.sum(axis=-1)
    enclosed: Intervals = within(found, error + TINY * (error > 0.0), weakest(weights))
    return enclosed


def enclose_vjp(found: Array, weights: Intervals, cotangent: Array, axis: int) -> Intervals:
    """Enclose the product of that Jacobian with a cotangent."""
    p = weights.mid
    off = weights.radius
    c = np.abs(cotangent)
    rounding = gamma(p.shape[axis] + 8)
    mean = ((off + rounding * p) * c).sum(axis=axis, keepdims=True)
    size = 2.0 * c.max(axis=axis, keepdims=True)
    error = 1.5 * (off * size + p * mean + rounding * p * size) + TINY
    enclosed: Intervals = within(found, error, weakest(weights))
    return enclosed
