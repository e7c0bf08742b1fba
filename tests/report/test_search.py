"""Claims are found by words that are near, and the best stands first."""

import json
from pathlib import Path

import numpy as np
import pytest

from theory.report import archive
from theory.report.search import RULES, distance, ranked
from theory.report.selection import select

EVIDENCE = Path(__file__).parents[2] / "verify" / "evidence"


@pytest.fixture(scope="module")
def records():
    return archive.read_all(EVIDENCE)


@pytest.mark.parametrize(
    ("query", "claim", "among"),
    [
        ("wasserstein sharp lipshitz", "lipschitz.sharp-w1", 1),
        ("lipschitz sharp wasserstein", "lipschitz.sharp-w1", 1),
        ("LIPSCHITZ Sharp-W1", "lipschitz.sharp-w1", 1),
        ("wasserstein sharp", "lipschitz.sharp-w1", 3),
        ("rope base", "rotary.least-base", 3),
        ("entmax suport", "entmax.support", 3),
        ("quantization", "quantised.bias", 1),
        ("layernorm", "depth.layer-norm", 1),
    ],
)
def test_a_claim_is_among_the_first(records, query, claim, among):
    assert claim in [record.claim.id for record in select(records, words=query.split())][:among]
    assert select(records, words=[query]) == select(records, words=query.split())


def test_every_claim_is_found_by_its_id(records):
    for record in records[::40]:
        assert ranked(records, record.claim.id)[0] == record.claim.id


def test_what_no_claim_has_is_not_found(records):
    assert ranked(records, "wasserstein qwertzuiop") == ranked(records, "") == ranked(records, "...") == []


def test_what_words_leave_agrees_with_filters_and_patterns(records):
    found = select(records, words=["lipshitz"])
    assert {record.subject for record in found} > {"lipschitz"}
    assert select(records, words=["lipshitz"], subject="lipschitz") == [r for r in found if r.subject == "lipschitz"]
    assert select(records, words=["lipshitz", "depth.*"]) == [r for r in found if r.subject == "depth"]


def test_a_piece_of_a_text_is_found_below_words(records):
    found = [record.claim.id for record in select(records, words=["ipschitz"])]
    assert found[: len(near := ranked(records, "ipschitz"))] == near
    pieces = {r.claim.id for r in records if "ipschitz" in r.claim.words}
    assert pieces <= set(found)
    formulas = [r.claim.id for r in records if "\\varrho" in r.claim.statement]
    assert set(formulas) <= {record.claim.id for record in select(records, words=["\\varrho"])}
    assert formulas


def test_synonyms_lead_to_words_of_claims(records):
    for typed, meant in RULES["synonyms"].items():
        assert ranked(records, typed) == ranked(records, " ".join(meant)) != []


def slow(a, b):
    """Return the edit distance by its definition."""
    if not a or not b:
        return len(a) + len(b)
    return min(slow(a[1:], b) + 1, slow(a, b[1:]) + 1, slow(a[1:], b[1:]) + (a[0] != b[0]))


def test_edits_are_counted_up_to_what_matters():
    rng = np.random.default_rng(0)
    for _ in range(300):
        a, b = ("".join(rng.choice(["a", "b"], rng.integers(6))) for _ in range(2))
        for most in range(4):
            found, right = distance(a, b, most), slow(a, b)
            assert found == right or (found > most and right > most), (a, b, most)


def test_the_rules_can_be_handed_to_a_page():
    assert json.loads(json.dumps(RULES)) == RULES
    assert set(RULES["boost"]) <= set(RULES["fields"])
