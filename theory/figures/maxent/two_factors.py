r"""What scores tend to that learn to select as one matrix, and as a product: over their first entry, which grows.

Left: the entry that no example asks for, as a share of the first; dashed where the nuclear norm is least, dotted where
the Frobenius norm is. Middle: the nuclear norm over the least gap, with both limits. Right: the second singular value;
black lines are powers of the first entry. Bars, where they can be seen, are what two tolerances of the method leave
open.
"""

from __future__ import annotations

import math

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.maxent.studies import factors

TITLE = (
    "trained as a product, scores tend to the least nuclear norm; trained as one matrix, to the least Frobenius norm"
)
STUDY = factors.factors
CLAIMS = ("descent.nuclear",)

_LOOKS = {
    ("product", "together"): (style.BLUE, "o", "product, det > 0 at the start"),
    ("product", "opposite"): (style.VERMILION, "s", "product, det < 0"),
    ("one matrix", "together"): (style.GREEN, "^", "one matrix"),
}
_LIMITS = ((math.sqrt(2.5), 0.5, "dashed"), (math.sqrt(3.25), 0.0, "dotted"))  # norms and corners


def draw(table: Table) -> Figure:
    """Draw the corner, the norm and the second singular value over the first entry."""
    figure, (first, second, third) = style.row(
        2.6, "the entry nobody asks for", "the nuclear norm", "the second singular value"
    )
    for (trained, start), (hue, mark, words) in _LOOKS.items():
        part = table.where(trained=trained, start=start)
        size = 2.0 ** part["exponent"].astype(float)
        for axes, column in ((first, "corner"), (second, "norm"), (third, "second")):
            style.intervals(axes, size, part.intervals(column), color=hue)
            axes.plot(size, part.middles(column), "-", color=hue, linewidth=0.7)
            style.marks(axes, size, part.middles(column), mark, color=hue, label=words)
            axes.set(xscale="log", xlabel="$W_{11}$")
    for norm, corner, line in _LIMITS:
        style.guide(first, y=corner, color=style.BLACK, line=line)
        style.guide(second, y=norm, color=style.BLACK, line=line)
    first.set(ylabel="$W_{21}/W_{11}$", ylim=(-0.05, 1.0))
    second.set(ylabel=r"$\|W\|_*$ over the least gap", ylim=(1.3, 3.5))
    style.note(first, "least nuclear norm", (3000.0, 0.5), offset=(0, -8), ha="right", va="top")
    style.note(first, "least Frobenius norm", (3000.0, 0.0), offset=(0, 5), ha="right")
    style.note(second, r"$\sqrt{5/2}$, the least", (3000.0, _LIMITS[0][0]), offset=(0, -5), ha="right", va="top")
    style.note(second, r"$\sqrt{13}/2$", (3000.0, _LIMITS[1][0]), offset=(0, 4), ha="right")
    third.set(yscale="log", ylabel=r"$\sigma_2(W)$", ylim=(1e-6, 2e4))
    _powers(third)
    figure.legend(*first.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def _powers(axes: Axes) -> None:
    across = 2.0 ** np.arange(3, 12)
    for height, exponent, words in (
        (7.0, 1.0, "$W_{11}$"), (0.12, 0.5, "$W_{11}^{1/2}$"), (8e-5, -0.5, "$W_{11}^{-1/2}$"),
    ):  # fmt: skip
        style.power(axes, across, (8.0, height), exponent, color=style.BLACK)
        at, up, ha = (64.0, height * 8.0**exponent), exponent != 0.5, "left" if exponent < 1.0 else "right"
        style.note(axes, words, at, offset=(2, 3 if up else -3), ha=ha, va="bottom" if up else "top")
