"""The file ``manifest.json``: what each figure was drawn from, by fingerprint, and whether it still agrees.

An entry names the table, the caption and the code of a figure, which decide what it shows, and the files with the
packages that drew them. Keys are sorted and there is no date. A figure that shows what its entry says needs no drawing:
its files stay as they are, on any processor and with any Matplotlib, for which other bytes would be as good.
Fingerprints of pictures hold for the packages named; everything else holds everywhere.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from theory.evidence.closure import closure_of, read
from theory.evidence.runner import title_of
from theory.figures import caption
from theory.figures.registry import FigureModule
from theory.figures.verified_table import TableVerdict, load_committed

NAME = "manifest.json"
_APART = ("theory/evidence/", "theory/report/")
_READ = ("theory/evidence/table.py", "theory/evidence/interval.py", "theory/report/digits.py")  # by drawings, of those
_DRAWN = ("svg", "png", "pdf", "gif")  # suffixes of pictures


def make_entry(module: FigureModule, verdict: TableVerdict, files: Mapping[str, str]) -> dict[str, Any]:
    """Return what the manifest says of one verified figure.

    ``files`` are the pictures with their sha256, of which the packages at hand have drawn at least one.
    """
    return {**_expected_entry(module, verdict), "files": dict(files), "drawn_by": dict(_packages())}


def current_pictures(name: str, module: FigureModule, verdict: TableVerdict, folder: Path) -> dict[str, str]:
    """Return the pictures in ``folder`` that show what a drawing of today would show, with their sha256."""
    noted = load(folder).get(name, {"files": {}})
    expected = _expected_entry(module, verdict)
    committed = load_committed(folder / f"{name}.csv")
    if committed is None or committed.sha256 != expected["csv"]:
        return {}
    if any(noted.get(key) != value for key, value in expected.items()):
        return {}
    if any(_file_faults(name, noted, folder)):
        return {}
    return dict(noted["files"])


def code_fingerprint(module: FigureModule) -> str:
    """Return the fingerprint of what draws a figure: rendering, words, style, its module, and what the last two import.

    Without what judges and what reports: that decides which table and which words are drawn, and these are compared
    themselves.
    """
    prints = sorted(sources(module).items())
    return hashlib.sha256("\n".join(f"{name} {print_}" for name, print_ in prints).encode()).hexdigest()[:16]


def sources(module: FigureModule) -> dict[str, str]:
    """Return the files of :func:`code_fingerprint` with their fingerprints."""
    here = Path(__file__).resolve().parent
    own = inspect.getsourcefile(module.draw)
    alone = ("render.py", "caption.py")  # they lead to every figure there is
    found = {f"theory/figures/{name}": read(here / name).print for name in alone}
    places = [here / "_style" / "style.py", here / "_style" / "animation.py"]
    places += [Path(own).resolve()] if own else []
    for place in places:
        found |= closure_of(place, here.parent.parent).files
    return {name: print_ for name, print_ in found.items() if name in _READ or not name.startswith(_APART)}


@cache
def _packages() -> tuple[tuple[str, str], ...]:
    """Return the packages that decide the bytes of a picture, with their versions."""
    from matplotlib import ft2font  # noqa: PLC0415  slow to load, and only for what is drawn

    known = {name.lower(): version(name) for name in ("matplotlib", "numpy", "pillow")}
    return tuple({**known, "freetype": ft2font.__freetype_version__}.items())


def _expected_entry(module: FigureModule, verdict: TableVerdict) -> dict[str, Any]:
    """Return what decides what a figure shows."""
    return {**_contents(module, verdict), "code": code_fingerprint(module)}


def _contents(module: FigureModule, verdict: TableVerdict) -> dict[str, Any]:
    """Return what decides, besides the code, what a figure shows."""
    return {
        "claims": list(module.CLAIMS),
        "study": title_of(module.STUDY),
        "scale": verdict.scale,
        "root": verdict.root,
        "csv": verdict.table.sha256,
        "caption": caption.caption_lines(verdict),
    }


def load(folder: Path) -> dict[str, Any]:
    """Read the manifest of ``folder``; empty if there is none.

    Raises
    ------
    ValueError
        If it is no manifest, or names a figure twice.
    """
    path = folder / NAME
    if not path.exists():
        return {}
    try:
        entries: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_refuse_duplicates)
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON, got {error}") from error
    each = entries.values() if isinstance(entries, dict) else [None]
    if not all(isinstance(one, dict) and isinstance(one.get("files"), dict) for one in each):
        raise ValueError(f"{path}: expected an entry with its files for every figure")
    return entries


def _refuse_duplicates(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse what a merge by hand leaves: two entries of one name, of which a reader would keep the last."""
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{twice} twice")
    return dict(pairs)


def to_json(entries: Mapping[str, Any]) -> str:
    """Return the manifest as it is written."""
    return json.dumps(entries, indent=1, sort_keys=True) + "\n"


def disagreements(
    name: str, module: FigureModule, verdict: TableVerdict, folder: Path, entries: Mapping[str, Any]
) -> Iterator[str]:
    """Yield, in words, why the committed files of a figure do not show what was judged."""
    if verdict.reason is not None:
        yield f"{verdict.reason} ({verdict.remedy})"
    committed = load_committed(folder / f"{name}.csv")
    owner = None if committed is None else _owner(committed.sha256, entries)
    if committed is None:
        yield f"{name}.csv is missing or no table"
    elif owner not in (None, name) and entries.get(name, {}).get("csv") != committed.sha256:
        yield f"{name}.csv is the table of {owner}"
    elif verdict.reason is None and committed.sha256 != verdict.table.sha256:
        yield f"{name}.csv is not the judged table: {committed.differs(verdict.table) or 'other digits'}"
    noted = entries.get(name)
    if noted is None:
        yield f"{NAME} does not name it"
        return
    expected = _contents(module, verdict)
    if verdict.reason is not None:  # neither the table at hand nor what the evidence says is that of the files
        expected |= {"csv": None if committed is None else committed.sha256, "caption": noted.get("caption")}
    for key, value in expected.items():
        if noted.get(key) == value:
            continue
        if key == "caption":
            yield f"{NAME} has another caption than the evidence gives: draw it again"
        else:
            yield f"{NAME} says {key} {noted.get(key)}, expected {value}"
    yield from _file_faults(name, noted, folder)


def _owner(fingerprint: str, entries: Mapping[str, Any]) -> str | None:
    """Return the figure that the manifest gives a table of this fingerprint."""
    return next((name for name, entry in entries.items() if entry.get("csv") == fingerprint), None)


def _file_faults(name: str, noted: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """Yield what is wrong with the pictures of a figure."""
    for file, print_ in noted["files"].items():
        path = folder / file
        if file.partition(".")[0] != name:
            yield f"{NAME} gives it {file}, which is another figure's"
        elif not path.is_file():
            yield f"{file} is missing"
        elif hashlib.sha256(path.read_bytes()).hexdigest() != print_:
            yield f"{file} is not the file that {NAME} names"
    others = {f"{name}.{suffix}" for suffix in _DRAWN} - set(noted["files"])
    for file in sorted(other for other in others if (folder / other).exists()):
        yield f"{file} is there, but {NAME} does not name it: draw it again or remove it"
