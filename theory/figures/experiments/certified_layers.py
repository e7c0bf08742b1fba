"""Attention layers of trained transformers: what is certified for all tokens, and at those that reach them.

Squares are constants of the ball that the normalisation of a layer leaves its tokens, red marks what a search found
there: the best constant of the ball lies between them. Diamonds are bounds within the reach of a hundred tokens of the
data, orange marks what a displacement there is stretched by. In the Frobenius norm that is the norm of the derivative
at these tokens, to all digits shown. Numbers above the bounds are their quotients by what was found, rounded up: on
digits the marks lie nearly on each other.
"""

from __future__ import annotations

import numpy as np

from theory.evidence import Table
from theory.experiments import studies
from theory.figures import _style as style
from theory.figures._style import Figure
from theory.report.digits import at_most

TITLE = "bounds near the tokens of the data come nearer to what is found than constants for all tokens"
STUDY = studies.walked_layers
CLAIMS = ("certificate.walk",)
DATA = ("experiments/results/layers-moons.npz", "experiments/results/layers-digits.npz")

_PANELS = {"mean": "mean displacement", "max": "largest displacement", "frobenius": "root of the sum of squares"}
_MARKS = {
    "ball": ("constant on the ball", "s", style.BLUE),
    "found": ("found in the ball", "o", style.VERMILION),
    "bound": ("bound near the tokens", "D", style.GREEN),
    "moved": ("found near the tokens", "o", style.ORANGE),
}
_ASIDE = 0.25  # chosen: what is of the tokens stands beside what is of the ball
_APART = 0.04  # chosen: what was found stands a little beside its bound, on which it would lie


def draw(table: Table) -> Figure:
    """Draw a panel for every metric."""
    figure = style.canvas(style.DOUBLE, 2.7)
    panels = figure.subplots(1, len(_PANELS), sharey=True)
    shown = table.where(share=1.0)
    for letter, axes, (metric, words) in zip("abc", panels, _PANELS.items(), strict=True):
        style.panel(axes, letter, words)
        part = shown.where(metric=metric)
        places = np.arange(len(part["layer"]))
        values = {name: np.array([found.mid for found in part.intervals(name)]) for name in _MARKS}
        for side, (most, least) in ((-_ASIDE, ("ball", "found")), (_ASIDE, ("bound", "moved"))):
            for name, shift in ((most, side - _APART), (least, side + _APART)):
                label, mark, color = _MARKS[name]
                style.marks(axes, places + shift, values[name], mark, color=color, size=4.0, label=label)
            for place, low, high in zip(places, part.intervals(least), part.intervals(most), strict=True):
                axes.plot([place + side] * 2, [low.mid, high.mid], color=style.PALE, linewidth=2.0, zorder=0)
                ratio = at_most(high.hi / low.lo, figures=3)
                style.note(axes, ratio, (place + side, high.mid), offset=(0, 4), ha="center", color=style.GREY)
        axes.set(yscale="log", xlim=(-0.5, len(places) - 0.5), ylim=(None, 30.0))
        axes.set_xticks(places, [f"{task},\nlayer {number}" for task, number in map(str.split, part["layer"])])
    style.note(panels[0], "numbers: bound over found", (1.0, 0.97), inside=True, ha="right", va="top", color=style.GREY)
    panels[0].set_ylabel("stretch of a displacement")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure
