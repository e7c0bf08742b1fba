"""What a reader can search: an entry for each claim, as a script, since browsers read no other file from a folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from theory.report.archive import Record
from theory.report.proofs import NONE
from theory.report.search import RULES, document
from theory.site.material import Material


def documents(material: Material) -> list[dict[str, Any]]:
    """Return what is searched and what facets ask for, a document for each claim."""
    return [_document(material, record) for record in material.records.values()]


def _document(material: Material, record: Record) -> dict[str, Any]:
    claim = record.claim
    return document(record) | {
        "kind": record.best.kind.name.lower(),
        "verdict": record.describe(record.best),
        "proof": material.printed.get(claim.id, NONE).level,
        "sources": list(claim.cites),
        "figures": [figure.name for figure in material.figures_of(claim.id)],
    }


def index_script(material: Material) -> str:
    """Return the documents, and the rules by which they are searched, as a script that sets ``ATLAS``."""
    return _script("ATLAS", {"claims": documents(material), "rules": RULES})


def bibtex_script(entries: Mapping[str, str]) -> str:
    """Return entries of BibTeX by their keys, as a script that sets ``BIB``."""
    return _script("BIB", entries)


def _script(name: str, value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return f"globalThis.{name} = " + text.replace("</", "<\\/") + ";\n"
