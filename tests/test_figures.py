"""The figures: what each must have, that files come out equal, and that only judged tables are drawn as verified."""

import errno
import inspect
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from threadpoolctl import threadpool_info

from theory import figures
from theory.evidence import Claim, Interval, Kind, Run, Table, Verdict, bug, constant, decide, equals, verifies
from theory.evidence.record import write
from theory.evidence.runner import title_of
from theory.figures import __main__ as command, caption, manifest, registry, render, verified_table
from theory.figures._style import beeswarm, style
from theory.report import locations
from theory.report.archive import ArchiveError
from theory.report.digits import at_most

FIGURES = sorted(registry.titles())
ROOT = 20070
COMMITTED = Path(figures.__path__[0]).parent.parent / "figures"


def toy_study(*, moved=0.0, width=1e-6, rows=8):
    """Make a study named ``toy`` whose intervals hold the truth 2x, off by ``moved``."""

    def toy(*, scale, root):
        x = np.arange(1.0, rows + 1.0)
        y = [Interval.within(2.0 * value + moved, width) for value in x.tolist()]
        return Table(Kind.NUMERIC, {"x": "1", "y": "1"}, {"x": x, "y": y})

    return toy


def toy_module(study=None, claims=("toy.double",)):
    def draw(table):
        figure = style.canvas(style.SINGLE, 2.0)
        figure.subplots().plot(table["x"], table["y.lo"])
        return figure

    return SimpleNamespace(TITLE="a toy", STUDY=study or toy_study(), CLAIMS=claims, draw=draw)


def lay(folder, *, factor=2.0, claim="toy.double", scale="quick", root=ROOT, study=None, finds=(Verdict.SUPPORTED,)):
    """Judge the toy and write its evidence; another ``factor`` makes a claim that is refuted."""

    def check(run, *, factor=factor, power=1):
        table = run.study(study or toy_study())
        for x, y in zip(table["x"].tolist(), table.intervals("y"), strict=True):
            yield equals(y, factor * x**power)

    twins = constant("triple", "the factor is three", factor=3.0), bug("square", "the argument is squared", power=2)
    verification = verifies(Claim(claim, "the double is twice", "$y = 2x$", finds=finds), *twins)(check)
    write(folder, decide(verification, Run(claim, scale=scale, root=root)), "verify/test_toy.py")


def verify(tmp_path, module, *, scale="quick", root=ROOT, folders=()):
    return verified_table.verify_table(
        "toy", module, scale=scale, root=root, evidence=tmp_path / "evidence", folders=folders
    )


def test_a_study_is_computed_as_when_it_was_judged(tmp_path):
    """On one thread of linear algebra, whose number moves last digits, and with faults as errors."""
    seen = []

    def watched(*, scale, root):
        seen.append(({pool["num_threads"] for pool in threadpool_info()}, np.geterr()["over"]))
        return toy_study()(scale=scale, root=root)

    verify(tmp_path, toy_module(watched))
    assert seen == [({1}, "raise")]


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Lay out a repository with one figure and its evidence, and return the command line in it."""
    lay(tmp_path / "evidence")
    monkeypatch.setattr(registry, "titles", lambda: {"toy": "a toy"})
    monkeypatch.setattr(registry, "figure_module", lambda _: toy_module())
    monkeypatch.setattr(registry, "data_files", lambda _: [])

    def run(*arguments, out="out"):
        options = ["--evidence", str(tmp_path / "evidence"), "--out", str(tmp_path / out)]
        return command.main([*options, *arguments])

    return SimpleNamespace(run=run, folder=tmp_path / "out", evidence=tmp_path / "evidence")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def small_table(name, evidence):
    """Return the committed table of a figure, thinned where it is long for no other reason than beauty."""
    table, study = verified_table.load_committed(COMMITTED / f"{name}.csv"), registry.figure_module(name).STUDY
    own = {"evidence": evidence} if "evidence" in inspect.signature(study).parameters else {}
    if table is None or own:  # a new figure; or one of the evidence, which is another one here
        table = study(scale="quick", root=ROOT, **own)
    if name != "free_energy":
        return table
    keep = np.all([np.isin(table[f"p{k}"], [0.0, 0.25, 0.5, 0.75, 1.0]) for k in (1, 2)], axis=0)
    return Table(table.kind, table.units, {name: column[keep] for name, column in table.columns.items()})


DRAW = """
import sys
from pathlib import Path
from theory.evidence import Table
from theory.figures import registry
from theory.figures._style import style

def drawing_of(name, tables, out):
    table = Table.from_csv((tables / f"{name}.csv").read_text(encoding="utf-8"))
    with style.drawing():
        figure = registry.figure_module(name).draw(table)
        style.caption(figure, ["a caption in words " * 12, r"worst departure $\\leq3.1\\times10^{-14}$"])
        for form, picture in style.pictures(figure, ["svg", "png"]).items():
            (out / f"{name}.{form}").write_bytes(picture)
    return figure

if __name__ == "__main__":
    for name in registry.titles():
        drawing_of(name, *map(Path, sys.argv[1:]))
"""
SETTINGS = "font.size: 20\naxes.facecolor: red\nsvg.hashsalt: other\nsavefig.bbox: tight\n"


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


# what a figure is


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
    with pytest.raises(ValueError, match=r"figure: expected one of board, .*, got 'nope'"):
        registry.figure_module("nope")


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_fits_a_column_and_no_type_is_small(drawn, name):
    figure = drawn[name]
    assert figure.get_size_inches()[0] in (style.SINGLE, style.DOUBLE)
    small = [t.get_text() for t in figure.findobj(Text) if t.get_visible() and t.get_text() and t.get_fontsize() < 7.0]
    assert small == []


@pytest.mark.parametrize("name", FIGURES)
def test_the_caption_lies_over_nothing(drawn, name):
    figure = drawn[name]
    with style.drawing():
        figure.draw_without_rendering()
    lines = [text.get_window_extent() for text in figure.texts]
    assert len(lines) >= 3
    assert min(line.y0 for line in lines) >= 0.0
    assert max(line.x1 for line in lines) <= figure.bbox.x1
    assert all(a.y0 >= b.y1 - 0.5 for a, b in pairwise(lines))
    assert min(axes.get_tightbbox().y0 for axes in figure.axes) >= max(line.y1 for line in lines)


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


def board_table(*claims):
    """Make the table of a board: per claim its id and what differs from a supported one with two twins."""
    usual = {
        "verdict": "supported", "kind": "numeric", "departure.lo": -np.inf, "departure.hi": 1e-9, "reach": 0.01,
        "tightness": "", "gap": 1.0,
    }  # fmt: skip
    twins = ({"twin": "near", "made_by": "bug"}, {"twin": "far", "made_by": "constant", "gap": np.inf})
    lines = [usual | {"claim": claim} | changed | twin for claim, changed in claims for twin in twins]
    columns = {name: [line[name] for line in lines] for name in lines[0]}
    return Table(Kind.STATISTICAL, dict.fromkeys(columns, "1"), columns)


def board_of(*claims):
    with style.drawing():
        figure = registry.figure_module("board").draw(board_table(*claims))
        style.caption(figure, ["a caption", "of two lines"])
        figure.draw_without_rendering()
    return figure


def words_of(figure):
    """Return the colour of every text in the panels of a board."""
    return {text.get_text(): text.get_color() for axes in figure.axes for text in axes.texts}


def marks_of(axes, *, faults=False):
    """Return the marks on a panel of a board of the claims that are supported, or of those that are not."""
    marks = [line for line in axes.lines if line.get_marker() in ("o", "X", "<", ">")]
    return [line for line in marks if (line.get_markerfacecolor() == style.VERMILION) == faults]


def look_of(line):
    """Return the shape of a mark, its place, and whether it is hollow."""
    return line.get_marker(), float(line.get_xdata()[0]), line.get_markerfacecolor() == "white"


def nearest_marks(axes):
    """Return how far the nearest two marks of a panel are from each other, in sizes of a mark."""
    marks = marks_of(axes)
    points = axes.transData.transform([(line.get_xdata()[0], line.get_ydata()[0]) for line in marks])
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1)
    np.fill_diagonal(apart, np.inf)
    size = marks[0].get_markersize() + marks[0].get_markeredgewidth()
    return apart.min() / (size * axes.figure.dpi / 72.0)


def many_claims(n, subjects):
    """Yield claims as they come: most in few subjects, many departures of one size or none, many gaps of one."""
    random = np.random.default_rng(0)
    owners = np.sort(np.append(np.arange(subjects), random.geometric(0.1, n - subjects) % subjects))
    for number, owner in enumerate(owners.tolist()):
        yield (
            f"subject-{owner}.claim-{number}",
            {
                "departure.hi": -1.0 if random.random() < 0.2 else 0.01 * min(10.0 ** random.normal(-10.0, 2.0), 1.0),
                "gap": 1.0 if random.random() < 0.3 else 10.0 ** random.uniform(-4.0, 1.0),
                "tightness": repr(1.0 - 10.0 ** random.uniform(-16.0, 0.0)) if random.random() < 0.4 else "",
            },
        )


def test_the_board_grows_with_what_fails_and_names_it():
    claims = [(f"{'abcde'[k // 14]}.claim-{k}", {}) for k in range(70)]
    broken = {
        0: {"verdict": "refuted", "departure.hi": np.inf},
        1: {"verdict": "inconclusive", "departure.hi": 0.02},
        2: {"verdict": "vacuous", "departure.hi": -1.0, "reach": 0.0, "gap": -0.5},
        69: {"verdict": "vacuous", "reach": 0.0, "gap": 0.0},
    }
    whole, figure = board_of(*claims), board_of(*((id_, broken.get(k, {})) for k, (id_, _) in enumerate(claims)))
    assert figure.get_size_inches()[1] > whole.get_size_inches()[1]
    named = {word: colour for word, colour in words_of(figure).items() if word.startswith("claim-")}
    expected = [f"claim-{k} {found['verdict']} \N{BALLOT X}" for k, found in broken.items()]
    assert named == dict.fromkeys(expected, style.VERMILION)
    assert not any(word.startswith("claim-") for word in words_of(whole))
    first, departures, gaps, _ = figure.axes
    assert [line.get_marker() for line in marks_of(departures, faults=True)] == [">", "X", "<", ">"]
    assert [line.get_marker() for line in marks_of(gaps, faults=True)] == ["X", "X", "<", "<"]
    assert len(marks_of(departures)) == len(marks_of(gaps)) == 66
    levels = [text.xy[1] for text in first.texts if text.get_text() in named]
    assert levels == [line.get_ydata()[0] for line in marks_of(departures, faults=True)]  # each beside its name
    assert "4 not supported" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_the_board_counts_by_subject_in_the_order_of_the_table():
    kinds = ["proved", "numeric", "numeric", "trend"]
    claims = [(f"{subject}.{k}", {"kind": kind}) for subject in ("z", "a") for k, kind in enumerate(kinds)]
    figure = board_of(*claims, ("a.wrong", {"verdict": "refuted", "departure.hi": 1.0}))
    first = figure.axes[0]
    assert [label.get_text() for label in first.get_yticklabels()] == ["z", "a"]
    words = words_of(figure)
    assert (words["4/4"], words["4/5"]) == (style.BLACK, style.VERMILION)
    bars = [(bar.get_x(), bar.get_width(), mpl.colors.to_hex(bar.get_facecolor()).upper()) for bar in first.patches]
    hues = (style.OF_KIND[kind] for kind in (Kind.PROVED, Kind.NUMERIC, Kind.TREND))
    supported = list(zip((0.0, 1.0, 3.0), (1.0, 2.0, 1.0), hues, strict=True))
    assert bars == [*supported, *supported, (4.0, 1.0, style.VERMILION)]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend[:3] == ["2 proved", "5 numeric", "2 trend"]


def test_the_board_shows_what_is_stated_in_black_and_does_not_count_it_as_support():
    found = {"verdict": "refuted, as stated", "departure.lo": 0.5, "departure.hi": 1.0}
    claims = [("a.one", {}), ("a.two", found), ("a.three", found | {"verdict": "inconclusive, as stated"})]
    figure, whole = board_of(*claims), board_of(*((name, {}) for name, _ in claims))
    assert figure.get_size_inches().tolist() == whole.get_size_inches().tolist()  # no row of its own, and no name
    assert words_of(figure)["1/3"] == style.BLACK
    assert marks_of(figure.axes[1], faults=True) == []
    assert [line.get_markerfacecolor() for line in marks_of(figure.axes[1])].count(style.BLACK) == 2
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend[:2] == ["1 numeric", "1 inconclusive, 1 refuted, as stated"]


def test_the_board_shows_how_near_each_claim_is_to_its_limit():
    figure = board_of(
        ("a.near", {"kind": "trend", "departure.hi": 0.25, "reach": 0.5, "gap": 2.0, "tightness": "0.75"}),
        ("b.none", {"departure.hi": 0.0, "tightness": "1.0"}),
        ("c.far", {"departure.hi": 1e-40, "gap": 1e300, "tightness": repr(1.0 + 2.0**-40)}),
        ("d.equation", {"departure.hi": 1e-9}),
    )
    departures, gaps, bounds = ([look_of(line) for line in marks_of(axes)] for axes in figure.axes[1:])
    assert [shape for shape, *_ in departures] == ["o", "<", "<", "o"]
    assert [departures[k][1] for k in (0, 3)] == pytest.approx([0.5, 1e-7], rel=1e-12, abs=0.0)
    assert max(place for shape, place, _ in departures if shape == "<") < 1e-15
    assert [shape for shape, *_ in gaps] == ["o", "o", ">", "o"]  # the nearest twin, not the far one
    assert [gaps[k][1] for k in (0, 1, 3)] == pytest.approx([2.0, 1.0, 1.0], rel=1e-12, abs=0.0)
    assert [(shape, hollow) for shape, _, hollow in bounds] == [("o", False), ("<", False), ("o", True)]
    assert [bounds[k][1] for k in (0, 2)] == pytest.approx([0.25, 2.0**-40], rel=1e-12, abs=0.0)
    assert marks_of(figure.axes[1])[0].get_markerfacecolor() == style.OF_KIND[Kind.TREND]


def test_the_board_fits_a_page_whatever_the_number_of_claims():
    figure = board_of(*many_claims(500, 30))
    assert figure.get_size_inches()[0] == style.DOUBLE
    assert figure.get_size_inches()[1] <= 5.0
    _, departures, gaps, bounds = figure.axes
    assert len(marks_of(departures)) == len(marks_of(gaps)) == 500
    assert min(nearest_marks(axes) for axes in (departures, gaps, bounds)) > 0.05  # no mark hides another
    labels = [label.get_window_extent() for label in figure.axes[0].get_yticklabels()]
    assert len(labels) == 30
    assert all(a.y0 >= b.y1 or b.y0 >= a.y1 for a, b in pairwise(labels))


def test_nothing_overlaps_on_a_board_of_two_hundred_claims():
    figure = board_of(*many_claims(200, 16), ("z.wrong", {"verdict": "refuted"}))
    assert figure.get_size_inches()[1] <= 5.0
    assert min(nearest_marks(axes) for axes in figure.axes[1:]) >= 1.0
    first, *others = figure.axes
    words = [text.get_window_extent() for text in (*first.texts, *first.get_yticklabels())]
    assert not any(a.overlaps(b) for k, a in enumerate(words) for b in words[:k])
    assert max(word.x1 for word in words) <= others[0].get_window_extent().x0
    titles = [axes._left_title.get_window_extent() for axes in figure.axes]
    assert all(a.x1 < b.x0 for a, b in pairwise(titles))
    legend = figure.legends[0].get_window_extent()
    assert figure.bbox.x0 <= legend.x0 < legend.x1 <= figure.bbox.x1


def test_a_board_without_claims_is_drawn(tmp_path):
    board = registry.figure_module("board")
    with style.drawing():
        board.draw(board.STUDY(scale="quick", root=ROOT, evidence=tmp_path)).draw_without_rendering()


def test_the_subjects_of_the_board_stand_in_their_order(tmp_path):
    for claim in ("alpha.double", "layer.double", "markov.twice", "markov.double"):
        lay(tmp_path, claim=claim)
    (tmp_path / "softmax.broken.json").write_text("{", encoding="utf-8")
    table = registry.figure_module("board").STUDY(scale="quick", root=ROOT, evidence=tmp_path)
    assert list(dict.fromkeys(table["claim"].tolist())) == [
        "markov.double",
        "markov.twice",
        "layer.double",
        "alpha.double",
    ]


def test_marks_that_coincide_part_and_others_stay():
    found = beeswarm.assign_lanes(np.array([5.0, 1.0, 5.0, 9.0, 5.1, 5.9, 6.3]))
    assert found[1] == found[3] == (0.0, 1)
    assert [found[k] for k in (0, 2, 4, 5)] == [(-1.5, 4), (-0.5, 4), (0.5, 4), (1.5, 4)]
    assert found[6] == found[0]  # the first lane is free again


def test_rows_are_as_high_as_their_marks_need_unless_the_page_ends():
    few = beeswarm.row_heights([1, 9])
    assert few[0] == beeswarm.ROW[1]
    assert few[1] >= 9 * beeswarm.DOT
    full = beeswarm.row_heights([1] * 20 + [9] * 10)
    assert full.sum() <= beeswarm.PAGE
    assert full.min() >= beeswarm.ROW[0]
    assert np.ptp(full[20:]) == 0.0
    assert (beeswarm.row_heights([1] * 100) == beeswarm.ROW[0]).all()
    assert beeswarm.row_heights([]).size == 0


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


def test_the_transport_figure_prints_what_it_certifies(drawn):
    words = " ".join(text.get_text() for axes in drawn["transport"].axes for text in axes.texts)
    assert "W_1(" in words
    assert r"\ldots" in words
    assert r"mean displacement $\leq" in words


def test_cut_prints_no_digit_that_the_ends_do_not_share():
    assert style.shared_digits(Interval(57.0412, 57.0413), 3) == r"57.0\ldots"
    assert style.shared_digits(Interval(57.04, 57.16), 3) == r"57\ldots"
    assert style.shared_digits(Interval(1.9, 2.1), 3).startswith("[")


# the verified table


def test_the_fresh_table_passes_if_its_claims_stand_on_it(tmp_path):
    lay(tmp_path / "evidence")
    verdict = verify(tmp_path, toy_module())
    assert (verdict.reason, verdict.remedy) == (None, None)
    assert verdict.table.sha256 == toy_study()(scale="quick", root=ROOT).sha256
    assert [record.claim.id for record in verdict.records] == ["toy.double"]


def test_other_last_digits_pass_on_the_committed_table(tmp_path):
    lay(tmp_path / "evidence")
    judged = toy_study()(scale="quick", root=ROOT)
    (tmp_path / "toy.csv").write_text(judged.to_csv(), encoding="utf-8")
    elsewhere = toy_module(toy_study(moved=1e-9))
    verdict = verify(tmp_path, elsewhere, folders=(tmp_path / "none", tmp_path))
    assert verdict.reason is None
    assert verdict.table.sha256 == judged.sha256
    assert verify(tmp_path, elsewhere).reason == "the table is not the judged one"


@pytest.mark.parametrize("study", [toy_study(moved=1e-3), toy_study(rows=9)])
def test_a_number_that_moved_does_not_pass(tmp_path, study):
    lay(tmp_path / "evidence")
    (tmp_path / "toy.csv").write_text(toy_study()(scale="quick", root=ROOT).to_csv(), encoding="utf-8")
    verdict = verify(tmp_path, toy_module(study), folders=(tmp_path,))
    assert verdict.reason.startswith("the table differs from the judged one: ")
    assert verdict.table.sha256 == study(scale="quick", root=ROOT).sha256


def test_a_committed_table_that_nobody_judged_does_not_pass(tmp_path):
    lay(tmp_path / "evidence")
    near = toy_study(moved=1e-9)(scale="quick", root=ROOT)
    (tmp_path / "toy.csv").write_text(near.to_csv(), encoding="utf-8")
    assert verify(tmp_path, toy_module(toy_study(moved=2e-9)), folders=(tmp_path,)).reason is not None
    far = toy_study(moved=1.0)(scale="quick", root=ROOT)
    (tmp_path / "toy.csv").write_text(far.to_csv(), encoding="utf-8")
    assert (
        "against the CSV: column y.lo"
        in verify(tmp_path, toy_module(toy_study(moved=2e-9)), folders=(tmp_path,)).reason
    )


def test_every_claim_must_stand_at_this_scale_and_root(tmp_path):
    lay(tmp_path / "evidence")
    lay(tmp_path / "evidence", claim="toy.wrong", factor=2.5)
    lay(tmp_path / "evidence", claim="toy.worse", factor=3.5)
    lay(tmp_path / "evidence", claim="toy.large", scale="paper")
    (tmp_path / "evidence" / "toy.broken.json").write_text("{", encoding="utf-8")

    def reason(*claims, **options):
        return verify(tmp_path, toy_module(claims=claims), **options).reason

    assert reason("toy.wrong") == "toy.wrong is refuted"
    assert reason("toy.double", "toy.wrong") == "toy.wrong is refuted"
    assert reason("toy.double", root=7) == f"toy.double was decided with root {ROOT}, not 7"
    assert reason("toy.large") == "no evidence for toy.large at scale quick"
    assert reason("toy.large", scale="paper") is None
    assert reason("toy.none") == "no evidence for toy.none"
    assert reason("none.*") == "no evidence for any claim"
    assert reason("toy.broken") == "the record of toy.broken cannot be read"
    assert reason("toy.*").endswith("and 1 more")


def test_claims_judged_on_another_study_or_on_different_tables_do_not_pass(tmp_path):
    def other(*, scale, root):
        return toy_study()(scale=scale, root=root)

    lay(tmp_path / "evidence", study=other)
    assert verify(tmp_path, toy_module()).reason == f"toy.double was not judged on a table of {title_of(toy_study())}"
    lay(tmp_path / "evidence")
    lay(tmp_path / "evidence", claim="toy.twice", study=toy_study(moved=1e-9))
    both = toy_module(claims=("toy.double", "toy.twice"))
    assert verify(tmp_path, both).reason == "its claims were judged on different tables"


def test_the_mending_command_names_claims_and_scale(tmp_path):
    lay(tmp_path / "evidence")
    remedy = verify(tmp_path, toy_module(claims=("toy.a", "toy.b")), scale="paper", root=7).remedy
    assert remedy == f"pytest {tmp_path} -k 'toy.a or toy.b' --scale paper --record"


def test_a_study_of_the_evidence_is_judged_by_its_verdicts(tmp_path):
    lay(tmp_path / "evidence")
    board = registry.figure_module("board")
    assert verify(tmp_path, board).reason is None
    lay(tmp_path / "evidence", claim="toy.wrong", factor=2.5)
    verdict = verify(tmp_path, board)
    assert verdict.reason == "toy.wrong is refuted"
    assert verdict.table.levels("claim") == ["toy.double", "toy.wrong"]
    assert Table.from_csv(verdict.table.to_csv()).sha256 == verdict.table.sha256


def test_a_claim_that_states_its_refutation_vouches_for_its_table(tmp_path):
    lay(tmp_path / "evidence", factor=2.5, finds=(Verdict.REFUTED,))
    verdict = verify(tmp_path, toy_module())
    assert verdict.reason is None
    first, second = caption.caption_lines(verdict)
    assert first == f"toy.double: refuted, as stated, numeric (scale quick, root {ROOT})."
    assert second.startswith(r"Worst departure $\geq0.19")
    assert verify(tmp_path, registry.figure_module("board")).reason is None
    lay(tmp_path / "evidence", finds=(Verdict.REFUTED,))
    assert verify(tmp_path, toy_module()).reason == "toy.double is supported"


# the caption


def test_the_caption_says_what_the_evidence_says(tmp_path):
    lay(tmp_path / "evidence")
    verdict = verify(tmp_path, toy_module())
    (entry,) = verdict.records[0].entries.values()
    first, second = caption.caption_lines(verdict)
    assert first == f"toy.double: supported, numeric (scale quick, root {ROOT})."
    assert at_most(entry.departure.hi, tex=True) in second
    assert "nearest twin (triple) fails by" in second
    assert caption.caption_lines(verify(tmp_path, toy_module(claims=("toy.none",)))) == ["No evidence at scale quick."]


def test_many_claims_are_counted(tmp_path):
    for number in range(4):
        lay(tmp_path / "evidence", claim=f"toy.n{number}", factor=2.5 if number == 2 else 2.0)
    first, second = caption.caption_lines(verify(tmp_path, toy_module(claims=("toy.*",))))
    assert first == f"4 claims at scale quick, root {ROOT}: 3 supported, 1 refuted (4 numeric)."
    assert "toy.n2" in second
    lay(tmp_path / "evidence", claim="toy.n2", factor=2.5, finds=(Verdict.REFUTED,))
    first, second = caption.caption_lines(verify(tmp_path, toy_module(claims=("toy.*",))))
    assert first == f"4 claims at scale quick, root {ROOT}: 3 supported, 1 refuted, as stated (4 numeric)."
    assert "toy.n2" not in second


# the command


def test_a_verified_figure_is_written_with_its_table_and_equal_again(toy, capsys):
    assert toy.run("--format", "svg,png,pdf") == 0
    assert toy.run("--format", "svg,png,pdf", out="again") == 0
    names = ["manifest.json", "toy.csv", "toy.pdf", "toy.png", "toy.svg"]
    assert sorted(path.name for path in toy.folder.iterdir()) == names
    for name in names:
        assert (toy.folder / name).read_bytes() == (toy.folder.parent / "again" / name).read_bytes()
    entry = json.loads((toy.folder / "manifest.json").read_text())["toy"]
    assert entry["csv"] == toy_study()(scale="quick", root=ROOT).sha256
    assert sorted(entry["files"]) == ["toy.pdf", "toy.png", "toy.svg"]
    shown = capsys.readouterr().out
    assert "[1/1] toy: verified" in shown
    assert f"1 figure in {toy.folder.resolve()}" in shown


def test_a_claim_that_fails_stamps_its_figure_and_spares_what_was_verified(toy, capsys, monkeypatch):
    assert toy.run() == 0
    before = contents(toy.folder)
    stamps = []
    monkeypatch.setattr(render.style, "stamp", lambda figure, reason: stamps.append((figure, reason)))
    lay(toy.evidence, factor=2.5)
    capsys.readouterr()
    assert toy.run("--format", "png") == 1
    assert isinstance(stamps[0][0], Figure)
    assert stamps[0][1] == "toy.double is refuted"
    after = contents(toy.folder)
    assert after.pop("toy.unverified.png").startswith(b"\x89PNG")
    assert after == before
    shown = capsys.readouterr()
    assert "[1/1] toy: NOT VERIFIED" in shown.out
    assert shown.err.startswith(
        "toy is NOT VERIFIED: toy.double is refuted. Written: toy.unverified.png; kept: toy.png, toy.csv. "
        "Decide again with: pytest"
    )
    assert toy.run("--check") == 1
    lay(toy.evidence)
    assert toy.run() == 0  # what is verified again leaves no stamped file beside it
    assert contents(toy.folder) == before
    assert toy.run("--check") == 0


def test_a_figure_that_never_was_verified_is_not_in_the_manifest(toy, capsys):
    lay(toy.evidence, factor=2.5)
    assert toy.run() == 1
    assert sorted(contents(toy.folder)) == ["toy.unverified.png", "toy.unverified.svg"]
    assert ". Written: toy.unverified.svg, toy.unverified.png. Decide" in capsys.readouterr().err


def test_what_is_stamped_is_ignored_by_git_and_what_is_verified_is_not():
    git = shutil.which("git")
    root = Path(figures.__path__[0]).parent.parent
    if git is None or not (root / ".git").exists():
        pytest.skip("this is no clone")
    ignored = ["a.unverified.svg", "a.unverified.gif", ".manifest.json.lock", ".a.png.0.part"]
    asked = [git, "check-ignore", *(f"figures/{name}" for name in (*ignored, "a.svg"))]
    done = subprocess.run(asked, cwd=root, capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.split() == asked[2:-1]


def test_what_shows_the_judged_table_already_is_not_drawn_again(toy, capsys, monkeypatch):
    """On another processor or with another Matplotlib the bytes of a new drawing would be others."""
    assert toy.run() == 0
    before = contents(toy.folder)
    monkeypatch.setattr(style, "pictures", lambda _, formats: dict.fromkeys(formats, b"elsewhere"))
    capsys.readouterr()
    assert toy.run() == 0
    assert contents(toy.folder) == before
    assert "[1/1] toy: verified, unchanged" in capsys.readouterr().out
    assert toy.run("--format", "pdf") == 0
    assert {name for name, now in contents(toy.folder).items() if now != before.get(name)} == {
        "toy.pdf",
        "manifest.json",
    }
    assert toy.run("--check") == 0
    assert toy.run("--redraw", "--format", "svg,png,pdf") == 0
    assert (toy.folder / "toy.svg").read_bytes() == b"elsewhere"


@pytest.mark.parametrize("change", ["picture", "table", "caption", "code", "missing"])
def test_whatever_has_changed_is_drawn_again(toy, monkeypatch, change):
    assert toy.run() == 0
    before = contents(toy.folder)
    if change == "picture":
        (toy.folder / "toy.svg").write_bytes(b"by hand")
    elif change == "table":
        (toy.folder / "toy.csv").write_text(before["toy.csv"].decode().replace("3.99999", "3.99998"))
    elif change == "missing":
        (toy.folder / "toy.png").unlink()
    elif change == "caption":
        notes = json.loads((toy.folder / "manifest.json").read_text())
        notes["toy"]["caption"][0] = "another"
        (toy.folder / "manifest.json").write_text(manifest.to_json(notes))
        assert toy.run("--check") == 1
    else:
        monkeypatch.setattr(manifest, "code_fingerprint", lambda _: "other code")
    drawn, pictures = [], style.pictures
    monkeypatch.setattr(style, "pictures", lambda figure, formats: drawn.append(formats) or pictures(figure, formats))
    assert toy.run() == 0
    assert drawn == [("svg", "png")]
    assert {name: now for name, now in contents(toy.folder).items() if name != "manifest.json"} == {
        name: was for name, was in before.items() if name != "manifest.json"
    }
    assert toy.run("--check") == 0


def test_the_code_of_a_figure_is_what_draws_it():
    """A change of what judges needs no other picture; one of a constant that is drawn does."""
    found = manifest.sources(registry.figure_module("worst_pairs"))
    needed = {"figures/lipschitz/worst_pairs.py", "figures/_style/style.py", "figures/render.py", "evidence/table.py"}
    assert {f"theory/{name}" for name in needed} <= set(found)
    assert any(name.startswith("theory/lipschitz/") for name in found)  # the constants beside what was found
    assert not {
        "theory/evidence/runner.py",
        "theory/figures/verified_table.py",
        "theory/figures/maxent/weights.py",
    } & set(found)
    codes = {name: manifest.code_fingerprint(registry.figure_module(name)) for name in ("worst_pairs", "weights")}
    assert len(set(codes.values())) == 2


@pytest.mark.parametrize("moment", ["study", "drawing", "writing"])
def test_an_interrupt_leaves_whole_figures_and_one_line(toy, capsys, monkeypatch, moment):
    assert toy.run() == 0
    before = contents(toy.folder)
    (toy.folder / "toy.csv").unlink()
    where = {
        "study": (verified_table, "conditions"),
        "drawing": (style, "pictures"),
        "writing": (render, "write_together"),
    }

    def interrupted(*given):
        os.kill(os.getpid(), signal.SIGINT)
        return original(*given)

    original = getattr(*where[moment])
    monkeypatch.setattr(*where[moment], interrupted)
    capsys.readouterr()
    assert toy.run() == 130
    shown = capsys.readouterr()
    assert shown.err == "interrupted: every figure is whole, as it was before or drawn anew with its table and entry\n"
    if moment == "writing":  # all of a figure is written before the interrupt is heard
        assert contents(toy.folder) == before
    else:
        assert contents(toy.folder) == {name: was for name, was in before.items() if name != "toy.csv"}


@pytest.mark.parametrize("step", [0, 2, 3])
def test_a_full_disk_ends_in_one_line_and_leaves_what_was_there(toy, capsys, monkeypatch, step):
    assert toy.run() == 0
    before = contents(toy.folder)
    sync, calls = os.fsync, []

    def full(number):
        calls.append(number)
        if len(calls) > step:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(number)

    monkeypatch.setattr(os, "fsync", full)
    capsys.readouterr()
    assert toy.run("--redraw") == 2
    name = ("toy.svg", "toy.png", "toy.csv", "manifest.json")[step]
    assert capsys.readouterr().err == f"[Errno 28] No space left on device: '{toy.folder / name}'\n"
    assert contents(toy.folder) == before


FEW = ("weights", "tightness", "losses")  # whose studies are quick
NOBODY = "import sys; from theory.figures.__main__ import main; raise SystemExit(main(sys.argv[1:]))"


@pytest.mark.parametrize("arguments", [[], ["--check"]])
def test_two_processes_do_what_one_does(toy, tmp_path, capsys, monkeypatch, arguments):
    monkeypatch.undo()
    shown = []
    for workers in (1, 2):
        monkeypatch.setattr(import_module("theory.evidence.sweep"), "usable_cpus", lambda count=workers: count)
        out = tmp_path / str(workers)
        assert command.main([*FEW, *arguments, "--out", str(out), "--evidence", str(toy.evidence)]) == 1
        shown.append(re.sub(r"\d+\.\d s|/\w+$", "", capsys.readouterr().out))
    assert shown[0] == shown[1]
    if not arguments:
        assert len(contents(tmp_path / "1")) == 2 * len(FEW)
        assert contents(tmp_path / "1") == contents(tmp_path / "2")


@pytest.mark.skipif(os.name == "nt", reason="another way to interrupt")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_command_that_is_stopped_leaves_whole_files_and_nobody_at_work(toy, tmp_path, number, status):
    asked = [sys.executable, "-c", NOBODY, *FEW, "--out", tmp_path / "out", "--evidence", toy.evidence]
    with subprocess.Popen(  # noqa: S603
        asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as command_:
        assert "[1/3]" in command_.stdout.readline()
        (os.killpg if number == signal.SIGINT else os.kill)(command_.pid, number)  # a terminal interrupts all of them
        shown = command_.communicate(timeout=60)[1]  # the pipe is closed when the last of them is gone
    assert command_.returncode == status
    assert shown.count("\n") == 1 or number != signal.SIGINT
    assert all(len(content) > 1000 for name, content in contents(tmp_path / "out").items() if name.endswith("g"))


def test_a_process_that_is_killed_ends_in_one_line(toy, capsys, monkeypatch):
    def killed(*_):
        raise BrokenProcessPool("a process was terminated abruptly")

    monkeypatch.setattr(command.worker_pool, "run_tasks", killed)
    assert toy.run() == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_two_runs_at_once_lose_no_entry(tmp_path):
    def work(names):
        for name in names:
            render.write_figure(
                render.RenderedFigure(name, {f"{name}.svg": "<svg/>"}, {"files": {}}), tmp_path, letters
            )

    letters = "abcdefghijklmnopqrst"
    threads = [threading.Thread(target=work, args=(letters[k::2],)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(manifest.load(tmp_path)) == list(letters)


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


def test_the_check_agrees_after_drawing_and_draws_nothing(toy, capsys):
    assert toy.run() == 0
    before = {path.name: path.stat().st_mtime_ns for path in toy.folder.iterdir()}
    assert toy.run("--check") == 0
    assert {path.name: path.stat().st_mtime_ns for path in toy.folder.iterdir()} == before
    assert capsys.readouterr().out.endswith("toy: agrees\n")


def test_the_check_names_every_disagreement(toy, capsys):
    assert toy.run("--check") == 1
    shown = capsys.readouterr().out
    assert "toy.csv is missing" in shown
    assert "manifest.json does not name it" in shown
    assert toy.run() == 0
    text = (toy.folder / "toy.csv").read_text()
    (toy.folder / "toy.csv").write_text(text.replace("3.99999", "3.99998"))
    (toy.folder / "toy.png").write_bytes(b"")
    (toy.folder / "toy.svg").unlink()
    notes = json.loads((toy.folder / "manifest.json").read_text())
    notes["toy"]["scale"], notes["gone"] = "paper", notes["toy"]
    (toy.folder / "manifest.json").write_text(json.dumps(notes))
    capsys.readouterr()
    assert toy.run("--check") == 1
    shown = capsys.readouterr().out
    assert "toy: toy.csv is not the judged table: " in shown
    assert "toy: manifest.json says scale paper, expected quick" in shown
    assert "toy: toy.png is not the file that manifest.json names" in shown
    assert "toy: toy.svg is missing" in shown
    assert "gone: manifest.json names it, but there is no such figure" in shown
    lay(toy.evidence, factor=2.5)
    assert toy.run("--check") == 1
    assert "toy: toy.double is refuted (pytest" in capsys.readouterr().out


def test_the_check_says_whose_table_a_swapped_one_is(toy, capsys):
    """On this processor, and on one where the table has other last digits."""
    assert toy.run() == 0
    other = Table(Kind.NUMERIC, {"z": "m"}, {"z": [1.0]})
    (toy.folder / "toy.csv").write_text(other.to_csv(), encoding="utf-8")
    capsys.readouterr()
    assert toy.run("--check") == 1
    assert capsys.readouterr().out.splitlines()[0] == (
        "toy: toy.csv is not the judged table: columns z against x, y.lo, y.hi"
    )
    entries = manifest.load(toy.folder)
    entries["ball"] = {**entries["toy"], "csv": other.sha256}
    verdict = verified_table.verify_table(
        "toy", toy_module(toy_study(moved=1e-9)), scale="quick", root=ROOT, evidence=toy.evidence, folders=[toy.folder]
    )
    found = list(manifest.disagreements("toy", toy_module(), verdict, toy.folder, entries))
    assert found[0].startswith("the table is not the judged one (against the CSV: columns z against x, y.lo, y.hi)")
    assert found[1] == "toy.csv is the table of ball"


def test_the_check_sees_an_edited_table_on_any_processor(toy):
    assert toy.run() == 0
    text = (toy.folder / "toy.csv").read_text()
    (toy.folder / "toy.csv").write_text(text.replace("3.99999", "3.99998"))
    elsewhere = toy_module(toy_study(moved=1e-9))
    folders = [toy.folder]
    verdict = verified_table.verify_table(
        "toy", elsewhere, scale="quick", root=ROOT, evidence=toy.evidence, folders=folders
    )
    found = list(manifest.disagreements("toy", elsewhere, verdict, toy.folder, manifest.load(toy.folder)))
    assert found[0].startswith("the table is not the judged one")
    assert any("manifest.json says csv" in line for line in found)
    assert all("\n" not in line for line in found)


def test_the_check_names_a_picture_that_no_entry_names(toy, capsys):
    assert toy.run("--format", "svg,pdf") == 0
    notes = json.loads((toy.folder / "manifest.json").read_text())
    notes["toy"]["files"]["ball.svg"] = notes["toy"]["files"].pop("toy.pdf")
    (toy.folder / "manifest.json").write_text(manifest.to_json(notes))
    capsys.readouterr()
    assert toy.run("--check") == 1
    assert capsys.readouterr().out.splitlines() == [
        "toy: manifest.json gives it ball.svg, which is another figure's",
        "toy: toy.pdf is there, but manifest.json does not name it: draw it again or remove it",
    ]


@pytest.mark.parametrize(
    ("modules", "words"),
    [
        ({"one/a": 'TITLE = "x"', "one/b": 'TITLE = "x"'}, "got 'x' in one/a and one/b"),
        ({"one/a": 'TITLE = "x"', "one/A": 'TITLE = "y"'}, "got 'a' in one/A and one/a"),
        ({"one/a": 'TITLE = "x"', "two/a": 'TITLE = "y"'}, "got 'a' in one/a and two/a"),
        ({"one/a": 'TITLE = "x"\nTITLE = "y"'}, "a.py: expected one TITLE, got 2"),
    ],
)
def test_two_figures_of_one_name_are_refused(tmp_path, monkeypatch, capsys, modules, words):
    for name, text in modules.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(registry, "_HERE", tmp_path)
    if len(list(tmp_path.glob("*/*.py"))) < len(modules):
        pytest.skip("this disk holds one file of both names")
    with pytest.raises(SystemExit) as ended:
        command.main(["--check"])
    assert ended.value.code == 2
    assert words in capsys.readouterr().err.splitlines()[-1]


def test_what_is_missing_is_said_before_anything_is_computed(toy, tmp_path, capsys, monkeypatch):
    def never(*_, **__):
        raise AssertionError("computed")

    def refused(*arguments):
        with pytest.raises(SystemExit) as ended:
            command.main([*arguments, "--out", str(tmp_path / "out")])
        assert ended.value.code == 2
        return capsys.readouterr().err.splitlines()[-1]

    monkeypatch.setattr(verified_table, "verify_table", never)
    monkeypatch.setattr(registry, "data_files", lambda _: [tmp_path / "curves.csv"])
    given = ["--evidence", str(toy.evidence)]
    assert f"toy needs {tmp_path / 'curves.csv'}, which is missing here" in refused(*given)
    monkeypatch.setattr(registry, "data_files", lambda _: [])
    monkeypatch.setattr(command, "find_spec", lambda module: None if module == "PIL" else module)
    assert refused(*given).endswith("figures need pillow, not installed here: pip install pillow")
    monkeypatch.undo()
    monkeypatch.setattr(locations, "suite_folder", no_evidence)
    assert refused("boolean").endswith("evidence: expected the folder, found neither")


def no_evidence():
    raise ArchiveError("evidence: expected the folder, found neither")


def test_the_data_that_figures_name_are_here():
    named = [path for name in FIGURES for path in registry.data_files(name)]
    assert named
    assert all(path.is_file() for path in named)


def test_other_figures_stay_in_the_manifest(toy, monkeypatch):
    monkeypatch.setattr(registry, "titles", lambda: {"toy": "a toy", "ball": "another"})
    assert toy.run("--format", "svg", "toy") == 0
    assert toy.run("--format", "svg", "--only", "ball") == 0
    assert sorted(manifest.load(toy.folder)) == ["ball", "toy"]


def test_the_list_names_every_figure(capsys):
    assert command.main(["--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == FIGURES
    assert command.main(["--list", "--only", "board"]) == 0
    assert capsys.readouterr().out.split()[0] == "board"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nope"], f"figure: expected one of {', '.join(FIGURES)}, got nope"),
        (["--only", "board", "nope"], "got nope"),
        (["--format", "gif"], "expected some of svg,png,pdf, got 'gif'"),
        (["--root", "-1"], "expected a non-negative integer, got '-1'"),
        (["--scale", "huge"], "huge"),
        (["--evidence", "no-such-folder"], "--evidence: expected a folder, found none at no-such-folder"),
        (["--out", __file__], "--out: expected a folder, got the file"),
    ],
)
def test_misuse_is_named(capsys, arguments, words):
    with pytest.raises(SystemExit) as ended:
        command.main(arguments)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["[", "[]", '{"toy": 3}', '{"toy": {}}', '{"toy": {"files": {}}, "toy": {"files": {}}}']
)
def test_a_broken_manifest_is_named(toy, capsys, text):
    toy.folder.mkdir()
    (toy.folder / "manifest.json").write_text(text)
    with pytest.raises(SystemExit):
        toy.run()
    assert "manifest.json: expected" in capsys.readouterr().err


def test_the_formats_offered_are_those_that_can_be_saved():
    assert set(command._FORMATS) == set(style._NO_METADATA)


def test_help_and_list_load_nothing_slow():
    code = (
        "import sys; from theory.figures.__main__ import main\n"
        "main(['--list'])\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'scipy', 'numba', 'matplotlib', 'ot', 'sympy', 'flint', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)  # noqa: S603
    assert "--check" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"
