"""Clustering as attention: each method equals its own definition and its kept implementation."""

from functools import partial

import numpy as np

from theory.attention import DotProduct, SquaredDistance
from theory.attention.variants import attend_rows, top_k
from theory.diffusion.similarity import (
    LogDistance,
    biased_weights,
    lloyd_steps,
    mixture_step,
    normalise_columns,
    regroup,
)
from theory.evidence import (
    Claim,
    at_most,
    ball,
    bug,
    constant,
    equals,
    exact,
    found,
    hypothesis,
    limit,
    norm,
    verifies,
)
from theory.evidence.enclosure import coefficient, variable
from verify import textbook
from verify.textbook import balls

DERIVED = ("derived",)
SKLEARN = "pedregosa2011"


def groups(run, *, quick=3, paper=30, n=14):
    """Points, three centres, a bandwidth, and the generator that drew them."""
    for rng in run.draws(quick=quick, paper=paper):
        yield rng.normal(size=(n, 2)), rng.normal(size=(3, 2)), float(rng.uniform(0.4, 2.0)), rng


def squares(x, c):
    """The balls |x - c|^2."""
    return -textbook.distance_scores(x, c, beta=1.0)


def least(values):
    """The place of the least of some balls."""
    return min(range(len(values)), key=lambda j: float(values[j].mid()))


def means(u, x, power=1):
    """Centres weighted by powers of memberships, in balls."""
    w = u if power == 1 else np.exp(np.log(u) * power)
    return (w.T @ balls(x)) / w.sum(axis=0)[:, np.newaxis]


def squared_norms(centres):
    """|c|^2 of every centre, enclosed."""
    return (exact(centres) ** 2).sum(axis=1)


@verifies(
    Claim(
        "pipeline.soft-k-means",
        "responsibilities of soft k-means are cross-attention with a key bias, and its step is attention back from the centres",
        r"$u_{ij} \propto_j e^{-\beta|x_i - c_j|^2}$ is $\mathrm{softmax}_j(2\beta\langle x_i, c_j\rangle - \beta|c_j|^2)$, and $c_j = \sum_iu_{ij}x_i/\sum_iu_{ij}$ is attention of $c_j$ to keys $x_i$ of weight $1/Z_i$",
        remark=r"GaussianMixture agrees",
        assumptions=("equal variances and weights",),
        spec=("DL.A2",),
        cites=("ruan2024", SKLEARN),
        source_status=DERIVED,
    ),
    bug("no-bias", "the bias of the keys is left out", biased=0.0),
    constant("half", "the scores are half as large", factor=0.5),
    hypothesis("squared", "the centres are weighted by the squares of the memberships", power=2),
)
def test_soft_k_means(run, *, biased=1.0, factor=1.0, power=1):
    for points, c, beta, _ in groups(run):
        x = exact(points)
        centres = exact(c)
        score = DotProduct(scale=2.0 * beta)
        bias = -beta * biased * squared_norms(c)
        memberships = textbook.laws(squares(points, c) * -ball(beta * factor))
        claimed = means(memberships, points, power)
        n = len(points)
        size = float(np.abs(points).max())
        yield equals(biased_weights(x, centres, score, bias=bias), memberships, scale=1, part="memberships", n=n)
        yield equals(regroup(x, centres, score, bias=bias), claimed, scale=size, part="centres", n=n)
        kept = mixture_step(points, c, 2.0 * beta)
        yield equals(kept.labels, memberships, scale=1, part="GaussianMixture", n=n)
        yield equals(kept.centres, claimed, scale=size, part="its centres", n=n)


@verifies(
    Claim(
        "pipeline.k-means",
        "a step of k-means is attention that keeps the best key, then the mean over the columns",
        r"labels $\arg\min_j|x_i - c_j|^2$ and centres $N_c(S)^\top X$ for $S$ = attention to one key; KMeans agrees after one Lloyd step",
        assumptions=("no ties", "no empty cluster"),
        spec=("DL.A2",),
        cites=("ruan2024", SKLEARN),
        source_status=DERIVED,
    ),
    bug("no-bias", "the closest centre is taken to be the one of largest dot product", score=DotProduct(scale=1.0)),
    constant("two", "two centres are kept", k=2),
    hypothesis("rows", "the rows are normalised for the centres", rows=True),
    hypothesis("two-steps", "two Lloyd steps are taken by KMeans", steps=2),
)
def test_k_means(run, *, score=None, k=1, rows=False, steps=1):
    chosen = SquaredDistance(1.0) if score is None else score
    for x, _, _, rng in groups(run, n=24):
        c = x[:3] + 0.1 * rng.normal(size=(3, 2))  # near a point each, so that none stays empty
        hard = attend_rows(x, c, np.eye(3), rows=partial(top_k, k=k), score=chosen)
        apart = squares(x, c)
        n = len(x)
        size = float(np.abs(x).max())
        nearest = np.eye(3)[[least(row) for row in apart]]
        yield equals(int((hard == nearest).all()), 1, scale=1, part="labels", n=n)
        claimed = means(balls(nearest), x)
        yield equals(regrouped_by(hard, x, c, rows=rows), claimed, scale=size, part="centres", n=n)
        kept = lloyd_steps(x, c, steps=steps)
        yield equals(kept.centres, claimed, scale=size, part="KMeans", n=n)
        after = attend_rows(x, kept.centres.mid, np.eye(3), rows=partial(top_k, k=1), score=chosen)
        yield equals(int((after.argmax(axis=1) == kept.labels).sum()), n, scale=1, part="its labels", n=n)


def regrouped_by(labels, x, c, *, rows):
    """The mean of the points of each label; a centre without points stays."""
    found = []
    for j in range(3):
        mine = labels[:, [j]]
        if not mine.any():
            found.append(exact(c[[j]]))
            continue
        shares = exact(mine) / 3 if rows else normalise_columns(exact(mine))
        found.append(shares.T @ exact(x))
    return np.concatenate(found)


@verifies(
    Claim(
        "pipeline.k-means-limit",
        "soft and fuzzy memberships become those of k-means exponentially, at the gap between the two nearest centres",
        r"$-\beta^{-1}\log(1 - u_{\max}) \to d_2^2 - d_1^2$ as $\beta \to \infty$; $-(m - 1)\log(1 - u_{\max}) \to \log(d_2^2/d_1^2)$ as $m \to 1^+$",
        assumptions=("one nearest centre and one second",),
        spec=("DL.A2",),
        cites=("ruan2024", "bezdek1981"),
        source_status=("seen", "derived"),
    ),
    constant("unsquared", "the gap is that of the distances", power=0.5),
    bug("no-bias", "the bias of the keys is left out", biased=0.0),
    hypothesis("second", "the gap to the third centre decides", other=2),
)
def test_k_means_limit(run, *, power=1.0, biased=1.0, other=1):
    x = np.array([[0.25, 0.5]])
    c = np.array([[0.0, 0.0], [1.0, 0.75], [-1.0, 1.5]])
    gaps = sorted(squares(x, c)[0], key=lambda square: float(square.mid()))
    if power != 1.0:
        gaps = [np.sqrt(square) for square in gaps]
    soft, fuzzy = [], []
    for beta in (32.0 * 2.0**level for level in range(run.pick(quick=5, paper=7))):
        bias = -beta * biased * squared_norms(c)
        soft.append(rate_of(biased_weights(exact(x), exact(c), DotProduct(scale=2.0 * beta), bias=bias)) / beta)
        fuzzy.append(rate_of(biased_weights(exact(x), exact(c), LogDistance(beta / 4.0))) / (beta / 4.0))
    yield equals(limit(soft, order=1), gaps[other] - gaps[0], scale=1, part="soft")
    yield equals(limit(fuzzy, order=1), np.log(gaps[other] / gaps[0]), scale=1, part="fuzzy")


def rate_of(memberships):
    """Minus the logarithm of all that the largest membership leaves, which is summed, not subtracted."""
    order = memberships[0].mid.argsort()
    return -np.log(memberships[0][order[:-1]].sum())


def objective(x, c, m):
    """The objective of fuzzy c-means at its best memberships, of points and centres as balls or series."""
    total = 0
    p = 1 / (1 - ball(m))
    for point in x:
        apart = [sum((a - b) * (a - b) for a, b in zip(centre, point, strict=True)) for centre in c]
        inner = sum((square.log() * p).exp() for square in apart)
        total = total + (inner.log() / p).exp()
    return total


def slope_of(x, c, m):
    """The gradient of that objective in balls, by power series."""
    t = variable(2)[()]
    points = balls(x)
    centres = balls(c)
    slope = np.empty(c.shape, dtype=object)
    for at in np.ndindex(*c.shape):
        moved = centres.copy()
        moved[at] = centres[at] + t
        slope[at] = coefficient(objective(points, moved, m), 1)
    return slope


MIDDLES = np.array([[-2.0, 0.0], [2.0, 0.5], [0.5, 2.5]])
SPREAD = np.repeat(MIDDLES, 15, axis=0) + 0.6 * np.random.Generator(np.random.Philox(0)).normal(size=(45, 2))


def fuzzy_step(x, c, m, power, share=1.0):
    """One step in which the centres are weighted by this power of the memberships."""
    inner = share / (m - 1.0)
    return regroup(x, c, LogDistance(inner), power=power, back=LogDistance(power * inner))


def fuzzy_masses(x, c, m):
    """The sum of the m-th powers of the best memberships in every centre, in balls."""
    u = np.exp(np.log(squares(x, c)) / (1 - ball(m)))
    shares = u / u.sum(axis=1, keepdims=True)
    return np.exp(np.log(shares) * ball(m)).sum(axis=0)[:, np.newaxis]


@verifies(
    Claim(
        "pipeline.fuzzy-c-means",
        "a step of fuzzy c-means follows the gradient of its objective if centres are weighted by the m-th powers, and not if by memberships",
        r"$T(c)_i - c_i = -\nabla_{c_i}J_m/2\sum_ju_{ij}^m$ at the best memberships $u = N_c|c_i - x_j|^{-2/(m-1)}$, for $T(c) = N_r(\Gamma_mu)X$; at its fixed point $|\nabla J_m| \le 10^{-9}$",
        assumptions=("$m > 1$", "no point on a centre"),
        spec=("DL.A2",),
        cites=("ruan2024", "bezdek1981"),
        source_status=("seen", "derived", "refereed"),
    ),
    constant("printed", "centres are weighted by the memberships themselves", printed=True),
    bug("unsquared", "memberships fall with distances, not with their squares", share=0.5),
)
def test_fuzzy_c_means(run, *, printed=False, share=1.0):
    cases = [(SPREAD[::6], MIDDLES + 0.5, 2.0)]
    for (x, c, _, _), m in zip(groups(run, quick=2, paper=12), (1.5, 3.0) * 6, strict=False):
        cases.append((x[:8], c, m))
    for x, c, m in cases:
        step = fuzzy_step(exact(x), exact(c), m, 1.0 if printed else m, share)
        claimed = balls(c) - slope_of(x, c, m) / (2 * fuzzy_masses(x, c, m))
        yield equals(step, claimed, scale=float(np.abs(x).max()), part="step", m=m, n=len(x))
    centres = MIDDLES + 0.5
    for _ in range(60):
        centres = fuzzy_step(SPREAD, centres, 2.0, 1.0 if printed else 2.0, share)
    # where the iteration ended is rounding; that the slope there is small is what holds on every machine
    slope = norm(slope_of(SPREAD, centres, 2.0))
    yield found(at_most(slope, 1e-9, scale=1, part="at the fixed point", n=len(SPREAD)))
