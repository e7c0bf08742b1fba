"""Moments of traces of random matrices, and what is drawn against the bound of the second singular value."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from theory.evidence import hull, stream
from theory.maxent.gibbs import lognormal_moments, second_value_bound, trace_moment


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 5), (7, 3)])
def test_two_steps_are_counted_by_hand(rows, columns):
    second, fourth = Fraction(3, 7), Fraction(11, 5)
    found = trace_moment(rows, columns, 2, [1, 0, second, Fraction(1, 9), fourth])
    assert rows * columns * (fourth + (rows + columns - 2) * second**2) in found
    assert found.width <= 2e-15 * found.hi


def test_of_one_entry_the_trace_is_its_moment():
    assert [trace_moment(1, 1, k, range(2 * k + 1)).mid for k in range(1, 8)] == [2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0]


def test_rows_and_columns_may_be_exchanged():
    moments = [1, 0, 2, -1, 5, 3, 20, 1, 90]
    assert trace_moment(4, 9, 4, moments).mid == trace_moment(9, 4, 4, moments).mid


def test_moments_are_those_of_a_shifted_lognormal():
    found = lognormal_moments(0.25, 4)
    e = math.exp(0.25)
    closed = [1.0, 0.0, e - 1.0, e**3 - 3.0 * e + 2.0, e**6 - 4.0 * e**3 + 6.0 * e - 3.0]
    for number, value in zip(found, closed, strict=True):
        assert hull(number).mid == pytest.approx(value, rel=1e-13, abs=1e-15)


def test_of_one_step_the_bound_is_closed():
    with localcontext(prec=60):
        e = Decimal("0.25").exp()
        below = (2 * e / 1000 * Decimal(128000).ln()).sqrt()
        closed = Fraction((128 * (e - 1)).sqrt() / (1 - below))
    found = second_value_bound(1000, 0.25, power=1, risk=1 / 64)
    assert found.lo < closed < found.hi
    assert found.width <= 1e-15 * found.hi


@pytest.mark.parametrize("variance", [1e-12, 1e-40, 1e-300])
def test_of_small_variance_the_bound_is_in_proportion_to_the_deviation(variance):
    found, larger = second_value_bound(1000, variance), second_value_bound(1000, 1e-10)
    assert found.hi / math.sqrt(variance) == pytest.approx(larger.hi / 1e-5, rel=1e-9, abs=0.0)
    assert found.lo > 0.0
    assert found.width <= 1e-14 * found.hi


def test_no_draw_exceeds_the_bound_of_little_risk():
    n, sigma = 80, 0.5
    bound = second_value_bound(n, sigma**2, power=3, risk=0.01).lo
    rng = stream("tests.noise_spectrum", 0)
    for _ in range(20):
        terms = np.exp(sigma * rng.normal(size=(n, n)))
        assert np.linalg.svd(terms / terms.sum(axis=1, keepdims=True), compute_uv=False)[1] < bound


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: trace_moment(2, 2, 8, range(17)), ValueError, "power: expected at most 7, got 8"),
        (lambda: trace_moment(2, 2, 2, [1, 0, 1]), ValueError, r"moments: expected shape \(5,\), got shape \(3,\)"),
        (lambda: trace_moment(0, 2, 1, [1, 0, 1]), ValueError, "rows: expected an integer of at least 1"),
        (lambda: trace_moment(2, 2.5, 1, [1, 0, 1]), TypeError, "columns: expected an integer"),
        (lambda: lognormal_moments(-1.0, 2), ValueError, "variance: expected a positive"),
        (lambda: second_value_bound(10, 1.0), ValueError, "size: expected more tokens"),
        (lambda: second_value_bound(1000, 0.1, risk=1.0), ValueError, "risk: expected a probability below one"),
        (lambda: second_value_bound(1000, 0.1, power=9), ValueError, "power: expected at most 7, got 9"),
    ],
)
def test_what_cannot_be_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
