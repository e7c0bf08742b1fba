"""Layers over drawn tokens, a thousand to a million, beside their exact means, variances and laws."""

from fractions import Fraction
from functools import cache

import numpy as np
import scipy

from theory.diffusion import PeriodicGrid, StepError, studies
from theory.diffusion.studies.million import COUNTS, PLACES
from theory.diffusion.studies.sampling import CRITICAL, DENSITIES, FIXED, REGULAR, TOKENS, function, places, sampled
from theory.evidence import (
    Claim,
    Interval,
    Kind,
    ball,
    bug,
    constant,
    equals,
    hypothesis,
    limit,
    run_mean,
    slope,
    verifies,
)
from theory.evidence.statistics import ALPHA
from verify.diffusion.tokens import FUNCTION, at, centre, heavy
from verify.textbook import hull

SINGER = ("ruan2024", "singer2006")
SETTING = ("independent tokens of density p on the circle and the torus", "chordal kernel")


@cache
def exact(d, n, epsilon, *, far=False):
    """Bias and variance over n tokens at every place, by integrals; on the torus by its two reflections."""
    spots = places(d, far=far)
    chosen = range(len(spots)) if d == 1 else (0, 2, 8, 10)
    return {k: sampled(d, tuple(spots[k]), epsilon, fine=7.0).moments((n,))[0] for k in chosen}


def average(values):
    """The mean of intervals."""
    found = list(values)
    return sum(found[1:], start=found[0]) / len(found)


def configurations(table, d, part="spread"):
    rows = table.where(part=part, d=d)
    return sorted(set(zip(rows["n"].tolist(), rows["epsilon"].tolist(), strict=True)))


@verifies(
    Claim(
        "rate.drawn-mean",
        "outputs over drawn tokens have the mean of the closed form, plus the bias of a ratio",
        r"$\mathbb E\hat P_\varepsilon h = P_\varepsilon h + $ the bias over N tokens, over independent clouds at every place: circle, $N = 128$ to $4096$, $\varepsilon = 0.1$ to $0.003$, and torus, $N = 256$ to $4096$, $\varepsilon = 0.2$ to $0.0125$",
        assumptions=SETTING,
        spec=("DL.B6",),
        cites=SINGER,
        provenance=("derived", "refereed"),
    ),
    hypothesis("uniform", "the tokens are uniform", uniform=True),
    constant("half", "a layer makes half the step", share=Fraction(1, 2)),
    bug("step", "the means are those before the step", share=0),
)
def test_drawn_mean(run, *, uniform=False, share=1):
    table = run.study(studies.sampling)
    for d in (1, 2):
        for n, epsilon in configurations(table, d):
            law = exact(d, n, epsilon)
            part = table.where(part="mean", d=d, n=n, epsilon=epsilon)
            unit = 0.1 * (4096 / n) ** 0.5  # a step at the largest bandwidth, and deviations grow by the root
            for k, value in enumerate(part.intervals("value")):
                if k in law:
                    place = tuple(places(d)[k].tolist())
                    here = at(FUNCTION[d], place)
                    step = hull(centre(d, place, epsilon, uniform=uniform) - here)
                    target = hull(here) + share * step + law[k][0]
                    yield equals(value, target, scale=unit, d=d, N=n, epsilon=epsilon, place=k)


@verifies(
    Claim(
        "rate.drawn-variance",
        "outputs over drawn tokens have the exact variance, at every number and bandwidth together",
        r"$\mathrm{Var}\,\hat P_\varepsilon h$ over independent clouds, mean over the places, over the exact one: mean over all numbers and bandwidths 1; circle, $N = 128$ to $4096$, $\varepsilon = 0.1$ to $0.003$, and torus, $N = 256$ to $4096$, $\varepsilon = 0.2$ to $0.0125$",
        assumptions=SETTING,
        spec=("DL.B6",),
        cites=SINGER,
        provenance=("derived", "refereed"),
    ),
    constant("double", "the variances are half as large", factor=lambda _: 0.5),
    constant("width", "the variances are those of a kernel of width two pi epsilon", factor=lambda d: 2.0**d),
    bug("known", "the normaliser is known, not a sum over the tokens", known=True),
)
def test_drawn_variance(run, *, factor=lambda _: 1.0, known=False):
    table = run.study(studies.sampling)
    for d in (1, 2):
        pooled = []
        for n, epsilon in configurations(table, d):
            law = exact(d, n, epsilon)
            size = average(v for _, v in law.values()).mid / epsilon**2
            if known:
                size = average(known_normaliser(d, k, epsilon) for k in law).mid / n / epsilon**2
            spread = table.where(part="spread", d=d, n=n, epsilon=epsilon).middles("value")
            pooled.append(spread / (size * factor(d)))
        off = Interval.within(0.0, 2e-3)  # of the exact variances, whose widths are below a thousandth
        yield equals(run_mean(np.mean(pooled, axis=0), among=1000) + off, 1, d=d)


def known_normaliser(d, k, epsilon):
    """N times the variance of the sum over the mean of the normaliser."""
    place = tuple(places(d)[k].tolist())
    return hull(heavy(d, place, epsilon, 2, about=ball(0.0)) - centre(d, place, epsilon) ** 2)


@verifies(
    Claim(
        "rate.drawn-exponents",
        "the exponents of the variance, by regression over drawn tokens: -1 in their number, -(1 + d/2) in the bandwidth",
        r"$\mathrm{Var}\frac{\hat P_\varepsilon h - h}\varepsilon = N^{-1}\varepsilon^{-(1 + d/2)}C(N, \varepsilon)$: least squares of logarithms over independent batches of clouds, mean over places; C is constant but for the known corrections $1 + O(\varepsilon) + O(1/N\varepsilon^{d/2})$, whose own slope over the window is computed; circle, $\varepsilon \le 0.1$, and torus, $\varepsilon \le 0.2$",
        assumptions=SETTING,
        spec=("DL.B6",),
        cites=SINGER,
        provenance=("seen", "derived", "refereed"),
    ),
    constant("weaker", "the older bound, a standard deviation of epsilon to the power -(1 + d/4)", extra=1),
    constant("square", "the variance falls like the square of the number of tokens", power=2),
    bug("dimension", "the exponents are those of the plane in every dimension", plane=True, extra=1),
)
def test_drawn_exponents(run, *, extra=0, power=1, plane=False):
    table = run.study(studies.sampling)
    for d in (1, 2):
        rows = table.where(part="spread", d=d)
        exponent = -(1 + Fraction(2 if plane else d, 2) + extra)
        measured, own = fitted(rows.where(n=TOKENS), d, "epsilon")
        yield equals(measured - own, exponent, scale=1, d=d, part="epsilon", window_adds=round(own.mid, 4))
        measured, own = fitted(rows.where(epsilon=FIXED[d]), d, "n")
        yield equals(measured - own, -power, scale=1, d=d, part="N", window_adds=round(own.mid, 4))
    if run.pick(quick=False, paper=True):
        measured, own = fitted(table.where(part="far"), 1, "n", far=True)
        yield equals(measured - own, -power, scale=1, d=1, part="N", window="4096 to 1048576")


def fitted(rows, d, name, *, far=False):
    """The slope of what is drawn, and that of the exact variance over the same window beyond the power law."""
    sizes = np.unique(rows[name])
    drawn = np.stack([rows.where(**{name: s}).middles("value") for s in sizes], axis=1)
    logs = []
    for s in sizes.tolist():
        n, epsilon = (s, float(rows["epsilon"][0])) if name == "n" else (int(rows["n"][0]), s)
        law = average(v for _, v in exact(d, n, epsilon, far=far).values())
        logs.append(float(np.log(law.mid * n * epsilon ** (d / 2 - 1))))
    t = np.log(sizes) - np.log(sizes).mean()
    own = float(t @ np.array(logs) / (t @ t))
    error = 1e-3 * float(np.abs(t).sum() / (t @ t))  # of the exact variances, whose widths are below a thousandth
    return slope(sizes, drawn, among=16), Interval.within(own, error)


@verifies(
    Claim(
        "rate.normal",
        "outputs become normal once many keys lie in reach of the query, and not before",
        r"$P\bigl(|\hat P_\varepsilon h - P_\varepsilon h| \le z\sigma\bigr) \to 2\Phi(z) - 1$ as $N\varepsilon^{d/2} \to \infty$, $\sigma^2$ the delta-method variance, $z = 2, 3$; exact probabilities, $N = 512\cdot8^k$, $\varepsilon = 0.1\cdot4^{-k}$, on the circle",
        assumptions=SETTING,
        spec=("DL.B6",),
        cites=("singer2006", "gilpelaez1951"),
        provenance=("derived", "refereed"),
    ),
    hypothesis("few", "the number of keys in reach stays the same", growth=2),
    constant("width", "the reach of a kernel of width two pi epsilon for sigma", wide=2.0**0.25),
    bug("one-sided", "the probability of one side", sides=1),
)
def test_normal(run, *, growth=8, wide=1.0, sides=2):
    for place in (REGULAR[1], CRITICAL[1]):
        for z in (2, 3):
            levels = []
            for k in range(run.pick(quick=4, paper=5)):
                inside = covered(place, z * wide, 512 * growth**k, 0.1 * 0.25**k)
                levels.append((1 - inside) / hull(missed(z)))
            yield equals(limit(levels, ratio=4, order=1), Fraction(sides, 2), scale=1, z=z, x=round(place[0], 3))


@cache
def covered(place, z, n, epsilon):
    """The probability of an output within z standard deviations."""
    output = sampled(1, place, epsilon)
    return output.coverage((n,), [z * float(np.sqrt(output.variance().mid / n))])[0]


def missed(z):
    """2 (1 - Phi(z))."""
    return (ball(z) / ball(2).sqrt()).erfc()


@verifies(
    Claim(
        "rate.million",
        "a million independent tokens make of a function what their law makes of it, within the predicted band",
        r"$|(\hat P_\varepsilon h - P_\varepsilon h)(x)| \le z\,\sigma(x)$ at 64 places of the circle ($\varepsilon = 0.04$) and 1024 of the torus ($\varepsilon = 0.1$), $N = 10^6$, $z$ the normal quantile of the level shared by all, $\sigma$ by the variance law and $P_\varepsilon h$ in closed form",
        assumptions=SETTING,
        spec=("DL.B6",),
        cites=SINGER,
        provenance=("derived", "refereed"),
    ),
    hypothesis("uniform", "the tokens are uniform", uniform=True),
    constant("double", "a layer makes twice the step", share=2),
    bug("temperature", "the bandwidth is doubled", doubled=2),
)
def test_million(run, *, uniform=False, share=1, doubled=1):
    table = run.study(studies.million)
    quantile = float(
        scipy.stats.norm.isf(ALPHA / 10 / 2 / sum(PLACES[d] ** d for d in (1, 2)))
    )  # ten times finer: tails
    for d in (1, 2):
        part = table.where(d=d, n=COUNTS[-1])
        epsilon = float(part["epsilon"][0])
        grid = PeriodicGrid((PLACES[d],) * d)
        p = np.ones(grid.shape)
        for each, x in zip(DENSITIES[d], grid.axes, strict=True):
            p = p * each(x)
        band = StepError(grid, p, np.broadcast_to(function(*grid.axes), grid.shape)).variance(epsilon).ravel()
        reach = quantile * np.sqrt(band / COUNTS[-1])
        for place, value, half in zip(grid.nodes.tolist(), part.intervals("change"), reach.tolist(), strict=True):
            here = at(FUNCTION[d], tuple(place))
            step = hull((centre(d, tuple(place), doubled * epsilon, uniform=uniform) - here) / ball(epsilon))
            seen = value + Interval.within(0.0, half, Kind.STATISTICAL)
            yield equals(seen, share * step, scale=2, d=d, x=[round(v, 3) for v in place])
