"""Attention in tiles and splits in low precision: software kernels against balls, for every order and split."""

import math
from fractions import Fraction
from functools import cache
from itertools import pairwise, permutations

import numpy as np

from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    ball,
    balls,
    bug,
    constant,
    equals,
    exact,
    hull,
    hypothesis,
    verifies,
)
from theory.evidence.enclosure import coefficient, variable
from theory.precision import round_to, stream_attention, stream_error, stream_row, studies
from verify import textbook

FORMS = studies.FORMS
WEIGHTS = ("bfloat16", "float16", "e4m3")  # formats to which weights are rounded
FLASH = ("dao2023", "shah2024")
SENTINEL = -1e5
LONG = 1024  # keys up to which rounding weights is nearly all in tiles of 128


def truth(scores, values, sink=None):
    """The output of a row in balls, equal scores taken together; zeros if no key is seen."""
    seen = np.isfinite(scores)
    if not seen.any():
        return balls(np.zeros(values.shape[1]))
    different, at = np.unique(scores[seen], return_inverse=True)
    terms = textbook.exp(balls(different) - different.max())
    sums = [[math.fsum(column[at == k].tolist()) for column in values[seen].T] for k in range(different.size)]
    extra = ball(0) if sink is None else (ball(sink) - different.max()).exp()
    return (terms[:, np.newaxis] * balls(sums)).sum(axis=0) / ((terms * balls(np.bincount(at))).sum() + extra)


def off(found, right):
    """The largest error of a row."""
    return hull(max(abs(balls(found) - right), key=lambda b: b.mid()))


def trees(keys):
    """All ways to merge splits of one key each."""
    if len(keys) == 1:
        yield [list(keys)]
        return
    first, rest = keys[0], keys[1:]
    for chosen in range(2 ** len(rest) - 1):
        left = [first, *(key for k, key in enumerate(rest) if chosen >> k & 1)]
        right = [key for k, key in enumerate(rest) if not chosen >> k & 1]
        for one in trees(left):
            for other in trees(right):
                yield (one, other)


def plans(n):
    """All trees of single keys, all orders of reading one key at a time, and all cuts into tiles, some empty."""
    yield from trees(range(n))
    for order in permutations(range(n)):
        yield [[key] for key in order]
    for cuts in range(2 ** (n - 1)):
        ends = [0, *(k + 1 for k in range(n - 1) if cuts >> k & 1), n]
        yield [[], *(list(range(a, b)) for a, b in pairwise(ends)), []]


@cache
def small_rows(root, count):
    """Rows of a few keys: scores that rise, tie, underflow, are hidden, and lie near minus a hundred thousand."""
    rng = np.random.default_rng([root, 24])
    signs = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    rows = {
        "rising": (np.array([-2.0, -1.375, -0.69, -0.3125, 0.0]), signs),
        "tied": (np.array([0.5, -17.25, 0.5, -0.6893, 0.5]), signs),
        "far": (np.array([-80.0, 0.0, -12.5, -11.0, -10.75]), np.abs(signs)),
        "hidden": (np.array([-np.inf, SENTINEL, -np.inf, SENTINEL + 1.0, SENTINEL - 0.75]), np.sign(signs + 0.5) * 1.5),
        "nothing": (np.full(5, -np.inf), signs),
        "drawn": (rng.integers(-64, 64, 5) / 32.0, rng.integers(-64, 64, (5, 2)) / 64.0),
    }
    exactly = {name: np.float32(scores).astype(np.float64) for name, (scores, _) in rows.items()}
    return {name: (exactly[name][-count:], values[-count:]) for name, (_, values) in rows.items()}


def in_tiles(n, size):
    """Keys in order, some of them in each tile."""
    return [range(a, min(a + size, n)) for a in range(0, n, size)]


def long_rows(run):
    """A name, scores, values, a plan of two splits with hidden keys and an empty tile, and a sink."""
    for k, rng in enumerate(run.draws(quick=3, paper=20)):
        n = 48
        scores = rng.integers(-128, 128, n) / 16.0
        scores[rng.random(n) < 0.2] = -np.inf
        values = rng.integers(-128, 128, (n, 2)) / 128.0
        halves = [range(a, a + 8) for a in range(0, n // 2, 8)], [range(n // 2, n), []]
        yield f"drawn {k}", scores, values, halves, (0.75 if k % 2 else None)


def no_rescale(scores, values, plan):
    """What comes out if sums of earlier tiles are kept as they are when the maximum rises."""
    mass, total, most = 0.0, np.zeros(values.shape[1]), -np.inf
    for tile in flat(plan):
        s = scores[list(tile)]
        most = max(most, s.max(initial=-np.inf))
        if most > -np.inf:
            weights = np.exp(s - most)
            mass, total = mass + weights.sum(), total + weights @ values[list(tile)]
    return total / mass if mass else total


def flat(plan):
    """The tiles of a plan."""
    return [tile for part in plan for tile in flat(part)] if isinstance(plan, tuple) else list(plan)


def rounded_after(scores, values, form):
    """What comes out if weights are rounded after they are divided by their sum."""
    seen = np.isfinite(scores)
    if form not in WEIGHTS or not seen.any():
        return values[seen][:0].sum(axis=0) if not seen.any() else None
    weights = np.exp(scores[seen] - scores[seen].max())
    return round_to(weights / weights.sum(), form) @ values[seen]


@verifies(
    Claim(
        "streaming.forward",
        "attention in tiles is as near as its bound says, whatever the order, the splits and the scores, and the bound is nearly attained",
        r"weights rounded to float64, float32, bfloat16, float16 or E4M3 (times 256) before sums in float32 (float64): $|o - \hat o| \le (E + e^{(2(c + r) + 4)u/(1-u)}(1 + R) - 1)\max_j|v_j|$; $c$ additions and $r$ rises of the maximum on the way of a weight, $E$ from exponentials, $R$ from weights; all trees, orders and tiles of four keys, empty tiles, hidden keys, sinks, $n = 10^5$; some rows reach $0.9$ of it",
        assumptions=(
            "exponentials off by two units in the last place at most, exact at 0, never above 1",
            "the mass sums weights as they were before they were rounded",
            "nothing overflows; scores are exact",
        ),
        spec=("FN.N08",),
        cites=FLASH,
        remark=r"no term grows with the scores: roundings of exponents telescope to $u$ times the distance from the largest score, of which the mean is at most $W((n-1)/e)$",
        source_status=("derived",),
    ),
    constant("nine-tenths", "nine tenths of the bound are enough", share=0.9),
    constant("attained", "the rows reach the bound", reached=1.0),
    bug("no-rescale", "sums are not rescaled when the maximum rises", rescaled=False),
    hypothesis("rounded-after", "weights are rounded after they are divided by their sum", after=True),
    hypothesis("sentinel", "a hidden key and an empty tile have the score -100000", hidden=SENTINEL),
)
def test_forward(run, *, share=1.0, reached=0.9, rescaled=True, after=False, hidden=-math.inf):
    change = {"rescaled": rescaled, "after": after, "hidden": hidden}

    def bounded(error, values, bound, form, **case):
        most = share * (float(np.abs(values).max()) * bound.weights + bound.least)
        return at_most(error, most, part=form, **case)

    table = run.study(studies.stream_errors)
    for row in range(len(table["length"])):
        form, name, length = table["form"][row], table["row"][row], int(table["length"][row])
        error, bound = table.intervals("error")[row], table.intervals("bound")[row]
        yield at_most(error, share * bound, part=form, row=name, length=length)
        if name == "edge" and form in WEIGHTS and length <= LONG:
            yield at_least(error, reached * bound, part=f"edge in {form}", length=length)
    count = run.pick(quick=4, paper=5)
    for form in FORMS:
        bound = stream_error(count + 1, form=form)
        for name, (_, values) in small_rows(run.root, count).items():
            for sink in (None, 0.25):
                error = worst_of_all_plans(run.root, count, form, name, sink, **change)
                yield bounded(error, values, bound, form, row=name, sink=sink)
    for name, scores, values, plan, sink in long_rows(run):
        for form in FORMS:
            bound = stream_error(scores.size + (sink is not None), form=form)
            error = off(computed(scores, values, plan, form, sink, **change), truth(scores, values, sink))
            yield bounded(error, values, bound, form, row=name)
    for name, (scores, values, _, additions) in edges().items():
        form = name.partition(" ")[0]
        bound = stream_error(scores.size, form=form, additions=additions, rises=0)
        error = error_at_edge(name, **change)
        yield bounded(error, values, bound, form, row="edge", length=scores.size)
        least = reached * (float(np.abs(values).max()) * bound.weights)
        yield at_least(error, least, part=f"edge in {form}", length=scores.size)


def computed(scores, values, plan, form, sink, *, rescaled, after, hidden):
    """The output of the kernel, or of one with a mistake."""
    scores = np.where(np.isneginf(scores), hidden, scores)
    if not rescaled:
        return no_rescale(scores, values, plan)
    found = rounded_after(scores, values, form) if after and sink is None else None
    return stream_row(scores, values, plan, form=form, sink=sink) if found is None else found


@cache
def worst_of_all_plans(root, count, form, name, sink, **change):
    """The largest error of a short row over all orders and splits."""
    scores, values = small_rows(root, count)[name]
    found = {tuple(computed(scores, values, plan, form, sink, **change).tolist()) for plan in plans(count)}
    right = truth(scores, values, sink)
    return Interval.largest([off(np.array(one), right) for one in found])


@cache
def error_at_edge(name, **change):
    """The error of a row near the edge."""
    scores, values, plan, _ = edges()[name]
    return off(computed(scores, values, plan, name.partition(" ")[0], None, **change), truth(scores, values))


@cache
def edges():
    """Rows that nearly reach the bound: a key, and others that are rounded in one direction, or get lost beside it."""
    return {
        **{form: (*studies.edge(form, 1024), in_tiles(1024, 128), 134) for form in WEIGHTS},
        **{form: (*studies.edge(form, 1024), [[key] for key in range(1024)], 1023) for form in ("float32", "float64")},
        "float32 long": (*studies.edge("float32", 100_000), [range(100_000)], 99_999),
    }


def dense_scores(queries, keys, scale):
    """Scores in balls, and the largest sum of sizes of products in each row."""
    products = balls(queries)[:, np.newaxis] * balls(keys)[np.newaxis]
    sizes = (np.abs(queries)[:, np.newaxis] * np.abs(keys)[np.newaxis]).sum(axis=2).max(axis=1) * scale
    return products.sum(axis=2) * ball(scale), sizes


@verifies(
    Claim(
        "streaming.heads",
        "with scores computed from queries and keys, the roundings of scores add their largest size, and the output one rounding",
        r"$|o - \hat o| \le \max_j|v_j|(B + \gamma_{d+4}S + u_F(1 + B))$, $S = \max_j\sigma\sum_k|q_kk_{jk}|$, $B$ as in streaming.forward, $\gamma_k = ku/(1 - ku)$; a query that sees no key has the output 0",
        assumptions=("as in streaming.forward", "inputs are numbers of the format"),
        spec=("FN.N08",),
        cites=FLASH,
        source_status=("derived",),
    ),
    hypothesis("exact-scores", "roundings of scores count for nothing", of_scores=0.0),
    hypothesis("unrounded", "the output is not rounded", of_output=0.0),
    bug("unmasked", "the mask is ignored", masked=False),
)
def test_heads(run, *, of_scores=1.0, of_output=1.0, masked=True):
    for form in FORMS:
        for name, (queries, keys, values, mask, scale, sink) in heads(form, run):
            plan = ([range(len(keys) // 2), []], [range(len(keys) // 2, len(keys))])
            shown = mask if masked else None
            found = stream_attention(queries, keys, values, plan, form=form, scale=scale, mask=shown, sink=sink)
            scores, sizes = dense_scores(queries, keys, scale)
            bound = stream_error(len(keys) + (sink is not None), form=form, width=queries.shape[1])
            for k, (row, sees) in enumerate(zip(scores, mask, strict=True)):
                right = weighted(row[sees], values[sees], sink)
                per = bound.weights + of_scores * float(sizes[k]) * bound.scores + of_output * bound.output
                most = float(np.abs(values).max()) * per + bound.least
                yield at_most(off(found[k], right), most, part=form, head=name, query=k)


def weighted(scores, values, sink):
    """The mean of values under balls of scores."""
    if not scores.size and sink is None:
        return balls(np.zeros(values.shape[1]))
    terms = textbook.exp(scores)
    total = sum(terms, ball(0) if sink is None else ball(sink).exp())
    return (terms[:, np.newaxis] * balls(values)).sum(axis=0) / total


def heads(form, run):
    """A name, and queries, keys, values, mask, scale and sink, of which all numbers are in every format."""
    mask = np.ones((3, 8), dtype=bool)
    mask[1] = False
    mask[2, 3:] = False
    for k, rng in enumerate(run.draws(quick=2, paper=10)):
        q, keys, v = (rng.integers(-8, 8, shape) / 8.0 for shape in ((3, 16), (8, 16), (8, 2)))
        yield f"drawn {k}", (q, keys, v, mask, 0.25, 0.75 if k % 2 else None)
    # the second product is lost beside the first
    far, last = (2.0**20, 2.0**-4) if form == "float64" else (64.0, 2.0**-3)
    both, apart = np.ones((1, 2), dtype=bool), np.array([[1.0], [-1.0]])
    yield "cancelling", (np.array([[far, last]]), np.array([[far, 0.0], [far, 2.0**-9]]), apart, both, 1.0, None)
    if form in ("bfloat16", "float16"):
        tie = np.array([[1.0], [1.0 + (2.0**-7 if form == "bfloat16" else 2.0**-10)]])
        yield "mean on a tie", (np.zeros((1, 1)), np.zeros((2, 1)), tie, both, 1.0, None)


def relative(form, n):
    """What rounding loses of weights none of which is subnormal."""
    u = Fraction(1, 2 ** {"bfloat16": 8, "float16": 11, "e4m3": 4}[form])
    return (n - 1) * u / (2 + (n - 1) * (1 + u))


def most_lost(form, n):
    """The closed form of what rounding loses of weights, the largest of which is one."""
    bits, least, power = {"bfloat16": (8, -126, 0), "float16": (11, -14, 0), "e4m3": (4, -6, 8)}[form]
    h = Fraction(2) ** (least - bits - power)
    return max(relative(form, n), (n - 1) * h / (1 + (n - 1) * h))


@verifies(
    Claim(
        "streaming.weights",
        "what rounding loses of unnormalised weights has a closed form, and from 131072 keys on float16 may lose more than bfloat16",
        r"$w_1 = 1$, $0 \le w_j \le 1$: $\sup\sum_j|\mathrm{rd}(w_j) - w_j|/\sum_jw_j = R_F(n) = \max(\frac{(n-1)u}{2+(n-1)(1+u)}, \frac{(n-1)h}{1+(n-1)h})$, $u$ the unit roundoff, $h$ half the least positive number ($2^{-25}$ in float16, $2^{-18}$ in E4M3 times 256); $R_{16}(n) > R_{bf16}(n)$ iff $n \ge 131072$, and the second of the two is the larger in float16 and E4M3 iff $n \ge 16384$",
        assumptions=("round to nearest, ties to even, subnormal numbers kept",),
        spec=("FN.N08",),
        cites=FLASH,
        source_status=("derived",),
    ),
    constant("relative", "weights lose their relative rounding at most", vanishing=False),
    constant("nearer", "weights lose one per cent less", share=0.99),
    hypothesis("unscaled", "weights in E4M3 are not multiplied", power=0),
    constant("one-earlier", "the lengths are one less", less=1),
)
def test_weights(run, *, vanishing=True, share=1.0, power=8, less=0):
    for form in WEIGHTS:
        factor = 2.0 ** (power if form == "e4m3" else 0)
        bits, least = {"bfloat16": (8, -126), "float16": (11, -14), "e4m3": (4, -6)}[form]
        tie, speck = (1.0 + 2.0**-bits) / 2.0, 2.0 ** (least - bits) / (256.0 if form == "e4m3" else 1.0)
        for n in (2, 100, 16385, 131072, 1_000_000):
            claimed = most_lost(form, n) if vanishing else relative(form, n)
            shares = {weight: lost_of(weight, n, factor, form) for weight in (tie, speck, 3 * speck, 0.3, 1.0)}
            for weight, lost in shares.items():
                yield at_most(lost, Interval.exactly(share * claimed), part=f"most in {form}", n=n, weight=weight)
            reached = Interval.largest([shares[tie], shares[speck]])
            yield equals(reached, Interval.exactly(share * claimed), part=f"attained in {form}", n=n)
        for rng in run.draws(quick=1, paper=10):
            weights = np.concatenate([[1.0], np.exp(-rng.exponential(6.0, 4000))])
            lost = exact(np.abs(round_to(factor * weights, form) / factor - weights)).sum() / exact(weights).sum()
            yield at_most(lost, Interval.exactly(most_lost(form, 4001)), part=f"most in {form}", n=4001)
    worse = [n for n in range(131060, 131090) if most_lost("float16", n) > most_lost("bfloat16", n)]
    yield equals(worse[0], 131072 - less, scale=1, part="crossing")
    for form in ("float16", "e4m3"):
        grows = [n for n in range(16370, 16400) if most_lost(form, n) > relative(form, n)]
        yield equals(grows[0], 16384 - less, scale=1, part="growth", form=form)
    table = run.study(studies.stream_errors)
    for form, n, bound in zip(table["form"].tolist(), table["length"].tolist(), table.intervals("bound"), strict=True):
        if form in WEIGHTS:  # what is added for sums in float32, by fewer than n / 64 + 256 additions and rises
            claimed = most_lost(form, n) if vanishing else relative(form, n)
            beside = Fraction(7 * (n // 64 + 256) + 60, 2**24)
            yield at_most(bound, Interval.exactly(share * claimed + beside), part="table", form=form, n=n)
            yield at_least(bound, Interval.exactly(claimed), part="table", form=form, n=n)


def lost_of(weight, n, factor, form):
    """What rounding loses of equal weights beside one that is one, as a part of their sum."""
    coded = Fraction(float(round_to(factor * weight, form))) / Fraction(factor)
    weight = Fraction(weight)
    return Interval.exactly((n - 1) * abs(coded - weight) / (1 + (n - 1) * weight))


@cache
def ways(count, grid):
    """In how many ways so many numbers below the size of the grid have each sum."""
    bits = 16 * count  # as many as hold any of them, in whole bytes
    ones = sum(1 << (bits * k) for k in range(grid))
    digits = (ones**count).to_bytes(bits * (count * grid + 1) // 8, "little")
    return [int.from_bytes(digits[k : k + bits // 8], "little") for k in range(0, len(digits), bits // 8)]


def mean_error(count, rest, form):
    """The mean error of rounding sums of so many numbers of one binade and a small rest, over all of them."""
    bits = {"bfloat16": 8, "float16": 11}[form]
    grid = 2 ** (bits - 1)
    found = ways(count, grid)
    sums = (count * grid + np.arange(len(found))) / grid + rest
    apart = (round_to(sums, form) - sums) / 2.0 ** (-bits - 10)  # exact, and whole
    total = sum(way * int(error) for way, error in zip(found, apart.tolist(), strict=True))
    return Fraction(total, sum(found) * 2 ** (bits + 10))


@verifies(
    Claim(
        "streaming.bias",
        "where several weights equal one, rounding a sum of values of one sign is biased away from zero",
        r"$2^m$ keys of weight 1, values uniform over the numbers of $[1, 2)$ in bfloat16 or float16, a rest $0 < t < 2^{1-b}/4$ of the same sign: the mean of $\mathrm{rd}(x) - x$, $x = \sum v + t$, is $2^{-b} - t$ for $m = 1, 2, 3$ and $-t$ for $m = 0$; without a rest it is $0$ up to $2^{1 - 2b}$",
        assumptions=("round to nearest, ties to even", "b significant bits"),
        spec=("FN.N08",),
        cites=("qiu2025",),
        remark="sums of two numbers of one binade lie on ties half of the time, and a rest decides all of these in one direction",
        source_status=("seen", "derived"),
    ),
    constant("unbiased", "the mean is that of one weight", of_ties=0),
    hypothesis("other-sign", "the rest has the other sign", sign=-1.0),
    constant("half", "the bias is there without a rest", always=True),
)
def test_bias(run, *, of_ties=1, sign=1.0, always=False):
    for form, bits in (("bfloat16", 8), ("float16", 11)):
        unit = Fraction(1, 2**bits)
        for m in range(4):
            for rest in (2.0 ** (-bits - 3), 255.0 * 2.0 ** (-bits - 9)):
                found = mean_error(2**m, sign * rest, form)
                claimed = (of_ties * unit if m else 0) - Fraction(rest)
                measured, claimed = Interval.exactly(found / unit), Interval.exactly(claimed / unit)
                yield equals(measured, claimed, scale=1, part="several" if m else "one", form=form, m=m, rest=rest)
            plain = mean_error(2**m, 0.0, form) - (unit if always and m else 0)
            measured = Interval.exactly(abs(plain) / unit)
            yield at_most(measured, Interval.exactly(2 * unit), scale=1, part="no rest", form=form, m=m)


def by_tiles(case, *, whole=True, own_mean=True, sink_kept=True):
    """Gradients summed over tiles, each of which knows the log-partition and the mean of the whole row."""
    q, k, v, g, sink, sees, tiles = case
    scores = (q @ k.T).ravel()
    terms = np.where(sees, textbook.exp(scores), ball(0))
    total = terms.sum() + (ball(0) if sink is None else ball(sink).exp())
    blind = total == 0
    output = 0 * v[0] if blind else (terms[:, np.newaxis] * v).sum(axis=0) / total
    mean = (g * output).sum()
    grads = {"queries": 0 * q[0], "keys": 0 * k, "values": 0 * v}
    for tile in tiles:
        mass = total if whole else terms[tile].sum()
        p = terms[tile] if blind or mass == 0 else terms[tile] / mass
        reads = v[tile] @ g
        ds = p * (reads - (mean if own_mean else (p * reads).sum()))
        grads["queries"] = grads["queries"] + (ds[:, np.newaxis] * k[tile]).sum(axis=0)
        grads["keys"][tile] = ds[:, np.newaxis] * q[0][np.newaxis]
        grads["values"][tile] = p[:, np.newaxis] * g[np.newaxis]
    if sink is not None:
        grads["sink"] = -(ball(sink).exp() / total if sink_kept else ball(1)) * mean
    return grads


def slope(case, name, move):
    """The derivative of the inner product of the output with g along a move, as a Taylor coefficient."""
    q, k, v, g, sink, sees, _ = case
    t = variable(2)
    if not sees.any():
        return ball(0)
    moved = {"queries": q, "keys": k, "values": v}
    if name != "sink":
        moved[name] = moved[name] + move * t
    terms = textbook.exp((moved["queries"] @ moved["keys"].T).ravel()[sees])
    extra = [] if sink is None else [textbook.exp(ball(sink) + t if name == "sink" else ball(sink))]
    reads = (terms[:, np.newaxis] * moved["values"][sees] * g[np.newaxis]).sum()
    return coefficient(reads / sum(extra, terms.sum()), 1)


@verifies(
    Claim(
        "streaming.backward",
        "gradients are sums over tiles that know the log-partition and the mean of the whole row; a query that sees nothing has none",
        r"$p_j = e^{s_j - L}$, $D = \langle g, o\rangle$: $\partial s_j = p_j(\langle g, v_j\rangle - D)$ in any tile, $\partial v_j = p_jg$, $\partial t = -p_tD$ for a learnable sink of score $t$; all are 0 where no key is seen",
        assumptions=("a sink has the value 0",),
        spec=("FN.N08",),
        cites=FLASH,
        source_status=("recalled", "derived"),
    ),
    hypothesis("own-partition", "each tile knows its own log-partition only", whole=False),
    hypothesis("own-mean", "each tile knows its own mean only", own_mean=False),
    bug("sink-of-one", "the sink's gradient forgets its weight", sink_kept=False),
    bug("values-transposed", "gradients of values are those of a key less", shift=1),
)
def test_backward(run, *, whole=True, own_mean=True, sink_kept=True, shift=0):
    for k, rng in enumerate(run.draws(quick=4, paper=12)):
        q, keys, v, g = (balls(rng.normal(size=shape)) for shape in ((1, 2), (6, 2), (6, 2), (2,)))
        sees = np.array([True, True, True, k % 2 == 0, True, False]) if k < 2 else np.zeros(6, dtype=bool)
        sink = (None, 0.75)[k % 2]
        case = (q, keys, v, g, sink, sees, ([0, 1], [], [2], [3, 4, 5]))
        found = by_tiles(case, whole=whole, own_mean=own_mean, sink_kept=sink_kept)
        found["values"] = np.roll(found["values"], shift, axis=0)
        for name, gradient in found.items():
            shape = np.shape(gradient)
            move = balls(rng.normal(size=shape if shape else 1)) if name != "sink" else balls(np.ones(1))
            along = (np.asarray(gradient, dtype=object).reshape(move.shape) * move).sum()
            yield equals(hull(along), hull(slope(case, name, move)), scale=1, part=name, case=k)
