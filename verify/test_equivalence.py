"""The kernel form is the attention of the transformer: self, cross, multi-head, causal, padded, in key space and token space."""

import numpy as np

from theory import Measure, attend, w1
from theory.attention import (
    AttentionKernel,
    CausalKernel,
    DotProduct,
    Lookup,
    MultiHead,
    Softmatch,
    rounding,
    studies,
    weight_error,
)
from theory.evidence import Claim, Interval, at_least, bug, constant, equals, hypothesis, verifies
from theory.evidence.roundoff import gamma
from verify import inputs, textbook
from verify.textbook import balls, gap

MTA = ("vuckovic2020",)
DERIVED = ("derived", "refereed on paper")
KEYS, VALUES, QUERY = (
    np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),
    np.array([[1.0], [3.0], [0.0]]),
    np.array([0.3, -0.2]),
)
PLAIN = DotProduct(scale=1.0)


def looked_up(keys, values, rows, table):
    """The mean value under each row of weights on the keys: from the averaged table, the printed one, or the last entry."""
    if table == "averaged":
        return np.concatenate([Lookup(keys, values).push(Measure(keys, row)).mean()[np.newaxis] for row in rows])
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
        spec=("MA.P9",),
        cites=MTA,
        provenance=("seen", "derived", "refereed"),
    ),
    bug("as-printed", "the printed table sums over equal keys", table="summed"),
    bug("overwritten", "a dictionary keeps the last value of a repeated key", table="last"),
    constant("digits", "the example of two equal keys comes out one in a thousand larger", example="1.536142"),
)
def test_equivalence(run, *, table="averaged", example="1.534607"):
    rows = Softmatch(PLAIN, Measure(KEYS)).rows(QUERY[np.newaxis])
    value = float(looked_up(KEYS, VALUES, rows, table)[0, 0])
    error = 3.0 * (weight_error(QUERY[np.newaxis], KEYS, PLAIN) + gamma(16))
    yield equals(Interval.within(value, error), Interval.printed(example), input="catalogue")
    for p in inputs.problems(run, quick=20, paper=300):
        keys = np.round(p.keys)  # some keys repeat
        rows = Softmatch(PLAIN, Measure(keys)).rows(p.queries)
        claimed = textbook.average(textbook.dot_scores(p.queries, keys, beta=1), p.values)
        error = rounding(p.queries, keys, p.values, score=PLAIN) * (1 + gamma(8 * keys.shape[0]))
        error += gamma(8 * keys.shape[0]) * p.size
        yield equals(gap(looked_up(keys, p.values, rows, table), claimed, error), 0, scale=p.size, **p.case)


@verifies(
    Claim(
        "markov.printed-lookup",
        "the lookup table as printed multiplies the output by the multiplicity of a repeated key",
        r"$\sum_k p_k \sum_i 1\{k_i = k\} v_i$ is the multiplicity times $\mathrm{Att}(q; K, V)$ when all other values vanish",
        assumptions=(r"two equal keys, $k = (1, 0), (1, 0), (0, 1)$, $v = (1, 3, 0)$, $q = (0.3, -0.2)$",),
        spec=("MA.P9",),
        cites=MTA,
        provenance=("seen", "derived", "refereed"),
    ),
    constant("harmless", "the printed table gives the attention output all the same", factor=1),
    hypothesis("distinct-keys", "the keys are pairwise distinct", shift=0.1),
)
def test_printed_lookup(run, *, factor=2, shift=0.0):
    keys = KEYS + shift * np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    rows = Softmatch(PLAIN, Measure(keys)).rows(QUERY[np.newaxis])
    error = 6.0 * (weight_error(QUERY[np.newaxis], keys, PLAIN) + gamma(16))
    printed = Interval.within(float(looked_up(keys, VALUES, rows, "summed")[0, 0]), error)
    yield equals(
        printed,
        factor * textbook.hull(textbook.average(textbook.dot_scores(QUERY[np.newaxis], keys, beta=1), VALUES)[0, 0]),
    )
    if factor == 2:
        yield equals(printed, Interval.printed("3.069214"))


@verifies(
    Claim(
        "markov.token-space",
        "with the form W_Q'W_K/sqrt(d_k) the kernel lives on tokens, exactly and for every W_K",
        r"$a(x, y) = \langle W_Q x, W_K y\rangle/\sqrt{d_k}$ and $L(y, \cdot) = \delta_{W_V y}$ give the attention of projected tokens",
        assumptions=("any weight matrices, singular ones included",),
        spec=("MA.P10",),
        cites=MTA,
        provenance=DERIVED,
    ),
    bug("transposed", "queries and keys exchange their matrices", transposed=True),
    hypothesis("key-space", "values are looked up by key, although W_K merges tokens of unequal weight", by_key=True),
)
def test_token_space(run, *, transposed=False, by_key=False):
    for rng in run.streams(run.pick(quick=20, paper=200)):
        n, d = int(rng.integers(3, 15)), 3
        w_query, w_key, w_value = rng.normal(size=(2, d)), rng.normal(size=(2, d)), rng.normal(size=(2, d))
        w_key[:, 0] = 0.0  # tokens that differ along the first axis have the same key
        y = rng.normal(size=(n, d))
        y[1] = y[0] + [1.0, 0.0, 0.0]
        nu, x = Measure(y, rng.dirichlet(np.ones(n))), rng.normal(size=(2, d))
        left, right = (w_key, w_query) if transposed else (w_query, w_key)
        exact_keys = balls(y) @ balls(right).T
        scores = balls(x) @ balls(left).T @ exact_keys.T / textbook.balls(2).item().sqrt()
        laws = textbook.laws(scores, nu.weights)
        if by_key:
            laws[:, :2] = laws[:, :2].sum(axis=1, keepdims=True) / 2
        claimed = laws @ (balls(y) @ balls(w_value).T)
        score = DotProduct(form=w_query.T @ w_key / np.sqrt(2))
        size = float(np.abs(y).max() * np.abs(w_value).sum())
        slack = gamma(16) * float(
            (np.abs(x) @ np.abs(w_query.T) @ np.abs(w_key) @ np.abs(y).T).max()
        )  # of the form itself
        error = size * (weight_error(x, y, score, np.log(nu.weights)) + 4 * slack + gamma(4 * n + 16))
        yield equals(gap(AttentionKernel(score, nu, w_value).output(x), claimed, error), 0, scale=size, n=n)


@verifies(
    Claim(
        "markov.key-space-constant",
        "the map from key to value has no Lipschitz constant that is uniform in W_K",
        r"for $W_K = \mathrm{diag}(1, \varepsilon)$, $W_V = I$ the lookup expands $W_1$ by $1/\varepsilon$",
        assumptions=(r"$\ker W_K \not\subset \ker W_V$ in the limit",),
        spec=("MA.P10",),
        cites=MTA,
        provenance=DERIVED,
    ),
    hypothesis("nested-kernels", "W_V vanishes where W_K does", value_too=True),
    constant("largest", "the expansion is governed by the largest singular value of W_K, squared", power=2),
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


@verifies(
    Claim(
        "markov.cross",
        "cross-attention transports the queries in the field of another measure",
        r"$\mu_Q A_{\mu_K} = (\Gamma_{\mu_K})_\# \mu_Q$",
        spec=("MA.P11",),
        cites=MTA,
        provenance=DERIVED,
    ),
    bug("self", "the queries attend to themselves", swapped=True),
    bug("weights", "the output carries the weights of the keys instead of the queries'", own=False),
)
def test_cross(run, *, swapped=False, own=True):
    value = np.array([[0.5, 1.0], [-1.0, 0.25]])
    for rng in run.streams(run.pick(quick=20, paper=200)):
        n = int(rng.integers(2, 12))
        asking, asked = (Measure(rng.normal(size=(n, 2)), rng.dirichlet(np.ones(n))) for _ in range(2))
        field = asking if swapped else asked
        exact = textbook.average(
            textbook.dot_scores(asking.points, field.points, beta=1),
            balls(field.points) @ balls(value).T,
            field.weights,
        )
        moved = AttentionKernel(PLAIN, asked, value).push(asking)
        error = rounding(
            asking.points, asked.points, asked.linear_image(value).points, score=PLAIN, key_weights=asked.weights
        )
        size = 3.0 * float(np.abs(asked.points).max())
        yield equals(gap(moved.points, exact, error + gamma(4) * size), 0, scale=size, n=n)
        yield equals(gap(moved.weights, balls((asking if own else asked).weights)), 0, scale=1, n=n)


@verifies(
    Claim(
        "markov.multi-head",
        "multi-head attention is the mean of the product of the heads' laws under the output map",
        r"$\sum_h W_O^h \Gamma^h_\mu(x)$ is the barycentre of the image of $\bigotimes_h S^h_\mu(x, \cdot) L^h$ under $(z_h) \mapsto \sum_h W_O^h z_h$",
        spec=("MA.P11",),
        cites=("vaswani2017", *MTA),
        provenance=DERIVED,
    ),
    bug("averaged", "the heads are averaged instead of summed", averaged=True),
    bug(
        "interleaved", "the rows of the matrices are dealt to the heads in turn instead of in blocks", interleaved=True
    ),
    bug("shared", "every head uses the weights of the first", shared=True),
)
def test_multi_head(run, *, averaged=False, interleaved=False, shared=False):
    heads, d_k, d = 2, 2, 3
    for rng in run.streams(run.pick(quick=10, paper=100)):
        n = int(rng.integers(2, 7))
        w_query, w_key, w_value = (rng.normal(size=(heads * d_k, d)) / 2 for _ in range(3))
        w_out = rng.normal(size=(d, heads * d_k))
        mu, x = Measure(rng.normal(size=(n, d)), rng.dirichlet(np.ones(n))), rng.normal(size=(1, d))
        parts = [
            np.arange(h, heads * d_k, heads) if interleaved else np.arange(h * d_k, (h + 1) * d_k) for h in range(heads)
        ]
        laws, images = [], []
        for rows in parts:
            keys = balls(mu.points) @ balls(w_key[rows]).T
            scores = balls(x) @ balls(w_query[rows]).T @ keys.T / balls(d_k).item().sqrt()
            laws.append(textbook.laws(scores, mu.weights)[0])
            images.append(balls(mu.points) @ balls(w_value[rows]).T @ balls(w_out[:, rows]).T)
        second = 0 if shared else 1
        joint = laws[0][:, np.newaxis] * laws[second][np.newaxis, :]  # the product law on pairs of tokens
        sums = images[0][:, np.newaxis, :] + images[second][np.newaxis, :, :]
        claimed = (joint[:, :, np.newaxis] * sums).sum(axis=(0, 1)) * balls(0.5 if averaged else 1.0).item()
        layer = MultiHead.from_matrices(w_query, w_key, w_value, w_out, heads=heads)
        size = float((np.abs(mu.points) @ np.abs(w_value).T @ np.abs(w_out).T).max())
        relative = max(weight_error(*h.projections(x, mu)[:2], h.score, np.log(mu.weights)) for h in layer.heads)
        tilt = float((np.abs(x) @ np.abs(w_query).T @ np.abs(w_key) @ np.abs(mu.points).T).max())
        error = size * heads * (relative + gamma(16) * (1 + 4 * tilt) + gamma(2 * n + 16))
        yield equals(gap(layer(x, mu)[0], claimed, error), 0, scale=size, n=n)


def prefix_scores(times, now, scores, ahead):
    """Rows of scores with what is not seen left out, as a list of (columns, scores)."""
    order = np.unique(times)
    seen = []
    for row, s in zip(scores, now, strict=True):
        limit = order[min(int(np.searchsorted(order, s)) + ahead, order.size - 1)] if np.isfinite(ahead) else np.inf
        columns = np.flatnonzero(times <= limit)
        seen.append((columns, row[columns]))
    return seen


@verifies(
    Claim(
        "markov.causal",
        "the causal mask is a kernel on tokens that carry a time",
        r"$G((s, x), (t, y)) = 1\{t \le s\}\,e^{a(x, y)}$ gives causal attention when every query sees some mass",
        assumptions=("every query sees a token of positive weight",),
        spec=("MA.P11",),
        cites=("vaswani2017",),
        provenance=DERIVED,
    ),
    bug("look-ahead", "a query also sees the next token", ahead=1),
    hypothesis("unmasked", "every query sees every token", ahead=np.inf),
    bug("masked-late", "later tokens are dropped after the softmax, without a new normalisation", late=True),
)
def test_causal(run, *, ahead=0, late=False):
    for rng in run.streams(run.pick(quick=15, paper=150)):
        n, d = int(rng.integers(2, 10)), 2
        times = rng.integers(0, 5, size=n) / 4.0  # unsorted, with ties
        mu = Measure(np.column_stack([times, rng.normal(size=(n, d))]), rng.dirichlet(np.ones(n)))
        x = mu.points[:, 1:]
        scores = textbook.dot_scores(x, x, beta=1)
        claimed = np.empty((n, d), dtype=object)
        for i, (columns, row) in enumerate(prefix_scores(times, times, scores, ahead)):
            claimed[i] = textbook.average(row[np.newaxis], x[columns], mu.weights[columns])[0]
            if late:
                claimed[i] = claimed[i] * textbook.laws(scores[i : i + 1], mu.weights)[0, columns].sum()
        error = rounding(x, x, x, score=PLAIN, key_weights=mu.weights)
        size = float(np.abs(x).max())
        measured = CausalKernel(PLAIN, mu).push(mu).points
        yield equals(gap(measured[:, 1:], claimed, error), 0, scale=size, n=n)
        sequence = attend(x, x, x, score=PLAIN, causal=True)
        claimed = np.empty((n, d), dtype=object)
        index = np.arange(float(n))
        for i, (columns, row) in enumerate(prefix_scores(index, index, scores, ahead)):
            claimed[i] = textbook.average(row[np.newaxis], x[columns])[0]
            if late:
                claimed[i] = claimed[i] * textbook.laws(scores[i : i + 1])[0, columns].sum()
        yield equals(gap(sequence, claimed, rounding(x, x, x, score=PLAIN)), 0, scale=size, n=n)


@verifies(
    Claim(
        "markov.padding",
        "a key of weight zero is absent and a key of weight k is a key written k times",
        r"weights enter the scores as $+\log w_j$",
        spec=("MA.P11",),
        cites=MTA,
        provenance=DERIVED,
    ),
    bug("zero-vector", "a padded token is a zero vector that is still attended to", padded_by_zero=True),
    bug("after", "the weights multiply the softmax without a new normalisation", after=True),
    hypothesis("once", "repetitions are not counted", counted=False),
)
def test_padding(run, *, padded_by_zero=False, after=False, counted=True):
    for rng in run.streams(run.pick(quick=20, paper=200)):
        n = int(rng.integers(3, 12))
        keys, values, x = rng.normal(size=(n, 2)), rng.normal(size=(n, 1)), rng.normal(size=(2, 2))
        copies = rng.integers(0, 4, size=n)
        copies[:2] = (0, 3)
        repeated = np.repeat(np.arange(n), copies if counted else np.minimum(copies, 1))
        written_keys, written_values = keys[repeated], values[repeated]
        if padded_by_zero:
            written_keys = np.concatenate([written_keys, np.zeros((1, 2))])
            written_values = np.concatenate([written_values, np.zeros((1, 1))])
        claimed = textbook.average(textbook.dot_scores(x, written_keys, beta=1), written_values)
        if after:
            claimed = textbook.laws(textbook.dot_scores(x, keys, beta=1)) @ balls(values * copies[:, np.newaxis])
        masses = copies.astype(float)
        measured = attend(x, keys, values, score=PLAIN, key_weights=masses)
        error = rounding(x, keys, values, score=PLAIN, key_weights=masses)
        yield equals(gap(measured, claimed, error), 0, scale=float(np.abs(values).max()), n=n)


@verifies(
    Claim(
        "markov.photograph",
        "what a patch of a photograph attends to is a law, and is the softmax of its scores",
        r"the rows of every head are $\mathrm{softmax}(\beta\langle x_q, x_j\rangle)$ over the patches",
        assumptions=("unit tokens from seeded projections of the patches",),
        spec=("MA.D1", "MA.D2"),
        cites=("vaswani2017",),
        provenance=("seen", "derived"),
    ),
    constant("temperature", "the scores are one per cent too large", factor=1.01),
    bug("wrong-query", "the row of the next patch is shown", shift=1),
)
def test_photograph(run, *, factor=1.0, shift=0):
    table = run.study(studies.attention_map)
    for head in range(studies.HEADS):
        x = studies.unit_tokens(head, run.root)
        query = studies.query_index() + shift
        part = table.where(head=head)
        lo, hi = part["weight.lo"], part["weight.hi"]
        yield equals(Interval(float(np.nextafter(lo.sum(), 0)), float(np.nextafter(hi.sum(), 2))), 1, head=head)
        claimed = textbook.laws(textbook.dot_scores(x[query : query + 1], x, beta=studies.SHARPNESS * factor))[0]
        yield equals(gap((lo + hi) / 2, claimed, (hi - lo)), 0, scale=float(hi.max()), head=head)
