"""Witnesses of clouds: they keep balls, norms and lengths, and do not see rounding."""

import math

import numpy as np
import pytest

from theory.lipschitz.search.rounded import round_displacement, round_form, round_points, round_values


def test_what_vanishes_beside_the_largest_is_zero():
    np.testing.assert_array_equal(round_values(np.array([1.0, -1e-9, 1e-3, 0.0])) == 0.0, [False, True, False, True])


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_points_keep_their_ball(dim):
    points = np.random.default_rng(0).normal(size=(200, dim))
    lengths = np.linalg.norm(points, axis=1)
    points *= (np.where(np.arange(200) < 100, 3.0, 2.0 * lengths / lengths.max()) / lengths)[:, np.newaxis]
    near = round_points(points, 3.0)
    found = np.linalg.norm(near, axis=1)
    assert found.max() <= 3.0 * (1.0 + 1e-15)
    np.testing.assert_allclose(found[:100], 3.0, rtol=1e-15, atol=0.0)
    assert np.linalg.norm(near - points, axis=1).max() <= 3.0 * 2.0**-11
    for seed in range(3):
        moved = points * (1.0 + 2.0**-51 * np.random.default_rng(seed).uniform(-1, 1, points.shape))
        np.testing.assert_array_equal(round_points(moved, 3.0), near)


def test_without_a_ball_points_have_few_bits():
    points = np.random.default_rng(1).normal(size=(20, 2))
    np.testing.assert_array_equal(round_points(points, None), round_values(points))


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_forms_keep_their_norm(dim):
    for seed in range(50):
        form = np.random.default_rng(seed).normal(size=(dim, dim))
        form *= 0.3 / np.linalg.norm(form, 2)
        near = round_form(form, 0.3)
        assert np.linalg.norm(near, 2) <= 0.3 * (1.0 + 1e-15)
        assert np.abs(near - form).max() <= 0.3 * (dim + 1) * 2.0**-24


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_displacements_have_no_size_and_no_sign(p):
    masses = np.array([1e-12, 0.3, 0.7])
    found = np.array([[1e6, 1.0], [3.0, -2.0], [1e-9, 1.0]])
    near = round_displacement(found, masses, p)
    for factor in (-1.0, 1e-5, 1.0 + 1e-14):
        np.testing.assert_array_equal(round_displacement(factor * found, masses, p), near)
    adds = masses[:, np.newaxis] ** (1.0 / p) * np.abs(found)
    still = adds < 2.0**-20 * adds.max()
    assert still.any()
    assert not near[still].any()
    np.testing.assert_allclose((near / near[1, 0])[~still], (found / found[1, 0])[~still], rtol=2.0**-10, atol=0.0)
    exact = found / np.linalg.norm(found, axis=1).max()
    np.testing.assert_allclose(np.abs(near)[~still], np.abs(exact)[~still], rtol=2.0**-10, atol=0.0)
