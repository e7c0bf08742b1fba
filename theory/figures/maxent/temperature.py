r"""Cooling three maps of the same six scores: entropy, size of the support and mean score against temperature.

Softmax keeps every score at every temperature. Entmax of order 3/2 and sparsemax keep all of them only above
:math:`(\alpha - 1)\|s - \min s\|_{1/(\alpha-1)}`, then lose them one by one, and are at the vertex of the largest score
from :math:`(\alpha - 1)\delta` on, with :math:`\delta` its distance to the second.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.maxent import studies

TITLE = "cold brings the largest score and heat the entropy; entmax and sparsemax drop scores, softmax none"
STUDY = studies.cooling
CLAIMS = ("naive.cooling",)

_LOOK: dict[str, dict[str, Any]] = {
    "softmax": {"color": style.BLUE, "linestyle": "-"},
    "entmax 1.5": {"color": style.GREEN, "linestyle": (0, (5, 1.5))},
    "sparsemax": {"color": style.VERMILION, "linestyle": (0, (2.5, 1))},
}
_WORDS = {
    "softmax": r"softmax, $\alpha = 1$", "entmax 1.5": r"entmax, $\alpha = \frac{3}{2}$",
    "sparsemax": r"sparsemax, $\alpha = 2$",
}  # fmt: skip
_END: dict[str, Any] = {"linewidth": 0.7, "linestyle": (0, (1, 1.5))}


def draw(table: Table) -> Figure:
    """Draw three panels over one axis of temperature."""
    figure = style.canvas(style.DOUBLE, 2.6)
    axes = figure.subplot_mosaic([["a", "b", "c"]])
    n = len(studies.COOLED)
    top = max(studies.COOLED)
    mean = float(np.mean(studies.COOLED))
    for name, look in _LOOK.items():
        part = table.where(map=name)
        tau = part["tau"]
        axes["a"].plot(tau, part["entropy.lo"] / 2 + part["entropy.hi"] / 2, label=_WORDS[name], **look)
        axes["b"].plot(tau, part["support"], drawstyle="steps-pre", **look)
        axes["c"].plot(tau, part["mean.lo"] / 2 + part["mean.hi"] / 2, **look)
        for end in (float(part["alone.hi"][0]), float(part["whole.hi"][0])):
            for panel in axes.values() if end > 0.0 else ():
                panel.axvline(end, color=look["color"], zorder=1, **_END)
    style.panel(axes["a"], "a", "heat raises the entropy")
    style.panel(axes["b"], "b", "and the support")
    style.panel(axes["c"], "c", "cold raises the mean score")
    axes["a"].set(ylabel="$H_1$ in nats", ylim=(-0.08, 1.15 * np.log(n)))
    axes["b"].set(ylabel="scores with weight", ylim=(0.6, n + 0.4), yticks=range(1, n + 1))
    axes["c"].set(ylabel=r"$\langle p, s\rangle$", ylim=(mean - 0.15, top + 0.2))
    _level(axes["a"], float(np.log(n)), rf"$\log {n}$")
    _level(axes["c"], top, r"$\max s$")
    _level(axes["c"], mean, "mean of $s$")
    for panel in axes.values():
        panel.set(xscale="log", xlabel=r"temperature $\tau$")
    axes["a"].plot([], [], color=style.GREY, label="ends: one score left, all kept", **_END)
    figure.legend(loc="outside upper center", ncols=4)
    return figure


def _level(axes: Axes, height: float, words: str) -> None:
    style.guide(axes, y=height)
    axes.annotate(
        words, (0.01, height), (2.0, 2.0), ("axes fraction", "data"), "offset points", color=style.GREY,
        size=style.SMALL, ha="left", va="bottom", bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
    )  # fmt: skip
