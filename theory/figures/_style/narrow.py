"""A figure of two columns' width laid out anew in one: its panels stand below each other, small ones side by side.

A panel keeps its size where the column has room for it, and all type stays as large as it was.
"""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec, GridSpecFromSubplotSpec
from matplotlib.legend import Legend

from theory.figures._style.style import SINGLE

_PAGE = 9.6  # chosen: inches of a column of print
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
    height = sum(heights) + _BESIDE * len(rows)
    if height > _PAGE:
        raise ValueError(
            f"width: expected double for so many panels, which would be {height:.1f} inches high in one column"
        )
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
    """Return the panels by their letters; one without stays behind the one that was made before it."""
    letters = [axes.get_title(loc="left").partition("}")[0] for axes in panels]
    known = [next(filter(None, letters[k::-1]), "") for k in range(len(panels))]
    return [panels[k] for k in sorted(range(len(panels)), key=known.__getitem__)]


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
