r"""Tsallis entropies and their deformed logarithm.

:math:`H_\alpha(p) = \frac{1 - \sum_i p_i^\alpha}{\alpha(\alpha - 1)}` for :math:`\alpha > 0`, with the Shannon entropy
in the limit :math:`\alpha \to 1`, :math:`\frac12(1 - \|p\|_2^2)` at 2 and 0 in the limit :math:`\alpha \to \infty`.
With :math:`\log_\alpha x = (x^{\alpha-1} - 1)/(\alpha - 1)` and :math:`\sum p = 1`,

.. math:: H_\alpha(p) = -\frac1\alpha \sum_i p_i \log_\alpha p_i,

a sum of non-negative terms that is evaluated without cancellation by
:math:`\log_\alpha x = \mathrm{expm1}((\alpha - 1)\log x)/(\alpha - 1)`, exact in the limit at
:math:`\alpha = 1`. Its inverse :math:`\exp_\alpha y = [1 + (\alpha - 1)y]_+^{1/(\alpha-1)}` is
:math:`\exp(\mathrm{log1p}((\alpha - 1)y)/(\alpha - 1))`; the powers themselves lose :math:`u/|\alpha - 1|`.

References
----------
C. Tsallis, *J. Stat. Phys.* 52 (1988), 479-487.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_positive
from theory.evidence import Interval, Intervals, within
from theory.evidence.roundoff import U, gamma
from theory.maxent.batch import Array, as_laws, as_parameter, flatten_rows, validate_laws

_PLAIN = (0.0, 0.5, 1.0)  # softmax, entmax of order 3/2, sparsemax
_LARGEST = sys.float_info.max
_SMALLEST = sys.float_info.min


def deformed_log(x: Array, e: Array) -> Array:
    r"""Return :math:`\log_\alpha x` of positive numbers, with :math:`e = \alpha - 1` finite."""
    logs = np.log(x)
    with np.errstate(over="ignore"):
        return np.where(e == 0.0, logs, np.expm1(e * logs) / np.where(e == 0.0, 1.0, e))


def deformed_exp(y: Array, e: Array) -> tuple[Array, Array]:
    r"""Return :math:`\exp_\alpha y` and its derivative :math:`(\exp_\alpha y)^{2-\alpha}`, zero off the support.

    The derivative is the exponential divided by :math:`w = 1 + (\alpha - 1)y`, since
    :math:`p^{2-\alpha} = p\,p^{1-\alpha} = p/w`: no second power is taken. The logarithm of :math:`1 + x` is that of
    the rounded sum :math:`w` plus what rounding took, :math:`(x - (w - 1))/w`: as good as ``log1p``, and measured to
    take half its time.
    """
    if (e == e.flat[0]).all() and e.flat[0] in _PLAIN:
        return _plain(y, float(e.flat[0]))
    with np.errstate(over="ignore", divide="ignore"):
        x = np.minimum(np.maximum(e * y, -1.0), _LARGEST)
        w = 1.0 + x
        base = np.maximum(w, _SMALLEST)
        exponent = (np.log(base) + (x - (w - 1.0)) / base) / np.where(e == 0.0, 1.0, e)
    if (e == 0.0).any():
        exponent = np.where(e == 0.0, y, exponent)
    p = np.exp(exponent) * (w > 0.0)
    return p, p / base


def _plain(y: Array, e: float) -> tuple[Array, Array]:
    """Do the same for orders that need no logarithm."""
    if e == 0.0:
        p = np.exp(y)
        return p, p
    w = np.maximum(1.0 + e * y, 0.0)
    return (w, (w > 0.0).astype(np.float64)) if e == 1.0 else (w * w, w)


def tsallis(weights: ArrayLike, alpha: ArrayLike, *, axis: int = -1) -> Array:
    r"""Return :math:`H_\alpha` of every row, in nats for :math:`\alpha = 1`.

    Parameters
    ----------
    weights : array_like
        Laws along ``axis``.
    alpha : array_like
        Positive, infinity allowed, broadcast against the rows.
    axis : int, default -1

    Raises
    ------
    ValueError
        If a row leaves the simplex, ``alpha`` is not positive or shapes do not fit.

    Notes
    -----
    An order so close to 0 that the entropy exceeds float64 yields infinity.
    """
    if isinstance(weights, Intervals):
        return _enclosed(weights, as_positive(alpha, "alpha"))  # type: ignore[return-value, arg-type]
    order = as_parameter(alpha, "alpha", infinite=True)
    layout, (p,), (a,) = flatten_rows({"weights": as_laws(weights, "weights")}, axis, {"alpha": order})
    validate_laws(p, "weights")
    return layout.values(entropies(p, a))


def _enclosed(weights: Intervals, alpha: float) -> Interval:
    r"""Enclose the entropy of one law: every summand has one sign and a relative error of its own.

    The logarithm is off by 8 u; expm1 passes on a relative error with a factor of at most one plus its argument. A
    summand :math:`-x\log_\alpha x/\alpha` has a slope of at most :math:`(1 + |\log_\alpha x|)/\alpha` up to one, which
    falls in x: a weight known up to less than its half is taken at its half, another one at its largest.
    """
    p, off = weights.mid, weights.radius
    grown = 1.0 + abs(alpha - 1.0) * float(np.abs(np.log(p[p > 0.0])).max())
    value = float(tsallis(p, alpha))
    error = 2.0 * value * (20.0 * grown * U + gamma(p.size + 4))
    if not weights.is_exact:
        least = np.where(p > 2.0 * off, 0.5 * p, p + off)
        steep = 1.0 + np.abs(deformed_log(np.where(least > 0.0, least, 1.0), np.array(alpha - 1.0)))
        error += 2.0 * float((np.where(p > 2.0 * off, off, p + off) * steep).sum()) / min(alpha, 1.0)
    found: Interval = within(value, error)
    return found


def entropies(p: Array, alpha: Array) -> Array:
    """Return the entropies, (m, 1), of rows of laws, (m, n), that need no check; a row of zeros has none, 0."""
    e = np.where(np.isinf(alpha), 0.0, alpha - 1.0)
    logs = deformed_log(np.where(p > 0.0, p, 1.0), e)
    with np.errstate(over="ignore", invalid="ignore"):
        terms = np.where(p > 0.0, -p * logs, 0.0)
        beyond = np.isinf(logs)  # the power in it, though not its product with p
        if beyond.any():
            powers = np.exp(alpha * np.log(np.where(beyond, p, 1.0)))
            terms = np.where(beyond, (powers - p) / np.where(e == 0.0, 1.0, -e), terms)
        return np.where(np.isinf(alpha), 0.0, terms.sum(axis=1, keepdims=True) / alpha)
