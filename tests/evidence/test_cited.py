"""Sources with places: keys to everybody, seals and records as without, and a line beside the records."""

import copy
import dataclasses
import pickle

import pytest

from tests import specimen
from theory.evidence import Claim, Run, closure, decide, verifies
from theory.evidence.record import claim_of, read, read_locators, seal, statement_of, write

PLAIN = Claim("sums.two", "one plus one is two", "$1 + 1 = 2$", cites=("a2000", "b2001"))
PLACED = Claim("sums.two", "one plus one is two", "$1 + 1 = 2$", cites=("a2000", ("b2001", "Theorem 3.3")))


def place(claim, number):
    return getattr(claim.cites[number], "place", None)


def test_a_key_with_a_place_is_the_key():
    assert PLACED == PLAIN
    assert PLACED.cites == ("a2000", "b2001")
    assert (place(PLACED, 0), place(PLACED, 1)) == (None, "Theorem 3.3")
    assert statement_of(PLACED) == statement_of(PLAIN)
    assert seal(PLACED, "test.py", "quick", {}) == seal(PLAIN, "test.py", "quick", {})
    for again in (copy.deepcopy(PLACED), pickle.loads(pickle.dumps(PLACED)), dataclasses.replace(PLACED, words="more")):  # noqa: S301
        assert place(again, 1) == "Theorem 3.3"


@pytest.mark.parametrize("pair", [("a2000",), ("a2000", ""), ("a2000", 3), ("", "Theorem 1"), ("a2000", "1] x"), ()])
def test_a_pair_that_is_none_is_named(pair):
    with pytest.raises(ValueError, match=r"^cites: expected a key and a place without brackets for sums\.two, got \("):
        Claim("sums.two", "one plus one is two", "$1 + 1 = 2$", cites=(pair,))


def recorded(folder, cites):
    claim = dataclasses.replace(specimen.two.claim, cites=cites)
    evidence = decide(verifies(claim, *specimen.two.twins)(specimen.two.check), Run(claim.id))
    write(folder, evidence, "test_sums.py")
    return folder / "sums.two.json"


def test_recording_writes_the_place_beside_a_record_that_is_the_same(tmp_path):
    plain = recorded(tmp_path / "plain" / "evidence", ("higham2002",)).read_bytes()
    assert not (tmp_path / "plain" / "locators.csv").exists()
    folder = tmp_path / "placed" / "evidence"
    folder.mkdir(parents=True)
    other = "id,source,place\nsums.half,other1999,Lemma 2\n"
    (folder.parent / "locators.csv").write_text(other, encoding="utf-8")
    path = recorded(folder, (("higham2002", "Section 4.2, Lemma 3"),))
    assert path.read_bytes() == plain
    assert claim_of(read(path)).cites == ("higham2002",)
    assert read_locators(folder) == {
        "sums.half": {"other1999": "Lemma 2"}, "sums.two": {"higham2002": "Section 4.2, Lemma 3"},
    }  # fmt: skip
    before = (folder.parent / "locators.csv").stat().st_mtime_ns
    recorded(folder, (("higham2002", "Section 4.2, Lemma 3"),))
    assert (folder.parent / "locators.csv").stat().st_mtime_ns == before


def test_what_takes_places_is_no_part_of_a_check(tmp_path):
    """A claim is imported through the door, and what converts its sources makes no evidence old."""
    test = tmp_path / "test_mine.py"
    test.write_text("from theory.evidence import Claim, at_most, constant, hypothesis, verifies\n", encoding="utf-8")
    files = closure.closure_of(test, tmp_path).files
    assert "theory/evidence/claim.py" in files
    assert not {"theory/evidence/cited.py", "theory/evidence/record/locators.py"} & set(files)
