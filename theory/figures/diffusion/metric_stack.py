r"""Stacks of metric-attention against the equations that they run, in one, two and three dimensions.

On the left a function on a closed curve in space after a quarter of the unit of time: marks are layers, lines the
drift-diffusion in the learned metric, with the density relative to it and with that of the angle. In the middle how far
stacks are from both; on the right from heat equations in conformal metrics, whose clocks go differently at every place.
Equations are solved by collocation, from metrics that are differences of the features.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from theory.diffusion import studies
from theory.diffusion.geometry import heat_flow
from theory.diffusion.limits import largest_errors, read_levels
from theory.diffusion.stack_settings import METRIC_STACKS
from theory.evidence import Intervals, Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure

TITLE = (
    "stacks of metric-attention run a drift-diffusion in the metric that they learn, and with a clock a heat equation"
)
STUDY = studies.metric_stack
CLAIMS = ("layers.metric-curve", "layers.metric-torus", "heat.flow", "heat.lifted-flow", "heat.clock")

_NODES = {"ellipse": (47,), "bent": (63,), "torus": (25, 21), "cube": (13, 13, 13)}
_LOOKS = {  # words, colour and mark
    "ellipse": ("ellipse", style.GREEN, "^"), "bent": ("curve in space", style.BLUE, "o"),
    "torus": ("torus in space", style.VERMILION, "s"), "cube": (r"$\mathbb{T}^3$", style.PURPLE, "D"),
}  # fmt: skip
_SHOWN = 1.0 / 64.0
_STEP = 1e-4  # of the differences of features, whose error is some 1e-9


def draw(table: Table) -> Figure:
    """Draw what a stack does on a curve, and both errors."""
    figure = style.canvas(style.DOUBLE, 2.7)
    first, second, third = figure.subplots(1, 3)
    style.panel(first, "a", rf"curve in space, $\varepsilon = 1/{round(1.0 / _SHOWN)}$")
    style.panel(second, "b", "drift-diffusion: largest error")
    style.panel(third, "c", "conformal heat: largest error")
    _curve(first, table)
    _densities(second, table)
    _clocks(third, table)
    for axes in (second, third):
        axes.set(xscale="log", yscale="log", xlabel=r"bandwidth $\varepsilon$", ylim=(3e-4, 3.0))
        axes.legend(loc="lower right", fontsize=style.SMALL, handlelength=1.2)
    return figure


@cache
def _flow(way: str, places: bytes | None, exponent: float, clock: float, weight: float, relative: bool) -> Intervals:
    """Solve the heat equation in q^exponent g at the speed q^clock with the weight q^weight."""
    given = METRIC_STACKS[way]
    d = len(_NODES[way])
    asked = given.places if places is None else np.frombuffer(places).reshape(-1, d)

    def density(*axes: Array) -> Any:
        volume = np.sqrt(np.linalg.det(_metric(way, axes))) if relative else 1.0
        return given.density(*axes) / volume

    def metric(*axes: Array) -> Any:
        scaled = density(*axes)[..., np.newaxis, np.newaxis] ** exponent * _metric(way, axes)
        return np.moveaxis(scaled, (-2, -1), (0, 1))

    return heat_flow(
        metric, given.function, given.time, asked, nodes=_NODES[way], weight=lambda *axes: density(*axes) ** weight,
        speed=lambda *axes: density(*axes) ** clock,
    )  # fmt: skip


def _metric(way: str, axes: Any) -> Array:
    """Return the pull-back by differences of the features, with its indices behind."""
    shape = np.broadcast_shapes(*(x.shape for x in axes))
    angles = np.stack([np.broadcast_to(x, shape).ravel() for x in axes], axis=1)
    features = METRIC_STACKS[way].features
    steps = np.eye(len(axes)) * _STEP
    apart = [features(angles + step) - features(angles - step) for step in steps]
    jacobian = np.stack(apart, axis=1) / (2.0 * _STEP)
    found = np.einsum("nik,njk->nij", jacobian, jacobian)
    return np.asarray(found.reshape(*shape, len(axes), len(axes)))


def _curve(axes: Axes, table: Table) -> None:
    x = np.linspace(0.0, 2.0 * np.pi, 181)
    given = METRIC_STACKS["bent"]
    axes.plot(x, given.function(x), color=style.GREY, linewidth=0.7, label="$t = 0$")
    for relative, line, words in ((True, "solid", r"density $p/\sqrt{g}$"), (False, "dashed", "density $p$")):
        found = _flow("bent", x[:, np.newaxis].tobytes(), 0.0, 0.0, 2.0, relative).mid
        axes.plot(x, found, color=style.BLACK, linewidth=0.8, linestyle=line, label=words)
    part = table.where(way="bent", epsilon=_SHOWN)
    style.marks(axes, given.places[:, 0], part.middles("value"), "o", color=style.BLUE, size=3.0, label="layers")
    style.turn_axis(axes, "angle $x$")
    axes.set_ylim(-2.0, 2.3)
    axes.legend(loc="upper center", ncols=2, fontsize=style.SMALL, handlelength=1.2)


def _densities(axes: Axes, table: Table) -> None:
    for way in ("ellipse", "bent", "torus"):
        _errors(axes, table, way, _flow(way, None, 0.0, 0.0, 2.0, True), right=True)
        _errors(axes, table, way, _flow(way, None, 0.0, 0.0, 2.0, False), right=False)
    style.note(axes, "density $p$", (0.0025, 0.2), color=style.GREY, va="bottom")


def _clocks(axes: Axes, table: Table) -> None:
    for way, exponent in (("ellipse", -4.0), ("cube", 4.0)):
        _errors(axes, table, way, _flow(way, None, exponent, exponent, 0.0, True), right=True)
        _errors(axes, table, way, _flow(way, None, 0.5 * exponent, 0.5 * exponent, 0.0, True), right=False)
    _errors(axes, table, "torus", _flow("torus", None, 4.0, 4.0, 0.0, True), right=False, words=r"$d = 2$, any $e$")
    style.note(axes, r"$e = \frac{2}{d - 2}$", (0.0025, 0.25), color=style.GREY, va="bottom")


def _errors(axes: Axes, table: Table, way: str, truth: Intervals, *, right: bool, words: str | None = None) -> None:
    label, hue, mark = _LOOKS[way]
    epsilons, levels = read_levels(table.where(way=way), "value")
    axes.plot(
        epsilons, largest_errors(levels, truth).mid, mark, color=hue, linewidth=0.6, markersize=3.2,
        linestyle="solid" if right else "dashed", markerfacecolor=hue if right else "none",
        label=label if right else words,
    )  # fmt: skip
