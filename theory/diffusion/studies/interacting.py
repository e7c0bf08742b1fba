"""Gaussian clouds of tokens that attend to each other in every layer, beside what mean-field tokens do."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory.attention import Measure
from theory.diffusion.moving.chaos import (
    interacting_tokens,
    linear_displacements,
    mean_field_deviations,
    response_control,
)
from theory.distance import w1, w1_to_normal
from theory.evidence import Interval, Kind, Table, stream, sweep

Array = NDArray[np.float64]


class Interacting(NamedTuple):
    """What the study is about."""

    dims: tuple[int, ...] = (1, 2, 3)
    epsilon: float = 1.0
    tagged_layers: tuple[int, ...] = (1, 2, 8)
    cloud_layers: tuple[int, ...] = (1, 6)
    flow_time: float = 0.25  # k epsilon at which different numbers k of layers are compared
    flow_layers: tuple[int, ...] = (2, 4, 8)
    flow_tokens: int = 512
    stall_layers: tuple[int, ...] = (1, 4, 16, 64)
    long: int = 256  # layers of repelling tokens at paper scale
    many: tuple[int, ...] = (10**5, 2**14, 2**14)  # in each dimension


INTERACTING = Interacting()
_SIZES = {
    "tagged": (32, 64, 128, 256),
    "cloud": (20, 40, 80, 160),
    "flow": (INTERACTING.flow_tokens,),
    "stall": (32, 64, 128, 256),
}
_BATCHES = {"tagged": 48, "cloud": 24, "flow": 24, "stall": 24}
_FAR = (24, 1, 1)  # draws at paper scale, in each dimension
_RUNS = {  # in each dimension
    "tagged": (3, 3, 8),
    "cloud": (3, 1, 1),
    "flow": (1, 0, 0),
    "stall": (1, 1, 1),
}
_ACCURACY = 1e-9  # of the fast sums
_SURE, _ABOUT = 1e-9, 1e-3  # taken: relative; what a certificate says below that differs between processors
_LAW = 1e-4  # taken: relative; of distances from a normal law, whose rounding is proportional to n
Found = Iterator[tuple[str, int, float, int, float, float]]  # part, way, epsilon, layer, value, error


def interacting(*, scale: str, root: int) -> Table:
    r"""Return how far n tokens, standard normal at the start, are from mean-field tokens and from their law.

    ``way`` is 1 for averaging layers and -1 for repelling ones. Means over the runs of a batch: of ``tagged`` tokens
    ``square``, n times the mean square distance from the mean-field paths, ``control``, of mean zero, ``own``, n times
    that from mean-field tokens with draws of their own, and on the line ``rest``, what the linear response to the draw
    leaves of the first; of clouds ``drawn``, W1 between two draws of the law at the start, ``cloud``, W1 between the
    tokens and the second of these draws as mean-field tokens, and ``token``, their root mean square distance from their
    own mean-field tokens; on the line besides ``sampled``, W1 between the first draw and the normal law, and ``law``,
    W1 between the tokens and their normal mean-field law. ``flow`` is as ``square`` with layers times epsilon fixed,
    ``size`` the root mean square of repelling tokens over that of their law. The series is ``far`` for many tokens.
    ``error`` is how far a distance may be from its value.
    """
    plan = [
        (what, "near", d, n, b, runs)
        for what, sizes in _SIZES.items()
        for d, runs in zip(INTERACTING.dims, _RUNS[what], strict=True)
        for n in sizes
        for b in range(_BATCHES[what])
        if runs
    ]
    if scale == "paper":
        plan = [(*row[:-1], 3 * row[-1]) for row in plan]
        far = zip(INTERACTING.dims, INTERACTING.many, _FAR, strict=True)
        plan += [("far", "far", d, n, b, 1) for d, n, draws in far for b in range(draws)]
        plan += [("long", "near", *row[2:]) for row in plan if row[0] == "stall"]
    cases = [
        {"what": what, "series": series, "d": d, "n": n, "batch": batch, "runs": runs,
         "rng": stream("diffusion.interacting", case, root=root)}
        for case, (what, series, d, n, batch, runs) in enumerate(plan)
    ]  # fmt: skip
    rows = [row for some in sweep(_run, cases, pool=scale == "paper") for row in some]
    names = ("part", "series", "d", "epsilon", "layer", "n", "batch", "value", "error", "way")
    units = {name: "length^2 or length" if name == "value" else "length" if name == "error" else "1" for name in names}
    return Table(Kind.STATISTICAL, units, dict(zip(names, zip(*rows, strict=True), strict=True)), outcomes=("error",))


def _run(
    what: str, series: str, d: int, n: int, batch: int, runs: int, rng: np.random.Generator
) -> list[tuple[str, str, int, float, int, int, int, float, float, int]]:
    """Return the rows of a batch, averaged over its runs."""
    totals: dict[tuple[str, int, float, int], float] = {}
    errors: dict[tuple[str, int, float, int], float] = {}
    measures = {"tagged": _tagged, "cloud": _cloud, "flow": _flow, "stall": _stall, "long": _long, "far": _far}
    for _ in range(runs):
        start = rng.standard_normal((n, d))
        for part, way, epsilon, layer, value, error in measures[what](start, rng):
            key = (part, way, epsilon, layer)
            totals[key] = totals.get(key, 0.0) + value / runs
            errors[key] = max(errors.get(key, 0.0), error)
    return [
        (part, series, d, epsilon, layer, n, batch, value, errors[part, way, epsilon, layer], way)
        for (part, way, epsilon, layer), value in totals.items()
    ]


def _squares(tokens: Array, other: Array) -> float:
    return float(np.sum((tokens - other) ** 2))


def _tagged(start: Array, rng: np.random.Generator) -> Found:
    epsilon = INTERACTING.epsilon
    deviations = mean_field_deviations(epsilon, INTERACTING.tagged_layers[-1])
    clouds = interacting_tokens(start, epsilon, INTERACTING.tagged_layers)
    controls = response_control(start, epsilon, INTERACTING.tagged_layers)
    other = rng.standard_normal(start.shape)
    line = start.shape[1] == 1
    responses = linear_displacements(start, epsilon, INTERACTING.tagged_layers) if line else clouds
    for layer, cloud, control, response in zip(INTERACTING.tagged_layers, clouds, controls, responses, strict=True):
        copies = deviations[layer] * start
        yield "square", 1, epsilon, layer, _squares(cloud, copies), 0.0
        yield "control", 1, epsilon, layer, control, 0.0
        yield "own", 1, epsilon, layer, _squares(cloud, deviations[layer] * other), 0.0
        if line:
            yield "rest", 1, epsilon, layer, _squares(cloud, copies + response), 0.0


def _flow(start: Array, _: np.random.Generator) -> Found:
    for value in (1, -1):
        for layers in INTERACTING.flow_layers:
            epsilon = INTERACTING.flow_time / layers
            deviation = mean_field_deviations(epsilon, layers, value=value)[-1]
            (cloud,) = interacting_tokens(start, epsilon, (layers,), value=value)
            yield "flow", value, epsilon, layers, _squares(cloud, deviation * start), 0.0


def _stall(start: Array, _: np.random.Generator, *, layers: tuple[int, ...] = INTERACTING.stall_layers) -> Found:
    epsilon = INTERACTING.epsilon
    deviations = mean_field_deviations(epsilon, layers[-1], value=-1.0)
    clouds = interacting_tokens(start, epsilon, layers, value=-1.0)
    for layer, cloud in zip(layers, clouds, strict=True):
        size = math.sqrt(float(np.mean(cloud**2))) / deviations[layer]
        yield "size", -1, epsilon, layer, size, 0.0


def _long(start: Array, rng: np.random.Generator) -> Found:
    yield from _stall(start, rng, layers=(INTERACTING.long,))


def _cloud(
    start: Array, rng: np.random.Generator, *, layers: tuple[int, ...] = INTERACTING.cloud_layers,
    method: str = "dense", sure: float = _SURE,
) -> Found:  # fmt: skip
    epsilon = INTERACTING.epsilon
    fresh = rng.standard_normal(start.shape)
    line = start.shape[1] == 1
    yield "drawn", 1, epsilon, 0, *_distance(start, fresh, sure)
    if line:
        yield "sampled", 1, epsilon, 0, *_certified(w1_to_normal(start, 1.0), _LAW)
    for value in (1, -1):
        deviations = mean_field_deviations(epsilon, layers[-1], value=value)
        clouds = interacting_tokens(start, epsilon, layers, value=value, method=method, accuracy=_ACCURACY)
        for layer, cloud in zip(layers, clouds, strict=True):
            if value == 1 or layer == layers[-1]:
                yield "cloud", value, epsilon, layer, *_distance(cloud, deviations[layer] * fresh, sure)
                if line:
                    yield "law", value, epsilon, layer, *_certified(w1_to_normal(cloud, deviations[layer]), _LAW)
                off = math.sqrt(_squares(cloud, deviations[layer] * start) / len(start))
                yield "token", value, epsilon, layer, off, 0.0


def _far(start: Array, rng: np.random.Generator) -> Found:
    yield from _cloud(start, rng, layers=INTERACTING.cloud_layers[:1], method="auto", sure=_ABOUT)


def _distance(one: Array, other: Array, sure: float) -> tuple[float, float]:
    return _certified(w1(Measure(one), Measure(other)), sure)


def _certified(inside: Interval, sure: float) -> tuple[float, float]:
    """Return a distance and what it is allowed to be off, after a look at its certificate."""
    allowed = sure * inside.mid
    if not inside.width <= allowed:
        raise ArithmeticError(f"distance: expected a certificate of width {allowed}, got {inside.width}")
    return inside.mid, allowed
