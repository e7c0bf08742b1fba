r"""The least entropy of attention among scores of a bounded norm, and which scores have it.

Left: eight scores; lines are scores of which one, two, four or seven are large and all others equal, dots are drawn
scores of the same norm, of laws with more and less heavy tails. No dot lies below the line of one peak. Right: the
least entropy on a logarithmic scale, for numbers of scores; dashed is :math:`n s e^{-s}`, with the norm itself in the
exponent.
"""

from __future__ import annotations

import math

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.maxent.studies import spread

TITLE = "of scores of a bounded norm, one above others that are equal leaves attention the least entropy"
STUDY = spread.least_entropies
CLAIMS = ("softmax.least-entropy",)

_PEAKS = {
    1: (style.VERMILION, "one peak"), 2: (style.BLUE, "two peaks"), 4: (style.GREEN, "four peaks"),
    7: (style.PURPLE, "one hole"),
}  # fmt: skip
_SIZES = {2: style.BLACK, 8: style.VERMILION, 64: style.BLUE, 1024: style.GREEN}


def draw(table: Table) -> Figure:
    """Draw entropies of eight scores, and the least one for numbers of scores."""
    figure, (left, right) = style.row(2.7, "eight scores", "the least entropy")
    _candidates(left, table)
    _rates(right, table.where(part="peaks", peaks=1))
    return figure


def _candidates(axes: Axes, table: Table) -> None:
    drawn = table.where(part="drawn")
    axes.plot(drawn["norm"], drawn.middles("entropy"), ".", color=style.GREY, markersize=2.5, label="drawn")
    for peaks, (hue, words) in _PEAKS.items():
        found = table.where(part="peaks", size=spread.SIZE, peaks=peaks)
        axes.plot(found["norm"], found.middles("entropy"), "-", color=hue, label=words)
    style.guide(axes, y=math.log(spread.SIZE))
    style.note(axes, r"$\log 8$", (12.0, math.log(spread.SIZE)), offset=(0, 1.5), ha="right", va="bottom")
    axes.set(xlabel="norm of the scores $s$", ylabel="entropy $H$", xlim=(0.0, 12.3), ylim=(0.0, 3.4))
    axes.legend(loc="upper right", ncol=2)


def _rates(axes: Axes, table: Table) -> None:
    for size, hue in _SIZES.items():
        found = table.where(size=size)
        norms = found["norm"]
        axes.plot(norms, found.middles("entropy"), "-", color=hue, label=f"$n = {size}$")
        plain = size * norms * np.exp(-norms)
        beyond = norms >= 1.5 + math.log(size)
        axes.plot(norms[beyond], plain[beyond], color=hue, linewidth=0.8, linestyle=(0, (4, 2)))
    style.note(axes, r"dashed: $n\,s\,e^{-s}$", (0.97, 0.96), inside=True, ha="right", va="top")
    axes.set(
        yscale="log", xlabel="norm of the scores $s$", ylabel="least entropy", ylim=(1e-11, 30.0), xlim=(0.0, 20.5)
    )
    axes.legend(loc="lower left")
