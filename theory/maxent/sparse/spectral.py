r"""How steep entmax is at a law: the largest eigenvalue of its Jacobian, enclosed, for any number of entries.

With :math:`q_i = p_i^{2-\alpha}` on the support, :math:`Q = \sum q` and
:math:`\tau J = \mathrm{diag}(q) - qq^\top/Q`,

.. math:: \tau\,x^\top Jx = \min_c \sum_i q_i(x_i - c)^2,

so :math:`J` is positive semi-definite, its spectral norm is its largest eigenvalue, and this grows with every
:math:`q_i`: slopes known up to a relative error give the eigenvalue up to the same one. The eigenvalues interlace with
the slopes: a slope that occurs :math:`m` times is one :math:`m - 1` times, and the largest lies between the two
largest slopes, where it is the only root of

.. math:: \sum_i \frac{q_i}{q_i - \lambda} = 0.

Between them one summand is positive and all others are negative, so the sign of the sum is that of a difference of two
sums of positive terms, which floats decide unless both agree to a few roundings. Halving from either side by decided
signs encloses the root. Equal weights are given once, with their number: :math:`10^{16}` entries cost what two do.

References
----------
G. H. Golub, *Some modified matrix eigenvalue problems*, SIAM Review 15 (1973), 318-334, section 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_positive, as_simplex, as_vector
from theory.evidence import Interval, Intervals
from theory.evidence.roundoff import gamma
from theory.maxent.batch import Array
from theory.maxent.sparse.enclosed import slope_error
from theory.maxent.sparse.entmax import slopes

_NORMAL = 2.0**-1022
_FAR = 700.0  # taken: of a larger spread float64 holds no exponential
_STEPS = 2200  # derived: float64 has 2098 binades, and one of them 53 halvings; a bracket of neighbours ends it earlier


def entmax_norm(weights: ArrayLike, alpha: float, *, counts: ArrayLike | None = None, tau: float = 1.0) -> Interval:
    r"""Enclose the spectral norm of the Jacobian of entmax at the law ``weights``.

    Parameters
    ----------
    weights : array_like or Intervals, shape (m,)
        Weights of a law, each given once.
    alpha : float
        Positive, finite order.
    counts : array_like, shape (m,), optional
        How many entries have each weight, integers from 1 on; one each unless given.
    tau : float, default 1.0
        Positive temperature.

    Returns
    -------
    Interval
        Kind ``NUMERIC``. At orders from 2 on and a law with zeros, of the limit from laws of this support.

    Raises
    ------
    ValueError
        If shapes differ, the law leaves the simplex, a count is no integer from 1 on, ``alpha`` or ``tau`` is not
        positive, or a slope leaves the range of float64.
    """
    order = as_positive(alpha, "alpha")
    if isinstance(weights, Intervals):
        known = weights.lo > 0.0
        share = float((weights.radius / np.where(known, weights.lo, 1.0))[weights.hi > 0.0].max())
        spread = 2.0 * abs(2.0 - order) * share if known[weights.hi > 0.0].all() else math.inf
        around = math.expm1(spread) if spread < _FAR else math.inf
        return entmax_norm(weights.mid, order, counts=counts, tau=tau) * Interval.within(1.0, around)
    temperature = as_positive(tau, "tau")
    p = as_vector(weights, "weights")
    many = np.ones(p.size) if counts is None else as_vector(counts, "counts", size=p.size)
    if not ((many >= 1.0) & (many == np.floor(many))).all():
        raise ValueError(f"counts: expected integers from 1 on, got {many[(many < 1.0) | (many != np.floor(many))][0]}")
    as_simplex(p * many, "weights")
    on = p > 0.0
    q = slopes(p, np.array(order))
    held = q > 0.0  # a slope of a light weight may be no float
    return _around(_largest(q[held], many[held]), p[on], q[on], many[on], order) / temperature


def _around(found: Interval, p: Array, q: Array, many: Array, order: float) -> Interval:
    r"""Widen the eigenvalue of computed slopes by what they may be off.

    That is the largest relative error of slopes in the normal range. The others, :math:`m` of them, are off by at most
    :math:`\delta` and move :math:`\min_c \sum q_i(x_i - c)^2` by at most
    :math:`\delta\sum(x_i - c)^2 \le 2\delta(1 + m)`, since a mean of entries of a unit vector is at most 1.
    """
    if p.size == 1 and found.hi == 0.0:
        return found
    error = slope_error(p, q, order)
    normal = q >= _NORMAL
    relative = float((error[normal] / q[normal]).max(initial=0.0)) * (1.0 + 2.0**-30)
    lost = float(error[~normal].max(initial=0.0)) * 2.0 * (1.0 + float(many[~normal].sum()))
    return found * Interval.within(1.0, relative) + Interval(-lost, lost)


def _largest(q: Array, many: Array) -> Interval:
    """Enclose the largest eigenvalue for positive slopes, each occurring so many times."""
    values, place = np.unique(-q, return_inverse=True)
    values = -values
    times = np.bincount(place.ravel(), weights=many)
    if times[0] >= 2.0:
        return Interval.exactly(float(values[0]))
    if values.size == 1:
        return Interval.exactly(0.0)
    rest = times[1:] * values[1:]
    slack = gamma(values.size + 8)

    def side(x: float) -> int:
        """Tell on which side of the root ``x`` lies, or 0 if rounding hides it."""
        ahead = float(values[0]) / (float(values[0]) - x)
        behind = float((rest / (x - values[1:])).sum())
        return int(ahead > behind * (1.0 + slack)) - int(behind > ahead * (1.0 + slack))

    ends = float(values[1]), float(values[0])
    low = _last(*ends, lambda x: side(x) < 0)
    high = _last(ends[1], ends[0], lambda x: side(x) > 0)
    return Interval(low, high)


def _last(start: float, end: float, holds: Callable[[float], bool]) -> float:
    """Return the last point from ``start``, where a condition holds, towards ``end`` at which it was seen to hold."""
    for _ in range(_STEPS):
        middle = start + (end - start) / 2.0
        if middle in (start, end):
            break
        if holds(middle):
            start = middle
        else:
            end = middle
    return start
