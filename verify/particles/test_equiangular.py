"""Tokens of equal overlaps: one equation, its closed form, and independent tokens in high dimension beside it."""

import math
from fractions import Fraction
from functools import cache

import numpy as np

from theory.evidence import (
    Claim,
    Interval,
    at_most,
    ball,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    order,
    slope,
    verifies,
)
from theory.evidence.quadrature import integral_over
from theory.particles import flow, on_sphere, studies
from theory.particles.exact import Equiangular, GapField, gaps
from theory.particles.studies import EQUIANGULAR_TOKENS as TOKENS, uniform_gaps
from verify.particles.simplex import elapsed, prefactor, rate, simplex, time
from verify.textbook import exp, hull, laws

SURVEY = ("geshkovski2025",)
RULES = ("SA", "USA")


def velocity(x, beta, rule):
    """SA or USA on the sphere as it is printed."""
    scores = x @ x.T * ball(beta)
    y = (laws(scores) if rule == "SA" else exp(scores) / len(x)) @ x
    return y - (x * y).sum(axis=1)[:, np.newaxis] * x


@verifies(
    Claim(
        "equiangular.field",
        "tokens of equal overlaps keep them equal, and the overlap obeys one scalar equation",
        r"$\langle x_i, x_j\rangle = \rho$ for $i \ne j$ implies $\frac{d}{dt}\langle x_i, x_j\rangle = \dot\rho$, SA: $\dot\rho = \frac{2e^{\beta\rho}(1 - \rho)((n - 1)\rho + 1)}{e^\beta + (n - 1)e^{\beta\rho}}$, USA: $\dot\rho = \frac2n e^{\beta\rho}(1 - \rho)((n - 1)\rho + 1)$",
        assumptions=(r"$-\frac1{n - 1} < \rho < 1$",),
        spec=("FR.F12",),
        cites=SURVEY,
        provenance=("seen", "refereed"),
    ),
    bug("own", "the sum of weights leaves out the token itself", own=0),
    constant("once", "only one of the two tokens is counted", doubled=1),
    hypothesis("bent", "one token is nearer to another", bent=True),
)
def test_field(run, *, own=1, doubled=2, bent=False):
    cases = [
        (int(r.integers(2, 7)), float(r.uniform(-0.15, 0.95)), float(r.uniform(-2, 6)))
        for r in run.draws(quick=2, paper=60)
    ]
    for n, rho, beta in [(4, 0.25, 1.0), (3, -0.25, 3.0), (4, 0.999, 2.0), *cases]:
        x = simplex(n, rho)
        if bent:
            x[0] = x[0] + x[1] / 4
            x[0] = x[0] / (x[0] * x[0]).sum().sqrt()
        tokens = hull(x)
        for rule in RULES:
            v, case = velocity(x, beta, rule), {"n": n, "rho": rho, "beta": beta, "rule": rule}
            growth = v @ x.T + x @ v.T
            claimed = hull(rate(1 - ball(rho), n, beta, rule, own=own, doubled=doubled))
            for i, j in ((0, 1), (0, n - 1), (n - 2, n - 1)):
                yield equals(hull(growth[i, j]), claimed, part="definition", **case)
            size = math.exp(abs(beta)) if rule == "USA" else 1.0  # of a velocity
            moved = on_sphere(beta, normalised=rule == "SA")(tokens)
            yield equals(2.0 * moved[0] @ tokens[1], claimed, scale=size, part="field", **case)
            told = GapField(beta, rule == "SA")(gaps(tokens))[0, 1]
            yield equals(-told, claimed, scale=size, part="overlaps", **case)


STARTS = ((4, 0.0, 1.0), (6, 0.5, 4.0), (3, -0.25, 0.0))


def nearest(x):
    """The smallest gap of two tokens."""
    return float((gaps(x) + 4.0 * np.eye(len(x))).min())


@cache
def waited(rule):
    """Gaps of the flow of the tokens themselves, smallest and largest, at times; once for the claim and its twins."""
    found = []
    for n, rho, beta in STARTS:
        start = np.array([[float(entry.mid()) for entry in row] for row in simplex(n, rho)])
        times = np.array([0.0, 0.25, 0.5, 1.0, 2.0, 4.0]) * (1.0 if rule == "SA" else math.exp(-beta))
        path = flow(on_sphere(beta, normalised=rule == "SA"), start, times, rtol=1e-9)
        for t, low, high in zip(
            times.tolist(),
            path.observe(nearest),
            path.observe(lambda x: gaps(x).max()),
            strict=True,
        ):
            if t > 0.0:
                found.append((n, rho, beta, t, low, high))
    return found


@verifies(
    Claim(
        "equiangular.flow",
        "the tokens themselves, set free from a simplex, stay equiangular and follow the scalar equation",
        r"$\langle x_i(t), x_j(t)\rangle = \rho(t)$ for all $i \ne j$ and $t \ge 0$",
        assumptions=("equal overlaps at the start",),
        spec=("FR.F12",),
        cites=SURVEY,
        provenance=("seen", "refereed"),
    ),
    bug("own", "the sum of weights leaves out the token itself", own=0),
    constant("slow", "time runs one per cent slower", pace=0.99),
    hypothesis("free", "the rows are not normalised, and compared with softmax", flipped=True),
)
def test_flow(run, *, own=1, pace=1.0, flipped=False):
    for rule in RULES:
        for n, rho, beta, t, low, high in waited(RULES[rule == "SA"] if flipped else rule):
            for part, found in (("nearest pair", low), ("farthest pair", high)):
                then = elapsed(found, n, beta, rule, 1 - ball(rho), own=own)
                yield equals(then, pace * Interval.exactly(t), part=part, rule=rule, n=n, beta=beta, t=t)


@cache
def integrated(end, n, beta, rule, start):
    """The time to a gap as the integral of 1 / rate over the logarithm of the gap."""
    first, last = ball(end).log(), ball(start).log()
    return hull(integral_over(lambda y: y.exp() / rate(y.exp(), n, beta, rule), first, last))


@verifies(
    Claim(
        "equiangular.time",
        "the scalar equation is solved in closed form, down to the constant in front of the final exponential",
        r"SA: $2nt = F(g_0) - F(g)$ with $F(g) = \mathrm{Ei}(\beta g) - e^{\beta c}E_1(\beta(c - g)) + (n - 1)\log\frac{g}{c - g}$, $c = \frac n{n - 1}$, so $1 - \rho \sim Ke^{-2t}$ with $K$ in closed form; USA: $2e^\beta t$ without the logarithm, $1 - \rho \sim Ke^{-2e^\beta t}$",
        assumptions=(r"$g = 1 - \rho$ falls from $g_0 < \frac n{n - 1}$", r"$\beta > 0$"),
        spec=("FR.F12", "FR.F23"),
        cites=SURVEY,
        provenance=("derived",),
    ),
    bug("own", "the sum of weights leaves out the token itself", own=0),
    constant("faster", "the final exponent is one per cent larger", share=1.01),
    constant("longer", "every time is one per cent longer", longer=Fraction(101, 100)),
    hypothesis("start", "the tokens start at another overlap, and K is that of orthogonal ones", early=1.0),
)
def test_time(run, *, own=1, share=1.0, longer=1, early=None):
    for n, beta, start in ((4, 1.0, 0.75), (16, 3.0, 1.0), (2, 0.5, 1.25))[: run.pick(quick=2, paper=3)]:
        for rule in RULES:
            case, told = {"n": n, "beta": beta, "start": start, "rule": rule}, Equiangular(n, beta, rule == "SA")
            for end in (0.25, 2.0**-10, 2.0**-30):
                claimed = longer * hull(time(end, n, beta, rule, start, own=own))
                yield equals(integrated(end, n, beta, rule, start), claimed, part=f"integral, {rule}", end=end, **case)
                yield equals(
                    told.time(exact(end), start), claimed, scale=1, part=f"instrument, {rule}", end=end, **case
                )
            pace = share * (Interval.exactly(2) if rule == "SA" else 2 * hull(ball(beta).exp()))
            k = hull(prefactor(n, beta, rule, early or start).log())
            late = hull(ball(2.0**-30).log()) + pace * integrated(2.0**-30, n, beta, rule, start)
            # the rest of the closed form moves by at most beta + n / n per unit of the gap, twice over
            rest = (beta + 1.0) * 2.0**-28
            yield equals(late + Interval(-rest, rest), k, scale=1, part="prefactor", **case)
            yield equals(told.log_prefactor(exact(start)), k, scale=1, part="prefactor, instrument", **case)


LARGE = tuple(4**k for k in range(5, 11))  # dimensions for which the published bound is below two for a while


def deviations(field, start, times, gap):
    """How far gaps are from that of equiangular tokens, shape (times, draws)."""
    apart = flow(field, start, times).enclosed() - gap[:, None, None, None]
    return (abs(apart) * (1.0 - np.eye(start.shape[-1]))).max(axis=(2, 3))


@cache
def early(beta, rule, growth, starts):
    """Times at which the published bound is below two, and the mean over draws of the largest deviation then."""
    start = np.concatenate([np.frombuffer(gaps_).reshape(-1, TOKENS, TOKENS) for gaps_ in starts])
    times = np.array([0.0, 0.25, 0.5, 0.75]) * 0.5 * math.log(LARGE[0] / math.log(LARGE[0])) / growth
    law = GapField(beta, rule == "SA"), Equiangular(TOKENS, beta, rule == "SA")
    apart = deviations(law[0], start, times, law[1].gap(exact(times)))
    means = apart.reshape(times.size, len(starts), -1).mean(axis=2)
    return list(zip(times.tolist(), means, strict=True))[1:]


@cache
def one_direction(rule):
    """The largest deviation over times, for gaps 1 - W / sqrt(d) with one W for all d."""
    direction = np.array([[0.0, -1.0, 0.5], [-1.0, 0.0, 2.0], [0.5, 2.0, 0.0]])
    family = np.array([1.0 - np.eye(3) - direction / 2.0**k for k in range(4, 11)])  # d = 2^8, ..., 2^20
    times = np.linspace(0.0, 3.0, 13)
    gap = Equiangular(3, 1.0, rule == "SA").gap(exact(times))
    return list(deviations(GapField(1.0, rule == "SA"), family, times, gap).max(axis=0))


@verifies(
    Claim(
        "equiangular.concentration",
        "independent uniform tokens follow the scalar equation from zero overlap, up to deviations of order d^(-1/2)",
        r"$\sup_t\max_{i \ne j}|\langle x_i(t), x_j(t)\rangle - \rho(t)| \asymp d^{-1/2}$, $\rho(0) = 0$; in the mean over draws below $2c(\beta)^{nt}\sqrt{\log d/d}$, $c(\beta) = e^{10\max(1, \beta)}$, where that is less than the largest deviation there is, two: up to $t = \frac{\log\sqrt{d/\log d}}{10n\max(1, \beta)} < \frac1{10}$",
        assumptions=(
            "tokens independent and uniform on the sphere",
            "times on a grid",
            "the published bound for n = 8 at three such times, d from 4^5 to 4^10, by the mean of sixteen draws; later it says nothing",
        ),
        spec=("FR.F12",),
        cites=SURVEY,
        provenance=("seen", "recalled"),
    ),
    constant("inverse", "deviations of order 1/d", power=-1.0, below=lambda d: math.log(d) / d),
    constant("tenth", "the published bound may be divided by ten", among=10),
    constant("cube-root", "deviations of order d^(-1/6)", power=-1 / 6),
    hypothesis("shifted", "the coordinates have mean one", part="shifted"),
)
def test_concentration(run, *, power=-0.5, below=lambda d: math.sqrt(math.log(d) / d), among=1, part="deviation"):
    table = run.study(studies.equiangular)
    betas = table.where(part="deviation").levels("beta")
    for beta in betas:
        for rule in RULES:
            found = table.where(part=part, rule=rule, beta=beta)
            sizes = found.levels("d")
            columns = [found.where(d=d) for d in sizes]
            samples = np.array([column.middles("value") for column in columns]).T
            unsure = max(v.width / v.mid for column in columns for v in column.intervals("value"))
            seen = slope(sizes, samples, among=2 * len(betas)) + Interval(-2.0 * unsure, 2.0 * unsure)
            yield equals(seen, power, scale=1, part="exponent", beta=beta, rule=rule)
            growth = TOKENS * 10.0 * max(1.0, beta)
            starts = tuple(
                uniform_gaps(rng, TOKENS, d, 16).tobytes() for rng, d in zip(run.streams(6), LARGE, strict=True)
            )
            for t, values in early(beta, rule, growth, starts):
                for d, value in zip(LARGE, values, strict=True):
                    bound = 2.0 * math.exp(growth * t) * below(d) / among
                    yield at_most(value, bound, part="published", d=d, t=t, beta=beta, rule=rule)
    for rule in RULES:
        seen = -1 * order(one_direction(rule), ratio=4.0)
        yield equals(seen, power, scale=1, part="one direction", rule=rule)
