"""Tokens that attend to each other beside their mean-field paths, and clouds of them beside their law."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from theory.attention import DotProduct, Measure
from theory.distance import w1, w1_to_normal
from theory.evidence import Interval, Kind, Table, stream, sweep
from theory.particles.dynamics.fields import SoftmaxField
from theory.particles.dynamics.runge_kutta import RK4, integrate
from theory.particles.mean_field.chaos import linear_displacement, mean_field_deviation

Array = NDArray[np.float64]
CHAOS_ALPHA, CHAOS_TIME, STEPS = 0.25, 1.0, 2
CHAOS_DIMS = (1, 3, 6)
NEAR = (32, 96, 288, 864)
CHAOS_FAR = {  # at paper scale, by fast sums on the line and the plane
    1: (2**8, 2**10, 2**12, 2**14),
    2: (2**8, 2**10, 2**12, 2**14),
    3: (2**6, 2**8, 2**10, 2**12),
    6: (2**6, 2**8, 2**10, 2**12),
}
CLOUDS = {"quick": (32, 64, 128, 256), "paper": (64, 128, 256, 512, 1024)}
RUNS = {"quick": (2, 1, 2), "paper": (4, 2, 2)}  # in each of BATCHES, for each of DIMS
BATCHES, DRAWS, FEW = 32, 48, 16
LINES, CLOSE = 16, 4  # clouds on the line whose distances are averaged, to the law and to their mean-field paths
LARGEST = 2**20
ACCURACY = 1e-9  # of the fast sums
SURE = 1e-9  # taken: of a distance; what its certificate says below that differs between processors
_SHRUNK = mean_field_deviation(CHAOS_ALPHA, CHAOS_TIME)  # by so much a mean-field token is nearer to the origin
Row = tuple[str, str, int, int, int, float, float]


def chaos(*, scale: str, root: int) -> Table:
    """Return what becomes of n tokens in d dimensions, scores -<x, y>/4, standard normal at time 0, at time 1.

    Means over the tokens and over the runs of a batch: ``end``, ``cross`` and ``start`` of ``|x(1)|^2``, ``<x(1),
    x(0)>`` and ``|x(0)|^2``, ``centre`` of the squared length of the mean token at time 0, ``bent`` of its product
    with the mean of ``x(0) (|x(0)|^2 - d - 2)``. On the line also ``residual``, the squared distance from the
    mean-field path plus the linear response to the draw, and ``alone``, that without feedback.
    ``distance`` is W1 to a fresh cloud of the mean-field law, or to that law on the line; ``drawn`` that of the tokens
    on their mean-field paths, ``apart`` the squared distance of their mean from that of the fresh ones, and ``paired``
    the mean distance to those as they come. ``interaction`` is W1 between the tokens and their own mean-field paths,
    ``shift`` the length of the mean token at time 0. ``step`` is the root mean square of what halving the step changes,
    for one cloud. The ``series`` are ``near``, ``far`` with larger n, and ``last`` with the largest. ``error`` is how
    far a distance may be from its value.
    """
    plan: list[tuple[str, str, int, int, int, int]] = []  # what, series, d, n, batch, runs
    for d, runs in zip(CHAOS_DIMS, RUNS[scale], strict=True):
        plan += [("tagged", "near", d, n, b, runs) for n in NEAR for b in range(BATCHES)]
        plan += [("distance", "near", d, n, b, 1) for n in CLOUDS[scale] for b in range(DRAWS)]
    if scale == "paper":
        plan += [("tagged", "far", d, n, b, 1) for d, sizes in CHAOS_FAR.items() for n in sizes for b in range(FEW)]
        plan += [("tagged", "last", 1, LARGEST, 0, 1)]
    plan += [("step", "near", d, 256, 0, 1) for d in CHAOS_FAR]
    cases = [
        {"key": (series, d, n, b), "what": what, "runs": runs, "rng": stream("particles.chaos", case, root=root)}
        for case, (what, series, d, n, b, runs) in enumerate(plan)
    ]
    found = sweep(_run, cases, pool=scale == "paper")
    names = ("part", "series", "d", "n", "batch", "value", "error")
    rows = [row for some in found for row in some]
    units = {name: "length^2 or length" if name == "value" else "length" if name == "error" else "1" for name in names}
    return Table(Kind.STATISTICAL, units, dict(zip(names, zip(*rows, strict=True), strict=True)), outcomes=("error",))


def moved(start: Array, steps: int = STEPS) -> Array:
    """Return the tokens at ``CHAOS_TIME`` that started at ``start``, by the classical Runge-Kutta method."""
    score = DotProduct(1.0, form=-CHAOS_ALPHA * np.eye(start.shape[1]))
    field = SoftmaxField(score, method="nufft" if start.shape[0] > 4096 else "dense", accuracy=ACCURACY)
    with _one_thread():
        return integrate(field, start, step=CHAOS_TIME / steps, steps=steps, method=RK4)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Hold the engine to one thread: on several, fast sums add in any order, and digits differ from run to run."""
    before = os.environ.get("THEORY_THREADS")
    os.environ["THEORY_THREADS"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["THEORY_THREADS"]
        else:
            os.environ["THEORY_THREADS"] = before


def _run(key: tuple[str, int, int, int], what: str, runs: int, rng: np.random.Generator) -> list[Row]:
    _, d, n, _batch = key
    if what == "distance":
        return [(name, *key, middle, error) for name, middle, error in _distances(d, n, rng)]
    if what == "step":
        start = rng.standard_normal((n, d))
        change = moved(start) - moved(start, 2 * STEPS)
        return [("step", *key, float(np.sqrt(np.mean(np.sum(change**2, axis=1)))), 0.0)]
    found: dict[str, float] = {}
    for _ in range(runs):
        start = rng.standard_normal((n, d))
        for name, value in _moments(start, moved(start)).items():
            found[name] = found.get(name, 0.0) + value / runs
    return [(name, *key, value, 0.0) for name, value in found.items()]


def _distances(d: int, n: int, rng: np.random.Generator) -> list[tuple[str, float, float]]:
    """Return the distances of one draw by part, with bounds of their errors; on the line averages over a few clouds."""
    starts = [rng.standard_normal((n, d)) for _ in range(LINES if d == 1 else 1)]
    ends = [moved(start) for start in starts[:CLOSE]]
    pairs = list(zip(ends, starts, strict=False))
    found = {"interaction": _mean([w1(Measure(end), Measure(_SHRUNK * start)) for end, start in pairs])}
    rows = [("shift", float(np.mean([np.linalg.norm(start.mean(axis=0)) for _, start in pairs])), 0.0)]
    if d == 1:  # to the law itself, which is cheap and varies much
        found["drawn"] = _SHRUNK * _mean([w1_to_normal(start, 1.0) for start in starts])
    else:
        copies = _SHRUNK * starts[0]
        fresh = _SHRUNK * rng.standard_normal((n, d))
        found["drawn"], found["distance"] = (w1(Measure(cloud), Measure(fresh)) for cloud in (copies, ends[0]))
        rows.append(("apart", float(np.sum((copies.mean(axis=0) - fresh.mean(axis=0)) ** 2)), 0.0))
        rows.append(("paired", float(np.linalg.norm(copies - fresh, axis=1).mean()), 0.0))
    return rows + [(name, inside.mid, allowed(inside)) for name, inside in found.items()]


def _mean(values: list[Interval]) -> Interval:
    return sum(values[1:], values[0]) / len(values)


def allowed(inside: Interval) -> float:
    """Return the error that a distance is allowed, after a look at its certificate."""
    if not inside.width <= SURE:
        raise ArithmeticError(f"distance: expected a certificate of width {SURE}, got {inside.width}")
    return SURE


def _moments(start: Array, end: Array) -> dict[str, float]:
    def mean(x: Array, y: Array) -> float:
        size: float = np.mean(x * y) * x.shape[1]
        return float(size)

    found = {"end": mean(end, end), "cross": mean(end, start), "start": mean(start, start)}
    centre = start.mean(axis=0)
    d = start.shape[1]
    found["centre"] = float(np.sum(centre**2))
    found["bent"] = float(centre @ np.mean(start * (np.sum(start**2, axis=1) - d - 2.0)[:, np.newaxis], axis=0))
    if d == 1:
        found["distance"] = w1_to_normal(end, _SHRUNK).mid
        off = end - _SHRUNK * start
        for name, feedback in (("residual", True), ("alone", False)):
            rest = off - linear_displacement(start, CHAOS_ALPHA, CHAOS_TIME, feedback=feedback)
            found[name] = mean(rest, rest)
    return found
