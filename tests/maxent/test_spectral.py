"""The norm of the entmax Jacobian against eigenvalues at fifty digits and of dense matrices, and bad input."""

import mpmath as mp
import numpy as np
import pytest

from theory.evidence import Interval, stream
from theory.evidence.roundoff import EXP_ULPS, U
from theory.maxent.sparse import entmax_norm


def largest(weights, alpha):
    """The largest eigenvalue of the dense Jacobian at fifty digits."""
    with mp.workdps(50):
        q = [mp.mpf(float(p)) ** (2 - mp.mpf(float(alpha))) for p in weights if p > 0]
        total = mp.fsum(q)
        matrix = mp.matrix(len(q), len(q))
        for i, x in enumerate(q):
            for j, y in enumerate(q):
                matrix[i, j] = (x if i == j else 0) - x * y / total
        return max(mp.eigsy(matrix, eigvals_only=True))


def holds(interval, truth):
    with mp.workdps(50):
        return mp.mpf(interval.lo) <= truth <= mp.mpf(interval.hi)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.25, 1.5, 1.9, 2.0, 2.5, 4.0])
def test_eigenvalue_is_enclosed(alpha):
    laws = [np.array([0.5, 0.5]), np.array([0.98, 0.01, 0.01]), np.array([0.25, 0.25, 0.5, 0.0]), np.array([1.0, 0.0])]
    laws += [stream("tests.spectral", case).dirichlet(np.full(5, 0.6)) for case in range(4)]
    laws += [np.array([0.5, 0.5 - 2.0**-40, 2.0**-40]), np.array([0.5 + 2.0**-30, 0.5 - 2.0**-30])]
    for law in laws:
        found = entmax_norm(law, alpha)
        truth = largest(law, alpha)
        assert holds(found, truth) or (truth < 1e-40 and found.lo <= 0.0 <= found.hi)
        assert found.width <= 1e-13 * max(found.hi, 1e-300)


def test_counts_stand_for_repeated_weights():
    for alpha in (1.0, 1.5, 2.0):
        apart = entmax_norm([0.6, 0.1, 0.1, 0.1, 0.1], alpha)
        together = entmax_norm([0.6, 0.1], alpha, counts=[1, 4])
        assert apart.lo <= together.hi
        assert together.lo <= apart.hi
    assert entmax_norm([2.0**-50], 1.5, counts=[2.0**50]).mid == pytest.approx(2.0**-25, rel=1e-14, abs=0.0)


def test_temperature_divides():
    assert entmax_norm([0.5, 0.5], 1.0, tau=0.25).mid == pytest.approx(2.0, rel=1e-14, abs=0.0)
    assert isinstance(entmax_norm([1.0], 1.5), Interval)
    assert entmax_norm([1.0], 1.5).hi == 0.0


@pytest.mark.parametrize("alpha", [0.5, 1.5, 1.9])
def test_powers_are_charged_as_inexact(alpha):
    """Two equal weights: the eigenvalue is their power, and as far off as that may be."""
    found = entmax_norm([0.5, 0.5], alpha)
    assert found.width >= 4 * EXP_ULPS * U * 0.5 ** (2.0 - alpha)  # four units, each up to two roundings


@pytest.mark.parametrize("alpha", [0.1, 0.3, 0.9])
@pytest.mark.parametrize("light", [1e-5, 1e-50, 1e-120, 1e-170])
def test_rounded_exponents_are_charged(alpha, light):
    """Below order one 2 - alpha is rounded, which moves the power of a light weight by its logarithm."""
    p = np.array([1.0 - light, light])
    found = entmax_norm(p, alpha)
    with mp.workdps(400):
        heavy, small = (mp.mpf(float(x)) ** (2 - mp.mpf(alpha)) for x in p)
        truth = 2 * heavy * small / (heavy + small)
        assert mp.mpf(found.lo) <= truth <= mp.mpf(found.hi)


@pytest.mark.parametrize("light", [1e-160, 1.2345e-212, 1e-215, 1e-250])
@pytest.mark.parametrize("many", [1, 1000, 10**15])
def test_slopes_below_the_normal_range_are_charged_each(light, many):
    """A heavy weight among many light ones: all slopes are lost, and the eigenvalue is about their number times one."""
    p = np.array([1.0 - many * light, light])
    found = entmax_norm(p, 0.5, counts=[1, many])
    with mp.workdps(400):
        heavy, small = (mp.mpf(float(x)) ** mp.mpf(1.5) for x in p)
        truth = (many + 1) * heavy * small / (heavy + many * small)
        assert mp.mpf(found.lo) <= truth <= mp.mpf(found.hi)


def test_slopes_of_many_entries_may_be_no_floats():
    found = entmax_norm([1.0, 1e-250, 2e-250, 3e-250], 0.5)
    assert 0.0 <= found.hi <= 1e-300
    assert found.lo <= 0.0
