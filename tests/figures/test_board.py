"""The verdict board: what it shows, and that nothing overlaps."""

from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest

from tests.figures.toys import ROOT, lay
from theory.evidence import Kind, Table
from theory.figures import registry
from theory.figures._style import beeswarm, style


def board_table(*claims):
    """Make the table of a board: per claim its id and what differs from a supported one with two twins."""
    usual = {
        "verdict": "supported", "kind": "numeric", "theorem": "", "departure.lo": -np.inf, "departure.hi": 1e-9,
        "reach": 0.01, "tightness": "", "gap": 1.0,
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
    whole = board_of(*claims)
    figure = board_of(*((id_, broken.get(k, {})) for k, (id_, _) in enumerate(claims)))
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
    figure = board_of(*claims)
    whole = board_of(*((name, {}) for name, _ in claims))
    assert figure.get_size_inches().tolist() == whole.get_size_inches().tolist()  # no row of its own, and no name
    assert words_of(figure)["1/3"] == style.BLACK
    assert marks_of(figure.axes[1], faults=True) == []
    assert [line.get_markerfacecolor() for line in marks_of(figure.axes[1])].count(style.BLACK) == 2
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend[:2] == ["1 numeric", "1 inconclusive, 1 refuted, as stated"]


def test_the_board_rings_what_a_theorem_in_coq_says_whole():
    whole = {"theorem": "formal", "tightness": "0.75"}
    figure = board_of(("a.one", {}), ("a.two", whole), ("a.three", {"theorem": "formal in part"}), ("b.four", whole))
    for axes in figure.axes[1:]:
        lines = marks_of(axes)
        rings = {line.get_xydata().tobytes() for line in lines if line.get_markerfacecolor() == "none"}
        marks = {line.get_xydata().tobytes() for line in lines if line.get_markerfacecolor() != "none"}
        assert len(rings) == 2
        assert rings <= marks
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend[-1] == "2 proved whole in Coq"
    assert not any("Coq" in text.get_text() for text in board_of(("a.one", {})).legends[0].get_texts())


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
