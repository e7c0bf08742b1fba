"""Least entropies against a general optimiser and a second formula; ranges of weights against drawn scores."""

import math

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize

from theory.maxent.gibbs import peak_entropy, softmax, tokens_to_disperse, weight_range
from theory.maxent.studies import spread


def entropy_at(scores, norm):
    """The entropy of scores once they are centred and scaled to a norm, in floats."""
    centred = scores - scores.mean()
    p = softmax(centred * (norm / np.linalg.norm(centred)))
    return float(-(p * np.log(p)).sum())


@pytest.mark.parametrize("size", [2, 3, 5, 12])
@pytest.mark.parametrize("norm", [1.0, 4.0])
def test_no_optimiser_finds_less(size, norm):
    rng = np.random.default_rng(size)
    starts = [rng.normal(size=size) + np.eye(size)[0] * far for far in (0.0, 1.0, 3.0, 10.0)]
    found = min(minimize(entropy_at, start, args=(norm,)).fun for start in starts)
    least = peak_entropy(size, norm).entropy
    assert found >= least.lo - 1e-12
    assert found == pytest.approx(least.mid, rel=1e-6, abs=0.0)


@pytest.mark.parametrize(("size", "peaks"), [(2, 1), (5, 1), (5, 3), (9, 8)])
def test_peaks_are_what_they_are_said_to_be(size, peaks):
    scores = np.concatenate([np.ones(peaks), np.zeros(size - peaks)])
    found = peak_entropy(size, 2.5, peaks=peaks)
    assert found.entropy.mid == pytest.approx(entropy_at(scores, 2.5), rel=1e-13, abs=0.0)
    assert found.missing.mid == pytest.approx(math.log(size) - found.entropy.mid, rel=1e-12, abs=0.0)
    centred = scores - scores.mean()
    assert found.gap.mid == pytest.approx(2.5 / np.linalg.norm(centred), rel=1e-14, abs=0.0)


def test_small_and_large_norms_keep_their_digits():
    small = peak_entropy(10**5, 1e-12).missing
    assert small.mid == pytest.approx(1e-24 / (2 * 10**5), rel=1e-10, abs=0.0)
    assert small.width < 1e-15 * small.lo
    large = peak_entropy(2, 300.0).entropy
    gap = 300.0 * math.sqrt(2.0)
    assert large.mid == pytest.approx((1.0 + gap) * math.exp(-gap), rel=1e-12, abs=0.0)
    assert peak_entropy(7, 0.0).missing.hi < 1e-100


def test_range_of_weights():
    rng = np.random.default_rng(2)
    scores = rng.uniform(0.0, 3.0, size=(2000, 4))
    scores[0], scores[1] = [3.0, 0.0, 0.0, 0.0], [0.0, 3.0, 3.0, 3.0]
    seen = softmax(scores)
    least, largest = weight_range(4, 3.0)
    assert seen.max() == pytest.approx(largest.mid, rel=1e-14, abs=0.0)
    assert seen.min() == pytest.approx(least.mid, rel=1e-14, abs=0.0)
    assert weight_range(1, 5.0).largest.mid == weight_range(1, 5.0).least.mid == 1.0


@pytest.mark.parametrize(
    ("weight", "spread", "count"), [(0.5, 0.0, 3), (0.25, 0.0, 5), (0.5, 6.0, 405), (0.999, 0.0, 2)]
)
def test_tokens_to_disperse(weight, spread, count):
    assert tokens_to_disperse(weight, spread) == count
    assert weight_range(count, spread).largest.hi < weight
    assert weight_range(count - 1, spread).largest.hi >= weight


def test_tokens_to_disperse_at_the_ends_of_floats():
    whole = tokens_to_disperse(2.0**-1074, 700.0)  # more digits than the balls of other numbers have
    with mpmath.workprec(4000):
        assert whole == int(mpmath.floor(1 + (mpmath.mpf(2) ** 1074 - 1) * mpmath.exp(700))) + 1


def test_study_draws_nothing_below_the_least():
    table = spread.least_entropies(scale="quick", root=3)
    drawn, peaks = table.where(part="drawn"), table.where(part="peaks", size=spread.SIZE, peaks=1)
    least = dict(zip(peaks["norm"].tolist(), peaks.intervals("entropy"), strict=True))
    for norm, entropy in zip(drawn["norm"].tolist(), drawn.intervals("entropy"), strict=True):
        assert entropy.hi >= least[norm].lo


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: peak_entropy(1, 1.0), "size"),
        (lambda: peak_entropy(3, 1.0, peaks=3), "peaks"),
        (lambda: peak_entropy(3, -1.0), "norm"),
        (lambda: peak_entropy(3, math.inf), "norm"),
        (lambda: weight_range(3, -1.0), "spread"),
        (lambda: tokens_to_disperse(1.0, 1.0), "weight"),
        (lambda: tokens_to_disperse(0.5, 701.0), "spread"),
    ],
)
def test_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
