"""Balls start exact and are read off outward; suprema over boxes are enclosed, and what is no formula is refused."""

import math
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given, strategies as st

from theory.evidence import Interval, Kind, ball, balls, hull, stream, sup_over
from theory.evidence.enclosure import PRECISION, coefficient, ends, exp, log, precision, sqrt, tanh, variable

finite = st.floats(allow_nan=False, allow_infinity=False)
rationals = finite.map(Fraction) | st.fractions() | st.sampled_from([Fraction(10) ** k for k in (400, -400)])


def inside(interval, lo, hi=None):
    """Tell whether an interval encloses a rational, or a whole range of them."""
    above = interval.lo == -math.inf or Fraction(interval.lo) <= lo
    return above and (interval.hi == math.inf or (lo if hi is None else hi) <= Fraction(interval.hi))


# --- balls, and back ---


@given(st.lists(finite | st.integers(-(2**300), 2**300), min_size=1, max_size=5))
def test_floats_and_integers_become_exact_balls(values):
    for one, value in zip(balls(np.array(values, dtype=object)), values, strict=True):
        assert one.is_exact()
        assert inside(hull(one), Fraction(value))


def test_shape_is_kept():
    assert balls(np.zeros((2, 3))).shape == (2, 3)
    assert balls(1.5).shape == ()
    assert balls([]).shape == (0,)
    assert ball(np.float32(0.1)) == flint.arb(float(np.float32(0.1)))


@given(rationals)
def test_hull_rounds_outward(value):
    with precision():
        interval = hull(ball(value))
    assert interval.kind is Kind.CERTIFIED
    assert inside(interval, value)
    steps = [
        math.nextafter(math.nextafter(end, way), way)
        for end, way in zip(bracket(value), (-math.inf, math.inf), strict=True)
    ]
    assert steps[0] <= interval.lo
    assert interval.hi <= steps[1]


def bracket(value):
    exact = Interval.exactly(value)
    return exact.lo, exact.hi


@given(rationals, rationals)
def test_hull_of_a_union_covers_both(a, b):
    with precision():
        interval = hull(ball(a).union(ball(b)))
    assert inside(interval, min(a, b), max(a, b))


def test_hull_of_what_is_not_known():
    for one in (flint.arb("nan"), flint.arb("inf"), flint.arb("-inf"), flint.arb(0, "inf")):
        assert hull(one) == Interval.unknown(Kind.CERTIFIED)
    assert hull(flint.arb(0, "1e400"), Kind.PROVED) == Interval.unknown(Kind.PROVED)


@given(st.lists(rationals, min_size=1, max_size=4))
def test_ends_are_midpoints_with_a_bound_on_their_error(values):
    with precision():
        mid, radius = ends(balls(np.array(values, dtype=object)))
    for m, r, value in zip(mid.tolist(), radius.tolist(), values, strict=True):
        assert math.isfinite(m)
        assert r == math.inf or abs(Fraction(m) - value) <= Fraction(r)


def test_ends_of_wide_balls():
    wide = np.array([flint.arb(1, 0.25), flint.arb("nan")], dtype=object)
    mid, radius = ends(wide)
    assert (mid[0], radius[1]) == (1.0, math.inf)
    assert 0.25 <= radius[0] <= 0.2500001


@pytest.mark.parametrize(
    ("value", "error"), [(math.nan, ValueError), ([1.0, math.inf], ValueError), (1j, TypeError), (None, TypeError)]
)
def test_balls_refuse(value, error):
    with pytest.raises(error):
        balls(value)


def test_text_is_no_number():
    with pytest.raises(TypeError):
        balls(["0.1"])  # no exact ball: it depends on the precision of the moment


def test_functions_act_on_balls_and_arrays():
    with precision():
        x = balls([0.5, 2.0])
        for lifted, plain in ((exp, math.exp), (log, math.log), (tanh, math.tanh), (sqrt, math.sqrt)):
            for ball, value in zip(lifted(x), (0.5, 2.0), strict=True):
                interval = hull(ball)
                near = Fraction(plain(value))
                assert inside(Interval(interval.lo - 1e-15, interval.hi + 1e-15), near)
                assert interval.width <= 4 * math.ulp(plain(value))
            assert hull(lifted(x[0])) == hull(lifted(x)[0])


def test_power_series():
    with precision():
        t = variable(12)
        series = exp(t * ball(2))
        for k in range(12):
            assert inside(
                hull(coefficient(series.item() if isinstance(series, np.ndarray) else series, k)),
                Fraction(2**k, math.factorial(k)),
            )
        row = exp(balls([1.0, 2.0, 3.0]) * t)
        assert inside(hull(coefficient(row[2], 3)), Fraction(27, 6))


def test_precision_is_restored():
    before = flint.ctx.prec
    with precision(300):
        assert flint.ctx.prec == 300
        with pytest.raises(ZeroDivisionError), precision():
            PRECISION // (flint.ctx.prec - PRECISION)  # the precision inside is this one
        assert flint.ctx.prec == 300
    assert flint.ctx.prec == before
    with pytest.raises(ValueError, match="finite value"):
        sup_over("1/x", x=(-1, 1))
    assert flint.ctx.prec == before


# --- suprema over a box ---


@pytest.mark.parametrize(
    ("expression", "box", "supremum"),
    [
        ("x*(1 - x)", {"x": (0, 1)}, Fraction(1, 4)),  # interior
        ("x", {"x": (-1, 1)}, Fraction(1)),  # at a corner
        ("-x", {"x": ("0.1", 2)}, Fraction(-1, 10)),
        ("x**2", {"x": (-3, 2)}, Fraction(9)),
        ("1 - (x - 1/3)**2", {"x": (0, "2/3")}, Fraction(1)),  # a power around zero, at no binary fraction
        ("(x - 1/3)**3", {"x": ("-4/3", "4/3")}, Fraction(1)),
        ("x**3 - 3*x", {"x": (-2, 2)}, Fraction(2)),  # inside and at a corner at once
        ("x*y", {"x": (-1, 2), "y": (-3, 1)}, Fraction(3)),
        ("3 - (x - 1)**2 - 2*(y + 1)**2", {"x": (-4, 4), "y": (-4, 4)}, Fraction(3)),
        ("x + y + z - w", {"x": (0, 1), "y": (0, 1), "z": (0, 1), "w": (0, 1)}, Fraction(3)),
        ("7/3", {"x": (0, 1)}, Fraction(7, 3)),
        ("x*0", {"x": (0, 1)}, Fraction(0)),
        ("1e400*x/1e400", {"x": (0, 1)}, Fraction(1)),
        ("2*x**2*(1/(1 + x**2)) - x**2/(1 + x**2)", {"x": (0, 3)}, Fraction(9, 10)),
    ],
)
def test_known_suprema(expression, box, supremum):
    found = sup_over(expression, tolerance=1e-4, **box)
    assert found.kind is Kind.PROVED
    assert inside(found, supremum)
    assert found.width <= 1.001e-4 * max(1.0, abs(found.lo))


@pytest.mark.parametrize(
    ("expression", "box", "near"),
    [
        ("exp(-x)*sin(x)", {"x": (0, 3)}, math.exp(-math.pi / 4) * math.sqrt(0.5)),
        ("1/(cosh(x)*cosh(x))", {"x": (-3, 5)}, 1.0),
        ("tanh(x)", {"x": (0, 2)}, math.tanh(2.0)),
        ("sinh(x) + cos(x)", {"x": (0, 1)}, math.sinh(1.0) + math.cos(1.0)),
        ("log(x)/x", {"x": (1, 10)}, math.exp(-1.0)),
        ("sqrt(x) - x", {"x": ("0.01", 1)}, 0.25),
        ("atan(x)", {"x": (-1, 1)}, math.pi / 4),
        ("lambertw(x)", {"x": (0, 1)}, 0.5671432904097838),
    ],
)
def test_known_suprema_of_functions(expression, box, near):
    found = sup_over(expression, tolerance=1e-4, **box)
    assert found.lo - 1e-15 <= near <= found.hi + 1e-15
    assert found.width <= 1.001e-4 * max(1.0, abs(found.lo))


def test_supremum_bounds_random_points():
    expression = "(x - y)*(x + 2*y)/(1 + x**2*y**2) + sin(3*x)"
    found = sup_over(expression, tolerance=1e-2, x=(-1, 2), y=(-2, 1))
    x, y = stream("tests.enclosure.points", 0).uniform([-1.0, -2.0], [2.0, 1.0], size=(20_000, 2)).T
    values = (x - y) * (x + 2 * y) / (1 + x**2 * y**2) + np.sin(3 * x)
    assert values.max() <= found.hi
    assert values.max() >= found.lo - 0.1  # the lower end is the value at a point of the box


def test_decimals_are_exact():
    # over the doubles nearest to 0.1 and 0.3 the supremum is not zero
    found = sup_over("x - 0.3", tolerance=1e-30, x=("0.1", "0.3"))
    assert inside(found, Fraction(0))
    assert found.width < 1e-29
    double = sup_over("x - 0.3", tolerance=1e-30, x=(0.1, 0.3))
    assert inside(double, Fraction(0.3) - Fraction(3, 10))
    assert not inside(double, Fraction(0))


def test_boxes_that_run_out_leave_a_wider_valid_interval():
    few, many = (sup_over("x*(1 - x)", boxes=boxes, x=(0, 1)) for boxes in (3, 300))
    assert inside(few, Fraction(1, 4))
    assert inside(many, Fraction(1, 4))
    assert few.width > many.width > 0.0


@pytest.mark.parametrize("expression", ["log(x)", "0 - x*log(x)", "1/x", "sqrt(x)"])
def test_end_at_which_balls_are_not_finite_is_not_split_for_ever(expression):
    found = sup_over(expression, x=(0, 1))
    assert found.hi == math.inf  # valid, and said within a second
    assert found.kind is Kind.PROVED


@pytest.mark.parametrize(
    "expression",
    [
        "x +",
        "",
        " + ",
        "x; x",
        "y",
        "x and x",
        "x < 1",
        "x[0]",
        "x.real",
        "+x",
        "x**0.5",
        "x**x",
        "x**-1",
        "2**x",
        "x // 2",
        "x % 2",
        "x @ x",
        "'x'",
        "True",
        "1j",
        "gamma(x)",
        "exp",
        "exp()",
        "exp(x, x)",
        "exp(x, base=2)",
        "exp(*x)",
        "x.exp()",
        "(lambda: x)()",
        "__import__('os')",
        "[x for x in (1,)]",
        "x if x else x",
        "x := 1",
    ],
)
def test_what_is_no_formula_is_refused(expression):
    with pytest.raises(ValueError, match=r"^expression: expected"):
        sup_over(expression, x=(0, 1))


def test_refusal_names_the_part():
    with pytest.raises(ValueError, match=r"got 'gamma\(x\)'$"):
        sup_over("1 + 2*gamma(x)", x=(0, 1))
    with pytest.raises(ValueError, match=r"got 'y'$"):
        sup_over("exp(x*y)", x=(0, 1))


@pytest.mark.parametrize(("expression", "supremum"), [(" x ", 1), ("(\n x\n)", 1), ("0x10*x", 16), ("1_000*x", 1000)])
def test_spelling_is_python_s(expression, supremum):
    assert inside(sup_over(expression, x=(0, 1)), Fraction(supremum))


@pytest.mark.parametrize(
    ("box", "message"),
    [
        ({}, r"^box: expected one to four variables, got 0$"),
        (dict.fromkeys("abcde", (0, 1)), r"^box: expected one to four variables, got 5$"),
        ({"x": (1, 0)}, r"^box: expected lo < hi"),
        ({"x": (1, 1)}, r"^box: expected lo < hi"),
        ({"x": (0, 1), "y": (1, 0)}, r"^box: expected lo < hi"),
        ({"x": (0, math.inf)}, r"^box: expected"),
        ({"x": (0, math.nan)}, r"^box: expected"),
        ({"x": (0, "abc")}, r"^box: expected"),
    ],
)
def test_refused_boxes(box, message):
    with pytest.raises(ValueError, match=message):
        sup_over("x" if "x" in box else "1", **box)


@pytest.mark.parametrize("tolerance", [0.0, -1.0, math.nan])
def test_tolerance_is_positive(tolerance):
    with pytest.raises(ValueError, match=r"^tolerance: expected"):
        sup_over("x", tolerance=tolerance, x=(0, 1))


def test_pole_inside_is_reported():
    with pytest.raises(ValueError, match=r"^expression: expected a finite value at \['0'\]"):
        sup_over("1/x", x=(-1, 1))
