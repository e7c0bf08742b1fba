r"""A stack of attention layers among tokens of the two-torus against the drift-diffusion, in two dimensions.

Maps are the function and :math:`e^{tL}h` by a dense exponential on a grid, with level lines of the density; marks are
what tokens have after their layers, in the same colours. On the right the largest error against the bandwidth, and what
layers leave of a wave among equal tokens against their number around: the lattice folds the waves of the kernel.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from theory.diffusion import PeriodicGrid, drift_diffusion, semigroup, studies
from theory.diffusion.stack_settings import TORUS_TIMES, torus_density, torus_function
from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure

TITLE = "stacked attention on the torus runs the drift-diffusion in two dimensions, to first order in the bandwidth"
STUDY = studies.torus_stack
CLAIMS = ("layers.torus", "layers.torus-constant", "layers.torus-tokens")

_NODES = 16  # which hold what is drawn to more digits than are seen
_FINE = 64
_TICKS = (0.0, np.pi, 2.0 * np.pi)
_WORDS = ("0", r"$\pi$", r"$2\pi$")


def draw(table: Table) -> Figure:
    """Draw the function before and after, the errors and the waves that few tokens fold."""
    figure = style.canvas(style.DOUBLE, 2.1)
    before, after, errors, waves = figure.subplots(1, 4)
    stack = table.where(part="stack")
    shown = min(stack.levels("epsilon"))
    _map(before, 0.0, None)
    _map(after, TORUS_TIMES[-1], stack.where(epsilon=shown, t=TORUS_TIMES[-1]))
    style.panel(before, "a", "$h$, and lines of $p$")
    style.panel(after, "b", rf"$t = \frac{{1}}{{4}}$, {round(2.0 * TORUS_TIMES[-1] / shown)} layers")
    style.panel(errors, "c", "error: order one")
    style.panel(waves, "d", "equal tokens")
    before.set_ylabel("$x_2$")
    _errors(errors, stack)
    _waves(waves, table.where(part="wave"))
    return figure


@lru_cache(maxsize=1)
def _generator() -> tuple[PeriodicGrid, Array]:
    grid = PeriodicGrid((_NODES, _NODES))
    p = torus_density(*grid.axes)
    return grid, grid.matrix(lambda values: drift_diffusion(grid, p, values))


def _solution(t: float) -> Array:
    """Return the Fourier coefficients of the solution on the grid, shape (nodes, nodes)."""
    grid, matrix = _generator()
    start = np.broadcast_to(torus_function(*grid.axes), grid.shape).ravel()
    values = semigroup(matrix, t, start) if t else start
    return np.asarray(np.fft.fft2(values.reshape(grid.shape)) / grid.size)


def _at(x: Array, y: Array, t: float) -> Array:
    """Return the solution at the places, shape (x.size, y.size)."""
    k = np.fft.fftfreq(_NODES, 1.0 / _NODES)
    first, second = (np.exp(1j * np.multiply.outer(along, k)) for along in (x, y))
    return np.asarray((first @ _solution(t) @ second.T).real)


def _map(axes: Axes, t: float, part: Table | None) -> None:
    """Draw the solution, with level lines of the density or with what the tokens have."""
    x = 2.0 * np.pi * (np.arange(_FINE) + 0.5) / _FINE
    ends = (0.0, 2.0 * np.pi)
    hues: dict[str, Any] = {"cmap": "RdBu_r", "vmin": -1.0, "vmax": 1.0}
    axes.imshow(_at(x, x, t).T, origin="lower", extent=(*ends, *ends), interpolation="none", **hues)
    if part is None:
        density = torus_density(x[:, np.newaxis], x)
        axes.contour(x, x, density.T, levels=5, colors=style.BLACK, linewidths=0.4)
    else:
        turn = 2.0 * np.pi
        axes.scatter(
            turn * part["first"], turn * part["second"], c=part.middles("value"), s=14.0, edgecolors=style.BLACK,
            linewidths=0.4, clip_on=False, **hues,
        )  # fmt: skip
    axes.set(xticks=_TICKS, xticklabels=_WORDS, yticks=_TICKS, yticklabels=_WORDS, xlabel="$x_1$")


def _errors(axes: Axes, stack: Table) -> None:
    """Draw the largest error over the places, at both times."""
    epsilons = np.array(stack.levels("epsilon"))
    marks = zip(TORUS_TIMES, ("o", "s"), (style.BLUE, style.VERMILION), strict=True)
    for t, mark, hue in marks:
        off = []
        for epsilon in epsilons.tolist():
            part = stack.where(epsilon=epsilon, t=t)
            turns = np.unique(part["first"])
            truth = _at(2.0 * np.pi * turns, 2.0 * np.pi * turns, t).ravel()
            off.append(float(np.abs(part.middles("value") - truth).max()))
        style.convergence(axes, epsilons, off, color=hue, mark=mark, label=f"$t = {t:g}$")
    style.power(axes, epsilons, (float(epsilons[-1]), 2.0 * off[-1]), 1.0)
    axes.set(xlabel=r"bandwidth $\varepsilon$")
    axes.legend(loc="lower right", handlelength=1.0)


def _waves(axes: Axes, waves: Table) -> None:
    """Draw what is left of the wave among few and many tokens."""
    part = waves.where(first=0.0, second=0.0)
    around = np.sqrt(part["n"].astype(np.float64))
    left = part.middles("value")
    style.guide(axes, y=float(left[np.argmax(around)]), line="dashed")
    style.marks(axes, around, left, "o", color=style.GREEN)
    axes.set(xscale="log", xlabel="tokens around, $m$", ylabel=r"left of $\cos(x_1 + 2x_2)$")
