r"""One attention output over n independent Gaussian keys: its spread and bias, and the number of keys for their laws.

With p the deviation of the scores, n times variance and bias tend to :math:`e^{p^2}(1 + p^2)` and :math:`-pe^{p^2}`.
The mean of :math:`\sum_jP_j^2` shrinks like :math:`n^{-\rho}`, with :math:`\rho` of :math:`\theta = p^2/\log n`:
the delta method says :math:`1 - \theta`, which is right up to :math:`\theta = 2/3` only; then it is
:math:`(1 - \theta/2)^2/(2\theta)`, up to :math:`\theta = 2`.
"""

from __future__ import annotations

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.particles import studies

TITLE = "spread and bias of an output fall like 1/n, but only once there are exponentially many keys"
STUDY = studies.outputs
CLAIMS = ("chaos.fluctuation", "chaos.effective-tokens")

_HUES = (style.BLUE, style.VERMILION, style.GREEN, style.PURPLE)
_MARKS = ("o", "^", "s", "D")
_SHIFT = 2.0 / 3.0  # where the delta method ceases to hold, in units of theta
_END = 2.0  # where the sum of squares ceases to vanish


def draw(table: Table) -> Figure:
    """Draw n times the variance and the bias against n, and the exponent of the sum of squared weights."""
    figure = style.canvas(style.DOUBLE, 2.75)
    axes = figure.subplot_mosaic([["a", "b", "c"]], width_ratios=[1.0, 1.0, 1.25])
    style.panel(axes["a"], "a", r"$n\,\mathrm{Var}$ of one output")
    style.panel(axes["b"], "b", r"$-n\times$ bias of one output")
    style.panel(axes["c"], "c", r"exponent of $\mathbb{E}\,\Sigma_j P_j^2 = n^{-\rho}$")
    tilts = np.unique(table.where(part="bias")["p"]).tolist()
    for number, p in enumerate(tilts):
        _moments(axes["a"], table.where(part="variance", p=p), number, np.exp(p * p) * (1.0 + p * p), 1.0)
        _moments(axes["b"], table.where(part="bias", p=p), number, p * np.exp(p * p), -1.0)
    for letter in "ab":
        axes[letter].set(xscale="log", yscale="log", xlabel="number of keys $n$")
    most = float(np.exp(tilts[-1] ** 2) * (1.0 + tilts[-1] ** 2))
    axes["a"].set_ylim(0.9, most * (most / 0.9) ** 0.45)  # room for the key
    axes["a"].plot([], [], color=style.BLACK, linewidth=0.7, label=r"$e^{p^2}(1 + p^2)$")
    axes["a"].legend(loc="upper left", ncols=2, columnspacing=1.0)
    axes["b"].plot([], [], color=style.BLACK, linewidth=0.7, label=r"$p\,e^{p^2}$")
    axes["b"].set_ylim(0.3, 8.0 * float(tilts[-1] * np.exp(tilts[-1] ** 2)))
    handles, labels = axes["b"].get_legend_handles_labels()
    axes["b"].legend(handles[-1:], labels[-1:], loc="upper left")
    _exponents(axes["c"], table.where(part="participation", growth=0.0))
    return figure


def _moments(axes: Axes, part: Table, number: int, limit: float, sign: float) -> None:
    n = 2.0 ** part["bits"]
    hue = _HUES[number]
    style.guide(axes, y=limit, color=hue)
    style.marks(
        axes, n, sign * part.middles("value"), _MARKS[number], color=hue, size=3.0, label=f"$p = {part['p'][0]:g}$"
    )


def _exponents(axes: Axes, part: Table) -> None:
    """Draw the exponent for several n, where it tends to, and what the delta method says."""
    theta = np.linspace(0.02, 3.2, 400)
    rare = np.where(theta < _END, (1.0 - np.minimum(theta, _END) / 2.0) ** 2 / (2.0 * theta), 0.0)
    axes.plot(theta, np.where(theta < _SHIFT, 1.0 - theta, rare), color=style.BLACK, label=r"$n \to \infty$", zorder=3)
    axes.plot(
        theta, 1.0 - theta, color=style.GREY, linewidth=0.8, linestyle=(0, (4, 2)), label="delta method", zorder=1
    )
    for number, bits in enumerate(part.levels("bits")):
        one = part.where(bits=bits)
        log_n = bits * np.log(2.0)
        axes.plot(
            one["p"] ** 2 / log_n, -np.log(one.middles("value")) / log_n, _MARKS[number], markersize=3.0,
            markerfacecolor="none", markeredgewidth=0.7, markeredgecolor=_HUES[number], label=f"$n = 2^{{{bits}}}$",
            linestyle="none",
        )  # fmt: skip
    style.guide(axes, y=0.0, color=style.PALE)
    for place, words in ((_SHIFT, r"$n = e^{3p^2/2}$"), (1.0, r"$n = e^{p^2}$"), (_END, r"$n = e^{p^2/2}$")):
        style.guide(axes, x=place, line="dotted")
        style.note(axes, words, (place - 0.03, -0.37), rotation=90, color=style.GREY, va="bottom", ha="right")
    axes.set(xlim=(0.0, 3.1), ylim=(-0.4, 1.0), xlabel=r"$p^2 / \log n$", ylabel=r"$\rho$")
    axes.legend(loc="upper right")
