"""Which bases of rotary positions prefer similar keys at every distance, and that no distance is preferred by all."""

import itertools

import numpy as np

from theory.evidence import Claim, Interval, at_least, at_most, bug, constant, equals, hypothesis, verifies
from theory.positions import cosine_sums, least_sum, rotate, studies

BASES = ("men2024", "su2024")
# what was found before this check was written: the least admissible base by the context it serves
LEAST = {256: "889.871", 512: "2065.81", 1024: "4293.44", 2048: "11587.2", 4096: "26952.3", 8192: "83763.8"}
PRINTED = {1024: "4.3e3", 2048: "1.6e4", 4096: "2.7e4", 8192: "8.4e4"}  # as in the first of the papers


def corners(mean, spread, dim):
    """All vectors with entries one deviation above or below the mean."""
    return mean + spread * np.array(list(itertools.product((-1.0, 1.0), repeat=dim)))


def average_score(queries, keys, distance, base):
    """The mean over pairs, or over rows if there are as many keys as queries, of scores at a distance."""
    there = rotate(queries, np.full(len(queries), distance), base)
    here = rotate(keys, np.zeros(len(keys), dtype=int), base)
    return (there.mean(axis=0) @ here.mean(axis=0)), (there * here).sum(axis=1).mean()


@verifies(
    Claim(
        "rotary.similar",
        "beside an independent key, a similar one gains on average the sum of the cosines of the turns",
        r"$q, k$ with independent entries of one mean and variance $\sigma^2$: $\mathbb E[q^\top R_mq] - \mathbb E[q^\top R_mk] = 2\sigma^2B_m$, $B_m = \sum_{i<d/2}\cos(mb^{-2i/d})$",
        assumptions=("noise of mean zero, independent of the query, may be added to the similar key",),
        spec=("FN.N02",),
        cites=BASES,
        source_status=("seen", "derived"),
    ),
    constant("half", "the gain is the variance times the sum", factor=1.0),
    bug("mean-kept", "the mean score of independent keys is not subtracted", subtracted=False),
    hypothesis("uneven", "entries of the first plane vary twice as much as the others", first=2.0),
)
def test_similar(run, *, factor=2.0, subtracted=True, first=1.0):
    for dim, base, mean, spread in ((4, 10.0, 0.5, 1.0), (6, 100.0, -0.25, 0.5), (6, 10000.0, 0.0, 2.0)):
        tokens = corners(0.0, spread, dim)
        tokens[:, :2] *= first
        tokens += mean
        for distance in (0, 1, 2, 5, 17, 100):
            apart, same = average_score(tokens, tokens, distance, base)
            gain = same - apart if subtracted else same
            claimed = factor * spread**2 * cosine_sums(base, [distance], dim)[0]
            yield equals(gain, claimed, scale=dim * spread**2, dim=dim, distance=distance)


def small_enough(found):
    """The claimed least bases."""
    return LEAST[found]


def as_printed(found):
    """The least bases of a table that circulates; where it has none, those that are claimed."""
    return PRINTED.get(found, LEAST[found])


@verifies(
    Claim(
        "rotary.least-base",
        "heads of dimension 128 prefer similar keys at every distance only from a certain base on",
        r"least $b$ with $B_m(b) \ge 0$ for all $m < L$, $d = 128$: $4293.44$ for $L = 1024$, $11587.2$ for $2048$, $26952.3$ for $4096$, $83763.8$ for $8192$",
        assumptions=("angles b^(-2i/d)",),
        spec=("FN.N02",),
        cites=BASES,
        remark="a table that circulates has 1.6e4 for 2048; distances up to L and below L have the same least base",
        source_status=("derived",),
    ),
    constant("printed", "the least bases are 4.3e3, 1.6e4, 2.7e4 and 8.4e4", least=as_printed),
    constant("one-below", "one per cent less is enough", share=0.99),
    hypothesis("last-included", "distances go up to twice the context", further=2),
)
def test_least_base(run, *, least=small_enough, share=1.0, further=1):
    table = run.study(studies.bases).where(part="least")
    for length, base, value in zip(table["length"], table["base"], table.intervals("value"), strict=True):
        claimed = Interval.printed(least(int(length)))
        yield equals(value, share * claimed, part="least", length=int(length))
        found = np.isfinite(base)
        sums = least_sum(share * float(base), further * int(length), studies.HEAD) if found else Interval.unknown()
        yield at_least(sums, 0, scale=1, part="with the last", length=int(length))


def by_turns(place):
    """Bases that are admissible and not, one after the other."""
    return place % 2 == 0


@verifies(
    Claim(
        "rotary.islands",
        "above the least base that prefers similar keys at every distance lie larger ones that do not",
        r"$d = 128$, $m < 1024$: $B_m(b) \ge 0$ for $b = 4300, 5620, 6100$, not for $b = 5000, 5800$; $d = 64$: at least seven intervals of such bases up to $24000$",
        assumptions=("angles b^(-2i/d)",),
        spec=("FN.N02",),
        cites=BASES,
        remark="bases in use: 10000 fails for 2048 tokens, at distance 1707; 500000 serves 8192; 1000000 fails for 32768",
        source_status=("recalled", "derived"),
    ),
    hypothesis("upward", "every base above the least is admissible", serves=lambda _: True),
    hypothesis("narrowed", "what serves a context serves one that is twice as long", further=2),
    constant("in-use", "the base 10000 serves 4096 tokens", long=1e4),
    constant("sooner", "the bases in use fail one place sooner", before=1),
)
def test_islands(run, *, serves=by_turns, further=1, long=5e5, before=0):
    table = run.study(studies.bases).where(part="sum")
    for dim, witnesses in ((studies.HEAD, studies.WITNESSES), (studies.NARROW, studies.NARROW_WITNESSES)):
        for place, base in enumerate(witnesses):
            found = table.where(dim=dim, base=base).intervals("value")[0]
            part = "admissible" if by_turns(place) else "not admissible"
            case = {"dim": dim, "base": base, "part": part}
            if serves(place):
                value = found if further == 1 else least_sum(base, further * studies.LENGTH - 1, dim)
                yield at_least(value, 0, scale=1, **case)
            else:
                yield at_most(found, 0, scale=1, **case)
    yield at_least(least_sum(long, 8191 if long > 1e5 else 4095, 128), 0, scale=1, part="in use", base=long)
    yield at_most(cosine_sums(1e4, [1707 - before], 128)[0], 0, scale=1, part="not in use", base=1e4, length=2048)
    yield at_most(cosine_sums(1e6, [27115 - before], 128)[0], 0, scale=1, part="not in use", base=1e6, length=32768)


@verifies(
    Claim(
        "rotary.favoured",
        "no distance is preferred by all queries: for each there are keys that score highest at it and nowhere else",
        r"$q$ not zero in the first plane, $k = R_{-r}q$: $\langle q, R_mk\rangle =$ $\sum_i|q_i|^2\cos((m-r)\theta_i)$, is less than $|q|^2$ for whole $m \ne r$, and $|q|^2$ at $m = r$",
        assumptions=("the first plane turns by one radian from place to place",),
        spec=("FN.N02",),
        cites=("su2024",),
        source_status=("derived",),
    ),
    hypothesis("nearest", "the nearest key of these scores highest", nearest=True),
    bug("unturned", "keys are left as they are", turned=False),
)
def test_favoured(run, *, nearest=False, turned=True):
    for rng in run.draws(quick=6, paper=60):
        dim, base = 2 * int(rng.integers(1, 9)), float(rng.choice([100.0, 1e4, 5e5]))
        query = rng.normal(size=(1, dim))
        size = float((query**2).sum())
        for favourite in (1, 7, 40):
            apart = np.arange(run.pick(quick=200, paper=2000))
            key = rotate(query, [favourite if turned else 0], base).mid  # at its place it looks like the query
            scores = rotate(np.repeat(query, len(apart), axis=0), apart, base) @ key[0]
            others = [m for m in apart if m != (0 if nearest else favourite)]
            best = scores[0 if nearest else favourite]
            yield at_most(scores[others].max(), best, scale=size, dim=dim, distance=favourite)
            if not nearest:
                yield equals(best, size, scale=size, part="highest", dim=dim, distance=favourite)
