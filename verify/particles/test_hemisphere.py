"""Chance puts tokens into one hemisphere too: how often, by exact counts and by draws, and when it says nothing."""

from fractions import Fraction
from functools import cache

import numpy as np

from theory.evidence import (
    Claim,
    Interval,
    bug,
    constant,
    equals,
    hypothesis,
    proportion,
    verifies,
)
from theory.evidence.once import once
from theory.particles import studies
from theory.particles.exact import hemisphere_margins, hemisphere_probability, sign_patterns

WENDEL = ("wendel1962", "cover1965")
patterns_of = once(sign_patterns)


@cache
def schlaefli(n, d):
    """The number of regions into which n hyperplanes through the origin in general position cut dimension d."""
    if n == 1 or d == 1:
        return 2
    return schlaefli(n - 1, d) + schlaefli(n - 1, d - 1)


@verifies(
    Claim(
        "cone.patterns",
        "of the two to the n ways to turn points into their opposites, the same number puts them into one hemisphere, always",
        r"$\#\{s \in \{\pm1\}^n : \exists w\ \langle s_ix_i, w\rangle > 0\ \forall i\} = 2\sum_{k < d}\binom{n - 1}{k}$",
        assumptions=("points in general position",),
        spec=("FR.F14",),
        cites=WENDEL,
        source_status=("recalled",),
    ),
    constant("dimension", "the sum goes up to d", more=1),
    bug("unpaired", "a pattern and its opposite are counted once", share=Fraction(1, 2)),
    hypothesis("plane", "the points lie in a plane of the space", flat=True),
)
def test_patterns(run, *, more=0, share=1, flat=False):
    sizes = run.pick(quick=((3, 2), (6, 3), (5, 5), (7, 4), (8, 3)), paper=((6, 3), (10, 4), (5, 5), (11, 3), (9, 6)))
    for rng in run.draws(quick=2, paper=2):
        for n, d in sizes:
            x = rng.normal(size=(n, d))
            if flat and (n, d) == (6, 3):
                x = x[:, :2]
            yield equals(share * patterns_of(x), schlaefli(n, d + more), n=n, d=d)
            yield equals(
                hemisphere_probability(n, d), Fraction(schlaefli(n, d + more), 2**n), n=n, d=d, part="probability"
            )


@verifies(
    Claim(
        "cone.wendel",
        "independent uniform points share an open hemisphere with Wendel's probability",
        r"$2^{-(n - 1)}\sum_{k < d}\binom{n - 1}{k}$: $\frac12$ for $(n, d) = (6, 3)$, $0.254$ for $(10, 4)$, $1$ for $(5, 5)$, $\frac12$ for all $n = 2d$",
        assumptions=("a law that is symmetric about the origin and charges no hyperplane through it",),
        spec=("FR.F14",),
        cites=WENDEL,
        source_status=("recalled", "refereed"),
    ),
    constant("dimension", "the sum goes up to d", more=1),
    bug("unpaired", "the power is two to the n", share=Fraction(1, 2)),
    hypothesis("shifted", "the law favours one side", law="shifted"),
)
def test_wendel(run, *, more=0, share=1, law="uniform"):
    table = run.study(studies.cones).where(part="hits")
    part = table.where(run=law)
    for n, d, draws, hits in zip(
        *(part[key].tolist() for key in ("n", "d", "draws")), part.intervals("value"), strict=True
    ):
        sure, open_ = (proportion(int(end), draws, among=len(table)) for end in (hits.lo, hits.hi))
        claimed = share * Fraction(schlaefli(n, d + more), 2**n)
        yield equals(Interval(sure.lo, open_.hi, sure.kind), claimed, scale=1, n=n, d=d)
    for n, d, printed in ((6, 3, Fraction(1, 2)), (10, 4, Interval.printed("0.254")), (5, 5, Fraction(1))):
        yield equals(share * Fraction(schlaefli(n, d + more), 2**n), printed, n=n, d=d, part="printed")


@verifies(
    Claim(
        "cone.vacuous",
        "as many tokens as dimensions always share a hemisphere, and so does every choice of their signs: finding them in one says nothing",
        r"$n \le d$, $x_1, \dots, x_n$ independent: $\langle x_i, w\rangle = 1$ for $w = X^\top(XX^\top)^{-1}\mathbf 1$; $P = 1$ for independent tokens of any law with a density, and $\frac12$ still at $n = 2d$ if it is symmetric",
        assumptions=("linearly independent tokens", "at $n = 2d$ independent ones of a law symmetric about the origin"),
        spec=("FR.F14",),
        cites=WENDEL,
        source_status=("derived",),
    ),
    constant("evidence", "random signs leave tokens in one hemisphere with probability one half", share=Fraction(1, 2)),
    hypothesis("one-more", "there is one token more than dimensions", more=1),
    bug("closed", "a direction that is orthogonal to a token counts as above it", drop=True),
)
def test_vacuous(run, *, share=1, more=0, drop=False):
    for d in run.pick(quick=(3, 8, 24), paper=(3, 8, 24, 48)):
        clouds = []
        for rng in run.draws(quick=12, paper=40):
            n = d + more
            x = rng.normal(size=(n, d)) * np.exp(rng.normal(size=(n, 1)))
            clouds += [x, rng.choice([-1.0, 1.0], size=(n, 1)) * x]
        found = np.array(clouds)
        if drop:
            found = np.concatenate([found, -found[:, :1]], axis=1)
        lower, _ = hemisphere_margins(found)
        yield equals(int((lower > 0.0).sum()), share * len(clouds), d=d)
    for d in (2, 3, 10, 100):
        yield equals(hemisphere_probability(d + more, d), share, d=d, part="probability")
        yield equals(hemisphere_probability(2 * d + more, d), Fraction(1, 2), d=d, part="twice")
