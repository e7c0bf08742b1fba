"""Centred layers against the definition in balls of hundreds of digits, and their parts against the similarities."""

import numpy as np
import pytest

from theory.evidence import balls, exact, hull, precision, stream
from theory.metric import (
    CentredTokens,
    SplitScores,
    average_centred,
    centre_tokens,
    make_similarity,
    row_divergences,
    sizes_of,
    softmax_rows,
    split_parameters,
    split_scores,
)

SHAPES = {"dot": "self", "distance": "l2", "metric": "metric", "features": "metric"}


def drawn(kind, scale, case=0):
    rng = stream("tests.centred", case)
    similarity = make_similarity(SHAPES[kind], 3, 2)
    theta = scale * rng.normal(size=sum(sizes_of(similarity.shapes)))
    return rng.normal(size=(5, 3)), split_parameters(theta, similarity.shapes), similarity, theta


def scores_of(kind, h, parts):
    """The scores as they are defined, in balls."""
    if kind == "dot":
        return (h @ parts[0]) @ (h @ parts[1]).T / balls([2.0])[0].sqrt()
    if kind == "distance":
        f = h @ parts[0]
    else:
        t = np.frompyfunc(lambda v: v.tanh(), 1, 1)(h @ parts[0] + parts[1])
        f = h + t @ parts[2] + parts[3]
    if kind == "features":
        return f @ f.T / balls([3.0])[0].sqrt()
    ways = f[:, np.newaxis] - f[np.newaxis]
    return -(ways * ways).sum(axis=2)  # a power of a ball about zero may be unknown


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("scale", [0.03, 0.3, 2.0])
def test_three_layers_are_those_of_the_definition(kind, residual, scale):
    h, parts, _, _ = drawn(kind, scale)
    tokens, enclosed = centre_tokens(h), centre_tokens(exact(h))
    with precision(3000):
        given, plain = balls(h), [balls(part) for part in parts]
        for _ in range(3):
            kernel = np.exp(scores_of(kind, given, plain))
            means = (kernel / kernel.sum(axis=1)[:, np.newaxis]) @ given
            given = given + means if residual else means
            tokens = average_centred(tokens, split_scores(kind, parts, tokens), residual=residual)
            enclosed = average_centred(enclosed, split_scores(kind, parts, enclosed), residual=residual)
            offsets = given - given.sum(axis=0) / len(given)
            wanted = hull(offsets)
            size = np.abs(wanted.mid).max()
            assert np.abs(tokens.offsets - wanted.mid).max() <= 1e-11 * size
            assert (enclosed.offsets.lo <= wanted.hi).all()
            assert (enclosed.offsets.hi >= wanted.lo).all()
            assert scale > 1.0 or enclosed.offsets.width.max() <= 1e-7 * size  # large scores stretch widths
            assert np.abs(tokens.middle - hull(given.sum(axis=0) / len(given)).mid).max() <= 1e-12 * np.abs(h).max() * 8


@pytest.mark.parametrize("kind", ["dot", "distance", "metric"])
def test_weights_are_those_of_the_similarity(kind):
    h, parts, similarity, theta = drawn(kind, 0.7, 1)
    scores = split_scores(kind, parts, centre_tokens(h))
    assert softmax_rows(scores.common + scores.own) == pytest.approx(
        softmax_rows(similarity.scores(theta, h)), rel=1e-12, abs=1e-15
    )


@pytest.mark.parametrize("scale", [1e-9, 0.1, 3.0])
def test_divergences_are_those_of_their_definition(scale):
    rng = stream("tests.centred", 2)
    scores = SplitScores(rng.normal(size=4), scale * rng.normal(size=(4, 4)))
    with precision(500):
        law = np.exp(balls(scores.common))
        law = law / law.sum()
        kernel = law * np.exp(balls(scores.own))
        rows = kernel / kernel.sum(axis=1)[:, np.newaxis]
        wanted = hull(((rows - law) ** 2 / law).sum(axis=1)).mid
    assert row_divergences(scores) == pytest.approx(wanted, rel=1e-6 if scale < 1e-3 else 1e-12, abs=0.0)
    enclosed = row_divergences(SplitScores(exact(scores.common), exact(scores.own)))
    assert (enclosed.lo <= wanted * (1 + 1e-12)).all()
    assert (enclosed.hi >= wanted * (1 - 1e-12)).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: centre_tokens([1.0]), "h: expected shape"),
        (lambda: split_scores("cosine", (), CentredTokens(np.ones(1), np.ones((2, 1)))), "similarity: expected"),
        (lambda: split_scores("dot", (), CentredTokens(np.ones(1), np.ones((2, 1)))), "parameters: expected shapes"),
        (lambda: split_scores("dot", (), CentredTokens(np.ones(2), np.ones((2, 1)))), "tokens: expected shapes"),
        (lambda: row_divergences(SplitScores(np.ones(2), np.ones((2, 3)))), "scores: expected shapes"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
