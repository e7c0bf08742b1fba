"""One query at a time: scores of every form, a running maximum that rises or not, and rows that end anywhere."""

import math

import numpy as np
import pytest

from tests.attention import exact
from tests.engine.problems import FORMS, exact_scores, output_error, score_of, truth
from theory.attention import DotProduct, partition_error, weight_error
from theory.engine import TILE, rows
from theory.evidence import stream
from theory.evidence.enclosure import balls, log, precision
from theory.evidence.roundoff import gamma


@pytest.mark.parametrize("form", FORMS)
def test_scores_of_one_tile(form):
    for case, d in enumerate((1, 2, 5, 12)):
        rng = stream(f"tests.rows.scores.{form}", case)
        score = score_of(form, d, rng)
        x = rng.normal(size=(1, d))
        y = rng.normal(size=(30, d))
        added = rng.normal(size=30)
        pairs = score.pairs(x, y)
        keys = rows.columns(pairs.keys)
        for kernel in (rows.fill_scores, rows._fill_scores):
            found = np.full(10, np.nan)
            peak = kernel(int(pairs.form), pairs.queries[0], keys, added, pairs.coefficients, 15, found)
            assert peak == found.max()
            with precision():
                true = exact_scores(score, balls(x), balls(y[15:25]))[0] + balls(added[15:25])
            size, error = score.bounds(x, y)
            assert exact.apart(found, true) <= error + gamma(4) * (size + float(np.abs(added).max()))


@pytest.mark.parametrize("form", FORMS)
def test_against_balls(form):
    """The path of the additive score, and of any row that no shift is good for, taken by every form."""
    for case, (n, d, d_v) in enumerate([(1, 1, 1), (17, 3, 2), (40, 10, 9), (TILE + 1, 1, 1)]):
        rng = stream(f"tests.rows.balls.{form}", case)
        score = score_of(form, d, rng)
        x = rng.normal(size=(3, d))
        y = rng.normal(size=(n, d))
        v = rng.normal(size=(n, d_v))
        added = rng.normal(size=n)
        visible = np.array([n, 1, (n + 1) // 2])
        output, logs = rows.attention(score.pairs(x, y), v, added, visible)
        outputs, partition = truth(score, x, y, v, added, visible)
        assert exact.apart(output, outputs) <= output_error(score, x, y, v, added)
        with precision():
            assert exact.apart(logs, log(partition)) <= partition_error(x, y, score, added)


@pytest.mark.parametrize("step", [0.0, 1.0, 500.0, 1e5])
def test_a_maximum_that_rises_in_every_tile(step):
    """The last keys lead by ``step`` per tile; what was gathered before is scaled down, or vanishes."""
    n = 4 * TILE
    tile = np.repeat(np.arange(4.0), TILE)
    score = DotProduct(scale=1.0)
    for order in (tile, tile[::-1].copy()):
        output, logs = rows.attention(
            score.pairs(np.array([[step]]), order[:, np.newaxis]), order[:, np.newaxis], np.zeros(n), np.array([n])
        )
        masses = np.exp(step * (np.arange(4.0) - 3.0))
        relative = weight_error(np.array([[step]]), tile[:, np.newaxis], score)
        assert abs(output.item() - masses @ np.arange(4.0) / masses.sum()) <= 3.0 * (relative + gamma(2 * n))
        assert abs(logs.item() - 3.0 * step - math.log(TILE * masses.sum())) <= relative + gamma(32) * (
            3.0 * step + 8.0
        )


def test_weights_are_zero_where_nothing_is_seen():
    y = np.arange(5.0)[:, np.newaxis]
    law = rows.weights(DotProduct(scale=1.0).pairs(np.zeros((3, 1)), y), np.zeros(5), np.array([1, 2, 5]))
    assert law.tolist() == [[1.0, 0.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0, 0.0], [0.2] * 5]


def test_plain_functions_say_the_same():
    rng = stream("tests.rows.plain", 0)
    x = rng.normal(size=(3, 2))
    y = rng.normal(size=(9, 2))
    v = rng.normal(size=(9, 2))
    added = rng.normal(size=9)
    pairs = DotProduct(scale=1.0).pairs(x, y)
    visible = np.array([9, 4, 1])
    output, logs, law = np.empty((3, 2)), np.empty(3), np.empty((3, 9))
    keys, columns = rows.columns(y), rows.columns(v)
    rows._attention(0, x, keys, columns, added, pairs.coefficients, visible, output, logs)
    rows._weights(0, x, keys, added, pairs.coefficients, visible, law)
    found = rows.attention(pairs, v, added, visible)
    size = 64 * 2.0**-53 * 10.0
    assert np.abs(output - found[0]).max() <= size
    assert np.abs(logs - found[1]).max() <= size
    assert np.abs(law - rows.weights(pairs, added, visible)).max() <= size
