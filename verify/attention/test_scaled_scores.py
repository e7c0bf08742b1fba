"""Why the scores are divided by the root of the dimension: their moments, and how much gradient a softmax lets through."""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
from flint import acb, arb

from theory.attention import DotProduct, saturation
from theory.evidence import (
    Claim,
    Interval,
    Kind,
    at_least,
    at_most,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    limit,
    verifies,
)
from verify.textbook import hull

REFEREED = ("recalled", "derived", "refereed")
PLAIN = DotProduct(scale=1.0)
RADEMACHER = [(-1, Fraction(1, 2)), (1, Fraction(1, 2))]
# root three times these is Gauss' rule of three nodes for the normal law: exact for moments up to the fifth
GAUSS = [(-1, Fraction(1, 6)), (0, Fraction(2, 3)), (1, Fraction(1, 6))]
CROSS = [((1, 0), Fraction(1, 4)), ((-1, 0), Fraction(1, 4)), ((0, 1), Fraction(1, 4)), ((0, -1), Fraction(1, 4))]
DIAGONAL = [((1, 1), Fraction(1, 2)), ((-1, -1), Fraction(1, 2))]


def power(law, d):
    """The law of d independent draws: points and their exact masses."""
    for draw in itertools.product(law, repeat=d):
        yield tuple(value for value, _ in draw), math.prod((mass for _, mass in draw), start=Fraction(1))


def moved(law, shift):
    """A law of vectors, every coordinate moved by ``shift``."""
    return [(tuple(x + shift for x in point), mass) for point, mass in law]


def moments(queries, keys, *, factor=1, same=False, score=PLAIN):
    """Mean, variance and fourth moment of factor times the score, exactly for the scores as they are."""
    (q, a), (k, b) = (
        (np.array([x for x, _ in law], dtype=float), np.array([m for _, m in law])) for law in (queries, keys)
    )
    scores = factor * np.vectorize(Fraction, otypes=[object])(score.matrix(q, k))
    masses = np.diag(a) if same else np.outer(a, b)
    mean, second, fourth = ((masses * scores**power).sum() for power in (1, 2, 4))
    return mean, second - mean**2, fourth


@verifies(
    Claim(
        "layer.score-moments",
        "the variance of a dot product grows like the dimension, with the stated constants",
        r"$\mathrm{Var}\langle q, k\rangle = d\,[(\sigma_q^2 + \mu_q^2)(\sigma_k^2 + \mu_k^2) - \mu_q^2\mu_k^2]$; "
        r"$\mathbb{E}\langle q, k\rangle^4 = 3d^2 + 6d$ (normal), $3d^2 - 2d$ (signs); $\mathrm{Var}(\langle q, k\rangle/\sqrt d) = 1$ if standard",
        assumptions=("q and k independent", "uncorrelated coordinates of equal means and variances", "fourth moments: independent standard coordinates"),
        spec=("RA.G3",),
        cites=("vaswani2017",),
        source_status=("seen", *REFEREED),
    ),
    hypothesis("same", "the query is its own key", same=True),
    hypothesis("correlated", "the coordinates of the query are equal", second=DIAGONAL),
    bug("centred", "the means are taken to be zero", centred=True),
    bug("unscaled", "the division by the root of the dimension is taken to leave the variance alone", scaled=False),
    constant("normal", "products of normal coordinates are taken to be normal: the fourth moment is 3 d^2", own=0),
)  # fmt: skip
def test_score_moments(run, *, same=False, second=CROSS, centred=False, own=1, scaled=True):
    for d in run.pick(quick=(1, 2, 3), paper=(1, 2, 3, 4, 5)):
        signs = list(power(RADEMACHER, d))
        mean, variance, fourth = moments(signs, signs, same=same)
        yield equals(mean, 0, scale=d, law="signs", part="mean", d=d)
        yield equals(variance, d, law="signs", part="variance", d=d)
        yield equals(fourth, 3 * d * d - 2 * d * own, law="signs", part="fourth", d=d)
    signs = list(power(RADEMACHER, 4))  # where the root of the dimension is an integer, so are the scaled scores
    variance = moments(signs, signs, same=same, score=DotProduct())[1]
    yield equals(variance, 1 if scaled else 4, law="signs, scaled", part="variance", d=4)
    for d in run.pick(quick=(1, 2), paper=(1, 2, 3)):
        normal = list(power(GAUSS, d))
        mean, variance, fourth = moments(normal, normal, factor=3, same=same)
        yield equals(mean, 0, scale=d, law="normal", part="mean", d=d)
        yield equals(variance, d, law="normal", part="variance", d=d)
        yield equals(fourth, 3 * d * d + 6 * d * own, law="normal", part="fourth", d=d)
    for mu_q, mu_k in ((0, 0), (1, 0), (2, 3), (-1, 2)):  # uncorrelated, not independent: variance 1/2 each
        queries, keys = moved(second, mu_q), moved(CROSS, mu_k)
        own_q = Fraction(sum(x * x * m for (x, _), m in second))
        product = (own_q + (0 if centred else mu_q**2)) * (Fraction(1, 2) + (0 if centred else mu_k**2))
        claimed = 2 * (product - (0 if centred else mu_q**2 * mu_k**2))
        variance = moments(queries, keys)[1]
        yield equals(variance, claimed, scale=1 + claimed, law="cross", part="variance", means=(mu_q, mu_k))


def normal_mean(function, size):
    """The mean of an entire or meromorphic ``function`` of a standard normal number, enclosed by an interval.

    Beyond 16 the function is at most ``size`` times |x|, whose integral there is 2 phi(16) < 2**-184.
    """
    root = (2 * acb.pi()).sqrt()
    inside = acb.integral(lambda x, _: function(x) * (-x * x / 2).exp() / root, -16, 16).real
    return hull(inside + arb(0, size * 2.0**-184))


@cache
def two_scores(sigma, correlation):
    """Mean trace of the Jacobian, and of the score under the weights, for two centred normal scores, as intervals.

    With D the difference of the scores, the trace is 1 / (1 + cosh D), and the centred mean score D tanh(D / 2) / 2.
    """
    spread = (2 * (1 - acb(correlation))).sqrt() * acb(sigma)
    trace = normal_mean(lambda x: 1 / (1 + (spread * x).cosh()), 1)
    # the mean of both scores has mean zero; with tanh = sinh / (1 + cosh)
    score = normal_mean(lambda x: spread * x * (spread * x).sinh() / (1 + (spread * x).cosh()) / 2, 2 * sigma)
    return trace, score


@verifies(
    Claim(
        "layer.stein",
        "the mean trace of the Jacobian is the mean score under the weights over the variance",
        r"$\mathbb{E}\,\mathrm{tr}\,J = \mathbb{E}[1 - \|p\|_2^2] = \mathbb{E}\langle s, p\rangle / \sigma^2$ for $s_i \sim N(0, \sigma^2)$ independent, $p = \mathrm{softmax}(s)$; decided at $n = 2$",
        assumptions=("independent centred normal scores of equal variance",),
        spec=("RA.G3",),
        cites=("stein1981",),
        source_status=REFEREED,
    ),
    bug("deviation", "the mean score is divided by the standard deviation", exponent=1),
    hypothesis("correlated", "the two scores have correlation one in a thousand", correlation=0.001),
    constant("near", "the trace is one in ten thousand larger", factor=1.0001),
)
def test_stein(run, *, exponent=2, correlation=0.0, factor=1.0):
    for sigma in run.pick(quick=(0.125, 0.5, 2.0, 8.0, 32.0), paper=(2.0**k for k in range(-6, 7))):
        trace, score = two_scores(sigma, correlation)
        yield equals(trace, factor * score / Interval.exactly(sigma) ** exponent, sigma=sigma)


@cache
def largest(n, *, shift=2):
    """The mean of the largest of n standard normal numbers, n (n - 1) times the integral of phi^2 Phi^(n - 2)."""

    def density(x):
        below = (1 + (x / acb(2).sqrt()).erf()) / 2
        return n * (n - 1) * (-x * x / 2).exp() / (2 * acb.pi()).sqrt() * below ** (n - shift)

    return normal_mean(density, n * n)


def trace_of(n, sigma, step):
    """The mean trace for n independent N(0, sigma^2) scores by trapezoidal rules.

    From 1 / Z^2 = int t exp(-t Z) dt the mean of sum p^2 is n int A B^(n-1) du with t = exp(-u),
    A = E exp(2 (s - u) - exp(s - u)) and B = E exp(-exp(s - u)): both are convolutions with the normal law.
    """
    reach, before, after = (math.ceil(length / step) for length in (9.0 * sigma, 8.0, 45.0))
    s = exact(step) * np.arange(-reach, reach + 1.0)
    normal = np.exp(-0.5 * (s / sigma) ** 2) * (step / (sigma * hull((2 * arb.pi()).sqrt())))
    e = np.minimum(exact(-step) * np.arange(-2.0 * reach - before, 2 * reach + after + 1), 40.0)  # beyond both vanish
    below = np.exp(-np.exp(e))
    a, b = (np.convolve(part, normal, "valid") for part in (np.exp(2.0 * e) * below, below))
    return 1.0 - n * step * (a @ b ** (n - 1))


@cache
def mean_trace(n, sigma):
    """The same as an interval: the rules converge geometrically, so that the last halving bounds what is left."""
    before, after = (trace_of(n, sigma, step) for step in (0.4, 0.2))
    left = abs(after - before).hi
    return after + Interval(-left, left, Kind.TREND)


@verifies(
    Claim(
        "layer.stein-limit",
        "as the scores spread, the mean trace is the mean of the largest standard normal over the deviation",
        r"$\sigma\,\mathbb{E}\,\mathrm{tr}\,J \to \mathbb{E}\max_{i \le n} Z_i = n(n-1)\int\varphi^2\Phi^{n-2}$ as $\sigma \to \infty$; $1.7660$ at $n = 16$",
        assumptions=("independent centred normal scores of equal variance",),
        spec=("RA.G3",),
        cites=("stein1981",),
        source_status=REFEREED,
    ),
    bug("exponent", "the distribution function is raised to n - 1", shift=1),
    constant("asymptotic", "the limit is the root of 2 log n", asymptotic=True),
    constant("near", "the limit is one per cent larger", factor=1.01),
    hypothesis("fixed-gap", "the trace vanishes exponentially, as it does where the largest score leads by a fixed gap", gap=0.35),
)  # fmt: skip
def test_stein_limit(run, *, shift=2, asymptotic=False, factor=1.0, gap=0.0):
    yield equals(factor * largest(16, shift=shift), Interval.printed("1.7660"), n=16, part="value")
    for n in run.pick(quick=(2, 16), paper=(2, 3, 16, 64, 256)):
        claimed = Interval.exactly(math.sqrt(2 * math.log(n))) if asymptotic else factor * largest(n, shift=shift)
        levels = [sigma * mean_trace(n, sigma) for sigma in (8.0, 16.0, 32.0, 64.0)]
        yield equals(limit(levels, order=2), claimed * math.exp(-gap * 64.0), scale=1, n=n, part="limit")


@verifies(
    Claim(
        "layer.saturation",
        "without the scale the trace of the Jacobian falls like the root of the dimension, with it not at all",
        r"$\sigma\,\mathbb{E}\,\mathrm{tr}\,J \le \mathbb{E}\max_i Z_i \le \sigma\,\mathbb{E}\,\mathrm{tr}\,J + \log n / \sigma$ with $\sigma = \sqrt d$ for $\langle q, k\rangle$ and $\sigma = 1$ for $\langle q, k\rangle / \sqrt d$",
        assumptions=("standard normal keys", r"a query of length $\sqrt d$"),
        spec=("RA.G3",),
        cites=("vaswani2017", "stein1981"),
        source_status=("seen", *REFEREED),
    ),
    bug("deviation", "the mean score is divided by the standard deviation", exponent=1),
    hypothesis("unscaled", "the scores that are divided by the root of d are taken to be those that are not", unscaled=True),
    constant("exponential", "the trace falls like exp(-0.35 sigma)", gap=0.35),
    constant("faster", "the trace falls like 1 / d", rate=2),
    constant("reached", "the trace is not below its limit", share=0.0),
)  # fmt: skip
def test_saturation(run, *, exponent=2, unscaled=False, gap=0.0, rate=1, share=1.0):
    table = run.study(saturation.saturation)
    n = saturation.KEYS
    top = largest(n)
    columns = zip(table["d"].tolist(), table["scaled"].tolist(), *map(table.intervals, ("trace", "score")), strict=True)
    for d, scaled, trace, score in columns:
        sigma = 1.0 if scaled and not unscaled else math.sqrt(d)
        case = {"d": d, "scaled": scaled}
        yield equals(trace, mean_trace(n, sigma), part="trace", **case)
        yield equals(trace, score / sigma**exponent, part="Stein", **case)
        bound = top / sigma**rate * math.exp(-gap * sigma)
        yield at_most(trace, bound, part="above", **case)
        yield at_least(trace, top / sigma - share * math.log(n) / sigma**2, scale=top / sigma, part="below", **case)
