"""Entropy, divergence, free energy and softmax: every interval holds the truth in ball arithmetic, and is narrow."""

import math

import numpy as np
import pytest

from tests.attention.inputs import DISGUISES, disguised
from theory.evidence import Kind, ball, exact, stream
from theory.evidence.enclosure import balls, hull, precision
from theory.maxent.gibbs import Law, divergence, entropy, expectation, free_energy, gibbs_law, log_partition

LAW, OTHER = np.array([0.5, 0.25, 0.25]), np.array([0.25, 0.25, 0.5])
NARROW = 1e-12  # of the largest summand: what is wider says too little to decide a theorem


def laws():
    """Laws on which entropy code tends to be wrong, then random ones."""
    yield from (
        np.ones(1),
        np.array([1.0, 0.0]),
        np.array([0.0, 0.0, 1.0]),
        np.full(7, 1 / 7),
        np.array([1.0, 1e-300]),
        np.array([1.0, 1e-320, 0.0]),
        np.concatenate([np.ones(1), np.full(1000, 1e-320)]),
        np.array([1.0 - 2.0**-53, 2.0**-53]),
        np.array([1e-300, 0.5, 0.5, 5e-324]),
    )
    for case in range(10):
        rng = stream("tests.gibbs.laws", case)
        law = rng.dirichlet(np.full(int(rng.integers(1, 60)), 10.0 ** rng.integers(-2, 2)))
        yield law / math.fsum(law)


LAWS = [pytest.param(law, id=f"{number}") for number, law in enumerate(laws())]


def xlogx(ball):
    return ball * ball.log() if ball > 0 else ball


@precision()
def exact_entropy(law):
    return -sum(xlogx(p) for p in balls(law))


@precision()
def exact_divergence(law, reference):
    return sum(p * (p / q).log() for p, q in zip(balls(law), balls(reference), strict=True) if p > 0)


@precision()
def exact_mean(law, values):
    return balls(law) @ balls(values)


def holds(interval, ball, size=1.0):
    """Tell whether the interval meets the ball, which is as thin as a hair, and is narrow beside ``size``."""
    truth = hull(ball)
    narrow = interval.width <= NARROW * size + 2.0**-1000
    return interval.lo <= truth.hi and interval.hi >= truth.lo and narrow and interval.kind is Kind.NUMERIC


@pytest.mark.parametrize("law", LAWS)
def test_entropy(law):
    assert holds(entropy(law), exact_entropy(law), size=1.0 + math.log(law.size))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("size", [1e-300, 1e-20, 1.0, 1e3, 1e300])
def test_expectation(law, size):
    values = size * stream("tests.gibbs.values", law.size).normal(size=law.size)
    assert holds(expectation(law, values), exact_mean(law, values), size=size)


def test_products_below_the_normal_range_are_charged():
    """A thousand equal products, each rounded the same way to a few units of the smallest double."""
    law, values = np.full(1001, 1e-300), np.full(1001, 1.3e-22)
    law[0], values[0] = 1.0, 0.0
    assert holds(expectation(law, values), exact_mean(law, values))


@pytest.mark.parametrize("law", LAWS)
def test_divergence(law):
    rng = stream("tests.gibbs.reference", law.size)
    for masses in (np.ones(law.size), rng.exponential(size=law.size), 10.0 ** rng.integers(-300, 1, size=law.size)):
        reference = masses / math.fsum(masses)
        assert holds(divergence(law, reference), exact_divergence(law, reference), size=1e3 + math.log(law.size))
    same = divergence(law, law)
    assert same.lo <= 0.0 <= same.hi


@pytest.mark.parametrize("tau", [1e-300, 1e-3, 1.0, 7.0, 1e3])
@pytest.mark.parametrize("law", LAWS)
def test_free_energy(law, tau):
    scores = 10.0 * stream("tests.gibbs.scores", law.size).normal(size=law.size)
    with precision():
        truth = exact_mean(law, scores) + ball(tau) * exact_entropy(law)
    assert holds(free_energy(scores, law, tau=tau), truth, size=40.0 + tau * (1.0 + math.log(law.size)))


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e3, 1e8])
@pytest.mark.parametrize("law", LAWS)
def test_log_partition(law, size):
    scores = size * stream("tests.gibbs.partition", law.size).normal(size=law.size)
    with precision():
        truth = exact.laws(balls(scores)[np.newaxis], law)[1][0].log()
    assert holds(log_partition(scores, law), truth, size=1e3 + size)


@pytest.mark.parametrize("tau", [1e-12, 0.1, 1.0, 30.0])
def test_softmax_and_its_error(tau):
    for case, n in enumerate((1, 2, 10, 200)):
        rng = stream("tests.gibbs.softmax", case)
        for scores in (rng.normal(size=n), 100.0 * rng.normal(size=n), np.full(n, 1e4), np.arange(float(n))):
            law = gibbs_law(scores * min(tau, 1.0), tau=tau)
            with precision():
                truth = exact.laws((balls(scores * min(tau, 1.0)) / ball(tau))[np.newaxis])[0][0]
            assert exact.relatively_apart(law.weights, truth) <= law.error


def test_closed_forms():
    assert math.log(2.0) in entropy([0.5, 0.5]) or abs(entropy([0.5, 0.5]).mid - math.log(2.0)) <= 2.0**-52
    assert 0.0 in entropy([0.0, 1.0])
    assert 1.25 in expectation(LAW, [2.0, 1.0, 0.0])
    ratio = divergence(LAW, OTHER)  # 1/2 log 2 - 1/4 log 2
    assert ratio.lo <= math.log(2.0) / 4.0 * (1 + 2.0**-50)
    assert ratio.hi >= math.log(2.0) / 4.0 * (1 - 2.0**-50)
    law = gibbs_law([0.0, math.log(3.0)])
    assert isinstance(law, Law)
    assert np.abs(law.weights - [0.25, 0.75]).max() <= law.error + 2.0**-52
    cold = gibbs_law([0.0, 1.0], tau=1e-3).weights
    assert cold[1] == 1.0
    hot = gibbs_law([0.0, 1.0], tau=1e6)
    assert abs(hot.weights[1] - 0.5) <= 1e-6


def test_shifted_scores_change_nothing():
    scores = np.array([0.5, -1.25, 3.0])
    here, there = gibbs_law(scores), gibbs_law(scores + 1000.0)
    assert np.abs(here.weights - there.weights).max() <= here.error + there.error


def test_extreme_scores_are_handled_or_refused():
    """Beyond 1e16 scores have no digit left for a difference of one: the bound then says that nothing is known."""
    law = gibbs_law([1e18, 0.0])
    assert np.array_equal(law.weights, [1.0, 0.0])
    assert law.error >= 1.0
    with pytest.raises(ValueError, match=r"^(tau|scores): expected "):
        gibbs_law([1.0, 2.0], tau=1e-310)


@pytest.mark.parametrize("kind", DISGUISES)
def test_arrays_taken_exactly(kind):
    values = np.array([1.0, 0.0, 3.0])
    point = np.array([0.0, 1.0, 0.0])
    given = disguised(values)[kind]
    assert expectation(LAW, given) == expectation(LAW, values)
    assert free_energy(given, LAW) == free_energy(values, LAW)
    assert log_partition(given, LAW) == log_partition(values, LAW)
    assert np.array_equal(gibbs_law(given).weights, gibbs_law(values).weights)
    law = disguised(point)[kind]
    assert entropy(law) == entropy(point)
    assert divergence(law, LAW) == divergence(point, LAW)


def test_divergence_demands_absolute_continuity():
    with pytest.raises(ValueError, match=r"^reference: expected mass wherever weights have some, got none at index 1$"):
        divergence(LAW, [0.5, 0.0, 0.5])
    assert divergence([0.5, 0.0, 0.5], LAW).lo > 0.0
