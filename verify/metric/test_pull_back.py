"""What the root of the learned score is: a pseudo-metric, a metric where features are injective, and which one nearby."""

from fractions import Fraction

import numpy as np

from theory.attention import DotProduct
from theory.evidence import (
    Claim,
    at_least,
    at_most,
    ball,
    balls,
    bug,
    constant,
    equals,
    exact,
    hull,
    hypothesis,
    limit,
    norm,
    order,
    sup_over,
    verifies,
)
from theory.evidence.enclosure import coefficient, variable
from theory.evidence.spectra import singular_values, spectral_norm
from theory.metric import MetricScore, ResidualFeatures
from verify.inputs import UNITS, draw_residual
from verify.textbook import residual_image, residual_jacobian

RUAN = ("ruan2024",)
ON_PAPER = ("derived", "refereed on paper")
LINE = np.array([[0.0], [1.0], [2.0]])


def shifting(d, branch):
    """Features with one hidden unit, that stretch by 1 + branch at the origin along the first axis; -branch shrinks."""
    axis = np.eye(d)[:1]
    return ResidualFeatures(axis.T, np.zeros(1), branch * axis, np.zeros(d))


def dissimilarities(score, x, *, stretch=1.0):
    """The squared distances f of all pairs, from the score -f over twice the bandwidth; keys may be stretched."""
    if isinstance(score, DotProduct):
        return -score.matrix(exact(x), exact(x))
    return -2.0 * score.epsilon * score.matrix(exact(x), exact(stretch * x))


def clouds(run):
    """Yield features, tokens, a bandwidth and a unit of length: first three tokens on a line."""
    yield shifting(1, 0.0), LINE, 0.5, 1.0
    for number, rng in enumerate(run.draws(quick=6, paper=150)):
        d = int(rng.integers(1, 5))
        unit = UNITS[number % len(UNITS)]
        x = unit * rng.normal(size=(9, d))
        g = draw_residual(rng, d, int(rng.integers(1, 5)), float(rng.uniform(0.1, 3.0)), unit)
        yield g, x, unit**2 * float(rng.uniform(0.1, 2)), unit


@verifies(
    Claim(
        "metric.pseudo-metric",
        "the root of the learned dissimilarity is never negative, zero on the diagonal, symmetric, and obeys the triangle inequality",
        r"$\sqrt f(x, y) = |g(x) - g(y)|$ with $f = -2\varepsilon a$ of the score: $\sqrt f \ge 0$, $\sqrt f(x, x) = 0$, $\sqrt f(x, y) = \sqrt f(y, x)$, $\sqrt f(x, z) \le \sqrt f(x, y) + \sqrt f(y, z)$",
        remark=r"the last is an equality on a line",
        assumptions=("any features",),
        spec=("DL.E2",),
        cites=RUAN,
        source_status=ON_PAPER,
    ),
    hypothesis("squared", "f itself, not its root", power=2),
    hypothesis("dot-product", "the score is a dot product", dot=True),
    constant("less", "the triangle inequality holds with one per cent to spare", slack=0.99),
    bug("untied", "keys are twice as long as queries", stretch=2.0),
)
def test_pseudo_metric(run, *, power=1, dot=False, slack=1.0, stretch=1.0):
    for g, x, epsilon, unit in clouds(run):
        score = DotProduct(scale=1.0) if dot else MetricScore(g, epsilon)
        f = dissimilarities(score, x, stretch=stretch) / unit**2
        root = f if dot or power == 2 else np.sqrt(f)
        case = {"n": x.shape[0], "d": x.shape[1]}
        apart = ~np.eye(len(x), dtype=bool)
        yield at_least(f, 0, scale=1, part="sign", **case)
        yield equals(np.diagonal(root), 0, scale=1, part="diagonal", **case)
        yield equals(root, root.T, scale=1, part="symmetry", **case)
        excess = root[:, np.newaxis, :] - slack * (root[:, :, np.newaxis] + root[np.newaxis, :, :])
        between = apart[:, :, np.newaxis] & apart[np.newaxis, :, :]  # the third point is another one
        yield at_most(excess[between], 0, scale=1, part="triangle", **case)
        if x is LINE:
            yield equals(root[0, 2], ball(slack) * (ball(1) + ball(1)), part="equality")


def contractions(run):
    """Yield features whose two norms multiply to less than one, and tokens: first pairs on the axis that they stretch."""
    for branch in (0.5, -0.5):
        for reach in (2.0**-5, 1.0):
            yield shifting(2, branch), np.array([[-reach, 0.0], [reach, 0.0]])
    for number, rng in enumerate(run.draws(quick=8, paper=150)):
        d = int(rng.integers(1, 5))
        branch = float(rng.uniform(0.1, 0.95))
        unit = UNITS[number % len(UNITS)]
        yield draw_residual(rng, d, int(rng.integers(1, 5)), branch, unit), unit * rng.normal(size=(6, d))


def lengths(points):
    """The distances of all pairs, enclosed."""
    left, right = np.triu_indices(len(points), 1)
    return norm(points[left] - points[right], axis=1)


@verifies(
    Claim(
        "metric.injective",
        "the root is a metric where features are injective, surely if the norms of the two weight matrices multiply to less than one",
        r"$r = \|U\|\|W\|$: $(1 - r)|x - y| \le |g(x) - g(y)| \le (1 + r)|x - y|$ and $\sigma_{\min}(J) \ge 1 - r$",
        remark=r"both constants are attained in the limit at the origin for $U = \pm rW^\top$; $r > 1$ forbids no metric (`metric.beyond-one`)",
        assumptions=("residual features with one hidden layer",),
        spec=("DL.E2",),
        cites=(*RUAN, "behrmann2019"),
        source_status=("derived",),
    ),
    constant("narrower", "both constants are two per cent nearer to one", factor=0.98),
    bug("sum", "the norms are averaged instead of multiplied", summed=True),
)
def test_injective(run, *, factor=1.0, summed=False):
    for g, x in contractions(run):
        inner, outer = spectral_norm(g.inner), spectral_norm(g.outer)
        r = (inner + outer) / 2 if summed else inner * outer
        ratios = lengths(g(exact(x))) / lengths(exact(x))
        yield at_most(ratios, 1 + factor * r, d=g.dim, part="upper")
        yield at_least(ratios, 1 - factor * r, scale=1, d=g.dim, part="lower")
        yield at_most(exact(g.expansion), 1 - r, scale=1, part="stated")
        yield at_least(exact(g.lipschitz), 1 + r, part="stated")
        for jacobian in g.jacobian(exact(x)):
            yield at_least(singular_values(jacobian)[-1], 1 - factor * r, scale=1, part="immersion")
    for branch in (0.5, -0.5):
        g = shifting(1, branch)
        ratios = [
            lengths(g(pair)) / lengths(pair) for pair in (exact([[-s], [s]]) for s in 2.0 ** -np.arange(2.0, 9.0))
        ]
        yield equals(
            limit([ratio[0] for ratio in ratios], order=2), 1 + factor * branch, part="attained", branch=branch
        )


def meeting_point():
    """The t > 0 with t = 2 tanh t, by Newton steps on balls of which the last one keeps its radius."""
    t = ball(1.9150080481545375)
    for _ in range(4):
        middle = t.mid()
        t = middle - (middle - 2 * np.tanh(middle)) / (1 - 2 * (1 - np.tanh(middle) ** 2))
    return hull(t)


@verifies(
    Claim(
        "metric.beyond-one",
        "where the norms of the two weight matrices multiply to two, two tokens may have distance zero, or no two have",
        r"$g = x - 2\tanh x$ has $g(t) = g(-t) = 0$ where $t = 2\tanh t$; $g = x + 2\tanh x$ has $|g(x) - g(y)| \ge |x - y|$",
        remark=r"$r = \|U\|\|W\| = 2$ for both: $r < 1$ is enough for a metric (`metric.injective`) and not needed",
        assumptions=("residual features with one hidden unit, on the line",),
        spec=("DL.E2",),
        cites=RUAN,
        source_status=("derived",),
    ),
    constant("always", "the two points have distance a tenth, and no two ever have distance zero", met=Fraction(1, 10)),
    hypothesis("shrinking", "the branch of the second has the other sign", steep=-2),
)
def test_beyond_one(run, *, met=0, steep=2):
    del run
    t = meeting_point()
    images = shifting(1, -2.0)(np.stack([exact([-1.0]), exact([1.0])]) * t)
    yield equals(lengths(images), met, scale=1, part="fold")
    # the slope of x + 2 tanh x, less than which is no difference quotient, at every tanh
    flattest = -sup_over(f"-(1 + ({steep})*(1 - t*t))", t=(-1, 1))
    yield at_least(flattest, 1, part="injective still")
    rise = shifting(1, float(steep))(exact(np.linspace(-3.0, 3.0, 25)[:, np.newaxis]))
    yield at_least(np.diff(rise[:, 0]) * 4, 1, part="steps of a quarter")


SKEWED = ResidualFeatures(  # of which J J^T is not J^T J
    np.array([[0.75, -0.5, 0.25], [0.5, 1.0, -0.75]]), np.array([0.25, -0.5, 0.125]),
    np.array([[0.5, -0.25], [0.25, 0.5], [-0.75, 0.5]]), np.array([0.5, 0.0]),
)  # fmt: skip


def grams(name, g, x):
    """The metric at a point, in balls."""
    j = residual_jacobian(g, x)
    return {"pull-back": j.T @ j, "transposed": j @ j.T, "input": balls(np.eye(len(x)))}[name]


def rays(run):
    """Yield features, a point and a direction, of coordinates for which steps of powers of two are exact."""
    yield SKEWED, np.array([0.25, -0.5]), np.array([1.0, 0.5])
    for rng in run.draws(quick=4, paper=60):
        d = int(rng.integers(1, 4))
        x, v = (np.round(rng.normal(size=d) * 64) / 64 for _ in range(2))
        v[0] = v[0] or 1.0
        yield draw_residual(rng, d, int(rng.integers(2, 5)), float(rng.uniform(0.3, 1.5))), x, v


def size_of(g):
    """A size of J^T J, from the absolute values of the weights."""
    return (1.0 + float((np.abs(g.inner) @ np.abs(g.outer)).sum())) ** 2


def difference_quotients(score, x, v, sides, exponents):
    """Squared distances between two points on a ray over the squared step, for the steps of these exponents."""
    for step in (2.0**-k for k in exponents):
        left, right = (exact((x + side * step * v)[np.newaxis]) for side in sides)
        yield -score.matrix(left, right)[0, 0] / step**2


@verifies(
    Claim(
        "metric.pull-back",
        "for small steps the learned dissimilarity is the metric that the features pull back",
        r"$f(x, x + v) = v^\top J^\top Jv + v^\top J^\top\nabla^2g[v, v] + O(|v|^4)$, so that $g_{ij} = \frac12\partial_{y_i}\partial_{y_j}f|_{y = x} = (J^\top J)_{ij}$",
        remark=r"$f(x, x + tv)/t^2$ is off by order 1 in t, and about the midpoint, $f(x - \frac t2v, x + \frac t2v)/t^2$, by order 2",
        assumptions=("features with three derivatives",),
        spec=("DL.E2", "DL.B3"),
        cites=RUAN,
        source_status=ON_PAPER,
    ),
    bug("transposed", "the metric is J J^T", metric="transposed"),
    constant("whole", "the metric is the second derivative, without the half", share=1),
    hypothesis("straight", "the features are those of the tokens themselves", metric="input"),
    constant("order", "without the midpoint the error is of order 2 already", first=2),
    bug("bend", "the term of third order is half as large, as in Taylor's series of the features", bend=0.5),
)
def test_pull_back(run, *, metric="pull-back", share=Fraction(1, 2), first=1, bend=1.0):
    for g, x, v in rays(run):
        score = MetricScore(g)
        gram = grams(metric, g, x)
        size = size_of(g)
        here = exact(x[np.newaxis])
        yield equals(score.pull_back(here)[0], gram, scale=size, part="instrument")
        t = variable(4)
        series = residual_image(g, (balls(x) + balls(v) * t)[np.newaxis])[0] - residual_image(g, x[np.newaxis])[0]
        f = (series * series).sum()
        second = hull(balls(v) @ gram @ balls(v) * (2 * ball(share)))
        yield equals(hull(coefficient(f, 2)), second, part="second derivative")
        third = (g.jacobian(here)[0] @ v) @ (bend * (g.hessian(here)[0] @ v @ v))
        yield equals(third, coefficient(f, 3), scale=size, part="third derivative")
        for way, (sides, own, power) in {"one side": ((0.0, 1.0), 1, first), "midpoint": ((-0.5, 0.5), 2, 2)}.items():
            exponents = (
                range(9, 14) if own == 1 else range(5, 9)
            )  # about the midpoint, further on rounding is all that is left
            quotients = list(difference_quotients(score, x, v, sides, exponents))
            yield equals(limit(quotients, order=own), second, part=way)
            if g is SKEWED:
                yield equals(order([q - second for q in quotients]), power, scale=1, part=f"order, {way}")
