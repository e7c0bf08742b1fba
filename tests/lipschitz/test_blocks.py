"""Parts of a block against formulas written out, constants against products of theirs, and what a search finds."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.linalg

from theory.evidence import Interval, exact, sup_over
from theory.lipschitz.certificate import (
    as_attention_weights,
    as_block,
    as_feed_forward,
    as_token_norm,
    blocks as blocks_room,
    certify,
    certify_blocks,
    feed_forward,
    normalised,
)
from theory.lipschitz.certificate.block_search import search_pairs
from theory.lipschitz.certificate.blocks import _folded
from theory.lipschitz.certificate.feed_forward import SLOPES, FeedForwardNorms, activate
from theory.lipschitz.depth import layer_norm, layer_norm_bound

FAR = Interval.exactly(normalised.FAR)
ALONE = {"causal": False, "residual": True, "score": "dot", "scale": None, "rotary": False}


def norm(matrix):
    return float(np.linalg.norm(matrix, 2))


def weights(seed=0, d=4, wide=6, *, gate=False, bias=True, size=0.5):
    """Draw a block of tokens of d numbers."""
    rng = np.random.default_rng(seed)
    found = {f"w_{name}": size * rng.normal(size=(d, d)) for name in ("query", "key", "value", "out")}
    found |= {"w_up": size * rng.normal(size=(wide, d)), "w_down": size * rng.normal(size=(d, wide))}
    found |= {"w_gate": size * rng.normal(size=(wide, d))} if gate else {}
    if bias:
        found |= {name: rng.normal(size=d) for name in ("shift_1", "shift_2", "b_query", "b_value", "b_out", "b_down")}
        found |= {"gain_1": rng.normal(size=d), "gain_2": rng.normal(size=d), "b_up": rng.normal(size=wide)}
    return found


@pytest.mark.parametrize("kind", ["layer", "rms"])
@pytest.mark.parametrize("d", [1, 2, 3, 9])
@pytest.mark.parametrize("case", ["drawn", "no shift", "one large", "equal", "dead", "tied"])
def test_longest_normalised_token(kind, d, case):
    """The dual is what an ascent on the ellipsoid reaches, and no more than gains and shift allow."""
    rng = np.random.default_rng(d)
    gain, shift = rng.normal(size=d), rng.normal(size=d)
    if case == "no shift":
        shift = np.zeros(d)
    elif case == "one large":
        gain[0] = 50.0
    elif case == "equal":
        gain[:] = 2.0
    elif case == "dead":
        gain[:] = 0.0
    elif case == "tied":
        gain[: 1 + d // 2] = 3.0
    found = as_token_norm(gain, shift, kind=kind, eps=0.1, dim=d)
    centre = np.eye(d) - (np.ones((d, d)) / d if kind == "layer" else 0.0)
    reached = float(np.linalg.norm(shift))
    for _ in range(20):
        z = centre @ rng.normal(size=d)
        for _ in range(1500):
            way = centre @ (gain * (gain * z + shift))
            if not np.linalg.norm(way) > 1e-12:
                break
            z = math.sqrt(d) * way / np.linalg.norm(way)
        if np.linalg.norm(z) > 1e-9:
            reached = max(reached, float(np.linalg.norm(gain * z + shift)))
    most = found.length(found.reach(FAR)).hi
    assert reached * (1.0 - 1e-12) <= most <= reached * (1.0 + 1e-6) + 1e-300
    assert most <= (math.sqrt(d) * np.abs(gain).max() + np.linalg.norm(shift)) * (1.0 + 1e-12)
    stretch = norm(np.diag(gain) @ centre)
    assert stretch * (1.0 - 1e-12) <= found.stretch().hi <= stretch * (1.0 + 1e-6) + 1e-300


def test_layer_norm_is_that_of_the_room():
    gain, shift = np.array([1.5, 0.5, -1.0]), np.array([0.25, -0.5, 0.0])
    found = as_token_norm(gain, shift, kind="layer", eps=0.3, dim=3)
    x = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(found(x), layer_norm(x, 0.3, gain=gain, shift=shift), rtol=1e-13, atol=1e-13)
    plain = as_token_norm(None, None, kind="layer", eps=0.3, dim=3)
    for radius in (0.1, 2.0, 1e3):
        room = layer_norm_bound(0.3, 3)(radius)
        assert plain.slope().hi == pytest.approx(room.constant, rel=1e-12, abs=0.0)
        assert plain.reach(Interval.exactly(radius)).hi == pytest.approx(room.radius, rel=1e-12, abs=0.0)
    assert plain.reach(FAR).hi == pytest.approx(math.sqrt(3.0), rel=1e-12, abs=0.0)
    alone = as_token_norm([2.0], [1.0], kind="layer", eps=0.3, dim=1)
    assert (alone.slope().hi, alone.length(alone.reach(FAR)).hi) == (0.0, pytest.approx(1.0, rel=1e-12, abs=0.0))


def test_norm_among_tokens_of_a_least_variance():
    """Of finite pairs, none is stretched by more, though segments between them pass where the derivative is larger."""
    rng = np.random.default_rng(2)
    for kind in ("layer", "rms"):
        found = as_token_norm(None, None, kind=kind, eps=0.01, dim=4, variance=1.0)
        x, y = (rng.normal(size=(20000, 4)) * rng.choice([1.0, 3.0], size=(20000, 1)) for _ in range(2))
        y[::2] = x[::2] + 0.01 * y[::2]
        kept = (found.spread(x) >= 1.0) & (found.spread(y) >= 1.0)
        ratio = np.linalg.norm(found(x) - found(y), axis=1)[kept] / np.linalg.norm(x - y, axis=1)[kept]
        assert 0.97 * found.slope().hi < ratio.max() <= found.slope().hi


def slope(name, t):
    """The derivative of an activation, by mpmath."""
    mpmath.mp.dps = 30
    root = mpmath.sqrt(2 / mpmath.pi)
    functions = {
        "relu": lambda s: max(s, 0),
        "gelu": lambda s: s * mpmath.ncdf(s),
        "gelu-tanh": lambda s: s / 2 * (1 + mpmath.tanh(root * (s + mpmath.mpf("0.044715") * s**3))),
        "silu": lambda s: s / (1 + mpmath.exp(-s)),
    }
    return functions[name](mpmath.mpf(t)), mpmath.diff(functions[name], t) if t else mpmath.mpf("0.5")


@pytest.mark.parametrize("name", SLOPES)
def test_activations(name):
    """Values enclose those of mpmath, and slopes stay between one less the largest and the largest."""
    points = np.array([-40.0, -6.0, -2.399357280515467, -1.4185040087908284, -0.5, 0.5, math.sqrt(2.0), 2.4, 5.0, 40.0])
    found = activate(name, exact(points))
    plain = activate(name, points)
    for k, t in enumerate(points):
        value, rise = slope(name, t)
        assert found.lo[k] <= value <= found.hi[k]
        assert plain[k] == pytest.approx(float(value), rel=1e-12, abs=1e-15)
        assert 1.0 - SLOPES[name] - 1e-15 <= rise <= SLOPES[name]


def test_numbers_of_the_form_by_tanh_are_enclosed():
    """Neither is a float: rounded to one they would be off by up to half a unit of the last place."""
    mpmath.mp.dps = 30
    root, cube = feed_forward._tanh_numbers()
    assert root.lo < mpmath.sqrt(2 / mpmath.pi) < root.hi
    assert Fraction(cube.lo) < Fraction("0.044715") < Fraction(cube.hi)
    assert cube.lo < 0.044715 < cube.hi
    assert max(root.width, cube.width) <= 2.0**-51


def test_largest_slopes_are_proved():
    """Over a box by branch and bound; beyond it slopes are between those at its end and one."""
    silu = "(1 + t * (1 - 1 / (1 + exp(-t)))) / (1 + exp(-t))"
    inner = "0.7978845608028653559 * (t + 0.044715 * t**3)"
    tanh = f"(1 + tanh({inner})) / 2 + t / 2 * (1 - tanh({inner})**2) * 0.7978845608028653559 * (1 + 0.134145 * t**2)"
    for name, words in (("silu", silu), ("gelu-tanh", tanh)):
        found = sup_over(words, tolerance=1e-9, t=(-8.0, 8.0))
        assert found.lo <= SLOPES[name] <= found.hi
    mpmath.mp.dps = 30
    top = mpmath.ncdf(mpmath.sqrt(2)) + mpmath.sqrt(2) * mpmath.npdf(mpmath.sqrt(2))
    assert top <= SLOPES["gelu"] <= top * (1 + mpmath.mpf("1e-15"))


@pytest.mark.parametrize("by_unit", [True, False])
def test_constant_of_a_feed_forward_part(by_unit):
    w = weights()
    part = as_feed_forward(*(w[name] for name in ("w_up", "w_down")), b_up=w["b_up"], activation="gelu", dim=4)
    token_norm = as_token_norm(w["gain_2"], w["shift_2"], kind="layer", eps=0.1, dim=4)
    up = w["w_up"] @ np.diag(w["gain_2"]) @ (np.eye(4) - 0.25) if by_unit else w["w_up"]
    top = SLOPES["gelu"]
    truth = 0.5 * norm(w["w_down"] @ up) + (top - 0.5) * norm(w["w_down"]) * norm(up)
    found = FeedForwardNorms(part, token_norm, by_unit=by_unit).constant(Interval.exactly(2.0)).hi
    assert truth <= found <= truth * (1.0 + 1e-9)
    assert truth <= top * norm(w["w_down"]) * norm(up)
    gate = {"w_gate": weights(1)["w_up"], "b_gate": weights(1)["b_up"]}
    gated = as_feed_forward(w["w_up"], w["w_down"], b_up=w["b_up"], **gate, activation="silu", dim=4)
    folded = {
        name: m @ np.diag(w["gain_2"]) @ (np.eye(4) - 0.25) for name, m in (("up", part.w_up), ("gate", gated.w_gate))
    }
    rows = {
        name: np.linalg.norm(folded[name], axis=1) * 2.0 + np.abs(m @ w["shift_2"] + b)
        for name, m, b in (("up", gated.w_up, gated.b_up), ("gate", gated.w_gate, gated.b_gate))
    }
    seen = folded if by_unit else {"up": gated.w_up, "gate": gated.w_gate}
    first, second = (
        min(norm(w["w_down"] * rows[a]) * norm(seen[b]), norm(w["w_down"]) * norm(rows[a][:, np.newaxis] * seen[b]))
        for a, b in (("up", "gate"), ("gate", "up"))
    )
    truth = SLOPES["silu"] * first + second
    found = FeedForwardNorms(gated, token_norm, by_unit=by_unit).constant(Interval.exactly(2.0)).hi
    assert truth <= found <= truth * (1.0 + 1e-9)


@pytest.mark.parametrize("turned", [False, True])
def test_gains_in_the_matrices(turned):
    """Norms of attention as a function of z, with all biases and of heads that share keys, against products."""
    rng = np.random.default_rng(3)
    d, gain, shift = 5, rng.normal(size=5), rng.normal(size=5)
    arrays = {"w_query": rng.normal(size=(8, d)), "w_key": rng.normal(size=(4, d)), "w_value": rng.normal(size=(4, d))}
    out, b_query, b_key = rng.normal(size=(d, 8)), rng.normal(size=8), rng.normal(size=4)
    layer = as_attention_weights(
        **arrays, w_out=out, heads=4, causal=False, residual=False, score="dot", b_query=b_query, b_key=b_key
    )
    token_norm = as_token_norm(gain, shift, kind="layer", eps=0.1, dim=d)
    norms = _folded(layer, token_norm, turned=turned)[1]
    fold = np.diag(gain) @ (np.eye(d) - np.ones((d, d)) / d)
    for head in range(4):
        at, shared = slice(2 * head, 2 * head + 2), slice(2 * (head // 2), 2 * (head // 2) + 2)
        query, key, value = arrays["w_query"][at], arrays["w_key"][shared], arrays["w_value"][shared]
        bias, lean = b_query[at] + query @ shift, b_key[shared] + key @ shift
        root = math.sqrt(2.0)
        form = norm(query @ fold) * norm(key @ fold) if turned else norm((query @ fold).T @ key @ fold)
        way = norm(key @ fold) * np.linalg.norm(bias) if turned else np.linalg.norm((key @ fold).T @ bias)
        pairs = [
            (norms.forms, form / root),
            (norms.values, norm(out[:, at] @ value @ fold)),
            (norms.shifts, way / root),
        ]
        if turned:
            pairs += [(norms.tilts, norm(query @ fold) * np.linalg.norm(lean) / root)]
            pairs += [(norms.offsets, np.linalg.norm(bias) * np.linalg.norm(lean) / root)]
        for found, truth in pairs:
            assert truth * (1.0 - 1e-13) <= found[head].hi <= truth * (1.0 + 1e-10)


def test_constants_of_one_block():
    """Pre-norm, the largest displacement, from the numbers of its parts; and attention alone with its norm."""
    w, eps = weights(size=0.3), 0.25
    found = certify_blocks(w, eps=eps, activation="relu", search=False)
    fold = [np.diag(w[f"gain_{at}"]) @ (np.eye(4) - 0.25) for at in (1, 2)]
    alpha = norm(fold[0].T @ w["w_query"].T @ w["w_key"] @ fold[0]) * 4.0 / 2.0
    lean = norm((w["w_key"] @ fold[0]).T @ (w["b_query"] + w["w_query"] @ w["shift_1"])[:, np.newaxis]) * 2.0 / 2.0
    attention = norm(w["w_out"] @ w["w_value"] @ fold[0]) * (1.0 + 2.0 * alpha + lean) / math.sqrt(eps)
    up = w["w_up"] @ fold[1]
    feed = (norm(w["w_down"] @ up) + norm(w["w_down"]) * norm(up)) / 2.0 / math.sqrt(eps)
    largest = (1.0 + attention) * (1.0 + feed)
    assert largest * (1.0 - 1e-12) <= found.row("max").constant <= largest * (1.0 + 1e-8)
    assert found.layers[0].alphas[0] == pytest.approx(alpha, rel=1e-8, abs=0.0)
    alone = {name: m for name, m in w.items() if not name.endswith(("_2", "up", "down"))}
    only = certify_blocks(alone, eps=eps, search=False).row("max").constant
    assert only == pytest.approx(1.0 + attention, rel=1e-8, abs=0.0)
    bare = certify_blocks(alone, eps=eps, residual=False, search=False).row("max").constant
    assert bare == pytest.approx(attention, rel=1e-8, abs=0.0)
    spread = certify_blocks(alone, eps=eps, variance=0.75, search=False).row("max").constant
    assert spread == pytest.approx(1.0 + attention / 2.0, rel=1e-8, abs=0.0)


def test_without_norms_attention_is_that_of_certify():
    w = {name: m for name, m in weights(bias=False).items() if name not in ("w_up", "w_down")}
    for options in ({}, {"n": 5}, {"n": 5, "causal": True}, {"heads": 2, "n": 3}):
        found = certify_blocks(w, norm="none", radius=1.5, search=False, **options)
        plain = certify(**w, radius=1.5, residual=True, search=False, **options)
        for one, other in zip(found.rows, plain.rows, strict=True):
            assert (one.constant is None) is (other.constant is None)
            assert one.constant is None or one.constant == pytest.approx(other.constant, rel=1e-9, abs=0.0)


def test_constants_of_a_stack_are_products_or_less():
    stack = [weights(seed, size=0.4) for seed in range(3)]
    for order in ("pre", "post"):
        found = certify_blocks(stack, norm=order, radius=1.0, eps=0.1, activation="gelu", n=50, search=False)
        for k, row in enumerate(found.rows):
            product = math.prod(layer.rows[k].constant for layer in found.layers)
            times = {"mean": 50.0, "frobenius": math.sqrt(50.0)}.get(row.metric, math.inf)
            least = min(product, times * found.row("max").constant)
            assert row.constant == pytest.approx(least, rel=1e-9, abs=0.0) or row.constant == product == math.inf
    alone = certify_blocks(stack[1], norm="pre", eps=0.1, activation="gelu", n=50, search=False)
    assert found.layers[1].radius < 10.0  # what a norm has left, whatever the radius before
    assert [row.constant for row in alone.rows] == pytest.approx(
        [row.constant for row in certify_blocks(stack, eps=0.1, activation="gelu", n=50, search=False).layers[1].rows],
        rel=1e-9, abs=0.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [
        {"eps": 0.1}, {"eps": 1e-4, "n": 4}, {"eps": 0.1, "norm": "post", "radius": 1.0}, {"eps": 0.1, "kind": "rms"},
        {"eps": 0.1, "causal": True, "n": 3}, {"eps": 0.1, "rotary": True, "n": 4}, {"eps": 0.1, "heads": 2, "n": 1},
        {"eps": 0.1, "variance": 0.5}, {"eps": 0.1, "norm": "post", "radius": 1.0, "variance": 0.2, "n": 5},
    ],
)  # fmt: skip
def test_what_is_found_is_below_what_is_certified(options):
    for gate in (False, True):
        stack = [weights(seed, gate=gate, size=0.4) for seed in range(2)]
        found = certify_blocks(stack, activation="silu", **options)
        for row in found.rows:
            if row.constant is None or (row.found is None and options.get("variance")):
                continue
            assert 0.0 < row.lower <= row.constant
            pair = row.found
            assert len(pair.points) == len(pair.masses)
            if "radius" in options:
                for cloud in (pair.points, pair.others):
                    assert (np.linalg.norm(cloud, axis=1) <= options["radius"]).all()


def test_a_stretch_that_is_attained_is_found():
    """Three blocks on the line multiply what tokens at one place are moved by: a search finds all of it, nearly."""
    line = {"w_query": [[0.0]], "w_key": [[0.0]], "w_value": [[1.0]], "w_up": [[1.0]], "w_down": [[2.0]]}
    found = certify_blocks([line] * 3, kind="rms", eps=0.25, activation="relu", n=7)
    for row in found.rows:
        assert 0.999 * 3375.0 < row.lower <= row.constant < 3375.0 * (1.0 + 1e-9)
    pair = found.row("frobenius").found
    block = as_block(line, heads=1, norm="pre", kind="rms", eps=0.25, activation="relu", **ALONE)
    x, y = (block(block(block(z, pair.masses), pair.masses), pair.masses) for z in (pair.points, pair.others))
    moved = math.sqrt(pair.masses @ ((x - y) ** 2).sum(axis=1))
    before = math.sqrt(pair.masses @ ((pair.points - pair.others) ** 2).sum(axis=1))
    assert pair.bound.lo <= moved / before <= pair.bound.hi


def test_a_constant_that_a_pair_refutes_cannot_be_made():
    line = {"w_query": [[0.0]], "w_key": [[0.0]], "w_value": [[1.0]]}
    row = certify_blocks(line, kind="rms", eps=0.25).row("W1")
    assert row.lower > 2.9
    with pytest.raises(ArithmeticError, match=r"W1: the constant 2\.5 is below"):
        replace(row, constant=2.5)


def test_pairs_of_measures_keep_apart():
    """Two tokens that cross are nearer as measures than as tokens: no such pair counts in a Wasserstein metric."""
    block = as_block(weights(size=0.4), heads=1, norm="pre", kind="layer", eps=0.1, activation="relu", **ALONE)
    found = search_pairs(np.random.default_rng(0), [block], None, None, turned=False, tokens=None)
    for metric in ("W1", "W2", "Winf"):
        pair = found[metric]
        images = block(pair.points, pair.masses)
        moved = np.linalg.norm(block(pair.others, pair.masses) - images, axis=1).max()
        gaps = [np.linalg.norm(images[i] - images[j]) for i in range(len(images)) for j in range(i)]
        assert not gaps or min(gaps) >= 2.0 * moved * (1.0 - 1e-9)


def test_tokens_give_the_least_variances():
    stack = [weights(seed, size=0.3) for seed in range(2)]
    tokens = np.random.default_rng(1).normal(size=(6, 4))
    found = certify_blocks(stack, tokens=tokens, eps=1e-5, activation="gelu")
    assert found.n == 6
    assert found.radius == pytest.approx(np.linalg.norm(tokens, axis=1).max(), rel=1e-12, abs=0.0)
    assert found.layers[0].least[0] == pytest.approx(tokens.var(axis=1).min(), rel=1e-5, abs=0.0)
    anywhere = certify_blocks(stack, n=6, eps=1e-5, activation="gelu", search=False)
    assert found.row("max").constant < 1e-6 * anywhere.row("max").constant
    assert found.row("max").lower > 0.0
    with pytest.raises(ValueError, match="radius: expected at least the length of the longest token"):
        certify_blocks(stack, tokens=tokens, radius=0.1, eps=1e-5, activation="gelu")
    with pytest.raises(ValueError, match="n: expected none beside tokens"):
        certify_blocks(stack, tokens=tokens, n=3, eps=1e-5, activation="gelu")
    with pytest.raises(ValueError, match="tokens: expected none with rotary"):
        certify_blocks(stack, tokens=tokens, rotary=True, eps=1e-5, activation="gelu")


def test_distance_attention_sees_no_shift():
    w = {name: m for name, m in weights(size=0.3).items() if name != "b_query"} | {
        "w_key": weights(size=0.3)["w_query"]
    }
    found = certify_blocks(w, eps=0.1, activation="relu", score="distance", n=4)
    far = certify_blocks(
        w | {"shift_1": 1e6 * w["shift_1"]}, eps=0.1, activation="relu", score="distance", n=4, search=False
    )
    assert far.row("W1").constant == pytest.approx(found.row("W1").constant, rel=1e-9, abs=0.0)
    assert 0.0 < found.row("max").lower <= found.row("max").constant


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        ({}, {"eps": None}, "eps: expected that of the norms"),
        ({}, {"activation": None}, "activation: expected that of the feed-forward part"),
        ({}, {"activation": "tanh"}, "activation: expected one of relu, gelu, gelu-tanh, silu"),
        ({}, {"norm": "both"}, "norm: expected one of pre, post, none"),
        ({}, {"kind": "batch"}, "kind: expected one of layer, rms"),
        ({}, {"norm": "post"}, "radius: expected one, as attention sees the tokens themselves"),
        ({}, {"norm": "none", "radius": 1.0}, "gain_1: expected none without a norm there"),
        ({"w_out": np.ones((3, 4))}, {}, r"expected outputs of dimension 4 as the tokens, got 3"),
        ({"w_down": None}, {}, "expected both of w_up and w_down"),
        ({"w_down": np.ones((4, 5))}, {}, r"w_down: expected shape \(4, 6\)"),
        ({"b_gate": np.ones(6)}, {}, "b_gate: expected with w_gate only"),
        ({"gain_1": np.ones(3)}, {}, r"gain_1: expected shape \(4,\)"),
        ({"w_moe": np.ones(3)}, {}, "got 'w_moe'"),
        ({"w_key": None}, {}, "expected an array w_key"),
        ({}, {"score": "distance"}, "w_key: expected the entries of w_query"),
        ({}, {"variance": -1.0}, "variance: expected a non-negative"),
        ({}, {"variance": math.inf}, "variance: expected a finite"),
        ({"eps": 0.5}, {"eps": None, "second": {"eps": 0.25}}, "eps: expected the same in all blocks"),
    ],
)
def test_blocks_that_do_not_fit(change, options, words):
    options = {"eps": 0.1, "activation": "relu", **options}
    block = {name: array for name, array in (weights() | change).items() if array is not None}
    second = options.pop("second", None)
    with pytest.raises(ValueError, match=words):
        certify_blocks(block if second is None else [block, block | second], search=False, **options)


def test_no_blocks():
    for blocks in ([], "weights", None, [1.0]):
        with pytest.raises(ValueError, match="blocks: expected arrays by their roles"):
            certify_blocks(blocks)
    other = weights(d=3)
    with pytest.raises(ValueError, match="blocks: expected tokens of 4 numbers in all"):
        certify_blocks([weights(), other], eps=0.1, activation="relu")


@pytest.mark.parametrize("gate", [False, True])
@pytest.mark.parametrize("d", [1, 3])
def test_entries_of_any_size_in_range_are_bounded(d, gate):
    """Gains fold matrices to products of entries that are out of the range of one, of which norms are known as well."""
    small = weights(d=d, gate=gate)
    sizes = {"gain_2": 1e69, "w_up": 1e30, "w_down": 1e-60, "shift_2": 0.0, "b_up": 0.0}
    far = small | {name: array * sizes.get(name, 1.0) for name, array in small.items()}
    same = small | {name: 0.0 * small[name] for name in ("shift_2", "b_up")}
    found, plain = (
        certify_blocks(block, kind="rms", eps=0.1, activation="relu", search=False) for block in (far, same)
    )
    power = 108 if gate else 39  # with a gate, that of its matrix enters as well
    assert found.layers[0].feed_forward == pytest.approx(plain.layers[0].feed_forward * 10.0**power, rel=1e-9, abs=0.0)


@pytest.mark.parametrize("scales", [(300,), (-600,), (-900,), (600, -600), (-300, -500)])
@pytest.mark.parametrize("shape", [(3, 4, 5), (130, 131, 132)])
def test_norms_out_of_range(shape, scales):
    rng = np.random.default_rng(0)
    drawn = [rng.normal(size=shape[k : k + 2]) for k in range(len(scales))]
    far = [np.ldexp(matrix, scale) for matrix, scale in zip(drawn, scales, strict=True)]
    truth = mpmath.ldexp(norm(drawn[0] if len(drawn) == 1 else drawn[0] @ drawn[1]), sum(scales))
    assert truth <= feed_forward._norm(*far).hi <= truth * 1.001
    assert feed_forward._norm(np.array([[1.0, 1e-200], [1e-300, 0.5]]), np.eye(2)).hi == pytest.approx(
        1.0, rel=1e-9, abs=0.0
    )
    assert feed_forward._norm(np.array([[math.inf]])).hi == math.inf
    size = math.ldexp(norm(drawn[0].reshape(1, -1)), 900)
    assert size * (1.0 - 1e-15) <= feed_forward._frobenius(np.ldexp(drawn[0], 900)).hi <= size * (1.0 + 1e-9)


def test_numbers_that_leave_float64_are_named(recwarn):
    """No constant is certified of floats that are none, and no library speaks in its place."""
    wide = {
        "w_query": np.zeros((2, 2)),
        "w_key": np.zeros((2, 2)),
        "w_value": np.diag([1e70, -1e70]),
        "w_out": np.eye(2),
    }
    with pytest.raises(ValueError, match="tokens: expected ones that float64 can take through the blocks"):
        certify_blocks(wide | {"w_out": 1e70 * np.eye(2)}, tokens=[[1e60, 1.0]], norm="post", eps=0.1, search=False)
    block = weights(gate=True, bias=False, size=1e69) | {"gain_2": 1e69 * np.ones(4)}
    with pytest.raises(ValueError, match="blocks: expected constants that float64 can hold"):
        certify_blocks(block, eps=0.1, activation="silu")
    steep = weights(gate=True, bias=False, size=1e30)
    for activation in SLOPES:
        found = certify_blocks(steep, eps=0.1, activation=activation, n=2, rng=np.random.default_rng(0))
        assert found.row("max").constant > (found.row("max").lower or 0.0)
    hot = weights(bias=False) | {"w_up": 1e60 * np.ones((6, 4))}
    assert (
        certify_blocks(hot, tokens=-np.eye(4), norm="none", activation="silu", search=False).row("max").constant > 1e50
    )
    assert not recwarn.list


def test_folds_that_are_rounded_short_are_covered(monkeypatch):
    """Gains in matrices nine roundings short of ten, and norms sixty of sixty-four, still give true products."""
    a, b, gain, true = 1.0 + 2.0**-30, 3.0, 1.0 + 2.0**-29, np.linalg.norm
    short = 1.0 - 9 * 2.0**-53
    room = blocks_room.fold
    monkeypatch.setattr(
        blocks_room, "fold", lambda matrix, norm: (short * room(matrix, norm)[0], room(matrix, norm)[1])
    )
    monkeypatch.setattr(np.linalg, "norm", lambda *args, **more: true(*args, **more) * (1.0 - 60 * 2.0**-53))
    block = {"w_query": [[a]], "w_key": [[b]], "w_value": [[b]], "gain_1": [gain]}
    found = certify_blocks(block, kind="rms", eps=0.25, search=False)
    form = Fraction(a) * Fraction(b) * Fraction(gain) ** 2
    assert Fraction(found.layers[0].alphas[0]) >= form
    value = Fraction(b) * Fraction(gain)
    assert Fraction(found.row("max").constant) >= 1 + 2 * value * (1 + 2 * form)


def test_an_eigenvalue_that_a_library_finds_short_is_covered(monkeypatch):
    true = scipy.linalg.eigh
    monkeypatch.setattr(scipy.linalg, "eigh", lambda *args, **more: true(*args, **more) * (1.0 - 60 * 128 * 2.0**-53))
    ones = np.ones((128, 200))
    truth = math.sqrt(128 * 200)
    assert truth <= feed_forward._norm(ones).hi <= truth * (1.0 + 1e-11)
    both = 128.0 * 200.0
    assert both <= feed_forward._norm(ones, np.ascontiguousarray(ones.T)).hi <= both * (1.0 + 1e-10)


def test_biases_are_known_up_to_what_is_told():
    w = weights() | {"b_value": np.array([0.1, 0.2, 0.3, 0.7]), "b_out": np.array([1e-3, 0.3, 0.9, -0.1])}
    block = as_block(w, heads=2, norm="pre", kind="layer", eps=0.1, activation="relu", **ALONE)
    rows = [[Fraction(x) for x in row] for row in w["w_out"]]
    value = [Fraction(x) for x in w["b_value"]]
    truth = [
        sum(x * y for x, y in zip(row, value, strict=True)) + Fraction(b)
        for row, b in zip(rows, w["b_out"], strict=True)
    ]
    off = math.sqrt(sum(float(Fraction(m) - t) ** 2 for m, t in zip(block.moved, truth, strict=True)))
    assert 0.0 < off <= block.off < 1e-13
