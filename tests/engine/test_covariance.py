"""Entropies and covariances of rows: against balls and exact fractions, far from the origin and across tiles."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tests.attention import exact
from tests.engine.problems import FORMS, output_error, score_of, truth
from theory import engine
from theory.attention import DotProduct, SquaredDistance, partition_error, weight_error
from theory.engine import TILE, compiled, covariance, reference
from theory.engine.pairs import Form, Pairs
from theory.evidence import stream
from theory.evidence.enclosure import balls, log, precision
from theory.evidence.roundoff import EXP_ULPS, covariance_error, gamma

KERNELS = (compiled, reference)
both = pytest.mark.parametrize("kernels", KERNELS, ids=["compiled", "reference"])


def entropy_error(score, x, y, added):
    """Bound the error of an entropy ``log Z - s``: both ends, and weights that move the mean score by their error."""
    size = score.bounds(x, y)[0] + float(np.abs(added).max())
    relative = weight_error(x, y, score, added)
    rounding = gamma(len(y) + 4 * EXP_ULPS + 16) * (2.0 * size + math.log(len(y)) + 1.0)
    return relative * (1.0 + 4.0 * size + math.log(len(y))) * 2.0 + 2.0 * rounding


@precision()
def true_moments(score, x, y, v, added, visible):
    """Return entropies and covariances as balls, from the weights as they are printed."""
    law = truth(score, x, y, np.eye(len(y)), added, visible)[0]
    seen = [[p for p in row if not p.is_zero()] for row in law]
    entropy = np.array([-sum(p * p.log() for p in row) for row in seen], dtype=object)
    centred = balls(v)[np.newaxis, :, :] - (law @ balls(v))[:, np.newaxis, :]
    spread = (law[:, :, np.newaxis, np.newaxis] * centred[:, :, :, np.newaxis] * centred[:, :, np.newaxis, :]).sum(1)
    return entropy, spread


@both
@pytest.mark.parametrize("form", FORMS)
def test_against_balls(form, kernels):
    for case, (n, d, d_v) in enumerate([(1, 1, 1), (2, 3, 2), (17, 2, 3), (40, 9, 1)]):
        rng = stream(f"tests.covariance.{form}", case)
        score = score_of(form, d, rng)
        x = rng.normal(size=(3, d))
        y = rng.normal(size=(n, d))
        v = rng.normal(size=(n, d_v))
        added = 3.0 * rng.normal(size=n)
        visible = np.array([n, 1, (n + 1) // 2])
        output, logs, entropy, spread = kernels.moments(score.pairs(x, y), v, added, visible)
        outputs, partition = truth(score, x, y, v, added, visible)
        entropies, spreads = true_moments(score, x, y, v, added, visible)
        size = float(np.abs(v).max())
        relative = weight_error(x, y, score, added)
        assert exact.apart(output, outputs) <= output_error(score, x, y, v, added)
        with precision():
            assert exact.apart(logs, log(partition)) <= partition_error(x, y, score, added)
        assert exact.apart(entropy, entropies) <= entropy_error(score, x, y, added)
        assert exact.apart(spread, spreads) <= covariance_error(size, n, relative=relative)
        assert kernels is reference or np.array_equal(spread, spread.transpose(0, 2, 1))
        assert entropy_error(score, x, y, added) <= 1e-8  # the bound says something
        assert entropy[1] <= entropy_error(score, x, y, added)  # one key leaves no choice
        assert not spread[1].any()


@pytest.mark.parametrize("n", [TILE - 1, TILE, TILE + 1, 2 * TILE, 3 * TILE + 7])
@pytest.mark.parametrize("kind", ["random", "rising", "falling", "steep"])
def test_across_tiles(kind, n):
    """The running maximum rises in every tile, or is in the first; whole tiles may weigh nothing before or after."""
    rng = stream(f"tests.covariance.tiles.{kind}", n)
    y, v = rng.normal(size=(n, 2)), rng.normal(size=(n, 3))
    y[:, 0] = {"random": y[:, 0], "steep": 1000.0 * np.arange(n)}.get(kind, np.sort(y[:, 0]))
    y = y[::-1].copy() if kind == "falling" else y
    score = DotProduct(scale=2.0)
    x = np.array([[1.0, 0.1]])
    added = np.zeros(n)
    fast, slow = (kernels.moments(score.pairs(x, y), v, added, np.array([n])) for kernels in KERNELS)
    relative = weight_error(x, y, score, added)
    size = float(np.abs(v).max())
    bounds = (
        output_error(score, x, y, v, added), partition_error(x, y, score, added), entropy_error(score, x, y, added),
        covariance_error(size, n, relative=relative),
    )  # fmt: skip
    for left, right, bound in zip(fast, slow, bounds, strict=True):
        assert np.abs(left - right).max() <= 2.0 * bound


@pytest.mark.parametrize("visible", [5, TILE + 3, 2 * TILE])
@pytest.mark.parametrize("centre", [0.0, 1e4, 1e8])
def test_nothing_cancels_far_from_the_origin(centre, visible):
    """Values ``centre + k/1024`` exactly, equal weights: the covariance is a fraction, however far the centre.

    Each of two factors within D of its mean is off by at most ``e = gamma(n + 8) (centre + D)``, the error of a mean.
    """
    n = 2 * TILE
    offsets = stream("tests.covariance.far", 0).integers(-1024, 1025, size=(n, 2))
    v = centre + offsets / 1024.0
    pairs = Pairs(Form.DOT, np.zeros((1, 1)), np.ones((n, 1)), np.ones(1))
    seen = [[Fraction(int(k), 1024) for k in column] for column in offsets[:visible].T]
    means = [sum(column) / visible for column in seen]
    spread = compiled.moments(pairs, v, np.zeros(n), np.array([visible]))[3][0]
    off = gamma(visible + 8) * (centre + 2.0)
    for a in range(2):
        for b in range(2):
            products = ((p - means[a]) * (q - means[b]) for p, q in zip(seen[a], seen[b], strict=True))
            true = float(sum(products) / visible)
            assert abs(spread[a, b] - true) <= 2.0 * (2.0 * 2.0 * off + off * off) + gamma(visible + 16) * 4.0
    assert 2.0 * (4.0 * off + off * off) < 1e-3  # squares of 1e8 would have lost all digits of it


@both
def test_entropy_of_laws_in_closed_form(kernels):
    flat = Pairs(Form.DOT, np.zeros((1, 1)), np.ones((3 * TILE, 1)), np.ones(1))
    for n in (1, 2, TILE, 3 * TILE):
        entropy = kernels.moments(flat, np.ones((3 * TILE, 1)), np.zeros(3 * TILE), np.array([n]))[2][0]
        assert abs(entropy - math.log(n)) <= gamma(n + 32) * (1.0 + math.log(n))
    for gap in (1.0, 30.0, 700.0, 2000.0):  # one key dominates: e^-gap (1 + gap) to first order
        pair = Pairs(Form.DOT, np.array([[gap]]), np.array([[0.0], [1.0]]), np.ones(1))
        entropy = kernels.moments(pair, np.ones((2, 1)), np.zeros(2), np.array([2]))[2][0]
        faint = math.exp(-gap)
        true = gap * faint / (1.0 + faint) + math.log1p(faint)
        assert abs(entropy - true) <= gamma(64) * (1.0 + gap * faint)


def test_entropy_forgets_what_weighs_nothing():
    """Scores rise by a million from tile to tile: the entropy is that of the last tile, to the digits of its own."""
    steps = stream("tests.covariance.last", 0).integers(0, 2048, size=TILE) / 1024.0
    y = (steps - 1e6 / 3.0 * np.arange(3.0, -1.0, -1.0)[:, np.newaxis]).reshape(-1, 1)
    pairs = Pairs(Form.DOT, np.ones((1, 1)), y, np.ones(1))
    entropy = compiled.moments(pairs, np.ones((4 * TILE, 1)), np.zeros(4 * TILE), np.array([4 * TILE]))[2][0]
    masses = np.exp(steps)
    true = math.log(math.fsum(masses)) - math.fsum(masses * steps) / math.fsum(masses)
    assert abs(entropy - true) <= gamma(2 * TILE) * 2.0 * math.log(TILE)
    assert gamma(2 * TILE) * 2.0 * math.log(TILE) < 1e6 / 3.0 * 2.0**-53  # a mean of a million would have left more


@both
def test_log_weights_over_six_hundred_orders(kernels):
    """Only keys near the heaviest count, and the law is that of the weights."""
    added = math.log(10.0) * np.array([-300.0, 0.0, 300.0, 299.0, 298.0])
    pairs = Pairs(Form.DOT, np.zeros((1, 1)), np.zeros((5, 1)), np.ones(1))
    v = np.array([[5.0], [7.0], [0.0], [1.0], [2.0]])
    output, logs, entropy, spread = kernels.moments(pairs, v, added, np.array([5]))
    law = np.array([1.0, 0.1, 0.01]) / 1.11
    bound = 64 * 2.0**-53 * float(np.abs(added).max())
    assert abs(output.item() - law @ [0.0, 1.0, 2.0]) <= bound
    assert abs(logs.item() - math.log(1.11) - added[2]) <= bound
    assert abs(entropy.item() + law @ np.log(law)) <= bound
    assert abs(spread.item() - (law @ [0.0, 1.0, 4.0] - (law @ [0.0, 1.0, 2.0]) ** 2)) <= 4.0 * bound


def test_what_overflows_is_refused(monkeypatch):
    """A key whose score is minus infinity must not turn up as an infinite entropy."""
    pairs = Pairs(Form.DOT, np.array([[1e200]]), np.array([[-1e200], [1.0]]), np.ones(1))
    for backend in ("compiled", "reference"):
        monkeypatch.setenv("THEORY_BACKEND", backend)
        try:
            found = engine.moments(pairs, np.ones((2, 1)))
        except ValueError as refusal:
            assert str(refusal).startswith("score: expected ")  # noqa: PT017
        else:
            assert 0.0 <= found.entropy[0] < 1e-300  # a lost weight counts as the least exponential
        one = SquaredDistance(1.0).pairs(np.zeros((1, 1)), np.zeros((2, 1)))
        with pytest.raises(ValueError, match=r"^values: expected sizes that float64 can hold"):
            engine.moments(one, np.array([[1e200], [-1e200]]))


def test_the_kernel_as_it_is_written():
    """The plain function, which the compiler never sees here, gives the numbers of the compiled one."""
    rng = stream("tests.covariance.plain", 0)
    y = rng.normal(size=(9, 2))
    v = rng.normal(size=(9, 2))
    added = rng.normal(size=9)
    pairs = SquaredDistance(1.0).pairs(y[:3], y)
    visible = np.array([9, 4, 1])
    found = np.empty((3, 2)), np.empty(3), np.empty(3), np.empty((3, 2, 2))
    columns = [np.ascontiguousarray(part.T) for part in (y, v)]
    covariance._moments(1, pairs.queries, *columns, added, pairs.coefficients, visible, *found)
    for left, right in zip(found, compiled.moments(pairs, v, added, visible), strict=True):
        assert np.abs(left - right).max() <= gamma(200) * 10.0
