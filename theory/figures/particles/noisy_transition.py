r"""Noisy attention on the circle: order sets in continuously for small beta, and with a jump for large.

Equilibria follow one branch through its fold; a free energy below that of the uniform law is marked where it is
certified, and K, in units of the threshold :math:`K_\#`, at which it changes its sign.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.particles import studies

TITLE = "noisy attention on the circle orders continuously below a critical beta, and with a jump above it"
STUDY = studies.noisy
CLAIMS = ("noisy.bifurcation", "noisy.transition")

_SHOWN = {1.0: style.BLUE, 2.4: style.GREEN, 3.0: style.ORANGE, 4.0: style.VERMILION}
_CRITICAL = 2.44692
_DASH = (0, (3, 1.5))


def draw(table: Table) -> Figure:
    """Draw the order parameter, the free energy along the same branches, and the coefficient that changes its sign."""
    figure, (first, second, third) = style.row(
        2.7, "order over the strength", "free energy of the branch", "continuous, or with a jump"
    )
    for beta, hue in _SHOWN.items():
        _branch(first, second, table, beta, hue)
    for each in (first, second):
        style.guide(each, x=1.0, color=style.PALE)
        each.set(xlabel=r"strength $K/K_\#$", xlim=(0.93, 1.12))
    first.plot([0.93, 1.0], [0.0, 0.0], color=style.BLACK, linewidth=1.2)
    first.plot([1.0, 1.12], [0.0, 0.0], color=style.BLACK, linewidth=0.8, linestyle=_DASH)
    first.plot([], [], color=style.GREY, linestyle=_DASH, linewidth=0.8, label="unstable")
    first.plot([], [], "o", color=style.GREY, markerfacecolor="white", markersize=3.6, linestyle="none", label="$K_c$")
    first.set(ylabel=r"$m = |\int x\,\rho|$", ylim=(-0.03, 1.3))
    first.set_yticks([0.0, 0.25, 0.5, 0.75, 1.0])
    first.legend(loc="upper left", ncols=2, columnspacing=1.2, handlelength=1.2)
    style.guide(second, y=0.0, color=style.BLACK)
    style.marks(second, [], [], "D", color=style.GREY, size=3.4, label="certified $< 0$")
    second.set(ylabel=r"$F_K(\rho) - F_K(1)$, units of $10^{-3}$", ylim=(-30.0, 6.0))
    second.legend(loc="upper right")
    _onset(third, table.where(part="small", dim=2))
    return figure


def _branch(left: Axes, right: Axes, table: Table, beta: float, hue: str) -> None:
    rows = table.where(part="branch", beta=beta)
    strength, order = rows.middles("strength"), rows.middles("order")
    value = 1e3 * rows.middles("value")
    fold = int(np.argmin(strength))
    for each, height in ((left, order), (right, value)):
        each.plot(strength[fold:], height[fold:], color=hue, label=rf"$\beta = {beta:g}$" if each is left else None)
        if fold > 0:
            each.plot(strength[: fold + 1], height[: fold + 1], color=hue, linestyle=_DASH, linewidth=0.8)
    look: dict[str, Any] = {"color": hue, "markeredgewidth": 0.8, "linestyle": "none", "zorder": 4}
    at = table.where(part="crossing", dim=2, beta=beta)
    if len(at):
        left.plot(at.middles("strength"), at.middles("order"), "o", markersize=3.6, markerfacecolor="white", **look)
        left.plot(
            [at.middles("strength")[0]] * 2,
            [0.0, at.middles("order")[0]],
            color=hue,
            linewidth=0.5,
            linestyle=(0, (1, 1)),
        )
        right.plot(at.middles("strength"), [0.0], "o", markersize=3.6, markerfacecolor="white", **look)
    sure = table.where(part="certified", beta=beta)
    right.plot(sure.middles("strength"), 1e3 * sure.middles("value"), "D", markersize=3.0, **look)


def _onset(axes: Axes, part: Table) -> None:
    """Draw how far from the threshold small order is found, in units of its square."""
    betas = np.linspace(0.6, 4.2, 200)
    share = special.ive(2, betas) / special.ive(1, betas)
    axes.plot(betas, (1.0 - 2.0 * share) / (2.0 * (1.0 - share)), color=style.BLACK, linewidth=0.8)
    style.guide(axes, y=0.0, color=style.PALE)
    style.guide(axes, x=_CRITICAL, line="dashed")
    for beta in part.levels("beta"):
        rows = part.where(beta=beta)
        slope = (rows.middles("strength") - 1.0) / rows.middles("order") ** 2
        style.marks(axes, np.full(len(rows) - 1, beta), slope[:-1], "o", color=style.PALE, size=3.0)
        style.marks(axes, beta, slope[-1], "o", color=_SHOWN.get(beta, style.GREY), size=4.0)
    style.note(axes, r"$\beta_\star = 2.44692$", (_CRITICAL, 0.3), offset=(3, 0), color=style.GREY)
    style.note(axes, "continuous", (0.04, 0.46), inside=True, va="top")
    style.note(axes, "with a jump", (0.98, 0.6), inside=True, ha="right", va="top")
    axes.text(0.04, 0.18, r"$\frac{1 - 2r}{2(1 - r)}$", transform=axes.transAxes)
    style.note(axes, "with $r = I_2/I_1$", (0.04, 0.06), inside=True)
    axes.set(xlabel=r"inverse temperature $\beta$", ylabel=r"$(K/K_\# - 1)/m^2$ for small $m$", xlim=(0.6, 4.2))
