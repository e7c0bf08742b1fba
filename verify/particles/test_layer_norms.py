"""Where the normalisation stands decides how tokens come together: exponentially in time, or like its inverse square."""

import math
from functools import cache

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
    exact,
    hypothesis,
    limit,
    verifies,
)
from theory.evidence.convergence import LEVELS
from theory.evidence.quadrature import integral_over
from theory.particles import Overlap, PreNorm, SoftmaxField, Tangential, flow, studies
from theory.particles.exact import Equiangular, gaps
from theory.particles.studies import NORM_SIMPLICES as SIMPLICES
from verify.particles.simplex import elapsed, outward, prefactor, rate, simplex
from verify.textbook import hull

SURVEY = ("geshkovski2025",)
TEN = hull(ball(10).log())
LARGE = 1e3  # where the last windows begin


def paths(run, norm, *parts):
    """The paths under one placement: part, tokens, beta, gap at the start, times, logarithms of gaps and norms."""
    table = run.study(studies.norms)
    for part in parts:
        for case in table.where(part=part, norm=norm).levels("case"):
            found = table.where(part=part, norm=norm, case=case)
            given = [found.levels(name)[0] for name in ("n", "beta", "start")]
            yield part, *given, found["t"], found.intervals("log_gap"), found.intervals("log_norm")


def windows(times, logs):
    """Start and slope of every window of four steps, which are from t to 10 t under Pre-LN."""
    spans = [
        TEN if late == 10.0 * early else hull((ball(late) / ball(early)).log())
        for early, late in zip(times, times[4:], strict=False)
    ]
    return [(float(t), (b - a) / span) for t, span, a, b in zip(times, spans, logs, logs[4:], strict=False)]


@verifies(
    Claim(
        "norm-flow.clock",
        "Pre-LN is Post-LN by another clock, which the norms show exactly",
        r"equiangular tokens of one norm $r$ under $\dot x_i = f(x/|x|)_i$: $\dot\rho = \dot\rho_{\mathrm{SA}}/r$, $\dot r = \frac{e^\beta + (n - 1)e^{\beta\rho}\rho}{e^\beta + (n - 1)e^{\beta\rho}}$, so $r\sqrt A = r_0\sqrt{A_0}\,e^s$ with $A = (n - 1)\rho + 1$ and $s$ the time that Post-LN takes to the same $\rho$",
        assumptions=("equal overlaps and norms at the start",),
        spec=("FR.F23",),
        cites=(*SURVEY, "xiong2020"),
        provenance=("seen", "derived"),  # the equations and exponents are refereed, the constants are not
    ),
    bug("own", "the sum of weights leaves out the token itself", own=0),
    constant("unrooted", "r A grows like exp(s)", power=1.0),
    hypothesis("post", "the layer is normalised after each step", post=True),
)
def test_clock(run, *, own=1, power=0.5, post=False):
    for n, beta, gap in SIMPLICES:
        rho, outwards = 1 - ball(gap), hull(outward(gap, n, beta, own=own))
        start, x, seen = moved(n, beta, gap, post)
        grown = x[0] @ start[0]
        yield equals(grown, outwards, scale=1, part="norm", n=n)
        tangent = x[0] @ start[1] + x[1] @ start[0] - 2 * hull(rho) * grown
        yield equals(tangent, hull(rate(gap, n, beta, "SA", own=own)), part="overlap", n=n)
        yield equals(Equiangular(n, beta).outward(exact(gap)), outwards, scale=1, part="instrument", n=n)
        first = hull(ball(power) * (1 + (n - 1) * rho).log())
        for t, away, norm in seen:
            spread = power * np.log(n - (n - 1) * away)
            then = elapsed(away, n, beta, "SA", gap, own=own)
            yield equals(norm + spread - first, then, part="clock", n=n, beta=beta, t=t)


@cache
def moved(n, beta, gap, post):
    """A simplex, its velocities, and times with the first gap and the logarithm of the first norm; once for all twins."""
    start = hull(simplex(n, 1 - ball(gap)))
    field = (Tangential if post else PreNorm)(SoftmaxField(Overlap(beta)))
    path = flow(field, start.mid, [0.0, 0.5, 2.0, 8.0] if post else [0.0, 0.5, 2.0, 8.0, 32.0, 128.0])
    away, norms = path.observe(nearest), path.observe(lambda x: math.log(np.linalg.norm(x[0])))
    return start, field(start), list(zip(path.times.tolist(), away, norms, strict=True))[1:]


def nearest(x):
    """The gap of the first two tokens."""
    return float(gaps(x / np.linalg.norm(x, axis=1, keepdims=True))[0, 1])


@verifies(
    Claim(
        "norm-flow.post",
        "under Post-LN gaps close like exp(-2 t), from equal overlaps with a constant in closed form",
        r"$1 - \rho \sim Ke^{-2t}$ under Post-LN, for the largest gap of acute tokens as well",
        assumptions=("all tokens in one hemisphere",),
        spec=("FR.F23",),
        cites=(*SURVEY, "xiong2020"),
        provenance=("seen", "derived"),  # the equations and exponents are refereed, the constants are not
    ),
    constant("single", "like exp(-t)", pace=1.0),
    hypothesis("pre", "the layer is normalised on its way in only", norm="pre"),
    bug("own", "the constant is that of orthogonal tokens", orthogonal=True),
)
def test_post(run, *, pace=2.0, norm="post", orthogonal=False):
    for part, n, beta, gap, times, logs, _ in paths(run, norm, "simplex", "overlaps", "tokens"):
        case = {"part": part, "n": n, "beta": beta, "start": gap}
        k = hull(prefactor(n, beta, "SA", 1.0 if orthogonal else gap).log())
        for t, log_gap in zip(times.tolist(), logs, strict=True):
            if part == "simplex" and t >= 8.0:  # the closed form beyond K moves by at most beta + 1 per unit of the gap
                rest = (beta + 1.0) * math.exp(min(log_gap.hi, 0.0)) * 4.0
                yield equals(log_gap + pace * t + Interval(-rest, rest), k, scale=1, t=t, **case)
        step = int(times[1] - times[0]) if norm == "post" else 4
        slopes = [
            (b - a) / float(times[j + step] - times[j])
            for j, (a, b) in enumerate(zip(logs[:-step], logs[step:], strict=True))
        ]
        early = [s for s, t in zip(slopes, times, strict=False) if t <= 8.0]
        yield equals(limit(early[-6:], ratio=math.exp(2.0), order=1), -pace, window="last", **case)
        if part != "tokens":
            yield equals(slopes[-1], -pace, window=float(times[-1]), **case)


@cache
def delay(n, beta, gap):
    """D, the limit of t - r, for norm one at the start: an integral over the logarithm of the gap, and its tail."""
    g0, cut = ball(gap), ball(-80)
    first, few = n - (n - 1) * g0, ball(n) / (n - 1)
    b = ball(beta)

    def grown(y):  # r (n - 1) / (2 A) dg/dy; E_1(x) is -Ei(-x)
        g = y.exp()
        spread = n - (n - 1) * g
        raised = g0.log() - y + (b * g0).ei() - (b * g).ei() - (g0.log() - y)
        far = (b * few).exp() * ((-(b * (few - g))).ei() - (-(b * (few - g0))).ei())
        s = (raised + far + (n - 1) * (g0.log() - y + (spread / first).log())) / (2 * n)
        return s.exp() * first.sqrt() * (n - 1) * g / (2 * (spread * spread * spread).sqrt())

    seen = integral_over(grown, cut, g0.log())
    most = (first * prefactor(n, beta, "SA", gap)).sqrt() * (n - 1) * (ball(n) / 2) ** ball(-1.5) * (cut / 2).exp()
    return hull(seen + ball(0).union(most) - 1)


def tail(n, beta, gap):
    """C, the limit of t^2 (1 - rho), for norm one at the start."""
    return hull(prefactor(n, beta, "SA", gap) * (n - (n - 1) * ball(gap)) / n)


@verifies(
    Claim(
        "norm-flow.pre",
        "under Pre-LN gaps close like t^(-2), with the constant and the next order in closed form",
        r"$1 - \rho = Ct^{-2}(1 + 2D/t + O(t^{-2}))$, $C = Kr_0^2A_0/n$, $D = \lim(t - r) = -r_0 + \int_{\rho_0}^1 r\,\frac{n - 1}{2A}\,d\rho$",
        assumptions=("equal overlaps and norms at the start",),
        spec=("FR.F23",),
        cites=(*SURVEY, "xiong2020"),
        provenance=("seen", "derived"),  # the equations and exponents are refereed, the constants are not
    ),
    constant("single", "like 1 / t", power=1.0),
    hypothesis("post", "the layer is normalised after each step", norm="post"),
    bug("norm", "the norm is taken for the time from the start, so that D is none", late=0.0),
    constant("near", "C is one per cent larger", share=1.01),
)
def test_pre(run, *, power=2.0, norm="pre", late=1.0, share=1.0):
    for _, n, beta, gap, times, logs, norms in paths(run, norm, "simplex"):
        case = {"n": n, "beta": beta, "start": gap}
        c, d = share * tail(n, beta, gap), late * delay(n, beta, gap)
        slopes = windows(times, logs)
        for t, slope in slopes:
            if (
                t >= LARGE
            ):  # the next order is 1.8 / log 10 = 0.78 times D / t; the rest of D / t is room for what follows
                yield at_most(abs(slope + power), abs(d) / t, scale=1, part="window", t=t, **case)
        yield equals(limit([s for _, s in slopes[::4]][-5:], ratio=10.0, order=1), -power, part="exponent", **case)
        whole = times[::4].tolist()
        held = [np.exp(g + power * TEN * k) for k, g in enumerate(logs[::4])]
        yield equals(limit(held[-5:], ratio=10.0, order=1), c, part="C", **case)
        bends = [t / 1.8 * (a / b - 1) for t, a, b in zip(whole, held, held[1:], strict=False)]
        yield equals(limit(bends[1:6], ratio=10.0, order=1), d, scale=1, part="D, from gaps", **case)
        lags = [t - np.exp(r) for t, r in zip(whole, norms[::4], strict=True)]
        yield equals(limit(lags[1:6], ratio=10.0, order=1), d, scale=1, part="D, from norms", **case)
        told = Equiangular(n, beta).pre_norm_tail(exact(gap))
        for name, formula, claimed in zip("CD", told, (c, d), strict=True):
            yield equals(formula, claimed, scale=1, part=f"{name}, instrument", **case)


@verifies(
    Claim(
        "norm-flow.tokens",
        "drawn tokens, not equiangular, close their largest gap like t^(-2) under Pre-LN",
        r"$\max_{i \ne j}(1 - \langle\theta_i, \theta_j\rangle) \sim C't^{-2}$ under $\dot x_i = f(\theta)_i$, $\theta_i = x_i/|x_i|$; $C'$ depends on the start",
        assumptions=("all tokens in one hemisphere",),
        spec=("FR.F23",),
        cites=(*SURVEY, "xiong2020"),
        provenance=("seen", "derived"),
    ),
    constant("single", "like 1 / t", power=1.0),
    hypothesis("post", "the layer is normalised after each step", norm="post"),
    constant("near", "like t^(-2.02)", power=2.02),
)
def test_tokens(run, *, power=2.0, norm="pre"):
    for part, n, beta, start, times, logs, norms in paths(run, norm, "overlaps", "tokens"):
        slopes = [slope for _, slope in windows(times, logs)][::4]
        case = {"part": part, "n": n, "beta": beta, "start": start}
        if len(slopes) >= LEVELS:
            yield equals(limit(slopes[-5:], ratio=10.0, order=1), -power, **case)
        earlier, last = (abs(slope + power) for slope in slopes[-2:])
        yield at_most(last, earlier / 5, scale=1, window="last", **case)  # what is left of 1 / t, ten times later
        apart = [np.exp(g + 2 * r) for g, r in zip(logs, norms, strict=True)]  # |x_i - x_j|^2 / 2, in the end
        if norm == "pre":
            yield at_least(apart[-1], 0.99 * apart[-5], window="frozen", **case)
            yield at_most(apart[-1], 1.01 * apart[-5], window="frozen", **case)
