"""Nystrom attention: exact with all tokens as landmarks, rows that sum to one, negative weights, the Schur complement."""

from itertools import cycle

import numpy as np

from theory import engine
from theory.attention import DotProduct
from theory.attention.variants import nystrom_weights, through_landmarks
from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    verifies,
)
from theory.evidence.spectra import eigenvalues
from verify import textbook
from verify.textbook import balls

PLAIN = DotProduct(scale=1.0)
NYSTROM = ("xiong2021", "williams2000")
LINE = (np.array([[1.0], [2.0], [-2.0], [-1.0]]), np.array([[1.0], [-2.0], [0.0], [2.0]]))  # four tokens of the line


def tokens_near_axes(rng, n):
    """Draw queries and keys near multiples of the axes, so that the matrix of weights is far from a singular one."""
    return 2.0 * np.eye(n) + 0.3 * rng.normal(size=(n, n)), 2.0 * np.eye(n) + 0.3 * rng.normal(size=(n, n))


@verifies(
    Claim(
        "variant.nystrom-exact",
        "Nystrom attention with every token as a landmark is softmax attention; with fewer its rows still sum to one",
        r"$\sigma(Q\tilde K^\top)\,\sigma(\tilde Q\tilde K^\top)^{-1}\sigma(\tilde Q K^\top) = \sigma(QK^\top)$ for $\tilde Q = Q$, $\tilde K = K$, and its rows sum to one for any landmarks",
        assumptions=("the middle matrix is invertible",),
        spec=("RA.G10",),
        cites=NYSTROM,
        source_status=("recalled",),
    ),
    hypothesis("half", "half of the tokens are landmarks", share=2),
    bug("transposed", "the middle matrix is transposed", transposed=True),
    constant("row-sums", "the rows sum to one less a thousandth", mass=0.999),
)
def test_nystrom_exact(run, *, share=1, transposed=False, mass=1.0):
    clouds = [LINE, *(tokens_near_axes(rng, n) for n, rng in zip((3, 6, 8), run.streams(3), strict=True))]
    clouds += [tokens_near_axes(rng, 5) for rng in run.draws(quick=3, paper=60)]
    for q, k in clouds:
        for part in (share, 2):
            marks = {"query_landmarks": q[: q.shape[0] // part], "key_landmarks": k[: k.shape[0] // part]}
            law = nystrom_weights(exact(q), k, **marks, score=PLAIN)
            if transposed:
                a, b = marks.values()
                pairs = (PLAIN.pairs(q, b), PLAIN.pairs(a, b), PLAIN.pairs(a, k))
                left, middle, right = (exact(engine.weights(each)) for each in pairs)
                law = through_landmarks(left, middle.T, right)
            case = {"n": q.shape[0], "landmarks": q.shape[0] // part}
            if part == share:
                claimed = textbook.laws(textbook.dot_scores(q, k, beta=1.0))
                yield equals(law, claimed, scale=1, part="attention", **case)
            for row in law:
                yield equals(row.sum(), mass, scale=1, part="row sums", **case)


@verifies(
    Claim(
        "variant.nystrom-negative",
        "Nystrom attention with fewer landmarks than tokens can have weights below any bound",
        r"on the line, landmarks $(1, 2)$ and $(1, -2)$, a query at $-2$ and a key at $2$: weight $-3.767$; in the plane, landmark keys $(\pm 1, 0)$ and queries $(0, 1)$, $(2^{-s}, -1)$: a weight below $-2^{s - 1}$",
        assumptions=("fewer landmarks than tokens",),
        spec=("RA.G10",),
        cites=("xiong2021",),
        source_status=("recalled", "derived"),
    ),
    hypothesis("all", "every token is a landmark", all_tokens=True),
    constant("twice", "the weights are twice as far below zero", factor=2.0),
)
def test_nystrom_negative(run, *, all_tokens=False, factor=1.0):
    def least(q, k):
        count = q.shape[0] if all_tokens else 2
        marks = {"query_landmarks": q[:count], "key_landmarks": k[:count], "score": PLAIN}
        return nystrom_weights(exact(q), k, **marks).min()

    yield equals(least(*LINE), factor * Interval.printed("-3.767"), part="line")
    keys = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
    for s in range(run.pick(quick=6, paper=12)):
        queries = np.array([[0.0, 1.0], [2.0**-s, -1.0], [1.0, 0.0], [-1.0, 0.0]])
        yield at_most(least(queries, keys), -factor * 2.0 ** (s - 1), scale=2.0**s, part="plane", s=s)


def eliminated(matrix, pivots):
    """The Schur complement of the first ``pivots`` rows and columns, by elimination in balls."""
    a = balls(matrix)
    for i in range(pivots):
        a[i + 1 :, i + 1 :] = a[i + 1 :, i + 1 :] - a[i + 1 :, i : i + 1] * a[i : i + 1, i + 1 :] / a[i, i]
    return a[pivots:, pivots:]


@verifies(
    Claim(
        "variant.nystrom-schur",
        "what landmarks miss of a positive kernel matrix is a Schur complement: positive, and zero on the landmarks",
        r"$K - K_{\cdot L}K_{LL}^{-1}K_{L\cdot} = 0 \oplus (K_{DD} - K_{DL}K_{LL}^{-1}K_{LD}) \succeq 0$ for $K = (e^{\langle x_i, x_j\rangle})$",
        assumptions=("symmetric positive semi-definite kernel", "distinct landmarks"),
        spec=("RA.G10",),
        cites=("williams2000",),
        source_status=("recalled",),
    ),
    hypothesis("indefinite", "the kernel is a distance, which is not positive", indefinite=True),
    bug("regularised", "a thousandth is added to the diagonal of the middle matrix", added=1e-3),
    constant("twice", "the rest is twice the Schur complement", factor=2),
)
def test_nystrom_schur(run, *, indefinite=False, added=0.0, factor=1):
    grid = np.array([[-1.0, 0.0], [1.0, 0.5], [0.0, -1.0], [0.5, 1.0], [-0.5, -0.5], [1.0, -1.0], [0.25, 0.25]])
    for rng, scale in zip(run.draws(quick=6, paper=99), cycle((1.0, 1e-12, 1e12)), strict=False):
        x = grid + 0.1 * rng.normal(size=grid.shape)
        marks = int(rng.integers(1, 5))
        apart = np.linalg.norm(x[:, np.newaxis] - x[np.newaxis], axis=2)
        matrix = scale * (0.1 * np.eye(7) + apart if indefinite else np.exp(x @ x.T))
        matrix = np.tril(matrix) + np.tril(matrix, -1).T  # symmetric to the last bit
        middle = matrix[:marks, :marks] + added * scale * np.eye(marks)
        rest = matrix - through_landmarks(exact(matrix[:, :marks]), middle, matrix[:marks])
        case = {"scale": float(np.abs(matrix).max()), "landmarks": marks, "size": scale}
        claimed = balls(np.zeros((7, 7)))
        claimed[marks:, marks:] = eliminated(matrix, marks) * factor
        yield equals(abs(rest - claimed).max(), 0, part="complement", **case)
        yield at_least(eigenvalues(rest)[0], 0, part="positive", **case)
