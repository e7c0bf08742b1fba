"""Which tokens reach consensus: almost all on a complete graph, and on a ring only off the circle."""

import functools
from fractions import Fraction

import numpy as np
import sympy

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
    verifies,
)
from theory.evidence.symbolic import zero
from theory.particles import studies
from verify.textbook import hull

MERGED = 1e-6
SPHERES = ("markdahl2018", "criscitiello2024", "geshkovski2025")


def merged(part):
    """Which share of the starts has certainly and which has possibly reached consensus."""
    sure, possible = (int((part[f"gap.{end}"] < MERGED).sum()) for end in ("hi", "lo"))
    return Interval(sure, possible, part.kind) / len(part)


@verifies(
    Claim(
        "consensus.almost-every",
        "all of 60 random starts reach consensus on the circle and the sphere, as nearly all starts do",
        r"$m(X(t)) \to 1$ for almost every start; seen: $m > 1 - 10^{-6}$ from all of 60 random starts (12 or 8 at the quick scale), also from those that lie in no half-sphere",
        assumptions=("SA, V the identity", "an almost-every statement is supported by samples, not decided"),
        spec=("FR.F16",),
        cites=SPHERES,
        source_status=("seen", "derived"),
    ),
    constant("half", "one half of the starts reach it", share=Fraction(1, 2)),
    hypothesis("ring", "tokens on the circle see their neighbours on a ring only", cases=(("ring", 2, 0.0),)),
    hypothesis("opposite", "the tokens start in two opposite groups", least=-1),
    hypothesis("colder", "at beta = 81 by the same time", beta=81.0),
)
def test_almost_every(
    run, *, share=1, cases=(("complete", 2, 1.0), ("complete", 3, 1.0), ("complete", 3, 4.0)), least=0, beta=1.0
):
    table = run.study(studies.starts)
    for graph, d, b in cases:
        part = table.where(graph=graph, d=d, beta=b)
        case = {"graph": graph, "d": d, "beta": b}
        seen = part.where(start=least) if least < 0 else part.where(start=0)
        yield at_most(seen.intervals("gap")[0], MERGED, scale=1, part="named", **case)
        drawn = chosen(part, part["start"] > 0)
        yield equals(merged(drawn), share, scale=1, part="all", **case)
        far = chosen(drawn, drawn["held"] == 0)  # of which the theorem about a half-sphere says nothing
        yield equals(merged(far), share, scale=1, part="in no half-sphere", **case)
    table = run.study(studies.clusters)
    for d in (2, 3):
        last = table.where(d=d, beta=beta, time=float(table["time"].max()))
        yield at_most(apart(last), MERGED, scale=1, part="many tokens", d=d)


def chosen(table, keep):
    """The rows of a table where ``keep`` is true."""
    return type(table)(table.kind, table.units, {name: column[keep] for name, column in table.columns.items()})


def apart(part):
    """Enclose 1 - m of tokens in a box each: half the square of the largest distance."""
    low, high = (np.stack([part[f"{axis}.{end}"] for axis in "xyz"], axis=1) for end in ("lo", "hi"))
    most = np.maximum(high[:, np.newaxis] - low, high - low[:, np.newaxis])
    least = np.maximum(np.maximum(low[:, np.newaxis] - high, low - high[:, np.newaxis]), 0.0)
    ends = [float((side**2).sum(axis=2).max()) / 2.0 for side in (least, most)]
    return Interval(ends[0] * (1.0 - 1e-14), ends[1] * (1.0 + 1e-14), part.kind)


alpha, mu, beta, eps = sympy.symbols("alpha mu beta epsilon", real=True)
i = sympy.Symbol("i", integer=True)
LIFTS = {-1: sympy.Symbol("u", real=True), 0: sympy.Symbol("v", real=True), 1: sympy.Symbol("w", real=True)}
POINT = {alpha: sympy.Rational(3, 5), mu: sympy.Rational(7, 5), beta: sympy.Rational(3, 2), i: 2}
POINT |= {lift: sympy.Rational(1, step + 4) for step, lift in LIFTS.items()}
COS = sympy.cos(alpha)
SIN = sympy.sin(alpha)


@functools.cache
def moved(neighbours, *, tilted):
    """The derivative of the velocity of a token when it and its neighbours move by eps times their lifts.

    They move along the circle, or off it.
    """

    def point(step):
        lift = eps * LIFTS[step]
        if tilted:
            level = sympy.sqrt(1 - lift**2)
            return sympy.Matrix([level * sympy.cos(step * alpha), level * sympy.sin(step * alpha), lift])
        return sympy.Matrix([sympy.cos(step * alpha + lift), sympy.sin(step * alpha + lift), 0])

    here = point(0)
    across = sympy.Matrix([0, 0, 1]) if tilted else sympy.Matrix([-here[1], here[0], 0])
    total = sympy.zeros(3, 1)
    for step in neighbours:
        there = point(step)
        total += sympy.exp(beta * here.dot(there)) * there
    moving = (total - here.dot(total) * here).dot(across)
    return sympy.diff(moving, eps).subs(eps, 0)


@functools.cache
def vanishing(expression):
    """Whether an expression vanishes; most twins change only one of them."""
    return zero(expression, POINT)


def plane_waves(slope, own, neighbours):
    """Yield the findings on rings of any size: the derivative of a velocity, and what a plane wave makes of it."""
    before, here, after = (LIFTS[step] for step in (-1, 0, 1))
    along = sympy.exp(beta * COS) * slope * (before + after - 2 * here)
    yield equals(vanishing(moved(neighbours, tilted=False) - along), 0, scale=1, part="plane waves, along")
    across = sympy.exp(beta * COS) * (before + after - 2 * own * here)
    yield equals(vanishing(moved(neighbours, tilted=True) - across), 0, scale=1, part="plane waves, off")
    wave = sum(sympy.cos(mu * (i + step)) for step in neighbours)
    yield equals(vanishing(wave - 2 * sympy.cos(mu) * sympy.cos(mu * i)), 0, scale=1, part="plane waves, product")


def angle(q, n):
    """Cosine and sine of 2 pi q / n in balls."""
    turn = ball(1).atan() * 8 * q / n
    return turn.cos(), turn.sin()


def waves(n, q, b, d, *, quadratic=True):
    """The eigenvalues that plane waves have, in increasing order."""
    cos, sin = angle(q, n)
    heat = (cos * b).exp()
    slope = cos - (b * sin * sin if quadratic else 0)
    along = [-2 * heat * slope * (1 - angle(m, n)[0]) for m in range(n)]
    off = [2 * heat * (angle(m, n)[0] - cos) for m in range(n)] * (d - 2)
    return sorted((hull(x) for x in along + off), key=lambda x: x.mid)


@verifies(
    Claim(
        "consensus.twisted",
        "the twisted state of winding q is stable on the circle if cos(2 pi q / n) > beta sin^2, and never off the circle",
        r"plane waves of $\mu = 2\pi m/n$ grow at the rates $-2e^{\beta\cos\alpha}(\cos\alpha - \beta\sin^2\alpha)(1 - \cos\mu)$ along the circle and $2e^{\beta\cos\alpha}(\cos\mu - \cos\alpha)$ off it, $\alpha = 2\pi q/n$: on the circle all but the rotation's are below 0 if $\cos\alpha > \beta\sin^2\alpha$, one is above if $<$; on $S^{d-1}$, $d \ge 3$, the largest is at least $2e^{\beta\cos\alpha}(1 - \cos\alpha) > 0$; a ring of ten with winding one and noise of size $10^{-3}$ returns to it for $d = 2$, $|\bar x(\infty)| = 0$, and goes to consensus for $d = 3$, $|\bar x(\infty)| = 1$",
        assumptions=(
            "a ring of n >= 3 tokens, kernel e^(beta s), beta = 0 the linear one",
            "0 < q < n",
            "the run: linear kernel, one draw of the noise for each d, and random starts besides in d = 3",
        ),
        spec=("FR.F16",),
        cites=("wiley2006", "markdahl2018", "criscitiello2024"),
        source_status=("seen", "derived"),
    ),
    constant("linear", "the linear kernel's rate for every kernel", slope=COS),
    constant("off-the-circle", "off the circle the rates are those of consensus", own=1),
    hypothesis("directed", "tokens see the next one only", neighbours=(1,)),
    constant("any-winding", "every winding is stable on the circle", condition=lambda _cos, _sin, _b: True),
    constant("any-kernel", "windings with cos > 0 are stable for every kernel", condition=lambda cos, _sin, _b: bool(cos > 0)),
    constant("no-winding", "no winding is stable on the circle", condition=lambda _cos, _sin, _b: False),
    constant("near", "off the circle they are one per cent more unstable", share=Fraction(101, 100)),
    hypothesis("sphere", "they are as stable on the sphere", dims=(3,)),
    bug("first-order", "the derivative of the kernel is forgotten", quadratic=False),
    constant("connected", "consensus on any connected graph, also in d = 2", lengths=(1, 1)),
    constant("as-stable", "the twisted state is as stable in d = 3", lengths=(0, 0)),
    hypothesis("complete", "all tokens see all", graph="complete", betas=(1.0, 1.0)),
)  # fmt: skip
def test_twisted(
    run, *, slope=COS - beta * SIN**2, own=COS, neighbours=(-1, 1), condition=lambda cos, sin, b: bool(cos > b * sin * sin),
    share=1, dims=(2,), quadratic=True, lengths=(0, 1), graph="ring", betas=(0.0, 0.0),
):  # fmt: skip
    yield from plane_waves(slope, own, neighbours)
    table = run.study(studies.eigenvalues).where(way="ring")
    for n, q, b in dict.fromkeys(
        zip(table["n"].tolist(), table["winding"].tolist(), table["beta"].tolist(), strict=True)
    ):
        case, (cos, sin) = {"n": n, "winding": q, "beta": b}, angle(q, n)
        found = {d: table.where(d=d, **case).intervals("value") for d in (2, 3)}
        for d in (2, 3):
            for at, (seen, claimed) in enumerate(zip(found[d], waves(n, q, b, d, quadratic=quadratic), strict=True)):
                yield equals(seen, claimed, scale=1, d=d, number=at, part="eigenvalues", **case)
        for d in dims:
            if condition(cos, sin, b):
                yield at_most(found[d][-2], 0, scale=1, part="stable", d=d, **case)
            else:
                yield at_least(sum(v.lo > 0.0 for v in found[d]), 1, part="unstable", d=d, **case)
        climb = share * hull(2 * (cos * b).exp() * (1 - cos))
        yield at_least(found[3][-1], climb, part="off the circle", **case)
    table = run.study(studies.starts)
    for d, length, b in zip((2, 3), lengths, betas, strict=True):
        named = table.where(graph=graph, d=d, beta=b, start=0)
        yield equals(named.intervals("mean")[0], length, scale=1, part="run, mean", d=d)
        yield equals(named.intervals("gap")[0], 2 * (1 - length), scale=1, part="run, gap", d=d)
    part = table.where(graph=graph, d=3, beta=betas[1])
    yield equals(merged(chosen(part, part["start"] > 0)), lengths[1], scale=1, part="run, random starts", d=3)
