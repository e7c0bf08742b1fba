r"""From a similarity to what propagates: strengthening and normalisation as small steps that compose.

A method on a graph of points takes a similarity matrix S, strengthens it, normalises it, and applies it to features,
:math:`H \mapsto SH`. The steps here are the usual ones,

.. math:: D_{t,c} = c - \mathrm{sign}(t)\,d^t, \quad \Gamma_r(S) = \mathrm{sign}(r)\,S^r, \quad e^{S_{ij}/\sigma_i},
   \quad N_r, N_c, N_g, \quad N_2(S)_{ij} = \frac{S_{ij}}{\sum_k S_{ik}\sum_k S_{jk}} ,

entry by entry as printed, and :func:`compose` puts them in order. Attention is :math:`N_r \circ \exp` of learnable
scores. A step asked with floats answers floats; asked with enclosures it answers enclosures, since sums, products,
quotients, powers and exponentials carry their own rounding.

References
----------
T. Ruan and S. Zhang, Towards understanding how attention mechanism works in deep learning, arXiv:2412.18288,
definitions 1 to 10.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_matrix, as_number, as_vector
from theory.evidence import as_intervals, is_enclosed

Array = NDArray[np.float64]
Stage = Callable[[Array], Array]


def compose(*stages: Stage) -> Stage:
    """Return the map that applies ``stages`` one after the other, the first one first.

    Raises
    ------
    TypeError
        If a stage cannot be called.
    """
    for number, stage in enumerate(stages):
        if not callable(stage):
            raise TypeError(f"stages: expected maps of matrices, got {type(stage).__name__} at place {number}")

    def composed(similarity: Array) -> Array:
        for stage in stages:
            similarity = stage(similarity)
        return similarity

    return composed


def metric_similarity(distances: ArrayLike, t: float, c: float) -> Array:
    r"""Return :math:`D_{t,c} = c - \mathrm{sign}(t)\,d^t`.

    Parameters
    ----------
    distances : array_like, shape (m, n)
        Not negative; positive if ``t`` is negative.
    t, c : float
        Exponent, not zero, and constant.

    Raises
    ------
    ValueError
        If an argument is out of its range, or a power overflows; one that underflows is zero.
    """
    d = as_matrix(distances, "distances")
    power = _exponent(t, "t")
    level = as_number(c, "c")
    least = _least(d)
    if least < 0.0 or (power < 0.0 and least == 0.0):
        raise ValueError(f"distances: expected {'positive' if power < 0.0 else 'non-negative'} ones, got {least}")
    return level - _power(d, power, "distances")


def inflate(similarity: ArrayLike, r: float) -> Array:
    r"""Return :math:`\Gamma_r(S) = \mathrm{sign}(r)\,S^r`, entry by entry.

    Raises
    ------
    ValueError
        If ``r`` is zero, a base is negative and ``r`` no integer, a base is zero and ``r`` negative, or a power
        overflows; one that underflows is zero.
    """
    s = as_matrix(similarity, "similarity")
    power = _exponent(r, "r")
    if (_least(s) < 0.0 and power != round(power)) or (power < 0.0 and _least(abs(s)) == 0.0):
        raise ValueError(f"similarity: expected entries with a real power {power:g}, got {_least(s)} or zero")
    return _power(s, power, "similarity")


def inflate_exponentially(similarity: ArrayLike, sigma: ArrayLike) -> Array:
    r"""Return :math:`e^{S_{ij}/\sigma_i}`, without a shift.

    Parameters
    ----------
    similarity : array_like, shape (m, n)
    sigma : array_like, shape (m,) or ()
        Positive, one for each row or for all.

    Raises
    ------
    ValueError
        If ``sigma`` does not fit or is not positive, or an exponential overflows.
    """
    s = as_matrix(similarity, "similarity")
    widths = as_vector(np.broadcast_to(sigma, s.shape[:1]) if np.ndim(sigma) == 0 else sigma, "sigma")
    if widths.size != s.shape[0] or not _least(widths) > 0.0:
        raise ValueError(
            f"sigma: expected {s.shape[0]} positive numbers, got {widths.size}, the least {_least(widths)}"
        )
    with np.errstate(over="ignore", under="ignore"):
        return _finite(np.exp(s / widths[:, np.newaxis]), "similarity")


def normalise_rows(similarity: ArrayLike) -> Array:
    """Return :math:`N_r(S)`: every row divided by its sum, which must not vanish."""
    s = as_matrix(similarity, "similarity")
    divided: Array = s / _sums(s, 1)[:, np.newaxis]
    return divided


def normalise_columns(similarity: ArrayLike) -> Array:
    """Return :math:`N_c(S)`: every column divided by its sum, which must not vanish."""
    s = as_matrix(similarity, "similarity")
    divided: Array = s / _sums(s, 0)
    return divided


def normalise_two_sided(similarity: ArrayLike) -> Array:
    """Return :math:`N_2(S)`: every entry divided by the sums of the rows of both of its indices."""
    s = as_matrix(similarity, "similarity")
    degrees = _sums(as_matrix(s, "similarity", shape=(s.shape[0], s.shape[0])), 1)
    with np.errstate(over="ignore"):
        divided: Array = s / degrees[:, np.newaxis] / degrees
    return _finite(divided, "similarity")


def normalise_overall(similarity: ArrayLike) -> Array:
    """Return :math:`N_g(S)`: every entry divided by the sum of all, which must not vanish."""
    s = as_matrix(similarity, "similarity")
    divided: Array = s / _sums(s.reshape(1, -1), 1)
    return divided


def clear_diagonal(similarity: ArrayLike) -> Array:
    """Return a square similarity with zero on its diagonal."""
    s = as_matrix(similarity, "similarity")
    others: Array = as_matrix(s, "similarity", shape=(s.shape[0], s.shape[0])) * (1.0 - np.eye(s.shape[0]))
    return others


def symmetrise(similarity: ArrayLike) -> Array:
    r"""Return :math:`\frac12(S + S^\top)`."""
    s = as_matrix(similarity, "similarity")
    half: Array = 0.5 * (s + as_matrix(s, "similarity", shape=(s.shape[0], s.shape[0])).T)
    return half


def fuzzy_union(similarity: ArrayLike) -> Array:
    r"""Return :math:`S + S^\top - S \circ S^\top`: how likely one of two independent edges is there."""
    s = as_matrix(similarity, "similarity")
    if _least(s) < 0.0 or _least(-s) < -1.0:
        raise ValueError(f"similarity: expected entries from 0 to 1, got {_least(s)} to {-_least(-s)}")
    s = as_matrix(s, "similarity", shape=(s.shape[0], s.shape[0]))
    union: Array = s + (1.0 - s) * s.T
    return union


def _exponent(value: float, name: str) -> float:
    power = as_number(value, name)
    if power == 0.0:
        raise ValueError(f"{name}: expected an exponent other than zero, got {power}")
    return power


def _power(base: Array, power: float, name: str) -> Array:
    with np.errstate(over="ignore", under="ignore"):
        return _finite(np.sign(power) * base**power, name)


def _least(values: Array) -> float:
    """Return the least entry, of enclosures that of the middles."""
    return float(as_intervals(values).mid.min())


def _finite(values: Array, name: str) -> Array:
    if not is_enclosed(values) and not np.isfinite(values).all():
        raise ValueError(f"{name}: expected sizes of which float64 holds what is asked for, got an overflow")
    return values


def _sums(similarity: Array, axis: int) -> Array:
    with np.errstate(over="ignore"):
        sums: Array = _finite(similarity.sum(axis=axis), "similarity")
    if _least(abs(sums)) == 0.0:
        raise ValueError("similarity: expected sums other than zero, got 0.0")
    return sums
