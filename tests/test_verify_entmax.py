"""The power series by which the derivatives of entmax are judged, against differences at sixty digits."""

import mpmath as mp
import numpy as np
import pytest

from tests.maxent import oracle
from theory.evidence import exact, stream
from theory.evidence.enclosure import ends, precision
from theory.maxent import entmax, entmax_vjp
from theory.maxent.sparse import entmax_alpha_derivative
from verify.maxent.test_entmax_derivatives import series

ROW = np.array([0.7, 0.1, -0.4, 0.35])
ALPHAS = (0.5, 0.9, 1.0, 1.0 + 1e-9, 1.25, 1.5, 1.75, 2.0)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_series_along_scores(alpha):
    way = stream("tests.verify.entmax", 0).normal(size=ROW.size)
    with precision():
        middle, radius = ends(series(tuple(ROW), alpha, 0.8, along=tuple(way)))
    with mp.workdps(oracle.DIGITS):
        slope = oracle.derivative(
            lambda s: oracle.entmax_of(s, mp.mpf(alpha), mp.mpf(0.8)), oracle.exactly(ROW), oracle.exactly(way)
        )
    assert oracle.apart(middle, slope) <= 1e-15
    assert radius.max() <= 1e-15
    found = entmax_vjp(entmax(exact(ROW), alpha, tau=0.8), way, alpha, tau=0.8)
    assert middle in found
    assert found.width.max() <= 2e-13


@pytest.mark.parametrize("alpha", ALPHAS)
def test_series_along_the_order(alpha):
    with precision():
        middle, radius = ends(series(tuple(ROW), alpha, 1.0, faster=1))
    with mp.workdps(oracle.DIGITS):
        slope = oracle.derivative(lambda a: oracle.entmax_of(oracle.exactly(ROW), a[0]), [mp.mpf(alpha)], [mp.mpf(1)])
    assert oracle.apart(middle, slope) <= 1e-15
    assert radius.max() <= 1e-15
    found = entmax_alpha_derivative(entmax(exact(ROW), alpha), alpha)
    assert middle in found
    assert found.width.max() <= 2e-12
