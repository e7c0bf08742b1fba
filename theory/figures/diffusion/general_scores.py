r"""Attention with scores that are no distance: it relabels, and then drifts.

With one minimiser per query a layer returns the value there, and what it adds is of first order in the bandwidth: a
diffusion, the drift of the density and one of the third derivatives of the score. The published formula divides two
of these terms by the mass of the peak. On the sphere a bilinear score points to a minimiser that was printed with the
opposite sign.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from theory.diffusion import studies
from theory.diffusion.limits import extrapolate, largest_errors, peak_correction
from theory.diffusion.settings import (
    CUBIC_SHARE,
    SCORE_AXES,
    WAVY_DENSITY,
    query_path,
    relabelled,
    stiffness,
    wavy_function,
)
from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure

TITLE = "attention with a general score relabels and drifts, with another factor and another sign than printed"
STUDY = studies.scores
CLAIMS = ("score.relabelling", "score.first-order", "score.minimiser")

_TURN = 2.0 * math.pi
_USED = 7  # levels, before rounding shows in the extrapolated values


def draw(table: Table) -> Figure:
    """Draw values on the circle, the errors of two formulas, and mean keys on the sphere."""
    figure, (first, second, third) = style.row(
        2.75,
        "one minimiser: a relabelling",
        "first order: right and as printed",
        r"sphere, $f = \langle x, Dy\rangle$",
        widths=[1.1, 1.1, 1.0],
    )
    circle = table.where(part="circle")
    _values(first, circle, table.where(part="warm"))
    _errors(second, circle)
    _sphere(third, table.where(part="sphere"))
    return figure


def _values(axes: Axes, table: Table, warm: Table) -> None:
    x = np.linspace(0.0, _TURN, 400)
    axes.plot(x, wavy_function(x), color=style.GREY, linestyle="dotted", label="$h(x)$")
    axes.plot(x, wavy_function(relabelled(x)), color=style.BLACK, label="$h(y_*(x))$")
    epsilon = float(warm["epsilon"][0])
    step = np.array([_coefficient(place) for place in x.tolist()])
    axes.plot(
        x, wavy_function(relabelled(x)) + epsilon * step, color=style.VERMILION, linestyle="dashed",
        label=r"$h(y_*) + \varepsilon Ah$",
    )  # fmt: skip
    for part, hue, marker in (
        (warm, style.VERMILION, "s"), (table.where(epsilon=float(table["epsilon"].min())), style.BLUE, "o"),
    ):  # fmt: skip
        style.marks(
            axes,
            part["x"],
            part.middles("value"),
            marker,
            color=hue,
            size=3.4,
            label=rf"$P_\varepsilon h$, $\varepsilon = {_number(float(part['epsilon'][0]))}$",
        )
    style.turn_axis(axes, "query $x$ (rad)")
    axes.set(xlim=(-0.1, _TURN), ylim=(-1.65, 2.15))
    axes.legend(loc="upper center", ncols=2, columnspacing=1.0)


def _number(value: float) -> str:
    """Return a small number in TeX, to two figures."""
    exponent = math.floor(math.log10(value))
    if exponent > -3:
        return f"{value:g}"
    return rf"{value / 10.0**exponent:.1f}\cdot10^{{{exponent}}}"


def _coefficient(x: float, *, printed: bool = False, cubic: float = 1.0, drift: float = 2.0) -> float:
    """Return the first-order term at a query, right or wrong."""
    y = float(relabelled(x))
    c = 2.0 * float(stiffness(x))
    first = math.cos(y) - math.sin(2.0 * y)
    second = -math.sin(y) - 2.0 * math.cos(2.0 * y)
    mass = math.sqrt(4.0 * math.pi / c) if printed else 1.0
    slope = 0.5 * drift * float(WAVY_DENSITY.log_slope(y))
    plain = peak_correction([[c]], np.zeros((1, 1, 1)), [slope], [first], [[second]])
    bent = peak_correction([[c]], np.full((1, 1, 1), 3.0 * c * CUBIC_SHARE), [0.0], [first], [[0.0]])
    return float(plain / mass + cubic * bent)


def _errors(axes: Axes, table: Table) -> None:
    epsilons = np.array(table.levels("epsilon")[::-1][:_USED])
    places = table.where(epsilon=float(epsilons[0]))["x"].tolist()
    ends = [float(wavy_function(relabelled(x))) for x in places]
    levels: Any = [
        [(value - end) / e for value, end in zip(table.where(epsilon=e).intervals("value"), ends, strict=True)]
        for e in epsilons.tolist()
    ]
    wrongs = (
        ({"cubic": 0.0}, "no cubic drift", "dotted"),
        ({"printed": True}, "as printed: $C$-terms over $m_0$", "dashed"),
        ({"drift": 1.0}, "drift of the density once", "dashdot"),
    )
    for changes, label, line in wrongs:
        errors = largest_errors(levels, [_coefficient(x, **changes) for x in places])
        style.convergence(axes, epsilons, errors, color=style.VERMILION, line=line, label=label)
    axes.legend(loc="upper left")
    truth = [_coefficient(x) for x in places]
    steps = ((style.BLUE, "o", "order 1", 3), (style.GREEN, "s", "extrapolated: order 2", 4))
    for step, (hue, marker, label, at) in enumerate(steps):
        errors = largest_errors(levels, truth)
        style.convergence(axes, epsilons[step:], errors, color=hue, mark=marker, label=label, at=at)
        levels = extrapolate(levels)
    axes.set(xlabel=r"finest bandwidth $\varepsilon$", ylim=(1e-7, 1e3))
    axes.set_ylabel(r"largest error of $(P_\varepsilon h - h(y_*))/\varepsilon$")


def _sphere(axes: Axes, table: Table) -> None:
    t = np.linspace(0.0, math.pi, 361)
    points = np.array([-SCORE_AXES * query_path(s) for s in t.tolist()])
    points /= np.linalg.norm(points, axis=1)[:, np.newaxis]
    turn = np.linspace(0.0, _TURN, 200)
    axes.plot(np.cos(turn), np.sin(turn), color=style.GREY, linewidth=0.5)
    axes.plot(points[:, 0], points[:, 1], color=style.BLACK, label=r"minimisers $y_i = -a_ix_i/r$")
    epsilons = table.levels("epsilon")[::-1]
    coldest = {}
    for s in table.levels("x"):
        means = np.array([
            [float(table.where(x=s, epsilon=e, coordinate=k).middles("value")[0]) for k in (1, 2)] for e in epsilons
        ])  # fmt: skip
        axes.plot(*np.vstack([np.zeros((1, 2)), means]).T, color=style.SKY, linewidth=0.7)
        axes.plot(*means.T, "o", color=style.BLUE, markersize=2.6, markeredgewidth=0)
        coldest[s] = means[-1]
    axes.plot([], [], "o-", color=style.BLUE, markersize=2.6, linewidth=0.7, label=r"mean key $P_\varepsilon y$")
    printed = np.array([SCORE_AXES * query_path(s) / np.linalg.norm(SCORE_AXES * query_path(s)) for s in coldest])
    axes.plot(printed[:, 0], printed[:, 1], "x", color=style.VERMILION, markersize=4.5, label="with the printed sign")
    axes.set(xlim=(-1.15, 1.15), ylim=(-1.1, 1.75), aspect="equal", xlabel="$y_1$", ylabel="$y_2$")
    axes.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    axes.legend(loc="upper center", ncols=1)
