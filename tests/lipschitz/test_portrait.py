"""Portraits of layers whose numbers are known, and of drawn ones against derivatives and bounds."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from theory.evidence.enclosure import balls, exp, hull, precision
from theory.lipschitz.certificate import certify_at, tangents
from theory.lipschitz.portrait import portrait as portraits, portray
from theory.lipschitz.portrait.levels import ball_about

TOKENS = np.array([[1.0, 0.5], [-2.0, 0.25], [0.5, 3.0], [0.0, -1.0], [2.0, 2.0]])
FLAT = np.zeros((2, 2))
PLAIN = np.eye(2)


def drawn(seed, *, n=6, d=6, heads=2, out=6, score="dot", **options):
    rng = np.random.default_rng(seed)
    query, key, value = (0.5 * rng.normal(size=(6, d)) for _ in range(3))
    bias = {} if score == "distance" else {"b_query": rng.normal(size=6)}
    key = query if score == "distance" else key
    given = {"w_out": rng.normal(size=(out, 6)), "heads": heads, "score": score, **bias, **options}
    return portray(query, key, value, rng.normal(size=(n, d)), **given)


def test_uniform_attention():
    """Every weight is 1/n: entropy log n, and a derivative of rank d with the singular values of the value matrix."""
    value = np.diag([3.0, 0.5])
    found = portray(FLAT, FLAT, value, TOKENS)
    np.testing.assert_allclose(found.maps, 0.2, rtol=1e-13, atol=0.0)
    np.testing.assert_allclose(found.entropy, math.log(5.0), rtol=1e-14, atol=0.0)
    np.testing.assert_allclose(found.effective, 5.0, rtol=1e-14, atol=0.0)
    np.testing.assert_allclose(found.singular[:2], [3.0, 0.5], rtol=1e-13, atol=0.0)
    np.testing.assert_allclose(found.singular[2:], 0.0, atol=1e-14, rtol=0.0)
    assert found.whole
    for matrix in found.ellipses:  # every output follows every token by a fifth
        np.testing.assert_allclose(np.linalg.svd(matrix)[1], [0.6, 0.1], rtol=1e-13, atol=0.0)
    assert found.spreads[1] == pytest.approx(0.0, abs=1e-14, rel=0.0)
    for level in found.levels:  # nothing is lost where scores are constant
        assert level.value == pytest.approx(3.0, rel=1e-9, abs=0.0)
    assert [level.name for level in found.levels] == ["the ball", "these tokens", "each head", "the layer"]


def test_uniform_attention_under_a_mask():
    found = portray(FLAT, FLAT, PLAIN, TOKENS, causal=True)
    np.testing.assert_allclose(found.effective[0], np.arange(1.0, 6.0), rtol=1e-14, atol=0.0)
    np.testing.assert_allclose(found.entropy[0], np.log(np.arange(1.0, 6.0)), rtol=1e-14, atol=1e-13)
    means = np.tril(np.ones((5, 5))) / np.arange(1.0, 6.0)[:, np.newaxis]
    sizes = np.repeat(np.linalg.svd(means)[1], 2)
    np.testing.assert_allclose(found.singular, sizes, rtol=1e-12, atol=0.0)
    assert found.sensitive == 0  # all outputs see the first token
    assert found.followed == (0, 1, 2, 3, 4)
    sizes = [np.linalg.norm(matrix, 2) for matrix in found.ellipses]
    np.testing.assert_allclose(sizes, 1.0 / np.arange(1.0, 6.0), rtol=1e-13, atol=0.0)


def test_a_layer_that_adds_nothing():
    """With values of zero and a residual outputs are the tokens: all singular values are one, and nothing moves."""
    found = portray(PLAIN, PLAIN, FLAT, TOKENS, residual=True, layers=3)
    np.testing.assert_allclose(found.singular, 1.0, rtol=1e-13, atol=0.0)
    assert found.paths.shape == (4, 5, 2)
    np.testing.assert_array_equal(found.paths, np.broadcast_to(found.paths[0], (4, 5, 2)))
    distances = np.linalg.norm(TOKENS[:, np.newaxis] - TOKENS, axis=2)
    shown = np.linalg.norm(found.paths[0][:, np.newaxis] - found.paths[0], axis=2)
    np.testing.assert_allclose(shown, distances, rtol=1e-13, atol=1e-14)  # the plane is all of the space
    spread = math.sqrt(np.square(TOKENS - TOKENS.mean(axis=0)).sum() / 5)
    np.testing.assert_allclose(found.spreads, spread, rtol=1e-14, atol=0.0)
    own = found.ellipses[found.followed.index(found.sensitive)]
    np.testing.assert_allclose(np.linalg.svd(own)[1], 1.0, rtol=1e-14, atol=0.0)
    others = [e for i, e in zip(found.followed, found.ellipses, strict=True) if i != found.sensitive]
    np.testing.assert_array_equal(others, 0.0)
    assert [level.value for level in found.levels] == pytest.approx([1.0] * 4, rel=1e-14, abs=0.0)


def test_one_key_takes_all():
    """Scores of hundreds: every law is one token, whose entropy is nothing."""
    found = portray(100.0 * PLAIN, PLAIN, PLAIN, TOKENS)
    assert (found.entropy >= 0.0).all()
    np.testing.assert_allclose(found.effective, 1.0, atol=1e-9, rtol=0.0)
    assert found.maps[0].argmax(axis=1).tolist() == (TOKENS @ TOKENS.T).argmax(axis=1).tolist()


KINDS = list(itertools.product(("dot", "distance"), (False, True), (5, 6)))
FORMS = list(itertools.product(("dot", "distance"), (False, True), (False, True)))


@pytest.mark.parametrize(("score", "causal", "out"), KINDS)
def test_forward_and_backward_agree_and_ellipses_are_blocks(score, causal, out):
    found = drawn(1, score=score, causal=causal, out=out, residual=out == 6, scale=0.7)
    layer, points = found.layer, found.tokens
    rng = np.random.default_rng(2)
    h, g = rng.normal(size=points.shape), rng.normal(size=(6, out))
    states = tangents.head_states(layer, points)
    forward = tangents.push_forward(layer, states, h)
    backward = tangents.pull_back(layer, states, g)
    assert (forward * g).sum() == pytest.approx((backward * h).sum(), rel=1e-11, abs=0.0)
    with precision():
        exact = hull(layer.push(balls(points), balls(h), balls(np.ones(6)), balls, exp)[1]).mid
    np.testing.assert_allclose(forward, exact, rtol=1e-11, atol=1e-12)
    step = 1e-6
    quotient = (tangents.outputs(layer, points + step * h) - tangents.outputs(layer, points - step * h)) / (2 * step)
    np.testing.assert_allclose(forward, quotient, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(found.centres, tangents.outputs(layer, points) @ found.plane, rtol=1e-13, atol=0.0)
    for output, matrix in zip(found.followed, found.ellipses, strict=True):
        block = np.zeros((out, 6))
        for k in range(6):
            moved = np.zeros_like(points)
            moved[found.sensitive, k] = 1.0
            block[:, k] = tangents.push_forward(layer, states, moved)[output]
        shape = found.plane.T @ block
        np.testing.assert_allclose(matrix @ matrix.T, shape @ shape.T, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("score", ["dot", "distance"])
def test_a_jacobian_that_is_not_stored_has_the_same_singular_values(score, monkeypatch):
    stored = drawn(3, score=score)
    monkeypatch.setattr(tangents, "_DENSE", 1)
    applied = drawn(3, score=score)
    assert stored.whole
    assert not applied.whole
    np.testing.assert_allclose(applied.singular, stored.singular[: applied.singular.size], rtol=1e-9, atol=0.0)
    assert abs((applied.worst * stored.worst).sum()) == pytest.approx(1.0, rel=1e-9, abs=0.0)
    assert applied.sensitive == stored.sensitive


@pytest.mark.parametrize(("score", "causal", "residual"), FORMS)
def test_levels_bound_one_another(score, causal, residual):
    for seed in range(4):
        found = drawn(seed, score=score, causal=causal, residual=residual)
        ball, near, heads, layer = (level.value for level in found.levels)
        assert ball >= near >= layer
        assert heads >= layer
        assert layer == found.singular[0]


def turned_directly(given, points, base, pairs, causal):
    """Maps (h, n, n) and outputs of rotary attention, token by token as it is printed."""
    n, size = len(points), 4
    turns = np.zeros((n, size, size))
    for i, k in itertools.product(range(n), range(size // 2)):
        first, second = (k, k + size // 2) if pairs == "halves" else (2 * k, 2 * k + 1)
        angle = i * base ** (-2.0 * k / size)
        turns[i, [first, second], [first, second]] = math.cos(angle)
        turns[i, second, first], turns[i, first, second] = math.sin(angle), -math.sin(angle)
    maps, outs = np.zeros((2, n, n)), np.zeros((n, 5))
    for head in range(2):
        rows = slice(head * size, (head + 1) * size)
        for i in range(n):
            seen = range(i + 1 if causal else n)
            query = turns[i] @ (given["w_query"][rows] @ points[i] + given["b_query"][rows])
            keys = [turns[j] @ (given["w_key"][rows] @ points[j] + given["b_key"][rows]) for j in seen]
            raw = np.exp([query @ key / math.sqrt(size) for key in keys])
            maps[head, i, : len(raw)] = raw / raw.sum()
            values = given["w_value"][rows] @ (maps[head, i] @ points)
            outs[i] += given["w_out"][:, rows] @ values
    return maps, outs


@pytest.mark.parametrize("pairs", ["halves", "neighbours"])
@pytest.mark.parametrize("causal", [False, True])
def test_rotary_positions_are_those_of_a_loop(pairs, causal, monkeypatch):
    """Maps and outputs to rounding, singular values by differences of the loop, and constants above them."""
    rng = np.random.default_rng(5)
    given = {name: 0.5 * rng.normal(size=(8, 5)) for name in ("w_query", "w_key", "w_value")}
    given |= {"w_out": rng.normal(size=(5, 8)), "b_query": rng.normal(size=8), "b_key": rng.normal(size=8)}
    points = rng.normal(size=(6, 5))
    options = {"heads": 2, "causal": causal, "base": 100.0, "pairs": pairs}
    found = portray(**given, tokens=points, **options)
    maps, outs = turned_directly(given, points, 100.0, pairs, causal)
    np.testing.assert_allclose(found.maps, maps, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found.centres, outs @ found.plane, rtol=1e-11, atol=1e-12)
    step, jacobian = 1e-5, np.zeros((30, 30))
    for k, way in enumerate(np.eye(30).reshape(30, 6, 5)):
        ahead, behind = (turned_directly(given, points + side * way, 100.0, pairs, causal)[1] for side in (step, -step))
        jacobian[:, k] = (ahead - behind).ravel() / (2.0 * step)
    np.testing.assert_allclose(found.singular, np.linalg.svd(jacobian)[1], rtol=1e-7, atol=1e-8)
    assert np.linalg.norm(jacobian @ found.worst.ravel()) == pytest.approx(found.singular[0], rel=1e-7, abs=0.0)
    again = turned_directly(given, outs, 100.0, pairs, causal)[1]
    assert found.spreads[2] == pytest.approx(math.sqrt(6 * again.var(axis=0).sum() / 6), rel=1e-9, abs=0.0)
    ball, near, heads, layer = (level.value for level in found.levels)
    assert ball >= near >= layer
    assert heads >= layer == found.singular[0]
    masks = np.repeat(np.eye(2), 4, axis=1)
    alone = [portray(**given | {"w_out": mask * given["w_out"]}, tokens=points, **options) for mask in masks]
    assert heads == pytest.approx(sum(one.singular[0] for one in alone), rel=1e-9, abs=0.0)
    assert certify_at(points, **given, **options).row("frobenius").norm.hi == pytest.approx(layer, rel=1e-9, abs=0.0)
    monkeypatch.setattr(tangents, "_DENSE", 1)
    applied = portray(**given, tokens=points, **options).singular
    np.testing.assert_allclose(applied, found.singular[: applied.size], rtol=1e-9, atol=1e-12)


def test_an_origin_that_moves_is_a_bias_of_rotary_queries_and_keys():
    rng = np.random.default_rng(2)
    tokens = rng.normal(size=(5, 2)) + 5.0
    centre = ball_about(tokens)[0]
    sizes = {"w_query": 0.05, "w_key": 0.2, "w_value": 1.0}
    weights = {name: size * rng.normal(size=(4, 2)) for name, size in sizes.items()}
    biases = {"b_query": 0.1 * rng.normal(size=4), "b_key": 0.3 * rng.normal(size=4)}
    moves = {"b_query": weights["w_query"] @ centre, "b_key": weights["w_key"] @ centre}
    found = portray(**weights, **biases, tokens=tokens, heads=2, base=100.0)
    shifted = {name: bias + moves[name] for name, bias in biases.items()}
    moved = portray(**weights, **shifted, tokens=tokens - centre, heads=2, base=100.0)
    np.testing.assert_allclose(found.maps, moved.maps, rtol=1e-12, atol=0.0)
    assert found.levels[1].value == pytest.approx(moved.levels[0].value, rel=1e-9, abs=0.0)
    assert found.levels[3].value <= found.levels[1].value < 0.9 * found.levels[0].value


def test_tokens_far_from_the_origin_are_known_better_than_their_ball():
    """Moved by a hundred, tokens have the same attention to one another under a form that sees differences only."""
    near = portray(PLAIN, FLAT, PLAIN, TOKENS + 100.0)
    assert near.levels[1].value == pytest.approx(1.0, rel=1e-6, abs=0.0)
    form = np.array([[0.01, 0.0], [0.0, 0.01]])
    found = portray(form, PLAIN, PLAIN, TOKENS + 100.0)
    assert found.levels[1].value < 0.2 * found.levels[0].value


def test_the_radius_about_tokens_holds_them():
    assert ball_about(np.array([[0.0, 0.0], [2.0, 0.0]]))[1] == pytest.approx(1.0, rel=1e-2, abs=0.0)
    for seed in range(5):
        cloud = np.random.default_rng(seed).normal(size=(7, 3)) + 5.0
        half = max(np.linalg.norm(a - b) for a in cloud for b in cloud) / 2.0
        centre, radius = ball_about(cloud)
        assert half <= radius <= 1.3 * half
        assert np.linalg.norm(cloud - centre, axis=1).max() <= radius


def test_outputs_of_another_dimension_are_shown_alone():
    found = drawn(0, out=5)
    assert found.paths.shape == (1, 6, 2)
    assert found.spreads.shape == (2,)
    line = portray([[1.0]], [[1.0]], [[1.0]], [[0.0], [1.0], [3.0]])
    assert (line.paths[:, :, 1] == 0.0).all()


def test_bad_input_is_named():
    for given, words in (
        ({"tokens": TOKENS[:1]}, "tokens: expected from 2 to 1024"),
        ({"tokens": TOKENS[:, :1]}, "tokens: expected"),
        ({"tokens": TOKENS * 1e80}, "tokens: expected sizes"),
        ({"layers": 0}, "layers: expected"),
        (
            {"tokens": TOKENS * 1e60, "w_value": 1e60 * PLAIN},
            "tokens: expected queries, keys, values and outputs within",
        ),
        (
            {"tokens": 1e65 * TOKENS, "w_query": 1e65 * PLAIN, "w_value": 1e-70 * PLAIN},
            "tokens: expected queries, keys",
        ),
        (
            {"tokens": 0.0 * TOKENS, "w_query": 1e60 * PLAIN, "w_key": 1e60 * PLAIN, "score": "distance"},
            "tokens: expected",
        ),
        ({"w_key": np.ones((3, 2))}, "w_key: expected"),
    ):
        with pytest.raises(ValueError, match=words):
            portray(**{"w_query": PLAIN, "w_key": PLAIN, "w_value": PLAIN, "tokens": TOKENS, **given})


def test_tokens_that_fly_apart_are_named():
    with pytest.raises(ValueError, match=r"layers: expected at most 6[0-9], after which tokens are beyond 1e"):
        portray(PLAIN, FLAT, 10.0 * PLAIN, TOKENS, layers=100, residual=True)


def test_planes_do_not_depend_on_the_sign_of_a_library():
    plane = portraits.main_plane(TOKENS)
    np.testing.assert_allclose(plane.T @ plane, np.eye(2), atol=1e-13, rtol=0.0)
    assert all(column[np.abs(column).argmax()] > 0.0 for column in plane.T)
