"""Claims are well formed, twins change what the check knows, and a finding is its departure in exact arithmetic."""

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from theory.evidence import (
    Claim,
    Interval,
    Kind,
    Twin,
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
    finding = relation(measured, claimed, scale=scale, n=3)
    exact = DEPARTURES[relation](Fraction(measured), Fraction(claimed)) / Fraction(scale)
    assert finding.relation == relation.__name__
    assert finding.departure.hi >= exact
    assert finding.departure.lo <= max(exact, Fraction(5e-324))
    assert dict(finding.case) == {"n": 3}


@pytest.mark.parametrize("relation", DEPARTURES)
@given(measured=finite, claimed=finite, scales=st.tuples(positive, positive))
def test_scale_cannot_change_a_refutation(relation, measured, claimed, scales):
    refuted = {relation(measured, claimed, scale=scale).departure.lo > 0.0 for scale in scales}
    assert refuted == {DEPARTURES[relation](Fraction(measured), Fraction(claimed)) > 0}


def test_scale_of_no_known_size_cannot_change_a_refutation():
    departure = at_most(1.5, 1, scale=Interval(0.25, float("inf"))).departure
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
        ({"provenance": ("rumour",)}, r"^provenance: expected one of seen, .* got 'rumour'$"),
    ],
)
def test_malformed_claims(fields, message):
    good = {"id": "sums.two", "words": "one plus one is two", "statement": "$1 + 1 = 2$"}
    assert Claim(**good) == Claim("sums.two", "one plus one is two", "$1 + 1 = 2$")
    with pytest.raises(ValueError, match=message):
        Claim(**good | fields)


@pytest.mark.parametrize("name", ["assumptions", "spec", "cites", "provenance"])
@pytest.mark.parametrize("value", ["one text", ["a list"], (1,)])
def test_lists_of_a_claim_are_tuples_of_text(name, value):
    with pytest.raises(TypeError, match=rf"^{name}: expected"):
        Claim("sums.two", "one plus one is two", "$1 + 1 = 2$", **{name: value})


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
    twin = constant("three", "the sum is three", total=3)

    def check(run, *, total=2):
        yield equals(run, total)

    verification = verifies(CLAIM, twin)(check)
    assert type(verification) is Verification
    assert (verification.claim, verification.twins, verification.check) == (CLAIM, (twin,), check)


@pytest.mark.parametrize(
    ("twins", "message"),
    [
        ((constant("x", "y", totl=3),), r"to change keyword-only parameters .* of sums\.two \(total\), got totl$"),
        ((constant("x", "y", run=3),), r"got run$"),
        ((constant("x", "y", total=3, totl=4),), r"got total, totl$"),
        ((constant("x", "y"),), r"got no change$"),
        ((constant("x", "y", total=3), bug("x", "z", total=4)), r"expected distinct ids for sums\.two, got x, x$"),
    ],
)
def test_twins_that_the_check_does_not_know(twins, message):
    def check(run, *, total=2):
        yield equals(run, total)

    with pytest.raises(ValueError, match=rf"^twins: .*{message}"):
        verifies(CLAIM, *twins)(check)


def test_check_without_keyword_only_parameters_has_no_twins():
    with pytest.raises(ValueError, match="it has none"):
        verifies(CLAIM, Twin("x", "bug", "y", {"total": 1}))(lambda run, total=2: iter((run, total)))
