"""What one layer makes of a function, from a thousand to a million independent tokens, on the circle and the torus."""

from __future__ import annotations

from typing import Any

import numpy as np

from theory.diffusion.limits.grid import PeriodicGrid
from theory.diffusion.limits.operators import chordal, propagate
from theory.diffusion.studies.sampling import cloud, sampled_function
from theory.evidence import Interval, Kind, Table, stream
from theory.evidence.roundoff import U

MILLION_COUNTS = (10**3, 10**4, 10**5, 10**6)
MILLION_EPSILON = {1: 0.04, 2: 0.1}
MILLION_PLACES = {1: 64, 2: 32}  # per axis
ACCURACY, DECIMALS = 1e-9, 9  # of fast sums; threads add in any order, so that what they return is rounded


def million(*, scale: str, root: int) -> Table:  # noqa: ARG001  a million at every scale
    r"""Return :math:`(\hat P_\varepsilon h - h)/\varepsilon` on a grid, from the first N of a million tokens.

    The width is what the fast sums promise, or the rounding of sums over all pairs, which is below it. ``tokens`` are
    those to which the place is the nearest one.
    """
    rows = []
    for d in (1, 2):
        grid = PeriodicGrid((MILLION_PLACES[d],) * d)
        epsilon = MILLION_EPSILON[d]
        keys = cloud(d, MILLION_COUNTS[-1], stream("diffusion.million", d, root=root))
        values, here = sampled_function(*keys.T), sampled_function(*grid.nodes.T)
        error = ACCURACY * float(np.abs(values).max()) + 0.5 * 10.0**-DECIMALS + 64 * U
        cells = np.rint(keys * MILLION_PLACES[d] / (2.0 * np.pi)).astype(np.int64) % MILLION_PLACES[d]
        nearest = np.ravel_multi_index(tuple(cells.T), grid.shape)
        for n in MILLION_COUNTS:
            fast: dict[str, Any] = {"method": "nufft", "accuracy": ACCURACY} if n * grid.size > 2**24 else {}
            found = propagate(grid.nodes, keys[:n], values[:n], epsilon, score=chordal(epsilon), **fast).round(DECIMALS)
            counts = np.bincount(nearest[:n], minlength=grid.size)
            for place, (moved, at, count) in enumerate(
                zip(found.tolist(), here.tolist(), counts.tolist(), strict=True)
            ):
                change = Interval.within(moved - at, error, Kind.NUMERIC) / epsilon
                rows.append((d, n, epsilon, place, count, change))
    names = ("d", "n", "epsilon", "place", "tokens", "change")
    return Table(Kind.NUMERIC, dict.fromkeys(names, "1"), dict(zip(names, zip(*rows, strict=True), strict=True)))
