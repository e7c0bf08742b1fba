r"""What is lost of coordinates and of inner products in few bits.

Left: the least mean square error of a coordinate, times :math:`4^b`, by bits; lines are the limit law
:math:`\sqrt3\pi/2` and two ways in which it is printed. Right: the error of a product with a query at right angles,
times the dimension, beside the four numbers that circulate: bars from the least to the largest that the claim allows.
"""

from __future__ import annotations

import math

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.precision import studies

TITLE = "what few bits lose of coordinates and of inner products is known to a digit, and is not always as printed"
STUDY = studies.distortions
CLAIMS = ("quantised.distortion", "quantised.inner-product")

_LAWS = {
    0: (style.BLACK, "Gaussian"), 128: (style.BLUE, "$d = 128$"), 16: (style.GREEN, "$d = 16$"),
    3: (style.ORANGE, "$d = 3$"),
}  # fmt: skip
_PRINTED = (1.57, 0.56, 0.18, 0.047)


def draw(table: Table) -> Figure:
    """Draw errors of coordinates, and of products beside those that are printed."""
    figure, (left, right) = style.row(2.7, "coordinates of variance one", "products: computed over printed")
    _coordinates(left, table)
    _products(right, table)
    return figure


def _coordinates(axes: Axes, table: Table) -> None:
    for height, words in (
        (math.sqrt(3.0) * math.pi / 2.0, r"$\sqrt{3}\pi/2$"), (math.sqrt(3.0 * math.pi) / 2.0, r"$\sqrt{3\pi}/2$"),
        (1.5 * math.pi, r"$3\pi/2$"),
    ):  # fmt: skip
        style.guide(axes, y=height, line="solid" if "3}\\pi" in words else "dotted")
        style.note(axes, words, (7.1, height), offset=(0, 1.5), ha="right", va="bottom")
    for dim, (hue, words) in _LAWS.items():
        found = table.where(dim=dim)
        axes.plot(
            found["bits"], 4.0 ** found["bits"] * found.middles("lost"), "o-", color=hue, markersize=3.0, label=words
        )
    axes.set(xlabel="bits $b$", ylabel=r"$4^b D_b$", xlim=(0.7, 7.2), ylim=(0.8, 5.4))
    axes.set_xticks(studies.BITS)
    axes.legend(loc="upper left", bbox_to_anchor=(0.0, 0.83))


def _products(axes: Axes, table: Table) -> None:
    places = np.arange(1, 5)
    for shift, (dim, hue, words) in enumerate(
        ((16, style.GREEN, "$d = 16$"), (128, style.BLUE, "$d = 128$"), (0, style.BLACK, r"$d \to \infty$"))
    ):
        lost = [1.0, *table.where(dim=dim).middles("lost")[:3]]
        most = np.array([math.pi / 2.0 * part for part in lost]) / _PRINTED
        least = np.array([(math.pi / 2.0 - (1.0 / (dim - 1) if dim else 0.0)) * part for part in lost]) / _PRINTED
        at = places + 0.16 * (shift - 1)
        axes.bar(at, np.maximum(most - least, 0.004), 0.12, bottom=least, color=hue, label=words)
    style.guide(axes, y=1.0)
    axes.set(xlabel="bits in all $b$", ylabel="error over the number printed", ylim=(0.85, 1.2))
    axes.set_xticks(places, [f"{b}\n({printed:g})" for b, printed in zip(places, _PRINTED, strict=True)])
    axes.legend(loc="upper left")
