"""Layers among tokens of the torus against products of two circles' weights, and what their bounds consist of."""

from importlib import import_module

import mpmath
import numpy as np
import pytest

from theory.diffusion import apply_layers
from theory.diffusion.layers import LatticeLayer, resolving_count
from theory.diffusion.stack_settings import torus_density, torus_function
from theory.diffusion.studies.torus_stack import stacked_rows
from theory.evidence import exact, sweep
from theory.evidence.sweep import sweeping_on_dask


def product_layer(count, epsilon, values):
    """The average of values on the lattice by two matrix products: the kernel is that of either angle."""
    x = 2.0 * np.pi * np.arange(count) / count
    kernel = np.exp((np.cos(x[:, np.newaxis] - x) - 1.0) / epsilon)
    p = torus_density(x[:, np.newaxis], x)
    return kernel @ (values * p) @ kernel / (kernel @ p @ kernel)


@pytest.mark.parametrize(("count", "epsilon"), [(5, 0.5), (24, 0.125), (64, 0.125), (96, 0.0078125)])
def test_layers_are_products_of_circles(count, epsilon):
    layer = LatticeLayer(count, torus_density, epsilon)
    start = torus_function(*layer.grid.axes)
    (found,) = apply_layers(layer, exact(start), [3])
    claimed = start
    for _ in range(3):
        claimed = product_layer(count, epsilon, claimed)
    assert np.abs(found.mid - claimed).max() <= found.radius.max() < 1e-9


def test_every_row_of_a_million_keeps_the_promise():
    """Fast sums look at a few rows themselves."""
    layer = LatticeLayer(1000, torus_density, 0.125)
    start = torus_function(*layer.grid.axes)
    claimed = product_layer(1000, 0.125, start)
    assert np.abs(layer(start) - claimed).max() <= 1e-12 <= layer.error < 1e-9


def test_a_layer_averages():
    layer = LatticeLayer(60, torus_density, 0.0625)
    np.testing.assert_allclose(layer(np.ones((60, 60))), 1.0, rtol=0, atol=layer.error)


@pytest.mark.parametrize("count", [20, 60])
def test_fast_sums_may_be_off_by_what_they_promise(count, monkeypatch):
    module = import_module("theory.diffusion.layers.torus_stack")
    plain = module.propagate
    layer = LatticeLayer(count, torus_density, 0.25, accuracy=1e-3)
    right = product_layer(count, 0.25, torus_function(*layer.grid.axes))

    def rough(*given, method, accuracy, **named):
        return plain(*given, **named) + (accuracy if method == "nufft" else 0.0)

    monkeypatch.setattr(module, "propagate", rough)
    off = np.abs(layer(torus_function(*layer.grid.axes)) - right).max()
    assert off <= layer.error
    assert (off > 0.99e-3) == (count == 60)


def test_angles_are_off_by_less_than_is_said():
    module = import_module("theory.diffusion.layers.torus_stack")
    worst = 0.0
    with mpmath.workdps(40):
        for count in (7, 49, 360, 1000):
            (x,) = (axis.ravel() for axis in LatticeLayer(count, flat, 2.0**10).grid.axes[:1])
            exactly = [2 * mpmath.pi * j / count for j in range(count)]
            away = [float(abs(mpmath.mpf(a) - b)) for a, b in zip(x.tolist(), exactly, strict=True)]
            worst = max(worst, *away)
    assert 4.0 * worst <= module._POSITION  # both angles of both tokens
    assert 40.0 * worst > module._POSITION


def flat(x, y):
    """Equal masses."""
    return np.ones(np.broadcast_shapes(x.shape, y.shape))


def test_masses_that_are_off_move_averages_by_less():
    module = import_module("theory.diffusion.layers.torus_stack")
    share = mpmath.mpf(2) ** -47  # 64 u
    with mpmath.workdps(40):
        off = abs((1 + share) - (1 - share)) / 2  # of values +1 and -1 with equal masses, one of which grows
    assert 0.9 * module._DENSITY < float(off) <= module._DENSITY


def test_counts():
    assert resolving_count(0.25, per_width=3.0) == 6
    assert resolving_count(0.125, per_width=9.0, multiple=8) == 32
    with pytest.raises(ValueError, match="epsilon: expected one to resolve"):
        resolving_count(1e-14, per_width=1.0)


def test_bad_input():
    with pytest.raises(ValueError, match="density: expected positive masses"):
        LatticeLayer(4, lambda x, y: np.sin(x) ** 2 + 0.0 * y, 0.5)
    with pytest.raises(ValueError, match="density: expected shape"):
        LatticeLayer(4, lambda x, _: x, 0.5)
    with pytest.raises(ValueError, match="accuracy"):
        LatticeLayer(4, flat, 0.5, accuracy=0.5)


CASES = [
    {"part": "stack", "count": 32, "epsilon": 0.125, "layers": [2, 4]},
    {"part": "sparse", "count": 6, "epsilon": 0.25, "layers": [1]},
    {"part": "wave", "count": 320, "epsilon": 0.0625, "layers": [3]},
    {"part": "million", "count": 120, "epsilon": 0.125, "layers": [2]},
]


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_sweeps_the_same_rows():
    """What ``--dask`` does: the cases of the study on a local cluster."""
    distributed = pytest.importorskip("distributed")
    here = sweep(stacked_rows, CASES, pool=False)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        sweeping_on_dask(cluster.scheduler_address),
    ):
        there = sweep(stacked_rows, CASES)
    assert repr(there) == repr(here)
