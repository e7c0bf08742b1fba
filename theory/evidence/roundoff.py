r"""A-priori rounding bounds: how far a computed number may lie from the true one.

With unit roundoff :math:`u = 2^{-53}` and :math:`\gamma_k = ku/(1-ku)`, a sum of :math:`n` terms in any order is off
by at most :math:`\gamma_{n-1}\sum|x_i|` and a dot product by :math:`\gamma_n\,|x|\cdot|y|`. A softmax weight of
scores known to :math:`\delta` has, to first order, relative error at most :math:`2\delta + 2u\max|s - s_{\max}| +
(n + 4L + 3)u`, where :math:`L` is the error of the exponential in units in the last place, each up to :math:`2u` of the
number, in numerator and sum. The bounds are loose on purpose and not to be tuned.

References
----------
N. J. Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., SIAM 2002, sections 3.1 and 4.2.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_bound, as_count, as_real
from theory.evidence.interval import Interval, Kind, as_kind

U = 2.0**-53
SUBNORMAL = 2.0**-1073  # what a product loses where it leaves the normal range, twice over
EXP_ULPS = 4  # taken, not measured: four times the error that current libm and NumPy document for exp, log and tanh
TINY = 1e-300  # taken: smaller weights of a softmax may underflow, and are known up to this absolutely


def gamma(k: int) -> float:
    r"""Return :math:`\gamma_k = ku/(1-ku)`, rounded up."""
    k = as_count(k, "k", least=0)
    if not k < 1.0 / U:
        raise ValueError(f"k: expected a number of roundings with k u < 1, got {k!r}")
    return math.nextafter(k * U / (1.0 - k * U), math.inf)


def softmax_error(score_error: float, spread: float, n: int, *, merges: int = 0) -> float:
    """Bound the relative error of every softmax weight of ``n`` scores that is at least ``TINY``.

    Smaller weights may underflow; they are off by at most this bound of ``TINY``, and never by more than it.

    Parameters
    ----------
    score_error : float
        Bound on the error of every score.
    spread : float
        Bound on the largest score minus the smallest.
    n : int
        Number of scores.
    merges : int, default 0
        How often a running maximum may have been replaced; each costs one exponential and one product.
    """
    score_error = as_bound(score_error, "score_error")
    spread = as_bound(spread, "spread")
    n, merges = as_count(n, "n"), as_count(merges, "merges", least=0)
    first_order = 2.0 * score_error + (4.0 * spread + n + 2 * EXP_ULPS + 3 + merges * (EXP_ULPS + 3)) * U
    if first_order > 1.0:
        return math.inf  # nothing is known of the weights
    return math.expm1(2.0 * first_order)  # doubled: units are two roundings; higher orders, Higham lemma 3.1


def average_error(size: float, n: int, *, relative: float = 0.0) -> float:
    """Bound the error of a mean of ``n`` numbers within ``size`` of zero, under weights known up to ``relative``."""
    size = as_bound(size, "size")
    n = as_count(n, "n")
    relative = as_bound(relative, "relative")
    if size == 0.0:
        return 0.0
    return size * (relative + gamma(n + 2)) * (1.0 + relative) + n * SUBNORMAL


def covariance_error(size: float, n: int, *, relative: float = 0.0, shift: float = 0.0) -> float:
    """Bound the error of an entry of a covariance that is centred before it is squared.

    Parameters
    ----------
    size : float
        Bound on every coordinate of the ``n`` points; a centred one is within twice of it.
    n : int
        Number of points.
    relative : float, default 0.0
        Bound on the relative error of the weights.
    shift : float, default 0.0
        Bound on the error of every coordinate of the points; a centred one is off by twice of it.
    """
    size = as_bound(size, "size")
    n = as_count(n, "n")
    relative, shift = as_bound(relative, "relative"), as_bound(shift, "shift")
    if math.inf in (size, relative, shift):
        return math.inf
    first_order = 4.0 * (size * size) * (relative + gamma(n + 16)) + 8.0 * size * shift
    return 2.0 * first_order  # twice the first order covers the higher ones, the error of the mean squared among them


def _bounds(error: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return bounds on errors, infinite ones among them, for every entry of an array of a shape."""
    given = None if isinstance(error, np.ma.MaskedArray) else np.asarray(error)
    if given is not None and given.dtype.kind == "f" and np.isposinf(given).any():
        endless = np.isposinf(given)
        bounds = np.where(endless, np.inf, as_real(np.where(endless, given.dtype.type(0.0), given), "error"))
    else:
        bounds = as_real(error, "error")
    if not (bounds >= 0.0).all():
        raise ValueError(f"error: expected non-negative bounds, got {bounds[~(bounds >= 0.0)].flat[0]}")
    try:
        return np.broadcast_to(bounds, shape)
    except ValueError as unfit:
        raise ValueError(f"error: expected bounds that broadcast to {shape}, got shape {bounds.shape}") from unfit


def total(values: ArrayLike, error: ArrayLike = 0.0) -> Interval:
    """Enclose the sum of numbers each off by at most its ``error``; the summation itself is exact to half an ulp."""
    terms = as_real(values, "values")
    bounds = _bounds(error, terms.shape)
    try:
        slack = math.fsum(bounds.ravel().tolist())
        value = math.fsum(terms.ravel().tolist())
    except OverflowError:
        return Interval.unknown()
    return Interval.within(value, math.nextafter(slack * (1 + 2 * U) + U * abs(value), math.inf), Kind.NUMERIC)


def discrepancy(measured: ArrayLike, claimed: ArrayLike, error: ArrayLike = 0.0, kind: Kind = Kind.NUMERIC) -> Interval:
    """Enclose the largest entrywise distance between two arrays of which the entries are known up to ``error``.

    Parameters
    ----------
    measured, claimed : array_like
        Arrays of equal shape, in the same unit.
    error : array_like, default 0.0
        Bound on the sum of both arrays' errors, broadcast against them.
    kind : Kind, default Kind.NUMERIC
        By what right ``error`` holds.

    Returns
    -------
    Interval
        Of ``max |measured - claimed|`` over the true values behind both arrays.

    Raises
    ------
    ValueError
        If the shapes differ, the arrays are empty or not finite, or ``error`` is negative or NaN.
    """
    a, b = as_real(measured, "measured"), as_real(claimed, "claimed")
    if a.shape != b.shape or a.size == 0:
        raise ValueError(f"claimed: expected the non-empty shape of measured, {a.shape}, got {b.shape}")
    slack = _bounds(error, a.shape)
    kind = as_kind(kind)
    with np.errstate(over="ignore", under="ignore"):
        apart = np.abs(a - b)
        least = np.minimum(
            apart * (1 - 2.0**-52), sys.float_info.max
        )  # the subtraction rounds by half an ulp, or overflows
        low = np.nextafter(least - slack, -np.inf).max()
        high = np.nextafter(apart * (1 + 2.0**-52) + slack, np.inf).max()
    return Interval(max(float(low), 0.0), float(high), kind)
