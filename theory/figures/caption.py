"""What a figure says about its own claims: verdict, kind, worst departure and nearest twin, all from the evidence."""

from __future__ import annotations

from collections import Counter

from theory.figures.gate import Ruling
from theory.report.archive import Entry, Record
from theory.report.digits import at_least, at_most

_SINGLY = 3  # taken: more claims than this are counted instead of told one by one


def clauses(ruling: Ruling) -> list[str]:
    """Return the lines of the caption: two per claim, or two for all together if they are many."""
    found = [(record, record.entries[ruling.scale]) for record in ruling.records if ruling.scale in record.entries]
    if not found:
        return [f"No evidence at scale {ruling.scale}."]
    return _together(found, ruling) if len(found) > _SINGLY else [line for each in found for line in _alone(*each)]


def _alone(record: Record, entry: Entry) -> list[str]:
    twin = entry.nearest
    if twin is None:
        nearest = "it has no twin"
    elif twin.gap <= 0.0:
        nearest = f"the twin {twin.id} is not refuted"
    else:
        nearest = f"the nearest twin ({twin.id}) fails by $\\geq{at_least(twin.gap, tex=True)}$"
    kind, least = entry.kind.name.lower(), entry.departure.lo
    worst = f"\\geq{at_least(least, tex=True)}" if least > 0.0 else f"\\leq{at_most(entry.departure.hi, tex=True)}"
    return [
        f"{record.claim.id}: {record.told(entry)}, {kind} (scale {entry.scale}, root {entry.root}).",
        f"Worst departure ${worst}$; {nearest}.",
    ]


def _together(found: list[tuple[Record, Entry]], ruling: Ruling) -> list[str]:
    verdicts = Counter(record.told(entry) for record, entry in found)
    kinds = Counter(entry.kind for _, entry in found)
    counted = (
        f"{len(found)} claims at scale {ruling.scale}, root {ruling.root}: "
        f"{', '.join(f'{count} {verdict}' for verdict, count in sorted(verdicts.items(), key=lambda v: -v[1]))} "
        f"({', '.join(f'{kinds[kind]} {kind.name.lower()}' for kind in sorted(kinds))})."
    )
    strict = [(record, entry) for record, entry in found if record.told(entry) == entry.verdict.value]
    if not strict:
        return [counted]
    record, entry = max(strict, key=lambda each: _used(each[1]))
    part = entry.tightest
    if part is None:
        return [counted]
    return [
        counted,
        f"Nearest to its limit: {record.claim.id}, worst departure $\\leq{at_most(part.departure.hi, tex=True)}$ "
        f"where ${at_least(part.reach, tex=True)}$ is allowed.",
    ]


def _used(entry: Entry) -> float:
    """Return the share of what a claim may allow that it does allow."""
    return 0.0 if entry.tightest is None else entry.tightest.used
