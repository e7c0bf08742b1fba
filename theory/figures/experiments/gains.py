"""Gains of one arm over another, with the margin that counts.

Comparisons of scores were stated before the runs, those of training losses while they were under way; two of early
losses and one of early scores, on moons, are claimed and not drawn. Above, by how much the mean test score is higher,
of numerals the share of translations without a fault. Longer runs have five times as many epochs, for arms without a
block; they were planned when the others were known. Below, how many times smaller the training loss is. Thick bars are
95 % intervals by themselves, thin ones hold for all comparisons at once with that probability. Green ones lie above the
margin and red ones below it. Grey ones decide nothing: beside them is the number of pairs of runs that would among all,
with probability 0.9.
"""

from __future__ import annotations

import numpy as np
from matplotlib.lines import Line2D

from theory.evidence import Interval, Table
from theory.experiments import studies
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.figures.experiments.attentions import COLUMNS, TASKS

TITLE = "alone, metric-attention gains over dot products on three tasks of four; in a transformer block on none"
STUDY = studies.arm_runs
CLAIMS = ("reported.*-score-*", "reported.*-loss-*", "arms.*")

_ROWS = {
    "published": "metric / dot product", "network": "its features / none", "distance": "its distance / dot product",
    "chart": "metric / distance", "residual": "residual / none, dot product", "carried": "metric / dot, residual",
    "block": "metric / dot, block", "plain": "dot in a block / metric", "linear": "metric / linear map",
}  # fmt: skip
_LOSSES = ["published", "chart"]  # of which losses are compared, on tasks where they were reported
_NEVER = 10**6


def draw(table: Table) -> Figure:
    """Draw a column per task: scores above, training losses below."""
    gains = studies.summarise_gains(table)
    figure = style.canvas(style.DOUBLE, 6.2)
    panels = figure.subplots(4, COLUMNS, sharey="row", height_ratios=(len(_ROWS), len(_LOSSES)) * 2)
    for place, (task, words) in enumerate(TASKS.items()):
        part = gains.where(task=task)
        above, below = panels[2 * (place // COLUMNS) :, place % COLUMNS][:2]
        style.panel(above, "abcdef"[place], f"{words}, {int(part['pairs'][0])} pairs")
        above.set_xlabel("test score higher by")
        _panel(above, part.where(quantity="score"), list(_ROWS))
        losses = part.where(quantity="loss")
        if not len(losses):
            below.set_axis_off()
            continue
        below.set_xlabel("training loss smaller, in log")
        _panel(below, losses, _LOSSES)
    for row, names in enumerate((_ROWS, _LOSSES) * 2):
        panels[row, 0].set_yticks(range(len(names)), [_ROWS[name] for name in names])
    figure.legend(handles=_legend(), loc="outside upper center", ncols=4)
    return figure


def _panel(axes: Axes, part: Table, names: list[str]) -> None:
    style.guide(axes, x=0.0)
    margin = float(part["margin"][0])
    style.guide(axes, x=margin, color=style.BLUE, line="dashed")
    rows = map(names.index, part["name"].tolist())
    both = zip(rows, part.intervals("gain"), part.intervals("alone"), part["needed"].tolist(), strict=True)
    for row, together, alone, needed in both:
        hue = _hue(together, margin)
        if not np.isfinite(together.lo):
            style.note(axes, "a run diverged", (0.0, row))
            continue
        axes.plot([together.lo, together.hi], [row, row], color=hue, linewidth=0.9)
        axes.plot([alone.lo, alone.hi], [row, row], color=hue, linewidth=2.4, solid_capstyle="butt")
        if hue == style.GREY:
            words = "never" if needed >= _NEVER else str(needed)
            axes.annotate(words, (together.hi, row), (3, 0), textcoords="offset points", size=style.SMALL, va="center")
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)


def _hue(gain: Interval, margin: float) -> str:
    return style.GREEN if gain.lo >= margin else style.VERMILION if gain.hi < margin else style.GREY


def _legend() -> list[Line2D]:
    words = {style.GREEN: "gains the margin", style.VERMILION: "does not", style.GREY: "undecided, and pairs needed"}
    margin = Line2D([], [], color=style.BLUE, linestyle="--", linewidth=0.7, label="margin")
    return [*(Line2D([], [], color=hue, linewidth=2.4, label=each) for hue, each in words.items()), margin]
