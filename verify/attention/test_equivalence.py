"""The attention kernel, projected to moments, is the attention of the transformer, in key space and in token space."""

import numpy as np

from theory import Measure, w1
from theory.attention import (
    AttentionKernel,
    Composition,
    Dirac,
    DotProduct,
    Lookup,
    MomentSubspace,
    Projected,
    Softmatch,
    barycentres,
)
from theory.evidence import (
    Claim,
    Interval,
    at_least,
    ball,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    verifies,
)
from verify import inputs, textbook
from verify.textbook import balls

MTA = ("vuckovic2020",)
RECALLED = ("recalled", "derived")
DERIVED = ("derived", "refereed on paper")
KEYS = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
VALUES = np.array([[1.0], [3.0], [0.0]])
QUERY = np.array([0.3, -0.2])
PLAIN = DotProduct(scale=1.0)


def pair_of(mean, second, *, root=True, centred=True):
    """Two equal atoms with the given mean and second moment, or a wrong spread."""
    spread = second - mean * mean if centred else second
    spread = np.sqrt(spread) if root else spread
    return Measure.normalised(mean + spread * np.array([[-1.0], [1.0]]), np.ones(2))


@verifies(
    Claim(
        "markov.moment-projection",
        "a moment subspace keeps the moments and projects",
        r"$M_F \circ e = \mathrm{id}$, hence $\Pi = e \circ M_F$ satisfies $\Pi^2 = \Pi$ and $M_F \circ \Pi = M_F$",
        assumptions=("a right inverse of the moment map",),
        spec=("MA.D6", "MA.D7"),
        cites=MTA,
        source_status=RECALLED,
    ),
    hypothesis("variance", "the section spreads by the variance instead of its root: no right inverse", root=False),
    bug("raw", "the section spreads by the root of the second moment, not centred", centred=False),
    hypothesis("uniform", "all atoms are taken to weigh the same", weighted=False),
)
def test_moment_projection(run, *, root=True, centred=True, weighted=True):
    pairs = MomentSubspace(lambda y: np.hstack([y, y * y]), lambda m: pair_of(*m, root=root, centred=centred))
    for rng in run.draws(quick=20, paper=200):
        n = int(rng.integers(2, 15))
        mu = Measure(rng.normal(size=(n, 1)) + 1.0, rng.dirichlet(np.ones(n)))
        law = mu.enclosed()
        once = pairs.project(law)
        twice = pairs.project(once)
        size = np.abs(np.concatenate([law.points, once.points])).max()
        yield equals(pairs.moment(once), pairs.moment(law), scale=size, part="moments", n=n)
        yield equals(w1(twice, once), 0, scale=size, part="twice", n=n)
        masses = balls(mu.weights if weighted else np.full(n, 1.0 / n))
        mean = barycentres().project(law).points[0]
        yield equals(mean, masses @ balls(mu.points) / masses.sum(), scale=size, part="barycentre", n=n)


@verifies(
    Claim(
        "markov.attention-kernel",
        "attention matches a key, looks its value up, then projects to the mean",
        r"$A_\nu(x, \cdot) = \Pi[\Psi_{e^{a(x, \cdot)}}(\nu)\,L] = \delta_{\Gamma_\nu(x)}$, $\Gamma_\nu(x) = \int \ell(y)\,S_\nu(x, dy)$",
        assumptions=(r"$L(y, \cdot) = \delta_{\ell(y)}$", r"$\Pi$ the projection to the barycentre"),
        spec=("MA.D8",),
        cites=MTA,
        source_status=RECALLED,
    ),
    bug("commuted", "the projection comes before the lookup", commuted=True),
    bug("no-lookup", "the keys themselves are averaged", looked_up=False),
    constant("temperature", "the scores are one per cent too large", beta=0.808),
)
def test_attention_kernel(run, *, commuted=False, looked_up=True, beta=0.8):
    score = DotProduct(scale=0.8)
    value = np.array([[1.0, -0.5], [0.3, 2.0]])
    for rng in run.draws(quick=20, paper=200):
        n = int(rng.integers(2, 20))
        nu = Measure(rng.normal(size=(n, 2)), rng.dirichlet(np.ones(n)))
        x = rng.normal(size=2)
        law = textbook.laws(textbook.dot_scores(x[np.newaxis], nu.points, beta=beta), nu.weights)
        for name, function in (("tanh", np.tanh), ("linear", lambda y: y @ value.T)):
            after = function(balls(nu.points)) if looked_up else balls(nu.points)
            claimed = function(law @ balls(nu.points)) if commuted else law @ after
            size = float(np.abs(function(nu.points)).max()) + 1.0
            chain = Projected(Composition(Softmatch(score, nu), Dirac(function)), barycentres())
            yield equals(chain.at(exact(x)).points, claimed, scale=size, part=name, n=n)
            if name == "linear":
                fused = AttentionKernel(score, nu, value)
                yield equals(fused.at(exact(x)).points, claimed, scale=size, part="fused", n=n)


def looked_up(keys, values, rows, table):
    """The mean value under each row of weights on the keys: from the averaged table, the printed one, or the last entry."""
    if table == "averaged":
        return np.stack([Lookup(keys, values).push(Measure.normalised(keys, row)).mean() for row in rows])
    same = (keys[:, np.newaxis, :] == keys[np.newaxis, :, :]).all(axis=2).astype(float)
    if table == "last":
        same = np.eye(keys.shape[0])[[int(np.flatnonzero(row).max()) for row in same]]
    return rows @ same @ values


@verifies(
    Claim(
        "markov.equivalence",
        "matching a key and looking its value up is attention, with the table averaged over equal keys",
        r"$\delta_q A_{m(K)} = \delta_{\mathrm{Att}(q; K, V)}$ for $G = e^a$ and the averaged lookup",
        assumptions=("finite score", "keys may repeat: the lookup averages over equal ones"),
        spec=("MA.D5", "MA.P9"),
        cites=MTA,
        source_status=("seen", "derived", "refereed"),
    ),
    bug("as-printed", "the printed table sums over equal keys", table="summed"),
    bug("overwritten", "a dictionary keeps the last value of a repeated key", table="last"),
    constant("digits", "the example of two equal keys comes out one in a thousand larger", example="1.536142"),
)
def test_equivalence(run, *, table="averaged", example="1.534607"):
    rows = Softmatch(PLAIN, Measure(KEYS)).rows(exact(QUERY[np.newaxis]))
    yield equals(looked_up(KEYS, VALUES, rows, table)[0, 0], Interval.printed(example), part="example")
    for p in inputs.problems(run, quick=20, paper=300):
        keys = np.round(p.keys)  # some keys repeat
        rows = Softmatch(PLAIN, Measure(keys)).rows(exact(p.queries))
        claimed = textbook.average(textbook.dot_scores(p.queries, keys, beta=1), p.values)
        yield equals(looked_up(keys, p.values, rows, table), claimed, scale=p.size, part="attention", **p.case)


@verifies(
    Claim(
        "markov.printed-lookup",
        "the lookup table as printed multiplies the output by the multiplicity of a repeated key",
        r"$\sum_k p_k \sum_i 1\{k_i = k\} v_i$ is the multiplicity times $\mathrm{Att}(q; K, V)$ when all other values vanish",
        assumptions=(r"two equal keys, $k = (1, 0), (1, 0), (0, 1)$, $v = (1, 3, 0)$, $q = (0.3, -0.2)$",),
        spec=("MA.P9",),
        cites=MTA,
        source_status=("seen", "derived", "refereed"),
    ),
    constant("harmless", "the printed table gives the attention output all the same", factor=1),
    hypothesis("distinct-keys", "the keys are pairwise distinct", shift=0.1),
)
def test_printed_lookup(run, *, factor=2, shift=0.0):
    keys = KEYS + shift * np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    rows = Softmatch(PLAIN, Measure(keys)).rows(exact(QUERY[np.newaxis]))
    printed = looked_up(keys, VALUES, rows, "summed")[0, 0]
    output = textbook.average(textbook.dot_scores(QUERY[np.newaxis], keys, beta=1), VALUES)[0, 0]
    yield equals(printed, factor * output, part="multiple")
    yield equals(printed, Interval.printed("3.069214"), part="printed")


@verifies(
    Claim(
        "markov.token-space",
        "with the form W_Q'W_K/sqrt(d_k) the kernel lives on tokens, exactly and for every W_K",
        r"$a(x, y) = \langle W_Q x, W_K y\rangle/\sqrt{d_k}$ and $L(y, \cdot) = \delta_{W_V y}$ give the attention of projected tokens",
        assumptions=("any weight matrices, singular ones included",),
        spec=("MA.P10",),
        cites=MTA,
        source_status=DERIVED,
    ),
    bug("transposed", "queries and keys exchange their matrices", transposed=True),
    hypothesis("key-space", "values are looked up by key, although W_K merges tokens of unequal weight", by_key=True),
)
def test_token_space(run, *, transposed=False, by_key=False):
    for rng in run.draws(quick=20, paper=200):
        n = int(rng.integers(3, 15))
        d = 3
        w_query = rng.normal(size=(2, d))
        w_key = rng.normal(size=(2, d))
        w_value = rng.normal(size=(2, d))
        w_key[:, 0] = 0.0  # tokens that differ along the first axis have the same key
        y = rng.normal(size=(n, d))
        y[1] = y[0] + [1.0, 0.0, 0.0]
        nu = Measure(y, rng.dirichlet(np.ones(n)))
        x = rng.normal(size=(2, d))
        left, right = (w_key, w_query) if transposed else (w_query, w_key)
        scores = balls(x) @ balls(left).T @ (balls(y) @ balls(right).T).T / np.sqrt(ball(2))
        laws = textbook.laws(scores, nu.weights)
        if by_key:
            laws[:, :2] = laws[:, :2].sum(axis=1, keepdims=True) / 2
        claimed = laws @ (balls(y) @ balls(w_value).T)
        form = exact(w_query.T) @ w_key / np.sqrt(exact(2.0))
        kernel = AttentionKernel(DotProduct(form=form), nu, w_value)
        yield equals(kernel.output(exact(x)), claimed, scale=float(np.abs(kernel.values).max()), n=n)


@verifies(
    Claim(
        "markov.key-space-constant",
        "the map from key to value has no Lipschitz constant that is uniform in W_K",
        r"for $W_K = \mathrm{diag}(1, \varepsilon)$, $W_V = I$ the lookup expands $W_1$ by $1/\varepsilon$",
        assumptions=(r"$\ker W_K \not\subset \ker W_V$ in the limit",),
        spec=("MA.P10",),
        cites=MTA,
        source_status=DERIVED,
    ),
    hypothesis("nested-kernels", "W_V vanishes where W_K does", value_too=True),
    constant("squared", "the expansion is 1/eps squared", power=2),
)
def test_key_space_constant(run, *, value_too=False, power=1):
    for bound in (16.0, 2.0**10, 2.0**20):
        w_key = np.diag([1.0, 1.0 / bound])
        w_value = w_key if value_too else np.eye(2)
        tokens = np.array([[0.0, 0.0], [0.0, 1.0]])
        keys, values = tokens @ w_key.T, tokens @ w_value.T
        table = Lookup(keys, values)
        here, there = Measure.dirac(keys[0]), Measure.dirac(keys[1])
        ratio = w1(table.push(here), table.push(there)) / w1(here, there)
        yield at_least(ratio, bound**power, bound=bound)
