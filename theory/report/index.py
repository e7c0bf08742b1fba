"""The theorem index of ``paper_notes.md``, generated from the committed evidence.

It stands between two marker comments; everything outside them is written by hand and never touched. It has one line a
claim, its words, and says of the verdict only when it is another one than support. It shows no measured number, so it
changes only when these do.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from theory.evidence.files import locked, write_whole
from theory.report.archive import ArchiveError, Record

BEGIN = "<!-- theorem index: written by `python -m theory report`, do not edit -->"
END = "<!-- end of the theorem index -->"

MARKS = {"seen": "S", "recalled": "R", "derived": "D", "refereed": "ref", "refereed on paper": "ref-p"}
_SPECIAL = re.compile(r"([\\`*_<>\[\]|])")


def marks(record: Record) -> str:
    """Return the marks of the source status of a claim's wording, such as ``[S] [ref]``."""
    return " ".join(f"[{MARKS[name]}]" for name in record.claim.source_status)


def format_index(records: Sequence[Record]) -> str:
    """Return the index in Markdown, one heading per subject and one line per claim, in the order of the records."""
    found = Counter(record.describe(record.best) for record in records)
    supported = found.pop("supported", 0)
    others = "".join(f", {found[verdict]} {verdict}" for verdict in sorted(found))
    lines = [f"{len(records)} claims, {supported} supported{others}.", ""]
    for subject, group in groupby(records, key=lambda r: r.subject):
        lines += [f"### {subject}", ""]
        for record in group:
            lines.append(_line(record))
        lines.append("")
    return "\n".join(lines)


def _line(record: Record) -> str:
    verdict = record.describe(record.best)
    told = "" if verdict == "supported" else f" **{verdict[0].upper()}{verdict[1:]}.**"
    return f"- `{record.claim.id}`: {_plain(record.claim.words)}.{told}"


def _plain(text: str) -> str:
    """Escape what Markdown would read as markup, outside mathematics."""
    pieces = re.split(r"(\$[^$]*\$)", text)
    return "".join(p if p.startswith("$") else _SPECIAL.sub(r"\\\1", p) for p in pieces)


def with_index(text: str, records: Sequence[Record], name: str) -> str:
    """Return the notes ``text`` with the index of ``records`` between its markers, at the end if it has none yet.

    Raises
    ------
    ArchiveError
        If the markers are not there once each, in order, or not at all.
    """
    if BEGIN not in text and END not in text:
        text = f"{text.rstrip()}\n\n{BEGIN}\n{END}\n".lstrip()
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise ArchiveError(f"{name}: expected the lines {BEGIN!r} and {END!r} once each, in this order")
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n\n{format_index(records)}\n{END}{rest.split(END)[1]}"


def index_difference(notes: Path, records: Sequence[Record]) -> str:
    """Return the difference between the notes and what they should say, empty if they are current."""
    old = _text(notes)
    new = with_index(old, records, str(notes))
    return "\n".join(
        difflib.unified_diff(old.splitlines(), new.splitlines(), str(notes), "the evidence", n=1, lineterm="")
    )


def renew_index(notes: Path, records: Sequence[Record]) -> None:
    """Write the index into the notes.

    Raises
    ------
    ArchiveError
        If they cannot be written; they are what they were.
    """
    try:
        with locked(notes):
            write_whole(notes, with_index(_text(notes), records, str(notes)))
    except OSError as error:
        raise ArchiveError(f"{notes}: not written: {error.strerror or error}") from error


def _text(notes: Path) -> str:
    try:
        return notes.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ArchiveError(f"{notes}: expected the notes with the theorem index: {error}") from error
