"""Attention over near keys: as the dense method has it, with a lost mass that is never larger than what is reported."""

import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

from theory.engine import dense, local
from theory.engine.pairs import Form, Pairs
from theory.evidence import stream

ROUNDING = 1e-13  # above the bounds of the dense method for these clouds; the smallest accuracy tested is 1e-12


def distances(q, k, sharpness):
    return Pairs(Form.DISTANCE, np.ascontiguousarray(q), np.ascontiguousarray(k), np.array([float(sharpness)]))


def lost_mass(pairs, added, monkeypatch, **options):
    """Return, for every row, the true mass of the keys that no call summed, from the plain matrix of weights."""
    read = np.zeros((len(pairs.queries), len(pairs.keys)), dtype=bool)
    number = {place.tobytes(): i for i, place in enumerate(pairs.queries)}
    seat = {place.tobytes(): j for j, place in enumerate(pairs.keys)}
    exact = dense.attention

    def spy(part, values, *, log_weights):
        rows = [number[place.tobytes()] for place in part.queries]
        read[np.ix_(rows, [seat[place.tobytes()] for place in part.keys])] = True
        return exact(part, values, log_weights=log_weights)

    monkeypatch.setattr(local.dense, "attention", spy)
    found = local.attention(pairs, pairs.keys, log_weights=added, **options)
    monkeypatch.undo()
    law = dense.weights(pairs, log_weights=added)
    return found, np.where(read, 0.0, law).sum(axis=1), read


@pytest.mark.parametrize("accuracy", [1e-12, 1e-6, 1e-2, 1e-1])
@pytest.mark.parametrize("d", [1, 2, 3, 6])
@pytest.mark.parametrize("sharpness", [0.0, 1.0, 100.0, 1e5])
def test_the_bound_holds(accuracy, d, sharpness, monkeypatch):
    for case in range(3):
        rng = stream("tests.local.bound", case)
        q, k = rng.normal(size=(300, d)), rng.normal(size=(700, d))
        q[:5] *= 30.0  # far queries
        added = rng.normal(size=700) * (0.0, 1.0, 50.0)[case]  # weights over a hundred orders
        found, lost, _ = lost_mass(distances(q, k, sharpness), added, monkeypatch, accuracy=accuracy)
        assert 2.0 * lost.max() <= found.error * (1.0 + 1e-9)
        assert found.error <= accuracy
        assert found.method == "local"
        truth = dense.attention(distances(q, k, sharpness), k, log_weights=added)
        size = np.abs(k).max()
        rounding = ROUNDING * (1.0 + sharpness * 1e3)  # of scores as large as that of the farthest pair
        assert np.abs(found.output - truth.output).max() <= (found.error + rounding) * size
        assert np.abs(found.log_partition - truth.log_partition).max() <= found.error + rounding * 10.0


@pytest.mark.parametrize("d", [1, 3])
def test_shares_of_single_places_hold(d):
    """Balls of radius zero leave nothing but rounding between the two bounds, and the true score lies between them."""
    rng = stream("tests.local.shares", d)
    q, k = rng.normal(size=(1, d)), rng.normal(size=(1000, d))
    pairs = distances(q, k, 7.0)
    clouds = [local._Blocks(np.arange(len(x)), np.arange(len(x) + 1), x, np.zeros(len(x)), None) for x in (q, k)]
    low, high = local._shares(pairs, clouds[0], 0, clouds[1], np.zeros(1000))
    for least, most, place in zip(low.tolist(), high.tolist(), k.tolist(), strict=True):
        square = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(q[0].tolist(), place, strict=True))
        assert Fraction(least) <= -7 * square <= Fraction(most)


def test_far_keys_are_not_read(monkeypatch):
    rng = stream("tests.local.read", 0)
    pairs = distances(rng.random(size=(1000, 2)), rng.random(size=(2000, 2)), 1e4)
    found, _, read = lost_mass(pairs, np.zeros(2000), monkeypatch)
    assert read.mean() < 0.5  # blocks have a quarter of the side of the square, and there is one on every side
    assert 0.0 < found.error <= 1e-12
    _, lost, loose = lost_mass(pairs, np.zeros(2000), monkeypatch, accuracy=0.1)
    assert loose.sum() < read.sum()
    assert lost.max() > 0.0  # the bound of the test above is one on something


def test_a_heavy_key_far_away_is_read():
    """The nearest key has weight exp(-2000), the one that matters is fifty widths away."""
    k = np.concatenate([np.zeros((200, 2)), [[10.0, 0.0]]])
    added = np.concatenate([np.full(200, -2000.0 - math.log(200.0)), [1000.0]])
    pairs = distances(np.zeros((1, 2)), k, 25.0)
    values = np.concatenate([np.zeros((200, 1)), [[1.0]]])
    found = local.attention(pairs, values, log_weights=added)  # exponents -2000 and 1000 - 2500
    assert found.output[0, 0] == pytest.approx(1.0, rel=1e-12, abs=0.0)
    assert found.log_partition[0] == pytest.approx(-1500.0, rel=1e-12, abs=0.0)


def test_two_clusters_far_apart_do_not_mix():
    rng = stream("tests.local.clusters", 0)
    near = rng.normal(size=(300, 2))
    far = rng.normal(size=(300, 2)) + 1e6
    values = np.concatenate([np.zeros((300, 1)), np.ones((300, 1))])
    found = local.attention(distances(np.concatenate([near, far]), np.concatenate([near, far]), 1.0), values)
    assert np.abs(found.output - values).max() <= 600 * 2.0**-52  # a mean of equal numbers rounds
    assert found.error == pytest.approx(0.0, rel=0.0, abs=1e-300)


def test_a_query_between_and_beyond_all_keys():
    """By symmetry the two keys share the law evenly, however far the query is."""
    k = np.array([[-1.0, 0.0], [1.0, 0.0]])
    q = np.array([[0.0, 0.0], [0.0, 1e3], [0.0, -1e6]])
    found = local.attention(distances(q, k, 3.0), np.array([[0.0], [1.0]]))
    assert np.array_equal(found.output, np.full((3, 1), 0.5))
    assert found.error == 0.0


@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 500), (500, 1), (65, 64)])
def test_sizes(m, n):
    rng = stream("tests.local.sizes", 0)
    pairs = distances(rng.normal(size=(m, 2)), rng.normal(size=(n, 2)), 50.0)
    values = rng.normal(size=(n, 3))
    found, truth = local.attention(pairs, values), dense.attention(pairs, values)
    assert np.abs(found.output - truth.output).max() <= 1e-11
    assert np.abs(found.log_partition - truth.log_partition).max() <= 1e-11


def test_equal_keys():
    rng = stream("tests.local.equal", 0)
    values = rng.normal(size=(1000, 2))
    k = np.repeat([[0.0, 0.0], [5.0, 0.0]], 500, axis=0)
    found = local.attention(distances(np.array([[0.1, 0.0], [4.9, 0.0]]), k, 10.0), values)
    means = values.reshape(2, 500, 2).mean(axis=1)
    assert np.abs(found.output - means).max() <= 1e-12
    assert np.abs(found.log_partition - (math.log(500.0) - 0.1)).max() <= 1e-12


def test_torus():
    rng = stream("tests.local.torus", 0)
    q = rng.uniform(-10.0, 10.0, size=(4000, 2))
    k = rng.uniform(-10.0, 10.0, size=(8000, 2))
    pairs = Pairs(Form.TORUS, q, k, np.array([300.0]))
    values = rng.normal(size=(8000, 2))
    found, truth = local.attention(pairs, values), dense.attention(pairs, values)
    assert 0.0 < found.error <= 1e-12
    assert np.abs(found.output - truth.output).max() <= 1e-10  # angles near ten round the scores
    turned = Pairs(Form.TORUS, q, k + 2.0 * math.pi, np.array([300.0]))
    assert np.abs(local.attention(turned, values).output - found.output).max() <= 1e-10


def test_threads_do_not_matter(monkeypatch):
    rng = stream("tests.local.threads", 0)
    pairs = distances(rng.normal(size=(3000, 2)), rng.normal(size=(2000, 2)), 100.0)
    results = []
    for threads in ("1", "3"):
        monkeypatch.setenv("THEORY_THREADS", threads)
        results.append(local.attention(pairs, pairs.keys))
    assert np.array_equal(results[0].output, results[1].output)
    assert np.array_equal(results[0].log_partition, results[1].log_partition)
    assert results[0].error == results[1].error


def test_memory():
    rng = stream("tests.local.memory", 0)
    pairs = distances(rng.normal(size=(20_000, 2)), rng.normal(size=(20_000, 2)), 1e4)
    local.attention(pairs, pairs.keys)
    tracemalloc.start()
    local.attention(pairs, pairs.keys)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40_000 * 64 * 8  # some sixty numbers a token; all pairs are 160 times that


def test_cost():
    rng = stream("tests.local.cost", 0)
    x = rng.normal(size=(20_000, 2))
    costs = [local.cost(distances(x, x, sharpness), 20_000, 20_000, 2, 1e-12) for sharpness in (0.0, 1e2, 1e3, 1e6)]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] >= 20_000**2  # every key is near
    assert costs[-1] < 0.5 * costs[0]
    assert local.cost(distances(x, x, 1e3), 20_000, 20_000, 2, 1e-3) < costs[2]
    for pairs, accuracy in [
        (Pairs(Form.DOT, x, x, np.array([1.0])), 1e-12),
        (distances(x, x, -1.0), 1e-12),
        (distances(x, x, np.inf), 1e-12),
        (distances(x, x, 1.0), 0.0),
    ]:
        assert local.cost(pairs, 20_000, 20_000, 2, accuracy) == math.inf


def test_an_overflow_names_the_query():
    q = np.zeros((200, 2))
    q[150] = 1e200
    with pytest.raises(
        ValueError, match=r"^score: expected sizes that float64 can hold, got an overflow for query 150$"
    ):
        local.attention(distances(q, np.zeros((3, 2)), 1.0), np.zeros((3, 1)))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"form": Form.DOT}, r"^method: expected a form among DISTANCE, TORUS for local, got DOT$"),
        ({"accuracy": 0.0}, r"^accuracy: expected a number from 1e-16 to 0.1, got 0.0$"),
        ({"accuracy": math.nan}, r"^accuracy: expected a number from 1e-16 to 0.1, got nan$"),
        ({"keys": np.zeros((4, 3))}, r"^keys: expected 2 dimensions, got 3$"),
        ({"values": np.zeros((3, 1))}, r"^values: expected 4 rows, got 3$"),
        ({"values": np.full((4, 1), np.inf)}, r"^values: expected finite numbers, got others$"),
        ({"values": np.zeros((4, 0))}, r"^values: expected finite numbers, got none$"),
        ({"log_weights": np.zeros(5)}, r"^log_weights: expected 4 rows, got 5$"),
        ({"coefficients": np.array([-1.0])}, r"^coefficients: expected a positive sharpness, got -1.0$"),
    ],
)
def test_bad_input(changed, words):
    given = {
        "form": Form.DISTANCE,
        "keys": np.zeros((4, 2)),
        "coefficients": np.array([1.0]),
        "values": np.zeros((4, 1)),
    }
    given |= {"log_weights": np.zeros(4), "accuracy": 1e-12, **changed}
    pairs = Pairs(given["form"], np.zeros((5, 2)), given["keys"], given["coefficients"])
    with pytest.raises(ValueError, match=words):
        local.attention(pairs, given["values"], log_weights=given["log_weights"], accuracy=given["accuracy"])
