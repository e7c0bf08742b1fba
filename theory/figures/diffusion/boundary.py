r"""Where the tokens end: a layer pushes inwards by the root of its bandwidth, and a stack feels a nearer wall.

Near a wall a query sees keys on one side only, so that the average is off by :math:`\sqrt\varepsilon` times the
normal derivative; where that vanishes, by more than half the second one. Stacks tend to the reflected diffusion, at
order one half, with a known coefficient: that of walls which stand :math:`\phi(0)\sqrt\varepsilon` nearer.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from theory.diffusion import studies
from theory.diffusion.settings import SEGMENT_TIME, segment_wave
from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure

TITLE = "where the tokens end layers are of order one half, and act as a wall that stands nearer"
STUDY = studies.boundary
CLAIMS = ("edge.layer", "edge.defect", "edge.stack")

_HUES = (style.SKY, style.GREEN, style.BLUE)


def draw(table: Table) -> Figure:
    """Draw the two profiles in the layer, the error of stacks along the segment, and its order at the wall."""
    figure = style.canvas(style.DOUBLE, 4.4)
    axes = figure.subplot_mosaic([["a", "b"], ["c", "d"]])
    _profile(axes["a"], table.where(part="slope"))
    _flat(axes["b"], table.where(part="flat"))
    _stacks(axes["c"], table.where(part="stack"))
    _order(axes["d"], table.where(part="stack"))
    return figure


def _ratio(s: Array) -> Array:
    """Return the ratio of the density to the distribution function of the standard normal."""
    mass = np.array([0.5 * math.erfc(-v / math.sqrt(2.0)) for v in s.tolist()])
    found: Array = np.exp(-0.5 * s**2) / math.sqrt(2.0 * math.pi) / mass
    return found


def _levels(table: Table) -> list[float]:
    return table.levels("epsilon")[::-1]


def _profile(axes: Axes, table: Table) -> None:
    style.panel(axes, "a", r"a layer's change, per $\sqrt{\varepsilon}$")
    s = np.linspace(0.0, 4.0, 200)
    axes.plot(s, _ratio(s), color=style.BLACK, label=r"$\phi(s)/\Phi(s)$", zorder=0)
    epsilons = _levels(table)
    _dots(axes, table, [epsilons[0], epsilons[2], epsilons[-1]], math.sqrt)
    style.guide(axes, y=0.0)
    axes.set(
        xlabel=r"distance to the wall $s = x/\sqrt{\varepsilon}$", ylabel=r"$(P_\varepsilon h - h)/\sqrt{\varepsilon}$"
    )
    axes.set(xlim=(-0.08, 4.1), ylim=(-0.1, 0.88))
    style.note(axes, r"$\sqrt{2/\pi}$", (0.0, math.sqrt(2.0 / math.pi)), offset=(8, 0), va="center")
    axes.legend(loc="upper right")


def _flat(axes: Axes, table: Table) -> None:
    style.panel(axes, "b", r"where $\partial_\nu h = 0$: change per $\varepsilon$, over $\frac{1}{2}\partial_\nu^2h$")
    s = np.linspace(0.0, 4.0, 200)
    axes.plot(s, 1.0 + s * _ratio(s), color=style.BLACK, label=r"$1 + s\,\phi(s)/\Phi(s)$", zorder=0)
    axes.plot(
        s, 1.0 - s * _ratio(s), color=style.VERMILION, linestyle="dashed",
        label=r"second moment only, $1 - s\,\phi(s)/\Phi(s)$", zorder=0,
    )  # fmt: skip
    epsilons = _levels(table)
    _dots(axes, table, [epsilons[0], epsilons[2], epsilons[-1]], lambda e: -0.5 * e)
    axes.set(xlabel=r"distance to the wall $s = x/\sqrt{\varepsilon}$", xlim=(-0.08, 4.1), ylim=(0.62, 2.15))
    axes.legend(loc="upper right")


def _dots(axes: Axes, table: Table, epsilons: list[float], unit: Callable[[float], float]) -> None:
    """Draw the measured changes at three bandwidths, each over its unit."""
    for epsilon, hue, marker in zip(epsilons, _HUES, ("D", "s", "o"), strict=True):
        part = table.where(epsilon=epsilon)
        style.marks(
            axes,
            part["place"],
            part.middles("value") / unit(epsilon),
            marker,
            color=hue,
            label=rf"$\varepsilon = {_power(epsilon)}$",
        )


def _power(epsilon: float) -> str:
    exponent = math.floor(math.log10(epsilon))
    return rf"{epsilon / 10.0**exponent:.1f}\cdot10^{{{exponent}}}"


def _limit(x: Array) -> Array:
    """Return the coefficient of the root of the bandwidth, a source on either wall, by cosines."""
    k = np.arange(3, 4001, 2)
    first = math.exp(-(math.pi**2) * SEGMENT_TIME)
    shares = 4.0 * (first - np.exp(-(k**2) * math.pi**2 * SEGMENT_TIME)) / (k**2 - 1.0)
    total = 4.0 * math.pi**2 * SEGMENT_TIME * first * np.cos(math.pi * x) + np.cos(math.pi * np.outer(x, k)) @ shares
    found: Array = -total / math.sqrt(2.0 * math.pi)
    return found


def _stacks(axes: Axes, table: Table) -> None:
    style.panel(axes, "c", r"a stack's error at $t = 0.1$, per $\sqrt{\varepsilon}$")
    x = np.linspace(0.0, 1.0, 201)
    axes.plot(x, _limit(x), color=style.BLACK, label="source on the walls", zorder=0)
    axes.plot(x, -_limit(x), color=style.VERMILION, linestyle="dashed", label="of the other sign", zorder=0)
    epsilons = _levels(table)
    for epsilon, hue, marker in zip([epsilons[0], epsilons[2], epsilons[-1]], _HUES, ("D", "s", "o"), strict=True):
        part = table.where(epsilon=epsilon)
        exact = math.exp(-(math.pi**2) * SEGMENT_TIME) * segment_wave(part["place"])
        axes.plot(
            part["place"], (part.middles("value") - exact) / math.sqrt(epsilon), marker, color=hue, markersize=3.2,
            markeredgewidth=0, label=rf"$\varepsilon = {_power(epsilon)}$",
        )  # fmt: skip
    axes.set(
        xlabel="place $x$ on the segment",
        ylabel=r"$(P_\varepsilon^{2t/\varepsilon}h - e^{t\Delta}h)/\sqrt{\varepsilon}$",
    )
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.82, 1.75))
    axes.legend(loc="upper center", ncols=2)


def _order(axes: Axes, table: Table) -> None:
    style.panel(axes, "d", "the error at the wall, with local orders")
    epsilons = np.array(_levels(table))
    at_wall = [table.where(epsilon=e, place=0.0).middles("value").item() for e in epsilons.tolist()]
    errors = np.abs(np.array(at_wall) - math.exp(-(math.pi**2) * SEGMENT_TIME))
    left = np.abs(np.array(at_wall) - math.exp(-(math.pi**2) * SEGMENT_TIME) - np.sqrt(epsilons) * _limit(np.zeros(1)))
    limit = -_limit(np.zeros(1)).item()
    label = rf"${limit:.3f}\,\sqrt{{\varepsilon}}$"
    style.power(axes, epsilons, (1.0, limit), 0.5, color=style.BLACK, label=label, zorder=2)
    for values, hue, marker, label, above in (
        (errors, style.BLUE, "o", "error", True),
        (left, style.GREEN, "s", r"less its term in $\sqrt{\varepsilon}$", False),
    ):
        style.convergence(axes, epsilons, values.tolist(), color=hue, mark=marker, label=label)
        slopes = np.diff(np.log(values)) / np.diff(np.log(epsilons))
        for at, slope in enumerate(slopes.tolist()):
            place = math.sqrt(epsilons[at] * epsilons[at + 1]), math.sqrt(values[at] * values[at + 1])
            style.note(
                axes,
                f"{slope:.2f}",
                place,
                offset=(-2, 7) if above else (4, -4),
                color=hue,
                va="bottom" if above else "top",
                ha="center" if above else "left",
            )
    axes.set(xlabel=r"bandwidth $\varepsilon$", ylabel="error at $x = 0$", ylim=(1e-4, 0.6))
    axes.legend(loc="lower right")
