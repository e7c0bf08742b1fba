"""Norms of displacements against exact arithmetic, the quotient that must not be trusted near zero, and refusals."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from theory.attention import SquaredDistance, attend, rounding
from theory.evidence import stream
from theory.lipschitz import displacement, displacement_ratio
from theory.lipschitz.constants import distance_constant

SCORE = SquaredDistance(1.0)


def exact(x, y, p):
    """The norm by mpmath, of the floats given."""
    with mpmath.workdps(50):
        lengths = []
        for a, b in zip(x, y, strict=True):
            squares = sum((Fraction(s) - Fraction(t)) ** 2 for s, t in zip(a.tolist(), b.tolist(), strict=True))
            lengths.append(mpmath.sqrt(mpmath.mpf(squares.numerator) / squares.denominator))
        return max(lengths) if p == math.inf else mpmath.fsum(r**p for r in lengths) ** (mpmath.mpf(1) / mpmath.mpf(p))


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 11.0, math.inf])
@pytest.mark.parametrize("size", [1e-100, 1.0, 1e100])
def test_encloses_the_norm(p, size):
    rng = stream("tests.displacement", 0)
    for n, d in ((1, 1), (7, 3), (200, 2)):
        x, y = size * rng.normal(size=(n, d)), size * rng.normal(size=(n, d))
        found, truth = displacement(x, y, p), exact(x, y, p)
        assert found.lo <= truth <= found.hi
        assert found.width <= 1e-12 * found.mid


def test_errors_of_the_entries_are_charged():
    x, y = np.zeros((4, 9)), np.ones((4, 9))
    for p in (1.0, 2.0, math.inf):
        found = displacement(x, y, p, error=0.25)
        for worst in (0.5, 1.5):
            assert found.lo <= exact(x, worst * y, p) <= found.hi


def test_errors_of_the_entries_are_charged_in_full():
    """All entries off as far as they may be, against each other: the norm is off by all that is allowed."""
    n, d = 4, 9
    x, y = np.zeros((n, d)), np.ones((n, d))
    for p, share in ((1.0, 4.0), (2.0, 2.0), (math.inf, 1.0)):
        found = displacement(x, y, p, error=0.125)
        for sign in (-1.0, 1.0):
            truth = exact(x - sign * 0.125, y + sign * 0.125, p)
            assert found.lo <= truth <= found.hi
            assert abs(truth - found.mid) > 0.499 * found.width
        assert float(exact(x, y, p)) == pytest.approx(3.0 * share, rel=1e-14, abs=0.0)


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_moves_whose_squares_vanish_are_charged(p):
    """Squares below the least double are lost, and with them whole lengths."""
    y = np.array([[1e-163, 1e-163], [0.0, 1e-170]])
    found = displacement(np.zeros((2, 2)), y, p)
    assert found.lo <= exact(np.zeros((2, 2)), y, p) <= found.hi <= 1e-150
    assert found.lo == 0.0


def test_no_move_is_zero():
    assert displacement(np.ones((3, 2)), np.ones((3, 2)), 2.0).lo == 0.0
    assert displacement(np.ones((3, 2)), np.ones((3, 2))).hi <= 1e-150


def test_a_quotient_of_rounding_is_refused():
    """Tokens a few ulps apart: the quotient of what was computed exceeds the constant, and says nothing."""
    x = np.array([[1.0], [1.0 + 2.0**-40], [0.1]]) / 3.0
    y = np.nextafter(x, 1.0)
    outputs = attend(x, x, x, score=SCORE), attend(y, y, y, score=SCORE)
    with pytest.raises(ValueError, match="x, y: expected a token that moves by more than 1e-08 of the size"):
        displacement_ratio(x, y, outputs)
    error = rounding(y, y, y, score=SCORE)
    assert (displacement(*outputs, error=error) / displacement(x, y)).hi > distance_constant(3)


def test_quotient_of_a_translation_is_one():
    rng = stream("tests.displacement", 1)
    x = rng.normal(size=(6, 2))
    y = x + np.array([0.5, 0.25])
    ratio = displacement_ratio(x, y, tuple(attend(z, z, z, score=SCORE) for z in (x, y)), error=1e-13)
    assert 1.0 in ratio
    assert ratio.width < 1e-11


def test_bad_input():
    ones = np.ones((2, 2))
    with pytest.raises(ValueError, match=r"y: expected shape \(2, 2\)"):
        displacement(ones, np.ones((2, 3)))
    with pytest.raises(ValueError, match="p: expected a number in"):
        displacement(ones, ones, 0.5)
    for error in (-1.0, math.nan):
        with pytest.raises(ValueError, match="error: expected a non-negative bound"):
            displacement(ones, ones, error=error)


def test_exponents_and_errors_of_any_width_are_used_as_float64():
    x = np.zeros((1000, 3))
    exact = displacement(x, x + 1.0, 2, error=0.25)
    for kind in (np.float16, np.float32, np.float64, np.int64):
        assert displacement(x, x + 1.0, kind(2), error=np.float16(0.25)) == exact
    assert math.sqrt(3000.0) in displacement(x, x + 1.0, np.float32(2))
