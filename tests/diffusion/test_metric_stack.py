"""Layers of metric-attention against the definition in mpmath, against other layers, and with what is off."""

import mpmath
import numpy as np
import pytest

from theory.diffusion import TokenLayer, apply_layers, studies
from theory.diffusion.layers import FeatureLayer
from theory.diffusion.settings import WAVY_DENSITY
from theory.diffusion.stack_settings import METRIC_STACKS
from theory.diffusion.studies.metric_stack import _grid
from theory.evidence import as_intervals, exact, within


def test_an_average_is_that_of_the_definition():
    rng = np.random.default_rng(1)
    features = rng.normal(size=(7, 3))
    queries = rng.normal(size=(4, 3))
    masses = rng.uniform(0.5, 2.0, 7)
    values = rng.normal(size=7)
    layer = FeatureLayer(features, 0.3, masses=masses, queries=queries)
    found = layer(exact(values))
    with mpmath.workdps(30):
        for query, value in zip(queries, found, strict=True):
            apart = [sum((mpmath.mpf(a) - b) ** 2 for a, b in zip(query, key, strict=True)) for key in features]
            shares = [m * mpmath.exp(-f / mpmath.mpf("0.6")) for m, f in zip(masses.tolist(), apart, strict=True)]
            claimed = sum(s * v for s, v in zip(shares, values.tolist(), strict=True)) / sum(shares)
            assert value.lo <= claimed <= value.hi
    assert found.radius.max() < 1e-12


def test_a_stack_is_that_of_stored_weights():
    rng = np.random.default_rng(2)
    tokens = rng.normal(size=(50, 2))
    start = np.sin(tokens[:, 0])
    asked, stored = FeatureLayer(tokens, 0.2), TokenLayer(tokens, 0.2)
    for one, other in zip(
        apply_layers(asked, exact(start), [1, 9]), apply_layers(stored, exact(start), [1, 9]), strict=True
    ):
        assert np.abs(one.mid - other.mid).max() <= one.radius.max() + other.radius.max() < 1e-10


def test_copies_stand_for_what_is_symmetric():
    cube = METRIC_STACKS["cube"]
    n = 6
    steps = np.arange(n)
    nodes = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)
    angles = 2.0 * np.pi / n * nodes
    orbits = np.sort(np.minimum(nodes, n - nodes), axis=1)
    first, copies = np.unique(orbits, axis=0, return_inverse=True)
    masses = cube.density(*angles.T)
    chosen = cube.features(2.0 * np.pi / n * first)
    short = FeatureLayer(cube.features(angles), 0.4, masses=masses, queries=chosen, copies=copies.ravel())
    whole = FeatureLayer(cube.features(angles), 0.4, masses=masses)
    few, every = cube.function(*(2.0 * np.pi / n * first).T), cube.function(*angles.T)
    for _ in range(3):
        few, every = short(few), whole(every)
    np.testing.assert_allclose(few[copies.ravel()], every, rtol=0, atol=1e-12)


def test_features_that_are_off_move_weights():
    """Two keys and a query between them, each of which moves by what it may be off."""
    off, epsilon = 1e-6, 0.01
    keys, query = within(np.array([[0.0], [1.0]]), off), within(np.array([[0.5]]), off)
    found = FeatureLayer(keys, epsilon, queries=query)(exact([1.0, -1.0]))[0]
    near, far = 0.5 - 2.0 * off, 0.5 + 2.0 * off
    truth = np.tanh((far**2 - near**2) / (4.0 * epsilon))
    assert found.hi > truth > 5e-5
    assert found.hi < 20 * truth


def test_masses_that_are_off_move_weights():
    off = 1e-6
    masses = within(np.array([1.0, 1.0]), off)
    found = FeatureLayer(np.zeros((2, 1)), 0.1, masses=masses)(exact([1.0, -1.0]))[0]
    assert off < found.hi < 20 * off


def test_values_that_are_off_are_averaged():
    tokens = np.linspace(0.0, 1.0, 5)[:, np.newaxis]
    found = FeatureLayer(tokens, 0.1)(within(np.ones(5), 1e-3))
    assert (found.hi > 1.0 + 0.999e-3).all()
    assert (found.hi < 1.0 + 1.1e-3).all()


@pytest.mark.parametrize("copies", [np.array([0, 1]), np.array([0, 1, 7])])
def test_copies_are_one_for_each_token(copies):
    features = np.eye(3)
    with pytest.raises(ValueError, match=r"copies: expected shape|values: expected one for every token"):
        FeatureLayer(features, 0.5, copies=copies)(np.ones(3))


def test_a_mass_is_positive():
    with pytest.raises(ValueError, match="masses: expected positive"):
        FeatureLayer(np.eye(3), 0.5, masses=np.array([1.0, 0.0, 1.0]))


@pytest.fixture(scope="module")
def table():
    return studies.metric_stack(scale="quick", root=0)


@pytest.mark.parametrize(("way", "grid"), [("ellipse", None), ("bent", None), ("torus", (41, 14)), ("cube", (12,) * 3)])
def test_the_first_rows_are_powers_of_a_matrix(table, way, grid):
    """A layer more or less is of first order, so that no limit shows it."""
    given = METRIC_STACKS[way]
    row = table.where(way=way, epsilon=given.coarsest)
    if grid is None:
        tokens, masses = WAVY_DENSITY.tokens(row["tokens"][0]), 1.0
    else:
        lines = [2.0 * np.pi * np.arange(n) / n for n in grid]
        tokens = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, len(grid))
        masses = given.density(*tokens.T)

    def weights(asked):
        one, other = given.features(asked), given.features(tokens)
        apart = (one**2).sum(axis=1)[:, np.newaxis] + (other**2).sum(axis=1) - 2.0 * one @ other.T
        shares = masses * np.exp(-apart / (2.0 * given.coarsest))
        return shares / shares.sum(axis=1, keepdims=True)

    matrix = weights(tokens)
    values = given.function(*tokens.T)
    for _ in range(round(2.0 * given.time / given.coarsest) - 1):
        values = matrix @ values
    truth = weights(given.places) @ values
    found = as_intervals(row["value"])
    assert len(tokens) == row["tokens"][0]
    assert np.abs(found.mid - truth).max() < 1e-12


def test_grids_hold_the_angles():
    with mpmath.workdps(30):
        for n in (41, 144, 210):
            held = as_intervals(_grid([n])[:, 0])
            assert all(held[k].lo <= 2 * mpmath.pi * k / n <= held[k].hi for k in range(n))
            assert held.radius.max() < 4e-15


def test_the_study_holds_constants_and_stays_within_its_start(table):
    assert set(table["way"]) == set(METRIC_STACKS)
    for way, given in METRIC_STACKS.items():
        part = table.where(way=way)
        assert len(part["value"]) == len(given.places) * len(np.unique(part["epsilon"]))
        assert np.abs(as_intervals(part["value"]).mid).max() < 4.6  # an average exceeds no value
        np.testing.assert_allclose(part["layers"] * part["epsilon"], 2.0 * given.time, rtol=1e-15, atol=0)
