"""Gradients of attention in tiles, and what keeps the bits of its output: software kernels against balls."""

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
    hull,
    hypothesis,
    verifies,
)
from theory.precision import (
    gradient_error,
    gradient_tolerance,
    pass_error,
    round_to,
    slope_power,
    stream_attention,
    stream_error,
    stream_gradients,
    stream_logarithm,
    stream_row,
)
from verify import textbook

FLASH = ("dao2023", "shah2024")
BITS = {"float64": 53, "float32": 24, "bfloat16": 8, "float16": 11}


def in_balls(case):
    """Logarithms, means, gradients of queries, keys and values, and what a bound needs, by the definition."""
    q, k, v, g, mask, scale, sink = case
    dq, dk, dv = (balls(np.zeros_like(part)) for part in (q, k, v))
    logs, means, spread = [], [], 0.0
    for i, sees in enumerate(mask):
        if not sees.any():
            logs.append(ball(0))
            means.append(ball(0))
            continue
        scores = balls(k[sees]) @ balls(q[i]) * ball(scale)
        top = max(scores, key=lambda score: score.mid())
        terms = textbook.exp(scores - top)
        total = terms.sum() + (ball(0) if sink is None else (ball(sink) - top).exp())
        p = terms / total
        reads = balls(v[sees]) @ balls(g[i])
        ends = [*reads, *([] if sink is None else [ball(0)])]
        spread = max(spread, max(hull(a - b).hi for a in ends for b in ends) / 2)
        mean = (p * reads).sum()
        ds = p * (reads - mean)
        dq[i] = ball(scale) * (ds[:, np.newaxis] * balls(k[sees])).sum(axis=0)
        dk[sees] = dk[sees] + ball(scale) * ds[:, np.newaxis] * balls(q[i])[np.newaxis]
        dv[sees] = dv[sees] + p[:, np.newaxis] * balls(g[i])[np.newaxis]
        logs.append(top + total.log())
        means.append(mean)
    return logs, means, spread, {"queries": dq, "keys": dk, "values": dv}


def saved(case, form, logs):
    """What a forward pass saves: logarithms that are rounded, and means of outputs that are rounded."""
    q, k, v, g, mask, scale, sink = case
    kind = np.float64 if form == "float64" else np.float32
    outputs = stream_attention(q, k, v, [range(len(k))], form=form, scale=scale, mask=mask, sink=sink)
    means = [
        sum(float(a) * float(b) for a, b in zip(row, slope, strict=True)) for row, slope in zip(outputs, g, strict=True)
    ]
    return np.array([float(kind(float(one.mid()))) for one in logs]), np.array([float(kind(one)) for one in means])


def ways(form, root, count):
    """A name, and queries, keys, values, slopes, mask, scale and sink, of numbers of the format."""
    mask = np.ones((3, 8), dtype=bool)
    mask[1] = False
    mask[2, 3:] = False
    for i in range(count):
        rng = np.random.default_rng([root, i])
        shapes = ((3, 4), (8, 4), (8, 2), (3, 2))
        q, k, v, g = (rng.integers(-8, 8, shape) / 8.0 for shape in shapes)
        yield f"drawn {i}", (q, k, v, g, mask, 0.5, 0.75 if i % 2 else None)
    unit, one = 2.0 ** -BITS[form], np.ones((1, 1))
    both = np.ones((1, 2), dtype=bool)
    yield "mean on a tie", (0 * one, np.ones((2, 1)), np.array([[1.0], [1.0 + 2.0 * unit]]), one, both, 1.0, None)
    apart = np.array([[0.0, 1.0], [0.0, -1.0]])
    slopes = np.array([[1.0, unit], [-1.0, -unit]])
    yield "slopes on a tie", (np.array([[1.0, 0.0]]), apart, slopes, np.ones((1, 2)), both, 1.0, None)
    three = np.ones((1, 3), dtype=bool)
    yield "thirds", (one, np.zeros((3, 1)), np.array([[1.0], [0.5], [-1.0]]), one, three, 1.0, None)
    yield "shifted", shifted(form)


def shifted(form):
    """Two equal keys with large scores, of which the logarithm is off by a part of one."""
    far = 2.0**25 if form == "float64" else 2.0**10
    one = np.ones((1, 1))
    return far * one, np.full((2, 1), far), np.array([[1.0], [-1.0]]), one, np.ones((1, 2), dtype=bool), 1.0, None


@cache
def computed(form, name, root, count):
    """The case, what is saved and how far it is off, the largest sizes, and gradients found and right."""
    case = dict(ways(form, root, count))[name]
    q, k, v, g, mask, scale, _ = case
    logs, means, spread, right = in_balls(case)
    partitions, rounded = saved(case, form, logs)
    away = hull(max((abs(ball(a) - b) for a, b in zip(partitions, logs, strict=True)), key=lambda b: b.mid())).hi
    eta = hull(max((abs(ball(a) - b) for a, b in zip(rounded, means, strict=True)), key=lambda b: b.mid())).hi
    size = float((np.abs(g)[:, np.newaxis] * np.abs(v)[np.newaxis]).sum(axis=2).max())
    plan = ([range(len(k) // 2), []], [range(len(k) // 2, len(k))])
    found = stream_gradients(q, k, v, g, partitions, rounded, plan, form=form, scale=scale, mask=mask)
    return case, (partitions, rounded), (away, eta, size, spread), found, right


def factors_of(case):
    """What the bounds of each gradient are multiplied by."""
    q, k, _, g, _, scale, _ = case
    return {"queries": scale * np.abs(k).max(), "keys": scale * np.abs(q).max(), "values": np.abs(g).max()}


def furthest(found, right):
    """The largest error of a coordinate."""
    return hull(max(np.abs(balls(found) - right).ravel(), key=lambda b: b.mid()))


@verifies(
    Claim(
        "streaming.gradients",
        "gradients in tiles are as near as their bound says; of what is saved the logarithm costs a part of its size and the mean all of its error",
        r"$L$, $D$ saved up to $\lambda$, $\eta$; $B = \max\sum_k|g_kv_{jk}|$, $T$ half the range of $r_j = \langle g, v_j\rangle$, $a = (1+u)\lambda - \log(1 - 4u)$, $\epsilon = e^an^u - 1$, $\delta = (1+u)(\gamma_eB + \eta) + 2uT$, $E = \epsilon(2T + \delta) + \delta$, $Z = (1 + u)(T + E)$, $u' = \frac{u_F}{1 + u_F}$: per query $|\hat\partial_q - \partial_q| \le \sigma\max|k|(E + u(T + E) + u'Z + \gamma_{n+2}(1 + u')Z)$, over $m$ queries $\partial_k$ by $m$ times the same with $\sigma\max|q|$ and $\gamma_{m+2}$, and $|\hat\partial_v - \partial_v| \le m\max|g|(e^a - 1 + u'e^a + \gamma_m(1 + u')e^a)$, up to underflow; a query that sees nothing moves nothing; two keys with scores $2^{20}$ lose a twentieth of the gradient of values in float32",
        assumptions=(
            "exponentials off by two units in the last place at most",
            "weights and slopes of scores are rounded to the format (not in float32 and float64) before they meet keys, queries and slopes",
            "nothing overflows; scores of the instances are exact",
        ),
        spec=("FN.N08",),
        cites=FLASH,
        remark="the forward pass has no term that grows with scores; the backward pass has, as the logarithm is saved as one number",
        source_status=("derived",),
    ),
    hypothesis("exact-mean", "the mean that is saved is not off", of_mean=0.0),
    hypothesis("exact-logarithm", "the logarithm that is saved is not off", of_log=0.0),
    hypothesis("unrounded", "weights and slopes of scores are not rounded to the format", rounds=False),
    bug("unmasked", "the mask is ignored", masked=False),
    hypothesis(
        "no-shift", "the logarithm of the shifted row is saved as exactly as that of the row at zero", shift=False
    ),
)
def test_gradients(run, *, of_mean=1.0, of_log=1.0, rounds=True, masked=True, shift=True):
    count = run.pick(quick=2, paper=10)
    for form in BITS:
        for name, _ in ways(form, run.root, count):
            case, (partitions, means), (away, eta, size, spread), found, right = computed(form, name, run.root, count)
            q, k, v, g, mask, scale, sink = case
            if not masked:
                found = stream_gradients(q, k, v, g, partitions, means, [range(len(k))], form=form, scale=scale)
            used = form if rounds else "float32"
            bound = gradient_error(
                len(k) + (sink is not None), len(q), form=used, depth=v.shape[1], size=size, spread=spread,
                partition=of_log * away, mean=of_mean * eta,
            )  # fmt: skip
            for part, factor in factors_of(case).items():
                if not factor:  # keys or queries that are zero
                    continue
                off = furthest(getattr(found, part), right[part])
                yield at_most(off, float(factor) * getattr(bound, part), part=part, form=form, case=name)
            for i in np.flatnonzero(~mask.any(axis=1)):
                moved = Interval.exactly(float(np.abs(found.queries[i]).max()))
                yield equals(moved, 0.0, scale=1, part="blind", form=form, case=name)
    for form in ("float32", "bfloat16"):
        q, k, v, g, mask, scale, sink = shifted(form)
        case = q if shift else 0 * q, k, v, g, mask, scale, sink
        logs, _, _, right = in_balls(case)
        found = stream_gradients(*case[:4], *saved(case, form, logs), [[0, 1]], form=form, scale=scale)
        yield at_least(furthest(found.values, right["values"]), 0.05 * 0.5, part="shift", form=form)


def of_both(form, root, count):
    """A name, and what there is in a case: those above, and heads whose scores are not exact."""
    yield from ways(form, root, count)
    for i in range(count):
        rng = np.random.default_rng([root, i, 1])
        shapes = ((3, 8), (24, 8), (24, 4), (3, 4))
        q, k, v, g = (round_to(rng.normal(size=shape), form) for shape in shapes)
        mask = rng.random((3, 24)) < 0.8
        yield f"head {i}", (q, k, v, g, mask, 0.375, 0.5 if i % 2 == 0 else None)


def kept(case, form, plan, keys=slice(None)):
    """What a kernel saves of its own forward pass over these keys: logarithms, and means of its rounded outputs."""
    q, k, v, g, mask, scale, sink = case
    kind = np.float64 if form == "float64" else np.float32
    k, v, mask = k[keys], v[keys], mask[:, keys]
    outputs = stream_attention(q, k, v, plan, form=form, scale=scale, mask=mask, sink=sink).astype(kind)
    means = np.add.accumulate(g.astype(kind) * outputs, axis=1)[:, -1]
    products = q.astype(kind)[:, np.newaxis] * k.astype(kind)[np.newaxis]
    scores = np.add.accumulate(products, axis=2)[:, :, -1] * kind(scale)
    rows = np.where(mask, scores, -np.inf).astype(float)
    logs = np.array([stream_logarithm(row, plan, form=form, sink=sink) for row in rows])
    return logs, means.astype(float)


def right_of_sink(sink, logs, means):
    """The gradient of a sink, in balls."""
    return -sum((ball(sink) - log).exp() * mean for log, mean in zip(logs, means, strict=True))


def of_sink(sink, logs, means, form):
    """The gradient of a sink, as a kernel computes it."""
    kind = np.float64 if form == "float64" else np.float32
    gaps = [float(kind(sink) - kind(one)) for one in logs]
    weights = np.array([float(ball(gap).exp().mid()) for gap in gaps]).astype(kind)
    return float(-np.add.accumulate(weights * means.astype(kind))[-1])


def sizes_of(case, spread, of_mean=1.0, of_scores=1.0):
    """What bounds of gradients need of a case, and the largest score."""
    q, k, v, g, _, scale, sink = case
    slopes, score = np.abs(g), max(float((scale * np.abs(q) @ np.abs(k).T).max()), abs(sink or 0.0))
    sizes = {
        "size": float((slopes[:, np.newaxis] * np.abs(v)[np.newaxis]).sum(axis=2).max()), "spread": spread,
        "reach": of_mean * float((slopes * np.abs(v).max(axis=0)).sum(axis=1).max()),
        "slope": of_mean * float(slopes.sum(axis=1).max()), "score": of_scores * score,
    }  # fmt: skip
    return sizes, score


@cache
def passed(form, name, root, count, own_tile):
    """The case, what its own forward pass has saved, gradients that were computed and rounded, and what is right."""
    case = dict(of_both(form, root, count))[name]
    k, mask = case[1], case[4]
    half = (len(k) + 1) // 2
    plan = ([range(half), []], [range(half, len(k))])
    logs, means = kept(case, form, plan)
    if own_tile:  # of each row what the last tile with a key that it sees has saved
        parts = [kept(case, form, [range(len(part))], part) for part in (np.arange(half), np.arange(half, len(k)))]
        for (own, mean), part in zip(parts, (slice(half), slice(half, None)), strict=True):
            sees = mask[:, part].any(axis=1) & (own >= own.max() - 16.0)
            logs, means = np.where(sees, own, logs), np.where(sees, mean, means)
    seen = np.isfinite(logs)
    logs = np.where(seen, logs, 0.0)
    return case, plan, (logs, means), in_balls(case)


@verifies(
    Claim(
        "streaming.passes",
        "gradients of a kernel that saves what its own forward pass computed, and rounds them, are as near as format, lengths and sizes of its inputs say",
        r"$|\hat L - L| \le \ell + u(1 + \gamma_{d+4})S + \gamma_{d+4}S$ with $\ell = a_r + (5u + 4u^2)(\log n + a_r)$, $a_r = A + \frac{u(A + W((n-1)/e))}{1 - u} + \frac{(c + r)u}{1 - u}$, $S = \max_j\sigma\sum_k|q_kk_{jk}|$ or the size of a sink if that is more; with $\Lambda = (1 + u)(\ell + (u(1 + \gamma_{d+4}) + 2\gamma_{d+4})S)$, $H = \sum_k|g_k|t_k$ for outputs that are off by at most $t_k$, $\eta = H + \gamma_e(B + H)$ and $\delta, E$ as in streaming.gradients, $\epsilon = e^\Lambda\frac{n^u}{1 - 4u} - 1$: rounded gradients are off by at most $\sigma\max|k|(E + c_q(T + E))$, $m\sigma\max|q|(E + c_k(T + E))$, $m\max|g|(e^\Lambda(1 + c_v) - 1)$, that of a sink by $m((e^\Lambda(1 + c_v) - 1)(2T + \eta) + \eta)$, up to underflow, in float64, float32, bfloat16 and float16",
        assumptions=(
            "exponentials and logarithms off by two units in the last place at most",
            "one number is saved of a row, its logarithm; means are taken of slopes and rounded outputs",
            r"where scores are exact (the logarithm is then off by at most $\ell + uS$, of which nine tenths are not enough) or $d$ products and sums",
            "sums in float32 (float64 for that format); nothing overflows",
        ),
        spec=("FN.N08",),
        cites=FLASH,
        remark="reference/tolerances.json has the constants for lengths and widths in use",
        source_status=("derived",),
    ),
    hypothesis("exact-mean", "means are those of outputs that were not rounded", of_mean=0.0),
    hypothesis("exact-logarithm", "scores do not count", of_scores=0.0),
    constant("nine-tenths", "nine tenths of what exact scores cost a logarithm", share=0.9),
    hypothesis("unrounded", "outputs, weights and gradients are not rounded to the format", rounds=False),
    bug("own-tile", "a row takes the logarithm and the mean of the last tile that it sees", own_tile=True),
    bug("unmasked", "the mask is ignored in the backward pass", masked=False),
)
def test_passes(run, *, of_mean=1.0, of_scores=1.0, share=1.0, rounds=True, own_tile=False, masked=True):
    count = run.pick(quick=2, paper=8)
    for form in BITS:
        for name, _ in of_both(form, run.root, count):
            case, plan, (logs, means), (right_logs, right_means, spread, right) = passed(
                form, name, run.root, count, own_tile
            )
            q, k, v, g, mask, scale, sink = case
            own = {} if not masked else {"mask": mask}
            found = stream_gradients(q, k, v, g, logs, means, plan, form=form, scale=scale, **own)
            sizes, score = sizes_of(case, spread, of_mean, of_scores)
            shape = len(k) + (sink is not None), len(q)
            used = form if rounds else "float64" if form == "float64" else "float32"
            bound = gradient_tolerance(*shape, form=used, width=q.shape[1], depth=v.shape[1], **sizes)
            least = Interval.exactly(3 * 2.0**-118 if form != "float16" else 2.0**-24)
            for part, factor in factors_of(case).items():
                if not factor:  # keys or queries that are zero
                    continue
                off = furthest(round_to(getattr(found, part), form), right[part])
                yield at_most(off, float(factor) * getattr(bound, part) + least, part=part, form=form, case=name)
            for i in np.flatnonzero(~mask.any(axis=1)):
                moved = Interval.exactly(float(np.abs(found.queries[i]).max()))
                yield equals(moved, 0.0, scale=1, part="blind", form=form, case=name)
            parts = pass_error(*shape, form=form, depth=v.shape[1])
            heads = stream_error(shape[0], form=form, width=q.shape[1])
            u = 2.0 ** -(53 if form == "float64" else 24)
            inexact = heads.scores if name.startswith("head") else 0.0
            away = of_scores * score * (share * u * (1 + inexact) + inexact)
            for i in np.flatnonzero(mask.any(axis=1)):
                off = hull(abs(ball(logs[i]) - right_logs[i]))
                yield at_most(off, parts.logarithm + away, part="logarithm", form=form, case=name)
            if sink is not None:
                truth = right_of_sink(sink, right_logs, right_means)
                off = hull(abs(ball(of_sink(sink, logs, means, form)) - truth))
                yield at_most(off, sink_bound(bound, parts, forward_error(heads, sizes), sizes, len(q)), part="sink")


def of_eight(root, count):
    """A name, and queries, keys, values, slopes, mask, scale and sink of numbers in E4M3."""
    for i in range(count):
        rng = np.random.default_rng([root, i, 2])
        shapes = ((3, 8), (24, 8), (24, 4), (3, 4))
        q, k, v, g = (round_to(rng.normal(size=shape), "e4m3") for shape in shapes)
        mask = rng.random((3, 24)) < 0.8
        mask[1] = False
        yield f"head {i}", (q, k, v, g, mask, 0.375, 3.0 if i % 2 == 0 else None)
        yield f"large head {i}", (q, k, 64.0 * v, 64.0 * g, mask, 0.375, 3.0 if i % 2 == 0 else None)
    one, across = np.ones((1, 1)), np.array([[0.0, 1.0]])
    for name, length, size in (("halves", 2, 1.0), ("many", 128, 0.125)):  # of equal scores
        signs = np.where(np.arange(length) % 2, -1.0, 1.0)[:, np.newaxis]
        seen = np.ones((1, length), dtype=bool)
        yield name, (across, signs * [[1.0, 0.0]], size * signs, one, seen, 1.0, None)
    length = 28  # weights of one and just above 17/32, which E4M3 rounds up; values hardly differ
    keys, values = np.ones((length, 2)) * [[1.0, -1.0]], np.ones((length, 1))
    keys[0, 1], values[0] = 0.0, 0.9375
    for name, sink in (("near", None), ("near with sink", 0.0)):
        yield name, (across, keys, values, one, np.ones((1, length), dtype=bool), -np.log(0.5313), sink)


@cache
def passed_in_eight(name, root, count):
    """The case, its plan, what its forward pass has saved, and what is right."""
    case = dict(of_eight(root, count))[name]
    length = len(case[1])
    half = (length + 1) // 2
    plan = [range(length)] if name.startswith("near") else ([range(half), []], [range(half, length)])
    logs, means = kept(case, "e4m3", plan)
    return case, plan, np.where(np.isfinite(logs), logs, 0.0), means, in_balls(case)


@verifies(
    Claim(
        "streaming.eight-bits",
        "gradients with weights and slopes of scores in E4M3 are as near as their bound says, if slopes are scaled by half the range of what they read",
        r"as in streaming.passes, but weights times $256$ and slopes of scores times $2^k$ are rounded to E4M3, what exceeds $448$ becomes $448$, and outputs and gradients are in bfloat16. With $2^k$ the largest power of two with $2^kT \le 896$ (and $k \le 100$): $|p_j(r_j - D)| \le \frac T2$, so cutting takes nothing away, and the bounds of streaming.passes hold with $u' = \frac1{17}$, $v = 2^{-8}$, $\frac54n2^{-10}\frac T{448}$ added to those of queries and keys per unit of $\sigma\max|k|$ and $m\sigma\max|q|$, and $2^{-18}$ to $\frac{1 + u'}{1 - 4u}$ in $c_v$; a row comes within a tenth of it",
        assumptions=(
            "exponentials and logarithms off by two units in the last place at most",
            "one number is saved of a row, its logarithm; means are taken of slopes and rounded outputs",
            "queries, keys, values and slopes are numbers of E4M3; sums in float32; nothing else overflows",
        ),
        spec=("FN.N08",),
        cites=FLASH,
        remark="most of the bound is the mean of an output whose weights had four bits",
        source_status=("derived",),
    ),
    hypothesis("one-power-more", "slopes are multiplied by twice as much", more=1),
    hypothesis("unscaled", "slopes are not multiplied", scaled=False),
    hypothesis("exact-mean", "means are those of outputs that were not rounded", of_mean=0.0),
    hypothesis("unrounded", "outputs, weights and gradients are not rounded", rounds=False),
    constant("nine-tenths", "nine tenths of the bound are enough", share=0.9),
    constant("attained", "a row comes within a twentieth of the bound", least=0.95),
    bug("unmasked", "the mask is ignored in the backward pass", masked=False),
)
def test_eight_bits(run, *, more=0, scaled=True, of_mean=1.0, rounds=True, share=1.0, least=0.9, masked=True):
    count = run.pick(quick=2, paper=8)
    for name, _ in of_eight(run.root, count):
        case, plan, logs, means, (right_logs, right_means, spread, right) = passed_in_eight(name, run.root, count)
        q, k, v, g, mask, scale, sink = case
        power = slope_power(spread) + more if scaled else 0
        own = {} if not masked else {"mask": mask}
        found = stream_gradients(q, k, v, g, logs, means, plan, form="e4m3", scale=scale, power=power, **own)
        sizes, _ = sizes_of(case, spread, of_mean)
        shape, used = (len(k) + (sink is not None), len(q)), "e4m3" if rounds else "float32"
        bound = gradient_tolerance(*shape, form=used, width=q.shape[1], depth=v.shape[1], **sizes)
        for part, factor in factors_of(case).items():
            off = furthest(round_to(getattr(found, part), "bfloat16"), right[part])
            allowed = share * float(factor) * getattr(bound, part) + Interval.exactly(2.0**-112)
            yield at_most(off, allowed, part=part, case=name)
            if name == "near" and part == "queries":
                yield at_least(off, least * float(factor) * bound.queries, part="attained")
        for i in np.flatnonzero(~mask.any(axis=1)):
            moved = Interval.exactly(float(np.abs(found.queries[i]).max()))
            yield equals(moved, 0.0, scale=1, part="blind", case=name)
        if sink is not None:
            truth = right_of_sink(sink, right_logs, right_means)
            off = hull(abs(ball(round_to(of_sink(sink, logs, means, "e4m3"), "bfloat16").item()) - truth))
            heads = stream_error(shape[0], form=used, width=q.shape[1])
            parts = pass_error(*shape, form=used, depth=v.shape[1])
            yield at_most(off, sink_bound(bound, parts, forward_error(heads, sizes), sizes, len(q)), part="sink")


def forward_error(heads, sizes):
    """The most that the mean of slopes and outputs is off as outputs are."""
    return (
        sizes["reach"] * (heads.weights + sizes["score"] * heads.scores + heads.output) + sizes["slope"] * heads.least
    )


def sink_bound(bound, parts, off, sizes, rows):
    """The bound of the gradient of a sink."""
    mean = off + parts.products * (sizes["size"] + off) + parts.least
    return bound.values * (2 * sizes["spread"] + mean) + rows * mean


def all_plans(n):
    """Orders of reading one key at a time, splits of these in two, and all cuts into tiles."""
    for order in permutations(range(n)):
        yield [[key] for key in order]
        for cut in range(1, n):
            yield ([[key] for key in order[:cut]], [[key] for key in order[cut:]])
    for cuts in range(2 ** (n - 1)):
        ends = [0, *(k + 1 for k in range(n - 1) if cuts >> k & 1), n]
        yield [list(range(a, b)) for a, b in pairwise(ends)]


def row():
    """Five keys whose sums have to be rounded."""
    rng = np.random.default_rng(24)
    return -rng.integers(1, 64, 5) / 16.0, rng.integers(-120, 120, (5, 1)) / 128.0 + 2.0**-7


@cache
def outcomes(form):
    """All outputs of a row over plans, and whether one is that of splits swapped."""
    scores, values = row()
    found = {}
    for plan in all_plans(5):
        out = stream_row(scores, values, plan, form=form)[0]
        found[str(plan)] = (
            out,
            stream_row(scores, values, plan[::-1], form=form)[0] if isinstance(plan, tuple) else out,
        )
    return found


@verifies(
    Claim(
        "streaming.invariance",
        "bits of a row are kept by hidden keys, other rows and an exchange of two splits; other orders and splits change them, by at most twice the bound",
        r"$\hat o$ is the same, bit by bit, if hidden keys are added to any tile, if other rows are computed with it, and if two splits are merged in the other order; over orders, tiles and splits of five keys it has at least $3$ values in each format (float64, float32, bfloat16, float16, E4M3), which differ by at most $2\max|v|$ times the bound of streaming.forward",
        assumptions=("as in streaming.forward", "one kernel for all rows: sums of a tile in the order of its keys"),
        spec=("FN.N08",),
        cites=FLASH,
        remark="so a batch or a padding that changes bits has changed the plan, or the kernel",
        source_status=("derived",),
    ),
    bug("sentinel", "a hidden key has a finite score", hidden=-8.0),
    hypothesis("another-plan", "the other rows make the kernel read the keys in two splits", resplit=True),
    hypothesis("any-order", "keys of a plan may be read in any order", reversed_keys=True),
    hypothesis("all-plans", "all plans give the same bits", plans_kept=1),
    hypothesis("exact", "two plans differ by a thousandth of the bound", share=0.001),
)
def test_invariance(run, *, hidden=-np.inf, resplit=False, reversed_keys=False, plans_kept=None, share=2.0):
    for form in ("float64", "float32", "bfloat16", "float16", "e4m3"):
        scores, values = row()
        found = outcomes(form)
        plain = stream_row(scores, values, [[0, 1], [2, 3, 4]], form=form)
        padded = np.concatenate([scores, [hidden, hidden]])
        more = np.concatenate([values, [[5.0], [-3.0]]])
        for plan in ([[0, 5, 1], [6, 2, 3, 4]], [[5], [0, 1], [2, 3, 4, 6]], ([[0, 1], [2, 3, 4]], [[5, 6]])):
            same = stream_row(padded, more, plan, form=form)
            yield equals(Interval.exactly(float(same[0] != plain[0])), 0.0, scale=1, part="padding", form=form)
        queries = np.array([[1.0], [0.5], [-0.25]])
        keys = scores[:, np.newaxis]
        alone = stream_attention(queries[:1], keys, values, [range(5)], form=form, scale=1.0)
        plan = ([range(2)], [range(2, 5)]) if resplit else [range(5)]
        batch = stream_attention(queries, keys, values, plan, form=form, scale=1.0)
        yield equals(Interval.exactly(float(batch[0, 0] != alone[0, 0])), 0.0, scale=1, part="batch", form=form)
        for out, swapped in found.values():
            yield equals(Interval.exactly(float(swapped != out)), 0.0, scale=1, part="exchange", form=form)
        if reversed_keys:
            other = stream_row(scores, values, [[4], [3], [2], [1], [0]], form=form)
            forwards = stream_row(scores, values, [[0], [1], [2], [3], [4]], form=form)
            yield equals(Interval.exactly(float(other[0] != forwards[0])), 0.0, scale=1, part="exchange", form=form)
        different = {out for out, _ in found.values()}
        count = len(different) if plans_kept is None else plans_kept
        yield at_least(Interval.exactly(count), 3.0, part="plans", form=form)
        bound = stream_error(5, form=form).weights
        yield at_most(
            Interval.exactly(max(different)) - Interval.exactly(min(different)),
            share * float(np.abs(values).max()) * bound,
            part="apart",
            form=form,
        )
