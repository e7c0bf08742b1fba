r"""Continuous attention on the line, from the Gaussian to the box, and how fast a grid comes near it.

The density of largest :math:`\mathbb E_pf + H_\alpha(p)` for :math:`f = -x^2/(2\sigma^2)` ends at
:math:`\pm a` for every order :math:`\alpha > 1`; with growing order its half-width tends to one half whatever
:math:`\sigma`, and what is drawn as the uniform density is that of order :math:`2^{20}`. On a grid of step :math:`h`
the edges decide: the mass errs by :math:`h^{1+b}` with :math:`b = 1/(\alpha-1)`, the density found from the cells by
:math:`h^{\min(1,b)(1+b)}` at its worst point.
"""

from __future__ import annotations

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.maxent import studies

TITLE = "continuous attention goes from the Gaussian to the box, and a grid is as good as the edge is smooth"
STUDY = studies.densities
CLAIMS = ("density.discretised", "density.table")

_NAMES = ("triweight", "biweight", "parabola", "semicircle")
_TEX = ("4/3", "3/2", "2", "3")
_HUES = (style.BLUE, style.GREEN, style.ORANGE, style.VERMILION)
_MARKS = ("o", "s", "D", "^")
_DASHES = ((0, (6, 1)), (0, (3.5, 1)), (0, (5, 1, 1.2, 1)), "-")
_ORDERS = (("4", "3", "2", "3/2"), ("4", "3", "2", "3/4"))


def draw(table: Table) -> Figure:
    """Draw the shapes above, half-widths and the two errors below."""
    figure = style.canvas(style.DOUBLE, 4.9)
    axes = figure.subplot_mosaic([["a", "a", "a"], ["b", "c", "d"]], height_ratios=[1.0, 1.1])
    _shapes(axes["a"], table)
    _half_widths(axes["b"], table)
    style.panel(axes["c"], "c", "mass on a grid")
    style.panel(axes["d"], "d", "density from the cells")
    for part, panel, orders in zip(("mass", "sup"), "cd", _ORDERS, strict=True):
        _errors(axes[panel], table, part, orders)
    axes["c"].set(ylabel=r"error of $h\,\Sigma_i\,p(x_i)$")
    axes["d"].set(ylabel="largest error on the line")
    rows = table.where(part="plain", alpha=2.0)
    axes["d"].plot(rows["at"], rows.middles("value"), "x:", color=style.GREY, markersize=3.5)
    style.note(
        axes["d"],
        "sparsemax\nwithout $h$",
        (rows["at"][0], rows.middles("value")[0]),
        offset=(6, 4),
        color=style.GREY,
        va="center",
    )
    return figure


def _shapes(axes: Axes, table: Table) -> None:
    """Draw the densities, and the ends of their supports below the axis."""
    style.panel(axes, "a", r"densities for $f(x) = -x^2/2$, supports below")
    rows = table.where(part="density")
    orders = np.unique(rows["alpha"])
    names = ["Gaussian", *_NAMES, "uniform"]
    texts = [r"$\alpha = 1$", *(rf"$\alpha = {tex}$" for tex in _TEX), r"$\alpha \to \infty$"]
    hues = [style.BLACK, *_HUES, style.PURPLE]
    dashes = [(0, (1, 1)), *_DASHES, (0, (8, 1.5))]
    for number, (alpha, name, text, hue, dash) in enumerate(zip(orders, names, texts, hues, dashes, strict=True)):
        part = rows.where(alpha=alpha)
        inside = np.flatnonzero(part.middles("value") > 0.0)
        shown = slice(max(inside[0] - 1, 0), inside[-1] + 2)  # one point beyond either end of the support
        at = part["at"][shown]
        density = part.middles("value")[shown]
        axes.plot(at, density, color=hue, linestyle=dash, linewidth=1.1, label=f"{text}  {name}")
        level = -0.05 - 0.045 * number
        if alpha > 1.0:
            ends = part["at"][inside[[0, -1]]]
            axes.plot(ends, [level, level], "|-", color=hue, markersize=5, linewidth=0.9)
        else:
            axes.annotate(
                "", (-3.0, level), (3.0, level), arrowprops={"arrowstyle": "<->", "color": hue, "linewidth": 0.9}
            )
    style.guide(axes, y=0.0, color=style.BLACK)
    axes.spines["bottom"].set_visible(False)
    axes.set(xlim=(-3.05, 3.05), ylim=(-0.31, 1.08), xlabel="$x$", ylabel="$p(x)$", yticks=[0.0, 0.25, 0.5, 0.75, 1.0])
    axes.legend(loc="upper right", handlelength=3.2, labelspacing=0.55)


def _half_widths(axes: Axes, table: Table) -> None:
    style.panel(axes, "b", "half-width of the support")
    rows = table.where(part="half-width")
    for scatter, dash in zip(studies.SCATTERS, ("--", "-", "-."), strict=True):
        part = rows.where(at=scatter)
        near = part["alpha"] <= 1001.0
        axes.plot(part["alpha"][near] - 1.0, part.middles("value")[near], dash, color=style.GREY, zorder=1)
        style.note(
            axes,
            rf"$\sigma = {np.sqrt(scatter):g}$",
            (part["alpha"][0] - 1.0, part.middles("value")[0]),
            offset=(-3, 0),
            color=style.GREY,
            ha="right",
            va="center",
        )
        for alpha, mark, hue in zip(studies.NAMED, _MARKS, _HUES, strict=True):
            here = part.where(alpha=alpha)
            axes.plot(here["alpha"] - 1.0, here.middles("value"), mark, color=hue, markersize=3.6, zorder=2)
    style.guide(axes, y=0.5, color=style.PURPLE, line="dashed")
    style.note(axes, "$a = 1/2$", (1e3, 0.5), offset=(0, -4), color=style.PURPLE, ha="right", va="top")
    axes.set(
        xscale="log",
        yscale="log",
        xlabel=r"$\alpha - 1$",
        ylabel="$a$",
        xlim=(0.006, 1.5e3),
        xticks=[0.1, 1.0, 10.0, 100.0, 1000.0],
        yticks=[0.5, 1.0, 2.0, 5.0, 10.0],
    )
    axes.set_yticklabels(["0.5", "1", "2", "5", "10"])
    axes.minorticks_off()


def _errors(axes: Axes, table: Table, part: str, orders: tuple[str, ...]) -> None:
    """Draw the largest errors over phases and widths, each named by its order."""
    looks = zip(studies.NAMED, _TEX, orders, _HUES, _MARKS, _DASHES, strict=True)
    for alpha, tex, power, hue, mark, dash in looks:
        rows = table.where(part=part, alpha=alpha)
        axes.plot(rows["at"], rows.middles("value"), color=hue, marker=mark, markersize=3.0, linestyle=dash)
        lift = {"2": -2, "3": 3}.get(tex, 0)  # the upper two of the masses are near each other
        style.note(
            axes,
            rf"$\alpha = {tex}$: $h^{{{power}}}$",
            (rows["at"][0], rows.middles("value")[0]),
            offset=(6, lift),
            color=hue,
            va="center",
        )
    axes.set(yscale="log", xlabel="step $h$", ylim=(1e-12, 30.0))
    axes.set_xscale("log", base=2)
    axes.set(xlim=(2.0**-11.4, 2.0**2.2), xticks=[2.0**-k for k in (11, 9, 7, 5, 3)])
    axes.minorticks_off()
