r"""The first clusters out of tokens spread evenly over a circle: which number of them, and how fast.

Growth rates of the modes of SA, measured on tokens and as Bessel functions; the modes at :math:`\beta = 5` along the
nonlinear flow against exponentials of these rates; and the fastest mode against :math:`\beta`, a staircase about
:math:`\sqrt{2\beta}` with steps where :math:`2\beta` is the mean of two neighbouring squares.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.particles import studies

TITLE = "the first clusters on the circle are about as many as the root of 2 beta, the fastest mode"
STUDY = studies.onset
CLAIMS = ("onset.flow", "onset.tokens", "onset.winner")

_HUES = {1.0: style.BLUE, 5.0: style.VERMILION, 20.0: style.GREEN}
_MARKS = {1.0: "o", 5.0: "s", 20.0: "^"}
_OF_DEGREE = (style.BLUE, style.ORANGE, style.VERMILION, style.GREEN, style.PURPLE)
_EVERY = np.linspace(0.25, 8.4, 200)


def draw(table: Table) -> Figure:
    """Draw rates against degree, modes against time, and the winner against the inverse temperature."""
    figure = style.canvas(style.DOUBLE, 2.6)
    axes = figure.subplot_mosaic([["a", "b", "c"]])
    rates = table.where(part="rate", normalised=1)
    size = int(rates["tokens"].max())
    exponent = int(np.log10(size))
    words = rf"10^{exponent}" if size == 10**exponent else str(size)
    style.panel(axes["a"], "a", f"one mode wins, ${words}$ tokens")
    style.panel(axes["b"], "b", r"until modes saturate, $\beta = 5$")
    style.panel(axes["c"], "c", r"the fastest is near $\sqrt{2\beta}$")
    _rates(axes["a"], rates)
    _modes(axes["b"], table.where(part="mode"))
    _winners(axes["c"], rates)
    return figure


def _rate(beta: ArrayLike, degree: ArrayLike) -> NDArray[np.float64]:
    """Return the rates of SA, also between the integers."""
    b = np.asarray(beta, dtype=np.float64)
    ell = np.asarray(degree, dtype=np.float64)
    return np.asarray(ell**2 * special.ive(ell, b) / (b * special.ive(0, b)))


def _rates(axes: Axes, part: Table) -> None:
    for beta, hue in _HUES.items():
        rows = part.where(beta=beta)
        axes.plot(_EVERY, _rate(beta, _EVERY), color=hue, linewidth=0.7, alpha=0.8)
        style.marks(
            axes, rows["degree"], rows.middles("value"), _MARKS[beta], color=hue, size=3.6, label=rf"$\beta = {beta:g}$"
        )
        best = int(rows["degree"][np.argmax(rows.middles("value"))])
        axes.plot(
            best, _rate(beta, best), "o", markersize=8.0, markerfacecolor="none", markeredgecolor=hue,
            markeredgewidth=0.7,
        )  # fmt: skip
    style.marks(axes, [], [], "o", color=style.GREY, size=6.0, hollow=True, label="winner")
    axes.set(
        xlabel=r"mode $\ell$", ylabel=r"rate $\ell^2I_\ell(\beta)/(\beta I_0(\beta))$", xlim=(0, 8.6), ylim=(0, 0.92)
    )
    axes.set_xticks(range(1, 9))
    axes.legend(loc="upper right", ncols=2, columnspacing=0.9)


def _modes(axes: Axes, part: Table) -> None:
    for degree, hue in enumerate(_OF_DEGREE, start=1):
        rows = part.where(degree=degree)
        beta = float(rows["beta"][0])
        start = float(rows["epsilon"][0])
        times = rows["time"]
        growing = start * np.exp(float(_rate(beta, degree)) * times)
        axes.plot(times, growing, color=hue, linewidth=0.6, linestyle=(0, (4, 2)))
        axes.plot(times, rows.middles("value"), color=hue, label=str(degree))
    axes.plot([], [], color=style.GREY, linewidth=0.6, linestyle=(0, (4, 2)), label=r"$\propto e^{\lambda_\ell t}$")
    axes.set(yscale="log", ylim=(7e-4, 30.0), xlim=(0, 18), xlabel="time $t$", ylabel=r"size of the mode $2|z_\ell|$")
    axes.legend(loc="upper left", title=r"mode $\ell$", title_fontsize=style.SMALL, ncols=2, columnspacing=0.9)


def _winners(axes: Axes, part: Table) -> None:
    """Draw the staircase of the fastest mode, whose steps are ties of two rates."""
    betas = np.geomspace(0.3, 60.0, 1500)
    degrees = np.arange(1, 16)
    best = degrees[np.argmax(_rate(betas[:, np.newaxis], degrees[np.newaxis, :]), axis=1)]
    axes.plot(betas, best, color=style.SKY, linewidth=1.4, label="fastest rate")
    axes.plot(betas, np.sqrt(2.0 * betas), color=style.BLACK, linewidth=0.8, label=r"$\sqrt{2\beta}$")
    axes.plot(betas, betas, color=style.GREY, linewidth=0.7, linestyle=(0, (4, 2)), label=r"$\beta$: refuted")
    ties = [0.25 * (k**2 + (k + 1) ** 2) for k in range(1, 11)]
    axes.plot(
        ties,
        np.arange(1, 11) + 0.5,
        "|",
        color=style.GREY,
        markersize=5.0,
        label=r"$2\beta = \ell^2 + \ell + \frac{1}{2}$",
    )
    for beta, hue in _HUES.items():
        rows = part.where(beta=beta)
        seen = int(rows["degree"][np.argmax(rows.middles("value"))])
        style.marks(axes, beta, seen, _MARKS[beta], color=hue, size=5.0, zorder=4)
    axes.set(
        xscale="log",
        xlim=(0.3, 60.0),
        ylim=(0.0, 12.0),
        xlabel=r"inverse temperature $\beta$",
        ylabel=r"mode $\ell_{\max}$",
    )
    axes.legend(loc="upper left")
