"""``manifest.json`` beside the figures: what each was drawn from, by fingerprint, and whether it still agrees.

Keys are sorted and there is no date, so that drawing again changes no byte. The fingerprints of the pictures hold for
one installation of Matplotlib, which is named; everything else holds everywhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from theory.evidence.ledger import title_of
from theory.figures.gate import Ruling, shelved
from theory.figures.registry import Plate

NAME = "manifest.json"


def entry(plate: Plate, ruling: Ruling, files: Mapping[str, str]) -> dict[str, Any]:
    """Return what the manifest says of one figure; ``files`` are the pictures with their sha256."""
    return {
        **_origin(plate, ruling),
        "csv": ruling.table.sha256 if ruling.reason is None else None,
        "files": dict(files),
        "matplotlib": version("matplotlib"),
        "stamp": ruling.reason,
    }


def _origin(plate: Plate, ruling: Ruling) -> dict[str, Any]:
    study = title_of(plate.STUDY)
    return {"claims": list(plate.CLAIMS), "study": study, "scale": ruling.scale, "root": ruling.root}


def load(folder: Path) -> dict[str, Any]:
    """Read the manifest of ``folder``; empty if there is none.

    Raises
    ------
    ValueError
        If it is no manifest.
    """
    path = folder / NAME
    if not path.exists():
        return {}
    try:
        entries: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON, got {error}") from error
    each = entries.values() if isinstance(entries, dict) else [None]
    if not all(isinstance(one, dict) and isinstance(one.get("files"), dict) for one in each):
        raise ValueError(f"{path}: expected an entry with its files for every figure")
    return entries


def store(folder: Path, entries: Mapping[str, Any]) -> None:
    """Write the manifest into ``folder``."""
    text = json.dumps(entries, indent=1, sort_keys=True) + "\n"
    (folder / NAME).write_text(text, encoding="utf-8", newline="\n")


def disagreements(name: str, plate: Plate, ruling: Ruling, folder: Path, entries: Mapping[str, Any]) -> Iterator[str]:
    """Yield in words everything in which ``folder`` does not show what was judged."""
    if ruling.reason is not None:
        yield f"{ruling.reason} ({ruling.mend})"
    kept = shelved(folder / f"{name}.csv")
    if kept is None:
        yield f"{name}.csv is missing or no table"
    elif ruling.reason is None and kept.sha256 != ruling.table.sha256:
        yield f"{name}.csv is not the judged table: {kept.differs(ruling.table) or 'other digits'}"
    noted = entries.get(name)
    if noted is None:
        yield f"{NAME} does not name it"
        return
    told = {**_origin(plate, ruling), "csv": None if kept is None else kept.sha256, "stamp": None}
    for key, value in told.items():
        if noted.get(key) != value:
            yield f"{NAME} says {key} {noted.get(key)}, expected {value}"
    for file, print_ in noted["files"].items():
        path = folder / file
        if not path.is_file():
            yield f"{file} is missing"
        elif hashlib.sha256(path.read_bytes()).hexdigest() != print_:
            yield f"{file} is not the file that {NAME} names"
