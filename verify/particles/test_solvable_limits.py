"""Finitely many tokens at the quantiles of a Poisson kernel: the limits of many tokens and of late times do not commute."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import sympy

from theory.evidence import Claim, Interval, ball, bug, constant, equals, exact, hypothesis, limit, verifies
from theory.evidence.enclosure import variable
from theory.evidence.roundoff import U
from theory.evidence.symbolic import zero
from theory.particles import CircleField, studies
from theory.particles.exact import distance_to_consensus, mean_overlap, poisson_quantiles, rate_of_approach
from verify.particles.poisson import finite, logarithm, one, sinh
from verify.textbook import hull


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
        uniform = np.pi * (np.arange(1, n + 1) - shift - 0.5 * n) / n
        for radius in (0.25, 0.5, 0.9, 0.99):
            angles = 2.0 * np.arctan((1.0 - radius) / (1.0 + radius) * np.tan(uniform))[:, np.newaxis]
            if shift == 0.5:
                angles = poisson_quantiles(n, radius)
            velocity, r = exact(CircleField(beta)(angles)), one(radius)  # a mean of n cosines rounds less than slack
            width, t = -r.log(), variable(3)[()]
            mean, square = finite(n, width)
            slope = -finite(n, width + t)[1][1] / square * sinh(width) * mean / 2
            if infinite:
                mean, square = r, 2 * (1 - r)
            # the angles are known to a rounding, (1 + r) / (1 - r) times that of what they are made of
            slack, theta = (n + 128) * U / (1.0 - radius), exact(angles)
            case = {"n": n, "radius": radius}
            for name, found, claimed, error in (
                ("mean", mean_overlap(theta), mean, slack),
                ("distance", distance_to_consensus(theta), square.sqrt(), slack),
                ("rate", rate_of_approach(theta, velocity), slope, 4.0 * slack / hull(square).lo),
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
    for n in studies.FEW:
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
    for number, shift in enumerate(studies.SHIFTS):
        rates = [table.where(n=n).intervals("rate")[1 + number] for n in studies.CROSSING]
        y = one(Fraction(9, 2)) * (-one(shift)).exp()
        yield equals(limit(rates, ratio=4, order=1), hull(-(1 + curve(y)) / 2), part="trajectories", shift=shift)
        for n in run.pick(quick=(10**6,), paper=(10**6, 10**9)):  # the closed form at the width y / n
            width = y / n
            t = variable(3)[()]
            mean, (_, square) = finite(n, width)[0], finite(n, width + t)
            slope = -square[1] / square[0] * sinh(width) * mean / 2
            near = hull(slope) + Interval(-18.0 / n, 18.0 / n)  # the next order is below y / n
            yield equals(near, hull(-(1 + curve(y)) / 2), part="closed form", shift=shift, n=n)
