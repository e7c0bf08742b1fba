r"""How wide a head has to be to select any k of its keys, and by which margin it can.

Left: the least dimension, :math:`\min(2k, m-1)`, over the number m of keys. Right: lines are the ceiling of the margin
of unit keys and queries, in any dimension; dots are the least margin, over all sets, of the best queries for keys at
nearly equal angles on the trigonometric moment curve, in the least dimension, for sets of three of up to ten keys; the
dashed line is the best margin in the plane.
"""

from __future__ import annotations

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.positions import selection_study

TITLE = "any k of m keys can be selected in 2k dimensions, by a margin that falls with m"
STUDY = selection_study.widths
CLAIMS = ("selection.width", "selection.margin")

_HUES = {1: style.BLUE, 2: style.VERMILION, 3: style.GREEN}


def draw(table: Table) -> Figure:
    """Draw least widths and margins over the number of keys."""
    figure, (left, right) = style.row(2.7, "the least width", "the margin of unit queries and keys")
    for chosen, hue in _HUES.items():
        found = table.where(part="width", chosen=chosen)
        words = "any key" if chosen == 1 else f"any {chosen} keys"
        left.plot(found["keys"], found.middles("value"), "o-", color=hue, markersize=3.0, label=words)
    left.set(xlabel="keys $m$", ylabel="dimension $d$", xlim=(1.5, 14.5), ylim=(0.0, 9.0))
    left.legend(loc="upper left")
    _margins(right, table)
    return figure


def _margins(axes: Axes, table: Table) -> None:
    for chosen, hue in _HUES.items():
        ceiling = table.where(part="ceiling", chosen=chosen)
        axes.plot(ceiling["keys"], ceiling.middles("value"), "-", color=hue, label=f"ceiling, $k = {chosen}$")
        layout = table.where(part="layout", chosen=chosen)
        axes.plot(layout["keys"], layout.middles("value"), "o", color=hue, markersize=3.0, label=f"$d = {2 * chosen}$")
    keys = np.linspace(3.0, 14.0, 60)
    plane = 1.0 - np.cos(2.0 * np.pi / keys)
    axes.plot(keys, plane, color=style.BLACK, linewidth=0.8, linestyle=(0, (4, 2)), label="best, $k = 1$, plane")
    axes.set(yscale="log", xlabel="keys $m$", ylabel="least margin", xlim=(1.5, 14.5), ylim=(2e-5, 4.0))
    axes.legend(loc="lower left", ncol=2)
