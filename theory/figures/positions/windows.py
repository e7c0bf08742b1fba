r"""How far influence travels through layers of sliding windows, over depth, with and without a residual.

Left: beyond which distance at most one hundredth of all influence lies, in windows, and as a band the mean distance
with a deviation to each side; dashed lines are :math:`\log\varepsilon/\log(1-a)`, a formula that is quoted, in which
no depth occurs. Right: what one token counts for the last one at 12, 32 and 100 layers, and the powers
:math:`(1-a)^{d/W}`.
"""

from __future__ import annotations

import math

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.positions import studies

TITLE = "influence travels through stacked windows in proportion to depth, with a residual more slowly"
STUDY = studies.horizons
CLAIMS = ("influence.window",)

_HUES = {0.0: style.GREY, 0.9: style.BLUE, 0.95: style.VERMILION}
_DEPTHS = {12: style.SKY, 32: style.GREEN, 100: style.PURPLE}


def draw(table: Table) -> Figure:
    """Draw horizons over depth, and profiles over distance."""
    figure, (left, right) = style.row(
        2.7, "horizon of 99 % of the influence", "what one token counts, residual $a = 0.95$"
    )
    _horizons(left, table)
    _profiles(right, table.where(part="law"))
    return figure


def _horizons(axes: Axes, table: Table) -> None:
    for kept, hue in _HUES.items():
        found = table.where(part="horizon", residual=kept)
        mean = table.where(part="mean", residual=kept)
        depth = found["depth"]
        middle, away = mean["distance"] / studies.WINDOW, mean.middles("value") / studies.WINDOW
        axes.fill_between(depth, middle - away, middle + away, color=hue, alpha=0.2, linewidth=0.0)
        reach = found["distance"] / studies.WINDOW
        axes.plot(depth, reach, "o-", color=hue, markersize=3.0, label=f"$a = {kept:g}$" if kept else "no residual")
        if kept:
            height = math.log(float(studies.SHARE)) / math.log(1.0 - kept)
            axes.plot(depth[[0, -1]], [height] * 2, color=hue, linewidth=0.8, linestyle=(0, (4, 2)))
    axes.set(xscale="log", yscale="log", xlabel="layers $L$", ylabel="distance in windows $d/W$", ylim=(0.3, 90.0))
    style.ticks(axes, x=[1, 2, 4, 8, 16, 32, 64, 100], y=[0.5, 1, 2, 5, 10, 20, 50])
    style.note(axes, "dashed: without depth", (0.97, 0.04), inside=True, ha="right", va="bottom")
    axes.legend(loc="upper left")


def _profiles(axes: Axes, table: Table) -> None:
    for depth, hue in _DEPTHS.items():
        found = table.where(depth=depth)
        seen = found["distance"] > 0
        across = found["distance"][seen] / studies.WINDOW
        axes.plot(across, found.middles("value")[seen], "-", color=hue, label=f"$L = {depth}$")
    across = np.linspace(0.0, 9.0, 50)
    axes.plot(across, 0.05**across, color=style.BLACK, linewidth=0.8, linestyle=(0, (4, 2)), label=r"$(1-a)^{d/W}$")
    axes.set(yscale="log", xlabel="distance in windows $d/W$", ylabel="share of one token", ylim=(1e-13, 1.0))
    axes.set_xlim(0.0, 9.0)
    axes.legend(loc="lower left")
