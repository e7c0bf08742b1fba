"""The scalar equation of equal overlaps against mpmath, and the equation of all overlaps against coordinates."""

import mpmath
import numpy as np
import pytest

from theory.particles import Overlap, PreNorm, SoftmaxField, on_sphere
from theory.particles.exact import Equiangular, GapField, gaps
from theory.particles.studies.equiangular import uniform_gaps

CASES = [(2, 0.0), (4, 1.0), (16, 3.0), (5, 9.0), (100, 0.25)]


def printed(rho, n, beta, normalised):
    """The right side as it is printed."""
    grown = 2 * mpmath.exp(beta * rho) * (1 - rho) * ((n - 1) * rho + 1)
    return grown / (mpmath.exp(beta) + (n - 1) * mpmath.exp(beta * rho)) if normalised else grown / n


@pytest.fixture
def digits():
    """Compute with forty digits, so that one minus a small gap keeps those of the gap."""
    with mpmath.workdps(40):
        yield


@pytest.mark.usefixtures("digits")
@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize(("n", "beta"), CASES)
def test_rate_time_and_gap(n, beta, normalised):
    told = Equiangular(n, beta, normalised)
    for gap in (0.9, 0.5, 1e-9):
        exact = printed(1 - mpmath.mpf(gap), n, beta, normalised)
        assert float(told.rate(gap)) == pytest.approx(float(exact), rel=1e-13, abs=0.0)
    integral = mpmath.quad(lambda r: 1 / printed(r, n, beta, normalised), [0, 0.5, 0.9, 0.99])
    assert float(told.time(0.01)) == pytest.approx(float(integral), rel=1e-11, abs=0.0)
    times = np.array([0.0, 0.3, 1.0]) * float(told.time(0.01))
    assert told.gap(times) == pytest.approx([1.0, *told.gap(times[1:])], rel=1e-12, abs=0.0)
    assert told.time(told.gap(times)) == pytest.approx(times, rel=1e-11, abs=1e-12)
    late = 1e-12
    pace = 2.0 if normalised else 2.0 * np.exp(beta)
    assert told.log_prefactor() == pytest.approx(np.log(late) + pace * float(told.time(late)), rel=1e-10, abs=1e-9)


def test_tail_under_pre_norm():
    n, beta, gap = 5, 2.0, 0.75
    c, d = Equiangular(n, beta).pre_norm_tail(gap, norm=1.5)

    def speed(_t, state):
        g = mpmath.exp(state[0])
        log_norm = state[1]
        crowd = (n - 1) * mpmath.exp(-beta * g)
        outward = (1 + crowd * (1 - g)) / (1 + crowd)
        return [-printed(1 - g, n, beta, normalised=True) / g * mpmath.exp(-log_norm), outward * mpmath.exp(-log_norm)]

    state = [mpmath.log(gap), mpmath.log(1.5)]
    t = 0.0
    step = 0.02
    while t < 400.0:  # Kutta's method with growing steps
        k1 = speed(t, state)
        k2 = speed(t, [s + step / 2 * k for s, k in zip(state, k1, strict=True)])
        k3 = speed(t, [s + step / 2 * k for s, k in zip(state, k2, strict=True)])
        k4 = speed(t, [s + step * k for s, k in zip(state, k3, strict=True)])
        state = [s + step / 6 * (a + 2 * b + 2 * c_ + e) for s, a, b, c_, e in zip(state, k1, k2, k3, k4, strict=True)]
        t += step
        step = 0.02 * (1.0 + t)
    assert t - float(mpmath.exp(state[1])) == pytest.approx(d, rel=0.0, abs=0.02)
    assert float(mpmath.exp(state[0])) * t**2 / c == pytest.approx(1.0 + 2.0 * d / t, rel=0.0, abs=2e-4)


@pytest.mark.usefixtures("digits")
@pytest.mark.parametrize(("n", "beta", "gap"), [(4, 1.0, 1.333), (2, 0.5, 1.999), (1000, 6.0, 1.0)])
def test_tail_from_tokens_whose_sum_almost_vanishes(n, beta, gap):
    edge = mpmath.mpf(n) / (n - 1)
    b = mpmath.mpf(beta)
    g0 = mpmath.mpf(gap)
    first = n - (n - 1) * g0

    def norm(y):
        a = mpmath.exp(y)
        g = abs(n - a) / (n - 1)  # a may round to more than n
        far = mpmath.exp(b * edge) * (mpmath.e1(b * (edge - g0)) - mpmath.e1(b * (edge - g)))
        grown = mpmath.ei(b * g0) - mpmath.ei(b * g) + far + (n - 1) * mpmath.log(g0 * (edge - g) / g / (edge - g0))
        return mpmath.sqrt(first / a) * mpmath.exp(grown / (2 * n))

    panels = [mpmath.log(first), mpmath.log(n) - 1.0, mpmath.log(n)]
    exact = mpmath.quad(norm, panels) / 2 - 1
    assert Equiangular(n, beta).pre_norm_tail(gap)[1] == pytest.approx(float(exact), rel=1e-11, abs=0.0)


def test_the_smallest_beta_is_like_none():
    weak, none = (Equiangular(4, beta) for beta in (5e-324, 0.0))
    assert float(weak.time(0.5)) == pytest.approx(float(none.time(0.5)), rel=1e-15, abs=0.0)
    assert weak.pre_norm_tail(0.5) == pytest.approx(none.pre_norm_tail(0.5), rel=1e-14, abs=0.0)


@pytest.mark.parametrize("normalised", [True, False])
def test_overlaps_follow_the_tokens(normalised):
    x = np.random.default_rng(0).normal(size=(5, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    v = on_sphere(1.7, normalised=normalised)(x)
    expected = -(v @ x.T + x @ v.T)
    np.fill_diagonal(expected, 0.0)
    found = GapField(1.7, normalised)(gaps(x))
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-14)
    np.testing.assert_array_equal(GapField(1.7, normalised)(np.stack([gaps(x)] * 2))[1], found)


def test_overlaps_follow_tokens_under_pre_norm():
    rng = np.random.default_rng(1)
    unit = rng.normal(size=(4, 3))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    norms = rng.uniform(0.5, 3.0, size=(4, 1))
    v = PreNorm(SoftmaxField(Overlap(1.2)))(unit * norms)
    grown = np.einsum("ij,ij->i", v, unit)[:, np.newaxis]
    turned = (v - grown * unit) / norms
    expected = -(turned @ unit.T + unit @ turned.T)
    np.fill_diagonal(expected, 0.0)
    found = GapField(1.2, pre_norm=True)(np.hstack([gaps(unit), np.log(norms)]))
    np.testing.assert_allclose(found, np.hstack([expected, grown / norms]), rtol=0.0, atol=1e-14)


def test_small_gaps_keep_their_digits():
    tiny = 2.0**-300 * np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 2.0], [2.0, 2.0, 0.0]])
    np.testing.assert_allclose(GapField(1.0)(tiny), -2.0 * tiny, rtol=1e-14, atol=0.0)


def test_uniform_gaps_have_the_law_of_uniform_tokens():
    draws = uniform_gaps(np.random.default_rng(2), 3, 50, 20000)
    overlaps = 1.0 - draws[:, [0, 0, 1], [1, 2, 2]]
    assert overlaps.mean(axis=0) == pytest.approx([0.0, 0.0, 0.0], rel=0.0, abs=6.0 / np.sqrt(50 * 20000))
    assert (overlaps**2).mean(axis=0) == pytest.approx([0.02] * 3, rel=0.06, abs=0.0)
    assert (overlaps**4).mean() == pytest.approx(3 / (50 * 52), rel=0.1, abs=0.0)
    with pytest.raises(ValueError, match="tokens: expected at most the dimension 2, got 3"):
        uniform_gaps(np.random.default_rng(0), 3, 2, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Equiangular(1, 1.0), "tokens: expected an integer of at least 2"),
        (lambda: Equiangular(3, -1.0), "beta: expected a number from 0 to 20"),
        (lambda: Equiangular(3, 1.0).rate(0.0), "gap: expected numbers above 0"),
        (lambda: Equiangular(3, 1.0).time(1.5), "gap: expected numbers above 0"),
        (lambda: Equiangular(3, 1.0).gap(-1.0), "times: expected non-negative times"),
        (lambda: Equiangular(3, 1.0).gap(1e4), "times: expected times before"),
        (lambda: Equiangular(3, 1.0, normalised=False).outward(0.5), "normalised: expected softmax rows"),
        (lambda: Equiangular(3, 1.0, normalised=False).pre_norm_tail(), "normalised: expected softmax rows"),
        (lambda: Equiangular(3, 1.0).pre_norm_tail(1.0, -1.0), "norm: expected a positive"),
        (lambda: Equiangular(2, 20.0).pre_norm_tail(), "beta: expected a constant that float64 holds"),
        (lambda: GapField(np.inf), "beta: expected finite"),
        (lambda: GapField(400.0, normalised=False), "beta: expected at most 350 in size without normalisation"),
        (lambda: GapField(1.0)(np.zeros((2, 3))), r"state: expected shape \(..., n, n\)"),
        (lambda: GapField(1.0, pre_norm=True)(np.zeros((2, 2))), r"state: expected shape \(..., n, n \+ 1\)"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
