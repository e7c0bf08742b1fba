"""What is asked with floats lies in what is asked with enclosures, which holds also for tokens that are wide."""

import numpy as np
import pytest

from theory.evidence import exact, stream, within
from theory.metric import (
    LinearFeatures,
    MetricScore,
    ResidualFeatures,
    attention_weights,
    average_tokens,
    make_similarity,
    sizes_of,
    vjp,
)

KINDS = ("metric", "l2", "self")
SHAPES = ((5, 3), (2, 4, 3))  # one set of tokens, and a stack of two


def problem(kind, shape, case=0):
    """Return a similarity of width two, parameters, tokens, a cotangent and a mask."""
    rng = stream("tests.metric.enclosed", case)
    similar = make_similarity(kind, shape[-1], 2)
    theta = rng.normal(size=sum(sizes_of(similar.shapes)))
    mask = (rng.uniform(size=(shape[-2], shape[-2])) < 0.6) | np.eye(shape[-2], dtype=bool)
    return similar, theta, *rng.normal(size=(2, *shape)), mask


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("far", [0.0, 2.0**30])
def test_a_layer_and_its_gradients(kind, shape, far):
    similar, theta, h, bar, mask = problem(kind, shape)
    h = h + far if kind == "l2" else h
    for seen in (None, mask):
        floats, enclosures = (
            [
                attention_weights(similar, theta, x, mask=seen),
                average_tokens(similar, theta, x, mask=seen),
                *vjp(similar, theta, x, bar, mask=seen),
            ]
            for x in (h, exact(h))
        )
        for found, enclosed in zip(floats, enclosures, strict=True):
            assert found in enclosed
            assert enclosed.radius.max() < 1e-8 * (1.0 + far)


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_and_parameters_that_are_wide(kind):
    similar, theta, h, bar, mask = problem(kind, SHAPES[0], 1)
    wide, wider = within(h, 1e-6), within(theta, 1e-6)
    rng = stream("tests.metric.enclosed", 2)
    layer = average_tokens(similar, wider, wide, mask=mask)
    tokens, slopes = vjp(similar, wider, wide, bar, mask=mask)
    for _ in range(20):
        x, at = (p + rng.uniform(-1e-6, 1e-6, p.shape) for p in (h, theta))
        assert average_tokens(similar, at, x, mask=mask) in layer
        found = vjp(similar, at, x, bar, mask=mask)
        assert found[0] in tokens
        assert found[1] in slopes


def test_features_and_scores():
    rng = stream("tests.metric.enclosed", 3)
    g = ResidualFeatures(*(rng.normal(size=shape) for shape in ((3, 4), 4, (4, 3), 3)))
    x = rng.normal(size=(5, 3))
    step = rng.uniform(-1e-6, 1e-6, (5, 3))
    score = MetricScore(g, 0.3)
    linear = LinearFeatures(rng.normal(size=(3, 2)))
    for map_of in (g, g.jacobian, g.hessian, linear, score.pull_back, lambda z: score.matrix(z, z)):
        assert map_of(x) in map_of(exact(x))
        assert map_of(exact(x)).radius.max() < 1e-11
        assert map_of(x + step) in map_of(within(x, 1e-6))
