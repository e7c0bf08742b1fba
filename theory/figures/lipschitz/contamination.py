r"""Contamination and sampling error of attention, as measured, against their exact laws.

Outliers of share :math:`\epsilon`, whose weights are r times those of the clean data, takes the share
:math:`\theta = \epsilon r/(1 - \epsilon + \epsilon r)` of attention, and moves the law by that share of the way to its
own. Root N times the error of N drawn tokens tends to :math:`\sigma`, not to the deviation of the law of attention.
"""

from __future__ import annotations

import math

import numpy as np

from theory.attention import Measure
from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.lipschitz import studies
from theory.lipschitz.constants import contaminated_share, sampling_deviation
from theory.lipschitz.studies import RARE

TITLE = "outliers of high score take more attention than their share, and move the output, by exact laws"
STUDY = studies.contamination
CLAIMS = ("gibbs.contamination", "gibbs.fluctuation")

_HUES = (style.BLUE, style.VERMILION, style.GREEN)
_MARKS = ("o", "^", "s")
_FINE = np.geomspace(2.0**-13, 0.6, 200)


def draw(table: Table) -> Figure:
    """Draw the mass that outliers take, how far it moves a cloud, and the error of N tokens times root N."""
    figure = style.canvas(style.DOUBLE, 2.9)
    axes = figure.subplot_mosaic([["a", "b", "c"]])
    style.panel(axes["a"], "a", "outliers take more than their share")
    style.panel(axes["b"], "b", "and move the law as far")
    style.panel(axes["c"], "c", "few drawn tokens miss them")
    for number, tilt in enumerate(table.levels("tilt")):
        part = table.where(tilt=tilt)
        _share(axes["a"], part.where(part="mass"), number, rf"odds $e^{{{tilt:g}}}$")
        _share(axes["b"], part.where(part="distance"), number, "")
        most = [contaminated_share(e, tilt) for e in _FINE.tolist()]
        axes["b"].plot(_FINE, most, color=_HUES[number], linewidth=0.6, linestyle=(0, (1, 1.5)))
        _sampling(axes["c"], part.where(part="sampling"), number)
    for letter in "ab":
        each = axes[letter]
        each.plot(_FINE, _FINE, color=style.GREY, linewidth=0.6, linestyle=(0, (4, 2)), zorder=1)
        each.set(xscale="log", yscale="log", xlabel=r"share of outliers, $\epsilon$", ylim=(1e-4, 1.3))
    axes["a"].set_ylabel(r"share of attention, $\theta$")
    axes["b"].set_ylabel(r"$W_1(\Psi_g\mu_\epsilon, \Psi_g\mu)\,/\,W_1(\Psi_g\eta, \Psi_g\mu)$")
    _key(axes["a"], r"$\theta = \epsilon$")
    axes["a"].legend(loc="lower right", title="marks: measured", title_fontsize=style.SMALL, markerscale=1.4)
    axes["b"].plot([], [], color=style.GREY, label=r"exact law")
    axes["b"].plot([], [], color=style.GREY, linewidth=0.6, linestyle=(0, (1, 1.5)), label="most at such odds")
    axes["b"].legend(loc="upper left")
    _key(axes["b"], r"$\theta = \epsilon$")
    last = axes["c"]
    last.set(
        xscale="log", xlabel="number of tokens, $N$", ylabel=r"$\sqrt{N}\times$ root mean square error", ylim=(0, 1.5)
    )
    last.set_xscale("log", base=2)
    last.plot([], [], color=style.GREY, label=r"limit $\sigma$")
    last.plot([], [], color=style.GREY, linestyle=(0, (1, 1.5)), label=r"$\sqrt{\mathrm{Var}_\Psi}$, no limit")
    last.legend(loc="upper right", title="marks: exact sum", title_fontsize=style.SMALL)
    return figure


def _key(axes: Axes, words: str) -> None:
    style.note(axes, words, (0.02, 0.02), offset=(9, -9), color=style.GREY, ha="center")


def _share(axes: Axes, part: Table, number: int, label: str) -> None:
    """Draw measured shares as marks, and the exact law of their odds as a line."""
    odds = float(part.middles("odds")[0])
    look = {"color": _HUES[number], "marker": _MARKS[number], "markersize": 3.2, "markeredgewidth": 0}
    axes.plot(_FINE, _FINE * odds / (1.0 - _FINE + _FINE * odds), color=_HUES[number])
    axes.plot(part["at"], part.middles("seen"), linestyle="none", label=label, **look)  # type: ignore[arg-type]


def _sampling(axes: Axes, part: Table, number: int) -> None:
    """Draw exact errors as marks, their limit as a line, and the deviation of the law of attention dotted."""
    tilt = float(part["tilt"][0])
    hue = _HUES[number]
    style.marks(axes, part["at"], part.middles("seen"), _MARKS[number], color=hue)
    axes.axhline(sampling_deviation(Measure([[0.0], [1.0]], [1.0 - RARE, RARE]), [0.0, tilt]), color=hue, zorder=1)
    heavy = RARE * math.exp(tilt) / (1.0 - RARE + RARE * math.exp(tilt))
    axes.axhline(math.sqrt(heavy * (1.0 - heavy)), color=hue, linestyle=(0, (1, 1.5)), zorder=1)
