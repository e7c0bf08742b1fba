"""The door of the engine: which backend runs, what is refused, and that an overflow is never a silent number."""

import math
import sys

import numpy as np
import pytest

from tests.engine.problems import direction_of
from theory import attend, engine
from theory.attention import DotProduct, Softmatch, SquaredDistance
from theory.attention.measure import Measure
from theory.engine import Form, Pairs, dense, reference, threads
from theory.evidence import stream

BACKENDS = ["compiled", "reference"]
HUGE = 1e200  # its square overflows


@pytest.fixture(params=BACKENDS)
def backend(request, monkeypatch):
    monkeypatch.setenv("THEORY_BACKEND", request.param)
    return request.param


def test_backend_is_read_at_every_call(monkeypatch):
    monkeypatch.setenv("THEORY_BACKEND", "reference")
    assert dense.kernels(Form.DOT) is reference
    monkeypatch.setenv("THEORY_BACKEND", "compiled")
    assert dense.kernels(Form.DOT).__name__ == "theory.engine.compiled"
    monkeypatch.delenv("THEORY_BACKEND")
    assert dense.kernels(Form.DISTANCE).__name__ == "theory.engine.compiled"
    assert dense.kernels(Form.GIVEN) is reference


@pytest.mark.parametrize("name", ["", "numpy", "Compiled"])
def test_unknown_backend(name, monkeypatch):
    monkeypatch.setenv("THEORY_BACKEND", name)
    with pytest.raises(ValueError, match=rf"^THEORY_BACKEND: expected one of compiled, reference, got '{name}'$"):
        attend([[1.0]], [[1.0]], [[1.0]])


def test_given_scores_arrive_block_by_block(backend):
    blocks = []

    def given(queries, keys):
        blocks.append((queries.shape, keys.shape))
        return queries @ keys.T

    x = np.arange(600.0)[:, np.newaxis] / 600.0
    y = np.arange(3.0)[:, np.newaxis]
    pairs = Pairs(Form.GIVEN, x, y, np.empty(0), given)
    assert engine.attention(pairs, y)[0].shape == (600, 1)
    assert sorted(blocks) == sorted([((256, 1), (3, 1)), ((256, 1), (3, 1)), ((88, 1), (3, 1))])


def test_inputs_are_not_written_to(backend):
    given = [np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [0.0, 1.0]]), np.array([[1.0], [2.0]]), np.array([1.0, 3.0])]
    before = [array.copy() for array in given]
    attend(*given[:3], weights=given[3])
    assert all(np.array_equal(a, b) for a, b in zip(given, before, strict=True))


def true_or_refused(call, truth, name, error=0.0):
    """Tell whether ``call`` returns ``truth`` or refuses ``name``; anything else is a silent wrong number."""
    with np.errstate(all="ignore"):
        try:
            found = call()
        except ValueError as refusal:
            return str(refusal).startswith(f"{name}: expected ")
    return truth is not None and bool(np.abs(found - np.array(truth)).max() <= error)


@pytest.mark.parametrize("score", [DotProduct(), SquaredDistance()], ids=["dot", "distance"])
def test_scores_that_overflow(score, backend):
    x, y, v = [[HUGE]], [[HUGE], [1.0]], [[1.0], [2.0]]
    assert true_or_refused(lambda: attend(x, y, v, score=score), [[1.0]], "score")
    assert true_or_refused(lambda: Softmatch(score, Measure(y)).rows(x), [[1.0, 0.0]], "score")
    far = Measure([[-HUGE], [-HUGE]])
    assert true_or_refused(lambda: attend(x, far.points, [[1.0], [1.0]], score=score), [[1.0]], "score")
    assert true_or_refused(lambda: Softmatch(score, far).rows(x), [[0.5, 0.5]], "score")
    assert true_or_refused(lambda: Softmatch(score, far).log_partition(x), None, "score")
    lower = [[HUGE]], [[-HUGE], [0.0]], [[1.0], [2.0]]
    assert true_or_refused(lambda: attend(*lower, score=score), [[2.0]], "score")
    opposite = [[HUGE, -HUGE]], [[HUGE, HUGE], [0.0, 0.0]], [[1.0], [2.0]]  # inf - inf, and the truth is zero
    if isinstance(score, DotProduct):
        assert true_or_refused(lambda: attend(*opposite, score=score), [[1.5]], "score")


@pytest.mark.parametrize(
    ("score", "x", "far", "near"),
    [
        (DotProduct(scale=2.0**-1022), 2.0**512, -(2.0**512), 0.0),
        (SquaredDistance(2.0**-1022), 2.0**511, -(2.0**511), 2.0**511),
    ],
    ids=["dot", "distance"],
)
def test_a_product_that_overflows_before_it_is_scaled(score, x, far, near, backend):
    """The score of the far key is -4, of the near one 0; the far one must not vanish unseen."""
    truth = [[1.0 / (1.0 + math.exp(4.0))]]
    assert true_or_refused(
        lambda: attend([[x]], [[far], [near]], [[1.0], [0.0]], score=score), truth, "score", error=2.0**-45
    )


@pytest.mark.parametrize("n", [2, 64, 1024])
def test_values_of_which_the_sum_overflows(n, backend):
    """Equal values have themselves for average; a power of two of them divides out without rounding."""
    largest = sys.float_info.max
    output = np.full((1, 1), largest)
    assert true_or_refused(lambda: attend([[0.0]], np.zeros((n, 1)), np.full((n, 1), largest)), output, "values")


@pytest.mark.parametrize("d", [1, 9])
@pytest.mark.parametrize("form", [Form.DOT, Form.DISTANCE])
def test_an_overflow_in_a_thread_is_refused_without_a_warning(form, d, monkeypatch):
    """A thread of the pool must treat overflows as its caller does."""
    monkeypatch.setenv("THEORY_THREADS", "2")
    monkeypatch.setattr(threads, "_GRAIN", 64)  # so that little work is split
    rng = stream("tests.dense.overflow", 0)
    x = HUGE * np.abs(rng.normal(size=(200, d)))
    y = -HUGE * np.abs(rng.normal(size=(70, d)))
    for keys in (y, -y):
        with pytest.raises(ValueError, match=r"^score: expected sizes that float64 can hold, got an overflow for"):
            engine.attention(Pairs(form, x, keys, np.ones(1)), np.ones((70, 1)))


def test_given_scores_have_every_function_but_derivatives(backend):
    """The same numbers as by the form that the kernels know."""
    rng = stream("tests.dense.given", 0)
    x = rng.normal(size=(4, 2))
    y = rng.normal(size=(9, 2))
    v = rng.normal(size=(9, 2))
    added = rng.normal(size=9)
    known = Pairs(Form.DOT, x, y, np.ones(1))
    given = Pairs(Form.GIVEN, x, y, np.empty(0), lambda a, b: a @ b.T)
    visible = np.array([9, 1, 4, 7])
    for name, values in (("attention", (v,)), ("weights", ()), ("moments", (v,))):
        function = getattr(dense, name)
        left, right = (function(pairs, *values, log_weights=added, visible=visible) for pairs in (known, given))
        for a, b in zip(left[:2], right[:2], strict=True):
            assert np.abs(a - b).max() <= 1000 * 2.0**-53


@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 5), (5, 1)])
@pytest.mark.parametrize("form", [Form.DOT, Form.DISTANCE, Form.ADDITIVE, Form.TORUS])
def test_one_query_and_one_key(form, m, n, backend):
    """One key has all the weight: its value comes out, without spread, and no score matters."""
    rng = stream("tests.dense.one", 0)
    pairs = Pairs(form, rng.normal(size=(m, 2)), rng.normal(size=(n, 2)), np.ones(2 if form is Form.ADDITIVE else 1))
    v = np.tile([[0.1, 1e-310, 3.7]], (n, 1))
    found = engine.moments(pairs, v)
    assert np.abs(found.covariance).max() <= 64 * 2.0**-106 * 16.0
    assert np.abs(found.entropy - math.log(n)).max() <= math.log(n)
    for precision in ("double", "single") if form != Form.ADDITIVE else ("double",):
        output = engine.attention(pairs, v, precision=precision).output
        unit = 2.0**-53 if precision == "double" else 2.0**-24
        assert output.shape == (m, 3)
        assert np.all(np.abs(output - v) <= 8 * unit * np.abs(v) + 2.0 ** (-1073 if precision == "double" else -149))
    if n == 1:
        direction = direction_of(pairs, v, rng)
        derivative = engine.jvp(pairs, v, direction)[1]
        assert np.abs(derivative - direction.values).max() <= 64 * 2.0**-53 * 10.0
        gradients = engine.vjp(pairs, v, np.ones((m, 3)))
        assert np.abs(gradients.values - m).max() <= 64 * 2.0**-53 * m


@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-300, 1e-30, 1e30, 1e300, 1.7e308])
@pytest.mark.parametrize("d", [2, 9])
def test_values_of_any_size(size, d, backend):
    """An average of values scaled by a power of two is the average so scaled, as far as a float can say it."""
    rng = stream("tests.dense.size", 0)
    pairs = DotProduct(scale=1.0).pairs(rng.normal(size=(3, d)), rng.normal(size=(20, d)))
    v = rng.integers(-4, 5, size=(20, 2)) / 4.0
    factor = math.ldexp(1.0, math.frexp(size)[1] - 1)
    wanted = engine.attention(pairs, v).output
    output = engine.attention(pairs, factor * v).output
    assert np.all(np.abs(output / factor - wanted) <= 64 * 2.0**-53 + 40 * (5e-324 / factor))
    assert not engine.attention(pairs, 0.0 * v).output.any()


def test_a_small_column_is_not_lost_beside_a_large_one():
    v = np.array([[1e300, 1e-300], [1e300, 3e-300]])
    output = engine.attention(Pairs(Form.DOT, np.ones((1, 1)), np.ones((2, 1)), np.ones(1)), v).output
    assert np.abs(output[0, 1] - 2e-300) <= 8 * 2.0**-53 * 2e-300


def test_equal_log_weights_shift_the_log_partition_alone(backend):
    rng = stream("tests.dense.constant", 0)
    pairs = SquaredDistance(1.0).pairs(rng.normal(size=(3, 2)), rng.normal(size=(20, 2)))
    v = rng.normal(size=(20, 2))
    plain = engine.attention(pairs, v)
    for constant in (-700.0, 700.0, 1e6, -1e6):
        found = engine.attention(pairs, v, log_weights=np.full(20, constant))
        bound = 64 * 2.0**-53 * (abs(constant) + 50.0)
        assert np.abs(found.output - plain.output).max() <= bound * 10.0
        assert np.abs(found.log_partition - constant - plain.log_partition).max() <= bound


def test_single_precision_cannot_hold_every_value():
    pairs = SquaredDistance(1.0).pairs(np.zeros((1, 1)), np.zeros((2, 1)))
    with pytest.raises(ValueError, match=r"^values: expected sizes"):
        engine.attention(pairs, np.full((2, 1), 1e300), precision="single")
    assert engine.attention(pairs, np.full((2, 1), 1e38), precision="single").output[0, 0] == np.float32(1e38)
