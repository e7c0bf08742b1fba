"""What is built: a wheel that cites without the repository, a source distribution that can be tested."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("hatchling")

from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parent.parent
PICTURES = {".png", ".svg", ".gif", ".pdf"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    (built,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("wheel")), versions=["standard"])
    return Path(built)


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Run a program in an empty folder with what the wheel installs, and return what came of it."""
    site = tmp_path_factory.mktemp("site")
    empty = tmp_path_factory.mktemp("empty")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)  # noqa: S202  built a moment ago

    def run(program, *arguments):
        code = f"import sys; sys.path.insert(0, {str(site)!r}); sys.dont_write_bytecode = True; {program}"
        return subprocess.run(  # noqa: S603
            [sys.executable, "-P", "-c", code, *map(str, arguments)],
            cwd=empty, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    return run


def theory(installed, *arguments):
    return installed("from theory.__main__ import main; sys.exit(main())", *arguments)


def test_every_record_and_the_notes_are_in_the_wheel(wheel):
    with zipfile.ZipFile(wheel) as archive:
        for path in sorted((ROOT / "verify" / "evidence").glob("*.json")):
            assert archive.read(f"theory/_record/evidence/{path.name}") == path.read_bytes()
        for name in ("merged.csv", "locators.csv"):
            assert archive.read(f"theory/_record/{name}") == (ROOT / "verify" / name).read_bytes()
        for name in ("paper_notes.md", "CITATION.cff", "docs/notes/sources.md"):
            assert archive.read(f"theory/_record/{name}") == (ROOT / name).read_bytes()
        names = archive.namelist()
    assert not [name for name in names if name.endswith("-curves.csv")]
    assert {name.split("/")[0] for name in names} == {"theory", "attention_theory-0.1.0.dist-info"}
    assert wheel.stat().st_size < 3_700_000  # a third of it records and notes


def test_an_editable_wheel_holds_no_copy():
    from hatch_build import Record  # noqa: PLC0415

    data = {"force_include": {}}
    Record.initialize(None, "editable", data)
    assert data == {"force_include": {}}


def test_the_wheel_reads_and_cites_in_an_empty_folder(installed):
    listed = theory(installed, "list")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert listed.stdout.count("\n") == len(list((ROOT / "verify" / "evidence").glob("*.json")))
    assert theory(installed, "explain", "maxent.gibbs").stdout.startswith("maxent.gibbs: ")
    assert theory(installed, "cite", "maxent.gibbs").stdout.startswith("@article{donsker1975,")
    for check in ([], ["--check"]):
        told = theory(installed, "report", *check)
        assert (told.returncode, told.stderr) == (0, "")
        assert "paper_notes.md: current" in told.stdout


def test_the_wheel_certifies(installed, tmp_path):
    np.savez(tmp_path / "weights.npz", w_query=np.eye(2), w_key=np.eye(2), w_value=np.eye(2))
    told = theory(installed, "certify", tmp_path / "weights.npz", "--no-search")
    assert told.returncode == 0
    assert "lipschitz.single-form" in told.stdout


def test_the_doctor_says_that_the_tests_are_not_at_hand(installed):
    told = theory(installed, "doctor")
    assert told.returncode == 2
    assert told.stdout.startswith("suite ")
    assert told.stdout.endswith("no verdicts: verify/ is not at hand; a clone or the source distribution has it\n")


def test_figures_say_what_is_missing_before_anything_is_computed(installed):
    told = installed("from theory.figures.__main__ import main; sys.exit(main())", "--only", "learning_curves")
    assert (told.returncode, told.stdout) == (2, "")
    assert "learning_curves needs " in told.stderr
    assert "arms-moons-curves.csv, which is missing here: a checkout of the repository has it" in told.stderr
    read = installed("from theory.experiments.analysis import read_arms as r; r('moons'); r('moons', '-curves')")
    assert "arms-moons-curves.csv: expected a table, found none" in read.stderr


def test_the_source_distribution_has_the_tests_and_no_picture(tmp_path):
    (built,) = SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with tarfile.open(built) as archive:
        names = {Path(*Path(name).parts[1:]).as_posix() for name in archive.getnames()}
    assert Path(built).stat().st_size < 8_000_000
    assert not {Path(name).suffix for name in names} & PICTURES
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S607
    for name in tracked.stdout.splitlines():
        if Path(name).suffix not in PICTURES and not name.startswith(".github/") and (ROOT / name).exists():
            assert name in names
