"""Orders of the schemes for noise and what their samples look like, on linear equations and walks with closed forms.

Mean and covariance of a linear equation have closed recursions, in balls; samples are held against those.
"""

import math

import numpy as np
import pytest

from theory.evidence import Interval, ball, batch_mean, order, stream
from theory.evidence.enclosure import balls, hull
from theory.evidence.quadrature import integral_over
from theory.evidence.roundoff import gamma
from theory.particles import Diffusion, Noise, sample
from theory.particles.dynamics import EULER_MARUYAMA, GEODESIC, PLATEN, PROJECTED

FORM = np.array([[-1.0, 1.0], [0.0, -1.0]])
SIGMA = 2.0
START = np.array([1.0, 2.0])
KEY = Noise(1, 2)  # of no consequence where increments are given
FLAT, ROUND = (EULER_MARUYAMA, PLATEN), (GEODESIC, PROJECTED)
STEPS = (8, 16, 32, 64, 128)


def named(schemes):
    return pytest.mark.parametrize("scheme", schemes, ids=lambda s: s.name)


def meets(one, other):
    """Tell whether two intervals may hold the same number."""
    return one.lo <= other.hi and other.lo <= one.hi


def linear(form):
    return lambda x: x @ form.T


def one(value=1.0):
    return ball(value)


def read_off(scheme, form, step):
    """The matrices of the affine step x -> M x + N dW, as the code makes it; exact, for all numbers are dyadic."""
    stepper = Diffusion(linear(form), SIGMA, step, KEY, scheme)
    unit = np.eye(form.shape[0])
    none = np.zeros(form.shape)
    return balls(stepper.moved(unit, none).T), balls(stepper.moved(none, unit).T)


def recursion(m, n, step, steps):
    """Mean and covariance after so many steps from START, without spread at first."""
    mean, cov = balls(START), balls(np.zeros(m.shape))
    fresh = n @ n.T * one(step)
    for _ in range(steps):
        mean, cov = m @ mean, m @ cov @ m.T + fresh
    return mean, cov


def exact_moments(t):
    """Mean and covariance at time t: e^(At) = e^(-t) [[1, t], [0, 1]], and the integral of e^(As) e^(A's) sigma^2."""
    t = one(t)
    decay = (-t).exp()
    first, second, third = (1 - k * decay**2 for k in (one(), 1 + 2 * t, 1 + 2 * t + 2 * t**2))
    mean = np.array([(START[0] + t * START[1]) * decay, START[1] * decay], dtype=object)
    cov = np.array([[first / 2 + third / 4, second / 4], [second / 4, first / 2]], dtype=object)
    return mean, cov * one(SIGMA) ** 2


@named(FLAT)
def test_weak_order_of_mean_and_covariance(scheme):
    mean, cov = exact_moments(2.0)  # at time one the first order of an entry happens to vanish
    errors = {}
    for steps in STEPS:
        found, spread = recursion(*read_off(scheme, FORM, 1.0 / steps), 1.0 / steps, 2 * steps)
        for k in range(2):
            errors.setdefault(f"mean {k}", []).append(hull(found[k] - mean[k]))
        for i, j in ((0, 0), (0, 1), (1, 1)):
            errors.setdefault(f"covariance {i}{j}", []).append(hull(spread[i, j] - cov[i, j]))
    for part, values in errors.items():
        seen = order(values)
        assert scheme.weak in seen, (part, seen)
        assert seen.width < 0.25, (part, seen)


@named(FLAT)
def test_strong_order_is_one(scheme):
    errors = []
    for steps in (2 * k for k in STEPS):
        m, n = (part.item() for part in read_off(scheme, -np.eye(1), 1.0 / steps))
        h, sigma = one(1.0 / steps), one(SIGMA)
        decay = (-h).exp()
        fresh = sigma**2 * (1 - decay**2) / 2  # the variance of the exact increment
        shared = sigma * n * (1 - decay)  # its covariance with the scheme's
        # E e^2, E e X, E X^2 for the error e = X_h - X
        square = 0 * h
        cross = 0 * h
        own = one()
        for _ in range(steps):
            gap, mixed = m - decay, shared - fresh
            square = m**2 * square + 2 * m * gap * cross + gap**2 * own + n**2 * h - 2 * shared + fresh
            cross = decay * (m * cross + gap * own) + mixed
            own = decay**2 * own + fresh
        errors.append(hull(square).sqrt())
    seen = order(errors)
    assert 1 in seen, seen
    assert seen.width < 0.05, seen


@named(FLAT)
def test_samples_have_the_moments_of_the_recursion(scheme):
    rows, step = 102_400, 0.5
    rng = stream("tests.stochastic.samples", FLAT.index(scheme))
    states = sample(
        Diffusion(linear(FORM), SIGMA, step, Noise.drawn(rng), scheme), np.broadcast_to(START, (rows, 2)), steps=2
    )
    mean, cov = recursion(*read_off(scheme, FORM, step), step, 2)
    for k in range(2):
        seen = batch_mean(states[:, k], among=10)
        assert meets(seen, hull(mean[k])), k
        assert seen.width < 0.2, k
    for i, j in ((0, 0), (0, 1), (1, 1)):
        seen = batch_mean(states[:, i] * states[:, j], among=10)
        assert meets(seen, hull(mean[i] * mean[j] + cov[i, j])), (i, j)
        assert seen.width < 0.6, (i, j)


def overlap(scheme, angle):
    """How far a step by that length along a tangent keeps to its start, as it is printed."""
    return angle.cos() if scheme is GEODESIC else (1 + angle**2) ** -one(0.5)


def shrinking(scheme, step, sigma):
    """The mean overlap after one step in three dimensions: tangent increments have the length of two normal numbers."""
    size = one(sigma) * one(step).sqrt()

    def density(r):
        return r * (-(r**2) / 2).exp()

    tail = hull((-(one(12.0) ** 2) / 2).exp())  # an overlap is at most one
    return hull(integral_over(lambda r: overlap(scheme, size * r) * density(r), 0.0, 12.0)) + Interval(
        -tail.hi, tail.hi
    )


@named(ROUND)
@pytest.mark.parametrize("length", [0.0, 0.5, 1.0, 3.0])
def test_a_step_on_the_sphere_keeps_the_printed_overlap(scheme, length):
    kick = np.array([[0.6 * length, 0.8 * length, 4.0]])  # the normal part has no effect
    moved = float(Diffusion(None, 0.5, 1.0, KEY, scheme).moved(np.array([[0.0, 0.0, 1.0]]), kick)[0, 2])
    assert meets(Interval.within(moved, gamma(24)), hull(overlap(scheme, one(0.5) * one(length))))


@named(ROUND)
def test_walks_on_the_sphere_have_weak_order_one(scheme):
    sigma = 0.5
    limit = hull((-(one(sigma) ** 2)).exp())  # Brownian motion loses its overlap at the rate sigma^2 (d - 1) / 2
    seen = order([shrinking(scheme, 1.0 / k, sigma) ** k - limit for k in STEPS])
    assert 1 in seen, seen
    assert seen.width < 0.1, seen


@named(ROUND)
def test_sampled_walks_lose_the_overlap_of_their_steps(scheme):
    rng = stream("tests.stochastic.walks", ROUND.index(scheme))
    start = np.broadcast_to([0.6, 0.0, 0.8], (25_600, 3))
    stepper = Diffusion(None, 1.0, 0.25, Noise.drawn(rng), scheme)
    seen = batch_mean(sample(stepper, start, steps=4) @ start[0], among=2) + Interval.within(0.0, math.ulp(64.0))
    assert meets(seen, shrinking(scheme, 0.25, 1.0) ** 4), seen
    assert seen.width < 0.05, seen
