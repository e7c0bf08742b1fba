"""Norms of displacements against exact arithmetic, the quotient that must not be trusted near zero, and refusals."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from theory.attention import SquaredDistance, attend
from theory.evidence import exact, stream, within
from theory.lipschitz import displacement, displacement_ratio

SCORE = SquaredDistance(1.0)


def norm_of(x, y, p):
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
        found = displacement(x, y, p)
        truth = norm_of(x, y, p)
        assert found.lo <= truth <= found.hi
        assert found.width <= 1e-12 * found.mid


def test_errors_of_the_entries_travel():
    """All entries off as far as they may be, against each other: the norm is off by all that is allowed."""
    n, d = 4, 9
    x = np.zeros((n, d))
    y = np.ones((n, d))
    for p in (1.0, 2.0, math.inf):
        found = displacement(within(x, 0.125), within(y, 0.125), p)
        for sign in (-1.0, 1.0):
            truth = norm_of(x - sign * 0.125, y + sign * 0.125, p)
            assert found.lo <= truth <= found.hi
            assert abs(truth - found.mid) > 0.499 * found.width


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_moves_whose_squares_vanish_are_charged(p):
    """Squares below the least double are not lost: lengths are measured in units of the largest."""
    y = np.array([[1e-163, 1e-163], [0.0, 1e-170]])
    found = displacement(np.zeros((2, 2)), y, p)
    assert found.lo <= norm_of(np.zeros((2, 2)), y, p) <= found.hi <= 1e-150
    assert found.lo > 0.0


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


def test_quotient_of_a_translation_is_one():
    rng = stream("tests.displacement", 1)
    x = rng.normal(size=(6, 2))
    y = x + np.array([0.5, 0.25])
    ratio = displacement_ratio(x, y, tuple(attend(z, z, z, score=SCORE) for z in (exact(x), exact(y))))
    assert 1.0 in ratio
    assert ratio.width < 1e-11


def test_of_a_token_that_is_unknown_nothing_is_known():
    known = np.array([[0.0, 1.0], [2.0, 3.0]])
    lost = within(known, [[0.0, 0.0], [np.inf, 0.0]])
    for pair in ((exact(known), lost), (lost, exact(known))):
        found = displacement(*pair)
        assert (found.lo, found.hi) == (0.0, np.inf)
