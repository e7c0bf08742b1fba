r"""Mean and covariance of an attention output over finitely many independent keys, enclosed for every number of them.

With weights :math:`w \propto e^{\langle q, x\rangle}` of mean one and values :math:`y = x - c` about the mean of the
tilted law, an output over n keys is off by :math:`r = \sum_j w_j y_j / \sum_j w_j`. Since :math:`1/D =
\int_0^\infty e^{-uD}du`,

.. math:: \mathbb{E}r = n\int_0^\infty A\,\varphi^{n-1}du, \qquad
   \mathbb{E}rr^\top = \int_0^\infty u\,\{n B \varphi^{n-1} + n(n-1) AA^\top\varphi^{n-2}\}\,du,

.. math:: \mathbb{E}\sum_j P_j^2 = n\int_0^\infty u\,\mathbb{E}[w^2e^{-uw}]\,\varphi^{n-1}du, \qquad
   \varphi = \mathbb{E}e^{-uw},\; A = \mathbb{E}[wye^{-uw}],\; B = \mathbb{E}[w^2yy^\top e^{-uw}],

integrals of functions of one key, whatever n is. They are computed in balls with :math:`u = e^s` by the trapezoidal
rule, whose error is at most :math:`2M/(e^{2\pi b/h} - 1)` if the integrand is analytic for :math:`|\Im s| < b` and its
integral there is at most M. For :math:`b < \pi/2` every :math:`e^{-uw}` is bounded by that of :math:`u\cos b`, so that
:math:`M = \mathbb{E}\max_j|y_j|^k/\cos^kb` with k = 1 or 2. The ends are bounded by :math:`|A| \le u\,\mathbb{E}w^2|y|`
below, and above by :math:`\varphi(u) \le \mathbb{E}[1/w]/(eu)`.

A Gaussian key is replaced by the nodes :math:`z_j` of a second trapezoidal rule; there the strip is
:math:`|\Im z| < a \le \pi/2p` for the tilt p, and the error is added to every ball.

References
----------
L. N. Trefethen and J. A. C. Weideman, The exponentially convergent trapezoidal rule, *SIAM Review* 56 (2014), 385-458,
theorem 5.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_matrix, as_positive, as_vector
from theory.attention import Measure
from theory.attention.measure import as_measure
from theory.evidence import Interval, ball
from theory.evidence.enclosure import balls, exp, hull, precision

_STRIP = 1.5  # taken: below pi / 2
_SMALL = 60.0  # taken: what ends and lattices may leave is of the order of exp(-60), as the rule itself
_STEP = 0.157  # derived: exp(-2 pi _STRIP / _STEP) < exp(-_SMALL)
_STEEPEST = 100.0  # taken: of a Gaussian tilt
_LEAST = 8  # derived: the bound of the upper end needs more than four keys
_REACH = 14.0  # derived: exp(-(_REACH - 1)**2 / 2) < exp(-84)

Balls = NDArray[np.object_]


@dataclass(frozen=True, slots=True)
class OutputMoments:
    """Moments of one output over n independent keys, times n, of kind ``CERTIFIED``.

    Parameters
    ----------
    keys : int
        n.
    bias : tuple of Interval, length d
        n times the mean of the output less the mean of the tilted law.
    covariance : tuple of tuple of Interval, shape (d, d)
        n times the covariance of the output.
    participation : Interval
        n times the mean of the sum of squared weights: how many times fewer tokens there seem to be.
    """

    keys: int
    bias: tuple[Interval, ...]
    covariance: tuple[tuple[Interval, ...], ...]
    participation: Interval


class _Law(NamedTuple):
    """Nodes with masses, weights of mean one and centred values, and bounds of what they stand for."""

    masses: Balls
    weights: Balls
    values: Balls
    size: Any  # of E|y|**2
    second: Any  # of E w**2 (1 + |y|)**2
    inverse: Any  # of E 1/w
    largest: Any  # from n to a bound of E max |y_j|**2
    error: Any  # of sums over nodes, per u where they vanish with u


class _Node(NamedTuple):
    u: Any
    escape: Any  # 1 - phi
    first: Balls
    second: Balls
    square: Any


def atomic_moments(mu: Measure, tilt: ArrayLike, sizes: Sequence[int]) -> list[OutputMoments]:
    """Enclose the moments of attention under ``tilt`` to keys drawn from the atoms of ``mu``, for every size.

    Parameters
    ----------
    mu : Measure
        Law of a key, (d,); its masses are divided by their sum.
    tilt : array_like, shape (d,)
        q, in units of one over length; a key x has weight ``exp(<q, x>)``.
    sizes : sequence of int
        Numbers of keys, at least 8 each.

    Raises
    ------
    ValueError
        If the tilt does not fit or a size is too small.
    """
    q = as_vector(tilt, "tilt", size=as_measure(mu, "mu").dim)
    numbers = _checked(sizes)
    with precision():
        points, masses = balls(mu.points), balls(mu.weights)
        masses = masses / masses.sum()
        weights = exp(points @ balls(q))
        weights = weights / (masses @ weights)
        values = points - (masses * weights) @ points
        squares = (values * values).sum(axis=1)
        most = max(hull(square).hi for square in squares)
        around = np.array([(1 + square.upper().sqrt().upper()) ** 2 for square in squares])
        law = _Law(
            masses, weights, values, masses @ squares, (masses * weights * weights) @ around,
            (masses / weights).sum(), lambda _: ball(most), ball(0),
        )  # fmt: skip
        return [
            _read(n, first, second - np.multiply.outer(first, first), square)
            for n, (first, second, square) in zip(numbers, _integrals(law, numbers), strict=True)
        ]


def gaussian_moments(covariance: ArrayLike, tilt: ArrayLike, sizes: Sequence[int]) -> list[OutputMoments]:
    r"""Enclose the same for keys from :math:`N(0, \Sigma)`.

    With :math:`p^2 = \langle q, \Sigma q\rangle` the component of a whitened key along :math:`\Sigma^{1/2}q` alone
    decides its weight. So the covariance is :math:`\mathbb{E}\sum P_j^2` times :math:`\Sigma` but in one direction.

    Parameters
    ----------
    covariance : array_like, shape (d, d)
        Symmetric, positive definite.
    tilt, sizes
        As in :func:`atomic_moments`; the tilt is not zero.

    Raises
    ------
    ValueError
        If the shapes do not fit, the covariance is not as above, the tilt is zero, or a size is too small.
    """
    q = as_vector(tilt, "tilt")
    given = as_matrix(covariance, "covariance", shape=(q.size, q.size))
    if not np.array_equal(given, given.T) or not np.linalg.eigvalsh(given)[0] > 0.0:
        raise ValueError("covariance: expected a symmetric, positive definite matrix, got another")
    with precision():
        sigma = balls(given)
        image = sigma @ balls(q)
        squared = balls(q) @ image
        if not squared > 0.0:
            raise ValueError(f"tilt: expected a direction, got {q.tolist()}")
        found = []
        outer = np.multiply.outer(image, image) / squared
        numbers = _checked(sizes)
        for n, (bias, second, participation) in zip(numbers, along_tilt(squared.sqrt(), numbers), strict=True):
            covered = participation * sigma + (second - bias * bias - participation) * outer
            found.append(_read(n, bias * image / squared.sqrt(), covered, participation))
        return found


def along_tilt(p: Any, sizes: Sequence[int]) -> list[tuple[Any, Any, Any]]:
    """Return the balls of E r, E r**2 and E sum P**2 for standard normal keys on the line under the tilt ``p`` > 0."""
    sizes = _checked(sizes)
    with precision():
        p = p if hasattr(p, "is_finite") else ball(as_positive(p, "p"))
        if not p < _STEEPEST:
            raise ValueError(f"p, tilt: expected less than {_STEEPEST:g}, since nodes grow as its square, got {p}")
        pi = ball(1).atan() * 4
        top = hull(p).hi
        a = min(math.pi / (2.0 * top) * (1.0 - 2.0**-40), 14.0)
        h = ball(min(2.0 * math.pi * a / (_SMALL + a * a / 2.0 + top * top), 0.5))
        reach = 2 * p + _REACH
        a = ball(a)
        nodes = np.arange(-math.ceil(_REACH / hull(h).lo), math.ceil(hull(reach / h).hi) + 1)
        z = balls(nodes) * h
        masses = exp(-(z * z) / 2) * (h / (2 * pi).sqrt())
        strip = 2 * (a * a / 2 + p * p).exp() * (1 + p + a) ** 2 / ((2 * pi * a / h).exp() - 1)
        cut = 2 * (p * p + p + 1.5 - ball(_REACH - 1.0) ** 2 / 2).exp()
        law = _Law(
            masses, exp(z * p - p * p / 2), (z - p)[:, np.newaxis], 1 + p * p, (p * p).exp() * (2 + p) ** 2,
            (p * p).exp(), lambda n: 4 * ball(2 * n).log() + 4 + 2 * p * p, strip + cut,
        )  # fmt: skip
        return [(first[0], second[0, 0], square) for first, second, square in _integrals(law, sizes)]


def _checked(sizes: Sequence[int]) -> list[int]:
    if not isinstance(sizes, (list, tuple, range, np.ndarray)) or len(sizes) == 0:
        raise TypeError(f"sizes: expected a sequence of integers, got {sizes!r}")
    return [as_count(n, "sizes", least=_LEAST) for n in sizes]


def _integrals(law: _Law, sizes: list[int]) -> list[tuple[Balls, Balls, Any]]:
    """Return E r, E r r' and E sum P**2 for every size."""
    second = hull(law.second).hi
    if not second < math.inf:
        raise ValueError(f"tilt: expected one whose weights float64 can hold, got a second moment of {second}")
    number = math.floor((-_SMALL / 2.0 - math.log(max(sizes)) - 0.5 * math.log(second)) / _STEP)
    first = (ball(number) * _STEP).exp()
    nodes = list[_Node]()
    for n in sizes:
        while not nodes or not _left(law, n, nodes[-1]) * n < math.exp(-_SMALL):
            nodes.append(_node(law, (ball(number) * _STEP).exp()))
            number += 1
    return [_summed(law, n, nodes, first) for n in sizes]


def _node(law: _Law, u: Any) -> _Node:
    fall = np.array([(-(u * w)).expm1() for w in law.weights])
    heavy = law.masses * law.weights
    kept = heavy * law.weights * (fall + 1)
    off = _around(law.error)
    return _Node(
        u, -(law.masses @ fall) + u * off, (heavy * fall) @ law.values + u * off,
        (law.values.T * kept) @ law.values + off, kept.sum() + off,
    )  # fmt: skip


def _left(law: _Law, n: int, node: _Node) -> Any:
    """Bound what lies above a node, of any of the integrals."""
    share = law.inverse / (node.u * ball(1).exp())
    return n * n * (1 + law.size) * share * share * _power(node, n - 4)


def _power(node: _Node, k: int) -> Any:
    return ((-node.escape).log1p() * k).exp()


def _summed(law: _Law, n: int, nodes: list[_Node], start: Any) -> tuple[Balls, Balls, Any]:
    first = law.values[0] * 0
    step = ball(_STEP)
    second = np.multiply.outer(first, first)
    square = start * 0
    for node in nodes:
        less = _power(node, n - 2)
        power = less * (1 - node.escape)
        first = first + node.first * (n * power * node.u)
        pair = node.second * power + np.multiply.outer(node.first, node.first) * ((n - 1) * less)
        second = second + pair * (n * node.u * node.u)
        square += n * node.u * node.u * node.square * power
        above = _left(law, n, node)
        if above * n < math.exp(-_SMALL):
            break
    pi = ball(1).atan() * 4
    cosine = ball(_STRIP).cos()
    rule = 2 * (1 + law.largest(n)) / (cosine * cosine) / ((2 * pi * _STRIP / step).exp() - 1)
    below = n * start * start * law.second
    off = _around(rule + below * (1 + below) + above)
    return first * step + off, second * step + off, square * step + off


def _around(bound: Any) -> Any:
    return (-bound.upper()).union(bound.upper())


def _read(n: int, mean: Balls, covariance: Balls, participation: Any) -> OutputMoments:
    rows = tuple(tuple(hull(n * entry) for entry in row) for row in covariance)
    return OutputMoments(n, tuple(hull(n * entry) for entry in mean), rows, hull(n * participation))
