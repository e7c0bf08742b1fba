"""Dropout: its mask, its draws, that nothing else changes, and what is refused."""

import numpy as np
import pytest

from tests.attention.inputs import KINDS, spoilt
from theory.attention import DotProduct, attend, rounding
from theory.attention.variants import attend_dropout, drop_weights
from theory.evidence import proportion, stream

PLAIN = DotProduct(scale=1.0)
TOKENS = np.array([[1.0, 2.0], [0.0, 1.0], [-1.0, 0.0]])


def rng(case=0):
    return stream("tests.dropout", case)


def test_the_mask_by_hand():
    assert np.array_equal(drop_weights([0.5, 0.25, 0.25], np.array([True, False, True]), 0.5), [1.0, 0.0, 0.5])
    assert np.array_equal(drop_weights([[0.75]], np.array([[True]]), 0.25), [[1.0]])


@pytest.mark.parametrize("causal", [False, True])
def test_rate_zero_is_attention(causal):
    for n in (1, 257):
        x = rng(n).normal(size=(n, 2))
        found = attend_dropout(x, x, x, rate=0, rng=rng(), score=PLAIN, causal=causal)
        assert np.abs(found - attend(x, x, x, score=PLAIN, causal=causal)).max() <= 2.0 * rounding(x, x, x, score=PLAIN)


def test_the_weights_that_are_kept_are_those_of_attention():
    """One value per key shows the weights; each is zero or its share of the softmax over the rate."""
    n = 300
    x = rng(1).normal(size=(n, 2))
    masses = np.arange(float(n)) + 1.0
    law = attend(x, x, np.eye(n), score=PLAIN, weights=masses, causal=True)
    rows = attend_dropout(x, x, np.eye(n), rate=0.75, rng=rng(), score=PLAIN, weights=masses, causal=True)
    kept = rows != 0.0
    assert np.allclose(rows[kept], 4.0 * law[kept], rtol=1e-11, atol=0.0)
    seen = np.tril(np.ones((n, n), dtype=bool))
    assert not kept[~seen].any()
    assert 0.25 in proportion(int(kept[seen].sum()), int(seen.sum()))


def test_draws_are_those_of_the_generator():
    left, right = (attend_dropout(TOKENS, TOKENS, TOKENS, rate=0.5, rng=rng(2)) for _ in range(2))
    assert np.array_equal(left, right)
    kept = rng(2).random((3, 3)) >= 0.5
    law = attend(TOKENS, TOKENS, np.eye(3))
    assert np.allclose(left, (2.0 * kept * law) @ TOKENS, rtol=0.0, atol=1e-14)


def test_a_key_of_weight_zero_takes_no_draw():
    some = attend_dropout(TOKENS, TOKENS, TOKENS, rate=0.5, rng=rng(3), weights=[1, 0, 1])
    part = attend_dropout(TOKENS, TOKENS[[0, 2]], TOKENS[[0, 2]], rate=0.5, rng=rng(3))
    assert np.array_equal(some, part)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_bad_tokens_are_refused(kind, at):
    arguments = [TOKENS, TOKENS, TOKENS]
    arguments[at] = spoilt(TOKENS)[kind]
    with pytest.raises((ValueError, TypeError), match=r"^(queries|keys|values): expected"):
        attend_dropout(*arguments, rate=0.5, rng=rng())


@pytest.mark.parametrize(
    ("rate", "error"),
    [(1.0, ValueError), (-0.1, ValueError), (np.nan, ValueError), (True, TypeError), ("0.5", TypeError)],
)
def test_bad_rates_are_refused(rate, error):
    with pytest.raises(error, match=r"^rate: expected a number"):
        attend_dropout(TOKENS, TOKENS, TOKENS, rate=rate, rng=rng())
    with pytest.raises(error, match=r"^rate: expected a number"):
        drop_weights([1.0], np.array([True]), rate)


def test_other_bad_arguments_are_refused():
    with pytest.raises(TypeError, match=r"^rng: expected a numpy.random.Generator, got int"):
        attend_dropout(TOKENS, TOKENS, TOKENS, rate=0.5, rng=3)
    with pytest.raises(ValueError, match=r"^kept: expected booleans of shape \(2,\)"):
        drop_weights([1.0, 0.0], np.array([True]), 0.5)
    with pytest.raises(ValueError, match=r"^kept: expected booleans"):
        drop_weights([1.0, 0.0], np.array([1.0, 0.0]), 0.5)
    with pytest.raises(ValueError, match=r"^weights: expected a key of positive weight at or before every query"):
        attend_dropout(TOKENS, TOKENS, TOKENS, rate=0.5, rng=rng(), causal=True, weights=[0, 1, 1])
    with pytest.raises(ValueError, match=r"^queries: expected as many as keys"):
        attend_dropout(TOKENS[:2], TOKENS, TOKENS, rate=0.5, rng=rng(), causal=True)
