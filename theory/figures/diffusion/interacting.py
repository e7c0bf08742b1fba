r"""Tokens whose weights come from n tokens, beside those that attend to their law, through layers.

A token's error is that of its linear response to the draw. It puts a cloud further from its law than a draw is; tokens
that repel each other stand nearer to it. Where layers become more and narrower at a fixed time, errors grow from layer
to layer; repelling tokens stop following their law after about :math:`n^{2/d}` layers.
"""

from __future__ import annotations

import numpy as np

from theory.diffusion import studies
from theory.diffusion.moving import displacement_variances, mean_field_deviations
from theory.diffusion.stack_settings import INTERACTING as SET
from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure

TITLE = "the more tokens, the nearer an interacting cloud stays to its mean-field law, layer upon layer"
STUDY = studies.interacting
CLAIMS = (
    "layers.interacting-rate", "layers.interacting-distance", "layers.interacting-uniform", "layers.interacting-stall",
)  # fmt: skip

_HUES = dict(zip(SET.dims, (style.BLUE, style.PURPLE, style.VERMILION), strict=True))
_MARKS = dict(zip(SET.dims, ("o", "D", "^"), strict=True))


def draw(table: Table) -> Figure:
    """Draw the error of a token, quotients of distances, errors at a fixed time, and how far clouds follow."""
    figure = style.canvas(style.DOUBLE, 4.9)
    (tokens, clouds), (flow, stall) = figure.subplots(2, 2)
    style.panel(tokens, "a", f"one token, layer {SET.tagged_layers[-1]}, averaging")
    style.panel(clouds, "b", "the cloud over a draw")
    style.panel(flow, "c", rf"$k\varepsilon = {SET.flow_time:g}$, {SET.flow_tokens} tokens on the line")
    style.panel(stall, "d", "repelling tokens: size over that of their law")
    for d in SET.dims:
        _token(tokens, table, d)
        _quotients(clouds, table, d)
        _sizes(stall, table, d)
    for way, hue, words in ((1, style.VERMILION, "averaging"), (-1, style.BLUE, "repelling")):
        _growth(flow, table, way, hue, words)
    tokens.set(xscale="log", yscale="log", xlabel="number of tokens $n$", ylabel="root mean square error")
    clouds.set(xscale="log", xlabel="number of tokens $n$", ylabel="quotient of $W_1$", ylim=(0.6, 1.9))
    flow.set(xscale="log", yscale="log", xlabel="number of layers $k$", ylabel="$n\\times$ mean square error")
    stall.set(xscale="log", xlabel=r"$k\,/\,n^{2/d}$", ylabel="quotient", ylim=(0.0, 1.1))
    style.guide(clouds, y=1.0)
    style.guide(stall, y=1.0)
    style.ticks(tokens, x=(30, 100, 250), y=(0.1, 0.2, 0.3))
    style.ticks(clouds, x=(20, 50, 100, 150))
    flow.set_ylim(0.5, 5e3)
    stall.set_xlim(left=3e-3)
    style.ticks(flow, x=SET.flow_layers)
    tokens.legend(loc="lower left")
    flow.legend(loc="upper left")
    stall.legend(loc="lower left")
    style.note(clouds, "averaging, layer 1", (22.0, 1.75))
    style.note(clouds, f"repelling, layer {SET.cloud_layers[-1]}", (22.0, 0.63))
    return figure


def _batches(table: Table, part: str, d: int, layer: int, way: int = 1) -> tuple[Array, Array]:
    rows = table.where(part=part, d=d, layer=layer, way=way, epsilon=SET.epsilon, series="near")
    sizes = np.unique(rows["n"])
    return sizes, np.stack([rows.where(n=n)["value"] for n in sizes.tolist()], axis=1)


def _token(axes: Axes, table: Table, d: int) -> None:
    """Draw errors less the control of mean zero over what the response says."""
    layer = SET.tagged_layers[-1]
    sizes, squares = _batches(table, "square", d, layer)
    seen = (squares - _batches(table, "control", d, layer)[1]).mean(axis=0)
    style.marks(axes, sizes, np.sqrt(seen / sizes), _MARKS[d], color=_HUES[d], label=f"$d = {d}$")
    limit = displacement_variances(d, SET.epsilon, layer)[-1].mid
    style.power(axes, sizes, (sizes[0], float(np.sqrt(limit / sizes[0]))), -0.5, color=_HUES[d])


def _quotients(axes: Axes, table: Table, d: int) -> None:
    for way, layer in ((1, SET.cloud_layers[0]), (-1, SET.cloud_layers[-1])):
        sizes, clouds = _batches(table, "cloud", d, layer, way)
        drawn = _batches(table, "drawn", d, 0)[1]
        law = float(mean_field_deviations(SET.epsilon, layer, value=way)[-1])
        found = (clouds / (law * drawn)).mean(axis=0)
        axes.plot(sizes, found, color=_HUES[d], linewidth=0.6, zorder=1)
        style.marks(axes, sizes, found, _MARKS[d], color=_HUES[d], hollow=way < 0)


def _growth(axes: Axes, table: Table, way: int, hue: str, words: str) -> None:
    """Draw the mean squares at a fixed time, and the linear response, which many tokens would follow."""
    found, limits = [], []
    for k in SET.flow_layers:
        rows = table.where(part="flow", layer=k, way=way)
        found.append(float(rows["value"].mean()))
        limits.append(displacement_variances(1, SET.flow_time / k, k, value=way, degree=20 * k)[-1].mid)
    style.marks(axes, SET.flow_layers, found, "o", color=hue, label=words)
    axes.plot(SET.flow_layers, limits, color=hue, linewidth=0.8, label=f"{words}, many tokens")


def _sizes(axes: Axes, table: Table, d: int) -> None:
    """Draw sizes against the number of layers in units of how many the cloud follows."""
    for k in SET.stall_layers[1:]:
        sizes, found = _batches(table, "size", d, k, -1)
        label = f"$d = {d}$" if k == SET.stall_layers[1] else None
        style.marks(axes, k / sizes ** (2.0 / d), found.mean(axis=0), _MARKS[d], color=_HUES[d], label=label)
