"""Scores: the formula in ball arithmetic, the bounds of their rounding, and constants that hold and are attained."""

import math

import numpy as np
import pytest

from tests.attention import exact
from theory import engine
from theory.attention import Additive, DotProduct, SquaredDistance, attend, weight_error
from theory.attention.score import pairs_of
from theory.engine import Form, reference
from theory.engine.rows import columns, fill_scores
from theory.evidence import stream
from theory.evidence.enclosure import hull
from theory.evidence.roundoff import gamma

FORM = np.array([[1.0, -2.0], [0.5, 0.25], [0.0, 3.0]])


def scores(d, rng):
    """One score of every sort on queries and keys of dimension ``d``, by name."""
    h = d + 1
    return {
        "scaled": DotProduct(),
        "dot": DotProduct(scale=float(rng.uniform(0.1, 3.0))),
        "form": DotProduct(form=rng.normal(size=(d, d))),
        "scaled form": DotProduct(scale=0.3, form=rng.normal(size=(d, d))),
        "distance": SquaredDistance(float(rng.uniform(0.1, 3.0))),
        "additive": Additive(rng.normal(size=(h, d)), rng.normal(size=(h, d)), rng.normal(size=h)),
    }


NAMES = tuple(scores(1, stream("tests.score.names", 0)))


def engine_scores(score, x, y):
    """The raw scores that either backend computes, shape (m, n) each."""
    pairs = score.pairs(x, y)
    slow = reference.scores(pairs)
    fast = np.empty(slow.shape)
    added = np.zeros(y.shape[0])
    for row, query in zip(fast, pairs.queries, strict=True):
        fill_scores(int(pairs.form), query, columns(pairs.keys), added, pairs.coefficients, 0, row)
    return fast, slow


@pytest.mark.parametrize("size", [1e-150, 1e-3, 1.0, 1e3, 1e150])
@pytest.mark.parametrize("name", NAMES)
def test_bounds_hold_against_balls(name, size):
    for case, d in enumerate((1, 2, 3, 8)):
        rng = stream(f"tests.score.bounds.{name}", case)
        score = scores(d, rng)[name]
        x, y = size * rng.normal(size=(4, d)), size * rng.normal(size=(5, d))
        largest, error = score.bounds(x, y)
        truth = exact.scores(score, x, y)
        assert max(hull(abs(t)).lo for t in truth.ravel()) <= largest
        for computed in (*engine_scores(score, x, y), score.matrix(x, y)):
            assert exact.apart(computed, truth) <= error + 2.0**-1000  # squares that vanish
        if 1e-140 < size < 1e140:
            assert error <= 1e-12 * largest * max(1.0, size)  # the bound says something
            assert error > 0.0


@pytest.mark.parametrize("name", NAMES)
def test_bounds_hold_where_terms_cancel(name):
    for case in range(20):
        rng = stream(f"tests.score.cancel.{name}", case)
        score = scores(4, rng)[name]
        y = rng.normal(size=(3, 4)) * 10.0 ** rng.integers(-8, 8, size=4)
        x = np.concatenate([y[:1], y[:1] * (1.0 + 1e-9), -y[:1], np.roll(y[:1], 1, axis=1) * [1.0, -1.0, 1.0, -1.0]])
        error = score.bounds(x, y)[1]
        truth = exact.scores(score, x, y)
        for computed in (*engine_scores(score, x, y), score.matrix(x, y)):
            assert exact.apart(computed, truth) <= error


@pytest.mark.parametrize(("left", "right"), [(1e-200, 1e200), (1e200, 1e-200), (1e-300, 1e300), (1e-170, 1e-170)])
def test_bounds_of_unlike_sizes_are_no_nan(left, right):
    """Squares of the coordinates overflow or vanish where the scores do neither."""
    x = left * np.array([[1.0, 2.0]])
    y = right * np.array([[2.0, 1.0], [0.0, 1.0]])
    largest, error = DotProduct(scale=1.0).bounds(x, y)
    truth = exact.scores(DotProduct(scale=1.0), x, y)
    assert max(hull(abs(t)).lo for t in truth.ravel()) <= largest <= 1e3 * left * right
    assert 0.0 <= error <= 1e-12 * largest
    assert weight_error(x, y, DotProduct(scale=1.0)) <= 1e-10


def test_bounds_of_zero():
    zero = np.zeros((2, 3))
    assert DotProduct(scale=1.0).bounds(zero, zero) == (0.0, 0.0)
    assert SquaredDistance().bounds(zero, zero) == (0.0, 0.0)


@pytest.mark.parametrize("name", NAMES)
def test_matrix_and_pairs_are_one_score(name):
    """Attention weights from the features agree with those from the matrix, handed over as a function."""
    for case in range(5):
        rng = stream(f"tests.score.pairs.{name}", case)
        score = scores(3, rng)[name]
        x, y = rng.normal(size=(4, 3)), rng.normal(size=(9, 3))

        class Given:
            matrix = staticmethod(score.matrix)

        rows = engine.weights(score.pairs(x, y))
        given = engine.weights(pairs_of(Given(), x, y))
        error = weight_error(x, y, score)
        assert np.abs(rows / given - 1.0).max() <= 2.0 * error * (1.0 + error)


def test_closed_forms():
    x, y = np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [0.0, -1.0]])
    assert np.array_equal(DotProduct(scale=0.5).matrix(x, y), [[5.5, -1.0]])
    assert np.array_equal(SquaredDistance(0.5).matrix(x, y), [[-4.0, -5.0]])
    assert np.array_equal(DotProduct(form=FORM).matrix([[1.0, 2.0, 0.0]], y), [[3.0 * 2.0 - 4.0 * 1.5, 1.5]])
    assert np.array_equal(DotProduct(scale=2.0, form=FORM).matrix([[1.0, 2.0, 0.0]], y), [[0.0, 3.0]])
    four = np.full((1, 4), 1.0)
    assert np.array_equal(DotProduct().matrix(four, four), [[2.0]])  # 4 / sqrt(4)
    additive = Additive([[1.0, 0.0]], [[0.0, 1.0]], [2.0]).matrix(x, y)
    assert np.abs(additive - 2.0 * np.tanh([[5.0, 0.0]])).max() <= gamma(16)


def test_scale_is_that_of_the_dimension_of_the_keys():
    """The default divides by the root of d, and only if no scale and no form is given."""
    for d in range(1, 9):
        x = np.zeros((1, d))
        assert abs(DotProduct().pairs(x, x).coefficients[0] ** 2 * d - 1.0) <= gamma(4)
        assert DotProduct(form=np.eye(d)).pairs(x, x).coefficients[0] == 1.0
        assert DotProduct(scale=3.0).pairs(x, x).coefficients[0] == 3.0
        assert DotProduct(scale=3.0, form=np.eye(d)).pairs(x, x).coefficients[0] == 3.0


def test_forms():
    x = np.zeros((1, 2))
    additive = Additive(np.eye(2), np.eye(2), np.ones(2))
    assert [s.pairs(x, x).form for s in (DotProduct(), SquaredDistance(), additive)] == [
        Form.DOT, Form.DISTANCE, Form.ADDITIVE,
    ]  # fmt: skip


def on_ball(points, radius):
    norms = np.sqrt((points**2).sum(axis=-1, keepdims=True))
    return points * np.minimum(1.0, radius / np.maximum(norms, 1e-300))


def climb(ratio, points, radius, rng, steps=400):
    """Search for the largest ``ratio`` over points of the ball: keep a random step if it does not lose."""
    best = ratio(points)
    length = radius
    for step in range(steps):
        moved = on_ball(points + length * rng.normal(size=points.shape), radius)
        value = ratio(moved)
        if value >= best:
            best, points = value, moved
        if step % 20 == 19:
            length *= 0.75
    return best


def ratios(score):
    """The four quotients that the constants bound, as functions of (x, x', y, y')."""

    def a(x, y):
        return score.matrix(x[np.newaxis], y[np.newaxis])[0, 0]

    def per(difference, *steps):
        lengths = math.prod(math.dist(p, q) for p, q in steps)
        return abs(difference) / lengths if lengths > 1e-6 else 0.0  # above, rounding is far below one in a thousand

    return {
        "oscillation": lambda p: a(p[0], p[2]) - a(p[0], p[3]),
        "query": lambda p: per(a(p[0], p[2]) - a(p[1], p[2]), (p[0], p[1])),
        "key": lambda p: per(a(p[0], p[2]) - a(p[0], p[3]), (p[2], p[3])),
        "mixed": lambda p: per(
            a(p[0], p[2]) - a(p[0], p[3]) - a(p[1], p[2]) + a(p[1], p[3]), (p[0], p[1]), (p[2], p[3])
        ),
    }


ATTAINED = {"dot": 0.97, "scaled form": 0.97, "distance": 0.97, "additive": 0.0}


@pytest.mark.parametrize("which", ["oscillation", "query", "key", "mixed"])
@pytest.mark.parametrize("name", sorted(ATTAINED))
def test_constants_are_never_exceeded_and_nearly_attained(name, which):
    for case, radius in enumerate((0.5, 3.0)):
        rng = stream(f"tests.score.constants.{name}.{which}", case)
        score = scores(2, rng)[name]
        claimed = getattr(score.constants(radius), which)
        ratio = ratios(score)[which]
        starts = (on_ball(radius * rng.normal(size=(4, 2)), radius) for _ in range(6))
        found = max(climb(ratio, start, radius, rng) for start in starts)
        assert found <= claimed * (1.0 + 1e-6)  # four scores of size 1e2 over steps of 1e-6 squared lose 1e-14 / 1e-12
        assert found >= ATTAINED[name] * claimed


@pytest.mark.parametrize("radius", [0.25, 2.0])
def test_constants_at_their_witnesses(radius):
    """The extremal points in closed form: opposite ends of a diameter along the leading singular vectors."""
    beta = 0.75
    e = radius * np.array([[1.0, 0.0]])
    dot = DotProduct(scale=beta)
    constants = DotProduct(scale=beta).constants(radius)
    assert dot.matrix(e, e) - dot.matrix(e, -e) == constants.oscillation
    assert (dot.matrix(e, e) - dot.matrix(-e, e)) / (2 * radius) == constants.query == constants.key
    assert (dot.matrix(e, e) - dot.matrix(-e, e) - dot.matrix(e, -e) + dot.matrix(-e, -e)) == (
        4 * radius**2 * constants.mixed
    )
    distance = SquaredDistance(beta)
    constants = SquaredDistance(beta).constants(radius)
    assert distance.matrix(e, e) - distance.matrix(e, -e) == constants.oscillation
    assert (
        distance.matrix(e, e) - distance.matrix(-e, e) - distance.matrix(e, -e) + distance.matrix(-e, -e)
    ) == 4 * radius**2 * constants.mixed
    h = 2.0**-20 * radius
    near = e * (1.0 - h / radius)
    for slope in (
        (distance.matrix(near, -e) - distance.matrix(e, -e)) / h,
        (distance.matrix(e, -near) - distance.matrix(e, -e)) / h,
    ):
        assert abs(slope[0, 0] / constants.query - 1.0) <= 2.0**-19  # the slope at the end, up to h / (2 D)
    assert constants.query == constants.key


def test_form_enters_the_constants_by_its_spectral_norm():
    form = np.diag([3.0, 4.0])
    constants = DotProduct(scale=0.5, form=form).constants(2.0)
    assert np.abs(np.array(constants) - [2 * 0.5 * 4 * 4, 0.5 * 4 * 2, 0.5 * 4 * 2, 0.5 * 4]).max() <= 64 * gamma(8)
    assert DotProduct(form=form).constants(1.0).mixed == constants.mixed * 2


def test_constants_of_an_unknown_dimension():
    with pytest.raises(ValueError, match=r"^scale: expected a number, got None \(1/sqrt\(d\) of an unknown dimension"):
        DotProduct().constants(1.0)


@pytest.mark.parametrize("score", [DotProduct(scale=1.0), SquaredDistance(), Additive([[1.0]], [[1.0]], [1.0])])
def test_bad_radius(score):
    for bad in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match=r"^radius: expected a positive, finite number"):
            score.constants(bad)
    with pytest.raises(TypeError, match=r"^radius: expected a number, got str$"):
        score.constants("1")


@pytest.mark.parametrize("make", [lambda beta: DotProduct(scale=beta), SquaredDistance])
def test_bad_scale(make):
    for bad in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match=r"^scale: expected a positive, finite number"):
            make(bad)
    for bad in ("1", True, [1.0]):
        with pytest.raises(TypeError, match=r"^scale: expected a number"):
            make(bad)


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match=r"^w_query: expected shape \(2, d\), got shape \(3, 2\)$"):
        Additive(FORM, FORM[:2], np.ones(2))
    with pytest.raises(ValueError, match=r"^w_key: expected shape \(3, d\), got shape \(2, 2\)$"):
        Additive(FORM, FORM[:2], np.ones(3))
    x, y = np.ones((2, 2)), np.ones((2, 3))
    for score in (DotProduct(), SquaredDistance()):
        with pytest.raises(ValueError, match=r"^keys: expected dimension 2 as the queries, got 3$"):
            score.matrix(x, y)
    with pytest.raises(ValueError, match=r"^form: expected shape \(2, 2\), got shape \(3, 2\)$"):
        DotProduct(form=FORM).matrix(x, x)
    additive = Additive(FORM, FORM, np.ones(3))
    with pytest.raises(ValueError, match=r"^queries: expected shape \(n, 2\), got shape \(2, 3\)$"):
        additive.matrix(y, x)
    with pytest.raises(ValueError, match=r"^keys: expected shape \(n, 2\), got shape \(2, 3\)$"):
        additive.matrix(x, y)


def test_matrices_are_read_only_copies():
    given = FORM.copy()
    for array in (DotProduct(form=given).form, Additive(given, given, np.ones(3)).w_query):
        assert not array.flags.writeable
        assert not np.shares_memory(array, given)


HUGE = 1e308


@pytest.mark.parametrize(
    ("additive", "x"),
    [
        (Additive([[HUGE, HUGE, -HUGE, -HUGE]], [[1.0] * 4], [1.0]), [[1.0, 1.0, 1.5, 0.5]]),  # inf - inf, truth 0
        (Additive([[HUGE, HUGE, -HUGE, -HUGE]], [[1.0] * 4], [1.0]), [[1.0, 1.0, 0.5, 1.5]]),
        (Additive([[HUGE] + [0.0] * 3], [[HUGE] * 4], [1.0]), [[1.0, 0.0, 0.0, 0.0]]),  # each side alone would do
        (Additive([[1.0] * 4] * 2, [[1.0] * 4] * 2, [HUGE, HUGE]), [[1.0] * 4]),
    ],
)
def test_additive_scores_of_which_a_partial_sum_overflows_are_refused(additive, x):
    y = [[0.1, 0.2, 0.3, 0.4], [0.0] * 4]
    message = r"^score: expected sizes that float64 can hold, got a bound of "
    for call in (lambda: additive.matrix(x, y), lambda: attend(x, y, [[1.0], [0.0]], score=additive)):
        with pytest.raises(ValueError, match=message):
            call()


def test_additive_scores_of_huge_weights_are_taken_where_nothing_overflows():
    additive = Additive([[HUGE, -HUGE]], [[1.0, 1.0]], [1.0])
    assert np.array_equal(additive.matrix([[0.5, 0.25]], [[0.0, 0.0]]), [[1.0]])


@pytest.mark.parametrize(
    "score",
    [DotProduct(scale=1e200), SquaredDistance(1e200), Additive([[1e200]], [[1e200]], [1e200])],
    ids=["dot", "distance", "additive"],
)
def test_constants_that_overflow_are_refused(score):
    with pytest.raises(ValueError, match=r"^radius: expected one whose constants float64 can hold, got inf for "):
        score.constants(1e200)
    assert all(math.isfinite(constant) for constant in DotProduct(scale=1e100).constants(1e100))
