r"""Which acute configuration comes together most slowly, without and with normalisation.

Each mark is a configuration of smallest overlap m: the growth of m, over that of the simplex of the same overlap. USA
never falls below one. SA does, for even n exactly where :math:`mE > 1`, :math:`E = e^{\beta(1-m)}`, and there two equal
clusters are the slowest: lines are the least that there can be. To the right, paths from ten tokens.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure
from theory.particles import studies
from theory.particles.exact import Equiangular, slowest_rate
from theory.particles.studies.settings import COMPARISON_WITNESS as WITNESS

TITLE = "unnormalised attention is slowest at the simplex; softmax can be slower, at two equal clusters"
STUDY = studies.comparison
CLAIMS = (
    "equiangular.slowest", "equiangular.slowest-path", "equiangular.softmax-slowest", "equiangular.softmax-path",
    "equiangular.threshold",
)  # fmt: skip

_PARTS = (
    ("random", "drawn", ".", style.GREY, 3.0), ("search", "searched", "v", style.PURPLE, 3.6),
    ("simplex", "simplex", "s", style.BLACK, 2.4), ("clusters", "two equal clusters", "o", style.VERMILION, 3.0),
)  # fmt: skip
_SHOWN = ((10, 2.0), (10, 9.0), (100, 9.0))  # tokens and beta of the clusters in the second panel
_DASHES: tuple[Any, ...] = ((0, (1, 1)), (0, (4, 1.5)), "solid")


def draw(table: Table) -> Figure:
    """Draw ratios to the simplex for both rules, and the gap over time from two starts."""
    figure, (first, second, third) = style.row(
        3.0,
        "unnormalised: none below one",
        "softmax: two clusters below",
        rf"softmax: gaps of $n = {WITNESS[0]}$, $\beta = {WITNESS[2]:g}$",
    )
    for part, words, mark, hue, size in _PARTS:
        look: dict[str, Any] = {"color": hue, "markersize": size, "markeredgewidth": 0.5, "linestyle": "none"}
        look["markerfacecolor"] = "none" if mark == "o" else hue
        m, _, ratio = _ratios(table.where(part=part, rule="USA"))
        first.plot(m, ratio, mark, **look)
        found = table.where(part=part, rule="SA")
        shown = [found.where(n=n, beta=beta) for n, beta in _SHOWN] if part == "clusters" else [found]
        for some in shown:
            _, raised, ratio = _ratios(some)
            second.plot(raised, ratio, mark, **look)
        first.plot([], [], mark, label=words, **look)
    first.set(yscale="log", xlabel="smallest overlap $m$", ylabel="rate over that of the simplex")
    second.set(xscale="log", yscale="log", xlabel=r"$mE = m\,e^{\beta(1-m)}$", xlim=(8e-3, 3e3), ylim=(1.5e-3, 3e2))
    second.axvline(1.0, ymin=0.42, color=style.GREY, linewidth=0.6, linestyle=(0, (1, 1.5)), zorder=1)
    for each in (first, second):
        style.guide(each, y=1.0)
    _curves(first, second)
    _paths(third, table)
    handles, words_ = first.get_legend_handles_labels()
    figure.legend(handles, words_, loc="outside upper center", ncols=4, markerscale=1.2)
    return figure


def _ratios(found: Table) -> tuple[Array, Array, Array]:
    """Return m, m E and rates over those of the simplex."""
    m = 1.0 - found["start"]
    simplex = [
        float(Equiangular(int(n), float(beta), rule == "SA").rate(float(gap)))
        for n, beta, gap, rule in zip(found["n"], found["beta"], found["start"], found["rule"], strict=True)
    ]
    return m, m * np.exp(found["beta"] * (1.0 - m)), found.middles("value") / np.array(simplex)


def _curves(first: Axes, second: Axes) -> None:
    """Draw two clusters without normalisation, which do not know beta, and the least ratios with it."""
    m = np.linspace(1e-4, 0.9999, 1500)
    for n in (4, 10, 100):
        first.plot(m, (1.0 + m) * n / (2.0 * ((n - 1) * m + 1.0)), color=style.VERMILION, linewidth=0.5, zorder=1)
    for (n, beta), dash in zip(_SHOWN, _DASHES, strict=True):
        simplex = Equiangular(n, beta).rate(1.0 - m)
        least = slowest_rate(1.0 - m, tokens=n, beta=beta) / simplex
        words = rf"$n = {n}$, $\beta = {beta:g}$"
        second.plot(m * np.exp(beta * (1.0 - m)), least, color=style.BLUE, linewidth=0.7, linestyle=dash, label=words)
    second.legend(loc="lower left", title="the least", title_fontsize=style.SMALL)


def _paths(axes: Axes, table: Table) -> None:
    n, gap, beta = WITNESS
    times = np.linspace(0.0, 26.0, 400)
    axes.plot(times, Equiangular(n, beta).gap(times, gap), color=style.BLACK, linewidth=0.7)
    axes.plot(times, Equiangular(2, beta).gap(times, gap), color=style.VERMILION, linewidth=0.7)
    axes.plot(
        times, gap * np.exp(-2.0 * np.exp(-beta) * times / n), color=style.GREY, linestyle=(0, (1, 1)),
        label=r"$(1-m_0)\,e^{-2e^{-\beta}t/n}$",
    )  # fmt: skip
    speed = (2.0 - gap) / (1.0 + np.exp(beta * gap))
    axes.plot(times, gap * np.exp(-2.0 * speed * times), color=style.BLUE, linestyle=(0, (4, 2)), label="without $n$")
    for part, words, mark, hue in (
        ("path clusters", "two clusters", "o", style.VERMILION), ("path simplex", "simplex", "s", style.BLACK),
    ):  # fmt: skip
        found = table.where(part=part, rule="SA", n=n, beta=beta)
        style.marks(axes, found["t"], found.middles("value"), mark, color=hue, size=3.4, label=words)
    axes.set(yscale="log", xlabel="time $t$", ylabel="largest gap $1 - m(t)$", ylim=(1e-6, 2.0), xlim=(-0.5, 26.0))
    axes.legend(loc="lower right")
