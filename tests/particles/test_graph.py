"""Fields on graphs against the fields of attention and the printed sum, twisted states, and measures of consensus."""

from __future__ import annotations

import math

import numpy as np
import pytest

from theory.evidence.enclosure import ends
from theory.particles import GraphField, on_sphere
from theory.particles.dynamics import complete, consensus_gap, mean_length, ring, twisted, twisted_balls

RNG = np.random.default_rng(5)


def sphere(n, d):
    x = RNG.normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@pytest.mark.parametrize("beta", [0.0, 1.0, -2.0, 9.0])
def test_a_complete_graph_is_attention(beta):
    x = sphere(7, 4)
    np.testing.assert_allclose(
        GraphField(complete(7), beta, normalised=True)(x), on_sphere(beta)(x), rtol=0, atol=1e-13
    )
    np.testing.assert_allclose(
        GraphField(complete(7) / 7, beta)(x), on_sphere(beta, normalised=False)(x), rtol=1e-12, atol=1e-13
    )


def test_the_field_is_the_printed_sum():
    x = sphere(5, 3)
    adjacency = RNG.uniform(size=(5, 5))
    for i, found in enumerate(GraphField(adjacency, 0.7)(x)):
        y = sum(adjacency[i, j] * math.exp(0.7 * float(x[i] @ x[j])) * x[j] for j in range(5))
        np.testing.assert_allclose(found, y - (x[i] @ y) * x[i], rtol=0, atol=1e-14)


def test_a_ring_has_two_neighbours_each():
    adjacency = ring(5)
    assert (adjacency == adjacency.T).all()
    assert adjacency.sum() == 10.0
    assert [np.flatnonzero(row).tolist() for row in adjacency[:2]] == [[1, 4], [0, 2]]


@pytest.mark.parametrize(("n", "winding", "dim"), [(10, 1, 2), (10, 3, 3), (7, 2, 4), (4, -1, 2)])
def test_twisted_states_rest(n, winding, dim):
    x = twisted(n, winding, dim)
    middle, radius = ends(twisted_balls(n, winding, dim))
    assert (np.abs(x - middle) <= radius + 1e-15).all()
    assert x[1, 1] == pytest.approx(math.sin(2.0 * math.pi * winding / n), rel=1e-14, abs=1e-14)
    for beta in (0.0, 2.0):
        np.testing.assert_allclose(GraphField(ring(n), beta)(x), 0.0, rtol=0, atol=1e-14)


def test_distance_from_consensus():
    x = sphere(6, 3)
    assert consensus_gap(x) == pytest.approx(1.0 - (x @ x.T).min(), rel=1e-13, abs=0)
    near = np.array([[1.0, 0.0], [math.cos(1e-10), math.sin(1e-10)]])
    assert consensus_gap(near) == pytest.approx(5e-21, rel=1e-12, abs=0)
    assert mean_length(np.eye(2)) == pytest.approx(math.sqrt(0.5), rel=1e-15, abs=0)


def test_large_scores_of_normalised_rows():
    x = np.array([[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]])
    found = GraphField(ring(3), -800.0, normalised=True)(x)  # each token sees the neighbour that is farther away only
    far = x[[2, 0, 0]]
    np.testing.assert_allclose(found, far - (far * x).sum(axis=1)[:, np.newaxis] * x, rtol=0, atol=1e-15)


def test_bad_input():
    with pytest.raises(ValueError, match="beta: expected at most 700 in size without normalisation, got 800"):
        GraphField(ring(3), 800.0)
    with pytest.raises(ValueError, match="n: expected an integer of at least 3, got 2"):
        ring(2)
    with pytest.raises(ValueError, match=r"adjacency: expected shape \(2, 2\), got shape \(2, 3\)"):
        GraphField(np.ones((2, 3)))
    for wrong in (-np.eye(2), np.array([[1.0, 0.0], [0.0, 0.0]])):
        with pytest.raises(ValueError, match="adjacency: expected non-negative entries, one positive in every row"):
            GraphField(wrong)
    with pytest.raises(ValueError, match=r"x: expected shape \(3, d\), got shape \(2, 2\)"):
        GraphField(complete(3))(np.eye(2))
    with pytest.raises(ValueError, match="dim: expected an integer of at least 2, got 1"):
        twisted(5, 1, 1)


@pytest.mark.parametrize("winding", [math.nan, math.inf, 0.5, True, "1"])
def test_a_twisted_state_winds_a_whole_number_of_times(winding):
    for state in (twisted, twisted_balls):
        with pytest.raises(TypeError, match="winding: expected an integer"):
            state(5, winding)
    np.testing.assert_array_equal(twisted(5, np.int32(-2)), twisted(5, -2))
