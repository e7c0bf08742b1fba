"""The theorem in CONTRIBUTING.md runs as it stands, in a repository of the reader's own, and can lose."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CONTRIBUTING = Path(__file__).parent.parent / "CONTRIBUTING.md"
EXAMPLE = re.search(r"^```python\n(.*?)^```$", CONTRIBUTING.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture
def decide(tmp_path):
    """Return a function that runs pytest on a text in a folder that knows nothing of this repository."""

    def run(text, *options):
        (tmp_path / "test_mine.py").write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_", "COLUMNS"))}
        return subprocess.run(  # noqa: S603
            command, cwd=tmp_path, env=kept, capture_output=True, text=True, timeout=300, check=False
        )

    return run


def test_example_takes_20_lines():
    assert sum(bool(line.strip()) for line in EXAMPLE[1].splitlines()) <= 20


def test_example_is_supported(decide):
    done = decide(EXAMPLE[1])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "theorems (scale quick, root 20070)" in done.stdout
    assert re.search(r"^mine\.hull +SUPPORTED +numeric .* 2/2 ", done.stdout, re.MULTILINE)
    assert "1 of 1 claims supported" in done.stdout


def test_example_can_be_recorded_and_explained(decide, tmp_path):
    assert decide(EXAMPLE[1], "--record").returncode == 0
    assert decide(EXAMPLE[1]).returncode == 0  # compares itself with the record
    command = [sys.executable, "-m", "theory", "explain", "mine.hull", "--evidence", str(tmp_path / "evidence")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    assert "pytest test_mine.py::mine.hull --scale quick --root 20070" in done.stdout


def test_wrong_constant_is_refuted_in_one_paragraph(decide):
    wrong = EXAMPLE[1].replace("factor=1.0", "factor=0.9")
    assert wrong != EXAMPLE[1]
    done = decide(wrong)
    assert done.returncode == 1, done.stdout + done.stderr
    paragraph = next(line for line in done.stdout.splitlines() if line.startswith("mine.hull is REFUTED"))
    for part in (
        "Worst of 21 cases",
        "n=5",
        "Nearest twin: too-small",
        "See that case again: pytest 'test_mine.py::mine.hull'",
    ):
        assert part in paragraph
    again = paragraph.partition("See that case again: pytest ")[2].replace("'", "").split()
    assert decide(wrong, *again).returncode == 1


@pytest.mark.parametrize("missing", ["constant|hypothesis", "constant", "hypothesis"])
def test_missing_twins_are_refused(decide, missing):
    untwinned = re.sub(rf"^    ({missing})\(.*\n", "", EXAMPLE[1], flags=re.MULTILINE)
    done = decide(untwinned)
    assert done.returncode == 2
    assert "twins: expected at least two of different type for mine.hull" in done.stdout
