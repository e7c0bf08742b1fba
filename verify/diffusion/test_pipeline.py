"""From a similarity to what propagates: which orders of the steps matter, and what the weights of attention are."""

from functools import partial

import numpy as np

from theory.attention import DotProduct, SquaredDistance
from theory.diffusion.similarity import (
    LogDistance,
    biased_weights,
    clear_diagonal,
    compose,
    inflate,
    inflate_exponentially,
    metric_similarity,
    normalise_columns,
    normalise_overall,
    normalise_rows,
    normalise_two_sided,
)
from theory.evidence import Claim, ball, bug, constant, equals, hypothesis, verifies
from theory.evidence.roundoff import EXP_ULPS, gamma
from verify import textbook
from verify.textbook import balls, exp, gap

RUAN = ("ruan2024",)
SEEN = ("seen", "derived")
WITNESS = np.array([[1.0, 2.0, 0.5], [0.25, 1.0, 4.0], [3.0, 1.5, 1.0]])


def similarities(run):
    """A named matrix, then random ones."""
    yield WITNESS
    for rng in run.draws(quick=3, paper=40):
        n = int(rng.integers(2, 9))
        yield rng.uniform(0.2, 2.0, size=(n, n))


def rows(s):
    return s / s.sum(axis=1, keepdims=True)


def columns(s):
    return s / s.sum(axis=0, keepdims=True)


def same(found, claimed, roundings, **case):
    """Both sides agree, of positive entries that were each rounded so many times."""
    size = float(np.abs(found).max())
    return equals(gap(found, claimed, gamma(roundings) * 2.0 * size), 0, scale=size, **case)


@verifies(
    Claim(
        "pipeline.order",
        "which steps absorb each other: rows before an inflation and the query's own degree cancel; rows and columns do not commute",
        r"$N_r\Gamma_rN_r = N_r\Gamma_r$, $N_r(\mathrm{diag}(a)S) = N_r(S)$, $N_rN_2(S) = N_r(S\,\mathrm{diag}(d)^{-1})$, $N_2(cS) = c^{-1}N_2(S)$, $N_gN_r = \frac1nN_r$, and $N_cN_r$ is columns after rows",
        assumptions=("positive similarities",),
        spec=("DL.A1",),
        cites=RUAN,
        provenance=SEEN,
    ),
    hypothesis("columns", "the columns are normalised before the inflation", first=normalise_columns),
    hypothesis("commute", "rows and columns commute", swapped=True),
    constant("scale-free", "the two-sided normalisation is free of the scale", power=0),
    bug("both-degrees", "the two-sided normalisation divides the key's degree twice", twice=2),
    hypothesis("key", "a factor of the key cancels too", key=True),
    constant("undivided", "rows over the sum of all are not divided by their number", number=0),
)
def test_order(run, *, first=normalise_rows, swapped=False, power=1, twice=1, key=False, number=1):
    for s in similarities(run):
        n, exact = s.shape[0], balls(s)
        roundings, case = 8 * (n + 4) + 8 * EXP_ULPS, {"n": s.shape[0]}
        for r in (2.0, 0.5, -1.0):
            strong = compose(first, partial(inflate, r=r), normalise_rows)(s)
            powers = exact**2 if r == 2.0 else 1 / exact if r == -1.0 else textbook.exp(textbook.log(exact) / 2)
            yield same(strong, rows(powers), 3 * roundings, part="inflation", r=r, **case)
        query = 0.5 + np.arange(n)
        yield same(
            normalise_rows((query if key else query[:, np.newaxis]) * s), rows(exact), roundings, part="query", **case
        )
        degree = exact.sum(axis=1)
        yield same(
            compose(normalise_two_sided, normalise_rows)(s),
            rows(exact / degree**twice),
            roundings,
            part="degrees",
            **case,
        )
        both = exact / degree[:, np.newaxis] / degree
        yield same(normalise_two_sided(4.0 * s), both / 4**power, roundings, part="two-sided", **case)
        yield same(
            compose(normalise_rows, normalise_overall)(s), rows(exact) / n**number, roundings, part="overall", **case
        )
        after = rows(columns(exact)) if swapped else columns(rows(exact))
        yield same(compose(normalise_rows, normalise_columns)(s), after, roundings, part="rows and columns", **case)


@verifies(
    Claim(
        "pipeline.inflation",
        "attention is rows after an exponential inflation, and inflating it divides the temperature",
        r"$N_r\Gamma_rN_r\exp(S_{ij}/\sigma_i) = \mathrm{softmax}_j(rS_{ij}/\sigma_i)$; $N_r\exp\langle q_i, k_j\rangle$ is attention; $S_{ij} + a_i$ changes nothing",
        assumptions=("finite scores", r"$\sigma_i > 0$"),
        spec=("DL.A1",),
        cites=("ruan2024", "vaswani2017"),
        provenance=SEEN,
    ),
    constant("inverse", "the inflation multiplies the temperature", power=-1),
    bug("early", "the inflation comes before the exponential", early=True),
    hypothesis("key", "a term of the key changes nothing either", key=True),
    constant("warmer", "the scores of attention are one per cent smaller", beta=0.99),
)
def test_inflation(run, *, power=1, early=False, key=False, beta=1.0):
    for rng in run.draws(quick=4, paper=40):
        n = int(rng.integers(3, 9))
        q, k = rng.normal(size=(4, 2)), rng.normal(size=(n, 2))
        s, sigma, shift = rng.uniform(0.5, 3.0, size=(4, n)), rng.uniform(0.6, 2.0, size=4), rng.normal(size=4)
        case, width = {"n": n}, 8 * (n + 8 * EXP_ULPS + 12)  # scores up to six, thrice: a quotient, a sum, a power
        wide = partial(inflate_exponentially, sigma=sigma)
        strong = partial(inflate, r=2.0)
        found = (
            compose(strong, wide, normalise_rows)(s)
            if early
            else compose(wide, normalise_rows, strong, normalise_rows)(s)
        )
        claimed = textbook.laws(balls(s) * 2**power / balls(sigma)[:, np.newaxis])
        yield same(found, claimed, 3 * width, part="inflation", **case)
        moved = s + (np.linspace(0.0, 1.0, n) if key else shift[:, np.newaxis])
        yield same(compose(wide, normalise_rows)(moved), textbook.laws(balls(s) / balls(sigma)[:, np.newaxis]), 3 * width,
                   part="shift", **case)  # fmt: skip
        score = DotProduct(scale=1.0)
        law, error = biased_weights(q, k, score)
        exact = textbook.laws(textbook.dot_scores(q, k, beta=beta))
        yield equals(gap(law, exact, error), 0, scale=1, part="engine", **case)
        slip = 2.0 * score.bounds(q, k)[1] + gamma(2 * n + 4 * EXP_ULPS + 16)
        scores = score.matrix(q, k)
        found = compose(partial(inflate_exponentially, sigma=1.0), normalise_rows)(scores)
        yield equals(gap(found, exact, 2.0 * slip), 0, scale=1, part="attention", **case)


@verifies(
    Claim(
        "pipeline.student",
        "the weights of t-SNE are an inflated metric similarity, exponent first and constant second; by rows they are attention",
        r"$\Gamma_{-1}D_{2,-1} = (1 + d^2)^{-1}$ with $D_{t,c} = c - \mathrm{sign}(t)d^t$; $N_r$ of it is softmax of $-\log(1 + d^2)$, and $N_g$ of it without its diagonal are the weights of t-SNE",
        assumptions=("distinct points",),
        spec=("DL.A1", "DL.A2"),
        cites=("ruan2024", "maaten2008"),
        provenance=SEEN,
    ),
    bug("swapped", "constant first and exponent second", t=-1.0, c=2.0),
    constant("plain", "the distance is not squared", power=1),
    hypothesis("gaussian", "the kernel is the one of SNE", gaussian=True),
)
def test_student(run, *, t=2.0, c=-1.0, power=2, gaussian=False):
    for rng in run.draws(quick=4, paper=40):
        n = int(rng.integers(3, 9))
        x = rng.normal(size=(n, 2))
        d = np.linalg.norm(x[:, np.newaxis] - x, axis=2) + 3.0 * np.eye(n)  # what is on the diagonal is left out
        found = clear_diagonal(compose(partial(metric_similarity, t=t, c=c), partial(inflate, r=-1.0))(d))
        exact = exp(-(balls(d) ** 2)) if gaussian else 1 / (1 + balls(d) ** power)
        exact = exact * balls(1.0 - np.eye(n))
        yield same(found, exact, 4 * EXP_ULPS + 8, part="kernel", n=n)
        yield same(normalise_overall(found), exact / exact.sum(), 4 * EXP_ULPS + n * n + 8, part="overall", n=n)
        y = rng.normal(size=(2, 2))
        apart = textbook.distance_scores(y, x, beta=1.0)
        law, error = biased_weights(y, x, LogDistance(1.0, 1.0))
        kernel = (
            exp(apart) if gaussian else 1 / (1 + (-apart if power == 2 else textbook.exp(textbook.log(-apart) / 2)))
        )
        yield equals(gap(law, rows(kernel), error), 0, scale=1, part="attention", n=n)


@verifies(
    Claim(
        "pipeline.weight",
        "the weight of a pair falls with its dissimilarity, and plain attention has bandwidth one half",
        r"weights $\propto e^{-f/2\varepsilon}$; $\varepsilon = \frac12$ gives $e^{-f}$ and every token attends most to itself; $f = |x - y|^2$",
        assumptions=("distinct tokens",),
        spec=("DL.A1",),
        cites=RUAN,
        provenance=SEEN,
    ),
    constant("printed", "the weights are exp(f), as one appendix has it", sign=1),
    constant("whole", "plain attention has bandwidth one", factor=2),
    bug("columns", "the sum runs over the queries", axis=0),
    hypothesis("farthest", "every token is taken to attend most to the farthest one", farthest=True),
)
def test_weight(run, *, sign=-1, factor=1, axis=1, farthest=False):
    witness = np.array([[0.0], [1.0], [3.0]])
    for x in (witness, *(rng.normal(size=(6, 2)) for rng in run.draws(quick=3, paper=40))):
        f = -textbook.distance_scores(x, x, beta=1.0)
        apart = np.linalg.norm(x[:, np.newaxis] - x, axis=2)
        for epsilon in (0.5, 0.125):
            score = SquaredDistance(0.5 / epsilon)
            law, error = biased_weights(x, x, score)
            claimed = textbook.laws(f * sign * factor / (2 * ball(epsilon)), axis=axis)
            yield equals(gap(law, claimed, error), 0, scale=1, part="weights", n=len(x), epsilon=epsilon)
            best = apart.argmax(axis=1) if farthest else np.arange(len(x))
            yield equals(
                int((law.argmax(axis=1) == best).sum()), len(x), scale=1, part="itself", n=len(x), epsilon=epsilon
            )
