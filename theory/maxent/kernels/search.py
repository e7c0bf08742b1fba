r"""Compiled: the search for the threshold of a row, between ends that hold it.

It takes Halley steps on the norm instead of Newton's, for which :math:`N''/|N'| = (1-e)(R/Q - Q/A)`,
:math:`R = \sum\mu_iq_i^2/p_i`, is summed along: near the root the error is cubed, so that after a step below
:math:`2^{-17}` none is left.
"""

from __future__ import annotations

import numpy as np

from theory._jit import njit
from theory.engine.elementary import exp, log
from theory.engine.pairs import Array
from theory.maxent.kernels.sums import sums

STEPS = 200  # derived: 8 free steps, then a bisection in every second, 53 of which exhaust a bracket, twice over
FREE = 8  # taken: the Newton steps that may go by without a bisection
STILL = 2.0**-51  # derived: a step of four roundings of the threshold, which the last step on the weights absorbs
_NEAR_ONE = 2.0**-6  # derived: five terms of a binomial series then leave nine digits, at orders up to 3
_CLOSE = 2.0**-17  # taken: a step after which Newton's method goes on with an exact sum


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
    for step in range(STEPS):
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
        near = STILL * (1.0 + abs(nu))
        if abs(change) <= near or high - low <= near:
            break
        ahead = nu + change
        if not low < ahead < high or (step >= FREE and step % 2 == 1):
            nu = low + 0.5 * (high - low)
        else:
            nu = ahead
            if abs(change) <= _CLOSE * (1.0 + abs(nu)):
                break
    return nu


search = njit(_search)
