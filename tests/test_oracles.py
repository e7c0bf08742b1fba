"""Each compiled pass against its NumPy oracle within the derived bounds, and both against ball arithmetic."""

import inspect
import math
import tracemalloc

import numpy as np
import pytest

from tests.attention import exact
from tests.engine.problems import FORMS, hidden, output_error, output_error_single, score_of, truth
from theory import engine
from theory.attention import Additive, DotProduct, SquaredDistance, partition_error, weight_error
from theory.engine import TILE, blocks, compiled, dense, fused, reference, rows
from theory.evidence import stream
from theory.evidence.enclosure import log, precision
from theory.evidence.roundoff import gamma

SIZES = (1, 2, TILE - 1, TILE, TILE + 1, fused.TILE, fused.TILE + 1)
NARROW = ((1, 1), (2, 3), (3, 2), (4, 5), (5, 4), (5, 5))
WIDE = ((6, 5), (4, 7), (8, 8), (9, 1), (1, 9), (16, 2), (2, 16), (33, 33))
KINDS = ("random", "tiny", "huge", "equal", "rising", "weighted", "faint")
QUERIES = 3
KERNELS = (compiled, reference)


def cloud(kind, n, d, d_v, rng):
    """Queries, keys, values and log-weights of one sort of input."""
    x = rng.normal(size=(QUERIES, d))
    y = rng.normal(size=(n, d))
    v = rng.normal(size=(n, d_v))
    added = np.zeros(n)
    if kind == "tiny":
        x, y = 1e-150 * x, 1e-150 * y
    if kind == "huge":  # scores of 1e4, values of 1e300
        x, y, v = 100.0 * x, 100.0 * y, 1e300 * v
    if kind == "equal":
        y = np.tile(y[:1], (n, 1))
        added = np.full(n, -700.0)
    if kind == "rising":  # the running maximum is replaced in every tile
        x = np.abs(x)
        y = np.sort(3.0 * y, axis=0)
    if kind == "weighted":  # over six hundred orders
        added = math.log(10.0) * rng.integers(-300, 301, size=n)
    if kind == "faint":
        v = 1e-300 * v
        added = rng.normal(size=n)
    return x, y, v, added


def test_signatures_agree():
    names = ("attention", "weights", "moments", "jvp", "vjp")
    assert {name for name, item in vars(compiled).items() if inspect.isfunction(item)} == set(names)
    for name in names:
        ours, theirs = (inspect.signature(getattr(kernels, name)).parameters for kernels in KERNELS)
        assert [(p.name, p.kind, p.default) for p in ours.values()] == [
            (p.name, p.kind, p.default) for p in theirs.values()
        ]


def agree(form, kind, n, d, d_v, case):
    """Compare both backends on one cloud, under three masks."""
    rng = stream(f"tests.oracles.{form}.{kind}", case)
    score = score_of(form, d, rng)
    x, y, v, added = cloud(kind, n, d, d_v, rng)
    pairs = score.pairs(x, y)
    relative = weight_error(x, y, score, added)
    for visible in (np.full(QUERIES, n), rng.integers(1, n + 1, size=QUERIES), np.ones(QUERIES, dtype=np.int64)):
        fast, slow = (kernels.attention(pairs, v, added, visible) for kernels in KERNELS)
        assert np.abs(fast[0] - slow[0]).max() <= 2.0 * output_error(score, x, y, v, added)
        assert np.abs(fast[1] - slow[1]).max() <= 2.0 * partition_error(x, y, score, added)
        left, right = (kernels.weights(pairs, added, visible) for kernels in KERNELS)
        floor = 4.0 * exact.SMALLEST
        assert np.all(np.abs(left - right) <= 2.0 * relative * np.maximum(left, right) + floor)
        for law in (left, right):
            assert not law[hidden(QUERIES, n, visible)].any()
            assert np.abs(law.sum(axis=1) - 1.0).max() <= gamma(2 * n + 2)
        if form in ("dot", "distance") and kind not in ("tiny", "huge", "faint"):  # of sizes that float32 can hold
            near = dense.attention(pairs, v, log_weights=added, visible=visible, precision="single").output
            assert near.dtype == np.float32
            wrong = output_error_single(score, x, y, v, added) + output_error(score, x, y, v, added)
            assert np.abs(near - slow[0]).max() <= wrong


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS)
def test_passes_agree_with_their_oracles(form, kind):
    for case, (d, d_v) in enumerate(NARROW + WIDE):
        agree(form, kind, (1, 2, 40)[case % 3], d, d_v, case)
    for case, n in enumerate(SIZES):
        for width in ((2, 3), (9, 1)):
            agree(form, kind, n, *width, 100 + case)


def test_the_bound_in_single_precision_says_something():
    rng = stream("tests.oracles.single", 0)
    x = rng.normal(size=(3, 2))
    y = rng.normal(size=(40, 2))
    v = rng.normal(size=(40, 2))
    assert output_error_single(SquaredDistance(1.0), x, y, v, np.zeros(40)) <= 1e-3


@pytest.mark.parametrize("kernels", KERNELS, ids=["compiled", "reference"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS)
def test_passes_against_balls(form, kind, kernels):
    for case, (n, d, d_v) in enumerate([(1, 1, 1), (2, 3, 2), (17, 2, 3), (17, 9, 1), (TILE + 1, 1, 1)]):
        rng = stream(f"tests.oracles.balls.{form}.{kind}", case)
        score = score_of(form, d, rng)
        x, y, v, added = cloud(kind, n, d, d_v, rng)
        pairs = score.pairs(x, y)
        visible = np.array([n, 1, (n + 1) // 2])
        output, log_partition = kernels.attention(pairs, v, added, visible)
        outputs, partition = truth(score, x, y, v, added, visible)
        assert exact.apart(output, outputs) <= output_error(score, x, y, v, added)
        with precision():
            assert exact.apart(log_partition, log(partition)) <= partition_error(x, y, score, added)
            law = truth(score, x, y, np.eye(n), added, visible)[0] if n < TILE else None
        if law is not None:
            law_error = weight_error(x, y, score, added)
            assert exact.relatively_apart(kernels.weights(pairs, added, visible), law) <= law_error


def test_rows_of_closed_form():
    """Two keys whose scores differ by log 3 share the mass as 3 to 1, in every form and on both backends."""
    gap = math.log(3.0)
    for score, x, y in (
        (DotProduct(scale=gap), np.array([[2.0]]), np.array([[0.5], [0.0]])),
        (SquaredDistance(gap), np.array([[0.0]]), np.array([[0.0], [1.0]])),
        (Additive([[1.0]], [[1.0]], [gap / math.tanh(1.0)]), np.array([[0.0]]), np.array([[1.0], [0.0]])),
    ):
        for kernels in KERNELS:
            law = kernels.weights(score.pairs(x, y), np.zeros(2), np.array([2]))
            assert np.abs(law - [0.75, 0.25]).max() <= weight_error(x, y, score) + gamma(16)
            output, logs = kernels.attention(score.pairs(x, y), np.array([[4.0], [0.0]]), np.zeros(2), np.array([2]))
            assert abs(output.item() - 3.0) <= 4.0 * weight_error(x, y, score) + gamma(64)
            lowest = 0.0 if not isinstance(score, SquaredDistance) else -gap
            assert abs(logs.item() - lowest - math.log(4.0)) <= partition_error(x, y, score) + gamma(16)


def peak_of(call):
    """Return the most memory that NumPy held during ``call``, in bytes."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("d", "m"), [(1, 20_000), (9, 2_000)], ids=["narrow", "wide"])
def test_no_matrix_of_all_pairs_is_formed(d, m):
    n = 20_000
    if rows.dot is rows._dot:
        m = n = 300 if d == 1 else 700  # the compiler is off
    x = stream("tests.oracles.memory", 0).normal(size=(n, d))
    pairs = DotProduct(scale=1.0).pairs(x[:m], x)
    engine.attention(DotProduct(scale=1.0).pairs(x[:2], x), x)  # what is compiled is not counted
    squares = 8 * 8 * blocks.ROWS * blocks.TILE  # as many threads, each with its block
    assert peak_of(lambda: engine.attention(pairs, x)) < min(8 * m * n / 4, 16 * 8 * d * (m + n) + squares)


def test_oracle_forms_one_block_of_pairs():
    rng = stream("tests.oracles.memory", 1)
    x, y = rng.normal(size=(16 * TILE, 1)), rng.normal(size=(2000, 1))
    added = np.zeros(2000)
    visible = np.full(x.shape[0], 2000)
    pairs = DotProduct(scale=1.0).pairs(x, y)
    peak = peak_of(lambda: reference.attention(pairs, y, added, visible))
    assert peak < 8 * x.size * y.size / 2  # four arrays of one block in sixteen, and a mask


def test_compiled_kernel_holds_one_tile():
    """The kernel's own allocations are seen when it runs as plain Python."""
    rng = stream("tests.oracles.memory", 2)
    y = rng.normal(size=(5000, 1))
    keys = np.ascontiguousarray(y.T)
    args = (0, y[:2], keys, keys, np.zeros(5000), np.ones(1), np.full(2, 5000), np.empty((2, 1)), np.empty(2))
    rows._attention(*args)
    assert peak_of(lambda: rows._attention(*args)) < 4 * 8 * TILE
