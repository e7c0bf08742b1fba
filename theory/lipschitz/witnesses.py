r"""Clouds on which attention stretches, moves or shrinks as much as its constants say, or more than one could say.

Dot products on a ball: on the line, R = 1. Distance attention: scores :math:`-\beta|x - y|^2`, value matrix the
identity, :math:`c_N` as in :mod:`theory.lipschitz.constants.distance`. Last, pairs of laws that the Boltzmann-Gibbs
transform drives apart as far as its constants allow.

References
----------
V. Castin, P. Ablin, G. Peyré, *How smooth is attention?*, ICML 2024 (few heavy and many light tokens as bad clouds).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from theory._validate import as_count, as_number, as_positive
from theory.attention import Measure
from theory.attention.score import Array
from theory.lipschitz._numbers import exponential, finite, positive, root, upper
from theory.lipschitz.constants.distance import nearness_constant
from theory.lipschitz.response import Push


def far_atom(alpha: float, mass: float) -> Push:
    r"""Return :math:`(1 - \epsilon)\delta_1 + \epsilon\delta_{-1}` under :math:`B = -\alpha`, the light atom pushed.

    Every query at 1 gives the light atom the weight :math:`P = \epsilon e^{2\alpha}/(1 - \epsilon +
    \epsilon e^{2\alpha})` and answers by :math:`P(1 + 2\alpha(1 - P))`. In :math:`W_1` the stretch tends to
    :math:`e^{2\alpha}(1 + 2\alpha)` as the mass vanishes; in :math:`W_2` it is largest at a mass that depends on alpha.
    """
    light = _mass(mass)
    form = np.array([[-as_positive(alpha, "alpha")]])
    return Push(np.array([[1.0], [-1.0]]), np.array([[0.0], [1.0]]), np.array([1.0 - light, light]), form)


def straining_mass(alpha: float) -> float:
    r"""Return the mass at which :func:`far_atom` answers most in :math:`W_2`, the pushed atom's own answer left out.

    The others answer by :math:`\sqrt{(1 - \epsilon)/\epsilon}\,P(1 + 2\alpha(1 - P)) = e^\alpha\sqrt{q(1 - q)}
    (1 + 2\alpha q)` with :math:`q = 1 - P`, largest where :math:`8\alpha q^2 = (6\alpha - 2)q + 1`.
    """
    a = positive(alpha, "alpha")
    rarity = exponential(-2.0 * a)
    if not upper(rarity) > 0.0:
        raise ValueError(f"alpha: expected one whose masses float64 can hold, got {alpha!r}")
    half = 3.0 * a - 1.0
    top = root(half * half + 8.0 * a)
    q = (half + top) / (8.0 * a) if upper(half) > 0.0 else 1.0 / (top - half)  # without a difference of equals
    odds = (1.0 - q) / q * rarity
    return odds / (1.0 + odds)


def near_atom(alpha: float, mass: float) -> Push:
    r"""Return :math:`(1 - \epsilon)\delta_{1/2} + \epsilon\delta_1` under :math:`B = +\alpha`, the light atom pushed.

    The same construction for a positive form: the stretch in :math:`W_1` tends to :math:`e^{\alpha/4}(1 + \alpha/4)`.
    """
    light = _mass(mass)
    form = np.array([[as_positive(alpha, "alpha")]])
    return Push(np.array([[0.5], [1.0]]), np.array([[0.0], [1.0]]), np.array([1.0 - light, light]), form)


def balanced_query(alpha: float) -> Push:
    r"""Return a query without mass at 1 and keys :math:`q` at 1, :math:`1 - q` at -1, :math:`q = 1/(1 + e^{2\alpha})`.

    Under :math:`B = \alpha` the query finds both keys equally likely. It is pushed by -1, the first key too, and the
    second one towards the first if :math:`\alpha \ge 1`, else away: the query answers by
    :math:`\alpha + \max(1, \alpha)`. The masses are floats, so that this holds up to rounding.
    """
    a = as_positive(alpha, "alpha")
    rare = math.exp(-2.0 * a) / (1.0 + math.exp(-2.0 * a))
    if rare == 0.0:
        raise ValueError(f"alpha: expected one whose masses float64 can hold, got {alpha!r}")
    towards = 1.0 if a >= 1.0 else -1.0
    velocities = np.array([[-1.0], [-1.0], [towards]])
    return Push(np.array([[1.0], [1.0], [-1.0]]), velocities, np.array([0.0, rare, 1.0 - rare]), np.array([[a]]))


def two_tokens(half: float) -> Measure:
    r"""Return two equal tokens at :math:`\pm c`, which attention under ``form`` B moves to :math:`\pm c\tanh(Bc^2)`."""
    c = as_positive(half, "half")
    return Measure([[-c], [c]])


def order_swap_pair(gap: float) -> tuple[Measure, Measure]:
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


def two_sided(n: int, scale: float = 1.0, *, shift: float = 1.0) -> Measure:
    r"""Return N tokens on the line as three atoms: one at 0, the others half and half at :math:`\pm r`, in this order.

    :math:`\beta r^2 = c_N + 1`, or :math:`c_N` plus another ``shift``; if N is even, one token more is at r. If the
    token at 0 moves by one and all others by minus one, its output moves by :math:`4c_N + (1 - c_N)/(1 + c_N)` for odd
    N, at most two short of :math:`1 + 4c_N`.
    """
    others = as_count(n, "n", least=3) - 1
    r = _radius(nearness_constant(n) + as_number(shift, "shift"), scale)
    return Measure.normalised([[0.0], [r], [-r]], [1.0, others - others // 2, others // 2])


def one_sided(n: int, scale: float = 1.0) -> Measure:
    r"""Return N tokens on the line as two atoms: one at 0, the others at r, :math:`\beta r^2 = c_N + 1`."""
    others = as_count(n, "n", least=2) - 1
    r = _radius(nearness_constant(n) + 1.0, scale)
    return Measure.normalised([[0.0], [r]], [1.0, others])


def star_radius(n: int, scale: float = 1.0) -> float:
    r"""Return the length r of the legs of :func:`star`: :math:`e^{\beta r^2} = \sqrt{N - 2}`, for N at least 4."""
    return _radius(0.5 * math.log(as_count(n, "n", least=4) - 2), scale)


def star(n: int, scale: float = 1.0) -> Array:
    r"""Return N tokens in N dimensions, shape (n, n): one at 0, the k-th other at r along the axis k - 1.

    No token has a part along the last axis. Moved that way, the first token leaves all scores unchanged to first
    order, and every output i follows by :math:`P_{i1}`. So in :math:`W_1` the image moves by the column sum of the
    attention matrix, :math:`(N - 1)/(2\sqrt{N - 2} + 1) + (1 + (N - 1)/\sqrt{N - 2})^{-1}`, more than
    :math:`\sqrt N/2 - 1/4`, times as far.
    """
    r = star_radius(n, scale)
    return np.vstack([np.zeros(n), r * np.eye(n)[:-1]])


def folded_star(n: int, scale: float = 1.0) -> tuple[Array, Array]:
    r"""Return what one leg of :func:`star` sees, in two dimensions: the centre, the leg itself, another; and how many.

    Shapes (3, 2) and (3,). All other legs are equally far from it, so that they count as one, N - 2 times.
    """
    r = star_radius(n, scale)
    return np.array([[0.0, 0.0], [r, 0.0], [0.0, r]]), np.array([1.0, 1.0, n - 2.0])


def hidden_atom(z: float, scale: float = 1.0) -> Measure:
    r"""Return :math:`(1 - \epsilon)\delta_0 + \epsilon\delta_z` on the line, :math:`\epsilon = 1/(1 + e^{\beta z^2})`.

    A query at z, which stays there, finds both atoms equally likely. If the light atom moves, which costs
    :math:`\epsilon` per unit in :math:`W_1`, its output moves by one half: the quotient :math:`1/(2\epsilon)` grows
    with z beyond all bounds.
    """
    beta, place = as_positive(scale, "scale"), as_positive(z, "z")
    try:
        rarity = math.exp(-beta * place**2)
    except OverflowError:  # of the square
        rarity = 0.0
    light = rarity / (1.0 + rarity)
    if light == 0.0:
        raise ValueError(f"z: expected one whose masses float64 can hold, got {z!r}")
    return Measure.normalised([[0.0], [place]], [1.0 - light, light])


class TiltedPair(NamedTuple):
    """Two laws on the same atoms, and a potential there."""

    mu: Measure
    nu: Measure
    potential: Array


def light_ramp(slope: float, ramp: float, mass: float, step: float, diameter: float = 1.0) -> TiltedPair:
    r"""Return a light atom at the top of a ramp, and the same atom one ``step`` lower, beside a heavy atom at 0.

    On :math:`[0, D]` the potential is :math:`\ell\max(0, y - D + s)` with ``ramp`` s, of oscillation :math:`\ell s`. As
    mass and step vanish the transform stretches :math:`W_1`, and the barycentre, by :math:`e^{\ell s}(1 + D\ell)`.

    Raises
    ------
    ValueError
        If the ramp is longer than the diameter, the step than the ramp, or the mass is not below one.
    """
    rate, length, light, apart, size = (
        as_positive(c, n)
        for c, n in ((slope, "slope"), (ramp, "ramp"), (mass, "mass"), (step, "step"), (diameter, "diameter"))
    )
    if not (apart <= length <= size and light < 1.0):
        raise ValueError(
            f"step: expected step <= ramp <= diameter and mass < 1, got {step}, {ramp}, {diameter}, {mass}"
        )
    points = np.array([[0.0], [size - apart], [size]])
    potential = rate * np.maximum(0.0, points[:, 0] - size + length)
    mu = Measure(points, [1.0 - light, 0.0, light])
    nu = Measure(points, [1.0 - light, light, 0.0])
    return TiltedPair(mu, nu, potential)


def light_atom(oscillation: float, mass: float) -> TiltedPair:
    r"""Return :math:`(1 - \epsilon)\delta_0 + \epsilon\delta_1` and :math:`\delta_0`, with potential 0 and o there.

    The transform multiplies their total variation by :math:`\sup g/\mu(g)`, exactly.

    Raises
    ------
    ValueError
        If the mass is not below one.
    """
    height = as_positive(oscillation, "oscillation")
    light = _mass(mass)
    points = np.array([[0.0], [1.0]])
    return TiltedPair(Measure(points, [1.0 - light, light]), Measure(points, [1.0, 0.0]), np.array([0.0, height]))


def _mass(mass: float) -> float:
    light = as_positive(mass, "mass")
    if not light < 1.0:
        raise ValueError(f"mass: expected a number in (0, 1), got {mass!r}")
    return light


def _radius(square: float, scale: float) -> float:
    """Return the distance whose square, times the scale, is given."""
    if not square >= 0.0:
        raise ValueError(f"shift: expected one that leaves a square, got a sum of {square}")
    return math.sqrt(finite(square / as_positive(scale, "scale"), "scale"))
