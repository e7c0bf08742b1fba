"""Continuous attention of order below one: Student densities, and which of their integrals are finite."""

from fractions import Fraction
from functools import cache

import numpy as np
import sympy

from theory.evidence import (
    Claim,
    at_least,
    at_most,
    ball,
    bug,
    constant,
    equals,
    hypothesis,
    sup_over,
    verifies,
    zero,
)
from theory.maxent import BetaGaussian
from verify.maxent.test_continuous_attention import SOURCES, eliminated, mahalanobis, pi, radial, scatters, sphere
from verify.textbook import hull

PAPER = ("recalled", "refereed on paper")
ORDERS = {1: (0.2, 0.5, 0.75, 0.9), 2: (0.3, 0.5, 0.9), 3: (0.5, 0.7), 5: (0.65, 0.9)}


def freedoms(alpha, dim):
    """The degrees of freedom that belong to an order."""
    return 2 / (1 - Fraction(alpha)) - dim


@verifies(
    Claim(
        "density.student",
        "below order one a quadratic score gives a Student density",
        r"$0 < \alpha < 1$: $p = [(1-\alpha)(A-f)]^{-1/(1-\alpha)}$ is Student's density with $\nu = \frac2{1-\alpha} - d$ degrees of freedom, of mass one, with covariance $\frac{\nu}{\nu-2}s^2\Sigma$ if $\nu > 2$",
        assumptions=(r"$\alpha > 1 - \frac2d$", "positive definite scatter"),
        spec=("RA.F1", "RA.F3"),
        cites=(*SOURCES, "desouza1997"),
        source_status=PAPER,
    ),
    constant("plain", "it has 1/(1 - alpha) degrees of freedom", freedom=lambda alpha, _: 1 / (1 - Fraction(alpha))),
    hypothesis(
        "line",
        "the dimension does not count: 2/(1 - alpha) - 1 everywhere",
        freedom=lambda alpha, _: freedoms(alpha, 1),
    ),
    bug("scale", "the scatter itself is the scale of the Student density", scaled=False),
    constant("squared-scale", "the covariance is the squared scale, as of the Gaussian", shrunk=lambda _: 1),
)
def test_student(run, *, freedom=freedoms, scaled=True, shrunk=lambda nu: nu / (nu - 2)):
    cases = [(BetaGaussian([0.0], [[1.0]], 0.5), next(run.streams(1)))]
    for _ in range(run.pick(quick=1, paper=8)):
        for (dim, orders), rng in zip(ORDERS.items(), run.streams(len(ORDERS)), strict=True):
            cases += [(BetaGaussian(rng.normal(size=dim), scatters(rng, dim)[1], alpha), rng) for alpha in orders]
    for number, (law, rng) in enumerate(cases):
        d = law.dim
        case = {"d": law.dim, "alpha": law.alpha, "law": number}
        nu = ball(freedom(law.alpha, d))
        det = ball(eliminated(law.scatter, law.mean)[0])
        unit = (((nu + d) / 2).lgamma() - (nu / 2).lgamma()).exp() / ((nu * pi()) ** (d / ball(2)) * np.sqrt(det))
        # stationarity: the peak to the power alpha - 1 = -2 / (nu + d) fixes the square of the scale
        square = ((nu + d) / nu) ** ((nu + d) / nu) * unit ** (-2 / nu) if scaled else ball(1)
        peak = unit / square ** (d / ball(2))
        whole = radial(d - 1, nu / 2 - 1)
        rest = sphere(d) * det.sqrt() * (nu * square) ** (d / ball(2)) * whole  # of the mass, beside the peak
        yield equals(law.enclosed().density(law.mean) * hull(rest), 1, part="mass", **case)
        for stretch in (0.0, *rng.exponential(2.0, size=3)):
            way = rng.normal(size=d)
            x = law.mean + stretch * way
            claimed = peak * (1 + ball(mahalanobis(law, x)) / (nu * square)) ** (-(nu + d) / 2)
            yield equals(law.enclosed().density(x), claimed, scale=peak, part="density", **case)
        if freedoms(law.alpha, d) > 2 and nu > 2:
            factor = shrunk(nu) * square
            second = nu * square * radial(d + 1, nu / 2 - 2) / whole / d
            yield equals(second, factor, part="covariance", **case)
            shares = np.diagonal(law.enclosed().covariance()) / np.diagonal(law.scatter)
            yield equals(shares, factor, part="its entry", **case)


def refused(ask):
    """Tell whether an instrument says that there is no such number."""
    try:
        ask()
    except ValueError:
        return 1
    return 0


# by what a doubling of the radius multiplies r^k (1 + r^2)^-m dr, as a logarithm: k + 1 doublings and (1 + r^2)/(1 + 4 r^2)
# to the power m, which falls to 1/4 as u = 1/r^2 falls to zero. No octave then adds less than the one before if this is
# at least 0 in the limit, and all from some u on are below a geometric series if it is negative there
OCTAVE = "{sign}({doublings}*log(2) + m*log(1 - 3/(4 + {u})))"
INTEGRALS = {  # k + 1 - d, and the power m of an order
    "mass": (0, lambda a: 1 / (1 - a)),
    "second moment": (2, lambda a: 1 / (1 - a)),
    "objective": (0, lambda a: a / (1 - a)),
}
SLOPE = Fraction(1, 1000)
FAR = "1/1048576"


@cache
def largest(sign, doublings, powers, u):
    """Enclose the largest logarithm, or minus it, for powers in a range."""
    return sup_over(OCTAVE.format(sign=sign, doublings=doublings, u=u), m=powers)


@verifies(
    Claim(
        "density.tails",
        "below order one mass needs one threshold, covariance and objective a higher one",
        r"$\int(A-f)^{-1/(1-\alpha)} < \infty$ iff $\alpha > 1 - \frac2d$; $\int |x|^2p$, $\int p^\alpha$ and $\int pf$ finite iff $\alpha > \frac d{d+2}$: with $t$ the threshold, an octave of $r$ adds $2^{2(t-\alpha)/((1-t)(1-\alpha))}$ times the one before or more, and this in the limit",
        assumptions=(
            "quadratic score; any dimension, proved by algebra",
            "also $d = 1, 2, 3, 5$, all orders of a box: up to the threshold no octave adds less than the one before, and beyond it by 1/1000, up to 0.99, each adds less by 1/1000 from radius 1024 on",
        ),
        spec=("RA.F3",),
        cites=(*SOURCES, "desouza1997"),
        source_status=PAPER,
    ),
    hypothesis("one-threshold", "a density that is normalisable has a covariance", second=lambda d: 1 - 2 / d),
    constant(
        "near",
        "the covariance is finite from d/(d + 2) + 1/100 on only",
        second=lambda d: d / (d + 2) + Fraction(1, 100),
    ),
    constant("line", "every order is normalisable, as on the line", first=lambda d: 0 * d),
    constant("later", "mass is finite from 1 - 2/d + 1/100 on only", first=lambda d: 1 - 2 / d + Fraction(1, 100)),
)
def test_tails(run, *, first=lambda d: 1 - 2 / d, second=lambda d: d / (d + 2)):
    thresholds = {"mass": first, "second moment": second, "objective": second}
    dim, a = sympy.symbols("d a", positive=True)
    for part, (more, power) in INTEGRALS.items():
        t = thresholds[part](dim)
        limit = dim + more - 2 * power(a)
        claimed = 2 * (t - a) / ((1 - t) * (1 - a))  # to base two, at u = 0
        yield equals(zero(limit - claimed, {dim: 5, a: sympy.Rational(2, 3)}), 0, scale=1, part=part)
        for d in (1, 2, 3, 5):
            least = thresholds[part](Fraction(d))
            if least > 0:
                slowest = -largest("-", d + more, (power(Fraction(0)), power(least)), 0)
                yield at_least(slowest, 0, scale=1, part=part, d=d, side="infinite")
            beyond = power(max(least, Fraction(0)) + SLOPE), power(Fraction(99, 100))
            yield at_most(largest("", d + more, beyond, FAR), -SLOPE, scale=1, part=part, d=d, side="finite")
    for d in (1, 2, 3, 5):
        for alpha in sorted({Fraction(k, 50) for k in range(1, 50)} | {Fraction(d, d + 2), 1 - Fraction(2, d)}):
            if alpha <= 0:
                continue
            law = (np.zeros(d), np.eye(d), float(alpha))
            case = {"d": d, "alpha": float(alpha)}
            lowest = first(Fraction(d))
            least = max(first(Fraction(d)), second(Fraction(d)))
            yield equals(
                refused(lambda law=law: BetaGaussian(*law)), int(alpha <= lowest), scale=1, part="density", **case
            )
            for part in ("covariance", "entropy"):
                answer = refused(lambda law=law, part=part: getattr(BetaGaussian(*law), part)())
                yield equals(answer, int(alpha <= least), scale=1, part=part, **case)
