"""Limits and orders enclose the truth on sequences made to have one, and say nothing of the others."""

import math
from fractions import Fraction

import pytest

from theory.evidence import Interval, Kind, estimated, limit, order

STEPS = [2.0**-k for k in range(4, 12)]


def known(interval):
    return math.isfinite(interval.width)


def sequence(p, q, *, value=1.0, leading=1.0, following=1.0, ratio=2.0, levels=8):
    """Return value + leading h**p + following h**q at parameters h that shrink by ``ratio``."""
    steps = [ratio ** -(k + 2.0) for k in range(levels)]
    return [value + leading * h**p + following * h**q for h in steps]


def test_two_computations_and_a_multiple_of_their_distance():
    found = estimated(1.0, 1.5, times=2)
    assert found.kind is Kind.ESTIMATED
    assert found.lo <= 0.0
    assert found.hi >= 2.0
    assert found.width < 2.0 + 1e-14
    apart = estimated(Interval(0.9, 1.1), Interval(1.2, 1.4), times=1.0)  # their widths may hide a larger distance
    assert apart.lo <= 0.9 - 0.5
    assert apart.hi >= 1.1 + 0.5
    for one, other in ((Interval.exactly(1.0, Kind.TREND), 1.0), (1.0, Interval.exactly(1.0, Kind.TREND))):
        assert estimated(one, other, times=1.0).kind is Kind.TREND
    agreed = estimated(2.0, 2.0, times=3.0)
    assert 2.0 in agreed
    assert agreed.width < 1e-15


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"value": 1.0, "other": 1.0, "times": 0.5}, "times: expected a factor of at least one, got 0.5"),
        ({"value": 1.0, "other": 1.0, "times": math.inf}, "times: expected"),
        ({"value": math.nan, "other": 1.0, "times": 1.0}, "value: expected a finite number, got nan"),
        ({"value": 1.0, "other": math.inf, "times": 1.0}, "other: expected a finite number, got inf"),
    ],
)
def test_no_estimate(arguments, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        estimated(**arguments)


@pytest.mark.parametrize("p", [0.25, 0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("further", [0.25, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("ratio", [1.5, 2.0, 10.0])
@pytest.mark.parametrize("signs", [(1.0, 1.0), (1.0, -0.3), (-2.0, 0.5)])
def test_limit_encloses(p, further, ratio, signs):
    values = sequence(p, p + further, value=math.e, leading=signs[0], following=signs[1], ratio=ratio)
    found = limit(values, ratio=ratio, order=p)
    assert found.kind is Kind.TREND
    assert math.e in found


def test_limit_gains_an_order():
    values = sequence(1.0, 2.0)
    found = limit(values, order=1.0)
    assert found.width < 20.0 * (values[-1] - 1.0) ** 2
    assert values[-1] - 1.0 > 10.0 * found.width


@pytest.mark.parametrize("true", [0.25, 0.5, 1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("stated", [0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 10.0])
def test_wrong_order_is_enclosed_or_noticed(true, stated):
    for leading in (1.0, -3.0):
        assert 1.0 in limit(sequence(true, true + 1.0, leading=leading), order=stated)


def test_logarithmic_corrections_are_enclosed():
    values = [1.0 - h * math.log(h) for h in STEPS]
    assert 1.0 in limit(values, order=1.0)


@pytest.mark.parametrize(
    "values",
    [
        [0.0, 1.0, 2.0, 3.0, 4.0],  # the logarithm of h
        [k * math.log(2.0) for k in range(3, 9)],
        [1.0, 1.1, 1.0, 1.2, 0.9],
        [2.0**k for k in range(5)],
        [math.log(k) ** 2 for k in (10, 100, 1000, 10_000)],
        [1.0, 1.0, 1.0, 1.0, 2.0],
    ],
)
def test_sequence_without_a_limit_has_none(values):
    assert not known(limit(values, order=1.0))


def test_levels_carry_their_width():
    values = [Interval.within(v, 1e-3, Kind.STATISTICAL) for v in sequence(1.0, 2.0)]
    found = limit(values, order=1.0)
    assert found.kind is Kind.STATISTICAL
    assert found.width >= 6e-3  # 2 v - v' of levels 1e-3 wide on either side
    assert Interval(0.997, 1.003).lo >= found.lo
    assert not known(limit([1.0, 1.0, Interval.unknown(), 1.0], order=1.0))


def test_constant_sequence_is_its_limit():
    found = limit([0.1] * 4, order=2.0)
    assert 0.1 in found
    assert found.width < 1e-15


@pytest.mark.parametrize("ratio", [1.5, 2.0, 3.0, 10.0])
@pytest.mark.parametrize("p", [-2.0, 0.0, 0.5, 1.0, 2.0, 5.0, 12.0])
def test_order_of_a_power_is_its_exponent(ratio, p):
    errors = [3.0 * ratio ** (-k * p) for k in range(6)]
    found = order([Interval.within(e, 4 * math.ulp(e)) for e in errors], ratio=ratio)
    assert found.kind is Kind.TREND
    assert p in found
    assert found.width < 1e-12


@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("further", [0.25, 0.4, 1.0, 2.0])
@pytest.mark.parametrize("factor", [1.0, -0.3, 0.1])
def test_order_encloses(p, further, factor):
    for ratio in (1.5, 2.0, 10.0):
        errors = sequence(p, p + further, value=0.0, following=factor, ratio=ratio)
        assert p in order(errors, ratio=ratio)
        assert order([-e for e in errors], ratio=ratio) == order(errors, ratio=ratio)


def test_order_tells_neighbours_apart():
    for p in (1.0, 2.0, 4.0):
        found = order(sequence(p, p + 1.0, value=0.0))
        assert p - 0.2 not in found
        assert p + 0.2 not in found


def test_order_of_errors_of_which_nothing_is_known():
    settled = sequence(1.0, 2.0, value=0.0)
    assert not known(order([*settled, 0.0]))
    assert not known(order([*settled, Interval(-1e-9, 1.0)]))
    assert not known(order([*settled, Interval.unknown()]))
    assert not known(order([1.0, 0.5, 0.25, 0.2, 1e-9]))
    assert not known(order([1e300, 1e-300, 1e-300, 1e-300]))
    assert not known(order([1e-300, 1e300, 1e300, 1e300]))


def test_errors_carry_their_width():
    errors = [Interval.within(e, 0.1 * e, Kind.NUMERIC) for e in sequence(1.0, 2.0, value=0.0)]
    assert order(errors).width > math.log(1.1 / 0.9) / math.log(2.0)
    assert order([Interval.within(e, 0.01 * e, Kind.STATISTICAL) for e in STEPS]).kind is Kind.STATISTICAL


def test_fractions_are_levels():
    assert Fraction(1, 3) in limit([Fraction(1, 3) + Fraction(1, 2**k) for k in range(2, 8)], order=1)


@pytest.mark.parametrize(
    "arguments",
    [
        {"values": [1.0] * 3, "order": 1.0},
        {"values": [], "order": 1.0},
        {"values": [1.0] * 4, "order": 0.0},
        {"values": [1.0] * 4, "order": -1.0},
        {"values": [1.0] * 4, "order": math.nan},
        {"values": [1.0] * 4, "order": 1.0, "ratio": 1.0},
        {"values": [1.0] * 4, "order": 1.0, "ratio": math.nan},
    ],
)
def test_limit_refuses(arguments):
    with pytest.raises(
        ValueError,
        match=r"^(values, ratio, order: expected at least 4 levels, ratio > 1, order > 0|ratio|order: expected finite)",
    ):
        limit(**arguments)


def test_limit_whose_factor_overflows():
    assert not known(limit([1.0] * 4, ratio=1e10, order=100.0))


@pytest.mark.parametrize(("errors", "ratio"), [([1.0] * 3, 2.0), ([1.0] * 4, 1.0), ([1.0] * 4, math.nan)])
def test_order_refuses(errors, ratio):
    with pytest.raises(
        ValueError, match=r"^(errors, ratio: expected at least 4 levels and ratio > 1|ratio: expected finite)"
    ):
        order(errors, ratio=ratio)
