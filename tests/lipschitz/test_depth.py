"""Constants of deep networks against plain formulas, derivatives of layer norm, and how bounds compose."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special

from theory.lipschitz.depth import (
    BallBound,
    attention_bound,
    composed_bound,
    concatenated_bound,
    depth_constant,
    feed_forward_bound,
    layer_norm,
    layer_norm_bound,
    layerwise_bounds,
    residual_bound,
    summed_bound,
)


def joint(alpha):
    return math.exp(2.0 * alpha) * (1.0 + 2.0 * alpha)


def test_the_radius_that_enters_decides():
    layers = [feed_forward_bound(4.0), attention_bound(1.0)]
    np.testing.assert_allclose(depth_constant(layers, 0.5), 4.0 * joint(4.0), rtol=1e-13, atol=0.0)
    np.testing.assert_allclose(depth_constant(layers[::-1], 0.5), 4.0 * joint(0.25), rtol=1e-13, atol=0.0)
    assert [part.radius for part in layerwise_bounds(layers, 0.5)] == [2.0, 2.0]


def test_residual_and_summed_heads():
    heads = summed_bound(attention_bound(0.5, 0.7), attention_bound(0.2, 1.5))
    found = residual_bound(heads)(1.2)
    constant = 1.0 + 0.7 * joint(0.5 * 1.44) + 1.5 * joint(0.2 * 1.44)
    np.testing.assert_allclose(found, (constant, 1.2 * (1.0 + 0.7 + 1.5)), rtol=1e-13, atol=0.0)


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_concatenated_heads(p):
    forms = [0.3, 0.0, 1.1]
    values = [0.9, 2.0, 0.4]
    out = 1.7
    radius = 0.8
    alphas = [f * radius**2 for f in forms]
    queries = [v * a for v, a in zip(values, alphas, strict=True)]
    share = 0.0 if p == math.inf else 1.0 / p
    slope = 2.0 if p == 1.0 else 1.0
    measure = [v * math.exp(2.0 * a * share) * (1.0 + slope * a) for v, a in zip(values, alphas, strict=True)]
    found = concatenated_bound(forms, values, out, p=p)(radius)
    constant = np.linalg.norm(queries) + np.linalg.norm(measure)
    if p == 1.0:
        constant = min(constant, sum(measure))
    np.testing.assert_allclose(found.constant, out * constant, rtol=1e-13, atol=0.0)
    np.testing.assert_allclose(found.radius, out * np.linalg.norm(values) * radius, rtol=1e-13, atol=0.0)


def test_one_head_concatenated_is_the_layer():
    np.testing.assert_allclose(
        concatenated_bound([0.7], [0.6])(1.3), attention_bound(0.7, 0.6)(1.3), rtol=1e-13, atol=0.0
    )


def test_largest_displacements_grow_linearly():
    deep = [residual_bound(attention_bound(1.0, 0.1, p=math.inf))] * 3
    radius, product = 1.0, 1.0
    for _ in deep:
        product *= 1.0 + 0.1 * (1.0 + 2.0 * radius**2)
        radius *= 1.1
    np.testing.assert_allclose(depth_constant(deep, 1.0), product, rtol=1e-13, atol=0.0)


def test_composition_is_associative():
    a = feed_forward_bound(2.0, 0.1)
    b = attention_bound(0.3, 1.2)
    c = layer_norm_bound(0.5, 3, gain=0.7)
    flat = composed_bound(a, b, c)(0.4)
    np.testing.assert_allclose(composed_bound(composed_bound(a, b), c)(0.4), flat, rtol=1e-13, atol=0.0)
    np.testing.assert_allclose(depth_constant([a, composed_bound(b, c)], 0.4), flat.constant, rtol=1e-13, atol=0.0)


@pytest.mark.parametrize("eps", [1e-5, 0.3])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_layer_norm_bound_is_the_norm_of_the_derivative(eps, d):
    bound = layer_norm_bound(eps, d)
    rng = np.random.default_rng(3)
    step = 1e-6 * math.sqrt(eps)

    def jacobian(x):
        moves = step * np.eye(d)
        return (layer_norm(x + moves, eps) - layer_norm(x - moves, eps)).T / (2.0 * step)

    def norm(matrix):
        return float(np.linalg.norm(matrix, 2))

    at_constant = norm(jacobian(np.full(d, 0.0)))
    np.testing.assert_allclose(at_constant, bound(1.0).constant, rtol=1e-6, atol=1e-6)
    for _ in range(20):
        x = math.sqrt(eps) * rng.normal(size=d) + rng.normal() * math.sqrt(eps)
        assert norm(jacobian(x)) <= bound(1.0).constant * (1.0 + 1e-6)
        radius = float(np.linalg.norm(x))
        assert float(np.linalg.norm(layer_norm(x[np.newaxis], eps))) <= bound(radius).radius * (1.0 + 1e-12)


def test_layer_norm_against_statistics():
    x = np.random.default_rng(1).normal(size=(4, 6))
    gain, shift = np.linspace(0.5, 2.0, 6), np.linspace(-1.0, 1.0, 6)
    expected = gain * (x - x.mean(1)[:, None]) / np.sqrt(x.var(1)[:, None] + 0.1) + shift
    np.testing.assert_allclose(layer_norm(x, 0.1, gain=gain, shift=shift), expected, rtol=1e-13, atol=1e-14)
    longest = np.linalg.norm(layer_norm(x, 0.1, gain=gain, shift=shift), axis=1).max()
    assert longest <= layer_norm_bound(0.1, 6, gain=2.0, shift=float(np.linalg.norm(shift)))(1e9).radius


def test_gelu_has_the_slope_that_is_passed():
    grid = np.linspace(-6.0, 6.0, 20001)
    slope = float(np.gradient(grid * scipy.special.ndtr(grid), grid).max())
    assert feed_forward_bound(slope, 0.5)(2.0) == BallBound(slope, 0.5 + 2.0 * slope)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: layerwise_bounds([], 1.0), "layers: expected at least one"),
        (composed_bound, "layers: expected at least one"),
        (summed_bound, "branches: expected at least one"),
        (lambda: depth_constant([feed_forward_bound(1.0)], -1.0), "radius: expected a non-negative"),
        (lambda: attention_bound(-1.0), "form: expected a non-negative"),
        (lambda: layer_norm_bound(0.0, 3), "eps: expected a positive"),
        (lambda: layer_norm_bound(1.0, 0), "dim: expected an integer of at least 1"),
        (lambda: layer_norm([[1.0, 2.0]], 0.0), "eps: expected a positive"),
        (lambda: layer_norm([[1.0, 2.0]], 1.0, gain=[1.0, 2.0, 3.0]), "gain: expected shape"),
        (lambda: concatenated_bound([1.0], [1.0, 2.0]), "values: expected shape"),
        (lambda: concatenated_bound([1.0], [1.0], p=1.5), "p: expected 1 or an exponent of at least 2"),
        (lambda: depth_constant([feed_forward_bound(1e200)] * 2, 1.0), "float64 can hold"),
        (lambda: depth_constant([attention_bound(400.0)], 1.0), "float64 can hold"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_numbers_at_the_ends_of_float64():
    """A norm's radius of 1e200 does not vanish, and a product that underflows on the way is refused."""
    norm, attention = layerwise_bounds([layer_norm_bound(1e-5, 2), attention_bound(1.0)], 1e200)
    assert norm.radius == pytest.approx(math.sqrt(2.0), rel=1e-15, abs=0.0)
    assert attention.constant == pytest.approx(272.9907, rel=1e-6, abs=0.0)
    small, large = feed_forward_bound(1e-200), feed_forward_bound(1e300)
    with pytest.raises(ValueError, match=r"^layers: expected constants whose product float64 can hold"):
        depth_constant([small, small, large], 1.0)
    with pytest.raises(ValueError, match=r"^branches: expected"):
        depth_constant([summed_bound(feed_forward_bound(1.7e308), feed_forward_bound(1.7e308))], 0.1)


def test_rows_whose_variance_leaves_float64_are_refused():
    for row in ([1e308, 1e308, -1e308], [1e200, 0.0, 0.0]):
        with pytest.raises(ValueError, match="x: expected rows whose variance float64 can hold"):
            layer_norm([row], 1e-5)
    with pytest.raises(ValueError, match="gain: expected one whose products float64 can hold"):
        layer_norm([[1.0, 0.0]], 1e-5, gain=1.7e308, shift=1.7e308)


@pytest.mark.parametrize("bound", [attention_bound(0.5), feed_forward_bound(2.0), layer_norm_bound(0.25, 3)])
@pytest.mark.parametrize("radius", [math.nan, math.inf, -1.0])
def test_a_bound_takes_a_radius_only(bound, radius):
    for each in (bound, residual_bound(bound), summed_bound(bound, bound), composed_bound(bound)):
        with pytest.raises(ValueError, match="radius: expected a non-negative, finite number"):
            each(radius)
