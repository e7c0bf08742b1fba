r"""Which acute start comes together most slowly.

Let :math:`m \ge 0` be the smallest overlap, attained by the pair (i, j), :math:`a_k = \langle x_i, x_k\rangle` and
:math:`b_k = \langle x_j, x_k\rangle`, all in :math:`[m, 1]`. Then

.. math:: \dot m = \sum_k w_{ik}(b_k - a_k m) + w_{jk}(a_k - b_k m) .

USA: with :math:`w_{ik} = e^{\beta a_k}/n` each bracket is at least zero and :math:`w_{ik} \ge e^{\beta m}/n`, so
:math:`\dot m` is at least what equiangular tokens of overlap m have (the simplex).

SA: write :math:`E = e^{\beta(1 - m)}`, :math:`a_k = m + (1 - m)u_k`, :math:`b_k = m + (1 - m)v_k`,
:math:`y_k = E^{u_k}`, :math:`z_k = E^{v_k}` and U, V, Q for the sums of :math:`y_k`, :math:`z_k`, :math:`y_k z_k`
over all tokens, where :math:`u_i = v_j = 1`, :math:`u_j = v_i = 0`; let :math:`\beta > 0` (0 by continuity) and
:math:`m < 1`.
Divided by :math:`1 - m`, the rate is :math:`2m + \langle v\rangle_y - m\langle v\rangle_z + \langle u\rangle_z -
m\langle u\rangle_y`. On :math:`[1, E]` the chords give :math:`v \ge (z - 1)/(E - 1)` and
:math:`vz \le E(z - 1)/(E - 1)`, so it is at least :math:`2m + [(Q + mEn)(1/U + 1/V) - 2 - 2mE]/(E - 1)`. Now
:math:`1/U + 1/V \ge 4/(U + V)`, and :math:`(y - 1)(z - 1) \ge 0`, :math:`(E - y)(E - z) \ge 0` give
:math:`Q \ge \max(U + V - n, E(U + V) - nE^2)`. If :math:`mE \le 1` the least is at the smallest
:math:`U + V = 2(E + n - 1)`, the simplex; if :math:`mE \ge 1`, at :math:`U + V = n(E + 1)`, two equal clusters:

.. math:: \dot m \ge 2(1 - m)\min\Bigl\{\frac{(n - 1)m + 1}{E + n - 1}, \frac{1 + m}{1 + E}\Bigr\},

both attained (the second for even n). The second is the rate of two tokens: it does not know n.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_matrix, as_number, as_real
from theory.evidence import Interval, as_intervals, exact
from theory.particles.exact.equiangular import Equiangular
from theory.particles.exact.overlaps import GapField

Array = NDArray[np.float64]


def cluster_gaps(gap: float, sizes: ArrayLike) -> Array:
    """Return the gaps of clusters of coinciding tokens, of the given sizes and the same gap from one to the other."""
    each = np.asarray(sizes)
    if each.ndim != 1 or each.dtype.kind not in "iu" or each.size == 0 or not (each > 0).all():
        raise ValueError(f"sizes: expected a flat list of positive integers, got {sizes!r}")
    label = np.repeat(np.arange(each.size), each)
    found: Array = np.where(label[:, np.newaxis] == label, 0.0, as_number(gap, "gap"))
    return found


def slowest_pair(gaps: ArrayLike, *, beta: float, normalised: bool = True) -> tuple[float, Interval]:
    r"""Return the largest gap and the least rate at which an overlap of that gap grows.

    Parameters
    ----------
    gaps : array_like, shape (n, n)
        :math:`1 - \langle x_i, x_j\rangle`, symmetric with zeros on the diagonal, between 0 and 2; taken as exact.
    beta : float
        Inverse temperature, non-negative.
    normalised : bool, default True
        SA, or USA.

    Returns
    -------
    tuple of float and Interval
        The gap, and the right derivative of the smallest overlap, of kind ``NUMERIC``.

    Raises
    ------
    ValueError
        If ``gaps`` is no such matrix or ``beta`` is negative.
    """
    given = as_matrix(gaps, "gaps")
    if given.shape[0] != given.shape[1] or given.shape[0] < 2 or np.diag(given).any() or (given != given.T).any():
        raise ValueError(f"gaps: expected a symmetric matrix of two or more tokens, zero on the diagonal, got {gaps!r}")
    if not ((given >= 0.0) & (given <= 2.0)).all():
        raise ValueError(f"gaps: expected numbers from 0 to 2, got {given.min()} to {given.max()}")
    beta = as_number(beta, "beta")
    if not beta >= 0.0:
        raise ValueError(f"beta: expected a non-negative number, got {beta}")
    rates = -GapField(beta, normalised)(exact(given))  # type: ignore[operator]  # an array of enclosures
    ties = given == given.max()
    least: Interval = rates[ties].min()
    return float(given.max()), least


def slowest_rate(gap: ArrayLike, *, tokens: int, beta: float, normalised: bool = True) -> Array:
    """Return the least rate at which the smallest overlap of acute tokens grows, as the module proves.

    Enclosed if the gap is.

    Parameters
    ----------
    gap : array_like
        One minus the smallest overlap, in (0, 1], any shape.
    tokens : int
        At least two.
    beta : float
        Inverse temperature, from 0 to 20.
    normalised : bool, default True
        SA, or USA.
    """
    n = as_count(tokens, "tokens", least=2)
    g = as_real(gap, "gap")
    ends = as_intervals(g)
    if ends.size == 0:
        raise ValueError(f"gap: expected at least one number, got shape {ends.shape}")
    if not ((ends.lo > 0.0) & (ends.hi <= 1.0)).all():
        raise ValueError(f"gap: expected numbers in (0, 1], got {ends.lo.min()} to {ends.hi.max()}")
    simplex = Equiangular(n, beta, normalised).rate(g)
    if not normalised:
        return simplex
    least: Array = np.minimum(simplex, Equiangular(2, beta).rate(g))
    return least
