"""The rule by which every theorem is decided; it has no option.

A claim is refuted when some departure is certainly positive. Findings that share a ``part`` are a statement of their
own. The claim is supported when every part of it is refuted by some twin, every twin is refuted in some part of it, and
in every part the largest departure that the data still allow is small beside the one by which the nearest of its twins
fails.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from theory.evidence.interval import Interval, Kind

if TYPE_CHECKING:
    from theory.evidence.claim import Finding


class Verdict(Enum):
    """What became of a claim; only ``SUPPORTED`` passes, unless the claim states what else it finds."""

    SUPPORTED = "supported"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"
    VACUOUS = "vacuous"


def describe_verdict(verdict: Verdict, finds: Sequence[Verdict]) -> str:
    """Say in words what became of a claim that states which verdicts it finds."""
    stated = verdict is not Verdict.SUPPORTED and verdict in finds
    return f"{verdict.value}, as stated" if stated else verdict.value


ALPHA = 1e-6  # level of every sampled check: a hundred of them give a false alarm in one run of 10 000

# A computed width is cheap to shrink, a second computation less so, and a sampled one costs its square: 1/100 would
# take 2 500 times the draws of 1/2.
RESOLUTION = {
    Kind.PROVED: 0.01, Kind.CERTIFIED: 0.01, Kind.NUMERIC: 0.01, Kind.ESTIMATED: 0.1, Kind.TREND: 0.5,
    Kind.STATISTICAL: 0.5,
}  # fmt: skip


def worst(findings: Sequence[Finding]) -> Interval:
    """Enclose the largest departure among ``findings``."""
    return Interval.largest([f.departure for f in findings] or [Interval.exactly(0.0)])  # no case, no departure


def reach(kind: Kind, gap: float) -> float:
    """Return the largest departure that a part whose nearest twin fails by ``gap`` may still allow."""
    return RESOLUTION[kind] * max(min(gap, 1.0), 0.0)


@dataclass(frozen=True, slots=True)
class Part:
    """One statement of a claim.

    Parameters
    ----------
    departure : Interval
        The worst of its cases.
    cases : int
        How many there are.
    gap : float
        The least departure by which a twin that refutes it does so; zero if none does.
    """

    departure: Interval
    cases: int
    gap: float

    @property
    def reach(self) -> float:
        """The largest departure that it may still allow."""
        return reach(self.departure.kind, self.gap)

    @property
    def used(self) -> float:
        """The share of what it may allow that it does allow; above one its intervals are too wide."""
        if self.departure.hi <= 0.0:
            return 0.0
        return self.departure.hi / self.reach if self.reach > 0.0 else float("inf")


def tightest_part(parts: Mapping[str, Part]) -> Part | None:
    """Return the part that allows the largest share of what it may; ``None`` if there is no part."""
    return max(parts.values(), key=lambda part: part.used, default=None)


def by_part(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Return the findings of every part, in the order in which the parts come; what names no part is one."""
    parts: dict[str, list[Finding]] = {}
    for finding in findings:
        parts.setdefault(_name(finding), []).append(finding)
    return parts


def _name(finding: Finding) -> str:
    return str(finding.case.get("part", ""))


def within(findings: Iterable[Finding], parts: Container[str]) -> list[Finding]:
    """Return the findings of these parts: a twin is judged where the claim is, what else it finds does not count."""
    return [finding for finding in findings if _name(finding) in parts]


def refuted_by(findings: Sequence[Finding]) -> dict[str, float]:
    """Return by how much at least a twin with these findings fails, for every part that it refutes."""
    fails = {name: worst(found).lo for name, found in by_part(findings).items()}
    return {name: by for name, by in fails.items() if by > 0.0}


def nearest_gap(part: str, refuted: Iterable[Mapping[str, float]]) -> float:
    """Return the least departure by which a twin that refutes a part does so, zero if none does."""
    return min((fails[part] for fails in refuted if part in fails), default=0.0)


def parts_of(findings: Sequence[Finding], refuted: Sequence[Mapping[str, float]]) -> dict[str, Part]:
    """Return every part of a claim, given where its twins are refuted."""
    return {
        name: Part(worst(found), len(found), nearest_gap(name, refuted)) for name, found in by_part(findings).items()
    }


def rule(parts: Iterable[Part], twins: Sequence[float]) -> Verdict:
    """Decide from the parts of a claim, and from the worst departure of every twin.

    Parameters
    ----------
    parts : iterable of Part
        The statements that it consists of.
    twins : sequence of float
        By how much at least every twin fails, somewhere.
    """
    seen = list(parts)
    if any(part.departure.lo > 0.0 for part in seen):
        return Verdict.REFUTED
    if not seen or not twins or min(twins) <= 0.0 or any(part.gap <= 0.0 for part in seen):
        return Verdict.VACUOUS
    if any(part.departure.hi > part.reach for part in seen):
        return Verdict.INCONCLUSIVE
    return Verdict.SUPPORTED


def judge(findings: Sequence[Finding], twins: Sequence[Sequence[Finding]]) -> Verdict:
    """Decide a claim from its findings and those of its twins."""
    lost = [within(twin, by_part(findings)) for twin in twins]
    parts = parts_of(findings, [refuted_by(twin) for twin in lost])
    return rule(parts.values(), [worst(twin).lo for twin in lost])
