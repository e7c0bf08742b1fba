"""Closed forms of the weights of two scores, and the paths of three on cooling."""

from fractions import Fraction

import numpy as np

from theory.evidence import Claim, at_least, at_most, ball, bug, constant, equals, exact, hypothesis, verifies
from theory.evidence.once import once
from theory.maxent import entmax, sparsemax, studies
from verify import textbook
from verify.textbook import balls

BEFORE = ("blondel2020", "martins2016")


def plane(best, d, *, share=8, clipped=True):
    """The first weight of two laws, d the distance of their scores by temperature, in balls."""
    step = ball(int(d > 0))
    if best == "softmax":
        return 1 / (1 + (-d).exp())
    if best == "entmax 2":
        return step if clipped and not abs(d) < 1 else (1 + d) / 2
    if best == "entmax 1.5":
        return step if not abs(d) < 2 else ball(0.5) + d * (8 - d * d).sqrt() / share
    return step


@once
def law_of(s, alpha, tau):
    """The maximiser of an order, enclosed."""
    return sparsemax(exact(s), tau=tau) if alpha == 2.0 else entmax(exact(s), alpha, tau=tau)


@verifies(
    Claim(
        "naive.plane",
        "with two scores the weights have closed forms in their distance",
        r"$d = (s_1 - s_2)/\tau$: $p_1 = (1 + e^{-d})^{-1}$; $\frac12 + \frac d2$; $\frac12 + \frac d8\sqrt{8 - d^2}$; any $\alpha > 1$: $p_1^{\alpha-1} - p_2^{\alpha-1} = (\alpha - 1)d$, up to $(\alpha - 1)|d| = 1$",
        assumptions=("two scores",),
        spec=("RA.A3", "RA.A5"),
        cites=(*BEFORE, "peters2019"),
        source_status=("derived", "refereed"),
    ),
    constant("quarter", "the square root is divided by 4", share=4),
    hypothesis("unclipped", "the distance may exceed one for order 2", clipped=False),
    bug("untempered", "the scores are not divided by the temperature", tempered=False),
    constant("order", "the distance is multiplied by the order instead of one less", less=0),
)
def test_plane(run, *, share=8, clipped=True, tempered=True, less=1):
    table = run.study(studies.maximisers)
    for part in ("plane", "step"):
        rows = table.where(part=part)
        columns = (rows[name].tolist() for name in ("best", "tau", "s1", "s2"))
        for best, tau, s1, s2, p1, p2 in zip(*columns, rows.intervals("p1"), rows.intervals("p2"), strict=True):
            d = ball((Fraction(s1) - Fraction(s2)) / (Fraction(tau) if tempered and tau else 1))
            first = plane(best, d, share=share, clipped=clipped)
            if best == "cosine":  # both scores are positive
                first = ball(Fraction(s1) / Fraction(s1 + s2))
            yield equals(p1, first, scale=1, part=part, best=best, tau=tau, distance=s1 - s2)
            yield equals(p2, 1 - first, scale=1, part=part, best=best, tau=tau, distance=s1 - s2)
    for alpha in (1.125, 1.25, 1.5, 1.75, 2.0, 3.0):
        e = Fraction(alpha) - 1
        for reach in (0.125, 0.5, 0.875, 1.5):  # the distance as a share of the one at which a weight vanishes
            d = reach / float(e)
            if reach > 1.0:
                most = 1 if clipped else Fraction(1 + reach) / 2  # as it goes on at order 2
                yield equals(entmax(exact([d, 0.0]), alpha)[0], most, part="vertex", alpha=alpha)
                continue
            powers = np.power(entmax(exact([d, 0.0]), alpha), ball(e))
            claimed = (e + 1 - less) * Fraction(d)
            yield equals(powers[0] - powers[1], claimed, scale=1, part="order", alpha=alpha)


SIX = np.array([4.0, 4.0, 4.0, 2.0, 1.0, 0.0])  # at the mean distance from the smallest, three of six are lost


def straight(s, tau, *, leaves=True, mean=False, power=-1, own=True):
    """Sparsemax of falling rational scores by its closed form, and how many of them have weight."""
    n = len(s)
    sums = [sum(s[: k + 1]) - (k + 1) * x for k, x in enumerate(s)]
    inside = sum(not leaves or x / ((k + 1) if mean else 1) < tau for k, x in enumerate(sums))
    middle = sum(s[:inside]) / inside if own else sum(s) / n
    law = [Fraction(1, inside) + tau**power * (x - middle) for x in s[:inside]]
    return law + [Fraction(0)] * (n - inside), inside


@verifies(
    Claim(
        "naive.path",
        "on cooling sparsemax goes straight in 1/tau from edge to edge and reaches a vertex; softmax bends and never arrives",
        r"$p_i = \frac1k + \frac1\tau\big(s_i - \frac1k\sum_{j \le k} s_j\big)$ on the $k$ largest, $k$ the largest with $\sum_{j \le k}(s_j - s_k) < \tau$; all of them, $p - u = (s - \bar s\mathbf 1)/\tau$, iff $\tau > n(\bar s - \min s)$",
        assumptions=("scores in falling order",),
        spec=("RA.A5", "RA.A4", "RA.D2"),
        cites=BEFORE,
        source_status=("recalled", "derived", "refereed"),
    ),
    hypothesis("interior", "no weight ever vanishes", leaves=False),
    constant("mean", "an entry leaves where the mean distance, not the sum, is the temperature", mean=True),
    bug("harmonic", "the path is straight in the temperature instead of its inverse", power=1),
    bug("all", "the scores are centred over all entries", own=False),
    hypothesis("order", "the order is 3/2", alpha=1.5),
)
def test_path(run, *, leaves=True, mean=False, power=-1, own=True, alpha=2.0):
    form = {"leaves": leaves, "mean": mean, "power": power, "own": own}
    drawn = run.study(studies.maximisers).where(part="path")
    along = run.study(studies.paths).where(alpha=alpha)
    for table, names in ((drawn, drawn["best"].tolist()), (along, ["sparsemax"] * len(along["tau"]))):
        weights = [table.intervals(f"p{k}") for k in (1, 2, 3)]
        s = [Fraction(float(table[f"s{k}"][0])) for k in (1, 2, 3)]
        for best, tau, *law in zip(names, table["tau"].tolist(), *weights, strict=True):
            if best == "softmax":
                claimed = textbook.laws(balls([x / Fraction(tau) for x in s])[np.newaxis])[0]
            else:
                claimed = balls(straight(s, Fraction(tau), **form)[0])
            for k, (p, q) in enumerate(zip(law, claimed, strict=True)):
                yield equals(p, q, scale=1, best=best, tau=tau, entry=k, part="drawn")
    rows = [SIX]
    rows += [rng.permutation(40)[: int(rng.integers(2, 9))] / 8.0 for rng in run.draws(quick=12, paper=150)]
    for given in rows:
        s = np.sort(given)[::-1]
        n = given.size
        for share in (3.0, 1.001, 0.999, 0.4):
            tau = share * float(s.sum() - n * s[-1])
            law = law_of(s, alpha, tau)
            claimed, inside = straight(list(map(Fraction, s.tolist())), Fraction(tau), **form)
            yield equals(law, balls(claimed), scale=1, part="rows", n=n, share=share)
            check, every = (at_least, n) if share > 1.0 else (at_most, n - 1)
            yield check(inside, every, part="all", n=n, share=share)
