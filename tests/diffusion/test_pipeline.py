"""The steps of the pipeline against fractions, entry by entry, and what they refuse."""

from fractions import Fraction

import numpy as np
import pytest

from theory.diffusion.similarity import (
    clear_diagonal,
    compose,
    fuzzy_union,
    inflate,
    inflate_exponentially,
    metric_similarity,
    normalise_columns,
    normalise_overall,
    normalise_rows,
    normalise_two_sided,
    symmetrise,
)

S = np.array([[1.0, 2.0, 0.5], [0.25, 1.0, 4.0], [3.0, 1.5, 1.0]])
N = range(3)
EXACT = [[Fraction(x) for x in row] for row in S.tolist()]


def close(found, exact):
    np.testing.assert_allclose(found, np.array(exact, dtype=float), rtol=1e-14, atol=0)


def test_normalisations_are_the_printed_ones():
    rows = [sum(row) for row in EXACT]
    columns = [sum(EXACT[i][j] for i in N) for j in N]
    close(normalise_rows(S), [[EXACT[i][j] / rows[i] for j in N] for i in N])
    close(normalise_columns(S), [[EXACT[i][j] / columns[j] for j in N] for i in N])
    close(normalise_two_sided(S), [[EXACT[i][j] / (rows[i] * rows[j]) for j in N] for i in N])
    close(normalise_overall(S), [[EXACT[i][j] / sum(rows) for j in N] for i in N])
    close(normalise_rows(-S), normalise_rows(S))


def test_similarities_and_inflations_are_the_printed_ones():
    close(metric_similarity(S, 2.0, 5.0), [[5 - x * x for x in row] for row in EXACT])
    close(metric_similarity(S, -1.0, 5.0), [[5 + 1 / x for x in row] for row in EXACT])
    close(inflate(S, 2.0), [[x * x for x in row] for row in EXACT])
    close(inflate(-S, -1.0), [[1 / x for x in row] for row in EXACT])
    close(inflate_exponentially(np.log(S), 0.5), [[x * x for x in row] for row in EXACT])
    widths = np.array([1.0, 0.5, 1.0])
    close(inflate_exponentially(np.log(S), widths), [[x ** (2 if i == 1 else 1) for x in EXACT[i]] for i in N])


def test_symmetric_parts_and_unions():
    close(symmetrise(S), [[(EXACT[i][j] + EXACT[j][i]) / 2 for j in N] for i in N])
    part = S / 4.0
    close(fuzzy_union(part), [[1 - (1 - EXACT[i][j] / 4) * (1 - EXACT[j][i] / 4) for j in N] for i in N])
    assert np.diag(clear_diagonal(S)).tolist() == [0.0, 0.0, 0.0]
    assert clear_diagonal(S)[0, 1] == 2.0


def test_chain_applies_the_first_stage_first():
    close(compose(normalise_rows, normalise_columns)(S), normalise_columns(normalise_rows(S)))
    assert compose()(S) is S


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: metric_similarity(-S, 2.0, 0.0), "distances: expected non-negative"),
        (lambda: metric_similarity(np.zeros((2, 2)), -1.0, 0.0), "distances: expected positive"),
        (lambda: metric_similarity(S, 0.0, 1.0), "t: expected an exponent other than zero"),
        (lambda: inflate(S, 0.0), "r: expected an exponent other than zero"),
        (lambda: inflate(-S, 0.5), "similarity: expected entries with a real power"),
        (lambda: inflate(np.eye(2), -1.0), "similarity: expected entries with a real power"),
        (lambda: inflate(1e200 * S, 2.0), "similarity: expected sizes"),
        (lambda: inflate_exponentially(1e3 * S, 1.0), "similarity: expected sizes"),
        (lambda: inflate_exponentially(S, 0.0), "sigma: expected 3 positive numbers"),
        (lambda: inflate_exponentially(S, [1.0, 1.0]), "sigma: expected 3 positive numbers, got 2"),
        (lambda: normalise_rows(np.array([[1.0, -1.0]])), "similarity: expected sums other than zero"),
        (lambda: normalise_columns(np.zeros((2, 2))), "similarity: expected sums other than zero"),
        (lambda: normalise_rows([[1e308, 1e308]]), "similarity: expected sizes"),
        (lambda: normalise_two_sided([[1e-320, 0.0], [0.0, 1.0]]), "similarity: expected sizes"),
        (lambda: normalise_two_sided(S[:2]), "similarity: expected shape"),
        (lambda: clear_diagonal(S[:2]), "similarity: expected shape"),
        (lambda: symmetrise(S[:2]), "similarity: expected shape"),
        (lambda: fuzzy_union(2.0 * S), "similarity: expected entries from 0 to 1"),
        (lambda: normalise_rows([[np.nan, 1.0]]), "similarity: expected finite numbers"),
    ],
)
def test_bad_input_is_refused_in_words(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_stage_must_be_callable():
    with pytest.raises(TypeError, match="stages: expected maps of matrices, got str at place 1"):
        compose(normalise_rows, "rows")
