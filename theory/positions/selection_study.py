"""The sweep of widths and margins of selecting heads, for their figure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from theory.evidence import Interval, Kind, ball, hull, precision, study
from theory.positions.selection import least_width, margin_ceiling, moment_keys, selecting_query

CHOSEN = (1, 2, 3)
KEYS = tuple(range(2, 15))
_SETS = 150  # taken: of so many sets of keys, at most, margins are computed
_FINEST = 1000  # taken: denominators of tangents; angles are equal to about one in a thousand


@study(Kind.CERTIFIED)
def widths(*, scale: str, root: int) -> Iterator[dict[str, Any]]:  # noqa: ARG001  nothing is drawn here
    """Yield widths and margins by the number of keys.

    ``part`` "width": the least width. "ceiling": what no margin of unit keys and queries exceeds. "layout": the least
    margin, over sets of so many keys, of those laid out on the trigonometric moment curve at nearly equal angles; it is
    there where such sets are few enough.
    """
    for chosen in CHOSEN:
        for keys in KEYS:
            if keys > chosen:
                row = {"chosen": chosen, "keys": keys}
                yield {"part": "width", **row, "value": Interval.exactly(least_width(keys, chosen))}
                yield {"part": "ceiling", **row, "value": margin_ceiling(keys, chosen)}
            if keys > 2 * chosen and math.comb(keys, chosen) <= _SETS:
                yield {"part": "layout", **row, "value": _least_margin(keys, chosen)}


def _least_margin(keys: int, chosen: int) -> Interval:
    """Enclose the least margin of unit queries, with keys scaled to norm one."""
    tangents = [math.tan(math.pi * (i + 0.25) / keys - math.pi / 2.0) for i in range(keys)]
    places = np.array([float(Fraction(t).limit_denominator(_FINEST)) for t in tangents])
    laid = moment_keys(places, chosen)
    found = []
    for selected in combinations(range(keys), chosen):
        query, score = selecting_query(places, chosen, selected)
        below = score - max(laid[i] @ query for i in range(keys) if i not in selected)
        with precision():
            found.append(hull(ball(below) / (ball(query @ query) * chosen).sqrt()))
    return min(found, key=lambda margin: margin.lo)
