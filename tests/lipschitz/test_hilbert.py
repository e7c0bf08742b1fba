"""The crossed spread, the bounds that it gives, and Sinkhorn's sweeps against plain matrix scaling."""

import itertools
import math

import numpy as np
import pytest

from theory.evidence import stream
from theory.lipschitz.depth import crossed_spread, rows_bound, sinkhorn_plan, sinkhorn_sweep, sinkhorn_sweep_bound


@pytest.mark.parametrize("case", range(4))
def test_the_spread_is_a_maximum_over_four_indices(case):
    rng = stream("tests.hilbert", case)
    s = rng.normal(size=tuple(rng.integers(1, 5, size=2)))
    rows, columns = map(range, s.shape)
    wanted = max(
        s[i, j] - s[k, j] - s[i, m] + s[k, m] for i, k, j, m in itertools.product(rows, rows, columns, columns)
    )
    assert crossed_spread(s) == pytest.approx(wanted, rel=1e-13, abs=1e-15)
    shifted = s + rng.normal(size=(s.shape[0], 1)) + rng.normal(size=s.shape[1])
    assert crossed_spread(shifted) == pytest.approx(wanted, rel=1e-12, abs=1e-14)


def test_bounds():
    assert rows_bound(4.0) == pytest.approx(math.tanh(1.0), rel=1e-15, abs=0.0)
    assert sinkhorn_sweep_bound(4.0) == pytest.approx(math.tanh(1.0) ** 2, rel=1e-15, abs=0.0)
    assert rows_bound(0.0) == 0.0


def test_a_sweep_is_two_normalisations():
    rng = stream("tests.hilbert", 9)
    s, f = rng.normal(size=(3, 4)), rng.normal(size=3)
    scaled = np.exp(s) * np.exp(f)[:, np.newaxis]
    columns = scaled / scaled.sum(axis=0)
    assert np.abs(sinkhorn_plan(s, f).astype(float) - columns).max() <= 1e-14
    factors = 1.0 / (np.exp(s) / scaled.sum(axis=0)).sum(axis=1)
    assert np.abs(np.exp(sinkhorn_sweep(s, f).astype(float)) - factors).max() <= 1e-13


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: crossed_spread([1.0]), "scores: expected shape"),
        (lambda: rows_bound(-1.0), "spread: expected a non-negative"),
        (lambda: sinkhorn_sweep([[1.0, 2.0]], [0.0, 1.0]), "potential: expected shape"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
