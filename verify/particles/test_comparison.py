"""The slowest acute start: the simplex without normalisation; with it, the simplex or two equal clusters."""

from fractions import Fraction

import sympy

from theory.evidence import (
    Claim,
    Interval,
    Kind,
    at_least,
    at_most,
    ball,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    verifies,
)
from theory.evidence.symbolic import zero
from theory.particles import studies
from theory.particles.exact import slowest_rate
from theory.particles.studies import COMPARISON_WITNESS as WITNESS
from verify.particles.simplex import elapsed, least_rate, rate
from verify.textbook import hull

SURVEY = ("geshkovski2025",)
ACUTE = "all overlaps are at least $m \\ge 0$, which one pair has"


def growth(table, rule, *parts):
    """The rates of configurations under one rule."""
    for part in parts:
        found = table.where(part=part, rule=rule)
        for n, beta, start, value in zip(
            found["n"].tolist(), found["beta"].tolist(), found["start"].tolist(), found.intervals("value"), strict=True
        ):
            # rates have an a-priori bound; only the paths of the same table are judged from two runs
            yield part, n, beta, start, Interval(value.lo, value.hi, Kind.NUMERIC)


@verifies(
    Claim(
        "equiangular.slowest",
        "without normalisation no acute configuration moves its farthest pair together more slowly than the simplex does",
        r"USA: $\dot m \ge \frac2n e^{\beta m}(1 - m)((n - 1)m + 1)$; equality on the simplex",
        assumptions=(ACUTE,),
        spec=("FR.F13",),
        cites=SURVEY,
        provenance=("derived", "refereed"),
    ),
    constant("near", "the bound is one per cent larger", share=1.01),
    hypothesis("softmax", "the rows are normalised, and compared with the simplex under softmax", rule="SA"),
    bug("unsummed", "the simplex counts n tokens besides the pair", more=1),
)
def test_slowest(run, *, share=1.0, rule="USA", more=0):
    table = run.study(studies.comparison)
    for part, n, beta, gap, value in growth(table, rule, "random", "search", "simplex", "clusters", "odd"):
        claimed = share * hull(rate(gap, n + more, beta, rule))
        yield at_least(value, claimed, scale=claimed, part=part, n=n, beta=beta, gap=gap)
        if part in ("simplex", "odd"):
            yield equals(value, claimed, part=f"{part}, attained", n=n, beta=beta, gap=gap)
        if part == "clusters":  # exp(beta m) (1 - m^2) whatever n
            exact = hull((ball(beta) * (1 - ball(gap))).exp() * ball(gap) * (2 - ball(gap)))
            yield equals(value, share * exact, part="clusters, exact", n=n, beta=beta, gap=gap)


@verifies(
    Claim(
        "equiangular.threshold",
        "under softmax two equal clusters are slower than the simplex exactly if m exp(beta (1 - m)) exceeds one",
        r"$\frac{1 + m}{1 + E} - \frac{(n - 1)m + 1}{E + n - 1} = \frac{(n - 2)(1 - mE)}{(1 + E)(E + n - 1)}$, $E = e^{\beta(1 - m)}$; at $n = 10$, $m = .3$, $\beta = 5$: $.0533 < .1230$",
        assumptions=(
            r"each side times $2(1 - m)$ is the rate of two equal clusters (n even), or of the simplex, of overlap $m$",
        ),
        spec=("FR.F13",),
        cites=SURVEY,
        provenance=("derived",),  # the identity; the two numbers are refereed
    ),
    constant("other", "the threshold is exp(beta (1 - m)) = 1", power=0),
    bug("own", "the simplex has no weight on the token itself", own=0),
    hypothesis("free", "the rows are not normalised", rule="USA"),
)
def test_threshold(run, *, power=1, own=1, rule="SA"):
    n, m, E = sympy.symbols("n m E", positive=True)
    difference = (1 + m) / (1 + E) - ((n - 1) * m + 1) / (own * E + n - 1)
    factor = (n - 2) * (1 - m**power * E) / ((1 + E) * (E + n - 1))
    yield equals(zero(difference - factor, {n: 10, m: sympy.Rational(3, 10), E: 30}), 0, scale=1, part="identity")
    tokens, gap, beta = WITNESS
    simplex, pair = hull(rate("7/10", tokens, 5, rule, own=own)), hull(rate("7/10", 2, 5, rule, own=own))
    yield equals(simplex, Interval.printed("0.1230"), scale=1, part="printed", tokens=tokens)
    yield equals(pair, Interval.printed("0.0533"), scale=1, part="printed", tokens=2)
    table = run.study(studies.comparison)
    for part, tokens, beta, gap, value in growth(table, rule, "clusters"):
        yield equals(value, hull(rate(gap, 2, beta, "SA", own=own)), part=part, n=tokens, beta=beta, gap=gap)
    for share in (2, 8, 32):  # the comparison with the simplex fails by any factor as n grows, while E exceeds n
        many = 16 * share
        ratio = rate("1/4", many, 100, rule, own=own) / rate("1/4", 2, 100, rule, own=own)
        yield at_least(hull(ratio), share, part="by any factor", n=many)


@verifies(
    Claim(
        "equiangular.softmax-slowest",
        "under softmax the slowest acute configuration is the simplex while m exp(beta (1 - m)) is at most one, then two equal clusters",
        r"SA: $\dot m \ge 2(1 - m)\min\{\frac{(n - 1)m + 1}{E + n - 1}, \frac{1 + m}{1 + E}\} \ge \frac2n e^{-\beta(1 - m)}(1 - m)((n - 1)m + 1)$, $E = e^{\beta(1 - m)}$; equality in the first on the simplex if $mE \le 1$, for two equal clusters (n even) if $mE \ge 1$",
        assumptions=(ACUTE,),
        spec=("FR.F13",),
        cites=SURVEY,
        provenance=("derived",),  # the first bound; the second is refereed
    ),
    hypothesis("naive", "the simplex alone is compared with", pair=False),
    constant("near", "the bound is one per cent larger", share=1.01),
    bug("own", "tokens give no weight to themselves", own=0),
)
def test_softmax_slowest(run, *, pair=True, share=1.0, own=1):
    table = run.study(studies.comparison)
    for part, n, beta, gap, value in growth(table, "SA", "random", "search", "simplex", "clusters", "odd"):
        many = hull(rate(gap, n, beta, "SA", own=own))
        claimed = share * (least_rate(gap, n, beta) if pair and own else many)
        case = {"n": n, "beta": beta, "gap": gap}
        yield at_least(value, claimed, scale=claimed, part=part, **case)
        printed = hull((-ball(beta)).exp() * rate(gap, n, beta, "USA"))
        yield at_least(value, share * printed, scale=printed, part="printed bound", **case)
        worst = "simplex" if ball(beta * gap).exp() * (1 - ball(gap)) < 1 else "clusters"
        if part == worst:
            yield equals(value, claimed, part=f"{part}, attained", **case)
        if part in ("simplex", "clusters"):
            told = slowest_rate(exact(gap), tokens=n, beta=beta)
            yield equals(told, share * least_rate(gap, n, beta), part="constant", **case)


def paths(table, rule):
    """The paths under one rule: where they start, and the largest gap at positive times."""
    for part in sorted({name for name in table["part"].tolist() if name.startswith("path")}):
        found = table.where(part=part, rule=rule)
        for k, value in enumerate(found.intervals("value")):
            if found["t"][k] > 0.0:
                yield part, *(found[name].tolist()[k] for name in ("n", "beta", "start", "t")), value


@verifies(
    Claim(
        "equiangular.slowest-path",
        "without normalisation no acute start comes together more slowly than the simplex of the same smallest overlap",
        r"USA: $m(t) \ge \rho(t)$, $\dot\rho = \frac2n e^{\beta\rho}(1 - \rho)((n - 1)\rho + 1)$, $\rho(0) = m(0)$; hence $1 - m(t) \le (1 - m(0))e^{-2t/n}$; equality from the simplex, and not from the start of equiangular.contact, where the rates agree",
        assumptions=(r"$m(0) \ge 0$",),
        spec=("FR.F13",),
        cites=SURVEY,
        provenance=("derived", "refereed"),
    ),
    constant("near", "one per cent sooner", share=1.01),
    hypothesis("softmax", "the rows are normalised, and compared with the simplex under softmax", rule="SA"),
    bug("n", "the sums are not divided by n", masses=True),
)
def test_slowest_path(run, *, share=1.0, rule="USA", masses=False):
    for part, n, beta, start, t, value in paths(run.study(studies.comparison), rule):
        waited = elapsed(value, n, beta, rule, start)  # how long the simplex takes to this gap
        pace = n * share if masses else share
        case = {"part": part, "n": n, "beta": beta, "start": start, "t": t}
        yield at_least(waited, pace * t, scale=t, **case)
        if part == "path simplex":
            yield equals(waited, pace * Interval.exactly(t), **(case | {"part": "simplex, attained"}))
        if part == "path odd":
            later = Fraction(201, 200) * Interval.exactly(pace) * t
            yield at_least(waited, later, **(case | {"part": "not equiangular, by a margin"}))
        bound = hull(ball(start) * (-2 * ball(pace) * ball(t) / n).exp())
        yield at_most(value, bound, **(case | {"part": "exponential"}))


@verifies(
    Claim(
        "equiangular.softmax-path",
        "under softmax an acute start comes together at least as fast as the simplex if beta <= 1, and as two tokens once m exp(beta (1 - m)) >= 1",
        r"SA: $m(t) \ge \rho_n(t)$ if $\beta \le 1$; $m(t) \ge \rho_2(t)$ if $m(0)e^{\beta(1 - m(0))} \ge 1$, with equality for two equal clusters; always $m(t) \ge \rho^{\mathrm{USA}}_n(e^{-\beta}t)$, hence $1 - m(t) \le (1 - m(0))e^{-2e^{-\beta}t/n}$, and without n $1 - m(t) \le (1 - m(0))e^{-2ct}$, $c = \min\{m(0), \frac{1 + m(0)}{1 + e^{\beta(1 - m(0))}}\}$",
        assumptions=(r"$m(0) \ge 0$",),
        spec=("FR.F13",),
        cites=SURVEY,
        provenance=("derived",),  # all but the rate with n, which is refereed
    ),
    hypothesis("naive", "the simplex is compared with at any beta", few=None),
    constant("near", "one per cent sooner", share=1.01),
    bug("own", "tokens give no weight to themselves", own=0),
    constant("hot", "the bounds that hold for any start are those at beta = 0", cold=0),
)
def test_softmax_path(run, *, few=2, share=1.0, own=1, cold=1):
    for part, n, beta, start, t, value in paths(run.study(studies.comparison), "SA"):
        case = {"n": n, "beta": beta, "start": start, "t": t}
        rest = ball(start) * 1
        tokens = n if beta <= 1.0 else few or n
        if beta <= 1.0 or few is None or (ball(beta) * rest).exp() * (1 - rest) >= 1:
            waited = elapsed(value, tokens, beta, "SA", start, own=own)
            yield at_least(waited, share * t, scale=t, part=part, **case)
            if part == ("path simplex" if beta <= 1.0 else "path clusters"):
                yield equals(waited, share * Interval.exactly(t), part=f"{part}, attained", **case)
        slower = hull((-cold * ball(beta)).exp())
        yield at_least(elapsed(value, n, beta, "USA", start), share * slower * t, scale=slower * t, part="USA", **case)
        bound = hull(rest * (-2 * ball(share) * (-cold * ball(beta)).exp() * ball(t) / n).exp())
        yield at_most(value, bound, part="exponential", **case)
        pair = hull((2 - rest) / (1 + (cold * ball(beta) * rest).exp()))
        speed = Interval(min(pair.lo, hull(1 - rest).lo), min(pair.hi, hull(1 - rest).hi), pair.kind)
        free = [hull(rest * (-2 * ball(end) * ball(t)).exp()) for end in (speed.hi, speed.lo)]
        yield at_most(value, Interval(free[0].lo, free[1].hi, pair.kind), part="exponential without n", **case)
