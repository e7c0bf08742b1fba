r"""The threshold of entmax: one number per row, found by a Newton method that cannot overshoot.

With :math:`e = \alpha - 1` and :math:`\exp_\alpha y = [1 + ey]_+^{1/e}`, the weights are
:math:`p_i = \exp_\alpha(g_i - \nu)` for gaps :math:`g_i \le 0`, and :math:`\nu` is the root of
:math:`A(\nu) = \sum_i \mu_i \exp_\alpha(g_i - \nu) = 1`, where :math:`\mu` counts (ones), masks (zeros) or measures
(cells of a grid). :math:`A` falls, and :math:`\mu_k \exp_\alpha(-\nu) \le A \le \mu(\text{all})\exp_\alpha(-\nu)` for
the entry :math:`k` of gap zero puts the root between :math:`-\log_\alpha(1/\mu_k)` and :math:`-\log_\alpha(1/\sum\mu)`;
without a measure this is :math:`[0, (1 - n^{1-\alpha})/(\alpha - 1)]`.

*Newton on the norm.* Write :math:`x_i = [1 + e(g_i - \nu)]_+`, affine in :math:`\nu` on the support, and
:math:`N = A^{e} = \|x\|_{1/e}`. For :math:`1 < \alpha \le 2` it is a norm with exponent :math:`1/e \ge 1`, so convex
and falling in :math:`\nu`; for :math:`\alpha < 1` the exponent is negative, :math:`N` is concave and rising. In both
cases a tangent from the left of the root meets 1 before :math:`N` does: from the left end the iterates rise to the root
and none passes it. With :math:`A' = -Q`, :math:`Q = \sum\mu_i p_i^{2-\alpha}`, the step is

.. math:: \delta = \frac{1 - N}{N'} = \frac{A^{e} - 1}{e}\cdot\frac{A^{1-e}}{Q},

which is :math:`\log A` at :math:`\alpha = 1`, where one step is exact, as it is for equal scores at any :math:`\alpha`.
For :math:`\alpha > 2` nothing is convex, and the bracket takes over: a step that leaves it, and every second one after
the eighth, is a bisection.

*The last digit.* :math:`\nu` is rounded to :math:`u|\nu|`, hence the sum of the weights misses 1 by some :math:`r`. A
last Newton step is taken on the weights, :math:`p_i - rp_i^{2-\alpha}/Q`; for :math:`\alpha = 1` that is the division
by the sum, and for :math:`\alpha = 2` it is subtracting the mean, where a division would err by :math:`r|p_i - 1/n|`.
What remains for :math:`\alpha \le 2` is the rounding of :math:`r` and :math:`2u|x_i|` in :math:`x_i`, which moves
:math:`p_i = x_i^{b}`, :math:`b = 1/e \ge 1`, by at most :math:`2ub(1 - x)x^{b-1} \le 2u`. For :math:`\alpha > 2` the
power is steep at the edge: an error :math:`u` in :math:`x` costs up to :math:`u^{1/(\alpha-1)}`. There the step starts
from the left end of the bracket, where every entry of the support has weight and the sum exceeds 1: the step gives the
surplus to the entries on the edge, which caused it; what it would push below zero is clipped and the row divided by its
sum.

*Near ties of a high order.* The largest weight :math:`w` has :math:`w^e = 1 - e\nu`, of which a threshold near
:math:`1/e` keeps no digits: :math:`2^{-49}` for two equal scores of order 50. There the unknown is :math:`w` itself.
With :math:`r_i = [1 - e|g_i|w^{-e}]_+` the weights are :math:`p_i = wr_i^{1/e}`, their sum rises in :math:`w`, and
halving :math:`[1/\sum\mu, 1/\mu_k]` leaves two neighbouring floats, between which only the entries on the edge change
much: they get what is missing to one. The power :math:`w^{-e}` is known up to :math:`e|\log w|` roundings.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from theory.maxent.batch import Array, blocks
from theory.maxent.tsallis import deformed_exp, deformed_log

_STEPS = 200  # derived: 8 free steps, then a bisection in every second, 53 of which exhaust a bracket, twice over
_FREE = 8  # taken: the Newton steps that may go by without a bisection
_TIED = 2.0**-5  # taken: a power of the largest weight below it has lost as many bits of the threshold
_STEEP = 4.0  # taken: orders above 5, of which every row is solved for its largest weight
_STILL = 2.0**-51  # derived: a step of four roundings of the threshold, which the last step on the weights absorbs


class Solution(NamedTuple):
    """Weights, (m, n), and thresholds, (m, 1), above the largest score in units of the temperature."""

    weights: Array
    threshold: Array


def solve(gaps: Array, measure: Array, alpha: Array) -> Solution:
    """Solve rows of gaps, (m, n), at most zero with a zero of positive measure, for finite ``alpha``, (m, 1).

    A row of measure zero has weights zero and threshold zero.
    """
    weights, threshold = np.zeros(gaps.shape), np.zeros((gaps.shape[0], 1))
    for part in blocks(*gaps.shape):
        some = part.start + np.flatnonzero((measure[part] > 0.0).any(axis=1))
        if some.size:
            weights[some], threshold[some] = _block(gaps[some], measure[some], alpha[some] - 1.0)
    return Solution(weights, threshold)


def _block(gaps: Array, measure: Array, e: Array) -> Solution:
    nu, low = _search(gaps, measure, e)
    p, q, total, slope = _sums(gaps, measure, e, nu)
    for back in range(_STEPS):
        short = (e > 1.0) & (total < 1.0) & (nu > low)
        if not short.any():
            break
        nu = np.where(short, np.maximum(low, nu - 2.0**back * _STILL * (1.0 + np.abs(nu))), nu)
        p, q, total, slope = _sums(gaps, measure, e, nu)
    rest = total - 1.0
    weights = np.where(measure > 0.0, np.maximum(p - rest * (q / slope), 0.0), 0.0)
    if (e > 1.0).any():
        weights = weights / np.where(e > 1.0, (measure * weights).sum(axis=1, keepdims=True), 1.0)
    threshold = nu + rest / slope
    steep = (e[:, 0] > _STEEP) | ((e[:, 0] > 1.0) & (1.0 - e[:, 0] * nu[:, 0] < _TIED))
    tied = np.flatnonzero(steep)
    if tied.size:
        weights[tied], threshold[tied] = _beside_ties(gaps[tied], measure[tied], e[tied])
    return Solution(weights, threshold)


def _beside_ties(gaps: Array, measure: Array, e: Array) -> Solution:
    """Solve rows of order above 2 for the largest weight instead of the threshold."""
    there = measure > 0.0
    peak = np.argmax(np.where(there, gaps, -np.inf), axis=1)[:, np.newaxis]
    below = np.where(there & (gaps < 0.0), np.log(e) + np.log(np.where(gaps < 0.0, -gaps, 1.0)), -np.inf)
    low, high = 1.0 / measure.sum(axis=1, keepdims=True), 1.0 / np.take_along_axis(measure, peak, axis=1)

    def weights_at(w: Array) -> Array:
        with np.errstate(over="ignore", divide="ignore"):
            left = -np.expm1(np.minimum(below - e * np.log(w), 0.0))
            return np.where(there, w * left ** (1.0 / e), 0.0)

    while True:
        middle = low + 0.5 * (high - low)
        between = (low < middle) & (middle < high)
        if not between.any():
            break
        enough = (measure * weights_at(middle)).sum(axis=1, keepdims=True) >= 1.0
        low, high = np.where(between & ~enough, middle, low), np.where(between & enough, middle, high)
    least, most = weights_at(low), weights_at(high)
    short = 1.0 - (measure * least).sum(axis=1, keepdims=True)
    apart = (measure * (most - least)).sum(axis=1, keepdims=True)
    p = least + (most - least) * np.clip(short / np.where(apart > 0.0, apart, 1.0), 0.0, 1.0)
    return Solution(p / (measure * p).sum(axis=1, keepdims=True), -np.expm1(e * np.log(high)) / e)


def _sums(gaps: Array, measure: Array, e: Array, nu: Array) -> tuple[Array, Array, Array, Array]:
    """Return weights and slopes at a threshold, and the sums of both."""
    p, q = deformed_exp(gaps - nu, e)
    return p, q, (measure * p).sum(axis=1, keepdims=True), (measure * q).sum(axis=1, keepdims=True)


def _search(gaps: Array, measure: Array, e: Array) -> tuple[Array, Array]:
    """Return the thresholds, and the largest ones seen at which the sum is at least one."""
    peak = np.argmax(np.where(measure > 0.0, gaps, -np.inf), axis=1)[:, np.newaxis]
    low = -deformed_log(1.0 / np.take_along_axis(measure, peak, axis=1), e)
    high = -deformed_log(1.0 / measure.sum(axis=1, keepdims=True), e)
    high = high + _STILL * (1.0 + np.abs(high))
    found, least = low.copy(), low.copy()
    nu, live = low, np.arange(e.size)
    for step in range(_STEPS):
        _, _, total, slope = _sums(gaps, measure, e, nu)
        low, high = np.where(total >= 1.0, nu, low), np.where(total <= 1.0, nu, high)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            change = deformed_log(total, e) * total ** (1.0 - e) / slope
        near = _STILL * (1.0 + np.abs(nu))
        moving = ((np.abs(change) > near) | np.isnan(change)) & (high - low > near)
        found[live], least[live] = nu, low
        if not moving.any():
            break
        ahead = nu + change
        halve = ~((low < ahead) & (ahead < high)) | ((step >= _FREE) & (step % 2 == 1) & (e > 1.0))
        nu = np.where(moving, np.where(halve, low + 0.5 * (high - low), ahead), nu)
        if 2 * np.count_nonzero(moving) <= moving.size:  # the rows that are left go on without the others
            left = moving[:, 0]
            live, nu, low, high, e = live[left], nu[left], low[left], high[left], e[left]
            gaps, measure = gaps[left], measure[left]
    return found, least
