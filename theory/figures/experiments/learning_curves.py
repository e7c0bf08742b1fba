"""Learning curves of all arms: training loss and test score, means over the runs, at the rate that each arm chose.

Colours are similarities; thin dotted lines are weighted means alone, as published, dashed ones have residual
connections, solid ones are transformer blocks. The grey line is the linear map. Of numerals the score is the share of
translations without a fault; longer runs have five times as many epochs, of arms without a block. Where a run has
diverged there is no mean, and no line.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from theory.evidence import Table
from theory.experiments import studies
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.figures.experiments.attentions import ARCHITECTURES, COLUMNS, HUES, SIMILARITIES, TASKS

TITLE = "test scores of attentions end far apart alone, nearer to each other in a transformer block; losses need not"
STUDY = studies.arm_curves
CLAIMS = ("reported.moons-afresh",)
DATA = (
    "experiments/results/arms-moons-curves.csv",
    "experiments/results/arms-digits-curves.csv",
    "experiments/results/arms-meshes-curves.csv",
    "experiments/results/arms-numerals-curves.csv",
    "experiments/results/arms-digits-long-curves.csv",
    "experiments/results/arms-meshes-long-curves.csv",
)

_LOOKS: dict[str, tuple[Any, float]] = {
    "published": (":", 0.9), "residual": ("--", 0.9), "block": ("-", 0.9), "linear": ("-", 1.6),
}  # fmt: skip
_MEASURES = {"train_loss": "training loss (nat)", "score": "test score"}


def draw(table: Table) -> Figure:
    """Draw a column per task: training loss above, score on test data below."""
    figure = style.canvas(style.DOUBLE, 6.8)
    panels = figure.subplots(2 * len(TASKS) // COLUMNS, COLUMNS)
    shown = table.where(labels="true", start="paired")
    for place, (task, words) in enumerate(TASKS.items()):
        part = shown.where(task=task)
        row, column = 2 * (place // COLUMNS), place % COLUMNS
        style.panel(panels[row, column], "abcdef"[place], words)
        for axes, measure in zip(panels[row : row + 2, column], _MEASURES, strict=True):
            _lines(axes, part, measure)
            axes.set_xlim(0.0, part["epoch"].max())
        panels[row, column].set_yscale("log")
        panels[row, column].yaxis.set_minor_formatter(NullFormatter())
        panels[row, column].yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0), numticks=6))
        panels[row, column].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        panels[row, column].tick_params(labelbottom=False)
        panels[row + 1, column].set_xlabel("epoch")
    for row, words in enumerate([*_MEASURES.values()] * (len(TASKS) // COLUMNS)):
        panels[row, 0].set_ylabel(words)
    figure.legend(handles=_legend(), loc="outside upper center", ncols=5, columnspacing=1.4)
    return figure


def _lines(axes: Axes, part: Table, measure: str) -> None:
    for architecture in ("linear", *ARCHITECTURES):
        own = part.where(architecture=architecture)
        look, width = _LOOKS[architecture]
        for similarity in own.levels("similarity"):
            one = own.where(similarity=similarity)
            there = np.isfinite(one[measure])
            axes.plot(one["epoch"][there], one[measure][there], look, color=HUES[similarity], linewidth=width)


def _legend() -> list[Line2D]:
    hues = [Line2D([], [], color=HUES[name], label=words) for name, words in SIMILARITIES.items()]
    looks = [
        Line2D([], [], color=style.BLACK, linestyle=_LOOKS[name][0], label=words)
        for name, words in ARCHITECTURES.items()
    ]
    return [*hues, *looks, Line2D([], [], color=HUES["none"], linewidth=1.6, label="linear map")]
