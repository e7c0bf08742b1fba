r"""Losses of one-hot targets: where they vanish, and how they lie between the perceptron's loss and that plus entropy.

For two classes of lead :math:`x` the loss of order :math:`\alpha > 1` vanishes from the margin
:math:`1/(\alpha - 1)` on; up to order 1 it never does. For any scores :math:`L_\alpha(s; e_k) - (\max s - s_k)` falls
in :math:`\alpha`, does not depend on :math:`k`, and lies between 0, where the largest score leads by a margin, and the
entropy of the uniform law, :math:`\frac{1 - n^{1-\alpha}}{\alpha(\alpha-1)}`, at equal scores.
"""

from __future__ import annotations

import numpy as np
from matplotlib.ticker import NullLocator

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.maxent import studies

TITLE = "above order 1 losses have a margin, and at every order they lie above the perceptron's"
STUDY = studies.losses
CLAIMS = ("loss.margin", "loss.monotone", "loss.sandwich")

_HUES = (style.BLACK, style.BLUE, style.GREEN, style.VERMILION, style.PURPLE)
_SPREADS = (style.SKY, style.ORANGE, style.BLUE, style.GREEN, style.VERMILION)
_FLOOR = 1e-5  # where the logarithmic axis ends, and where a loss of zero is drawn
_HEADROOM = 2.6  # of the last panel, which entropies of low orders leave


def draw(table: Table) -> Figure:
    """Draw the losses of two classes on both scales, and the excess of those of four over the perceptron's."""
    figure, (left, middle, right) = style.row(
        2.75,
        "two classes",
        "the same, logarithmic",
        "four classes, $s = r\\,(1, \\frac{1}{2}, 0, -1)$",
        widths=[1.0, 1.0, 1.15],
    )
    two = table.where(panel="two")
    for alpha, hue in zip(studies.ORDERS, _HUES, strict=True):
        _curve(left, middle, two.where(alpha=alpha), alpha, hue)
    for axes in (left, middle):
        axes.set(
            xlabel="lead of the target $x = s_1 - s_2$",
            xlim=(two["lead"].min(), two["lead"].max()),
            xticks=range(-3, 5),
        )
    left.set(ylabel="loss $L_\\alpha((x, 0); e_1)$", ylim=(-0.15, 3.2))
    left.legend(
        loc="upper right", labelspacing=0.3, title="order $\\alpha$", title_fontsize=style.SMALL, alignment="left"
    )
    middle.set(yscale="log", ylim=(_FLOOR, 8.0))
    middle.yaxis.set_minor_locator(NullLocator())
    left.annotate(
        "margins $\\frac{1}{\\alpha - 1}$", (1.0, 0.04), (1.15, 0.62), size=style.SMALL, ha="left",
        arrowprops={"arrowstyle": "-", "linewidth": 0.4, "color": style.GREY, "shrinkB": 3.0},
    )  # fmt: skip
    _sandwich(right, table.where(panel="four"))
    return figure


def _curve(left: Axes, middle: Axes, part: Table, alpha: float, hue: str) -> None:
    """Draw the loss of one order, and its margin where the loss has one."""
    loss = part.middles("loss")
    endless = np.isinf(alpha)
    label = "$\\infty$: $\\max s - s_1$" if endless else f"{alpha:g}"
    left.plot(part["lead"], loss, color=hue, label=label)
    margin = 0.0 if endless else 1.0 / (alpha - 1.0) if alpha > 1.0 else np.inf
    before = part["lead"] <= margin
    middle.plot(part["lead"][before], np.maximum(loss[before], _FLOOR), color=hue)
    if alpha > 1.0:
        left.plot(margin, 0.0, "o", color=hue, markersize=3.5, clip_on=False, zorder=4)
        style.guide(middle, x=margin, color=hue, line="dotted")


def _sandwich(axes: Axes, part: Table) -> None:
    """Draw by how much losses at growing scores exceed the perceptron's, and the room that entropy gives."""
    part = Table(
        part.kind, part.units, {name: column[np.isfinite(part["alpha"])] for name, column in part.columns.items()}
    )
    orders = np.unique(part["alpha"])
    e = orders - 1.0
    n = len(studies.LOGITS)
    entropy = np.where(e == 0.0, np.log(n), (1.0 - n**-e) / np.where(e == 0.0, 1.0, orders * e))
    axes.fill_between(orders, 0.0, entropy, color=style.PALE, linewidth=0.0)
    axes.plot(orders, entropy, color=style.BLACK, linewidth=2.2, label="$H_\\alpha$ of the uniform law")
    first, second, *_ = studies.LOGITS
    for spread, hue in zip(studies.SPREADS, _SPREADS, strict=True):
        one = part.where(range=spread * (max(studies.LOGITS) - min(studies.LOGITS)))
        look = "--" if spread == 0.0 else "-"
        axes.plot(one["alpha"], one.middles("loss") - one["shortfall"], look, color=hue, label=f"$r = {spread:g}$")
        if spread > 0.0:
            vanishing = 1.0 + 1.0 / (spread * (first - second))
            axes.plot(vanishing, 0.0, "o", color=hue, markersize=3.5, clip_on=False, zorder=4)
    axes.set(
        xscale="log",
        xlabel="order $\\alpha$",
        ylabel="$L_\\alpha(s; e_2) - (\\max s - s_2)$",
        ylim=(0.0, _HEADROOM),
    )
    axes.set(xlim=(orders[0], orders[-1]), xticks=[0.5, 1, 2, 4, 8, 16], xticklabels=["0.5", "1", "2", "4", "8", "16"])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.legend(loc="upper right", labelspacing=0.3)
