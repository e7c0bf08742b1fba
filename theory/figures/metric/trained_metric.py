r"""The metric that training makes on the two moons, and how far one layer is from its limit at the bandwidth it uses.

Each ellipse is the set of points at one learned distance from its centre: where it is small, the metric is large. The
errors are those of the change that one layer makes to points of the plane, on their law, without sampling.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.collections import EllipseCollection
from matplotlib.ticker import NullFormatter
from numpy.typing import NDArray

from theory.evidence import Table
from theory.experiments import studies
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure

TITLE = "training stretches the metric of attention, and takes a layer further from its limit"
STUDY = studies.trained_layer
CLAIMS = ("trained.small-bandwidth", "trained.half-bandwidth", "trained.semigroup")

_DISTANCE = 0.07  # of the ellipses, in the unit of the features
_ELLIPSES = 50
_HALF = 0.5


def draw(table: Table) -> Figure:
    """Draw the metric at points before and after training, and the errors against the bandwidth."""
    figure = style.canvas(style.DOUBLE, 4.9)
    axes = figure.subplot_mosaic([["a", "b"], ["c", "d"]], height_ratios=[1.0, 1.15])
    for letter, stage in (("a", "before"), ("b", "after")):
        _ellipses(axes[letter], table.where(network=0, stage=stage, epsilon=0.0))
        style.panel(axes[letter], letter, f"learned metric {stage} training, one network")
    for letter, stage in (("c", "before"), ("d", "after")):
        _errors(axes[letter], table, stage)
        style.panel(axes[letter], letter, f"one layer {stage} training")
    axes["c"].set_ylabel("error / what the layer does")
    axes["c"].legend(loc="lower right", bbox_to_anchor=(0.91, 0.0))
    low = min(axes[k].get_ylim()[0] for k in "cd")
    high = max(axes[k].get_ylim()[1] for k in "cd")
    for letter in "cd":
        axes[letter].set(ylim=(low, 2.0 * high))
    return figure


def _ellipses(axes: Axes, part: Table) -> None:
    t = np.linspace(0.0, np.pi, 200)
    for x, y in ((np.cos(t), np.sin(t)), (1.0 - np.cos(t), 0.5 - np.sin(t))):
        axes.plot(x, y, color=style.PALE, linewidth=2.4, solid_capstyle="round", zorder=0)
    places = np.stack([part["x"], part["y"]], axis=1)
    metric = np.stack([part[f"m_{k}"] for k in ("xx", "xy", "xy", "yy")], axis=1).reshape(-1, 2, 2)
    values, vectors = np.linalg.eigh(metric)
    chosen = _apart(places)
    turn = np.degrees(np.arctan2(vectors[chosen, 1, 0], vectors[chosen, 0, 0]))
    long, short = (2.0 * _DISTANCE / np.sqrt(values[chosen, k]) for k in (0, 1))
    ellipses = EllipseCollection(
        long, short, turn, units="xy", offsets=places[chosen], transOffset=axes.transData, facecolor=style.SKY,
        edgecolor=style.BLUE, alpha=0.55, linewidth=0.5,
    )  # fmt: skip
    axes.add_collection(ellipses)
    style.marks(axes, places[chosen, 0], places[chosen, 1], ".", color=style.BLACK, size=1.4)
    axes.set(xlim=(-1.75, 2.75), ylim=(-1.2, 1.75), aspect="equal", xticks=[-1, 0, 1, 2], yticks=[-1, 0, 1])
    style.note(axes, "class 0, upper moon", (-1.65, 1.5), color=style.GREY, ha="left")
    style.note(axes, "class 1, lower moon", (2.7, -1.12), color=style.GREY, ha="right")


def _apart(places: Array) -> NDArray[np.int_]:
    """Choose points one after the other, each as far as possible from those chosen before."""
    chosen = [0]
    far = np.linalg.norm(places - places[0], axis=1)
    while len(chosen) < min(_ELLIPSES, len(places)):
        chosen.append(int(far.argmax()))
        far = np.minimum(far, np.linalg.norm(places - places[chosen[-1]], axis=1))
    return np.array(chosen)


def _errors(axes: Axes, table: Table, stage: str) -> None:
    """Draw the errors of the first network, and at one half those of all."""
    part = table.where(stage=stage, rung=0)
    one = part.where(network=0)
    epsilons = np.array(sorted(set(one["epsilon"].tolist()) - {0.0}))
    lines: tuple[tuple[str, Callable[[Table], Array], str, str], ...] = (
        (r"$\varepsilon L$", lambda rows: rows["epsilon"] * _operator(rows), style.ORANGE, "dashed"),
        (r"$\frac{\varepsilon}{2}L$", lambda rows: 0.5 * rows["epsilon"] * _operator(rows), style.BLUE, "solid"),
        ("100 tokens", lambda rows: _pair(rows, "token"), style.GREY, "dotted"),
    )
    for label, guess, hue, line in lines:
        errors = [_error(one.where(epsilon=e), guess) for e in epsilons.tolist()]
        marker = "o" if line == "solid" else ""
        style.convergence(axes, epsilons, errors, color=hue, mark=marker, line=line, label=label)
    half = [part.where(network=n, epsilon=_HALF) for n in part.levels("network")]
    firsts = [_error(rows, lines[1][1]) for rows in half]
    flows = [_error(rows, lambda rows: _middles(rows, "flow")) for rows in half]
    style.guide(axes, x=_HALF)
    axes.plot(np.full(len(firsts), _HALF), firsts, "_", color=style.BLUE, markersize=6.0, markeredgewidth=0.7)
    axes.plot(
        np.full(len(flows), _HALF), flows, "_", color=style.VERMILION, markersize=6.0, markeredgewidth=0.7,
        label=r"$e^{\varepsilon L/2} - 1$",
    )  # fmt: skip
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set(xlabel=r"bandwidth $\varepsilon$", xlim=(epsilons[0] / 1.6, 1.3))
    axes.annotate(
        r"all networks at $\varepsilon = \frac{1}{2}$", (_HALF, 1.0), (-4, -1), xycoords=("data", "axes fraction"),
        textcoords="offset points", size=style.SMALL, color=style.GREY, ha="right", va="top",
    )  # fmt: skip


def _pair(rows: Table, name: str) -> Array:
    return np.stack([rows[f"{name}_x"], rows[f"{name}_y"]])


def _middles(rows: Table, name: str) -> Array:
    return np.stack([rows.middles(f"{name}_x"), rows.middles(f"{name}_y")])


def _operator(rows: Table) -> Array:
    return _middles(rows, "laplace") + 2.0 * (_middles(rows, "pull") - _middles(rows, "volume"))


def _error(rows: Table, guess: Callable[[Table], Array]) -> float:
    change = _middles(rows, "change")
    return float(np.linalg.norm(change - guess(rows)) / np.linalg.norm(change))
