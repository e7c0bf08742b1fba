"""The sweep of widths and margins of selecting heads, for their figure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from theory.evidence import Interval, Kind, ball, hull, precision, study
from theory.positions.selection import Exact, least_width, margin_ceiling, moment_keys

CHOSEN = (1, 2, 3)
KEYS = tuple(range(2, 15))
_SETS = 150  # taken: of so many sets of keys, at most, margins are computed
_GRID = 2**24  # taken: by which queries and weights are rounded, so that they are the same everywhere
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
    whole = math.lcm(*(x.denominator for key in laid.tolist() for x in key))
    scaled = np.array([[int(x * whole) for x in key] for key in laid], dtype=object)
    found = [_margin(scaled, whole, selected, chosen) for selected in combinations(range(keys), chosen)]
    return Interval(min(margin.lo for margin in found), min(margin.hi for margin in found), Kind.CERTIFIED)


def _margin(laid: Exact, whole: int, which: tuple[int, ...], chosen: int) -> Interval:
    """Enclose the largest margin of a set, the distance of two hulls: below it a query's, above two points'.

    Keys are whole numbers over a common denominator.
    """
    from scipy.optimize import lsq_linear  # noqa: PLC0415  slow to load

    others = [i for i in range(len(laid)) if i not in which]
    apart = np.array([laid[i] - laid[j] for i in which for j in others])
    rows = np.concatenate([(apart.T / whole).astype(np.float64), np.ones((1, len(apart)))])
    # in proportion to those of the nearest point to 0; nnls may not end in SciPy 1.14
    shares = lsq_linear(rows, np.eye(len(rows))[-1], (0.0, np.inf), method="bvls").x
    weights = np.array([int(w) for w in np.rint(shares / shares.sum() * _GRID)], dtype=object)
    nearest, scale = weights @ apart, sum(weights) * whole
    along = (nearest / scale).astype(np.float64)
    query = np.array([int(x) for x in np.rint(along / np.linalg.norm(along) * _GRID)], dtype=object)
    with precision():
        below = hull(ball(Fraction(min(apart @ query), whole)) / (ball(query @ query) * chosen).sqrt())
        above = hull((ball(Fraction(nearest @ nearest, scale**2)) / chosen).sqrt())
    return Interval(below.lo, above.hi, Kind.CERTIFIED)
