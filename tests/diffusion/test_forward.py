"""Tokens that move on the circle against the definition, Bessel functions of mpmath, and solutions in closed form."""

import mpmath
import numpy as np
import pytest

from theory.diffusion import CircleDensity
from theory.diffusion.moving import (
    CircleLayer,
    NoisyLayer,
    circle_density,
    circle_points,
    far_means,
    solve_density,
    turn_angles,
    wave_factor,
)

ANGLES = np.array([0.2, 1.1, 1.9, 3.5, 4.0, 5.7])
MASSES = np.array([1.0, 0.5, 2.0, 1.5, 0.25, 1.0])
LAW = CircleDensity([0.8, 0.0], [0.0, 0.3])


def by_hand(angles, epsilon, *, step=-1.0, alpha=0.0, sign=-1, masses=None, summed=False, among=None):
    """The layer as it is defined, in complex numbers of thirty digits."""
    with mpmath.workdps(30):
        points = [mpmath.expj(mpmath.mpf(x)) for x in angles]
        places = points if among is None else [mpmath.expj(mpmath.mpf(x)) for x in among]
        own = [mpmath.mpf(1)] * len(points) if masses is None else [mpmath.mpf(m) for m in masses]
        kernel = [[mpmath.exp(sign * abs(a - b) ** 2 / (2 * mpmath.mpf(epsilon))) for b in places] for a in places]
        smoothed = [sum(k * m for k, m in zip(row, own, strict=True)) for row in kernel]
        own = [m * q ** (-mpmath.mpf(alpha)) for m, q in zip(own, smoothed, strict=True)]
        moved = []
        for at, row in enumerate(kernel):
            weights = [k * m for k, m in zip(row, own, strict=True)]
            shift = sum(w * p for w, p in zip(weights, points, strict=True)) - sum(weights) * points[at]
            even = sum(own) * mpmath.besseli(0, 1 / mpmath.mpf(epsilon)) * mpmath.exp(-1 / mpmath.mpf(epsilon))
            shift /= even if summed else sum(weights)
            moved.append(float(mpmath.mpf(angles[at]) + mpmath.arg((points[at] + step * shift) / points[at])))
    return np.array(moved)


@pytest.mark.parametrize("masses", [None, MASSES])
@pytest.mark.parametrize(
    ("settings", "oracle"),
    [
        ({}, {}),
        ({"step": 1.0}, {"step": 1.0}),
        ({"alpha": 0.5}, {"alpha": 0.5}),
        ({"alpha": 1.0, "step": -0.5}, {"alpha": 1.0, "step": -0.5}),
        ({"rule": "sum"}, {"summed": True}),
        ({"rule": "far", "step": 0.25}, {"sign": 1, "step": 0.25}),
        ({"among": ANGLES[::-1].copy()}, {"among": ANGLES[::-1]}),
    ],
)
def test_a_layer_is_its_definition(settings, oracle, masses):
    found = CircleLayer(0.3, **settings)(ANGLES, masses)
    np.testing.assert_allclose(found, by_hand(ANGLES, 0.3, masses=masses, **oracle), rtol=0, atol=1e-12)


def test_turned_points_are_normalised():
    shifts = np.array([[0.5, -2.0], [0.25, 0.1], [-1.0, 0.5]])
    moved = np.exp(1j * ANGLES[:3]) + shifts[:, 0] + 1j * shifts[:, 1]
    found = circle_points(turn_angles(ANGLES[:3], shifts))
    np.testing.assert_allclose(found[:, 0] + 1j * found[:, 1], moved / abs(moved), rtol=0, atol=1e-14)


def test_sinkhorn_by_alternating_sums():
    points = np.exp(1j * ANGLES)
    plan = np.exp(-(np.abs(np.subtract.outer(points, points)) ** 2) / 0.6) * np.outer(MASSES, MASSES)
    for _ in range(2000):
        plan *= (MASSES / plan.sum(axis=1))[:, np.newaxis]
        plan *= MASSES / plan.sum(axis=0)
    shift = (plan / MASSES[:, np.newaxis]) @ points - points
    found = CircleLayer(0.3, rule="sinkhorn").shift(ANGLES, MASSES)
    np.testing.assert_allclose(found[:, 0] + 1j * found[:, 1], shift, rtol=0, atol=1e-12)


def test_the_head_of_the_context_is_added():
    context = np.array([0.7, 2.0, 2.1])
    points, fixed = np.exp(1j * ANGLES), np.exp(1j * context)
    weights = np.exp(-(np.abs(np.subtract.outer(points, fixed)) ** 2) / 0.6)
    own = CircleLayer(0.3).shift(ANGLES)
    moved = points - (own[:, 0] + 1j * own[:, 1]) + weights @ fixed / weights.sum(axis=1) - points
    found = CircleLayer(0.3, context=context)(ANGLES)
    np.testing.assert_allclose(found, ANGLES + np.angle(moved / points), rtol=0, atol=1e-12)


def test_quantiles_have_their_density():
    places = np.linspace(0.0, 6.0, 7)
    found = circle_density(LAW.tokens(240)[:, 0], places, modes=32)
    np.testing.assert_allclose(found, 2 * np.pi * LAW(places), rtol=0, atol=1e-9)


def test_without_noise_the_law_moves_as_its_tokens_do():
    layer, x = CircleLayer(0.25), 2 * np.pi * np.arange(240) / 240
    moved = NoisyLayer(layer, 0.0, modes=64)(2 * np.pi * LAW(x))
    tokens = circle_density(layer(LAW.tokens(480)[:, 0]), x, modes=64)
    np.testing.assert_allclose(moved, tokens, rtol=0, atol=1e-8)


def test_noise_alone_damps_waves():
    x = 2 * np.pi * np.arange(80) / 80
    found = NoisyLayer(CircleLayer(0.25, step=0.0), 1.5)(1.0 + 0.5 * np.cos(3 * x))
    np.testing.assert_allclose(found, 1.0 + 0.5 * np.exp(-1.5 * 0.25 * 9) * np.cos(3 * x), rtol=0, atol=1e-13)


def bessel_factor(frequency, epsilon, step=-1.0):
    """What a layer multiplies a small wave by, at a bandwidth."""
    with mpmath.workdps(30):
        b = 1 / mpmath.mpf(epsilon)
        ratios = [mpmath.besseli(k, b) / mpmath.besseli(0, b) for k in (1, frequency)]
        return float(1 + step * frequency**2 / b * ratios[1] / (1 + step * (ratios[0] - 1)))


@pytest.mark.parametrize(("frequency", "epsilon", "step"), [(1, 0.5, -1.0), (3, 0.25, -2.5), (8, 0.03125, 1.0)])
def test_waves_against_bessel_functions(frequency, epsilon, step):
    found = wave_factor(CircleLayer(epsilon, step=step), frequency)
    truth = bessel_factor(frequency, epsilon, step)
    assert found.lo <= truth <= found.hi
    assert found.width < 1e-6
    several = wave_factor(CircleLayer(epsilon, step=step), frequency, layers=3)
    assert several.lo <= truth**3 <= several.hi


@pytest.mark.parametrize("size", [0.05, 0.1, 0.2])
def test_a_wave_that_is_not_small_has_its_factor_in_the_width(size):
    found = wave_factor(CircleLayer(0.25), 2, size=size)
    assert found.lo <= bessel_factor(2, 0.25) <= found.hi
    assert found.width > 1e-5


@pytest.mark.parametrize(("epsilon", "step"), [(0.25, -1.0), (0.00390625, -1000.0)])
def test_a_wave_that_rounding_sees_has_its_factor_in_the_width(epsilon, step):
    for frequency in (*range(1, 13), 24):
        found = wave_factor(CircleLayer(epsilon, step=step), frequency, size=3e-9)
        assert found.lo <= bessel_factor(frequency, epsilon, step) <= found.hi
        assert found.width < 1e-4 * abs(step) * frequency


@pytest.mark.parametrize("settings", [{"step": 900.0}, {"rule": "far", "step": 1.0}])
def test_tokens_that_cross_the_circle_have_no_factor(settings):
    with pytest.raises(ValueError, match="layer: expected one that turns tokens by less than"):
        wave_factor(CircleLayer(0.25, **settings), 3)


def test_far_means_by_hand():
    tokens = np.array([-1.0, -0.25, 0.5, 0.75])
    asked = np.array([-0.5, 0.1, 3.0])
    weights = np.exp(np.subtract.outer(asked, tokens) ** 2 / 0.5)
    expected = weights @ tokens / weights.sum(axis=1)
    found = far_means(asked[:, np.newaxis], tokens[:, np.newaxis], 0.25)[:, 0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


def contains(found, truth):
    """Whether all are enclosed."""
    return bool(((found.lo <= truth) & (truth <= found.hi)).all())


def test_the_heat_equation():
    places = 2 * np.pi * np.arange(16) / 16
    found = solve_density(lambda u, d, _: 0.5 * d(d(u)), lambda x: 1 + 0.5 * np.cos(x) - 0.25 * np.sin(3 * x), 0.4)
    truth = 1 + 0.5 * np.exp(-0.2) * np.cos(places) - 0.25 * np.exp(-1.8) * np.sin(3 * places)
    assert contains(found, truth)
    assert found.width.max() < 1e-7


def test_a_wave_that_travels_through_a_porous_medium():
    def change(u, d, x):
        t = np.arctan2((u - 2) @ np.sin(x), (u - 2) @ np.cos(x))  # the place of the crest, which is the time
        crest = x - t
        source = np.sin(crest) + (2 + np.cos(crest)) * np.cos(crest) - np.sin(crest) ** 2
        return d(u * d(u)) + source

    places = 2 * np.pi * np.arange(16) / 16
    found = solve_density(change, lambda x: 2 + np.cos(x), 0.5)
    assert contains(found, 2 + np.cos(places - 0.5))
    assert found.width.max() < 1e-5


def test_too_few_nodes_are_seen_in_the_width():
    places = 2 * np.pi * np.arange(4) / 4
    found = solve_density(lambda u, d, _: d(u), lambda x: 1 / (1.25 - np.cos(x)), 0.7, places=4)
    assert contains(found, 1 / (1.25 - np.cos(places + 0.7)))
    assert found.width.max() > 1e-4


def test_an_equation_without_a_solution_is_refused():
    with pytest.raises(ArithmeticError, match="time: expected one that"):
        solve_density(lambda u, _, __: u**2, lambda x: 1 + 0 * x, 2.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rule": "sinkhorn", "alpha": 0.5}, "alpha: expected zero"),
        ({"rule": "rows"}, "rule: expected"),
        ({"step": np.inf}, "step: expected"),
        ({"context": ANGLES * 1e7}, "context: expected at most"),
    ],
)
def test_bad_layers(settings, message):
    with pytest.raises(ValueError, match=message):
        CircleLayer(0.25, **settings)


def test_angles_and_places_that_do_not_fit():
    with pytest.raises(ValueError, match="angles: expected as many as 6"):
        CircleLayer(0.25, among=ANGLES)(ANGLES[:3])
    with pytest.raises(ValueError, match="density: expected more than 64"):
        NoisyLayer(CircleLayer(0.25), 1.0)(np.ones(64))
