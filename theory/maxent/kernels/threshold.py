r"""Compiled: the threshold of one row of entmax, and the weights that belong to it.

The mathematics and the bounds of the errors stand in :mod:`theory.maxent.sparse.threshold`, the oracle of this module.
Two things differ. The search takes Halley steps on the norm instead of Newton's, for which
:math:`N''/|N'| = (1-e)(R/Q - Q/A)`, :math:`R = \sum\mu_iq_i^2/p_i`, is summed along: near the root the error is cubed,
so that after a step below :math:`2^{-17}` none is left. And the sum that decides the last digits is split: each term
is rounded to a multiple of :math:`2^{-50}`, which are added without error while their sum is below 8, in any order, and
what is left of each, known exactly and at most :math:`2^{-51}`, is summed apart: :math:`n` terms cost
:math:`n^22^{-51}u`, which is nothing, and one rounding.

A weight is :math:`e^{\log(w)/e}`, and the logarithm carries what its last digit hides
(:mod:`theory.engine.elementary`): it is off by :math:`0.7u` of itself, the quotient by :math:`u` more, together the
:math:`2u` that the oracle's bound counts, and the exponential by :math:`1.9u`.

At order one the law is :math:`m_i/\sum m`, :math:`m = e^g`. There :math:`m_i` is off by :math:`(2|g_i| + 1.9)u`, where
:math:`|g_i| \le |\log p_i|`, and the sum by the mean of that under :math:`p` and :math:`u`. With
:math:`\sum p_j|\log p_j| \le \log n` and :math:`p|\log p| \le 1/e` a weight is off by
:math:`(0.8 + 5.8 + 2\log n)u`, from :math:`n = 2` on less than :math:`(6 + 3\log n)u`.
"""

from __future__ import annotations

import numpy as np

from theory._jit import njit
from theory.engine.elementary import exp, log
from theory.engine.pairs import Array

LANES = 8  # of the widest registers
FARTHEST = 1.7976931348623157e308  # the largest number
_SMALLEST = 2.2250738585072014e-308  # the smallest normal one
_NEAR_ONE = 2.0**-6  # derived: five terms of a binomial series then leave nine digits, at orders up to 3
_LOOSE = 2.0**-20  # derived: what eight digits of an end of a bracket are off by is less
_COARSE = 6.0  # derived: its last bit is worth 2**-50, and sums of multiples of that are exact below 8
_STEPS = 200  # derived: 8 free steps, then a bisection in every second, 53 of which exhaust a bracket, twice over
_FREE = 8  # taken: the Newton steps that may go by without a bisection
_STILL = 2.0**-51  # derived: a step of four roundings of the threshold, which the last step on the weights absorbs
_ULP = 2.0**-52  # of a number beside itself, at most
_CLOSE = 2.0**-17  # taken: a step after which Newton's method goes on with an exact sum


def _weigh(gaps: Array) -> float:
    """Replace gaps by their exponentials, and return the sum of these."""
    mass = 0.0
    for j in range(gaps.size):
        w = exp(gaps[j], 0.0)
        gaps[j] = w
        mass += w
    return mass


def _divide(row: Array, mass: float) -> None:
    for j in range(row.size):
        row[j] /= mass


weigh = njit(_weigh, sums=True)
divide = njit(_divide)


def _split(x: float) -> tuple[float, float]:
    """Return the multiple of 2**-50 next to a number, and the rest, exactly."""
    coarse = (x + _COARSE) - _COARSE
    return coarse, x - coarse


split = njit(_split, inline=True)


def _power(gap: float, nu: float, e: float, share: float, exact: bool) -> tuple[float, float, float]:
    r"""Return :math:`p = \exp_\alpha(g - \nu)`, its slope :math:`q` and :math:`q^2/p`, zero off the support.

    ``share`` is 1 / e, by which a search multiplies; the weights that are returned are divided.
    """
    x = e * (gap - nu)
    x = -1.0 if x < -1.0 else x
    x = FARTHEST if x > FARTHEST else x
    w = 1.0 + x
    base = _SMALLEST if w < _SMALLEST else w
    inverse = 1.0 / base
    first, second = log(base)
    lost = (x - (w - 1.0)) * inverse
    whole = first + lost
    p = exp(whole / e if exact else whole * share, (((first - whole) + lost) + second) * share)
    p = p if w > 0.0 else 0.0
    q = p * inverse
    return p, q, q * inverse


def _line(gap: float, nu: float) -> tuple[float, float, float]:
    """Do the same at order 2."""
    w = 1.0 + (gap - nu)
    return (w, 1.0, 1.0) if w > 0.0 else (0.0, 0.0, 0.0)  # nothing is taken of the last one at order 2


def _square(gap: float, nu: float) -> tuple[float, float, float]:
    """Do the same at order 3/2."""
    w = 1.0 + 0.5 * (gap - nu)
    return (w * w, w, 1.0) if w > 0.0 else (0.0, 0.0, 0.0)


def _steep_power(gap: float, top: float, half: float, e: float) -> tuple[float, float]:
    """Return the weight beside the largest one, for orders above 2, and its slope; ``half`` is ``top ** (-e / 2)``."""
    left = 1.0 - (-gap * e * half) * half if gap < 0.0 else 1.0
    base = _SMALLEST if left < _SMALLEST else left
    first, second = log(base)
    p = exp(first / e, second / e)
    p = p if left > 0.0 else 0.0
    return top * p, p / base


def _fourth_power(gap: float, nu: float) -> tuple[float, float, float]:
    """Do the same at order 5/4."""
    w = 1.0 + 0.25 * (gap - nu)
    square = w * w
    return (square * square, square * w, square) if w > 0.0 else (0.0, 0.0, 0.0)


power = njit(_power, inline=True)
fourth_power = njit(_fourth_power, inline=True)
line = njit(_line, inline=True)
square = njit(_square, inline=True)
steep_power = njit(_steep_power, inline=True)


def _sums(gaps: Array, measure: Array, k: int, nu: float, e: float) -> tuple[float, float, float]:
    """Return the sums of the weights at a threshold, of their slopes, and of slopes squared over weights."""
    mass = 0.0
    slope = 0.0
    bend = 0.0
    share = 1.0 / e
    for j in range(k):
        if e == 1.0:
            p, q, r = line(gaps[j], nu)
        elif e == 0.5:
            p, q, r = square(gaps[j], nu)
        elif e == 0.25:
            p, q, r = fourth_power(gaps[j], nu)
        else:
            p, q, r = power(gaps[j], nu, e, share, False)
        mass += measure[j] * p
        slope += measure[j] * q
        bend += measure[j] * r
    return mass, slope, bend


def _fill_powers(
    gaps: Array, measure: Array, k: int, nu: float, e: float, weights: Array, slopes: Array
) -> tuple[float, float, float]:
    """Write weights at a threshold and slopes; return the sum of the weights, in two parts, and that of the slopes."""
    coarse = 0.0
    fine = 0.0
    slope = 0.0
    share = 1.0 / e
    for j in range(k):
        if e == 1.0:
            p, q, _ = line(gaps[j], nu)
        elif e == 0.5:
            p, q, _ = square(gaps[j], nu)
        elif e == 0.25:
            p, q, _ = fourth_power(gaps[j], nu)
        else:
            p, q, _ = power(gaps[j], nu, e, share, True)
        upper, lower = split(measure[j] * p)
        coarse += upper
        fine += lower
        slope += measure[j] * q
        weights[j] = p
        slopes[j] = q
    return coarse, fine, slope


def _fill_steep_powers(
    gaps: Array, measure: Array, k: int, top: float, e: float, weights: Array
) -> tuple[float, float, float]:
    """Write the weights beside the largest one; return their sum, in two parts, and its slope in the largest."""
    coarse = 0.0
    fine = 0.0
    slope = 0.0
    half = np.power(top, -0.5 * e)  # twice, as the whole power may overflow where a gap makes up for it
    for j in range(k):
        p, q = steep_power(gaps[j], top, half, e)
        upper, lower = split(measure[j] * p)
        coarse += upper
        fine += lower
        slope += measure[j] * q
        weights[j] = p
    return coarse, fine, slope


def _mass(measure: Array, weights: Array, k: int) -> float:
    """Return the sum of weights."""
    coarse = 0.0
    fine = 0.0
    for j in range(k):
        upper, lower = split(measure[j] * weights[j])
        coarse += upper
        fine += lower
    return coarse + fine


def _mend(p: Array, q: Array, k: int, share: float) -> None:
    """Take a step on the weights."""
    for j in range(k):
        w = p[j] - share * q[j]
        p[j] = w if w > 0.0 else 0.0


def _copy(weights: Array, k: int, kept: Array) -> None:
    for j in range(k):
        kept[j] = weights[j]


copy = njit(_copy)
sums = njit(_sums, sums=True)
fill_powers = njit(_fill_powers, sums=True)
fill_steep_powers = njit(_fill_steep_powers, sums=True)
exact_mass = njit(_mass, sums=True)
mend = njit(_mend)


def _deformed_log(x: float, e: float) -> float:
    return float(np.log(x) if e == 0.0 else np.expm1(e * np.log(x)) / e)


deformed_log = njit(_deformed_log)


def _shrunk(t: float) -> float:
    """Return ``1 - exp(-t)`` to eight digits, which a step that is followed by another needs."""
    if abs(t) < 0.03:
        return t * (1.0 - t * (0.5 - t * (1.0 / 6.0 - t * (1.0 / 24.0))))
    return 1.0 - exp(-t, 0.0)


shrunk = njit(_shrunk, inline=True)


def _risen(mass: float, e: float) -> float:
    """Return ``(1 - mass ** -e) / e`` to eight digits."""
    d = mass - 1.0
    if abs(d) < _NEAR_ONE:
        fourth = 1.0 - d * (4.0 + e) / 5.0
        third = 1.0 - d * (3.0 + e) / 4.0 * fourth
        second = 1.0 - d * (2.0 + e) / 3.0 * third
        return d * (1.0 - d * (1.0 + e) / 2.0 * second)
    return shrunk(e * log(mass)[0]) / e


risen = njit(_risen, inline=True)


def _search(gaps: Array, measure: Array, k: int, e: float, low: float, high: float) -> float:
    """Return the threshold, for orders up to 2 within what a step with an exact sum mends."""
    nu = low
    for step in range(_STEPS):
        mass, slope, bend = sums(gaps, measure, k, nu, e)
        low = nu if mass >= 1.0 else low
        high = nu if mass <= 1.0 else high
        if e == 1.0:
            change = (mass - 1.0) / slope
        elif e == 0.5:
            change = 2.0 * (mass - np.sqrt(mass)) / slope
        elif e == 0.25:
            change = 4.0 * (mass - mass / np.sqrt(np.sqrt(mass))) / slope
        else:
            change = mass * risen(mass, e) / slope
        if e != 1.0:
            curved = 0.5 * (1.0 - e) * (bend / slope - slope / mass)
            change /= max(1.0 - change * curved, 0.5)
        near = _STILL * (1.0 + abs(nu))
        if abs(change) <= near or high - low <= near:
            break
        ahead = nu + change
        if not low < ahead < high or (step >= _FREE and step % 2 == 1):
            nu = low + 0.5 * (high - low)
        else:
            nu = ahead
            if abs(change) <= _CLOSE * (1.0 + abs(nu)):
                break
    return nu


def _settle(gaps: Array, measure: Array, k: int, e: float, nu: float, weights: Array, slopes: Array) -> float:
    """Take Newton steps with an exact sum, the last one on the weights, and return the threshold; orders up to 2."""
    step = 0.0
    for number in range(_FREE):
        coarse, fine, slope = fill_powers(gaps, measure, k, nu, e, weights, slopes)
        step = ((coarse - 1.0) + fine) / slope
        if abs(step) <= _STILL * (1.0 + abs(nu)) or number == _FREE - 1:
            break
        nu += step
    mend(weights, slopes, k, step)
    return nu + step


def _settle_steep(
    gaps: Array, measure: Array, k: int, e: float, nu: float, low: float, high: float,
    weights: Array, below: Array, above: Array,
) -> float:  # fmt: skip
    """Find the largest weight between two neighbouring floats, and return the threshold; orders above 2.

    Newton's method brings it near; then steps that double look for the other side, and halving ends it.
    """
    at = min(max(float(np.exp(np.log1p(-min(e * nu, 1.0)) / e)), low), high)
    short = -1.0
    over = -1.0
    reach = _ULP
    for number in range(_STEPS):
        coarse, fine, slope = fill_steep_powers(gaps, measure, k, at, e, weights)
        rest = (coarse - 1.0) + fine
        if rest >= 0.0:
            high = at
            over = rest
            copy(weights, k, above)
        else:
            low = at
            short = -rest
            copy(weights, k, below)
        ahead = at - rest / slope
        if abs(ahead - at) <= reach * at:
            ahead = at - reach * at if rest >= 0.0 else at + reach * at
            reach *= 2.0
        if not low < ahead < high or number >= _FREE:
            ahead = low + 0.5 * (high - low)
            if not low < ahead < high:
                break
        at = ahead
    if short < 0.0:
        coarse, fine, slope = fill_steep_powers(gaps, measure, k, low, e, below)
        short = -((coarse - 1.0) + fine)
    if over < 0.0:
        coarse, fine, slope = fill_steep_powers(gaps, measure, k, high, e, above)
        over = (coarse - 1.0) + fine
    way = short / (short + over) if short + over > 0.0 else 0.0
    way = min(max(way, 0.0), 1.0)
    for j in range(k):
        weights[j] = below[j] + (above[j] - below[j]) * way
    return float(-np.expm1(e * np.log(high)) / e)


search = njit(_search)
settle = njit(_settle)
settle_steep = njit(_settle_steep)


def _solve(
    gaps: Array, measure: Array, k: int, e: float, share: float, whole: float,
    weights: Array, slopes: Array, more: Array,
) -> float:  # fmt: skip
    """Write the weights of ``k`` gaps, the leading one of measure ``share``, all of ``whole``; return the threshold."""
    if e == 0.0:
        law = weights[:k]
        law[:] = gaps[:k]
        weigh(law)
        mass = exact_mass(measure, weights, k)
        divide(law, mass)
        return float(np.log(mass))
    padded = -(-k // LANES) * LANES  # whole registers: entries of no measure, beside the first
    for j in range(k, padded):
        gaps[j] = gaps[0]
        measure[j] = 0.0
    if share == 1.0:
        low = 0.0
        high = shrunk(e * log(whole)[0]) / e * (1.0 + _LOOSE)
    else:
        low = -deformed_log(1.0 / share, e)
        high = -deformed_log(1.0 / whole, e)
    high += _STILL * (1.0 + abs(high))
    nu = search(gaps, measure, padded, e, low, high)
    if e > 1.0:
        nu = settle_steep(gaps, measure, padded, e, nu, 1.0 / whole, 1.0 / share, weights, slopes, more)
    else:
        nu = settle(gaps, measure, padded, e, nu, weights, slopes)
    for j in range(k, padded):
        measure[j] = 1.0
    return nu


solve = njit(_solve)
