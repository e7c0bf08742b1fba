"""Singular values of the layer's Jacobian at the tokens."""

from __future__ import annotations

import numpy as np

from theory.figures import _style as style
from theory.figures._style import Figure
from theory.lipschitz.portrait import Portrait


def draw_spectrum(portrait: Portrait) -> tuple[Figure, list[str]]:
    """Draw the singular values, and how the worst displacement is spread over the tokens."""
    figure, (values, tokens) = style.row(2.6, "singular values of the Jacobian", "the worst displacement")
    found = portrait.singular
    floor = 1e-16 * max(float(found[0]), 1e-300)
    style.marks(values, np.arange(1, found.size + 1), np.maximum(found, floor), "o", color=style.BLUE, size=2.4)
    if found[0] > 0.0:
        values.set_yscale("log")
    style.guide(values, y=1.0, line="dashed")
    values.set(xlabel="number", ylabel="singular value")
    sizes = np.linalg.norm(portrait.worst, axis=1)
    tokens.bar(np.arange(1, sizes.size + 1), sizes, color=style.PALE)
    style.marks(tokens, portrait.sensitive + 1, sizes[portrait.sensitive], "o", color=style.VERMILION)
    tokens.set(xlabel="token", ylabel="length", ylim=(0.0, None))
    shown = "all" if portrait.whole else f"the largest {found.size}"
    words = (
        f"Singular values of the derivative of all outputs in all tokens, {shown}; the largest is {found[0]:.4g}, the "
        "most by which the layer stretches a small displacement of these tokens, in the root of the sum of squares. "
        "Right: the lengths by which that displacement moves the tokens."
    )
    return figure, [words]
