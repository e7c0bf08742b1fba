r"""How likely two tokens under one noise end opposite to each other, over the inverse temperature.

Both are orthogonal at first. Lines are integrals of the scale, by dimension; crosses on the axis are where
:math:`\cosh2\beta = d - 2`, below which they always meet; bars are shares of drawn pairs, with their intervals.
"""

from __future__ import annotations

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Figure
from theory.particles.studies import common_noise

TITLE = "above a threshold of beta two tokens may end opposite under one noise"
STUDY = common_noise.chances
CLAIMS = ("common-noise.antipodal", "common-noise.threshold")

_HUES = {3: style.BLUE, 4: style.VERMILION, 6: style.GREEN}


def draw(table: Table) -> Figure:
    """Draw probabilities over the inverse temperature."""
    figure = style.canvas(style.SINGLE, 2.6)
    axes = figure.subplots()
    for dim, hue in _HUES.items():
        found, onset = table.where(part="exact", dim=dim), table.where(part="threshold", dim=dim)["beta"]
        betas = np.concatenate([onset, found["beta"]])
        axes.plot(betas, np.concatenate([[0.0], found.middles("value")]), "-", color=hue, label=f"$d = {dim}$")
        axes.plot(onset, [0.0], "x", color=hue, markersize=5.0, clip_on=False)
        for beta, share in zip(
            table.where(part="drawn", dim=dim)["beta"].tolist(),
            table.where(part="drawn", dim=dim).intervals("value"),
            strict=True,
        ):
            axes.plot([beta, beta], [share.lo, share.hi], "-", color=hue, linewidth=2.5, alpha=0.4)
    style.guide(axes, y=0.5)
    axes.set(xlabel=r"inverse temperature $\beta$", ylabel="probability of opposite ends")
    axes.set(xlim=(0.0, 2.1), ylim=(0.0, 0.58))
    axes.legend(loc="upper left", bbox_to_anchor=(0.0, 0.86))
    return figure
