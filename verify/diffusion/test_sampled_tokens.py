"""Layers over drawn tokens, a thousand to a million, beside their exact means, variances and laws."""

from fractions import Fraction
from functools import cache

import numpy as np
import scipy

from theory.diffusion import PeriodicGrid, StepError, studies
from theory.diffusion.studies import sampled_output
from theory.evidence import (
    Claim,
    Interval,
    Kind,
    ball,
    bug,
    constant,
    equals,
    hull,
    hypothesis,
    limit,
    run_mean,
    slope,
    verifies,
)
from theory.evidence.statistics import ALPHA
from verify.diffusion.test_sampling_rates import CRITICAL, DENSITY, FUNCTION, REGULAR, centre, heavy

SINGER = ("ruan2024", "singer2006")
SETTING = ("independent tokens of density p on the circle and the torus", "chordal kernel")
# where the other one varies
TOKENS = 4096
FIXED = {1: 0.05, 2: 0.2}
# tokens, and places along an axis
MILLION = 10**6
ALONG = {1: 64, 2: 32}


def places(d, *, far=False):
    """Where the outputs over drawn tokens are read, shape (m, d)."""
    along = 128 if far else {1: 16, 2: 4}[d]
    line = 2 * np.pi * (np.arange(along) + 0.5) / along
    return np.stack([axis.ravel() for axis in np.meshgrid(*[line] * d, indexing="ij")], axis=1)


@cache
def moments(d, n, epsilon, *, far=False):
    """Bias and variance over n tokens at every place, by integrals; on the torus by its two reflections."""
    spots = places(d, far=far)
    chosen = range(len(spots)) if d == 1 else (0, 2, 8, 10)
    return {k: sampled_output(d, tuple(spots[k]), epsilon, fine=7.0).moments((n,))[0] for k in chosen}


@cache
def value_at(d, place):
    """The function before the step."""
    return FUNCTION[d].at(place)


def average(values):
    """The mean of intervals."""
    found = list(values)
    return sum(found[1:], start=found[0]) / len(found)


def largest_share(values):
    """Enclose one, up to the largest half-width of positive intervals, each in units of its middle."""
    share = max(value.width / (2.0 * value.mid) for value in values)
    return 1 + Interval(-share, share, max(value.kind for value in values))


def configurations(run, part="spread"):
    """The dimension, the number of tokens, the bandwidth, and the rows of a part of the study."""
    table = run.study(studies.sampling).where(part=part)
    for d in (1, 2):
        pairs = set(zip(table.where(d=d)["n"].tolist(), table.where(d=d)["epsilon"].tolist(), strict=True))
        for n, epsilon in sorted(pairs):
            yield d, n, epsilon, table.where(d=d, n=n, epsilon=epsilon)


@verifies(
    Claim(
        "rate.drawn-mean",
        "outputs over drawn tokens have the mean of the closed form, plus the bias of a ratio",
        r"$\mathbb E\hat P_\varepsilon h = P_\varepsilon h + $ the bias over N tokens, over independent clouds at every place",
        remark=r"circle, $N = 128$ to $4096$, $\varepsilon = 0.1$ to $0.003$, and torus, $N = 256$ to $4096$, $\varepsilon = 0.2$ to $0.0125$",
        assumptions=SETTING,
        spec=("DL.B6",),
        cites=SINGER,
        source_status=("derived", "refereed"),
    ),
    hypothesis("uniform", "the tokens are uniform", uniform=True),
    constant("half", "a layer makes half the step", share=Fraction(1, 2)),
    bug("step", "the means are those before the step", share=0),
)
def test_drawn_mean(run, *, uniform=False, share=1):
    for d, n, epsilon, rows in configurations(run, "mean"):
        values = rows.intervals("value")
        spots = places(d)
        unit = 0.1 * (4096 / n) ** 0.5  # a step at the largest bandwidth, and deviations grow by the root
        for k, (bias, _) in moments(d, n, epsilon).items():
            place = tuple(spots[k].tolist())
            here = value_at(d, place)
            step = hull(centre(d, place, epsilon, uniform=uniform) - here)
            target = hull(here) + share * step + bias
            yield equals(values[k], target, scale=unit, d=d, N=n, epsilon=epsilon, place=k)


@verifies(
    Claim(
        "rate.drawn-variance",
        "outputs over drawn tokens have the exact variance, at every number and bandwidth together",
        r"$\mathrm{Var}\,\hat P_\varepsilon h$ over independent clouds, mean over the places, over the exact one: mean over all numbers and bandwidths 1",
        remark=r"circle, $N = 128$ to $4096$, $\varepsilon = 0.1$ to $0.003$, and torus, $N = 256$ to $4096$, $\varepsilon = 0.2$ to $0.0125$",
        assumptions=SETTING,
        spec=("DL.B6",),
        cites=SINGER,
        source_status=("derived", "refereed"),
    ),
    constant("double", "the variances are half as large", factor=lambda _: 0.5),
    constant("width", "the variances are those of a kernel of width two pi epsilon", factor=lambda d: 2.0**d),
    bug("known", "the normaliser is known, not a sum over the tokens", known=True),
)
def test_drawn_variance(run, *, factor=lambda _: 1.0, known=False):
    sizes, ratios = {1: [], 2: []}, {1: [], 2: []}
    for d, n, epsilon, rows in configurations(run):
        law = moments(d, n, epsilon)
        if known:
            sizes[d].append(average(known_normaliser(d, k, epsilon) for k in law) / n / epsilon**2)
        else:
            sizes[d].append(average(variance for _, variance in law.values()) / epsilon**2)
        ratios[d].append(rows.middles("value") / (sizes[d][-1].mid * factor(d)))
    for d in (1, 2):
        pooled = run_mean(np.mean(ratios[d], axis=0), among=1000)
        yield equals(pooled * largest_share(sizes[d]), 1, d=d)


def known_normaliser(d, k, epsilon):
    """N times the variance of the sum over the mean of the normaliser."""
    place = tuple(places(d)[k].tolist())
    return hull(heavy(d, place, epsilon, 2, about=ball(0)) - centre(d, place, epsilon) ** 2)


@verifies(
    Claim(
        "rate.drawn-exponents",
        "the exponents of the variance, by regression over drawn tokens: -1 in their number, -(1 + d/2) in the bandwidth",
        r"$\mathrm{Var}\frac{\hat P_\varepsilon h - h}\varepsilon = N^{-1}\varepsilon^{-(1 + d/2)}C(N, \varepsilon)$: least squares of logarithms over independent batches of clouds, mean over places",
        remark=r"C is constant but for the known corrections $1 + O(\varepsilon) + O(1/N\varepsilon^{d/2})$, whose own slope over the window is computed; circle, $\varepsilon \le 0.1$, and torus, $\varepsilon \le 0.2$",
        assumptions=SETTING,
        spec=("DL.B6",),
        cites=SINGER,
        source_status=("seen", "derived", "refereed"),
    ),
    constant("weaker", "the older bound, a standard deviation of epsilon to the power -(1 + d/4)", extra=1),
    constant("square", "the variance falls like the square of the number of tokens", power=2),
    bug("dimension", "the exponents are those of the plane in every dimension", plane=True, extra=1),
)
def test_drawn_exponents(run, *, extra=0, power=1, plane=False):
    table = run.study(studies.sampling)
    for d in (1, 2):
        rows = table.where(part="spread", d=d)
        claims = {
            "epsilon": (rows.where(n=TOKENS), -(1 + Fraction(2 if plane else d, 2) + extra)),
            "n": (rows.where(epsilon=FIXED[d]), -power),
        }
        for name, (drawn, exponent) in claims.items():
            measured, own = fitted(drawn, d, name)
            part = {"n": "N"}.get(name, name)
            yield equals(measured - own, exponent, scale=1, d=d, part=part, window_adds=round(own.mid, 4))
    if run.pick(quick=False, paper=True):
        measured, own = fitted(table.where(part="far"), 1, "n", far=True)
        yield equals(measured - own, -power, scale=1, d=1, part="N", window="4096 to 1048576")


def fitted(rows, d, name, *, far=False):
    """The slope of what is drawn, and that of the exact variance over the same window beyond the power law."""
    levels = rows.levels(name)
    drawn = np.stack([rows.where(**{name: level}).middles("value") for level in levels], axis=1)
    logs = []
    for level in levels:
        n = level if name == "n" else int(rows["n"][0])
        epsilon = level if name == "epsilon" else float(rows["epsilon"][0])
        variance = average(variance for _, variance in moments(d, n, epsilon, far=far).values())
        logs.append(np.log(variance * n * epsilon ** (d / 2 - 1)))
    t = np.log(levels) - np.log(levels).mean()
    own = sum(time * log for time, log in zip(t.tolist(), logs, strict=True)) / float(t @ t)
    return slope(np.array(levels, dtype=float), drawn, among=16), own


@verifies(
    Claim(
        "rate.normal",
        "outputs become normal once many keys lie in reach of the query, and not before",
        r"$P\bigl(|\hat P_\varepsilon h - P_\varepsilon h| \le z\sigma\bigr) \to 2\Phi(z) - 1$ as $N\varepsilon^{d/2} \to \infty$, $\sigma^2$ the delta-method variance, $z = 2, 3$",
        remark=r"exact probabilities, $N = 512\cdot8^k$, $\varepsilon = 0.1\cdot4^{-k}$, on the circle",
        assumptions=SETTING,
        spec=("DL.B6",),
        cites=("singer2006", "gilpelaez1951"),
        source_status=("derived", "refereed"),
    ),
    hypothesis("few", "the number of keys in reach stays the same", growth=2),
    constant("width", "the reach of a kernel of width two pi epsilon for sigma", wide=2.0**0.25),
    bug("one-sided", "the probability of one side", sides=1),
)
def test_normal(run, *, growth=8, wide=1.0, sides=2):
    for place in (REGULAR[1], CRITICAL[1]):
        for z in (2, 3):
            missed = hull((ball(z) / ball(2).sqrt()).erfc())  # 2 (1 - Phi(z))
            ratios = []
            for k in range(run.pick(quick=4, paper=5)):
                inside = coverage(place, z * wide, 512 * growth**k, 0.1 * 0.25**k)
                ratios.append((1 - inside) / missed)
            yield equals(limit(ratios, ratio=4, order=1), Fraction(sides, 2), scale=1, z=z, x=round(place[0], 3))


@cache
def coverage(place, z, n, epsilon):
    """The probability of an output within z standard deviations."""
    output = sampled_output(1, place, epsilon)
    return output.coverage((n,), [z * float(np.sqrt(output.variance().mid / n))])[0]


@verifies(
    Claim(
        "rate.million",
        "a million independent tokens make of a function what their law makes of it, within the predicted band",
        r"$|(\hat P_\varepsilon h - P_\varepsilon h)(x)| \le z\,\sigma(x)$ at 64 places of the circle ($\varepsilon = 0.04$) and 1024 of the torus ($\varepsilon = 0.1$)",
        remark=r"$N = 10^6$, $z$ the normal quantile of the level shared by all, $\sigma$ by the variance law and $P_\varepsilon h$ in closed form",
        assumptions=SETTING,
        spec=("DL.B6",),
        cites=SINGER,
        source_status=("derived", "refereed"),
    ),
    hypothesis("uniform", "the tokens are uniform", uniform=True),
    constant("double", "a layer makes twice the step", share=2),
    bug("temperature", "the bandwidth is doubled", doubled=2),
)
def test_million(run, *, uniform=False, share=1, doubled=1):
    table = run.study(studies.million)
    for d in (1, 2):
        part = table.where(d=d, n=MILLION)
        epsilon = float(part["epsilon"][0])
        grid, bands = predicted_bands(d, epsilon)
        for place, value, band in zip(map(tuple, grid.nodes.tolist()), part.intervals("change"), bands, strict=True):
            here = value_at(d, place)
            step = (centre(d, place, doubled * epsilon, uniform=uniform) - here) / ball(epsilon)
            seen = value + Interval(-band, band, Kind.STATISTICAL)
            yield equals(seen, share * step, scale=2, d=d, x=[round(v, 3) for v in place])


@cache
def predicted_bands(d, epsilon):
    """The places, and how far a change may lie from its mean there, at the level that all places share."""
    level = ALPHA / 10 / 2 / sum(ALONG[k] ** k for k in (1, 2))  # ten times finer: tails
    grid = PeriodicGrid((ALONG[d],) * d)
    p, h = (np.array([float(f.at(place).mid()) for place in grid.nodes.tolist()]) for f in (DENSITY[d], FUNCTION[d]))
    p = p.reshape(grid.shape) / (2 * np.pi) ** d
    variance = StepError(grid, p, h.reshape(grid.shape)).variance(epsilon).ravel()
    return grid, (float(scipy.stats.norm.isf(level)) * np.sqrt(variance / MILLION)).tolist()
