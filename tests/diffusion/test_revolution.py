"""Surfaces of revolution against the metric they shall have, and against quadratures of arc and area."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from theory.diffusion import CircleDensity, Revolution

DENSITY = CircleDensity([0.3, 0.1], [0.2, 0.0])
TURN = 2.0 * math.pi


@pytest.fixture(scope="module")
def surface():
    return Revolution(DENSITY, 0.7)


def slope(surface, x):
    """The derivative of the radius, by hand."""
    u = 0.3 * math.cos(x) + 0.1 * math.cos(2 * x) + 0.2 * math.sin(x)
    du = -0.3 * math.sin(x) - 0.2 * math.sin(2 * x) + 0.2 * math.cos(x)
    mass = quad(lambda t: math.exp(0.3 * math.cos(t) + 0.1 * math.cos(2 * t) + 0.2 * math.sin(t)), 0.0, TURN)[0]
    return surface.scale * 2.0 * du * math.exp(2.0 * u) / mass**2


def test_the_steepest_parallel(surface):
    x = np.linspace(0.0, TURN, 20001)
    assert max(abs(slope(surface, t)) for t in x.tolist()[::20]) == pytest.approx(0.7, rel=1e-4, abs=0)


def test_height_is_the_integral_of_its_slope(surface):
    for x in (0.4, 3.0, 6.0):
        exact = quad(lambda t: math.sqrt(1.0 - slope(surface, t) ** 2), 0.0, x, epsabs=1e-12)[0]
        assert surface.height([x])[0] == pytest.approx(exact, rel=0, abs=1e-11)
    once = surface.height([TURN])[0]
    there = surface.height([1.3])[0]
    np.testing.assert_allclose(
        surface.height([1.3 + TURN, 1.3 - TURN]), [there + once, there - once], rtol=1e-13, atol=0
    )


def test_the_metric_is_that_of_the_density(surface):
    x, theta, step = 2.1, 0.6, 1e-5
    moved = surface.points([x - step, x + step, x, x], [theta, theta, theta - step, theta + step])
    along = (moved[1] - moved[0]) / (2 * step)
    around = (moved[3] - moved[2]) / (2 * step)
    assert along @ along == pytest.approx(1.0, rel=1e-8, abs=0)
    assert along @ around == pytest.approx(0.0, rel=0, abs=1e-8)
    assert around @ around == pytest.approx((surface.scale * DENSITY(np.array(x)) ** 2) ** 2, rel=1e-8, abs=0)


def test_areas_of_a_period(surface):
    tokens = surface.quadrature(64, 7, reach=0.5)
    inside = (tokens.meridian >= 0.0) & (tokens.meridian < TURN - 1e-9)
    assert inside.sum() == 64 * 7
    exact = TURN * quad(lambda x: surface.radius([x])[0], 0.0, TURN, epsabs=1e-13)[0]
    assert tokens.areas[inside].sum() == pytest.approx(exact, rel=1e-12, abs=0)
    np.testing.assert_allclose(np.hypot(*tokens.points[:, :2].T), surface.radius(tokens.meridian), rtol=1e-14, atol=0)
    assert tokens.meridian.min() <= -0.5
    assert tokens.meridian.max() >= TURN + 0.5 - TURN / 64


def test_tokens_are_as_close_as_asked_and_reach_far_enough(surface):
    epsilon, per_width = 0.04, 1.5
    tokens = surface.tokens(epsilon, per_width=per_width)
    x = np.unique(tokens.meridian)
    assert np.diff(x).max() <= math.sqrt(epsilon) / per_width * (1 + 1e-12)
    here = surface.points([0.0], [0.0])
    first = tokens.points[tokens.meridian == x[0]]
    assert np.linalg.norm(first - here, axis=1).min() >= 12.0 * math.sqrt(epsilon)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Revolution(DENSITY, 1.0), "steepest: expected a number below 1"),
        (lambda: Revolution(DENSITY, 0.0), "steepest: expected a positive"),
        (lambda: Revolution(DENSITY, 1.0 - 1e-9), "steepest: expected a slope that 2048 nodes resolve"),
        (lambda: Revolution(CircleDensity([0.0], [0.0])), "density: expected one that is not constant"),
        (lambda: Revolution(CircleDensity([1e-320], [0.0])), "density: expected one that is not constant"),
        (lambda: Revolution(DENSITY).points([0.0, 1.0], [0.0]), r"theta: expected shape \(2,\)"),
        (lambda: Revolution(DENSITY).quadrature(0, 3, reach=1.0), "along: expected an integer of at least 1"),
        (lambda: Revolution(DENSITY).quadrature(3, 3, reach=0.0), "reach: expected a positive"),
        (lambda: Revolution(DENSITY).tokens(-0.1, per_width=2.0), "epsilon: expected a positive"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match="^" + words):
        call()
