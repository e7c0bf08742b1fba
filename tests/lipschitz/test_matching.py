"""Wasserstein distances of small clouds against exact sums, assignments by SciPy and the certified W1."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from theory import Measure, w1
from theory.evidence import Kind, exact, stream, within
from theory.lipschitz import wp_line, wp_tokens


def test_two_atoms_by_hand():
    mu = Measure([[0.0], [1.0]], [0.25, 0.75])
    nu = Measure([[0.0], [2.0]], [0.75, 0.25])
    # half the mass goes from 1 to 0, a quarter from 1 to 2
    for p in (1, 2, 3.0):
        assert wp_line(mu, nu, p).mid == pytest.approx(0.75 ** (1.0 / p), rel=1e-14, abs=0.0)
    assert wp_line(mu, nu, math.inf).mid == 1.0
    assert wp_line(mu, nu, 1).kind is Kind.CERTIFIED


def test_masses_are_exact():
    third = Measure([[0.0], [1.0], [2.0]])
    shifted = Measure([[2.0], [0.0], [1.0]])
    assert wp_line(third, shifted, math.inf).hi <= 1e-300
    uneven = Measure([[0.0], [1.0]], [float(Fraction(1, 3)), 1.0 - float(Fraction(1, 3))])
    assert wp_line(uneven, Measure([[1.0], [0.0]], uneven.weights[::-1]), math.inf).hi <= 1e-300


@pytest.mark.parametrize("case", range(6))
def test_the_line_and_w1(case):
    rng = stream("tests.matching", case)
    mu = Measure(rng.normal(size=(4, 1)), rng.dirichlet(np.ones(4)))
    nu = Measure(rng.normal(size=(3, 1)), rng.dirichlet(np.ones(3)))
    one = wp_line(mu, nu, 1.0)
    certified = w1(mu, nu)
    assert one.lo <= certified.hi
    assert certified.lo <= one.hi
    levels = [wp_line(mu, nu, p).mid for p in (1.0, 2.0, 4.0, 16.0, math.inf)]
    assert levels == sorted(levels)


@pytest.mark.parametrize("case", range(6))
def test_tokens_against_assignments(case):
    rng = stream("tests.matching", 10 + case)
    n, d = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    x, y = rng.normal(size=(2, n, d))
    ways = np.linalg.norm(x[:, np.newaxis] - y, axis=2)
    for p in (1.0, 2.0, 3.0):
        rows, columns = linear_sum_assignment(ways**p)
        wanted = float((ways[rows, columns] ** p).mean() ** (1.0 / p))
        assert wp_tokens(x, y, p).mid == pytest.approx(wanted, rel=1e-12, abs=0.0)
    bottleneck = min(v for v in ways.ravel().tolist() if _perfect(ways <= v * (1 + 1e-12)))
    assert wp_tokens(x, y, math.inf).mid == pytest.approx(bottleneck, rel=1e-12, abs=0.0)
    if d == 1:
        assert wp_line(Measure(x), Measure(y), 2.0).mid == pytest.approx(wp_tokens(x, y, 2.0).mid, rel=1e-12, abs=0.0)


def _perfect(allowed):
    rows, columns = linear_sum_assignment(~allowed)
    return bool(allowed[rows, columns].all())


def test_squares_may_leave_the_range():
    x = np.array([[0.0, 1.0], [3.0, 0.0], [1.0, 1.0]])
    y = np.array([[2.0, 0.0], [1.0, 3.0], [0.0, 0.5]])
    for p in (1, 3.0, math.inf):
        near = wp_tokens(x, y, p)
        for power in (-530, -250, 250):
            far = wp_tokens(np.ldexp(x, power), np.ldexp(y, power), p)
            assert math.ldexp(far.lo, -power) <= near.hi
            assert near.lo <= math.ldexp(far.hi, -power)
    assert wp_tokens([[0.0], [3e200]], [[2e200], [1e200]], 1).mid == pytest.approx(1e200, rel=1e-14, abs=0.0)


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
@pytest.mark.parametrize("case", range(6))
def test_plans_that_floats_cannot_tell_apart_are_all_enclosed(p, case, monkeypatch):
    """Lengths off by 1e-11, less than what is allowed for, may put another plan first; its cost stands beside."""
    rng = stream("tests.matching", 20 + case)
    angle = np.linspace(0.0, 2 * math.pi, 6)[:5]
    x = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    y = np.array([[0.0, 0.0]] * 4 + [[0.0, 1e-12]]) + 1e-13 * rng.normal(size=(5, 2))  # all plans cost about the same
    exact = wp_tokens(x, y, p)
    true = np.linalg.norm
    monkeypatch.setattr(
        np.linalg, "norm", lambda *args, **more: true(*args, **more) * (1 + 1e-11 * rng.normal(size=(5, 5)))
    )
    coarse = wp_tokens(x, y, p)
    assert (coarse.lo, coarse.hi) == (exact.lo, exact.hi)


@pytest.mark.parametrize("p", [1.0, 1.25, 2.0, 3.0, math.inf])
def test_a_shifted_cloud_is_as_far_as_the_shift(p):
    rng = stream("tests.matching", 40)
    mu = Measure(rng.normal(size=(4, 1)), rng.dirichlet(np.ones(4)))
    assert wp_line(mu, mu.push_forward(lambda x: x + 2.0), p).mid == pytest.approx(2.0, rel=1e-14, abs=0.0)


def test_equal_clouds():
    x = stream("tests.matching", 30).normal(size=(5, 2))
    for p in (1.0, 2.0, math.inf):
        assert wp_tokens(x, x[::-1], p).lo == 0.0
        assert wp_tokens(x, x[::-1], p).hi <= 1e-12


@pytest.mark.parametrize(
    ("call", "fault", "words"),
    [
        (lambda: wp_line(Measure([[0.0, 1.0]]), Measure([[0.0]]), 1), ValueError, "mu, nu: expected dimension 1"),
        (lambda: wp_line(Measure([[0.0]]), Measure([[0.0]]), 0.5), ValueError, "p: expected a number in"),
        (lambda: wp_tokens([[0.0]], [[0.0]], "2"), TypeError, "p: expected a number in"),
        (lambda: wp_tokens([[0.0]], [[0.0], [1.0]], 1), ValueError, "y: expected shape"),
        (lambda: wp_tokens(np.zeros((7, 1)), np.zeros((7, 1)), 1), ValueError, "x: expected at most 6 tokens"),
    ],
)
def test_bad_input(call, fault, words):
    with pytest.raises(fault, match=words):
        call()


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_errors_of_the_atoms_travel(p):
    """Two tokens off as far as they may be, both the same way: every distance is off by that much."""
    x, y = np.array([[0.0], [4.0]]), np.array([[1.0], [5.0]])
    found = wp_tokens(within(x, 0.25), exact(y), p)
    on_a_line = wp_line(Measure(x).enclosed().push_forward(lambda z: within(z.mid, 0.25)), Measure(y).enclosed(), p)
    for distance in (found, on_a_line):
        assert distance.lo <= 0.75
        assert distance.hi >= 1.25
        assert distance.width < 0.51
