"""Weights without an entropy: the vertices of largest mean score, and the law at the smallest angle to the scores."""

from functools import cache

import numpy as np

from theory.evidence import Claim, Interval, at_least, at_most, ball, bug, constant, equals, hypothesis, total, verifies
from theory.evidence.roundoff import gamma
from theory.maxent import cosine, cosine_law, expectation, gibbs_law, linear_law
from verify import textbook
from verify.textbook import balls, hull

BEFORE = ("blondel2020", "martins2016")


@cache
def largest_weights(*scores):
    """How much weight each entry can have among the laws of largest mean score, by one linear program each."""
    return [float(linear_law(scores, towards=way)[i]) for i, way in enumerate(np.eye(len(scores)))]


@verifies(
    Claim(
        "naive.vertex",
        "the mean score is largest on the face of the largest scores and nowhere else",
        r"$\max_\Delta\langle p, s\rangle = \max s$ on $\mathrm{conv}\{e_i : i \in M\}$; $\max s - \langle p, s\rangle \ge \delta\,p(M^c)$",
        assumptions=("finite scores", r"$M = \arg\max s$, $\delta$ the gap below it"),
        spec=("RA.A1",),
        cites=("dantzig1963",),
        provenance=("seen", "recalled", "refereed on paper"),
    ),
    hypothesis("single", "the optimum is always a single vertex: no two scores are equal", tied=False),
    bug("minimised", "the program is solved for the smallest mean score", sign=-1),
    constant("gap", "a law off the face loses one per cent more than the gap", factor=1.01),
)
def test_vertex(run, *, tied=True, sign=1, factor=1.0):
    cases = [np.array(s) for s in ([2.0, 2.0, -1.0], [3.0, 1.0, 1.0], [0.0, 0.0], [1.0, 0.0, -2.0], [5.0])]
    cases += [rng.integers(-2, 3, int(rng.integers(2, 7))).astype(float) for rng in run.draws(quick=6, paper=60)]
    for s, rng in zip(cases, run.streams(len(cases)), strict=True):
        top, best, size = float(s.max()), s == s.max(), 1.0 + float(np.ptp(s))
        law = linear_law(sign * s)
        yield equals(expectation(law, s), top, scale=size, part="value", n=s.size)
        yield equals(total(law * ~best), 0, scale=1, part="off the face", n=s.size)
        alone = np.arange(s.size) == int(s.argmax())
        for reached, inside in zip(largest_weights(*(sign * s).tolist()), best if tied else alone, strict=True):
            yield equals(Interval.within(reached, gamma(16)), int(inside), scale=1, part="face", n=s.size)
        face = rng.dirichlet(np.ones(s.size)) * (sign * s == (sign * s).max())
        mean = expectation(face / face.sum(), s) + Interval.within(0.0, gamma(2 * s.size) * size)
        yield equals(mean, top, scale=size, part="inside", n=s.size)
        if best.all():
            continue
        gap = top - float(s[~best].max())
        second = np.eye(s.size)[int(np.flatnonzero(~best)[s[~best].argmax()])]
        for rival in (rng.dirichlet(np.ones(s.size)), (np.eye(s.size)[int(s.argmax())] + second) / 2):
            lost, mass = total((top - s) * rival, gamma(2) * np.abs((top - s) * rival)), total(rival * ~best)
            yield at_least(lost, factor * gap * mass, scale=size, part="loss", n=s.size)


def aligned(s):
    """The law that is claimed to have the largest cosine with scores in balls, and that cosine."""
    top, norm = max(s, key=float), sum(x * x for x in s).sqrt()
    if not top > 0:
        return np.array([int(x == top) for x in s]) / ball(sum(int(x == top) for x in s)), top / norm
    part = np.array([x if x > 0 else x * 0 for x in s])
    return part / part.sum(), (part * part).sum().sqrt() / norm


@verifies(
    Claim(
        "naive.cosine",
        "the law at the smallest angle to the scores is their positive part, not softmax",
        r"$\cos(p, s) \le \|s_+\|/\|s\| - (\|s_+\|/\|s\|)(1 - \cos(p, s_+))$ if $\max s > 0$; $\cos(p, s) \le \max s/(\|s\|\|p\|)$ if $\max s \le 0$",
        assumptions=(r"$s \neq 0$",),
        spec=("RA.A2",),
        cites=BEFORE,
        provenance=("derived", "refereed"),
    ),
    hypothesis("softmax", "the scores are penalised: softmax is the law at the smallest angle", penalised=True),
    bug("absolute", "the negative scores count by their size", absolute=True),
    hypothesis("sign", "some score is positive, for scores of which none is", positive=True),
    constant("angle", "a law misses the best cosine by one per cent more", factor=1.01),
)
def test_cosine(run, *, penalised=False, absolute=False, positive=False, factor=1.0):
    cases = [
        np.array(s)
        for s in ([1.0, 0.0], [1.0, 0.5], [1.0, 0.5, -2.0], [0.0, -1.0, 0.0], [-1.0, -2.0], [-1.0, -1.0, -3.0])
    ]
    cases += [
        rng.normal(size=int(rng.integers(2, 9))) + rng.choice([-3.0, 0.0]) for rng in run.draws(quick=10, paper=100)
    ]
    for s, rng in zip(cases, run.streams(len(cases)), strict=True):
        exact, n = balls(s), s.size
        law, best = aligned(np.abs(exact) if absolute else exact)
        if penalised:
            law = textbook.laws(exact[np.newaxis])[0]
            best = (law * exact).sum() / ((law * law).sum() * (exact * exact).sum()).sqrt()
        best = hull(best * 0 if positive and not s.max() > 0 else best)
        found = cosine_law(s)
        yield equals(cosine(found, s), best, scale=1, part="value", n=n)
        if s.max() > 0.0:
            yield equals(textbook.gap(found, law, gamma(n + 8)), 0, scale=1, part="law", n=n)
        ray = aligned(exact)[0]
        for rival in (*np.eye(n), rng.dirichlet(np.ones(n)), rng.dirichlet(np.full(n, 0.3)), gibbs_law(s).weights):
            other = balls(rival)
            norm = hull((other * other).sum().sqrt())
            if s.max() > 0.0:
                apart = 1 - hull((other * ray).sum()) / (norm * hull((ray * ray).sum().sqrt()))
                yield at_most(cosine(rival, s), best - factor * best * apart, scale=1, part="rival", n=n)
            else:
                yield at_most(cosine(rival, s), best / norm, scale=1, part="rival", n=n)


@verifies(
    Claim(
        "naive.direction",
        "softmax does not point along its scores: entropy lowers or raises the cosine, and a shift alone turns its sign",
        r"cosine of vertex and softmax: $1 > (1 + e^{-2})^{-1/2}$ at $s = (1, 0)$, $.74329 < .99999$ at $(1, .9)$; $\mathrm{softmax}(s + c\mathbf 1) = \mathrm{softmax}(s)$, but their cosines with $s + c\mathbf 1$ are $.93851$ at $c = 0$, $-.72852$ at $c = -2$",
        assumptions=("temperature 1",),
        spec=("RA.A2", "RA.A4"),
        cites=BEFORE,
        provenance=("seen", "derived", "refereed"),
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
        if not centred:
            return cosine(law, s)
        a, b = balls(law) - ball(1.0) / len(s), balls(s) - balls(s).sum() / len(s)
        return hull((a * b).sum() / ((a * a).sum() * (b * b).sum()).sqrt())

    one, near = np.array([1.0, 0.0]), np.array([1.0, 0.9])
    (soft, error), vertex = gibbs_law(one), linear_law(one)
    rounding = Interval.within(0.0, 4.0 * error)
    yield equals(angle(vertex, one), 1, part="vertex")
    yield equals(angle(soft, one) + rounding, hull((1 + textbook.exp(ball(-2.0))) ** ball(-0.5)), part="softmax")
    yield at_least(sign * (angle(vertex, one) - angle(soft, one)), 0.0614, part="lowered")
    first, second = linear_law(near), gibbs_law(near).weights
    yield at_least(angle(first if twice else second, near) - angle(first, near) + rounding, 0.256, part="raised")
    yield equals(angle(first, near), Interval.printed("0.743294"), part="vertex")
    yield equals(angle(second, near) + rounding, Interval.printed("0.999996"), part="softmax")
    yield equals(
        angle(gibbs_law(one - 2.0).weights, one - 2.0) + rounding, Interval.printed("-0.728521"), part="turned"
    )
    for c in (1.0, -2.0, 8.0, -1024.0):
        there = one + c if shifted else one * c
        moved, error = gibbs_law(there)
        yield equals(
            textbook.gap(moved, textbook.laws(balls(one)[np.newaxis])[0], error), 0, scale=1, part="shift", c=c
        )
        turned = angle(moved, there) + Interval.within(0.0, 4.0 * error)
        yield at_least(turned if c > 0 else -1 * turned, 0.7, part="sign", c=c)
