r"""Where the normalisation stands sets how tokens come together.

Gaps under Post-LN close exponentially, under Pre-LN like the inverse square of time; lines are the closed forms
:math:`Ke^{-2t}` and :math:`Ct^{-2}`. The slope over each decade goes to -2 as its next order, :math:`D/t`, says.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.particles import studies
from theory.particles.exact import Equiangular
from theory.particles.studies.settings import NORM_BETA as BETA, NORM_SIMPLICES as SIMPLICES, NORM_TOKENS as TOKENS

TITLE = "under Pre-LN gaps close like the inverse square of time, under Post-LN exponentially"
STUDY = studies.norms
CLAIMS = ("norm-flow.post", "norm-flow.pre", "norm-flow.tokens")

_HUES = (style.BLUE, style.VERMILION)
_TEN = math.log(10.0)


def draw(table: Table) -> Figure:
    """Draw gaps over time twice, on scales for both placements, and slopes of the decades."""
    figure, (first, second, third) = style.row(
        2.9, "Pre-LN is slow, Post-LN fast", "Post-LN, times $e^{2t}$", "Pre-LN: slopes tend to $-2$"
    )
    for case, (n, beta, gap) in enumerate(SIMPLICES):
        simplex = Equiangular(n, beta)
        words = rf"$n = {n}$, $\beta = {beta:g}$"
        _series(first, second, third, table, "simplex", case, ("o", _HUES[case], words))
        c, d = simplex.pre_norm_tail(gap)
        times = np.geomspace(3.0, 3e8, 100)
        first.plot(times, c / times**2, color=_HUES[case], linewidth=0.6, zorder=1)
        style.guide(second, y=math.exp(simplex.log_prefactor(gap)), color=_HUES[case])
        start = np.geomspace(1.0, 1e7, 60)
        third.plot(start, 1.8 * abs(d) / _TEN / start, color=_HUES[case], linewidth=0.6, zorder=1)
    words = rf"drawn, $n = {TOKENS}$, $\beta = {BETA:g}$"
    _series(first, second, third, table, "overlaps", 0, ("^", style.GREEN, words))
    _series(first, second, third, table, "tokens", 0, ("x", style.BLACK, "the same, in coordinates"))
    first.set(xscale="log", yscale="log", xlabel="time $t$", ylabel="largest gap $1 - \\rho$", ylim=(1e-17, 3.0))
    first.set_xlim(0.7, 3e8)
    first.text(3e4, 1e-7, "Pre-LN, $C t^{-2}$", size=style.TEXT)
    first.text(50.0, 1e-14, "Post-LN", size=style.TEXT)
    second.set(yscale="log", xlabel="time $t$", ylabel=r"$(1 - \rho)\,e^{2t}$", xlim=(0.0, 41.0), ylim=(0.8, 600.0))
    second.legend(loc="center right")
    third.set(xscale="log", yscale="log", xlabel="start $t$ of the decade", ylabel=r"$|\mathrm{slope} + 2|$")
    third.set(ylim=(1e-9, 5.0), xlim=(0.7, 2e7))
    words = "lines: the next order,\n" + r"$1.8\,|D|\,/\,(t\,\log 10)$"
    third.text(0.98, 0.95, words, transform=third.transAxes, size=style.TEXT, ha="right", va="top")
    return figure


def _series(
    first: Axes, second: Axes, third: Axes, table: Table, part: str, case: int, look: tuple[str, str, str]
) -> None:
    mark, hue, words = look
    style_: dict[str, Any] = {
        "color": hue, "linestyle": "none", "markersize": 2.6 if mark != "x" else 2.2, "markeredgewidth": 0.6,
        "markerfacecolor": "none" if part == "overlaps" else hue,
    }  # fmt: skip
    for norm in ("pre", "post"):
        found = table.where(part=part, norm=norm, case=case)
        times = found["t"]
        logs = found.middles("log_gap")
        first.plot(times, np.exp(logs), mark, **style_)
        if norm == "post":
            second.plot(times, np.exp(logs + 2.0 * times), mark, label=words, **style_)
        else:
            slopes = (logs[4:] - logs[:-4]) / _TEN
            third.plot(times[:-4], np.abs(slopes + 2.0), mark, **style_)
