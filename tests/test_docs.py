"""The instrument, the theorem and the figure of docs/architecture.md run as they stand, and the theorem can lose."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_layers import MAY_IMPORT

PAGE = Path(__file__).parent.parent / "docs" / "architecture.md"
EXAMPLES = dict(
    re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
)
DRAW = """
from pathlib import Path
import secant
from theory.evidence import ROOT
from theory.figures import render, verified_table
verdict = verified_table.verify_table(
    "secant", secant, scale="quick", root=ROOT, evidence=Path("evidence"), folders=[]
)
print(verdict.reason, *sorted(render.render_figure("secant", secant, verdict, ("svg",)).files))
"""


@pytest.fixture
def run(tmp_path):
    """Write the examples into a folder that knows nothing of this repository, and return what runs there."""
    for name, text in EXAMPLES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_", "COLUMNS"))}

    def run(*arguments):
        return subprocess.run(  # noqa: S603
            [sys.executable, *arguments],
            cwd=tmp_path,
            env=kept,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run


def test_the_rooms_import_what_the_page_says():
    rows = re.findall(r"^\| `(\w+)` \| .* \| ?([\w, ]*?) ?\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    stated = {room: set(filter(None, imports.split(", "))) for room, imports in rows}
    stated["figures"] = set(stated) - {"figures", "site"}
    assert stated == {room: set(MAY_IMPORT[room]) for room in stated}
    assert set(stated) == {room for room in MAY_IMPORT if not room.startswith("_")}


def test_the_examples_are_an_instrument_a_theorem_and_a_figure():
    assert list(EXAMPLES) == ["effective.py", "test_effective.py", "secant.py"]


def test_the_theorem_is_decided_and_the_figure_draws_its_table(run):
    decided = run("-m", "pytest", "-p", "no:cacheprovider", "--record", "test_effective.py")
    assert decided.returncode == 0, decided.stdout + decided.stderr
    said = re.search(r"^```text\n(.*?) *\n```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert said[1] in decided.stdout
    drawn = run("-c", DRAW)
    assert drawn.stdout.split() == ["None", "secant.csv", "secant.svg"], drawn.stderr


def test_a_wrong_theorem_is_refuted(run, tmp_path):
    path = tmp_path / "test_effective.py"
    path.write_text(path.read_text(encoding="utf-8").replace("1 + factor", "1.001 + factor"), encoding="utf-8")
    decided = run("-m", "pytest", "-p", "no:cacheprovider", "test_effective.py")
    assert decided.returncode == 1
    assert "effective.two-keys is REFUTED" in decided.stdout


def test_bad_input_of_the_instrument_is_refused(run):
    refused = run("-c", "from effective import effective_keys; effective_keys([float('nan')])")
    assert refused.returncode == 1
    assert "weights: expected" in refused.stderr
