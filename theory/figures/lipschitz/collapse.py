r"""The diameter of a cloud over the depth of attention alone, in arithmetic of 400 digits and more.

Two tokens on the line, under form and value one, attain the bound :math:`D\tanh(D^2/4)` in every layer. Below
:math:`D = 2` its consequence, :math:`2(D_0/2)^{3^L}`, is doubly exponential. From above, the first layers hardly move.
"""

from __future__ import annotations

import math

import numpy as np
from matplotlib.ticker import FuncFormatter, MultipleLocator

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.lipschitz import studies
from theory.lipschitz.constants import log_collapsed_diameter

TITLE = "once it is small, the diameter of tokens collapses cubically: its digits triple with every layer"
STUDY = studies.collapse
CLAIMS = ("lipschitz.collapse", "lipschitz.cubic")

_SHOWN = {1.0: style.BLUE, 1.75: style.GREEN, 2.0: style.BLACK, 2.25: style.ORANGE, 3.0: style.VERMILION}
_TEN = math.log(10.0)


def draw(table: Table) -> Figure:
    """Draw diameters over depth twice, on scales for the start and for the end, and how the logarithm grows."""
    figure, (first, second, third) = style.row(
        2.7, "first layers: up or down", "last layers: ever more digits", "the logarithm triples"
    )
    for start, hue in _SHOWN.items():
        for way, mark, line in (("pair", "o", "solid"), ("cloud", "^", "none"), ("residual", "s", (0, (1, 1.5)))):
            depth, logs = _path(table, way, start)
            small = logs < 0.0
            if way == "cloud":
                second.plot(depth[small], -logs[small] / _TEN, mark, color=hue, markersize=3.2, markerfacecolor="none")
                continue
            early = logs > -6.0
            first.plot(depth[early], logs[early], mark, color=hue, markersize=2.6, linestyle=line, linewidth=0.7)
            if way == "pair":
                second.plot(
                    depth[small], -logs[small] / _TEN, mark, color=hue, markersize=2.6, linestyle=line, linewidth=0.7
                )
                sure = logs < -0.2
                ratio = logs[1:][sure[:-1]] / logs[:-1][sure[:-1]]
                third.plot(-logs[:-1][sure[:-1]] / _TEN, ratio, mark, color=hue, markersize=2.6)
        if start < 2.0:
            layers = [layer for layer in range(9) if log_collapsed_diameter(start, 1.0, 1.0, layer) < 0.0]
            bound = [-log_collapsed_diameter(start, 1.0, 1.0, layer) / _TEN for layer in layers]
            second.plot(layers, bound, color=hue, linestyle=(0, (4, 2)), linewidth=0.6)
    _finish(first, second, third)
    handles = [
        first.plot([], [], "o", color=hue, markersize=3, linestyle="solid", label=f"$D_0 = {start:g}$")[0]
        for start, hue in _SHOWN.items()
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=5)
    return figure


def _path(table: Table, way: str, start: float) -> tuple[np.ndarray, np.ndarray]:
    """Return depths and logarithms of diameters of one run."""
    part = table.where(way=way, start=start)
    return part["depth"], part.middles("log")


def _finish(first: Axes, second: Axes, third: Axes) -> None:
    """Name the axes, draw the threshold and the limit, and say what the marks are."""
    style.guide(first, y=math.log(2.0), line="dotted")
    first.set(xlabel="layer $L$", ylabel=r"$\log D_L$", ylim=(-5.5, 6.0), xlim=(-0.3, 11.3))
    style.note(first, r"$D = 2$", (11.2, math.log(2.0) + 0.15), color=style.GREY, ha="right", va="bottom")
    first.xaxis.set_major_locator(MultipleLocator(2))
    style.note(first, "squares: with\nskip connections", (6.6, 4.9), color=style.GREY, va="center")
    second.set(yscale="log", xlabel="layer $L$", ylabel=r"$-\log_{10} D_L$", ylim=(0.05, 3e5))
    second.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    style.note(
        second,
        "dots: two tokens\ntriangles: five in the plane\ndashed: $2(D_0/2)^{3^L}$",
        (0.03, 0.97),
        inside=True,
        ha="left",
        va="top",
    )
    size = np.geomspace(0.1, 5000.0, 200)
    third.plot(size, 3.0 + math.log10(4.0) / size, color=style.GREY, linewidth=0.7, zorder=1)
    style.guide(third, y=3.0, line="dotted")
    third.set(xscale="log", xlabel=r"$-\log_{10} D_L$", ylabel=r"$\log D_{L + 1}\,/\,\log D_L$", ylim=(2.8, 9.5))
    style.note(third, r"line: $3 + \log 4\,/\,|\log D_L|$", (0.95, 0.9), inside=True, ha="right")
