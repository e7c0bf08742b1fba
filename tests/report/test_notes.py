"""The notes are short, lead to the files of docs/notes, each once, and are read as one text."""

import re
from pathlib import Path

import pytest

from theory.report.notes import read_notes

ROOT = Path(__file__).parents[2]
NOTES = ROOT / "paper_notes.md"


def test_files_stand_where_the_notes_lead_to_them(tmp_path):
    folder = tmp_path / "docs" / "notes"
    folder.mkdir(parents=True)
    (folder / "sums.md").write_text("# Sums\n\n- one, see [running](../running.md) and [all](https://a.b/c)\n")
    (folder / "moved.md").write_text("# Moved\n\n- two\n")
    (tmp_path / "notes.md").write_text(
        "# Notes\n\n## Decided\n\n- [Sums](docs/notes/sums.md): of two\n- by hand\n\n"
        "## Moved\n\n- [Moved](docs/notes/moved.md): all\n"
    )
    assert read_notes(tmp_path / "notes.md") == (
        "# Notes\n\n## Decided\n\n### Sums\n\n- one, see [running](docs/running.md) and [all](https://a.b/c)\n\n"
        "- by hand\n\n## Moved\n\n- two\n\n"
    )
    (folder / "sums.md").unlink()
    with pytest.raises(FileNotFoundError, match=r"sums\.md"):
        read_notes(tmp_path / "notes.md")


def test_the_notes_are_short():
    text = NOTES.read_text(encoding="utf-8")
    assert len(text.encode()) <= 120_000  # what is longer belongs into docs/notes
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [
        "Theorem index",
        "Errata found in the papers",
        "Statements decided against",
        "Open questions",
        "Prior art",
        "Log of moved numbers",
        "Sources",
    ]


def test_the_notes_lead_to_every_file_once():
    led = re.findall(r"^- \[(.+)\]\((docs/notes/.+?\.md)\): \w", NOTES.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(file for _, file in led) == sorted(
        f"docs/notes/{path.name}" for path in NOTES.parent.glob("docs/notes/*")
    )
    for title, file in led:
        assert (ROOT / file).read_text(encoding="utf-8").startswith(f"# {title}\n\n")
