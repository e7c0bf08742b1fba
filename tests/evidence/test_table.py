"""A table survives its CSV exactly, its fingerprint sees every cell, and a comparison forgives only what it says."""

import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

from theory.evidence import Interval, Kind, Table

number = st.floats(allow_nan=False)
integer = st.integers(-(2**63), 2**63 - 1)
text = st.text(st.characters(exclude_characters="\r\0", exclude_categories=["Cs"]), max_size=4) | st.sampled_from(
    ["1", "01", "1_0", "nan", "inf", "1e5", " 2", "", '"', "a,b", "a\nb", "# {}", "true"]
)
interval = st.builds(lambda a, b: Interval(min(a, b, 1e308), max(a, b, -1e308), Kind.PROVED), number, number)
names = st.sampled_from(["n", "x", "two words", 'quo"ted', "com,ma", "ü", "# x", "a.b"])


@st.composite
def tables(draw):
    kinds = [number, integer, text, interval]
    chosen = draw(st.lists(names, min_size=1, unique=True))
    rows = draw(st.integers(1, 4))
    columns = {name: draw(st.lists(draw(st.sampled_from(kinds)), min_size=rows, max_size=rows)) for name in chosen}
    units = {name: draw(st.sampled_from(["1", "m/s", "ü"])) for name in chosen}
    return Table(draw(st.sampled_from(Kind)), units, columns)


def plain(**columns):
    return Table(Kind.NUMERIC, dict.fromkeys(columns, "1"), columns)


def same(a, b):
    """Tell whether two tables are equal, cell by cell, with the signs of their zeros."""
    return (
        a.kind is b.kind
        and dict(a.units) == dict(b.units)
        and list(a.columns) == list(b.columns)
        and all(a[name].dtype.kind == b[name].dtype.kind for name in a.columns)
        and all(list(map(repr, a[name].tolist())) == list(map(repr, b[name].tolist())) for name in a.columns)
    )


@given(tables())
def test_csv_round_trip_is_exact(table):
    again = Table.from_csv(table.to_csv())
    assert same(again, table)
    assert again.to_csv() == table.to_csv()
    assert again.sha256 == table.sha256
    assert table.differs(again) is None
    assert again.differs(table) is None


@given(tables())
def test_tables_travel_between_processes(table):
    assert same(pickle.loads(pickle.dumps(table)), table)  # noqa: S301


def test_csv_is_readable():
    table = Table(Kind.TREND, {"n": "1", "w": "m", "who": "1"}, {"n": [1], "w": [Interval(0.1, 0.5)], "who": ["a,b"]})
    head, body = table.to_csv().split("\n", 1)
    assert json.loads(head.removeprefix("# "))["kind"] == "trend"
    assert json.loads(head.removeprefix("# "))["units"] == {"n": "1", "w.lo": "m", "w.hi": "m", "who": "1"}
    assert body == 'n,w.lo,w.hi,who\n1,0.1,0.5,"a,b"\n'
    assert table.intervals("w") == [Interval(0.1, 0.5, Kind.TREND)]


def test_fingerprint_sees_everything():
    base = plain(n=[1, 2], x=[0.0, 1.0], who=["a", "b"])
    others = [
        plain(n=[1, 3], x=[0.0, 1.0], who=["a", "b"]),
        plain(n=[1, 2], x=[-0.0, 1.0], who=["a", "b"]),
        plain(n=[1, 2], x=[0.0, math.nextafter(1.0, 2.0)], who=["a", "b"]),
        plain(n=[1, 2], x=[5e-324, 1.0], who=["a", "b"]),
        plain(n=[1.0, 2.0], x=[0.0, 1.0], who=["a", "b"]),
        plain(n=[1, 2], x=[0.0, 1.0], who=["a", "c"]),
        plain(n=["1", "2"], x=[0.0, 1.0], who=["a", "b"]),
        plain(n=[2, 1], x=[1.0, 0.0], who=["b", "a"]),
        plain(x=[0.0, 1.0], n=[1, 2], who=["a", "b"]),
        plain(n=[1], x=[0.0], who=["a"]),
        plain(n=[1, 2], y=[0.0, 1.0], who=["a", "b"]),
        Table(Kind.PROVED, base.units, base.columns),
        Table(base.kind, {**base.units, "x": "m"}, base.columns),
    ]
    prints = {table.sha256 for table in (base, *others)}
    assert len(prints) == len(others) + 1
    assert all(len(one) == 64 for one in prints)


def test_columns_cannot_change():
    values = np.array([1.0, 2.0])
    table = plain(x=values)
    before = table.sha256
    values[0] = 9.0
    assert table.sha256 == before
    with pytest.raises(ValueError, match="read-only"):
        table["x"][0] = 9.0
    with pytest.raises(TypeError):
        table.columns["x"] = values
    with pytest.raises(AttributeError):
        table.kind = Kind.PROVED


def test_rows_are_chosen_by_value():
    table = plain(n=[1, 2, 1], who=["a", "b", "b"], x=[0.1, 0.2, 0.3])
    assert table.where(n=1)["x"].tolist() == [0.1, 0.3]
    assert table.where(n=1, who="b")["x"].tolist() == [0.3]
    assert len(table.where(n=7)) == 0
    assert len(table) == 3
    assert table.where(who="b").units == table.units


def test_kind_cannot_be_strengthened():
    with pytest.raises(ValueError, match=r"^kind: expected"):
        Table(Kind.PROVED, {"x": "1"}, {"x": [Interval(0.0, 1.0, Kind.STATISTICAL)]})
    weaker = Table(Kind.STATISTICAL, {"x": "1"}, {"x": [Interval(0.0, 1.0, Kind.PROVED)]})
    assert weaker.intervals("x")[0].kind is Kind.STATISTICAL


# --- another run of the same study ---


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"x": [1.0, 2.0]}, {"x": [1.0, 2.0]}),
        ({"x": [1.0, 2.0]}, {"x": [1.0, 2.0 * (1 + 4e-10)]}),
        ({"x": [1.0]}, {"x": [1]}),
        ({"x": [math.inf, 1.0]}, {"x": [math.inf, 1.0 + 1e-12]}),
        ({"x": [-math.inf]}, {"x": [-math.inf]}),
        ({"x": [Interval(0.0, 1.0)]}, {"x": [Interval(1.0, 2.0)]}),
        ({"x": [Interval(0.0, 1.0)]}, {"x": [Interval.unknown()]}),
        ({"who": ["a"], "n": [3]}, {"who": ["a"], "n": [3]}),
    ],
)
def test_agreement(one, other):
    for mine, theirs in ((plain(**one), plain(**other)), (plain(**other), plain(**one))):
        assert mine.differs(theirs) is None


@pytest.mark.parametrize(
    ("one", "other", "where"),
    [
        ({"x": [1.0, 2.0]}, {"x": [1.0, 2.0 * (1 + 4e-9)]}, "column x, row 1"),
        ({"x": [math.inf, 1.0]}, {"x": [math.inf, 2.0]}, "column x, row 1"),
        ({"x": [math.inf]}, {"x": [1.0]}, "column x, row 0"),
        ({"x": [math.inf]}, {"x": [-math.inf]}, "column x, row 0"),
        ({"x": [Interval(0.0, 1.0)]}, {"x": [Interval(1.1, 2.0)]}, "column x.lo, row 0"),
        ({"who": ["a"]}, {"who": ["b"]}, "column who, row 0"),
        ({"n": [3]}, {"n": [4]}, "column n, row 0"),
        ({"n": [1.0]}, {"n": ["1.0"]}, "column n, row 0"),
        ({"n": [1]}, {"n": ["1"]}, "column n, row 0"),
        ({"n": [1]}, {"n": [1, 2]}, "1 rows|2 rows"),
        ({"n": [1]}, {"m": [1]}, "columns"),
        ({"n": [1], "m": [1]}, {"m": [1], "n": [1]}, "columns"),
    ],
)
def test_disagreement(one, other, where):
    for mine, theirs in ((plain(**one), plain(**other)), (plain(**other), plain(**one))):
        found = mine.differs(theirs)
        assert found is not None
        assert any(part in found for part in where.split("|"))


def with_outcome(error, ours):
    columns = {"n": [1, 2], "error": error, "ours": ours, "value": [1.0, 2.0]}
    return Table(Kind.NUMERIC, dict.fromkeys(columns, "1"), columns, outcomes=("error", "ours"))


def test_outcomes_of_an_implementation_are_in_the_fingerprint_but_may_differ_elsewhere():
    here, there = (with_outcome([1e-16, e], [Interval(0.0, e), Interval(0.0, 1e-15)]) for e in (1e-16, 3e-16))
    apart = with_outcome([1e-16, 3e-16], [Interval(1.0, 2.0), Interval(0.0, 1e-15)])
    assert here.sha256 != there.sha256
    assert here.differs(there) is None
    assert here.differs(apart) is None
    for again in (Table.from_csv(here.to_csv()), pickle.loads(pickle.dumps(here)), here.where(n=1)):  # noqa: S301
        assert again.outcomes == ("error", "ours.lo", "ours.hi")
    bare = Table(Kind.NUMERIC, here.units, here.columns)
    assert bare.differs(here) is not None
    moved = Table(here.kind, here.units, {**here.columns, "value": np.array([1.0, 2.1])}, outcomes=here.outcomes)
    assert moved.differs(here) == "column value, row 1: 2.1 against 2.0"
    with pytest.raises(ValueError, match=r"outcomes: expected some of \['x'\], got \['y'\]"):
        Table(Kind.NUMERIC, {"x": "1"}, {"x": [1.0]}, outcomes=("y",))


def test_disagreement_about_kind_or_unit_is_told_in_words():
    base = plain(x=[1.0])
    assert base.differs(Table(Kind.PROVED, {"x": "1"}, {"x": [1.0]})).count("proved") == 1
    assert "'m'" in base.differs(Table(Kind.NUMERIC, {"x": "m"}, {"x": [1.0]}))
    other = plain(**{name: [1.0] for name in "yzabc"})
    assert base.differs(other) == "columns x against y, z, a, ..."
    assert base.differs(plain(x=[1.0], y=[1.0])) == "columns no other against y"
    assert (
        with_outcome([1.0, 2.0], [1.0, 2.0]).differs(
            Table(
                Kind.NUMERIC,
                dict.fromkeys(("n", "error", "ours", "value"), "1"),
                dict(with_outcome([1.0, 2.0], [1.0, 2.0]).columns),
            )
        )
        == "outcomes error, ours against none"
    )


# --- bad input ---


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({}, "^units: expected"),
        ({"x": [1.0, 2.0], "y": [1.0]}, "^columns: expected 2 rows in y, got 1$"),
        ({"x": [1.0, math.nan]}, "^columns: expected numbers in x, got NaN$"),
        ({"x": [[1.0]]}, "^columns: expected a flat column"),
        ({"x": 1.0}, "^columns: expected a flat column"),
        ({"x": [1j]}, "^columns: expected a flat column"),
        ({"x": [True]}, "^columns: expected a flat column"),
        ({"x": [None]}, "^columns: expected a flat column"),
        ({"x": [10**30]}, "^columns: expected a flat column"),
        ({"x": [Interval(0.0, 1.0), 1.0]}, "^columns: expected a flat column"),
        ({"x": np.array([1.0], dtype=np.longdouble) / 3}, "^columns: expected a flat column"),
        ({"x": ["a\rb"]}, "^columns: expected"),
        ({"x": [Interval(0.0, 1.0)], "x.lo": [5.0]}, "^columns: expected"),
    ],
)
def test_refused_columns(columns, message):
    with pytest.raises(ValueError, match=message):
        plain(**columns)


@pytest.mark.parametrize("units", [{}, {"x": "1", "y": "1"}, {"y": "1"}])
def test_every_column_has_a_unit(units):
    with pytest.raises(ValueError, match=r"^units: expected one for each of \['x'\]"):
        Table(Kind.NUMERIC, units, {"x": [1.0]})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "x\n1\n",
        "# {}\nx\n1\n",
        "# []\nx\n1\n",
        '# {"kind": "certain", "units": {"x": "1"}}\nx\n1\n',
        '# {"kind": 3, "units": {"x": "1"}}\nx\n1\n',
        '# {"kind": "numeric", "units": ["x"]}\nx\n1\n',
        '# {"kind": "numeric", "units": {"x": "1"}}\n',
        '# {"kind": "numeric", "units": {"x": "1"}}\ny\n1\n',
        '# {"kind": "numeric", "units": {"x": "1"}}\nx\n1,2\n',
        '# {"kind": "numeric", "units": {"x": "1"}}\nx\nnan\n',
        '# {"kind": "numeric", "units": {"x": "1"}}\nx,x\n1,2\n',
        '# {"kind": "numeric", "units": {"x": "1"}}\nx\n1\nhello\n',
    ],
)
def test_text_that_is_no_table(text):
    with pytest.raises(ValueError, match="expected"):
        Table.from_csv(text)
