r"""Stacks of attention layers against the drift-diffusion that they discretise, on the circle and on the sphere.

Lines are :math:`e^{tL}h` by a dense exponential of the generator; marks are stacks of layers at the places of the
table. On the right the largest error at :math:`t = \frac12` over the bandwidth, plain and after one and two
extrapolations, and the distance to the equation whose drift is half as strong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.polynomial import legendre

from theory.diffusion import PeriodicGrid, drift_diffusion, semigroup, studies
from theory.diffusion.settings import WAVY_DENSITY, wavy_function
from theory.diffusion.stack_settings import HEIGHT_SLOPE, STACK_TIMES, height_function
from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure

TITLE = (
    "stacked attention layers run a drift-diffusion, on the circle and on the sphere, to first order in the bandwidth"
)
STUDY = studies.stacking
CLAIMS = ("layers.stack", "layers.sphere", "layers.tokens")

_HUES = (style.SKY, style.BLUE, style.GREEN, style.VERMILION)
_NODES = 96
_SHOWN = {"circle": 1.0 / 64.0, "sphere": 1.0 / 64.0}
_AT = 0.5
_WAYS = {  # words, colour, mark, and how many errors are judged after each extrapolation
    "heat": ("circle, heat kernel", style.BLUE, "o", (7, 6, 4)),
    "chordal": ("circle, chordal", style.GREEN, "^", (7, 6, 4)),
    "sphere": ("sphere", style.VERMILION, "s", (7, 6)),
}
_MARK: dict[str, Any] = {"linestyle": "none", "markersize": 3.2, "markeredgewidth": 0.7}


def draw(table: Table) -> Figure:
    """Draw both evolutions and the errors."""
    figure = style.canvas(style.DOUBLE, 2.6)
    axes = figure.subplot_mosaic([["a", "b", "c"]])
    style.panel(axes["a"], "a", "circle, quantile tokens")
    style.panel(axes["b"], "b", "sphere, functions of the height")
    style.panel(axes["c"], "c", r"largest errors, orders 1 to 3")
    x = np.linspace(0.0, 2.0 * np.pi, 241)
    times, hues = (0.0, *STACK_TIMES), (style.GREY, *_HUES)
    for t, hue, values in zip(times, hues, _on_circle(x, times), strict=True):
        axes["a"].plot(x, values, color=hue, linewidth=0.8, label=f"$t = {t:g}$")
        _dots(axes["a"], table.where(way="tokens", t=t, epsilon=_SHOWN["circle"]), hue)
    z = np.linspace(-1.0, 1.0, 161)
    for t, hue, values in zip(times, hues, _on_sphere(z, times), strict=True):
        axes["b"].plot(z, values, color=hue, linewidth=0.8, label=f"$t = {t:g}$")
        _dots(axes["b"], table.where(way="sphere", t=t, epsilon=_SHOWN["sphere"]), hue)
    style.turn_axis(axes["a"], "angle $x$")
    axes["a"].set_ylabel(r"$P_\varepsilon^{2t/\varepsilon}h$")
    axes["b"].set(xlabel="height $z$", ylabel=r"$P_\varepsilon^{2t/\varepsilon}h$", xlim=(-1.0, 1.0))
    for letter, at, side in (("a", (0.03, 0.03), "left"), ("b", (0.97, 0.03), "right")):
        shown = rf"marks: $\varepsilon = 1/{round(1.0 / _SHOWN['circle' if letter == 'a' else 'sphere'])}$"
        axes[letter].text(*at, shown, transform=axes[letter].transAxes, ha=side, va="bottom", size=style.SMALL)
    _errors(axes["c"], table)
    handles, words = axes["a"].get_legend_handles_labels()
    figure.legend(handles, words, loc="outside upper center", ncols=len(words))
    return figure


def _dots(axes: Axes, part: Table, hue: str) -> None:
    axes.plot(part["place"], part.middles("value"), "o", color=hue, markerfacecolor="none", **_MARK)


def _generator(kappa: float) -> tuple[PeriodicGrid, Array]:
    grid = PeriodicGrid((_NODES,))
    p = WAVY_DENSITY(grid.axes[0])
    return grid, grid.matrix(lambda values: drift_diffusion(grid, p, values, kappa=kappa))


def _on_circle(x: Array, times: tuple[float, ...], kappa: float = 1.0) -> list[Array]:
    """Return the solution at angles and times."""
    grid, matrix = _generator(kappa)
    k = grid.frequencies[0]
    waves = np.exp(1j * np.multiply.outer(x, k)) / grid.size
    start = wavy_function(grid.axes[0])
    return [(waves @ np.fft.fft(semigroup(matrix, t, start))).real for t in times]


def _on_sphere(z: Array, times: tuple[float, ...], kappa: float = 1.0) -> list[Array]:
    """Return the solution at heights and times, by polynomials through Gauss-Legendre nodes."""
    nodes = legendre.leggauss(32)[0]
    basis = legendre.legvander(nodes, nodes.size - 1)
    first, second = (
        np.stack([legendre.legval(nodes, legendre.legder(row, order)) for row in np.eye(nodes.size)], axis=1)
        for order in (1, 2)
    )
    around = (1.0 - nodes**2)[:, np.newaxis]
    drift = 2.0 * kappa * (HEIGHT_SLOPE / (1.0 + HEIGHT_SLOPE * nodes))[:, np.newaxis]
    matrix = np.linalg.solve(
        basis.T, (around * second - 2.0 * nodes[:, np.newaxis] * first + drift * around * first).T
    ).T
    start = height_function(nodes)
    return [
        np.asarray(legendre.legval(z, np.linalg.solve(basis, semigroup(matrix, t, start)))) for t in times
    ]  # fmt: skip


def _errors(axes: Axes, table: Table) -> None:
    """Draw the largest errors, plain and extrapolated, as far as they are judged."""
    for way, (words, hue, mark, judged) in _WAYS.items():
        part = table.where(way=way, t=_AT)
        epsilons = np.array(part.levels("epsilon")[::-1])
        places = np.unique(part["place"])
        solve = _on_sphere if way == "sphere" else _on_circle
        truth, other = (solve(places, (_AT,), kappa)[0] for kappa in (1.0, 0.5))
        levels = np.stack([part.where(epsilon=e).middles("value") for e in epsilons])
        for order, count in enumerate(judged, start=1):
            error = np.abs(levels - truth).max(axis=1)[:count]
            axes.plot(
                epsilons[order - 1 :][:count], error, mark, color=hue, label=words if order == 1 else None,
                **(_MARK | {"linestyle": "solid", "linewidth": 0.6, "markerfacecolor": hue if order == 1 else "none"}),
            )  # fmt: skip
            levels = (2**order * levels[1:] - levels[:-1]) / (2**order - 1)
        if way == "heat":
            level = np.abs(truth - other).max()
            style.guide(axes, y=level, line="dashed")
            other_drift = r"drift $\nabla\log p$ instead of $2\nabla\log p$"
            style.note(axes, other_drift, (0.0018, 1.2 * level), color=style.GREY, va="bottom")
    for words, x, y in ((r"$\varepsilon$", 0.0045, 3.2e-3), (r"$\varepsilon^2$", 0.0045, 4e-5)):
        axes.text(x, y, words, color=style.GREY, va="center", ha="right")
    axes.text(0.009, 1.6e-7, r"$\varepsilon^3$", color=style.GREY, va="center", ha="left")
    axes.set(xscale="log", yscale="log", xlabel=r"bandwidth $\varepsilon$", ylabel="error")
    axes.set(xlim=(0.0016, 0.16), ylim=(1e-10, 1.0))
    axes.legend(loc="lower right", handlelength=1.0)
