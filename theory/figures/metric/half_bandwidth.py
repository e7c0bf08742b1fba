r"""The bandwidth in use is not small: what one layer keeps of a wave, and what its asymptotics say.

Marks are layers of attention on tokens of the circle and of the sphere. Without a value matrix a layer multiplies a
wave of degree l by a number between 0 and 1; the first order in :math:`\varepsilon` says :math:`1 - \frac\varepsilon2
\mu_l` and the semigroup :math:`e^{-\varepsilon\mu_l/2}`. Below, how far they are from the layer: at second order both,
but for the slowest wave of the sphere, where the first order is exact up to an exponentially small term.
"""

from __future__ import annotations

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure
from theory.metric import laplacian_rate, studies

TITLE = "at the bandwidth in use the asymptotics of attention are qualitative only"
STUDY = studies.half_bandwidth
CLAIMS = ("metric.multipliers", "metric.half-bandwidth", "metric.asymptotics")

_HUES = {1: (style.BLUE, "o"), 2: (style.VERMILION, "s"), 3: (style.GREEN, "^")}
_IN_USE = {  # with the side of the line on which the name stands
    "circle": ((0.5, "metric-attention", "right"),),
    "sphere": ((0.5, "metric-attention", "right"), (1.0, r"softmax of $x\cdot y$", "left")),
}
_NAMES = {"circle": r"what a layer keeps of waves $\cos k\theta$", "sphere": r"and on the sphere, of waves $P_l(z)$"}
_ERRORS = {"circle": "how far both asymptotics are off", "sphere": "and how far on the sphere"}
_LEAST = 1.0 / 32.0  # of the bandwidths in the upper row
_FLOOR = 3e-8  # below which errors are rounding


def draw(table: Table) -> Figure:
    """Draw multipliers of both spaces, and below what first order and semigroup are off."""
    figure = style.canvas(style.DOUBLE, 4.9)
    axes = figure.subplot_mosaic([["a", "b"], ["c", "d"]], height_ratios=[1.15, 1.0])
    for letters, space in (("ac", "circle"), ("bd", "sphere")):
        top, below = (axes[letter] for letter in letters)
        style.panel(top, letters[0], _NAMES[space])
        style.panel(below, letters[1], _ERRORS[space])
        _multipliers(top, table.where(space=space), space)
        _errors(below, table.where(space=space), space)
        for part in (top, below):
            part.set(xscale="log", xlabel=r"bandwidth $\varepsilon$")
            part.xaxis.set_minor_formatter(NullFormatter())
    _legends(axes["a"], axes["c"])
    return figure


def _column(table: Table, degree: int, *, least: float) -> tuple[Array, Array]:
    part = table.where(degree=degree)
    kept = part["epsilon"] >= least
    return part["epsilon"][kept], part.middles("multiplier")[kept]


def _multipliers(axes: Axes, table: Table, space: str) -> None:
    dense = np.geomspace(_LEAST, 3.0, 300)
    for degree, (hue, mark) in _HUES.items():
        q = 0.5 * laplacian_rate(space, degree) * dense
        axes.plot(dense, np.exp(-q), color=hue, linewidth=0.8)
        axes.plot(dense, 1.0 - q, color=hue, linewidth=0.8, linestyle="dashed")
        epsilons, found = _column(table, degree, least=_LEAST)
        style.marks(axes, epsilons, found, mark, color=hue, hollow=True)
    style.guide(axes, y=0.0)
    for at, name, side in _IN_USE[space]:
        style.guide(axes, x=at, line="dotted")
        shift = 0.97 if side == "right" else 1.03
        style.note(axes, name, (at * shift, 1.1), color=style.GREY, ha=side, va="bottom")
    axes.set(xlim=(_LEAST * 0.92, 3.05), ylim=(-0.55, 1.2), ylabel="multiplier")


def _errors(axes: Axes, table: Table, space: str) -> None:
    for degree, (hue, mark) in _HUES.items():
        epsilons, found = _column(table, degree, least=0.0)
        q = 0.5 * laplacian_rate(space, degree) * epsilons
        for claimed, line, face in ((np.exp(-q), "solid", hue), (1.0 - q, "dashed", "none")):
            error = np.abs(found - claimed)
            seen = error > _FLOOR
            axes.plot(
                epsilons[seen], error[seen], mark, color=hue, linestyle=line, linewidth=0.7, markersize=2.8,
                markerfacecolor=face, markeredgewidth=0.6,
            )  # fmt: skip
    guide = np.array([2.0**-8, 2.0**-3])
    style.power(axes, guide, (1.0, 6e-2), 2.0)
    style.note(axes, r"$\propto\varepsilon^2$", (guide[1] * 0.6, 9e-3 * guide[1] ** 2), color=style.GREY, va="top")
    for at, *_ in _IN_USE[space]:
        style.guide(axes, x=at, line="dotted")
    axes.set(yscale="log", ylim=(2e-7, 30.0), xlim=(0.0034, 3.05), ylabel="distance from the layer")


def _legends(top: Axes, below: Axes) -> None:
    degrees = [
        Line2D(
            [], [], color=hue, marker=mark, linestyle="", markerfacecolor="none", markersize=3.2, markeredgewidth=0.7
        )
        for hue, mark in _HUES.values()
    ]
    lines = [Line2D([], [], color=style.BLACK, linewidth=0.8, linestyle=line) for line in ("solid", "dashed")]
    top.legend(
        degrees + lines,
        [*(f"layer, degree {degree}" for degree in _HUES), "semigroup", "first order"],
        loc="lower left",
    )
    below.legend(lines, ["semigroup", "first order"], loc="upper left")
