"""Systems that are known up to an error, against fractions, and by columns of very different sizes."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from theory.evidence import exact, within
from theory.evidence.systems import inverse_of, solve

SYSTEM = np.array([[2.0, 0.5], [0.25, 1.0]])
KNOWN = np.array([[1.0, 1e9], [-3.0, 1e9 / 3.0]])


def solved(system, known):
    """Return the solution of a system of two rows by Cramer's rule, in fractions."""
    (a, b), (c, d) = [[Fraction(float(x)) for x in row] for row in system]
    det = a * d - b * c
    columns = [[Fraction(float(x)) for x in column] for column in np.transpose(known)]
    return [[(d * x - b * y) / det for x, y in columns], [(a * y - c * x) / det for x, y in columns]]


def test_solutions_of_exact_systems_hold_the_fractions():
    found = solve(exact(SYSTEM), KNOWN)
    truth = solved(SYSTEM, KNOWN)
    for i, j in itertools.product(range(2), repeat=2):
        assert Fraction(found.lo[i, j]) <= truth[i][j] <= Fraction(found.hi[i, j])
    assert found.radius[:, 0].max() < 1e-14  # the large column has a bound of its own


def test_solutions_of_wide_systems_hold_those_of_the_corners():
    reach = 1e-3
    found = solve(within(SYSTEM, reach), within(KNOWN, 0.5))
    for signs in itertools.product((-1, 1), repeat=8):
        moved = np.reshape(signs, (2, 4))
        truth = solved(SYSTEM + reach * moved[:, :2], KNOWN + 0.5 * moved[:, 2:])
        for i, j in itertools.product(range(2), repeat=2):
            assert Fraction(found.lo[i, j]) <= truth[i][j] <= Fraction(found.hi[i, j])


def test_floats_are_answered_floats():
    assert np.allclose(SYSTEM @ solve(SYSTEM, KNOWN), KNOWN, rtol=1e-12, atol=0)
    assert np.array_equal(inverse_of(SYSTEM), np.linalg.inv(SYSTEM))


def test_systems_that_may_have_no_inverse_are_refused():
    with pytest.raises(ValueError, match=r"^system: expected one that certainly has an inverse"):
        solve(within(SYSTEM, 2.0), KNOWN)
