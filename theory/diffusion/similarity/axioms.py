r"""Which axioms of a distance a dissimilarity obeys on given points.

The four axioms of a pseudo-metric are that f is not negative, vanishes on the diagonal, is symmetric, and obeys the
triangle inequality; a metric also tells any two points apart. :func:`defects` measures by how much each fails, over
all pairs and triples. The angle is taken from the chords, :math:`2\arctan(|\hat x - \hat y|/|\hat x + \hat y|)`,
which keeps its digits where a cosine does not.

References
----------
W. Kahan, How futile are mindless assessments of roundoff in floating-point computation?, 2006, section 12.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_matrix, as_number, as_points, as_positive

Array = NDArray[np.float64]


class Defects(NamedTuple):
    """By how much each axiom fails: zero or less if it holds."""

    negative: float
    """Minus the least value."""
    diagonal: float
    """The largest size on the diagonal."""
    asymmetry: float
    """The largest ``|f(x, y) - f(y, x)|``."""
    triangle: float
    """The largest ``f(x, z) - f(x, y) - f(y, z)``."""


def defects(values: ArrayLike) -> Defects:
    """Return the defects of a dissimilarity of which ``values``, shape (n, n), holds all pairs of n points."""
    f = as_matrix(values, "values")
    f = as_matrix(f, "values", shape=(f.shape[0], f.shape[0]))
    with np.errstate(over="ignore", invalid="ignore"):
        excess = max(float((f - row[:, np.newaxis] - step).max()) for row, step in zip(f.T, f, strict=True))
        skew = float(np.abs(f - f.T).max())
    return Defects(-float(f.min()), float(np.abs(np.diag(f)).max()), _held(skew), _held(excess))


def relaxed_excess(values: ArrayLike, factor: float) -> float:
    """Return the largest ``f(x, z) - factor (f(x, y) + f(y, z))``."""
    f, factor = as_matrix(values, "values"), as_number(factor, "factor")
    f = as_matrix(f, "values", shape=(f.shape[0], f.shape[0]))
    with np.errstate(over="ignore", invalid="ignore"):
        steps = zip(f.T, f, strict=True)
        return _held(max(float((f - factor * (row[:, np.newaxis] + step)).max()) for row, step in steps))


def _held(excess: float) -> float:
    """Return a difference of values, or raise ``ValueError`` if it left float64."""
    if not math.isfinite(excess):
        raise ValueError(f"values, factor: expected ones of which float64 holds the differences, got {excess}")
    return excess


def distances(points: ArrayLike) -> Array:
    """Return the Euclidean distances among n points, shape (n, n), by differences."""
    x = as_points(points, "points")
    with np.errstate(over="ignore"):
        apart = np.linalg.norm(x[:, np.newaxis, :] - x[np.newaxis, :, :], axis=2)
    if not np.isfinite(apart).all():
        raise ValueError(f"points: expected ones of which float64 holds the squared distances, got {np.abs(x).max()}")
    return np.asarray(apart)


def angles(points: ArrayLike) -> Array:
    """Return the angles between the directions of n points, none of them zero, in radians, shape (n, n)."""
    unit = _directions(points)
    apart = np.linalg.norm(unit[:, np.newaxis, :] - unit[np.newaxis, :, :], axis=2)
    along = np.linalg.norm(unit[:, np.newaxis, :] + unit[np.newaxis, :, :], axis=2)
    return np.asarray(2.0 * np.arctan2(apart, along))


def cosine_gaps(points: ArrayLike) -> Array:
    r"""Return :math:`1 - \cos` of the angles, as half the squared chord, shape (n, n)."""
    return np.asarray(0.5 * distances(_directions(points)) ** 2)


def kernel_distances(points: ArrayLike, scale: float = 0.5) -> Array:
    r"""Return :math:`\sqrt{2 - 2k}` for the Gaussian kernel :math:`k = e^{-\beta|x - y|^2}`, shape (n, n)."""
    return np.asarray(np.sqrt(-2.0 * np.expm1(-as_positive(scale, "scale") * distances(points) ** 2)))


def _directions(points: ArrayLike) -> Array:
    x = as_points(points, "points")
    sizes = np.abs(x).max(axis=1, keepdims=True)
    if not sizes.min() > 0.0:
        raise ValueError(f"points: expected ones with a direction, got length {sizes.min()}")
    extreme = (sizes < 2.0**-500) | (sizes > 2.0**500)  # of which squares leave the range
    x = np.where(extreme, np.ldexp(x, -np.frexp(sizes)[1]), x)
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))
