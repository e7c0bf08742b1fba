r"""Eigenvalues at consensus and at the twisted states of a ring of ten, each enclosed to less than the width of a line.

At consensus they are :math:`-1` under SA at every temperature, :math:`-e^\beta` under USA and :math:`-(k - 1)/k` under
causal attention. A twisted state is stable on the circle while no eigenvalue is above zero; on the sphere one always
is.
"""

from __future__ import annotations

import numpy as np
from matplotlib.ticker import MultipleLocator

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.particles import studies

TITLE = "the spectrum at consensus is known exactly, and twisted rings are stable at most on the circle"
STUDY = studies.eigenvalues
CLAIMS = ("consensus.spectrum", "consensus.causal-spectrum", "consensus.twisted")

_STATES = ((1, 0.0), (2, 0.0), (3, 0.0), (1, 1.0), (1, 4.0))

_WAYS = (
    ("USA", "unnormalised", "s", style.VERMILION, 4.0),
    ("SA", "self-attention", "o", style.BLUE, 4.0),
)


def draw(table: Table) -> Figure:
    """Draw rates over temperature, the causal rates over the token, and the spectra of twisted states."""
    figure, (first, second, third) = style.row(
        2.6,
        "one rate at consensus",
        "causal: a rate per token",
        "rings of ten, unstable off the circle",
        widths=(1.0, 1.0, 1.5),
    )
    _rates(first, table)
    _causal(second, table.where(way="causal"))
    _ring(third, table.where(way="ring", n=10))
    return figure


def _rates(axes: Axes, table: Table) -> None:
    beta = np.linspace(0.0, 6.0, 61)
    axes.plot(beta, np.exp(beta), color=style.GREY, linewidth=0.7, zorder=1)
    axes.plot(beta, np.ones(beta.size), color=style.GREY, linewidth=0.7, zorder=1)
    for way, words, mark, hue, size in _WAYS:
        part = table.where(way=way)
        decaying = part["value.hi"] < -0.5
        axes.plot(
            part["beta"][decaying], -part.middles("value")[decaying], mark, color=hue, markersize=size, label=words
        )
    axes.set(yscale="log", xlabel=r"$\beta$", ylabel="minus the 8 eigenvalues below 0", ylim=(0.4, 1200.0))
    axes.text(3.0, 60.0, r"$e^\beta$", size=style.TEXT, color=style.GREY, ha="right")
    axes.legend(loc="upper left")


def _causal(axes: Axes, table: Table) -> None:
    k = np.linspace(1.0, 6.0, 101)
    axes.plot(k, -(k - 1.0) / k, color=style.GREY, linewidth=0.7, zorder=1)
    values = table.middles("value")[::-1]
    tokens = np.repeat(np.arange(1, 7), 2) + np.tile([-0.09, 0.09], 6)
    axes.plot(tokens, values, "o", color=style.BLUE, markersize=3.4)
    axes.text(3.1, -0.5, r"$-(k - 1)/k$", size=style.TEXT, color=style.GREY)
    axes.xaxis.set_major_locator(MultipleLocator(1))
    axes.set(xlabel="$k$, each twice", ylabel="eigenvalue")


def _ring(axes: Axes, table: Table) -> None:
    style.guide(axes, y=0.0)
    for place, (winding, beta) in enumerate(_STATES):
        for d, shift, hue in ((2, -0.18, style.BLUE), (3, 0.18, style.ORANGE)):
            values = table.where(winding=winding, beta=beta, d=d).middles("value")
            up = values > 1e-9
            sides = np.array([place + shift - 0.14, place + shift + 0.14])
            for level, above in zip(values.tolist(), up.tolist(), strict=True):
                axes.plot(sides, [level, level], color=hue, linewidth=1.8 if above else 0.8, solid_capstyle="butt")
    axes.set_yscale("symlog", linthresh=1.0)
    axes.set(xlim=(-0.5, len(_STATES) - 0.5), ylim=(-150.0, 400.0), ylabel="eigenvalues")
    axes.set_xticks(range(len(_STATES)), [f"$q = {q}$\n$\\beta = {b:g}$" for q, b in _STATES])
    handles = [
        axes.plot([], [], color=hue, linewidth=1.8, label=f"on the {name}")[0]
        for name, hue in (("circle", style.BLUE), ("sphere", style.ORANGE))
    ]
    axes.legend(handles=handles, loc="upper left")
    style.note(axes, "thick: unstable", (0.03, 0.04), inside=True)
