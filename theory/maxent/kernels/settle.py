"""Compiled: the last digits of the weights of a row, from where the search ended; one way up to order 2, one above."""

from __future__ import annotations

import numpy as np

from theory._jit import njit
from theory.engine.pairs import Array
from theory.maxent.kernels.search import FREE, STEPS, STILL
from theory.maxent.kernels.sums import fill_powers, fill_steep_powers

_ULP = 2.0**-52  # of a number beside itself, at most


def _mend(p: Array, q: Array, k: int, share: float) -> None:
    """Take a step on the weights."""
    for j in range(k):
        w = p[j] - share * q[j]
        p[j] = w if w > 0.0 else 0.0


def _copy(weights: Array, k: int, kept: Array) -> None:
    for j in range(k):
        kept[j] = weights[j]


copy = njit(_copy)
mend = njit(_mend)


def _settle(gaps: Array, measure: Array, k: int, e: float, nu: float, weights: Array, slopes: Array) -> float:
    """Take Newton steps with an exact sum, the last one on the weights, and return the threshold; orders up to 2."""
    step = 0.0
    for number in range(FREE):
        coarse, fine, slope = fill_powers(gaps, measure, k, nu, e, weights, slopes)
        step = ((coarse - 1.0) + fine) / slope
        if abs(step) <= STILL * (1.0 + abs(nu)) or number == FREE - 1:
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
    for number in range(STEPS):
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
        if not low < ahead < high or number >= FREE:
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


settle = njit(_settle)
settle_steep = njit(_settle_steep)
