"""Learning curves of all arms: test score and training loss, means over the runs, at the rate that each arm chose.

A row is a task, a column what is around the attention, a colour a similarity; the grey line is the linear map, in every
column the same. Of numerals the score is the share of translations without a fault; longer runs have five times as many
epochs, of arms without a block. Where a run has diverged there is no mean, and no line. Circles are what a claim is
judged on; all else is curves that no claim speaks of.
"""

from __future__ import annotations

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from theory.evidence import Table
from theory.experiments import studies
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.figures.experiments.attentions import ARCHITECTURES, HUES, SIMILARITIES, TASKS

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

_MEASURES = {"score": "test score", "train_loss": "training loss (nat)"}
_NARROW = {"published": "alone", "residual": "with residual", "block": "in a block"}  # names for small panels
_JUDGED = {"task": "moons", "architecture": "published", "epoch": 50}  # where the claim reads the curves of two arms


def draw(table: Table) -> Figure:
    """Draw a row per task: on the left a panel of test scores for each architecture, on the right of losses."""
    figure = style.canvas(style.DOUBLE, 7.6)
    grid = figure.add_gridspec(1, len(_MEASURES))
    halves = [figure.add_subfigure(grid[0, k]) for k in range(len(_MEASURES))]
    shown = table.where(labels="true", start="paired")
    for half, (measure, words), letters in zip(halves, _MEASURES.items(), ("abc", "def"), strict=True):
        half.suptitle(words, size=style.TEXT)
        panels = half.subplots(len(TASKS), len(ARCHITECTURES), sharey="row")
        for row, (task, title) in zip(panels, TASKS.items(), strict=True):
            part = shown.where(task=task)
            for axes, architecture in zip(row, ARCHITECTURES, strict=True):
                _curves(axes, part, architecture, measure)
            row[0].set_ylabel(title.replace(", ", ",\n"))
            if measure == "train_loss":
                _logarithmic(row[0])
        if measure == "score":
            judged = shown.where(**_JUDGED)
            scores = [float(judged.where(similarity=name)["score"][0]) for name in ("distance", "metric")]
            style.marks(panels[0, 0], [_JUDGED["epoch"]] * 2, scores, "o", color=style.BLACK, hollow=True)
        for axes, letter, architecture in zip(panels[0], letters, ARCHITECTURES, strict=True):
            style.panel(axes, letter, _NARROW[architecture], size=style.SMALL)
        for axes in panels[-1]:
            axes.set_xlabel("epoch" if axes.axison else "")
    figure.legend(handles=_legend(), loc="outside upper center", ncols=4, columnspacing=1.4)
    return figure


def _curves(axes: Axes, part: Table, architecture: str, measure: str) -> None:
    own = part.where(architecture=architecture)
    if not len(own):
        style.note(axes, "not run", (0.5, 0.5), inside=True, ha="center", color=style.GREY)
        axes.set_axis_off()
        return
    lines = [(part.where(architecture="linear"), "none", 1.6)]
    lines += [(own.where(similarity=name), name, 0.9) for name in own.levels("similarity")]
    for curve, similarity, width in lines:
        there = np.isfinite(curve[measure])
        axes.plot(curve["epoch"][there], curve[measure][there], color=HUES[similarity], linewidth=width)
    axes.set_xlim(0.0, part["epoch"].max())
    axes.set_xticks([0.0, part["epoch"].max()])


def _logarithmic(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0), numticks=6))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _legend() -> list[Line2D]:
    hues = [Line2D([], [], color=HUES[name], label=words) for name, words in SIMILARITIES.items()]
    ring = Line2D(
        [], [], color=style.BLACK, linestyle="none", marker="o", markersize=3.2, markerfacecolor="none",
        markeredgewidth=0.7, label="judged; all else is curves only",
    )  # fmt: skip
    return [*hues, Line2D([], [], color=HUES["none"], linewidth=1.6, label="linear map"), ring]
