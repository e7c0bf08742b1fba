"""What each figure must have, and that its files come out equal."""

import inspect
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from tests.figures.toys import ROOT, lay, toy_module, toy_study, verify
from theory import figures
from theory.evidence import Interval, Table
from theory.figures import registry, render, verified_table
from theory.figures._style import style
from theory.figures._style.narrow import narrow
from theory.figures.caption import footers, in_symbols

FIGURES = sorted(registry.titles())
COMMITTED = Path(figures.__path__[0]).parent.parent / "figures"
DRAW = """
import sys
from pathlib import Path
from theory.evidence import Table
from theory.figures import registry
from theory.figures._style import style
from theory.figures.caption import in_symbols

def drawing_of(name, tables, out):
    table = Table.from_csv((tables / f"{name}.csv").read_text(encoding="utf-8"))
    with style.drawing():
        module = registry.figure_module(name)
        figure = module.draw(table)
        footer = ["a caption in words " * 12, r"worst departure $\\leq3.1\\times10^{-14}$"]
        style.caption(figure, footer, in_symbols(module.TITLE))
        for form, picture in style.pictures(figure, ["svg", "png"]).items():
            (out / f"{name}.{form}").write_bytes(picture)
    return figure

if __name__ == "__main__":
    for name in registry.titles():
        drawing_of(name, *map(Path, sys.argv[1:]))
"""
SETTINGS = "font.size: 20\naxes.facecolor: red\nsvg.hashsalt: other\nsavefig.bbox: tight\n"


def small_table(name, evidence):
    """Return the committed table of a figure, thinned where it is long for no other reason than beauty."""
    table = verified_table.load_committed(COMMITTED / f"{name}.csv")
    study = registry.figure_module(name).STUDY
    own = {"evidence": evidence} if "evidence" in inspect.signature(study).parameters else {}
    if table is None or own:  # a new figure; or one of the evidence, which is another one here
        table = study(scale="quick", root=ROOT, **own)
    if name != "free_energy":
        return table
    keep = np.all([np.isin(table[f"p{k}"], [0.0, 0.25, 0.5, 0.75, 1.0]) for k in (1, 2)], axis=0)
    return Table(table.kind, table.units, {name: column[keep] for name, column in table.columns.items()})


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evidence")
    for claim in ("toy.double", "toy.twice", "other.double", "other.twice"):
        lay(folder, claim=claim)
    return folder


@pytest.fixture(scope="module")
def tables(tmp_path_factory, evidence):
    """Lay out the table of every figure."""
    folder = tmp_path_factory.mktemp("tables")
    for name in FIGURES:
        (folder / f"{name}.csv").write_text(small_table(name, evidence).to_csv(), encoding="utf-8", newline="\n")
    return folder


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    return tmp_path_factory.mktemp("pictures")


@pytest.fixture(scope="module")
def drawn(tables, pictures):
    """Draw every figure of the package, and start to do so in a process that hashes and was set up otherwise."""
    own = pictures / "own"
    own.mkdir()
    (own / "matplotlibrc").write_text(SETTINGS, encoding="utf-8")
    settings = {"MATPLOTLIBRC": str(own / "matplotlibrc"), "PYTHONHASHSEED": "1"}
    place: dict[str, object] = {"__name__": "here"}
    with subprocess.Popen([sys.executable, "-c", DRAW, tables, own], env=os.environ | settings) as other:  # noqa: S603
        exec(DRAW, place)  # noqa: S102  the same words here and there
        figures = {name: place["drawing_of"](name, tables, pictures) for name in FIGURES}
    assert other.returncode == 0
    return figures


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_has_what_it_needs(name):
    module = registry.figure_module(name)
    assert registry.titles()[name] == module.TITLE
    assert "\n" not in module.TITLE
    assert callable(module.STUDY)
    assert module.CLAIMS
    assert all(isinstance(claim, str) for claim in module.CLAIMS)


def test_every_module_that_draws_is_listed():
    drawing = [
        p.stem for p in Path(figures.__path__[0]).glob("*/*.py") if "\ndef draw(" in p.read_text(encoding="utf-8")
    ]
    assert sorted(drawing) == FIGURES
    assert len(FIGURES) >= 4


def test_an_unknown_figure_is_refused_by_name():
    with pytest.raises(ValueError, match=r"figure: expected one of arms, bases, .*, got 'nope'"):
        registry.figure_module("nope")


def test_the_data_that_figures_name_are_here():
    named = [path for name in FIGURES for path in registry.data_files(name)]
    assert named
    assert all(path.is_file() for path in named)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_fits_a_column_and_no_type_is_small(drawn, name):
    figure = drawn[name]
    assert figure.get_size_inches()[0] in (style.SINGLE, style.DOUBLE)
    small = [t.get_text() for t in figure.findobj(Text) if t.get_visible() and t.get_text() and t.get_fontsize() < 7.0]
    assert small == []


@pytest.mark.parametrize("name", FIGURES)
def test_headline_and_caption_lie_over_nothing(drawn, name):
    figure = drawn[name]
    with style.drawing():
        figure.draw_without_rendering()
    lines = [text.get_window_extent() for text in figure.texts]
    heads = sum(text.get_fontsize() == style.HEAD for text in figure.texts)
    assert 1 <= heads <= 2
    assert len(lines) - heads >= 3
    assert min(line.y0 for line in lines) >= 0.0
    assert max(line.y1 for line in lines) <= figure.bbox.y1
    assert max(line.x1 for line in lines) <= figure.bbox.x1
    assert all(a.y0 >= b.y1 - 0.5 for a, b in pairwise(lines))
    others = [part.get_tightbbox() for part in (*figure.axes, *figure.legends)]
    assert min(part.y0 for part in others) >= max(line.y1 for line in lines[heads:])
    assert max(part.y1 for part in others) <= min(line.y0 for line in lines[:heads])
    hung = [legend.get_window_extent().y0 for legend in figure.legends]
    assert all(max(axes.get_tightbbox().y1 for axes in figure.axes) <= low + 1.0 for low in hung)


def test_a_footer_is_the_longest_that_fits_in_a_line(tmp_path):
    lay(tmp_path / "evidence")
    verdict = verify(tmp_path, toy_module())
    long, *_ = footers(verdict)
    assert long.startswith("toy.double: supported, numeric (scale quick). Worst departure $")
    module = toy_module()
    for width, words in ((style.DOUBLE, long), (style.SINGLE, "toy.double: supported, numeric (scale quick).")):
        module.draw = lambda _, width=width: style.canvas(width, 2.0)
        seen = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(style, "caption", lambda _, lines, title, seen=seen: seen.append((lines, title)))
            render.render_figure("toy", module, verdict, ())
        assert seen == [([words], "a toy")]


def test_claims_have_their_names_in_the_footer_while_there_is_room(tmp_path):
    for number in range(10):
        lay(tmp_path / "evidence", claim=f"toy.n{number}")
    lay(tmp_path / "evidence", claim="other.one", factor=2.5)

    def lines(*claims):
        return footers(verify(tmp_path, toy_module(claims=claims)))

    def longest(*claims):
        return lines(*claims)[0]

    assert longest("toy.n0", "toy.n1") == "toy.n0: supported, numeric; toy.n1: supported, numeric (scale quick)."
    some = "toy.n0, .n1, .n2, other.one: 3 supported, 1 refuted (scale quick)."
    assert longest("toy.n0", "toy.n1", "toy.n2", "other.one") == some
    assert lines("toy.n0", "toy.n1", "toy.n2", "other.one")[1:4] == [
        "toy.n0, .n1, .n2, other.one: 3 supported, 1 refuted (quick).",
        "toy.n0, .n1, .n2 and 1 more: 3 supported, 1 refuted (scale quick).",
        "toy.n0, .n1 and 2 more: 3 supported, 1 refuted (scale quick).",
    ]
    assert longest("toy.*", "other.one") == "11 claims on toy, other: 10 supported, 1 refuted (scale quick)."
    assert longest("toy.none") == "No evidence at scale quick."


def test_distances_are_symbols_in_headlines_and_captions():
    words = "near in W1, far in W2 and W infinity"
    assert in_symbols(words) == r"near in $W_1$, far in $W_2$ and $W_\infty$"
    assert in_symbols("wide, WW1, W10") == "wide, WW1, W10"
    assert in_symbols("W infinitya") == "W infinitya"


@pytest.mark.parametrize("name", ["consensus", "star"])
def test_a_narrow_figure_has_all_its_panels_in_one_column(tables, name):
    table = Table.from_csv((tables / f"{name}.csv").read_text(encoding="utf-8"))
    with style.drawing():
        figure = registry.figure_module(name).draw(table)
        before = {text.get_fontsize() for text in figure.findobj(Text)}
        narrow(figure)
        style.caption(figure, [])
        figure.draw_without_rendering()
    assert figure.get_size_inches()[0] == style.SINGLE
    assert figure.get_size_inches()[1] < 9.6
    boxes = [axes.get_window_extent() for axes in figure.axes]
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
    assert min(box.width for box in boxes) > 0.5 * figure.bbox.width
    assert {text.get_fontsize() for text in figure.findobj(Text)} <= before
    letters = [axes.get_title(loc="left")[5] for axes in sorted(figure.axes, key=lambda a: -a.get_position().y1)]
    assert letters == sorted(letters)
    for legend in figure.legends:
        box = legend.get_window_extent()
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1


def test_a_narrow_panel_without_a_letter_follows_the_one_that_it_stood_below(tables):
    table = Table.from_csv((tables / "tightness.csv").read_text(encoding="utf-8"))
    with style.drawing():
        figure = registry.figure_module("tightness").draw(table)
        narrow(figure)
        figure.draw_without_rendering()
    assert figure.get_size_inches()[1] <= 9.6  # a page holds it, since its panels are lower
    down = sorted(figure.axes, key=lambda axes: -axes.get_position().y1)
    assert [axes.get_title(loc="left").partition("}")[0][-1:] for axes in down] == ["a", "", "b", "", "c", ""]


def test_too_many_panels_for_a_column_are_refused(tables):
    table = Table.from_csv((tables / "zoo.csv").read_text(encoding="utf-8"))
    with style.drawing():
        figure = registry.figure_module("zoo").draw(table)
        with pytest.raises(ValueError, match="width: expected double for so many panels"):
            narrow(figure)
        with pytest.raises(ValueError, match="expected panels in a grid, found none"):
            narrow(style.canvas(style.DOUBLE, 2.0))


@pytest.mark.parametrize("name", FIGURES)
def test_no_title_or_label_leaves_the_figure(drawn, name):
    figure = drawn[name]
    with style.drawing():
        figure.draw_without_rendering()  # places the labels
    whole = figure.bbox
    for axes in figure.axes:
        for text in (axes._left_title, axes.xaxis.label, axes.yaxis.label):
            if text.get_text():
                box = text.get_window_extent()
                assert whole.x0 <= box.x0 < box.x1 <= whole.x1, text
                assert whole.y0 <= box.y0 < box.y1 <= whole.y1, text


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.usefixtures("drawn")
def test_a_second_drawing_is_equal_in_another_process_whatever_the_settings(pictures, name):
    for form in ("svg", "png"):
        assert (pictures / "own" / f"{name}.{form}").read_bytes() == (pictures / f"{name}.{form}").read_bytes()


def test_last_digits_of_a_processor_move_no_dot():
    """A power on two logarithmic axes is a straight line of many pieces, whose joins are made of rounding errors."""

    def drawn(moved):
        x = np.geomspace(10.0, 320.0, 60)
        y = 1.0 / (1.7 * x)
        with style.drawing():
            figure = style.canvas(style.SINGLE, 2.0)
            axes = figure.subplots()
            for factor in np.linspace(1.0, 7.0, 12):
                axes.loglog(x, factor * np.where(np.arange(60) % 3 < moved, np.nextafter(y, 1.0), y))
            axes.set(xlim=(9.0, 400.0), ylim=(1e-3, 1.0))
            return style.pictures(figure, ["png"])["png"], figure

    (here, figure), (there, other) = drawn(0), drawn(1)
    assert here == there
    plain = []
    for each in (figure, other):  # so it is the rounding that makes them equal
        canvas = FigureCanvasAgg(each)
        canvas.draw()
        plain.append(bytes(canvas.buffer_rgba()))
    assert plain[0] != plain[1]


def test_the_settings_of_the_user_stay_as_they_are():
    with mpl.rc_context({"font.size": 20.0, "axes.facecolor": "red"}):
        with style.drawing():
            style.pictures(toy_module().draw(toy_study()(scale="quick", root=ROOT)), ["svg"])
            assert mpl.rcParams["font.size"] == style.TEXT
        assert mpl.rcParams["font.size"] == 20.0


def test_the_stamp_is_seen():
    with style.drawing():
        figure = toy_module().draw(toy_study()(scale="quick", root=ROOT))
        style.stamp(figure, "toy.double is refuted, and the reason for it is so long that it takes more than one line")
        figure.draw_without_rendering()
    big, small = figure.texts
    assert big.get_text() == "NOT VERIFIED"
    assert "\n" in small.get_text()
    assert big.get_window_extent().width > 0.4 * figure.bbox.width
    for text in (big, small):
        assert figure.bbox.containsx(text.get_window_extent().x0)
        assert figure.bbox.containsx(text.get_window_extent().x1)


def test_temperatures_that_coincide_are_all_seen(drawn):
    *_, left, right = (axes for axes in drawn["free_energy"].axes if axes.get_xscale() == "log")
    for axes in (left, right):
        points = [line for line in axes.lines if line.get_marker() in ("o", "^", "s")]
        levels = [line.get_zorder() for line in points]
        assert levels == sorted(levels, reverse=True)  # what reaches far lies below
        assert len(set(levels)) == len(points) == 3
    shifts = [
        line._unscaled_dash_pattern[0] for line in right.lines if line.get_marker() == "None" and len(line.get_xdata())
    ]
    assert len(set(shifts)) == len(shifts) == 3


def test_the_transport_figure_prints_what_it_certifies(drawn):
    words = " ".join(text.get_text() for axes in drawn["transport"].axes for text in axes.texts)
    assert "W_1(" in words
    assert r"\ldots" in words
    assert r"mean displacement $\leq" in words


def test_cut_prints_no_digit_that_the_ends_do_not_share():
    assert style.shared_digits(Interval(57.0412, 57.0413), 3) == r"57.0\ldots"
    assert style.shared_digits(Interval(57.04, 57.16), 3) == r"57\ldots"
    assert style.shared_digits(Interval(1.9, 2.1), 3).startswith("[")
