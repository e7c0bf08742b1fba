"""Enclosed integrals against closed forms in Fraction and mpmath."""

from fractions import Fraction

import mpmath as mp
import pytest

from theory.evidence.enclosure import ball, hull, precision
from theory.evidence.quadrature import integral_over


def holds(ball, truth, width):
    inside = hull(ball)
    assert inside.lo <= float(truth) <= inside.hi
    assert inside.width <= width


@pytest.mark.parametrize(("lo", "hi"), [(0, 1), (Fraction(-1, 3), Fraction(5, 7)), (-2.0, 1e6)])
def test_polynomials_are_exact_to_rounding(lo, hi):
    a, b = Fraction(lo), Fraction(hi)
    truth = (b**6 - a**6) / 6 - (b**3 - a**3)
    with precision():
        found = integral_over(lambda x: x**5 - 3 * x**2, lo, hi)
        holds(found, truth, 1e-12 * max(1, abs(truth)))
        assert float(abs(found - ball(truth)).upper()) <= 1e-24 * max(1.0, float(abs(truth)))


@pytest.mark.parametrize("exponent", [-0.9, -0.5, 0.25, 1.0, 2.5, 17.0])
@pytest.mark.parametrize("power", [0, 3])
def test_factor_at_the_end(exponent, power):
    """A power of x alone, and t^power (1 - t^2)^exponent in u = 1 - t, which is half a beta function."""
    with precision(), mp.workdps(40):
        q = ball(exponent)
        plain = integral_over(lambda x: 0 * x + 1, 0, 1, exponent=exponent)
        holds(plain, 1 / (1 + Fraction(exponent)), 1e-13 / (1 + exponent))
        found = integral_over(lambda u: (1 - u) ** power * (2 - u) ** q, 0, 1, exponent=exponent)
        truth = mp.beta((mp.mpf(power) + 1) / 2, mp.mpf(exponent) + 1) / 2
        holds(found, truth, 1e-14 * (1 + float(truth)))


def test_smooth_functions_and_long_ranges():
    with precision(), mp.workdps(40):
        holds(integral_over(lambda x: x.exp(), -30, 1), mp.e - mp.exp(-30), 1e-14)
        holds(integral_over(lambda x: (-x * x).exp(), -20, 20), mp.sqrt(mp.pi), 1e-14)
        holds(integral_over(lambda x: 1 / (1 + x * x), 0, 2**40), mp.atan(2**40), 1e-14)


def test_what_is_not_smooth_is_not_known():
    with precision():
        assert not integral_over(lambda x: x.log(), -1, 1).is_finite()
        edge = hull(integral_over(lambda x: x.sqrt(), 0, 1))  # the derivative is infinite at the end
        assert edge.lo == float("-inf")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"lo": 1, "hi": 1}, r"^lo, hi: expected lo < hi"),
        ({"lo": 1, "hi": 0}, r"^lo, hi: expected lo < hi"),
        ({"lo": 0, "hi": 1, "exponent": -1}, r"^exponent: expected more than -1"),
    ],
)
def test_bad_ranges_are_refused(arguments, words):
    with precision(), pytest.raises(ValueError, match=words):
        integral_over(lambda x: x, **arguments)
