"""Widths around the laws of a solver that is worse than ours still hold the truth, and a share of them is needed."""

import dataclasses
import importlib
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from tests.maxent import oracle
from theory.evidence import stream
from theory.evidence.roundoff import U, gamma
from theory.maxent import entmax, fenchel_young_loss
from theory.maxent.batch import excess
from theory.maxent.layers import cosine
from theory.maxent.losses import law_error, loss_interval
from theory.maxent.sparse import entmax_norm
from theory.maxent.sparse.entmax import Solved, solve_rows
from theory.maxent.sparse.threshold import weight_error
from theory.maxent.sparse.tsallis import deformed_exp

losses = importlib.import_module("theory.maxent.losses.fenchel_young")
maps = importlib.import_module("theory.maxent.sparse.entmax")
ORDERS = (0.5, 1.0, 1.25, 1.5, 2.0, 2.5)


def worsen(monkeypatch, way, lift=0.0):
    """Let every solver answer for scores that are off by ``way``, and then for a threshold that is off by ``lift``."""

    def coarse(read, order):
        off = read.gaps + way
        top = off.max(axis=1, keepdims=True)
        found = solve_rows(dataclasses.replace(read, gaps=off - top), order)
        threshold = found.threshold + top + lift
        laws = deformed_exp(read.gaps + way - threshold, order - 1.0)[0] if lift else found.laws
        return Solved(read, order, laws, threshold)

    for module in (losses, maps):
        monkeypatch.setattr(module, "solve_rows", coarse)
    monkeypatch.setattr(maps, "compiled_laws", lambda *_, **__: None)  # which does not ask it


def cases():
    yield np.array([0.25, 0.0]), np.array([1.0, -1.0])
    yield np.array([0.5, 0.25, 0.0]), np.array([1.0, -1.0, 1.0])
    for case in range(2):
        rng = stream("tests.coarse", case)
        s = 0.3 * rng.normal(size=int(rng.integers(2, 6)))
        yield s, np.sign(rng.normal(size=s.size))


def used(interval, truth):
    """Return which share of its width an interval needs, or raise if that is not enough."""
    share = float(abs(mp.mpf(interval.mid) - truth) / (mp.mpf(interval.width) / 2))
    assert share <= 1.0
    return share


@pytest.mark.parametrize("alpha", ORDERS)
@pytest.mark.parametrize("size", [1e-3, 1e-6])
def test_a_loss_of_scores_that_are_off(alpha, size, monkeypatch):
    shares = []
    for s, way in cases():
        for y in (np.eye(s.size)[0], np.eye(s.size)[-1], np.full(s.size, 1.0 / s.size)):
            with monkeypatch.context() as patch:
                worsen(patch, size * way)
                found = loss_interval(s, y, alpha)
            with mp.workdps(oracle.DIGITS):
                exact = [mp.mpf(x) / mp.fsum(oracle.exactly(y)) for x in oracle.exactly(y)]
                shares.append(used(found, oracle.loss(oracle.exactly(s), exact, mp.mpf(alpha), mp.mpf(1))))
    assert max(shares) > 0.15


@pytest.mark.parametrize("alpha", ORDERS)
def test_a_loss_at_a_threshold_that_is_off(alpha, monkeypatch):
    shares = []
    for s, way in cases():
        for y in (np.eye(s.size)[0], np.eye(s.size)[-1]):
            with monkeypatch.context() as patch:
                worsen(patch, 0.0 * way, lift=1e-3)
                found = loss_interval(s, y, alpha)
            with mp.workdps(oracle.DIGITS):
                shares.append(used(found, oracle.loss(oracle.exactly(s), oracle.exactly(y), mp.mpf(alpha), mp.mpf(1))))
    assert max(shares) > 0.08


@pytest.mark.parametrize("alpha", ORDERS)
@pytest.mark.parametrize("size", [1e-3, 1e-6])
def test_a_law_of_scores_that_are_off(alpha, size, monkeypatch):
    shares = []
    for s, way in cases():
        law = oracle.entmax(s, alpha)
        for off, lift in ((size, 0.0), (size, size), (0.0, size)):
            with monkeypatch.context() as patch:
                worsen(patch, off * way, lift)
                found = entmax(s, alpha)
                bound = law_error(s, alpha)
            with mp.workdps(oracle.DIGITS):
                missed = mp.fsum(abs(mp.mpf(float(p)) - q) for p, q in zip(found, law, strict=True))
                shares.append(float(missed / bound))
    assert max(shares) <= 1.0
    assert max(shares) > 0.15 or alpha > 2.0


def test_what_rounding_adds_is_charged():
    """Of laws without a residual: eight roundings that lose 2^7 each, and twenty of each far term, three times over."""
    near = loss_interval([0.0, 0.0], [1.0, 0.0], 2.0)
    assert near.width >= 4.0 * gamma(2**10 + 2) * 0.25
    far = loss_interval([0.75, 0.0], [0.0, 1.0], 2.0)  # the law is (7/8, 1/8), the threshold -1/8
    assert far.width >= 4.0 * (gamma(2**10 + 2) * fenchel_young_loss([0.75, 0.0], [0.0, 1.0], 2.0) + gamma(64) * 1.25)
    assert entmax_norm([0.5, 0.5], 1.5).width >= 2.0 * 4.0 * U * 0.7
    norm = entmax_norm([0.6, 0.3, 0.1], 1.0)  # eight roundings of a power each way, and the sums beside the root
    assert norm.width >= 27.0 * U * norm.hi


def test_what_a_cosine_is_charged():
    """Two roundings a product of law and score, one a square of the law, three a square of a score, and their sums."""
    assert cosine([1.0, 0.0], [1.0, 1.0]).width >= 21.5 * U
    assert cosine([0.5, 0.5], [1.0, 1.0]).width >= 30.0 * U


def test_sums_that_cancel_keep_all_digits():
    """Against rational numbers; a sum in pairs alone is off by the logarithm of their number."""
    for case, n in enumerate((1, 2, 3, 7, 126, 1000, 4097)):
        rng = stream("tests.excess", case)
        for weights in (
            np.full(n, 1.0 / n),
            rng.dirichlet(np.ones(n)),
            rng.uniform(size=n) * 2.0 ** rng.integers(-40, 1, n),
        ):
            exact = sum(map(Fraction, weights.tolist())) - 1
            assert (
                abs(Fraction(float(excess(weights[np.newaxis])[0, 0])) - exact)
                <= Fraction(U) * abs(exact) + n * Fraction(U) ** 2
            )


def test_the_published_error_is_the_one_that_is_claimed():
    for n in (1, 2, 126, 10**5):
        for alpha in (0.5, 1.0, 2.0):
            assert weight_error(alpha, n) == pytest.approx((6.0 + 3.0 * math.log(n)) * U, rel=4 * U, abs=0.0)
        for alpha in (2.5, 5.0, 10.0):
            assert weight_error(alpha, n) == pytest.approx(
                (8.0 * alpha * U) ** (1.0 / (alpha - 1.0)), rel=1e-14, abs=0.0
            )


@pytest.mark.parametrize("alpha", [2.5, 3.0, 5.0, 10.0])
@pytest.mark.parametrize("ties", [1, 2])
def test_many_entries_within_roundings_of_the_edge(alpha, ties):
    """One at a time they have no weight; together, as the threshold was rounded, they took a tenth of the others'."""
    e = alpha - 1.0
    reach = ties**-e / e
    row = np.append(np.zeros(ties), -reach + (1 + np.arange(3000 - ties) % 4) * np.spacing(reach))
    found = entmax(row, alpha)
    levels, where, counts = np.unique(row, return_inverse=True, return_counts=True)
    with mp.workdps(400):
        z = [mp.mpf(float(x)) * mp.mpf(e) for x in levels - levels.max()]
        low = mp.mpf(0)
        high = 1 - mp.mpf(3000) ** -mp.mpf(e)
        for _ in range(1200):
            middle = (low + high) / 2
            total = mp.fsum(int(c) * max(1 + x - middle, 0) ** (1 / mp.mpf(e)) for x, c in zip(z, counts, strict=True))
            low, high = (middle, high) if total > 1 else (low, middle)
        law = [max(1 + x - high, 0) ** (1 / mp.mpf(e)) for x in z]
        worst = max(abs(mp.mpf(float(p)) - law[k]) for k, p in set(zip(where.tolist(), found.tolist(), strict=True)))
    assert worst <= weight_error(alpha, 3000)
    assert abs(math.fsum(found.tolist()) - 1.0) <= 8 * U
