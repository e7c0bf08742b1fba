"""The Frank-Wolfe gap: in rational numbers at order two, at sixty digits elsewhere, and never below the truth."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from tests.maxent import oracle
from theory.evidence import Kind, stream
from theory.evidence.enclosure import balls, precision
from theory.maxent import entmax, entmax_gap, frank_wolfe_gap

ALPHAS = (0.5, 0.9, 1.0 - 1e-9, 1.0, 1.0 + 1e-9, 1.25, 1.5, 2.0, 2.5, 5.0)


def laws(name, n):
    """A law inside, one beside a vertex, the uniform one, and one that has zeros."""
    rng = stream(f"tests.certificate.{name}", n)
    inside = rng.dirichlet(np.ones(n))
    yield inside
    beside = np.full(n, 1e-9)
    beside[0] = 1.0 - (n - 1) * 1e-9
    yield beside
    yield np.full(n, 1.0 / n)
    if n > 2:
        zeros = np.where(np.arange(n) < n // 2, inside, 0.0)
        yield zeros / zeros.sum()


def encloses(interval, truth):
    """Tell whether an mpmath number lies inside."""
    with mp.workdps(oracle.DIGITS):
        return mp.mpf(interval.lo) <= truth <= mp.mpf(interval.hi)


@pytest.mark.parametrize("n", [1, 2, 5, 30])
@pytest.mark.parametrize("tau", [1.0, 0.3])
def test_order_two_in_rational_numbers(n, tau):
    """The gradient s - tau p is rational, and so is the gap."""
    s = stream("tests.certificate.rational", n).normal(size=n)
    for law in laws("rational", n):
        p = [Fraction(x) for x in law.tolist()]
        p = [x / sum(p) for x in p]
        g = [Fraction(x) - Fraction(tau) * y for x, y in zip(s.tolist(), p, strict=True)]
        gap = max(g) - sum(x * y for x, y in zip(g, p, strict=True))
        found = entmax_gap(s, law, 2.0, tau=tau)
        assert gap in found
        assert found.width <= 1e-15 * max(1.0, float(gap))
        assert found.kind is Kind.CERTIFIED


def gap_of(s, law, alpha, tau):
    """The gap with the derivative of the printed entropy, at sixty digits."""
    with mp.workdps(oracle.DIGITS):
        a, t = mp.mpf(alpha), mp.mpf(tau)
        p = oracle.exactly(law)
        p = [x / mp.fsum(p) for x in p]
        slopes = [-mp.log(x) - 1 if a == 1 else -(x ** (a - 1)) / (a - 1) for x in p]
        g = [x + t * y for x, y in zip(oracle.exactly(s), slopes, strict=True)]
        return max(g) - mp.fsum(x * y for x, y in zip(g, p, strict=True)), p


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("n", [2, 5])
def test_every_order_at_sixty_digits(alpha, n):
    s = stream("tests.certificate.digits", n).normal(size=n)
    for tau in (1.0, 0.3):
        for law in laws("digits", n):
            if alpha <= 1.0 and law.min() == 0.0:
                continue
            found = entmax_gap(s, law, alpha, tau=tau)
            assert encloses(found, gap_of(s, law, alpha, tau)[0])
            assert found.width <= 1e-14 * max(1.0, found.hi)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_gap_dominates_what_is_missing(alpha):
    """The true shortfall is the attained maximum less the value at the law, both at sixty digits."""
    s = np.array([0.7, 0.1, -0.4, 0.35])
    tau = 0.8
    for law in laws("shortfall", 4):
        if alpha <= 1.0 and law.min() == 0.0:
            continue
        gap, p = gap_of(s, law, alpha, tau)
        with mp.workdps(oracle.DIGITS):
            best = oracle.value(oracle.exactly(s), mp.mpf(alpha), mp.mpf(tau))
            here = mp.fsum(x * y for x, y in zip(p, oracle.exactly(s), strict=True))
            missing = best - here - mp.mpf(tau) * oracle.tsallis(p, mp.mpf(alpha))
            assert missing >= 0
            assert missing <= mp.mpf(entmax_gap(s, law, alpha, tau=tau).hi)
            assert missing <= gap


@pytest.mark.parametrize("alpha", ALPHAS)
def test_it_vanishes_at_the_maximiser_only(alpha):
    s = np.array([0.7, 0.1, -0.4, 0.35])
    best = entmax(s, alpha)
    assert entmax_gap(s, best, alpha).hi <= 1e-14
    moved = 0.99 * best + 0.01 / 4.0
    assert entmax_gap(s, moved / moved.sum(), alpha).lo > 1e-4


def test_a_law_on_one_entry():
    """At a vertex the gradient of order two is the scores less one, there."""
    assert entmax_gap([3.0], [1.0], 1.0).hi <= 1e-300
    assert 0.5 in entmax_gap([1.0, 0.5], [1.0, 0.0], 2.0)
    assert entmax_gap([1.0, 0.0], [1.0, 0.0], 2.0).hi <= 1e-300  # saturated: the lead is one over alpha - 1


@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_a_vanishing_weight_is_unknown_up_to_order_one(alpha):
    found = entmax_gap([1.0, 0.0], [1.0, 0.0], alpha)
    assert found.lo == -np.inf
    assert found.hi == np.inf
    assert found.kind is Kind.CERTIFIED


def test_any_gradient_and_any_constant_in_it():
    with precision(128):
        gradient = balls([0.25, 1.0, -3.0])
        found = frank_wolfe_gap(gradient, [0.5, 0.25, 0.25])
        assert 1.375 in found
        assert 1.375 in frank_wolfe_gap(gradient + 7, [0.5, 0.25, 0.25])
        assert found.width <= 1e-15
