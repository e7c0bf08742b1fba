"""Convolutions of enclosures hold the exact ones of every member, and are as wide as what they are made of says."""

from fractions import Fraction

import numpy as np
import pytest

from theory.evidence import Intervals, exact, stream
from theory.evidence.roundoff import gamma


def convolve(x, y):
    """The full convolution of two lists of fractions."""
    found = [Fraction(0)] * (len(x) + len(y) - 1)
    for i, a in enumerate(x):
        for j, b in enumerate(y):
            found[i + j] += a * b
    return found


@pytest.mark.parametrize("case", range(6))
@pytest.mark.parametrize("width", [0.0, 1e-3])
def test_every_member_is_held(case, width):
    rng = stream("tests.convolution", case)
    x = rng.normal(size=5) * 10.0 ** rng.integers(-9, 9, size=5)
    y = rng.normal(size=3)
    left = Intervals(x - width, x + width) if width else exact(x)
    held = np.convolve(left, y)
    for sign in (-1, 0, 1):
        member = [Fraction(end) for end in (left.lo, x, left.hi)[sign + 1].tolist()]
        for lo, hi, truth in zip(held.lo, held.hi, convolve(member, [Fraction(b) for b in y]), strict=True):
            assert Fraction(lo) <= truth <= Fraction(hi)


def test_what_is_rounded_and_what_is_wide_is_charged():
    x, y = np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.25])
    assert (np.convolve(exact(x), y).width >= 2.0 * gamma(2) * np.convolve(x, y)).all()
    wide = np.convolve(Intervals(x - 0.5, x + 0.5), y, "valid")
    assert (wide.width >= 0.75).all()
