"""Weights without an entropy: the vertices of largest mean score, and the law at the smallest angle to the scores."""

from functools import cache

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
    hypothesis,
    norm,
    verifies,
)
from theory.maxent.gibbs import expectation, gibbs_law
from theory.maxent.layers import cosine, cosine_law, linear_law

BEFORE = ("blondel2020", "martins2016")


@cache
def largest_weights(*scores):
    """How much weight each entry can have among the laws of largest mean score, by one linear program each."""
    return [linear_law(exact(scores), towards=way)[i] for i, way in enumerate(np.eye(len(scores)))]


@verifies(
    Claim(
        "naive.vertex",
        "the mean score is largest on the face of the largest scores and nowhere else",
        r"$\max_\Delta\langle p, s\rangle = \max s$ on $\mathrm{conv}\{e_i : i \in M\}$; $\max s - \langle p, s\rangle \ge \delta\,p(M^c)$",
        assumptions=("finite scores", r"$M = \arg\max s$, $\delta$ the gap below it"),
        spec=("RA.A1",),
        cites=("dantzig1963",),
        source_status=("seen", "recalled", "refereed on paper"),
    ),
    hypothesis("single", "the optimum is always a single vertex: no two scores are equal", tied=False),
    bug("minimised", "the program is solved for the smallest mean score", sign=-1),
    constant("gap", "a law off the face loses one per cent more than the gap", factor=1.01),
)
def test_vertex(run, *, tied=True, sign=1, factor=1.0):
    cases = [np.array(s) for s in ([2.0, 2.0, -1.0], [3.0, 1.0, 1.0], [0.0, 0.0], [1.0, 0.0, -2.0], [5.0])]
    cases += [rng.integers(-2, 3, int(rng.integers(2, 7))).astype(float) for rng in run.draws(quick=6, paper=60)]
    for s, rng in zip(cases, run.streams(len(cases)), strict=True):
        n = s.size
        top = float(s.max())
        best = s == s.max()
        size = 1.0 + float(np.ptp(s))
        law = linear_law(sign * s)
        yield equals(expectation(law, s), top, scale=size, part="value", n=n)
        yield equals(np.where(best, 0.0, exact(law)).sum(), 0, scale=1, part="off the face", n=n)
        alone = np.arange(n) == int(s.argmax())
        for reached, inside in zip(largest_weights(*(sign * s).tolist()), best if tied else alone, strict=True):
            yield equals(reached, int(inside), scale=1, part="face", n=n)
        face = exact(rng.dirichlet(np.ones(n)) * (sign * s == (sign * s).max()))
        yield equals(expectation(face / face.sum(), s), top, scale=size, part="inside", n=n)
        if best.all():
            continue
        gap = top - float(s[~best].max())
        second = np.eye(n)[int(np.flatnonzero(~best)[s[~best].argmax()])]
        for rival in (rng.dirichlet(np.ones(n)), (np.eye(n)[int(s.argmax())] + second) / 2):
            lost = ((top - s) * exact(rival)).sum()
            mass = exact(rival[~best]).sum()
            yield at_least(lost, factor * gap * mass, scale=size, part="loss", n=n)


def aligned(s):
    """The law that is claimed to have the largest cosine with scores in balls, and that cosine."""
    top = max(s, key=float)
    size = norm(s)
    if not top > 0:
        return np.array([int(x == top) for x in s]) / ball(sum(int(x == top) for x in s)), top / size
    part = np.array([x if x > 0 else x * 0 for x in s])
    return part / part.sum(), norm(part) / size


def directions(run):
    """Yield scores with the laws that compete for the smallest angle to them."""
    rows = ([1.0, 0.0], [1.0, 0.5], [1.0, 0.5, -2.0], [0.0, -1.0, 0.0], [-1.0, -2.0], [-1.0, -1.0, -3.0])
    cases = [np.array(s) for s in rows]
    rngs = run.draws(quick=10, paper=100)
    cases += [rng.normal(size=int(rng.integers(2, 9))) + rng.choice([-3.0, 0.0]) for rng in rngs]
    for s, rng in zip(cases, run.streams(len(cases)), strict=True):
        n = s.size
        drawn = rng.dirichlet(np.ones(n)), rng.dirichlet(np.full(n, 0.3))
        yield s, [*np.eye(n), *drawn, gibbs_law(s).weights]


@verifies(
    Claim(
        "naive.cosine",
        "the law at the smallest angle to the scores is their positive part, not softmax",
        r"$\cos(p, s) \le \|s_+\|/\|s\| - (\|s_+\|/\|s\|)(1 - \cos(p, s_+))$ if $\max s > 0$; $\cos(p, s) \le \max s/(\|s\|\|p\|)$ if $\max s \le 0$",
        assumptions=(r"$s \neq 0$",),
        spec=("RA.A2",),
        cites=BEFORE,
        source_status=("derived", "refereed"),
    ),
    hypothesis("softmax", "the scores are penalised: softmax is the law at the smallest angle", penalised=True),
    bug("absolute", "the negative scores count by their size", absolute=True),
    hypothesis("sign", "some score is positive, for scores of which none is", positive=True),
    constant("angle", "a law misses the best cosine by one per cent more", factor=1.01),
)
def test_cosine(run, *, penalised=False, absolute=False, positive=False, factor=1.0):
    for s, rivals in directions(run):
        scores = balls(s)
        n = s.size
        up = s.max() > 0.0
        law, best = aligned(np.abs(scores) if absolute else scores)
        if penalised:
            law = np.exp(scores) / np.exp(scores).sum()
            best = (law * scores).sum() / (norm(law) * norm(scores))
        if positive and not up:
            best = ball(0)
        found = cosine_law(s)
        yield equals(cosine(found, s), best, scale=1, part="value", n=n)
        if up:
            yield equals(cosine_law(exact(s)), law, scale=1, part="law", n=n)
        ray = aligned(scores)[0]
        for rival in rivals:
            other = balls(rival)
            apart = 1 - (other * ray).sum() / (norm(other) * norm(ray))
            bound = best - factor * best * apart if up else best / norm(other)
            yield at_most(cosine(rival, s), bound, scale=1, part="rival", n=n)


@verifies(
    Claim(
        "naive.direction",
        "softmax does not point along its scores: entropy lowers or raises the cosine, and a shift alone turns its sign",
        r"cosine of vertex and softmax: $1 > (1 + e^{-2})^{-1/2}$ at $s = (1, 0)$, $.74329 < .99999$ at $(1, .9)$; $\mathrm{softmax}(s + c\mathbf 1) = \mathrm{softmax}(s)$, but their cosines with $s + c\mathbf 1$ are $.93851$ at $c = 0$, $-.72852$ at $c = -2$",
        assumptions=("temperature 1",),
        spec=("RA.A2", "RA.A4"),
        cites=BEFORE,
        source_status=("seen", "derived", "refereed"),
    ),
    constant("raises", "at (1, 0) the entropy raises the cosine by as much", sign=-1),
    bug("lowers", "at (1, .9) the cosine of the vertex is taken twice", twice=True),
    hypothesis(
        "centred", "scores and law are centred first: then the statement is about the tangent space", centred=True
    ),
    bug("stretched", "the scores are multiplied by the shift", shifted=False),
)
def test_direction(run, *, sign=1, twice=False, centred=False, shifted=True):
    def angle(law, s):
        return cosine(law - law.mean(), exact(s) - exact(s).mean()) if centred else cosine(law, s)

    one, near = np.array([1.0, 0.0]), np.array([1.0, 0.9])
    soft = gibbs_law(exact(one)).weights
    vertex = exact(linear_law(one))
    yield equals(angle(vertex, one), 1, part="vertex")
    yield equals(angle(soft, one), (1 + np.exp(ball(-2))) ** ball(-0.5), part="softmax")
    yield at_least(sign * (angle(vertex, one) - angle(soft, one)), 0.0614, part="lowered")
    first = exact(linear_law(near))
    second = gibbs_law(exact(near)).weights
    yield at_least(angle(first if twice else second, near) - angle(first, near), 0.256, part="raised")
    yield equals(angle(first, near), Interval.printed("0.743294"), part="vertex")
    yield equals(angle(second, near), Interval.printed("0.999996"), part="softmax")
    low = one - 2.0
    yield equals(angle(gibbs_law(exact(low)).weights, low), Interval.printed("-0.728521"), part="turned")
    claimed = np.exp(balls(one)) / np.exp(balls(one)).sum()
    for c in (1.0, -2.0, 8.0, -1024.0):
        there = one + c if shifted else one * c
        moved = gibbs_law(exact(there)).weights
        yield equals(moved, claimed, scale=1, part="shift", c=c)
        yield at_least(np.sign(c) * angle(moved, there), 0.7, part="sign", c=c)
