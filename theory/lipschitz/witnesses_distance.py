r"""Clouds on which distance attention moves tokens as much as its constants say, or more than a constant could say.

Scores :math:`-\beta|x - y|^2`, value matrix the identity, :math:`c_N` as in :mod:`theory.lipschitz.constants.distance`.
"""

from __future__ import annotations

import math

import numpy as np

from theory._validate import as_count, as_number, as_positive
from theory.attention import Measure
from theory.attention.score import Array
from theory.lipschitz._numbers import finite
from theory.lipschitz.constants.distance import nearness_constant


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


def leg(n: int, scale: float = 1.0) -> float:
    r"""Return the length r of the legs of :func:`star`: :math:`e^{\beta r^2} = \sqrt{N - 2}`, for N at least 4."""
    return _radius(0.5 * math.log(as_count(n, "n", least=4) - 2), scale)


def star(n: int, scale: float = 1.0) -> Array:
    r"""Return N tokens in N dimensions, shape (n, n): one at 0, the k-th other at r along the axis k - 1.

    No token has a part along the last axis. Moved that way, the first token leaves all scores unchanged to first
    order, and every output i follows by :math:`P_{i1}`. So in :math:`W_1` the image moves by the column sum of the
    attention matrix, :math:`(N - 1)/(2\sqrt{N - 2} + 1) + (1 + (N - 1)/\sqrt{N - 2})^{-1}`, more than
    :math:`\sqrt N/2 - 1/4`, times as far.
    """
    r = leg(n, scale)
    return np.vstack([np.zeros(n), r * np.eye(n)[:-1]])


def folded_star(n: int, scale: float = 1.0) -> tuple[Array, Array]:
    r"""Return what one leg of :func:`star` sees, in two dimensions: the centre, the leg itself, another; and how many.

    Shapes (3, 2) and (3,). All other legs are equally far from it, so that they count as one, N - 2 times.
    """
    r = leg(n, scale)
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


def _radius(square: float, scale: float) -> float:
    """Return the distance whose square, times the scale, is given."""
    if not square >= 0.0:
        raise ValueError(f"shift: expected one that leaves a square, got a sum of {square}")
    return math.sqrt(finite(square / as_positive(scale, "scale"), "scale"))
