"""Softmax between its limits: rates as the temperature falls or rises, and derivatives in the temperature."""

from fractions import Fraction
from itertools import product

import numpy as np

from theory.evidence import (
    Claim,
    at_least,
    at_most,
    ball,
    balls,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    verifies,
)
from theory.evidence.enclosure import coefficient, variable
from theory.maxent import entmax, softmax, softmax_value
from theory.maxent.gibbs import expectation, gibbs_law
from theory.maxent.sparse import tsallis
from verify import textbook
from verify.maxent.test_softmax_rounding import LEVELS, MANY, law, many

PAPER = ("derived", "refereed")
SIZES = (2.0**-40, 2.0**40)  # of scores and temperature at once


def spread(rng):
    """Draw scores of a few sizes and a temperature."""
    n = int(rng.integers(2, 60))
    tau = float(rng.uniform(0.2, 4.0))
    return rng.normal(size=n) * float(rng.choice([0.01, 1.0, 10.0])) + 3.0, tau


def gapped(run):
    """Yield scores of which the first few are largest, their number, and a temperature."""
    near = np.array([1.0, 1.0, 0.0, -6.0])
    yield np.array([0.0] + [-5.0] * 9), 1, 1.0
    yield near, 2, 0.7
    yield near, 2, 4096.0  # so hot that the bound by the count is almost attained
    for size in SIZES:
        yield size * near, 2, size
    yield np.sort(many())[::-1], int((many() == LEVELS.max()).sum()), 0.3
    for rng in run.draws(quick=25, paper=500):
        n = int(rng.integers(2, 60))
        tau = float(rng.uniform(0.1, 3.0))
        m = int(rng.integers(1, n))
        yield np.append(np.full(m, 2.0), 2.0 - rng.uniform(0.05, 20.0 * tau, size=n - m)), m, tau


@verifies(
    Claim(
        "softmax.cold",
        "as the temperature falls, softmax approaches the uniform law on the largest scores at an exponential rate",
        r"$\varepsilon = p^*(M^c) \le \frac{n - m}m e^{-\delta/\tau}$, $\|p^* - u_M\|_1 = 2\varepsilon$, $0 \le V - \max s - \tau\log m = -\tau\log(1 - \varepsilon) \le \tau\min(\log\frac nm, \frac\varepsilon{1 - \varepsilon})$",
        assumptions=(r"$m < n$ scores are largest, by a gap of $\delta$",),
        spec=("RA.B4",),
        cites=("weed2018",),
        source_status=PAPER,
    ),
    constant("unit", "the factor (n - m)/m is missing", counted=False),
    bug("one-winner", "a single score is taken to be the largest", single=True),
    hypothesis("mean-gap", "the gap is to the mean of the other scores", mean=True),
    constant("once", "the law moves by the mass that the other scores have", twice=1),
    constant("near", "the bound of the value by the count is two per cent smaller", most=0.98),
)
def test_cold(run, *, counted=True, single=False, mean=False, twice=2, most=1.0):
    for s, count, tau in gapped(run):
        n = s.size
        t = ball(tau)
        m = 1 if single else count
        case = {"n": n, "m": count, "tau": tau}
        p = softmax(exact(s), tau=tau)
        below = balls(s[count:]).sum() / (n - count) if mean else ball(s[count:].max())
        bound = np.exp((below - ball(s[0])) / t) * (ball(n - m) / m if counted else 1)
        yield at_most(p[count:].sum(), bound, scale=bound, part="rate", **case)
        rest = law(s, tau)[count:].sum()
        even = np.where(np.arange(n) < count, 1 / exact(np.full(n, float(count))), 0.0)
        yield equals(abs(p - even).sum(), twice * rest, scale=1, part="distance", **case)
        excess = softmax_value(exact(s), tau=tau) - (ball(s[0]) + t * np.log(ball(m)))
        yield at_most(excess, most * t * np.log(ball(n) / m), scale=tau, part="value, by the count", **case)
        yield equals(excess, -t * np.log(1 - rest), scale=tau, part="value", **case)
        yield at_most(excess, t * rest / (1 - rest), scale=tau, part="value, by the ratio", **case)


@verifies(
    Claim(
        "softmax.hot",
        "as the temperature rises, softmax approaches the uniform law at the rate R / (2 tau), and its value at R^2 / (8 tau)",
        r"$\|p^* - u\|_1 \le 2\tanh\frac R{4\tau} \le \frac R{2\tau}$ and $0 \le V - \bar s - \tau\log n \le \frac{R^2}{8\tau}$",
        assumptions=(r"scores of range $R > 0$",),
        spec=("RA.B4",),
        cites=("hoeffding1963", "cohen2023"),
        source_status=PAPER,
    ),
    constant("near", "the first bound is two per cent smaller", first=0.98),
    constant("second", "the second bound is 0.45 R / tau", second=0.45),
    constant("hoeffding", "the bound of the value is two per cent smaller", eighth=0.98 / 8),
    hypothesis("gap", "the gap to the second largest score stands for the range", gap=True),
    bug("sum", "the sum of the scores stands for their mean", averaged=False),
)
def test_hot(run, *, first=1.0, second=0.5, eighth=0.125, gap=False, averaged=True):
    cases = [(np.array([2.0 * np.log(2.0), 0.0, 0.0]), 1.0), (np.array([0.005, -0.005]), 1.0)]
    cases.append((np.append(many(), 4.1), 0.7))
    cases += [(size * np.array([1.0, 0.3, -0.7]), size) for size in SIZES]
    cases += [spread(rng) for rng in run.draws(quick=25, paper=500)]
    for s, tau in cases:
        n = s.size
        t = ball(tau)
        case = {"n": s.size, "tau": tau}
        falling = balls(np.sort(s)[::-1])
        reach = falling[0] - falling[1 if gap else -1]
        apart = abs(softmax(exact(s), tau=tau) - 1 / exact(float(n))).sum()
        yield at_most(apart, first * 2 * np.tanh(reach / (4 * t)), scale=reach / t, part="tanh", **case)
        yield at_most(apart, second * reach / t, scale=reach / t, part="linear", **case)
        mean = balls(s).sum() / (n if averaged else 1)
        excess = softmax_value(exact(s), tau=tau) - (mean + t * np.log(ball(n)))
        yield at_least(excess, 0, scale=reach**2 / t, part="value", **case)
        yield at_most(excess, eighth * reach**2 / t, scale=reach**2 / t, part="value", **case)


@verifies(
    Claim(
        "softmax.two-levels",
        "the bound of the hot law is attained when the scores have two levels in the right proportion, not for two scores",
        r"$\|p^* - u\|_1 = 2\tanh\frac R{4\tau} = \frac{2(n - 2k)}n$ if $k$ of $n$ scores are $R$ above the others and $R/\tau = 2\log\frac{n - k}k$; $n = 2$: $\tanh\frac R{2\tau}$",
        assumptions=(r"$2k < n$",),
        spec=("RA.B4",),
        source_status=PAPER,
    ),
    hypothesis("even", "two scores attain the bound, too", two="equal"),
    constant("halved", "the argument of tanh is R / (8 tau)", quarter=8),
    bug("third-level", "one score lies half-way between the levels", between=0.5),
)
def test_two_levels(run, *, two="tanh", quarter=4, between=0.0):
    quick = ((3, 1), (10, 1), (100, 7), (MANY, 7))
    paper = ((3, 1), (5, 2), (10, 1), (10, 3), (100, 7), (999, 1), (MANY, 7))
    for (n, k), tau in product(run.pick(quick=quick, paper=paper), (1.0, 0.3)):
        case = {"n": n, "k": k, "tau": tau}
        reach = 2.0 * tau * np.log(exact(float(n - k)) / k)
        levels = np.append(np.where(np.arange(n - 1) < k, 1.0, 0.0), between)
        apart = abs(softmax(reach * levels, tau=tau) - 1 / exact(float(n))).sum()
        yield equals(apart, 2 * np.tanh(reach / (quarter * ball(tau))), **case)
        yield equals(apart, Fraction(2 * (n - 2 * k), n), part="share", **case)
    for reach in (0.5, 2.0):
        apart = abs(softmax(exact([reach, 0.0])) - 0.5).sum()
        yield equals(apart, np.tanh(ball(reach) / 2) if two == "tanh" else 2 * np.tanh(ball(reach) / 4))


@verifies(
    Claim(
        "softmax.temperature",
        "in the temperature, weights, mean score and entropy move as covariances",
        r"$p_i' = -p_i(s_i - \langle p, s\rangle)/\tau^2$, $\langle p, s\rangle' = -\mathrm{Var}_p(s)/\tau^2$, $H' = \mathrm{Var}_p(s)/\tau^3 \ge 0$",
        assumptions=("finite scores", "positive temperature"),
        spec=("RA.B6",),
        source_status=("recalled", "refereed on paper"),
    ),
    constant("square", "the entropy grows with the variance over the square of the temperature", power=2),
    bug("sign", "the weights of large scores grow with the temperature", sign=1.0),
    hypothesis("uncentred", "the second moment stands for the variance", centred=False),
)
def test_temperature(run, *, power=3, sign=-1.0, centred=True):
    drawn = (spread(rng) for rng in run.draws(quick=15, paper=200))
    sized = [(size * np.array([0.0, 1.0, 3.0]), size) for size in SIZES]
    for s, tau in [(np.array([0.0, 1.0, 3.0]), 0.5), *sized, *drawn]:
        case = {"n": s.size, "tau": tau}
        size = float(np.abs(s).max())
        warm = variable(2)[()] + ball(tau)  # of what is computed from it, order one is the slope
        masses = [(x / warm).exp() for x in balls(s)]
        total = sum(masses)
        claimed = [mass / total for mass in masses]
        mean = sum(p * x for p, x in zip(claimed, balls(s), strict=True))
        weights = gibbs_law(exact(s), tau=tau).weights
        t = exact(tau)
        level = expectation(weights, s)
        variance = expectation(weights, (exact(s) - level) ** 2 if centred else exact(s) ** 2)
        yield equals(coefficient(mean, 1), sign * variance / t**2, scale=(size / tau) ** 2, part="mean", **case)
        entropy = total.log() - mean / warm
        scale = (size / tau) ** 2 / tau
        yield equals(coefficient(entropy, 1), variance / t**power, scale=scale, part="entropy", **case)
        at = int(s.argmin())
        pull = sign * weights[at] * (exact(float(s[at])) - level) / t**2
        yield equals(coefficient(claimed[at], 1), pull, scale=size / tau / tau, part="weight", **case)


def largest(s, alpha, tau):
    """The largest mean score plus entropy, at the law of the definition; ball."""
    law = textbook.entmax(s, alpha, tau)
    a = ball(alpha)
    shares = [np.log(p) if alpha == 1.0 else (p ** (a - 1) - 1) / (a - 1) if p > 0 else p * 0 for p in law]
    return (law * (balls(s) - ball(tau) * np.array(shares) / a)).sum()


@verifies(
    Claim(
        "softmax.value-slope",
        "the largest regularised value is convex in the temperature, and its slope is the entropy of the maximiser",
        r"$\frac{V(\tau) - V(\tau - h)}h \le H_\alpha(p^*_\tau) \le \frac{V(\tau + h) - V(\tau)}h$ for $\alpha \in \{1, \frac32, 2\}$, hence $V' = H_\alpha(p^*)$",
        assumptions=("finite scores", "positive temperature"),
        spec=("RA.B6",),
        cites=("danskin1966",),
        source_status=("recalled", "refereed on paper"),
    ),
    constant("near", "the slope is two per cent larger", factor=1.02),
    constant("less", "the slope is two per cent smaller", factor=0.98),
    bug("shannon", "the slope is the Shannon entropy whatever the order", order=1.0),
    hypothesis("elsewhere", "the entropy is that at twice the temperature", warmer=2.0),
)
def test_value_slope(run, *, factor=1.0, order=None, warmer=1.0):
    step = 2.0**-9
    cases = [(np.array([1.0, 0.5, -0.5]), 1.0, alpha) for alpha in (1.0, 1.5, 2.0)]
    for rng in run.draws(quick=4, paper=40):
        n = int(rng.integers(2, 8))
        tau = float(rng.uniform(0.5, 2.0))
        alpha = float(rng.choice([1.0, 1.5, 2.0]))
        cases.append((rng.normal(size=n), tau, alpha))
    for s, tau, alpha in cases:
        case = {"n": s.size, "tau": tau, "order": alpha}
        slope = factor * tsallis(entmax(exact(s), alpha, tau=warmer * tau), order or alpha)
        here, after, before = (largest(s, alpha, at) for at in (tau, tau + step, tau - step))
        yield at_most(slope, (after - here) / step, scale=1, part="above", **case)
        yield at_least(slope, (here - before) / step, scale=1, part="below", **case)
