r"""The rates at which tokens reach consensus.

Slopes of the logarithm of the diameter on successive windows depart from the predicted rate like the square of the
diameter; under causal attention the rate is one half, whatever the scores.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.particles import studies

TITLE = "tokens come together at the rate 1, or e to the beta unnormalised, and at one half under a causal mask"
STUDY = studies.collapses
CLAIMS = ("consensus.rate", "consensus.causal")

_BETAS = {0.0: style.BLACK, 1.0: style.BLUE, 3.0: style.GREEN, 6.0: style.VERMILION}
_SHIFTS = {0.0: -0.24, 1.0: -0.08, 3.0: 0.08, 6.0: 0.24}  # so that no mark hides another
_WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "SA": ("o", {"markersize": 2.6}),
    "USA": ("s", {"markersize": 4.6, "markerfacecolor": "none", "markeredgewidth": 0.7}),
}
_NAMES = {"SA": "self-attention", "USA": "unnormalised"}


def draw(table: Table) -> Figure:
    """Draw diameters, the slopes' departures from the predicted rates, and the rates of causal attention."""
    figure, (first, second, third) = style.row(
        2.6, "the diameter falls at its rate", "which is off by its square", "causal: one half, any scores"
    )
    _diameters(first, second, table)
    _causal(third, table.where(way="causal"))
    handles = [first.plot([], [], color=hue, label=rf"$\beta = {beta:g}$")[0] for beta, hue in _BETAS.items()]
    for way, (mark, size) in _WAYS.items():
        handles += first.plot([], [], mark, color=style.GREY, label=_NAMES[way], **size)
    figure.legend(handles=handles, loc="outside upper center", ncols=6)
    return figure


def _diameters(first: Axes, second: Axes, table: Table) -> None:
    for way, (mark, size) in _WAYS.items():
        for start in np.unique(table.where(way=way)["start"]).tolist():
            part = table.where(way=way, start=start)
            beta = float(part["beta"][0])
            if part["n"][0] != 5:
                continue
            rate = math.exp(beta) if way == "USA" else 1.0
            logs = part.middles("log")
            times = part["time"]
            look = {"color": _BETAS[beta], "linestyle": "none", **size}
            shown = rate * times + _SHIFTS[beta]
            first.plot(shown, logs / math.log(10.0), mark, **look)
            found = -np.diff(logs) / np.diff(times)
            second.plot(shown[:-1], np.abs(found / rate - 1.0), mark, **look)
    clock = np.array([0.0, 8.0])
    first.plot(clock, 0.15 - clock / math.log(10.0), color=style.GREY, linewidth=0.7)
    style.note(first, r"slope $-1$", (4.4, -1.2), color=style.GREY)
    style.note(first, "marks of a time stand side by side", (0.02, 0.05), inside=True, color=style.GREY)
    first.set(ylim=(-5.2, 0.4), xlabel=r"$\lambda t$, $\lambda = 1$, unnormalised $e^\beta$", ylabel=r"$\log_{10} D$")
    second.plot(clock, 0.9 * np.exp(-2.0 * clock), color=style.GREY, linewidth=0.7)
    style.note(second, r"slope $-2$", (3.4, 0.05), color=style.GREY)
    second.set(
        yscale="log", xlabel=r"$\lambda t$ at the start of a window", ylabel=r"$|\mathrm{slope}/(-\lambda) - 1|$"
    )


def _causal(axes: Axes, table: Table) -> None:
    marks = itertools.cycle((("o", style.BLUE), ("^", style.ORANGE), ("s", style.BLACK)))
    shown: Counter[int] = Counter()
    for start, (mark, hue) in zip(table.levels("start"), marks, strict=False):
        part = table.where(start=start)
        n = int(part["n"][0])
        shown[n] += 1
        words = f"$n = {n}$" if shown[n] == 1 else f"$n = {n}$, other scores"
        logs = part.middles("log") / math.log(10.0)
        look: dict[str, Any] = {
            "markersize": 5.4 if hue == style.BLACK else 3.4,
            "markeredgewidth": 0.7,
            "markerfacecolor": "none",
        }
        axes.plot(part["time"], logs, mark, color=hue, **look, label=words)
    times = np.array([0.0, float(table["time"].max())])
    axes.plot(times, -0.5 * times / math.log(10.0), color=style.GREY, linewidth=0.7)
    axes.text(0.55, 0.62, r"slope $-\frac{1}{2}$", transform=axes.transAxes, size=style.TEXT, color=style.GREY)
    axes.legend(loc="lower left")
    axes.set(xlabel="$t$", ylabel=r"$\log_{10} D$")
