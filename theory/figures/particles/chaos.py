r"""Propagation of chaos with an exact reference: one token, and the cloud of all, against the mean-field system.

A token among n is off its mean-field path by :math:`\sqrt{v_d/n}` in every dimension, with :math:`v_d` from a linear
equation; on the line, what this response to the draw leaves is of order 1/n. The cloud of n tokens is off its law by
:math:`n^{-1/d}`, for it is a draw.
"""

from __future__ import annotations

import math

import numpy as np

from theory.evidence import Table, run_mean
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure
from theory.particles import studies
from theory.particles.mean_field import mean_field_deviation, tagged_variance
from theory.particles.studies.settings import CHAOS_ALPHA as ALPHA, CHAOS_DIMS as DIMS, CHAOS_TIME as TIME

TITLE = "one token nears its mean-field path like the root of n, and the cloud its law as slowly as samples do"
STUDY = studies.chaos
CLAIMS = ("chaos.tagged", "chaos.tagged-variance", "chaos.linear-response", "chaos.clouds")

_HUES = dict(zip((1, 2, 3, 6), (style.BLUE, style.PURPLE, style.VERMILION, style.GREEN), strict=True))
_MARKS = dict(zip((1, 2, 3, 6), ("o", "D", "^", "s"), strict=True))
_CONTROL = 2.0  # chosen, as any number may be: times the square of the mean token at time 0 less its mean d/n


def draw(table: Table) -> Figure:
    """Draw the root mean square of one token's error, its ratio to the prediction, and distances of clouds."""
    figure = style.canvas(style.DOUBLE, 3.0)
    axes = figure.subplot_mosaic([["a", "c"], ["b", "c"]], height_ratios=[2.3, 1.0])
    style.panel(axes["a"], "a", "one token nears its mean-field path")
    style.panel(axes["b"], "b", "measured over predicted")
    style.panel(axes["c"], "c", "the cloud nears its law slowly")
    for series in np.unique(table.where(part="end")["series"]).tolist():
        for d in np.unique(table.where(part="end", series=series)["d"]).tolist():
            _token(axes["a"], axes["b"], table.where(series=series, d=d), series, d)
    _rest(axes["a"], table)
    for d in DIMS:
        _cloud(axes["c"], table.where(series="near", d=d), d)
    style.guide(axes["b"], y=1.0)
    axes["a"].set(xscale="log", yscale="log", ylabel="root mean square error")
    axes["b"].set(xscale="log", xlim=axes["a"].get_xlim(), ylim=(0.75, 1.25), xlabel="number of tokens $n$")
    axes["a"].tick_params(labelbottom=False)
    axes["c"].set(xscale="log", yscale="log", xlabel="number of tokens $n$", ylabel="$W_1$")
    low, high = axes["a"].get_ylim()
    axes["a"].set_ylim(low, high * (high / low) ** 0.32)
    handles, labels = axes["a"].get_legend_handles_labels()
    tokens = len(labels) - 2  # the last two are what the response leaves, and its line
    key = axes["a"].legend(handles[:tokens], labels[:tokens], loc="upper right", ncols=tokens, columnspacing=1.0)
    axes["a"].add_artist(key)
    axes["a"].legend(handles[tokens:], labels[tokens:], loc="upper right", bbox_to_anchor=(1.0, 0.9), ncols=2)
    axes["c"].set_xlim(right=3.0 * axes["c"].get_xlim()[1])
    for look, words in (("o", "$n$ tokens"), ("none", "on mean-field paths")):
        face = style.GREY if look == "o" else "white"
        axes["c"].plot([], [], "o", color=style.GREY, markersize=3.4, markerfacecolor=face, label=words)
    axes["c"].legend(loc="lower left")
    return figure


def _squares(part: Table, d: int) -> tuple[Array, list[Array]]:
    """Return the sizes, and for each the mean squares of the batches less a control of mean zero."""
    c = mean_field_deviation(ALPHA, TIME)
    sizes = np.unique(part.where(part="end")["n"])
    found = []
    for n in sizes.tolist():
        end, cross, start, centre = (
            part.where(part=name, n=n)["value"] for name in ("end", "cross", "start", "centre")
        )
        found.append(end - 2.0 * c * cross + c * c * start - _CONTROL * (centre - d / n))
    return sizes, found


def _token(axes: Axes, ratio: Axes, part: Table, series: str, d: int) -> None:
    """Draw errors over the prediction; bars where there are batches enough for an interval."""
    sizes, squares = _squares(part, d)
    predicted = tagged_variance(d, ALPHA, TIME).mid
    root = np.sqrt([float(x.mean()) for x in squares])
    hue = _HUES[d]
    mark = _MARKS[d]
    face = _HUES[d] if series == "near" else "white"
    look = {"markersize": 3.4, "markeredgewidth": 0.7, "markeredgecolor": hue, "markerfacecolor": face}
    label = f"$d = {d}$" if series == "near" or d not in DIMS else None
    axes.plot(sizes, root, mark, label=label, zorder=3, **look)  # type: ignore[arg-type]
    line = np.array([0.7 * sizes[0], 1.4 * sizes[-1]])
    axes.plot(line, np.sqrt(predicted / line), color=hue, linewidth=0.8, zorder=1)
    for n, x in zip(sizes.tolist(), squares, strict=True):
        if x.size < 16:  # a single draw
            continue
        inside = run_mean(n * x) / predicted
        ends = [math.sqrt(max(end, 0.0)) for end in (inside.lo, inside.hi)]
        at = n * {1: 0.9, 2: 1.0, 3: 1.0, 6: 1.11}[d]
        ratio.plot([at, at], ends, color=hue, linewidth=0.8, zorder=2)
        ratio.plot(at, math.sqrt(max(inside.mid, 0.0)), mark, zorder=3, **look)  # type: ignore[arg-type]


def _rest(axes: Axes, table: Table) -> None:
    """Draw what the linear response leaves on the line."""
    part = table.where(part="residual")
    sizes = np.unique(part["n"])
    root = np.sqrt([float(part.where(n=n)["value"].mean()) for n in sizes.tolist()])
    axes.plot(sizes, root, "x", color=style.BLACK, markersize=3.4, label="$d = 1$, less linear response")
    style.power(axes, sizes, (sizes[0], root[0]), -1.0, color=style.BLACK, linestyle=(0, (4, 2)), label="$n^{-1}$")


def _cloud(axes: Axes, part: Table, d: int) -> None:
    for name, face in (("distance", _HUES[d]), ("drawn", "white")):
        one = part.where(part=name)
        sizes = np.unique(one["n"])
        middles = np.array([float(one.where(n=n)["value"].mean()) for n in sizes.tolist()])
        axes.plot(
            sizes, middles, _MARKS[d], markersize=3.4, markeredgewidth=0.7, markeredgecolor=_HUES[d],
            markerfacecolor=face, zorder=3,
        )  # fmt: skip
        if name == "drawn":
            rate = -1.0 / max(d, 2)
            style.power(axes, sizes, (sizes[-1], middles[-1]), rate, color=_HUES[d])
            words = f"$d = {d}$: $n^{{-1/{max(d, 2)}}}$"
            style.note(axes, words, (1.2 * sizes[-1], middles[-1]), color=_HUES[d], va="center")
