"""The Wasserstein-1 distance of a cloud on the line from a normal law, as an area between distribution functions."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from theory._validate import as_points, as_positive
from theory.evidence import Interval
from theory.evidence.roundoff import EXP_ULPS, U

Array = NDArray[np.float64]


def w1_to_normal(cloud: ArrayLike, deviation: float) -> Interval:
    r"""Enclose :math:`W_1` between equal masses on the line and the law :math:`N(0, s^2)`.

    It is the area between both distribution functions; :math:`x\Phi(x) + \varphi(x)` is an antiderivative of the normal
    one, which takes the level of a step at most once between two atoms.

    Parameters
    ----------
    cloud : array_like, shape (n, 1)
    deviation : float
        s, positive.

    Returns
    -------
    Interval
        Kind ``NUMERIC``, in the unit of the cloud.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    s = as_positive(deviation, "deviation")
    with np.errstate(over="ignore"):
        z = np.sort(as_points(cloud, "cloud", dim=1)[:, 0]) / s
    if not np.square(z).max() < math.inf:
        raise ValueError(f"deviation: expected one by which float64 can divide the cloud, got {s}")
    levels = np.arange(1, z.size) / z.size
    crossing = np.clip(ndtri(levels), z[:-1], z[1:])
    under = _antiderivative(crossing)
    before = levels * (crossing - z[:-1]) - (under - _antiderivative(z[:-1]))
    after = (_antiderivative(z[1:]) - under) - levels * (z[1:] - crossing)
    tails = _antiderivative(z[:1]) + _antiderivative(-z[-1:])
    total = s * math.fsum([*before.tolist(), *after.tolist(), *tails.tolist()])
    return Interval.within(total, 64 * EXP_ULPS * U * s * z.size * (1.0 + float(np.abs(z).max())))


def _antiderivative(x: Array) -> Array:
    found: Array = x * ndtr(x) + np.exp(-x * x / 2.0) / math.sqrt(2.0 * math.pi)
    return found
