"""What the root of the learned score is: a pseudo-metric, a metric where features are injective, and which one nearby."""

from fractions import Fraction

import numpy as np

from theory.attention import DotProduct
from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    ball,
    bug,
    constant,
    discrepancy,
    equals,
    hypothesis,
    limit,
    order,
    verifies,
)
from theory.evidence.enclosure import coefficient, sup_over, variable
from theory.evidence.roundoff import U, gamma
from theory.metric import MetricScore, ResidualFeatures
from verify.inputs import UNITS
from verify.metric.residual import drawn, images, jacobian, parameters, squares
from verify.textbook import balls, ends, hull

RUAN = ("ruan2024",)
ON_PAPER = ("derived", "refereed on paper")
LINE = np.array([[0.0], [1.0], [2.0]])


def shifting(d, branch):
    """Features with one hidden unit, that stretch by 1 + branch at the origin along the first axis; -branch shrinks."""
    axis = np.eye(d)[:1]
    return ResidualFeatures(axis.T, np.zeros(1), branch * axis, np.zeros(d))


def roots(score, x, *, power, stretch=1.0):
    """The distances that a score stands for, all pairs, and what rounding may do to each; keys may be stretched."""
    if isinstance(score, DotProduct):
        return -score.matrix(x, x), gamma(16) * float((np.abs(x) @ np.abs(x).T).max())
    f = -2.0 * score.epsilon * score.matrix(x, stretch * x)
    root = np.sign(f) * np.sqrt(np.abs(f))  # a dissimilarity of the wrong sign is to be seen
    off = 2.0 * score.features.rounding(stretch * x) + gamma(16) * float(np.abs(root).max())
    return (root, off) if power == 1 else (f, 3.0 * off * float(np.abs(root).max()))


@verifies(
    Claim(
        "metric.pseudo-metric",
        "the root of the learned dissimilarity is never negative, zero on the diagonal, symmetric, and obeys the triangle inequality",
        r"$\sqrt f(x, y) = |g(x) - g(y)|$ with $f = -2\varepsilon a$ of the score: $\sqrt f \ge 0$, $\sqrt f(x, x) = 0$, $\sqrt f(x, y) = \sqrt f(y, x)$, $\sqrt f(x, z) \le \sqrt f(x, y) + \sqrt f(y, z)$, with equality on a line",
        assumptions=("any features",),
        spec=("DL.E2",),
        cites=RUAN,
        provenance=ON_PAPER,
    ),
    hypothesis("squared", "f itself, not its root", power=2),
    hypothesis("dot-product", "the score is a dot product", dot=True),
    constant("less", "the triangle inequality holds with one per cent to spare", slack=0.99),
    bug("untied", "keys are twice as long as queries", stretch=2.0),
)
def test_pseudo_metric(run, *, power=1, dot=False, slack=1.0, stretch=1.0):
    cases = [(shifting(1, 0.0), LINE, 0.5, 1.0)]
    for number, rng in enumerate(run.draws(quick=6, paper=150)):
        d, unit = int(rng.integers(1, 5)), UNITS[number % len(UNITS)]
        x = unit * rng.normal(size=(9, d))
        g = drawn(rng, d, int(rng.integers(1, 5)), float(rng.uniform(0.1, 3.0)), unit)
        cases.append((g, x, unit**2 * float(rng.uniform(0.1, 2)), unit))
    for g, x, epsilon, unit in cases:
        f, off = roots(DotProduct(scale=1.0) if dot else MetricScore(g, epsilon), x, power=power, stretch=stretch)
        size = unit**2 if dot or power == 2 else unit
        f, off, case = f / size, off / size, {"n": x.shape[0], "d": x.shape[1]}
        yield at_least(Interval.within(float(f.min()), off), 0, scale=1, part="sign", **case)
        yield equals(Interval.within(float(np.abs(np.diag(f)).max()), off), 0, scale=1, part="diagonal", **case)
        yield equals(discrepancy(f, f.T, 2.0 * off), 0, scale=1, part="symmetry", **case)
        others = np.where(np.eye(len(x), dtype=bool), np.inf, f)  # over a third point
        excess = float((f - slack * (others[:, :, np.newaxis] + others[np.newaxis, :, :]).min(axis=1)).max())
        yield at_most(Interval.within(excess, 3.0 * off), 0, scale=1, part="triangle", **case)
    claimed = ball(slack) * (squares(balls(LINE))[0, 1].sqrt() + squares(balls(LINE))[1, 2].sqrt())
    f, off = roots(DotProduct(scale=1.0) if dot else MetricScore(shifting(1, 0.0)), LINE, power=power)
    yield equals(Interval.within(float(f[0, 2]), off), hull(claimed), part="equality")


@verifies(
    Claim(
        "metric.injective",
        "the root is a metric where features are injective, surely if the norms of the two weight matrices multiply to less than one",
        r"$r = \|U\|\|W\|$: $(1 - r)|x - y| \le |g(x) - g(y)| \le (1 + r)|x - y|$ and $\sigma_{\min}(J) \ge 1 - r$, both constants attained in the limit at the origin for $U = \pm rW^\top$; $g = x - 2\tanh x$ has $r = 2$ and $g(t) = g(-t) = 0$ where $t = 2\tanh t$: two points at distance zero; $r > 1$ does not forbid a metric: $x + 2\tanh x$",
        assumptions=("residual features with one hidden layer",),
        spec=("DL.E2",),
        cites=(*RUAN, "behrmann2019"),
        provenance=("derived",),
    ),
    constant("narrower", "both constants are two per cent nearer to one", factor=0.98),
    constant("always", "the two points have distance a tenth, and no two ever have distance zero", met=Fraction(1, 10)),
    bug("sum", "the norms are averaged instead of multiplied", summed=True),
    hypothesis("shrinking", "the branch of norm two has the other sign", steep=-2),
)
def test_injective(run, *, factor=1.0, met=0, summed=False, steep=2):
    cases = [(shifting(2, b), np.array([[-s, 0.0], [s, 0.0]])) for b in (0.5, -0.5) for s in (2.0**-5, 1.0)]
    for number, rng in enumerate(run.draws(quick=8, paper=150)):
        d, branch, unit = int(rng.integers(1, 5)), float(rng.uniform(0.1, 0.95)), UNITS[number % len(UNITS)]
        cases.append((drawn(rng, d, int(rng.integers(1, 5)), branch, unit), unit * rng.normal(size=(6, d))))
    for g, x in cases:
        norms = [np.linalg.norm(m, 2) for m in (g.inner, g.outer)]
        r = Interval.within(float(np.mean(norms) if summed else np.prod(norms)), 64 * U * g.inner.size)
        both = ends(
            np.frompyfunc(lambda b: b.sqrt(), 1, 1)(squares(images(parameters(g), x))[np.triu_indices(len(x), 1)])
        )
        apart = ends(np.frompyfunc(lambda b: b.sqrt(), 1, 1)(squares(balls(x))[np.triu_indices(len(x), 1)]))
        ratios = [Interval.within(a, e) / Interval.within(b, o) for a, e, b, o in zip(*both, *apart, strict=True)]
        for ratio in ratios:
            yield at_most(ratio, 1 + factor * r, d=g.dim, part="upper")
            yield at_least(ratio, 1 - factor * r, scale=1, d=g.dim, part="lower")
        yield at_most(Interval.exactly(g.expansion), 1 - r, scale=1, part="stated")
        yield at_least(Interval.exactly(g.lipschitz), 1 + r, part="stated")
        weakest = np.linalg.svd(g.jacobian(x), compute_uv=False)[:, -1].min()
        yield at_least(
            Interval.within(float(weakest), 1e3 * U * g.lipschitz), 1 - factor * r, scale=1, part="immersion"
        )
    for b in (0.5, -0.5):
        pairs = [np.array([[-s], [s]]) for s in (2.0**-k for k in range(2, 9))]
        f = [hull(squares(images(parameters(shifting(1, b)), x))[0, 1].sqrt() / (2 * ball(x[1, 0]))) for x in pairs]
        yield equals(limit(f, order=2), 1 + factor * Interval.exactly(b), part="attained", branch=b)
    fold, t = shifting(1, -2.0), ball(1.9150080481545375)
    for _ in range(4):  # Newton, on balls of which the middle is kept
        t = (t - (t - 2 * t.tanh()) / (1 - 2 * (1 - t.tanh() ** 2))).mid()
    root = hull(t)
    away = np.array([[-root.mid], [root.mid]])
    seen = np.sqrt(-MetricScore(fold).matrix(away, away)[0, 1])
    # a point is half an ulp off, where g grows by at most one per unit
    yield equals(Interval.within(float(seen), 2.0 * fold.rounding(away) + 8.0 * U), met, scale=1, part="fold")
    # the slope of x + 2 tanh x, less than which is no difference quotient, at every tanh
    flattest = -sup_over(f"-(1 + ({steep})*(1 - t*t))", t=(-1, 1))
    yield at_least(flattest, 1, part="beyond one, injective still")
    rise = images(parameters(shifting(1, float(steep))), np.linspace(-3.0, 3.0, 25)[:, np.newaxis])[:, 0]
    for step in np.diff(rise):
        yield at_least(hull(step * 4), 1, part="beyond one, steps of a quarter")


SKEWED = ResidualFeatures(  # of which J J^T is not J^T J
    np.array([[0.75, -0.5, 0.25], [0.5, 1.0, -0.75]]), np.array([0.25, -0.5, 0.125]),
    np.array([[0.5, -0.25], [0.25, 0.5], [-0.75, 0.5]]), np.array([0.5, 0.0]),
)  # fmt: skip


def grams(name, g, x):
    """The metric at a point, in balls."""
    j = jacobian(parameters(g), x)
    return {"pull-back": j.T @ j, "transposed": j @ j.T, "input": balls(np.eye(len(x)))}[name]


@verifies(
    Claim(
        "metric.pull-back",
        "for small steps the learned dissimilarity is the metric that the features pull back",
        r"$f(x, x + v) = v^\top J^\top Jv + v^\top J^\top\nabla^2g[v, v] + O(|v|^4)$, so that $g_{ij} = \frac12\partial_{y_i}\partial_{y_j}f|_{y = x} = (J^\top J)_{ij}$; $f(x, x + tv)/t^2$ is off by order 1 in t, and about the midpoint, $f(x - \frac t2v, x + \frac t2v)/t^2$, by order 2",
        assumptions=("features with three derivatives",),
        spec=("DL.E2", "DL.B3"),
        cites=RUAN,
        provenance=ON_PAPER,
    ),
    bug("transposed", "the metric is J J^T", metric="transposed"),
    constant("whole", "the metric is the second derivative, without the half", share=1),
    hypothesis("straight", "the features are those of the tokens themselves", metric="input"),
    constant("order", "without the midpoint the error is of order 2 already", first=2),
    bug("bend", "the term of third order is half as large, as in Taylor's series of the features", bend=0.5),
)
def test_pull_back(run, *, metric="pull-back", share=Fraction(1, 2), first=1, bend=1.0):
    x0, way = np.array([0.25, -0.5]), np.array([1.0, 0.5])
    cases = [(SKEWED, x0, way)]
    for rng in run.draws(quick=4, paper=60):
        d = int(rng.integers(1, 4))
        x, v = (np.round(rng.normal(size=d) * 64) / 64 for _ in range(2))  # so that steps of powers of two are exact
        v[0] = v[0] or 1.0
        cases.append((drawn(rng, d, int(rng.integers(2, 5)), float(rng.uniform(0.3, 1.5))), x, v))
    for g, x, v in cases:
        par, score, t = parameters(g), MetricScore(g), variable(4)
        gram, size = grams(metric, g, x), (1.0 + float((np.abs(g.inner) @ np.abs(g.outer)).sum())) ** 2
        loose = size * (8.0 * gamma(16 + 2 * g.inner.size) * (1.0 + float(np.abs(x) @ np.abs(g.inner).sum(axis=1))))
        found = score.pull_back(x[np.newaxis])[0]
        yield equals(discrepancy(found, *_pair(gram, loose)), 0, scale=size, part="instrument")
        series = images(par, (balls(x) + balls(v) * t)[np.newaxis])[0] - images(par, x[np.newaxis])[0]
        f = (series * series).sum()
        second = hull((balls(v) @ gram @ balls(v)) * (2 * ball(share)))
        yield equals(hull(coefficient(f, 2)), second, part="second derivative")
        j = jacobian(par, x)
        bent = bend * (g.hessian(x[np.newaxis])[0] @ v @ v)
        third = Interval.within(0.0, 16.0 * loose * float(np.abs(v).sum()) ** 3) + sum(
            hull(a) * Interval.exactly(b) for a, b in zip(j @ balls(v), bent.tolist(), strict=True)
        )
        yield equals(third, hull(coefficient(f, 3)), scale=size, part="third derivative")
        yield from _steps(score, x, v, second, first, named=g is SKEWED)


def _pair(matrix, loose):
    middle, radius = ends(matrix)
    return middle, radius + loose


def _steps(score, x, v, second, first, *, named):
    """Find the limits of difference quotients of the score itself, one-sided and about the midpoint."""
    for part, sides, own, power in (("one side", (0.0, 1.0), 1, first), ("midpoint", (-0.5, 0.5), 2, 2)):
        quotients = []
        # steps small enough for the next order to be one; about the midpoint, further on rounding is all that is left
        for k in range(9, 14) if own == 1 else range(5, 9):
            step = 2.0**-k
            left, right = ((x + side * step * v)[np.newaxis] for side in sides)
            f = -score.matrix(left, right).item()
            off = 2.0 * score.features.rounding(np.concatenate([left, right]))
            error = off * (2.0 * np.sqrt(f) + off) + gamma(16) * f
            quotients.append(Interval.within(f, error) / Interval.exactly(step) ** 2)
        yield equals(limit(quotients, order=own), second, part=part)
        if named:
            yield equals(order([q - second for q in quotients[:5]]), power, scale=1, part=f"order, {part}")
