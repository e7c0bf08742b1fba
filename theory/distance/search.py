"""The search for a plan of few arcs and good potentials; step 3 of :mod:`theory.distance.sparse`.

Nothing here enters a bound: whatever is found is repaired and shifted afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from theory.distance.cells import Cells, Numbers, Places, coarsen, members
from theory.distance.coupling import Arcs
from theory.distance.envelope import Ruler, least

_ARCS = 8  # measured: arcs of smallest reduced cost at either end of an atom; 5 take a round more, 12 no round less
_KEPT = 12  # measured: arcs per atom that are kept for the next round
_ROUNDS = 8  # measured: most clouds are done after three
_ENOUGH = 1e-3  # taken: the relative width at which the search ends, a tenth of what a verdict resolves
_ABSURD = 2.0**512  # derived: smaller heights are far from overflow; distances are at most one

Solver = Callable[
    [Places, Places, Numbers, Numbers, Places], tuple[Numbers, Numbers, Places, Places]
]  # masses, arcs and costs give arcs that carry, what they carry, and the potential of the rows


class Dual(NamedTuple):
    """Heights of cones over the first places, their envelope ``v`` over the second, and the envelope ``u`` of that."""

    heights: Places
    u: Places
    v: Places


class Start(NamedTuple):
    """What coupled cells propose for their atoms: arcs by number, partners of rows and of columns, potentials."""

    plan: Arcs
    keys: Numbers
    forth: Numbers
    back: Numbers
    dual: Dual


def search_plan(ruler: Ruler, first: Cells, second: Cells, solve: Solver, coarse: int) -> tuple[Arcs, Dual]:
    """Return the cheapest plan and the best potentials that were found for two clouds of cells."""
    x, a = first.places, first.masses
    y, b = second.places, second.masses
    width = len(y)
    plan, keys, forth, back, dual = _start(ruler, first, second, solve, coarse)
    lo, hi = -math.inf, math.inf
    for _ in range(_ROUNDS):
        keys = np.unique(np.concatenate([keys, *_arcs(forth, back, width)]))
        rows, columns = np.divmod(keys, width)
        cost = ruler.along(x[rows], y[columns])
        found, heights = _ask(solve, a, b, rows, columns, cost)
        above = float(found.masses @ ruler.along(x[found.rows], y[found.columns])) + 1.0 - float(found.masses.sum())
        v, back = least(ruler, y, x, heights, _ARCS)
        v -= v.max() / 2 + v.min() / 2
        u, forth = least(ruler, x, y, v, _ARCS)
        below = float(a @ u + b @ v)
        if above < hi:
            hi, plan = above, found
        if below > lo:
            lo = below
            dual = Dual(heights, u, v)
        if hi - lo <= _ENOUGH * hi:
            break
        cheap = np.argsort(cost - u[rows] - v[columns])[: _KEPT * (len(x) + width)]
        keys = np.concatenate([keys[cheap], found.rows * width + found.columns])
    return plan, dual


def _start(ruler: Ruler, first: Cells, second: Cells, solve: Solver, coarse: int) -> Start:
    """Couple ``coarse`` cells over all pairs."""
    x, y = first.places, second.places
    far_x = coarsen(x, first.masses, coarse)
    far_y = coarsen(y, second.masses, coarse)
    rows, columns = (ends.ravel() for ends in np.indices((len(far_x.places), len(far_y.places))))
    cost = ruler.along(far_x.places[rows], far_y.places[columns])
    plan, heights = _ask(solve, far_x.masses, far_y.masses, rows, columns, cost)
    v = least(ruler, y, far_x.places, heights, 1)[0]
    u, forth = least(ruler, x, y, v, _ARCS)
    back = least(ruler, y, x, u, _ARCS)[1]
    rows, columns = members(far_x.names, far_y.names, plan.rows, plan.columns)
    return Start(plan, rows * len(y) + columns, forth, back, Dual(-u, u, v))


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
