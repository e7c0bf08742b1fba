"""The two refined constants against mpmath, their order among the older ones, and bad input."""

from __future__ import annotations

import math

import mpmath
import pytest

from theory.lipschitz.constants import interpolated_constant, joint_constant, refined_w2_constant, sharp_w1_constant


@pytest.mark.parametrize("alpha", [0.0, 1e-6, 0.25, 1.0, 3.0, 40.0, 300.0])
def test_values(alpha):
    a = mpmath.mpf(alpha)
    assert sharp_w1_constant(alpha) == pytest.approx(float(mpmath.exp(2 * a) * (1 + 2 * a)), rel=1e-13, abs=0)

    def slope(u):  # of the square, divided by exp(2 alpha)
        left = -(1 - mpmath.exp(-2 * a)) * (1 + 4 * a**2 * u * (1 - u))
        return left + (1 - u + u * mpmath.exp(-2 * a)) * 4 * a**2 * (1 - 2 * u)

    best = mpmath.mpf(0)
    if slope(mpmath.mpf(0)) > 0:
        best = mpmath.findroot(slope, (mpmath.mpf(0), mpmath.mpf(1) / 2), solver="bisect", verify=False)
    value = a + mpmath.sqrt((mpmath.exp(2 * a) * (1 - best) + best) * (1 + 4 * a**2 * best * (1 - best)))
    assert refined_w2_constant(alpha) == pytest.approx(float(value), rel=1e-12, abs=0)


def test_both_are_below_the_older_ones():
    for alpha in (0.01, 0.1, 0.5, 1.0, 3.0, 10.0):
        assert sharp_w1_constant(alpha) == pytest.approx(joint_constant(alpha) - alpha, rel=1e-13, abs=0)
        assert refined_w2_constant(alpha) < interpolated_constant(alpha, 2.0)
    assert sharp_w1_constant(0.0) == refined_w2_constant(0.0) == 1.0
    # for large alpha the ratio to alpha exp(alpha) tends to 4 / (3 sqrt 3)
    assert refined_w2_constant(300.0) / (300.0 * math.exp(300.0)) == pytest.approx(4 / 27**0.5, rel=1e-4, abs=0)


@pytest.mark.parametrize("constant", [sharp_w1_constant, refined_w2_constant])
def test_bad_input(constant):
    with pytest.raises(ValueError, match="alpha: expected a non-negative"):
        constant(-1.0)
    with pytest.raises(ValueError, match="alpha: expected one whose constant"):
        constant(400.0)
    with pytest.raises(TypeError, match="alpha: expected a number"):
        constant("1")
