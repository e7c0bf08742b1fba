"""Spectra and stationary laws against NumPy's general eigenvalues and against powers of the rows."""

import math

import numpy as np
import pytest

from theory.attention import DotProduct, SquaredDistance
from theory.metric import LinearFeatures, MetricScore
from theory.metric.spectrum import spectrum, stationary

X = np.random.default_rng(16).normal(size=(6, 2))


def rows(score, x=X):
    k = np.exp(score.matrix(x, x))
    return k / k.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    "score", [SquaredDistance(0.7), DotProduct(scale=0.5), MetricScore(LinearFeatures(np.eye(2)), 0.2)]
)
def test_eigenvalues_are_those_of_the_rows(score):
    exact = np.sort(np.linalg.eigvals(rows(score)).real)
    found = spectrum(score, X)
    np.testing.assert_allclose([v.mid for v in found], exact, rtol=1e-10, atol=1e-12)
    assert max(v.width for v in found) < 1e-10
    assert 1.0 in found[-1]


def test_two_tokens_by_hand():
    far = math.exp(-1.0)
    found = spectrum(SquaredDistance(1.0), [[0.0], [1.0]])
    assert found[0].lo <= (1 - far) / (1 + far) <= found[0].hi
    assert spectrum(SquaredDistance(1.0), [[0.3]])[0].lo <= 1.0 <= spectrum(SquaredDistance(1.0), [[0.3]])[0].hi


def test_scores_of_a_thousand_are_no_trouble():
    found = spectrum(SquaredDistance(1e3), [[0.0], [1.0], [2.0]])
    assert all(abs(v.mid - 1.0) < 1e-9 for v in found)


def test_rows_of_which_the_exponentials_underflow_beside_others():
    found = spectrum(DotProduct(scale=1.0), [[0.0], [0.01], [27.28]])
    exact = [1.5838913524877245e-05, 0.6351217279149575, 1.0]  # of the rows, in 3000 bits
    for value, claimed in zip(found, exact, strict=True):
        assert value.lo <= claimed <= value.hi
    assert max(v.width for v in found) < 1e-11
    law, _ = stationary(DotProduct(scale=1.0), [[0.0], [40.0]])
    assert law.tolist() == [0.0, 1.0]


def test_the_stationary_law_stays():
    score = SquaredDistance(0.7)
    law, relative = stationary(score, X)
    np.testing.assert_allclose(law @ rows(score), law, rtol=1e-13, atol=0)
    np.testing.assert_allclose(np.linalg.matrix_power(rows(score), 4000)[0], law, rtol=1e-9, atol=0)
    assert 0.0 < relative < 1e-12


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="score: expected a symmetric one"):
        spectrum(DotProduct(form=[[0.0, 1.0], [-1.0, 0.0]]), X)
    with pytest.raises(ValueError, match="tokens: expected shape"):
        spectrum(SquaredDistance(), np.ones(3))

    class Bare:
        def matrix(self, x, y):
            return -np.abs(x - y.T)

    with pytest.raises(TypeError, match="score: expected one that bounds its rounding"):
        stationary(Bare(), [[0.0], [1.0]])
