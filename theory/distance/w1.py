r"""The Wasserstein-1 distance, enclosed from both sides.

For :math:`\mu = \sum_i \alpha_i \delta_{x_i}`, :math:`\nu = \sum_j \beta_j \delta_{y_j}` and
:math:`C_{ij} = |x_i - y_j|`, Kantorovich duality says

.. math:: \max_{u_i + v_j \le C_{ij}} \langle \alpha, u \rangle + \langle \beta, v \rangle = W_1(\mu, \nu)
          = \min_{G \in \Pi(\alpha, \beta)} \langle C, G \rangle.

So every feasible pair is a lower bound and every coupling an upper one, whoever proposes them. A network simplex
proposes both; nothing it says is believed. The interval holds even if it stopped early, and its width tells how it did.

*Measures.* By definition :math:`\alpha_i = a_i / \sum a` and :math:`\beta_j = b_j / \sum b` for the given doubles, in
exact arithmetic. Atoms without mass are left out.

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

*Large clouds.* The matrix of all costs grows too large before the solver grows too slow. Beyond ``atoms`` the same two
bounds are made of few arcs, see :mod:`theory.distance.bounds`.

References
----------
C. Villani, *Optimal Transport: Old and New*, Springer 2009, theorem 5.10.
R. Flamary et al., POT: Python Optimal Transport, *Journal of Machine Learning Research* 22 (2021), no. 78.
"""

from __future__ import annotations

import math
import os
import warnings
from fractions import Fraction
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from theory._validate import as_count
from theory.attention import Measure
from theory.attention.measure import EnclosedMeasure
from theory.distance.bounds import bracket
from theory.distance.cells import Numbers, Places
from theory.distance.coupling import cheapest_repair
from theory.distance.dyadic import enclosure, grid, inner
from theory.distance.line import comparable, w1_line
from theory.evidence import Interval

_LARGE = 480  # derived: d (2 * 2**480)**2 stays finite up to d = 2**60
_LOST = -510  # derived: twice 2**-511, the root of the smallest normal double
_BLOCK = 32  # measured: 16 to 256 rows stay in cache; the whole matrix at once takes three times as long
_ABSURD = 2.0**512  # derived: smaller potentials are far from overflow; costs are below one, so larger ones say nothing
_CELLS = 16 * 1024  # measured: this many against as many cells take half a minute on one core
_LIMIT = 2**64  # taken: the solver counts its iterations in 64 bits


def w1(mu: Measure, nu: Measure, *, iterations: int = 10_000_000, atoms: int = 4000) -> Interval:
    r"""Enclose the Wasserstein-1 distance of two clouds for the Euclidean norm.

    Parameters
    ----------
    mu, nu : Measure
        Clouds of n and m atoms in the same dimension. Their weights are normalised exactly, as :math:`a_i / \sum a`.
    iterations : int, default 10_000_000
        Where the network simplex stops; the interval is valid whatever it is. Without effect on the line, where the
        value is computed exactly.
    atoms : int, default 4000
        The largest cloud that is solved over all pairs, which takes about a gigabyte and three seconds; without effect
        on the line. Larger ones are solved over few arcs of every atom, or of 16384 cells if there are more atoms.

    Returns
    -------
    Interval
        In the unit of the points, kind ``CERTIFIED``. After a full solve its width is about 1e-13 of the largest
        distance between atoms, over few arcs as a rule below 1e-3 of the result, over cells what cells leave open. The
        upper end is infinite if it exceeds the range of doubles.

    Raises
    ------
    TypeError
        If an argument is no measure, or ``iterations`` or ``atoms`` no integer.
    ValueError
        If the dimensions differ, ``iterations`` is not in [1, 2**64), or ``atoms`` is not positive.

    Examples
    --------
    >>> mu = Measure([[0.0, 0.0], [1.0, 0.0]])
    >>> 5.0 in w1(mu, mu.push_forward(lambda x: x + [3.0, 4.0]))
    True
    """
    comparable(mu, nu)
    if isinstance(mu, EnclosedMeasure) or isinstance(nu, EnclosedMeasure):
        return _w1_enclosed(mu.enclosed(), nu.enclosed(), iterations=iterations, atoms=atoms)
    if as_count(iterations, "iterations") >= _LIMIT:
        raise ValueError(f"iterations: expected an integer below 2**64, got {iterations}")
    large = max(mu.size, nu.size) > as_count(atoms, "atoms")
    if mu.dim == 1:
        return w1_line(mu, nu)
    if large:
        return bracket(mu, nu, partial(_propose_arcs, iterations), most=_CELLS)
    x, a = _atoms(mu)
    y, b = _atoms(nu)
    supply, demand = grid(a)[0], grid(b)[0]
    relative = (mu.dim + 4) * 2.0**-52  # 2(d + 4)u; 1 - relative and 1 + relative are doubles
    with np.errstate(under="ignore"):  # what vanishes is charged to ``lost``
        cost, largest, unit, lost = _costs(x, y)
        plan, potential = _propose(a, b, cost, iterations)
        u, v = _feasible(cost, potential, relative, lost)
        rows, columns = np.divmod(np.flatnonzero((plan > 0.0) & (plan < np.inf)), cost.shape[1])
        dear = cost[rows, columns] * (1.0 + relative) + lost
        diameter = largest * (1.0 + relative) + lost
    dear[(x[rows] == y[columns]).all(axis=1)] = 0.0  # at one and the same place nothing was rounded
    below = inner(supply, u) / sum(supply) + inner(demand, v) / sum(demand)
    above = cheapest_repair(
        rows.tolist(), columns.tolist(), plan[rows, columns], dear, diameter=diameter, supply=supply, demand=demand
    )
    scale = Fraction(2) ** unit
    return enclosure(max(below, Fraction(0)) * scale, above * scale)


def _w1_enclosed(mu: EnclosedMeasure, nu: EnclosedMeasure, *, iterations: int, atoms: int) -> Interval:
    """Widen the distance of the middles by how far either measure may lie from its middle (triangle inequality)."""
    blur = mu.blur() + nu.blur()
    between = w1(mu.middle(), nu.middle(), iterations=iterations, atoms=atoms) + Interval(-blur, blur)
    return Interval(max(between.lo, 0.0), between.hi, between.kind)


def _atoms(mu: Measure) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return places and masses of the atoms that have mass."""
    heavy = mu.weights > 0.0
    return mu.points[heavy], mu.weights[heavy]


def _costs(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], float, int, float]:
    """Return distances in units of ``2**unit``, the largest of them, ``unit``, and what underflow may cost."""
    lift = _LARGE - math.frexp(max(float(np.abs(x).max()), float(np.abs(y).max())))[1]
    cost = cdist(np.ldexp(x, lift), np.ldexp(y, lift))
    largest, top = math.frexp(float(cost.max()))
    cost *= math.ldexp(1.0, -top)
    return cost, largest, top - lift, math.ldexp(math.isqrt(x.shape[1]) + 1, _LOST - top)


def _feasible(
    cost: NDArray[np.float64], potential: NDArray[np.float64], relative: float, lost: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return potentials that are feasible for the true costs, and nearly optimal if ``potential`` is."""
    u = potential if np.abs(potential).max() < _ABSURD else np.zeros_like(potential)
    u = u - (u.max() / 2 + u.min() / 2)
    v = _transform(cost, u, relative, lost)
    return _transform(cost.T, v, relative, lost), v


def _transform(cost: NDArray[np.float64], u: NDArray[np.float64], relative: float, lost: float) -> NDArray[np.float64]:
    """Return a lower bound of ``min_i (C_ij - u_i)`` for every j."""
    least = np.full(cost.shape[1], np.inf)
    for start in range(0, cost.shape[0], _BLOCK):
        block = cost[start : start + _BLOCK] * (1.0 - relative)
        block -= u[start : start + _BLOCK, np.newaxis]
        np.minimum(least, block.min(axis=0), out=least)
    lower: NDArray[np.float64] = np.nextafter(np.nextafter(least, -np.inf) - lost, -np.inf)  # a step per difference
    return lower


def _propose(
    a: NDArray[np.float64], b: NDArray[np.float64], cost: NDArray[np.float64], iterations: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ask the network simplex for a plan and the potential of its rows; what it warns of is seen in the width."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan, log = _solver()(a, b, cost, numItermax=iterations, log=True, check_marginals=False)
    return np.asarray(plan, dtype=np.float64), np.asarray(log["u"], dtype=np.float64)


def _propose_arcs(
    iterations: int, a: Places, b: Places, rows: Numbers, columns: Numbers, cost: Places
) -> tuple[Numbers, Numbers, Places, Places]:
    """Ask the network simplex for a plan over given arcs, without repeats, and for the potential of its rows."""
    from scipy.sparse import coo_array  # noqa: PLC0415  only large clouds need it

    costs = coo_array((cost / cost.max(), (rows, columns)), shape=(len(a), len(b)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan, log = _solver()(a, b, costs, numItermax=iterations, log=True, check_marginals=False)
    potential = np.asarray(log["u"], dtype=np.float64) * cost.max()
    return plan.row.astype(np.int64), plan.col.astype(np.int64), np.asarray(plan.data, dtype=np.float64), potential


@cache
def _solver() -> Any:
    """Import POT, which would import every deep-learning framework it finds unless told not to."""
    frameworks = [f"POT_BACKEND_DISABLE_{name}" for name in ("PYTORCH", "JAX", "CUPY", "TENSORFLOW")]
    before = {name: os.environ.get(name) for name in frameworks}
    os.environ.update(dict.fromkeys(frameworks, "1"))
    try:
        return import_module("ot").emd
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
