r"""Tokens that move through layers of self-attention, the equation of their density, and how far the two are apart.

Above, 40 of 600 quantile tokens of a mixture of three normal laws through 16 averaging layers, whose weights are
computed anew by every layer. Below, the density: at the start (grey), after 16 layers, from the width that ten tokens
take (marks; the outermost tokens are too few for the bandwidth, and gather), under the heat equation run backward
(line), and under the same equation run forward (dashed). On the right, the distance from the measure to these flows
over the bandwidth, and what a small wave does in each layer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure as PlainFigure

from theory.diffusion import studies
from theory.diffusion.moving import DEEPEST, MOVED_DEPTH, MOVED_MIXTURE, MOVED_TIME
from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure

TITLE = "tokens that move through self-attention layers follow the backward heat equation of their density"
STUDY = studies.moving
CLAIMS = ("layers.moving-moments", "layers.moving-distance", "layers.wave-growth")

_ACROSS = (-3.4, 4.4)
_HIGHEST = 0.52
_GROUP = 2  # tokens of the table for a mark of the density, of five tokens each
_BANDWIDTHS = (0.003, 0.006, 0.012, 0.025)
_EVERY = 3  # paths drawn
_RATES = {  # words, colour, mark, place of the words, and how they stand
    2.0: ("backward heat\n(hollow: residual layers)", style.BLUE, "o", (0.0075, 0.0019), "top"),
    1.0: ("half as fast", style.ORANGE, "s", (0.0034, 0.0305), "top"),
    -2.0: ("forward heat", style.VERMILION, "^", (0.0034, 0.150), "bottom"),
}


def draw(table: Table) -> Figure:
    """Draw tokens above their density, and distances above the growth of a wave."""
    figure = style.canvas(style.DOUBLE, 4.1)
    axes = figure.subplot_mosaic([["a", "c"], ["b", "d"]], width_ratios=(1.35, 1.0))
    style.panel(axes["a"], "a", f"tokens through {MOVED_DEPTH} layers of self-attention")
    style.panel(axes["b"], "b", r"their density, and $\partial_t\rho = -\Delta\rho$")
    style.panel(axes["c"], "c", "distance to the equation, and to others")
    style.panel(axes["d"], "d", r"a small wave on the tokens, $\varepsilon\omega^2 = 2$")
    clouds = _clouds(table)
    axes["a"].plot(clouds[:, ::_EVERY], np.arange(len(clouds)), "-", color=style.BLUE, linewidth=0.5)
    axes["a"].plot(clouds[:, ::_EVERY], np.arange(len(clouds)), ".", color=style.BLUE, markersize=1.2)
    axes["a"].set(xlim=_ACROSS, ylim=(MOVED_DEPTH + 0.4, -0.6), ylabel="layer", yticks=range(0, MOVED_DEPTH + 1, 4))
    axes["a"].tick_params(labelbottom=False)
    _density(axes["b"], clouds[-1], MOVED_TIME)
    x = np.linspace(*_ACROSS, 400)
    axes["b"].plot(x, _mixture(x, -MOVED_TIME), color=style.VERMILION, linewidth=0.8, linestyle="dashed")
    style.note(axes["b"], "start", (-2.0, 0.12), ha="right", color=style.GREY)
    style.note(
        axes["b"], f"marks: after {MOVED_DEPTH} layers", (0.985, 0.90), inside=True, ha="right", color=style.BLUE
    )
    style.note(axes["b"], "line: backward heat", (0.985, 0.81), inside=True, ha="right", color=style.BLUE)
    style.note(axes["b"], "dashed: forward heat", (0.985, 0.72), inside=True, ha="right", color=style.VERMILION)
    _distances(axes["c"], table)
    _growth(axes["d"], table)
    return figure


def animate(table: Table) -> Iterator[Figure]:
    """Yield tokens, the paths that they have come, and their density after each layer."""
    clouds = _clouds(table)
    for layer, cloud in enumerate(clouds):
        figure = PlainFigure(figsize=(4.8, 3.4))
        above = figure.add_axes((0.11, 0.56, 0.86, 0.36))
        below = figure.add_axes((0.11, 0.14, 0.86, 0.38))
        above.plot(clouds[: layer + 1, ::_EVERY], np.arange(layer + 1), "-", color=style.BLUE, linewidth=0.5)
        style.marks(above, cloud[::_EVERY], np.full(cloud[::_EVERY].size, layer), "o", color=style.BLUE, size=2.4)
        above.set(xlim=_ACROSS, ylim=(MOVED_DEPTH + 0.6, -0.8), ylabel="layer", yticks=range(0, MOVED_DEPTH + 1, 4))
        above.tick_params(labelbottom=False)
        above.set_title(f"layer {layer}", loc="left", pad=2.0)
        _density(below, cloud, MOVED_TIME * layer / MOVED_DEPTH)
        style.note(
            below, r"marks: tokens;  line: $\partial_t\rho = -\Delta\rho$", (0.98, 0.88), inside=True, ha="right"
        )
        yield figure


def _clouds(table: Table) -> Array:
    """Return places by layer and token."""
    rows = table.where(name="place")
    layers = rows.levels("layer")
    return np.stack([np.sort(rows.where(layer=layer).middles("value")) for layer in sorted(layers)])


def _mixture(x: Array, time: float) -> Array:
    """Return the density of the mixture whose variances have fallen by twice the time."""
    means, variances, shares = (np.array(row) for row in MOVED_MIXTURE)
    left = variances - 2.0 * time
    parts = np.exp(-((x[:, np.newaxis] - means) ** 2) / (2.0 * left)) / np.sqrt(2.0 * math.pi * left)
    density: Array = parts @ shares
    return density


def _density(axes: Axes, cloud: Array, time: float) -> None:
    """Draw the density at the start, that of the backward flow, and that of the tokens."""
    x = np.linspace(*_ACROSS, 400)
    axes.fill_between(x, _mixture(x, 0.0), color=style.PALE, linewidth=0.0)
    axes.plot(x, _mixture(x, time), color=style.BLUE, linewidth=0.9)
    places = 0.5 * (cloud[_GROUP:] + cloud[:-_GROUP])
    found = _GROUP / cloud.size / (cloud[_GROUP:] - cloud[:-_GROUP])
    style.marks(axes, places[::2], found[::2], "o", color=style.BLUE, size=2.6, hollow=True)
    axes.set(xlim=_ACROSS, ylim=(0.0, _HIGHEST), xlabel="place $x$", ylabel=r"density $\rho$")


def _distances(axes: Axes, table: Table) -> None:
    for rate, (words, hue, mark, at, side) in _RATES.items():
        rows = table.where(name="distance", form="averaging", label=rate)
        style.convergence(
            axes, MOVED_TIME / rows["depth"], rows.intervals("value"), color=hue, mark=mark, line="solid"
        )  # fmt: skip
        style.note(axes, words, at, color=hue, va=side)
    rows = table.where(name="distance", form="residual", label=2.0)
    style.marks(axes, MOVED_TIME / rows["depth"], rows.middles("value"), "o", color=style.BLUE, hollow=True)
    rows = table.where(name="distance", form="kept", label=2.0)
    style.convergence(axes, MOVED_TIME / rows["depth"], rows.intervals("value"), color=style.GREEN, mark="v")
    style.note(axes, "weights kept", (0.0034, 0.0132), color=style.GREEN, va="top")
    axes.set(xlabel=r"bandwidth $\varepsilon$", ylabel="$W_1$ at $t = 0.1$", xlim=(0.0028, 0.029), ylim=(6e-4, 0.3))
    axes.set_xticks(_BANDWIDTHS, [f"{bandwidth:g}" for bandwidth in _BANDWIDTHS])
    axes.tick_params(which="minor", bottom=False)


def _growth(axes: Axes, table: Table) -> None:
    rows = table.where(name="wave", depth=DEEPEST)
    layers = rows["layer"]
    style.marks(axes, layers[::2], rows.middles("value")[::2], "o", color=style.BLUE, size=2.6)
    across = np.array([0.0, 36.0])
    axes.plot(across, (1.0 + 2.0 / math.e) ** across, color=style.GREY, linewidth=0.8, zorder=0)
    axes.plot(
        np.array([0.0, 15.0]), 3.0 ** np.array([0.0, 15.0]), color=style.VERMILION, linewidth=0.8, linestyle="dashed"
    )
    style.note(axes, r"$(1 + \frac{2}{e})^k$", (24.0, 2e4), color=style.GREY, va="top")
    style.note(
        axes, r"equation: $(1 + \varepsilon\omega^2)^k$", (15.0, 1.2e8), color=style.VERMILION, va="bottom", ha="center"
    )
    style.note(axes, r"as large as $\sqrt{\varepsilon}$", (62.0, 1.0e7), color=style.BLUE, va="top", ha="right")
    axes.set(
        yscale="log", xlabel="layer $k$", ylabel="wave, times its start", xlim=(-1.0, DEEPEST + 1.0), ylim=(0.5, 3e9)
    )
