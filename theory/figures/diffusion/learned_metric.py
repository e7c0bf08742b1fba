r"""A score carries its own metric: what a layer does along a curve whose distances are learned.

Features of an angle turn its circle into another curve, and tokens spread there as the metric has it. The limit of a
layer is the drift-diffusion in that metric, with the density relative to it; that of the angle gives another operator,
and so does any formula in g if the score is not symmetric.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from matplotlib.ticker import NullFormatter

from theory.diffusion import Ellipse, studies
from theory.diffusion.geometry import Curve, Reparametrised
from theory.diffusion.limits import extrapolate, largest_errors
from theory.diffusion.settings import LEARNED_CURVES, WAVY_DENSITY
from theory.evidence import Interval, Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure

TITLE = "a score carries its own metric, and the density that drifts is relative to it"
STUDY = studies.metrics
CLAIMS = ("limit.metric", "limit.pull-back")

_TOKENS = 48
_TURN = 2.0 * math.pi
_NAMES = {"reparametrised": r"circle, at $x + 0.4\,\sin x$", "ellipse": r"ellipse, $(\cos x,\ 0.7\,\sin x)$"}


def draw(table: Table) -> Figure:
    """Draw two learned curves, what a layer changes, and the errors of right and wrong operators."""
    figure = style.canvas(style.DOUBLE, 4.7)
    axes = figure.subplot_mosaic([["a", "b"], ["c", "d"]], width_ratios=[1.0, 1.1])
    _curves(axes["a"])
    _change(axes["b"], table)
    style.panel(axes["c"], "c", r"symmetric score, $4\sin^2\frac{x-y}{2}\,(1 + 0.3\,\cos(x + y))$")
    style.panel(axes["d"], "d", "squared distances of features")
    epsilons = np.array(table.levels("epsilon")[::-1])
    _symmetric(axes["c"], table, epsilons)
    _features(axes["d"], table, epsilons)
    for letter in "cd":
        axes[letter].set(xlabel=r"finest bandwidth $\varepsilon$", ylim=(1e-6, 20.0))
        axes[letter].xaxis.set_minor_formatter(NullFormatter())
    axes["c"].set_ylabel("largest error")
    return figure


def _half_operator(curve: Curve, x: Array, volume: float) -> Array:
    """Return half the drift-diffusion of the study's function, the density divided by ``g ** volume``."""
    step = 1e-6
    g = curve.metric(x)
    slope = (curve.metric(x + step) - curve.metric(x - step)) / (2.0 * step * g)
    first, second = np.cos(x) - np.sin(2 * x), -np.sin(x) - 2.0 * np.cos(2 * x)
    value: Array = 0.5 / g * (second + (2.0 * (WAVY_DENSITY.log_slope(x) - volume * slope) - 0.5 * slope) * first)
    return value


def _curves(axes: Axes) -> None:
    """Draw the circle of the angle with its tokens, and where the features put them."""
    style.panel(axes, "a", "48 tokens: their angles, and their features")
    angles = WAVY_DENSITY.tokens(_TOKENS)
    dense = np.linspace(0.0, _TURN, 361)[:, np.newaxis]
    for middle, shown, name in ((0.0, Reparametrised(0.4), "reparametrised"), (3.5, Ellipse(1.0, 0.7), "ellipse")):
        inner = 0.4  # of the circle of angles, inside the curve of the features
        for points, hue in ((inner * _ring(dense), style.GREY), (1.35 * shown.features(dense), style.BLACK)):
            axes.plot(points[:, 0] + middle, points[:, 1], color=hue, linewidth=0.6)
        start, end = inner * _ring(angles), 1.35 * shown.features(angles)
        axes.plot(
            np.stack([start[:, 0], end[:, 0]]) + middle, np.stack([start[:, 1], end[:, 1]]), color=style.SKY,
            linewidth=0.35, zorder=0,
        )  # fmt: skip
        for points, hue in ((start, style.GREY), (end, style.BLUE)):
            style.marks(axes, points[:, 0] + middle, points[:, 1], "o", color=hue, size=2.0)
        style.note(axes, _NAMES[name], (middle, -1.55), ha="center", va="top")
    style.note(axes, "$x$", (0.0, 0.0), color=style.GREY, ha="center", va="center")
    style.note(axes, "$x$", (3.5, 0.0), color=style.GREY, ha="center", va="center")
    axes.set(xlim=(-1.45, 4.95), ylim=(-2.0, 1.45), aspect="equal", anchor="C")
    axes.set_axis_off()


def _ring(angles: Array) -> Array:
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1)


def _change(axes: Axes, table: Table) -> None:
    style.panel(axes, "b", r"change by one layer, circle at $x + 0.4\,\sin x$")
    x = np.linspace(0.0, _TURN, 400)
    curve = LEARNED_CURVES["reparametrised"]
    right, wrong = (_half_operator(curve, x, volume) for volume in (0.5, 0.0))
    axes.plot(x, right, color=style.BLACK, label=r"$\frac{1}{2}L_{g,p}h$, $p$ relative to $\sqrt{g}\,dx$")
    axes.plot(x, wrong, color=style.VERMILION, linestyle="dashed", label=r"the same, $p$ relative to $dx$")
    part = table.where(curve="reparametrised", epsilon=float(table["epsilon"].min()))
    style.marks(
        axes,
        part["x"],
        part.middles("change"),
        "o",
        color=style.BLUE,
        size=3.6,
        label=r"$(P_\varepsilon h - h)/\varepsilon$",
    )
    style.turn_axis(axes, "angle $x$ (rad)")
    axes.set_ylim(min(right.min(), wrong.min()) - 0.4, right.max() + 4.2)
    axes.legend(loc="upper left")


def _symmetric(axes: Axes, table: Table, epsilons: Array) -> None:
    places = _places(table, "modulated", epsilons)
    levels = _levels(table, "modulated", epsilons)
    truth, wrong = (_half_operator(LEARNED_CURVES["modulated"], places, volume) for volume in (0.5, 0.0))
    lopsided = largest_errors(_levels(table, "lopsided", epsilons), truth.tolist())
    _plot(axes, epsilons, largest_errors(levels, truth.tolist()), style.BLUE, "o", "symmetric", below=True)
    once = largest_errors(extrapolate(levels), truth.tolist())
    _plot(axes, epsilons[1:], once, style.GREEN, "s", "extrapolated", below=True)
    _plot(axes, epsilons, largest_errors(levels, wrong.tolist()), style.ORANGE, "", "density of the angle", below=True)
    _plot(axes, epsilons, lopsided, style.VERMILION, "", "asymmetric, same Hessian")


def _features(axes: Axes, table: Table, epsilons: Array) -> None:
    for name, marker, label, below in (("reparametrised", "o", "circle", False), ("ellipse", "D", "ellipse", True)):
        places = _places(table, name, epsilons)
        levels = _levels(table, name, epsilons)
        truth, wrong = (_half_operator(LEARNED_CURVES[name], places, volume) for volume in (0.5, 0.0))
        _plot(axes, epsilons, largest_errors(levels, truth.tolist()), style.BLUE, marker, label, below=below)
        once = largest_errors(extrapolate(levels), truth.tolist())
        _plot(axes, epsilons[1:], once, style.GREEN, marker, "extrapolated" if below else "", below=True)
        kept = largest_errors(levels, wrong.tolist())
        _plot(axes, epsilons, kept, style.VERMILION, "", "" if below else "density of the angle")


def _places(table: Table, name: str, epsilons: Array) -> Array:
    places: Array = table.where(curve=name, epsilon=float(epsilons[0]))["x"]
    return places


def _levels(table: Table, name: str, epsilons: Array) -> list[list[Interval]]:
    return [table.where(curve=name, epsilon=e).intervals("change") for e in epsilons.tolist()]


def _plot(
    axes: Axes, epsilons: Array, errors: Iterable[Interval], hue: str, marker: str, label: str, *, below: bool = False
) -> None:
    """Draw the errors of one operator; those of wrong ones are dashed, without markers."""
    line = "solid" if marker else "dashed"
    style.convergence(axes, epsilons, errors, color=hue, mark=marker, line=line, label=label, at=3, above=not below)
