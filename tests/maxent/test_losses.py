"""Fenchel-Young losses against their three terms at sixty digits, their closed forms and their gradient."""

import math

import mpmath as mp
import numpy as np
import pytest

from tests.maxent import oracle
from theory.evidence import stream
from theory.maxent import entmax, fenchel_young_gradient, fenchel_young_loss

U = 2.0**-53
ORDERS = (1e-12, 0.1, 0.5, 1.0 - 1e-9, 1.0, 1.0 + 1e-12, 1.25, 1.5, 2.0, 3.0, 10.0)


def truth(scores, target, alpha, tau=1.0):
    with mp.workdps(oracle.DIGITS):
        y = oracle.exactly(target)
        y = [v / mp.fsum(y) for v in y]
        return float(oracle.loss(oracle.exactly(scores), y, mp.mpf(alpha), mp.mpf(tau)))


def cases():
    yield [3.0, 0.0, 0.0], [0.0, 1.0, 0.0]
    yield [3.0, 0.0, 0.0], [1.0, 0.0, 0.0]
    yield [0.5, 0.25], [0.5, 0.5]
    yield [1e3, 0.0, -1e3], [0.25, 0.25, 0.5]
    yield [0.0], [1.0]
    for case in range(4):
        rng = stream("tests.losses", case)
        yield rng.normal(size=5), rng.dirichlet(np.full(5, 0.5))


@pytest.mark.parametrize("alpha", ORDERS)
def test_three_terms(alpha):
    for scores, target in cases():
        for tau in (1.0, 0.3):
            found = float(fenchel_young_loss(scores, target, alpha, tau=tau))
            exact = truth(scores, target, alpha, tau)
            size = exact + tau * 2.0**-40 * (alpha > 2.0)  # the weights of steep orders are known to fewer digits
            assert abs(found - exact) <= 1024 * U * size + 64 * U * tau
            assert found >= 0.0


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.0 + 1e-9, 1.5, 2.0])
def test_small_losses_keep_their_digits(alpha):
    """A target at distance h from the prediction costs of the order h^2, far below the rounding of the three terms."""
    scores = np.array([0.3, 0.1, 0.0])
    p = entmax(scores, alpha)
    for h in (2.0**-6, 2.0**-12, 2.0**-20):
        target = p + h * np.array([1.0, -1.0, 0.0])
        exact = truth(scores, target, alpha)
        assert float(fenchel_young_loss(scores, target, alpha)) == pytest.approx(exact, rel=256 * U / h, abs=0.0)
    assert float(fenchel_young_loss(scores, p, alpha)) <= 64 * U**2


def test_a_confident_softmax_still_pays():
    """1.9e-13 at a gap of 30, in sixty digits; the three terms would leave a multiple of 2^-48."""
    exact = truth([30.0, 0.0, 0.0], [1.0, 0.0, 0.0], 1.0)
    found = float(fenchel_young_loss([30.0, 0.0, 0.0], [1.0, 0.0, 0.0], 1.0))
    assert found == pytest.approx(exact, rel=256 * U, abs=0.0)
    assert float(fenchel_young_loss([0.0, 5e3], [1.0, 0.0], 1.0)) == 5e3  # although the weight underflows


def test_closed_forms():
    for x in (-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 4.0):
        binary = 0.0 if x >= 1.0 else -x if x <= -1.0 else 0.25 * (1.0 - x) ** 2
        assert abs(float(fenchel_young_loss([x, 0.0], [1.0, 0.0], 2.0)) - binary) <= 32 * U * (1.0 + abs(x))
        cross = float(mp.log(1 + mp.exp(-x)))
        assert float(fenchel_young_loss([x, 0.0], [1.0, 0.0], 1.0)) == pytest.approx(cross, rel=64 * U, abs=0.0)
        hinge = max(0.0, -x)
        assert float(fenchel_young_loss([x, 0.0], [1.0, 0.0], math.inf)) == hinge
    assert float(fenchel_young_loss([3.0, 0.0, 0.0], [0.0, 1.0, 0.0], 2.0)) == 3.0


@pytest.mark.parametrize("alpha", [1.25, 1.5, 2.0, 3.0, 5.0])
def test_no_loss_at_the_margin(alpha):
    for tau in (1.0, 0.5):
        margin = tau / (alpha - 1.0) * (1.0 + 2.0**-50)
        assert float(fenchel_young_loss([margin, 0.0, 0.0], [1.0, 0.0, 0.0], alpha, tau=tau)) <= 64 * U**2
        assert float(fenchel_young_loss([0.98 * margin, 0.0, 0.0], [1.0, 0.0, 0.0], alpha, tau=tau)) > 1e-10


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.5, 2.0, 3.0])
def test_gradient(alpha):
    scores, target = np.array([0.7, 0.1, -0.4]), np.array([0.25, 0.25, 0.5])
    gradient = fenchel_young_gradient(scores, target, alpha, tau=0.7)
    with mp.workdps(oracle.DIGITS):
        y = oracle.exactly(target)
        slope = [
            oracle.derivative(
                lambda s: [oracle.loss(s, y, mp.mpf(alpha), mp.mpf(0.7))], oracle.exactly(scores), oracle.exactly(c)
            )[0]
            for c in np.eye(3)
        ]
    assert oracle.apart(gradient, slope) <= 16 * U if alpha <= 2.0 else 1e-7


def test_masks_and_batches():
    scores = np.array([[0.5, -math.inf, 0.25], [1.0, 0.0, 2.0]])
    target = np.array([[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]])
    alpha = np.array([[1.0], [2.0], [math.inf]])
    found = fenchel_young_loss(scores, target, alpha)
    assert found.shape == (3, 2)
    for i, order in enumerate(alpha[:, 0]):
        assert found[i, 0] == fenchel_young_loss([0.5, 0.25], [0.5, 0.5], order)
        assert found[i, 1] == pytest.approx(float(fenchel_young_loss(scores[1], target[1], order)), rel=16 * U, abs=0.0)
    assert fenchel_young_loss([0.0, -math.inf], [0.5, 0.5], 1.5) == math.inf
    gradient = fenchel_young_gradient(scores.T, target.T, 2.0, axis=0)
    assert np.array_equal(gradient.T, fenchel_young_gradient(scores, target, 2.0))
    assert np.array_equal(fenchel_young_gradient([1.0, 1.0], [1.0, 0.0], math.inf), [-0.5, 0.5])


@pytest.mark.parametrize("alpha", [0.25, 0.5, 1.0, 1.5, 2.0, 3.0, math.inf])
def test_gaps_beyond_the_range_of_floats_are_taken_from_the_scores(alpha):
    assert float(fenchel_young_loss([1.0, 0.0], [0.0, 1.0], alpha, tau=1e-320)) == 1.0
    assert float(fenchel_young_loss([1.0, 0.0, 0.5], [0.25, 0.5, 0.25], alpha, tau=1e-320)) == 0.625
    largest = np.array([2.0**1023, -(2.0**1023)])
    assert float(fenchel_young_loss(largest, [0.75, 0.25], alpha)) == 2.0**1022
    assert float(fenchel_young_loss(largest, [0.0, 1.0], alpha)) == math.inf
    warm = float(fenchel_young_loss(largest / 2.0, [0.5, 0.5], alpha, tau=2.0**1022)) / 2.0**1022
    assert warm == pytest.approx(float(fenchel_young_loss([1.0, -1.0], [0.5, 0.5], alpha)), rel=16 * U, abs=0.0)
    warm = float(fenchel_young_loss(largest, [0.875, 0.125], alpha, tau=2.0**1020)) / 2.0**1020
    assert warm == pytest.approx(float(fenchel_young_loss([8.0, -8.0], [0.875, 0.125], alpha)), rel=16 * U, abs=0.0)
