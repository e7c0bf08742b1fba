"""From a table to files: draw, say below what the evidence says, stamp what is not verified, write.

A verified figure and its table take their place together, with their entry in the manifest. A stamped one is written
to ``NAME.unverified.*``, and what was verified stays. A plain one, for print, is written to ``NAME.plain.*``, which no
manifest names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from theory.evidence.files import locked, write_together
from theory.figures import manifest, registry
from theory.figures._style import animation, style
from theory.figures._style.narrow import narrow
from theory.figures.caption import footers, in_symbols, tex_caption
from theory.figures.registry import FigureModule
from theory.figures.verified_table import TableVerdict, load_committed
from theory.report.archive import ArchiveError

_UNVERIFIED, _PLAIN = "unverified", "plain"


@dataclass(frozen=True, slots=True)
class RenderedFigure:
    """What is to be written of a figure: contents by file name, and its entry in the manifest if it is verified."""

    name: str
    files: Mapping[str, str | bytes]
    entry: Mapping[str, Any] | None


def render_figure(
    name: str,
    module: FigureModule,
    verdict: TableVerdict,
    formats: Sequence[str],
    kept: Mapping[str, str] | None = None,
) -> RenderedFigure:
    """Draw a figure in memory.

    The CSV belongs to the files if the table is the judged one. A module with ``animate`` also has an animation,
    whatever the formats. ``kept`` are pictures of the same that stay, with their sha256.
    """
    stem = name if verdict.reason is None else f"{name}.{_UNVERIFIED}"
    with style.drawing():
        figure = module.draw(verdict.table)
        footer = footers(verdict)
        line = next((words for words in footer if style.fits_in_a_line(figure, words)), footer[-1])
        style.caption(figure, [line], in_symbols(module.TITLE))
        if verdict.reason is not None:
            style.stamp(figure, verdict.reason)
        pictures = {f"{stem}.{form}": picture for form, picture in style.pictures(figure, formats).items()}
        if hasattr(module, "animate"):
            pictures[f"{stem}.gif"] = animation.encode_gif(_frames(module, verdict))
    if verdict.reason is not None:
        return RenderedFigure(name, pictures, None)
    prints = {**(kept or {}), **{file: hashlib.sha256(picture).hexdigest() for file, picture in pictures.items()}}
    files: dict[str, str | bytes] = {**pictures, f"{name}.csv": verdict.table.to_csv()}
    return RenderedFigure(name, files, manifest.make_entry(module, verdict, prints))


def render_plain(
    name: str, module: FigureModule, verdict: TableVerdict, formats: Sequence[str], *, single: bool = False
) -> RenderedFigure:
    """Draw a figure in memory as print wants it: without headline and footer, which are a caption in LaTeX.

    ``single`` asks for the width of one column. A figure that is not verified is stamped as any other.

    Raises
    ------
    ValueError
        If its panels do not fit one column.
    """
    if verdict.reason is not None:
        return render_figure(name, module, verdict, formats)
    with style.drawing():
        figure = module.draw(verdict.table)
        if single:
            narrow(figure)
        style.caption(figure, [])
        pictures = {f"{name}.{_PLAIN}.{form}": picture for form, picture in style.pictures(figure, formats).items()}
    return RenderedFigure(name, {**pictures, f"{name}.tex": tex_caption(name, module.TITLE, verdict)}, None)


def draw_committed(folder: Path, name: str) -> bytes:
    """Return the PDF of a figure for print, drawn from its table in a folder of figures.

    Raises
    ------
    ArchiveError
        If there is no such figure, or its table is not the one that the manifest of the folder names.
    """
    table = load_committed(folder / f"{name}.csv")
    try:
        noted = manifest.load(folder).get(name, {})
    except ValueError as error:
        raise ArchiveError(str(error)) from error
    if table is None or table.sha256 != noted.get("csv"):
        raise ArchiveError(f"{folder / name}.csv: expected the table that {manifest.NAME} names, found another or none")
    with style.drawing():
        figure = registry.figure_module(name).draw(table)
        style.caption(figure, [])
        return style.pictures(figure, ["pdf"])["pdf"]


def _frames(module: FigureModule, verdict: TableVerdict) -> Iterator[Figure]:
    """Yield the frames of an animation, each stamped if the figure is."""
    for frame in module.animate(verdict.table):  # type: ignore[attr-defined]  # a module may have it
        if verdict.reason is not None:
            style.stamp(frame, verdict.reason)
        yield frame


def write_figure(rendered: RenderedFigure, folder: Path, known: Sequence[str]) -> list[str]:
    """Write a figure into ``folder``: all its files with its entry in the manifest, or none.

    Parameters
    ----------
    rendered : RenderedFigure
        If it is verified, what was stamped before goes; if not, what was verified before stays.
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
        entries = manifest.load(folder)
        files = dict(rendered.files)
        if rendered.entry is not None:
            kept = {name: noted for name, noted in entries.items() if name in known}
            files[manifest.NAME] = manifest.to_json({**kept, rendered.name: dict(rendered.entry)})
        write_together({folder / file: content for file, content in files.items()})
    if rendered.entry is not None:
        remove_stamped(rendered.name, folder)
        return []
    verified = (f"{rendered.name}{Path(file).suffix}" for file in (*rendered.files, f"{rendered.name}.csv"))
    return [file for file in verified if (folder / file).exists()]


def remove_stamped(name: str, folder: Path) -> None:
    """Remove what was stamped of a figure that is verified now."""
    for stale in folder.glob(f"{name}.{_UNVERIFIED}.*"):
        stale.unlink(missing_ok=True)
