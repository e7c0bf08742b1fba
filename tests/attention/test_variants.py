"""Row maps and the k best keys, against laws in ball arithmetic, and what is refused."""

import functools
import itertools

import numpy as np
import pytest

from tests.attention import exact
from tests.attention.inputs import DISGUISES, disguised
from theory.attention import DotProduct, SquaredDistance, attend, rounding, weight_error
from theory.attention.variants import attend_rows, top_k
from theory.evidence import stream
from theory.evidence.roundoff import gamma
from theory.maxent import entmax, softmax, sparsemax

PLAIN = DotProduct(scale=1.0)
TOKENS = np.array([[1.0, 2.0], [0.0, 1.0], [-1.0, 0.0]])
INF = float("inf")


def cloud(n, case=0):
    rng = stream("tests.variants", case)
    return rng.normal(size=(n, 2)), rng.normal(size=(n, 2)), rng.normal(size=(n, 3))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("n", [1, 3, 255, 256, 257, 600])
def test_softmax_rows_are_attention_across_blocks(n, causal):
    q, k, v = cloud(n)
    error = 2.0 * rounding(q, k, v, score=PLAIN)
    for rows in (softmax, functools.partial(top_k, k=n)):
        found = attend_rows(q, k, v, rows=rows, score=PLAIN, causal=causal)
        assert np.abs(found - attend(q, k, v, score=PLAIN, causal=causal)).max() <= error


def test_a_sparse_map_by_hand():
    """Scores 1, 0 and -9 have sparsemax 1, 0, 0; scores 0.5 and 0 have 3/4 and 1/4."""
    keys = np.array([[1.0], [0.0], [-9.0]])
    values = np.array([[4.0], [8.0], [100.0]])
    found = attend_rows([[1.0], [0.5]], keys, values, rows=sparsemax, score=PLAIN)
    assert np.array_equal(found, [[4.0], [5.0]])


def test_a_map_with_parameters_sees_the_mask():
    q, k, v = cloud(20, 1)
    rows = functools.partial(entmax, alpha=1.5, tau=0.7)
    found = attend_rows(q, k, v, rows=rows, causal=True)
    scores = DotProduct().matrix(q, k)
    for i in range(20):
        law = entmax(scores[i, : i + 1], 1.5, tau=0.7)
        assert np.allclose(found[i], law @ v[: i + 1], rtol=0.0, atol=1e-14)


def test_a_prior_weighs_the_keys():
    q, k, v = cloud(7, 2)
    masses = np.arange(7.0) / 21.0
    found = attend_rows(q, k, v, rows=functools.partial(softmax, prior=masses), score=PLAIN)
    assert np.allclose(found, attend(q, k, v, score=PLAIN, weights=masses), rtol=0.0, atol=1e-14)


@pytest.mark.parametrize("score", [PLAIN, SquaredDistance(0.7)])
def test_top_k_is_the_best_subset(score):
    q, k, _ = cloud(6, 3)
    laws, _ = exact.laws(exact.scores(score, q, k))
    error = weight_error(q, k, score) + gamma(8)
    for count in range(1, 7):
        found = attend_rows(q, k, np.eye(6), rows=functools.partial(top_k, k=count), score=score)
        for row, law in zip(found, laws, strict=True):
            best = max(
                (list(kept) for kept in itertools.combinations(range(6), count)), key=lambda s: float(law[s].sum())
            )
            truth = np.full(6, law[0] - law[0], dtype=object)
            truth[best] = law[best] / law[best].sum()
            assert exact.apart(row, truth) <= error


def test_ties_go_to_the_first():
    assert np.array_equal(top_k([[0.0, 1.0, 1.0, 1.0]], 2), [[0.0, 0.5, 0.5, 0.0]])


def test_a_row_that_sees_fewer_takes_them_all():
    assert np.array_equal(top_k([[-INF, 2.0, -INF], [1.0, -INF, 1.0]], 2), [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]])


def test_scores_of_any_size():
    assert np.array_equal(top_k([[1e308, -1e308, 0.0]], 3), [[1.0, 0.0, 0.0]])


@pytest.mark.parametrize("kind", DISGUISES)
def test_what_means_the_same_is_taken(kind):
    good = attend_rows(TOKENS, TOKENS, TOKENS, rows=softmax)
    assert np.array_equal(attend_rows(*[disguised(TOKENS)[kind]] * 3, rows=softmax), good)
    assert np.array_equal(top_k(disguised(TOKENS)[kind], 1), top_k(TOKENS, 1))


@pytest.mark.parametrize(
    ("rows", "error", "words"),
    [
        (None, TypeError, "rows: expected a map from scores to weights, got NoneType"),
        (
            lambda s: np.zeros((s.shape[0], 2)),
            ValueError,
            r"rows: expected weights of shape \(3, 3\), got shape \(3, 2\)",
        ),
        (lambda s: np.full(s.shape, np.nan), ValueError, "rows: expected finite numbers"),
        (
            lambda s: np.full(s.shape, 1.0 / s.shape[1]),
            ValueError,
            "rows: expected weight zero where the score is -inf",
        ),
    ],
)
def test_bad_maps_are_refused(rows, error, words):
    with pytest.raises(error, match=f"^{words}"):
        attend_rows(TOKENS, TOKENS, TOKENS, rows=rows, causal=True)


def test_other_bad_arguments_are_refused():
    with pytest.raises(ValueError, match=r"^k: expected at most the number of keys, 3, got 4"):
        top_k(np.zeros((1, 3)), 4)
    with pytest.raises(ValueError, match=r"^k: expected an integer of at least 1, got 0"):
        top_k(np.zeros((1, 3)), 0)
    with pytest.raises(TypeError, match=r"^k: expected an integer"):
        top_k(np.zeros((1, 3)), 1.0)
    with pytest.raises(ValueError, match=r"^scores: expected a key in every row, got none in row 1"):
        top_k([[0.0, 0.0], [-INF, -INF]], 1)
    with pytest.raises(ValueError, match=r"^queries: expected as many as keys, 3, got 2"):
        attend_rows(TOKENS[:2], TOKENS, TOKENS, rows=softmax, causal=True)
    with pytest.raises(TypeError, match=r"^causal: expected True or False"):
        attend_rows(TOKENS, TOKENS, TOKENS, rows=softmax, causal=1)
    with pytest.raises(TypeError, match=r"^score: expected a Score"):
        attend_rows(TOKENS, TOKENS, TOKENS, rows=softmax, score="dot")
