"""Constants in the Frobenius norm and their witness, against exact powers, derivatives of the definition and grids."""

import math

import mpmath
import numpy as np
import pytest

from theory.evidence import stream
from theory.lipschitz import norm_at
from theory.lipschitz.constants import (
    column_sum_constant,
    frobenius_constants,
    interpolated_constant,
    leader,
    leader_bound,
    leader_gap,
    opposed_ratio,
    published_constant,
    sharp_w1_constant,
)


def norm_by_differences(points, weights, form):
    """Return the norm in weighted squares of attention on the line, by central differences of 60 digits."""
    with mpmath.workdps(60):
        x = [mpmath.mpf(p) for p in points]
        w = [mpmath.mpf(v) for v in weights]
        b = mpmath.mpf(form)

        def outputs(tokens):
            result = []
            for query in tokens:
                raw = [v * mpmath.exp(b * query * key) for v, key in zip(w, tokens, strict=True)]
                result.append(sum(r * key for r, key in zip(raw, tokens, strict=True)) / sum(raw))
            return result

        step = mpmath.mpf(10) ** -20
        columns = []
        for j in range(len(x)):
            up, down = ([p + sign * step * (i == j) for i, p in enumerate(x)] for sign in (1, -1))
            columns.append([(a - c) / (2 * step) for a, c in zip(outputs(up), outputs(down), strict=True)])
        matrix = mpmath.matrix(len(x), len(x))
        for i in range(len(x)):
            for j in range(len(x)):
                matrix[i, j] = columns[j][i] * mpmath.sqrt(w[i] / w[j])
        return float(max(mpmath.svd_r(matrix, compute_uv=False)))


@pytest.mark.parametrize(("alpha", "n"), [(0.25, 1), (0.5, 3), (0.5000001, 3), (3.0, 100), (6.0, 10_000)])
def test_constants_to_fifty_digits(alpha, n):
    found = frobenius_constants(alpha, n, value=2.0)
    with mpmath.workdps(50):
        a = mpmath.mpf(alpha)
        kappa = 1 if a <= 0.5 else (1 + 2 * a) ** 2 / (8 * a)
        exact = (
            2 * mpmath.sqrt(3 * (a**2 * (n + 1) + n)),
            2 * (mpmath.sqrt(n) * (1 + a) + a),
            2 * mpmath.sqrt((1 + 2 * a) * (n * kappa + a)),
            2 * (mpmath.exp(a) * (1 + a) + a),
            2 * mpmath.sqrt(3 * (a**2 * (4 * n + 1) + n)),
        )
        for value, claimed in zip(found, exact, strict=True):
            assert abs(value / claimed - 1) <= 1e-14
    assert found.least == min(found.terms, found.schur, found.free)
    assert found.terms <= found.squares <= found.published
    assert found.free == interpolated_constant(alpha, 2.0, 2.0)
    assert math.isclose(column_sum_constant(alpha, n, value=2.0), found.terms, rel_tol=1e-15, abs_tol=0.0)
    assert column_sum_constant(alpha, 1.0 - 2.0**-53) == column_sum_constant(alpha, 1.0)  # a sum that was rounded


def test_published_constant_is_the_larger():
    for alpha in (0.01, 1.0, 3.0, 30.0):
        assert published_constant(alpha) > frobenius_constants(alpha, 1).free
        assert published_constant(alpha) > sharp_w1_constant(alpha)
    assert math.isclose(published_constant(1.0, value=3.0), 12.0 * math.exp(2.0), rel_tol=1e-14, abs_tol=0.0)


@pytest.mark.parametrize(("alpha", "ratio"), [(1.0, 3.0), (3.0, 99.0), (3.0, 999.0), (6.0, 9999.0), (2.0, 0.5)])
def test_gap_is_the_best_of_a_grid(alpha, ratio):
    gap = leader_gap(alpha, ratio)
    grid = np.linspace(1e-3, 2.0 * alpha, 4001)
    values = np.array([leader_bound(ratio, g) for g in grid])
    assert 0.0 < gap <= 2.0 * alpha
    assert abs(gap - grid[values.argmax()]) <= grid[1] - grid[0]
    assert leader_bound(ratio, gap) >= values.max() * (1.0 - 1e-14)


@pytest.mark.parametrize("alpha", [0.25, 1.0, 3.0, 9.0, 40.0])
def test_ratio_is_the_best_of_a_grid(alpha):
    best = opposed_ratio(alpha)
    values = [leader_bound(best * math.exp(shift), 2.0 * alpha) for shift in np.linspace(-3.0, 3.0, 301)]
    assert leader_bound(best, 2.0 * alpha) >= max(values) * (1.0 - 1e-13)
    assert values[0] < 0.99 * max(values)
    assert values[-1] < 0.99 * max(values)


@pytest.mark.parametrize(("alpha", "ratio"), [(1.0, 3.0), (3.0, 99.0), (3.0, 999.0)])
def test_witness_against_differences(alpha, ratio):
    gap = leader_gap(alpha, ratio)
    mu, score = leader(alpha, ratio, gap)
    low, place = mu.points[:, 0]
    assert low == -1.0
    assert math.isclose(alpha * place * (1.0 + place), gap, rel_tol=1e-14, abs_tol=0.0)
    assert math.isclose(mu.weights[1] / mu.weights[0], ratio, rel_tol=1e-14, abs_tol=0.0)
    norm = norm_by_differences(mu.points[:, 0], mu.weights, score.form[0, 0])
    assert norm >= leader_bound(ratio, gap)
    found = norm_at(mu, score, 2)
    assert abs(found.mid / norm - 1.0) <= 1e-12


def test_no_digits_are_lost_at_the_extremes():
    for ratio, gap in ((1e16, 1.0), (1e18, 1.0), (1e300, 2.0)):  # nearly all attention stays with the others
        assert leader_bound(ratio, gap) == pytest.approx(
            math.exp(gap) * (1.0 + gap) / math.sqrt(ratio), rel=1e-9, abs=0.0
        )
    assert leader_bound(1.0, 1e3) == 1.0
    for alpha in (1e-6, 1e-12, 1e-18):
        assert abs(opposed_ratio(alpha) - 1.0) <= 5.0 * alpha + 1e-15


def test_many_leaders_are_two_atoms():
    gap = 5.0
    mu, score = leader(3.0, 4.0, gap)  # two leaders and eight others
    places = [mu.points[0, 0]] * 2 + [mu.points[1, 0]] * 8
    whole = norm_by_differences(places, [0.1] * 10, score.form[0, 0])
    assert abs(norm_at(mu, score, 2).mid / whole - 1.0) <= 1e-12


def test_no_random_cloud_exceeds_the_constants():
    rng = stream("tests.frobenius", 0)
    for _ in range(20):
        n = int(rng.integers(1, 6))
        alpha = float(rng.uniform(0.1, 4.0))
        norm = norm_by_differences(rng.uniform(-1.0, 1.0, size=n), np.ones(n), float(rng.choice([-alpha, alpha])))
        assert norm <= frobenius_constants(alpha, n).least


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: frobenius_constants(0.0, 3), "alpha: expected a positive, finite number"),
        (lambda: frobenius_constants(1.0, 0), "n: expected an integer of at least 1"),
        (lambda: frobenius_constants(1.0, 3, value=-1.0), "value: expected a positive, finite number"),
        (lambda: frobenius_constants(1e4, 3), "alpha: expected one whose constant float64 can hold"),
        (lambda: column_sum_constant(1.0, 0.5), "column: expected at least 1"),
        (lambda: published_constant(400.0), "alpha: expected one whose constant float64 can hold"),
        (lambda: leader_bound(-1.0, 1.0), "ratio: expected a positive, finite number"),
        (lambda: leader_gap(1.0, math.inf), "ratio: expected a positive, finite number"),
        (lambda: opposed_ratio(400.0), "alpha: expected one whose constant float64 can hold"),
        (lambda: leader(1.0, 3.0, 2.5), "gap: expected at most 2 alpha"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_wrong_types():
    with pytest.raises(TypeError, match="n: expected an integer"):
        frobenius_constants(1.0, 2.5)
    with pytest.raises(TypeError, match="alpha: expected a number"):
        published_constant("1")
