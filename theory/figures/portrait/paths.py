"""Tokens through layers of the same weights."""

from __future__ import annotations

import numpy as np

from theory.figures import _style as style
from theory.figures._style import Figure
from theory.lipschitz.portrait import Portrait


def draw_paths(portrait: Portrait) -> tuple[Figure, list[str]]:
    """Draw the paths of the tokens and how their spread changes from layer to layer."""
    figure, (plane, spread) = style.row(2.9, "tokens through layers", "spread", widths=(1.4, 1.0))
    paths = portrait.paths
    for token in range(paths.shape[1]):
        plane.plot(paths[:, token, 0], paths[:, token, 1], color=style.PALE, linewidth=0.6, zorder=1)
    style.marks(plane, paths[0, :, 0], paths[0, :, 1], "o", color=style.GREY, size=2.2, hollow=True)
    style.marks(plane, paths[-1, :, 0], paths[-1, :, 1], "o", color=style.BLUE, size=2.6)
    plane.set(xlabel="first direction of all tokens", ylabel="second")
    depth = np.arange(len(portrait.spreads))
    spread.plot(depth, portrait.spreads, "o-", color=style.BLUE, markersize=3.2, markeredgewidth=0)
    if (portrait.spreads > 0.0).all():
        spread.set_yscale("log")
    spread.set(xlabel="layer", ylabel="root mean squared distance", xticks=depth)
    words = (
        f"The same weights applied {len(depth) - 1} times, without normalisation, feed-forward network, and biases of "
        "values and outputs: hollow marks are the tokens, full ones the last layer. Right: the root of the mean "
        "squared distance of tokens from their mean, in all dimensions."
    )
    if len(paths) != len(depth):
        words = "Outputs have another dimension than tokens: the layer is applied once, and they alone are shown."
    return figure, [words]
