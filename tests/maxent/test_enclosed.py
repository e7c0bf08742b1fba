"""Instruments asked with enclosures: what they answer holds the value at every point inside, corners first."""

import itertools

import mpmath as mp
import numpy as np
import pytest

from theory import Measure
from theory.evidence import Intervals, Kind, balls, exact, stream, within
from theory.maxent import (
    BetaGaussian,
    budget,
    entmax,
    entmax15,
    entmax_value,
    entmax_vjp,
    frank_wolfe_gap,
    fusedmax,
    log_softmax,
    softmax,
    softmax_value,
    softmax_vjp,
    sparsemax,
)
from theory.maxent.densities import density_on_cells
from theory.maxent.densities.enclosed import enclose_normaliser
from theory.maxent.gibbs import (
    divergence,
    entropy,
    expectation,
    free_energy,
    gibbs_law,
    induced_norms,
    match_moments,
    mean_multiplier,
    softmax_jacobian,
)
from theory.maxent.layers import cosine
from theory.maxent.sparse import entmax_alpha_derivative, entmax_norm, entmax_threshold, tsallis

REACH = 2.0**-7
SCORES = np.array([1.0, 0.75, -0.5])
WEIGHTS = np.array([0.5, 0.3, 0.2])
PULL = np.array([0.0, 1.0, 0.0])
OTHER = np.array([0.25, 0.25, 0.5])
MATRIX = np.array([[1.0, 0.5, -0.25], [0.5, 1.0, 0.0], [0.25, -0.5, 1.0]])
ORDERS = (0.5, 1.0, 1.5, 2.0, 3.0)

OF_SCORES = {
    "softmax": lambda s: softmax(s, tau=0.5),
    "softmax of rows": lambda s: softmax(np.stack([s, 2.0 * s])),
    "log_softmax": log_softmax,
    "softmax_value": lambda s: softmax_value(s, tau=0.5),
    "gibbs_law": lambda s: gibbs_law(s, tau=0.5).weights,
    "free_energy": lambda s: free_energy(s, WEIGHTS, tau=0.5),
    "sparsemax": lambda s: sparsemax(s, tau=0.5),
    "entmax15": entmax15,
    "budget": lambda s: budget(s, 1.5),
    "fusedmax": lambda s: fusedmax(s, 0.1),
    "cosine": lambda s: cosine(WEIGHTS, s),
    **{f"entmax {a}": lambda s, a=a: entmax(s, a, tau=0.5) for a in ORDERS},
    **{f"entmax_value {a}": lambda s, a=a: entmax_value(s, a, tau=0.5) for a in ORDERS},
    **{f"entmax_threshold {a}": lambda s, a=a: entmax_threshold(s, a, tau=0.5) for a in ORDERS},
}
OF_WEIGHTS = {
    "softmax_jacobian": lambda p: softmax_jacobian(p, tau=0.5),
    "softmax_vjp": lambda p: softmax_vjp(p, PULL, tau=0.5),
    "entmax_norm": lambda p: entmax_norm(p, 1.5),
    **{f"entmax_vjp {a}": lambda p, a=a: entmax_vjp(p, PULL, a) for a in ORDERS},
    **{f"entmax_alpha_derivative {a}": lambda p, a=a: entmax_alpha_derivative(p, a) for a in ORDERS},
    "entropy": entropy,
    "expectation": lambda p: expectation(p, SCORES),
    "divergence": lambda p: divergence(p, OTHER),
    **{f"tsallis {a}": lambda p, a=a: tsallis(p, a) for a in ORDERS},
}


def inside(around):
    """Points inside: every corner, then random ones."""
    for signs in itertools.product((-1.0, 1.0), repeat=around.size):
        yield np.where(np.array(signs) < 0.0, around.lo.ravel(), around.hi.ravel()).reshape(around.shape)
    rng = stream("tests.maxent.enclosed", around.size)
    for _ in range(20):
        yield rng.uniform(around.lo, around.hi)


def holds(found, value):
    """Tell whether an enclosure meets the value, or the interval around it."""
    lo, hi = (getattr(value, end, value) for end in ("lo", "hi"))
    return bool((np.asarray(found.lo) <= hi).all() and (np.asarray(found.hi) >= lo).all())


@pytest.mark.parametrize("name", OF_SCORES)
def test_scores_that_are_known_up_to_an_error(name):
    around = Intervals(SCORES - REACH, SCORES + REACH)
    found = OF_SCORES[name](around)
    for point in inside(around):
        assert holds(found, OF_SCORES[name](point))
    assert np.asarray(OF_SCORES[name](exact(SCORES)).width).max() <= (2e-7 if " 3.0" in name else 1e-12)


@pytest.mark.parametrize("name", OF_WEIGHTS)
@pytest.mark.parametrize("moved", [0, 1, 2])
def test_weights_that_are_known_up_to_an_error(name, moved):
    """One weight gives to the next, of which both have a width, the third none."""
    way = np.roll(np.array([1.0, -1.0, 0.0]), moved)
    around = Intervals(WEIGHTS - REACH * abs(way), WEIGHTS + REACH * abs(way))
    found = OF_WEIGHTS[name](around)
    for share in np.linspace(-1.0, 1.0, 9):
        assert holds(found, OF_WEIGHTS[name](WEIGHTS + share * REACH * way))
    assert np.asarray(OF_WEIGHTS[name](exact(WEIGHTS)).width).max() <= 1e-12


@pytest.mark.parametrize("alone", [0, 1, 2])
def test_a_derivative_sees_the_error_of_every_other_weight(alone):
    """A single weight has a width: entries of exact weights move with the mean only."""
    away = REACH * np.eye(3)[alone]
    found = softmax_vjp(Intervals(WEIGHTS - away, WEIGHTS + away), np.eye(3)[alone])
    for p in (WEIGHTS - away, WEIGHTS + away):
        assert holds(found, p * (np.eye(3)[alone] - p[alone]))


def test_temperature_and_prior_that_are_known_up_to_an_error():
    warm = exact(0.5) + exact(REACH) * Intervals([-1.0], [1.0])[0]
    prior = Intervals(OTHER * (1.0 - REACH), OTHER * (1.0 + REACH))
    by_tau, by_prior = softmax(SCORES, tau=warm), softmax(SCORES, prior=prior)
    value = softmax_value(SCORES, tau=warm)
    even = softmax_value(np.zeros(3), tau=warm)
    for tau in (0.5 - REACH, 0.5, 0.5 + REACH):
        assert holds(even, softmax_value(np.zeros(3), tau=tau))
        assert holds(by_tau, softmax(SCORES, tau=tau))
        assert holds(value, softmax_value(SCORES, tau=tau))
    for masses in inside(prior):
        assert holds(by_prior, softmax(SCORES, prior=masses / masses.sum()))


def test_masked_entries_are_exactly_zero():
    found = softmax(np.array([1.0, -np.inf, 0.5]), tau=exact(1.0))
    assert (found.lo[1], found.hi[1]) == (0.0, 0.0)
    assert holds(found, softmax(np.array([1.0, -np.inf, 0.5])))


def test_weights_that_may_vanish():
    p = Intervals([0.0, 0.5], [0.25, 1.0])
    for first in np.linspace(0.0, 0.25, 9):
        law = np.array([first, 1.0 - first])
        assert holds(entropy(p), entropy(law))
        assert holds(divergence(p, OTHER[:2] * 2.0), divergence(law, OTHER[:2] * 2.0))
    turning = Intervals([0.25, 0.5], [0.5, 0.75])  # around 1/e, where a summand is largest
    assert entropy(turning).hi >= np.exp(-1.0) + 0.5 * np.log(2.0) - 1e-12
    with pytest.raises(ValueError, match=r"^reference: expected mass wherever weights have some, got none at index 0"):
        divergence(p, exact([0.0, 1.0]))


def test_norms_of_a_matrix_that_is_known_up_to_an_error():
    found = induced_norms(Intervals(MATRIX - REACH, MATRIX + REACH))
    for point in inside(Intervals(MATRIX - REACH, MATRIX + REACH)):
        for norm, value in zip(found, induced_norms(point), strict=True):
            assert norm.lo <= value <= norm.hi


def test_gaps_of_enclosures():
    slope = Intervals(SCORES - REACH, SCORES + REACH)
    law = Intervals(WEIGHTS, WEIGHTS)
    for point in inside(slope):
        assert point.max() - WEIGHTS @ point in frank_wolfe_gap(slope, law)


def test_multipliers_and_moments():
    s = np.array([0.0, 1.0, 3.0])
    law = softmax(0.5 * s)
    around = mean_multiplier(s, exact(float(law @ s)))
    assert 0.5 in around
    assert around.width <= 1e-12
    missed = Intervals([float(law @ s) - REACH], [float(law @ s) + REACH])
    assert 0.5 in mean_multiplier(s, missed[0])
    assert mean_multiplier(s, missed[0]).width > REACH
    found = match_moments(Measure(s[:, np.newaxis]), exact(s)[:, np.newaxis], missed)
    for moment in inside(missed):
        assert holds(found.residual, found.measure.weights.mid @ s - moment)


@pytest.mark.parametrize("alpha", [0.75, 1.0, 1.5])
def test_a_normaliser_that_was_found_badly(alpha):
    f, mu = np.array([0.5, 0.25, 0.0]), np.array([0.5, 1.0, 0.75])
    near = density_on_cells(f, mu, alpha).normaliser
    found = enclose_normaliser(near + 1e-9, balls(f), balls(mu), alpha)
    assert near in found
    assert found.width <= 1e-8


@pytest.mark.parametrize("alpha", [0.75, 1.25, 2.0])
def test_densities_of_a_scatter_that_is_nearly_singular(alpha):
    """The law of a scatter with a neighbouring entry is a law of the same digits, as far as they go."""
    scatter = np.array([[1.0, 1.0 - 2.0**-20], [1.0 - 2.0**-20, 1.0]])
    nearby = scatter + 2.0**-52 * np.eye(2)
    x = np.array([0.25, 0.2500001])
    found = BetaGaussian(np.zeros(2), scatter, alpha).enclosed().density(x)
    assert float(BetaGaussian(np.zeros(2), nearby, alpha).density(x)) in found
    assert found.width <= 1e-6 * found.lo


def test_a_prior_that_may_vanish_leaves_the_weight_open():
    found = softmax(np.zeros(2), prior=Intervals([0.0, 0.8], [0.2, 1.0]))
    assert np.array([0.0, 1.0]) in found


@pytest.mark.parametrize(
    "asked",
    [
        softmax, log_softmax, softmax_value, lambda s: entmax(s, 1.5), lambda s: budget(s, 1.0),
        lambda s: softmax_vjp(softmax(s), [1.0, 2.0]),
    ],
)  # fmt: skip
def test_the_kind_of_scores_is_that_of_the_answer(asked):
    assert asked(within(np.zeros(2), 0.1, Kind.STATISTICAL)).kind is Kind.STATISTICAL


@pytest.mark.parametrize("alpha", [0.7, 0.9, 1.3])
@pytest.mark.parametrize("light", [1e-5, 1e-50, 1e-120])
def test_a_derivative_at_a_light_weight_is_charged_the_rounding_of_its_order(alpha, light):
    """Below order one 2 - alpha is rounded; the law is known exactly, so that nothing else is charged."""
    p = np.array([1.0 - light, light])
    found = entmax_vjp(exact(p), np.array([0.0, 1.0]), alpha)
    with mp.workdps(400):
        heavy, small = (mp.mpf(float(x)) ** (2 - mp.mpf(alpha)) for x in p)
        truth = heavy * small / (heavy + small)
        for sign, low, high in zip((-1, 1), found.lo.tolist(), found.hi.tolist(), strict=True):
            assert mp.mpf(low) <= sign * truth <= mp.mpf(high)


@pytest.mark.parametrize("alpha", [0.5, 1.5, 2.2, 5.0, 10.0])
@pytest.mark.parametrize("share", [0.01, 0.3, 0.45])
def test_a_derivative_at_weights_of_large_widths(alpha, share):
    """Above order 2 slopes of light weights grow faster than their first derivative tells."""
    p = np.array([0.2, 0.8])
    found = entmax_vjp(Intervals(p - share * p[0], p + share * p[0]), np.array([0.0, 1.0]), alpha)
    for way in (-1.0, -0.5, 0.5, 0.999):
        light = p[0] + way * share * p[0]
        a, b = light ** (2.0 - alpha), (1.0 - light) ** (2.0 - alpha)
        truth = a * b / (a + b)
        assert (found.lo <= truth * np.array([-1.0, 1.0])).all()
        assert (found.hi >= truth * np.array([-1.0, 1.0])).all()


def test_a_derivative_at_a_weight_that_may_vanish_is_unknown_above_order_two():
    found = entmax_vjp(within(np.array([0.9, 0.1]), 0.1), np.array([0.0, 1.0]), 3.0)
    assert found.hi[1] == np.inf


@pytest.mark.parametrize("alpha", [1.7, 1.9, 1.99])
@pytest.mark.parametrize("light", [1e-120, 1.3e-170, 1e-250])
def test_a_derivative_in_the_order_is_charged_the_rounding_of_its_exponent(alpha, light):
    """The computed power of a light weight is off by u|e log p| of itself."""
    rest = light * np.array([1.0, 1.1, 1.3, 1.7])
    p = np.append(rest, 1.0)
    found = entmax_alpha_derivative(exact(p), alpha)
    with mp.workdps(400):
        e = mp.mpf(alpha) - 1
        weights = [mp.mpf(float(x)) for x in p]
        slopes = [x ** (1 - e) for x in weights]
        own = [(x - q - e * x * mp.log(x)) / e**2 for x, q in zip(weights, slopes, strict=True)]
        mean = sum(own) / sum(slopes)
        for r, q, low, high in zip(own, slopes, found.lo.tolist(), found.hi.tolist(), strict=True):
            assert mp.mpf(low) <= r - q * mean <= mp.mpf(high)
