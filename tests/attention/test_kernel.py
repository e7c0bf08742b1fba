"""Kernels send points to laws and laws to laws: closed forms, ball arithmetic, equal keys, and what is refused."""

import math

import numpy as np
import pytest

from tests.attention import exact
from theory import Measure, attend
from theory.attention import (
    Additive,
    AttentionKernel,
    Composition,
    Dirac,
    DotProduct,
    Lookup,
    Projected,
    Softmatch,
    SquaredDistance,
    barycentres,
    boltzmann_gibbs,
    transform_error,
)
from theory.evidence import stream
from theory.evidence.enclosure import balls, precision
from theory.evidence.roundoff import gamma

PLAIN = DotProduct(scale=1.0)
POINTS = np.array([[0.0, 1.0], [2.0, -1.0], [1.0, 1.0]])
NU = Measure(POINTS, [0.5, 0.0, 0.5])
SCORES = [PLAIN, DotProduct(), SquaredDistance(0.5), Additive(np.eye(2), -np.eye(2), [1.0, 2.0])]


def random_law(rng, n, d):
    return Measure(rng.normal(size=(n, d)), rng.dirichlet(np.ones(n)))


# Boltzmann-Gibbs


def test_transform_in_closed_form():
    nu = Measure([[0.0], [1.0], [2.0]], [0.5, 0.25, 0.25])
    image = boltzmann_gibbs(nu, [0.0, math.log(2.0), math.log(4.0)])  # 0.5, 0.5, 1
    assert np.abs(image.weights - [0.25, 0.25, 0.5]).max() <= transform_error(nu, np.log([1.0, 2.0, 4.0])) + gamma(8)
    assert np.array_equal(image.points, nu.points)
    assert np.array_equal(boltzmann_gibbs(nu, [7.0, 7.0, 7.0]).points, nu.points)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e3])
def test_transform_and_its_error_against_balls(size):
    for case, n in enumerate((1, 2, 9, 60)):
        rng = stream("tests.kernel.transform", case)
        nu = random_law(rng, n, 1)
        a = size * rng.normal(size=n)
        truth = exact.laws(balls(a)[np.newaxis], nu.weights)[0][0]
        assert exact.relatively_apart(boltzmann_gibbs(nu, a).weights, truth) <= transform_error(nu, a)


def test_error_of_the_transform_covers_weights_above_the_denormal_range_only():
    nu = Measure([[0.0], [0.0], [0.0]])
    a = np.array([0.0, -700.0, -740.0])
    weights = boltzmann_gibbs(nu, a).weights
    truth = exact.laws(balls(a)[np.newaxis], nu.weights)[0][0]
    assert exact.relatively_apart(weights, truth) <= transform_error(nu, a)
    assert abs(weights[2] - math.exp(-740.0)) <= 2.0**-1074


def test_a_mask_restricts_the_measure():
    nu = Measure(POINTS)
    where = np.array([True, False, True])
    masked = boltzmann_gibbs(nu, [0.0, 99.0, 0.0], where=where)
    assert np.array_equal(masked.weights, [0.5, 0.0, 0.5])
    assert np.array_equal(boltzmann_gibbs(nu, [0.0, 99.0, 0.0], where=where.tolist()).weights, masked.weights)
    assert np.array_equal(
        boltzmann_gibbs(nu, [1.0, 2.0, 3.0], where=np.ones(3, dtype=bool)).weights,
        boltzmann_gibbs(nu, [1.0, 2.0, 3.0]).weights,
    )


def test_atoms_without_mass_keep_none():
    assert boltzmann_gibbs(NU, [0.0, 700.0, 0.0]).weights[1] == 0.0
    tiny = Measure.normalised(POINTS, [1.0, 1e-300, 1.0])
    assert boltzmann_gibbs(tiny, [0.0, 1000.0, 0.0]).weights[1] == 1.0  # unless the potential pays for it


@pytest.mark.parametrize(
    ("where", "words"),
    [
        (np.array([True, False]), "where: expected booleans of shape (3,), got bool of (2,)"),
        (np.array([1, 0, 1]), "where: expected booleans of shape (3,), got int64 of (3,)"),
        (np.array([False, True, False]), "where: expected a set of positive mass, got mass 0"),
    ],
)
def test_bad_mask(where, words):
    with pytest.raises(ValueError, match=r"^where: ") as caught:
        boltzmann_gibbs(NU, np.zeros(3), where=where)
    assert str(caught.value).replace("int32", "int64") == words


# Softmatch


@pytest.mark.parametrize("score", SCORES)
def test_rows_and_their_error_against_balls(score):
    for case, n in enumerate((1, 2, 30)):
        rng = stream("tests.kernel.rows", case)
        nu = random_law(rng, n, 2)
        x = rng.normal(size=(3, 2))
        match = Softmatch(score, nu)
        laws, partition = exact.laws(exact.scores(score, x, nu.points), nu.weights)
        assert exact.relatively_apart(match.rows(x), laws) <= match.error(x) <= 1e-11
        with precision():
            logs = np.array([ball.log() for ball in partition], dtype=object)
        assert exact.apart(match.log_partition(x), logs) <= match.error(x) + gamma(64)
        assert np.array_equal(match.at(x[0]).weights, match.rows(x[:1])[0])
        assert np.array_equal(match.at(x[0]).points, nu.points)


@pytest.mark.parametrize("score", SCORES)
def test_atoms_without_mass_are_never_matched(score):
    match = Softmatch(score, NU)
    x = np.array([[3.0, -1.0], [0.0, 0.0]])
    rows = match.rows(x)
    assert not rows[:, 1].any()
    lean = Softmatch(score, Measure(POINTS[[0, 2]]))
    assert np.array_equal(rows[:, [0, 2]], lean.rows(x))
    assert np.array_equal(match.log_partition(x), lean.log_partition(x))
    assert match.error(x) == lean.error(x)


def test_push_averages_the_rows():
    rng = stream("tests.kernel.push", 0)
    mu, nu = random_law(rng, 5, 2), random_law(rng, 7, 2)
    match = Softmatch(PLAIN, nu)
    pushed = match.push(mu)
    laws = exact.laws(exact.scores(PLAIN, mu.points, nu.points), nu.weights)[0]
    with precision():
        claimed = balls(mu.weights) @ laws
    assert exact.apart(pushed.weights, claimed) <= match.error(mu.points) + gamma(64)
    assert np.array_equal(pushed.points, nu.points)


def test_error_needs_a_score_that_bounds_itself():
    class Given:
        def matrix(self, x, y):
            return x @ y.T

    kernel = Softmatch(Given(), NU)
    assert kernel.rows([[1.0, 0.0]]).shape == (1, 3)
    with pytest.raises(TypeError, match=r"^score: expected one that bounds its rounding, got Given without bounds"):
        kernel.error([[1.0, 0.0]])


@pytest.mark.parametrize("kernel", [Softmatch(PLAIN, NU), AttentionKernel(PLAIN, NU)])
def test_queries_of_another_dimension(kernel):
    for call in (
        lambda: kernel.at([1.0, 2.0, 3.0]),
        lambda: kernel.push(Measure([[1.0]])),
        lambda: kernel.at([[1.0, 2.0]]),
    ):
        with pytest.raises(ValueError, match=r"^[a-z]+: expected (dimension|shape)"):
            call()


# Lookup


def test_lookup_averages_over_equal_keys():
    table = Lookup([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [[1.0], [3.0], [0.0]])
    assert np.array_equal(table.at([1.0, 0.0]).weights, [0.5, 0.5, 0.0])
    assert np.array_equal(table.at([0.0, 1.0]).weights, [0.0, 0.0, 1.0])
    law = table.push(Measure([[0.0, 1.0], [1.0, 0.0]], [0.25, 0.75]))
    assert np.array_equal(law.weights, [0.375, 0.375, 0.25])
    assert np.array_equal(law.points, [[1.0], [3.0], [0.0]])


def test_lookup_of_repeated_atoms_adds_their_mass():
    table = Lookup([[0.0], [1.0]], [[5.0], [7.0]])
    assert np.array_equal(table.push(Measure([[1.0], [0.0], [1.0]], [0.25, 0.5, 0.25])).weights, [0.5, 0.5])


def test_negative_zero_is_zero():
    table = Lookup([[0.0, 1.0], [-0.0, 1.0], [1.0, 1.0]], [[1.0], [2.0], [3.0]])
    assert np.array_equal(table.at([-0.0, 1.0]).weights, [0.5, 0.5, 0.0])
    assert np.array_equal(table.at([0.0, 1.0]).weights, [0.5, 0.5, 0.0])


def test_keys_one_bit_apart_are_different():
    table = Lookup([[1.0], [1.0 + 2.0**-52]], [[0.0], [1.0]])
    assert np.array_equal(table.at([1.0]).weights, [1.0, 0.0])
    assert np.array_equal(table.at([1.0 + 2.0**-52]).weights, [0.0, 1.0])


def test_strange_atoms():
    table = Lookup([[0.0], [1.0]], [[5.0], [7.0]])
    with pytest.raises(ValueError, match=r"^nu: expected atoms among the keys, got \[0\.5\]$"):
        table.push(Measure([[0.0], [0.5]]))
    with pytest.raises(ValueError, match=r"^nu: expected atoms among the keys, got \[-1\.\]$"):
        table.at([-1.0])
    assert np.array_equal(table.push(Measure([[0.0], [0.5]], [1.0, 0.0])).weights, [1.0, 0.0])  # it has no mass
    with pytest.raises(ValueError, match=r"^nu: expected shape \(n, 1\), got shape \(1, 2\)$"):
        table.push(Measure([[0.0, 0.0]]))


@pytest.mark.parametrize("case", range(5))
def test_lookup_against_a_dictionary(case):
    rng = stream("tests.kernel.lookup", case)
    keys = rng.integers(0, 3, size=(12, 2)).astype(float)
    values = rng.normal(size=(12, 2))
    asked = keys[rng.integers(0, 12, size=6)]
    nu = Measure(asked, rng.dirichlet(np.ones(6)))
    expected = np.zeros(12)
    for atom, mass in zip(asked.tolist(), nu.weights, strict=True):
        equal = [i for i, key in enumerate(keys.tolist()) if key == atom]
        expected[equal] += mass / len(equal)
    assert np.abs(Lookup(keys, values).push(nu).weights - expected).max() <= gamma(32)


def test_as_many_values_as_keys():
    with pytest.raises(ValueError, match=r"^values: expected shape \(3, d\), got shape \(2, 2\)$"):
        Lookup(POINTS, POINTS[:2])


# Dirac kernels, compositions, the attention kernel


def test_a_dirac_kernel_moves_points():
    double = Dirac(lambda y: 2.0 * y)
    assert np.array_equal(double.at([1.0, 2.0]).points, [[2.0, 4.0]])
    assert np.array_equal(double.push(NU).points, 2.0 * POINTS)
    assert np.array_equal(double.push(NU).weights, NU.weights)
    with pytest.raises(ValueError, match=r"^function: expected shape \(3, d\), got shape \(1, 2\)$"):
        Dirac(lambda y: y[:1]).push(NU)


def test_a_composition_applies_the_first_kernel_first():
    both = Composition(Dirac(lambda y: y + 1.0), Dirac(lambda y: 10.0 * y))
    assert np.array_equal(both.at([1.0]).points, [[20.0]])
    assert np.array_equal(both.push(Measure([[0.0], [1.0]])).points, [[10.0], [20.0]])


@pytest.mark.parametrize("score", SCORES)
def test_attention_kernel_is_the_projected_composition(score):
    for case in range(4):
        rng = stream("tests.kernel.composition", case)
        nu = random_law(rng, 9, 2)
        x = rng.normal(size=(4, 2))
        value = rng.normal(size=(3, 2))
        fused = AttentionKernel(score, nu, value)
        chain = Projected(Composition(Softmatch(score, nu), Dirac(lambda y, v=value: y @ v.T)), barycentres())
        error = fused.rounding(x) + gamma(64) * float(np.abs(fused.values).max())
        claimed = exact.laws(exact.scores(score, x, nu.points), nu.weights)[0]
        with precision():
            claimed = claimed @ (balls(nu.points) @ balls(value).T)
        assert exact.apart(fused.output(x), claimed) <= fused.rounding(x) <= 1e-11
        for query, output in zip(x, fused.output(x), strict=True):
            assert np.abs(chain.at(query).points[0] - output).max() <= 2.0 * error
            assert np.abs(fused.at(query).points[0] - output).max() <= 2.0 * error


def test_attention_kernel_pushes_a_law():
    mu = Measure([[1.0, 0.0], [0.0, 1.0]], [0.25, 0.75])
    kernel = AttentionKernel(PLAIN, NU)
    pushed = kernel.push(mu)
    assert np.array_equal(pushed.points, kernel.output(mu.points))
    assert np.array_equal(pushed.weights, mu.weights)
    assert np.array_equal(kernel.values, POINTS)


def test_value_matrix_of_the_wrong_width():
    with pytest.raises(ValueError, match=r"^value: expected shape \(n, 2\), got shape \(2, 3\)$"):
        AttentionKernel(PLAIN, NU, np.ones((2, 3))).output([[1.0, 0.0]])


# What is no score and no measure


class Deaf:
    """No score: ``matrix`` is there and cannot be called."""

    matrix = np.eye(2)


@pytest.mark.parametrize(
    ("score", "got"),
    [
        ("dot", "str without matrix()"), (None, "NoneType without matrix()"), (Deaf(), "Deaf without matrix()"),
        (np.dot, "_ArrayFunctionDispatcher without matrix()"), (DotProduct, "the class DotProduct"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "call",
    [
        lambda score: attend(POINTS, POINTS, POINTS, score=score),
        lambda score: Softmatch(score, NU),
        lambda score: AttentionKernel(score, NU),
    ],
    ids=["attend", "Softmatch", "AttentionKernel"],
)
def test_what_is_no_score_is_refused_by_name(call, score, got):
    with pytest.raises(TypeError) as caught:
        call(score)
    assert str(caught.value) == f"score: expected a Score such as DotProduct(), got {got}"


KERNELS = {
    "Softmatch": Softmatch(PLAIN, NU),
    "Dirac": Dirac(np.tanh),
    "Lookup": Lookup(POINTS, POINTS),
    "Composition": Composition(Dirac(np.tanh), Dirac(np.tanh)),
    "AttentionKernel": AttentionKernel(PLAIN, NU),
}
