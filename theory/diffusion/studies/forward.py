r"""Densities of moving tokens on the circle, after stacks of layers that run forward equations, for falling bandwidths.

Tokens start at quantiles of a smooth density, of which sums are accurate to all orders, so that nothing is sampled.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from theory.diffusion.layers.stacking import apply_layers
from theory.diffusion.limits.densities import CircleDensity
from theory.diffusion.moving.forward import CircleLayer, NoisyLayer, circle_density
from theory.diffusion.studies.wavy import WAVY_DENSITY
from theory.evidence import Interval, Kind, estimated, study

CONTEXT_DENSITY = CircleDensity(np.array([-0.6, 0.5]), np.array([0.0, 0.0]))
EVEN_DENSITY = CircleDensity(np.array([0.0, 0.8]), np.array([0.0, 0.3]))
FORWARD_PLACES = 16
_RUNS = ((1.25, 32), (1.0, 24))  # tokens, as a multiple, and waves: the finer first
_TOKENS = 24.0  # taken: over the bandwidth of the smallest kernel
_LEAST = 192
_FIRST = 0.0625


class Way(NamedTuple):
    """A stack: its density at the start, its layer, its noise, its times, and how many bandwidths it is run for."""

    start: CircleDensity
    layer: dict[str, Any]
    times: tuple[float, ...]
    levels: int = 4
    clock: int = 1
    noise: float | None = None
    kept: bool = False
    deeper: bool = True  # at the scale of a paper; rounding grows where waves are amplified


SHORT = (0.125, 0.5)
WAYS = {
    "reversed": Way(WAVY_DENSITY, {}, (*SHORT, 2.0)),
    "kept": Way(WAVY_DENSITY, {}, SHORT[:1], kept=True),
    "half step": Way(WAVY_DENSITY, {"step": -0.5}, SHORT),
    "step 2.5": Way(WAVY_DENSITY, {"step": -2.5}, (1.0,)),
    "step 3.2": Way(WAVY_DENSITY, {"step": -3.2}, (1.0,), levels=2, deeper=False),
    "alpha -0.5": Way(WAVY_DENSITY, {"alpha": -0.5}, SHORT),
    "alpha 0.5": Way(WAVY_DENSITY, {"alpha": 0.5}, SHORT),
    "alpha 1": Way(WAVY_DENSITY, {"alpha": 1.0}, (0.015625,), clock=2),
    "sinkhorn": Way(WAVY_DENSITY, {"rule": "sinkhorn"}, SHORT),
    "sum": Way(WAVY_DENSITY, {"rule": "sum"}, SHORT, levels=5),
    "sum step 3": Way(WAVY_DENSITY, {"rule": "sum", "step": -3.0}, SHORT[1:], levels=2, deeper=False),
    "context": Way(WAVY_DENSITY, {"context": CONTEXT_DENSITY}, (*SHORT, 2.0)),
    "noise 2": Way(WAVY_DENSITY, {"step": 1.0}, SHORT, noise=2.0),
    "reversed noise 1": Way(WAVY_DENSITY, {}, SHORT, noise=1.0),
    "negative": Way(EVEN_DENSITY, {"step": 1.0 / 3.0, "rule": "far"}, (0.0625, 0.125), levels=5, deeper=False),
}
_MORE = {"quick": 0, "paper": 1}


@study(Kind.ESTIMATED)
def forward(*, scale: str, root: int) -> Iterator[dict[str, str | float | Interval]]:  # noqa: ARG001  nothing is drawn
    r"""Yield :math:`2\pi\rho` at places after :math:`k = t/\varepsilon^c` layers, for the stacks of ``WAYS``.

    c is the ``clock`` of the stack, two for keys divided by their density. Widths are twice what fewer tokens and
    fewer waves change at most.
    """
    for name, way in WAYS.items():
        for level in range(way.levels + (_MORE[scale] if way.deeper else 0)):
            epsilon = _FIRST * 0.5**level
            fine, coarse = (_densities(way, epsilon, *run) for run in _RUNS)
            for t, values, others in zip(way.times, fine, coarse, strict=True):
                gap = float(np.abs(values - others).max())  # errors may cross at a place
                for at, value in enumerate(values.tolist()):
                    found = estimated(value, value + gap, times=2.0)
                    yield {"way": name, "epsilon": epsilon, "t": t, "place": at, "value": found}


def _densities(way: Way, epsilon: float, more: float, modes: int) -> list[Any]:
    """Return the density at the places, for every time."""
    n = FORWARD_PLACES * math.ceil(more * max(_LEAST, _TOKENS / math.sqrt(epsilon)) / FORWARD_PLACES)
    depths = [round(t / epsilon**way.clock) for t in way.times]
    given = dict(way.layer)
    if "context" in given:
        given["context"] = given["context"].tokens(n)[:, 0]
    if way.noise is not None:
        masses = 2.0 * math.pi * way.start(2.0 * math.pi * np.arange(n) / n)
        noisy = NoisyLayer(CircleLayer(epsilon, **given), way.noise, modes=modes)
        return [density[:: n // FORWARD_PLACES] for density in apply_layers(noisy, masses, depths)]
    tokens = way.start.tokens(n)[:, 0]
    layer = CircleLayer(epsilon, **given, among=tokens if way.kept else None)
    places = 2.0 * math.pi * np.arange(FORWARD_PLACES) / FORWARD_PLACES
    return [circle_density(angles, places, modes=modes) for angles in apply_layers(layer, tokens, depths)]
