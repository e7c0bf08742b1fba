"""Scores on test data at the end of training: violins of the runs, and of what pairs of runs differ by.

The score is BLEU over 100 for translation and the accuracy elsewhere. Left halves are runs at the published learning
rate, right halves at the rate that each attention chose; translation has the latter only. Below are differences within
pairs of runs on the same data: to the right of their violins the interval of the mean at the level of the verdicts. The
dashed line is the smallest gain that would count. Dot-product attention is also started from wider weights, and
compared with itself from another start. Colours below are those of the attention that metric-attention is compared to.
Runs that diverged are counted, have no part in the violins above, and leave nothing to show of their comparison below.
"""

from __future__ import annotations

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray
from scipy.stats import gaussian_kde

from theory.evidence import Interval, Table
from theory.experiments import analysis, studies
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.figures.experiments.attentions import ATTENTIONS, HUES, RULES, TASKS

TITLE = "scores on test data at the end of training, run by run and pair by pair"
STUDY = studies.finals
CLAIMS = ("reported.*-loss-*", "reported.*-score-*", "reported.*-spread-*")

_COUNTS = 0.02  # the margin of the claims about scores
_HALF = 0.4  # width of half a violin
_SIDES = {"published": -1.0, "tuned": 1.0}
_PAIRS = {"self": ("metric", "self"), "wide": ("metric", "wide"), "l2": ("metric", "l2"), "again": ("again", "self")}
_PALE = {"published": 0.3, "tuned": 0.75}  # opacities


def draw(table: Table) -> Figure:
    """Draw a column per task: scores above, differences of pairs below."""
    figure = style.canvas(style.DOUBLE, 3.9)
    panels = figure.subplots(2, len(TASKS))
    shown = table.where(labels="true")
    for column, (task, words) in enumerate(TASKS.items()):
        part = shown.where(task=task)
        style.panel(panels[0, column], "abcd"[column], words)
        _scores(panels[0, column], part)
        _gains(panels[1, column], part)
    panels[0, 0].set_ylabel("score on test data")
    panels[1, 0].set_ylabel("gain of metric over it")
    names = ATTENTIONS | {"again": "dot product against itself"}
    there = {*shown["attention"].tolist()}
    hues = [
        Patch(color=HUES[name], alpha=_PALE["tuned"], linewidth=0, label=names[name]) for name in names if name in there
    ]
    halves = [Patch(color=style.GREY, alpha=_PALE[rule], linewidth=0, label=words) for rule, words in RULES.items()]
    mean = Line2D([], [], color=style.BLACK, marker="o", markersize=2.4, linewidth=1.2, label="mean, with interval")
    figure.legend(handles=[*hues, *halves, mean], loc="outside upper center", ncols=4)
    return figure


def _scores(axes: Axes, part: Table) -> None:
    there = [name for name in ATTENTIONS if name in set(part["attention"].tolist())]
    for place, name in enumerate(there):
        for rule, side in _SIDES.items():
            scores = part.where(attention=name, matching="width", rule=rule)["score"]
            if len(scores):
                _half(axes, scores, place, side, HUES[name], _PALE[rule])
    axes.set(xticks=[], xlim=(-0.6, len(there) - 0.4))
    lost = int(part["diverged"].sum())
    if lost:
        axes.annotate(f"{lost} runs diverged", (0.02, 0.02), xycoords="axes fraction", size=style.SMALL)


def _gains(axes: Axes, part: Table) -> None:
    style.guide(axes, y=0.0)
    style.guide(axes, y=_COUNTS, line="dashed")
    compared = {name: analysis.list_circumstances(part, *pair) for name, pair in _PAIRS.items()}
    shown = {name: [each for each in where if each.matching == "width"] for name, where in compared.items() if where}
    for place, (name, where) in enumerate(shown.items()):
        ours, theirs = _PAIRS[name]
        for each in where:
            found = analysis.pair_runs(part, "score", ours, theirs, each)
            side, hue = _SIDES[each.rule], HUES[name]
            if found.finite:
                _half(axes, analysis.score_gains(found), place, side, hue, _PALE[each.rule])
                _bar(
                    axes,
                    analysis.mean_gain(found, analysis.score_gains, among=len(compared[name])),
                    place + 0.09 * side,
                )
    axes.set(xticks=[], xlim=(-0.6, len(shown) - 0.4))


def _half(axes: Axes, values: NDArray[np.float64], place: float, side: float, hue: str, opacity: float) -> None:
    """Draw half a violin, or a line where all values are equal; those of diverged runs are counted elsewhere."""
    sample = values[np.isfinite(values)]
    if sample.size < 2 or sample.min() == sample.max():
        axes.hlines(sample[:1], place, place + _HALF * side, color=hue, alpha=opacity)
        return
    heights = np.linspace(sample.min(), sample.max(), 120)
    density = gaussian_kde(sample)(heights)
    edge = place + side * _HALF * density / density.max()
    axes.fill_betweenx(heights, place, edge, color=hue, alpha=opacity, linewidth=0.0)
    axes.plot([place, place + 0.5 * _HALF * side], [float(np.median(sample))] * 2, color="white", linewidth=0.8)


def _bar(axes: Axes, mean: Interval, place: float) -> None:
    if np.isfinite(mean.lo) and np.isfinite(mean.hi):
        for hue, width, size in (("white", 2.4, 3.8), (style.BLACK, 1.0, 2.2)):  # seen on any violin
            axes.plot([place, place], [mean.lo, mean.hi], color=hue, linewidth=width, solid_capstyle="butt")
            style.marks(axes, place, mean.mid, "o", color=hue, size=size)
