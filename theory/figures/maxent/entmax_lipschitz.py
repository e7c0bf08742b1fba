r"""How steep entmax is on laws of one large weight among equal ones, as the scores become many.

Left, the norm of the Jacobian at the best such law against the number of scores: it exceeds the constant of two
scores, :math:`2^{\alpha-2}`, from the size written at the crossing on, and tends to 1. Laws found by climbing from
random ones lie on the larger of both. Right, what is missing from 1, with its bound
:math:`(3-\alpha)n^{-(\alpha-1)/(3-\alpha)}`, which is its leading term.
"""

from __future__ import annotations

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.maxent import studies

TITLE = "entmax of many scores is steeper than entmax of two, and its norm tends to 1"
STUDY = studies.steepness
CLAIMS = ("entmax.steepest", "entmax.dimension")

_HUES = {1.25: style.BLUE, 1.5: style.VERMILION, 1.75: style.GREEN}
_MARKS = {1.25: "o", 1.5: "^", 1.75: "s"}


def draw(table: Table) -> Figure:
    """Draw the norms and what they lack."""
    figure, (left, right) = style.row(
        3.0, "the constant of two scores is left behind", "the limit is 1", widths=[1.25, 1.0]
    )
    for alpha in studies.STEEP_ORDERS:
        _norms(left, table, alpha)
        _defects(right, table, alpha)
    style.guide(left, y=1.0, color=style.BLACK)
    style.note(left, "limit 1", (2.0, 1.0), offset=(2.0, 2.0))
    left.plot([], [], color=style.GREY, label="one weight, the rest equal")
    left.plot([], [], "--", color=style.GREY, linewidth=0.7, label=r"$2^{\alpha-2}$, two equal weights")
    left.plot([], [], "o", color=style.GREY, markersize=4.5, mfc="none", label="found by climbing")
    left.legend(loc="lower right", ncols=1)
    left.set(
        xscale="log",
        xlabel="number of scores $n$",
        ylabel=r"norm of the Jacobian $\|J\|_2$",
        ylim=(0.3, 1.06),
        xlim=(1.4, 2e8),
    )
    right.plot([], [], ":", color=style.GREY, label=r"$(3-\alpha)\,n^{-(\alpha-1)/(3-\alpha)}$")
    right.legend(loc="lower left")
    right.set(xscale="log", yscale="log", xlabel="number of scores $n$", ylabel=r"$1 - \|J\|_2$", xlim=(1.4, 2e8))
    return figure


def _norms(axes: Axes, table: Table, alpha: float) -> None:
    hue = _HUES[alpha]
    part = table.where(part="family", alpha=alpha)
    middle = part.middles("norm")
    axes.plot(part["n"], middle, color=hue)
    style.guide(axes, y=2.0 ** (alpha - 2.0), color=hue, line="dashed")
    found = table.where(part="climbed", alpha=alpha)
    climbed = found.middles("norm")
    axes.plot(found["n"], climbed, _MARKS[alpha], color=hue, markersize=4.5, mfc="none", zorder=4)
    crossing = studies.CROSSINGS[alpha]
    at = float(middle[part["n"] == crossing][0])
    axes.plot([crossing], [at], _MARKS[alpha], color=hue, markersize=4.0, zorder=5)
    style.note(axes, f"$n = {crossing}$", (crossing, at), offset=(5.0, -7.5), color=hue)


def _defects(axes: Axes, table: Table, alpha: float) -> None:
    hue = _HUES[alpha]
    part = table.where(part="family", alpha=alpha)
    n = part["n"].astype(np.float64)
    axes.plot(n, 1.0 - part.middles("norm"), _MARKS[alpha], color=hue, markersize=2.2)
    axes.plot(n, (3.0 - alpha) * n ** (-(alpha - 1.0) / (3.0 - alpha)), ":", color=hue)
    at = int(np.searchsorted(n, 1e6))
    place = (n[at], 1.0 - part.intervals("norm")[at].mid)
    style.note(axes, rf"$\alpha = {alpha:g}$", place, offset=(-6.0, -9.0), ha="right", va="center", color=hue)
