"""Central projection against the fields on the sphere, and sizes that no coordinate could hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from theory.attention import DotProduct
from theory.particles import SoftmaxField, Tangential, flow, on_sphere
from theory.particles.exact import CollapseField, frame_of

RNG = np.random.default_rng(3)
FORM = RNG.normal(size=(3, 3))


def near(n, d, *, spread=0.4):
    x = np.eye(d)[0] + spread * RNG.normal(size=(n, d))
    x[:, 0] = np.abs(x[:, 0]) + 0.2
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("collapse", "field"),
    [
        (CollapseField(np.eye(3)[0], 2.0), on_sphere(2.0)),
        (CollapseField(np.array([1.0, 0.2, -0.1]), 0.0), on_sphere(0.0)),
        (CollapseField(np.eye(3)[0], 1.5, normalised=False), on_sphere(1.5, normalised=False)),
        (CollapseField(np.eye(3)[0], 1.5, causal=True), on_sphere(1.5, causal=True)),
        (CollapseField(np.eye(3)[0], form=FORM), Tangential(SoftmaxField(DotProduct(form=FORM)))),
    ],
)
def test_the_projected_flow_is_the_flow(collapse, field):
    start = near(5, 3)
    np.testing.assert_allclose(collapse.tokens(collapse.state(start)), start, rtol=0, atol=1e-15)
    times = np.array([0.0, 0.5, 2.0])
    projected = flow(collapse, collapse.state(start), times)
    ambient = flow(field, start, times)
    for state, tokens in zip(projected.states, ambient.states, strict=True):
        np.testing.assert_allclose(collapse.tokens(state), tokens, rtol=0, atol=1e-11)
        chord = float(np.linalg.norm(tokens[:, np.newaxis] - tokens, axis=2).max())
        claimed = math.log(2.0 * math.asin(0.5 * chord))
        assert collapse.log_diameter(state) == pytest.approx(claimed, rel=0, abs=1e-11 / chord)


def test_sizes_below_every_coordinate_are_kept():
    collapse = CollapseField(np.eye(2)[0])
    state = np.array([0.5, -300.0, 1.0])  # two tokens e^-300 apart in the chart, at the slope 1/2
    assert collapse.log_diameter(state) == pytest.approx(-300.0 - math.log(1.25), rel=0, abs=1e-12)
    assert collapse(state)[1] == pytest.approx(-1.0, rel=0, abs=1e-12)


def test_a_frame_is_orthonormal():
    for c in (np.array([1.0, 2.0]), np.array([-3.0, 0.0, 1e-9]), RNG.normal(size=6)):
        frame = frame_of(c)
        np.testing.assert_allclose(frame.T @ frame, np.eye(c.size - 1), rtol=0, atol=1e-15)
        np.testing.assert_allclose(c @ frame / np.linalg.norm(c), 0.0, rtol=0, atol=1e-15)


def test_bad_input():
    with pytest.raises(ValueError, match="beta: expected scores of at most 700 without normalisation, got 800"):
        CollapseField(np.eye(2)[0], beta=400.0, form=2.0 * np.eye(2), normalised=False)
    with pytest.raises(ValueError, match="centre: expected a direction in at least two dimensions"):
        CollapseField(np.zeros(3))
    with pytest.raises(ValueError, match=r"form: expected shape \(2, 2\), got shape \(3, 3\)"):
        CollapseField(np.eye(2)[0], form=np.eye(3))
    with pytest.raises(ValueError, match="tokens: expected an open half-sphere, got token 1 outside"):
        CollapseField(np.eye(2)[0]).state(np.array([[1.0, 0.0], [-1.0, 0.0]]))
    with pytest.raises(ValueError, match="tokens: expected at least two that differ, got one point"):
        CollapseField(np.eye(2)[0]).state(np.array([[1.0, 0.0], [1.0, 0.0]]))
