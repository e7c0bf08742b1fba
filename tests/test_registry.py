"""Every claim of ``verify/`` has twins of different types, sources that resolve, a place in the index and evidence."""

from __future__ import annotations

import ast
import json
import re
from importlib import import_module
from pathlib import Path

import pytest

from theory.evidence import ROOT as ENTROPY, Verification
from theory.evidence.record import path_of, read, statement_of
from theory.report.notes import read_notes

ROOT = Path(__file__).parent.parent
VERIFY = ROOT / "verify"
EVIDENCE = VERIFY / "evidence"
FILES = sorted(VERIFY.rglob("test_*.py"))
NOTES = read_notes(ROOT / "paper_notes.md")


def dotted(path: Path) -> str:
    """Return the name under which a file of claims is imported."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


INDEX = re.search(r"^<!-- theorem index: .*? -->$(.*?)^<!-- end of the theorem index -->$", NOTES, re.M | re.S)
INDEXED = re.findall(r"^- `([^`]+)`", INDEX[1] if INDEX else "", re.M)
KEYS = [
    key
    for block in re.findall(r"^```bibtex\n(.*?)^```$", NOTES, re.M | re.S)
    for key in re.findall(r"@\w+\{([^\s,]+),", block)
]

CLAIMS = [
    pytest.param(value, path, id=value.claim.id)
    for path in FILES
    for value in vars(import_module(dotted(path))).values()
    if isinstance(value, Verification)
]
IDS = [parameter.id for parameter in CLAIMS]

every_claim = pytest.mark.parametrize(("verification", "path"), CLAIMS)


@pytest.fixture
def recorded(verification):
    """The committed record of a claim."""
    return json.loads(path_of(EVIDENCE, verification.claim).read_text(encoding="utf-8"))


def test_there_are_claims_and_each_is_one():
    assert len(FILES) > 1
    assert len(IDS) > 30
    assert len(set(IDS)) == len(IDS)


@every_claim
def test_two_twins_of_different_type(verification, path):
    assert len(verification.twins) >= 2
    assert len({twin.made_by for twin in verification.twins}) >= 2
    assert {twin.made_by for twin in verification.twins} <= {"constant", "hypothesis", "bug"}
    assert all(twin.breaks and len(twin.breaks.splitlines()) == 1 for twin in verification.twins)


@every_claim
def test_sources_and_labels_resolve(verification, path):
    claim = verification.claim
    assert set(claim.cites) <= set(KEYS)
    assert all(re.fullmatch(r"[A-Z]{2}\.[A-Z][0-9]+'?", item) for item in claim.spec)
    for names in (claim.spec, claim.cites, claim.source_status):
        assert len(set(names)) == len(names)


@every_claim
def test_claim_is_in_the_index(verification, path):
    assert verification.claim.id in INDEXED


@every_claim
def test_evidence_is_committed_and_finds_what_is_stated(verification, path, recorded):
    found = {entry["verdict"] for entry in recorded["scales"].values()}
    assert found == {verdict.value for verdict in verification.claim.finds}  # "supported", and no allowance is idle
    assert recorded["verdict"] in found
    assert "quick" in recorded["scales"]
    assert recorded["test"] == path.relative_to(ROOT).as_posix()
    for scale, entry in recorded["scales"].items():
        assert scale in ("quick", "paper")
        assert entry["root"] == ENTROPY  # evidence on another root would be a number that was chosen
        assert entry["cases"] >= 1
        assert [float(twin["departure"][0]) > 0.0 for twin in entry["twins"]] == [True] * len(verification.twins)


@every_claim
def test_evidence_is_sealed_and_agrees_with_itself(verification, path):
    assert read(path_of(EVIDENCE, verification.claim))["id"] == verification.claim.id


@every_claim
def test_evidence_is_of_this_statement_and_these_twins(verification, path, recorded):
    stated = statement_of(verification.claim)
    assert {name: recorded[name] for name in stated} == stated
    assert "finds" in stated or "finds" not in recorded
    for entry in recorded["scales"].values():
        named = [(twin["id"], twin["made_by"], twin["breaks"]) for twin in entry["twins"]]
        assert named == [(twin.id, twin.made_by, twin.breaks) for twin in verification.twins]


def test_only_what_was_reported_is_an_open_question():
    """A theorem must be supported; that it may be refuted is for what is said of experiments."""
    open_ = [parameter.id for parameter in CLAIMS if "finds" in statement_of(parameter.values[0].claim)]
    assert {name.partition(".")[0] for name in open_} <= {"reported", "arms"}


def test_no_evidence_without_a_claim():
    assert {path.name for path in EVIDENCE.iterdir()} == {f"{claim}.json" for claim in IDS}


def test_index_lists_claims_only_and_once():
    assert INDEX is not None
    assert sorted(INDEXED) == sorted(IDS)


def test_notes_point_to_no_document_outside_of_this_repository():
    texts = [NOTES, *(path.read_text(encoding="utf-8") for path in (*FILES, *(ROOT / "theory").rglob("*.py")))]
    assert not [
        line for text in texts for line in text.splitlines() if re.search(r"\b[Cc]atalogue|specification", line)
    ]


def test_every_source_is_cited_or_is_that_of_a_method():
    cited = {key for parameter in CLAIMS for key in parameter.values[0].claim.cites}
    assert cited <= set(KEYS)
    docstrings = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "theory").rglob("*.py"))
    proofs = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "proofs").glob("*.md"))
    for key in set(KEYS) - cited:
        assert key in proofs or key[:-4].capitalize() in docstrings, key


def test_keys_of_sources_are_met_once():
    assert KEYS
    assert len(set(KEYS)) == len(KEYS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_check_is_a_verification(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    module = import_module(dotted(path))
    assert not any(isinstance(node, ast.ClassDef) and node.name.startswith("Test") for node in ast.walk(tree))
    checks = [
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    ]
    made = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    checks += [target.id for target in made if isinstance(target, ast.Name) and target.id.startswith("test")]
    assert checks
    assert all(isinstance(getattr(module, name, None), Verification) for name in checks)
    assert len(set(checks)) == len(checks)  # a second function of the same name would hide the first
