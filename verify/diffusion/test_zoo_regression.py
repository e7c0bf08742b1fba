"""Mean shift, regression and kernel machines as attention: each equals its definition and its kept implementation."""

from functools import partial

import numpy as np

from theory.attention import DotProduct, SquaredDistance, attend_rows, partition_error, read, rounding, top_k
from theory.diffusion import propagate
from theory.diffusion.similarity import attend_unnormalised, nearest_rows
from theory.evidence import Claim, ball, bug, constant, equals, hypothesis, verifies
from theory.evidence.enclosure import coefficient, variable
from theory.evidence.roundoff import EXP_ULPS, U, gamma, softmax_error
from verify import textbook
from verify.diffusion.test_zoo import SKLEARN, groups, reach, squares
from verify.textbook import balls, exp, gap, log


@verifies(
    Claim(
        "pipeline.mean-shift",
        "attention among points moves each along the gradient of the log-density estimate, exactly, for every bandwidth",
        r"$Px - x = h^2\nabla\log\hat p_h(x)$, $\hat p_h(x) = \frac{1}{n(2\pi h^2)^{d/2}}\sum_je^{-|x - x_j|^2/2h^2}$, $\log\hat p_h$ the log-partition; KernelDensity agrees",
        assumptions=("$h > 0$",),
        spec=("DL.A2",),
        cites=("ruan2024", "cheng1995", SKLEARN),
        provenance=("derived", "refereed"),
    ),
    constant("bandwidth", "the factor is h", power=1),
    bug("narrow", "the exponent lacks its two", narrow=2.0),
    hypothesis("density", "the gradient of the density itself", plain=True),
)
def test_mean_shift(run, *, power=2, narrow=1.0, plain=False):
    from sklearn.neighbors import KernelDensity  # noqa: PLC0415  slow to load

    for x, q, width, _ in groups(run):
        score, n, h = SquaredDistance(0.5 * narrow / (width * width)), len(x), ball(width)
        t, points = variable(2)[()], balls(x)
        slope = np.empty(q.shape, dtype=object)
        for at in np.ndindex(*q.shape):
            moved = balls(q[at[0]])
            moved[at[1]] = moved[at[1]] + t
            apart = [sum((a - b) * (a - b) for a, b in zip(moved, point, strict=True)) for point in points]
            kernel = sum((-d / (2 * h * h)).exp() for d in apart)
            slope[at] = coefficient(kernel / n if plain else kernel.log(), 1)
        found = propagate(q, x, x, width**2, score=score)
        slip = 16 * U * reach(q, x) * score.scale  # the scale itself is rounded
        size = float(np.abs(x).max())
        error = rounding(q, x, x, score=score) + slip * size
        yield equals(gap(found, balls(q) + slope * h**power, error), 0, scale=size, part="shift", h=width, n=n)
        level = n * (2 * ball(np.pi) * h**power)
        kernel = exp(-squares(q, x) / (2 * h * h)).sum(axis=1)
        claimed = log(kernel / level)  # the constant of float pi; the truth is within an ulp
        mine = read(q, x, x, score=score).log_partition - np.log(n * 2.0 * np.pi * width**2)
        off = partition_error(q, x, score) + slip + 64 * U * 16.0
        yield equals(gap(mine, claimed, off), 0, scale=1, part="log-density", h=width, n=n)
        model = KernelDensity(bandwidth=width, atol=0.0, rtol=0.0, leaf_size=2 * n).fit(x)
        theirs = gamma(4 * n + 64) * (reach(q, x) / width**2 + 16.0)
        yield equals(gap(model.score_samples(q), claimed, theirs), 0, scale=1, part="KernelDensity", h=width, n=n)


@verifies(
    Claim(
        "pipeline.kernel-regression",
        "the kernel regression of Nadaraya and Watson is attention with the samples as keys and values",
        r"$\hat y(x) = \sum_jK_h(x - x_j)y_j/\sum_jK_h(x - x_j)$ for the Gaussian kernel; KNeighborsRegressor with all neighbours and these weights agrees",
        assumptions=("$h > 0$",),
        spec=("DL.A2",),
        cites=("ruan2024", "nadaraya1964", "watson1964", SKLEARN),
        provenance=("recalled",),
    ),
    constant("twice", "the exponent lacks its two", factor=1),
    bug("columns", "weights are normalised over the queries", axis=0),
    hypothesis("laplace", "the kernel is the exponential one", root=True),
)
def test_kernel_regression(run, *, factor=2, axis=1, root=False):
    from sklearn.neighbors import KNeighborsRegressor  # noqa: PLC0415  slow to load

    for x, q, h, rng in groups(run):
        y, n = rng.normal(size=len(x)), len(x)
        bandwidth = ball(h)
        apart = squares(q, x)
        scores = -(textbook.exp(log(apart) / 2) if root else apart) / (factor * bandwidth * bandwidth)
        claimed = textbook.laws(scores, axis=axis) @ balls(y)
        score = SquaredDistance(0.5 / h**2)
        slip = 8 * U * score.scale * reach(q, x)
        size = float(np.abs(y).max())
        error = rounding(q, x, y[:, np.newaxis], score=score) + 2.0 * slip * size
        yield equals(gap(propagate(q, x, y, h**2), claimed, error), 0, scale=size, part="attention", n=n, h=h)
        weigh = partial(gaussian, h=h)
        model = KNeighborsRegressor(n, weights=weigh, algorithm="kd_tree").fit(x, y)
        theirs = size * (
            softmax_error(score.scale * reach(q, x) * gamma(24), 2.0 * score.scale * reach(q, x), n) + gamma(2 * n)
        )
        yield equals(gap(model.predict(q), claimed, theirs), 0, scale=size, part="KNeighborsRegressor", n=n, h=h)


def gaussian(d, h):
    """Weights of neighbours at distances d."""
    return np.exp(-(d**2) / (2.0 * h**2))


@verifies(
    Claim(
        "pipeline.nearest-neighbours",
        "regression by the k nearest neighbours is attention with equal weights on the k best scores",
        r"$S_{ij} = \frac1k1\{x_j \text{ among the } k \text{ nearest to } x_i\}$, $\hat y = Sy$; kneighbors_graph and KNeighborsRegressor agree",
        assumptions=("distances without ties",),
        spec=("DL.A2",),
        cites=("ruan2024", SKLEARN),
        provenance=("seen",),
    ),
    constant("one-more", "one neighbour more", extra=1),
    bug("products", "the neighbours are those of the largest dot products", score=DotProduct(scale=1.0)),
    hypothesis("weighted", "the neighbours are weighted by the softmax", weighted=True),
)
def test_nearest_neighbours(run, *, extra=0, score=None, weighted=False):
    from sklearn.neighbors import KNeighborsRegressor, kneighbors_graph  # noqa: PLC0415  slow to load

    chosen = SquaredDistance(1.0) if score is None else score
    for x, q, _, rng in groups(run):
        y, n, k = rng.normal(size=(len(x), 1)), len(x), 4
        own = attend_rows(x, x, np.eye(n), rows=partial(nearest_rows, k=k + extra), score=chosen)
        graph = kneighbors_graph(x, k, mode="connectivity", include_self=True).toarray()
        yield equals(int((own > 0.0).sum() - (own[graph > 0.0] > 0.0).sum()), 0, scale=1, part="graph", n=n)
        rule = top_k if weighted else nearest_rows
        found = attend_rows(q, x, y, rows=partial(rule, k=k + extra), score=chosen)[:, 0]
        order = [sorted(range(n), key=lambda j, row=row: float(row[j].mid()))[:k] for row in squares(q, x)]
        claimed = np.array([balls(y[near, 0]).sum() / k for near in order])
        size = float(np.abs(y).max())
        yield equals(gap(found, claimed, size * gamma(n + 4)), 0, scale=size, part="regression", n=n)
        kept = KNeighborsRegressor(k + extra).fit(x, y[:, 0]).predict(q)
        yield equals(gap(kept, claimed, size * gamma(k + 4)), 0, scale=size, part="KNeighborsRegressor", n=n)


@verifies(
    Claim(
        "pipeline.support-vectors",
        "the decision of a kernel machine is attention to its support vectors before the normalisation",
        r"$f(x) = \sum_i\alpha_iK(x, x_i) + b = Z(x)\,\mathrm{Att}(x; x_i, \alpha_i) + b$ with $K = e^{-\gamma|x - x_i|^2}$; SVC agrees",
        assumptions=("Gaussian kernel",),
        spec=("DL.A2",),
        cites=("ruan2024", SKLEARN),
        provenance=("seen",),
    ),
    bug("normalised", "the sum is divided as attention does", normalised=True),
    constant("narrow", "the kernel has twice the exponent", factor=2),
    hypothesis("centred", "there is no offset", offset=0.0),
)
def test_support_vectors(run, *, normalised=False, factor=1, offset=1.0):
    from sklearn.svm import SVC  # noqa: PLC0415  slow to load

    for x, q, _, rng in groups(run, n=24):
        labels = (x[:, 0] + 0.5 * x[:, 1] ** 2 + 0.3 * rng.normal(size=len(x)) > 0.3).astype(int)
        labels[:2] = 0, 1
        model = SVC(C=2.0, gamma=0.7).fit(x, labels)
        keys, alpha, b = model.support_vectors_, model.dual_coef_[0], float(model.intercept_[0]) * offset
        score, n = SquaredDistance(0.7), len(keys)
        kernel = exp(textbook.distance_scores(q, keys, beta=0.7) * factor)
        claimed = kernel @ balls(alpha) + ball(b)
        mine = attend_unnormalised(q, keys, alpha, score)
        if normalised:
            mine = mine / np.exp(read(q, keys, keys, score=score).log_partition)
        off = partition_error(q, keys, score) + 4 * EXP_ULPS * U
        size = float(np.abs(alpha).sum())
        error = n * (
            rounding(q, keys, alpha[:, np.newaxis], score=score) + 2.0 * off * float(np.abs(alpha).max())
        ) + gamma(4) * (size + abs(b))
        yield equals(gap(mine + b, claimed, error), 0, scale=size, part="attention", n=n)
        theirs = size * (gamma(n + 4 * EXP_ULPS) + 2.0 * 0.7 * reach(q, keys) * gamma(16)) + gamma(4) * abs(b)
        yield equals(gap(model.decision_function(q), claimed, theirs), 0, scale=size, part="SVC", n=n)
