"""The linear response of n tokens, against the same equation on a grid, quadrature and simulated tokens."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad, solve_ivp
from scipy.stats import norm

from theory.distance import w1_to_normal
from theory.evidence import Interval, ball
from theory.evidence.enclosure import hull, precision
from theory.particles import Overlap, SoftmaxField, flow
from theory.particles.mean_field import chaos, linear_displacement, mean_field_deviation, tagged_variance
from theory.particles.studies.chaos import SURE, allowed

ALPHA, TIME = 0.25, 1.0
Array = NDArray[np.float64]


def on_a_grid(d: int, order: int, degree: int, *, feedback: bool) -> float:
    """The variance from the equation at the nodes of a Gauss-Hermite rule, one run for every monomial of the draw."""
    axis, mass = np.polynomial.hermite_e.hermegauss(order)
    x = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1).reshape(-1, d)
    w = np.prod(np.meshgrid(*[mass / mass.sum()] * d, indexing="ij"), axis=0).ravel()
    total = 0.0
    for powers in itertools.product(range(degree + 1), repeat=d):
        if not 0 < sum(powers) <= degree:
            continue
        factor = math.prod(math.factorial(k) for k in powers)

        def velocity(t: float, state: Array, powers: tuple[int, ...] = powers, factor: int = factor) -> Array:
            xi = state.reshape(x.shape)
            variance = 1.0 / (1.0 + 2.0 * ALPHA * t)
            p = -ALPHA * variance * x
            source = np.empty_like(x)
            for a in range(d):
                lowered = [k - (b == a) for b, k in enumerate(powers)]
                source[:, a] = powers[a] * np.prod([p[:, b] ** max(k, 0) for b, k in enumerate(lowered)], axis=0)
            moving = -ALPHA * variance * xi + math.sqrt(variance) * source / factor
            if feedback:  # the mean over z of Xi(z) + (z - p) <p, Xi(z)>, with the weights exp(<p, z> - |p|^2 / 2)
                tilted = w * np.exp(p @ x.T - 0.5 * (p * p).sum(axis=1, keepdims=True))
                along = tilted * (p @ xi.T)
                moving += tilted @ xi + along @ x - along.sum(axis=1, keepdims=True) * p
            return moving.ravel()

        end = solve_ivp(velocity, (0.0, TIME), np.zeros(x.size), rtol=1e-9, atol=1e-12).y[:, -1].reshape(x.shape)
        total += factor * float(w @ (end**2).sum(axis=1))
    return total


@pytest.mark.parametrize("feedback", [True, False])
@pytest.mark.parametrize(("d", "order", "degree", "rtol"), [(1, 24, 12, 1e-8), (2, 9, 5, 2e-4)])
def test_variance_is_that_of_the_equation_on_a_grid(
    d: int, order: int, degree: int, rtol: float, feedback: bool
) -> None:
    seen = tagged_variance(d, ALPHA, TIME, feedback=feedback)
    assert seen.mid == pytest.approx(on_a_grid(d, order, degree, feedback=feedback), rel=rtol, abs=0.0)
    assert seen.width < 1e-10


@pytest.mark.parametrize("d", [1, 3, 6])
def test_variance_of_a_short_time_is_that_of_one_output(d: int) -> None:
    tilt = 2.0 * ALPHA**2
    time = 1e-4
    expected = (1.0 - tilt) ** (-d / 2) * (d + d * ALPHA**2 / (1.0 - tilt))
    assert tagged_variance(d, ALPHA, time).mid / time**2 == pytest.approx(expected, rel=3e-4, abs=0.0)


@pytest.mark.parametrize(("d", "alpha"), [(1, 0.5), (3, 0.6), (6, 0.375)])
def test_degrees_that_are_left_out_are_in_the_width(d: int, alpha: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of eight degrees in place of 24 the width is mostly what is left out, and the truth takes a third of it."""
    fine = tagged_variance(d, alpha, 0.05).mid
    monkeypatch.setattr(chaos, "DEGREE", 8)
    chaos._tagged_variance.cache_clear()
    coarse = tagged_variance(d, alpha, 0.05)
    chaos._tagged_variance.cache_clear()
    assert 0.3 < (fine - coarse.mid) / (coarse.width / 2.0) <= 1.0


def test_tokens_follow_the_linear_response() -> None:
    start = np.random.default_rng(7).normal(size=(3000, 1))
    end = flow(SoftmaxField(Overlap(-ALPHA)), start, [0.0, TIME], rtol=1e-7, atol=1e-9).last
    off = end - mean_field_deviation(ALPHA, TIME) * start
    rest = off - linear_displacement(start, ALPHA, TIME)
    assert float(np.abs(rest).max()) < 0.01
    assert float((rest**2).mean()) < 1e-3 * float((off**2).mean())


def test_response_without_feedback_is_an_integral() -> None:
    z = np.random.default_rng(3).normal(size=(40, 1))

    def velocity(t: float, xi: Array) -> Array:
        variance = 1.0 / (1.0 + 2.0 * ALPHA * t)
        p = -ALPHA * variance * z
        drawn = ((z.T - p) * np.exp(p * z.T - 0.5 * p * p)).mean(axis=1)
        return -ALPHA * variance * xi + math.sqrt(variance) * drawn

    expected = solve_ivp(velocity, (0.0, TIME), np.zeros(40), rtol=1e-10, atol=1e-13).y[:, -1]
    seen = linear_displacement(z, ALPHA, TIME, feedback=False)
    assert seen.shape == (40, 1)
    np.testing.assert_allclose(seen[:, 0], expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("n", [1, 2, 50])
def test_distance_to_a_normal_law(n: int) -> None:
    cloud = np.random.default_rng(n).normal(size=(n, 1))
    s = 0.7
    edges = [-12.0, *np.sort(cloud[:, 0]).tolist(), 12.0]
    parts = [
        quad(lambda x, k=k: abs(k / n - norm.cdf(x / s)), a, b, limit=200)[0]
        for k, (a, b) in enumerate(itertools.pairwise(edges))
    ]
    seen = w1_to_normal(cloud, s)
    assert seen.mid == pytest.approx(sum(parts), rel=1e-6, abs=0.0)
    assert seen.width < 1e-10


def test_spread_is_the_root_of_the_riccati_solution() -> None:
    path = flow(lambda v: -2.0 * ALPHA * v * v, 1.0, [0.0, TIME])
    assert mean_field_deviation(ALPHA, TIME) ** 2 == pytest.approx(float(path.last), rel=1e-10, abs=0.0)


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="alpha: expected less than"):
        tagged_variance(1, 0.8, 1.0)
    with pytest.raises(ValueError, match="dim"):
        tagged_variance(0, ALPHA, TIME)
    with pytest.raises(ValueError, match="time"):
        mean_field_deviation(ALPHA, 0.0)
    with pytest.raises(ValueError, match="start"):
        linear_displacement([[1.0, 2.0]], ALPHA, TIME)
    with pytest.raises(ValueError, match="cloud"):
        w1_to_normal([[1.0, 2.0]], 1.0)
    with pytest.raises(ValueError, match="deviation"):
        w1_to_normal([[1.0]], 0.0)


def test_a_distance_has_an_allowance_that_its_certificate_keeps():
    assert allowed(Interval.within(0.3, 1e-13)) == SURE
    with pytest.raises(ArithmeticError, match="certificate"):
        allowed(Interval.within(0.3, SURE))


def test_distance_to_a_normal_law_covers_its_rounding() -> None:
    """Against the same sum in balls: the width is what the sum of n parts may lose, and not a thousand times more."""
    cloud = np.random.default_rng(5).normal(size=(400, 1)) * 30.0
    seen = w1_to_normal(cloud, 1.0)
    with precision():
        z = [ball(x) for x in np.sort(cloud[:, 0]).tolist()]
        half = ball(0.5)
        pi = ball(0).pi()

        def under(x: Any) -> Any:
            return x * (1 + (x * half.sqrt()).erf()) / 2 + (-x * x / 2).exp() / (2 * pi).sqrt()

        total = under(z[0]) + under(-z[-1])
        for k, (a, b) in enumerate(itertools.pairwise(z), start=1):
            level = ball(k) / len(z)
            crossing = min(max(float(norm.ppf(k / len(z))), float(a.mid())), float(b.mid()))
            middle = under(ball(crossing))
            total += level * (2 * ball(crossing) - a - b) - 2 * middle + under(a) + under(b)
    truth = hull(total)
    assert abs(seen.mid - truth.mid) <= seen.width / 2.0
    assert seen.width / 2.0 < 1e6 * abs(seen.mid - truth.mid)
