"""Attention on the line becomes Boolean, doubly exponentially fast, at a rate that its value matrix alone decides."""

import itertools
import math
from fractions import Fraction

import numpy as np

from theory.evidence import Claim, Interval, at_least, at_most, ball, bug, constant, equals, hypothesis, limit, verifies
from theory.particles import studies
from verify.textbook import hull

COPIES = "two distinct tokens or more; copies of one are counted together in the largest weight"
SOURCES = ("geshkovski2023",)
LAST = 5  # windows on which a limit is taken; the earlier ones are shown
SIMPLE = ("named", "positive", "random")


def rows(table, cases):
    """The tokens of a table, with what the table says of each over time."""
    for start in np.unique(table["start"]).tolist():
        part = table.where(start=start)
        if part["case"][0] in cases:
            for token in np.unique(part["token"]).tolist():
                yield {"case": str(part["case"][0]), "start": start, "token": token}, part.where(token=token)


def alone(table, part):
    """Whether the token of a row is the only one of its sign in the end."""
    others = table.where(start=part["start"][0], clock=int(part["clock"].max()))
    same = others["x.lo"] > 0.0 if part["x.lo"][-1] > 0.0 else others["x.hi"] < 0.0
    return int(same.sum()) == 1


def grown(clock):
    """The exponential of a clock."""
    return hull(ball(clock).exp())


def extreme(position, count):
    """The largest token for a positive position, the smallest for a negative one."""
    return count - 1 if position > 0.0 else 0


@verifies(
    Claim(
        "boolean.limit",
        "on the line the attention matrix becomes Boolean: rows of positive tokens select the largest, of negative the smallest",
        r"$P(t) \to$ a Boolean matrix, $P_{i j^*} \to 1$ for $j^* = \arg\max$ if $x_i(t) > 0$ in the end and $\arg\min$ if $< 0$; rank 1, or 2 if both signs are there; rows $(\frac12, \frac12)$ for two equal maxima",
        assumptions=("d = 1, A, V > 0", "distinct tokens but for the named tie, none converging to 0"),
        spec=("FR.F26",),
        cites=SOURCES,
        source_status=("seen", "refereed"),
    ),
    constant("rank-one", "the rank is one", rank=lambda _both: 1),
    hypothesis("tied", "the two largest tokens are equal", cases=(*SIMPLE, "tied")),
    bug("largest", "every row selects the largest token", choice=lambda _position, count: count - 1),
    constant("one-of-two", "of two equal maxima one is selected", share=1),
)  # fmt: skip
def test_limit(run, *, rank=lambda both: 1 + both, cases=SIMPLE, choice=extreme, share=Fraction(1, 2)):
    table = run.study(studies.boolean)
    chosen, signs = {}, {}
    for case, part in rows(table, cases):
        count = int(table.where(start=case["start"])["token"].max()) + 1
        position = part.intervals("x")[-1]
        if position.lo <= 0.0 <= position.hi:
            yield at_most(Interval.unknown(), 0, scale=1, part="sign", **case)
            continue
        selected = int(part["selected"][-1])
        yield equals(selected, choice(position.mid, count), scale=1, part="selected", **case)
        yield equals(part.intervals("weight")[-1], 1, part="largest weight", **case)
        chosen.setdefault(case["start"], set()).add(selected)
        signs.setdefault(case["start"], set()).add(position.mid > 0.0)
    for start, selected in chosen.items():
        yield equals(len(selected), rank(len(signs[start]) - 1), scale=1, part="rank", start=start)
    for case, part in rows(table, ("tied",)):
        if part.intervals("x")[-1].lo > 0.0:
            yield equals(part.intervals("weight")[-1], share, part="tied", **case)


@verifies(
    Claim(
        "boolean.rate",
        "a row leaves exp(-c e^(Vt)) outside its largest weight, but exp(-c e^(2Vt)) if its token alone has its sign",
        r"$\frac{d}{dt}\log\bigl(-\log(1 - \max_j P_{ij})\bigr) \to V$ if another token has the sign of $x_i$ in the end, $2V$ if none has; error like $e^{-Vt}$",
        assumptions=("d = 1, A, V > 0", "distinct tokens but for the named tie, none converging to 0", COPIES),
        spec=("FR.F26",),
        cites=SOURCES,
        source_status=("seen", "derived"),  # the rate V is refereed as one for all rows, which it is not
    ),
    constant("twice", "the rate is 2V for all rows, since scores grow like x squared", power=lambda _lone: 2),
    constant("once", "the rate is V for all rows, since gaps converge", power=lambda _lone: 1),
    constant("single", "the convergence is singly exponential", power=lambda _lone: 0),
    bug("clock", "time is counted in units of 1 / V", clock=True),
)
def test_rate(run, *, power=lambda lone: 1 + lone, clock=False):
    table = run.study(studies.boolean)
    for case, part in rows(table, (*SIMPLE, "tied")):
        value = float(part["value"][0])
        unit = 1.0 if clock else value
        logs = part.intervals("double")[-LAST - 1 :]
        slopes = [(b - a) * unit for a, b in itertools.pairwise(logs)]
        lone = alone(table, part)
        claimed = power(lone) * value
        yield equals(limit(slopes, ratio=math.e, order=1), claimed, scale=value, value=value, lone=int(lone), **case)


@verifies(
    Claim(
        "boolean.constant",
        "the constant c is A times the scale of the token times the gap beside the selected token, which converges",
        r"$-e^{-Vt}\log(1 - \max_j P_{ij}) \to A\,\lim|x_i|e^{-Vt}\,\lim\min_{j \ne j^*}|x_{j^*} - x_j|$; $e^{-2Vt}$ and $\lim e^{-Vt}\min|\cdot|$ for a token alone of its sign",
        assumptions=("d = 1, A, V > 0", "distinct tokens but for the named tie, none converging to 0", COPIES),
        spec=("FR.F26",),
        cites=SOURCES,
    ),
    constant("half", "half of that", share=Fraction(1, 2)),
    constant("near", "one per cent more", share=Fraction(101, 100)),
    bug("first-gap", "the gap is the one at the start", beside=lambda gaps: gaps[0]),
)
def test_constant(run, *, share=1, beside=lambda gaps: limit(gaps[-LAST:], ratio=math.e, order=1)):
    table = run.study(studies.boolean)
    for case, part in rows(table, (*SIMPLE, "tied")):
        lone = int(alone(table, part))
        growth = [grown(float(c)) for c in part["clock"].tolist()]
        scaled = [-error / g ** (1 + lone) for error, g in zip(part.intervals("log_error"), growth, strict=True)]
        sizes = [abs(x) / g for x, g in zip(part.intervals("x"), growth, strict=True)]
        gaps = [gap / g**lone for gap, g in zip(part.intervals("gap"), growth, strict=True)]
        size = limit(sizes[-LAST:], ratio=math.e, order=1)
        claimed = share * float(part["score"][0]) * size * beside(gaps)
        yield equals(limit(scaled[-LAST:], ratio=math.e, order=1), claimed, part="constant", lone=lone, **case)
        if not lone:
            yield equals(gaps[-1], beside(gaps), part="the gap has converged", **case)


@verifies(
    Claim(
        "boolean.delay",
        "a token that starts at eps delays its row without bound, but only like log log (1 / eps) / (2V)",
        r"$T(\varepsilon) - \frac1{2V}\log\log\frac1\varepsilon$ converges as $\varepsilon \to 0$, where $AxX = 1$ at $T(\varepsilon)$, for tokens $\pm 1, \pm\varepsilon$",
        assumptions=("d = 1, A, V > 0",),
        spec=("FR.F26",),
    ),
    constant("whole", "like log log (1 / eps) / V", growth=lambda _power: 1),
    constant("saddle", "like log (1 / eps), as near a saddle at rest", growth=lambda power: 2**power),
    bug("doubling", "doublings are taken for units of log log", base=1.0),
)
def test_delay(run, *, growth=lambda _power: Fraction(1, 2), base=None):
    table = run.study(studies.delays)
    unit = hull(ball(2).log()) if base is None else base
    for value in np.unique(table["value"]).tolist():
        part = table.where(value=value)
        delays = part.intervals("delay")
        powers = part["power"].tolist()
        steps = [(b - a) / unit for a, b in itertools.pairwise(delays)]
        rate = limit(steps[-LAST:], ratio=2.0, order=1)
        yield equals(rate, growth(powers[-1]) / Fraction(value), part="rate", value=value)
        for delay, power in zip(delays, powers, strict=True):
            least = growth(power) * (power - 4) * unit / value
            yield at_least(delay, least, scale=1, part="unbounded", value=value, power=power)
