"""The usual variants as kernels: cross-attention, several heads, masks and padding."""

import numpy as np

from theory import Measure, attend
from theory.attention import AttentionKernel, CausalKernel, DotProduct, MultiHead
from theory.evidence import (
    Claim,
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
DERIVED = ("derived", "refereed on paper")
PLAIN = DotProduct(scale=1.0)


@verifies(
    Claim(
        "markov.cross",
        "cross-attention transports the queries in the field of another measure",
        r"$\mu_Q A_{\mu_K} = (\Gamma_{\mu_K})_\# \mu_Q$",
        spec=("MA.P11",),
        cites=MTA,
        source_status=DERIVED,
    ),
    hypothesis("self", "queries and keys come from one measure", swapped=True),
    bug("weights", "the output carries the weights of the keys instead of the queries'", own=False),
)
def test_cross(run, *, swapped=False, own=True):
    value = np.array([[0.5, 1.0], [-1.0, 0.25]])
    for rng in run.draws(quick=20, paper=200):
        n = int(rng.integers(2, 12))
        asking, asked = (Measure(rng.normal(size=(n, 2)), rng.dirichlet(np.ones(n))) for _ in range(2))
        field = asking if swapped else asked
        values = balls(field.points) @ balls(value).T
        claimed = textbook.average(textbook.dot_scores(asking.points, field.points, beta=1), values, field.weights)
        kernel = AttentionKernel(PLAIN, asked, value)
        moved = kernel.push(asking.enclosed())
        size = float(np.abs(kernel.values).max())
        yield equals(moved.points, claimed, scale=size, part="points", n=n)
        masses = balls((asking if own else asked).weights)
        yield equals(moved.law(), masses / masses.sum(), scale=1, part="weights", n=n)


@verifies(
    Claim(
        "markov.multi-head",
        "multi-head attention is the mean of the product of the heads' laws under the output map",
        r"$\sum_h W_O^h \Gamma^h_\mu(x)$ is the barycentre of the image of $\bigotimes_h S^h_\mu(x, \cdot) L^h$ under $(z_h) \mapsto \sum_h W_O^h z_h$",
        spec=("MA.P11", "RA.G6"),
        cites=("vaswani2017", *MTA),
        source_status=DERIVED,
    ),
    constant("averaged", "the sum over the heads is divided by their number", averaged=True),
    bug(
        "interleaved", "the rows of the matrices are dealt to the heads in turn instead of in blocks", interleaved=True
    ),
    bug("shared", "every head uses the weights of the first", shared=True),
)
def test_multi_head(run, *, averaged=False, interleaved=False, shared=False):
    heads, d_k, d = 2, 2, 3
    for rng in run.draws(quick=10, paper=100):
        n = int(rng.integers(2, 7))
        w_query, w_key, w_value = (rng.normal(size=(heads * d_k, d)) / 2 for _ in range(3))
        w_out = rng.normal(size=(d, heads * d_k))
        mu = Measure(rng.normal(size=(n, d)), rng.dirichlet(np.ones(n)))
        x = rng.normal(size=(1, d))
        parts = [
            np.arange(h, heads * d_k, heads) if interleaved else np.arange(h * d_k, (h + 1) * d_k) for h in range(heads)
        ]
        laws, images = [], []
        for rows in parts:
            keys = balls(mu.points) @ balls(w_key[rows]).T
            scores = balls(x) @ balls(w_query[rows]).T @ keys.T / ball(d_k).sqrt()
            laws.append(textbook.laws(scores, mu.weights)[0])
            images.append(balls(mu.points) @ balls(w_value[rows]).T @ balls(w_out[:, rows]).T)
        second = 0 if shared else 1
        joint = laws[0][:, np.newaxis] * laws[second][np.newaxis, :]  # the product law on pairs of tokens
        sums = images[0][:, np.newaxis, :] + images[second][np.newaxis, :, :]
        claimed = (joint[:, :, np.newaxis] * sums).sum(axis=(0, 1)) * ball(0.5 if averaged else 1.0)
        layer = MultiHead.from_matrices(w_query, w_key, w_value, w_out, heads=heads)
        size = float((np.abs(mu.points) @ np.abs(w_value).T @ np.abs(w_out).T).max())
        yield equals(layer(exact(x), mu)[0], claimed, scale=size, n=n)


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
        spec=("MA.P11", "RA.G5"),
        cites=("vaswani2017",),
        source_status=DERIVED,
    ),
    bug("look-ahead", "a query also sees the next token", ahead=1),
    hypothesis("unmasked", "every query sees every token", ahead=np.inf),
    bug("masked-late", "later tokens are dropped after the softmax, without a new normalisation", late=True),
)
def test_causal(run, *, ahead=0, late=False):
    for rng in run.draws(quick=15, paper=150):
        n = int(rng.integers(2, 10))
        d = 2
        times = rng.integers(0, 5, size=n) / 4.0  # unsorted, with ties
        mu = Measure(np.column_stack([times, rng.normal(size=(n, d))]), rng.dirichlet(np.ones(n)))
        x = mu.points[:, 1:]
        scores = textbook.dot_scores(x, x, beta=1)
        claimed = np.empty((n, d), dtype=object)
        for i, (columns, row) in enumerate(prefix_scores(times, times, scores, ahead)):
            claimed[i] = textbook.average(row[np.newaxis], x[columns], mu.weights[columns])[0]
            if late:
                claimed[i] = claimed[i] * textbook.laws(scores[i : i + 1], mu.weights)[0, columns].sum()
        size = float(np.abs(x).max())
        measured = CausalKernel(PLAIN, mu).push(mu.enclosed()).points
        yield equals(measured[:, 1:], claimed, scale=size, part="kernel", n=n)
        sequence = attend(exact(x), x, x, score=PLAIN, causal=True)
        claimed = np.empty((n, d), dtype=object)
        index = np.arange(float(n))
        for i, (columns, row) in enumerate(prefix_scores(index, index, scores, ahead)):
            claimed[i] = textbook.average(row[np.newaxis], x[columns])[0]
            if late:
                claimed[i] = claimed[i] * textbook.laws(scores[i : i + 1])[0, columns].sum()
        yield equals(sequence, claimed, scale=size, part="sequence", n=n)


@verifies(
    Claim(
        "markov.padding",
        "a key of weight zero is absent and a key of weight k is a key written k times",
        r"weights enter the scores as $+\log w_j$",
        spec=("MA.P11",),
        cites=MTA,
        source_status=DERIVED,
    ),
    bug("zero-vector", "a padded token is a zero vector that is still attended to", padded_by_zero=True),
    bug("after", "the weights multiply the softmax without a new normalisation", after=True),
    hypothesis("once", "repetitions are not counted", counted=False),
)
def test_padding(run, *, padded_by_zero=False, after=False, counted=True):
    for rng in run.draws(quick=20, paper=200):
        n = int(rng.integers(3, 12))
        keys = rng.normal(size=(n, 2))
        values = rng.normal(size=(n, 1))
        x = rng.normal(size=(2, 2))
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
        measured = attend(exact(x), keys, values, score=PLAIN, weights=masses)
        yield equals(measured, claimed, scale=float(np.abs(values).max()), part="a few", n=n)
    for p in [inputs.crowded(rng) for rng in run.streams(1)]:
        scores = textbook.dot_scores(p.queries, p.keys, beta=1)
        claimed = textbook.average(scores, p.values, p.masses if counted else None)
        if after:
            claimed = textbook.laws(scores) @ balls(p.values * p.masses[:, np.newaxis])
        copies = np.repeat(np.arange(p.masses.size), p.masses.astype(int))
        measured = attend(exact(p.queries), p.keys[copies], p.values[copies], score=PLAIN)
        yield equals(measured, claimed, scale=p.size, part="a hundred thousand", n=copies.size)
