"""Tokens on the circle at inverse temperature zero: Möbius invariants, Poisson kernels, and limits that do not commute."""

import math
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import sympy

from theory.evidence import Claim, Interval, ball, bug, constant, equals, exact, hypothesis, limit, verifies
from theory.evidence.enclosure import variable
from theory.evidence.quadrature import integral_over
from theory.evidence.roundoff import U
from theory.evidence.symbolic import zero
from theory.particles import CircleField, flow, studies
from theory.particles.exact import (
    cross_ratio_rates,
    cross_ratios,
    distance_to_consensus,
    mean_overlap,
    poisson_quantiles,
    rate_of_approach,
)
from theory.particles.studies import settings
from verify.textbook import hull

STARTED = Fraction(1, 9)  # r^2 / (1 - r^2) at time zero, for r^2 = 1/10


def one(value=1):
    """A number as a ball."""
    return ball(value)


def logarithm(value):
    """The logarithm of a positive interval."""
    return Interval(hull(one(value.lo).log()).lo, hull(one(value.hi).log()).hi, value.kind)


def radius_at(t, pace=1):
    """The radius of the mean field at time t, a ball."""
    grown = one(STARTED) * (one(t) * one(pace)).exp()
    return (grown / (1 + grown)).sqrt()


def sinh(x):
    return (x.exp() - (-x).exp()) / 2


def cosh(x):
    return (x.exp() + (-x).exp()) / 2


def finite(n, width):
    """Mean cosine and squared distance of n quantiles at r = exp(-width), balls or power series."""
    half = one(Fraction(n, 2)) * width
    return cosh(half - width) / cosh(half), 4 * sinh(half - width / 2) * sinh(width / 2) / cosh(half)


NAMED = np.array([[0.0], [1.0], [2.0], [3.5], [4.5], [-1.0]])


@verifies(
    Claim(
        "solvable.cross-ratios",
        "without inverse temperature all cross-ratios of the tokens are conserved, whatever their masses",
        r"$\frac{d}{dt}\log\frac{\sin\frac{\theta_1 - \theta_3}2\sin\frac{\theta_2 - \theta_k}2}{\sin\frac{\theta_1 - \theta_k}2\sin\frac{\theta_2 - \theta_3}2} = 0$ for $\dot\theta_i = \sum_j m_j\sin(\theta_j - \theta_i)$, $k = 4, \dots, n$",
        assumptions=("beta = 0", "d = 2"),
        spec=("FR.F17",),
        cites=("watanabe1994",),
        source_status=("recalled", "derived", "refereed"),
    ),
    hypothesis("warm", "the inverse temperature is 1/10", beta=0.1),
    hypothesis("one", "the inverse temperature is 1", beta=1.0),
    bug("whole-angles", "the sines are of angles, not of their halves", factor=2.0),
)
def test_cross_ratios(run, *, beta=0.0, factor=1.0):
    cases = [(NAMED, None)]
    for rng in run.draws(quick=8, paper=200):
        n = int(rng.integers(4, 13))
        cases.append((rng.uniform(-math.pi, math.pi, (n, 1)), rng.dirichlet(np.ones(n)) if rng.integers(2) else None))
    for number, (angles, masses) in enumerate(cases):
        theta = exact(angles)
        velocity = CircleField(beta, weights=masses)(theta)
        rates = cross_ratio_rates(factor * theta, factor * velocity)
        yield equals(rates, 0, scale=1, part="rate", number=number, n=len(theta))
    path = flow(CircleField(beta), NAMED, [0.0, 1.0, 2.0, 4.0], rtol=1e-12)
    for k in range(NAMED.shape[0] - 3):
        before, *later = path.observe(lambda theta, k=k: float(np.log(np.abs(cross_ratios(factor * theta)[k]))))
        for t, found in zip((1, 2, 4), later, strict=True):
            yield equals(found - before, 0, scale=1, part="path", t=t, token=k + 4)


@verifies(
    Claim(
        "solvable.poisson-kernel",
        "the mean field takes Poisson kernels to Poisson kernels, with a radius in closed form",
        r"$\partial_tp_r = \partial_\theta(p_r\,r\sin\theta)$ iff $\dot r = \tfrac12r(1 - r^2)$, hence $\frac{r^2}{1 - r^2} = \frac{r_0^2}{1 - r_0^2}e^t$; $\int e^{i\theta}p_r = r$ and $W_2(p_r, \delta_0) = \sqrt{2(1 - r)}$ in chordal distance",
        assumptions=("beta = 0", "d = 2"),
        spec=("FR.F17",),
        cites=("ott2008",),
        source_status=("derived", "refereed"),
    ),
    constant("whole", "r' = r (1 - r^2), without the half", half=1),
    constant("half-time", "r^2 / (1 - r^2) grows like exp(t / 2)", pace=Fraction(1, 2)),
    constant("square", "the mean is r^2, and W_2 the square root of 2 (1 - r^2)", power=2),
    hypothesis("one-mode", "the law is 1 + 2 r cos, with the same mean but no Poisson kernel", kernel=False),
)
def test_poisson_kernel(run, *, half=Fraction(1, 2), pace=1, power=1, kernel=True):
    r, angle = sympy.symbols("r theta", positive=True)
    density = (1 - r**2) / (1 - 2 * r * sympy.cos(angle) + r**2) if kernel else 1 + 2 * r * sympy.cos(angle)
    moving = sympy.Rational(half) * r * (1 - r**2)
    residual = sympy.diff(density, r) * moving - sympy.diff(density * r * sympy.sin(angle), angle)
    point = {r: sympy.Rational(1, 2), angle: sympy.Rational(1, 3)}
    yield equals(zero(residual, point), 0, scale=1, part="transport")
    for start in run.pick(quick=(-1, 3), paper=(-4, -1, 0, 3, 8)):
        t = variable(12)[()]
        grown = one(STARTED) * ((t + start) * one(pace)).exp()
        radius = (grown / (1 + grown)).sqrt()
        wanted = radius * (1 - radius * radius) * one(half)
        for k in range(10):
            yield equals(hull((k + 1) * radius[k + 1] - wanted[k]), 0, scale=1, part="series", start=start, k=k)
    pi = 4 * one().atan()
    for size in (Fraction(1, 4), Fraction(3, 4)):
        p = one(size)

        def law(x, p=p):
            return (1 - p**2) / (1 - 2 * p * x.cos() + p**2) / pi if kernel else (1 + 2 * p * x.cos()) / pi

        yield equals(hull(integral_over(lambda x, law=law: x.cos() * law(x), 0, pi)), size**power, part="mean")
        square = hull(integral_over(lambda x, law=law: (2 - 2 * x.cos()) * law(x), 0, pi))
        yield equals(square.sqrt(), hull((2 * (1 - p**power)).sqrt()), part="distance", r=str(size))


def many(run, *, few):
    """The run of most tokens, or of 64, up to time 8: at 20 001 quantiles r^n is below exp(-30) all the way."""
    table = run.study(studies.approach).where(part="grid")
    part = table.where(n=64 if few else int(table["n"].max()))
    columns = [part.intervals(name)[:9] for name in ("overlap", "distance", "rate")]
    return list(zip(part["t"].tolist(), *columns, strict=False))


@verifies(
    Claim(
        "solvable.radius",
        "tokens at quantiles follow the closed form of the mean field: radius, distance to consensus and its rate",
        r"$r(t)$, $W_2(t) = \sqrt{2(1 - r(t))}$ and $\frac{d}{dt}\log W_2 = -\tfrac14r(1 + r)$ from $\frac{r^2}{1 - r^2} = \frac19e^t$ up to $t = 8$",
        assumptions=("beta = 0", "d = 2", "n = 20 001 tokens, or 10^6 at paper scale"),
        spec=("FR.F17",),
        cites=("ott2008",),
        source_status=("derived", "refereed"),
    ),
    constant("pace", "r^2 / (1 - r^2) grows at the rate 1.01", pace=Fraction(101, 100)),
    bug("half", "the rate of r' = r (1 - r^2), which forgets a half", pace=2),
    hypothesis("few", "there are 64 tokens", few=True),
)
def test_radius(run, *, pace=1, few=False):
    for t, overlap, distance, rate in many(run, few=few):
        r = radius_at(t, pace)
        yield equals(overlap, hull(r), part="radius", t=t)
        yield equals(distance, hull((2 * (1 - r)).sqrt()), part="distance", t=t)
        yield equals(rate, hull(-r * (1 + r) * one(pace) / 4), part="rate", t=t)


@verifies(
    Claim(
        "solvable.mean-field-rate",
        "the mean field approaches consensus at the rate 1/2 in the distance W2",
        r"$\frac{\log W_2(t + 1) - \log W_2(t)}1 \to -\tfrac12$ and $\frac{d}{dt}\log W_2 \to -\tfrac12$, over $t \le 8$, far below $\log n$",
        assumptions=("beta = 0", "d = 2", "n = 20 001 tokens, or 10^6 at paper scale"),
        spec=("FR.F17",),
        cites=("ott2008",),
        source_status=("derived", "refereed"),
    ),
    constant("finite", "the rate 1 of finitely many tokens", rate=-1),
    constant("near", "the rate 0.49", rate=-0.49),
    bug("squared", "the rate of the square of the distance", power=2),
    hypothesis("few", "there are 64 tokens", few=True),
)
def test_mean_field_rate(run, *, rate=-0.5, power=1, few=False):
    _, _, distances, rates = zip(*many(run, few=few), strict=True)
    slopes = [logarithm(after) - logarithm(before) for before, after in pairwise(distances)]
    printed = ("-0.3324", "-0.4166", "-0.4645", "-0.4861")  # the closed form over the windows from t = 2 to t = 6
    for t, slope, digits in zip(range(2, 6), slopes[2:], printed, strict=False):
        yield equals(slope, Interval.printed(digits), part="window", t=t)
    yield equals(power * limit(slopes[2:], ratio=math.e, order=1), rate, part="limit of slopes")
    yield equals(power * limit(rates[2:], ratio=math.e, order=1), rate, part="limit of rates")


def spaced(n, shift):
    """Half angles at equal distances, up to a shift."""
    return np.pi * (np.arange(1, n + 1) - shift - 0.5 * n) / n


@cache
def moving(n, radius, beta, shift):
    """Tokens, their velocities, and what is seen of them: mean, distance and rate."""
    angles = 2.0 * np.arctan((1.0 - radius) / (1.0 + radius) * np.tan(spaced(n, shift)))[:, np.newaxis]
    if shift == 0.5:
        angles = poisson_quantiles(n, radius)
    velocity = exact(CircleField(beta)(angles))
    theta = exact(angles)
    return angles, velocity, (mean_overlap(theta), distance_to_consensus(theta), rate_of_approach(theta, velocity))


@verifies(
    Claim(
        "solvable.finite",
        "quantiles of a Poisson kernel remain such quantiles for any number of tokens: one equation says all",
        r"$\frac1n\sum_je^{i\theta_j} = M_n = \frac{r + r^{n - 1}}{1 + r^n}$, $\dot\theta_j = -M_n\sin\theta_j$, $\dot r = \tfrac12(1 - r^2)M_n$, $W_2^2 = 4\sinh\frac{(n - 1)\lambda}2\sinh\frac\lambda2\big/\cosh\frac{n\lambda}2$ with $r = e^{-\lambda}$",
        assumptions=("beta = 0", "d = 2", "tokens at the (j - 1/2)/n quantiles"),
        spec=("FR.F17",),
        cites=("watanabe1994",),
    ),
    constant("mean-field", "the mean is r, as for infinitely many tokens", infinite=True),
    constant("whole", "r' = (1 - r^2) M, without the half", half=1),
    hypothesis("warm", "the inverse temperature is 1/100", beta=0.01),
    bug("left-ends", "tokens lie at the (j - 1)/n quantiles", shift=1.0),
)
def test_finite(run, *, infinite=False, half=Fraction(1, 2), beta=0.0, shift=0.5):
    for n in run.pick(quick=(2, 3, 8, 33, 100_000), paper=(2, 3, 4, 8, 33, 100, 301, 1000, 100_000)):
        uniform = spaced(n, shift)
        for radius in (0.25, 0.5, 0.9, 0.99):
            # a mean of n cosines rounds less than slack
            angles, velocity, seen = moving(n, radius, beta, shift)
            r = one(radius)
            width = -r.log()
            t = variable(3)[()]
            mean, square = finite(n, width)
            slope = -finite(n, width + t)[1][1] / square * sinh(width) * mean / 2
            if infinite:
                mean = r
                square = 2 * (1 - r)
            # the angles are known to a rounding, (1 + r) / (1 - r) times that of what they are made of
            slack = (n + 128) * U / (1.0 - radius)
            case = {"n": n, "radius": radius}
            for name, found, claimed, error in (
                ("mean", seen[0], mean, slack),
                ("distance", seen[1], square.sqrt(), slack),
                ("rate", seen[2], slope, 4.0 * slack / hull(square).lo),
            ):
                yield equals(found + Interval(-error, error), hull(claimed), scale=1, part=name, **case)
            for j in sorted({0, n // 2, n - 1}):
                known = ball(angles[j, 0])
                moved = velocity[j, 0] + Interval(-slack, slack)
                yield equals(moved, hull(-mean * known.sin()), scale=1, part="velocity", token=j, **case)
                tangent = ball(uniform[j]).tan()
                angle = 2 * ((1 - r - t) / (1 + r + t) * tangent).atan()
                turning = hull(
                    angle[1] * (1 - r**2) * one(half) + angle[0].sin()
                )  # d theta / d r times r' is -M sin theta
                yield equals(turning, 0, scale=1, part="motion", token=j, **case)


@verifies(
    Claim(
        "solvable.finite-rate",
        "any finite number of tokens approaches consensus at the rate 1, twice that of the mean field",
        r"$\frac{d}{dt}\log W_2 \to -1$ as $t \to \infty$ for every $n \ge 2$, from the equation of solvable.finite by algebra and on trajectories of $n = 8, 64, 512, 4096$ quantiles: the limits $n \to \infty$ and $t \to \infty$ do not commute",
        assumptions=("beta = 0", "d = 2", "tokens at the quantiles of a Poisson kernel"),
        spec=("FR.F17",),
        cites=("watanabe1994",),
    ),
    constant("mean-field", "the rate of the mean field, 1/2", rate=Fraction(-1, 2)),
    constant("near", "the rate 0.99", rate=Fraction(-99, 100)),
    hypothesis("before", "time is taken before the logarithm of n", late=-4),
)
def test_finite_rate(run, *, rate=Fraction(-1), late=4):
    n, width = sympy.symbols("n lambda", positive=True)
    square = 4 * sympy.sinh((n - 1) * width / 2) * sympy.sinh(width / 2) / sympy.cosh(n * width / 2)
    mean = sympy.cosh((n / 2 - 1) * width) / sympy.cosh(n * width / 2)
    falling = -sympy.sinh(width) * mean * sympy.diff(sympy.log(square), width) / 2  # the width falls by sinh times M
    end = sympy.limit(falling, width, 0) - sympy.Rational(rate)
    yield equals(zero(end, {n: sympy.Integer(3)}), 0, scale=1, part="any number")
    table = run.study(studies.approach).where(part="grid")
    for n in settings.FEW:
        first = max(round(math.log(n)) + late, 0)
        part = table.where(n=n)
        rates = part.intervals("rate")[first : first + 5]
        yield equals(limit(rates, ratio=math.e, order=2), rate, part="limit of rates", n=n)
        ends = [logarithm(distance) for distance in part.intervals("distance")[first : first + 6]]
        slopes = [after - before for before, after in pairwise(ends)]
        yield equals(limit(slopes[:4], ratio=math.e, order=2), rate, part="limit of slopes", n=n)


@verifies(
    Claim(
        "solvable.crossover",
        "the rate passes from 1/2 to 1 at times log n, along one curve for all numbers of tokens",
        r"$\frac{d}{dt}\log W_2(\log n + a) \to -\tfrac12\Bigl(1 + \frac y{\sinh y}\Bigr)$ as $n \to \infty$, $y = \tfrac92e^{-a}$: $-\tfrac12$ for $a \to -\infty$ and $-1$ for $a \to \infty$",
        assumptions=("beta = 0", "d = 2", "tokens at the quantiles of the Poisson kernel with r^2 = 1/10"),
        spec=("FR.F17",),
        cites=("watanabe1994",),
    ),
    constant("mean-field", "the rate is that of the mean field at these times too", curve=lambda y: 0 * y),
    constant("finite", "the rate is 1 at these times already", curve=lambda y: y / y),
    bug(
        "tangent",
        "y over the hyperbolic tangent of y, less y, is taken for the curve",
        curve=lambda y: y / y.tanh() - y,
    ),
)
def test_crossover(run, *, curve=lambda y: y / y.sinh()):
    table = run.study(studies.approach).where(part="crossing")
    for number, shift in enumerate(settings.SHIFTS):
        rates = [table.where(n=n).intervals("rate")[1 + number] for n in settings.CROSSING]
        y = one(Fraction(9, 2)) * (-one(shift)).exp()
        yield equals(limit(rates, ratio=4, order=1), hull(-(1 + curve(y)) / 2), part="trajectories", shift=shift)
        for n in run.pick(quick=(10**6,), paper=(10**6, 10**9)):  # the closed form at the width y / n
            width = y / n
            t = variable(3)[()]
            mean, (_, square) = finite(n, width)[0], finite(n, width + t)
            slope = -square[1] / square[0] * sinh(width) * mean / 2
            near = hull(slope) + Interval(-18.0 / n, 18.0 / n)  # the next order is below y / n
            yield equals(near, hull(-(1 + curve(y)) / 2), part="closed form", shift=shift, n=n)
