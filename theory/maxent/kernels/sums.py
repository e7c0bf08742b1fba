r"""Compiled: sums over a row of weights and of their slopes.

The sum that decides the last digits is split: each term is rounded to a multiple of :math:`2^{-50}`, which are added
without error while their sum is below 8, in any order, and what is left of each, known exactly and at most
:math:`2^{-51}`, is summed apart: :math:`n` terms cost :math:`n^22^{-51}u`, which is nothing, and one rounding.
"""

from __future__ import annotations

import numpy as np

from theory._jit import njit
from theory.engine.pairs import Array
from theory.maxent.kernels.powers import fourth_power, line, power, square, steep_power

_COARSE = 6.0  # derived: its last bit is worth 2**-50, and sums of multiples of that are exact below 8


def _split(x: float) -> tuple[float, float]:
    """Return the multiple of 2**-50 next to a number, and the rest, exactly."""
    coarse = (x + _COARSE) - _COARSE
    return coarse, x - coarse


split = njit(_split, inline=True)


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


sums = njit(_sums, sums=True)
fill_powers = njit(_fill_powers, sums=True)
fill_steep_powers = njit(_fill_steep_powers, sums=True)
exact_mass = njit(_mass, sums=True)
