"""Layers of general scores against mpmath, and tokens that go around against what symmetry says."""

from importlib import import_module

import mpmath
import numpy as np
import pytest

from theory.diffusion import CircleDensity
from theory.diffusion.layers import orbit_tokens, score_layer
from theory.evidence import exact

DENSITY = CircleDensity([0.8, 0.0], [0.0, 0.3])
QUARTER = np.array([[0.0, 1.0], [-1.0, 0.0]])


def ahead(x, y):
    """A dissimilarity that is least a fifth ahead, and is not symmetric."""
    v = (y - x)[..., 0]
    return 2.0 - 2.0 * np.cos(v) - 0.4 * np.sin(v) * (1.0 + 0.5 * np.sin(x[..., 0]))


def test_rows_are_those_of_the_definition():
    angles, layer = score_layer(ahead, DENSITY, 0.05, count=11, slope=3.0, error=1e-14)
    with mpmath.workdps(30):
        nodes = [2 * mpmath.pi * j / 11 for j in range(11)]
        for row, x in zip(layer.rows, nodes, strict=True):
            weights = []
            for y in nodes:
                v = y - x
                f = 2 - 2 * mpmath.cos(v) - mpmath.mpf("0.4") * mpmath.sin(v) * (1 + mpmath.sin(x) / 2)
                log_p = mpmath.mpf("0.8") * mpmath.cos(y) + mpmath.mpf("0.3") * mpmath.sin(2 * y)
                weights.append(mpmath.exp(log_p - f / mpmath.mpf("0.1")))
            claimed = [float(w / sum(weights)) for w in weights]
            np.testing.assert_allclose(row, claimed, rtol=0, atol=layer.error)
    assert layer.error < 1e-10
    np.testing.assert_allclose(angles, [float(x) for x in nodes], rtol=1e-15, atol=0)


@pytest.mark.parametrize("part", ["slope", "error"])
def test_what_is_said_of_a_dissimilarity_is_charged(part):
    """Over twice the bandwidth, and about once more for the weights beside it."""
    plain = {"count": 9, "slope": 1e-30, "error": 0.0}
    _, layer = score_layer(ahead, np.ones_like, 0.05, **plain)
    given = 1e-6 if part == "error" else 1e-6 / import_module("theory.diffusion.layers.score_stack")._POSITION
    _, rough = score_layer(ahead, np.ones_like, 0.05, **(plain | {part: given}))
    moved = np.tanh(1e-6 / 0.2)  # two keys at the same score, one too near and one too far
    assert rough.error - layer.error >= moved


def test_angles_and_masses_are_off_by_less_than_is_said():
    module = import_module("theory.diffusion.layers.score_stack")
    angles, _ = score_layer(ahead, np.ones_like, 1.0, count=49, slope=3.0)
    with mpmath.workdps(40):
        away = [float(abs(mpmath.mpf(x) - 2 * mpmath.pi * j / 49)) for j, x in enumerate(angles.tolist())]
    assert 2.0 * max(away) <= module._POSITION < 60.0 * max(away)
    assert 2.0**-47 <= module._DENSITY < 2.0**-46  # 64 u of a mass, see the torus


def test_masses_that_are_off_are_charged(monkeypatch):
    module = import_module("theory.diffusion.layers.score_stack")
    _, plain = score_layer(ahead, DENSITY, 0.5, count=9, slope=3.0)
    monkeypatch.setattr(module, "_DENSITY", 1e-3)
    _, rough = score_layer(ahead, DENSITY, 0.5, count=9, slope=3.0)
    assert rough.error - plain.error > 0.99e-3


def test_equal_tokens_of_a_polygon_turn_and_return():
    angles = 2.0 * np.pi * np.arange(12) / 12
    tokens = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    clouds = orbit_tokens(tokens, QUARTER, 0.2, 4)
    for number, cloud in enumerate(clouds):
        turned = angles + 0.5 * np.pi * number
        np.testing.assert_allclose(cloud, np.stack([np.cos(turned), np.sin(turned)], axis=1), rtol=0, atol=1e-12)
    for plain, enclosed in zip(clouds, orbit_tokens(exact(tokens), QUARTER, 0.2, 4), strict=True):
        assert plain in enclosed


def test_bad_input():
    with pytest.raises(ValueError, match="slope"):
        score_layer(ahead, DENSITY, 0.5, count=9, slope=-1.0)
    with pytest.raises(ValueError, match="form"):
        orbit_tokens(np.eye(2), np.eye(3), 0.5, 1)
