"""From a ruling to files: draw, say below what the evidence says, stamp what is not verified, write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from theory.figures import film, manifest, style
from theory.figures.caption import clauses
from theory.figures.gate import Ruling
from theory.figures.registry import Plate


def produce(name: str, plate: Plate, ruling: Ruling, folder: Path, formats: Sequence[str]) -> dict[str, Any]:
    """Draw a figure into ``folder`` and return its entry in the manifest.

    The CSV is written beside the pictures if the table is the judged one; a stamped figure leaves the CSV alone. A
    plate with ``animate`` also has an animation, whatever the formats.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with style.drawing():
        figure = plate.draw(ruling.table)
        style.caption(figure, clauses(ruling))
        if ruling.reason is not None:
            style.stamp(figure, ruling.reason)
        files = {path.name: style.save(figure, path) for path in (folder / f"{name}.{form}" for form in formats)}
        if hasattr(plate, "animate"):
            files[f"{name}.gif"] = film.write(_frames(plate, ruling), folder / f"{name}.gif")
    if ruling.reason is None:
        (folder / f"{name}.csv").write_text(ruling.table.to_csv(), encoding="utf-8", newline="\n")
    return manifest.entry(plate, ruling, files)


def _frames(plate: Plate, ruling: Ruling) -> Iterator[Figure]:
    """Yield the frames of an animation, each stamped if the figure is."""
    for frame in plate.animate(ruling.table):  # type: ignore[attr-defined]  # a plate may have it
        if ruling.reason is not None:
            style.stamp(frame, ruling.reason)
        yield frame
