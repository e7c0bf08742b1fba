"""A file of tests that cannot be imported fails, with the options of this project, which import it twice."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_a_file_that_cannot_be_imported_fails(tmp_path):
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    path = tmp_path / "test_nothing.py"
    path.write_text("import nothing_of_this_name\n\n\ndef test_nothing():\n    pass\n", encoding="utf-8")
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "pytest", path.name, "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stdout
    assert "expected a file that can be imported, got one that cannot" in done.stdout
