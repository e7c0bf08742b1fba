"""Attention as a Markov kernel: its definition, and the kernels that it is made of."""

import numpy as np

from theory import Measure, attend
from theory.attention import (
    Additive,
    Composition,
    DotProduct,
    Softmatch,
    SquaredDistance,
    boltzmann_gibbs,
    studies,
)
from theory.evidence import (
    Claim,
    at_least,
    ball,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    verifies,
)
from theory.evidence.once import once
from verify import inputs, textbook
from verify.textbook import balls

MTA = ("vuckovic2020",)
SEEN = ("seen", "derived")
RECALLED = ("recalled", "derived")


def law_of(masses):
    """The weights as the instrument takes them: over their exactly rounded sum."""
    return Measure.normalised(np.zeros((masses.size, 1)), masses).weights


@verifies(
    Claim(
        "markov.attention",
        "attention averages the values under the softmax of the scaled scores",
        r"$\mathrm{Att}(q; K, V) = \sum_i p_i v_i$ with $p = \mathrm{softmax}(\langle q, k_i\rangle / \sqrt d)$",
        assumptions=("finite queries, keys and values",),
        spec=("MA.D1",),
        cites=("vaswani2017", *MTA),
        source_status=SEEN,
    ),
    bug("unscaled", "the scores are not divided by the root of the dimension", power=0.0),
    bug("wrong-axis", "the softmax runs over the queries", axis=0),
    constant("exponent", "the scores are divided by d to the 0.49", power=0.49),
)
def test_attention(run, tokens, *, power=0.5, axis=1):
    for p in inputs.problems(run, quick=25, paper=300):
        scores = textbook.dot_scores(p.queries, p.keys, power=power)
        claimed = textbook.average(scores, p.values, axis=axis)
        yield equals(attend(exact(p.queries), p.keys, p.values), claimed, scale=p.size, **p.case)
    asked = tokens[:: max(1, tokens.shape[0] // 3)][:3]
    claimed = textbook.average(textbook.dot_scores(asked, tokens, power=power), tokens, axis=axis)
    size = float(np.abs(tokens).max())
    yield equals(attend(exact(asked), tokens, tokens), claimed, scale=size, input="tokens", n=tokens.shape[0])


@verifies(
    Claim(
        "markov.rows",
        "softmatch rows are laws, and kernels act on measures and compose in that order",
        r"$S_\nu(x, \cdot) \ge 0$, $S_\nu(x, E) = 1$, $(\mu S_\nu)(f) = \mu(S_\nu f)$ and $\mu(S_\nu S_{\nu'}) = (\mu S_\nu)S_{\nu'}$",
        assumptions=("finite score", "the reference has positive mass"),
        spec=("MA.D2",),
        cites=MTA,
        source_status=SEEN,
    ),
    hypothesis("unnormalised", "the weights are not divided by their sum", normalised=False),
    bug("reversed", "the kernels compose in the other order", swapped=True),
    bug("transposed", "the matrix of rows acts from the wrong side", transposed=True),
    bug("linear", "the weights are the scores themselves, divided by the sum of their sizes", linear=True),
)
def test_rows_are_laws(run, *, normalised=True, swapped=False, transposed=False, linear=False):
    score = DotProduct(scale=0.7)
    for rng in run.draws(quick=20, paper=200):
        n, d = int(rng.integers(2, 20)), int(rng.integers(1, 4))
        mu, nu, other = (Measure(rng.normal(size=(n, d)), rng.dirichlet(np.ones(n))) for _ in range(3))
        first, second = Softmatch(score, nu), Softmatch(score, other)
        x = exact(mu.points)
        rows = first.rows(x)
        if not normalised:
            rows = rows * np.exp(first.log_partition(x))[:, np.newaxis]
        if linear:
            rows = score.matrix(x, nu.points) * nu.weights
            rows = rows / abs(rows).sum(axis=1, keepdims=True)
        for row in rows[:3]:
            yield at_least(row.min(), 0, scale=1, part="non-negative", n=n, d=d)
            yield equals(row.sum(), 1, part="sum", n=n, d=d)
        laws = [
            textbook.laws(textbook.dot_scores(a.points, b.points, beta=0.7), b.weights)
            for a, b in ((mu, nu), (nu, other))
        ]
        matrix = laws[0].T if transposed else laws[0]
        claimed = balls(mu.weights) @ (laws[1] @ matrix if swapped else matrix @ laws[1])
        composed = Composition(first, second).push(mu.enclosed())
        yield equals(composed.law(), claimed / balls(mu.weights).sum(), scale=1, part="composition", n=n, d=d)


@verifies(
    Claim(
        "markov.boltzmann-gibbs",
        "the Boltzmann-Gibbs transform reweights the reference, composes, and may be restricted to a set",
        r"$\Psi_g(\nu)(dy) = g(y)\nu(dy)/\nu(g)$ and $\Psi_h(\Psi_g(\nu)) = \Psi_{gh}(\nu)$ for $g = e^a$, $h = e^b$; $g = e^a1_A$ too",
        assumptions=(r"$0 < \nu(g) < \infty$, $0 < \nu(gh) < \infty$", r"on a set $\nu(A) > 0$"),
        spec=("MA.D3",),
        cites=("delmoral2004", *MTA),
        source_status=RECALLED,
    ),
    bug("after", "the reference multiplies the softmax without a new normalisation", after=True),
    hypothesis("uniform", "the reference is taken as uniform", uniform=True),
    constant("exponent", "the potential is one per cent too large", factor=1.01),
)
def test_boltzmann_gibbs(run, *, after=False, uniform=False, factor=1.0):
    for p in inputs.problems(run, quick=20, paper=300):
        nu = Measure(p.keys, law_of(p.masses))
        a = p.keys @ p.queries[0]
        b = np.cos(np.arange(nu.size))
        reference = np.ones(nu.size) if uniform or after else nu.weights
        tilt = balls(a) * ball(factor) + balls(b)
        claimed = textbook.laws(tilt[np.newaxis, :], reference)[0]
        if after:
            claimed = claimed * balls(nu.weights)
        twice = boltzmann_gibbs(boltzmann_gibbs(nu.enclosed(), a), b)
        yield equals(twice.law(), claimed, scale=1, part="composition", **p.case)
        where = np.arange(nu.size) % 2 == 0
        claimed = textbook.laws((balls(a) * ball(factor))[np.newaxis, :], reference)[0]
        claimed = claimed * balls(1.0 * where)
        claimed = claimed * balls(nu.weights) if after else claimed / claimed.sum()
        restricted = boltzmann_gibbs(nu.enclosed(), a, where=where)
        yield equals(restricted.law(), claimed, scale=1, part="restricted", **p.case)


SCORES = {
    "dot": (DotProduct(scale=0.6), lambda x, y, beta: textbook.dot_scores(x, y, beta=beta)),
    "distance": (SquaredDistance(0.6), lambda x, y, beta: textbook.distance_scores(x, y, beta=beta)),
}


@once
def matched_rows(score, reference, queries):
    """The rows of the kernel of a score, enclosed."""
    return Softmatch(score, reference).rows(exact(queries))


@verifies(
    Claim(
        "markov.softmatch",
        "the law of the matched key is the transform of the reference by the scores of the query",
        r"$S_\nu(x, dy) = \Psi_{e^{a(x, \cdot)}}(\nu)(dy)$ for dot-product, distance and additive scores",
        assumptions=("finite score", "the reference has positive mass"),
        spec=("MA.D4",),
        cites=("bahdanau2014", *MTA),
        source_status=SEEN,
    ),
    bug("after", "the weights multiply the softmax without a new normalisation", after=True),
    bug("dropped", "the weights of the keys are ignored", dropped=True),
    constant("temperature", "the scores are one per cent too large", beta=0.606),
)
def test_softmatch(run, *, after=False, dropped=False, beta=0.6):
    for p in inputs.problems(run, quick=20, paper=300):
        nu = Measure(p.keys, law_of(p.masses))
        reference = np.ones(nu.size) if after or dropped else nu.weights
        for name, (score, scores) in SCORES.items():
            claimed = textbook.laws(scores(p.queries, p.keys, beta), reference)
            claimed = claimed * balls(nu.weights) if after else claimed
            yield equals(matched_rows(score, nu, p.queries), claimed, scale=1, score=name, **p.case)
    for rng in run.draws(quick=5, paper=50):
        w_query = rng.normal(size=(4, 2))
        w_key = rng.normal(size=(4, 2))
        v = rng.normal(size=4)
        x = rng.normal(size=(2, 2))
        nu = Measure(rng.normal(size=(6, 2)), rng.dirichlet(np.ones(6)))
        left, right = balls(x) @ balls(w_query).T, balls(nu.points) @ balls(w_key).T
        scores = textbook.tanh(left[:, np.newaxis, :] + right[np.newaxis, :, :]) @ balls(v) * ball(beta / 0.6)
        claimed = textbook.laws(scores, np.ones(6) if after or dropped else nu.weights)
        claimed = claimed * balls(nu.weights) if after else claimed
        yield equals(matched_rows(Additive(w_query, w_key, v), nu, x), claimed, scale=1, score="additive", n=6, d=2)
    table = run.study(studies.attention_map)
    query = studies.query_index()
    for head in range(studies.HEADS):
        x = studies.unit_tokens(head, run.root)
        part = table.where(head=head)
        claimed = textbook.laws(textbook.dot_scores(x[query : query + 1], x, beta=studies.SHARPNESS * beta / 0.6))[0]
        yield equals(part.intervals("weight"), claimed, scale=part["weight.hi"].max(), head=head, part="photograph")
