"""What the door of the engine refuses, by name, and what it once took for something else."""

import os

import numpy as np
import pytest

from theory import attend, engine
from theory.attention import SquaredDistance, TorusDistance
from theory.engine import Direction, Form, Pairs
from theory.evidence import stream

X = stream("tests.door", 0).normal(size=(30, 2))
GOOD = Pairs(Form.DISTANCE, X, X, np.ones(1))
CALLS = {
    "attention": engine.attention,
    "weights": lambda pairs, _, **given: engine.weights(pairs, **given),
    "moments": engine.moments,
    "jvp": lambda pairs, v, **given: engine.jvp(pairs, v, Direction(X, X, v, np.zeros(30)), **given),
    "vjp": lambda pairs, v, **given: engine.vjp(pairs, v, v, **given),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("log_weights", {"log_weights": np.zeros(5)}),
        ("log_weights", {"log_weights": np.full(30, -np.inf)}),
        ("log_weights", {"log_weights": np.full(30, np.nan)}),
        ("visible", {"visible": np.full(5, 30)}),
        ("visible", {"visible": np.zeros(30, dtype=np.int64)}),
        ("visible", {"visible": np.full(30, 31)}),
        ("visible", {"visible": np.full(30, 2.0)}),
    ],
)
def test_refused_by_name(call, name, given):
    with pytest.raises(ValueError, match=rf"^{name}: expected "):
        call(GOOD, X, **given)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_pairs_that_do_not_fit(call):
    narrow = np.ascontiguousarray(X[:, :1])
    for name, pairs in (
        ("keys", Pairs(Form.DOT, X, narrow, np.ones(1))),
        ("coefficients", Pairs(Form.DISTANCE, X, X, -np.ones(1))),
        ("coefficients", Pairs(Form.TORUS, X, X, np.array([np.nan]))),
        ("coefficients", Pairs(Form.ADDITIVE, X, X, np.ones(1))),
        ("queries", Pairs(Form.DOT, X.tolist(), X, np.ones(1))),
        ("keys", Pairs(Form.DOT, X, X.astype(np.float32), np.ones(1))),
    ):
        with pytest.raises(ValueError, match=rf"^{name}: expected "):
            call(pairs, X)


@pytest.mark.parametrize("accuracy", [-1.0, 0.0, 1.0, 5.0, np.nan, np.inf])
@pytest.mark.parametrize("method", ["dense", "auto", "nufft", "local"])
def test_accuracy_out_of_range(accuracy, method):
    with pytest.raises(ValueError, match=r"^accuracy: expected a number between 0 and 1, got "):
        attend(X, X, X, method=method, accuracy=accuracy)


@pytest.mark.parametrize("accuracy", ["x", None, True, [1e-3]])
def test_accuracy_of_a_strange_type(accuracy):
    with pytest.raises(TypeError, match=r"^accuracy: expected a number, got "):
        attend(X, X, X, accuracy=accuracy)


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e8])
@pytest.mark.parametrize("d", [2, 12])
def test_single_precision_far_from_the_origin(offset, d):
    """Distances are taken from the middle of the keys: scores below 100 are off by a few units of 2**-24 times that."""
    x = stream("tests.door.far", d).normal(size=(100, d)) + offset
    v = x - offset
    double, single = (attend(x, x, v, score=SquaredDistance(0.5), precision=name) for name in ("double", "single"))
    assert np.abs(double - single).max() <= 100 * 4 * (d + 4) * 2.0**-24


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e10, 1e13])
@pytest.mark.parametrize("n", [7, 97, 1000])
def test_equal_keys_on_wide_rows(n, scale):
    """Equal keys have equal scores wherever they stand in a tile, so the output is the mean of the values."""
    keys = np.tile(stream("tests.door.equal", n).normal(size=(1, 12)), (n, 1))
    found = engine.attention(Pairs(Form.DOT, np.ones((3, 12)), keys, np.array([scale])), np.arange(n)[:, None] * 1.0)
    assert np.abs(found.output - (n - 1) / 2.0).max() <= n * n * 2.0**-53


@pytest.mark.parametrize("scale", [1e12, 1e15, 1e18])
def test_derivatives_under_equal_keys_of_large_scores(scale):
    pairs = Pairs(Form.DOT, np.ones((1, 2)), np.ones((16, 2)), np.array([scale]))
    along = Direction(np.zeros((1, 2)), np.zeros((16, 2)), np.ones((16, 1)), np.zeros(16))
    assert np.abs(engine.jvp(pairs, np.ones((16, 1)), along)[1] - 1.0).max() <= 32 * 2.0**-53
    assert np.abs(engine.vjp(pairs, np.ones((16, 1)), np.full((1, 1), 3.0)).values - 3.0 / 16).max() <= 32 * 2.0**-53


def test_kernels_too_narrow_for_fast_sums():
    x = stream("tests.door.narrow", 0).uniform(size=(2000, 1))
    for scale in (1e10, 1e308):
        with pytest.raises(ValueError, match=r"^method: expected a kernel "):
            attend(x, x, x, score=TorusDistance(scale), method="nufft")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes by fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_fast_sums_in_a_forked_child():
    x = stream("tests.door.fork", 0).normal(size=(3000, 1))
    here = attend(x, x, x, score=SquaredDistance(1.0), method="nufft")
    child = os.fork()
    if child == 0:
        there = attend(x, x, x, score=SquaredDistance(1.0), method="nufft")
        os._exit(0 if np.abs(here - there).max() < 1e-12 else 1)
    assert os.waitpid(child, 0)[1] == 0
