"""How far tokens move by their mean shift: in closed form for a normal law, sweep by sweep, and as a flow of the law."""

from fractions import Fraction
from functools import cache

import numpy as np

from theory.attention import read
from theory.diffusion import CircleDensity, chordal, propagate, studies
from theory.diffusion.limits import average_balanced, sweep_shift
from theory.diffusion.settings import ALPHAS, NORMAL_VARIANCE, PRINTED_EPSILONS, SHIFT_PLACES, way_of
from theory.evidence import Claim, Interval, at_most, bug, constant, equals, exact, hypothesis, limit, verifies

MARSHALL = ("ruan2024", "coifman2006", "marshall2019")
CHECKED = ("recalled", "derived", "refereed")


@verifies(
    Claim(
        "normaliser.sweeps",
        "the drift falls from whole to half while some one over the bandwidth sweeps are made",
        r"normal law of variance $s$, $k$ sweeps, $k\varepsilon = t$: $\frac1\varepsilon(\int y\,P_k(x, dy) - x) \to \frac12(1 + e^{-2t/s})(\log p)'(x)$ as $\varepsilon \to 0$",
        remark="$s = 1.08$, $t = 0.27, 0.54, 1.08$",
        assumptions=("normal law on the line, Gaussian kernel", "equal potentials at the start, rows last"),
        spec=("DL.C5", "FR.F24"),
        cites=("sander2022", "berman2020"),
        source_status=("derived",),
    ),
    constant("half", "the drift is half from the first sweep on", start=0.0),
    constant("rate", "the rate is 1 / s", rate=1.0),
    hypothesis("none", "no sweep is made", swept=False),
)
def test_sweeps(run, *, start=0.5, rate=2.0, swept=True):
    s = NORMAL_VARIANCE
    for share in (0.25, 0.5, 1.0):
        levels = [swept_shift(share * s, 4 * 2**level, swept) for level in range(run.pick(quick=4, paper=5))]
        claimed = 0.5 + start * np.exp(exact(-rate * share))
        for at, x in enumerate(SHIFT_PLACES):
            slope = -exact(x) / s
            yield equals(limit([level[at] / slope for level in levels], order=1), claimed, t=share * s, x=x)


@cache
def swept_shift(t, sweeps, swept):
    """The mean shift over epsilon after some sweeps, epsilon = t / sweeps."""
    return sweep_shift(SHIFT_PLACES, NORMAL_VARIANCE, t / sweeps, sweeps if swept else 0)


def coefficient(way, epsilon, s, *, half_of=Fraction(1, 2), times=1, sign=1):
    """The drift over the slope of the log-density, for a normal law: a Gaussian product, or a quadratic equation."""
    e = Interval.exactly(Fraction(epsilon))
    s = Interval.exactly(Fraction(s))
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
            r"normal law on the line, Gaussian kernel of variance epsilon, $\alpha < (s + \varepsilon)(\frac1s + \frac1\varepsilon)$",
            "trapezoidal rule, 4001 nodes at the paper scale",
        ),
        spec=("FR.F25", "DL.C5"),
        cites=MARSHALL,
        source_status=CHECKED,
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
        for x in SHIFT_PLACES:
            slope = -Interval.exactly(Fraction(x)) / Interval.exactly(s)
            part = table.where(part="shift", way=way, x=x)
            epsilons = part.levels("epsilon")[::-1]
            found = {epsilon: part.where(epsilon=epsilon)["value"][0] / slope for epsilon in epsilons}
            for epsilon in epsilons:
                claimed = coefficient(
                    way, epsilon, s, half_of=half_of, times=times if way == "alpha 0" else 1, sign=sign
                )
                yield equals(found[epsilon], claimed, scale=1, way=way, epsilon=epsilon, x=x)
            for epsilon, digits in zip(PRINTED_EPSILONS, printed.get(way, ()), strict=False):
                gap = abs(found[epsilon] - Fraction(digits))
                last = Fraction(1, 2 * 10 ** (len(digits) - 2))
                yield at_most(gap, last, scale=1, way=way, epsilon=epsilon, x=x, part="printed")
            value = limit(list(found.values()), order=1)
            yield equals(value, end, scale=1, x=x, part=f"limit, {way}")


ROUND = CircleDensity([0.5, 0.0], [0.0, 0.2], logarithmic=False)


@verifies(
    Claim(
        "normaliser.flow",
        "tokens that move by their mean shift set out along a heat equation run backwards: whole for softmax, half for Sinkhorn, not at all where density is divided out",
        r"$\frac{d}{dt}\int\phi\,d\varrho = \int\phi' v\,d\varrho \to -\kappa\int\phi\,\Delta\varrho$, $v = \frac1\varepsilon\int\sin(y - x)P(x, dy)$, $\kappa = 1 - \alpha$ or, for Sinkhorn, $\frac12$",
        remark=r"$\partial_t\varrho = -\kappa\Delta\varrho$ with $+V$ and $+\kappa\Delta\varrho$ with $-V$; $2\pi\varrho = 1 + \frac12\cos x + \frac15\sin 2x$, $\phi = \cos x, \sin 2x$: $\frac\kappa4$ and $\frac{2\kappa}5$, quantile tokens",
        assumptions=("circle, chordal kernel, in the limit of many tokens", "a single moment: the flow at its start"),
        spec=("FR.F25",),
        cites=("sander2022", "marshall2019"),
        source_status=CHECKED,
    ),
    bug("forward", "attention smooths the law: a forward heat equation", sign=-1),
    constant("whole", "Sinkhorn's flow is as fast as softmax's", sinkhorn=1),
    constant("laplacian", "Sinkhorn's flow stands still", sinkhorn=0),
    constant("left", "half of the flow is left where density is divided out", divided=Fraction(1, 2)),
    hypothesis("uniform", "the tokens are evenly spaced", even=True),
)
def test_flow(run, *, sign=1, sinkhorn=Fraction(1, 2), divided=0, even=False):
    kappas = {way_of(0.0): 1, way_of(0.5): Fraction(1, 2), way_of(1.0): divided, "sinkhorn": sinkhorn}
    n = run.pick(quick=400, paper=1200)
    levels = [velocities(epsilon, n, even) for epsilon in _FALLING]
    tokens = exact(_round(n, even)[:, 0])
    slopes = {"cos x": (-np.sin(tokens), Fraction(1, 4)), "sin 2x": (2 * np.cos(2 * tokens), Fraction(2, 5))}
    for way, kappa in kappas.items():
        for value in (1, -1):
            for name, (slope, claimed) in slopes.items():
                found = limit([value * (slope * level[way]).mean() for level in levels], order=1)
                yield equals(found, sign * value * kappa * claimed, scale=1, part=way, phi=name, V=value)


_FALLING = tuple(0.08 * 0.5**level for level in range(5))


@cache
def _round(n, even):
    return 2 * np.pi * (np.arange(n) + 0.5)[:, np.newaxis] / n if even else ROUND.tokens(n)


@cache
def velocities(epsilon, n, even):
    """Mean shifts of all tokens over epsilon along the circle, for every normalisation.

    Where 400 tokens are sparsest they are 0.75 deviations of the narrowest kernel apart: as a trapezoidal rule in the
    level they err by some exp(-35).
    """
    tokens = exact(_round(n, even))
    score = chordal(epsilon)
    columns = np.concatenate([np.cos(tokens), np.sin(tokens)], axis=1)
    logs = read(tokens, tokens, columns, score=score).log_partition  # of the smoothed density, up to a constant
    found = {}
    for alpha in (0.0, 0.5, 1.0):
        weights = np.exp(-alpha * logs)
        found[way_of(alpha)] = propagate(tokens, tokens, columns, epsilon, score=score, weights=weights)
    found["sinkhorn"] = average_balanced(tokens.mid, tokens.mid, columns.mid, score=score)
    return {way: (columns[:, 0] * y[:, 1] - columns[:, 1] * y[:, 0]) / epsilon for way, y in found.items()}
