"""Growth rates against SciPy's Bessel functions and the field itself; tokens at quantiles; zonal means."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy import integrate, special

from theory.evidence.enclosure import ball, hull, precision
from theory.particles import CircleField, on_sphere
from theory.particles.mean_field import (
    cosine_quantiles,
    crossover_beta,
    fourier_mode,
    growth_rates,
    mode_growth,
    zonal_means,
    zonal_polynomials,
)


def test_polynomials_are_gegenbauers():
    u = np.linspace(-1.0, 1.0, 21)
    for dim in (3, 4, 7):
        alpha = 0.5 * dim - 1.0
        for degree, values in enumerate(zonal_polynomials(u, 6, dim)):
            expected = special.eval_gegenbauer(degree, alpha, u) / special.eval_gegenbauer(degree, alpha, 1.0)
            np.testing.assert_allclose(values, expected, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(zonal_polynomials(u, 5, 2)[5], np.cos(5 * np.arccos(u)), rtol=0.0, atol=1e-14)
    assert [Fraction(p) for p in zonal_polynomials(Fraction(1), 4, 5)] == [1] * 5


def over_circle(function, dim):
    return integrate.quad(lambda t: function(np.cos(t)) * np.sin(t) ** (dim - 2), 0, np.pi, epsabs=1e-13)[0]


def test_means_enclose_scipys_quadrature():
    with precision():
        for dim in (2, 3, 5):
            found = zonal_means(lambda u: (2 * u).exp() * u, 4, dim=dim)
            mass = over_circle(np.ones_like, dim)
            for degree in (0, 2, 4):
                part = partial(
                    lambda u, degree, dim: np.exp(2 * u) * u * zonal_polynomials(u, 4, dim)[degree], degree=degree
                )
                assert abs(hull(found[degree]).mid - over_circle(partial(part, dim=dim), dim) / mass) < 1e-12
                assert hull(found[degree]).width < 1e-15


def test_few_panels_are_wide_and_not_wrong():
    with precision():
        sharp, blunt = (hull(zonal_means(lambda u: (40 * u).exp(), 0, dim=2, panels=k)[0]) for k in (64, 2))
    assert special.iv(0, 40.0) * (1 - 1e-12) < sharp.hi
    assert blunt.lo <= sharp.lo <= sharp.hi <= blunt.hi
    assert blunt.width > sharp.width


def test_rates_are_what_the_field_does_to_a_harmonic_on_the_sphere():
    """A finite difference of the divergence of the field of the law (1 + h) times uniform, in d = 3."""
    beta, degree = 2.0, 2
    u, masses = special.roots_legendre(40)
    turns = 2.0 * np.pi * np.arange(40) / 40
    across = np.sqrt(1.0 - u * u)[:, np.newaxis]
    circles = [across * np.cos(turns), across * np.sin(turns), np.repeat(u[:, np.newaxis], 40, axis=1)]
    points = np.stack([part.ravel() for part in circles], axis=1)
    law = np.repeat(masses, 40) / 80.0 * (1.0 + special.eval_legendre(degree, points[:, 2]))
    small = 1e-4
    around = small * np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]]) + [0, 0, 1.0]
    around /= np.linalg.norm(around, axis=1, keepdims=True)
    field = on_sphere(beta, normalised=False, weights=np.append(law, np.full(4, 1e-300)))
    v = field(np.concatenate([points, around]))[-4:]
    divergence = (v[0, 0] - v[1, 0] + v[2, 1] - v[3, 1]) / (2.0 * small)
    assert abs(-divergence - growth_rates(beta, degree, dim=3, normalised=False)[-1].mid) < 1e-6


def test_rates_and_ties_against_bessel_functions():
    for beta in (0.3, 4.0):
        found = growth_rates(beta, 5)
        for degree, rate in enumerate(found, start=1):
            expected = degree**2 * special.iv(degree, beta) / (beta * special.iv(0, beta))
            assert abs(rate.mid - expected) < 1e-13
    at = crossover_beta(3).mid
    assert abs(16 * special.iv(4, at) / (9 * special.iv(3, at)) - 1.0) < 1e-9
    at = crossover_beta(1, dim=3).mid
    assert abs(3 * special.ive(2.5, at) / special.ive(1.5, at) - 1.0) < 1e-9


def test_quantiles_have_their_law_and_modes_their_size():
    theta = cosine_quantiles(96, 3, 0.3)
    np.testing.assert_allclose(
        theta[:, 0] + 0.1 * np.sin(3 * theta[:, 0]), 2 * np.pi * np.arange(96) / 96, rtol=0.0, atol=1e-14
    )
    assert abs(fourier_mode(theta, 3) - 0.15) < 1e-12
    assert abs(fourier_mode(theta, 2)) < 1e-12


def test_growth_of_a_mode_is_a_derivative():
    theta = cosine_quantiles(50, 2, 0.2)
    field = CircleField(3.0, method="dense")
    step = 1e-5
    found = mode_growth(field, theta, 2)
    ahead, behind = (np.log(abs(fourier_mode(theta + s * step * field(theta), 2))) for s in (1.0, -1.0))
    assert abs((ahead - behind) / (2 * step) - found.mid) < 1e-8
    assert found.width < 1e-8


def test_bad_input_is_refused():
    for call in (
        lambda: growth_rates(0.0, 3),
        lambda: growth_rates(1.0, 0),
        lambda: growth_rates(1.0, 3, dim=1),
        lambda: crossover_beta(0),
        lambda: cosine_quantiles(10, 1, 1.0),
        lambda: cosine_quantiles(10, 0, 0.5),
        lambda: fourier_mode(np.zeros(3), 1),
        lambda: mode_growth(CircleField(1.0, weights=np.ones(3)), np.zeros((3, 1)), 1),
        lambda: zonal_polynomials(0.5, -1, 3),
        lambda: zonal_means(lambda u: u, 1, panels=0),
    ):
        with pytest.raises(ValueError, match="expected"):
            call()


def test_quantiles_near_one_are_right_or_refused():
    for amplitude in (0.9, 0.99, 0.9999):
        try:
            theta = cosine_quantiles(200, 1, amplitude)[:, 0]
        except ArithmeticError:
            continue
        np.testing.assert_allclose(
            theta + amplitude * np.sin(theta), 2 * np.pi * np.arange(200) / 200, rtol=0.0, atol=1e-12
        )


def in_balls(angles, beta, degree):
    """The growth of a mode under SA of tokens at these angles, whatever their size."""
    theta = [ball(float(angle)) for angle in angles[:, 0]]
    z, moved = [0 * theta[0]] * 2, [0 * theta[0]] * 2
    for here in theta:
        weights = [(ball(beta) * (there - here).cos()).exp() for there in theta]
        pulls = [w * (there - here).sin() for w, there in zip(weights, theta, strict=True)]
        speed = sum(pulls) / sum(weights)
        turn = ((degree * here).cos(), (degree * here).sin())
        z = [z[0] + turn[0], z[1] + turn[1]]
        moved = [moved[0] - degree * turn[1] * speed, moved[1] + degree * turn[0] * speed]
    return (z[0] * moved[0] + z[1] * moved[1]) / (z[0] ** 2 + z[1] ** 2)


class Blurred(CircleField):
    """Velocities off by as much as two coordinates of accuracy allow, each the way that a mode feels it most."""

    def __call__(self, theta):  # noqa: D102
        z = np.exp(3j * theta).mean()
        return super().__call__(theta) + 2.0 * self.accuracy * np.sign((1j * np.exp(3j * theta) / z).real)


def test_growth_of_a_mode_covers_the_accuracy_of_the_field(rng=np.random.default_rng(1)):  # noqa: B008
    used = []
    for _ in range(8):
        theta = rng.uniform(-np.pi, np.pi, size=(12, 1))
        found = mode_growth(Blurred(2.0, method="dense", accuracy=1e-4), theta, 3)
        with precision():
            used.append(abs(found.mid - hull(in_balls(theta, 2.0, 3)).mid) / (found.width / 2.0))
    assert 0.2 < max(used) <= 1.0


def test_growth_of_a_mode_covers_the_rounding_of_large_angles(rng=np.random.default_rng(2)):  # noqa: B008
    used = []
    for _ in range(16):
        theta = rng.uniform(-1e10, 1e10, size=(8, 1))
        found = mode_growth(CircleField(1e-9, method="dense"), theta, 3)
        with precision():
            used.append(abs(found.mid - hull(in_balls(theta, 1e-9, 3)).mid) / (found.width / 2.0))
    assert 0.01 < max(used) <= 1.0
