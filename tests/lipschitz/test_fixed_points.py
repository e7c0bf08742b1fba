"""Iterations against solutions in closed form, determinants against NumPy, and their studies."""

from __future__ import annotations

import math

import numpy as np
import pytest

from theory.attention import DotProduct, FeedForward, Measure, SelfAttention, SquaredDistance, Stack, attend
from theory.evidence import Interval
from theory.lipschitz import studies
from theory.lipschitz.depth import (
    equilibrium,
    fixed_measure,
    mirrored_tokens,
    posterior_error,
    residual_determinant,
    residual_inverse,
)

PLAIN = DotProduct(scale=1.0)


def block(value, form, shift):
    return Stack((SelfAttention(DotProduct(form=form), value), FeedForward(lambda x: x + shift)))


def test_fixed_measure_is_the_dirac_of_a_linear_system():
    rng = np.random.default_rng(5)
    value = 0.3 * np.array([[0.0, -1.0], [1.0, 0.0]])
    form = 0.1 * np.eye(2)
    shift = np.array([0.2, -0.4])
    mu = Measure(rng.uniform(-0.5, 0.5, size=(6, 2)), rng.dirichlet(np.ones(6)))
    found = fixed_measure(block(value, form, shift), mu, 0.9, count=40, rounding=1e-15)
    expected = np.linalg.solve(np.eye(2) - value, shift)
    np.testing.assert_allclose(found.point.points, np.tile(expected, (6, 1)), rtol=0.0, atol=1e-14)
    assert len(found.moves) == 40
    early = fixed_measure(block(value, form, shift), mu, 0.9, count=3, rounding=1e-15)
    assert np.linalg.norm(early.point.points - expected, axis=1).mean() <= early.error


def test_posterior_is_rounded_up():
    assert posterior_error(Interval.exactly(0.5), 0.0) == 0.0
    assert 3.0 <= posterior_error(Interval.exactly(1.0), 0.75) <= 3.0 * (1.0 + 1e-14)
    assert posterior_error(Interval.exactly(1.0), 0.5, 0.25) == pytest.approx(1.5, rel=1e-14, abs=0.0)


@pytest.mark.parametrize(("constant", "off"), [(0.5, 0.0), (0.9, 1e-3), (0.25, 1e-12)])
def test_posterior_is_attained(constant, off):
    """A map of the line of this slope, of which every step falls short of the point by all its rounding."""
    x = 1.0
    for _ in range(4):
        # the fixed point of the map itself is zero
        before = x
        x = constant * x + off
    told = posterior_error(Interval.exactly(before - x), constant, off)
    assert told * (1.0 - 1e-12) <= x <= told * (1.0 + 1e-12)


def test_equilibrium_solves_its_equation():
    rng = np.random.default_rng(2)
    u = rng.uniform(-0.4, 0.4, size=(5, 2))
    value = 0.3 * np.eye(2)
    form = 0.2 * np.eye(2)
    found = equilibrium(SelfAttention(DotProduct(form=form), value), u, 0.9, count=60, rounding=1e-15)
    x = found.point
    weights = np.exp(x @ form @ x.T)
    expected = (weights @ x / weights.sum(1)[:, None]) @ value.T + u
    np.testing.assert_allclose(x, expected, rtol=0.0, atol=1e-14)
    other = equilibrium(SelfAttention(DotProduct(form=form), value), u, 0.9, start=-u, count=60, rounding=1e-15)
    np.testing.assert_allclose(other.point, x, rtol=0.0, atol=1e-14)


def test_residual_inverse_of_a_linear_branch():
    branch = np.array([[0.2, -0.3], [0.1, 0.4]])
    y = np.array([[1.0, -2.0], [0.5, 3.0]])
    found = residual_inverse(lambda x: x @ branch.T, y, 0.6, count=80, rounding=1e-15)
    np.testing.assert_allclose(found.point, np.linalg.solve(np.eye(2) + branch, y.T).T, rtol=1e-13, atol=0.0)
    assert found.error < 1e-12
    once = residual_inverse(lambda x: x @ branch.T, y, 0.6, start=np.zeros((2, 2)), count=1, rounding=1e-15, p=2.0)
    np.testing.assert_array_equal(once.point, y)


@pytest.mark.parametrize("score", [PLAIN, SquaredDistance(0.7)])
@pytest.mark.parametrize("share", [-0.5, 0.3])
def test_determinant_against_differences(score, share):
    x = np.array([[0.3], [-1.2], [0.9], [2.0]])
    h = 1e-5

    def residual(z):
        return (z + share * attend(z, z, z, score=score))[:, 0]

    columns = [(residual(x + h * e[:, None]) - residual(x - h * e[:, None])) / (2.0 * h) for e in np.eye(4)]
    expected = float(np.linalg.det(np.array(columns).T))
    assert residual_determinant(x, score, share).mid == pytest.approx(expected, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("middle", [0.1, 1.0])
def test_mirrored_tokens_share_their_image(share, middle):
    x = mirrored_tokens(middle, share)
    y = -x[[0, 2, 1]]
    images = [z - share * attend(z, z, z, score=PLAIN) for z in (x, y)]
    assert x[0, 0] == middle
    np.testing.assert_allclose(images[0], images[1], rtol=0.0, atol=1e-10)
    assert math.isclose(images[0][1, 0], -images[0][2, 0], rel_tol=1e-10, abs_tol=0.0)


def test_studies_hold_what_they_say():
    table = studies.fixed_points(scale="quick", root=1)
    cycle = table.where(system="reflection", start="upper")
    assert len(cycle) == studies.SYSTEMS["reflection"].steps
    assert [v.mid for v in cycle.intervals("mean")[:1]] == pytest.approx([np.mean([0.1, 0.6, 0.9])], rel=1e-12, abs=0.0)
    volumes = studies.determinants(scale="quick", root=1)
    assert volumes.where(part="dot", share=0.1, place=0.0).intervals("value")[0].mid == pytest.approx(
        0.9, rel=1e-12, abs=0.0
    )
    assert volumes.differs(studies.determinants(scale="quick", root=2)) is None


def test_errors_of_the_study_hold():
    system = studies.SYSTEMS["squashed"]
    start = system.starts["just above"]
    mu = Measure(np.array(start)[:, None])
    off = 0.0
    exact = np.array(start, dtype=np.longdouble)
    for _ in range(20):
        mu, off = system.advance(mu, off)
        weights = np.exp(np.longdouble(system.form) * np.outer(exact, exact))
        exact = np.tanh(np.longdouble(system.value) * (weights @ exact) / weights.sum(1))
    assert float(np.abs(mu.points[:, 0] - exact).max()) <= off < 1e-10


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: posterior_error(Interval.exactly(1.0), 1.0), "constant: expected a number in"),
        (lambda: posterior_error(Interval.exactly(1.0), -0.1), "constant: expected a non-negative"),
        (lambda: posterior_error(Interval.exactly(1.0), 0.5, -1.0), "rounding: expected a non-negative"),
        (
            lambda: fixed_measure(SelfAttention(PLAIN), Measure([[1.0]]), 0.5, count=0, rounding=1e-15),
            "count: expected an integer",
        ),
        (
            lambda: equilibrium(SelfAttention(PLAIN), [[1.0]], 0.5, start=[[1.0], [2.0]], count=1, rounding=1e-15),
            "start: expected shape",
        ),
        (
            lambda: residual_inverse(lambda x: x[:1], [[1.0], [2.0]], 0.5, count=1, rounding=1e-15),
            "branch: expected shape",
        ),
        (lambda: residual_determinant([[1.0, 2.0]], PLAIN, 0.1), "tokens: expected shape"),
        (lambda: mirrored_tokens(0.0, 0.1), "middle: expected a positive"),
        (lambda: mirrored_tokens(1.0, 1.0), "share: expected a number in"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_wrong_types():
    with pytest.raises(TypeError, match="mu: expected a Measure"):
        fixed_measure(SelfAttention(PLAIN), np.zeros((2, 1)), 0.5, count=1, rounding=1e-15)
