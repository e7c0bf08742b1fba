"""Halving the threshold: its bracket, its end against sixty digits and against the Newton solver, and bad input."""

import mpmath as mp
import numpy as np
import pytest

from tests.maxent import oracle
from theory.evidence import stream
from theory.maxent import entmax
from theory.maxent.sparse import bisect_entmax

ROWS = [
    np.array([3.0]),
    np.zeros(4),
    np.array([0.7, 0.1, -0.4, 0.35, -3.0]),
    stream("tests.bisection", 0).normal(size=9),
]


@pytest.mark.parametrize("alpha", [1.1, 1.5, 2.0, 3.0])
def test_many_halvings_give_entmax(alpha):
    for row in ROWS:
        for tau in (0.5, 1.0, 4.0):
            found = bisect_entmax(row, alpha, 60, tau=tau, normalised=True)
            assert oracle.apart(found, oracle.entmax(row, alpha, tau)) <= 1e-7
            if alpha <= 2.0:
                assert np.abs(found - entmax(row, alpha, tau=tau)).max() <= 1e-14 / (alpha - 1.0)
            assert abs(found.sum() - 1.0) <= 1e-15


def test_the_midpoints_are_those_of_the_bracket():
    """The base of the largest weight is the distance of the midpoint to the largest score."""
    row = ROWS[2]
    alpha = 1.5
    with mp.workdps(30):
        weights = oracle.entmax(row, alpha)
        theta = mp.mpf(row.max()) / 2 - mp.sqrt(max(weights))
        width = 1 - mp.mpf(row.size) ** (1 - mp.mpf(alpha))
        for halvings in (1, 2, 5, 20):
            powers = bisect_entmax(row, alpha, halvings)
            middle = mp.mpf(row.max()) / 2 - mp.sqrt(mp.mpf(powers.max()))
            assert abs(middle - theta) <= width * mp.mpf(2) ** -halvings * (1 + mp.mpf("1e-10"))


def test_the_sum_is_one_only_if_it_is_made_so():
    assert bisect_entmax([1.0, 0.0], 1.5, 1).sum() != 1.0
    assert bisect_entmax([1.0, 0.0], 1.5, 1, normalised=True).sum() == 1.0
