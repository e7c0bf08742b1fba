"""Interacting Gaussian clouds: the linear response against lattices that know no polynomials."""

import itertools
import math

import numpy as np
import pytest

from theory.diffusion.moving import (
    displacement_variances,
    interacting_tokens,
    linear_displacements,
    mean_field_deviations,
    response_control,
)
from theory.diffusion.moving.chaos import _variances
from theory.diffusion.studies.interacting import _distance

EPSILON = 0.7


def averages(places, tokens, masses, epsilon):
    """Attention on the line in three lines."""
    kernel = masses * np.exp(-((places[:, None] - tokens) ** 2) / (2.0 * epsilon))
    return kernel @ tokens / kernel.sum(axis=1)


def grid():
    """Return a fine lattice and the masses of the standard normal law on it."""
    z = np.linspace(-13.0, 13.0, 1301)
    masses = np.exp(-z * z / 2.0)
    return z, masses / masses.sum()


@pytest.mark.parametrize("value", [1.0, -1.0, 0.25])
def test_law_of_lattice_tokens_is_the_mean_field_law(value):
    z, masses = grid()
    x = z.copy()
    for deviation in mean_field_deviations(EPSILON, 3, value=value):
        assert np.sqrt(masses @ x**2) == pytest.approx(deviation, rel=1e-12, abs=0.0)
        x = x + value * (averages(x, x, masses, EPSILON) - x)


def test_deviations_keep_their_digits_through_the_collapse():
    seen = mean_field_deviations(1.0, 6)
    assert seen[6] == pytest.approx(seen[5] ** 3, rel=1e-12, abs=0.0)


@pytest.mark.parametrize("value", [1.0, -1.0])
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_response_is_the_derivative_with_respect_to_masses(value, depth):
    """A lattice of the law with a little mass moved to the places of a sample: two sides, no polynomials."""
    z, masses = grid()
    sample = np.array([-1.3, 0.2, 0.9, 1.7])
    everyone = np.concatenate([z, sample])
    moved = []
    for share in (1e-5, -1e-5):
        law = np.concatenate([(1.0 - share) * masses, np.full(4, share / 4.0)])
        x = everyone.copy()
        for _ in range(depth):
            x = x + value * (averages(x, x, law, EPSILON) - x)
        moved.append(x[-4:])
    derivative = (moved[0] - moved[1]) / 2e-5
    (seen,) = linear_displacements(sample[:, None], EPSILON, (depth,), value=value, degree=150)
    np.testing.assert_allclose(seen[:, 0], derivative, rtol=1e-4, atol=1e-5)


def test_first_layer_has_the_variance_of_a_quotient():
    """Without any response of others the variance of a self-normalised mean is an integral, here by a lattice."""
    z, masses = grid()
    ratio = 1.0 / (1.0 + EPSILON)
    kernel = np.exp(-((z[:, None] - z) ** 2) / (2.0 * EPSILON))
    mass = kernel @ masses
    inner = np.abs(z) < 9.0
    square = (kernel**2 * (z - ratio * z[:, None]) ** 2) @ masses / mass**2
    first, second = displacement_variances(1, EPSILON, 1)
    assert first.lo == first.hi == 0.0
    assert second.mid == pytest.approx(float(masses[inner] @ square[inner]), rel=1e-6, abs=0.0)


@pytest.mark.parametrize("d", [2, 3])
def test_first_layer_in_space_is_a_product(d):
    """The variance of one coordinate is that on the line times the second moment of the weights in the others."""
    z, masses = grid()
    ratio = 1.0 / (1.0 + EPSILON)
    kernel = np.exp(-((z[:, None] - z) ** 2) / (2.0 * EPSILON))
    inner = np.abs(z) < 9.0
    mass = (kernel @ masses)[inner]
    square = ((kernel**2 * (z - ratio * z[:, None]) ** 2) @ masses)[inner] / mass**2
    weights = (kernel**2 @ masses)[inner] / mass**2
    expected = d * (masses[inner] @ square) * (masses[inner] @ weights) ** (d - 1)
    assert displacement_variances(d, EPSILON, 1)[1].mid == pytest.approx(float(expected), rel=1e-5, abs=0.0)


def test_more_degrees_are_inside_the_width():
    for value in (1.0, -1.0):
        coarse = displacement_variances(1, 0.25, 3, value=value, degree=16)
        fine = displacement_variances(1, 0.25, 3, value=value, degree=120)
        for one, other in zip(coarse, fine, strict=True):
            assert one.lo <= other.mid <= one.hi


def test_wide_bandwidth_leaves_the_mean():
    """A bandwidth far beyond the cloud takes every token to the mean token: d is the limit of n times its square."""
    for d in (1, 2, 3):
        assert displacement_variances(d, 1e6, 1)[1].mid == pytest.approx(d, rel=1e-5, abs=0.0)


def test_feedback_enters_at_the_second_layer():
    with_, without = (displacement_variances(2, EPSILON, 2, feedback=flag) for flag in (True, False))
    assert with_[1].mid == without[1].mid
    assert with_[2].mid > 1.5 * without[2].mid


def test_layers_of_three_tokens():
    start = np.array([[-1.0], [0.0], [2.0]])
    x = start[:, 0]
    once = x + 0.5 * (averages(x, x, np.ones(3), EPSILON) - x)
    twice = once + 0.5 * (averages(once, once, np.ones(3), EPSILON) - once)
    seen = interacting_tokens(start, EPSILON, (0, 1, 2), value=0.5)
    for found, expected in zip(seen, (x, once, twice), strict=True):
        np.testing.assert_allclose(found[:, 0], expected, rtol=1e-13, atol=1e-15)
    kernel = np.exp(-((x[:, None] - x) ** 2) / (2.0 * EPSILON))
    kept = np.eye(3) + 0.5 * (kernel / kernel.sum(axis=1, keepdims=True) - np.eye(3))
    (seen,) = interacting_tokens(start, EPSILON, (2,), value=0.5, kept=True)
    np.testing.assert_allclose(seen[:, 0], kept @ kept @ x, rtol=1e-13, atol=1e-15)


def dilation_on_the_line(ratio, degree):
    """Coefficients of He_b(rz) in He_a, normalised, from products at Gauss's nodes."""
    nodes, masses = np.polynomial.hermite_e.hermegauss(degree + 1)
    scale = [math.sqrt(math.factorial(k)) for k in range(degree + 1)]
    polynomials = np.polynomial.hermite_e.hermevander(nodes, degree) / scale
    shrunk = np.polynomial.hermite_e.hermevander(ratio * nodes, degree) / scale
    return polynomials.T @ ((masses / masses.sum())[:, None] * shrunk)


@pytest.mark.parametrize("value", [1.0, -1.0])
@pytest.mark.parametrize("d", [2, 3])
def test_products_of_polynomials_respond_as_harmonics_do(d, value):
    """Both are bases of all polynomials up to a degree, so that traces agree, layer by layer and with feedback."""
    degree, depth = 7, 4
    labels = [a for a in itertools.product(range(degree + 1), repeat=d) if 0 < sum(a) <= degree]
    sizes = np.array([sum(a) for a in labels])
    response = np.zeros((len(labels), len(labels)))
    found = [0.0]
    for sigma in mean_field_deviations(EPSILON, depth, value=value)[:-1]:
        ratio = sigma / math.hypot(sigma, math.sqrt(EPSILON))
        line = dilation_on_the_line(ratio, degree)
        shrunk = np.array([[math.prod(line[i, j] for i, j in zip(a, b, strict=True)) for b in labels] for a in labels])
        source = np.diag(ratio**sizes) + (ratio**sizes * sizes / sigma)[:, None] * response
        response = (1.0 - value + value * ratio**2) * response + value * EPSILON / sigma * shrunk @ source
        found.append(float(sizes @ np.sum(response**2, axis=1)))
    np.testing.assert_allclose(_variances(d, EPSILON, depth, value, True, degree), found, rtol=1e-11, atol=0.0)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_control_has_mean_zero_and_follows_the_error(d):
    rng = np.random.default_rng(5)
    wide = 2.0
    sigma = mean_field_deviations(wide, 3)[-1]
    controls, errors = [], []
    for _ in range(400):
        z = rng.standard_normal((100, d))
        controls.append(response_control(z, wide, (3,))[0])
        (x,) = interacting_tokens(z, wide, (3,))
        errors.append(np.sum((x - sigma * z) ** 2))
    assert abs(np.mean(controls)) < 4.5 * np.std(controls) / 20.0
    assert np.std(np.subtract(errors, controls)) < 0.6 * np.std(errors)


def test_refusals():
    z = np.array([[0.5], [-0.5]])
    with pytest.raises(ValueError, match="value: expected a number from -1 to 1"):
        interacting_tokens(z, 1.0, (1,), value=1.5)
    with pytest.raises(ValueError, match="depths: expected rising numbers"):
        linear_displacements(z, 1.0, (2, 1))
    with pytest.raises(TypeError, match="depths: expected a sequence of integers"):
        response_control(z, 1.0, 3)


def test_a_loose_certificate_is_refused():
    with pytest.raises(ArithmeticError, match="certificate"):
        _distance(np.array([[0.1], [0.7]]), np.array([[0.3], [0.35]]), 1e-25)
