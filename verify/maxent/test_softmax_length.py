"""How cold attention has to be as its tokens grow in number: by the gaps of any scores, and for Gaussian ones."""

import itertools
from functools import cache

import numpy as np

from theory.evidence import Claim, Interval, at_least, at_most, bug, constant, equals, exact, hypothesis, verifies
from theory.evidence.once import once
from theory.maxent.gibbs import gap_scale, gaussian_weights
from theory.maxent.studies import length

GAPS = ("hayase2026",)
ENERGY = ("giorlandino2025", "derrida1981")
MANY = 100_000
START = 1024
weights_of = cache(gaussian_weights)


def critical(size):
    """Enclose the root of twice the logarithm, and the float in its middle."""
    root = (2 * np.log(exact(float(size)))).sqrt()
    return root, root.mid


@once
def top_weight(scores, inverse):
    """Enclose the largest weight of scores at an inverse temperature."""
    return 1 / np.exp(inverse * (exact(scores) - scores.max())).sum()


@once
def power_sum(size, power):
    """Enclose the sum of negative powers of the numbers up to this one."""
    return np.exp(-power * np.log(exact(np.arange(1.0, size + 1.0)))).sum()


@once
def by_counting(scores):
    """The statement."""
    return gap_scale(scores)


def by_rank(scores):
    """The logarithm of k and not of k + 1; of two scores, that of two."""
    gaps = np.sort(scores.max() - scores)[1:]
    ratios = np.log(np.maximum(np.arange(1.0, scores.size), 1.25)) / gaps
    return exact(ratios.max()), int(np.argmax(ratios)) + 1


def by_second(scores):
    """From the second score alone."""
    return exact(np.log(2.0) / np.sort(scores.max() - scores)[1]), 1


def by_number(scores):
    """The logarithm of the number over the longest gap."""
    gaps = scores.max() - scores
    return exact(np.log(scores.size) / gaps.max()), scores.size - 1


def scored(run):
    """Yield names and scores of which one is largest."""
    for size in (2, 5, 100, MANY):
        yield f"harmonic {size}", -np.log(np.arange(1.0, size + 1.0))
        yield f"one gap {size}", np.concatenate([[0.5], np.zeros(size - 1)])
    for rng in run.draws(quick=4, paper=60):
        size = int(rng.integers(2, 300))
        for name, scores in (("normal", rng.normal(size=size)), ("uniform", rng.random(size))):
            for scale in (1e-6, 1.0, 1e6):
                yield f"{name} at {scale:g}", scale * scores


@verifies(
    Claim(
        "softmax.gap-counting",
        "counting gaps gives the inverse temperature at which attention turns to its largest score, for all scores and sharply",
        r"gaps $\Delta_1 \le \dots \le \Delta_{n-1}$ of $n$ scores to the largest one, $b = \max_k\frac{\log(k + 1)}{\Delta_k}$, attained at $k$: at inverse temperature $\beta$ the largest weight is at least $1/\sum_{j \le n}j^{-\beta/b}$, which exceeds $1 - \frac b\beta$, and at most $1/(1 + k(k + 1)^{-\beta/b})$; both are attained, for $\Delta_j = b^{-1}\log(j + 1)$ and for equal gaps",
        assumptions=("one score is largest",),
        spec=("FN.N06",),
        cites=GAPS,
        remark="one gap to all others: b is log n over the gap; Gaussian scores: about the root of 2 log n",
        source_status=("seen", "derived"),
    ),
    bug("rank", "the logarithm of k is taken", law=by_rank),
    constant("second", "the gap to the second score decides", law=by_second),
    constant("number", "the number of scores decides", law=by_number),
    constant("near", "the ends are one per cent nearer to each other", factor=0.99),
    hypothesis("steeper", "the largest weight exceeds one less half of b over the inverse temperature", part_of=0.5),
)
def test_gap_counting(run, *, law=by_counting, factor=1.0, part_of=1.0):
    for name, scores in scored(run):
        true, (scale, count) = by_counting(scores)[0], law(scores)
        for share in (0.25, 1.0, 1.5, 4.0) if scores.size < MANY else (1.5,):
            inverse = share * true
            top = top_weight(scores, inverse)
            power = inverse / scale
            others = power_sum(scores.size, power)
            case = {"input": name, "share": share}
            yield at_least(top, 1 / (factor * others), part="least", **case)
            yield at_most(top, factor / (1 + count * np.exp(-power * np.log(exact(count + 1.0)))), part="most", **case)
            yield at_least(top, 1 - part_of / power, scale=1, part="limit", **case)
            if name.startswith("harmonic"):
                yield equals(top, 1 / (factor * others), part="least, attained", **case)


PAIRS = ((2, 0.1), (2, 1.0), (10, 0.1), (1000, 1.0), (MANY, 0.25), (MANY, 3.3), (10**10, 3.3))  # n and deviations
ENTROPIES = {0.3: "0.9100", 0.6: "0.6474", 0.9: "0.3646"}  # over log n, of 1e5 scores
IN_THE_LIMIT = {0.3: "0.9100", 0.6: "0.6400", 0.9: "0.1900"}


@verifies(
    Claim(
        "softmax.gaussian-entropy",
        "attention to Gaussian scores has more entropy than its limit law says, by half to all of the variance times the sum of squares",
        r"$n$ independent Gaussian scores of deviation $\sigma$, $Y = \mathbb E\sum p_i^2$: $\log n - \frac{\sigma^2}2 + \frac{\sigma^2}2Y \le \mathbb EH \le \log n - \frac{\sigma^2}2 + \sigma^2Y$; at $n = 10^5$, $\sigma = .3, .6, .9$ of $\sqrt{2\log n}$: $\mathbb EH = .9100, .6474, .3646$ of $\log n$",
        assumptions=("temperature one",),
        spec=("FN.N06",),
        cites=ENERGY,
        remark="in the limit of many scores these are .91, .64 and .19: at the last the limit is not seen at 1e30 scores",
        source_status=("recalled", "derived"),
    ),
    constant("limit", "the values are those of the limit", values=IN_THE_LIMIT),
    constant("three-fifths", "three fifths of the sum of squares are added at least", least=0.6),
    constant("nine-tenths", "nine tenths of it are added at most", most=0.9),
    bug("variance", "the variance and not its half is subtracted", half=1.0),
    hypothesis("wider", "the deviation is five per cent larger", wider=1.05),
)
def test_gaussian_entropy(run, *, values=ENTROPIES, least=0.5, most=1.0, half=0.5, wider=1.0):
    log = np.log(exact(float(MANY)))
    for share, digits in values.items():
        found = weights_of(MANY, wider * share * critical(MANY)[1])
        yield equals(found.entropy / log, Interval.printed(digits), part="values", share=share)
    for size, sigma in (*PAIRS, *run.pick(quick=(), paper=((10**5, 12.0), (10**20, 6.0)))):
        found = weights_of(size, sigma)
        square = Interval.exactly(sigma) * sigma
        added = found.entropy - np.log(exact(float(size))) + half * square
        scale = float((square * found.participation).mid)
        case = {"n": size, "deviation": sigma}
        yield at_least(added, least * square * found.participation, scale=scale, part="least", **case)
        yield at_most(added, most * square * found.participation, scale=scale, part="most", **case)


@cache
def squares_in_floats(size, sigma):
    """The mean sum of squares of Gaussian weights: sums on a lattice in floats, one inside the other."""
    step = 1.0 / 64.0
    places = np.arange(-14.0, 14.0 + 40.0 / sigma, step)  # of x, where the others are nearly all below
    spots = np.arange(-9.0, 9.0 + step, step)
    density = np.exp(-(spots**2) / 2.0) / np.sqrt(2.0 * np.pi)
    shifts = np.arange(spots[0] - places[-1], spots[-1] - places[0] + step / 2.0, step)
    y = np.exp(np.minimum(sigma * shifts, 50.0))
    lacks, first = (np.convolve(f, density[::-1], mode="valid") * step for f in (-np.expm1(-y), y * np.exp(-y)))
    integrand = first**2 * np.exp((size - 2.0) * np.log1p(-np.minimum(lacks, 1.0 - 2.0**-52)))
    return 1.0 - size * (size - 1.0) * sigma * integrand.sum() * step


SQUARES = {0.9: "0.1256", 1.0: "0.1802", 1.5: "0.4103", 2.0: "0.5499"}  # of 1e5 scores
LIMITS = {0.9: "0.0000", 1.0: "0.0000", 1.5: "0.3333", 2.0: "0.5000"}


@verifies(
    Claim(
        "softmax.gaussian-participation",
        "the weights of Gaussian scores are at least as concentrated as their limit law says, at every number of scores",
        r"$n$ independent Gaussian scores of deviation $\sigma$: $Y = \mathbb E\sum p_i^2 \ge 1 - \frac{\sqrt{2\log n}}\sigma$; at $n = 10^5$, $\sigma = .9, 1, 1.5, 2$ times $\sqrt{2\log n}$: $Y = .1256, .1802, .4103, .5499$",
        assumptions=("temperature one",),
        spec=("FN.N06",),
        cites=ENERGY,
        remark="the limits are 0, 0, 1/3 and 1/2; at the critical deviation Y is .125 at 1e10 scores still",
        source_status=("recalled", "derived"),
    ),
    constant("limit", "the values are those of the limit", values=LIMITS),
    constant("near", "one less nine tenths of the quotient bounds it from below", part_of=0.9),
    bug("no-two", "the root of log n is taken", twice=1.0),
    hypothesis("wider", "the deviation is five per cent larger", wider=1.05),
)
def test_gaussian_participation(run, *, values=SQUARES, part_of=1.0, twice=2.0, wider=1.0):
    for share, digits in values.items():
        found = weights_of(MANY, wider * share * critical(MANY)[1]).participation
        yield equals(found, Interval.printed(digits), scale=1, part="values", share=share)
    for size in (2, 100, MANY, 10**10):
        for share in (1.0, 2.0, *run.pick(quick=(), paper=(4.0,))):
            sigma = share * critical(size)[1]
            bound = 1 - part_of * (twice * np.log(exact(float(size)))).sqrt() / sigma
            yield at_least(weights_of(size, sigma).participation, bound, scale=1, part="bound", n=size, share=share)
    table = run.study(length.concentrations).where(part="deviation")
    for log, share, value in zip(
        table["log_size"].tolist(), table["share"].tolist(), table.intervals("value"), strict=True
    ):
        case = {"n": round(np.exp(log)), "share": share}
        again = squares_in_floats(case["n"], wider * share * np.sqrt(2.0 * log))
        yield at_most(abs(value - float(again)), 1e-7, scale=1, part="table", **case)
        yield at_least(
            value, 1 - part_of * Interval.exactly(twice / 2.0).sqrt() / share, scale=1, part="table, bound", **case
        )


# by the number of scores: of one gap the largest weight, of Gaussian scores the sum of squares
ONE_GAP = {"log": {START: "0.5002", MANY: "0.5000", 10**10: "0.5000"}, "root": {START: "0.5002", MANY: "0.0705"}}
GAUSSIAN = {"log": {START: "0.4449", MANY: "0.5350"}, "root": {START: "0.4449", MANY: "0.4103", 10**10: "0.3785"}}


def one_gap(size, law):
    """Enclose the weight of a score one above all others."""
    start = np.log(exact(float(START)))
    growth = np.log(exact(float(size))) / start
    inverse = start * {"log": growth, "root": growth.sqrt(), "none": 1.0}[law]
    return 1 / (1 + (size - 1) * np.exp(-inverse))


def gaussian(size, law):
    """Enclose the mean sum of squares of Gaussian scores, half as far again as critical at the start."""
    growth = np.log(size) / np.log(START)
    factor = {"log": growth, "root": np.sqrt(growth), "none": 1.0}[law]
    return weights_of(size, 1.5 * critical(START)[1] * factor).participation


@verifies(
    Claim(
        "softmax.length-scaling",
        "scores times log n keep a token with one gap to all others, and sharpen Gaussian scores; the root of log n keeps these",
        r"scores times $\frac{\log n}{\log 1024}$ or its root: one score by $\log 1024$ above $n - 1$ equal ones at $n = 1024$ has the weight $\frac n{2n - 1}$, or $.500, .070$ at $n = 1024, 10^5$; Gaussian scores of $\frac32\sqrt{2\log 1024}$ there have $Y = .445, .535$, or $.445, .410, .378$ at $n = 1024, 10^5, 10^{10}$",
        assumptions=("$Y$: mean sum of squares of the weights", "independent scores"),
        spec=("FN.N06",),
        cites=(*GAPS, "giorlandino2025"),
        remark="limits: one half or zero; one or one third. The factor log n is right for gaps that stay, its root for scores of Gaussian tails",
        source_status=("seen", "derived"),
    ),
    hypothesis("exchanged", "the factors are taken for each other", other={"log": "root", "root": "log"}),
    constant("gaussian-limit", "Gaussian scores with the root have one third at each number", third=True),
    bug("unscaled", "scores are left as they are", other={"log": "none", "root": "none"}),
)
def test_length_scaling(run, *, other=None, third=False):
    for name, law, table in (("one gap", one_gap, ONE_GAP), ("Gaussian", gaussian, GAUSSIAN)):
        for factor, rows in table.items():
            taken = factor if other is None else other[factor]
            for size, digits in rows.items():
                case = {"part": f"{name}, {factor}", "n": size}
                found = law(size, taken)
                claimed = Interval.printed("0.3333" if third and case["part"] == "Gaussian, root" else digits)
                yield equals(found, claimed, scale=1, **case)
                if name == "one gap" and factor == "log":
                    yield equals(found, exact(float(size)) / (2.0 * size - 1.0), part="one gap, exact", n=size)
    table = run.study(length.concentrations)
    for name, factor in itertools.product(("gap", "gaussian"), ("log", "root")):
        rows, taken = table.where(part=name, factor=factor), factor if other is None else other[factor]
        for log, value in zip(rows["log_size"].tolist(), rows.intervals("value"), strict=True):
            size, growth = round(np.exp(log)), log / np.log(START)
            if name == "gap":
                claimed = one_gap(size, taken).mid
            else:
                scaled = {"log": growth, "root": np.sqrt(growth), "none": 1.0}[taken]
                claimed = squares_in_floats(size, 1.5 * critical(START)[1] * scaled)
            yield at_most(abs(value - float(claimed)), 1e-7, scale=1, part=f"table, {name}, {factor}", n=size)
