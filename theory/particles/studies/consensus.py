"""Consensus: how clouds collapse onto it, and which starts reach it on complete graphs and on rings."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.attention import DotProduct
from theory.evidence import Interval, Kind, Table, stream
from theory.particles.dynamics.fields import SoftmaxField, Tangential
from theory.particles.dynamics.flows import flow
from theory.particles.dynamics.graph import GraphField, complete, consensus_gap, mean_length, ring, twisted
from theory.particles.exact.half_sphere import CollapseField

Array = NDArray[np.float64]
WINDOWS = 8
HORIZON = 2.0**20  # taken: long after the slowest start that was seen, two clusters that were almost opposite
RING = 10
NOISE = 1e-3
NAMED = np.array([[1, 0, 0], [0, 1, 0], [-1, 1, 1], [1, 1, 2], [2, -1, 1], [0, 2, -1]], dtype=np.float64)
FORM = np.array([[1.0, 0.5, 0.0], [-0.5, 0.25, 1.0], [0.0, -1.0, 0.5]])
_NAME = "particles.consensus"


def collapses(*, scale: str, root: int) -> Table:
    r"""Return the size of clouds on their way to consensus at nine equidistant times.

    ``way`` is SA, USA, or ``causal`` with random scores :math:`\langle x, By\rangle`. ``clock`` is the time in units of
    one (SA), :math:`e^{-\beta}` (USA) or 48 (causal) since the cloud lay in a half-sphere, ``time`` the time itself.
    ``log`` is the logarithm of the geodesic diameter and ``gap`` that of :math:`1 - \min\langle x_i, x_j\rangle`. The
    last columns are of ``causal``: how far the tokens are at most from the first one, which does not move, and how far
    that is from where the mean of all tokens pointed at the start, in radians.
    """
    keys = ("way", "n", "d", "beta", "start", "clock", "time", "log", "gap", "from_first", "from_mean")
    columns: dict[str, list[Any]] = {key: [] for key in keys}
    for number, (way, n, d, beta) in enumerate(_clouds(scale)):
        rng = stream(f"{_NAME}.collapses", number, root=root)
        for row in _causal(rng, n, d) if way == "causal" else _full(rng, way, n, d, beta):
            for key, cell in zip(columns, (way, n, d, beta, number, *row), strict=True):
                columns[key].append(cell)
    return Table(Kind.ESTIMATED, dict.fromkeys(columns, "1"), columns)


def _clouds(scale: str) -> list[tuple[str, int, int, float]]:
    cases = [(way, n, d, b) for b in (0.0, 1.0, 3.0, 6.0) for way, n, d in (("SA", 5, 3), ("USA", 5, 3))]
    cases += [("SA", 16, 2, 1.0), ("causal", 6, 3, 1.0), ("causal", 6, 3, 1.0), ("causal", 2, 3, 1.0)]
    if scale == "paper":
        sizes = ((2, 2), (3, 8), (40, 4))
        cases += [(way, n, d, b) for b in (0.5, 2.0, 6.0) for way in ("SA", "USA") for n, d in sizes]
        cases += [("causal", n, d, 1.0) for n in (3, 6, 12) for d in (2, 3, 5)]
    return cases


def _full(rng: np.random.Generator, way: str, n: int, d: int, beta: float) -> Iterator[tuple[Any, ...]]:
    centre = np.eye(d)[0]
    tokens = centre + 0.5 * rng.normal(size=(n, d)) / math.sqrt(d * (1.0 + beta))  # as wide as weights differ
    tokens[:, 0] = np.maximum(np.abs(tokens[:, 0]), 0.25)
    field = CollapseField(centre, beta, normalised=way == "SA")
    unit = 1.0 if way == "SA" else math.exp(-beta)
    nothing = Interval.exactly(0.0)
    for clock, time, log, apart, _ in _followed(field, tokens, unit):
        yield clock, time, log, apart, nothing, nothing


def _causal(rng: np.random.Generator, n: int, d: int) -> Iterator[tuple[Any, ...]]:
    """Follow random tokens until they lie in a half-sphere around the first one, and from there to consensus."""
    tokens, form = rng.normal(size=(n, d)), rng.normal(size=(d, d))
    tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
    far = Tangential(SoftmaxField(DotProduct(form=form), causal=True))
    first = tokens[0]
    mean = tokens.mean(axis=0)
    waited = 0
    while not (tokens @ first).min() > 0.5:
        tokens = flow(far, tokens, np.array([0.0, 8.0]), rtol=1e-7, atol=1e-9).last
        tokens = np.vstack([first, tokens[1:]])  # it sees itself only, and does not move
        waited += 8
        if waited > 800:
            raise ArithmeticError("tokens: expected a half-sphere around the first one by the time 800, got none")
    field = CollapseField(first, form=form, causal=True)
    sine = np.linalg.norm(first - (first @ mean) * mean / (mean @ mean))
    angle = math.atan2(float(sine), float(first @ mean) / math.sqrt(float(mean @ mean)))
    away = Interval.within(angle, 1e-13 * (1.0 + 1.0 / math.sqrt(float(mean @ mean))))
    for clock, time, log, apart, reach in _followed(field, tokens, 48.0):
        yield clock, time, log, apart, reach, away


def anchors(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    r"""Return how far six named tokens are from two places after the time 40.

    ``mask`` is ``causal`` or ``full``, with scores :math:`\langle x, By\rangle`; ``start`` is ``named``, or
    ``opposite`` where the second token is minus the first. ``first`` is the largest distance from
    where the first token started and ``mean`` that from where the mean of the tokens pointed.
    """
    columns: dict[str, list[Any]] = {key: [] for key in ("mask", "start", "first", "mean")}
    for mask, start in (("causal", "named"), ("causal", "opposite"), ("full", "named")):
        tokens = NAMED / np.linalg.norm(NAMED, axis=1, keepdims=True)
        if start == "opposite":
            tokens[1] = -tokens[0]
        first = tokens[0].copy()
        mean = tokens.mean(axis=0) / np.linalg.norm(tokens.mean(axis=0))
        field = Tangential(SoftmaxField(DotProduct(form=FORM), causal=mask == "causal"))
        path = flow(field, tokens, np.array([0.0, 40.0]), rtol=1e-6, atol=1e-8)
        found = (path.observe(partial(_farthest, to))[-1] for to in (first, mean))
        for key, cell in zip(columns, (mask, start, *found), strict=True):
            columns[key].append(cell)
    return Table(Kind.ESTIMATED, dict.fromkeys(columns, "1"), columns)


def _farthest(place: Array, tokens: Array) -> float:
    return float(np.linalg.norm(tokens - place, axis=1).max())


def _followed(
    field: CollapseField, tokens: Array, unit: float
) -> Iterator[tuple[int, float, Interval, Interval, Interval]]:
    times = unit * np.arange(WINDOWS + 1.0)
    path = flow(field, field.state(tokens), times, rtol=1e-10, atol=1e-12)

    def log_gap(state: Array) -> float:
        return math.log(2.0) + 2.0 * math.log(math.sin(0.5 * math.exp(field.log_diameter(state))))

    def reach(state: Array) -> float:
        """Return the largest angle with the first token, if that is at the centre."""
        cloud = field.read(state)
        return math.atan(math.exp(cloud.log_size) * float(np.linalg.norm(cloud.shape, axis=1).max()))

    found = (path.observe(g) for g in (field.log_diameter, log_gap, reach))
    for clock, (time, log, apart, angle) in enumerate(zip(times.tolist(), *found, strict=True)):
        yield clock, time, log, apart, angle


def starts(*, scale: str, root: int) -> Table:
    r"""Return how far clouds are from consensus after a long time, per graph, dimension and start.

    ``graph`` is ``complete`` (SA) or ``ring`` (linear kernel). Start 0 is the twisted state of winding one plus noise
    of size 1e-3, start -1 the same points on one axis, alternating between its ends, and the others are random.
    ``gap`` is :math:`1 - \min\langle x_i, x_j\rangle` and ``mean`` the length of the mean token. ``held`` tells whether
    the start lay in a half-sphere, from where consensus is elementary.
    """
    columns: dict[str, list[Any]] = {key: [] for key in ("graph", "d", "beta", "start", "gap", "mean", "held")}
    cases = [("complete", d, beta) for d, beta in ((2, 1.0), (3, 1.0), (3, 4.0))] + [("ring", d, 0.0) for d in (2, 3)]
    for number, (graph, d, beta) in enumerate(cases):
        whole = graph == "complete"
        draws = 60 if scale == "paper" else 12 if whole and beta < 2.0 else 8 if whole else 4
        field = GraphField(complete(RING) if whole else ring(RING), beta, normalised=whole)
        for start in range(-1, draws + 1):
            rng = stream(f"{_NAME}.starts.{number}", start + 1, root=root)
            tokens = _start(rng, start, d)
            path = flow(field, tokens, np.array([0.0, HORIZON]), rtol=1e-7, atol=1e-10, method="LSODA")
            found = (path.observe(g)[-1] for g in (consensus_gap, mean_length))
            for key, cell in zip(columns, (graph, d, beta, start, *found, int(_held(tokens))), strict=True):
                columns[key].append(cell)
    return Table(Kind.ESTIMATED, dict.fromkeys(columns, "1"), columns)


def _start(rng: np.random.Generator, start: int, d: int) -> Array:
    if start == -1:
        ends: Array = np.where(np.arange(RING) % 2 == 0, 1.0, -1.0)[:, np.newaxis] * np.eye(d)[0]
        return ends
    tokens = twisted(RING, 1, d) + NOISE * rng.normal(size=(RING, d)) if start == 0 else rng.normal(size=(RING, d))
    unit: Array = tokens / np.linalg.norm(tokens, axis=1, keepdims=True)
    return unit


def _held(tokens: Array) -> bool:
    """Tell whether some direction has a positive product with every token, by linear programming."""
    from scipy.optimize import linprog  # noqa: PLC0415  slow to load

    n, d = tokens.shape
    found = linprog(
        [0.0] * d + [-1.0], A_ub=np.hstack([-tokens, np.ones((n, 1))]), b_ub=np.zeros(n),
        bounds=[(-1.0, 1.0)] * d + [(None, 1.0)],
    )  # fmt: skip
    return found.x is not None and bool(found.x[-1] > 1e-9)
