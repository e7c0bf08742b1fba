"""Exact algebra: an identity is proved, a wrong one shows its value, and nothing is called zero for being small."""

import math
from fractions import Fraction

import pytest
import sympy

from theory.evidence import Interval, Kind
from theory.evidence.symbolic import zero

x, y = sympy.symbols("x y")
p = sympy.Symbol("p", positive=True)
ZERO = Interval.exactly(0, Kind.PROVED)


@pytest.mark.parametrize(
    "expression",
    [
        (x + y) ** 3 - x**3 - 3 * x**2 * y - 3 * x * y**2 - y**3,
        sympy.sin(x) ** 2 + sympy.cos(x) ** 2 - 1,
        sympy.diff(sympy.log(sympy.exp(x) + sympy.exp(y)), x) - 1 / (1 + sympy.exp(y - x)),
        sympy.sqrt(p**2) - p,
        sympy.Integer(0),
        0,
    ],
)
def test_identities_are_proved(expression):
    assert zero(expression, {x: 2, y: sympy.Rational(1, 3), p: 5}) == ZERO


@pytest.mark.parametrize(
    ("expression", "point", "value"),
    [
        ((x + 1) ** 2 - x**2 - 2 * x, {x: 3}, Fraction(1)),
        (x / 3 - x / 4, {x: 1}, Fraction(1, 12)),
        ((1 + x) ** 3 - 1 - 3 * x - 3 * x**2, {x: sympy.Rational(1, 10**6)}, Fraction(1, 10**18)),  # cancellation
        (x - y, {x: 10**400, y: 1}, Fraction(10**400 - 1)),
        (x - sympy.Rational(1, 10**45), {x: 1}, 1 - Fraction(1, 10**45)),  # beyond the digits that are computed
        (x + sympy.Rational(1, 10**45), {x: 1}, 1 + Fraction(1, 10**45)),
        (x, {x: sympy.Rational(1, 10**400)}, Fraction(1, 10**400)),
        (-x, {x: sympy.Rational(1, 10**400)}, Fraction(-1, 10**400)),
    ],
)
def test_what_is_no_identity_shows_its_value(expression, point, value):
    found = zero(expression, point)
    assert found.kind is Kind.CERTIFIED
    assert found.lo <= value <= found.hi
    assert found.width <= 16 * math.ulp(float(value)) if abs(value) < 10**300 else found.width == math.inf


def test_small_values_are_not_zero():
    found = zero(sympy.exp(-1000) * x, {x: 1})
    assert found != Interval(0.0, 0.0, Kind.CERTIFIED)
    assert found.hi > 0.0


def test_irrational_values():
    found = zero(sympy.exp(x) - 2, {x: 1})
    assert found.lo < math.e - 2 < found.hi or math.isclose(found.mid, math.e - 2, rel_tol=4e-16, abs_tol=0.0)
    assert found.width <= 8 * math.ulp(0.7)


@pytest.mark.parametrize(
    ("expression", "point"),
    [
        (sympy.log(x * y) - sympy.log(x) - sympy.log(y), {x: 2, y: 3}),  # true there, and false for negative x, y
        (sympy.I * x, {x: 1}),
        (1 / x, {x: 0}),
        (x / y, {x: 0, y: 0}),
    ],
)
def test_what_is_not_decided_is_unknown(expression, point):
    found = zero(expression, point)
    assert (found.lo, found.hi, found.kind) == (-math.inf, math.inf, Kind.CERTIFIED)


def test_a_point_where_it_vanishes_proves_nothing():
    found = zero(sympy.sqrt(x**2) - x, {x: 2})  # false for negative x
    assert found.kind is not Kind.PROVED
    assert 0.0 in found


def test_symbol_without_a_value_is_named():
    with pytest.raises(ValueError, match=r"^concrete: expected a value for every symbol, got none for \['x', 'y'\]$"):
        zero(x - y, {p: 1})
    with pytest.raises(ValueError, match=r"got none for \['x'\]$"):
        zero(x, {"x": 1})


@pytest.mark.parametrize(
    ("expression", "point"),
    [
        (sympy.sin(0.1 * x) - sympy.sin(x / 10), {x: 1}),  # algebra would round and call it exact
        ((1 + x) ** 3 - 1 - 3 * x, {x: 1e-6}),
        ((1 + x) ** 3 - 1 - 3 * x, {x: sympy.Float("1e-6")}),
    ],
)
def test_floats_are_refused(expression, point):
    with pytest.raises(ValueError, match="expected exact numbers"):
        zero(expression, point)


PLANTED = "__import__('pathlib').Path('planted').touch()"


@pytest.mark.parametrize(
    ("expression", "point", "name"),
    [
        (PLANTED, {}, "expression"),
        ([PLANTED], {}, "expression"),
        (sympy.Integer(1), {PLANTED: 1}, "concrete"),
        (x, {x: PLANTED}, "concrete"),
        (x, {x: [PLANTED]}, "concrete"),
    ],
)
def test_a_text_is_refused_and_never_run(expression, point, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TypeError, match=rf"^{name}: expected"):
        zero(expression, point)
    assert not list(tmp_path.iterdir())


def test_numbers_of_python_are_read_exactly():
    assert zero(x - Fraction(1, 3), {x: Fraction(1, 3)}) != ZERO
    assert zero(Fraction(0), {}) == ZERO
