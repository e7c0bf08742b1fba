r"""One query among the same points under seven methods: the row of weights with which each averages the points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.attention import DotProduct, SquaredDistance
from theory.attention.score import Score
from theory.attention.variants import attend_rows
from theory.diffusion.similarity.instances import (
    LogDistance,
    attend_density_corrected,
    biased_weights,
    nearest_rows,
    regroup,
)
from theory.diffusion.similarity.pipeline import normalise_columns, normalise_rows
from theory.evidence import Interval, Kind, Table, exact, stream

Array = NDArray[np.float64]
CENTRES = np.array([[0.5, 0.25], [2.75, 0.0], [1.25, 2.5]])
MIDDLES = np.array([[0.0, 0.0], [2.5, 0.25], [1.25, 2.25]])
SPREADS = np.array([0.7, 0.3, 0.5])
COUNTS = {"quick": (18, 27, 15), "paper": (36, 54, 30)}
HEAT, NEAREST, FUZZIFIER = 0.5, 12, 2.0  # inverse bandwidth 1 / 2 h^2, neighbours, and the exponent of fuzzy c-means
METHODS = ("k-means", "fuzzy c-means", "mean shift", "k nearest", "diffusion maps", "t-SNE", "attention")


def zoo(*, scale: str, root: int) -> Table:
    """Return the weight of every point in the row of the first centre, for every method."""
    rng = stream("diffusion.zoo", 0, root=root)
    parts = zip(MIDDLES, SPREADS, COUNTS[scale], strict=True)
    points = np.concatenate([middle + spread * rng.normal(size=(count, 2)) for middle, spread, count in parts])
    weights: list[Interval] = []
    for name in METHODS:
        weights += list(row_of(name, points))
    count = len(METHODS)
    places = {"x1": np.tile(points[:, 0], count), "x2": np.tile(points[:, 1], count)}
    return Table(
        Kind.NUMERIC,
        {"method": "1", "x1": "1", "x2": "1", "weight": "1"},
        {"method": np.repeat(METHODS, len(points)), **places, "weight": weights},
    )


def row_of(name: str, points: Array) -> Any:
    """Enclose the row of a method at the first centre, shape (n,)."""
    query, centres, x = exact(CENTRES[:1]), exact(CENTRES), exact(points)
    heat = SquaredDistance(HEAT)
    every = np.eye(len(points))
    if name == "k-means":
        hard = attend_rows(points, CENTRES, np.eye(3), rows=lambda s: nearest_rows(s, 1), score=heat)
        return normalise_columns(exact(hard))[:, 0]
    if name == "fuzzy c-means":
        inner = LogDistance(1.0 / (FUZZIFIER - 1.0))
        back = LogDistance(FUZZIFIER / (FUZZIFIER - 1.0))
        return regroup(x, centres, inner, power=FUZZIFIER, back=back, values=every)[0]
    if name == "k nearest":
        row = attend_rows(CENTRES[:1], points, every, rows=lambda s: nearest_rows(s, NEAREST), score=heat)
        return normalise_rows(exact(row))[0]
    if name == "diffusion maps":
        return attend_density_corrected(x, heat, queries=query)[0]
    scores: dict[str, Score] = {"t-SNE": LogDistance(1.0, 1.0), "attention": DotProduct(scale=1.0)}
    return biased_weights(query, x, scores.get(name, heat))[0]
