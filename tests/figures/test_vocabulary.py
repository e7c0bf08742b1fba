"""What figures have in common is drawn where it says."""

import numpy as np
import pytest

from theory.evidence import Interval
from theory.figures import _style as style
from theory.figures._style.style import drawing


@pytest.fixture(autouse=True)
def styled():
    with drawing():
        yield


@pytest.fixture
def axes():
    return style.canvas(style.SINGLE, 2.0).subplots()


def test_a_row_has_a_letter_and_a_title_for_each_panel():
    figure, panels = style.row(2.0, "one", "two", "three", widths=[1.0, 2.0, 1.0], sharey=True)
    assert figure.get_size_inches().tolist() == [style.DOUBLE, 2.0]
    titles = [panel.get_title(loc="left") for panel in panels]
    assert titles == [r"$\bf{a}$  one", r"$\bf{b}$  two", r"$\bf{c}$  three"]


def test_a_guide_crosses_the_panel_below_everything(axes):
    style.guide(axes, x=3.0)
    style.guide(axes, y=2.0, line="dashed")
    upright, level = axes.lines
    assert upright.get_xdata() == [3.0, 3.0]
    assert level.get_ydata() == [2.0, 2.0]
    assert upright.get_zorder() == level.get_zorder() == 0
    assert level.get_linestyle() == "--"


def test_a_power_goes_through_its_point_with_its_slope(axes):
    style.power(axes, [1.0, 10.0, 100.0], (10.0, 3.0), -2.0)
    assert np.allclose(axes.lines[0].get_ydata(), [300.0, 3.0, 0.03], rtol=1e-12, atol=0.0)


def test_intervals_reach_from_end_to_end(axes):
    style.intervals(axes, [1.0, 2.0], [Interval(0.0, 4.0), Interval(1.0, 2.0)], color=style.BLACK)
    ends = [segment[:, 1].tolist() for segment in axes.collections[0].get_segments()]
    assert ends == [[0.0, 4.0], [1.0, 2.0]]


def test_marks_have_no_line_and_hollow_ones_only_an_edge(axes):
    style.marks(axes, [1.0], [2.0], "o", color=style.BLUE)
    style.marks(axes, [1.0], [2.0], "o", color=style.BLUE, hollow=True)
    full, hollow = axes.lines
    assert full.get_linestyle() == hollow.get_linestyle() == "None"
    assert (full.get_markeredgewidth(), full.get_markerfacecolor()) == (0, style.BLUE)
    assert (hollow.get_markeredgewidth(), hollow.get_markerfacecolor()) == (0.7, "none")


@pytest.mark.parametrize(("above", "side"), [(False, ("left", "top")), (True, ("right", "bottom"))])
def test_errors_are_drawn_by_their_middles_with_a_name_next_to_them(axes, above, side):
    errors = [Interval(1.0, 3.0), Interval(0.1, 0.3)]
    style.convergence(axes, [1.0, 0.5], errors, color=style.GREEN, mark="s", label="order 3", at=1, above=above)
    assert np.allclose(axes.lines[0].get_ydata(), [2.0, 0.2], rtol=1e-12, atol=0.0)
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    name = axes.texts[0]
    assert (name.get_text(), name.xy, name.get_ha(), name.get_va()) == ("order 3", (0.5, 0.2), *side)
    assert axes.get_legend_handles_labels()[1] == []


def test_a_note_stands_in_data_or_in_shares_of_the_panel(axes):
    style.note(axes, "here", (2.0, 3.0))
    style.note(axes, "there", (0.5, 0.5), inside=True, offset=(1.0, 1.0), color=style.GREY)
    here, there = axes.texts
    assert here.get_position() == (2.0, 3.0)
    assert there.xycoords == "axes fraction"
    assert {here.get_fontsize(), there.get_fontsize()} == {style.SMALL}


def test_ticks_are_plain_numbers(axes):
    axes.set_xscale("log")
    style.ticks(axes, x=[1, 4, 1024])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "4", "1024"]
    assert axes.get_xticks(minor=True).size == 0


def test_one_turn_is_in_radians(axes):
    style.turn_axis(axes, "angle")
    assert axes.get_xlim() == (0.0, 2.0 * np.pi)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", r"$\pi$", r"$2\pi$"]
