"""Clusters stay apart exponentially long; the closest pair merges first: when, with which clock, and where."""

import math
from fractions import Fraction
from functools import cache

import numpy as np

from theory.evidence import (
    Claim,
    Interval,
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
from theory.evidence.quadrature import integral_over
from theory.particles import flow, on_sphere, studies
from theory.particles.exact import ClosestPair, log_asymptote, log_lifetime, meeting_point
from theory.particles.studies.settings import (
    CLUSTER_RUNS as RUNS,
    MERGING_BETAS as BETAS,
    MERGING_END as END,
    MERGING_STARTS as STARTS,
    STAIRCASE_ANGLES as ANGLES,
    STAIRCASE_BETAS as STEEP,
    STAIRCASE_WEIGHTS as MASSES,
)
from verify.textbook import balls, hull


def ratio_of(a, b):
    """The sum of the ratios of two masses, to which the speed of a pair far apart is proportional."""
    return a / b + b / a


def equal(a, b):
    """The same for equal masses."""
    return 2


def delay(x, beta, a, b, *, top=0, normalised=True, cosine=1, ratio=ratio_of, both=1):
    """The time per angle that two clusters at the angle x take, times exp(-top); a ball or a power series."""
    c = cosine * x.cos()
    if not normalised:
        return (-beta * c - top).exp() / ((a + b) * x.sin())
    hidden = (beta * (1 - c) - top).exp()
    shown = (beta * (c - 1)).exp()
    r = ratio(a, b)
    # (E E + r E + 1) / (r E + 2) as E (1 + r / E + 1 / E E) / (r + 2 / E), which keeps series narrow
    return hidden * (1 + r * shown + shown * shown) / (both * (r + 2 * shown) * x.sin())


def log_elapsed(start, end, beta, masses=("1/2", "1/2"), **changes):
    """The logarithm of the time from angle ``start`` to ``end``; a ball."""
    first, last, b = ball(start), ball(end), ball(beta)
    m = [ball(mass) for mass in masses]
    top = delay(first, b, *m, **changes).log()  # so that the integral is of order one
    return integral_over(lambda x: delay(x, b, *m, top=top, **changes), last, first).log() + top


def travelled(start, beta, masses, end=0, *, squares=True):
    """The angle that the first cluster travels from ``start`` to ``end``; a ball, or by the law of the barycentre."""
    first, b = ball(start), ball(beta)
    m, n = (ball(mass) for mass in masses)
    if not squares:
        return n / (m + n) * (first - ball(end))

    def part(x):
        shown = (b * (x.cos() - 1)).exp()
        return n * (n + m * shown) / (m * m + n * n + 2 * m * n * shown)

    return integral_over(part, ball(end), first)


def near(found, claimed, slack, **case):
    """Find that a number is the claimed one up to ``slack``, from both sides; in units of one.

    As a bound on the distance this would be the same, but a bound far below the digits of what is measured says nothing
    about how tight it is.
    """
    yield at_most(found, claimed + slack, scale=1, **case)
    yield at_least(found, claimed - slack, scale=1, **case)


def others(x):
    """Every pair but the first two, as balls of overlaps of the normalised points."""
    z = balls(x)
    z = z / np.array([[sum(c * c for c in row).sqrt()] for row in z], dtype=object)
    return z, [(i, j) for i in range(2, len(x)) for j in range(i)]


@cache
def gap_of(start):
    """By how much the overlap of the pair exceeds all others, of named clusters; infinite without others."""
    z, rest = others(STARTS[start].points)
    return hull(z[0] @ z[1] - max((z[i] @ z[j] for i, j in rest), key=lambda b: float(b.mid()))) if rest else None


def swayed(start, beta):
    """What the other clusters may add to a time or a distance of order one: exp(-beta gap), or nothing."""
    gap = gap_of(start)
    return Interval.exactly(0) if gap is None else np.exp(-beta * gap)


def unsure(start, beta):
    """That, and what the points add, which are unit vectors up to rounding: it moves the exponents of all clocks."""
    rounding = 2.0**-47 * (1.0 + beta)
    return swayed(start, beta) + Interval(-rounding, rounding)


@cache
def angle_of(start):
    """The angle of the pair of named clusters at the start."""
    z, _ = others(STARTS[start].points)
    return (z[0] @ z[1]).acos()


DERIVED = ("derived",)
PAPER = ("geshkovski2024",)
log_lifetime = cache(log_lifetime)


def unit(x):
    """Directions, enclosed."""
    return x / norm(x, axis=-1, keepdims=True)


def plane(rng, d):
    """Two orthogonal directions, enclosed."""
    given = exact(np.linalg.qr(rng.normal(size=(d, 2)))[0].T)
    first = unit(given[0])
    return np.stack([first, unit(given[1] - (given[1] @ first) * first)])


@verifies(
    Claim(
        "metastable.reduction",
        "tokens in two clusters stay in two clusters on one circle, and one equation moves their angle",
        r"SA, masses $a + b = 1$, $E = e^{\beta(1 - \cos\varphi)}$, $r = \frac ab + \frac ba$: $\dot\varphi = -\frac{rE + 2}{E^2 + rE + 1}\sin\varphi$, which is $-\frac{2\sin\varphi}{1 + E}$ for equal masses; USA: $\dot\varphi = -e^{\beta\cos\varphi}\sin\varphi$ for all masses",
        assumptions=(r"$0 < \varphi < \pi$", r"$\beta \ge 0$", "any dimension"),
        spec=("FR.F18",),
        cites=PAPER,
        source_status=DERIVED,
    ),
    bug("sign", "the cosine has the other sign", cosine=-1),
    constant("one", "one of the clusters stands still", both="1/2"),
    hypothesis("equal", "the masses are taken to be equal", ratio=equal),
    hypothesis("unnormalised", "the rows are not normalised", rules=(False, False)),
    hypothesis("strayed", "one token lies beside its cluster, off the circle", strayed=0.1),
)
def test_reduction(run, *, cosine=1, both=1, ratio=ratio_of, rules=(True, False), strayed=0.0):
    named = [(5, 5, 2, 2.0, 1.0), (1, 3, 3, 3.0, 1.5), (2, 7, 4, 0.0, 3.0), (4, 1, 2, 6.0, 0.25)]
    streams = list(run.streams(len(named) + run.pick(quick=12, paper=400)))
    for case, rng in enumerate(streams):
        m, n, d = (int(k) for k in rng.integers([1, 1, 2], [5, 5, 6]))
        beta, angle = float(rng.uniform(0.0, 5.0)), float(rng.uniform(0.1, 3.0))
        if case < len(named):
            m, n, d, beta, angle = named[case]
        axes = plane(rng, d)
        turn = exact(angle)
        first = axes[0]
        second = np.cos(turn) * axes[0] + np.sin(turn) * axes[1]
        aside = np.zeros((m + n, d))
        aside[0] = strayed * rng.normal(size=d)
        tokens = unit(np.repeat(np.stack([first, second]), [m, n], axis=0) + aside)
        for rule in (True, False):
            v = on_sphere(beta, normalised=rule)(tokens)
            measured = (v[0] @ second + first @ v[-1]) / np.sin(turn)
            changes = {"cosine": cosine, "both": ball(both), "ratio": ratio} if rule else {"cosine": cosine}
            masses = [ball(k) / (m + n) for k in (m, n)]
            claimed = hull(1 / delay(ball(angle), ball(beta), *masses, normalised=rules[not rule], **changes))
            scale = 1.0 if rule else math.exp(beta)
            case_ = {"m": m, "n": n, "d": d, "beta": beta, "angle": angle}
            yield equals(measured, claimed, scale=scale, rule="SA" if rule else "USA", **case_)
            apart = np.concatenate([v[:m] - v[0], v[m:] - v[-1]])
            yield equals(apart, 0, scale=scale, part="clusters stay", **case_)
            yield equals(v - (v @ axes.T) @ axes, 0, scale=scale, part="circle", **case_)


@verifies(
    Claim(
        "metastable.lifetime",
        "ten tokens in two clusters take the time that the integral says",
        r"$T = \int_\delta^{\varphi_0}\frac{E^2 + rE + 1}{rE + 2}\frac{d\varphi}{\sin\varphi}$, for equal masses $\int\frac{1 + E}{2\sin\varphi}d\varphi$, $22.04598$ at $\beta = 12$, $\varphi_0 = 1$, $\delta = .01$; USA: $\int\frac{e^{-\beta\cos\varphi}}{\sin\varphi}d\varphi$",
        assumptions=(r"$0 < \delta < \varphi_0 < \pi$",),
        spec=("FR.F18",),
        cites=PAPER,
        source_status=DERIVED,
    ),
    bug("sign", "the cosine has the other sign", cosine=-1),
    constant("one", "one of the clusters stands still", both="1/2"),
    hypothesis("equal", "the masses are taken to be equal", ratio=equal),
)
def test_lifetime(run, *, cosine=1, both=1, ratio=ratio_of):
    changes = {"cosine": cosine, "both": ball(both), "ratio": ratio}
    table = run.study(studies.passages)
    for name, time in zip(table["part"].tolist(), table.intervals("time"), strict=True):
        given = RUNS[name]
        if len(given.angles) > 2:
            continue
        masses = [ball(k) / sum(given.counts) for k in given.counts]
        claimed = log_elapsed(given.angles[1], given.end, given.beta, masses, normalised=given.normalised, **changes)
        yield equals(time, hull(claimed.exp()), run=name)
        if name == "equal":
            yield equals(hull(claimed.exp()), Interval.printed("22.04598"), run=name, part="printed")
    for start, end, beta, masses in (
        (1.0, 0.01, 12.0, (0.5, 0.5)), (1.0, 0.25, 0.5, (0.25, 0.75)), (2.5, 1.0, 40.0, (0.125, 3.0)),
        (3.0, 0.5, 200.0, (0.5, 0.25)),
    ):  # fmt: skip
        for rule in (True, False):
            told = log_lifetime(start, end, beta, weights=masses, normalised=rule)
            claimed = hull(log_elapsed(start, end, beta, masses, normalised=rule, **changes))
            yield equals(told, claimed, scale=1, part="formula", beta=beta, start=start, rule=rule)


def depth(angle):
    """The growth of log T with beta: 1 - cos of the angle."""
    return 1 - angle.cos()


def sinking(angle):
    """The same with the other sign of the cosine."""
    return 1 + angle.cos()


def flat(angle):
    """The same if T were a polynomial in beta."""
    return 0 * angle


def expansion(angle, order):
    """The coefficient of beta**-order in the relative expansion of T, with u = 1 - cos of the angle.

    T is the integral of exp(beta u) f / r over u, f = 1 / (u (2 - u)), so the coefficient is (-1)^k times the k-th
    derivative of f over f.
    """
    u = 1 - angle.cos()
    parts = 1 / u ** (order + 1) + (-1) ** order / (2 - u) ** (order + 1)
    return math.factorial(order) * parts * u * (2 - u) / 2


@verifies(
    Claim(
        "metastable.asymptote",
        "the lifetime of two clusters grows exponentially in beta, with a prefactor 1 / beta and the masses in it",
        r"$T \sim \frac{e^{\beta(1 - \cos\varphi_0)}}{r\beta\sin^2\varphi_0}\Big(1 + \frac{2\cos\varphi_0}{\beta\sin^2\varphi_0} + \frac{2(1 + 3\cos^2\varphi_0)}{\beta^2\sin^4\varphi_0} + \dots\Big)$, $r = \frac ab + \frac ba$; the ratio is $1.118, 1.044, 1.020$ ($\varphi_0 = 1$) and $1.038, 1.016, 1.008$ ($1.3$) at $\beta = 20, 40, 80$, $\delta = .01$",
        assumptions=(r"$\beta \to \infty$", r"$0 < \delta < \varphi_0 < \pi$"),
        spec=("FR.F18",),
        cites=PAPER,
        source_status=DERIVED,
    ),
    constant("polynomial", "the lifetime is a polynomial in beta", exponent=flat),
    constant("no-beta", "the prefactor has no 1 / beta", power=0),
    constant("half", "the next term is half as large", share="1/2"),
    constant("half-second", "the term after it is half as large", second="1/2"),
    bug("sign", "the cosine has the other sign", exponent=sinking),
    hypothesis("equal", "the masses are taken to be equal", ratio=equal),
)
def test_asymptote(run, *, exponent=depth, power=1, share=1, second=1, ratio=ratio_of):
    betas = [40.0 * 2**k for k in range(run.pick(quick=6, paper=9))]
    printed = {1.0: ("1.118", "1.044", "1.020"), 1.3: ("1.038", "1.016", "1.008")}
    for angle, masses in ((1.0, (0.5, 0.5)), (1.3, (0.5, 0.5)), (1.3, (0.25, 0.75)), (2.0, (0.5, 0.125))):
        case = {"angle": angle, "masses": masses}
        start = ball(angle)
        r = ratio(*(ball(m) for m in masses))

        def law(beta, start=start, r=r):
            b = ball(beta)
            return hull(b * exponent(start) - (r * b**power * start.sin() ** 2).log())

        logs = {beta: log_lifetime(angle, 0.01, beta, weights=masses) for beta in [20.0, *betas]}
        if masses == (0.5, 0.5):
            for beta, digits in zip((20.0, 40.0, 80.0), printed[angle], strict=True):
                excess = np.exp(logs[beta] - law(beta))
                yield equals(excess, Interval.printed(digits), beta=beta, part="printed", **case)
        growth = [(logs[2 * b] - logs[b] + hull(ball(2).log())) / b for b in betas[:-1]]
        yield equals(limit(growth, order=2), hull(exponent(start)), scale=1, part="exponent", **case)
        if not -600.0 < (logs[betas[-1]] - law(betas[-1])).mid < 600.0:
            continue  # a law that is so far off was refuted already, and its ratio overflows
        ratios = [np.exp(logs[b] - law(b)) for b in betas]
        yield equals(limit(ratios, order=1), 1, part="prefactor", **case)
        leading = Interval.exactly(1)
        for order, part in ((1, share), (2, second)):
            claimed = hull(ball(part) * expansion(start, order))
            ratios = [b * (value - leading) for b, value in zip(betas, ratios, strict=True)]
            leading = claimed
            yield equals(limit(ratios, order=1), claimed, scale=1, part=f"term {order}", **case)
        for beta in betas[:2]:
            for corrected in (False, True):
                more = ball(1) + ball(share) * expansion(start, 1) / ball(beta) if corrected else ball(1)
                told = log_asymptote(exact(angle), exact(beta), weights=masses, corrected=corrected)
                yield equals(told, law(beta) + hull(more.log()), scale=1, part="formula", beta=beta, **case)


ROUNDED = Interval(1.0 - 2.0**-47, 1.0 + 2.0**-47)  # of the angles at which the study stops


@cache
def tree(beta, *, ratio=ratio_of, squares=True, added=True):
    """Per step the logarithm of the time at which the pair has half of its energy, if it were alone, and the law."""
    a, b, c, d = (ball(m) for m in MASSES)
    half = (1 - ball(2).log() / ball(beta)).acos()
    first = ball(ANGLES[1])
    second = ball(ANGLES[3]) - ball(ANGLES[2])
    apart = ball(ANGLES[2]) + travelled(second, beta, (c, d), squares=squares)
    apart -= travelled(first, beta, (a, b), squares=squares)
    pairs = [(first, (a, b)), (second, (c, d)), (apart, (a + b, c + d) if added else (a, c))]
    alone = [log_elapsed(angle, half, beta, masses, ratio=ratio) for angle, masses in pairs]
    alone[2] = (alone[2].exp() + alone[1].exp()).log()
    laws = [ball(beta) * (1 - x.cos()) - (ratio(*masses) * ball(beta) * x.sin() ** 2).log() for x, masses in pairs]
    return list(zip(alone, laws, strict=True))


@verifies(
    Claim(
        "metastable.staircase",
        "the energy of four clusters climbs a staircase in log time, each step at the lifetime of a pair alone",
        r"masses $.3, .1, .4, .2$ at angles $0, .6, 1.6, 2.6$: $\log T_k$ is that of the pair alone, from where its clusters were formed, up to $e^{-\beta(\cos .6 - \cos 1)}$; until $T_k$ the energy, in units of its maximum, is $\sum_j m_j^2 + \theta e^{-\beta(1 - \cos\varphi)}$ with $2m_1m_2 \le \theta \le 1 - \sum_j m_j^2$",
        assumptions=(r"$\beta = 20, \dots, 320$", "SA on the circle"),
        spec=("FR.F18",),
        cites=PAPER,
        source_status=("derived", "seen"),
    ),
    hypothesis("equal", "the masses are taken to be equal", ratio=equal),
    hypothesis("lost", "a cluster that has formed has the mass of its first part", added=False),
    bug("barycentre", "pairs meet at their centre of mass", squares=False),
    constant("level", "a plateau lies lower by one part in a thousand", shift=0.999),
)
def test_staircase(run, *, ratio=ratio_of, squares=True, added=True, shift=1.0):
    table = run.study(studies.staircase)
    gap = hull(ball(ANGLES[1]).cos() - (ball(ANGLES[3]) - ball(ANGLES[2])).cos())
    a, b, c, d = (ball(m) for m in MASSES)
    held = [((a, b, c, d), 2 * a * b), ((a + b, c, d), 2 * c * d), ((a + b, c + d), 2 * (a + b) * (c + d))]
    for beta in STEEP:
        steps = tree(beta, ratio=ratio, squares=squares, added=added)
        for stage, ((claimed, _), (masses, pair)) in enumerate(zip(steps, held, strict=True), start=1):
            rows = table.where(beta=beta, stage=stage)
            (jump,) = rows.where(mark="jump").intervals("log_time")
            bound = np.exp(-beta * gap)
            yield from near(jump, hull(claimed), bound, beta=beta, stage=stage, part="time")
            level = hull(sum(m**2 for m in masses))
            for exponent, energy in zip(rows["exponent"].tolist(), rows.intervals("energy"), strict=True):
                lead = np.exp(-exponent * ROUNDED)
                where = {"beta": beta, "stage": stage, "exponent": exponent, "part": "plateau"}
                yield at_least(energy, shift * level + hull(pair) * lead, **where)
                yield at_most(energy, shift * level + (1 - level) * lead, **where)


@verifies(
    Claim(
        "metastable.steps",
        "each step comes at the asymptotic lifetime of its pair, and half of the time before it the energy has hardly moved",
        r"$\beta \to \infty$: $T_k\,r\beta\sin^2(\varphi_k)\,e^{-\beta(1 - \cos\varphi_k)} \to 1$ for the angle $\varphi_k$ at which the pair was formed; $e^{-\beta(1 - \cos\varphi)}$ has doubled at $T_k/2$, in the limit",
        assumptions=("the run of metastable.staircase",),
        spec=("FR.F18",),
        cites=PAPER,
        source_status=DERIVED,
    ),
    hypothesis("equal", "the masses are taken to be equal", ratio=equal),
    bug("barycentre", "pairs meet at their centre of mass", squares=False),
    constant("third", "it has doubled at two thirds of the time", left="1/3"),
)
def test_steps(run, *, ratio=ratio_of, squares=True, left="1/2"):
    table = run.study(studies.staircase)
    over, ages = {1: [], 2: [], 3: []}, {1: [], 2: [], 3: []}
    for beta in STEEP[1:]:
        for stage, (_, law) in enumerate(tree(beta, ratio=ratio, squares=squares), start=1):
            rows = table.where(beta=beta, stage=stage)
            (jump,), (half,) = (rows.where(mark=mark).intervals("log_time") for mark in ("jump", "doubled"))
            over[stage].append(np.exp(jump - hull(law)))
            ages[stage].append(np.exp(half - jump))
    for stage in (1, 2, 3):
        yield equals(limit(over[stage], order=1), 1, stage=stage, part="asymptote")
        yield equals(limit(ages[stage], order=1), hull(1 - ball(left)), stage=stage, part="doubled")


CITES = ("geshkovski2024",)
UNIQUE = "one pair of clusters is the closest"


def ordered(rng, k, d):
    """Draw k unit vectors, the closest pair first."""
    x = rng.normal(size=(k, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    near = x @ x.T - 2.0 * np.eye(k)
    i, j = np.unravel_index(int(near.argmax()), near.shape)
    return x[[i, j, *(m for m in range(k) if m not in (i, j))]]


def inverted(own, other):
    """The wrong way round: a heavy cluster moves more."""
    return own / other


def unweighted(own, other):
    """The speeds without masses."""
    return 1


@verifies(
    Claim(
        "merge.equation",
        "in the running clock the closest pair obeys an equation with its masses in it, and the others stand still",
        r"$dt = e^{\beta(1 - \langle x_1, x_2\rangle)}ds$, $q_k = \frac{1 - m_k}{m_k}$, $g$ the excess of $\langle x_1, x_2\rangle$ over all other overlaps: $\big|\frac{dx_k}{ds} - w_k\big| \le q_k^2e^{-\beta(1 - \langle x_1, x_2\rangle)} + q_ke^{-\beta g}$ with $w_1 = \frac{m_2}{m_1}\mathsf P^\perp_{x_1}x_2$, $w_2 = \frac{m_1}{m_2}\mathsf P^\perp_{x_2}x_1$, $w_k = 0$ else",
        assumptions=("SA", r"$\beta \ge 0$", "masses with sum one", UNIQUE),
        spec=("FR.F19",),
        cites=CITES,
        source_status=DERIVED,
    ),
    constant("unit-masses", "the limit has no masses", mass=unweighted),
    bug("inverted", "the masses stand the wrong way round", mass=inverted),
    hypothesis("frozen", "the clock keeps the overlap of an earlier time, lower by a tenth", late="1/10"),
)
def test_equation(run, *, mass=lambda own, other: other / own, late=0):
    named = [(STARTS["three"].points, STARTS["three"].weights, beta) for beta in (20.0, 40.0, 160.0)]
    for case, rng in enumerate(run.streams(len(named) + run.pick(quick=10, paper=300))):
        k, d = int(rng.integers(2, 6)), int(rng.integers(2, 6))
        x = ordered(rng, k, d)
        m = rng.dirichlet(np.full(k, 8.0))
        beta = float(rng.uniform(0.5, 60.0))
        if case < len(named):
            x = np.array(named[case][0])
            m = np.array(named[case][1])
            beta = named[case][2]
            k, d = x.shape
        z, rest = others(x)
        w = balls(m) / sum(balls(m))
        lead = z[0] @ z[1]
        gap = min((lead - z[i] @ z[j] for i, j in rest), key=lambda b: float(b.mid()), default=lead + 1)
        if not float(gap.mid()) > 0.0:
            continue
        pair = ClosestPair(x, m, beta)
        shown = (-ball(beta) * (1 - lead)).exp()
        tokens = exact(x) / norm(exact(x), axis=1, keepdims=True)
        lag = np.where(np.arange(k) < 2, 0.0, pair.gap)
        found = {"pair": np.exp(-beta * exact(lag))[:, np.newaxis] * pair.velocities(tokens)}
        if float((-shown.log()).mid()) < 8.0:
            found["field"] = hull(1 / shown) * on_sphere(beta, weights=m)(tokens)
        late_ = hull((ball(late) * ball(beta)).exp())
        for way, velocity in found.items():
            for own in range(k):
                claimed = np.zeros(d)
                if own < 2:
                    claimed = hull(mass(w[own], w[1 - own]) * (z[1 - own] - lead * z[own]))
                size = norm(late_ * velocity[own] - claimed)
                q = (1 - w[own]) / w[own]
                bound = hull(q * q * shown + q * (-ball(beta) * gap).exp())
                # one is added to both sides: the bound may lie far below the digits of what is measured
                yield at_most(1 + size, 1 + bound, scale=1, way=way, cluster=own, n=k, d=d, beta=beta)


@cache
def clock(start, end, beta=None, *, ratio=ratio_of):
    """The running clock of a pair alone, from the start of named clusters, or an angle, to another; or its limit."""
    named = start in STARTS
    first = angle_of(start) if named else ball(start)
    last = ball(end)
    r = ratio(*(ball(mass) for mass in STARTS[start if named else "three"].weights[:2]))
    if beta is None:
        return ((first / 2).tan() / (last / 2).tan()).log() / r

    def part(x):
        shown = (ball(beta) * (x.cos() - 1)).exp()
        return (1 + r * shown + shown * shown) / ((r + 2 * shown) * x.sin())

    return integral_over(part, last, first)


@verifies(
    Claim(
        "merge.running-clock",
        "in the running clock the pair comes to any angle in a time that converges, and never meets",
        r"$s_\beta(\varphi) \to s(\varphi) = \frac1r\log\frac{\tan(\varphi_0/2)}{\tan(\varphi/2)}$, $r = \frac{m_1}{m_2} + \frac{m_2}{m_1}$: the pair alone takes $\int\frac{E^2 + rE + 1}{E(rE + 2)}\frac{d\varphi}{\sin\varphi}$, the others change it by at most $e^{-\beta g}$, and $|s_\beta - s| \le rs\,e^{-\beta(1 - \cos\varphi)} + e^{-\beta g}$; masses $.5, .2, .3$ at $0, .8, 2.2$, $\varphi = .3$: $.454, .380, .3572$ at $\beta = 20, 40, 80$, $s = .3547$; $s_\beta(\varphi) \to \infty$ as $\varphi \to 0$, by at least $\frac{\log 2}r$ for each halving of $\tan(\varphi/2)$",
        assumptions=(
            "SA",
            UNIQUE,
            r"$\varphi > 0$",
            r"the three starts of the study: the bound by $e^{-\beta g}$ is decided there, not proved for all",
        ),
        spec=("FR.F19",),
        cites=CITES,
        source_status=DERIVED,
    ),
    constant("unit-masses", "the limit equation has no masses: .5144", ratio=equal),
    constant("finite", "the pair meets in finite rescaled time", more=0),
    constant("early", "it comes to every angle one per cent sooner", share=Fraction(99, 100)),
    bug("initial-overlap", "the clock keeps the overlap of the start", column="frozen"),
)
def test_running_clock(run, *, ratio=ratio_of, more=1, share=1, column="running"):
    table = run.study(studies.merging)
    printed = {20.0: ".454", 40.0: ".380", 80.0: ".3572"}
    for start, clusters in STARTS.items():
        r = hull(ball(ratio(*(ball(m) for m in clusters.weights[:2]))))
        for beta in BETAS:
            rows = table.where(start=start, beta=beta)
            slack = unsure(start, beta)
            for angle, found in zip(rows["angle"].tolist(), rows.intervals(column), strict=True):
                case = {"start": start, "beta": beta, "angle": angle}
                alone, whole = (hull(clock(start, angle, b, ratio=ratio)) for b in (beta, None))
                goal = share * whole
                yield from near(found, share * alone, slack, part="pair alone", **case)
                shown = hull((ball(beta) * (ball(angle).cos() - 1)).exp())
                yield from near(found, goal, r * goal * shown + slack, part="limit", **case)
                if angle == END and start == "three" and beta in printed:
                    yield equals(found, Interval.printed(printed[beta]), part="printed", **case)
                    yield equals(whole, Interval.printed(".3547"), part="printed limit", **case)
            if start == "three":
                (early,), (late,) = (rows.where(angle=a).intervals(column) for a in (0.02, 0.01))
                least = hull(ball(2).log()) / r
                yield at_least(late - early + slack.hi, least, start=start, beta=beta, part="a halving")
                claimed = more * hull(clock(0.02, 0.01, beta, ratio=ratio))
                yield from near(late - early, claimed, slack, part="a halving", start=start, beta=beta)


@verifies(
    Claim(
        "merge.next-order",
        "the running clock runs late by an exponentially small time, of which the prefactor is known",
        r"$(s_\beta(\varphi) - s(\varphi))\,\beta\sin^2\varphi\,e^{\beta(1 - \cos\varphi)} \to 1 - \frac2{r^2}$",
        assumptions=("SA", UNIQUE, r"$\beta \to \infty$", r"$1 - \cos\varphi < g$"),
        spec=("FR.F19",),
        cites=CITES,
        source_status=("derived",),
    ),
    constant("one", "the prefactor is one", less=0),
    constant("power", "it has a root of beta", power=0.5),
    hypothesis("equal", "the masses are taken to be equal", ratio=equal),
    bug("late", "the exponent is that of twice the angle", times=2),
)
def test_next_order(run, *, less=2, power=1.0, ratio=ratio_of, times=1):
    table = run.study(studies.merging)
    for start, clusters in STARTS.items():
        r = hull(ball(ratio(*(ball(m) for m in clusters.weights[:2]))))
        scaled = []
        for beta in BETAS[-4:]:
            (found,) = table.where(start=start, beta=beta, angle=END).intervals("running")
            unit = hull(
                ball(beta) ** ball(power) * ball(END).sin() ** 2 * (ball(beta) * (1 - ball(times * END).cos())).exp()
            )
            scaled.append((found - hull(clock(start, END, ratio=ratio))) * unit)
            case = {"start": start, "beta": beta, "part": "size"}
            yield at_least(scaled[-1], -swayed(start, beta) * unit, scale=1, **case)  # as the start is acute
            yield at_most(scaled[-1], 1 + swayed(start, beta) * unit, scale=1, **case)
        yield equals(limit(scaled, order=power), 1 - less / (r * r), scale=1, start=start)


@verifies(
    Claim(
        "merge.frozen-clock",
        "in a clock that keeps the overlap of the start the pair meets at once, as beta grows",
        r"$\sigma = e^{-\beta(1 - \cos\varphi_0)}t$: $\sigma_\beta(\varphi)\,r\beta\sin^2\varphi_0 \to 1$ for every $\varphi < \varphi_0$, so $\sigma_\beta \to 0$; the next term is $\frac{2\cos\varphi_0}{\beta\sin^2\varphi_0}$; masses $.5, .2, .3$ at $0, .8, 2.2$: $.042, .018, .0087$ at $\beta = 20, 40, 80$",
        assumptions=("SA", UNIQUE, r"$\beta \to \infty$"),
        spec=("FR.F19",),
        cites=CITES,
        source_status=DERIVED,
    ),
    constant("limit-equation", "it converges to the time of the limit equation", goal=lambda s: hull(1 / s)),
    constant("unit-masses", "it has no masses", ratio=equal),
    constant("half", "the next term is half as large", share=Fraction(1, 2)),
    bug("running", "the clock is the running one", column="running"),
)
def test_frozen_clock(run, *, goal=None, ratio=ratio_of, share=1, column="frozen"):
    table = run.study(studies.merging)
    printed = {20.0: ".042", 40.0: ".018", 80.0: ".0087"}
    for start, clusters in STARTS.items():
        masses = clusters.weights[:2]
        first = angle_of(start)
        r = ratio(*(ball(m) for m in masses))
        ratios = []
        betas = BETAS[2:]
        for beta in BETAS:
            rows = table.where(start=start, beta=beta, angle=END)
            (found,) = rows.intervals(column)
            if start == "three" and beta in printed:
                whole = hull(clock(start, END))  # the time of the limit equation, next to which digits are printed
                yield equals(found, Interval.printed(printed[beta]), scale=whole, part="printed", beta=beta)
            unit = hull(r * ball(beta) * first.sin() ** 2)
            if goal is not None:
                unit = goal(clock(start, END))
            if beta in betas:
                ratios.append(found * unit)
        yield equals(limit(ratios, order=1), 1, part="prefactor", start=start)
        claimed = share * hull(2 * first.cos() / first.sin() ** 2)
        terms = [beta * (value - 1) for beta, value in zip(betas, ratios, strict=True)]
        yield equals(limit(terms, order=1), claimed, scale=1, part="next order", start=start)
    tokens = run.study(studies.passages)
    for name, given in RUNS.items():
        if len(given.angles) == 3:
            (time,) = tokens.where(part=name).intervals("time")
            clock_ = time * hull((-ball(given.beta) * (1 - ball(given.angles[1]).cos())).exp())
            (found,) = table.where(start="three", beta=given.beta, angle=given.end).intervals(column)
            yield equals(clock_, found, part="ten tokens", beta=given.beta)


meeting_point = cache(meeting_point)


def neighbour(m, n, k):
    """The ratio of masses by which the third cluster is moved: its neighbour's to its own."""
    return n / k


def alike(m, n, k):
    """The same if the masses were equal."""
    return 1


@verifies(
    Claim(
        "merge.others",
        "while the closest pair merges, the other clusters move exponentially little",
        r"a cluster of mass $m_k$ travels at most $\frac{1 - m_k}{m_k}s\,e^{-\beta g}$; masses $m, n, k$ on the circle, $n$ between the others at the angles $\varphi < \theta$: $\beta e^{\beta g}$ times what the third travels tends to $\frac nk\,\frac{\sin\theta}{r\sin\varphi\,(\sin\varphi + \frac{m^2}{m^2 + n^2}\sin\theta)}$, $g = \cos\varphi - \cos\theta$; below $10^{-11}$ for $\beta \ge 40$ at $0, .8, 2.2$",
        assumptions=("SA", UNIQUE, "the gap g is smallest at the start"),
        spec=("FR.F19",),
        cites=CITES,
        source_status=DERIVED,
    ),
    constant("square", "they move like the square of that exponential", power=2),
    constant("double", "the prefactor is twice as large", factor=2),
    hypothesis("equal", "the third cluster moves as if the masses were equal", pull=alike),
    bug("frozen", "the pair is taken to stand still for the third cluster", share=0),
    hypothesis("warmer", "what is printed for beta >= 40 is claimed for beta = 20", coldest=20.0),
)
def test_others(run, *, power=1, factor=1, pull=neighbour, share=1, coldest=40.0):
    table = run.study(studies.merging)
    for start in ("three", "sphere"):
        clusters = STARTS[start]
        least = ball(min(clusters.weights[2:]))
        q = hull((1 - least) / least)
        gap = gap_of(start)
        scaled = []
        for beta in BETAS:
            rows = table.where(start=start, beta=beta)
            cells = (rows["angle"].tolist(), rows.intervals("running"), rows.intervals("others"))
            for angle, s, moved in zip(*cells, strict=True):
                bound = q * s * np.exp(-power * beta * gap)
                if angle < END:
                    continue
                yield at_most(moved, bound, scale=np.exp(-beta * gap), start=start, beta=beta, angle=angle)
            (moved,) = rows.where(angle=END).intervals("others")
            scaled.append(beta * moved / np.exp(-beta * gap))
            if start == "three" and beta >= coldest:
                yield at_most(moved, Fraction(1, 10**11), start=start, beta=beta, part="printed")
        if start == "three":
            m, n, k = (ball(mass) for mass in clusters.weights)
            near, far = ball("4/5"), ball("7/5")
            along = near.sin() + share * m * m / (m * m + n * n) * far.sin()
            claimed = factor * hull(pull(m, n, k) * far.sin() / (ratio_of(m, n) * near.sin() * along))
            yield equals(limit(scaled[-4:], order=1), claimed, start=start, part="prefactor")


@cache
def on_the_way(start, beta, m, n, *, squares):
    """What the first of named clusters has travelled at the end of the study, for these masses."""
    return travelled(angle_of(start), beta, (m, n), END, squares=squares)


@verifies(
    Claim(
        "merge.meeting-point",
        "two clusters meet where the squares of their masses balance, not at their centre of mass",
        r"the first travels $\int_0^{\varphi_0}\frac{n(nE + m)}{(m^2 + n^2)E + 2mn}d\varphi$ of the angle $\varphi_0$, $E = e^{\beta(1 - \cos\varphi)}$; as $\beta \to \infty$ a share $\frac{n^2}{m^2 + n^2}$, and $\sqrt\beta$ times the rest tends to $\frac{mn(m^2 - n^2)}{m^2 + n^2}\int_0^\infty\frac{dy}{(m^2 + n^2)e^{y^2/2} + 2mn}$; without normalisation a share $\frac n{m + n}$ for all $\beta$",
        assumptions=(
            "SA, masses m and n",
            r"$0 < \varphi_0 < \pi$",
            r"the three starts of the study: the bound by $e^{-\beta g}$ is decided there, not proved for all",
        ),
        spec=("FR.F19",),
        cites=CITES,
        source_status=("derived",),
    ),
    constant("barycentre", "they meet at their centre of mass", squares=False),
    constant("half", "the next term is half as large", part="1/2"),
    bug("inverted", "the heavier cluster travels farther", turned=True),
    hypothesis("softmax", "the rows are normalised where they should not be", normalised=True),
)
def test_meeting_point(run, *, squares=True, part=1, turned=False, normalised=False):
    table = run.study(studies.merging)
    for start, clusters in STARTS.items():
        m, n = clusters.weights[:2][:: -1 if turned else 1]
        for beta in BETAS:
            rows = table.where(start=start, beta=beta, angle=END)
            claimed = hull(on_the_way(start, beta, m, n, squares=squares))
            (found,) = rows.intervals("first")
            yield from near(found, claimed, unsure(start, beta), start=start, beta=beta, part="on the way")
    betas = [100.0 * 2.0**k for k in range(run.pick(quick=8, paper=12))]
    for angle, given in ((1.0, (0.75, 0.25)), (2.5, (0.1, 0.4)), (0.5, (0.5, 0.5))):
        points = [meeting_point(angle, beta, weights=given) for beta in betas]
        a, b = (ball(mass) for mass in (given[::-1] if turned else given))
        whole, twice = a * a + b * b, 2 * a * b
        goal = hull(ball(angle) * (b * b / whole if squares else b / (a + b)))
        yield equals(limit(points, order=0.5), goal, angle=angle, masses=given, part="squares")
        for beta, found in list(zip(betas, points, strict=True))[:2]:
            alone = hull(travelled(angle, beta, (a, b), squares=squares))
            yield equals(found, alone, angle=angle, masses=given, beta=beta, part="formula")
        # beyond y = 16 the integrand is below exp(-128)
        tail = integral_over(lambda y, w=whole, t=twice: 1 / (w * (y * y / 2).exp() + t), ball(0), ball(16))
        claimed = hull(ball(part) * twice * (a * a - b * b) / (2 * whole) * tail) + Interval(-1e-50, 1e-50)
        rest = [np.sqrt(exact(beta)) * (found - goal) for beta, found in zip(betas, points, strict=True)]
        yield equals(limit(rest, order=0.5), claimed, scale=1, angle=angle, masses=given, part="next term")
    for time, found in zip((0.5, 1.0, 2.0), centres(normalised), strict=True):
        yield equals(found, hull(ball("4/5") * ball("3/2")), time=time, part="unnormalised")


@cache
def centres(normalised):
    """The centre of mass of two clusters at angles 0 and 1.5, of masses 1/5 and 4/5, at later times."""
    masses = np.array([0.2, 0.8])
    x = np.column_stack([np.cos([0.0, 1.5]), np.sin([0.0, 1.5])])
    path = flow(on_sphere(1.0, normalised=normalised, weights=masses), x, [0.0, 0.5, 1.0, 2.0])
    return path.observe(lambda z: float(masses @ np.arctan2(z[:, 1], z[:, 0])))[1:]
