r"""What rounding costs two ways of computing entmax for two scores: halving the threshold, and a last Newton step.

Near a change of the support the power :math:`[z - \theta]_+^{1/(\alpha-1)}` is steep for :math:`\alpha > 2`: a
threshold off by one rounding :math:`u` costs :math:`u^{1/(\alpha-1)}`. Near :math:`\alpha = 1` the same power loses
:math:`u/(\alpha - 1)`. Both are losses of the algorithm: the map itself is Lipschitz for two scores, and the other way
keeps to a few roundings.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from theory.evidence import Table
from theory.evidence.roundoff import U
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure
from theory.maxent import studies

TITLE = "rounding costs entmax most near a change of its support above order 2, and near order 1"
STUDY = studies.conditioning
CLAIMS = ("entmax.edge", "entmax.power-form")

_HUES = {3.0: style.BLUE, 5.0: style.VERMILION, 10.0: style.GREEN}
_MARKS = {3.0: "o", 5.0: "^", 10.0: "s"}
_FLOOR = 1e-18  # where smaller errors are drawn, zero among them


def draw(table: Table) -> Figure:
    """Draw the errors against the distance to the edge, against the order, and near order 1."""
    figure, (edge, order, near) = style.row(
        3.1, "near the edge of the support", "the worst distance", r"near $\alpha = 1$", sharey=True
    )
    _edge(edge, table.where(part="edge"))
    _order(order, table.where(part="edge"))
    _near(near, table.where(part="near"))
    edge.set(xscale="log", yscale="log", xlabel=r"distance $1 - (\alpha-1)d$", ylabel="largest error of a weight")
    edge.set(ylim=(_FLOOR / 3.0, 3.0), xlim=(2e-16, 1.5))
    edge.set_yticks([10.0**k for k in (-18, -15, -12, -9, -6, -3, 0)])
    edge.set_yticklabels([r"$\leq10^{-18}$", *(f"$10^{{{k}}}$" for k in (-15, -12, -9, -6, -3)), "$1$"])
    edge.minorticks_off()
    order.set(xlabel=r"order $\alpha$", xlim=(1.0, None))
    near.set(xscale="log", xlabel=r"$\alpha - 1$")
    return figure


def _edge(axes: Axes, table: Table) -> None:
    for alpha, hue in _HUES.items():
        part = table.where(alpha=alpha)
        look: dict[str, Any] = {"color": hue, "markersize": 2.8}
        axes.plot(part["distance"], _sizes(part, "plain"), _MARKS[alpha], **look, label=rf"$\alpha = {alpha:g}$")
        axes.plot(part["distance"], _sizes(part, "ours"), _MARKS[alpha], mfc="none", mew=0.6, **look)
        style.guide(axes, y=U ** (1.0 / (alpha - 1.0)), color=hue, line="dotted")
    axes.plot([], [], "D", color=style.GREY, markersize=2.8, label="halving")
    axes.plot([], [], "D", color=style.GREY, markersize=2.8, mfc="none", mew=0.6, label="Newton")
    axes.plot([], [], ":", color=style.GREY, label=r"$u^{1/(\alpha-1)}$")
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 0.25), ncols=2, labelspacing=0.25, columnspacing=0.8)


def _order(axes: Axes, table: Table) -> None:
    alpha = np.unique(table["alpha"])
    fine = np.linspace(2.0, float(alpha.max()), 200)
    for name, words, fill in (("plain", "halving", style.BLACK), ("ours", "last Newton step", "none")):
        worst = [_sizes(table.where(alpha=a), name).max() for a in alpha.tolist()]
        axes.plot(alpha, worst, "o", color=style.BLACK, markersize=2.8, mfc=fill, mew=0.6, label=words)
    steep = fine[fine >= 2.5]
    power = 1.0 / (steep - 1.0)
    axes.fill_between(steep, 0.5 * U**power, (16.0 * steep * U) ** power, color=style.SKY, alpha=0.35, linewidth=0,
                      label=r"$\frac{1}{2}u^{1/(\alpha-1)}$ to $(16\alpha u)^{1/(\alpha-1)}$")  # fmt: skip
    axes.plot(fine, 8.0 * fine * U, "--", color=style.VERMILION, label=r"$8\alpha u$")
    axes.legend(loc="center right", bbox_to_anchor=(1.0, 0.47), labelspacing=0.3)


def _near(axes: Axes, table: Table) -> None:
    excess = np.sort(np.unique(table["excess"]))
    axes.plot(table["excess"], _sizes(table, "plain"), "o", color=style.BLACK, markersize=2.2, label="power")
    axes.plot(
        table["excess"], _sizes(table, "ours"), "o", color=style.BLACK, markersize=2.2, mfc="none", mew=0.5,
        label="exp and log1p",
    )  # fmt: skip
    axes.plot(excess, U / excess + 4.0 * U, "--", color=style.BLUE, label=r"$u/(\alpha-1) + 4u$")
    axes.plot(excess, np.full(excess.size, 4.0 * U), "--", color=style.VERMILION, label="$4u$")
    axes.legend(loc="upper right", labelspacing=0.3)


def _sizes(table: Table, name: str) -> Array:
    """Return the middles of the errors, raised to the floor."""
    return np.array([max(error.mid, _FLOOR) for error in table.intervals(name)])
