"""Products with the Jacobian and its transpose: against balls, against each other, under masks, and what is refused."""

import math

import numpy as np
import pytest

from tests.attention import exact
from tests.engine.problems import (
    FORMS,
    direction_of,
    hidden,
    output_error,
    scale_of_products,
    score_of,
    slopes_of,
    true_derivative,
)
from theory import engine
from theory.attention import Additive, DotProduct, SquaredDistance
from theory.engine import Direction, Form, Pairs, compiled, jacobian, reference, strips
from theory.evidence import stream
from theory.evidence.roundoff import gamma

KERNELS = (compiled, reference)
NAMES = ("queries", "keys", "values", "log_weights")


def problem(form, case, m=4, n=9, d=2, d_v=3):
    """Return score, tokens, values, log-weights, mask and features; an additive score has features as tokens."""
    rng = stream(f"tests.jacobian.{form}", case)
    score = score_of(form, d, rng)
    if form == "additive":  # tangents are of features, so the linear maps are none
        score = Additive(np.eye(d), np.eye(d), score.v)
    x = rng.normal(size=(m, d))
    y = rng.normal(size=(n, d))
    v = rng.normal(size=(n, d_v))
    added = rng.normal(size=n)
    visible = np.concatenate([[n, 1], rng.integers(1, n + 1, size=m - 2)])
    return score, x, y, v, added, visible, score.pairs(x, y), rng


def forward_error(score, x, y, v, added, pairs, direction):
    """Bound the error of a derivative: weights, changes of scores and values, each off by what it is.

    Twice the first order covers the higher ones.
    """
    relative, apart = scale_of_products(score, pairs, v, added, x, y)
    slope, roundings = slopes_of(score, x, y)
    size = float(np.abs(v).max())
    d = x.shape[1]
    change = 2.0 * d * slope * max(float(np.abs(part).max()) for part in direction[:2])
    change += float(np.abs(direction.log_weights).max())
    whole = float(np.abs(direction.values).max()) + change * 2.0 * size
    return 2.0 * ((relative + gamma(len(y) + 2 * d + roundings + 20)) * 2.0 * whole + change * apart)


def backward_errors(score, x, y, v, added, pairs, cotangent):
    """Bound the errors of the four gradients, likewise."""
    relative, apart = scale_of_products(score, pairs, v, added, x, y)
    slope, roundings = slopes_of(score, x, y)
    m = len(x)
    n = len(y)
    d_v = v.shape[1]
    large = float(np.abs(cotangent).max())
    gain = d_v * large * 2.0 * float(np.abs(v).max())
    off = 2.0 * ((relative + gamma(m + n + d_v + roundings + 20)) * 2.0 * gain + d_v * large * apart)
    return off * slope, m * off * slope, 2.0 * m * (relative + gamma(m + 4)) * large, m * off


@pytest.mark.parametrize("kernels", KERNELS, ids=["compiled", "reference"])
@pytest.mark.parametrize("form", FORMS)
def test_forward_against_balls(form, kernels):
    for case, (m, n, d, d_v) in enumerate([(2, 1, 1, 1), (4, 9, 2, 3), (2, 30, 9, 2)]):
        score, x, y, v, added, visible, pairs, rng = problem(form, case, m, n, d, d_v)
        for only in (*range(4), None):  # along each argument alone, and along all
            direction = direction_of(pairs, v, rng)
            if only is not None:
                direction = Direction(*(part if k == only else 0.0 * part for k, part in enumerate(direction)))
            output, derivative = kernels.jvp(pairs, v, added, visible, direction)
            true = true_derivative(score, x, y, v, added, visible, direction)
            bound = forward_error(score, x, y, v, added, pairs, direction)
            assert exact.apart(derivative, true) <= bound
            assert bound <= 1e-6  # it says something
            attended = kernels.attention(pairs, v, added, visible)[0]
            assert np.abs(output - attended).max() <= 2.0 * output_error(score, x, y, v, added)


@pytest.mark.parametrize("form", FORMS)
def test_backward_is_the_transpose_of_forward(form):
    """Along each of the unit vectors the gradient is the cotangent times the derivative in balls."""
    score, x, y, v, added, visible, pairs, rng = problem(form, 7, m=3, n=4, d=2, d_v=2)
    cotangent = rng.normal(size=(3, 2))
    zero = [np.zeros(a.shape) for a in (x, y, v, added)]
    for kernels in KERNELS:
        gradients = kernels.vjp(pairs, v, added, visible, cotangent)
        errors = backward_errors(score, x, y, v, added, pairs, cotangent)
        for k, (gradient, error) in enumerate(zip(gradients, errors, strict=True)):
            assert gradient.shape == zero[k].shape
            assert error <= 1e-8
            for at in np.ndindex(gradient.shape):
                unit = [part.copy() for part in zero]
                unit[k][at] = 1.0
                derivative = true_derivative(score, x, y, v, added, visible, Direction(*unit))
                true = np.array([(derivative * exact.balls(cotangent)).sum()], dtype=object)
                assert exact.apart(gradient[at][np.newaxis], true) <= error, NAMES[k]


@pytest.mark.parametrize("form", FORMS)
def test_both_backends_and_the_adjoint_identity(form):
    for case, (m, n, d, d_v) in enumerate([(1, 1, 1, 1), (30, 700, 3, 2), (70, 40, 9, 9), (9, 400, 9, 2)]):
        score, x, y, v, added, visible, pairs, rng = problem(form, 20 + case, max(m, 2), n, d, d_v)
        direction = direction_of(pairs, v, rng)
        cotangent = rng.normal(size=(max(m, 2), d_v))
        fast, slow = (kernels.jvp(pairs, v, added, visible, direction)[1] for kernels in KERNELS)
        forward = forward_error(score, x, y, v, added, pairs, direction)
        assert np.abs(fast - slow).max() <= 2.0 * forward
        ours, theirs = (kernels.vjp(pairs, v, added, visible, cotangent) for kernels in KERNELS)
        backward = backward_errors(score, x, y, v, added, pairs, cotangent)
        for left, right, error in zip(ours, theirs, backward, strict=True):
            assert np.abs(left - right).max() <= 2.0 * error
        left = float((cotangent * fast).sum())
        right = sum(float((gradient * part).sum()) for gradient, part in zip(ours, direction, strict=True))
        error = forward * float(np.abs(cotangent).sum())
        error += sum(e * float(np.abs(part).sum()) for e, part in zip(backward, direction, strict=True))
        sums = gamma(cotangent.size + sum(part.size for part in direction) + 4)
        error += 2.0 * sums * sum(float(np.abs(g * p).sum()) for g, p in zip(ours, direction, strict=True))
        assert abs(left - right) <= error


@pytest.mark.parametrize("form", ["dot", "distance", "torus"])
def test_wide_products_over_many_tiles_and_strips(form, monkeypatch):
    """A row's largest score rises from tile to tile, and what was gathered with it."""
    monkeypatch.setattr(strips, "LENGTH", 16)
    score, x, y, v, added, visible, pairs, rng = problem(form, 80, m=2 * strips.HIGH - 5, n=41, d=7, d_v=8)
    direction, cotangent = direction_of(pairs, v, rng), rng.normal(size=(len(x), 8))
    forward = forward_error(score, x, y, v, added, pairs, direction)
    fast, slow = (kernels.jvp(pairs, v, added, visible, direction)[1] for kernels in KERNELS)
    assert np.abs(fast - slow).max() <= 2.0 * forward
    backward = backward_errors(score, x, y, v, added, pairs, cotangent)
    ours, theirs = (kernels.vjp(pairs, v, added, visible, cotangent) for kernels in KERNELS)
    for left, right, error in zip(ours, theirs, backward, strict=True):
        assert np.abs(left - right).max() <= 2.0 * error
    assert max(forward, *backward) <= 1e-5  # they say something


@pytest.mark.parametrize("form", FORMS)
def test_a_hidden_key_has_no_gradient(form):
    _, _, _, v, added, _, pairs, rng = problem(form, 40)
    visible = np.array([1, 3, 3, 2])
    cotangent = rng.normal(size=(4, 3))
    for kernels in KERNELS:
        _, keys, values, logs = kernels.vjp(pairs, v, added, visible, cotangent)
        for gradient in (keys, values, logs):
            assert not gradient[3:].any()
            assert gradient[:2].any()
        assert hidden(4, 9, visible)[:, 3:].all()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("alone", [True, False])
def test_a_lone_key_has_exactly_no_slope(form, kernels, alone):
    """Whatever its score, its weight is one; a causal mask leaves the first query such a key among others."""
    _, x, _, v, added, visible, pairs, rng = problem(form, 7, n=1 if alone else 9)
    visible = np.ones(len(x), np.int64) if alone else np.where(np.arange(len(x)) < 2, 1, visible)
    cotangent = rng.normal(size=(len(x), v.shape[1]))
    found = kernels.vjp(pairs, v, added, visible, cotangent)
    assert (found[0][visible == 1] == 0.0).all()
    if alone:
        assert (found[1] == 0.0).all()
        assert (found[3] == 0.0).all()
        assert np.abs(found[2][0] - cotangent.sum(axis=0)).max() <= gamma(8) * np.abs(cotangent).sum()


def test_a_shift_of_all_log_weights_changes_nothing():
    score, x, y, v, added, visible, pairs, _ = problem("distance", 50)
    along = Direction(np.zeros(x.shape), np.zeros(y.shape), np.zeros(v.shape), np.ones(9))
    _, derivative = engine.jvp(pairs, v, along, log_weights=added, visible=visible)
    assert np.abs(derivative).max() <= forward_error(score, x, y, v, added, pairs, along)


def test_far_from_the_origin_nothing_cancels():
    """With values 1e8 + v the derivative by a score is the covariance with v, to the digits that v has."""
    rng = stream("tests.jacobian.far", 0)
    x, y = rng.normal(size=(3, 2)), rng.normal(size=(20, 2))
    v = rng.integers(-100, 101, size=(20, 1)) / 64.0
    pairs = DotProduct(scale=1.0).pairs(x, y)
    direction = Direction(rng.normal(size=(3, 2)), np.zeros((20, 2)), np.zeros((20, 1)), np.zeros(20))
    near, far = (engine.jvp(pairs, v + centre, direction)[1] for centre in (0.0, 1e8))
    size = 20.0 * float(np.abs(direction.queries).max())
    assert np.abs(near - far).max() <= size * 64 * 2.0**-53 * 1e8


def test_slopes_where_a_hyperbolic_cosine_overflows():
    pairs = Pairs(Form.ADDITIVE, np.array([[800.0], [0.0]]), np.array([[0.0], [-1.0]]), np.ones(1))
    for backend in KERNELS:
        with np.errstate(over="ignore"):
            gradients = backend.vjp(pairs, np.array([[0.0], [1.0]]), np.zeros(2), np.array([2, 2]), np.ones((2, 1)))
        assert gradients[0][0, 0] == 0.0
        assert gradients[0][1, 0] != 0.0
    with np.errstate(over="ignore"):
        assert jacobian._slope(2, 800.0, 0.0, 1.0) == (0.0, 0.0)


def test_what_does_not_fit_is_refused_by_name():
    x, y, v = np.zeros((2, 3)), np.zeros((4, 3)), np.zeros((4, 1))
    pairs = DotProduct(scale=1.0).pairs(x, y)
    good = (x, y, v, np.zeros(4))
    for k, name in enumerate(NAMES):
        bad = [part if k != j else np.zeros((1, *part.shape)) for j, part in enumerate(good)]
        with pytest.raises(
            ValueError,
            match=rf"^direction\.{name}: expected an array of float64 of shape \(.*\), got float64 of shape \(1, .*\)$",
        ):
            engine.jvp(pairs, v, Direction(*bad))
    with pytest.raises(
        ValueError, match=r"^cotangent: expected an array of float64 of shape \(2, 1\), got float64 of shape \(2,\)$"
    ):
        engine.vjp(pairs, v, np.zeros(2))
    given = Pairs(Form.GIVEN, x, y, np.empty(0), lambda a, b: a @ b.T)
    for call in (lambda: engine.jvp(given, v, Direction(*good)), lambda: engine.vjp(given, v, np.zeros((2, 1)))):
        with pytest.raises(ValueError, match=r"^score: expected one with a known derivative, got a function$"):
            call()
    huge = Direction(*good[:3], np.array([1e308, 0.0, 0.0, 0.0]))
    with pytest.raises(ValueError, match=r"^direction: expected sizes that float64 can hold"):
        engine.jvp(pairs, np.array([[1e200], [-1e200], [0.0], [0.0]]), huge)


@pytest.mark.parametrize("d", [2, 9])
@pytest.mark.parametrize("form", ["dot", "distance", "torus"])
def test_no_number_depends_on_the_threads(form, d, monkeypatch):
    """Sums over queries are cut at fixed rows, whoever takes them."""
    _, _, _, v, added, visible, pairs, rng = problem(form, 60, m=700, n=400, d=d, d_v=d)
    direction, cotangent = direction_of(pairs, v, rng), rng.normal(size=(700, d))
    found = []
    for number in ("1", "3"):
        monkeypatch.setenv("THEORY_THREADS", number)
        forward = compiled.jvp(pairs, v, added, visible, direction)
        found.append((*forward, *compiled.vjp(pairs, v, added, visible, cotangent)))
    for left, right in zip(*found, strict=True):
        assert left.tobytes() == right.tobytes()


@pytest.mark.parametrize("d", [1, 9])
@pytest.mark.parametrize("form", [Form.DOT, Form.DISTANCE])
def test_a_row_that_one_key_dominates_keeps_the_digits_of_the_others(form, d):
    """Two keys, the second e^-gap of the first: the derivative is their distance times that, to 12 digits.

    For values 0 and 1 it is ``p (1 - p) (s_1 - s_0)'`` with ``p = 1 / (1 + e^gap)``; here the scores move by 0 and 1.
    """
    for gap in (1.0, 40.0, 300.0, 600.0):
        x, y = np.zeros((1, d)), np.zeros((2, d))
        pairs = Pairs(form, x, y, np.ones(1))
        added = np.array([0.0, -gap])
        direction = Direction(np.zeros((1, d)), np.zeros((2, d)), np.zeros((2, 1)), np.array([0.0, 1.0]))
        found = compiled.jvp(pairs, np.array([[0.0], [1.0]]), added, np.array([2]), direction)[1].item()
        p = 1.0 / (1.0 + math.exp(gap))
        assert abs(found - p * (1.0 - p)) <= 1e-12 * p


@pytest.mark.parametrize("d", [1, 9])
def test_steep_scores_far_apart_leave_one_key(d):
    """Scores of a million: the weights are a choice, outputs and their derivatives are those of the chosen key."""
    rng = stream("tests.jacobian.steep", d)
    x, y = (np.rint(1e3 * rng.normal(size=(k, d))) for k in (5, 30))
    v = rng.normal(size=(30, 2))
    for score in (DotProduct(scale=1.0), SquaredDistance(1.0)):
        pairs = score.pairs(x, y)
        scores = reference.scores(pairs)
        ranked = np.sort(scores, axis=1)
        clear = ranked[:, -1] - ranked[:, -2] > 60.0
        assert clear.any()
        best = scores.argmax(axis=1)
        direction = direction_of(pairs, v, rng)
        output, derivative = compiled.jvp(pairs, v, np.zeros(30), np.full(5, 30), direction)
        assert np.array_equal(output[clear], v[best[clear]])
        assert np.abs(derivative[clear] - direction.values[best[clear]]).max() <= 1e-8
        cotangent = rng.normal(size=(5, 2)) * clear[:, np.newaxis]
        of_queries, of_keys, of_values, _ = compiled.vjp(pairs, v, np.zeros(30), np.full(5, 30), cotangent)
        wanted = np.zeros((30, 2))
        np.add.at(wanted, best, cotangent)
        assert np.abs(of_values - wanted).max() <= 1e-14
        assert max(np.abs(of_queries).max(), np.abs(of_keys).max()) <= 1e-8


@pytest.mark.parametrize("d", [2, 9])
def test_far_hidden_keys_take_no_digits(d):
    """A key far away that no query sees is no place to take distances from."""
    score, x, y, v, added, _, pairs, rng = problem("distance", 70, d=d)
    visible = np.array([8, 3, 8, 1])
    direction, cotangent = direction_of(pairs, v, rng), rng.normal(size=(4, 3))
    spoilt = y.copy()
    spoilt[8] = 1e150
    for points in (y, spoilt):
        there = score.pairs(x, points)
        derivative = compiled.jvp(there, v, added, visible, direction)[1]
        gradients = compiled.vjp(there, v, added, visible, cotangent)
        assert np.abs(derivative - compiled.jvp(pairs, v, added, visible, direction)[1]).max() <= 1e-12
        for left, right in zip(gradients, compiled.vjp(pairs, v, added, visible, cotangent), strict=True):
            assert np.abs(left - right).max() <= 1e-12


@pytest.mark.parametrize("d", [1, 9])
def test_sums_that_overflow_are_taken_pair_by_pair(d):
    """Values of 1e308 have an average, though their sum has none."""
    x, y = np.zeros((1, d)), np.zeros((4, d))
    v = np.full((4, 1), 1e308)
    v[3] = 0.5e308
    pairs = Pairs(Form.DOT, x, y, np.ones(1))
    zero = Direction(x, y, np.zeros((4, 1)), np.array([0.0, 0.0, 0.0, 1.0]))
    with np.errstate(over="ignore", invalid="ignore"):
        output, derivative = compiled.jvp(pairs, v, np.zeros(4), np.array([4]), zero)
        gradients = compiled.vjp(pairs, v, np.zeros(4), np.array([4]), np.ones((1, 1)))
    assert abs(output.item() / 0.875e308 - 1.0) <= 1e-14
    assert abs(derivative.item() / (-0.375e308 / 4.0) - 1.0) <= 1e-14
    assert abs(gradients[3][3] / (-0.375e308 / 4.0) - 1.0) <= 1e-14
    assert not gradients[0].any()
