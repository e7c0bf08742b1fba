"""The layer against loops over rows, and its vector-Jacobian product against differences."""

import math

import numpy as np
import pytest

from theory.metric import attention_weights, average_tokens, make_similarity, vjp
from theory.metric.similarity import sizes_of

KINDS = ("self", "l2", "metric")


def problem(kind, *, shape=(5, 2), seed=10):
    rng = np.random.default_rng(seed)
    similar = make_similarity(kind, shape[-1], 3)
    return similar, 0.5 * rng.normal(size=sum(sizes_of(similar.shapes))), rng.normal(size=shape), rng


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_softmax_and_outputs_their_averages(kind):
    similar, theta, h, rng = problem(kind, shape=(3, 5, 2))
    visible = (rng.uniform(size=(5, 5)) < 0.6) | np.eye(5, dtype=bool)
    for mask in (None, visible):
        rows = attention_weights(similar, theta, h, mask=mask)
        out = average_tokens(similar, theta, h, mask=mask)
        for b in range(3):
            scores = similar.scores(theta, h[b])
            for i in range(5):
                seen = [j for j in range(5) if mask is None or mask[i, j]]
                law = {j: math.exp(scores[i, j]) for j in seen}
                total = sum(law.values())
                exact = [law.get(j, 0.0) / total for j in range(5)]
                np.testing.assert_allclose(rows[b, i], exact, rtol=1e-12, atol=1e-15)
                mean = sum(exact[j] * h[b, j] for j in range(5))
                np.testing.assert_allclose(out[b, i], mean, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("shift", [2.0**20, 2.0**23, 2.0**27, 2.0**30, 2.0**44])
def test_tokens_far_from_the_origin_have_the_weights_and_slopes_of_their_differences(shift):
    similar = make_similarity("l2", 2, 2)
    # exact after the shift
    theta = np.eye(2).ravel()
    h = np.round(problem("l2", shape=(3, 5, 2))[2] * 2**8) / 2**8
    near = attention_weights(similar, theta, h)
    far = attention_weights(similar, theta, h + shift)
    np.testing.assert_allclose(far, near, rtol=1e-13, atol=0)
    np.testing.assert_allclose(
        average_tokens(similar, theta, h + shift) - shift, near @ h, rtol=0, atol=4 * shift * 2**-52
    )
    theta = np.array([[0.7, -0.3], [0.2, 0.9]]).ravel()
    bar = problem("l2", shape=(3, 5, 2), seed=11)[2]
    near = attention_weights(similar, theta, h)
    far = attention_weights(similar, theta, h + shift)
    np.testing.assert_allclose(far, near, rtol=1e-13, atol=0)
    for near, far in zip(vjp(similar, theta, h, bar), vjp(similar, theta, h + shift, bar), strict=True):
        np.testing.assert_allclose(far, near, rtol=0, atol=1e-13)
    similar, theta, h, _ = problem("metric")
    theta[6:9] -= shift * theta[:6].reshape(2, 3).sum(axis=0)  # the hidden layer sees the tokens where they were
    near = attention_weights(similar, problem("metric")[1], h)
    np.testing.assert_allclose(attention_weights(similar, theta, h + shift), near, rtol=0, atol=64 * shift * 2**-52)


@pytest.mark.parametrize("kind", ["l2", "metric"])
@pytest.mark.parametrize("size", [1.0, 1e2, 1e4, 1e9])
def test_scores_are_those_of_differences_at_any_size(kind, size):
    similar, theta, h, _ = problem(kind, shape=(2, 5, 2))
    h = h + size
    for stack, scores in zip(h, similar.scores(theta, h), strict=True):
        f = similar.features(theta)(stack)
        wanted = -((f[:, np.newaxis] - f) ** 2).sum(axis=-1)
        np.testing.assert_allclose(scores, wanted, rtol=0, atol=2.0**-30 + 64 * size * 2**-52)


def test_large_scores_do_not_overflow():
    similar, theta, h, _ = problem("metric")
    far = average_tokens(similar, theta, 1e3 * h)
    np.testing.assert_allclose(far, 1e3 * h, rtol=1e-12, atol=1e-9)


def test_arguments_are_left_as_they_are():
    similar, theta, h, rng = problem("metric")
    bar = rng.normal(size=h.shape)
    before = [v.copy() for v in (theta, h, bar)]
    vjp(similar, theta, h, bar)
    for old, new in zip(before, (theta, h, bar), strict=True):
        np.testing.assert_array_equal(old, new)


def test_permuted_tokens_have_permuted_outputs():
    similar, theta, h, rng = problem("metric")
    turn = rng.permutation(5)
    out = average_tokens(similar, theta, h)
    np.testing.assert_allclose(average_tokens(similar, theta, h[turn]), out[turn], rtol=1e-12, atol=1e-13)


def test_bad_arguments_are_refused():
    similar, theta, h, _ = problem("metric")
    with pytest.raises(ValueError, match=r"h: expected shape \(..., n, 2\), got shape \(5, 3\)"):
        average_tokens(similar, theta, np.ones((5, 3)))
    with pytest.raises(ValueError, match="theta: expected shape"):
        attention_weights(similar, theta[1:], h)
    with pytest.raises(ValueError, match=r"mask: expected booleans of shape \(5, 5\), got bool of shape \(4, 4\)"):
        attention_weights(similar, theta, h, mask=np.ones((4, 4), dtype=bool))
    with pytest.raises(ValueError, match="mask: expected booleans"):
        attention_weights(similar, theta, h, mask=np.ones((5, 5)))
    with pytest.raises(ValueError, match="mask: expected a key for every query"):
        attention_weights(similar, theta, h, mask=np.zeros((5, 5), dtype=bool))
    with pytest.raises(ValueError, match=r"cotangent: expected shape \(5, 2\), got shape \(5, 1\)"):
        vjp(similar, theta, h, np.ones((5, 1)))
    for shape in ((3, 5, 5), ()):
        with pytest.raises(ValueError, match=r"mask: expected booleans of shape \(5, 5\), got bool of shape"):
            attention_weights(similar, theta, h, mask=np.ones(shape, dtype=bool))
    with pytest.raises(ValueError, match="h: expected tokens whose scores float64 can hold"):
        average_tokens(similar, theta, 1e200 * h)
    np.testing.assert_array_equal(attention_weights(similar, theta, h, mask=np.eye(5, dtype=bool).tolist()), np.eye(5))
