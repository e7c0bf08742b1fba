"""Linear scores: the law, its log-partition and both derivatives against balls, and what is refused."""

import numpy as np
import pytest

from theory.evidence import ball, stream
from theory.evidence.enclosure import balls, coefficient, exp, hull, log, precision, variable
from theory.maxent import LinearScores

BASIS = np.array([[0.0, 1.0], [1.0, -1.0], [2.0, 0.5]])


@precision()
def along(family, parameters, way):
    """The log-partition along a line as a power series of balls, and the weights at its start."""
    tau = ball(family.tau)
    here = balls(family.basis) @ balls(parameters) / tau
    there = balls(family.basis) @ balls(way) / tau
    masses = exp(here + there * variable(3))
    first = exp(here)
    if family.prior is not None:
        masses, first = masses * balls(family.prior), first * balls(family.prior)
    return log(masses.sum()) * tau, first / first.sum()


@pytest.mark.parametrize("tau", [0.4, 1.0, 3.0])
@pytest.mark.parametrize("with_prior", [False, True])
def test_law_value_and_derivatives_against_balls(tau, with_prior):
    for case in range(5):
        rng = stream("tests.basis", case)
        n, k = int(rng.integers(2, 9)), int(rng.integers(1, 4))
        prior = rng.dirichlet(np.ones(n)) * 0.9 + 0.1 / n if with_prior else None
        family = LinearScores(rng.normal(size=(n, k)), prior=None if prior is None else prior / prior.sum(), tau=tau)
        w, way = rng.normal(size=k), rng.normal(size=k)
        energy, law = along(family, w, way)
        bound = family.error(w)
        assert bound < 1e-12
        for p, q in zip(family.weights(w), law, strict=True):
            assert hull(abs(q / p - 1)).lo <= bound
        assert np.allclose(np.exp(family.log_weights(w)), family.weights(w), rtol=1e-13, atol=0.0)
        first = hull(coefficient(energy, 1)).mid
        second = 2.0 * hull(coefficient(energy, 2)).mid
        assert abs(family.value(w) - hull(coefficient(energy, 0)).mid) <= 1e-13 * (1.0 + tau)
        assert abs(family.gradient(w) @ way - first) <= 1e-12
        assert abs(way @ family.hessian(w) @ way - second) <= 1e-12 / tau


def test_a_narrow_law_keeps_the_digits_of_its_covariance():
    family = LinearScores([[1e8], [1e8 + 1.0]])
    assert family.hessian([0.0])[0, 0] == 0.25


@pytest.mark.parametrize(
    ("basis", "identified"),
    [
        (BASIS, True),
        ([[1.0], [1.0], [1.0]], False),
        ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], False),
        ([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]], False),
        ([[1.0, 2.0]], False),
    ],
)
def test_identified_iff_no_combination_is_constant(basis, identified):
    assert LinearScores(basis).is_identified() is identified


@pytest.mark.parametrize("scale", [1e-300, 1e-20, 1e20, 1e300])
def test_the_unit_of_the_basis_does_not_matter(scale):
    assert LinearScores(scale * BASIS).is_identified()
    assert not LinearScores(np.full((3, 1), scale)).is_identified()
    assert LinearScores(BASIS * [scale, 1.0]).is_identified()


def test_arrays_are_read_only_copies():
    given = BASIS.copy()
    prior = np.array([0.5, 0.25, 0.25])
    family = LinearScores(given, prior=prior)
    given[0, 0] = prior[0] = 7.0
    assert family.basis[0, 0] == 0.0
    assert family.prior[0] == 0.5
    assert not family.basis.flags.writeable
