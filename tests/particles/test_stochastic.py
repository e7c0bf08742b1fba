"""Noise that depends on nothing but its key and its place, and schemes against what they are printed as."""

import math

import numpy as np
import pytest

from theory.evidence import batch_mean, stream
from theory.particles import SCHEMES, SPHERE, CircleField, Diffusion, Noise, integrate, on_sphere, sample
from theory.particles.dynamics import EULER_MARUYAMA, GEODESIC, PLATEN, PROJECTED
from theory.particles.dynamics.runge_kutta import EULER, HEUN
from theory.particles.dynamics.stochastic import BLOCK

NOISE = Noise(3, 2**63 + 5)


def drift(x):
    return np.sin(x) - 0.5 * x**2


def state(scheme, rows=6):
    x = stream("tests.stochastic", 0).normal(size=(rows, 3))
    return x / np.linalg.norm(x, axis=1, keepdims=True) if scheme.space is SPHERE else x


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: s.name)
def test_bytes_do_not_depend_on_cuts_in_time(scheme):
    stepper = Diffusion(drift, 0.7, 0.1, NOISE, scheme)
    x = state(scheme)
    whole = sample(stepper, x, steps=9)
    cut = sample(stepper, sample(stepper, sample(stepper, x, steps=4), steps=0, first=4), steps=5, first=4)
    assert whole.tobytes() == cut.tobytes()


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: s.name)
def test_bytes_of_independent_rows_do_not_depend_on_cuts_in_memory(scheme):
    x = state(scheme, 2 * BLOCK + 7)
    whole = sample(Diffusion(None, 0.7, 0.1, NOISE, scheme), x, steps=2)
    parts = [
        sample(Diffusion(None, 0.7, 0.1, NOISE, scheme, above=at), x[at : at + BLOCK], steps=2)
        for at in range(0, x.shape[0], BLOCK)
    ]
    assert whole.tobytes() == np.concatenate(parts).tobytes()


def test_normal_numbers_are_normal_and_never_shared():
    found = NOISE.normals(0, 64 * 400, 2)
    assert 0.0 in batch_mean(found[:, 0])
    assert 1.0 in batch_mean(found[:, 1] ** 2)
    assert 0.0 in batch_mean(found[:, 0] * found[:, 1])
    seen = [NOISE.normals(0, BLOCK + 3, 2), NOISE.normals(1, BLOCK + 3, 2), Noise(4, 5).normals(0, BLOCK + 3, 2)]
    numbers = np.concatenate([part.ravel() for part in seen])
    assert np.unique(numbers).size == numbers.size


def test_a_key_is_drawn_from_a_stream():
    keys = {Noise.drawn(stream("tests.stochastic", case)) for case in (1, 1, 2)}
    assert len(keys) == 2


def test_steps_are_as_printed():
    x = state(EULER_MARUYAMA)
    dw = stream("tests.stochastic", 3).normal(size=(6, 3))
    h, sigma = 0.25, 0.5
    plain = x + h * drift(x) + sigma * dw
    found = Diffusion(drift, sigma, h, NOISE, EULER_MARUYAMA).moved(x, dw)
    assert np.abs(found - plain).max() <= 1e-15
    found = Diffusion(drift, sigma, h, NOISE, PLATEN).moved(x, dw)
    assert np.abs(found - (x + h * (drift(x) + drift(plain)) / 2 + sigma * dw)).max() <= 1e-15


def test_without_increments_they_are_the_methods_of_euler_and_heun():
    x = state(EULER_MARUYAMA)[:, :1]
    for scheme, method in ((EULER_MARUYAMA, EULER), (PLATEN, HEUN)):
        found = Diffusion(CircleField(2.0), 1.0, 0.2, NOISE, scheme).moved(x, np.zeros_like(x))
        assert np.abs(found - integrate(CircleField(2.0), x, step=0.2, steps=1, method=method)).max() <= 1e-15
    x = state(PROJECTED)
    found = Diffusion(on_sphere(2.0), 1.0, 0.2, NOISE, PROJECTED).moved(x, np.zeros_like(x))
    assert np.abs(found - integrate(on_sphere(2.0), x, step=0.2, steps=1, method=EULER, space=SPHERE)).max() <= 1e-15


def test_walks_on_the_sphere_follow_great_circles():
    x, kick = np.array([[1.0, 0.0, 0.0]]), np.array([[7.0, 0.3, -0.4]])
    found = Diffusion(None, 2.0, 1.0, NOISE, GEODESIC).moved(x, kick)
    wanted = [math.cos(1.0), 0.6 * math.sin(1.0), -0.8 * math.sin(1.0)]
    assert np.abs(found - wanted).max() <= 1e-15
    found = Diffusion(None, 2.0, 1.0, NOISE, PROJECTED).moved(x, kick)
    assert np.abs(found - np.array([1.0, 0.6, -0.8]) / math.sqrt(2.0)).max() <= 1e-15
    assert np.array_equal(Diffusion(None, 2.0, 1.0, NOISE, GEODESIC).moved(x, 0.0 * kick), x)


def test_rotations_of_state_and_increment_rotate_the_step():
    x = state(GEODESIC)
    dw = stream("tests.stochastic", 4).normal(size=(6, 3))
    turn, _ = np.linalg.qr(stream("tests.stochastic", 5).normal(size=(3, 3)))
    for scheme in (GEODESIC, PROJECTED):
        stepper = Diffusion(on_sphere(1.0), 0.5, 0.1, NOISE, scheme)
        assert np.abs(stepper.moved(x, dw) @ turn.T - stepper.moved(x @ turn.T, dw @ turn.T)).max() <= 1e-14


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Noise(-1, 0), "first: expected an integer of at least 0"),
        (lambda: Noise(0, 2**64), "second: expected a word of 64 bits"),
        (lambda: NOISE.normals(0, 3, 1, above=5), "above: expected a multiple"),
        (lambda: NOISE.normals(-1, 3, 1), "number: expected an integer of at least 0"),
        (lambda: Diffusion(None, 0.0, 0.1, NOISE), "sigma: expected a positive"),
        (lambda: Diffusion(None, 1.0, -0.1, NOISE), "step: expected a positive"),
        (lambda: Diffusion(None, 1.0, 0.1, NOISE, scheme="Milstein"), "scheme: expected one of"),
        (lambda: sample(Diffusion(None, 1.0, 0.1, NOISE), [1.0], steps=1), "start: expected a non-empty state"),
        (lambda: sample(Diffusion(None, 1.0, 0.1, NOISE, GEODESIC), [[2.0, 0.0]], steps=1), "rows of length 1"),
        (lambda: sample(Diffusion(None, 1.0, 0.1, NOISE), [[1.0]], steps=-1), "steps: expected an integer"),
        (lambda: sample(Diffusion(lambda _: np.zeros(2), 1.0, 0.1, NOISE), [[1.0]], steps=1), "drift: expected"),
        (lambda: Diffusion(None, 1.0, 0.1, NOISE).moved(np.ones((1, 1)), np.ones(1)), "increment: expected shape"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_state_that_leaves_float64_is_an_error():
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(OverflowError, match="left float64"):
        sample(Diffusion(lambda x: x**3, 1.0, 1.0, NOISE), [[1e10]], steps=9)
