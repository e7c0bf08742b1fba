"""Provenance says what produced a number, and changes with the instrument and with nothing else."""

import json
import platform
import shutil
from pathlib import Path

import numpy as np
import pytest

import theory
from theory.evidence import provenance as module
from theory.evidence.provenance import provenance, sources


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """Return a copy of the package of which the fingerprint is taken, and a function that takes it."""
    root = tmp_path / "theory"
    shutil.copytree(Path(theory.__file__).parent, root, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(module.theory, "__file__", str(root / "__init__.py"))
    return root, sources.__wrapped__


def test_names_what_computed():
    found = provenance("compiled")
    assert found["suite"] == theory.__version__
    assert found["backend"] == "compiled"
    assert provenance("reference")["backend"] == "reference"
    assert found["python"] == platform.python_version()
    assert found["numpy"] == np.__version__
    assert {"scipy", "numba", "pot", "sympy", "python-flint"} <= set(found)
    assert found["sources"] == sources()[:16]


def test_nothing_changes_between_two_runs():
    assert json.dumps(provenance("compiled")) == json.dumps(provenance("compiled"))
    assert sources() == sources.__wrapped__()


def test_package_that_is_not_installed_has_no_version():
    assert module._version("no-such-package-as-this") is None


def test_place_is_irrelevant(copied):
    _, fingerprint = copied
    assert fingerprint() == sources()


@pytest.mark.parametrize("name", ["evidence/judge.py", "engine/compiled.py", "attention/measure.py", "_validate.py"])
def test_every_instrument_counts(copied, name):
    root, fingerprint = copied
    path = root / name
    path.write_bytes(path.read_bytes() + b"\n")
    assert fingerprint() != sources()


def test_names_and_places_of_files_count(copied):
    root, fingerprint = copied
    (root / "distance" / "line.py").rename(root / "distance" / "lines.py")
    renamed = fingerprint()
    assert renamed != sources()
    (root / "distance" / "lines.py").rename(root / "attention" / "lines.py")
    assert fingerprint() not in (renamed, sources())


def test_what_only_draws_or_reports_does_not_count(copied):
    root, fingerprint = copied
    for name in ("figures/style.py", "__main__.py"):
        (root / name).write_text('"""Changed."""\n')
    (root / "evidence" / "note.txt").write_text("no code")
    assert fingerprint() == sources()
