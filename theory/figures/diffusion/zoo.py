r"""The same points and the same query under seven methods: with which weights each averages the points, and to where.

Clustering, regression and embedding methods differ from attention in their weights alone. The area of a point is its
weight; the arrow leads from the query to the mean under these weights. Below stand the formula of the weights and the
effective number of points, :math:`1/\sum_jw_j^2`.
"""

from __future__ import annotations

import numpy as np
from matplotlib.patches import FancyArrowPatch

from theory.diffusion import studies
from theory.diffusion.settings import CENTRES, METHODS
from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure

TITLE = "seven methods are attention: each weights the same points its own way and reads another mean"
STUDY = studies.zoo
CLAIMS = ("pipeline.zoo",)

_AREA = 620.0  # square points of the whole mass
_HUES = {
    "k-means": style.BLUE, "fuzzy c-means": style.BLUE, "mean shift": style.GREEN, "k nearest": style.GREEN,
    "diffusion maps": style.GREEN, "t-SNE": style.PURPLE, "attention": style.VERMILION,
}  # fmt: skip
_RULES = {
    "k-means": "own cluster, equal",
    "fuzzy c-means": r"$u_j^m$, $m = 2$",
    "mean shift": r"$e^{-|q-x_j|^2/2h^2}$, $h = 1$",
    "k nearest": "12 nearest, equal",
    "diffusion maps": r"$e^{-|q-x_j|^2/2h^2}/d_j$",
    "t-SNE": r"$(1+|q-x_j|^2)^{-1}$",
    "attention": r"$e^{\langle q,x_j\rangle}$",
}


def draw(table: Table) -> Figure:
    """Draw the points, then a panel per method."""
    figure = style.canvas(style.DOUBLE, 3.9)
    axes = figure.subplots(2, 4, sharex=True, sharey=True).ravel()
    first = table.where(method=METHODS[0])
    points = np.column_stack([first["x1"], first["x2"]])
    low, high = points.min(axis=0) - 0.35, points.max(axis=0) + 0.35
    style.panel(axes[0], "a", "points, query, centres")
    axes[0].scatter(points[:, 0], points[:, 1], 9.0, color=style.GREY, linewidths=0)
    axes[0].plot(
        CENTRES[1:, 0], CENTRES[1:, 1], "D", color=style.BLACK, markersize=3.4, markerfacecolor="none", linestyle="none"
    )
    _query(axes[0])
    axes[0].annotate("$q$", tuple(CENTRES[0]), (5, 4), textcoords="offset points", weight="bold")
    for letter, name, each in zip("bcdefgh", METHODS, axes[1:], strict=True):
        style.panel(each, letter, name)
        _row(each, points, table.where(method=name).middles("weight"), name)
    for number, each in enumerate(axes):
        each.set(xlim=(low[0], high[0]), ylim=(low[1] - 0.95, high[1]), aspect="equal")
        each.set(xticks=range(-1, 4), yticks=range(-1, 4))
        if number >= 4:
            each.set_xlabel("$x_1$")
        if number % 4 == 0:
            each.set_ylabel("$x_2$")
    return figure


def _query(axes: Axes) -> None:
    axes.plot(*CENTRES[0], "*", color=style.BLACK, markersize=7, markeredgecolor="white", markeredgewidth=0.5, zorder=4)


def _row(axes: Axes, points: Array, weights: Array, name: str) -> None:
    """Draw one row of weights, the query and its mean."""
    hue = _HUES[name]
    axes.scatter(points[:, 0], points[:, 1], 1.2, color=style.GREY, linewidths=0, zorder=1)
    axes.scatter(
        points[:, 0], points[:, 1], weights * _AREA, color=hue, alpha=0.6, edgecolors="white", linewidths=0.25, zorder=2
    )
    mean = weights @ points / weights.sum()
    if np.linalg.norm(mean - CENTRES[0]) > 0.05:
        axes.add_patch(
            FancyArrowPatch(
                tuple(CENTRES[0]), tuple(mean), arrowstyle="-|>", mutation_scale=6.0, shrinkA=0.0, shrinkB=0.0,
                color=style.BLACK, linewidth=0.9, zorder=3,
            )
        )  # fmt: skip
    _query(axes)
    count = 1.0 / float(np.square(weights / weights.sum()).sum())
    style.note(
        axes,
        f"{_RULES[name]}\n$n_\\mathrm{{eff}} = {count:.0f}$ of {len(points)}",
        (0.0, 0.0),
        offset=(3.0, 2.0),
        inside=True,
        ha="left",
        va="bottom",
        linespacing=1.3,
    )
