"""BibTeX as CSL-JSON, which reference managers and pandoc read; needs pybtex, of the extra ``site``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from theory.report.archive import ArchiveError, Record

_TYPES = {
    "article": "article-journal", "book": "book", "inproceedings": "paper-conference", "incollection": "chapter",
    "phdthesis": "thesis", "misc": "article",
}  # fmt: skip
_FIELDS = {
    "title": "title", "journal": "container-title", "booktitle": "container-title", "series": "collection-title",
    "volume": "volume", "number": "issue", "pages": "page", "publisher": "publisher", "school": "publisher",
    "edition": "edition", "doi": "DOI", "url": "URL", "note": "note",
}  # fmt: skip


def as_csl(entries: Iterable[str], places: Mapping[str, Mapping[str, str]] | None = None) -> str:
    """Return entries of BibTeX as CSL-JSON.

    Parameters
    ----------
    entries : iterable of str
        Each in BibTeX.
    places : mapping, optional
        Where in a source a claim stands, by the key of the source and the id of the claim: ``custom.locators``, since
        in CSL a locator belongs to a citation and not to an entry.

    Raises
    ------
    ArchiveError
        If pybtex is not installed, or an entry is no BibTeX.
    """
    try:
        from pybtex.database import parse_string  # noqa: PLC0415
        from pybtex.exceptions import PybtexError  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ArchiveError('CSL-JSON needs pybtex: pip install "attention-theory[site]"') from error
    try:
        found = parse_string("\n\n".join(entries), "bibtex").entries
    except PybtexError as error:
        raise ArchiveError(f"sources: expected BibTeX: {error}") from error
    items = [_item(key, entry) for key, entry in found.items()]
    for item in items:
        if (placed := (places or {}).get(item["id"])) is not None:
            item["custom"] = {"locators": dict(placed)}
    return json.dumps(items, indent=1, ensure_ascii=False) + "\n"


def places_of(records: Iterable[Record]) -> dict[str, dict[str, str]]:
    """Return where in a source claims stand, by the key of the source and the id of the claim."""
    found: dict[str, dict[str, str]] = {}
    for record in records:
        for key, place in record.locators.items():
            found.setdefault(key, {})[record.claim.id] = place
    return found


def _item(key: str, entry: Any) -> dict[str, Any]:
    people = entry.persons.get("author") or entry.persons.get("editor") or []
    item: dict[str, Any] = {"id": key, "type": _TYPES.get(entry.type, "document"), "author": [_name(p) for p in people]}
    for name, meant in _FIELDS.items():
        if name in entry.fields:
            item[meant] = entry.fields[name] if name in ("doi", "url") else _plain(entry.fields[name])
    if "page" in item:
        item["page"] = item["page"].replace("\u2013", "-")
    if entry.fields.get("year", "").isdigit():
        item["issued"] = {"date-parts": [[int(entry.fields["year"])]]}
    return item


def _name(person: Any) -> dict[str, str]:
    given, family = ([*person.first_names, *person.middle_names], [*person.prelast_names, *person.last_names])
    if not given:
        return {"literal": _plain(" ".join(family))}
    return {"family": _plain(" ".join(family)), "given": _plain(" ".join(given))}


def _plain(text: str) -> str:
    from pybtex.richtext import Text  # noqa: PLC0415

    plain = re.sub(r"\\ell *", "\u2113", str(Text.from_latex(text)))
    return re.sub(r"\\mathbb *R", "\u211d", plain).replace("\xa0", " ").replace("$", "")
