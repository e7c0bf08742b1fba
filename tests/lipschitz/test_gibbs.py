"""Constants of the Boltzmann-Gibbs transform against mpmath, fractions and enumeration; witnesses; bad input."""

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest

from theory.attention import Measure, boltzmann_gibbs
from theory.attention.score import Constants
from theory.distance import w1_line
from theory.evidence import stream
from theory.lipschitz import witnesses
from theory.lipschitz.constants import (
    contaminated_share,
    logit_distance,
    lookup_constant,
    mean_distance,
    query_distance,
    query_slope,
    sampling_deviation,
    sampling_distance,
    transform_constant,
    unseen_distance,
    weight_constant,
    with_temperature,
)
from theory.lipschitz.studies import contamination as study, fluctuations
from theory.lipschitz.studies.contamination import BATCHES, RARE, SLOPES, outlier_effect, sampled_error


def near(value, exact, rtol=1e-13):
    return abs(mpmath.mpf(value) - exact) <= rtol * abs(exact)


@pytest.mark.parametrize(("o", "slope", "size"), [(1.0, 2.0, 1.0), (0.0, 0.0, 3.0), (300.0, 0.25, 1e-3)])
def test_closed_forms(o, slope, size):
    with mpmath.workdps(40):
        assert near(transform_constant(o, slope, size, 3.0), 3 * mpmath.exp(o) * (1 + mpmath.mpf(size) * slope), 1e-12)
        assert near(query_distance(o, size), size * mpmath.tanh(mpmath.mpf(o) / 4)) or o == 0.0
        assert near(logit_distance(o, size), size * mpmath.tanh(mpmath.mpf(o) / 2)) or o == 0.0
        for share in (1e-12, 0.01, 0.5, 1.0):
            grown = mpmath.mpf(share) * mpmath.exp(o)
            assert near(contaminated_share(share, o), grown / (1 - mpmath.mpf(share) + grown))
    assert contaminated_share(0.0, o) == 0.0
    assert query_distance(0.0, size) == logit_distance(0.0, size) == 0.0


def test_constants_of_weights_and_scores():
    assert weight_constant(3.0, 2.0, 0.5, 0.25) == 16.0
    score = Constants(4.0, 2.0, 8.0, 1.0)
    assert query_slope(score, 2.0) == 1.0
    assert query_slope(score, 16.0) == 16.0
    assert with_temperature(score, 0.5) == Constants(8.0, 4.0, 16.0, 2.0)
    assert lookup_constant([[0.0], [1.0], [3.0]], [[0.0, 0.0], [3.0, 4.0], [3.0, 6.0]]) == 5.0
    assert sampling_distance(3.0, 9) == 0.5
    assert unseen_distance(0.5, 4, 2) == 0.28125


def test_the_ramp_stretches_as_far_as_the_constant():
    mu, nu, potential = witnesses.light_ramp(2.0, 0.5, 1e-6, 1e-5)
    laws = [boltzmann_gibbs(law, potential) for law in (mu, nu)]
    ratio = w1_line(*laws).mid / w1_line(mu, nu).mid
    assert ratio == pytest.approx(8.1547, rel=1e-4, abs=0.0)
    assert 0.9999 < ratio / transform_constant(1.0, 2.0, 1.0) < 1.0


def test_the_light_atom_attains_the_constant_of_total_variation():
    mu, nu, potential = witnesses.light_atom(2.0, 1e-4)
    gained = boltzmann_gibbs(mu, potential).weights[1] - boltzmann_gibbs(nu, potential).weights[1]
    assert gained == pytest.approx(7.384e-4, rel=1e-4, abs=0.0)
    mass = 1.0 - 1e-4 + 1e-4 * math.exp(2.0)
    assert gained == pytest.approx(weight_constant(math.exp(2.0), 0.0, 0.0, mass) * 1e-4, rel=1e-12, abs=0.0)


def test_deviation_of_uniform_tokens_is_that_of_mpmath():
    nodes, weights = np.polynomial.legendre.leggauss(40)
    mu = Measure.normalised(nodes[:, np.newaxis], weights)
    with mpmath.workdps(30):
        for b, printed in ((1, "0.54267"), (3, "0.40313")):
            mass = mpmath.quad(lambda y, b=b: mpmath.exp(b * y), [-1, 1]) / 2
            c = mpmath.quad(lambda y, b=b: y * mpmath.exp(b * y), [-1, 1]) / 2 / mass
            square = mpmath.quad(lambda y, b=b, c=c: mpmath.exp(2 * b * y) * (y - c) ** 2, [-1, 1]) / 2
            assert near(sampling_deviation(mu, b * nodes), mpmath.sqrt(square) / mass)
            assert near(sampling_deviation(mu, b * nodes + 700.0), mpmath.sqrt(square) / mass, 1e-11)
            assert mpmath.nstr(mpmath.sqrt(square) / mass, 5) == printed


def test_deviation_leaves_atoms_without_mass_out():
    mu = Measure([[0.0], [1.0], [9.0]], [0.5, 0.5, 0.0])
    assert sampling_deviation(mu, [0.0, 1.0, 800.0]) == sampling_deviation(Measure([[0.0], [1.0]]), [0.0, 1.0])


@pytest.mark.parametrize("n", [1, 2, 5])
def test_mean_distance_is_the_average_over_all_samples(n):
    rng = stream("tests.gibbs.mean", n)
    points = rng.normal(size=(3, 1))
    masses = np.array([1, 2, 5]) / 8
    mu = Measure(points, masses)
    total = Fraction(0)
    for drawn in product(range(3), repeat=n):
        chance = math.prod(Fraction(float(masses[k])) for k in drawn)
        total += chance * Fraction(w1_line(Measure(points[list(drawn)]), mu).mid)
    assert mean_distance(mu, n) == pytest.approx(float(total), rel=1e-12, abs=0.0)


def test_mean_distance_of_a_million_draws_loses_what_is_said():
    off = 0.0
    n = 10**6
    with mpmath.workdps(40):
        for p in np.random.default_rng(0).uniform(0.01, 0.5, size=30).tolist():
            mu = Measure.normalised([[0.0], [1.0]], [p, 1.0 - p])
            share = mpmath.mpf(float(mu.weights[0]))
            nu = int(mpmath.floor(n * share)) + 1
            log = mpmath.loggamma(n + 1) - mpmath.loggamma(nu + 1) - mpmath.loggamma(n - nu + 1)
            exact = 2 * nu * mpmath.exp(log + nu * mpmath.log(share) + (n - nu + 1) * mpmath.log(1 - share)) / n
            off = max(off, abs(float(mean_distance(mu, n) / exact - 1)))
    assert 1e-9 < off < 1e-8


def test_mean_distance_of_large_samples_and_of_one_atom():
    pair = Measure([[0.0], [2.0]])
    assert mean_distance(pair, 10**6) == pytest.approx(2.0 / math.sqrt(2.0 * math.pi * 1e6), rel=1e-5, abs=0.0)
    assert mean_distance(pair, 1) == sampling_distance(2.0, 1)
    assert mean_distance(Measure([[3.0]]), 4) == 0.0
    assert mean_distance(Measure([[0.0], [1.0], [2.0]], [1.0, 0.0, 0.0]), 4) == 0.0
    rare = Measure([[0.0], [1.0]], [1.0 - 2.0**-50, 2.0**-50])
    assert mean_distance(rare, 1) == pytest.approx(2.0**-49, rel=1e-12, abs=0.0)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_sampled_error_is_that_of_all_samples(n):
    with mpmath.workdps(40):
        odds = mpmath.exp(2)
        p = mpmath.mpf(RARE)
        answer = p * odds / (1 - p + p * odds)
        total = mpmath.mpf(0)
        for drawn in product((0, 1), repeat=n):
            k = sum(drawn)
            total += p**k * (1 - p) ** (n - k) * (k * odds / (n - k + k * odds) - answer) ** 2
        assert near(sampled_error(2.0, n).mid, mpmath.sqrt(n * total))


def test_outliers_move_the_law_by_the_mass_that_they_take():
    clean, outliers = Measure([[0.0, 0.0], [1.0, 0.0]]), Measure([[5.0, 1.0]])
    mass, way = outlier_effect(clean, outliers, np.array([0.0, 1.0, 3.0]), 0.1)
    odds = 0.1 * math.exp(3.0) / (0.9 * (1.0 + math.e) / 2.0)
    assert mass.mid == pytest.approx(odds / (1.0 + odds), rel=1e-12, abs=0.0)
    assert way.lo <= odds / (1.0 + odds) <= way.hi


def test_studies_have_the_columns_that_their_readers_need():
    table = study(scale="quick", root=3)
    assert set(table["part"]) == {"mass", "distance", "sampling"}
    drawn = fluctuations(scale="quick", root=3)
    assert set(drawn["slope"]) == set(SLOPES)
    assert len(drawn) == 4 * BATCHES * len(SLOPES)
    # with 16 and more tokens the errors times root N are of the size of sigma
    assert 0.1 < drawn["square"].min() < drawn["square"].max() < 0.5


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: transform_constant(-1.0, 1.0, 1.0), "oscillation: expected a non-negative"),
        (lambda: transform_constant(1e4, 1.0, 1.0), "oscillation: expected one whose constant"),
        (lambda: transform_constant(1.0, math.inf, 1.0), "slope: expected"),
        (lambda: weight_constant(1.0, 1.0, 1.0, 0.0), "mass: expected a positive"),
        (lambda: weight_constant(1.0, 1.0, 1.0, 2.0), "mass: expected at most the largest weight"),
        (lambda: query_distance(1.0, math.nan), "diameter: expected"),
        (lambda: lookup_constant([[0.0], [-0.0]], [[1.0], [2.0]]), "keys: expected at least two, all distinct"),
        (lambda: lookup_constant([[0.0]], [[1.0]]), "keys: expected at least two"),
        (lambda: lookup_constant([[0.0], [1.0]], [[1.0]]), r"values: expected shape \(2, d\)"),
        (lambda: with_temperature(Constants(1.0, 1.0, 1.0, 1.0), 0.0), "temperature: expected a positive"),
        (lambda: contaminated_share(1.5, 1.0), r"share: expected a number in \[0, 1\]"),
        (lambda: sampling_deviation(Measure([[0.0], [1.0]]), [0.0]), r"potential: expected shape \(2,\)"),
        (lambda: mean_distance(Measure([[0.0, 1.0]]), 2), "mu: expected dimension 1"),
        (lambda: sampling_distance(1.0, 0), "n: expected an integer of at least 1"),
        (lambda: unseen_distance(1.0, 0, 1), "atoms: expected an integer"),
        (lambda: witnesses.light_ramp(1.0, 0.5, 0.1, 0.6), "step: expected step <= ramp"),
        (lambda: witnesses.light_ramp(1.0, 0.5, 1.0, 0.1), "step: expected step <= ramp"),
        (lambda: witnesses.light_atom(1.0, 1.0), r"mass: expected a number in \(0, 1\)"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_bad_types():
    with pytest.raises(TypeError, match="mu: expected a Measure"):
        sampling_deviation([[0.0]], [0.0])
    with pytest.raises(TypeError, match="n: expected an integer"):
        sampling_distance(1.0, 2.0)
    with pytest.raises(TypeError, match="oscillation: expected a number"):
        transform_constant("1", 1.0, 1.0)


def test_a_mass_of_any_width_is_used_as_float64():
    exact = weight_constant(2.0, 1.0, 1.0, 1.625)
    assert [weight_constant(2, 1, 1, kind(1.625)) for kind in (np.float16, np.float32, np.float64)] == [exact] * 3
    assert Fraction(exact) >= Fraction(3) / Fraction(1.625) * (1 - Fraction(1, 2**52))
