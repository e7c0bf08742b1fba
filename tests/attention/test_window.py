"""Windows against the same attention with a mask in ball arithmetic, across blocks, and what is refused."""

import numpy as np
import pytest

from tests.attention.inputs import KINDS, spoilt
from theory.attention import DotProduct, SquaredDistance, attend, rounding
from theory.attention.variants import attend_window
from theory.evidence import exact, stream
from theory.evidence.roundoff import gamma

PLAIN = DotProduct(scale=1.0)
TOKENS = np.array([[1.0, 2.0], [0.0, 1.0], [-1.0, 0.0]])


def cloud(n, case=0):
    rng = stream("tests.window", case)
    return rng.normal(size=(n, 2)), rng.normal(size=(n, 2)), rng.normal(size=(n, 3))


@pytest.mark.parametrize(("back", "ahead"), [(0, 0), (2, 0), (0, 3), (1, 2), (99, 99)])
@pytest.mark.parametrize("score", [PLAIN, SquaredDistance(0.7)])
def test_against_the_masked_formula(score, back, ahead):
    for case, n in enumerate((1, 2, 9)):
        q, k, v = cloud(n, case)
        masses = np.arange(1.0, n + 1.0)
        found = attend_window(q, k, v, back=back, ahead=ahead, score=score, weights=masses)
        scores = exact.scores(score, q, k)
        error = rounding(q, k, v, score=score, weights=masses) + gamma(2 * n + 16) * np.abs(v).max()
        for i in range(n):
            near = slice(max(0, i - back), min(n, i + ahead + 1))
            truth = exact.average(scores[i : i + 1, near], v[near], masses[near])
            assert exact.apart(found[i : i + 1], truth) <= error


@pytest.mark.parametrize("n", [255, 256, 257, 600])
def test_wide_windows_are_plain_attention(n):
    q, k, v = cloud(n)
    error = 2.0 * rounding(q, k, v, score=PLAIN)
    assert (
        np.abs(attend_window(q, k, v, back=n, score=PLAIN) - attend(q, k, v, score=PLAIN, causal=True)).max() <= error
    )
    assert np.abs(attend_window(q, k, v, back=n, ahead=n, score=PLAIN) - attend(q, k, v, score=PLAIN)).max() <= error


def test_what_is_outside_the_window_has_no_influence():
    q, k, v = cloud(700, 1)
    before = attend_window(q, k, v, back=3, ahead=1)
    k[400], v[400] = 50.0, 1e9
    after = attend_window(q, k, v, back=3, ahead=1)
    changed = np.flatnonzero((before != after).any(axis=1))
    assert changed.min() == 399
    assert changed.max() == 403


def test_a_window_of_one_reads_itself():
    q, k, v = cloud(300, 2)
    assert np.array_equal(attend_window(q, k, v, back=0), v)


def test_keys_of_weight_zero_are_absent():
    q, k, v = cloud(5, 3)
    left = attend_window(q, k, v, back=2, weights=[1, 0, 1, 0, 1])
    v[[1, 3]] = 1e300
    assert np.array_equal(left, attend_window(q, k, v, back=2, weights=[1, 0, 1, 0, 1]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_bad_tokens_are_refused(kind, at):
    arguments = [TOKENS, TOKENS, TOKENS]
    arguments[at] = spoilt(TOKENS)[kind]
    with pytest.raises((ValueError, TypeError), match=r"^(queries|keys|values): expected"):
        attend_window(*arguments, back=1)


def test_other_bad_arguments_are_refused():
    with pytest.raises(ValueError, match=r"^back: expected an integer of at least 0, got -1"):
        attend_window(TOKENS, TOKENS, TOKENS, back=-1)
    with pytest.raises(TypeError, match=r"^ahead: expected an integer"):
        attend_window(TOKENS, TOKENS, TOKENS, back=1, ahead=0.5)
    with pytest.raises(ValueError, match=r"^queries: expected as many as keys, 3, got 2"):
        attend_window(TOKENS[:2], TOKENS, TOKENS, back=1)
    with pytest.raises(
        ValueError, match=r"^weights: expected a key of positive weight in every window, got none for 2"
    ):
        attend_window(TOKENS, TOKENS, TOKENS, back=0, weights=[1, 1, 0])
    with pytest.raises(ValueError, match=r"^weights: expected non-negative masses"):
        attend_window(TOKENS, TOKENS, TOKENS, back=0, weights=[1, 1, -1])
