r"""How linear attention learns its step of descent by gradient flow: which share of the best multiple, over time.

Left: as a number times a matrix, both trained, from a hundredth of the best product on. Right: as one matrix, from the
same start. Marks are integrals of the inverse velocity at two variances of the noise, lines the formulas
:math:`1/(1 + 99e^{-4\sqrt dt})` and :math:`1 - 0.99e^{-2mt}` with :math:`m = 1 + (d + 1 + \sigma^2)/N`.
"""

from __future__ import annotations

import numpy as np

from theory.attention import in_context
from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure

TITLE = (
    "as a product linear attention waits, then learns at a pace that knows no noise; as one matrix it starts at once"
)
STUDY = in_context.learned
CLAIMS = ("descent.factored", "descent.rates")

_HUES = (style.BLUE, style.GREEN, style.VERMILION)  # by dimension
_LATEST = 2.5


def draw(table: Table) -> Figure:
    """Draw shares over time for both ways of training."""
    figure, (left, right) = style.row(
        2.6, "a number times a matrix, $\\Gamma = vG$", "one matrix $\\Gamma$", sharey=True
    )
    for axes, trained in zip((left, right), in_context.TRAINED, strict=True):
        _shares(axes, table.where(trained=trained), trained)
    left.set(ylabel=r"learned share $\gamma/\gamma^*$", ylim=(-0.02, 1.08))
    left.legend(loc="lower right")
    style.note(right, "filled: $\\sigma^2 = 0.5$; hollow: $\\sigma^2 = 3$", (0.97, 0.06), inside=True, ha="right")
    return figure


def _shares(axes: Axes, table: Table, trained: str) -> None:
    across = np.linspace(0.0, _LATEST, 200)
    start = float(in_context.START)
    for (d, n), hue in zip(in_context.LEARNERS, _HUES, strict=True):
        for noise in table.levels("noise"):
            rate = 2.0 * (1.0 + (d + 1.0 + noise) / n)
            line = 1.0 - (1.0 - start) * np.exp(-rate * across)
            if trained == "product":
                line = 1.0 / (1.0 + (1.0 / start - 1.0) * np.exp(-4.0 * np.sqrt(d) * across))
            axes.plot(across, line, "-", color=hue, linewidth=0.7)
            found = table.where(d=d, noise=noise)
            words = f"$d = {d}$, $N = {n}$" if noise < 1.0 else None
            style.marks(
                axes, found.middles("time"), found["share"], "o", color=hue, size=2.8 if noise < 1.0 else 4.6,
                hollow=noise > 1.0, label=words,
            )  # fmt: skip
    axes.set(xlabel="time $t$", xlim=(-0.02, _LATEST))
