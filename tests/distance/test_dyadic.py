"""Doubles are integers on a grid, and sums on it are exact."""

import math
import sys
from fractions import Fraction

import numpy as np
import pytest

from theory.distance.dyadic import enclosure, grid, inner
from theory.evidence import Kind, stream

EXTREME = np.array([0.0, -0.0, 5e-324, -1.5e-310, 2.0**-1022, 1.0, -1.0 / 3.0, 2.0**53 + 2.0, sys.float_info.max])


@pytest.mark.parametrize("values", [EXTREME, EXTREME[3:], np.array([2.0**1000]), np.zeros(2), np.empty(0)])
def test_grid_is_exact(values):
    steps, e = grid(values)
    assert e <= 0
    assert [k * Fraction(2) ** e for k in steps] == [Fraction(v) for v in values.tolist()]


def test_inner_is_the_rational_sum():
    rng = stream("tests.dyadic.inner", 0)
    values = np.concatenate([EXTREME, rng.normal(size=20) * 10.0 ** rng.integers(-300, 300, size=20)])
    masses = [int(k) << 90 for k in rng.integers(0, 2**60, size=values.size)]
    assert inner(masses, values) == sum(m * Fraction(v) for m, v in zip(masses, values.tolist(), strict=True))


def test_enclosure_of_a_double_is_a_point():
    point = enclosure(Fraction(3, 8), Fraction(3, 8))
    assert (point.lo, point.hi, point.kind) == (0.375, 0.375, Kind.CERTIFIED)


@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(-1, 3), Fraction(1, 10**320), Fraction(7, 2**1074 * 4)])
def test_enclosure_is_one_step_wide(value):
    ends = enclosure(value, value)
    assert value in ends
    assert ends.hi == math.nextafter(ends.lo, math.inf)


def test_enclosure_beyond_the_range_of_doubles():
    beyond = Fraction(10) ** 400
    assert (enclosure(beyond, beyond).lo, enclosure(beyond, beyond).hi) == (sys.float_info.max, math.inf)
    assert (enclosure(-beyond, -beyond).lo, enclosure(-beyond, -beyond).hi) == (-math.inf, -sys.float_info.max)
    assert enclosure(Fraction(1, 3), beyond).hi == math.inf
