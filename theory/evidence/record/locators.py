"""Where in a source stands what a claim is about: the number of the theorem there, of texts that were read.

It stands beside the records and not in them, since it decides nothing: to add a number changes no evidence. A place
that a claim gives with a key of ``cites`` is added when the claim is recorded.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from theory.evidence.cited import Source
from theory.evidence.claim import Claim
from theory.evidence.files import locked, write_whole
from theory.evidence.record.reading import RecordError

COLUMNS = ["id", "source", "place"]


def locators_file(folder: Path) -> Path:
    """Return where the places of the claims in ``folder`` are written down."""
    return folder.parent / "locators.csv"


def read_locators(folder: Path) -> Mapping[str, Mapping[str, str]]:
    """Read the index next to a folder of records: for a claim, by the key of a source, the place there.

    Raises
    ------
    RecordError
        If it cannot be read, or a line has not an id, a key and a place, or names claim and source again, or the place
        has a bracket, which would end the option of a citation in LaTeX.
    """
    path = locators_file(folder)
    return _read(path, path.stat().st_mtime_ns) if path.exists() else {}


@cache
def _read(path: Path, _time: int) -> Mapping[str, Mapping[str, str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            head, *lines = list(csv.reader(file)) or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RecordError(f"{path}: expected the index of places in sources: {error}") from error
    if head != COLUMNS:
        raise RecordError(f"{path}: expected the columns {', '.join(COLUMNS)}, got {', '.join(head) or 'none'}")
    found: dict[str, dict[str, str]] = {}
    for number, line in enumerate(lines, start=2):
        whole = len(line) == len(COLUMNS) and all(cell.strip() for cell in line) and not set("[]{}") & set(line[2])
        if not whole or line[1] in found.get(line[0], {}):
            raise RecordError(
                f"{path}: line {number}: expected an id, a key and a new place without brackets, got {', '.join(line)}"
            )
        found.setdefault(line[0], {})[line[1]] = line[2]
    return found


def write_locators(folder: Path, claim: Claim) -> None:
    """Write down the places that a claim gives with its sources, and leave all other lines as they are.

    Raises
    ------
    RecordError
        If the index is broken.
    OSError
        If it cannot be written; it is what it was.
    """
    given = {str(source): source.place for source in claim.cites if isinstance(source, Source)}
    if not given:
        return
    path = locators_file(folder)
    with locked(path):
        old = read_locators(folder)
        places = {**old, claim.id: {**old.get(claim.id, {}), **given}}
        if places == old:
            return
        text = io.StringIO()
        rows = ((name, key, place) for name in sorted(places) for key, place in sorted(places[name].items()))
        csv.writer(text, lineterminator="\n").writerows([COLUMNS, *rows])
        write_whole(path, text.getvalue())
