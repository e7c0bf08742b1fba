r"""What one layer makes of a function, from a thousand, ten thousand, a hundred thousand and a million tokens.

Above, on the circle, :math:`(\hat P_\varepsilon h - h)/\varepsilon` with the band of two standard deviations that the
variance law predicts around the operator of the law itself; below, the tokens of a torus, counted in cells about the
places, and the same field as a map.
"""

from __future__ import annotations

import numpy as np
from matplotlib.image import AxesImage
from numpy.typing import NDArray

from theory.diffusion import PeriodicGrid, StepError, studies
from theory.diffusion.settings import (
    MILLION_COUNTS,
    MILLION_EPSILON,
    MILLION_PLACES,
    SAMPLED_DENSITIES,
    sampled_function,
)
from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure

TITLE = "a thousand independent tokens hide what one layer makes of a function; a million show it"
STUDY = studies.million
CLAIMS = ("rate.million",)

_TICKS = (0.0, np.pi, 2.0 * np.pi)
_WORDS = ("0", r"$\pi$", r"$2\pi$")


def draw(table: Table) -> Figure:
    """Draw curves with bands, the tokens of the torus, and what the layer makes of the function there."""
    figure = style.canvas(style.DOUBLE, 5.2)
    upper, middle, lower = figure.subplots(3, len(MILLION_COUNTS) + 1)
    line, field = _error(1), _error(2)
    _curves(upper, table, line)
    exact = field.step(MILLION_EPSILON[2])
    largest, side = 1.15 * float(np.abs(exact).max()), (2.0 * np.pi) ** 2
    _map(middle[0], side * field.density, 0.0, 2.0, "cividis")
    _map(lower[0], exact, -largest, largest, "RdBu_r")
    for tokens, steps, n in zip(middle[1:], lower[1:], MILLION_COUNTS, strict=True):
        part = table.where(d=2, n=n)
        share = part["tokens"].reshape(field.grid.shape) * (field.grid.size / n)
        dense = _map(tokens, share, 0.0, 2.0, "cividis")
        moved = _map(steps, part.middles("change").reshape(field.grid.shape), -largest, largest, "RdBu_r")
    style.panel(middle[0], "b", "on a torus, tokens per cell")
    style.panel(lower[0], "c", "what the layer makes of a function there")
    for row, image, words in (
        (middle, dense, "tokens, over the mean"),
        (lower, moved, r"$(\hat P_\varepsilon h - h)/\varepsilon$"),
    ):
        for number, axes in enumerate(row):
            axes.set(xticklabels=_WORDS if row is lower else [], yticklabels=_WORDS if number == 0 else [])
        bar = figure.colorbar(image, ax=row.tolist(), location="right", shrink=0.9, aspect=18, pad=0.01)
        bar.set_label(words, size=style.SMALL)
        bar.outline.set_linewidth(0.5)
        row[0].set(ylabel="$x_2$")
    for axes in lower:
        axes.set(xlabel="$x_1$")
    return figure


def _heading(number: int) -> str:
    return "" if number == 0 else f"$N = 10^{round(np.log10(MILLION_COUNTS[number - 1]))}$"


def _curves(row: NDArray[np.object_], table: Table, line: StepError) -> None:
    """Draw the circle: the function, the density and the operator, then the outputs over tokens in their bands."""
    x = line.grid.axes[0]
    law = line.step(MILLION_EPSILON[1])
    band = np.sqrt(line.variance(MILLION_EPSILON[1]))
    closed, centre = np.append(x, 2.0 * np.pi), np.append(law, law[0])
    for number, axes in enumerate(row):
        axes.set_title(_heading(number), loc="right", size=style.SMALL)
        axes.set(xlim=(0.0, 2.0 * np.pi), ylim=(-1.9, 1.9), xticks=_TICKS, xticklabels=_WORDS, xlabel="$x$")
        axes.plot(closed, centre, color=style.BLUE, linewidth=0.7, label=r"$(P_\varepsilon h - h)/\varepsilon$")
    for axes, n in zip(row[1:], MILLION_COUNTS, strict=True):
        wide = 2.0 * np.append(band, band[0]) / np.sqrt(n)
        axes.fill_between(closed, centre - wide, centre + wide, color=style.SKY, alpha=0.45, linewidth=0)
        style.marks(axes, x, table.where(d=1, n=n).middles("change"), ".", color=style.VERMILION, size=2.2)
        axes.set(yticklabels=[])
    row[0].plot(x, line.values, color=style.BLACK, label="$h$")
    row[0].plot(x, 2.0 * np.pi * line.density, color=style.GREY, linestyle="--", label=r"$2\pi p$")
    style.panel(row[0], "a", "circle, the law")
    row[0].legend(loc="lower right", handlelength=1.0, borderaxespad=0.0, labelspacing=0.2)


def _error(d: int) -> StepError:
    grid = PeriodicGrid((MILLION_PLACES[d],) * d)
    p = np.ones(grid.shape)
    for each, x in zip(SAMPLED_DENSITIES[d], grid.axes, strict=True):
        p = p * each(x)
    return StepError(grid, p, np.broadcast_to(sampled_function(*grid.axes), grid.shape))


def _map(axes: Axes, field: Array, low: float, high: float, hues: str) -> AxesImage:
    """Draw a field on the torus, one cell per place."""
    half = np.pi / field.shape[0]
    ends = (-half, 2.0 * np.pi - half)
    image = axes.imshow(
        field.T, origin="lower", extent=(*ends, *ends), cmap=hues, vmin=low, vmax=high, interpolation="none"
    )
    axes.set(xticks=_TICKS, yticks=_TICKS)
    return image
