"""Provenance says what produced a number, and changes with what decides its claim and with nothing else."""

import json
import platform
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import theory
from tests.specimen import git
from theory.evidence import provenance as module
from theory.evidence.closure import Closure
from theory.evidence.provenance import blas, commit, differing, processor, provenance, stored, vectors

CLOSURE = Closure({"check.py": "0" * 64})


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Return a repository of one commit; git is asked anew every time."""
    monkeypatch.setattr(module, "_git", module._git.__wrapped__)
    git(tmp_path, "init", "-q")
    (tmp_path / "check.py").write_text("x = 1\n")
    (tmp_path / "other.py").write_text("y = 1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "one")
    return tmp_path


def test_names_what_computed():
    found = provenance("compiled", CLOSURE, Path(theory.__file__).parent)
    assert found["suite"] == theory.__version__
    assert found["backend"] == "compiled"
    assert provenance("reference")["backend"] == "reference"
    assert found["python"] == platform.python_version()
    assert found["numpy"] == np.__version__
    assert {"scipy", "numba", "pot", "sympy", "python-flint", "threadpoolctl"} <= set(found)
    assert found["closure"] == CLOSURE.fingerprint
    assert found["processor"] == processor()


def test_nothing_changes_between_two_runs():
    assert json.dumps(provenance("compiled", CLOSURE)) == json.dumps(provenance("compiled", CLOSURE))


def test_without_a_check_nothing_is_known_of_its_code():
    assert (provenance("compiled")["closure"], provenance("compiled")["commit"]) == (None, None)


def test_package_that_is_not_installed_has_no_version():
    assert module._version("no-such-package-as-this") is None


def test_linear_algebra_is_that_of_numpy():
    name, *version, kernel = blas().split()
    own = [library for library in threadpool_info() if library["internal_api"] == name]
    assert (version, kernel) in [([library["version"]], library["architecture"]) for library in own]


def test_processor_and_its_vectors_are_named():
    assert processor()
    assert set(np.show_config("dicts")["SIMD Extensions"]["found"]) <= set(vectors().split())


def test_commit_is_marked_where_a_file_of_the_check_differs(repository):
    head = git(repository, "rev-parse", "HEAD").strip()
    assert commit(repository, ("check.py",)) == head[:12]
    (repository / "other.py").write_text("y = 2\n")
    assert commit(repository, ("check.py",)) == head[:12]
    (repository / "check.py").write_text("x = 2\n")
    assert commit(repository, ("check.py",)) == head[:12] + "+"
    (repository / "new.py").write_text("z = 2\n")
    assert commit(repository, ("new.py",)) == head[:12] + "+"


def test_names_are_those_from_the_root_of_the_suite(repository):
    inner = repository / "a b"
    inner.mkdir()
    (inner / "chéck.py").write_text("x = 2\n")
    assert commit(inner, ("check.py",)).endswith(commit(repository, ())[-1])
    assert commit(inner, ("chéck.py",)).endswith("+")


def test_what_differs_from_a_commit(repository):
    first = commit(repository, ())
    (repository / "check.py").write_text("x = 2\n")
    git(repository, "commit", "-qam", "two")
    (repository / "new.py").write_text("z = 2\n")
    assert differing(repository, first) == {"check.py", "new.py"}
    assert (stored(repository, first, "check.py"), stored(repository, first, "new.py")) == (b"x = 1\n", None)
    assert differing(repository, "0123456789ab") is None


def test_without_a_repository_there_is_no_commit(tmp_path, monkeypatch):
    assert commit(tmp_path, ()) is None
    assert differing(tmp_path, "HEAD") is None
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(module, "_git", module._git.__wrapped__)
    assert commit(Path(theory.__file__).parent, ()) is None
