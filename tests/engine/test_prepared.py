"""A prepared problem answers as the door of the engine does, in every bit, quickly or not, in any thread."""

import threading

import numpy as np
import pytest

from tests.engine.problems import FORMS, score_of
from theory import engine
from theory.engine import Form, Pairs, blocks, fused, prepared, threads
from theory.evidence import stream


@pytest.fixture(autouse=True)
def _compiled(monkeypatch):
    """Whichever backend the suite runs on, the short way is that of the compiled one."""
    monkeypatch.setenv("THEORY_BACKEND", "compiled")


def asked_twice(pairs, values, **given):
    """Return what a prepared problem answers, twice, and what the door does."""
    problem = engine.prepare(pairs.form, pairs.coefficients, **given)
    first, second = (problem(pairs.queries, pairs.keys, values) for _ in range(2))
    return first, second, engine.attention(pairs, values, **given)


def assert_equal(*results):
    for other in results[1:]:
        for a, b in zip(results[0][:2], other[:2], strict=True):
            assert a.tobytes() == b.tobytes()


def is_quick(pairs, values, **given):
    problem = engine.prepare(pairs.form, pairs.coefficients, **given)
    return problem.quick(pairs.queries, pairs.keys, values) is not None


@pytest.mark.parametrize("backend", ["compiled", "reference"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("d", [1, 2, 3, 7, 8, 9, 40])
def test_every_bit(form, d, backend, monkeypatch):
    monkeypatch.setenv("THEORY_BACKEND", backend)
    for case, (m, n) in enumerate([(1, 1), (1, 6), (7, 1), (8, 8), (30, 17), (3, 1100)]):
        rng = stream(f"tests.prepared.{form}.{d}", case)
        pairs = score_of(form, d, rng).pairs(rng.normal(size=(m, d)), rng.normal(size=(n, d)))
        values = rng.normal(size=(n, min(d, 3)))
        visible = rng.integers(1, n + 1, size=m)
        for added in (None, np.full(n, -3.5), 10.0 * rng.normal(size=n)):
            for seen in (None, visible):
                assert_equal(*asked_twice(pairs, values, log_weights=added, visible=seen))
        few = n <= (fused.TILE if d <= fused.WIDEST else blocks.TILE)
        known = form in ("dot", "distance") and backend == "compiled"
        assert is_quick(pairs, values) == (known and few)


@pytest.mark.parametrize("form", [Form.DOT, Form.DISTANCE])
@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e4, 1e9, 1e29, 1e40, 1e140])
def test_rows_and_values_of_strange_sizes(form, size):
    """Rows that are summed again, or alone, and values that are scaled."""
    rng = stream("tests.prepared.sizes", int(np.log10(size)) + 300)
    x, y, v = size * rng.normal(size=(6, 2)), size * rng.normal(size=(9, 2)), rng.normal(size=(9, 2))
    y[3:] = y[3]
    for values in (v, v / size, y):
        assert_equal(*asked_twice(Pairs(form, x, y, np.array([2.0])), values))


@pytest.mark.parametrize("d_v", [1, 6, 16, 33, 64])
def test_values_of_another_width(d_v):
    rng = stream("tests.prepared.widths", d_v)
    x, y, v = rng.normal(size=(13, 3)), rng.normal(size=(21, 3)), rng.normal(size=(21, d_v))
    pairs = Pairs(Form.DISTANCE, x, y, np.ones(1))
    assert is_quick(pairs, v)
    assert_equal(*asked_twice(pairs, v, log_weights=rng.normal(size=21)))


@pytest.mark.parametrize(("m", "n", "d"), [(fused.TILE + 1, 1, 2), (1, fused.TILE + 1, 2), (2, 2, 65)])
def test_what_is_kept_is_small(m, n, d):
    """Buffers of a problem are kept; those of one that is long or wide would be many numbers."""
    x, y = np.ones((m, d)), np.ones((n, d))
    assert not is_quick(Pairs(Form.DOT, x, y, np.ones(1)), y)
    assert_equal(*asked_twice(Pairs(Form.DOT, x, y, np.ones(1)), y))


@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf, 1e200])
@pytest.mark.parametrize("place", [0, -1])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_one_strange_number_is_left_to_who_knows(strange, place, which):
    arrays = [np.full((5, 9), 0.5) for _ in range(3)]
    arrays[which].ravel()[place] = strange
    assert engine.prepare(Form.DOT, np.ones(1)).quick(*arrays) is None


def test_backends_that_change_between_calls(monkeypatch):
    rng = stream("tests.prepared.backends", 0)
    x = rng.normal(size=(9, 3))
    problem = engine.prepare(Form.DOT, np.ones(1))
    for backend in ("reference", "compiled", "reference"):
        monkeypatch.setenv("THEORY_BACKEND", backend)
        assert_equal(problem(x, x, x), engine.attention(Pairs(Form.DOT, x, x, np.ones(1)), x))
    monkeypatch.setenv("THEORY_BACKEND", "abacus")
    with pytest.raises(ValueError, match="THEORY_BACKEND"):
        problem(x, x, x)


def test_tokens_that_attend_to_each_other():
    x = stream("tests.prepared.self", 0).normal(size=(12, 3))
    pairs = Pairs(Form.DOT, x, x, np.array([0.5]))
    assert is_quick(pairs, x)
    assert_equal(*asked_twice(pairs, x), engine.attention(Pairs(Form.DOT, x, x.copy(), np.array([0.5])), x.copy()))


def test_answers_share_no_memory_and_arguments_are_left_alone():
    rng = stream("tests.prepared.memory", 0)
    x, y = rng.normal(size=(2, 5, 2))
    x.setflags(write=False)
    problem = engine.prepare(Form.DOT, np.ones(1))
    first = problem(x, x, x)
    kept = first.output.copy(), first.log_partition.copy()
    before = y.copy()
    problem(y, y, y)
    assert np.array_equal(first.output, kept[0])
    assert np.array_equal(first.log_partition, kept[1])
    assert np.array_equal(y, before)


def test_what_is_settled_is_copied():
    added, coefficients, visible = np.array([0.0, 5.0]), np.ones(1), np.array([1, 2])
    x = stream("tests.prepared.copied", 0).normal(size=(2, 2))
    problem = engine.prepare(Form.DOT, coefficients, log_weights=added, visible=visible)
    first = problem(x, x, x)
    added[0], coefficients[0], visible[0] = 9.0, 3.0, 2
    assert_equal(first, problem(x, x, x))


def test_log_weights_of_one_call():
    rng = stream("tests.prepared.weights", 0)
    x, added = rng.normal(size=(6, 2)), rng.normal(size=6)
    problem = engine.prepare(Form.DISTANCE, np.ones(1))
    pairs = Pairs(Form.DISTANCE, x, x, np.ones(1))
    for given in (added, np.full(6, 2.0), None):
        assert_equal(problem.quick(x, x, x, given), engine.attention(pairs, x, log_weights=given))
    assert problem.quick(x, x, x, added[:5]) is None


def test_more_shapes_than_are_kept():
    problem = engine.prepare(Form.DOT, np.ones(1))
    for n in [*range(1, 3 * prepared._MOST), 1, 2]:
        x = stream("tests.prepared.shapes", n).normal(size=(n, 1))
        assert_equal(problem(x, x, x), engine.attention(Pairs(Form.DOT, x, x, np.ones(1)), x))
    assert len(problem._plans) <= prepared._MOST


@pytest.mark.parametrize("d", [2, 9])
def test_callers_in_many_threads(d):
    clouds = [stream("tests.prepared.threads", k).normal(size=(20 + k % 2, d)) for k in range(6)]
    problem = engine.prepare(Form.DOT, np.ones(1))
    wanted = [engine.attention(Pairs(Form.DOT, x, x, np.ones(1)), x) for x in clouds]
    wrong = []

    def call(k):
        x = clouds[k]
        answers = {problem(x, x, x).output.tobytes() for _ in range(300)}
        if answers != {wanted[k].output.tobytes()}:
            wrong.append(k)

    callers = [threading.Thread(target=call, args=(k,)) for k in range(len(clouds))]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert wrong == []


def test_many_pairs_are_left_to_the_threads(monkeypatch):
    x = stream("tests.prepared.many", 0).normal(size=(30, 2))
    assert is_quick(Pairs(Form.DOT, x, x, np.ones(1)), x)
    monkeypatch.setattr(threads, "_GRAIN", 64)
    assert not is_quick(Pairs(Form.DOT, x, x, np.ones(1)), x)
    assert_equal(*asked_twice(Pairs(Form.DOT, x, x, np.ones(1)), x))


@pytest.mark.parametrize(
    ("name", "form", "coefficients", "given"),
    [
        ("form", Form.GIVEN, np.empty(0), {}),
        ("coefficients", Form.DOT, np.ones(2), {}),
        ("coefficients", Form.DISTANCE, -np.ones(1), {}),
        ("coefficients", Form.DOT, np.array([np.nan]), {}),
        ("log_weights", Form.DOT, np.ones(1), {"log_weights": np.array([-np.inf])}),
        ("visible", Form.DOT, np.ones(1), {"visible": np.zeros(2, dtype=np.int64)}),
    ],
)
def test_refused_when_made(name, form, coefficients, given):
    with pytest.raises(ValueError, match=rf"^{name}: expected "):
        engine.prepare(form, coefficients, **given)


@pytest.mark.parametrize(
    ("name", "queries", "keys", "values"),
    [
        ("keys", np.ones((2, 2)), np.ones((2, 3)), np.ones((2, 1))),
        ("values", np.ones((2, 2)), np.ones((2, 2)), np.ones((3, 1))),
        ("queries", np.ones(2), np.ones((2, 2)), np.ones((2, 1))),
        ("queries", np.ones((2, 2), np.float32), np.ones((2, 2)), np.ones((2, 1))),
        ("score", np.full((2, 2), np.nan), np.ones((2, 2)), np.ones((2, 1))),
        ("values", np.ones((2, 2)), np.ones((2, 2)), np.full((2, 1), np.inf)),
        ("log_weights", np.ones((2, 2)), np.ones((3, 2)), np.ones((3, 1))),
    ],
)
def test_refused_when_called_in_the_words_of_the_door(name, queries, keys, values):
    problem = engine.prepare(Form.DOT, np.ones(1), log_weights=np.zeros(2))
    with pytest.raises(ValueError, match=rf"^{name}: expected "):
        problem(queries, keys, values)
