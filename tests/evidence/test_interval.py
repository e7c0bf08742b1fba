"""Every operation encloses the exact rational result, and no kind is ever strengthened."""

import math
import operator
import pickle
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from theory.evidence import Interval, Kind
from theory.evidence.interval import enclose

LARGEST = sys.float_info.max
TINY = 5e-324
NORMAL = sys.float_info.min
NASTY = [
    0.0, -0.0, 1.0, -1.0, 1.0 - 2**-53, 1.0 + 2**-52, TINY, -TINY, 3 * TINY, NORMAL, LARGEST, -LARGEST, 1e-200, 1e200,
]  # fmt: skip
OPERATIONS = [operator.add, operator.sub, operator.mul, operator.truediv]

finite = st.sampled_from(NASTY) | st.floats(allow_nan=False, allow_infinity=False)
kinds = st.sampled_from(Kind)
shares = st.fractions(0, 1, max_denominator=64)


@st.composite
def members(draw):
    """An interval, possibly unbounded, with a rational number inside it that need not be a float."""
    lo, hi = sorted((draw(finite), draw(finite)))
    share, kind = draw(shares), draw(kinds)
    inside = Fraction(lo) + share * (Fraction(hi) - Fraction(lo))
    side = draw(st.sampled_from(["bounded", "bounded", "bounded", "below", "above", "both"]))
    beyond = share * Fraction(10) ** draw(st.sampled_from([0, 10, 400]))
    if side in ("below", "both"):
        lo = -math.inf
        inside = inside - beyond if side == "below" else inside
    if side in ("above", "both"):
        hi = math.inf
        inside = inside + beyond
    return Interval(lo, hi, kind), inside


@st.composite
def numbers(draw):
    """A bare number of every accepted type, with its exact value."""
    number = draw(
        finite
        | st.integers(-(2**70), 2**70)
        | st.sampled_from([10**400, -(10**400)])
        | st.fractions()
        | st.builds(np.float64, finite)
        | st.builds(np.float32, st.floats(width=32, allow_nan=False, allow_infinity=False))
        | st.builds(np.float16, st.floats(width=16, allow_nan=False, allow_infinity=False))
        | st.builds(np.int64, st.integers(1 - 2**63, 2**63 - 1))  # the least one has no absolute value
    )
    return number, Fraction(number.item() if isinstance(number, np.generic) else number)


def holds(interval, exact):
    """Tell whether an interval encloses a rational, without the code under test."""
    above = interval.lo == -math.inf or Fraction(interval.lo) <= exact
    return above and (interval.hi == math.inf or exact <= Fraction(interval.hi))


def everything(interval):
    return (interval.lo, interval.hi) == (-math.inf, math.inf)


@pytest.mark.parametrize("operation", OPERATIONS)
@given(left=members(), right=members())
def test_arithmetic_encloses(operation, left, right):
    (a, x), (b, y) = left, right
    result = operation(a, b)
    assert result.kind == max(a.kind, b.kind)
    if operation is operator.truediv and holds(b, 0):
        assert everything(result)
    else:
        assert holds(result, operation(x, y))


@pytest.mark.parametrize("operation", OPERATIONS)
@given(left=members(), right=numbers())
def test_bare_numbers_are_exact_and_leave_the_kind_alone(operation, left, right):
    (a, x), (b, y) = left, right
    result = operation(a, b)
    assert result.kind is a.kind
    assert everything(result) if operation is operator.truediv and y == 0 else holds(result, operation(x, y))
    result = operation(b, a)  # NumPy's scalars must leave the operation to the interval
    assert type(result) is Interval
    assert result.kind is a.kind
    assert everything(result) if operation is operator.truediv and holds(a, 0) else holds(result, operation(y, x))


@pytest.mark.parametrize("operation", OPERATIONS)
@given(left=finite, right=finite)
def test_arithmetic_of_floats_is_as_narrow_as_a_step_outward(operation, left, right):
    if operation is operator.truediv and right == 0.0:
        return
    exact = operation(Fraction(left), Fraction(right))
    result = operation(Interval.exactly(left), Interval.exactly(right))
    inner = Interval.exactly(exact)  # between neighbouring floats; one more step on either side is allowed
    lo, hi = (
        math.nextafter(math.nextafter(end, way), way) for end, way in ((inner.lo, -math.inf), (inner.hi, math.inf))
    )
    assert lo <= result.lo
    assert result.hi <= hi


@given(members())
def test_sign_and_size(member):
    a, x = member
    assert (-a).kind is abs(a).kind is a.kind
    assert holds(-a, -x)
    assert holds(abs(a), abs(x))
    assert abs(a).lo >= 0.0
    assert (-a).__neg__() == a
    assert abs(-a) == abs(a)


@given(members(), st.integers(0, 6))
def test_powers(member, exponent):
    a, x = member
    power = a**exponent
    assert power.kind is a.kind
    assert holds(power, x**exponent)
    assert exponent % 2 == 1 or power.lo >= 0.0


@given(members())
def test_square_root(member):
    a, x = abs(member[0]), abs(member[1])
    root = a.sqrt()
    assert root.kind is a.kind
    assert root.lo >= 0.0
    assert Fraction(root.lo) ** 2 <= x
    assert root.hi == math.inf or x <= Fraction(root.hi) ** 2


def test_square_root_is_of_a_number_known_to_be_non_negative():
    assert Interval(-1.0, 4.0).sqrt().lo == 0.0  # the part below zero is rounding
    with pytest.raises(ValueError, match=r"^sqrt: expected a number that may be non-negative"):
        Interval(-2.0, -1.0).sqrt()


@given(members())
def test_middle_lies_inside_and_width_is_an_upper_bound(member):
    a, _ = member
    assert a.lo <= a.mid <= a.hi
    if math.isfinite(a.lo) and math.isfinite(a.hi):
        exact = Fraction(a.hi) - Fraction(a.lo)
        assert a.width == math.inf or Fraction(a.width) >= exact
        assert (a.width == 0.0) == (exact == 0)
    else:
        assert a.width == math.inf


@given(st.lists(members(), min_size=1, max_size=5))
def test_largest(seen):
    result = Interval.largest([a for a, _ in seen])
    assert holds(result, max(x for _, x in seen))
    assert result.kind == max(a.kind for a, _ in seen)
    assert result.lo in {a.lo for a, _ in seen}
    assert result.hi in {a.hi for a, _ in seen}


@given(numbers(), kinds)
def test_exactly_is_a_float_or_its_two_neighbours(number, kind):
    value, exact = number
    interval = Interval.exactly(value, kind)
    assert interval.kind is kind
    assert holds(interval, exact)
    assert (interval.width == 0.0) == (abs(exact) <= Fraction(LARGEST) and Fraction(float(exact)) == exact)
    assert interval.hi <= math.nextafter(interval.lo, math.inf)


@given(numbers(), numbers())
def test_ends_that_are_no_floats_round_outward(one, other):
    (a, x), (b, y) = sorted((one, other), key=operator.itemgetter(1))
    interval = Interval(a, b)
    assert holds(interval, x)
    assert holds(interval, y)
    assert type(interval.lo) is type(interval.hi) is float


@given(numbers(), numbers(), st.fractions(-1, 1))
def test_within(value, error, share):
    (near, exact), (bound, reach) = value, error
    assert holds(Interval.within(near, abs(bound)), exact + share * abs(reach))


@given(finite, kinds)
def test_an_error_without_a_bound_says_nothing(value, kind):
    interval = Interval.within(value, math.inf, kind)
    assert everything(interval)
    assert interval.kind is kind


@pytest.mark.parametrize(
    ("digits", "lo", "hi"),
    [
        ("2.447", "2.4465", "2.4475"),
        ("-0.50", "-0.505", "-0.495"),
        ("1.0e-3", "0.00095", "0.00105"),
        ("0", "-0.5", "0.5"),
        ("100", "99.5", "100.5"),
        ("1E2", "50", "150"),
        ("1e-400", "5e-401", "15e-401"),
    ],
)
def test_printed_digits_are_good_to_half_a_unit(digits, lo, hi):
    quoted = Interval.printed(digits)
    assert quoted.kind is Kind.NUMERIC
    assert holds(quoted, Fraction(lo))
    assert holds(quoted, Fraction(hi))
    assert (quoted.lo, quoted.hi) == (Interval.exactly(Fraction(lo)).lo, Interval.exactly(Fraction(hi)).hi)


@given(st.decimals(allow_nan=False, allow_infinity=False), st.fractions(-1, 1))
def test_printed_encloses_what_rounds_to_the_digits(decimal, share):
    unit = Fraction(10) ** decimal.as_tuple().exponent
    assert holds(Interval.printed(str(decimal)), Fraction(decimal) + share * unit / 2)


@given(members(), numbers())
def test_membership_is_exact(member, number):
    (a, x), (value, exact) = member, number
    assert x in a
    assert (value in a) == holds(a, exact)


@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge])
@pytest.mark.parametrize("other", [Interval(2.0, 3.0), 2, 2.0, np.float64(2.0), Fraction(2), math.nan])
def test_there_is_no_order(compare, other):
    with pytest.raises(TypeError):
        compare(Interval(0.0, 1.0), other)
    with pytest.raises(TypeError):
        compare(other, Interval(0.0, 1.0))


def test_no_conversion_drops_the_width():
    for convert in (float, int, complex, round, math.sqrt):
        with pytest.raises(TypeError):
            convert(Interval(1.0, 1.0))


def test_what_cannot_be_measured_is_the_whole_line():
    up, down = Interval(1.0, math.inf), Interval(-math.inf, 1.0)
    for interval in (Interval.unknown(), up - up, up + down, up / Interval(0.0, 1.0), 1 / Interval(-1.0, 0.0), up / 0):
        assert everything(interval)
    assert everything(0 / Interval.exactly(0.0))
    assert Interval.unknown(Kind.PROVED).kind is Kind.PROVED
    assert everything(Interval.unknown() * 2 - 3)
    assert Interval.unknown() * 0 == Interval(0.0, 0.0)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Interval(math.nan, 1.0), r"^lo, hi: expected lo <= hi .* got nan, 1\.0$"),
        (lambda: Interval(0.0, math.nan), r"^lo, hi: expected lo <= hi"),
        (lambda: Interval(1.0, 0.0), r"^lo, hi: expected lo <= hi .* got 1\.0, 0\.0$"),
        (lambda: Interval(math.inf, math.inf), r"^lo, hi: expected .* a real number between"),
        (lambda: Interval(-math.inf, -math.inf), r"^lo, hi: expected .* a real number between"),
        (lambda: Interval.exactly(math.nan), r"^value: expected a finite number, got nan$"),
        (lambda: Interval.exactly(math.inf), r"^value: expected a finite number, got inf$"),
        (lambda: Interval.within(1.0, -1e-300), r"^error: expected a non-negative bound, got -1e-300$"),
        (lambda: Interval.within(1.0, math.nan), r"^error: expected a non-negative bound, got nan$"),
        (lambda: Interval.within(math.nan, 1.0), r"^value: expected a finite number, got nan$"),
        (lambda: Interval.within(math.inf, 1.0), r"^value: expected a finite number, got inf$"),
        (lambda: Interval.within(-math.inf, 0.0), r"^value: expected a finite number, got -inf$"),
        (lambda: Interval.within(np.float32(math.inf), 1), r"^value: expected a finite number, got "),
        (lambda: Interval.printed("abc"), r"^digits: expected a decimal number, got 'abc'$"),
        (lambda: Interval.printed("nan"), r"^digits: expected a decimal number, got 'nan'$"),
        (lambda: Interval.printed("inf"), r"^digits: expected a decimal number, got 'inf'$"),
        (lambda: Interval(0.0, 1.0) + math.nan, r"^operand: expected a finite number, got nan$"),
        (lambda: Interval(0.0, 1.0) * math.inf, r"^operand: expected a finite number, got inf$"),
        (lambda: Interval(0.0, 1.0) ** -1, r"^exponent: expected a non-negative integer, got -1$"),
        (lambda: Interval(0.0, 1.0) ** 0.5, r"^exponent: expected a non-negative integer, got 0\.5$"),
        (lambda: Interval.largest([]), r"^values: expected at least one interval"),
    ],
)
def test_refused_values(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("value", ["1", None, True, 1j, Decimal(1), np.array(["1"]), np.longdouble(1) / 3])
def test_refused_types(value):
    for build in (enclose, Interval.exactly, lambda v: Interval(v, 2.0), lambda v: Interval(0.0, 1.0) + v):
        with pytest.raises(TypeError, match="expected"):
            build(value)


def test_printed_takes_text_only():
    with pytest.raises(TypeError, match=r"^digits: expected"):
        Interval.printed(2.447)  # a float has fifty digits, none of which was quoted


def test_value_object():
    a = Interval(0.1, 0.2, Kind.PROVED)
    assert pickle.loads(pickle.dumps(a)) == a  # noqa: S301
    assert hash(a) == hash(Interval(0.1, 0.2, Kind.PROVED))
    assert a != Interval(0.1, 0.2, Kind.NUMERIC)
    with pytest.raises(AttributeError):
        a.lo = 0.0
    with pytest.raises(ValueError, match="99"):
        Interval(0.0, 1.0, 99)
