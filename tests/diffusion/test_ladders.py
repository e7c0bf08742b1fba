"""Extrapolation of ladders against exact rational sequences."""

from fractions import Fraction

import pytest

from theory.diffusion.limits import extrapolate, largest_errors
from theory.evidence import Interval


def ladder(coefficients, count):
    """Values of two polynomials in the bandwidth 2^-k, exactly; the second is twice the first plus one."""
    rows = []
    for level in range(count):
        value = sum(c * Fraction(1, 2**level) ** power for power, c in enumerate(coefficients))
        rows.append([Interval.exactly(value), Interval.exactly(2 * value + 1)])
    return rows


def test_one_step_leaves_the_second_order():
    a, b, c = Fraction(3), Fraction(5), Fraction(7)
    found = extrapolate(ladder((a, b, c), 5))
    assert len(found) == 4
    for level, (one, two) in enumerate(found):  # 2 c (e/2)^2 - c e^2 = -c e^2 / 2
        exact = a - c * Fraction(1, 4**level) / 2
        assert exact in one
        assert 2 * exact + 1 in two
        assert one.width < 1e-14


def test_two_steps_leave_a_quadratic_polynomials_constant():
    found = extrapolate(extrapolate(ladder((Fraction(3), Fraction(5), Fraction(7)), 4)), order=2)
    for one, two in found:
        assert 3 in one
        assert 7 in two
        assert one.width < 1e-13


def test_widths_are_carried():
    rows = [[Interval.within(1.0, 0.1)], [Interval.within(1.0, 0.2)]]
    (value,) = extrapolate(rows)[0]
    assert value.width == pytest.approx(2 * (2 * 0.2 + 0.1), rel=1e-12, abs=0)


def test_worst_is_the_largest_error_of_a_level():
    rows = [[Interval.exactly(1), Interval.exactly(5)], [Interval.exactly(2), Interval.within(4.0, 0.5)]]
    first, second = largest_errors(rows, [2, Interval.exactly(3)])
    assert 2 in first
    assert first.width < 1e-15
    assert second.lo == pytest.approx(0.5, rel=1e-12, abs=0)
    assert second.hi == pytest.approx(1.5, rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: extrapolate(ladder((Fraction(1),), 1)), "levels: expected at least two, got 1"),
        (lambda: extrapolate([]), "levels: expected at least two, got 0"),
        (lambda: extrapolate(ladder((Fraction(1),), 2), order=0), "order: expected an integer of at least 1"),
        (lambda: extrapolate([[Interval.exactly(1)], []]), "levels: expected equally many places"),
        (lambda: largest_errors([[]], []), "levels, truth: expected equally many"),
        (lambda: largest_errors([[Interval.exactly(1)]], [1, 2]), "levels, truth: expected equally many"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match="^" + words):
        call()


def test_a_fractional_order_is_refused():
    with pytest.raises(TypeError, match=r"^order: expected an integer"):
        extrapolate(ladder((Fraction(1),), 2), order=1.5)
