"""A record as it is read: whole, sealed, and judged again from its own numbers.

Whoever reads evidence reads it here: a run that compares itself with it, and everything that tells of it. A number
that was changed by hand breaks the seal of its entry; an entry of which the parts contradict each other is refused
even if somebody has sealed it again.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from theory.evidence import cited
from theory.evidence.claim import MADE_BY, RELATIONS, Claim, Sort, departure_of
from theory.evidence.interval import Interval, Kind
from theory.evidence.judge import ALPHA, Part, Verdict, nearest_gap, rule
from theory.evidence.runner import SCALES
from theory.evidence.streams import ROOT

_CLAIM = ("id", "words", "statement", "assumptions", "spec", "cites", "source_status")
_RECORD = frozenset({*_CLAIM, "finds", "remark", "scales", "test", "verdict"})
_ENTRY = frozenset({
    "verdict", "kind", "alpha", "departure", "compared", "allowance", "cases", "worst", "tightness", "parts", "twins",
    "root", "tables", "provenance", "seal",
})  # fmt: skip
_MADE_WITH = ("suite", "commit", "closure", "backend", "python", "processor", "blas", "numpy")


class RecordError(ValueError):
    """A record is broken, was edited, contradicts itself or cannot be written; the message names the file."""


def statement_of(claim: Claim) -> dict[str, Any]:
    """Return what a record says of the claim itself, with a remark if there is one, and what it finds but support."""
    stated = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(claim).items()}
    finds = [verdict.value for verdict in stated.pop("finds")]
    remark = stated.pop("remark")
    stated |= {} if finds == [Verdict.SUPPORTED.value] else {"finds": finds}
    return stated | ({"remark": remark} if remark else {})


def claim_of(whole: Mapping[str, Any]) -> Claim:
    """Return the claim that a record states."""
    fields: dict[str, Any] = {n: tuple(whole[n]) if isinstance(whole[n], list) else whole[n] for n in _CLAIM}
    finds = tuple(Verdict(found) for found in whole.get("finds", [Verdict.SUPPORTED.value]))
    return cited.Claim(**fields, finds=finds, remark=whole.get("remark", ""))


def kind_of(name: str) -> Kind:
    """Return the kind of this name."""
    if name.upper() not in Kind.__members__:
        raise ValueError(f"kind: expected one of {', '.join(k.name.lower() for k in Kind)}, got {name!r}")
    return Kind[name.upper()]


def interval_of(ends: list[float | str], kind: Kind) -> Interval:
    """Return the interval with these ends."""
    lo, hi = ends
    return Interval(float(lo), float(hi), kind)


def part_of(said: Mapping[str, Any]) -> Part:
    """Return a part of a claim as an entry tells it."""
    return Part(interval_of(said["departure"], kind_of(said["kind"])), said["cases"], float(said["gap"]))


def weakest(scales: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the verdict of a whole record: the first that is not support."""
    found = [scales[scale]["verdict"] for scale in sorted(scales)]
    others = [verdict for verdict in found if verdict != Verdict.SUPPORTED.value]
    return others[0] if others else Verdict.SUPPORTED.value


def seal(claim: Claim, test: str, scale: str, entry: Mapping[str, Any]) -> str:
    """Return the checksum of an entry: 16 digits over the statement, the test file, the scale and all that it says."""
    said = {name: value for name, value in entry.items() if name != "seal"}
    text = json.dumps([statement_of(claim), test, scale, said], sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read(path: Path) -> dict[str, Any]:
    """Read one record.

    Returns
    -------
    dict
        What the file says.

    Raises
    ------
    RecordError
        If it is unreadable, is no JSON, lacks something that a record has, was edited, or contradicts itself.
    """
    try:
        whole = whole_of(path)
        claim = claim_of(whole)
        if strange := sorted(set(whole) - _RECORD):
            raise RecordError(f"{path}: expected no other keys than those of a record, got {', '.join(strange)}")
        named = {claim.id, path.stem}
        scales = dict(whole["scales"])
        if len(named) > 1 or not scales or not set(scales) <= set(SCALES):
            raise RecordError(
                f"{path}: expected {path.stem} at scales {', '.join(SCALES)}, "
                f"got {claim.id} at {', '.join(scales) or 'none'}"
            )
        for scale, entry in scales.items():
            fault = fault_of(claim, whole["test"], scale, entry)
            if fault is not None:
                raise RecordError(f"{path}: scale {scale} {fault}")
        if whole["verdict"] != weakest(scales) or not isinstance(whole["test"], str):
            raise RecordError(f"{path}: expected verdict {weakest(scales)} and a test file, got {whole['verdict']}")
    except RecordError:
        raise
    except KeyError as error:
        raise RecordError(f"{path}: expected the key {error}, found none") from error
    except (TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise RecordError(f"{path}: expected the record of a claim: {error}") from error
    return whole


def whole_of(path: Path) -> dict[str, Any]:
    """Return the JSON of a record, of which nothing else is known.

    Raises
    ------
    RecordError
        If there is no such text.
    """
    try:
        whole = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise RecordError(f"{path}: expected JSON, got {error.msg} at line {error.lineno}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise RecordError(f"{path}: expected the record of a claim: {error}") from error
    if not isinstance(whole, dict):
        raise RecordError(f"{path}: expected the record of a claim, got {type(whole).__name__}")
    return whole


def _refuse(token: str) -> None:
    raise ValueError(f"expected numbers, got {token}")


def fault_of(claim: Claim, test: str, scale: str, entry: Mapping[str, Any]) -> str | None:
    """Say what is wrong with an entry, if anything is; what is no entry at all raises."""
    kind = kind_of(entry["kind"])
    Verdict(entry["verdict"])
    if "parts" not in entry:
        return "tells no parts: no present version of the suite wrote it, record it again"
    _demand_types(entry)
    if "seal" not in entry:
        return "has no seal: no present version of the suite wrote it, record it again"
    if entry["seal"] != seal(claim, test, scale, entry):
        return "was edited by hand: what it says is not what was sealed, record it again"
    return next(_contradictions(claim, entry, kind), None)


def _demand_types(entry: Mapping[str, Any]) -> None:
    """Refuse what has another type than everything that is told of an entry."""
    worst, twins = entry["worst"], entry["twins"]
    cases = [one["case"] for one in (*twins, *(() if worst is None else (worst,)))]
    for name, value in [
        ("provenance", entry["provenance"]),
        ("tables", entry["tables"]),
        ("parts", entry["parts"]),
        *(("refuted", twin["refuted"]) for twin in twins),
        *(("case", c) for c in cases),
    ]:
        if not isinstance(value, dict):
            raise TypeError(f"{name}: expected names and values, got {type(value).__name__}")
    texts = [*entry["tables"].values(), *(twin[name] for twin in twins for name in ("id", "made_by", "breaks"))]
    texts += [text for text in entry["provenance"].values() if text is not None]
    if strange := [text for text in texts if not isinstance(text, str)]:
        raise TypeError(f"provenance, tables, twins: expected text, got {strange[0]!r:.40}")


def _contradictions(claim: Claim, entry: Mapping[str, Any], kind: Kind) -> Iterator[str]:
    """Yield everything about an entry that no run can have written."""
    departure = interval_of(entry["departure"], kind)
    cases = entry["cases"]
    twins = entry["twins"]
    if strange := sorted(set(entry) - _ENTRY):
        yield f"has {', '.join(strange)}, which no entry has"
    if entry["root"] != ROOT:
        yield f"is of root {entry['root']}, every record is of {ROOT}"
    missing = [name for name in _MADE_WITH if name not in entry["provenance"]]
    if missing:
        yield f"does not say what made it: {', '.join(missing)}"
    alpha = ALPHA if kind is Kind.STATISTICAL else None
    if entry["alpha"] != alpha:
        yield f"has level {entry['alpha']}, a check of kind {kind.name.lower()} has {alpha}"
    counts = [cases, *(twin[name] for twin in twins for name in ("cases", "catches"))]
    counts += [part["cases"] for part in entry["parts"].values()]
    if not all(type(count) is int and count >= 0 for count in counts):
        yield f"counts {', '.join(map(str, counts))}: expected counts"
        return
    yield from _of_twins(claim, entry, kind)
    parts = {name: part_of(said) for name, said in entry["parts"].items()}
    fails = [interval_of(twin["departure"], kind).lo for twin in twins]
    ruled = rule(parts.values(), fails)
    if entry["verdict"] != ruled.value:
        gap = min([*fails, *(part.gap for part in parts.values())], default=0.0)
        yield (
            f"says {entry['verdict']}, but departures {departure} in {cases} cases and a twin that fails by {gap:.3g} "
            f"are {ruled.value}"
        )
    yield from _of_worst(entry, kind, departure)
    yield from _of_compared(entry, kind, departure)
    yield from _of_parts(entry, parts, departure)


def _of_parts(entry: Mapping[str, Any], parts: Mapping[str, Part], departure: Interval) -> Iterator[str]:
    """Yield what contradicts that the parts make up the claim, and that their twins refute them as it is told."""
    if sum(part.cases for part in parts.values()) != entry["cases"] or not all(p.cases > 0 for p in parts.values()):
        yield f"has {entry['cases']} cases, its parts have {', '.join(str(p.cases) for p in parts.values()) or 'none'}"
    elif parts and Interval.largest(part.departure for part in parts.values()) != departure:
        yield f"has departures {departure}, the worst of its parts are others"
    refuted = [{name: float(by) for name, by in twin["refuted"].items()} for twin in entry["twins"]]
    for name, part in parts.items():
        gap = nearest_gap(name, refuted)
        if part.gap != gap:
            yield f"has the part {name or '(unnamed)'} refuted by {part.gap:.3g}, its twins refute it by {gap:.3g}"
    for twin, fails in zip(entry["twins"], refuted, strict=True):
        if strange := sorted(set(fails) - set(parts)):
            yield f"has the twin {twin['id']} refuted in {', '.join(strange)}, which is no part of it"
        most = float(twin["departure"][0])
        told = max(fails.values(), default=0.0)
        if not all(by > 0.0 for by in fails.values()) or told != max(most, 0.0):
            yield f"has the twin {twin['id']} refuted by {told:.3g}, but it fails by {most:.3g}"


def _of_twins(claim: Claim, entry: Mapping[str, Any], kind: Kind) -> Iterator[str]:
    """Yield what contradicts the rule of two twins of different type, and twins that contradict themselves."""
    twins = entry["twins"]
    made_by = {twin["made_by"] for twin in twins}
    if len({twin["id"] for twin in twins}) < len(twins) or len(made_by) < 2 or not made_by <= set(MADE_BY):
        named = ", ".join(f"{twin['id']} ({twin['made_by']})" for twin in twins)
        yield f"has the twins {named or 'none'}: expected at least two of different type"
    for twin in twins:
        caught = interval_of(twin["departure"], kind).lo > 0.0
        if twin["catches"] > twin["cases"] or (twin["catches"] > 0) is not caught:
            yield (
                f"has the twin {twin['id']} caught in {twin['catches']} of {twin['cases']} cases, "
                f"with departures {interval_of(twin['departure'], kind)}"
            )
    fates = [tuple(twin["departure"]) for twin in twins] + [tuple(entry["departure"])]
    open_ = entry["verdict"] in {v.value for v in claim.finds} - {Verdict.SUPPORTED.value}
    if open_ and len(set(fates)) < len(fates):
        yield "has twins that find what the claim or another twin finds: expected them to differ"


def _of_worst(entry: Mapping[str, Any], kind: Kind, departure: Interval) -> Iterator[str]:
    """Yield what contradicts the worst case: its number, and that it is the one that departs most."""
    worst, cases = entry["worst"], entry["cases"]
    if (worst is None) is not (cases == 0):
        yield f"has {'no ' if worst is None else 'a '}worst case among {cases}"
    if worst is None:
        return
    if type(worst["number"]) is not int or not 0 <= worst["number"] < cases:
        yield f"has the worst case {worst['number']} among {cases}"
    if worst["relation"] not in RELATIONS:
        yield f"has the relation {worst['relation']!r} in its worst case"
        return
    measured, claimed, unit = (interval_of(worst[name], kind) for name in ("measured", "claimed", "scale"))
    own = departure_of(worst["relation"], measured, claimed, unit)
    told = (own.lo, departure.lo) if departure.lo > 0.0 else (own.hi, departure.hi)
    only = cases == 1 and (own.lo, own.hi) != (departure.lo, departure.hi)
    if told[0] != told[1] or departure.lo < own.lo or departure.hi < own.hi or only:
        yield f"has departures {departure}, but its worst case departs by {own}"

    yield from _of_tightness(entry["tightness"], _ratio(worst["relation"], measured, claimed), cases)
    if worst["sort"] not in {sort.value for sort in Sort}:
        yield f"has the sort {worst['sort']!r} in its worst case"
    elif worst["sort"] == Sort.OUTCOME.value and entry["allowance"] is None:
        yield "has an outcome as its worst case and no allowance"
    elif worst["sort"] == Sort.DEFINED.value:
        compared = None if entry["compared"] is None else interval_of(entry["compared"], kind)
        if compared is None or compared.lo < own.lo or compared.hi < own.hi:
            yield f"compares departures {compared}, but its worst case, a defined one, departs by {own}"


def _ratio(relation: str, measured: Interval, claimed: Interval) -> float | None:
    """Return how much of its bound a case reaches, if it has a positive one and reaches part of it."""
    part, bound = (measured, claimed) if relation == "at_most" else (claimed, measured)
    if relation == "equals" or bound.lo <= 0.0 or claimed.lo <= 0.0:
        return None
    return recorded_ratio((part / bound).hi)


def recorded_ratio(ratio: float | None) -> float | None:
    """Return a largest ratio of measured and bound as it is recorded: none where it says nothing of how tight it is."""
    return ratio if ratio is not None and 0.0 < ratio < math.inf else None


def _of_tightness(tightness: Any, own: float | None, cases: int) -> Iterator[str]:
    """Yield what contradicts the largest ratio of measured and bound, of which the worst case is one."""
    if tightness is not None and (type(tightness) is not float or recorded_ratio(tightness) is None):
        yield f"has tightness {tightness!r:.40}: expected a positive number or none"
    elif tightness != own if cases == 1 else own is not None and (tightness is None or tightness < own):
        yield f"has tightness {tightness}, but its worst case reaches {own}"


def _of_compared(entry: Mapping[str, Any], kind: Kind, departure: Interval) -> Iterator[str]:
    """Yield what contradicts that the departures compared with other machines are among all departures."""
    if entry["allowance"] is not None:
        interval_of(entry["allowance"], kind)
    if entry["compared"] is None:
        return
    compared = interval_of(entry["compared"], kind)
    if compared.lo > departure.lo or compared.hi > departure.hi:
        yield f"compares departures {compared}, of which the worst are {departure}"
