r"""By how much tokens and outputs were displaced, and the quotient of the two: what a Lipschitz constant bounds.

.. math:: \|X - Y\|_p = \Big(\sum_i|x_i - y_i|^p\Big)^{1/p}, \qquad \|X - Y\|_\infty = \max_i|x_i - y_i|,

with Euclidean lengths of tokens. For equal masses and tokens that are matched best in their order,
:math:`N^{-1/p}\|X - Y\|_p` is the distance :math:`W_p` of the clouds, and never less than it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_bound, as_points
from theory.evidence import Interval
from theory.evidence.roundoff import gamma
from theory.lipschitz._numbers import exponent

_NEAREST = 1e-8  # taken: closer tokens differ by little more than the rounding with which they were made
_LOST = 2.0**-511  # derived: the root of the smallest normal double, per coordinate


def displacement(x: ArrayLike, y: ArrayLike, p: float = math.inf, *, error: float = 0.0) -> Interval:
    """Enclose the p-norm of the displacements of n tokens.

    Parameters
    ----------
    x, y : array_like, shape (n, d)
        The tokens before and after, in one unit.
    p : float, default inf
        Exponent, at least 1.
    error : float, default 0.0
        By how much any entry of ``x`` and of ``y`` may be off.

    Returns
    -------
    Interval
        In the unit of the tokens, kind ``NUMERIC``. Differences, lengths and powers are each a few roundings off, and
        Minkowski's inequality bounds what errors of the entries do.

    Raises
    ------
    ValueError
        If the shapes differ, ``p`` is below 1, ``error`` is negative or a squared displacement leaves float64.
    """
    first = as_points(x, "x")
    n, d = first.shape
    second = as_points(y, "y", size=n, dim=d)
    slip, power = as_bound(error, "error"), exponent(p)
    with np.errstate(under="ignore", over="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", first - second, first - second))
        largest = float(lengths.max())
        if not largest < math.inf:
            raise ValueError(f"x, y: expected displacements whose squares float64 can hold, got {largest}")
        off = 2.0 * (math.sqrt(d) * slip + d * _LOST)
        if power == math.inf or largest == 0.0:
            share, norm, operations = 1.0, largest, d + 6.0
        else:
            share = float(n) ** (1.0 / power)
            norm = largest * float(np.sum((lengths / largest) ** power)) ** (1.0 / power)
            operations = d + 8.0 + (n + 16.0) / power + 16.0
    slack = norm * gamma(math.ceil(operations)) + share * off * (1.0 + gamma(16))
    around = Interval.within(norm, slack)
    return Interval(max(around.lo, 0.0), around.hi, around.kind)  # a norm is not negative


def displacement_ratio(
    x: ArrayLike, y: ArrayLike, outputs: tuple[ArrayLike, ArrayLike], p: float = math.inf, *, error: float = 0.0
) -> Interval:
    """Enclose the displacement of two arrays of outputs, (n, k) each and known up to ``error``, per that of the tokens.

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
    size = max(float(np.abs(np.asarray(x)).max()), float(np.abs(np.asarray(y)).max()))
    if not moved.lo > _NEAREST * size:
        raise ValueError(
            f"x, y: expected a token that moves by more than {_NEAREST} of the size {size}, got {moved.hi}"
        )
    return displacement(start, end, p, error=error) / displacement(x, y, p)
