"""What figures have in common: a row of panels, guides, powers, marks, intervals, orders and small notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator
from numpy.typing import ArrayLike

from theory.evidence import Interval
from theory.figures._style.style import BLACK, DOUBLE, GREY, SMALL, canvas, panel

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LINES: dict[str, Any] = {"solid": "solid", "dashed": (0, (4, 2)), "dotted": (0, (1, 1.5))}


def row(height: float, *titles: str, widths: Sequence[float] | None = None, **shared: Any) -> tuple[Figure, list[Axes]]:
    """Return a figure of two columns' width with one panel for each title, lettered from the left.

    Parameters
    ----------
    height : float
        In inches.
    titles : str
        Of the panels.
    widths : sequence of float, optional
        Of the panels, relative to each other.
    shared
        ``sharex`` and ``sharey``, as Matplotlib has them.
    """
    figure = canvas(DOUBLE, height)
    panels = figure.subplots(1, len(titles), squeeze=False, width_ratios=widths, **shared)[0].tolist()
    for axes, letter, title in zip(panels, _LETTERS, titles, strict=False):
        panel(axes, letter, title)
    return figure, panels


def guide(
    axes: Axes, *, x: float | None = None, y: float | None = None, color: str = GREY, line: str = "solid"
) -> None:
    """Draw a thin line across the panel, below everything else, where ``x`` or ``y`` has a value to compare with.

    ``line`` is "solid", "dashed" or "dotted".
    """
    look: dict[str, Any] = {"color": color, "linewidth": 0.6, "linestyle": _LINES[line], "zorder": 0}
    if x is not None:
        axes.axvline(x, **look)
    if y is not None:
        axes.axhline(y, **look)


def ticks(axes: Axes, *, x: Sequence[float] | None = None, y: Sequence[float] | None = None) -> None:
    """Put plain numbers at these ticks, and nothing between them, also on logarithmic axes."""
    for axis, places in ((axes.xaxis, x), (axes.yaxis, y)):
        if places is not None:
            axis.set_ticks(places, [f"{place:g}" for place in places])
            axis.set_minor_locator(NullLocator())


def turn_axis(axes: Axes, words: str) -> None:
    """Let the horizontal axis be one turn in radians."""
    ends = [0.0, np.pi, 2.0 * np.pi]
    axes.set(xlabel=words, xlim=(ends[0], ends[-1]))
    axes.set_xticks(ends, ["0", r"$\pi$", r"$2\pi$"])


def power(
    axes: Axes, x: ArrayLike, through: tuple[float, float], exponent: float, *, color: str = GREY, **look: Any
) -> None:
    """Draw the power of ``x`` that goes through a point: a reference slope on two logarithmic axes."""
    across = np.asarray(x, dtype=np.float64)
    heights = through[1] * (across / through[0]) ** exponent
    axes.plot(across, heights, color=color, **{"linewidth": 0.7, "zorder": 1, **look})


def marks(
    axes: Axes, x: Any, y: Any, mark: str, *, color: str, size: float = 3.2, hollow: bool = False, **look: Any
) -> None:
    """Draw marks without lines and without edges; ``hollow`` ones have an edge only."""
    face = {"markerfacecolor": "none", "markeredgewidth": 0.7} if hollow else {"markeredgewidth": 0}
    axes.plot(x, y, mark, color=color, markersize=size, **{**face, **look})


def intervals(
    axes: Axes,
    x: ArrayLike,
    found: Sequence[Interval],
    *,
    color: str,
    cap: float = 0.0,
    width: float = 0.8,
    **look: Any,
) -> None:
    """Draw intervals as upright bars from their lower to their upper ends; ``cap`` is the length of a cap in points."""
    middles = np.array([interval.mid for interval in found])
    below = middles - [interval.lo for interval in found]
    above = [interval.hi for interval in found] - middles
    bars = {"ecolor": color, "elinewidth": width, "capsize": cap, "capthick": width, **look}
    axes.errorbar(x, middles, [below, above], fmt="none", **bars)


def convergence(
    axes: Axes,
    x: ArrayLike,
    errors: Iterable[Interval] | Iterable[float],
    *,
    color: str,
    mark: str = "",
    line: str = "solid",
    label: str | None = None,
    at: int | None = None,
    above: bool = False,
) -> None:
    """Draw errors against the step or the bandwidth on two logarithmic axes: a panel about an order.

    Parameters
    ----------
    axes : Axes
        The panel.
    x : array_like
        Steps.
    errors : iterable of Interval or of float, or Intervals
        Errors; of intervals the middles are drawn.
    color, mark, line : str
        How.
    label : str, optional
        Name of the curve, in the legend or, with ``at``, next to it.
    at : int, optional
        The point next to which the name stands: below it to the right, or if ``above``, to the left above it.
    above : bool, optional
        See ``at``.
    """
    steps = np.asarray(x, dtype=np.float64)
    sizes = [error.mid if isinstance(error, Interval) else float(error) for error in errors]
    look: dict[str, Any] = {"marker": mark, "linestyle": line, "markersize": 3.2, "markeredgewidth": 0}
    axes.loglog(steps, sizes, color=color, label=label if at is None else None, **look)
    if at is not None and label:
        side: dict[str, Any] = {"ha": "right", "va": "bottom"} if above else {"ha": "left", "va": "top"}
        note(axes, label, (steps[at], sizes[at]), offset=(-4, 3) if above else (5, -3), color=color, **side)
    axes.xaxis.set_minor_formatter(NullFormatter())


def note(
    axes: Axes,
    words: str,
    at: tuple[float, float],
    *,
    offset: tuple[float, float] | None = None,
    inside: bool = False,
    color: str = BLACK,
    **look: Any,
) -> None:
    """Write small words at a point of the panel.

    Parameters
    ----------
    axes : Axes
        The panel.
    words : str
        What is written.
    at : (float, float)
        The point, in data, or if ``inside`` in shares of the panel.
    offset : (float, float), optional
        From the point to the words, in points.
    inside : bool, optional
        See ``at``.
    color : str, optional
        Of the words.
    look
        ``ha``, ``va`` and others, as Matplotlib has them.
    """
    where: Any = axes.transAxes if inside else axes.transData
    given = {"size": SMALL, "color": color, **look}
    if offset is None:
        axes.text(*at, words, transform=where, **given)
    else:
        axes.annotate(words, at, offset, "axes fraction" if inside else "data", "offset points", **given)
