"""What was reported of metric-attention and what comes of it: every comparison with its interval, margin and verdict.

A row is a task and an opponent. A panel shows the gains of metric-attention at the end of training, as intervals at the
level of the verdicts: how many times smaller its training loss is, by how much its test score is higher, by how much
less the score varies between runs. The dashed line is the smallest gain that would count; a claim is refuted if one of
its intervals lies below. Nothing is claimed against dot-product attention from a wider start, which the paper has not,
nor of robustness to noise in the inputs: the last panel shows by how much less of the score noise costs that training
has not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.lines import Line2D

from theory.evidence import Interval, Kind, Table
from theory.experiments import analysis, studies
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.figures.experiments.attentions import ATTENTIONS, TASKS
from theory.report.archive import ArchiveError, read

TITLE = "what was reported of metric-attention, comparison by comparison, and the verdicts"
CLAIMS = ("reported.*-loss-*", "reported.*-score-*", "reported.*-spread-*")

_OPPONENTS = ("self", "wide", "l2")
_BLOCK = 0.31  # inches of a row
_HEAD = 1.0  # inches of the legend, the titles and the axes
_HUES = {"supported": style.GREEN, "refuted": style.VERMILION, "inconclusive": style.GREY}
_LOOKS = {
    ("published", "width"): ("o", "white", "published rate, equal width"),
    ("tuned", "width"): ("o", style.BLACK, "chosen rate, equal width"),
    ("tuned", "parameters"): ("s", style.BLACK, "chosen rate, equal parameters"),
}


class _Panel(NamedTuple):
    quantity: str
    title: str
    column: str
    gains: Callable[[analysis.Pairs], np.ndarray]
    label: str
    most: float  # the end of the axis at most


_PANELS = (
    _Panel("loss", "training loss", "train_loss", analysis.loss_gains, "times smaller", 1e4),
    _Panel("score", "test score", "score", analysis.score_gains, "higher by", 1.0),
    _Panel("spread", "spread between runs", "score", analysis.spread_gains, "smaller by", 0.2),
    _Panel("noise", "score lost to noise", "drop", lambda found: found.theirs - found.ours, "smaller by", 1.0),
)


def verdicts(*, scale: str, root: int, evidence: Path) -> Table:
    """Return a row per comparison: the gain of metric-attention, the margin of its claim and what came out.

    Margin and verdict are those of the records in the folder ``evidence``; where nothing is claimed the verdict is
    empty and the margin infinite.
    """
    finals = studies.finals(scale=scale, root=root)
    rows = [row for task in TASKS for row in _rows(finals.where(task=task), task, scale, evidence)]
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in rows[0]}
    units = dict.fromkeys(columns, "1")
    return Table(Kind.STATISTICAL, units, {**columns, "verdict": np.array(columns["verdict"], dtype=np.str_)})


STUDY = verdicts


def _rows(runs: Table, task: str, scale: str, evidence: Path) -> Iterator[dict[str, Any]]:
    for panel in _PANELS:
        for opponent in _OPPONENTS:
            margin, verdict = _read_claim(evidence / f"reported.{task}-{panel.quantity}-{opponent}.json", scale)
            where = analysis.list_circumstances(runs, "metric", opponent)
            for each in where:
                found = analysis.pair_runs(runs, panel.column, "metric", opponent, each)
                yield {
                    "task": task, "quantity": panel.quantity, "opponent": opponent, **each._asdict(),
                    "pairs": len(found.ours), "gain": analysis.mean_gain(found, panel.gains, among=len(where)),
                    "margin": margin, "verdict": verdict,
                }  # fmt: skip


def _read_claim(path: Path, scale: str) -> tuple[float, str]:
    try:
        record = read(path)
    except ArchiveError:  # nothing is claimed, or the gate names what cannot be read
        return np.inf, ""
    entry = record.entries.get(scale)
    if entry is None or entry.worst is None:
        return np.inf, ""
    return entry.worst.claimed.mid, entry.verdict.value


def draw(table: Table) -> Figure:
    """Draw a row per task and opponent, and a panel per quantity."""
    there = set(zip(table["task"].tolist(), table["opponent"].tolist(), strict=True))
    blocks = [(task, opponent) for task in TASKS for opponent in _OPPONENTS if (task, opponent) in there]
    figure = style.canvas(style.DOUBLE, _BLOCK * len(blocks) + _HEAD)
    panels = figure.subplots(1, len(_PANELS), sharey=True)
    for letter, axes, panel in zip("abcd", panels, _PANELS, strict=True):
        part = table.where(quantity=panel.quantity)
        _frame(axes, letter, panel, part)
        for row, (before, after) in enumerate(pairwise(blocks), start=1):
            if before[0] != after[0]:
                style.guide(axes, y=row, color=style.PALE)
        for row, (task, opponent) in enumerate(blocks):
            _block(axes, panel, part.where(task=task, opponent=opponent), row)
    first = panels[0]
    first.set_ylim(len(blocks), 0.0)
    names = [f"{TASKS[task]}\n{ATTENTIONS[opponent].split(', ')[-1]}" for task, opponent in blocks]
    first.set_yticks(np.arange(len(blocks)) + 0.5, names, size=style.SMALL)
    mark: dict[str, Any] = {"color": style.BLACK, "markersize": 3.4, "linewidth": 0.9}
    marks = [
        Line2D([], [], marker=shape, markerfacecolor=face, label=words, **mark)
        for shape, face, words in _LOOKS.values()
    ]
    counts = Line2D([], [], color=style.BLUE, linestyle="--", linewidth=0.7, label="smallest gain that counts")
    figure.legend(handles=[*marks, counts], loc="outside upper center", ncols=4, columnspacing=1.2)
    return figure


def _frame(axes: Axes, letter: str, panel: _Panel, part: Table) -> None:
    style.panel(axes, letter, panel.title)
    ends = np.array([end for gain in part.intervals("gain") for end in (gain.lo, gain.hi) if np.isfinite(end)])
    axes.set_xlabel(panel.label)
    if panel.quantity == "loss":
        most = min(panel.most, max(4.0, float(np.exp(np.abs(ends).max(initial=0.0))))) * 1.1
        axes.set(xscale="log", xlim=(1.0 / most, most))
        step = 2.0 if most < 10.0 else 10.0 if most < 500.0 else 100.0
        count = int(np.log(most) / np.log(step))
        axes.set_xticks(step ** np.arange(-count, count + 1), [_power(step, k) for k in range(-count, count + 1)])
        axes.minorticks_off()
    else:
        most = min(panel.most, max(0.02, float(np.abs(ends).max(initial=0.0)))) * 1.1
        axes.set_xlim(-most, most)
    style.guide(axes, x=_axis_value(panel, 0.0))
    for margin in set(part["margin"][np.isfinite(part["margin"])].tolist()):
        style.guide(axes, x=_axis_value(panel, margin), color=style.BLUE, line="dashed")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _power(step: float, exponent: int) -> str:
    """Return a power of the step as a figure prints it."""
    size = int(step ** abs(exponent))
    return f"1/{size}" if exponent < 0 else str(size)


def _axis_value(panel: _Panel, gain: float) -> float:
    return float(np.exp(np.clip(gain, -99.0, 99.0))) if panel.quantity == "loss" else gain


def _block(axes: Axes, panel: _Panel, part: Table, row: int) -> None:
    """Draw the intervals of one claim below each other, and its verdict above them."""
    low, high = axes.get_xlim()
    for k, (gain, rule, matching) in enumerate(
        zip(part.intervals("gain"), part["rule"].tolist(), part["matching"].tolist(), strict=True)
    ):
        shape, face, _ = _LOOKS[rule, matching]
        height = row + 0.48 + 0.17 * k
        _interval(axes, gain, lambda value: min(max(_axis_value(panel, value), low), high), height, (shape, face))
    for verdict in dict.fromkeys(part["verdict"].tolist()):
        axes.annotate(
            verdict, (0.99, row + 0.22), xycoords=("axes fraction", "data"), size=style.SMALL, ha="right", va="center",
            color=_HUES.get(verdict, style.BLACK),
        )  # fmt: skip


def _interval(
    axes: Axes, gain: Interval, shown: Callable[[float], float], height: float, look: tuple[str, str]
) -> None:
    """Draw one interval, cut at the ends of the axis; what is unknown spans it and has no middle."""
    axes.plot([shown(gain.lo), shown(gain.hi)], [height, height], color=style.BLACK, linewidth=0.9, clip_on=False)
    if np.isfinite(gain.lo) and np.isfinite(gain.hi):
        axes.plot(
            shown(gain.mid), height, look[0], color=style.BLACK, markerfacecolor=look[1], markersize=2.6,
            markeredgewidth=0.6,
        )  # fmt: skip
