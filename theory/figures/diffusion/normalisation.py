r"""The drift identifies the normalisation: its coefficient as the bandwidth falls, and what rows and columns sum to."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from theory.diffusion import studies
from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure

TITLE = "softmax drifts with the density, Sinkhorn half as much, and with the density divided out nothing drifts"
STUDY = studies.normalisers
CLAIMS = ("normaliser.mean-shift", "normaliser.equilibrium")

_VARIANCE = 1.08  # of the study's normal law
_WAYS = {  # name, its end, mark, colour
    "alpha 0": (r"softmax, $\alpha = 0$", 1.0, "o", style.BLUE),
    "alpha 0.25": (r"$\alpha = \frac{1}{4}$", 0.75, "^", style.SKY),
    "alpha 0.5": (r"$\alpha = \frac{1}{2}$", 0.5, "s", style.GREEN),
    "sinkhorn": ("Sinkhorn", 0.5, "D", style.VERMILION),
    "alpha 1": (r"$\alpha = 1$", 0.0, "v", style.PURPLE),
}
_INK = LinearSegmentedColormap.from_list("ink", ["#FFFFFF", style.BLUE, style.BLACK])


def draw(table: Table) -> Figure:
    """Draw coefficients against the bandwidth, and two small attention matrices with the sums of their columns."""
    figure = style.canvas(style.DOUBLE, 2.75)
    axes = figure.subplot_mosaic(
        [["drift", "soft sums", "sinkhorn sums"], ["drift", "soft", "sinkhorn"]],
        width_ratios=[1.65, 1.0, 1.0], height_ratios=[1.0, 3.2],
    )  # fmt: skip
    style.panel(axes["drift"], "a", r"drift over $(\log\varrho)'$")
    style.panel(axes["soft sums"], "b", "rows sum to one")
    style.panel(axes["sinkhorn sums"], "c", "rows and columns do")
    _drift(axes["drift"], table.where(part="shift", x=1.0))
    matrices = table.where(part="matrix")
    top = float(matrices.middles("value").max())
    highest = max(float(_matrix(matrices.where(way=way)).mean(axis=0).max()) for way in ("alpha 0", "sinkhorn"))
    for way, name in (("alpha 0", "soft"), ("sinkhorn", "sinkhorn")):
        _attention(axes[f"{name} sums"], axes[name], matrices.where(way=way), top, 1.15 * highest)
    axes["soft sums"].set_ylabel("column\nsum", size=style.SMALL)
    axes["soft"].set_ylabel("query")
    for each in (axes["sinkhorn sums"], axes["sinkhorn"]):
        each.tick_params(labelleft=False)
    return figure


def _drift(axes: Axes, table: Table) -> None:
    for way, (label, end, mark, hue) in _WAYS.items():
        part = table.where(way=way)
        found = -_VARIANCE * part.middles("value") / part["x"]
        size, filled = (5.2, "none") if way == "sinkhorn" else (3.4, hue)
        axes.plot(part["epsilon"], found, mark, color=hue, markersize=size, markerfacecolor=filled, label=label)
        style.guide(axes, y=end, color=hue if way != "sinkhorn" else style.GREEN)
    style.guide(axes, y=2.0, line="dashed")
    style.note(axes, "softmax, if the drift were 2", (0.0042, 1.95), color=style.GREY, va="top")
    style.note(axes, "Sinkhorn, if it were the Laplacian", (0.0042, -0.04), color=style.GREY, va="top")
    axes.set(
        xscale="log", xlim=(0.0038, 0.21), ylim=(-0.2, 2.12), xlabel=r"bandwidth $\varepsilon$", ylabel="coefficient"
    )
    axes.set_yticks([0.0, 0.5, 1.0, 1.5, 2.0])
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.88), ncols=3, columnspacing=1.0)


def _matrix(table: Table) -> np.ndarray:
    size = round(len(table) ** 0.5)
    return table.middles("value").reshape(size, size)


def _attention(sums: Axes, axes: Axes, table: Table, top: float, highest: float) -> None:
    """Draw a matrix in the order of the tokens on the circle, and its column sums above it."""
    matrix = _matrix(table)
    size = len(matrix)
    order = np.roll(np.arange(size), size // 2)  # the dense part in the middle
    matrix = matrix[np.ix_(order, order)]
    axes.imshow(matrix, cmap=_INK, vmin=0.0, vmax=top, interpolation="nearest", aspect="auto")
    axes.spines[:].set_visible(True)
    axes.set(xticks=[0, size - 1], yticks=[0, size - 1], xlabel="key", xticklabels=[1, size], yticklabels=[1, size])
    sums.bar(np.arange(size), matrix.mean(axis=0), width=0.8, color=style.BLUE)
    style.guide(sums, y=1.0, color=style.VERMILION)
    sums.set(xlim=(-0.5, size - 0.5), ylim=(0.0, highest), yticks=[0, 1], xticks=[])
