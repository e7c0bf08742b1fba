"""The model trained end to end: its forward pass in plain loops, its gradient by differences, what training reaches."""

import math

import numpy as np
import pytest

from theory.evidence import stream
from theory.maxent import Predictor, RowMap, entmax, row_map, sparsemax
from theory.maxent.studies.prediction import SIZES, digits, prediction

MAPS = {
    "softmax": row_map("softmax", tau=0.7),
    "entmax": row_map("entmax", alpha=1.3),
    "entmax15": row_map("entmax15"),
    "sparsemax": row_map("sparsemax"),
    "fusedmax": row_map("fusedmax", alpha=1.5, strength=0.05, tau=0.5),
}


def problem(name, case=0):
    """Draw a small model, a point that is no optimum, and examples with soft targets."""
    rng = stream(f"tests.predictor.{name}", case)
    model = Predictor(MAPS[name], length=5, features=3, classes=4, width=6, heads=2)
    theta = model.initial(rng) + 0.3 * rng.normal(size=model.size)
    return model, theta, rng.normal(size=(7, 5, 3)), rng.dirichlet(np.ones(4), size=7), rng


def plain(model, theta, x):
    """Class scores by loops over examples, heads and locations."""
    cuts = np.cumsum([math.prod(shape) for shape in model.shapes])[:-1]
    w, b, a, c, d = (part.reshape(shape) for part, shape in zip(np.split(theta, cuts), model.shapes, strict=True))
    found = []
    for example in x:
        h = [np.tanh(w.T @ token + offset) for token, offset in zip(example, b, strict=True)]
        scores = d.copy()
        for head in range(model.heads):
            law = model.rows.law(np.array([token @ a[:, head] for token in h]))
            context = sum(p * token for p, token in zip(law, h, strict=True))
            scores += context @ c[head * model.width : (head + 1) * model.width]
        found.append(scores)
    return np.array(found)


@pytest.mark.parametrize("name", MAPS)
def test_forward_pass(name):
    model, theta, x, y, _ = problem(name)
    scores, weights = model.predict(theta, x)
    np.testing.assert_allclose(scores, plain(model, theta, x), rtol=1e-12, atol=1e-13)
    assert weights.shape == (7, 2, 5)
    logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    value, _ = model.objective(theta, x, y, 0.02)
    assert value == pytest.approx(-(y * logs).sum() / 7 + 0.02 * (theta @ theta), rel=1e-13, abs=0.0)


@pytest.mark.parametrize("name", MAPS)
def test_gradient_is_that_of_the_objective(name):
    """Central differences err by h^2 until rounding: two steps of which the finer must be four times nearer."""
    model, theta, x, y, rng = problem(name, 1)
    _, slope = model.objective(theta, x, y, 0.02)
    for _ in range(3):
        way = rng.normal(size=model.size)

        def quotient(h, way=way):
            ahead, behind = (model.objective(theta + sign * h * way, x, y, 0.02)[0] for sign in (1, -1))
            return (ahead - behind) / (2 * h)

        coarse, fine = (abs(quotient(h) - slope @ way) for h in (4e-4, 1e-4))
        assert fine < 1e-6
        assert fine < coarse / 8 + 1e-10


def test_the_map_enters_through_its_derivative():
    """A map whose derivative is left out has another gradient: the test above would see it."""
    model, theta, x, y, _ = problem("softmax", 2)
    still = Predictor(RowMap(model.rows.law, lambda p, c: 0.0 * p * c), 5, 3, 4, width=6, heads=2)
    (value, slope), (same, other) = (m.objective(theta, x, y, 0.02) for m in (model, still))
    assert value == same
    assert np.abs(slope - other).max() > 1e-3


def test_training_descends_and_is_reproducible():
    rng = stream("tests.predictor.fit", 0)
    x = rng.normal(size=(60, 5, 3))
    y = np.eye(2)[(x.max(axis=(1, 2)) > 1.9).astype(int)]  # whether any entry is large: attention can look for it
    model = Predictor(row_map("sparsemax"), 5, 3, 2)
    first, again = (model.fit(x, y, decay=1e-3, iterations=40, rng=np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(first.parameters, again.parameters)
    start = model.initial(np.random.default_rng(3))
    assert first.objective < 0.5 * model.objective(start, x, y, 1e-3)[0]
    value, slope = model.objective(first.parameters, x, y, 1e-3)
    assert first.objective == value
    assert first.slope == np.abs(slope).max()
    assert 0 < first.iterations <= 40


MODEL, THETA, X, Y, _ = problem("softmax")


def test_row_maps_bind_their_options():
    rng = stream("tests.predictor.maps", 0)
    s, c = rng.normal(size=(4, 6)), rng.normal(size=(4, 6))
    tempered = row_map("entmax", alpha=1.7, tau=0.3)
    assert np.array_equal(tempered.law(s), entmax(s, 1.7, tau=0.3))
    ahead, behind = (tempered.law(s + sign * 1e-6 * c) for sign in (1, -1))
    np.testing.assert_allclose(tempered.vjp(tempered.law(s), c), (ahead - behind) / 2e-6, rtol=1e-4, atol=1e-7)
    assert np.array_equal(row_map("sparsemax", tau=2.0).law(s), sparsemax(s, tau=2.0))


def test_row_maps_of_masked_scores():
    s = np.array([1.0, -np.inf, 0.9, -1.0])
    c = np.array([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(ValueError, match=r"^scores: expected finite scores unless mask is bound, got -inf"):
        row_map("fusedmax", strength=0.5)(s)
    fused = row_map("fusedmax", strength=0.5, mask=s > -np.inf)
    law = fused(s)
    assert law[0] == law[2] > 0.0  # the neighbours of what is masked are neighbours
    assert np.array_equal(fused.vjp(law, c), [0.0, 0.0, 0.0, 0.0])  # two weights that move together cannot move
    with pytest.raises(ValueError, match=r"^mask: expected none for softmax"):
        row_map("softmax", mask=s > -np.inf)
    for options in ({}, {"strength": 0.1, "temperature": 1.0}):
        with pytest.raises(TypeError, match=r"^options: expected those of fusedmax"):
            row_map("fusedmax", **options)


def test_what_the_map_does_on_held_out_digits(monkeypatch):
    """Two splits of the experiment: learned weights beat the mean, sparse ones lose little and look at few rows.

    An illustration, on one set of data; the numbers in the notes are those of 48 splits.
    """
    x, _ = digits()
    assert x.shape == (1797, 8, 8)
    assert (x.min(), x.max()) == (0.0, 1.0)
    monkeypatch.setitem(SIZES, "quick", (2, ("uniform", "softmax", "entmax15", "sparsemax")))
    table = prediction(scale="quick", root=5)
    assert (table["shuffled"] < 0.6).all()  # equal held-out examples, whose labels are not those of others
    mean, soft = table.where(map="uniform"), table.where(map="softmax")
    assert (mean["rows"] == 8.0).all()
    assert (soft["accuracy"] - mean["accuracy"]).mean() >= 0.03
    for name, rows in (("entmax15", 4), ("sparsemax", 3)):
        found = table.where(map=name)
        assert (soft["accuracy"] - found["accuracy"]).mean() <= 0.05
        assert found["rows"].mean() <= rows
