"""What the page of a claim says, as text: every number tied to its record, every formula converted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from markupsafe import Markup, escape

from theory.evidence.judge import Verdict
from theory.evidence.runner import TwinResult
from theory.report.archive import Entry, Record
from theory.report.citation import SUITE, latex
from theory.report.citing import macro_name
from theory.report.formatting import BY_RIGHT
from theory.report.proofs import NONE, resolve
from theory.site import tied_numbers as tied
from theory.site.formulas import as_code, in_words, lines_of, typeset
from theory.site.margin_bar import draw_margin
from theory.site.material import Material, code_page
from theory.site.notation import symbols_in
from theory.site.notes import Item
from theory.site.tied_numbers import onward, pointer

_NEIGHBOURS = 3  # chosen: what a reader looks through
_MORE = 3  # chosen: a reader wants wrong versions before parts
_NOTES = 4  # chosen: notes that a reader looks through
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MOVE = re.compile(r"\b(quick and paper|quick|paper),? (\[[^\]]*\]) to (\[[^\]]*\])")
_MOVES = 2  # of a note: a claim has two scales
_DATED = 64  # chosen: characters of a note that begins with its date
_ATTAINED = 1e-6  # what the words say
_LONG = 90  # chosen: characters of a case that a row of a table holds
_RELATIONS = {"equals": "claimed to be", "at_most": "claimed to be at most", "at_least": "claimed to be at least"}
_MARKS = {
    "seen": "seen in a public text of the source",
    "recalled": "recalled, not checked against the source",
    "derived": "derived for this suite",
    "refereed": "derived a second time, with code of its own, before it was claimed",
    "refereed on paper": "derived a second time before it was claimed",
}


def claim_context(material: Material, record: Record, rows: int, *, titled: bool) -> dict[str, Any]:
    """Return what the template of a claim shows.

    Parameters
    ----------
    material, record : Material, Record
        The claim and what is around it.
    rows : int
        How many parts at most; there are a few more wrong versions.
    titled : bool
        Whether formulas of the statement say under the pointer what their symbols mean; a list below says it, too.
    """
    claim = record.claim
    name = claim.id
    best = record.best
    known = symbols_in(claim.statement, record.subject)
    told = {each.pattern: each.told for each in known if titled}
    proof = material.printed.get(name, NONE)
    about = [(material.sources[k], record.locators.get(k, "")) for k in claim.cites if k in material.sources]
    return {
        "id": name,
        "subject": record.subject,
        "words": in_words(claim.words),
        "title": claim.words.replace("$", ""),
        "statement": lines_of(claim.statement, told=told),
        "symbols": [(typeset(each.symbol), typeset(each.meaning)) for each in known],
        "remark": lines_of(claim.remark) if claim.remark else [],
        "assumptions": [in_words(text) for text in claim.assumptions],
        "labels": claim.spec,
        "described": record.describe(best),
        "verdict": best.verdict.value,
        "kind": best.kind.name.lower(),
        "right": BY_RIGHT[best.kind],
        "scales": [_scale(material, record, entry) for entry in _in_order(record)],
        "several": len(best.parts) > 1,
        "parts": _parts(best)[:rows],
        "more_parts": [part["name"] for part in _parts(best)[rows:]],
        "best": best.scale,
        "twins": [_twin(best, k) for k in _by_gap(best.twins)[: rows + _MORE]],
        "more_twins": [best.twins[k].twin.id for k in _by_gap(best.twins)[rows + _MORE :]],
        "worst": _worst(best),
        "tightness": _tightness(best),
        "marks": [_MARKS[mark] for mark in claim.source_status],
        "sources": about,
        "sources_say": {"seen": "Stated in", "recalled": "Attributed to"}.get(origin(record), "Compare"),
        "proof": f"p/{proof.file}.html#{name}" if proof.file else f"p/{proof.place}.html" if proof.place else "",
        "proof_call": "Read the proof" if proof.file else "Read what is measured",
        "proof_said": proof.printed,
        "theorems": proof.theorems,
        "uses": [(used, f"{used}.html") for used in proof.uses]
        + [(used, f"../p/lemmas.html#{used}") for used in proof.lemmas],
        "used_by": material.used_by.get(name, ()),
        "graph": f"u/{record.subject}.html",
        "figures": material.figures_of(name),
        "notes": [(item, _titled(item, name, material.records)) for item in material.notes_on(name)[:_NOTES]],
        "code": f"{code_page(record.test)}#{name}" if record.test in material.code else "",
        "test": record.test,
        "command": record.command(best),
        "latex": as_code(latex(record)),
        "macro": f"\\{macro_name(name)}",
        "entries": " ".join([*(source.key for source, _ in about), SUITE]),
        "related": [material.records[other].claim for other in _related(material, record)],
        "digest": material.digests[name],
    }


def origin(record: Record) -> str:
    """Return how the wording of a claim is known from its sources: seen in one, recalled, or else derived here."""
    return next((mark for mark in ("seen", "recalled") if mark in record.claim.source_status), "derived")


def moves_of(text: str, claim: str, claims: Collection[str]) -> list[tuple[str, str, str]]:
    """Return what an item of the log says of the numbers of a claim: scale, old interval and new one, where it does.

    Examples
    --------
    >>> moves_of("2026-01-01, `a.b`, quick [0, 1] to [0, 2], paper [0, 3] to [0, 4]; `a.c`, quick, ...", "a.b", ["a.b"])
    [('quick', '[0, 1]', '[0, 2]'), ('paper', '[0, 3]', '[0, 4]')]
    """
    pieces = re.split(r"`([^`]*)`", text)
    named = resolve(pieces[1::2], claims)
    said = (told for name, told in zip(named, pieces[2::2], strict=True) if name == claim)
    return [move for told in said for move in _MOVE.findall(" ".join(told.split()))]


def _titled(item: Item, claim: str, claims: Collection[str]) -> Markup:
    """Show the first words of a note, which may end within a formula; of a moved number its date and how it moved."""
    plain = item.title.replace("`", "")
    if _DATE.match(plain):
        if moves := moves_of(item.text, claim, claims):
            told = "; ".join(f"{scale} {old} \u2192 {new}" for scale, old, new in moves[:_MOVES])
            return escape(f"{plain[:10]}, {told}")
        return escape(f"{plain.partition('$')[0][:_DATED].rpartition(' ')[0]} \u2026")
    return typeset(plain if plain.count("$") % 2 == 0 else plain.rpartition("$")[0] + "\u2026")


def _in_order(record: Record) -> list[Entry]:
    """Return the entries, the one that is cited first."""
    return [record.best, *(entry for entry in record.entries.values() if entry is not record.best)]


def _scale(material: Material, record: Record, entry: Entry) -> dict[str, Any]:
    name = record.claim.id
    commit = entry.provenance.get("commit")
    return {
        "name": entry.scale,
        "described": record.describe(entry),
        "verdict": entry.verdict.value,
        "departure": _departure(entry),
        "bar": draw_margin(entry.tightest),
        "cases": tied.count(entry.cases, "/cases"),
        "one": entry.cases == 1,
        "nearest": _nearest(entry),
        "fresh": (name, entry.scale) not in material.changes,
        "commit": commit or "no known commit",
    }


def _departure(entry: Entry) -> Markup:
    """Say how far the truth may lie beyond the claim, as a line of LaTeX does that cites it."""
    source = "/departure"
    found = entry.departure
    if entry.verdict is Verdict.REFUTED:
        return Markup("some case departs by at least {}").format(tied.lower(found, source))
    if found.hi > 0.0:
        return Markup("no departure above {}").format(tied.upper(found, source))
    if found.hi == 0.0:
        return Markup("no departure")
    return Markup("every case keeps a margin of at least {}").format(tied.least(-found.hi, source))


def _nearest(entry: Entry) -> Markup:
    if entry.nearest is None:
        return Markup("it has no twin")
    number = entry.twins.index(entry.nearest)
    if entry.nearest.gap <= 0.0:
        return Markup("a twin is not refuted")
    where = onward("twins", number, "refuted", _nearest_part(entry.nearest))
    return Markup("the nearest wrong version fails by at least {}").format(tied.least(entry.nearest.gap, where))


def _nearest_part(twin: TwinResult) -> str:
    """Return the part in which a twin fails by least, of those that it refutes."""
    return min(twin.refuted, key=lambda part: twin.refuted[part])


def _parts(entry: Entry) -> list[dict[str, Any]]:
    """Return the statements of a claim that has several."""
    if len(entry.parts) < 2:
        return []
    rows = []
    for key, part in sorted(entry.parts.items(), key=lambda item: -item[1].used):
        most = part.departure.hi
        rows.append(
            {
                "name": key or "the rest",
                "at": onward(key),
                "departure": tied.most(most, "/departure/1") if most > 0.0 else Markup("none"),
                "cases": tied.count(part.cases, "/cases"),
                "kind": part.departure.kind.name.lower(),
                "gap": tied.least(part.gap, "/gap") if part.gap > 0.0 else Markup("no twin"),
            }
        )
    return rows


def _by_gap(twins: tuple[TwinResult, ...]) -> list[int]:
    """Return the numbers of the twins, the nearest first."""
    return sorted(range(len(twins)), key=lambda k: twins[k].gap)


def _twin(entry: Entry, number: int) -> dict[str, Any]:
    twin = entry.twins[number]
    part = _nearest_part(twin) if twin.refuted else None
    return {
        "id": twin.twin.id,
        "made_by": twin.twin.made_by,
        "breaks": typeset(twin.twin.breaks),
        "at": onward(number),
        "part": "" if part is None else part or "the rest",
        "gap": Markup("not refuted") if part is None else tied.least(twin.gap, onward("refuted", part)),
        "catches": tied.count(twin.catches, "/catches"),
    }


def _tightness(entry: Entry) -> Markup:
    """Say how near the largest measured value comes to the bound, or nothing where there is none."""
    where = pointer("scales", entry.scale, "tightness")
    if entry.tightness is None:
        return Markup("")
    if abs(entry.tightness - 1.0) <= _ATTAINED:
        return Markup("The largest measured value is the bound, {}.").format(
            tied.verbatim("to within a millionth", where)
        )
    return Markup("The largest measured value is at most {} times the bound.").format(
        tied.most(entry.tightness, where, figures=7)
    )


def _worst(entry: Entry) -> dict[str, Any] | None:
    if entry.worst is None:
        return None
    return {
        "relation": _RELATIONS.get(entry.worst.relation, entry.worst.relation),
        "measured": tied.shared(entry.worst.measured, "/measured"),
        "claimed": tied.shared(entry.worst.claimed, "/claimed"),
        "case": tied.verbatim(_case(entry.worst.case), "/case") if entry.worst.case else "",
        "number": tied.count(entry.worst.number, "/number"),
    }


def _case(case: Mapping[str, Any]) -> str:
    text = ", ".join(f"{key} = {value}" for key, value in case.items())
    return text if len(text) <= _LONG else f"{text[:_LONG].rsplit(' ', 1)[0]} \u2026"


def _related(material: Material, record: Record) -> list[str]:
    """Return the claims that share most with one: a label or a table counts three times as much as a source."""
    shared: Counter[str] = Counter()
    mine = _threads(record)
    for other in material.records.values():
        if other is not record:
            common = mine.keys() & _threads(other).keys()
            shared[other.claim.id] = sum(mine[thread] for thread in common)
    order = list(material.records)
    ranked = sorted((c for c in shared if shared[c] > 0), key=lambda c: (-shared[c], order.index(c)))
    return ranked[:_NEIGHBOURS]


def _threads(record: Record) -> dict[tuple[str, str], int]:
    tables = {table for entry in record.entries.values() for table in entry.tables}
    return {
        **{("label", label): 3 for label in record.claim.spec},
        **{("table", table): 3 for table in tables},
        **{("source", key): 1 for key in record.claim.cites},
        ("subject", record.subject): 1,
    }
