"""Learned metrics against derivatives and quadratures at fifty digits, and the torus against explicit sums."""

import itertools
import math
import re
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from theory.diffusion import CircleDensity, Ellipse
from theory.diffusion.geometry import Modulated, Reparametrised, curves, layer_change, linear_multiplier, root_length
from theory.diffusion.limits import average_at_peak, lattice

DENSITY = CircleDensity([0.8, 0.0], [0.0, 0.3])
F = {
    Ellipse(1.5, 0.7): lambda x, y: (
        (1.5 * (mpmath.cos(x) - mpmath.cos(y))) ** 2 + (0.7 * (mpmath.sin(x) - mpmath.sin(y))) ** 2
    ),
    Reparametrised(-0.3): lambda x, y: (
        2 - 2 * mpmath.cos(x - y - mpmath.mpf("-0.3") * mpmath.sin(y) + mpmath.mpf("-0.3") * mpmath.sin(x))
    ),
    Modulated(0.25): lambda x, y: (2 - 2 * mpmath.cos(x - y)) * (1 + mpmath.cos(x + y) / 4),
    Modulated(0.25, symmetric=False): lambda x, y: (2 - 2 * mpmath.cos(x - y)) * (1 + mpmath.cos(2 * x) / 4),
}


@pytest.mark.parametrize("curve", F)
def test_dissimilarity_is_relatively_accurate_and_the_metric_half_its_hessian(curve):
    x = 0.9
    for v in (2.0, 0.1, 1e-3, -1e-6, 1e-9):
        y = x + v
        with mpmath.workdps(50):
            exact = F[curve](mpmath.mpf(x), mpmath.mpf(y))
        found = float(curve.dissimilarity(np.array([x]), np.array([y])))
        # the constants 0.7 and 0.3 are the nearest floats, hence a few more units
        assert found == pytest.approx(float(exact), rel=40 * 2.0**-53, abs=0)
    with mpmath.workdps(50):
        hessian = mpmath.diff(lambda y: F[curve](mpmath.mpf(x), y), mpmath.mpf(x), 2)
    assert float(curve.metric(x)) == pytest.approx(float(hessian) / 2, rel=1e-14, abs=0)


@pytest.mark.parametrize("curve", [Ellipse(1.5, 0.7), Reparametrised(-0.3)])
def test_dissimilarity_is_the_squared_distance_of_the_features(curve):
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0.0, 6.0, size=(2, 20, 1))
    squares = ((curve.features(x) - curve.features(y)) ** 2).sum(axis=1)
    np.testing.assert_allclose(curve.dissimilarity(x, y), squares, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("curve", F)
@pytest.mark.parametrize("epsilon", [0.05, 1e-3])
def test_change_against_quadrature(curve, epsilon):
    x = 2.1

    def weight(y):
        return mpmath.exp(0.8 * mpmath.cos(y) + 0.3 * mpmath.sin(2 * y) - F[curve](x, y) / (2 * epsilon))

    pieces = [x + math.pi * k / 8 for k in range(-8, 9)]
    top = mpmath.quad(lambda y: (mpmath.sin(y) - mpmath.sin(x)) * weight(y), pieces)
    exact = top / mpmath.quad(weight, pieces) / epsilon
    found = layer_change(curve, DENSITY, np.sin, epsilon, x)
    assert found.lo <= exact <= found.hi
    assert found.width < 1e-10 / epsilon


def test_root_length_of_a_circle_and_an_ellipse():
    circle = Ellipse(2.0, 2.0)
    n = 40
    found = root_length(circle, np.linspace(0.0, 3.0, n + 1))
    with mpmath.workdps(30):
        exact = float(n * 4 * mpmath.sin(mpmath.mpf(3) / (2 * n)))
    assert found.lo <= exact <= found.hi
    quarter = root_length(Ellipse(2.0, 1.0), np.linspace(0.0, math.pi / 2, 2001))
    assert quarter.mid == pytest.approx(float(2 * mpmath.ellipe(0.75)), rel=1e-6, abs=0)


def test_linear_multiplier_against_the_wrapped_sum():
    w = np.array([[1.25, 0.5], [-0.25, 0.75], [0.1, 0.0]])
    epsilon = 0.3
    n = 64
    axis = 2 * math.pi * np.arange(n) / n
    turns = 2 * math.pi * np.arange(-3, 4)
    x, y = ((axis[:, np.newaxis] + turns).reshape(1, -1) for _ in "xy")
    points = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1) @ w.T
    kernel = np.exp(-(points**2).sum(axis=-1) / (2 * epsilon))
    wrapped = kernel.reshape(n, 7, n, 7).sum(axis=(1, 3))
    coefficients = np.fft.fft2(wrapped).real / wrapped.sum()
    k = np.fft.fftfreq(n, 1.0 / n)
    np.testing.assert_allclose(
        linear_multiplier(epsilon, w)(k[:, np.newaxis], k[np.newaxis, :]), coefficients, rtol=0, atol=1e-13
    )


@pytest.mark.parametrize("curve", F)
@pytest.mark.parametrize("epsilon", [0.05, 1e-3])
def test_the_error_of_a_score_covers_every_key(curve, epsilon, monkeypatch):
    seen = []

    def spy(score, query, centre, widths, *rest, reach):
        keys = lattice(centre, widths, reach=reach)
        seen.append((score, score.dissimilarity(np.array(query)[np.newaxis, :], keys)))
        return average_at_peak(score, query, centre, widths, *rest, reach=reach)

    monkeypatch.setattr(curves, "average_at_peak", spy)
    for x in (0.0, 0.9, 2.1, 4.4):
        layer_change(curve, DENSITY, np.sin, epsilon, x)
        score, values = seen[-1]
        assert Fraction(score.error) >= Fraction(64, 2**53) * Fraction(float(values.max()))


def test_change_of_a_function_far_from_zero():
    """What its values round is of their own size, and not of that of the change."""
    far, near = (layer_change(Ellipse(1.5, 0.7), DENSITY, f, 1e-3, 2.05) for f in (lambda x: 1e8 + np.sin(x), np.sin))
    assert near.lo >= far.lo
    assert near.hi <= far.hi
    assert abs(far.mid - near.mid) > 10 * near.width


def test_root_length_at_large_angles():
    """A middle of two angles is off by what they round, and the metric is read there."""
    angles = 1e6 + np.linspace(0.0, 2.0, 10)
    found = root_length(Ellipse(1.5, 0.7), angles)
    with mpmath.workdps(50):
        places = [(1.5 * mpmath.cos(a), mpmath.mpf(0.7) * mpmath.sin(a)) for a in map(mpmath.mpf, angles.tolist())]
        exact = mpmath.fsum(mpmath.hypot(a - c, b - d) for (a, b), (c, d) in itertools.pairwise(places))
    assert found.lo <= exact <= found.hi
    assert abs(found.mid - exact) > 64 * 2.0**-53 * found.mid


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Ellipse(0.0, 1.0), "a: expected a positive"),
        (lambda: Ellipse(1.0, -1.0), "b: expected a positive"),
        (lambda: Ellipse(1.0, 1.0).features([1.0]), "x: expected shape (n, 1)"),
        (lambda: Reparametrised(1.0), "strength: expected a number between -1 and 1"),
        (lambda: Modulated(-1.5), "strength: expected a number between -1 and 1"),
        (lambda: layer_change(Ellipse(1.0, 1.0), DENSITY, np.sin, 0.0, 0.0), "epsilon: expected a positive"),
        (lambda: layer_change(Ellipse(1.0, 1.0), DENSITY, np.sin, 0.1, math.nan), "x: expected finite"),
        (lambda: root_length(Ellipse(1.0, 1.0), [0.0]), "angles: expected at least two"),
        (lambda: linear_multiplier(0.1, np.ones((2, 2))), "matrix: expected independent columns"),
        (lambda: linear_multiplier(-0.1, np.eye(2)), "epsilon: expected a positive"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        call()
