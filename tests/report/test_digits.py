"""No printed digit is wrong: each is shared by both ends, or the number is rounded away from the truth."""

import math
from fractions import Fraction

from hypothesis import given, strategies as st

from theory.evidence import Interval
from theory.report.digits import at_least, at_most, common

finite = st.floats(allow_nan=False, allow_infinity=False)


def unit(text):
    """Return one unit of the last digit before the dots."""
    mantissa, _, exponent = text.partition("...")
    return Fraction(10) ** (int(exponent[1:] or 0) - len(mantissa.partition(".")[2]))


@given(finite)
def test_bounds_round_outward_by_less_than_a_unit(value):
    low, high = Fraction(at_least(value)), Fraction(at_most(value))
    assert low <= Fraction(value) <= high
    if abs(value) > 1e-320:
        assert high - low <= abs(Fraction(value)) * Fraction(11, 100)


@given(finite, finite)
def test_common_digits_hold_for_both_ends(a, b):
    interval = Interval(min(a, b), max(a, b))
    text = common(interval)
    if text.startswith("["):
        low, high = text.strip("[]").split(", ")
        assert Fraction(low) <= Fraction(interval.lo)
        assert Fraction(interval.hi) <= Fraction(high)
        return
    cut = Fraction(text.replace("...", ""))
    if "..." not in text:
        assert cut == Fraction(interval.lo) == Fraction(interval.hi)
        return
    for end in (Fraction(interval.lo), Fraction(interval.hi)):
        assert 0 <= (end - cut) * (1 if cut > 0 else -1) < unit(text)  # cutting goes towards zero


@given(finite, st.floats(0, 1e-3))
def test_narrow_intervals_keep_their_digits(value, relative):
    if not 1e-300 < abs(value) < 1e300:
        return
    interval = Interval.within(value, abs(value) * relative)
    text = common(interval)
    if text.startswith("["):
        low, high = (Fraction(end) for end in text.strip("[]").split(", "))
        assert high - low <= 2 * Fraction(interval.width)
    elif "..." in text:
        assert max(Fraction(at_most(interval.width)) * 1000, abs(Fraction(value)) * Fraction(1, 10**11)) >= unit(text)


def test_written_forms():
    assert common(Interval.exactly(0.0)) == "0"
    assert common(Interval(-0.0, 0.0)) == "0"
    assert common(Interval(-3.123, -3.121), tex=True) == r"-3.12\ldots"
    assert common(Interval(1.23456e-8, 1.23457e-8)) == "1.2345...e-08"
    assert common(Interval(1.23456e-8, 1.23457e-8), tex=True) == r"1.2345\ldots\times10^{-8}"
    assert common(Interval(1.12499996, 1.12500004)) == "[1.124999960, 1.125000040]"  # not 1.12...
    assert common(Interval.unknown()) == "[-inf, inf]"
    assert common(Interval.unknown(), tex=True) == r"[-\infty, \infty]"
    assert (at_most(3.1e-14, tex=True), at_most(0.0), at_least(-0.0)) == (r"3.2\times10^{-14}", "0", "0")
    assert at_most(math.inf) == "inf"
    assert at_most(9.96) == "10"
