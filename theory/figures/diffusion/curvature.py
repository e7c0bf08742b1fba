r"""Attention that recomputes its weights is mean curvature flow: an ellipse shortens, and spheres collapse.

Marks are layers of self-attention. The ellipse is drawn at six times, with the coarsest and the finest bandwidth; its
area falls along the line :math:`A_0 - 2\pi\tau`. Radii of spheres over :math:`d\tau` follow
:math:`\sqrt{R_0^2 - 2d\tau}`; with the weights of the first layer kept they would follow
:math:`R_0e^{-d\tau/R_0^2}`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from theory.diffusion import studies
from theory.diffusion.stack_settings import HALF_AXES, SHORTENING_TIMES, SPHERE_DIMENSIONS
from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure

TITLE = "self-attention with recomputed weights follows mean curvature: an ellipse shortens and spheres collapse"
STUDY = studies.self_dynamics
CLAIMS = ("layers.curve-shortening", "layers.radius")

_HUES = (style.BLACK, style.BLUE, style.SKY, style.GREEN, style.ORANGE, style.VERMILION)
_SPHERES = {1: ("o", style.BLUE), 2: ("s", style.VERMILION), 3: ("^", style.GREEN)}
_GUIDE: dict[str, Any] = {"color": style.GREY, "linewidth": 0.7, "zorder": 0}


def draw(table: Table) -> Figure:
    """Draw the curve, its area, and radii with their errors."""
    figure = style.canvas(style.DOUBLE, 4.3)
    axes = figure.subplot_mosaic([["a", "b"], ["c", "d"]])
    style.panel(axes["a"], "a", r"an ellipse at $\tau = 0, 0.1, \dots, 0.5$")
    style.panel(axes["b"], "b", "its area falls on a line")
    style.panel(axes["c"], "c", "spheres collapse")
    style.panel(axes["d"], "d", r"error of the radius at $d\tau = 0.3$")
    _ellipse(axes["a"], table)
    _area(axes["b"], table.where(part="area"))
    _radii(axes["c"], table)
    _errors(axes["d"], table)
    return figure


def _ellipse(axes: Axes, table: Table) -> None:
    epsilons = table.where(part="area").levels("epsilon")
    for t, hue in zip((0.0, *SHORTENING_TIMES), _HUES, strict=True):
        for epsilon, line in ((epsilons[0], "solid"), (epsilons[-1], (0, (2, 1.2)))):
            x, y = (
                table.where(part=name, epsilon=epsilon, layer=round(2.0 * t / epsilon)).middles("value")
                for name in ("x", "y")
            )
            axes.plot(np.append(x, x[0]), np.append(y, y[0]), color=hue, linestyle=line, linewidth=0.9)
    for epsilon, line in ((epsilons[0], "solid"), (epsilons[-1], (0, (2, 1.2)))):
        axes.plot([], [], color=style.GREY, linestyle=line, label=rf"$\varepsilon = {epsilon:g}$")
    axes.set(aspect="equal", xlabel="$H_1$", ylabel="$H_2$", xlim=(-1.62, 1.62), ylim=(-0.85, 1.25))
    axes.legend(loc="upper right", ncols=2)


def _area(axes: Axes, part: Table) -> None:
    start = math.pi * HALF_AXES[0] * HALF_AXES[1]
    end = start / (2.0 * math.pi)
    axes.plot([0.0, end], [start, 0.0], color=style.BLACK, linewidth=0.8, label=r"$A_0 - 2\pi\tau$")
    epsilons = part.levels("epsilon")[::-1]
    for epsilon, mark, hue in zip(epsilons, "os^Dv", _HUES[4:0:-1] + _HUES[5:], strict=False):
        rows = part.where(epsilon=epsilon)
        tau = rows["layer"] * epsilon / 2.0
        size = 6.6 - 1.4 * math.log2(0.04 / epsilon)
        axes.plot(tau, rows.middles("value"), mark, color=hue, markerfacecolor="none", markersize=size,
                  markeredgewidth=0.8, label=rf"$\varepsilon = {epsilon:g}$")  # fmt: skip
    axes.set(xlabel=r"time $\tau = k\varepsilon/2$", ylabel="area $A$", xlim=(-0.02, 0.6), ylim=(-0.1, 3.8))
    axes.legend(loc="lower left")


def _radii(axes: Axes, table: Table) -> None:
    time = np.linspace(0.0, 0.5, 400)
    axes.plot(time, np.sqrt(1.0 - 2.0 * time), color=style.BLACK, linewidth=0.8, label=r"$\sqrt{R_0^2 - 2d\tau}$")
    later = np.linspace(0.0, 0.62, 100)
    axes.plot(
        later, np.exp(-later), color=style.GREY, linewidth=0.8, linestyle=(0, (4, 2)), label=r"$R_0e^{-d\tau/R_0^2}$"
    )
    for dim, (mark, hue) in _SPHERES.items():
        part = table.where(part="recomputed", dim=dim)
        epsilon = next(e for e in set(part["epsilon"].tolist()) if len(part.where(epsilon=e)) > 3)
        rows = part.where(epsilon=epsilon)
        chosen = np.arange(len(rows)) % 3 == (dim - 1) % 3
        style.marks(
            axes,
            dim * rows["layer"][chosen] * epsilon / 2.0,
            rows.middles("value")[chosen],
            mark,
            color=hue,
            hollow=True,
            label=rf"$d = {dim}$, $\varepsilon = {epsilon:.3g}$",
        )
        kept = table.where(part="kept", dim=dim, epsilon=epsilon)
        times, radii = (
            values[4 * dim :: 13] for values in (kept["layer"] * dim * epsilon / 2.0, kept.middles("value"))
        )
        style.marks(axes, times, radii, mark, color=style.GREY, hollow=True)
    axes.set(xlabel=r"time $d\,\tau$", ylabel="radius $R$", xlim=(-0.01, 0.6), ylim=(0.0, 1.05))
    axes.legend(loc="lower left")


def _errors(axes: Axes, table: Table) -> None:
    aim = math.sqrt(0.4)
    for dim in SPHERE_DIMENSIONS:
        mark, hue = _SPHERES[dim]
        rows = table.where(part="recomputed", dim=dim)
        epsilons = np.array(rows.levels("epsilon"))
        found = [rows.where(epsilon=e, layer=round(0.6 / (dim * e))).middles("value")[0] for e in epsilons]
        style.marks(
            axes, epsilons, np.abs(np.array(found) - aim), mark, color=hue, size=3.4, hollow=True, label=f"$d = {dim}$"
        )
        fine = np.geomspace(epsilons[0] / 1.3, epsilons[-1] * 1.3, 20)
        if dim > 1:
            axes.plot(fine, fine * (dim - 1) / (2.0 * aim) * math.log(1.0 / aim), **(_GUIDE | {"color": hue}))
        else:
            axes.plot(
                fine,
                abs(found[0] - aim) * (fine / epsilons[0]) ** 2,
                **(_GUIDE | {"color": hue, "linestyle": (0, (1, 1.5))}),
            )
    axes.set(xscale="log", yscale="log", xlabel=r"bandwidth $\varepsilon$", ylabel=r"$|R_k - \sqrt{R_0^2 - 2d\tau}|$")
    axes.plot([], [], **_GUIDE, label=r"$\varepsilon\frac{d-1}{2R}\ln\frac{R_0}{R}$")
    axes.plot([], [], **(_GUIDE | {"linestyle": (0, (1, 1.5))}), label=r"$\propto\varepsilon^2$")
    axes.set(xlim=(0.0015, 0.1), ylim=(3e-8, 0.05))
    axes.legend(loc="lower left")
