"""The page of the known answers: its programs run as printed, and its tables are those that were measured."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks import known_answers as peers
from theory.reference.files import SUBJECTS

PAGE = Path(__file__).parent.parent.parent / "reference" / "README.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_programs_run_with_the_files_alone():
    programs = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert len(programs) == 2
    code = "\n".join(["import numpy; numpy.seterr(all='ignore')", *programs, "assert p.size and q.size"])
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-P", "-c", code], cwd=PAGE.parent, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_file_is_on_the_page():
    assert set(re.findall(r"`(\w+)\.json`", TEXT)) == {*SUBJECTS, "schema"}


def test_the_tables_are_those_that_were_measured():
    """``python -m benchmarks.known_answers`` renews them."""
    assert peers.page() in TEXT


def test_errors_are_in_epsilons_and_last_places():
    right = peers.array({"data": ["0x1p+0", "0x1p-10"], "shape": [2]})
    epsilons, ulps = peers.errors(right + np.array([2.0**-52, 2.0**-60]), right, "binary64")
    assert epsilons.tolist() == [1.0, 2.0**-8]
    assert ulps.tolist() == [1.0, 4.0]
    epsilons, ulps = peers.errors(0 * right + 2.0**-52, 0 * right, "binary64")
    assert (epsilons.tolist(), ulps.tolist()) == ([1.0, 1.0], [0.0, 0.0])
