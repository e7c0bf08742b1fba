r"""The Wasserstein-1 distance of large clouds, from both sides, without a matrix of all costs.

A coupling needs few arcs: a basic optimal plan of n and m atoms has at most n + m - 1. Coarser clouds tell which.

1. What both measures share stays where it is (:mod:`theory.distance.excess`).
2. Both clouds are cut into a few hundred cells (:mod:`theory.distance.cells`), and the cells' centres are coupled
   over all pairs. The envelope of the potentials proposes potentials of four times as many cells, and so on
   (:mod:`theory.distance.search`).
3. Finer cells, and in the end atoms, are coupled over a few arcs each: those within coupled cells, so that there is a
   coupling at all, and those of smallest reduced cost :math:`C_{ij} - u_i - v_j` at either end
   (:mod:`theory.distance.envelope`). The envelopes of the solver's potentials name the arcs that were missing, with
   which it is asked again, until both bounds nearly meet.
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

from fractions import Fraction

import numpy as np

from theory.attention import Measure
from theory.distance.cells import Places, coarsen, halvings, spread
from theory.distance.coupling import bound_cost
from theory.distance.dyadic import enclosure
from theory.distance.envelope import least, measure
from theory.distance.excess import excess
from theory.distance.search import Solver, search_plan
from theory.evidence import Interval, Kind

_COARSE = 512  # measured: half of them save less in the solver than another level costs, and twice as many cost 0.2 s
_LIGHT = 2.0**-1000  # taken: lighter atoms are proposed as heavy as this, lest a cell of them weigh nothing


def w1_sparse(
    mu: Measure, nu: Measure, solve: Solver, *, most: int, enough: float = 1e-3, coarse: int = _COARSE
) -> Interval:
    """Enclose the Wasserstein-1 distance of two large clouds.

    Parameters
    ----------
    mu, nu : Measure
        Clouds in the same dimension. Their weights are normalised exactly.
    solve : callable
        Proposes a plan over given arcs.
    most : int
        Clouds with more atoms are coupled by this many cells; ``coarse`` times a power of two.
    enough : float
        The relative width at which the search ends.
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
    ruler, lift = measure(x, y)
    x, y = np.ldexp(x, lift), np.ldexp(y, lift)
    first, second = halvings(x, y)
    x, y = x[first], y[second]
    supply = [supply[k] for k in first.tolist()]
    demand = [demand[k] for k in second.tolist()]
    a, b = _proposed_masses(supply), _proposed_masses(demand)
    with np.errstate(under="ignore"):  # what vanishes is charged to ``ruler.lost``
        coarse_x, coarse_y = coarsen(x, a, most), coarsen(y, b, most)
        plan, dual = search_plan(ruler, coarse_x, coarse_y, solve, coarse=coarse, enough=enough)
        arcs = spread(plan, a, coarse_x.names, b, coarse_y.names)
        upper = ruler.along(x[arcs.rows], y[arcs.columns])
        if max(len(x), len(y)) <= most:
            u = dual.u - ruler.slip(dual.v)
            v = dual.v
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
