"""The verified table: a figure is drawn as verified only from the table on which its claims were judged.

The study runs afresh. Every claim of the figure must be supported at that scale and root, or have come out as it
states, and its evidence must hold the fingerprint of a table of that study. If the fresh table has this fingerprint, it
is the judged one. If not, another processor may have moved its last digits: then the judged table is the committed CSV
of this fingerprint, and it stands if the fresh one agrees with it within its intervals. Everything else gets a reason,
in words, and the command that mends it.

A study that asks for ``evidence`` draws the verdicts themselves; its table is made from the evidence and needs no
fingerprint in it.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from theory.evidence import Table
from theory.evidence.runner import conditions, title_of
from theory.figures.registry import FigureModule
from theory.report.archive import ArchiveError, Record, read

_NAMED = 3  # chosen: as many claims as a stamp has room for


@dataclass(frozen=True, slots=True)
class TableVerdict:
    """The table that a figure is to be drawn from, the evidence about its claims, and what is wrong with it.

    ``reason`` is ``None`` if the table is the judged one; otherwise it is one phrase for the stamp, free of anything
    that differs between machines, and ``remedy`` is the command that renews the evidence.
    """

    table: Table
    records: tuple[Record, ...]
    scale: str
    root: int
    reason: str | None = None
    remedy: str | None = None


def verify_table(
    name: str, module: FigureModule, *, scale: str, root: int, evidence: Path, folders: Sequence[Path]
) -> TableVerdict:
    """Run the study of a figure and tell which table it may be drawn from.

    Parameters
    ----------
    name : str
        Name of the figure, which names its CSV.
    module : FigureModule
        Its module.
    scale, root : str, int
        Of the study, and of the evidence.
    evidence : Path
        Folder of the records, one JSON file per claim.
    folders : sequence of Path
        Folders where the CSV of the judged table may lie.
    """
    own = "evidence" in inspect.signature(module.STUDY).parameters
    with conditions():  # as when it was judged: the number of threads moves last digits
        table = module.STUDY(scale=scale, root=root, **({"evidence": evidence} if own else {}))
    records, faults = _read_records(module.CLAIMS, evidence)
    faults += _evidence_faults(records, scale, root, None if own else title_of(module.STUDY))
    if not faults and not own:
        prints = {record.entries[scale].tables[title_of(module.STUDY)] for record in records}
        table, faults = _judged_table(table, prints, [folder / f"{name}.csv" for folder in folders], module.CLAIMS)
    if not faults:
        return TableVerdict(table, records, scale, root)
    reasons = list(dict.fromkeys(reason for _, reason in faults))
    remedy = _remedy((claim for claim, _ in faults), scale, evidence)
    return TableVerdict(table, records, scale, root, _join_first(reasons, "; "), remedy)


def _read_records(claims: Iterable[str], evidence: Path) -> tuple[tuple[Record, ...], list[tuple[str, str]]]:
    """Read the records of the claims, and pair every claim that has none with a reason."""
    found: dict[str, Record] = {}
    faults = []
    for pattern in claims:
        paths = sorted(evidence.glob(f"{pattern}.json"), key=lambda path: path.stem)
        if not paths:
            faults.append((pattern, f"no evidence for {'any claim' if '*' in pattern else pattern}"))
        for path in paths:
            try:
                found[path.stem] = read(path)
            except ArchiveError:
                faults.append((path.stem, f"the record of {path.stem} cannot be read"))
    return tuple(found.values()), faults


def _evidence_faults(records: Iterable[Record], scale: str, root: int, study: str | None) -> list[tuple[str, str]]:
    """Pair every claim of which the evidence does not vouch for a table of ``study`` with the reason."""
    faults = []
    for record in records:
        claim = record.claim.id
        entry = record.entries.get(scale)
        if entry is None:
            faults.append((claim, f"no evidence for {claim} at scale {scale}"))
        elif entry.verdict not in record.claim.finds:
            faults.append((claim, f"{claim} is {entry.verdict.value}"))
        elif entry.root != root:
            faults.append((claim, f"{claim} was decided with root {entry.root}, not {root}"))
        elif study is not None and study not in entry.tables:
            faults.append((claim, f"{claim} was not judged on a table of {study}"))
    return faults


def _judged_table(
    fresh: Table, prints: set[str], paths: Sequence[Path], claims: Sequence[str]
) -> tuple[Table, list[tuple[str, str]]]:
    """Return the judged table, or the fresh one with the reason why it is not."""
    if prints == {fresh.sha256}:
        return fresh, []
    if len(prints) > 1:
        return fresh, [(claim, "its claims were judged on different tables") for claim in claims]
    kept = [table for table in map(load_committed, paths) if table is not None]
    for table in kept:
        if table.sha256 in prints:
            where = table.differs(fresh)
            if where is None:
                return table, []
            return fresh, [(claim, f"the table differs from the judged one: {where}") for claim in claims]
    where = next((f" (against the CSV: {part})" for part in (t.differs(fresh) for t in kept) if part), "")
    return fresh, [(claim, f"the table is not the judged one{where}") for claim in claims]


def load_committed(path: Path) -> Table | None:
    """Read a committed table; ``None`` if there is none or it is none."""
    try:
        return Table.from_csv(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _join_first(phrases: Sequence[str], joint: str) -> str:
    """Join the first phrases and count the rest."""
    rest = len(phrases) - _NAMED
    return joint.join(phrases[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _remedy(claims: Iterable[str], scale: str, evidence: Path) -> str:
    """Return the command that renews the evidence, which is of one root: a figure of another one stays stamped."""
    chosen = " or ".join(dict.fromkeys(claim for claim in claims if "*" not in claim))
    words = ["pytest", str(evidence.parent), *(["-k", chosen] if chosen else [])]
    words += ["--scale", scale] if scale != "quick" else []
    return shlex.join([*words, "--record"])
