"""The steps of the pipeline against fractions, entry by entry, and what they refuse."""

from fractions import Fraction

import numpy as np
import pytest

from theory.diffusion.similarity import (
    by_columns,
    by_rows,
    chain,
    exponential_inflation,
    fuzzy_union,
    inflation,
    metric_similarity,
    overall,
    symmetrised,
    two_sided,
    without_self,
)

S = np.array([[1.0, 2.0, 0.5], [0.25, 1.0, 4.0], [3.0, 1.5, 1.0]])
N = range(3)
EXACT = [[Fraction(x) for x in row] for row in S.tolist()]


def close(found, exact):
    np.testing.assert_allclose(found, np.array(exact, dtype=float), rtol=1e-14, atol=0)


def test_normalisations_are_the_printed_ones():
    rows = [sum(row) for row in EXACT]
    columns = [sum(EXACT[i][j] for i in N) for j in N]
    close(by_rows(S), [[EXACT[i][j] / rows[i] for j in N] for i in N])
    close(by_columns(S), [[EXACT[i][j] / columns[j] for j in N] for i in N])
    close(two_sided(S), [[EXACT[i][j] / (rows[i] * rows[j]) for j in N] for i in N])
    close(overall(S), [[EXACT[i][j] / sum(rows) for j in N] for i in N])
    close(by_rows(-S), by_rows(S))


def test_similarities_and_inflations_are_the_printed_ones():
    close(metric_similarity(S, 2.0, 5.0), [[5 - x * x for x in row] for row in EXACT])
    close(metric_similarity(S, -1.0, 5.0), [[5 + 1 / x for x in row] for row in EXACT])
    close(inflation(S, 2.0), [[x * x for x in row] for row in EXACT])
    close(inflation(-S, -1.0), [[1 / x for x in row] for row in EXACT])
    close(exponential_inflation(np.log(S), 0.5), [[x * x for x in row] for row in EXACT])
    widths = np.array([1.0, 0.5, 1.0])
    close(exponential_inflation(np.log(S), widths), [[x ** (2 if i == 1 else 1) for x in EXACT[i]] for i in N])


def test_symmetric_parts_and_unions():
    close(symmetrised(S), [[(EXACT[i][j] + EXACT[j][i]) / 2 for j in N] for i in N])
    part = S / 4.0
    close(fuzzy_union(part), [[1 - (1 - EXACT[i][j] / 4) * (1 - EXACT[j][i] / 4) for j in N] for i in N])
    assert np.diag(without_self(S)).tolist() == [0.0, 0.0, 0.0]
    assert without_self(S)[0, 1] == 2.0


def test_chain_applies_the_first_stage_first():
    close(chain(by_rows, by_columns)(S), by_columns(by_rows(S)))
    assert chain()(S) is S


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: metric_similarity(-S, 2.0, 0.0), "distances: expected non-negative"),
        (lambda: metric_similarity(np.zeros((2, 2)), -1.0, 0.0), "distances: expected positive"),
        (lambda: metric_similarity(S, 0.0, 1.0), "t: expected an exponent other than zero"),
        (lambda: inflation(S, 0.0), "r: expected an exponent other than zero"),
        (lambda: inflation(-S, 0.5), "similarity: expected entries with a real power"),
        (lambda: inflation(np.eye(2), -1.0), "similarity: expected entries with a real power"),
        (lambda: inflation(1e200 * S, 2.0), "similarity: expected sizes"),
        (lambda: exponential_inflation(1e3 * S, 1.0), "similarity: expected sizes"),
        (lambda: exponential_inflation(S, 0.0), "sigma: expected 3 positive numbers"),
        (lambda: exponential_inflation(S, [1.0, 1.0]), "sigma: expected 3 positive numbers, got 2"),
        (lambda: by_rows(np.array([[1.0, -1.0]])), "similarity: expected sums other than zero"),
        (lambda: by_columns(np.zeros((2, 2))), "similarity: expected sums other than zero"),
        (lambda: by_rows([[1e308, 1e308]]), "similarity: expected sizes"),
        (lambda: two_sided([[1e-320, 0.0], [0.0, 1.0]]), "similarity: expected sizes"),
        (lambda: two_sided(S[:2]), "similarity: expected shape"),
        (lambda: without_self(S[:2]), "similarity: expected shape"),
        (lambda: symmetrised(S[:2]), "similarity: expected shape"),
        (lambda: fuzzy_union(2.0 * S), "similarity: expected entries from 0 to 1"),
        (lambda: by_rows([[np.nan, 1.0]]), "similarity: expected finite numbers"),
    ],
)
def test_bad_input_is_refused_in_words(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_stage_must_be_callable():
    with pytest.raises(TypeError, match="stages: expected maps of matrices, got str at place 1"):
        chain(by_rows, "rows")
