r"""How much distance attention moves tokens in two metrics, each on the configuration that is worst for it.

In the largest displacement the constant :math:`1 + 4c_N` holds on all of space, and two crowds at equal distances on
either side of a token come within two of it. In :math:`W_1` no such constant holds in every dimension: a star with its
legs along the axes exceeds it from 1710 tokens on, and hides that before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure
from theory.lipschitz import studies
from theory.lipschitz.constants import distance_constant

TITLE = "distance attention has a constant for the largest displacement, and none like it in W1"
STUDY = studies.stars
CLAIMS = ("distance-attention.max-norm-attained", "distance-attention.star", "distance-attention.star-crossing")

_LIMITS = (2.4, 2e6)
_LINE = np.unique(np.round(np.geomspace(3.0, _LIMITS[1], 200)))
_CROSSING = 1710  # the first size at which the star of the table exceeds the constant
_MARK: dict[str, Any] = {"linestyle": "none", "markersize": 3.4, "markeredgewidth": 0.7}


def draw(table: Table) -> Figure:
    """Draw both configurations, and their answers against the number of tokens."""
    figure = style.canvas(style.DOUBLE, 2.75)
    axes = figure.subplot_mosaic([["a", "c", "d"], ["b", "c", "d"]], width_ratios=[0.72, 1.0, 1.0])
    style.panel(axes["a"], "a", "two crowds on a line")
    style.panel(axes["b"], "b", r"arms along axes, $d = N$")
    style.panel(axes["c"], "c", "largest displacement: bounded")
    style.panel(axes["d"], "d", r"mean displacement: not")
    _crowds(axes["a"])
    _legs(axes["b"])
    _growth(axes["c"], table.where(family="two-sided"))
    _excess(axes["d"], table.where(family="star"))
    return figure


def _constant(n: Array) -> Array:
    return np.array([distance_constant(int(size)) for size in n])


def _bare(axes: Axes) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], hue: str) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": hue, "linewidth": 0.9, "mutation_scale": 7})


def _crowds(axes: Axes) -> None:
    """Draw a token between two crowds, and the way each is pushed."""
    style.guide(axes, y=0.0, color=style.PALE)
    for side in (-1.0, 1.0):
        style.marks(axes, side + 0.035 * np.arange(-2, 3), np.zeros(5), "o", color=style.BLUE, size=3.4)
        _arrow(axes, (side, 0.22), (side - 0.45, 0.22), style.BLUE)
        axes.text(side, -0.2, r"$\frac{N-1}{2}$ at $%s r$" % ("-" if side < 0 else ""), ha="center", va="top")
    style.marks(axes, 0.0, 0.0, "o", color=style.VERMILION, size=4.2)
    _arrow(axes, (0.0, 0.22), (0.45, 0.22), style.VERMILION)
    style.note(axes, r"$\beta r^2 = c_N + 1$", (0.0, 0.42), ha="center", va="bottom")
    axes.set(xlim=(-1.6, 1.45), ylim=(-0.8, 0.9))
    _bare(axes)


def _legs(axes: Axes) -> None:
    """Draw a centre, legs of equal length, and the centre's push out of the space that they span."""
    for angle in np.deg2rad([198.0, 252.0, 288.0, 342.0]):
        x, y = 1.05 * np.cos(angle), 0.62 * np.sin(angle)
        axes.plot([0.0, x], [0.0, y], color=style.PALE, linewidth=0.9, zorder=0)
        style.marks(axes, x, y, "o", color=style.BLUE, size=3.6)
    style.marks(axes, 0.0, 0.0, "o", color=style.VERMILION, size=4.2)
    _arrow(axes, (0.0, 0.04), (0.0, 0.6), style.VERMILION)
    axes.text(0.08, 0.5, "$e_N$", color=style.VERMILION, va="center")
    axes.text(1.2, -0.2, "$r e_k$", color=style.BLUE, ha="left", va="center")
    style.note(axes, r"$e^{\beta r^2} = \sqrt{N-2}$", (0.35, 0.14), va="bottom")
    axes.set(xlim=(-1.45, 1.75), ylim=(-0.75, 0.75))
    _bare(axes)


def _points(
    axes: Axes, part: Table, mark: str, hue: str, words: str, *, open_: bool = False, size: float = 3.4
) -> None:
    values = np.array([interval.mid for interval in part.intervals("ratio")])
    face = "none" if open_ else hue
    axes.plot(
        part["n"], values, mark, markerfacecolor=face, markeredgecolor=hue, label=words, **{**_MARK, "markersize": size}
    )


def _growth(axes: Axes, part: Table) -> None:
    """Draw the row sum between the constant and two less."""
    top = _constant(_LINE)
    axes.fill_between(_LINE, np.maximum(top - 2.0, 0.0), top, color=style.PALE, linewidth=0, label=r"$4c_N \pm 1$")
    axes.plot(_LINE, top, color=style.BLACK, label=r"constant $1 + 4c_N$")
    c = (top - 1.0) / 4.0
    axes.plot(_LINE, 4.0 * c + (1.0 - c) / (1.0 + c), color=style.BLUE, linewidth=0.7)
    _points(axes, part, "o", style.BLUE, "two crowds: row sum")
    axes.set(
        xscale="log", xlim=_LIMITS, ylim=(0.0, 48.0), xlabel="number of tokens $N$", ylabel="output per displacement"
    )
    axes.legend(loc="upper left")


def _excess(axes: Axes, part: Table) -> None:
    """Draw the column sum of the star, which crosses the constant of the largest displacement."""
    n = _LINE[_LINE >= 4.0]
    root = np.sqrt(n - 2.0)
    axes.plot(_LINE, _constant(_LINE), color=style.BLACK, label=r"$1 + 4c_N$, no bound here")
    axes.plot(n, (n - 1.0) / (2.0 * root + 1.0) + 1.0 / (1.0 + (n - 1.0) / root), color=style.VERMILION, linewidth=0.7)
    _points(axes, part.where(way="folded"), "o", style.VERMILION, "star: column sum", size=2.6)
    _points(axes, part.where(way="transport"), "s", style.VERMILION, "star: $W_1$ solved", open_=True, size=5.0)
    axes.axvline(_CROSSING, ymax=0.74, color=style.GREY, linewidth=0.5, linestyle=(0, (2, 2)), zorder=0)
    style.note(axes, f"$N = {_CROSSING}$", (_CROSSING * 1.25, 1.25), color=style.GREY, va="bottom")
    axes.set(
        xscale="log",
        yscale="log",
        xlim=_LIMITS,
        ylim=(1.0, 1000.0),
        xlabel="number of tokens $N$",
        ylabel="$W_1$ of outputs per $W_1$ of tokens",
    )
    axes.legend(loc="upper left")
