"""The rule by which every theorem is decided; it has no option.

A claim is refuted when some departure is certainly positive. It is supported when the largest departure that the data
still allow is small beside the one by which the nearest twin fails.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def told(verdict: Verdict, finds: Sequence[Verdict]) -> str:
    """Say in words what became of a claim that states which verdicts it finds."""
    stated = verdict is not Verdict.SUPPORTED and verdict in finds
    return f"{verdict.value}, as stated" if stated else verdict.value


ALPHA = 1e-6  # level of every sampled check: a hundred of them give a false alarm in one run of 10 000

# A computed width is cheap to shrink, a sampled one costs its square: 1/100 would take 2 500 times the draws of 1/2.
RESOLUTION = {Kind.PROVED: 0.01, Kind.CERTIFIED: 0.01, Kind.NUMERIC: 0.01, Kind.TREND: 0.5, Kind.STATISTICAL: 0.5}


def worst(findings: Sequence[Finding]) -> Interval:
    """Enclose the largest departure among ``findings``."""
    return Interval.largest([f.departure for f in findings] or [Interval.exactly(0.0)])  # no case, no departure


def reach(kind: Kind, gap: float) -> float:
    """Return the largest departure that a claim whose nearest twin fails by ``gap`` may still allow."""
    return RESOLUTION[kind] * min(gap, 1.0)


def rule(departure: Interval, gap: float, cases: int) -> Verdict:
    """Decide from the worst departure, that of the twin that fails by least, and the number of cases."""
    if departure.lo > 0.0:
        return Verdict.REFUTED
    if not cases or gap <= 0.0:
        return Verdict.VACUOUS
    if departure.hi > reach(departure.kind, gap):
        return Verdict.INCONCLUSIVE
    return Verdict.SUPPORTED


def judge(findings: Sequence[Finding], twins: Sequence[Sequence[Finding]]) -> Verdict:
    """Decide a claim from its findings and those of its twins."""
    return rule(worst(findings), min((worst(t).lo for t in twins), default=0.0), len(findings))
