r"""One layer of attention on a long context of tokens with one common overlap, forward and backward.

Tokens of length one with :math:`\langle x_i, x_j\rangle = \rho` for :math:`i \ne j` need a dimension of n for
:math:`\rho > 0` as n grows, so there are n of them in dimension n: the rows of a multiple of the identity plus a
constant. The layer is :math:`y_i = \sum_j P_{ij}x_j`, :math:`P_{ij} \propto e^{\beta\langle x_i, x_j\rangle}`. Its
Jacobian is measured by products with vectors. As the first token moves, the permutations of the others turn tangents
into each other: of all directions only its own, the one towards the mean of the others and one along a difference of
two others need to be tried, the last for n - 2 of them.

References
----------
S. Chen, Z. Lin, Y. Polyanskiy, P. Rigollet, Critical attention scaling in long-context transformers, arXiv:2510.05554.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_count, as_flag, as_number, as_points, as_positive
from theory.attention import DotProduct, attend, rounding
from theory.engine import Direction, jvp, weights
from theory.evidence import Interval
from theory.evidence.roundoff import U, gamma, softmax_error
from theory.particles.dynamics.fields import Array

_OFF = 1e-6  # taken: a token may miss the sphere by this
_LARGEST = 1e100  # taken: squares, and their products with counts, stay in float64


def equiangular_tokens(n: int, overlap: float) -> Array:
    """Return n unit tokens in dimension n of which any two have the same overlap.

    Parameters
    ----------
    n : int
        At least three.
    overlap : float
        From zero to below one.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    size = as_count(n, "n", least=3)
    rho = as_number(overlap, "overlap")
    if not 0.0 <= rho < 1.0:
        raise ValueError(f"overlap: expected a number in [0, 1), got {rho}")
    own = math.sqrt(1.0 - rho)
    common = (math.sqrt(1.0 - rho + size * rho) - own) / size  # its square root of I (1 - rho) + rho
    return own * np.eye(size) + common


def output_overlaps(tokens: ArrayLike, beta: float) -> tuple[Interval, Interval]:
    """Enclose the inner products of two outputs, and their squared lengths, over all pairs.

    Parameters
    ----------
    tokens : array_like, shape (n, d)
        Unit vectors, up to rounding.
    beta : float
        Inverse temperature, positive.

    Returns
    -------
    tuple of Interval
        Of kind ``NUMERIC``; each encloses all of them.

    Raises
    ------
    ValueError
        If an argument is not as above.
    """
    x = _unit(tokens)
    score = DotProduct(scale=_scale(beta))
    y = attend(x, x, x, score=score)
    n, d = x.shape
    error = rounding(x, x, x, score=score) * math.sqrt(d)  # of an output, as a vector
    products = y @ y.T
    slack = 2.0 * error + error**2 + gamma(d + 2)  # outputs are averages of unit vectors
    apart = products[~np.eye(n, dtype=bool)]
    return tuple(  # type: ignore[return-value]
        Interval(float(part.min()) - slack, float(part.max()) + slack) for part in (apart, np.diag(products))
    )


def squared_derivative(tokens: ArrayLike, beta: float, tangent: ArrayLike) -> Interval:
    r"""Enclose the squared length of the derivative of all outputs along ``tangent``, a motion of all tokens.

    Parameters
    ----------
    tokens, tangent : array_like, shape (n, d)
        Unit vectors, and how they move.
    beta : float
        Inverse temperature, positive.

    Returns
    -------
    Interval
        Of kind ``NUMERIC``. With relative errors of the weights below :math:`\epsilon`, an entry of the derivative is
        off by at most :math:`16\,(\epsilon + \gamma)(1 + 4\beta)` times the largest row of ``tangent``.

    Raises
    ------
    ValueError
        If an argument is not as above.
    """
    x = _unit(tokens)
    b = _scale(beta)
    n, d = x.shape
    moved = as_points(tangent, "tangent", size=n, dim=d)
    if not np.abs(moved).max() < _LARGEST:
        raise ValueError(f"tangent: expected entries below {_LARGEST:g}, got {np.abs(moved).max()}")
    derivative = jvp(DotProduct(scale=b).pairs(x, x), x, Direction(moved, moved, moved, np.zeros(n)))[1]
    lengths = np.sqrt(np.einsum("ij,ij->i", moved, moved))
    weight = softmax_error(b * gamma(d + 4), 2.0 * b, n)
    error = 16.0 * (weight + gamma(n + d + 16)) * (1.0 + 4.0 * b) * float(lengths.max())
    size = math.fsum(np.square(derivative).ravel().tolist())
    total = error * math.sqrt(n * d)
    return Interval.within(size, 2.0 * math.sqrt(size) * total + total**2 + 4 * U * size)


def jacobian_size(n: int, overlap: float, beta: float, *, tangential: bool = True) -> Interval:
    r"""Enclose :math:`\frac1{nd}\|\nabla\|_F^2` of the layer on equiangular tokens, :math:`d = n`, from all n tokens.

    Parameters
    ----------
    n, overlap
        As in :func:`equiangular_tokens`.
    beta : float
        Inverse temperature, positive.
    tangential : bool, default True
        Whether tokens move on the sphere, or anywhere.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    x = equiangular_tokens(n, overlap)
    tangential = as_flag(tangential, "tangential")
    n = len(x)
    towards = x[1:].sum(axis=0)
    towards = towards - (towards @ x[0]) * x[0]
    total = Interval.exactly(0)
    for direction, copies in [(towards, 1), (x[1] - x[2], n - 2)] + ([] if tangential else [(x[0], 1)]):
        tangent = np.zeros_like(x)
        tangent[0] = direction / np.linalg.norm(direction)
        total = total + copies * squared_derivative(x, beta, tangent)
    return total / n * Interval.within(1.0, gamma(4 * n + 64))  # n tokens to move, n d entries; directions are rounded


def _unit(tokens: ArrayLike) -> Array:
    """Return tokens of length one."""
    x = as_points(tokens, "tokens")
    with np.errstate(over="ignore"):
        off = np.abs(np.linalg.norm(x, axis=1) - 1.0)
    if not off.max() <= _OFF:
        raise ValueError(f"tokens: expected unit vectors, got length off by {off.max():.1e} at {off.argmax()}")
    return x


def _scale(beta: float) -> float:
    """Return an inverse temperature of which float64 holds the square."""
    scale = as_positive(beta, "beta")
    if not scale < _LARGEST:
        raise ValueError(f"beta: expected less than {_LARGEST:g}, got {scale}")
    return scale


class LayerStatistics(NamedTuple):
    """What a layer makes of n tokens of one overlap."""

    cosine: Interval
    """of two outputs"""
    jacobian: Interval
    r""":math:`\frac1{nd}\|\nabla\|_F^2` along the sphere, :math:`d = n`"""


def layer_statistics(n: int, overlap: float, beta: float) -> LayerStatistics:
    """Enclose cosine and Jacobian for any number of tokens: four of them, and the mean of all others with its mass.

    The others score alike with each of the four, as long as the first moves along one of its two directions, so the
    mean stands for them exactly.

    Parameters
    ----------
    n : int
        At least five.
    overlap, beta
        As in :func:`jacobian_size`.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    size = as_count(n, "n", least=5)
    rho = as_number(overlap, "overlap")
    b = _scale(beta)
    if not 0.0 <= rho < 1.0:
        raise ValueError(f"overlap: expected a number in [0, 1), got {rho}")
    keys = np.zeros((5, 6))
    keys[:, 0], rest = math.sqrt(rho), float(size - 4)
    keys[range(4), range(1, 5)] = math.sqrt(1.0 - rho)
    keys[4, 5] = math.sqrt((1.0 - rho) / rest)
    x = np.ascontiguousarray(keys[:4])
    added = np.log([1.0, 1.0, 1.0, 1.0, rest])
    counts = (1.0, 1.0, 1.0, rest + 1.0)
    pairs = DotProduct(scale=b).pairs(x, keys)
    rows = weights(pairs, log_weights=added)
    accuracy = softmax_error(b * gamma(16) + 4 * U * float(added[-1]), 2.0 * b + float(added[-1]), 5) + gamma(64)
    towards = keys[1] + keys[2] + keys[3] + rest * keys[4]
    towards = towards - (towards @ x[0]) * x[0]
    total = Interval.exactly(0)
    for direction, copies in ((towards, 1.0), (keys[1] - keys[2], size - 2.0)):
        moved = np.zeros_like(keys)
        moved[0] = direction / np.linalg.norm(direction)
        way = Direction(np.ascontiguousarray(moved[:4]), moved, moved, np.zeros(5))
        y, derivative = jvp(pairs, keys, way, log_weights=added)
        for i, count in enumerate(counts):
            length = float(np.linalg.norm(derivative[i]))
            touched = rows[i, 0] if i > 0 else rows[0, :3].sum() if copies > 1.0 else 1.0  # weights of what moves
            error = 16.0 * accuracy * (1.0 + 4.0 * b) * float(touched) * math.sqrt(6.0) + 8 * U * length
            total = total + copies * count * Interval.within(length**2, 2.0 * length * error + error**2)
    lengths = [Interval.within(float(np.linalg.norm(y[i])), 8.0 * accuracy) for i in (1, 2)]
    cosine = Interval.within(float(y[1] @ y[2]), 8.0 * accuracy) / (lengths[0] * lengths[1])
    return LayerStatistics(cosine, total / float(size))
