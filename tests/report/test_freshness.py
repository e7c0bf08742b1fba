"""Evidence that is older than the code of its check is told so, with the file that changed; a comment is no change."""

import pytest

from tests import specimen
from tests.specimen import git
from theory.__main__ import main
from theory.evidence import Run, decide, provenance
from theory.evidence.record import write
from theory.report.archive import ArchiveError, read_all
from theory.report.freshness import changes, warnings

FILES = {
    "verify/test_sums.py": "import verify.shared\nx = 1\n",
    "verify/test_more.py": "y = 1\n",
    "verify/shared.py": "z = 1\n",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the evidence of a repository of one commit, recorded there."""
    monkeypatch.setattr(provenance, "_git", provenance._git.__wrapped__)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "paper_notes.md").write_text(specimen.NOTES)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "one")
    evidence = tmp_path / "verify" / "evidence"
    for scale in ("quick", "paper"):
        write(evidence, decide(specimen.two, Run("sums.two", scale)), "verify/test_sums.py")
    write(evidence, decide(specimen.half, Run("sums.half")), "verify/test_more.py")
    main(["report", "--evidence", str(evidence)])
    return evidence


def changed(folder):
    return dict(changes(read_all(folder), folder))


def head(folder):
    return git(folder, "rev-parse", "--short=12", "HEAD").strip()


def shown(capsys, *arguments):
    capsys.readouterr()
    status = main([str(word) for word in arguments])
    return status, " ".join(capsys.readouterr().out.split())


def test_what_was_just_recorded_is_current(folder, capsys):
    assert changed(folder) == {}
    assert shown(capsys, "report", "--check", "--evidence", folder)[0] == 0
    assert "*" not in shown(capsys, "list", "--evidence", folder)[1]
    assert f"recorded at {head(folder)} made with" in shown(capsys, "explain", "sums.two", "--evidence", folder)[1]


@pytest.mark.parametrize(
    "text", ["import verify.shared\n\n\nx = 1  # one\n", '"""Words."""\nimport verify.shared\nx = 1']
)
def test_comments_and_layout_are_no_change(folder, text):
    (folder.parent / "test_sums.py").write_text(text)
    assert changed(folder) == {}


@pytest.mark.parametrize("committed", [False, True])
def test_change_is_told_with_its_file(folder, capsys, committed):
    was = head(folder)
    (folder.parent / "shared.py").write_text("z = 2\n")
    (folder.parent / "test_sums.py").write_text("import verify.shared\nx = 1  # a comment\n")
    if committed:
        git(folder, "commit", "-qam", "two")
    assert changed(folder) == {("sums.two", scale): ("verify/shared.py",) for scale in ("quick", "paper")}
    status, text = shown(capsys, "report", "--check", "--evidence", folder)
    assert status == 1
    command = "pytest verify/test_sums.py --record"
    assert f"sums.two was recorded at scale quick before a change in verify/shared.py: {command}" in text
    assert shown(capsys, "report", "--evidence", folder)[0] == 0
    text = shown(capsys, "explain", "sums.two", "--evidence", folder)[1]
    assert text.count(f"recorded at {was}; code since changed in verify/shared.py made with") == 2
    text = shown(capsys, "list", "--evidence", folder)[1]
    assert "sums.two supported numeric paper* one plus one is two" in text
    assert text.endswith("* recorded before its code changed: 1 of 2 claims")


def test_new_file_is_a_change_of_what_imports_it_too(folder):
    (folder.parent / "test_more.py").write_text("import verify.new\ny = 1\n")
    (folder.parent / "new.py").write_text("w = 1\n")
    assert changed(folder) == {("sums.half", "quick"): ("verify/new.py", "verify/test_more.py")}


def test_stale_paper_evidence_is_told_and_does_not_fail(folder, capsys):
    (folder.parent / "shared.py").write_text("z = 2\n")
    git(folder, "commit", "-qam", "two")
    write(folder, decide(specimen.two, Run("sums.two")), "verify/test_sums.py")
    status, text = shown(capsys, "report", "--check", "--evidence", folder)
    assert status == 0
    assert "sums.two was recorded at scale paper before a change in verify/shared.py: " in text
    assert "pytest verify/test_sums.py --scale paper --record" in text


def test_without_git_a_change_is_seen_and_not_named(folder, capsys, monkeypatch):
    (folder.parent / "shared.py").write_text("z = 2\n")
    monkeypatch.setattr(provenance, "_git", lambda *_: None)
    assert set(changed(folder).values()) == {()}
    assert "; code since changed made with" in shown(capsys, "explain", "sums.two", "--evidence", folder)[1]
    assert "before the code changed: pytest" in shown(capsys, "report", "--check", "--evidence", folder)[1]


def test_what_was_recorded_with_changes_says_so(folder, capsys):
    (folder.parent / "shared.py").write_text("z = 2\n")
    write(folder, decide(specimen.two, Run("sums.two")), "verify/test_sums.py")
    text = shown(capsys, "explain", "sums.two", "--evidence", folder)[1]
    assert f"recorded at {head(folder)}, with changes of its own made with" in text


def test_without_tests_nothing_is_said(folder, capsys):
    for name in ("test_sums.py", "test_more.py"):
        (folder.parent / name).unlink()
    assert changed(folder) == {}
    assert f"recorded at {head(folder)} made with" in shown(capsys, "explain", "sums.two", "--evidence", folder)[1]


def test_a_test_file_that_is_gone_makes_its_evidence_old(folder, capsys):
    (folder.parent / "test_sums.py").rename(folder.parent / "test_other.py")
    gone = "its test file verify/test_sums.py, which is gone"
    assert changed(folder) == {("sums.two", scale): (gone,) for scale in ("quick", "paper")}
    assert gone in shown(capsys, "explain", "sums.two", "--evidence", folder)[1]
    status, text = shown(capsys, "report", "--check", "--evidence", folder)
    assert status == 1
    assert f"sums.two was recorded at scale quick before a change in {gone}: pytest verify/ --record" in text


def test_commands_can_be_copied(folder, capsys):
    path = folder.parent / "test a sum.py"
    (folder.parent / "test_sums.py").rename(path)
    write(folder, decide(specimen.two, Run("sums.two")), "verify/test a sum.py")
    text = shown(capsys, "explain", "sums.two", "--evidence", folder)[1]
    assert "pytest 'verify/test a sum.py::sums.two' --scale quick" in text
    path.write_text("x = 2")
    assert "pytest 'verify/test a sum.py' --record" in shown(capsys, "report", "--evidence", folder)[1]


def test_one_line_for_each_set_of_files(folder):
    records = read_all(folder)
    both = {("sums.two", "quick"): ("a.py",), ("sums.half", "quick"): ("a.py",)}
    assert warnings(records, both, "quick") == [
        "2 claims (sums.half, ...) were recorded at scale quick before a change in a.py: "
        "pytest verify/test_more.py verify/test_sums.py --record"
    ]
    assert warnings(records, both, "paper") == []
    many = {("sums.two", "quick"): tuple(f"{n}.py" for n in range(7))}
    assert "before a change in 0.py, 1.py, 2.py, 3.py and 3 more: " in warnings(records, many, "quick")[0]


def test_file_that_is_no_python_is_named(folder):
    (folder.parent / "shared.py").write_text("def")
    with pytest.raises(ArchiveError, match=r"shared\.py: expected a module that can be read"):
        changed(folder)
