r"""The Wasserstein-1 distance, enclosed from both sides.

For :math:`\mu = \sum_i \alpha_i \delta_{x_i}`, :math:`\nu = \sum_j \beta_j \delta_{y_j}` and
:math:`C_{ij} = |x_i - y_j|`, Kantorovich duality says

.. math:: \max_{u_i + v_j \le C_{ij}} \langle \alpha, u \rangle + \langle \beta, v \rangle = W_1(\mu, \nu)
          = \min_{G \in \Pi(\alpha, \beta)} \langle C, G \rangle.

So every feasible pair is a lower bound and every coupling an upper one, whoever proposes them. A network simplex
proposes both; nothing it says is believed. The interval holds even if it stopped early, and its width tells how it did.

*Measures.* By definition :math:`\alpha_i = a_i / \sum a` and :math:`\beta_j = b_j / \sum b` for the given doubles, in
exact arithmetic. Atoms without mass are left out.

*Line.* The value is computed exactly, see :mod:`theory.distance.line`.

*All pairs.* Up to ``atoms`` atoms the network simplex sees every distance, see :mod:`theory.distance.dense`.

*Few arcs.* The matrix of all costs grows too large before the solver grows too slow. Beyond ``atoms`` the same two
bounds are made of few arcs, see :mod:`theory.distance.sparse`.

References
----------
C. Villani, *Optimal Transport: Old and New*, Springer 2009, theorem 5.10.
R. Flamary et al., POT: Python Optimal Transport, *Journal of Machine Learning Research* 22 (2021), no. 78.
"""

from __future__ import annotations

from functools import partial

from theory._validate import as_between, as_count
from theory.attention import Measure
from theory.attention.measure import EnclosedMeasure
from theory.distance.dense import w1_dense
from theory.distance.line import require_comparable, w1_line
from theory.distance.simplex import propose_arcs
from theory.distance.sparse import w1_sparse
from theory.evidence import Interval

_FINEST = 256 * 1024  # taken: atoms up to which a plan has arcs of its own for each of them
_CELLS = 16 * 1024  # measured: cells for which more atoms are taken; coupling so many takes half a minute on one core
_LIMIT = 2**64  # taken: the solver counts its iterations in 64 bits


def w1(
    mu: Measure, nu: Measure, *, iterations: int = 10_000_000, atoms: int = 4000, relative_width: float = 1e-3
) -> Interval:
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
        on the line. Larger ones are solved over few arcs of every atom, or of 16384 cells if there are more than
        262144 atoms.
    relative_width : float, default 1e-3
        Where the search over few arcs ends, as a share of the upper end; in [0, 1]. It may end before, with the
        interval that it reached; without effect on the line and over all pairs.

    Returns
    -------
    Interval
        In the unit of the points, kind ``CERTIFIED``. After a full solve its width is about 1e-13 of the largest
        distance between atoms, over few arcs as a rule what was asked for, over cells what cells leave open. The upper
        end is infinite if it exceeds the range of doubles.

    Raises
    ------
    TypeError
        If an argument is no measure, ``iterations`` or ``atoms`` no integer, or ``relative_width`` no number.
    ValueError
        If the dimensions differ, ``iterations`` is not in [1, 2**64), ``atoms`` is not positive, or
        ``relative_width`` is not in [0, 1].

    Examples
    --------
    >>> mu = Measure([[0.0, 0.0], [1.0, 0.0]])
    >>> 5.0 in w1(mu, mu.push_forward(lambda x: x + [3.0, 4.0]))
    True
    """
    require_comparable(mu, nu)
    enough = as_between(relative_width, "relative_width", 0.0, 1.0)
    if isinstance(mu, EnclosedMeasure) or isinstance(nu, EnclosedMeasure):
        return _w1_enclosed(mu.enclosed(), nu.enclosed(), iterations=iterations, atoms=atoms, enough=enough)
    if as_count(iterations, "iterations") >= _LIMIT:
        raise ValueError(f"iterations: expected an integer below 2**64, got {iterations}")
    large = max(mu.size, nu.size) > as_count(atoms, "atoms")
    if mu.dim == 1:
        return w1_line(mu, nu)
    if large:
        most = _FINEST if max(mu.size, nu.size) <= _FINEST else _CELLS
        return w1_sparse(mu, nu, partial(propose_arcs, iterations), most=most, enough=enough)
    return w1_dense(mu, nu, iterations)


def _w1_enclosed(mu: EnclosedMeasure, nu: EnclosedMeasure, *, iterations: int, atoms: int, enough: float) -> Interval:
    """Widen the distance of the middles by how far either measure may lie from its middle (triangle inequality)."""
    blur = mu.blur() + nu.blur()
    between = w1(mu.middle(), nu.middle(), iterations=iterations, atoms=atoms, relative_width=enough)
    between = between + blur * Interval(-1.0, 1.0, blur.kind)
    return Interval(max(between.lo, 0.0), between.hi, between.kind)
