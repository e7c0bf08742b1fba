"""How Gaussians grow and shrink in three normalisations: exact clocks, three kinds of growth, one of decay."""

from itertools import pairwise

import numpy as np

from theory.evidence import Claim, Interval, at_most, ball, bug, constant, equals, hypothesis, limit, verifies
from theory.particles import studies
from verify.particles.normal import lengths, symmetric
from verify.textbook import hull

CAP = ("castin2025",)
DERIVED = ("derived", "refereed")
SYSTEM = ("kernel", "value", "first", "second", "start")


def sinkhorn_clock(m):
    """Theta - coth(theta / 2) with sinh theta = 2 m."""
    power = 2 * m + (1 + 4 * m * m).sqrt()
    return power.log() - (power + 1) / (power - 1)


CLOCKS = {
    "softmax": lambda m: -1 / m,
    "distance": lambda m: m.log() - 1 / m,
    "sinkhorn": sinkhorn_clock,
}


def read(kernel, m):
    """A clock at an enclosed number: all of them rise."""
    ends = [hull(CLOCKS[kernel](ball(end))) for end in (m.lo, m.hi)]
    return Interval(ends[0].lo, ends[1].hi, m.kind)


@verifies(
    Claim(
        "gaussian-flow.eigenvectors",
        "with a symmetric form and the value one, the axes of the scaled covariance stay and its eigenvalues keep time",
        r"$M = A^{1/2}\Sigma A^{1/2}$ has $\dot M = 2M^2$, $2M^2(1 + M)^{-1}$, $\sqrt{1 + 4M^2} - 1$: constant eigenvectors, and $-\frac1\lambda$, $\log\lambda - \frac1\lambda$, $\theta - \coth\frac\theta2$ ($\sinh\theta = 2\lambda$) grow at rate $2$",
        assumptions=(
            r"$A \succ 0$ symmetric, $V = I$",
            "softmax, distance with $2Q^\\top K = 2K^\\top K = A$, Sinkhorn",
        ),
        spec=("FR.F07", "FR.F08"),
        provenance=("derived",),
    ),
    constant("slower", "the clocks go at rate 1.9", rate=1.9),
    bug("unscaled", "the covariance itself keeps its axes", scaled=False),
    hypothesis("skew", "the form has an antisymmetric part", form="skew"),
)
def test_eigenvectors(run, *, rate=2.0, scaled=True, form="symmetric"):
    table = run.study(studies.gaussian_ellipses).where(form=form)
    key = np.vectorize(Interval.exactly)(studies.KEY) if scaled else np.vectorize(Interval.exactly)(np.eye(2))
    for kernel in CLOCKS:
        part = table.where(kernel=kernel)
        scaled_by_form = [
            2.0 * (key @ symmetric(part, k) @ key) for k in range(len(part))
        ]  # A^(1/2) is K times root two
        first = scaled_by_form[0]
        for t, m in zip(part["t"].tolist(), scaled_by_form, strict=True):
            turned = m[0, 1] * (first[0, 0] - first[1, 1]) - first[0, 1] * (m[0, 0] - m[1, 1])
            yield equals(turned, 0, scale=1, kernel=kernel, t=t, part="commutes")
            for name, now, start in zip(("longer", "shorter"), lengths(m), lengths(first), strict=True):
                gone = read(kernel, now) - read(kernel, start)
                yield equals(gone, Interval.exactly(rate) * t, scale=1, kernel=kernel, t=t, part=name)


def systems(table, *, growing, kernels):
    """The systems on the line, with their rows."""
    keys = sorted(set(zip(*(table[name].tolist() for name in SYSTEM), strict=True)))
    for key in keys:
        if key[0] in kernels and (key[2] > 0.0) is growing:
            yield key, table.where(**dict(zip(SYSTEM, key, strict=True)))


def strength(kernel, first, second):
    """By what a variance is multiplied in a clock: alpha, or 2 k^2."""
    return 2 * ball(second) ** 2 if kernel == "distance" else ball(first)


@verifies(
    Claim(
        "gaussian-flow.clocks",
        "on the line, an elementary function of the variance tells the time",
        r"$\tau(s(t)) - \tau(s_0) = 2vt$ with $\tau = -\frac1{\alpha s}$ (softmax), $\theta - \coth\frac\theta2$, $\sinh\theta = 2\alpha s$ (Sinkhorn); $2v\frac qkt$ with $\tau = \log m - \frac1m$, $m = 2k^2s$ (distance); also for $\alpha < 0$",
        assumptions=(r"$d = 1$",),
        spec=("FR.F08",),
        provenance=("derived",),
    ),
    constant("slower", "the clocks go at rate 1.9 v", rate=1.9),
    bug("half", "sinh theta is alpha s", clocks=CLOCKS | {"sinkhorn": lambda m: sinkhorn_clock(m / 2)}),
    hypothesis(
        "one-kernel", "softmax tells the time for Sinkhorn too", clocks=CLOCKS | {"sinkhorn": CLOCKS["softmax"]}
    ),
)
def test_clocks(run, *, rate=2.0, clocks=CLOCKS):
    table = run.study(studies.gaussian_growth)
    for growing in (True, False):
        for (kernel, v, first, second, start), part in systems(table, growing=growing, kernels=tuple(CLOCKS)):
            factor = strength(kernel, first, second)
            speed = hull(ball(rate) * ball(v) * (ball(first) / ball(second) if second else 1))
            zero = hull(clocks[kernel](factor * ball(start)))
            for t, log in zip(part.intervals("t"), part.intervals("log"), strict=True):
                ends = [hull(clocks[kernel](factor * ball(end).exp())) for end in (log.lo, log.hi)]
                ends = ends if growing else ends[::-1]
                gone = Interval(ends[0].lo, ends[1].hi, log.kind) - zero
                yield equals(gone - speed * t, 0, scale=1.0 + t.hi, kernel=kernel, v=v, first=first, t=t.mid)


@verifies(
    Claim(
        "gaussian-flow.growth",
        "softmax blows up, Sinkhorn grows exponentially at a rate that does not know the scores, distance at one that does",
        r"$d = 1$, $v, \alpha > 0$: softmax blows up at $1/(2v\alpha s_0)$; $\frac{\log s}t \to 2v$ for Sinkhorn, whatever $\alpha$; $\frac{\log s}t \to 2v\frac qk$ for $e^{-(qx - ky)^2}$, which is $1.07692$ at $q = 0.7$, $k = 1.3$",
        assumptions=(r"$d = 1$, $v > 0$, $\alpha > 0$",),
        spec=("FR.F08",),
        cites=CAP,
        provenance=("seen", "derived", "refereed"),
    ),
    constant("sooner", "softmax blows up at half of that time", share=0.5),
    constant("strength", "the rate of Sinkhorn grows with the scores, 2 v alpha", strong=True),
    bug("inverted", "k / q stands for q / k", inverted=True),
    hypothesis("repelling", "the scores of Sinkhorn repel", growing=False),
)
def test_growth(run, *, share=1.0, strong=False, inverted=False, growing=True):
    table = run.study(studies.gaussian_growth)
    for (_, v, alpha, _, start), part in systems(table, growing=True, kernels=("softmax",)):
        claimed, case = (
            share / (Interval.exactly(2.0 * v) * alpha * start),
            {"kernel": "softmax", "v": v, "alpha": alpha},
        )
        yield equals(limit(part.intervals("t"), ratio=2.0, order=1), claimed, scale=1, part="blow-up", **case)
        yield at_most(part.intervals("t")[-1], claimed, scale=1, part="before", **case)
    chosen = [
        *systems(table, growing=True, kernels=("distance",)),
        *systems(table, growing=growing, kernels=("sinkhorn",)),
    ]
    for (kernel, v, first, second, start), part in chosen:
        ratio = Interval.exactly(first) / second if second else Interval.exactly(first if strong else 1.0)
        claimed = 2.0 * v * (1.0 / ratio if inverted and second else ratio)
        case = {"kernel": kernel, "v": v, "first": first, "second": second, "start": start}
        logs, times = part.intervals("log")[-5:], part["t.lo"].tolist()[-5:]
        slopes = [log / t for log, t in zip(logs, times, strict=True)]
        yield equals(limit(slopes, ratio=2.0, order=1), claimed, part="rate", **case)
        if (kernel, first, second) == ("distance", 0.7, 1.3):
            yield equals(claimed, Interval.printed("1.07692"), part="printed", **case)
        windows = [(b - a) / (t - s) for (a, s), (b, t) in pairwise(zip(logs, times, strict=True))]
        for number, (before, after) in enumerate(pairwise(windows)):
            yield at_most(
                abs(after - claimed), abs(before - claimed) / 2.0, scale=1, part="windows", window=number, **case
            )


def shrunk(log):
    """The exponential of an enclosed logarithm."""
    ends = [hull(ball(end).exp()) for end in (log.lo, log.hi)]
    return Interval(ends[0].lo, ends[1].hi, log.kind)


@verifies(
    Claim(
        "gaussian-flow.decay",
        "if the scores repel, the variance falls like 1/t, with the same constant for Sinkhorn as for softmax",
        r"$\alpha < 0$: $s\,t \to \frac1{2v|\alpha|}$, for softmax and for Sinkhorn",
        assumptions=(r"$d = 1$, $v > 0$, $\alpha < 0$",),
        spec=("FR.F08", "FR.F07"),
        cites=CAP,
        provenance=DERIVED,
    ),
    constant("no-factor-two", "the limit is 1 / (v |alpha|)", factor=1.0),
    bug("no-value", "v is left out", valued=False),
    hypothesis("attracting", "the scores attract", growing=True),
)
def test_decay(run, *, factor=2.0, valued=True, growing=False):
    table = run.study(studies.gaussian_growth)
    for (kernel, v, alpha, _, start), part in systems(table, growing=growing, kernels=("softmax", "sinkhorn")):
        case = {"kernel": kernel, "v": v, "alpha": alpha, "start": start}
        logs, times = part.intervals("log")[-6:], part.intervals("t")[-6:]
        products = [shrunk(log) * t for log, t in zip(logs, times, strict=True)]
        claimed = 1.0 / (Interval.exactly(factor * (v if valued else 1.0)) * abs(alpha))
        yield equals(limit(products, ratio=2.0, order=1), claimed, scale=1, part="limit", **case)
        yield at_most(products[-1], 1.5 * claimed, scale=1, part="last", **case)
