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

*The last digit.* :math:`\nu` is rounded to :math:`u|\nu|`, hence the sum of the weights misses 1 by some :math:`r`, of
which :func:`theory.maxent.batch.excess` keeps all digits: a plain sum of :math:`n` weights is off by up to
:math:`nu`, and would hand that to the weights. A last Newton step is taken on the weights,
:math:`p_i - rp_i^{2-\alpha}/Q`; for :math:`\alpha = 1` that is the division by the sum, and for :math:`\alpha = 2` it
is subtracting the mean, where a division would err by :math:`r|p_i - 1/n|`. What remains for :math:`\alpha \le 2` is
the rounding of each weight by itself. The gap, :math:`g - \nu` and its product with :math:`e` are off by four
roundings, which move :math:`p_j` by :math:`4uq_j|y_j|`, :math:`y = \log_\alpha p`; logarithm and division by
:math:`2up_j|\log p_j|`, the exponential by a few :math:`up_j`. The last step takes off the
weighted mean :math:`\frac{q_i}Q\sum_j`. To first order what is left is at most :math:`(6 + 3\log n)u`; the proof, by
reduction to equal other weights, is in ``proofs/entmax.md``.

*Above order 2* the power is steep at the edge: an error :math:`u` in :math:`x` costs up to :math:`u^{1/e}`, and no
step that is divided by its slope can be trusted there; many entries on the edge at once would even carry away the
weight of the others. There the unknown is the largest weight :math:`w` itself, :math:`w^e = 1 - e\nu`. With
:math:`x_i = 1 - e|g_i|w^{-e}` the weights are :math:`p_i = w[x_i]_+^{1/e}`, each of them rises in :math:`w`, and
halving ends at two neighbouring floats, of which the sums lie on either side of one: between their laws the one of
sum 1 is taken. Each weight then lies between those of the two neighbours, which is what makes the error independent of
:math:`n`. In the base, the floats are :math:`2eu` apart and :math:`x` is off by some roundings, as is the power; the
sum, kept to all digits, decides for a base that is off by no more. So the weights are those of a base within
:math:`(2e + 12)u`, and :math:`[x]_+^{1/e}` is Hölder continuous: :math:`|\Delta p_i| \le (8\alpha u)^{1/e}`, for any
number of scores.

This module is the oracle of :mod:`theory.maxent.kernels`, which solves one row after another, compiled, and to which
:func:`solve` hands over unless ``THEORY_BACKEND`` says otherwise.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from theory.evidence.roundoff import U
from theory.maxent.batch import Array, excess, kernels, own, row_blocks
from theory.maxent.sparse.tsallis import deformed_exp, deformed_log

_STEPS = 200  # derived: 8 free steps, then a bisection in every second, 53 of which exhaust a bracket, twice over
_FREE = 8  # taken: the Newton steps that may go by without a bisection
_STILL = 2.0**-51  # derived: a step of four roundings of the threshold, which the last step on the weights absorbs
_NARROW = (2.0**-51, 2.0**-40, 2.0**-20)  # taken: within which shares of the largest weight Newton's method may end


def weight_error(alpha: float, n: int) -> float:
    r"""Bound the error of a computed weight among ``n``, of a finite order from one half on, at any temperature.

    It is :math:`(6 + 3\log n)u` up to order 2 and :math:`(8\alpha u)^{1/(\alpha-1)}` beyond.
    """
    return (6.0 + 3.0 * math.log(n)) * U if alpha <= 2.0 else float((8.0 * alpha * U) ** (1.0 / (alpha - 1.0)))


class Solution(NamedTuple):
    """Weights, (m, n), and thresholds, (m, 1), above the largest score in units of the temperature."""

    weights: Array
    threshold: Array


def solve(gaps: Array, measure: Array, alpha: Array) -> Solution:
    """Solve rows of gaps, (m, n), at most zero with a zero of positive measure, for finite ``alpha``, (m, 1).

    A row of measure zero has weights zero and threshold zero.
    """
    weights = np.zeros(gaps.shape)
    threshold = np.zeros((gaps.shape[0], 1))
    maps = kernels()
    if maps is not None:
        maps.over(maps.solved_rows, own(gaps), own(measure), own(alpha[:, 0]), weights, threshold[:, 0])
        return Solution(weights, threshold)
    for part in row_blocks(*gaps.shape):
        some = part.start + np.flatnonzero((measure[part] > 0.0).any(axis=1))
        if some.size:
            weights[some], threshold[some] = _block(gaps[some], measure[some], alpha[some] - 1.0)
    return Solution(weights, threshold)


def _block(gaps: Array, measure: Array, e: Array) -> Solution:
    weights = np.empty_like(gaps)
    threshold = _search(gaps, measure, e)
    steep = e[:, 0] > 1.0
    for rows, mended in ((np.flatnonzero(~steep), _corrected), (np.flatnonzero(steep), _between)):
        if rows.size:
            weights[rows], threshold[rows] = mended(gaps[rows], measure[rows], e[rows], threshold[rows])
    return Solution(weights, threshold)


def _corrected(gaps: Array, measure: Array, e: Array, nu: Array) -> Solution:
    """Take Newton steps with an exact sum, the last one on the weights; orders up to 2."""
    for _ in range(_FREE):
        p, q, _, slope = _sums(gaps, measure, e, nu)
        rest = excess(measure * p)
        far = np.abs(rest) > slope * (_STILL * (1.0 + np.abs(nu)))
        if not far.any():
            break
        nu = np.where(far, nu + rest / slope, nu)
    weights = np.where(measure > 0.0, np.maximum(p - rest * (q / slope), 0.0), 0.0)
    return Solution(weights, nu + rest / slope)


def _between(gaps: Array, measure: Array, e: Array, nu: Array) -> Solution:
    """Solve rows of order above 2 for the largest weight, from where the threshold says that it is."""
    there = measure > 0.0
    peak = np.argmax(np.where(there, gaps, -np.inf), axis=1)[:, np.newaxis]
    low = 1.0 / measure.sum(axis=1, keepdims=True)
    high = 1.0 / np.take_along_axis(measure, peak, axis=1)

    def weights_at(w: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            half = w ** (-0.5 * e)  # twice, as the whole power may overflow where a gap makes up for it
            left = 1.0 - np.where(gaps < 0.0, (-gaps * e * half) * half, 0.0)
        return np.where(there, w * np.maximum(left, 0.0) ** (1.0 / e), 0.0)

    def cut(low: Array, high: Array, at: Array) -> tuple[Array, Array]:
        inside = (low < at) & (at < high)
        enough = excess(measure * weights_at(at)) >= 0.0
        return np.where(inside & ~enough, at, low), np.where(inside & enough, at, high)

    with np.errstate(divide="ignore"):
        guess = np.clip(np.exp(np.log1p(-np.minimum(e * nu, 1.0)) / e), low, high)
    for share in _NARROW:
        for side in (-1.0, 1.0):
            low, high = cut(low, high, guess * (1.0 + side * share))
        if (high - low <= 4.0 * share * high).all():
            break
    while True:
        middle = low + 0.5 * (high - low)
        if not ((low < middle) & (middle < high)).any():
            break
        low, high = cut(low, high, middle)
    least = weights_at(low)
    most = weights_at(high)
    short = -excess(measure * least)
    over = excess(measure * most)
    way = np.clip(short / np.where(short + over > 0.0, short + over, 1.0), 0.0, 1.0)
    return Solution(least + (most - least) * way, -np.expm1(e * np.log(high)) / e)


def _sums(gaps: Array, measure: Array, e: Array, nu: Array) -> tuple[Array, Array, Array, Array]:
    """Return weights and slopes at a threshold, and the sums of both."""
    p, q = deformed_exp(gaps - nu, e)
    return p, q, (measure * p).sum(axis=1, keepdims=True), (measure * q).sum(axis=1, keepdims=True)


def _search(gaps: Array, measure: Array, e: Array) -> Array:
    """Return the thresholds, up to the rounding of a plain sum."""
    peak = np.argmax(np.where(measure > 0.0, gaps, -np.inf), axis=1)[:, np.newaxis]
    low = -deformed_log(1.0 / np.take_along_axis(measure, peak, axis=1), e)
    high = -deformed_log(1.0 / measure.sum(axis=1, keepdims=True), e)
    high = high + _STILL * (1.0 + np.abs(high))
    found = low.copy()
    nu = low
    live = np.arange(e.size)
    for step in range(_STEPS):
        _, _, total, slope = _sums(gaps, measure, e, nu)
        low = np.where(total >= 1.0, nu, low)
        high = np.where(total <= 1.0, nu, high)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            change = deformed_log(total, e) * total ** (1.0 - e) / slope
        near = _STILL * (1.0 + np.abs(nu))
        moving = ((np.abs(change) > near) | np.isnan(change)) & (high - low > near)
        found[live] = nu
        if not moving.any():
            break
        ahead = nu + change
        halve = ~((low < ahead) & (ahead < high)) | ((step >= _FREE) & (step % 2 == 1) & (e > 1.0))
        nu = np.where(moving, np.where(halve, low + 0.5 * (high - low), ahead), nu)
        if 2 * np.count_nonzero(moving) <= moving.size:  # the rows that are left go on without the others
            left = moving[:, 0]
            live = live[left]
            nu = nu[left]
            low = low[left]
            high = high[left]
            e = e[left]
            gaps = gaps[left]
            measure = measure[left]
    return found
