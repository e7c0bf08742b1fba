"""Compiled: softmax of rows. What is masked is left out, so that a mask changes no digit of what remains."""

from __future__ import annotations

import numpy as np

from theory._jit import njit
from theory.engine.elementary import exp
from theory.engine.pairs import Array
from theory.maxent.kernels.gaps import read


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


def _softmax(rows: Array, tau: Array, laws: Array) -> bool:
    """Write softmax of every row, and return whether every score was a number or minus infinity."""
    n = rows.shape[1]
    for i in range(rows.shape[0]):
        law = laws[i]
        kind = read(rows[i], tau[i % tau.size], law)
        if kind < 0:
            return False
        if kind == 2:
            law[:] = 0.0
        elif kind == 1:
            divide(law, weigh(law))
        else:  # what is left is moved together, so that a mask changes no digit, and back
            k = 0
            for j in range(n):
                gap = law[j]
                law[k] = gap
                k += gap > -np.inf
            part = law[:k]
            divide(part, weigh(part))
            for j in range(n - 1, -1, -1):
                if rows[i, j] > -np.inf:
                    k -= 1
                    law[j] = law[k]
                else:
                    law[j] = 0.0
    return True


softmax_rows = njit(_softmax)
