r"""The determinant of residual attention: for dot products it changes sign, however small the share, for distances not.

Where it is negative, :math:`X - cF(X)` turns space inside out and cannot be injective: past the first zero, tokens
(0, t, -t) share their image with a pair of others, of which the first token is not 0.
"""

from __future__ import annotations

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.lipschitz import studies

TITLE = "residual attention need not be injective: its determinant changes sign, and tokens share an image"
STUDY = studies.determinants
CLAIMS = ("depth.determinant", "depth.not-injective")

_HUES = dict(zip(studies.RESIDUAL_SHARES, (style.BLUE, style.VERMILION), strict=True))
_MARKS = dict(zip(studies.RESIDUAL_SHARES, ("o", "s"), strict=True))
_PRINTED = (0.0, 1.0, 2.0, 4.0, 6.0)


def draw(table: Table) -> Figure:
    """Draw determinants against the distance of the tokens, and what is sent to one place."""
    figure, (first, second) = style.row(
        2.6,
        r"the determinant at $(0, t, -t)$ changes sign",
        r"tokens that share the image $(0, s, -s)$",
        widths=[1.1, 1.0],
    )
    _volumes(first, table)
    _preimages(second, table.where(part="preimages"))
    return figure


def _volumes(axes: Axes, table: Table) -> None:
    style.guide(axes, y=0.0)
    for share, hue in _HUES.items():
        part = table.where(part="dot", share=share)
        value = part.middles("value")
        seen = value > -1.45
        axes.plot(part["place"][seen], value[seen], color=hue, label=f"dot product, $c = {share:g}$")
        named = np.isin(part["place"], _PRINTED) & seen
        axes.plot(part["place"][named], value[named], _MARKS[share], color=hue, markersize=3.4)
    part = table.where(part="distance")
    value = part.middles("value")
    axes.plot(part["place"], value, color=style.GREEN, linestyle=(0, (4, 2)), label="distance, $c = 0.9/(1 + 4c_3)$")
    axes.set(xlabel="$t$", ylabel=r"$\det(I - c\,dF)$", xlim=(-0.1, 6.5), ylim=(-1.5, 1.0))
    axes.legend(loc="lower left")


def _preimages(axes: Axes, table: Table) -> None:
    for share, hue in _HUES.items():
        part = table.where(share=share)
        place = part["place"]
        first = part.middles("value")
        middle = np.sort(place[(first == 0.0) & (place >= 0.0) & (place <= 11.5)])
        axes.plot(middle, np.zeros_like(middle), color=style.GREY, linewidth=0.7, zorder=1)
        for side in (-1.0, 1.0):
            branch = first * side > 0.0
            order = np.argsort(np.abs(first[branch]))
            axes.plot(
                place[branch][order], first[branch][order], f"{_MARKS[share]}-", color=hue, markersize=2.6,
                markevery=max(1, order.size // 12),
                label=f"$c = {share:g}$" if side > 0.0 else None,
            )  # fmt: skip
    style.note(axes, r"$(0, t, -t)$", (8.0, 0.0), offset=(0, 3), color=style.GREY, ha="center")
    axes.set(xlabel="$s$", ylabel="first token $x_1$", xlim=(0.0, 11.5), ylim=(-1.3, 1.3))
    axes.legend(
        loc="upper right", bbox_to_anchor=(1.0, 0.47), title=r"$X - cF(X)$, dot product", title_fontsize=style.SMALL
    )
