"""Sweeps shared by the claims and the figures of this room."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from theory.evidence import Interval, Kind, study
from theory.positions.influence import walk_on
from theory.positions.pieces import admissible_bases, least_sum_beyond
from theory.positions.rotary import least_base, least_sum

WINDOW = 100
SHARE = Fraction(1, 100)  # of influence that may come from beyond a horizon
RESIDUALS = (Fraction(0), Fraction(9, 10), Fraction(19, 20))
DEPTHS = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 100)
PROFILES = (12, 32, 100)  # depths of which the law of distances is kept
HEAD = 128  # the dimension of a head, as in most models
LENGTH = 1024
WITNESSES = (4300.0, 5000.0, 5620.0, 5800.0, 6100.0)  # by turns admissible and not, at this dimension and length
NARROW = 64
NARROW_WITNESSES = (
    7800.0,
    8700.0,
    9000.0,
    11000.0,
    14000.0,
    16000.0,
    16700.0,
    17400.0,
    19000.0,
    20500.0,
    21500.0,
    22500.0,
    24000.0,
)
_GRIDS = ((HEAD, 4000.0, 7000.0, 120, WITNESSES), (NARROW, 7000.0, 30000.0, 120, NARROW_WITNESSES))
_LENGTHS = (256, 512, 1024, 2048, 4096, 8192)
SERVED = {  # dimensions, lengths, and bases from which on a bound shows that all are admissible
    "quick": ((HEAD, 256, 5e4), (HEAD, LENGTH, 8e5)),
    "paper": ((HEAD, 256, 5e4), (HEAD, LENGTH, 8e5), (HEAD, 2048, 4e6), (HEAD, 4096, 1.2e7), (NARROW, LENGTH, 1e6)),
}


@study(Kind.CERTIFIED)
def horizons(*, scale: str, root: int) -> Iterator[dict[str, Any]]:  # noqa: ARG001  nothing is drawn here
    """Yield how far influence travels through causal windows of 100 tokens.

    ``part`` "horizon": the least ``distance`` beyond which at most one hundredth of all influence lies, and how much in
    ``value``. "mean": the mean distance, in ``value`` its deviation. "law": in ``value`` what one token counts.
    """
    for residual in RESIDUALS:
        for depth, walk in zip(range(DEPTHS[-1] + 1), walk_on(WINDOW, residual), strict=False):
            if depth not in DEPTHS:
                continue
            row = {"residual": float(residual), "depth": depth}
            reach = walk.horizon(SHARE)
            yield {"part": "horizon", **row, "distance": float(reach), "value": Interval.exactly(walk.beyond(reach))}
            deviation = Interval.exactly(walk.variance()).sqrt()
            yield {"part": "mean", **row, "distance": float(walk.mean()), "value": deviation}
            if depth in PROFILES and residual == RESIDUALS[-1]:
                for distance in range(0, 9 * WINDOW + 1, WINDOW // 10):
                    value = Interval.exactly(walk.at(distance))
                    yield {"part": "law", **row, "distance": float(distance), "value": value}


@study(Kind.NUMERIC)
def bases(*, scale: str, root: int) -> Iterator[dict[str, Any]]:  # noqa: ARG001
    """Yield which bases of rotary positions are admissible.

    ``part`` "sum": in ``value`` the least sum of cosines over all distances less than ``length``, for bases on a grid
    and some others. "end": where the admissible bases begin and end, by turns. "beyond": the least sum of all bases
    from here on. "least": the least admissible base. ``base`` is the upper end of these.
    """
    for dim, lo, hi, count, more in _GRIDS:
        for base in sorted({*np.geomspace(lo, hi, count).round(2).tolist(), *more}):
            value = least_sum(base, LENGTH - 1, dim)
            yield {"part": "sum", "dim": dim, "length": LENGTH, "base": base, "value": value}
    least: dict[int, Interval] = {}
    for dim, length, top in SERVED[scale]:
        case = {"dim": dim, "length": length}
        pieces = admissible_bases(top, length - 1, dim)
        for end in [end for piece in pieces for end in piece if math.isfinite(end.hi)]:
            yield {"part": "end", **case, "base": end.hi, "value": end}
        yield {"part": "beyond", **case, "base": top, "value": least_sum_beyond(top, length - 1, dim)}
        if dim == HEAD:
            least[length] = pieces[0].opens
    for length in _LENGTHS:
        found = least.get(length) or least_base(1e6, length - 1, HEAD)
        yield {"part": "least", "dim": HEAD, "length": length, "base": found.hi, "value": found}
