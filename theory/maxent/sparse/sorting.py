r"""Sparsemax and entmax of order 3/2 by sorting: exact up to rounding, without iteration.

Sort :math:`z_1 \ge z_2 \ge \dots`, with :math:`\mu_k` the mean of the first :math:`k`. If the support has :math:`k`
entries, the threshold follows from :math:`\sum p = 1`:

* :math:`\alpha = 2`, :math:`z = s/\tau`, :math:`p = [z - \theta]_+`: :math:`\theta_k = \mu_k - 1/k`, and :math:`k^*` is
  the number of :math:`k` with :math:`1 + kz_k > \sum_{j \le k} z_j`, that is :math:`\sum_{j\le k}(z_j - z_k) < 1`.
* :math:`\alpha = \frac32`, :math:`z = s/2\tau`, :math:`p = [z - \theta]_+^2`: with
  :math:`S_k = \sum_{j \le k}(z_j - \mu_k)^2`, :math:`\theta_k = \mu_k - \sqrt{(1 - S_k)_+/k}`, and :math:`k^*` is the
  number of :math:`k` with :math:`\theta_k \le z_k`, that is :math:`\sum_{j \le k}(z_j - z_k)^2 \le 1`.

*Why counting is right.* Both left sums do not decrease in :math:`k`, so the :math:`k` that pass are a prefix. In the
second case :math:`\theta_k \le z_k \iff (\mu_k - z_k)^2 \le (1 - S_k)/k \iff \sum_{j\le k}(z_j - z_k)^2 \le 1` when
:math:`S_k \le 1`; when :math:`S_k > 1` the clamped :math:`\theta_k = \mu_k \le z_k` would force all of them to be
equal, hence :math:`S_k = 0`.

*Rounding.* The largest score is subtracted, and what is below :math:`-1` is set to :math:`-1`: since
:math:`\theta \ge \max z - 1`, nothing there has weight, so a range of :math:`10^{300}` costs no digit. Sums of
:math:`k` numbers in :math:`[-1, 0]` are off by :math:`k^2u/2`, and :math:`S_k` as a difference of two of them by more
yet, so sorting gives a threshold that is off by :math:`nu` and, at worst, an entry too many or too few on its edge. In
the sum of the weights, a convex function of the threshold, Newton's method takes that off; its sums keep all digits
(:func:`theory.maxent.batch.excess`). The last step is taken on the weights, as in :mod:`.threshold`.

Sorting is the oracle. The compiled maps find the same threshold without it, by steps that end where the support does
(:mod:`theory.maxent.kernels`): most scores are too far behind the largest to need a place in an order.

References
----------
A. Martins, R. Astudillo, *From softmax to sparsemax*, ICML 2016; B. Peters, V. Niculae, A. Martins, *Sparse
sequence-to-sequence models*, ACL 2019.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from theory.evidence import Intervals
from theory.maxent.batch import Array, compiled_laws, excess, read_scores, row_blocks
from theory.maxent.sparse.enclosed import enclose_entmax
from theory.maxent.sparse.entmax import entmax_vjp

_STEPS = 64  # taken: Newton's method from a threshold that is off by n u ends after two or three
_STILL = 2.0**-51  # derived: four roundings of numbers up to one


def sparsemax(scores: ArrayLike, *, tau: ArrayLike = 1.0, axis: int = -1) -> Array:
    r"""Return the Euclidean projection of :math:`s/\tau` on the simplex, which is entmax of order 2.

    Parameters
    ----------
    scores : array_like or Intervals
        Real scores, dimensionless; :math:`-\infty` masks an entry of an array. Enclosures are answered with enclosures.
    tau : array_like, default 1.0
        Positive temperature, broadcast against the rows.
    axis : int, default -1
        Along which the n scores of a row lie.

    Returns
    -------
    ndarray
        Laws along ``axis``; a row without an entry left is a row of zeros.

    Raises
    ------
    ValueError
        If a score is NaN or :math:`+\infty`, ``axis`` is empty, ``tau`` is not positive or shapes do not fit.

    Examples
    --------
    >>> sparsemax([1.0, 0.5, -1.0])
    array([0.75, 0.25, 0.  ])
    """
    if isinstance(scores, Intervals):
        return enclose_entmax(sparsemax(scores.mid, tau=tau, axis=axis), scores, 2.0, tau)  # type: ignore[return-value]
    return _mapped(_projection, scores, tau, axis, 2.0)


def entmax15(scores: ArrayLike, *, tau: ArrayLike = 1.0, axis: int = -1) -> Array:
    """Return entmax of order 3/2; arguments and errors as in :func:`sparsemax`."""
    if isinstance(scores, Intervals):
        return enclose_entmax(entmax15(scores.mid, tau=tau, axis=axis), scores, 1.5, tau)  # type: ignore[return-value]
    return _mapped(_squares, scores, tau, axis, 1.5)


def sparsemax_vjp(weights: ArrayLike, cotangent: ArrayLike, *, tau: ArrayLike = 1.0, axis: int = -1) -> Array:
    """Return the cotangent less its mean over the support, there; 0 elsewhere. As ``entmax_vjp`` of order 2."""
    return entmax_vjp(weights, cotangent, 2.0, tau=tau, axis=axis)


def entmax15_vjp(weights: ArrayLike, cotangent: ArrayLike, *, tau: ArrayLike = 1.0, axis: int = -1) -> Array:
    """Return the product of the Jacobian with a cotangent, as ``entmax_vjp`` of order 3/2."""
    return entmax_vjp(weights, cotangent, 1.5, tau=tau, axis=axis)


def _mapped(law: Callable[[Array], Array], scores: ArrayLike, tau: ArrayLike, axis: int, alpha: float) -> Array:
    laws = compiled_laws("entmax_rows", scores, axis, alpha=alpha, tau=tau)
    if laws is not None:
        return laws
    read, _ = read_scores(scores, axis, tau)
    weights = np.empty_like(read.gaps)
    for part in row_blocks(*weights.shape):
        weights[part] = law(np.where(read.present[part], np.maximum((alpha - 1.0) * read.gaps[part], -1.0), -1.0))
    return read.layout.laws(np.where(read.present, weights, 0.0))


def _projection(z: Array) -> Array:
    falling = np.sort(z, axis=1)[:, ::-1]
    sums = np.cumsum(falling, axis=1)
    k = np.arange(1, z.shape[1] + 1)
    last = np.count_nonzero(1.0 + k * falling > sums, axis=1, keepdims=True)
    return _settled(z, (np.take_along_axis(sums, last - 1, axis=1) - 1.0) / last, 1)


def _squares(z: Array) -> Array:
    falling = np.sort(z, axis=1)[:, ::-1]
    k = np.arange(1, z.shape[1] + 1)
    mean = np.cumsum(falling, axis=1) / k
    spread = np.cumsum(falling**2, axis=1) - k * mean**2
    threshold = mean - np.sqrt(np.maximum(1.0 - spread, 0.0) / k)
    last = np.count_nonzero(threshold <= falling, axis=1, keepdims=True)
    return _settled(z, np.take_along_axis(threshold, last - 1, axis=1), 2)


def _settled(z: Array, theta: Array, power: int) -> Array:
    """Return the powers of what is above the threshold, after Newton steps with an exact sum, the last one on them."""
    for _ in range(_STEPS):
        root = np.where(z > -1.0, np.maximum(z - theta, 0.0), 0.0)  # a threshold of -1 may be rounded below it
        slope = np.count_nonzero(root, axis=1, keepdims=True) if power == 1 else 2.0 * root.sum(axis=1, keepdims=True)
        step = excess(root**power) / np.maximum(slope, 1.0)  # below which it is in rows masked throughout only
        far = np.abs(step) > _STILL
        if not far.any():
            break
        theta = np.where(far, theta + step, theta)
    found: Array = np.where(root > 0.0, np.maximum(root - step, 0.0), 0.0) ** power
    return found
