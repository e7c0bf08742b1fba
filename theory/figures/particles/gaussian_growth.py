r"""The variance of a Gaussian on the line under attention: blow-up, two kinds of exponential growth, one of decay.

Lines are the exact clocks :math:`\tau(s) = 2vt + c`: :math:`-1/\alpha s` for softmax, :math:`\log m - 1/m` at rate
:math:`2vq/k` with :math:`m = 2k^2s` for the distance, and :math:`\theta - \coth(\theta/2)` with :math:`\sinh\theta =
2\alpha s` for Sinkhorn. Dots are what the flows gave.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure
from theory.particles import studies

TITLE = "a Gaussian on the line blows up, grows exponentially at one of two rates, or decays algebraically"
STUDY = studies.gaussian_growth
CLAIMS = ("gaussian-flow.clocks", "gaussian-flow.growth", "gaussian-flow.decay", "gaussian-flow.blow-up")

System = tuple[str, float, float, float, float]
_GROWING: dict[System, tuple[str, str]] = {  # mark and colour
    ("softmax", 1.0, 1.0, 0.0, 0.25): ("o", style.VERMILION),
    ("distance", 1.0, 0.7, 1.3, 0.25): ("^", style.GREEN),
    ("distance", 1.0, 1.0, 1.0, 0.25): ("v", style.GREEN),
    ("sinkhorn", 1.0, 0.5, 0.0, 0.25): ("s", style.SKY),
    ("sinkhorn", 1.0, 1.0, 0.0, 0.25): ("s", style.BLUE),
    ("sinkhorn", 1.0, 4.0, 0.0, 0.25): ("s", style.BLACK),
}
_SHRINKING: dict[System, tuple[str, str]] = {
    ("softmax", 1.0, -1.0, 0.0, 1.0): ("o", style.VERMILION),
    ("sinkhorn", 1.0, -1.0, 0.0, 1.0): ("s", style.BLUE),
    ("sinkhorn", 0.5, -3.0, 0.0, 2.0): ("s", style.BLACK),
}
_SMALL: dict[str, Any] = {"linestyle": "none", "markersize": 3.2, "markeredgewidth": 0}
_LAST = 8.0  # of the times in the first panel


def draw(table: Table) -> Figure:
    """Draw the logarithm of the variance, its slopes over doublings of time, and the decay."""
    figure, (first, second, third) = style.row(
        2.75, "variance, $v = 1$", "exponential at one of two rates", r"decay is algebraic, $\alpha < 0$"
    )
    for system, (mark, hue) in _GROWING.items():
        part = _rows(table, system)
        t, logs = part.middles("t"), part.middles("log")
        first.plot(*_line(system, (logs[0], 17.0)), color=hue, linewidth=0.7, zorder=1)
        near = t <= _LAST
        first.plot(t[near], logs[near], mark, color=hue, **_SMALL)
        if system[0] == "softmax":
            end = 1.0 / (2.0 * system[1] * system[2] * system[4])
            style.guide(first, x=end, line="dashed")
            first.annotate(
                r"$\frac{1}{2v\alpha s_0}$", (end, 14.5), (3.0, 0.0), textcoords="offset points", color=style.GREY
            )
        else:
            second.plot(t[:-1], np.diff(logs) / np.diff(t), mark, color=hue, **(_SMALL | {"linestyle": "solid"}))
    for system, (mark, hue) in _SHRINKING.items():
        part = _rows(table, system)
        t, logs = part.middles("t"), part.middles("log")
        share = 2.0 * system[1] * abs(system[2])
        times, line = _line(system, (logs[0], logs[-1]))
        third.plot(times, share * np.exp(line) * times, color=hue, linewidth=0.7, zorder=1)
        third.plot(t, share * np.exp(logs) * t, mark, color=hue, **_SMALL)
    _finish(first, second, third)
    handles = [
        first.plot([], [], mark, color=hue, label=_name(system), **_SMALL)[0]
        for system, (mark, hue) in _GROWING.items()
    ]  # fmt: skip
    figure.legend(handles=handles, loc="outside upper center", ncols=3)
    return figure


def _rows(table: Table, system: System) -> Table:
    names = ("kernel", "value", "first", "second", "start")
    return table.where(**dict(zip(names, system, strict=True)))


def _name(system: System) -> str:
    kernel, value, first, second, _ = system
    if kernel == "distance":
        return f"distance, $q = {first:g}$, $k = {second:g}$"
    words = rf"{'Sinkhorn' if kernel == 'sinkhorn' else kernel}, $\alpha = {first:g}$"
    return words if value == 1.0 else rf"{words}, $v = {value:g}$"


def _line(system: System, logs: tuple[float, float]) -> tuple[Array, Array]:
    """Return times and logarithms of the variance by the exact clock of a system."""
    kernel, value, first, second, start = system
    line = np.linspace(*logs, 400)
    speed = 2.0 * value * (first / second if second else 1.0)
    clocks = [_clock(kernel, (2.0 * second**2 if second else first) * np.exp(part)) for part in (line, np.log([start]))]
    return (clocks[0] - clocks[1]) / speed, line


def _clock(kernel: str, m: Array) -> Array:
    if kernel == "softmax":
        return -1.0 / m
    if kernel == "distance":
        clock: Array = np.log(m) - 1.0 / m
        return clock
    angle = np.arcsinh(2.0 * m)
    turned: Array = angle - 1.0 / np.tanh(angle / 2.0)
    return turned


def _finish(first: Axes, second: Axes, third: Axes) -> None:
    """Name the axes, and draw the limits."""
    first.set(xlabel="time $t$", ylabel=r"$\log s$", xlim=(-0.2, 8.2), ylim=(-1.8, 17.0), yticks=range(0, 16, 5))
    for level, words in ((2.0, "$2v$"), (2.0 * 0.7 / 1.3, r"$2v\,q/k$")):
        style.guide(second, y=level, line="dashed")
        second.annotate(
            words, (16.0, level), (0.0, 2.5), textcoords="offset points", color=style.GREY, ha="right", va="bottom"
        )
    second.set_xscale("log", base=2)
    second.set_xticks([0.0625, 0.25, 1, 4, 16], ["1/16", "1/4", "1", "4", "16"])
    second.set(xlabel="time $t$", ylabel=r"$(\log s(2t) - \log s(t))/t$", ylim=(0.0, 2.3))
    style.guide(third, y=1.0, line="dashed")
    third.set(xscale="log", xlabel="time $t$", ylabel=r"$2v|\alpha|\,s\,t$", ylim=(0.0, 2.6))
    for (system, (_, hue)), (t, level) in zip(_SHRINKING.items(), ((8.0, 0.45), (8.0, 0.7), (3.0, 2.3)), strict=True):
        style.note(third, _name(system), (t, level), color=hue, va="center")
