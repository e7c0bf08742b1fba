r"""Stacks of layers with the same weights, on the circle and on the sphere, for falling bandwidths."""

from __future__ import annotations

import math

import numpy as np

from theory.diffusion.layers.stacking import TokenLayer, TorusLayer, ZonalLayer, apply_layers, count_layers
from theory.diffusion.limits.grid import PeriodicGrid
from theory.diffusion.limits.operators import chordal, chordal_multiplier, heat_multiplier
from theory.diffusion.studies.wavy import WAVY_DENSITY, wavy_function
from theory.evidence import Interval, Intervals, Kind, Table, exact
from theory.evidence.roundoff import U

HEIGHT_SLOPE = 0.6  # of the density on the sphere, 1 + SLOPE z
STACK_TIMES = (0.125, 0.25, 0.5, 1.0)
LEVELS, SMALL = {"quick": 7, "paper": 8}, {"quick": 4, "paper": 6}
NODES, PLACES = 512, 16
EVERY = 4  # of 48 heights on the sphere
_START = 0.125
_MULTIPLIERS = {"heat": heat_multiplier, "chordal": chordal_multiplier}
_TOKENS = 32.0  # taken: over the bandwidth of the smallest kernel, enough that N tokens are as good as the density


def stacking(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    r"""Return :math:`P_\varepsilon^{2t/\varepsilon}h` at some times and places.

    ``way`` is ``heat`` or ``chordal`` for the exact operators of these kernels on the circle, ``tokens`` for attention
    among quantile tokens with the chordal kernel, asked at the same places by the last layer, and ``sphere`` for
    functions of the height z with squared distances in space.
    """
    rows = []
    grid = PeriodicGrid((NODES,))
    x = grid.axes[0]
    chosen = np.arange(0, NODES, NODES // PLACES)
    for level in range(LEVELS[scale]):
        epsilon = _START * 0.5**level
        layers = [count_layers(t, epsilon) for t in STACK_TIMES]
        for name, multiplier in _MULTIPLIERS.items():
            torus = TorusLayer(grid, WAVY_DENSITY(x), multiplier(epsilon))
            found = apply_layers(torus, exact(wavy_function(x)), layers)
            rows += _rows(name, epsilon, x[chosen], [values[chosen] for values in found])
        zonal = ZonalLayer(lambda z: 1.0 + HEIGHT_SLOPE * z, 1.0 / epsilon)
        found = apply_layers(zonal, exact(height_function(zonal.heights)), layers)
        rows += _rows("sphere", epsilon, zonal.heights[::EVERY], [values[::EVERY] for values in found])
        if level < SMALL[scale]:
            rows += _rows("tokens", epsilon, x[chosen], _tokens(epsilon, x[chosen], layers))
    ways, epsilons, times, places, values = zip(*rows, strict=True)
    units = {"way": "1", "epsilon": "1", "t": "1", "place": "1", "value": "1"}
    return Table(
        Kind.NUMERIC, units, {"way": ways, "epsilon": epsilons, "t": times, "place": places, "value": values}
    )  # fmt: skip


def height_function(z: np.ndarray) -> np.ndarray:
    """Return what is propagated on the sphere."""
    return np.asarray(z + 0.5 * z**2)


def _tokens(epsilon: float, places: np.ndarray, layers: list[int]) -> list[Intervals]:
    """Stack all layers but the last among the tokens, and ask that one at the places."""
    n = max(128, 16 * math.ceil(_TOKENS / math.sqrt(epsilon) / 16))
    tokens = WAVY_DENSITY.tokens(n)
    among = TokenLayer(tokens, epsilon, score=chordal(epsilon))
    asked = TokenLayer(tokens, epsilon, score=chordal(epsilon), queries=places[:, np.newaxis])
    found = apply_layers(among, exact(wavy_function(tokens[:, 0])), [count - 1 for count in layers])
    # tokens are within some u of the quantiles, which moves scores of keys within ten deviations by ten per deviation
    shifted = 64 * U * 2.0 * math.pi * 10.0 / math.sqrt(epsilon) * 2.0
    read = []
    for count, values in zip(layers, found, strict=True):
        read.append(asked(values) + Interval(-count * shifted, count * shifted))
    return read


def _rows(
    way: str, epsilon: float, places: np.ndarray, found: list[Intervals]
) -> list[tuple[str, float, float, float, Interval]]:
    rows = []
    for t, values in zip(STACK_TIMES, found, strict=True):
        rows += [(way, epsilon, t, float(place), value) for place, value in zip(places, values, strict=True)]
    return rows
