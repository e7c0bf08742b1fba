r"""By how much tokens and outputs were displaced, and the quotient of the two: what a Lipschitz constant bounds.

.. math:: \|X - Y\|_p = \Big(\sum_i|x_i - y_i|^p\Big)^{1/p}, \qquad \|X - Y\|_\infty = \max_i|x_i - y_i|,

with Euclidean lengths of tokens. For equal masses and tokens that are matched best in their order,
:math:`N^{-1/p}\|X - Y\|_p` is the distance :math:`W_p` of the clouds, and never less than it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_points
from theory.evidence import Interval, Kind, exact, norm
from theory.lipschitz._numbers import exponent

_NEAREST = 1e-8  # taken: closer tokens differ by little more than the rounding with which they were made


def displacement(x: ArrayLike, y: ArrayLike, p: float = math.inf) -> Interval:
    """Enclose the p-norm of the displacements of n tokens.

    Parameters
    ----------
    x, y : array_like or Intervals, shape (n, d)
        The tokens before and after, in one unit; floats are exact.
    p : float, default inf
        Exponent, at least 1.

    Returns
    -------
    Interval
        In the unit of the tokens, kind ``NUMERIC``.

    Raises
    ------
    ValueError
        If the shapes differ, ``p`` is below 1 or a squared displacement leaves float64.
    """
    first = exact(as_points(x, "x"))
    second = exact(as_points(y, "y", size=first.shape[0], dim=first.shape[1]))
    power = exponent(p)
    if not (np.isfinite(first.width).all() and np.isfinite(second.width).all()):
        return Interval(0.0, math.inf, max(first.kind, second.kind, Kind.NUMERIC))  # of a token nothing is known
    ways = first - second
    largest = float(abs(ways).max().hi)
    if not largest < 1e150:
        raise ValueError(f"x, y: expected displacements whose squares float64 can hold, got {largest}")
    size = 2.0 ** math.frexp(largest)[1]  # so that squares and powers are not lost
    lengths = norm(ways / size, axis=1)
    if power == math.inf:
        return size * lengths.max()  # type: ignore[no-any-return]
    if power == 1.0:
        return size * lengths.sum()  # type: ignore[no-any-return]
    total = (lengths**power).sum()
    root = np.sqrt(total) if power == 2.0 else np.power(total, 1.0 / exact(power))
    return size * root  # type: ignore[no-any-return]


def displacement_ratio(
    x: ArrayLike, y: ArrayLike, outputs: tuple[ArrayLike, ArrayLike], p: float = math.inf
) -> Interval:
    """Enclose the displacement of two arrays of outputs, (n, k) each, per that of the tokens.

    Raises
    ------
    ValueError
        As :func:`displacement`, or if no token moves by more than 1e-8 of the largest coordinate: what rounding makes
        of smaller moves has been taken for a violation of a theorem before.
    """
    if not isinstance(outputs, (list, tuple)) or len(outputs) != 2:
        raise TypeError(f"outputs: expected two arrays, got {type(outputs).__name__}")
    start, end = (as_points(part, "outputs") for part in outputs)
    moved = displacement(x, y)
    size = max(float(exact(np.abs(as_points(tokens, name))).max().hi) for tokens, name in ((x, "x"), (y, "y")))
    if not moved.lo > _NEAREST * size:
        raise ValueError(
            f"x, y: expected a token that moves by more than {_NEAREST} of the size {size}, got {moved.hi}"
        )
    return displacement(start, end, p) / displacement(x, y, p)


def diameter(points: ArrayLike) -> Interval:
    """Enclose the largest distance of two points, shape (n, d), in their unit; floats are exact."""
    cloud = exact(as_points(points, "points"))
    size = 2.0 ** math.frexp(float(abs(cloud).max().hi))[1]  # so that squares are not lost
    scaled = cloud / size
    return size * norm(scaled[:, np.newaxis] - scaled[np.newaxis], axis=2).max()  # type: ignore[no-any-return]
