"""Where outputs go when the most sensitive token moves in a ball."""

from __future__ import annotations

import numpy as np

from theory.figures import _style as style
from theory.figures._style import Figure
from theory.lipschitz.portrait import Portrait

_COINCIDENT = 1e-6  # taken: outputs nearer than this, in their own size, are drawn as one
_SHARE = 0.15  # taken: of the width of the cloud, the largest half axis


def draw_ellipses(portrait: Portrait) -> tuple[Figure, list[str]]:
    """Draw the outputs, their ellipses, and the sizes of these."""
    figure, (plane, sizes) = style.row(2.9, "outputs, and where they go", "largest half axes", widths=(1.4, 1.0))
    centres = portrait.centres
    longest = float(np.linalg.norm(portrait.ellipses, ord=2, axis=(1, 2)).max())
    size = max(float(np.abs(centres).max()), longest) or 1.0
    spread = max(float(np.ptp(centres, axis=0).max()), _COINCIDENT * size)
    factor = _SHARE * spread / longest if longest > 0.0 else 0.0
    turn = np.linspace(0.0, 2.0 * np.pi, 121)
    circle = np.stack([np.cos(turn), np.sin(turn)])
    style.marks(plane, centres[:, 0], centres[:, 1], "o", color=style.GREY, size=2.0)
    for output, matrix in zip(portrait.followed, portrait.ellipses, strict=True):
        own = output == portrait.sensitive
        x, y = centres[output][:, np.newaxis] + factor * matrix @ circle
        plane.plot(x, y, color=style.VERMILION if own else style.BLUE, linewidth=0.8, alpha=1.0 if own else 0.6)
    (left, low), (right, high) = centres.min(axis=0) - 0.2 * spread, centres.max(axis=0) + 0.2 * spread
    plane.set(xlabel="first direction of the outputs", ylabel="second", aspect="equal")
    plane.set(xlim=(left, right), ylim=(low, high))
    axes = np.linalg.norm(portrait.ellipses, ord=2, axis=(1, 2))
    order = np.argsort(-axes, kind="stable")
    for place, which in enumerate(order, start=1):
        own = portrait.followed[which] == portrait.sensitive
        style.marks(sizes, place, axes[which], "o", color=style.VERMILION if own else style.BLUE)
    sizes.set(xlabel="outputs, by size", ylabel="half axis, of a unit ball", ylim=(0.0, 1.1 * max(longest, 1e-300)))
    words = (
        f"Token {portrait.sensitive + 1} of {len(centres)} moves most in the displacement that the layer stretches "
        "most. As it moves in a ball, the outputs that attend to it most go through these ellipses, drawn "
        f"{factor:.2g} times as large as for a ball of radius one, in the plane in which outputs spread most; its own "
        "is red."
    )
    return figure, [words]
