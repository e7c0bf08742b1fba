"""The notes as one text: ``paper_notes.md`` with the files of ``docs/notes`` where it leads to them."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

_FOLDER = "docs/notes"
_LEADS = re.compile(rf"^- \[[^\]\n]+\]\(({_FOLDER}/[\w-]+\.md)\).*$", re.MULTILINE)
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?:|#)([^)\s]+)\)")


def read_notes(notes: Path) -> str:
    """Return the notes, with every item that is a link into ``docs/notes`` replaced by the file.

    The title of such a file becomes a heading of the section that leads to it, unless it is the title of that section,
    and its links are as seen from the folder of the notes.

    Raises
    ------
    OSError, UnicodeDecodeError
        If the notes, or a file that they lead to, cannot be read.
    """
    text = notes.read_text(encoding="utf-8")

    def put(lead: re.Match[str]) -> str:
        title, _, body = (notes.parent / lead[1]).read_text(encoding="utf-8").removeprefix("# ").partition("\n")
        heading = "" if _HEADING.findall(text, 0, lead.start())[-1:] == [title] else f"### {title}\n\n"
        return f"{heading}{_LINK.sub(_from_the_root, body.strip())}\n"

    return _LEADS.sub(put, text)


def _from_the_root(link: re.Match[str]) -> str:
    return f"]({posixpath.normpath(posixpath.join(_FOLDER, link[1]))})"
