"""Layers move measures: each step is taken at the current measure, and what is no displacement is refused."""

import math

import numpy as np
import pytest

from theory import Measure
from theory.attention import (
    AttentionKernel,
    DotProduct,
    FeedForward,
    Head,
    MultiHead,
    Residual,
    SelfAttention,
    Stack,
    step,
)
from theory.evidence import stream
from theory.evidence.roundoff import gamma

PLAIN = DotProduct(scale=1.0)
PAIR = Measure([[-1.0], [1.0]])
LAYER = SelfAttention(PLAIN)
DOUBLE = FeedForward(lambda x: 2.0 * x)


def test_the_pair_shrinks_by_tanh_at_the_current_measure():
    """Tokens -a and a move to -c and c with c = a tanh(a^2)."""
    a = 1.0
    for measure in list(Stack((LAYER,) * 4).trajectory(PAIR))[1:]:
        a *= math.tanh(a * a)
        assert np.abs(measure.points - [[-a], [a]]).max() <= gamma(400)  # of exponentials, four times over
        assert np.array_equal(measure.weights, PAIR.weights)


def test_a_step_is_the_push_forward_of_the_field():
    rng = stream("tests.transport.step", 0)
    mu = Measure(rng.normal(size=(7, 2)), rng.dirichlet(np.ones(7)))
    value = rng.normal(size=(2, 2))
    moved = step(SelfAttention(PLAIN, value), mu)
    pushed = AttentionKernel(PLAIN, mu, value).push(mu)
    assert np.array_equal(moved.points, pushed.points)
    assert np.array_equal(moved.weights, pushed.weights)
    assert np.array_equal(LAYER(mu.points[:2], mu), AttentionKernel(PLAIN, mu).output(mu.points[:2]))


def test_residual_adds_the_displacement():
    rng = stream("tests.transport.residual", 0)
    mu = Measure(rng.normal(size=(5, 2)))
    assert np.array_equal(step(Residual(LAYER), mu).points, mu.points + step(LAYER, mu).points)
    assert np.array_equal(step(Residual(DOUBLE), mu).points, mu.points + 2.0 * mu.points)


def test_a_feed_forward_map_ignores_the_measure():
    mu = Measure([[1.0, 2.0]])
    assert np.array_equal(DOUBLE(mu.points, PAIR), [[2.0, 4.0]])
    assert np.array_equal(step(FeedForward(lambda x: x[:, :1]), mu).points, [[1.0]])


def test_multi_head_is_a_layer():
    rng = stream("tests.transport.heads", 0)
    mu = Measure(rng.normal(size=(5, 2)), rng.dirichlet(np.ones(5)))
    layer = MultiHead((Head(*rng.normal(size=(4, 2, 2))),))
    assert np.array_equal(step(layer, mu).points, layer(mu.points, mu))
    assert np.array_equal(
        Stack((layer, Residual(layer))).push(mu).points, step(Residual(layer), step(layer, mu)).points
    )


@pytest.mark.parametrize("depth", [0, 1, 2, 5])
def test_trajectories_begin_at_the_start_and_have_one_measure_per_layer(depth):
    stack = Stack((DOUBLE,) * depth)
    trajectory = list(stack.trajectory(PAIR))
    assert len(trajectory) == depth + 1
    assert trajectory[0] is PAIR
    for k, measure in enumerate(trajectory):
        assert np.array_equal(measure.points, 2.0**k * PAIR.points)
    assert np.array_equal(stack.push(PAIR).points, trajectory[-1].points)


def test_layers_act_in_order():
    shift = FeedForward(lambda x: x + 1.0)
    assert np.array_equal(Stack((shift, DOUBLE)).push(PAIR).points, [[0.0], [4.0]])
    assert np.array_equal(Stack((DOUBLE, shift)).push(PAIR).points, [[-1.0], [3.0]])


def test_a_stack_can_be_pushed_twice_whatever_it_was_made_of():
    stack = Stack(layer for layer in (DOUBLE, DOUBLE))
    assert np.array_equal(stack.push(PAIR).points, 4.0 * PAIR.points)
    assert np.array_equal(stack.push(PAIR).points, 4.0 * PAIR.points)
    layers = [DOUBLE]
    held = Stack(layers)
    layers.append(DOUBLE)
    assert np.array_equal(held.push(PAIR).points, 2.0 * PAIR.points)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: x.mean(axis=0),
        lambda x: x[:1],
        lambda x: x[:, :1],
        lambda x: x.T,
        lambda x: 1.0,  # noqa: ARG005
        lambda x: np.full(x.shape, np.nan),
        lambda x: 1j * x,
        lambda x: x[np.newaxis],
    ],
    ids=["mean", "one row", "one column", "transposed", "scalar", "nan", "complex", "one axis more"],
)
def test_a_displacement_has_the_shape_of_the_points(wrong):
    mu = Measure([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    with pytest.raises((ValueError, TypeError), match=r"^layer: expected "):
        step(Residual(FeedForward(wrong)), mu)


@pytest.mark.parametrize("wrong", [lambda x: x[:1], lambda x: x.mean(axis=0), lambda x: 1.0])  # noqa: ARG005
def test_a_layer_moves_every_atom(wrong):
    with pytest.raises((ValueError, TypeError), match=r"^layer: expected "):
        step(FeedForward(wrong), Measure([[0.0, 1.0], [2.0, 3.0]]))


def test_value_matrix_of_the_wrong_width():
    with pytest.raises(ValueError, match=r"^value: expected shape \(n, 1\), got shape \(1, 2\)$"):
        step(SelfAttention(PLAIN, np.ones((1, 2))), PAIR)
