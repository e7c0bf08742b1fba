"""The committed evidence, read back as values.

:mod:`theory.evidence.record` writes one JSON file per claim with an entry per scale; here it becomes a
:class:`Record` again, once :mod:`theory.evidence.record` has judged it from its own numbers. No check runs and nothing
of the verify suite is imported, so the evidence of another repository reads the same way.
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from theory.evidence.claim import Claim, Twin
from theory.evidence.interval import Interval, Kind
from theory.evidence.judge import Part, Verdict, describe_verdict, tightest_part
from theory.evidence.record import (
    RecordError,
    claim_of,
    interval_of,
    kind_of,
    locators_file,
    part_of,
    read as read_record,
    read_locators,
)
from theory.evidence.runner import SCALES, TwinResult, nearest_twin
from theory.report.subject_order import sort_key

T = TypeVar("T")


class ArchiveError(ValueError):
    """Evidence or notes are missing or broken, or a name is in neither; the message says which and where."""


@dataclass(frozen=True, slots=True)
class Worst:
    """The case that leaves most room: its number, what it measured and what is claimed there."""

    number: int
    relation: str
    measured: Interval
    claimed: Interval
    case: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """What was found at one scale."""

    scale: str
    verdict: Verdict
    kind: Kind
    departure: Interval
    cases: int
    worst: Worst | None
    tightness: float | None
    parts: Mapping[str, Part]
    twins: tuple[TwinResult, ...]
    root: int
    tables: Mapping[str, str]
    alpha: float | None
    provenance: Mapping[str, str | None]

    @property
    def nearest(self) -> TwinResult | None:
        """The twin that fails by least, in some part that it refutes."""
        return nearest_twin(self.twins)

    @property
    def tightest(self) -> Part | None:
        """The part that allows the largest share of what it may."""
        return tightest_part(self.parts)


@dataclass(frozen=True, slots=True)
class Record:
    """A claim, the test file that decides it, an entry for every scale, and its places in sources, by their keys."""

    claim: Claim
    test: str
    entries: Mapping[str, Entry]
    locators: Mapping[str, str] = field(default_factory=dict)

    @property
    def best(self) -> Entry:
        """The entry of the largest scale."""
        return self.entries[max(self.entries, key=SCALES.index)]

    @property
    def subject(self) -> str:
        """The part of the id before the dot."""
        return self.claim.id.partition(".")[0]

    def describe(self, entry: Entry) -> str:
        """Say in words what came out at one scale."""
        return describe_verdict(entry.verdict, self.claim.finds)

    def command(self, entry: Entry, *, case: int | None = None) -> str:
        """Return the command that decides this claim again, or judges one case of it."""
        backend = entry.provenance.get("backend")
        chosen = f"THEORY_BACKEND={shlex.quote(backend)} " if backend not in (None, "compiled") else ""
        only = "" if case is None else f" --case {case}"
        what = shlex.quote(f"{self.test}::{self.claim.id}")
        return f"{chosen}pytest {what} --scale {entry.scale} --root {entry.root}{only}"


def read_all(folder: Path) -> list[Record]:
    """Read every record of ``folder``: the subjects in their order, their claims by id.

    Raises
    ------
    ArchiveError
        If there is none or one is broken.
    """
    if not (found := record_paths(folder)):
        raise ArchiveError(f"{folder}: expected evidence, found none (pytest verify/ --record writes it)")
    return [read(path) for path in found]


def record_paths(folder: Path) -> list[Path]:
    """Return the files of ``folder`` that are records, or should be, in the order of :func:`read_all`."""
    return sorted(folder.glob("*.json"), key=lambda path: sort_key(path.stem))


def find(folder: Path, claim: str) -> Record:
    """Read the record of one claim.

    Raises
    ------
    ArchiveError
        If it is broken, or there is none; close matches are named.
    """
    return read(find_folder([folder], claim) / f"{claim}.json")


def find_folder(folders: Sequence[Path], claim: str) -> Path:
    """Return the first of ``folders`` that has the record of a claim.

    Raises
    ------
    ArchiveError
        If none has; close matches are named.
    """
    known = {folder: {path.stem for path in folder.glob("*.json")} for folder in folders}
    for folder, names in known.items():
        if claim in names:
            return folder
    every = sorted({name for names in known.values() for name in names})
    close = difflib.get_close_matches(claim, every, n=3, cutoff=0.4) or [k for k in every if claim in k][:3]
    hint = f"did you mean {' or '.join(close)}?" if close else "python -m theory list names them all"
    raise ArchiveError(f"{claim}: expected the id of one of {len(every)} claims in {join_folders(folders)}; {hint}")


def join_folders(folders: Sequence[Path]) -> str:
    """Name folders in a sentence."""
    return " and ".join(map(str, folders))


def read(path: Path) -> Record:
    """Read one record.

    Raises
    ------
    ArchiveError
        If the file is unreadable, is no JSON, lacks something that a record has, was edited, or contradicts itself, or
        if the index of places in sources beside the records is broken or names a source that the claim does not cite.
    """
    try:
        raw = read_record(path)
        places = read_locators(path.parent).get(path.stem, {})
    except RecordError as error:
        raise ArchiveError(str(error)) from error
    claim = claim_of(raw)
    if strange := sorted(set(places) - set(claim.cites)):
        raise ArchiveError(f"{locators_file(path.parent)}: expected sources of {claim.id}, got {', '.join(strange)}")
    entries = {scale: _entry(scale, entry) for scale, entry in raw["scales"].items()}
    return Record(claim, raw["test"], entries, {key: places[key] for key in claim.cites if key in places})


def _entry(scale: str, raw: Mapping[str, Any]) -> Entry:
    kind = kind_of(raw["kind"])
    return Entry(
        scale=scale,
        verdict=Verdict(raw["verdict"]),
        kind=kind,
        departure=interval_of(raw["departure"], kind),
        cases=int(raw["cases"]),
        worst=_optional(raw["worst"], lambda worst: _worst(worst, kind)),
        tightness=_optional(raw["tightness"], float),
        parts=MappingProxyType({name: part_of(part) for name, part in raw["parts"].items()}),
        twins=tuple(_twin_result(twin, kind) for twin in raw["twins"]),
        root=int(raw["root"]),
        tables=MappingProxyType(dict(raw["tables"])),
        alpha=raw["alpha"],
        provenance=MappingProxyType(dict(raw["provenance"])),
    )


def _optional(raw: Any, convert: Callable[[Any], T]) -> T | None:
    return None if raw is None else convert(raw)


def _worst(raw: Mapping[str, Any], kind: Kind) -> Worst:
    measured = interval_of(raw["measured"], kind)
    claimed = interval_of(raw["claimed"], kind)
    return Worst(int(raw["number"]), raw["relation"], measured, claimed, MappingProxyType(dict(raw["case"])))


def _twin_result(raw: Mapping[str, Any], kind: Kind) -> TwinResult:
    """Read how a twin came out; a record does not hold what the twin changes."""
    return TwinResult(
        twin=Twin(raw["id"], raw["made_by"], raw["breaks"], MappingProxyType({})),
        departure=interval_of(raw["departure"], kind),
        catches=int(raw["catches"]),
        cases=int(raw["cases"]),
        case=MappingProxyType(dict(raw["case"])),
        refuted=MappingProxyType({name: float(by) for name, by in raw["refuted"].items()}),
    )
