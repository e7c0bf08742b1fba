r"""A-priori rounding bounds: how far a computed number may lie from the true one.

With unit roundoff :math:`u = 2^{-53}` and :math:`\gamma_k = ku/(1-ku)`, a sum of :math:`n` terms in any order is off
by at most :math:`\gamma_{n-1}\sum|x_i|` and a dot product by :math:`\gamma_n\,|x|\cdot|y|`. A softmax weight of
scores known to :math:`\delta` has relative error at most :math:`2\delta + 2u\max|s - s_{\max}| + (n + 2L + 3)u`,
where :math:`L` is the error of the exponential in units in the last place. The bounds are loose on purpose and not to
be tuned.

References
----------
N. J. Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., SIAM 2002, sections 3.1 and 4.2.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from theory.evidence.interval import Interval, Kind

U = 2.0**-53
SUBNORMAL = 2.0**-1073  # what a product loses where it leaves the normal range, twice over
EXP_ULPS = 4  # taken, not measured: four times the error that current libm and NumPy document for exp, log and tanh


def gamma(k: int) -> float:
    r"""Return :math:`\gamma_k = ku/(1-ku)`, rounded up."""
    return math.nextafter(k * U / (1.0 - k * U), math.inf)


def softmax_error(score_error: float, spread: float, n: int, *, merges: int = 0) -> float:
    """Bound the relative error of every softmax weight of ``n`` scores.

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
    first_order = 2.0 * score_error + (4.0 * spread + n + 2 * EXP_ULPS + 3 + merges * (EXP_ULPS + 3)) * U
    if first_order > 1.0:
        return math.inf  # nothing is known of the weights
    return math.expm1(2.0 * first_order)  # twice the first order covers the higher ones, see Higham lemma 3.1


def average_error(size: float, n: int, *, relative: float = 0.0) -> float:
    """Bound the error of a mean of ``n`` numbers within ``size`` of zero, under weights known up to ``relative``."""
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
    first_order = 4.0 * size**2 * (relative + gamma(n + 16)) + 8.0 * size * shift
    return 2.0 * first_order  # twice the first order covers the higher ones, the error of the mean squared among them


def total(values: ArrayLike, error: ArrayLike = 0.0) -> Interval:
    """Enclose the sum of numbers each off by at most its ``error``; the summation itself is exact to half an ulp."""
    terms = np.asarray(values, dtype=np.float64).ravel()
    slack = math.fsum(np.broadcast_to(np.asarray(error, dtype=np.float64), terms.shape).ravel().tolist())
    value = math.fsum(terms.tolist())
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
        If the shapes differ, the arrays are empty, or an entry is NaN.
    """
    a, b = np.asarray(measured, dtype=np.float64), np.asarray(claimed, dtype=np.float64)
    if a.shape != b.shape or a.size == 0:
        raise ValueError(f"claimed: expected the non-empty shape of measured, {a.shape}, got {b.shape}")
    apart, slack = np.abs(a - b), np.broadcast_to(np.asarray(error, dtype=np.float64), a.shape)
    if np.isnan(apart).any() or np.isnan(slack).any():
        raise ValueError("measured, claimed, error: expected numbers, got NaN")
    low = np.nextafter(apart * (1 - 2.0**-52) - slack, -np.inf).max()  # the subtraction rounds by half an ulp
    high = np.nextafter(apart * (1 + 2.0**-52) + slack, np.inf).max()
    return Interval(max(float(low), 0.0), float(high), kind)
