r"""The attention matrix on the line becomes Boolean: its rows over time, and the rate at which they do.

Tokens in increasing order. Above zero all rows select the largest token, below the smallest. The slope of
:math:`\log(-\log(1 - \max_j P_{ij}))` tends to V, but to 2V in the row of a token that alone has its sign.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.particles import studies
from theory.particles.exact import LineField

TITLE = "attention on the line becomes Boolean, doubly exponentially fast"
STUDY = studies.boolean
CLAIMS = ("boolean.limit", "boolean.rate", "boolean.constant")

_CLOCKS = (0, 1, 2, 4)
_HUES = (style.BLUE, style.SKY, style.GREEN, style.ORANGE, style.VERMILION)


def draw(table: Table) -> Figure:
    """Draw matrices at four times, then errors and slopes for two pairs of parameters."""
    figure = style.canvas(style.DOUBLE, 4.0)
    parts: Any = figure.subfigures(2, 1, height_ratios=(0.75, 1.0))
    above, below = parts
    starts = np.unique(table.where(case="named")["start"]).tolist()
    first = table.where(start=starts[0])
    for number, (axes, clock) in enumerate(zip(above.subplots(1, len(_CLOCKS)), _CLOCKS, strict=True)):
        _matrix(axes, first, clock)
        if number == 0:
            style.panel(axes, "a", f"attention matrix, $t = {clock}$")
        else:
            axes.set_title(f"$t = {clock}$", size=style.TEXT)
    panels = below.subplots(1, 3)
    style.panel(panels[0], "b", r"what a row leaves, $A = V = 1$")
    _errors(panels[0], first)
    for axes, letter, start in zip(panels[1:], "cd", starts, strict=True):
        part = table.where(start=start)
        value, score = float(part["value"][0]), float(part["score"][0])
        style.panel(axes, letter, rf"slopes, $A = {score:g}$, $V = {value:g}$")
        _slopes(axes, part, value)
    names = [f"${x:g}$" for x in first.where(clock=0).middles("x").round(6).tolist()]
    handles = [
        panels[0].plot([], [], "o-", color=h, markersize=3, label=n)[0] for h, n in zip(_HUES, names, strict=True)
    ]
    panels[0].legend(handles=handles, loc="upper left", title="row of the token at", title_fontsize=style.SMALL)
    return figure


def _matrix(axes: Axes, part: Table, clock: int) -> None:
    """Draw the matrix of the positions that the table has at a time."""
    now = part.where(clock=clock)
    line = LineField(float(now["score"][0]), float(now["value"][0]))
    weights = np.exp(line.log_weights(line.state(now.middles("x"))))
    axes.imshow(weights, cmap="Blues", vmin=0.0, vmax=1.0)
    for i, row in enumerate(weights.tolist()):
        for j, weight in enumerate(row):
            word = "0" if weight < 5e-3 else "1" if weight > 0.995 else f"{weight:.2f}"[1:]
            style.note(axes, word, (j, i), ha="center", va="center", color="white" if weight > 0.55 else style.GREY)
    axes.set(xticks=[], yticks=[], xlabel="key $j$")
    if clock == 0:
        axes.set_ylabel("query $i$")


def _errors(axes: Axes, part: Table) -> None:
    for token, hue in enumerate(_HUES):
        row = part.where(token=token)
        axes.plot(row["clock"], -row.middles("log_error"), "o-", color=hue, markersize=3)
    axes.set(yscale="log", xlabel="$Vt$", ylabel=r"$-\log\,(1 - \max P_i)$")


def _slopes(axes: Axes, part: Table, value: float) -> None:
    for token, hue in enumerate(_HUES):
        row = part.where(token=token)
        doubles = row.middles("double")
        axes.plot(row["clock"][:-1] + 0.5, np.diff(doubles), "o-", color=hue, markersize=3)
    for level in (1.0, 2.0):
        style.guide(axes, y=level, line="dotted")
    axes.set(xlabel="$Vt$", ylabel=r"slope of $\log(-\log(1 - \max P_i))$ over $V$", ylim=(-0.2, 2.8))
    style.note(
        axes,
        "alone of its sign" if value > 1.0 else "",
        (9.9, 2.1 if value > 1.0 else 1.06),
        ha="right",
        color=style.GREY,
    )
