"""Attention is a Markov kernel on probability measures: definitions 1 to 8, the equivalence, and the usual variants."""

import numpy as np

from theory import Measure, attend, w1
from theory.attention import (
    Additive,
    AttentionKernel,
    Composition,
    Dirac,
    DotProduct,
    Lookup,
    MomentSubspace,
    Projected,
    Softmatch,
    SquaredDistance,
    barycentres,
    boltzmann_gibbs,
    rounding,
    weight_error,
)
from theory.evidence import (
    Claim,
    Interval,
    at_least,
    bug,
    constant,
    discrepancy,
    equals,
    hypothesis,
    softmax_error,
    total,
    verifies,
)
from theory.evidence.roundoff import EXP_ULPS, U, gamma
from verify import inputs, textbook
from verify.textbook import balls, gap

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
        provenance=SEEN,
    ),
    bug("unscaled", "the scores are not divided by the root of the dimension", power=0.0),
    bug("wrong-axis", "the softmax runs over the queries", axis=0),
    constant("exponent", "the scores are divided by d to the 0.49", power=0.49),
)
def test_attention(run, tokens, *, power=0.5, axis=1):
    for p in inputs.problems(run, quick=25, paper=300):
        scores = textbook.dot_scores(p.queries, p.keys, power=power)
        claimed = textbook.average(scores, p.values, axis=axis)
        error = rounding(p.queries, p.keys, p.values)
        yield equals(gap(attend(p.queries, p.keys, p.values), claimed, error), 0, scale=p.size, **p.case)
    asked = tokens[:: max(1, tokens.shape[0] // 3)][:3]
    claimed = textbook.average(textbook.dot_scores(asked, tokens, power=power), tokens, axis=axis)
    apart = gap(attend(asked, tokens, tokens), claimed, rounding(asked, tokens, tokens))
    yield equals(apart, 0, scale=float(np.abs(tokens).max()), input="tokens", n=tokens.shape[0])


@verifies(
    Claim(
        "markov.rows",
        "softmatch rows are laws, and kernels act on measures and compose in that order",
        r"$S_\nu(x, \cdot) \ge 0$, $S_\nu(x, E) = 1$, $(\mu S_\nu)(f) = \mu(S_\nu f)$ and $\mu(S_\nu S_{\nu'}) = (\mu S_\nu)S_{\nu'}$",
        assumptions=("finite score", "the reference has positive mass"),
        spec=("MA.D2",),
        cites=MTA,
        provenance=SEEN,
    ),
    bug("unnormalised", "the weights are not divided by their sum", normalised=False),
    bug("reversed", "the kernels compose in the other order", swapped=True),
    bug("transposed", "the matrix of rows acts from the wrong side", transposed=True),
)
def test_rows_are_laws(run, *, normalised=True, swapped=False, transposed=False):
    score = DotProduct(scale=0.7)
    for rng in run.streams(run.pick(quick=20, paper=200)):
        n, d = int(rng.integers(2, 20)), int(rng.integers(1, 4))
        mu, nu, other = (Measure(rng.normal(size=(n, d)), rng.dirichlet(np.ones(n))) for _ in range(3))
        first, second = Softmatch(score, nu), Softmatch(score, other)
        relative = weight_error(mu.points, nu.points, score, np.log(nu.weights))
        rows = first.rows(mu.points)
        if not normalised:
            rows = rows * np.exp(first.log_partition(mu.points))[:, np.newaxis]
        for row in rows[:3]:
            yield at_least(Interval.exactly(float(row.min())), 0, scale=1, n=n, d=d)
            yield equals(total(row, relative * row), 1, n=n, d=d)
        exact = [
            textbook.laws(textbook.dot_scores(a.points, b.points, beta=0.7), b.weights)
            for a, b in ((mu, nu), (nu, other))
        ]
        matrix = exact[0].T if transposed else exact[0]
        claimed = balls(mu.weights) @ (exact[1] @ matrix if swapped else matrix @ exact[1])
        measured = Composition(first, second).push(mu).weights
        further = weight_error(nu.points, other.points, score, np.log(other.weights))
        error = (1 + relative) * (1 + further) * (1 + gamma(4 * n + 16)) - 1
        yield equals(gap(measured, claimed, error), 0, scale=1, n=n, d=d)


@verifies(
    Claim(
        "markov.boltzmann-gibbs",
        "the Boltzmann-Gibbs transform reweights the reference and composes",
        r"$\Psi_g(\nu)(dy) = g(y)\nu(dy)/\nu(g)$ and $\Psi_h(\Psi_g(\nu)) = \Psi_{gh}(\nu)$ for $g = e^a$, $h = e^b$",
        assumptions=(r"$0 < \nu(g) < \infty$",),
        spec=("MA.D3",),
        cites=("delmoral2004", *MTA),
        provenance=RECALLED,
    ),
    bug("after", "the reference multiplies the softmax without a new normalisation", after=True),
    hypothesis("uniform", "the reference is taken as uniform", uniform=True),
    constant("exponent", "the potential is one per cent too large", factor=1.01),
)
def test_boltzmann_gibbs(run, *, after=False, uniform=False, factor=1.0):
    for p in inputs.problems(run, quick=20, paper=300):
        nu = Measure(p.keys, law_of(p.masses))
        present = nu.weights > 0.0
        a, b = p.keys @ p.queries[0], np.cos(np.arange(nu.size))
        reference = np.ones(nu.size) if uniform or after else nu.weights
        tilt = balls(a) * balls(factor).item() + balls(b)
        claimed = textbook.laws(tilt[np.newaxis, :], reference)[0]
        if after:
            claimed = claimed * balls(nu.weights)
        size = float(np.abs(a).max()) + float(np.abs(np.log(nu.weights[present])).max()) + 1.0
        once = softmax_error((2 * EXP_ULPS + 4) * U * size, 2.0 * size, nu.size)
        twice = (1 + once) ** 2 * (1 + (4 * EXP_ULPS + 4) * U * (1 + size)) ** 2 - 1
        measured = boltzmann_gibbs(boltzmann_gibbs(nu, a), b).weights
        yield equals(gap(measured, claimed, twice), 0, scale=1, **p.case)


SCORES = {
    "dot": (DotProduct(scale=0.6), lambda x, y, beta: textbook.dot_scores(x, y, beta=beta)),
    "distance": (SquaredDistance(0.6), lambda x, y, beta: textbook.distance_scores(x, y, beta=beta)),
}


@verifies(
    Claim(
        "markov.softmatch",
        "the law of the matched key is the transform of the reference by the scores of the query",
        r"$S_\nu(x, dy) = \Psi_{e^{a(x, \cdot)}}(\nu)(dy)$ for dot-product, distance and additive scores",
        assumptions=("finite score", "the reference has positive mass"),
        spec=("MA.D4",),
        cites=("bahdanau2014", *MTA),
        provenance=SEEN,
    ),
    bug("after", "the weights multiply the softmax without a new normalisation", after=True),
    bug("dropped", "the weights of the keys are ignored", dropped=True),
    constant("temperature", "the scores are one per cent too large", beta=0.606),
)
def test_softmatch(run, *, after=False, dropped=False, beta=0.6):
    for p in inputs.problems(run, quick=20, paper=300):
        nu = Measure(p.keys, law_of(p.masses))
        on = nu.weights > 0.0
        reference = np.ones(nu.size) if after or dropped else nu.weights
        for name, (score, exact) in SCORES.items():
            claimed = textbook.laws(exact(p.queries, p.keys, beta), reference)
            claimed = claimed * balls(nu.weights) if after else claimed
            error = weight_error(p.queries, p.keys[on], score, np.log(nu.weights[on]))
            yield equals(gap(Softmatch(score, nu).rows(p.queries), claimed, error), 0, scale=1, score=name, **p.case)
    for rng in run.streams(run.pick(quick=5, paper=50)):
        w_query, w_key, v = rng.normal(size=(4, 2)), rng.normal(size=(4, 2)), rng.normal(size=4)
        x, nu = rng.normal(size=(2, 2)), Measure(rng.normal(size=(6, 2)), rng.dirichlet(np.ones(6)))
        left, right = balls(x) @ balls(w_query).T, balls(nu.points) @ balls(w_key).T
        scores = textbook.tanh(left[:, np.newaxis, :] + right[np.newaxis, :, :]) @ balls(v) * balls(beta / 0.6).item()
        claimed = textbook.laws(scores, np.ones(6) if after or dropped else nu.weights)
        claimed = claimed * balls(nu.weights) if after else claimed
        score = Additive(w_query, w_key, v)
        error = weight_error(x, nu.points, score, np.log(nu.weights))
        yield equals(gap(Softmatch(score, nu).rows(x), claimed, error), 0, scale=1, score="additive", n=6, d=2)


@verifies(
    Claim(
        "markov.lookup",
        "looking a key up gives the uniform law over the values of all equal keys",
        r"$L(k, \cdot) = \frac{1}{\#\{i : k_i = k\}}\sum_{i : k_i = k}\delta_{v_i}$ is a Markov kernel",
        assumptions=("the law that is pushed lives on the keys",),
        spec=("MA.D5",),
        cites=MTA,
        provenance=SEEN,
    ),
    bug("summed", "equal keys are not averaged over, so a law of mass above one comes out", divided=False),
    hypothesis("distinct", "every key is taken to be met once", grouped=False),
)
def test_lookup(run, *, divided=True, grouped=True):
    for rng in run.streams(run.pick(quick=20, paper=200)):
        n = int(rng.integers(2, 15))
        keys, values = rng.integers(0, 3, size=(n, 2)).astype(float), rng.normal(size=(n, 1))
        nu = Measure(keys, rng.dirichlet(np.ones(n)))
        same = (keys[:, np.newaxis, :] == keys[np.newaxis, :, :]).all(axis=2) if grouped else np.eye(n, dtype=bool)
        copies = same.sum(axis=1) if divided else np.ones(n, dtype=int)
        claimed = (balls(same.astype(float)) @ balls(nu.weights)) / balls(copies)
        measured = Lookup(keys, values).push(nu)
        yield equals(gap(measured.weights, claimed, gamma(2 * n + 4)), 0, scale=1, n=n)
        yield equals(discrepancy(measured.points, values), 0, scale=1, n=n)


def pair_of(mean, second, *, root=True, centred=True):
    """Two equal atoms with the given mean and second moment, or a wrong spread."""
    spread = second - mean * mean if centred else second
    spread = np.sqrt(spread) if root else spread
    return Measure([[mean - spread], [mean + spread]])


@verifies(
    Claim(
        "markov.moment-projection",
        "a moment subspace keeps the moments and projects",
        r"$M_F \circ e = \mathrm{id}$, hence $\Pi = e \circ M_F$ satisfies $\Pi^2 = \Pi$ and $M_F \circ \Pi = M_F$",
        assumptions=("a right inverse of the moment map",),
        spec=("MA.D6", "MA.D7"),
        cites=MTA,
        provenance=RECALLED,
    ),
    hypothesis("variance", "the section spreads by the variance instead of its root: no right inverse", root=False),
    bug("raw", "the section spreads by the root of the second moment, not centred", centred=False),
)
def test_moment_projection(run, *, root=True, centred=True):
    pairs = MomentSubspace(lambda y: y ** [1, 2], lambda m: pair_of(*m, root=root, centred=centred))
    for rng in run.streams(run.pick(quick=20, paper=200)):
        n = int(rng.integers(2, 15))
        mu = Measure(rng.normal(size=(n, 1)) + 1.0, rng.dirichlet(np.ones(n)))
        once = pairs.project(mu)
        twice = pairs.project(once)
        size = float(np.abs(np.concatenate([mu.points, once.points])).max()) ** 2 + 1.0
        # the spread is a root of a difference: its error is that of the moments over the spread
        error = gamma(8 * n + 32) * size * (1.0 + size / max(float(np.sqrt(mu.variance())), 1e-3))
        yield equals(discrepancy(pairs.moment(once), pairs.moment(mu), error), 0, scale=size, n=n)
        yield equals(w1(twice, once) + Interval.within(0.0, error), 0, scale=size, n=n)
        mean = barycentres().project(mu)
        claimed = balls(mu.weights) @ balls(mu.points)
        yield equals(gap(mean.points[0], claimed, gamma(n + 2) * size), 0, scale=size, n=n)


@verifies(
    Claim(
        "markov.attention-kernel",
        "attention matches a key, looks its value up, then projects to the mean",
        r"$A_\nu(x, \cdot) = \Pi[\Psi_{e^{a(x, \cdot)}}(\nu)\,L] = \delta_{\Gamma_\nu(x)}$, $\Gamma_\nu(x) = \int \ell(y)\,S_\nu(x, dy)$",
        assumptions=(r"$L(y, \cdot) = \delta_{\ell(y)}$", r"$\Pi$ the projection to the barycentre"),
        spec=("MA.D8",),
        cites=MTA,
        provenance=RECALLED,
    ),
    bug("commuted", "the projection comes before the lookup", commuted=True),
    bug("no-lookup", "the keys themselves are averaged", looked_up=False),
)
def test_attention_kernel(run, *, commuted=False, looked_up=True):
    score = DotProduct(scale=0.8)
    value = np.array([[1.0, -0.5], [0.3, 2.0]])
    for rng in run.streams(run.pick(quick=20, paper=200)):
        n = int(rng.integers(2, 20))
        nu, x = Measure(rng.normal(size=(n, 2)), rng.dirichlet(np.ones(n))), rng.normal(size=2)
        law = textbook.laws(textbook.dot_scores(x[np.newaxis], nu.points, beta=0.8), nu.weights)
        scores_error = weight_error(x[np.newaxis], nu.points, score, np.log(nu.weights))
        for name, function, exact in (
            ("tanh", np.tanh, textbook.tanh),
            ("linear", lambda y: y @ value.T, lambda y: y @ balls(value).T),
        ):
            after = exact(balls(nu.points)) if looked_up else balls(nu.points)
            claimed = exact(law @ balls(nu.points)) if commuted else law @ after
            size = float(np.abs(function(nu.points)).max()) + 1.0
            error = size * ((1 + scores_error) * (1 + gamma(3 * n + 16)) - 1 + 16 * EXP_ULPS * U)
            chain = Projected(Composition(Softmatch(score, nu), Dirac(function)), barycentres()).at(x)
            yield equals(gap(chain.points, claimed, error), 0, scale=size, lookup=name, n=n)
            if name == "linear":
                fused = AttentionKernel(score, nu, value).at(x)
                yield equals(gap(fused.points, claimed, error), 0, scale=size, lookup="fused", n=n)
