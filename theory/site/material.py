"""What a site is made of, read once: records, notes, sources, proofs, figures, and which of them speak of which."""

from __future__ import annotations

import fnmatch
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from theory.evidence.closure import located
from theory.figures import registry
from theory.report import archive, freshness
from theory.report.archive import ArchiveError, Record
from theory.report.citation import bibliography
from theory.report.notes import read_notes
from theory.report.proofs import Proof, read_proofs, used_by
from theory.site.notes import Item, Section, read_sections
from theory.site.prose import Links
from theory.site.sources import Source, read_source

GUIDES = ("glossary", "running", "citing", "library", "architecture")  # pages of docs/ that a reader of claims needs


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture of the repository: its files, its title and caption, and the claims that were judged on its table."""

    name: str
    title: str
    caption: tuple[str, ...]
    claims: tuple[str, ...]
    picture: Path
    table: Path


@dataclass(frozen=True, slots=True)
class Material:
    """All that pages are made of.

    Parameters
    ----------
    folder, root : Path
        Where the records lie, and the folder that holds notes, proofs and figures.
    records : mapping
        By id, in the order of the subjects.
    digests : mapping
        The first digits of the SHA-256 of every record.
    changes : mapping
        What was recorded before its code changed, as :func:`theory.report.freshness.changes` says it.
    sources : mapping
        What claims cite, by key.
    sections : sequence of Section
        Errata and other notes.
    proofs : mapping
        The Markdown files with proofs, by their stem.
    figures : sequence of Figure
        In the order of their names.
    guides : mapping
        The Markdown files that explain, by their stem.
    code : mapping
        The files of checks, by the name that records give them.
    printed : mapping
        The printed proofs, by claim, and what they use.
    used_by : mapping
        The claims whose proofs use a claim.
    """

    folder: Path
    root: Path
    records: Mapping[str, Record]
    digests: Mapping[str, str]
    changes: freshness.Changes
    sources: Mapping[str, Source]
    sections: Sequence[Section]
    proofs: Mapping[str, str]
    figures: Sequence[Figure]
    guides: Mapping[str, str]
    code: Mapping[str, str]
    printed: Mapping[str, Proof]
    used_by: Mapping[str, tuple[str, ...]]
    links: Links

    @property
    def subjects(self) -> dict[str, list[Record]]:
        """The claims of every subject."""
        found: dict[str, list[Record]] = defaultdict(list)
        for record in self.records.values():
            found[record.subject].append(record)
        return dict(found)

    def notes_on(self, claim: str) -> list[Item]:
        """Return what the notes say of a claim."""
        return [item for section in self.sections for item in section.items if claim in item.claims]

    def figures_of(self, claim: str) -> list[Figure]:
        """Return the pictures that were judged with a claim; those of all claims are of none."""
        return [figure for figure in self.figures if claim in figure.claims and len(figure.claims) < len(self.records)]


def read_material(folder: Path, notes: Path) -> Material:
    """Read everything around a folder of records; what is not there, as proofs in a wheel, is left out.

    Raises
    ------
    ArchiveError
        If a record, the notes or the list of figures is broken.
    """
    records = {record.claim.id: record for record in archive.read_all(folder)}
    root = notes.resolve().parent
    entries = bibliography(notes)
    printed = read_proofs(folder, records)
    proofs = _texts(sorted((root / "proofs").glob("*.md")))
    guides = _texts(root / "docs" / f"{name}.md" for name in GUIDES)
    files = {f"proofs/{name}.md": f"p/{name}.html" for name in proofs}
    files |= {f"docs/{name}.md": f"g/{name}.html" for name in guides}
    files |= {"paper_notes.md": "decided-against.html", "README.md": "index.html"}
    figures = _figures(root / "figures", records)
    files |= {f"figures/{figure.name}.svg": f"f/{figure.name}.svg" for figure in figures}
    code = {test: located(folder, test) for test in sorted({record.test for record in records.values()})}
    return Material(
        folder=folder,
        root=root,
        records=records,
        digests={name: hashlib.sha256((folder / f"{name}.json").read_bytes()).hexdigest()[:16] for name in records},
        changes=freshness.changes(list(records.values()), folder),
        sources={key: read_source(key, entry) for key, entry in entries.items()},
        sections=read_sections(read_notes(notes), records, entries),
        proofs=proofs,
        figures=figures,
        guides=guides,
        code={test: place[0].read_text(encoding="utf-8") for test, place in code.items() if place is not None},
        printed=printed,
        used_by=used_by(printed),
        links=Links(records, files),
    )


def code_page(test: str) -> str:
    """Return the page, as seen from the root of the site, of a file of checks."""
    return f"t/{PurePosixPath(test).with_suffix('').as_posix().replace('/', '.')}.html"


def _texts(paths: Iterable[Path]) -> dict[str, str]:
    return {path.stem: path.read_text(encoding="utf-8") for path in paths if path.is_file()}


def _first_alike(table: Path, tables: dict[bytes, Path]) -> Path:
    return tables.setdefault(table.read_bytes(), table) if table.is_file() else table


def _figures(folder: Path, claims: Iterable[str]) -> list[Figure]:
    """Read the list of figures; a figure without a picture is left out."""
    path = folder / "manifest.json"
    if not path.is_file():
        return []
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))
        titles = registry.titles()
        known = list(claims)
        tables: dict[bytes, Path] = {}  # by their bytes, as figures that share a study have equal ones
        return [
            Figure(
                name=name,
                title=titles.get(name, name.replace("_", " ")),
                caption=tuple(entry["caption"]),
                claims=tuple(claim for claim in known if any(fnmatch.fnmatchcase(claim, p) for p in entry["claims"])),
                picture=folder / f"{name}.svg",
                table=_first_alike(folder / f"{name}.csv", tables),
            )
            for name, entry in sorted(listed.items())
            if (folder / f"{name}.svg").is_file()
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise ArchiveError(f"{path}: expected the list of figures: {error!r}") from error
