"""Dot-product attention without a ball: no Lipschitz constant on the line, and no output under heavy tails."""

import math
from fractions import Fraction
from functools import cache

import numpy as np

from theory import Measure
from theory.attention import DotProduct, SelfAttention, step
from theory.distance import w1
from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    ball,
    bug,
    constant,
    equals,
    hull,
    hypothesis,
    limit,
    order,
    verifies,
)
from theory.evidence.quadrature import integral_over
from theory.lipschitz import Push, norm_at, response, response_ratio, studies

PLAIN = DotProduct(form=[[1.0]])
REFEREED = ("derived", "refereed")


@verifies(
    Claim(
        "dot-product.unbounded",
        "dot-product attention has no Lipschitz constant on the line, in any Wasserstein distance",
        r"$X = (0, t, -t)$, $B = V = 1$: $\partial F_1/\partial x_1 = \frac{2t^2+1}3 \le 1 + 2t^2$, and moving one of three equal atoms stretches every $W_p$ by at least this; $W_1$ by at least $t^2/2$ over a finite way",
        assumptions=("three equal tokens on the line",),
        spec=("MA.K1",),
        cites=("kim2021",),
        source_status=("seen", "derived", "refereed"),
    ),
    constant("linear", "a row grows like the radius: 1 + 2 sqrt(2) n R, the norms of B and V being one", linear=True),
    hypothesis("one-sided", "both other tokens lie on the same side", side=1.0),
    bug("key-only", "the first token moves as a key and not as a query", query=False),
)
def test_unbounded(run, *, linear=False, side=-1.0, query=True):
    sizes = [
        1.0,
        10.0,
        100.0,
        15.0,
        *(float(rng.uniform(0.1, 40.0)) for rng in run.draws(quick=8, paper=60)),
    ]
    for t in sizes:
        points = np.array([[0.0], [t], [side * t]])
        exact = (2 * Fraction(t) ** 2 + 1) / 3
        push = Push(points, np.array([[1.0], [0.0], [0.0]]), np.ones(3), np.eye(1))
        if not query:  # a query of no mass stands where the token stood
            push = Push(np.vstack([points, [[0.0]]]), np.eye(4, 1), np.array([1.0, 1.0, 1.0, 0.0]), np.eye(1))
        entry = hull(response(push)[0 if query else 3, 0])
        yield equals(entry, exact, t=t)
        ceiling = 1 + 6 * Interval.exactly(2).sqrt() * t if linear else 1 + 2 * Fraction(t) ** 2
        yield at_most(entry, ceiling, t=t, part="row")
        for p in (1.0, 2.0, 4.0, math.inf):
            yield at_least(response_ratio(push, p), exact, t=t, p=p)
    for t, printed in ((1.0, 1), (10.0, 67), (100.0, 6667)):
        points, moved = (np.array([[h], [t], [side * t]]) for h in (0.0, 2.0**-8 / t))
        push = Push(points, np.array([[1.0], [0.0], [0.0]]), np.ones(3), np.eye(1))
        yield equals(hull(response(push)[0, 0]), printed, t=t, part="printed")
        mu, nu = Measure(points), Measure(moved)
        after = w1(*(step(SelfAttention(PLAIN), each.enclosed()) for each in (mu, nu)))
        yield at_least(after / w1(mu, nu), t * t / 2, t=t, part="finite way")


@verifies(
    Claim(
        "dot-product.quadratic",
        "the local norm of dot-product attention grows like the square of the radius",
        r"$X = (0, R, -R)$: $\|dF\|_2/R^2 \to \frac23$; $0.670$ and $0.66670$ at $R = 10, 100$",
        assumptions=("three equal tokens on the line", "$B = V = 1$"),
        spec=("MA.K1",),
        cites=("kim2021",),
        source_status=REFEREED,
    ),
    constant("linear", "the norm grows like the radius", power=1),
    constant("near", "the limit is 0.7", leading=Fraction(7, 10)),
    hypothesis("one-sided", "both other tokens lie on the same side", side=1.0),
)
def test_quadratic(run, *, power=2, leading=Fraction(2, 3), side=-1.0):
    table = run.study(studies.growth).where(part="norm")
    found = {math.sqrt(a): value for a, value in zip(table["alpha"].tolist(), table.intervals("value"), strict=True)}
    if side > 0.0:
        found = {t: norm_at(Measure([[0.0], [t], [t]]), PLAIN, 2) for t in found}
    doubling = [t for t in sorted(found) if math.log2(t).is_integer()]
    yield equals(order([1 / found[t] for t in doubling]), power, scale=1, part="exponent")
    yield equals(limit([found[t] / t**2 for t in doubling], order=2), leading, part="factor")
    for t, digits in ((10.0, "0.670"), (100.0, "0.66670")):
        yield equals(found[t] / t**2, Interval.printed(digits), part="printed", radius=t)


@verifies(
    Claim(
        "dot-product.heavy-tails",
        "under an exponential law dot-product attention is defined for some queries only",
        r"$\mu(dy) = e^{-y}dy$ on $[0, T]$, $c = Bx - 1$: $\mu(e^{Bx\,\cdot}) = \frac{e^{cT} - 1}c$, $T$ at $c = 0$: as $T \to \infty$ it stays below $1/|c|$ if $Bx < 1$, as does the output, and is at least $T$ if $Bx \ge 1$, where the output is at least $T/2$, both with equality at $Bx = 1$",
        assumptions=("one dimension",),
        spec=("MA.K2",),
        cites=("castin2024",),
        source_status=("derived", "refereed on paper"),
    ),
    constant("threshold", "the normaliser is finite up to Bx = 2", least=2.0),
    hypothesis("gaussian", "the tail is Gaussian", squared=True),
    bug("without-law", "the density of the law is forgotten", decay=0.0),
    constant("more", "at Bx = 1 both exceed T and T / 2 by a tenth", full=1.1),
)
def test_heavy_tails(run, *, least=1.0, squared=False, decay=1.0, full=1.0):
    cases = [(b, x) for b in (0.5, 1.0, 2.0) for x in (-1.0, 0.25, 0.5, 0.75, 1.0, 2.0)]
    for b, x in cases:
        c = b * x - 1.0  # exact
        for end in run.pick(quick=(4.0, 32.0), paper=(2.0, 8.0, 32.0, 128.0)):
            mass, first = tilted(b * x - decay, end, squared)
            closed = hull(((ball(c * end)).exp() - 1) / ball(c)) if c else Interval.exactly(end)
            yield equals(mass, closed, B=b, x=x, end=end)
            mean = first / mass
            if b * x < least:
                bound = abs(1 / Interval.exactly(b * x - least))
                yield at_most(mass, bound, B=b, x=x, end=end, part="bounded")
                yield at_most(mean, bound, B=b, x=x, end=end, part="bounded output")
            else:
                yield at_least(mass, end, B=b, x=x, end=end, part="unbounded")
                yield at_least(mean, end / 2, B=b, x=x, end=end, part="unbounded output")
                if not c:
                    yield equals(mass, end * full, B=b, x=x, end=end, part="unbounded")
                    yield equals(mean, end * full / 2, B=b, x=x, end=end, part="unbounded output")


@cache
def tilted(c, end, squared):
    """Enclose the mass and the first moment of exp(c y), or of exp((c + 1) y - y^2 / 2), on [0, end]."""
    rate = ball(c)

    def density(y):
        return ((rate + 1) * y - y * y / 2).exp() if squared else (rate * y).exp()

    return hull(integral_over(density, 0, end)), hull(integral_over(lambda y: y * density(y), 0, end))
