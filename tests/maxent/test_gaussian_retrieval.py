"""The mean weight of a pattern against quadrature of mpmath for one and two others, and against draws for many."""

import math

import mpmath
import numpy as np
import pytest

from theory.maxent.gibbs import retrieval_weight


@pytest.mark.parametrize(("dim", "factor"), [(1, 0.5), (4, 1.5), (9, 0.25)])
def test_one_other_is_one_integral(dim, factor):
    s, top = factor * math.sqrt(dim), factor * dim
    right = float(mpmath.quad(lambda g: mpmath.npdf(g) / (1 + mpmath.exp(s * g - top)), [-12, 0, 12]))
    found = retrieval_weight(1, dim, factor)
    assert found.lo <= right <= found.hi
    assert found.hi - found.lo < 0.6 * min(right, 1.0 - right)


def test_many_others_are_as_drawn():
    n, d, factor = 50, 10, 0.5
    scores = factor * math.sqrt(d) * np.random.default_rng(0).normal(size=(20_000, n)) - factor * d
    weights = 1.0 / (1.0 + np.exp(scores).sum(axis=1))
    found = retrieval_weight(n, d, factor)
    apart = 6.0 * weights.std() / math.sqrt(weights.size)
    assert found.lo - apart <= weights.mean() <= found.hi + apart


def test_a_crowd_is_refused():
    with pytest.raises(ValueError, match="others: expected at most"):
        retrieval_weight(10**41, 100, 0.5)
    with pytest.raises(ValueError, match="dim: expected at most"):
        retrieval_weight(10, 1001, 0.5)
