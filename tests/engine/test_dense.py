"""The door of the engine: which backend runs, what is refused, and that an overflow is never a silent number."""

import math
import sys

import numpy as np
import pytest

from theory import attend, engine
from theory.attention import DotProduct, Softmatch, SquaredDistance
from theory.attention.measure import Measure
from theory.engine import Form, Pairs, dense, reference

BACKENDS = ["compiled", "reference"]
HUGE = 1e200  # its square overflows


@pytest.fixture(params=BACKENDS)
def backend(request, monkeypatch):
    monkeypatch.setenv("THEORY_BACKEND", request.param)
    return request.param


def test_backend_is_read_at_every_call(monkeypatch):
    monkeypatch.setenv("THEORY_BACKEND", "reference")
    assert dense._kernels(Form.DOT) is reference
    monkeypatch.setenv("THEORY_BACKEND", "compiled")
    assert dense._kernels(Form.DOT).__name__ == "theory.engine.compiled"
    monkeypatch.delenv("THEORY_BACKEND")
    assert dense._kernels(Form.DISTANCE).__name__ == "theory.engine.compiled"
    assert dense._kernels(Form.GIVEN) is reference


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

    x, y = np.arange(600.0)[:, np.newaxis] / 600.0, np.arange(3.0)[:, np.newaxis]
    pairs = Pairs(Form.GIVEN, x, y, np.empty(0), given)
    assert engine.attention(pairs, y)[0].shape == (600, 1)
    assert sorted(blocks) == sorted([((256, 1), (3, 1)), ((256, 1), (3, 1)), ((88, 1), (3, 1))])


def test_inputs_are_not_written_to(backend):
    given = [np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [0.0, 1.0]]), np.array([[1.0], [2.0]]), np.array([1.0, 3.0])]
    before = [array.copy() for array in given]
    attend(*given[:3], key_weights=given[3])
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
