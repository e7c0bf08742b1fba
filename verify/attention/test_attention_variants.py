"""Attention beside the plain softmax over all keys: dropout, the k best keys, and windows."""

import itertools
from fractions import Fraction
from functools import partial

import numpy as np

from theory.attention import DotProduct, attend_dropout, attend_rows, attend_window, dropped, top_k, weight_error
from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    batch_mean,
    bug,
    constant,
    equals,
    hypothesis,
    total,
    verifies,
)
from theory.evidence.enclosure import ends
from theory.evidence.roundoff import gamma
from verify import textbook
from verify.textbook import balls, hull

PLAIN = DotProduct(scale=1.0)
FLAT = DotProduct(scale=0.01)  # nearly equal weights: what is seen through many layers stays above the rounding
DROPOUT = ("srivastava2014",)
HALVES = np.array([0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.0078125])  # sums to one exactly


@verifies(
    Claim(
        "variant.dropout",
        "inverted dropout keeps the mean of every weight, but the sum of a row only on average",
        r"$\tilde p_i = \frac{\xi_i}{1 - r}p_i$: $\mathbb{E}\tilde p = p$, $\mathrm{Var}\,\tilde p_i = \frac{r}{1 - r}p_i^2$, $\mathrm{Var}\sum_i\tilde p_i = \frac{r}{1 - r}\|p\|_2^2$, over all $2^8$ masks",
        assumptions=("independent draws", r"$0 \le r < 1$"),
        spec=("RA.G7",),
        cites=DROPOUT,
        provenance=("recalled", "derived", "refereed on paper"),
    ),
    bug("renormalised", "the weights that are kept are divided by their sum", renormalised=True),
    constant("unscaled", "the variance lacks the division by 1 - r", power=0),
    hypothesis("one", "the sum of a row is taken to be one", summed=0),
)
def test_dropout(run, *, renormalised=False, power=1, summed=1):
    laws = [HALVES, *(rng.dirichlet(np.ones(8)) for rng in run.streams(run.pick(quick=1, paper=8)))]
    masks = np.array(list(itertools.product([True, False], repeat=8)))
    for p, rate in itertools.product(laws, run.pick(quick=(0.25, 0.1), paper=(0.25, 0.5, 0.1))):
        r = Fraction(rate)
        chances = [(1 - r) ** int(mask.sum()) * r ** int((~mask).sum()) for mask in masks]
        rows = np.array([dropped(p, mask, rate) for mask in masks])
        if renormalised:
            rows = rows / np.where(masks.any(axis=1), rows.sum(axis=1), 1.0)[:, np.newaxis]
        exact, law = np.vectorize(Fraction, otypes=[object])(rows), [Fraction(x) for x in p.tolist()]
        factor = r / (1 - r) ** power
        sums = exact.sum(axis=1)
        for i, (column, weight) in enumerate(zip([*exact.T, sums], [*law, sum(law)], strict=True)):
            mean = sum(c * x for c, x in zip(chances, column, strict=True))
            square = sum(c * x * x for c, x in zip(chances, column, strict=True))
            claimed = factor * (weight**2 if i < 8 else summed * sum(x**2 for x in law))
            case = {"rate": rate, "entry": i if i < 8 else "sum"}
            # one rounded division: two more for 1 - r and the renormalised twin's sum
            yield equals(within(mean, 12), weight, scale=1, quantity="mean", **case)
            yield equals(within(square, 24) - within(mean, 12) ** 2, claimed, scale=1, quantity="variance", **case)


def within(value, roundings):
    """Enclose the truth behind an exact sum of positive numbers that were each rounded so many times."""
    return Interval.exactly(value) * Interval.within(1.0, gamma(roundings))


@verifies(
    Claim(
        "variant.dropout-sampling",
        "attention with drawn dropout has the mean and the variances of independent masks",
        r"over queries: $\mathbb{E}\tilde p_i = p_i$, $\mathbb{E}\tilde p_i\tilde p_j = p_i p_j$ for $i \ne j$, $\mathbb{E}(\sum_i\tilde p_i)^2 = 1 + \frac{r}{1 - r}\|p\|_2^2$",
        assumptions=("independent draws",),
        spec=("RA.G7",),
        cites=DROPOUT,
        provenance=("recalled", "derived", "refereed on paper"),
    ),
    bug("swapped", "the rate is taken for the probability to keep", swapped=True),
    hypothesis("shared", "all weights of a row are kept or dropped together", shared=True),
    constant("plain", "the sum of a row has no variance", spread=0.0),
)
def test_dropout_sampling(run, *, swapped=False, shared=False, spread=1.0):
    count, rate, p = 64 * run.pick(quick=400, paper=4000), 0.25, HALVES[:4] / HALVES[:4].sum()
    (rng,) = run.streams(1)
    rows = attend_dropout(np.ones((count, 1)), np.log(p)[:, np.newaxis], np.eye(4), rate=rate, rng=rng, score=PLAIN)
    r = 1 - rate if swapped else rate
    factor, among = spread * r / (1 - r), 4 + 3 + 1
    for i in range(4):
        yield equals(batch_mean(rows[:, i], among=among), p[i], scale=1, quantity="mean", entry=i)
    for i in range(3):
        product = p[0] * p[i + 1] * (1 + factor if shared else 1)
        found = batch_mean(rows[:, 0] * rows[:, i + 1], among=among)
        yield equals(found, product, scale=1, quantity="product", entry=i + 1)
    square = 1 + factor * (1 if shared else float(p @ p))
    yield equals(batch_mean(rows.sum(axis=1) ** 2, among=among), square, scale=1, quantity="square of the sum")


# three keys whose values are read better through the second one alone than through the best
WITNESS = (np.log([0.4, 0.35, 0.25]), np.array([1.0, 0.0, 0.0]))


@verifies(
    Claim(
        "variant.top-k",
        "among all laws on k keys, softmax over the k largest scores is nearest to the softmax over all",
        r"$\min_{|\mathrm{supp}\,\nu| \le k}\|\nu - p\|_1 = 2\min_{|S| = k}p(S^c)$, attained by the $k$ largest scores",
        assumptions=("finite scores",),
        spec=("RA.G11",),
        provenance=("derived", "refereed"),
    ),
    bug("size", "the k scores of largest size are taken, whatever their sign", size=True),
    constant("once", "the law moves by the mass that is dropped", factor=1),
    hypothesis("output", "the output is taken to be nearest too, whatever the values", output=True),
)
def test_top_k(run, *, size=False, factor=2, output=False):
    cases = [WITNESS, (np.array([1.0, -2.0, 0.5, 1.0]), np.array([1.0, 2.0, 3.0, 4.0]))]
    for rng in run.streams(run.pick(quick=6, paper=60)):
        n = int(rng.integers(3, 8))
        cases.append((2.0 * rng.normal(size=n), rng.normal(size=n)))
    for (s, v), rng in zip(cases, run.streams(len(cases)), strict=True):
        n, keys, one = s.size, s[:, np.newaxis], np.ones((1, 1))
        p = textbook.laws(textbook.dot_scores(one, keys, beta=1.0))[0]
        middle, radius = ends(p)
        error = weight_error(one, keys, PLAIN)
        for k in range(1, n + 1):
            rows = by_size(s, k) if size else partial(top_k, k=k)
            law = attend_rows(one, keys, np.eye(n), rows=rows, score=PLAIN)[0]
            apart = total(np.abs(law - middle), (error + gamma(4)) * law + radius + gamma(2) * middle)
            subsets = [list(kept) for kept in itertools.combinations(range(n), k)]
            left = [1 - p[kept].sum() for kept in subsets]
            least = -Interval.largest([-hull(x) for x in left])
            yield equals(apart, factor * least, scale=1, n=n, k=k)
            for _ in range(3):
                rival = np.zeros(n)
                rival[subsets[int(rng.integers(len(subsets)))]] = rng.dirichlet(np.ones(k))
                moved = total(np.abs(rival - middle), radius + gamma(2) * (rival + middle))
                yield at_least(moved, factor * least, scale=1, n=n, k=k)
            if output:
                whole = hull((p * balls(v)).sum())
                for kept in subsets:
                    other = hull((p[kept] * balls(v[kept])).sum() / p[kept].sum())
                    mine = Interval.within(float(law @ v), (error + gamma(n + 4)) * float(np.abs(v).max()))
                    yield at_most(abs(mine - whole), abs(other - whole), scale=1, n=n, k=k)


def by_size(scores, k):
    """Row map of the twin: softmax over the k scores of largest size."""

    def rows(s):
        hidden = np.ones(s.shape, dtype=bool)
        hidden[:, np.argsort(-np.abs(scores), kind="stable")[:k]] = False
        return top_k(np.where(hidden, -np.inf, s), k)

    return rows


def stacked(x, layers, back, ahead):
    """Self-attention through windows, layer on layer."""
    for _ in range(layers):
        x = attend_window(x, x, x, back=back, ahead=ahead, score=FLAT)
    return x


@verifies(
    Claim(
        "variant.window-reach",
        "layers of windows read from as far as the sum of what each looks back and ahead, and no further",
        r"windows of $b$ keys before and $a$ after the query: $L$ layers read from exactly $Lb$ tokens before and $La$ after; a causal window of $w$ keys has $b = w - 1$",
        assumptions=("every score finite",),
        spec=("RA.G11",),
        cites=("beltagy2020",),
        provenance=("derived", "refereed"),
    ),
    constant("width", "L windows of w keys reach L w back", extra=1),
    bug("one-less", "the last layer alone is counted", last=True),
    hypothesis("symmetric", "a window is taken to look ahead as far as it looks back", symmetric=True),
)
def test_window_reach(run, *, extra=0, last=False, symmetric=False):
    n = 300  # more than one block of queries
    cases = [(1, 3, 0), (3, 2, 0), (2, 1, 3), (4, 0, 1), *run.pick(quick=[], paper=[(8, 5, 2), (5, 7, 0), (16, 1, 1)])]
    for (layers, back, ahead), rng in zip(cases, run.streams(len(cases)), strict=True):
        x = rng.normal(size=(n, 2))
        output = stacked(x, layers, back, ahead)
        for at in (0, 255, 256, n - 1):
            moved = x.copy()
            moved[at] += 1.0
            apart = output != stacked(moved, layers, back, ahead)
            changed = np.flatnonzero(apart.any(axis=1))  # what is not seen has weight zero, to the last bit
            depth = 1 if last else layers
            claimed = min(n - 1 - at, depth * (back + extra)), min(at, depth * (back if symmetric else ahead))
            case = {"layers": layers, "back": back, "ahead": ahead, "token": at}
            yield equals(int(changed.max()) - at, claimed[0], scale=1, side="after", **case)
            yield equals(at - int(changed.min()), claimed[1], scale=1, side="before", **case)
