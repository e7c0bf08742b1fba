"""Attention maps of the heads, with the entropy and the effective number of tokens of their rows."""

from __future__ import annotations

import math

import numpy as np

from theory.figures import _style as style
from theory.figures._style import Figure
from theory.lipschitz.portrait import Portrait

_MOST = 16  # taken: heads that are shown
_ACROSS = 4


def draw_maps(portrait: Portrait) -> tuple[Figure, list[str]]:
    """Draw a panel for every head and one for the effective numbers, and say what they are."""
    heads, n, _ = portrait.maps.shape
    shown = min(heads, _MOST)
    down = math.ceil((shown + 1) / _ACROSS)
    figure = style.canvas(style.DOUBLE, 0.3 + 1.85 * down)
    panels = figure.subplots(down, _ACROSS, squeeze=False).ravel()
    for head, axes in enumerate(panels[:shown]):
        image = axes.imshow(portrait.maps[head], cmap="Blues", vmin=0.0, vmax=1.0, interpolation="nearest")
        entropy, effective = portrait.entropy[head].mean(), portrait.effective[head].mean()
        axes.set_title(f"head {head + 1}: {entropy:.2f} nat, {effective:.1f} tokens", size=style.SMALL)
        axes.set(xticks=[0, n - 1], yticks=[0, n - 1], xticklabels=["1", n], yticklabels=["1", n])
    figure.colorbar(image, ax=panels[shown - 1], shrink=0.75, label="weight")
    last = panels[shown]
    for head in range(heads):
        last.plot(np.arange(1, n + 1), portrait.effective[head], color=style.BLUE, alpha=0.5, linewidth=0.7)
    visible = np.arange(1, n + 1) if portrait.layer.causal else np.full(n, n)
    last.plot(np.arange(1, n + 1), visible, color=style.GREY, linewidth=0.7, linestyle=(0, (4, 2)))
    last.set(xlabel="query", ylim=(0.0, n * 1.05))
    last.set_title("effective tokens, every head", size=style.SMALL)
    for axes in panels[shown + 1 :]:
        axes.set_visible(False)
    rest = "" if heads == shown else f" The first {shown} of {heads} heads have a map."
    words = (
        "Rows are queries, columns keys. Titles: mean over the rows of the entropy, in nat, and of its exponential, "
        f"the effective number of tokens; dashed: what a query sees.{rest}"
    )
    return figure, [words]
