r"""The energy of four clusters in log time: a staircase whose steps come at the lifetimes of pairs.

Divided by beta, the logarithms of the jump times tend to :math:`1 - \cos\varphi_k` of the pair that meets. What is left
between a jump and the formulas: the asymptote is off by a multiple of 1 / beta, with its next term of 1 / beta squared.
"""

from __future__ import annotations

import math

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.particles import studies
from theory.particles.exact import log_asymptote, meeting_point
from theory.particles.studies.settings import (
    STAIRCASE_ANGLES as ANGLES,
    STAIRCASE_BETAS as BETAS,
    STAIRCASE_WEIGHTS as MASSES,
)

TITLE = "the energy of four clusters climbs a staircase in log time, as their lifetimes predict"
STUDY = studies.staircase
CLAIMS = ("metastable.staircase", "metastable.steps")

_HUES = dict(zip(BETAS, (style.ORANGE, style.VERMILION, style.PURPLE, style.BLUE, style.BLACK), strict=True))
_MARKS = {1: "o", 2: "s", 3: "^"}


def draw(table: Table) -> Figure:
    """Draw energies over log time divided by beta, and how far the jumps are from two formulas."""
    figure, (left, right) = style.row(
        2.7,
        "masses 0.3, 0.1, 0.4, 0.2 at angles 0, 0.6, 1.6, 2.6",
        r"$|\log T_k - \log T_k^{\mathrm{formula}}|$",
        widths=(1.35, 1.0),
    )
    _stairs(left, table)
    _rest(right, table)
    return figure


def _stairs(axes: Axes, table: Table) -> None:
    for beta, hue in _HUES.items():
        part = table.where(beta=beta)
        time = part.middles("log_time") / beta
        height = part.middles("energy")
        across = np.concatenate([[-0.2], time, [1.5]])
        axes.plot(across, np.concatenate([height[:1], height, [1.0]]), color=hue, label=rf"$\beta = {beta:g}$")
        jumps = part.where(mark="jump")
        axes.plot(jumps.middles("log_time") / beta, jumps.middles("energy"), "o", color=hue, markersize=2.6)
    for stage, (angle, _) in enumerate(_pairs(math.inf), start=1):
        axes.axvline(
            1.0 - math.cos(angle), ymax=0.88, color=style.GREY, linewidth=0.6, linestyle=(0, (1, 1.5)), zorder=1
        )
        place = (1.0 - math.cos(angle), 1.035)
        axes.text(*place, rf"$1-\cos\varphi_{stage}$", size=style.SMALL, color=style.GREY, ha="center", va="bottom")
    axes.set(xlabel=r"$\log(t)\,/\,\beta$", ylabel="energy / its maximum", xlim=(-0.2, 1.5), ylim=(0.26, 1.1))
    axes.legend(loc="upper left", bbox_to_anchor=(0.43, 0.86))


def _rest(axes: Axes, table: Table) -> None:
    for corrected, hue, words in ((False, style.BLUE, "asymptote"), (True, style.VERMILION, "with its next term")):
        for stage, mark in _MARKS.items():
            gaps = []
            for beta in BETAS:
                (jump,) = table.where(beta=beta, stage=stage, mark="jump").middles("log_time")
                angle, masses = _pairs(beta)[stage - 1]
                gaps.append(abs(jump - log_asymptote(angle, beta, weights=masses, corrected=corrected)))
            filled = "none" if corrected else hue
            axes.plot(
                BETAS, gaps, mark, color=hue, markersize=3.6, markerfacecolor=filled, linestyle="solid", linewidth=0.5
            )
        axes.plot([], [], color=hue, label=words)
    betas = np.array([20.0, 320.0])
    for power, height in ((1, 22.0), (2, 3.0)):
        axes.plot(betas, height / betas**power, color=style.GREY, linewidth=0.6, linestyle=(0, (4, 2)), zorder=1)
        words = rf"$\beta^{{-{power}}}$"
        style.note(axes, words, (330.0, height / 320.0**power), color=style.GREY, va="center")
    for stage, mark in _MARKS.items():
        axes.plot([], [], mark, color=style.BLACK, markersize=3.6, label=f"$k = {stage}$")
    axes.set(xscale="log", yscale="log", xlabel=r"$\beta$", xlim=(17.0, 480.0))
    style.ticks(axes, x=BETAS)
    axes.legend(loc="lower left")


def _pairs(beta: float) -> list[tuple[float, tuple[float, float]]]:
    """Return angle and masses of the three pairs when they are formed; squares of masses balance in the limit."""
    a, b, c, d = MASSES
    first = ANGLES[1]
    second = ANGLES[3] - ANGLES[2]
    if math.isinf(beta):
        moved = [first * b**2 / (a**2 + b**2), second * d**2 / (c**2 + d**2)]
    else:
        moved = [meeting_point(first, beta, weights=(a, b)).mid, meeting_point(second, beta, weights=(c, d)).mid]
    return [(first, (a, b)), (second, (c, d)), (ANGLES[2] + moved[1] - moved[0], (a + b, c + d))]
