"""Influence through layers, against powers of matrices in fractions and against all ways to walk."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from theory.evidence import Kind, precision
from theory.positions import causal_influence, studies, window_walk


def last_row(tokens, depth, kept):
    """The last row of a power, by products of matrices of fractions."""
    layer = [
        [(1 - kept) * Fraction(j <= i, i + 1) + kept * (i == j) for j in range(tokens)] for i in range(tokens)
    ]  # fmt: skip
    row = [Fraction(j == tokens - 1) for j in range(tokens)]
    for _ in range(depth):
        row = [sum(row[i] * layer[i][j] for i in range(tokens)) for j in range(tokens)]
    return row


@pytest.mark.parametrize("kept", [Fraction(0), Fraction(1, 3), Fraction(1)])
@pytest.mark.parametrize(("tokens", "depth"), [(1, 3), (2, 0), (5, 1), (7, 4)])
def test_powers_of_matrices(tokens, depth, kept):
    found = causal_influence(tokens, depth, kept)
    for value, true in zip(found, last_row(tokens, depth, kept), strict=True):
        assert true in value
        assert value.width <= 1e-15


def test_floats_are_taken_as_they_are():
    exactly, nearly = causal_influence(2, 1, Fraction(1, 10))[0], causal_influence(2, 1, 0.1)[0]
    assert Fraction(9, 20) in exactly
    assert Fraction(1 - Fraction(0.1), 2) in nearly


@pytest.mark.parametrize("kept", [Fraction(0), Fraction(1, 3)])
@pytest.mark.parametrize(("window", "depth"), [(1, 2), (3, 0), (3, 1), (2, 4), (4, 3)])
def test_all_ways_to_walk(window, depth, kept):
    walk = window_walk(window, depth, kept)
    chances = {}
    for steps in itertools.product([None, *range(window)], repeat=depth):
        chance = Fraction(1)
        for step in steps:
            chance *= kept if step is None else (1 - kept) / window
        reached = sum(step or 0 for step in steps)
        chances[reached] = chances.get(reached, 0) + chance
    longest = depth * (window - 1)
    assert [walk.at(d) for d in range(longest + 2)] == [chances.get(d, 0) for d in range(longest + 2)]
    assert walk.beyond(0) == 1 - chances[0]
    assert walk.mean() == sum(d * chance for d, chance in chances.items())
    assert walk.variance() == sum(d * d * chance for d, chance in chances.items()) - walk.mean() ** 2
    for share in (Fraction(0), Fraction(1, 100), Fraction(1, 2), Fraction(1)):
        reach = walk.horizon(share)
        assert walk.beyond(reach) <= share
        assert reach == 0 or walk.beyond(reach - 1) > share


def test_shares_outside_are_refused():
    for share in (Fraction(-1, 2), Fraction(3, 2), 1.5):
        with pytest.raises(ValueError, match="residual"):
            window_walk(3, 2, share)


def test_the_table_of_horizons():
    table = studies.horizons(scale="quick", root=1)
    assert table.kind is Kind.CERTIFIED
    reach = table.where(part="horizon", residual=0.95)
    at = dict(zip(reach["depth"].tolist(), reach["distance"].tolist(), strict=True))
    assert (at[12], at[32], at[100]) == (174.0, 289.0, 587.0)
    assert (np.diff(reach["distance"]) >= 0.0).all()
    with precision(200):
        assert studies.horizons(scale="quick", root=1).sha256 == table.sha256
