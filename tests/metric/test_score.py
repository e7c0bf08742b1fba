"""The learned score against loops, and its constants and bounds against what they bound."""

import math

import numpy as np
import pytest

from theory import attend
from theory.attention import SquaredDistance
from theory.metric import LinearFeatures, MetricScore, ResidualFeatures


@pytest.fixture
def g():
    rng = np.random.default_rng(2)
    return ResidualFeatures(rng.normal(size=(2, 3)), rng.normal(size=3), rng.normal(size=(3, 2)), rng.normal(size=2))


@pytest.fixture
def clouds():
    rng = np.random.default_rng(3)
    return rng.normal(size=(4, 2)), rng.normal(size=(6, 2))


def test_scores_are_minus_squared_distances_of_features(g, clouds):
    x, y = clouds
    exact = [[-(math.dist(a, b) ** 2) / 0.6 for b in g(y)] for a in g(x)]
    np.testing.assert_allclose(MetricScore(g, 0.3).matrix(x, y), exact, rtol=1e-13, atol=1e-15)
    np.testing.assert_array_equal(MetricScore(g).matrix(x, y), -((g(x)[:, None] - g(y)) ** 2).sum(axis=2))


def test_attention_is_that_of_the_features_with_the_tokens_as_values(g, clouds):
    x, y = clouds
    weights = np.exp(MetricScore(g, 0.3).matrix(x, y))
    exact = weights @ y / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(attend(x, y, y, score=MetricScore(g, 0.3)), exact, rtol=1e-12, atol=1e-13)
    plain = attend(g(x), g(y), y, score=SquaredDistance(0.5 / 0.3))
    np.testing.assert_array_equal(attend(x, y, y, score=MetricScore(g, 0.3)), plain)


def test_linear_features_have_the_score_of_their_matrix(clouds):
    x, y = clouds
    w = np.array([[1.0, 2.0], [0.5, -1.0]])
    exact = -(((x @ w)[:, None] - y @ w) ** 2).sum(axis=2)
    np.testing.assert_allclose(MetricScore(LinearFeatures(w)).matrix(x, y), exact, rtol=1e-13, atol=1e-14)


def test_bounds_enclose_sizes_and_errors(g, clouds):
    x, y = clouds
    score = MetricScore(g, 0.1)
    size, error = score.bounds(x, y)
    wide = [np.asarray(p, dtype=np.longdouble) for p in (x, y)]
    f, h = (p + np.tanh(p @ g.inner + g.inner_bias) @ g.outer + g.outer_bias for p in wide)
    exact = -((f[:, None] - h) ** 2).sum(axis=2) * 5
    assert float(np.abs(score.matrix(x, y) - exact).max()) <= error <= 1e-11
    assert np.abs(score.matrix(x, y)).max() <= size


def test_errors_of_both_features_are_charged():
    """Features off by all that they state, apart from each other: the score is off by all of its bound."""

    class Off:
        dim, lipschitz = 1, 1.0

        def __call__(self, x):
            return x - 0.25 * np.sign(x)  # nearer to zero than they are

        def rounding(self, _):
            return 0.25

    x, y = np.array([[3.0]]), np.array([[-2.0]])
    score = MetricScore(Off(), 0.5)
    size, error = score.bounds(x, y)
    off = abs(score.matrix(x, y).item() + 25.0)
    assert 0.999 * error <= off <= error
    assert size >= 25.0


def test_error_of_the_distances_is_charged():
    """Features that are exact leave the error of their squared distances."""

    class Exact:
        def __call__(self, x):
            return x

        def rounding(self, _):
            return 0.0

    x, y = np.array([[3.0, 1.0]]), np.array([[-2.0, 5.0], [0.0, 0.125]])
    found, plain = MetricScore(Exact(), 0.25).bounds(x, y), SquaredDistance(2.0).bounds(x - x, y - x)
    np.testing.assert_allclose(found, plain, rtol=1e-14, atol=0)
    assert found[1] >= plain[1] > 0.0
    assert MetricScore(Exact(), 0.25).bounds(x + 2.0**30, y + 2.0**30) == found  # lengths are those of differences


def test_constants_bound_scores_on_a_ball(g):
    rng, score = np.random.default_rng(4), MetricScore(g, 0.7)
    c = score.constants(0.8)
    points = rng.normal(size=(60, 2))
    points *= 0.8 * np.sqrt(rng.uniform(size=(60, 1))) / np.linalg.norm(points, axis=1, keepdims=True)
    a = score.matrix(points, points)
    apart = np.linalg.norm(points[:, None] - points, axis=2) + np.eye(60)
    assert np.ptp(a, axis=1).max() <= c.oscillation
    assert (np.abs(a[:, None] - a).max(axis=2) / apart).max() <= c.query
    assert c.key == c.query
    mixed = np.abs(a[:, None, :, None] - a[None, :, :, None] - a[:, None, None, :] + a[None, :, None, :])
    assert (mixed / apart[:, :, None, None] / apart).max() <= c.mixed
    slope = 1.0 + np.linalg.norm(g.inner, 2) * np.linalg.norm(g.outer, 2)
    exact = [4 * 0.64 * slope**2 / 1.4, 4 * 0.8 * slope**2 / 1.4, 4 * 0.8 * slope**2 / 1.4, 2 * slope**2 / 1.4]
    np.testing.assert_allclose(c, exact, rtol=1e-11, atol=0)


def test_pull_back_is_the_gram_matrix_of_the_columns_of_the_jacobian(g, clouds):
    x = clouds[0]
    found = MetricScore(g).pull_back(x)
    for i, j in enumerate(g.jacobian(x)):
        for a in range(2):
            for b in range(2):
                assert found[i, a, b] == pytest.approx(sum(j[k, a] * j[k, b] for k in range(2)), rel=1e-13, abs=1e-14)
    step = 1e-4 * np.array([[0.6, -0.8]])
    near = -MetricScore(g).matrix(x[:1] - step, x[:1] + step).item() / 4
    assert near == pytest.approx((step @ found[0] @ step.T).item(), rel=1e-6, abs=0)


def test_bad_arguments_are_refused(g):
    with pytest.raises(TypeError, match="features: expected a map"):
        MetricScore(ResidualFeatures)
    with pytest.raises(ValueError, match=r"x: expected shape \(n, 2\)"):
        MetricScore(g).matrix(np.ones((3, 1)), np.ones((3, 2)))
    with pytest.raises(ValueError, match="epsilon: expected a number of which float64 holds the inverse"):
        MetricScore(g, 1e-320)


def test_a_bandwidth_of_single_precision_is_widened(g, clouds):
    narrow = np.float32(0.3)
    np.testing.assert_array_equal(MetricScore(g, narrow).matrix(*clouds), MetricScore(g, float(narrow)).matrix(*clouds))
