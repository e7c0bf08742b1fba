r"""The free-energy landscape on the simplex of laws over three scores, and the identity of its gap.

For each temperature :math:`\tau`, level lines of :math:`F(p) = \langle p, s \rangle + \tau H(p)` around the softmax
law :math:`p^*`; below, :math:`F(p^*) - F(p)` against :math:`\tau\,\mathrm{KL}(p \,\|\, p^*)` at every grid point, and
what is seen of their difference against what its enclosure allows: the identity holds where zero is enclosed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.contour import ContourSet
from matplotlib.ticker import MaxNLocator

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure
from theory.maxent import studies

TITLE = "softmax has the largest free energy, and what another law misses of it is a divergence"
STUDY = studies.landscape
CLAIMS = ("maxent.gibbs",)

_HUES = (style.BLUE, style.VERMILION, style.GREEN)
_MARKS = ("o", "^", "s")
_DASH = 4.0  # line widths; each temperature draws its third of a period, so that lines that coincide are all seen
_HIGH = float(np.sqrt(3.0) / 2.0)
_CORNERS = (((0.54, _HIGH), "left", "center"), ((0.0, -0.03), "left", "top"), ((1.0, -0.03), "right", "top"))
_FLOOR = 1e-17  # where smaller differences are drawn, zero among them, below the rounding of anything here


def draw(table: Table) -> Figure:
    """Draw a landscape per temperature, the identity on its diagonal, and what is left of it."""
    figure = style.canvas(style.DOUBLE, 4.3)
    axes = figure.subplot_mosaic(
        [["a", "a", "b", "b", "c", "c"], ["d", "d", "d", "e", "e", "e"]], height_ratios=[1.4, 1.0]
    )
    left, right = axes["d"], axes["e"]
    holding = 0
    for number, tau in enumerate(table.levels("tau")):
        part = table.where(tau=tau)
        letter = "abc"[number]
        style.panel(axes[letter], letter, rf"$\tau = {tau:g}$")
        levels = _landscape(axes[letter], part)
        bar = figure.colorbar(levels, ax=axes[letter], location="bottom", shrink=0.7, aspect=26, pad=0.02)
        bar.outline.set_linewidth(0.5)
        bar.set_ticks(MaxNLocator(4).tick_values(*levels.get_clim())[1:-1])
        bar.set_label("free energy $F(p)$, levels in white", size=style.SMALL)
        holding += _identity(left, right, part, number)
    style.panel(left, "d", "the gap is a divergence")
    style.panel(right, "e", f"zero is in {holding} of {len(table)} enclosures")
    left.axline((1e-2, 1e-2), (1.0, 1.0), color=style.BLACK, linewidth=0.6, zorder=1)
    for each in (left, right):
        each.set(xscale="log", yscale="log", xlabel=r"$\tau\,\mathrm{KL}(p\,\|\,p^*)$")
    left.set(ylabel="$F(p^*) - F(p)$")
    left.legend(loc="upper left", markerscale=2.5)
    right.set(ylabel="difference of both sides", ylim=(_FLOOR / 2, 1e-11))
    right.set_yticks([_FLOOR, 1e-15, 1e-13, 1e-11], [r"$\leq 10^{-17}$", "$10^{-15}$", "$10^{-13}$", "$10^{-11}$"])
    right.minorticks_off()
    right.plot([], [], color=style.GREY, linestyle=(0, (_DASH, _DASH / 2)), label="half-width of the enclosure")
    right.plot([], [], ".", color=style.GREY, label="size of its middle")
    right.legend(loc="upper left", ncols=2, columnspacing=1.2)
    return figure


def _place(first: Array, third: Array) -> tuple[Array, Array]:
    """Return where a law lies in the triangle that has its first score at the top and its third at the right."""
    return third + first / 2.0, _HIGH * first


def _landscape(axes: Axes, part: Table) -> ContourSet:
    x, y = _place(part["p1"], part["p3"])
    energy = part.middles("free_energy")
    filled = axes.tricontourf(x, y, energy, levels=30, cmap="cividis")
    axes.tricontour(x, y, energy, levels=12, colors="white", linewidths=0.35, linestyles="solid")
    axes.plot([0.0, 1.0, 0.5, 0.0], [0.0, 0.0, _HIGH, 0.0], color=style.BLACK, linewidth=0.6)
    for score, ((across, up), ha, va) in zip(studies.SCORES, _CORNERS, strict=True):
        style.note(axes, f"$s = {score:g}$", (across, up), ha=ha, va=va)
    best = _place(part["best1"][:1], part["best3"][:1])
    axes.plot(*best, "*", markersize=9, color=style.VERMILION, markeredgecolor="white", markeredgewidth=0.6)
    axes.annotate("$p^*$", (best[0][0], best[1][0]), (0, -5), textcoords="offset points", ha="center", va="top")
    axes.set(aspect="equal")
    axes.axis("off")
    return filled


def _identity(left: Axes, right: Axes, part: Table, number: int) -> int:
    """Draw the points of one temperature, below those of lower ones, and count the enclosures that hold zero.

    The divergences of a low temperature reach less far, so drawn on top they leave those of a high one to be seen.
    """
    tau = float(part["tau"][0])
    hue = _HUES[number]
    above = len(_HUES) - number
    look: dict[str, Any] = {"markersize": 1.7, "color": hue, "markeredgewidth": 0, "zorder": 2 + above}
    gap = [best - energy for best, energy in zip(part.intervals("best"), part.intervals("free_energy"), strict=True)]
    bound = [tau * divergence for divergence in part.intervals("divergence")]
    rest = [g - b for g, b in zip(gap, bound, strict=True)]
    across = np.array([b.mid for b in bound])
    order = np.argsort(across)
    left.plot(across, [g.mid for g in gap], _MARKS[number], label=rf"$\tau = {tau:g}$", **look)
    dashes = (number * _DASH, (_DASH, _DASH * (len(_HUES) - 1)))
    right.plot(across[order], [rest[k].width / 2 for k in order], color=hue, linestyle=dashes)
    right.plot(across, [max(abs(r.mid), _FLOOR) for r in rest], _MARKS[number], **look)
    return sum(0.0 in r for r in rest)
