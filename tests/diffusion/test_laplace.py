"""General scores through the engine against adaptive quadrature, and the first-order operator against both."""

import math

import mpmath
import numpy as np
import pytest

from theory.attention import attend, rounding
from theory.diffusion import GeneralScore, studies
from theory.diffusion.limits import average_at_peak, lattice, peak_correction
from theory.diffusion.studies.scores import WAVY_DENSITY, dissimilarity, on_circle, relabelled, wavy_function
from theory.evidence import Kind
from theory.evidence.roundoff import U


def quartic(x, y):
    v = (y - x)[..., 0]
    return v**2 + 0.4 * v**3 + v**4


def test_score_through_the_engine_is_the_softmax():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 1))
    y = rng.normal(size=(40, 1))
    values = rng.normal(size=(40, 2))
    weights = np.exp(-quartic(x[:, np.newaxis], y[np.newaxis]) / 0.6)
    expected = weights @ values / weights.sum(axis=1, keepdims=True)
    score = GeneralScore(quartic, 0.3, 64 * U * 100.0)
    np.testing.assert_allclose(attend(x, y, values, score=score), expected, rtol=1e-12, atol=1e-13)
    assert 0.0 < rounding(x, y, values, score=score) < 1e-9


@pytest.mark.parametrize("epsilon", [0.02, 0.0025])
@pytest.mark.parametrize("x", [0.5, 4.0])
def test_concentrated_against_quadrature(x, epsilon):
    with mpmath.workdps(30):
        place = mpmath.mpf(x) + mpmath.mpf("0.8") + mpmath.mpf("0.4") * mpmath.sin(x)
        kappa = (3 + mpmath.cos(x)) / 2

        def weight(v):
            f = 4 * kappa * mpmath.sin(v / 2) ** 2 * (1 + mpmath.mpf("0.6") * mpmath.sin(v))
            y = place + v
            log_p = mpmath.mpf("0.8") * mpmath.cos(y) + mpmath.mpf("0.3") * mpmath.sin(2 * y)
            return mpmath.exp(-f / (2 * epsilon) + log_p)

        def h(v):
            return mpmath.sin(place + v) + mpmath.cos(2 * (place + v)) / 2

        pieces = [-mpmath.pi, -1, -0.3, -0.1, 0, 0.1, 0.3, 1, mpmath.pi]
        exact = mpmath.quad(lambda v: h(v) * weight(v), pieces) / mpmath.quad(weight, pieces)
    found = on_circle(x, epsilon)
    assert abs(found.mid - float(exact)) <= found.width < 1e-9


def test_concentrated_in_two_dimensions_is_the_gaussian_average():
    c = np.array([[2.0, 0.6], [0.6, 1.0]])
    score = GeneralScore(lambda _, y: np.einsum("kl,...k,...l->...", c, y, y), 0.01)
    found = average_at_peak(
        score, [0.0], [0.0, 0.0], [0.07, 0.07], lambda y: y[:, 0] * y[:, 1], lambda y: np.ones(len(y))
    )
    assert found.mid == pytest.approx(0.01 * np.linalg.inv(c)[0, 1], rel=1e-9, abs=0)


def test_first_order_is_the_slope_of_the_average():
    """In two dimensions with all terms, against Richardson extrapolation of lattice averages."""
    rng = np.random.default_rng(2)
    c = np.array([[2.0, 0.5], [0.5, 1.5]])
    slope = rng.normal(size=2)
    gradient = rng.normal(size=2)
    tensor = rng.normal(size=(2, 2, 2))
    d = sum(np.transpose(tensor, p) for p in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))) / 6
    second = np.array([[0.4, -0.7], [-0.7, 0.9]])

    def f(_, y):
        cubic = np.einsum("klm,...k,...l,...m->...", d, y, y, y) / 6
        return np.einsum("kl,...k,...l->...", c, y, y) / 2 + cubic + 2.0 * (y * y).sum(axis=-1) ** 2

    def average(epsilon):
        return average_at_peak(
            GeneralScore(f, epsilon), [0.0], [0.0, 0.0], [math.sqrt(epsilon)] * 2,
            lambda y: y @ gradient + 0.5 * np.einsum("kl,ik,il->i", second, y, y), lambda y: np.exp(y @ slope),
        ).mid  # fmt: skip

    epsilon = 2e-4
    extrapolated = 2.0 * average(epsilon / 2) / (epsilon / 2) - average(epsilon) / epsilon
    assert peak_correction(c, d, slope, gradient, second) == pytest.approx(extrapolated, rel=1e-4, abs=1e-4)


def test_lattice_is_a_product_about_its_centre():
    points = lattice([1.0, -2.0], [0.1, 0.2], reach=3.0, per_width=2.0)
    assert points.shape == (13**2, 2)
    np.testing.assert_allclose(points.mean(axis=0), [1.0, -2.0], rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(np.ptp(points, axis=0), [0.6, 1.2], rtol=1e-14, atol=0)


def test_study_has_both_parts():
    table = studies.scores(scale="quick", root=0)
    circle, sphere = table.where(part="circle"), table.where(part="sphere")
    assert len(set(circle["epsilon"].tolist())) == 9
    coldest = circle.where(epsilon=float(circle["epsilon"].min()))
    np.testing.assert_allclose(coldest.middles("value"), wavy_function(relabelled(coldest["x"])), rtol=0, atol=1e-3)
    assert set(sphere["coordinate"].tolist()) == {1, 2, 3}
    angles = np.array([[0.3]]), np.array([[1.0], [2.0]])
    assert dissimilarity(angles[0][:, np.newaxis], angles[1][np.newaxis]).shape == (1, 2)
    assert WAVY_DENSITY(0.0) > 0.0


def square(x, y):
    return ((y - x)[..., 0]) ** 2


def flat(y):
    return np.ones(len(y))


def test_concentrated_holds_the_truth_on_a_coarse_lattice():
    """With widths three times too large there are too few tokens per deviation, which the width must tell."""
    found = average_at_peak(GeneralScore(square, 0.01), [0.0], [0.0], [0.33], lambda y: np.cos(10.0 * y[:, 0]), flat)
    assert found.lo <= math.exp(-0.5) <= found.hi
    assert abs(found.mid - math.exp(-0.5)) > 1e-4
    assert found.kind is Kind.ESTIMATED


def test_concentrated_holds_the_truth_far_from_the_origin():
    """Places are rounded there by much of a deviation, with these widths alike on both lattices."""
    score = GeneralScore(square, 5e-7)
    found = average_at_peak(score, [1e6], [1e6], [1.2e-3], lambda y: np.cos(1e3 * (y[:, 0] - 1e6)), flat)
    assert found.lo <= math.exp(-0.25) <= found.hi
    assert abs(found.mid - math.exp(-0.25)) > 1e-10


def test_concentrated_holds_the_truth_of_a_dissimilarity_that_is_off():
    score = GeneralScore(lambda x, y: square(x, y) + 1e-3 * np.sign(y - x)[..., 0], 0.01, 1e-3)
    found = average_at_peak(score, [0.0], [0.0], [0.1], lambda y: np.tanh(100.0 * y[:, 0]), flat)
    assert found.lo <= 0.0 <= found.hi
    assert abs(found.mid) > 1e-2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: GeneralScore(quartic, 0.0), "epsilon: expected a positive"),
        (lambda: GeneralScore(quartic, 1.0, -1.0), "error: expected a non-negative bound"),
        (lambda: GeneralScore(lambda _, y: y, 1.0).matrix([[0.0]], [[0.0]]), "dissimilarity: expected shape (1, 1)"),
        (lambda: GeneralScore(quartic, 1.0).constants(1.0), "score: expected one with known constants"),
        (lambda: lattice([0.0], [0.0]), "widths: expected positive numbers"),
        (lambda: lattice([0.0], [1.0, 1.0]), "widths: expected shape (1,)"),
        (lambda: peak_correction([[0.0]], [[[0.0]]], [0.0], [0.0], [[0.0]]), "hessian: expected a positive definite"),
        (lambda: peak_correction([[1.0]], [[0.0]], [0.0], [0.0], [[0.0]]), "third: expected shape (1, 1, 1)"),
        (
            lambda: peak_correction(np.eye(2), np.zeros((2, 2, 2)), [0.0], [0.0, 1.0], np.eye(2)),
            "log_slope: expected shape",
        ),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  the words are compared below
        call()
    assert str(caught.value).startswith(words)
