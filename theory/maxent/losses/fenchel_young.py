r"""Fenchel-Young losses of the Tsallis entropies: value, gradient, and the conjugate behind them.

:math:`L(s; y) = \Omega^*(s) + \Omega(y) - \langle s, y\rangle` for :math:`\Omega = -\tau H_\alpha` on the simplex;
:math:`\nabla_s L = \hat y - y` with :math:`\hat y` entmax. It is cross-entropy up to the entropy of the target at
:math:`\alpha = 1`, the sparsemax loss at 2, and :math:`\max s - \langle s, y\rangle` at infinity.

*Evaluation.* The three terms cancel beside a perfect prediction. Instead, with :math:`e = \alpha - 1`, :math:`\nu` the
threshold of entmax, :math:`g_i = s_i/\tau - \nu` and :math:`\omega(p) = (p^\alpha/\alpha - p)/e`, so that
:math:`\omega'(p) = \log_\alpha p` and :math:`\omega^*(g) = p^\alpha/\alpha` at :math:`p = \exp_\alpha g`: both sums
being one, constants drop out and

.. math:: L(s; y) = \tau\sum_i \ell_i, \qquad \ell_i = \frac{p_i^\alpha}{\alpha} + \omega(y_i) - g_iy_i \ge 0.

Every term is non-negative and is taken in the form that does not cancel: with :math:`x = y_i/p_i`,
:math:`\ell_i = p_i^\alpha\psi(x)`, :math:`\psi(x) = (x\log_\alpha x - x + 1)/\alpha`, where :math:`x \le 2`, by the
series :math:`\psi(1 + \delta) = \frac{\delta^2}{2}(1 + \frac{\alpha-2}{3}\delta(1 + \frac{\alpha-3}{4}\delta(\dots)))`
for small :math:`\alpha\delta`; beyond, and off the support, :math:`\ell_i = p_i^\alpha/\alpha + y_i((\log_\alpha y_i -
1)/\alpha - g_i)`, which needs no weight that underflowed. For :math:`\alpha < \frac12` both are written with
:math:`(x^\alpha - 1)/\alpha` instead, :math:`\psi = (x - 1 - (x^\alpha - 1)/\alpha)/(1 - \alpha)`. At
:math:`\alpha = \infty`, :math:`\ell_i = y_i(\max s - s_i)/\tau`.

Where the gap over the temperature is beyond the range of float64, :math:`y_i(\max s - s_i)` is taken from the scores,
beside which the rest of :math:`\tau\ell_i` is nothing. A target with mass on a masked entry costs infinity.

References
----------
M. Blondel, A. Martins, V. Niculae, *Learning with Fenchel-Young losses*, J. Mach. Learn. Res. 21 (2020), no. 35.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_scores
from theory.evidence import Intervals
from theory.maxent.batch import Array, Batch, as_laws, as_parameter, flatten_rows, read_gaps, validate_laws
from theory.maxent.sparse.entmax import Solved, entmax, solve_rows
from theory.maxent.sparse.tsallis import deformed_log

_NEAR = 0.125  # taken: alpha |delta| below which the series is used; outside it the closed form loses less than 2**7 u
_LOW = 0.5  # taken: orders below it use the form without a division by a difference of order alpha
_TERMS = 17  # derived: successive terms fall by (alpha + k) |delta| / (k + 1) <= 1/8 + |delta|, so by 2**-53 in 17


def fenchel_young_loss(
    scores: ArrayLike, target: ArrayLike, alpha: ArrayLike, *, tau: ArrayLike = 1.0, axis: int = -1
) -> Array:
    r"""Return :math:`\Omega^*(s) + \Omega(y) - \langle s, y\rangle` per row for :math:`\Omega = -\tau H_\alpha`.

    Parameters
    ----------
    scores : array_like
        Real scores; :math:`-\infty` masks an entry.
    target : array_like, shape of ``scores``
        Laws along ``axis``.
    alpha : array_like
        Positive orders, infinity allowed, broadcast against the rows.
    tau : array_like, default 1.0
        Positive temperature, broadcast likewise.
    axis : int, default -1

    Returns
    -------
    ndarray
        Non-negative losses in the unit of the scores, in the layout of the rows.

    Raises
    ------
    ValueError
        If a target leaves the simplex, a row of scores is masked throughout, a score is NaN or :math:`+\infty`,
        ``alpha`` or ``tau`` is not positive, or shapes do not fit.

    Examples
    --------
    >>> fenchel_young_loss([3.0, 0.0, 0.0], [0.0, 1.0, 0.0], 2.0)
    array(3.)
    """
    found, y, rows = _read(scores, target, alpha, tau, axis)
    read = found.batch
    order = found.alpha
    beyond = (read.gaps <= -sys.float_info.max) & (y > 0.0)
    g = np.where(np.isinf(order), read.gaps, read.gaps - found.threshold)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        terms = np.where(np.isinf(order), np.where(y > 0.0, -y * g, 0.0), _terms(found.laws, y, g, order))
        terms = np.where(read.present, terms, np.where(y > 0.0, np.inf, 0.0))
        own = read.tau * np.where(beyond, 0.0, terms).sum(axis=1, keepdims=True)
        # all but the scores is lost in the rounding there; their difference may overflow where its share does not
        lost = np.where(beyond, 2.0 * (y * (read.peak / 2.0 - rows / 2.0)), 0.0).sum(axis=1, keepdims=True)
        return read.layout.values(own + lost)


def fenchel_young_gradient(
    scores: ArrayLike, target: ArrayLike, alpha: ArrayLike, *, tau: ArrayLike = 1.0, axis: int = -1
) -> Array:
    """Return the gradient of :func:`fenchel_young_loss` in the scores, of the same arguments: entmax less the target.

    At infinite ``alpha`` it is the subgradient that belongs to the uniform law on the largest scores.
    """
    if isinstance(scores, Intervals):
        return entmax(scores, alpha, tau=tau, axis=axis) - as_laws(target, "target")
    found, y, _ = _read(scores, target, alpha, tau, axis)
    return found.batch.layout.laws(found.laws - y)


def _read(
    scores: ArrayLike, target: ArrayLike, alpha: ArrayLike, tau: ArrayLike, axis: int
) -> tuple[Solved, Array, Array]:
    given = {"tau": as_parameter(tau, "tau"), "alpha": as_parameter(alpha, "alpha", infinite=True)}
    arrays = {"scores": as_scores(scores), "target": as_laws(target, "target")}
    layout, (rows, y), (temperature, order) = flatten_rows(arrays, axis, given)
    validate_laws(y, "target")
    read: Batch = read_gaps(rows, rows > -np.inf, temperature, layout)
    if not read.present.any(axis=1).all():
        raise ValueError("scores: expected an entry left in every row, got a row masked throughout")
    return solve_rows(read, order), y, rows


def _terms(p: Array, y: Array, g: Array, alpha: Array) -> Array:
    """Return the non-negative summands of the loss at finite ``alpha``."""
    a = np.where(np.isinf(alpha), 2.0, alpha)
    e = a - 1.0
    near = (p > 0.0) & (y <= 2.0 * p)
    ratio = np.where(near, y / np.where(p > 0.0, p, 1.0), 1.0)
    delta = np.where(near, (y - p) / np.where(p > 0.0, p, 1.0), 0.0)
    logs = deformed_log(np.where(ratio > 0.0, ratio, 1.0), e)
    small = np.abs(delta) * np.maximum(a, 1.0) <= _NEAR
    series = np.ones_like(delta)
    for k in range(_TERMS, 2, -1):
        series = 1.0 + (a - k + 1.0) / k * np.where(small, delta, 0.0) * series
    closed = np.where(ratio > 0.0, ratio * logs - delta, 1.0) / a
    if (a < _LOW).any():  # there x log x - x + 1 cancels, and the same as a power of x does not
        rising = np.expm1(a * np.log(np.where(ratio > 0.0, ratio, 1.0))) / a
        closed = np.where((a < _LOW) & (ratio > 0.0), (delta - rising) / (1.0 - a), closed)
    powers = np.where(p > 0.0, p, 0.0) ** a
    rest = np.where(y > 0.0, y * ((deformed_log(np.where(y > 0.0, y, 1.0), e) - 1.0) / a - g), 0.0)
    far = powers / a + rest
    if (a < _LOW).any():
        both = (p > 0.0) & (y > 0.0)
        mass = np.where(both, y, 1.0)
        apart = np.expm1(a * np.log(np.where(both, p, 1.0) / mass)) / a - 1.0 / (1.0 - a)
        far = np.where((a < _LOW) & both, mass**a * apart + mass * (1.0 / (1.0 - a) - g), far)
    return np.where(near, powers * np.where(small, 0.5 * delta**2 * series, closed), np.maximum(far, 0.0))
