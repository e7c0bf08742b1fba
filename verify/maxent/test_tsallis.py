"""The Tsallis entropies: strictly concave, largest at the uniform law, and smaller the larger the order."""

import numpy as np

from theory.evidence import (
    Claim,
    at_least,
    at_most,
    ball,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    sup_over,
    verifies,
)
from theory.evidence.enclosure import balls, hull
from theory.maxent.sparse import tsallis
from verify import textbook

SOURCES = ("tsallis1988", "blondel2020")
PAPER = ("recalled", "refereed on paper")
ORDERS = (0.25, 0.5, 0.9, 1.0 - 1e-9, 1.0, 1.0 + 1e-9, 1.5, 2.0, 3.0, 6.0)
GRAIN = 2**20  # laws are multiples of its inverse, so they sum to one exactly


def law(rng, n, *, positive):
    """Draw a law of exact sum one, on all of its support if ``positive``."""
    counts = rng.multinomial(GRAIN - n * positive, rng.dirichlet(np.full(n, 0.6))) + positive
    return counts / GRAIN


def deformed_log(p, alpha):
    """The deformed logarithm of positive floats in balls."""
    e = ball(alpha) - 1
    return textbook.log(balls(p)) if alpha == 1.0 else (balls(p) ** e - 1) / e


def printed(p, alpha):
    """The entropy as it is printed, in balls."""
    a = ball(alpha)
    on = balls(p[p > 0.0])
    return -(on * textbook.log(on)).sum() if alpha == 1.0 else (1 - (on**a).sum()) / (a * (a - 1))


@verifies(
    Claim(
        "entmax.concave",
        "the Tsallis entropy is strictly concave: it stays below its tangents by a power of the distance",
        r"$H_\alpha(q) + \langle\nabla H_\alpha(q), p - q\rangle - H_\alpha(p) \ge \frac{1}{r(r-1)}\sum_i|p_i - q_i|^r$, $r = \max(\alpha, 2)$; equality at $\alpha = 2$",
        assumptions=("$\\alpha > 0$", "$q$ in the interior"),
        spec=("RA.D1",),
        cites=SOURCES,
        source_status=("recalled", "derived", "refereed on paper"),
    ),
    constant("more", "one per cent more", factor=1.01),
    hypothesis("below-two", "the power is the order below two as well", least=1.2),
    bug("shannon-slope", "the tangent of every order has Shannon's slope", slope=1.0),
)
def test_concave(run, *, factor=1.0, least=2.0, slope=0.0):
    for rng in run.draws(quick=8, paper=60):
        n = int(rng.integers(2, 8))
        p, q = law(rng, n, positive=False), law(rng, n, positive=True)
        near = q + (2.0**-18) * np.eye(n)[0] - (2.0**-18) * np.eye(n)[int(np.argmax(q[1:])) + 1]
        vertex = np.eye(n)[int(rng.integers(n))]
        for alpha in ORDERS:
            gradient = -deformed_log(q, slope or alpha)  # up to a constant, to which the tangent is blind
            for name, other in (("law", p), ("near", near), ("vertex", vertex)):
                if other.min() < 0.0:
                    continue
                tangent = printed(q, alpha) + (gradient * (balls(other) - balls(q))).sum()
                r = ball(max(alpha, least))
                margin = sum((abs(x) ** r for x in balls(other) - balls(q) if x != 0), ball(0)) / (r * (r - 1))
                size = 1.0 + float(np.abs(np.array([float(g) for g in gradient])).max())
                found = hull(tangent) - tsallis(exact(other), alpha)
                yield at_least(found, factor * margin, scale=size, alpha=alpha, input=name, n=n, part="margin")
                if alpha == 2.0:
                    gap = hull(tangent - printed(other, alpha))
                    yield equals(gap, factor * margin, scale=size, input=name, n=n, part="equality")


@verifies(
    Claim(
        "entmax.entropy",
        "the Tsallis entropy lies between zero, at a vertex, and its value at the uniform law",
        r"$0 \le H_\alpha(p) \le H_\alpha(\mathbf 1/n) = \frac{1 - n^{1-\alpha}}{\alpha(\alpha-1)}$, $\log n$ at 1",
        assumptions=("$\\alpha > 0$", r"$H_\alpha(p) = (1 - \sum_i p_i^\alpha)/(\alpha(\alpha - 1))$"),
        spec=("RA.D1",),
        cites=SOURCES,
        source_status=PAPER,
    ),
    bug("normalisation", "the maximum is that of the entropy divided by alpha - 1 only", power=0),
    constant("less", "the maximum is one in a thousand less", factor=0.999),
    hypothesis("one-token-less", "one of the tokens is masked", masked=1),
)
def test_entropy(run, *, power=1, factor=1.0, masked=0):
    for number, rng in enumerate(run.draws(quick=10, paper=80)):
        few = 2 ** int(rng.integers(1, 8))
        for alpha in ORDERS:
            n = few if number or alpha != 1.5 else 2**17
            a, m = ball(alpha), ball(n - masked)
            top = hull(factor * (m.log() if alpha == 1.0 else (1 - m ** (1 - a)) / (a**power * (a - 1))))
            size = 1.0 + top.hi
            yield equals(tsallis(exact(np.full(n, 1.0 / n)), alpha), top, scale=size, alpha=alpha, n=n, input="uniform")
            vertex = exact(np.append(1.0, np.zeros(n - 1)))
            yield equals(tsallis(vertex, alpha), 0, scale=size, alpha=alpha, n=n, input="vertex")
            found = tsallis(exact(law(rng, n, positive=False)), alpha)
            yield at_most(found, top, scale=size, alpha=alpha, n=n, input="law")
            yield at_least(found, 0, scale=size, alpha=alpha, n=n, input="law")


@verifies(
    Claim(
        "entmax.entropy-order",
        "order times Tsallis entropy does not increase with the order, hence neither does the entropy",
        r"$\alpha < \beta \Rightarrow \beta H_\beta(p) \le \alpha H_\alpha(p)$: $\partial_\alpha\frac{1 - e^{-(\alpha-1)v}}{\alpha-1} = \frac{e^{-y}(1 + y - e^y)}{(\alpha-1)^2} \le 0$ at $v = -\log p_i$, $y = (\alpha-1)v$",
        assumptions=("$\\alpha > 0$",),
        spec=("RA.D1",),
        cites=("tsallis1988",),
        source_status=("derived", "refereed on paper"),
    ),
    bug("un-normalised", "the same for 1 - sum p^alpha, which is order times (order - 1) times the entropy", bare=True),
    constant("square", "the square of the order times the entropy does not increase either", power=2),
)
def test_entropy_order(run, *, bare=False, power=1):
    # of (1 - exp(-(alpha - 1) v))/(alpha - 1) without a positive factor, and of 1 - exp(-alpha v)
    slope = "y*exp(-y)" if bare else "1 + y - exp(y)"
    yield at_most(sup_over(slope, y=(-8, 60), tolerance=1e-5), 0, scale=1, part="slope of a summand")
    laws = [np.array([0.5, 0.5]), np.eye(3)[0]]
    laws += [law(rng, int(rng.integers(2, 40)), positive=False) for rng in run.draws(quick=12, paper=200)]
    for p in laws:
        weighed = [
            alpha**power * (alpha - 1.0 if bare else 1.0) * tsallis(exact(p), alpha)
            for alpha in ORDERS
            if not bare or alpha > 1
        ]
        for alpha, here, there in zip(ORDERS, weighed, weighed[1:], strict=False):
            # neighbours in the order may differ by less than their rounding
            yield at_most(there - here, 0, scale=1.0 + p.size**0.75, alpha=alpha, n=p.size)
