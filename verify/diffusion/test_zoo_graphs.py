"""Methods on graphs as attention: Markov clustering, spectra, diffusion maps, neighbour embeddings, graph attention."""

from functools import partial

import numpy as np
from flint import acb_mat

from theory.attention import DotProduct, SquaredDistance
from theory.diffusion import GraphScore
from theory.diffusion.layers import chain_spectrum
from theory.diffusion.similarity import (
    attend_density_corrected,
    attend_graph,
    biased_weights,
    clear_diagonal,
    compose,
    convolve_features,
    fuzzy_union,
    inflate,
    inflate_exponentially,
    normalise_overall,
    normalise_rows,
    symmetrise,
)
from theory.evidence import Claim, Interval, at_least, at_most, ball, bug, constant, equals, hypothesis, verifies
from theory.evidence.roundoff import EXP_ULPS, U, gamma
from verify import textbook
from verify.textbook import balls, exp, gap, hull

SKLEARN = "pedregosa2011"
TRIANGLES = np.array([  # two of them, joined by an edge; every vertex has a loop
    [1, 1, 1, 0, 0, 0], [1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 0, 0],
    [0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1],
], dtype=float)  # fmt: skip


def clouds(run, *, quick=3, paper=20, n=9):
    """Points and the generator that drew them."""
    for rng in run.draws(quick=quick, paper=paper):
        yield rng.normal(size=(n, 2)), rng


def squares(x):
    """The balls |x_i - x_j|^2."""
    return -textbook.distance_scores(x, x, beta=1.0)


def rows(s):
    return s / s.sum(axis=1, keepdims=True)


@verifies(
    Claim(
        "pipeline.markov-clustering",
        "Markov clustering is squaring, inflating and normalising; two joined triangles become two clusters",
        r"$H \mapsto N_r\Gamma_2(H^2)$, iterated from $N_r(A + I)$: every row ends on one vertex, the same within a triangle",
        assumptions=("two triangles joined by an edge",),
        spec=("DL.A2",),
        cites=("ruan2024", "dongen2000"),
        provenance=("seen",),
    ),
    constant("uninflated", "the inflation has exponent one", r=1.0),
    bug("unsquared", "the matrix is inflated but not squared", squared=False),
)
def test_markov_clustering(run, *, r=2.0, squared=True):
    expand = (lambda h: h @ h) if squared else (lambda h: h)
    step = compose(expand, partial(inflate, r=r), normalise_rows)
    h, exact, error = normalise_rows(TRIANGLES), rows(balls(TRIANGLES)), gamma(8)
    for level in range(4):
        h, exact = step(h), rows((exact @ exact) ** 2)
        error = 8.0 * (error + gamma(len(h) + 2 * EXP_ULPS + 8))  # a product of two, squared, then its quotient
        yield equals(gap(h, exact, error), 0, scale=1, part="steps", step=level + 1)
    for _ in range(run.pick(quick=40, paper=80)):
        h = step(h)
    settled = float(np.abs(h.max(axis=1) - 1.0).max())
    yield equals(Interval.within(settled, 64 * U), 0, scale=1, part="one vertex")
    ends = h.argmax(axis=1)
    yield equals(len(set(ends.tolist())), 2, scale=1, part="clusters")
    yield equals(len({(int(end), at // 3) for at, end in enumerate(ends)}), 2, scale=1, part="within a triangle")


def eigenvalues(scores, *, own):
    """The spectrum of D^-1 W in balls, falling; W has a zero diagonal unless ``own``."""
    kernel = exp(scores)
    if not own:
        kernel = kernel * balls(1.0 - np.eye(len(kernel)))
    found = acb_mat(rows(kernel).tolist()).eig()
    apart = sorted(found, key=lambda value: -float(value.real.mid()))
    return [hull(value.real) for value in apart], [hull(value.imag) for value in apart]


@verifies(
    Claim(
        "pipeline.spectrum",
        "attention with symmetric scores has a real spectrum between -1 and 1, from zero on for positive kernels; Laplacian eigenmaps are its eigenvectors",
        r"$D^{-1}W \sim D^{-1/2}WD^{-1/2}$: the same eigenvalues $1 = \lambda_1 \ge \dots \ge -1$, $\lambda_n \ge 0$ if $W$ is positive semi-definite; spectral_embedding has the first ones",
        assumptions=("symmetric scores", "simple eigenvalues"),
        spec=("DL.A2",),
        cites=("ruan2024", "belkin2003", SKLEARN),
        provenance=("seen", "derived"),
    ),
    hypothesis("no-loops", "the spectrum is taken to be non-negative also without the tokens' own weight", least=0.0),
    constant("laplacian", "the eigenvalues are those of the Laplacian", laplacian=True),
    bug("unnormalised", "the eigenvalues are those of W over n", divided=True),
    hypothesis("asymmetric", "the scores of queries with later keys are larger by a half", later=0.5),
    constant("beyond", "the smallest eigenvalue is one tenth at least", beyond=0.1),
)
def test_spectrum(run, *, least=-1.0, laplacian=False, divided=False, later=0.0, beyond=0.0):
    for x, _ in clouds(run, quick=2, paper=12):
        n, score = len(x), SquaredDistance(0.5)
        law, error = biased_weights(x, x, score)
        scores = -squares(x) / 2
        for own in (True, False):
            p = law if own else attend_graph(law, 1.0 - np.eye(n))
            off = error if own else (1.0 + 2.0 * error) * (1.0 + gamma(n + 4)) - 1.0 + 2.0 * error**2
            values, width = chain_spectrum(p, error=off)
            exact, turned = eigenvalues(scores + balls(later * np.triu(np.ones((n, n)))), own=own)
            for k, imaginary in enumerate(turned):
                yield equals(imaginary, 0, scale=1, k=k + 1, own=own, part="imaginary")
            if laplacian:
                exact = [1 - value for value in exact]
            if divided:
                kernel = exp(scores) * balls(np.ones((n, n)) if own else 1.0 - np.eye(n))
                exact = sorted((hull(v.real) for v in acb_mat((kernel / n).tolist()).eig()), key=lambda v: -v.mid)
            for k, (value, claimed) in enumerate(zip(values.tolist(), exact, strict=True)):
                found = Interval.within(value, width)
                yield equals(found, claimed, scale=1, k=k + 1, own=own, part="eigenvalues")
                floor = beyond if own else least
                yield at_least(found, floor, scale=1, k=k + 1, own=own, part=f"from {'0' if own else '-1'} on")
                yield at_most(found, 1 - beyond, scale=1, k=k + 1, own=own, part="at most 1")
        for k, value in enumerate(embedded(np.exp(score.matrix(x, x)), scores)):
            yield equals(value, exact[k], scale=1, k=k + 1, part="spectral_embedding")


def embedded(kernel, scores):
    """Enclose eigenvalues near the Rayleigh quotients of scikit-learn's eigenmaps: they lie within the residual."""
    from sklearn.manifold import spectral_embedding  # noqa: PLC0415  slow to load

    weights = kernel * (1.0 - np.eye(len(kernel)))
    maps = spectral_embedding(weights, n_components=3, drop_first=False, random_state=0)
    exact = exp(scores) * balls(1.0 - np.eye(len(kernel)))
    root = np.frompyfunc(lambda ball: ball.sqrt(), 1, 1)(exact.sum(axis=1))
    symmetric = exact / root[:, np.newaxis] / root
    for column in maps.T:
        v = balls(column) * root
        size = (v * v).sum()
        quotient = (v * (symmetric @ v)).sum() / size
        left = symmetric @ v - v * quotient
        residual = hull((left * left).sum() / size).sqrt()
        yield hull(quotient) + Interval(-residual.hi, residual.hi)


@verifies(
    Claim(
        "pipeline.diffusion-maps",
        "diffusion maps are attention to keys weighted by their inverse degrees",
        r"$N_rN_2(W)_{ij} \propto_j W_{ij}d_j^{-1}$, and $\propto_j W_{ij}d_j^{-\alpha}$ in general: softmax of $s_{ij} - \alpha\log d_j$",
        assumptions=("symmetric kernel",),
        spec=("DL.A2",),
        cites=("ruan2024", "coifman2006"),
        provenance=("seen",),
    ),
    constant("half", "the keys are weighted by the inverse root of their degree", power=0.5),
    bug("query", "the degree of the query is divided by, and cancels", query=True),
    hypothesis("uniform", "all degrees are taken to be equal", power=0.0),
)
def test_diffusion_maps(run, *, power=1.0, query=False):
    for x, _ in clouds(run):
        kernel = exp(-squares(x) / 2)
        degrees = kernel.sum(axis=1)
        for alpha in (1.0, 0.5):
            found, error = attend_density_corrected(x, SquaredDistance(0.5), alpha=alpha)
            shares = exp(textbook.log(degrees) * (-ball(alpha * power)))
            claimed = rows(kernel * (shares[:, np.newaxis] if query else shares))
            yield equals(gap(found, claimed, error), 0, scale=1, part="a power", alpha=alpha, n=len(x))
        shares = exp(textbook.log(degrees) * (-ball(power)))
        both = rows(kernel * shares[:, np.newaxis] * (1 if query else shares))
        found, error = attend_density_corrected(x, SquaredDistance(0.5))
        yield equals(gap(found, both, error), 0, scale=1, part="as printed", n=len(x))


@verifies(
    Claim(
        "pipeline.neighbour-embedding",
        "the weights of SNE, t-SNE and UMAP are attention with a bandwidth per query, averaged or united with its transpose",
        r"$p_{j|i} = \mathrm{softmax}_{j \ne i}(-|x_i - x_j|^2/2\sigma_i^2)$, a dot product of lifted features; $N_g$ of its symmetric part is $(p_{j|i} + p_{i|j})/2n$; a fuzzy union is $1 - (1 - a_{ij})(1 - a_{ji})$",
        assumptions=(r"$\sigma_i > 0$",),
        spec=("DL.A2",),
        cites=("ruan2024", "hinton2002", "maaten2008", "mcinnes2018"),
        provenance=("seen",),
    ),
    bug("own", "every token counts itself", own=True),
    constant("total", "the joint weights are not divided by the number of tokens", n_power=0),
    hypothesis("one-width", "one bandwidth serves all queries", same=True),
)
def test_neighbour_embedding(run, *, own=False, n_power=1, same=False):
    for x, rng in clouds(run):
        n, sigma = len(x), rng.uniform(0.6, 1.5, size=len(x))
        sigma[0] = 2.0
        seen = balls(np.ones((n, n)) if own else 1.0 - np.eye(n))
        twice = 2 * balls(np.full(n, 1.0) if same else sigma) ** 2
        claimed = rows(exp(-squares(x) / twice[:, np.newaxis]) * seen)
        square = sigma**2
        queries = np.column_stack([x / square[:, np.newaxis], -0.5 / square])
        keys = np.column_stack([x, np.square(x).sum(axis=1)])
        law, error = biased_weights(queries, keys, DotProduct(scale=1.0))
        slip = 4.0 * gamma(8) * float(np.linalg.norm(queries, axis=1).max() * np.linalg.norm(keys, axis=1).max())
        off = 2.0 * ((1.0 + error) * (1.0 + 4.0 * slip) - 1.0) + gamma(n + 4)
        p = attend_graph(law, 1.0 - np.eye(n))
        yield equals(gap(p, claimed, off), 0, scale=1, part="SNE", n=n)
        d = np.square(x[:, np.newaxis] - x).sum(axis=2)
        steps = compose(partial(inflate_exponentially, sigma=2.0 * square), clear_diagonal, normalise_rows)(-d)
        wide = gamma(n + 2 * EXP_ULPS + 16) + 2.0 * gamma(16) * float((d / (2.0 * square[:, np.newaxis])).max())
        yield equals(gap(steps, claimed, 2.0 * wide), 0, scale=1, part="pipeline", n=n)
        joint = normalise_overall(symmetrise(p))
        yield equals(gap(joint, (claimed + claimed.T) / (2 * n**n_power), off + gamma(n * n + 8)), 0, scale=1 / n,
                     part="t-SNE", n=n)  # fmt: skip
        union = 1 - (1 - claimed) * (1 - claimed.T)
        yield equals(gap(fuzzy_union(p), union, 2.0 * off + gamma(8)), 0, scale=1, part="union", n=n)


@verifies(
    Claim(
        "pipeline.graph",
        "graph attention is additive attention behind a mask, and graph convolution is equal attention between roots of degrees",
        r"$N_r(A \circ S)$ is the softmax over neighbours of $\mathrm{LeakyReLU}(\alpha_1\cdot x_i + \alpha_2\cdot x_j)$; $D^{-1/2}(A + I)D^{-1/2} = D^{1/2}N_r(A + I)D^{-1/2}$",
        assumptions=("every vertex has a loop",),
        spec=("DL.A2",),
        cites=("ruan2024", "velickovic2018", "kipf2017"),
        provenance=("seen", "recalled"),
    ),
    bug("unmasked", "the mask is applied after the softmax, without normalising again", late=True),
    constant("slope", "the slope below zero is a hundredth", slope="0.01"),
    hypothesis("two-sided", "the convolution divides by both degrees, without roots", power=2),
)
def test_graph(run, *, late=False, slope="0.2", power=1):
    for x, rng in clouds(run):
        n = len(x)
        a = np.triu(rng.random((n, n)) < 0.4, 1).astype(float)
        a[0, 1:3] = 1.0
        a = a + a.T
        left, right = rng.normal(size=2), rng.normal(size=2)
        score = GraphScore(left, right, slope=0.2)
        law, error = biased_weights(x, x, score)
        loops = a + np.eye(n)
        s = (balls(x) @ balls(left))[:, np.newaxis] + balls(x) @ balls(right)
        lower = ball(0.2) if slope == "0.2" else ball(0.01)
        bent = np.frompyfunc(lambda ball, lower=lower: ball if ball > 0 else ball * lower, 1, 1)(s)
        claimed = rows(exp(bent) * balls(loops))
        found = loops * law if late else attend_graph(law, loops)
        yield equals(gap(found, claimed, 2.0 * error * (1.0 + error) + gamma(2 * n + 4)), 0, scale=1, part="GAT", n=n)
        h = rng.normal(size=(n, 2))
        degree = balls(loops).sum(axis=1)
        root = degree if power == 2 else np.frompyfunc(lambda ball: ball.sqrt(), 1, 1)(degree)
        plain = (balls(loops) / root[:, np.newaxis] / root) @ balls(h)
        size = float(np.abs(h).max())
        error = size * np.sqrt(n) * gamma(4 * n + 8 * EXP_ULPS + 32)
        yield equals(gap(convolve_features(a, h), plain, error), 0, scale=size, part="GCN", n=n)
