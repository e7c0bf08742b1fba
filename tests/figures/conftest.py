"""A repository with one figure and its evidence."""

from types import SimpleNamespace

import pytest

from tests.figures.toys import lay, toy_module
from theory.figures import __main__ as command, registry


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Lay out a repository with one figure and its evidence, and return the command line in it."""
    lay(tmp_path / "evidence")
    monkeypatch.setattr(registry, "titles", lambda: {"toy": "a toy"})
    monkeypatch.setattr(registry, "figure_module", lambda _: toy_module())
    monkeypatch.setattr(registry, "data_files", lambda _: [])

    def run(*arguments, out="out"):
        options = ["--evidence", str(tmp_path / "evidence"), "--out", str(tmp_path / out)]
        return command.main([*options, *arguments])

    return SimpleNamespace(run=run, folder=tmp_path / "out", evidence=tmp_path / "evidence")
