"""Layers and stacks against the definition in mpmath, against powers of matrices, and against each other."""

from importlib import import_module

import mpmath
import numpy as np
import pytest

from theory.diffusion import (
    CircleDensity,
    PeriodicGrid,
    TokenLayer,
    apply_layers,
    chordal,
    chordal_multiplier,
    heat_multiplier,
)
from theory.diffusion.layers import TorusLayer, ZonalLayer, count_layers
from theory.evidence import exact

DENSITY = CircleDensity([0.8, 0.0], [0.0, 0.3])


def test_weights_are_those_of_the_definition():
    rng = np.random.default_rng(1)
    keys = rng.normal(size=(7, 2))
    queries = rng.normal(size=(3, 2))
    masses = rng.uniform(0.5, 2.0, 7)
    masses /= masses.sum()
    layer = TokenLayer(keys, 0.3, weights=masses, queries=queries)
    with mpmath.workdps(30):
        for row, query in zip(layer.rows, queries, strict=True):
            apart = [sum((mpmath.mpf(a) - b) ** 2 for a, b in zip(query, key, strict=True)) for key in keys]
            weights = [m * mpmath.exp(-f / mpmath.mpf("0.6")) for m, f in zip(masses.tolist(), apart, strict=True)]
            claimed = [float(w / sum(weights)) for w in weights]
            np.testing.assert_allclose(row, claimed, rtol=max(layer.error, 1e-14), atol=0)
    assert layer.error < 1e-12


def test_a_stack_is_a_power_and_keeps_its_bound():
    tokens = DENSITY.tokens(40)
    layer = TokenLayer(tokens, 0.1, score=chordal(0.1))
    start = np.sin(tokens[:, 0])
    depths = (0, 3, 8)
    found = apply_layers(layer, exact(start), depths)
    assert (found[0].mid == start).all()
    for count, values, plain in zip(depths, found, apply_layers(layer, start, depths), strict=True):
        power = np.linalg.matrix_power(layer.rows, count) @ start
        np.testing.assert_allclose(values.mid, power, rtol=0, atol=values.radius.max() + 1e-14)
        assert plain in values
    errors = [values.radius.max() for values in found]
    assert errors[0] == 0.0 < errors[1] < errors[2] < 1e-11


def test_exact_layers_agree_with_quadratures():
    grid = PeriodicGrid((256,))
    x = grid.axes[0]
    h = np.sin(x) + 0.5 * np.cos(2 * x)
    p = DENSITY(x)
    torus = TorusLayer(grid, p, chordal_multiplier(0.05))
    tokens = TokenLayer(grid.nodes, 0.05, score=chordal(0.05), weights=p / p.sum())
    np.testing.assert_allclose(torus(h), tokens(h), rtol=0, atol=torus.error + tokens.error + 1e-13)
    np.testing.assert_allclose(torus(np.ones(256)), 1.0, rtol=0, atol=torus.error)

    zonal = ZonalLayer(lambda z: 1.0 + 0.6 * z, 10.0)
    # in closed form
    b = 10.0
    a = 0.6
    z = zonal.heights
    one = 1.0 / np.tanh(b) - 1.0 / b
    two = 1.0 - 3.0 * one / b
    closed = (a / 3 + one * z + a * two * (z**2 - 1 / 3)) / (1 + a * one * z)
    np.testing.assert_allclose(zonal(z), closed, rtol=0, atol=zonal.error)
    assert zonal.error < 1e-9


def test_an_exact_layer_where_the_density_almost_vanishes():
    """Transforms are off by what the largest mass rounds, which is divided by the least."""
    grid = PeriodicGrid((61,))
    h = np.sin(grid.axes[0]) + 0.5 * np.cos(2 * grid.axes[0])
    layer = TorusLayer(grid, 1.0 - (1.0 - 1e-6) * np.cos(grid.axes[0]), np.ones_like)  # which moves nothing
    off = np.abs(layer(h) - h).max()
    assert 1e-12 < off <= layer.error * np.abs(h).max()


def test_a_stack_of_layers_that_are_off_by_their_bound():
    class Rough:
        error = 2.0**-20

        def __call__(self, values):
            return values * (1.0 + self.error)

    (found,) = apply_layers(Rough(), exact([1.0, -2.0]), [1000])
    off, error = np.abs(found.mid - [1.0, -2.0]).max(), found.radius.max()
    assert 0.99 * error <= off <= error


def test_depth():
    assert count_layers(0.5, 0.125) == 8
    with pytest.raises(ValueError, match="time: expected a multiple"):
        count_layers(0.5, 0.3)
    with pytest.raises(ValueError, match="epsilon"):
        count_layers(0.5, 0.0)


def test_bad_input():
    grid = PeriodicGrid((32,))
    with pytest.raises(ValueError, match="density: expected one that stays positive"):
        TorusLayer(grid, np.sin(grid.axes[0]), heat_multiplier(0.1))
    with pytest.raises(ValueError, match="density: expected positive"):
        ZonalLayer(lambda z: z, 1.0)
    with pytest.raises(ValueError, match="epsilon"):
        TokenLayer(np.zeros((2, 1)), -1.0)
    with pytest.raises(ValueError, match="queries"):
        TokenLayer(np.zeros((2, 1)), 1.0, queries=np.zeros((2, 2)))
    with pytest.raises(ValueError, match="depths: expected rising"):
        apply_layers(TokenLayer(np.zeros((2, 1)), 1.0), np.zeros(2), [3, 3])


def test_a_kernel_that_the_nodes_cut_off_is_charged_for_its_growth():
    coarse = ZonalLayer(lambda z: 1.0 + 0.5 * z, 1024.0, nodes=32)
    norms = []
    power = coarse.rows
    for _ in range(64):
        norms.append(float(np.abs(power).sum(axis=1).max()))
        power = power @ coarse.rows
    plain = ZonalLayer(lambda z: 1.0 + 0.5 * z, 4.0, nodes=32)
    assert coarse.rows.min() < 0.0 < plain.rows.min()
    assert max(norms) > 1.05
    assert coarse.error > max(norms) * plain.error


def test_tokens_may_weigh_nothing():
    rows = TokenLayer([[0.0], [1.0]], 0.5, weights=[1.0, 0.0]).rows
    np.testing.assert_array_equal(rows, [[1.0, 0.0], [1.0, 0.0]])


def test_an_exact_layer_of_coarse_transforms_keeps_its_bound(monkeypatch):
    grid = PeriodicGrid((64,))
    off = 1e-6
    plain = PeriodicGrid.multiply
    x = grid.axes[0]
    p = DENSITY(x)
    h = np.sign(np.sin(x))
    multiplier = heat_multiplier(0.5)
    right = TorusLayer(grid, p, multiplier)(h)
    monkeypatch.setattr(PeriodicGrid, "rounding", lambda *_, **__: off)
    worst = 0.0
    for sign in (-1.0, 1.0):  # of the mass when the layer is made, and of every average after it
        monkeypatch.setattr(PeriodicGrid, "multiply", lambda *a, s=sign: plain(*a) - s * off)
        layer = TorusLayer(grid, p, multiplier)
        monkeypatch.setattr(PeriodicGrid, "multiply", lambda *a, s=sign: plain(*a) + s * off * np.sign(right))
        worst = max(worst, float(np.abs(layer(h) - right).max() / layer.error))
    assert 0.5 < worst <= 1.0


def test_weights_that_are_off_by_their_bound_leave_averages_inside(monkeypatch):
    module = import_module("theory.diffusion.layers.stacking")
    tokens = DENSITY.tokens(24)
    off = 1e-6
    right = TokenLayer(tokens, 0.1)
    h = np.sign(np.sin(3.0 * tokens[:, 0]))
    monkeypatch.setattr(module, "weight_error", lambda *_: off)
    monkeypatch.setattr(module, "propagate", lambda *_, **__: right.rows * (1.0 + off * h))
    rough = TokenLayer(tokens, 0.1)
    assert 0.99 * off <= float(np.abs(rough(h) - right(h)).max()) <= rough.error
