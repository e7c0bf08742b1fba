"""The sources that claims cite, from their BibTeX: who wrote what, and where to read it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup
from pybtex.database import Entry, Person, parse_string
from pybtex.exceptions import PybtexError
from pybtex.richtext import Text

from theory.site.formulas import typeset

_ARXIV = re.compile(r"arXiv:\s*([\w.\-/]+)")
_URL = re.compile(r"https?://[^\s,}]+")
_PLACES = ("journal", "booktitle", "series", "publisher", "school")
_FORMULA = re.compile(r"\$[^$]*\$")


@dataclass(frozen=True, slots=True)
class Source:
    """One source: its key, what a reader sees of it, its address if it has one, and its BibTeX."""

    key: str
    authors: str
    title: Markup
    venue: str
    year: str
    link: str
    bibtex: str

    @property
    def short(self) -> str:
        """Authors and year, as a text cites them."""
        names = self.authors.split(", ")
        some = " and ".join(names) if len(names) <= 2 else f"{names[0]} et al."
        return f"{some} {self.year}".strip()


def read_source(key: str, bibtex: str) -> Source:
    """Read one entry.

    Raises
    ------
    ValueError
        If it is no BibTeX.
    """
    try:
        entry = parse_string(bibtex, "bibtex").entries[key]
    except (KeyError, PybtexError) as error:
        raise ValueError(f"{key}: expected an entry of BibTeX, got {bibtex!r}: {error}") from error
    people = entry.persons.get("author") or entry.persons.get("editor") or []
    return Source(
        key=key,
        authors=", ".join(_surname(person) for person in people),
        title=_title(entry.fields.get("title", key)),
        venue=_venue(entry),
        year=entry.fields.get("year", ""),
        link=_link(entry.fields),
        bibtex=bibtex,
    )


def _surname(person: Person) -> str:
    return _plain(" ".join([*person.prelast_names, *person.last_names]))


def _plain(text: str) -> str:
    return str(Text.from_latex(text)).replace("\xa0", " ")


def _title(text: str) -> Markup:
    """Return a title; its formulas are converted, and its braces and accents read."""
    formulas = _FORMULA.findall(text)
    plain = _plain(_FORMULA.sub("\x01", text))
    for each in formulas:
        plain = plain.replace("\x01", each, 1)
    return typeset(plain)


def _venue(entry: Entry) -> str:
    fields = entry.fields
    place = next((fields[name] for name in _PLACES if name in fields), "")
    volume = f" {fields['volume']}" if "journal" in fields and "volume" in fields else ""
    pages = f", {fields['pages']}".replace("--", "\u2013") if "pages" in fields else ""
    note = "" if place else fields.get("note", "")
    return f"{_plain(place)}{volume}{pages}" if place else _plain(note)


def _link(fields: Mapping[str, str]) -> str:
    if "doi" in fields and not fields["doi"].startswith("10.48550/arXiv."):  # which leads to the page below
        return f"https://doi.org/{fields['doi']}"
    told = " ".join(fields.get(name, "") for name in ("note", "url", "howpublished"))
    if "eprint" in fields:
        return f"https://arxiv.org/abs/{fields['eprint']}"
    if (arxiv := _ARXIV.search(told)) is not None:
        return f"https://arxiv.org/abs/{arxiv[1]}"
    return url[0] if (url := _URL.search(told)) is not None else ""
