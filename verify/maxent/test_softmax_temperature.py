"""Softmax between its limits: rates as the temperature falls or rises, and derivatives in the temperature."""

from fractions import Fraction

import numpy as np

from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    ball,
    bug,
    constant,
    equals,
    hypothesis,
    total,
    verifies,
)
from theory.evidence.enclosure import coefficient, variable
from theory.evidence.roundoff import EXP_ULPS, U, average_error, covariance_error, gamma
from theory.maxent import entmax, entmax_gap, expectation, gibbs_law, softmax, softmax_value, tsallis
from verify import textbook
from verify.maxent.laws import LEVELS, MANY, law, many, off
from verify.textbook import balls, hull

LEAST = 2.0**-960  # weights below 1e-300 are known absolutely only; times scores of a few thousand
PAPER = ("derived", "refereed")
SIZES = (2.0**-40, 2.0**40)  # of scores and temperature at once


def measured_value(scores, tau):
    """The largest free energy as computed: off as the logarithm of a weight, and by its last operations."""
    found, peak = float(softmax_value(scores, tau=tau)), float(np.abs(scores).max())
    error = tau * (off(scores, tau) + (2 * EXP_ULPS + 2) * U * np.log(scores.size)) + 2 * U * (peak + abs(found))
    return Interval.within(found, error)


def far(law, other, relative):
    """The sum of absolute differences of a computed law and the floats ``other``, each within a rounding."""
    return total(np.abs(law - other), law * relative + U * (other + np.abs(law - other)) + LEAST)


def spread(rng):
    """Draw scores of a few sizes and a temperature."""
    n, tau = int(rng.integers(2, 60)), float(rng.uniform(0.2, 4.0))
    return rng.normal(size=n) * float(rng.choice([0.01, 1.0, 10.0])) + 3.0, tau


@verifies(
    Claim(
        "softmax.cold",
        "as the temperature falls, softmax approaches the uniform law on the largest scores at an exponential rate",
        r"$\varepsilon = p^*(M^c) \le \frac{n - m}m e^{-\delta/\tau}$, $\|p^* - u_M\|_1 = 2\varepsilon$, $0 \le V - \max s - \tau\log m = -\tau\log(1 - \varepsilon) \le \tau\min(\log\frac nm, \frac\varepsilon{1 - \varepsilon})$",
        assumptions=(r"$m < n$ scores are largest, by a gap of $\delta$",),
        spec=("RA.B4",),
        cites=("weed2018",),
        provenance=PAPER,
    ),
    constant("unit", "the factor (n - m)/m is missing", counted=False),
    bug("one-winner", "a single score is taken to be the largest", single=True),
    hypothesis("mean-gap", "the gap is to the mean of the other scores", mean=True),
    constant("once", "the law moves by the mass that the other scores have", twice=1),
    constant("near", "the bound of the value by the count is two per cent smaller", most=0.98),
)
def test_cold(run, *, counted=True, single=False, mean=False, twice=2, most=1.0):
    cases = [(np.array([0.0] + [-5.0] * 9), 1, 1.0), (np.array([1.0, 1.0, 0.0, -6.0]), 2, 0.7)]
    cases.append((cases[1][0], 2, 4096.0))  # so hot that the bound by the count is almost attained
    cases += [(size * np.array([1.0, 1.0, 0.0, -6.0]), 2, size) for size in SIZES]
    cases.append((np.sort(many())[::-1], int((many() == LEVELS.max()).sum()), 0.3))
    for rng in run.draws(quick=25, paper=500):
        n, tau = int(rng.integers(2, 60)), float(rng.uniform(0.1, 3.0))
        m = int(rng.integers(1, n))
        cases.append((np.append(np.full(m, 2.0), 2.0 - rng.uniform(0.05, 20.0 * tau, size=n - m)), m, tau))
    for s, count, tau in cases:
        n, m, t = s.size, 1 if single else count, ball(tau)
        p, relative = softmax(s, tau=tau), off(s, tau)
        rest, lower = total(p[count:], p[count:] * relative + LEAST), ball(s[count:].max())
        below = balls(s[count:]).sum() / (n - count) if mean else lower
        gap = ball(s[0]) - below
        bound = hull((-gap / t).exp() * (n - m) / m if counted else (-gap / t).exp())
        yield at_most(rest, bound, scale=bound, part="rate", n=n, m=count, tau=tau)
        exact = law(s, tau)[count:].sum()
        even = np.where(np.arange(n) < count, 1.0 / count, 0.0)
        yield equals(far(p, even, relative), twice * hull(exact), scale=1, part="distance", n=n, m=count, tau=tau)
        excess, top = measured_value(s, tau) - hull(ball(s[0]) + t * ball(m).log()), ball(n) / m
        yield at_most(excess, most * hull(t * top.log()), scale=tau, part="value, by the count", n=n, m=count, tau=tau)
        yield equals(excess, hull(-t * (1 - exact).log()), scale=tau, part="value", n=n, m=count, tau=tau)
        ratio = hull(t * exact / (1 - exact))
        yield at_most(excess, ratio, scale=tau, part="value, by the ratio", n=n, m=count, tau=tau)


@verifies(
    Claim(
        "softmax.hot",
        "as the temperature rises, softmax approaches the uniform law at the rate R / (2 tau), and its value at R^2 / (8 tau)",
        r"$\|p^* - u\|_1 \le 2\tanh\frac R{4\tau} \le \frac R{2\tau}$ and $0 \le V - \bar s - \tau\log n \le \frac{R^2}{8\tau}$",
        assumptions=(r"scores of range $R > 0$",),
        spec=("RA.B4",),
        cites=("hoeffding1963", "cohen2023"),
        provenance=PAPER,
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
        n, t, exact = s.size, ball(tau), balls(s)
        reach = ball(np.sort(s)[-1]) - ball(np.sort(s)[-2 if gap else 0])
        apart = far(softmax(s, tau=tau), np.full(n, 1.0 / n), off(s, tau))
        scale = hull(reach / t)
        yield at_most(apart, first * 2 * hull((reach / (4 * t)).tanh()), scale=scale, part="tanh", n=n, tau=tau)
        yield at_most(apart, second * scale, scale=scale, part="linear", n=n, tau=tau)
        excess = measured_value(s, tau) - hull(exact.sum() / (n if averaged else 1) + t * ball(n).log())
        size = hull(reach * reach / t)
        yield at_least(excess, 0, scale=size, part="value", n=n, tau=tau)
        yield at_most(excess, eighth * size, scale=size, part="value", n=n, tau=tau)


@verifies(
    Claim(
        "softmax.two-levels",
        "the bound of the hot law is attained when the scores have two levels in the right proportion, not for two scores",
        r"$\|p^* - u\|_1 = 2\tanh\frac R{4\tau} = \frac{2(n - 2k)}n$ if $k$ of $n$ scores are $R$ above the others and $R/\tau = 2\log\frac{n - k}k$; $n = 2$: $\tanh\frac R{2\tau}$",
        assumptions=(r"$2k < n$",),
        spec=("RA.B4",),
        provenance=PAPER,
    ),
    hypothesis("even", "two scores attain the bound, too", two="equal"),
    constant("halved", "the argument of tanh is R / (8 tau)", quarter=8),
    bug("third-level", "one score lies half-way between the levels", between=0.5),
)
def test_two_levels(run, *, two="tanh", quarter=4, between=0.0):
    for n, k in run.pick(
        quick=((3, 1), (10, 1), (100, 7), (MANY, 7)),
        paper=((3, 1), (5, 2), (10, 1), (10, 3), (100, 7), (999, 1), (MANY, 7)),
    ):
        for tau in (1.0, 0.3):
            reach = 2.0 * tau * float(np.log((n - k) / k))
            s = np.where(np.arange(n) < k, reach, 0.0)
            s[-1] = between * reach
            apart = far(softmax(s, tau=tau), np.full(n, 1.0 / n), off(s, tau))
            bound = hull(2 * (ball(reach) / (quarter * ball(tau))).tanh())
            yield equals(apart, bound, n=n, k=k, tau=tau)
            # the range is that of the claim up to a logarithm and two products, and moves the distance by less than itself
            rounded = Interval.within(0.0, gamma(EXP_ULPS + 4) * reach / tau)
            yield equals(
                apart + rounded, Interval.exactly(Fraction(2 * (n - 2 * k), n)), part="share", n=n, k=k, tau=tau
            )
    for reach in (0.5, 2.0):
        apart = far(softmax([reach, 0.0]), np.full(2, 0.5), off(np.array([reach, 0.0]), 1.0))
        yield equals(apart, hull((ball(reach) / 2).tanh() if two == "tanh" else 2 * (ball(reach) / 4).tanh()))


@verifies(
    Claim(
        "softmax.temperature",
        "in the temperature, weights, mean score and entropy move as covariances",
        r"$p_i' = -p_i(s_i - \langle p, s\rangle)/\tau^2$, $\langle p, s\rangle' = -\mathrm{Var}_p(s)/\tau^2$, $H' = \mathrm{Var}_p(s)/\tau^3 \ge 0$",
        assumptions=("finite scores", "positive temperature"),
        spec=("RA.B6",),
        provenance=("recalled", "refereed on paper"),
    ),
    constant("square", "the entropy grows with the variance over the square of the temperature", power=2),
    bug("sign", "the weights of large scores grow with the temperature", sign=1.0),
    hypothesis("uncentred", "the second moment stands for the variance", centred=False),
)
def test_temperature(run, *, power=3, sign=-1.0, centred=True):
    drawn = (spread(rng) for rng in run.draws(quick=15, paper=200))
    sized = [(size * np.array([0.0, 1.0, 3.0]), size) for size in SIZES]
    for s, tau in [(np.array([0.0, 1.0, 3.0]), 0.5), *sized, *drawn]:
        n, size = s.size, float(np.abs(s).max())
        warm = variable(2)  # of what is computed from it, order one is the slope
        warm[()] = warm.item() + ball(tau)
        weights = textbook.exp(balls(s) / warm)
        mass = weights.sum()
        exact = [weight / mass for weight in weights]
        mean, log_mass = sum(p * a for p, a in zip(exact, balls(s), strict=True)), textbook.log(mass)
        law, error = gibbs_law(s, tau=tau)
        rough, error = average_error(size, n, relative=error), max(error, U)
        level = expectation(law, s) + Interval.within(0.0, rough)
        second = float(law @ (s - level.mid) ** 2) if centred else float(law @ s**2)
        variance = Interval.within(second, covariance_error(size, n, relative=error))
        t = Interval.exactly(tau)
        yield equals(
            hull(coefficient(mean, 1)), sign * variance / t**2, scale=(size / tau) ** 2, part="mean", n=n, tau=tau
        )
        spread_out = hull(coefficient(log_mass - mean / warm.item(), 1))
        yield equals(spread_out, variance / t**power, scale=(size / tau) ** 2 / tau, part="entropy", n=n, tau=tau)
        at = int(s.argmin())
        weight = Interval.within(float(law[at]), error * float(law[at]) + LEAST)
        pull = sign * weight * (Interval.exactly(float(s[at])) - level) / t**2
        yield equals(hull(coefficient(exact[at], 1)), pull, scale=size / tau / tau, part="weight", n=n, tau=tau)


@verifies(
    Claim(
        "softmax.value-slope",
        "the largest regularised value is convex in the temperature, and its slope is the entropy of the maximiser",
        r"$\frac{V(\tau) - V(\tau - h)}h \le H_\alpha(p^*_\tau) \le \frac{V(\tau + h) - V(\tau)}h$ for $\alpha \in \{1, \frac32, 2\}$, hence $V' = H_\alpha(p^*)$",
        assumptions=("finite scores", "positive temperature"),
        spec=("RA.B6",),
        cites=("danskin1966",),
        provenance=("recalled", "refereed on paper"),
    ),
    constant("near", "the slope is two per cent larger", factor=1.02),
    constant("less", "the slope is two per cent smaller", factor=0.98),
    bug("shannon", "the slope is the Shannon entropy whatever the order", order=1.0),
    hypothesis("elsewhere", "the entropy is that at twice the temperature", warmer=2.0),
)
def test_value_slope(run, *, factor=1.0, order=None, warmer=1.0):
    def top(s, alpha, tau):
        law, a = textbook.entmax(s, alpha, tau), ball(alpha)
        shares = [p.log() if alpha == 1.0 else (p ** (a - 1) - 1) / (a - 1) if p > 0 else p * 0 for p in law]
        return (law * (balls(s) - ball(tau) * np.array(shares) / a)).sum()

    step = 2.0**-9
    cases = [(np.array([1.0, 0.5, -0.5]), 1.0, alpha) for alpha in (1.0, 1.5, 2.0)]
    for rng in run.draws(quick=4, paper=40):
        n, tau, alpha = int(rng.integers(2, 8)), float(rng.uniform(0.5, 2.0)), float(rng.choice([1.0, 1.5, 2.0]))
        cases.append((rng.normal(size=n), tau, alpha))
    for s, tau, alpha in cases:
        n = s.size
        p = entmax(s, alpha, tau=warmer * tau)
        # an entropy of order at most 2 is 1-strongly concave, so the gap bounds the squared distance to the maximiser,
        # over which the entropy changes by at most its steepest slope: 1/(alpha - 1), or the largest logarithm
        steep = 2.0 + abs(float(np.log(p[p > 0.0].min())))
        wrong = steep * (n * 2.0 * entmax_gap(s, p, alpha, tau=warmer * tau).hi / tau) ** 0.5
        # a summand has a logarithm, a power less one that magnifies its error by at most one plus the exponent, a product
        disorder = float(tsallis(p, order or alpha))
        rounded = gamma(n + 2 * EXP_ULPS + 4) * steep * disorder
        slope = factor * Interval.within(disorder, wrong + rounded)
        here = top(s, alpha, tau)
        after, before = ((top(s, alpha, tau + way) - here) / way for way in (step, -step))
        yield at_most(slope, hull(after), scale=1, part="above", n=n, tau=tau, order=alpha)
        yield at_least(slope, hull(before), scale=1, part="below", n=n, tau=tau, order=alpha)
