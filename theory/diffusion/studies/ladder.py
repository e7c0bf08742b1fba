r"""One layer on the circle by exact multipliers, for falling bandwidths and two kernels."""

from __future__ import annotations

import numpy as np

from theory.diffusion.limits.grid import PeriodicGrid
from theory.diffusion.limits.operators import chordal_multiplier, convolve, heat_multiplier
from theory.diffusion.studies.wavy import WAVY_DENSITY, wavy_function
from theory.evidence import Interval, Kind, Table
from theory.evidence.roundoff import U

LEVELS = {"quick": 7, "paper": 8}
NODES = 256
PLACES = {"quick": 8, "paper": 32}
_START = 0.08
_MULTIPLIERS = {"heat": heat_multiplier, "chordal": chordal_multiplier}


def ladder(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    r"""Return :math:`(P_\varepsilon h - h)/\varepsilon` of :func:`wavy_function` at some nodes of the grid.

    The width is the rounding of the transforms (:meth:`PeriodicGrid.rounding`) of a quotient of two sums of
    size one, of which the lower is at least the least density; multipliers and densities are within 64 u.
    """
    grid = PeriodicGrid((NODES,))
    x = grid.axes[0]
    p = WAVY_DENSITY(x)
    h = wavy_function(x)
    chosen = np.arange(0, NODES, NODES // PLACES[scale])
    rows = []
    for name, multiplier in _MULTIPLIERS.items():
        for level in range(LEVELS[scale]):
            epsilon = _START * 0.5**level
            found = convolve(grid, p, h, multiplier(epsilon))
            width = 2.0 * (grid.rounding(h * p) + 2.0 * grid.rounding(p)) / float(p.min()) + 256 * U * 2.0
            for node in chosen.tolist():
                change = (
                    Interval.within(found[node], width, Kind.NUMERIC) - Interval.within(h[node], 16 * U)
                ) / epsilon
                rows.append((name, epsilon, float(x[node]), change))
    kernels, epsilons, places, changes = zip(*rows, strict=True)
    units = {"kernel": "1", "epsilon": "1", "x": "rad", "change": "1"}
    return Table(Kind.NUMERIC, units, {"kernel": kernels, "epsilon": epsilons, "x": places, "change": changes})
