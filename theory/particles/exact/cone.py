r"""Tokens in an open hemisphere: who is in one, the chart in which they average each other, and the odds of chance.

Points :math:`x_i` lie in an open hemisphere if :math:`\langle x_i, w\rangle > 0` for one :math:`w`. The largest margin
:math:`\max_{|w|_\infty \le 1} \min_i \langle x_i, w\rangle` is a linear program; a direction bounds it from below, and
weights :math:`\lambda \ge 0` with sum one bound it from above by :math:`|\sum_i \lambda_i x_i|_1`.

Independent uniform points of :math:`\mathbb{R}^d` share an open hemisphere with probability
:math:`2^{-(n-1)} \sum_{k<d} \binom{n-1}{k}`, because of the :math:`2^n` ways to turn points in general position into
their opposites, exactly :math:`2\sum_{k<d} \binom{n-1}{k}` put all of them in one.

References
----------
L. Schlaefli, *Theorie der vielfachen Kontinuitaet*, written 1852, printed 1901 (the count).
J. G. Wendel, A problem in geometric probability, *Mathematica Scandinavica* 11 (1962), 109-111.
T. M. Cover, Geometrical and statistical properties of systems of linear inequalities with applications in pattern
recognition, *IEEE Transactions on Electronic Computers* EC-14 (1965), 326-334.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.optimize import linprog

from theory._validate import as_count, as_points, as_real, as_vector
from theory.evidence import as_intervals, is_enclosed
from theory.evidence.roundoff import gamma
from theory.particles.dynamics.fields import Array

_BLOCKS = 500  # chosen: linear programs solved at once
_PLAIN = 32  # taken: numbers up to two to this power, or its inverse, are left as they are
_MOST = 20  # of points whose sign patterns are all looked at
_BITS = 10**10  # taken: of all binomials that are added, some seconds


def hemisphere_margins(clouds: ArrayLike) -> tuple[Array, Array]:
    r"""Bound the largest margin of each cloud from below and from above.

    Parameters
    ----------
    clouds : array_like, shape (k, n, d)

    Returns
    -------
    lower, upper : ndarray, shape (k,)
        Of :math:`\max_{|w|_\infty \le 1} \min_i \langle x_i, w\rangle`, with rounding, whatever the solver did. The
        cloud certainly lies in an open hemisphere where ``lower`` is positive.

    Raises
    ------
    ValueError
        If the shape does not fit.
    ArithmeticError
        If the solver gives up.
    """
    x = as_real(clouds, "clouds")
    if x.ndim != 3 or x.size == 0:
        raise ValueError(f"clouds: expected shape (k, n, d) without an empty side, got shape {x.shape}")
    x, power = _scaled(x)
    parts = [_bounded(part, *_solved(part)) for part in (x[k : k + _BLOCKS] for k in range(0, x.shape[0], _BLOCKS))]
    low, high = (np.ldexp(np.concatenate(ends), power) for ends in zip(*parts, strict=True))
    return low, high


def _scaled(x: Array) -> tuple[Array, int]:
    """Return numbers that a linear program takes as they are, and the power of two they were divided by."""
    power = int(np.frexp(np.abs(x).max())[1])
    return (x, 0) if abs(power) <= _PLAIN else (np.ldexp(x, -power), power)


def _bounded(x: Array, directions: Array, weights: Array) -> tuple[Array, Array]:
    w = np.clip(directions, -1.0, 1.0)
    error = gamma(x.shape[2] + 2) * np.abs(x).sum(axis=2).max(axis=1)
    lower = np.einsum("kij,kj->ki", x, w).min(axis=1) - error
    law = np.maximum(weights, 0.0)
    law[law.sum(axis=1) == 0.0] = 1.0  # any weights give a bound
    law /= law.sum(axis=1, keepdims=True)
    slack = gamma(2 * sum(x.shape[1:]) + 8) * np.abs(x).sum(axis=2).max(axis=1)
    upper = np.abs(np.einsum("ki,kij->kj", law, x)).sum(axis=1) + slack
    return lower, upper


def _solved(x: Array) -> tuple[Array, Array]:
    """Return directions and dual weights of all clouds: one linear program with a block for each."""
    k, n, d = x.shape
    rows = np.repeat(np.arange(k * n), d + 1)
    columns = np.repeat(np.arange(k), n)[:, np.newaxis] * (d + 1) + np.arange(d + 1)
    entries = np.concatenate([-x.reshape(k * n, d), np.ones((k * n, 1))], axis=1)
    matrix = sparse.csr_matrix((entries.ravel(), (rows, columns.ravel())), shape=(k * n, k * (d + 1)))
    goal = np.tile(np.append(np.zeros(d), -1.0), k)
    low = np.tile(np.append(-np.ones(d), 0.0), k)
    high = np.tile(np.append(np.ones(d), np.inf), k)
    limits: Any = {
        "A_ub": matrix,
        "b_ub": np.zeros(k * n),
        "bounds": np.column_stack([low, high]),
    }  # its stubs know no sparse matrix
    found: Any = linprog(goal, method="highs", **limits)
    if found.status != 0:
        raise ArithmeticError(f"clouds: expected a linear program that can be solved, got: {found.message}")
    return found.x.reshape(k, d + 1)[:, :d], -np.asarray(found.ineqlin.marginals).reshape(k, n)


def sign_patterns(points: ArrayLike) -> int:
    r"""Count the signs :math:`s \in \{\pm1\}^n` for which all :math:`s_i x_i` lie in one open hemisphere.

    Parameters
    ----------
    points : array_like, shape (n, d)
        In general position, at most 20.

    Returns
    -------
    int
        Each pattern is decided by a direction whose margin is positive beyond rounding, or by d + 1 points of which a
        positive combination vanishes, in rational arithmetic.

    Raises
    ------
    ValueError
        If there are more points.
    ArithmeticError
        If a pattern has neither certificate, as when the points are not in general position.
    """
    x = _scaled(as_points(points, "points"))[0]
    n = x.shape[0]
    if n > _MOST:
        raise ValueError(f"points: expected at most {_MOST}, got {n}")
    bits = (np.arange(2 ** (n - 1))[:, np.newaxis] >> np.arange(n)) & 1  # the last sign is one: opposites count twice
    count = 0
    for start in range(0, bits.shape[0], _BLOCKS):
        clouds = (1.0 - 2.0 * bits[start : start + _BLOCKS])[..., np.newaxis] * x
        directions, duals = _solved(clouds)
        lower, _ = _bounded(clouds, directions, duals)
        for cloud, low, weights in zip(clouds, lower, duals, strict=True):
            if low > 0.0:
                count += 1
            elif not _surrounded(cloud, weights):
                raise ArithmeticError("points: expected points in general position, got a pattern that is undecided")
    return 2 * count


def _surrounded(cloud: Array, weights: Array) -> bool:
    """Tell whether the origin is certainly a positive combination of the d + 1 points of largest weight."""
    d = cloud.shape[1]
    if cloud.shape[0] <= d:
        return False
    chosen = np.argsort(-weights, kind="stable")[: d + 1]
    null = null_vector([[Fraction(float(entry)) for entry in column] for column in cloud[chosen].T])
    return null is not None and (all(part > 0 for part in null) or all(part < 0 for part in null))


def null_vector(matrix: Sequence[Sequence[Fraction]]) -> list[Fraction] | None:
    """Return the vector with last entry one that a (d, d + 1) matrix of fractions sends to zero, or ``None``.

    There is none if the first d columns are dependent.
    """
    rows = [list(row) for row in matrix]
    d = len(rows)
    for k in range(d):
        pivot = next((i for i in range(k, d) if rows[i][k] != 0), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        for i in range(d):
            if i != k and rows[i][k] != 0:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [-row[d] for row in rows] + [Fraction(1)]


def hemisphere_probability(n: int, d: int) -> Fraction:
    r"""Return the probability that n independent uniform points in dimension d share an open hemisphere.

    That is :math:`2^{1 - n}\sum_{k < d}\binom{n - 1}{k}`, exactly; 1 unless n exceeds d.

    Raises
    ------
    ValueError
        If a size is not positive, or n times the number of binomials that are added exceeds :math:`10^{10}`;
        of these there are d, or n - d where that is less.
    """
    n, d = as_count(n, "n"), as_count(d, "d")
    if d >= n:
        return Fraction(1)
    few = min(d, n - d)  # the others add up to the same, since all of them make a power of 2
    if n * few > _BITS:
        raise ValueError(f"n: expected n * min(d, n - d) of at most {_BITS}, got n = {n} and d = {d}")
    total, binomial = 0, 1
    for k in range(few):
        total += binomial
        binomial = binomial * (n - 1 - k) // (k + 1)
    whole = 2 ** (n - 1)
    return Fraction(total if few == d else whole - total, whole)


def central_projection(tokens: ArrayLike, axis: ArrayLike) -> Array:
    r"""Return :math:`y_i = x_i / \langle x_i, w\rangle`, shape (n, d): the hemisphere as a plane at distance one.

    Enclosed if an argument is.

    Raises
    ------
    ValueError
        If a token is not in the open hemisphere of ``axis``.
    """
    x = as_points(tokens, "tokens")
    w = as_vector(axis, "axis", size=x.shape[1])
    heights = x @ w
    least = as_intervals(heights).lo
    if not least.min() > 0.0:
        raise ValueError(f"tokens: expected positive heights over the axis, got {least.min()} at {least.argmin()}")
    plane: Array = x / heights[:, np.newaxis]
    return plane


def diameter(points: ArrayLike) -> Any:
    """Return the largest distance of two points of a cloud of shape (n, d), by differences."""
    y = as_points(points, "points")
    if is_enclosed(y):
        apart = y[:, np.newaxis] - y
        return np.sqrt((apart * apart).sum(axis=2).max())
    with np.errstate(over="ignore"):
        size = float(np.sqrt(max(np.einsum("ij,ij->i", y - each, y - each).max() for each in y)))
    if not size < math.inf:
        raise ValueError(f"points: expected distances whose squares float64 can hold, got {size}")
    return size
