r"""Clouds on which attention on a ball stretches, moves or shrinks as much as the constants say, on the line, R = 1.

References
----------
V. Castin, P. Ablin, G. Peyré, *How smooth is attention?*, ICML 2024 (few heavy and many light tokens as bad clouds).
"""

from __future__ import annotations

import math

import numpy as np

from theory._validate import as_count, as_positive
from theory.attention import Measure
from theory.lipschitz.response import Push


def far_atom(alpha: float, mass: float) -> Push:
    r"""Return :math:`(1 - \epsilon)\delta_1 + \epsilon\delta_{-1}` under :math:`B = -\alpha`, the light atom pushed.

    Every query at 1 gives the light atom the weight :math:`P = \epsilon e^{2\alpha}/(1 - \epsilon +
    \epsilon e^{2\alpha})` and answers by :math:`P(1 + 2\alpha(1 - P))`. In :math:`W_1` the stretch tends to
    :math:`e^{2\alpha}(1 + 2\alpha)` as the mass vanishes; in :math:`W_2` it is largest at a mass that depends on alpha.
    """
    light = _mass(mass)
    return Push(np.array([[1.0], [-1.0]]), np.array([[0.0], [1.0]]), _masses(light), np.array([[-_positive(alpha)]]))


def straining_mass(alpha: float) -> float:
    r"""Return the mass at which :func:`far_atom` answers most in :math:`W_2`, the pushed atom's own answer left out.

    The others answer by :math:`\sqrt{(1 - \epsilon)/\epsilon}\,P(1 + 2\alpha(1 - P)) = e^\alpha\sqrt{q(1 - q)}
    (1 + 2\alpha q)` with :math:`q = 1 - P`, largest where :math:`8\alpha q^2 = (6\alpha - 2)q + 1`.
    """
    a = as_positive(alpha, "alpha")
    if not math.exp(-2.0 * a) > 0.0:
        raise ValueError(f"alpha: expected one whose masses float64 can hold, got {alpha!r}")
    half = 3.0 * a - 1.0
    root = math.sqrt(half * half + 8.0 * a)
    q = (half + root) / (8.0 * a) if half > 0.0 else 1.0 / (root - half)  # the same, without a difference of equals
    odds = (1.0 - q) / q * math.exp(-2.0 * a)
    return odds / (1.0 + odds)


def near_atom(alpha: float, mass: float) -> Push:
    r"""Return :math:`(1 - \epsilon)\delta_{1/2} + \epsilon\delta_1` under :math:`B = +\alpha`, the light atom pushed.

    The same construction for a positive form: the stretch in :math:`W_1` tends to :math:`e^{\alpha/4}(1 + \alpha/4)`.
    """
    light = _mass(mass)
    return Push(np.array([[0.5], [1.0]]), np.array([[0.0], [1.0]]), _masses(light), np.array([[_positive(alpha)]]))


def balanced_query(alpha: float) -> Push:
    r"""Return a query without mass at 1 and keys :math:`q` at 1, :math:`1 - q` at -1, :math:`q = 1/(1 + e^{2\alpha})`.

    Under :math:`B = \alpha` the query finds both keys equally likely. It is pushed by -1, the first key too, and the
    second one towards the first if :math:`\alpha \ge 1`, else away: the query answers by
    :math:`\alpha + \max(1, \alpha)`. The masses are floats, so that this holds up to rounding.
    """
    a = _positive(alpha)
    rare = math.exp(-2.0 * a) / (1.0 + math.exp(-2.0 * a))
    if rare == 0.0:
        raise ValueError(f"alpha: expected one whose masses float64 can hold, got {alpha!r}")
    points, velocities = np.array([[1.0], [1.0], [-1.0]]), np.array([[-1.0], [-1.0], [1.0 if a >= 1.0 else -1.0]])
    return Push(points, velocities, np.array([0.0, rare, 1.0 - rare]), np.array([[a]]))


def two_tokens(half: float) -> Measure:
    r"""Return two equal tokens at :math:`\pm c`, which attention under ``form`` B moves to :math:`\pm c\tanh(Bc^2)`."""
    c = as_positive(half, "half")
    return Measure([[-c], [c]])


def overtaken(gap: float) -> tuple[Measure, Measure]:
    r"""Return tokens of a time and a value: 1 at time 1/2 and -1 a ``gap`` later, and the same with -1 as much earlier.

    Their distance is the gap. Under a causal mask the first token that is alone sees itself, the other one both, so
    that the outputs jump by :math:`1 - \tanh 1` however small the gap is (form and value one).

    Raises
    ------
    ValueError
        If a time leaves [0, 1].
    """
    apart = as_positive(gap, "gap")
    if apart > 0.5:
        raise ValueError(f"gap: expected a number in (0, 1/2], got {gap!r}")
    return Measure([[0.5, 1.0], [0.5 + apart, -1.0]]), Measure([[0.5, 1.0], [0.5 - apart, -1.0]])


def first_token(n: int) -> Push:
    r"""Return n tokens at 0 under :math:`B = 0`, the first one pushed: causal averages answer by :math:`1/i`."""
    count = as_count(n, "n")
    velocities = np.zeros((count, 1))
    velocities[0] = 1.0
    return Push(np.zeros((count, 1)), velocities, np.full(count, 1.0 / count), np.zeros((1, 1)))


def _positive(alpha: float) -> float:
    return as_positive(alpha, "alpha")


def _mass(mass: float) -> float:
    light = as_positive(mass, "mass")
    if not light < 1.0:
        raise ValueError(f"mass: expected a number in (0, 1), got {mass!r}")
    return light


def _masses(light: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([1.0 - light, light])
