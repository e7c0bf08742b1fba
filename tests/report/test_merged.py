"""An id that was cited once resolves: to its record, to the claim that says it now, or to the test that checks it."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests import specimen
from theory.__main__ import main
from theory.report.archive import ArchiveError
from theory.report.merged import find_successor, read_merged
from theory.report.notes import read_notes

ROOT = Path(__file__).parents[2]
EVIDENCE = ROOT / "verify" / "evidence"


@pytest.fixture
def folder(tmp_path):
    return specimen.lay(tmp_path)


def say(folder, *lines):
    (folder.parent / "merged.csv").write_text("\n".join(["id,into,why", *lines, ""]), encoding="utf-8")


def test_a_merged_claim_is_cited_by_its_successor(folder, capsys):
    say(
        folder,
        "sums.old,sums.older,the same",
        "sums.older,sums.two,the same again",
        "sums.gone,tests/t.py::t,no theorem",
    )
    assert main(["cite", "sums.old", "--evidence", str(folder)]) == 0
    shown = capsys.readouterr()
    assert shown.err == "sums.old: was merged into sums.two: the same\n"
    assert r"\texttt{sums.two}" in shown.out
    assert main(["explain", "sums.gone", "--evidence", str(folder)]) == 2
    assert capsys.readouterr().err == "sums.gone: is no claim any more, tests/t.py::t checks it: no theorem\n"
    assert find_successor([folder], "sums.two") is None
    assert find_successor([folder], "sums.never") is None


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a.b,c.d"], "line 2: expected a new id, where it went and why, got a.b, c.d"),
        (["a.b,c.d,why", "a.b,c.d,why"], "line 3: expected a new id"),
        (["a.b, ,why"], "line 2: expected"),
    ],
)
def test_an_index_that_is_broken(folder, lines, message):
    say(folder, *lines)
    with pytest.raises(ArchiveError, match=message):
        read_merged(folder)


def test_other_columns_and_circles(folder):
    (folder.parent / "merged.csv").write_text("id,to\n", encoding="utf-8")
    with pytest.raises(ArchiveError, match="expected the columns id, into, why, got id, to"):
        read_merged(folder)
    say(folder, "a.b,c.d,why", "c.d,a.b,why")
    with pytest.raises(ArchiveError, match="got a circle"):
        find_successor([folder], "a.b")


def test_what_was_merged_went_somewhere():
    records = {path.stem for path in EVIDENCE.glob("*.json")}
    for old in read_merged(EVIDENCE):
        went = find_successor([EVIDENCE], old)
        assert went is not None, f"{old} has a record still"
        if went.is_claim:
            assert went.into in records, f"{old} went to {went.into}, which has no record"
            continue
        path, _, test = went.into.partition("::")
        assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8") if test else (ROOT / path).exists(), went


def history(*arguments):
    """Return what git tells of all that led here; other branches may have claims that have not come here yet."""
    shallow, *told = (
        subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603, S607
        for words in (["rev-parse", "--is-shallow-repository"], ["log", "--no-renames", "-m", "--format=", *arguments])
    )
    if shallow.stdout.strip() != "false" or told[0].returncode != 0 or not told[0].stdout.strip():
        pytest.skip("needs the history of the repository, and all of it")
    return told[0].stdout


def test_no_claim_that_was_ever_made_is_lost():
    """Whoever deletes a claim says so: it went into another one or a test, or the notes name it in their log."""
    added = history("--name-only", "--diff-filter=A", "--", "verify/evidence/*.json")
    stated = re.findall(r'^\+ +Claim\(\s*\+? *"([a-z0-9.-]+)"', history("-p", "--", "verify/*.py"), re.MULTILINE)
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "verify").rglob("*.py")]
    stands = [name for text in texts for name in re.findall(r'^ +Claim\(\s*"([a-z0-9.-]+)"', text, re.MULTILINE)]
    known = {path.stem for path in EVIDENCE.glob("*.json")} | set(read_merged(EVIDENCE)) | set(stands)
    notes = read_notes(ROOT / "paper_notes.md")
    ever = {Path(line).stem for line in added.splitlines() if line} | set(stated)
    lost = sorted(name for name in ever - known if f"`{name}`" not in notes)
    assert not lost, f"expected a claim, a line of merged.csv or a line of the notes for {', '.join(lost)}"


def test_the_record_names_its_file():
    for path in EVIDENCE.glob("*.json"):
        assert json.loads(path.read_text(encoding="utf-8"))["id"] == path.stem
