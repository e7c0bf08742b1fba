"""Claims that are no more: what each was merged into, or where it is checked now, so that a citation still resolves."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from theory.report.archive import ArchiveError

FILE = "merged.csv"  # next to the folder of the records
_COLUMNS = ["id", "into", "why"]


@dataclass(frozen=True, slots=True)
class Merged:
    """What became of a claim: ``into`` is the claim that says it now, or the test that checks it."""

    id: str
    into: str
    why: str

    @property
    def is_claim(self) -> bool:
        """Whether it went into another claim."""
        return "/" not in self.into


def read_merged(folder: Path) -> dict[str, Merged]:
    """Read the index next to a folder of records, by the old id; empty where there is none.

    Raises
    ------
    ArchiveError
        If it cannot be read, or a line has not an id, where it went and why, or an id comes twice.
    """
    path = folder.parent / FILE
    if not path.exists():
        return {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            head, *lines = list(csv.reader(file)) or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ArchiveError(f"{path}: expected the index of merged claims: {error}") from error
    if head != _COLUMNS:
        raise ArchiveError(f"{path}: expected the columns {', '.join(_COLUMNS)}, got {', '.join(head) or 'none'}")
    found: dict[str, Merged] = {}
    for number, line in enumerate(lines, start=2):
        if len(line) != len(_COLUMNS) or not all(cell.strip() for cell in line) or line[0] in found:
            raise ArchiveError(
                f"{path}: line {number}: expected a new id, where it went and why, got {', '.join(line)}"
            )
        found[line[0]] = Merged(*line)
    return found


def find_successor(folders: Sequence[Path], claim: str) -> Merged | None:
    """Return what became of a claim that has no record any more, followed to the end; ``None`` if it is not known.

    Raises
    ------
    ArchiveError
        If an index is broken or leads in a circle.
    """
    for folder in folders:
        if (folder / f"{claim}.json").exists():
            return None
        index = read_merged(folder)
        step = index.get(claim)
        seen = {claim}
        while step is not None and step.into in index:
            if step.into in seen:
                raise ArchiveError(f"{folder.parent / FILE}: expected {claim} to lead to what stands, got a circle")
            seen.add(step.into)
            step = Merged(claim, index[step.into].into, step.why)
        if step is not None:
            return step
    return None
