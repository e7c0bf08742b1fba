r"""Numbers whose error is judged from a second computation, and limits and orders from a few levels.

Such a width admits that it is no proof: two computations may be wrong alike, and a trend may break.

Level :math:`k` carries a parameter :math:`h_0 r^{-k}`. If :math:`v_k = v + c\,h_k^p + o(h_k^p)`, one Richardson step
:math:`v_{k+1} + (v_{k+1} - v_k)/(r^p - 1)` removes the leading term. If the changes of the extrapolated values shrink
by a factor :math:`\rho` from level to level, what is left is :math:`\rho/(1 - \rho)` times the last one; a next
order of :math:`h^q` has :math:`\rho = r^{-q}`, so that only :math:`\rho \le 1/2` is bounded by the last change itself.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

from theory._validate import as_number
from theory.evidence.interval import Interval, Kind, Number, enclose

_SAFETY = 1.25  # taken: grid convergence index with three or more levels (Roache 1994)
LEVELS = 4


def estimated(value: Number, other: Number, *, times: float) -> Interval:
    """Enclose what two independent computations find, by how far they are apart.

    Parameters
    ----------
    value : Interval or real
        The computation that is reported, the finer one if one is.
    other : Interval or real
        Another one of the same number: other steps, other nodes or another method, so that its error is not that of
        ``value``.
    times : float
        How many times their distance ``value`` may be off: at least one. A coarser computation of known order whose
        error is at least twice as large bounds that of ``value`` by their distance.

    Returns
    -------
    Interval
        Of kind ``ESTIMATED`` or weaker: ``value``, widened by ``times`` the largest distance that the two may have.

    Raises
    ------
    TypeError
        If an argument is no number.
    ValueError
        If ``times`` is below one or a number is not finite.
    """
    one, second = enclose(value, "value"), enclose(other, "other")
    times = as_number(times, "times")
    if not 1.0 <= times < math.inf:
        raise ValueError(f"times: expected a factor of at least one, got {times!r}")
    kind = max(Kind.ESTIMATED, one.kind, second.kind)
    slack = (abs(one - second) * times).hi
    return one + Interval(-slack, slack, kind)


def _left(changes: Sequence[float], floor: float) -> float:
    """Estimate what a sequence with these last changes has still to go; infinite unless they shrink or are rounding."""
    if not all(abs(b) <= max(abs(a), floor) for a, b in itertools.pairwise(changes)):
        return math.inf
    before, last = abs(changes[-2]), abs(changes[-1])
    if last <= floor:
        return last
    return last * max(1.0, last / (before - last)) if last < before else math.inf


def _levels(values: Sequence[Number], name: str) -> list[Interval]:
    if isinstance(values, (str, Mapping)) or not isinstance(values, Iterable):
        raise TypeError(f"{name}: expected a sequence of intervals or numbers, got {type(values).__name__}")
    return [enclose(value, name) for value in values]


def limit(values: Sequence[Number], *, ratio: float = 2.0, order: float) -> Interval:
    """Enclose the limit of ``values``, each at a parameter ``ratio`` times smaller than the one before.

    Parameters
    ----------
    values : sequence of Interval or real
        At least four levels, coarse to fine.
    ratio : float, default 2.0
        Factor between the parameters of adjacent levels, above one.
    order : float
        Power of the parameter in the leading error, from the theory; positive.

    Returns
    -------
    Interval
        Of kind ``TREND`` or weaker: the last Richardson value, 1.25 times what the changes of such values leave, and
        the levels' own width. Unknown unless the changes shrink.

    Raises
    ------
    ValueError
        If there are fewer than four levels, ``ratio <= 1`` or ``order <= 0``.
    """
    levels = _levels(values, "values")
    ratio = as_number(ratio, "ratio")
    order = as_number(order, "order")
    if len(levels) < LEVELS or not ratio > 1.0 or not order > 0.0:
        raise ValueError(
            f"values, ratio, order: expected at least {LEVELS} levels, ratio > 1, order > 0, "
            f"got {len(levels)}, {ratio}, {order}"
        )
    kind = max(Kind.TREND, *(v.kind for v in levels))
    try:
        power = ratio**order
    except OverflowError:
        return Interval.unknown(kind)
    factor = Interval.within(power, 2 * math.ulp(power), Kind.PROVED) - 1  # a power is within an ulp
    extrapolated = [b + (b - a) / factor for a, b in itertools.pairwise(levels)]
    changes = [b.mid - a.mid for a, b in itertools.pairwise(extrapolated)]
    floor = max(v.width for v in extrapolated)
    slack = _SAFETY * _left(changes, floor)
    if math.isinf(slack):
        return Interval.unknown(kind)
    return extrapolated[-1] + Interval(-slack, slack, kind)


def order(errors: Sequence[Number], *, ratio: float = 2.0) -> Interval:
    """Enclose the order ``p`` in ``error ~ h**p`` from errors at parameters ``ratio`` times smaller each.

    Returns
    -------
    Interval
        Of kind ``TREND`` or weaker: the last local slope, twice what its changes leave and the errors' own width.
        Unknown when the slopes do not settle or an error may vanish.

    Raises
    ------
    ValueError
        If there are fewer than four levels or ``ratio <= 1``.
    """
    levels = [abs(e) for e in _levels(errors, "errors")]
    ratio = as_number(ratio, "ratio")
    if len(levels) < LEVELS or not ratio > 1.0:
        raise ValueError(f"errors, ratio: expected at least {LEVELS} levels and ratio > 1, got {len(levels)}, {ratio}")
    kind = max(Kind.TREND, *(e.kind for e in levels))
    if any(e.lo <= 0.0 or math.isinf(e.hi) for e in levels):
        return Interval.unknown(kind)
    step = math.log(ratio)
    quotients = [a / b for a, b in itertools.pairwise(levels)]
    if any(q.lo <= 0.0 or math.isinf(q.hi) for q in quotients):
        return Interval.unknown(kind)

    def slope(q: Interval) -> Interval:
        low, high = math.log(q.lo) / step, math.log(q.hi) / step
        slack = 4 * math.ulp(max(abs(low), abs(high)))  # two logarithms within an ulp each and a quotient
        return Interval(low - slack, high + slack, kind)

    slopes = [slope(q) for q in quotients]
    changes = [b.mid - a.mid for a, b in itertools.pairwise(slopes)]
    return slopes[-1] + Interval.within(0.0, 2.0 * _left(changes, max(s.width for s in slopes)))
