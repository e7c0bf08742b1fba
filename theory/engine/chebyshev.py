r"""Exponentials of bilinear forms by polynomial interpolation on boxes, one axis at a time.

On :math:`[-1, 1]` let :math:`I f` interpolate at the :math:`p` roots of :math:`T_p`. Every :math:`T_k` with
:math:`k \ge p` is taken there for plus or minus another one of lower degree, or for zero, so
:math:`|f - If| \le 2\sum_{k \ge p} |a_k|` with the Chebyshev coefficients :math:`a_k` of :math:`f`. Those of
:math:`e^{tz}` are :math:`2 I_k(t)`, and :math:`e^{-t} I_k(t)` is the law of the difference of two Poisson variables of
mean :math:`t/2`. By Chernoff's bound, as in ``spectrum``,

.. math:: |e^{tz} - I e^{tz}| \le \varepsilon\, e^{|t|}, \qquad \varepsilon = 4 e^{-l}, \qquad
          l = p \operatorname{arsinh}\frac pt - \frac{p^2}{t + \sqrt{t^2 + p^2}} .

The sizes of the basis polynomials sum to at most :math:`\Lambda = 1 + \frac2\pi \log p` everywhere.

**Rounding.** With :math:`u = 2^{-53}`, to first order and in units of the maximum :math:`e^{|t|}` of the exponential,
the sum of the basis polynomials at a place times the computed values at the nodes is off by at most

.. math:: \kappa u, \qquad \kappa = \tfrac32 p^2 + 21 p + (13 |t| + p + 5) \Lambda + \tfrac32 |t| .

- Nodes are off by 10, so values by :math:`11 |t|` and, with the product and the exponential, by :math:`12 |t| + 2`
  units: times :math:`\Lambda`. The last sum of :math:`p` products takes :math:`p \Lambda`, two factors of the basis
  :math:`2 \Lambda`.
- The recurrence makes errors of at most 3 in every step, which grow as Chebyshev polynomials of the second kind:
  :math:`T_k` at a place is off by at most :math:`\frac32 k (k - 1)`. The coefficients of the interpolant are those of
  the exponential, folded to lower degrees, and :math:`\sum_k 2 I_k(t)\, k^2 = |t| e^{|t|}` by the variance of
  the law above: together :math:`\frac32 |t|`.
- At the nodes :math:`T_k` is the cosine of an angle of at most :math:`\pi`, off by less than 10: together :math:`20 p`.
- A sum of :math:`p` products of both is off by :math:`p` times the sum of their sizes, and
  :math:`\sum_j |T_k(x_j)| \le p / \sqrt2`: together :math:`\sqrt2 p^2`, or :math:`\frac32 p^2` with the factor before.

References
----------
L. N. Trefethen, *Approximation Theory and Approximation Practice*, SIAM 2013, chapters 4, 8 and 15.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from theory.engine.pairs import Array

_ROWS = 2048  # taken: points at a time, so that their products of two axes stay in the cache


def nodes(p: int) -> Array:
    """Return the roots of the Chebyshev polynomial of degree ``p``."""
    roots: Array = np.cos((2.0 * np.arange(p) + 1.0) * (math.pi / (2.0 * p)))
    return roots


def lebesgue(p: int) -> float:
    """Return a bound of the sum of the sizes of the basis polynomials."""
    return 1.0 + 2.0 / math.pi * math.log(p)


def rounding(slope: float, p: int) -> float:
    """Return the share of its maximum by which rounding moves what interpolates ``exp(slope z)`` on [-1, 1]."""
    t = abs(slope)
    units = 1.5 * p * p + 21.0 * p + (13.0 * t + p + 5.0) * lebesgue(p) + 1.5 * t
    return units * 2.0**-53


def basis(places: Array, p: int) -> Array:
    """Return the values (n, p) of the basis polynomials of ``p`` nodes at places (n,) of [-1, 1]."""
    here = _polynomials(places, p)
    here[:, 0] *= 0.5
    turns = np.outer(np.arange(p), 2 * np.arange(p) + 1) % (4 * p)  # of degrees and nodes, exact: cosines keep digits
    there = np.cos(np.minimum(turns, 4 * p - turns) * (math.pi / (2.0 * p)))
    values: Array = (2.0 / p) * (here @ there)
    return values


def _polynomials(places: Array, p: int) -> Array:
    values = np.ones((p, places.size))
    values[1:2] = places
    for k in range(2, p):
        values[k] = 2.0 * places * values[k - 1] - values[k - 2]
    return np.ascontiguousarray(values.T)


def share(slopes: Array, p: int) -> Array:
    """Return the share of its maximum by which ``exp(slope z)`` is missed on [-1, 1]."""
    t = np.maximum(np.abs(slopes), 1e-300)
    exponent: Array = p * np.arcsinh(p / t) - p * p / (t + np.hypot(t, p))
    lost: Array = 4.0 * np.exp(-exponent)
    return lost


def gather(features: Sequence[Array], columns: Array) -> Array:
    """Return the sums over points of the product of one feature of each axis with each column.

    Parameters
    ----------
    features : sequence of ndarray, shape (n, p)
        One for each of d axes.
    columns : ndarray, shape (n, c)

    Returns
    -------
    ndarray, shape (p ** (d - 1), c, p)
    """
    p = features[-1].shape[1]
    found = np.zeros((p ** (len(features) - 1), columns.shape[1] * p))
    for start in range(0, columns.shape[0], _ROWS):
        rows = slice(start, start + _ROWS)
        last = (columns[rows, :, np.newaxis] * features[-1][rows, np.newaxis]).reshape(-1, found.shape[1])
        found += _products(features[:-1], rows, last.shape[0]).T @ last
    return found.reshape(found.shape[0], columns.shape[1], p)


def read(features: Sequence[Array], tensor: Array) -> Array:
    """Return at every point the sums (n, c) over the nodes of the features times a tensor as ``gather`` has it."""
    n = features[-1].shape[0]
    size, count, p = tensor.shape
    found = np.empty((n, count))
    for start in range(0, n, _ROWS):
        rows = slice(start, start + _ROWS)
        last = features[-1][rows]
        part = _products(features[:-1], rows, last.shape[0]) @ tensor.reshape(size, count * p)
        found[rows] = np.einsum("ncp,np->nc", part.reshape(-1, count, p), last)
    return found


def carry(matrices: Sequence[Array], tensors: Array) -> Array:
    """Return the sum over ``k`` of tensors of which every axis is multiplied by its matrix.

    Parameters
    ----------
    matrices : sequence of ndarray, shape (k, p, p)
        One for each of d axes; rows belong to the result.
    tensors : ndarray, shape (k, p ** (d - 1), c, p)

    Returns
    -------
    ndarray, shape (p ** (d - 1), c, p)
    """
    number, size, count, p = tensors.shape
    moved = tensors.reshape(number, size * count, p) @ matrices[-1].transpose(0, 2, 1)
    if len(matrices) == 1:
        return np.asarray(moved.sum(axis=0)).reshape(size, count, p)
    if len(matrices) == 3:
        moved = matrices[1][:, np.newaxis] @ moved.reshape(number, p, p, count * p)
    first = matrices[0].transpose(1, 0, 2).reshape(p, number * p)
    return np.asarray(first @ moved.reshape(number * p, -1)).reshape(size, count, p)


def _products(features: Sequence[Array], rows: slice, number: int) -> Array:
    """Return the products of features of at most two axes, shape (rows, p ** axes)."""
    if not features:
        return np.ones((number, 1))
    if len(features) == 1:
        return features[0][rows]
    return (features[0][rows, :, np.newaxis] * features[1][rows, np.newaxis]).reshape(number, -1)
