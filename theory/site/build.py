"""The folder of a site: built beside its place and moved there whole, so that nobody meets half a site."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib import import_module
from importlib.resources import as_file, files
from io import BytesIO
from pathlib import Path

from theory.report.citation import SUITE, suite_bibtex
from theory.site.compact_svg import compact
from theory.site.material import Material, read_material
from theory.site.pages import pages
from theory.site.search_index import bibtex_script, index_script

MARK = ".nojekyll"  # tells a host of static pages to leave them alone, and this command that the folder is its own
_MADE = "made by python -m theory site\n"
_STATIC = {  # by the name on the site
    **{name: f"static/{name}" for name in ("style.css", "copy.js", "search.js", "browse.js")},
    "minisearch.js": "vendor/minisearch/minisearch.js",
    "minisearch.LICENSE.txt": "vendor/minisearch/LICENSE.txt",
    "stix-two-math.woff2": "vendor/stix-two-math/stix-two-math.woff2",
    "stix-two-math.LICENSE.txt": "vendor/stix-two-math/LICENSE.txt",
}
_COMMENT = re.compile(r"^[ \t]*(?:/\*\*.*?\*/|//[^\n]*)[ \t]*\n", re.DOTALL | re.MULTILINE)  # on lines of its own
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can say; a site depends on no clock


def build_site(folder: Path, notes: Path, out: Path, *, guide: bool = False) -> int:
    """Build the site and put it where it is wanted.

    Parameters
    ----------
    folder : Path
        The records.
    notes : Path
        The notes, ``paper_notes.md``; proofs, figures and guides are looked for beside them.
    out : Path
        The folder to make; one that is there must be empty or a site that this function made.
    guide : bool, default False
        Whether Sphinx makes the guide in its folder ``docs``, and every page leads to it.

    Returns
    -------
    int
        How many pages there are.

    Raises
    ------
    ValueError
        If the folder holds something else, a formula cannot be converted, or Sphinx has something to complain of.
    ModuleNotFoundError
        If the guide is asked for and the extra ``docs`` is not installed.
    ArchiveError
        If records or notes are missing or broken.
    OSError
        If it cannot be written; an old site stays as it was.
    """
    out = out.resolve()
    _refuse_others(out)
    material = read_material(folder, notes)
    source = _guide_source(material.root) if guide else None
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", suffix=".part", dir=out.parent) as name:
        part = Path(name) / "site"
        part.mkdir()
        number = _fill(part, material, guide)
        if source is not None:
            _build_guide(source, part / "docs", Path(name) / "trees")
        if out.exists():
            out.rename(Path(name) / "old")
        part.rename(out)
    return number


def _refuse_others(out: Path) -> None:
    """Refuse a folder with something in it that is not ours to replace."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"out: expected a folder, got the file {out}")
    if out.is_dir() and any(out.iterdir()) and not _is_ours(out):
        raise ValueError(f"out: expected a new or empty folder or an older site, got {out}, which holds other things")


def _is_ours(out: Path) -> bool:
    mark = out / MARK
    return mark.is_file() and mark.read_text(encoding="utf-8") == _MADE


def _guide_source(root: Path) -> Path:
    """Return the folder that Sphinx reads; what is missing for a guide is said before anything is built."""
    if not (root / "docs" / "conf.py").is_file():
        raise ValueError(f"guide: expected a clone, which has docs/conf.py, found none in {root}")
    import_module("sphinx")
    return root / "docs"


def _build_guide(source: Path, out: Path, trees: Path) -> None:
    """Build the guide in a process of its own, since Sphinx changes much of the one that it runs in."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", str(trees), str(source), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        raise ValueError(f"guide: expected pages without a warning, got {done.stderr.strip()}")


def _fill(part: Path, material: Material, guide: bool) -> int:
    number = 0
    for place, text in pages(material, guide=guide):
        path = part / place
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        number += 1
    _copy_static(part)
    entries = {key: source.bibtex for key, source in material.sources.items()} | {SUITE: suite_bibtex()}
    texts = {"index.js": index_script(material), "bib.js": bibtex_script(entries)}
    texts |= {"all.bib": "\n\n".join(entries.values()) + "\n"}
    for name, text in texts.items():
        (part / name).write_text(text, encoding="utf-8", newline="\n")
    (part / MARK).write_text(_MADE, encoding="utf-8", newline="\n")
    _copy_records(part / "r", material)
    _copy_figures(part / "f", material)
    return number


def _copy_static(part: Path) -> None:
    for name, place in _STATIC.items():
        with as_file(files("theory.site").joinpath(place)) as path:
            shutil.copyfile(path, part / name)
    script = part / "minisearch.js"
    script.write_text(_COMMENT.sub("", script.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")


def _copy_records(part: Path, material: Material) -> None:
    """Write the records, which pointers lead into, byte for byte: a page says their SHA-256."""
    part.mkdir(exist_ok=True)
    for name in material.records:
        (part / f"{name}.json.zip").write_bytes(_zipped(material.folder / f"{name}.json"))


def _copy_figures(part: Path, material: Material) -> None:
    for figure in material.figures:
        picture = compact(figure.picture.read_text(encoding="utf-8"))
        (part / f"{figure.name}.svg").write_text(picture, encoding="utf-8", newline="\n")
    for table in sorted({figure.table for figure in material.figures if figure.table.is_file()}):
        (part / f"{table.name}.zip").write_bytes(_zipped(table))


def _zipped(path: Path) -> bytes:
    """Return a file as a zip that is the same whenever it is made."""
    made = BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr(zipfile.ZipInfo(path.name, _EPOCH), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return made.getvalue()
