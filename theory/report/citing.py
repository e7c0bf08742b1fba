r"""What a paper takes of many claims at once: macros for their numbers, a list, and everything for a program.

Only digits that the evidence vouches for are printed: bounds of departures rounded up, gaps of twins rounded down,
measured values as far as both ends of their interval agree.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from theory.evidence.judge import Verdict
from theory.report.archive import Entry, Record
from theory.report.citation import SUITE, escape_latex
from theory.report.digits import at_least, at_most, common
from theory.report.proofs import NONE, Proof

_DIGITS = ("Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
_HEAD = r"""% Numbers of the claims of attention-theory, each as far as its record vouches for it.
% \LipschitzSharpWOne is the largest departure that the data still allow, of what is refuted the least that they show;
% \LipschitzSharpWOne[gap] and others are verdict, kind, scale, cases, departure, gap, tightness, measured, claimed;
% so is \theorynumber[gap]{maxent.gibbs}.
\makeatletter
\providecommand{\theorynumber}[2][departure]{\@ifundefined{theory@#2@#1}%
  {\PackageError{attention-theory}{no #1 of #2}{}}{\csname theory@#2@#1\endcsname}}
"""


def macro_name(claim: str) -> str:
    r"""Return the name of the macro of a claim; digits are spelled, as TeX wants letters.

    Examples
    --------
    >>> macro_name("lipschitz.sharp-w1")
    'LipschitzSharpWOne'
    """
    words = re.split(r"[.-]", claim)
    return "".join(re.sub(r"\d", lambda digit: _DIGITS[int(digit[0])], word[:1].upper() + word[1:]) for word in words)


def numbers_of(record: Record) -> dict[str, str]:
    """Return what a macro of a claim can print, as LaTeX, at its largest scale."""
    entry = record.best
    lo, hi = entry.departure.lo, entry.departure.hi
    refuted = entry.verdict is Verdict.REFUTED
    told = {
        "verdict": escape_latex(record.describe(entry)),
        "kind": entry.kind.name.lower(),
        "scale": entry.scale,
        "cases": str(entry.cases),
        "departure": _formula(at_least(lo, tex=True) if refuted else at_most(max(hi, 0.0), tex=True)),
    }
    if entry.nearest is not None and entry.nearest.gap > 0.0:
        told["gap"] = _formula(at_least(entry.nearest.gap, tex=True))
    if entry.tightness is not None:
        told["tightness"] = _formula(at_most(entry.tightness, tex=True, figures=7))
    if entry.worst is not None:
        told["measured"] = _formula(common(entry.worst.measured, tex=True))
        told["claimed"] = _formula(common(entry.worst.claimed, tex=True))
    return told


def _formula(text: str) -> str:
    return rf"\ensuremath{{{text}}}"


def as_macros(records: Sequence[Record]) -> str:
    """Return ``numbers.tex``: one macro for each claim."""
    text = _HEAD
    for record in records:
        name = record.claim.id
        text += "".join(
            rf"\@namedef{{theory@{name}@{field}}}{{{value}}}" + "%\n" for field, value in numbers_of(record).items()
        )
        text += rf"\newcommand{{\{macro_name(name)}}}[1][departure]{{\theorynumber[#1]{{{name}}}}}" + "\n"
    return text + "\\makeatother\n"


def as_markdown(records: Sequence[Record]) -> str:
    """Return a list for a text in Markdown, with keys of sources as pandoc reads them."""
    return "".join(_item(record) for record in records)


def _item(record: Record) -> str:
    entry = record.best
    places = {key: f", {place}" for key, place in record.locators.items()}
    cites = "; ".join(f"@{key}{places.get(key, '')}" for key in (*record.claim.cites, SUITE))
    cases = f"{entry.cases} case{'' if entry.cases == 1 else 's'}"
    return (
        f"- **{record.claim.words[:1].upper()}{record.claim.words[1:]}** (`{record.claim.id}`): "
        f"{record.describe(entry)}, kind {entry.kind.name.lower()}, {cases}, scale {entry.scale}; "
        f"{_departure(entry)}{_gap(entry)} [{cites}].\n"
    )


def _departure(entry: Entry) -> str:
    if entry.verdict is Verdict.REFUTED:
        return f"some case departs by at least {at_least(entry.departure.lo)}"
    return f"no departure above {at_most(entry.departure.hi)}" if entry.departure.hi > 0.0 else "no departure"


def _gap(entry: Entry) -> str:
    if entry.nearest is None:
        return ", and it has no twin"
    if entry.nearest.gap <= 0.0:
        return ", but a wrong version is not refuted"
    return f", while the nearest wrong version fails by at least {at_least(entry.nearest.gap)}"


def as_results(records: Sequence[Record], proofs: Mapping[str, Proof], version: str) -> str:
    """Return ``results.json``: what is claimed and what became of it, as ``results.schema.json`` describes it."""
    whole = {"suite": SUITE, "version": version, "claims": [_result(record, proofs) for record in records]}
    return json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _result(record: Record, proofs: Mapping[str, Proof]) -> dict[str, Any]:
    claim = record.claim
    proof = proofs.get(claim.id, NONE)
    return {
        "id": claim.id,
        "words": claim.words,
        "statement": claim.statement,
        "assumptions": list(claim.assumptions),
        "labels": list(claim.spec),
        "sources": list(claim.cites),
        "locators": dict(record.locators),
        "source_status": list(claim.source_status),
        "proof": proof.level,
        "uses": list(proof.uses),
        "test": record.test,
        "scales": {scale: _scale(record, entry) for scale, entry in record.entries.items()},
    }


def _scale(record: Record, entry: Entry) -> dict[str, Any]:
    gap = None if entry.nearest is None or entry.nearest.gap <= 0.0 else entry.nearest.gap
    return {
        "verdict": entry.verdict.value,
        "described": record.describe(entry),
        "kind": entry.kind.name.lower(),
        "cases": entry.cases,
        "departure": [_finite(entry.departure.lo), _finite(entry.departure.hi)],
        "gap": _finite(gap),
        "tightness": _finite(entry.tightness),
        "commit": entry.provenance.get("commit"),
    }


def _finite(value: float | None) -> float | None:
    """Return a number that JSON has."""
    return value if value is not None and math.isfinite(value) else None


SCHEMA: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Results of attention-theory",
    "type": "object",
    "required": ["suite", "version", "claims"],
    "additionalProperties": False,
    "properties": {
        "suite": {"const": SUITE},
        "version": {"type": "string"},
        "claims": {"type": "array", "items": {"$ref": "#/definitions/claim"}},
    },
    "definitions": {
        "texts": {"type": "array", "items": {"type": "string"}},
        "claim": {
            "type": "object",
            "required": ["id", "words", "statement", "scales", "sources", "proof", "uses", "test"],
            "additionalProperties": False,
            "properties": {
                "id": {"type": "string", "pattern": r"^[a-z][a-z0-9-]*\.[a-z0-9-]+$"},
                **{name: {"type": "string"} for name in ("words", "statement", "test")},
                **{
                    name: {"$ref": "#/definitions/texts"}
                    for name in ("assumptions", "labels", "sources", "source_status", "uses")
                },
                "locators": {
                    "type": "object",
                    "description": "where in a source, by its key, stands what the claim is about",
                    "additionalProperties": {"type": "string"},
                },
                "proof": {"enum": ["none", "printed", "refereed", "formal in part", "formal"]},
                "scales": {
                    "type": "object",
                    "propertyNames": {"enum": ["quick", "paper"]},
                    "minProperties": 1,
                    "additionalProperties": {"$ref": "#/definitions/scale"},
                },
            },
        },
        "scale": {
            "type": "object",
            "description": "departure: how far beyond the claim the truth may lie, from lowest to highest; gap: the "
            "least departure by which the nearest wrong version certainly fails; an end that is not known is null",
            "required": ["verdict", "described", "kind", "cases", "departure", "gap", "tightness", "commit"],
            "additionalProperties": False,
            "properties": {
                "verdict": {"enum": [verdict.value for verdict in Verdict]},
                "described": {"type": "string"},
                "kind": {"enum": ["proved", "certified", "numeric", "estimated", "trend", "statistical"]},
                "cases": {"type": "integer", "minimum": 1},
                "departure": {"type": "array", "items": {"type": ["number", "null"]}, "minItems": 2, "maxItems": 2},
                "gap": {"type": ["number", "null"]},
                "tightness": {"type": ["number", "null"]},
                "commit": {"type": ["string", "null"]},
            },
        },
    },
}


def schema() -> str:
    """Return ``results.schema.json``."""
    return json.dumps(SCHEMA, indent=1) + "\n"
