r"""The smallest bandwidth at which so many tokens tell what a layer does, without knowledge of its limit.

Two disjoint clouds of n keys make of the same queries, which are in neither, two steps
:math:`A = (P_\varepsilon x - x)/\varepsilon` each. They *disagree* by the share

.. math:: s(\varepsilon) = \frac{\sum|A - A'|^2}{\sum|A|^2 + |A'|^2} ,

which is zero if the keys do not matter and one if steps have nothing in common. For independent tokens of a density p
on a manifold of dimension d, :math:`|A - A'|^2` has mean :math:`2V`,

.. math:: V = \frac d2(4\pi\varepsilon)^{-d/2}\frac{\mathbb E[1/p]}{n\varepsilon}(1 + o(1)), \qquad
   m^2 = \mathbb E\,\bigl|\nabla\log p + \tfrac12\vec{\mathcal H}\bigr|^2, \qquad s \approx \frac V{V + m^2} ,

as :math:`\mathbb E[K^2|y - x|^2]/(\mathbb EK)^2` is the variance of one output. The smallest bandwidth that disagrees
by no more than a given share falls like :math:`n^{-2/(d + 2)}`. This is a law of clouds of which the step settles;
the functions of this module suppose neither.

The intrinsic dimension that a bandwidth sees is the mean over queries of
:math:`2\,d\log\sum_jK_j/d\log\varepsilon = \sum_jK_j|x - y_j|^2/\varepsilon\sum_jK_j`.

References
----------
A. Singer, From graph to manifold Laplacian: the convergence rate, *Applied and Computational Harmonic Analysis* 21
(2006).
R. Coifman, Y. Shkolnisky, F. Sigworth and A. Singer, Graph Laplacian tomography from unknown random projections,
*IEEE Transactions on Image Processing* 17 (2008) (the dimension from sums of a kernel).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_between, as_points, as_positive
from theory.attention import SquaredDistance, rounding
from theory.diffusion.limits.operators import half_inverse, propagate
from theory.evidence import Interval, as_intervals, exact, is_enclosed, within
from theory.evidence.roundoff import U, gamma

Array = NDArray[np.float64]
_OCTAVES = 40  # taken: below the widest bandwidth; what no cloud that fits into memory resolves
_FARTHEST = 1e100  # taken: squares, and their sums, are finite
_NARROWEST = 1e-300
_TINY = float(np.finfo(np.float64).tiny)
_WIDE = 1.0 + 64.0 * U  # derived: covers the few roundings of a bound itself


class Halves(NamedTuple):
    """What two clouds make of the same queries."""

    disagreement: Interval
    """the share s"""
    size: Interval
    """root mean square of the mean of both steps, in the unit of the tokens over that of the bandwidth"""


def compare_halves(queries: ArrayLike, first: ArrayLike, second: ArrayLike, epsilon: float) -> Halves:
    r"""Enclose how far the steps of queries over two clouds of keys disagree, and how large they are.

    An output is off by at most :math:`\delta`, what attention rounds and a unit of the size of the result of the
    subtraction, so that a norm of N of them is off by at most :math:`\sqrt N\delta`, besides the rounding of its sum.

    Parameters
    ----------
    queries : array_like, shape (m, d)
    first, second : array_like, shapes (n, d) and (k, d)
        Keys of equal weights; a query that is to be none of them is in neither.
    epsilon : float
        Positive.

    Raises
    ------
    ValueError
        If a shape does not fit, or the bandwidth is not positive.
    """
    x, clouds, width = _checked(queries, first, second, epsilon)
    off = _off(x, clouds, width)
    steps = _steps(x, clouds, width)
    mean = _norm(0.5 * (steps[0] + steps[1]), off)
    return Halves(_disagreement(steps, off), mean / Interval.exactly(width) / Interval.exactly(len(x)).sqrt())


def smallest_bandwidth(
    queries: ArrayLike, first: ArrayLike, second: ArrayLike, *, widest: float, share: float = 0.1
) -> Interval:
    """Enclose the bandwidth below which two clouds first disagree by more than a share, from the widest one down.

    By octaves, between the last two of which the logarithm of the disagreement is taken for linear in that of the
    bandwidth; this belongs to the definition.

    Parameters
    ----------
    queries, first, second : array_like
        As :func:`compare_halves` takes them.
    widest : float
        Where to begin, positive.
    share : float, default 0.1
        Between 0 and 1.

    Returns
    -------
    Interval
        Unknown if the clouds disagree by more at the widest bandwidth, or by less at all of forty octaves, or if
        rounding leaves open between which two octaves they begin to.

    Raises
    ------
    ValueError
        If a shape does not fit, or a number is out of its range.
    """
    x, clouds, width = _checked(queries, first, second, widest, name="widest")
    level = as_between(share, "share", 0.0, 1.0)
    if not 0.0 < level < 1.0:
        raise ValueError(f"share: expected a number between 0 and 1, got {level}")
    read: list[list[Array]] = []
    for octave in range(_OCTAVES):
        if width * 0.5**octave < _NARROWEST:
            return Interval.unknown()
        read.append(_steps(x, clouds, width * 0.5**octave))
        if _disagreement(read[-1], 0.0).hi > level:
            break
    off = _off(x, clouds, width * 0.5 ** (len(read) - 1))
    *wider, before, last = [Interval.unknown(), *(_disagreement(steps, off) for steps in read)]
    if not (last.lo > level > before.hi and before.lo > 0.0) or any(found.hi >= level for found in wider[1:]):
        return Interval.unknown()
    part = np.log(exact(level) / before) / np.log(last / before)
    found: Interval = width * 0.5 ** (len(read) - 2) * np.exp(-part * np.log(exact(2.0)))
    return found


def seen_dimension(queries: ArrayLike, keys: ArrayLike, epsilon: float) -> Interval:
    r"""Enclose the intrinsic dimension of a cloud of keys that queries see at a bandwidth.

    The mean square distance is read as :math:`\overline{|y|^2} - 2x\cdot\bar y + |x|^2` off one layer with the values
    y and :math:`|y|^2`, whose outputs are off by :math:`\delta`; so this is off by
    :math:`\delta(1 + 2\|x\|_1)` and the rounding of its own sums.

    Parameters
    ----------
    queries : array_like, shape (m, d)
        None of the keys.
    keys : array_like, shape (n, d)
    epsilon : float
        Positive.

    Raises
    ------
    ValueError
        If a shape does not fit, or the bandwidth is not positive.
    """
    x = _known(queries, "queries")
    y = _known(keys, "keys", dim=x.shape[1])
    width = as_positive(epsilon, "epsilon")
    values = np.column_stack([y, np.einsum("ij,ij->i", y, y)])
    read = propagate(x, y, values, width)
    squares = np.einsum("ij,ij->i", x, x)
    crossed = np.einsum("ij,ij->i", x, read[:, :-1])
    sizes = read[:, -1] + squares + 2.0 * np.einsum("ij,ij->i", np.abs(x), np.abs(read[:, :-1]))
    off = rounding(x, y, values, score=SquaredDistance(half_inverse(width)))
    off *= 1.0 + 2.0 * float(np.abs(x).sum(axis=1).max())
    off += gamma(2 * x.shape[1] + 8) * float(sizes.max()) + 8 * (x.shape[1] + 1) * _TINY  # products may underflow
    mean = within(read[:, -1] - 2.0 * crossed + squares, off * _WIDE).mean()
    found: Interval = mean / Interval.exactly(width)
    return found


def _checked(
    queries: ArrayLike, first: ArrayLike, second: ArrayLike, epsilon: float, *, name: str = "epsilon"
) -> tuple[Array, list[Array], float]:
    x = _known(queries, "queries")
    clouds = [_known(keys, said, dim=x.shape[1]) for keys, said in ((first, "first"), (second, "second"))]
    width = as_positive(epsilon, name)
    if width < _NARROWEST:
        raise ValueError(f"{name}: expected at least {_NARROWEST:g}, whose inverse is finite, got {width}")
    return x, clouds, width


def _known(points: ArrayLike, name: str, *, dim: int | None = None) -> Array:
    """Return points that are known exactly as floats."""
    cloud: Array = as_points(points, name, dim=dim)
    if is_enclosed(cloud):
        given = as_intervals(cloud)
        if not given.is_exact:
            raise ValueError(f"{name}: expected points that are known exactly, got radii up to {given.radius.max()}")
        cloud = given.mid
    size = float(np.abs(cloud).max())
    if not size <= _FARTHEST:
        raise ValueError(f"{name}: expected coordinates of at most {_FARTHEST:g}, whose squares are finite, got {size}")
    return cloud


def _steps(x: Array, clouds: list[Array], epsilon: float) -> list[Array]:
    return [propagate(x, keys, keys, epsilon) - x for keys in clouds]


def _off(x: Array, clouds: list[Array], epsilon: float) -> float:
    """Bound what an entry of a step is off, at this bandwidth and all wider ones, where scores are smaller."""
    score = SquaredDistance(half_inverse(epsilon))
    read = max(rounding(x, keys, keys, score=score) for keys in clouds)
    size = max(float(np.abs(points).max()) for points in (x, *clouds))
    return (read + 2.0 * U * size) * _WIDE


def _disagreement(steps: list[Array], off: float) -> Interval:
    """Enclose the share, of steps whose entries are off by at most so much."""
    apart = _norm(steps[0] - steps[1], 2.0 * off)
    found: Interval = (apart / _norm(np.stack(steps), off)) ** 2
    return found


def _norm(values: Array, off: float) -> Interval:
    """Enclose the norm of what is behind computed numbers, each off by at most so much and one more rounding.

    Squares are taken in units of the largest number, so that none that matters underflows.
    """
    largest = float(np.abs(values).max())
    shares = values / (largest or 1.0)
    computed = largest * math.sqrt(float(np.vdot(shares, shares)))
    return Interval.within(computed, (gamma(values.size + 16) * computed + math.sqrt(values.size) * off) * _WIDE)
