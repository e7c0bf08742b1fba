r"""Attention that recomputes its weights: spheres that shrink, beside ones with weights kept, and an ellipse."""

from __future__ import annotations

from functools import cache

import numpy as np

from theory.diffusion.layers.self_dynamics import PlaneCurve, advance_rounding, ellipse, shorten_curve, sphere_radii
from theory.evidence import Interval, Kind, Table, estimated

SPHERE_DIMENSIONS = (1, 2, 3)
REACHED = 0.3  # the time times the dimension at which radii are compared
LEVELS = {"quick": 4, "paper": 6}
_FIRST = 10  # layers until then at the coarsest level
_PATH = 2  # the level of which all layers are kept, past the collapse
_PATH_LAYERS = 66

HALF_AXES = (1.5, 0.75)
CURVES = {"quick": 4, "paper": 5}
SHORTENING_TIMES = (0.1, 0.2, 0.3, 0.4, 0.5)
SHOWN = 64  # places along the curve
_WIDEST = 0.04
_FINE, _FINER = 8.0, 12.0  # taken: tokens per unit of angle and inverse root of epsilon, in two runs that are compared


def self_dynamics(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    r"""Return radii of spheres, and areas and points of an ellipse.

    ``part`` is ``recomputed`` or ``kept`` for radii of uniform tokens on the unit sphere of dimension ``dim``, after
    ``layer`` layers. For ``area``, ``x`` and ``y`` it is the curve of which every layer weighs tokens by the arc they
    stand for, at ``place`` steps of 64 along it; their width is twice what half as many tokens more change, and
    rounding of all layers.
    """
    rows: list[tuple[str, int, float, int, int, Interval]] = []
    for dim in SPHERE_DIMENSIONS:
        for level in range(LEVELS[scale]):
            count = _FIRST * 2**level
            epsilon = 2.0 * REACHED / (dim * count)
            for part in ("recomputed", "kept"):
                path = level == _PATH and part == "recomputed"
                radii = sphere_radii(1.0, epsilon, dim, _PATH_LAYERS if path else count, kept=part == "kept")
                kept = range(len(radii)) if level == _PATH else (0, count)
                rows += [(part, dim, epsilon, layer, 0, radii[layer]) for layer in kept]
    for level in range(CURVES[scale]):
        rows += _curve(_WIDEST * 0.5**level)
    parts, dims, epsilons, layers, places, values = zip(*rows, strict=True)
    columns = {"part": parts, "dim": dims, "epsilon": epsilons, "layer": layers, "place": places, "value": values}
    return Table(Kind.ESTIMATED, dict.fromkeys(columns, "1"), columns)


def _curve(epsilon: float) -> list[tuple[str, int, float, int, int, Interval]]:
    layers = [round(2.0 * t / epsilon) for t in (0.0, *SHORTENING_TIMES)]
    coarse, fine = (_path(epsilon, per, layers[-1]) for per in (_FINE, _FINER))
    rows: list[tuple[str, int, float, int, int, Interval]] = []
    for layer in layers:
        a, b = coarse[layer], fine[layer]
        slip = 4.0 * sum(advance_rounding(c.points, epsilon, c.speed) for c in fine[: layer + 1 : max(1, layer // 4)])
        slip *= max(1, layer // 4)  # that of every fourth part of the layers stands for its neighbours
        rows.append(("area", 1, epsilon, layer, 0, _between(a.area, b.area, 8.0 * slip)))
        one, two = (c.points[:: c.points.shape[0] // SHOWN] for c in (a, b))
        apart = float(np.abs(one - two).max())  # of all places, as errors may cross at one
        for place in range(SHOWN):
            for axis, name in enumerate("xy"):
                at = float(two[place, axis])
                rows.append((name, 1, epsilon, layer, place, _between(at + apart, at, slip)))
    return rows


@cache
def _path(epsilon: float, per: float, layers: int) -> list[PlaneCurve]:
    nodes = SHOWN * -int(-per * 2.0 * 3.2 / epsilon**0.5 // SHOWN)
    return list(shorten_curve(ellipse(*HALF_AXES, nodes), epsilon, layers))


def _between(coarse: float, fine: float, slip: float) -> Interval:
    return estimated(float(fine), float(coarse), times=2.0) + Interval.within(0.0, slip)
