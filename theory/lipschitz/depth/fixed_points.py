r"""Networks of infinitely many equal layers, and other fixed points, with a proof of how near they are.

If T maps a complete space to itself with constant :math:`C < 1`, it has one fixed point :math:`z^*`, and

.. math:: d(T^nz, z^*) \le C^nd(z, z^*), \quad d(T^nz, z^*) \le \frac{C^n}{1 - C}\,d(Tz, z), \quad
          d(z_n, z^*) \le \frac{C\,d(z_n, z_{n-1}) + \delta}{1 - C},

the last one for computed points, :math:`d(z_n, Tz_{n-1}) \le \delta`: from :math:`d(z_n, z^*) \le \delta +
C\,d(z_{n-1}, z^*)` and the triangle inequality. Measures on a ball with :math:`W_1`, and arrays of tokens with a mean
or largest displacement, are such spaces.

References
----------
S. Banach, *Sur les opérations dans les ensembles abstraits*, Fundamenta Mathematicae 3 (1922).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_callable, as_count, as_instance, as_number, as_points, as_positive
from theory.attention import DotProduct, Measure, MultiHead, SquaredDistance, Stack, TokenMap
from theory.attention.measure import as_law, as_measure
from theory.attention.score import Array
from theory.distance import w1
from theory.evidence import Interval, ball
from theory.evidence.enclosure import balls, hull, precision
from theory.lipschitz._numbers import exponent, nonnegative, upper
from theory.lipschitz.displacement import displacement
from theory.lipschitz.jacobian import enclosed_jacobian

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class FixedPoint(Generic[T]):
    """Where an iteration stopped, and how far the fixed point is at most.

    ``moves`` are the enclosed distances between consecutive points; ``error`` bounds the distance of ``point`` to the
    fixed point, rounding included.
    """

    point: T
    moves: tuple[Interval, ...]
    error: float


def posterior_error(move: Interval, constant: float, rounding: float = 0.0) -> float:
    r"""Return :math:`(Cd + \delta)/(1 - C)`, rounded up: how far the fixed point is after a last move of d.

    Raises
    ------
    ValueError
        If ``constant`` is not in [0, 1): then nothing follows.
    """
    rate = nonnegative(constant, "constant")
    if not rate < 1.0:
        raise ValueError(f"constant: expected a number in [0, 1), got {constant!r}")
    as_instance(move, "move", Interval)
    return ((rate * move + nonnegative(rounding, "rounding")) / (1 - Interval.exactly(rate))).hi


def fixed_measure(
    layer: TokenMap | MultiHead | Stack, mu: Measure, constant: float, *, count: int, rounding: float
) -> FixedPoint[Measure]:
    """Apply one layer or block ``count`` times, each time to the current measure, and enclose the fixed point in W1.

    Parameters
    ----------
    layer : TokenMap, MultiHead or Stack
        A map of points in the field of a measure, or several of them, which are applied one after another.
    mu : Measure
        Where to start.
    constant : float
        Of the layer in W1 on a set that it maps to itself and that holds ``mu``, below one; the caller's word.
    count : int
        How many times.
    rounding : float
        By how much one application may misplace an atom.

    Raises
    ------
    ValueError
        If ``constant`` is not in [0, 1) or ``count`` is not positive.
    """
    block = layer if isinstance(layer, Stack) else Stack((as_callable(layer, "layer"),))
    return _iterate(block.push, as_measure(mu, "mu"), w1, constant, count, rounding)


def equilibrium(
    layer: TokenMap | MultiHead, inputs: ArrayLike, constant: float, *, start: ArrayLike | None = None, count: int,
    rounding: float,
) -> FixedPoint[Array]:  # fmt: skip
    r"""Iterate :math:`x_i \leftarrow \Gamma_{m(X)}(x_i) + u_i` and enclose the equilibrium in the mean displacement.

    Parameters
    ----------
    layer : TokenMap or MultiHead
        Applied to the tokens in the field of their empirical measure.
    inputs : array_like, shape (n, d)
        What is added to each token in every pass.
    constant : float
        Of the layer in W1, below one, on a ball that layer and inputs keep.
    start : array_like, shape (n, d), optional
        The inputs unless given.
    count : int
        How many passes.
    rounding : float
        By how much one pass may misplace a token.
    """
    added = _tokens(inputs, "inputs")
    as_callable(layer, "layer")
    first = added if start is None else _tokens(start, "start", size=added.shape[0], dim=added.shape[1])

    def inject(x: Array) -> Array:
        moved: Array = as_points(layer(x, as_law(x)), "layer", size=x.shape[0], dim=x.shape[1]) + added
        return moved

    return _iterate(inject, first, lambda x, y: displacement(x, y, 1.0) / x.shape[0], constant, count, rounding)


def residual_inverse(
    branch: Callable[[Array], ArrayLike], outputs: ArrayLike, constant: float, *, start: ArrayLike | None = None,
    count: int, p: float = math.inf, rounding: float,
) -> FixedPoint[Array]:  # fmt: skip
    r"""Solve :math:`X + g(X) = Y` for X by :math:`X \leftarrow Y - g(X)`.

    Parameters
    ----------
    branch : callable
        g, which maps an array of tokens (n, d) to one of the same shape.
    outputs : array_like, shape (n, d)
        Y.
    constant : float
        Of g in the p-norm of the displacements, below one.
    start : array_like, shape (n, d), optional
        Y unless given.
    count : int
        How many times.
    p : float, default inf
        Exponent of the norm in which the error is given.
    rounding : float
        By how much one pass may misplace the tokens, in that norm.
    """
    target = _tokens(outputs, "outputs")
    power = exponent(p)
    as_callable(branch, "branch")
    first = target if start is None else _tokens(start, "start", size=target.shape[0], dim=target.shape[1])

    def correct(x: Array) -> Array:
        moved: Array = target - as_points(branch(x.copy()), "branch", size=x.shape[0], dim=x.shape[1])
        return moved

    return _iterate(correct, first, lambda x, y: displacement(x, y, power), constant, count, rounding)


def residual_determinant(tokens: ArrayLike, score: DotProduct | SquaredDistance, share: float) -> Interval:
    r"""Enclose :math:`\det(I + c\,dF)` at tokens on the line, shape (n, 1): how :math:`X + cF(X)` stretches volume.

    ``share`` is c, of either sign. A map with a determinant of both signs is not injective.
    """
    points = as_points(tokens, "tokens", dim=1)
    size = points.shape[0]
    part = as_number(share, "share")
    with precision():
        slopes = enclosed_jacobian(Measure(points), score)[:, :, 0, 0] * ball(part)
        return hull(_determinant(slopes + balls(np.eye(size))))


def mirrored_tokens(middle: float, share: float) -> Array:
    r"""Return tokens x, shape (3, 1), with first one ``middle``, that :math:`X - cF(X)` sends to some (0, s, -s).

    For attention on the line with :math:`B = V = 1`. The mirror image :math:`(-x_1, -x_3, -x_2)` goes to the same
    place, so that :math:`X - cF(X)` is not injective. Found by Newton's method from tokens where the determinant
    vanishes, to rounding.

    Raises
    ------
    ValueError
        If ``middle`` is not positive, ``share`` is not in (0, 1), or the method does not converge.
    """
    from scipy.optimize import brentq, root  # noqa: PLC0415  only the search needs it

    first, c = as_positive(middle, "middle"), as_positive(share, "share")
    if not c < 1.0:
        raise ValueError(f"share: expected a number in (0, 1), got {share!r}")
    if not 6.0 / c < 1e150:
        raise ValueError(f"share: expected one whose inverse has a square that float64 can hold, got {share!r}")
    fold = brentq(lambda t: residual_determinant([[0.0], [t], [-t]], DotProduct(scale=1.0), -c).mid, 0.0, 6.0 / c)

    def missing(pair: Array) -> list[float]:
        x = np.array([first, *pair])
        weights = np.exp(np.outer(x, x) - np.outer(x, x).max(axis=1, keepdims=True))
        image = x - c * (weights @ x) / weights.sum(axis=1)
        return [image[0], image[1] + image[2]]

    found = root(missing, [fold, -fold], tol=1e-15)
    if not np.abs(missing(found.x)).max() < 1e-9 * fold:
        raise ValueError(f"middle: expected one for which Newton's method converges, got {middle!r}")
    return np.array([first, *found.x])[:, np.newaxis]


def _tokens(value: ArrayLike, name: str, *, size: int | None = None, dim: int | None = None) -> Array:
    """Return tokens so small that float64 holds the squares of their displacements."""
    tokens = as_points(value, name, size=size, dim=dim)
    largest = upper(np.abs(tokens).max())
    if not 4.0 * tokens.size * largest * largest < math.inf:
        raise ValueError(f"{name}: expected tokens whose squares float64 can hold, got sizes up to {largest}")
    return tokens


def _iterate(
    advance: Callable[[T], T],
    start: T,
    distance: Callable[[T, T], Interval],
    constant: float,
    count: int,
    rounding: float,
) -> FixedPoint[T]:
    point, moves = start, []
    posterior_error(Interval.exactly(0.0), constant, rounding)  # refused before anything is iterated
    for _ in range(as_count(count, "count")):
        before = point
        point = advance(point)
        moves.append(distance(before, point))
    return FixedPoint(point, tuple(moves), posterior_error(moves[-1], constant, rounding))


def _determinant(matrix: Sequence[Sequence[object]] | Array) -> object:
    """Return the determinant by its first row; balls stay narrow, and the matrices are small."""
    rows = [list(row) for row in matrix]
    if len(rows) == 1:
        return rows[0][0]
    minors = ([[*row[:k], *row[k + 1 :]] for row in rows[1:]] for k in range(len(rows)))
    return sum((-1) ** k * rows[0][k] * _determinant(minor) for k, minor in enumerate(minors))
