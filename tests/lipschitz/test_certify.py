"""Certified constants against formulas written out, dense derivatives by mpmath, and what a search finds."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from theory.attention import Measure, MultiHead
from theory.evidence.interval import Kind
from theory.lipschitz import multihead_jacobian
from theory.lipschitz.certificate import (
    METRICS,
    as_attention_weights,
    biased,
    certify,
    distant,
    enclose_stretch,
    product_norm,
)
from theory.lipschitz.constants import (
    atoms_constant,
    column_constant,
    distance_constant,
    frobenius_constants,
    max_norm_constant,
    refined_w2_constant,
    sharp_w1_constant,
)


def weights(seed=0, d=4, heads=2, out=4, size=0.5):
    rng = np.random.default_rng(seed)
    parts = {name: size * rng.normal(size=(4, d)) for name in ("w_query", "w_key", "w_value")}
    return {**parts, "w_out": size * rng.normal(size=(out, 4)), "heads": heads}


def norm(matrix):
    return float(np.linalg.norm(matrix, 2))


def parts(w, radius):
    """Return the norms by heads: alpha, value matrix with its part of the output, value matrix alone."""
    h = w["heads"]
    root = math.sqrt(4 // h)
    pairs = zip(np.split(w["w_query"], h), np.split(w["w_key"], h), strict=True)
    alphas = [norm(q.T @ k / root) * radius**2 for q, k in pairs]
    values, outs = np.split(w["w_value"], h), np.split(w["w_out"], h, axis=1)
    return alphas, [norm(o @ v) for o, v in zip(outs, values, strict=True)], [norm(v) for v in values]


def halves(w):
    """Return the matrices of queries and keys of two heads."""
    return zip(np.split(w["w_query"], 2), np.split(w["w_key"], 2), strict=True)


def detour(form):
    """Return the largest of x'B(y - x) over the unit ball, by ascents from many starts."""
    x = np.random.default_rng(0).normal(size=(200, len(form)))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    for _ in range(3000):
        sides = x @ form
        x = x + (sides / np.linalg.norm(sides, axis=1, keepdims=True) @ form.T - x @ (form + form.T)) / (4 * norm(form))
        x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1.0)
    return float((np.linalg.norm(x @ form, axis=1) - ((x @ form) * x).sum(axis=1)).max())


def test_constants_of_two_heads():
    w = weights()
    radius = 1.3
    alphas, joint, alone = parts(w, radius)
    found = certify(**w, radius=radius, search=False)
    np.testing.assert_allclose(found.alphas, alphas, rtol=1e-11, atol=0.0)

    def together(kappa):
        own = [v * a for v, a in zip(alone, alphas, strict=True)]
        measure = [v * kappa(a) for v, a in zip(alone, alphas, strict=True)]
        return norm(w["w_out"]) * (math.hypot(*own) + math.hypot(*measure))

    turns = [detour(q.T @ k / math.sqrt(2)) * radius**2 for q, k in halves(w)]
    each = zip(joint, alphas, turns, strict=True)
    summed = sum(v * min(math.exp(2 * a) * (1 + 2 * a), math.exp(e) * (1 + 2 * a) + a) for v, a, e in each)
    first = min(summed, together(lambda a: math.exp(2 * a) * (1 + 2 * a)))
    last = min(sum(v * (1 + 2 * a) for v, a in zip(joint, alphas, strict=True)), together(lambda a: 1 + a))
    for metric, constant in (("W1", first), ("mean", first), ("Winf", last), ("max", last)):
        got = found.row(metric).constant
        assert constant * (1 - 1e-12) <= got <= constant * (1 + 1e-8)
    each = zip(joint, alphas, turns, strict=True)
    second = min(
        sum(v * min(refined_w2_constant(a), math.exp(e / 2) * math.hypot(1, a) + a) for v, a, e in each),
        together(lambda a: math.exp(a) * (1 + a)),
    )
    assert second * (1 - 1e-12) <= found.row("W2").constant <= second * (1 + 1e-8)
    plus = certify(**w, radius=radius, search=False, residual=True)
    for metric in METRICS:
        assert plus.row(metric).constant == math.nextafter(1.0 + found.row(metric).constant, math.inf)


def test_heads_together_have_the_smaller_constant():
    """Equal heads beside each other answer by the root of their number, and are stretched nearly as much in W2."""
    layer = certify(np.full((4, 1), 3.0), -np.ones((4, 1)), np.ones((4, 1)), 1.0, heads=4)
    second = 2 * (3.0 + 4.0 * math.exp(3.0))
    for metric, constant in (("W1", 2 * (3.0 + 7.0 * math.exp(6.0))), ("W2", second)):
        row = layer.row(metric)
        assert constant <= row.constant <= constant * (1 + 1e-10)
        assert row.claim == "depth.heads"
        assert row.lower > 0.5 * constant


def test_a_constant_below_its_own_lower_bound_cannot_be_made():
    row = certify([[1.0]], [[-1.0]], [[1.0]], 1.0).row("W1")
    assert replace(row, constant=row.lower).constant == row.lower
    with pytest.raises(ArithmeticError, match=r"W1: the constant 14\.0 is below"):
        replace(row, constant=14.0)


SHORT = 1.0 - 240 * 2.0**-53


@pytest.mark.parametrize("residual", [False, True])
def test_norms_that_a_library_finds_short_are_covered(residual, monkeypatch):
    """Norms that are 60 roundings short, of 64 that are charged, still give constants above those of the true ones."""
    true = np.linalg.norm
    a = 9.0
    monkeypatch.setattr(np.linalg, "norm", lambda *args, **more: true(*args, **more) * (1.0 - 60 * 2.0**-53))
    found = certify([[a]], [[-1.0]], [[1.0]], 1.0, search=False, residual=residual)
    assert found.alphas[0] >= a
    assert found.row("W1").constant >= residual + sharp_w1_constant(a)
    heads = certify(np.full((4, 1), a), -np.ones((4, 1)), np.ones((4, 1)), 1.0, heads=4, search=False)
    assert heads.row("W2").claim == "depth.heads"
    assert heads.row("W2").constant >= 2.0 * (a + (1.0 + a) * math.exp(a)) * (1.0 + 1e-15)


def block(beta, i):
    """The most that one key moves an output, by its weight among i tokens."""
    most = 1.0 / (1.0 + (i - 1) * math.exp(-2.0 * beta))
    weight = min(most, (1.0 + 2.0 * beta) / (4.0 * beta))
    return weight * (1.0 + 2.0 * beta * (1.0 - weight))


def nearby(spread, p):
    """The constant of distance attention in W_p on a ball, without its form."""
    root = 2.0 * math.sqrt(spread)
    far = root / (1.0 + math.sqrt(1.0 + 2.0 * root * root))  # solves root = 2 t (1 + root t)
    far = max(far, root / 4.0)
    column = math.exp(spread / 2.0 - far * far) * (1.0 + root * far)
    return (1.0 + 4.0 * spread / math.sqrt(27.0)) ** (1.0 - 1.0 / p) * column ** (1.0 / p) + spread / 2.0


@pytest.mark.parametrize("alpha", [1e-3, 0.7, 30.0])
def test_an_inexact_library_is_covered(alpha, monkeypatch):
    """Functions that are 240 roundings short still bound what they should be: 256 are charged."""
    n = 7
    dot = certify([[1.0]], [[-alpha]], [[1.0]], 1.0, search=False)
    a = dot.alphas[0]
    slope = product_norm(np.array([[math.sqrt(alpha)]]), np.array([[math.sqrt(alpha)]])).hi
    first, largest = slope * nearby(4 * slope, 1.0), slope * (1 + 5 * slope)
    plain = {"W1": sharp_w1_constant(a), "W2": refined_w2_constant(a), "max": max_norm_constant(a)}
    rows, column, under = (
        max_norm_constant(a),
        a + n * block(a, n),
        max(1.0, a) + sum(block(a, i) for i in range(2, n + 1)),
    )
    counted = {
        "frobenius": min(refined_w2_constant(a), frobenius_constants(a, n).least, math.sqrt(rows * column)),
        "mean": min(sharp_w1_constant(a), column),
    }
    masked = {"mean": under, "frobenius": min(math.sqrt(n) * rows, math.sqrt(rows * under))}
    anywhere = {
        "max": min(largest, slope * distance_constant(n)), "mean": min(first, slope * column_constant(n), n * largest),
        "W1": first, "W2": slope * nearby(4 * slope, 2.0),
    }  # fmt: skip
    for room, names in (
        (biased, ("sharp_w1_constant", "refined_w2_constant", "max_norm_constant", "columns", "masked")),
        (distant, ("largest", "power", "distance_constant", "column_constant")),
    ):
        for name in names:
            true = getattr(room, name)
            monkeypatch.setattr(room, name, lambda *args, true=true, **more: true(*args, **more) * SHORT)
    for exact, options in (
        (plain, {}), (counted, {"n": n}), (masked, {"n": n, "causal": True}), (anywhere, {"n": n, "score": "distance"}),
    ):  # fmt: skip
        query, key = ([[math.sqrt(alpha)]],) * 2 if "score" in options else ([[1.0]], [[-alpha]])
        found = certify(query, key, [[1.0]], 1.0, search=False, **options)
        for metric, constant in exact.items():
            assert constant <= found.row(metric).constant <= constant * (1 + 1e-12)


@pytest.mark.parametrize("options", [{"n": 2}, {"n": 3}, {"n": 5}, {"n": 9}, {"n": 2, "causal": True},
                                     {"n": 3, "causal": True}, {"n": 9, "causal": True}])  # fmt: skip
def test_what_is_found_has_no_more_tokens_than_the_layer(options):
    found = certify(**weights(heads=1), radius=1.0, **options)
    for metric in ("mean", "max", "frobenius"):
        cloud = found.row(metric).found
        assert cloud.points.shape[0] <= options["n"]
        assert cloud.masses.size == 1 or cloud.masses.sum() <= options["n"]
        assert (cloud.masses % 1.0 == 0.0).all()


def test_outputs_that_coincide_are_seen_among_others():
    """Two of three tokens at one place have one output; a displacement that parts them is no distance of measures."""
    layer = as_attention_weights(
        np.eye(1), np.eye(1), np.eye(1), None, heads=1, causal=False, residual=False, score="dot"
    )
    step = np.array([[1.0], [-1.0], [0.0]])
    for points, apart in (([[0.5], [0.5], [-1.0]], False), ([[0.5], [0.25], [-1.0]], True), ([[0.5]] * 3, False)):
        assert enclose_stretch(layer, np.array(points), step, np.ones(3), 1)[1] is apart


@pytest.mark.parametrize("score", ["dot", "distance"])
@pytest.mark.parametrize("causal", [False, True])
def test_a_few_tokens_move_on_average_by_what_they_move_at_most(score, causal):
    """A mean is at most as much as the largest times the number, and a root of squares as its root."""
    query = [[-20.0]] if score == "distance" else [[20.0]]
    found = certify(query, [[-20.0]], [[1.0]], 1.0, n=2, search=False, score=score, causal=causal)
    largest = found.row("max").constant
    assert found.row("mean").constant <= 2.0 * largest * (1 + 1e-15)
    assert found.row("frobenius").constant <= math.sqrt(2.0) * largest * (1 + 1e-15)


def test_under_a_mask_the_root_of_the_number_is_needed():
    """A first token that all others attend to moves fifty outputs by more than the largest displacement allows one."""
    line = {"w_query": [[3.0]], "w_key": [[-1.0]], "w_value": [[1.0]], "radius": 1.0, "n": 50, "causal": True}
    points = np.ones((50, 1))
    tangent = np.zeros((50, 1))
    points[0], tangent[0] = -1.0, 1.0
    layer = as_attention_weights(
        line["w_query"], line["w_key"], line["w_value"], None, heads=1, causal=True, residual=False, score="dot"
    )
    reached = enclose_stretch(layer, points, tangent, np.ones(50), 2)[0]
    found = certify(**line, search=False)
    assert found.row("max").constant < reached.lo < reached.hi < found.row("frobenius").constant


def test_one_head_and_labels():
    w = weights(heads=1)
    rows = certify(**w, radius=1.0, n=3, search=False).rows
    assert [row.metric for row in rows] == list(METRICS)
    assert [row.label for row in rows][:5] == ["MA.L6", "MA.L8", "MA.L7", "MA.M2", "MA.L7"]
    assert all(row.lower is None and row.hypotheses for row in rows)


def test_causal_mask():
    w = weights(heads=1)
    n = 5
    (alpha,), (value,), _ = parts(w, 1.0)
    found = certify(**w, radius=1.0, n=n, causal=True, search=False)
    mean = value * (max(1, alpha) + sum(block(alpha, i) for i in range(2, n + 1)))
    largest = value * (1 + 2 * alpha)
    squares = min(math.sqrt(n) * largest, math.sqrt(largest * mean))
    for metric, constant in (("mean", mean), ("max", largest), ("frobenius", squares)):
        assert constant <= found.row(metric).constant <= constant * (1 + 1e-10)
    for metric in ("W1", "W2", "Winf"):
        row = found.row(metric)
        assert (row.constant, row.claim, row.label) == (None, "", "")
    without = certify(**w, radius=1.0, causal=True, search=False)
    assert [row.metric for row in without.rows if row.constant is not None] == ["max"]


def test_distance_attention():
    w = {**weights(heads=1, size=0.3), "score": "distance"}
    w["w_key"] = w["w_query"]
    slope = norm(w["w_query"].T @ w["w_query"]) / 2
    value = norm(w["w_out"] @ w["w_value"])
    n = 7
    radius = 0.8
    found = certify(**w, radius=radius, n=n, search=False)
    spread = slope * (2 * radius) ** 2
    first, second = (value * slope * nearby(spread, p) for p in (1.0, 2.0))
    ball = value * slope * (1 + 1.25 * spread)
    c = float(mpmath.lambertw((n - 1) / mpmath.e).real)
    anywhere = value * slope * (1 + 4 * c)
    for metric, constant in (("W1", first), ("W2", second), ("Winf", ball), ("max", min(ball, anywhere))):
        assert constant <= found.row(metric).constant <= constant * (1 + 1e-10)
    large = certify(**w, radius=1e3, n=n, search=False)
    both = value * slope * atoms_constant(n, 2.0)
    for row, constant in (
        (large.row("frobenius"), both), (large.row("mean"), value * slope * column_constant(n)),
        (certify(**w, radius=radius, n=n, causal=True, search=False).row("frobenius"), min(both, math.sqrt(n) * ball)),
    ):  # fmt: skip
        assert constant <= row.constant <= constant * (1 + 1e-10)
    assert anywhere <= large.row("max").constant <= anywhere * (1 + 1e-10)
    assert large.row("W1").constant == math.inf
    alone = certify(**w, radius=radius, causal=True, search=False).row("max").constant
    assert ball <= alone <= ball * (1 + 1e-10)


@pytest.mark.parametrize("options", [{}, {"n": 5}, {"n": 4, "causal": True}, {"residual": True}, {"n": 1}])
@pytest.mark.parametrize("seed", [1, 2])
def test_constants_dominate_what_is_found(seed, options):
    w = weights(seed, heads=seed)
    found = certify(**w, radius=1.1, rng=np.random.default_rng(seed), **options)
    for row in found.rows:
        if row.constant is not None and row.found is not None:
            assert 0.0 < row.lower <= row.constant
            assert row.found.bound.kind is Kind.CERTIFIED
            assert (np.linalg.norm(row.found.points, axis=1) <= 1.1).all()


def test_distance_attention_dominates_what_is_found():
    w = {**weights(3), "score": "distance"}
    w["w_key"] = w["w_query"]
    for causal in (False, True):
        for row in certify(**w, radius=0.5, n=4, causal=causal).rows:
            assert row.constant is None or row.lower <= row.constant


def test_worst_line_is_found():
    row = certify([[1.0]], [[-1.0]], [[1.0]], 1.0).row("W1")
    assert 0.999 * math.exp(2) * 3 < row.lower <= row.constant < math.exp(2) * 3 * (1 + 1e-10)


def test_large_scores_are_bounded_on_both_sides():
    found = certify(**weights(heads=1), radius=60.0, n=10)
    assert found.row("W1").constant == math.inf
    assert found.row("W1").lower > 1e6
    assert found.row("max").lower <= found.row("max").constant < math.inf


def test_zero_weights():
    zero = np.zeros((2, 2))
    for row in certify(zero, zero, zero, 1.0, n=3).rows:
        assert row.lower == 0.0
        assert row.constant < 1e-300
    assert certify(zero, zero, np.eye(2), 1.0).row("W1").constant == pytest.approx(1.0, rel=1e-11, abs=0.0)


def test_the_stretch_is_that_of_the_dense_jacobian():
    w = weights(5)
    rng = np.random.default_rng(0)
    x = 0.4 * rng.normal(size=(3, 4))
    h = rng.normal(size=(3, 4))
    masses = np.array([1.0, 2.0, 5.0])
    for causal in (False, True):
        layer = as_attention_weights(**w, causal=causal, residual=True, score="dot")
        heads = MultiHead.from_matrices(*(w[k] for k in ("w_query", "w_key", "w_value", "w_out")), heads=2)
        blocks = multihead_jacobian(Measure.normalised(x, masses), heads, causal=causal)
        moved = h + np.einsum("ijab,jb->ia", blocks, h)
        for p in (1, 2):
            size = [(masses @ np.linalg.norm(v, axis=1) ** p) ** (1 / p) for v in (moved, h)]
            assert enclose_stretch(layer, x, h, masses, p)[0].mid == pytest.approx(
                size[0] / size[1], rel=1e-12, abs=0.0
            )
        largest = np.linalg.norm(moved, axis=1).max() / np.linalg.norm(h, axis=1).max()
        assert enclose_stretch(layer, x, h, masses, math.inf)[0].mid == pytest.approx(largest, rel=1e-12, abs=0.0)


def test_the_stretch_of_distance_attention_against_quotients():
    w = weights(6)
    w["w_key"] = w["w_query"]
    layer = as_attention_weights(**w, causal=False, residual=False, score="distance")
    rng = np.random.default_rng(0)
    x = 0.5 * rng.normal(size=(3, 4))
    h = rng.normal(size=(3, 4))

    def output(t):
        total = mpmath.zeros(3, 4)
        y = mpmath.matrix(x.tolist()) + t * mpmath.matrix(h.tolist())
        halves = (np.split(w["w_query"], 2), np.split(w["w_value"], 2), np.split(w["w_out"], 2, axis=1))
        for q, v, o in zip(*halves, strict=True):
            first, second, third = (mpmath.matrix(m.tolist()) for m in (q, v, o))
            z = y * first.T
            for i in range(3):
                laws = [mpmath.exp(-(mpmath.norm(z[i, :] - z[j, :]) ** 2) / mpmath.sqrt(2)) for j in range(3)]
                mean = sum((laws[j] * y[j, :] for j in range(3)), mpmath.zeros(1, 4)) / sum(laws)
                total[i, :] += mean * first.T * first / mpmath.sqrt(2) * second.T * third.T
        return total

    with mpmath.workdps(60):
        step = mpmath.mpf(10) ** -20
        moved = (output(step) - output(-step)) / (2 * step)
        exact = float(mpmath.norm(moved, 2) / mpmath.norm(mpmath.matrix(h.tolist()), 2))
    assert enclose_stretch(layer, x, h, np.ones(3), 2)[0].mid == pytest.approx(exact, rel=1e-12, abs=0.0)


def test_product_norms_hold_their_rounding():
    with mpmath.workdps(40):
        for size in (1, 3, 8):
            a, b = np.random.default_rng(size).normal(size=(2, size, size))
            exact = mpmath.svd_r(mpmath.matrix(a.tolist()) * mpmath.matrix(b.tolist()), compute_uv=False)[0]
            found = product_norm(a, b)
            assert found.lo <= exact <= found.hi
            assert found.width < 1e-11 * found.hi


@pytest.mark.parametrize("shapes", [((1, 5000), (5000, 1)), ((3, 40), (40, 7)), ((2, 2),)])
def test_product_norms_are_as_wide_as_the_lemma(shapes):
    factors = [np.random.default_rng(3).normal(size=shape) for shape in shapes]
    size = math.prod(math.sqrt(sum(Fraction(v) ** 2 for v in f.ravel().tolist())) for f in factors)
    summed = shapes[0][1] if len(shapes) == 2 else 0
    found = product_norm(*factors)
    assert found.width / 2 >= 2.0**-53 * (64 * max(shapes[0][0], shapes[-1][1]) + summed) * size * (1 - 1e-12)


def test_a_product_that_loses_its_small_terms():
    """What is below half a unit of a partial sum vanishes in it: thousands of roundings are lost in one direction."""
    n = 2**18
    column = np.full((n, 1), 2.0**-27)
    column[0] = 1.0
    assert 1 + Fraction(n - 1, 2**54) in product_norm(column.T, column)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"w_key": np.ones((3, 4))}, ValueError, "w_key: expected shape"),
        ({"w_value": np.ones((4, 3))}, ValueError, "w_value: expected shape"),
        ({"w_out": np.ones((4, 3))}, ValueError, "w_out: expected shape"),
        ({"w_query": np.full((4, 4), np.nan)}, ValueError, "w_query: expected finite"),
        ({"w_query": np.ones((4, 4), dtype=complex)}, TypeError, "w_query: expected real"),
        ({"heads": 3}, ValueError, "w_query: expected a multiple of 3 rows"),
        ({"heads": 0}, ValueError, "heads: expected"),
        ({"radius": 0.0}, ValueError, "radius: expected"),
        ({"radius": math.inf}, ValueError, "radius: expected"),
        ({"n": 0}, ValueError, "n: expected"),
        ({"n": 2.0}, TypeError, "n: expected"),
        ({"score": "cosine"}, ValueError, "score: expected"),
        ({"score": "distance"}, ValueError, "w_key: expected the entries of w_query"),
        ({"w_out": np.ones((3, 4)), "residual": True}, ValueError, "residual: expected"),
        ({"rng": 3}, TypeError, "rng: expected"),
    ],
)
def test_bad_input(changes, error, words):
    with pytest.raises(error, match=words):
        certify(**{**weights(), "radius": 1.0, "search": False, **changes})


def test_a_row_that_is_not_there():
    with pytest.raises(ValueError, match="metric: expected"):
        certify(**weights(), radius=1.0, search=False).row("W3")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([[1e-170]], [[-1e-170]], [[1.0]], 1e170), "w_query: expected sizes of zero or from 1e-70 to 1e"),
        (([[1.0]], [[1.0]], [[1e-200]], 1.0), "w_value: expected sizes of zero or from"),
        (([[1.0]], [[1e-80]], [[1.0]], 1.0), "w_key: expected sizes of zero or from"),
        (([[1.0]], [[1.0]], [[1.0]], 1e200), "radius: expected sizes of zero or from"),
    ],
)
def test_sizes_whose_products_leave_float64_are_refused(given, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        certify(*given)


def test_an_output_matrix_out_of_range_is_refused():
    with pytest.raises(ValueError, match=r"^w_out: expected sizes of zero or from"):
        certify([[1.0]], [[1.0]], [[1.0]], 1.0, w_out=[[1e80]])


def test_more_tokens_than_a_sum_goes_through_are_refused():
    with pytest.raises(ValueError, match=r"^n: expected at most 10000000 tokens, got"):
        certify([[1.0]], [[1.0]], [[1.0]], 1.0, n=10**400)


def test_stretches_and_norms_of_bad_matrices_are_refused():
    layer = as_attention_weights(
        np.eye(2), np.eye(2), np.eye(2), None, heads=1, causal=False, residual=False, score="dot"
    )
    x = np.eye(2)
    h = np.ones((2, 2))
    for given, words in (
        ((x, h, [1.0, np.nan], 2), "masses: expected finite numbers"),
        ((x, h, [1.0, -1.0], 2), "masses: expected non-negative masses"),
        ((x, h, [1.0, 1.0], 3), "p: expected 1, 2 or inf, got 3"),
        ((x, 0.0 * h, [1.0, 1.0], 2), "tangent: expected a displacement, got zero"),
        ((x[:, :1], h, [1.0, 1.0], 2), r"points: expected shape \(n, 2\)"),
    ):
        with pytest.raises(ValueError, match=words):
            enclose_stretch(layer, *given)
    for factors in ((np.full((2, 2), np.nan),), (np.full((2, 2), 1e200),), (np.eye(2), np.eye(3)), ()):
        with pytest.raises(ValueError, match="factors: expected"):
            product_norm(*factors)
