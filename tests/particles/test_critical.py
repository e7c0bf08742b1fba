"""Jacobians of attention on equal overlaps against finite differences and whole bases, and folded against whole."""

import math

import numpy as np
import pytest

from theory.particles.exact import (
    equiangular_tokens,
    jacobian_size,
    layer_statistics,
    output_overlaps,
    squared_derivative,
)


def layer(x, beta):
    law = np.exp(beta * (x @ x.T))
    return (law / law.sum(axis=1, keepdims=True)) @ x


def test_tokens_have_the_overlap():
    for n, rho in ((3, 0.0), (17, 0.3), (40, 0.95)):
        x = equiangular_tokens(n, rho)
        expected = np.full((n, n), rho)
        np.fill_diagonal(expected, 1.0)
        np.testing.assert_allclose(x @ x.T, expected, rtol=0.0, atol=4e-15)


def test_outputs_against_numpy():
    x = equiangular_tokens(12, 0.4)
    y = layer(x, 3.0)
    product, square = output_overlaps(x, 3.0)
    assert product.lo <= y[0] @ y[1] <= product.hi
    assert square.lo <= y[5] @ y[5] <= square.hi
    assert max(product.width, square.width) < 1e-11


def test_push_is_a_finite_difference(rng=np.random.default_rng(5)):  # noqa: B008  the same numbers each time
    x = equiangular_tokens(9, 0.3)
    tangent = rng.normal(size=(9, 9))
    step = 1e-5
    slope = (layer(x + step * tangent, 2.0) - layer(x - step * tangent, 2.0)) / (2 * step)
    found = squared_derivative(x, 2.0, tangent)
    assert abs(found.mid - (slope**2).sum()) < 1e-7
    assert found.width < 1e-7


@pytest.mark.parametrize("tangential", [True, False])
def test_two_or_three_directions_are_enough(tangential):
    n, rho, beta = 10, 0.3, 4.0
    x = equiangular_tokens(n, rho)
    basis = np.linalg.svd(np.eye(n) - np.outer(x[0], x[0]) if tangential else np.eye(n))[0]
    total = 0.0
    for direction in basis.T[: n - 1 if tangential else n]:
        tangent = np.zeros((n, n))
        tangent[0] = direction
        total += squared_derivative(x, beta, tangent).mid
    found = jacobian_size(n, rho, beta, tangential=tangential)
    assert abs(found.mid - total / n) < 1e-9


def test_hutchinson_agrees(rng=np.random.default_rng(11)):  # noqa: B008
    n, rho, beta = 24, 0.5, 5.0
    x = equiangular_tokens(n, rho)
    draws = []
    for _ in range(400):
        z = rng.normal(size=(n, n))
        draws.append(squared_derivative(x, beta, z - np.einsum("ij,ij->i", x, z)[:, np.newaxis] * x).mid / n**2)
    error = np.std(draws) / math.sqrt(len(draws))
    assert abs(np.mean(draws) - jacobian_size(n, rho, beta).mid) < 5.0 * error
    assert error < 0.02


def test_folded_is_the_whole():
    for n, rho, beta in ((5, 0.2, 3.0), (33, 0.5, 7.0), (64, 0.0, 4.0)):
        product, square = output_overlaps(equiangular_tokens(n, rho), beta)
        found = layer_statistics(n, rho, beta)
        assert abs(found.cosine.mid - product.mid / square.mid) < 1e-12
        assert abs(found.jacobian.mid - jacobian_size(n, rho, beta).mid) < 1e-8
        assert found.cosine.width < 1e-10


def test_bad_input_is_refused():
    for call in (
        lambda: equiangular_tokens(2, 0.5),
        lambda: equiangular_tokens(5, 1.0),
        lambda: equiangular_tokens(5, -0.1),
        lambda: layer_statistics(4, 0.5, 1.0),
        lambda: layer_statistics(10, 1.0, 1.0),
        lambda: layer_statistics(10, 0.5, 0.0),
        lambda: jacobian_size(10, 0.5, -1.0),
        lambda: output_overlaps(np.ones(3), 1.0),
        lambda: squared_derivative(np.eye(3), 1.0, np.eye(2)),
    ):
        with pytest.raises(ValueError, match="expected"):
            call()
