"""Heat that flows in a metric against solutions in closed form, and against a matrix exponential of Fourier series."""

import numpy as np
import pytest

from theory.diffusion import CircleDensity, PeriodicGrid, drift_diffusion, semigroup
from theory.diffusion.geometry import heat_flow

PLACES = np.array([[0.3], [1.7], [4.0]])
PAIRS = np.array([[0.3, 1.0], [2.0, 5.0], [4.5, 0.0]])


def turned(x):
    """Arc length on a circle whose angle is another one."""
    return x + 0.4 * np.sin(x)


def speed(x):
    return 1.0 + 0.4 * np.cos(x)


def test_in_one_dimension_arc_length_is_all():
    found = heat_flow(lambda x: [[speed(x) ** 2]], lambda x: np.sin(turned(x)), 0.7, PLACES, nodes=(31,))
    truth = np.exp(-0.7) * np.sin(turned(PLACES[:, 0]))
    assert (found.lo <= truth).all()
    assert (truth <= found.hi).all()
    assert found.radius.max() < 1e-4


@pytest.mark.parametrize("nodes", [(15, 11), (23, 19)])
def test_a_flat_torus_in_twisted_coordinates(nodes):
    """Few nodes are solved implicitly, many explicitly."""

    def metric(u, v):
        twist = 0.5 * np.cos(u)
        return [[1.0 + twist**2, twist], [twist, 1.0 + 0.0 * v]]

    def wave(u, v):
        return np.sin(u) + np.cos(v + 0.5 * np.sin(u))

    found = heat_flow(metric, wave, 0.5, PAIRS, nodes=nodes)
    truth = np.exp(-0.5) * wave(*PAIRS.T)
    assert (found.lo <= truth).all()
    assert (truth <= found.hi).all()
    assert found.radius.max() < 1e-2


def test_a_weight_is_a_drift():
    density = CircleDensity([0.8, 0.0], [0.0, 0.3])
    grid = PeriodicGrid((48,))
    x = grid.axes[0]
    start = np.sin(x) + 0.5 * np.cos(2 * x)
    matrix = grid.matrix(lambda values: drift_diffusion(grid, density(x), values))
    truth = semigroup(matrix, 0.4, start)
    found = heat_flow(
        lambda y: [[1.0 + 0.0 * y]],
        lambda y: np.sin(y) + 0.5 * np.cos(2 * y),
        0.4,
        x[:, np.newaxis],
        nodes=(47,),
        weight=lambda y: density(y) ** 2,
    )
    np.testing.assert_allclose(found.mid, truth, rtol=0, atol=1e-7)
    assert (np.abs(found.mid - truth) <= found.radius + 1e-13).all()


def test_in_two_dimensions_a_conformal_factor_and_its_clock_cancel():
    def factor(u, v):
        return np.exp(0.5 * np.cos(u) + 0.3 * np.sin(v))

    def metric(u, v):
        return [[factor(u, v), 0.0], [0.0, factor(u, v)]]

    found = heat_flow(metric, lambda u, v: np.cos(u + v), 0.3, PAIRS, nodes=(15, 15), speed=factor)
    truth = np.exp(-0.6) * np.cos(PAIRS.sum(axis=1))
    np.testing.assert_allclose(found.mid, truth, rtol=0, atol=1e-7)


def test_in_three_dimensions_waves_fall_with_their_length():
    places = np.array([[0.3, 1.0, 2.0], [2.0, 5.0, 0.5]])
    flat = np.diag([1.0, 4.0, 0.25]).tolist()
    found = heat_flow(lambda *_: flat, lambda x, y, z: np.cos(x) + np.sin(y + z), 0.2, places, nodes=(9, 9, 9))
    x, y, z = places.T
    truth = np.exp(-0.2) * np.cos(x) + np.exp(-0.2 * 4.25) * np.sin(y + z)
    assert (np.abs(found.mid - truth) <= found.radius + 1e-12).all()
    assert found.radius.max() < 1e-6


def test_too_few_nodes_are_seen_by_fewer():
    """Eleven nodes do not resolve the solution, and the error is in the width."""
    found = heat_flow(lambda x: [[speed(x) ** 2]], lambda x: np.sin(2 * turned(x)), 0.1, PLACES, nodes=(11,))
    truth = np.exp(-0.4) * np.sin(2 * turned(PLACES[:, 0]))
    assert np.abs(found.mid - truth).max() > 1e-5
    assert (found.lo <= truth).all()
    assert (truth <= found.hi).all()


def test_solutions_cross_and_their_error_is_known_nonetheless():
    """Among many places there are some at which both solutions are nearly the same; their distance tells nothing."""
    places = np.linspace(0.0, 2.0 * np.pi, 1001)[:, np.newaxis]
    found = heat_flow(lambda x: [[speed(x) ** 2]], lambda x: np.sin(2 * turned(x)), 0.1, places, nodes=(11,))
    truth = np.exp(-0.4) * np.sin(2 * turned(places[:, 0]))
    assert (np.abs(found.mid - truth) <= found.radius).all()
    alone = heat_flow(lambda x: [[speed(x) ** 2]], lambda x: np.sin(2 * turned(x)), 0.1, places[:1], nodes=(11,))
    assert alone.radius[0] > 0.5 * found.radius.max()


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (lambda x: [[np.cos(x)]], "metric: expected a positive definite"),
        (lambda x: [[1.0 + 0.0 * x, 0.0]], "metric: expected 1 sequences of 1"),
        (lambda x: [[np.inf + 0.0 * x]], "metric: expected finite"),
    ],
)
def test_metrics_that_are_none(metric, message):
    with pytest.raises(ValueError, match=message):
        heat_flow(metric, np.sin, 0.1, PLACES, nodes=(11,))


def test_a_metric_is_symmetric():
    with pytest.raises(ValueError, match="metric: expected a symmetric"):
        heat_flow(lambda *_: [[1.0, 0.5], [0.0, 1.0]], lambda u, v: np.sin(u + v), 0.1, PAIRS, nodes=(5, 5))


@pytest.mark.parametrize("nodes", [(10,), (3,), (70001,), ()])
def test_nodes_are_odd_and_not_too_many(nodes):
    with pytest.raises(ValueError, match="nodes: expected"):
        heat_flow(lambda x: [[1.0 + 0.0 * x]], np.sin, 0.1, PLACES, nodes=nodes)


def test_a_time_that_takes_too_many_steps():
    with pytest.raises(ValueError, match="time: expected at most"):
        heat_flow(lambda x: [[1.0 + 0.0 * x]], np.sin, 1e9, PLACES, nodes=(11,))
