r"""Compiled: one weight at a threshold, :math:`\exp_\alpha(g - \nu)`, with its slope, in a form for each kind of order.

A weight is :math:`e^{\log(w)/e}`, and the logarithm carries what its last digit hides
(:mod:`theory.engine.elementary`): it is off by :math:`0.7u` of itself, the quotient by :math:`u` more, together the
:math:`2u` that the bound of :mod:`theory.maxent.sparse.threshold` counts, and the exponential by :math:`1.9u`.
"""

from __future__ import annotations

from theory._jit import njit
from theory.engine.elementary import exp, log
from theory.maxent.kernels.gaps import FARTHEST

_SMALLEST = 2.2250738585072014e-308  # the smallest normal number


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
