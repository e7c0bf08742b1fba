"""A compiled result is never older than the sources of the room it was compiled from."""

import shutil
from pathlib import Path

import pytest

from theory.engine import jit

numba_config = pytest.importorskip("numba.core.config")


@pytest.fixture
def room(tmp_path, monkeypatch):
    """A copy of the engine room that the cache takes for its own."""
    copy = tmp_path / "engine"
    shutil.copytree(jit._HERE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(jit, "_HERE", copy)
    return copy


def test_every_edited_source_changes_the_cache(room):
    first = jit._cache_folder()
    assert first == jit._cache_folder()
    sources = sorted(room.glob("*.py"))
    assert {"compiled.py", "reference.py", "pairs.py", "jit.py"} <= {path.name for path in sources}
    folders = {first}
    for path in sources:
        path.write_bytes(path.read_bytes() + b"# edited\n")
        folders.add(jit._cache_folder())
    assert len(folders) == len(sources) + 1


def test_undone_edit_finds_the_old_cache(room):
    first, path = jit._cache_folder(), room / "compiled.py"
    text = path.read_bytes()
    path.write_bytes(text.replace(b"TILE", b"tile"))
    assert jit._cache_folder() != first
    path.write_bytes(text)
    assert jit._cache_folder() == first


def test_cache_lies_beside_the_sources_if_it_may(room, monkeypatch):
    assert Path(jit._cache_folder()).parent == room / "__pycache__"
    monkeypatch.setattr(jit.os, "access", lambda *_: False)
    elsewhere = Path(jit._cache_folder())
    assert room not in elsewhere.parents
    assert elsewhere.name.startswith("numba-")


def test_other_users_of_numba_keep_their_cache(room):
    before = numba_config.CACHE_DIR
    kernel = jit.njit(lambda a: a)
    assert callable(kernel)
    assert before == numba_config.CACHE_DIR


def test_no_flag_that_changes_arithmetic():
    kernel = jit.njit(_half)
    options = getattr(kernel, "targetoptions", None)
    if options is None:
        pytest.skip("the compiler is off")
    assert options["nogil"]
    assert options["error_model"] == "numpy"
    assert not options.get("fastmath")
    assert not options.get("parallel")


def _half(a):
    return a / 2
