r"""Tokens that move through layers whose density runs a well-posed equation, beside the solutions of these equations.

Lines are solutions by the method of lines, marks are tokens after layers of attention, weights computed anew by each.
On the right the root of the mean square error at :math:`t = \frac12` against the bandwidth.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from theory.diffusion import studies
from theory.diffusion.moving import solve_density
from theory.diffusion.settings import WAVY_DENSITY
from theory.diffusion.stack_settings import CONTEXT_DENSITY, FORWARD_PLACES
from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure

TITLE = "layers that step away from the average diffuse the density of tokens, to first order in the bandwidth"
STUDY = studies.forward
CLAIMS = (
    "layers.forward", "layers.forward-corrected", "layers.forward-sinkhorn", "layers.forward-sum",
    "layers.forward-context", "layers.forward-noise", "layers.forward-steps", "layers.forward-negative",
    "layers.forward-fourth",
)  # fmt: skip

_AT = 0.5
_SHOWN = 1.0 / 64.0
_FINE = 32


def _heat(rate: float) -> Any:
    return lambda u, d, _: rate * d(d(u))


def _porous(u: Array, d: Any, _: Array) -> Any:
    return d(u * d(u))


def _context(u: Array, d: Any, x: Array) -> Any:
    return d(d(u) - u * CONTEXT_DENSITY.log_slope(x))


_WAYS: dict[str, tuple[str, Any, str, str]] = {  # words, equation, mark, colour
    "reversed": (r"softmax, $\partial^2\varrho$", _heat(1.0), "o", style.BLUE),
    "sinkhorn": (r"Sinkhorn, $\frac{1}{2}\partial^2\varrho$", _heat(0.5), "D", style.VERMILION),
    "alpha 0.5": (r"keys over $\sqrt{\varrho}$, $\frac{1}{2}\partial^2\varrho$", _heat(0.5), "s", style.GREEN),
    "sum": (r"sums, $\pi\partial^2\varrho^2$", _porous, "^", style.PURPLE),
    "noise 2": (r"averaging and noise, $\partial^2\varrho$", _heat(1.0), "v", style.SKY),
    "context": ("context, Fokker-Planck", _context, "P", style.ORANGE),
}
_DENSITIES = ("reversed", "sinkhorn", "sum")
_CONTEXT_TIMES = ((0.125, style.SKY), (0.5, style.BLUE), (2.0, style.ORANGE))


def draw(table: Table) -> Figure:
    """Draw densities over their equations, the way to a context, and errors."""
    figure = style.canvas(style.DOUBLE, 2.6)
    left, middle, right = figure.subplots(1, 3)
    style.panel(left, "a", rf"density at $t = 1/2$, $\varepsilon = 1/{round(1 / _SHOWN)}$")
    style.panel(middle, "b", "context minus own tokens")
    style.panel(right, "c", r"error at $t = 1/2$")
    x = np.linspace(0.0, 2.0 * np.pi, 241)
    left.plot(x, 2.0 * np.pi * WAVY_DENSITY(x), color=style.GREY, linewidth=0.8, label="start")
    for way in _DENSITIES:
        words, equation, mark, hue = _WAYS[way]
        left.plot(x, _between(_solve(equation, _AT, _FINE), x), color=hue, linewidth=0.8)
        _dots(left, table.where(way=way, t=_AT, epsilon=_SHOWN), mark, hue, words)
    middle.plot(
        x, 2.0 * np.pi * CONTEXT_DENSITY(x), color=style.GREY, linestyle="dashed", linewidth=0.8, label="context"
    )
    for t, hue in _CONTEXT_TIMES:
        middle.plot(x, _between(_solve(_context, t, _FINE), x), color=hue, linewidth=0.8)
        _dots(middle, table.where(way="context", t=t, epsilon=_SHOWN), "o", hue, f"$t = {t:g}$")
    for axes in (left, middle):
        style.turn_axis(axes, "angle $x$")
        axes.set_ylabel(r"$2\pi\varrho$")
        axes.set_ylim(0.0, 3.6)
        axes.legend(loc="upper right", handlelength=1.0)
    _errors(right, table)
    return figure


def _solve(equation: Any, time: float, places: int) -> Array:
    middles: Array = solve_density(equation, lambda x: 2.0 * np.pi * WAVY_DENSITY(x), time, places=places).mid
    return middles


def _between(values: Array, x: Array) -> Array:
    """Interpolate by waves."""
    waves = np.fft.rfft(values) / values.size
    turns = np.exp(1j * np.multiply.outer(x, np.arange(1, waves.size)))
    found: Array = waves[0].real + 2.0 * (turns @ waves[1:]).real
    return found


def _dots(axes: Axes, part: Table, mark: str, hue: str, words: str) -> None:
    places = 2.0 * np.pi * part["place"] / FORWARD_PLACES
    style.marks(axes, places, part.middles("value"), mark, color=hue, label=words)


def _errors(axes: Axes, table: Table) -> None:
    for way, (words, equation, mark, hue) in _WAYS.items():
        part = table.where(way=way, t=_AT)
        epsilons = np.array(part.levels("epsilon")[::-1])
        truth = _solve(equation, _AT, FORWARD_PLACES)
        gaps = [part.where(epsilon=e).middles("value") - truth for e in epsilons.tolist()]
        errors = [float(np.sqrt((gap**2).mean())) for gap in gaps]
        style.convergence(axes, epsilons, errors, color=hue, mark=mark, label=words)
    style.power(axes, (0.008, 0.06), (0.03, 6e-4), 1.0, linestyle="dotted", label=r"$\propto\varepsilon$")
    axes.set(xlabel=r"bandwidth $\varepsilon$", ylabel="root mean square", ylim=(2e-4, 4.0))
    axes.legend(loc="upper left", handlelength=1.0)
