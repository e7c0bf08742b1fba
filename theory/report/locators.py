"""Where in a source stands what a claim is about: the number of the theorem there, of texts that were read.

It stands beside the records and not in them, since it decides nothing: to add a number changes no evidence.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from theory.report.archive import Record

FILE = "locators.csv"  # next to the folder of the records
COLUMNS = ["id", "source", "place"]


def read_locators(folder: Path) -> Mapping[str, Mapping[str, str]]:
    """Read the index next to a folder of records: for a claim, by the key of a source, the place there.

    Raises
    ------
    ValueError
        If it cannot be read, or a line has not an id, a key and a place, or names claim and source again, or the place
        has a bracket, which would end the option of a citation in LaTeX.
    """
    path = folder.parent / FILE
    return _read(path, path.stat().st_mtime_ns) if path.exists() else {}


def places_in_sources(records: Iterable[Record]) -> dict[str, dict[str, str]]:
    """Return where in a source claims stand, by the key of the source and the id of the claim."""
    found: dict[str, dict[str, str]] = {}
    for record in records:
        for key, place in record.locators.items():
            found.setdefault(key, {})[record.claim.id] = place
    return found


@cache
def _read(path: Path, _time: int) -> Mapping[str, Mapping[str, str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            head, *lines = list(csv.reader(file)) or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path}: expected the index of places in sources: {error}") from error
    if head != COLUMNS:
        raise ValueError(f"{path}: expected the columns {', '.join(COLUMNS)}, got {', '.join(head) or 'none'}")
    found: dict[str, dict[str, str]] = {}
    for number, line in enumerate(lines, start=2):
        whole = len(line) == len(COLUMNS) and all(cell.strip() for cell in line) and not set("[]{}") & set(line[2])
        if not whole or line[1] in found.get(line[0], {}):
            raise ValueError(
                f"{path}: line {number}: expected an id, a key and a new place without brackets, got {', '.join(line)}"
            )
        found.setdefault(line[0], {})[line[1]] = line[2]
    return found
