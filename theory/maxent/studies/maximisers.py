"""Which laws of two and three scores are best: for the mean score, with an entropy as well, and by their angle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory.evidence import Interval, Kind, Table
from theory.evidence.roundoff import gamma
from theory.maxent.gibbs.principle import gibbs_law
from theory.maxent.layers.naive import cosine_law, linear_law
from theory.maxent.sparse.entmax import entmax
from theory.maxent.sparse.sorting import sparsemax

Array = NDArray[np.float64]
PLANE = (1.0, 0.5)
PLANE_TEMPERATURES = (0.25, 1.0, 4.0)
PATH = (1.0, 0.5, -0.5)
_REACH = 3.0  # taken: beyond a distance of two the last of the maps has left its support
_BESIDE = 2.0**-10  # taken: a distance too small to see


class _Point(NamedTuple):
    """A law, what it was computed for, and the absolute errors of its weights."""

    part: str
    best: str
    tau: float
    scores: tuple[float, ...]
    law: Array
    error: Array


def maximisers(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    """Return the maximisers over laws of two and three scores, each weight with what rounding may have moved it.

    ``part`` is ``plane`` (scores ``PLANE``), ``step`` (scores (d, 0) against d) or ``path`` (scores ``PATH`` against
    temperature); ``best`` names the map. With two scores the third and its weight are zero; a map without a
    temperature has zero there.
    """
    fine = 8 if scale == "quick" else 32
    points = [*_plane(), *_step(fine), *_path(fine)]
    columns: dict[str, list[float] | list[str]] = {
        "part": [p.part for p in points], "best": [p.best for p in points], "tau": [p.tau for p in points]
    }  # fmt: skip
    weights: dict[str, list[Interval]] = {}
    for k in range(3):
        columns[f"s{k + 1}"] = [p.scores[k] if k < len(p.scores) else 0.0 for p in points]
        weights[f"p{k + 1}"] = [
            Interval.within(float(p.law[k]), float(p.error[k])) if k < p.law.size else Interval.exactly(0.0)
            for p in points
        ]
    return Table(Kind.NUMERIC, dict.fromkeys([*columns, *weights], "1"), {**columns, **weights})


def _plane() -> Iterator[_Point]:
    vertex = linear_law(PLANE)
    aligned = cosine_law(PLANE)
    yield _Point("plane", "mean score", 0.0, PLANE, vertex, np.zeros(2))
    yield _Point("plane", "cosine", 0.0, PLANE, aligned, gamma(8) * aligned)
    for tau in PLANE_TEMPERATURES:
        yield _softmax("plane", PLANE, tau)


def _step(fine: int) -> Iterator[_Point]:
    """Vary the distance of two scores; at a tie the mean score has no unique maximiser and is left out."""
    for d in np.arange(-_REACH, _REACH + 1 / fine, 1 / fine).tolist():
        scores = (d, 0.0)
        yield _softmax("step", scores, 1.0)
        for order in (1.5, 2.0):
            yield _Point("step", f"entmax {order:g}", 1.0, scores, entmax(scores, order), _sparse_error(2))
        for beside in (d,) if d != 0.0 else (-_BESIDE, _BESIDE):
            yield _Point("step", "mean score", 0.0, (beside, 0.0), linear_law((beside, 0.0)), np.zeros(2))


def _path(fine: int) -> Iterator[_Point]:
    """Cool from nearly equal weights to nearly one vertex; the temperatures at which a weight leaves are among them."""
    for tau in sorted({*(2.0 ** (np.arange(-5 * fine, 7 * fine + 1) / fine)).tolist(), 2.5, 0.5}, reverse=True):
        yield _softmax("path", PATH, tau)
        yield _Point("path", "entmax 2", tau, PATH, sparsemax(PATH, tau=tau), _sparse_error(3))


def _softmax(part: str, scores: tuple[float, ...], tau: float) -> _Point:
    law, error = gibbs_law(scores, tau=tau)
    return _Point(part, "softmax", tau, scores, law, error * law)


def _sparse_error(n: int) -> Array:
    """Bound the error of every weight of entmax of order 3/2 or 2: that of its base, and a share of the sum's."""
    return np.full(n, gamma(2 * n + 16))
