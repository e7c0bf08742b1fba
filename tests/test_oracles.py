"""Each compiled kernel against its NumPy oracle within the derived bounds, and both against ball arithmetic."""

import inspect
import math
import tracemalloc

import numpy as np
import pytest

from tests.attention import exact
from theory import engine
from theory.attention import Additive, DotProduct, SquaredDistance, rounding, weight_error
from theory.engine import TILE, compiled, reference
from theory.evidence import stream
from theory.evidence.enclosure import log, precision
from theory.evidence.roundoff import EXP_ULPS, gamma

SIZES = (1, 2, TILE - 1, TILE, TILE + 1, 2 * TILE, 700)
QUERIES = 3
KERNELS = (compiled, reference)


def score_of(form, d, rng):
    if form == "dot":
        return DotProduct(scale=float(rng.uniform(0.2, 2.0)))
    if form == "distance":
        return SquaredDistance(float(rng.uniform(0.2, 2.0)))
    return Additive(rng.normal(size=(d, d)), rng.normal(size=(d, d)), rng.normal(size=d))


def cloud(kind, n, d, rng):
    """Queries, keys, values and masses of one sort of input."""
    x, y, v = rng.normal(size=(QUERIES, d)), rng.normal(size=(n, d)), rng.normal(size=(n, 2))
    masses = rng.exponential(size=n)
    if kind == "tiny":
        x, y = 1e-150 * x, 1e-150 * y
    if kind == "huge":  # scores of 1e4, values of 1e200
        x, y, v = 100.0 * x, 100.0 * y, 1e200 * v
    if kind == "equal":
        y = np.tile(y[:1], (n, 1))
    if kind == "rising":  # the running maximum is replaced in every tile
        x, y = np.abs(x), np.sort(3.0 * y, axis=0)
    if kind == "weighted":
        masses = masses * 10.0 ** rng.integers(-300, 1, size=n)
    return x, y, v, masses


def run(kernels, pairs, values, log_weights, visible):
    """Outputs, log-partitions and rows of one backend, called as the engine calls it."""
    m, n = pairs.queries.shape[0], pairs.keys.shape[0]
    output, log_partition, rows = np.full((m, values.shape[1]), np.nan), np.full(m, np.nan), np.full((m, n), np.nan)
    form = int(pairs.form)
    kernels.attention(
        form, pairs.queries, pairs.keys, values, log_weights, pairs.coefficients, visible, output, log_partition
    )
    kernels.weights(form, pairs.queries, pairs.keys, log_weights, pairs.coefficients, visible, rows)
    return output, log_partition, rows


def partition_error(x, y, score, log_weights):
    """Bound on the error of a log-partition: that of a weight, the logarithm of the mass and one sum."""
    relative = weight_error(x, y, score, log_weights)
    size = score.bounds(x, y)[0] + float(np.abs(log_weights).max()) + math.log(y.shape[0])
    return -math.log1p(-relative) + gamma(2 * EXP_ULPS + 2) * size


@pytest.mark.parametrize("name", ["attention", "weights"])
def test_signatures_agree(name):
    ours = list(inspect.signature(getattr(compiled, f"_{name}")).parameters)
    assert [*ours, "given"] == list(inspect.signature(getattr(reference, name)).parameters)


@pytest.mark.parametrize("kind", ["random", "tiny", "huge", "equal", "rising", "weighted"])
@pytest.mark.parametrize("form", ["dot", "distance", "additive"])
def test_kernel_agrees_with_its_oracle(form, kind):
    for case, (n, d) in enumerate((n, d) for n in SIZES for d in range(1, 9)):
        rng = stream(f"tests.oracles.{form}.{kind}", case)
        score = score_of(form, d, rng)
        x, y, v, masses = cloud(kind, n, d, rng)
        added = np.log(masses)
        relative = weight_error(x, y, score, added)
        for visible in (np.full(QUERIES, n), rng.integers(1, n + 1, size=QUERIES), np.ones(QUERIES, dtype=np.int64)):
            fast, slow = (run(kernels, score.pairs(x, y), v, added, visible) for kernels in KERNELS)
            assert np.abs(fast[0] - slow[0]).max() <= 2.0 * rounding(x, y, v, score=score, key_weights=masses)
            assert np.abs(fast[1] - slow[1]).max() <= 2.0 * partition_error(x, y, score, added)
            floor = 4.0 * exact.SMALLEST
            assert np.all(np.abs(fast[2] - slow[2]) <= 2.0 * relative * np.maximum(fast[2], slow[2]) + floor)
            for rows in (fast[2], slow[2]):
                assert not rows[np.arange(n)[np.newaxis, :] >= visible[:, np.newaxis]].any()
                assert np.abs(rows.sum(axis=1) - 1.0).max() <= gamma(2 * n + 2)


@pytest.mark.parametrize("kernels", KERNELS, ids=["compiled", "reference"])
@pytest.mark.parametrize("kind", ["random", "tiny", "huge", "equal", "rising", "weighted"])
@pytest.mark.parametrize("form", ["dot", "distance", "additive"])
def test_kernel_against_balls(form, kind, kernels):
    for case, (n, d) in enumerate([(1, 1), (2, 3), (17, 2), (TILE + 1, 2)]):
        rng = stream(f"tests.oracles.balls.{form}.{kind}", case)
        score = score_of(form, d, rng)
        x, y, v, masses = cloud(kind, n, d, rng)
        added, visible = np.log(masses), np.array([n, 1, (n + 1) // 2])
        output, log_partition, rows = run(kernels, score.pairs(x, y), v, added, visible)
        scores = exact.scores(score, x, y)
        laws, partition = exact.laws(scores, masses, visible)
        error = rounding(x, y, v, score=score, key_weights=masses)
        assert exact.apart(output, exact.average(scores, v, masses, visible)) <= error
        assert exact.relatively_apart(rows, laws) <= weight_error(x, y, score, added)
        with precision():
            assert exact.apart(log_partition, log(partition)) <= partition_error(x, y, score, added)


def test_rows_of_closed_form():
    """Two keys whose scores differ by log 3 share the mass as 3 to 1, in every form and on both backends."""
    gap = math.log(3.0)
    for score, x, y in (
        (DotProduct(scale=gap), np.array([[2.0]]), np.array([[0.5], [0.0]])),
        (SquaredDistance(gap), np.array([[0.0]]), np.array([[0.0], [1.0]])),
        (Additive([[1.0]], [[1.0]], [gap / math.tanh(1.0)]), np.array([[0.0]]), np.array([[1.0], [0.0]])),
    ):
        for kernels in KERNELS:
            rows = run(kernels, score.pairs(x, y), y, np.zeros(2), np.array([2]))[2]
            assert np.abs(rows - [0.75, 0.25]).max() <= weight_error(x, y, score) + gamma(16)


@pytest.mark.parametrize("backend", ["compiled", "reference"])
@pytest.mark.parametrize("form", ["dot", "distance", "additive"])
def test_number_of_threads_changes_no_bit(form, backend, monkeypatch):
    monkeypatch.setenv("THEORY_BACKEND", backend)
    for case, (m, n) in enumerate([(700, 300), (3, 70_000), (300, 1025)]):
        rng = stream(f"tests.oracles.threads.{form}", case)
        x, y, v = rng.normal(size=(m, 2)), rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
        pairs, seen = score_of(form, 2, rng).pairs(x, y), []
        for threads in ("1", "2", "5"):
            monkeypatch.setenv("THEORY_THREADS", threads)
            seen.append((*engine.attention(pairs, v), engine.weights(pairs)))
        for other in seen[1:]:
            for a, b in zip(seen[0], other, strict=True):
                assert np.array_equal(a, b)


def peak_of(call):
    """Return the most memory that NumPy held during ``call``, in bytes."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_no_matrix_of_all_pairs_is_formed():
    n = 20_000
    if isinstance(compiled.attention, type(compiled._attention)):
        n = 700  # the compiler is off
    x = stream("tests.oracles.memory", 0).normal(size=(n, 1))
    pairs = DotProduct(scale=1.0).pairs(x, x)
    assert peak_of(lambda: engine.attention(pairs, x)) < 8 * n * n / (100 if n > 700 else 4)


def test_oracle_forms_one_block_of_pairs():
    rng = stream("tests.oracles.memory", 1)
    x, y = rng.normal(size=(16 * TILE, 1)), rng.normal(size=(2000, 1))
    added, visible = np.zeros(2000), np.full(x.shape[0], 2000)
    pairs = DotProduct(scale=1.0).pairs(x, y)
    output, log_partition = np.empty((x.shape[0], 1)), np.empty(x.shape[0])
    peak = peak_of(
        lambda: reference.attention(int(pairs.form), x, y, y, added, pairs.coefficients, visible, output, log_partition)
    )
    assert peak < 8 * x.size * y.size / 2  # four arrays of one block in sixteen, and a mask


def test_compiled_kernel_holds_one_tile():
    """The kernel's own allocations are seen when it runs as plain Python."""
    rng = stream("tests.oracles.memory", 2)
    y = rng.normal(size=(5000, 1))
    args = (0, y[:2], y, y, np.zeros(5000), np.ones(1), np.full(2, 5000), np.empty((2, 1)), np.empty(2))
    compiled._attention(*args)
    assert peak_of(lambda: compiled._attention(*args)) < 4 * 8 * TILE
