"""Spectra and stationary laws against NumPy's general eigenvalues and against powers of the rows."""

import math

import numpy as np
import pytest

from theory.attention import DotProduct, SquaredDistance
from theory.metric.spectrum import attention_spectrum, stationary_law

X = np.random.default_rng(16).normal(size=(6, 2))


def rows(score, x=X):
    k = np.exp(score.matrix(x, x))
    return k / k.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("way", ["values", "vectors", "both"])
def test_eigenvectors_that_are_off_widen_the_interval(monkeypatch, way):
    """The interval is made of what the eigenvectors leave, not of what a library promises."""
    exact = np.sort(np.linalg.eigvals(rows(SquaredDistance(0.7))).real)
    eigh = np.linalg.eigh
    rng = np.random.default_rng(17)

    def perturbed(matrix):
        values, vectors = eigh(matrix)
        if way == "values":  # residual without a defect of the vectors
            return values + 1e-3 * rng.normal(size=values.size), vectors
        if way == "vectors":  # longer by a part: no residual, but the values are too large
            return 1.002001 * values, 1.001 * vectors
        return values + 1e-4 * rng.normal(size=values.size), vectors + 1e-3 * rng.normal(size=vectors.shape)

    monkeypatch.setattr(np.linalg, "eigh", perturbed)
    found = attention_spectrum(SquaredDistance(0.7), X)
    assert all(value.lo <= claimed <= value.hi for value, claimed in zip(found, exact, strict=True))
    assert max(abs(value.mid - claimed) for value, claimed in zip(found, exact, strict=True)) > 1e-4
    assert max(value.width for value in found) < 0.1


@pytest.mark.parametrize("n", [2, 6])
def test_scores_that_are_off_widen_the_interval(n):
    """Scores that use all of the rounding that they state: every pair is seen a little nearer or farther."""

    class Rounded:
        def __init__(self, off):
            self.off = off

        def matrix(self, x, y):
            true = SquaredDistance(0.7).matrix(x, y)
            return true + self.off * np.where(np.eye(len(x)) > 0.0, 1.0, -1.0)

        def bounds(self, x, y):
            size, _ = SquaredDistance(0.7).bounds(x, y)
            return size + abs(self.off), abs(self.off)

    exact = np.sort(np.linalg.eigvals(rows(SquaredDistance(0.7), X[:n])).real)
    for off in (-1e-3, 1e-3):
        found = attention_spectrum(Rounded(off), X[:n])
        assert all(value.lo <= claimed <= value.hi for value, claimed in zip(found, exact, strict=True))
        sums = np.exp(SquaredDistance(0.7).matrix(X[:n], X[:n])).sum(axis=1)
        assert sums / sums.sum() in stationary_law(Rounded(off), X[:n])
    assert max(abs(value.mid - claimed) for value, claimed in zip(found, exact, strict=True)) > 1e-4


def test_large_scores_widen_the_interval():
    """Two scores near a million, exact as they are: the middle of two of them is not, and eigenvalues show it."""
    off = 0.0
    rng = np.random.default_rng(3)
    for _ in range(20):
        a, b, c = (2.0**20 + rng.uniform(size=3)).tolist()

        class Large:
            def __init__(self, scores):
                self.scores = np.array(scores)

            def matrix(self, *_):
                return self.scores

            def bounds(self, *_):
                return float(np.abs(self.scores).max()), 0.0

        found = attention_spectrum(Large([[a, b], [b, c]]), X[:2])[0]
        exact = 1.0 / (1.0 + math.exp(b - a)) - 1.0 / (1.0 + math.exp(c - b))  # differences of scores are exact
        assert found.lo <= exact <= found.hi
        off = max(off, abs(found.mid - exact))
    assert off > 1e-11  # all other widths together are 1e-13


def test_two_tokens_by_hand():
    far = math.exp(-1.0)
    found = attention_spectrum(SquaredDistance(1.0), [[0.0], [1.0]])
    assert found[0].lo <= (1 - far) / (1 + far) <= found[0].hi
    assert 1.0 in attention_spectrum(SquaredDistance(1.0), [[0.3]])


def test_scores_of_a_thousand_are_no_trouble():
    found = attention_spectrum(SquaredDistance(1e3), [[0.0], [1.0], [2.0]])
    assert all(abs(v.mid - 1.0) < 1e-9 for v in found)


def test_rows_of_which_the_exponentials_underflow_beside_others():
    found = attention_spectrum(DotProduct(scale=1.0), [[0.0], [0.01], [27.28]])
    exact = [1.5838913524877245e-05, 0.6351217279149575, 1.0]  # of the rows, in 3000 bits
    for value, claimed in zip(found, exact, strict=True):
        assert value.lo <= claimed <= value.hi
    assert max(v.width for v in found) < 1e-11
    law = stationary_law(DotProduct(scale=1.0), [[0.0], [40.0]])
    assert [0.0, 1.0] in law
    assert law.width.max() < 1e-10


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="score: expected a symmetric one"):
        attention_spectrum(DotProduct(form=[[0.0, 1.0], [-1.0, 0.0]]), X)

    class Bare:
        def matrix(self, x, y):
            return -np.abs(x - y.T)

    with pytest.raises(TypeError, match="score: expected one that bounds its rounding"):
        stationary_law(Bare(), [[0.0], [1.0]])
