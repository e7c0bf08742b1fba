"""Constants on a ball: exact values, what they are at the ends, and bad input."""

import math

import mpmath
import numpy as np
import pytest

from theory.attention import DotProduct, SquaredDistance
from theory.lipschitz.constants import (
    causal_constant,
    contracted_diameter,
    interpolated_constant,
    joint_constant,
    kernel_constant,
    log_collapsed_diameter,
    max_norm_constant,
    measure_constant,
    query_constant,
    schur_constant,
    score_constant,
)

ALPHAS = (0.0, 1e-8, 0.25, 1.0, 3.0, 40.0)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_exact_values(alpha):
    with mpmath.workdps(50):
        a = mpmath.mpf(alpha)
        measure = mpmath.exp(2 * a) * (1 + 2 * a)
        harmonic = sum(mpmath.mpf(1) / i for i in range(1, 8))
        wanted = {
            query_constant(alpha, 3.0): 3 * a,
            measure_constant(alpha, 3.0): 3 * measure,
            joint_constant(alpha, 3.0): 3 * (measure + a),
            max_norm_constant(alpha, 3.0): 3 * (1 + 2 * a),
            interpolated_constant(alpha, 2.0, 3.0): 3 * (mpmath.exp(a) * (1 + a) + a),
            interpolated_constant(alpha, 4, 3.0): 3 * (mpmath.exp(a / 2) * (1 + a) + a),
            interpolated_constant(alpha, 1.5, 3.0): 3
            * (mpmath.exp(4 * a / 3) * (1 + a * mpmath.mpf(2) ** (mpmath.mpf(1) / 3)) + a),
            schur_constant(alpha, 2.0, 3.0): 3 * mpmath.sqrt((1 + 2 * a) * (measure + a)),
            causal_constant(alpha, 7, 3.0): 3 * (a + measure * harmonic),
        }
        for found, value in wanted.items():
            assert found == pytest.approx(float(value), rel=1e-13, abs=1e-300)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_ends_of_the_scale_of_p(alpha):
    for constant in (interpolated_constant, schur_constant):
        assert constant(alpha, 1.0) == pytest.approx(joint_constant(alpha), rel=1e-14, abs=0.0)
        assert constant(alpha, math.inf) == pytest.approx(max_norm_constant(alpha), rel=1e-14, abs=0.0)
    assert causal_constant(alpha, 1) == pytest.approx(joint_constant(alpha), rel=1e-14, abs=0.0)


@pytest.mark.parametrize("alpha", (2.0 ** np.linspace(-10.0, 5.0, 12)).tolist())
def test_the_constant_in_wp_is_never_above_that_of_rows_and_columns(alpha):
    for inverse in np.linspace(0.02, 1.0, 12).tolist():
        own = interpolated_constant(alpha, 1.0 / inverse)
        schur = schur_constant(alpha, 1.0 / inverse)
        assert own <= schur * (1.0 + 1e-13)


@pytest.mark.parametrize(("alpha", "printed"), [(0.25, 2.02104), (0.5, 3.44574), (1.0, 8.33676), (2.0, 37.0804)])
def test_rows_and_columns_in_w2_as_printed(alpha, printed):
    assert schur_constant(alpha, 2.0) == pytest.approx(printed, rel=3e-6, abs=0.0)


def test_a_score_has_the_constants_of_its_bounds():
    form = np.array([[0.0, 1.5], [-0.5, 0.0]])
    radius = 0.75
    alpha = 1.5 * radius**2
    general = score_constant(DotProduct(form=form).constants(radius), 2 * radius, 2.0)
    assert general == pytest.approx(joint_constant(alpha, 2.0), rel=1e-13, abs=0.0)
    square = score_constant(SquaredDistance(2.0).constants(0.5), 1.0)
    assert square == pytest.approx(1.0 + math.exp(2.0) * 5.0, rel=1e-14, abs=0.0)
    assert kernel_constant(0.5, 2.0, 1.0, 3.0, 4.0, 0.25) == pytest.approx(0.25 * 36.0, rel=1e-14, abs=0.0)


def test_diameters():
    assert contracted_diameter(2.0, 1.0) == pytest.approx(2.0 * math.tanh(1.0), rel=1e-14, abs=0.0)
    assert contracted_diameter(0.0, 5.0) == 0.0
    assert log_collapsed_diameter(1.5, 0.5, 2.0, 0) == pytest.approx(math.log(1.5), rel=1e-14, abs=0.0)
    twice = 4 * math.log(0.25) + 9 * math.log(1.5)
    assert log_collapsed_diameter(1.5, 0.5, 2.0, 2) == pytest.approx(twice, rel=1e-13, abs=0.0)
    assert log_collapsed_diameter(0.0, 1.0, 1.0, 3) == -math.inf
    assert log_collapsed_diameter(1.0, 0.0, 1.0, 3) == -math.inf
    assert log_collapsed_diameter(2.0, 1.0, 1.0, 600) == pytest.approx(math.log(2.0), rel=1e-9, abs=1e300)


def test_a_product_of_norms_may_leave_the_range():
    for size in (1e-200, 1e200):
        exact = 13.0 * (2.0 * math.log(size) - math.log(4.0))
        assert log_collapsed_diameter(1.0, size, size, 3) == pytest.approx(exact, rel=1e-14, abs=0.0)


@pytest.mark.parametrize(
    ("call", "fault", "words"),
    [
        (lambda: joint_constant(-1.0), ValueError, "alpha: expected a non-negative"),
        (lambda: joint_constant(math.nan), ValueError, "alpha: expected a non-negative"),
        (lambda: joint_constant(True), TypeError, "alpha: expected a number"),
        (lambda: joint_constant("1"), TypeError, "alpha: expected a number"),
        (lambda: joint_constant(400.0), ValueError, "alpha: expected one whose constant float64 can hold"),
        (lambda: max_norm_constant(1.0, -1.0), ValueError, "value: expected a non-negative"),
        (lambda: interpolated_constant(1.0, 0.5), ValueError, "p: expected a number in"),
        (lambda: interpolated_constant(1.0, math.nan), ValueError, "p: expected a number in"),
        (lambda: schur_constant(1.0, None), TypeError, "p: expected a number in"),
        (lambda: causal_constant(1.0, 0), ValueError, "n: expected an integer of at least 1"),
        (lambda: causal_constant(1.0, 2.0), TypeError, "n: expected an integer"),
        (lambda: score_constant((1.0, 1.0, -1.0, 1.0), 1.0), ValueError, "key: expected a non-negative"),
        (lambda: kernel_constant(0.0, 1.0, 1.0, 1.0, 1.0), ValueError, "least: expected a number in"),
        (lambda: kernel_constant(2.0, 1.0, 1.0, 1.0, 1.0), ValueError, "least: expected a number in"),
        (lambda: contracted_diameter(-1.0, 1.0), ValueError, "diameter: expected a non-negative"),
        (lambda: log_collapsed_diameter(1.0, 1.0, 1.0, -1), ValueError, "depth: expected an integer of at least 0"),
        (lambda: log_collapsed_diameter(1.0, 1.0, 1.0, 601), ValueError, "depth: expected at most 600"),
    ],
)
def test_bad_input(call, fault, words):
    with pytest.raises(fault, match=words):
        call()
