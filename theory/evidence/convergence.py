r"""Limits and orders from a few levels, with a width that admits that a trend is not a proof.

Level :math:`k` carries a parameter :math:`h_0 r^{-k}`. If :math:`v_k = v + c\,h_k^p + o(h_k^p)`, one Richardson step
:math:`v_{k+1} + (v_{k+1} - v_k)/(r^p - 1)` removes the leading term; the last change of the extrapolated values
bounds what is left, if it still shrinks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from theory.evidence.interval import Interval, Kind, Number, enclose

_SAFETY = 1.25  # taken: grid convergence index with three or more levels (Roache 1994)
LEVELS = 4


def _settled(changes: Sequence[float], floor: float) -> bool:
    """Tell whether the changes shrink, or are rounding already."""
    return all(abs(b) <= max(abs(a), floor) for a, b in itertools.pairwise(changes))


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
        Of kind ``TREND`` or weaker: the last Richardson value, 1.25 times the last change of such values and the
        levels' own width. Unknown when the changes grow.

    Raises
    ------
    ValueError
        If there are fewer than four levels, ``ratio <= 1`` or ``order <= 0``.
    """
    levels = [enclose(v) for v in values]
    if len(levels) < LEVELS or not ratio > 1.0 or not order > 0.0:
        raise ValueError(
            f"values, ratio, order: expected at least {LEVELS} levels, ratio > 1, order > 0, "
            f"got {len(levels)}, {ratio}, {order}"
        )
    kind = max(Kind.TREND, *(v.kind for v in levels))
    factor = Interval.exactly(ratio**order - 1.0)
    extrapolated = [b + (b - a) / factor for a, b in itertools.pairwise(levels)]
    changes = [b.mid - a.mid for a, b in itertools.pairwise(extrapolated)]
    floor = max(v.width for v in extrapolated)
    if not _settled(changes, floor):
        return Interval.unknown(kind)
    slack = _SAFETY * abs(changes[-1])
    return Interval(extrapolated[-1].lo - slack, extrapolated[-1].hi + slack, kind)


def order(errors: Sequence[Number], *, ratio: float = 2.0) -> Interval:
    """Enclose the order ``p`` in ``error ~ h**p`` from errors at parameters ``ratio`` times smaller each.

    Returns
    -------
    Interval
        Of kind ``TREND`` or weaker: the last local slope, twice its last change and the errors' own width. Unknown
        when the slopes do not settle or an error may vanish.

    Raises
    ------
    ValueError
        If there are fewer than four levels or ``ratio <= 1``.
    """
    levels = [abs(enclose(e)) for e in errors]
    if len(levels) < LEVELS or not ratio > 1.0:
        raise ValueError(f"errors, ratio: expected at least {LEVELS} levels and ratio > 1, got {len(levels)}, {ratio}")
    kind = max(Kind.TREND, *(e.kind for e in levels))
    if any(e.lo <= 0.0 or math.isinf(e.hi) for e in levels):
        return Interval.unknown(kind)
    step = math.log(ratio)
    slopes = [
        Interval(math.log(a.lo / b.hi) / step, math.log(a.hi / b.lo) / step, kind)
        for a, b in itertools.pairwise(levels)
    ]
    changes = [b.mid - a.mid for a, b in itertools.pairwise(slopes)]
    if not _settled(changes, max(s.width for s in slopes)):
        return Interval.unknown(kind)
    return slopes[-1] + Interval.within(0.0, 2.0 * abs(changes[-1]) + 8 * math.ulp(1.0))
