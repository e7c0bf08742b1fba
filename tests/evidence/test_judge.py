"""The rule of rigor.md: what refutes refutes at any scale, order is irrelevant, and nothing bad helps."""

from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from theory.evidence import Interval, Kind, Verdict, equals, judge
from theory.evidence.judge import reach, worst

SUPPORTED, REFUTED, INCONCLUSIVE, VACUOUS = Verdict.SUPPORTED, Verdict.REFUTED, Verdict.INCONCLUSIVE, Verdict.VACUOUS
WORSE = {SUPPORTED: 0, INCONCLUSIVE: 1, VACUOUS: 2, REFUTED: 3}


@dataclass(frozen=True)
class Case:
    """All that the rule sees of a finding."""

    departure: Interval


def case(lo, hi, kind=Kind.NUMERIC):
    return Case(Interval(lo, hi, kind))


@st.composite
def cases(draw, kinds=tuple(Kind)):
    """Draw departures of every size, many of them close to where the rule turns."""
    near = st.sampled_from([0.0, 5e-324, -5e-324, 0.01, 0.5, 1.0, -1.0, 0.0099, float("inf"), float("-inf")])
    lo, hi = sorted(draw(st.tuples(*2 * [near | st.floats(-3, 3)])))
    lo, hi = min(lo, 1e300), max(hi, -1e300)
    return case(lo, hi, draw(st.sampled_from(kinds)))


def lists(least=0, most=4, **chosen):
    return st.lists(cases(**chosen), min_size=least, max_size=most)


@given(lists(), st.lists(lists(), max_size=3))
def test_rule_is_the_one_that_is_written_down(findings, twins):
    resolution = {kind: 0.01 if kind <= Kind.NUMERIC else 0.5 for kind in Kind}
    low = max((f.departure.lo for f in findings), default=0.0)
    high = max((f.departure.hi for f in findings), default=0.0)
    kind = max((f.departure.kind for f in findings), default=Kind.PROVED)
    gap = min((max((f.departure.lo for f in twin), default=0.0) for twin in twins), default=0.0)
    if low > 0.0:
        expected = REFUTED
    elif not findings or not twins or gap <= 0.0:
        expected = VACUOUS
    elif high <= resolution[kind] * min(gap, 1.0):
        expected = SUPPORTED
    else:
        expected = INCONCLUSIVE
    assert judge(findings, twins) is expected


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
    assert [reach(kind, 1.0) for kind in Kind] == [0.01, 0.01, 0.01, 0.5, 0.5]
