"""How much a token counts for the last one after many layers, without content and with some."""

import math
from fractions import Fraction
from functools import cache

import numpy as np

from theory.attention.variants import attend_window
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
    hull,
    hypothesis,
    verifies,
)
from theory.evidence.once import once
from theory.experiments import trained_layers
from theory.positions import causal_influence, studies

BIRTH = ("chowdhury2026",)
WINDOWS = ("xiao2025",)
influence = once(causal_influence)
choose = cache(math.comb)


@cache
def complete(first, last, degree, *, repeated=True):
    """Sums of products of the inverses of whole numbers, by Newton's identities; each may stand more than once."""
    inverses = 1 / balls(np.arange(first, last + 1))
    sums = [(inverses**m).sum() for m in range(1, degree + 1)]
    found = [ball(1)]
    for k in range(1, degree + 1):
        terms = (sums[m - 1] * found[k - m] * (1 if repeated or m % 2 else -1) for m in range(1, k + 1))
        found.append(sum(terms, ball(0)) / k)
    return found


def power(logarithm, degree):
    """The power of a logarithm, divided by the factorial."""
    return logarithm**degree / math.factorial(degree)


def logarithms(n, j, degree):
    """From above and below: the logarithms of n / (j - degree) and (n + 1) / j."""
    return ball(Fraction(n, j - degree)).log(), ball(Fraction(n + 1, j)).log()


def places(n):
    """Tokens at a quarter, a half and nine tenths of the sequence."""
    return [n // 4, n // 2, 9 * n // 10]


@verifies(
    Claim(
        "influence.powers",
        "through causal layers without content, tokens count like powers of the logarithm of their place",
        r"$C_{ij} = \frac1i$, $j \le i$, $k = H - 1 < j$: $n(C^H)_{nj} = h_k(\frac1j, \dots, \frac1n)$, and $\frac1{k!}\log^k\frac{n+1}j \le n(C^H)_{nj} \le \frac1{k!}\log^k\frac n{j-k}$",
        assumptions=("scores are equal", "no residual"),
        spec=("FN.N01",),
        cites=BIRTH,
        remark="so the density of influence at a share x of the sequence tends to the power of log(1/x) over the factorial",
        source_status=("seen", "derived"),
    ),
    constant("one-more", "the power is the depth", more=1),
    bug("strict", "no token is passed twice, as if tokens did not see themselves", repeated=False),
    constant("near", "a thousandth more is reached from below", share=1.001),
    constant("unshifted", "the upper logarithm is that of n/j", shifted=False),
)
def test_powers(run, *, more=0, repeated=True, share=1.0, shifted=True):
    for n in run.pick(quick=(40, 400, 4000), paper=(40, 400, 4000, 20000)):
        for depth in (1, 2, 3, 6, 12):
            found = n * influence(n, depth)
            degree = depth - 1 + more
            for j in places(n):
                if degree >= j:
                    continue
                case = {"tokens": n, "depth": depth, "token": j}
                whole, size = (hull(complete(j, n, degree, repeated=way)[degree]) for way in (repeated, True))
                yield equals(found[j - 1], whole, scale=size, part="identity", **case)
                upper, lower = logarithms(n, j, degree if shifted else 0)
                yield at_least(found[j - 1], share * hull(power(lower, degree)), part="lower", **case)
                yield at_most(found[j - 1], hull(power(upper, degree)), part="upper", **case)


def mixed(depth, kept, parts):
    """The sum over how many layers attend, k = 1, ..., H, of binomial weights times the part of k - 1."""
    return sum(
        (math.comb(depth, k) * kept ** (depth - k) * (1 - kept) ** k * part for k, part in enumerate(parts, 1)), ball(0)
    )


def longest_only(depth, kept, parts):
    """What is left if every layer attends."""
    return (1 - kept) ** depth * parts[-1]


def one_way_each(depth, kept, parts):
    """The sum without the number of ways to choose the layers."""
    return sum((kept ** (depth - k) * (1 - kept) ** k * part for k, part in enumerate(parts, 1)), ball(0))


@verifies(
    Claim(
        "influence.residual",
        "with a residual the middle counts at least as one layer that attends, and the last token as a power of the share",
        r"$0 < a < 1$, $N = aI + (1-a)C$: $(N^H)_{nn} = (a + \frac{1-a}n)^H$; for $H \le j < n$: $n(N^H)_{nj} = \sum_{k=1}^H\binom Hka^{H-k}(1-a)^kh_{k-1}(\frac1j, \dots, \frac1n)$, $\ge H(1-a)a^{H-1}$, $\le (1-a)a^{H-1}L^{(1)}_{H-1}(-\frac{1-a}a\log\frac n{j-H+1})$; at $a = \frac9{10}$, $H = 48$, $j = \frac n2$ it is $0.144$ for $n = 4000$ and $16000$",
        assumptions=("scores are equal", "16000 tokens at paper scale"),
        spec=("FN.N01",),
        cites=BIRTH,
        remark="one over the factorial of 47 is 4e-60; the limit of the density at the half is 0.14407 to the digits printed",
        source_status=("derived",),
    ),
    constant(
        "dead-zone",
        "the middle is what reaches it through every layer, one over a factorial",
        law=longest_only,
        middle="4e-60",
    ),
    bug("one-way-each", "it is left out how many choices of layers there are", law=one_way_each),
    constant("anchor", "the last token keeps the share of one layer at every depth", anchored=True),
    constant("near", "the middle counts one per cent more than one layer", share=1.01),
)
def test_residual(run, *, law=mixed, anchored=False, share=1.0, middle="0.144"):
    n = run.pick(quick=4000, paper=16000)
    for kept in (Fraction(1, 2), Fraction(9, 10), Fraction(19, 20)):
        for depth in (1, 2, 12, 48):
            found = influence(n, depth, kept)
            case = {"kept": float(kept), "depth": depth}
            atom = ball(kept + (1 - kept) / n) ** (1 if anchored else depth)
            yield equals(found[-1], hull(atom), part="last", **case)
            for j in places(n):
                here = {**case, "place": j / n}
                value = n * found[j - 1]
                whole = law(depth, ball(kept), complete(j, n, depth - 1))
                yield equals(value, hull(whole), part="identity", **here)
                if (kept, depth, j) == (Fraction(9, 10), 48, n // 2):
                    yield equals(value, Interval.printed(middle), part="middle", tokens=n, **here)
                one = hull(depth * ball(1 - kept) * ball(kept) ** (depth - 1))
                yield at_least(value, share * one, part="one layer", **here)
                upper, _ = logarithms(n, j, depth - 1)
                yield at_most(
                    value, hull(law(depth, ball(kept), [power(upper, k) for k in range(depth)])), part="density", **here
                )


@cache
def step_weights(count, depth, kept):
    """The ways, in whole numbers, in which k of the layers step, k = 0, 1, ..., and what all ways to walk sum to."""
    stays, steps = kept.numerator * count, kept.denominator - kept.numerator
    ways = [math.comb(depth, k) * stays ** (depth - k) * steps**k for k in range(depth + 1)]
    return ways, (kept.denominator * count) ** depth


@cache
def within_reach(count, depth, kept, distance):
    """The probability of at most this distance: how many layers step, and sums of steps by inclusion and exclusion."""
    ways, total = step_weights(count, depth, kept)
    within = 0
    for k, weight in enumerate(ways):
        if weight:
            overlaps = range(min(k, distance // count) + 1)
            walks = (choose(k, i) * choose(distance - i * count + k, k) for i in overlaps)
            within += weight * sum((-1) ** i * found for i, found in enumerate(walks))
    return Fraction(within, total)


@cache
def many_steps(depth, kept, k):
    """The probability that more than k layers step."""
    return sum(math.comb(depth, i) * kept ** (depth - i) * (1 - kept) ** i for i in range(k + 1, depth + 1))


def one_path(_depth, kept, k):
    """The weight of one way to make k steps."""
    return (1 - kept) ** k


def as_found(found, _kept):
    """The horizon that was measured."""
    return int(found)


def without_depth(_found, kept):
    """The horizon by a formula in which no depth occurs; it needs a residual."""
    return math.floor(studies.WINDOW * math.log(studies.SHARE) / math.log(1 - kept)) if kept else int(_found)


NAMED = {12: 174, 32: 289, 100: 587}  # horizons in tokens by depth, with the share 0.95 kept


@verifies(
    Claim(
        "influence.window",
        "through layers of causal windows influence travels in proportion to depth, also with a residual",
        r"distance $D$ after $L$ layers: $\operatorname{Bin}(L, 1-a)$ steps, each uniform on $0, \dots, W - 1$; $\mathbb ED = \frac12L(1-a)(W-1)$, and the least $q$ with $P(D > q) \le \varepsilon$ has $-\sqrt{\frac\varepsilon{1-\varepsilon}} \le \frac{q - \mathbb ED}{\operatorname{sd}D} \le \sqrt{\frac{1-\varepsilon}\varepsilon}$; $P(D \ge kW) \le P(\operatorname{Bin}(L, 1-a) > k)$ for $k \ge 1$; at $W = 100$, $a = 0.95$, $\varepsilon = 0.01$ it is $q = 174, 289, 587$ for $L = 12, 32, 100$",
        assumptions=(
            "scores are equal",
            "the last token is further than LW from the first",
            "0 < a < 1, W > 1, 0 < eps < 1",
        ),
        spec=("FN.N01",),
        cites=WINDOWS,
        remark="at a = 0.95 and one per cent: 1.74, 2.89 and 5.87 windows at 12, 32 and 100 layers; a formula without depth says 1.54",
        source_status=("derived",),
    ),
    constant(
        "depth-free",
        "the horizon is W log(share)/log(1 - a), at every depth",
        horizon=without_depth,
        named=dict.fromkeys(NAMED, 154),
    ),
    constant("single-path", "beyond k windows all tokens together count at most (1 - a)^k", bound=one_path),
    constant("square-root", "the reach is a multiple of the deviation, which grows like the root of depth", centred=0),
    constant("three-deviations", "the horizon is three deviations beyond the mean at least", below=3.0),
    bug("full-steps", "a step may pass all W tokens, not W - 1", longest=0),
)
def test_window(run, *, horizon=as_found, bound=many_steps, centred=1, below=None, longest=1, named=NAMED):
    table = run.study(studies.horizons)
    window, share = studies.WINDOW, studies.SHARE
    count = window - longest + 1  # how many lengths a step may have
    ratio = Interval.exactly(share / (1 - share)).sqrt()
    for row, value in enumerate(table.intervals("value")):
        part, depth, place = (table[name][row] for name in ("part", "depth", "distance"))
        kept = Fraction(float(table["residual"][row])).limit_denominator(100)
        case = {"kept": float(kept), "depth": int(depth)}
        law = (count, int(depth), kept)
        mean = (1 - kept) * int(depth) * Fraction(count - 1, 2)
        second = (1 - kept) * Fraction((count - 1) * (2 * count - 1), 6) - (mean / int(depth)) ** 2
        deviation = Interval.exactly(second * int(depth)).sqrt()
        if part == "mean":
            yield equals(Interval.exactly(float(place)), Interval.exactly(mean), part="mean", **case)
            yield equals(value, deviation, part="deviation", **case)
        elif part == "law":
            chance = within_reach(*law, int(place)) - (within_reach(*law, int(place) - 1) if place else 0)
            size = Interval.exactly(within_reach(*law, 0))
            yield equals(value, Interval.exactly(chance), scale=size, part="law", distance=int(place), **case)
            k = int(place) // window
            if k and place % window == 0:
                most = Interval.exactly(bound(int(depth), kept, k))
                beyond = Interval.exactly(1 - within_reach(*law, int(place) - 1))
                yield at_most(beyond, most, part="tail", windows=k, **case)
        else:
            if kept == studies.RESIDUALS[-1] and depth in named:
                yield equals(int(place), named[depth], part="named", **case)
            reach = horizon(place, kept)
            rest = 1 - within_reach(window, int(depth), kept, reach)
            yield at_most(Interval.exactly(rest), Interval.exactly(share), part="horizon", **case)
            if horizon is as_found:
                before = 1 - within_reach(window, int(depth), kept, reach - 1)
                yield at_least(Interval.exactly(before), Interval.exactly(share), part="horizon", **case)
            lowest = mean + below * deviation if below else mean - ratio * deviation
            yield at_least(int(place), lowest, scale=window, part="below", **case)
            yield at_most(int(place), centred * mean + deviation / ratio, part="above", **case)


def attention_rows(queries, keys):
    """The matrix of causal attention, by its action on the unit vectors."""
    return attend_window(exact(queries), exact(keys), exact(np.eye(len(keys))), back=len(keys) - 1)


def favoured(n, gap):
    """Queries and keys of n tokens in four dimensions: every score is zero, but that of the first key is the gap."""
    keys = np.zeros((n, 4))
    keys[0] = gap / 2.0
    return np.ones((n, 4)), keys


@verifies(
    Claim(
        "influence.content",
        "content changes the influence of a token by the exponential of depth times the range of scores at most",
        r"scores of each row in an interval of length $\delta$, $N_l = aI + (1-a)A_l$: $e^{-H\delta}(N^H)_{nj} \le (N_H \cdots N_1)_{nj} \le e^{H\delta}(N^H)_{nj}$, $N = aI + (1-a)C$",
        assumptions=("causal softmax attention, one head",),
        spec=("FN.N01",),
        cites=BIRTH,
        remark="at initialisation scores are near zero, and laws without content describe networks; after training they need not",
        source_status=("derived",),
    ),
    constant("half", "half of the range is enough", share=0.5),
    hypothesis("unscaled", "scores are taken for products divided by the dimension, which are smaller", power=2),
)
def test_content(run, *, share=1.0, power=1):
    for name, layers, kept in networks(run):
        n = len(layers[0][0])
        row = exact(np.eye(n)[-1])
        spread = exact(0.0)
        for queries, keys in layers:
            row = float(kept) * row + (1.0 - float(kept)) * (row @ attention_rows(queries, keys))
            dim = exact(float(queries.shape[1]))
            scores = (exact(queries) @ exact(keys).T) / np.sqrt(dim) ** power
            spread = spread + max(
                (scores[i, : i + 1].max() - scores[i, : i + 1].min() for i in range(n)), key=lambda gap: gap.hi
            )
        plain = influence(n, len(layers), float(kept))
        for j in (0, n // 2, n - 1):
            case = {"input": name, "tokens": n, "depth": len(layers), "token": j + 1}
            yield at_most(row[j], np.exp(share * spread) * plain[j], part="upper", **case)
            yield at_least(row[j], np.exp(-share * spread) * plain[j], part="lower", **case)


def networks(run):
    """Yield a name, queries and keys of every layer, and the share that a layer keeps."""
    for gap in (1.0, -1.0):
        for depth in (1, 3):
            yield "first key", [favoured(40, gap)] * depth, 0.0
    for number, rng in enumerate(run.draws(quick=6, paper=60)):
        n, d = int(rng.integers(4, 30)), int(rng.integers(2, 9))
        draws = [tuple(rng.normal(size=(2, n, d)) * rng.choice([0.1, 1.0])) for _ in range(int(rng.integers(1, 5)))]
        yield "random", draws, (0.0, 0.5, 0.875)[number % 3]


# total variation between laws of influence with the scores of two trained layers by turns and without content
CHANGED = {
    ("moons", 2): {0.0: "0.267", 0.5: "0.157", 0.9: "0.036"},
    ("moons", 12): {0.0: "0.006", 0.5: "0.059", 0.9: "0.091"},
}


@cache
def trained_influence(task, depth, kept, *, masked=True):
    """What each token counts for the last one, by trained scores of one hundred tokens."""
    layers = trained_layers(task)
    rows = []
    for number in (1, 2):
        layer = layers[f"{task} {number}"]
        queries, keys = (exact(layer["tokens"]) @ layer[name].T for name in ("w_query", "w_key"))
        n = len(keys)
        rows.append(attend_window(queries, keys, exact(np.eye(n)), back=n - 1, ahead=0 if masked else n - 1))
    law = exact(np.eye(n)[-1])
    for number in reversed(range(depth)):
        law = kept * law + (1.0 - kept) * (law @ rows[number % 2])
    return law


@verifies(
    Claim(
        "influence.trained",
        "scores of layers trained on two moons move up to 0.27 of all influence, those on digits a thousandth at most, and the middle third keeps its share",
        r"two trained layers by turns, masked to the past, 100 tokens, share $a$ kept: from the law without content the law of influence on the last token is in total variation $0.267, 0.157, 0.036$ away for $a = 0, \frac12, \frac9{10}$ at $H = 2$ and $0.006, 0.059, 0.091$ at $H = 12$ on moons, at most $10^{-3}$ on digits; the middle third of the tokens counts what it does without content to within $0.003$",
        assumptions=("weights trained without a mask, with the tokens that reach each layer in its place", "one head"),
        spec=("FN.N01",),
        cites=BIRTH,
        remark="the scores of the two layers on moons range over 3.5 and 5.9, so that the bound of influence.content allows a factor of 12 000 in two layers; those on digits over 0.013 and 0.003",
        source_status=("derived",),
    ),
    constant("unchanged", "influence with content is that without, to a thousandth", moons="0.000"),
    bug("unmasked", "tokens see those after them", masked=False),
    constant("thousandth", "the middle third counts what it does without content to a thousandth", within=0.001),
)
def test_trained(run, *, moons=None, masked=True, within=0.003):
    for task, depth in (("moons", 2), ("moons", 12), ("digits", 2), ("digits", 12)):
        for kept in (0.0, 0.5, 0.9):
            law, plain = trained_influence(task, depth, kept, masked=masked), influence(100, depth, kept)
            moved = abs(law - plain).sum() / 2
            case = {"task": task, "depth": depth, "kept": kept}
            if task == "moons":
                printed = Interval.printed(moons or CHANGED[task, depth][kept])
                yield equals(moved, printed, scale=1, part="moons", **case)
            else:
                yield at_most(moved, 0.001, scale=1, part="digits", **case)
            middle = law[33:67].sum() - plain[33:67].sum()
            yield at_most(abs(middle), within, scale=1, part="middle third", **case)
