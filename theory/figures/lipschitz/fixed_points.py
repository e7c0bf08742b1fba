r"""The fixed points of infinitely deep networks: one where layers contract, and what happens where they do not.

Tokens on the line pass one block over and over. Bands reach from the least token to the largest, lines are means.
"""

from __future__ import annotations

import math

from matplotlib.ticker import MaxNLocator

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.lipschitz import studies

TITLE = "infinitely deep networks have one limit where layers contract; else collapse, a cycle or several limits"
STUDY = studies.fixed_points
CLAIMS = ("depth.fixed-point", "depth.several-limits")

_HUES = (style.BLUE, style.VERMILION, style.GREEN, style.PURPLE, style.ORANGE)
_MARKS = ("o", "s", "^", "D", "v")
_VALUE = studies.SYSTEMS["contraction"].value
_ALPHA = abs(studies.SYSTEMS["contraction"].form)
_RATE = _VALUE * (math.exp(2 * _ALPHA) * (1 + 2 * _ALPHA) + _ALPHA)
_ROOT = 0.85855964


def draw(table: Table) -> Figure:
    """Draw the moves of a contraction with their bound, and where the tokens of three other networks are."""
    figure = style.canvas(style.DOUBLE, 4.0)
    axes = figure.subplot_mosaic([["a", "b"], ["c", "d"]])
    style.panel(axes["a"], "a", rf"$V = {_VALUE}$, $b = 0.4$: $C = {_RATE:.3f} < 1$")
    style.panel(axes["b"], "b", "$V = 1$: every cloud collapses, to a limit of its own")
    style.panel(axes["c"], "c", "$V = -1$: a cycle of two")
    style.panel(axes["d"], "d", r"$\tanh$ after $V = 1.5$: three fixed points")
    _moves(axes["a"], table.where(system="contraction"))
    for letter, system, steps in (("b", "identity", 8), ("c", "reflection", 10), ("d", "squashed", 18)):
        _paths(axes[letter], table.where(system=system), studies.SYSTEMS[system].starts, steps)
    for place, words in ((_ROOT, "0.8586"), (0.0, "0"), (-_ROOT, "$-$0.8586")):
        axes["d"].plot([0.0, 18.2], [place, place], color=style.GREY, linewidth=0.5, linestyle=(0, (1, 2)), zorder=1)
        style.note(axes["d"], words, (18.4, place), offset=(3, 0), va="center")
    axes["d"].set_xlim(-0.6, 22.0)
    for axis in axes.values():
        axis.set_xlabel("passes $n$")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes["d"].set_xticks(range(0, 19, 3))
    return figure


def _moves(axes: Axes, table: Table) -> None:
    """Draw W1 between consecutive measures, and dashed the geometric bound from the first of them."""
    for start, hue, mark in zip(studies.SYSTEMS["contraction"].starts, _HUES, _MARKS, strict=False):
        part = table.where(start=start)
        step = part["step"]
        move = part.middles("move")
        seen = step <= 12
        axes.plot(step[seen], move[seen], f"{mark}-", color=hue, markersize=2.8, label=f"from {start}")
        axes.plot(step[seen], move[0] * _RATE ** step[seen], color=hue, linewidth=0.7, linestyle=(0, (4, 2)))
    axes.set(yscale="log", ylabel=r"$W_1(T^{n+1}\mu,\, T^n\mu)$", ylim=(3e-7, 3.0), xlim=(-0.3, 12.3))
    style.note(axes, r"dashed: $C^n\,W_1(T\mu, \mu)$", (0.97, 0.95), inside=True, ha="right", va="top")
    axes.legend(loc="lower left")


def _paths(axes: Axes, table: Table, starts: dict[str, tuple[float, ...]], steps: int) -> None:
    for start, hue, mark in zip(starts, _HUES, _MARKS, strict=False):
        part = table.where(start=start)
        seen = part["step"] <= steps
        low, mean, high = (part.middles(name)[seen] for name in ("low", "mean", "high"))
        axes.fill_between(part["step"][seen], low, high, color=hue, alpha=0.22, linewidth=0.0)
        axes.plot(part["step"][seen], mean, f"{mark}-", color=hue, markersize=2.6)
    axes.set(ylabel="tokens $x$", ylim=(-1.08, 1.08), xlim=(-0.03 * steps, 1.03 * steps))
