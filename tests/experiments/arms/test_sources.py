"""The fingerprint of sources moves with what is imported, and with nothing else."""

import pytest

from theory.experiments.arms.sources import fingerprint_sources


@pytest.fixture
def module(tmp_path, monkeypatch):
    path = tmp_path / "chosen_task.py"
    path.write_text("def f():\n    from theory.attention import softmax\ndef train(): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    return path


def test_sources_are_those_that_a_trainer_imports(module):
    import chosen_task  # noqa: PLC0415

    first = fingerprint_sources(chosen_task.train)
    assert first == fingerprint_sources(chosen_task.train)
    assert first != fingerprint_sources(chosen_task.train, ())
    seen = {first}
    for line in ("from theory.distance import w1", "import theory.distance.w1", "pass"):
        module.write_text(f"def f():\n    {line}\ndef train(): pass\n")
        seen.add(fingerprint_sources(chosen_task.train))
    assert len(seen) == 4


def test_an_edit_of_what_is_not_imported_moves_nothing(module, tmp_path):
    import chosen_task  # noqa: PLC0415

    first = fingerprint_sources(chosen_task.train)
    (tmp_path / "other.py").write_text("")
    module.with_suffix(".toml").write_text("")
    assert fingerprint_sources(chosen_task.train) == first
    with pytest.raises(ValueError, match="function: expected one with a source file"):
        fingerprint_sources(int)
