r"""The budget map: the projection of scores on the weights between 0 and 1 of a given sum.

That is :math:`\arg\max \langle p, s\rangle - \frac\tau2\|p\|^2` over :math:`0 \le p \le 1`, :math:`\sum p = k`.

Stationarity on the box gives :math:`p_i = \mathrm{clip}(z_i - \theta, 0, 1)`, :math:`z = s/\tau`; the sum falls in
:math:`\theta` without jumps, from :math:`n` to 0, so some :math:`\theta` gives :math:`k`, and the law is unique because
the objective is strictly concave. At :math:`k = 1` it is sparsemax. With an upper bound :math:`c` in place of 1,
:math:`\mathrm{clip}(z - \theta, 0, c)` is :math:`c` times this map at temperature :math:`c\tau` and budget :math:`k/c`:
constrained sparsemax with one common bound.

*Where the threshold lies.* Let :math:`j = \lceil k\rceil` and :math:`z_{(j)}` the j-th largest. At
:math:`\theta \ge z_{(j)}` fewer than :math:`j` entries are positive and their sum is at most :math:`j - 1 < k`; at
:math:`\theta \le z_{(j)} - 1` at least :math:`j` entries are one. So :math:`\theta - z_{(j)} \in [-1, 0]`: what leads
the j-th by one has weight 1, what trails it by one has weight 0, and after subtracting :math:`z_{(j)}` the rest may be
clipped to :math:`[-1, 1]`, so that no range of scores costs a digit.

*Exact solution.* The sum is piecewise linear with corners :math:`z_i` and :math:`z_i - 1`. Sorted downwards, its values
there follow from the number of entries between 0 and 1, and the piece that holds :math:`k` is solved. A last step
spreads what rounding left of :math:`\sum p - k` over those entries. Where the sum is :math:`k` on a whole interval of
thresholds, i.e. where :math:`k` entries lead all others by one, these are exactly 1 and the others 0.

*Derivative.* With :math:`F = \{0 < p < 1\}`: :math:`J = (\mathrm{diag}(1_F) - 1_F1_F^\top/|F|)/\tau`, where :math:`F`
is locally constant.

References
----------
C. Malaviya, P. Ferreira, A. Martins, *Sparse and constrained attention for neural machine translation*, ACL 2018.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_scores
from theory.evidence import Intervals, within
from theory.evidence.intervals import weakest
from theory.evidence.roundoff import gamma
from theory.maxent.batch import Array, as_parameter, flatten_rows, read_cotangent
from theory.maxent.sparse.entmax import apply_slopes


def budget(scores: ArrayLike, total: ArrayLike, *, tau: ArrayLike = 1.0, axis: int = -1) -> Array:
    r"""Return the maximiser of :math:`\langle p, s\rangle - \frac\tau2\|p\|^2` in the unit box of sum ``total``.

    Parameters
    ----------
    scores : array_like or Intervals
        Real scores, dimensionless; :math:`-\infty` masks an entry, whose weight is 0.
    total : array_like
        Positive budgets :math:`k`, not necessarily integers, at most the number of entries that are not masked;
        broadcast against the rows.
    tau : array_like, default 1.0
        Positive temperature, broadcast likewise.
    axis : int, default -1
        Along which the n scores of a row lie.

    Returns
    -------
    ndarray
        Weights along ``axis``; a row without an entry left is a row of zeros, whatever the budget.

    Raises
    ------
    ValueError
        If a score is NaN or :math:`+\infty`, ``axis`` is empty, a budget exceeds its row, ``total`` or ``tau`` is not
        positive, or shapes do not fit.

    Examples
    --------
    >>> budget([-0.4, 0.1, 0.3, 1.1], 1.5).round(12)
    array([0.  , 0.15, 0.35, 1.  ])
    """
    if isinstance(scores, Intervals):
        return _enclosed(scores, total, tau, axis)  # type: ignore[return-value]
    given = {"total": as_parameter(total, "total"), "tau": as_parameter(tau, "tau")}
    layout, (rows,), (k, temperature) = flatten_rows({"scores": as_scores(scores)}, axis, given)
    present = rows > -np.inf
    left = np.count_nonzero(present, axis=1, keepdims=True)
    if ((k > left) & (left > 0)).any():
        at = int(np.flatnonzero((k > left) & (left > 0))[0])
        raise ValueError(f"total: expected at most the {left[at, 0]} entries left in a row, got {k[at, 0]}")
    pivot = np.minimum(np.ceil(k), np.maximum(left, 1)).astype(np.int64) - 1
    middle = np.take_along_axis(-np.sort(-rows, axis=1), pivot, axis=1)
    with np.errstate(over="ignore"):
        lead = np.where(present, rows, 0.0) - np.where(left > 0, middle, 0.0)
        z = np.where(present, np.clip(np.clip(lead, *_RANGE) / temperature, -1.0, 1.0), -2.0)
    return layout.laws(np.where(present, _clipped(z, np.where(left > 0, k, 1.0)), 0.0))


def _enclosed(scores: Intervals, total: ArrayLike, tau: ArrayLike, axis: int) -> Intervals:
    """Enclose the weights: each is off by one score, the sums that find the threshold, and their last rest.

    A score moves a weight by as much over the temperature, and so does the threshold.
    """
    weights = budget(scores.mid, total, tau=tau, axis=axis)
    moved = 2.0 * float(scores.radius.max()) / float(np.min(tau))
    enclosed: Intervals = within(weights, gamma(4 * scores.shape[axis] + 16) + moved, weakest(scores))
    return enclosed


def budget_vjp(weights: ArrayLike, cotangent: ArrayLike, *, tau: ArrayLike = 1.0, axis: int = -1) -> Array:
    """Return the product of the symmetric Jacobian with a cotangent, from the weights :func:`budget` returned.

    Errors as in :func:`theory.maxent.entmax_vjp`.
    """
    layout, p, c, temperature, _ = read_cotangent(weights, cotangent, axis, tau)
    with np.errstate(over="ignore", invalid="ignore"):
        return layout.derivative(apply_slopes(((p > 0.0) & (p < 1.0)).astype(np.float64), c) / temperature)


_RANGE = (np.finfo(np.float64).min, np.finfo(np.float64).max)


def _clipped(z: Array, k: Array) -> Array:
    """Return ``clip(z - theta, 0, 1)`` of sum ``k`` for rows in which the entry of its rank is zero."""
    ahead = z >= 0.0
    whole = np.count_nonzero(ahead, axis=1, keepdims=True) == k
    whole &= np.where(ahead, -1.0, z).max(axis=1, keepdims=True) <= -1.0
    corners = np.concatenate([z, z - 1.0], axis=1)
    order = np.argsort(-corners, axis=1, kind="stable")
    falling = np.take_along_axis(corners, order, axis=1)
    rising = np.cumsum(np.where(order < z.shape[1], 1.0, -1.0), axis=1)  # entries between 0 and 1 below a corner
    steps = rising[:, :-1] * (falling[:, :-1] - falling[:, 1:])
    sums = np.pad(np.cumsum(steps, axis=1), ((0, 0), (1, 0)))
    piece = np.maximum(np.count_nonzero(sums < k, axis=1, keepdims=True) - 1, 0)
    slope = np.maximum(np.take_along_axis(rising, piece, axis=1), 1.0)
    theta = np.take_along_axis(falling, piece, axis=1) - (k - np.take_along_axis(sums, piece, axis=1)) / slope
    p = np.clip(z - theta, 0.0, 1.0)
    free = (p > 0.0) & (p < 1.0)
    spread = np.maximum(np.count_nonzero(free, axis=1, keepdims=True), 1)
    weights: Array = np.where(free, np.clip(p - (p.sum(axis=1, keepdims=True) - k) / spread, 0.0, 1.0), p)
    return np.where(whole, ahead.astype(np.float64), weights)
