"""Continuous attention: the densities that maximise mean score plus entropy, in closed form, in dimension one to five."""

import math
from fractions import Fraction

import numpy as np

from theory.evidence import (
    Claim,
    Interval,
    ball,
    batch_mean,
    bug,
    constant,
    equals,
    hypothesis,
    limit,
    proportion,
    verifies,
)
from theory.evidence.quadrature import integral_over
from theory.maxent import BetaGaussian, studies
from verify.textbook import exp, hull, log

SOURCES = ("martins2020", "martins2022")
DIMENSIONS = (1, 2, 3, 5)


def pi():
    """Four arctangents of one, as a ball of the precision in force."""
    return 4 * ball(1).atan()


def sphere(dim):
    """The area of the unit sphere, without the gamma function; ball."""
    return {1: ball(2), 2: 2 * pi(), 3: 4 * pi(), 5: 8 * pi() ** 2 / 3}[dim]


def eliminated(matrix, right):
    """The determinant of a matrix of floats and the solution for a right side, in fractions."""
    rows = [[*map(Fraction, row), Fraction(r)] for row, r in zip(matrix, right, strict=True)]
    det = Fraction(1)
    for k in range(len(rows)):
        det *= rows[k][k]
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        rows = [
            [a - row[k] * b for a, b in zip(row, rows[k], strict=True)] if i != k else row for i, row in enumerate(rows)
        ]
    return det, [row[-1] for row in rows]


def mahalanobis(law, x):
    """The square of the Mahalanobis distance of a point of floats from the mean, in fractions."""
    apart = [Fraction(p) - Fraction(m) for p, m in zip(x.tolist(), law.mean.tolist(), strict=True)]
    return sum(a * s for a, s in zip(apart, eliminated(law.scatter, apart)[1], strict=True))


def radial(power, exponent, start=0):
    """The integral of t^power (1 - t^2)^exponent over (0, 1 - start), from the edge inwards; balls."""
    q = ball(exponent) if isinstance(exponent, (int, Fraction)) else exponent
    if start == 0:
        return integral_over(lambda u: (2 - u) ** q * (1 - u) ** power, 0, 1, exponent=q)
    return integral_over(lambda u: (u * (2 - u)) ** q * (1 - u) ** power, start, 1)


def printed(dim, alpha, det, *, power=0, scaled=True, line=False):
    """The exponent b and the level -theta of the printed density [(-theta + f)/b]_+ ** b; balls."""
    b = ball(1 / (Fraction(alpha) - 1)) + power
    d = ball(Fraction(1 if line else dim))
    peak = ((d / 2 + b + 1).lgamma() - (b + 1).lgamma()).exp() / pi() ** (d / 2) * (2 * b) ** b
    return b, peak ** (2 / (d + 2 * b)) / 2 * (ball(det) ** (-1 / (d + 2 * b)) if scaled else 1)


def integrated(dim, b, level, det, power=0, order=1):
    """The integral of r^power p^order over space, r Mahalanobis' radius, of the printed density; balls."""
    reach = (2 * level).sqrt()
    shape = radial(dim - 1 + power, order * b)
    return sphere(dim) * ball(det).sqrt() * reach ** (dim + power) * (level / b) ** (order * b) * shape


def scatters(rng, dim):
    """A diagonal and a full scatter matrix of condition below a hundred, symmetric to the last bit."""
    factor = np.tril(rng.normal(size=(dim, dim)), -1) / dim + np.diag(rng.uniform(0.5, 1.5, size=dim))
    full = factor @ factor.T
    return np.diag(rng.uniform(0.3, 2.0, size=dim)), (full + full.T) / 2.0


def powers(base, exponent):
    """Powers of non-negative balls, zero where the base is."""
    return np.frompyfunc(lambda x: x**exponent if x > 0 else x * 0, 1, 1)(base)


def density_below(f, normaliser, alpha):
    """The density on cells at a normaliser, from its definition; balls."""
    e = ball(Fraction(alpha) - 1)
    return exp(f - normaliser) if alpha == 1.0 else powers(1 + e * (f - normaliser), 1 / e)


def objective(f, mu, p, alpha):
    """Mean score plus entropy of a density on cells, from the definitions; ball."""
    order = ball(alpha)
    if alpha == 1.0:
        return (mu * p * (f - log(p))).sum()
    return (mu * p * f).sum() + (1 - (mu * powers(p, order)).sum()) / (order * (order - 1))


def laws(run):
    """Densities of dimension 1, 2, 3 and 5 and orders from 1.1 to 6."""
    orders = run.pick(quick=(1.1, 4 / 3, 2.0, 6.0), paper=(1.1, 1.25, 4 / 3, 1.5, 2.0, 3.0, 4.0, 6.0))
    yield BetaGaussian([0.0], [[1.0]], 2.0)
    for size in (2.0**-40, 2.0**40):
        yield BetaGaussian([0.0, 0.0], size * np.array([[1.0, 0.5], [0.5, 2.0]]), 1.5)
    for rng, dim in zip(run.streams(4), DIMENSIONS, strict=True):
        for alpha in orders:
            for scatter in scatters(rng, dim):
                yield BetaGaussian(rng.normal(size=dim), scatter, alpha)


@verifies(
    Claim(
        "density.quadratic",
        "for a quadratic score the best density is a power of a paraboloid, with mass one",
        r"$f = -\frac12(x-\mu)^\top\Sigma^{-1}(x-\mu)$: $p = [(\alpha-1)(f-\theta)]_+^{b}$, $b = \frac1{\alpha-1}$, $-2\theta = \big[\frac{\Gamma(d/2+b+1)}{\Gamma(b+1)\pi^{d/2}}(2b)^b\big]^{2/(d+2b)}|\Sigma|^{-1/(d+2b)}$ has mass one and Mahalanobis radius $\sqrt{-2\theta}$, where (radius/largest)$^2 \sim \mathrm{Beta}(\frac d2, b+1)$",
        assumptions=("order above one", "positive definite scatter"),
        spec=("RA.F1", "RA.F2"),
        cites=SOURCES,
        source_status=("seen", "recalled", "refereed"),
    ),
    constant("biweight", "order 2 gives the biweight: the power is larger by one", power=1),
    bug("determinant", "the determinant of the scatter is forgotten", scaled=False),
    hypothesis("line", "the constants of the line are used in every dimension", line=True),
    constant("beta", "the radius has the law Beta(d/2, b) instead of Beta(d/2, b + 1)", shift=0),
)
def test_quadratic(run, *, power=0, scaled=True, line=False, shift=1):
    for number, (law, rng) in enumerate(zip(laws(run), run.streams(100), strict=False)):
        det = eliminated(law.scatter, law.mean)[0]
        case = {"d": law.dim, "alpha": law.alpha, "law": number}
        b, level = printed(law.dim, law.alpha, det, power=power, scaled=scaled, line=line)
        yield equals(integrated(law.dim, b, level, det), 1, part="mass", **case)
        yield equals(law.enclosed().radius ** 2, 2 * level, part="radius", **case)
        if (law.dim, law.alpha) == (2, 2.0):  # the paraboloid of the plane, printed by itself
            yield equals(level, 1 / (np.sqrt(pi()) * np.sqrt(np.sqrt(ball(det)))), part="plane", **case)
        share = rng.uniform(0.1, 0.9)
        inside = 1 - radial(law.dim - 1, b, ball(1 - math.sqrt(share))) / radial(law.dim - 1, b)
        reach = ball(1 - (1 - math.sqrt(share))) ** 2
        beta = 1 - reach.beta_lower(ball(Fraction(law.dim, 2)), b + shift, regularized=True)
        yield equals(inside, beta, scale=1, part="Beta law", **case)
        for stretch in (0.0, *rng.uniform(0.0, 1.2, size=2)):
            way = rng.normal(size=law.dim)
            x = law.mean + stretch * law.radius * np.linalg.cholesky(law.scatter) @ way / np.linalg.norm(way)
            base = (level - ball(mahalanobis(law, x)) / 2) / b
            claimed = base**b if base > 0 else ball(0)
            yield equals(law.enclosed().density(x), claimed, scale=(level / b) ** b, part="density", **case)


@verifies(
    Claim(
        "density.moments",
        "its covariance is the scatter shrunk by a known factor, and its entropy is known",
        r"$\mathrm{Cov}\,p = \frac{-2\theta}{d+2+2b}\Sigma$ and $H_\alpha(p) = \frac1{\alpha(\alpha-1)} + \frac{2\theta}{2\alpha + d(\alpha-1)}$",
        assumptions=("order above one", "positive definite scatter"),
        spec=("RA.F2",),
        cites=SOURCES,
        source_status=("seen", "recalled", "refereed"),
    ),
    constant("scatter", "the covariance is the scatter matrix, as for the Gaussian", shrunk=False),
    constant("beta", "the radius has the law Beta(d/2, b) instead of Beta(d/2, b + 1)", shift=0),
    bug("entropy", "the entropy is taken without the factor 1/alpha", rescaled=False),
    hypothesis("line", "the constants of the line are used in every dimension", line=True),
)
def test_moments(run, *, shrunk=True, shift=2, rescaled=True, line=False):
    for number, law in enumerate(laws(run)):
        det = eliminated(law.scatter, law.mean)[0]
        d = law.dim
        case = {"d": law.dim, "alpha": law.alpha, "law": number}
        (b, level), order = printed(d, law.alpha, det, line=line), ball(law.alpha)
        factor = 2 * level / (d + shift + 2 * b) if shrunk else ball(1)
        entropy = 1 / (order * (order - 1)) - 2 * level / (2 * order + d * (order - 1))
        claimed = entropy if rescaled else entropy * order
        yield equals(integrated(d, b, level, det, power=2) / d, factor, part="covariance", **case)
        tsallis = (1 - integrated(d, b, level, det, order=order)) / (order * (order - 1))
        size = 1 / (law.alpha * (law.alpha - 1.0))  # what the mass alone adds, from which the rest is subtracted
        yield equals(tsallis, claimed, scale=size, part="entropy", **case)
        some = law.scatter != 0.0
        shares = law.enclosed().covariance()[some] / law.scatter[some]
        yield equals(shares, factor, part="its entry", **case)
        yield equals(law.enclosed().entropy(), claimed, scale=size, part="its entropy", **case)
    unit = BetaGaussian([0.0], [[1.0]], 2.0).enclosed().covariance()[0, 0]
    yield equals(unit, Interval.printed("0.262074") if shrunk else 1, part="parabola of scatter one")


SHAPES = {  # of order: half-width at scatter v, peak times half-width, half-width squared over variance
    "triweight": (
        4 / 3,
        lambda v: (ball(Fraction(945, 4)) * v**3) ** ball(Fraction(1, 7)),
        Fraction(35, 32),
        9,
    ),
    "biweight": (1.5, lambda v: (15 * v**2) ** ball(Fraction(1, 5)), Fraction(15, 16), 7),
    "parabola": (2.0, lambda v: (ball(1.5) * v) ** ball(Fraction(1, 3)), Fraction(3, 4), 5),
    "semicircle": (3.0, lambda v: (2 / pi()).sqrt() * v.sqrt().sqrt(), None, 4),
}


@verifies(
    Claim(
        "density.table",
        "orders 4/3, 3/2, 2 and 3 give triweight, biweight, parabola and semicircle, and large orders a box of width one",
        r"$d = 1$, half-width $a$: $\alpha = \frac43$: $(\frac{945}4\sigma^6)^{1/7}$, peak $\frac{35}{32a}$, variance $\frac{a^2}9$; $\frac32$: $(15\sigma^4)^{1/5}$, $\frac{15}{16a}$, $\frac{a^2}7$; $2$: $(\frac32\sigma^2)^{1/3}$, $\frac3{4a}$, $\frac{a^2}5$; $3$: $\sqrt{2\sigma/\pi}$, $\frac2{\pi a}$, $\frac{a^2}4$; $\alpha \to \infty$: $a \to \frac12$, peak $\to 1$, variance $\to \frac1{12}$ for every $\sigma$",
        assumptions=("dimension one", "quadratic score"),
        spec=("RA.F2",),
        cites=SOURCES,
        source_status=("seen", "derived", "refereed"),
    ),
    constant(
        "one-up",
        "every name belongs to the next order: 2 gives the biweight",
        orders=("biweight", "parabola", "semicircle"),
    ),
    constant("scatter", "the variance is the scatter", shrunk=False),
    hypothesis("scaled", "the box keeps the width of the scatter", width=math.sqrt),
)
def test_table(run, *, orders=("triweight", "biweight", "parabola"), shrunk=True, width=lambda _: 1.0):
    table = run.study(studies.densities)
    for v in studies.SCATTERS:
        for place, name in [
            *zip(("triweight", "biweight", "parabola"), orders, strict=True),
            ("semicircle", "semicircle"),
        ]:
            alpha, (_, reach, peak, ratio) = SHAPES[place][0], SHAPES[name]
            a = reach(ball(v))
            top = 2 / pi() if peak is None else ball(peak)
            claimed = {"half-width": a, "peak": top / a, "variance": a**2 / ratio if shrunk else ball(v)}
            for part, value in claimed.items():
                found = table.where(part=part, alpha=alpha, at=v).intervals("value")
                yield equals(found[0], value, part=part, alpha=alpha, scatter=v)
        ends = {
            "half-width": width(v) / 2,
            "peak": 1 / width(v),
            "variance": Interval.exactly(Fraction(1, 12)) * width(v) ** 2,
        }
        for part, value in ends.items():
            rows = table.where(part=part, at=v)
            seen = dict(zip(rows["alpha"].tolist(), rows.intervals("value"), strict=True))
            yield equals(
                limit([seen[2.0**k] for k in range(10, 21)], order=1), value, part=part, alpha=math.inf, scatter=v
            )


@verifies(
    Claim(
        "density.sampler",
        "drawn points have the covariance and the radial law of the density",
        r"$x \sim p$: $\mathrm{Cov}\,x = \frac{-2\theta}{d+2+2b}\Sigma$ and $P(r^2 \le s R^2) = I_s(\frac d2, b+1)$",
        assumptions=(
            "order above one",
            "dimension two",
            "level 1e-6 shared by 18 statistics, 64 batches of at least 600 draws",
        ),
        spec=("RA.F2",),
        cites=SOURCES,
        source_status=("seen", "recalled", "refereed"),
    ),
    constant("scatter", "the covariance is the scatter matrix", shrunk=False),
    bug("beta", "the share of the radius is drawn from Beta(d/2, b) instead of Beta(d/2, b + 1)", shift=0),
    hypothesis("gaussian", "the points are drawn at order one", drawn_at=lambda _: 1.0),
)
def test_sampler(run, *, shrunk=True, shift=1, drawn_at=lambda alpha: alpha):
    # lighter tails than the Gaussian's: a square spreads by at most sqrt(2) times its mean. The nearest twin is 85 % off
    # (a Gaussian), so that n >= (3 (5.9 + 2.4) sqrt(2) / 0.85)^2 = 1 700 draws have the power
    size = 64 * run.pick(quick=600, paper=6000)
    for alpha, rng in zip((1.25, 2.0, 4.0), run.streams(3), strict=True):
        scatter = scatters(rng, 2)[1]
        law = BetaGaussian(rng.normal(size=2), scatter, drawn_at(alpha))
        drawn = law.sample(rng, size) - law.mean
        det = eliminated(scatter, law.mean)[0]
        b, level = printed(2, alpha, det)
        factor = 2 * level / (4 + 2 * b) if shrunk else ball(1)
        for i, j in ((0, 0), (0, 1), (1, 1)):
            found = batch_mean(drawn[:, i] * drawn[:, j], among=18)
            claimed = hull(factor * ball(scatter[i, j]))
            yield equals(found, claimed, scale=math.sqrt(scatter[i, i] * scatter[j, j]), part="covariance", alpha=alpha)
        square = (drawn * np.linalg.solve(scatter, drawn.T).T).sum(axis=1) / float(2 * level.mid())
        for share in (0.1, 0.3, 0.6):
            beta = ball(share).beta_lower(ball(1), b + shift, regularized=True)
            yield equals(
                proportion(int((square <= share).sum()), size, among=18), hull(beta), part="radius", alpha=alpha
            )
