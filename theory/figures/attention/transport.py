r"""Attention as transport: a token cloud :math:`\mu`, three rows of its kernel, and the cloud :math:`\mu A_\mu`.

Every token goes to the barycentre of its row of the kernel. This moves the mass :math:`w_i` by :math:`|x_i - y_i|`, so
:math:`W_1(\mu, \mu A_\mu) \le \sum_i w_i |x_i - y_i|`; both numbers are computed from the table.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.patches import FancyArrowPatch

from theory.attention import Measure, studies
from theory.distance import w1
from theory.evidence import Interval, Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure
from theory.report.digits import at_most, common

TITLE = "attention moves a measure: every token goes to the mean of its kernel row"
STUDY = studies.transport
CLAIMS = ("transport.displacement",)

_HUES = (style.VERMILION, style.BLUE, style.GREEN)
_AREA = 900.0  # square points of the whole mass
_SMALLER = 0.22  # the same in the panels of the rows, where one token can carry a tenth of the mass


def draw(table: Table) -> Figure:
    """Draw the clouds to one scale, the area of a token proportional to its mass."""
    x, y = (np.column_stack([table[f"{name}1"], table[f"{name}2"]]) for name in "xy")
    mass = table["weight"]
    watched = [int(name[3:-3]) for name in table.columns if name.startswith("row") and name.endswith(".lo")]
    rows = [f"row{query}" for query in watched]
    figure = style.canvas(style.DOUBLE, 3.15)
    axes = figure.subplot_mosaic([["in", row, "out"] for row in rows], width_ratios=[3.0, 1.0, 3.0])
    for each in axes.values():
        _frame(each, np.concatenate([x, y]))

    style.panel(axes["in"], "a", r"tokens $\mu$ (area: weight)")
    style.panel(axes[rows[0]], "b", "kernel rows")
    style.panel(axes["out"], "c", r"their images $\mu A_\mu$")
    axes["in"].set(xlabel="$x_1$", ylabel="$x_2$")
    axes["out"].set(xlabel="$x_1$")
    axes[rows[-1]].set_xlabel(f"area: weight $\\times$ {_SMALLER:g}\narrow: to the mean", size=style.SMALL)
    axes["out"].tick_params(labelleft=False)
    moves = LineCollection(list(np.stack([x, y], axis=1)), colors="#A8A8A8", linewidths=0.5, zorder=1)
    axes["out"].add_collection(moves)
    _atoms(axes["in"], x, mass, style.GREY)
    _atoms(axes["out"], y, mass, style.GREY)
    for number, (query, row, hue) in enumerate(zip(watched, rows, _HUES, strict=True), start=1):
        one = [query]
        law = table.middles(row)
        _atoms(axes["in"], x[one], mass[one], hue)
        _atoms(axes["out"], y[one], mass[one], hue)
        _arrow(axes["out"], x[query], y[query], hue)
        for each in (axes["in"], axes["out"]):
            _name(each, x[query], y[query], str(number), hue)
        _atoms(axes[row], x, law * _SMALLER, hue)
        _arrow(axes[row], x[query], y[query], style.BLACK)
        _corner(axes[row], str(number), color=hue, weight="bold")
        axes[row].tick_params(bottom=False, left=False, labelbottom=False, labelleft=False)
    _corner(axes["out"], _distances(x, y, mass), linespacing=1.5)
    return figure


def _frame(axes: Axes, points: Array) -> None:
    """Show all points, in a square."""
    centre = points.max(axis=0) / 2 + points.min(axis=0) / 2
    reach = 0.56 * float(np.ptp(points, axis=0).max())
    axes.set(xlim=(centre[0] - reach, centre[0] + reach), ylim=(centre[1] - reach, centre[1] + reach), aspect="equal")
    axes.set(xticks=range(-1, 3), yticks=range(-2, 3))
    axes.spines[:].set_visible(True)


def _atoms(axes: Axes, points: Array, masses: Array, colour: str) -> None:
    look: dict[str, Any] = {"alpha": 0.8, "edgecolors": "white", "linewidths": 0.25}
    axes.scatter(points[:, 0], points[:, 1], masses * _AREA, c=colour, zorder=2, **look)


def _arrow(axes: Axes, start: Array, end: Array, colour: str) -> None:
    look = FancyArrowPatch(
        (start[0], start[1]), (end[0], end[1]), arrowstyle="-|>", mutation_scale=6.0, shrinkA=0.0, shrinkB=0.0,
        color=colour, linewidth=0.9, zorder=3,
    )  # fmt: skip
    axes.add_patch(look)


def _name(axes: Axes, token: Array, image: Array, number: str, colour: str) -> None:
    """Write the number of a token on the side that it moves away from."""
    aside = 7.0 * (token - image) / float(np.linalg.norm(token - image))  # points
    axes.annotate(
        number, (token[0], token[1]), (aside[0], aside[1]), textcoords="offset points", color=colour, weight="bold",
        ha="center", va="center",
    )  # fmt: skip


def _corner(axes: Axes, words: str, **look: Any) -> None:
    axes.annotate(words, (1.0, 1.0), (-4.0, -5.0), "axes fraction", "offset points", ha="right", va="top", **look)


def _distances(x: Array, y: Array, weight: Array) -> str:
    """Print the certified distance of the clouds and the upper end of the mean displacement."""
    distance = w1(Measure.normalised(x, weight), Measure.normalised(y, weight))
    moved, mass = Interval.exactly(0.0), Interval.exactly(0.0)
    for w, start, end in zip(weight.tolist(), x.tolist(), y.tolist(), strict=True):
        squared = sum(((Interval.exactly(a) - b) ** 2 for a, b in zip(start, end, strict=True)), Interval.exactly(0.0))
        moved, mass = moved + w * squared.sqrt(), mass + w
    mean = at_most((moved / mass).hi, tex=True, figures=6)
    return f"$W_1(\\mu, \\mu A_\\mu) = {common(distance, tex=True)}$\nmean displacement $\\leq {mean}$"
