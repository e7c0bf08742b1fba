r"""The smallest bandwidth that so many tokens resolve, of tori where there is a law, and of real tokens.

Points are medians over random splits, bars reach from the tenth to the ninetieth percentile. Lines are the law of the
tori, without a fitted constant.
"""

from __future__ import annotations

import math

import numpy as np

from theory.diffusion import studies
from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure

TITLE = "real tokens miss the law of the dimension that they show: the smallest bandwidth that they resolve is another"
STUDY = studies.real_tokens
CLAIMS = ("rate.smallest-bandwidth", "real.step", "real.resolution", "real.dimension")

_SETS = {  # name, mark, colour
    "torus1": ("circle", "o", style.GREY),
    "torus2": ("torus, d = 2", "s", style.GREY),
    "torus3": ("torus, d = 3", "^", style.GREY),
    "patches": ("patches", "v", style.BLUE),
    "digits": ("digits", "D", style.VERMILION),
    "faces": ("faces", "P", style.GREEN),
    "learned": ("faces, trained", "X", style.PURPLE),
    "gaussian": ("normal, as digits", "d", style.SKY),
    "shuffled": ("digits, shuffled", "*", style.ORANGE),
}


def draw(table: Table) -> Figure:
    """Draw smallest bandwidths by number of keys, how steps change above them, and dimensions that are seen."""
    figure = style.canvas(style.DOUBLE, 3.1)
    smallest, change, dimension = figure.subplots(1, 3, width_ratios=[1.5, 1.0, 1.0])
    style.panel(smallest, "a", "where two clouds agree to a tenth")
    style.panel(change, "b", "step, two octaves up")
    style.panel(dimension, "c", "dimension")
    for place, (name, (label, mark, hue)) in enumerate(_SETS.items()):
        _bandwidths(smallest, table.where(set=name), label, mark, hue)
        part = table.where(set=name, n=int(table.where(set=name)["n"].max()))
        _spread(change, 2.0 ** _known(part, "change"), place, mark, hue)
        _spread(dimension, _known(part, "dimension"), place, mark, hue)
    for d in (1, 2, 3):
        keys = np.array([256.0, 4096.0])
        smallest.plot(keys, _law(d, keys), color=style.GREY, linewidth=0.6, zorder=0)
    smallest.set(
        xscale="log", yscale="log", xlabel="keys n", ylabel=r"smallest bandwidth $\varepsilon_*$ / variance",
        ylim=(0.02, 1.3),
    )  # fmt: skip
    smallest.set_xticks([64, 256, 1024, 4096], ["64", "256", "1024", "4096"])
    smallest.minorticks_off()
    smallest.legend(loc="upper right", ncols=2, columnspacing=0.8)
    style.guide(change, x=1.0)
    change.set(xlabel="quotient", xlim=(0.0, 1.3))
    dimension.set(xscale="log", xlabel="seen by kernel sums")
    dimension.set_xticks([1, 2, 3, 5, 10, 20], ["1", "2", "3", "5", "10", "20"])
    dimension.minorticks_off()
    names = [label for label, _, _ in _SETS.values()]
    for axes, shown in ((change, names), (dimension, [""] * len(names))):
        axes.set_yticks(range(len(names)), shown)
        axes.set_ylim(len(names) - 0.5, -0.5)
    return figure


def _known(part: Table, name: str) -> Array:
    """Return the middles of what is known of the splits."""
    return np.array([value.mid for value in part.intervals(name) if math.isfinite(value.width)])


def _bandwidths(axes: Axes, part: Table, label: str, mark: str, hue: str) -> None:
    for n in part.levels("n"):
        low, middle, high = np.quantile(2.0 ** _known(part.where(n=n), "smallest"), (0.1, 0.5, 0.9))
        axes.plot([n, n], [low, high], color=hue, linewidth=0.8)
        axes.plot([n], [middle], mark, color=hue, markersize=4.0, label=label)
        label = "_"


def _spread(axes: Axes, values: Array, place: int, mark: str, hue: str) -> None:
    low, middle, high = np.quantile(values, (0.1, 0.5, 0.9))
    axes.plot([low, high], [place, place], color=hue, linewidth=0.8)
    axes.plot([middle], [place], mark, color=hue, markersize=4.0)


def _law(d: int, keys: Array) -> Array:
    """Return the law of a torus, in units of its variance."""
    drift = d * (1.25 - 0.5 * math.sqrt(3.0))
    scale = 9.0 * 0.5 * d * (2.0 * math.pi) ** d / (4.0 * math.pi) ** (0.5 * d) / drift
    found: Array = (scale / keys) ** (2.0 / (d + 2.0)) / (0.9375 * d)
    return found
