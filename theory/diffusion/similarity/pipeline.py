r"""From a similarity to what propagates: strengthening and normalisation as small steps that compose.

A method on a graph of points takes a similarity matrix S, strengthens it, normalises it, and applies it to features,
:math:`H \mapsto SH`. The steps here are the usual ones,

.. math:: D_{t,c} = c - \mathrm{sign}(t)\,d^t, \quad \Gamma_r(S) = \mathrm{sign}(r)\,S^r, \quad e^{S_{ij}/\sigma_i},
   \quad N_r, N_c, N_g, \quad N_2(S)_{ij} = \frac{S_{ij}}{\sum_k S_{ik}\sum_k S_{jk}} ,

entry by entry as printed, and :func:`compose` puts them in order. Attention is :math:`N_r \circ \exp` of learnable
scores. Sums, products and quotients of float64; powers and exponentials are within a few units in the last place.

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
    d, power, level = as_matrix(distances, "distances"), _exponent(t, "t"), as_number(c, "c")
    if d.min() < 0.0 or (power < 0.0 and d.min() == 0.0):
        raise ValueError(f"distances: expected {'positive' if power < 0.0 else 'non-negative'} ones, got {d.min()}")
    return level - _power(d, power, "distances")


def inflate(similarity: ArrayLike, r: float) -> Array:
    r"""Return :math:`\Gamma_r(S) = \mathrm{sign}(r)\,S^r`, entry by entry.

    Raises
    ------
    ValueError
        If ``r`` is zero, a base is negative and ``r`` no integer, a base is zero and ``r`` negative, or a power
        overflows; one that underflows is zero.
    """
    s, power = as_matrix(similarity, "similarity"), _exponent(r, "r")
    if (s.min() < 0.0 and power != round(power)) or (power < 0.0 and (s == 0.0).any()):
        raise ValueError(f"similarity: expected entries with a real power {power:g}, got {s.min()} or zero")
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
    widths = as_vector(np.broadcast_to(np.asarray(sigma), s.shape[:1]) if np.ndim(sigma) == 0 else sigma, "sigma")
    if widths.size != s.shape[0] or not widths.min() > 0.0:
        raise ValueError(f"sigma: expected {s.shape[0]} positive numbers, got {widths.size}, the least {widths.min()}")
    with np.errstate(over="ignore", under="ignore"):
        return _finite(np.exp(s / widths[:, np.newaxis]), "similarity")


def normalise_rows(similarity: ArrayLike) -> Array:
    """Return :math:`N_r(S)`: every row divided by its sum, which must not vanish."""
    s = as_matrix(similarity, "similarity")
    return np.asarray(s / _sums(s, 1)[:, np.newaxis])


def normalise_columns(similarity: ArrayLike) -> Array:
    """Return :math:`N_c(S)`: every column divided by its sum, which must not vanish."""
    s = as_matrix(similarity, "similarity")
    return np.asarray(s / _sums(s, 0))


def normalise_two_sided(similarity: ArrayLike) -> Array:
    """Return :math:`N_2(S)`: every entry divided by the sums of the rows of both of its indices."""
    s = as_matrix(similarity, "similarity")
    degrees = _sums(as_matrix(s, "similarity", shape=(s.shape[0], s.shape[0])), 1)
    with np.errstate(over="ignore"):
        divided = np.asarray(s / degrees[:, np.newaxis] / degrees)
    return _finite(divided, "similarity")


def normalise_overall(similarity: ArrayLike) -> Array:
    """Return :math:`N_g(S)`: every entry divided by the sum of all, which must not vanish."""
    s = as_matrix(similarity, "similarity")
    return np.asarray(s / _sums(s.reshape(1, -1), 1))


def clear_diagonal(similarity: ArrayLike) -> Array:
    """Return a square similarity with zero on its diagonal."""
    s = as_matrix(similarity, "similarity")
    return np.asarray(as_matrix(s, "similarity", shape=(s.shape[0], s.shape[0])) * (1.0 - np.eye(s.shape[0])))


def symmetrise(similarity: ArrayLike) -> Array:
    r"""Return :math:`\frac12(S + S^\top)`."""
    s = as_matrix(similarity, "similarity")
    return np.asarray(0.5 * (s + as_matrix(s, "similarity", shape=(s.shape[0], s.shape[0])).T))


def fuzzy_union(similarity: ArrayLike) -> Array:
    r"""Return :math:`S + S^\top - S \circ S^\top`: how likely one of two independent edges is there."""
    s = as_matrix(similarity, "similarity")
    if s.min() < 0.0 or s.max() > 1.0:
        raise ValueError(f"similarity: expected entries from 0 to 1, got {s.min()} to {s.max()}")
    s = as_matrix(s, "similarity", shape=(s.shape[0], s.shape[0]))
    return np.asarray(s + (1.0 - s) * s.T)


def _exponent(value: float, name: str) -> float:
    power = as_number(value, name)
    if power == 0.0:
        raise ValueError(f"{name}: expected an exponent other than zero, got {power}")
    return power


def _power(base: Array, power: float, name: str) -> Array:
    with np.errstate(over="ignore", under="ignore"):
        return _finite(np.sign(power) * base**power, name)


def _finite(values: Array, name: str) -> Array:
    if not np.isfinite(values).all():
        raise ValueError(f"{name}: expected sizes of which float64 holds what is asked for, got an overflow")
    return values


def _sums(similarity: Array, axis: int) -> Array:
    with np.errstate(over="ignore"):
        sums: Array = _finite(similarity.sum(axis=axis), "similarity")
    if (sums == 0.0).any():
        raise ValueError("similarity: expected sums other than zero, got 0.0")
    return sums
