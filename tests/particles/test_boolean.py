"""Tokens on the line against the printed field, rows against mpmath, and a token near zero against its four tokens."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from theory.particles import flow
from theory.particles.exact import LineField, UndecidedField

TOKENS = np.array([-1.5, -0.25, 0.125, 0.75, 2.0])


def plain(x, score, value, copies=None):
    """The field as printed."""
    masses = np.ones(x.size) if copies is None else np.asarray(copies)
    weights = masses * np.exp(score * np.outer(x, x))
    return value * (weights @ x) / weights.sum(axis=1)


@pytest.mark.parametrize("copies", [None, (1.0, 2.0, 1.0, 1.0, 3.0)])
def test_the_velocity_is_the_printed_one(copies):
    line = LineField(0.7, 1.3, copies)
    moving = np.cumsum(line(line.state(TOKENS)))
    np.testing.assert_allclose(moving, plain(TOKENS, 0.7, 1.3, copies), rtol=0, atol=1e-14)
    positions = flow(line, line.state(TOKENS), [0.0, 0.5]).last
    ambient = flow(lambda x: plain(x, 0.7, 1.3, copies), TOKENS, [0.0, 0.5]).last
    np.testing.assert_allclose(line.tokens(positions), ambient, rtol=1e-11, atol=0)


def test_what_a_row_leaves_against_mpmath():
    line = LineField(3.0, 1.0)
    state = line.state(40.0 * TOKENS)  # errors far below the range of floats
    with mpmath.workdps(60):
        for row, x in enumerate((40.0 * TOKENS).tolist()):
            raw = [mpmath.exp(3.0 * mpmath.mpf(x) * y) for y in (40.0 * TOKENS).tolist()]
            left = sum(sorted(raw)[:-1]) / sum(raw)
            assert line.log_error(state, row) == pytest.approx(float(mpmath.log(left)), rel=1e-13, abs=0)
    assert line.selected(state).tolist() == [0, 0, 4, 4, 4]


def test_copies_share_the_weight_and_do_not_count_as_error():
    line = LineField(1.0, 1.0, (1.0, 1.0, 2.0))
    state = line.state([-0.5, 0.5, 4.0])
    law = np.exp(line.log_weights(state)[2])
    raw = np.exp(4.0 * np.array([-0.5, 0.5, 4.0, 4.0]))
    np.testing.assert_allclose(law, [raw[0], raw[1], raw[2] + raw[3]] / raw.sum(), rtol=1e-13, atol=0)
    assert line.log_error(state, 2) == pytest.approx(math.log((raw[0] + raw[1]) / raw.sum()), rel=1e-13, abs=0)


def test_the_distance_to_the_nearest_other_token():
    line = LineField(1.0, 1.0)
    state = line.state(TOKENS)
    assert [line.beside(state, k) for k in range(5)] == [1.25, 0.375, 0.375, 0.625, 1.25]


@pytest.mark.parametrize("log_near", [-0.5, -3.0, -30.0])
def test_a_token_near_zero_is_one_of_four(log_near):
    field = UndecidedField(0.8, 1.5)
    far = 1.25
    with mpmath.workdps(50):
        x = [-mpmath.mpf(far), -mpmath.exp(log_near), mpmath.exp(log_near), mpmath.mpf(far)]
        exact = []
        for k in (3, 2):
            raw = [mpmath.exp(mpmath.mpf(0.8) * x[k] * y) for y in x]
            exact.append(float(1.5 * sum(w * y for w, y in zip(raw, x, strict=True)) / sum(raw) / x[k]))
    np.testing.assert_allclose(field(np.array([math.log(far), log_near])), exact, rtol=1e-8, atol=0)


def test_a_token_below_the_range_of_floats_moves():
    field = UndecidedField(1.0, 1.0)
    growth = field(np.array([0.5, -1e6]))
    assert growth[1] == pytest.approx(math.e / 2.0, rel=1e-14, abs=0)  # A X^2 / 2
    assert growth[0] == pytest.approx(math.tanh(math.e / 2.0), rel=1e-14, abs=0)
    assert field.log_score(np.array([2.0, -5.0])) == -3.0


def test_bad_input():
    with pytest.raises(ValueError, match="value: expected a positive, finite number"):
        LineField(1.0, -1.0)
    with pytest.raises(ValueError, match=r"copies: expected positive numbers, got 0\.0"):
        LineField(1.0, 1.0, (1.0, 0.0))
    with pytest.raises(ValueError, match="tokens: expected at least two, got one"):
        LineField(1.0, 1.0).state([0.5])
    with pytest.raises(ValueError, match="tokens: expected increasing numbers"):
        LineField(1.0, 1.0).state([0.0, 0.0])
    with pytest.raises(ValueError, match=r"tokens: expected shape \(3,\), got shape \(2,\)"):
        LineField(1.0, 1.0, (1.0, 1.0, 2.0)).state([0.0, 1.0])
    with pytest.raises(ValueError, match="score: expected a positive, finite number"):
        UndecidedField(0.0, 1.0)
