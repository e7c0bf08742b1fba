"""Methods on graphs as attention: Markov clustering, spectra, diffusion maps, neighbour embeddings, graph attention."""

from functools import partial

import numpy as np
from flint import acb_mat

from theory.attention import DotProduct, SquaredDistance
from theory.diffusion.layers import chain_spectrum
from theory.diffusion.similarity import (
    GraphScore,
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
from theory.evidence import (
    Claim,
    Interval,
    Kind,
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
from verify import textbook
from verify.textbook import balls, hull

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
        source_status=("seen",),
    ),
    constant("uninflated", "the inflation has exponent one", r=1.0),
    bug("unsquared", "the matrix is inflated but not squared", squared=False),
)
def test_markov_clustering(run, *, r=2.0, squared=True):
    expand = (lambda h: h @ h) if squared else (lambda h: h)
    step = compose(expand, partial(inflate, r=r), normalise_rows)
    h = normalise_rows(exact(TRIANGLES))
    claimed = rows(balls(TRIANGLES))
    for number in range(1, 5):
        h = step(h)
        claimed = rows((claimed @ claimed) ** 2)
        yield equals(h, claimed, scale=1, part="steps", step=number)
    end = h.mid
    for _ in range(run.pick(quick=40, paper=80)):
        end = step(end)
    yield equals(exact(end.max(axis=1), Kind.NUMERIC), 1, scale=1, part="one vertex")  # the others underflow
    vertices = end.argmax(axis=1)
    yield equals(len(set(vertices.tolist())), 2, scale=1, part="clusters")
    triangles = {(int(vertex), at // 3) for at, vertex in enumerate(vertices)}
    yield equals(len(triangles), 2, scale=1, part="within a triangle")


def eigenvalues(kernel):
    """The spectrum of D^-1 W in balls, real parts falling, and the imaginary parts."""
    found = acb_mat(kernel.tolist()).eig()
    falling = sorted(found, key=lambda value: -float(value.real.mid()))
    return [value.real for value in falling], [value.imag for value in falling]


@verifies(
    Claim(
        "pipeline.spectrum",
        "attention with symmetric scores has a real spectrum between -1 and 1, from zero on for positive kernels; Laplacian eigenmaps are its eigenvectors",
        r"$D^{-1}W \sim D^{-1/2}WD^{-1/2}$: the same eigenvalues $1 = \lambda_1 \ge \dots \ge -1$, $\lambda_n \ge 0$ if $W$ is positive semi-definite; spectral_embedding has the first ones",
        assumptions=("symmetric scores", "simple eigenvalues"),
        spec=("DL.A2",),
        cites=("ruan2024", "belkin2003", SKLEARN),
        source_status=("seen", "derived"),
    ),
    hypothesis("no-loops", "the spectrum is taken to be non-negative also without the tokens' own weight", least=0.0),
    constant("laplacian", "the eigenvalues are those of the Laplacian", laplacian=True),
    bug("unnormalised", "the eigenvalues are those of W over n", divided=True),
    hypothesis("asymmetric", "the scores of queries with later keys are larger by a half", later=0.5),
    constant("beyond", "the smallest eigenvalue is one tenth at least", beyond=0.1),
)
def test_spectrum(run, *, least=-1, laplacian=False, divided=False, later=0.0, beyond=0):
    for x, _ in clouds(run, quick=2, paper=12):
        n = len(x)
        score = SquaredDistance(0.5)
        law = biased_weights(exact(x), exact(x), score)
        scores = -squares(x) / 2
        tilted = scores + balls(later * np.triu(np.ones((n, n))))
        for own, seen, floor in ((True, np.ones((n, n)), beyond), (False, 1.0 - np.eye(n), least)):
            case = {"own": own, "n": n}
            real, imaginary = eigenvalues(rows(np.exp(tilted) * balls(seen)))
            for k, value in enumerate(imaginary, start=1):
                yield equals(value, 0, scale=1, k=k, part="imaginary", **case)
            if laplacian:
                real = [1 - value for value in real]
            if divided:
                real, _ = eigenvalues(np.exp(scores) * balls(seen) / n)
            measured = chain_spectrum(law if own else attend_graph(law, seen))
            for k, (value, claimed) in enumerate(zip(measured, real, strict=True), start=1):
                yield equals(value, claimed, scale=1, k=k, part="eigenvalues", **case)
                yield at_least(value, floor, scale=1, k=k, part=f"from {'0' if own else '-1'} on", **case)
                yield at_most(value, 1 - beyond, scale=1, k=k, part="at most 1", **case)
        for k, value in enumerate(embedded(np.exp(score.matrix(x, x)), scores)):
            yield equals(value, real[k], scale=1, k=k + 1, part="spectral_embedding")


def embedded(kernel, scores):
    """Enclose eigenvalues near the Rayleigh quotients of scikit-learn's eigenmaps: they lie within the residual."""
    from sklearn.manifold import spectral_embedding  # noqa: PLC0415  slow to load

    seen = 1.0 - np.eye(len(kernel))
    maps = spectral_embedding(kernel * seen, n_components=3, drop_first=False, random_state=0)
    weights = np.exp(scores) * balls(seen)
    root = np.sqrt(weights.sum(axis=1))
    symmetric = weights / root[:, np.newaxis] / root
    for column in maps.T:
        v = balls(column) * root
        v = v / norm(v)
        quotient = (v * (symmetric @ v)).sum()
        residual = hull(norm(symmetric @ v - v * quotient)).hi
        yield hull(quotient) + Interval(-residual, residual)


@verifies(
    Claim(
        "pipeline.diffusion-maps",
        "diffusion maps are attention to keys weighted by their inverse degrees",
        r"$N_rN_2(W)_{ij} \propto_j W_{ij}d_j^{-1}$, and $\propto_j W_{ij}d_j^{-\alpha}$ in general: softmax of $s_{ij} - \alpha\log d_j$",
        assumptions=("symmetric kernel",),
        spec=("DL.A2",),
        cites=("ruan2024", "coifman2006"),
        source_status=("seen",),
    ),
    constant("half", "the keys are weighted by the inverse root of their degree", power=0.5),
    bug("query", "the degree of the query is divided by, and cancels", query=True),
    hypothesis("uniform", "all degrees are taken to be equal", power=0.0),
)
def test_diffusion_maps(run, *, power=1.0, query=False):
    for x, _ in clouds(run):
        kernel = np.exp(-squares(x) / 2)
        for alpha in (1.0, 0.5):
            measured = attend_density_corrected(exact(x), SquaredDistance(0.5), alpha=alpha)
            shares = np.exp(np.log(kernel.sum(axis=1)) * -ball(alpha * power))
            claimed = rows(kernel * (shares[:, np.newaxis] if query else shares))
            yield equals(measured, claimed, scale=1, part="a power", alpha=alpha, n=len(x))
            if alpha == 1.0:
                both = rows(kernel * shares[:, np.newaxis] * (1 if query else shares))
                yield equals(measured, both, scale=1, part="as printed", n=len(x))


@verifies(
    Claim(
        "pipeline.neighbour-embedding",
        "the weights of SNE, t-SNE and UMAP are attention with a bandwidth per query, averaged or united with its transpose",
        r"$p_{j|i} = \mathrm{softmax}_{j \ne i}(-|x_i - x_j|^2/2\sigma_i^2)$, a dot product of lifted features; $N_g$ of its symmetric part is $(p_{j|i} + p_{i|j})/2n$",
        remark=r"a fuzzy union is $1 - (1 - a_{ij})(1 - a_{ji})$",
        assumptions=(r"$\sigma_i > 0$",),
        spec=("DL.A2",),
        cites=("ruan2024", "hinton2002", "maaten2008", "mcinnes2018"),
        source_status=("seen",),
    ),
    bug("own", "every token counts itself", own=True),
    constant("total", "the joint weights are not divided by the number of tokens", n_power=0),
    hypothesis("one-width", "one bandwidth serves all queries", same=True),
)
def test_neighbour_embedding(run, *, own=False, n_power=1, same=False):
    for points, rng in clouds(run):
        n = len(points)
        sigma = rng.uniform(0.6, 1.5, size=len(points))
        sigma[0] = 2.0
        seen = np.ones((n, n)) if own else 1.0 - np.eye(n)
        twice = 2 * balls(np.full(n, 1.0) if same else sigma) ** 2
        claimed = rows(np.exp(-squares(points) / twice[:, np.newaxis]) * balls(seen))
        x = exact(points)
        square = exact(sigma) ** 2
        queries = np.concatenate([x / square[:, np.newaxis], -0.5 / square[:, np.newaxis]], axis=1)
        keys = np.concatenate([x, (x**2).sum(axis=1, keepdims=True)], axis=1)
        p = attend_graph(biased_weights(queries, keys, DotProduct(scale=1.0)), 1.0 - np.eye(n))
        yield equals(p, claimed, scale=1, part="SNE", n=n)
        apart = ((x[:, np.newaxis] - x) ** 2).sum(axis=2)
        steps = compose(partial(inflate_exponentially, sigma=2.0 * square), clear_diagonal, normalise_rows)
        yield equals(steps(-apart), claimed, scale=1, part="pipeline", n=n)
        joint = (claimed + claimed.T) / (2 * n**n_power)
        yield equals(normalise_overall(symmetrise(p)), joint, scale=1 / n, part="t-SNE", n=n)
        union = 1 - (1 - claimed) * (1 - claimed.T)
        yield equals(fuzzy_union(p), union, scale=1, part="union", n=n)


@verifies(
    Claim(
        "pipeline.graph",
        "graph attention is additive attention behind a mask, and graph convolution is equal attention between roots of degrees",
        r"$N_r(A \circ S)$ is the softmax over neighbours of $\mathrm{LeakyReLU}(\alpha_1\cdot x_i + \alpha_2\cdot x_j)$; $D^{-1/2}(A + I)D^{-1/2} = D^{1/2}N_r(A + I)D^{-1/2}$",
        assumptions=("every vertex has a loop",),
        spec=("DL.A2",),
        cites=("ruan2024", "velickovic2018", "kipf2017"),
        source_status=("seen", "recalled"),
    ),
    bug("unmasked", "the mask is applied after the softmax, without normalising again", late=True),
    constant("slope", "the slope below zero is a hundredth", slope="0.01"),
    hypothesis("two-sided", "the convolution divides by both degrees, without roots", power=2),
)
def test_graph(run, *, late=False, slope="0.2", power=1):
    lower = {"0.2": ball(0.2), "0.01": ball(0.01)}[slope]
    bent = np.frompyfunc(lambda s: s if s > 0 else s * lower, 1, 1)
    for x, rng in clouds(run):
        n = len(x)
        edges = np.triu(rng.random((n, n)) < 0.4, 1).astype(float)
        edges[0, 1:3] = 1.0
        edges = edges + edges.T
        left, right, h = rng.normal(size=2), rng.normal(size=2), rng.normal(size=(n, 2))
        loops = edges + np.eye(n)
        law = biased_weights(exact(x), exact(x), GraphScore(left, right, slope=0.2))
        sums = (balls(x) @ balls(left))[:, np.newaxis] + balls(x) @ balls(right)
        claimed = rows(np.exp(bent(sums)) * balls(loops))
        yield equals(loops * law if late else attend_graph(law, loops), claimed, scale=1, part="GAT", n=n)
        degree = balls(loops).sum(axis=1)
        root = degree if power == 2 else np.sqrt(degree)
        claimed = (balls(loops) / root[:, np.newaxis] / root) @ balls(h)
        size = float(np.abs(h).max())
        yield equals(convolve_features(edges, exact(h)), claimed, scale=size, part="GCN", n=n)
