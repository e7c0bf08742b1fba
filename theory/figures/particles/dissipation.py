r"""Attention on the sphere climbs an energy: runs of SA and USA, the identity of the climb, and what else would climb.

The energy :math:`\frac1{2\beta}\sum_{ij} m_i m_j e^{\beta\langle x_i, x_j\rangle}` stands still near clusters and jumps
as two of them meet. What it has gained is the integral of the squared velocities, weighted by the masses and, for SA,
by the row sums :math:`Z_i`; without them the integral falls short. Under a value matrix of its own, or a causal mask,
the energy may fall.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.particles import studies

TITLE = "attention on the sphere climbs its energy as fast as the velocities say, and other attention need not"
STUDY = studies.dissipation
CLAIMS = ("energy.climb",)

_RUNS: tuple[tuple[str, str, str, Any], ...] = (
    ("SA", "self-attention", style.BLUE, "o"),
    ("USA", "unnormalised", style.GREEN, "s"),
    ("form", "$V = B$ indefinite", style.BLACK, "D"),
)
_OTHERS = (("turned", r"$V$ a rotation", style.VERMILION, "^"), ("causal", "causal mask", style.ORANGE, "v"))
_HIGHEST = 1.3
_DOT: dict[str, Any] = {"linestyle": "none", "markeredgewidth": 0}


def draw(table: Table) -> Figure:
    """Draw energies over time, their gain against the integrals, and two runs that have no such energy."""
    figure, (first, second, third) = style.row(
        2.75, "the energy climbs", "by as much as the velocities say", "and need not for others"
    )
    for run, words, hue, mark in _RUNS:
        time, energy = _path(table, run)
        first.plot(time, energy, mark, color=hue, markersize=2.8, linestyle="solid", linewidth=0.7, label=words)
    for axes in (first, third):
        axes.set(xscale="log", xlabel="time $t$")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    first.set(ylabel=r"energy $\mathcal{E}(t)$", ylim=(0.35, 2.75))
    first.legend(loc="upper left")
    _identity(second, table)
    _others(third, table)
    return figure


def _path(table: Table, run: str) -> tuple[np.ndarray, np.ndarray]:
    """Return times after the start and energies of a run."""
    part = table.where(run=run)
    return part["time"][1:], part.middles("energy")[1:]


def _identity(axes: Axes, table: Table) -> None:
    """Draw gains over integrals: on the diagonal with the row sums, off it without."""
    for run, words, hue, mark in _RUNS:
        part = table.where(run=run)
        gain = (part.middles("energy") - part.middles("energy")[0])[1:]
        axes.plot(part.middles("climbed")[1:], gain, mark, color=hue, markersize=2.8, label=words, **_DOT)
        if run != "USA":
            flat = part.middles("unweighted")[1:]
            axes.plot(flat, gain, mark, markersize=2.8, markeredgecolor=hue, markerfacecolor="none", linestyle="none",
                      markeredgewidth=0.5)  # fmt: skip
    axes.axline((0.01, 0.01), (1.0, 1.0), color=style.GREY, linewidth=0.6, zorder=0)
    axes.set(
        xscale="log", yscale="log", xlim=(3e-4, 3.0), ylim=(3e-3, 3.0),
        xlabel=r"$\int_0^t\sum_i m_i Z_i\,|\dot x_i|^2\,ds$ (unnormalised: no $Z_i$)",
        ylabel=r"$\mathcal{E}(t) - \mathcal{E}(0)$",
    )  # fmt: skip
    style.note(axes, "open: $Z_i$ left out", (0.04, 0.96), inside=True, va="top")


def _others(axes: Axes, table: Table) -> None:
    """Draw the gain of the runs without the theorem's hypotheses against time."""
    for run, words, hue, mark in _OTHERS:
        part = table.where(run=run)
        gain = (part.middles("energy") - part.middles("energy")[0])[1:]
        axes.plot(
            part["time"][1:], gain, mark, color=hue, markersize=2.8, linestyle="solid", linewidth=0.7, label=words
        )
        claimed = part.middles("climbed")[1:]
        shown = claimed < _HIGHEST  # beyond, it would run through the legend
        axes.plot(part["time"][1:][shown], claimed[shown], color=hue, linestyle=(0, (3, 1.5)), linewidth=0.7)
    axes.plot([], [], color=style.GREY, linestyle=(0, (3, 1.5)), linewidth=0.7, label="what the velocities say")
    style.guide(axes, y=0.0)
    axes.set(ylabel=r"$\mathcal{E}(t) - \mathcal{E}(0)$", ylim=(-0.15, 1.9))
    axes.legend(loc="upper left")
