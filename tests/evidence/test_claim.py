"""Claims are well formed, twins change what the check knows, and a finding is its departure in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from theory.evidence import (
    Claim,
    Interval,
    Kind,
    Twin,
    Verdict,
    Verification,
    at_least,
    at_most,
    bug,
    constant,
    equals,
    hypothesis,
    verifies,
)

CLAIM = Claim("sums.two", "one plus one is two", r"$1 + 1 = 2$")
DEPARTURES = {
    equals: lambda m, c: abs(m - c),
    at_most: lambda m, c: m - c,
    at_least: lambda m, c: c - m,
}

finite = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(min_value=0, exclude_min=True, allow_infinity=False)


@pytest.mark.parametrize("relation", DEPARTURES)
@given(measured=finite, claimed=finite, scale=positive)
def test_departure_is_in_units_of_the_scale(relation, measured, claimed, scale):
    finding = relation(Interval.exactly(measured), claimed, scale=scale, n=3)
    exact = DEPARTURES[relation](Fraction(measured), Fraction(claimed)) / Fraction(scale)
    assert finding.relation == relation.__name__
    assert finding.departure.hi >= exact
    assert finding.departure.lo <= max(exact, Fraction(5e-324))
    assert dict(finding.case) == {"n": 3}


@pytest.mark.parametrize("relation", DEPARTURES)
@given(measured=finite, claimed=finite, scales=st.tuples(positive, positive))
def test_scale_cannot_change_a_refutation(relation, measured, claimed, scales):
    point = Interval.exactly(measured)
    refuted = {relation(point, claimed, scale=scale).departure.lo > 0.0 for scale in scales}
    assert refuted == {DEPARTURES[relation](Fraction(measured), Fraction(claimed)) > 0}


def test_scale_of_no_known_size_cannot_change_a_refutation():
    departure = at_most(Fraction(3, 2), 1, scale=Interval(0.25, float("inf"))).departure
    assert departure.lo > 0.0
    assert departure.hi >= 2.0


@pytest.mark.parametrize("relation", DEPARTURES)
def test_scale_is_the_claimed_size_unless_given(relation):
    assert relation(3, -4).departure == relation(3, -4, scale=4).departure
    with pytest.raises(ValueError, match=r"^scale: expected a positive scale \(the claimed value may vanish: 0\)"):
        relation(3, 0)
    for scale in (0, -1.0, Interval(0.0, 1.0), Interval.unknown()):
        with pytest.raises(ValueError, match=r"^scale: expected a positive scale"):
            relation(3, 1, scale=scale)


@pytest.mark.parametrize("relation", DEPARTURES)
@pytest.mark.parametrize("value", [1.0, np.float64(1.0), np.float32(1.0), True, "1", None, np.ones(1)])
def test_what_was_measured_brings_its_width(relation, value):
    """A bare float is a computation of unknown error; taken for exact it would pass as proved."""
    name = type(value).__name__
    with pytest.raises(TypeError, match=rf"^measured: expected .* \(.* for .* got {name}"):
        relation(value, 1)


@pytest.mark.parametrize("relation", DEPARTURES)
@pytest.mark.parametrize("value", [3, np.int64(3), Fraction(1, 3), 10**400])
def test_integers_and_fractions_are_exact_but_no_proof(relation, value):
    finding = relation(value, 7)
    assert Fraction(int(value) if isinstance(value, np.integer) else value) in finding.measured
    assert finding.departure.kind is Kind.CERTIFIED


@given(st.tuples(*3 * [st.sampled_from(Kind)]))
def test_departure_has_the_weakest_kind(kinds):
    measured, claimed, scale = (Interval(1.0, 2.0, kind) for kind in kinds)
    for relation in DEPARTURES:
        assert relation(measured, claimed, scale=scale).departure.kind == max(kinds)
        assert relation(measured, 2, scale=1.0).departure.kind == kinds[0]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"id": "Sums.two"}, r"^id: expected 'subject\.name' in lower case, got 'Sums\.two'$"),
        ({"id": "sums"}, r"^id: expected"),
        ({"id": "sums.two.more"}, r"^id: expected"),
        ({"id": "sums.two\n"}, r"^id: expected"),
        ({"id": "../sums.two"}, r"^id: expected"),
        ({"id": "sums.-two"}, r"^id: expected"),
        ({"words": ""}, r"^words, statement: expected text for sums\.two"),
        ({"words": "two\nlines"}, r"^words, statement: expected"),
        ({"statement": ""}, r"^words, statement: expected text"),
        ({"spec": ("MA-L6",)}, r"^spec: expected an item such as 'MA\.L6', got 'MA-L6'$"),
        ({"source_status": ("rumour",)}, r"^source_status: expected one of seen, .* got 'rumour'$"),
        ({"finds": ()}, r"^finds: expected verdicts, none of them vacuous, for sums\.two, got \(\)$"),
        ({"finds": (Verdict.REFUTED, Verdict.VACUOUS)}, r"^finds: expected verdicts, none of them vacuous"),
    ],
)
def test_malformed_claims(fields, message):
    good = {"id": "sums.two", "words": "one plus one is two", "statement": "$1 + 1 = 2$"}
    assert Claim(**good) == Claim("sums.two", "one plus one is two", "$1 + 1 = 2$")
    with pytest.raises(ValueError, match=message):
        Claim(**good | fields)


@pytest.mark.parametrize("name", ["assumptions", "spec", "cites", "source_status", "finds"])
@pytest.mark.parametrize("value", ["one text", ["a list"], (1,), Verdict.REFUTED])
def test_lists_of_a_claim_are_tuples_of_text(name, value):
    with pytest.raises(TypeError, match=rf"^{name}: expected"):
        Claim("sums.two", "one plus one is two", "$1 + 1 = 2$", **{name: value})


def test_a_claim_finds_support_unless_it_says_so():
    assert CLAIM.finds == (Verdict.SUPPORTED,)
    with pytest.raises(TypeError, match=r"^finds: expected .* got 'refuted'$"):
        Claim("sums.two", "one plus one is two", "$1 + 1 = 2$", finds=("refuted",))


def test_twins_are_changed_parameters():
    for maker in (constant, hypothesis, bug):
        twin = maker("three", "the sum is three", total=3)
        assert (twin.id, twin.made_by, twin.breaks, dict(twin.changes)) == (
            "three",
            maker.__name__,
            "the sum is three",
            {"total": 3},
        )
        with pytest.raises(TypeError):
            twin.changes["total"] = 4


def test_verifies_ties_a_check_to_its_claim():
    twins = constant("three", "the sum is three", total=3), bug("minus", "the sign", sign=-1)

    def check(run, *, total=2, sign=1):
        yield equals(sign * run, total)

    verification = verifies(CLAIM, *twins)(check)
    assert type(verification) is Verification
    assert (verification.claim, verification.twins, verification.check) == (CLAIM, twins, check)


@pytest.mark.parametrize(
    ("twins", "message"),
    [
        ((constant("x", "y", totl=3),), r"to change keyword-only parameters .* of sums\.two \(total\), got totl$"),
        ((constant("x", "y", run=3),), r"got run$"),
        ((constant("x", "y", total=3, totl=4),), r"got total, totl$"),
        ((constant("x", "y"),), r"got no change$"),
        ((constant("x", "y", total=3), bug("x", "z", total=4)), r"expected distinct ids for sums\.two, got x, x$"),
        ((), r"expected at least two of different type for sums\.two, got none$"),
        ((bug("x", "y", total=3),), r"of different type for sums\.two, got x \(bug\)$"),
        ((bug("x", "y", total=3), bug("z", "y", total=4)), r"of different type for .*, got x \(bug\), z \(bug\)$"),
        ((constant("x", "y", total=2), bug("z", "y", total=4)), r"'x' of sums\.two to change something, .* of total$"),
        ((constant("x", "y", total=2.0), bug("z", "y", total=4)), r"to change something, got the true value of total$"),
        (
            (constant("x", "y", total=4), bug("z", "y", total=4)),
            r"'x' and 'z' of sums\.two to differ, got equal changes$",
        ),
    ],
)
def test_twins_that_the_check_does_not_know(twins, message):
    def check(run, *, total=2):
        yield equals(run, total)

    with pytest.raises(ValueError, match=rf"^twins: .*{message}"):
        verifies(CLAIM, *twins)(check)


@pytest.mark.parametrize(
    ("true", "changed", "idle"),
    [
        (np.zeros(2), np.zeros(2), True),
        (np.zeros(2), np.zeros(3), False),
        ((1, 2), (1, 2), True),
        (None, None, True),
        (True, 1, True),
        ("a", "b", False),
        (Fraction(1, 2), Fraction(1, 2), True),
    ],
)
def test_values_of_every_type_are_compared(true, changed, idle):
    def check(run, *, total=true, sign=1):
        yield equals(run, total, sign=sign)

    twins = constant("x", "y", total=changed), bug("z", "y", sign=-1)
    if idle:
        with pytest.raises(ValueError, match=r"'x' of sums\.two to change something"):
            verifies(CLAIM, *twins)(check)
    else:
        assert verifies(CLAIM, *twins)(check).twins == twins


def test_twin_that_restates_one_value_beside_another_changes_something():
    def check(run, *, total=2, sign=1):
        yield equals(run, total, sign=sign)

    assert verifies(CLAIM, constant("x", "y", total=2, sign=-1), bug("z", "y", total=3))(check)


@pytest.mark.parametrize("relation", DEPARTURES)
@pytest.mark.parametrize(
    "name", ["scle", "scal", "Scale", "SCALE", "sclae", "scale_", "scales", "slace", "sacle", "scle2"]
)
def test_scale_misspelt_is_refused(relation, name):
    with pytest.raises(TypeError, match=rf"^{name}: expected the keyword 'scale', .* got '{name}'$"):
        relation(3, 1, **{name: 1e300})


@pytest.mark.parametrize(
    "name", ["size", "score", "case", "scaled", "unscaled", "space", "scalar", "tau", "local", "n"]
)
def test_other_words_are_parameters(name):
    assert dict(equals(3, 1, **{name: 5}).case) == {name: 5}


def test_check_without_keyword_only_parameters_has_no_twins():
    with pytest.raises(ValueError, match="it has none"):
        verifies(CLAIM, Twin("x", "bug", "y", {"total": 1}))(lambda run, total=2: iter((run, total)))


def check_without_run(total, *, value=1):
    yield equals(total, value)


def check_of_keywords_only(*, run=None, value=1):
    yield equals(run, value)


def check_without_default(run, *, value, total, sign=1):
    yield equals(run, value * total * sign)


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (check_without_run, r"^check: expected the check of sums\.two to take 'run' first, got \(total, value\)$"),
        (check_of_keywords_only, r"to take 'run' first, got \(run, value\)$"),
        (check_without_default, r"^check: expected the true value as the default of .*, got none for total, value$"),
    ],
)
def test_checks_of_which_the_parameters_make_no_sense(check, message):
    with pytest.raises(ValueError, match=message):
        verifies(CLAIM, constant("two", "y", value=2), bug("minus", "z", value=-1))(check)
