"""Certificates at given tokens: against Jacobians by floats, in closed form, and within their reach."""

from __future__ import annotations

import math

import numpy as np
import pytest

from theory.attention import Measure, MultiHead
from theory.evidence import Interval, Intervals, exact
from theory.lipschitz import local_norm, multihead_jacobian
from theory.lipschitz.certificate import as_attention_weights, certify, certify_at, enclose_stretch, local, many, reach
from theory.lipschitz.certificate.comparison import compare
from theory.lipschitz.certificate.local import PLACES
from theory.lipschitz.certificate.tangents import HeadState, head_states, laws_of, push_forward
from theory.lipschitz.certificate.turned import turns_at, turns_of
from theory.lipschitz.certificate.weights import SCORES

RNG = np.random.default_rng(3)
WEIGHTS = {name: 0.5 * RNG.normal(size=(4, 3)) for name in ("w_query", "w_key", "w_value")} | {
    "w_out": 0.5 * RNG.normal(size=(3, 4))
}
TOKENS = RNG.normal(size=(5, 3))
EXPONENTS = dict(zip(PLACES, (1, math.inf, 2), strict=True))


@pytest.mark.parametrize("causal", [False, True])
def test_norms_are_those_of_the_jacobian(causal):
    heads = MultiHead.from_matrices(*WEIGHTS.values(), heads=2)
    blocks = multihead_jacobian(Measure(TOKENS, np.full(5, 0.2)), heads, causal=causal)
    for added in (False, True):
        here = certify_at(TOKENS, **WEIGHTS, heads=2, causal=causal, residual=added)
        whole = blocks + added * np.eye(5)[:, :, np.newaxis, np.newaxis] * np.eye(3)
        for metric, p in EXPONENTS.items():
            truth = local_norm(whole, np.ones(5), p, error=1e-14)
            norm = here.row(metric).norm
            assert truth.lo <= norm.hi
            assert norm.lo <= truth.hi
            assert norm.lo >= truth.lo * (1.0 - 1e-6)
            assert norm.hi <= truth.hi * (1.0 + 1e-3)


@pytest.mark.parametrize("score", ["dot", "distance"])
def test_no_displacement_is_stretched_more(score):
    """A bias, a scale, one head of keys for two, and distances: drawn displacements stay below the upper end."""
    weights = {**WEIGHTS, "w_key": WEIGHTS["w_key"][:2], "w_value": WEIGHTS["w_value"][:2]}
    options = {"heads": 2, "scale": 0.75, "b_query": np.array([0.5, -1.0, 0.25, 2.0]), "score": score}
    if score == "distance":
        weights = {**WEIGHTS, "w_key": WEIGHTS["w_query"]}
        options["b_query"] = None
    for causal in (False, True):
        flags = {**options, "causal": causal}
        here = certify_at(TOKENS, **weights, **flags)
        layer = as_attention_weights(**weights, residual=False, **flags)
        for metric, p in EXPONENTS.items():
            row = here.row(metric)
            drawn = [enclose_stretch(layer, TOKENS, RNG.normal(size=TOKENS.shape), np.ones(5), p)[0] for _ in range(5)]
            assert max(bound.lo for bound in drawn) <= row.norm.hi
            assert row.norm.lo <= row.norm.hi <= row.bound <= 2.0 * row.norm.hi * (1 + 1e-9)
            assert row.bound >= 1.99 * row.norm.hi
        near = certify_at(TOKENS + here.row("max").reach * 0.5, **weights, **flags)
        assert near.row("max").norm.hi <= here.row("max").bound


@pytest.mark.parametrize("score", ["dot", "distance"])
@pytest.mark.parametrize("flags", [{}, {"causal": True}, {"residual": True}])
def test_a_large_jacobian_is_stored_or_bounded_by_parts(score, flags, monkeypatch):
    """What is said where the Jacobian would be too large holds the norms: nearly as they are, or a few times them."""
    weights = {**WEIGHTS, "w_key": WEIGHTS["w_query"] if score == "distance" else WEIGHTS["w_key"]}
    options = {"heads": 2, "score": score, **flags}
    whole = certify_at(TOKENS, **weights, **options)
    monkeypatch.setattr(local, "_MOST", 1)
    stored = certify_at(TOKENS, **weights, **options)
    monkeypatch.setattr(local, "_STORED", 1)
    parts = certify_at(TOKENS, **weights, **options)
    for one, near, other in zip(whole.rows, stored.rows, parts.rows, strict=True):
        assert near.norm.lo <= one.norm.hi
        assert one.norm.lo <= near.norm.hi <= (1.0 + 1e-4) * one.norm.hi
        assert near.norm.lo >= (1.0 - 1e-4) * one.norm.lo
        assert 0.7 * one.norm.hi <= other.norm.lo <= one.norm.hi
        assert one.norm.lo <= other.norm.hi <= 4.0 * one.norm.hi
        assert 1.8 * other.norm.hi < other.bound <= 2.0 * other.norm.hi


def test_a_stored_jacobian_is_as_near_as_is_said():
    """Any layer within enclosures that are far wider than rounding has blocks within the error."""
    layer = as_attention_weights(**WEIGHTS, heads=2, causal=False, residual=False, score="dot")
    x = exact(TOKENS)
    part = local._head(layer, 0, Intervals(TOKENS - 1e-3, TOKENS + 1e-3), None)
    error = local._block_errors(part, 4).hi
    made = [part.value, part.images, part.by_key, part.own, part.sizes.weights]
    shares = []
    for side in ("hi", "lo"):
        value, images, by_key, own, weights = (getattr(array, side) for array in made)
        middle = [array.mid for array in made]
        blocks = []
        for v, u, b, o, w in ((value, images, by_key, own, weights), middle):
            block = w[:, :, None, None] * (v + u[:, :, :, None] * np.broadcast_to(b, (5, 5, 3))[:, :, None, :])
            block[range(5), range(5)] += o
            blocks.append(block)
        off = np.linalg.norm((blocks[0] - blocks[1]).reshape(5, 5, -1), axis=2)
        assert (off <= error).all()
        shares.append((off / error).max())
    assert max(shares) > 0.5
    assert local._block_errors(local._head(layer, 0, x, None), 4).hi.max() < 1e-13


def test_what_a_stored_jacobian_lacks_widens_its_norms(monkeypatch):
    layer = as_attention_weights(**WEIGHTS, heads=1, causal=False, residual=False, score="dot")
    parts = [local._head(layer, 0, exact(TOKENS), None)]
    near = local._stored_norms(layer, parts)
    errors = np.arange(25.0).reshape(5, 5) / 1000.0
    monkeypatch.setattr(local, "_block_errors", lambda *_: exact(errors))
    far = local._stored_norms(layer, parts)
    off = errors.sum(axis=0).max(), errors.sum(axis=1).max(), np.linalg.norm(errors)
    for one, other, most in zip(near, far, off, strict=True):
        assert other.hi == pytest.approx(one.hi + most, rel=1e-9, abs=0.0)
        assert other.lo == pytest.approx(one.lo - most, rel=1e-9, abs=0.0)


def test_roundings_of_a_stored_jacobian_are_charged():
    """Two numbers are added on the diagonal for every head, all but the first of which are lost beside it."""
    heads, unit = 64, 2.0**-53
    one, nothing = exact(np.ones((1, 1))), exact(np.zeros((1, 1, 1)))
    free = Interval.exactly(0.0)
    sizes = reach.HeadSizes(one, one, one, one, one, free, (free, free, free))
    parts = [
        local._Head(sizes, exact([[value]]), nothing, nothing, exact([[[unit]]]))
        for value in [1.0] + [unit] * (heads - 1)
    ]
    layer = as_attention_weights([[1.0]], [[1.0]], [[1.0]], None, heads=1, causal=False, residual=False, score="dot")
    for size in local._stored_norms(layer, parts):
        assert size.hi - 1.0 >= (2 * heads - 1) * unit


def test_parts_of_many_tokens_add_up_as_the_docstring_says():
    """Layers whose queries matter little would not show the loss of their part."""
    n, heads = 3, []
    for _ in range(2):
        weights = RNG.dirichlet(np.ones(n), size=n)
        images, inner, by_key, by_query = RNG.uniform(0.25, 2.0, size=(4, n, n))
        own, spreads = RNG.uniform(0.5, 2.0, size=(2, n))
        out, value, key, query = RNG.normal(size=(4, 6, 6))
        arrays = [exact(array) for array in (weights, images, images, by_key, by_query)]
        sizes = reach.HeadSizes(*arrays, Interval.exactly(1.0), (Interval.exactly(1.0),) * 3)
        middles = Interval.exactly(1.5), Interval.exactly(0.75)
        matrices = [exact(matrix) for matrix in (out, value, key, query)]
        state = HeadState(*[None] * 5, 1.0)
        heads.append(many.ManyHead(sizes, state, *matrices, exact(inner), *middles, exact(own), exact(spreads)))
    norm = lambda matrix: np.linalg.norm(matrix, 2)  # noqa: E731
    for group in (heads[:1], heads):
        rows, columns = np.zeros((3, len(group), n)), [np.zeros((len(group), n, n)) for _ in range(2)]
        outs = np.array([norm(head.out.mid) for head in group])
        for k, head in enumerate(group):
            weights, by_key, own = head.sizes.weights.mid, head.sizes.by_key.mid, head.own.mid * norm(head.query.mid)
            rows[0, k], rows[2, k] = norm(head.value.mid), own
            rows[1, k] = np.sqrt(head.spreads.mid * (weights * by_key**2).sum(axis=1))
            columns[0][k] = weights * norm(head.value.mid)
            columns[1][k] = weights * head.inner.mid * by_key
        together = norm(np.concatenate([head.out.mid for head in group], axis=1))

        def less(parts, outs=outs, together=together):
            added = np.einsum("h,h...->...", outs, parts)
            return np.minimum(added, together * np.sqrt((parts**2).sum(axis=0)))

        truth = (
            sum(less(part).sum(axis=0) for part in columns) + less(rows[2]),
            sum(less(part) for part in rows),
        )
        found = many._rows_and_columns(group)
        for size, most in zip(truth, found, strict=True):
            assert size.max() <= most * (1.0 + 1e-14)
            assert most == pytest.approx(size.max(), rel=1e-9, abs=0.0)
        total = 0.0
        for middle, right in (("mixing", "value"), ("told", "key"), ("own", "query")):
            given = [(h.out.mid, getattr(h, middle), getattr(h, right).mid) for h in group]
            sizes = [float(t.hi.max()) if middle == "own" else t.hi for _, t, _ in given]
            added = sum(norm(a) * t * norm(b) for (a, _, b), t in zip(given, sizes, strict=True))
            shares = [math.sqrt(t * norm(b) / norm(a)) for (a, _, b), t in zip(given, sizes, strict=True)]
            one = np.concatenate([a * s for (a, _, _), s in zip(given, shares, strict=True)], axis=1)
            other = [b * t / s for (_, _, b), t, s in zip(given, sizes, shares, strict=True)]
            total += min(added, norm(one) * norm(np.concatenate(other)))
        assert many._squares(group) == pytest.approx(total, rel=1e-9, abs=0.0)
        assert many._squares(group) >= total * (1.0 - 1e-14)


@pytest.mark.parametrize("score", ["dot", "distance"])
def test_sizes_of_many_tokens(score):
    """What parts are made of: norms of matrices that are written out, each nearly attained."""
    weights = {**WEIGHTS, "w_key": WEIGHTS["w_query"] if score == "distance" else WEIGHTS["w_key"]}
    layer = as_attention_weights(**weights, heads=1, causal=False, residual=False, score=score)
    head = many.many_head(layer, 0, exact(TOKENS), None)
    (state,) = head_states(layer, TOKENS)
    laws, n = state.laws, len(TOKENS)
    assert np.linalg.norm(laws, 2) <= head.mixing.hi <= np.linalg.norm(laws, 2) * (1.0 + 1e-3)
    around = state.values - (laws @ state.values)[:, np.newaxis]
    near = state.keys - (laws @ state.keys)[:, np.newaxis]
    factor = (2.0 if score == "distance" else 1.0) / layer.divisor
    for i in range(n):
        split = layer.slice(0) @ (around[i] * np.sqrt(laws[i])[:, np.newaxis]).T
        spread = np.linalg.norm(split, 2) ** 2
        assert spread * (1.0 - 1e-12) <= head.spreads.hi[i] * np.linalg.norm(head.out.mid, 2) ** 2 * (1.0 + 1e-12)
        assert head.spreads.hi[i] <= 1.1 * spread
        cross = layer.slice(0) @ (around[i].T * laws[i]) @ near[i] @ layer.w_query[0] * factor
        most = np.linalg.norm(head.out.mid, 2) * head.own.hi[i] * np.linalg.norm(head.query.mid, 2)
        assert np.linalg.norm(cross, 2) * (1.0 - 1e-12) <= most <= 1.2 * np.linalg.norm(cross, 2)
    asked = state.queries[:, np.newaxis] - (state.queries if score == "distance" else 0.0)
    moments = [np.einsum("i,ia,ib->ab", head.spreads.mid * laws[:, j], *[asked[:, j % asked.shape[1]]] * 2)
               for j in range(n)]  # fmt: skip
    truth = max(
        math.sqrt(np.linalg.eigvalsh(layer.w_key[0].T @ moment @ layer.w_key[0])[-1]) * factor for moment in moments
    )
    assert truth * (1.0 - 1e-12) <= head.told.hi * np.linalg.norm(head.key.mid, 2) <= 1.1 * truth
    lengths = np.linalg.norm(asked @ layer.w_key[0], axis=2) * factor
    np.testing.assert_allclose(head.sizes.by_key.hi, lengths, rtol=1e-6, atol=1e-5)
    images = np.linalg.norm(around @ layer.slice(0).T, axis=2)
    np.testing.assert_allclose(head.sizes.images.hi, images, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(head.inner.hi, images, rtol=1e-6, atol=1e-5)  # here the split is exact
    by_query = np.linalg.norm(near @ layer.w_query[0], axis=2) * factor
    np.testing.assert_allclose(head.sizes.by_query.hi, by_query, rtol=1e-6, atol=1e-5)
    apart = np.linalg.norm(TOKENS - (laws @ TOKENS)[:, np.newaxis], axis=2)
    np.testing.assert_allclose(head.sizes.offsets.hi, apart, rtol=1e-6, atol=1e-5)


def test_splits():
    """A factor of few columns is an isometry, or the matrix itself where that cannot be had."""
    matrix = RNG.normal(size=(9, 3))
    one, other = many._split(matrix)
    product = one @ other
    assert (abs(product - matrix).hi <= 1e-10).all()
    assert np.linalg.norm(one.mid, 2) == pytest.approx(1.0, rel=1e-12, abs=0.0)
    steep = np.vstack([1e-70 * np.eye(3) + 1e70 * np.eye(3, k=1), np.zeros(3)])  # of which the inverse overflows
    for given, whole in ((matrix.T, 1), (np.ones((9, 3)), 0), (np.zeros((4, 2)), 0), (steep, 0)):
        np.testing.assert_array_equal(many._split(given)[whole].mid, given)
    np.testing.assert_array_equal(many._split(matrix, turned=True)[0].mid, matrix)


def test_splits_hold_with_any_inverse(monkeypatch):
    """One that is off by as much as is allowed: no vector is longer than the two factors make it."""
    matrix = RNG.normal(size=(9, 3))
    true = np.linalg.inv
    for off in (1e-5, 2e-4):
        monkeypatch.setattr(np.linalg, "inv", lambda a, off=off: true(a) * (1.0 - off))
        one, other = many._split(matrix)
        assert one.shape == (9, 3)
        top = np.linalg.norm(one.mid, 2)
        for x in np.eye(3):
            assert np.linalg.norm(matrix @ x) <= top * np.linalg.norm(other.hi @ x) * (1.0 + 1e-14)
        assert top * np.linalg.norm(other.mid, 2) <= np.linalg.norm(matrix, 2) * (1.0 + 4.0 * off)


def test_rows_are_moved_in_strips(monkeypatch):
    layer = as_attention_weights(**WEIGHTS, heads=2, causal=True, residual=False, score="dot")
    parts = [local._head(layer, head, exact(TOKENS), None).sizes for head in range(2)]
    whole = reach.moves(parts, 0.01)
    monkeypatch.setattr(reach, "_WHOLE", 1)
    monkeypatch.setattr(reach, "_STRIP", 2)
    assert reach.moves(parts, 0.01) == pytest.approx(whole, rel=1e-13, abs=0.0)
    assert reach.moves(parts, 1e3) == (math.inf,) * 3


def test_a_reach_is_found_by_few_trials():
    tried = []

    def moved(r):
        tried.append(r)
        return math.expm1(r) if r < 300.0 else math.inf

    for room in (1e-6, 0.5, 20.0):
        tried.clear()
        found = reach.quick_reach(moved, room, 1.0)
        assert 0.5 * math.log1p(room) <= found <= math.log1p(room)
        assert len(tried) <= 16
    assert reach.quick_reach(lambda r: 0.0 * r, 1.0, 1.0) == 1.0
    with pytest.raises(ValueError, match="reach: expected one to be given"):
        reach.quick_reach(lambda _: 1.0, 0.5, 1.0)


def test_a_bound_grows_with_the_reach():
    found = [certify_at(TOKENS, **WEIGHTS, heads=2, reach=reach) for reach in (1e-6, 1e-3, 1e-2)]
    for metric in PLACES:
        bounds = [here.row(metric).bound for here in found]
        norm = found[0].row(metric).norm.hi
        assert norm < bounds[0] < bounds[1] < bounds[2]
        assert bounds[0] == pytest.approx(norm, rel=1e-3, abs=0.0)
        assert (bounds[1] - norm) / (bounds[0] - norm) == pytest.approx(1e3, rel=0.1, abs=0.0)  # to first order
        assert found[0].row(metric).reach == 1e-6


def test_one_token_and_no_attention():
    alone = certify_at([[2.0, 0.0]], np.eye(2), np.eye(2), 3.0 * np.eye(2))
    flat = certify_at(TOKENS, np.zeros((2, 3)), np.eye(2, 3), np.eye(3), residual=False, reach=0.5)
    for metric in PLACES:
        assert 3.0 in alone.row(metric).norm
        assert alone.row(metric).norm.width < 1e-12
        assert alone.radius == pytest.approx(2.0, rel=1e-15, abs=0.0)
        assert 1.0 in flat.row(metric).norm
        assert flat.row(metric).bound <= 1.0 + 1e-11  # nothing depends on where tokens are


def test_norms_that_are_zero_up_to_rounding():
    """A skip connection or another head may undo a head: no bound is twice nothing, and one within a reach is tiny."""
    undone = {"w_query": [[1.0]], "w_key": [[1.0]], "w_value": [[-1.0]], "residual": True}
    heads = {name: [[1.0], [1.0]] for name in ("w_query", "w_key", "w_value")} | {"heads": 2, "w_out": [[1.0, -1.0]]}
    for tokens, options in (([[1.0]], undone), ([[1.0], [-1.0]], heads)):
        with pytest.raises(ValueError, match="reach: expected one to be given where the norm is zero"):
            certify_at(tokens, **options)
        for row in certify_at(tokens, **options, reach=1e-3).rows:
            assert 0.0 <= row.norm.lo <= row.norm.hi < 1e-12
            assert row.bound < 0.1
    rest = certify_at([[1.0], [-1.0]], [[1.0]], [[1.0]], [[0.0]])
    assert max(row.bound for row in rest.rows) < 1e-100


def test_tokens_at_the_origin_have_a_reach_of_some_length():
    for row in certify_at([[0.0], [0.0]], [[1.0]], [[1.0]], [[1.0]]).rows:
        assert row.reach > 0.1
        assert 1.99 * row.norm.hi <= row.bound <= 2.0 * row.norm.hi


def test_bad_input():
    with pytest.raises(ValueError, match="tokens: expected ones at which float64 can enclose the norm"):
        certify_at([[1.0], [-1.0]], [[1e60]], [[1e60]], [[1.0]])
    with pytest.raises(ValueError, match=r"tokens: expected n \* n \* heads of at most"):
        certify_at(np.ones((4097, 1)), [[1.0]], [[1.0]], [[1.0]])
    with pytest.raises(ValueError, match="reach: expected one within which float64 can hold the bound"):
        certify_at(TOKENS, **WEIGHTS, heads=2, reach=1e3)
    with pytest.raises(ValueError, match="reach: expected a positive"):
        certify_at(TOKENS, **WEIGHTS, heads=2, reach=0.0)
    with pytest.raises(ValueError, match="metric: expected"):
        certify_at(TOKENS, **WEIGHTS, heads=2).row("W1")


@pytest.mark.parametrize("options", [{}, {"causal": True}, {"residual": True}])
def test_a_ball_bounds_more_and_products_more_still(options):
    here = certify_at(TOKENS, **WEIGHTS, heads=2, **options)
    ball = certify(**WEIGHTS, radius=here.radius, n=5, heads=2, **options)
    for row in compare(ball, here, **WEIGHTS, heads=2, score="dot", **{"causal": False, "residual": False, **options}):
        own, products = row.bounds["on the ball"], row.bounds["products"]
        assert row.local.norm.hi < own <= products
        assert row.bounds["found"] <= own
        published = row.bounds["published"]
        assert (published is None) is (row.local.metric != "frobenius")
        assert published is None or own < published


@pytest.mark.parametrize("score", ["dot", "distance"])
def test_published_constants_hold_under_a_mask(score):
    weights = {**WEIGHTS, "w_key": WEIGHTS["w_query"] if score == "distance" else WEIGHTS["w_key"]}
    for options in ({}, {"causal": True}):
        kinds = {"heads": 2, "score": score, **options}
        here = certify_at(TOKENS, **weights, **kinds)
        ball = certify(**weights, radius=here.radius, n=5, **kinds)
        (row,) = [row for row in compare(ball, here, **weights, **{"causal": False, "residual": False, **kinds})
                  if row.local.metric == "frobenius"]  # fmt: skip
        assert here.row("frobenius").norm.hi < row.bounds["published"]
        assert ball.row("frobenius").lower < row.bounds["published"]
    flat = {**WEIGHTS, "w_query": np.zeros((4, 3)), "heads": 2, "causal": True}
    here = certify_at(TOKENS, **flat)
    ball = certify(**flat, radius=here.radius, n=5)
    row = compare(ball, here, **flat, residual=False, score="dot")[2]
    assert row.local.norm.hi < row.bounds["published"]
    biased = {**WEIGHTS, "b_query": np.ones(4), "heads": 2}
    row = compare(certify(**biased, radius=3.0, n=5), certify_at(TOKENS, **biased), **biased, causal=False,
                  residual=False, score="dot")[2]  # fmt: skip
    assert row.unbiased
    unbiased = {name: matrix for name, matrix in biased.items() if name != "b_query"}
    plain = compare(certify(**unbiased, radius=3.0, n=5), certify_at(TOKENS, **unbiased), **unbiased, causal=False,
                    residual=False, score="dot")[2]  # fmt: skip
    assert (row.bounds["published"], plain.unbiased) == (plain.bounds["published"], False)


TURNED = {name: 0.5 * RNG.normal(size=(8, 3)) for name in ("w_query", "w_key", "w_value")} | {
    "w_out": 0.5 * RNG.normal(size=(3, 8)), "b_query": RNG.normal(size=8), "b_key": RNG.normal(size=8),
}  # fmt: skip
PLANES = {"halves": ((0, 2), (1, 3)), "neighbours": ((0, 1), (2, 3))}


def attended(tokens, base, pairs, causal):
    """Two heads of four numbers, every query and key turned by its position: the layer by its formula."""
    total = np.zeros_like(tokens)
    for part in (slice(0, 4), slice(4, 8)):
        q, k = (tokens @ TURNED[f"w_{side}"][part].T + TURNED[f"b_{side}"][part] for side in ("query", "key"))
        for place in range(len(tokens)):
            for (a, b), angle in zip(PLANES[pairs], (7.0 + place, (7.0 + place) / base**0.5), strict=True):
                spin = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
                for x in (q, k):
                    x[place, [a, b]] = x[place, [a, b]] @ spin
        scores = np.where(np.tril(np.ones((len(q),) * 2)) + (not causal) > 0.0, q @ k.T / 2.0, -math.inf)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        mean = weights @ (tokens @ TURNED["w_value"][part].T) / weights.sum(axis=1, keepdims=True)
        total += mean @ TURNED["w_out"][:, part].T
    return total


def differences(layer, tokens, step=1e-6):
    """The Jacobian by central differences, shape (n, n, d, d)."""
    columns = [
        layer(tokens + step * way) - layer(tokens - step * way)
        for way in np.eye(tokens.size).reshape(-1, *tokens.shape)
    ]
    whole = np.stack(columns, axis=-1) / (2.0 * step)
    return whole.reshape(*tokens.shape, *tokens.shape).transpose(0, 2, 1, 3)


def flat(blocks):
    """The whole Jacobian of its blocks."""
    return blocks.transpose(0, 2, 1, 3).reshape(blocks.shape[0] * blocks.shape[2], -1)


def climbed(layer, tokens, reach, step=1e-4):
    """Tokens, each at the reach, where a search by differences of its own finds the largest singular value."""
    found = [(0.0, tokens)]
    for start in RNG.normal(size=(3, *tokens.shape)):
        way = start
        for _ in range(6):
            place = tokens + reach * way / np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-300)
            left, values, right = np.linalg.svd(flat(differences(layer, place)))
            found.append((values[0], place))
            u, v = left[:, 0].reshape(tokens.shape), step * right[0].reshape(tokens.shape)
            slopes = [
                (u * (layer(at + v) - layer(at - v))).sum() * side
                for one in np.eye(tokens.size).reshape(-1, *tokens.shape)
                for side, at in ((1.0, place + step * one), (-1.0, place - step * one))
            ]
            way = np.sum(np.reshape(slopes, (-1, 2)), axis=1).reshape(tokens.shape)
    return max(found, key=lambda case: case[0])[1]


@pytest.mark.parametrize("pairs", PLANES)
@pytest.mark.parametrize("causal", [False, True])
def test_rotary_positions(pairs, causal, monkeypatch):
    """Norms are those of differences, whatever the first position, and no search within the reach finds more."""
    options = {"heads": 2, "causal": causal, "base": 100.0, "pairs": pairs}

    def layer(tokens):
        return attended(tokens, 100.0, pairs, causal)

    here = certify_at(TOKENS, **TURNED, **options)
    place = climbed(layer, TOKENS, here.row("frobenius").reach)
    for metric, p in EXPONENTS.items():
        row = here.row(metric)
        truth = local_norm(differences(layer, TOKENS), np.ones(5), p, error=1e-8)
        assert row.norm.lo <= truth.hi
        assert truth.lo <= row.norm.hi <= truth.hi * (1.0 + 1e-3)
        there = TOKENS + (place - TOKENS) * row.reach / here.row("frobenius").reach
        assert local_norm(differences(layer, there), np.ones(5), p, error=1e-8).lo <= row.bound
    assert here.row("frobenius").norm.hi < np.linalg.norm(flat(differences(layer, place)), 2)
    states = head_states(
        as_attention_weights(**TURNED, heads=2, causal=causal, residual=False, score="dot"), TOKENS,
        turns_at(5, 4, 100.0, pairs)._replace(**{name: getattr(turns_at(5, 4, 100.0, pairs), name).mid
                                                 for name in ("cosines", "sines")}),
    )  # fmt: skip
    way = RNG.normal(size=TOKENS.shape)
    moved = (layer(TOKENS + 1e-6 * way) - layer(TOKENS - 1e-6 * way)) / 2e-6
    given = as_attention_weights(**TURNED, heads=2, causal=causal, residual=False, score="dot")
    np.testing.assert_allclose(push_forward(given, states, way), moved, rtol=1e-6, atol=1e-8)
    monkeypatch.setattr(local, "_MOST", 1)
    stored = certify_at(TOKENS, **TURNED, **options)
    monkeypatch.setattr(local, "_STORED", 1)
    parts = certify_at(TOKENS, **TURNED, **options)
    for one, near, other in zip(here.rows, stored.rows, parts.rows, strict=True):
        assert one.norm.lo * (1.0 - 1e-4) <= near.norm.lo <= near.norm.hi <= one.norm.hi * (1.0 + 1e-4)
        assert one.norm.lo <= other.norm.hi <= 5.0 * one.norm.hi
        assert 0.5 * one.norm.lo < other.norm.lo <= one.norm.hi


@pytest.mark.parametrize("most", [(2048, 5120), (1, 5120), (1, 1)])  # a Jacobian in enclosures, of floats, and none
@pytest.mark.parametrize(
    ("score", "sizes"),
    [("dot", (1e9, 1, 1)), ("dot", (1, 1e9, 1)), ("dot", (1e60, 1e60, 1)), *((s, (1, 1e60, 1e60)) for s in SCORES)],
)
def test_what_leaves_float64_is_refused_by_name(score, sizes, most, monkeypatch, recwarn):
    """Scores of which rounding leaves nothing, or squares that overflow: in every way tokens are named."""
    monkeypatch.setattr(local, "_MOST", most[0])
    monkeypatch.setattr(local, "_STORED", most[1])
    powers = dict(zip(WEIGHTS, (sizes[1], sizes[1], sizes[2], sizes[2]), strict=True))
    weights = {name: powers[name] * array for name, array in WEIGHTS.items()}
    if score == "distance":
        weights["w_key"] = weights["w_query"]
    with pytest.raises(ValueError, match="tokens: expected ones at which float64 can enclose the norms"):
        certify_at(sizes[0] * TOKENS, **weights, heads=2, score=score)
    here = certify_at(1e30 * TOKENS, **{**WEIGHTS, "w_query": 1e-60 * WEIGHTS["w_query"]}, heads=2)
    assert all(0.0 < row.norm.lo <= row.norm.hi < row.bound < 100.0 for row in here.rows)
    assert not recwarn.list


@pytest.mark.parametrize(
    ("tokens", "sizes"), [(np.diag([1e-60, 2e-60]), (1e60, 1e20)), (np.zeros((580, 9)), (1e42, 1e60))]
)
def test_products_of_weights_that_leave_float64_are_refused_by_name(tokens, sizes, recwarn):
    one = np.eye(tokens.shape[1])
    weights = {"w_query": sizes[0] * one, "w_key": sizes[0] * one, "w_value": sizes[1] * one, "w_out": sizes[1] * one}
    with pytest.raises(ValueError, match="tokens: expected ones at which float64 can enclose the norms"):
        certify_at(tokens, **weights, score="distance")
    assert not recwarn.list


def test_scores_of_keys_that_are_not_seen_do_not_count():
    laws = laws_of(np.array([[0.0, np.inf], [0.0, 0.0]]), causal=True)
    assert laws.tolist() == [[1.0, 0.0], [0.5, 0.5]]


def test_positions_that_cannot_be():
    with pytest.raises(ValueError, match="base: expected an even number of coordinates of a head"):
        certify_at(TOKENS, np.eye(3), np.eye(3), np.eye(3), base=100.0)
    with pytest.raises(ValueError, match="base: expected dot products"):
        certify_at(TOKENS, *[WEIGHTS["w_query"]] * 3, base=100.0, score="distance")


def test_blocks_move_as_the_docstring_says():
    """Each term counts: an answer is not so tight that a layer would show the loss of a small one."""
    n, r, size = 3, 0.125, 1.75
    weights = np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [1.0, 0.0, 0.0]])
    offsets, images, by_key, by_query = RNG.uniform(0.25, 2.0, size=(4, n, n))
    kappa, key_slope, query_slope = 0.5, 1.25, 2.5
    slopes = tuple(Interval.exactly(slope) for slope in (kappa, key_slope, query_slope))
    sizes = (exact(array) for array in (weights, offsets, images, by_key, by_query))
    found = reach.block_moves(reach.HeadSizes(*sizes, Interval.exactly(size), slopes), r)
    shifts = r * (by_key + by_query) + kappa * r**2
    change, truth = np.zeros((n, n)), np.zeros((n, n))
    for i, j in np.ndindex(n, n):
        ends = []
        for side in (1.0, -1.0):
            own = weights[i, j] * math.exp(side * shifts[i, j])
            others = sum(weights[i, k] * math.exp(-side * shifts[i, k]) for k in range(n) if k != j)
            ends.append(abs(own / (own + others) - weights[i, j]))
        change[i, j] = max(ends)
    for i, j in np.ndindex(n, n):
        p, rho, image = weights[i, j], change[i, j], images[i, j]
        moved = 2.0 * r * min(1.0 - p + rho, 1.0) + change[i] @ offsets[i]
        reached = image + size * moved
        truth[i, j] += rho * (size + image * by_key[i, j])
        truth[i, j] += (p + rho) * (size * moved * by_key[i, j] + reached * key_slope * r)
        truth[i, i] += rho * image * by_query[i, j]
        truth[i, i] += (p + rho) * (size * moved * by_query[i, j] + reached * query_slope * r)
    assert (truth <= found.hi * (1.0 + 1e-14)).all()
    np.testing.assert_allclose(found.hi, truth, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize(("kind", "share"), [("dot", 0.99), ("distance", 0.66), ("rotary", 0.87)])
def test_second_derivatives_are_charged_and_nearly_attained(kind, share):
    """At the origin scores have no slopes, so that those of two tokens that move show what the second ones are."""
    turned = kind == "rotary"
    angle = 0.5 if turned else 0.0  # halfway between a token's own key and the next, one turn away
    w_query, w_key = np.array([[1.5], [0.0]]), 2.0 * np.array([[math.cos(angle)], [math.sin(angle)]])
    score, scale, r = ("distance" if kind == "distance" else "dot"), 0.75, 2.0**-10
    w_key = w_query if score == "distance" else w_key
    layer = as_attention_weights(
        w_query, w_key, np.eye(1), None, heads=1, causal=False, residual=False, score=score, scale=scale
    )
    turns = turns_of(2, 2, 100.0, "halves") if turned else None
    heads = [local._head(layer, 0, exact(r * np.array([[1.0], [side]])), turns).sizes for side in (1.0, -1.0)]
    gaps = max(float(np.ptp(np.log(head.weights.mid), axis=1).max()) for head in heads)
    seen = (
        gaps / 2.0 / r**2,
        max(head.by_key.hi.max() for head in heads) / r,
        max(head.by_query.hi.max() for head in heads) / r,
    )
    for charged, attained in zip(heads[0].slopes, seen, strict=True):
        assert share * charged.hi <= attained <= charged.hi * (1.0 + 1e-4)
