"""Normmax and the budget map: each by a certificate of optimality that needs no maximiser, and by printed digits."""

from fractions import Fraction

import numpy as np

from theory.evidence import (
    Claim,
    Interval,
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
from theory.evidence.roundoff import U
from theory.maxent import budget, entmax, frank_wolfe_gap, normmax, sparsemax
from verify import textbook
from verify.textbook import balls, hull

PRINTED = np.array([-0.4, 0.1, 0.3, 1.1])


def slopes(s, p, alpha):
    """The gradient of the score less the norm of exponent alpha, at a law of balls."""
    a = ball(alpha)
    norm = sum((x**a for x in p if x > 0), ball(0)) ** (1 / a)
    return balls(s) - np.array([(x / norm) ** (a - 1) if x > 0 else x * 0 for x in p], dtype=object)


def norm_gap(s, law, alpha):
    """Enclose the Frank-Wolfe gap of the score less the norm of exponent alpha."""
    return frank_wolfe_gap(slopes(s, balls(law) / balls(law).sum(), alpha), law)


def powered(s, alpha, *, plain):
    """The law as it is printed, in balls: thresholded scores of which the powers alpha b sum to one."""
    order = Fraction(alpha)
    z = balls(s)
    if plain:
        return textbook.entmax(z / ball(order - 1), order)
    solved = textbook.entmax(z * ball(order / (order - 1)), 2 - 1 / order)
    roots = np.array([x ** (1 / ball(alpha)) if x > 0 else x * 0 for x in solved], dtype=object)
    return roots / roots.sum()


def gap_bound(alpha, n):
    """What rounding adds to the gap of a computed law.

    With x_i = s_i - theta the gradient is s_i - (p_i/|p|)^(alpha - 1). A score and its distance from the threshold are
    rounded, x by 3 u; a power and its exponent by (2 (alpha - 1) + 1) u of the gradient; a threshold off by eight
    roundings moves all x alike, and the norm by the sum of the weights x^b, at most n^(1 - 1/alpha). Twice, for both
    terms of the gap.
    """
    return 2 * (2 * ball(alpha) + 8 + 8 * ball(n) ** (1 - 1 / ball(alpha))) * U


@verifies(
    Claim(
        "normmax.law",
        "the law that trades score against a norm is a power of thresholded scores whose larger powers sum to one",
        r"$\arg\max_\Delta\langle p, s\rangle - \|p\|_\alpha \propto (s - \theta)_+^{b}$ with $\sum(s - \theta)_+^{\alpha b} = 1$, $b = \frac1{\alpha-1}$",
        assumptions=(r"$\alpha > 1$",),
        spec=("RA.D11",),
        cites=("blondel2020", "santos2024"),
        source_status=("seen", "derived", "refereed"),
    ),
    bug("sum", "the powers b themselves sum to one, which at order 2 is sparsemax", plain=True),
    constant("order", "the exponent is one per cent larger", factor=1.01),
    hypothesis("untied", "no two scores are equal: of those that are only the first counts", tied=False),
)
def test_normmax(run, *, plain=False, factor=1.0, tied=True):
    def solve(s, alpha):
        kept = s if tied else np.where(np.isin(np.arange(s.size), np.unique(s, return_index=True)[1]), s, -9.0)
        return entmax(kept / (alpha - 1.0), alpha) if plain else normmax(kept, factor * alpha)

    digits = [Interval.printed(text) for text in (".28869541", ".71130459")]
    for weight, claimed in zip(exact(solve(PRINTED, 3.0))[2:], digits, strict=True):
        yield equals(weight, claimed, order=3.0, part="digits")
    rows = [PRINTED, np.array([1.0, 1.0, 0.5, 0.2])]
    rows += [rng.normal(size=int(rng.integers(2, 30))) for rng in run.draws(quick=12, paper=200)]
    for alpha in (1.25, 1.5, 2.0, 3.0, 6.0):
        many = [np.append(np.zeros(1000), np.full(1000, -0.25))] if alpha in (1.5, 3.0) else []
        for s in rows + many:
            bound = gap_bound(alpha, s.size)
            missed = norm_gap(s, solve(s, alpha), alpha)
            yield outcome(at_most(missed, bound, scale=bound, alpha=alpha, n=s.size, part="computed"))
        for s in rows[:4]:
            law = powered(s, factor * alpha, plain=plain)
            gradient = slopes(s, law, alpha)
            rise = Interval.largest([hull(x) for x in gradient - (gradient * law).sum()])
            yield at_most(rise, 0, scale=1, alpha=alpha, n=s.size, part="formula")


@verifies(
    Claim(
        "normmax.margin",
        "normmax gives everything to one entry exactly when it leads by one, whatever the order",
        r"$p = e_k$ iff $s_k \ge \max_{j \ne k}s_j + 1$, for every $\alpha > 1$: the gap of the vertex is $(1 - \text{lead})_+$",
        assumptions=(r"$\alpha > 1$", "temperature 1"),
        spec=("RA.D11",),
        cites=("blondel2020", "santos2024"),
        source_status=("seen", "derived", "refereed"),
    ),
    constant("entmax", "the margin is 1 / (alpha - 1), as for entmax", own=False),
    hypothesis("tau", "the temperature is two", tau=2.0),
)
def test_margin(run, *, own=True, tau=1.0):
    for alpha in (1.25, 1.5, 2.0, 3.0, 6.0):
        margin = 1 if own else 1 / (Fraction(alpha) - 1)
        for lead in (0.25, 0.5, 0.9375, 1.0, 1.0625, 2.0, 5.0):
            for rng in run.draws(quick=2, paper=20):
                others = -rng.uniform(0.0, 3.0, size=int(rng.integers(0, 5))).round(4)
                s = np.concatenate([[lead, 0.0], np.minimum(others, 0.0)])
                # the gap is the slope towards the next vertex: where it is positive, some of the weight goes there
                vertex = norm_gap(s / tau, np.eye(s.size)[0], alpha)
                left = max(Fraction(0), margin - Fraction(lead))
                yield equals(vertex, left, scale=1, alpha=alpha, lead=lead, part="gap")
                if lead >= margin:  # also at the margin itself, where u in a base would be u^b in a weight
                    lost = Interval.exactly(1 - Fraction(float(normmax(s, alpha, tau=tau)[0])))
                    yield outcome(at_most(lost, 4 * U, scale=1, alpha=alpha, lead=lead, part="vertex"))


def box_gap(scores, law, total):
    """Enclose how far the score less half the squares can still rise within the box of the given sum."""
    slopes = scores - law
    left = total
    best = exact(0.0)
    for k in np.argsort(-slopes.mid):  # the most of them first
        share = min(left, 1.0)
        best = best + share * slopes[int(k)]
        left = left - share
    return best - (slopes * law).sum()


@verifies(
    Claim(
        "budget.law",
        "the budget map clips the scores less a threshold to the unit interval",
        r"$\arg\max\langle p, s\rangle - \frac12\|p\|^2$ over $0 \le p \le 1$, $\sum p = k$, is $\mathrm{clip}(s - \theta, 0, 1)$; $x = (-.4, .1, .3, 1.1)$, $k = 1.5$: $(0, .15, .35, 1)$",
        assumptions=(r"$0 < k \le n$",),
        spec=("RA.D11",),
        cites=("malaviya2018",),
        source_status=("seen", "derived", "refereed"),
    ),
    hypothesis("uncapped", "a weight may exceed one", capped=False),
    bug("rescaled", "sparsemax times the budget, cut at one", rescaled=True),
    constant("near", "the budget is one in a thousand larger", factor=1.001),
    bug("below", "the scores less a threshold are not clipped at zero", clipped=False),
)
def test_budget(run, *, capped=True, rescaled=False, factor=1.0, clipped=True):
    def solve(s, total):
        if not clipped:
            return exact(s) + (total - exact(s).sum()) / s.size
        if rescaled:
            return np.minimum(total * sparsemax(exact(s)), 1.0)
        return budget(exact(s), min(factor * total, s.size)) if capped else total * sparsemax(exact(s) / total)

    claimed = np.array([ball(text) for text in ("0", "0.15", "0.35", "1")])
    yield equals(solve(PRINTED, 1.5), claimed, scale=1)
    cases = [(PRINTED, 1.5), (np.array([5.0, 0.2, 0.1, 0.0]), 2.0)]
    for rng in run.draws(quick=40, paper=600):
        n = int(rng.integers(2, 40))
        cases.append((rng.normal(size=n), float(rng.uniform(0.1, 1.0) * n)))
    for s, total in cases:
        n = s.size
        law = solve(s, total)
        size = (3.0 + float(np.abs(s).max())) * s.size
        yield equals(law.sum(), total, scale=n, part="sum", n=n)
        yield equals(box_gap(exact(s), law, total), 0, scale=size, part="optimality", n=n)
        weights = law.mid  # which are cut to the box without a rounding
        yield at_most(exact(-weights.min()), 0, scale=1, part="least", n=n)
        yield at_most(exact(weights.max()) - 1, 0, scale=1, part="most", n=n)
