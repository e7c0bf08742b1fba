"""Quantiles, cross-ratios and distances to consensus against complex numbers, quadrature and transport."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from theory.evidence import stream
from theory.particles import CircleField
from theory.particles.exact import (
    cross_ratio_rates,
    cross_ratios,
    distance_to_consensus,
    mean_overlap,
    poisson_quantiles,
    rate_of_approach,
)


@pytest.mark.parametrize("r", [0.0, 0.3, 0.9])
def test_quantiles_split_the_mass_of_the_kernel_evenly(r):
    n = 7
    angles = poisson_quantiles(n, r)[:, 0]

    def density(x):
        return (1 - r * r) / (1 - 2 * r * math.cos(x) + r * r) / (2 * math.pi)

    for j, angle in enumerate(angles):
        below, _ = quad(density, -math.pi, angle, epsabs=1e-12)
        assert below == pytest.approx((j + 0.5) / n, rel=0.0, abs=1e-10)
    assert np.abs(angles + angles[::-1]).max() <= 1e-14


def test_cross_ratios_are_those_of_points_of_the_circle():
    angles = stream("tests.solvable", 0).uniform(-math.pi, math.pi, (6, 1))
    z = np.exp(1j * angles[:, 0])
    wanted = (z[0] - z[2]) * (z[1] - z[3:]) / ((z[0] - z[3:]) * (z[1] - z[2]))
    assert np.abs(wanted.imag).max() <= 1e-13
    assert np.abs(cross_ratios(angles) / wanted.real - 1.0).max() <= 1e-12


def test_rates_are_derivatives():
    rng = stream("tests.solvable", 1)
    angles = rng.uniform(-3.0, 3.0, (6, 1))
    moving = rng.normal(size=(6, 1))
    h = 1e-6
    ends = [np.log(np.abs(cross_ratios(angles + s * h * moving))) for s in (1, -1)]
    assert np.abs((ends[0] - ends[1]) / (2 * h) - cross_ratio_rates(angles, moving)).max() <= 1e-6
    logs = [math.log(distance_to_consensus(angles + s * h * moving)) for s in (1, -1)]
    assert rate_of_approach(angles, moving) == pytest.approx((logs[0] - logs[1]) / (2 * h), rel=1e-7, abs=0.0)


def test_distance_is_the_mean_square_of_chords():
    angles = stream("tests.solvable", 2).uniform(-3.0, 3.0, (9, 1))
    chords = np.abs(np.exp(1j * angles) - 1.0)
    assert distance_to_consensus(angles) == pytest.approx(math.sqrt((chords**2).mean()), rel=1e-14, abs=0.0)
    assert mean_overlap(angles) == pytest.approx(np.exp(1j * angles).mean().real, rel=1e-13, abs=0.0)
    assert distance_to_consensus([[1e-9]]) == pytest.approx(1e-9, rel=1e-15, abs=0.0)


def test_two_tokens_approach_each_other_as_their_tangent_says():
    angles = np.array([[0.4], [-0.4]])
    assert rate_of_approach(angles, CircleField(0.0)(angles)) == pytest.approx(
        -(math.cos(0.2) ** 2) * math.cos(0.4), rel=1e-14, abs=0
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: poisson_quantiles(3, 1.0), "radius: expected a number in"),
        (lambda: poisson_quantiles(0, 0.5), "n: expected an integer of at least 1"),
        (lambda: cross_ratios([[0.0], [1.0], [2.0]]), "theta: expected at least four angles"),
        (lambda: cross_ratios([[0.0], [1.0], [1.0], [2.0]]), "theta: expected distinct angles"),
        (lambda: cross_ratios([0.0, 1.0, 2.0, 3.0]), "theta: expected shape"),
        (lambda: cross_ratio_rates([[0.0], [1.0], [2.0], [3.0]], [[1.0]]), "velocity: expected shape"),
        (lambda: rate_of_approach([[0.0]], [[1.0]]), "theta: expected tokens away"),
        (lambda: rate_of_approach([[1.0]], [[1.0], [2.0]]), "velocity: expected shape"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
