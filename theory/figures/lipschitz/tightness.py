r"""How near attention on a ball comes to its constants in :math:`W_1`, :math:`W_2` and :math:`W_\infty`.

Above, the constants as lines and the stretches that were found as marks; below, the marks as shares of the solid line,
which in :math:`W_1` is the least constant there is: a light atom far from the others comes to it. In :math:`W_2` a
heavier one comes to :math:`3\sqrt3/8` of :math:`C_2` as :math:`\alpha` grows, in :math:`W_\infty` a query between two
keys to all of :math:`C_\infty`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.lipschitz import studies
from theory.lipschitz.constants import interpolated_constant, joint_constant, schur_constant, sharp_w1_constant
from theory.lipschitz.studies import stretches

TITLE = "clouds on a ball reach the constant in W1, and those found stay below it in W2 and W infinity"
STUDY = studies.tightness
CLAIMS = ("lipschitz.sharp-w1", "lipschitz.interpolated", "lipschitz.max-norm")

Bound = Callable[[float], float]


class _Panel(NamedTuple):
    """A metric, its own constant, and other lines: name, dashes, function."""

    metric: str
    title: str
    own: str
    bound: Bound
    others: tuple[tuple[str, tuple[float, ...], Bound], ...]


_PANELS = (
    _Panel("W1", "$W_1$: the constant is attained", r"$e^{2\alpha}(1 + 2\alpha)$", sharp_w1_constant,
           ((r"$C_1 = e^{2\alpha}(1 + 2\alpha) + \alpha$", (1.0, 1.5), joint_constant),)),
    _Panel("W2", "$W_2$: at least two fifths are found", r"$C_2 = e^{\alpha}(1 + \alpha) + \alpha$",
           lambda a: interpolated_constant(a, 2.0),
           ((r"Schur's test", (4.0, 1.5), lambda a: schur_constant(a, 2.0)),
            ("$C_1$", (1.0, 1.5), joint_constant))),
    _Panel("Winf", r"$W_\infty$: at least two thirds are found", r"$C_\infty = 1 + 2\alpha$",
           lambda a: interpolated_constant(a, math.inf), ()),
)  # fmt: skip
_WAYS = (
    ("random", "worst of random clouds", style.SKY, "o", 3.2),
    ("climbed", "three atoms, moved uphill", style.ORANGE, "s", 4.6),
    ("witness", "named witness", style.VERMILION, "D", 2.6),
)  # drawn in this order, the smallest mark last


def draw(table: Table) -> Figure:
    """Draw constants and stretches of every metric, and the shares below."""
    figure = style.canvas(style.DOUBLE, 3.9)
    axes = figure.subplots(2, 3, sharex=True, height_ratios=[1.2, 1.0])
    for column, (letter, panel) in enumerate(zip("abc", _PANELS, strict=True)):
        above, below = axes[:, column]
        style.panel(above, letter, panel.title)
        _bounds(above, panel, float(table["alpha"].min()), float(table["alpha"].max()))
        for way, words, hue, mark, size in _WAYS:
            alphas, found = stretches(table, panel.metric, way)
            middle = np.array([interval.mid for interval in found])
            shares = middle / np.array([panel.bound(alpha) for alpha in alphas.tolist()])
            filled = way != "climbed"
            for each, values in ((above, middle), (below, shares)):
                each.plot(
                    alphas, values, mark, color=hue, markersize=size, markeredgewidth=0 if filled else 0.8,
                    markerfacecolor=hue if filled else "none", label=words, clip_on=False, zorder=3,
                )  # fmt: skip
        below.axhline(1.0, color=style.BLACK, linewidth=0.9)
        if panel.metric == "W2":
            style.guide(below, y=3.0 * math.sqrt(3.0) / 8.0, line="dotted")
            below.annotate(
                r"witness, $\alpha \to \infty$: $3\sqrt{3}/8$", (1.0, 3.0 * math.sqrt(3.0) / 8.0), (0.97, 0.72),
                xycoords=("axes fraction", "data"), textcoords=("axes fraction", "data"),
                size=style.SMALL, color=style.GREY, ha="right", va="bottom",
            )  # fmt: skip
        below.set(xscale="log", xlabel=r"$\alpha = \Vert B\Vert R^2$", ylim=(0.0, 1.05))
        below.set_xticks([0.1, 0.3, 1.0, 3.0], ["0.1", "0.3", "1", "3"])
        above.set(yscale="log")
        if panel.metric == "Winf":
            above.set_yticks([1.0, 2.0, 5.0, 10.0], ["1", "2", "5", "10"])
            above.tick_params(axis="y", which="minor", labelleft=False)
        above.legend(
            handles=[line for line in above.get_lines() if line.get_linestyle() not in ("None", "none")],
            loc="upper left",
            handlelength=2.0,
        )
    axes[0, 0].set_ylabel("stretch of a distance")
    axes[1, 0].set_ylabel("stretch over solid line")
    marks = [line for line in axes[0, 0].get_lines() if line.get_linestyle() in ("None", "none")]
    figure.legend(handles=marks, loc="outside upper center", ncols=3)
    return figure


def _bounds(axes: Axes, panel: _Panel, low: float, high: float) -> None:
    """Draw the constant of the metric solid and the others dashed."""
    across = np.geomspace(low, high, 200)
    own = [panel.bound(alpha) for alpha in across.tolist()]
    axes.plot(across, own, color=style.BLACK, label=panel.own)
    for words, dashes, bound in panel.others:
        values = [bound(alpha) for alpha in across.tolist()]
        axes.plot(across, values, color=style.GREY, linestyle=(0, dashes), label=words)
