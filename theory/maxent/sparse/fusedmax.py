r"""Fusedmax: entmax with a penalty on the total variation of the weights, solved exactly by composition.

*Composition.* For a symmetric, strictly convex :math:`\Omega` on the simplex, :math:`\arg\max_p \langle p, s\rangle -
\tau\Omega(p) - \lambda\sum_i |p_{i+1} - p_i|` is the law of :math:`\Omega` at :math:`\hat s = \arg\min_x \frac12\|x -
s\|^2 + \lambda\sum_i|x_{i+1} - x_i|`. Indeed :math:`s = \hat s + \lambda g` with :math:`g` a subgradient of the
variation at :math:`\hat s`; the map of :math:`\Omega` keeps order and ties, so :math:`g` is one at :math:`p` as well,
and :math:`s - \lambda g = \hat s` is stationary for :math:`\Omega` at :math:`p`.

*The taut string.* With sums :math:`Y_k = \sum_{j \le k} s_j`, :math:`\hat s` holds the slopes of the shortest path from
:math:`(0, 0)` to :math:`(n, Y_n)` inside the tube :math:`Y_k \pm \lambda`, :math:`0 < k < n`. From a point of the path
look along the rays that pass every gate so far: their slopes are an interval :math:`[L, H]`, which shrinks gate by
gate. When a gate lies above it, the path runs straight to the last gate that set :math:`H`, touches its upper end and
bends up there; likewise below. So the path is found by comparisons. Afterwards every run of equal values is computed
afresh from its own scores,

.. math:: \hat s|_{\text{run}} = \frac1m\Big(\sum_{\text{run}} s + \lambda(\sigma_{\text{end}} -
\sigma_{\text{start}})\Big),

with :math:`\sigma = \pm1` for a bend at the upper or lower end of a gate and 0 at the ends of the row: no error is
carried from run to run. All rows advance together, one gate at a time. The sums are taken after the row's mean is
subtracted; a comparison that their rounding, :math:`n u\max|Y|`, decides wrongly moves the result by no more than that.

A masked score leaves the sequence, and its neighbours become neighbours of each other. The Jacobian is that of
:math:`\Omega` times averaging over the runs of :math:`\hat s`; averaging commutes with it, so the product is symmetric.
On the support the runs of :math:`\hat s` are the runs of :math:`p`.

References
----------
V. Niculae, M. Blondel, *A regularized framework for sparse and structured neural attention*, NeurIPS 2017;
P. L. Davies, A. Kovac, *Ann. Statist.* 29 (2001), 1-65 (taut string).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_flags, as_scores
from theory.evidence import Intervals, within
from theory.evidence.roundoff import U, gamma
from theory.maxent.batch import Array, Bools, as_parameter, flatten_rows, read_cotangent, read_gaps
from theory.maxent.sparse.entmax import apply_slopes, entmax, slopes

Counts = NDArray[np.int64]


def fusedmax(
    scores: ArrayLike, strength: ArrayLike, *, alpha: ArrayLike = 2.0, tau: ArrayLike = 1.0, axis: int = -1
) -> Array:
    r"""Return the maximiser of :math:`\langle p, s\rangle + \tau H_\alpha(p) - \lambda\sum_i |p_{i+1} - p_i|` per row.

    Parameters
    ----------
    scores : array_like
        Real scores in the order of the sequence; :math:`-\infty` takes an entry out of it.
    strength : array_like
        :math:`\lambda \ge 0`, in the unit of the scores, broadcast against the rows.
    alpha, tau, axis
        As in :func:`theory.maxent.entmax`.

    Raises
    ------
    ValueError
        As there, if ``strength`` is negative, or if the scores of a row sum beyond the range of float64.
    """
    if isinstance(scores, Intervals):
        return _enclosed(scores, strength, alpha, tau, axis)  # type: ignore[return-value]
    return entmax(total_variation_prox(scores, strength, axis=axis), alpha, tau=tau, axis=axis)


def _enclosed(scores: Intervals, strength: ArrayLike, alpha: ArrayLike, tau: ArrayLike, axis: int) -> Intervals:
    """Enclose the weights: the prox is nonexpansive, and the mean of a run is off by (n + 8) u of the range."""
    s = scores.mid
    off = (s.shape[axis] + 8) * U * (float(np.ptp(s)) + float(np.max(strength))) + float(scores.radius.max())
    smooth = total_variation_prox(s, strength, axis=axis)
    return entmax(within(smooth, off), alpha, tau=tau, axis=axis)  # type: ignore[return-value]


def total_variation_prox(scores: ArrayLike, strength: ArrayLike, *, axis: int = -1) -> Array:
    r"""Return :math:`\arg\min_x \frac12\|x - s\|^2 + \lambda\sum_i |x_{i+1} - x_i|` per row; masked scores stay masked.

    Arguments and errors as in :func:`fusedmax`.
    """
    size = as_parameter(strength, "strength", zero=True)
    layout, (rows,), (reach,) = flatten_rows({"scores": as_scores(scores)}, axis, {"strength": size})
    read = read_gaps(rows, rows > -np.inf, np.ones_like(reach), layout)
    order = np.argsort(~read.present, axis=1, kind="stable")  # what is left of the sequence comes first
    count = np.count_nonzero(read.present, axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = read.gaps.sum(axis=1, keepdims=True) / np.maximum(count, 1)[:, np.newaxis]
        y = np.take_along_axis(np.where(read.present, read.gaps - mean, 0.0), order, axis=1)
        sums = np.pad(np.cumsum(y, axis=1), ((0, 0), (1, 0)))
        whole = (read.gaps > np.finfo(np.float64).min).all()  # there a gap beyond the range was cut
        if not (whole and np.isfinite(sums).all() and np.isfinite(2.0 * reach).all()):
            raise ValueError("scores: expected rows that sum within the range of float64, got an overflow")
    values = np.empty_like(y)
    np.put_along_axis(values, order, _run_means(y, _bends(sums, reach[:, 0], count), reach, count), axis=1)
    offset = np.where(read.peak > -np.inf, read.peak, 0.0) + mean
    return layout.laws(np.where(read.present, values + offset, -np.inf))


def fusedmax_vjp(
    weights: ArrayLike,
    cotangent: ArrayLike,
    *,
    alpha: ArrayLike = 2.0,
    mask: ArrayLike | None = None,
    tau: ArrayLike = 1.0,
    axis: int = -1,
) -> Array:
    """Return the product of the symmetric Jacobian with a cotangent, from the weights :func:`fusedmax` returned.

    ``mask`` tells, in the shape of the weights, which entries count: all unless given. Other arguments and
    errors as in :func:`theory.maxent.entmax_vjp`.
    """
    if isinstance(weights, Intervals):
        product = fusedmax_vjp(weights.mid, cotangent, alpha=alpha, mask=mask, tau=tau, axis=axis)
        size = float(np.abs(cotangent).max()) / float(np.min(tau))
        return within(product, gamma(64 + 8 * weights.shape[axis]) * size)  # type: ignore[no-any-return]
    order = as_parameter(alpha, "alpha", infinite=True)
    layout, p, c, temperature, (a,) = read_cotangent(weights, cotangent, axis, tau, alpha=order)
    here = np.ones(p.shape, dtype=np.bool_)
    if mask is not None:
        shown = as_flags(mask, "mask", shape=np.shape(weights))
        here = np.ascontiguousarray(np.broadcast_to(np.moveaxis(shown, axis, -1), (*layout.shape, p.shape[1]))).reshape(
            p.shape
        )
    places = np.argsort(~here, axis=1, kind="stable")
    chain = np.take_along_axis(p, places, axis=1)
    pull = np.take_along_axis(c, places, axis=1)
    cut = np.ones(chain.shape, dtype=np.bool_)
    cut[:, 1:] = chain[:, 1:] != chain[:, :-1]
    means = np.empty_like(pull)
    np.put_along_axis(means, places, _averaged(pull, cut), axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        return layout.derivative(apply_slopes(slopes(p, a), means) / temperature)


def _averaged(values: Array, cut: Bools) -> Array:
    """Return the mean of each run; ``cut`` is true where one starts, in the first column always."""
    starts = np.flatnonzero(cut.ravel())
    lengths = np.diff(starts, append=values.size)
    return np.repeat(np.add.reduceat(values.ravel(), starts) / lengths, lengths).reshape(values.shape)


def _run_means(y: Array, sides: Array, reach: Array, count: Counts) -> Array:
    """Return the value of every run; ``sides`` is 1 or -1 where the path bends at a gate, (m, n + 1), else 0."""
    cut = sides[:, :-1] != 0.0
    cut[:, 0] = True
    short = np.flatnonzero(count < y.shape[1])
    cut[short, count[short]] = True
    return _averaged(y + reach * np.diff(sides, axis=1), cut)  # within a run the differences add up to end less start


def _bends(sums: Array, reach: Array, count: Counts) -> Array:
    """Return, per row and gate, 1 or -1 where the taut string bends at its upper or lower end, else 0."""
    sides = np.zeros(sums.shape)
    row = np.flatnonzero(count > 1)
    start = np.zeros_like(row)
    gate = np.ones_like(row)
    level = np.zeros(row.size)
    low = np.full(row.size, -np.inf)
    high = np.full(row.size, np.inf)
    at_low = np.ones_like(row)
    at_high = np.ones_like(row)
    while row.size:
        last = gate == count[row]
        here = sums[row, gate] - level
        wide = np.where(last, 0.0, reach[row])
        run = gate - start
        below = (here - wide) / run
        above = (here + wide) / run
        up = below > high
        down = above < low
        bent = up | down
        at = np.where(up, at_high, at_low)
        side = np.where(up, 1.0, -1.0)
        sides[row[bent], at[bent]] = side[bent]
        sets_high = ~bent & (above <= high)
        sets_low = ~bent & (below >= low)
        at_high = np.where(sets_high, gate, at_high)
        high = np.where(sets_high, above, high)
        at_low = np.where(sets_low, gate, at_low)
        low = np.where(sets_low, below, low)
        start = np.where(bent, at, start)
        level = np.where(bent, sums[row, start] + side * reach[row], level)
        low = np.where(bent, -np.inf, low)
        high = np.where(bent, np.inf, high)
        gate = np.where(bent, start, gate) + 1
        go = bent | ~last
        row = row[go]
        start = start[go]
        gate = gate[go]
        level = level[go]
        low = low[go]
        high = high[go]
        at_low = at_low[go]
        at_high = at_high[go]
    return sides
