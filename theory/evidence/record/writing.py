"""The record of a claim: one JSON file with an entry per scale.

Keys are sorted, floats round-trip, and nothing changes between two runs on one installation. A default run writes
nothing: it compares itself with the record. A file is replaced as a whole, by one writer at a time.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from theory._backend import backend
from theory.evidence.claim import Claim
from theory.evidence.closure import closure_of, located
from theory.evidence.files import locked, write_whole
from theory.evidence.interval import Interval, Kind
from theory.evidence.judge import ALPHA, Part
from theory.evidence.provenance import provenance
from theory.evidence.record.locators import write_locators
from theory.evidence.record.reading import (
    RecordError,
    fault_of,
    read,
    recorded_ratio,
    seal,
    statement_of,
    weakest,
    whole_of,
)
from theory.evidence.runner import Evidence, TwinResult
from theory.evidence.streams import ROOT


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _ends(interval: Interval) -> list[float | str]:
    return [_number(interval.lo), _number(interval.hi)]


def _plain(case: Mapping[str, Any]) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        value = value.item() if isinstance(value, np.generic) else value
        return (
            value
            if isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value))
            else str(value)
        )

    return {name: plain(value) for name, value in case.items()}


def _twin(result: TwinResult) -> dict[str, Any]:
    return {
        "id": result.twin.id,
        "made_by": result.twin.made_by,
        "breaks": result.twin.breaks,
        "departure": _ends(result.departure),
        "catches": result.catches,
        "cases": result.cases,
        "case": _plain(result.case),
        "refuted": {name: _number(by) for name, by in result.refuted.items()},
    }


def _part(part: Part) -> dict[str, Any]:
    return {
        "departure": _ends(part.departure),
        "kind": part.departure.kind.name.lower(),
        "cases": part.cases,
        "gap": _number(part.gap),
    }


def entry_of(evidence: Evidence, test: tuple[Path, Path] | None = None) -> dict[str, Any]:
    """Return what a record says of one scale, unsealed; ``test`` is the file that decides the claim, and its root."""
    finding = evidence.finding
    closure, root = (None, None) if test is None else (closure_of(*test), test[1])
    worst = finding and {
        "number": evidence.number,
        "relation": finding.relation,
        "measured": _ends(finding.measured),
        "claimed": _ends(finding.claimed),
        "scale": _ends(finding.scale),
        "sort": finding.sort.value,
        "case": _plain(finding.case),
    }
    return {
        "verdict": evidence.verdict.value,
        "kind": evidence.kind.name.lower(),
        "alpha": ALPHA if evidence.kind is Kind.STATISTICAL else None,
        "departure": _ends(evidence.departure),
        "compared": None if evidence.compared is None else _ends(evidence.compared),
        "allowance": None if evidence.allowance is None else _ends(evidence.allowance),
        "cases": evidence.cases,
        "worst": worst,
        "tightness": recorded_ratio(evidence.tightness),
        "parts": {name: _part(part) for name, part in evidence.parts.items()},
        "twins": [_twin(result) for result in evidence.twins],
        "root": evidence.root,
        "tables": dict(evidence.tables),
        "provenance": provenance(backend(), closure, root),
    }


def path_of(folder: Path, claim: Claim) -> Path:
    """Return where the record of ``claim`` lies."""
    return folder / f"{claim.id}.json"


def _stale(whole: Mapping[str, Any], claim: Claim) -> list[str]:
    """Return what a record states otherwise than the claim does."""
    stated = statement_of(claim)
    return [name for name in dict.fromkeys([*stated, "finds"]) if whole.get(name) != stated.get(name)]


def write(folder: Path, evidence: Evidence, test: str) -> None:
    """Write the entry of this scale into the record of its claim; keep the other scale's if it is of this statement.

    Places that the claim gives with its sources go into ``locators.csv`` beside the folder.

    Raises
    ------
    RecordError
        If it cannot be written, and the old record is as it was; or if the evidence is of another root than every
        record: fresh draws audit a record and do not replace it.
    """
    path = path_of(folder, evidence.claim)
    if evidence.root != ROOT:
        raise RecordError(f"{path}: expected evidence of root {ROOT}, got root {evidence.root}, which is not recorded")
    entry = entry_of(evidence, located(folder, test))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(path):
            scales = {**_kept(path, evidence.claim), evidence.scale: entry}
            sealed = {s: {**e, "seal": seal(evidence.claim, test, s, e)} for s, e in scales.items()}
            whole = {**statement_of(evidence.claim), "test": test, "scales": sealed, "verdict": weakest(scales)}
            write_whole(path, json.dumps(whole, indent=1, sort_keys=True, allow_nan=False) + "\n")
        write_locators(folder, evidence.claim)
    except OSError as error:
        raise RecordError(f"{path}: not written: {error.strerror or error}") from error


def _kept(path: Path, claim: Claim) -> dict[str, Any]:
    """Return the entries that stay: what was found about another statement, or was edited, says nothing of this one."""
    try:
        whole = whole_of(path) if path.exists() else {}
        entries = {} if _stale(whole, claim) else whole["scales"]
        return {s: e for s, e in entries.items() if not fault_of(claim, whole["test"], s, e)}
    except (KeyError, TypeError, ValueError, AttributeError):  # half a file, or none of this suite
        return {}


def recorded(folder: Path, evidence: Evidence) -> bool:
    """Tell whether there is a record of the claim at the scale of ``evidence``, or something that should be one."""
    path = path_of(folder, evidence.claim)
    try:
        return path.exists() and evidence.scale in whole_of(path).get("scales", ())
    except (RecordError, TypeError):
        return True


def compare(folder: Path, evidence: Evidence) -> str | None:
    """Tell how ``evidence`` contradicts the committed record of its scale, if there is one and it does.

    The record must hold by itself (:func:`~theory.evidence.record.read`). Statement, verdict, kind, twins and the
    names of the tables must be equal on every root. On the recorded one the number of cases and the parts, with the
    kind and the number of cases of each, must be, too, and the worst departure of what is defined and the sum of the
    logarithms of all allowances must overlap with those of the record. What a search found and what an implementation
    reports enter the verdict alone. Gaps and hashes are not compared: a twin computes beyond the widths that were
    derived for the claim, so its last digits may differ between processors.
    """
    path = path_of(folder, evidence.claim)
    if not path.exists():
        return None
    try:
        whole = whole_of(path)
        if stale := _stale(whole, evidence.claim):
            return f"the record states another {', '.join(stale)}"
        old = read(path)["scales"].get(evidence.scale)
    except RecordError as error:
        return str(error)
    return None if old is None else next(_moved(old, evidence), None)


def _moved(old: Mapping[str, Any], evidence: Evidence) -> Iterator[str]:
    """Yield every contradiction between an entry of a record and the evidence of its scale."""
    same_draws = old["root"] == evidence.root
    parts = {name: _part(part) for name, part in evidence.parts.items()}
    pairs = {
        "verdict": (old["verdict"], evidence.verdict.value),
        "kind": (old["kind"], evidence.kind.name.lower()),
        "list of twins": (_named(old["twins"]), _named(_twin(result) for result in evidence.twins)),
        "list of tables": (_listed(sorted(old["tables"])), _listed(sorted(evidence.tables))),
        "case count": (old["cases"], evidence.cases if same_draws else old["cases"]),
        "list of parts": (_parts(old["parts"]), _parts(parts if same_draws else old["parts"])),
    }
    for name, (before, now) in pairs.items():
        if before != now:
            yield f"the record's {name} is {before}, this run's is {now}"
    if not same_draws:
        return
    numbers = {
        "worst departure": (old["compared"], evidence.compared),
        "sum of the logarithms of its allowances": (old["allowance"], evidence.allowance),
    }
    for name, (before, now) in numbers.items():
        if (before is None) is not (now is None):
            yield f"the record's {name} is {before or 'none'}, this run's is {now or 'none'}"
        elif now is not None and _apart(before, now):
            lo, hi = (float(end) for end in before)
            yield f"the record's {name} is [{lo:.6g}, {hi:.6g}], this run's is {now}: a number moved"


def _apart(ends: Iterable[float | str], interval: Interval) -> bool:
    lo, hi = (float(end) for end in ends)
    return interval.lo > hi or lo > interval.hi


def _named(twins: Iterable[Mapping[str, Any]]) -> str:
    return _listed(f"{twin['id']} ({twin['made_by']}: {twin['breaks']})" for twin in twins)


def _parts(parts: Mapping[str, Mapping[str, Any]]) -> str:
    told = sorted(parts.items())
    return _listed(f"{name or '(unnamed)'} ({part['kind']}, {part['cases']})" for name, part in told)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
