r"""A density as a shape: the drift-diffusion of attention on a circle is plain heat flow on a surface of revolution.

With density p on a circle, a layer of attention moves functions by :math:`\frac\varepsilon2(h'' + 2(\log p)'h')`. The
same operator is half the Laplacian of the surface whose parallels have radius :math:`cp^2` over the arc length of the
meridian, so attention between uniform tokens of that surface, which know nothing of p, tends to it as well.
"""

from __future__ import annotations

import numpy as np

from theory.diffusion import PeriodicGrid, Revolution, drift_diffusion, semigroup, studies
from theory.diffusion.settings import MERIDIAN_DENSITY, STEEPEST, meridian_function
from theory.evidence import Interval, Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure

TITLE = "a density as a shape: drift-diffusion on a circle is heat flow on a surface of revolution"
STUDY = studies.surface
CLAIMS = ("heat.surface",)

_TURN = 2.0 * np.pi
_TIME = 0.25  # of the heat flow that colours the surface
_TILT = 0.28  # chosen: the height of a parallel over its width, as seen a little from above
_ACROSS, _ALONG = 81, 161  # facets


def draw(table: Table) -> Figure:
    """Draw the surface before and after, what attention does along a meridian, and how fast it gets there."""
    figure = style.canvas(style.DOUBLE, 2.9)
    grid = figure.add_gridspec(2, 4, width_ratios=[0.8, 0.8, 1.3, 1.05])
    grid_heat = PeriodicGrid((96,))
    for column, shaped in enumerate((False, True)):
        axes = figure.add_subplot(grid[:, column])
        _vase(axes, grid_heat, shaped=shaped)
        style.panel(axes, "ab"[column], "constant $p$" if not shaped else r"$p \propto e^{0.3\cos x}$")
    density, change, error = (figure.add_subplot(grid[slot]) for slot in ((0, 2), (1, 2), (slice(None), 3)))
    _density(density)
    _change(change, table)
    _error(error, table)
    return figure


def _vase(axes: Axes, grid: PeriodicGrid, *, shaped: bool) -> None:
    """Draw the surface of one period, coloured by a function after some heat flow."""
    shape = Revolution(MERIDIAN_DENSITY, STEEPEST)
    x, side = np.linspace(0.0, _TURN, _ALONG), np.sin(np.linspace(-0.5 * np.pi, 0.5 * np.pi, _ACROSS))
    nodes = grid.axes[0]
    p = MERIDIAN_DENSITY(nodes) if shaped else np.ones_like(nodes)
    heat = semigroup(grid.matrix(lambda values: drift_diffusion(grid, p, values)), _TIME, meridian_function(nodes))
    colour = np.interp(x, np.append(nodes, _TURN), np.append(heat, heat[0]))
    level = np.ones_like(x) * shape.scale * (0.5 / np.pi) ** 2
    radius, height = (shape.radius(x), shape.height(x)) if shaped else (level, x)
    scale = (colour - colour.min()) / (colour.max() - colour.min())
    front = np.sqrt(1.0 - side**2)
    light = 0.55 + 0.45 * np.clip(0.8 * front - 0.6 * side, 0.0, 1.0)  # from the left
    middle = 0.5 * (scale[1:] + scale[:-1])
    faces = _shades(np.repeat(middle[:, np.newaxis], side.size - 1, axis=1))
    faces[..., :3] *= (0.5 * (light[1:] + light[:-1]))[np.newaxis, :, np.newaxis]
    across = np.outer(radius, side)
    up = height[:, np.newaxis] - _TILT * np.outer(radius, front)  # the half that is seen
    body = axes.pcolormesh(across, up, middle[:, np.newaxis] + 0.0 * side[1:], rasterized=True)
    body.set_array(None)
    body.set_facecolor([(r, g, b, a) for r, g, b, a in faces.reshape(-1, 4).tolist()])
    turn = np.linspace(0.0, _TURN, 200)
    rim = radius[-1] * np.cos(turn), height[-1] + _TILT * radius[-1] * np.sin(turn)
    axes.fill(*rim, color=_shades(scale[-1:])[0], linewidth=0)
    for edge, level_ in ((rim[0], rim[1]), (across[0], up[0]), (across[:, 0], up[:, 0]), (across[:, -1], up[:, -1])):
        axes.plot(edge, level_, color=style.GREY, linewidth=0.5)
    axes.set(xlim=(-1.75, 1.75), aspect="equal")
    axes.set_axis_off()


def _shades(level: Array) -> Array:
    """Return colours from blue through white to vermilion."""
    from matplotlib.colors import LinearSegmentedColormap  # noqa: PLC0415  only here

    chosen = LinearSegmentedColormap.from_list("heat", [style.BLUE, "#F4F4F4", style.VERMILION])
    return np.asarray(chosen(level))


def _density(axes: Axes) -> None:
    style.panel(axes, "c", "density and radius")
    x = np.linspace(0.0, _TURN, 300)
    shape = Revolution(MERIDIAN_DENSITY, STEEPEST)
    axes.plot(x, MERIDIAN_DENSITY(x) * _TURN, color=style.GREEN, label=r"$2\pi p$")
    axes.plot(x, shape.radius(x), color=style.BLACK, linestyle="dashed", label="$r = cp^2$")
    axes.set(xlim=(0.0, _TURN), ylim=(0.0, 1.9), xticks=[0.0, np.pi, _TURN], xticklabels=[])
    axes.legend(loc="upper center", ncols=2)


def _change(axes: Axes, table: Table) -> None:
    style.panel(axes, "d", r"change by one layer, per $\varepsilon$")
    x = np.linspace(0.0, _TURN, 300)
    limit, plain = (_limit(x, kappa) for kappa in (1.0, 0.0))
    axes.plot(x, limit, color=style.BLACK, label=r"$\frac{1}{2}(h'' + 2(\log p)'h')$")
    axes.plot(x, plain, color=style.GREY, linestyle="dotted", label=r"$\frac{1}{2}h''$")
    last = table.where(epsilon=float(table["epsilon"].min()))
    style.marks(
        axes, last["x"], last.middles("change"), "o", color=style.VERMILION, size=3.6, label="attention on the surface"
    )
    style.turn_axis(axes, "arc length $x$ (rad)")
    axes.set_ylim(-1.2, 3.9)
    axes.legend(loc="upper left", ncols=1)


def _error(axes: Axes, table: Table) -> None:
    style.panel(axes, "e", "error: order one")
    epsilons = np.array(table.levels("epsilon"))
    for kappa, hue, marker, label in (
        (1.0, style.BLUE, "o", "the limit above"),
        (0.5, style.VERMILION, "s", "half its drift"),
    ):
        worst = []
        for epsilon in epsilons.tolist():
            part = table.where(epsilon=epsilon)
            limits = _limit(part["x"], kappa).tolist()
            pairs = zip(part.intervals("change"), limits, strict=True)
            worst.append(Interval.largest(abs(read - limit) for read, limit in pairs))
        style.convergence(axes, epsilons, worst, color=hue, mark=marker, label=label)
    style.power(axes, epsilons, (1.0, 1.6), 1.0, linestyle="dotted", label=r"$\propto\varepsilon$")
    axes.set(
        xlabel=r"$\varepsilon$", ylabel=r"$\max_x|(P_\varepsilon h - h)/\varepsilon - \frac{1}{2}Lh|$", ylim=(1e-3, 0.4)
    )
    axes.legend(loc="lower right")


def _limit(x: Array, kappa: float) -> Array:
    first = np.cos(x) - 0.8 * np.sin(2 * x)
    second = -np.sin(x) - 1.6 * np.cos(2 * x)
    value: Array = 0.5 * (second + 2.0 * kappa * MERIDIAN_DENSITY.log_slope(x) * first)
    return value
