"""The operators in exact algebra against polar coordinates, the textbook formula with its root, and mixed partials."""

import pytest
import sympy

from theory.diffusion.geometry import conformal

X, Y = conformal.coordinates(2)
POLAR = sympy.diag(1, X**2)


def vanishes(expression):
    return sympy.simplify(expression) == 0


def test_laplacian_in_polar_coordinates():
    h = sympy.Function("h", real=True)(X, Y)
    expected = h.diff(X, 2) + h.diff(X) / X + h.diff(Y, 2) / X**2
    assert vanishes(conformal.laplacian(h, POLAR, (X, Y)) - expected)
    assert vanishes(conformal.inner_product(h, h, POLAR, (X, Y)) - h.diff(X) ** 2 - h.diff(Y) ** 2 / X**2)


def test_harmonic_polynomials_stay_harmonic_in_polar_coordinates():
    for n in (1, 2, 5):
        assert vanishes(conformal.laplacian(X**n * sympy.cos(n * Y), POLAR, (X, Y)))


def test_divergence_against_the_formula_with_the_root():
    x = conformal.coordinates(3)
    metric = sympy.Matrix([[2 + x[0] ** 2, x[1], 0], [x[1], 1 + x[1] ** 2, 0], [0, 0, sympy.exp(x[2])]])
    h = x[0] ** 2 * x[1] + sympy.sin(x[2])
    weight = sympy.exp(x[0] - x[2])
    inverse = metric.inv()
    root = sympy.sqrt(metric.det())
    flux = [sum(inverse[i, j] * h.diff(x[j]) for j in range(3)) for i in range(3)]
    expected = sum((weight * root * f).diff(xi) for f, xi in zip(flux, x, strict=True)) / (weight * root)
    found = conformal.weighted_divergence(h, weight, metric, x)
    place = dict(zip(x, (sympy.Rational(1, 3), sympy.Rational(2, 5), sympy.Rational(3, 7)), strict=True))
    assert abs(sympy.N((found - expected).subs(place), 40)) < sympy.Float("1e-35")


def test_limit_operator_on_the_line():
    (x,) = conformal.coordinates(1)
    found = conformal.limit_operator(sympy.sin(x), x**2, sympy.diag(1), (x,), drift=3)
    assert vanishes(found - (-sympy.sin(x) + 3 * 2 * x * sympy.cos(x)))


def test_metrics():
    x = conformal.coordinates(3)
    diagonal = conformal.diagonal_metric(x)
    mixed = conformal.mixed_metric(x)
    a = [sympy.Function(f"a{k}", real=True)(*x) for k in (1, 2, 3)]
    assert vanishes(diagonal.det() - sympy.exp(2 * sum(a)))
    assert vanishes(mixed.det() - sympy.exp(2 * sum(a)))  # of Cholesky's factors
    assert mixed == mixed.T
    assert mixed[0, 1] != 0
    assert (mixed[0, 2], mixed[1, 2]) == (0, 0)


def test_one_more_dimension():
    metric, above = conformal.lift_metric(POLAR, sympy.log(X), (X, Y))
    assert above[:2] == (X, Y)
    assert vanishes(metric[2, 2] - X**4)
    assert metric[:2, :2] == POLAR


def test_jets_tell_identities_from_others():
    f, g = (sympy.Function(name, real=True)(X, Y) for name in "fg")
    plain, point = conformal.jets(f.diff(X, Y) - f.diff(Y, X))
    assert plain == 0
    assert point == {}
    plain, point = conformal.jets((f * g).diff(X) - f.diff(X) * g - f * g.diff(X))
    assert plain == 0
    plain, point = conformal.jets(f.diff(X, 2) * g - f.diff(X) * g.diff(X) + X)
    assert len(point) == len(plain.free_symbols) == 5  # two functions' derivatives, one function, and x
    assert not plain.atoms(sympy.Derivative)
    assert len(set(point.values())) == 5
    assert plain.subs(point) != 0


@pytest.mark.parametrize("d", [0, -1])
def test_coordinates_are_counted(d):
    with pytest.raises(ValueError, match=r"^d: expected an integer of at least 1"):
        conformal.coordinates(d)


@pytest.mark.parametrize("d", [2, 4])
def test_the_mixed_metric_has_three_dimensions(d):
    with pytest.raises(ValueError, match=r"^x: expected three coordinates"):
        conformal.mixed_metric(conformal.coordinates(d))
