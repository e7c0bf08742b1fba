"""Risks in context against integrals of the densities that mpmath finds, and means of drawn matrices."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from theory.attention import in_context


@pytest.mark.parametrize(("d", "n"), [(1, 4), (2, 5), (2, 11), (3, 8), (4, 7)])
def test_means_of_eigenvalues_are_those_of_wishart_matrices(d, n):
    first, second, inverse = in_context._means(d, n)
    assert (first, second, inverse) == (d * n, d * n * (n + d + 1), Fraction(d, n - d - 1))


@pytest.mark.parametrize(("d", "n"), [(2, 6), (2, 3), (1, 2)])
def test_lengths_without_a_polynomial_are_refused(d, n):
    with pytest.raises(ValueError, match="n: expected"):
        in_context._means(d, n)


@pytest.mark.parametrize(("n", "noise"), [(2, Fraction(1, 2)), (6, Fraction(3))])
def test_ridge_regression_on_a_line_is_an_integral(n, noise):
    s = float(noise)

    def density(x):
        return x ** (n / 2 - 1) * mpmath.exp(-x / 2) / (2 ** (n / 2) * mpmath.gamma(n / 2))

    right = mpmath.quad(lambda x: s / (x + s) * density(x), [0, 1, 10, mpmath.inf])
    assert float(in_context._ridge(1, n, noise).mid()) == pytest.approx(float(right), rel=1e-10, abs=0.0)


def test_ridge_regression_in_the_plane_is_a_mean():
    rng = np.random.default_rng(12)
    x = rng.normal(size=(40_000, 5, 2))
    s = np.einsum("kni,knj->kij", x, x)
    values = np.linalg.eigvalsh(s)
    found = (1.0 / (values + 1.0)).sum(axis=1)
    away = 5.0 * found.std() / math.sqrt(len(found))
    assert abs(float(in_context._ridge(2, 5, Fraction(1)).mid()) - found.mean()) < away


def test_times_are_those_of_a_runge_kutta_method():
    table = in_context.learned(scale="quick", root=0).where(d=2, noise=3.0)
    d, goal = 2, 1.0 / (1.0 + 6.0 / 5.0)  # one over 1 + (d + 1 + noise) / n, n = 5
    for trained in in_context.TRAINED:
        part = table.where(trained=trained)

        def risk(gamma):
            return d - 2.0 * d * gamma + d * gamma**2 / goal

        def field(_, state):
            slope = (risk(state.prod() + 1e-6) - risk(state.prod() - 1e-6)) / 2e-6
            return [-slope * state[1], -slope * state[0] / d] if len(state) == 2 else [-slope / d]

        first = goal / 100.0
        start = [(math.sqrt(d) * first) ** 0.5, (first / math.sqrt(d)) ** 0.5] if trained == "product" else [first]
        solved = solve_ivp(field, (0.0, 3.0), start, t_eval=part.middles("time"), rtol=1e-9, atol=1e-11)
        assert solved.y.prod(axis=0) / goal == pytest.approx(part["share"], rel=1e-6, abs=0.0)


def test_what_is_not_computed_is_unbounded():
    table = in_context.in_context(scale="quick", root=0)
    open_ends = np.isinf(table["ridge.hi"])
    assert (open_ends == (table["d"] > in_context.PLANE)).all()
    assert (np.isinf(table["squares.hi"]) == (table["n"] < table["d"] + 3)).all()
