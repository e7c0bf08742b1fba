r"""Regularisation paths on the simplex of three scores: where the law goes as the temperature falls.

The paths of softmax, entmax of order 3/2 and sparsemax in barycentric coordinates, from the uniform law towards the
largest score; marks at a few inverse temperatures, the same for all. Sparsemax is piecewise linear in
:math:`1/\tau` and runs along an edge once a weight has vanished. Next to them the entropy along each path, and how many
entries have weight.
"""

from __future__ import annotations

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure
from theory.maxent import studies

TITLE = "on cooling softmax keeps all three scores, while entmax and sparsemax drop them one by one"
STUDY = studies.paths
CLAIMS = ("entmax.differences", "naive.path")

_LOOKS = {1.0: (style.BLUE, "-", "o"), 1.5: (style.GREEN, "--", "s"), 2.0: (style.VERMILION, "-.", "^")}
_HIGH = float(np.sqrt(3.0) / 2.0)
_CORNERS = (((0.53, _HIGH), "left", "center"), ((0.0, -0.02), "center", "top"), ((1.0, -0.02), "center", "top"))
_DOTS = (0.6, 1.2, 2.4, 4.8)  # inverse temperatures that both scales have
_APART = 0.05  # by how much lines of equal support are set apart


def draw(table: Table) -> Figure:
    """Draw the paths in the triangle, and entropy and size of the support along them."""
    figure = style.canvas(style.DOUBLE, 3.0)
    axes = figure.subplot_mosaic([["a", "b"], ["a", "c"]], width_ratios=[1.05, 1.0])
    style.panel(axes["a"], "a", r"paths of $p^*$; marks at $1/\tau = " + ", ".join(f"{x:g}" for x in _DOTS) + "$")
    style.panel(axes["b"], "b", "entropy falls along the path")
    style.panel(axes["c"], "c", "and entries lose their weight")
    for number, alpha in enumerate(studies.PATH_ORDERS):
        part = table.where(alpha=alpha)
        hue, dash, _ = _LOOKS[alpha]
        _path(axes["a"], part, alpha)
        axes["b"].plot(part["inverse"], part["entropy"], dash, color=hue)
        axes["c"].plot(part["inverse"], part["support"] - _APART * (number - 1), dash, color=hue, drawstyle="steps-mid")
    _triangle(axes["a"])
    for each in (axes["b"], axes["c"]):
        each.set(xlim=(0.0, 6.0))
    axes["b"].set(ylabel="nats", ylim=(-0.03, 1.15))
    axes["b"].tick_params(labelbottom=False)
    axes["c"].set(xlabel=r"inverse temperature $1/\tau$", ylabel="number", ylim=(0.7, 3.3), yticks=[1, 2, 3])
    return figure


def _place(p: list[Array]) -> tuple[Array, Array]:
    """Return where laws lie in the triangle that has its first score at the top and its third at the right."""
    return p[2] + p[0] / 2.0, _HIGH * p[0]


def _path(axes: Axes, part: Table, alpha: float) -> None:
    """Draw one path from the uniform law on, and its dots."""
    law = [part.middles(f"p{k}") for k in (1, 2, 3)]
    hue, dash, mark = _LOOKS[alpha]
    x, y = _place([np.append(1.0 / 3.0, p) for p in law])
    name = {1.0: "softmax", 1.5: "entmax", 2.0: "sparsemax"}[alpha]
    axes.plot(x, y, dash, color=hue, marker=mark, markevery=[], markersize=3.2, clip_on=False, zorder=3,
              label=rf"{name}, $\alpha = {alpha:g}$")  # fmt: skip
    dots = np.isin(np.round(part["inverse"], 9), _DOTS)
    axes.plot(*_place([p[dots] for p in law]), mark, color=hue, markersize=3.2, clip_on=False, zorder=4)


def _triangle(axes: Axes) -> None:
    axes.plot([0.0, 1.0, 0.5, 0.0], [0.0, 0.0, _HIGH, 0.0], color=style.GREY, linewidth=0.6, zorder=1)
    axes.plot(0.5, _HIGH / 3.0, "o", color=style.BLACK, markersize=2.5, zorder=5)
    axes.annotate("uniform", (0.5, _HIGH / 3.0), (0.0, -4.0), textcoords="offset points", ha="center", va="top")
    for score, ((across, up), ha, va) in zip(studies.PATH_SCORES, _CORNERS, strict=True):
        style.note(axes, f"$s = {score:g}$", (across, up), ha=ha, va=va)
    axes.legend(loc="upper left", bbox_to_anchor=(-0.02, 1.0), handlelength=2.2)
    axes.set(aspect="equal")
    axes.axis("off")
