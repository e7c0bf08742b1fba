"""The variance between tokens against NumPy, and its bounds against a search over rows."""

import math

import numpy as np
import pytest

from theory.evidence import exact, stream
from theory.lipschitz.depth import token_variance, variance_bound, variance_floor


def test_variance_is_that_of_numpy_in_every_unit():
    rng = stream("tests.variance", 0)
    tokens, masses = rng.normal(size=(7, 3)), rng.dirichlet(np.ones(7))
    plain = tokens.var(axis=0).sum()
    weighted = masses @ np.square(tokens - masses @ tokens).sum(axis=1)
    for unit in (1.0, 1e-150, 1e150):
        assert token_variance(unit * tokens).mid == pytest.approx(unit**2 * plain, rel=1e-13, abs=0.0)
        assert token_variance(unit * tokens, 5.0 * masses).mid == pytest.approx(unit**2 * weighted, rel=1e-13, abs=0.0)
    assert token_variance(np.full((3, 2), 0.5)).hi <= 1e-29


def best_ratio(spread, n):
    """The largest variance of a mean of n values of variance one under two laws, tilted by a spread at most."""
    found = 0.0
    for k in range(1, n // 2 + 1):
        values = np.concatenate([np.ones(k), np.zeros(n - 2 * k), -np.ones(k)])
        values /= values.std()
        tilts = [np.exp(spread * (np.arange(n) < count)) for count in range(1, n)]
        means = [tilt @ values / tilt.sum() for tilt in tilts]
        found = max(found, max(means) ** 2)
    return found


@pytest.mark.parametrize("ratio", [1.5, 3.0, 5.0, 17.0])
def test_bound_is_the_best_of_all_tilts(ratio):
    assert variance_bound(math.log(ratio)) == pytest.approx(best_ratio(math.log(ratio), 32), rel=1e-12, abs=0.0)


def test_bound_and_floor():
    assert variance_bound(0.5) == pytest.approx(math.tanh(0.25) ** 2, rel=1e-14, abs=0.0)
    assert variance_bound(math.log(9.0)) == pytest.approx(1.0, rel=1e-14, abs=0.0)
    assert variance_floor(0.5) == pytest.approx((1.0 - math.tanh(0.25)) ** 2, rel=1e-14, abs=0.0)
    assert variance_floor(4.0) == pytest.approx((1.0 - math.tanh(2.0)) ** 2, rel=1e-13, abs=0.0)
    assert variance_floor(40.0) == pytest.approx(4.0 * math.exp(-80.0), rel=1e-13, abs=0.0)
    assert variance_floor(1e4) == 0.0
    assert variance_bound(0.0) == 0.0
    assert variance_floor(0.0) == 1.0
    assert variance_bound(exact(1e-9)).lo <= math.tanh(5e-10) ** 2 <= variance_bound(exact(1e-9)).hi


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: token_variance([1.0]), "tokens: expected shape"),
        (lambda: token_variance([[1.0], [2.0]], [1.0]), "masses: expected shape"),
        (lambda: variance_bound(-1.0), "spread: expected a non-negative"),
        (lambda: variance_bound(1e4), "spread: "),
        (lambda: variance_floor(-1.0), "spread: expected a non-negative"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
