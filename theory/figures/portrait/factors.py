"""Where the certificate loses its factor: by the radius, by the softmax, by the heads."""

from __future__ import annotations

import math
from itertools import pairwise

from theory.figures import _style as style
from theory.figures._style import Figure
from theory.lipschitz.portrait import Portrait

_CAUSES = ("radius", "softmax", "heads")


def draw_factors(portrait: Portrait) -> tuple[Figure, list[str]]:
    """Draw the four levels, with the factors between them."""
    figure, (axes,) = style.row(2.4, "from the certificate to these tokens")
    found = portrait.levels
    finite = [level.value for level in found if 1e-300 < level.value < math.inf]
    top = max(finite, default=1.0)
    for place, level in enumerate(found):
        height = level.value if math.isfinite(level.value) else top * 10.0
        axes.bar(place, height, width=0.55, color=style.BLUE if place < 2 else style.SKY)
        style.note(axes, _number(level.value), (place, height), offset=(0, 2), ha="center", va="bottom")
    for place, (cause, (one, other)) in enumerate(zip(_CAUSES, pairwise(found), strict=True)):
        factor = one.value / other.value if other.value > 0.0 else math.inf
        style.note(
            axes, f"{cause}\n$\\times$ {_number(factor)}", ((2 * place + 2.0) / 8.0, 0.98), inside=True, ha="center",
            va="top", color=style.VERMILION,
        )  # fmt: skip
    if finite:
        axes.set(yscale="log", ylim=(0.5 * min(finite), 60.0 * top))
    axes.set_xticks(range(len(found)), [level.name for level in found])
    axes.set(xlim=(-0.5, 3.5), ylabel="constant, Frobenius")
    words = (
        "Dark: certified, for all tokens in the ball of the longest one, and at these tokens whatever the softmax; "
        "light, in floats: norms of the heads' own derivatives added up, and the norm of the layer's."
    )
    return figure, [words]


def _number(value: float) -> str:
    return "> 1e308" if math.isinf(value) else f"{value:.3g}"
