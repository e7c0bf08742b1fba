r"""How far a computed Fenchel-Young loss can be from the true one, from the stationarity of the computed law.

Let :math:`\hat p, \hat\nu` be the law and the threshold that :mod:`theory.maxent.losses.fenchel_young` found,
:math:`g_i = (s_i - \max s)/\tau`, and :math:`\rho` the larger of :math:`|g_i - \hat\nu - \log_\alpha\hat p_i|` on the
support and :math:`(g_i - \hat\nu + \frac1{\alpha-1})_+` off it, evaluated in balls. Then :math:`\hat p`, whatever its
origin, is stationary for scores :math:`\hat s` within :math:`\tau\rho` of :math:`s`. Four things make the width, in
units of :math:`\tau`:

- *The law.* :math:`\nabla_s L = \hat y - y`, so :math:`|L(s; y) - L(\hat s; y)| \le \rho(\|\hat p - y\|_1 + \delta)`,
  where :math:`\delta` bounds how far the law moves between the two. For :math:`\alpha \le 2` the entropy is strongly
  concave with constant 1 in :math:`\ell_2`, hence :math:`\delta \le n\rho`; above, its Bregman divergence is at least
  :math:`\|p - q\|_\alpha^\alpha/(\alpha(\alpha-1))`, hence :math:`\delta \le
  n(\frac12 n\alpha(\alpha-1)\rho)^{1/(\alpha-1)}`. Entries whose target exceeds twice their weight are evaluated from
  their scores instead of their weights: at most :math:`2\rho\|\hat p - y\|_1` more.
- *The mass.* A sum :math:`1 + r` of :math:`\hat p` costs at most :math:`r^2`, as the loss is stationary in the
  threshold with second derivative :math:`\sum p^{2-\alpha} \ge \sum p`. A sum :math:`1 + m` of the target costs
  :math:`|m|` times the largest summand.
- *Summands near the law*, :math:`y_i \le 2\hat p_i`, are relatively accurate: the closed form is left where it would
  lose more than :math:`2^7u`.
- *The others* carry some twenty roundings of each of their terms, which may cancel; a logarithm that is the difference
  of a power from 1 is off by one plus the exponent.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from theory import evidence
from theory._validate import as_positive, as_vector
from theory.evidence import Interval
from theory.evidence.roundoff import gamma
from theory.maxent.batch import Array
from theory.maxent.losses.fenchel_young import fenchel_young_loss
from theory.maxent.sparse.enclosed import moved_by
from theory.maxent.sparse.entmax import Solved, solve_entmax
from theory.maxent.sparse.tsallis import deformed_log

_BITS = 256  # taken: as for the Frank-Wolfe gap, powers of weights cancel beside order 1
_LEAST = 0.5  # taken: below it the loss is written in another form, of which this module knows nothing
_NEAR = 2**10  # derived: eight roundings that lose 2**7 each
_FAR = 64  # derived: twenty roundings, three times over


def loss_interval(scores: ArrayLike, target: ArrayLike, alpha: float, *, tau: float = 1.0) -> Interval:
    """Enclose the Fenchel-Young loss of one row around what :func:`theory.maxent.fenchel_young_loss` returns.

    Parameters
    ----------
    scores, target : array_like, shape (n,)
        Finite scores, and a law, which is divided by its sum.
    alpha : float
        At least one half; infinity allowed.
    tau : float, default 1.0
        Positive temperature.

    Returns
    -------
    Interval
        In the unit of the scores, kind ``NUMERIC``; unknown if ``alpha <= 1`` and a weight underflows, or if a gap over
        the temperature is beyond the range of float64. That a loss is not negative is not used.

    Raises
    ------
    ValueError
        If shapes do not fit, a number is not finite, the target leaves the simplex, ``alpha`` is below one half or
        ``tau`` is not positive.
    """
    s = as_vector(scores, "scores")
    y = as_vector(target, "target")
    order = _order(alpha)
    t = as_positive(tau, "tau")
    value = float(fenchel_young_loss(s, y, order, tau=t))
    found = solve_entmax(s, order, t, -1)
    gaps = found.batch.gaps[0]
    p = found.laws[0]
    nu = float(found.threshold[0, 0])
    mass = abs(math.fsum([*y.tolist(), -1.0]))
    if not gaps.min() > -sys.float_info.max:
        return Interval.unknown()
    if math.isinf(order):
        return Interval.within(value, 2.0 * gamma(s.size + 4) * value + 2.0 * t * mass * float(np.abs(gaps).max()))
    rho = _residual(s, found)
    apart = float(np.abs(p - y).sum())
    rest = math.fsum([*p.tolist(), -1.0])
    logs, bent = _logs(y, order)
    size = np.where(y > 0.0, (np.abs(logs) + 1.0) * bent / order + np.abs(gaps) + abs(nu), 0.0)
    far = float(np.sum(np.where(y > 2.0 * p, y * size + p**order / order, 0.0)))
    error = rho * (3.0 * apart + moved_by(rho, s.size, order)) + rest**2 + mass * float(size.max()) + gamma(_FAR) * far
    return Interval.within(value, 2.0 * (t * error + gamma(_NEAR + s.size) * value))  # twice: its own rounding


def law_error(scores: ArrayLike, alpha: float, *, tau: float = 1.0) -> float:
    r"""Bound the distance :math:`\sum_i|\hat p_i - p_i|` of what :func:`theory.maxent.entmax` returns from entmax.

    Arguments and errors as in :func:`stationarity_residual`.
    """
    s, found = _solved(scores, alpha, tau)
    rest = abs(math.fsum([*found.laws[0].tolist(), -1.0]))
    return 2.0 * (moved_by(_residual(s, found), s.size, float(found.alpha[0, 0])) + rest)


def stationarity_residual(scores: ArrayLike, alpha: float, *, tau: float = 1.0) -> float:
    r"""Bound :math:`\rho`, by which scores over temperature must move to make the computed law and threshold exact.

    Arguments and errors as in :func:`loss_interval`, finite ``alpha``; infinite if ``alpha <= 1`` and a weight
    underflows. The maximum that :func:`theory.maxent.entmax_value` returns is off by at most
    :math:`\tau\rho` and rounding, as its gradient is a law.
    """
    return _residual(*_solved(scores, alpha, tau))


def _solved(scores: ArrayLike, alpha: float, tau: float) -> tuple[Array, Solved]:
    s = as_vector(scores, "scores")
    order = _order(as_positive(alpha, "alpha"))
    return s, solve_entmax(s, order, as_positive(tau, "tau"), -1)


def _order(alpha: float) -> float:
    order = alpha if isinstance(alpha, float) and alpha == math.inf else as_positive(alpha, "alpha")
    if order < _LEAST:
        raise ValueError(f"alpha: expected at least {_LEAST}, got {alpha!r}")
    return order


def _residual(s: Array, found: Solved) -> float:
    p = found.laws[0]
    order = float(found.alpha[0, 0])
    if order <= 1.0 and not (p > 0.0).all():
        return math.inf
    with evidence.precision(_BITS):
        exact = evidence.balls(s)
        t, nu, top = (evidence.balls(x).item() for x in (found.batch.tau[0, 0], found.threshold[0, 0], s.max()))
        worst = [0.0]
        for x, weight in zip(exact, evidence.balls(p), strict=True):
            off = evidence.hull((x - top) / t - nu - _log(weight, order))
            worst.append(abs(off).hi if weight > 0 else off.hi)
        return max(worst)


def _logs(y: Array, alpha: float) -> tuple[Array, Array]:
    """Return the deformed logarithms of a target, zero where it vanishes, and how much their roundings are worth."""
    e = np.array(alpha - 1.0)
    safe = np.where(y > 0.0, y, 1.0)
    return deformed_log(safe, e), 1.0 + np.abs(e * np.log(safe))


def _log(p: Any, alpha: float) -> Any:
    r"""Return :math:`\log_\alpha p` of a ball; at zero only for orders above 1."""
    if alpha == 1.0:
        return p.log()
    e = evidence.balls(alpha).item() - 1
    return ((p**e if p > 0 else 0) - 1) / e
