r"""The Gibbs variational principle behind softmax.

For scores :math:`s` and temperature :math:`\tau > 0`, the free energy :math:`F(p) = \langle p, s \rangle + \tau
H(p)` is largest at :math:`p^* = \mathrm{softmax}(s / \tau)`; any :math:`p` falls short by :math:`\tau\,\mathrm{KL}(p
\,\|\, p^*)`. With a reference law :math:`\mu`, :math:`\mathrm{KL}(\nu\,\|\,\mu) - \nu(a)` is least at the
Boltzmann-Gibbs transform :math:`\Psi_{e^a}(\mu)`, with value :math:`-\log\mu(e^a)`, and any :math:`\nu` exceeds it by
:math:`\mathrm{KL}(\nu\,\|\,\Psi_{e^a}(\mu))`.

References
----------
M. Donsker and S. Varadhan, *Comm. Pure Appl. Math.* 28 (1975), 1-47.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from theory._validate import as_positive, as_simplex, as_vector
from theory.attention import Measure, boltzmann_gibbs, transform_error
from theory.evidence import Interval, Intervals, Kind, as_intervals, exact, is_enclosed
from theory.evidence.intervals import weakest
from theory.evidence.roundoff import EXP_ULPS, SUBNORMAL, U, gamma, softmax_error, total
from theory.maxent.gibbs.enclosed import enclose_weights, middle, relative_error

Array = NDArray[np.float64]
_OPS = 2 * EXP_ULPS + 4  # derived: per summand a logarithm, two products and one difference; the sum itself is exact
_LEAST_AT = math.exp(-1.0)  # where x log x is least; up to its last digit
_LOST = 2.0**-1011  # derived: p log p of a subnormal p is smaller, and charged whole


class Law(NamedTuple):
    """A computed law and the bound on the relative error of each of its weights that is at least 1e-300."""

    weights: Array
    error: float


def entropy(weights: ArrayLike) -> Interval:
    """Enclose the Shannon entropy of ``weights``, shape (n,), in nats."""
    if is_enclosed(weights):
        return -_x_log_x(as_intervals(weights)).sum()  # type: ignore[no-any-return]
    p = as_simplex(weights, "weights")
    summands = -xlogy(p, p)
    return total(summands, gamma(_OPS) * np.abs(summands) + _LOST)


def expectation(weights: ArrayLike, values: ArrayLike) -> Interval:
    """Enclose the mean of ``values``, shape (n,), under ``weights``, shape (n,), in the unit of the values."""
    if is_enclosed(weights, values):
        return (as_intervals(weights) * values).sum()  # type: ignore[no-any-return]
    v = as_vector(values, "values")
    summands = as_simplex(weights, "weights", size=v.size) * v
    return total(summands, gamma(2) * np.abs(summands) + SUBNORMAL)


def divergence(weights: ArrayLike, reference: ArrayLike) -> Interval:
    r"""Enclose :math:`\mathrm{KL}(p \,\|\, q)` in nats; unbounded above where ``weights`` is not absolutely continuous.

    Parameters
    ----------
    weights, reference : array_like, shape (n,)
        Probability vectors.

    Returns
    -------
    Interval
        Kind ``NUMERIC``; the rounding of every summand is charged to its width.

    Raises
    ------
    ValueError
        If the shapes differ, a vector leaves the simplex, or ``weights`` has mass where ``reference`` has none.
    """
    if is_enclosed(weights, reference):
        return _enclosed_divergence(as_intervals(weights), as_intervals(reference))
    p = as_simplex(weights, "weights")
    q = as_simplex(reference, "reference", size=p.size)
    if np.any((p > 0.0) & (q == 0.0)):
        at = int(np.flatnonzero((p > 0.0) & (q == 0.0))[0])
        raise ValueError(f"reference: expected mass wherever weights have some, got none at index {at}")
    on = p > 0.0
    left = xlogy(p[on], p[on])
    right = p[on] * np.log(q[on])
    return total(np.concatenate([left, -right]), gamma(_OPS) * np.abs(np.concatenate([left, right])) + _LOST)


def _x_log_x(p: Intervals) -> Intervals:
    """Enclose x log x of weights, a convex function that is least, -1/e, at 1/e; zero at zero."""
    ends: list[Intervals] = []
    for end in (np.maximum(p.lo, 0.0), np.maximum(p.hi, 0.0)):
        positive = exact(np.where(end > 0.0, end, 1.0))
        ends.append(as_intervals(np.where(end > 0.0, positive * np.log(positive), 0.0)))
    falls = p.lo < _LEAST_AT
    rises = p.hi > _LEAST_AT
    lo = np.where(falls & rises, -np.nextafter(_LEAST_AT, 1.0), np.minimum(ends[0].lo, ends[1].lo))
    return Intervals(lo, np.maximum(ends[0].hi, ends[1].hi), max(p.kind, Kind.NUMERIC))


def _enclosed_divergence(p: Intervals, q: Intervals) -> Interval:
    """Enclose the divergence; where a weight may vanish, p log(p / q) lies between -q / e and its value at the end."""
    if ((p.hi > 0.0) & (q.lo <= 0.0)).any():
        at = int(np.flatnonzero((p.hi > 0.0) & (q.lo <= 0.0))[0])
        raise ValueError(f"reference: expected mass wherever weights have some, got none at index {at}")
    there = p.lo > 0.0
    some = as_intervals(np.where(there, p, 1.0))
    other = as_intervals(np.where(q.lo > 0.0, q, 1.0))
    terms = some * (np.log(some) - np.log(other))
    most = exact(np.where(p.hi > 0.0, p.hi, 1.0))
    largest: Intervals = most * (np.log(most) - np.log(other))
    above = np.where(p.hi > 0.0, np.maximum(largest.hi, 0.0), 0.0)
    below = np.where(p.hi > 0.0, -other.hi * np.nextafter(_LEAST_AT, 1.0), 0.0)
    ends = Intervals(np.where(there, terms.lo, below), np.where(there, terms.hi, above), terms.kind)
    found: Interval = ends.sum()
    return found


def free_energy(scores: ArrayLike, weights: ArrayLike, *, tau: float = 1.0) -> Interval:
    r"""Enclose the free energy :math:`\langle p, s\rangle + \tau H(p)` of ``weights``.

    Parameters
    ----------
    scores, weights : array_like, shape (n,)
        Finite scores and a law on them, dimensionless.
    tau : float, default 1.0
        Temperature, dimensionless, positive.

    Returns
    -------
    Interval
        Kind ``NUMERIC``; the rounding of every summand is charged to its width.

    Raises
    ------
    ValueError
        If the shapes differ, ``weights`` leaves the simplex or ``tau <= 0``.
    """
    if is_enclosed(scores, weights, tau):
        return expectation(weights, as_intervals(scores)) + tau * entropy(as_intervals(weights))
    return expectation(weights, as_vector(scores, "scores")) + as_positive(tau, "tau") * entropy(weights)


def gibbs_law(scores: ArrayLike, *, tau: float = 1.0) -> Law:
    """Return the maximiser of the free energy, computed as every layer does, with the bound on its rounding."""
    if is_enclosed(scores, tau):
        found = gibbs_law(middle(scores), tau=middle(tau))
        relative = max(found.error, relative_error(scores, None, tau, -1))
        return Law(enclose_weights(found.weights, relative, weakest(scores, tau)), relative)  # type: ignore[arg-type]
    with np.errstate(over="ignore"):
        s = as_vector(scores, "scores") / as_positive(tau, "tau")
    if not np.isfinite(s).all():
        raise ValueError(f"tau: expected scores / tau that float64 can hold, got an overflow at tau = {tau!r}")
    reference = Measure(s[:, np.newaxis])
    # the division by the temperature rounds each score once more, which is as much as one more unit of their size
    return Law(boltzmann_gibbs(reference, s).weights, transform_error(reference, s * (1.0 + 1.0 / EXP_ULPS)))


def log_partition(scores: ArrayLike, reference: ArrayLike) -> Interval:
    r"""Enclose :math:`\log \mu(e^a)` for scores :math:`a` and the law :math:`\mu`, both of shape (n,)."""
    a = as_vector(scores, "scores")
    mu = as_simplex(reference, "reference", size=a.size)
    logits = a[mu > 0.0] + np.log(mu[mu > 0.0])
    peak = float(logits.max())
    mass = math.fsum(np.exp(logits - peak).tolist())
    size = float(np.abs(a[mu > 0.0]).max() + np.abs(np.log(mu[mu > 0.0])).max())
    relative = softmax_error((2 * EXP_ULPS + 4) * U * size, float(np.ptp(logits)), logits.size)
    value = peak + math.log(mass)
    return Interval.within(
        value, relative + (2 * EXP_ULPS + 2) * U * (abs(value) + math.log(mass) + abs(peak)), Kind.NUMERIC
    )
