"""Feature maps and linear attention: closed forms, exact sums, running sums against the quadratic form, bad input."""

import math

import numpy as np
import pytest

from tests.attention import exact
from theory.attention import DotProduct, attend, feature_study
from theory.attention.variants import (
    PositiveFeatures,
    TrigonometricFeatures,
    attend_linear,
    elu_features,
    gaussian_frequencies,
    linear_weights,
)
from theory.evidence import stream
from theory.evidence.enclosure import balls
from theory.evidence.roundoff import gamma

TOKENS = np.array([[1.0, 2.0], [0.0, 1.0], [-1.0, 0.0]])
MAPS = [PositiveFeatures, TrigonometricFeatures, lambda w, **options: PositiveFeatures(w, paired=True, **options)]


def rng(case=0):
    return stream("tests.features", case)


def counted(points):
    return 1.0 + np.abs(np.round(4.0 * points))


@pytest.mark.parametrize("features", MAPS)
def test_frequency_zero_gives_the_norms_alone(features):
    """The product is exp(-(|q|^2 + |k|^2) / 2), or its inverse for waves; the scale multiplies squares."""
    q, k = np.array([[1.0, 2.0]]), np.array([[0.5, -1.0]])
    phi = features(np.zeros((3, 2)), scale=2.0)
    sign = 1.0 if features is TrigonometricFeatures else -1.0
    assert float((phi(q) * phi(k)).sum()) == pytest.approx(math.exp(sign * (5.0 + 1.25)), rel=1e-14, abs=0.0)


def test_products_by_hand():
    w, q, k = np.array([[1.0], [-2.0]]), np.array([[0.5]]), np.array([[0.25]])
    positive = (math.exp(0.75) + math.exp(-1.5)) / 2.0 * math.exp(-0.15625)
    paired = (math.cosh(0.75) + math.cosh(1.5)) / 2.0 * math.exp(-0.15625)
    waves = (math.cos(0.25) + math.cos(0.5)) / 2.0 * math.exp(0.15625)
    for features, truth in zip(MAPS, (positive, waves, paired), strict=True):
        phi = features(w)
        assert float(phi(q)[0] @ phi(k)[0]) == pytest.approx(truth, rel=1e-14, abs=0.0)


def test_elu_by_hand():
    assert np.array_equal(elu_features([[0.0, 2.0]]), [[1.0, 3.0]])
    assert elu_features([[-1.0]])[0, 0] == pytest.approx(math.exp(-1.0), rel=1e-15, abs=0.0)
    assert elu_features([[-1e3, 1e3]]).tolist() == [[0.0, 1001.0]]


def test_frequencies_are_those_of_the_generator():
    assert np.array_equal(gaussian_frequencies(5, 3, rng()), rng().standard_normal((5, 3)))


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 200])
def test_integer_features_against_exact_sums(n):
    q, k = rng(n).normal(size=(2, n, 3))
    v = rng(n + 1).integers(-9, 10, size=(n, 2)).astype(float)
    masses = rng(n + 2).integers(1, 5, size=n).astype(float)
    left = counted(q).astype(np.int64)
    right = (counted(k) * masses[:, np.newaxis]).astype(np.int64)
    for causal in (False, True):
        scores = left @ right.T
        scores = np.tril(scores) if causal else scores
        truth = (scores @ v.astype(np.int64)) / scores.sum(axis=1, keepdims=True)
        found = attend_linear(q, k, v, features=counted, weights=masses, causal=causal)
        assert np.allclose(found, truth, rtol=1e-15, atol=0.0)
        rows = linear_weights(q, k, features=counted, weights=masses, causal=causal)
        assert np.allclose(rows, scores / scores.sum(axis=1, keepdims=True), rtol=1e-15, atol=0.0)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("scale", [1e-300, 1e-162, 1e300])
def test_a_common_factor_of_the_features_cancels(scale, causal):
    q, k, v = rng(20).uniform(-1.0, 1.0, size=(3, 70, 2))
    found = attend_linear(q, k, v, features=lambda x: scale * elu_features(x), causal=causal)
    assert np.allclose(found, attend_linear(q, k, v, features=elu_features, causal=causal), rtol=0.0, atol=1e-13)


def test_scores_too_small_for_their_digits_are_refused():
    features = {1.0: [[1.0, 1e-310]], 2.0: [[0.0, 1.0]]}
    with pytest.raises(ValueError, match=r"^features: expected scores with a sum that float64 can divide by, got"):
        attend_linear([[1.0]], [[2.0]], [[1.0]], features=lambda x: np.array(features[float(x[0, 0])]))


def test_positive_features_against_balls():
    q, k = rng(1).normal(size=(4, 2)), rng(2).normal(size=(9, 2))
    phi = PositiveFeatures(gaussian_frequencies(6, 2, rng(3)))
    left, right = balls(phi(q)), balls(phi(k))
    scores = left @ right.T
    truth = scores / scores.sum(axis=1)[:, np.newaxis]
    assert exact.relatively_apart(linear_weights(q, k, features=phi), truth) <= gamma(40)


def test_many_features_are_near_softmax():
    """The standard deviation by 40 000 frequencies is below 0.02 here; six of them are allowed."""
    q = rng(4).normal(size=(3, 2)) / 2.0
    k = rng(5).normal(size=(7, 2)) / 2.0
    v = rng(6).uniform(-1.0, 1.0, size=(7, 1))
    omega = gaussian_frequencies(40_000, 2, rng(7))
    for features in MAPS:
        found = attend_linear(q, k, v, features=features(omega, scale=0.5))
        assert np.abs(found - attend(q, k, v, score=DotProduct(scale=0.5))).max() <= 0.12


def test_the_study_averages_as_attention_does():
    query = np.array([[0.25]])
    keys = np.array([[1.0], [-0.5], [0.25]])
    values = np.array([1.0, 0.0, -1.0])
    omega = gaussian_frequencies(8, 1, rng(8))
    each = feature_study.terms("positive", omega, query, keys).reshape(3, 2, 4).sum(axis=2)
    for part in range(2):
        phi = PositiveFeatures(omega[4 * part : 4 * part + 4])
        found = attend_linear(query, keys, values[:, np.newaxis], features=phi)[0, 0]
        assert found == pytest.approx(values @ each[:, part] / each[:, part].sum(), rel=1e-13, abs=0.0)


def test_one_frequency_in_closed_form():
    """With one feature the query cancels: two keys +-a have the mean weight E 1 / (1 + e^(2 a w)) = 1/2."""
    (found,) = feature_study.expected([1], np.array([[0.3]]), np.array([[0.7], [-0.7]]), np.array([1.0, 0.0]))
    assert 0.5 in found
    assert found.width < 1e-9


def test_the_study_depends_on_its_root_alone():
    table = feature_study.random_features(scale="quick", root=1)
    assert set(table["part"]) == {"mean", "variance", "output"}
    assert table.sha256 == feature_study.random_features(scale="quick", root=1).sha256
    assert table.sha256 != feature_study.random_features(scale="quick", root=2).sha256


def test_other_bad_arguments_are_refused():
    with pytest.raises(TypeError, match=r"^features: expected a map from points to features, got NoneType"):
        attend_linear(TOKENS, TOKENS, TOKENS, features=None)
    with pytest.raises(ValueError, match=r"^features: expected shape \(3, d\), got shape \(2, 2\)"):
        attend_linear(TOKENS, TOKENS, TOKENS, features=lambda x: x[:2])
    with pytest.raises(
        ValueError, match=r"^features: expected scores with a sum that float64 can divide by, got 0.0 for 1"
    ):
        attend_linear(TOKENS[:2], TOKENS[:2], TOKENS[:2], features=lambda x: x * [[1.0, 0.0]])
    with pytest.raises(ValueError, match=r"^queries: expected as many as keys"):
        linear_weights(TOKENS[:2], TOKENS, features=elu_features, causal=True)
    with pytest.raises(ValueError, match=r"^weights: expected non-negative"):
        attend_linear(TOKENS, TOKENS, TOKENS, features=elu_features, weights=[1, 1, -1])
    with pytest.raises(ValueError, match=r"^points: expected points whose features float64 can hold"):
        TrigonometricFeatures(TOKENS)(100.0 * TOKENS)
    with pytest.raises(ValueError, match=r"^scale: expected a positive"):
        PositiveFeatures(TOKENS, scale=0.0)
    with pytest.raises(TypeError, match=r"^paired: expected True or False"):
        PositiveFeatures(TOKENS, paired=1)
    with pytest.raises(TypeError, match=r"^rng: expected a numpy.random.Generator"):
        gaussian_frequencies(2, 2, 5)
    with pytest.raises(ValueError, match=r"^count: expected an integer of at least 1"):
        gaussian_frequencies(0, 2, rng())
