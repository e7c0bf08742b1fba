"""Places in sources: read beside the records, printed wherever a source is cited, and no part of the evidence."""

import json
import re
from pathlib import Path

import pytest

from tests.specimen import lay
from theory.evidence.record import read_locators
from theory.report.archive import ArchiveError, find, read_all
from theory.report.citation import latex
from theory.report.citing import SCHEMA, as_markdown, as_results
from theory.report.csl import as_csl, places_of
from theory.report.formatting import format_claim

ROOT = Path(__file__).parents[2]
EVIDENCE = ROOT / "verify" / "evidence"


@pytest.fixture
def folder(tmp_path):
    return lay(tmp_path)


def put(folder, *lines):
    (folder.parent / "locators.csv").write_text("\n".join(["id,source,place", *lines, ""]), encoding="utf-8")


def test_a_place_stands_wherever_the_source_is_cited(folder):
    before = (folder / "sums.two.json").read_bytes()
    assert find(folder, "sums.two").locators == {}
    put(folder, "sums.two,higham2002,Lemma 3.1 & more")
    record = find(folder, "sums.two")
    assert r", after \cite[Lemma 3.1 \& more]{higham2002}, is" in latex(record)
    assert "[@higham2002, Lemma 3.1 & more; @attention-theory]" in as_markdown([record])
    assert "higham2002 (Lemma 3.1 & more)" in " ".join(format_claim(record).split())
    (claim,) = json.loads(as_results([record], {}, "0"))["claims"]
    assert claim["locators"] == {"higham2002": "Lemma 3.1 & more"}
    assert set(claim) <= set(SCHEMA["definitions"]["claim"]["properties"])
    assert places_of([record]) == {"higham2002": {"sums.two": "Lemma 3.1 & more"}}
    assert (folder / "sums.two.json").read_bytes() == before


def test_csl_keeps_the_place_of_every_claim():
    pytest.importorskip("pybtex")
    entries = ["@book{a, title = {B}, year = {2000}}", "@book{c, title = {D}, year = {2001}}"]
    one, other = json.loads(as_csl(entries, {"a": {"sums.two": "Lemma 3.1"}}))
    assert one["custom"] == {"locators": {"sums.two": "Lemma 3.1"}}
    assert "custom" not in other


@pytest.mark.parametrize(
    "line", ["sums.two,higham2002", "sums.two,higham2002,", "sums.two,higham2002,a] b", "sums.two,higham2002,a\n" * 2]
)
def test_a_line_that_is_none_is_named(folder, line):
    put(folder, line)
    with pytest.raises(ArchiveError, match=r"locators.csv: line \d: expected an id, a key and a new place"):
        read_all(folder)


def test_a_source_that_the_claim_does_not_cite_is_named(folder):
    put(folder, "sums.two,other1999,Theorem 1")
    with pytest.raises(ArchiveError, match=r"expected sources of sums\.two, got other1999"):
        find(folder, "sums.two")
    (folder.parent / "locators.csv").write_text("id,place\n", encoding="utf-8")
    with pytest.raises(ArchiveError, match="expected the columns id, source, place, got id, place"):
        find(folder, "sums.two")


def test_places_are_of_claims_that_are_and_of_numbered_things():
    """A line is of a record, in order, and says the number of something in a text that was read."""
    found = read_locators(EVIDENCE)
    assert set(found) <= {path.stem for path in EVIDENCE.glob("*.json")}
    assert list(found) == sorted(found, key=lambda claim: claim.encode())
    for claim, places in found.items():
        for place in places.values():
            assert re.match(r"(Theorem|Proposition|Lemma|Definitions?|Example|Assumption|Algorithm) \d", place), claim
