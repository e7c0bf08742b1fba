"""From a similarity to what propagates: which orders of the steps matter, and what the weights of attention are."""

from functools import partial

import numpy as np

from theory.attention import DotProduct, SquaredDistance
from theory.diffusion.similarity import (
    LogDistance,
    biased_weights,
    clear_diagonal,
    compose,
    distances,
    inflate,
    inflate_exponentially,
    metric_similarity,
    normalise_columns,
    normalise_overall,
    normalise_rows,
    normalise_two_sided,
)
from theory.evidence import Claim, ball, bug, constant, equals, exact, hypothesis, verifies
from verify import textbook
from verify.textbook import balls

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


def largest(values):
    """The size of the largest entry."""
    return float(abs(values.mid).max())


POWERS = {2.0: lambda s: s**2, 0.5: np.sqrt, -1.0: lambda s: 1 / s}


@verifies(
    Claim(
        "pipeline.order",
        "which steps absorb each other: rows before an inflation and the query's own degree cancel; rows and columns do not commute",
        r"$N_r\Gamma_rN_r = N_r\Gamma_r$, $N_r(\mathrm{diag}(a)S) = N_r(S)$, $N_rN_2(S) = N_r(S\,\mathrm{diag}(d)^{-1})$, $N_2(cS) = c^{-1}N_2(S)$, $N_gN_r = \frac1nN_r$, and $N_cN_r$ is columns after rows",
        assumptions=("positive similarities",),
        spec=("DL.A1",),
        cites=RUAN,
        source_status=SEEN,
    ),
    hypothesis("columns", "the columns are normalised before the inflation", first=normalise_columns),
    hypothesis("commute", "rows and columns commute", swapped=True),
    constant("scale-free", "the two-sided normalisation is free of the scale", power=0),
    bug("both-degrees", "the two-sided normalisation divides the key's degree twice", twice=2),
    hypothesis("key", "a factor of the key cancels too", key=True),
    constant("undivided", "rows over the sum of all are not divided by their number", number=0),
)
def test_order(run, *, first=normalise_rows, swapped=False, power=1, twice=1, key=False, number=1):
    for drawn in similarities(run):
        s = exact(drawn)
        printed = balls(drawn)
        n = len(drawn)
        for r, raised in POWERS.items():
            strong = compose(first, partial(inflate, r=r), normalise_rows)(s)
            yield equals(strong, rows(raised(printed)), scale=1, part="inflation", r=r, n=n)
        query = 0.5 + np.arange(n)
        degree = printed.sum(axis=1)
        both = printed / degree[:, np.newaxis] / degree
        identities = {
            "query": (normalise_rows((query if key else query[:, np.newaxis]) * s), rows(printed)),
            "degrees": (compose(normalise_two_sided, normalise_rows)(s), rows(printed / degree**twice)),
            "two-sided": (normalise_two_sided(4.0 * s), both / 4**power),
            "overall": (compose(normalise_rows, normalise_overall)(s), rows(printed) / n**number),
            "rows and columns": (
                compose(normalise_rows, normalise_columns)(s),
                rows(columns(printed)) if swapped else columns(rows(printed)),
            ),
        }
        for part, (measured, claimed) in identities.items():
            yield equals(measured, claimed, scale=largest(measured), part=part, n=n)


@verifies(
    Claim(
        "pipeline.inflation",
        "attention is rows after an exponential inflation, and inflating it divides the temperature",
        r"$N_r\Gamma_rN_r\exp(S_{ij}/\sigma_i) = \mathrm{softmax}_j(rS_{ij}/\sigma_i)$; $N_r\exp\langle q_i, k_j\rangle$ is attention; $S_{ij} + a_i$ changes nothing",
        assumptions=("finite scores", r"$\sigma_i > 0$"),
        spec=("DL.A1",),
        cites=("ruan2024", "vaswani2017"),
        source_status=SEEN,
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
        s = rng.uniform(0.5, 3.0, size=(4, n))
        sigma = rng.uniform(0.6, 2.0, size=4)
        shift = rng.normal(size=4)
        weigh = partial(inflate_exponentially, sigma=sigma)
        strengthen = partial(inflate, r=2.0)
        steps = (strengthen, weigh, normalise_rows) if early else (weigh, normalise_rows, strengthen, normalise_rows)
        moved = exact(s) + (np.linspace(0.0, 1.0, n) if key else shift[:, np.newaxis])
        tempered = balls(s) / balls(sigma)[:, np.newaxis]
        dots = textbook.dot_scores(q, k, beta=beta)
        score = DotProduct(scale=1.0)
        direct = compose(partial(inflate_exponentially, sigma=1.0), normalise_rows)(score.matrix(exact(q), exact(k)))
        identities = {
            "inflation": (compose(*steps)(exact(s)), tempered * 2**power),
            "shift": (compose(weigh, normalise_rows)(moved), tempered),
            "engine": (biased_weights(exact(q), exact(k), score), dots),
            "attention": (direct, dots),
        }
        for part, (measured, scores) in identities.items():
            yield equals(measured, textbook.laws(scores), scale=1, part=part, n=n)


@verifies(
    Claim(
        "pipeline.student",
        "the weights of t-SNE are an inflated metric similarity, exponent first and constant second; by rows they are attention",
        r"$\Gamma_{-1}D_{2,-1} = (1 + d^2)^{-1}$ with $D_{t,c} = c - \mathrm{sign}(t)d^t$; $N_r$ of it is softmax of $-\log(1 + d^2)$, and $N_g$ of it without its diagonal are the weights of t-SNE",
        assumptions=("distinct points",),
        spec=("DL.A1", "DL.A2"),
        cites=("ruan2024", "maaten2008"),
        source_status=SEEN,
    ),
    bug("swapped", "constant first and exponent second", t=-1.0, c=2.0),
    constant("plain", "the distance is not squared", power=1),
    hypothesis("gaussian", "the kernel is the one of SNE", gaussian=True),
)
def test_student(run, *, t=2.0, c=-1.0, power=2, gaussian=False):
    def kernel(squared):
        """The kernel in balls of squared distances."""
        if gaussian:
            return np.exp(-squared)
        return 1 / (1 + (squared if power == 2 else np.sqrt(squared)))

    for rng in run.draws(quick=4, paper=40):
        n = int(rng.integers(3, 9))
        x, y = rng.normal(size=(n, 2)), rng.normal(size=(2, 2))
        apart = distances(exact(x)) + 3.0 * np.eye(n)  # what is on the diagonal is left out
        student = clear_diagonal(compose(partial(metric_similarity, t=t, c=c), partial(inflate, r=-1.0))(apart))
        others = kernel(-textbook.distance_scores(x, x, beta=1.0) + 9 * np.eye(n)) * balls(1.0 - np.eye(n))
        yield equals(student, others, scale=largest(student), part="kernel", n=n)
        joint = normalise_overall(student)
        yield equals(joint, others / others.sum(), scale=largest(joint), part="overall", n=n)
        law = biased_weights(exact(y), exact(x), LogDistance(1.0, 1.0))
        claimed = rows(kernel(-textbook.distance_scores(y, x, beta=1.0)))
        yield equals(law, claimed, scale=1, part="attention", n=n)


@verifies(
    Claim(
        "pipeline.weight",
        "the weight of a pair falls with its dissimilarity, and plain attention has bandwidth one half",
        r"weights $\propto e^{-f/2\varepsilon}$; $\varepsilon = \frac12$ gives $e^{-f}$ and every token attends most to itself; $f = |x - y|^2$",
        assumptions=("distinct tokens",),
        spec=("DL.A1",),
        cites=RUAN,
        source_status=SEEN,
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
        n = len(x)
        best = distances(x).argmax(axis=1) if farthest else np.arange(n)
        for epsilon in (0.5, 0.125):
            law = biased_weights(exact(x), exact(x), SquaredDistance(0.5 / epsilon))
            claimed = textbook.laws(f * sign * factor / (2 * ball(epsilon)), axis=axis)
            yield equals(law, claimed, scale=1, part="weights", n=n, epsilon=epsilon)
            own = int((law.mid.argmax(axis=1) == best).sum())
            yield equals(own, n, scale=1, part="itself", n=n, epsilon=epsilon)
