"""The rule of rigor.md: what refutes refutes at any scale, order is irrelevant, and nothing bad helps."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from theory.evidence import Interval, Kind, Verdict, equals, judge
from theory.evidence.judge import Part, nearest_gap, parts_of, reach, refuted_by, rule, worst

SUPPORTED = Verdict.SUPPORTED
REFUTED = Verdict.REFUTED
INCONCLUSIVE = Verdict.INCONCLUSIVE
VACUOUS = Verdict.VACUOUS
WORSE = {SUPPORTED: 0, INCONCLUSIVE: 1, VACUOUS: 2, REFUTED: 3}


@dataclass(frozen=True)
class Case:
    """All that the rule sees of a finding."""

    departure: Interval
    case: Mapping[str, str] = field(default_factory=dict)


def case(lo, hi, kind=Kind.NUMERIC, **named):
    return Case(Interval(lo, hi, kind), named)


@st.composite
def cases(draw, kinds=tuple(Kind), parts=("",)):
    """Draw departures of every size, many of them close to where the rule turns."""
    near = st.sampled_from([0.0, 5e-324, -5e-324, 0.01, 0.5, 1.0, -1.0, 0.0099, float("inf"), float("-inf")])
    lo, hi = sorted(draw(st.tuples(*2 * [near | st.floats(-3, 3)])))
    lo = min(lo, 1e300)
    hi = max(hi, -1e300)
    part = draw(st.sampled_from(parts))
    return case(lo, hi, draw(st.sampled_from(kinds)), **({"part": part} if part else {}))


def lists(least=0, most=4, **chosen):
    return st.lists(cases(**chosen), min_size=least, max_size=most)


NAMES = ("", "bound", "sharp")
LISTS = lists(parts=NAMES, most=6)


def of(part, findings):
    return [f.departure for f in findings if f.case.get("part", "") == part]


@given(LISTS, st.lists(LISTS, max_size=3))
def test_rule_is_the_one_that_is_written_down(findings, twins):
    resolution = {kind: 0.01 if kind <= Kind.NUMERIC else 0.1 if kind is Kind.ESTIMATED else 0.5 for kind in Kind}
    verdicts = []
    for part in NAMES:
        departures = of(part, findings)
        if not departures:
            continue
        lost = [max((d.lo for d in of(part, twin)), default=0.0) for twin in twins]
        gap = min((by for by in lost if by > 0.0), default=0.0)
        kind = max(d.kind for d in departures)
        if max(d.lo for d in departures) > 0.0:
            verdicts.append(REFUTED)
        elif gap == 0.0:
            verdicts.append(VACUOUS)
        elif max(d.hi for d in departures) <= resolution[kind] * min(gap, 1.0):
            verdicts.append(SUPPORTED)
        else:
            verdicts.append(INCONCLUSIVE)
    said = {f.case.get("part", "") for f in findings}
    fails = [max((d.lo for part in said for d in of(part, twin)), default=0.0) for twin in twins]
    idle = not twins or any(by <= 0.0 for by in fails)
    verdicts += [VACUOUS] if idle or not findings else []
    assert judge(findings, twins) is max(verdicts, key=WORSE.__getitem__)


def test_every_part_needs_a_twin_that_refutes_it():
    held = [case(-1.0, 0.0, part="bound"), case(0.0, 1e-12, part="sharp")]
    half = [case(0.5, 0.5, part="bound"), case(-1.0, 0.0, part="sharp")]
    lost = [case(0.2, 0.2, part="sharp")]
    assert judge(held, [half]) is VACUOUS
    assert judge(held, [lost]) is VACUOUS
    assert judge(held, [half, lost]) is SUPPORTED
    assert judge(held[:1], [half]) is SUPPORTED
    assert judge(held[:1], [half, lost]) is VACUOUS  # the second twin is refuted where the claim says nothing


def test_a_part_is_measured_with_its_own_kind_and_its_own_gap():
    coarse = case(0.0, 0.4, Kind.TREND, part="limit")
    fine = case(0.0, 1e-12, part="value")
    near = [[case(1.0, 1.0, part="limit")], [case(1e-9, 1e-9, part="value")]]
    assert judge([coarse, fine], near) is SUPPORTED
    assert judge([coarse, case(0.0, 1e-10, part="value")], near) is INCONCLUSIVE
    assert judge([coarse, replace(fine, case={"part": "limit"})], near[:1]) is SUPPORTED
    found = parts_of([coarse, fine], [*map(refuted_by, near), {"limit": 0.9}, {}])
    assert found == {"limit": Part(coarse.departure, 1, 0.9), "value": Part(fine.departure, 1, 1e-9)}
    assert [part.used for part in found.values()] == [0.4 / 0.45, pytest.approx(0.1, rel=1e-12, abs=0.0)]
    assert rule(found.values(), [1.0, 0.9, 0.0]) is VACUOUS  # the third twin is refuted nowhere


def test_a_hair_counts():
    """A near twin is what notices an instrument that reads too low, so no other one, however clear, replaces it."""
    assert nearest_gap("bound", [{"bound": 1e-9, "sharp": 0.4}, {"bound": 0.3}]) == 1e-9
    assert nearest_gap("bound", [{"sharp": 1.0}, {}]) == 0.0


def test_parts_come_in_the_order_of_their_findings():
    names = ["sharp", "", "bound"]
    assert list(parts_of([case(0.0, 0.0, **({"part": name} if name else {})) for name in names * 2], [])) == names
    assert all(part.used == 0.0 for part in parts_of([case(-1.0, 0.0)], []).values())
    assert parts_of([case(-1.0, 1e-9)], [])[""].used == float("inf")


@pytest.mark.parametrize(
    ("findings", "twins", "verdict"),
    [
        ([case(-1e-15, 1e-15)], [[case(1.0, 1.0)]], SUPPORTED),
        ([case(0.1 - 1e-15, 0.1 + 1e-15)], [[case(1e6, 1e6)]], REFUTED),  # however far away the twins are
        ([case(5e-324, 5e-324)], [[case(1.0, 1.0)]], REFUTED),
        ([case(-9.0, -8.0), case(1e-9, 1e-8)], [[case(1.0, 1.0)]], REFUTED),  # one case is enough
        ([case(0.1, 0.2)], [], REFUTED),  # no twin is needed to lose
        ([case(0.0, 0.0)], [], VACUOUS),
        ([], [[case(1.0, 1.0)]], VACUOUS),
        ([], [], VACUOUS),
        ([case(0.0, 0.0)], [[case(1.0, 1.0)], [case(-1.0, 0.0)]], VACUOUS),
        ([case(0.0, 0.0)], [[case(1.0, 1.0)], [case(0.0, 1.0)]], VACUOUS),  # perhaps refuted is not refuted
        ([case(0.0, 0.0)], [[case(1.0, 1.0)], []], VACUOUS),
        ([case(0.0, 0.0)], [[case(-1.0, -1.0), case(1.0, 1.0)]], SUPPORTED),  # one witness is enough
        ([case(-1.0, 0.011)], [[case(1.0, 1.0)]], INCONCLUSIVE),
        ([case(-1.0, 0.01)], [[case(1.0, 1.0)]], SUPPORTED),
        ([case(-1.0, 0.01)], [[case(0.5, 1.0)]], INCONCLUSIVE),
        ([case(-1.0, 0.011)], [[case(1e9, 1e9)]], INCONCLUSIVE),  # a gap counts at most as 100 %
        ([case(-1.0, 0.5, Kind.TREND)], [[case(1.0, 1.0)]], SUPPORTED),
        ([case(-1.0, 0.51, Kind.STATISTICAL)], [[case(1.0, 1.0)]], INCONCLUSIVE),
        ([Case(Interval.unknown())], [[case(1.0, 1.0)]], INCONCLUSIVE),
        ([case(0.0, 0.0)], [[Case(Interval.unknown())]], VACUOUS),
    ],
)
def test_verdicts(findings, twins, verdict):
    assert judge(findings, twins) is verdict


@given(lists(1), st.lists(lists(1), min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_order_and_repetition_are_irrelevant(findings, twins, random):
    verdict = judge(findings, twins)
    mixed, others = findings * 2, [twin * 2 for twin in twins] * 2
    for several in (mixed, others, *others):
        random.shuffle(several)
    assert judge(mixed, others) is verdict


@given(lists(1), st.lists(lists(1), min_size=1, max_size=3), st.data())
def test_larger_departures_never_help(findings, twins, data):
    at = data.draw(st.integers(0, len(findings) - 1))
    old = findings[at].departure
    lo, hi = (end + data.draw(st.floats(0, 2)) for end in (old.lo, old.hi))
    raised = [*findings[:at], case(min(lo, 1e300), max(lo, hi, -1e300), old.kind), *findings[at + 1 :]]
    assert WORSE[judge(raised, twins)] >= WORSE[judge(findings, twins)]


@given(lists(1), st.lists(lists(1), min_size=1, max_size=3), st.data())
def test_twins_that_fail_by_more_never_hurt(findings, twins, data):
    at = data.draw(st.integers(0, len(twins) - 1))
    further = [*twins[:at], [*twins[at], data.draw(cases())], *twins[at + 1 :]]
    assert WORSE[judge(findings, further)] <= WORSE[judge(findings, twins)]


@given(lists(1), st.lists(lists(1), min_size=1, max_size=3), lists(1))
def test_another_twin_never_helps(findings, twins, twin):
    assert WORSE[judge(findings, [*twins, twin])] >= WORSE[judge(findings, twins)]


@given(lists(1), st.lists(lists(1), min_size=1, max_size=3), st.data())
def test_another_case_never_helps(findings, twins, data):
    weakest = max(f.departure.kind for f in findings)
    another = data.draw(cases(kinds=tuple(kind for kind in Kind if kind <= weakest)))
    assert WORSE[judge([*findings, another], twins)] >= WORSE[judge(findings, twins)]


@given(st.floats(-3, 3), st.floats(0, 1), st.floats(1e-300, 1e300), st.floats(1e-300, 1e300))
def test_scale_cannot_change_a_refutation(measured, error, one, other):
    twins = [[case(1.0, 1.0)]]
    verdicts = [judge([equals(Interval.within(measured, error), 0.5, scale=s)], twins) for s in (one, other)]
    assert (verdicts[0] is REFUTED) == (verdicts[1] is REFUTED)


@given(lists(1))
def test_worst_is_attained_end_by_end(findings):
    departure = worst(findings)
    assert departure.lo == max(f.departure.lo for f in findings)
    assert departure.hi == max(f.departure.hi for f in findings)
    assert departure.kind == max(f.departure.kind for f in findings)


def test_reach_grows_with_the_gap_up_to_one():
    for kind in Kind:
        assert all(reach(kind, a) <= reach(kind, b) for a, b in pairwise([-1.0, 0.0, 0.1, 1.0, 2.0, float("inf")]))
        assert reach(kind, float("inf")) == reach(kind, 1.0)
    assert [reach(kind, 1.0) for kind in Kind] == [0.01, 0.01, 0.01, 0.1, 0.5, 0.5]
    assert reach(Kind.PROVED, -1.0) == 0.0
