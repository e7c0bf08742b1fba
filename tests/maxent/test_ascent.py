"""A query that learns to select, against a closed form, a Runge-Kutta method on weights of softmax, and itself."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from theory.maxent.gibbs import ascended_query, ascent

DIFFERENCES = np.array([[0.0, 1.25], [1.0, 0.5], [2.0, 2.0]])
WORTHS = np.array([1.0, 4.0, 2.0])
OBTUSE = np.array([[0.0, 0.625], [1.125, -0.25]])


def gap(total):
    """The solution of 2 u + 2 sinh u = total, for one example."""
    return brentq(lambda u: 2.0 * u + 2.0 * np.sinh(u) - total, 0.0, 80.0, xtol=1e-15)


def slope(_, p, differences, worths):
    """The gradient of the worth, from softmax of two tokens that lie half a difference from zero."""
    found = np.zeros_like(p)
    for d, c in zip(differences, worths, strict=True):
        tokens = np.stack([d / 2.0, -d / 2.0])
        scores = tokens @ p
        weights = np.exp(scores - scores.max())
        weights /= weights.sum()
        found += c * weights[0] * (tokens[0] - weights @ tokens)
    return found


@pytest.mark.parametrize(("length", "worth"), [(1.0, 1.0), (0.5, 4.0), (2.0, 0.25)])
def test_one_example_is_an_equation(length, worth):
    times = [10.0, 1e4, 1e9]
    found = ascended_query([[length]], [worth], times)
    for time, low, high in zip(times, found.lo[:, 0], found.hi[:, 0], strict=True):
        exact = gap(worth * length**2 * time) / length
        assert low - 1e-13 <= exact <= high + 1e-13
        assert high - low < 1e-13


@pytest.mark.parametrize(("differences", "worths"), [(DIFFERENCES, WORTHS), (OBTUSE, np.array([1.0, 4.0]))])
def test_another_method_agrees(differences, worths):
    found = ascended_query(differences, worths, [2.0, 100.0])
    solved = solve_ivp(
        slope, (0.0, 100.0), np.zeros(2), t_eval=[2.0, 100.0], args=(differences, worths), rtol=1e-11, atol=1e-12
    )
    assert found.mid == pytest.approx(solved.y.T, rel=1e-8, abs=1e-8)


def test_times_in_between_change_nothing():
    alone = ascended_query(DIFFERENCES, WORTHS, [1e6])
    amid = ascended_query(DIFFERENCES, WORTHS, [3.0, 50.0, 1e6])[-1:]
    assert (np.maximum(alone.lo, amid.lo) <= np.minimum(alone.hi, amid.hi)).all()


@pytest.fixture
def rough(monkeypatch):
    """Few terms and long steps, so that errors are larger than the last digits."""
    monkeypatch.setattr(ascent, "_TERMS", 5)
    monkeypatch.setattr(ascent, "_SMALL", 2.0**-8)
    monkeypatch.setattr(ascent, "_SMALLER", 2.0**-20)
    ascent._climb.cache_clear()
    yield
    ascent._climb.cache_clear()


def test_what_steps_are_off_is_within_the_ball(rough):
    times = [3.0, 10.0, 1000.0]
    found = ascended_query([[1.5]], [1.0], times)
    for time, low, high in zip(times, found.lo[:, 0], found.hi[:, 0], strict=True):
        assert low <= gap(2.25 * time) / 1.5 <= high
        assert 1e-6 < high - low < 0.5


def test_what_steps_are_off_where_a_gap_is_negative(rough):
    found = ascended_query(OBTUSE, [1.0, 4.0], [1.5])
    assert (found.hi - found.lo).max() > 1e-6
    solved = solve_ivp(slope, (0.0, 1.5), np.zeros(2), args=(OBTUSE, [1.0, 4.0]), rtol=1e-11, atol=1e-12).y[:, -1]
    assert (found.lo[0] <= solved).all()
    assert (solved <= found.hi[0]).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ascended_query([[5.0]], [1.0], [10.0]), "differences"),
        (lambda: ascended_query(np.ones((17, 2)), np.ones(17), [10.0]), "differences"),
        (lambda: ascended_query([[1.0]], [0.0], [10.0]), "worths"),
        (lambda: ascended_query([[1.0]], [1.0, 2.0], [10.0]), "worths"),
        (lambda: ascended_query([[1.0]], [1.0], [1.0]), "times"),
        (lambda: ascended_query([[1.0]], [1.0], [10.0, 5.0]), "times"),
        (lambda: ascended_query([[1.0]], [1.0], []), "times"),
    ],
)
def test_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
