"""A moving measure against the definition, quantiles and distances of SciPy and closed forms, and multiprecision."""

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from theory.diffusion import studies
from theory.diffusion.layers import line_tokens
from theory.diffusion.moving import (
    agreed_mean,
    lattice_growth,
    mixture_quantiles,
    move_tokens,
    plane_tokens,
    rearranged_distance,
)
from theory.diffusion.moving.settings import MOVED_DEPTH, MOVED_MIXTURE, MOVED_TIME

MIXTURE = ((-1.0, 0.5, 2.0), (0.75, 0.5, 0.625), (0.25, 0.5, 0.25))


def averaged(values, places, epsilon, masses):
    squares = ((places[:, np.newaxis] - places) ** 2).sum(axis=-1)
    weights = masses * np.exp(-squares / (2.0 * epsilon))
    return weights @ values / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("step", [1.0, 0.25, 1.5])
@pytest.mark.parametrize("kept", [False, True])
def test_layers_are_the_definition(step, kept):
    rng = np.random.default_rng(0)
    start = rng.normal(size=(7, 2))
    masses = rng.uniform(0.5, 1.5, 7)
    x = start
    found = list(move_tokens(start, 0.3, 3, weights=masses, step=step, kept=kept))
    assert len(found) == 4
    for cloud in found:
        np.testing.assert_allclose(cloud, x, rtol=0, atol=1e-13)
        x = (1.0 - step) * x + step * averaged(x, start if kept else x, 0.3, masses)


def test_quantiles_against_scipy():
    levels = np.array([1e-9, 0.1, 0.5, 0.9, 1.0 - 1e-6])
    one = mixture_quantiles([0.5], [4.0], [3.0], levels)
    np.testing.assert_allclose(one, stats.norm.ppf(levels, 0.5, 2.0), rtol=0, atol=1e-8)
    found = mixture_quantiles(*MIXTURE, levels)
    means, variances, shares = (np.array(row) for row in MIXTURE)
    below = stats.norm.cdf(found[:, np.newaxis], means, np.sqrt(variances)) @ shares
    np.testing.assert_allclose(below, levels, rtol=1e-7, atol=1e-15)


def test_levels_are_inside():
    with pytest.raises(ValueError, match="levels: expected numbers between 0 and 1"):
        mixture_quantiles(*MIXTURE, [0.0, 0.5])


@pytest.mark.parametrize("mean", [0.0, 0.1, 0.2, 0.3])
@pytest.mark.parametrize("step", [0.5, 0.2, 0.05])
def test_a_distance_holds_that_of_two_normal_laws(mean, step):
    start = ((mean,), (1.0,), (1.0,))
    tokens, masses = line_tokens(*start, step)
    found = rearranged_distance(np.repeat(tokens, 2, axis=1), masses, start, ((mean,), (0.25,), (2.0,)))
    exact = 0.5 * math.sqrt(2.0 / math.pi)
    assert found.lo <= exact <= found.hi
    assert found.width < 0.5 * step**2


@pytest.mark.parametrize("shift", [0.5, 0.4, 0.1])
@pytest.mark.parametrize("step", [0.5, 0.37, 0.2, 0.05])
def test_a_distance_with_a_corner_anywhere(shift, step):
    start = ((0.0,), (1.0,), (1.0,))
    tokens, masses = line_tokens(*start, step)
    found = rearranged_distance(np.repeat(tokens, 2, axis=1), masses, start, ((shift,), (0.25,), (1.0,)))
    z = 2.0 * shift  # the difference is half of x less this
    exact = 0.5 * (2.0 * stats.norm.pdf(z) + z * (2.0 * stats.norm.cdf(z) - 1.0))
    assert found.lo <= exact <= found.hi
    assert found.width < 0.15 * step**2


def test_tokens_that_have_moved_have_another_distance():
    start = ((0.3,), (1.0,), (1.0,))
    tokens, masses = line_tokens(*start, 0.02)
    moved = np.concatenate([tokens, tokens + 0.5], axis=1)
    found = rearranged_distance(moved, masses, start, start)
    assert abs(found - 0.5).hi < 1e-9


def test_tokens_in_the_plane_have_the_moments():
    means = np.array([[-0.5, 0.0], [0.5, 1.0]])
    covariances = np.array([[[1.0, 0.25], [0.25, 0.5]], [[0.5, -0.25], [-0.25, 0.75]]])
    shares = np.array([3.0, 1.0])
    tokens, masses = plane_tokens(means, covariances, shares, 0.25, least=1e-14)
    law = shares / shares.sum()
    np.testing.assert_allclose(masses.sum(), 1.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(masses @ tokens, law @ means, rtol=0, atol=1e-9)
    second = np.einsum("k,kij->ij", law, covariances + means[:, :, np.newaxis] * means[:, np.newaxis])
    np.testing.assert_allclose((tokens.T * masses) @ tokens, second, rtol=0, atol=1e-9)


def test_tokens_in_the_plane_are_refused():
    with pytest.raises(ValueError, match="covariances: expected symmetric positive definite"):
        plane_tokens([[0.0, 0.0]], [[[1.0, 2.0], [2.0, 1.0]]], [1.0], 0.5)
    with pytest.raises(ValueError, match="step, means, covariances: expected fewer tokens"):
        plane_tokens([[0.0, 0.0]], [[[1.0, 0.0], [0.0, 1.0]]], [1.0], 1e-4)


@pytest.mark.parametrize(("period", "turns", "spacing"), [(2, 1, 2.0), (5, 2, 1.25), (6, 1, 0.5)])
@pytest.mark.parametrize("kept", [False, True])
def test_growth_of_a_wave_in_many_digits(period, turns, spacing, kept):
    found = lattice_growth(period, turns, spacing, 0.125, kept=kept)
    with mpmath.workdps(30):
        a = mpmath.mpf(spacing)
        reach = math.ceil(16 / spacing)

        def place(j, size):
            return a * (j + size * mpmath.cos(2 * mpmath.pi * turns * (j % period) / period))

        size = mpmath.mpf("0.125")
        top = bottom = mpmath.mpf(0)
        for i in range(period):
            wave = mpmath.cos(2 * mpmath.pi * turns * i / period)
            around = range(i - reach, i + reach + 1)
            seen = 0 if kept else size
            weights = [mpmath.exp(-((place(i, seen) - place(j, seen)) ** 2) / 2) for j in around]
            read = sum(w * place(j, size) for w, j in zip(weights, around, strict=True)) / sum(weights)
            top += wave * (read - a * i)
            bottom += wave * (place(i, size) - a * i)
        exact = float(top / bottom)
    assert found.lo - 1e-13 <= exact <= found.hi + 1e-13
    assert found.width < 1e-8


def test_two_computations_that_agree_are_off_by_rounding():
    found = agreed_mean(1.0, 1.0, size=2.0, layers=10)
    assert found.width > 2.0**-52 * 10
    apart = agreed_mean(1.0, 1.25, size=2.0, layers=10)
    assert apart.lo <= 0.25 <= apart.hi


def test_bad_input():
    with pytest.raises(ValueError, match="step: expected a number between"):
        move_tokens([[0.0], [1.0]], 0.5, 1, step=3.0)
    with pytest.raises(ValueError, match="turns: expected at most 4"):
        lattice_growth(4, 5, 1.0, 0.1)


def test_places_of_the_study_hold_those_in_long_double():
    table = studies.moving(scale="quick", root=0).where(name="place")
    levels = np.array(table.levels("label"))
    everywhere = (np.arange(600) + 0.5) / 600
    x = mixture_quantiles(*MOVED_MIXTURE, everywhere).astype(np.longdouble)
    shown = np.searchsorted(everywhere, levels)
    widths = []
    for layer in range(MOVED_DEPTH + 1):
        own = table.where(layer=layer)
        found = own.intervals("value")
        assert own["label"].tolist() == levels.tolist()
        for interval, place in zip(found, x[shown], strict=True):
            assert interval.lo <= place <= interval.hi
        widths.append(min(interval.width for interval in found))
        x = averaged(x[:, np.newaxis], x[:, np.newaxis], MOVED_TIME / MOVED_DEPTH, np.ones(600))[:, 0]
    assert min(widths) > 2.0**-45  # no token agrees with its second run by luck
