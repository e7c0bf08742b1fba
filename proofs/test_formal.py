"""The files of Coq: manifest, hashes and claims are held against each other always, and compiled where Coq is."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from theory.__main__ import main
from theory.report import formal
from theory.report.archive import ArchiveError

FOLDER = Path(__file__).parent / "formal"
TESTS = FOLDER.parent.parent / "verify"
SOURCES = formal.read_sources(FOLDER)
THEOREMS = [t for source in SOURCES for t in source.theorems]
MANIFEST = formal.read_manifest(FOLDER)
HERE = formal.coq_version()

needs_coq = pytest.mark.skipif(
    MANIFEST["coq"] != HERE, reason=f"expected Coq {MANIFEST['coq']}, got {HERE or 'none'}: nothing is compiled"
)
MISTAKES = {  # a wrong constant, a dropped hypothesis, swapped sides, in statements whose proofs stay
    "constant": ("NineEighths", "0 <= slope q <= 9 / 8.", "0 <= slope q <= 10 / 9."),
    "hypothesis": ("Transport", "coupling a b g -> feasible C u v -> dual", "coupling a b g -> dual"),
    "sides": ("Sparsemax", "distance2 p q <= distance2 s t.", "distance2 s t <= distance2 p q."),
}  # fmt: skip


def planted(name, old, new):
    """The files with one edit."""
    assert sum(source.text.count(old) for source in SOURCES if source.name == name) == 1
    return [replace(s, text=s.text.replace(old, new)) if s.name == name else s for s in SOURCES]


def test_files_claims_and_manifest_agree():
    assert list(formal.differences(MANIFEST, SOURCES, TESTS)) == []


def test_manifest_rests_on_the_axioms_of_the_reals():
    assert set(MANIFEST["axioms"]) <= set(formal.AXIOMS)


def test_names_are_not_used_twice_and_lines_are_short():
    assert len({t.name for t in THEOREMS}) == len(THEOREMS)
    for source in SOURCES:
        assert all(len(line) <= 120 for line in source.text.splitlines()), source.name


def test_every_file_opens_with_what_a_reader_checks():
    for source in SOURCES:
        head = source.text.partition("*)")[0]
        assert head.startswith("(* "), source.name
        assert "checklist" in head or not source.theorems, source.name


def test_theorems_about_claims_have_twins_and_twins_deny():
    twins = [t for t in THEOREMS if t.name.startswith("not_")]
    assert len(twins) >= 90
    assert all(t.twin_of and t.statement.startswith(": ~ ") for t in twins)
    twinned = {name for t in twins for name in t.twin_of}
    assert all(t.name in twinned or t.no_twin for t in THEOREMS if t.claims)


def only(tmp_path, text):
    """What is said of a folder with this one file."""
    (tmp_path / "Odd.v").write_text(text)
    return list(formal.faults(formal.read_sources(tmp_path)))


REFUTED = "(* Claim: a.b. *)\nTheorem t : True.\nProof. exact I. Qed.\n"


@pytest.mark.parametrize(
    "statement",
    [
        "exists x : R, x = 1",
        "exists x : R, x <> 1",
        "forall x : R, x = x",
        "~ forall x : R, ~ x = 1",
        "~ forall x : R, 0 < x -> x <> 1",
    ],
)
def test_a_twin_that_does_not_deny_is_found(tmp_path, statement):
    twin = f"(* Twin.\n   Twin of: t. *)\nTheorem not_t : {statement}.\nProof. by []. Qed.\n"
    (found,) = only(tmp_path, REFUTED + twin)
    assert found == f"Odd.v: expected not_t to deny a statement that has no denial, got : {statement}"


def test_a_twin_that_denies_is_none(tmp_path):
    twin = "(* Twin.\n   Twin of: t. *)\nTheorem not_t : ~ forall x y : R, x <> y -> x = 1.\nProof. by []. Qed.\n"
    assert only(tmp_path, REFUTED + twin) == []


def test_missing_twins_are_found(tmp_path):
    missing = "Odd.v: expected either a twin of t, which names claims, or the reason why it has none"
    assert only(tmp_path, REFUTED) == [missing]
    assert only(tmp_path, REFUTED.replace("a.b. *)", "a.b.\n   No twin: an identity. *)")) == []
    idle = REFUTED.replace("Claim: a.b.", "No twin: an identity.")
    assert only(tmp_path, idle) == [missing]
    of_none = "(* Twin of: u. *)\nTheorem not_t : ~ True.\nProof. by []. Qed.\n"
    assert only(tmp_path, of_none) == ["Odd.v: expected the theorems of which not_t is a twin, got u"]
    unnamed = "(* Twin of: u. *)\nTheorem t : ~ True.\nProof. by []. Qed.\n"
    assert only(tmp_path, unnamed) == ["Odd.v: expected a twin to be named not_..., got t"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "Module M.\nEnd M.\n",
            ["Odd.v: expected no Module, got Module M", "Odd.v: expected a Section before its End"],
        ),
        ("End M.\n", ["Odd.v: expected a Section before its End, got End M"]),
    ],
    ids=["module", "end"],
)
def test_modules_and_ends_are_refused_in_words(tmp_path, text, said):
    found = only(tmp_path, text)
    assert len(found) == len(said)
    assert all(line.startswith(start) for line, start in zip(found, said, strict=True))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Definition exp x := 0.", "exp"),
        ("Local Definition exp (x : R) := 0.", "exp"),
        ("Fixpoint leq (m n : nat) := true.", "leq"),
        ("Notation sqrt := ln.", "sqrt"),
        ("Variables (I : finType) (tanh : R -> R).", "tanh"),
        ("Inductive odd := Some | other.", "Some"),
        ("Record odd := { ln : R }.", "ln"),
        ("Definition odd := forall exp, exp = 0.", "exp"),
        ("Definition odd (exp : R) := exp.", "exp"),
        ("Definition odd := let exp := 0 in exp.", "exp"),
        ("Definition odd := fun x exp => x.", "exp"),
        ("Definition odd := forall (x : R) exp, exp = x.", "exp"),
    ],
)
def test_other_meanings_of_names_of_the_libraries_are_found(tmp_path, text, name):
    assert only(tmp_path, f"{text}\n") == [f"Odd.v: expected {name} to be that of the libraries, got another one"]


@pytest.mark.parametrize(
    "text",
    [
        'Notation "x + y" := (Rminus x y).',
        'Local Notation "~ P" := True.',
        'Notation "\\sum_ i F" := 0.\nNotation "\\sum_ i F" := 1.',
        'Infix "+" := Rminus.',
    ],
)
def test_other_meanings_of_symbols_are_found(tmp_path, text):
    (found,) = only(tmp_path, f"{text}\n")
    assert re.match(r"Odd\.v: expected no (other meaning of a symbol, got the Notation |Infix)", found)


def test_names_that_statements_use_are_ours_or_protected():
    own = set().union(*(formal._named(formal._COMMENT.sub(" ", source.text)) for source in SOURCES))
    syntax = {"forall", "exists", "exists2", "fun", "let", "in", "if", "then", "else", "is", "end", "notin"}
    for t in THEOREMS:
        said = re.sub(r"\\(?:sum|prod)_\w*|%\w+|\.\+?\w+|'I_\w+", " ", t.statement)
        untyped = re.split(r": (?!~)|,", re.sub(r"\([^()]*\)", " ", said))[0]
        strange = {*re.findall(r"(?<!')\b[A-Za-z][\w']*", said)} - own - syntax - {*re.findall(r"[\w']+", untyped)}
        assert strange <= formal._LIBRARY, t.name


def test_other_words_of_a_claim_are_found(tmp_path):
    name = "maxent.gibbs"
    path = next(path for path in TESTS.rglob("test_*.py") if name in dict(formal.words_of(path)))
    text = path.read_text(encoding="utf-8")
    words = dict(formal.words_of(path))[name].splitlines()[1]
    for other in TESTS.rglob("test_*.py"):
        (tmp_path / other.name).write_text(other.read_text(encoding="utf-8"), encoding="utf-8")
    assert list(formal.differences(MANIFEST, SOURCES, tmp_path)) == []
    (tmp_path / path.name).write_text(text.replace(words, words.replace("KL", "LK") + " always"), encoding="utf-8")
    (found,) = formal.differences(MANIFEST, SOURCES, tmp_path)
    assert found.startswith(f"{name}: its words are not those that were compared with ")


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_edited_statement_is_found_without_coq(mistake):
    found = list(formal.differences(MANIFEST, planted(*mistake), TESTS))
    assert found == [f"{mistake[0]}.v: another text than that of the manifest"]  # and read again, another statement


def test_edited_statement_is_another_statement(tmp_path):
    for source in planted(*MISTAKES["constant"]):
        (tmp_path / f"{source.name}.v").write_text(source.text, encoding="utf-8")
    found = list(formal.differences(MANIFEST, formal.read_sources(tmp_path), TESTS))
    assert "NineEighths.v: slope_at_most_9_8 states something else than in the manifest, or of other claims" in found


@pytest.mark.parametrize("gap", ["Admitted.", "Axiom easy : False.", "Unset Guard Checking."])
def test_gaps_are_found(gap):
    edited = [*SOURCES[:-1], replace(SOURCES[-1], text=f"{SOURCES[-1].text}\n{gap}\n")]
    assert list(formal.faults(edited))


@pytest.mark.parametrize(
    "hidden",
    [
        "Hypothesis h : False.",
        "  Hypothesis h : False.",
        "Local Hypothesis h : False.",
        "#[local] Hypothesis h : False.",
        "Variable h : False.",
        "Variables (a : R) (h : a < a).",
        "Variable h : 0 = 1.",
        "Variable h : (0 = 1).",
        "Variable h : R -> (0 = 1).",
        "Variables (a : R.t) (h : False).",
    ],
)
def test_hidden_hypotheses_are_found(tmp_path, hidden):
    text = f"Section S.\n{hidden}\nTheorem t : 1 = 2.\nProof. by case h. Qed.\nEnd S.\n"
    (tmp_path / "Hidden.v").write_text(text)
    (found,) = formal.faults(formal.read_sources(tmp_path))
    assert found == "Hidden.v: expected the hypotheses of a Theorem in its statement, not in its section"


def test_claim_that_is_none_is_found(tmp_path):
    text = "(* Claim: no.such.\n   No twin: an example. *)\nTheorem t : True.\nProof. exact I. Qed.\n"
    (tmp_path / "Odd.v").write_text(text)
    empty = {"claims": {}, "files": {}}
    found = list(formal.differences(empty, formal.read_sources(tmp_path), TESTS))
    assert found == ["no.such: expected a claim, named in t (Odd.v)", "Odd.v: not in the manifest"]


def test_files_in_a_circle_are_refused(tmp_path):
    for name, other in (("A", "B"), ("B", "A")):
        (tmp_path / f"{name}.v").write_text(f"From Attention Require Import {other}.\n")
    with pytest.raises(ArchiveError, match="expected files that need each other in an order"):
        formal.read_sources(tmp_path)


def test_command_refuses_what_no_theorem_names(capsys):
    assert main(["prove", "no.such"]) == 2
    assert "no.such: expected a theorem of" in capsys.readouterr().err
    assert main(["prove", "maxent.gibbs", "--record"]) == 2


def test_command_without_coq_says_so(capsys, monkeypatch):
    monkeypatch.setattr(formal.shutil, "which", lambda _: None)
    assert main(["prove"]) == 2
    assert "coqc: expected Coq" in capsys.readouterr().err


def test_explain_and_list_show_the_theorem_as_a_mark_of_its_own(capsys):
    assert main(["explain", "maxent.gibbs"]) == 0
    assert re.search(r"^formal +.*Softmax\.gap_identity \(in part\)", capsys.readouterr().out, re.MULTILINE)
    assert main(["list"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert re.search("numeric +formal in part  ", lines["distance.stopped-early"])
    assert re.search("numeric +formal  ", lines["softmax.jeffreys"])
    assert "formal" not in lines["distance.line"]


def test_manifest_is_written_as_json_that_reads_the_same():
    now = formal.manifest_of(SOURCES, MANIFEST["claims"], MANIFEST["coq"], MANIFEST["axioms"])
    assert json.loads(json.dumps(now)) == MANIFEST


@needs_coq
@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_planted_mistake_does_not_compile(mistake):
    axioms, rejected = formal.compile_sources(planted(*mistake), {mistake[0]})
    assert axioms == []
    assert rejected[0] == f"{mistake[0]}.v: does not compile"


@needs_coq
def test_another_axiom_is_found(tmp_path):
    text = "Axiom easy : False.\nTheorem t : False.\nProof. exact easy. Qed.\n"
    (tmp_path / "Easy.v").write_text(text)
    assert formal.compile_sources(formal.read_sources(tmp_path))[1] == [
        "expected no axiom but those of the reals, got Easy.easy"
    ]


@needs_coq
def test_all_files_compile_from_an_empty_folder(capsys):
    status = main(["prove"])
    said = capsys.readouterr().out
    assert status == 0, said
    assert "Not covered: code" in said
