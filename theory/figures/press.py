"""From a ruling to files: draw, say below what the evidence says, stamp what is not verified, write.

A verified figure and its table take their place together, with their entry in the manifest. A stamped one is written
beside them, as ``NAME.unverified.*``, and what was verified stays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from theory.evidence.files import locked, write_together
from theory.figures import manifest
from theory.figures._style import film, style
from theory.figures.caption import clauses
from theory.figures.gate import Ruling
from theory.figures.registry import Plate

_UNVERIFIED = "unverified"


@dataclass(frozen=True, slots=True)
class Sheet:
    """What is to be written of a figure: contents by file name, and its entry in the manifest if it is verified."""

    name: str
    files: Mapping[str, str | bytes]
    entry: Mapping[str, Any] | None


def produce(
    name: str, plate: Plate, ruling: Ruling, formats: Sequence[str], kept: Mapping[str, str] | None = None
) -> Sheet:
    """Draw a figure in memory.

    The CSV belongs to the files if the table is the judged one. A plate with ``animate`` also has an animation,
    whatever the formats. ``kept`` are pictures of the same that stay, with their sha256.
    """
    stem = name if ruling.reason is None else f"{name}.{_UNVERIFIED}"
    with style.drawing():
        figure = plate.draw(ruling.table)
        style.caption(figure, clauses(ruling))
        if ruling.reason is not None:
            style.stamp(figure, ruling.reason)
        pictures = {f"{stem}.{form}": picture for form, picture in style.pictures(figure, formats).items()}
        if hasattr(plate, "animate"):
            pictures[f"{stem}.gif"] = film.made_of(_frames(plate, ruling))
    if ruling.reason is not None:
        return Sheet(name, pictures, None)
    prints = {**(kept or {}), **{file: hashlib.sha256(picture).hexdigest() for file, picture in pictures.items()}}
    return Sheet(name, {**pictures, f"{name}.csv": ruling.table.to_csv()}, manifest.entry(plate, ruling, prints))


def _frames(plate: Plate, ruling: Ruling) -> Iterator[Figure]:
    """Yield the frames of an animation, each stamped if the figure is."""
    for frame in plate.animate(ruling.table):  # type: ignore[attr-defined]  # a plate may have it
        if ruling.reason is not None:
            style.stamp(frame, ruling.reason)
        yield frame


def publish(sheet: Sheet, folder: Path, known: Sequence[str]) -> list[str]:
    """Write a figure into ``folder``: all its files with its entry in the manifest, or none.

    Parameters
    ----------
    sheet : Sheet
        The figure. If it is verified, what was stamped before goes; if not, what was verified before stays.
    folder : Path
        Made if it is not there.
    known : sequence of str
        Names of the figures that the manifest keeps.

    Returns
    -------
    list of str
        The names of the verified files that were there and stay.

    Raises
    ------
    OSError
        If something cannot be written; everything is as it was.
    ValueError
        If the manifest is broken.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / manifest.NAME):  # another run may draw here, too
        entries, files = manifest.load(folder), dict(sheet.files)
        if sheet.entry is not None:
            kept = {name: noted for name, noted in entries.items() if name in known}
            files[manifest.NAME] = manifest.text({**kept, sheet.name: dict(sheet.entry)})
        write_together({folder / file: content for file, content in files.items()})
    if sheet.entry is not None:
        discard(sheet.name, folder)
        return []
    verified = (f"{sheet.name}{Path(file).suffix}" for file in (*sheet.files, f"{sheet.name}.csv"))
    return [file for file in verified if (folder / file).exists()]


def discard(name: str, folder: Path) -> None:
    """Remove what was stamped of a figure that is verified now."""
    for stale in folder.glob(f"{name}.{_UNVERIFIED}.*"):
        stale.unlink(missing_ok=True)
