"""``python -m theory`` on evidence that the suite itself wrote, and on evidence that is missing or broken."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import specimen
from tests.specimen import edited, lay
from theory.__main__ import _KINDS, _VERDICTS, main
from theory.evidence import Run, decide
from theory.evidence.interval import Kind
from theory.evidence.judge import Verdict
from theory.evidence.record import write
from theory.report.locations import evidence_folders, suite_folder


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return lay(tmp_path_factory.mktemp("repository"))


@pytest.fixture
def folder(tmp_path):
    return lay(tmp_path)


def run(capsys, *arguments):
    """Return status, output and errors of one command."""
    status = main([str(a) for a in arguments])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_verdicts_are_those_of_the_judge():
    assert set(_VERDICTS) == {verdict.value for verdict in Verdict}
    assert list(_KINDS) == [kind.name.lower() for kind in Kind]


def test_help_loads_nothing_slow():
    code = (
        "import runpy, sys; sys.argv = ['theory', '--help']\n"
        "try: runpy.run_module('theory', run_name='__main__')\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'scipy', 'numba', 'matplotlib', 'ot', 'sympy', 'flint', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)  # noqa: S603
    assert "list,explain,cite,bundle,report,site,certify,look,doctor,reference,prove,completion" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_reading_loads_no_instrument(shared):
    code = (
        "import sys; from theory.__main__ import main\n"
        f"folder = {str(shared)!r}\n"
        "for verb in (['list'], ['explain', 'sums.two'], ['cite', 'sums.two'], ['report', '--check']):\n"
        "    main([*verb, '--evidence', folder])\n"
        "print(sorted({'scipy', 'numba', 'matplotlib', 'ot', 'sympy', 'flint'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)  # noqa: S603
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("arguments", [["list"], ["list", "--json"], ["explain", "sums.two"]])
def test_a_reader_who_has_enough_is_told_nothing(shared, arguments):
    reads, writes = os.pipe()
    os.close(reads)
    command = [sys.executable, "-m", "theory", *arguments, "--evidence", str(shared)]
    done = subprocess.run(command, stdout=writes, stderr=subprocess.PIPE, text=True, timeout=60, check=False)  # noqa: S603
    os.close(writes)
    assert (done.returncode, done.stderr) == (141, "")


def test_list_aligns_one_line_per_claim(capsys, shared):
    status, out, err = run(capsys, "list", "--evidence", shared)
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "means.normal  supported  statistical  quick  a standard normal has mean zero",
        "sums.half     supported  certified    quick  a half is at most three quarters",
        "sums.two      supported  numeric      paper  one plus one is two",
    ]


def test_list_filters(capsys, shared):
    assert run(capsys, "list", "--evidence", shared, "--subject", "sums")[1].count("\n") == 2
    assert run(capsys, "list", "--evidence", shared, "--verdict", "refuted") == (
        1,
        "",
        "none of 3 claims agrees with all that is asked for\n",
    )
    assert run(capsys, "list", "--evidence", shared, "--json", "nothing of the kind")[:2] == (1, "[]\n")
    status, out, err = run(capsys, "list", "--evidence", shared, "--subject", "sum")
    assert (status, out) == (2, "")
    assert err == "--subject: expected one of means, sums, got sum\n"


def test_list_finds_words_kinds_sources_and_labels(capsys, shared):
    def shown(*arguments):
        return [line.split()[0] for line in run(capsys, "list", "--evidence", shared, *arguments)[1].splitlines()]

    assert shown("HALF", "quarters") == ["sums.half"]
    assert shown("overflow") == shown("overflwo") == ["sums.two"]
    assert shown("half sums") == shown("half", "sums") == ["sums.half"]
    assert shown("--kind", "statistical") == ["means.normal"]
    assert shown("--source", "higham2002") == shown("--label", "MA.D1") == ["sums.two"]
    assert shown("--label", "MA.D1", "half") == []
    listed = json.loads(run(capsys, "list", "--evidence", shared, "--json", "two")[1])
    assert [(claim["id"], claim["labels"], claim["sources"]) for claim in listed] == [
        ("sums.two", ["MA.D1"], ["higham2002"])
    ]
    assert run(capsys, "list", "--evidence", shared, "--source", "higham")[::2] == (
        2,
        "--source: expected one of higham2002, got higham\n",
    )


def test_list_takes_patterns_of_ids(capsys, shared):
    def shown(*arguments):
        return [line.split()[0] for line in run(capsys, "list", "--evidence", shared, *arguments)[1].splitlines()]

    assert shown("sums.*") == shown("sums.????", "*.two") == ["sums.half", "sums.two"]
    assert shown("sums.*", "overflow") == ["sums.two"]
    assert shown("su*") == ["sums.half", "sums.two"]
    assert shown("um*") == []


@pytest.fixture
def drawn(folder):
    """A folder of records with a list of figures beside it."""
    figures = folder.parent.parent / "figures"
    figures.mkdir()
    entries = {name: {"claims": claims, "files": {}} for name, claims in {"all": ["*"], "adding": ["sums.t*"]}.items()}
    (figures / "manifest.json").write_text(json.dumps(entries), encoding="utf-8")
    return folder


def test_figures_are_asked_for_and_named(capsys, drawn):
    assert run(capsys, "list", "--evidence", drawn, "--figure", "adding")[1].split()[0] == "sums.two"
    assert run(capsys, "list", "--evidence", drawn, "--figure", "all")[1].count("\n") == 3
    assert run(capsys, "list", "--evidence", drawn, "--figure", "add")[::2] == (
        2,
        "--figure: expected one of adding, all, got add\n",
    )
    assert "\nfigures      adding\n" in run(capsys, "explain", "sums.two", "--evidence", drawn)[1]
    assert "figures  " not in run(capsys, "explain", "sums.half", "--evidence", drawn)[1]
    (drawn.parent.parent / "figures" / "manifest.json").write_text("[]", encoding="utf-8")
    assert "manifest.json: expected the list of figures" in run(capsys, "explain", "sums.two", "--evidence", drawn)[2]


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 130, 400])
def test_list_fits_a_terminal_and_names_its_columns(capsys, shared, monkeypatch, columns):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    head, *lines = run(capsys, "list", "--evidence", shared)[1].splitlines()
    assert max(map(len, [head, *lines])) <= columns
    assert head.split()[0::10] == ["claim"]
    assert head.endswith("words")
    assert [line.split()[0][:4] for line in lines[:3]] == ["mean", "sums", "sums"]
    missing = [name for name in ("verdict", "kind", "scale") if name not in head]
    assert (lines[-1].startswith("left out")) == bool(missing)
    assert (missing == []) == (columns > 70)
    if columns == 400:
        assert "a standard normal has mean zero" in lines[0]
        assert len(lines) == 3
    if columns == 40:
        assert lines[0].endswith("...")
        assert "".join(lines).isascii()  # which every terminal can show


def test_cite_takes_labels_and_patterns(capsys, shared):
    def cited(*names):
        return run(capsys, "cite", *names, "--evidence", shared, "--format", "latex")[1]

    assert cited("MA.D1") == cited("MA.*") == cited("sums.two") != ""
    assert cited("sums.*") == cited("sums.half", "sums.two", "MA.D1")
    assert run(capsys, "cite", "none.*", "--evidence", shared)[::2] == (
        2,
        "none.*: expected a pattern of ids or labels of 3 claims, got one of none\n",
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here is always full")
@pytest.mark.parametrize("arguments", [["list"], ["explain", "sums.two"]])
def test_a_full_disk_is_named_without_a_traceback(shared, arguments):
    command = [sys.executable, "-m", "theory", *arguments, "--evidence", str(shared)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)  # noqa: S603
    assert done.returncode == 2
    assert done.stderr.startswith("standard output: expected to be written, got ")
    assert done.stderr.count("\n") == 1


def test_explain_takes_labels_and_several_claims(capsys, shared):
    status, out, _ = run(capsys, "explain", "MA.D1", "sums.half", "sums.two", "--evidence", shared)
    assert status == 0
    assert [line.split(":")[0] for line in out.splitlines() if line.startswith("sums.")] == ["sums.two", "sums.half"]
    assert "MA.D9: expected the id of one of 3 claims" in run(capsys, "explain", "MA.D9", "--evidence", shared)[2]


def test_cite_prints_one_format_if_asked(capsys, shared):
    both = run(capsys, "cite", "sums.two", "--evidence", shared)[1]
    bibtex, latex = (
        run(capsys, "cite", "sums.two", "--evidence", shared, "--format", f)[1] for f in ("bibtex", "latex")
    )
    assert both == f"{bibtex}\n{latex}"
    assert latex.startswith("Claim ")


def test_version_is_told(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("attention-theory ")


def test_list_colours_a_terminal_only(capsys, shared, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "\x1b[32msupported\x1b[0m" in run(capsys, "list", "--evidence", shared)[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run(capsys, "list", "--evidence", shared)[1]


def test_explain_says_everything(capsys, shared):
    status, out, _ = run(capsys, "explain", "sums.two", "--evidence", shared)
    assert status == 0
    flowing = " ".join(out.split())
    for part in (
        "sums.two: one plus one is two",
        "$1 + 1 = 2$",
        "integers no overflow",
        "seen, refereed on paper [S] [ref-p]",
        "MA.D1",
        "higham2002",
        "quick scale SUPPORTED, kind numeric",
        "paper scale SUPPORTED, kind numeric",
        "over 30 cases, root 20070",
        "number 29 at n=29: measured",
        "three (constant, the nearest): the sum is 3, 50% more; fails by at least 0.33, caught in 3 of 3 cases",
        "minus (bug): the sign_of one summand; fails by at least 0.99",
        "pytest verify/test_sums.py::sums.two --scale paper --root 20070 worst again",
        "pytest verify/test_sums.py::sums.two --scale quick --root 20070 --case 2",
        "suite 0.1.0",
        "backend compiled",
    ):
        assert part in flowing
    assert "\ndecide again pytest verify/test_sums.py::sums.two --scale paper --root 20070\n" in out  # can be copied
    assert "tightness" not in out  # an identity has none
    assert "largest measured/bound is at most 0.666" in run(capsys, "explain", "sums.half", "--evidence", shared)[1]


@pytest.fixture
def refuted(folder):
    """A folder with a claim that states that it is refuted, and is."""
    write(folder, decide(specimen.large, Run("means.large")), "verify/test_means.py")
    return folder


def test_what_is_refuted_as_stated_is_told_so_and_never_counted_as_support(capsys, refuted, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = run(capsys, "list", "--evidence", refuted)[1]
    assert "means.large   refuted, as stated  statistical  quick  a standard normal has mean one\n" in shown
    assert "means.large" in run(capsys, "list", "--evidence", refuted, "--verdict", "refuted")[1]
    assert "means.large" not in run(capsys, "list", "--evidence", refuted, "--verdict", "supported")[1]
    assert "REFUTED, as stated, kind statistical" in run(capsys, "explain", "means.large", "--evidence", refuted)[1]
    cited = run(capsys, "cite", "means.large", "--evidence", refuted)[1]
    assert r"is \emph{refuted} by" in cited
    assert "some case departs by at least" in cited
    run(capsys, "report", "--evidence", refuted)
    notes = (refuted.parent.parent / "paper_notes.md").read_text(encoding="utf-8")
    assert "4 claims, 3 supported, 1 refuted, as stated." in notes
    assert "- `means.large`: a standard normal has mean one. **Refuted, as stated.**\n" in notes
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "\x1b[36mrefuted, as stated" in run(capsys, "list", "--evidence", refuted)[1]


def test_what_is_refuted_though_it_states_support_is_no_result(capsys, refuted):
    edited(refuted / "means.large.json", lambda whole: whole.pop("finds"))
    assert "means.large   refuted    statistical" in run(capsys, "list", "--evidence", refuted)[1]
    run(capsys, "report", "--evidence", refuted)
    assert "4 claims, 3 supported, 1 refuted." in (refuted.parent.parent / "paper_notes.md").read_text()


def test_unknown_id_names_close_matches(capsys, shared):
    status, out, err = run(capsys, "explain", "sums.tow", "--evidence", shared)
    assert (status, out) == (2, "")
    assert "sums.tow: expected the id of one of 3 claims" in err
    assert "did you mean sums.two" in err
    assert "python -m theory list names them all" in run(capsys, "cite", "zzzzzz", "--evidence", shared)[2]


def test_reference_backend_is_in_the_command(capsys, folder):
    edited(folder / "sums.two.json", lambda whole: whole["scales"]["paper"]["provenance"].update(backend="reference"))
    assert "THEORY_BACKEND=reference pytest verify/" in run(capsys, "explain", "sums.two", "--evidence", folder)[1]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda text: text[:-40], "expected JSON, got"),
        (lambda text: "[]", "expected the record of a claim"),  # noqa: ARG005
        (lambda text: text.replace('"words"', '"word"'), "expected the key 'words', found none"),
        (lambda text: text.replace('"kind": "numeric"', '"kind": "sure"'), "kind: expected one of proved"),
        (lambda text: text.replace('"verdict": "supported"', '"verdict": "true"'), "'true' is not a valid Verdict"),
        (
            lambda text: text.replace('"sums.two"', '"sums.too"'),
            "expected sums.two at scales quick, paper, got sums.too",
        ),
        (lambda text: text.replace('"paper"', '"huge"'), "at huge, quick"),
        (lambda text: json.dumps(json.loads(text) | {"scales": {}}), "at none"),
        (
            lambda text: json.dumps(json.loads(text) | {"source_status": ["hearsay"]}),
            "source_status: expected one of seen",
        ),
        (lambda text: json.dumps(json.loads(text) | {"finds": ["doubted"]}), "'doubted' is not a valid Verdict"),
        (lambda text: json.dumps(json.loads(text) | {"finds": []}), "finds: expected verdicts, none of them vacuous"),
    ],
)
def test_broken_evidence_is_named(capsys, folder, broken, message):
    path = folder / "sums.two.json"
    path.write_text(broken(path.read_text()))
    for verb in (["list"], ["explain", "sums.two"], ["cite", "sums.two"], ["report", "--check"]):
        status, out, err = run(capsys, *verb, "--evidence", folder)
        assert (status, out) == (2, "")
        assert err.startswith(f"{path}: ")
        assert message in err
    assert run(capsys, "explain", "sums.half", "--evidence", folder)[0] == 0  # one broken record hides no other


def test_no_evidence_is_named(capsys, tmp_path, monkeypatch):
    status, _, err = run(capsys, "list", "--evidence", tmp_path / "none")
    assert status == 2
    assert "none: expected evidence, found none (pytest verify/ --record writes it)" in err
    monkeypatch.setattr("theory.__file__", str(tmp_path / "theory" / "__init__.py"))
    monkeypatch.chdir(tmp_path)
    status, _, err = run(capsys, "list")
    assert status == 2
    assert "use --evidence DIR" in err


def test_evidence_of_the_working_directory_is_found(capsys, tmp_path, monkeypatch):
    lay(tmp_path)
    monkeypatch.setattr("theory.__file__", str(tmp_path / "elsewhere" / "theory" / "__init__.py"))
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "list")[1].count("\n") == 3


@pytest.fixture
def other(tmp_path, monkeypatch):
    """Another repository with claims of its own, in ``proofs/evidence``; the working directory is deep in it."""
    lay(tmp_path)
    (tmp_path / "paper_notes.md").unlink()
    (tmp_path / "verify").rename(tmp_path / "proofs")
    (tmp_path / ".git").mkdir()
    deep = tmp_path / "source" / "deep"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    return tmp_path


def test_the_repository_around_comes_before_the_suite(capsys, other):
    assert run(capsys, "list")[1].count("\n") == 3
    assert run(capsys, "explain", "sums.two")[::2] == (0, "")
    status, out, err = run(capsys, "explain", "maxent.gibbs")
    assert (status, out.startswith("maxent.gibbs: ")) == (0, True)
    own = suite_folder()
    assert err == f"maxent.gibbs: no claim of {other / 'proofs' / 'evidence'}; this is the record in {own}\n"
    hint = run(capsys, "explain", "maxent.gibs")[2]
    assert f"claims in {other / 'proofs' / 'evidence'} and {own}; did you mean maxent.gibbs" in hint


@pytest.mark.parametrize("mark", [".git", "pyproject.toml", None])
def test_no_folder_above_the_repository_is_looked_at(other, monkeypatch, mark):
    inner = other / "source"
    if mark is None:  # no repository at all: only the working directory counts
        (other / ".git").rmdir()
    else:
        (inner / mark).touch()
    assert evidence_folders() == [suite_folder()]
    monkeypatch.chdir(other)
    assert evidence_folders() == [other / "proofs" / "evidence", suite_folder()]


def test_two_folders_as_near_are_both_searched_and_no_guess_is_made(capsys, other):
    (other / "evidence").mkdir()
    (other / "proofs" / "evidence" / "sums.half.json").rename(other / "evidence" / "sums.half.json")
    status, _, err = run(capsys, "list")
    assert status == 2
    assert err == (
        f"evidence: expected one folder of records, found {other / 'evidence'} and {other / 'proofs' / 'evidence'} "
        "(use --evidence DIR)\n"
    )
    assert run(capsys, "explain", "sums.half")[0] == run(capsys, "explain", "sums.two")[0] == 0


def test_other_files_are_no_records(other):
    for path in (other / "proofs" / "evidence").iterdir():
        path.unlink()
    (other / "proofs" / "evidence" / "notes.2020.json").write_text('{"id": "notes.2020"}')
    assert evidence_folders() == [suite_folder()]


def test_only_a_claim_with_sources_needs_notes(capsys, other):
    assert run(capsys, "cite", "sums.half")[::2] == (0, "")
    status, _, err = run(capsys, "cite", "sums.two")
    assert status == 2
    assert err.startswith("notes: expected a paper_notes.md above")
    assert run(capsys, "cite", "maxent.gibbs")[0] == 0
    assert other.exists()


def test_what_came_with_the_package_is_never_written(capsys, tmp_path, monkeypatch):
    lay(tmp_path)
    home = tmp_path / "site" / "theory"
    (home / "_record").mkdir(parents=True)
    (tmp_path / "verify" / "evidence").rename(home / "_record" / "evidence")
    notes = (tmp_path / "paper_notes.md").rename(home / "_record" / "paper_notes.md")
    (tmp_path / "empty").mkdir()
    monkeypatch.setattr("theory.__file__", str(home / "__init__.py"))
    monkeypatch.chdir(tmp_path / "empty")
    before = notes.read_bytes()
    assert run(capsys, "list")[1].count("\n") == 3
    status, out, _ = run(capsys, "report")
    assert status == 1
    assert out.endswith(f"{notes}: the theorem index is stale; install the package again\n")
    assert notes.read_bytes() == before


def test_report_renews_only_the_index(capsys, folder):
    notes = folder.parent.parent / "paper_notes.md"
    status, out, _ = run(capsys, "report", "--check", "--evidence", folder)
    assert status == 1
    assert "+- `sums.two`: one plus one is two." in out
    assert "the theorem index is stale; python -m theory report renews it" in out
    assert run(capsys, "report", "--evidence", folder)[:2] == (0, f"{notes}: renewed, 3 claims\n")
    text = notes.read_text(encoding="utf-8")
    assert "by hand, above" in text.partition("### means")[0]
    assert "by hand, below" in text.partition("### sums")[2]
    assert "3 claims, 3 supported." in text
    assert "\n- `sums.two`: one plus one is two.\n" in text
    assert run(capsys, "report", "--evidence", folder)[:2] == (0, f"{notes}: current, 3 claims\n")
    assert run(capsys, "report", "--check", "--evidence", folder)[0] == 0
    assert notes.read_text(encoding="utf-8") == text


def test_report_sees_another_claim_and_other_words(capsys, folder):
    run(capsys, "report", "--evidence", folder)
    path = folder / "sums.two.json"
    edited(path, lambda whole: whole.update(words="one plus one is even"))
    status, out, _ = run(capsys, "report", "--check", "--evidence", folder)
    assert status == 1
    assert "one plus one is even" in out
    path.unlink()
    assert run(capsys, "report", "--check", "--evidence", folder)[0] == 1


def test_report_begins_an_index_in_notes_without_one(capsys, folder):
    notes = folder.parent.parent / "paper_notes.md"
    notes.write_text("# Notes\n", encoding="utf-8")
    assert run(capsys, "report", "--evidence", folder)[0] == 0
    assert notes.read_text(encoding="utf-8").startswith("# Notes\n\n<!-- theorem index")
    assert run(capsys, "report", "--check", "--evidence", folder)[0] == 0


def test_report_needs_its_markers(capsys, folder):
    notes = folder.parent.parent / "paper_notes.md"
    notes.write_text(notes.read_text(encoding="utf-8").replace("<!-- end", "<!-- finish"), encoding="utf-8")
    status, _, err = run(capsys, "report", "--evidence", folder)
    assert status == 2
    assert "once each, in this order" in err
    notes.unlink()
    assert "expected a paper_notes.md above" in run(capsys, "report", "--evidence", folder)[2]
    assert "expected the notes" in run(capsys, "report", "--evidence", folder, "--notes", notes)[2]
