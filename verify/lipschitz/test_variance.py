"""What one layer of attention leaves of the variance between tokens: bounds that are attained, the rate, and skips."""

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from theory.attention import DotProduct, Measure, Softmatch
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
    precision,
    verifies,
)
from theory.evidence.spectra import spectral_norm
from theory.lipschitz import diameter, studies
from theory.lipschitz.depth import token_variance, variance_bound, variance_floor
from verify.inputs import UNITS

DERIVED = ("derived",)
MANY = 100_000  # of tokens, where a claim speaks of any number


def weights(queries, keys, masses):
    """The rows of softmax of dot products against a law of the keys, as they are defined: for many keys as well."""
    scores = exact(queries) @ keys.T
    kernel = np.exp(scores - scores.max(axis=1)[:, np.newaxis]) * masses
    return kernel / kernel.sum(axis=1)[:, np.newaxis]


def drawn(rng):
    """Draw queries and keys, laws of both, and tokens in some unit."""
    n, m, d, width = (int(k) for k in rng.integers((2, 2, 1, 1), (12, 7, 4, 4)))
    size, unit = 10.0 ** rng.uniform(-3.0, 0.7), float(rng.choice(UNITS))
    pi = rng.dirichlet(np.full(n, rng.choice([0.2, 5.0])))
    pi = (pi + 1e-3 / n) / (1.0 + 1e-3)
    return (
        size * rng.normal(size=(m, width)),
        rng.normal(size=(n, width)),
        rng.dirichlet(np.ones(m)),
        pi,
        unit * rng.normal(size=(n, d)),
    )


def two_sided(spread, n):
    """Two queries that prefer opposite tokens by a factor: what loses least, for n divisible by 16, or 2 up to log 3.

    Of ``1 / share`` tokens one is preferred by the first, another by the second.
    """
    share = min(0.5, 1.0 / math.expm1(spread))
    first, last = (np.arange(n) < round(share * n)), (np.arange(n) >= n - round(share * n))
    keys = np.stack([first, last], axis=1).astype(float)
    return spread * np.eye(2), keys, np.ones(2), np.full(n, 1.0 / n), keys[:, :1] - keys[:, 1:]


HEAVY = (  # opposite tokens, and one between them that hardly weighs: weighted alike they vary less
    1e-3 * np.array([[1.0, 0.0], [-1.0, 0.0]]),
    np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]),
    np.ones(2),
    np.array([0.4995, 0.4995, 0.001]),
    np.array([[1.0], [-1.0], [0.0]]),
)
SPREADS = tuple(math.log(r) for r in (1.001, 2.0, 3.0, 5.0, 9.0, 17.0))


class Layer(NamedTuple):
    """Of an instance: variances before and after, mean divergences of the rows, the largest spread of scores."""

    before: Any
    alike: Any
    after: Any
    chi: Any
    entropy: Any
    spread: Any
    case: dict


def layer_of(name, queries, keys, nu, pi, tokens):
    """Measure an instance."""
    rows, scores = weights(queries, keys, pi), exact(queries) @ keys.T
    law, chances = exact(pi) / exact(pi).sum(), exact(nu) / exact(nu).sum()
    dense = rows / law
    return Layer(
        token_variance(tokens, pi),
        token_variance(tokens),
        token_variance(rows @ tokens, nu),
        chances @ (law * np.square(dense - 1.0)).sum(axis=1),
        chances @ (rows * np.log(dense)).sum(axis=1),
        (scores.max(axis=1) - scores.min(axis=1)).max(),
        {"input": name, "n": len(keys), "d": tokens.shape[1]},
    )


@cache
def apart(spread, n):
    """Measure the instance that loses least."""
    return layer_of("apart", *two_sided(spread, n))


def layers(run, named):
    """Yield measured instances, first the named ones."""
    yield from (apart(*given) for given in named)
    yield layer_of("heavy", *HEAVY)
    for rng in run.draws(quick=8, paper=600):
        yield layer_of("drawn", *drawn(rng))


@verifies(
    Claim(
        "lipschitz.variance",
        "of the variance between tokens a layer leaves at most the mean chi-square divergence of its rows from any one law",
        r"$V_\nu(SH) \le \sum_i\nu_i\chi^2(p_i\,|\,\pi)\,V_\pi(H)$, $\chi^2(p\,|\,\pi) = \sum_j(p_j - \pi_j)^2/\pi_j$, for all laws $\nu$, $\pi > 0$ and rows $p_i$ of S; equality for $p_{ij} = \pi_j(1 + c_iu_j)$, $\nu(c) = \pi(u) = 0$, and $h_j - \pi(h) = u_jw$",
        assumptions=("no skip connection",),
        spec=("FR.F02",),
        cites=("dong2021",),
        source_status=DERIVED,
    ),
    constant("near", "one per cent less", factor=0.99),
    hypothesis("other-law", "the tokens are weighted alike, the divergence is from another law", alike=True),
    bug("entropy", "the divergence is that of Kullback and Leibler", entropy=True),
)
def test_variance(run, *, factor=1.0, alike=False, entropy=False):
    named = [(spread, n) for spread in SPREADS[:3] for n in (2, 16)] + [(SPREADS[1], MANY)]
    for layer in layers(run, named):
        claimed = factor * (layer.entropy if entropy else layer.chi)
        measured = layer.after / (layer.alike if alike else layer.before)
        yield at_most(measured, claimed, part="bound", **layer.case)
        if layer.case["input"] == "apart":
            yield equals(measured, claimed, part="attained", **layer.case)


@verifies(
    Claim(
        "lipschitz.variance-spread",
        "if the scores of no query differ by more than delta, at most tanh^2(delta/2) of the variance is left up to delta = log 3, and a layer that prefers few tokens may raise it",
        r"$V_\nu(SH) \le \rho(\delta)V_\pi(H)$ if $\operatorname{osc}_j\log(p_{ij}/\pi_j) \le \delta$ for all i, with $\rho = \tanh^2\frac\delta2$ for $e^\delta \le 3$ and $\frac18(e^\delta - 1)$ beyond; the least such function: both are attained",
        remark=r"$\delta \le \|B\|\max|x_i|\,D$ for tokens $m + x_i$ of diameter $D$ and dot products of form B, against $\pi_j \propto e^{m^\top Bx_j}$, with equality at two opposite tokens and $m = 0$; the variance can grow if $e^\delta > 9$",
        assumptions=("no skip connection",),
        spec=("FR.F02",),
        cites=("dobrushin1956", "dong2021"),
        source_status=DERIVED,
    ),
    constant("near", "one per cent less", factor=0.99),
    hypothesis("only-tanh", "tanh also where the exponential of delta exceeds three", only=True),
    hypothesis("other-law", "the tokens are weighted alike, the spread is against another law", alike=True),
    bug("quarter", "a quarter of delta for a half", half=4.0),
)
def test_variance_spread(run, *, factor=1.0, only=False, alike=False, half=2.0):
    def claimed(delta):
        if only or delta.hi <= math.log(3.0):
            return factor * np.tanh(delta / half) ** 2
        return factor * np.expm1(2.0 / half * delta) / 8.0

    for layer in layers(run, [(spread, 16) for spread in SPREADS] + [(SPREADS[3], MANY)]):
        measured = layer.after / (layer.alike if alike else layer.before)
        yield at_most(measured, claimed(layer.spread), part="bound", **layer.case)
        if layer.case["input"] == "apart":
            yield equals(measured, claimed(layer.spread), part="attained", **layer.case)
    clouds = [("opposite", np.zeros(1), np.array([[0.5], [-0.5]]), np.array([[form]])) for form in (-1.0, 0.25, 2.0)]
    for rng in run.draws(quick=4, paper=200):
        n, d = (int(k) for k in rng.integers((2, 1), (9, 4)))
        middle, form = rng.normal(size=d), rng.normal(size=(d, d))
        clouds.append(("drawn", middle, middle + 10.0 ** rng.uniform(-2.0, 0.0) * rng.normal(size=(n, d)), form))
    for name, middle, tokens, form in clouds:
        offsets = exact(tokens) - middle
        pi = np.exp(offsets @ (exact(middle) @ form))
        after = token_variance(Softmatch(DotProduct(form=form), Measure(tokens)).rows(exact(tokens)) @ tokens)
        measured = after / token_variance(tokens, None if alike else pi)
        reach = claimed(spectral_norm(form) * norm(offsets, axis=1).max() * diameter(tokens))
        case = {"input": name, "n": len(tokens), "d": len(middle)}
        yield at_most(measured, reach, part="dot", **case)
        if name == "opposite":
            yield equals(measured, reach, part="two tokens", **case)
    for spread in (0.0, *SPREADS):
        yield equals(variance_bound(exact(spread)), claimed(exact(spread)), scale=1, part="constant", spread=spread)


SMALL = tuple(2.0**-k for k in range(6, 13))  # what multiplies the scores
TOKENS = np.array([[1.0, 0.5], [0.25, -0.75], [-0.5, 1.5], [0.75, 0.25], [1.5, -1.0]])
FORMS = (
    np.array([[0.5, -1.0], [0.25, 0.75]]),
    np.array([[1.0, 0.5], [-0.5, 0.25]]),
    np.array([[-0.75, 1.0], [0.5, 0.5]]),
)


def spread_out(tokens):
    """The variance between tokens in balls."""
    offsets = tokens - tokens.sum(axis=0) / len(tokens)
    return (offsets**2).sum() / len(tokens)


def blocks(scale, depth, *, residual):
    """The variances after 1, ..., depth blocks of dot products, of forms that are all multiplied by a number."""
    tokens, found = balls(TOKENS), []
    for form in FORMS[:depth]:
        outputs = studies.attended(tokens, balls(form) * ball(scale), balls(np.eye(2)))
        tokens = tokens + outputs if residual else outputs
        found.append(spread_out(tokens))
    return found


def leading(centred=True, transposed=False):
    """The variances after every block over their powers of t in the limit, by the recursion, in balls."""
    x = balls(TOKENS)
    if centred:
        x = x - x.sum(axis=0) / len(x)
    covariance = x.T @ x / len(x)
    for form in FORMS:
        b = balls(form.T if transposed else form)
        covariance = covariance @ b.T @ covariance @ b @ covariance
        yield covariance.trace()


@verifies(
    Claim(
        "lipschitz.variance-first-order",
        "dot products that are multiplied by a small t leave a variance of order t^2 after one block, t^8 after two and t^26 after three",
        r"$V_k = t^{3^k - 1}\operatorname{tr}C_k + O(t^{3^k})$, $C_k = C_{k - 1}B_k^\top C_{k - 1}B_kC_{k - 1}$, for scores $t\,h_i^\top B_kh_j$ in block k and tokens of covariance $C_0$, wherever their mean lies; $V(SH) = t^2V(\frac1nJsJH) + O(t^3)$ for any scores $ts$, $J = I - \frac1n\mathbf 1\mathbf 1^\top$",
        assumptions=("no skip connection", "equal masses"),
        spec=("FR.F02",),
        cites=("dong2021",),
        source_status=DERIVED,
    ),
    constant("doubled", "the order doubles and does not triple: 2, 6, 14", orders=(2.0, 6.0, 14.0)),
    constant("near", "the covariance is one per cent larger", factor=1.01),
    hypothesis("skip", "the blocks have skip connections", residual=True),
    bug("uncentred", "second moments for the covariance, rows of scores not centred", centred=False),
    bug("transposed", "the transpose of every form", transposed=True),
)
def test_first_order(run, *, orders=(2.0, 8.0, 26.0), factor=1.0, residual=False, centred=True, transposed=False):
    depth = run.pick(quick=2, paper=3)
    with precision(2000):
        walks = np.array([blocks(t, depth, residual=residual) for t in SMALL])
        limits = list(leading(centred, transposed))[:depth]
        powers = [3 ** (k + 1) - 1 for k in range(depth)]
        scaled = [
            [hull(v / ball(t) ** power) for v, t in zip(walks[:, k], SMALL, strict=True)]
            for k, power in enumerate(powers)
        ]
        claims = [hull(factor * value) for value in limits]
        found = [[hull(value) for value in walks[:, k]] for k in range(depth)]
        plain = [
            hull(value / ball(t) ** 2) for value, t in zip((any_scores(t, residual) for t in SMALL), SMALL, strict=True)
        ]
        claimed = hull(factor * projected(centred, transposed))
    for k, (values, ratios_, claim) in enumerate(zip(found, scaled, claims, strict=True)):
        yield equals(order(values), orders[k], scale=1, part=f"order after {k + 1}")
        yield equals(limit(ratios_, order=1), claim, part=f"constant after {k + 1}")
    yield equals(limit(plain, order=1), claimed, part="any scores")


SCORES = np.array([[0.5, -1.0, 0.25, 2.0, 0.0], [1.0, 0.5, -0.75, 0.25, 1.5], [-1.0, 0.0, 0.5, 1.0, -0.5],
                   [0.25, 1.25, -1.5, 0.5, 0.75], [2.0, -0.25, 1.0, -1.0, 0.5]])  # fmt: skip


def any_scores(t, residual):
    """The variance after a layer with given scores times t, in balls."""
    kernel = np.exp(balls(SCORES) * ball(t))
    outputs = kernel / kernel.sum(axis=1)[:, np.newaxis] @ balls(TOKENS)
    return spread_out(balls(TOKENS) + outputs if residual else outputs)


def projected(centred, transposed):
    """The variance of J s J H / n, in balls."""
    n = len(TOKENS)
    away = balls(np.eye(n)) - balls(np.ones((n, n))) / n
    scores = balls(SCORES.T if transposed else SCORES)
    return spread_out(away @ (scores @ away if centred else scores) @ balls(TOKENS) / n)


@verifies(
    Claim(
        "lipschitz.variance-skip",
        "with a skip connection no layer takes more of the variance between tokens than the square of 1 - tanh(delta/2) leaves",
        r"$V(H + SH) \ge (1 - \tanh\frac\delta2)^2V(H)$, $\delta$ the largest difference of two scores of one query; equality for every $\delta$ and every even number of tokens; after k blocks at least the product of the factors",
        assumptions=("a skip connection", "equal masses"),
        spec=("FR.F02",),
        cites=("dong2021",),
        source_status=DERIVED,
    ),
    constant("near", "one per cent more is left", factor=1.01),
    hypothesis("no-skip", "there is no skip connection", skip=False),
    bug("positive", "the witness prefers what is like the query", sign=1.0),
    constant("square", "tanh(delta/2) is squared, as it is without a skip connection", power=2),
    constant("quarter", "tanh(delta/4) for tanh(delta/2)", part=0.25),
)
def test_variance_skip(run, *, factor=1.0, skip=True, sign=-1.0, power=1, part=0.5):
    def claimed(delta):
        return factor * (1.0 - np.tanh(part * delta) ** power) ** 2

    def layer(rows, tokens):
        return tokens + rows @ tokens if skip else rows @ tokens

    for spread in SPREADS:
        for n in (2, 16, 64):
            tokens = np.where(np.arange(n) < n // 2, 1.0, -1.0)[:, np.newaxis]
            rows = weights(sign * spread / 2.0 * tokens, tokens, np.full(n, 1.0 / n))
            left = token_variance(layer(rows, exact(tokens))) / token_variance(tokens)
            yield equals(left, claimed(exact(spread)), part="attained", n=n, spread=spread)
            yield at_least(left, claimed(exact(spread)), part="bound", n=n)
    for spread in SPREADS[3:]:  # what loses most without a skip connection, against the tokens' own side
        queries, keys, _, masses, tokens = two_sided(spread, 16)
        rows = weights(queries[(np.arange(16) < 8).astype(int)], keys, masses)
        left = token_variance(layer(rows, exact(tokens))) / token_variance(tokens)
        yield at_least(left, claimed(exact(spread)), scale=1, part="bound", n=16, spread=spread)
    for rng in run.draws(quick=8, paper=600):
        n, d = (int(k) for k in rng.integers((2, 1), (12, 4)))
        size = 10.0 ** rng.uniform(-3.0, 0.7)
        tokens = exact(float(rng.choice(UNITS)) * rng.normal(size=(n, d)))
        start, product = token_variance(tokens), exact(1.0)
        for block in range(3):
            queries, keys = size * rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
            scores = exact(queries) @ keys.T
            product = product * claimed((scores.max(axis=1) - scores.min(axis=1)).max())
            tokens = layer(weights(queries, keys, np.full(n, 1.0 / n)), tokens)
            yield at_least(
                token_variance(tokens) / start, product, scale=1, part="blocks" if block else "bound", n=n, d=d
            )
    for spread in (0.0, *SPREADS):
        yield equals(variance_floor(exact(spread)), claimed(exact(spread)), scale=1, part="constant", spread=spread)
