r"""Stacks of attention layers among tokens of the two-torus: falling bandwidths, few tokens, and a million of them.

``part`` is

* ``stack``: :math:`m \ge 9/\sqrt\varepsilon` tokens around, that weigh a density which is no product;
* ``sparse``: the same with :math:`m = 3/\sqrt\varepsilon`, about half a token within a standard deviation of a kernel;
* ``wave``: equal tokens, and the wave :math:`\cos(x_1 + 2x_2)`, of few tokens around and of many;
* ``million``: the stack of a bandwidth again, of a million tokens.

Every study sweeps one case for each stack, here or on a cluster
(``python -m theory.figures torus_stack --scale paper --dask ADDRESS``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.diffusion.layers.stacking import apply_layers, count_layers
from theory.diffusion.layers.torus_stack import LatticeLayer, resolving_count
from theory.evidence import Interval, Kind, exact, study, sweep

Array = NDArray[np.float64]
TORUS_WAVES = {(1, 0): (0.5, 0.0), (0, 1): (0.0, 0.4), (1, -1): (0.3, 0.0)}
"""cosine and sine of the waves of the logarithm of the density"""
TORUS_TIMES = (0.125, 0.25)
TORUS_PLACES = {"stack": 8, "sparse": 6, "wave": 2, "million": 8}  # per axis
PER_WIDTH = {"stack": 9.0, "sparse": 3.0}
WAVE_EPSILON, WAVE_LAYERS = 0.0625, 3
WAVE_COUNTS = {"quick": (4, 6, 8, 12, 16, 24, 320), "paper": (4, 6, 8, 12, 16, 24, 320, 1000)}
MILLION_SIDE, MILLION_BANDWIDTH, MILLION_LAYERS = 1000, 0.125, {"quick": 2, "paper": 4}
LEVELS, SPARSE_LEVELS = {"quick": 5, "paper": 6}, 4
_START, _SPARSE_START = 0.125, 0.25
_ACCURACY, _DECIMALS = 1e-12, 10  # of fast sums; threads add in any order, so that what they return is rounded


def torus_density(x: Array, y: Array) -> Array:
    """Return the density that tokens of the torus weigh, not normalised."""
    total = np.zeros(np.broadcast_shapes(x.shape, y.shape))
    for (first, second), (cosine, sine) in TORUS_WAVES.items():
        phase = first * x + second * y
        for size, wave in ((cosine, np.cos), (sine, np.sin)):
            if size:
                total = total + size * wave(phase)
    return np.exp(total)


def torus_function(x: Array, y: Array) -> Array:
    """Return what is propagated on the torus, of size one at most."""
    return np.asarray(0.5 * np.sin(x) + 0.25 * np.cos(y) + 0.25 * np.sin(x + y))


def torus_wave(x: Array, y: Array) -> Array:
    """Return the wave that is propagated among equal tokens."""
    return np.asarray(np.cos(x + 2.0 * y))


def _equal(x: Array, y: Array) -> Array:
    return np.ones(np.broadcast_shapes(x.shape, y.shape))


@study(Kind.NUMERIC)
def torus_stack(*, scale: str, root: int) -> Iterator[dict[str, Any]]:  # noqa: ARG001  nothing is drawn here
    """Yield what stacks make of a function at places of the torus, after some numbers of layers."""
    cases = list(_cases(scale))
    for rows in sweep(stacked_rows, cases, pool=scale == "paper"):
        yield from rows


def _cases(scale: str) -> Iterator[dict[str, Any]]:
    for level in range(LEVELS[scale]):
        epsilon = _START * 0.5**level
        count = resolving_count(epsilon, per_width=PER_WIDTH["stack"], multiple=TORUS_PLACES["stack"])
        layers = [count_layers(t, epsilon) for t in TORUS_TIMES]
        yield {"part": "stack", "count": count, "epsilon": epsilon, "layers": layers}
    for level in range(SPARSE_LEVELS):
        epsilon = _SPARSE_START * 0.25**level
        count = resolving_count(epsilon, per_width=PER_WIDTH["sparse"])
        yield {"part": "sparse", "count": count, "epsilon": epsilon, "layers": [count_layers(TORUS_TIMES[0], epsilon)]}
    for count in WAVE_COUNTS[scale]:
        yield {"part": "wave", "count": count, "epsilon": WAVE_EPSILON, "layers": [WAVE_LAYERS]}
    deep = MILLION_LAYERS[scale]
    yield {"part": "million", "count": MILLION_SIDE, "epsilon": MILLION_BANDWIDTH, "layers": [deep]}


def stacked_rows(*, part: str, count: int, epsilon: float, layers: list[int]) -> list[dict[str, Any]]:
    """Return the rows of one stack: its values at the places that are tokens."""
    equal = part == "wave"
    layer = LatticeLayer(count, _equal if equal else torus_density, epsilon, accuracy=_ACCURACY)
    axes = layer.grid.axes
    start = torus_wave(*axes) if equal else torus_function(*axes)
    step = count // TORUS_PLACES[part]
    rows = []
    own = 2.0**-46  # of the function: angles off by 6 pi u under slopes that add up to three at most, and a phase
    for depth, values in zip(layers, apply_layers(layer, exact(start), layers), strict=True):
        error = float(values.radius.max()) + 0.5 * 10.0**-_DECIMALS + own
        for i in range(0, count, step):
            for j in range(0, count, step):
                value = Interval.within(round(float(values.mid[i, j]), _DECIMALS), error, Kind.NUMERIC)
                rows.append(
                    {
                        "part": part, "n": count * count, "epsilon": epsilon, "t": 0.5 * epsilon * depth,
                        "layers": depth, "first": i / count, "second": j / count, "value": value,
                    }
                )  # fmt: skip
    return rows
