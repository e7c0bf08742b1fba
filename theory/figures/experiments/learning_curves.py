"""Learning curves of the reported experiments: the middle run and the middle half of the runs, at either rate.

Solid lines are runs at the learning rate that each attention chose by the same search, dashed ones those at the rate
that the paper states. Bands hold the middle half of the runs; a run that diverged counts as one with infinite loss that
recognises nothing, and where that is the middle run, or the upper end of a band, none is drawn.
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
from theory.figures.experiments.attentions import ATTENTIONS, HUES, RULES, TASKS

TITLE = "learning curves of metric-attention and the attentions that it was compared with"
STUDY = studies.curves
CLAIMS = ("reported.moons-afresh",)
DATA = (
    "experiments/results/moons-curves.csv",
    "experiments/results/digits-curves.csv",
    "experiments/results/segmentation-curves.csv",
    "experiments/results/translation-curves.csv",
)

_DECADES = 30.0  # chosen: where losses differ by more than this factor their axis is logarithmic
_LOOKS: dict[str, Any] = {"published": "--", "tuned": "-"}
_MEASURES = {"train_loss": "training loss (nat)", "accuracy": "test accuracy"}


def draw(table: Table) -> Figure:
    """Draw a column per task: training loss above, accuracy on test data below."""
    figure = style.canvas(style.DOUBLE, 3.5)
    panels = figure.subplots(2, len(TASKS), sharex="col")
    shown = table.where(matching="width", labels="true")
    for column, (task, words) in enumerate(TASKS.items()):
        part = shown.where(task=task)
        for row, measure in enumerate(_MEASURES):
            axes = panels[row, column]
            _lines(axes, part, measure)
            axes.set_xlim(0.0, part["epoch"].max())
        runs = int(part["runs"].min())
        style.panel(panels[0, column], "abcd"[column], f"{words}, {runs} runs")
        losses = part["train_loss_median"][np.isfinite(part["train_loss_median"])]
        low = losses.min(initial=np.inf)
        high = losses.max(initial=0.0)
        if high > _DECADES * low:
            panels[0, column].set_yscale("log")
            panels[0, column].yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
            panels[0, column].yaxis.set_major_formatter(FuncFormatter(lambda loss, _: f"{loss:g}"))
            panels[0, column].yaxis.set_minor_formatter(NullFormatter())
        panels[1, column].set_xlabel("epoch")
    for row, words in enumerate(_MEASURES.values()):
        panels[row, 0].set_ylabel(words)
    figure.legend(handles=_legend(shown), loc="outside upper center", ncols=6, columnspacing=1.4)
    return figure


def _lines(axes: Axes, part: Table, measure: str) -> None:
    """Draw the middle run of every attention and rule, and the band of the middle half for the chosen rate."""
    for attention, hue in HUES.items():
        for rule, look in _LOOKS.items():
            one = part.where(attention=attention, rule=rule)
            if attention == "again" or not len(one):
                continue
            low, middle, high = (one[f"{measure}_{name}"] for name in ("low", "median", "high"))
            there, whole = np.isfinite(middle), np.isfinite(high)
            width = 1.0 if rule == "tuned" else 0.7
            axes.plot(one["epoch"][there], middle[there], look, color=hue, linewidth=width)
            if rule == "tuned":
                axes.fill_between(one["epoch"][whole], low[whole], high[whole], color=hue, alpha=0.25, linewidth=0.0)


def _legend(shown: Table) -> list[Line2D]:
    there = set(shown["attention"].tolist())
    names = [Line2D([], [], color=HUES[name], label=words) for name, words in ATTENTIONS.items() if name in there]
    return names + [
        Line2D([], [], color=style.GREY, linestyle=look, label=RULES[rule]) for rule, look in _LOOKS.items()
    ]
