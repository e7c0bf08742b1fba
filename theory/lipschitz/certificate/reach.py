r"""How far the norms of a layer's Jacobian can move while every token stays within a reach of where it is.

Let every token move by at most r. Then scores move, up to what is constant in a row, by at most :math:`\delta_{ij} =
r(|b_{ij}| + |a_{ij}|) + \kappa r^2`, :math:`a_{ij}` centred to :math:`\sum_jP_{ij}a_{ij} = 0`, so that weights stay
between :math:`P_{ij}e^{\mp\delta_{ij}}/(P_{ij}e^{\mp\delta_{ij}} + \sum_{k \ne j}P_{ik}e^{\pm\delta_{ik}})`, within
:math:`\rho_{ij}` of :math:`P_{ij}`. As :math:`m_i' - m_i = \sum_kP_{ik}'(x_k' - x_k) + \sum_k(P_{ik}' - P_{ik})u_{ik}`,
the :math:`u_{ij}` move by at most :math:`\nu_{ij} = 2r(1 - P_{ij} + \rho_{ij}) + \sum_k\rho_{ik}|u_{ik}|`, and
:math:`b_{ij}`, :math:`a_{ij}` by :math:`\ell_br`, :math:`\ell_ar`. So the block off the diagonal moves by at most

.. math:: \rho_{ij}(\|U\| + |Uu_{ij}||b_{ij}|) + (P_{ij} + \rho_{ij})\bigl[\|U\|\nu_{ij}|b_{ij}|
          + (|Uu_{ij}| + \|U\|\nu_{ij})\ell_br\bigr],

and the query's part by :math:`\sum_j\rho_{ij}|Uu_{ij}||a_{ij}| + (P_{ij} + \rho_{ij})[\|U\|\nu_{ij}|a_{ij}| +
(|Uu_{ij}| + \|U\|\nu_{ij})\ell_ar]`. Dot products have :math:`\kappa = \ell_b = \ell_a = \|B\|`, distances
:math:`b_{ij} = 2A(x_i - x_j)`, :math:`a_{ij} = 2Ax_j`, :math:`\kappa = 3\|A\|`, :math:`\ell_b = 4\|A\|`, :math:`\ell_a
= 2\|A\|`. Rotary positions have :math:`B_{ij} = \sigma W_Q^\top T_{j-i}W_K`, of norms at most :math:`\kappa =
\sigma\|W_Q\|\|W_K\|`, and :math:`a_{ij}` that depend on i (:mod:`theory.lipschitz.certificate.turned`). Sums of these
over rows and columns bound how far the norms move, for squares the root of their product or of the sum of all squares,
whichever is smaller.
Tokens within r of X are a convex set, so that a bound of the norms there is a Lipschitz constant there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from theory.evidence import Interval, exact, norm

_STRIP = 64  # taken: rows of many tokens that are moved at a time, which a cache holds
_WHOLE = 512  # taken: tokens whose rows are moved all at once
_LEAST_REACH = 1e-300  # taken: if this is too far, so is every reach
_HALVINGS = 12  # taken: of the logarithm of the reach
UNHELD = "tokens: expected ones at which float64 can enclose the norms, got others"
_GUESSES = 4  # taken: of a reach for many tokens, each of which is valid


class HeadSizes(NamedTuple):
    """Sizes of the parts of one head's Jacobian: enclosures, or upper bounds as exact floats, of shape (n, n)."""

    weights: Any
    offsets: Any
    """Of u."""
    images: Any
    """Of U u."""
    by_key: Any
    """Of b; shape (n, 1) where it is the same for all keys."""
    by_query: Any
    """Of a, centred."""
    value: Interval
    """The norm of U."""
    slopes: tuple[Interval, Interval, Interval]
    """kappa, l_b, l_a."""

    def rows(self, part: slice) -> HeadSizes:
        """Return some rows."""
        weights, offsets, images, by_key, by_query = (array[part] for array in self[:5])
        return HeadSizes(weights, offsets, images, by_key, by_query, self.value, self.slopes)


def held(sizes: Any) -> Any:
    """Return upper bounds as exact floats.

    Raises
    ------
    ValueError
        If float64 cannot hold one: the rounding of scores is so large that weights are unknown, or squares overflow.
    """
    if not np.isfinite(sizes).all():
        raise ValueError(UNHELD)
    return exact(sizes)


def moves(heads: list[HeadSizes], r: float) -> tuple[float, float, float]:
    """Bound how far the norms of the mean, the largest and the Frobenius displacement move within r."""
    n = len(heads[0].weights)
    step = n if n <= _WHOLE else _STRIP
    columns, squares, largest = exact(np.zeros(n)), Interval.exactly(0.0), 0.0
    with np.errstate(all="ignore"):
        for start in range(0, n, step):
            rows = slice(start, start + step)
            blocks = [block_moves(head.rows(rows), r, start) for head in heads]
            total = sum(blocks[1:], start=blocks[0])
            columns = columns + total.sum(axis=0)
            largest = max(largest, total.sum(axis=1).max().hi)
            squares = squares + norm(total.reshape(-1)) ** 2
    column = columns.max().hi
    if not max(column, largest) < math.inf:
        return math.inf, math.inf, math.inf
    both = (Interval.exactly(column) * Interval.exactly(largest)).sqrt().hi
    return column, largest, min(both, squares.sqrt().hi)


def block_moves(head: HeadSizes, r: float, start: int = 0) -> Any:
    """Bound by how much every block moves within r; ``start`` is the first of the rows."""
    kappa, by_key, by_query = head.slopes
    shifts = (head.by_key + head.by_query) * r + kappa * (Interval.exactly(r) ** 2)
    if not shifts.hi.max() < 300.0:  # weights could be anything: a smaller reach is needed
        return head.weights * 0.0 + Interval.unknown()
    rise, fall = np.exp(shifts), np.exp(-shifts)
    raised, fallen = head.weights * rise, head.weights * fall
    most = raised / (fallen.sum(axis=1, keepdims=True) + (raised - fallen))
    least = fallen / (raised.sum(axis=1, keepdims=True) - (raised - fallen))
    change = np.maximum(np.maximum(most - head.weights, head.weights - least), 0.0)
    others = np.minimum(1.0 - head.weights + change, 1.0)
    moved = (2.0 * r) * others + (change * head.offsets).sum(axis=1, keepdims=True)
    spread = head.value * moved
    reached = head.images + spread
    weights = head.weights + change
    blocks = change * (head.value + head.images * head.by_key)
    blocks = blocks + weights * (spread * head.by_key + reached * (by_key * r))
    own = change * head.images * head.by_query + weights * (spread * head.by_query + reached * (by_query * r))
    return blocks + np.eye(len(change), change.shape[1], start) * own.sum(axis=1, keepdims=True)


def own_reach(holds: Callable[[float], bool], start: float) -> float:
    """Return a reach at which something holds, nearly the largest, between parts and multiples of a start."""
    if not holds(_LEAST_REACH):  # rounding alone is more than the norm
        raise ValueError("reach: expected one to be given where the norm is zero up to rounding, got None")
    low = start
    while not holds(low):
        low = max(low / 16.0, _LEAST_REACH)
    high = 16.0 * low
    while high < 2.0**20 * start and holds(high):
        low, high = high, 16.0 * high
    for _ in range(_HALVINGS):
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def quick_reach(moved: Callable[[float], float], room: float, start: float) -> float:
    """Return a reach within which a norm moves by at most some room, by few trials: it moves faster than in proportion.

    The trials begin at a part of the start at which it moves by less, and go by secants of the logarithms.
    """
    low = start
    while not moved(low) <= room:
        low = low / 64.0
        if low < _LEAST_REACH:
            raise ValueError("reach: expected one to be given where the norm is zero up to rounding, got None")
    power = 1.0
    for _ in range(_GUESSES):
        before = moved(low)
        if not before > 0.0 or before > 0.9 * room or low >= 2.0**20 * start:
            break
        high = min(low * (room / before) ** (1.0 / power), 2.0**20 * start)
        after = moved(high)
        if after <= room:
            low = high
            continue
        power = max(power, math.log(after / before) / math.log(high / low)) if after < math.inf else 2.0 * power
    return low
