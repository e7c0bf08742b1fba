"""The grid, the densities, the operators and the generators against formulas and against each other."""

import math

import mpmath
import numpy as np
import pytest
from scipy.special import ive

from theory.attention import SquaredDistance
from theory.diffusion import (
    CircleDensity,
    PeriodicGrid,
    chordal,
    chordal_multiplier,
    convolve,
    drift_diffusion,
    heat_multiplier,
    propagate,
    semigroup,
)
from theory.diffusion.limits import sphere_multipliers

DENSITIES = [CircleDensity([0.8, 0.0], [0.0, 0.3]), CircleDensity([0.5], [0.2], logarithmic=False)]


def test_derivatives_and_integrals_of_trigonometric_polynomials():
    grid = PeriodicGrid((24, 31))
    x, y = grid.axes
    h = np.sin(2 * x) * np.cos(3 * y) + np.cos(x)
    np.testing.assert_allclose(
        grid.derivative(h, 1, 1), -6 * np.cos(2 * x) * np.sin(3 * y), rtol=0, atol=40 * grid.rounding(h)
    )
    np.testing.assert_allclose(
        grid.laplacian(h), -13 * np.sin(2 * x) * np.cos(3 * y) - np.cos(x), rtol=0, atol=grid.rounding(h, 400.0)
    )
    gradient = grid.gradient(h)
    np.testing.assert_allclose(gradient[0], grid.derivative(h, 1, 0), rtol=0, atol=0)
    assert grid.integral(1.0 + np.cos(x) * np.sin(y)) == pytest.approx(4 * math.pi**2, rel=1e-14, abs=0)
    assert grid.nodes.shape == (24 * 31, 2)
    np.testing.assert_allclose(h.ravel()[5], math.sin(2 * grid.nodes[5, 0]) * math.cos(3 * grid.nodes[5, 1]) + math.cos(
        grid.nodes[5, 0]), rtol=1e-13, atol=0)  # fmt: skip


def test_highest_mode_of_an_even_grid_has_no_odd_derivative():
    grid = PeriodicGrid((8,))
    np.testing.assert_allclose(grid.derivative(np.cos(4 * grid.axes[0]), 1), 0.0, rtol=0, atol=1e-13)


def test_matrix_is_the_operator():
    grid = PeriodicGrid((9,))
    values = np.random.default_rng(0).normal(size=9)
    np.testing.assert_allclose(grid.matrix(grid.laplacian) @ values, grid.laplacian(values), rtol=0, atol=1e-12)


@pytest.mark.parametrize("density", DENSITIES)
def test_density_mass_slope_and_quantiles(density):
    grid = PeriodicGrid((512,))
    x = grid.axes[0]
    assert grid.integral(density(x)) == pytest.approx(1.0, rel=1e-14, abs=0)
    np.testing.assert_allclose(density.log_slope(x), grid.derivative(np.log(density(x)), 1), rtol=0, atol=1e-10)
    levels = np.array([0.0, 1e-9, 0.1, 0.5, 0.9, 1.0])
    angles = density.quantiles(levels)
    np.testing.assert_allclose(density.cumulative(angles), levels, rtol=0, atol=4e-16 * 4)
    exact = [float(mpmath.quad(lambda t: mpmath.mpf(float(density(float(t)))), [0, a])) for a in angles[2:4]]
    np.testing.assert_allclose(exact, levels[2:4], rtol=1e-12, atol=0)
    assert density.tokens(7).shape == (7, 1)


def test_sample_follows_the_density():
    density = DENSITIES[0]
    drawn = density.sample(np.random.default_rng(1), 20000)
    levels = np.sort(density.cumulative(drawn[:, 0]))
    assert np.abs(levels - (np.arange(20000) + 0.5) / 20000).max() < 0.0173  # Kolmogorov: exceeded once in 1e5


@pytest.mark.parametrize("density", DENSITIES)
def test_attention_of_quantile_tokens_is_the_exact_operator(density):
    """The engine's softmax on 25 to 400 tokens against Bessel functions, with errors that fall faster and faster."""
    grid = PeriodicGrid((512,))
    epsilon = 0.02
    x = grid.axes[0]
    exact = convolve(grid, density(x), np.sin(x) + 0.5 * np.cos(2 * x), chordal_multiplier(epsilon))
    errors = []
    for n in (25, 50, 100, 400):
        keys = density.tokens(n)
        h = np.sin(keys[:, 0]) + 0.5 * np.cos(2 * keys[:, 0])
        errors.append(np.abs(propagate(grid.nodes, keys, h, epsilon, score=chordal(epsilon)) - exact).max())
    assert errors[0] > 1e-2 > errors[1] * 0.2 > errors[2]
    assert errors[-1] < 1e-13


def test_wrapped_gaussian_has_the_heat_multiplier():
    grid = PeriodicGrid((512,))
    epsilon = 0.05
    density = DENSITIES[0]
    x = grid.axes[0]
    exact = convolve(grid, density(x), np.cos(x), heat_multiplier(epsilon))
    keys = np.concatenate([grid.nodes + 2 * math.pi * turn for turn in (-1, 0, 1)])
    masses = np.tile(density(x), 3)
    found = propagate(grid.nodes, keys, np.cos(keys[:, 0]), epsilon, weights=masses)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-13)


def test_several_functions_at_once():
    keys = DENSITIES[0].tokens(9)
    values = np.stack([keys[:, 0], np.cos(keys[:, 0])], axis=1)
    both = propagate(keys, keys, values, 0.3)
    np.testing.assert_allclose(both[:, 1], propagate(keys, keys, values[:, 1], 0.3), rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("b", [1e-3, 0.5, 2.0, 30.0, 1e4, 1e7])
def test_sphere_multipliers(b):
    degrees = np.arange(6)
    expected = ive(degrees + 0.5, b) / ive(0.5, b)
    np.testing.assert_allclose(sphere_multipliers(5, b), expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("epsilon", [1e3, 1.0, 0.08, 1e-4, 1e-6, 1e-9])
def test_chordal_multipliers(epsilon):
    orders = np.array([0, 1, -1, 2, 7, 30])
    b = 1.0 / epsilon
    with mpmath.workdps(50):
        below = mpmath.besseli(0, b)
        expected = [float(mpmath.besseli(abs(int(k)), b) / below) for k in orders]
    width = (np.abs(orders) + 1.0) * 2.0**-53
    found = chordal_multiplier(epsilon)(orders.astype(float))
    assert (np.abs(found / expected - 1.0) <= width).all()


def test_multipliers_at_the_ends_of_the_range():
    np.testing.assert_array_equal(chordal_multiplier(1e-300)(np.arange(3.0)), np.ones(3))
    np.testing.assert_array_equal(sphere_multipliers(2, 1e300), np.ones(3))
    np.testing.assert_allclose(sphere_multipliers(2, 1e-9), [1.0, 1e-9 / 3, 1e-18 / 15], rtol=1e-15, atol=0)


def test_a_density_that_underflows_has_quantiles():
    sharp = CircleDensity([900.0], [0.0])  # exp(-1800) opposite to its top
    with mpmath.workdps(30):
        above = mpmath.quad(lambda x: mpmath.exp(900 * (mpmath.cos(x) - 1)), [0, 0.05])
        level = float(above / (2 * mpmath.pi * mpmath.besseli(0, 900) * mpmath.exp(-900)))
    assert sharp.quantiles([level])[0] == pytest.approx(0.05, rel=1e-11, abs=0)


def test_generator_in_general():
    grid = PeriodicGrid((64, 48))
    x, y = grid.axes
    p = np.exp(0.4 * np.cos(x) + 0.3 * np.sin(x + y))
    h = np.sin(x) * np.cos(2 * y)
    inverse = np.array([[1.5, 0.4], [0.4, 0.7]])
    px, py = -0.4 * np.sin(x) + 0.3 * np.cos(x + y), 0.3 * np.cos(x + y)
    hx, hy = np.cos(x) * np.cos(2 * y), -2 * np.sin(x) * np.sin(2 * y)
    expected = -1.5 * h - 2 * 0.4 * 2 * np.cos(x) * np.sin(2 * y) - 0.7 * 4 * h
    expected = expected + 2 * 0.8 * ((1.5 * px + 0.4 * py) * hx + (0.4 * px + 0.7 * py) * hy)
    found = drift_diffusion(grid, p, h, kappa=0.8, inverse_metric=inverse)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


def test_semigroup_of_the_laplacian():
    grid = PeriodicGrid((16,))
    h = np.cos(3 * grid.axes[0])
    found = semigroup(grid.matrix(grid.laplacian), 0.2, h)
    np.testing.assert_allclose(found, math.exp(-1.8) * h, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: PeriodicGrid(()), ValueError, "shape: expected at least one"),
        (lambda: PeriodicGrid((2,)), ValueError, "shape: expected an integer of at least 3"),
        (lambda: PeriodicGrid((4,)).integral([1.0]), ValueError, "values: expected shape (4,)"),
        (lambda: PeriodicGrid((4,)).derivative(np.ones(4), 1, 1), ValueError, "orders: expected 1"),
        (lambda: CircleDensity([1.0], [1.0, 2.0]), ValueError, "sines: expected shape (1,)"),
        (lambda: CircleDensity([2.0], [0.0], logarithmic=False), ValueError, "cosines, sines: expected a positive"),
        (lambda: DENSITIES[0].quantiles([1.5]), ValueError, "levels: expected numbers from 0 to 1"),
        (lambda: DENSITIES[0].tokens(0), ValueError, "n: expected an integer of at least 1"),
        (lambda: propagate([[0.0]], [[0.0]], [[[1.0]]], 0.1), ValueError, "values: expected shape (1,)"),
        (lambda: propagate([[0.0]], [[0.0]], [1.0], 0.0), ValueError, "epsilon: expected a positive"),
        (
            lambda: propagate([[0.0]], [[0.0]], [1.0], -1.0, score=chordal(1.0)),
            ValueError,
            "epsilon: expected a positive",
        ),
        (lambda: CircleDensity([1e6], [0.0]), ValueError, "cosines, sines: expected a density that 4096 nodes resolve"),
        (
            lambda: CircleDensity(np.eye(1, 3000)[0], np.zeros(3000)),
            ValueError,
            "cosines, sines: expected a density that",
        ),
        (
            lambda: convolve(PeriodicGrid((4,)), np.ones(4), [2.0], heat_multiplier(0.1)),
            ValueError,
            "density, values: expected shape (4,)",
        ),
        (
            lambda: drift_diffusion(
                PeriodicGrid((4, 4)), np.ones((4, 4)), np.ones((4, 4)), inverse_metric=[[1, 1], [0, 1]]
            ),
            ValueError,
            "inverse_metric: expected a symmetric matrix",
        ),
        (lambda: chordal(-1.0), ValueError, "epsilon: expected a positive"),
        (lambda: sphere_multipliers(2, 0.0), ValueError, "b: expected a positive"),
        (lambda: sphere_multipliers(-1, 1.0), ValueError, "degrees: expected an integer"),
        (lambda: semigroup(np.eye(2), 1.0, np.ones(3)), ValueError, "values: expected shape (2,)"),
        (lambda: drift_diffusion(PeriodicGrid((4,)), -np.ones(4), np.ones(4)), ValueError, "density: expected posit"),
        (
            lambda: convolve(PeriodicGrid((4,)), np.array([1.0, -5.0, 1.0, 1.0]), np.ones(4), heat_multiplier(0.1)),
            ValueError,
            "density: expected one that stays positive",
        ),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith(words)


def test_the_default_score_is_that_of_squared_distances():
    rng = np.random.default_rng(3)
    keys, values = rng.normal(size=(8, 2)), rng.normal(size=8)
    found = propagate(keys, keys, values, 0.7, score=SquaredDistance(0.5 / 0.7))
    np.testing.assert_allclose(propagate(keys, keys, values, 0.7), found, rtol=0, atol=0)


def test_generators_refuse_what_leaves_float64():
    grid = PeriodicGrid((8,))
    flat = np.ones(8)
    wave = np.cos(grid.axes[0])
    with pytest.raises(ValueError, match="values: expected numbers whose transform float64 can hold"):
        drift_diffusion(grid, flat, 1e308 * wave)
    with pytest.raises(ValueError, match="values, kappa, inverse_metric: expected ones of which float64 holds the sum"):
        drift_diffusion(grid, flat + 0.5 * wave, 1e300 * wave, kappa=1e300)
    for given in (flat[:4], flat[:, np.newaxis]):
        with pytest.raises(ValueError, match=r"density: expected shape \(8,\)"):
            drift_diffusion(grid, given, wave)
    for time, generator in ((1e300, [[1e300]]), (1.0, [[800.0]]), (1.0, [[1e200]])):
        with pytest.raises(
            ValueError, match="time, generator, values: expected ones of which float64 holds the result"
        ):
            semigroup(generator, time, [1.0])
    assert semigroup([[-1e90]], 1.0, [1.0]).item() == 0.0
