"""Scores on test data of every arm: five similarities in three architectures, and a linear map without attention.

Of numerals the score is the share of whole translations without a fault. Longer runs have five times as many epochs, of
arms without a block; not all were run so.

A row is a similarity; marks tell the architecture around it. Features are those of metric-attention: so the first two
rows differ by its network (and by queries that are keys), the second and the fourth by its distance, the third and the
fourth by its network alone. All arms of a task have the same budget and the rate that each chose by validation loss;
blocks have two to four times the parameters of weighted means. Bars are 95 % intervals of the mean over runs, if
these scatter symmetrically, marks their middles; the line is the linear map. A run that diverged leaves no mean.
"""

from __future__ import annotations

import numpy as np
from matplotlib.lines import Line2D

from theory.evidence import Interval, Table
from theory.experiments import studies
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.figures.experiments.attentions import ARCHITECTURES, COLUMNS, HUES, SIMILARITIES, TASKS

TITLE = "attentions score far apart alone, and nearer to each other in a transformer block"
STUDY = studies.arm_runs
CLAIMS = ("reported.*-score-*", "arms.*")

_LOOKS = {"published": ("o", -0.2), "residual": ("D", 0.0), "block": ("s", 0.2)}  # mark, and place in its row
_SIZE = 3.6


def draw(table: Table) -> Figure:
    """Draw a panel per task."""
    means = studies.summarise_arms(table)
    figure = style.canvas(style.DOUBLE, 4.8)
    panels = figure.subplots(len(TASKS) // COLUMNS, COLUMNS, sharey=True)
    for letter, axes, (task, words) in zip("abcdef", panels.flat, TASKS.items(), strict=True):
        part = means.where(task=task)
        plain = part.where(architecture="linear")
        runs, epochs = int(plain["runs"][0]), int(plain["epochs"][0])
        style.panel(axes, letter, f"{words}\n{runs} runs, {epochs} epochs")
        _linear(axes, plain.intervals("score")[0], float(plain["mean"][0]))
        for row, similarity in enumerate(SIMILARITIES):
            for architecture in ARCHITECTURES:
                for one in part.where(architecture=architecture, similarity=similarity).intervals("score"):
                    _mark(axes, one, row, architecture, HUES[similarity])
        axes.set(xlabel="test score", ylim=(len(SIMILARITIES) - 0.5, -0.5))
        axes.tick_params(axis="y", length=0)
    panels[0, 0].set_yticks(range(len(SIMILARITIES)), list(SIMILARITIES.values()))
    figure.legend(handles=_legend(), loc="outside upper center", ncols=4)
    return figure


def _linear(axes: Axes, score: Interval, mean: float) -> None:
    if np.isfinite(score.lo):  # not so where all runs score the same: none of the translations, say
        axes.axvspan(score.lo, score.hi, color=style.PALE, linewidth=0.0)
    style.guide(axes, x=mean, line="dashed")


def _mark(axes: Axes, score: Interval, row: int, architecture: str, hue: str) -> None:
    shape, place = _LOOKS[architecture]
    if not np.isfinite(score.lo):
        style.note(axes, "a run diverged", (axes.get_xlim()[0], row + place))
        return
    axes.plot([score.lo, score.hi], [row + place] * 2, color=hue, linewidth=1.0)
    face = "white" if architecture == "published" else hue
    axes.plot(score.mid, row + place, shape, color=hue, markerfacecolor=face, markersize=_SIZE, markeredgewidth=0.8)


def _legend() -> list[Line2D]:
    marks = [
        Line2D([], [], color=style.BLACK, marker=_LOOKS[name][0], linestyle="none", label=words, markersize=_SIZE,
               markerfacecolor="white" if name == "published" else style.BLACK, markeredgewidth=0.8)
        for name, words in ARCHITECTURES.items()
    ]  # fmt: skip
    return [*marks, Line2D([], [], color=style.GREY, linestyle="--", label="linear map, no attention")]
