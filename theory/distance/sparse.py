r"""The Wasserstein-1 distance of large clouds, from both sides, without a matrix of all costs.

A coupling needs few arcs: a basic optimal plan of n and m atoms has at most n + m - 1. Coarser clouds tell which.

1. What both measures share stays where it is (:mod:`theory.distance.excess`).
2. Both clouds are cut into about a thousand cells (:mod:`theory.distance.cells`), and the cells' centres are coupled
   over all pairs. The envelope of the potentials proposes potentials of the atoms.
3. Atoms are coupled over a few arcs each: those within coupled cells, so that there is a coupling at all, and those of
   smallest reduced cost :math:`C_{ij} - u_i - v_j` at either end (:mod:`theory.distance.envelope`). The envelopes of
   the solver's potentials name the arcs that were missing, with which it is asked again, until both bounds nearly meet.
4. Clouds of more than ``most`` atoms take cells for atoms in step 3; in the end the plan of the cells is spread over
   the atoms, in the order of the cells.

Nothing of this is believed. *Above*, the plan is repaired in exact arithmetic (:mod:`theory.distance.coupling`).
*Below*, two pairs are feasible, and :math:`\langle \alpha, u \rangle + \langle \beta, v \rangle` is summed exactly: for
any :math:`v`, :math:`u_i = \min_j (|x_i - y_j| - v_j)` over all atoms, less one slip; and for the envelope :math:`f` of
any cones, :math:`u_i = -f(x_i)` and :math:`v_j = f(y_j)`, each less one slip, since :math:`f` is 1-Lipschitz. The
former serves atoms, the latter cells, of which the cones are fewer. The width tells how the search did: atoms of which
all arcs were found leave nothing, cells about the distance by which the parts of a cell would rather go different ways.

References
----------
S. Gerber and M. Maggioni, Multiscale strategies for computing optimal transport, *Journal of Machine Learning
Research* 18 (2017), no. 72.
B. Schmitzer, A sparse multiscale algorithm for dense optimal transport, *Journal of Mathematical Imaging and Vision*
56 (2016), 238-259.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from theory.attention import Measure
from theory.distance.cells import Cells, Numbers, Places, coarsen, halvings, members, staircase
from theory.distance.coupling import Arcs, bound_cost
from theory.distance.dyadic import enclosure
from theory.distance.envelope import Ruler, least
from theory.distance.excess import excess
from theory.evidence import Interval, Kind

_COARSE = 1024  # measured: cells that are coupled over all pairs in 0.2 s
_ARCS = 8  # measured: arcs of smallest reduced cost at either end of an atom; 5 take a round more, 12 no round less
_KEPT = 12  # measured: arcs per atom that are kept for the next round
_ROUNDS = 8  # measured: most clouds are done after three
_ENOUGH = 1e-3  # taken: the relative width at which the search ends, a tenth of what a verdict resolves
_LIGHT = 2.0**-1000  # taken: lighter atoms are proposed as heavy as this, lest a cell of them weigh nothing
_ABSURD = 2.0**512  # derived: smaller heights are far from overflow; distances are at most one
_LARGE = 480  # derived: d (2 * 2**480)**2 stays finite up to d = 2**60, times 2**40 atoms up to d = 2**20
_LOST = -510  # derived: twice 2**-511, the root of the smallest normal double

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


def w1_sparse(mu: Measure, nu: Measure, solve: Solver, *, most: int, coarse: int = _COARSE) -> Interval:
    """Enclose the Wasserstein-1 distance of two large clouds.

    Parameters
    ----------
    mu, nu : Measure
        Clouds in the same dimension. Their weights are normalised exactly.
    solve : callable
        Proposes a plan over given arcs.
    most : int
        Clouds with more atoms are coupled by this many cells; a multiple of ``coarse``.
    coarse : int
        Cells coupled over all pairs.

    Returns
    -------
    Interval
        In the unit of the points, kind ``CERTIFIED``.
    """
    x, supply, y, demand, share = excess(mu, nu)
    if not supply:
        return Interval.exactly(0.0, Kind.CERTIFIED)
    ruler, lift = _measure(x, y)
    x, y = np.ldexp(x, lift), np.ldexp(y, lift)
    first, second = halvings(x, y)
    x, y = x[first], y[second]
    supply = [supply[k] for k in first.tolist()]
    demand = [demand[k] for k in second.tolist()]
    a, b = _proposed_masses(supply), _proposed_masses(demand)
    with np.errstate(under="ignore"):  # what vanishes is charged to ``ruler.lost``
        coarse_x, coarse_y = coarsen(x, a, most), coarsen(y, b, most)
        plan, dual = _search(ruler, coarse_x, coarse_y, solve, coarse)
        arcs = _spread(plan, a, coarse_x.names, b, coarse_y.names)
        upper = ruler.along(x[arcs.rows], y[arcs.columns])
        if max(len(x), len(y)) <= most:
            u, v = dual.u - ruler.slip(dual.v), dual.v
        else:
            u, v = (least(ruler, z, coarse_x.places, dual.heights, 1)[0] for z in (x, y))
            u, v = -u - ruler.slip(dual.heights), v - ruler.slip(dual.heights)
        u, v = np.nextafter(u, -np.inf), np.nextafter(v, -np.inf)  # the differences themselves round
    below, above = bound_cost(supply, demand, u, v, arcs, upper, diameter=1.0)
    scale = Fraction(2) ** (ruler.unit - lift) * share
    return enclosure(max(below, Fraction(0)) * scale, above * scale)


def _proposed_masses(masses: list[int]) -> Places:
    """Return the masses as shares of their sum, none lighter than a cell may weigh."""
    total = sum(masses)
    return np.array([max(mass / total, _LIGHT) for mass in masses])


def _measure(x: Places, y: Places) -> tuple[Ruler, int]:
    """Return what measures the places once ``2**lift`` has taken their largest coordinate to about ``2**480``."""
    lift = _LARGE - math.frexp(max(float(np.abs(x).max()), float(np.abs(y).max())))[1]
    ends = np.ldexp([np.minimum(x.min(axis=0), y.min(axis=0)), np.maximum(x.max(axis=0), y.max(axis=0))], lift)
    diagonal = 1.01 * math.dist(*ends.tolist())  # a hundredth pays for its rounding, and for centres off by rounding
    unit = max(math.frexp(diagonal)[1], _LOST)  # where even this is lost, everything may be
    dim = x.shape[1]
    return Ruler(unit, (dim + 4) * 2.0**-52, math.ldexp(math.isqrt(dim) + 1, _LOST - unit)), lift


def _search(ruler: Ruler, first: Cells, second: Cells, solve: Solver, coarse: int) -> tuple[Arcs, Dual]:
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
            lo, dual = below, Dual(heights, u, v)
        if hi - lo <= _ENOUGH * hi:
            break
        cheap = np.argsort(cost - u[rows] - v[columns])[: _KEPT * (len(x) + width)]
        keys = np.concatenate([keys[cheap], found.rows * width + found.columns])
    return plan, dual


def _start(ruler: Ruler, first: Cells, second: Cells, solve: Solver, coarse: int) -> Start:
    """Couple ``coarse`` cells over all pairs."""
    x, y = first.places, second.places
    far_x, far_y = coarsen(x, first.masses, coarse), coarsen(y, second.masses, coarse)
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


def _spread(plan: Arcs, a: Places, in_x: Numbers, b: Places, in_y: Numbers) -> Arcs:
    """Return a plan of the atoms of which the cells exchange what ``plan`` says, in the order of the cells."""
    if len(a) == in_x[-1] + 1 and len(b) == in_y[-1] + 1:
        return plan
    order = np.lexsort((plan.columns, plan.rows))
    targets = plan.columns[order]
    rows, arcs, masses = staircase(a, plan.masses[order])
    order = np.argsort(targets[arcs], kind="stable")  # of one cell the parts that come from neighbours stay together
    columns, pieces, masses = staircase(b, masses[order])
    keys, where = np.unique(rows[order][pieces] * len(b) + columns, return_inverse=True)
    return Arcs(keys // len(b), keys % len(b), np.bincount(where, masses).astype(np.float64))
