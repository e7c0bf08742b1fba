"""The free energy on the simplex, and how far it falls short of its maximum."""

from __future__ import annotations

import numpy as np

from theory.evidence import Interval, Kind, Table
from theory.maxent.gibbs.principle import divergence, free_energy, gibbs_law

SCORES = (1.0, 0.2, -0.6)
TEMPERATURES = (0.25, 1.0, 4.0)


def landscape(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    """Return free energy and divergence from softmax on a grid of the simplex over three scores, at three temperatures.

    Rows run over temperatures and grid points, vertices and edges included; ``best`` is the free energy of softmax
    and ``divergence`` is KL(p || softmax), both per point of the grid.
    """
    cells = 32 if scale == "quick" else 60
    laws = [(i / cells, j / cells, (cells - i - j) / cells) for i in range(cells + 1) for j in range(cells + 1 - i)]
    rows: dict[str, list[float]] = {name: [] for name in ("tau", "p1", "p2", "p3", "best1", "best2", "best3")}
    energy: list[Interval] = []
    best: list[Interval] = []
    gap: list[Interval] = []
    for tau in TEMPERATURES:
        optimum, error = gibbs_law(SCORES, tau=tau)
        top = free_energy(SCORES, optimum, tau=tau) + _displaced(tau, error)
        for p in laws:
            for name, value in zip(rows, (tau, *p, *optimum), strict=True):
                rows[name].append(float(value))
            energy.append(free_energy(SCORES, p, tau=tau))
            best.append(top)
            gap.append(divergence(p, optimum) + Interval.within(0.0, 2.0 * error))
    pure = dict.fromkeys([*rows, "free_energy", "best", "divergence"], "1")
    return Table(Kind.NUMERIC, pure, {**rows, "free_energy": energy, "best": best, "divergence": gap})


def _displaced(tau: float, error: float) -> Interval:
    """Enclose what the free energy of the computed softmax misses, to first order and twice over."""
    size = float(np.abs(SCORES).max()) + tau * (1.0 + np.log(len(SCORES)))
    return Interval.within(0.0, 2.0 * error * size)
