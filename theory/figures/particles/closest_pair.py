r"""The closest of three clusters on their way together, in a clock that runs with them and in one that does not.

In the running clock the angle converges to the solution of the limit equation with masses. In a clock that keeps the
overlap of the start everything happens at once, as beta grows.
"""

from __future__ import annotations

import math

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.particles import studies
from theory.particles.studies.settings import MERGING_BETAS as BETAS, MERGING_END as END, MERGING_STARTS as STARTS

TITLE = "in the running clock the closest two of three clusters approach alike for every large beta"
STUDY = studies.merging
CLAIMS = ("merge.running-clock", "merge.frozen-clock")

_HUES = dict(zip(BETAS, (style.GREEN, style.ORANGE, style.VERMILION, style.PURPLE, style.SKY, style.BLUE), strict=True))
_START = 0.8
_FIRST, _SECOND, _ = STARTS["three"].weights
_RATIO = _FIRST / _SECOND + _SECOND / _FIRST
_WRONG = (0, (1, 1.5))


def draw(table: Table) -> Figure:
    """Draw the angle over both clocks, and the clocks at one angle over beta with right and wrong predictions."""
    figure = style.canvas(style.DOUBLE, 2.8)
    axes = figure.subplots(1, 3)
    part = table.where(start="three")
    for name, letter, title, place in (
        ("running", "a", "running clock", axes[0]), ("frozen", "b", "clock of the start", axes[1]),
    ):  # fmt: skip
        style.panel(place, letter, title)
        for beta, hue in _HUES.items():
            rows = part.where(beta=beta)
            clock = np.append(0.0, rows.middles(name))
            place.plot(clock, np.append(_START, rows["angle"]), "o-", color=hue, markersize=1.8, linewidth=0.7)
        place.set(ylim=(0.0, 0.85), ylabel=r"angle $\varphi$ of the pair (rad)")
    angles = np.linspace(_START, 0.01, 300)
    for ratio, line, words in ((_RATIO, "solid", "limit, with masses"), (2.0, _WRONG, "limit without masses")):
        axes[0].plot(_limit(angles, ratio), angles, color=style.BLACK, linestyle=line, linewidth=1.0, label=words)
    axes[0].set(xlabel=r"$s$,  $dt = e^{\beta(1-\cos\varphi(t))}ds$", xlim=(0.0, 1.15))
    axes[0].legend(loc="upper right")
    axes[1].set(xlabel=r"$\sigma = e^{-\beta(1-\cos\varphi_0)}t$", xlim=(-0.003, 0.14))
    _times(axes[2], part)
    handles = [
        axes[0].plot([], [], "o-", color=hue, markersize=3, label=rf"$\beta = {beta:g}$")[0]
        for beta, hue in _HUES.items()
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=6)
    return figure


def _times(axes: Axes, part: Table) -> None:
    style.panel(axes, "c", rf"clocks at $\varphi = {END:g}$")
    rows = part.where(angle=END)
    grid = np.geomspace(10.0, 320.0, 100)
    axes.plot(rows["beta"], rows.middles("running"), "o", color=style.BLUE, markersize=3.4)
    axes.plot(rows["beta"], rows.middles("frozen"), "s", color=style.VERMILION, markersize=3.2)
    right = float(_limit(np.array([END]), _RATIO)[0])
    wrong = float(_limit(np.array([END]), 2.0)[0])
    style.guide(axes, y=right, color=style.BLUE)
    axes.axhline(wrong, color=style.BLUE, linewidth=0.7, linestyle=_WRONG, zorder=1)
    square = math.sin(_START) ** 2
    axes.plot(grid, 1.0 / (_RATIO * grid * square), color=style.VERMILION, linewidth=0.7, zorder=1)
    axes.plot(grid, 1.0 / (2.0 * grid * square), color=style.VERMILION, linewidth=0.7, linestyle=_WRONG, zorder=1)
    style.note(axes, r"running clock $s$", (12.0, 0.22), color=style.BLUE)
    style.note(axes, r"clock of the start $\sigma$", (12.0, 0.0042), color=style.VERMILION)
    style.note(axes, "dotted: without masses", (0.97, 0.03), inside=True, color=style.GREY, ha="right")
    axes.set(xscale="log", yscale="log", xlabel=r"$\beta$", ylabel="clock", ylim=(1e-3, 1.0))
    style.ticks(axes, x=[10, 40, 160])


def _limit(angles: np.ndarray, ratio: float) -> np.ndarray:
    """Return the running clock of the limit equation at the angles."""
    clock: np.ndarray = np.log(math.tan(_START / 2.0) / np.tan(angles / 2.0)) / ratio
    return clock
