"""The engine: what its exponential, its streaming merge, its moments and its derivatives promise."""

import numpy as np

from theory import engine
from theory.attention import DotProduct, SquaredDistance, read
from theory.attention.calculus import attend_jvp, attend_moments, attend_vjp, merge_attention
from theory.engine import blocks, exponential
from theory.evidence import (
    Claim,
    at_most,
    ball,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    outcome,
    verifies,
)
from theory.evidence.once import once
from theory.evidence.roundoff import U
from verify import inputs, textbook
from verify.textbook import balls, hull

moments_of = once(attend_moments)

SCORES = {
    "dot": (DotProduct(scale=0.6), lambda x, y: textbook.dot_scores(x, y, beta=0.6)),
    "distance": (SquaredDistance(0.6), lambda x, y: textbook.distance_scores(x, y, beta=0.6)),
}


@verifies(
    Claim(
        "engine.exponential",
        "the exponential of the kernels is off by at most 2.75 units of rounding, in single precision by 3",
        r"$|\mathrm{fl}(2^x) - 2^x| \le 2.75\,u\,2^x$ for $-1021 \le x \le 0$ with $u = 2^{-53}$; $3u$ for $-125 \le x \le 0$ with $u = 2^{-24}$",
        assumptions=("the result is a normal number",),
        cites=("higham2002",),
        source_status=("derived",),
    ),
    constant("one", "it is off by at most one unit", units=1.0),
    bug("base", "the argument is changed to base two with one rounding", natural=True),
    hypothesis("subnormal", "arguments below -1021 are admitted", least=-1023.0),
)
def test_exponential(run, *, units=2.75, natural=False, least=-1021.0):
    number = run.pick(quick=4000, paper=50_000)
    for rng in run.streams(1):
        arguments = np.concatenate([
            -rng.random(number) * 1021.0, -rng.random(number), rng.integers(-1020, 0, 200) + 0.5, [0.0, -0.0, -1021.0],
            rng.integers(-1020, 0, 200) + 0.5 + 2.0**-40, np.linspace(-0.5, 0.5, number)[number // 2 :] - 1.0, [least],
        ])  # fmt: skip
    base = 1 if natural else textbook.log(ball(2))
    singles = arguments[arguments >= -125.0].astype(np.float32)
    for weigh, given, bound in (
        (blocks.weigh, arguments, units * U),
        (blocks.weigh_single, singles, units / 2.75 * 3 * 2.0**-24),
    ):
        powers = np.array([given * given.dtype.type(exponential.LOG2E) if natural else given])
        weigh(powers, np.zeros(1, given.dtype), np.array([given.size]), np.zeros(1))  # the very loop of the passes
        apart = np.abs(balls(powers[0]) / textbook.exp(balls(given) * base) - 1)
        for some in np.array_split(apart, 8):
            off = hull(max(some, key=float))
            yield outcome(at_most(off, bound, arguments=some.size, part=given.dtype.name))


@verifies(
    Claim(
        "engine.merge",
        "attention over parts of the keys merges to attention over all of them, in any order",
        r"$(m, l, o)$: $m = \max_p m_p$, $l = \sum_p l_p e^{m_p - m}$, $o = \sum_p o_p e^{m_p - m}$, output $o / l$",
        assumptions=("the parts are disjoint and not empty",),
        spec=("RA.G8",),
        cites=("milakov2018",),
        source_status=("recalled", "derived"),
    ),
    bug("averaged", "the softmaxes of the parts are averaged", kept=0.0),
    constant("cooler", "the parts are merged one per cent too evenly", kept=0.99),
    hypothesis("overlapping", "two parts share a key", shared=1),
)
def test_merge(run, *, kept=1.0, shared=0):
    large = [inputs.rising(rng, n=run.pick(quick=2600, paper=6000)) for rng in run.streams(1)]
    for p in [*large, *inputs.problems(run, quick=10, paper=100)]:
        for name, (score, scores) in SCORES.items():
            if p.keys.shape[0] < 2 or p.masses.min() == 0.0:
                continue
            cuts = sorted({1, p.keys.shape[0] // 2, p.keys.shape[0] - 1})
            edges = list(zip([0, *cuts], [*cuts, p.keys.shape[0]], strict=True))
            parts = []
            for start, stop in edges:
                here = slice(max(0, start - shared), stop)
                found = read(exact(p.queries), p.keys[here], p.values[here], score=score, weights=p.masses[here])
                parts.append(found._replace(log_partition=kept * found.log_partition))
            claimed = textbook.average(scores(p.queries, p.keys), p.values, p.masses)
            nested = parts[0]
            for part in parts[1:]:
                nested = merge_attention([nested, part])
            orders = {"forward": merge_attention(parts), "back": merge_attention(parts[::-1]), "nested": nested}
            for order, merged in orders.items():
                yield equals(merged.output, claimed, scale=p.size, score=name, order=order, **p.case)


@verifies(
    Claim(
        "engine.moments",
        "one pass over the keys gives the entropy of a row and the covariance of the values under it",
        r"$H_i = -\sum_j p_{ij}\log p_{ij}$, $C_i = \sum_j p_{ij}(v_j - o_i)(v_j - o_i)^\top$",
        assumptions=("finite scores and values",),
        cites=("chan1983",),
        source_status=("derived",),
    ),
    bug("uncentred", "the values are not centred before they are squared", centred=False),
    bug("logits", "the entropy forgets the log-partition", normalised=False),
    constant("near", "the covariance is one per cent larger", factor=1.01),
)
def test_moments(run, *, centred=True, normalised=True, factor=1.0):
    large = [inputs.rising(rng, n=run.pick(quick=1300, paper=4000)) for rng in run.streams(1)]
    (crowd,) = (inputs.crowded(rng) for rng in run.streams(1))
    for p in [*large, crowd, *inputs.problems(run, quick=20, paper=150)]:
        if p.masses.min() == 0.0:
            continue
        written = np.repeat(np.arange(p.masses.size), p.masses.astype(int) if p is crowd else 1)
        masses = np.ones(written.size) if p is crowd else p.masses
        for name, (score, scores) in SCORES.items():
            found = moments_of(exact(p.queries), p.keys[written], p.values[written], score=score, weights=masses)
            logits = scores(p.queries, p.keys)
            law = textbook.laws(logits, p.masses)
            mean = law @ balls(p.values) if centred else 0 * (law @ balls(p.values))
            apart = balls(p.values)[np.newaxis, :, :] - mean[:, np.newaxis, :]
            products = apart[:, :, :, np.newaxis] * apart[:, :, np.newaxis, :]
            spread = (law[:, :, np.newaxis, np.newaxis] * products).sum(axis=1)
            case = {"score": name, **p.case}
            yield equals(found.covariance, factor * spread, scale=p.size**2, part="covariance", **case)
            entropy = -(law * (logits + (0 if p is crowd else textbook.log(balls(p.masses))))).sum(axis=1)
            if normalised:
                entropy = entropy + textbook.log((textbook.exp(logits) * balls(p.masses)).sum(axis=1))
            yield equals(found.entropy, entropy, scale=1, part="entropy", **case)


@verifies(
    Claim(
        "engine.jacobian",
        "a Jacobian product is a covariance, and the transposed product is its adjoint, with a mask and without",
        r"$\dot o_i = \sum_j p_{ij}\dot v_j + \mathrm{Cov}_{p_i}(v, \dot s_i)$ and $\langle \bar o, J\dot x\rangle = \langle J^\top \bar o, \dot x\rangle$",
        assumptions=("differentiable score",),
        source_status=("derived",),
    ),
    bug("uncentred", "the change of the partition is forgotten", centred=False),
    hypothesis("frozen", "the queries do not move", frozen=True),
    constant("cooler", "the scores move one per cent less", factor=0.99),
    hypothesis("unmasked", "a query sees later keys too", masked=False),
)
def test_jacobian(run, *, centred=True, frozen=False, factor=1.0, masked=True):
    for number, rng in enumerate(run.draws(quick=12, paper=150)):
        m = 3
        n = int(rng.integers(2, 20))
        d = int(rng.integers(1, 4))
        seen = np.minimum(n, np.arange(1, m + 1)) if number % 2 else np.full(m, n)  # causal every other time
        x = rng.normal(size=(m, d))
        y = rng.normal(size=(n, d))
        v = rng.normal(size=(n, 2))
        b = rng.normal(size=n)
        direction = engine.Direction(*(rng.normal(size=shape) for shape in ((m, d), (n, d), (n, 2), n)))
        cotangent = rng.normal(size=(m, 2))
        for name, (score, scores) in SCORES.items():
            logits = scores(x, y)
            left = balls(x)
            right = balls(y)
            by_query = ball(0.0 if frozen else 1.0) * balls(direction.queries)
            by_key = balls(direction.keys)
            if name == "dot":
                change = (by_query @ right.T + left @ by_key.T) * ball(0.6)
            else:
                apart = left[:, np.newaxis, :] - right[np.newaxis, :, :]
                moved = by_query[:, np.newaxis, :] - by_key[np.newaxis, :, :]
                change = (apart * moved).sum(axis=2) * (-2 * ball(0.6))
            change = (change + balls(direction.log_weights)) * ball(factor)
            last = seen if masked else np.full(m, n)
            law = textbook.laws(logits + balls(b), 1.0 * (np.arange(n) < last[:, np.newaxis]))
            mean = law @ balls(v) if centred else 0 * (law @ balls(v))
            apart = balls(v)[np.newaxis, :, :] - mean[:, np.newaxis, :]
            claimed = law @ balls(direction.values) + ((law * change)[:, :, np.newaxis] * apart).sum(axis=1)
            how = {"score": score, "log_weights": b, "visible": seen}
            case = {"scale": 1, "score": name, "n": n, "d": d}
            yield equals(attend_jvp(exact(x), y, v, direction, **how), claimed, part="derivative", **case)
            back = attend_vjp(exact(x), y, v, cotangent, **how)
            product = sum((part * tangent).sum() for part, tangent in zip(back, direction, strict=True))
            yield equals(product, (balls(cotangent) * claimed).sum(), part="adjoint", **case)
