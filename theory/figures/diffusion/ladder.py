r"""How fast one layer of attention approaches its drift-diffusion as the bandwidth falls, plain and extrapolated.

Extrapolation from bandwidths half as large each removes one order after the other. With the drift of a heat equation
in the metric alone, or with half the drift, nothing converges.
"""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from numpy.typing import NDArray

from theory.diffusion import PeriodicGrid, drift_diffusion, studies
from theory.diffusion.limits import extrapolate, largest_errors
from theory.diffusion.settings import WAVY_DENSITY, wavy_function
from theory.evidence import Table, order
from theory.figures import _style as style

TITLE = "one layer of attention against its drift-diffusion: orders one, two and three"
STUDY = studies.ladder
CLAIMS = ("limit.order", "limit.second-order")

Array = NDArray[np.float64]
_NODES = 256
_STEPS = (("plain", style.BLUE, "o"), ("extrapolated", style.GREEN, "s"), ("twice", style.PURPLE, "D"))


def draw(table: Table) -> Figure:
    """Draw the errors for both kernels, and the function with its limit."""
    figure = style.canvas(style.DOUBLE, 2.6)
    axes = figure.subplot_mosaic([["a", "b", "c"]], width_ratios=[1.0, 1.12, 1.12])
    _limit(axes["a"], table)
    for letter, kernel, title in (
        ("b", "heat", "heat kernel"),
        ("c", "chordal", r"softmax of $\cos(x - y)/\varepsilon$"),
    ):
        style.panel(axes[letter], letter, title)
        _errors(axes[letter], table.where(kernel=kernel))
    low = min(axes[letter].get_ylim()[0] for letter in "bc")
    for letter in "bc":
        axes[letter].set_ylim(low, 3.0)
    axes["b"].set_ylabel("largest error, with fitted order")
    return figure


def _operator(x: Array, kappa: float) -> Array:
    """Return half the drift-diffusion of the function at nodes ``x``."""
    grid = PeriodicGrid((_NODES,))
    nodes = grid.axes[0]
    values = 0.5 * drift_diffusion(grid, WAVY_DENSITY(nodes), wavy_function(nodes), kappa=kappa)
    chosen: Array = values[np.rint(x / (2.0 * math.pi) * _NODES).astype(int) % _NODES]
    return chosen


def _limit(axes: Axes, table: Table) -> None:
    style.panel(axes, "a", "what a layer changes")
    x = 2.0 * math.pi * np.arange(_NODES + 1) / _NODES
    axes.plot(x, 2.0 * math.pi * WAVY_DENSITY(x) - 6.2, color=style.GREEN, linewidth=0.8)
    axes.fill_between(x, -6.2, 2.0 * math.pi * WAVY_DENSITY(x) - 6.2, color=style.GREEN, alpha=0.15, linewidth=0)
    axes.text(2.2, -4.9, r"density $p$", color=style.GREEN, size=style.SMALL)
    axes.plot(x, _operator(x, 1.0), color=style.BLACK, label=r"$\frac{1}{2}(h'' + 2(\log p)'h')$")
    axes.plot(x, _operator(x, 0.0), color=style.GREY, linestyle="dotted", label=r"$\frac{1}{2}h''$")
    part = table.where(kernel="chordal", epsilon=float(table["epsilon"].min()))
    label = r"$(P_\varepsilon h - h)/\varepsilon$"
    axes.plot(
        part["x"], part.middles("change"), "o", color=style.VERMILION, markersize=3.6, markeredgewidth=0, label=label
    )
    axes.set(xlim=(0.0, 2.0 * math.pi), xticks=[0.0, math.pi, 2.0 * math.pi], xticklabels=["0", r"$\pi$", r"$2\pi$"])
    axes.set(xlabel="angle $x$ (rad)", ylim=(-6.2, 4.3), yticks=[-2.0, 0.0, 2.0])
    axes.legend(loc="upper center", ncols=1)


def _errors(axes: Axes, table: Table) -> None:
    epsilons = np.array(sorted(set(table["epsilon"].tolist()), reverse=True))
    levels = [table.where(epsilon=e).intervals("change") for e in epsilons.tolist()]
    x = table.where(epsilon=float(epsilons[0]))["x"]
    for kappa, style_, label, place in ((0.5, "dashed", "half the drift", 5), (0.0, "dotted", "no drift", 3)):
        wrong = [e.mid for e in largest_errors(levels, _operator(x, kappa).tolist())]
        axes.loglog(epsilons, wrong, color=style.VERMILION, linestyle=style_)
        axes.annotate(
            label, (epsilons[place], wrong[place]), (0, 1.5 if kappa == 0.0 else -2.0), textcoords="offset points",
            size=style.SMALL, color=style.VERMILION, ha="center", va="bottom" if kappa == 0.0 else "top",
        )  # fmt: skip
    truth = _operator(x, 1.0).tolist()
    for step, (name, hue, marker) in enumerate(_STEPS):
        errors = largest_errors(levels, truth)
        slope = order(errors[-4:])
        finest, middles = epsilons[step:], [e.mid for e in errors]
        axes.loglog(finest, middles, marker=marker, markersize=3.2, markeredgewidth=0, color=hue)
        axes.annotate(
            f"{name}: {slope.mid:.2f}", (finest[1], middles[1]), (5, -3), textcoords="offset points",
            size=style.SMALL, color=hue, ha="left", va="top",
        )  # fmt: skip
        levels = extrapolate(levels, order=step + 1)
    axes.set(xlabel=r"finest bandwidth $\varepsilon$")
    axes.xaxis.set_minor_formatter(NullFormatter())
