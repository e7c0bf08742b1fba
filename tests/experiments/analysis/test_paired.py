"""Intervals and p-values of paired runs: exact levels under symmetry, against SciPy's permutation test."""

import itertools

import numpy as np
import pytest
import scipy

from theory.evidence.streams import stream
from theory.experiments.analysis.paired import MOST, adjust_holm, count_pairs, enclose_mean, flip_signs, subset_means


def test_means_of_all_subsets():
    d = np.array([0.5, -1.0, 2.0])
    subsets = [each for size in (1, 2, 3) for each in itertools.combinations(d, size)]
    assert subset_means(d) == pytest.approx(sorted(map(np.mean, subsets)), rel=1e-14, abs=0.0)
    assert len(subset_means(np.arange(30.0))) > 2**16


@pytest.mark.parametrize("margin", [0.0, 0.3])
def test_p_values_are_those_of_the_sign_flip_test(margin):
    d = stream("tests.paired", 0).normal(0.4, 1.0, 12)
    # the flip of the empty subset is the sample itself, and is counted by both
    found = scipy.stats.permutation_test(
        (d - margin,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="greater"
    )
    assert flip_signs(d, margin=margin) == pytest.approx(found.pvalue, rel=1e-12, abs=0.0)


def test_the_interval_is_the_inverted_test():
    d = stream("tests.paired", 1).normal(0.4, 1.0, 12)
    found = enclose_mean(d, 0.05)
    tiny = 1e-9
    assert flip_signs(d, margin=found.lo - tiny) <= 0.025 < flip_signs(d, margin=found.lo + tiny)
    assert flip_signs(-d, margin=-found.hi - tiny) <= 0.025 < flip_signs(-d, margin=-found.hi + tiny)
    student = scipy.stats.ttest_1samp(d, 0.0).confidence_interval(0.95)
    assert found.lo == pytest.approx(student.low, rel=0.0, abs=0.2)
    assert found.hi == pytest.approx(student.high, rel=0.0, abs=0.2)


@pytest.mark.parametrize("law", ["normal", "standard_cauchy", "laplace"])
def test_the_level_is_exact_for_symmetric_laws(law):
    rng = stream("tests.paired.level", 2)
    level, runs = 0.25, 2000
    missed = 0
    for _ in range(runs):
        found = enclose_mean(1.0 + getattr(rng, law)(size=7), level)
        missed += not found.lo <= 1.0 <= found.hi
    assert missed / runs == pytest.approx(level, rel=0.0, abs=0.04)  # four standard deviations


def test_a_level_that_few_pairs_cannot_reach_is_not_pretended():
    assert np.isinf(enclose_mean([1.0, 1.1, 1.2, 1.3], 0.05).hi)  # 16 gaps: no level below 1/8
    assert np.isfinite(enclose_mean([1.0, 1.1, 1.2, 1.3], 0.2).hi)
    sixteen = np.linspace(1.0, 2.0, 16)
    assert np.isfinite(enclose_mean(sixteen, 4e-5).lo)
    assert np.isinf(enclose_mean(sixteen, 2e-5).hi)
    assert flip_signs(sixteen) == 2.0**-16


def test_holm():
    p = [0.01, 0.04, 0.03, 0.005]
    assert adjust_holm(p) == pytest.approx([0.03, 0.06, 0.06, 0.02], rel=1e-12, abs=0.0)
    assert adjust_holm([0.9, 0.8]) == pytest.approx([1.0, 1.0], rel=1e-12, abs=0.0)
    with pytest.raises(ValueError, match="values: expected numbers from 0 to 1"):
        adjust_holm([0.1, 1.5])


def test_how_many_pairs_would_decide():
    d = stream("tests.paired.power", 0).normal(0.5, 1.0, 4000)
    needed = count_pairs(d, 0.0)
    assert needed == pytest.approx((1.96 + 1.28) ** 2 / 0.25, rel=0.15, abs=2.0)
    assert count_pairs(d, 0.45) > 20 * needed
    assert count_pairs(d, float(d.mean())) == MOST
    assert count_pairs([1.0, 1.0], 0.0) == 2


@pytest.mark.parametrize("function", [subset_means, enclose_mean, flip_signs, lambda d: count_pairs(d, 0.0)])
@pytest.mark.parametrize("wrong", [[1.0], [1.0, np.nan], [[1.0, 2.0]]])
def test_refusals(function, wrong):
    with pytest.raises(ValueError, match="differences"):
        function(wrong)
    with pytest.raises(ValueError, match="level: expected a number below one"):
        enclose_mean([1.0, 2.0], 1.0)
