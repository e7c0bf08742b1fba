"""A curve of minimisers: averages over tokens against adaptive quadrature, and the correction against both."""

import math

import mpmath
import numpy as np
import pytest

from theory.diffusion import GeneralScore
from theory.diffusion.similarity import Profile, average_along, expand_along
from theory.evidence import Kind

QUERY = 0.4


def f(x, y):
    v = y[..., 0] - x[..., 0]
    t = y[..., 1]
    return (1.2 + 0.5 * np.sin(t)) * 2.0 * np.sin(v / 2) ** 2 * (1.0 + 0.4 * np.cos(t) * np.sin(v))


def h(y):
    return np.sin(y[:, 0]) * np.cos(y[:, 1]) + np.cos(y[:, 1])


def p(y):
    return np.exp(0.5 * np.cos(y[:, 0] - y[:, 1]))


def average(epsilon):
    return average_along(GeneralScore(f, epsilon), [QUERY], QUERY, math.sqrt(epsilon), h, p, nodes=40)


def test_fibred_against_quadrature():
    epsilon = 0.02
    n = 1024  # of the trapezoidal rule in both angles, a thirtieth of a deviation
    v, t = np.meshgrid(2 * np.pi * np.arange(n) / n - np.pi, 2 * np.pi * np.arange(128) / 128, indexing="ij")
    keys = np.stack([v.ravel() + QUERY, t.ravel()], axis=1)
    weights = np.exp(-f(np.array([[QUERY]]), keys) / (2 * epsilon)) * p(keys)
    found = average(epsilon)
    assert found.mid == pytest.approx(math.fsum(weights * h(keys)) / math.fsum(weights), rel=1e-11, abs=0)
    assert found.width < 1e-9


def test_along_is_limit_and_slope():
    t = 2 * np.pi * np.arange(64) / 64
    c, b = 1.2 + 0.5 * np.sin(t), 0.4 * np.cos(t)
    u = [0.5 * np.cos(QUERY - t), -0.5 * np.sin(QUERY - t), -0.5 * np.cos(QUERY - t)]
    values = [math.sin(QUERY) * np.cos(t) + np.cos(t), math.cos(QUERY) * np.cos(t), -math.sin(QUERY) * np.cos(t)]
    density = [np.exp(u[0]), u[1] * np.exp(u[0]), (u[2] + u[1] ** 2) * np.exp(u[0])]
    product = [values[0] * density[0], values[1] * density[0] + values[0] * density[1],
               values[2] * density[0] + 2 * values[1] * density[1] + values[0] * density[2]]  # fmt: skip
    zeroth, first = expand_along(Profile(c, 3 * b * c, -c), density, product)
    a = [average(0.002 * 0.5**k).mid for k in range(3)]
    e = 0.002
    once = [2 * a[k + 1] - a[k] for k in range(2)]
    assert zeroth == pytest.approx((4 * once[1] - once[0]) / 3, rel=0, abs=1e-6)
    slopes = [(value - zeroth) / (e * 0.5**k) for k, value in enumerate(a)]
    assert first == pytest.approx(2 * slopes[2] - slopes[1], rel=0, abs=1e-4)


def test_volume_beside_the_equator():
    """For f = sin(v)^2 on the sphere the integral of exp(-f / 2 eps) cos v is one of a Gaussian: no correction."""
    profile = Profile([2.0], [0.0], [-8.0], -0.5)
    assert profile.correction([1.0], [0.0], [0.0])[0] == pytest.approx(0.0, rel=0, abs=1e-15)
    flat = Profile([2.0], [0.0], [-8.0]).correction([1.0], [0.0], [0.0])[0]
    epsilon = mpmath.mpf("1e-5")
    exact = mpmath.quad(lambda w: mpmath.exp(-(mpmath.sin(w) ** 2) / (2 * epsilon)), [-0.1, -0.01, 0, 0.01, 0.1])
    assert flat == pytest.approx(float((exact / mpmath.sqrt(2 * mpmath.pi * epsilon) - 1) / epsilon), rel=1e-3, abs=0)


def square(x, y):
    return (y[..., 0] - x[..., 0]) ** 2


def flat(y):
    return np.ones(len(y))


def test_fibred_holds_the_truth_on_a_coarse_lattice():
    """With a width three times too large there are too few tokens across, which the width must tell."""
    found = average_along(GeneralScore(square, 0.01), [0.0], 0.0, 0.33, lambda y: np.cos(10.0 * y[:, 0]), flat, nodes=8)
    assert found.lo <= math.exp(-0.5) <= found.hi
    assert abs(found.mid - math.exp(-0.5)) > 1e-4
    assert found.kind is Kind.ESTIMATED


def test_fibred_holds_the_truth_with_too_few_tokens_around():
    """Four and five tokens do not resolve three waves around."""
    found = average_along(GeneralScore(square, 0.01), [0.0], 0.0, 0.1, lambda y: np.exp(np.cos(y[:, 1])), flat, nodes=4)
    truth = float(mpmath.besseli(0, 1))
    assert found.lo <= truth <= found.hi
    assert abs(found.mid - truth) > 1e-5


def test_fibred_holds_the_truth_far_from_the_origin():
    """Places are rounded there by much of a deviation, with this width alike on both lattices."""
    score = GeneralScore(square, 5e-7)
    found = average_along(score, [1e6], 1e6, 1.026e-3, lambda y: np.cos(1e3 * (y[:, 0] - 1e6)), flat, nodes=4)
    assert found.lo <= math.exp(-0.25) <= found.hi
    assert abs(found.mid - math.exp(-0.25)) > 1e-10


def test_fibred_holds_the_truth_of_a_dissimilarity_that_is_off():
    score = GeneralScore(lambda x, y: square(x, y) + 1e-3 * np.sign(y[..., 0] - x[..., 0]), 0.01, 1e-3)
    found = average_along(score, [0.0], 0.0, 0.1, lambda y: np.tanh(100.0 * y[:, 0]), flat, nodes=4)
    assert found.lo <= 0.0 <= found.hi
    assert abs(found.mid) > 1e-2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Profile([0.0], [0.0], [0.0]), "second: expected positive derivatives"),
        (lambda: Profile([1.0, 1.0], [0.0], [0.0]), "third: expected shape (2,)"),
        (lambda: Profile([1.0], [0.0], [0.0], [1.0, 2.0]), "volume: expected a number or shape (1,)"),
        (lambda: expand_along(Profile([1.0], [0.0], [0.0]), [[1.0]], [[1.0]] * 3), "density: expected shape (3, 1)"),
        (
            lambda: expand_along(Profile([1.0], [0.0], [0.0]), [[-1.0]] * 3, [[1.0]] * 3),
            "density: expected positive numbers",
        ),
        (lambda: average_along(GeneralScore(f, 0.1), [QUERY], QUERY, 0.3, h, p, nodes=3), "nodes: expected an integer"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  the words are compared below
        call()
    assert str(caught.value).startswith(words)
