"""The feature maps against loops, complex steps and the norms that bound them."""

import math

import numpy as np
import pytest

from theory.metric import LinearFeatures, ResidualFeatures


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def network(rng, d=3, w=4, size=1.0):
    return ResidualFeatures(
        size * rng.normal(size=(d, w)), rng.normal(size=w), size * rng.normal(size=(w, d)), rng.normal(size=d)
    )


def by_hand(g, x):
    """One point at a time, with the tanh of the library of C; complex numbers pass through."""
    hidden = [
        np.tanh(sum(x[b] * g.inner[b, k] for b in range(len(x))) + g.inner_bias[k]) for k in range(g.inner.shape[1])
    ]
    return [x[a] + sum(h * g.outer[k, a] for k, h in enumerate(hidden)) + g.outer_bias[a] for a in range(len(x))]


def test_residual_features_are_the_formula(rng):
    g = network(rng)
    x = rng.normal(size=(5, 3))
    np.testing.assert_allclose(g(x), [by_hand(g, point) for point in x], rtol=1e-14, atol=1e-14)
    assert g.dim == 3


def test_rounding_bounds_the_error_against_longer_numbers(rng):
    for scale in (1e-3, 1.0, 1e3):
        g = network(rng)
        x = scale * rng.normal(size=(6, 3))
        wide = x.astype(np.longdouble)
        exact = wide + np.tanh(wide @ g.inner + g.inner_bias) @ g.outer + g.outer_bias
        error = float(np.linalg.norm(g(x) - exact, axis=1).max())
        assert error <= g.rounding(x) <= 1e-12 * scale + 1e-13


def test_rounding_of_what_cancels_is_charged():
    """Arguments of the hyperbolic tangent that cancel lose their digits, and steep output weights show it."""
    share = 0.0
    rng = np.random.default_rng(5)
    for _ in range(20):
        a, b = (1.0 + rng.uniform(size=2)).tolist()
        x = np.array([[1e8 * b, 1e8 * a]])
        g = ResidualFeatures([[a], [-b]], [0.25], [[1e6, 0.0]], [0.0, 0.0])
        wide = x.astype(np.longdouble)
        exact = wide + np.tanh(wide @ g.inner + g.inner_bias) @ g.outer
        error = float(np.linalg.norm(g(x) - exact, axis=1).max())
        assert error <= g.rounding(x)
        share = max(share, error / g.rounding(x))
    assert share > 0.05  # nearly attained
    for size in (1e-6, 1.0, 1e6):  # and of the sums, where nothing cancels
        g = ResidualFeatures([[1e-30], [0.0]], [0.0], [[0.0, 0.0]], [size / 3.0, 0.0])
        x = np.array([[size, 0.0]]) * (1.0 + rng.uniform(size=(50, 1)))
        off = np.abs(g(x)[:, 0] - (x[:, 0].astype(np.longdouble) + np.longdouble(size / 3.0)))
        assert 0.1 * g.rounding(x) < float(off.max()) <= g.rounding(x)


@pytest.mark.parametrize("size", [1e-150, 1e-85, 1e-80, 1e150])
def test_rounding_of_lengths_whose_squares_float64_cannot_hold(size, rng):
    x = size * rng.normal(size=(30, 2))
    matrix = size * rng.normal(size=(2, 2))
    f = LinearFeatures(matrix)
    off = np.linalg.norm((f(x) - x.astype(np.longdouble) @ matrix.astype(np.longdouble)) / size**2, axis=1).max()
    assert 0.0 < off <= f.rounding(x) / size**2 < 1e-14
    g = ResidualFeatures(np.eye(2) / size**2, np.zeros(2), size**2 * np.eye(2), np.zeros(2))
    y = size * x
    wide = y.astype(np.longdouble)
    exact = wide + size**2 * np.tanh(wide / np.longdouble(size**2))
    assert np.linalg.norm((g(y) - exact) / size**2, axis=1).max() <= g.rounding(y) / size**2 < 1e-13


def test_rounding_of_products_that_leave_the_normal_range_is_charged():
    f = LinearFeatures([[1e-165], [1e-165]])
    x = np.array([[1e-158, 3e-158]])
    assert 1e-324 < abs(f(x).item() - 4.0 * np.longdouble(1e-165) * np.longdouble(1e-158)) <= f.rounding(x) < 1e-320
    g = ResidualFeatures([[1.0], [0.0]], [0.0], [[0.0, 2e-323]], [0.0, 0.0])  # moves the second coordinate alone
    off = abs(g([[1.0, 0.0]])[0, 1] - np.longdouble(2e-323) * np.tanh(np.longdouble(1.0)))
    assert 0.0 < off <= g.rounding([[1.0, 0.0]])


def test_linear_features(rng):
    w, x = rng.normal(size=(3, 2)), rng.normal(size=(4, 3))
    f = LinearFeatures(w)
    np.testing.assert_allclose(f(x), [[point @ column for column in w.T] for point in x], rtol=1e-14, atol=1e-14)
    assert f.jacobian(x).shape == (4, 2, 3)
    np.testing.assert_array_equal(f.jacobian(x)[2], w.T)
    assert f.lipschitz == pytest.approx(math.sqrt(np.linalg.eigvalsh(w.T @ w).max()), rel=1e-11, abs=0)
    assert 0.0 < f.rounding(x) < 1e-13


def test_arrays_are_copies_that_cannot_be_written(rng):
    w = rng.normal(size=(2, 2))
    f = LinearFeatures(w)
    w[0, 0] = 9.0
    assert f.matrix[0, 0] != 9.0
    with pytest.raises(ValueError, match="read-only"):
        network(rng).inner[0, 0] = 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inner": np.ones(3)}, "inner: expected shape"),
        ({"inner_bias": np.ones(3)}, r"inner_bias: expected shape \(4,\), got shape \(3,\)"),
        ({"outer": np.ones((3, 4))}, r"outer: expected shape \(4, 3\), got shape \(3, 4\)"),
        ({"outer_bias": np.ones(4)}, r"outer_bias: expected shape \(3,\)"),
    ],
)
def test_weights_that_do_not_fit_are_refused(change, message):
    parts = {"inner": np.ones((3, 4)), "inner_bias": np.ones(4), "outer": np.ones((4, 3)), "outer_bias": np.ones(3)}
    with pytest.raises(ValueError, match=message):
        ResidualFeatures(**(parts | change))


def test_points_that_do_not_fit_are_refused(rng):
    g = network(rng)
    for call in (g, g.jacobian, g.hessian, g.rounding, LinearFeatures(np.ones((3, 1)))):
        with pytest.raises(ValueError, match=r"x: expected shape \(n, 3\), got shape \(2, 2\)"):
            call(np.ones((2, 2)))
