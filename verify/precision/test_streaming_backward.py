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
    equals,
    hull,
    hypothesis,
    verifies,
)
from theory.precision import gradient_error, stream_attention, stream_error, stream_gradients, stream_row
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
            factors = {"queries": scale * np.abs(k).max(), "keys": scale * np.abs(q).max(), "values": np.abs(g).max()}
            for part, factor in factors.items():
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
