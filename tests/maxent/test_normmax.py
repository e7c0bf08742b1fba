"""Normmax against its definition at sixty digits, its certificate, its margin and its derivative."""

import math

import mpmath as mp
import numpy as np
import pytest

from tests.maxent import oracle
from theory.evidence import stream
from theory.maxent import normmax, normmax_vjp

U = 2.0**-53
ORDERS = (1.001, 1.1, 1.5, 2.0, 3.0, 7.0)
SMALL = np.array([-0.4, 0.1, 0.3, 1.1])


def law_of(s, alpha, tau=1):
    """Bisect the condition of the definition, on the norm of the dual space."""
    b = 1 / (alpha - 1)
    z = [(x - max(s)) / tau for x in s]

    def leads(theta, power):
        return [(x - theta) ** power if x > theta else mp.mpf(0) for x in z]

    theta = oracle.bisected(lambda v: mp.fsum(leads(v, alpha * b)) - 1, mp.mpf(-1), mp.mpf(0))
    masses = leads(theta, b)
    return [m / mp.fsum(masses) for m in masses]


@pytest.mark.parametrize("alpha", ORDERS)
def test_against_sixty_digits(alpha):
    for case, row in enumerate([SMALL, [2.0], [0.5, 0.5], [1e4, 0.0, 1e4 - 0.25], 3.0 * SMALL, np.linspace(-1, 0, 9)]):
        tau = (1.0, 0.3)[case % 2]
        with mp.workdps(oracle.DIGITS):
            truth = law_of(oracle.exactly(row), mp.mpf(alpha), mp.mpf(tau))
        bound = 32 * U if alpha <= 2.0 else (64 * alpha * U) ** (1.0 / (alpha - 1.0))
        assert oracle.apart(normmax(row, alpha, tau=tau), truth) <= bound


def test_published_value():
    """To the eight digits given, at order 3."""
    assert np.abs(normmax(SMALL, 3.0) - [0.0, 0.0, 0.28869541, 0.71130459]).max() <= 0.5e-8


@pytest.mark.parametrize("alpha", [1.5, 2.0, 3.0])
def test_certificate(alpha):
    """The gradient of <p, s> - |p| at the law is largest on its support, and constant there."""
    for case in range(5):
        s = stream("tests.normmax.certificate", case).normal(size=7)
        p = normmax(s, alpha)
        slope = s - (p / np.linalg.norm(p, alpha)) ** (alpha - 1.0)
        assert slope.max() - p @ slope <= 256 * U


@pytest.mark.parametrize("alpha", [*ORDERS, math.inf])
def test_margin_is_the_temperature(alpha):
    for tau in (0.5, 2.0):
        edge = (64 * U) ** (1.0 / (alpha - 1.0))  # what rounding leaves of a weight on the edge
        assert normmax([tau, 0.0, 0.0], alpha, tau=tau)[1] <= edge
        assert np.array_equal(normmax([1.01 * tau, 0.0, 0.0], alpha, tau=tau), [1.0, 0.0, 0.0])
        if alpha > 1.01:  # at 1.001 the weight is below 1e-300
            assert normmax([0.9 * tau, 0.0, 0.0], alpha, tau=tau)[1] > min(edge, 0.1)


def test_infinite_order_is_uniform_where_sparsemax_has_weight():
    assert np.array_equal(normmax([1.0, 0.75, 0.5, -3.0], math.inf), [1 / 3, 1 / 3, 1 / 3, 0.0])
    assert not normmax_vjp([0.5, 0.5], [1.0, 2.0], math.inf).any()


@pytest.mark.parametrize("alpha", [1.1, 1.5, 2.0, 3.0])
def test_derivative(alpha):
    for tau in (1.0, 0.6):
        p = normmax(SMALL, alpha, tau=tau)
        for c in (*np.eye(4), np.array([0.3, -2.0, 1.0, 0.5])):
            with mp.workdps(oracle.DIGITS):
                slope = oracle.derivative(
                    lambda s: law_of(s, mp.mpf(alpha), mp.mpf(tau)),  # noqa: B023
                    oracle.exactly(SMALL),
                    oracle.exactly(c),
                )
            assert oracle.apart(normmax_vjp(p, c, alpha, tau=tau), slope) <= 4096 * U


def test_masks_and_batches():
    scores = stream("tests.normmax.batch", 0).normal(size=(3, 4, 2))
    scores[1, 2, 0] = -math.inf
    scores[2, :, 1] = -math.inf
    alpha = np.array([1.5, 3.0])
    found = normmax(scores, alpha, axis=1)
    c = np.ones(scores.shape)
    product = normmax_vjp(found, c, alpha, axis=1)
    for i, j in np.ndindex(3, 2):
        assert np.abs(found[i, :, j] - normmax(scores[i, :, j], alpha[j])).max() <= 1e-7  # sqrt(u) at order 3
        assert np.abs(product[i, :, j]).max() <= 64 * U  # constants are in the kernel
    assert found[1, 2, 0] == 0.0
    assert not found[2, :, 1].any()
    assert normmax(np.float32([1.0, 0.5]), 2.0).dtype == np.float64
