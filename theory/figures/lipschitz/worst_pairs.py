r"""The constants of dot-product attention on a ball, and what a search over two weighted atoms finds below them.

In :math:`W_1` forms of negative sign reach :math:`e^{2\alpha}(1 + 2\alpha)` for every :math:`\alpha`, and positive ones
stay far below. In :math:`W_2` the refined constant leaves a smaller gap than :math:`e^\alpha(1 + \alpha) + \alpha`.
"""

from __future__ import annotations

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Figure
from theory.lipschitz import studies
from theory.lipschitz.constants import refined_w2_constant, sharp_w1_constant

TITLE = "a search reaches the sharp constant in W1, and most of the refined one in W2"
STUDY = studies.worst_pairs
CLAIMS = ("lipschitz.sharp-w1", "lipschitz.refined-w2")


def draw(table: Table) -> Figure:
    """Draw the constants with what is found, then the shares of the constants that are found."""
    figure = style.canvas(style.DOUBLE, 2.9)
    axes = figure.subplot_mosaic([["a", "b", "c"]], width_ratios=[1.0, 1.0, 1.05])
    fine = np.linspace(0.0, 4.2, 200)
    one = np.array([sharp_w1_constant(a) for a in fine])
    two = np.array([refined_w2_constant(a) for a in fine])
    old = np.exp(fine) * (1.0 + fine) + fine
    style.panel(axes["a"], "a", "$W_1$: the constant is reached")
    style.panel(axes["b"], "b", "$W_2$: none found reaches it")
    style.panel(axes["c"], "c", "share of the constant found")
    axes["a"].plot(fine, one, color=style.BLACK)
    style.note(axes["a"], r"$e^{2\alpha}(1 + 2\alpha)$", (2.35, 4e3), ha="right")
    axes["b"].plot(fine, old, color=style.GREY, linestyle=(0, (4, 2)))
    axes["b"].plot(fine, two, color=style.BLACK)
    style.note(axes["b"], r"$e^{\alpha}(1 + \alpha) + \alpha$", (1.9, 65.0), ha="right", color=style.GREY)
    style.note(axes["b"], "refined", (2.75, 21.0), ha="left")
    for name, p in (("a", 1.0), ("b", 2.0)):
        for sign, hue, mark, words in ((-1.0, style.VERMILION, "o", "$B < 0$"), (1.0, style.BLUE, "s", "$B > 0$")):
            part = table.where(p=p, sign=sign)
            axes[name].plot(part["alpha"], part.middles("stretch"), mark, color=hue, markersize=3, label=words)
        axes[name].set(yscale="log", xlabel=r"$\alpha = \|B\|R^2$", ylabel=f"stretch of $W_{p:.0f}$", xlim=(0, 4.2))
        axes[name].set_ylim(0.8, None)
    axes["a"].legend(loc="upper left", title="found", title_fontsize=style.SMALL)
    shares = axes["c"]
    alphas = np.unique(table["alpha"])
    best = {p: np.array([table.where(p=p, alpha=a).middles("stretch").max() for a in alphas]) for p in (1.0, 2.0)}
    older = np.exp(alphas) * (1.0 + alphas) + alphas
    lines = (
        (best[1.0] / [sharp_w1_constant(a) for a in alphas], style.BLACK, "v", "solid", r"$W_1$, sharp"),
        (best[2.0] / [refined_w2_constant(a) for a in alphas], style.GREEN, "D", "solid", r"$W_2$, refined"),
        (best[2.0] / older, style.GREY, "^", (0, (4, 2)), r"$W_2$, $e^{\alpha}(1 + \alpha) + \alpha$"),
    )
    for values, hue, mark, dashes, words in lines:
        shares.plot(alphas, values, color=hue, marker=mark, markersize=3, linestyle=dashes, label=words)
    shares.set(xlabel=r"$\alpha$", ylabel="found over constant", xlim=(0, 4.2), ylim=(0.0, 1.05))
    shares.legend(loc="lower right")
    return figure
