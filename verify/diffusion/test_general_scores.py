"""Attention with a score that is no distance: a layer relabels, and drifts to first order in the bandwidth."""

import math
from fractions import Fraction
from functools import cache

import numpy as np

from theory.attention import attend, rounding
from theory.diffusion import GeneralScore, studies
from theory.diffusion.limits import divide_series, extrapolate, laplace_series, largest_errors, read_levels
from theory.evidence import (
    Claim,
    Interval,
    at_most,
    ball,
    bug,
    constant,
    equals,
    exact,
    hull,
    hypothesis,
    limit,
    order,
    verifies,
)
from theory.evidence.enclosure import variable
from theory.evidence.quadrature import integral_over

RUAN = ("ruan2024", "wong2001")
START = Fraction(1, 50)
BETA = Fraction(3, 5)


def circle(x):
    """The minimiser a(x) and f, log p and h as functions of a ball or a series, of the score of the study."""
    x = ball(x)
    place, stiffness = x + ball(Fraction(4, 5)) + x.sin() * 2 / 5, (3 + x.cos()) / 2

    def f(v):
        return stiffness * (2 - 2 * v.cos()) * (1 + v.sin() * 3 / 5)

    return place, f, lambda y: y.cos() * 4 / 5 + (2 * y).sin() * 3 / 10, lambda y: y.sin() + (2 * y).cos() / 2


@cache
def certified(x, level, *, half=False):
    """P h(x) in balls at the bandwidth 2^-level / 50, over the circle or, with ``half``, the keys past the minimiser."""
    place, f, log_p, h = circle(x)
    rate = 2**level / (2 * ball(START))
    turn = ball(-1).acos()

    def weight(v):
        return (log_p(place + v) - f(v) * rate).exp()

    ends = (ball(0), turn) if half else (-turn, turn)
    return integral_over(lambda v: h(place + v) * weight(v), *ends) / integral_over(weight, *ends)


def changes(x, levels, *, half=False):
    """(P h(x) - h(y*)) / eps, coarse to fine."""
    place, _, _, h = circle(x)
    return hull(np.array([(certified(x, k, half=half) - h(place)) * 2**k / ball(START) for k in range(levels)]))


def taylor(x, length=9):
    """Taylor coefficients about the minimiser of f, of p and of h p, in balls."""
    place, f, log_p, h = circle(x)
    t = variable(length)[()]
    p = log_p(place + t).exp()
    return f(t), p, h(place + t) * p


def stated(x, *, drift=2, cubic=1, printed=False):
    """The first-order coefficient as it is stated, in balls; ``printed`` divides two of its terms by the mass m_0."""
    place, _, _, _ = circle(x)
    x = ball(x)
    c, d = 3 + x.cos(), 3 * ball(BETA) * (3 + x.cos())  # of 2 kappa (v^2 / 2 + beta v^3 / 2 + ...)
    slope = -place.sin() * 4 / 5 + (2 * place).cos() * 3 / 5
    first = place.cos() - (2 * place).sin()
    second = -place.sin() - 2 * (2 * place).cos()
    plain = (second + drift * slope * first) / c
    mass = (4 * ball(-1).acos() / c).sqrt() if printed else ball(1)
    return plain / mass - cubic * d / c**2 * first


def expansion(x, terms):
    """The coefficients of P h(x) in the bandwidth, by the moments of the Gaussian, in balls."""
    f, p, hp = taylor(x)
    return divide_series(laplace_series(f, hp, terms), laplace_series(f, p, terms))


def spots(run):
    return run.pick(quick=(0.5,), paper=(0.5, 2.0, 4.0, 5.5))


@verifies(
    Claim(
        "score.relabelling",
        "with one minimiser per query a layer is a relabelling: what it returns tends to the value there, at order one",
        r"$P_\varepsilon h(x) = h(y_*(x)) + O(\varepsilon)$, $y_*(x) = \arg\min_yf(x, y)$: on the circle with $f = 4\kappa\sin^2\frac v2(1 + \beta\sin v)$, $v = y - x - 0.8 - 0.4\sin x$",
        assumptions=("one minimiser, with a Hessian that is not degenerate", "p positive and smooth"),
        spec=("DL.D1",),
        cites=RUAN,
        source_status=("seen",),
    ),
    constant("step", "the limit is h(x): a layer is a small step", relabelled=lambda x: x),
    bug("maximiser", "the limit is the value opposite to the minimiser", turned=math.pi),
    hypothesis("flat", "the Hessian vanishes: f is squared", study=(("flat", True),)),
)
def test_relabelling(run, *, relabelled=lambda x: x + 0.8 + 0.4 * np.sin(x), turned=0.0, study=()):
    table = run.study(studies.scores, **dict(study)).where(part="circle")
    places, (_, levels) = table.levels("x"), read_levels(table, "value")
    ends = relabelled(exact(places)) + turned
    truth = np.sin(ends) + 0.5 * np.cos(2.0 * ends)
    for at, x in enumerate(places):
        yield equals(limit(levels[:, at], order=1), truth[at], scale=1, x=round(x, 3))
    yield equals(order(largest_errors(levels, truth)), 1, scale=1, part="order")


@verifies(
    Claim(
        "score.first-order",
        "what a layer adds to the relabelling, to first order: a diffusion, twice the drift of the density, and a cubic drift",
        r"$P_\varepsilon h(x) = h(y_*) + \varepsilon\big[C^{kl}\partial_k\partial_lh + 2C^{kl}\partial_k\log q\,\partial_lh - d_{klm}C^{kl}C^{mi}\partial_ih\big] + O(\varepsilon^2)$, $C = (\partial_y^2f)^{-1}$, $d = \partial_y^3f$ at $y_*$",
        remark="orders 1, 2 and 3 after no, one and two extrapolations",
        assumptions=(
            "one minimiser, with a Hessian that is not degenerate",
            "p positive and smooth",
            "d = 1 here",
            "orders from the four finest bandwidths, as few as there may be: coarser ones are not yet asymptotic",
        ),
        spec=("DL.D2",),
        cites=RUAN,
        source_status=("seen", "derived", "refereed"),
    ),
    bug("printed", "the terms with C are divided by m_0 = sqrt(4 pi / c), as printed", printed=True),
    hypothesis("even", "the score is taken to be even about its minimiser: no cubic drift", cubic=0),
    constant("drift", "the drift of the density is taken once", drift=1),
)
def test_first_order(run, *, printed=False, cubic=1, drift=2):
    changed = {"printed": printed, "cubic": cubic, "drift": drift}
    for x in spots(run):
        truth = stated(x, **changed)
        levels = changes(x, run.pick(quick=9, paper=11))[:, np.newaxis]
        for k in (1, 2, 3):
            yield equals(order(largest_errors(levels, [truth])[-4:]), k, scale=1, x=x, extrapolations=k - 1)
            levels = extrapolate(levels, order=k)
        _, first = expansion(x, 2)
        yield equals(first, truth, scale=1, x=x, part="moments of the Gaussian")
    table = run.study(studies.scores).where(part="circle")
    for x in table.levels("x"):
        here, (place, _, _, h) = table.where(x=x), circle(x)
        read = (here["value"] - hull(h(place))) / here["epsilon"]
        yield equals(limit(read, order=1), stated(x, **changed), scale=1, x=round(x, 3), part="engine")


@verifies(
    Claim(
        "score.remainder",
        "the remainder is of order two, not three halves, with its coefficient",
        r"$P_\varepsilon h - h(y_*) - \varepsilon Ah = \varepsilon^2B + O(\varepsilon^3)$: odd moments vanish; B from the moments of the Gaussian",
        assumptions=("one minimiser, with a Hessian that is not degenerate, in the interior", "p positive and smooth"),
        spec=("DL.D2",),
        cites=RUAN,
        source_status=("derived",),
    ),
    constant("printed", "the remainder is of order 3/2", power=Fraction(3, 2)),
    hypothesis("edge", "the minimiser lies on the boundary: keys on one side only", half=True),
    bug("first", "the square of the first-order term is left out of the quotient", squared=0),
)
def test_remainder(run, *, power=2, half=False, squared=1):
    for x in spots(run):
        _, first, second = expansion(x, 3)
        below = laplace_series(*taylor(x)[:2], 3)
        claimed = second - (1 - squared) * first * below[1] / below[0]
        values = changes(x, run.pick(quick=9, paper=11), half=half)
        epsilons = float(START) * 0.5 ** np.arange(len(values))
        left = values - hull(first)
        yield equals(order(left * epsilons), power, scale=1, x=x, part="order")
        yield equals(limit(left / epsilons, order=1), claimed, scale=1, x=x, part="coefficient")


@verifies(
    Claim(
        "score.rounding",
        "what a dissimilarity is off, over twice the bandwidth, moves an output by no more than the error that is published for it, and by a quarter of that at a witness",
        r"$|\tilde f - f| \le \delta$: outputs differ by no more than the published error of the score $-f/2\varepsilon$",
        remark=r"two keys of the values $\pm1$, one $\delta$ too near and one too far, return $\tanh\frac\delta{2\varepsilon}$ for 0, a quarter of it but for second order; $\delta = 10^{-3}\varepsilon$",
        assumptions=("finitely many keys", r"$\varepsilon = 10^{-12}, 10^{-3}, 1$"),
        spec=("DL.D1",),
        cites=RUAN,
        source_status=("derived",),
    ),
    constant("fifth", "the error is a fifth of what is published", factor=Fraction(1, 5)),
    bug("unscaled", "the error of f is taken for that of the score", scaled=lambda epsilon: 2.0 * epsilon),
    constant("whole", "the witness moves by tanh of delta over epsilon", halves=1),
    hypothesis("larger", "values are five times as large", size=5.0),
)
def test_rounding(run, *, factor=1, scaled=lambda _: 1.0, halves=2, size=1.0):
    witness = np.array([[1.0], [-1.0]])
    for number, rng in enumerate([None, *run.draws(quick=3, paper=40)]):
        keys = witness if rng is None else rng.normal(size=(12, 1))
        values = np.sign(keys)
        for epsilon in (1e-12, 1e-3, 1.0):
            delta = 1e-3 * epsilon
            query = exact([[0.0]])
            plain = GeneralScore(zero, epsilon)
            moved = GeneralScore(lambda _, y, off=delta: -off * np.sign(y[..., 0]), epsilon)
            before, after = (attend(query, keys, size * values, score=score)[0, 0] for score in (plain, moved))
            apart = abs(after - before)
            inexact = GeneralScore(zero, epsilon, delta * scaled(epsilon))
            published = Interval.exactly(rounding([[0.0]], keys, values, score=inexact))
            yield at_most(apart, factor * published, keys=number, epsilon=epsilon, part="published")
            if number == 0:
                turned = (ball(delta) / (halves * ball(epsilon))).tanh()
                yield equals(apart, turned, epsilon=epsilon, part="witness")


def zero(_, y):
    """The dissimilarity that vanishes."""
    return 0.0 * y[..., 0]
