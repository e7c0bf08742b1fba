"""Entmax is what it is defined to be: optimal, to the last digits, with a bracketed threshold and power tails."""

import itertools
from functools import cache

import numpy as np

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
    hypothesis,
    order,
    outcome,
    verifies,
)
from theory.evidence.enclosure import balls, hull
from theory.evidence.roundoff import U
from theory.maxent import entmax, entmax_gap, entmax_value, softmax
from theory.maxent.sparse import entmax_support, entmax_threshold
from verify import textbook

SOURCES = ("martins2016", "peters2019", "blondel2020")
PAPER = ("seen", "recalled", "derived", "refereed")
NEAR_ONE = (1.0 - 1e-9, 1.0 - 1e-12, 1.0, 1.0 + 1e-12, 1.0 + 1e-9)
ORDERS = (0.5, 0.75, *NEAR_ONE, 1.001, 1.25, 1.5, 1.75, 2.0)
LONG = (0.5, 1.0 + 1e-9, 1.5, 2.0)
WITNESS = np.array([1.0, 0.9, 0.0])


@cache
def definition(scores, alpha, tau=1.0, counts=None):
    """The law of the definition in balls, once for a claim and its twins."""
    return textbook.entmax(np.array(scores), alpha, tau, counts)


def missed(weights, s, alpha, tau=1.0):
    """Enclose the largest error of a weight; scores that occur many times are solved for once."""
    order = np.argsort(s, kind="stable")
    ordered = s[order]
    found = weights[order]
    first = np.append(True, np.diff(ordered) != 0.0)
    values = ordered[first]
    place = np.cumsum(first) - 1
    counts = np.diff(np.append(np.flatnonzero(first), s.size))
    law = definition(tuple(values.tolist()), alpha, tau, tuple(counts.tolist()))
    once = first | np.append(True, np.diff(found) != 0.0)  # equal scores have equal weights, as far as they do
    pairs = zip(place[once].tolist(), balls(found[once]), strict=True)
    return Interval.largest([hull(abs(p - law[k])) for k, p in pairs])


def weight_bound(n):
    """What rounding costs a weight of order up to two, among n of them: derived where the threshold is found."""
    return (6.0 + 3.0 * np.log(ball(n))) * U


def exponent_inverted(s, alpha):
    """Scores and order whose entmax is [e s - theta]_+ ** e, e = alpha - 1, with the exponent upside down."""
    return (s * (alpha - 1.0) ** 2, 1.0 + 1.0 / (alpha - 1.0)) if alpha >= 1.25 and s.size < 10 else (s, alpha)


def many(n):
    """Rows of n scores of few values: one that holds half of the mass, or a few, and a steep one among equal others."""
    yield "one and many", np.append(np.log(float(n)), np.zeros(n - 1))
    yield "many in steps", np.concatenate([[3.0], np.resize([0.0, -0.01, 1.0], n - 1) / np.sqrt(n)])


def rows(run, *, quick, paper, longest=1000):
    """Yield rows on which such code tends to be wrong, then random ones."""
    yield "two", np.array([0.75, 0.0])
    yield "three", WITNESS
    yield "one", np.array([3.0])
    yield "ties", np.array([1.0, 1.0, 1.0, 0.25, 0.25, -0.5])
    yield "edge", np.array([0.0, -1.0, -2.0 + 2.0**-52, -4.0, -4.0 - 2.0**-51])
    yield "neighbours", 1.0 - 2.0**-53 * np.arange(8.0) ** 3
    yield "steep edge", np.array([0.0, -0.081, np.nextafter(-0.081, -1.0)])  # at order ten
    yield "one and waves", np.append(0.44, 1e-3 * np.cos(np.arange(120.0)))  # a sum is mended by the small ones
    yield "one and zeros", np.append(37.43014710453859, np.zeros(126))  # of which a plain sum keeps no digit
    yield "range 1e300", np.array([1e300, -1e300, 0.0, 1e300])
    yield "range 1e4", np.array([1e4, 1e4 - 1.0, 0.0, -1e4])
    for rng in run.draws(quick=quick, paper=paper):
        n = int(rng.choice([2, 3, 5, 12, 40]))
        yield "random", rng.normal(size=n) * float(rng.choice([0.01, 0.3, 1.0, 3.0, 30.0]))
    for rng in run.draws(quick=0, paper=2):
        yield "long", rng.normal(size=longest) * float(rng.choice([0.01, 1.0]))


def farthest(weights, law):
    """Enclose the largest distance of floats to balls."""
    return Interval.largest([hull(abs(a - b)) for a, b in zip(balls(weights), law, strict=True)])


@verifies(
    Claim(
        "entmax.accuracy",
        "a computed weight of entmax is off by a few roundings, and by the logarithm of the number of scores times as many",
        r"$|\mathrm{fl}(p_i) - p_i| \le (6 + 3\log n)u$, $p_i = [1 + (\alpha - 1)(s_i/\tau - \nu)]_+^{1/(\alpha-1)}$, $\sum_i p_i = 1$; softmax at $\alpha = 1$",
        assumptions=(r"$\frac12 \le \alpha \le 2$", "$u = 2^{-53}$", r"any number of scores; judged up to $n = 10^5$"),
        spec=("RA.D2",),
        cites=SOURCES,
        source_status=PAPER,
    ),
    constant("tenth", "within a tenth of that", share=0.1),
    bug("exponent", "the exponent is alpha - 1 instead of its inverse", inverted=True),
    hypothesis("steep", "the order is ten, where a base off by u moves a weight at the edge by u^(1/9)", steep=True),
)
def test_accuracy(run, *, share=1.0, inverted=False, steep=False):
    cases = [(name, s, ORDERS if s.size <= 40 else LONG, 1.0) for name, s in rows(run, quick=4, paper=25)]
    cases += [(name, s, (*LONG, 0.9), 1.0) for name, s in many(10**5)]
    cases += [("tempered", WITNESS, ORDERS, tau) for tau in (0.3, 7.0)]
    cases.append(("quarter", np.append(3.9996547502816426, np.zeros(126)), (1.25,), 1.0))
    # one of many has half of the mass, and all others the same rounding
    cases.append(("half", np.append(330.3, np.zeros(10**5 - 1)), (0.6,), 1.0))
    for name, s, orders, tau in cases:
        for alpha in (10.0,)[: s.size < 10] if steep else orders:
            given, at = exponent_inverted(s, alpha) if inverted else (s, alpha)
            bound = share * weight_bound(s.size)
            off = missed(entmax(s, alpha, tau=tau), given, at, tau)
            yield outcome(at_most(off, bound, scale=bound, input=name, alpha=alpha, n=s.size))


@verifies(
    Claim(
        "entmax.optimal",
        "no law beats entmax in mean score plus entropy by more than its rounding, and its value is the maximum",
        r"$p^* = \mathrm{entmax}_\alpha(s/\tau)$ maximises $F(p) = \langle p, s\rangle + \tau H_\alpha(p)$: $\max_\Delta F - F(p) \le \max_i g_i - \langle g, p\rangle$, $g = \nabla F(p)$, vanishes there; at the vertex of a score $d$ behind it is, for $\alpha > 1$, at most $1 + \frac{\tau}{(\alpha-1)d}$ times what is missed",
        assumptions=("finite scores", "positive temperature", r"$0 < \alpha < \infty$"),
        spec=("RA.D2",),
        cites=(*SOURCES, "jaggi2013"),
        source_status=PAPER,
    ),
    bug("exponent", "the exponent is alpha - 1 instead of its inverse", inverted=True),
    bug("temperature", "the scores are not divided by the temperature", cooled=False),
    constant("neighbour", "the law of an order one per cent higher is optimal", shift=1.01),
    constant("less", "half of the bound is bound enough", share=0.5),
    hypothesis("colder", "the law is that of half the temperature", colder=0.5),
    constant("nearer", "at a vertex the bound exceeds what is missed by a tenth less", excess=0.9),
)
def test_optimal(run, *, inverted=False, cooled=True, shift=1.0, share=1.0, excess=1.0, colder=1.0):
    cases = [("three", WITNESS, 1.0)]
    cases += [
        ("random", rng.normal(size=int(rng.integers(2, 9))), float(rng.uniform(0.6, 3.0)))
        for rng in run.draws(quick=5, paper=40)
    ]
    for name, s, tau in cases:
        for alpha in (0.5, 0.75, 1.0, 1.0 + 1e-9, 1.25, 1.5, 1.75, 2.0, 2.5):
            scores, at = exponent_inverted(s, alpha) if inverted else (s, shift * alpha)
            p = entmax(scores, at, tau=colder * tau if cooled else 1.0)
            gap = entmax_gap(s, p, alpha, tau=tau)
            beyond = gap - tau * rounding_of_gap(s, p, alpha, tau)  # what rounding excuses depends on the law itself
            yield outcome(at_most(beyond, 0, scale=tau, input=name, alpha=alpha, tau=tau))
            top = (definition(tuple(s.tolist()), alpha, tau) * balls(s)).sum() + ball(tau) * entropy(s, alpha, tau)
            size = float(np.abs(s).max()) + tau * (1.0 + max(1.0, s.size ** (1.0 - alpha)) * np.log(s.size))
            value = entmax_value(exact(scores), at, tau=colder * tau if cooled else 1.0)
            yield equals(value, top, scale=size, part="value")
    for alpha, lead, tau in ((1.25, 8.0, 1.0), (1.5, 1000.0, 2.0), (2.0, 1000.0, 1.0), (2.5, 8.0, 0.5)):
        s = [lead, 0.0]
        a = ball(alpha)
        t = ball(tau)
        # the leading score is the maximum there, and at the other vertex the entropy vanishes as well
        gap = entmax_gap(s, [0.0, 1.0], alpha, tau=tau)
        case = {"alpha": alpha, "tau": tau, "lead": lead}
        yield at_least(share * gap, lead, part="bound", **case)
        yield at_most(gap, lead + excess * t / (a - 1), part="attained", **case)


def entropy(s, alpha, tau):
    """The entropy as it is printed, at the law of the definition."""
    law = definition(tuple(s.tolist()), alpha, tau)
    a = ball(alpha)
    if alpha == 1.0:
        return -(law * textbook.log(law)).sum()
    return (1 - sum((p**a for p in law if p > 0), ball(0))) / (a * (a - 1))


def rounding_of_gap(s, p, alpha, tau):
    """Bound the gap of a law off by its rounding: the gradient moves by p ** (alpha - 2) times that, in both its terms.

    Above order two the base of the power is what is off. A weight that is lost at the edge moves it by a whole power.
    """
    e = alpha - 1.0
    off = weight_bound(s.size)
    own = p[p > 0.0]
    moved = off * max(1.0, float(own.min()) ** (alpha - 2.0)) if alpha <= 2.0 else 2 * off / e
    lost = ((p == 0.0) & (entmax_support(s, alpha, tau=tau) > 0.0)).any()
    return hull(4.0 * moved + (off**e / e if lost and e > 0.0 else 0.0))


@verifies(
    Claim(
        "entmax.bracket",
        "the threshold lies between that of a sure winner and that of equal scores, both attained",
        r"$0 \le \nu - \max s/\tau \le \frac{1 - n^{1-\alpha}}{\alpha - 1}$ ($\log n$ at 1); upper end: equal scores; lower end: $\alpha > 1$, lead $\ge \tau/(\alpha-1)$",
        assumptions=(r"$0 < \alpha \le 10$",),
        spec=("RA.D2",),
        cites=SOURCES,
        source_status=PAPER,
    ),
    constant("narrow", "the upper end is one per cent lower", factor=0.99),
    bug("power", "n to the power -alpha stands for n to the power 1 - alpha", power=0),
    hypothesis("small-lead", "a lead of half as much suffices for the lower end", lead=0.5),
)
def test_bracket(run, *, factor=1.0, power=1, lead=1.0):
    for number, rng in enumerate(run.draws(quick=6, paper=60)):
        few = int(rng.integers(2, 60))
        for alpha in (0.5, 0.9, 1.0, 1.0 + 1e-9, 1.3, 1.5, 2.0, 3.0, 10.0):
            n = few if number or alpha not in (0.5, 1.0, 2.0) else 10**5
            e = ball(alpha) - 1
            m = ball(n)
            upper = m.log() if alpha == 1.0 else (1 - m ** (power - 1 - e)) / e
            for name, s in (("random", rng.normal(size=n)), ("equal", np.full(n, 0.3))):
                found = entmax_threshold(exact(s), alpha)
                yield at_least(found, 0, scale=1, input=name, alpha=alpha)
                yield at_most(found, factor * upper, scale=1, input=name, alpha=alpha)
                if name == "equal":
                    yield equals(found, factor * upper, scale=1, input=name, alpha=alpha, part="attained")
            if alpha >= 1.25:
                s = np.append(lead / (alpha - 1.0) * (1.0 + 4 * U), np.zeros(n - 1))
                yield equals(entmax_threshold(exact(s), alpha), 0, scale=1, input="winner", alpha=alpha)


@verifies(
    Claim(
        "entmax.tail",
        "below order one a score far behind keeps a weight that falls like a power",
        r"$0 < \alpha < 1$: $[(1-\alpha)g + n^{1-\alpha}]^{-1/(1-\alpha)} \le p_i \le [1 + (1-\alpha)g]^{-1/(1-\alpha)}$, $g = (\max s - s_i)/\tau$; $3.845\cdot10^{-4}$ at $\alpha = \frac12$, $n = 2$, $g = 100$, against $3.720\cdot10^{-44}$ for softmax",
        assumptions=(r"$0 < \alpha < 1$",),
        spec=("RA.D2",),
        cites=("blondel2020",),
        source_status=PAPER,
    ),
    hypothesis("softmax", "softmax has the same tail", law=1.0),
    constant("exponent", "the exponent is one per cent larger", power=1.01),
    bug("tempered", "the scores are divided by 1.05", heat=1.05),
)
def test_tail(run, *, law=0.0, power=1.0, heat=1.0):
    gaps = [np.array([0.0, 100.0]), np.append(0.0, np.full(10**5 - 1, 100.0))]
    rngs = run.draws(quick=10, paper=100)
    gaps += [np.append(0.0, rng.uniform(0.5, 100.0, size=int(rng.integers(1, 12)))) for rng in rngs]
    for g, alpha in itertools.product(gaps, (0.5, 0.75, 0.9)):
        n = g.size
        b = 1 - ball(alpha)
        p = entmax(exact(-g), law or alpha, tau=heat)
        for i in (1, n - 1):
            at = ball(g[i])
            high = (1 + b * at) ** (-power / b)
            low = (b * at + ball(n) ** b) ** (-1 / b)
            yield at_least(p[i] / high, low / high, scale=1)
            yield at_most(p[i] / high, 1, scale=1, alpha=alpha, gap=float(g[i]))
    far = exact([100.0, 0.0])
    yield equals(entmax(far, law or 0.5, tau=heat)[1] / 1e-4, Interval.printed("3.845"), part="power tail")
    # the weight of softmax is far below the rounding of the other one: its error is relative
    yield equals(softmax(far, tau=heat)[1] / 1e-44, Interval.printed("3.720"), part="softmax")


@verifies(
    Claim(
        "entmax.correction",
        "a sum that misses one is mended to second order by a Newton step on the weights, by division to first only",
        r"$p = \exp_\alpha(s - \nu)$, $r = \sum_i p_i - 1$, $Q = \sum_i p_i^{2-\alpha}$: $|p_i - rp_i^{2-\alpha}/Q - p_i^*| = O(r^2)$",
        assumptions=(r"$\alpha \ne 1$ (there both are the same and exact)", "support constant nearby"),
        spec=("RA.D2",),
        cites=("peters2019",),
        source_status=("derived",),
    ),
    bug("divided", "the weights are divided by their sum", divided=True),
    constant("third", "the error is of third order", power=3),
    hypothesis("flat", "all entries share alike in the correction, as at order two", flat=True),
)
def test_correction(run, *, divided=False, power=2, flat=False):
    for rng in run.draws(quick=3, paper=40):
        s = rng.uniform(0.0, 0.2, size=int(rng.integers(3, 7)))
        for alpha in (0.5, 1.25, 1.5, 1.75):
            law = definition(tuple(s.tolist()), alpha)
            nu = entmax_threshold(exact(s), alpha)
            errors = []
            for h in 2.0 ** -np.arange(4.0, 10.0):
                base = 1 + (alpha - 1.0) * (exact(s) - s.max() - nu - h)
                p = np.power(base, 1 / ball(alpha - 1.0))
                q = np.power(base, (2 - alpha) / ball(alpha - 1.0))
                share = 1 / exact(float(s.size)) if flat else q / q.sum()
                mended = p / p.sum() if divided else p - (p.sum() - 1.0) * share
                errors.append(abs(mended - law).max())
            yield equals(order(errors), power, scale=1, alpha=alpha)
