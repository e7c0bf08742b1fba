"""The information propagation network against a plain loop over its layers, and its gradient against differences."""

import math

import numpy as np
import pytest

from theory.metric import InformationPropagation, average_tokens, make_similarity
from theory.metric.network import log_softmax_rows
from theory.metric.similarity import split_parameters

KINDS = ("self", "l2", "metric")


def problem(kind, *, blocks=2, stack=(2, 5)):
    rng = np.random.default_rng(11)
    net = InformationPropagation(make_similarity(kind, 4, 3), 2, 3, blocks)
    theta = net.initial(rng) + 0.3 * rng.normal(size=net.size)
    return net, theta, rng.normal(size=(*stack, 2)), rng.integers(0, 3, size=stack)


@pytest.mark.parametrize("kind", KINDS)
def test_prediction_is_linear_blocks_linear(kind):
    net, theta, x, _ = problem(kind, blocks=3)
    first, shift, last, end, *blocks = split_parameters(theta, net.shapes)
    h = x @ first + shift
    seen = [h]
    for block in blocks:
        h = average_tokens(net.similarity, block, h)
        seen.append(h)
    assert len(blocks) == 3
    np.testing.assert_allclose(net.predict(theta, x), h @ last + end, rtol=1e-12, atol=1e-13)
    for found, exact in zip(net.tokens(theta, x), seen, strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_objective_is_the_mean_cross_entropy(kind):
    net, theta, x, y = problem(kind)
    scores = net.predict(theta, x)
    total = 0.0
    for at in np.ndindex(y.shape):
        total -= scores[at][y[at]] - math.log(sum(math.exp(s) for s in scores[at]))
    assert net.objective(theta, x, y)[0] == pytest.approx(total / y.size, rel=1e-12, abs=0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stack", [(5,), (2, 4)])
def test_gradient_is_that_of_the_objective(kind, stack):
    net, theta, x, y = problem(kind, stack=stack)
    gradient = net.objective(theta, x, y)[1]
    assert gradient.shape == (net.size,)
    for at in range(net.size):
        step = 1e-5 * np.eye(net.size)[at]
        slope = (net.objective(theta + step, x, y)[0] - net.objective(theta - step, x, y)[0]) / 2e-5
        assert gradient[at] == pytest.approx(slope, rel=1e-6, abs=1e-9)


def test_stacks_do_not_see_each_other():
    net, theta, x, _ = problem("metric")
    moved = x.copy()
    moved[1] += 1.0
    np.testing.assert_array_equal(net.predict(theta, x)[0], net.predict(theta, moved)[0])


def test_the_linear_maps_start_equal_whatever_the_attention():
    starts = [InformationPropagation(make_similarity(k, 4, 3), 2, 3).initial(np.random.default_rng(12)) for k in KINDS]
    outside = 2 * 4 + 4 + 4 * 3 + 3
    for start in starts[1:]:
        np.testing.assert_array_equal(start[:outside], starts[0][:outside])
    assert InformationPropagation(make_similarity("metric", 4, 3), 2, 3).size == outside + 2 * (12 + 3 + 12 + 4)


def test_log_softmax_survives_large_scores():
    found = log_softmax_rows(np.array([[1e4, 0.0], [0.0, math.log(3.0)]]))
    np.testing.assert_allclose(found, [[0.0, -1e4], [-math.log(4.0), math.log(0.75)]], rtol=1e-13, atol=1e-13)


def test_bad_arguments_are_refused():
    net, theta, x, y = problem("metric")
    with pytest.raises(ValueError, match="blocks: expected an integer of at least 1"):
        InformationPropagation(net.similarity, 2, 3, 0)
    with pytest.raises(ValueError, match=r"theta: expected shape"):
        net.predict(theta[1:], x)
    with pytest.raises(ValueError, match=r"x: expected shape \(..., n, 2\), got shape \(2, 5, 3\)"):
        net.predict(theta, np.ones((2, 5, 3)))
    with pytest.raises(TypeError, match="y: expected integers, got float64"):
        net.objective(theta, x, y.astype(float))
    with pytest.raises(ValueError, match="y: expected classes from 0 to 2"):
        net.objective(theta, x, y + 1)
    with pytest.raises(ValueError, match=r"y: expected shape \(2, 5\), got shape \(5,\)"):
        net.objective(theta, x, y[0])
