"""Clustering as attention: each method equals its own definition and its kept implementation."""

import warnings
from functools import partial

import numpy as np

from theory.attention import DotProduct, SquaredDistance, attend_rows, top_k
from theory.diffusion.similarity import LogDistance, biased_weights, normalise_columns, regroup
from theory.evidence import (
    Claim,
    Interval,
    at_most,
    ball,
    bug,
    constant,
    equals,
    found,
    hypothesis,
    limit,
    verifies,
)
from theory.evidence.enclosure import coefficient, variable
from theory.evidence.roundoff import EXP_ULPS, U, gamma, softmax_error
from verify import textbook
from verify.textbook import balls, exp, gap, hull, log

DERIVED = ("derived",)
SKLEARN = "pedregosa2011"


def groups(run, *, quick=3, paper=30, n=14):
    """Points, three centres, a bandwidth."""
    for rng in run.draws(quick=quick, paper=paper):
        yield rng.normal(size=(n, 2)), rng.normal(size=(3, 2)), float(rng.uniform(0.4, 2.0)), rng


def squares(x, c):
    """The balls |x - c|^2."""
    return -textbook.distance_scores(x, c, beta=1.0)


def reach(x, y):
    """The largest squared distance, at most."""
    return float((np.linalg.norm(x, axis=1).max() + np.linalg.norm(y, axis=1).max()) ** 2)


def means(u, x, power=1):
    """Centres weighted by powers of memberships, in balls."""
    w = u if power == 1 else exp(log(u) * power)
    return (w.T @ balls(x)) / w.sum(axis=0)[:, np.newaxis]


@verifies(
    Claim(
        "pipeline.soft-k-means",
        "responsibilities of soft k-means are cross-attention with a key bias, and its step is attention back from the centres",
        r"$u_{ij} \propto_j e^{-\beta|x_i - c_j|^2}$ is $\mathrm{softmax}_j(2\beta\langle x_i, c_j\rangle - \beta|c_j|^2)$, and $c_j = \sum_iu_{ij}x_i/\sum_iu_{ij}$ is attention of $c_j$ to keys $x_i$ of weight $1/Z_i$; GaussianMixture agrees",
        assumptions=("equal variances and weights",),
        spec=("DL.A2",),
        cites=("ruan2024", SKLEARN),
        provenance=DERIVED,
    ),
    bug("no-bias", "the bias of the keys is left out", biased=0.0),
    constant("half", "the scores are half as large", factor=0.5),
    hypothesis("squared", "the centres are weighted by the squares of the memberships", power=2),
)
def test_soft_k_means(run, *, biased=1.0, factor=1.0, power=1):
    for x, c, beta, _ in groups(run):
        score, bias = DotProduct(scale=2.0 * beta), -beta * biased * np.square(c).sum(axis=1)
        slip = gamma(c.shape[1] + 2) * beta * float(np.square(c).sum(axis=1).max())
        law, error = biased_weights(x, c, score, bias=bias)
        exact = textbook.laws(squares(x, c) * (-ball(beta * factor)))
        error = (1.0 + error) * (1.0 + 4.0 * slip) - 1.0 + 4 * U
        yield equals(gap(law, exact, error), 0, scale=1, part="memberships", n=len(x))
        found = regroup(x, c, score, bias=bias)
        size, claimed = float(np.abs(x).max()), means(exact, x, power)
        width = found.error + 8.0 * slip * size + 4 * U * size
        yield equals(gap(found.centres, claimed, width), 0, scale=size, part="centres", n=len(x))
        kept, chances = mixture(x, c, 2.0 * beta)
        far = beta * reach(x, c) + 8.0
        theirs = softmax_error(far * gamma(24), 2.0 * far, 3)  # an expanded square, a normal density, logsumexp
        yield equals(gap(chances, exact, theirs), 0, scale=1, part="GaussianMixture", n=len(x))
        shares = float(np.min(chances.sum(axis=0)))
        theirs = size * (2.0 * theirs + gamma(2 * len(x) + 8) + 24 * U / shares)  # they add ten epsilons to the shares
        yield equals(gap(kept, claimed, 2.0 * theirs), 0, scale=size, part="its centres", n=len(x))


def mixture(x, c, precision):
    """Centres after one step of scikit-learn's mixture, and the memberships before it."""
    from sklearn.mixture import GaussianMixture  # noqa: PLC0415  slow to load

    start = {"means_init": c, "weights_init": np.full(3, 1 / 3), "precisions_init": np.full(3, precision)}
    model = GaussianMixture(3, covariance_type="spherical", max_iter=1, random_state=0, init_params="random", **start)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one step has not converged
        model.fit(x)
    after = model.means_.copy()
    model.means_, model.weights_ = c, np.full(3, 1 / 3)
    model.precisions_cholesky_ = np.full(3, np.sqrt(precision))
    return after, model.predict_proba(x)


@verifies(
    Claim(
        "pipeline.k-means",
        "a step of k-means is attention that keeps the best key, then the mean over the columns",
        r"labels $\arg\min_j|x_i - c_j|^2$ and centres $N_c(S)^\top X$ for $S$ = attention to one key; KMeans agrees after one Lloyd step",
        assumptions=("no ties", "no empty cluster"),
        spec=("DL.A2",),
        cites=("ruan2024", SKLEARN),
        provenance=DERIVED,
    ),
    bug("no-bias", "the closest centre is taken to be the one of largest dot product", score=DotProduct(scale=1.0)),
    constant("two", "two centres are kept", k=2),
    hypothesis("rows", "the rows are normalised for the centres", rows=True),
    hypothesis("two-steps", "two Lloyd steps are taken by KMeans", steps=2),
)
def test_k_means(run, *, score=None, k=1, rows=False, steps=1):
    from sklearn.cluster import KMeans  # noqa: PLC0415  slow to load

    for x, _, _, rng in groups(run, n=24):
        c = x[:3] + 0.1 * rng.normal(size=(3, 2))  # near a point each, so that none stays empty
        chosen = SquaredDistance(1.0) if score is None else score
        hard = attend_rows(x, c, np.eye(3), rows=partial(top_k, k=k), score=chosen)
        exact = squares(x, c)
        best = [min(range(3), key=lambda j, row=row: float(row[j].mid())) for row in exact]
        sure = all(row[j] < row[i] for row, j in zip(exact, best, strict=True) for i in range(3) if i != j)
        yield equals(int(sure) * int((hard == np.eye(3)[best]).all()), 1, scale=1, part="labels", n=len(x))
        size, n = float(np.abs(x).max()), len(x)
        full = hard.any(axis=0)  # a centre without points stays
        mine = c.copy()
        mine[full] = (hard[:, full] / 3 if rows else normalise_columns(hard[:, full])).T @ x
        claimed = means(balls(np.eye(3)[best]), x)
        yield equals(gap(mine, claimed, size * gamma(2 * n + 8)), 0, scale=size, part="centres", n=n)
        kept = KMeans(3, init=c, n_init=1, max_iter=steps, tol=0.0, algorithm="lloyd").fit(x)
        width = size * gamma(4 * n + 16) * 2.0  # they subtract the mean first
        yield equals(gap(kept.cluster_centers_, claimed, width), 0, scale=size, part="KMeans", n=n)
        after = attend_rows(x, kept.cluster_centers_, np.eye(3), rows=partial(top_k, k=1), score=chosen)
        yield equals(int((after.argmax(axis=1) == kept.predict(x)).sum()), n, scale=1, part="its labels", n=n)


@verifies(
    Claim(
        "pipeline.k-means-limit",
        "soft and fuzzy memberships become those of k-means exponentially, at the gap between the two nearest centres",
        r"$-\beta^{-1}\log(1 - u_{\max}) \to d_2^2 - d_1^2$ as $\beta \to \infty$; $-(m - 1)\log(1 - u_{\max}) \to \log(d_2^2/d_1^2)$ as $m \to 1^+$",
        assumptions=("one nearest centre and one second",),
        spec=("DL.A2",),
        cites=("ruan2024", "bezdek1981"),
        provenance=("seen", "derived"),
    ),
    constant("unsquared", "the gap is that of the distances", power=0.5),
    bug("no-bias", "the bias of the keys is left out", biased=0.0),
    hypothesis("second", "the gap to the third centre decides", other=2),
)
def test_k_means_limit(run, *, power=1.0, biased=1.0, other=1):
    x, c = np.array([[0.25, 0.5]]), np.array([[0.0, 0.0], [1.0, 0.75], [-1.0, 1.5]])
    d = sorted((ball(squares(x, c)[0][j]) for j in range(3)), key=lambda ball: float(ball.mid()))
    d = [ball if power == 1.0 else ball.sqrt() for ball in d]
    soft, fuzzy = [], []
    for level in range(run.pick(quick=5, paper=7)):
        beta = 32.0 * 2.0**level
        score, bias = DotProduct(scale=2.0 * beta), -beta * biased * np.square(c).sum(axis=1)
        slip = gamma(4) * beta * float(np.square(c).sum(axis=1).max())
        soft.append(rate_of(biased_weights(x, c, score, bias=bias), 4.0 * slip) / beta)
        fuzzy.append(rate_of(biased_weights(x, c, LogDistance(beta / 4.0))) / (beta / 4.0))
    yield equals(limit(soft, order=1), hull(d[other] - d[0]), scale=1, part="soft")
    yield equals(limit(fuzzy, order=1), hull((d[other] / d[0]).log()), scale=1, part="fuzzy")


def rate_of(found, slip=0.0):
    """Minus the logarithm of all that the largest membership leaves, which is summed, not subtracted."""
    left = np.sort(found.weights[0])[:-1].sum()
    error = found.error * (1.0 + slip) + slip + gamma(8)
    value = -float(np.log(left))
    return Interval.within(value, 2.0 * error + 8 * EXP_ULPS * U * abs(value))


def reduced(x, c, m):
    """The objective of fuzzy c-means at its best memberships, of squared distances as balls or series."""
    apart = [[sum((c[i, a] - x[j, a]) * (c[i, a] - x[j, a]) for a in range(x.shape[1])) for i in range(len(c))]
             for j in range(len(x))]  # fmt: skip
    p = 1 / (1 - ball(m))
    return sum((sum((d.log() * p).exp() for d in row).log() * (1 - ball(m))).exp() for row in apart)


def slope_of(x, c, m):
    """The gradient of that objective in balls, by power series."""
    t, points, centres = variable(2)[()], balls(x), balls(c)
    out = np.empty(c.shape, dtype=object)
    for at in np.ndindex(*c.shape):
        moved = centres.copy()
        moved[at] = centres[at] + t
        out[at] = coefficient(reduced(points, moved, m), 1)
    return out


MIDDLES = np.array([[-2.0, 0.0], [2.0, 0.5], [0.5, 2.5]])
SPREAD = np.repeat(MIDDLES, 15, axis=0) + 0.6 * np.random.Generator(np.random.Philox(0)).normal(size=(45, 2))


def fuzzy_step(x, c, m, power, share=1.0):
    """One step in which the centres are weighted by this power of the memberships."""
    inner = share / (m - 1.0)
    return regroup(x, c, LogDistance(inner), power=power, back=LogDistance(power * inner))


@verifies(
    Claim(
        "pipeline.fuzzy-c-means",
        "a step of fuzzy c-means follows the gradient of its objective if centres are weighted by the m-th powers, and not if by memberships",
        r"$T(c)_i - c_i = -\nabla_{c_i}J_m/2\sum_ju_{ij}^m$ at the best memberships $u = N_c|c_i - x_j|^{-2/(m-1)}$, for $T(c) = N_r(\Gamma_mu)X$; at its fixed point $|\nabla J_m| \le 10^{-9}$",
        assumptions=("$m > 1$", "no point on a centre"),
        spec=("DL.A2",),
        cites=("ruan2024", "bezdek1981"),
        provenance=("seen", "derived", "refereed"),
    ),
    constant("printed", "centres are weighted by the memberships themselves", printed=True),
    bug("unsquared", "memberships fall with distances, not with their squares", share=0.5),
)
def test_fuzzy_c_means(run, *, printed=False, share=1.0):
    cases = [(SPREAD[::6], MIDDLES + 0.5, 2.0)]
    cases += [(x[:8], c, m) for (x, c, _, _), m in zip(groups(run, quick=2, paper=12), (1.5, 3.0) * 6, strict=False)]
    for x, c, m in cases:
        power = 1.0 if printed else m
        step = fuzzy_step(x, c, m, power, share)
        apart = squares(x, c)
        u = exp(log(apart) / (1 - ball(m)))
        u = exp(log(u / u.sum(axis=1, keepdims=True)) * ball(m))
        claimed = balls(c) - slope_of(x, c, m) / (2 * u.sum(axis=0)[:, np.newaxis])
        size = float(np.abs(x).max())
        yield equals(gap(step.centres, claimed, step.error), 0, scale=size, part="step", m=m, n=len(x))
    centres = MIDDLES + 0.5
    for _ in range(60):
        centres = fuzzy_step(SPREAD, centres, 2.0, 1.0 if printed else 2.0, share).centres
    slope = hull((slope_of(SPREAD, centres, 2.0) ** 2).sum()).sqrt()
    # where the iteration ended is rounding; that the slope there is small is what holds on every machine
    yield found(at_most(slope, 1e-9, scale=1, part="at the fixed point", n=len(SPREAD)))
