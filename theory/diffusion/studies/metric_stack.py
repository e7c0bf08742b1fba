r"""Stacks of metric-attention on two closed curves, on a torus in space and on the torus of three dimensions.

``ellipse`` is :math:`(\cos x, 0.7\sin x)` and ``bent`` a closed curve in space, with quantile tokens; ``torus`` has
the features :math:`((2 + \cos\theta)\cos u, (2 + \cos\theta)\sin u, \sin\theta)` with :math:`\theta = v + 0.4\sin u`,
so that its metric is neither flat nor diagonal; ``cube`` is :math:`(e^{ix}, e^{iy}, e^{iz})`. On the last two,
equidistant angles weigh their density.

Distances of neighbours are a fixed number of roots of epsilon, so that no bandwidth takes away what tokens leave of
integrals. On a line with :math:`a\sqrt\varepsilon` between neighbours the second moment of the weights is less by a
share :math:`\frac{8\pi^2}{a^2}e^{-2\pi^2/a^2}` (Poisson summation; the next terms are far smaller), and every layer
takes as much less time: 5e-6 at the 1.1 of the torus, 6e-5 at the 1.2 that the cube has at its smallest epsilon. On
finer grids the values at the smallest epsilon of the quick scale move by 2e-6 on the torus and by 8e-5 on the cube.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.diffusion.geometry.curves import Ellipse
from theory.diffusion.layers.metric_stack import FeatureLayer
from theory.diffusion.layers.stacking import apply_layers, count_layers
from theory.diffusion.studies.wavy import WAVY_DENSITY, wavy_function
from theory.evidence import Kind, exact, study, within
from theory.evidence.roundoff import U

Array = NDArray[np.float64]

_TOKENS = 24.0  # taken: on a curve, over the root of epsilon
_APART = {"torus": 1.1, "cube": 1.25}  # taken: the largest distance of neighbours, in roots of epsilon
_LONGEST = (3.05, 1.0)  # of the torus: speeds along both angles, at most
_TURN = 2.0 * math.pi


def bent_features(x: Any) -> Any:
    """Return the points of angles of shape (n, 1) on a closed curve in space, shape (n, 3)."""
    return np.concatenate([np.cos(x), 0.8 * np.sin(x), 0.4 * np.sin(2.0 * x)], axis=1)


def torus_features(x: Any) -> Any:
    """Return the points of pairs of angles, shape (n, 2), on a twisted torus in space, shape (n, 3)."""
    u = x[:, :1]
    turned = x[:, 1:] + 0.4 * np.sin(u)
    reach = 2.0 + np.cos(turned)
    return np.concatenate([reach * np.cos(u), reach * np.sin(u), np.sin(turned)], axis=1)


def cube_features(x: Any) -> Any:
    """Return the cosines and sines of three angles, shape (n, 3), shape (n, 6)."""
    return np.concatenate([np.cos(x), np.sin(x)], axis=1)


def torus_density(u: Any, v: Any) -> Any:
    """Return the masses of tokens on the torus, with respect to both angles, of any total."""
    return np.exp(0.5 * np.cos(u) + 0.4 * np.sin(v) + 0.3 * np.cos(u - v))


def torus_function(u: Any, v: Any) -> Any:
    """Return the function that is propagated on the torus."""
    return np.sin(v) + 0.5 * np.cos(u + v)


def cube_density(x: Any, y: Any, z: Any) -> Any:
    """Return the masses of tokens on the torus of three dimensions, of any total; no product."""
    a, b, c = np.cos(x), np.cos(y), np.cos(z)
    return np.exp(0.3 * (a + b + c) + 0.2 * (a * b + b * c + c * a))


def cube_function(x: Any, y: Any, z: Any) -> Any:
    """Return the function that is propagated there."""
    a, b, c = np.cos(x), np.cos(y), np.cos(z)
    return a + b + c - 0.5 * (a * b + b * c + c * a)


@dataclass(frozen=True, eq=False)
class MetricStack:
    """Tokens, features, and what is propagated among them.

    Parameters
    ----------
    features : callable
        From angles of shape (n, d) to points of shape (n, k).
    density, function : callable
        Masses of tokens with respect to the angles, and h, of d arrays of angles.
    time : float
        t.
    coarsest : float
        The largest epsilon, of which every other one is a half.
    levels : tuple of int
        How many there are, at the quick and at the paper scale.
    places : ndarray, shape (m, d)
        Angles at which the last layer is asked.
    """

    features: Callable[[Any], Any]
    density: Callable[..., Any]
    function: Callable[..., Any]
    time: float
    coarsest: float
    levels: tuple[int, int]
    places: Array


def _line_places() -> Array:
    return np.asarray((_TURN / 32.0 * np.arange(32))[:, np.newaxis], dtype=np.float64)


def _torus_places() -> Array:
    u, v = np.meshgrid(np.arange(5) / 5, np.arange(4) / 4, indexing="ij")
    return np.stack([u.ravel() + 0.05, v.ravel() + 0.1], axis=1) * _TURN


def _orbits(n: int) -> tuple[NDArray[np.int64], Array]:
    """Return to which orbit of the symmetries of the cube each node of a grid belongs, and an angle of each orbit."""
    steps = np.arange(n)
    folded = np.minimum(steps, n - steps)
    nodes = np.sort(np.stack(np.meshgrid(folded, folded, folded, indexing="ij"), axis=-1).reshape(-1, 3), axis=1)
    first = np.array(list(itertools.combinations_with_replacement(range(n // 2 + 1), 3)))
    weights = np.array([n * n, n, 1])
    copies = np.searchsorted(first @ weights, nodes @ weights)
    return np.asarray(copies, dtype=np.int64), _TURN / n * first


METRIC_STACKS = {
    "ellipse": MetricStack(
        Ellipse(1.0, 0.7).features, WAVY_DENSITY, wavy_function, 0.25, 0.0625, (6, 7), _line_places()
    ),
    "bent": MetricStack(bent_features, WAVY_DENSITY, wavy_function, 0.25, 0.0625, (6, 7), _line_places()),
    "torus": MetricStack(torus_features, torus_density, torus_function, 0.375, 0.1875, (4, 5), _torus_places()),
    "cube": MetricStack(cube_features, cube_density, cube_function, 0.25, 0.25, (4, 5), _orbits(16)[1]),
}


@study(Kind.NUMERIC)
def metric_stack(*, scale: str, root: int) -> Iterator[dict[str, Any]]:  # noqa: ARG001  nothing is drawn here
    r"""Yield :math:`P_\varepsilon^{2t/\varepsilon}h` at the places, and how many tokens and layers there are."""
    for way, given in METRIC_STACKS.items():
        for level in range(given.levels[scale == "paper"]):
            epsilon = given.coarsest * 0.5**level
            layers = count_layers(given.time, epsilon)
            hidden, last, start, tokens = _stack(way, epsilon)
            (reached,) = apply_layers(hidden, start, [layers - 1])
            row = {"way": way, "epsilon": epsilon, "tokens": tokens, "layers": layers}
            for place, value in enumerate(last(reached)):
                yield {**row, "place": place, "value": value}


def _stack(way: str, epsilon: float) -> tuple[FeatureLayer, FeatureLayer, Any, int]:
    """Return the layer among the tokens, the one at the places, what is propagated, and the number of tokens.

    Of the cube one token of every orbit is asked.
    """
    given = METRIC_STACKS[way]
    angles, masses = _tokens(way, epsilon)
    chosen, copies = angles, None
    if way == "cube":
        copies, first = _orbits(round(len(angles) ** (1 / 3)))
        chosen = within(first, 16.0 * U)
    features = given.features(angles)
    queries = None if copies is None else given.features(chosen)
    hidden = FeatureLayer(features, epsilon, masses=masses, queries=queries, copies=copies)
    asked = given.features(exact(given.places))
    last = FeatureLayer(features, epsilon, masses=masses, queries=asked, copies=copies)
    return hidden, last, given.function(*chosen.T), len(features)


def _tokens(way: str, epsilon: float) -> tuple[Any, Any]:
    """Return angles of tokens and their masses; quantiles have none, and are the floats that stand for them."""
    unit = math.sqrt(epsilon)
    if way in ("ellipse", "bent"):
        n = max(96, 16 * math.ceil(_TOKENS / unit / 16))
        return exact(WAVY_DENSITY.tokens(n)), None
    sizes = [math.ceil(_TURN * length / (_APART[way] * unit)) for length in _LONGEST]
    if way == "cube":
        sizes = [2 * math.ceil(0.5 * _TURN / (_APART[way] * unit))] * 3
    angles = _grid(sizes)
    return angles, METRIC_STACKS[way].density(*angles.T)


def _grid(sizes: list[int]) -> Any:
    """Return equidistant angles, enclosed, shape (n, d)."""
    lines = [_TURN * np.arange(n) / n for n in sizes]
    return within(np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, len(sizes)), 16.0 * U)
