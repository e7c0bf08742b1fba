"""Constants of distance attention against mpmath, and their refusals."""

import math

import mpmath
import numpy as np
import pytest

from theory.evidence import exact, stream
from theory.lipschitz.constants import (
    atoms_constant,
    column_constant,
    distance_constant,
    near_constant,
    nearness_constant,
    tied_constants,
)

SIZES = (2, 3, 10, 64, 1001, 10**6)


def near(n):
    """The root of c exp(c + 1) = n - 1, by mpmath."""
    with mpmath.workdps(40):
        return mpmath.lambertw(mpmath.mpf(n - 1) / mpmath.e).real


def omega():
    """The largest sqrt(s) / (exp(s) + 1), where its derivative vanishes."""
    with mpmath.workdps(40):
        s = mpmath.findroot(lambda s: mpmath.exp(s) * (2 * s - 1) - 1, 0.7)
        return mpmath.sqrt(s) / (mpmath.exp(s) + 1)


@pytest.mark.parametrize("n", SIZES)
def test_nearness_solves_its_equation(n):
    assert math.isclose(nearness_constant(n), float(near(n)), rel_tol=4e-16, abs_tol=0.0)
    c = nearness_constant(n)
    assert math.isclose(c * math.exp(c + 1.0), n - 1, rel_tol=1e-14, abs_tol=0.0)


@pytest.mark.parametrize("n", SIZES)
def test_constants_are_their_formulas(n):
    c = near(n)
    rows = 1 + 4 * near(n)
    column = (n - 1) * (mpmath.mpf(0.5) + 2 * near(2) + 2 * omega() * mpmath.sqrt(c)) + 1 + 2 * c
    assert math.isclose(distance_constant(n), float(rows), rel_tol=1e-15, abs_tol=0.0)
    assert math.isclose(column_constant(n), float(column), rel_tol=1e-14, abs_tol=0.0)
    for p in (1.0, 1.5, 2.0, 7.0):
        both = (n ** (1 / p) * float(rows), float(column) ** (1 / p) * float(rows) ** (1 - 1 / p))
        assert math.isclose(atoms_constant(n, p), min(both), rel_tol=1e-13, abs_tol=0.0)
    assert atoms_constant(n, math.inf) == distance_constant(n)
    assert atoms_constant(n, 1e6) <= distance_constant(n) * (1.0 + 1e-4)


def test_a_form_multiplies_by_its_norm():
    form = np.array([[3.0, 0.0], [4.0, 0.0]])
    assert math.isclose(distance_constant(10, form), 5.0 * distance_constant(10), rel_tol=1e-15, abs_tol=0.0)


def test_bounded_set():
    assert math.isclose(near_constant(2.0, 0.5), math.exp(2.0) * 5.0 + 1.0, rel_tol=1e-15, abs_tol=0.0)
    assert near_constant(1e-9) == pytest.approx(1.0, rel=1e-15, abs=0.0)
    with pytest.raises(ValueError, match="diameter: expected one whose constant float64 can hold"):
        near_constant(1e3)


def test_tied_constants_of_scalars_and_by_norms():
    largest, euclidean = tied_constants(5, [[[2.0]]], [[[3.0]]], [[-7.0]])
    assert math.isclose(largest, float(1 + 4 * near(5)) * 4.0 * 3.0 * 7.0, rel_tol=1e-14, abs_tol=0.0)
    assert math.isclose(euclidean, math.sqrt(5.0) * float(1 + 4 * near(5)) * 84.0, rel_tol=1e-14, abs_tol=0.0)
    rng = stream("tests.euclidean", 0)
    queries = rng.normal(size=(2, 8, 4))
    values = rng.normal(size=(2, 8, 4))
    output = rng.normal(size=(8, 8))
    largest, euclidean = tied_constants(9, list(queries), list(values), output)
    rows = [np.abs(q).sum(axis=1).max() * np.abs(q).sum(axis=0).max() for q in queries]
    ends = np.abs(output).sum(axis=0).max() * max(rows) * max(np.abs(v).sum(axis=0).max() for v in values)
    assert math.isclose(largest, float(4 * near(9) + 0.5) * ends, rel_tol=1e-13, abs_tol=0.0)
    norms = [
        np.linalg.eigvalsh(q.T @ q).max() ** 2 * np.linalg.eigvalsh(v.T @ v).max()
        for q, v in zip(queries, values, strict=True)
    ]
    last = math.sqrt(np.linalg.eigvalsh(output.T @ output).max())
    claimed = 3.0 / 2.0 * float(4 * near(9) + 1) * math.sqrt(sum(norms)) * last
    assert math.isclose(euclidean, claimed, rel_tol=1e-12, abs_tol=0.0)


def test_bad_input():
    with pytest.raises(ValueError, match="n: expected"):
        nearness_constant(1)
    with pytest.raises(TypeError, match="n: expected an integer"):
        distance_constant(3.0)
    with pytest.raises(ValueError, match="form: expected shape"):
        distance_constant(3, [1.0, 2.0])
    for p in (0.5, -1.0, math.nan):
        with pytest.raises(ValueError, match="p: expected"):
            atoms_constant(3, p)
    with pytest.raises(ValueError, match="diameter: expected"):
        near_constant(0.0)
    with pytest.raises(ValueError, match="scale: expected"):
        near_constant(1.0, -1.0)
    with pytest.raises(ValueError, match="output: expected a square matrix"):
        tied_constants(3, [[[1.0]]], [[[1.0]]], [[1.0, 2.0]])
    with pytest.raises(ValueError, match="queries: expected a number of heads that divides 1, got 0"):
        tied_constants(3, [], [], [[1.0]])
    with pytest.raises(ValueError, match="values: expected as many matrices as queries, 1, got 2"):
        tied_constants(3, [[[1.0]]], [[[1.0]], [[1.0]]], [[1.0]])
    with pytest.raises(ValueError, match="values: expected shape"):
        tied_constants(3, [[[1.0]]], [[[1.0, 2.0]]], [[1.0]])


def test_enclosures_are_as_wide_as_the_lemma():
    for constant in (nearness_constant, column_constant, distance_constant):
        found = constant(exact(7))
        assert constant(7) in found
        assert found.width >= 200 * 2.0**-53 * found.lo
