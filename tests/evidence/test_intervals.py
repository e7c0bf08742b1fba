"""Every rule of enclosures contains the truth, and is at least as wide as its lemma says."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from fractions import Fraction

import flint
import numpy as np
import pytest

from theory.evidence import Interval, Intervals, Kind, as_intervals, ball, balls, equals, exact, norm, precision, within
from theory.evidence.intervals import cover
from theory.evidence.roundoff import EXP_ULPS, U


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    """The rules as they are written for NumPy; that compiled ones answer the same is a test of theirs."""
    for module in ("intervals", "outward"):
        monkeypatch.setattr(f"theory.evidence.{module}.compiled", lambda: None)


HUGE, TINY, LEAST = 1.7e308, 2.3e-308, 5e-324
NUMBERS = (0.0, 1.0, -1.0, 1.0 / 3.0, -math.pi, 1e-9, 7e15, TINY, -LEAST, HUGE, -HUGE)
SIZES = (0.0, 2.0**-52, 1e-3, 0.7, 40.0)
ULP = 2 * U


def enclosures():
    """Yield intervals of hostile middles and widths."""
    for number, size in itertools.product(NUMBERS, SIZES):
        reach = size * max(abs(number), 1e-5)
        if math.isfinite(number - reach) and math.isfinite(number + reach):
            yield number - reach, number + reach


UNEVEN = [(0.0, 1.0), (-1.0, 0.0), (-1.0 / 3.0, 1e16 / 3.0), (-7.1e9, 0.1)]
PAIRS = np.array([*enclosures(), *UNEVEN])
FIRST, SECOND = (np.array(side) for side in zip(*itertools.product(PAIRS, PAIRS), strict=True))
LEFT = Intervals(FIRST[:, 0], FIRST[:, 1])
RIGHT = Intervals(SECOND[:, 0], SECOND[:, 1])


def points(interval):
    """Return numbers that certainly lie inside: the ends and the middle, exactly."""
    lo, hi = Fraction(float(interval[0])), Fraction(float(interval[1]))
    return lo, (lo + hi) / 2, hi


def misses(found, value):
    """Tell whether a rational number or a ball lies certainly outside an interval of two floats."""
    lo, hi = found
    if isinstance(value, Fraction):
        return not ((lo == -math.inf or Fraction(lo) <= value) and (hi == math.inf or value <= Fraction(hi)))
    return bool(value < flint.arb(lo) or value > flint.arb(hi))


def quotient(x, y):
    return x / y if y else None


RATIONAL = {
    "add": (np.add, lambda x, y: x + y),
    "subtract": (np.subtract, lambda x, y: x - y),
    "multiply": (np.multiply, lambda x, y: x * y),
    "divide": (np.true_divide, quotient),
    "maximum": (np.maximum, max),
    "minimum": (np.minimum, min),
}


@pytest.mark.parametrize("name", RATIONAL)
def test_arithmetic_contains_every_exact_result(name):
    ufunc, formula = RATIONAL[name]
    for left, right in ((LEFT, RIGHT), (exact(FIRST[:, 0]), RIGHT), (exact(FIRST[:, 0]), exact(SECOND[:, 0]))):
        found = ufunc(left, right)
        assert (found.lo <= found.hi).all()
        ends = zip(zip(left.lo, left.hi, strict=True), zip(right.lo, right.hi, strict=True), strict=True)
        for at, (one, other) in enumerate(ends):
            for x, y in itertools.product(points(one), points(other)):
                value = formula(x, y)
                assert value is None or not misses((found.lo[at], found.hi[at]), value), (name, one, other)


SQUARES = {"square": np.square, "product with itself": lambda x: x * x, "second power": lambda x: x**2}


@pytest.mark.parametrize("name", SQUARES)
def test_squares_are_of_one_number(name):
    x = Intervals(PAIRS[:, 0], PAIRS[:, 1])
    found = SQUARES[name](x)
    assert (found.lo >= 0.0).all()
    for at, pair in enumerate(PAIRS):
        assert not any(misses((found.lo[at], found.hi[at]), value**2) for value in points(pair))


@pytest.mark.parametrize("exponent", [0, 1, 3, 5, 99, -1, -2])
def test_whole_powers_contain_every_exact_power(exponent):
    x = Intervals(PAIRS[:, 0], PAIRS[:, 1])
    found = x**exponent
    for at, pair in enumerate(PAIRS):
        for value in points(pair):
            if value or exponent >= 0:
                assert not misses((found.lo[at], found.hi[at]), value**exponent), (pair, exponent)


MODERATE = [pair for pair in PAIRS if abs(pair).max() < 1e100]
LIBRARY = {
    "sqrt": (np.sqrt, 0.0), "exp": (np.exp, -math.inf), "expm1": (np.expm1, -math.inf), "log": (np.log, LEAST),
    "log1p": (np.log1p, -1.0 + U), "tanh": (np.tanh, -math.inf), "sinh": (np.sinh, -math.inf),
    "cosh": (np.cosh, -math.inf), "atan": (np.arctan, -math.inf), "sin": (np.sin, -math.inf),
    "cos": (np.cos, -math.inf),
}  # fmt: skip


def inside(least, pairs=MODERATE):
    """Return the parts of the intervals in which a function is defined."""
    cut = np.array([(max(lo, least), hi) for lo, hi in pairs if hi >= least and hi < 700.0])
    return Intervals(cut[:, 0], cut[:, 1])


@pytest.mark.parametrize("name", LIBRARY)
def test_functions_contain_the_value_of_many_bits(name):
    ufunc, least = LIBRARY[name]
    x = inside(least)
    found = ufunc(x)
    with precision(300):
        for at, pair in enumerate(zip(x.lo, x.hi, strict=True)):
            for value in points(pair):
                truth = getattr(ball(value), name)()
                assert not misses((found.lo[at], found.hi[at]), truth), (name, pair)


@pytest.mark.parametrize("name", [name for name in LIBRARY if name != "sqrt"])
def test_functions_are_wide_enough_for_the_library(name):
    """Values of a library are off by up to so many units, which a good library hides."""
    ufunc, least = LIBRARY[name]
    x = exact(np.array([value for value in (-0.9, -0.3, 0.2, 0.71, 3.1, 20.0, 600.0) if value > least]))
    found, value = ufunc(x), ufunc(x.mid)
    assert found.kind is Kind.NUMERIC
    reach = EXP_ULPS * ULP * abs(value)
    bounded = {"tanh": 1.0, "sin": 1.0, "cos": 1.0}.get(name, math.inf)
    assert (found.lo <= value - reach).all()
    assert (found.hi >= np.minimum(value + reach, bounded)).all()


def test_powers_of_positive_numbers_contain_the_value_of_many_bits():
    bases = [(0.5, 0.7), (1.0, 1.0), (2.0, 9.0), (1e-300, 1e-299)]
    exponents = [0.5, 1.75, -0.3]
    for (lo, hi), exponent in itertools.product(bases, exponents):
        found = Interval(lo, hi) ** 2 * 0 + (Intervals([lo], [hi]) ** exponent)[0]
        with precision(300):
            for value in points((lo, hi)):
                assert not misses((found.lo, found.hi), ball(value) ** ball(exponent))


def test_powers_are_wide_enough_for_the_library():
    x = np.array([0.3, 2.0, 17.0])
    found, value = exact(x) ** 1.7, x**1.7
    assert (found.width >= 2 * EXP_ULPS * ULP * value).all()
    assert found.kind is Kind.NUMERIC


def test_a_root_of_what_may_be_negative_is_that_of_the_rest():
    found = np.sqrt(Intervals([-1.0], [4.0]))
    assert (found.lo[0], found.hi[0]) == (0.0, math.nextafter(2.0, 3.0))


@pytest.mark.parametrize("function", [np.log, np.log1p, np.sqrt])
def test_functions_refuse_what_is_certainly_outside(function):
    with pytest.raises(ValueError, match="expected numbers that may"):
        function(exact([-2.0]))
    assert (np.log(Intervals([0.0], [1.0])).lo == -np.inf).all()


# --- sums and products of matrices: data do not attain a lemma, so it is seen in the width ---


def gamma_of(n):
    """Return the constant of Higham's lemma, exactly."""
    return Fraction(n) * Fraction(U) / (1 - n * Fraction(U))


@pytest.mark.parametrize("n", [2, 3, 17, 1000])
@pytest.mark.parametrize("width", [0.0, 1e-9])
def test_sums_are_as_wide_as_their_lemma(n, width):
    rng = np.random.default_rng(n)
    middle = rng.normal(size=(n, 2)) * 10.0 ** rng.uniform(-9, 9, size=(n, 2))
    x = Intervals(middle - width, middle + width) if width else exact(middle)
    found = x.sum(axis=0)
    for column in range(2):
        for ends, outward in ((x.lo, -1), (x.hi, 1)):
            values = [Fraction(float(value)) for value in ends[:, column]]
            bound = gamma_of(n - 1) * sum(map(abs, values))
            computed = Fraction(float(ends.sum(axis=0)[column]))
            edge = Fraction(float((found.lo if outward < 0 else found.hi)[column]))
            total = x[:, column].sum()
            alone = Fraction(total.lo if outward < 0 else total.hi) - Fraction(float(ends[:, column].sum()))
            for reach in (edge - computed, alone):
                assert outward * reach >= bound * (1 - gamma_of(4 * n))
            assert outward * (edge - sum(values)) >= 0


def test_the_sum_of_one_number_and_the_mean_of_equal_ones():
    assert exact([0.1]).sum() == Interval(0.1, 0.1, Kind.CERTIFIED)
    assert 0.1 in exact([0.1, 0.1, 0.1, 0.1]).mean()
    assert exact([[0.1, 0.2]]).mean(axis=1).shape == (1,)
    huge = exact([HUGE, HUGE, -HUGE])
    assert huge.sum().hi == math.inf


def test_lengths_hold_the_truth():
    for number in (2.0, 3.0, 7.0, 1e-9):  # of one entry, so that only its square and the root of that round
        square = exact([number]) ** 2
        found, outer = norm(exact([number])), Interval(float(square.lo[0]), float(square.hi[0]))
        assert Fraction(found.lo) ** 2 < Fraction(outer.lo)
        assert Fraction(found.hi) ** 2 > Fraction(outer.hi)
    assert norm(exact([0.0, 0.0])).hi == 0.0


@pytest.mark.parametrize(("left", "right"), [(0.0, 0.0), (1e-7, 0.0), (0.0, 1e-7), (1e-7, 1e-3)])
def test_products_of_matrices_are_as_wide_as_their_lemma(left, right):
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(3, 40)), rng.normal(size=(40, 2))
    x = within(a, left * abs(a)) if left else exact(a)
    y = within(b, right * abs(b)) if right else exact(b)
    found = x @ y
    assert found.kind is Kind.NUMERIC
    for i, j in itertools.product(range(3), range(2)):
        row, column = ([Fraction(float(v)) for v in values] for values in (x.mid[i], y.mid[:, j]))
        off_row, off_column = ([Fraction(float(v)) for v in values] for values in (x.radius[i], y.radius[:, j]))
        rounding = gamma_of(40) * sum(abs(p) * abs(q) for p, q in zip(row, column, strict=True))
        moved = sum(abs(p) * s + r * (abs(q) + s) for p, q, r, s in zip(row, column, off_row, off_column, strict=True))
        computed = Fraction(float((x.mid @ y.mid)[i, j]))
        lemma = (rounding + moved) * (1 - Fraction(1, 10**12))
        alone = x[i] @ y[:, j]
        middle = Fraction(float(x[i].mid @ y[:, j].mid))
        assert min(Fraction(alone.hi) - middle, middle - Fraction(alone.lo)) >= lemma
        assert Fraction(found.hi[i, j]) - computed >= lemma
        assert computed - Fraction(found.lo[i, j]) >= lemma
        corner = sum(
            (p + (r if p * q >= 0 else -r)) * (q + (s if p * q >= 0 else -s))
            for p, q, r, s in zip(row, column, off_row, off_column, strict=True)
        )
        assert not misses((found.lo[i, j], found.hi[i, j]), corner)


def test_products_of_matrices_charge_what_underflows():
    found = exact(np.full((1, 40), LEAST)) @ exact(np.full((40, 1), 0.25))
    assert found.hi[0, 0] >= 10 * LEAST
    unknown = Intervals([[-np.inf]], [[np.inf]]) @ exact([[0.0]])
    assert (unknown.lo[0, 0], unknown.hi[0, 0]) == (-math.inf, math.inf)


# --- the carrier ---


def test_within_holds_every_number_that_near():
    for value, error in itertools.product((0.1, -3.0, 1e300), (0.0, 1e-17, 0.25)):
        found = within([value], [error])
        for truth in (Fraction(value) - Fraction(error), Fraction(value) + Fraction(error)):
            assert not misses((found.lo[0], found.hi[0]), truth)
    assert within(1.0, math.inf) == Interval.unknown()


def test_what_floats_made_is_covered_unless_it_is_wrong():
    truth = within([1.0, 2.0], 1e-12)
    near = cover(truth, [1.0 + 3e-12, 2.0])
    assert (near.lo <= truth.lo).all()
    assert (near.hi >= [1.0 + 3e-12, 2.0]).all()
    for fault in (1e-9, -1e-9, 1.0):
        seen = cover(truth, [1.0, 2.0 + fault])
        assert 1.0 in seen[0]
        assert 2.0 not in seen[1]
        assert 2.0 + fault in seen[1]
    assert 0.5 in cover(exact(0.5), 0.5 + 2.0**-53)  # a rounding, of what is known exactly
    assert cover(within([1.0], math.inf), [3.0]).lo[0] == -math.inf


def test_middle_and_radius_hold_the_truth():
    rng = np.random.default_rng(3)
    uneven = np.sort(rng.normal(size=(60, 2)) * 10.0 ** rng.uniform(-3, 3, size=(60, 2)), axis=1)
    x = Intervals(*np.concatenate([PAIRS, uneven]).T)
    for lo, hi, mid, radius in zip(x.lo, x.hi, x.mid, x.radius, strict=True):
        assert Fraction(mid) - Fraction(radius) <= Fraction(lo)
        assert Fraction(hi) <= Fraction(mid) + Fraction(radius)
    assert (Fraction(x.hi[1]) - Fraction(x.lo[1])) <= Fraction(x.width[1])


def test_exact_numbers_stay_exact_through_views():
    x = exact(np.arange(6.0).reshape(2, 3))
    for view in (x.T, x[0], x.reshape(3, 2), x.ravel(), np.transpose(x), np.concatenate([x, x]), np.flip(x, 0), -x):
        assert view.is_exact
    assert (2.0 * x).is_exact is False
    assert (2.0 * x).radius[0, 0] == 0.0  # twice zero is zero
    assert exact(0.1) == Interval(0.1, 0.1, Kind.CERTIFIED)
    assert exact(x) is x


def test_kinds_are_the_weakest():
    x = exact([1.0, 2.0])
    assert (x + 1.0).kind is Kind.CERTIFIED
    assert (x * Interval(1.0, 1.0, Kind.TREND)).kind is Kind.TREND
    assert x.sum().kind is Kind.NUMERIC
    assert as_intervals([1, 2]).kind is Kind.PROVED
    assert np.where([True, False], x, within([1.0, 2.0], 1.0, Kind.STATISTICAL)).kind is Kind.STATISTICAL


def test_floats_intervals_and_balls_mix():
    x = exact([1.0, 2.0])
    assert 0.3 in (x * ball("0.3"))[0]
    assert np.ones(2) in np.ones(2) * Interval(0.5, 2.0)
    assert 5.0 in norm([3.0, 4.0])
    assert norm(balls([3.0, 4.0])) == 5
    assert np.float64(2.0) * Interval(1.0, 1.0) == Interval(2.0, 2.0) or 2.0 in np.float64(2.0) * Interval(1.0, 1.0)
    assert 2.0 in np.maximum(Interval(1.0, 1.0), 2.0)
    assert isinstance(balls([1.0, 2.0]) @ x, Interval)


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: x < 1, lambda x: x == 1, bool, np.asarray, np.median, np.argmax, np.floor, float,
        lambda x: np.add(x, x, out=np.zeros(2)), np.multiply.reduce, lambda x: np.linalg.norm(x, 1),
        lambda x: np.add(x, x, where=[True, False]),
    ],
)  # fmt: skip
def test_what_has_no_rule_raises(operation):
    with pytest.raises(TypeError):
        operation(exact([1.0, 2.0]))


def test_ends_are_sound():
    with pytest.raises(ValueError, match=r"^lo, hi: expected lo <= hi"):
        Intervals([1.0, 2.0], [1.0, 1.0])
    with pytest.raises(ValueError, match=r"^lo: expected finite numbers, got nan"):
        Intervals([math.nan], [1.0])
    with pytest.raises(ValueError, match=r"^hi: expected the shape of lo"):
        Intervals([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"^error: expected non-negative"):
        within([1.0], [-1.0])


def test_copies_are_equal():
    x = within([1.0, 2.0], 0.5)
    for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):  # noqa: S301
        assert np.array_equal(other.lo, x.lo)
        assert np.array_equal(other.hi, x.hi)
        assert other.kind is x.kind


# --- findings of arrays ---


def test_the_worst_entry_of_an_array_is_found():
    found = equals(within([1.0, 2.0, 3.0], [0.5, 0.1, 0.2]), [1.0, 2.0, 3.0], scale=1)
    assert found.departure.lo == 0.0
    assert found.departure.hi == pytest.approx(0.5, rel=1e-12, abs=0)
    refuted = equals(within([1.0, 2.0, 4.0], [0.5, 0.1, 0.2]), [1.0, 2.0, 3.0], scale=1)
    assert refuted.departure.lo == pytest.approx(0.8, rel=1e-12, abs=0)
    assert equals(balls([1.0, 2.0]), balls([1.0, 2.0])).departure.hi < 1e-15
    assert equals(within([2.0, 8.0], 0.1), [2.0, 8.0]).departure.hi == pytest.approx(0.05, rel=1e-12, abs=0)


def test_arrays_of_findings_fit():
    with pytest.raises(ValueError, match=r"^claimed: expected the shape of measured"):
        equals(exact([1.0, 2.0]), [1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match=r"^measured: expected enclosures"):
        equals(np.ones(2), np.ones(2))
    with pytest.raises(ValueError, match=r"^scale: expected a positive scale"):
        equals(exact([1.0, 2.0]), [1.0, 0.0])
    with pytest.raises(ValueError, match=r"^scale: expected a positive scale"):
        equals(exact([1.0, 2.0]), [1.0, 2.0], scale=-1)
    with pytest.raises(ValueError, match=r"^measured: expected at least one entry"):
        equals(exact(np.ones((0, 2))), 1.0)


def test_the_underflow_is_charged_to_the_smallest_entry():
    found = equals(Intervals([LEAST, -1.0], [2 * LEAST, 1.0]), [0.0, 0.0], scale=[1e5, 1.0])
    assert found.departure.lo > 0.0


@pytest.mark.parametrize("measured", [[0.1, 0.2], [exact(0.1), 0.2], np.array([exact(0.1), 0.2], dtype=object)])
def test_bare_floats_hide_in_no_list(measured):
    with pytest.raises(TypeError, match=r"^measured: expected enclosures"):
        equals(measured, [0.1, 0.2])


# --- what NumPy would do in silence ---


def test_functions_that_overflow_below_have_an_upper_end():
    found = np.sinh(Intervals([-800.0, -900.0], [-790.0, 0.0]))
    assert not np.isnan([found.lo, found.hi]).any()
    assert found.lo[0] == -math.inf
    assert found.hi[0] < 0.0


@pytest.mark.parametrize("multiply", [np.matmul, lambda x, y: np.convolve(x, y, "valid")[0]])
def test_products_charge_a_rounding_that_underflows(multiply):
    """A gamma of tiny numbers underflows, and what it stands for is large again beside huge ones."""
    left, right = np.full(64, 1e300 / 3.0), np.full(64, 1e-310)
    found = multiply(exact(left), right)
    assert found.width >= 2 * float(gamma_of(64) * 64 * Fraction(left[0]) * Fraction(right[0]))


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: np.add.reduce(x, where=[True, False]), lambda x: np.maximum.reduce(x, initial=9.0),
        lambda x: np.sum(x, out=np.zeros(())), lambda x: np.max(x, out=np.zeros(())),
        lambda x: np.mean(x, dtype=np.float32), lambda x: np.concatenate([x], out=np.zeros(2)),
        lambda x: np.concatenate([x], dtype=np.float32, casting="unsafe"),
        lambda x: np.stack([x], out=np.zeros((1, 2))),
        lambda x: np.take(x, [0, 1], out=np.zeros(2)), lambda x: np.dot(np.ones((2, 2)), np.stack([[x, x]])),
    ],
)  # fmt: skip
def test_options_that_would_drop_the_error_raise(operation):
    with pytest.raises(TypeError):
        operation(within([1.0, 2.0], 0.5))


def test_functions_follow_the_axes_of_numpy():
    x = np.arange(12.0).reshape(2, 2, 3) ** 2
    assert np.array_equal(np.diff(exact(x)).mid, np.diff(x))
    assert np.array_equal(np.trace(exact(x)).mid, np.trace(x))
    assert np.array_equal(np.stack([exact(x)], -1).mid, np.stack([x], -1))


def test_enclosures_do_not_change_with_what_they_were_made_of():
    values = np.array([1.0, 2.0])
    ends = np.array([3.0, 4.0])
    x, wide = exact(values), Intervals(values, ends)
    values[0] = ends[0] = 9.0
    assert (x.lo[0], wide.lo[0], wide.hi[0]) == (1.0, 1.0, 3.0)
    assert x.is_exact
    with pytest.raises(ValueError, match="read-only"):
        x.mid[0] = 9.0


def test_integers_are_not_rounded():
    assert 2**53 + 1 not in exact([2.0**53])
    with pytest.raises(ValueError, match=r"^hi: expected integers up to 2\*\*53"):
        Intervals([0.0, 0.0], [2**53 + 1, math.inf])
