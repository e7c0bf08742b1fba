r"""One layer of attention on long contexts of tokens with overlap rho, at the temperature gamma log n.

The cosine of two outputs and the size of the Jacobian against :math:`\gamma(1 - \rho)`, for a thousand to a
trillion tokens, with their limits; and the cosine for two overlaps against :math:`\gamma`, where the thresholds differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.particles import studies

TITLE = "in a long context outputs and gradients collapse below a critical beta of the order of log n"
STUDY = studies.critical
CLAIMS = ("context.forms", "context.jacobian")

_HUES = (style.SKY, style.BLUE, style.GREEN, style.VERMILION)


def draw(table: Table) -> Figure:
    """Draw the cosine and the Jacobian for one overlap, and the cosine for two."""
    figure, (first, second, third) = style.row(
        2.7, r"outputs collapse, $\rho = 1/2$", r"and gradients vanish, $d = n$", "two overlaps, two thresholds"
    )
    half = table.where(overlap=0.5)
    _curves(first, half.where(quantity="cosine"))
    _curves(second, half.where(quantity="tangential"))
    _limits(first, 1.0, 0.8, 0.5)
    _limits(second, 0.0, 0.25, 1.0)
    first.set(ylabel="cosine of two outputs", ylim=(0.45, 1.03))
    second.set(ylabel=r"$\frac{1}{nd}\|\nabla\|_F^2$ along the sphere", ylim=(-0.04, 1.06))
    for each in (first, second):
        each.set(xlabel=r"$\gamma(1 - \rho)$, with $\beta = \gamma\,\log\,n$", xlim=(0.1, 2.1))
    handles = dict(zip(*first.get_legend_handles_labels()[::-1], strict=True))
    sizes = [words for words in handles if words.startswith("$n")]
    others = [words for words in handles if words not in sizes]
    first.legend([handles[w] for w in others], others, loc="upper right", bbox_to_anchor=(1.02, 0.93))
    second.legend([handles[w] for w in sizes], sizes, loc="upper left", bbox_to_anchor=(0.0, 0.95))
    _overlaps(third, table.where(quantity="cosine", way="folded"))
    return figure


def _curves(axes: Axes, part: Table) -> None:
    folded = part.where(way="folded")
    for size, hue in zip(folded.levels("n"), _HUES, strict=True):
        rows = folded.where(n=size)
        words = f"$n = 10^{{{round(np.log10(size))}}}$"
        axes.plot(rows["scaled"], rows.middles("value"), ".-", color=hue, markersize=3.0, linewidth=0.8, label=words)
    whole = part.where(way="tokens")
    largest = whole.where(n=int(whole["n"].max()))
    axes.plot(
        largest["scaled"], largest.middles("value"), "D", markersize=4.0, markerfacecolor="none", linestyle="none",
        markeredgecolor=style.BLACK, markeredgewidth=0.7, label=f"all of {int(largest['n'][0])} tokens", zorder=5,
    )  # fmt: skip


def _limits(axes: Axes, below: float, at: float, above: float) -> None:
    look: dict[str, Any] = {"color": style.BLACK, "linewidth": 0.8, "linestyle": (0, (4, 2)), "zorder": 0}
    axes.plot([0.1, 1.0], [below, below], **look)
    axes.plot([1.0, 2.1], [above, above], **look, label=r"limit $n \to \infty$")
    axes.plot(1.0, at, "*", color=style.BLACK, markersize=7.0, markeredgecolor="white", markeredgewidth=0.5, zorder=6)


def _overlaps(axes: Axes, part: Table) -> None:
    size = int(part["n"].max())
    for overlap, hue in ((0.2, style.PURPLE), (0.5, style.VERMILION)):
        rows = part.where(n=size, overlap=overlap)
        gamma = rows["scaled"] / (1.0 - overlap)
        axes.plot(
            gamma, rows.middles("value"), ".-", color=hue, markersize=3.0, linewidth=0.8, label=rf"$\rho = {overlap}$"
        )
        edge = 1.0 / (1.0 - overlap)
        style.guide(axes, x=edge, color=hue, line="dashed")
        value = 4.0 * overlap / (1.0 + 3.0 * overlap)
        axes.plot(
            edge, value, "*", color=style.BLACK, markersize=7.0, markeredgecolor="white",
            markeredgewidth=0.5, zorder=6,
        )  # fmt: skip
        wrong = 2.0 * overlap / (1.0 + overlap)
        axes.plot(edge, wrong, "x", color=style.GREY, markersize=4.0, markeredgewidth=0.9, zorder=6)
    style.guide(axes, x=1.0)
    axes.plot([], [], "*", color=style.BLACK, markersize=6.0, linestyle="none", label=r"$4\rho/(1 + 3\rho)$")
    axes.plot([], [], "x", color=style.GREY, markersize=4.0, linestyle="none", label=r"$2\rho/(1 + \rho)$: refuted")
    style.note(axes, r"$\gamma = 1$", (0.98, 0.19), color=style.GREY, rotation=90, ha="right", va="bottom")
    axes.set(xlabel=r"$\gamma$", ylabel="cosine of two outputs, $n = 10^{12}$", xlim=(0.5, 3.2), ylim=(0.15, 1.03))
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.06), frameon=True, edgecolor="none", framealpha=1.0)
