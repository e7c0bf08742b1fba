r"""The Wasserstein-1 distance of clouds that are small enough for all distances between their atoms.

*Costs.* Differences first, never an expanded square. One power of two takes the largest coordinate into
:math:`[2^{479}, 2^{480})`, so that no square overflows; another takes the largest cost into :math:`[\tfrac12, 1)`,
since the solver has an absolute tolerance. Difference, square, sum of :math:`d` terms and root have relative error
:math:`(d/2 + 2)u` to first order; four times that is charged. Squares below :math:`2^{-1022}` may vanish, which by
:math:`|\sqrt{s + t} - \sqrt{s}| \le \sqrt{t}` costs at most :math:`\sqrt{d}\,2^{-511}`; twice that is charged, and pays
for every other rounding near zero. With :math:`\eta` this amount in units of the costs,

.. math:: C^{lo} = (1 - 2(d+4)u)\,C - \eta \;\le\; |x_i - y_j| \;\le\; (1 + 2(d+4)u)\,C + \eta = C^{hi}.

*Below.* :math:`v_j = \min_i (C^{lo}_{ij} - u_i)`, rounded down, is feasible by construction for any :math:`u`; then
:math:`u` rises to the transform of :math:`v`. First :math:`u` is centred, since :math:`v` is rounded at its size. The
sums are exact. That the lower end is never negative is a theorem too: :math:`W_1 \ge 0`.

*Above.* The plan is repaired in exact arithmetic, see :mod:`theory.distance.coupling`.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from scipy.spatial.distance import cdist

from theory.attention import Measure
from theory.distance.cells import Places
from theory.distance.coupling import Arcs, bound_cost
from theory.distance.dyadic import enclosure, grid
from theory.distance.simplex import solve
from theory.evidence import Interval

_LARGE = 480  # derived: d (2 * 2**480)**2 stays finite up to d = 2**60
_LOST = -510  # derived: twice 2**-511, the root of the smallest normal double
_BLOCK = 32  # measured: 16 to 256 rows stay in cache; the whole matrix at once takes three times as long
_ABSURD = 2.0**512  # derived: smaller potentials are far from overflow; costs are below one, so larger ones say nothing


def w1_dense(mu: Measure, nu: Measure, iterations: int) -> Interval:
    """Enclose the Wasserstein-1 distance of two measures on one space, from the distances of all their atoms."""
    x, a = _atoms(mu)
    y, b = _atoms(nu)
    supply, demand = grid(a)[0], grid(b)[0]
    relative = (mu.dim + 4) * 2.0**-52  # 2(d + 4)u; 1 - relative and 1 + relative are doubles
    with np.errstate(under="ignore"):  # what vanishes is charged to ``lost``
        cost, largest, unit, lost = _costs(x, y)
        plan, potential = _propose(a, b, cost, iterations)
        u, v = _feasible(cost, potential, relative, lost)
        rows, columns = np.divmod(np.flatnonzero((plan > 0.0) & (plan < np.inf)), cost.shape[1])
        upper = cost[rows, columns] * (1.0 + relative) + lost
        diameter = largest * (1.0 + relative) + lost
    upper[(x[rows] == y[columns]).all(axis=1)] = 0.0  # at one and the same place nothing was rounded
    arcs = Arcs(rows, columns, plan[rows, columns])
    below, above = bound_cost(supply, demand, u, v, arcs, upper, diameter=diameter)
    scale = Fraction(2) ** unit
    return enclosure(max(below, Fraction(0)) * scale, above * scale)


def _atoms(mu: Measure) -> tuple[Places, Places]:
    """Return places and masses of the atoms that have mass."""
    heavy = mu.weights > 0.0
    return mu.points[heavy], mu.weights[heavy]


def _costs(x: Places, y: Places) -> tuple[Places, float, int, float]:
    """Return distances in units of ``2**unit``, the largest of them, ``unit``, and what underflow may cost."""
    lift = _LARGE - math.frexp(max(float(np.abs(x).max()), float(np.abs(y).max())))[1]
    cost = cdist(np.ldexp(x, lift), np.ldexp(y, lift))
    largest, top = math.frexp(float(cost.max()))
    cost *= math.ldexp(1.0, -top)
    return cost, largest, top - lift, math.ldexp(math.isqrt(x.shape[1]) + 1, _LOST - top)


def _feasible(cost: Places, potential: Places, relative: float, lost: float) -> tuple[Places, Places]:
    """Return potentials that are feasible for the true costs, and nearly optimal if ``potential`` is."""
    u = potential if np.abs(potential).max() < _ABSURD else np.zeros_like(potential)
    u = u - (u.max() / 2 + u.min() / 2)
    v = _transform(cost, u, relative, lost)
    return _transform(cost.T, v, relative, lost), v


def _transform(cost: Places, u: Places, relative: float, lost: float) -> Places:
    """Return a lower bound of ``min_i (C_ij - u_i)`` for every j."""
    least = np.full(cost.shape[1], np.inf)
    for start in range(0, cost.shape[0], _BLOCK):
        block = cost[start : start + _BLOCK] * (1.0 - relative)
        block -= u[start : start + _BLOCK, np.newaxis]
        np.minimum(least, block.min(axis=0), out=least)
    lower: Places = np.nextafter(np.nextafter(least, -np.inf) - lost, -np.inf)  # a step per difference
    return lower


def _propose(a: Places, b: Places, cost: Places, iterations: int) -> tuple[Places, Places]:
    """Ask the network simplex for a plan and the potential of its rows."""
    plan, log = solve(a, b, cost, iterations)
    return np.asarray(plan, dtype=np.float64), np.asarray(log["u"], dtype=np.float64)
