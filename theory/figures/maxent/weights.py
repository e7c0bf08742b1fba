r"""Entmax between softmax and argmax: the weight of one of two scores, and the three weights of three.

Two scores: the first weight against the difference :math:`d`, for four orders; dots where the other weight has just
vanished, at :math:`|d| = 1/(\alpha - 1)`. Three scores: every weight against the order; the second one, a losing
coordinate, gains before it loses, while the sum of the two largest never falls.
"""

from __future__ import annotations

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.maxent import studies

TITLE = "as the order grows the largest weight grows, and a losing one first gains and then loses"
STUDY = studies.weights
CLAIMS = ("entmax.differences", "entmax.losing-weight")

_LOOKS = ((style.BLUE, "-"), (style.GREEN, "--"), (style.VERMILION, "-."), (style.BLACK, ":"))
_ROWS = (  # of each weight its colour, its name, and where the name stands in order and points above the curve
    (style.BLUE, "first weight", 4.0, -13.0),
    (style.VERMILION, "second weight", 4.0, 6.0),
    (style.GREEN, "third weight", 2.0, 6.0),
)


def draw(table: Table) -> Figure:
    """Draw the sweep over the difference of two scores and that over the order."""
    figure, (left, right) = style.row(
        2.6, "two scores: from a curve to a step", f"three scores, $s = ({', '.join(f'{s:g}' for s in studies.THREE)})$"
    )
    _two(left, table.where(scores="two"))
    _three(right, table.where(scores="three"))
    return figure


def _two(axes: Axes, table: Table) -> None:
    for (hue, dash), alpha in zip(_LOOKS, table.levels("alpha"), strict=True):
        part = table.where(alpha=alpha)
        d = part["s1"]
        p = part.middles("p1")
        if np.isinf(alpha):  # a jump: two half-lines, and the tie as a point
            for side in (d < 0.0, d > 0.0):
                axes.plot(d[side], p[side], dash, color=hue, label=r"$\alpha = \infty$" if d[side][0] < 0.0 else None)
            axes.plot(d[d == 0.0], p[d == 0.0], "o", color=hue, markersize=3.0)
            continue
        axes.plot(d, p, dash, color=hue, label=rf"$\alpha = {alpha:g}$")
        if alpha > 1.0:
            edge = np.abs(d) == 1.0 / (alpha - 1.0)
            axes.plot(d[edge], p[edge], "o", color=hue, markersize=3.0, clip_on=False)
    axes.set(
        xlabel=r"difference $d = (s_1 - s_2)/\tau$", ylabel="first weight $p_1$", xlim=(-4.0, 4.0), ylim=(-0.02, 1.02)
    )
    axes.legend(loc="upper left", handlelength=2.2)


def _three(axes: Axes, table: Table) -> None:
    alpha = table["alpha"]
    marked = np.isin(alpha, studies.TABULATED)
    for k, (hue, name, at, above) in enumerate(_ROWS, start=1):
        p = table.middles(f"p{k}")
        axes.plot(alpha, p, color=hue)
        axes.plot(alpha[marked], p[marked], "o", color=hue, markersize=2.6, clip_on=False)
        axes.annotate(name, (at, float(np.interp(at, alpha, p))), (4.0, above), color=hue,
                      textcoords="offset points", ha="left", va="bottom")  # fmt: skip
    axes.plot(alpha, table.middles("p1") + table.middles("p2"), ":", color=style.BLACK, zorder=1)
    axes.annotate("first and second together", (2.0, 1.0), (4.0, -4.0), textcoords="offset points", va="top", ha="left")
    axes.set(xlabel=r"order $\alpha$", ylabel="weight", xlim=(0.5, 8.0), ylim=(-0.02, 1.02))
    axes.set_xticks(range(1, 9))
