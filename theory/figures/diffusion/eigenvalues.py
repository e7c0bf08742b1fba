r"""Spectra: of layers of attention and of their limit, and the slowest rate between two wells of the density.

On the left :math:`2(1 - \mu_k)/\varepsilon` for falling bandwidths and, as lines, the eigenvalues of :math:`-L`. In
the middle what is left of their difference. On the right the slowest rate for :math:`p \propto e^{b\cos 2x}` over b, as
certified, with the asymptotic law and what the first power of the ratio of densities would give; its ratio to the law
below.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from theory.diffusion import PeriodicGrid, drift_diffusion, studies
from theory.diffusion.settings import WAVY_DENSITY
from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure

TITLE = "layers have the eigenvalues of the drift-diffusion; between two wells the slowest is exponentially small"
STUDY = studies.rates
CLAIMS = ("layers.spectrum", "layers.slowest")

_NODES = 96
_HUES = (style.BLUE, style.SKY, style.GREEN, style.ORANGE, style.VERMILION, style.PURPLE, style.BLACK)


def draw(table: Table) -> Figure:
    """Draw eigenvalues, their errors, and the slowest rate above its ratio to the law."""
    figure = style.canvas(style.DOUBLE, 2.9)
    axes = figure.subplot_mosaic([["a", "b", "c"], ["a", "b", "d"]], height_ratios=[1.7, 1.0])
    style.panel(axes["a"], "a", r"$\frac{2}{\varepsilon}(1-\mu_k)$ of layers, $\lambda_k$ of $-L$")
    style.panel(axes["b"], "b", "they differ at order one")
    style.panel(axes["c"], "c", r"slowest rate, $p \propto e^{b\cos 2x}$")
    _spectra(axes["a"], axes["b"], table.where(part="layer"))
    _slowest(axes["c"], axes["d"], table.where(part="wells"))
    return figure


def _limit() -> Array:
    """Return the eigenvalues of the generator, rising."""
    grid = PeriodicGrid((_NODES,))
    p = WAVY_DENSITY(grid.axes[0])
    matrix = grid.matrix(lambda values: drift_diffusion(grid, p, values))
    rates: Array = np.sort(-np.linalg.eigvals(matrix).real)
    return rates


def _spectra(first: Axes, second: Axes, part: Table) -> None:
    truth = _limit()
    epsilons = np.array(sorted(set(part["epsilon"].tolist()), reverse=True))
    for index in part.levels("index"):
        read = part.where(index=index).middles("value")
        hue = style.GREY if index == 0 else _HUES[index - 1]
        style.guide(first, y=truth[index], color=hue, line="dashed")
        look: dict[str, Any] = {"color": hue, "marker": "o", "markersize": 4.4 - 1.8 * (index % 2 == 0)}
        look |= {"markerfacecolor": "none" if index % 2 else hue, "markeredgewidth": 0.8 * (index % 2)}
        first.plot(epsilons, read, linestyle="none", **look)
        if index > 0:
            apart = np.abs(read - truth[index])
            second.plot(epsilons, apart, linewidth=0.6, label=f"$k = {index}$", **look)
    first.set(xscale="log", xlabel=r"bandwidth $\varepsilon$", ylabel="rate", ylim=(-0.8, 17.5), xlim=(0.003, 0.16))
    guide = np.array([0.0048, 0.045])
    style.power(second, guide, (1.0, 0.2), 1.0)
    second.text(0.017, 0.2 * 0.014, r"$\propto\varepsilon$", color=style.GREY, va="top", ha="left")
    second.set(xscale="log", yscale="log", xlabel=r"bandwidth $\varepsilon$", xlim=(0.003, 0.16), ylim=(4e-4, 90.0))
    second.set_ylabel(r"$|\frac{2}{\varepsilon}(1-\mu_k) - \lambda_k|$")
    second.legend(loc="upper left", ncols=3, columnspacing=0.8, handlelength=1.0)


def _slowest(above: Axes, below: Axes, part: Table) -> None:
    heights = part["height"].astype(float)
    rates = part.middles("value")
    few = heights <= 16
    b = np.linspace(0.7, 16.8, 200)
    law = np.log10(16.0 * b / math.pi) - 4.0 * b / math.log(10.0)
    single = -2.0 * b / math.log(10.0)
    above.plot(b, law, color=style.BLUE, label=r"$\frac{16b}{\pi}e^{-4b}$")
    above.plot(
        b,
        single + np.log10(16.0 * b / math.pi),
        color=style.VERMILION,
        linestyle=(0, (4, 2)),
        label=r"$\frac{16b}{\pi}e^{-2b}$",
    )
    style.marks(above, heights[few], np.log10(rates[few]), "o", color=style.BLACK)
    above.set(xlim=(0.0, 17.0), ylabel=r"$\log_{10}\lambda_1$", xlabel="$b$")
    above.legend(loc="lower left")
    ratio = np.exp(np.log(rates) + 4.0 * heights) * math.pi / (16.0 * heights)
    fine = np.geomspace(0.9, 150.0, 100)
    below.plot(fine, 1.0 - 0.125 / fine, color=style.GREY, linewidth=0.7, label="$1 - 1/8b$")
    style.marks(below, heights, ratio, "o", color=style.BLACK)
    below.set(xscale="log", xlim=(0.9, 150.0), ylim=(0.86, 1.01), xlabel="$b$", ylabel="ratio to law")
    style.ticks(below, x=[1, 2, 4, 8, 16, 32, 64, 128])
    below.legend(loc="lower right")
