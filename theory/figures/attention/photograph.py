r"""How one patch of a photograph attends to all others, per head.

The weights above the uniform one are laid over the picture on a logarithmic scale. A head attends to :math:`e^{H(p)}`
patches in effect, where :math:`H` is the entropy of its row; the number is enclosed from the table.
"""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, ListedColormap, LogNorm
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from theory.attention import photograph, studies
from theory.evidence import Interval, Table, balls, hull
from theory.evidence.enclosure import exp, log, precision
from theory.figures import _style as style
from theory.figures._style import Axes, Figure

TITLE = "heads of one layer look from one patch of a photograph to few patches or to many"
STUDY = studies.attention_map
CLAIMS = ("markov.softmatch",)

_PALE = 0.35  # luminance of black, so that the picture stays behind the colours
_OPACITY = (0.45, 0.95)  # of the smallest and the largest weight


def draw(table: Table) -> Figure:
    """Draw one picture per head, the query outlined."""
    heads = table.levels("head")
    pixels = photograph.pixels()
    figure = style.canvas(style.DOUBLE, 2.95)
    axes = figure.subplots(1, len(heads))
    hues = _hues()
    patches = len(table) // len(heads)
    scale = LogNorm(1.0 / patches, float(table["weight.hi"].max()))
    for number, (each, head) in enumerate(zip(axes, heads, strict=True), start=1):
        part = table.where(head=head)
        style.panel(
            each,
            "abcdefgh"[number - 1],
            f"head {number}: $e^H = {style.shared_digits(_effective(part), 3)}$ patches",
            size=style.SMALL,
        )
        _picture(each, pixels, part, hues, scale)
    bar = figure.colorbar(ScalarMappable(scale, hues), ax=axes, location="bottom", shrink=0.5, aspect=40)
    bar.set_label(
        f"attention weight of a patch (clear: below the uniform weight 1/{patches}) for the query framed in blue\n"
        "$H$: entropy of the weights; $e^H$: patches attended to in effect",
        size=style.SMALL,
    )
    return figure


def _hues() -> Colormap:
    """Return a perceptually uniform map, from light to dark, that lets the picture through."""
    colours = mpl.colormaps["magma_r"](np.linspace(0.1, 0.9, 256))
    colours[:, 3] = np.linspace(*_OPACITY, 256)
    return ListedColormap(colours).with_extremes(under=(1.0, 1.0, 1.0, 0.0))


def _picture(axes: Axes, pixels: NDArray[np.uint8], part: Table, hues: Colormap, scale: LogNorm) -> None:
    height = pixels.shape[0] / photograph.PATCH
    width = pixels.shape[1] / photograph.PATCH
    grey = pixels @ np.array([0.299, 0.587, 0.114])  # luma of ITU-R BT.601
    grey = grey.reshape(pixels.shape[0] // 2, 2, pixels.shape[1] // 2, 2).mean(axis=(1, 3))  # 150 dots an inch in print
    axes.imshow(
        _PALE + (1.0 - _PALE) * grey / 255.0,
        cmap="gray",
        vmin=0.0,
        vmax=1.0,
        extent=(0.0, width, height, 0.0),
        interpolation="none",
    )
    down, across = int(part["row"].max()) + 1, int(part["column"].max()) + 1
    weights = np.zeros((down, across))
    weights[part["row"], part["column"]] = part.middles("weight")
    axes.imshow(weights, cmap=hues, norm=scale, extent=(0.0, across, down, 0.0), interpolation="none")
    row, column = studies.PATCH
    axes.add_patch(Rectangle((column - 0.25, row - 0.25), 1.5, 1.5, fill=False, edgecolor=style.BLUE, linewidth=1.0))
    axes.set(xlim=(0.0, width), ylim=(height, 0.0), xticks=[], yticks=[])
    axes.spines[:].set_visible(False)


def _effective(part: Table) -> Interval:
    r"""Enclose the effective number of patches; :math:`p \log p` has slope at most :math:`1 - \log p` in size."""
    with precision():
        low, high = balls(part["weight.lo"]), balls(part["weight.hi"])
        fall = -log(low)
        entropy = (low * fall).sum()
        slack = ((high - low) * (1 + fall)).sum()
        return Interval(hull(exp(entropy - slack)).lo, hull(exp(entropy + slack)).hi, part.kind)
