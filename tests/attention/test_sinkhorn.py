"""Sinkhorn attention: marginals, a limit in sixty digits, bounds that hold, iterations that say that they stopped."""

import math

import mpmath
import numpy as np
import pytest

from theory.attention import Additive, DotProduct, SquaredDistance, TorusDistance
from theory.attention.sinkhorn import bounds, doubly_normalised, potential_error, sinkhorn_error
from theory.evidence import stream

PLAIN = DotProduct(scale=1.0)


def rng(case=0):
    return stream("tests.sinkhorn", case)


def limit_of(scores, a, b, sweeps=400):
    """Rows of the limit, divided by their masses, in sixty digits: plain scaling of the exponentials."""
    with mpmath.workdps(60):
        m, n = scores.shape
        kernel = [[mpmath.exp(mpmath.mpf(float(s))) for s in row] for row in scores]
        a, b = ([mpmath.mpf(float(x)) / mpmath.fsum(map(float, law)) for x in law] for law in (a, b))
        v = [mpmath.mpf(1)] * n
        for _ in range(sweeps):
            u = [1 / mpmath.fsum(b[j] * kernel[i][j] * v[j] for j in range(n)) for i in range(m)]
            v = [1 / mpmath.fsum(a[i] * kernel[i][j] * u[i] for i in range(m)) for j in range(n)]
        return np.array([[float(u[i] * b[j] * kernel[i][j] * v[j]) for j in range(n)] for i in range(m)])


@pytest.mark.parametrize(
    "score",
    [PLAIN, SquaredDistance(0.5), TorusDistance(0.7), Additive(np.eye(2), 0.5 * np.eye(2), np.array([1.0, -2.0]))],
    ids=["dot", "distance", "torus", "additive"],
)
def test_both_marginals_and_the_limit(score):
    x, y = rng().normal(size=(5, 2)), rng(1).normal(size=(7, 2))
    a, b = rng(2).dirichlet(np.ones(5)), rng(3).dirichlet(np.ones(7))
    found = doubly_normalised(x, y, score=score, query_weights=3.0 * a, key_weights=b)
    rows = found.rows()
    assert found.converged
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(a @ rows, b, rtol=3e-12, atol=0.0)
    np.testing.assert_allclose(rows, limit_of(score.matrix(x, y), a, b), rtol=1e-10, atol=0.0)
    np.testing.assert_allclose(found.output(y), rows @ y, rtol=0.0, atol=1e-13)


def test_a_score_that_only_python_knows_is_transposed():
    class Given:
        def matrix(self, x, y):
            return np.tanh(x @ y.T) + x[:, :1] * y[:, 1:2].T ** 2

        def constants(self, radius):
            raise NotImplementedError

    x, y = rng().normal(size=(4, 2)), rng(1).normal(size=(6, 2))
    found = doubly_normalised(x, y, score=Given())
    truth = limit_of(Given().matrix(x, y), np.ones(4), np.ones(6))
    np.testing.assert_allclose(found.rows(), truth, rtol=1e-10, atol=0.0)


def test_functions_of_query_or_key_alone_do_not_matter():
    x = rng().normal(size=(8, 3))
    dot, distance = (doubly_normalised(x, x, score=score).rows() for score in (PLAIN, SquaredDistance(0.5)))
    np.testing.assert_allclose(dot, distance, rtol=0.0, atol=1e-11)


def test_a_query_of_mass_zero_reads_and_moves_nothing():
    x = rng().normal(size=(6, 2))
    alone = doubly_normalised(x[:5], x[:5], score=PLAIN)
    joined = doubly_normalised(x, x, score=PLAIN, query_weights=[1, 1, 1, 1, 1, 0], key_weights=[1, 1, 1, 1, 1, 0])
    np.testing.assert_allclose(joined.rows()[:5, :5], alone.rows(), rtol=0.0, atol=1e-14)
    assert (joined.rows()[:, 5] == 0.0).all()
    assert joined.g[5] == 0.0
    law = np.exp(x[5] @ x[:5].T + alone.g)
    np.testing.assert_allclose(joined.rows()[5, :5], law / law.sum(), rtol=0.0, atol=1e-13)


def test_what_did_not_converge_says_so():
    x = 2.0 * rng().normal(size=(9, 2))
    short = doubly_normalised(x, x, score=PLAIN, sweeps=2)
    assert not short.converged
    assert short.sweeps == 2
    assert short.residual > 1e-6
    assert sinkhorn_error(short, x) == potential_error(short) == math.inf
    assert doubly_normalised(x, x, score=PLAIN, tolerance=0.0, sweeps=5).sweeps == 5


def test_a_start_is_taken_up():
    x = rng().normal(size=(9, 2))
    found = doubly_normalised(x, x, score=PLAIN)
    again = doubly_normalised(x, x, score=PLAIN, start=found.g, sweeps=0)
    assert again.converged
    assert again.sweeps == 0
    assert np.array_equal(again.g, found.g)


@pytest.mark.parametrize("case", range(4))
@pytest.mark.parametrize("sweeps", [1, 3, 50])
def test_bounds_hold(case, sweeps):
    draw = rng(case)
    x = draw.normal(size=(6, 2))
    y = draw.normal(size=(8, 2))
    values = draw.normal(size=(8, 1))
    a, b = draw.dirichlet(np.ones(6)), draw.dirichlet(np.ones(8))
    found = doubly_normalised(x, y, score=PLAIN, query_weights=a, key_weights=b, sweeps=sweeps, tolerance=0.4)
    found = doubly_normalised(
        x, y, score=PLAIN, query_weights=a, key_weights=b, start=found.g, sweeps=sweeps if sweeps > 9 else 0,
        tolerance=0.4 if sweeps < 9 else 1e-13,
    )  # fmt: skip
    truth = limit_of(PLAIN.matrix(x, y), a, b)
    off = np.sqrt(a @ (found.output(values) - truth @ values)[:, 0] ** 2)
    assert off <= sinkhorn_error(found, values) + 1e-14
    apart = 0.5 * np.abs(found.rows() - truth).sum(axis=1).max()
    assert apart <= math.tanh(potential_error(found) / 4.0) + 1e-14
    if sweeps > 9:
        assert sinkhorn_error(found, values) < 1e-10


@pytest.mark.parametrize(("reach", "lighter", "begun", "needed"), [(0.01, 0.02, 0.5, 5 / 6), (1.0, 0.5, 0.001, 1 / 3)])
def test_the_energy_of_two_keys(reach, lighter, begun, needed):
    """Where the law has far to go most of 1 + R is needed; near the limit it is not, but the singular value is."""
    x = reach * np.array([[-1.0], [1.0]])
    b = np.array([lighter, 1.0 - lighter])
    found = doubly_normalised(x, x, score=PLAIN, key_weights=b, start=[begun, 0.0], sweeps=0, tolerance=0.9)
    limit = doubly_normalised(x, x, score=PLAIN, key_weights=b, tolerance=1e-15, sweeps=60)
    h = (limit.g - limit.g[1]) - (found.g - found.g[1])
    energy = float((b - found.rows().mean(axis=0)) @ h)  # the integral of the variances on the way
    assert abs(energy / bounds._root_energy(found) ** 2 - needed) <= 0.02


def test_one_key_and_wide_scores():
    assert sinkhorn_error(doubly_normalised([[1.0], [2.0]], [[3.0]]), [[5.0]]) < 1e-12
    wide = doubly_normalised([[-30.0], [30.0]], [[-30.0], [30.0]], score=PLAIN)
    assert wide.converged
    assert potential_error(wide) == math.inf


def test_fast_sums_agree():
    x = np.linspace(-1.0, 1.0, 1200)[:, np.newaxis]
    dense, fast = (
        doubly_normalised(x, x, score=SquaredDistance(2.0), method=m, tolerance=1e-9) for m in ("dense", "nufft")
    )
    np.testing.assert_allclose(fast.output(x), dense.output(x), rtol=0.0, atol=1e-8)
    with pytest.raises(ValueError, match="method: expected dense"):
        sinkhorn_error(fast, x)


TOKENS = np.eye(2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"queries": [[1.0]]}, "dimension"),
        ({"keys": [[math.nan, 0.0]]}, "keys: expected finite"),
        ({"query_weights": [1.0]}, "query_weights: expected shape"),
        ({"key_weights": [1.0, -1.0]}, "key_weights: expected non-negative"),
        ({"key_weights": [0.0, 0.0]}, "key_weights: expected a positive"),
        ({"start": [0.0]}, "start: expected shape"),
        ({"sweeps": -1}, "sweeps: expected an integer of at least 0"),
        ({"tolerance": -1.0}, "tolerance: expected a non-negative"),
        ({"tolerance": math.nan}, "tolerance: expected a non-negative"),
    ],
)
def test_bad_input_is_named(change, words):
    with pytest.raises(ValueError, match=words):
        doubly_normalised(**({"queries": TOKENS, "keys": TOKENS} | change))


def test_values_have_to_fit():
    with pytest.raises(ValueError, match="values: expected shape"):
        doubly_normalised(TOKENS, TOKENS).output([[1.0]])


def test_a_column_that_underflows_leaves_the_limit_unknown():
    points = np.array([[0.0], [1.0]])
    found = doubly_normalised(points, points, tolerance=math.inf, sweeps=0, start=[0.0, 1e4])
    assert sinkhorn_error(found, points) == math.inf
