"""Attention beside the plain softmax over all keys: dropout, the k best keys, and windows."""

import itertools
from fractions import Fraction
from functools import partial

import numpy as np

from theory.attention import DotProduct, attend
from theory.attention.variants import attend_dropout, attend_rows, attend_window, drop_weights, top_k
from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    ball,
    batch_mean,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    verifies,
)
from theory.evidence.once import once
from verify import textbook
from verify.textbook import balls, hull

PLAIN = DotProduct(scale=1.0)
windowed, rows_of = once(attend_window), once(attend_rows)
FLAT = DotProduct(scale=0.01)  # nearly equal weights: what is seen through many layers stays above the rounding
DROPOUT = ("srivastava2014",)
HALVES = np.array([0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.0078125])  # sums to one exactly


@once
def dropped(law, masks, rate):
    """A law with the weights dropped that each mask drops."""
    return np.stack([drop_weights(exact(law), mask, rate) for mask in masks])


@verifies(
    Claim(
        "variant.dropout",
        "inverted dropout keeps the mean of every weight, but the sum of a row only on average; at rate 0 it is attention",
        r"$\tilde p_i = \frac{\xi_i}{1 - r}p_i$: $\mathbb{E}\tilde p = p$, $\mathrm{Var}\,\tilde p_i = \frac{r}{1 - r}p_i^2$, $\mathrm{Var}\sum_i\tilde p_i = \frac{r}{1 - r}\|p\|_2^2$, over all $2^8$ masks",
        assumptions=("independent draws", r"$0 \le r < 1$"),
        spec=("RA.G7",),
        cites=DROPOUT,
        source_status=("recalled", "derived", "refereed on paper"),
    ),
    bug("renormalised", "the weights that are kept are divided by their sum", renormalised=True),
    constant("unscaled", "the variance lacks the division by 1 - r", power=0),
    hypothesis("one", "the sum of a row is taken to be one", summed=0),
    constant("some", "one weight in a thousand is dropped where none should be", none=0.001),
)
def test_dropout(run, *, renormalised=False, power=1, summed=1, none=0.0):
    laws = [HALVES, *(rng.dirichlet(np.ones(8)) for rng in run.draws(quick=1, paper=8))]
    masks = np.array(list(itertools.product([True, False], repeat=8)))
    for p, rate in itertools.product(laws, run.pick(quick=(0.25, 0.1), paper=(0.25, 0.5, 0.1))):
        r = Fraction(rate)
        chances = hull(balls([(1 - r) ** int(mask.sum()) * r ** int((~mask).sum()) for mask in masks]))
        rows = dropped(p, masks, rate)
        if renormalised:
            rows = rows / np.where(masks.any(axis=1), rows.sum(axis=1), 1.0)[:, np.newaxis]
        law = textbook.fractions(p)
        factor = r / (1 - r) ** power
        for i, weight in enumerate([*law, sum(law)]):
            column, of = (rows[:, i], "") if i < 8 else (rows.sum(axis=1), " of the sum")
            mean, square = chances @ column, chances @ (column * column)
            claimed = factor * (weight**2 if i < 8 else summed * sum(x**2 for x in law))
            yield equals(mean, weight, scale=1, part=f"mean{of}", rate=rate, entry=i)
            yield equals(square - mean**2, claimed, scale=1, part=f"variance{of}", rate=rate, entry=i)
    (rng,) = run.streams(1)
    # more than one block of queries
    x = rng.normal(size=(300, 2))
    masses = 1.0 + np.arange(300) % 3
    output = attend_dropout(exact(x), x, x, rate=none, rng=rng, score=PLAIN, weights=masses, causal=True)
    for i in (0, 1, 255, 256, 299):
        scores = textbook.dot_scores(x[i : i + 1], x[: i + 1], beta=1.0)
        claimed = textbook.average(scores, x[: i + 1], masses[: i + 1])
        yield equals(output[i : i + 1], claimed, scale=1, part="nothing dropped", query=i)


@verifies(
    Claim(
        "variant.dropout-sampling",
        "attention with drawn dropout has the mean and the variances of independent masks",
        r"over queries: $\mathbb{E}\tilde p_i = p_i$, $\mathbb{E}\tilde p_i\tilde p_j = p_i p_j$ for $i \ne j$, $\mathbb{E}(\sum_i\tilde p_i)^2 = 1 + \frac{r}{1 - r}\|p\|_2^2$",
        assumptions=("independent draws",),
        spec=("RA.G7",),
        cites=DROPOUT,
        source_status=("recalled", "derived", "refereed on paper"),
    ),
    bug("swapped", "the rate is taken for the probability to keep", swapped=True),
    hypothesis("shared", "all weights of a row are kept or dropped together", shared=True),
    constant("plain", "the sum of a row has no variance", spread=0.0),
    bug("renormalised", "the weights that are kept are divided by their sum", renormalised=True),
)
def test_dropout_sampling(run, *, swapped=False, shared=False, spread=1.0, renormalised=False):
    count = 64 * run.pick(quick=400, paper=4000)
    rate = 0.25
    p = HALVES[:4] / HALVES[:4].sum()
    (rng,) = run.streams(1)
    rows = attend_dropout(np.ones((count, 1)), np.log(p)[:, np.newaxis], np.eye(4), rate=rate, rng=rng, score=PLAIN)
    if renormalised:
        rows = rows / np.where(rows.any(axis=1), rows.sum(axis=1), 1.0)[:, np.newaxis]
    r = 1 - rate if swapped else rate
    factor, among = spread * r / (1 - r), 4 + 3 + 1
    for i in range(4):
        yield equals(batch_mean(rows[:, i], among=among), p[i], scale=1, part="mean", entry=i)
    for i in range(3):
        product = p[0] * p[i + 1] * (1 + factor if shared else 1)
        found = batch_mean(rows[:, 0] * rows[:, i + 1], among=among)
        yield equals(found, product, scale=1, part="product", entry=i + 1)
    square = 1 + factor * (1 if shared else float(p @ p))
    yield equals(batch_mean(rows.sum(axis=1) ** 2, among=among), square, scale=1, part="square of the sum")


# three keys whose values are read better through the second one alone than through the best
SECOND_BEST = np.array([0.4, 0.35, 0.25])


ONE = np.ones((1, 1))


@once
def without(scores, masses, kept):
    """The law that the engine gives keys on the line if those not kept have no mass."""
    left = np.where(kept, masses, 0.0)
    return attend(exact(ONE), scores[:, np.newaxis], np.eye(scores.size), score=PLAIN, weights=left)[0]


@once
def law_of(scores, masses=None):
    """The law of keys on the line, in balls."""
    return textbook.laws(textbook.dot_scores(ONE, scores[:, np.newaxis], beta=1.0), masses)[0]


@verifies(
    Claim(
        "variant.top-k",
        "dropping keys moves the law by twice their mass, an output by at most their mass times the spread of the values, and least if the k best are kept",
        r"$\|p(\cdot|S) - p\|_1 = 2p(S^c)$ and $|o' - o| \le p(S^c)\,\mathrm{diam}\{v_j\}$, sharp; $\min_{|\mathrm{supp}\,\nu| \le k}\|\nu - p\|_1 = 2\min_{|S| = k}p(S^c)$, attained by the $k$ largest weights, the $k$ largest sums of a score and the logarithm of its mass; with $p = (.4, .35, .25)$ and $v = (1, 0, 0)$ the second key alone gives an output nearer by $.2$ than the first",
        assumptions=("finite scores", "some key of positive mass is kept"),
        spec=("RA.G11",),
        source_status=("derived", "refereed"),
    ),
    bug("size", "the k scores of largest size are taken, whatever their sign", size=True),
    bug("unnormalised", "the kept weights are not divided by their sum", normalised=False),
    constant("once", "the law moves by the mass that is dropped, and an output by half of that", factor=1),
    constant("more", "the law moves by one in a hundred more", factor=2.02),
    hypothesis("third", "the value is read by the second key instead of the first", values=(0.0, 1.0, 0.0)),
)
def test_top_k(run, *, size=False, normalised=True, factor=2, values=(1.0, 0.0, 0.0)):
    cases = [np.array([1.0, -2.0, 0.5, 1.0]), np.log(SECOND_BEST)]
    cases += [2.0 * rng.normal(size=int(rng.integers(3, 8))) for rng in run.draws(quick=6, paper=60)]
    for s, rng in zip(cases, run.streams(len(cases)), strict=True):
        n = s.size
        masses = rng.integers(1, 4, size=n).astype(float)
        p = law_of(s, masses)
        for kept in (s > s.min(), np.arange(n) == rng.integers(n)):
            law = without(s, masses, kept)
            if not normalised:
                law = law * hull(p[kept].sum())
            moved = factor * p[~kept].sum()
            case = {"scale": 1, "n": n, "kept": int(kept.sum())}
            yield equals(abs(law - p).sum(), moved, part="dropped", **case)
            sides = np.where(kept, 1.0, -0.5)
            for v in (sides, rng.uniform(-0.5, 1.0, size=n)):
                yield at_most(abs(law @ v - p @ balls(v)), moved * ball(1.5) / 2, part="output", **case)
        p = law_of(s)
        for k in range(1, n + 1):
            subsets = [list(kept) for kept in itertools.combinations(range(n), k)]
            if size:
                law = without(s, np.ones(n), np.isin(np.arange(n), np.argsort(-np.abs(s), kind="stable")[:k]))
            else:
                law = rows_of(exact(ONE), s[:, np.newaxis], np.eye(n), rows=partial(top_k, k=k), score=PLAIN)[0]
            least = factor * hull(balls([1 - p[kept].sum() for kept in subsets])).min()
            yield equals(abs(law - p).sum(), least, scale=1, n=n, k=k, part="nearest")
            for rival in rivals(hull(p).mid, subsets, rng):
                apart = abs(exact(rival) / exact(rival).sum() - p).sum()
                yield at_least(apart, least, scale=1, n=n, k=k, part="rivals")
    keys = np.log(SECOND_BEST)[:, np.newaxis]
    value = np.array(values)
    first = attend_rows(exact(ONE), keys, value[:, np.newaxis], rows=partial(top_k, k=1), score=PLAIN)[0, 0]
    whole = law_of(np.log(SECOND_BEST)) @ balls(value)
    beyond = abs(first - whole) - abs(values[1] - hull(whole))
    yield equals(beyond, Interval.printed("0.2000000000"), part="output of another")


def rivals(law, subsets, rng):
    """Other laws on the subsets: one that gives all that is dropped to one kept key, and random ones."""
    best = max(subsets, key=lambda kept: law[kept].sum())
    heap = np.where(np.isin(np.arange(law.size), best), law, 0.0)
    heap[best[0]] += 1.0 - heap.sum()
    yield heap
    for _ in range(3):
        rival = np.zeros(law.size)
        masses = rng.dirichlet(np.ones(len(best)))
        rival[subsets[int(rng.integers(len(subsets)))]] = masses
        yield rival


@once
def stacked(x, layers, back, ahead):
    """Self-attention through windows, layer on layer."""
    for _ in range(layers):
        x = attend_window(x, x, x, back=back, ahead=ahead, score=FLAT)
    return x


@verifies(
    Claim(
        "variant.window-reach",
        "a window is the softmax over the keys beside the query; layers of them read from as far as they look together, and no further",
        r"windows of $b$ keys before and $a$ after the query: $o_i = \sum_{i-b \le j \le i+a} p_{ij}v_j$ with $p_{ij} \propto w_j e^{s_{ij}}$ there; $L$ layers read from no further than $Lb$ tokens before and $La$ after, the drawn ones of equal masses from as far; a causal window of $w$ keys has $b = w - 1$",
        assumptions=("every score finite", "a key of positive mass in every window"),
        spec=("RA.G11",),
        cites=("beltagy2020",),
        source_status=("derived", "refereed"),
    ),
    constant("width", "L windows of w keys reach L w back", extra=1),
    bug("one-less", "the last layer alone is counted", last=True),
    hypothesis("symmetric", "a window is taken to look ahead as far as it looks back", symmetric=True),
    hypothesis("unweighted", "the keys are taken to have equal masses", weighted=False),
)
def test_window_reach(run, *, extra=0, last=False, symmetric=False, weighted=True):
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
            yield equals(int(changed.max()) - at, claimed[0], scale=1, part="after", **case)
            yield equals(at - int(changed.min()), claimed[1], scale=1, part="before", **case)
        x = x[: n - 20]
        masses = rng.integers(0, 3, size=len(x)) + (np.arange(len(x)) % (back + ahead + 1) == 0.0)
        output = windowed(exact(x), x, x, back=back, ahead=ahead, score=PLAIN, weights=masses)
        for i in (0, 1, 255, 256, len(x) - 1):
            seen = slice(max(0, i - back - extra), i + (back if symmetric else ahead) + 1)
            scores = textbook.dot_scores(x[i : i + 1], x[seen], beta=1.0)
            claimed = textbook.average(scores, x[seen], masses[seen] if weighted else None)
            case = {"query": i, "back": back, "ahead": ahead}
            yield equals(output[i : i + 1], claimed, scale=1, part="one layer", **case)
