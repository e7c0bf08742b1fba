"""How the output of attention moves with its query, when that vanishes, and why no constant bounds it for all inputs."""

import math
from fractions import Fraction

import numpy as np

from theory.attention import DotProduct
from theory.attention.calculus import attend_jvp, attend_moments
from theory.engine import Direction
from theory.evidence import (
    Claim,
    at_least,
    at_most,
    ball,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    norm,
    verifies,
)
from theory.evidence.enclosure import coefficient, sqrt, variable
from theory.evidence.spectra import spectral_norm
from theory.maxent import entmax, entmax_vjp
from theory.maxent.gibbs import gibbs_law
from verify import textbook
from verify.textbook import balls, hull

REFEREED = ("recalled", "derived", "refereed")
SCALED = DotProduct()


def moving_query(keys, query, way, power):
    """Scores of query + t way with the keys over d**power, as power series of balls, shape (n,)."""
    scale = ball(keys.shape[1]) ** ball(power)
    return (balls(keys) @ balls(query) + balls(keys) @ balls(way) * variable(2)) / scale


def slopes(series):
    """The balls that multiply t."""
    return np.array([coefficient(entry, 1) for entry in series])


@verifies(
    Claim(
        "layer.query-gradient",
        "the output moves with the query by the covariance of values and keys over the root of the dimension",
        r"$\partial o/\partial q = \mathrm{Cov}_p(v, k)/\sqrt d$ for $o = \sum_j p_j v_j$, $p = \mathrm{softmax}(\langle q, k_j\rangle/\sqrt d)$",
        spec=("RA.G3",),
        cites=("vaswani2017",),
        source_status=REFEREED,
    ),
    bug("uncentred", "the mean of v k' stands for the covariance", centred=False),
    constant("unscaled", "the covariance is not divided by the root of the dimension", divided=0.0),
    hypothesis("near", "the scores are divided by d to the 0.49", power=0.49),
)
def test_query_gradient(run, *, centred=True, divided=0.5, power=0.5):
    for rng in run.draws(quick=20, paper=200):
        n = int(rng.integers(2, 15))
        d = int(rng.integers(2, 5))
        width = int(rng.integers(1, 4))
        q = rng.normal(size=d)
        k = rng.normal(size=(n, d))
        v = rng.normal(size=(n, width))
        way = rng.normal(size=d)
        masses = textbook.exp(moving_query(k, q, way, power))
        claimed = slopes((masses / masses.sum(keepdims=True)) @ balls(v))
        still = Direction(way[np.newaxis], np.zeros((n, d)), np.zeros((n, width)), np.zeros(n))
        moved = attend_jvp(exact(q[np.newaxis]), k, v, still)[0]
        both = attend_moments(exact(q[np.newaxis]), k, np.hstack([v, k]))
        cross = both.covariance[0, :width, width:]
        if not centred:
            cross = cross + np.outer(both.output[0, :width], both.output[0, width:])
        along = cross @ way / ball(d) ** ball(divided)
        yield equals(along, claimed, scale=1, n=n, d=d, part="covariance")
        yield equals(moved, claimed, scale=1, n=n, d=d, part="derivative")


@verifies(
    Claim(
        "layer.query-bound",
        "the gradient by the query is at most half the product of the norms of values and keys over the root of d",
        r"$\|\partial o/\partial q\|_2 \le \frac12\|V\|_2\|K\|_2/\sqrt d$, attained at $n = 2$, $V = K = (1, -1)^\top$, $q = 0$",
        spec=("RA.G3",),
        source_status=REFEREED,
    ),
    constant("near", "the factor is 0.499", factor=0.499),
    bug("largest-entry", "the largest key stands for the norm of the matrix of keys", largest=True),
    hypothesis("unscaled", "the scores are not divided by the root of the dimension", scale=1.0),
)
def test_query_bound(run, *, factor=0.5, largest=False, scale=None):
    score = DotProduct(scale=scale)
    line = np.array([[1.0], [-1.0]])
    square = np.vstack([np.ones(4), -np.ones(4)])  # attains it too, in dimension four
    problems = [(np.zeros(1), line, line), (np.zeros(4), square, square)]
    for rng in run.draws(quick=20, paper=300):
        n = int(rng.integers(2, 15))
        d = int(rng.integers(1, 5))
        size = float(rng.choice([0.1, 1.0, 4.0]))
        problems.append((size * rng.normal(size=d), rng.normal(size=(n, d)), rng.normal(size=(n, d))))
    for q, k, v in problems:
        n, d = k.shape
        root = np.sqrt(exact(float(d)))
        found = attend_moments(exact(q[np.newaxis]), k, np.hstack([v, k]), score=score)
        steepest = spectral_norm(found.covariance[0, :d, d:]) * (1 / root if scale is None else scale)
        size = norm(exact(k), axis=1).max() if largest else spectral_norm(k)
        bound = factor * spectral_norm(v) * size / root
        yield at_most(steepest, bound, n=n, d=d, part="bound")
        if q.max() == 0.0 == q.min():
            yield equals(steepest, bound, n=n, d=d, part="attained")


def closed_form(scores, support, alpha, tau):
    """Sparsemax (alpha = 2) or 1.5-entmax on a known support as power series: the threshold solves a plain equation."""
    z = scores[support] * ((alpha - 1) / ball(tau))
    mean = z.sum(keepdims=True) / z.size
    if alpha == 2:
        return z - (mean - ball(1) / z.size)
    apart = z - mean  # sum (z - theta)^2 = 1 with theta below all
    threshold = mean - sqrt((1 - (apart * apart).sum(keepdims=True)) / z.size)
    return (z - threshold) ** 2


@verifies(
    Claim(
        "layer.escort-gradient",
        "with entmax rows the covariance is that under the escort weights",
        r"$\partial o/\partial q = \big(\sum q_j v_j k_j^\top - \frac{1}{\sum q_j}\sum q_j v_j \sum q_j k_j^\top\big)/(\tau\sqrt d)$ with $q_j = p_j^{2-\alpha}$ on the support",
        assumptions=("the support is constant nearby", r"decided at $\alpha = \frac32$ and $2$"),
        spec=("RA.G3",),
        cites=("correia2019",),
        source_status=REFEREED,
    ),
    bug("ordinary", "the covariance is that under the weights themselves", ordinary=True),
    constant("near", "the escort power is 2.01 less alpha", power=2.01),
    bug("whole", "the keys off the support are counted with weight one", whole=True),
)
def test_escort_gradient(run, *, ordinary=False, power=2.0, whole=False):
    for rng in run.draws(quick=12, paper=120):
        n = int(rng.integers(3, 10))
        d = int(rng.integers(1, 4))
        tau = float(rng.uniform(0.5, 2.0))
        q = rng.normal(size=d)
        k = rng.normal(size=(n, d))
        v = rng.normal(size=(n, 2))
        way = rng.normal(size=d)
        q[0] += 2.0
        for alpha in (1.5, 2.0):
            series = moving_query(k, q, way, 0.5)
            law = textbook.entmax(np.array([coefficient(s, 0) for s in series]), alpha, tau)
            support = np.array([hull(p).lo > 1e-12 for p in law])
            moved = closed_form(series, support, alpha, tau)
            by_series = slopes(moved @ balls(v[support]))
            seen = np.ones(n, dtype=bool) if whole else support
            exponent = ball(power) - ball(alpha)
            escort = np.array([p**exponent if p > 1e-12 else ball(1) for p in law[seen]])
            escort = law[seen] if ordinary else escort
            change = balls(k[seen]) @ balls(way) / (ball(d).sqrt() * ball(tau))
            means = (escort @ balls(v[seen])) / escort.sum()
            claimed = (escort * change) @ (balls(v[seen]) - means)
            for measured, by_escort in zip(by_series, claimed, strict=True):
                yield equals(hull(measured), hull(by_escort), scale=1, n=n, d=d, alpha=alpha, part="covariance")
            scores = k @ q / math.sqrt(d)
            weights = entmax(scores, alpha, tau=tau)
            direction = k @ way / math.sqrt(d)
            derivative = entmax_vjp(exact(weights), direction, alpha, tau=tau) @ v
            # the same formula at the weights that were computed: what is left is the rounding of this formula alone
            given = np.array([p**exponent if p > 0 else ball(0) for p in balls(weights)])
            given = given if not ordinary else balls(weights)
            along, middle = balls(direction) / ball(tau), (given @ balls(v)) / given.sum()
            exactly = (given * along) @ (balls(v) - middle)
            yield equals(derivative, exactly, scale=1, n=n, d=d, alpha=alpha, part="product")


WIDE = (np.array([20.0, 0.0, 0.0, 0.0]), 1.0)  # a gap so wide that the bound is all but met


@verifies(
    Claim(
        "layer.gap-decay",
        "where one score leads by a fixed gap, the Jacobian decays exponentially in it",
        r"$\|J\|_{\infty\to\infty} \le \frac2\tau(n-1)e^{-\delta/\tau}$ for $J = \partial\,\mathrm{softmax}(s/\tau)/\partial s$ with gap $\delta > 0$; the factor cannot be smaller",
        assumptions=("the largest score is met once",),
        spec=("RA.G3",),
        source_status=REFEREED,
    ),
    bug("no-temperature", "the bound is not divided by the temperature", power=0),
    constant("near", "the factor is one in a thousand smaller", factor=0.999),
    constant("larger", "the factor is one in a thousand larger", factor=1.001),
    hypothesis("tied", "the gap is taken below the two largest scores", below=2),
)
def test_gap_decay(run, *, power=1, factor=1.0, below=1):
    problems = [
        (np.array([1.0, 0.0, -0.2]), 0.3),
        WIDE,
        (np.array([5.0, 5.0 - 2**-9, 0]), 1.0),
    ]
    problems += [
        (rng.normal(size=int(rng.integers(3, 9))) * 3.0, float(rng.uniform(0.2, 3.0)))
        for rng in run.draws(quick=30, paper=400)
    ]
    for scores, tau in problems:
        wide = scores is WIDE[0]
        law = gibbs_law(exact(scores), tau=tau).weights
        n = law.size
        # a diagonal entry is a weight times the sum of the others, and the rest of its row is as much
        measured = 2 / exact(tau) * (law * (law @ (1.0 - np.eye(n)))).max()
        ordered = balls(np.sort(scores)[::-1])
        decay = ((ordered[below] - ordered[0]) / ball(tau)).exp()
        bound = 2 * (n - 1) * decay * ball(factor) / ball(tau) ** power
        yield at_most(measured, bound, n=n, tau=tau, part="bound")
        if wide:  # 1 / (1 + (n - 1) e^-gap)^2 of it, where all others are equal
            yield at_least(measured, bound * ball(Fraction(999_999, 1_000_000)), n=n, tau=tau, part="sharp")


@verifies(
    Claim(
        "layer.not-lipschitz",
        "dot-product self-attention is not globally Lipschitz in its tokens",
        r"tokens $(0, c, -c)$ on the line: $\partial o_1/\partial x_1 = (1 + 2c^2)/3$, beyond every bound",
        assumptions=("queries, keys and values are the tokens",),
        spec=("RA.G3",),
        cites=("kim2021",),
        source_status=REFEREED,
    ),
    constant("bounded", "the derivative never exceeds 1000", ceiling=1000),
    bug("values-only", "the softmax is held fixed", frozen=True),
    hypothesis("off-centre", "the first token lies at one in a hundred", start=0.01),
)
def test_not_lipschitz(run, *, ceiling=math.inf, frozen=False, start=0.0):
    for c, beyond in run.pick(
        quick=((1.0, 0.5), (4.0, 10), (16.0, 100), (64.0, 1000)), paper=tuple((4.0**k, 16**k / 2) for k in range(12))
    ):
        x = np.array([[start], [c], [-c]])
        first = np.array([[1.0], [0.0], [0.0]])
        along = 0.0 * first if frozen else first
        tangent = Direction(along, along, first, np.zeros(3))
        measured = attend_jvp(exact(x), x, x, tangent)[0, 0]
        yield equals(measured, min((1 + 2 * Fraction(c) ** 2) / 3, ceiling), c=c, part="derivative")
        yield at_least(measured, beyond, c=c, part="beyond")
