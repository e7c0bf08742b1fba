"""How fast tokens reach consensus: the linearisation for all sizes, spectra, slopes of the flow, and causal attention."""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import sympy

from theory.evidence import (
    Claim,
    Interval,
    Kind,
    at_most,
    ball,
    bug,
    constant,
    equals,
    hypothesis,
    limit,
    order,
    verifies,
)
from theory.evidence.symbolic import zero
from theory.particles import studies
from theory.particles.exact import spectrum, sphere_jacobian
from verify.textbook import hull

DERIVED = ("derived", "refereed")
SOURCES = ("geshkovski2025",)
LAST = 5  # windows on which a limit is taken; the earlier ones are shown


def exponential(beta):
    """The exponential of a float or a fraction."""
    return hull(ball(beta).exp())


def one(_beta):
    """The rate of SA."""
    return 1


n, k, beta, phi = sympy.symbols("n k beta phi", positive=True)
FORM = sympy.Matrix(2, 2, sympy.symbols("b11 b12 b21 b22", real=True))
BASE = sympy.Matrix([1, 0])
TURNED = sympy.Matrix([sympy.cos(phi), sympy.sin(phi)])
POINT = {n: 5, k: 4, beta: sympy.Rational(3, 2), phi: 0}
POINT |= {entry: sympy.Rational(i + 1, 3) for i, entry in enumerate(FORM)}


def push(at, terms, *, normalised, project, count=None):
    """The derivative at phi = 0 of the tangential part of sum w x, or sum w x / sum w, at a token; w, x in ``terms``."""
    total = sympy.zeros(2, 1)
    for weight, point in terms:
        total += weight * point
    total /= sum(weight for weight, _ in terms) if normalised else count
    moving = total - total.dot(at) * at if project else total
    return sympy.diff(moving[1], phi).subs(phi, 0)


@functools.cache
def vanishing(expression):
    """Whether an expression vanishes; most twins change only some of them."""
    return zero(expression, POINT)


@verifies(
    Claim(
        "consensus.linearisation",
        "near consensus differences decay at rate 1 under SA and e^beta under USA, for all n and d; causal at (k-1)/k",
        r"$\partial\dot x_i = \lambda(\frac1n\sum_j\partial x_j - \partial x_i)$, $\lambda = 1$ (SA), $e^\beta$ (USA); causal, any $B$: $\partial\dot x_k/\partial x_k = -\frac{k - 1}k$",
        assumptions=("unit tokens, V the identity", "in the plane of one direction: the rotations about consensus give all others"),
        spec=("FR.F15",),
        cites=SOURCES,
        source_status=DERIVED,
    ),
    constant("hotter", "the rate of SA is e^beta", sa=sympy.exp(beta)),
    constant("slower", "the rate of USA is 1", usa=1),
    constant("causal-one", "the causal rates are 1", causal=1),
    hypothesis("value", "V is twice the identity", value=2),
    bug("unprojected", "the projection is forgotten", project=False),
)  # fmt: skip
def test_linearisation(run, *, sa=1, usa=None, causal=None, value=1, project=True):
    usa = sympy.exp(beta) if usa is None else usa
    causal = (k - 1) / k if causal is None else causal
    near, far = sympy.exp(beta), sympy.exp(beta * TURNED.dot(BASE))
    for normalised, rate in ((True, sa), (False, usa)):
        own = [(value * near, TURNED), (value * (n - 1) * far, BASE)]
        other = [(value * far, TURNED), (value * (n - 1) * near, BASE)]
        squared_derivative = {"normalised": normalised, "project": project, "count": n}
        if normalised and value != 1:  # the factor would cancel
            own, other = ([(w / value, value * x) for w, x in terms] for terms in (own, other))
        first = push(TURNED, own, **squared_derivative)
        second = push(BASE, other, **squared_derivative)
        yield equals(vanishing(first - second + rate), 0, scale=1, part="differences", normalised=normalised)
        yield equals(vanishing(first + (n - 1) * second), 0, scale=1, part="mean", normalised=normalised)
    scores = [sympy.exp((TURNED.T * FORM * point)[0]) for point in (TURNED, BASE)]
    own = [(scores[0], value * TURNED), ((k - 1) * scores[1], value * BASE)]
    rest = push(TURNED, own, normalised=True, project=project) + causal
    yield equals(vanishing(rest), 0, scale=1, part="causal")


@verifies(
    Claim(
        "consensus.spectrum",
        "the linearisation at consensus has the eigenvalues 0, d - 1 times, and -1 (SA) or -e^beta (USA), all others",
        r"$\sigma = \{0^{(d-1)}, -\lambda^{((n-1)(d-1))}\}$, $\lambda = 1$ (SA), $e^\beta$ (USA)",
        assumptions=("unit tokens, V the identity",),
        spec=("FR.F15",),
        cites=SOURCES,
        source_status=DERIVED,
    ),
    constant("hotter", "the rate of SA is e^beta", sa=exponential),
    constant("slower", "the rate of USA is 1", usa=one),
    hypothesis("value", "V is twice the identity", value=2.0),
    bug("not-averaged", "USA forgets to divide by n", averaged=False),
)
def test_spectrum(run, *, sa=one, usa=exponential, value=1.0, averaged=True):
    table = run.study(studies.eigenvalues)
    for name, rate_of in (("SA", sa), ("USA", usa)):
        for b in np.unique(table.where(way=name)["beta"]).tolist():
            claimed = [-rate_of(b)] * 8 + [0] * 2
            for found, value_ in zip(table.where(way=name, beta=b).intervals("value"), claimed, strict=True):
                yield equals(found, value_, scale=rate_of(b), part="table", field=name, beta=b)
    cases = [(np.ones(3), 4, 1.0)]
    cases += [
        (rng.normal(size=int(rng.integers(2, 5))), int(rng.integers(2, 7)), float(rng.uniform(-2.0, 6.0)))
        for rng in run.draws(quick=2, paper=60)
    ]
    for point, count, b in cases:
        d = point.size
        for name, normalised, rate in (("SA", True, sa(b)), ("USA", False, usa(b))):
            adjacency = None if normalised or averaged else np.ones((count, count))
            jacobian = sphere_jacobian(
                np.tile(point, (count, 1)), beta=b, normalised=normalised, adjacency=adjacency, value=value * np.eye(d)
            )
            claimed = [-rate] * ((count - 1) * (d - 1)) + [0] * (d - 1)
            for at, (found, value_) in enumerate(zip(spectrum(jacobian), claimed, strict=True)):
                yield equals(found, value_, scale=rate, field=name, n=count, d=d, beta=b, number=at)


PRINTED = ("-0.83333", "-0.80000", "-0.75000", "-0.66667", "-0.50000")


@verifies(
    Claim(
        "consensus.causal-spectrum",
        "causal attention has the eigenvalues -(k - 1) / k at consensus, k = 1 to n, each d - 1 times, for any Q and K",
        r"$\sigma = \{-\frac{k-1}k : k = 1, \dots, n\}$, each of multiplicity $d - 1$",
        assumptions=("unit tokens, V the identity",),
        spec=("FR.F15",),
        cites=("karagodin2024",),
        source_status=DERIVED,
    ),
    constant("shared", "(k - 1) / n", level=lambda number, count: Fraction(number - 1, count)),
    constant("one", "all decay at rate 1", level=lambda number, _count: Fraction(min(number - 1, 1))),
    hypothesis("full", "all tokens see all", causal=False),
    hypothesis("value", "V is twice the identity", value=2.0),
)
def test_causal_spectrum(run, *, level=lambda number, _count: Fraction(number - 1, number), causal=True, value=1.0):
    table = run.study(studies.eigenvalues).where(way="causal").intervals("value")
    for at, found in enumerate(table):
        yield equals(found, -level(6 - at // 2, 6), scale=1, part="table", number=at)
    for at, quoted in enumerate(PRINTED):
        yield equals(-level(6 - at, 6), Interval.printed(quoted, Kind.CERTIFIED), part="printed")
    cases = [(np.ones(3), 4, np.diag([1.0, -2.0, 3.0]))]
    for rng in run.draws(quick=3, paper=60):
        d = int(rng.integers(2, 5))
        cases.append(
            (rng.normal(size=d), int(rng.integers(2, 7)), 10.0 ** rng.uniform(-1.0, 1.0) * rng.normal(size=(d, d)))
        )
    for point, count, form in cases:
        d = point.size
        tokens = np.tile(point, (count, 1))
        jacobian = sphere_jacobian(tokens, form=form, causal=causal, value=value * np.eye(d))
        claimed = sorted(-level(number, count) for number in range(1, count + 1) for _ in range(d - 1))
        for at, (found, value_) in enumerate(zip(spectrum(jacobian), claimed, strict=True)):
            yield equals(found, value_, scale=1, n=count, d=d, number=at)


def slopes(part, column):
    """The slopes of a column on successive windows."""
    logs = part.intervals(column)
    times = part["time"].tolist()
    return [
        (b - a) / (t - s) for (a, b), (s, t) in zip(itertools.pairwise(logs), itertools.pairwise(times), strict=True)
    ]


@verifies(
    Claim(
        "consensus.rate",
        "in the end the diameter decays like e^-t under SA and e^(-e^beta t) under USA, and 1 - m at twice the rate",
        r"$\frac{d}{dt}\log D \to -\lambda$, $\frac{d}{dt}\log(1 - m) \to -2\lambda$, $\lambda = 1$ (SA), $e^\beta$ (USA), with an error like $D^2$",
        assumptions=(
            "all tokens in an open half-sphere, not all equal",
            "V the identity",
            "limits on the last five windows of time, the order of the error on five early ones, before rounding shows",
        ),
        spec=("FR.F15",),
        cites=SOURCES,
        source_status=("derived",),  # the error; the rates are refereed
    ),
    constant("hotter", "the rate of SA is e^beta", sa=exponential),
    constant("mean-field", "the rates are half as large, as in a mean field", share=0.5),
    constant("single", "1 - m decays like the diameter", power=1),
    hypothesis("not-normalised", "SA without its denominator", ways=("USA", "USA")),
    bug("next-order", "the error is like the diameter", next_order=1),
)
def test_rate(run, *, sa=one, share=1.0, power=2, ways=("SA", "USA"), next_order=2):
    table = run.study(studies.collapses)
    for (way, rate_of), seen in zip((("SA", sa), ("USA", exponential)), ways, strict=True):
        for start in np.unique(table.where(way=seen)["start"]).tolist():
            part = table.where(way=seen, start=start)
            b = float(part["beta"][0])
            case = {"field": way, "n": int(part["n"][0]), "d": int(part["d"][0]), "beta": b}
            rate = share * rate_of(b)
            found = slopes(part, "log")
            yield equals(limit(found[-LAST:], ratio=math.e, order=2), -rate, part="diameter", **case)
            yield equals(limit(slopes(part, "gap")[-LAST:], ratio=math.e, order=2), -power * rate, part="gap", **case)
            errors = [s / (-rate_of(b)) - 1 for s in found[1 : LAST + 1]]
            yield equals(order(errors, ratio=math.e), next_order, scale=1, part="next order", **case)


@verifies(
    Claim(
        "consensus.causal",
        "under causal attention all tokens converge to where the first one started, at rate one half, whatever Q and K",
        r"$x_k(t) \to x_1(0)$ for all $k$, $\frac{d}{dt}\log D \to -\frac12$ for $n \ge 2$",
        assumptions=("V the identity", "almost every start, of which samples are seen"),
        spec=("FR.F15",),
        cites=("karagodin2024",),
        source_status=("seen", *DERIVED),
    ),
    constant("mean", "the limit is the direction of the mean", target="mean"),
    constant("one", "the rate is 1", rate=1),
    constant("last", "the rate is (n - 1) / n", rate=None),
    hypothesis("full", "all tokens see all", mask="full"),
    hypothesis("opposite", "the second token starts opposite to the first", start="opposite"),
)
def test_causal(run, *, target="first", rate=Fraction(1, 2), mask="causal", start="named"):
    table = run.study(studies.collapses)
    for number in np.unique(table.where(way="causal")["start"]).tolist():
        part = table.where(way="causal", start=number)
        count = int(part["n"][0])
        case = {"n": count, "d": int(part["d"][0]), "start": number}
        claimed = Fraction(count - 1, count) if rate is None else rate
        yield equals(limit(slopes(part, "log")[-LAST:], ratio=math.exp(8.0), order=1), -claimed, part="rate", **case)
        reach = part.intervals("from_first")[-1]
        away = reach if target == "first" else part.intervals("from_mean")[-1] - reach
        yield at_most(away, 1e-16, part="limit", **case)
    named = run.study(studies.anchors).where(mask=mask, start=start)
    yield at_most(named.intervals(target)[0], 1e-4, scale=1, part="named")
