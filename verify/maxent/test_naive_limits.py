"""In what sense weights point along the scores: on the whole, in order, and in the limit of high temperatures."""

import itertools

import numpy as np

from theory.evidence import (
    Claim,
    Interval,
    at_least,
    ball,
    balls,
    bug,
    constant,
    equals,
    exact,
    hull,
    hypothesis,
    limit,
    norm,
    verifies,
)
from theory.evidence.enclosure import precision
from theory.evidence.once import once
from theory.maxent import entmax, entmax_gap, softmax
from theory.maxent.gibbs import divergence, gibbs_law
from theory.maxent.layers import linear_law
from theory.maxent.sparse import tsallis

SPARSE = ("blondel2020", "martins2016", "peters2019")


def entropy_of(law, alpha):
    """The entropy of order alpha of a law in balls."""
    a = ball(alpha)
    if alpha == 1.0:
        return -sum(x * np.log(x) for x in law if x > 0)
    return (1 - sum(x**a for x in law if x > 0)) / (a * (a - 1))


@once
def maximiser(s, alpha, tau=1.0):
    """Enclose the law of largest mean score plus entropy; for softmax that of its own code."""
    return softmax(exact(s), tau=tau) if alpha == 1.0 else entmax(exact(s), alpha, tau=tau)


def leaning(run):
    """Yield scores, an order and a temperature: one score against many, a hot pair, then random ones of every order."""
    yield np.append(np.log(199.0), np.zeros(199)), 1.0, 1.0
    yield np.array([0.0, 1.0]), 1.0, 50.0
    for rng in run.draws(quick=12, paper=100):
        draws = [(rng.normal(size=int(rng.integers(2, 9))) * 2.0, float(rng.uniform(0.2, 5.0))) for _ in range(4)]
        for alpha, (s, tau) in zip((0.5, 1.0, 1.5, 2.0), draws, strict=True):
            yield s, alpha, tau


@verifies(
    Claim(
        "naive.alignment",
        "the weights lean towards the scores by at least what their entropy has lost, for softmax by KL(u||p) more",
        r"$\langle p^* - u, s - \bar s\mathbf 1\rangle \ge \tau(H(u) - H(p^*)) \ge 0$; softmax: the difference is $\tau\,\mathrm{KL}(u\|p^*)$",
        assumptions=("H symmetric and concave",),
        spec=("RA.A4",),
        cites=SPARSE,
        source_status=("derived", "refereed"),
    ),
    constant("double", "the weights lean by twice the lost entropy", factor=2),
    hypothesis("elsewhere", "the weights are compared with a law that is not the most disordered one", centre=0.5),
    bug("reversed", "what softmax adds is KL(p||u)", reverse=True),
)
def test_alignment(run, *, factor=1, centre=0.0, reverse=False):
    for s, alpha, tau in leaning(run):
        n = s.size
        t = ball(tau)
        case = {"n": n, "alpha": alpha, "tau": tau}
        size = 1.0 + tau + float(np.ptp(s))
        u = np.full(n, ball(1) / n)
        u[0], u[-1] = u[0] - ball(centre) / n, u[-1] + ball(centre) / n
        weights = gibbs_law(s, tau=tau).weights if alpha == 1.0 else entmax(s, alpha, tau=tau)
        with precision(256):
            p = balls(weights) / balls(weights).sum()
            lost = t * (entropy_of(u, alpha) - entropy_of(p, alpha))
            lean = ((p - u) * balls(s)).sum()
        # the excess is what the maximum is above the value at u; the computed law misses that by its own gap at most
        miss = factor * entmax_gap(s, weights, alpha, tau=tau)
        excess = hull(lean - factor * lost) + Interval(0.0, miss.hi, miss.kind)
        yield at_least(excess, 0, scale=size, part="lean", **case)
        gained = tsallis(maximiser(s, alpha, tau), alpha)
        yield at_least(tau * (hull(entropy_of(u, alpha)) - gained), 0, scale=size, part="entropy", n=n, alpha=alpha)
        if alpha == 1.0:
            law = gibbs_law(exact(s), tau=tau).weights
            even = hull(u)
            kl = divergence(law, even) if reverse else divergence(even, law)
            yield equals(excess, tau * kl, scale=size, part="softmax", n=n, tau=tau)


@verifies(
    Claim(
        "naive.order",
        "larger scores get no smaller weights and equal scores equal ones; for softmax the logarithms differ as the scores",
        r"$s_i > s_j \Rightarrow p_i \ge p_j$, $s_i = s_j \Rightarrow p_i = p_j$; $\alpha = 1$: $\log p_i - \log p_j = (s_i - s_j)/\tau$",
        assumptions=("H symmetric and strictly concave",),
        spec=("RA.A4",),
        cites=SPARSE,
        source_status=("derived", "refereed"),
    ),
    hypothesis("linear", "H vanishes: any law on the largest scores is a maximiser", strict=False),
    hypothesis("prior", "H is not symmetric: softmax has a prior that falls where the scores rise", prior=True),
    constant("steeper", "the logarithms differ by one per cent more", factor=1.01),
)
def test_order(run, *, strict=True, prior=False, factor=1.0):
    cases = [(np.array([2.0, 2.0, -1.0]), 1.0), (np.array([1.0, 0.9, 0.0]), 1.0)]
    rngs = run.draws(quick=12, paper=100)
    cases += [(rng.integers(-8, 9, int(rng.integers(2, 12))) / 4, float(rng.uniform(0.2, 3.0))) for rng in rngs]
    for given, tau in cases:
        s = np.sort(given)[::-1]
        n = given.size
        laws = {f"entmax {alpha:g}": maximiser(s, alpha, tau) for alpha in (0.5, 1.0, 1.5, 2.0)}
        if prior:
            laws["prior"] = softmax(exact(s), prior=np.arange(1.0, n + 1) / (n * (n + 1) / 2), tau=tau)
        if not strict:
            laws["mean score"] = exact(linear_law(s))
        for name, weights in laws.items():
            for i, step in enumerate(weights[:-1] - weights[1:]):
                relation = equals if s[i] == s[i + 1] else at_least
                yield relation(step, 0, scale=1, best=name, n=n)
        weights = gibbs_law(exact(s), tau=tau).weights
        apart = np.log(weights[0]) - np.log(weights[-1])
        claimed = factor * (exact(s[0]) - exact(s[-1])) / tau
        yield equals(apart, claimed, scale=1.0 + float(np.ptp(s)) / tau, n=n)


def turn(moved, scores):
    """Enclose 1 - cos of the angle between a law less its mean and the centred scores, as half a squared distance."""
    centred = scores - scores.mean()
    return norm(moved / norm(moved) - centred / norm(centred)) ** 2 / 2


@verifies(
    Claim(
        "naive.hot",
        "for high temperatures the weights leave equality along the centred scores, and bend away at second order",
        r"$p^* - u = \frac{n^{\alpha-2}}{\tau}z + \frac{2-\alpha}{2}\frac{n^{2\alpha-3}}{\tau^2}w + O(\tau^{-3})$, $z = s - \bar s\mathbf 1$, $w = z^2 - \overline{z^2}$; $\tau^2(1 - \cos(p^* - u, z)) \to \frac{(2-\alpha)^2}8 n^{2\alpha-2}\|w_\perp\|^2/\|z\|^2$",
        assumptions=("order positive",),
        spec=("RA.A4",),
        cites=SPARSE,
        source_status=("derived", "refereed"),
    ),
    constant("power", "the leading factor has one power of n more", lead=-1),
    constant("bend", "the second order does not depend on the order of the entropy", curved=False),
    bug("uncentred", "the scores are not centred", centred=False),
)
def test_hot(run, *, lead=-2, curved=True, centred=True):
    cases = [np.array([1.0, 0.5, -0.5])]
    cases += [rng.normal(size=int(rng.integers(3, 7))) for rng in run.draws(quick=2, paper=15)]
    for s, alpha in itertools.product(cases, (0.5, 1.0, 1.25, 1.5, 2.0)):
        n = s.size
        a = ball(alpha)
        exact_scores = balls(s)
        z = exact_scores - exact_scores.sum() / n if centred else exact_scores
        spread = z * z - (z * z).sum() / n
        bend = (2 - (a if curved else 1)) / 2
        first = ball(n) ** (a + lead) * z
        second = bend * ball(n) ** (2 * a - 3) * spread
        odd = []
        even = []
        turns = []
        for tau in (2.0 ** np.arange(5, 11) * float(np.ptp(s)) * n).tolist():
            up, down = maximiser(s, alpha, tau), maximiser(-s, alpha, tau)
            odd.append(tau / 2 * (up - down))
            even.append(tau**2 * ((up + down) / 2 - 1 / exact(float(n))))
            turns.append(tau**2 * turn(up - 1 / exact(float(n)), exact(s)))
        scale = 2.0 * float(np.ptp(s)) * n**alpha
        case = {"n": n, "alpha": alpha}
        for k in range(n):
            one, two = ([level[k] for level in levels] for levels in (odd, even))
            yield equals(limit(one, order=2), first[k], scale=scale, part="first order", **case)
            yield equals(limit(two, order=2), second[k], scale=scale**2, part="second order", **case)
        # the part of the second order across the first turns the weights away from the scores
        across = (spread * spread).sum() - (spread * z).sum() ** 2 / (z * z).sum()
        bent = ((2 - a) / 2 * ball(n) ** (a - 1)) ** 2 * across / (z * z).sum() / 2
        yield equals(limit(turns, order=1), bent, scale=scale**2, part="angle", **case)
