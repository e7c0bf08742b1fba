"""How wide a head has to be to select any few of its keys, and how far chosen keys can stand above the others."""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np

from theory.evidence import (
    Claim,
    at_least,
    at_most,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    norm,
    verifies,
)
from theory.evidence.once import once
from theory.positions import (
    least_width,
    margin_ceiling,
    moment_keys,
    radon_partition,
    selecting_query,
    selection_study,
)

SOURCES = ("wang2026", "gale1963")
SIZES = ((1, 2), (1, 3), (1, 7), (2, 4), (2, 5), (2, 9), (3, 5), (3, 9), (5, 6))  # at most k of m keys
FEW = ((1, 3), (1, 7), (2, 5), (3, 7), (5, 6))
MANY = 100_000
parted = once(radon_partition)


def of_width(keys, width):
    """Keys with their last coordinates left out, or with zeros behind them."""
    kept = keys[:, :width]
    return np.concatenate([kept, np.full((len(kept), width - kept.shape[1]), Fraction(0), dtype=object)], axis=1)


@cache
def laid_out(k, m, width):
    """Keys in a space of this dimension: the corners of a simplex where there is room, else on the moment curve."""
    if width >= m - 1:  # of a regular simplex, from its last corner, and not regular
        corners = np.concatenate([np.eye(m - 1, dtype=int), np.full((1, m - 1), -1)])
        return of_width(np.array([[Fraction(int(x)) for x in row] for row in corners], dtype=object), width)
    return of_width(moment_keys(np.arange(m) - m // 2, k), width)


def query_for(k, m, width, chosen):
    """A query for these keys."""
    if width >= m - 1:
        last = m - 1 in chosen
        ones = [Fraction(int(i in chosen) - (len(chosen) if last else 0)) for i in range(m - 1)]
        return of_width(np.array([ones], dtype=object), width)[0]
    return of_width(selecting_query(np.arange(m) - m // 2, k, list(chosen))[0][np.newaxis], width)[0]


@once
def least_margin(k, m, width):
    """The least, over all sets of at most k keys, of how far they score above the others."""
    keys = laid_out(k, m, width)
    least = None
    for size in range(1, k + 1):
        for chosen in itertools.combinations(range(m), size):
            scores = keys @ query_for(k, m, width, chosen)
            rest = [score for i, score in enumerate(scores) if i not in chosen]
            margin = min(scores[list(chosen)]) - max(rest)
            least = margin if least is None else min(least, margin)
    return least


def nearest(k, m):
    """The least 1 - cos of the angle between two of the keys on the moment curve."""
    plane = moment_keys(np.arange(m) - m // 2, 1)
    return min(1 - a @ b for a, b in itertools.combinations(plane, 2))


def grows(m, _):
    """As many dimensions as a simplex needs."""
    return m - 1


def two_k(m, k):
    """The statement."""
    return least_width(m, k)


def rows_of(run):
    """Yield part, number chosen, number of keys and value of every row of the sweep."""
    table = run.study(selection_study.widths)
    return zip(*(table[name].tolist() for name in ("part", "chosen", "keys")), table.intervals("value"), strict=True)


def margin_of_curve(k, m):
    """The least margin of the curve's queries at nearly equal angles, by products; a query's square is twice their variance."""
    tangents = [math.tan(math.pi * ((i + 0.25) / m - 0.5)) for i in range(m)]
    angles = np.array([2.0 * math.atan(float(Fraction(t).limit_denominator(1000))) for t in tangents])
    even = 2.0 * np.pi * np.arange(4 * k) / (4 * k)  # enough for the mean of a square
    least = math.inf
    for places in itertools.combinations(range(m), k):
        chosen, others = angles[list(places)], np.delete(angles, places)
        below, whole = (np.prod(1.0 - np.cos(t[:, np.newaxis] - chosen), axis=1) for t in (others, even))
        least = min(least, below.min() / math.sqrt(2.0 * whole.var() * k))
    return least


@verifies(
    Claim(
        "selection.width",
        "a head that can select any k of m keys needs twice k dimensions and no more, however many keys there are",
        r"least $d$ for which some $m$ keys in $\mathbb R^d$ let every set of at most $k < m$ be above all others for some query: $\min(2k, m - 1)$; at angles on $(\cos t, \sin t, \dots, \cos kt, \sin kt)$ the chosen keys score the same, and another at $t$ less by $\prod_i(1 - \cos(t - t_i))$",
        assumptions=("chosen keys score strictly more than all others", "exact numbers"),
        spec=("FN.N04",),
        cites=SOURCES,
        remark="the keys of the construction are one key turned by rotary positions with the angles 1 to k; they have one norm",
        source_status=("seen", "derived"),
    ),
    constant("one-less", "twice k less one is enough", width=lambda m, k: min(2 * k - 1, m - 1)),
    constant("growing", "the width grows with the number of keys", width=grows),
    constant("one-more", "twice k and one are needed", width=lambda m, k: min(2 * k + 1, m - 1)),
    bug(
        "equal-weights", "points of a set count the same", weigh=lambda weights: np.sign(weights) / (weights > 0).sum()
    ),
    bug("exchanged", "the two sets are taken for each other", weigh=lambda weights: -weights),
    bug("half-angles", "angles are taken for tangents of their halves", angle=lambda t: t),
)
def test_width(run, *, width=two_k, angle=lambda t: 2.0 * math.atan(t), weigh=lambda weights: weights):
    for k, m in SIZES:
        d = width(m, k)
        case = {"k": k, "m": m}
        floor = nearest(k, m) ** k if d < m - 1 else Fraction(1)
        yield at_least(least_margin(k, m, d), floor, part="enough", **case)
        points = [laid_out(k, m, d - 1)[: d + 1]] if d > 1 else []
        points += [rng.normal(size=(d + 1, d - 1)) for rng in run.draws(quick=3, paper=30) if d > 1]
        for these in points:
            fewer, others, weights = parted(these)
            rows = [np.array([Fraction(x) for x in row], dtype=object) for row in these]
            weights = np.array([Fraction(weight) for weight in weigh(weights)], dtype=object)
            mean = sum(weight * row for weight, row in zip(weights, rows, strict=True))
            yield equals(abs(mean).max(), 0, scale=1, part="meet", **case)
            yield equals(sum(weights[list(fewer)]), 1, part="meet", **case)
            yield at_least(min([*weights[list(fewer)], *-weights[list(others)]]), 0, scale=1, part="meet", **case)
            yield at_most(len(fewer), k, part="needed", **case)
    for k, m, chosen in ((1, 9, [4]), (2, 9, [0, 5]), (3, 8, [1, 2, 6]), (2, MANY, [MANY // 2, MANY // 2 + 1])):
        places = np.arange(m) - m // 2
        few = range(m) if m < MANY else (0, 1, m // 2 - 1, m // 2 + 2, m - 1)
        query, score = selecting_query(places[[*chosen]], k, list(range(len(chosen))))
        keys = moment_keys(places[list(few)], k)
        for i, below in zip(few, score - keys @ query, strict=True):
            apart = [angle(float(places[i])) - angle(float(places[c])) for c in chosen]
            claimed = math.prod((2 * np.sin(exact(gap / 2)) ** 2 for gap in apart), start=1)
            yield equals(below, claimed, scale=1, part="lower by", k=k, m=m)
    for part, k, m, value in rows_of(run):
        if part == "width":
            yield equals(value, min(2 * k, m - 1) if width is two_k else width(m, k), part="table", k=k, m=m)


def unit(keys):
    """Enclose keys over their norms."""
    keys = exact(keys)
    return keys / norm(keys, axis=1)[:, np.newaxis]


def apart(keys, chosen):
    """Enclose the distance of the mean of chosen keys from that of all others, which no margin exceeds."""
    rest = [i for i in range(len(keys)) if i not in chosen]
    return norm(keys[list(chosen)].mean(axis=0) - keys[rest].mean(axis=0))


def reached(keys, chosen):
    """Enclose the margin of the unit query along the difference of means."""
    rest = [i for i in range(len(keys)) if i not in chosen]
    query = keys[list(chosen)].mean(axis=0) - keys[rest].mean(axis=0)
    scores = keys @ (query / norm(query))
    return scores[list(chosen)].min() - scores[rest].max()


def around(keys, place):
    """Enclose how far a key of the plane lies from a point between its neighbours, which no margin exceeds."""
    before, key, after = keys[place - 1], keys[place], keys[(place + 1) % len(keys)]
    chord = after.mid - before.mid
    share = float(np.clip((key.mid - before.mid) @ chord / (chord @ chord), 0.0, 1.0))
    return norm(key - ((1.0 - share) * before + share * after))


def limit_of(_, k):
    """The limit for many keys."""
    return 1 / np.sqrt(exact(float(k)))


def sharp_ceiling(m, k):
    """The statement."""
    return margin_ceiling(m, k)


@verifies(
    Claim(
        "selection.margin",
        "chosen unit keys stand above the others by a margin that falls with their number, in the plane with the square of all",
        r"unit keys and queries: the least margin over all sets of k of m keys is at most $\frac m{\sqrt{k(m-1)(m-k)}}$, attained by a regular simplex, $d = m - 1$; $d = 2$, $k = 1$: at most $1 - \cos\frac{2\pi}m$, attained by keys at equal angles",
        assumptions=("margin: least score of a chosen key less the largest of another",),
        spec=("FN.N04",),
        cites=("wang2026",),
        remark="so that two dimensions select any one of m keys, but a mass of one half needs an inverse temperature of the order of m squared",
        source_status=("seen", "derived"),
    ),
    constant("limit", "the ceiling is one over the root of k", ceiling=limit_of),
    constant("near", "both ceilings are one per cent lower", factor=0.99),
    constant("linear", "in the plane it falls like one over m", power=1),
    constant("better", "queries of the moment curve reach five per cent more", worth=1.05),
    hypothesis("longer", "one key is twice as long", longer=2.0),
)
def test_margin(run, *, ceiling=sharp_ceiling, factor=1.0, power=2, worth=1.0, longer=1.0):
    for k, m in FEW:
        claimed = factor * ceiling(m, k)
        sets = list(itertools.combinations(range(m), k))
        lengths = np.where(np.arange(m) == 0, longer, 1.0)[:, np.newaxis]
        corners = lengths * unit(np.eye(m) - 1.0 / m)
        drawn = [
            (f"drawn {case}", lengths * unit(rng.normal(size=(m, 4))))
            for case, rng in enumerate(run.draws(quick=2, paper=30))
        ]
        for name, keys in (("simplex", corners), *drawn):
            case = {"input": name, "k": k, "m": m}
            if name == "simplex":
                yield equals(
                    min((reached(keys, s) for s in sets), key=lambda x: x.lo), claimed, part="attained", **case
                )
            yield at_most(min((apart(keys, s) for s in sets), key=lambda x: x.hi), claimed, part="ceiling", **case)
    for m in (3, 4, 10, 101):
        even = 2.0 * np.pi * np.arange(m) / m
        drawn = [np.sort(rng.uniform(0.0, 2.0 * np.pi, size=m)) for rng in run.draws(quick=2, paper=30)]
        half = np.sin(np.pi * exact(1.0) / m)
        claimed = factor * 2 * half**2 if power == 2 else 2 * factor * half
        for name, angles in (("even", even), *((f"drawn {case}", found) for case, found in enumerate(drawn))):
            keys = unit(np.stack([np.cos(angles), np.sin(angles)], axis=1))
            most = min((around(keys, i) for i in range(m)), key=lambda x: x.hi)
            yield at_most(most, claimed, part="plane", input=name, m=m)
            if name == "even":
                yield equals(most, claimed, part="plane, attained", m=m)
    for part, k, m, value in rows_of(run):
        if part != "width":
            sharp = m / np.sqrt(exact(float(k * (m - 1) * (m - k))))
            claimed = factor * (sharp if ceiling is sharp_ceiling else ceiling(m, k))
            yield at_most(value, claimed, part=f"table, {part}", k=k, m=m)
        if part == "ceiling":
            yield equals(value, claimed, part="table, ceiling", k=k, m=m)
        elif part == "layout":
            yield at_least(value, worth * (1.0 - 1e-9) * margin_of_curve(k, m), part="table, at least", k=k, m=m)
        if part == "layout" and k == 1:
            half = np.sin(np.pi * exact(1.0) / m)
            yield at_most(value, factor * 2 * half**power, part="table, plane", k=k, m=m)
