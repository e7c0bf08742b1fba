"""Tokens of equal overlaps: one equation with closed forms, the slowest of all starts, and where a layer is normalised."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import sympy

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
    order,
    slope,
    sup_over,
    verifies,
)
from theory.evidence.convergence import LEVELS
from theory.evidence.enclosure import coefficient, variable
from theory.evidence.quadrature import integral_over
from theory.evidence.symbolic import zero
from theory.particles import Overlap, PreNorm, SoftmaxField, Tangential, flow, on_sphere, studies
from theory.particles.exact import Equiangular, GapField, gaps, slowest_rate
from theory.particles.studies import uniform_gaps
from theory.particles.studies.settings import (
    COMPARISON_WITNESS as WITNESS,
    EQUIANGULAR_TOKENS as TOKENS,
    NORM_SIMPLICES as SIMPLICES,
)
from verify.textbook import balls, exp, hull, laws


def simplex(n, rho):
    """Unit vectors of equal overlaps in n dimensions, as balls: a multiple of the identity plus a constant."""
    own = (1 - ball(rho)).sqrt()
    shared = ((1 + (n - 1) * ball(rho)).sqrt() - own) / n
    return balls(np.eye(n)) * own + shared


def rate(gap, n, beta, rule, *, own=1, doubled=2):
    """The growth of the overlap 1 - gap as it is printed; ``own`` counts the token's weight on itself."""
    g, b = ball(gap), ball(beta)
    rho = 1 - g
    grown = doubled * (b * rho).exp() * g * ((n - 1) * rho + 1)
    return grown / n if rule == "USA" else grown / (own * b.exp() + (n - 1) * (b * rho).exp())


def outward(gap, n, beta, *, own=1):
    """The growth of the norm under Pre-LN as it is printed; ``own`` counts the token's weight on itself."""
    g, b = ball(gap), ball(beta)
    crowd = (n - 1) * (b * (1 - g)).exp()
    return (own * b.exp() + crowd * (1 - g)) / (own * b.exp() + crowd)


def least_rate(gap, n, beta):
    """What the smallest overlap 1 - gap grows by at least under SA: the simplex, or two equal clusters."""
    few, many = hull(rate(gap, 2, beta, "SA")), hull(rate(gap, n, beta, "SA"))
    return Interval(min(few.lo, many.lo), min(few.hi, many.hi), few.kind)


def time(gap, n, beta, rule, start=1.0, *, own=1, turned=1):
    """The time from gap ``start`` to ``gap``, by partial fractions: exponential integrals."""
    g, g0, b = ball(gap), ball(start), ball(beta)
    edge = ball(n) / (n - 1)
    turn, near = ((edge - g) / (edge - g0)).log(), (g0 / g).log()
    if b == 0:
        raised = near + turn
    else:
        far = (b * edge).exp() * ((b * (edge - g0)).expint(1) - (b * (edge - g)).expint(1))
        raised = (b * g0).ei() - (b * g).ei() + turned * far
    if rule == "USA":
        return raised * (-b).exp() / 2
    return (own * raised + (n - 1) * (near + turn)) / (2 * n)


def prefactor(n, beta, rule, start=1.0):
    """K, to which gap * exp(2 t) tends (SA), or gap * exp(2 exp(beta) t) (USA)."""
    g0, b = ball(start), ball(beta)
    edge = ball(n) / (n - 1)
    turn = (edge / (edge - g0)).log()
    if b == 0:
        raised = g0.log() + turn
    else:  # Ei(x) = euler + log x + ..., so the gap enters by its logarithm alone
        far = (b * edge).exp() * ((b * (edge - g0)).expint(1) - (b * edge).expint(1))
        raised = (b * g0).ei() - ball(0).const_euler() - b.log() + far
    return raised.exp() if rule == "USA" else ((raised + (n - 1) * (g0.log() + turn)) / n).exp()


def elapsed(gap, *given, **more):
    """Enclose the time at which an enclosed gap is reached; it falls as the gap grows."""
    early, late = (hull(time(end, *given, **more)) for end in (gap.hi, gap.lo))
    return Interval(early.lo, late.hi, max(gap.kind, early.kind))


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
        source_status=("seen", "refereed"),
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
            v = velocity(x, beta, rule)
            case = {"n": n, "rho": rho, "beta": beta, "rule": rule}
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
        source_status=("seen", "refereed"),
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
        r"SA: $2nt = F(g_0) - F(g)$ with $F(g) = \mathrm{Ei}(\beta g) + e^{\beta c}E_1(\beta(c - g)) + (n - 1)\log\frac{g}{c - g}$, $c = \frac n{n - 1}$, so $1 - \rho \sim Ke^{-2t}$ with $K$ in closed form; USA: $2e^\beta t$ without the logarithm, $1 - \rho \sim Ke^{-2e^\beta t}$",
        assumptions=(r"$g = 1 - \rho$ falls from $g_0 < \frac n{n - 1}$", r"$\beta > 0$"),
        spec=("FR.F12", "FR.F23"),
        cites=SURVEY,
        source_status=("derived",),
    ),
    bug("own", "the sum of weights leaves out the token itself", own=0),
    bug("sign", "E_1 is subtracted in F, as it was printed", turned=-1),
    constant("faster", "the final exponent is one per cent larger", share=1.01),
    constant("longer", "every time is one per cent longer", longer=Fraction(101, 100)),
    hypothesis("start", "the tokens start at another overlap, and K is that of orthogonal ones", early=1.0),
)
def test_time(run, *, own=1, turned=1, share=1.0, longer=1, early=None):
    for n, beta, start in ((4, 1.0, 0.75), (16, 3.0, 1.0), (2, 0.5, 1.25))[: run.pick(quick=2, paper=3)]:
        for rule in RULES:
            case = {"n": n, "beta": beta, "start": start, "rule": rule}
            told = Equiangular(n, beta, rule == "SA")
            for end in (0.25, 2.0**-10, 2.0**-30):
                claimed = longer * hull(time(end, n, beta, rule, start, own=own, turned=turned))
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
        source_status=("seen", "recalled"),
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


sup = cache(sup_over)  # once for the claim and its twins


@verifies(
    Claim(
        "equiangular.brackets",
        "without normalisation each third token pulls the farthest pair together at least as a token of the simplex does",
        r"$e^{\beta a}(b - am) + e^{\beta b}(a - bm) \ge e^{\beta m}(1 - m)(a + b) \ge 2e^{\beta m}m(1 - m)$; equality for $a = b = m$",
        assumptions=(
            r"$0 \le m \le a, b \le 1$, $\beta \ge 0$",
            r"weights judged for $\beta(1 - m) \le 8$: $e^{\beta(a - m)} \ge 1$, and grows with $\beta$",
        ),
        spec=("FR.F13",),
        cites=SURVEY,
        source_status=("derived", "refereed"),
    ),
    constant("near", "the bound is ten per cent larger", share="1.1"),
    hypothesis("obtuse", "the other overlaps may lie below m, down to 2m - 1", least="-1"),
    bug("sign", "the projection is added", sign=1),
)
def test_brackets(run, *, share="1", least="0", sign=-1):
    # a = m + (1 - m) u, b = m + (1 - m) v, g = beta (1 - m); exponentials are divided by exp(beta m)
    yield at_most(sup(f"{share} * exp(-g * u)", tolerance=1e-4, g=(0, 8), u=(least, 1)), 1, part="weights")
    yield at_most(sup("-v", v=(least, 1)), 0, scale=1, part="b - m")
    a, b, m, u, v = sympy.symbols("a b m u v")
    here = {a: sympy.Rational(1, 2), b: sympy.Rational(3, 4), m: sympy.Rational(1, 4)}
    yield equals(zero(b + sign * a * m + a + sign * b * m - (1 - m) * (a + b), here), 0, scale=1, part="sum")
    written = {a: m + (1 - m) * u, b: m + (1 - m) * v}
    half = (b + sign * a * m).subs(written, simultaneous=True) - (1 - m) * (v + m * (1 - u))
    yield equals(zero(half, {m: 2, u: 3, v: 5}), 0, scale=1, part="half")


@verifies(
    Claim(
        "equiangular.contact",
        "rates can agree with the simplex at the start of a path that is not equiangular, but only to first order",
        r"USA, four tokens of overlaps $m$ except $\langle x_3, x_4\rangle > m$: $\langle x_1, x_2\rangle - \rho = ct^2 + O(t^3)$, $c > 0$",
        assumptions=(r"$m = \frac14$, $\langle x_3, x_4\rangle = \frac78$, $\beta = 1$",),
        spec=("FR.F13",),
        cites=SURVEY,
        source_status=("derived",),  # the second order; that the rates agree is refereed
    ),
    constant("higher", "they agree to second order", factor=0),
    hypothesis("near-pair", "the near pair is one of the two that are watched", watched=(2, 3)),
    bug("n", "the simplex has one token less", less=1),
)
def test_contact(run, *, factor=1, watched=(0, 1), less=0):
    x = variable(3)
    overlaps = balls([[4, 1, 1, 1], [1, 4, 1, 1], [1, 1, 4, 3.5], [1, 1, 3.5, 4]]) / 4
    nothing = 0 * x[()]
    path = np.frompyfunc(lambda overlap: overlap + nothing, 1, 1)(overlaps)
    rho = ball("1/4") + nothing
    for _ in range(2):  # Picard: each pass is right to one order more
        path = overlaps + integral(overlap_velocity(path))
        rho = ball("1/4") + rate(1 - rho, 4 - less, 1, "USA").integral()
    apart = path[watched] - rho
    yield equals(hull(coefficient(apart, 0)), 0, scale=1, part="start")
    yield equals(hull(coefficient(apart, 1)), 0, scale=1, part="rate")
    m, p = ball("1/4"), ball("7/8")  # the other four overlaps outrun rho by ahead, and pull by the slope of a bracket
    ahead = (m.exp() * (p - m**2) + p.exp() * (m - p * m) - 2 * m.exp() * (m - m**2)) / 4
    yield equals(hull(coefficient(apart, 2)), factor * hull(m.exp() * (1 - m**2) * ahead / 2), scale=1, part="bend")
    yield at_least(hull(coefficient(apart, 2)), 0.09, scale=1, part="bend, at least")


def overlap_velocity(overlaps):
    """The growth of the overlaps of four tokens under USA, beta = 1, of power series."""
    weights = exp(overlaps) / 4
    halves = weights @ overlaps - (weights * overlaps).sum(axis=1)[:, np.newaxis] * overlaps
    return halves + halves.T


integral = np.frompyfunc(lambda series: series.integral(), 1, 1)


ACUTE = r"$\beta \ge 0$; all overlaps are at least $m \ge 0$, which one pair has"


def growth(table, rule, *parts):
    """The rates of configurations under one rule."""
    for part in parts:
        found = table.where(part=part, rule=rule)
        for n, beta, start, value in zip(
            found["n"].tolist(), found["beta"].tolist(), found["start"].tolist(), found.intervals("value"), strict=True
        ):
            # rates have an a-priori bound; only the paths of the same table are judged from two runs
            yield part, n, beta, start, Interval(value.lo, value.hi, Kind.NUMERIC)


@verifies(
    Claim(
        "equiangular.slowest",
        "without normalisation no acute configuration moves its farthest pair together more slowly than the simplex does",
        r"USA: $\dot m \ge \frac2n e^{\beta m}(1 - m)((n - 1)m + 1)$; equality on the simplex",
        assumptions=(ACUTE,),
        spec=("FR.F13",),
        cites=SURVEY,
        source_status=("derived", "refereed"),
    ),
    constant("near", "the bound is one per cent larger", share=1.01),
    hypothesis("softmax", "the rows are normalised, and compared with the simplex under softmax", rule="SA"),
    bug("unsummed", "the simplex counts n tokens besides the pair", more=1),
)
def test_slowest(run, *, share=1.0, rule="USA", more=0):
    table = run.study(studies.comparison)
    for part, n, beta, gap, value in growth(table, rule, "random", "search", "simplex", "clusters", "odd"):
        claimed = share * hull(rate(gap, n + more, beta, rule))
        yield at_least(value, claimed, scale=claimed, part=part, n=n, beta=beta, gap=gap)
        if part in ("simplex", "odd"):
            yield equals(value, claimed, part=f"{part}, attained", n=n, beta=beta, gap=gap)
        if part == "clusters":  # exp(beta m) (1 - m^2) whatever n
            exact = hull((ball(beta) * (1 - ball(gap))).exp() * ball(gap) * (2 - ball(gap)))
            yield equals(value, share * exact, part="clusters, exact", n=n, beta=beta, gap=gap)


@verifies(
    Claim(
        "equiangular.threshold",
        "under softmax two equal clusters are slower than the simplex exactly if m exp(beta (1 - m)) exceeds one",
        r"$\frac{1 + m}{1 + E} - \frac{(n - 1)m + 1}{E + n - 1} = \frac{(n - 2)(1 - mE)}{(1 + E)(E + n - 1)}$, $E = e^{\beta(1 - m)}$; at $n = 10$, $m = .3$, $\beta = 5$: $.0533 < .1230$",
        assumptions=(
            r"each side times $2(1 - m)$ is the rate of two equal clusters (n even), or of the simplex, of overlap $m$",
        ),
        spec=("FR.F13",),
        cites=SURVEY,
        source_status=("derived",),  # the identity; the two numbers are refereed
    ),
    constant("other", "the threshold is exp(beta (1 - m)) = 1", power=0),
    bug("own", "the simplex has no weight on the token itself", own=0),
    hypothesis("free", "the rows are not normalised", rule="USA"),
)
def test_threshold(run, *, power=1, own=1, rule="SA"):
    n, m, E = sympy.symbols("n m E", positive=True)
    difference = (1 + m) / (1 + E) - ((n - 1) * m + 1) / (own * E + n - 1)
    factor = (n - 2) * (1 - m**power * E) / ((1 + E) * (E + n - 1))
    yield equals(zero(difference - factor, {n: 10, m: sympy.Rational(3, 10), E: 30}), 0, scale=1, part="identity")
    tokens, gap, beta = WITNESS
    simplex = hull(rate("7/10", tokens, 5, rule, own=own))
    pair = hull(rate("7/10", 2, 5, rule, own=own))
    yield equals(simplex, Interval.printed("0.1230"), scale=1, part="printed", tokens=tokens)
    yield equals(pair, Interval.printed("0.0533"), scale=1, part="printed", tokens=2)
    table = run.study(studies.comparison)
    for part, tokens, beta, gap, value in growth(table, rule, "clusters"):
        yield equals(value, hull(rate(gap, 2, beta, "SA", own=own)), part=part, n=tokens, beta=beta, gap=gap)
    for share in (2, 8, 32):  # the comparison with the simplex fails by any factor as n grows, while E exceeds n
        many = 16 * share
        ratio = rate("1/4", many, 100, rule, own=own) / rate("1/4", 2, 100, rule, own=own)
        yield at_least(hull(ratio), share, part="by any factor", n=many)


@verifies(
    Claim(
        "equiangular.softmax-slowest",
        "under softmax the slowest acute configuration is the simplex while m exp(beta (1 - m)) is at most one, then two equal clusters",
        r"SA: $\dot m \ge 2(1 - m)\min\{\frac{(n - 1)m + 1}{E + n - 1}, \frac{1 + m}{1 + E}\} \ge \frac2n e^{-\beta(1 - m)}(1 - m)((n - 1)m + 1)$, $E = e^{\beta(1 - m)}$; equality in the first on the simplex if $mE \le 1$, for two equal clusters (n even) if $mE \ge 1$",
        assumptions=(ACUTE,),
        spec=("FR.F13",),
        cites=SURVEY,
        source_status=("derived",),  # the first bound; the second is refereed
    ),
    hypothesis("naive", "the simplex alone is compared with", pair=False),
    constant("near", "the bound is one per cent larger", share=1.01),
    bug("own", "tokens give no weight to themselves", own=0),
)
def test_softmax_slowest(run, *, pair=True, share=1.0, own=1):
    table = run.study(studies.comparison)
    for part, n, beta, gap, value in growth(table, "SA", "random", "search", "simplex", "clusters", "odd"):
        many = hull(rate(gap, n, beta, "SA", own=own))
        claimed = share * (least_rate(gap, n, beta) if pair and own else many)
        case = {"n": n, "beta": beta, "gap": gap}
        yield at_least(value, claimed, scale=claimed, part=part, **case)
        printed = hull((-ball(beta)).exp() * rate(gap, n, beta, "USA"))
        yield at_least(value, share * printed, scale=printed, part="printed bound", **case)
        worst = "simplex" if ball(beta * gap).exp() * (1 - ball(gap)) < 1 else "clusters"
        if part == worst:
            yield equals(value, claimed, part=f"{part}, attained", **case)
        if part in ("simplex", "clusters"):
            told = slowest_rate(exact(gap), tokens=n, beta=beta)
            yield equals(told, share * least_rate(gap, n, beta), part="constant", **case)


def paths(table, rule):
    """The paths under one rule: where they start, and the largest gap at positive times."""
    for part in sorted({name for name in table["part"].tolist() if name.startswith("path")}):
        found = table.where(part=part, rule=rule)
        for k, value in enumerate(found.intervals("value")):
            if found["t"][k] > 0.0:
                yield part, *(found[name].tolist()[k] for name in ("n", "beta", "start", "t")), value


@verifies(
    Claim(
        "equiangular.slowest-path",
        "without normalisation no acute start comes together more slowly than the simplex of the same smallest overlap",
        r"USA: $m(t) \ge \rho(t)$, $\dot\rho = \frac2n e^{\beta\rho}(1 - \rho)((n - 1)\rho + 1)$, $\rho(0) = m(0)$; hence $1 - m(t) \le (1 - m(0))e^{-2t/n}$; equality from the simplex, and not from the start of equiangular.contact, where the rates agree",
        assumptions=(r"$m(0) \ge 0$", r"$\beta \ge 0$"),
        spec=("FR.F13",),
        cites=SURVEY,
        source_status=("derived", "refereed"),
    ),
    constant("near", "one per cent sooner", share=1.01),
    hypothesis("softmax", "the rows are normalised, and compared with the simplex under softmax", rule="SA"),
    bug("n", "the sums are not divided by n", masses=True),
)
def test_slowest_path(run, *, share=1.0, rule="USA", masses=False):
    for part, n, beta, start, t, value in paths(run.study(studies.comparison), rule):
        waited = elapsed(value, n, beta, rule, start)  # how long the simplex takes to this gap
        pace = n * share if masses else share
        case = {"part": part, "n": n, "beta": beta, "start": start, "t": t}
        yield at_least(waited, pace * t, scale=t, **case)
        if part == "path simplex":
            yield equals(waited, pace * Interval.exactly(t), **(case | {"part": "simplex, attained"}))
        if part == "path odd":
            later = Fraction(201, 200) * Interval.exactly(pace) * t
            yield at_least(waited, later, **(case | {"part": "not equiangular, by a margin"}))
        bound = hull(ball(start) * (-2 * ball(pace) * ball(t) / n).exp())
        yield at_most(value, bound, **(case | {"part": "exponential"}))


@verifies(
    Claim(
        "equiangular.softmax-path",
        "under softmax an acute start comes together at least as fast as the simplex if beta <= 1, and as two tokens once m exp(beta (1 - m)) >= 1",
        r"SA: $m(t) \ge \rho_n(t)$ if $\beta \le 1$; $m(t) \ge \rho_2(t)$ if $m(0)e^{\beta(1 - m(0))} \ge 1$, with equality for two equal clusters; always $m(t) \ge \rho^{\mathrm{USA}}_n(e^{-\beta}t)$, hence $1 - m(t) \le (1 - m(0))e^{-2e^{-\beta}t/n}$, and without n $1 - m(t) \le (1 - m(0))e^{-2ct}$, $c = \min\{m(0), \frac{1 + m(0)}{1 + e^{\beta(1 - m(0))}}\}$",
        assumptions=(r"$m(0) \ge 0$", r"$\beta \ge 0$"),
        spec=("FR.F13",),
        cites=SURVEY,
        source_status=("derived",),  # all but the rate with n, which is refereed
    ),
    hypothesis("naive", "the simplex is compared with at any beta", few=None),
    constant("near", "one per cent sooner", share=1.01),
    bug("own", "tokens give no weight to themselves", own=0),
    constant("hot", "the bounds that hold for any start are those at beta = 0", cold=0),
)
def test_softmax_path(run, *, few=2, share=1.0, own=1, cold=1):
    for part, n, beta, start, t, value in paths(run.study(studies.comparison), "SA"):
        case = {"n": n, "beta": beta, "start": start, "t": t}
        rest = ball(start) * 1
        tokens = n if beta <= 1.0 else few or n
        if beta <= 1.0 or few is None or (ball(beta) * rest).exp() * (1 - rest) >= 1:
            waited = elapsed(value, tokens, beta, "SA", start, own=own)
            yield at_least(waited, share * t, scale=t, part=part, **case)
            if part == ("path simplex" if beta <= 1.0 else "path clusters"):
                yield equals(waited, share * Interval.exactly(t), part=f"{part}, attained", **case)
        slower = hull((-cold * ball(beta)).exp())
        yield at_least(elapsed(value, n, beta, "USA", start), share * slower * t, scale=slower * t, part="USA", **case)
        bound = hull(rest * (-2 * ball(share) * (-cold * ball(beta)).exp() * ball(t) / n).exp())
        yield at_most(value, bound, part="exponential", **case)
        pair = hull((2 - rest) / (1 + (cold * ball(beta) * rest).exp()))
        speed = Interval(min(pair.lo, hull(1 - rest).lo), min(pair.hi, hull(1 - rest).hi), pair.kind)
        free = [hull(rest * (-2 * ball(end) * ball(t)).exp()) for end in (speed.hi, speed.lo)]
        yield at_most(value, Interval(free[0].lo, free[1].hi, pair.kind), part="exponential without n", **case)


TEN = hull(ball(10).log())
LATE = 1e3  # where the last windows begin


def norm_paths(run, norm, *parts):
    """The paths under one placement: part, tokens, beta, gap at the start, times, logarithms of gaps and norms."""
    table = run.study(studies.norms)
    for part in parts:
        for case in table.where(part=part, norm=norm).levels("case"):
            found = table.where(part=part, norm=norm, case=case)
            given = [found.levels(name)[0] for name in ("n", "beta", "start")]
            yield part, *given, found["t"], found.intervals("log_gap"), found.intervals("log_norm")


def windows(times, logs):
    """Start and slope of every window of four steps, which are from t to 10 t under Pre-LN."""
    spans = [
        TEN if late == 10.0 * early else hull((ball(late) / ball(early)).log())
        for early, late in zip(times, times[4:], strict=False)
    ]
    return [(float(t), (b - a) / span) for t, span, a, b in zip(times, spans, logs, logs[4:], strict=False)]


@verifies(
    Claim(
        "norm-flow.clock",
        "Pre-LN is Post-LN by another clock, which the norms show exactly",
        r"equiangular tokens of one norm $r$ under $\dot x_i = f(x/|x|)_i$: $\dot\rho = \dot\rho_{\mathrm{SA}}/r$, $\dot r = \frac{e^\beta + (n - 1)e^{\beta\rho}\rho}{e^\beta + (n - 1)e^{\beta\rho}}$, so $r\sqrt A = r_0\sqrt{A_0}\,e^s$ with $A = (n - 1)\rho + 1$ and $s$ the time that Post-LN takes to the same $\rho$",
        assumptions=("equal overlaps and norms at the start",),
        spec=("FR.F23",),
        cites=(*SURVEY, "xiong2020"),
        source_status=("seen", "derived"),  # the equations and exponents are refereed, the constants are not
    ),
    bug("own", "the sum of weights leaves out the token itself", own=0),
    constant("unrooted", "r A grows like exp(s)", power=1.0),
    hypothesis("post", "the layer is normalised after each step", post=True),
)
def test_clock(run, *, own=1, power=0.5, post=False):
    for n, beta, gap in SIMPLICES:
        rho = 1 - ball(gap)
        outwards = hull(outward(gap, n, beta, own=own))
        start, x, seen = moved(n, beta, gap, post)
        grown = x[0] @ start[0]
        yield equals(grown, outwards, scale=1, part="norm", n=n)
        tangent = x[0] @ start[1] + x[1] @ start[0] - 2 * hull(rho) * grown
        yield equals(tangent, hull(rate(gap, n, beta, "SA", own=own)), part="overlap", n=n)
        yield equals(Equiangular(n, beta).outward(exact(gap)), outwards, scale=1, part="instrument", n=n)
        first = hull(ball(power) * (1 + (n - 1) * rho).log())
        for t, away, norm in seen:
            spread = power * np.log(n - (n - 1) * away)
            then = elapsed(away, n, beta, "SA", gap, own=own)
            yield equals(norm + spread - first, then, part="clock", n=n, beta=beta, t=t)


@cache
def moved(n, beta, gap, post):
    """A simplex, its velocities, and times with the first gap and the logarithm of the first norm; once for all twins."""
    start = hull(simplex(n, 1 - ball(gap)))
    field = (Tangential if post else PreNorm)(SoftmaxField(Overlap(beta)))
    path = flow(field, start.mid, [0.0, 0.5, 2.0, 8.0] if post else [0.0, 0.5, 2.0, 8.0, 32.0, 128.0])
    away = path.observe(first_gap)
    norms = path.observe(lambda x: math.log(np.linalg.norm(x[0])))
    return start, field(start), list(zip(path.times.tolist(), away, norms, strict=True))[1:]


def first_gap(x):
    """The gap of the first two tokens."""
    return float(gaps(x / np.linalg.norm(x, axis=1, keepdims=True))[0, 1])


@verifies(
    Claim(
        "norm-flow.post",
        "under Post-LN gaps close like exp(-2 t), from equal overlaps with a constant in closed form",
        r"$1 - \rho \sim Ke^{-2t}$ under Post-LN, for the largest gap of acute tokens as well",
        assumptions=("all tokens in one open hemisphere",),
        spec=("FR.F23",),
        cites=(*SURVEY, "xiong2020"),
        source_status=("seen", "derived"),  # the equations and exponents are refereed, the constants are not
    ),
    constant("single", "like exp(-t)", pace=1.0),
    hypothesis("pre", "the layer is normalised on its way in only", norm="pre"),
    bug("own", "the constant is that of orthogonal tokens", orthogonal=True),
)
def test_post(run, *, pace=2.0, norm="post", orthogonal=False):
    for part, n, beta, gap, times, logs, _ in norm_paths(run, norm, "simplex", "overlaps", "tokens"):
        case = {"part": part, "n": n, "beta": beta, "start": gap}
        k = hull(prefactor(n, beta, "SA", 1.0 if orthogonal else gap).log())
        for t, log_gap in zip(times.tolist(), logs, strict=True):
            if part == "simplex" and t >= 8.0:  # the closed form beyond K moves by at most beta + 1 per unit of the gap
                rest = (beta + 1.0) * math.exp(min(log_gap.hi, 0.0)) * 4.0
                yield equals(log_gap + pace * t + Interval(-rest, rest), k, scale=1, t=t, **case)
        step = int(times[1] - times[0]) if norm == "post" else 4
        slopes = [
            (b - a) / float(times[j + step] - times[j])
            for j, (a, b) in enumerate(zip(logs[:-step], logs[step:], strict=True))
        ]
        early = [s for s, t in zip(slopes, times, strict=False) if t <= 8.0]
        yield equals(limit(early[-6:], ratio=math.exp(2.0), order=1), -pace, window="last", **case)
        if part != "tokens":
            yield equals(slopes[-1], -pace, window=float(times[-1]), **case)


@cache
def delay(n, beta, gap):
    """D, the limit of t - r, for norm one at the start: an integral over the logarithm of the gap, and its tail."""
    g0, cut = ball(gap), ball(-80)
    first, few = n - (n - 1) * g0, ball(n) / (n - 1)
    b = ball(beta)

    def grown(y):  # r (n - 1) / (2 A) dg/dy; E_1(x) is -Ei(-x)
        g = y.exp()
        spread = n - (n - 1) * g
        raised = g0.log() - y + (b * g0).ei() - (b * g).ei() - (g0.log() - y)
        far = (b * few).exp() * ((-(b * (few - g))).ei() - (-(b * (few - g0))).ei())
        s = (raised + far + (n - 1) * (g0.log() - y + (spread / first).log())) / (2 * n)
        return s.exp() * first.sqrt() * (n - 1) * g / (2 * (spread * spread * spread).sqrt())

    seen = integral_over(grown, cut, g0.log())
    most = (first * prefactor(n, beta, "SA", gap)).sqrt() * (n - 1) * (ball(n) / 2) ** ball(-1.5) * (cut / 2).exp()
    return hull(seen + ball(0).union(most) - 1)


def tail(n, beta, gap):
    """C, the limit of t^2 (1 - rho), for norm one at the start."""
    return hull(prefactor(n, beta, "SA", gap) * (n - (n - 1) * ball(gap)) / n)


@verifies(
    Claim(
        "norm-flow.pre",
        "under Pre-LN gaps close like t^(-2), with the constant and the next order in closed form",
        r"$1 - \rho = Ct^{-2}(1 + 2D/t + O(t^{-2}))$, $C = Kr_0^2A_0/n$, $D = \lim(t - r) = -r_0 + \int_{\rho_0}^1 r\,\frac{n - 1}{2A}\,d\rho$",
        assumptions=("equal overlaps and norms at the start",),
        spec=("FR.F23",),
        cites=(*SURVEY, "xiong2020"),
        source_status=("seen", "derived"),  # the equations and exponents are refereed, the constants are not
    ),
    constant("single", "like 1 / t", power=1.0),
    hypothesis("post", "the layer is normalised after each step", norm="post"),
    bug("norm", "the norm is taken for the time from the start, so that D is none", late=0.0),
    constant("near", "C is one per cent larger", share=1.01),
)
def test_pre(run, *, power=2.0, norm="pre", late=1.0, share=1.0):
    for _, n, beta, gap, times, logs, norms in norm_paths(run, norm, "simplex"):
        case = {"n": n, "beta": beta, "start": gap}
        c, d = share * tail(n, beta, gap), late * delay(n, beta, gap)
        slopes = windows(times, logs)
        for t, rise in slopes:
            if t >= LATE:  # the next order is 1.8 / log 10 = 0.78 times D / t; the rest of D / t is for what follows
                yield at_most(abs(rise + power), abs(d) / t, scale=1, part="window", t=t, **case)
        yield equals(limit([s for _, s in slopes[::4]][-5:], ratio=10.0, order=1), -power, part="exponent", **case)
        whole = times[::4].tolist()
        held = [np.exp(g + power * TEN * k) for k, g in enumerate(logs[::4])]
        yield equals(limit(held[-5:], ratio=10.0, order=1), c, part="C", **case)
        bends = [t / 1.8 * (a / b - 1) for t, a, b in zip(whole, held, held[1:], strict=False)]
        yield equals(limit(bends[1:6], ratio=10.0, order=1), d, scale=1, part="D, from gaps", **case)
        lags = [t - np.exp(r) for t, r in zip(whole, norms[::4], strict=True)]
        yield equals(limit(lags[1:6], ratio=10.0, order=1), d, scale=1, part="D, from norms", **case)
        told = Equiangular(n, beta).pre_norm_tail(exact(gap))
        for name, formula, claimed in zip("CD", told, (c, d), strict=True):
            yield equals(formula, claimed, scale=1, part=f"{name}, instrument", **case)


@verifies(
    Claim(
        "norm-flow.tokens",
        "drawn tokens, not equiangular, close their largest gap like t^(-2) under Pre-LN",
        r"$\max_{i \ne j}(1 - \langle\theta_i, \theta_j\rangle) \sim C't^{-2}$ under $\dot x_i = f(\theta)_i$, $\theta_i = x_i/|x_i|$; $C' > 0$ depends on the start",
        assumptions=("all tokens in one open hemisphere, not all in one direction",),
        spec=("FR.F23",),
        cites=(*SURVEY, "xiong2020"),
        source_status=("seen", "derived"),
    ),
    constant("single", "like 1 / t", power=1.0),
    hypothesis("post", "the layer is normalised after each step", norm="post"),
    constant("near", "like t^(-2.02)", power=2.02),
)
def test_tokens(run, *, power=2.0, norm="pre"):
    for part, n, beta, start, times, logs, norms in norm_paths(run, norm, "overlaps", "tokens"):
        slopes = [rise for _, rise in windows(times, logs)][::4]
        case = {"part": part, "n": n, "beta": beta, "start": start}
        if len(slopes) >= LEVELS:
            yield equals(limit(slopes[-5:], ratio=10.0, order=1), -power, **case)
        earlier, last = (abs(rise + power) for rise in slopes[-2:])
        yield at_most(last, earlier / 5, scale=1, window="last", **case)  # what is left of 1 / t, ten times later
        apart = [np.exp(g + 2 * r) for g, r in zip(logs, norms, strict=True)]  # |x_i - x_j|^2 / 2, in the end
        if norm == "pre":
            yield at_least(apart[-1], 0.99 * apart[-5], window="frozen", **case)
            yield at_most(apart[-1], 1.01 * apart[-5], window="frozen", **case)
