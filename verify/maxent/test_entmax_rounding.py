"""What halving and rounding cost entmax: the bracket, the edge of the support above order 2, and orders near 1."""

import itertools

import numpy as np

from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    ball,
    balls,
    bug,
    constant,
    exact,
    hypothesis,
    outcome,
    verifies,
)
from theory.evidence.roundoff import U
from theory.maxent import entmax, studies
from theory.maxent.sparse import bisect_entmax
from verify.maxent.test_entmax import definition, missed, weight_bound
from verify.textbook import hull

SOURCES = ("peters2019", "blondel2020")
DERIVED = ("derived", "refereed")


def slack(z, alpha, halvings):
    """What rounding adds to the base of the power, in ``halvings`` steps of halving a bracket near max z - 1.

    A score times alpha - 1, the ends, every midpoint and the difference round by u of numbers up to 1 + max |z|; the
    sum of n powers decides wrongly only if it is within (n + 8) u of 1, which moves a threshold by (alpha - 1) times it,
    because the mass falls at least at the rate 1 / (alpha - 1).
    """
    return U * ((halvings + 10.0) * (1.0 + float(np.abs(z).max())) + (z.size + 8.0) * (alpha - 1.0))


def truth(s, alpha):
    return definition(tuple(s.tolist()), alpha)


def apart(law, exact):
    """The largest distance of floats to balls, without rounding the balls."""
    return hull(max(abs(balls(law) - exact), key=float))


def edge(alpha, halvings):
    """Scores of which the third keeps exactly the last bracket as its base, beside a midpoint well up the first one."""
    e = alpha - 1.0
    width = 1.0 - 3.0**-e
    step = 2.0 ** -max(1, round(0.66 * e))
    low = -1.0 + (1.0 - step) * width
    last = width * 2.0**-halvings
    theta = low + 1e-13  # so that the midpoint is below it however it is rounded
    rest = 1.0 - (-theta) ** (1.0 / e) - (low + last - theta) ** (1.0 / e)
    return np.array([0.0, theta + rest**e, low + last - 1e-15]) / e if rest > 0.0 else None


def halvings_of(run, alpha):
    """Yield scores and numbers of halvings: random ones, then the witnesses at which the last bracket is attained."""
    for rng in run.draws(quick=2, paper=30):
        s = rng.normal(size=int(rng.integers(2, 16))) * float(rng.choice([0.3, 3.0]))
        for k in (1, 6, 25, 60):
            yield s, k
    for k in (4, 7, 10, 14):
        s = edge(alpha, k)
        if s is not None:
            yield s, k


@verifies(
    Claim(
        "entmax.bisection",
        "k halvings of the bracket of the threshold leave a weight off by a power of 2^-k, the power 1 / (alpha - 1) above order 2",
        r"$|\Delta\theta| \le D_k = (1 - n^{1-\alpha})2^{-k} + \epsilon$, $|\Delta p_i| \le \frac{D_k}{\alpha-1}$ for $1 < \alpha \le 2$ and $\le D_k^{1/(\alpha-1)}$ for $\alpha > 2$, $\epsilon = u[(k+10)(1 + \max|z|) + (n+8)(\alpha-1)]$, nearly attained",
        assumptions=(r"$\alpha > 1$", r"$z = (\alpha - 1)s$", "weights not divided by their sum"),
        spec=("RA.D9",),
        cites=SOURCES,
        source_status=DERIVED,
    ),
    constant("half", "one halving more is taken for granted", halved=1.0),
    hypothesis("linear", "the bound is D_k / (alpha - 1) above order 2 as well", linear=True),
    bug("unscaled", "the scores are not multiplied by alpha - 1", unscaled=True),
    constant("exceeded", "the power of the last bracket is not only nearly attained but exceeded", reached=1.01),
)
def test_bisection(run, *, halved=0.0, linear=False, unscaled=False, reached=0.99):
    for alpha in (1.25, 1.5, 2.0, 2.5, 3.0, 5.0, 10.0):
        e = alpha - 1.0
        inverse = 1 / ball(alpha - 1.0)
        for s, k in halvings_of(run, alpha):
            law = bisect_entmax(s / e if unscaled else s, alpha, k)
            off = apart(law, truth(s, alpha))
            size = (1 - ball(s.size) ** -e) * 2.0 ** -(k + halved) + slack(e * s, alpha, k)
            bound = size / e if linear or alpha <= 2.0 else size**inverse
            yield outcome(at_most(off, bound, scale=bound, alpha=alpha, n=s.size, halvings=k))
        if alpha > 2.0:
            last = ((1 - ball(3) ** -e) * 2.0**-k) ** inverse
            off = apart(bisect_entmax(s, alpha, k), truth(s, alpha))
            yield outcome(at_least(off, reached * last, scale=last, alpha=alpha, halvings=k, part="attained"))


def to_power(law, exponent):
    """The powers of balls that are positive or exactly zero."""
    return np.array([x ** ball(exponent) if x > 0 else x * 0 for x in law])


def moves(run, alpha):
    """Yield scores before and after they moved: random ones, then one of many small weights that is taken away."""
    for rng in run.draws(quick=3, paper=60):
        x = rng.normal(size=int(rng.integers(2, 10))) * 0.5
        yield x, x + float(rng.choice([1e-3, 0.1])) * rng.normal(size=x.size)
    # many equal small weights hold the threshold at 0 while one of them is taken away, from below or from both sides
    n, small = 20, 1e-3
    x = np.append(1.0 - (n - 1) * small, np.full(n - 1, small)) ** (alpha - 1.0) / (alpha - 1.0)
    y = x.copy()
    y[1] = 0.0 if alpha > 2.0 else x[1] / 2.0
    yield x, y
    yield x, y + (x[1] - y[1]) / 2.0


def extremal(alpha):
    """Two weights before and after, of laws whose scores p^e / e have them at threshold 0.

    One of m + 1 small weights falls to nothing and m share it, or a weight near 1 gives to m others.
    """
    share = ball(1) / 1000
    if alpha > 2.0:
        m = ball(10**3)
        return [share / m, share / m], [ball(0), share / m * (m + 1) / m]
    m = ball(10**40)
    return [1 - share, share / m], [1 - 2 * share, 2 * share / m]


@verifies(
    Claim(
        "entmax.hoelder",
        "above order 2 entmax is Hoelder continuous with exponent 1 / (alpha - 1), and no better",
        r"$\max_i|p_i(s) - p_i(s')| \le [(\alpha - 1)\,\mathrm{osc}(s - s')]^{1/(\alpha-1)}$ for $\alpha \ge 2$ and $\le \mathrm{osc}(s - s')$ for $1 < \alpha \le 2$; exponent and constant are sharp as $n \to \infty$",
        assumptions=(r"$\alpha > 1$", r"$\mathrm{osc}(d) = \max d - \min d$", "temperature 1"),
        spec=("RA.D7", "RA.D9"),
        cites=SOURCES,
        source_status=("derived",),
    ),
    constant("exponent", "the exponent is 1.1 / (alpha - 1)", better=1.1),
    constant("near", "the constant is three quarters of it", factor=0.75),
    hypothesis(
        "lipschitz", "entmax is Lipschitz above order 2: with exponent 1 and constant alpha - 1", lipschitz=True
    ),
    bug("half", "the oscillation is taken for the largest change", half=True),
)
def test_hoelder(run, *, better=1.0, factor=1.0, lipschitz=False, half=False):
    def bound_of(change, alpha):
        size = max(abs(change), key=float) if half else max(change, key=float) - min(change, key=float)
        if alpha <= 2.0 or lipschitz:
            return factor * max(alpha - 1.0, 1.0) * size
        return factor * (size * (alpha - 1.0)) ** (ball(better) / ball(alpha - 1.0))

    for alpha in (1.5, 2.0, 2.5, 3.0, 5.0):
        for x, y in moves(run, alpha):
            bound = bound_of(balls(x) - balls(y), alpha)
            moved = max(abs(truth(x, alpha) - truth(y, alpha)), key=float)
            yield at_most(moved, bound, scale=bound, alpha=alpha, n=x.size)
        before, after = extremal(alpha)
        change = (to_power(before, alpha - 1.0) - to_power(after, alpha - 1.0)) / ball(alpha - 1.0)
        bound = bound_of(change, alpha)
        moved = before[0] - after[0]
        yield at_most(moved, bound, scale=bound, alpha=alpha, part="sharp")
        yield at_least(moved, 0.99 * bound, scale=bound, alpha=alpha, part="sharp")


@verifies(
    Claim(
        "entmax.edge",
        "above order 2 halving the threshold loses u^(1/(alpha - 1)) beside a change of the support; for two scores it need not",
        r"scores $0$ and $-d$, $0 < 1 - (\alpha - 1)d$: halving errs by at most $(16\alpha u)^{1/(\alpha-1)}$ and, for $\alpha \ge \frac52$ as the edge is approached, by at least $\frac12u^{1/(\alpha-1)}$; the law of sum one between those of two neighbouring largest weights errs by at most $8\alpha u$",
        assumptions=(
            r"$\alpha \ge 2$",
            r"$u = 2^{-53}$",
            "weights divided by their sum",
            "the larger score is 0: halving does not shift them",
            r"both factors are seen and not derived, at $1 - (\alpha - 1)d \approx 2^{-k}$, $k \le 51$, $\alpha \le 12$; entmax.bisection has a derived one",
        ),
        spec=("RA.D9",),
        cites=("higham2002", *SOURCES),
        source_status=DERIVED,
    ),
    bug("plain", "the law is the one that halving returns", solver="plain"),
    constant("linear", "halving loses 8 alpha u only", exponent=1.0),
    constant("worse", "halving loses the root of u at every order, as at order 3", root=True),
    hypothesis("lifted", "the larger score is 10^5", top=1e5),
)
def test_edge(run, *, solver="ours", exponent=None, root=False, top=0.0):
    table = run.study(studies.conditioning).where(part="edge")
    worst = {}
    for alpha, plain, ours in zip(
        table["alpha"].tolist(), table.intervals("plain"), table.intervals(solver), strict=True
    ):
        if alpha >= 2.0:
            power = exponent or (0.5 if root else 1 / ball(alpha - 1.0))
            lost = ball(16.0 * alpha * U) ** power
            yield outcome(at_most(plain, lost, scale=lost, alpha=alpha, part="halving"))
            yield outcome(at_most(ours, 8.0 * alpha * U, scale=U, alpha=alpha, part="between"))
            worst[alpha] = Interval.largest([worst.get(alpha, plain), plain])
    for k in (4, 12, 20, 28):
        s = np.array([top, top - (1.0 - 2.0**-k) / 4.0])  # a float beside 10^5 as well
        lost = ball(80.0 * U) ** (exponent or (0.5 if root else 0.25))
        off = missed(bisect_entmax(s, 5.0, 60, normalised=True), s, 5.0)
        yield outcome(at_most(off, lost, scale=lost, alpha=5.0, top=top, part="halving"))
    for alpha, off in worst.items():
        if alpha >= 2.5:
            least = 0.5 * ball(U) ** (0.5 if root else 1 / ball(alpha - 1.0))
            yield outcome(at_least(off, least, scale=least, alpha=alpha, part="attained"))


def crowded(e, n, ties=1):
    """Scores of which all but a few lie within roundings of the edge of the support, so that many could share in it."""
    reach = float(ties) ** -e / e
    return np.append(np.zeros(ties), -reach + (1 + np.arange(n - ties) % 4) * np.spacing(reach))


@verifies(
    Claim(
        "entmax.conditioning",
        "above order 2 the solver stays within the conditioning of the map, a power of a few roundings, also where it is steepest",
        r"$\max_i|\Delta p_i| \le (8\alpha u)^{1/(\alpha-1)}$ for $2 < \alpha \le 10$ and any number of scores; at $\alpha = 5$, $p \approx (1 - 2\varepsilon, \varepsilon, \varepsilon)$ more than $8\alpha u$ is lost",
        assumptions=(r"$\alpha > 2$", r"$u = 2^{-53}$", "temperature 1", r"judged up to $n = 10^5$"),
        spec=("RA.D9",),
        cites=("higham2002", *SOURCES),
        source_status=("derived",),
    ),
    bug("plain", "the threshold is halved and the powers are divided by their sum", plain=True),
    constant("linear", "the error is linear in u, as for two scores", linear=True),
    hypothesis("flat", "the order is 3/2, where the power is flat and a rounding stays one", orders=(1.5,)),
)
def test_conditioning(run, *, plain=False, linear=False, orders=(2.0625, 2.5, 3.0, 5.0, 10.0)):
    for alpha in orders:
        e = alpha - 1.0
        bound = ball(8.0 * alpha * U) ** (1 if linear else 1 / ball(e))
        # ties on the edge of the support, then small weights of which the base is a few roundings, so that the last
        # digit of a score decides on the support
        rows = [np.append(0.0, np.full(n, -(1.0 - 2.0**-30) / e)) for n in (2, 5, 20)]
        rows += [crowded(e, 10**5 if alpha == 5.0 else 3000), crowded(e, 3000, ties=2)]
        for times, n, fall in itertools.product((1.0, 5.0), (3, 6), (2.0, 5.0)):
            small = times * U ** (1.0 / e)
            law = np.append(1.0 - (n - 1) * small, np.full(n - 1, small))
            level = law**e / e
            rows.append(level - level[0] - np.append(0.0, level[1] * fall * np.linspace(1.0, 0.1, n - 1)))
        rows += [rng.normal(size=int(rng.integers(3, 16))) / e for rng in run.draws(quick=2, paper=40)]
        for s in rows:
            law = bisect_entmax(s, alpha, 60, normalised=True) if plain else entmax(s, alpha)
            yield outcome(at_most(missed(law, s, alpha), bound, scale=bound, alpha=alpha, n=s.size))


@verifies(
    Claim(
        "entmax.near-one",
        "computed by exp and log1p entmax keeps a few roundings at all orders from 1/2 to 2, order 1 and its neighbours included",
        r"$p_i = \exp\big(\frac{\mathrm{log1p}((\alpha-1)(s_i-\nu))}{\alpha-1}\big)$: $|\Delta p_i| \le (6 + 3\log n)u$ for $\frac12 \le \alpha \le 2$",
        assumptions=(r"$u = 2^{-53}$", "temperature 1", r"judged up to $n = 10^5$"),
        spec=("RA.D9",),
        cites=("higham2002", *SOURCES),
        source_status=DERIVED,
    ),
    bug("power", "the power (z - theta)^(1/(alpha - 1)) is taken as it is written", power=True),
    constant("twentieth", "it keeps a twentieth of that", share=0.05),
)
def test_near_one(run, *, power=False, share=1.0):
    near = [1.0 + side * 10.0**-k for k in (1, 3, 6, 9, 12, 15) for side in (1.0, -1.0)]
    orders = [0.5, 0.75, *near, 1.0, 1.5, 1.9, 2.0]
    for number, alpha in enumerate(orders):
        rows = [np.array([0.1, 0.0]), np.array([1.0, 1.0, 0.3, -0.2])]
        rows += [np.append(37.43014710453859, np.zeros(126)), np.append(11.5, np.zeros(10**5 - 1))][
            : 1 + (number % 5 == 2)
        ]
        count = run.pick(quick=2, paper=30)
        streams = list(run.streams(count * len(orders)))[count * number : count * (number + 1)]
        rows += [rng.normal(size=int(rng.integers(2, 30))) * float(rng.choice([0.5, 4.0])) for rng in streams]
        for s in rows:
            law = bisect_entmax(s, alpha, 60, normalised=True) if power and alpha > 1.0 else entmax(s, alpha)
            bound = share * weight_bound(s.size)
            yield outcome(at_most(missed(law, s, alpha), bound, scale=U, alpha=alpha, n=s.size))


@verifies(
    Claim(
        "entmax.power-form",
        "near order 1 the power form loses u / (alpha - 1)",
        r"scores $0$ and $-d$: $|\Delta p| \le \frac u{\alpha-1} + 4u$, and at some scores $|\Delta p| \ge \frac u{50(\alpha-1)}$, $10^{-15} \le \alpha - 1 \le 10^{-3}$; $\exp$ of $\mathrm{log1p}$ keeps $9u$",
        assumptions=(
            r"$u = 2^{-53}$",
            "weights divided by their sum",
            "the larger score is 0: the power form does not shift them",
            r"seen at ten distances d up to $\sqrt{11}$, $(\alpha - 1)d < 1$",
        ),
        spec=("RA.D9",),
        cites=("higham2002", *SOURCES),
        source_status=DERIVED,
    ),
    constant("harmless", "it keeps four roundings", lost=0.0),
    bug("log1p", "the law is the one computed by exp and log1p", solver="ours"),
    bug("plain", "the law that is computed by exp and log1p is the one of the power form", other="plain"),
    hypothesis("lifted", "the larger score is 10^5", top=1e5),
)
def test_power_form(run, *, lost=1.0, solver="plain", other="ours", top=0.0):
    table = run.study(studies.conditioning).where(part="near")
    worst = {}
    for excess, off, kept in zip(
        table["excess"].tolist(), table.intervals(solver), table.intervals(other), strict=True
    ):
        yield outcome(at_most(kept, 9.0 * U, scale=U / excess, excess=excess, part="log1p"))
        most = lost * U / exact(excess) + 4.0 * U
        yield outcome(at_most(off, most, scale=U / excess, excess=excess, part="most"))
        worst[excess] = Interval.largest([worst.get(excess, off), off])
    excess = 1.001 - 1.0
    for k in range(1, 9):
        s = np.array([top, top - k / 8.0])
        off = missed(bisect_entmax(s, 1.0 + excess, 60, normalised=True), s, 1.0 + excess)
        most = lost * U / excess + 4.0 * U
        yield outcome(at_most(off, most, scale=U / excess, excess=excess, top=top, part="most"))
    for excess, off in worst.items():
        if excess < 2e-3:
            least = U / (50.0 * exact(excess))
            yield outcome(at_least(off, least, scale=U / excess, excess=excess, part="attained"))
