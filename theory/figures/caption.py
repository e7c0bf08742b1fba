"""What a figure says about its own claims: verdict, kind, worst departure and nearest twin, all from the evidence.

The caption says all of it, at the scale that is cited; a footer is the one line that a picture has room for, and is of
the scale that it was drawn at.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from theory.figures.verified_table import TableVerdict
from theory.report.archive import Entry, Record
from theory.report.citation import escape_latex
from theory.report.digits import at_least, at_most

_SINGLY = 3  # chosen: more claims than this are counted instead of described one by one
_BY_NAME = 9  # chosen: so many may have room for their names in a line
_CITED = "paper"  # the scale of the numbers that are cited


def in_symbols(title: str) -> str:
    r"""Return a title with the Wasserstein distances that it names as symbols.

    Examples
    --------
    >>> in_symbols("near in W1, far in W infinity")
    'near in $W_1$, far in $W_\\infty$'
    """
    return re.sub(r"\bW infinity\b", r"$W_\\infty$", re.sub(r"\bW(\d)\b", r"$W_\1$", title))


def caption_lines(verdict: TableVerdict) -> list[str]:
    """Return the lines of the caption: two per claim, or two for all together if they are many.

    Its numbers are of paper scale if all claims are recorded so; then it says at which scale the figure was drawn.
    """
    scale = _CITED if all(_CITED in record.entries for record in verdict.records) else verdict.scale
    found = [(record, record.entries[scale]) for record in verdict.records if scale in record.entries]
    if not found:
        return [f"No evidence at scale {verdict.scale}."]
    drawn = [] if scale == verdict.scale else [f"Drawn at {verdict.scale} scale."]
    if len(found) > _SINGLY:
        return [*_summarise(found), *drawn]
    return [*(line for record, entry in found for line in _describe(record, entry)), *drawn]


def footers(verdict: TableVerdict) -> list[str]:
    """Return what may stand below the picture in one line, from the longest on; the last is short."""
    found = [(record, record.entries[verdict.scale]) for record in verdict.records if verdict.scale in record.entries]
    if not found:
        return caption_lines(verdict)
    verdicts = Counter(record.describe(entry) for record, entry in found)
    counts = ", ".join(f"{count} {words}" for words, count in verdicts.most_common())
    told = f"{counts} (scale {verdict.scale})."
    records = [record for record, _ in found]
    subjects = list(dict.fromkeys(record.subject for record in records))
    lines = [f"{len(found)} claims on {', '.join(subjects)}: {told}", f"{len(found)} claims: {told}"]
    if len(found) <= _BY_NAME:
        some = [f"{_names(records[:k])} and {len(found) - k} more: {told}" for k in range(len(found) - 1, 1, -1)]
        names = _names(records)
        lines = [f"{names}: {told}", f"{names}: {counts} ({verdict.scale}).", *some, *lines]
    if len(found) <= _SINGLY:
        each = [f"{record.claim.id}: {record.describe(entry)}, {entry.kind.name.lower()}" for record, entry in found]
        lines.insert(0, f"{'; '.join(each)} (scale {verdict.scale}).")
    if len(found) == 1:
        lines.insert(0, f"{lines[0]} {_departure(found[0][1])}")
    return lines


def _names(records: Sequence[Record]) -> str:
    """Return the names of claims, with their subject where it is another than that of the one before."""
    subjects = ["", *(record.subject for record in records)]
    return ", ".join(
        record.claim.id.removeprefix(before if before == record.subject else "")
        for before, record in zip(subjects, records, strict=False)
    )


def tex_caption(name: str, title: str, verdict: TableVerdict) -> str:
    """Return the caption of a figure without words of its own, in LaTeX."""
    words = [f"{in_symbols(title[:1].upper() + title[1:])}.", *caption_lines(verdict)]
    pieces = re.split(r"(\$[^$]*\$)", " ".join(words))
    text = "".join(piece if piece.startswith("$") else escape_latex(piece) for piece in pieces)
    return f"\\caption{{{text}}}\n\\label{{fig:{name}}}\n"


def _describe(record: Record, entry: Entry) -> list[str]:
    kind = entry.kind.name.lower()
    return [
        f"{record.claim.id}: {record.describe(entry)}, {kind} (scale {entry.scale}, root {entry.root}).",
        _departure(entry),
    ]


def _departure(entry: Entry) -> str:
    """Return how far the worst case departs, or from departing, and what the nearest twin does."""
    twin = entry.nearest
    if twin is None:
        nearest = "it has no twin"
    elif twin.gap <= 0.0:
        nearest = f"the twin {twin.twin.id} is not refuted"
    else:
        nearest = f"the nearest twin ({twin.twin.id}) fails by $\\geq{at_least(twin.gap, tex=True)}$"
    least, most = entry.departure.lo, entry.departure.hi
    if most < 0.0:
        return f"It keeps {_margin(most)}; {nearest}."
    worst = f"\\geq{at_least(least, tex=True)}" if least > 0.0 else f"\\leq{at_most(most, tex=True)}"
    return f"Worst departure ${worst}$; {nearest}."


def _margin(most: float) -> str:
    """Say how far from departing a case is whose departure is at most a negative number."""
    return f"a margin of $\\geq{at_least(-most, tex=True)}$"


def _summarise(found: list[tuple[Record, Entry]]) -> list[str]:
    verdicts = Counter(record.describe(entry) for record, entry in found)
    kinds = Counter(entry.kind for _, entry in found)
    by_verdict = ", ".join(f"{count} {words}" for words, count in verdicts.most_common())
    by_kind = ", ".join(f"{kinds[kind]} {kind.name.lower()}" for kind in sorted(kinds))
    first = found[0][1]
    counted = f"{len(found)} claims at scale {first.scale}, root {first.root}: {by_verdict} ({by_kind})."
    strict = [(record, entry) for record, entry in found if record.describe(entry) == entry.verdict.value]
    if not strict:
        return [counted]
    record, entry = max(strict, key=lambda each: _used_share(each[1]))
    part = entry.tightest
    if part is None:
        return [counted]
    if part.departure.hi < 0.0:
        return [counted, f"Nearest to its limit: {record.claim.id}, which keeps {_margin(part.departure.hi)}."]
    return [
        counted,
        f"Nearest to its limit: {record.claim.id}, worst departure $\\leq{at_most(part.departure.hi, tex=True)}$ "
        f"where ${at_least(part.reach, tex=True)}$ is allowed.",
    ]


def _used_share(entry: Entry) -> float:
    """Return the share of what a claim may allow that it does allow."""
    return 0.0 if entry.tightest is None else entry.tightest.used
