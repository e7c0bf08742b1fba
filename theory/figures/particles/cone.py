r"""Tokens in one hemisphere: how often chance puts them there, and what attention makes of them.

Independent uniform points share an open hemisphere with Wendel's probability
:math:`2^{-(n-1)}\sum_{k<d}\binom{n-1}{k}`: certainly up to :math:`n = d`, with one half at :math:`n = 2d`. From within
one, the lowest token rises under SA and USA, with or without a mask, not under a value matrix that mirrors the axis.
In the chart of the hemisphere the tokens' diameter shrinks at least at the rate that their lowest height gives.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from theory.evidence import Interval, Table, proportion
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.particles import studies
from theory.particles.exact import hemisphere_probability
from theory.particles.studies import settings

TITLE = "tokens of one hemisphere come together; that chance puts them there is unlikely beyond n = 2d"
STUDY = studies.cones
CLAIMS = ("cone.consensus", "cone.wendel")

_DIMENSIONS = ((2, style.BLUE, "o"), (3, style.VERMILION, "s"), (4, style.GREEN, "^"), (5, style.ORANGE, "D"))
_RUNS: tuple[tuple[str, str, str, str], ...] = (
    ("SA", "self-attention", style.BLUE, "o"),
    ("USA", "unnormalised", style.GREEN, "s"),
    ("causal", "causal mask", style.ORANGE, "v"),
    ("mirror", r"$V = \mathrm{diag}(1, 1, -1)$", style.VERMILION, "^"),
)
_MOST = 13  # points


def draw(table: Table) -> Figure:
    """Draw probabilities, lowest heights over time, and diameters with their bounds."""
    figure, (first, second, third) = style.row(
        2.7, "chance: all in one hemisphere", "attention lifts the lowest token", "and brings all together"
    )
    _odds(first, table.where(part="hits", run="uniform"))
    for run, words, hue, mark in _RUNS:
        part = table.where(part="lowest", run=run)
        time = part["time"] / part["time"].max()
        second.plot(time, part.middles("value"), mark, color=hue, markersize=2.8, linestyle="solid", linewidth=0.7,
                    label=words)  # fmt: skip
    style.guide(second, y=0.0)
    second.set(xlabel="time, in lengths of the run", ylabel=r"$\min_i\langle x_i, w\rangle$", ylim=(-0.15, 1.55))
    second.set_yticks([0.0, 0.5, 1.0])
    second.legend(loc="upper left")
    _meeting(third, table)
    return figure


def _odds(axes: Axes, table: Table) -> None:
    """Draw shares of draws with their intervals over Wendel's numbers."""
    sizes = np.arange(1, _MOST + 1)
    among = len(table) + 1  # with the law that favours one side
    for d, hue, mark in _DIMENSIONS:
        axes.plot(sizes, [float(hemisphere_probability(int(n), d)) for n in sizes], ".-", color=hue, linewidth=0.6,
                  markersize=2.0)  # fmt: skip
        part = table.where(d=d)
        for n, draws, hits in zip(part["n"].tolist(), part["draws"].tolist(), part.intervals("value"), strict=True):
            least, most = (proportion(int(count), draws, among=among) for count in (hits.lo, hits.hi))
            style.intervals(axes, [n], [Interval(least.lo, most.hi, least.kind)], color=hue, width=1.0)
            style.marks(axes, n, hits.mid / draws, mark, color=hue, size=3.6, hollow=True, markerfacecolor="white")
        style.marks(axes, [], [], mark, color=hue, size=3.6, hollow=True, markerfacecolor="white", label=f"$d = {d}$")
    style.guide(axes, y=0.5, line="dashed")
    style.note(axes, "$n = 2d$", (_MOST, 0.52), color=style.GREY, ha="right", va="bottom")
    axes.set(xlabel="number of points $n$", ylabel="probability", ylim=(-0.02, 1.05), xlim=(0.6, _MOST + 0.4))
    axes.set_xticks(range(1, _MOST + 1, 2))
    axes.legend(loc="upper right", bbox_to_anchor=(1.0, 0.98))


def _meeting(axes: Axes, table: Table) -> None:
    """Draw by how much each window shrinks the diameter, per unit of time, against the claimed rate."""
    look: dict[str, Any] = {"markersize": 3.0, "linestyle": "none", "markeredgewidth": 0}
    for run, words, hue, mark in _RUNS[:3]:
        heights, before, after = (table.where(part=part, run=run) for part in ("height", "before", "after"))
        spans = np.diff(np.concatenate([[0.0], after["time"]]))
        speed = -np.log(after.middles("value") / before.middles("value")) / spans
        claimed = [_rate(run, float(c), int(n)) for c, n in zip(heights.middles("value"), heights["n"], strict=True)]
        axes.plot(claimed, speed, mark, color=hue, label=words, **look)
    axes.axline((0.01, 0.01), (1.0, 1.0), color=style.GREY, linewidth=0.6, zorder=0)
    axes.set(xscale="log", yscale="log", xlabel="rate from the lowest height", ylabel=r"measured rate $-\dot D/D$")
    axes.legend(loc="lower right")


def _rate(run: str, c: float, n: int) -> float:
    beta = settings.CONE_BETA
    rate = c * math.exp(-2.0 * beta * (1.0 - c * c))
    return rate * math.exp(beta) if run == "USA" else rate / n if run == "causal" else rate
