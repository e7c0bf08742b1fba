"""Derivatives by power series against differences in many digits, against the Jacobian, and the named clouds."""

import math

import mpmath
import numpy as np
import pytest

from theory.attention import DotProduct, Measure, SelfAttention, attend, step
from theory.distance import w1
from theory.evidence import stream
from theory.evidence.enclosure import balls, hull
from theory.lipschitz import Push, response, response_ratio, witnesses, wp_line, wp_tokens
from theory.lipschitz.jacobian import block_jacobian


def outputs(points, masses, form, causal):
    """Attention as it is printed, in mpmath."""
    n = points.rows
    rows = []
    for i in range(n):
        seen = [j for j in range(n) if j <= i or not causal]
        weights = [masses[j] * mpmath.exp((points[i, :] * form * points[j, :].T)[0]) for j in seen]
        rows.append(
            sum((w * points[j, :] for w, j in zip(weights, seen, strict=True)), 0 * points[0, :]) / sum(weights)
        )
    return rows


@pytest.mark.parametrize("causal", [False, True])
def test_against_differences_in_many_digits(causal):
    rng = stream("tests.response", 0)
    points = rng.normal(size=(4, 2))
    velocities = rng.normal(size=(4, 2))
    form = rng.normal(size=(2, 2))
    masses = rng.dirichlet(np.ones(4))
    found = response(Push(points, velocities, masses, form), causal=causal)
    with mpmath.workdps(60):
        x, h, b = (mpmath.matrix(part.tolist()) for part in (points, velocities, form))
        tiny = mpmath.mpf(10) ** -20
        ends = [outputs(x + sign * tiny * h, masses.tolist(), b, causal) for sign in (1, -1)]
        for i in range(4):
            slope = (ends[0][i] - ends[1][i]) / (2 * tiny)
            for k in range(2):
                inside = hull(found[i, k])
                assert inside.width <= 1e-14
                assert inside.mid == pytest.approx(float(slope[k]), rel=0.0, abs=1e-13)


def test_against_the_jacobian():
    rng = stream("tests.response", 1)
    mu = Measure(rng.normal(size=(5, 3)))
    form = rng.normal(size=(3, 3))
    h = rng.normal(size=(5, 3))
    blocks = block_jacobian(mu, DotProduct(form=form))
    found = response(Push(mu.points, h, mu.weights, form))
    assert np.abs(np.einsum("ijab,jb->ia", blocks, h) - found.astype(float)).max() <= 1e-12


def test_a_finite_push_stretches_as_much():
    rng = stream("tests.response", 2)
    points = rng.normal(size=(3, 1))
    h = rng.normal(size=(3, 1))
    masses = rng.dirichlet(np.ones(3))
    push = Push(points, h, masses, np.array([[0.7]]))
    layer = SelfAttention(DotProduct(form=[[0.7]]))
    near = [Measure(points + t * h, masses) for t in (0.0, 1e-5)]
    far = [step(layer, mu) for mu in near]
    for p in (1.0, 2.0, 3.5, math.inf):
        ratio = wp_line(*far, p) / wp_line(*near, p)
        assert ratio.mid == pytest.approx(response_ratio(push, p).mid, rel=1e-4, abs=0.0)


def test_masses_need_no_sum_and_balls_are_taken_as_they_are():
    push = witnesses.far_atom(1.0, 0.25)
    scaled = push._replace(masses=balls(push.masses) * 3)
    assert response_ratio(scaled, 2.0).mid == pytest.approx(response_ratio(push, 2.0).mid, rel=1e-14, abs=0.0)


def test_the_named_clouds_by_hand():
    weight = 0.25 * math.exp(2.0) / (0.75 + 0.25 * math.exp(2.0))
    assert hull(abs(response(witnesses.far_atom(1.0, 0.25))[0, 0])).mid == pytest.approx(
        weight * (1.0 + 2.0 * (1.0 - weight)), rel=1e-14, abs=0.0
    )
    assert response_ratio(witnesses.near_atom(1.0, 1e-12), 1).mid == pytest.approx(
        math.exp(0.25) * 1.25, rel=1e-9, abs=0.0
    )
    for alpha in (0.5, 1.0, 4.0):
        wanted = alpha + max(1.0, alpha)
        assert response_ratio(witnesses.balanced_query(alpha), math.inf).mid == pytest.approx(
            wanted, rel=1e-13, abs=0.0
        )
    for n in (1, 6):
        harmonic = sum(1.0 / i for i in range(1, n + 1))
        assert response_ratio(witnesses.first_token(n), 1, causal=True).mid == pytest.approx(
            harmonic, rel=1e-14, abs=0.0
        )
    pair = witnesses.two_tokens(0.5)
    moved = attend(pair.points, pair.points, pair.points, score=DotProduct(scale=1.0))
    assert moved[1, 0] == pytest.approx(0.5 * math.tanh(0.25), rel=1e-14, abs=0.0)
    early, late = witnesses.order_swap_pair(0.25)
    assert w1(early, late).mid == 0.25


def test_the_straining_mass_is_best():
    def answer(alpha, mass):
        return float(hull(abs(response(witnesses.far_atom(alpha, mass))[0, 0])).mid) * math.sqrt((1.0 - mass) / mass)

    for alpha in (0.1, 1.0, 3.0):
        best = witnesses.straining_mass(alpha)
        assert answer(alpha, best) > max(answer(alpha, 0.99 * best), answer(alpha, 1.01 * best))


def test_the_straining_mass_of_a_small_alpha_is_a_half():
    for alpha in (1e-6, 1e-12, 1e-18):
        assert abs(witnesses.straining_mass(alpha) - 0.5) <= 2.0 * alpha + 1e-15


def test_rounding_alone_can_fake_a_violation_and_the_widths_own_up_to_it():
    """Tokens on the sphere an ulp apart: outputs move by rounding, by any multiple of the distance."""
    faked = 0
    for case in range(40):
        rng = stream("tests.fake", case)
        x = rng.normal(size=(4, 2))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        y = x.copy()
        y[0, 0] = np.nextafter(x[0, 0], 0.0)
        score = DotProduct(form=0.1 * np.eye(2))
        before = np.abs(x - y).max()
        after = np.abs(np.subtract(*(attend(z, z, z, score=score) for z in (x, y)))).max()
        faked += after > 1.2 * before
        slack = 2.0 * math.sqrt(2.0) * 1e-15  # of both outputs; far below what the package itself charges
        assert after - slack <= 1.2 * wp_tokens(x[:1], y[:1], math.inf).hi
    assert faked > 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: response(Push(np.zeros((2, 1)), np.zeros((3, 1)), np.ones(2), np.ones((1, 1)))),
            "push: expected shapes",
        ),
        (lambda: response(Push(np.zeros(2), np.zeros(2), np.ones(2), np.ones((1, 1)))), "push: expected shapes"),
        (
            lambda: response(witnesses.far_atom(1.0, 0.5)._replace(masses=np.zeros(2))),
            "push: expected non-negative masses",
        ),
        (
            lambda: response(witnesses.far_atom(1.0, 0.5)._replace(masses=np.array([1.0, -1.0]))),
            "push: expected non-negative",
        ),
        (lambda: response(witnesses.balanced_query(1.0), causal=True), "push: expected non-negative masses"),
        (lambda: response_ratio(witnesses.far_atom(1.0, 0.5), 0.5), "p: expected a number in"),
        (lambda: response_ratio(witnesses.far_atom(1.0, 0.5), math.nan), "p: expected a number in"),
        (lambda: witnesses.balanced_query(400.0), "alpha: expected one whose masses float64 can hold"),
        (lambda: witnesses.far_atom(0.0, 0.5), "alpha: expected a positive"),
        (lambda: witnesses.far_atom(1.0, 1.0), "mass: expected a number in"),
        (lambda: witnesses.order_swap_pair(0.75), "gap: expected a number in"),
        (lambda: witnesses.first_token(0), "n: expected an integer of at least 1"),
        (lambda: witnesses.two_tokens(-1.0), "half: expected a positive"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
