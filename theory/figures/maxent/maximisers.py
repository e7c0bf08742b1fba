r"""The law that an objective prefers: where level lines touch the segment of laws, and how it moves with the scores.

With two scores a law is a point of the segment :math:`p_1 + p_2 = 1`. The mean score alone prefers an end of it, the
angle to :math:`s` the point where the ray of :math:`s` meets it; with entropy the level line of
:math:`F(p) = \langle p, s\rangle - \tau\sum p_i\log p_i` that touches the segment does so at softmax. Below, the first
weight against the distance of the scores, the same maps for three scores on cooling, and that path in the triangle.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure
from theory.maxent import studies

TITLE = "mean score is largest at a vertex, free energy at softmax, and the cosine at neither"
STUDY = studies.maximisers
CLAIMS = ("naive.plane", "naive.path")

_REACH = 1.18  # of both axes of the plane
_GRID = 201
_HIGH = float(np.sqrt(3.0) / 2.0)
_LOOK: dict[str, dict[str, Any]] = {
    "softmax": {"color": style.BLUE, "linestyle": "-"},
    "entmax 1.5": {"color": style.GREEN, "linestyle": (0, (5, 1.5))},
    "entmax 2": {"color": style.VERMILION, "linestyle": (0, (2.5, 1))},
    "mean score": {"color": style.BLACK, "linestyle": (0, (1, 1))},
}
_WORDS = {
    "softmax": "softmax", "entmax 1.5": r"$\alpha = 3/2$", "entmax 2": "sparsemax", "mean score": "no entropy"
}  # fmt: skip
_MARKED = (4.0, 1.0, 0.25)  # temperatures that the paths are marked at


def draw(table: Table) -> Figure:
    """Draw four planes, the first weight against the distance, and the paths in the triangle."""
    figure = style.canvas(style.DOUBLE, 5.0)
    axes = figure.subplot_mosaic([["a", "b", "c"], ["d", "e", "f"]])
    plane = table.where(part="plane")
    _linear(axes["a"], plane)
    for letter, tau in zip("bcd", studies.PLANE_TEMPERATURES, strict=True):
        _entropic(axes[letter], letter, plane.where(best="softmax", tau=tau))
    _against_distance(axes["e"], table.where(part="step"))
    _triangle(axes["f"], table.where(part="path"))
    return figure


def _frame(axes: Axes) -> tuple[Array, Array]:
    """Draw the segment of laws and return the grid that level lines are drawn on."""
    axes.plot([0.0, 1.0], [1.0, 0.0], color=style.BLACK, linewidth=1.6, solid_capstyle="round", zorder=3)
    axes.set(xlim=(0.0, _REACH), ylim=(0.0, _REACH), aspect="equal", xlabel="$p_1$", ylabel="$p_2$")
    axes.set(xticks=[0.0, 0.5, 1.0], yticks=[0.0, 0.5, 1.0])
    ticks = np.linspace(1e-9, _REACH, _GRID)
    x, y = np.meshgrid(ticks, ticks)
    return x, y


def _levels(axes: Axes, x: Array, y: Array, value: Array, best: float, step: float) -> None:
    """Draw level lines about the best value on the segment, and that one itself."""
    ladder = best + step * np.arange(-12, 13)
    axes.contour(x, y, value, levels=ladder[ladder != best], colors=style.GREY, linewidths=0.45, linestyles="solid")
    axes.contour(x, y, value, levels=[best], colors=style.BLUE, linewidths=1.1, linestyles="solid")


def _linear(axes: Axes, plane: Table) -> None:
    style.panel(axes, "a", "no entropy: a vertex")
    x, y = _frame(axes)
    s1, s2 = (float(plane[name][0]) for name in ("s1", "s2"))
    for best, mark, colour, words in (
        ("mean score", "s", style.BLUE, "largest\nmean score"),
        ("cosine", "D", style.VERMILION, "largest\ncosine"),
    ):
        point = plane.where(best=best)
        p1, p2 = float(point.middles("p1")[0]), float(point.middles("p2")[0])
        axes.plot(
            p1,
            p2,
            mark,
            color=colour,
            markersize=5,
            markeredgecolor="white",
            markeredgewidth=0.6,
            zorder=6,
            clip_on=False,
        )
        place, ha, va = ((9.0, 24.0), "left", "bottom") if best == "cosine" else ((-26.0, 2.0), "right", "bottom")
        look = {"arrowstyle": "-", "color": colour, "linewidth": 0.5, "shrinkA": 0.0, "shrinkB": 2.0}
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
        axes.annotate(
            words, (p1, p2), place, textcoords="offset points", color=colour, size=style.SMALL, ha=ha, va=va,
            arrowprops=look, bbox=box, zorder=7, linespacing=1.0,
        )  # fmt: skip
        if best == "mean score":
            _levels(axes, x, y, s1 * x + s2 * y, p1 * s1 + p2 * s2, 0.125)
    axes.annotate(
        "",
        (s1, s2),
        (0.0, 0.0),
        arrowprops={"arrowstyle": "-|>", "color": style.VERMILION, "shrinkA": 0.0, "shrinkB": 0.0},
        zorder=5,
    )
    axes.annotate(
        "$s$", (s1, s2), (3.0, 2.0), textcoords="offset points", color=style.VERMILION, ha="left", va="bottom"
    )


def _entropic(axes: Axes, letter: str, point: Table) -> None:
    tau = float(point["tau"][0])
    style.panel(axes, letter, rf"entropy at $\tau = {tau:g}$")
    x, y = _frame(axes)
    s1, s2 = float(point["s1"][0]), float(point["s2"][0])
    p1, p2 = float(point.middles("p1")[0]), float(point.middles("p2")[0])

    def energy(first: Any, second: Any) -> Any:
        return first * s1 + second * s2 - tau * (first * np.log(first) + second * np.log(second))

    _levels(axes, x, y, energy(x, y), float(energy(p1, p2)), 0.1 * max(tau, 0.75))
    axes.plot(
        p1, p2, "*", color=style.VERMILION, markersize=8.5, markeredgecolor="white", markeredgewidth=0.6, zorder=6
    )
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
    style.note(
        axes,
        f"softmax ({p1:.3f}, {p2:.3f})",
        (1.0, 1.0),
        offset=(-2.0, -2.0),
        inside=True,
        color=style.VERMILION,
        ha="right",
        va="top",
        bbox=box,
        zorder=7,
    )


def _against_distance(axes: Axes, step: Table) -> None:
    style.panel(axes, "e", "two scores")
    for best, look in _LOOK.items():
        part = step.where(best=best)
        d = part["s1"] - part["s2"]
        p = part.middles("p1")
        for side in (d < 0.0, d > 0.0) if best == "mean score" else (np.isfinite(d),):
            axes.plot(d[side], p[side], label=_WORDS[best] if side[-1] else None, **look)
    axes.set(xlabel=r"$(s_1 - s_2)/\tau$", ylabel="$p_1$", xticks=[-3, -2, -1, 0, 1, 2, 3], yticks=[0.0, 0.5, 1.0])
    axes.set(ylim=(-0.05, 1.05), box_aspect=1.0)
    axes.legend(loc="lower right", labelspacing=0.25, borderaxespad=0.3, bbox_to_anchor=(1.02, 0.08))


def _triangle(axes: Axes, path: Table) -> None:
    style.panel(axes, "f", "three scores on cooling")
    axes.plot([0.0, 1.0, 0.5, 0.0], [0.0, 0.0, _HIGH, 0.0], color=style.BLACK, linewidth=0.8)
    for best in ("softmax", "entmax 2"):
        part = path.where(best=best)
        p = np.column_stack([part.middles(f"p{k}") for k in (1, 2, 3)])
        across, up = p[:, 0] + p[:, 2] / 2.0, _HIGH * p[:, 2]
        axes.plot(across, up, zorder=4, **_LOOK[best])
        for mark, tau in zip("o^s", _MARKED, strict=True):
            at = part["tau"] == tau
            axes.plot(across[at], up[at], mark, color=_LOOK[best]["color"], markersize=4.5, markeredgecolor="white",
                      markeredgewidth=0.5, zorder=5, clip_on=False)  # fmt: skip
    for mark, tau in zip("o^s", _MARKED, strict=True):
        axes.plot([], [], mark, color=style.GREY, markersize=4.5, label=rf"$\tau = {tau:g}$")
    axes.legend(loc="upper left", bbox_to_anchor=(-0.04, 1.0), labelspacing=0.25)
    style.note(axes, "softmax", (0.6, 0.15), color=style.BLUE, ha="left", va="bottom")
    style.note(axes, "sparsemax", (0.55, 0.02), color=style.VERMILION, ha="right", va="bottom")
    s = [float(path[f"s{k}"][0]) for k in (1, 2, 3)]
    corners = ((1.0, -0.04, "top"), (0.0, -0.04, "top"), (0.5, _HIGH + 0.03, "bottom"))
    for score, (right, height, va) in zip(s, corners, strict=True):
        style.note(axes, f"$s = {score:g}$", (right, height), ha="center", va=va)
    axes.plot(0.5, _HIGH / 3.0, "o", markersize=3.0, color=style.BLACK, zorder=6)
    axes.annotate("$u$", (0.5, _HIGH / 3.0), (-3.0, 1.0), textcoords="offset points", ha="right", va="bottom")
    axes.set(aspect="equal", xlim=(-0.06, 1.06), ylim=(-0.12, 0.98))
    axes.axis("off")
