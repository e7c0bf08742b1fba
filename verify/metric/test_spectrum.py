"""Layers whose scores are symmetric are reversible: which spectra metric-attention has, and dot products need not."""

from fractions import Fraction

import numpy as np
from flint import arb_mat

from theory import attend
from theory.attention import DotProduct
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
    precision,
    verifies,
)
from theory.metric import (
    LinearFeatures,
    MetricScore,
    ResidualFeatures,
    attention_spectrum,
    average_tokens,
    make_similarity,
    stationary_law,
)
from theory.particles.exact import spectrum as certified
from verify.inputs import draw_residual
from verify.textbook import dot_scores, laws, residual_image, squares

RUAN = ("ruan2024",)
ON_PAPER = ("derived", "refereed on paper")
ROW = np.array([[-1.0], [0.0], [1.5]])
BITS = 512
LEAST = Fraction(1, 10**100)


def kernel(g, x, epsilon, *, quartic=False):
    """The exponentials of the scores, in balls, or of minus their squares."""
    f = squares(residual_image(g, x)) / (2 * ball(epsilon))
    return np.exp(-f * f if quartic else -f)


def clouds(run, *, quick, paper):
    """Yield features, distinct tokens and a bandwidth: first on a line, near each other; then features that fold."""
    yield ResidualFeatures([[1.0]], [0.0], [[0.25]], [0.0]), 0.25 * ROW, 0.5
    plane = np.array([[0.0, 0.0], [0.125, 0.0], [0.0, 0.25], [2.0, 1.0], [-1.0, 0.5]])
    for number, rng in enumerate(run.draws(quick=quick, paper=paper)):
        n, d = int(rng.integers(2, 7)), int(rng.integers(1, 4))
        g = draw_residual(rng, d if number else 2, 3, float(rng.uniform(0.2, 0.9)) if number else 3.0)
        yield g, (rng.normal(size=(n, d)) if number else plane), 0.5 * 2.0 ** float(rng.integers(-2, 2))


@verifies(
    Claim(
        "metric.spectrum",
        "the eigenvalues of a layer of metric-attention are real, from zero to one, one is the largest, and none vanishes if features are distinct",
        r"$K = (e^{-f(x_i, x_j)/2\varepsilon}) \succeq 0$, $S = N_rK$ is similar to $D^{-1/2}KD^{-1/2}$, $D = \mathrm{diag}(K\mathbf 1)$: $1 = \lambda_1 \ge \dots \ge \lambda_n \ge 0$, $\lambda_n > 0$ iff the $g(x_i)$ are distinct",
        remark=r"a token that is met twice gives the eigenvalue 0",
        assumptions=("symmetric scores $-|g(x) - g(y)|^2/2\\varepsilon$", "all tokens are visible"),
        spec=("DL.E2",),
        cites=(*RUAN, "schoenberg1938"),
        source_status=ON_PAPER,
    ),
    constant("below-one", "all eigenvalues are at most 0.99", top=Fraction(99, 100)),
    hypothesis("repeated", "positive also where two tokens have the same features", repeated=True),
    bug("unnormalised", "the spectrum is that of the exponentials, not divided by their sums", rows=False),
    hypothesis("quartic", "f is the fourth power of the distance: the kernel is not positive", quartic=True),
)
def test_spectrum(run, *, top=1, repeated=False, rows=True, quartic=False):
    for number, (g, tokens, epsilon) in enumerate(clouds(run, quick=8, paper=80)):
        x = np.concatenate([tokens, tokens[:1]]) if repeated and number == 1 else tokens
        k = kernel(g, x, epsilon, quartic=quartic)
        with precision(BITS):  # the product of all eigenvalues of K, at six tokens far below what a float can tell
            volume = hull(arb_mat(kernel(g, x, epsilon, quartic=quartic).tolist()).det())
        matrix = k / k.sum(axis=1)[:, np.newaxis] if rows else k
        truth = certified(matrix)
        case = {"n": len(x), "d": g.dim, "epsilon": epsilon, "input": number}
        yield at_least(truth[0], 0, scale=1, part="at least zero", **case)
        yield at_least(volume, LEAST, scale=LEAST, part="positive", **case)
        yield at_most(truth[-1], top, part="at most one", **case)
        yield equals(truth[-1], 1, part="one", **case)
        for found, value in zip(attention_spectrum(MetricScore(g, epsilon), x), truth, strict=True):
            yield equals(found, value, scale=1, part="instrument", **case)
    twice = attention_spectrum(MetricScore(LinearFeatures(np.eye(1))), ROW[[0, 0, 2]])
    yield equals(twice, spectrum_of_a_pair(quartic=quartic), scale=1, part="a token twice")


def spectrum_of_a_pair(*, quartic):
    """The eigenvalues for a token twice and another at distance 5/2: 0, the trace less one, 1."""
    f = ball(Fraction(25, 4))
    far = np.exp(-f * f if quartic else -f)
    return np.array([ball(0), 2 / (2 + far) + 1 / (1 + 2 * far) - 1, ball(1)])


@verifies(
    Claim(
        "metric.reversible",
        "a layer of metric-attention is a reversible Markov chain, with the row sums of its kernel for a stationary law",
        r"$\pi = D\mathbf 1/\mathbf 1^\top D\mathbf 1$: $\pi_iS_{ij} = \pi_jS_{ji}$ and $\pi^\top S = \pi^\top$, so that a layer keeps the $\pi$-mean of the tokens and lowers every $\pi$-variance",
        assumptions=("symmetric scores", "all tokens are visible"),
        spec=("DL.E2",),
        cites=RUAN,
        source_status=ON_PAPER,
    ),
    bug("uniform", "the stationary law is uniform", law="uniform"),
    bug("inverse", "the stationary law is one over the row sums", law="inverse"),
    hypothesis("dot-product", "queries and keys are projected differently", dot=True),
    constant("variance", "a layer at least halves the variance of every coordinate", share=Fraction(1, 2)),
)
def test_reversible(run, *, law="sums", dot=False, share=1):
    for number, (g, x, epsilon) in enumerate(clouds(run, quick=8, paper=120)):
        n = len(x)
        case = {"n": len(x), "d": g.dim, "input": number}
        form = np.triu(np.ones((g.dim, g.dim)) + np.eye(g.dim)) if g.dim > 1 else np.array([[1.0]])
        k = np.exp(dot_scores(x @ form, x, beta=1.0)) if dot else kernel(g, x, epsilon)
        rows = k / k.sum(axis=1)[:, np.newaxis]
        sums = k.sum(axis=1)
        masses = {"sums": sums, "inverse": 1 / sums, "uniform": balls(np.ones(n))}[law]
        pi = masses / masses.sum()
        flow = pi[:, np.newaxis] * rows
        yield equals(flow, flow.T, scale=1, part="detailed balance", **case)
        yield equals(stationary_law(MetricScore(g, epsilon), x), pi, scale=1, part="instrument", **case)
        score = DotProduct(scale=1.0, form=form) if dot else MetricScore(g, epsilon)
        means, variances = zip(
            *(moments(pi, tokens) for tokens in (exact(x), attend(exact(x), x, x, score=score))), strict=True
        )
        yield equals(means[1], means[0], scale=1, part="mean", **case)
        yield at_most(variances[1], share * variances[0], scale=1, part="variance", **case)


def moments(law, tokens):
    """The mean and the variance of every coordinate under a law in balls."""
    mean = hull(law) @ tokens
    return mean, hull(law) @ (tokens - mean) ** 2


SPIN = np.array([[1.0, 0.0], [-0.5, 0.75], [-0.5, -0.75]])
THIRD = np.array([[0.0, -1.0], [1.0, 0.0]])


@verifies(
    Claim(
        "metric.dot-product-spectrum",
        "dot-product attention may have complex and negative eigenvalues; with equal projections of queries and keys it has neither",
        r"scores $x^\top By$: $B$ a quarter turn, tokens at the corners of a triangle: $S$ has complex eigenvalues; $B = -1$, tokens $\pm1$ on the line: $-\tanh 1$; $B = Q^\top Q$: $0 \le \lambda \le 1$",
        assumptions=("the named tokens, for complex and negative eigenvalues", "any tokens, for equal projections"),
        spec=("DL.E2",),
        cites=RUAN,
        source_status=("derived",),
    ),
    hypothesis("symmetric", "the form of the complex witness is its symmetric part", symmetric=True),
    constant("minus-one", "the negative eigenvalue is -1", factor=None),
    bug("sign", "the score of equal projections enters with a minus", sign=-1),
    bug("unnormalised", "the spectrum is that of the exponentials, not divided by their sums", rows=False),
)
def test_dot_product_spectrum(run, *, symmetric=False, factor=1, sign=1, rows=True):
    turn = (THIRD + THIRD.T) / 2 if symmetric else THIRD
    spun = laws(dot_scores(SPIN @ turn, SPIN, beta=2.0))
    # one eigenvalue is 1, and the other two have the sum s and the product p: complex where s^2 < 4 p
    rest = np.trace(spun) - 1
    yield at_least(4 * _det3(spun) - rest * rest, Fraction(1, 100), scale=1, part="complex")
    line = exact([[1.0], [-1.0]])
    found = attend(line, line, line, score=DotProduct(form=[[-1.0]]))[0, 0]
    yield equals(found, -1 if factor is None else -np.tanh(ball(1)), part="negative")
    for rng in run.draws(quick=6, paper=80):
        n, d = int(rng.integers(2, 6)), int(rng.integers(1, 4))
        projected = balls(rng.normal(size=(n, d))) @ balls(rng.normal(size=(d, d)) * 0.7)
        k = np.exp(projected @ projected.T * sign)
        values = certified(k / k.sum(axis=1)[:, np.newaxis] if rows else k)
        yield at_least(values[0], 0, scale=1, part="equal projections, at least zero", n=n)
        yield at_most(values[-1], 1, part="equal projections, at most one", n=n)


def _det3(m):
    return sum(
        m[0, i] * (m[1, (i + 1) % 3] * m[2, (i + 2) % 3] - m[1, (i + 2) % 3] * m[2, (i + 1) % 3]) for i in range(3)
    )


PAIR = (np.array([[-1.25], [1.0], [1.0], [0.0]]), np.array([[0.5], [1.5], [-0.75], [4.0]]))  # features in two layers
TOKENS = np.array([[0.0, 0.5], [2.0, 2.0], [1.0, 0.0], [0.0, 2.0]])
PLANES = (np.array([[0.75], [-0.75]]), np.array([[9.25], [5.75]]))  # projections of two layers of a stack


@verifies(
    Claim(
        "metric.stack-spectrum",
        "the product of two layers of metric-attention need not have real eigenvalues, though each has",
        r"$S_1$, $S_2$ with kernels $\succeq 0$ of four tokens each: $S_2S_1$ has complex eigenvalues, for two sets of features and for two layers one after the other; $S^2$ has not",
        assumptions=("the named tokens and features",),
        spec=("DL.E2",),
        cites=RUAN,
        source_status=("derived",),
    ),
    hypothesis("frozen", "the second layer keeps the weights of the first", frozen=True),
    constant("far", "the discriminant is below -1/100", bound=Fraction(-1, 100)),
    bug("unmoved", "the second layer looks at the tokens before the first one", moved=False),
    hypothesis("different", "of two different layers too the product has real eigenvalues", same=False),
)
def test_stack_spectrum(run, *, frozen=False, bound=Fraction(-1, 10**8), moved=True, same=True):
    del run
    first, second = (laws(-squares(balls(f))) for f in PAIR)
    yield at_most(_discriminant((first if frozen else second) @ first), bound, scale=Fraction(1, 10**8), part="pair")
    rows = laws(-squares(balls(TOKENS) @ balls(PLANES[0])))
    after = rows @ balls(TOKENS) if moved else balls(TOKENS)
    then = rows if frozen else laws(-squares(after @ balls(PLANES[1])))
    yield at_most(_discriminant(then @ rows), bound, scale=Fraction(1, 10**8), part="stack")
    yield at_least(_discriminant((first if same else second) @ first), 0, scale=1, part="square")
    # the room's own layer moves the tokens there
    similar = make_similarity("l2", 2, 1)
    found = exact(TOKENS)
    for plane in PLANES:
        found = average_tokens(similar, plane.ravel(), found)
    yield equals(found, then @ (rows @ balls(TOKENS)), scale=1, part="layers")


def _discriminant(matrix):
    """The discriminant of the three eigenvalues other than one of a stochastic matrix of order four."""
    power = balls(np.eye(4))
    e = [1]
    sums = []
    for k in range(1, 4):
        power = power @ matrix
        sums.append(sum(power[i, i] for i in range(4)))
        e.append(sum((-1) ** (j - 1) * e[k - j] * sums[j - 1] for j in range(1, k + 1)) / k)
    b = 1 - e[1]  # the characteristic polynomial over x - 1 is x^3 + b x^2 + c x + d
    c = b + e[2]
    d = c - e[3]
    return hull(18 * b * c * d - 4 * b * b * b * d + b * b * c * c - 4 * c * c * c - 27 * d * d)
