r"""The weight that softmax gives a stored pattern among Gaussian ones, on average: an extreme-value integral in balls.

A pattern of squared length d, asked with itself, has the score :math:`\lambda d`; n others have independent scores
:math:`s g_j`, :math:`s = \lambda\sqrt d`. As :math:`\frac1{1 + z} = \int_0^\infty e^{-t - tz}dt`, the mean weight is

.. math:: \mathbb E p = \int_0^\infty e^{-t}\,\bigl(\mathbb E e^{-te^{sg - \lambda d}}\bigr)^n\,dt,

in which the power is that of the largest of n scores with Gumbel noise. It falls in t, and what is averaged falls in g:
both integrals are between the sums over cells with one end and with the other.

References
----------
C. Lucibello and M. Mezard, *Exponential capacity of dense associative memories*, Phys. Rev. Lett. 132 (2024).
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from theory._validate import as_between, as_count
from theory.evidence import Interval, ball, hull, precision

_MOST = 10**40  # taken: patterns up to this
_DIMS = 1000  # taken: dimensions up to this
_FACTORS = (0.0625, 4.0)  # taken
_CELLS = range(-40, 11)  # taken: ends of cells are powers of the root of two, from a millionth to 32
_PARTS = 4  # taken: cells of scores in a cell of t, so that what is summed depends on the sum of their numbers alone
_LEFT_OUT = 40.0  # taken: nats by which what is left out of a mean, times the number of patterns, is smaller than one


def retrieval_weight(others: int, dim: int, factor: float) -> Interval:
    r"""Enclose the mean weight of a pattern of squared length ``dim`` among Gaussian ones, asked with itself.

    Parameters
    ----------
    others : int
        How many other patterns there are, with independent standard coordinates; up to 1e40.
    dim : int
        The dimension, which is also the squared length of the pattern; up to 1000.
    factor : float
        The inverse temperature, from 1/16 to 4.

    Returns
    -------
    Interval
        Wide: cells are a factor of the root of two.

    Examples
    --------
    >>> retrieval_weight(10**13, 100, 0.5).lo > 0.99  # a load of 0.3
    True
    """
    n, d = as_count(others, "others"), as_count(dim, "dim")
    if n > _MOST:
        raise ValueError(f"others: expected at most {_MOST:.0e}, got {n}")
    if d > _DIMS:
        raise ValueError(f"dim: expected at most {_DIMS}, got {d}")
    return _weight(n, d, as_between(factor, "factor", *_FACTORS))


@lru_cache(maxsize=64)
def _weight(n: int, d: int, factor: float) -> Interval:
    with precision():
        score, step = ball(factor) * d, ball(2).log() / (2 * _PARTS)
        ends = [(_PARTS * k * step).exp() for k in _CELLS]
        lost, more = _lost(n, step, score, ball(factor) * ball(d).sqrt())
        low, high = ([(n * (-missed).log1p()).exp() for missed in side] for side in (more, lost))
        masses = [1 - (-ends[0]).exp(), *((-a).exp() - (-b).exp() for a, b in pairwise(ends)), (-ends[-1]).exp()]
        least = sum((mass * power for mass, power in zip(masses, [*low, ball(0)], strict=True)), ball(0))
        most = sum((mass * power for mass, power in zip(masses, [ball(1), *high], strict=True)), ball(0))
        return hull(ball(least).union(ball(most)))


def _lost(n: int, step: Any, score: Any, scale: Any) -> tuple[list[Any], list[Any]]:
    """Return for each end of a cell what one score takes, at least and at most, by cells of its own."""
    reach = math.ceil(math.sqrt(2.0 * (math.log(n) + _LEFT_OUT)) * float((scale / step).mid())) + 1
    tails = [(k * step / scale / ball(2).sqrt()).erfc() / 2 for k in range(reach + 1)]
    half = [a - b for a, b in pairwise(tails)]
    masses = np.array([*half[::-1], *half], dtype=object)
    first = -reach + _PARTS * _CELLS[0]
    count = masses.size + 1 + _PARTS * len(_CELLS)
    taken = np.array([-(-((first + k) * step - score).exp()).expm1() for k in range(count)], dtype=object)
    starts = [_PARTS * k for k in range(len(_CELLS))]
    least = [masses @ taken[k : k + masses.size] for k in starts]
    most = [masses @ taken[k + 1 : k + 1 + masses.size] + 2 * tails[-1] for k in starts]
    return least, most
