"""Mean shift, regression and kernel machines as attention: each equals its definition and its kept implementation."""

from functools import partial

import flint
import numpy as np

from theory.attention import DotProduct, SquaredDistance, attend, read
from theory.attention.variants import attend_rows, top_k
from theory.diffusion.similarity import attend_unnormalised, kernel_machine, log_density, nearest_rows, neighbour_means
from theory.evidence import Claim, ball, bug, constant, equals, exact, hypothesis, verifies
from theory.evidence.enclosure import coefficient, variable
from verify import textbook
from verify.diffusion.test_zoo import SKLEARN, groups, squares
from verify.textbook import balls

PI = flint.arb.pi()


def gradient(function, queries):
    """The gradients in balls, by power series, of a function of one point."""
    t = variable(2)[()]
    slope = np.empty(queries.shape, dtype=object)
    for i, axis in np.ndindex(*queries.shape):
        moved = balls(queries[i])
        moved[axis] = moved[axis] + t
        slope[i, axis] = coefficient(function(moved), 1)
    return slope


@verifies(
    Claim(
        "pipeline.mean-shift",
        "attention among points moves each along the gradient of the log-density estimate, exactly, for every bandwidth",
        r"$Px - x = h^2\nabla\log\hat p_h(x)$, $\hat p_h(x) = \frac{1}{n(2\pi h^2)^{d/2}}\sum_je^{-|x - x_j|^2/2h^2}$, $\log\hat p_h$ the log-partition; KernelDensity agrees",
        assumptions=("$h > 0$",),
        spec=("DL.A2",),
        cites=("ruan2024", "cheng1995", SKLEARN),
        source_status=("derived", "refereed"),
    ),
    constant("bandwidth", "the factor is h", power=1),
    bug("narrow", "the exponent lacks its two", narrow=2.0),
    hypothesis("density", "the gradient of the density itself", plain=True),
)
def test_mean_shift(run, *, power=2, narrow=1.0, plain=False):
    for x, q, width, _ in groups(run):
        beta = 0.5 / width**2
        n = len(x)
        size = float(np.abs(x).max())
        h = np.sqrt(1 / (2 * ball(beta)))
        score = SquaredDistance(narrow * beta)

        def estimate(point, x=x, h=h):
            kernel = sum((-sum((point - y) ** 2) / (2 * h**2)).exp() for y in balls(x)) / len(x)
            return kernel if plain else kernel.log()

        claimed = balls(q) + gradient(estimate, q) * h**power
        yield equals(attend(exact(q), x, x, score=score), claimed, scale=size, part="shift", h=width, n=n)
        claimed = np.log(np.exp(-squares(q, x) / (2 * h**2)).sum(axis=1) / (n * 2 * PI * h**power))
        mine = read(exact(q), x, x, score=score).log_partition - np.log(n * 2 * PI * h**2)
        yield equals(mine, claimed, scale=1, part="log-density", h=width, n=n)
        yield equals(log_density(x, q, width), claimed, scale=1, part="KernelDensity", h=width, n=n)


@verifies(
    Claim(
        "pipeline.kernel-regression",
        "the kernel regression of Nadaraya and Watson is attention with the samples as keys and values",
        r"$\hat y(x) = \sum_jK_h(x - x_j)y_j/\sum_jK_h(x - x_j)$ for the Gaussian kernel; KNeighborsRegressor with all neighbours and these weights agrees",
        assumptions=("$h > 0$",),
        spec=("DL.A2",),
        cites=("ruan2024", "nadaraya1964", "watson1964", SKLEARN),
        source_status=("recalled",),
    ),
    constant("twice", "the exponent lacks its two", factor=2),
    bug("columns", "weights are normalised over the queries", axis=0),
    hypothesis("laplace", "the kernel is the exponential one", root=True),
)
def test_kernel_regression(run, *, factor=1, axis=1, root=False):
    for x, q, h, rng in groups(run):
        y = rng.normal(size=len(x))
        n = len(x)
        beta = 0.5 / h**2
        apart = np.sqrt(squares(q, x)) if root else squares(q, x)
        claimed = textbook.laws(apart * -ball(beta) * factor, axis=axis) @ balls(y)
        size = float(np.abs(y).max())
        found = attend(exact(q), x, y[:, np.newaxis], score=SquaredDistance(beta))
        yield equals(found[:, 0], claimed, scale=size, part="attention", n=n, h=h)
        kept = neighbour_means(x, y, q, n, bandwidth=h)
        yield equals(kept, claimed, scale=size, part="KNeighborsRegressor", n=n, h=h)


@verifies(
    Claim(
        "pipeline.nearest-neighbours",
        "regression by the k nearest neighbours is attention with equal weights on the k best scores",
        r"$S_{ij} = \frac1k1\{x_j \text{ among the } k \text{ nearest to } x_i\}$, $\hat y = Sy$; kneighbors_graph and KNeighborsRegressor agree",
        assumptions=("distances without ties",),
        spec=("DL.A2",),
        cites=("ruan2024", SKLEARN),
        source_status=("seen",),
    ),
    constant("one-more", "one neighbour more", extra=1),
    bug("products", "the neighbours are those of the largest dot products", score=DotProduct(scale=1.0)),
    hypothesis("weighted", "the neighbours are weighted by the softmax", weighted=True),
)
def test_nearest_neighbours(run, *, extra=0, score=None, weighted=False):
    from sklearn.neighbors import kneighbors_graph  # noqa: PLC0415  slow to load

    chosen = SquaredDistance(1.0) if score is None else score
    k = 4
    for x, q, _, rng in groups(run):
        y = rng.normal(size=len(x))
        n = len(x)
        own = attend_rows(x, x, np.eye(n), rows=partial(nearest_rows, k=k + extra), score=chosen)
        graph = kneighbors_graph(x, k, mode="connectivity", include_self=True).toarray()
        yield equals(int(((own > 0.0) & (graph == 0.0)).sum()), 0, scale=1, part="graph", n=n)
        rule = partial(top_k if weighted else nearest_rows, k=k + extra)
        found = exact(attend_rows(q, x, np.eye(n), rows=rule, score=chosen)) @ y
        claimed = np.array([balls(y[closest(row, k)]).sum() / k for row in squares(q, x)])
        size = float(np.abs(y).max())
        yield equals(found, claimed, scale=size, part="regression", n=n)
        yield equals(neighbour_means(x, y, q, k + extra), claimed, scale=size, part="KNeighborsRegressor", n=n)


def closest(apart, k):
    """The places of the k least of some balls."""
    return sorted(range(len(apart)), key=lambda j: float(apart[j].mid()))[:k]


@verifies(
    Claim(
        "pipeline.support-vectors",
        "the decision of a kernel machine is attention to its support vectors before the normalisation",
        r"$f(x) = \sum_i\alpha_iK(x, x_i) + b = Z(x)\,\mathrm{Att}(x; x_i, \alpha_i) + b$ with $K = e^{-\gamma|x - x_i|^2}$; SVC agrees",
        assumptions=("Gaussian kernel",),
        spec=("DL.A2",),
        cites=("ruan2024", SKLEARN),
        source_status=("seen",),
    ),
    bug("normalised", "the sum is divided as attention does", normalised=True),
    constant("narrow", "the kernel has twice the exponent", factor=2),
    hypothesis("centred", "there is no offset", offset=0.0),
)
def test_support_vectors(run, *, normalised=False, factor=1, offset=1.0):
    for x, q, _, rng in groups(run, n=24):
        labels = x[:, 0] + 0.5 * x[:, 1] ** 2 + 0.3 * rng.normal(size=len(x)) > 0.3
        labels[:2] = False, True
        machine = kernel_machine(x, labels.astype(float), q, scale=0.7)
        keys = machine.vectors
        alpha = machine.coefficients
        score = SquaredDistance(0.7)
        n = len(keys)
        b = machine.offset * offset
        size = float(np.abs(alpha).sum())
        kernel = np.exp(textbook.distance_scores(q, keys, beta=0.7) * factor)
        claimed = kernel @ balls(alpha) + ball(b)
        mine = attend_unnormalised(exact(q), keys, alpha, score)
        if normalised:
            mine = mine / np.exp(read(exact(q), keys, keys, score=score).log_partition)
        yield equals(mine + b, claimed, scale=size, part="attention", n=n)
        yield equals(machine.decisions, claimed, scale=size, part="SVC", n=n)
