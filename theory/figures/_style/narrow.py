"""A figure of two columns' width laid out anew in one: its panels stand below each other, small ones side by side.

A panel keeps its size where the column has room for it and the page has, and all type stays as large as it was.
"""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec, GridSpecFromSubplotSpec
from matplotlib.legend import Legend

from theory.figures._style.style import SINGLE

_PAGE = 9.6  # chosen: inches of a column of print
_LEAST = 0.6  # chosen: what is left of the height of a panel where the page is too short for all of them
_BESIDE = 0.62  # chosen: inches beside a panel, and above and below it, for its labels and its title


def narrow(figure: Figure) -> None:
    """Lay a drawn figure out in the width of one column, its panels in the order of their letters.

    Raises
    ------
    ValueError
        If it has no panel in a grid, or more than one column can hold.
    """
    panels = _lettered([axes for axes in figure.axes if axes.get_subplotspec() is not None])
    if not panels:
        raise ValueError("figure: expected panels in a grid, found none")
    figure.draw_without_rendering()
    whole = figure.get_size_inches()
    sizes = {axes: (axes.get_position().bounds[2:] * whole).tolist() for axes in panels}
    rows: list[list[Axes]] = [[]]
    for axes in panels:
        if rows[-1] and sum(sizes[each][0] + _BESIDE for each in (*rows[-1], axes)) > SINGLE:
            rows.append([])
        rows[-1].append(axes)
    heights = [max(sizes[axes][1] for axes in row) for row in rows]
    between = _BESIDE * len(rows)
    kept = min((_PAGE - between) / sum(heights), 1.0)
    if kept < _LEAST:
        high = sum(heights) + between
        raise ValueError(
            f"width: expected double for so many panels, which would be {high:.1f} inches high in one column"
        )
    height = kept * sum(heights) + between
    figure.set_size_inches(SINGLE, height)
    grid = GridSpec(len(rows), 1, figure, height_ratios=heights)
    for k, row in enumerate(rows):
        beside = GridSpecFromSubplotSpec(1, len(row), grid[k], width_ratios=[sizes[axes][0] for axes in row])
        for place, axes in enumerate(row):
            axes.set_subplotspec(beside[place])
        _label_again(row[0], panels)
    for legend in list(figure.legends):
        _fit(legend, figure)


def _lettered(panels: list[Axes]) -> list[Axes]:
    """Return the panels by their letters; one without stays behind the one that it belongs to."""
    letters: dict[Axes, str] = {}
    for axes in panels:
        letters[axes] = axes.get_title(loc="left").partition("}")[0] or _letter_above(axes, letters)
    return sorted(panels, key=letters.__getitem__)


def _letter_above(axes: Axes, letters: Mapping[Axes, str]) -> str:
    """Return the letter of the panel that was made before, or of that above in a row in which none has its own."""
    if not letters:
        return ""
    last, spec = [*letters][-1], axes.get_subplotspec()
    for above in reversed([*letters]):
        other = above.get_subplotspec()
        if other is None or spec is None or other.get_gridspec() is not spec.get_gridspec():
            break
        if other.rowspan.start == spec.rowspan.start and above.get_title(loc="left"):
            break
        if other.rowspan.start < spec.rowspan.start and other.colspan.start == spec.colspan.start:
            return letters[above]
    return letters[last]


def _label_again(axes: Axes, panels: list[Axes]) -> None:
    """Give the first panel of a row the labels that it left to another one, with which it shares an axis."""
    for name, shared in (("x", axes.get_shared_x_axes()), ("y", axes.get_shared_y_axes())):
        siblings = [each for each in panels if each is not axes and shared.joined(axes, each)]
        own = getattr(axes, f"{name}axis")
        if siblings:
            own.set_tick_params(labelbottom=True) if name == "x" else own.set_tick_params(labelleft=True)
            labels = [own.get_label_text(), *(getattr(each, f"{name}axis").get_label_text() for each in siblings)]
            own.set_label_text(next(filter(None, labels), ""))


def _fit(legend: Legend, figure: Figure) -> None:
    """Make a legend anew with as many columns as there is room for."""
    handles, words = [*filter(None, legend.legend_handles)], [text.get_text() for text in legend.get_texts()]
    for columns in range(min(3, len(words)), 0, -1):
        legend.remove()
        legend = figure.legend(handles, words, loc="outside upper center", ncols=columns, columnspacing=1.0)
        if legend.get_window_extent().width <= figure.bbox.width:
            break
