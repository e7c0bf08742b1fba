"""Bilinear scores: von Mises-Fisher laws against SciPy and quadrature, minimisers, and hot expansions."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import ive

from theory.attention import attend
from theory.diffusion import Bilinear, propagate
from theory.diffusion.similarity import hot_expansion, radial_multiplier, sphere_tokens
from theory.diffusion.similarity.bilinear import resultant
from theory.evidence import within

RNG = np.random.default_rng(5)
FORM, QUERY = RNG.normal(size=(3, 3)), RNG.normal(size=3)


@pytest.mark.parametrize("dim", [2, 3, 4, 9])
@pytest.mark.parametrize("b", [1e-3, 0.5, 4.0, 80.0, 1e5])
def test_resultant_is_a_ratio_of_bessel_functions(dim, b):
    assert resultant(dim, b) == pytest.approx(ive(dim / 2, b) / ive(dim / 2 - 1, b), rel=1e-12, abs=0)


def test_minimiser_on_the_sphere_and_on_an_ellipsoid():
    score = Bilinear(FORM)
    root = RNG.normal(size=(3, 3))
    shape = root @ root.T + np.eye(3)
    for matrix in (None, shape):
        found = score.minimiser(QUERY, shape=matrix)
        full = np.eye(3) if matrix is None else matrix
        assert found @ full @ found == pytest.approx(1.0, rel=1e-12, abs=0)
        lower = np.linalg.inv(np.linalg.cholesky(full)).T

        def value(z, lower=lower):
            y = lower @ (z / np.linalg.norm(z))
            return -QUERY @ FORM @ y

        best = min((minimize(value, z, tol=1e-14) for z in np.eye(3)), key=lambda result: result.fun)
        assert value(np.linalg.solve(lower, found)) == pytest.approx(best.fun, rel=1e-9, abs=0)
        np.testing.assert_allclose(found, lower @ (best.x / np.linalg.norm(best.x)), rtol=0, atol=1e-5)


@pytest.mark.parametrize("epsilon", [2.0, 0.1])
def test_closed_form_against_attention_of_sphere_tokens(epsilon):
    score, (points, areas) = Bilinear(FORM), sphere_tokens(40, 80)
    tilt, w = np.array([0.3, -0.5, 0.2]), np.array([1.0, 0.4, -0.8])
    found = propagate(
        QUERY[np.newaxis],
        points,
        points @ w,
        epsilon,
        score=score.score(epsilon),
        weights=areas * (1.0 + points @ tilt),
    )
    assert score.average_linear(QUERY, w, tilt, epsilon) == pytest.approx(found[0], rel=1e-12, abs=1e-13)


def test_closed_form_on_the_circle_against_quadrature():
    form = np.array([[0.7, -0.3], [0.2, 1.1]])
    x = [0.4, 0.9]
    tilt = [0.2, 0.5]
    w = [1.0, -2.0]
    pull = np.array(x) @ form

    def weight(t):
        y = (mpmath.cos(t), mpmath.sin(t))
        return mpmath.exp((pull[0] * y[0] + pull[1] * y[1]) / 0.4) * (1 + tilt[0] * y[0] + tilt[1] * y[1])

    exact = mpmath.quad(
        lambda t: weight(t) * (w[0] * mpmath.cos(t) + w[1] * mpmath.sin(t)), [0, 2, 4, 2 * mpmath.pi]
    ) / mpmath.quad(weight, [0, 2, 4, 2 * mpmath.pi])
    assert Bilinear(form).average_linear(x, w, tilt, 0.2) == pytest.approx(float(exact), rel=1e-12, abs=0)


def test_sizes_at_the_ends_of_the_range():
    for size in (1e-200, 1e200):
        form = Bilinear(size * np.eye(2))
        np.testing.assert_allclose(form.minimiser([1.0, 1.0]), [0.5**0.5, 0.5**0.5], rtol=1e-15, atol=0)
        np.testing.assert_allclose(
            form.minimiser([1.0, 1.0], shape=4.0 * np.eye(2)), [8**-0.5, 8**-0.5], rtol=1e-15, atol=0
        )
        assert form.strength([1.0, 1.0]) == pytest.approx(size * 2**0.5, rel=1e-15, abs=0)
    assert resultant(3, 1e11) == pytest.approx(1.0 - 1e-11, rel=0, abs=2e-14)  # coth b - 1 / b


def test_sphere_tokens_integrate_polynomials():
    points, areas = sphere_tokens(6, 12)
    assert math.fsum(areas) == pytest.approx(4 * math.pi, rel=1e-14, abs=0)
    np.testing.assert_allclose((areas * points.T) @ points, 4 * math.pi / 3 * np.eye(3), rtol=0, atol=1e-13)


def test_radial_multiplier():
    with mpmath.workdps(30):
        expected = [float(mpmath.besseli(k, 7.5) / mpmath.besseli(0, 7.5)) for k in range(5)]
    np.testing.assert_allclose(radial_multiplier(1.5, 0.2)(np.arange(5)), expected, rtol=1e-13, atol=0)


def test_hot_expansion_against_exact_moments_and_softmax():
    keys = RNG.integers(-3, 4, size=(7, 2))
    values = RNG.integers(-3, 4, size=(7, 1))
    pull = np.array([1.0, -2.0])
    masses = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 1.0, 2.0])
    s, v, m = ([Fraction(int(a)) for a in part] for part in (keys @ [1, -2], values[:, 0], masses))
    total = sum(m)
    mean_s, mean_v = (sum(a * b for a, b in zip(m, part, strict=True)) / total for part in (s, v))
    moments = [
        sum(a * (b - mean_s) ** k * (c - mean_v) for a, b, c in zip(m, s, v, strict=True)) / total for k in (1, 2)
    ]
    found = hot_expansion(keys, values, pull, masses)[:, 0]
    np.testing.assert_allclose(found, [float(mean_v), float(moments[0]), float(moments[1]) / 2], rtol=1e-14, atol=1e-14)
    beta = 1e-4
    hot = attend(beta * pull[np.newaxis], keys, values, score=Bilinear(np.eye(2)).score(0.5), weights=masses)[0, 0]
    assert hot == pytest.approx(found @ [1.0, beta, beta**2], rel=0, abs=1e-10)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: resultant(1, 1.0), "dim: expected an integer of at least 2"),
        (lambda: resultant(3, 0.0), "b: expected a positive"),
        (lambda: Bilinear([[1.0]]), "form: expected at least two columns"),
        (lambda: Bilinear(FORM).minimiser([0.0, 0.0, 0.0]), "query: expected one that tells keys apart"),
        (lambda: Bilinear(FORM).minimiser(QUERY, shape=-np.eye(3)), "shape: expected a positive definite"),
        (lambda: Bilinear(FORM).strength([1.0]), "query: expected shape (3,)"),
        (lambda: Bilinear(FORM).average_linear(QUERY, QUERY, [1.0, 1.0, 0.0], 0.1), "tilt: expected a vector shorter"),
        (lambda: sphere_tokens(0, 4), "polar: expected an integer of at least 1"),
        (lambda: radial_multiplier(0.0, 0.1), "radius: expected a positive"),
        (lambda: hot_expansion(np.ones((3, 2)), np.ones((2, 1)), [1.0, 1.0]), "values: expected shape (3, d)"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  the words are compared below
        call()
    assert str(caught.value).startswith(words)


def test_a_radial_multiplier_drops_no_width_of_its_order():
    with pytest.raises(ValueError, match="k: expected numbers that are known exactly"):
        radial_multiplier(1.0, 0.5)(within([2.0], 1.0))
