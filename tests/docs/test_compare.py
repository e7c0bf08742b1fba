"""The table of statements that are often quoted has the claims that the evidence has under their labels, no others."""

import json
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")


def labelled():
    """Return the ids of claims in the evidence, by their labels."""
    found = defaultdict(set)
    for path in (ROOT / "verify" / "evidence").glob("*.json"):
        claim = json.loads(path.read_text(encoding="utf-8"))
        for label in claim["spec"]:
            found[label].add(claim["id"])
    return found


def test_rows_have_the_claims_of_their_labels():
    rows = dict(re.findall(r"^\| (FN\S+) .* \| (.*) \|$", PAGE, re.MULTILINE))
    assert list(rows) == [f"FN.N{k:02}" for k in range(1, 16)]
    known = labelled()
    for label, row in rows.items():
        told = re.findall(r"`(.*?)`", row)
        assert len(told) == len(set(told)), label
        assert set(told) == known[label], label


def test_claims_that_are_named_exist():
    known = set().union(*labelled().values())
    assert set(re.findall(r"`([a-z-]+\.[a-z0-9-]+)`", PAGE)) <= known
