"""The evidence as text: every claim on a line, or one claim in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

from theory.evidence.interval import Kind
from theory.evidence.judge import Part
from theory.evidence.runner import TwinResult
from theory.report.archive import Entry, Record
from theory.report.digits import at_least, at_most, common
from theory.report.freshness import Changes
from theory.report.index import marks
from theory.report.proofs import NONE, Proof, used_by

_COLOUR = {"supported": "32", "refuted": "1;31", "inconclusive": "33", "vacuous": "35"}  # what is stated: cyan
_WIDTH = 110
_WORDS = 30  # chosen: characters of its words by which a reader knows a claim
_FEW = 8
_LEAST = ("proof", "kind", "scale", "verdict")  # left out in this order where a terminal is narrow
_FIRST = ("suite", "closure", "backend", "machine", "processor", "vectors", "kernels_for", "blas", "python")
_ELSEWHERE = ("commit",)  # which has a line of its own
_NAME = 13  # the widest label and two blanks
BY_RIGHT = {
    Kind.PROVED: "on a whole stated box, or symbolically",
    Kind.CERTIFIED: "on each case, by a two-sided enclosure",
    Kind.NUMERIC: "on each case, by an a-priori rounding bound",
    Kind.ESTIMATED: "on each case, if the difference of two computations bounds the error",
    Kind.TREND: "in the limit, if the levels seen are asymptotic",
    Kind.STATISTICAL: "with a stated probability",
}


def format_list(
    shown: Sequence[Record],
    *,
    colour: bool,
    changes: Changes | None = None,
    proofs: Mapping[str, Proof] | None = None,
    columns: int | None = None,
) -> str:
    """Return one aligned line per claim: id, verdict, kind, scale and words, at its largest scale.

    A ``*`` behind the scale marks what was recorded before the code changed; the last line counts them. Where there
    are printed proofs, a column says what is behind them: a referee, or theorems that Coq checks, in whole or in part.

    With ``columns``, as on a terminal, the first line names the columns, and no line is longer: words are cut, and
    where that leaves few, columns are left out, which a last line says. Without, as in a pipe, a line is a claim in
    full.
    """
    old = {r.claim.id for r in shown if (r.claim.id, r.best.scale) in (changes or {})}
    rows = [
        [
            r.claim.id,
            r.describe(r.best),
            r.best.kind.name.lower(),
            *([proofs.get(r.claim.id, NONE).level] if proofs else []),
            r.best.scale + "*" * (r.claim.id in old),
            r.claim.words,
        ]
        for r in shown
    ]
    head = ["claim", "verdict", "kind", *(["proof"] if proofs else []), "scale", "words"]
    left_out: list[str] = []
    if columns is not None and rows:
        rows, left_out = _fit([head, *rows], columns)
    wide = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    text = ""
    for number, row in enumerate(rows):
        cells = [cell.ljust(width) for cell, width in zip(row, wide, strict=True)]
        if colour and columns is not None and number == 0:
            cells[0], cells[-1] = f"\x1b[1m{cells[0]}", f"{cells[-1].rstrip()}\x1b[0m"
        elif colour and "verdict" not in left_out:
            cells[1] = f"\x1b[{_COLOUR.get(row[1], '36')}m{cells[1]}\x1b[0m"
        text += "  ".join(cells).rstrip() + "\n"
    if left_out:
        text += _cut(f"left out for want of room: {', '.join(left_out)}", columns) + "\n"
    if not old:
        return text
    mark = "" if "scale" in left_out else "* "
    return text + _cut(f"{mark}recorded before its code changed: {len(old)} of {len(shown)} claims", columns) + "\n"


def _fit(table: Sequence[Sequence[str]], columns: int) -> tuple[list[list[str]], list[str]]:
    """Leave out columns of a table, then cut its last one, until it is as wide as a terminal; say what is left out."""
    wide = {row[0]: max(map(len, row)) + 2 for row in zip(*table, strict=True)}
    wide.pop("words")
    left_out: list[str] = []
    for name in _LEAST:
        if name in wide and columns - sum(wide.values()) < _WORDS:
            del wide[name]
            left_out.append(name)
    kept = [k for k, name in enumerate(table[0]) if name not in left_out]
    room = max(columns - sum(wide.values()), _FEW)
    longest = max(columns - _FEW - 2, _FEW)  # of an id, where a terminal is narrower than an id is long
    rows = [[row[k] for k in kept] for row in table]
    return [[_cut(row[0], longest), *row[1:-1], _cut(row[-1], room)] for row in rows], left_out


def _cut(text: str, room: int | None) -> str:
    return text if room is None or len(text) <= room else f"{text[: max(room - 3, 0)]}..."


def format_claim(
    record: Record,
    changes: Changes | None = None,
    proofs: Mapping[str, Proof] | None = None,
    figures: Sequence[str] = (),
) -> str:
    """Return the text that ``explain`` shows; ``figures`` are those in which the claim is drawn."""
    claim = record.claim
    proof = (proofs or {}).get(claim.id)
    users = used_by(proofs or {}).get(claim.id, ())
    text = [
        f"{claim.id}: {claim.words}",
        "",
        _line("statement", claim.statement),
        *(_line("" if k else "hypotheses", text) for k, text in enumerate(claim.assumptions or ("none",))),
        _line("wording", f"{', '.join(claim.source_status)} {marks(record)}"),
        _line("labels", ", ".join(claim.spec) or "none"),
        _line("sources", ", ".join(_source(record, key) for key in claim.cites) or "none"),
        *(
            [_line("proof", f"{proof.printed.removeprefix('proof ')}, proofs/{proof.file}.md")]
            if proof and proof.file
            else [_line("proof", f"{proof.printed}, proofs/{proof.place}.md")]
            if proof and proof.place
            else []
        ),
        *([_line("formal", proof.formal)] if proof and proof.formal else []),
        *([_line("uses", ", ".join([*proof.uses, *proof.lemmas]))] if proof and (proof.uses or proof.lemmas) else []),
        *([_line("used by", ", ".join(users))] if users else []),
        *([_line("figures", ", ".join(figures))] if figures else []),
    ]
    for entry in record.entries.values():
        text += ["", *_scale(record, entry, (changes or {}).get((claim.id, entry.scale)))]
    return "\n".join(text) + "\n"


def _source(record: Record, key: str) -> str:
    return f"{key} ({record.locators[key]})" if key in record.locators else key


def _scale(record: Record, entry: Entry, changed: tuple[str, ...] | None) -> list[str]:
    said = record.describe(entry).replace(entry.verdict.value, entry.verdict.name)
    verdict = f"{said}, kind {entry.kind.name.lower()} ({BY_RIGHT[entry.kind]})"
    text = [_line(f"{entry.scale} scale", verdict), _line("departure", _departure(entry))]
    if entry.worst is not None:
        worst = entry.worst
        found = f"measured {common(worst.measured)}, claimed {common(worst.claimed)} ({worst.relation})"
        text.append(_line("worst case", f"number {worst.number}{_case(worst.case)}: {found}"))
    if entry.tightness is not None:
        text.append(_line("tightness", f"largest measured/bound is at most {at_most(entry.tightness, figures=7)}"))
    if len(entry.parts) > 1:
        parts = [_part(name, part) for name, part in entry.parts.items()]
        text += [_line("" if k else "parts", part) for k, part in enumerate(parts)]
    text += [_line("" if k else "twins", _twin(twin, entry)) for k, twin in enumerate(entry.twins)]
    first = [name for name in _FIRST if name in entry.provenance]
    made_with = [*first, *(name for name in entry.provenance if name not in (*first, *_ELSEWHERE))]
    versions = ", ".join(f"{name} {entry.provenance[name]}" for name in made_with if entry.provenance[name] is not None)
    text += [
        *(_line("table", f"{name} sha256 {digest}") for name, digest in entry.tables.items()),
        _line("recorded", _record_line(entry, changed)),
        _line("made with", versions),
        _line("decide again", record.command(entry), wrap=False),
    ]
    if entry.worst is not None:
        text.append(_line("worst again", record.command(entry, case=entry.worst.number), wrap=False))
    return text


def _record_line(entry: Entry, changed: tuple[str, ...] | None) -> str:
    """Say at which commit an entry was recorded, and what has changed since of the code that decides it."""
    commit = entry.provenance["commit"]
    at = "at no known commit" if commit is None else f"at {commit.removesuffix('+')}"
    own = ", with changes of its own" if commit is not None and commit.endswith("+") else ""
    since = "" if changed is None else f"; code since changed{' in ' if changed else ''}{', '.join(changed)}"
    return f"{at}{own}{since}"


def _departure(entry: Entry) -> str:
    cases = f"{entry.cases} case{'' if entry.cases == 1 else 's'}"
    least = f"at least {at_least(entry.departure.lo)}, " if entry.departure.lo > 0.0 else ""
    return (
        f"{least}at most {at_most(entry.departure.hi)} in units of the check's scale, over {cases}, root {entry.root}"
    )


def _part(name: str, part: Part) -> str:
    kind = part.departure.kind.name.lower()
    count = f"{part.cases} case{'' if part.cases == 1 else 's'}"
    found = f"at most {at_most(part.departure.hi)}, {kind}, {count}"
    rest = f"its nearest twin fails by at least {at_least(part.gap)}" if part.gap > 0.0 else "refuted by NO twin"
    return f"{name or '(unnamed)'}: {found}; {rest}"


def _twin(twin: TwinResult, entry: Entry) -> str:
    name = f"{twin.twin.id} ({twin.twin.made_by}{', the nearest' if twin is entry.nearest else ''}): {twin.twin.breaks}"
    if not twin.refuted:
        return f"{name}; NOT refuted in {twin.cases} cases"
    part = min(twin.refuted, key=lambda part: twin.refuted[part])
    where = f" in the part {part or '(unnamed)'}" if len(entry.parts) > 1 else ""
    found = f"fails by at least {at_least(twin.gap)}{where}, caught in {twin.catches} of {twin.cases} cases"
    return f"{name}; {found}{', clearest' if twin.case else ''}{_case(twin.case)}"


def _case(case: Mapping[str, Any]) -> str:
    return f" at {', '.join(f'{name}={value}' for name, value in case.items())}" if case else ""


def _line(name: str, text: str, *, wrap: bool = True) -> str:
    first = name.ljust(_NAME)
    rest = " " * _NAME
    if not wrap:  # a command must survive being copied
        return first + text
    return fill(
        text, _WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
