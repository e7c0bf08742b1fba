r"""Stacks of layers with scores that are least elsewhere than on the diagonal, on the circle.

A score that is least a step ahead carries a function along its drift; one that turns averages the density over its
turns; tokens that attend by a rotation go around and drift, too. Lines are the function along the flow, the semigroups
of the averaged densities, and the slope of the density one turn ahead.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from theory.diffusion import PeriodicGrid, drift_diffusion, semigroup, studies
from theory.diffusion.settings import WAVY_DENSITY, wavy_function
from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure

TITLE = "layers whose score is least elsewhere carry functions, average densities and let tokens go around"
STUDY = studies.score_stack
CLAIMS = ("score.stack", "score.averaged", "score.orbit")

_HUES = (style.SKY, style.GREEN, style.VERMILION)
_NODES = 96
_AVERAGED: dict[int, Callable[[Array], Array]] = {2: lambda x: np.exp(0.3 * np.sin(2.0 * x)), 3: np.ones_like}
_TIME = 0.25
_ALONG = np.linspace(0.0, 2.0 * np.pi, 193)


def draw(table: Table) -> Figure:
    """Draw what is carried, its error, what is averaged, and the drift of the orbits."""
    figure = style.canvas(style.DOUBLE, 2.2)
    carried, errors, averaged, orbits = figure.subplots(1, 4)
    style.panel(carried, "a", "carried, $t = 1$")
    style.panel(errors, "b", "error: order one")
    style.panel(averaged, "c", "turning scores")
    style.panel(orbits, "d", r"drift over $\varepsilon$")
    _carried(carried, errors, table.where(part="carried"))
    _averaged(averaged, table.where(part="turned"))
    _orbits(orbits, table.where(part="orbit"))
    for axes in (carried, averaged, orbits):
        style.turn_axis(axes, "angle $x$")
    return figure


def _moved(x: Array, t: float) -> Array:
    """Return where the flow of 1 + sin(x) / 2 ends, by its linear fractional map of the circle."""
    values, vectors = np.linalg.eig(np.array([[0.5j, -0.25], [-0.25, -0.5j]]))
    move = (vectors * np.exp(t * values)) @ np.linalg.inv(vectors)
    z = np.exp(1j * x)
    places: Array = np.angle((move[0, 0] * z + move[0, 1]) / (move[1, 0] * z + move[1, 1]))
    return places


def _carried(axes: Axes, errors: Axes, part: Table) -> None:
    axes.plot(_ALONG, wavy_function(_ALONG), color=style.GREY, label="$h$")
    axes.plot(_ALONG, wavy_function(_moved(_ALONG, 1.0)), color=style.BLACK, label=r"$h\circ\phi_t$")
    late = part.where(case=1.0)
    epsilons = np.array(late.levels("epsilon"))
    for epsilon, hue in zip(epsilons[[-1, -3, 0]].tolist(), _HUES, strict=True):
        at = late.where(epsilon=epsilon)
        style.marks(axes, at["place"], at.middles("value"), "o", color=hue, label=f"{at['layers'][0]} layers")
    axes.legend(loc="lower left", handlelength=0.8)
    for t, mark, hue in zip(part.levels("case"), ("o", "s"), (style.BLUE, style.VERMILION), strict=True):
        off = []
        for epsilon in epsilons.tolist():
            at = part.where(case=t, epsilon=epsilon)
            off.append(float(np.abs(at.middles("value") - wavy_function(_moved(at["place"], t))).max()))
        style.convergence(errors, np.sqrt(epsilons), off, color=hue, mark=mark, label=f"$t = {t:g}$")
    style.power(errors, np.sqrt(epsilons), (float(np.sqrt(epsilons[-1])), 1.6 * off[-1]), 1.0)
    errors.set(xlabel=r"step $\delta$", ylim=(0.008, 1.2))
    errors.legend(loc="lower right", handlelength=1.0)


def _averaged(axes: Axes, part: Table) -> None:
    grid = PeriodicGrid((_NODES,))
    x = grid.axes[0]
    for (q, density), mark, hue in zip(_AVERAGED.items(), ("s", "o"), (style.BLUE, style.VERMILION), strict=True):
        matrix = grid.matrix(partial(drift_diffusion, grid, density(x)))
        axes.plot(x, semigroup(matrix, _TIME, wavy_function(x)), color=hue, linewidth=0.8)
        at = part.where(case=q)
        at = at.where(epsilon=at.levels("epsilon")[0])
        style.marks(axes, at["place"], at.middles("value"), mark, color=hue, label=f"$q = {q}$")
    p = WAVY_DENSITY(x)
    kept = semigroup(grid.matrix(lambda values: drift_diffusion(grid, p, values)), _TIME, wavy_function(x))
    axes.plot(x, kept, color=style.GREY, linestyle="--", label="not turning")
    axes.legend(loc="lower left", handlelength=0.8)


def _orbits(axes: Axes, part: Table) -> None:
    turn = 2.0 * np.pi / 3.0
    for layers, hue in zip(part.levels("layers"), _HUES, strict=True):
        axes.plot(_ALONG, 2.0 * layers * WAVY_DENSITY.log_slope(_ALONG + turn), color=hue, linewidth=0.8)
        at = part.where(layers=layers)
        at = at.where(epsilon=at.levels("epsilon")[0])
        style.marks(axes, at["place"], at.middles("value"), "o", color=hue, label=f"{layers}")
    axes.legend(loc="lower center", handlelength=0.8, title="layers")
