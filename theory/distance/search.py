"""The search for a plan of few arcs and good potentials; steps 2 and 3 of :mod:`theory.distance.sparse`.

Nothing here enters a bound: whatever is found is repaired and shifted afterwards.

*Levels.* Cells are coupled over all pairs, then four times as many over few arcs, and so on down to the atoms. The
envelopes of the potentials of one level are the first potentials of the next.

*Reduced costs.* The solver is told :math:`C_{ij} - u_i - v_j` for the best potentials so far, which are feasible, in
the place of :math:`C_{ij}`. The optimal plans are the same, and as most of these costs are near zero they are found
several times sooner.

*Middles.* Potentials that are optimal for the arcs at hand lie at a corner and violate what the missing arcs say.
Halfway between them and the best ones so far the dual is often larger; either is tried, and names the arcs that were
missing.

References
----------
P. Wentges, Weighted Dantzig-Wolfe decomposition for linear mixed-integer programming, *International Transactions in
Operational Research* 4 (1997), 151-162.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from theory.distance.cells import Cells, Numbers, Places, cells, coarsen, members
from theory.distance.coupling import Arcs
from theory.distance.envelope import Ruler, least

_ARCS = 6  # measured: arcs of smallest reduced cost at either end of an atom; 16 take no round less
_KEPT = 6  # measured: arcs per atom that are kept for the next round
_ROUNDS = 16  # measured: most clouds are done after six
_FINER = 4  # measured: cells of the next level to one of this
_ROUGH = 1e-2  # measured: the relative width at which a level hands on to the next, finer ones save no round there
_ABSURD = 2.0**512  # derived: smaller heights are far from overflow; distances are at most one

Solver = Callable[
    [Places, Places, Numbers, Numbers, Places], tuple[Numbers, Numbers, Places, Places]
]  # masses, arcs and costs give arcs that carry, what they carry, and the potential of the rows


class Dual(NamedTuple):
    """Heights of cones over the first places, their envelope ``v`` over the second, and the envelope ``u`` of that."""

    heights: Places
    u: Places
    v: Places


class Level(NamedTuple):
    """Coupled cells, their plan and their potentials."""

    first: Cells
    second: Cells
    plan: Arcs
    dual: Dual


def search_plan(
    ruler: Ruler, first: Cells, second: Cells, solve: Solver, *, coarse: int, enough: float
) -> tuple[Arcs, Dual]:
    """Return the cheapest plan and the best potentials that were found for two clouds, to a relative width."""
    size, most = coarse, max(len(first.places), len(second.places))
    level = _start(ruler, _cut(first, size), _cut(second, size), solve)
    while size < most:
        size = size * _FINER if size * _FINER < 0.7 * most else most
        wanted = enough if size == most else max(enough, _ROUGH)
        level = _refine(ruler, level, _cut(first, size), _cut(second, size), solve, wanted)
    return level.plan, level.dual


def _cut(cloud: Cells, size: int) -> Cells:
    """Return at most ``size`` cells of a cloud in order."""
    return coarsen(cloud.places, cloud.masses, size)


def _start(ruler: Ruler, first: Cells, second: Cells, solve: Solver) -> Level:
    """Couple cells over all pairs."""
    x, y = first.places, second.places
    rows, columns = (ends.ravel() for ends in np.indices((len(x), len(y))))
    plan, heights = _ask(solve, first.masses, second.masses, rows, columns, ruler.along(x[rows], y[columns]))
    v = least(ruler, y, x, heights, 1)[0]
    return Level(first, second, plan, Dual(heights, least(ruler, x, y, v, 1)[0], v))


def _refine(ruler: Ruler, level: Level, first: Cells, second: Cells, solve: Solver, enough: float) -> Level:
    """Couple finer cells over few arcs, first of all over those within coupled coarser ones."""
    x, a = first.places, first.masses
    y, b = second.places, second.masses
    width = len(y)
    v = least(ruler, y, level.first.places, level.dual.heights, 1)[0]
    u, forth = least(ruler, x, y, v, _ARCS)
    back = least(ruler, y, x, u, _ARCS)[1]
    inside = cells(len(x), len(level.first.places)), cells(width, len(level.second.places))
    rows, columns = members(*inside, level.plan.rows, level.plan.columns)
    keys = rows * width + columns
    plan, best = level.plan, Dual(u, u, v)
    lo, hi = -math.inf, math.inf
    for _ in range(_ROUNDS):
        keys = np.unique(np.concatenate([keys, *_arcs(forth, back, width)]))
        rows, columns = np.divmod(keys, width)
        cost = ruler.along(x[rows], y[columns])
        found, rise = _ask(solve, a, b, rows, columns, np.maximum(cost - best.u[rows] - best.v[columns], 0.0))
        above = float(found.masses @ ruler.along(x[found.rows], y[found.columns])) + 1.0 - float(found.masses.sum())
        if above < hi:
            hi, plan = above, found
        here = -math.inf
        for heights in (best.u + rise, best.u + rise / 2):
            v, near = least(ruler, y, x, heights, _ARCS)
            v -= v.max() / 2 + v.min() / 2
            u, far = least(ruler, x, y, v, _ARCS)
            below = float(a @ u + b @ v)
            if below > here:
                here, forth, back, dual = below, far, near, Dual(heights, u, v)
        if here > lo:
            lo, best = here, dual
        if hi - lo <= enough * hi:
            break
        cheap = np.argsort(cost - best.u[rows] - best.v[columns])[: _KEPT * (len(x) + width)]
        keys = np.concatenate([keys[cheap], found.rows * width + found.columns])
    return Level(first, second, plan, best)


def _ask(solve: Solver, a: Places, b: Places, rows: Numbers, columns: Numbers, cost: Places) -> tuple[Arcs, Places]:
    """Ask the solver; masses that are none are left out, and heights that are absurd are zero instead."""
    rows, columns, masses, heights = solve(a, b, rows, columns, cost)
    carries = (masses > 0.0) & (masses < np.inf)
    heights = heights if np.abs(heights).max() < _ABSURD else np.zeros_like(heights)
    return Arcs(rows[carries], columns[carries], masses[carries]), heights - (heights.max() / 2 + heights.min() / 2)


def _arcs(forth: Numbers, back: Numbers, width: int) -> tuple[Numbers, Numbers]:
    """Return as numbers ``row * width + column`` the arcs to the partners of all rows and of all columns."""
    return (
        (np.arange(len(forth))[:, np.newaxis] * width + forth).ravel(),
        (back * width + np.arange(len(back))[:, np.newaxis]).ravel(),
    )
