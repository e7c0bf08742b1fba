"""Where the records and the notes lie: in the repository around, in the checkout of the package, or in the package."""

from __future__ import annotations

from pathlib import Path

import theory
from theory.report.archive import ArchiveError, join_folders

_PACKED = "_record"  # folder of the package in which a wheel keeps the records and the notes
_ENDS = (".git", "pyproject.toml")  # one of these stands where a repository ends
_HEAD = 2000  # chosen: characters of a record in which its first key stands


def evidence_folders() -> list[Path]:
    """Return the folders of records at hand, in the order in which a claim is looked up in them.

    First those of the repository around the working directory, the nearest first: ``evidence``, ``verify/evidence`` and
    others one folder down, there and in every folder above, up to one that has a ``.git`` or a ``pyproject.toml``. Then
    the suite's own: those of the checkout that the package is in, or those that came with it.

    Raises
    ------
    ArchiveError
        If there is none.
    """
    return [folder for level in _levels() for folder in level]


def evidence_folder() -> Path:
    """Return the first of :func:`evidence_folders`.

    Raises
    ------
    ArchiveError
        If there is none, or another one as near.
    """
    nearest = _levels()[0]
    if len(nearest) > 1:
        raise ArchiveError(
            f"evidence: expected one folder of records, found {join_folders(nearest)} (use --evidence DIR)"
        )
    return nearest[0]


def suite_folder() -> Path:
    """Return the suite's own records: those of the checkout that the package is in, or those that came with it.

    Raises
    ------
    ArchiveError
        If there are none.
    """
    root = Path(theory.__file__).resolve().parent
    for folder in (root.parent / "verify" / "evidence", root / _PACKED / "evidence"):
        if _holds_records(folder):
            return folder
    raise ArchiveError(
        f"evidence: expected the records of the suite around or in {root}, found none (use --evidence DIR)"
    )


def is_packaged(path: Path) -> bool:
    """Tell whether a file came with the package; such a file is read and never written."""
    return path.resolve().is_relative_to(Path(theory.__file__).resolve().parent / _PACKED)


def notes_above(folder: Path) -> Path:
    """Return the nearest ``paper_notes.md`` above an evidence folder.

    Raises
    ------
    ArchiveError
        If there is none.
    """
    for parent in folder.resolve().parents:
        if (parent / "paper_notes.md").is_file():
            return parent / "paper_notes.md"
    raise ArchiveError(f"notes: expected a paper_notes.md above {folder}, found none (use --notes FILE)")


def _levels() -> list[list[Path]]:
    """Return the folders of records, those that are equally near together."""
    here = Path.cwd()
    above = [here, *here.parents]
    ends = (k for k, level in enumerate(above) if any((level / mark).exists() for mark in _ENDS))
    around = [[level / "evidence", *sorted(level.glob("[!.]*/evidence"))] for level in above[: next(ends, 0) + 1]]
    levels = [found for level in around if (found := [folder for folder in level if _holds_records(folder)])]
    try:
        own = suite_folder()
    except ArchiveError as error:
        if not levels:
            raise ArchiveError(f"evidence: expected records in evidence or */evidence of {here}; {error}") from error
        return levels
    return levels if any(own.samefile(folder) for level in levels for folder in level) else [*levels, [own]]


def _holds_records(folder: Path) -> bool:
    """Tell records from other JSON: by a name with a dot, and by their first key."""
    return any('"assumptions"' in _head(path) for path in folder.glob("*.*.json"))


def _head(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_HEAD)
    except OSError:  # nothing to be read; nor is a record
        return ""
