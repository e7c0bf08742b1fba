"""How far entmax moves when its scores do: Lipschitz constants between norms, their growth, and where there is none."""

from fractions import Fraction
from functools import cache

import numpy as np

from theory.evidence import (
    Claim,
    Interval,
    Kind,
    at_least,
    at_most,
    ball,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    limit,
    norm,
    verifies,
)
from theory.evidence.enclosure import sup_over
from theory.maxent import entmax, studies
from theory.maxent.sparse import entmax_norm
from verify.textbook import hull

SOURCES = ("peters2019", "blondel2020")
DERIVED = ("derived", "refereed")
SLIVER = 2.0**-30
BETWEEN = (1.0, 1.25, 1.5, 1.75, 2.0)


def power(base, exponent):
    """Enclose a power of two exact numbers."""
    return hull(ball(base) ** ball(exponent), Kind.PROVED)


@cache
def largest(expression, tolerance=1e-6, **box):
    """The supremum over a box, computed once for a claim and its twins."""
    return sup_over(expression, tolerance=tolerance, **dict(box.items()))


def beside(expression, name, value):
    """Enclose a monotone expression at a point between its suprema over a sliver on either side."""
    near = [largest(expression, **{name: ends}) for ends in ((value - SLIVER, value), (value, value + SLIVER))]
    return Interval(min(x.lo for x in near), max(x.hi for x in near), Kind.PROVED)


LIGHT = np.array([0.98, 0.01, 0.01])
ONE_AND_REST = np.append(0.82225, np.full(99, 0.17775 / 99))


def steep_laws(run):
    """Yield laws at which entmax is steep: two light weights, one and the rest, then random ones."""
    yield LIGHT
    yield ONE_AND_REST
    for rng in run.draws(quick=8, paper=120):
        yield rng.dirichlet(np.full(9, 0.5)) + 1e-9


def pairs(run, alpha, *, many):
    """Yield scores before and after they moved: along the steepest way at those laws, then random ones."""
    ways = [(LIGHT, np.array([0.0, 1.0, -1.0])), (ONE_AND_REST, np.append(1.0, np.full(99, -1 / 99)))]
    if many:
        rest = 10**5 - 1
        ways.append((np.append(0.9, np.full(rest, 0.1 / rest)), np.append(1.0, np.full(rest, -1 / rest))))
    for law, way in ways:
        x = np.log(law) if alpha == 1.0 else law ** (alpha - 1.0) / (alpha - 1.0)
        yield x, x + 2.0**-10 * way
    for rng in run.draws(quick=8, paper=120):
        n = int(rng.integers(2, 40))
        size = float(rng.choice([1e-3, 0.1, 1.0, 10.0]))
        x = rng.normal(size=n)
        yield x, x + size * rng.normal(size=n)


@verifies(
    Claim(
        "entmax.lipschitz",
        "entmax of order 1 to 2 moves by no more than its scores, in the Euclidean norm",
        r"$J = \mathrm{diag}(q) - qq^\top/\sum q \preceq \mathrm{diag}(q) \preceq I$ with $q = p^{2-\alpha}$, so $\|p(s) - p(s')\|_2 \le \|s - s'\|_2$ for $1 \le \alpha \le 2$",
        assumptions=(r"$1 \le \alpha \le 2$", "temperature 1"),
        spec=("RA.D7",),
        cites=SOURCES,
        source_status=DERIVED,
    ),
    constant("popular", "the constant is 2^(alpha - 2) for every number of scores", popular=True),
    hypothesis("beyond", "the orders are larger by one half", beyond=0.5),
    bug("exponent", "the slopes are p^(alpha - 2)", mirrored=True),
)
def test_lipschitz(run, *, popular=False, beyond=0.0, mirrored=False):
    for order in BETWEEN:
        alpha = order + beyond
        bound = power(2, alpha - 2.0) if popular else 1
        for law in steep_laws(run):
            norm_there = entmax_norm(law / law.sum(), 4.0 - alpha if mirrored else alpha)
            yield at_most(norm_there, bound, alpha=alpha, n=law.size, part="Jacobian")
        for x, y in pairs(run, alpha, many=order == 1.5):
            moved = norm(entmax(exact(y), alpha) - entmax(exact(x), alpha))
            yield at_most(moved, bound * norm(exact(y) - exact(x)), alpha=alpha, n=x.size, part="moved")


# 2 / (1 / q_1 + 1 / q_2) for p = s^4 and 1 - s^4 = r^4, by symmetry up to p = 1/2; above order 2 the slopes grow
FOURTH = "sqrt(sqrt(1-s**4))"
TWO_SCORES = {
    0.5: f"2*s**6/(1+s**6/{FOURTH}**6)",
    1.0: "2*s**4*(1-s**4)",
    1.25: f"2*s**3/(1+s**3/{FOURTH}**3)",
    1.5: "2*s**2/(1+s**2/sqrt(1-s**4))",
    1.75: f"2*s/(1+s/{FOURTH})",
    2.5: "2/(s**2+sqrt(1-s**4))",
    2.75: f"2/(s**3+{FOURTH}**3)",
    4.0: "2/(s**8+(1-s**4)**2)",
}


@verifies(
    Claim(
        "entmax.two-scores",
        "for two scores the sharp constant is 2^(alpha - 2) up to order 2 and from order 3 on, and 2 between",
        r"$n = 2$: $\sup_p \|J\|_2 = \sup_p 2/(p_1^{\alpha-2} + p_2^{\alpha-2})$ is $2^{\alpha-2}$ for $\alpha \le 2$ and $\alpha \ge 3$ (attained at $p_1 = p_2$), and $2$ for $2 < \alpha \le 3$ (as $p_2 \to 0$)",
        assumptions=(r"$\alpha \in \{.5, 1, 1.25, 1.5, 1.75, 2.5, 2.75, 4\}$", "over all laws, to $10^{-5}$"),
        spec=("RA.D7",),
        cites=SOURCES,
        source_status=DERIVED,
    ),
    hypothesis("throughout", "the constant is 2^(alpha - 2) between orders 2 and 3 as well", between=False),
    constant("near", "the constant is one in a hundred smaller", factor=0.99),
    bug("uncentred", "the mean of the direction is not subtracted: the largest slope", centred=False),
)
def test_two_scores(run, *, between=True, factor=1.0, centred=True):
    for alpha, text in TWO_SCORES.items():
        claimed = Interval.exactly(2, Kind.PROVED) if between and 2.0 < alpha < 3.0 else power(2, alpha - 2.0)
        shown = text if centred else "1+0*s"
        yield equals(largest(shown, 1e-5, s=("0", "0.841")), factor * claimed, scale=1, alpha=alpha, part="largest")
        for s in (0.25, 0.5, 0.75):  # of which the fourth powers are floats: what is maximised is the norm
            norm = entmax_norm([s**4, 1.0 - s**4], alpha)
            here = beside(shown, "s", s)
            yield equals(norm, here, scale=1, alpha=alpha, share=s**4, part="norm")


# the family: cos^2 = a and sin^2 = 1 - a by half-angles, w a root of n - 1; outside the range of t one summand alone
# keeps the value below 1/2, because the value is at most n / (n - 1) times the smaller of both
COS, SIN = "((1-t**2)/(1+t**2))", "(2/(t+1/t))"
FAMILY = {
    1.25: (f"{COS}*sqrt({COS})", f"{SIN}*sqrt({SIN})*w", 4),
    1.5: (COS, f"{SIN}*w", 2),
    1.75: (f"sqrt({COS})", f"sqrt({SIN})*w**3", 4),
}
ANGLE = ("0.001", "0.99")


def beyond(alpha, n):
    """What bounds the norm outside the range of t, of 3 to n scores: n / (n - 1) times either summand at its end.

    The sine rises with t and the cosine falls, and the summand of the light weights is the larger the more there are.
    """
    t = [ball(Fraction(x)) for x in ANGLE]
    a = ball(alpha)
    light = (n - 1) * ((2 * t[0] / (1 + t[0] ** 2)) ** 2 / (n - 1)) ** (2 - a)
    heavy = (((1 - t[1] ** 2) / (1 + t[1] ** 2)) ** 2) ** (2 - a)
    return [hull(1.5 * x, Kind.PROVED) for x in (light, heavy)]


def family(alpha, n, first=None, *, whole=True, at=None):
    """The largest norm of the family of n scores, over all real numbers from ``first`` to n, or of one angle."""
    one, rest, root = FAMILY[alpha]
    fine = 4e-6 if alpha == 1.25 else 1e-4  # beside the crossing the largest norm is off by 4.6e-6, 8e-4 and 4e-4
    share = f"(1+1/w**{root})" if whole else "1"
    if first is None:
        w = {2: f"sqrt({n - 1})", 4: f"sqrt(sqrt({n - 1}))"}[root]
        norm = f"{share}/(1/({one})+1/({rest}))".replace("w", f"({w})")
        return largest(norm, fine, t=ANGLE) if at is None else beside(norm, "t", at)
    ends = tuple((m - 1) ** (1 / root) * (1 + side) for m, side in ((first, -1e-15), (n, 1e-15)))
    return largest(f"{share}/(1/({one})+1/({rest}))", fine, t=ANGLE, w=ends)


@verifies(
    Claim(
        "entmax.crossing",
        "2^(alpha - 2) is not the constant of many scores: it is first exceeded at 14, 48 and 1674",
        r"$\max_a\|J\|_2$ over $p = (a, \text{rest equal})$ is at most $2^{\alpha-2}$ for all $3 \le n < n^*$, with equality at $n = 3$, $a = 0$, and above it at $n^*$, with $n^* = 1674, 48, 14$ for $\alpha = \frac54, \frac32, \frac74$",
        assumptions=(
            r"laws of one weight and $n - 1$ equal ones",
            r"norms to $4\cdot10^{-6}$ for $\alpha = \frac54$, to $10^{-4}$ else",
        ),
        spec=("RA.D7",),
        cites=SOURCES,
        source_status=DERIVED,
    ),
    constant("earlier", "it is exceeded one score earlier", shift=-1),
    constant("later", "it is exceeded one score later", shift=1),
    bug("factor", "the factor n / (n - 1) is forgotten", whole=False),
    constant("tenth", "where one slope alone bounds the norm it is below a tenth", outside=0.1),
)
def test_crossing(run, *, shift=0, whole=True, outside=0.5):
    for alpha, least in studies.CROSSINGS.items():
        popular = power(2, alpha - 2.0)
        n = least + shift
        first = run.pick(quick=3 if n < 100 else None, paper=3)  # all sizes up to 1673 at once take a second
        sizes = f"{first} to {n - 1}" if first else str(n - 1)
        yield at_most(family(alpha, n - 1, first, whole=whole), popular, alpha=alpha, n=sizes)
        yield at_least(family(alpha, n, whole=whole), popular, alpha=alpha, n=n)
        # the equal weights have the slope of one of them among themselves, the larger the fewer they are
        yield equals(entmax_norm([0.0, 0.5, 0.5], alpha), popular, alpha=alpha, n=3)
        yield at_most(power(3, alpha - 2.0), popular, alpha=alpha, n=4)
        there = entmax_norm(exact([0.36, 0.64]) / exact([1.0, n - 1.0]), alpha, counts=[1.0, n - 1.0])
        # cos and sin are .6 and .8 there
        yield equals(there, family(alpha, n, whole=whole, at=0.5), alpha=alpha, n=n, part="norm")
        for slope in beyond(alpha, n):
            yield at_most(slope, outside, scale=1, alpha=alpha, n=n, part="outside")


@verifies(
    Claim(
        "entmax.steepest",
        "no law was found with a steeper entmax than two equal weights or one weight among equal ones",
        r"$\|J\|_2 \le \max(2^{\alpha-2}, \max_a\|J(a, \text{rest equal})\|_2)$; at $\alpha = \frac32$ the second is $.7071, .6166, .7531, .8676, .9343$ for $n = 2, 10, 10^2, 10^3, 10^4$",
        assumptions=(r"$\alpha \in \{\frac54, \frac32, \frac74\}$", "laws found by climbing from random ones"),
        spec=("RA.D7",),
        cites=SOURCES,
        source_status=DERIVED,
    ),
    constant("popular", "2^(alpha - 2) alone", familiar=False),
    constant("near", "the bound is one in a thousand smaller", factor=0.999),
    hypothesis("family", "the family alone, without two equal weights", pair=False),
    constant("above", "a climb finds one in a thousand more than two equal weights have", reached=1.001),
)
def test_steepest(run, *, familiar=True, factor=1.0, pair=True, reached=0.999):
    table = run.study(studies.steepness)
    best = {}
    for alpha, n, found in rows(table.where(part="family"), "norm"):
        best[alpha, n] = found
        yield at_most(found, 1, alpha=alpha, n=n, part="family")
        beside = {studies.CROSSINGS[alpha] - 1: at_most, studies.CROSSINGS[alpha]: at_least}
        if n in beside:
            yield beside[n](found, factor * power(2, alpha - 2.0), alpha=alpha, n=n, part="crossing")
        if not familiar:
            yield at_most(found, power(2, alpha - 2.0), alpha=alpha, n=n, part="family")
    for alpha, n, found in rows(table.where(part="climbed"), "norm"):
        others = [power(2, alpha - 2.0)] * pair + [best[alpha, n]] * familiar
        yield at_most(found, factor * Interval.largest(others), alpha=alpha, n=n, part="climbed")
        if n < studies.CROSSINGS[alpha]:
            yield at_least(found, reached * power(2, alpha - 2.0), alpha=alpha, n=n, part="found")
    for n, digits in {2: ".7071", 10: ".6166", 100: ".7531", 1000: ".8676", 10_000: ".9343"}.items():
        yield at_least(best[1.5, n], factor * Interval.printed(digits).lo, n=n, part="digits")
        yield at_most(best[1.5, n], factor * Interval.printed(digits).hi, n=n, part="digits")


def rows(table, name):
    """Orders, sizes and intervals of a table, row by row."""
    return zip(table["alpha"].tolist(), table["n"].tolist(), table.intervals(name), strict=True)


@verifies(
    Claim(
        "entmax.dimension",
        "between orders 1 and 2 the Lipschitz constant tends to 1 as the scores become many",
        r"$p = (1-\delta, \text{rest equal})$, $n - 1 = \delta^{-(3-\alpha)/(\alpha-1)}$: $\|J\|_2 = 1 - (3-\alpha)\delta + o(\delta)$, so $1 - \Lambda_n \lesssim (3-\alpha)\,n^{-(\alpha-1)/(3-\alpha)}$, a bound at every $n \ge 2$ tried",
        assumptions=(r"$\alpha \in \{\frac54, \frac32, \frac74\}$",),
        spec=("RA.D7",),
        cites=SOURCES,
        source_status=("derived",),
    ),
    constant("popular", "the limit is 2^(alpha - 2)", popular=True),
    constant("slope", "the defect is (2 - alpha) delta: the many equal weights cost nothing", taken=2.0),
    hypothesis("half", "the large weight stays at one half", half=True),
)
def test_dimension(run, *, popular=False, taken=3.0, half=False):
    for alpha, n, found in rows(run.study(studies.steepness).where(part="family"), "norm"):
        missing = (taken - alpha) * power(n, (1.0 - alpha) / (3.0 - alpha))
        yield at_most(1.0 - found, missing, scale=1, alpha=alpha, n=n, part="bound")
    for alpha, ratio in ((1.25, 2), (1.5, 2), (1.75, 8)):
        gains = {1.25: 7, 1.5: 3, 1.75: 5 / 3}[alpha]
        levels = []
        for k in range(2, run.pick(quick=8, paper=10)) if ratio == 2 else range(1, run.pick(quick=6, paper=7)):
            delta = float(ratio) ** -k
            others = round(float(ratio) ** (gains * k))
            rest = 0.5 if half else delta
            levels.append((delta, entmax_norm([1.0 - rest, rest / others], alpha, counts=[1.0, float(others)])))
        norms = [norm for _, norm in levels]
        defects = [(1.0 - norm) / delta for delta, norm in levels]
        top = power(2, alpha - 2.0) if popular else 1
        yield equals(limit(norms, ratio=ratio, order=1), top, scale=1, alpha=alpha, part="limit")
        yield equals(limit(defects, ratio=ratio, order=1), taken - alpha, scale=1, alpha=alpha, part="slope")
