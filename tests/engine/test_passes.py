"""Rows of which the bound is no good are seen, summed again, and right; so are rows that no shift is good for."""

import math

import numpy as np
import pytest

from tests.attention import exact
from tests.engine.problems import output_error, output_error_single, truth
from theory.attention import DotProduct, SquaredDistance, partition_error
from theory.engine import compiled, dense, fused, passes, reference
from theory.engine.pairs import Form, Pairs
from theory.evidence import stream
from theory.evidence.enclosure import log, precision


@pytest.fixture
def second(monkeypatch):
    """Count the rows that are summed a second time, and those summed one by one."""
    seen = {"again": 0, "alone": 0}
    peaks = passes._peaks
    general = passes.general.attention

    def again(problem, visible):
        seen["again"] += len(visible)
        return peaks(problem, visible)

    def alone(pairs, *rest):
        seen["alone"] += len(pairs.queries)
        return general(pairs, *rest)

    monkeypatch.setattr(passes, "_peaks", again)
    monkeypatch.setattr(passes.general, "attention", alone)
    return seen


def far(kind, d, size, rng):
    """Return 6 queries and 50 keys: rows 0 to 2 have bounds far above their scores, rows 3 to 5 have good ones."""
    x, y = np.zeros((6, d)), np.zeros((50, d))
    if kind == "dot":  # keys of (-2, 1) and (1, -2): the corner of their box is far ahead of them along (1, 1)
        x[:3, :2], x[3:, 0] = rng.uniform(1.0, 1.1, 3)[:, np.newaxis], 1.0
        y[:25, :2], y[25:, :2] = (-2.0 * size, size), (size, -2.0 * size)
        y += rng.normal(size=y.shape)
        return DotProduct(scale=1.0), x, y
    root = math.sqrt(size)  # keys on two opposite corners: the middle of their box is far from both
    y[:25], y[25:] = -root, root
    y += 1e-3 * rng.normal(size=y.shape) / root
    x[:3], x[3:] = 1e-3 * rng.normal(size=(3, d)), root
    return SquaredDistance(1.0), x, y


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [1e4, 1e6])
@pytest.mark.parametrize("d", [2, 8, 9])
@pytest.mark.parametrize("kind", ["dot", "distance"])
def test_rows_far_below_their_bound_are_summed_again(kind, d, size, weighted, second):
    rng = stream(f"tests.passes.{kind}", d)
    score, x, y = far(kind, d, size, rng)
    v = rng.normal(size=(50, 2))
    added = rng.normal(size=50) if weighted else np.zeros(50)
    for visible in (np.full(6, 50), np.array([30, 12, 50, 50, 30, 12])):
        second.update(again=0, alone=0)
        output, logs = compiled.attention(score.pairs(x, y), v, added, visible)
        assert second == {"again": 3 if visible.min() == 50 else second["again"], "alone": 0}
        assert second["again"] >= 3
        outputs, partition = truth(score, x, y, v, added, visible)
        assert exact.apart(output, outputs) <= output_error(score, x, y, v, added)
        with precision():
            assert exact.apart(logs, log(partition)) <= partition_error(x, y, score, added)


@pytest.mark.parametrize("d", [2, 9])
def test_the_largest_score_has_its_log_weight(d, second):
    """The first key leads by 8000 without its weight, the others with theirs: no row is left for the last resort."""
    score, x, y = far("dot", d, 1e4, stream("tests.passes.weights", d))
    v = np.arange(50.0)[:, np.newaxis]
    added = np.full(50, 9000.0)
    added[0], y[0, :2] = 0.0, (-1e4, 8000.0)
    output, logs = compiled.attention(score.pairs(x, y), v, added, np.full(6, 50))
    assert second["again"] >= 3
    assert second["alone"] == 0
    outputs, partition = truth(score, x, y, v, added, np.full(6, 50))
    assert exact.apart(output, outputs) <= output_error(score, x, y, v, added)
    with precision():
        assert exact.apart(logs, log(partition)) <= partition_error(x, y, score, added)


@pytest.mark.parametrize("d", [2, 9])
@pytest.mark.parametrize("kind", ["dot", "distance"])
def test_in_single_precision_too(kind, d, second):
    rng = stream(f"tests.passes.single.{kind}", d)
    score, x, y = far(kind, d, 300.0, rng)
    v = rng.normal(size=(50, 2))
    visible = np.full(6, 50)
    output = compiled.attention(score.pairs(x, y), v, np.zeros(50), visible, single=True)[0]
    assert second == {"again": 3, "alone": 0}
    outputs = truth(score, x, y, v, np.zeros(50), visible)[0]
    assert exact.apart(output.astype(np.float64), outputs) <= output_error_single(score, x, y, v, np.zeros(50))


def test_rows_with_good_bounds_are_summed_once(second):
    x, v = stream("tests.passes.once", 0).normal(size=(2, 300, 3))
    for score in (DotProduct(), SquaredDistance(1.0)):
        compiled.attention(score.pairs(x, x), v, np.zeros(300), np.full(300, 300))
    assert second == {"again": 0, "alone": 0}


def winner(form, x, y):
    """Return the key of the largest score of each row in exact integers, and by how much it leads."""
    q, k = (np.array([[int(c) for c in row] for row in points], dtype=object) for points in (x, y))
    scores = q @ k.T if form is Form.DOT else -((q[:, np.newaxis, :] - k[np.newaxis, :, :]) ** 2).sum(axis=2)
    ranked = np.sort(scores, axis=1)
    return np.array([int(np.argmax(row)) for row in scores]), ranked[:, -1] - ranked[:, -2]


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("size", [1e3, 1e4, 1e5, 1e9, 1e10, 1e15, 1e18])
@pytest.mark.parametrize("d", [1, 3, 8, 9])
@pytest.mark.parametrize("form", [Form.DOT, Form.DISTANCE])
def test_scores_that_are_rounded_by_more_than_one(form, d, size, single):
    """Scores of up to 1e36: the one key that leads by far more than the rounding takes all, no weight is negative."""
    for case in range(20):
        rng = stream(f"tests.passes.rough.{d}", case)
        x, y = (np.rint(size * (rng.normal(size=(k, d)) + rng.normal())) for k in (4, 5))
        v = np.arange(1.0, 6.0)[:, np.newaxis]
        precise = "single" if single else "double"
        output = dense.attention(Pairs(form, x, y, np.ones(1)), v, precision=precise).output[:, 0]
        assert np.all((output >= 1.0 - 1e-5) & (output <= 5.0 + 5e-5))  # an average
        best, lead = winner(form, x, y)
        unit = 2.0**-24 if single else 2.0**-53
        clear = lead > 100.0 + 64 * (d + 4) * unit * float(np.abs(np.vstack([x, y])).max()) ** 2 * d
        assert clear.any() or d == 8
        assert np.abs(output[clear] - v[best[clear], 0]).max(initial=0.0) <= 40 * unit


def test_rough_rows_are_summed_alone_and_no_other(second):
    x = np.array([[1.0], [1e30], [2.0]])
    output = dense.attention(Pairs(Form.DOT, x, np.array([[1.0], [2.0]]), np.ones(1)), np.array([[0.0], [1.0]])).output
    assert second == {"again": 0, "alone": 1}
    assert output[1, 0] == 1.0
    assert abs(output[2, 0] - 1.0 / (1.0 + math.exp(-2.0))) <= 1e-15


def test_features_that_single_precision_cannot_hold_are_not_lost(second):
    """Coordinates of 1e-60 and 1e60 have products of one."""
    pairs = Pairs(Form.DOT, np.array([[1e-60]]), np.array([[1e60], [0.0]]), np.ones(1))
    output = dense.attention(pairs, np.array([[1.0], [0.0]]), precision="single").output
    assert abs(float(output.item()) - 1.0 / (1.0 + math.exp(-1.0))) <= 4 * 2.0**-24
    assert second["alone"] == 1


@pytest.mark.parametrize("d", [2, 9])
@pytest.mark.parametrize("size", [2.0**-64, 2.0**-30, 1.0, 2.0**64])
def test_small_values_of_rows_of_small_mass_keep_their_digits(size, d):
    """In single precision a product of a weight of 2**-69 and a value of 2**-64 would be a denormal of few digits."""
    x, y = np.zeros((1, d)), np.zeros((4, d))
    y[:, 0], y[0, 1], x[0, 0] = -1.0, 47.0, 1.0  # the bound is 47 units above the scores, 2**-68
    v = size * np.array([[1.0], [1.0 + 2.0**-12], [1.0], [1.0 - 2.0**-12]])
    pairs = Pairs(Form.DOT, np.ascontiguousarray(x), y, np.ones(1))
    near = dense.attention(pairs, v, precision="single").output
    wanted = reference.attention(pairs, v, np.zeros(4), np.array([4]))[0]
    assert np.abs(near - wanted).max() <= 40 * 2.0**-24 * size


def test_tiles_end_anywhere():
    """Keys beyond what any row sees are not read, and a row may end at either edge of a tile."""
    n = 2 * fused.TILE + 5
    v = np.arange(float(n))[:, np.newaxis]
    seen = np.array([1, fused.TILE - 1, fused.TILE, fused.TILE + 1, 2 * fused.TILE, n])
    for d in (1, 9):
        pairs = Pairs(Form.DOT, np.zeros((seen.size, d)), np.ones((n, d)), np.ones(1))
        output, logs = compiled.attention(pairs, v, np.zeros(n), seen)
        assert np.abs(output[:, 0] - (seen - 1) / 2.0).max() <= n * n * 2.0**-53
        assert np.abs(logs - np.log(seen)).max() <= 64 * 2.0**-53
    spoilt = v.copy()
    spoilt[fused.TILE + 1 :] = np.nan
    narrow = Pairs(Form.DOT, np.zeros((2, 1)), np.ones((n, 1)), np.ones(1))
    with np.errstate(invalid="ignore"):
        output = compiled.attention(narrow, spoilt, np.zeros(n), np.array([1, fused.TILE + 1]))[0]
    assert np.isfinite(output).all()
