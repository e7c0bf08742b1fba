r"""A query that learns by gradient ascent to select tokens, followed in balls.

Examples have two tokens each, with differences :math:`d_i` of the one to select and the other; its weight is
:math:`\sigma(u_i)` at the gap :math:`u_i = \langle p, d_i\rangle`, :math:`\sigma` the logistic function. The query
starts at zero and follows :math:`\dot p = \nabla D`, :math:`D = \sum_ic_i\sigma(\langle p, d_i\rangle)`, whose gradient
is :math:`\sum_ic_ie^{-u_i}(1 + e^{-u_i})^{-2}d_i`. From time one on the logarithm of time is followed.

Any curve whose slope is off by at most :math:`\epsilon` is near: where all gaps are positive :math:`D` is concave, and
the distance of two curves grows by :math:`\epsilon` a unit of time at most; elsewhere also at a rate of at most
:math:`\sum_ic_i|d_i|^2/6\sqrt3`, as :math:`|\sigma''| \le 1/6\sqrt3`. The curve is made of Taylor polynomials with
exact coefficients. What their slope is off is a power series at the start of a step, whose terms are added up, and the
first one left out is enclosed over the whole step.

References
----------
D. Soudry, E. Hoffer, M. S. Nacson, S. Gunasekar and N. Srebro, *The implicit bias of gradient descent on separable
data*, J. Mach. Learn. Res. 19 (2018), of gradient descent on a function with the same tail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_matrix, as_vector
from theory.evidence import ball, hull, precision
from theory.evidence.enclosure import coefficient, power_series, variable

_TERMS = 18  # taken: coefficients of a power series
_SMALL = 2.0**-53  # taken: what the slope of a step may be off
_SMALLER = 2.0**-66  # taken: below this the next step is twice as long
_SHORT = 2.0**-40  # taken: of steps
_MOST = {"differences": 4.0, "worths": 16.0, "times": 1e30}  # taken: sizes up to these
_COUNT = 16  # taken: examples and coordinates up to this
Polynomial = list[Any]


def ascended_query(differences: ArrayLike, worths: ArrayLike, times: ArrayLike) -> Any:
    r"""Enclose a query that starts at zero and ascends the worth of the tokens that it selects.

    Parameters
    ----------
    differences : array_like, shape (m, d)
        In each example the token to select less the other one; entries up to 4 in size, m and d up to 16.
    worths : array_like, shape (m,)
        What selecting is worth, above zero and up to 16.
    times : array_like, shape (k,)
        Increasing, above one and up to 1e30.

    Returns
    -------
    Intervals, shape (k, d)
        The query at these times. Wide where a gap of scores stays negative for long.

    Raises
    ------
    ValueError
        If shapes do not fit, a number is out of range or times do not increase.

    Examples
    --------
    >>> ascended_query([[1.0]], [1.0], [10.0]).lo.round(3)  # the solution of 2 u + 2 sinh u = 10
    array([[1.861]])
    """
    d = as_matrix(differences, "differences")
    c, t = as_vector(worths, "worths", size=len(d)), as_vector(times, "times")
    if not 0 < max(d.shape) <= _COUNT or not d.size:
        raise ValueError(f"differences: expected up to {_COUNT} examples and coordinates, got shape {d.shape}")
    for name, found in (("differences", d), ("worths", c), ("times", t)):
        if not (np.abs(found) <= _MOST[name]).all():
            raise ValueError(f"{name}: expected at most {_MOST[name]:g} in size, got {np.abs(found).max():g}")
    if not (c > 0.0).all():
        raise ValueError(f"worths: expected numbers above zero, got {c.min():g}")
    if not t.size or not (t > 1.0).all() or not (np.diff(t) > 0.0).all():
        raise ValueError(f"times: expected increasing numbers above one, got {t}")
    return hull(np.array(_climb(tuple(map(tuple, d.tolist())), tuple(c.tolist()), tuple(t.tolist())), dtype=object))


@lru_cache(maxsize=32)
def _climb(differences: Sequence[Any], worths: Sequence[float], times: Sequence[float]) -> list[list[Any]]:
    """Return the query at each time, as balls."""
    with precision():
        d = [[ball(entry) for entry in row] for row in differences]
        c = [ball(worth) for worth in worths]
        lengths = [_dot(row, row).sqrt() for row in d]
        rate = _dot(c, [length**2 for length in lengths]) / (6 * ball(3).sqrt())
        p, error, step, found = [ball(0)] * len(d[0]), ball(0), ball(1) / 16, []
        for k in range(len(times) + 1):
            end = ball(times[k - 1]).log() if k else ball(1)
            start = ball(times[k - 2]).log() if k > 1 else ball(0)
            while start < end:
                ahead = step if start + step < end else end - start
                path, off = _stepped(p, start if k else None, ahead, d, c)
                if (off is None or not off < _SMALL) and step > _SHORT:
                    step = step / 2
                    continue
                step = 2 * step if off < _SMALLER else step
                error = error + ahead * off
                reach = [_value(x, ball(0).union(ahead)) for x in path]
                if not all(_dot(reach, row) > length * error for row, length in zip(d, lengths, strict=True)):
                    error = error * (rate * ahead * ((start + ahead).exp() if k else 1)).exp()
                p = [_value(x, ahead) for x in path]
                error = (error + sum(x.rad() for x in p)).upper()
                p, start = [x.mid() for x in p], start + ahead
            found.append([x + (-error).union(error) for x in p])
        return found[1:]


def _stepped(
    p: Sequence[Any], start: Any, step: Any, d: Sequence[Any], c: Sequence[Any]
) -> tuple[list[Polynomial], Any]:
    """Return polynomials that follow the flow for a step from exact balls, and what their slope is off at most.

    ``start``: of the logarithm of time; None where time itself is followed. The bound is None if none was found.
    """
    first = [ball(0), ball(0)] if start is None else [start, ball(1)]  # the logarithm of the pace

    def velocity(path: Sequence[Polynomial], evaluated: Callable[[Polynomial], Any]) -> list[Any]:
        shares = []
        for row, worth in zip(d, c, strict=True):
            gap = [_dot(row, terms) for terms in zip(*path, strict=True)]
            rest = [first[0] - gap[0], first[1] - gap[1], *(-term for term in gap[2:])]
            shares.append(worth * evaluated(rest).exp() / (1 + (-evaluated(gap)).exp()) ** 2)
        return [sum(share * row[k] for share, row in zip(shares, d, strict=True)) for k in range(len(p))]

    path = [[x] + [ball(0)] * (_TERMS - 1) for x in p]
    for k in range(1, _TERMS):
        slopes = velocity([x[: k + 1] for x in path], power_series)
        for x, slope in zip(path, slopes, strict=True):
            x[k] = (coefficient(slope, k - 1) / k).mid()
    t, off = variable(_TERMS).item(), []
    for time in (t, t + ball(0).union(step)):
        try:
            there = velocity(path, lambda x, time=time: _value(x, time))  # type: ignore[misc]
        except ValueError:  # a denominator that may vanish over so long a step
            return path, None
        slopes = [_value([k * term for k, term in enumerate(x)][1:], time) for x in path]
        off.append([slope - v for slope, v in zip(slopes, there, strict=True)])
    most = ball(0)
    for near, over in zip(*off, strict=True):
        size = sum(abs(coefficient(near, k)).upper() * step**k for k in range(_TERMS - 1))
        most += (size + abs(coefficient(over, _TERMS - 1)).upper() * step ** (_TERMS - 1)) ** 2
    return path, most.sqrt().upper()


def _value(polynomial: Polynomial, time: Any) -> Any:
    """Return a polynomial at a ball or power series."""
    total = 0 * time
    for term in reversed(polynomial):
        total = total * time + term
    return total


def _dot(one: Sequence[Any], other: Sequence[Any]) -> Any:
    return sum((a * b for a, b in zip(one, other, strict=True)), ball(0))
