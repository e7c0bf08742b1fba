r"""The phase diagram of independent tokens over time and inverse temperature, and what theory says of it.

The mean overlap of 32 tokens, uniform on the sphere in dimension 256, under SA, in a cell for each time and temperature
that was computed; on top, the level lines of the overlap of equiangular tokens that start orthogonal, which is what the
mean overlap tends to in high dimension. Next to it the difference of both: at large :math:`\beta` a dimension of 256 is
not yet high, for the nearest pairs meet first and take the others along, sooner in some draws than in others, and each
row has draws of its own. Below, the largest deviation of any pair, times :math:`\sqrt d`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure
from theory.particles import studies
from theory.particles.exact import Equiangular

TITLE = "in high dimension independent tokens overlap as equiangular ones do, and meet before them at low temperatures"
STUDY = studies.equiangular
CLAIMS = ("equiangular.concentration",)

_LEVELS = (0.05, 0.5, 0.95)
_MOST = 0.7  # of the differences that are coloured
_RULES = {"SA": "self-attention", "USA": "unnormalised"}
_HUES = (style.BLUE, style.VERMILION, style.GREEN, style.PURPLE)


def draw(table: Table) -> Figure:
    """Draw the mean overlap next to its difference to theory, above deviations over the dimension and over time."""
    figure = style.canvas(style.DOUBLE, 5.0)
    axes = figure.subplot_mosaic([["a", "b"], ["c", "d"]], height_ratios=[1.15, 1.0])
    part = table.where(part="mean")
    n, d = int(part["n"][0]), int(part["d"][0])
    betas = np.unique(part["beta"])
    times = np.unique(part["t"])[1:]
    measured = np.array([part.where(beta=b).middles("value")[1:] for b in betas])
    theory = np.array([1.0 - Equiangular(n, float(b)).gap(times) for b in betas])
    style.panel(axes["a"], "a", f"{n} tokens meet, in dimension {d}")
    style.panel(axes["b"], "b", r"at large $\beta$ before equiangular ones")
    _map(figure, axes["a"], times, betas, measured, "cividis", (0.0, 1.0), "mean overlap")
    _map(figure, axes["b"], times, betas, measured - theory, "RdBu_r", (-_MOST, _MOST), "mean overlap less $\\rho(t)$")
    fine = np.linspace(betas[0], betas[-1], 91)
    late = np.geomspace(times[0], times[-1], 160)
    rho = np.array([1.0 - Equiangular(n, float(b)).gap(late) for b in fine])
    for each, hue in ((axes["a"], "white"), (axes["b"], style.BLACK)):
        lines = each.contour(late, fine, rho, levels=_LEVELS, colors=hue, linewidths=0.9, linestyles=["--", "-", ":"])
        places = [(0.53, 2.0), (1.8, 2.0), (3.4, 2.0)]  # where the curves are apart
        each.clabel(
            lines, fmt=lambda level: rf"$\rho = {level:g}$", fontsize=style.SMALL, inline_spacing=2, manual=places
        )
    _dimension(axes["c"], table)
    _time(axes["d"], table)
    return figure


def _map(
    figure: Figure,
    axes: Axes,
    times: Array,
    betas: Array,
    values: Array,
    colours: str,
    ends: tuple[float, float],
    words: str,
) -> None:
    """Draw a cell around each place of the table, with its borders halfway to the next ones."""
    low, high = ends
    across, up = np.exp(_borders(np.log(times))), _borders(betas)
    shown = axes.pcolormesh(across, up, values, cmap=colours, vmin=low, vmax=high, rasterized=True)
    bar = figure.colorbar(shown, ax=axes, aspect=22, pad=0.02)
    bar.outline.set_linewidth(0.5)
    bar.set_label(words)
    axes.set(xscale="log", xlabel="time $t$", ylabel=r"inverse temperature $\beta$")


def _borders(places: Array) -> Array:
    """Return the midpoints of places, and what lies as far beyond the first and the last."""
    inner = 0.5 * (places[1:] + places[:-1])
    return np.concatenate([[2.0 * places[0] - inner[0]], inner, [2.0 * places[-1] - inner[-1]]])


def _groups(table: Table, part: str) -> list[tuple[str, float, Table]]:
    found = table.where(part=part)
    keys = sorted(set(zip(found["rule"].tolist(), found["beta"].tolist(), strict=True)))
    return [(rule, beta, found.where(rule=rule, beta=beta)) for rule, beta in keys]


def _dimension(axes: Axes, table: Table) -> None:
    groups = _groups(table, "deviation")
    style.panel(axes, "c", rf"$n = {int(groups[0][2]['n'][0])}$: pairs are apart like $d^{{-1/2}}$")
    for number, ((rule, beta, found), hue) in enumerate(zip(groups, _HUES, strict=False)):
        sizes = np.unique(found["d"])
        batches = np.array([found.where(d=d).middles("value") for d in sizes]) * np.sqrt(sizes)[:, np.newaxis]
        across = sizes * 1.12 ** (number - (len(groups) - 1) / 2)  # side by side
        look: dict[str, Any] = {"color": hue, "markeredgewidth": 0, "linestyle": "none"}
        for column in batches.T:
            axes.plot(across, column, ".", markersize=2.0, alpha=0.35, **look)
        label = rf"{_RULES[rule]}, $\beta = {beta:g}$"
        axes.plot(across, batches.mean(axis=1), "o" if rule == "SA" else "s", markersize=3.8, label=label, **look)
    late = np.geomspace(10.0, float(sizes[-1]), 100)
    axes.plot(
        late, 10.0 / np.sqrt(late), color=style.GREY, linewidth=0.7, linestyle=(0, (4, 2)), label="if like $d^{-1}$"
    )
    axes.set(xscale="log", xlabel="dimension $d$, shifted a little", ylim=(0.0, 6.5))
    axes.set_ylabel(r"$\sqrt{d}\,\sup_t\max_{i\neq j}|\langle x_i,x_j\rangle-\rho|$")
    axes.legend(loc="upper right", columnspacing=0.8)


def _time(axes: Axes, table: Table) -> None:
    rule, beta, found = _groups(table, "over time")[0]
    style.panel(axes, "d", rf"most of it early ({_RULES[rule]}, $\beta = {beta:g}$)")
    sizes = np.unique(found["d"])
    shades = np.linspace(0.15, 0.85, sizes.size)
    for d, shade in zip(sizes.tolist(), shades, strict=True):
        part = found.where(d=d)
        hue = (0.0, 0.45 * (1.0 - shade) + 0.2, shade)
        axes.plot(part["t"], part.middles("value") * d**0.5, color=hue, label=f"$d = {d}$", linewidth=0.8)
    axes.set(xlabel="time $t$", ylabel=r"$\sqrt{d}\,\max_{i\neq j}|\langle x_i,x_j\rangle-\rho(t)|$", ylim=(0.0, None))
    axes.legend(loc="upper right", ncols=2, columnspacing=0.8)
