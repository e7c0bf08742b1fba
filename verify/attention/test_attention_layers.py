"""Symmetries of attention layers: permutations, prefixes under the causal mask, and the gauge of several heads."""

import numpy as np

from theory import Measure, attend
from theory.attention import DotProduct, Head, MultiHead, Softmatch
from theory.attention.variants import attend_rows
from theory.evidence import (
    Claim,
    at_most,
    ball,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    verifies,
)
from theory.evidence.spectra import exact_rank, singular_values
from verify import textbook
from verify.textbook import balls

RECALLED = ("recalled", "derived")
PLAIN = DotProduct(scale=1.0)


def outputs(x, keys, values, *, causal=False):
    """Attention with plain dot products as it is printed, in balls; under a mask a query sees its predecessors."""
    scores = textbook.dot_scores(x, keys, beta=1)
    if not causal:
        return textbook.average(scores, values)
    seen = [textbook.average(scores[i : i + 1, : i + 1], values[: i + 1])[0] for i in range(x.shape[0])]
    return np.array(seen)


@verifies(
    Claim(
        "layer.equivariance",
        "permuting the tokens permutes self-attention, and permuting keys with their values changes nothing",
        r"$F(\Pi X) = \Pi F(X)$ and $\mathrm{Att}(Q; \Pi K, \Pi V) = \mathrm{Att}(Q; K, V)$ for permutations $\Pi$",
        assumptions=("no mask", "no positions"),
        spec=("RA.G4",),
        cites=("vaswani2017", "vuckovic2020"),
        source_status=RECALLED,
    ),
    hypothesis("causal", "a query sees its predecessors only", causal=True),
    hypothesis("positions", "a position is added to every token", positions=1.0),
    bug("keys-alone", "the keys are permuted without their values", together=False),
)
def test_equivariance(run, *, causal=False, positions=0.0, together=True):
    witness = np.array([[1.0, 0.0], [0.0, 2.0], [-1.0, 1.0]]), np.array([2, 0, 1])
    clouds = [(rng.normal(size=(int(rng.integers(3, 12)), 2)), None) for rng in run.draws(quick=15, paper=200)]
    streams = run.streams(len(clouds))
    problems = [witness, *((x, rng.permutation(x.shape[0])) for (x, _), rng in zip(clouds, streams, strict=True))]
    for x, order in problems:
        n = x.shape[0]
        place = positions * np.column_stack([np.sin(np.arange(n)), np.cos(np.arange(n))])
        first, second = x + place, x[order] + place
        size = float(np.abs(np.vstack([first, second])).max())
        claimed = outputs(first, first, first, causal=causal)[order]
        moved = attend(exact(second), second, second, score=PLAIN, causal=causal)
        yield equals(moved, claimed, scale=size, n=n, part="self")
        asked = x[:2] + 0.5
        crossed = attend(exact(asked), first[order], x[order] if together else x, score=PLAIN)
        yield equals(crossed, outputs(asked, first, x), scale=size, n=n, part="cross")


def softmax_rows(scores):
    """The softmax of every row, in which minus infinity has weight zero."""
    laws = np.exp(scores - scores.max(axis=1, keepdims=True))
    return laws / laws.sum(axis=1, keepdims=True)


@verifies(
    Claim(
        "layer.prefix",
        "under the causal mask a prefix of the tokens gives the prefix of the output, and the first output is the first value",
        r"$F(X_{1:i}) = F(X)_{1:i}$ for every $i$, and $F(X)_1 = v_1$",
        assumptions=("the causal mask", "row-wise queries, keys and values"),
        spec=("RA.G5",),
        cites=("vaswani2017",),
        source_status=("seen", "derived"),
    ),
    hypothesis("unmasked", "every query sees every token", causal=False),
    bug("masked-late", "later tokens lose their weight after the softmax, without a new normalisation", late=True),
    bug("shifted", "the outputs of the prefix are read one row late", ahead=1),
)
def test_prefix(run, *, causal=True, late=False, ahead=0):
    def layer(x):
        if late:
            return Softmatch(PLAIN, Measure(x)).rows(exact(x)) * np.tri(len(x)) @ x
        return attend(exact(x), x, x, score=PLAIN, causal=causal)

    for rng in run.draws(quick=15, paper=200):
        n = int(rng.integers(3, 12))
        x, other = rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
        i = int(rng.integers(1, n - 1))
        case = {"scale": float(np.abs(x).max()), "n": n}
        whole = layer(x)
        yield equals(layer(x[: i + ahead])[ahead:], whole[:i], part="prefix", **case)
        changed = layer(np.vstack([x[:i], other[i:]]))  # what comes later is of no account
        yield equals(changed[:i], whole[:i], part="later tokens", **case)
        yield equals(whole, outputs(x, x, x, causal=True), part="definition", **case)
        yield equals(whole[0], x[0], part="first", **case)
    (rng,) = run.streams(1)
    x = rng.normal(size=(300, 2))  # the same through a map of rows, over more than one block of queries
    rows = attend_rows(exact(x), x, x, rows=softmax_rows, score=PLAIN, causal=causal)
    if late:
        rows = softmax_rows(PLAIN.matrix(exact(x), x)) * np.tri(300) @ x
    for i in (0, 1, 255, 256, 299):
        claimed = textbook.average(textbook.dot_scores(x[i : i + 1], x[: i + 1], beta=1), x[: i + 1])
        yield equals(rows[i : i + 1], claimed, scale=1, part="rows", query=i)


def matrices(rng, heads, width, dim):
    """Query, key, value and output matrices of all heads, of eighths, so that what follows multiplies them exactly."""
    shapes = ((heads, width, dim),) * 3 + ((heads, dim, width),)
    return [rng.integers(-8, 9, size=shape) / 8.0 for shape in shapes]


def printed(x, mu, parts, weights):
    """The sum over the heads of their outputs through their blocks of the output matrix, in balls."""
    claimed = 0
    for w_query, w_key, w_value, w_out in zip(*parts, strict=True):
        left, right = balls(x) @ balls(w_query).T, balls(mu.points) @ balls(w_key).T
        laws = textbook.laws(left @ right.T / ball(w_query.shape[0]).sqrt(), mu.weights)
        claimed = claimed + laws @ (balls(mu.points) @ balls(w_value).T) @ balls(w_out).T * weights
    return claimed


@verifies(
    Claim(
        "layer.gauge",
        "each head may change the bases of its queries and of its values, and the heads may change places",
        r"$(W^Q, W^K) \to (W^QG, W^KG^{-\top})$, $(W^V, W^O) \to (W^VG, G^{-1}W^O)$ per head, and any order of the heads, leave the output unchanged",
        assumptions=("$G$ invertible",),
        spec=("RA.G6",),
        cites=("vaswani2017",),
        source_status=("seen", *RECALLED),
    ),
    bug("not-transposed", "the keys take the inverse of G instead of its transposed inverse", transposed=False),
    hypothesis("across-heads", "one change of basis mixes the queries of the heads", mixed=True),
    constant("mean", "the heads are averaged instead of summed", averaged=True),
    bug("orders", "the output blocks keep their order while the heads change places", orders=False),
)
def test_gauge(run, *, transposed=True, mixed=False, averaged=False, orders=True):
    heads, width, dim = 3, 2, 3
    for rng in run.draws(quick=8, paper=100):
        n = int(rng.integers(2, 8))
        mu = Measure(rng.normal(size=(n, dim)), rng.dirichlet(np.ones(n)))
        x = rng.normal(size=(2, dim))
        parts = matrices(rng, heads, width, dim)
        claimed = printed(x, mu, parts, ball(1.0 / heads) if averaged else 1)
        # integer matrices of determinant one: their inverses and all products here are exact
        a, b = (int(c) for c in rng.integers(1, 4, size=2))
        g = np.array([[1.0 + a * b, a], [b, 1.0]])
        inverse = np.array([[1.0, -a], [-b, 1.0 + a * b]])
        w_query, w_key, w_value, w_out = parts
        by_key = inverse if transposed else inverse.T
        queries = np.array([g.T @ w for w in w_query])
        keys = np.array([by_key @ w for w in w_key])
        if mixed:  # the second rows of the first two heads are added to each other, and taken off their keys
            queries, keys = w_query.copy(), w_key.copy()
            queries[0, 1] += w_query[1, 1]
            keys[1, 1] -= w_key[0, 1]
        values = np.array([g.T @ w for w in w_value])
        out = np.array([w @ inverse.T for w in w_out])
        order = rng.permutation(heads)
        if not orders:
            out = out[np.roll(order, 1)]
        layer = MultiHead(tuple(Head(queries[h], keys[h], values[h], out[h]) for h in order))
        size = float(
            sum((np.abs(mu.points) @ np.abs(v).T @ np.abs(o).T).max() for v, o in zip(w_value, w_out, strict=True))
        )
        yield equals(layer(exact(x), mu), claimed, scale=size, n=n)


@verifies(
    Claim(
        "layer.rank",
        "the scores of a head have at most the rank of its width, while the matrix of weights may have full rank",
        r"$\mathrm{rank}\,QK^\top \le d_h$; there are $n = 9$ tokens with $d_h = 2$ and $\mathrm{rank}\,\mathrm{softmax}(QK^\top/\sqrt{d_h}) = 9$",
        spec=("RA.G6",),
        source_status=RECALLED,
    ),
    constant("narrow", "the rank of the weights is at most the width of the head", most=2),
    constant("narrower", "the rank of the scores is below the width of the head", short=1),
    hypothesis("repeated", "two of the queries are equal", repeated=True),
    bug("linear", "the weights are the scores themselves, divided by their sum", linear=True),
)
def test_rank(run, *, most=9, short=0, repeated=False, linear=False):
    for rng in run.draws(quick=10, paper=100):
        n, width = int(rng.integers(3, 12)), int(rng.integers(1, 3))
        q, k = (rng.integers(-9, 10, size=(n, width)).astype(float) for _ in range(2))
        scores = exact_rank(PLAIN.matrix(q, k))  # integers, exactly
        yield at_most(scores, width - short, scale=1, n=n, width=width, part="scores")
    square = np.array([(i, j) for i in (-1.0, 0.0, 1.0) for j in (-1.0, 0.0, 1.0)])
    queries = square.copy()
    queries[0] = queries[1] if repeated else queries[0]
    kernel = Softmatch(DotProduct(), Measure(square))
    p = kernel.rows(exact(queries))
    if linear:
        p = 10.0 + PLAIN.matrix(exact(queries), square)
        p = p / p.sum(axis=1, keepdims=True)
    positive = (singular_values(p).lo > 0.0).sum()
    yield equals(exact(positive, p.kind), most, scale=1, n=9, width=2, part="weights")
