"""A bias of the queries in certificates: the instance that once passed without a word, and formulas written out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from theory.attention import Measure, MultiHead
from theory.lipschitz import multihead_jacobian
from theory.lipschitz.certificate import METRICS, as_attention_weights, certify, enclose_stretch
from theory.lipschitz.constants import frobenius_constants, refined_w2_constant

ISSUE = {"w_query": math.sqrt(2.0) * np.eye(2), "w_key": -np.eye(2), "w_value": np.eye(2), "radius": 1.0}
BIAS = [4.0 * math.sqrt(2.0), 0.0]  # |c| = 4 after the division by the root of d_k


def test_a_bias_that_was_dropped():
    """With alpha = 1 and |c| = 4: without the bias 22.2 was certified, a move is stretched by more than 2.4e5."""
    row = certify(**ISSUE, b_query=BIAS).row("W1")
    assert certify(**ISSUE, search=False).row("W1").constant == pytest.approx(3.0 * math.exp(2.0), rel=1e-9, abs=0.0)
    truth = 11.0 * math.exp(10.0)
    assert 0.999 * truth < row.lower <= row.constant < truth * (1.0 + 1e-9)
    assert row.lower > 2.4e5
    assert row.claim == "certificate.query-bias"
    assert "bias" in row.hypotheses


def test_constants_with_a_bias():
    a, b, n = 1.0, 5.0, 7
    sharp = math.exp(2 * b) * (1 + 2 * b)
    column = n * (1 + 2 * b) ** 2 / (8 * b) + a  # seven weights of up to one half and more
    schur = math.sqrt((1 + a + b) * column)
    squares = min(math.sqrt(n) * (1 + b) + a, schur, math.exp(b) * (1 + b) + a, math.sqrt(n) * (1 + a + b))
    truth = {
        "W1": sharp, "W2": a + refined_w2_constant(b) - b, "Winf": 1 + a + b, "max": 1 + a + b,
        "mean": column, "frobenius": squares,
    }  # fmt: skip
    found = certify(**ISSUE, b_query=BIAS, n=n, search=False)
    assert found.betas[0] == pytest.approx(b, rel=1e-9, abs=0.0)
    for metric in METRICS:
        assert truth[metric] <= found.row(metric).constant <= truth[metric] * (1 + 1e-9)
    masked = certify(**ISSUE, b_query=np.array(BIAS) / 400.0, n=50, causal=True, search=False)
    small = 1.01
    shares = [min(1 / (1 + (i - 1) * math.exp(-2 * small)), (1 + 2 * small) / (4 * small)) for i in range(2, 51)]
    mean = a + sum(share * (1 + 2 * small * (1 - share)) for share in shares)
    largest = 1 + a + small
    for metric, constant in (("mean", mean), ("max", largest), ("frobenius", math.sqrt(largest * mean))):
        assert constant <= masked.row(metric).constant <= constant * (1 + 1e-9)


def test_no_bias_changes_no_bit():
    for options in ({}, {"n": 5}, {"n": 5, "causal": True}):
        plain = certify(**ISSUE, search=False, **options)
        zero = certify(**ISSUE, b_query=[0.0, 0.0], search=False, **options)
        assert plain.rows == zero.rows
        assert plain.betas == plain.alphas


def test_frobenius_without_a_bias_is_as_it_was():
    for alpha in (0.25, 3.0, 40.0):
        for n in (2, 1000):
            found = certify([[alpha]], [[-1.0]], [[1.0]], 1.0, n=n, search=False).row("frobenius").constant
            truth = min(frobenius_constants(alpha, n).least, math.sqrt(n) * (1 + 2 * alpha), refined_w2_constant(alpha))
            assert truth <= found <= truth * (1 + 1e-10)


def test_the_stretch_with_a_bias_is_that_of_tokens_with_a_constant_coordinate():
    rng = np.random.default_rng(0)
    query, key, value = rng.normal(size=(3, 4, 3))
    bias = rng.normal(size=4)
    x, h = rng.normal(size=(2, 4, 3))
    masses = np.array([1.0, 2.0, 5.0, 1.0])
    wide = [np.column_stack([m, column]) for m, column in ((query, bias), (key, np.ones(4)), (value, np.ones(4)))]
    heads = MultiHead.from_matrices(*wide, np.eye(4), heads=2)
    for causal in (False, True):
        layer = as_attention_weights(
            query, key, value, None, heads=2, causal=causal, residual=False, score="dot", b_query=bias
        )
        blocks = multihead_jacobian(Measure.normalised(np.column_stack([x, np.ones(4)]), masses), heads, causal=causal)
        moved = np.einsum("ijab,jb->ia", blocks, np.column_stack([h, np.zeros(4)]))
        size = [math.sqrt(masses @ (v**2).sum(axis=1)) for v in (moved, h)]
        assert enclose_stretch(layer, x, h, masses, 2)[0].mid == pytest.approx(size[0] / size[1], rel=1e-11, abs=0.0)


@pytest.mark.parametrize("options", [{}, {"n": 5}, {"n": 4, "causal": True}, {"residual": True}, {"n": 1}])
def test_constants_dominate_what_is_found(options):
    rng = np.random.default_rng(1)
    parts = {name: 0.5 * rng.normal(size=(4, 4)) for name in ("w_query", "w_key", "w_value", "w_out")}
    found = certify(**parts, radius=1.1, heads=2, b_query=rng.normal(size=4), **options)
    for row in found.rows:
        if row.constant is not None and row.found is not None:
            assert 0.0 < row.lower <= row.constant
            assert (np.linalg.norm(row.found.points, axis=1) <= 1.1).all()


def test_biases_that_do_not_fit():
    for bias, words in (([1.0], r"b_query: expected shape \(2,\)"), ([math.nan, 0.0], "b_query: expected finite")):
        with pytest.raises(ValueError, match=words):
            certify(**ISSUE, b_query=bias)
    with pytest.raises(ValueError, match="b_query: expected sizes of zero or from"):
        certify(**ISSUE, b_query=[1e80, 0.0])
    tied = {**ISSUE, "w_key": ISSUE["w_query"]}
    with pytest.raises(ValueError, match="b_query: expected none for distance attention"):
        certify(**tied, b_query=[1.0, 0.0], score="distance")
