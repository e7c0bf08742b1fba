r"""Singular values of attention whose scores are independent noise, with a probability, for any number of tokens.

Scores :math:`\sigma z_{ij}` give weights :math:`p_{ij} = \frac{1 + X_{ij}}{\sum_k(1 + X_{ik})}` with
:math:`X = e^{\sigma z - \sigma^2/2} - 1`, independent and of mean zero. What is left of :math:`P` without a matrix of
rank one is :math:`X` with its rows divided by their sums, so :math:`s_2(P)` is at most :math:`\|X\|` over the least
sum.

.. math:: \mathbb E\,\mathrm{tr}(XX^\top)^k = \sum_{\pi,\varrho}(n)_{|\pi|}(m)_{|\varrho|}\prod_e\mathbb E X^{m_e}

over pairs of partitions of the :math:`k` visits of rows and of columns of a closed walk; :math:`m_e` says how often
it uses the entry :math:`e`, and :math:`(n)_j` is a falling factorial.

References
----------
L. Erdos and H.-T. Yau, *A Dynamical Approach to Random Matrix Theory*, 2017, chapter 4 (the method of moments).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_positive
from theory.evidence import Interval, ball, hull, precision
from theory.evidence.enclosure import as_ball

_MOST_POWER = 7  # 877 partitions squared; eight takes 17 million pairs
_DIGITS = 256  # of the mantissa: moments are differences of large numbers, and of small variance yet smaller


def trace_moment(rows: int, columns: int, power: int, moments: ArrayLike) -> Interval:
    r"""Enclose the mean of :math:`\mathrm{tr}(XX^\top)^k` for independent entries of mean zero.

    Parameters
    ----------
    rows, columns : int
        The shape of X.
    power : int
        k, at most 7.
    moments : array_like, shape (2 k + 1,)
        :math:`\mathbb E X^r` at index r, floats, fractions or balls; what stands at 0 and 1 is not read.

    Returns
    -------
    Interval

    Raises
    ------
    TypeError
        If ``rows``, ``columns`` or ``power`` is no integer, or ``moments`` are no numbers.
    ValueError
        If one of them is below one, ``power`` above 7, or ``moments`` have another shape or are not finite.

    Examples
    --------
    >>> trace_moment(2, 3, 2, [1, 0, 1, 0, 1]).mid
    24.0
    """
    rows, columns, power = as_count(rows, "rows"), as_count(columns, "columns"), _as_power(power)
    return hull(_trace_moment(rows, columns, power, _as_moments(moments, power)))


def lognormal_moments(variance: float, most: int) -> NDArray[np.object_]:
    r"""Return balls of :math:`\mathbb E(e^{\sigma z - \sigma^2/2} - 1)^r` for a normal z and r = 0 to ``most``.

    Parameters
    ----------
    variance : float
        :math:`\sigma^2`.
    most : int
        The largest order.

    Returns
    -------
    ndarray of balls, shape (most + 1,)

    Raises
    ------
    TypeError, ValueError
        If ``variance`` is no positive number or ``most`` no integer of at least zero.
    """
    variance, most = as_positive(variance, "variance"), as_count(most, "most", least=0)
    with precision(_DIGITS + (most + 1) * max(0, -math.frexp(variance)[1])):
        powers = [(ball(variance) * (j * (j - 1) // 2)).exp() for j in range(most + 1)]
        moments = [sum(math.comb(r, j) * (-1) ** (r - j) * powers[j] for j in range(r + 1)) for r in range(most + 1)]
    return np.array(moments, dtype=object)


def second_value_bound(size: int, variance: float, *, power: int = 6, risk: float = 0.02) -> Interval:
    r"""Enclose a number that :math:`s_2` exceeds with a probability of at most ``risk``.

    Parameters
    ----------
    size : int
        n, the number of tokens.
    variance : float
        :math:`\sigma^2` of the scores.
    power : int
        k, at most 7.
    risk : float
        :math:`\epsilon`, below one.

    Returns
    -------
    Interval

    Notes
    -----
    .. math:: s_2 \le \frac{(2T_k/\epsilon)^{1/2k}}{n(1 - t)}, \qquad t^2 = \frac{2e^{\sigma^2}}n\log\frac{2n}\epsilon,

    with :math:`T_k = \mathbb E\,\mathrm{tr}(XX^\top)^k \ge \mathbb E\|X\|^{2k}` and Markov's inequality; a sum of n
    independent non-negative numbers of mean one and second moment q is below :math:`n(1 - t)` with a probability of at
    most :math:`e^{-nt^2/2q}`.

    Raises
    ------
    TypeError, ValueError
        If ``size`` or ``power`` is no integer of at least one, ``variance`` or ``risk`` not positive, ``risk`` not
        below one, ``power`` above 7, or there are too few tokens (:math:`t \ge 1`).

    Examples
    --------
    >>> round(second_value_bound(1000, 0.25).mid, 3)
    0.08
    """
    size, variance, risk = as_count(size, "size"), as_positive(variance, "variance"), as_positive(risk, "risk")
    if risk >= 1.0:
        raise ValueError(f"risk: expected a probability below one, got {risk}")
    power = _as_power(power)
    with precision(_DIGITS):
        moment = _trace_moment(size, size, power, list(lognormal_moments(variance, 2 * power)))
        below = (2 * ball(variance).exp() / size * (2 * ball(size) / ball(risk)).log()).sqrt()
        if not below < 1:
            raise ValueError(f"size: expected more tokens at this variance and risk, got {size}")
        return hull((2 * moment / ball(risk)).root(2 * power) / (size * (1 - below)))


def _as_power(power: int) -> int:
    if as_count(power, "power") > _MOST_POWER:
        raise ValueError(f"power: expected at most {_MOST_POWER}, got {power}")
    return power


def _as_moments(moments: ArrayLike, power: int) -> list[Any]:
    if isinstance(moments, np.ma.MaskedArray):
        raise TypeError("moments: expected a plain array, got a masked array")
    given = np.asarray(moments, dtype=object)
    if given.shape != (2 * power + 1,):
        raise ValueError(f"moments: expected shape ({2 * power + 1},), got shape {given.shape}")
    return [as_ball(moment, "moments") for moment in given]


def _trace_moment(rows: int, columns: int, power: int, moments: list[Any]) -> Any:
    with precision(_DIGITS):
        return sum(
            count * math.perm(rows, i) * math.perm(columns, j) * math.prod(moments[m] for m in uses)
            for (i, j, uses), count in _walks(power).items()
        )


@cache
def _walks(power: int) -> Counter[tuple[int, int, tuple[int, ...]]]:
    """Return, per number of rows, of columns and uses of the entries, how many closed walks there are."""
    walks: Counter[tuple[int, int, tuple[int, ...]]] = Counter()
    partitions = list(_partitions(power))
    for rows in partitions:
        back = rows[1:] + rows[:1]
        for columns in partitions:
            uses = Counter(zip(rows, columns, strict=True))
            uses.update(zip(back, columns, strict=True))
            if 1 not in uses.values():  # an entry that is used once has the mean zero
                walks[max(rows) + 1, max(columns) + 1, tuple(sorted(uses.values()))] += 1
    return walks


def _partitions(size: int) -> Iterator[tuple[int, ...]]:
    """Yield the partitions of a list, each as the numbers of its classes in the order in which they appear."""
    if not size:
        yield ()
        return
    for first in _partitions(size - 1):
        for last in range(max(first, default=-1) + 2):
            yield (*first, last)
