"""Lifetimes and meeting points of two clusters, against quadrature in other variables and an integrator."""

import math

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from theory.particles import on_sphere
from theory.particles.exact import log_asymptote, log_lifetime, meeting_point


def weights(x, beta, a, b):
    """How much each cluster attends to the other one."""
    hidden = mpmath.exp(beta * (1 - mpmath.cos(x)))
    return b / (a * hidden + b), a / (b * hidden + a)


@pytest.mark.parametrize("masses", [(0.5, 0.5), (0.25, 0.75), (3.0, 0.125)])
@pytest.mark.parametrize(("start", "end", "beta"), [(1.0, 0.25, 0.5), (1.3, 0.01, 8.0), (2.5, 1.0, 20.0)])
def test_lifetime_is_the_integral(start, end, beta, masses):
    a, b = (mpmath.mpf(m) for m in masses)
    with mpmath.workdps(30):
        exact = mpmath.log(
            mpmath.quad(
                lambda x: 1 / (sum(weights(x, beta, a, b)) * mpmath.sin(x)), [end, 0.1 * end + 0.9 * start, start]
            )
        )
        plain = mpmath.log(
            mpmath.quad(lambda x: mpmath.exp(-beta * mpmath.cos(x)) / ((a + b) * mpmath.sin(x)), [end, start])
        )
    found = log_lifetime(start, end, beta, weights=masses)
    assert abs(found.mid - float(exact)) < 1e-9 + found.width
    found = log_lifetime(start, end, beta, weights=masses, normalised=False)
    assert abs(found.mid - float(plain)) < 1e-9 + found.width


def test_lifetime_is_narrow_where_time_leaves_float64():
    found = log_lifetime(3.0, 0.01, 2000.0, weights=(0.25, 0.75))
    assert found.width < 1e-9
    assert found.mid > 3900.0


@pytest.mark.parametrize(
    ("start", "beta", "masses"), [(1.0, 2.0, (0.25, 0.75)), (2.0, 30.0, (0.6, 0.4)), (3.0, 0.5, (0.1, 0.9))]
)
def test_meeting_point_is_the_integral(start, beta, masses):
    a, b = (mpmath.mpf(m) for m in masses)

    def part(x):
        own, other = weights(x, beta, a, b)
        return own / (own + other)

    exact = float(mpmath.quad(part, [0, start / 4, start]))
    assert meeting_point(start, beta, weights=masses).mid == pytest.approx(exact, rel=1e-12, abs=0.0)


def test_meeting_point_is_where_an_integrator_ends():
    masses, angles = np.array([0.7, 0.3]), np.array([0.0, 1.0])
    x = np.column_stack([np.cos(angles), np.sin(angles)])
    field = on_sphere(3.0, weights=masses)
    run = solve_ivp(lambda _, y: field(y.reshape(2, 2)).ravel(), (0.0, 60.0), x.ravel(), rtol=1e-11, atol=1e-13)
    last = run.y[:, -1].reshape(2, 2)
    found = meeting_point(1.0, 3.0, weights=(0.7, 0.3)).mid
    assert math.atan2(last[0, 1], last[0, 0]) == pytest.approx(found, rel=1e-8, abs=0.0)


def test_both_travel_the_whole_way():
    first, second = (meeting_point(1.2, 9.0, weights=m) for m in ((0.3, 0.6), (0.6, 0.3)))
    assert 1.2 in first + second
    assert 0.6 in meeting_point(1.2, 9.0)


def test_asymptote_is_approached():
    errors = [log_lifetime(1.0, 0.01, b).mid - log_asymptote(1.0, b) for b in (50.0, 500.0)]
    better = [log_lifetime(1.0, 0.01, b).mid - log_asymptote(1.0, b, corrected=True) for b in (50.0, 500.0)]
    assert 8.0 < errors[0] / errors[1] < 13.0
    assert 70.0 < better[0] / better[1] < 160.0


def test_asymptote_at_small_angles():
    assert log_asymptote(1e-200, 10.0) == pytest.approx(400.0 * math.log(10.0) - math.log(20.0), rel=1e-14, abs=0.0)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: log_lifetime(0.5, 0.5, 1.0), "end"),
        (lambda: log_lifetime(math.pi, 0.5, 1.0), "start"),
        (lambda: log_lifetime(1.0, 0.0, 1.0), "end"),
        (lambda: log_lifetime(1.0, 0.5, -1.0), "beta"),
        (lambda: log_lifetime(1.0, 0.5, 1.0, weights=(1.0, 0.0)), "weights"),
        (lambda: log_lifetime(1.0, 0.5, 1.0, weights=(1.0, -1.0)), "weights"),
        (lambda: meeting_point(4.0, 1.0), "start"),
        (lambda: meeting_point(1.0, 0.0), "beta"),
        (lambda: log_asymptote(1.0, 1.0, weights=(0.0, 1.0)), "weights"),
        (lambda: log_asymptote(3.0, 1.0, corrected=True), "beta"),
        (lambda: log_asymptote(1.0, 1e308), "beta"),
    ],
)
def test_bad_input_is_refused(call, word):
    with pytest.raises(ValueError, match=f"^{word}: expected"):
        call()
