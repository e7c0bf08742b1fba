"""Run a check as written and once per twin, on the same draws, and judge it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from theory.evidence.claim import Claim, Finding, Sort, Twin, Verification, beyond
from theory.evidence.interval import Interval, Kind
from theory.evidence.judge import (
    RESOLUTION,
    Part,
    Verdict,
    by_part,
    parts_of,
    refuted_by,
    rule,
    tightest_part,
    within,
    worst,
)
from theory.evidence.streams import ROOT, stream
from theory.evidence.sweep import FAULTS, arrivals_on_one_thread, one_thread
from theory.evidence.table import Table

T = TypeVar("T")
SCALES = ("quick", "paper")
_LOG = 2.0**-50  # taken: four times what a logarithm is off by at most, and the rounding of a sum of them
_BEYOND = 2.0**40  # taken: no unit is so many times the largest number of a check
_STUDIES: dict[tuple[Any, ...], Table] = {}  # a study is computed once per process, for a claim and all its twins


@dataclass(slots=True)
class Run:
    """What a check may ask of its surroundings: sizes, random streams and studies.

    Parameters
    ----------
    claim : str
        Id of the claim, which names the streams.
    scale : {"quick", "paper"}
        ``quick`` decides in seconds, ``paper`` is what is cited.
    root : int
        Entropy of the whole run.
    """

    claim: str
    scale: str = "quick"
    root: int = ROOT
    tables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise ValueError(f"scale: expected one of {', '.join(SCALES)}, got {self.scale!r}")

    def pick(self, *, quick: T, paper: T) -> T:
        """Return the value for the scale of this run."""
        return quick if self.scale == "quick" else paper

    def streams(self, count: int) -> Iterator[np.random.Generator]:
        """Yield ``count`` independent generators, the same ones for the claim and every twin."""
        return (stream(self.claim, case, root=self.root) for case in range(count))

    def draws(self, *, quick: int, paper: int) -> Iterator[np.random.Generator]:
        """Yield as many independent generators as the scale of this run asks for; see :meth:`streams`."""
        return self.streams(self.pick(quick=quick, paper=paper))

    def study(self, study: Callable[..., Table], **parameters: Any) -> Table:
        """Return the table of ``study``, computed once, and note its fingerprint."""
        key = (study, self.scale, self.root, tuple(sorted(parameters.items())))
        if key not in _STUDIES:
            _STUDIES[key] = study(scale=self.scale, root=self.root, **parameters)
        self.tables[title_of(study, **parameters)] = _STUDIES[key].sha256
        return _STUDIES[key]


def title_of(study: Callable[..., Table], **parameters: Any) -> str:
    """Return the name under which a study's table is recorded, such as ``attention.transport``."""
    room = study.__module__.removeprefix("theory.").partition(".studies")[0]
    given = ", ".join(f"{name}={value!r}" for name, value in sorted(parameters.items()))
    return f"{room}.{study.__name__}" + (f"({given})" if given else "")


@dataclass(frozen=True, slots=True)
class TwinResult:
    """How one twin came out."""

    twin: Twin
    departure: Interval
    catches: int
    cases: int
    case: Mapping[str, Any]
    refuted: Mapping[str, float] = field(default_factory=dict)

    @property
    def gap(self) -> float:
        """By how much it fails at least where it is refuted and fails by least; not positive if it is nowhere."""
        return min(self.refuted.values(), default=self.departure.lo)


def nearest_twin(twins: Iterable[TwinResult]) -> TwinResult | None:
    """Return the twin that fails by least, in some part that it refutes; ``None`` if there is no twin."""
    return min(twins, key=lambda twin: twin.gap, default=None)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was found about one claim at one scale and root.

    ``departure`` is the worst of all findings, and ``parts`` decide; ``compared`` is the worst of the defined ones, and
    ``allowance`` the sum of the logarithms of all that the outcomes of an implementation were granted: what another
    machine must reproduce.
    """

    claim: Claim
    verdict: Verdict
    departure: Interval
    number: int | None
    finding: Finding | None
    cases: int
    tightness: float | None
    twins: tuple[TwinResult, ...]
    scale: str
    root: int
    tables: Mapping[str, str]
    compared: Interval | None = None
    allowance: Interval | None = None
    parts: Mapping[str, Part] = field(default_factory=dict)

    @property
    def kind(self) -> Kind:
        """The weakest kind among the findings."""
        return self.departure.kind

    @property
    def stated(self) -> bool:
        """Whether it came out as the claim states, by a check of which twins refute every part; support has that."""
        refuted = bool(self.twins) and all(twin.departure.lo > 0.0 for twin in self.twins)
        return refuted and all(part.gap > 0.0 for part in self.parts.values()) and self.verdict in self.claim.finds

    @property
    def nearest(self) -> TwinResult | None:
        """The twin that fails by least, in some part that it refutes."""
        return nearest_twin(self.twins)

    @property
    def tightest(self) -> Part | None:
        """The part that allows the largest share of what it may."""
        return tightest_part(self.parts)


@contextmanager
def conditions() -> Iterator[None]:
    """Compute as every check does: linear algebra on one thread, balls of the usual precision, faults as errors."""
    from theory.evidence.enclosure import precision  # noqa: PLC0415  loads FLINT

    with one_thread(), arrivals_on_one_thread(), precision(), FAULTS():
        yield


def decide(
    verification: Verification, run: Run, *, fixtures: Mapping[str, Any] | None = None, case: int | None = None
) -> Evidence:
    """Run the check of ``verification`` for the claim and for every twin, and judge it.

    Parameters
    ----------
    verification : Verification
        What :func:`~theory.evidence.claim.verifies` returned.
    run : Run
        Scale, root and streams.
    fixtures : mapping, optional
        Further arguments that the check asks for.
    case : int, optional
        Judge the claim on this one of its findings only.

    Returns
    -------
    Evidence
        An exception raised by the check is not caught: it is an error, never a refutation.

    Raises
    ------
    TypeError
        If the check yields anything but findings.
    ValueError
        If ``case`` is not among the cases; if a scale hides what a supported claim leaves open, which must be small
        beside the numbers of the check, too; or if a claim comes out as stated without support and a twin finds what
        the claim or another twin finds, so that it changes nothing.
    """

    def findings(changes: Mapping[str, Any]) -> list[Finding]:
        with conditions():
            return _findings(verification.check(run, **(fixtures or {}), **changes), verification.claim)

    # what the twins look at does not vouch for the claim
    found = findings({})
    tables = dict(run.tables)
    if case is not None and not 0 <= case < len(found):
        raise ValueError(f"case: expected one of the {len(found)} cases of {verification.claim.id}, got {case}")
    held = found if case is None else found[case : case + 1]
    own = by_part(found)
    lost = [within(findings(twin.changes), own) for twin in verification.twins]
    number = _worst_number(held)
    twins = tuple(_result_of(twin, seen) for twin, seen in zip(verification.twins, lost, strict=True))
    parts = parts_of(held, [twin.refuted for twin in twins])
    verdict = rule(parts.values(), [twin.departure.lo for twin in twins])
    if case is None:
        _refuse_idle(verification.claim, verdict, [worst(held), *(twin.departure for twin in twins)])
        if verdict is Verdict.SUPPORTED:
            _refuse_tolerance(verification.claim, held, lost)
    return Evidence(
        claim=verification.claim, verdict=verdict, departure=worst(held),
        number=number if case is None or number is None else case, finding=None if number is None else held[number],
        cases=len(held), tightness=_tightness(held), twins=twins, scale=run.scale, root=run.root,
        tables=tables, compared=_largest(f.departure for f in held if f.sort is Sort.DEFINED),
        allowance=_granted([abs(f.claimed) for f in held if f.sort is Sort.OUTCOME]), parts=parts,
    )  # fmt: skip


def _result_of(twin: Twin, findings: Sequence[Finding]) -> TwinResult:
    """Say how a twin came out."""
    catches = sum(finding.departure.lo > 0.0 for finding in findings)
    return TwinResult(twin, worst(findings), catches, len(findings), _worst_case(findings), refuted_by(findings))


def _refuse_idle(claim: Claim, verdict: Verdict, fates: Sequence[Interval]) -> None:
    """Refuse twins that change nothing where a claim is refuted as it states, for then they are refuted all the same.

    A claim that is supported has refuted every twin, which tells them from it.
    """
    if verdict is Verdict.SUPPORTED or verdict not in claim.finds:
        return
    seen = [(fate.lo, fate.hi) for fate in fates]
    if len(set(seen)) < len(seen):
        told = ", ".join(str(fate) for fate in fates[1:])
        raise ValueError(
            f"twins: expected those of {claim.id} to differ from it, {fates[0]}, and among each other, got {told}"
        )


def _refuse_tolerance(claim: Claim, held: Sequence[Finding], lost: Sequence[Sequence[Finding]]) -> None:
    """Refuse a scale that is no unit but a tolerance: beyond every size in the check, so that its case cannot lose.

    No unit is ``_BEYOND`` times every number of the check and of its twins. And the largest excess that the data still
    allow, in their own unit, is at most ``RESOLUTION`` times the largest number that the claim certainly measures or
    claims; where that vanishes, as in an identity with zero, times the one of the twin that has least.
    """
    everything = [f for findings in (held, *lost) for f in findings]
    most = _BEYOND * max(abs(value).hi for f in everything for value in (f.measured, f.claimed))
    for number, finding in enumerate(held):
        if finding.scale.lo > most:
            raise ValueError(
                f"scale: expected a unit of the size of the data for case {number} of {claim.id}, got {finding.scale}: "
                f"no number of the check or of its twins comes near it"
            )
    size = _size(held) or min(_size(findings) for findings in lost)
    most = RESOLUTION[worst(held).kind] * size
    for number, finding in enumerate(held):
        open_ = beyond(finding.relation, finding.measured, finding.claimed).hi
        if open_ > most:
            raise ValueError(
                f"scale: expected a unit of the size of the data for case {number} of {claim.id}, got {finding.scale}: "
                f"an excess of {open_:.3g} remains possible where no number is certainly larger than {size:.3g}"
            )


def _size(findings: Sequence[Finding]) -> float:
    """Return the largest size that a number measured or claimed certainly has."""
    return max((abs(value).lo for f in findings for value in (f.measured, f.claimed)), default=0.0)


def _largest(intervals: Iterable[Interval]) -> Interval | None:
    """Enclose the largest of some intervals, if there are any."""
    seen = list(intervals)
    return Interval.largest(seen) if seen else None


def _granted(allowances: Sequence[Interval]) -> Interval | None:
    """Enclose the sum of the logarithms of what outcomes were granted, so that none of them moves unseen.

    An allowance of zero grants nothing and adds nothing; one that may vanish leaves the sum unknown.
    """
    if not allowances:
        return None
    sizes = [size for size in allowances if size.hi > 0.0]
    kind = max(size.kind for size in allowances)
    if any(size.lo <= 0.0 for size in sizes):
        return Interval.unknown(kind)
    logs = [[math.log(end) for end in (size.lo, size.hi)] for size in sizes]
    slack = _LOG * math.fsum(max(abs(lo), abs(hi)) for lo, hi in logs)
    return Interval(math.fsum(lo for lo, _ in logs) - slack, math.fsum(hi for _, hi in logs) + slack, kind)


def _findings(found: Iterable[Finding], claim: Claim) -> list[Finding]:
    """Return all that a check found, or say that it is no check."""
    seen = list(found) if isinstance(found, Iterable) else []
    strange = [f for f in seen if not isinstance(f, Finding)] if isinstance(found, Iterable) else [found]
    if strange:
        raise TypeError(
            f"check: expected the check of {claim.id} to yield findings (equals, at_most, at_least), "
            f"got {type(strange[0]).__name__}"
        )
    return seen


def _worst_number(findings: Sequence[Finding]) -> int | None:
    """Return the case that refutes most clearly, or else the one that leaves most room."""
    refuted = any(f.departure.lo > 0.0 for f in findings)
    return max(
        range(len(findings)),
        key=lambda k: findings[k].departure.lo if refuted else findings[k].departure.hi,
        default=None,
    )


def _worst_case(findings: Sequence[Finding]) -> Mapping[str, Any]:
    number = _worst_number(findings)
    return {} if number is None else findings[number].case


def _tightness(findings: Sequence[Finding]) -> float | None:
    """Return the largest measured/bound among the one-sided findings with a positive bound."""
    ratios = [f.measured / f.claimed for f in findings if f.relation == "at_most" and f.claimed.lo > 0.0]
    ratios += [
        f.claimed / f.measured for f in findings if f.relation == "at_least" and min(f.claimed.lo, f.measured.lo) > 0.0
    ]
    return max((r.hi for r in ratios), default=None)
