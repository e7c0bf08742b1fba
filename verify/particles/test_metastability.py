"""Metastability with its prefactor: two clusters exactly, their lifetime, its expansion, and the staircase of several."""

import math
from functools import cache

import numpy as np

from theory.evidence import Claim, Interval, ball, bug, constant, equals, exact, hypothesis, limit, norm, verifies
from theory.particles import on_sphere, studies
from theory.particles.exact import log_asymptote, log_lifetime
from theory.particles.studies import CLUSTER_RUNS as RUNS
from verify.particles.lifetimes import delay, equal, log_elapsed, ratio_of
from verify.textbook import hull

DERIVED = ("derived",)
PAPER = ("geshkovski2024",)
log_lifetime = cache(log_lifetime)


def unit(x):
    """Directions, enclosed."""
    return x / norm(x, axis=-1, keepdims=True)


def plane(rng, d):
    """Two orthogonal directions, enclosed."""
    given = exact(np.linalg.qr(rng.normal(size=(d, 2)))[0].T)
    first = unit(given[0])
    return np.stack([first, unit(given[1] - (given[1] @ first) * first)])


@verifies(
    Claim(
        "metastable.reduction",
        "tokens in two clusters stay in two clusters on one circle, and one equation moves their angle",
        r"SA, masses $a + b = 1$, $E = e^{\beta(1 - \cos\varphi)}$, $r = \frac ab + \frac ba$: $\dot\varphi = -\frac{rE + 2}{E^2 + rE + 1}\sin\varphi$, which is $-\frac{2\sin\varphi}{1 + E}$ for equal masses; USA: $\dot\varphi = -e^{\beta\cos\varphi}\sin\varphi$ for all masses",
        assumptions=(r"$0 < \varphi < \pi$", r"$\beta \ge 0$", "any dimension"),
        spec=("FR.F18",),
        cites=PAPER,
        provenance=DERIVED,
    ),
    bug("sign", "the cosine has the other sign", cosine=-1),
    constant("one", "one of the clusters stands still", both="1/2"),
    hypothesis("equal", "the masses are taken to be equal", ratio=equal),
    hypothesis("unnormalised", "the rows are not normalised", rules=(False, False)),
    hypothesis("strayed", "one token lies beside its cluster, off the circle", strayed=0.1),
)
def test_reduction(run, *, cosine=1, both=1, ratio=ratio_of, rules=(True, False), strayed=0.0):
    named = [(5, 5, 2, 2.0, 1.0), (1, 3, 3, 3.0, 1.5), (2, 7, 4, 0.0, 3.0), (4, 1, 2, 6.0, 0.25)]
    streams = list(run.streams(len(named) + run.pick(quick=12, paper=400)))
    for case, rng in enumerate(streams):
        m, n, d = (int(k) for k in rng.integers([1, 1, 2], [5, 5, 6]))
        beta, angle = float(rng.uniform(0.0, 5.0)), float(rng.uniform(0.1, 3.0))
        if case < len(named):
            m, n, d, beta, angle = named[case]
        axes, turn = plane(rng, d), exact(angle)
        first, second = axes[0], np.cos(turn) * axes[0] + np.sin(turn) * axes[1]
        aside = np.zeros((m + n, d))
        aside[0] = strayed * rng.normal(size=d)
        tokens = unit(np.repeat(np.stack([first, second]), [m, n], axis=0) + aside)
        for rule in (True, False):
            v = on_sphere(beta, normalised=rule)(tokens)
            measured = (v[0] @ second + first @ v[-1]) / np.sin(turn)
            changes = {"cosine": cosine, "both": ball(both), "ratio": ratio} if rule else {"cosine": cosine}
            masses = [ball(k) / (m + n) for k in (m, n)]
            claimed = hull(1 / delay(ball(angle), ball(beta), *masses, normalised=rules[not rule], **changes))
            scale, case_ = (1.0 if rule else math.exp(beta)), {"m": m, "n": n, "d": d, "beta": beta, "angle": angle}
            yield equals(measured, claimed, scale=scale, rule="SA" if rule else "USA", **case_)
            apart = np.concatenate([v[:m] - v[0], v[m:] - v[-1]])
            yield equals(apart, 0, scale=scale, part="clusters stay", **case_)
            yield equals(v - (v @ axes.T) @ axes, 0, scale=scale, part="circle", **case_)


@verifies(
    Claim(
        "metastable.lifetime",
        "ten tokens in two clusters take the time that the integral says",
        r"$T = \int_\delta^{\varphi_0}\frac{E^2 + rE + 1}{rE + 2}\frac{d\varphi}{\sin\varphi}$, for equal masses $\int\frac{1 + E}{2\sin\varphi}d\varphi$, $22.04598$ at $\beta = 12$, $\varphi_0 = 1$, $\delta = .01$; USA: $\int\frac{e^{-\beta\cos\varphi}}{\sin\varphi}d\varphi$",
        assumptions=(r"$0 < \delta < \varphi_0 < \pi$",),
        spec=("FR.F18",),
        cites=PAPER,
        provenance=DERIVED,
    ),
    bug("sign", "the cosine has the other sign", cosine=-1),
    constant("one", "one of the clusters stands still", both="1/2"),
    hypothesis("equal", "the masses are taken to be equal", ratio=equal),
)
def test_lifetime(run, *, cosine=1, both=1, ratio=ratio_of):
    changes = {"cosine": cosine, "both": ball(both), "ratio": ratio}
    table = run.study(studies.passages)
    for name, time in zip(table["part"].tolist(), table.intervals("time"), strict=True):
        given = RUNS[name]
        if len(given.angles) > 2:
            continue
        masses = [ball(k) / sum(given.counts) for k in given.counts]
        claimed = log_elapsed(given.angles[1], given.end, given.beta, masses, normalised=given.normalised, **changes)
        yield equals(time, hull(claimed.exp()), run=name)
        if name == "equal":
            yield equals(hull(claimed.exp()), Interval.printed("22.04598"), run=name, part="printed")
    for start, end, beta, masses in (
        (1.0, 0.01, 12.0, (0.5, 0.5)), (1.0, 0.25, 0.5, (0.25, 0.75)), (2.5, 1.0, 40.0, (0.125, 3.0)),
        (3.0, 0.5, 200.0, (0.5, 0.25)),
    ):  # fmt: skip
        for rule in (True, False):
            told = log_lifetime(start, end, beta, weights=masses, normalised=rule)
            claimed = hull(log_elapsed(start, end, beta, masses, normalised=rule, **changes))
            yield equals(told, claimed, scale=1, part="formula", beta=beta, start=start, rule=rule)


def depth(angle):
    """The growth of log T with beta: 1 - cos of the angle."""
    return 1 - angle.cos()


def sinking(angle):
    """The same with the other sign of the cosine."""
    return 1 + angle.cos()


def flat(angle):
    """The same if T were a polynomial in beta."""
    return 0 * angle


def expansion(angle, order):
    """The coefficient of beta**-order in the relative expansion of T, with u = 1 - cos of the angle.

    T is the integral of exp(beta u) f / r over u, f = 1 / (u (2 - u)), so the coefficient is (-1)^k times the k-th
    derivative of f over f.
    """
    u = 1 - angle.cos()
    parts = 1 / u ** (order + 1) + (-1) ** order / (2 - u) ** (order + 1)
    return math.factorial(order) * parts * u * (2 - u) / 2


@verifies(
    Claim(
        "metastable.asymptote",
        "the lifetime of two clusters grows exponentially in beta, with a prefactor 1 / beta and the masses in it",
        r"$T \sim \frac{e^{\beta(1 - \cos\varphi_0)}}{r\beta\sin^2\varphi_0}\Big(1 + \frac{2\cos\varphi_0}{\beta\sin^2\varphi_0} + \frac{2(1 + 3\cos^2\varphi_0)}{\beta^2\sin^4\varphi_0} + \dots\Big)$, $r = \frac ab + \frac ba$; the ratio is $1.118, 1.044, 1.020$ ($\varphi_0 = 1$) and $1.038, 1.016, 1.008$ ($1.3$) at $\beta = 20, 40, 80$, $\delta = .01$",
        assumptions=(r"$\beta \to \infty$", r"$0 < \delta < \varphi_0 < \pi$"),
        spec=("FR.F18",),
        cites=PAPER,
        provenance=DERIVED,
    ),
    constant("polynomial", "the lifetime is a polynomial in beta", exponent=flat),
    constant("no-beta", "the prefactor has no 1 / beta", power=0),
    constant("half", "the next term is half as large", share="1/2"),
    constant("half-second", "the term after it is half as large", second="1/2"),
    bug("sign", "the cosine has the other sign", exponent=sinking),
    hypothesis("equal", "the masses are taken to be equal", ratio=equal),
)
def test_asymptote(run, *, exponent=depth, power=1, share=1, second=1, ratio=ratio_of):
    betas = [40.0 * 2**k for k in range(run.pick(quick=6, paper=9))]
    printed = {1.0: ("1.118", "1.044", "1.020"), 1.3: ("1.038", "1.016", "1.008")}
    for angle, masses in ((1.0, (0.5, 0.5)), (1.3, (0.5, 0.5)), (1.3, (0.25, 0.75)), (2.0, (0.5, 0.125))):
        case = {"angle": angle, "masses": masses}
        start, r = ball(angle), ratio(*(ball(m) for m in masses))

        def law(beta, start=start, r=r):
            b = ball(beta)
            return hull(b * exponent(start) - (r * b**power * start.sin() ** 2).log())

        logs = {beta: log_lifetime(angle, 0.01, beta, weights=masses) for beta in [20.0, *betas]}
        if masses == (0.5, 0.5):
            for beta, digits in zip((20.0, 40.0, 80.0), printed[angle], strict=True):
                excess = np.exp(logs[beta] - law(beta))
                yield equals(excess, Interval.printed(digits), beta=beta, part="printed", **case)
        growth = [(logs[2 * b] - logs[b] + hull(ball(2).log())) / b for b in betas[:-1]]
        yield equals(limit(growth, order=2), hull(exponent(start)), scale=1, part="exponent", **case)
        if not -600.0 < (logs[betas[-1]] - law(betas[-1])).mid < 600.0:
            continue  # a law that is so far off was refuted already, and its ratio overflows
        ratios = [np.exp(logs[b] - law(b)) for b in betas]
        yield equals(limit(ratios, order=1), 1, part="prefactor", **case)
        leading = Interval.exactly(1)
        for order, part in ((1, share), (2, second)):
            claimed = hull(ball(part) * expansion(start, order))
            ratios = [b * (value - leading) for b, value in zip(betas, ratios, strict=True)]
            leading = claimed
            yield equals(limit(ratios, order=1), claimed, scale=1, part=f"term {order}", **case)
        for beta in betas[:2]:
            for corrected in (False, True):
                more = ball(1) + ball(share) * expansion(start, 1) / ball(beta) if corrected else ball(1)
                told = log_asymptote(exact(angle), exact(beta), weights=masses, corrected=corrected)
                yield equals(told, law(beta) + hull(more.log()), scale=1, part="formula", beta=beta, **case)
