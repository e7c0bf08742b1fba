"""Attention over cells: as the dense method has it on uneven clouds, within the bound that is reported."""

import math

import numpy as np
import pytest

from theory import engine
from theory.engine import Form, Pairs, boxes, cellplan, cells, chebyshev, dense
from theory.evidence import stream

FORMS = (Form.DISTANCE, Form.DOT)
U = 2.0**-53


def pairs_of(form, queries, keys, c):
    return Pairs(form, np.ascontiguousarray(queries), np.ascontiguousarray(keys), np.array([float(c)]))


def rounding_of(pairs, added):
    """Bound what exponents round on both sides, per unit of a value, with the sums of some thousand terms."""
    reach = np.abs(pairs.queries).max() + np.abs(pairs.keys).max()
    size = abs(float(pairs.coefficients[0])) * pairs.queries.shape[1] * reach**2 + np.abs(added).max()
    return 64 * U * (size + 100.0)


def clusters(rng, n, d):
    """Nine tenths of the tokens in a volume ten thousand times smaller."""
    x = rng.normal(size=(n, d))
    x[n // 10 :] *= 1e-4 ** (1.0 / d)
    x[n // 10 :] += 2.0
    return x, x, np.zeros(n)


def far_queries(rng, n, d):
    q, k = rng.normal(size=(n, d)), rng.normal(size=(n, d))
    q[: n // 4] *= 30.0
    return q, k, np.zeros(n)


def heavy_tails(rng, n, d):
    x = rng.standard_t(1.5, size=(n, d))
    return x, x, np.zeros(n)


def duplicates(rng, n, d):
    x = rng.normal(size=(4, d))[rng.integers(4, size=n)]
    return x, x, np.zeros(n)


def outlier(rng, n, d):
    x = rng.normal(size=(n, d))
    x[7] = 300.0
    return x, x, np.zeros(n)


def decades(rng, n, d):
    x = rng.normal(size=(n, d))
    return x, x, rng.uniform(-35.0, 35.0, size=n)


def flat(rng, n, d):
    x = rng.normal(size=(n, d)) * 10.0 ** -(3.0 * np.arange(d))
    return x, x, np.zeros(n)


def sphere(rng, n, d):
    x = rng.normal(size=(n, d))
    x /= np.sqrt(np.square(x).sum(axis=1, keepdims=True))
    return x, x, np.zeros(n)


CLOUDS = (clusters, far_queries, heavy_tails, duplicates, outlier, decades, flat, sphere)


@pytest.mark.parametrize("accuracy", [1e-12, 1e-4])
@pytest.mark.parametrize(("d", "c"), [(1, 3.0), (2, 30.0), (3, 0.3), (3, 5.0)])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@pytest.mark.parametrize("cloud", CLOUDS, ids=lambda cloud: cloud.__name__)
def test_every_row_is_right_to_a_share_of_itself(cloud, form, d, c, accuracy):
    rng = stream("tests.cells.clouds", 10 * d + int(form))
    q, k, added = cloud(rng, 1500, d)
    pairs, values = pairs_of(form, q, k, c), rng.normal(size=(1500, 2)) + 1.0
    found = cells.attention(pairs, values, log_weights=added, accuracy=accuracy)
    truth = dense.attention(pairs, values, log_weights=added)
    slack = rounding_of(pairs, added)
    assert found.method == "cells"
    assert 0.0 <= found.error <= accuracy
    assert np.abs(found.output - truth.output).max() <= (found.error + slack) * np.abs(values).max()
    assert np.abs(found.log_partition - truth.log_partition).max() <= found.error + slack


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@pytest.mark.parametrize(
    ("d", "c", "accuracy"), [(1, 1.0, 1e-12), (2, 1.0, 1e-12), (2, 0.5, 1e-4), (3, 0.4, 1e-3), (3, 0.1, 1e-3)]
)
def test_all_ways_of_summing_agree(form, d, c, accuracy, monkeypatch):
    """Pairs of boxes are summed in each of the four ways, as far as it keeps the promise, and never otherwise."""
    rng = stream("tests.cells.ways", 10 * d + int(form))
    x = rng.normal(size=(4000, d))
    pairs = pairs_of(form, x, x, c)
    truth = dense.attention(pairs, x)
    slack = rounding_of(pairs, np.zeros(1))
    whole = cellplan.Plan._view
    for mode in range(4):
        summed = np.zeros(4)  # pairs of tokens, by the way that they are summed

        def view(self, cell, mode=mode, summed=summed):
            self.costs = np.where(np.arange(4) == mode, 1e-12, 1.0)
            found = whole(self, cell)
            tokens = len(cell.rows) * self.keys.boxes.sizes[found.near]
            summed += np.bincount(found.modes, weights=tokens, minlength=4)
            return found

        monkeypatch.setattr(cellplan.Plan, "_view", view)
        found = cells.attention(pairs, x, accuracy=accuracy)
        assert summed[mode] > 0.3 * summed.sum()
        assert found.error <= accuracy
        assert np.abs(found.output - truth.output).max() <= (found.error + slack) * np.abs(x).max()
        assert np.abs(found.log_partition - truth.log_partition).max() <= found.error + slack
        if mode:
            assert np.abs(found.output - truth.output).max() > 0.0


@pytest.mark.parametrize("halved", [False, True])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@pytest.mark.parametrize("cloud", CLOUDS, ids=lambda cloud: cloud.__name__)
def test_what_is_not_read_is_paid_for(cloud, form, halved, monkeypatch):
    """The mass of the keys that a cell does not read, from the plain matrix of weights, in units of the row."""
    if halved:
        monkeypatch.setattr(cellplan, "_SPLIT", 1e2)
    rng = stream("tests.cells.unread", int(form))
    q, k, added = cloud(rng, 1500, 2)
    pairs = pairs_of(form, q, k, 20.0)
    law = dense.weights(pairs, log_weights=added)
    whole = cellplan.Plan._view
    lost = np.zeros(1500)

    def view(self, cell):
        self.costs = np.array([0.0, 1.0, 1.0, 1.0])  # no interpolation
        found = whole(self, cell)
        boxes = self.keys.boxes
        unread = np.delete(np.arange(1500), boxes.order[boxes.members(found.near)])
        lost[cell.rows] = law[np.ix_(cell.rows, unread)].sum(axis=1)
        return found

    monkeypatch.setattr(cellplan.Plan, "_view", view)
    for accuracy in (1e-2, 1e-7):
        found = cells.attention(pairs, k, log_weights=added, accuracy=accuracy)
        assert 2.0 * lost.max() <= found.error * (1.0 + 1e-6) <= accuracy
    assert (lost > 0.0).any() or cloud in (duplicates, sphere, outlier)


def test_what_a_wider_cell_left_out_is_added(monkeypatch):
    x = stream("tests.cells.before", 0).normal(size=(800, 2))
    pairs = pairs_of(Form.DISTANCE, x, x, 5.0)
    logs = dense.attention(pairs, x).log_partition
    whole = cellplan.Plan.leaves

    def leaves(self, box):
        for cell, view in whole(self, box):
            yield cell._replace(before=logs[cell.rows] + math.log(1e-5)), view

    monkeypatch.setattr(cellplan.Plan, "leaves", leaves)
    assert 1.999e-5 <= cells.attention(pairs, x, accuracy=1e-4).error <= 2.1e-5 + 1e-4 * 3.0 / 8.0 * 2.0


def test_places_leave_nothing_to_bound():
    """Boxes without extent: what is reported is what is lost, just below the budget and, just above it, nothing."""
    rows = np.repeat([0, 1], 80)
    values = np.where(rows == 0, -1.0, 1.0)[:, np.newaxis]
    for accuracy in (1e-12, 1e-7, 1e-2):
        for share, kept in ((0.0311, False), (0.0313, True)):
            away = math.sqrt(-math.log(share * accuracy * 1.0010005001667084))  # a row is counted in units of its own
            x = np.array([[0.0, 0.0], [0.6 * away, -0.8 * away]])[rows]
            found = cells.attention(pairs_of(Form.DISTANCE, x[:3], x, 1.0), values, accuracy=accuracy)
            lost = math.exp(-(away**2))
            if kept:
                assert found.error == 0.0
                assert found.output[0, 0] + 1.0 == pytest.approx(2.0 * lost / (1.0 + lost), rel=1e-2, abs=4 * U)
            else:
                assert np.array_equal(found.output, np.full((3, 1), -1.0))
                assert found.error == pytest.approx(2.0 * lost / (1.0 - lost), rel=1e-9, abs=0.0)


@pytest.mark.parametrize("p", [4, 9, 21])
def test_interpolation_is_within_its_bound(p):
    """And not far below it, where rounding leaves something to see."""
    z = np.linspace(-1.0, 1.0, 401)
    for t in (0.1, 1.0, 3.0, 10.0):
        values = chebyshev.basis(z, p) @ np.exp(t * chebyshev.nodes(p))
        gap = np.abs(values - np.exp(t * z)).max() / math.exp(t)
        bound = float(chebyshev.share(np.array([t]), p)[0])
        assert gap <= bound + chebyshev.rounding(t, p)
        assert bound <= 60.0 * gap or gap <= 1e-12
    assert 0.9 * chebyshev.lebesgue(p) <= np.abs(chebyshev.basis(z, p)).sum(axis=1).max() <= chebyshev.lebesgue(p)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_tensors_are_products_over_axes(d):
    rng = stream("tests.cells.tensors", d)
    p, n, c, k = 3, 5, 2, 4
    letters = "abc"[:d]
    features = [rng.normal(size=(n, p)) for _ in range(d)]
    columns = rng.normal(size=(n, c))
    product = ",".join("n" + letter for letter in letters)
    axes = letters[:-1] + "z" + letters[-1]
    tensor = np.einsum(f"{product},nz->{axes}", *features, columns).reshape(p ** (d - 1), c, p)
    assert np.abs(chebyshev.gather(features, columns) - tensor).max() <= 1e-14
    full = tensor.reshape([p] * (d - 1) + [c, p])
    values = np.einsum(f"{product},{axes}->nz", *features, full)
    assert np.abs(chebyshev.read(features, tensor) - values).max() <= 1e-13
    matrices = [rng.normal(size=(k, p, p)) for _ in range(d)]
    tensors = rng.normal(size=(k, *tensor.shape))
    moved = ",".join(f"k{letter.upper()}{letter}" for letter in letters)
    given = tensors.reshape([k] + [p] * (d - 1) + [c, p])
    whole = np.einsum(f"{moved},k{axes}->{axes[:-2].upper()}z{axes[-1].upper()}", *matrices, given)
    assert np.abs(chebyshev.carry(matrices, tensors) - whole.reshape(tensor.shape)).max() <= 1e-13


@pytest.mark.parametrize("cloud", CLOUDS, ids=lambda cloud: cloud.__name__)
@pytest.mark.parametrize("d", [1, 3])
def test_boxes_hold_their_points(cloud, d):
    points = np.ascontiguousarray(cloud(stream("tests.cells.boxes", d), 3000, d)[0])
    before = points.copy()
    found = boxes.cut(points, 0.2, 5)
    assert np.array_equal(points, before)
    assert np.array_equal(np.sort(found.order), np.arange(3000))
    assert found.starts[0] == 0
    assert found.starts[-1] == 3000
    assert (found.sizes > 0).all()
    away = np.abs(points[found.order] - np.repeat(found.centres, found.sizes, axis=0))
    assert (away <= np.repeat(found.halves, found.sizes, axis=0)).all()
    wide = found.halves.max(axis=1)
    assert ((wide <= 0.2 * (1.0 + 1e-9)) | (found.sizes <= 40)).all()
    assert ((wide <= 0.8 * (1.0 + 1e-9)) | (found.sizes <= 5)).all()


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 300), (300, 1), (65, 64)])
def test_sizes(form, m, n):
    rng = stream("tests.cells.sizes", 0)
    pairs = pairs_of(form, rng.normal(size=(m, 2)), rng.normal(size=(n, 2)), 3.0)
    values = rng.normal(size=(n, 4))
    found, truth = cells.attention(pairs, values), dense.attention(pairs, values)
    assert np.abs(found.output - truth.output).max() <= 1e-11
    assert np.abs(found.log_partition - truth.log_partition).max() <= 1e-11


@pytest.mark.parametrize("c", [0.0, -2.0])
def test_no_and_negative_sharpness(c):
    x = stream("tests.cells.negative", 0).normal(size=(1500, 2))
    pairs = pairs_of(Form.DOT, x, x, c)
    found, truth = cells.attention(pairs, x), dense.attention(pairs, x)
    assert np.abs(found.output - truth.output).max() <= 1e-11
    assert np.abs(found.log_partition - truth.log_partition).max() <= 1e-11


def test_far_clouds_keep_their_digits():
    rng = stream("tests.cells.far", 0)
    x = rng.integers(-64, 64, size=(1000, 2)) / 32.0
    near = cells.attention(pairs_of(Form.DISTANCE, x, x, 1.0), x)
    far = cells.attention(pairs_of(Form.DISTANCE, x + 2.0**40, x + 2.0**40, 1.0), x)
    assert np.abs(near.output - far.output).max() <= 1e-12
    assert np.abs(near.log_partition - far.log_partition).max() <= 1e-12


def test_threads_do_not_matter(monkeypatch):
    x = stream("tests.cells.threads", 0).normal(size=(4000, 2))
    pairs = pairs_of(Form.DOT, x, x, 2.0)
    results = []
    for threads in ("1", "3"):
        monkeypatch.setenv("THEORY_THREADS", threads)
        results.append(cells.attention(pairs, x))
    assert np.array_equal(results[0].output, results[1].output)
    assert np.array_equal(results[0].log_partition, results[1].log_partition)
    assert results[0].error == results[1].error


@pytest.mark.parametrize("failure", ["lost", "peak", "mass"])
def test_a_cell_that_fails_is_computed_over_all_keys(failure, monkeypatch):
    x = stream("tests.cells.fails", 0).normal(size=(4000, 2))
    pairs = pairs_of(Form.DISTANCE, x, x, 0.3)
    whole = cellplan.Plan._view

    def view(self, cell):
        self.costs = np.array([1.0, 1e-12, 1e-12, 1e-12])  # interpolation wherever it keeps the promise
        found = whole(self, cell)
        spoiled = {"lost": {"lost": 1.0}, "peak": {"peak": 1e30}, "mass": {}}
        return found._replace(**spoiled[failure])

    monkeypatch.setattr(cellplan.Plan, "_view", view)
    if failure == "mass":
        monkeypatch.setattr(cells._Sums, "_interpolated", lambda *given: np.full((len(given[-1]), 3), np.inf))
        monkeypatch.setattr(cellplan, "_EXCESS", np.inf)
    found, truth = cells.attention(pairs, x), dense.attention(pairs, x)
    assert found.error == 0.0 or failure == "mass"  # cells of which no box is interpolated do not fail
    assert np.abs(found.output - truth.output).max() <= 1e-12


def test_cost():
    rng = stream("tests.cells.cost", 0)
    x = rng.normal(size=(30_000, 2))
    small, large = (cells.cost(pairs_of(Form.DISTANCE, x, x, 1.0), n, n, 2, 1e-12) for n in (30_000, 1_000_000))
    assert small < large < 1e12 / 20.0
    assert cells.cost(pairs_of(Form.DISTANCE, x, x, 1.0), 30_000, 30_000, 2, 1e-3) < small
    for pairs, accuracy in [
        (Pairs(Form.TORUS, x, x, np.array([1.0])), 1e-12),
        (pairs_of(Form.DISTANCE, x, x, -1.0), 1e-12),
        (pairs_of(Form.DISTANCE, x, x, np.inf), 1e-12),
        (pairs_of(Form.DISTANCE, x, x, 1.0), 0.0),
        (pairs_of(Form.DOT, np.zeros((3, 4)), np.zeros((3, 4)), 1.0), 1e-12),
        (pairs_of(Form.DISTANCE, 1e300 * x, x, 1.0), 1e-12),
    ]:
        assert cells.cost(pairs, 30_000, 30_000, 2, accuracy) == math.inf


def spread(rng, far, m=7, n=600, d=1):
    """A few queries near the keys and three far away in one box."""
    return np.concatenate([rng.normal(size=(m - 3, d)), far * rng.normal(size=(3, d))]), rng.normal(size=(n, d))


@pytest.mark.parametrize("accuracy", [1e-12, 1e-2])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("far", [1e7, 1e9, 1e10, 1e13])
def test_rounded_exponents_of_far_tokens_lose_no_key(far, d, form, accuracy):
    """Boxes as wide as that have exponents whose rounding is no longer small, and the rows near zero have not."""
    rng = stream("tests.cells.rounded", d)
    wide, cloud = spread(rng, far, d=d)
    values = rng.normal(size=(600, 2))
    heavy = cloud.copy()
    heavy[:3] *= far
    for queries, keys in ((wide, cloud), (cloud, heavy), (heavy, heavy)):
        pairs = pairs_of(form, queries, keys, 1.0)
        found, truth = cells.attention(pairs, values, accuracy=accuracy), dense.attention(pairs, values)
        near = np.abs(queries).max(axis=1) < 10.0
        slack = 256 * U * (1.0 + np.abs(truth.log_partition[near]))
        assert found.error <= accuracy
        gap = np.abs(found.output - truth.output)[near].max(axis=1) / np.abs(values).max()
        assert (gap <= found.error + slack).all()
        assert (np.abs(found.log_partition - truth.log_partition)[near] <= found.error + slack).all()


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_what_boxes_bring_at_most_is_rounded_upward(form, monkeypatch):
    """Boxes without extent bring exactly their bound, so that long doubles see every digit that it lacks."""
    rng = stream("tests.cells.upward", int(form))
    x = np.repeat(300.0 * rng.normal(size=(12, 2)), 80, axis=0)  # too many in a place to share a box
    pairs = pairs_of(form, x, x, 1.0)
    plan = cellplan.Plan(pairs, 3, np.zeros(len(x)), 1e-6)
    whole, seen = cellplan._choice, []
    monkeypatch.setattr(cellplan, "_choice", lambda high, budget: seen.append(high) or whole(high, budget))
    long = x.astype(np.longdouble)
    for box in range(len(plan.levels)):
        ((cell, _),) = plan.leaves(box)
        query = long[cell.rows[0]]
        unit = cell.level + (query - cell.centre) @ cell.slope.astype(np.longdouble)
        keys = long[plan.keys.boxes.order[plan.keys.boxes.starts[:-1]]]
        scores = keys @ query if form is Form.DOT else -np.square(keys - query).sum(axis=1)
        beyond = seen[-1] - (scores + np.log(plan.keys.boxes.sizes.astype(np.longdouble)) - unit)
        assert (beyond >= 0.0).all()
        sizes = np.abs(keys) @ np.abs(query) if form is Form.DOT else np.abs(scores)
        assert (beyond <= 2e-14 * (sizes + abs(cell.level) + 10.0)).all()


@pytest.mark.parametrize(("away", "apart"), [(0.0, 1e-6), (1.0, 1e-6), (1e4, 1.0)])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_wide_boxes_round_no_more_than_scores(form, away, apart):
    """Many keys in two places, which are interpolated without loss, and queries far and near in one box."""
    rng = stream("tests.cells.excess", 0)
    queries = np.concatenate([rng.normal(size=(20, 1)), 1e6 * apart * 1e6 * rng.normal(size=(20, 1))])
    keys = away + np.where(np.arange(600)[:, np.newaxis] % 2 == 0, 0.0, apart)
    pairs, values = pairs_of(form, queries, keys, 1.0), rng.normal(size=(600, 2))
    found, truth = cells.attention(pairs, values), dense.attention(pairs, values)
    near = np.arange(20)
    scores = 10.0 * (away + apart) if form is Form.DOT else (10.0 + away + apart) ** 2
    slack = 64 * U * (scores + 10.0)
    assert np.abs(found.output - truth.output)[near].max() <= (found.error + slack) * np.abs(values).max()
    assert np.abs(found.log_partition - truth.log_partition)[near].max() <= found.error + slack


def test_an_overflow_names_the_query():
    q = np.zeros((200, 2))
    q[150] = 1e200
    with pytest.raises(
        ValueError, match=r"^score: expected sizes that float64 can hold, got an overflow for query 150$"
    ):
        cells.attention(pairs_of(Form.DISTANCE, q, np.zeros((3, 2)), 1.0), np.zeros((3, 1)))


@pytest.mark.parametrize(
    ("form", "shape", "values", "accuracy", "words"),
    [
        (Form.TORUS, (4, 2), 4, 1e-12, r"^method: expected a form among DISTANCE, DOT for cells, got TORUS$"),
        (Form.DOT, (4, 4), 4, 1e-12, r"^method: expected at most 3 dimensions for cells, got 4$"),
        (Form.DOT, (4, 2), 4, 1e-14, r"^accuracy: expected a number from 1e-13 to 0.1, got 1e-14$"),
        (Form.DOT, (4, 2), 3, 1e-12, r"^values: expected 4 rows, got 3$"),
    ],
)
def test_refusals(form, shape, values, accuracy, words):
    x = np.zeros(shape)
    with pytest.raises(ValueError, match=words):
        engine.attention(pairs_of(form, x, x, 1.0), np.zeros((values, 1)), method="cells", accuracy=accuracy)
