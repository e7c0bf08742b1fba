"""What is remembered by content, and what is not."""

import math
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

from theory.attention import DotProduct, Measure, SquaredDistance
from theory.engine import AttentionResult
from theory.evidence import Interval, exact
from theory.evidence.enclosure import ball, balls, precision
from theory.evidence.once import content, once

X = np.array([[0.0], [1.0]])


def counted():
    """Return a function that is remembered, and the list of its calls."""
    calls = []

    @once
    def function(*args, **kwargs):
        calls.append((args, kwargs))
        return np.zeros(2)

    return function, calls


def test_equal_content_is_computed_once():
    function, calls = counted()
    for _ in range(3):
        numbers = X.copy(), exact(X), balls(X), ball("0.1"), [1.0]
        function(*numbers, Measure(X, [0.25, 0.75]), DotProduct(form=np.eye(1)), at={"name": None})
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.0, -0.0), (1j, complex(-0.0, 1.0)), (1, 1.0), (1, True), (np.float64(1.0), 1.0),
        (X, X.astype(np.float32)), (X, X.ravel()),
        (X, np.nextafter(X, 2.0)), ([1.0], (1.0,)), (X, exact(X)), (exact(X), exact(X) * 3.0), (math.sin, math.cos),
        (Interval(0.0, 1.0), Interval(0.0, 2.0)), (Measure(X), Measure(X, [0.25, 0.75])),
        (partial(max, 1), partial(max, 2)), (partial(max, 1), partial(min, 1)), (math.nan, -math.nan),
        ([1].count, [2].count),
        (np.datetime64(1, "s"), np.datetime64(1, "D")), (np.zeros(1, "i8,f8"), np.zeros(1, "f8,i8")),
        (np.arange(4.0).reshape(2, 2), np.asfortranarray(np.arange(4.0).reshape(2, 2))),
        (ball(1), ball(2)), (ball(1), ball(1).union(ball(1.5))), (ball(1), 1), (balls(X), balls(-X)),
        (DotProduct(scale=1.0), SquaredDistance(1.0)), ({"a": 1}, {"b": 1}),
    ],
)  # fmt: skip
def test_unequal_content_is_computed_again(one, other):
    function, calls = counted()
    function(one)
    function(other)
    assert len(calls) == 2


def test_precision_is_part_of_the_question():
    function, calls = counted()
    function(1.0)
    with precision(300):
        function(1.0)
    assert len(calls) == 2


def test_the_backend_is_part_of_the_question(monkeypatch):
    function, calls = counted()
    for backend in ("compiled", "reference", "compiled"):
        monkeypatch.setenv("THEORY_BACKEND", backend)
        function(1.0)
    assert len(calls) == 2


def test_what_is_handed_out_twice_is_not_written_to():
    function, _ = counted()
    with pytest.raises(ValueError, match="read-only"):
        function(1.0)[0] = 1.0


def test_parts_of_an_answer_are_not_written_to():
    @once
    def function(x):
        return AttentionResult(x, x[1:]), [x, {"name": x}]

    given = np.zeros(3)
    for _ in range(2):
        result, (listed, named) = function(given)
        assert isinstance(result, AttentionResult)
        for part in (*result[:2], listed, named["name"]):
            assert not part.flags.writeable
            assert not np.shares_memory(part, given)
        with pytest.raises(TypeError, match="assignment"):
            named["name"] = 1.0
    assert given.flags.writeable  # it is the caller's


def test_callers_in_many_threads():
    """More questions than are kept, so that answers are forgotten while others look for them."""
    function = once(lambda k: k + 1)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(function, [k % 700 for k in range(20_000)]))
    assert found == [k % 700 + 1 for k in range(20_000)]


def test_old_answers_are_forgotten():
    function, calls = counted()
    for k in (*range(600), 0, 599):
        function(k)
    assert len(calls) == 601


def test_unknown_content_is_refused():
    rng = np.random.default_rng(0)
    for value in (object(), np.ma.masked_array(X), rng, rng.normal, partial(rng.normal, 1.0), iter([])):
        with pytest.raises(TypeError, match="value: expected numbers"):
            content(value)
    with pytest.raises(TypeError, match="function"):
        once(3)
