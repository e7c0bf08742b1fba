r"""How concentrated attention is on Gaussian scores, and what factors of the number of scores do to it.

Left: the mean sum of squares of the weights by the deviation of the scores, in units of :math:`\sqrt{2\log n}`, for
three numbers of scores, and its limit. Right: scores times :math:`\log n` or its root, from 1024 scores on: the sum of
squares for Gaussian scores, and the weight of one score above all others, which are equal.
"""

from __future__ import annotations

import math

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.maxent.studies import length

TITLE = "one winner among n scores needs a scale of log n, and Gaussian scores only the root of it"
STUDY = length.concentrations
CLAIMS = ("softmax.gaussian-participation", "softmax.length-scaling")

_SIZES = {100: (style.SKY, "$n = 100$"), 10**5: (style.BLUE, "$n = 10^5$"), 10**10: (style.PURPLE, "$n = 10^{10}$")}
_LAWS = {
    ("gap", "log"): (style.GREEN, "-", r"one gap, $\log n$"), ("gap", "root"): (style.GREEN, ":", "one gap, root"),
    ("gaussian", "log"): (style.VERMILION, "-", r"Gaussian, $\log n$"),
    ("gaussian", "root"): (style.VERMILION, ":", "Gaussian, root"),
}  # fmt: skip


def draw(table: Table) -> Figure:
    """Draw sums of squares by deviation, and concentrations by the number of scores."""
    figure, (left, right) = style.row(2.7, "Gaussian scores", "scores times a factor of their number")
    for size, (hue, words) in _SIZES.items():
        found = table.where(part="deviation", log_size=math.log(size))
        left.plot(found["share"], found.middles("value"), "o-", color=hue, markersize=3.0, label=words)
    shares = np.linspace(0.2, 2.05, 200)
    left.plot(shares, np.maximum(1.0 - 1.0 / shares, 0.0), color=style.BLACK, linewidth=0.8, label="limit")
    left.set(xlabel=r"deviation over $\sqrt{2\log n}$", ylabel="sum of squares", xlim=(0.2, 2.05), ylim=(-0.02, 0.75))
    left.legend(loc="upper left")
    _factors(right, table)
    return figure


def _factors(axes: Axes, table: Table) -> None:
    for (part, factor), (hue, line, words) in _LAWS.items():
        found = table.where(part=part, factor=factor)
        axes.plot(np.exp(found["log_size"]), found.middles("value"), line, color=hue, label=words)
    axes.set(xscale="log", xlabel="scores $n$", ylabel="concentration", ylim=(0.0, 1.15))
    axes.legend(loc="upper left", ncol=2)
