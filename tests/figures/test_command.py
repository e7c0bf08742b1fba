"""The command ``python -m theory.figures``: what it writes, keeps, checks and refuses."""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from tests.figures.toys import ROOT, contents, lay, toy_module, toy_study
from theory import figures
from theory.evidence import Kind, Table
from theory.figures import __main__ as command, manifest, registry, render, verified_table
from theory.figures._style import style
from theory.report import locations
from theory.report.archive import ArchiveError

FIGURES = sorted(registry.titles())
FEW = ("weights", "tightness", "losses")  # whose studies are quick
NOBODY = "import sys; from theory.figures.__main__ import main; raise SystemExit(main(sys.argv[1:]))"


def test_a_verified_figure_is_written_with_its_table_and_equal_again(toy, capsys):
    assert toy.run("--format", "svg,png,pdf") == 0
    assert toy.run("--format", "svg,png,pdf", out="again") == 0
    names = ["manifest.json", "toy.csv", "toy.pdf", "toy.png", "toy.svg"]
    assert sorted(path.name for path in toy.folder.iterdir()) == names
    for name in names:
        assert (toy.folder / name).read_bytes() == (toy.folder.parent / "again" / name).read_bytes()
    entry = json.loads((toy.folder / "manifest.json").read_text())["toy"]
    assert entry["csv"] == toy_study()(scale="quick", root=ROOT).sha256
    assert sorted(entry["files"]) == ["toy.pdf", "toy.png", "toy.svg"]
    shown = capsys.readouterr().out
    assert "[1/1] toy: verified" in shown
    assert f"1 figure: 1 drawn; {toy.folder.resolve()}" in shown


def test_a_claim_that_fails_stamps_its_figure_and_spares_what_was_verified(toy, capsys, monkeypatch):
    assert toy.run("--format", "svg,png") == 0
    before = contents(toy.folder)
    stamps = []
    monkeypatch.setattr(render.style, "stamp", lambda figure, reason: stamps.append((figure, reason)))
    lay(toy.evidence, factor=2.5)
    capsys.readouterr()
    assert toy.run("--format", "png") == 1
    assert isinstance(stamps[0][0], Figure)
    assert stamps[0][1] == "toy.double is refuted"
    after = contents(toy.folder)
    assert after.pop("toy.unverified.png").startswith(b"\x89PNG")
    assert after == before
    shown = capsys.readouterr()
    assert "[1/1] toy: NOT VERIFIED" in shown.out
    assert f"1 figure: 1 stamped; {toy.folder.resolve()}" in shown.out
    assert shown.err.startswith(
        "toy is NOT VERIFIED: toy.double is refuted. Written: toy.unverified.png; kept: toy.png, toy.csv. "
        "Decide again with: pytest"
    )
    assert toy.run("--check") == 1
    lay(toy.evidence)
    assert toy.run("--format", "svg,png") == 0  # what is verified again leaves no stamped file beside it
    assert contents(toy.folder) == before
    assert toy.run("--check") == 0


def test_a_plain_figure_has_its_words_in_latex_and_leaves_the_others(toy, capsys):
    assert toy.run() == 0
    before = contents(toy.folder)
    capsys.readouterr()
    assert toy.run("--plain", "--width", "single", "--format", "svg,pdf") == 0
    after = contents(toy.folder)
    plain = {name: after.pop(name) for name in ("toy.plain.svg", "toy.plain.pdf", "toy.tex")}
    assert after == before
    assert len(plain["toy.plain.svg"]) < len(before["toy.svg"])  # without headline and footer
    tex = plain["toy.tex"].decode()
    assert tex.startswith(
        "\\caption{A toy. toy.double: supported, numeric (scale quick, root 20070). Worst departure $"
    )
    assert tex.endswith("}\n\\label{fig:toy}\n")
    assert toy.run("--check") == 0
    lay(toy.evidence, factor=2.5)
    assert toy.run("--plain", "--format", "svg") == 1
    assert "toy.unverified.svg" in contents(toy.folder)
    assert toy.run("--width", "double") == 1
    for refused in (["--width", "single"], ["--plain", "--check"]):
        with pytest.raises(SystemExit):
            toy.run(*refused)
    assert "--check: expected no --plain" in capsys.readouterr().err


def test_a_figure_too_large_for_a_column_is_named_and_not_drawn(toy, capsys, monkeypatch):
    def refuse(figure):
        raise ValueError("width: expected double")

    monkeypatch.setattr(render, "narrow", refuse)
    assert toy.run("--plain", "--width", "single") == 1
    shown = capsys.readouterr()
    assert "toy is NOT DRAWN: width: expected double. Draw it with: --width double" in shown.err
    assert f"1 figure: 1 not drawn; {toy.folder.resolve()}" in shown.out
    assert not toy.folder.exists()


def test_a_figure_that_never_was_verified_is_not_in_the_manifest(toy, capsys):
    lay(toy.evidence, factor=2.5)
    assert toy.run() == 1
    assert sorted(contents(toy.folder)) == ["toy.unverified.svg"]
    assert ". Written: toy.unverified.svg. Decide" in capsys.readouterr().err


def test_what_is_stamped_is_ignored_by_git_and_what_is_verified_is_not():
    git = shutil.which("git")
    root = Path(figures.__path__[0]).parent.parent
    if git is None or not (root / ".git").exists():
        pytest.skip("this is no clone")
    ignored = ["a.unverified.svg", "a.unverified.gif", "a.plain.pdf", "a.tex", ".manifest.json.lock", ".a.png.0.part"]
    asked = [git, "check-ignore", *(f"figures/{name}" for name in (*ignored, "a.svg"))]
    done = subprocess.run(asked, cwd=root, capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.split() == asked[2:-1]


def test_what_shows_the_judged_table_already_is_not_drawn_again(toy, capsys, monkeypatch):
    """On another processor or with another Matplotlib the bytes of a new drawing would be others."""
    assert toy.run() == 0
    before = contents(toy.folder)
    monkeypatch.setattr(style, "pictures", lambda _, formats: dict.fromkeys(formats, b"elsewhere"))
    capsys.readouterr()
    assert toy.run() == 0
    assert contents(toy.folder) == before
    shown = capsys.readouterr().out
    assert "[1/1] toy: verified, unchanged" in shown
    assert f"1 figure: 1 unchanged; {toy.folder.resolve()}" in shown
    assert toy.run("--format", "pdf") == 0
    assert {name for name, now in contents(toy.folder).items() if now != before.get(name)} == {
        "toy.pdf",
        "manifest.json",
    }
    assert toy.run("--check") == 0
    assert toy.run("--redraw", "--format", "svg,png,pdf") == 0
    assert (toy.folder / "toy.svg").read_bytes() == b"elsewhere"


@pytest.mark.parametrize("change", ["picture", "table", "caption", "code", "missing"])
def test_whatever_has_changed_is_drawn_again(toy, monkeypatch, change):
    assert toy.run("--format", "svg,png") == 0
    before = contents(toy.folder)
    if change == "picture":
        (toy.folder / "toy.svg").write_bytes(b"by hand")
    elif change == "table":
        (toy.folder / "toy.csv").write_text(before["toy.csv"].decode().replace("3.99999", "3.99998"))
    elif change == "missing":
        (toy.folder / "toy.png").unlink()
    elif change == "caption":
        notes = json.loads((toy.folder / "manifest.json").read_text())
        notes["toy"]["caption"][0] = "another"
        (toy.folder / "manifest.json").write_text(manifest.to_json(notes))
        assert toy.run("--check") == 1
    else:
        monkeypatch.setattr(manifest, "code_fingerprint", lambda _: "other code")
    drawn = []
    pictures = style.pictures
    monkeypatch.setattr(style, "pictures", lambda figure, formats: drawn.append(formats) or pictures(figure, formats))
    assert toy.run("--format", "svg,png") == 0
    assert drawn == [("svg", "png")]
    assert {name: now for name, now in contents(toy.folder).items() if name != "manifest.json"} == {
        name: was for name, was in before.items() if name != "manifest.json"
    }
    assert toy.run("--check") == 0


def test_the_code_of_a_figure_is_what_draws_it():
    """A change of what judges needs no other picture; one of a constant that is drawn does."""
    found = manifest.sources(registry.figure_module("worst_pairs"))
    needed = {"figures/lipschitz/worst_pairs.py", "figures/_style/style.py", "figures/render.py", "evidence/table.py"}
    needed |= {"figures/caption.py"}
    assert {f"theory/{name}" for name in needed} <= set(found)
    assert any(name.startswith("theory/lipschitz/") for name in found)  # the constants beside what was found
    assert not {
        "theory/evidence/runner.py",
        "theory/figures/verified_table.py",
        "theory/figures/maxent/weights.py",
    } & set(found)
    codes = {name: manifest.code_fingerprint(registry.figure_module(name)) for name in ("worst_pairs", "weights")}
    assert len(set(codes.values())) == 2


@pytest.mark.parametrize("moment", ["study", "drawing", "writing"])
def test_an_interrupt_leaves_whole_figures_and_one_line(toy, capsys, monkeypatch, moment):
    assert toy.run() == 0
    before = contents(toy.folder)
    (toy.folder / "toy.csv").unlink()
    where = {
        "study": (verified_table, "conditions"),
        "drawing": (style, "pictures"),
        "writing": (render, "write_together"),
    }

    def interrupted(*given):
        os.kill(os.getpid(), signal.SIGINT)
        return original(*given)

    original = getattr(*where[moment])
    monkeypatch.setattr(*where[moment], interrupted)
    capsys.readouterr()
    assert toy.run() == 130
    shown = capsys.readouterr()
    assert shown.err == "interrupted: every figure is whole, as it was before or drawn anew with its table and entry\n"
    if moment == "writing":  # all of a figure is written before the interrupt is heard
        assert contents(toy.folder) == before
    else:
        assert contents(toy.folder) == {name: was for name, was in before.items() if name != "toy.csv"}


@pytest.mark.parametrize("step", [0, 2, 3])
def test_a_full_disk_ends_in_one_line_and_leaves_what_was_there(toy, capsys, monkeypatch, step):
    assert toy.run("--format", "svg,png") == 0
    before = contents(toy.folder)
    sync = os.fsync
    calls = []

    def full(number):
        calls.append(number)
        if len(calls) > step:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(number)

    monkeypatch.setattr(os, "fsync", full)
    capsys.readouterr()
    assert toy.run("--redraw", "--format", "svg,png") == 2
    name = ("toy.svg", "toy.png", "toy.csv", "manifest.json")[step]
    assert capsys.readouterr().err == f"[Errno 28] No space left on device: '{toy.folder / name}'\n"
    assert contents(toy.folder) == before


@pytest.mark.parametrize("arguments", [[], ["--check"]])
def test_two_processes_do_what_one_does(toy, tmp_path, capsys, monkeypatch, arguments):
    monkeypatch.undo()
    shown = []
    for workers in (1, 2):
        monkeypatch.setattr(import_module("theory.evidence.sweep"), "usable_cpus", lambda count=workers: count)
        out = tmp_path / str(workers)
        assert command.main([*FEW, *arguments, "--out", str(out), "--evidence", str(toy.evidence)]) == 1
        shown.append(re.sub(r"\d+\.\d s|/\w+$", "", capsys.readouterr().out))
    assert shown[0] == shown[1]
    if not arguments:
        assert len(contents(tmp_path / "1")) == len(FEW)
        assert contents(tmp_path / "1") == contents(tmp_path / "2")


@pytest.mark.skipif(os.name == "nt", reason="another way to interrupt")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_command_that_is_stopped_leaves_whole_files_and_nobody_at_work(toy, tmp_path, number, status):
    asked = [sys.executable, "-c", NOBODY, *FEW, "--out", tmp_path / "out", "--evidence", toy.evidence]
    with subprocess.Popen(  # noqa: S603
        asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as command_:
        assert "[1/3]" in command_.stdout.readline()
        (os.killpg if number == signal.SIGINT else os.kill)(command_.pid, number)  # a terminal interrupts all of them
        shown = command_.communicate(timeout=60)[1]  # the pipe is closed when the last of them is gone
    assert command_.returncode == status
    assert shown.count("\n") == 1 or number != signal.SIGINT
    assert all(len(content) > 1000 for name, content in contents(tmp_path / "out").items() if name.endswith("g"))


def test_a_process_that_is_killed_ends_in_one_line(toy, capsys, monkeypatch):
    def killed(*_):
        raise BrokenProcessPool("a process was terminated abruptly")

    monkeypatch.setattr(command.worker_pool, "run_tasks", killed)
    assert toy.run() == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_two_runs_at_once_lose_no_entry(tmp_path):
    def work(names):
        for name in names:
            render.write_figure(
                render.RenderedFigure(name, {f"{name}.svg": "<svg/>"}, {"files": {}}), tmp_path, letters
            )

    letters = "abcdefghijklmnopqrst"
    threads = [threading.Thread(target=work, args=(letters[k::2],)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(manifest.load(tmp_path)) == list(letters)


def test_the_check_agrees_after_drawing_and_draws_nothing(toy, capsys):
    assert toy.run() == 0
    before = {path.name: path.stat().st_mtime_ns for path in toy.folder.iterdir()}
    assert toy.run("--check") == 0
    assert {path.name: path.stat().st_mtime_ns for path in toy.folder.iterdir()} == before
    assert capsys.readouterr().out.endswith("toy: agrees\n")


def test_the_check_names_every_disagreement(toy, capsys):
    assert toy.run("--check") == 1
    shown = capsys.readouterr().out
    assert "toy.csv is missing" in shown
    assert "manifest.json does not name it" in shown
    assert toy.run("--format", "svg,png") == 0
    text = (toy.folder / "toy.csv").read_text()
    (toy.folder / "toy.csv").write_text(text.replace("3.99999", "3.99998"))
    (toy.folder / "toy.png").write_bytes(b"")
    (toy.folder / "toy.svg").unlink()
    notes = json.loads((toy.folder / "manifest.json").read_text())
    notes["toy"]["scale"], notes["gone"] = "paper", notes["toy"]
    (toy.folder / "manifest.json").write_text(json.dumps(notes))
    capsys.readouterr()
    assert toy.run("--check") == 1
    shown = capsys.readouterr().out
    assert "toy: toy.csv is not the judged table: " in shown
    assert "toy: manifest.json says scale paper, expected quick" in shown
    assert "toy: toy.png is not the file that manifest.json names" in shown
    assert "toy: toy.svg is missing" in shown
    assert "gone: manifest.json names it, but there is no such figure" in shown
    lay(toy.evidence, factor=2.5)
    assert toy.run("--check") == 1
    assert "toy: toy.double is refuted (pytest" in capsys.readouterr().out


def test_the_check_says_whose_table_a_swapped_one_is(toy, capsys):
    """On this processor, and on one where the table has other last digits."""
    assert toy.run() == 0
    other = Table(Kind.NUMERIC, {"z": "m"}, {"z": [1.0]})
    (toy.folder / "toy.csv").write_text(other.to_csv(), encoding="utf-8")
    capsys.readouterr()
    assert toy.run("--check") == 1
    assert capsys.readouterr().out.splitlines()[0] == (
        "toy: toy.csv is not the judged table: columns z against x, y.lo, y.hi"
    )
    entries = manifest.load(toy.folder)
    entries["ball"] = {**entries["toy"], "csv": other.sha256}
    verdict = verified_table.verify_table(
        "toy", toy_module(toy_study(moved=1e-9)), scale="quick", root=ROOT, evidence=toy.evidence, folders=[toy.folder]
    )
    found = list(manifest.disagreements("toy", toy_module(), verdict, toy.folder, entries))
    assert found[0].startswith("the table is not the judged one (against the CSV: columns z against x, y.lo, y.hi)")
    assert found[1] == "toy.csv is the table of ball"


def test_the_check_sees_an_edited_table_on_any_processor(toy):
    assert toy.run() == 0
    text = (toy.folder / "toy.csv").read_text()
    (toy.folder / "toy.csv").write_text(text.replace("3.99999", "3.99998"))
    elsewhere = toy_module(toy_study(moved=1e-9))
    folders = [toy.folder]
    verdict = verified_table.verify_table(
        "toy", elsewhere, scale="quick", root=ROOT, evidence=toy.evidence, folders=folders
    )
    found = list(manifest.disagreements("toy", elsewhere, verdict, toy.folder, manifest.load(toy.folder)))
    assert found[0].startswith("the table is not the judged one")
    assert any("manifest.json says csv" in line for line in found)
    assert all("\n" not in line for line in found)


def test_the_check_names_a_picture_that_no_entry_names(toy, capsys):
    assert toy.run("--format", "svg,pdf") == 0
    notes = json.loads((toy.folder / "manifest.json").read_text())
    notes["toy"]["files"]["ball.svg"] = notes["toy"]["files"].pop("toy.pdf")
    (toy.folder / "manifest.json").write_text(manifest.to_json(notes))
    capsys.readouterr()
    assert toy.run("--check") == 1
    assert capsys.readouterr().out.splitlines() == [
        "toy: manifest.json gives it ball.svg, which is another figure's",
        "toy: toy.pdf is there, but manifest.json does not name it: draw it again or remove it",
    ]


@pytest.mark.parametrize(
    ("modules", "words"),
    [
        ({"one/a": 'TITLE = "x"', "one/b": 'TITLE = "x"'}, "got 'x' in one/a and one/b"),
        ({"one/a": 'TITLE = "x"', "one/A": 'TITLE = "y"'}, "got 'a' in one/A and one/a"),
        ({"one/a": 'TITLE = "x"', "two/a": 'TITLE = "y"'}, "got 'a' in one/a and two/a"),
        ({"one/a": 'TITLE = "x"\nTITLE = "y"'}, "a.py: expected one TITLE, got 2"),
    ],
)
def test_two_figures_of_one_name_are_refused(tmp_path, monkeypatch, capsys, modules, words):
    for name, text in modules.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(registry, "_HERE", tmp_path)
    if len(list(tmp_path.glob("*/*.py"))) < len(modules):
        pytest.skip("this disk holds one file of both names")
    with pytest.raises(SystemExit) as ended:
        command.main(["--check"])
    assert ended.value.code == 2
    assert words in capsys.readouterr().err.splitlines()[-1]


def test_what_is_missing_is_said_before_anything_is_computed(toy, tmp_path, capsys, monkeypatch):
    def never(*_, **__):
        raise AssertionError("computed")

    def refused(*arguments):
        with pytest.raises(SystemExit) as ended:
            command.main([*arguments, "--out", str(tmp_path / "out")])
        assert ended.value.code == 2
        return capsys.readouterr().err.splitlines()[-1]

    monkeypatch.setattr(verified_table, "verify_table", never)
    monkeypatch.setattr(registry, "data_files", lambda _: [tmp_path / "curves.csv"])
    given = ["--evidence", str(toy.evidence)]
    assert f"toy needs {tmp_path / 'curves.csv'}, which is missing here" in refused(*given)
    monkeypatch.setattr(registry, "data_files", lambda _: [])
    monkeypatch.setattr(command, "find_spec", lambda module: None if module == "PIL" else module)
    assert refused(*given).endswith("figures need pillow, not installed here: pip install pillow")
    monkeypatch.undo()
    monkeypatch.setattr(locations, "suite_folder", no_evidence)
    assert refused("boolean").endswith("evidence: expected the folder, found neither")


def no_evidence():
    raise ArchiveError("evidence: expected the folder, found neither")


def test_other_figures_stay_in_the_manifest(toy, monkeypatch):
    monkeypatch.setattr(registry, "titles", lambda: {"toy": "a toy", "ball": "another"})
    assert toy.run("--format", "svg", "toy") == 0
    assert toy.run("--format", "svg", "--only", "ball") == 0
    assert sorted(manifest.load(toy.folder)) == ["ball", "toy"]


def test_the_list_names_every_figure(capsys):
    assert command.main(["--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == FIGURES
    assert command.main(["--list", "--only", "board"]) == 0
    assert capsys.readouterr().out.split()[0] == "board"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nope"], f"figure: expected one of {', '.join(FIGURES)}, got nope"),
        (["--only", "board", "nope"], "got nope"),
        (["--format", "gif"], "expected some of svg,png,pdf, got 'gif'"),
        (["--root", "-1"], "expected a non-negative integer, got '-1'"),
        (["--scale", "huge"], "huge"),
        (["--evidence", "no-such-folder"], "--evidence: expected a folder, found none at no-such-folder"),
        (["--out", __file__], "--out: expected a folder, got the file"),
    ],
)
def test_misuse_is_named(capsys, arguments, words):
    with pytest.raises(SystemExit) as ended:
        command.main(arguments)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["[", "[]", '{"toy": 3}', '{"toy": {}}', '{"toy": {"files": {}}, "toy": {"files": {}}}']
)
def test_a_broken_manifest_is_named(toy, capsys, text):
    toy.folder.mkdir()
    (toy.folder / "manifest.json").write_text(text)
    with pytest.raises(SystemExit):
        toy.run()
    assert "manifest.json: expected" in capsys.readouterr().err


def test_the_formats_offered_are_those_that_can_be_saved():
    assert set(command._FORMATS) == set(style._NO_METADATA)


def test_help_and_list_load_nothing_slow():
    code = (
        "import sys; from theory.figures.__main__ import main\n"
        "main(['--list'])\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'scipy', 'numba', 'matplotlib', 'ot', 'sympy', 'flint', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)  # noqa: S603
    assert "--check" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"
