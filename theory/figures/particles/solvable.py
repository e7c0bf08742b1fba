r"""The solvable corner: tokens on the circle without inverse temperature, on their way to consensus.

The mean field approaches consensus at the rate 1/2 in the distance W2, any finite number of tokens in the end at the
rate 1; between the two, at times near :math:`\log n`, all numbers of tokens follow one curve.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure
from theory.particles import studies
from theory.particles.studies import settings

TITLE = "in the solvable corner the mean field approaches consensus at the rate 1/2, any finite number at the rate 1"
STUDY = studies.approach
CLAIMS = (
    "solvable.radius",
    "solvable.mean-field-rate",
    "solvable.finite-rate",
    "solvable.crossover",
)

_HUES = (style.VERMILION, style.ORANGE, style.GREEN, style.BLUE)
_STARTED = 1.0 / 9.0  # r^2 / (1 - r^2) at time zero
_TIMES = np.linspace(0.0, 16.0, 321)
_GUIDE: dict[str, Any] = {"color": style.GREY, "linewidth": 0.6, "linestyle": (0, (1, 1.5)), "zorder": 0}


def draw(table: Table) -> Figure:
    """Draw distances, their rates, and the rates about the time log n."""
    figure, (first, second, third) = style.row(
        2.75, "finite $n$ leaves the mean field", "at the rate 1 for 1/2", r"about the time $\log n$"
    )
    grid = table.where(part="grid")
    many = int(grid["n"].max())
    r = np.sqrt(_growth(_TIMES) / (1.0 + _growth(_TIMES)))
    first.plot(_TIMES, np.sqrt(2.0 / (1.0 + _growth(_TIMES)) / (1.0 + r)), color=style.BLACK, label="mean field")
    second.plot(_TIMES, -r * (1.0 + r) / 4.0, color=style.BLACK)
    for n, hue in zip((*settings.FEW, many), (*_HUES, style.BLACK), strict=True):
        part = grid.where(n=n)
        look: dict[str, Any] = {"markersize": 3.0, "color": hue, "markeredgewidth": 0.6, "linewidth": 0.6}
        look |= {"marker": "o"} if n != many else {"marker": "s", "linestyle": "none", "markerfacecolor": "none"}
        first.plot(part["t"], part.middles("distance"), label=f"$n = {_thousands(n)}$", **look)
        second.plot(part["t"], part.middles("rate"), **look)
    for rate, words, above in ((-0.5, "mean field, $-1/2$", 0.015), (-1.0, "finite $n$, $-1$", 0.05)):
        second.axhline(rate, **_GUIDE)
        style.note(second, words, (16.3, rate + above), color=style.GREY, ha="right", va="bottom")
    first.set(yscale="log", xlabel="time $t$", ylabel="$W_2$, chordal", ylim=(3e-7, 4.0), xlim=(-0.5, 16.5))
    first.legend(loc="lower left")
    second.set(xlabel="time $t$", ylabel=r"$d\log W_2/dt$", ylim=(-1.06, 0.0), xlim=(-0.5, 16.5))
    _crossing(third, table)
    return figure


def _growth(t: Array) -> Array:
    """Return r^2 / (1 - r^2) of the mean field."""
    grown: Array = _STARTED * np.exp(t)
    return grown


def _crossing(axes: Axes, table: Table) -> None:
    """Draw the rates at times after log n against the curve that they tend to."""
    after = np.linspace(-1.0, 4.0, 251)
    y = np.exp(-after) / (2.0 * _STARTED)
    axes.plot(after, -(1.0 + y / np.sinh(y)) / 2.0, color=style.BLACK, label=r"$-\frac{1}{2}(1 + y/\sinh y)$")
    hues = (style.VERMILION, style.ORANGE, style.GREEN, style.SKY, style.BLUE)
    for n, mark, hue in zip(settings.CROSSING, "ov^sD", hues, strict=True):
        part = table.where(part="crossing", n=n)
        style.marks(
            axes,
            part["t"][1:] - math.log(n),
            part.middles("rate")[1:],
            mark,
            color=hue,
            size=3.4,
            hollow=True,
            label=f"$n = {_thousands(n)}$",
        )
    axes.axhline(-0.5, **_GUIDE)
    axes.axhline(-1.0, **_GUIDE)
    axes.set(xlabel=r"$t - \log n$,  $y = \frac{9}{2}e^{-(t - \log n)}$", ylabel=r"$d\log W_2/dt$")
    axes.set(xlim=(-1.1, 4.1), ylim=(-1.03, -0.4))
    axes.legend(loc="upper right")


def _thousands(n: int) -> str:
    return f"{n:,}".replace(",", r"\,")
