r"""Entmax: the maximiser of :math:`\langle p, s\rangle + \tau H_\alpha(p)` over the simplex, for every :math:`\alpha`.

*Solution.* With :math:`e = \alpha - 1` stationarity reads :math:`s_i/\tau - p_i^{e}/e = \text{const}` on the support
(off it the left side is smaller), hence :math:`p_i = \exp_\alpha(s_i/\tau - \nu) = [1 + e(s_i/\tau - \nu)]_+^{1/e}`
with :math:`\nu` fixed by :math:`\sum p = 1`: softmax at 1, the Euclidean projection (sparsemax) at 2. For
:math:`\alpha \le 1` every entry has weight; at :math:`\alpha = \infty` the entropy vanishes, and the maximiser of least
norm is taken, uniform on the largest scores.

*Value.* :math:`\langle p, s/\tau\rangle = \sum p(\log_\alpha p + \nu) = \nu - \alpha H_\alpha(p)`, so the maximum is
:math:`\tau(\nu - (\alpha - 1)H_\alpha(p))`.

*Support, without solving.* For :math:`\alpha > 1`, :math:`i` has weight iff :math:`\nu` lies below the point where its
weight ends, i.e. iff the sum of the others at that point is below one:
:math:`\sum_j [e(s_j - s_i)/\tau]_+^{1/e} < 1`.

*Derivatives.* :math:`dp_i = q_i(ds_i/\tau - d\nu)` with :math:`q_i = p_i^{2-\alpha}` on the support and 0 off it, and
:math:`\sum dp = 0`, so :math:`J = (\mathrm{diag}(q) - qq^\top/\sum q)/\tau`: symmetric, hence one function for
cotangents and tangents. For :math:`\alpha < 2` it is the derivative everywhere; from 2 on it is one where the support
is locally constant, and beside such points one of its limits. For :math:`\alpha = \infty` it is zero.

*In* :math:`\alpha`. With :math:`y_i = \log_\alpha p_i` and :math:`x_i = ey_i`,
:math:`\partial_e \log\exp_\alpha(y)|_y = y^2\varphi(ey)`, :math:`\varphi(x) = (x/(1 + x) - \log(1 + x))/x^2`, so
:math:`\partial_\alpha p = r - q\sum r/\sum q` with :math:`r_i = p_i y_i^2\varphi(x_i)`. Nothing is divided by
:math:`\alpha - 1`: :math:`\varphi(0) = -\frac12`, which gives :math:`-\frac12 p(\log^2 p - \mathbb E_p\log^2 p)` at 1.
Above order 2, where :math:`q` grows without bound, it must not enter :math:`r` and cancel: a multiple of :math:`q` may
be added to :math:`r`, and :math:`r + q/e^2 = p(1 - e\log p)/e^2` is taken. So it is where :math:`p^e`, whose square
divides, nears the end of float64 below order 1: there :math:`q = p^2/p^e` is nothing beside :math:`p`.

Conventions of batches and of rows masked throughout: :mod:`theory.maxent.batch`; the root:
:mod:`theory.maxent.sparse.threshold`.

References
----------
A. Martins, R. Astudillo, *From softmax to sparsemax*, ICML 2016; B. Peters, V. Niculae, A. Martins, *Sparse
sequence-to-sequence models*, ACL 2019; G. Correia, V. Niculae, A. Martins, *Adaptively sparse transformers*, 2019.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_real
from theory.evidence import Intervals
from theory.maxent.batch import (
    Array,
    Batch,
    as_laws,
    as_parameter,
    compiled_laws,
    flatten_rows,
    read_cotangent,
    read_scores,
)
from theory.maxent.sparse.enclosed import (
    enclose_alpha_derivative,
    enclose_entmax,
    enclose_threshold,
    enclose_value,
    enclose_vjp,
)
from theory.maxent.sparse.threshold import solve
from theory.maxent.sparse.tsallis import deformed_log, entropies

_NEAR = 0.1  # taken: inside it the series of phi ends below u after the given terms, outside it loses at most 20 u
_STEEP = 350.0  # taken: exp(350) has a square, and its reciprocal is far below u
_TERMS = 18  # derived: (k + 1) / (k + 2) * 0.1**k < 2**-53 / 2 from k = 17 on


class Solved(NamedTuple):
    """A batch, the orders and laws of its rows, and their thresholds above the largest score, per temperature."""

    batch: Batch
    alpha: Array
    laws: Array
    threshold: Array


def solve_entmax(scores: ArrayLike, alpha: ArrayLike, tau: ArrayLike, axis: int) -> Solved:
    """Return entmax of every row with its threshold, which is zero for infinite order and for rows left out."""
    read, (order,) = read_scores(scores, axis, tau, alpha=as_parameter(alpha, "alpha", infinite=True))
    return solve_rows(read, order)


def solve_rows(read: Batch, order: Array) -> Solved:
    """Return what :func:`solve_entmax` does for rows that were read already; ``order`` is (m, 1)."""
    endless = np.isinf(order[:, 0])
    counts = read.present.astype(np.float64)
    laws, threshold = solve(read.gaps, counts, np.where(np.isinf(order), 2.0, order))
    if endless.any():
        top = counts[endless] * (read.gaps[endless] == 0.0)
        laws[endless] = top / np.maximum(top.sum(axis=1, keepdims=True), 1.0)
        threshold[endless] = 0.0
    return Solved(read, order, laws, threshold)


def entmax(scores: ArrayLike, alpha: ArrayLike, *, tau: ArrayLike = 1.0, axis: int = -1) -> Array:
    r"""Return the maximiser of :math:`\langle p, s\rangle + \tau H_\alpha(p)` for every row.

    Parameters
    ----------
    scores : array_like or Intervals
        Real scores, dimensionless; :math:`-\infty` masks an entry of an array. Enclosures are answered with enclosures.
    alpha : array_like
        Positive orders, infinity allowed, broadcast against the rows: axes that they add come first in the result. Of
        enclosed scores one finite order, from one half on.
    tau : array_like, default 1.0
        Positive temperature, broadcast likewise.
    axis : int, default -1
        Along which the n scores of a row lie.

    Returns
    -------
    ndarray
        Laws along ``axis``; a row without an entry left is a row of zeros.

    Raises
    ------
    ValueError
        If a score is NaN or :math:`+\infty`, ``axis`` is empty, ``alpha`` or ``tau`` is not positive, or shapes do not
        fit.

    Examples
    --------
    >>> entmax([1.0, 0.5, -1.0], [[1.0], [2.0]]).shape
    (2, 1, 3)
    >>> entmax([1.0, 0.5, -1.0], 2.0)
    array([0.75, 0.25, 0.  ])
    """
    if isinstance(scores, Intervals):
        weights = entmax(scores.mid, alpha, tau=tau, axis=axis)
        return enclose_entmax(weights, scores, alpha, tau)  # type: ignore[return-value]
    laws = compiled_laws("entmax_rows", scores, axis, alpha=alpha, tau=tau)
    if laws is not None:
        return laws
    found = solve_entmax(scores, alpha, tau, axis)
    return found.batch.layout.laws(found.laws)


def entmax_value(scores: ArrayLike, alpha: ArrayLike, *, tau: ArrayLike = 1.0, axis: int = -1) -> Array:
    """Return the attained maximum per row, in the unit of the scores; arguments and errors as in :func:`entmax`."""
    if isinstance(scores, Intervals):
        from theory.maxent.losses.rounding import stationarity_residual  # noqa: PLC0415  which knows this module

        value = entmax_value(scores.mid, alpha, tau=tau, axis=axis)
        residual = stationarity_residual(scores.mid, alpha, tau=tau)  # type: ignore[arg-type]
        return enclose_value(value, scores, alpha, tau, residual)  # type: ignore[no-any-return, arg-type]
    read, order, laws, threshold = solve_entmax(scores, alpha, tau, axis)
    bend = np.where(np.isinf(order), 0.0, order - 1.0) * entropies(laws, order)
    with np.errstate(over="ignore"):  # the entropy of an order near 0 exceeds any range
        return read.layout.values(read.peak + read.tau * (threshold - bend))


def entmax_threshold(scores: ArrayLike, alpha: ArrayLike, *, tau: ArrayLike = 1.0, axis: int = -1) -> Array:
    r"""Return :math:`\nu - \max s/\tau` per row, the threshold above the largest score in units of the temperature.

    Arguments and errors as in :func:`entmax`; zero for infinite order and for rows left out. Of enclosed scores, one
    row, it is enclosed.
    """
    if isinstance(scores, Intervals):
        return enclose_threshold(entmax_threshold(scores.mid, alpha, tau=tau), scores, alpha, tau)  # type: ignore
    found = solve_entmax(scores, alpha, tau, axis)
    return found.batch.layout.values(found.threshold)


def entmax_support(scores: ArrayLike, alpha: ArrayLike, *, tau: ArrayLike = 1.0, axis: int = -1) -> Array:
    """Return 1.0 where :func:`entmax` has weight and 0.0 elsewhere, decided by comparing scores alone."""
    read, (order,) = read_scores(scores, axis, tau, alpha=as_parameter(alpha, "alpha", infinite=True))
    inside = read.present & ((order <= 1.0) | (read.gaps == 0.0))
    solid = np.isfinite(order) & (order > 1.0)
    e = np.where(solid, order - 1.0, 1.0)
    for i in range(inside.shape[1]):
        with np.errstate(over="ignore"):
            lead = e * np.maximum(read.gaps - read.gaps[:, i : i + 1], 0.0)
            sums = np.sum(lead ** (1.0 / e), axis=1, where=read.present)
        inside[:, i] |= read.present[:, i] & solid[:, 0] & (sums < 1.0)
    return read.layout.laws(inside.astype(np.float64))


def slopes(p: Array, alpha: Array) -> Array:
    """Return the derivatives of the weights by their own scores before renormalisation, zero off the support.

    ``ValueError`` if one leaves the range of float64, as it may for orders far above 2.
    """
    with np.errstate(over="ignore"):
        powers = np.where(p > 0.0, p, 1.0) ** (2.0 - np.where(np.isinf(alpha), 2.0, alpha))
    if not np.isfinite(powers).all():
        raise ValueError(f"alpha: expected orders at which float64 holds the derivative, got {float(alpha.max())!r}")
    return np.where((p > 0.0) & np.isfinite(alpha), powers, 0.0)


def entmax_vjp(
    weights: ArrayLike, cotangent: ArrayLike, alpha: ArrayLike, *, tau: ArrayLike = 1.0, axis: int = -1
) -> Array:
    r"""Return :math:`Jc = q \odot (c - \langle q, c\rangle/\sum q)/\tau` from the weights :func:`entmax` returned.

    Parameters
    ----------
    weights, cotangent : array_like, equal shapes
        The laws, and what multiplies them.
    alpha : array_like
    tau : array_like, default 1.0
    axis : int, default -1

    Raises
    ------
    ValueError
        If shapes do not fit, a number is not finite, a weight is negative, ``alpha`` or ``tau`` is not positive.
    """
    if isinstance(weights, Intervals):
        c = as_real(cotangent, "cotangent")
        product = entmax_vjp(weights.mid, c, alpha, tau=tau, axis=axis)
        return enclose_vjp(product, weights, c, alpha, tau)  # type: ignore[return-value]
    order = as_parameter(alpha, "alpha", infinite=True)
    layout, p, c, temperature, (a,) = read_cotangent(weights, cotangent, axis, tau, alpha=order)
    with np.errstate(over="ignore", invalid="ignore"):
        return layout.derivative(apply_slopes(slopes(p, a), c) / temperature)


def apply_slopes(q: Array, c: Array) -> Array:
    r"""Return :math:`q \odot (c - \langle q, c\rangle/\sum q)` for rows of :math:`q \ge 0`; 0 where they vanish.

    A constant may be taken off :math:`c`. Where the largest :math:`q` exceeds 1, without bound, it is the entry of
    :math:`c` there: the mean is then what the others contribute, and the largest :math:`q` multiplies no rounding.
    """
    top = np.argmax(q, axis=1)[:, np.newaxis]
    c = c - np.where(np.take_along_axis(q, top, axis=1) > 1.0, np.take_along_axis(c, top, axis=1), 0.0)
    total = q.sum(axis=1, keepdims=True)
    product: Array = q * (c - ((q / np.where(total > 0.0, total, 1.0)) * c).sum(axis=1, keepdims=True))
    return product


def entmax_alpha_derivative(weights: ArrayLike, alpha: ArrayLike, *, axis: int = -1) -> Array:
    r"""Return :math:`\partial_\alpha p` from the weights :func:`entmax` returned at finite ``alpha``; any temperature.

    Errors as in :func:`entmax_vjp`, and for infinite ``alpha``.
    """
    if isinstance(weights, Intervals):
        change = entmax_alpha_derivative(weights.mid, alpha, axis=axis)
        return enclose_alpha_derivative(change, weights, alpha)  # type: ignore[return-value]
    layout, (p,), (a,) = flatten_rows(
        {"weights": as_laws(weights, "weights")}, axis, {"alpha": as_parameter(alpha, "alpha")}
    )
    e = a - 1.0
    own = np.where(p > 0.0, p, 1.0)
    log = e * np.log(own)
    q = slopes(p, a)
    steep = (e > 1.0) | (log > _STEEP)
    y = np.where(steep, 0.0, deformed_log(own, e))
    below = (own * y) * (y * _phi(e * y, np.where(steep, 0.0, log)))
    r = np.where(steep, own * (1.0 - log) / np.where(steep, e, 1.0) ** 2, below)
    r = np.where(p > 0.0, r, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        total = q.sum(axis=1, keepdims=True)
        return layout.derivative(r - q * (r.sum(axis=1, keepdims=True) / np.where(total > 0.0, total, 1.0)))


def _phi(x: Array, log: Array) -> Array:
    r"""Return :math:`(x/(1 + x) - \log(1 + x))/x^2 = \sum_k (-1)^{k+1}\frac{k+1}{k+2}x^k` for :math:`x > -1`.

    The logarithm comes along, :math:`x/(1 + x) = 1 - e^{-\log(1 + x)}`: beside :math:`-1` a sum :math:`1 + x` has no
    digits left, though the weight has.
    """
    near = np.abs(x) < _NEAR
    small = np.where(near, x, 0.0)
    large = np.where(near, 1.0, x)
    series = np.zeros_like(x)
    for k in range(_TERMS - 1, -1, -1):
        series = series * small + (-1.0) ** (k + 1) * (k + 1) / (k + 2)
    log = np.where(near, 0.0, log)
    return np.where(near, series, (-np.expm1(-log) - log) / large / large)
