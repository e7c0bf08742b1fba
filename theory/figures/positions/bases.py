r"""Which bases of rotary positions prefer similar keys at every distance: islands, and the least of them by context.

Top and left: the least sum of cosines over distances below 1024, by base, for heads of dimension 64 and 128; where it
is negative, some distance prefers other keys. Marked are the bases that a claim names; the bars on the left are all
admissible bases, by enclosures of their ends, and the last goes on without end. Right: the least base that is
admissible, by the length of the context, and the values of a table that circulates.
"""

from __future__ import annotations

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure
from theory.positions import studies

TITLE = "only some bases of rotary positions prefer similar keys at every distance, and they grow with the context"
STUDY = studies.bases
CLAIMS = ("rotary.islands", "rotary.least-base", "rotary.pieces")

_BAR = 4.0  # taken: the height of the bars
_PRINTED = {1024: 4.3e3, 2048: 1.6e4, 4096: 2.7e4, 8192: 8.4e4}


def draw(table: Table) -> Figure:
    """Draw least sums over the base, and least bases over the context."""
    figure = style.canvas(style.DOUBLE, 4.6)
    axes = figure.subplot_mosaic([["a", "a"], ["b", "c"]])
    style.panel(axes["a"], "a", f"heads of dimension {studies.NARROW}, distances below {studies.LENGTH}")
    style.panel(axes["b"], "b", f"heads of dimension {studies.HEAD}, distances below {studies.LENGTH}")
    style.panel(axes["c"], "c", f"least admissible base, dimension {studies.HEAD}")
    for letter, dim, named in (("a", studies.NARROW, studies.NARROW_WITNESSES), ("b", studies.HEAD, studies.WITNESSES)):
        _sums(axes[letter], table.where(part="sum", dim=dim), named)
    _pieces(axes["b"], table.where(part="end", dim=studies.HEAD, length=studies.LENGTH)["base"])
    _least(axes["c"], table.where(part="least"))
    return figure


def _sums(axes: Axes, table: Table, named: tuple[float, ...]) -> None:
    base, sums = table["base"], table.middles("value")
    style.guide(axes, y=0.0)
    axes.fill_between(base, 0.0, sums, where=sums >= 0.0, color=style.GREEN, alpha=0.5, linewidth=0.0, interpolate=True)
    axes.fill_between(
        base, 0.0, sums, where=sums <= 0.0, color=style.VERMILION, alpha=0.35, linewidth=0.0, interpolate=True
    )
    axes.plot(base, sums, color=style.BLACK, linewidth=0.7)
    seen = np.isin(base, named)
    style.marks(axes, base[seen], sums[seen], "o", color=style.BLACK, size=2.6)
    axes.set(xlabel="base $b$", ylabel="least sum of cosines", xlim=(base.min(), base.max()))


def _pieces(axes: Axes, ends: Array) -> None:
    """Draw bars over the pieces, with their ends in numbers, on two lines by turns."""
    left, right = axes.get_xlim()
    for k, (opens, closes) in enumerate(zip(ends[::2], [*ends[1::2], right], strict=True)):
        axes.plot([opens, closes], [_BAR, _BAR], color=style.GREEN, linewidth=3.0, solid_capstyle="butt")
        text = f"{opens:.2f} to {closes:.2f}" if closes < right else f"from {opens:.2f} on"
        across = max(0.5 * (opens + closes), left + 0.18 * (right - left))
        axes.text(across, _BAR + 0.3 + 0.9 * (k % 2), text, ha="center", fontsize=style.SMALL)
    axes.set_ylim(top=_BAR + 2.2)


def _least(axes: Axes, table: Table) -> None:
    length, base = table["length"], table.middles("value")
    axes.plot(length, base, "o-", color=style.BLUE, markersize=3.4, label="least, certified")
    known = [(n, b) for n, b in _PRINTED.items() if n in set(length.tolist())]
    style.marks(
        axes, [n for n, _ in known], [b for _, b in known], "s", color=style.VERMILION, size=5.5, hollow=True,
        label="in a table that circulates",
    )  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="context $L$", ylabel="base $b$")
    style.ticks(axes, x=[float(n) for n in length])
    axes.legend(loc="upper left")
