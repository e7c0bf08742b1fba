"""Batched softmax against sums at sixty digits, with priors, masks, derivatives and operator norms."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest

from tests.maxent import oracle
from theory.evidence import stream
from theory.maxent import log_softmax, softmax, softmax_value, softmax_vjp
from theory.maxent.gibbs import Norms, gibbs_law, induced_norms, softmax_jacobian, softmax_norms

U = 2.0**-53
ROWS = (
    np.array([2.0]),
    np.array([0.5, -1.0, 3.0, 3.0]),
    np.array([1e4, 0.0, -1e4, 1e4 - 1.0]),
    np.array([1.7e308, -1.7e308]),
    np.array([0.3, -math.inf, -0.2]),
    np.zeros(7),
)
PRIOR = np.array([0.5, 0.125, 0.25, 0.125])


def gibbs(scores, prior, tau):
    """Weights, their logarithms and the value, with sums as they are printed."""
    with mp.workdps(oracle.DIGITS):
        t = mp.mpf(float(tau))
        shift = max(oracle.exactly(scores))
        masses = [
            mp.mpf(float(w)) * mp.exp((x - shift) / t) for w, x in zip(prior, oracle.exactly(scores), strict=True)
        ]
        total = mp.fsum(masses)
        return (
            [m / total for m in masses],
            [mp.log(m / total) if m > 0 else -mp.inf for m in masses],
            shift + t * mp.log(total),
        )


@pytest.mark.parametrize("tau", [1e-2, 1.0, 30.0])
@pytest.mark.parametrize("row", ROWS, ids=range(len(ROWS)))
def test_weights_logarithms_and_value(row, tau):
    weights, logs, value = gibbs(row, np.ones(row.size), tau)
    assert oracle.apart(softmax(row, tau=tau), weights) <= 8 * U
    found = log_softmax(row, tau=tau)
    with np.errstate(over="ignore"):
        gaps = (row / 2.0 - row.max() / 2.0) / tau * 2.0  # the range itself may overflow
    for x, truth, gap in zip(found, logs, gaps, strict=True):
        if truth == -mp.inf or gap == -math.inf:
            assert x == -math.inf or x <= -1e308
        else:
            assert abs(x - truth) <= 4 * U * (abs(gap) + math.log(row.size)) + 4 * U
    assert abs(float(softmax_value(row, tau=tau) - value)) <= 4 * U * (abs(row.max()) + tau * math.log(row.size))


@pytest.mark.parametrize("tau", [0.2, 1.0, 5.0])
def test_prior(tau):
    row = np.array([0.5, -1.0, 3.0, 3.25])
    for prior in (PRIOR, np.array([0.0, 0.5, 0.5, 0.0]), np.array([1.0 - 2.0**-40, 0.0, 0.0, 2.0**-40])):
        weights, _, value = gibbs(row, prior, tau)
        p = softmax(row, prior=prior, tau=tau)
        assert oracle.apart(p, weights) <= 64 * U  # the logarithm of the prior rounds
        assert abs(float(softmax_value(row, prior=prior, tau=tau) - value)) <= 64 * U * (4.0 + tau * 30.0)
        assert np.all(p[prior == 0.0] == 0.0)
        assert np.all(log_softmax(row, prior=prior, tau=tau)[prior == 0.0] == -math.inf)
    assert np.array_equal(softmax(np.full(4, 7.0), prior=PRIOR), PRIOR)


def test_a_prior_may_outweigh_any_score():
    """The entry of the largest score has a prior so small that another one wins."""
    p = softmax([800.0, 0.0], prior=[1e-300, 1.0])
    with mp.workdps(oracle.DIGITS):
        odds = mp.mpf(1e-300) * mp.exp(800)
        truth = odds / (1 + odds)
    assert abs(float(p[0] - truth)) <= 4 * U * 1600.0
    p = softmax([720.0, 0.0], prior=[2.0**-1074, 1.0])  # e^720 alone is no float
    odds = math.exp(720.0 - 1074.0 * math.log(2.0))
    assert p[0] == pytest.approx(odds / (1.0 + odds), rel=2e-13, abs=0.0)  # the exponent rounds by 2^-43


def test_priors_per_row_and_axis():
    scores = stream("tests.softmax.prior", 0).normal(size=(4, 3))
    prior = stream("tests.softmax.prior", 1).dirichlet(np.ones(4), size=3).T
    for j in range(3):
        assert np.array_equal(softmax(scores, prior=prior, axis=0)[:, j], softmax(scores[:, j], prior=prior[:, j]))
        assert np.array_equal(softmax(scores, prior=PRIOR, axis=0)[:, j], softmax(scores[:, j], prior=PRIOR))


def test_masks_condition():
    """A mask is conditioning on what is left, also by a prior with zeros."""
    row = np.array([0.5, 1.5, -0.25, 2.0])
    p = softmax(row)
    masked = softmax([0.5, -math.inf, -0.25, -math.inf])
    assert np.abs(masked - np.array([p[0], 0.0, p[2], 0.0]) / (p[0] + p[2])).max() <= 4 * U
    assert np.array_equal(softmax(row, prior=[0.5, 0.0, 0.5, 0.0]), masked)


def test_rows_masked_throughout():
    rows = np.array([[0.0, 1.0], [-math.inf, -math.inf]])
    assert np.array_equal(softmax(rows)[1], [0.0, 0.0])
    assert np.array_equal(log_softmax(rows)[1], [-math.inf, -math.inf])
    assert softmax_value(rows)[1] == -math.inf
    assert not softmax_vjp(softmax(rows), np.ones((2, 2)))[1].any()
    assert np.array_equal(softmax([0.0, -math.inf], prior=[0.0, 1.0]), [0.0, 0.0])  # nothing is left either


def test_temperatures_in_one_batch_and_precision():
    row = np.array([0.5, -1.0, 3.0], dtype=np.float32)
    tau = np.array([[0.5], [1.0], [4.0]])
    found = softmax(np.stack([row, row]), tau=tau)
    assert found.shape == (3, 2, 3)
    assert found.dtype == np.float64
    for i, t in enumerate(tau[:, 0]):
        assert np.array_equal(found[i, 1], softmax(row.astype(float), tau=t))
    law = gibbs_law(row, tau=0.5)
    assert np.abs(found[0, 0] - law.weights).max() <= law.error


@pytest.mark.parametrize("tau", [0.3, 2.0])
def test_derivatives(tau):
    row = np.array([0.5, -1.0, 3.0, 2.5])
    p = softmax(row, prior=PRIOR, tau=tau)
    matrix = softmax_jacobian(p, tau=tau)
    for c in (*np.eye(4), np.array([0.3, -2.0, 1.0, 0.5])):
        with mp.workdps(oracle.DIGITS):

            def law(s):
                masses = [mp.mpf(w) * mp.exp(x / mp.mpf(tau)) for w, x in zip(PRIOR, s, strict=True)]
                return [m / mp.fsum(masses) for m in masses]

            slope = oracle.derivative(law, oracle.exactly(row), oracle.exactly(c))
        assert oracle.apart(softmax_vjp(p, c, tau=tau), slope) <= 256 * U / tau  # the weights are off by 64 u
        assert oracle.apart(matrix @ c, slope) <= 256 * U / tau


def test_jacobian_beside_a_vertex_keeps_its_digits():
    """1 - p is zero in float64 there, the truth is e^-40."""
    p = softmax([40.0, 0.0])
    assert softmax_jacobian(p)[0, 0] == pytest.approx(math.exp(-40.0), rel=1e-14, abs=0.0)
    assert np.array_equal(softmax_jacobian(p).sum(axis=1), [0.0, 0.0])
    assert softmax_jacobian(np.full((2, 3, 5), 0.2)).shape == (2, 3, 5, 5)


LAWS = [
    np.array([1.0]),
    np.array([0.5, 0.5]),
    np.array([1.0, 0.0, 0.0]),
    np.array([0.25, 0.5, 0.25]),
    np.full(5, 0.2),
    *(stream("tests.norms", n).dirichlet(np.ones(n)) for n in (2, 3, 6, 9)),
]


@pytest.mark.parametrize("law", LAWS, ids=range(len(LAWS)))
def test_closed_norms_are_the_norms_of_the_jacobian(law):
    law = law / math.fsum(law)
    matrix = (np.diag(law) - np.outer(law, law)) / 0.5
    for closed, measured in zip(softmax_norms(law, tau=0.5), induced_norms(matrix), strict=True):
        assert abs(closed - measured) <= 32 * law.size * U


def test_norms_by_brute_force():
    """Every norm of a matrix that is not symmetric, from the definition on a fine set of directions."""
    matrix = stream("tests.norms.matrix", 0).normal(size=(3, 4))
    rng = stream("tests.norms.matrix", 1)
    points = np.concatenate([rng.normal(size=(20000, 4)), np.eye(4), list(itertools.product((-1.0, 1.0), repeat=4))])
    orders = {"one": 1, "two": 2, "inf": np.inf}
    for name, value in induced_norms(matrix)._asdict().items():
        start, end = (orders[part] for part in name.split("_"))
        ratios = np.linalg.norm(points @ matrix.T, end, axis=1) / np.linalg.norm(points, start, axis=1)
        assert ratios.max() <= value * (1 + 16 * U)
        assert ratios.max() >= (1.0 - 0.05) * value  # 20000 directions of the 3-sphere leave no larger gap


def test_norms_of_known_matrices():
    ones = Norms(*([1.0] * 9))._replace(two_one=math.sqrt(3.0), inf_one=3.0, inf_two=math.sqrt(3.0))
    for found, known in zip(induced_norms(np.eye(3)), ones, strict=True):
        assert found == pytest.approx(known, rel=4 * U, abs=0.0)
    assert softmax_norms([0.5, 0.5]) == pytest.approx(
        (0.5, math.sqrt(0.125), 0.25, math.sqrt(0.5), 0.5, math.sqrt(0.125), 1.0, math.sqrt(0.5), 0.5),
        rel=4 * U,
        abs=0.0,
    )
    assert induced_norms(np.ones((1, 13))).inf_one == 13.0  # more signs than one block holds
    assert induced_norms(np.ones((13, 1))).two_one == 13.0
    for size in (2.0**-1000, 2.0**1000):  # the squares of which leave the range
        for found, known in zip(induced_norms(size * np.eye(3)), ones, strict=True):
            assert abs(found / size - known) <= 8 * U * known


def test_a_masked_score_beside_a_tiny_prior():
    p = softmax([900.0, 0.0, -math.inf], prior=[2.0**-1074, 0.5, 0.5])
    assert p[2] == 0.0
    assert abs(p.sum() - 1.0) <= 4 * U
    assert p[0] == 1.0  # the other is below 1e-60


def test_a_small_prior_of_the_leading_entry_costs_no_digit():
    for scores, prior in (
        ([-750.0, 0.0], [1.0, 5e-324]),
        ([0.0, 700.0, 300.0], [1.0, 1e-290, 1e-300]),
        ([0.0, 400.0, -200.0], [1.0, 1e-160, 1e-170]),
        ([0.0, -1e4, 1e4], [1.0, 0.0, 5e-324]),
    ):
        with mp.workdps(50):
            masses = [mp.mpf(q) * mp.exp(mp.mpf(s)) for s, q in zip(scores, prior, strict=True)]
            exact = [m / mp.fsum(masses) for m in masses]
            value = float(mp.log(mp.fsum(masses)))
            error = 16 * np.spacing(max(map(abs, scores)))
            for p, q in zip(softmax(scores, prior=prior).tolist(), exact, strict=True):
                assert abs(p - q) <= error * q + 1e-307
        assert abs(float(softmax_value(scores, prior=prior)) - value) <= error + 1e-12


def test_a_range_beyond_floats_may_come_back_at_a_high_temperature():
    scores = [2.0**1023, -(2.0**1023)]
    tau = 2.0**1023
    assert np.abs(softmax(scores, tau=tau) - softmax([1.0, -1.0])).max() <= 4 * U
    assert np.abs(log_softmax(scores, tau=tau) - log_softmax([1.0, -1.0])).max() <= 4 * U
