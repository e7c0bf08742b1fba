"""Distance attention anywhere in space: how near tokens look, and by how much the largest displacement grows."""

from fractions import Fraction
from functools import cache, partial

import numpy as np
from scipy.optimize import minimize

from theory.attention import DotProduct, SquaredDistance, attend
from theory.evidence import (
    Claim,
    Interval,
    Kind,
    at_least,
    at_most,
    ball,
    bug,
    coarse,
    constant,
    equals,
    exact,
    hull,
    hypothesis,
    sup_over,
    verifies,
)
from theory.lipschitz import displacement, displacement_ratio, studies, witnesses
from theory.lipschitz.constants import distance_constant, nearness_constant
from theory.lipschitz.studies import row_sum
from verify.inputs import UNITS
from verify.textbook.lambert import FAR, FIRST, attended, bound, moves, near, pushed_apart

KIM = ("kim2021",)
REFEREED = ("derived", "recalled", "refereed")
DIGITS = {
    2: ".2784645427610738", 3: ".4630555133655489", 5: ".7178245124945949", 10: "1.1010029972770", 11: "1.15686839662",
    101: "2.6359329905535", 1001: "4.4213175410916",
}  # fmt: skip
CONSTANTS = {2: "2.1138582", 3: "2.8522221", 5: "3.871298", 11: "5.6274736", 101: "11.543732", 1001: "18.68527"}
ROWS = {3: "2.2192242", 5: "3.0355613", 11: "4.5547439", 101: "10.093797", 1001: "17.054184"}
PARTS = {3: ".778", 11: ".809", 101: ".874", 1001: ".913"}

MANY = 10**5 + 1

supremum = cache(sup_over)


@verifies(
    Claim(
        "distance-attention.extremum",
        "the mean score of a token that is heard as well is largest when all others are equally far, at Lambert's W",
        r"$\max_{u \ge 0} \sum_{j<N} u_je^{-u_j}/(1 + \sum_{j<N} e^{-u_j}) = c_N = W_0((N - 1)/e)$, since $(u - c)e^{-u} \le e^{-c-1}$ with equality at $u = c + 1$ and $(N - 1)e^{-c_N-1} = c_N$",
        spec=("MA.R1", "FR.F05"),
        cites=KIM,
        source_status=REFEREED,
    ),
    constant("logarithm", "the largest value is log N", logarithm=True),
    constant("near", "the largest value is one per cent smaller", factor=0.99),
    bug("alone", "the token itself is left out of the normaliser", own=0),
    hypothesis("squares", "the mean of the squared scores is bounded so", power="u*u"),
)
def test_extremum(run, *, logarithm=False, factor=1.0, own=1, power="u"):
    def claimed(n):
        return factor * hull(ball(n).log() if logarithm else near(n), Kind.PROVED)

    # beyond the boxes: y exp(1 - y) is negative or falls, and the mean is at most (N - 1) u exp(-u), which falls
    yield equals(supremum("y*exp(1-y)", tolerance=1e-5, y=(-2, 40)), factor, part="every term, y = u - c")
    for n, top in ((2, 3), (10, 6), (100, 10), (1001, 12)):
        mean = f"{n - 1}*({power})/({own}*exp(u)+{n - 1})"
        yield equals(
            supremum(mean, tolerance=1e-5, u=(0, top)), claimed(n), n=n, part="equal scores" if n > 2 else "all"
        )
    if run.scale == "paper":  # u = m + d and m - d, of either sign: a larger box than is needed
        mean = f"2*(m-d*tanh(d))/({own}*exp(m)/cosh(d)+2)"
        yield equals(supremum(mean, tolerance=1e-5, m=(0, 2), d=(0, 2)), claimed(3), n=3, part="all")


def spread_of(x, i, scale, score, *, masses=None, own=1.0):
    """Enclose beta sum P |x_j - x_i|^2 under the law of token i."""
    points = exact(x)
    values = scale * ((points - points[i]) ** 2).sum(axis=1, keepdims=True)
    weights = np.ones(len(x)) if masses is None else masses.copy()
    weights[i] *= own
    return attend(points[i : i + 1], points, values, score=score, weights=weights)[0, 0]


def climbed(rng, n):
    """Scores u_j, from a random start, that a quasi-Newton method in log u finds no way to improve, in few bits."""

    def loss(v):
        u = np.exp(np.clip(v, -30.0, 5.0))
        e = np.exp(-u)
        value = (u * e).sum() / (1.0 + e.sum())
        return -value, -u * e * (1.0 - u + value) / (1.0 + e.sum())

    return coarse(np.exp(minimize(loss, rng.normal(size=n - 1), jac=True, method="BFGS").x))


@verifies(
    Claim(
        "distance-attention.second-moment",
        "under a token's own attention the others are near: their mean squared distance is at most Lambert's W",
        r"$\beta\sum_j P_{ij}|x_j - x_i|^2 \le c_N$ for all tokens, with equality if all others lie at $\beta r^2 = c_N + 1$",
        spec=("MA.R1", "FR.F05"),
        cites=KIM,
        source_status=REFEREED,
    ),
    constant("near", "the bound is one per cent smaller", factor=0.99),
    bug("masked", "a token does not see itself", own=0.0),
    hypothesis("dot", "the scores are dot products", dot=True),
)
def test_second_moment(run, *, factor=1.0, own=1.0, dot=False):
    def score(scale):
        return DotProduct(scale) if dot else SquaredDistance(scale)

    for n, digits in ((3, None), (10, "1.1010"), (100, "2.628650"), (1001, "4.421318"), (10**5, None)):
        mu = witnesses.one_sided(n, 0.7)
        claimed = factor * hull(near(n))
        reached = spread_of(mu.points, 0, 0.7, score(0.7), masses=mu.weights, own=own)
        flat = 2.0**-47 * (1.0 + claimed.hi) ** 2  # distance and masses of the witness are rounded
        reached = reached + Interval(-flat, flat)
        yield equals(reached, claimed, n=n, part="attained")
        if digits:
            yield equals(reached, factor * Interval.printed(digits), n=n, part="printed")
    for number, rng in enumerate(run.draws(quick=3, paper=30)):
        n = int(rng.integers(2, 12))
        d = int(rng.integers(1, 5))
        scale = float(rng.uniform(0.3, 3.0))
        unit = UNITS[number % len(UNITS)]
        clouds = [("random", unit * rng.normal(size=(n, d)), scale / unit**2)]
        clouds += [("climbed", np.sqrt(np.append(0.0, climbed(rng, k)))[:, np.newaxis], 1.0) for k in (5, 100)]
        for name, x, beta in clouds:
            for i in range(len(x) if name == "random" else 1):
                found = spread_of(x, i, beta, score(beta), own=own)
                yield at_most(found, factor * hull(near(len(x))), n=len(x), input=name)


@verifies(
    Claim(
        "distance-attention.growth",
        "the constant behind distance attention, to the digits, and between bounds that grow like the logarithm of N",
        r"$c_N = W_0(x)$, $x = (N - 1)/e$: $c_2 = 0.27846\ldots$, $c_{1001} = 4.42131\ldots$; $\frac{\log\log x}{2\log x} \le c_N - \log x + \log\log x \le \frac{e}{e - 1}\frac{\log\log x}{\log x}$ for $N \ge 9$",
        assumptions=(r"$x \ge e$ for the bounds",),
        spec=("MA.R1", "MA.R2"),
        cites=(*KIM, "hoorfar2008"),
        source_status=REFEREED,
    ),
    constant("half", "the upper bound has the factor 1/2 of the lower one", upper=0.5),
    constant("one", "the lower bound has the factor one", lower=1),
    bug("all", "N stands for N - 1", others=0),
    hypothesis("five", "the bounds hold for five tokens too", sizes=(5,)),
)
def test_growth(run, *, upper=None, lower=Fraction(1, 2), others=1, sizes=()):
    for n, digits in DIGITS.items():
        measured = nearness_constant(exact(n + 1 - others))
        yield equals(measured, Interval.printed(digits), n=n, part="printed")
        yield equals(measured, hull(near(n)), n=n, part="float")
    for n, digits in CONSTANTS.items():
        measured = distance_constant(exact(n + 1 - others))
        yield equals(measured, Interval.printed(digits), n=n, part="1 + 4c, printed")
    for n in (*sizes, 9, 10, 100, 10**4, 10**8, 10**16, 10**100, 10**1000):
        e = ball(1).exp()
        first = ((n - 1) / e).log()
        second = first.log()
        rest, unit = hull(near(n) - first + second), hull(second / first)
        size = f"{n:.0e}" if n < 10**300 else "1e+1000"
        yield at_least(rest, lower * unit, scale=1, n=size, part="lower")
        yield at_most(rest, (hull(e / (e - 1)) if upper is None else upper) * unit, scale=1, n=size, part="upper")


@verifies(
    Claim(
        "distance-attention.max-norm",
        "distance attention is Lipschitz on all of space in the largest displacement, with a constant like log N",
        r"$\max_i|F_i(X) - F_i(Y)| \le (1 + 4c_N)\max_i|x_i - y_i|$ on $(\mathbb R^d)^N$, for every $d$ and $\beta$",
        spec=("MA.R2", "FR.F05"),
        cites=KIM,
        source_status=REFEREED,
    ),
    constant("two", "the factor is two, not four", claimed=lambda n: bound(n, slope=2)),
    constant("no-size", "the constant of three tokens serves any number", claimed=lambda n: bound(min(n, 3))),
    constant(
        "root",
        "the constant grows like the root of log N",
        claimed=lambda n: 1 + 4 * hull(ball(n).log().sqrt()),
    ),
    bug("mean", "the mean displacement stands for the largest", p=1.0),
    hypothesis("dot", "the scores are dot products", dot=True),
)
def test_max_norm(run, *, claimed=bound, p=np.inf, dot=False):
    cases = [(1.0, pushed_apart(n)) for n in (3, 101, 1001)]
    cases.append((1.0, ("far", FAR, FAR + FIRST)))
    for number, rng in enumerate(run.draws(quick=15, paper=300)):
        n = int(rng.integers(2, 30))
        d = int(rng.integers(1, 5))
        unit = UNITS[number % len(UNITS)]
        cases += [(float(rng.uniform(0.1, 3.0)) / unit**2, move) for move in moves(rng, n, d, unit)]
    crowds = witnesses.two_sided(MANY)  # three atoms that stand for as many tokens as their masses say
    way = 2.0**-12 * np.array([[1.0], [-1.0], [-1.0]])
    counted = [(*case, len(case[1][1]), None) for case in cases]
    counted.append((1.0, ("two crowds", crowds.points, crowds.points + way), MANY, crowds.weights))
    for beta, (name, x, y), n, masses in counted:
        score = DotProduct(beta) if dot else SquaredDistance(beta)
        images = attended(x, score, masses), attended(y, score, masses)
        ratio = displacement_ratio(x, y, images)
        if p == 1.0:
            ratio = ratio * displacement(x, y) / displacement(x, y, p) * len(x)
        yield at_most(ratio, claimed(n), n=n, d=x.shape[1], input=name)


@verifies(
    Claim(
        "distance-attention.max-norm-attained",
        "two equal crowds on either side of a token come within two of the constant, so that its growth is real",
        r"$x_1 = 0$, half the others at each of $\pm\sqrt{(c_N + 1)/\beta}$: the row sum of the Jacobian at $x_1$ is $4c_N + \frac{1 - c_N}{1 + c_N} \ge 4c_N - 1$, hence over $1 + 4c_N$ it tends to one",
        assumptions=("N odd for the equality",),
        spec=("MA.R2", "FR.F05"),
        source_status=REFEREED,
    ),
    constant("two", "the row sum is that of the factor two", slope=2),
    constant("full", "the row sum is the constant itself", full=True),
    bug("distance", "the crowds are at c, not at c + 1", crowds=partial(witnesses.two_sided, shift=0.0)),
    hypothesis("one-sided", "the others are all on one side", crowds=witnesses.one_sided),
)
def test_attained(run, *, slope=4, full=False, crowds=witnesses.two_sided):
    table = run.study(studies.stars).where(family="two-sided")
    for n, given in zip(table["n"].tolist(), table.intervals("ratio"), strict=True):
        c = near(n)
        measured = row_sum(crowds(n), n)
        last = 1 if full else (1 - c) / (1 + c)
        for each in (given, measured):
            yield equals(each, hull(slope * c + last), n=n)
        yield at_least(measured, hull(slope * c - 1), scale=hull(c), n=n)
        if n in ROWS:
            yield equals(measured, Interval.printed(ROWS[n]), n=n, part="printed")
        if n in PARTS:
            yield equals(measured / bound(n), Interval.printed(PARTS[n]), n=n, part="printed share")
    for digits, mu in (("8.83", crowds(64)), ("2.40", witnesses.one_sided(64))):
        yield equals(row_sum(mu, 64), Interval.printed(digits), scale=bound(64), n=64, part="even number, printed")
