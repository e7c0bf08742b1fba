"""Eigenvalues of layers on the circle for falling bandwidths, and the slowest rates of their limit between wells."""

from __future__ import annotations

import numpy as np

from theory.diffusion.layers.equilibrium import chain_spectrum, relaxation_rate
from theory.diffusion.layers.stacking import TokenLayer
from theory.diffusion.limits.grid import PeriodicGrid
from theory.diffusion.limits.operators import chordal
from theory.diffusion.studies.wavy import WAVY_DENSITY
from theory.evidence import Interval, Kind, Table, exact

LEVELS = {"quick": 6, "paper": 7}
HEIGHTS = {"quick": (1, 2, 3, 4, 6, 8, 12, 16, 32, 64), "paper": (1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128)}
_INDICES = 8
_NODES = {"quick": 144, "paper": 200}  # kernels of width 1/16 and 1/23 are resolved to exp(-40)
_START = 0.125


def rates(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    r"""Return rates: of layers with the chordal kernel, and of the limit with two wells.

    For ``part`` equal to ``layer``, ``value`` is :math:`2(1 - \mu_k)/\varepsilon` with the eigenvalues of attention
    among equidistant tokens that weigh their density. For ``wells`` it is the smallest positive eigenvalue of
    :math:`-L` for :math:`p \propto e^{b\cos 2x}`, with b in the column ``height``.
    """
    grid = PeriodicGrid((_NODES[scale],))
    rows: list[tuple[str, float, int, int, Interval]] = []
    for level in range(LEVELS[scale]):
        epsilon = _START * 0.5**level
        layer = TokenLayer(exact(grid.nodes), epsilon, score=chordal(epsilon), weights=_masses(grid))
        values = (1.0 - chain_spectrum(layer.rows)) * 2.0 / epsilon
        rows += [("layer", epsilon, index, 0, values[index]) for index in range(_INDICES)]
    rows += [("wells", 0.0, 1, height, relaxation_rate(height, sector=1)) for height in HEIGHTS[scale]]
    parts, epsilons, indices, heights, values = zip(*rows, strict=True)
    columns = {"part": parts, "epsilon": epsilons, "index": indices, "height": heights, "value": values}
    return Table(Kind.NUMERIC, dict.fromkeys(columns, "1"), columns)


def _masses(grid: PeriodicGrid) -> np.ndarray:
    p = WAVY_DENSITY(grid.axes[0])
    return np.asarray(p / p.sum())
