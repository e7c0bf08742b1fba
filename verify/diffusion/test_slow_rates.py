"""What stacked layers forget last: the gap above constants, clusters, wells, and the diameter at any bandwidth."""

from fractions import Fraction
from functools import cache

import flint
import numpy as np
import sympy

from theory.attention import DotProduct
from theory.diffusion import PeriodicGrid, TokenLayer, studies
from theory.diffusion.layers import chain_spectrum, count_rates, equidistant_layer, relaxation_rate, scale_rate
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
    limit,
    verifies,
    zero,
)
from theory.evidence.once import once

DERIVED = ("derived", "refereed")
PI = hull(flint.arb.pi())
relaxed, counted = cache(relaxation_rate), cache(count_rates)
LOG_DENSITIES = (
    lambda x: 0.8 * np.cos(x) + 0.3 * np.sin(2 * x),
    lambda x: np.sin(x) + 0.5 * np.sin(x + np.cos(3 * x)),
)


@verifies(
    Claim(
        "layers.gap",
        "stacked layers forget everything but constants: the spectral gap is at least that of a constant density times the ratio of densities squared",
        r"$1 - \mu_1(P_\varepsilon) \ge (p_{\min}/p_{\max})^2(1 - \hat k_1)$ at every $\varepsilon$, $\hat k_1 = I_1(\frac1\varepsilon)/I_0(\frac1\varepsilon)$",
        remark=r"also for plain attention, $\varepsilon = \frac12$; $\lambda_1(-L) \ge (p_{\min}/p_{\max})^2$ on the circle, equality for constant p; so that only constants are stationary",
        assumptions=(
            "circle, chordal kernel, p continuous and positive",
            "decided for p proportional to exp(b cos 2x) and two densities without symmetry",
        ),
        spec=("DL.B10",),
        cites=("ruan2024",),
        source_status=DERIVED,
    ),
    constant("first", "the ratio of densities enters by its first power", power=1),
    constant("more", "one per cent more", share=Fraction(101, 100)),
    hypothesis("two-circles", "the tokens lie on two circles far from each other", circles=2),
    bug("smallest", "the smallest eigenvalue is read instead of the second", last=True),
)
def test_gap(run, *, power=2, share=1, circles=1, last=False):
    for logs in LOG_DENSITIES:
        for epsilon in run.pick(quick=(4.0, 0.125), paper=(64.0, 4.0, 0.5, 0.125, 0.03125)):
            p, values = crowded(epsilon, lambda x, logs=logs: np.exp(logs(x)), circles)
            bound = ball(share) * (p.min() / p.max()) ** power * (1 - first_multiplier(epsilon))
            yield at_least(1 - values[1], bound, epsilon=epsilon, part="no symmetry")
    for b in (0, Fraction(1, 4), 1, Fraction(3, 2)):
        for epsilon in (0.5, 0.0625):
            _, values = crowded(epsilon, lambda x, b=b: np.exp(float(b) * np.cos(2 * x)), circles)
            gap = 1 - values[-1 if last else 1]
            bound = ball(share) * ratio(b) ** power * (1 - first_multiplier(epsilon))
            yield at_least(gap, bound, b=b, epsilon=epsilon, part="layer")
            if b == 0:
                yield equals(gap, bound, b=b, epsilon=epsilon, part="layer, attained")
    for b in (Fraction(1, 4), 1, 2, 4):
        claimed = hull(ratio(b) ** power)
        yield at_least(relaxed(b, sector=1), claimed, b=b, part="limit")
        counts = [counted(claimed.lo, b, sector=s) for s in (0, 1)]
        for side, name in enumerate(("at least", "at most")):
            below = sum(count[side] for count in counts)
            yield equals(below, 1, scale=1, b=b, part=f"eigenvalues below the bound, {name}")


def crowded(epsilon, density, circles):
    """The masses of tokens around the circle, and the eigenvalues of their layer; the circle may be there twice."""
    (x,) = PeriodicGrid((64,)).axes
    p = density(exact(x))
    circle = np.stack([np.cos(x), np.sin(x)], axis=1)
    points = np.concatenate([circle + np.array([100.0 * part, 0.0]) for part in range(circles)])
    return p, eigenvalues(points, np.tile(p, circles), epsilon)


@once
def eigenvalues(points, masses, epsilon):
    """Those of a layer, the largest first."""
    return chain_spectrum(TokenLayer(exact(points), epsilon, weights=masses).rows)


def ratio(b):
    """The least density over the largest one, for exp(b cos 2x)."""
    return (-2 * ball(b)).exp()


def first_multiplier(epsilon):
    """By what the chordal kernel multiplies the first wave."""
    b = 1 / ball(epsilon)
    return b.bessel_i(1, scaled=True) / b.bessel_i(0, scaled=True)


@verifies(
    Claim(
        "layers.clusters",
        "as many eigenvalues are near zero as the density has high and narrow maxima to be slow between",
        r"for $p \propto e^{b\cos mx}$, $b = 3$, exactly m eigenvalues of $-L$ lie below $\frac1{10}m^2$, and no more below $5m^2$",
        remark=r"and exactly m of $\frac2\varepsilon(1 - \mu)$ below $\frac1{10}m^2$, $\varepsilon = 1/16m^2$; $m = 1, \dots, 5$; in a layer also where the maxima are unequal, $\log p = b\cos mx + \frac12\cos(x - 1) + \frac14\sin 2x$",
        assumptions=("circle, chordal kernel, equidistant tokens that weigh their density", "these densities, b = 3"),
        spec=("DL.B10",),
        cites=("ruan2024", "coifman2006"),
        source_status=("seen", "derived", "refereed"),
    ),
    constant("fewer", "there is one less, as constants are not counted", more=-1),
    hypothesis("shallow", "the density is nearly constant", b=Fraction(1, 10)),
    bug("minima", "maxima and minima are counted", more=lambda m: m),
)
def test_clusters(run, *, more=0, b=Fraction(3)):
    del run
    for m in range(1, 6):
        claimed = m + (more(m) if callable(more) else more)
        for level in (Fraction(m * m, 10), Fraction(5 * m * m)):
            counts = zip(*(count_rates(level, b, wells=m, sector=s) for s in range(m)), strict=True)
            for side, counted in zip(("least", "most"), counts, strict=True):
                yield equals(sum(counted), claimed, scale=1, m=m, level=float(level), part="limit", side=side)
        for part, tilt in (("layer", 0.0), ("layer, unequal maxima", 1.0)):
            low, high = slow_modes(m, float(b), tilt)
            for side, counted in ((-1, low), (1, high)):
                yield equals(Interval(counted, counted), claimed, scale=1, m=m, part=part, side=side)


def slow_modes(m, b, tilt):
    """How many rates of a layer lie below m^2 / 10, at least and at most."""

    def density(x):
        return np.exp(b * np.cos(m * x) + tilt * (0.5 * np.cos(x - 1.0) + 0.25 * np.sin(2 * x)))

    epsilon = 1 / (16 * m * m)
    _, layer = equidistant_layer(density, epsilon, count=32 * m)
    rates = 2 * (1 - chain_spectrum(layer.rows)) / epsilon
    return int((rates.hi < m * m / 10).sum()), int((rates.lo < m * m / 10).sum())


@verifies(
    Claim(
        "layers.slowest",
        "between two wells the slowest rate falls with the square of the ratio of densities",
        r"$\lambda_1 = \frac{16b}\pi e^{-4b}(1 + O(1/b))$ for $p \propto e^{b\cos 2x}$ on the circle, $(p_{\min}/p_{\max})^2 = e^{-4b}$",
        remark=r"ratios 0.930, 0.955, 0.967 at $b = 2, 3, 4$, and $b\,(\frac{\pi e^{4b}}{16b}\lambda_1 - 1) \to -\frac18$: it lies between $\frac4{\pi^2I_0(2b)^2}$ and $\frac4{\pi^2(I_0(2b)^2 - 1)}$",
        assumptions=("circle",),
        spec=("DL.B10",),
        cites=("ruan2024", "kramers1940"),
        source_status=DERIVED,
    ),
    constant("first", "it falls with the ratio itself, e^(-2b)", power=2),
    constant("factor", "the factor is 8 b / pi", factor=8),
    hypothesis("three", "the density has three wells", wells=3),
    constant("above", "the next term is plus one eighth", term=Fraction(1, 8)),
)
def test_slowest(run, *, power=4, factor=16, wells=2, term=Fraction(-1, 8)):
    table = run.study(studies.rates).where(part="wells")

    def quotient(b):
        found = table.where(height=b)["value"][0] if wells == 2 else relaxation_rate(b, wells=wells, sector=1)
        return scale_rate(found, b, power) * PI / (factor * b)

    heights = [b for b in table["height"].tolist() if b & (b - 1) == 0]
    quotients = [quotient(b) for b in heights]
    yield equals(limit(quotients[-5:], order=1), 1, part="limit")
    for b, digits in ((2, "0.930"), (3, "0.955"), (4, "0.967")):
        yield equals(quotient(b) - Interval.printed(digits), 0, scale=1, b=b, part="ratio")
    beyond = [b * (one - 1) for b, one in zip(heights, quotients, strict=True)]
    yield equals(limit(beyond[-5:], order=1), term, scale=1, part="next order")


@verifies(
    Claim(
        "layers.diameter",
        "through layers without anything else the diameter falls by tanh of half the oscillation of the scores in each",
        r"$\mathrm{diam}(S_L\cdots S_1H) \le \prod_l\tanh(\tfrac12\,\mathrm{osc}f_l)\,\mathrm{diam}(H)$ for $S_l = N_r(e^{-f_l})$ and any $f_l$, that may depend on the tokens",
        remark=r"$\tanh\frac x2 = 1 - y - \frac{y(1 - y)}{1 + y} \le 1 - y$, $y = e^{-x}$; equality for two tokens with $f = \begin{pmatrix}0 & c\\c & 0\end{pmatrix}$",
        assumptions=("values on the line, or each coordinate of them", "no skip connection"),
        spec=("DL.B10",),
        cites=("dobrushin1956", "birkhoff1957", "ruan2024"),
        source_status=("derived", "recalled", "refereed"),
    ),
    constant("quarter", "tanh of a quarter of the oscillation", share=Fraction(1, 4)),
    hypothesis("skip", "a skip connection with weight one half", skip=True),
    bug("deviation", "the standard deviation of the scores is taken for their oscillation", deviation=True),
)
def test_diameter(run, *, share=Fraction(1, 2), skip=False, deviation=False):
    y = sympy.Symbol("y", positive=True)  # exp(-x), from 0 to 1; tanh(x / 2) is (1 - y) / (1 + y)
    shrunk = (1 - y ** (2 * share)) / (1 + y ** (2 * share))  # tanh of that share of x
    rest = 1 - y - shrunk - y * (1 - y) / (1 + y)  # the last term is not negative
    yield equals(zero(rest, {y: Fraction(1, 3)}), 0, scale=1, part="tanh and exp")
    for scores, start, pair in dissimilarities(run):
        values = exact(start)
        bound = ball(1)
        for number in range(4 if pair else 2):
            f = scores
            if number and not pair:  # the second one sees the tokens
                f = 2.0 * np.abs(values.mid[:, np.newaxis] - values.mid)
            moved = TokenLayer(np.eye(start.size), 1.0, score=DotProduct(form=-f))(values)
            values = 0.5 * values + 0.5 * moved if skip else moved
            swing = Fraction(float(f.std())) if deviation else Fraction(float(f.max())) - Fraction(float(f.min()))
            bound = bound * np.tanh(ball(share * swing))
        found = np.ptp(values) / np.ptp(exact(start))
        yield at_most(found, bound, scale=1, n=start.size, pair=pair, part="bound")
        if pair:
            yield equals(found, bound, n=2, c=float(scores[0, 1]), part="attained")


def dissimilarities(run):
    """Two tokens, for which there is equality, then random ones; with values."""
    for c in (0.25, 1.0, 3.0):
        yield np.array([[0.0, c], [c, 0.0]]), np.array([0.0, 1.0]), True
    for rng in run.draws(quick=12, paper=200):
        n = int(rng.integers(2, 9))
        yield 10.0 ** rng.uniform(-1, 0.7) * rng.normal(size=(n, n)), rng.normal(size=n), False
