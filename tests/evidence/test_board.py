"""The closing table: what fits, what comes last, what a file has."""

import csv
import json
import math

import pytest

from theory.evidence.board import totals, verdict_table, write_table

WORDS = "the largest of many numbers is no smaller than any one of them, whatever they are"


def row(id, verdict="SUPPORTED", **more):  # noqa: A002  the column's own name
    given = {
        "id": id, "words": WORDS, "verdict": verdict, "passed": verdict == "SUPPORTED", "kind": "statistical",
        "tightness": 0.5, "margin": 12.0, "twins": "2/2", "seconds": 1.25, "recorded": "yes",
    }  # fmt: skip
    return {**given, **more}


LONG = row("reported.segmentation-spread-self", "INCONCLUSIVE", passed=True)
ROWS = [row("b.off", "REFUTED"), LONG, row("z.one"), row("a.two", tightness=None, margin=math.inf)]


@pytest.mark.parametrize("width", [*range(60, 240, 7), 80, 159, 160])
def test_identifiers_are_whole_and_lines_fit(width):
    lines = verdict_table(ROWS, colour=False, width=width).splitlines()
    assert all(len(line) <= max(width, 80) for line in lines)
    head = lines[0].split()
    assert {"id", "verdict", "margin", "seconds"} <= set(head)
    assert (len(head) == 8) if width >= 160 else (width > 80 or len(head) == 4)
    for one in ROWS:
        assert sum(line.split()[:1] == [one["id"]] for line in lines) == 1


def test_columns_join_as_the_terminal_grows():
    heads = [verdict_table(ROWS, colour=False, width=width).splitlines()[0].split() for width in range(60, 200)]
    assert [len(head) for head in heads] == sorted(len(head) for head in heads)
    assert len({tuple(head) for head in heads}) >= 4


def test_statements_are_folded_between_words_and_lose_none():
    lines = verdict_table([row("a.two")], colour=False, width=160).splitlines()[1:-1]
    start = lines[0].index(WORDS.split(maxsplit=1)[0])
    assert " ".join(line[start:].strip() for line in lines) == WORDS


def test_without_a_width_there_is_one_line_for_each_claim():
    lines = verdict_table(ROWS, colour=False).splitlines()
    assert len(lines) == len(ROWS) + 2
    assert all(WORDS in line for line in lines[1:-1])


def test_failures_and_totals_come_last():
    rows = [*ROWS, row("a.error", "ERROR", margin=None, kind="-", twins="-"), row("c.off", "REFUTED")]
    lines = verdict_table(rows, colour=False, width=80).splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == ["a.two", LONG["id"], "z.one", "a.error", "b.off", "c.off"]
    assert lines[-1] == "2 of 6 claims supported, 1 inconclusive as stated; failed: 1 error, 2 refuted"
    assert totals(rows) == lines[-1]
    assert totals([row("a.two")]) == "1 of 1 claims supported"


def test_numbers_are_told_to_a_reader():
    text = verdict_table([row("a.two", tightness=1.0 + 1e-12, margin=math.inf)], colour=False)
    assert text.splitlines()[1].split()[2:7] == ["statistical", "1.000001", "inf", "2/2", "1.25"]
    large = row("a.two", tightness=1e23)  # more digits than decimals take
    assert verdict_table([large], colour=False).splitlines()[1].split()[3] == "1.000000E+23"
    empty = row("a.two", "ERROR", tightness=None, margin=None, kind="-", twins="-")
    assert verdict_table([empty], colour=False).splitlines()[1].split()[2:6] == ["-", "-", "-", "-"]


@pytest.mark.parametrize(
    ("one", "hue"), [(ROWS[0], "1;31"), (LONG, "36"), (ROWS[2], "32"), (row("a.e", "ERROR"), "1;31")]
)
def test_colours_change_no_column(one, hue):
    plain = verdict_table([one], colour=False, width=100)
    coloured = verdict_table([one], colour=True, width=100)
    assert f"\x1b[{hue}m{one['verdict']}" in coloured
    for code in (hue, "1", "0"):
        coloured = coloured.replace(f"\x1b[{code}m", "")
    assert coloured.splitlines()[0] == plain.splitlines()[0]
    assert coloured == plain


def test_a_file_has_every_column(tmp_path):
    write_table(tmp_path / "t.json", ROWS, scale="quick", root=7)
    told = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert (told["scale"], told["root"]) == ("quick", 7)
    assert [claim["id"] for claim in told["claims"]] == ["a.two", "b.off", LONG["id"], "z.one"]
    assert told["claims"][0]["margin"] == "inf"
    write_table(tmp_path / "t.csv", ROWS, scale="quick", root=7)
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    for claim, line in zip(told["claims"], lines, strict=True):
        assert line == {"scale": "quick", "root": "7"} | {
            name: "" if value is None else str(value) for name, value in claim.items()
        }


def test_another_suffix_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"^table: expected a file \.csv or \.json, got t\.txt$"):
        write_table(tmp_path / "t.txt", ROWS, scale="quick", root=7)
    assert not any(tmp_path.iterdir())
