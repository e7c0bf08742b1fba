r"""Normmax: the maximiser of :math:`\langle p, s\rangle - \tau\|p\|_\alpha` over the simplex, :math:`\alpha > 1`.

With :math:`b = 1/(\alpha - 1)`, stationarity reads :math:`s_i/\tau - \theta = (p_i/\|p\|_\alpha)^{\alpha-1} =: x_i` on
the support, so :math:`p \propto [s/\tau - \theta]_+^{b}` with :math:`\sum_i x_i^{\alpha b} = 1`, since
:math:`x_i^{\alpha b} = (p_i/\|p\|_\alpha)^\alpha`. That condition is itself entmax: with
:math:`\alpha' = 2 - 1/\alpha`, for which :math:`1/(\alpha' - 1) = \alpha b`,

.. math:: x^{\alpha b} = \mathrm{entmax}_{\alpha'}\Big(\frac{\alpha}{\alpha - 1}\frac s\tau\Big), \qquad
          \mathrm{normmax}_\alpha(s) \propto \mathrm{entmax}_{2 - 1/\alpha}\Big(\frac{\alpha}{\alpha - 1}\frac
          s\tau\Big) ^{1/\alpha},

which at :math:`\alpha = \infty` (the largest weight is penalised) is uniform on the support of sparsemax. A unique
entry takes all the weight iff it leads by :math:`\tau`, whatever :math:`\alpha`.

*The edge.* Above order 2 the power :math:`b < 1` is steep where :math:`x` vanishes: :math:`u` in :math:`x` costs
:math:`u^b`. With gaps :math:`g \le 0` and :math:`x_i = [(1 + g_i) - \theta]_+` the sum :math:`1 + g_i` is exact for
:math:`-2 \le g_i \le -\frac12`, so it is :math:`\theta` that needs its own digits. It is mended by Newton's method on
:math:`f(\theta) = \sum x^{\alpha b} - 1`, which is convex and falls: from the first step on the iterates rise to the
root, and beside an edge each leaves at most :math:`1/\alpha` of the distance. Since :math:`x^{\alpha b} = x\,x^b`,
:math:`f' = -\alpha b\sum x^b`; and the largest scores, where :math:`g = 0`, enter as
:math:`(1 - \theta)^{\alpha b} - 1` by ``expm1`` and ``log1p``, so a small :math:`\theta` keeps its relative precision.

*Derivative.* From :math:`\sum x^{\alpha b} = 1` follows :math:`d\theta = \langle p, ds\rangle/\tau`. With
:math:`h_i = b\,p_i/x_i = b\,p_i^{2-\alpha}\|p\|_\alpha^{\alpha-1}` on the support,

.. math:: J = \frac1\tau\Big(\mathrm{diag}(h) - hp^\top - ph^\top + \Big(\sum h\Big)pp^\top\Big),

symmetric, and zero at :math:`\alpha = \infty`.

References
----------
M. Blondel, A. Martins, V. Niculae, *J. Mach. Learn. Res.* 21 (2020), no. 35, section 4 (norm entropies).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from theory.maxent.batch import Array, as_parameter, read_cotangent, read_scores
from theory.maxent.sparse.threshold import solve

_STEPS = 64  # derived: a half of the distance each, from one rounding of 1 to that of its square, and some
_STILL = 2.0**-50  # derived: eight roundings of the threshold, more than the two sums of one step leave


def normmax(scores: ArrayLike, alpha: ArrayLike, *, tau: ArrayLike = 1.0, axis: int = -1) -> Array:
    r"""Return the maximiser of :math:`\langle p, s\rangle - \tau\|p\|_\alpha` for every row.

    Parameters
    ----------
    scores : array_like
        Real scores, dimensionless; :math:`-\infty` masks an entry.
    alpha : array_like
        Orders above 1, infinity allowed, broadcast against the rows.
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
        If a score is NaN or :math:`+\infty`, ``axis`` is empty, ``alpha <= 1``, ``tau`` is not positive or shapes do
        not fit.
    """
    read, (order,) = read_scores(scores, axis, tau, alpha=_order(alpha))
    with np.errstate(over="ignore"):
        gaps = np.maximum(read.gaps * (1.0 / (1.0 - 1.0 / order)), np.finfo(np.float64).min)
    powers, threshold = solve(gaps, read.present.astype(np.float64), 2.0 - 1.0 / order)
    weights = np.where(powers > 0.0, powers ** (1.0 / order), 0.0)
    steep = (order[:, 0] > 2.0) & read.present.any(axis=1)
    if steep.any():
        room = np.where(read.present[steep], 1.0 + read.gaps[steep], 0.0)
        weights[steep] = _beside_edges(room, (1.0 - 1.0 / order[steep]) * threshold[steep], order[steep])
    total = weights.sum(axis=1, keepdims=True)
    return read.layout.laws(weights / np.where(total > 0.0, total, 1.0))


def _beside_edges(room: Array, theta: Array, order: Array) -> Array:
    """Return ``[room - theta]_+ ** b``, theta mended; ``room`` is at most 1, and 1 somewhere in every row."""
    b = 1.0 / (order - 1.0)
    top = room == 1.0
    ties = np.count_nonzero(top, axis=1, keepdims=True)
    for _ in range(_STEPS):
        x = np.maximum(room - theta, 0.0)
        w = np.where(x > 0.0, x**b, 0.0)
        excess = (
            (ties - 1.0)
            + ties * np.expm1((1.0 + b) * np.log1p(-theta))
            + np.where(top, 0.0, x * w).sum(axis=1, keepdims=True)
        )
        ahead = np.maximum(theta + excess / ((1.0 + b) * w.sum(axis=1, keepdims=True)), 0.0)
        still = np.abs(ahead - theta) <= _STILL * theta
        theta = ahead
        if still.all():
            break
    x = np.maximum(room - theta, 0.0)
    return np.where(x > 0.0, x**b, 0.0)


def normmax_vjp(
    weights: ArrayLike, cotangent: ArrayLike, alpha: ArrayLike, *, tau: ArrayLike = 1.0, axis: int = -1
) -> Array:
    """Return the product of the symmetric Jacobian with a cotangent, from the weights :func:`normmax` returned.

    Errors as in :func:`theory.maxent.entmax_vjp`, and for ``alpha <= 1``.
    """
    layout, p, c, temperature, (a,) = read_cotangent(weights, cotangent, axis, tau, alpha=_order(alpha))
    order = np.where(np.isinf(a), 2.0, a)
    on = (p > 0.0) & np.isfinite(a)
    top = p.max(axis=1, keepdims=True)
    # logarithms of the weights beside the largest, of which a power of any order keeps its digits
    logs = np.log1p(np.where(on, (p - top) / np.where(top > 0.0, top, 1.0), 0.0))
    with np.errstate(all="ignore"):  # what overflows is refused
        total = np.where(on, np.exp(order * logs), 0.0).sum(axis=1, keepdims=True)
        norm = np.log(np.where(total > 0.0, total, 1.0)) * (1.0 - 1.0 / order)  # to the power of the order less one
        x = np.exp((order - 1.0) * logs - norm)
        h = np.where(on, p / x / (order - 1.0), 0.0)
        centred = c - (p * c).sum(axis=1, keepdims=True)
        return layout.derivative((h * centred - p * (h * centred).sum(axis=1, keepdims=True)) / temperature)


def _order(alpha: ArrayLike) -> Array:
    order = as_parameter(alpha, "alpha", infinite=True)
    if not (order > 1.0).all():
        raise ValueError(f"alpha: expected numbers above 1, got {order[~(order > 1.0)].flat[0]}")
    return order
