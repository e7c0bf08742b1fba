"""Certificates at given tokens: against Jacobians by floats, in closed form, and within their reach."""

from __future__ import annotations

import math

import numpy as np
import pytest

from theory.attention import Measure, MultiHead
from theory.evidence import Interval, exact
from theory.lipschitz import local_norm, multihead_jacobian
from theory.lipschitz.certificate import as_attention_weights, certify, certify_at, enclose_stretch, local
from theory.lipschitz.certificate.comparison import compare
from theory.lipschitz.certificate.local import PLACES
from theory.lipschitz.certificate.turned import turns_of

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
def test_parts_of_a_large_jacobian_bound_the_whole(score, flags, monkeypatch):
    """What is summed where the Jacobian would be too large holds the norms, and is no more than a few times them."""
    weights = {**WEIGHTS, "w_key": WEIGHTS["w_query"] if score == "distance" else WEIGHTS["w_key"]}
    whole = certify_at(TOKENS, **weights, heads=2, score=score, **flags)
    monkeypatch.setattr(local, "_MOST", 1)
    parts = certify_at(TOKENS, **weights, heads=2, score=score, **flags)
    for one, other in zip(whole.rows, parts.rows, strict=True):
        assert other.norm.lo <= one.norm.hi
        assert one.norm.lo <= other.norm.hi <= 10.0 * one.norm.hi
        assert other.norm.lo > 0.0


@pytest.mark.parametrize("dim", [2, 9])
def test_spreads_of_few_and_of_many_coordinates(dim):
    """The largest variance in a direction under each row, by sums over coordinates or over tokens."""
    vectors = RNG.normal(size=(5, dim))
    weights = np.tril(RNG.dirichlet(np.ones(5), size=5)) + np.eye(5)
    weights /= weights.sum(axis=1, keepdims=True)
    found = local._spreads(exact(weights), exact(vectors))
    for law, most in zip(weights, found, strict=True):
        truth = np.linalg.eigvalsh(np.cov(vectors.T, aweights=law, ddof=0))[-1]
        assert truth * (1 - 1e-12) <= most.hi <= truth * (1 + 1e-9) + 1e-12
    own = RNG.normal(size=(5, 5, dim))  # vectors of every row
    for row, law, most in zip(own, weights, local._spreads(exact(weights), exact(own)), strict=True):
        truth = np.linalg.eigvalsh(np.cov(row.T, aweights=law, ddof=0))[-1]
        assert truth * (1 - 1e-12) <= most.hi <= truth * (1 + 1e-9) + 1e-12


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
    with pytest.raises(ValueError, match=r"tokens: expected n \* n \* d of at most"):
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
    monkeypatch.setattr(local, "_MOST", 1)
    parts = certify_at(TOKENS, **TURNED, **options)
    for one, other in zip(here.rows, parts.rows, strict=True):
        assert one.norm.lo <= other.norm.hi <= 10.0 * one.norm.hi
        assert 0.0 < other.norm.lo <= one.norm.hi


def test_positions_that_cannot_be():
    with pytest.raises(ValueError, match="base: expected an even number of coordinates of a head"):
        certify_at(TOKENS, np.eye(3), np.eye(3), np.eye(3), base=100.0)
    with pytest.raises(ValueError, match="base: expected dot products"):
        certify_at(TOKENS, *[WEIGHTS["w_query"]] * 3, base=100.0, score="distance")
    with pytest.raises(ValueError, match=r"n \* n \* d of at most"):
        certify_at(np.ones((200, 1)), *[np.ones((1000, 1))] * 3, base=100.0)


def test_blocks_move_as_the_docstring_says():
    """Each term counts: an answer is not so tight that a layer would show the loss of a small one."""
    n, r, size = 3, 0.125, 1.75
    weights = np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [1.0, 0.0, 0.0]])
    offsets, images, by_key, by_query = RNG.uniform(0.25, 2.0, size=(4, n, n))
    kappa, key_slope, query_slope = 0.5, 1.25, 2.5
    slopes = tuple(Interval.exactly(slope) for slope in (kappa, key_slope, query_slope))
    sizes = (exact(array) for array in (weights, offsets, images, by_key, by_query))
    found = local._block_moves(local._Head(None, None, *sizes, Interval.exactly(size), slopes, None), r)
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
    heads = [local._head(layer, 0, exact(r * np.array([[1.0], [side]])), np.ones(1), turns) for side in (1.0, -1.0)]
    gaps = max(float(np.ptp(np.log(head.weights.mid), axis=1).max()) for head in heads)
    seen = (
        gaps / 2.0 / r**2,
        max(head.by_key.hi.max() for head in heads) / r,
        max(head.by_query.hi.max() for head in heads) / r,
    )
    for charged, attained in zip(heads[0].slopes, seen, strict=True):
        assert share * charged.hi <= attained <= charged.hi * (1.0 + 1e-4)


def test_parts_of_many_tokens_add_up_as_the_docstring_says():
    """Layers whose queries matter little would not show the loss of their part."""
    n, size = 3, 1.75
    weights = np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.25, 0.25, 0.5]])
    offsets, images, by_key, by_query = RNG.uniform(0.25, 2.0, size=(4, n, n))
    lam, other = RNG.uniform(0.5, 2.0, size=(2, n))
    sizes = (exact(array) for array in (weights, offsets, images, by_key, by_query))
    slopes = (Interval.exactly(1.0),) * 3
    spreads = exact(lam), exact(other)
    found = local._size_sums(local._Head(None, None, *sizes, Interval.exactly(size), slopes, spreads))
    own, squares = np.sqrt(lam * other), weights * by_key**2
    truth = (
        max((weights * (size + images * by_key))[:, j].sum() + own[j] for j in range(n)),
        size + max(math.sqrt(lam[i] * squares[i].sum()) + own[i] for i in range(n)),
        size * math.sqrt(weights.sum(axis=0).max()) + math.sqrt((lam @ squares).max()) + own.max(),
    )
    assert (np.array(truth) <= np.array(found) * (1.0 + 1e-14)).all()
    np.testing.assert_allclose(found, truth, rtol=1e-12, atol=0.0)
