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
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_matrix, as_number, as_points, as_positive
from theory.evidence import Interval, Intervals, Kind
from theory.evidence.roundoff import EXP_ULPS, U

Array = NDArray[np.float64]
Number: TypeAlias = "float | Interval"


class Defects(NamedTuple):
    """By how much each axiom fails, zero or less if it holds; enclosed if the values are."""

    negative: Number
    """Minus the least value."""
    diagonal: Number
    """The largest size on the diagonal."""
    asymmetry: Number
    """The largest ``|f(x, y) - f(y, x)|``."""
    triangle: Number
    """The largest ``f(x, z) - f(x, y) - f(y, z)``."""


def defects(values: ArrayLike) -> Defects:
    """Return the defects of a dissimilarity of which ``values``, shape (n, n), holds all pairs of n points."""
    f = _pairs(values)
    with np.errstate(over="ignore", invalid="ignore"):
        skew = abs(f - f.T).max()
    diagonal = f[np.arange(len(f)), np.arange(len(f))]
    return Defects(_held((-f).max()), _held(abs(diagonal).max()), _held(skew), _excess(f, 1.0))


def relaxed_excess(values: ArrayLike, factor: float) -> Number:
    """Return the largest ``f(x, z) - factor (f(x, y) + f(y, z))``."""
    return _excess(_pairs(values), as_number(factor, "factor"))


def _pairs(values: ArrayLike) -> Array:
    """Return a square matrix of values."""
    f = as_matrix(values, "values")
    return as_matrix(f, "values", shape=(f.shape[0], f.shape[0]))


def _excess(f: Array, factor: float) -> Number:
    """Return the largest excess of a value over its detours, one point of detour at a time."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = [(f - factor * f[:, y][:, np.newaxis] - factor * f[y]).max() for y in range(len(f))]
    return _held(Interval.largest(found) if isinstance(f, Intervals) else max(found))


def _held(excess: Any) -> Number:
    """Return a difference of values, or raise ``ValueError`` if it left float64."""
    if isinstance(excess, Interval):
        return excess
    if not math.isfinite(excess):
        raise ValueError(f"values, factor: expected ones of which float64 holds the differences, got {excess}")
    return float(excess)


def distances(points: ArrayLike) -> Array:
    """Return the Euclidean distances among n points, shape (n, n), by differences."""
    x = as_points(points, "points")
    with np.errstate(over="ignore"):
        apart: Array = np.linalg.norm(x[:, np.newaxis, :] - x[np.newaxis, :, :], axis=2)
    if not isinstance(apart, Intervals) and not np.isfinite(apart).all():
        raise ValueError(f"points: expected ones of which float64 holds the squared distances, got {np.abs(x).max()}")
    return apart


def angles(points: ArrayLike) -> Array:
    """Return the angles between the directions of n points, none of them zero, in radians, shape (n, n)."""
    unit = _directions(points)
    apart = np.linalg.norm(unit[:, np.newaxis, :] - unit[np.newaxis, :, :], axis=2)
    along = np.linalg.norm(unit[:, np.newaxis, :] + unit[np.newaxis, :, :], axis=2)
    if not isinstance(apart, Intervals):
        return np.asarray(2.0 * np.arctan2(apart, along))
    low = 2.0 * np.arctan2(apart.lo, along.hi)  # rising in the first, falling in the second
    high = 2.0 * np.arctan2(apart.hi, along.lo)
    slack = 2.0 * EXP_ULPS * U
    return Intervals(low * (1.0 - slack), high * (1.0 + slack), max(apart.kind, Kind.NUMERIC))


def cosine_gaps(points: ArrayLike) -> Array:
    r"""Return :math:`1 - \cos` of the angles, as half the squared chord, shape (n, n)."""
    gaps: Array = 0.5 * distances(_directions(points)) ** 2
    return gaps


def kernel_distances(points: ArrayLike, scale: float = 0.5) -> Array:
    r"""Return :math:`\sqrt{2 - 2k}` for the Gaussian kernel :math:`k = e^{-\beta|x - y|^2}`, shape (n, n)."""
    beta = as_positive(scale, "scale")
    apart: Array = np.sqrt(-2.0 * np.expm1(-beta * distances(points) ** 2))
    return apart


def _directions(points: ArrayLike) -> Array:
    x = as_points(points, "points")
    if isinstance(x, Intervals):
        unit: Array = x / np.linalg.norm(x, axis=1, keepdims=True)
        return unit
    sizes = np.abs(x).max(axis=1, keepdims=True)
    if not sizes.min() > 0.0:
        raise ValueError(f"points: expected ones with a direction, got length {sizes.min()}")
    extreme = (sizes < 2.0**-500) | (sizes > 2.0**500)  # of which squares leave the range
    x = np.where(extreme, np.ldexp(x, -np.frexp(sizes)[1]), x)
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))
