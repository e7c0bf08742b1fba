"""Which bases of rotary positions prefer similar keys at every distance, and that no distance is preferred by all."""

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
    hull,
    hypothesis,
    norm,
    verifies,
)
from theory.evidence.once import once
from theory.positions import cosine_sums, least_sum, least_sum_beyond, rotate, studies

BASES = ("men2024", "su2024")
# what was found before this check was written: the least admissible base by the context it serves
LEAST = {256: "889.871", 512: "2065.81", 1024: "4293.44", 2048: "11587.2", 4096: "26952.3", 8192: "83763.8"}
PRINTED = {1024: "4.3e3", 2048: "1.6e4", 4096: "2.7e4", 8192: "8.4e4"}  # as in the first of the papers


turned = once(rotate)


def corners(mean, spread, dim):
    """All vectors with entries one deviation above or below the mean."""
    return mean + spread * np.array(list(itertools.product((-1.0, 1.0), repeat=dim)))


def average_score(queries, keys, distance, base):
    """The mean over pairs, or over rows if there are as many keys as queries, of scores at a distance."""
    there = turned(queries, np.full(len(queries), distance), base)
    here = turned(keys, np.zeros(len(keys), dtype=int), base)
    return (there.mean(axis=0) @ here.mean(axis=0)), (there * here).sum(axis=1).mean()


@verifies(
    Claim(
        "rotary.similar",
        "beside an independent key, a similar one gains on average the sum of the cosines of the turns",
        r"$q, k$ with independent entries of mean $\mu$ and variance $\sigma^2$: $\mathbb E[q^\top R_mq] - \mathbb E[q^\top R_mk] = 2\sigma^2B_m$, $B_m = \sum_{i<d/2}\cos(mb^{-2i/d})$, and $\mathbb E[q^\top R_mk] = 2\mu^2B_m$, zero at every distance if $\mu = 0$",
        assumptions=("noise of mean zero, independent of the query, may be added to the similar key",),
        spec=("FN.N02",),
        cites=BASES,
        source_status=("seen", "derived"),
    ),
    constant(
        "half", "the gain is the variance times the sum, and the score the square of the mean times it", factor=1.0
    ),
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
            yield equals(gain, claimed, scale=dim * spread**2, part="similar", dim=dim, distance=distance)
            alone = factor * mean**2 * cosine_sums(base, [distance], dim)[0]
            yield equals(apart, alone, scale=dim * spread**2, part="independent", dim=dim, distance=distance)


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


# by dimension and length, where admissible bases begin and end by turns, as bisection in floats found them
ENDS = {
    (128, 256): "889.8707",
    (128, 1024): "4293.4376 4330.3233 5602.1786 5644.3521 6018.2809",
    (
        64,
        1024,
    ): "7752.9823 8385.6325 8959.8619 9014.3474 13037.2780 15753.3901 16450.7524 16894.8459 17834.0929 20203.3689 20768.8960 22069.7859 23019.3271",
    (
        128,
        2048,
    ): "11587.2443 11649.3528 12418.1598 12452.4234 13561.5815 13615.7639 13761.1117 13811.8913 14469.9766 14774.5011 15300.2862 16197.7613 16579.4436 16815.0951 17250.5185 22047.8279 22764.3038",
    (
        128,
        4096,
    ): "26952.3392 26973.0834 28628.6854 29079.9263 30127.1606 30199.7222 39206.1254 39307.1620 40289.3949 40324.0514 43146.3543 43341.3657 44546.7097 44962.9749 45820.8095 46851.3205 47064.7499 52703.2731 53433.8967 54390.4171 54618.1135 54643.1792 55159.7323 55429.6333 55831.7313 56716.4137 57095.7829 57133.4559 57533.9322 58221.7913 58789.5042",
}
NAMED = {4000: False, 4300: True, 5000: False, 5620: True, 5800: False, 6100: True, 10000: True, 500000: True}


def two_pieces(found):
    """The ends without those of the second of three pieces."""
    return (*found[:2], *found[4:]) if len(found) == 5 else found


def upward(found):
    """The least base alone, as if all that are larger were admissible."""
    return found[:1]


@verifies(
    Claim(
        "rotary.pieces",
        "the bases with which heads of dimension 128 prefer similar keys at every distance below 1024 form three intervals, the last without end",
        r"$d = 128$: $\{b > 1 : B_m(b) \ge 0,\ 0 \le m < 1024\} = [4293.4376, 4330.3233] \cup [5602.1786, 5644.3521] \cup [6018.2809, \infty)$; for $m < 256$ it is $[889.8707, \infty)$; for $m < 2048$ nine intervals, for $m < 4096$ sixteen, with $d = 64$ and $m < 1024$ seven, each time the last without end",
        assumptions=("angles b^(-2i/d)", "nine, sixteen and seven at paper scale"),
        spec=("FN.N02",),
        cites=BASES,
        remark="so up to 256 tokens every base above the least is admissible; the last interval begins at 22764.3038 for 2048, 58789.5042 for 4096 and 23019.3271 for d = 64",
        source_status=("derived",),
    ),
    constant("two-pieces", "the piece around 5620 is missing", taken=two_pieces),
    hypothesis("upward", "every base above the least is admissible", taken=upward, since=5000.0),
    constant("named", "5620 is not admissible, since 5000 and 5800 are not", named={**NAMED, 5620: False}),
    bug("mesh", "only multiples of 500 are looked at", mesh=500),
)
def test_pieces(run, *, taken=tuple, since=None, named=NAMED, mesh=None):
    table = run.study(studies.bases)
    for dim, length, top in studies.SERVED[run.scale]:
        case = {"dim": dim, "length": length}
        found = table.where(part="end", **case).intervals("value")
        claimed = taken(tuple(ENDS[dim, length].split()))
        yield equals(
            len(found) if mesh is None else changes(mesh, 7000, dim, length), len(claimed), part="number", **case
        )
        for place, (end, printed) in enumerate(zip(found, claimed, strict=False)):
            yield equals(end, Interval.printed(printed), part="ends", place=place, **case)
        beyond = table.where(part="beyond", **case).intervals("value")[0]
        if since is not None:
            beyond = least_sum_beyond(since, length - 1, dim)
        yield at_least(beyond, 0, scale=1, part="beyond", base=since or top, **case)
        if (dim, length) == (studies.HEAD, studies.LENGTH):
            for base, serves in named.items():
                within = sum(end.hi < base for end in found) % 2
                yield equals(within, int(serves), scale=1, part="named", base=base, **case)


def changes(mesh, most, dim, length):
    """How often bases that are multiples of the mesh, up to the most, begin or cease to be admissible, in floats."""
    served = [least_sum(float(base), length - 1, dim).mid >= 0 for base in range(mesh, most + 1, mesh)]
    return sum(one != other for one, other in itertools.pairwise(served))


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


def score(query, key, distance, base):
    """The score of one query and one key at a distance."""
    return (turned(query, [distance], base) * key).sum()


def largest_step(query, key, *, closed=True):
    """The largest change of the products of planes from one to the next, and of the last one to zero."""
    (a, b), (c, d) = ((exact(x)[0, 0::2], exact(x)[0, 1::2]) for x in (query, key))
    products = np.stack([a * c + b * d, b * c - a * d], axis=-1)
    steps = norm(products[1:] - products[:-1], axis=1)
    return np.concatenate([steps, norm(products[-1:], axis=1)]).max() if closed else steps.max()


@cache
def partial_sums(distance, base, dim):
    """Balls of the real and imaginary parts of the sums of the first turns, at one distance, and their lengths."""
    log = ball(base).log()
    turns = [distance * (-2 * i * log / dim).exp() for i in range(dim // 2)]
    parts = np.array([[turn.cos() for turn in turns], [turn.sin() for turn in turns]]).cumsum(axis=1)
    return parts, np.array([length.sqrt() for length in (parts**2).sum(axis=0)])


@cache
def in_step(distance, base, dim):
    """A query whose products with the key of ones change from plane to plane by one, against the partial sums."""
    parts, lengths = partial_sums(distance, base, dim)
    (real, imaginary) = (parts / lengths)[:, ::-1].cumsum(axis=1)[:, ::-1]
    return hull(np.stack([real, -imaginary], axis=-1).reshape(1, dim))


@cache
def mean_length(distance, base, dim):
    """The mean length of partial sums of turns, by rotated planes."""
    planes = rotate(np.tile([1.0, 0.0], dim // 2)[np.newaxis], [distance], base)
    return norm(np.tri(dim // 2) @ planes.reshape(dim // 2, 2), axis=1).sum() * 2.0 / dim


@verifies(
    Claim(
        "rotary.abel",
        "the bound of scores by partial sums of turns is attained at every distance tried, and does not fall with the distance",
        r"$h_i = q_i\bar k_i$ by planes, $h_{d/2} = 0$, $S_j = \sum_{i<j}e^{\mathrm im\theta_i}$: $|q^\top R_mk| \le \max_i|h_{i+1} - h_i|\sum_{j=1}^{d/2}|S_j|$, with equality for a query and a key at each $m$; $d = 128$, $b = 10^4$: $\frac2d\sum_j|S_j|$ is $9.2729$ at $m = 128$ and $10.8699$ at $m = 3575$; $B_{12} > B_{11}$",
        assumptions=("angles b^(-2i/d)",),
        spec=("FN.N02",),
        cites=("su2024",),
        remark="the bound is quoted as a decay of scores with distance; it holds for each pair of tokens, and another pair attains it at each distance",
        source_status=("recalled", "derived"),
    ),
    constant("half", "half of the bound is enough", share=0.5),
    bug("open", "the difference of the last product from zero is left out", closed=False),
    hypothesis("falls", "the bound and the sum of cosines fall with the distance", compare=at_most),
)
def test_abel(run, *, share=1.0, closed=True, compare=at_least):
    for dim, base in ((8, 100.0), (64, 1e4), (128, 5e5)):
        ones = np.tile([1.0, 0.0], dim // 2)[np.newaxis]
        for distance in (1, 7, 100, 3000):
            whole = hull(partial_sums(distance, base, dim)[1].sum())
            case = {"dim": dim, "base": base, "distance": distance}
            query = in_step(distance, base, dim)
            yield equals(score(query, ones, distance, base), share * whole, part="attained", **case)
            drawn = [rng.normal(size=(2, 1, dim)) for rng in run.draws(quick=3, paper=30)]
            for q, k in ((ones, ones), *drawn):
                reach = share * largest_step(q, k, closed=closed)
                yield at_most(abs(score(q, k, distance, base)), reach * whole, scale=dim, part="bound", **case)
    near, far = (mean_length(m, 1e4, studies.HEAD) for m in (128, 3575))
    yield equals(near, share * Interval.printed("9.2729"), part="lengths", distance=128)
    yield equals(far, share * Interval.printed("10.8699"), part="lengths", distance=3575)
    yield compare(far, near, part="rises", distance=3575)
    sooner, later = cosine_sums(1e4, [11, 12], studies.HEAD)
    yield compare(later, sooner, part="rises", distance=12)
