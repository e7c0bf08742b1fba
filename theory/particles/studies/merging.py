r"""The closest pair of several clusters on its way together, in a clock that runs with it and in one that does not."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory.evidence import Kind, Table
from theory.particles.exact.merging import follow_pair

MERGING_BETAS = (10.0, 20.0, 40.0, 80.0, 160.0, 320.0)
MERGING_END = 0.3  # radians: the angle up to which the times are compared
_PATH = {"quick": 10, "paper": 60}


class Clusters(NamedTuple):
    """Unit vectors, the closest pair first, and weights."""

    points: NDArray[np.float64]
    weights: tuple[float, ...]


def on_circle(*angles: float) -> NDArray[np.float64]:
    """Return the points of the circle at these angles."""
    return np.column_stack([np.cos(angles), np.sin(angles)])


_PAIR = np.array([[0.0, 0.0, 1.0], [np.sin(0.9), 0.0, np.cos(0.9)]])
_REST = np.array([[0.0, np.sin(1.3), np.cos(1.3)], [-np.sin(1.5), 0.0, np.cos(1.5)]])
MERGING_STARTS = {
    "three": Clusters(on_circle(0.0, 0.8, 2.2), (0.5, 0.2, 0.3)),
    "two": Clusters(on_circle(0.0, 1.1), (0.9, 0.1)),
    "sphere": Clusters(np.vstack([_PAIR, _REST]), (0.15, 0.25, 0.4, 0.2)),
}


def merging(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    """Return both clocks as the pair comes nearer, and what the others have travelled.

    ``start`` names the clusters; ``running``, ``frozen``, ``first`` and ``others`` are as in
    :class:`theory.particles.exact.Approach`. The path of the first start is followed closely, of the others its end.
    """
    names = ("start", "beta", "angle", "running", "frozen", "first", "others")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for start, clusters in MERGING_STARTS.items():
        for beta in MERGING_BETAS:
            angles = np.array([MERGING_END])
            if start == "three":
                angles = np.append(
                    np.linspace(0.8, MERGING_END, _PATH[scale] + 1)[1:],
                    [0.25, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01],
                )
            found = follow_pair(clusters.points, clusters.weights, beta, angles)
            lists = (found.running, found.frozen, found.first, found.others)
            for angle, *cells in zip(angles.tolist(), *lists, strict=True):
                for name, cell in zip(names, (start, beta, angle, *cells), strict=True):
                    columns[name].append(cell)
    return Table(Kind.ESTIMATED, dict.fromkeys(names, "1") | {"angle": "rad"}, columns)
