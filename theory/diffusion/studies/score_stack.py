r"""Stacks of layers with scores that are least elsewhere than on the diagonal, on the circle.

``part`` is

* ``carried``: :math:`f = 2 - 2\cos v - 2\delta b(x)\sin v`, :math:`v = y - x`, least at
  :math:`v = \arctan\delta b`, with :math:`b = 1 + \frac12\sin x`, the bandwidth :math:`\delta^2` and :math:`t/\delta`
  layers; ``case`` is t;
* ``turned``: :math:`f = 2 - 2\cos(v - 2\pi/q)`, the time :math:`\frac14` at :math:`\varepsilon/2` a layer; ``case``
  is q;
* ``orbit``: tokens on the unit circle that attend to each other by :math:`\langle x, Ay\rangle` with a rotation A, in
  layers that are normalised and compute their weights anew; the angle beyond the turns of the layers so far, over the
  bandwidth; ``case`` is q;
* ``turning``, ``doubling``, ``attracting``: f is least at :math:`x + \frac\pi2`, :math:`2x` and
  :math:`x - \frac12\sin x`, after as many layers as end what is carried, or would.

All weights but those of ``orbit`` are computed once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.diffusion.layers.score_stack import orbit_tokens, score_layer
from theory.diffusion.layers.stacking import apply_layers
from theory.diffusion.studies.wavy import WAVY_DENSITY, wavy_function
from theory.evidence import Interval, Kind, estimated, exact, study
from theory.evidence.roundoff import U

Array = NDArray[np.float64]
CARRIED_TIMES = (0.5, 1.0)
TURNS = (2, 3)
ORBIT_TURN = 3
TURNED_TIME = 0.25
LEVELS = {"quick": 5, "paper": 7}
DEEPER = {"quick": 7, "paper": 8}
FEWER = {"quick": 5, "paper": 6}
ORBIT_LEVELS = {"quick": 4, "paper": 5}
PLACES = 16
_PER_WIDTH, _PER_WIDTH_MOVED = 12.0, 16.0  # taken: tokens over the bandwidth; half as many are right to rounding
_SLOPE, _ERROR = 4.0, 256.0 * U  # of the dissimilarities below: derivatives of cosines and sines of size two or three


@study(Kind.ESTIMATED)
def score_stack(*, scale: str, root: int, wide: bool = False) -> Iterator[dict[str, Any]]:  # noqa: ARG001
    r"""Yield what stacks make of functions and tokens, at places of the circle.

    With ``wide`` the bandwidth of the part ``carried`` is :math:`\delta`, and there is no other part.
    """
    for level in range(LEVELS[scale]):
        yield from _carried(2.0 ** -(2 + level), wide=wide)
    if wide:
        return
    for level in range(DEEPER[scale]):
        for q in TURNS:
            yield from _turned(q, q * 2 ** (1 + level))
    for level in range(ORBIT_LEVELS[scale]):
        yield from _orbit(ORBIT_TURN, 2.0 ** -(10 + level))  # above, slopes of the error pass one before they settle
    for level in range(FEWER[scale]):
        yield from _ended(level)


def steady_speed(x: Array) -> Array:
    """Return the speed b by which a score carries."""
    return np.asarray(1.0 + 0.5 * np.sin(x))


def _carried(delta: float, *, wide: bool) -> Iterator[dict[str, Any]]:
    def dissimilarity(x: Array, y: Array) -> Array:
        v = (y - x)[..., 0]
        return np.asarray(2.0 - 2.0 * np.cos(v) - 2.0 * delta * steady_speed(x[..., 0]) * np.sin(v))

    layers = [round(t / delta) for t in CARRIED_TIMES]
    yield from _stacked("carried", dissimilarity, delta if wide else delta * delta, layers, CARRIED_TIMES)


def _turned(q: int, layers: int) -> Iterator[dict[str, Any]]:
    def dissimilarity(x: Array, y: Array) -> Array:
        return np.asarray(2.0 - 2.0 * np.cos((y - x)[..., 0] - 2.0 * math.pi / q))

    yield from _stacked("turned", dissimilarity, 2.0 * TURNED_TIME / layers, [layers], [q])


def _orbit(q: int, epsilon: float) -> Iterator[dict[str, Any]]:
    """Yield angles of tokens that go around, over those of three times as many tokens."""
    turn = 2.0 * math.pi / q
    form = np.array([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]])  # <x, A y> is least turned
    n = _tokens(epsilon, _PER_WIDTH_MOVED)
    found = []
    for times in (1, 3):
        angles = WAVY_DENSITY.quantiles(np.arange(times * n) / (times * n))
        clouds = orbit_tokens(np.stack([np.cos(angles), np.sin(angles)], axis=1), form, epsilon, q)
        chosen = slice(None, None, times * n // PLACES)
        beyond = []
        for number, cloud in enumerate(clouds[1:], start=1):
            ahead = angles[chosen] + number * turn
            x, y = cloud[chosen].T
            beyond.append(np.arctan2(y * np.cos(ahead) - x * np.sin(ahead), x * np.cos(ahead) + y * np.sin(ahead)))
        found.append(np.array(beyond))
        places = angles[chosen]
    for number, (few, many) in enumerate(zip(*found, strict=True), start=1):
        apart = estimated(0.0, float(np.abs(many - few).max()), times=2.0)  # at all places, as one may agree by luck
        for place, angle in zip(places.tolist(), many.tolist(), strict=True):
            beyond_it = (angle + apart + Interval.within(0.0, 64.0 * U)) / epsilon
            yield {"part": "orbit", "case": q, "epsilon": epsilon, "layers": number, "place": place, "value": beyond_it}


def _ended(level: int) -> Iterator[dict[str, Any]]:
    """Yield stacks that are as deep as what they carry lasts, or would."""

    def turning(x: Array, y: Array) -> Array:
        return np.asarray(2.0 - 2.0 * np.cos((y - x)[..., 0] - 0.5 * math.pi))

    def doubling(x: Array, y: Array) -> Array:
        return np.asarray(2.0 - 2.0 * np.cos((y - 2.0 * x)[..., 0]))

    def attracting(x: Array, y: Array) -> Array:
        return np.asarray(2.0 - 2.0 * np.cos((y - x + 0.5 * np.sin(x))[..., 0]))

    layers = 2 ** (3 + level)
    yield from _stacked("turning", turning, 1.0 / layers, [layers], [0], density=np.ones_like)
    yield from _stacked("attracting", attracting, 1.0 / layers, [layers], [0], function=lambda x: 1.0 - np.cos(x))
    deep = 1 + level
    yield from _stacked("doubling", doubling, 0.25**deep, [deep], [0], function=np.cos, density=np.ones_like)


def _stacked(
    part: str, dissimilarity: Callable[[Array, Array], Array], epsilon: float, layers: Any, cases: Any, *,
    function: Callable[[Array], Array] = wavy_function, density: Callable[[Array], Array] = WAVY_DENSITY,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield the values at the places after some numbers of layers, one for each case."""
    n = _tokens(epsilon, _PER_WIDTH)
    angles, layer = score_layer(dissimilarity, density, epsilon, count=n, slope=_SLOPE, error=_ERROR)
    chosen = slice(None, None, n // PLACES)
    found = apply_layers(layer, exact(function(angles)), layers)
    own = Interval(-128.0 * U, 128.0 * U)  # of the function, and of its place: 6 pi u each, under a slope of two
    for case, count, values in zip(cases, layers, found, strict=True):
        for place, value in zip(angles[chosen].tolist(), values[chosen], strict=True):
            known = value + own
            yield {"part": part, "case": case, "epsilon": epsilon, "layers": count, "place": place, "value": known}


def _tokens(epsilon: float, per_width: float) -> int:
    return max(3 * PLACES, PLACES * math.ceil(per_width / math.sqrt(epsilon) / PLACES))
