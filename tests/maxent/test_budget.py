"""The budget map against a rational solution, the conditions of the box, masks and its derivative."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from tests.maxent import oracle
from theory.evidence import stream
from theory.maxent import budget, budget_vjp, sparsemax

U = 2.0**-53


def solution(scores, total, tau=1):
    """Try every corner of the piecewise linear sum and solve the piece that holds the budget, in rational numbers."""
    z = [Fraction(float(x)) / Fraction(float(tau)) for x in scores]
    k = Fraction(float(total))

    def weights(theta):
        return [min(max(x - theta, Fraction(0)), Fraction(1)) for x in z]

    corners = sorted({c for x in z for c in (x, x - 1)})
    for a, b in itertools.pairwise(corners):
        high, low = sum(weights(a)), sum(weights(b))
        if high >= k >= low:
            theta = a if high == low else a + (b - a) * (high - k) / (high - low)
            return weights(theta)
    return weights(corners[0])  # one entry, or all of them at 1


@pytest.mark.parametrize("total", [2.0**-10, 0.5, 1.0, 1.5, 2.0, 3.0 - 2.0**-30, 3.0])
def test_rational(total):
    for row in (
        [-0.4, 0.1, 0.3, 1.1],
        [0.0, 0.0, 0.0],
        [5.0, 0.0, -5.0],
        [1.0, 0.0, -1.0],
        [1e20, 0.25, 0.0, -1e20],
        [1e20, 1e20, -1e20],
        [1.7e308, -1.7e308, -1.7e308],
        [0.25, 0.25, 0.0, 0.0, -1.0],
        [1.0, 0.05, 0.05],
    ):
        for tau in (1.0, 0.25):
            p = budget(row, total, tau=tau)
            assert oracle.rationally_apart(p, solution(row, total, tau)) <= 16 * U
            assert abs(p.sum() - total) <= 16 * U


@given(arrays(np.float64, 6, elements=st.integers(-6, 6).map(lambda k: k / 4)), st.integers(1, 24).map(lambda k: k / 4))
def test_ties_and_corners(row, total):
    """Quarters are exact, so thresholds fall on corners."""
    assert oracle.rationally_apart(budget(row, total), solution(row, total)) <= 32 * U


def test_conditions_of_the_box():
    for case in range(5):
        s = stream("tests.budget.box", case).normal(size=40)
        p = budget(s, 7.3, tau=0.6)
        slope = s - 0.6 * p
        free = (p > 0.0) & (p < 1.0)
        assert free.sum() >= 2
        level = slope[free].mean()
        assert np.abs(slope[free] - level).max() <= 64 * U
        assert np.all(slope[p == 0.0] <= level + 64 * U)
        assert np.all(slope[p == 1.0] >= level - 64 * U)


def test_unit_budget_is_sparsemax_and_the_whole_is_ones():
    s = stream("tests.budget.unit", 0).normal(size=(20, 9))
    assert np.abs(budget(s, 1.0) - sparsemax(s)).max() <= 16 * U
    assert np.array_equal(budget(s, 9.0), np.ones((20, 9)))
    assert np.array_equal(budget([3.0], 0.5), [0.5])
    assert np.array_equal(budget([0.3, -4.0, 0.1, 0.0, 0.0, -1.0], 4.0), [1.0, 0.0, 1.0, 1.0, 1.0, 0.0])


def test_common_bound():
    """clip(z - theta, 0, c) with sum 1 is c times the map at temperature c and budget 1 / c."""
    s = np.array([1.0, 0.9, 0.2, 0.0])
    c = 0.4
    p = c * budget(s, 1.0 / c, tau=c)
    assert abs(p.sum() - 1.0) <= 16 * U
    assert p.max() <= c
    theta = (s - p)[(p > 0.0) & (p < c)].mean()
    assert np.abs(np.clip(s - theta, 0.0, c) - p).max() <= 16 * U


def test_derivative_by_differences_of_a_piecewise_linear_map():
    s = np.array([-0.4, 0.1, 0.3, 1.1])
    c = np.array([0.3, -1.0, 0.5, 0.2])
    for tau, total in ((1.0, 1.5), (0.5, 2.25), (3.0, 1.0)):
        step = 2.0**-20
        moved = (budget(s + step * c, total, tau=tau) - budget(s - step * c, total, tau=tau)) / (2 * step)
        assert np.abs(budget_vjp(budget(s, total, tau=tau), c, tau=tau) - moved).max() <= 64 * U / step


def test_masks_and_batches():
    scores = stream("tests.budget.batch", 0).normal(size=(3, 5, 2))
    scores[1, 2, 0] = -math.inf
    scores[2, :, 1] = -math.inf
    total = np.array([1.5, 3.0])
    found = budget(scores, total, axis=1)
    for i, j in np.ndindex(3, 2):
        row = scores[i, :, j]
        left = row > -math.inf
        assert not found[i, ~left, j].any()
        if left.any():
            assert np.abs(found[i, left, j] - budget(row[left], total[j])).max() <= 32 * U
    assert budget(scores[0].astype(np.float32), 1.0, axis=0).dtype == np.float64
    assert not budget_vjp(found, np.ones(found.shape), axis=1)[2, :, 1].any()
