"""What the notes say by hand: errata, statements decided against, open questions and more; item by item."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from theory.report.proofs import claims_in

SECTIONS = {  # headings of paper_notes.md, and the pages that they become
    "Errata found in the papers": "errata",
    "Statements decided against": "decided-against",
    "Open questions": "open",
    "Prior art": "prior-art",
    "Log of moved numbers": "moved",
}


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a section: its page, anchor, heading, Markdown, and what it names."""

    page: str
    anchor: str
    heading: str
    text: str
    claims: tuple[str, ...]
    sources: tuple[str, ...]

    @property
    def title(self) -> str:
        """The first words, which say what it is about, without markup but with formulas."""
        start = re.match(r"\*\*?(.+?)\*\*?(?=[\s.(,]|$)", self.text.replace("\n", " "))
        return (start[1] if start else " ".join(self.text.split()[:12])).strip().rstrip(".")


@dataclass(frozen=True, slots=True)
class Section:
    """A page of notes: what stands before the first item, and the items."""

    page: str
    title: str
    lead: str
    items: tuple[Item, ...]


def read_sections(text: str, claims: Collection[str], sources: Collection[str]) -> list[Section]:
    """Return the sections of the notes that become pages, in their order; one that is not there is left out."""
    found: Mapping[str, str] = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n?)*)", text, re.MULTILINE))
    return [_section(page, title, found[title], claims, sources) for title, page in SECTIONS.items() if title in found]


def _section(page: str, title: str, text: str, claims: Collection[str], sources: Collection[str]) -> Section:
    lead: list[str] = []
    items: list[Item] = []
    heading = ""
    for block in re.split(r"^(?=- |### )", text, flags=re.MULTILINE):
        if block.startswith("### "):
            heading, _, rest = block[4:].partition("\n")
            lead += [rest] if rest.strip() else []
        elif block.startswith("- "):
            items.append(_item(page, heading, block, claims, sources))
        else:
            lead.append(block)
    return Section(page, title, "\n".join(lead).strip(), tuple(items))


def _item(page: str, heading: str, block: str, claims: Collection[str], sources: Collection[str]) -> Item:
    text = "\n".join(line.removeprefix("  ") for line in block[2:].splitlines()).strip()
    named = {word for word in re.findall(r"[a-z]+\d{4}[a-z]?", text) if word in sources}
    anchor = f"n{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    return Item(page, anchor, heading, text, tuple(claims_in(text, claims)), tuple(sorted(named)))
