r"""Compiled: the threshold of one row of entmax, and the weights that belong to it.

The mathematics and the bounds of the errors stand in :mod:`theory.maxent.sparse.threshold`, the oracle of this module.
Two things differ: the steps of the search (:mod:`theory.maxent.kernels.search`) and the sum that decides the last
digits (:mod:`theory.maxent.kernels.sums`).

At order one the law is :math:`m_i/\sum m`, :math:`m = e^g`. There :math:`m_i` is off by :math:`(2|g_i| + 1.9)u`, where
:math:`|g_i| \le |\log p_i|`, and the sum by the mean of that under :math:`p` and :math:`u`. With
:math:`\sum p_j|\log p_j| \le \log n` and :math:`p|\log p| \le 1/e` a weight is off by
:math:`(0.8 + 5.8 + 2\log n)u`, from :math:`n = 2` on less than :math:`(6 + 3\log n)u`.
"""

from __future__ import annotations

import numpy as np

from theory._jit import njit
from theory.engine.elementary import log
from theory.engine.pairs import Array
from theory.maxent.kernels.search import STILL, deformed_log, search, shrunk
from theory.maxent.kernels.settle import settle, settle_steep
from theory.maxent.kernels.softmax import divide, weigh
from theory.maxent.kernels.sums import exact_mass

LANES = 8  # of the widest registers
_LOOSE = 2.0**-20  # derived: what eight digits of an end of a bracket are off by is less


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
    high += STILL * (1.0 + abs(high))
    nu = search(gaps, measure, padded, e, low, high)
    if e > 1.0:
        nu = settle_steep(gaps, measure, padded, e, nu, 1.0 / whole, 1.0 / share, weights, slopes, more)
    else:
        nu = settle(gaps, measure, padded, e, nu, weights, slopes)
    for j in range(k, padded):
        measure[j] = 1.0
    return nu


solve = njit(_solve)
