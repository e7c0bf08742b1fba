r"""A mixture of three normal laws on the line whose tokens move through layers of self-attention."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.diffusion.layers.self_dynamics import line_tokens
from theory.diffusion.moving.measure import agreed_mean, mixture_quantiles, move_tokens, rearranged_distance
from theory.diffusion.moving.settings import (
    DEEPEST,
    MOVED_DEPTH,
    MOVED_MIXTURE,
    MOVED_RATES,
    MOVED_STEPS,
    MOVED_TIME,
    MOVED_WAVES,
)
from theory.evidence import Interval, Kind, study

Array = NDArray[np.float64]
_DEPTHS = {"quick": (4, 8, 16, 32), "paper": (2, 4, 8, 16, 32)}
_SPACINGS = (0.6, 0.5)  # chosen: between tokens, in deviations of what a layer averages with: two computations
_TOKENS, _EVERY = 600, 5  # chosen: quantile tokens that move, and those of them whose paths are kept
_SHAKEN = 2.0**-30  # chosen: amplitude of the wave that is followed


@study(Kind.ESTIMATED)
def moving(*, scale: str, root: int) -> Iterator[dict[str, Any]]:  # noqa: ARG001  nothing is drawn here
    r"""Yield what is observed of the moved measure at the time :math:`k\varepsilon` = 0.1, k the ``depth``.

    ``form`` is ``averaging``, ``residual`` (steps of one half, so twice as many layers) or ``kept`` (averaging with the
    weights of the first layer). ``name`` is ``moment`` with the power as ``label``, ``cosine`` with the frequency,
    ``distance`` to the mixture whose variances have fallen at the rate ``label``; ``place`` of every fifth of 600
    quantile tokens, that of the level ``label``, after ``layer`` layers; ``wave``, the root mean square of a small wave
    with :math:`\varepsilon\omega^2 = 2` that was added to the tokens, in units of the one at the start.

    Every value is computed from tokens at two distances, which share neither places nor rounding, and is said to be off
    by at most four times what these are apart, and some rounding; places of quantile tokens from a second
    start, shaken by rounding.
    """
    for form in MOVED_STEPS:
        for depth in _DEPTHS[scale]:
            for name, label, value in _observed(form, depth):
                yield _row(form, depth, 0, name, label, value)
    for level, layer, value in _paths():
        yield _row("averaging", MOVED_DEPTH, layer, "place", level, value)
    for depth in (8, 16, 32, DEEPEST):
        for layer, value in enumerate(_waves(depth, DEEPEST if depth == DEEPEST else 1)):
            yield _row("averaging", depth, layer, "wave", 2.0, value)


def _row(form: str, depth: int, layer: int, name: str, label: float, value: Interval) -> dict[str, Any]:
    return {"form": form, "depth": depth, "layer": layer, "name": name, "label": label, "value": value}


def _spaced(depth: int, spacing: float) -> tuple[float, Array, Array]:
    epsilon = MOVED_TIME / depth
    least = min(MOVED_MIXTURE[1])
    tokens, masses = line_tokens(*MOVED_MIXTURE, spacing * math.sqrt(least * epsilon / (least + epsilon)))
    return epsilon, tokens, masses


@cache
def _moved(form: str, depth: int, spacing: float) -> tuple[Array, Array, Array]:
    epsilon, tokens, masses = _spaced(depth, spacing)
    step = MOVED_STEPS[form]
    layers = round(depth / step)
    *_, last = move_tokens(tokens, epsilon, layers, weights=masses, step=step, kept=form == "kept")
    return tokens[:, 0], last[:, 0], masses


def _observed(form: str, depth: int) -> Iterator[tuple[str, float, Interval]]:
    runs = [_moved(form, depth, spacing) for spacing in _SPACINGS]

    layers = round(depth / MOVED_STEPS[form])

    def both(observe: Callable[[Array, Array, Array], Any], power: int = 0) -> Interval:
        coarse, fine = (observe(*run) for run in runs)
        _, x, w = runs[-1]
        return agreed_mean(coarse, fine, size=float(w @ np.abs(x) ** power), layers=layers)

    for power in (1, 2, 3, 4):
        yield "moment", float(power), both(partial(_moment, power), power)
    for omega in MOVED_WAVES:
        yield "cosine", omega, both(partial(_cosine, omega))
    means, variances, shares = MOVED_MIXTURE
    for rate in MOVED_RATES:
        end = (means, tuple(s - rate * MOVED_TIME for s in variances), shares)

        def distance(before: Array, after: Array, masses: Array, end: Any = end) -> Interval:
            return rearranged_distance(np.stack([before, after], axis=1), masses, MOVED_MIXTURE, end)

        yield "distance", rate, both(distance)


def _moment(power: int, _: Array, after: Array, masses: Array) -> float:
    return float(masses @ after**power)


def _cosine(omega: float, _: Array, after: Array, masses: Array) -> float:
    return float(masses @ np.cos(omega * after))


def _paths() -> Iterator[tuple[float, int, Interval]]:
    levels = (np.arange(_TOKENS) + 0.5) / _TOKENS
    start = mixture_quantiles(*MOVED_MIXTURE, levels)[:, np.newaxis]
    shaken = start * (1.0 + 2.0**-50 * np.cos(np.pi * np.arange(_TOKENS)))[:, np.newaxis]
    runs = [move_tokens(cloud, MOVED_TIME / MOVED_DEPTH, MOVED_DEPTH) for cloud in (start, shaken)]
    for layer, (one, other) in enumerate(zip(*runs, strict=True)):
        apart = float(np.abs(one - other).max())  # of all tokens, as one may agree by luck
        for at in range(_EVERY // 2, _TOKENS, _EVERY):
            place = float(one[at, 0])
            yield (
                float(levels[at]),
                layer,
                agreed_mean(place + apart, place, size=float(np.abs(one).max()), layers=layer),
            )


def _waves(depth: int, layers: int) -> list[Interval]:
    coarse, fine = (_followed(depth, layers, spacing) for spacing in _SPACINGS)
    size = 1.0 / _SHAKEN  # the sizes of tokens, whose rounding is in their difference, in units of the wave
    return [agreed_mean(a, b, size=b + size, layers=layers) for a, b in zip(coarse, fine, strict=True)]


def _followed(depth: int, layers: int, spacing: float) -> list[float]:
    """Follow a wave by the difference of two runs."""
    epsilon, tokens, masses = _spaced(depth, spacing)
    wave = _SHAKEN * np.cos(math.sqrt(2.0 / epsilon) * tokens)
    runs = [move_tokens(cloud, epsilon, layers, weights=masses) for cloud in (tokens - wave, tokens + wave)]
    sizes = [math.sqrt(float(masses @ ((b - a)[:, 0] ** 2))) for a, b in zip(*runs, strict=True)]
    return [size / sizes[0] for size in sizes]
