"""Keys that hold no content: sinks, prefixes, and a last token that is repeated."""

from fractions import Fraction

import numpy as np

from theory.attention import DotProduct, read
from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    ball,
    bug,
    constant,
    equals,
    exact,
    hull,
    hypothesis,
    norm,
    verifies,
)
from theory.precision import stream_attention
from verify import textbook
from verify.textbook import balls

PLAIN = DotProduct(scale=1.0)


def with_scores(queries, keys, more):
    """Queries and keys, some of them added with the same scores for every query."""
    q = np.concatenate([queries, np.ones((len(queries), 1))], axis=1)
    k = np.concatenate([keys, np.zeros((len(keys), 1))], axis=1)
    extra = np.concatenate([np.zeros((len(more), keys.shape[1])), np.asarray(more)[:, np.newaxis]], axis=1)
    return q, np.concatenate([k, extra])


def masses(scores):
    """Sums of exponentials of rows, in balls."""
    return textbook.exp(balls(scores) if scores.dtype != object else scores).sum(axis=1)


@verifies(
    Claim(
        "sink.learnable",
        "a sink without value multiplies the output by a gate, the logistic function of the log-partition less its score",
        r"$o' = (1 - p_t)o$, $1 - p_t = \frac1{1 + e^{t - L}}$, $L = \log\sum_je^{s_j}$",
        assumptions=("the sink has the score t for the query, and the value 0",),
        spec=("FN.N13",),
        cites=("xiao2024", "miller2023"),
        source_status=("recalled", "derived"),
    ),
    hypothesis("has-value", "the sink's value is a tenth in each coordinate", value=0.1),
    bug("twice", "the sink counts twice", count=2),
    constant("no-partition", "the gate is the logistic function of minus the score", partition=0),
)
def test_learnable(run, *, value=0.0, count=1, partition=1):
    for rng in run.draws(quick=8, paper=60):
        m, n, d = int(rng.integers(1, 4)), int(rng.integers(1, 9)), int(rng.integers(1, 4))
        q, k, v = rng.normal(size=(m, d)), rng.normal(size=(n, d)), rng.normal(size=(n, 2))
        t = float(rng.normal()) * 2.0
        seen = with_scores(q, k, [t] * count)
        found = read(*map(exact, seen), exact(np.concatenate([v, np.full((count, 2), value)])), score=PLAIN).output
        plain = read(exact(q), exact(k), exact(v), score=PLAIN)
        total = masses(textbook.dot_scores(q, k, power=0.0))
        share = hull(total / (total + ball(t).exp()))
        yield equals(found, plain.output * share[:, np.newaxis], scale=1, part="share")
        gate = 1 / (1 + np.exp(t - partition * plain.log_partition))
        yield equals(gate, share, scale=1, part="gate")


def forced_cases():
    """Name, values, weights of the content, and the least component of values along the first axis."""
    far = np.array([[0.5, 2.0], [0.5, -2.0], [3.0, 0.0]])
    yield "nearest point", far, np.array([0.5, 0.5, 0.0]), 0.5
    yield "elsewhere", far, np.array([0.25, 0.25, 0.5]), 0.5
    yield "one value", np.array([[0.75, 0.0]]), np.array([1.0]), 0.75
    yield "many", np.stack([np.full(64, 0.25), np.linspace(-1.0, 1.0, 64)], axis=1), np.full(64, 1.0 / 64.0), 0.25


@verifies(
    Claim(
        "sink.forced",
        "an output as small as a part of the distance of zero from the hull of values needs a sink; values around zero need none",
        r"$\langle u, v_j\rangle \ge \delta$ for all keys with content, $|u| = 1$, other values 0: $|o| \le \varepsilon$ implies $p_\mathrm{content} \le \frac\varepsilon\delta$, and equality occurs; of $v$ and $-v$, with weights one half, the output is 0 and $p_\mathrm{content} = 1$; weights $\max(s_j, 0)$ that are not normalised give 0 at scores below 0",
        assumptions=("one head", "the largest such delta is the distance of zero from the convex hull of values"),
        spec=("FN.N13",),
        cites=("ranmilo2026",),
        remark="a bound by lengths of values, or by the least singular value of a value matrix times lengths of tokens, is not one: tokens may cancel",
        source_status=("derived",),
    ),
    constant("half", "it is at most half of it", share=0.5),
    hypothesis("lengths", "values of length at least delta suffice", lengths=True),
    bug("uneven", "the weights of opposite values are a quarter and three", uneven=0.25),
    bug("positive", "scores are above zero", sign=1.0),
)
def test_forced(run, *, share=1.0, lengths=False, uneven=0.5, sign=-1.0):
    for name, values, weights, delta in forced_cases():
        for content in (0.125, 0.5, 0.9375, 1.0):
            output = norm(content * (exact(weights) @ exact(values)))
            yield at_most(Interval.exactly(content), share * output / delta, part="bound", case=name, content=content)
            if name in ("nearest point", "one value", "many"):
                yield at_least(
                    Interval.exactly(content), (2 - share) * output / delta * (1 - 1e-12), part="attained", case=name
                )
    for rng in run.draws(quick=8, paper=40):
        v = np.abs(rng.normal(size=(5, 3))) + np.array([0.5, -1.0, 0.0])
        law = read(*map(exact, with_scores(rng.normal(size=(1, 3)), rng.normal(size=(5, 3)), [0.5])), np.eye(6),
                   score=PLAIN).output[0]  # fmt: skip
        content = 1 - law[5]
        output = norm((law[:5, np.newaxis] * v).sum(axis=0))
        yield at_most(content, share * output / float(v[:, 0].min()), scale=1, part="bound", case="drawn")
        opposite = np.array([uneven, 1.0 - uneven])
        pair = np.stack([v[0], -v[0]])
        left = norm(exact(opposite) @ exact(pair))
        yield equals(left, 0, scale=1, part="free")
        if lengths:
            yield at_most(
                Interval.exactly(1), left / float(np.linalg.norm(v[0])), scale=1, part="bound", case="opposite"
            )
        scores = sign * np.abs(rng.normal(size=5))
        yield equals(norm(exact(np.maximum(scores, 0.0)) @ exact(v)), 0, scale=1, part="unnormalised")


def prefixed(q, k, v, key, value):
    """Outputs with a prefix and without, the share of the prefix and its own output, the last two in balls."""
    both = read(exact(q), exact(np.concatenate([key, k])), exact(np.concatenate([value, v])), score=PLAIN).output
    plain = read(exact(q), exact(k), exact(v), score=PLAIN).output
    scores = textbook.dot_scores(q, key, power=0.0)
    own, content = masses(scores), masses(textbook.dot_scores(q, k, power=0.0))
    return both, plain, hull(own / (own + content)), hull(textbook.average(scores, value))


@verifies(
    Claim(
        "sink.prefix",
        "a prefix mixes: ratios of weights inside the content stay, while outputs of two queries may change their order, and the direction of a prefix of two tokens depends on the query",
        r"$o' = (1 - \alpha)o + \alpha b$, $\alpha = \frac{Z_p}{Z_p + Z_c}$, $b$ the output of the prefix alone; $p_j' = (1 - \alpha)p_j$ in the content; $o_1 - o_2 \ge 0.3$ and $o_1' - o_2' \le -0.2$ for some queries and one token before; $\det(b_1, b_2) \ge 0.7$ for a prefix of two tokens",
        assumptions=("one layer, keys and values of the content as they were",),
        spec=("FN.N15",),
        cites=("petrov2024",),
        remark="the source says that outputs can only be biased in a fixed direction: fixed for one token before, for more the span of their values; and what is left of the content shrinks",
        source_status=("seen", "derived"),
    ),
    bug("added", "the prefix is added, and the content keeps its weight", shrinks=False),
    hypothesis("reorders", "ratios of weights inside the content change with the prefix", moved=1.25),
    constant("keeps-order", "outputs keep their order", swapped=-1.0),
    constant("one-direction", "b does not depend on the query", turns=False),
)
def test_prefix(run, *, shrinks=True, moved=1.0, swapped=1.0, turns=True):
    for rng in run.draws(quick=8, paper=60):
        n, d, count = int(rng.integers(2, 9)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
        q, k, key = rng.normal(size=(3, d)), rng.normal(size=(n, d)), rng.normal(size=(count, d))
        v, value = rng.normal(size=(n, 2)), rng.normal(size=(count, 2))
        both, plain, alpha, own = prefixed(q, k, v, key, value)
        alpha = alpha[:, np.newaxis]
        yield equals(both, (1 - alpha if shrinks else 1.0) * plain + alpha * own, scale=1, part="mixture")
        seen, law, _, _ = prefixed(q, k, np.eye(n), key, np.zeros((count, n)))
        ratios = (seen[:, 1:] * law[:, :1] * moved) - (seen[:, :1] * law[:, 1:])
        yield equals(ratios, 0, scale=1, part="ratios")
    q, k = np.array([[1.0, 4.0], [-1.0, -4.0]]), np.array([[1.0, 0.0], [-1.0, 0.0]])
    both, plain, _, _ = prefixed(q, k, np.array([[0.75], [0.25]]), np.array([[0.0, 0.75]]), np.zeros((1, 1)))
    yield at_least(plain[0, 0] - plain[1, 0], 0.3, part="order")
    yield at_least(swapped * (both[1, 0] - both[0, 0]), 0.2, part="order")
    key = np.array([[2.0, 0.0], [-2.0, 0.0]])
    _, _, _, own = prefixed(q, k, np.eye(2), key, np.eye(2))
    area = own[0, 0] * own[1, 1] - own[0, 1] * own[1, 0]
    yield at_least(area if turns else 0 * area, 0.7, part="direction")


def nearest(x, bits):
    """The nearest number of so many significant bits to a positive fraction, ties to even."""
    place = x.numerator.bit_length() - x.denominator.bit_length()
    place -= Fraction(2) ** place > x
    unit = Fraction(2) ** (place - bits + 1)
    return round(x / unit) * unit


@verifies(
    Claim(
        "sink.repeated",
        "when the last token is repeated, one more moves the output by 1/n squared, and outputs coincide in bfloat16 from 512 tokens on for each token of content, in float16 from 4096",
        r"Z tokens of value 0, then k of value 1, equal scores: $o_k = \frac k{k + Z}$, $o_{k+1} - o_k = \frac Z{(k+Z)(k+Z+1)}$; rounded to b bits outputs are 1 for all $k + Z \ge 2^{b+1}Z$ and not for $k + Z = 2^{b+1}Z - 1$",
        assumptions=("one layer without positions", "the output is rounded once, to nearest, ties to even"),
        spec=("FN.N15",),
        cites=("barbero2024",),
        remark="differences fall below half a unit long before: from 22 repetitions on in bfloat16",
        source_status=("seen", "derived"),
    ),
    bug("square", "one more moves it by Z over the square", less=1),
    constant("small-difference", "outputs coincide once they differ by less than half a unit", early=True),
    constant("one-earlier", "one token fewer is enough", fewer=1),
)
def test_repeated(run, *, less=0, early=False, fewer=0):
    for content in (1, 3):
        for k in (1, 10, 300):
            pair = []
            for count in (k, k + 1):
                values = np.concatenate([np.zeros((content, 1)), np.ones((count, 1))])
                points = np.zeros((len(values), 1))
                pair.append(read(exact(points[:1]), exact(points), exact(values), score=PLAIN).output[0, 0])
            claimed = Fraction(content, (k + content) * (k + content + 1 - less))
            yield equals(k * k * (pair[1] - pair[0]), Interval.exactly(k * k * claimed), part="difference", k=k)
        for form, bits in (("bfloat16", 8), ("float16", 11)):
            whole = 2 ** (bits + 1) * content - fewer
            start = next(k for k in range(1, 10**4) if k * k * 2 ** -(bits + 1) > content) if early else whole - content
            apart = [k for k in range(start, start + 64) if nearest(Fraction(k, k + content), bits) != 1]
            yield equals(len(apart), 0, scale=1, part="coincide", form=form, content=content)
            far = nearest(Fraction(10**9 * content, 10**9 * content + content), bits)
            yield equals(Interval.exactly(far), 1, part="coincide", form=form, content=content, k=10**9)
            before = nearest(Fraction(whole - content - 1, whole - 1), bits)
            yield equals(Interval.exactly((1 - before) * 2**bits), 1 + fewer, part="last", form=form, content=content)
    for count in (510 - fewer, 511 - fewer, 2000):
        values = np.concatenate([np.zeros((1, 1)), np.ones((count, 1))])
        zeros = np.zeros((len(values), 1))
        found = stream_attention(zeros[:1], zeros, values, [range(len(values))], form="bfloat16")[0, 0]
        right = 1.0 if count >= 511 - fewer else 1.0 - 2.0**-8
        yield equals(Interval.exactly(float(found)), right, part="kernel", count=count)
