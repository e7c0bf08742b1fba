"""Defects of dissimilarities against plain loops, and distances against high precision."""

import itertools

import mpmath
import numpy as np
import pytest

from theory.diffusion.similarity import angles, cosine_gaps, defects, distances, kernel_distances, relaxed_excess

X = np.random.default_rng(2).normal(size=(6, 3))


def test_defects_are_the_largest_over_pairs_and_triples():
    f = np.random.default_rng(3).normal(size=(5, 5))
    found = defects(f)
    n = range(5)
    assert found.negative == -f.min()
    assert found.diagonal == max(abs(f[i, i]) for i in n)
    assert found.asymmetry == max(abs(f[i, j] - f[j, i]) for i, j in itertools.product(n, n))
    triples = list(itertools.product(n, n, n))
    assert found.triangle == max(f[x, z] - f[x, y] - f[y, z] for x, y, z in triples)
    assert relaxed_excess(f, 2.0) == pytest.approx(max(f[x, z] - 2 * f[x, y] - 2 * f[y, z] for x, y, z in triples),
                                            rel=1e-14, abs=0)  # fmt: skip


@pytest.mark.parametrize("function", [distances, angles, cosine_gaps, kernel_distances])
def test_distances_keep_their_digits(function):
    x = np.concatenate([X, X[:1] * (1.0 + 1e-9), X[:1] + 1e-9])
    found = function(x)
    with mpmath.workdps(40):
        points = [mpmath.matrix(row.tolist()) for row in x]
        for i, j in itertools.combinations(range(len(x)), 2):
            apart = mpmath.norm(points[i] - points[j])
            dot = sum(points[i][k] * points[j][k] for k in range(3))
            cosine = dot / mpmath.norm(points[i]) / mpmath.norm(points[j])
            exact = {
                distances: apart, angles: mpmath.acos(cosine), cosine_gaps: 1 - cosine,
                kernel_distances: mpmath.sqrt(2 - 2 * mpmath.exp(-apart**2 / 2)),
            }[function]  # fmt: skip
            assert float(abs(found[i, j] - exact)) <= 1e-14 * float(exact) + 1e-15


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: defects(X), "values: expected shape"),
        (lambda: relaxed_excess(X, 2.0), "values: expected shape"),
        (lambda: angles(np.zeros((2, 2))), "points: expected ones with a direction"),
        (lambda: cosine_gaps([[0.0]]), "points: expected ones with a direction"),
        (lambda: distances([1.0]), "points: expected shape"),
        (lambda: distances([[1e200], [0.0]]), "points: expected ones of which float64 holds"),
        (lambda: kernel_distances(X, scale=-1.0), "scale: expected"),
        (lambda: relaxed_excess(np.zeros((2, 2)), np.nan), "factor"),
    ],
)
def test_bad_input_is_refused_in_words(call, words):
    with pytest.raises(ValueError, match=words):
        call()
