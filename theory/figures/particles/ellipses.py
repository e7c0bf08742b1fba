r"""Covariance ellipses of a Gaussian under attention in three normalisations, from one start and one cross term.

The ellipses are :math:`x^\top\Sigma^{-1}x = 1`. Under softmax they blow up at :math:`t^\star`; under the distance
kernel and Sinkhorn's normalisation they pass that time and grow. The eigenvalues of the scaled covariance
:math:`A^{1/2}\Sigma A^{1/2}` run on an exact clock each, the lines of the last panel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.patches import Ellipse

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure
from theory.particles import studies
from theory.particles.mean_field import blow_up_time
from theory.particles.studies import settings

TITLE = "covariances blow up in finite time under softmax, and not under distance and Sinkhorn attention"
STUDY = studies.gaussian_ellipses
CLAIMS = ("gaussian-flow.closed-form", "gaussian-flow.eigenvectors", "gaussian-flow.blow-up")

_NAMES = {"softmax": "softmax", "distance": "distance", "sinkhorn": "Sinkhorn"}
_HUES = {"softmax": style.VERMILION, "distance": style.GREEN, "sinkhorn": style.BLUE}
_MARKS = {"softmax": "o", "distance": "^", "sinkhorn": "s"}
_SHOWN = (0.0, 0.25, 0.5, 0.546875, 1.0, 1.5)
_BEFORE, _AFTER = ("#A6CBE8", "#5BA0D0", "#1F6FAE", "#08305C"), (style.ORANGE, style.VERMILION)
_REACH = (3.9, 2.0)


def _sinkhorn(m: Array) -> Array:
    angle = np.arcsinh(2.0 * m)
    clock: Array = angle - 1.0 / np.tanh(angle / 2.0)
    return clock


_CLOCKS: dict[str, Callable[[Array], Array]] = {
    "softmax": lambda m: -1.0 / m,
    "distance": lambda m: np.log(m) - 1.0 / m,
    "sinkhorn": _sinkhorn,
}


def draw(table: Table) -> Figure:
    """Draw the ellipses to one scale, and the eigenvalues that keep time."""
    table = table.where(form="symmetric")
    figure = style.canvas(style.DOUBLE, 4.1)
    axes = figure.subplots(2, 2)
    end = blow_up_time(settings.FORM, settings.START)
    for letter, (kernel, name), each in zip("abc", _NAMES.items(), axes.flat[:3], strict=True):
        style.panel(each, letter, name)
        _ellipses(each, table.where(kernel=kernel), end)
        each.set(xlabel="$x_1$", ylabel="$x_2$")
    axes[0, 0].text(3.8, -1.9, rf"$t^\star = {end:.4f}$", ha="right", va="bottom")
    style.panel(axes[1, 1], "d", r"eigenvalues of $A^{1/2}\Sigma A^{1/2}$")
    _eigenvalues(axes[1, 1], table, end)
    lines = [
        axes[0, 0].plot([], [], color=_hue(t, end), linestyle=_line(t, end), label=f"$t = {t:.3g}$")[0]
        for t in _SHOWN
    ]  # fmt: skip
    figure.legend(handles=lines, loc="outside upper center", ncols=len(_SHOWN))
    return figure


def _hue(t: float, end: float) -> str:
    """Return the colour of a time: the darker the later, and another one after the blow-up of softmax."""
    before = [time for time in _SHOWN if time < end]
    after = [time for time in _SHOWN if time > end]
    return _BEFORE[before.index(t)] if t < end else _AFTER[after.index(t)]


def _line(t: float, end: float) -> Any:
    """Return the line of a time: dashed after the blow-up of softmax."""
    return "solid" if t < end else (0, (4, 1.5))


def _covariance(part: Table, row: int) -> Array:
    xx, xy, yy = (float(part.middles(name)[row]) for name in ("xx", "xy", "yy"))
    return np.array([[xx, xy], [xy, yy]])


def _ellipses(axes: Axes, part: Table, end: float) -> None:
    for row, t in enumerate(part["t"].tolist()):
        if t not in _SHOWN:
            continue
        values, vectors = np.linalg.eigh(_covariance(part, row))
        angle = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])))
        axes.add_patch(
            Ellipse(
                (0.0, 0.0), 2.0 * float(np.sqrt(values[1])), 2.0 * float(np.sqrt(values[0])), angle=angle,
                fill=False, edgecolor=_hue(t, end), linestyle=_line(t, end), linewidth=1.0,
            )
        )  # fmt: skip
    (x, y) = _REACH
    axes.set(xlim=(-x, x), ylim=(-y, y), aspect="equal", xticks=range(-3, 4), yticks=range(-2, 3))


def _eigenvalues(axes: Axes, table: Table, end: float) -> None:
    """Draw what the flows gave, and the clocks, which are explicit in the eigenvalue."""
    for kernel, name in _NAMES.items():
        part = table.where(kernel=kernel)
        scaled = [2.0 * settings.KEY @ _covariance(part, row) @ settings.KEY for row in range(len(part))]
        values = np.array([np.linalg.eigvalsh(m) for m in scaled])
        for number in (0, 1):
            style.marks(
                axes,
                part["t"],
                values[:, number],
                _MARKS[kernel],
                color=_HUES[kernel],
                size=2.8,
                label=name if number else None,
            )
            line = np.geomspace(values[0, number], 40.0, 400)
            times = (_CLOCKS[kernel](line) - _CLOCKS[kernel](line[:1])) / 2.0
            there = times < (end if kernel == "softmax" else np.inf)
            axes.plot(times[there], line[there], color=_HUES[kernel], linewidth=0.7, zorder=1)
    axes.axvline(end, ymin=0.17, color=style.GREY, linewidth=0.6, linestyle=(0, (2, 2)), zorder=0)
    style.note(axes, r"$t^\star$", (end, 25.0), offset=(3.0, 0.0), color=style.GREY)
    axes.set(yscale="log", xlim=(-0.03, 1.55), ylim=(0.07, 40.0), xlabel="time $t$")
    style.ticks(axes, y=[0.1, 1, 10])
    axes.legend(loc="lower right", ncols=3, columnspacing=1.0)
