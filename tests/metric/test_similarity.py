"""The three similarities against loops, their gradients against differences, their sizes against each other."""

import math

import numpy as np
import pytest

from theory.metric import MetricScore, make_similarity
from theory.metric.similarity import (
    DistanceSimilarity,
    MetricSimilarity,
    SelfSimilarity,
    draw_parameters,
    sizes_of,
    split_parameters,
)

KINDS = ("self", "l2", "metric")


def theta_of(similar, rng):
    return 0.5 * rng.normal(size=sum(sizes_of(similar.shapes)))


def by_hand(kind, similar, theta, h):
    """Scores of one stack, pair by pair."""
    p = split_parameters(theta, similar.shapes)
    if kind == "self":
        return [[(x @ p[0]) @ (y @ p[1]) / math.sqrt(similar.width) for y in h] for x in h]
    f = h @ p[0] if kind == "l2" else np.array([x + np.tanh(x @ p[0] + p[1]) @ p[2] + p[3] for x in h])
    return [[-((a - b) ** 2).sum() for b in f] for a in f]


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_the_formulas_in_every_stack(kind):
    rng = np.random.default_rng(5)
    similar = make_similarity(kind, 3, 4)
    theta = theta_of(similar, rng)
    h = rng.normal(size=(2, 2, 5, 3))
    found = similar.scores(theta, h)
    assert found.shape == (2, 2, 5, 5)
    for at in np.ndindex(2, 2):
        np.testing.assert_allclose(found[at], by_hand(kind, similar, theta, h[at]), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_pull_is_the_gradient_of_the_scores(kind):
    rng = np.random.default_rng(6)
    similar = make_similarity(kind, 2, 3)
    theta = theta_of(similar, rng)
    h = rng.normal(size=(2, 4, 2))
    bar = rng.normal(size=(2, 4, 4))
    tokens, slopes = similar.pull(theta, h, bar)
    for found, value, call in (
        (tokens, h, lambda v: similar.scores(theta, v)), (slopes, theta, lambda v: similar.scores(v, h)),
    ):  # fmt: skip
        assert found.shape == value.shape
        for at in np.ndindex(value.shape):
            ends = []
            for step in (1e-6, -1e-6):
                moved = value.copy()
                moved[at] += step
                ends.append(float((call(moved) * bar).sum()))
            assert found[at] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("kind", ["l2", "metric"])
def test_features_make_a_score_with_the_same_values(kind):
    rng = np.random.default_rng(7)
    similar = make_similarity(kind, 2, 3)
    theta = theta_of(similar, rng)
    h = rng.normal(size=(6, 2))
    exact = MetricScore(similar.features(theta)).matrix(h, h)
    np.testing.assert_allclose(similar.scores(theta, h), exact, rtol=1e-11, atol=1e-13)


def test_the_last_bias_of_the_network_moves_no_score():
    rng = np.random.default_rng(8)
    similar = MetricSimilarity(2, 3)
    theta = theta_of(similar, rng)
    h = rng.normal(size=(4, 2))
    other = theta.copy()
    other[-2:] += 5.0
    np.testing.assert_array_equal(similar.scores(theta, h), similar.scores(other, h))
    assert not similar.pull(theta, h, rng.normal(size=(4, 4)))[1][-2:].any()


def test_widths_and_numbers_of_parameters():
    assert sum(sizes_of(SelfSimilarity(10, 10).shapes)) == 200
    assert sum(sizes_of(DistanceSimilarity(10, 10).shapes)) == 100
    assert sum(sizes_of(MetricSimilarity(10, 10).shapes)) == 220
    assert make_similarity("l2", 10, 10, matching="parameters").width == 20
    assert make_similarity("metric", 10, 10, matching="parameters").width == 9  # 199 of 200
    assert make_similarity("self", 10, 7, matching="parameters").width == 7
    for kind in ("l2", "metric"):
        for dim in (2, 10, 64):
            chosen = make_similarity(kind, dim, 16, matching="parameters")
            own = sum(sizes_of(chosen.shapes))
            wanted = 32 * dim
            for other in (chosen.width - 1, chosen.width + 1):
                if other:
                    assert abs(own - wanted) <= abs(sum(sizes_of(type(chosen)(dim, other).shapes)) - wanted)


def test_parts_are_cut_in_order_and_starts_have_the_range_of_their_rows():
    assert [p.tolist() for p in split_parameters(np.arange(6.0), ((2, 2), (2,)))] == [
        [[0.0, 1.0], [2.0, 3.0]],
        [4.0, 5.0],
    ]
    start = split_parameters(draw_parameters(((400, 50), (7,)), np.random.default_rng(9)), ((400, 50), (7,)))
    assert np.abs(start[0]).max() <= 0.05
    assert start[0].std() == pytest.approx(0.05 / math.sqrt(3), rel=0.02, abs=0)
    assert not start[1].any()


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match=r"theta: expected shape \(6,\)"):
        DistanceSimilarity(2, 3).features(np.ones(5))
