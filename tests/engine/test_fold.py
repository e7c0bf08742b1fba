"""What precedes the pass: scores in base two, shifts that bound them, values of a tame size, undone without loss."""

import math

import numpy as np
import pytest

from tests.engine.problems import score_of
from theory.attention import DotProduct, SquaredDistance
from theory.engine.exponential import LN2, LOG2E
from theory.engine.fold import fold
from theory.engine.pairs import Form, Pairs, embedded
from theory.evidence import stream
from theory.evidence.roundoff import gamma

LEAST = 5e-324


def base_two(problem):
    """Return the scores that a pass computes of a folded problem, with their log-weights."""
    if problem.form is Form.DOT:
        scores = problem.queries @ problem.keys.T
    else:
        apart = problem.queries[:, np.newaxis, :] - problem.keys[np.newaxis, :, :]
        scores = -problem.factor * (apart * apart).sum(axis=2)
    return scores if problem.log_weights is None else scores + problem.log_weights


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", ["dot", "distance"])
def test_shift_bounds_every_score(form, weighted, single):
    for case, d in enumerate((1, 2, 3, 8, 30)):
        rng = stream(f"tests.fold.{form}", case)
        score = score_of(form, d, rng)
        x = rng.normal(size=(20, d)) + case
        y = rng.normal(size=(30, d))
        v = rng.normal(size=(30, 2))
        added = 10.0 * rng.normal(size=30) if weighted else np.zeros(30)
        problem = fold(score.pairs(x, y), v, added, single=single)
        unit = 2.0**-24 if single else 2.0**-53
        size = score.bounds(x, y)[0] + np.abs(added).max()
        slack = (2 * d + 16) * unit * 2.0 * LOG2E * size
        scores = base_two(problem).astype(np.float64)
        assert np.all(problem.shift[:, np.newaxis] >= scores - slack)
        assert np.abs(scores - LOG2E * (score.matrix(x, y) + added)).max() <= slack
        assert np.all(problem.size >= np.abs(problem.shift) - slack)
        assert problem.keys.dtype == (np.float32 if single else np.float64)
        assert np.array_equal(problem.shift, problem.shift.astype(problem.keys.dtype))


def test_size_bounds_what_is_summed():
    """Coordinates of a dot product may cancel: the sum is nought, and what is summed is not."""
    problem = fold(Pairs(Form.DOT, np.array([[1e20, -1e20]]), np.ones((1, 2)), np.ones(1)), np.ones((1, 1)), None)
    assert problem.shift[0] == 0.0
    assert problem.size[0] >= 2e20


def test_bounds_that_are_attained():
    """A box of one key is the key, and a query inside the box of the keys is at distance nought."""
    y = np.array([[3.0, -1.0]])
    x = np.array([[1.0, 2.0], [0.0, 0.0]])
    dot = fold(Pairs(Form.DOT, x, y, np.array([LN2])), np.ones((1, 1)), None)
    assert np.abs(dot.shift - [1.0, 0.0]).max() <= gamma(8) * 5.0
    distance = fold(Pairs(Form.DISTANCE, x, y, np.array([LN2])), np.ones((1, 1)), None)
    assert np.abs(distance.shift - [-13.0, -10.0]).max() <= gamma(8) * 13.0
    inside = fold(Pairs(Form.DISTANCE, x, np.array([[-9.0, 9.0], [9.0, -9.0]]), np.ones(1)), np.ones((2, 1)), None)
    assert inside.shift.tolist() == [0.0, 0.0]


def test_the_length_bounds_where_the_box_does_not():
    """Keys on a circle: their box reaches to its corners, farther than any key."""
    turn = np.linspace(0.0, 2.0 * math.pi, 1001)
    y = np.column_stack([np.cos(turn), np.sin(turn)])
    problem = fold(Pairs(Form.DOT, np.array([[1.0, 1.0]]), y, np.array([LN2])), np.ones((1001, 1)), None)
    assert abs(problem.shift[0] - math.sqrt(2.0)) <= gamma(32)


@pytest.mark.parametrize("constant", [0.0, -700.0, 1e10, 5e-324])
def test_equal_log_weights_are_an_offset(constant):
    pairs = SquaredDistance(1.0).pairs(np.zeros((1, 1)), np.zeros((3, 1)))
    problem = fold(pairs, np.ones((3, 1)), np.full(3, constant))
    assert problem.log_weights is None
    assert problem.offset == constant
    assert problem.shift.tolist() == [0.0]


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("size", [LEAST, 1e-310, 1e-300, 1e-20, 1e-6, 1.0, 1e6, 1e20, 1e300, 1.7e308])
def test_values_of_a_tame_size(size, single):
    values = size * np.array([[1.0, 1.0, 0.0], [-0.5, 0.0, 0.0]])
    problem = fold(DotProduct(scale=1.0).pairs(np.ones((1, 1)), np.ones((2, 1))), values, None, single=single)
    tame = problem.values.astype(np.float64)
    bound = 2.0 ** (17 if single else 65)
    assert np.abs(tame[:, :2]).max() < bound
    assert np.abs(tame[:, :2]).max() >= 1.0 / bound
    assert tame[:, 2].tolist() == [0.0, 0.0]
    back = np.ldexp(tame, problem.exponent)
    assert np.abs(back - values).max() <= (2.0**-24 if single else 0.0) * size


def test_a_small_column_beside_a_large_one_is_kept():
    values = np.array([[1e300, 1e-300], [-1e300, 3e-300]])
    problem = fold(DotProduct(scale=1.0).pairs(np.ones((1, 1)), np.ones((2, 1))), values, None)
    assert np.array_equal(np.ldexp(problem.values, problem.exponent), values)


def test_values_are_not_written_to():
    values = np.full((2, 1), 1e300)
    added = np.array([1.0, 2.0])
    pairs = DotProduct(scale=3.0).pairs(np.ones((1, 1)), np.ones((2, 1)))
    fold(pairs, values, added)
    assert values.tolist() == [[1e300], [1e300]]
    assert added.tolist() == [1.0, 2.0]
    assert pairs.queries.tolist() == [[1.0]]


def test_angles_become_points_of_the_plane():
    rng = stream("tests.fold.torus", 0)
    x = rng.uniform(-9.0, 9.0, size=(5, 2))
    y = rng.uniform(-9.0, 9.0, size=(6, 2))
    plane = embedded(Pairs(Form.TORUS, x, y, np.ones(1)))
    assert plane.form is Form.DISTANCE
    apart = plane.queries[:, np.newaxis, :] - plane.keys[np.newaxis, :, :]
    chords = (2.0 - 2.0 * np.cos(x[:, np.newaxis, :] - y[np.newaxis, :, :])).sum(axis=2)
    assert np.abs((apart**2).sum(axis=2) - chords).max() <= gamma(400)  # cosines of sizes up to 18, each rounded
    other = Pairs(Form.DOT, x, y, np.ones(1))
    assert embedded(other) is other
