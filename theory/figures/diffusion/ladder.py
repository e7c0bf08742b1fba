r"""How fast one layer of attention approaches its drift-diffusion as the bandwidth falls, plain and extrapolated.

Extrapolation from bandwidths half as large each removes one order after the other. With the drift of a heat equation
in the metric alone, or with half the drift, nothing converges.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from theory.diffusion import PeriodicGrid, drift_diffusion, studies
from theory.diffusion.limits import extrapolate, largest_errors
from theory.diffusion.settings import WAVY_DENSITY, wavy_function
from theory.evidence import Table, order
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure

TITLE = "one layer of attention is its drift-diffusion to order one, and extrapolated to orders two and three"
STUDY = studies.ladder
CLAIMS = ("limit.order", "limit.second-order")

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
    style.marks(axes, part["x"], part.middles("change"), "o", color=style.VERMILION, size=3.6, label=label)
    style.turn_axis(axes, "angle $x$ (rad)")
    axes.set(ylim=(-6.2, 4.3), yticks=[-2.0, 0.0, 2.0])
    axes.legend(loc="upper center", ncols=1)


def _errors(axes: Axes, table: Table) -> None:
    epsilons = np.array(table.levels("epsilon")[::-1])
    levels: Any = [table.where(epsilon=e).intervals("change") for e in epsilons.tolist()]
    x = table.where(epsilon=float(epsilons[0]))["x"]
    for kappa, line, label in ((0.5, "dashed", "half the drift"), (0.0, "dotted", "no drift")):
        wrong = largest_errors(levels, _operator(x, kappa).tolist())
        style.convergence(
            axes, epsilons, wrong, color=style.VERMILION, line=line, label=label, at=3, above=kappa == 0.0
        )
    truth = _operator(x, 1.0).tolist()
    for step, (name, hue, marker) in enumerate(_STEPS):
        errors = largest_errors(levels, truth)
        label = f"{name}: {order(errors[-4:]).mid:.2f}"
        style.convergence(axes, epsilons[step:], errors, color=hue, mark=marker, label=label, at=1)
        levels = extrapolate(levels, order=step + 1)
    axes.set(xlabel=r"finest bandwidth $\varepsilon$")
