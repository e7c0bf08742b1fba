"""How far tokens move by their mean shift: in closed form for a normal law, sweep by sweep, and as a flow of the law."""

import math
from fractions import Fraction
from functools import cache

import numpy as np

from theory.attention import SquaredDistance, doubly_normalised, partition_error, rounding
from theory.diffusion import CircleDensity, balance_tokens, chordal, propagate, studies
from theory.diffusion.limits import balance_error
from theory.diffusion.studies.normalisers import ALPHAS, EPSILONS, PLACES, PRINTED, VARIANCE, way_of
from theory.evidence import Claim, Interval, at_most, bug, constant, equals, hypothesis, limit, verifies
from theory.evidence.roundoff import U

MARSHALL = ("ruan2024", "coifman2006", "marshall2019")
CHECKED = ("recalled", "derived", "refereed")


@verifies(
    Claim(
        "normaliser.sweeps",
        "the drift falls from whole to half while some one over the bandwidth sweeps are made",
        r"normal law of variance $s$, $k$ sweeps, $k\varepsilon = t$: $\frac1\varepsilon(\int y\,P_k(x, dy) - x) \to \frac12(1 + e^{-2t/s})(\log p)'(x)$ as $\varepsilon \to 0$; $s = 1.08$, $t = 0.27, 0.54, 1.08$",
        assumptions=("normal law on the line, Gaussian kernel", "equal potentials at the start, rows last"),
        spec=("DL.C5", "FR.F24"),
        cites=("sander2022", "berman2020"),
        provenance=("derived",),
    ),
    constant("half", "the drift is half from the first sweep on", start=0.0),
    constant("rate", "the rate is 1 / s", rate=1.0),
    hypothesis("none", "no sweep is made", swept=False),
)
def test_sweeps(run, *, start=0.5, rate=2.0, swept=True):
    s = VARIANCE
    for share in (0.25, 0.5, 1.0):
        levels = [swept_shift(share * s, 4 * 2**level, swept) for level in range(run.pick(quick=4, paper=5))]
        claimed = 0.5 + start * math.exp(-rate * share)
        for at, x in enumerate(PLACES):
            slope = Interval.within(x / s, 4 * U)
            coefficient = [-level[at] / slope for level in levels]
            yield equals(limit(coefficient, order=1), Interval.within(claimed, 16 * U), t=share * s, x=x)


@cache
def swept_shift(t, sweeps, swept):
    """The mean shift over epsilon after some sweeps, epsilon = t / sweeps, through the engine."""
    epsilon, s = t / sweeps, VARIANCE
    count = max(121, math.ceil(2 * 9 * math.sqrt(s / epsilon) / 0.7) | 1)
    nodes = 9.0 * math.sqrt(s) * np.linspace(-1.0, 1.0, count)[:, np.newaxis]
    law, score = np.exp(-0.5 * nodes[:, 0] ** 2 / s), SquaredDistance(0.5 / epsilon)
    found = doubly_normalised(
        nodes, nodes, score=score, query_weights=law, key_weights=law, sweeps=sweeps if swept else 0, tolerance=0.0
    )
    places = np.array(PLACES)[:, np.newaxis]
    masses = law * np.exp(found.g)
    moved = propagate(places, nodes, nodes, epsilon, weights=masses)[:, 0]
    # a sweep moves no potential by more than the one before it was off, and adds two errors of its sums: rounding of
    # numbers below 50, and of a trapezoidal rule for normal laws (Poisson's formula)
    spacing, variance = float(nodes[1, 0] - nodes[0, 0]), epsilon * s / (s + epsilon)
    rule = 4.0 * math.exp(-2.0 * math.pi**2 * variance / spacing**2)
    off = 2.0 * sweeps * (partition_error(nodes, nodes, score, np.log(law)) + 64 * U * 50.0 + rule)
    width = rounding(places, nodes, nodes, score=score, weights=masses) + 4.0 * off * math.sqrt(epsilon)
    return [Interval.within(v - x, width) / epsilon for v, x in zip(moved.tolist(), PLACES, strict=True)]


def coefficient(way, epsilon, s, *, half_of=Fraction(1, 2), times=1, sign=1):
    """The drift over the slope of the log-density, for a normal law: a Gaussian product, or a quadratic equation."""
    e, s = Interval.exactly(Fraction(epsilon)), Interval.exactly(Fraction(s))
    if way == "sinkhorn":
        return half_of * 2 * (s + e / 2 - (s * s + e * e / 4).sqrt()) / e
    precision = 1 / s - sign * Fraction(way[6:]) / (s + e)
    return times * s * precision / (1 + e * precision)


@verifies(
    Claim(
        "normaliser.mean-shift",
        "the shift of a token of a normal law over the bandwidth, in units of the slope of the log-density, in closed form",
        r"$\frac{1}{\varepsilon}\int(y - x)P(x, dy) = c\,(\log\varrho)'(x)$ for $\varrho = N(0, s)$: $c = \frac{s\tau}{1 + \varepsilon\tau}$, $\tau = \frac1s - \frac\alpha{s + \varepsilon}$, for weights $q_\varepsilon^{-\alpha}$; $c = \frac1\varepsilon(s + \frac\varepsilon2 - \sqrt{s^2 + \frac{\varepsilon^2}4})$ for Sinkhorn; hence $c \to 1 - \alpha$ and $\frac12$. At $s = 1.08$, $\varepsilon = 0.02, 0.01$: $0.982, 0.991$ ($\alpha = 0$); $0.5043, 0.5022$ ($\frac12$); $0.0182, 0.0092$ ($1$); $0.4977, 0.4988$ (Sinkhorn)",
        assumptions=(
            "normal law on the line, Gaussian kernel of variance epsilon",
            "trapezoidal rule, 4001 nodes at the paper scale",
        ),
        spec=("FR.F25", "DL.C5"),
        cites=MARSHALL,
        provenance=CHECKED,
    ),
    constant("laplacian", "Sinkhorn's limit is the pure Laplacian", half_of=Fraction(0), limits={"sinkhorn": 0}),
    constant("twice", "softmax has the coefficient 2", times=2, limits={"alpha 0": 2}),
    constant("left", "density that is divided out leaves a half", limits={"alpha 1": Fraction(1, 2)}),
    bug("sign", "keys are weighted by the density to the power +alpha", sign=-1),
    hypothesis("variance", "the law has variance 1.09", s=Fraction(109, 100)),
)
def test_mean_shift(run, *, half_of=Fraction(1, 2), times=1, sign=1, s=Fraction(27, 25), limits=None):
    table = run.study(studies.normalisers)
    printed = {
        "alpha 0": ("0.982", "0.991"), "alpha 0.5": ("0.5043", "0.5022"), "alpha 1": ("0.0182", "0.0092"),
        "sinkhorn": ("0.4977", "0.4988"),
    }  # fmt: skip
    ends = {way_of(a): 1 - Fraction(a) for a in ALPHAS} | {"sinkhorn": Fraction(1, 2)} | (limits or {})
    for way, end in ends.items():
        for x in PLACES:
            slope = -Interval.exactly(Fraction(x)) / Interval.exactly(s)
            part = table.where(part="shift", way=way, x=x)
            found = dict(zip(part["epsilon"].tolist(), part.intervals("value"), strict=True))
            found = {epsilon: found[epsilon] / slope for epsilon in EPSILONS}
            for epsilon in EPSILONS:
                claimed = coefficient(
                    way, epsilon, s, half_of=half_of, times=times if way == "alpha 0" else 1, sign=sign
                )
                yield equals(found[epsilon], claimed, scale=1, way=way, epsilon=epsilon, x=x)
            for epsilon, digits in zip(PRINTED, printed.get(way, ()), strict=False):
                gap = abs(found[epsilon] - Fraction(digits))
                last = Fraction(1, 2 * 10 ** (len(digits) - 2))
                yield at_most(gap, last, scale=1, way=way, epsilon=epsilon, x=x, part="printed")
            value = limit([found[epsilon] for epsilon in EPSILONS], order=1)
            yield equals(value, end, scale=1, x=x, part=f"limit, {way}")


ROUND = CircleDensity([0.5, 0.0], [0.0, 0.2], logarithmic=False)


@verifies(
    Claim(
        "normaliser.flow",
        "tokens that move by their mean shift set out along a heat equation run backwards: whole for softmax, half for Sinkhorn, not at all where density is divided out",
        r"$\frac{d}{dt}\int\phi\,d\varrho = \int\phi' v\,d\varrho \to -\kappa\int\phi\,\Delta\varrho$, $v = \frac1\varepsilon\int\sin(y - x)P(x, dy)$, $\kappa = 1 - \alpha$ or, for Sinkhorn, $\frac12$: $\partial_t\varrho = -\kappa\Delta\varrho$ with $+V$ and $+\kappa\Delta\varrho$ with $-V$; $2\pi\varrho = 1 + \frac12\cos x + \frac15\sin 2x$, $\phi = \cos x, \sin 2x$: $\frac\kappa4$ and $\frac{2\kappa}5$, quantile tokens",
        assumptions=("circle, chordal kernel, in the limit of many tokens", "a single moment: the flow at its start"),
        spec=("FR.F25",),
        cites=("sander2022", "marshall2019"),
        provenance=CHECKED,
    ),
    bug("forward", "attention smooths the law: a forward heat equation", sign=-1),
    constant("whole", "Sinkhorn's flow is as fast as softmax's", sinkhorn=1),
    constant("laplacian", "Sinkhorn's flow stands still", sinkhorn=0),
    constant("left", "half of the flow is left where density is divided out", divided=Fraction(1, 2)),
    hypothesis("uniform", "the tokens are evenly spaced", even=True),
)
def test_flow(run, *, sign=1, sinkhorn=Fraction(1, 2), divided=0, even=False):
    kappas = {way_of(0.0): 1, way_of(0.5): Fraction(1, 2), way_of(1.0): divided, "sinkhorn": sinkhorn}
    levels = {epsilon: velocities(epsilon, run.pick(quick=400, paper=1200), even) for epsilon in _FALLING}
    tokens = _round(run.pick(quick=400, paper=1200), even)[:, 0]
    for way, kappa in kappas.items():
        for value in (1, -1):
            for name, slope, claimed in (
                ("cos x", -np.sin(tokens), Fraction(1, 4)),
                ("sin 2x", 2 * np.cos(2 * tokens), Fraction(2, 5)),
            ):
                rates = []
                for epsilon in _FALLING:
                    v, width = levels[epsilon][way]
                    rate = value * math.fsum((slope * v).tolist()) / tokens.size
                    rates.append(Interval.within(rate, 2.0 * width + 64 * U * 2.0))
                found = limit(rates, order=1)
                yield equals(found, sign * value * kappa * claimed, scale=1, part=way, phi=name, V=value)


_FALLING = tuple(0.08 * 0.5**level for level in range(5))


@cache
def _round(n, even):
    return 2 * np.pi * (np.arange(n) + 0.5)[:, np.newaxis] / n if even else ROUND.tokens(n)


@cache
def velocities(epsilon, n, even):
    """Mean shifts of all tokens over epsilon along the circle, for every normalisation, with the width of each.

    Where 400 tokens are sparsest they are 0.75 deviations of the narrowest kernel apart: as a trapezoidal rule in the
    level they err by some exp(-35).
    """
    tokens, score = _round(n, even), chordal(epsilon)
    columns = np.column_stack([np.cos(tokens[:, 0]), np.sin(tokens[:, 0])])
    # the logarithm of the smoothed density, up to a constant
    logs, found = -doubly_normalised(tokens, tokens, score=score, sweeps=0).f, {}
    for alpha in (0.0, 0.5, 1.0):
        found[way_of(alpha)] = _shift(tokens, columns, epsilon, np.exp(-alpha * logs))
    scaled = balance_tokens(tokens, score=score)
    v, width = _shift(tokens, columns, epsilon, np.exp(scaled.g))
    return found | {"sinkhorn": (v, width + 2.0 * float(balance_error(scaled, columns).max()) / epsilon)}


def _shift(tokens, columns, epsilon, masses):
    score = chordal(epsilon)
    moved = propagate(tokens, tokens, columns, epsilon, score=score, weights=masses)
    v = (columns[:, 0] * moved[:, 1] - columns[:, 1] * moved[:, 0]) / epsilon
    error = rounding(tokens, tokens, columns, score=score, weights=masses)
    return v, (2.0 * error + 8.0 * partition_error(tokens, tokens, score) + 64 * U) / epsilon
