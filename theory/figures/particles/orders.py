r"""Fixed steps on attention under a force that makes the solution known: every method has the order of its tableau.

The error of one coordinate at time one against the length of the step, in the plane, in angles, and on the sphere,
where steps are made in charts. The order in the legend is the slope between the two shortest steps, with what the
slopes before it leave open.
"""

from __future__ import annotations

import math

import numpy as np

from theory.evidence import Interval, Table, order
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.particles import METHODS, studies
from theory.particles.studies import settings

TITLE = "four integrators have the orders 1, 2, 4 and 6 on three problems with known solutions"
STUDY = studies.orders
CLAIMS = ("flow.order",)

_HUES = dict(zip((m.name for m in METHODS), (style.ORANGE, style.GREEN, style.BLUE, style.VERMILION), strict=True))
_MARKS = dict(zip(_HUES, "os^D", strict=True))
_NAMES = {"plane": "plane, softmax", "circle": r"angles, $\beta = 3$", "sphere": r"sphere, $\beta = 2$"}
_FINEST = 4  # levels from which an order is taken


def draw(table: Table) -> Figure:
    """Draw one panel for each problem."""
    figure = style.canvas(style.DOUBLE, 2.7)
    panels = figure.subplots(1, len(_NAMES), sharey=True)
    for axes, letter, (name, title) in zip(panels, "abc", _NAMES.items(), strict=True):
        style.panel(axes, letter, title)
        exact = float(settings.PROBLEMS[name].path(settings.END)[settings.OBSERVED[name]])
        for method in METHODS:
            _errors(axes, table.where(problem=name, method=method.name), method.name, exact)
        axes.set(xscale="log", yscale="log", xlabel="step $h$", xlim=(6e-5, 0.3), ylim=(3e-12, 1.0))
        axes.legend(loc="lower left", title="order", title_fontsize=style.SMALL, handlelength=1.0)
    panels[0].set_ylabel("error at time 1")
    handles = [
        panels[0].plot([], [], _MARKS[m.name], color=_HUES[m.name], markersize=3.2, label=f"{m.name} ({m.stages})")[0]
        for m in METHODS
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), title="method (stages)",
                  title_fontsize=style.SMALL)  # fmt: skip
    return figure


def _errors(axes: Axes, part: Table, name: str, exact: float) -> None:
    """Draw the errors of one method, and a line of its order through the last of them."""
    steps = settings.END / part["steps"]
    off = Interval.within(exact, 2.0**-51)
    errors = [abs(value - off) for value in part.intervals("value")]
    seen = order(errors[-_FINEST:])
    middle = round(seen.mid, 2)
    half = math.ceil(100.0 * max(seen.hi - middle, middle - seen.lo)) / 100.0
    sizes = np.array([error.mid for error in errors])
    stated = next(m.order for m in METHODS if m.name == name)
    line = np.array([steps[-1] / 1.3, steps[0] * 1.3])
    style.power(axes, line, (steps[-1], sizes[-1]), stated, color=_HUES[name], alpha=0.7)
    style.marks(axes, steps, sizes, _MARKS[name], color=_HUES[name], label=rf"${middle:.2f} \pm {half:.2f}$")
