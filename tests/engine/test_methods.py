"""The one door to attention: which method runs, and which is refused."""

import numpy as np
import pytest

from theory import engine
from theory.attention import Additive, DotProduct, SquaredDistance
from theory.engine import METHODS, Form, Pairs, local, methods
from theory.engine.methods import Costs
from theory.evidence import stream

X = stream("tests.methods", 0).normal(size=(30, 2))
PAIRS = SquaredDistance(1.0).pairs(X, X)


@pytest.mark.parametrize("method", ["", "fast", "Dense", None, 1])
def test_unknown_method(method):
    with pytest.raises(ValueError, match=r"^method: expected one of dense, nufft, local, cells, auto, got ") as caught:
        engine.attention(PAIRS, X, method=method)
    assert str(caught.value).endswith(repr(method))


@pytest.mark.parametrize("method", ["nufft", "local", "cells"])
@pytest.mark.parametrize("other", [{"visible": np.full(30, 3)}, {"precision": "single"}])
def test_fast_methods_know_no_mask_and_no_single_precision(method, other):
    with pytest.raises(ValueError, match=rf"^method: expected dense under a mask or in .*, got '{method}'$"):
        engine.attention(PAIRS, X, method=method, **other)


@pytest.mark.parametrize("precision", ["", "half", "Double", None])
def test_unknown_precision(precision):
    for method in ("dense", "auto"):
        with pytest.raises(ValueError, match=r"^precision: expected one of double, single, got "):
            engine.attention(PAIRS, X, method=method, precision=precision)


def test_single_precision_is_known_to_dot_products_and_distances_only():
    additive = Additive(np.eye(2), np.eye(2), np.ones(2)).pairs(X, X)
    given = Pairs(Form.GIVEN, X, X, np.empty(0), lambda a, b: a @ b.T)
    for pairs in (additive, given):
        with pytest.raises(ValueError, match=r"^precision: expected double for this score, got 'single'$"):
            engine.attention(pairs, X, precision="single")
    for form in (Form.DOT, Form.DISTANCE, Form.TORUS):
        found = engine.attention(Pairs(form, X, X, np.ones(1)), X, precision="single")
        assert (found.output.dtype, found.log_partition.dtype) == (np.float32, np.float32)


@pytest.mark.parametrize("arguments", [{}, {"visible": np.full(30, 4)}, {"precision": "single"}])
def test_auto_takes_small_problems_densely(arguments):
    left, right = (engine.attention(PAIRS, X, method=method, **arguments) for method in ("auto", "dense"))
    assert left.method == right.method == "dense"
    assert left.error == 0.0
    assert np.array_equal(left.output, right.output)
    assert methods.costs(PAIRS, X, 1e-12) == Costs(900.0, float("inf"), float("inf"))


def test_auto_takes_the_cheapest(monkeypatch):
    seen = []
    monkeypatch.setattr(methods, "costs", lambda *_: Costs(3.0, 2.0, 1.0))
    monkeypatch.setattr(local, "attention", lambda *_, **rest: seen.append(rest))
    engine.attention(PAIRS, X, method="auto", accuracy=1e-3)
    assert seen == [{"log_weights": None, "accuracy": 1e-3}]
    engine.attention(PAIRS, X, method="auto", visible=np.full(30, 30))  # a mask leaves the dense one
    assert len(seen) == 1


def test_every_method_computes_the_same():
    truth = engine.attention(PAIRS, X)
    for method in METHODS:
        found = engine.attention(PAIRS, X, method=method, accuracy=1e-9)
        assert np.abs(found.output - truth.output).max() <= (found.error + 1e-13) * np.abs(X).max()
        assert found.error <= 1e-9
        assert found.method == ("dense" if method == "auto" else method)


def test_dot_products_beyond_three_dimensions_are_dense_only():
    wide = np.zeros((3, 5))
    with pytest.raises(ValueError, match=r"^(method|score|keys|queries|dimension)[^:]*: expected "):
        engine.attention(DotProduct(scale=1.0).pairs(wide, wide), wide, method="nufft")
