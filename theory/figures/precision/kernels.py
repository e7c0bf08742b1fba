r"""How far attention in tiles may be off in low precision, over length: what is proved, and what was measured.

Lines are bounds for tiles of 128 keys, in units of the largest value, before the output is rounded: E4M3 (weights
times 256), bfloat16, float16, float32, float64. Filled dots: the error of a row that was made to come near the bound
(for other tiles, in the wide formats); hollow ones: that of a drawn row. The dotted line marks 16 384 keys, from where
weights that vanish in float16 and E4M3 may lose more than rounding does.
"""

from __future__ import annotations

from matplotlib.lines import Line2D

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.precision import studies

TITLE = "the error of attention in tiles stays within its bound at every length, and nearly reaches it"
STUDY = studies.stream_errors
CLAIMS = ("streaming.forward", "streaming.weights")

_HUES = {
    "e4m3": (style.VERMILION, "E4M3"), "bfloat16": (style.BLUE, "bfloat16"), "float16": (style.GREEN, "float16"),
    "float32": (style.ORANGE, "float32"), "float64": (style.BLACK, "float64"),
}  # fmt: skip


def draw(table: Table) -> Figure:
    """Draw bounds and errors over length: narrow formats, and wide ones."""
    figure, (left, right) = style.row(2.7, "weights in few bits, sums in float32", "weights as sums are")
    for form in ("e4m3", "bfloat16", "float16"):
        _errors(left, table, form)
    for form in ("float32", "float64"):
        _errors(right, table, form)
    style.guide(left, x=16_384.0, line="dotted")
    left.set(ylim=(3e-8, 1.0))
    right.set(ylim=(3e-19, 1e-2))
    figure.legend(handles=_legend(), loc="outside upper center", ncols=3)
    return figure


def _legend() -> list[Line2D]:
    near, drawn = (
        Line2D([], [], color=style.GREY, marker="o", linestyle="", markersize=size, markeredgewidth=edge, label=words)
        for size, edge, words in ((3.0, 0.0, "error of a row made to come near it"), (3.4, 0.7, "error of a drawn row"))
    )
    drawn.set_markerfacecolor("none")
    return [Line2D([], [], color=style.GREY, label="bound"), near, drawn]


def _errors(axes: Axes, table: Table, form: str) -> None:
    hue, words = _HUES[form]
    edge, drawn = (table.where(form=form, row=row) for row in ("edge", "drawn"))
    axes.plot(edge["length"], edge.middles("bound"), "-", color=hue, label=words)
    style.marks(axes, edge["length"], edge.middles("error"), "o", color=hue, size=3.0)
    style.marks(axes, drawn["length"], drawn.middles("error"), "o", color=hue, size=3.4, hollow=True)
    axes.set(xscale="log", yscale="log", xlabel="keys $n$", ylabel="error over the largest value")
    axes.legend(loc="upper left", ncols=3)
