r"""Both bounds of a transport cost, from potentials that are feasible and a plan that nobody vouches for.

Let :math:`\alpha, \beta` be probability vectors with rational entries and :math:`C_{ij} \le D` costs, and let a
solver propose non-negative floats :math:`G_{ij}`. Two couplings are made of them; the cost of either bounds the
optimal one.

*Forest.* A basic solution of the transport problem is carried by a forest, and a forest leaves no choice: the arc at
a leaf carries all that the leaf still has, and without that arc the rest is a smaller forest. In integers,
:math:`a_i S_b` at the rows and :math:`b_j S_a` at the columns with :math:`S` the sums, this is exact. If no flow is
negative and nothing is left over, the flows are a coupling.

*Defect.* For any :math:`G \ge 0`, with row sums :math:`r` and column sums :math:`s`,

.. math:: \min_{\Pi(\alpha, \beta)} \langle C, \cdot \rangle
          \le \langle C, G \rangle + \tfrac{D}{2} \bigl( \|\alpha - r\|_1 + \|\beta - s\|_1 \bigr).

Shrink the rows that exceed :math:`\alpha`, then the columns that still exceed :math:`\beta`. What remains costs no
more than :math:`G` and lies below both marginals. The first step removes :math:`R = \sum_i (r_i - \alpha_i)^+`, the
second at most :math:`S = \sum_j (s_j - \beta_j)^+`, so at most :math:`M = 1 - |G| + R + S` is then missing. By
:math:`1 - |G| + R = \sum_i (\alpha_i - r_i)^+` and :math:`1 - |G| + S = \sum_j (\beta_j - s_j)^+` this is half of
:math:`\|\alpha - r\|_1 + \|\beta - s\|_1`. What is missing in :math:`\alpha` and what is missing in :math:`\beta`
have equal mass, and any coupling of the two costs at most :math:`D` per unit.

References
----------
G. B. Dantzig, *Linear Programming and Extensions*, Princeton University Press 1963, chapter 14.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory.distance.dyadic import grid, inner


class Arcs(NamedTuple):
    """Arcs of a plan, no two with the same ends, and the positive, finite masses that they carry."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    masses: NDArray[np.float64]


def bound_cost(
    supply: Sequence[int], demand: Sequence[int], u: NDArray[np.float64], v: NDArray[np.float64],
    arcs: Arcs, cost: NDArray[np.float64], *, diameter: float,
) -> tuple[Fraction, Fraction]:  # fmt: skip
    """Return a lower and an upper bound of the optimal cost, both exact.

    Parameters
    ----------
    supply, demand : sequence of int
        The marginals, as integers in units of one over their own sums.
    u, v : ndarray
        Potentials, feasible for the true costs.
    arcs : Arcs
        Of a plan.
    cost : ndarray, shape (k,)
        Upper bounds of the unit costs of the arcs.
    diameter : float
        Upper bound of all unit costs.
    """
    below = inner(supply, u) / sum(supply) + inner(demand, v) / sum(demand)
    rows, columns = arcs.rows.tolist(), arcs.columns.tolist()
    above = cheapest_repair(rows, columns, arcs.masses, cost, diameter=diameter, supply=supply, demand=demand)
    return below, above


def cheapest_repair(
    rows: Sequence[int],
    columns: Sequence[int],
    plan: NDArray[np.float64],
    cost: NDArray[np.float64],
    *,
    diameter: float,
    supply: Sequence[int],
    demand: Sequence[int],
) -> Fraction:
    r"""Bound the optimal cost from above by repairing a plan.

    Parameters
    ----------
    rows, columns : sequence of int, length k
        Ends of the arcs of the plan; no two arcs share both.
    plan, cost : ndarray, shape (k,)
        Positive, finite flow and an upper bound of the unit cost of every arc.
    diameter : float
        Upper bound of all unit costs.
    supply, demand : sequence of int
        The marginals, as integers in units of one over their own sums.

    Returns
    -------
    Fraction
        The smaller one of both bounds of this module; the defect's alone if the arcs carry no coupling.
    """
    total, rest = sum(supply), sum(demand)
    masses, e = grid(plan)
    unit = 1 << -e
    defect = _defect(rows, masses, supply, unit) + _defect(columns, masses, demand, unit)
    bound = inner(masses, cost) / unit + Fraction(diameter) * defect / 2
    flow = forest_flow(rows, columns, [a * rest for a in supply], [b * total for b in demand])
    return bound if flow is None else min(bound, inner(flow, cost) / (total * rest))


def forest_flow(
    rows: Sequence[int], columns: Sequence[int], supply: Sequence[int], demand: Sequence[int]
) -> list[int] | None:
    """Return the non-negative flow on the arcs of a forest that meets ``supply`` and ``demand``, if there is one.

    Returns
    -------
    list of int, or None
        ``None`` if a flow would be negative, or something is left over at an atom or on a cycle.
    """
    ends = [(i, len(supply) + j) for i, j in zip(rows, columns, strict=True)]
    left = [*supply, *demand]
    degree, arcs = [0] * len(left), [0] * len(left)  # count and exclusive or of the arcs that remain at a node
    for arc, pair in enumerate(ends):
        for node in pair:
            degree[node] += 1
            arcs[node] ^= arc  # at a leaf this is the number of its one arc
    flow = [0] * len(ends)
    leaves = [node for node, count in enumerate(degree) if count == 1]
    for leaf in leaves:  # grows while it is read
        if degree[leaf] == 0:  # its arc went with the other end, the last of this tree
            continue
        arc = arcs[leaf]
        node = sum(ends[arc]) - leaf
        flow[arc] = left[leaf]
        left[node] -= left[leaf]
        left[leaf] = degree[leaf] = 0
        degree[node] -= 1
        arcs[node] ^= arc
        if degree[node] == 1:
            leaves.append(node)
    return None if any(left) or min(flow, default=0) < 0 else flow


def _defect(ends: Sequence[int], masses: Sequence[int], marginal: Sequence[int], unit: int) -> Fraction:
    """Return the 1-norm of the normalised marginal minus what arrives at its ends, masses in steps of ``1 / unit``."""
    total = sum(marginal)
    gathered = [0] * len(marginal)
    for end, mass in zip(ends, masses, strict=True):
        gathered[end] += mass
    return Fraction(sum(abs(a * unit - g * total) for a, g in zip(marginal, gathered, strict=True)), total * unit)
