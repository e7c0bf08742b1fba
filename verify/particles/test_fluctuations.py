"""How far an attention output over n independent keys lies from that over their law, and how many keys that takes."""

import math

import numpy as np

from theory import Measure
from theory.evidence import (
    Claim,
    Interval,
    at_most,
    ball,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    limit,
    run_mean,
    verifies,
)
from theory.evidence.once import once
from theory.evidence.roundoff import U
from theory.particles import studies
from theory.particles.mean_field import atomic_moments, delta_method, gaussian_fluctuation, gaussian_moments
from theory.particles.studies.settings import (
    OUTPUT_COVARIANCE as COVARIANCE,
    OUTPUT_ENTRIES as ENTRIES,
    OUTPUT_GROWTHS as GROWTHS,
    OUTPUT_QUERY as QUERY,
)
from verify.textbook import balls, exp, hull

DELTA = ("vandervaart1998",)
SUMS = ("benarous2005", "vandervaart1998")
REFEREED = ("derived", "refereed")
SIZES = tuple(4**k for k in range(6, 11))
moments_of = once(atomic_moments)


def gaussian_limits(covariance, tilt, *, power=1, shifts=1, sign=-1):
    """The claimed limits of n Cov and n bias for Gaussian keys, in balls, and their size."""
    sigma, q = balls(covariance), balls(tilt)
    shift = sigma @ q
    boost = (q @ shift).exp() ** power
    covered = boost * (sigma + shifts * np.multiply.outer(shift, shift))
    return covered, sign * boost * shift


def found(measured, claimed, **case):
    """One finding for every entry, in units of the largest claimed one."""
    flat = [hull(ball) for ball in np.ravel(claimed)]
    size = max(abs(entry).hi for entry in flat)
    for at, (m, c) in enumerate(zip(measured, flat, strict=True)):
        yield equals(m, c, scale=size, entry=at, **case)


def limits_of(moments):
    """The limits of n Cov and n bias, row by row, from numbers of keys four times apart."""
    covered = [[entry for row in m.covariance for entry in row] for m in moments]
    return (
        [limit(levels, ratio=4, order=1) for levels in zip(*covered, strict=True)],
        [limit(levels, ratio=4, order=1) for levels in zip(*(m.bias for m in moments), strict=True)],
    )


@verifies(
    Claim(
        "chaos.fluctuation",
        "an output over n Gaussian keys has n times the covariance and bias that the delta method says, exponential in the tilt",
        r"$x_j \sim N(0, \Sigma)$: $n\,\mathrm{Cov} \to e^{\langle q, \Sigma q\rangle}(\Sigma + \Sigma qq^\top\Sigma)$ and $n\,(\mathbb{E}\hat\Gamma_n - \Sigma q) \to -e^{\langle q, \Sigma q\rangle}\Sigma q$",
        assumptions=("independent keys", "the query is not among them", "$q = A x$ is fixed as n grows"),
        spec=("FR.F09",),
        cites=DELTA,
        source_status=REFEREED,
    ),
    constant("untilted", "n times the covariance tends to Sigma, which tilting does not change", power=0, shifts=0),
    constant("polynomial", "there is no exponential factor", power=0),
    bug("sign", "the bias is positive", sign=1),
    bug("centred", "the covariance is that about the mean of the law tilted twice", shifts=0),
    hypothesis("signs", "the keys are fair signs of the same variance", signs=True),
)
def test_fluctuation(run, *, power=1, shifts=1, sign=-1, signs=False):
    def claimed(covariance, tilt):
        return gaussian_limits(covariance, tilt, power=power, shifts=shifts, sign=sign)

    table = run.study(studies.outputs)
    for p in np.unique(table.where(part="bias")["p"]).tolist():
        covered, bias = claimed([[1.0]], [p])
        for part, value in (("variance", covered), ("bias", bias)):
            levels = table.where(part=part, p=p).intervals("value")[-5:]
            yield from found([limit(levels, ratio=4, order=1)], value, p=p, part=part)
    for p, variance, bias in ((0.4, "1.3613", "-0.4694"), (0.8, "3.11", "-1.517")):
        closed = claimed([[1.0]], [p])
        for value, digits in zip(closed, (variance, bias), strict=True):
            yield from found([Interval.printed(digits)], value, p=p, part="printed")
    for value, c in zip(gaussian_fluctuation(COVARIANCE, exact(QUERY)), claimed(COVARIANCE, QUERY), strict=True):
        yield from found(np.ravel(value), c, d=2, part="instrument")
    covered, bias = claimed(COVARIANCE, QUERY)
    planar = {**{name: covered[at] for name, at in ENTRIES.items()}, "b1": bias[0], "b2": bias[1]}
    for part, value in planar.items():
        levels = table.where(part=part).intervals("value")
        yield from found([limit(levels, ratio=4, order=1)], value, d=2, part=part)
    for rng in run.draws(quick=0, paper=6):
        d = int(rng.integers(2, 5))
        root = rng.normal(size=(d, d)) / math.sqrt(d)
        tilt = rng.normal(size=d)
        covariance = root @ root.T + 0.25 * np.eye(d)
        tilt *= rng.uniform(0.4, 0.8) / math.sqrt(tilt @ covariance @ tilt)
        limits = limits_of(gaussian_moments(covariance, tilt, SIZES))
        for part, m, c in zip(("covariance", "bias"), limits, claimed(covariance, tilt), strict=True):
            yield from found(m, c, d=d, part=part)
    if signs:
        limits = limits_of(atomic_moments(Measure([[-1.0], [1.0]]), [0.4], SIZES))
        for part, m, c in zip(("variance", "bias"), limits, claimed([[1.0]], [0.4]), strict=True):
            yield from found(m, c, p=0.4, part=part)


def general_limits(mu, tilt, *, power=2, doubled=True, sign=-1):
    """The claimed limits for a law on atoms, from the definition of the weights, in balls."""
    x, m = balls(mu.points), balls(mu.weights)
    m = m / m.sum()
    w = exp(x @ balls(tilt))
    z = m @ w
    off = x - (m * w) @ x / z
    squared = m * w**power / z**power
    covered = (off.T * squared) @ off
    if not doubled:
        shift = squared @ off
        covered = covered - np.multiply.outer(shift, shift) / squared.sum()
    return covered, sign * squared @ off


@verifies(
    Claim(
        "chaos.fluctuation-law",
        "for keys of any law the limits are second moments of squared weights about the mean of the tilted law",
        r"$n\,\mathrm{Cov} \to \mathbb{E}[w^2(x - c)(x - c)^\top]/Z^2$, $n\,(\mathbb{E}\hat\Gamma_n - c) \to -\mathbb{E}[w^2(x - c)]/Z^2$ with $w = e^{\langle q, x\rangle}$, $Z = \mathbb{E}w$, $c = \mathbb{E}[wx]/Z$",
        assumptions=("independent keys from finitely many atoms", "the query is not among them"),
        spec=("FR.F09",),
        cites=DELTA,
        source_status=("derived",),
    ),
    constant("tilted", "the limit is the covariance of the tilted law", power=1),
    bug("centred", "the covariance is that about the mean of the law tilted twice", doubled=False),
    bug("sign", "the bias points along the tilt", sign=1),
    hypothesis("gaussian", "the law is taken for a Gaussian of its mean and covariance", gaussian=True),
)
def test_fluctuation_law(run, *, power=2, doubled=True, sign=-1, gaussian=False):
    for number, rng in enumerate(run.draws(quick=2, paper=20)):
        k, d = int(rng.integers(3, 9)), int(rng.integers(1, 3))
        named = number == 0  # one heavy key in twenty, which the tilt finds
        mu = (
            Measure([[0.0], [1.0], [3.0]], [0.5, 0.45, 0.05])
            if named
            else Measure.normalised(rng.normal(size=(k, d)), rng.dirichlet(np.ones(k)) + 0.01)
        )
        tilt = np.array([1.0]) if named else rng.normal(size=d)
        if gaussian:
            claimed = gaussian_limits(mu.covariance(), tilt)
        else:
            claimed = general_limits(mu, tilt, power=power, doubled=doubled, sign=sign)
        case = {"atoms": mu.size, "d": mu.dim}
        moments = moments_of(mu, tilt, SIZES)
        for part, m, c in zip(("covariance", "bias"), limits_of(moments), claimed, strict=True):
            yield from found(m, c, part=part, **case)
        for value, c in zip(delta_method(mu, exact(tilt)), claimed, strict=True):
            yield from found(np.ravel(value), c, part="instrument", **case)


@verifies(
    Claim(
        "chaos.fluctuation-drawn",
        "outputs that the engine computes from drawn keys scatter as the exact moments say",
        r"$n\,\mathbb{E}[rr^\top]$ and $n\,\mathbb{E}r$ of $r = \hat\Gamma_n - \Sigma q$ for planar Gaussian keys, by the integrals over $e^{-uD}$",
        assumptions=("independent keys", "the query is not among them", "64 batches of at least 40 runs"),
        spec=("FR.F09",),
        cites=DELTA,
        source_status=REFEREED,
    ),
    constant("untilted", "n times the covariance is Sigma, which tilting does not change", untilted=True),
    bug("sign", "the bias is positive", sign=-1),
    hypothesis("own", "the query is among the keys", column="own"),
)
def test_drawn(run, *, untilted=False, sign=1, column="rest"):
    table = run.study(studies.drawn_outputs)
    sizes = np.unique(table["n"]).tolist()
    for moments in gaussian_moments(COVARIANCE, QUERY, sizes):
        part = table.where(n=moments.keys)
        n = moments.keys
        for name, (i, j) in ENTRIES.items():
            covered = Interval.exactly(COVARIANCE[i, j]) if untilted else moments.covariance[i][j]
            claimed = covered + moments.bias[i] * moments.bias[j] / n
            yield equals(run_mean(part[f"r{name[1:]}"], among=32), claimed, n=n, part=name)
        for at in (0, 1):
            drawn = run_mean(part[f"{column}{at + 1}"], among=32)
            yield equals(drawn, sign * moments.bias[at], n=n, part="bias")


@verifies(
    Claim(
        "chaos.effective-tokens",
        "the law of order 1/n holds from about exp(3 p^2 / 2) keys on, but the mean-field limit from about exp(p^2 / 2) on",
        r"$p^2 = \langle q, \Sigma q\rangle$, $n = e^{ap^2}$, $p \to \infty$: $\sqrt{2\pi}\,p\,e^{(a - 1/2)^2p^2/2}\,\mathbb{E}\sum_jP_j^2 \to \Gamma(\frac32 - a)\Gamma(\frac12 + a)$ for $\frac12 < a < \frac32$, where the delta method says $\mathbb{E}\sum_jP_j^2 = e^{(1 - a)p^2}$; for $a = 2$ that is right; at most $e^{-p^2/8}$ for $a = 1$",
        assumptions=(
            "independent Gaussian keys",
            r"$\mathbb{E}\sum_jP_j^2$ is the covariance of the output across $\Sigma q$, in units of $\Sigma$",
        ),
        spec=("FR.F09",),
        cites=SUMS,
        source_status=("derived",),
    ),
    constant("delta", "the delta method holds from exp(p^2) keys on", edge=1.0),
    constant("slower", "the exponent is half as large", half=0.25),
    constant("faster", "the exponent is twice as large", half=1.0),
    bug("alone", "a large weight is compared with the rest instead of being added to it", alone=True),
)
def test_effective_tokens(run, *, edge=1.5, half=0.5, alone=False):
    table = run.study(studies.outputs).where(part="participation")
    for a in GROWTHS:
        part = table.where(growth=a)
        s = ball(a + 0.5)
        levels = []
        for bits, value in zip(part["bits"].tolist(), part.intervals("value"), strict=True):
            log_n = bits * ball(2).log()
            squared = log_n / ball(a)  # p**2; the table's tilt is rounded
            rounding = 32 * U * (1.0 + hull(squared).hi + hull(log_n).hi)
            off = Interval(1.0 - rounding, 1.0 + rounding)
            if a < edge:
                rare = (squared * (s - 1) ** 2 * ball(half)).exp()
                factor = rare * (8 * ball(1).atan() * squared).sqrt()
            else:
                factor = (log_n - squared).exp()
            levels.append(hull(factor) * value * off)
            if a == 1.0:
                most = hull((-squared * ball(half) / 4).exp())
                yield at_most(value, most, a=a, bits=bits, part="bound")
        closed = (1 / (2 - s) + 1 / s if alone else ((2 - s).lgamma() + s.lgamma()).exp()) if a < edge else ball(1)
        yield equals(limit(levels, order=1), hull(closed), a=a, part="limit")
