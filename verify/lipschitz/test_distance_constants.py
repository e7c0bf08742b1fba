"""Distance attention with matrices, in W_p, with another kernel, and on bounded sets."""

from functools import cache, partial

import numpy as np

from theory.attention import AttentionKernel, DotProduct, Measure, SelfAttention, SquaredDistance, attend, step
from theory.distance import w1
from theory.evidence import (
    Claim,
    Interval,
    at_most,
    ball,
    balls,
    bug,
    constant,
    equals,
    exact,
    hull,
    hypothesis,
    norm,
    sup_over,
    verifies,
)
from theory.evidence.once import once
from theory.evidence.spectra import spectral_norm
from theory.lipschitz import displacement_ratio, enclosed_jacobian, studies, witnesses, wp_line
from theory.lipschitz.constants import atoms_constant, near_constant
from verify.inputs import UNITS
from verify.textbook.lambert import FAR, FIRST, SCORE, Laplace, attended, bound, dyadic, moves, near, pushed_apart

KIM = ("kim2021",)
MIRROR = np.array([[10.0], [-5.0], [-15.0]])  # two tokens at equal distances from the image of the first
supremum = cache(sup_over)


@verifies(
    Claim(
        "distance-attention.scaled",
        "with one matrix for queries and keys and its square for values, the constant is multiplied by the norm of that square",
        r"$\tilde F(X) = PXM$, $M = WW^\top/s$, scores $-|W^\top(x_i - x_j)|^2/s$: $\max_i|\tilde F_i(X) - \tilde F_i(Y)| \le \|M\|_2(1 + 4c_N)\max_i|x_i - y_i|$",
        assumptions=("queries and keys share W",),
        spec=("MA.R3",),
        cites=KIM,
        source_status=("derived", "refereed"),
    ),
    constant("two", "the factor is two, not four", slope=2),
    bug("unsquared", "the norm of W stands for that of its square", squared=False),
    hypothesis("untied", "keys have the matrix -W", key=-1.0),
)
def test_scaled(run, *, slope=4, squared=True, key=1.0):
    wide = np.diag([2.0, 0.5])
    name, x, y = pushed_apart(101)
    cases = [(wide, 1.0, name, np.hstack([x / 2, 0 * x]), np.hstack([y / 2, 0 * y]))]  # beta = 4 along the first axis
    cases.append((np.eye(1), 1.0, "mirror", MIRROR, MIRROR + FIRST))
    for number, rng in enumerate(run.draws(quick=10, paper=200)):
        n = int(rng.integers(2, 20))
        d = int(rng.integers(1, 4))
        s = float(rng.choice([1.0, 4.0]))
        w = dyadic(rng.normal(size=(d, d)), 3) + 0.0625 * np.eye(d)  # never zero
        unit = UNITS[number % len(UNITS)]
        cases += [(w / unit, s, name, unit * dyadic(x, 20), unit * dyadic(y, 20)) for name, x, y in moves(rng, n, d)]
    for w, s, name, x, y in cases:
        form = w @ w.T / s
        queries = [exact(cloud @ w / np.sqrt(s)) for cloud in (x, y)]  # exact, as the values are
        images = [attend(q, key * q, z @ form, score=SCORE) for q, z in zip(queries, (x, y), strict=True)]
        ratio = displacement_ratio(x, y, images)
        size = spectral_norm(form) if squared else spectral_norm(w) / exact(s)
        yield at_most(ratio, size * bound(len(x), slope=slope), n=len(x), d=x.shape[1], input=name)


def farthest():
    """The ball omega = (2 s - 1) / (2 sqrt(s)), where (2 s - 1) exp(s) = 1: the largest sqrt(s) / (exp(s) + 1)."""
    half = ball(0.5)
    s = half + (half * (-half).exp()).lambertw()
    return (2 * s - 1) / (2 * s.sqrt())


def unweighed():
    """The ball 1 / sqrt(2 e), the largest sqrt(s) exp(-s)."""
    return 1 / (2 * ball(1).exp()).sqrt()


@cache
def columns(n, *, others, omega):
    """The ball K_1 = others * (1/2 + 2 c_2 + 2 omega sqrt(c_n)) + 1 + 2 c_n."""
    return others * (ball(0.5) + 2 * near(2) + 2 * omega() * near(n).sqrt()) + 1 + 2 * near(n)


@cache
def bounds(n, p, power, every, omega):
    """The two constants in W_p, named, with twins' changes: the power of n in the one, the number of columns in the other."""
    rows, exponent = ball(n) ** (ball(power) / p), 1 / ball(p)
    column = columns(n, others=n - 1 if every else 1, omega=omega)
    return ("rows", hull(rows) * bound(n)), ("columns", hull(column**exponent * (1 + 4 * near(n)) ** (1 - exponent)))


@verifies(
    Claim(
        "distance-attention.atoms",
        "between equal numbers of equal masses distance attention is Lipschitz in every W_p, with a constant that grows with their number",
        r"$W_p$ constant $N^{1/p}(1 + 4c_N)$, and $K_1^{1/p}(1 + 4c_N)^{1 - 1/p}$ with $K_1 = (N - 1)(\frac12 + 2c_2 + 2\omega\sqrt{c_N}) + 1 + 2c_N$, $\omega = \max_s \sqrt s/(e^s + 1) = 0.277859$",
        assumptions=("N atoms of mass 1/N on both sides", r"$1 \le p < \infty$"),
        spec=("MA.R4",),
        cites=KIM,
        source_status=("derived", "refereed"),
    ),
    constant("size-free", "the constant of the largest displacement holds in W1", power=0),
    bug("one-column", "the factor N - 1 of the columns is lost", every=False),
    hypothesis("dot", "the scores are dot products", dot=True),
    bug(
        "unweighed",
        "the weight of two tokens lacks its normaliser: omega is the largest sqrt(s) exp(-s)",
        omega=unweighed,
    ),
)
def test_atoms(run, *, power=1, every=True, dot=False, omega=farthest):
    yield equals(supremum("w/(exp(w*w)+1)", w=(0, 6)), hull(omega()), part="omega")  # w = sqrt(s)
    yield equals(hull(omega()), Interval.printed("0.277859"), part="omega")
    table = run.study(studies.stars).where(family="star")
    for n, ratio in zip(table["n"].tolist(), table["ratio"], strict=True):
        for kind, claimed in bounds(n, 1, power, every, omega):
            yield at_most(ratio, claimed, n=n, p=1, bound=kind, input="star")
    cases = [(1.0, pushed_apart(n)) for n in (3, 101)] + [(1.0, ("far", FAR, FAR + FIRST))]
    for number, rng in enumerate(run.draws(quick=6, paper=150)):
        n = int(rng.choice([2, 3, 10, 25]))
        d = int(rng.integers(1, 5))
        unit = UNITS[number % len(UNITS)]
        cases += [(float(rng.uniform(0.1, 3.0)) / unit**2, move) for move in moves(rng, n, d, unit)]
    for beta, (name, x, y) in cases:
        score = DotProduct(beta) if dot else SquaredDistance(beta)
        n = len(x)
        for p in (1, 2, 3):
            ratio = attended_ratio(x, y, score, float(p))
            for kind, claimed in bounds(n, p, power, every, omega):
                yield at_most(ratio, claimed, n=n, p=p, bound=kind, input=name)
            if name in ("two-sided", "near"):
                least = min((c for _, c in bounds(n, p, power, every, omega)), key=lambda c: c.hi)
                yield equals(atoms_constant(exact(n), float(p)), least, n=n, p=p, part="instrument")
        after = w1(*(step(SelfAttention(score), Measure(z).enclosed()) for z in (x, y)))
        claimed = bounds(n, 1, power, every, omega)[0][1]
        yield at_most(after / w1(Measure(x), Measure(y)), claimed, n=n, p=1, input=name, part="W1")


@verifies(
    Claim(
        "distance-attention.laplace",
        "the kernel that falls with the distance, not its square, has the same constants",
        r"$P_{ij} \propto e^{-\beta|x_i - x_j|}$: $\beta\sum_j P_{ij}|x_j - x_i| \le c_N$, with equality if all others lie at $\beta r = c_N + 1$, and $\max_i|F_i(X) - F_i(Y)| \le (1 + 4c_N)\max_i|x_i - y_i|$",
        spec=("MA.R7",),
        cites=KIM,
        source_status=("derived", "refereed"),
    ),
    constant("near", "the mean distance is at most 0.99 of it", factor=0.99),
    constant("one", "the factor is one, not four", slope=1),
    bug("masked", "a token does not see itself", own=0.0),
    hypothesis("dot", "the scores are dot products", dot=True),
)
def test_laplace(run, *, factor=1.0, slope=4, own=1.0, dot=False):
    cases = [(1.0, ("far", FAR, FAR + FIRST))]
    for n in (3, 101):
        r = float(near(n)) + 1.0
        _, x, y = pushed_apart(n)
        cases.append((1.0, ("two-sided", np.sign(x) * r, np.sign(x) * r + (y - x))))
    for number, rng in enumerate(run.draws(quick=8, paper=200)):
        n = int(rng.integers(2, 20))
        d = int(rng.integers(1, 5))
        unit = UNITS[number % len(UNITS)]
        cases += [(float(rng.uniform(0.1, 3.0)) / unit, move) for move in moves(rng, n, d, unit)]
    for beta, (name, x, y) in cases:
        score = DotProduct(beta) if dot else Laplace(beta)
        n = len(x)
        ratio = displacement_ratio(x, y, (attended(x, score), attended(y, score)))
        yield at_most(ratio, bound(n, slope=slope), n=n, d=x.shape[1], input=name)
        points = exact(x)
        masses = np.where(np.arange(n) == 0, own, 1.0)
        apart = beta * norm(points - points[0], axis=1)[:, np.newaxis]
        found = attend(points[:1], points, apart, score=score, weights=masses)[0, 0]
        claimed = factor * hull(near(n))
        yield at_most(found, claimed, n=n, d=x.shape[1], input=name, part="mean distance")
        if name == "two-sided":
            flat = 2.0**-47 * (1.0 + claimed.hi) ** 2  # the distance is rounded
            yield equals(found + Interval(-flat, flat), claimed, n=n, part="attained")


@verifies(
    Claim(
        "distance-attention.bounded",
        "on a set of finite diameter distance attention is Lipschitz in W_p, whatever the number of tokens and their masses",
        r"$W_p(T\mu, T\nu) \le \big(e^o(1 + 2o) + \frac o2\big)W_p(\mu, \nu)$, $o = \beta D^2$, on a set of diameter $D$, $1 \le p \le \infty$",
        assumptions=("finite diameter",),
        spec=("MA.R8",),
        source_status=("derived", "refereed on paper"),
    ),
    constant("polynomial", "the exponential is left out", growing=False),
    bug("radius", "half the diameter stands for it", half=True),
    hypothesis("typical", "the diameter is finite only in the mean square", typical=True),
    constant("near", "the constant is one per cent smaller", factor=0.99),
)
def test_bounded(run, *, growing=True, half=False, typical=False, factor=1.0):
    def claimed(o):
        spread = o / 4 if half else o
        return factor * hull((spread.exp() if growing else 1) * (1 + 2 * spread) + spread / 2)

    table = run.study(studies.stars).where(family="star")
    for n, ratio in zip(table["n"].tolist(), table["ratio"], strict=True):
        yield at_most(ratio, claimed(ball(n - 2).log()), n=n, input="star")  # D^2 is twice the square of a leg
    for z in (1.0, 2.0, 3.0):  # the light atom takes its own column sum from itself and from the heavy one
        mu = witnesses.hidden_atom(z)
        heavy, light = balls(mu.weights)
        column = [abs(ball) for ball in enclosed_jacobian(mu, SCORE)[:, 1, 0, 0]]
        o = ball(z * z) * (2 * heavy * light if typical else 1)
        yield at_most(hull(column[0] * heavy / light + column[1]), claimed(o), z=z, input="light atom")
    for number, rng in enumerate(run.draws(quick=10, paper=200)):
        n = int(rng.integers(2, 20))
        d = int(rng.integers(1, 4))
        radius = float(rng.uniform(0.2, 1.5))
        unit = UNITS[number % len(UNITS)]
        o = 4 * ball(radius * (1.0 + 2.0**-49)) ** 2  # points are moved to the sphere up to rounding
        for name, x, y in moves(rng, n, d):
            x, y = (unit * inside(z, radius) for z in (x, y))  # noqa: PLW2901
            if np.abs(x - y).max() < 1e-6 * unit:
                continue
            for p in (1.0, 2.0, np.inf):  # in the order of the tokens, so that no masses enter but equal ones
                ratio = attended_ratio(x, y, SquaredDistance(unit**-2), p)
                yield at_most(ratio, claimed(o), n=n, d=d, p=p, input=name, part=f"W{p:g}")
        narrow = ball(9 * 2.0**-14)  # of the clouds that are translated
        for name, pair, measured in weighed(rng, radius, unit):
            score = SquaredDistance(unit**-2)
            for p, distance in measured.items():
                after, before = pushed_apart_by(score, pair, distance)
                if before.lo > 1e-6 * unit:
                    most = claimed(narrow if name == "translated" else o)
                    yield at_most(after / before, most, n=pair[0].size, d=pair[0].dim, p=p, input=name, part=f"W{p:g}")
    for spread in (0.5, 2.0):
        yield equals(near_constant(np.sqrt(exact(spread))), claimed(ball(spread)), o=spread, part="instrument")


@once
def attended_ratio(x, y, score, p):
    """What self-attention does to the distance of two arrays of tokens."""
    return displacement_ratio(x, y, (attended(x, score), attended(y, score)), p)


@once
def pushed_apart_by(score, pair, distance):
    """The distance of two laws after self-attention, and before."""
    return distance(*(AttentionKernel(score, mu).push(mu.enclosed()) for mu in pair)), distance(*pair)


def inside(points, radius):
    """Points, those outside of a ball moved to its sphere."""
    return radius * points / np.maximum(1.0, np.sqrt((points**2).sum(axis=1, keepdims=True)))


def weighed(rng, radius, unit):
    """Two laws of any masses and sizes in a ball, and the distances of some orders: all on the line, one in space."""
    orders = {p: partial(wp_line, p=p) for p in (1.0, 1.5, 2.0, 4.0, np.inf)}
    for name, d, measured in (("masses on a line", 1, orders), ("masses in space", 3, {1.0: w1})):
        laws = []
        for n in rng.integers(2, 6, size=2).tolist():
            points = unit * inside(rng.uniform(0.2, 3.0) * rng.normal(size=(n, d)), radius)
            laws.append(Measure.normalised(points, rng.dirichlet(np.full(n, 0.4)) + 1e-9))
        yield name, laws, measured
        moved = laws[0].points.copy()
        moved[np.argmin(laws[0].weights)] *= 0.99  # the lightest atom alone
        yield f"{name}, one moved", [laws[0], Measure(moved, laws[0].weights)], measured
    points = np.append([0.0, 1.0], rng.integers(65, size=3) / 64.0)[:, np.newaxis]  # a short way on a small set: by one
    start = Measure.normalised(2.0**-6 * unit * points, rng.dirichlet(np.full(5, 0.4)) + 1e-9)
    yield "translated", [start, Measure(start.points + 2.0**-7 * unit, start.weights)], orders
