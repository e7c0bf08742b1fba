"""The methods of the zoo against plain loops in high precision, their error bounds, and what they refuse."""

import mpmath
import numpy as np
import pytest

from theory.attention import DotProduct, SquaredDistance
from theory.diffusion import GraphScore
from theory.diffusion.similarity import (
    LogDistance,
    attend_density_corrected,
    attend_graph,
    attend_unnormalised,
    biased_weights,
    convolve_features,
    nearest_rows,
    regroup,
)
from theory.evidence import exact

RNG = np.random.default_rng(5)
X, C = RNG.normal(size=(7, 2)), RNG.normal(size=(3, 2))


def precise(x):
    return [[mpmath.mpf(v) for v in row] for row in x.tolist()]


def squared(a, b):
    return sum((s - t) ** 2 for s, t in zip(a, b, strict=True))


def agrees(found, claimed, error):
    for at, value in np.ndenumerate(np.asarray(found)):
        assert abs(mpmath.mpf(float(value)) - claimed(*at)) <= error + mpmath.mpf(2) ** -60


@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_log_distance_scores_and_their_bounds(offset):
    score = LogDistance(1.5, offset)
    found, (size, error) = score.matrix(X, C), score.bounds(X, C)
    with mpmath.workdps(40):
        x, c = precise(X), precise(C)
        agrees(found, lambda i, j: -mpmath.mpf(1.5) * mpmath.log(offset + squared(x[i], c[j])), error)
    assert np.abs(found).max() <= size
    assert error < 1e-12


@pytest.mark.parametrize("slope", [0.2, None])
def test_graph_scores_and_their_bounds(slope):
    left, right = np.array([0.75, -1.25]), np.array([0.3, 0.6])
    score = GraphScore(left, right, slope, 0.5)
    found, (size, error) = score.matrix(X, C), score.bounds(X, C)

    def claimed(i, j):
        s = sum(mpmath.mpf(a) * mpmath.mpf(b) for a, b in zip(X[i], left, strict=True))
        s += sum(mpmath.mpf(a) * mpmath.mpf(b) for a, b in zip(C[j], right, strict=True))
        bent = -s * s if slope is None else s if s > 0 else mpmath.mpf(slope) * s
        return bent / mpmath.mpf(0.5)

    with mpmath.workdps(40):
        agrees(found, claimed, error)
    assert np.abs(found).max() <= size
    assert error < 1e-13


@pytest.mark.parametrize("m", [1.5, 2.0, 3.0])
def test_fuzzy_step_is_the_mean_under_powers_of_memberships(m):
    found = regroup(exact(X), exact(C), LogDistance(1.0 / (m - 1.0)), power=m, back=LogDistance(m / (m - 1.0)))
    with mpmath.workdps(40):
        x = precise(X)
        c = precise(C)
        p = 1 / (1 - mpmath.mpf(m))
        u = [[squared(a, b) ** p for b in c] for a in x]
        u = [[(v / sum(row)) ** mpmath.mpf(m) for v in row] for row in u]

        def claimed(j, a):
            return sum(u[i][j] * x[i][a] for i in range(len(x))) / sum(u[i][j] for i in range(len(x)))

        agrees(found.mid, claimed, found.radius.max())
    assert found.radius.max() < 1e-10
    assert regroup(X, C, LogDistance(1.0 / (m - 1.0)), power=m, back=LogDistance(m / (m - 1.0))) in found


def test_biased_laws_and_soft_step():
    beta = 0.75
    bias = -beta * np.square(C).sum(axis=1)
    law = biased_weights(X, C, DotProduct(scale=2 * beta), bias=bias)
    direct = biased_weights(X, C, SquaredDistance(beta))
    np.testing.assert_allclose(law, direct, rtol=1e-13, atol=0)
    assert direct in biased_weights(exact(X), C, SquaredDistance(beta))
    found = regroup(X, C, DotProduct(scale=2 * beta), bias=bias)
    np.testing.assert_allclose(found, (direct.T @ X) / direct.sum(axis=0)[:, np.newaxis], rtol=1e-12, atol=1e-13)


def test_unnormalised_attention_is_a_sum_of_kernels():
    alpha = np.array([1.0, -2.0, 0.5])
    claimed = np.exp(-0.7 * np.square(X[:, np.newaxis] - C).sum(axis=2)) @ alpha
    np.testing.assert_allclose(attend_unnormalised(X, C, alpha, SquaredDistance(0.7)), claimed, rtol=0, atol=1e-13)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_density_correction_divides_by_degrees_of_keys(alpha):
    kernel = np.exp(-0.5 * np.square(X[:, np.newaxis] - X).sum(axis=2))
    claimed = kernel / kernel.sum(axis=1) ** alpha
    claimed /= claimed.sum(axis=1, keepdims=True)
    found = attend_density_corrected(X, SquaredDistance(0.5), alpha=alpha)
    np.testing.assert_allclose(found, claimed, rtol=1e-12, atol=0)
    enclosed = attend_density_corrected(exact(X), SquaredDistance(0.5), alpha=alpha)
    assert found in enclosed
    assert (enclosed.radius / found).max() < 1e-11


def test_nearest_takes_the_first_of_equal_scores():
    assert nearest_rows([[1.0, 2.0, 2.0, 0.0]], 2).tolist() == [[0.0, 0.5, 0.5, 0.0]]
    assert nearest_rows([[1.0, 1.0, 1.0]], 1).tolist() == [[1.0, 0.0, 0.0]]


def test_graph_mask_and_convolution():
    a = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 0.0]])
    loops = a + np.eye(3)
    root = np.sqrt(loops.sum(axis=1))
    h = RNG.normal(size=(3, 2))
    np.testing.assert_allclose(convolve_features(a, h), (loops / np.outer(root, root)) @ h, rtol=0, atol=1e-14)
    np.testing.assert_allclose(
        attend_graph(np.ones((3, 3)), loops), loops / loops.sum(axis=1)[:, None], rtol=1e-15, atol=0
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: LogDistance(0.0), "power: expected a positive"),
        (lambda: LogDistance(1.0, -1.0), "offset: expected a non-negative number"),
        (lambda: LogDistance(1.0).matrix(X, X), "y: expected keys that differ from the queries"),
        (lambda: GraphScore([1.0], [1.0, 2.0]), "right: expected shape"),
        (lambda: GraphScore([1.0], [1.0], 0.2, 0.0), "temperature: expected a positive"),
        (lambda: biased_weights(X, C, SquaredDistance(1.0), bias=[0.0]), "bias: expected shape"),
        (lambda: regroup(X, C, SquaredDistance(1.0), power=0.0), "power: expected a positive"),
        (lambda: nearest_rows([[1.0]], 2), "scores: expected a matrix of at least 2 columns"),
        (lambda: attend_unnormalised(X, C, [1.0], SquaredDistance(1.0)), "coefficients: expected shape"),
        (lambda: attend_density_corrected(X, SquaredDistance(1.0), alpha=np.inf), "alpha: expected finite"),
        (lambda: attend_graph(np.ones((2, 2)), np.zeros((2, 2))), "similarity: expected sums other than zero"),
        (lambda: convolve_features(-np.ones((2, 2)), np.ones((2, 1))), "adjacency: expected non-negative"),
    ],
)
def test_bad_input_is_refused_in_words(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_scores_without_constants_say_so():
    with pytest.raises(NotImplementedError, match="constants of LogDistance"):
        LogDistance(1.0).constants(1.0)
    with pytest.raises(NotImplementedError, match="constants of GraphScore"):
        GraphScore([1.0], [1.0]).constants(1.0)
    with pytest.raises(TypeError, match="score: expected one that bounds its rounding"):
        biased_weights(exact(X), C, _Bare())


class _Bare:
    def matrix(self, x, y):
        return x @ y.T
