"""What stacked layers forget last: the gap above constants, clusters, wells, and the diameter at any bandwidth."""

from fractions import Fraction

import numpy as np
import sympy

from theory.attention import DotProduct
from theory.diffusion import TokenLayer, studies
from theory.diffusion.layers import chain_spectrum, count_rates, relaxation_rate, scale_rate
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
    hypothesis,
    limit,
    verifies,
    zero,
)
from theory.evidence.enclosure import precision
from theory.evidence.roundoff import U
from verify.diffusion.equidistant import around, bessel
from verify.textbook import hull, tanh

DERIVED = ("derived", "refereed")


@verifies(
    Claim(
        "layers.gap",
        "stacked layers forget everything but constants: the spectral gap is at least that of a constant density times the ratio of densities squared",
        r"$1 - \mu_1(P_\varepsilon) \ge (p_{\min}/p_{\max})^2(1 - \hat k_1)$ at every $\varepsilon$, $\hat k_1 = I_1(\frac1\varepsilon)/I_0(\frac1\varepsilon)$, also for plain attention, $\varepsilon = \frac12$; $\lambda_1(-L) \ge (p_{\min}/p_{\max})^2$ on the circle, equality for constant p; so that only constants are stationary",
        assumptions=(
            "circle, chordal kernel, p continuous and positive",
            "decided for p proportional to exp(b cos 2x) and two densities without symmetry",
        ),
        spec=("DL.B10",),
        cites=("ruan2024",),
        provenance=DERIVED,
    ),
    constant("first", "the ratio of densities enters by its first power", power=1),
    constant("more", "one per cent more", share=Fraction(101, 100)),
    hypothesis("two-circles", "the tokens lie on two circles far from each other", circles=2),
    bug("smallest", "the smallest eigenvalue is read instead of the second", last=True),
)
def test_gap(run, *, power=2, share=1, circles=1, last=False):
    def crowded(epsilon, density):
        """The masses of tokens around the circle, and their layer; the circle may be there twice."""
        x, p, _ = around(epsilon, density, n=64)
        points = np.stack([np.cos(x), np.sin(x)], axis=1)
        points = np.concatenate([points + np.array([100.0 * part, 0.0]) for part in range(circles)])
        return p, TokenLayer(points, epsilon, weights=np.tile(p, circles) / circles)

    for logs in (
        lambda x: 0.8 * np.cos(x) + 0.3 * np.sin(2 * x),
        lambda x: np.sin(x) + 0.5 * np.sin(x + np.cos(3 * x)),
    ):
        for epsilon in run.pick(quick=(4.0, 0.125), paper=(64.0, 4.0, 0.5, 0.125, 0.03125)):
            p, layer = crowded(epsilon, lambda x, logs=logs: np.exp(logs(x)))
            found, error = chain_spectrum(layer.rows, error=layer.error)
            gap = 1 - Interval.within(float(found[1]), error)
            with precision():
                bound = share * Interval.exactly(float(p.min() / p.max())) ** power * hull(1 - bessel(epsilon)(1))
            yield at_least(gap, bound, epsilon=epsilon, part="no symmetry")
    for b in (0, Fraction(1, 4), 1, Fraction(3, 2)):
        for epsilon in (0.5, 0.0625):
            _, layer = crowded(epsilon, lambda x, b=b: np.exp(float(b) * np.cos(2 * x)))
            found, error = chain_spectrum(layer.rows, error=layer.error)
            gap = 1 - Interval.within(float(found[-1 if last else 1]), error)
            with precision():
                bound = share * hull((-2 * power * ball(b)).exp() * (1 - bessel(epsilon)(1)))
            yield at_least(gap, bound, b=b, epsilon=epsilon, part="layer")
            if b == 0:
                yield equals(gap, bound, b=b, epsilon=epsilon, part="layer, attained")
    for b in (Fraction(1, 4), 1, 2, 4):
        with precision():
            claimed = hull((-2 * power * ball(b)).exp())
        yield at_least(relaxation_rate(b, sector=1), claimed, b=b, part="limit")
        below = [count_rates(claimed.lo, b, sector=s) for s in (0, 1)]
        yield equals(sum(a for a, _ in below), 1, scale=1, b=b, part="eigenvalues below the bound, at least")
        yield equals(sum(a for _, a in below), 1, scale=1, b=b, part="eigenvalues below the bound, at most")


@verifies(
    Claim(
        "layers.clusters",
        "as many eigenvalues are near zero as the density has high and narrow maxima to be slow between",
        r"for $p \propto e^{b\cos mx}$, $b = 3$, exactly m eigenvalues of $-L$ lie below $\frac1{10}m^2$, and no more below $5m^2$; and exactly m of $\frac2\varepsilon(1 - \mu)$ below $\frac1{10}m^2$, $\varepsilon = 1/16m^2$; $m = 1, \dots, 5$; in a layer also where the maxima are unequal, $\log p = b\cos mx + \frac12\cos(x - 1) + \frac14\sin 2x$",
        assumptions=("circle, chordal kernel, equidistant tokens that weigh their density", "these densities, b = 3"),
        spec=("DL.B10",),
        cites=("ruan2024", "coifman2006"),
        provenance=("seen", "derived", "refereed"),
    ),
    constant("fewer", "there is one less, as constants are not counted", more=-1),
    hypothesis("shallow", "the density is nearly constant", b=Fraction(1, 10)),
    bug("minima", "maxima and minima are counted", more=lambda m: m),
)
def test_clusters(run, *, more=0, b=Fraction(3)):
    for m in range(1, 6):
        claimed = m + (more(m) if callable(more) else more)
        for level in (Fraction(m * m, 10), Fraction(5 * m * m)):
            counts = [count_rates(level, b, wells=m, sector=s) for s in range(m)]
            for name, side in (("least", 0), ("most", 1)):
                counted = sum(c[side] for c in counts)
                yield equals(counted, claimed, scale=1, m=m, level=float(level), part="limit", side=name)
        epsilon = 1 / (16 * m * m)
        for part, tilt in (("layer", 0.0), ("layer, unequal maxima", 1.0)):

            def crowd(x, m=m, tilt=tilt):
                return np.exp(float(b) * np.cos(m * x) + tilt * (0.5 * np.cos(x - 1.0) + 0.25 * np.sin(2 * x)))

            _, _, layer = around(epsilon, crowd, n=32 * m)
            found, error = chain_spectrum(layer.rows, error=layer.error)
            rates = 2 * (1 - found) / epsilon
            for side in (-1, 1):
                slow = int(np.count_nonzero(rates < m * m / 10 + side * (2 * error + 8 * U) / epsilon))
                counted = Interval(slow, slow, Kind.NUMERIC)  # of eigenvalues with an a-priori bound
                yield equals(counted, claimed, scale=1, m=m, part=part, side=side)


@verifies(
    Claim(
        "layers.slowest",
        "between two wells the slowest rate falls with the square of the ratio of densities",
        r"$\lambda_1 = \frac{16b}\pi e^{-4b}(1 + O(1/b))$ for $p \propto e^{b\cos 2x}$ on the circle, $(p_{\min}/p_{\max})^2 = e^{-4b}$; ratios 0.930, 0.955, 0.967 at $b = 2, 3, 4$, and $b\,(\frac{\pi e^{4b}}{16b}\lambda_1 - 1) \to -\frac18$",
        assumptions=("circle",),
        spec=("DL.B10",),
        cites=("ruan2024", "kramers1940"),
        provenance=DERIVED,
    ),
    constant("first", "it falls with the ratio itself, e^(-2b)", power=2),
    constant("factor", "the factor is 8 b / pi", factor=8),
    hypothesis("three", "the density has three wells", wells=3),
    constant("above", "the next term is plus one eighth", term=Fraction(1, 8)),
)
def test_slowest(run, *, power=4, factor=16, wells=2, term=Fraction(-1, 8)):
    table = run.study(studies.rates).where(part="wells")

    def ratio(b):
        found = table.where(height=b).intervals("value")[0] if wells == 2 else relaxation_rate(b, wells=wells, sector=1)
        with precision():
            return scale_rate(found, b, power) * hull(ball(1).pi()) / (factor * b)

    heights = [b for b in table["height"].tolist() if b & (b - 1) == 0]
    ratios = [ratio(b) for b in heights]
    yield equals(limit(ratios[-5:], order=1), 1, part="limit")
    for b, digits in ((2, "0.930"), (3, "0.955"), (4, "0.967")):
        yield equals(ratio(b) - Interval.printed(digits), 0, scale=1, b=b, part="ratio")
    beyond = [b * (one - 1) for b, one in zip(heights, ratios, strict=True)]
    yield equals(limit(beyond[-5:], order=1), term, scale=1, part="next order")


def spread(values):
    """The diameter of values on the line."""
    return float(values.max() - values.min())


@verifies(
    Claim(
        "layers.diameter",
        "through layers without anything else the diameter falls by tanh of half the oscillation of the scores in each",
        r"$\mathrm{diam}(S_L\cdots S_1H) \le \prod_l\tanh(\tfrac12\,\mathrm{osc}f_l)\,\mathrm{diam}(H)$ for $S_l = N_r(e^{-f_l})$ and any $f_l$, that may depend on the tokens; $\tanh\frac x2 = 1 - y - \frac{y(1 - y)}{1 + y} \le 1 - y$, $y = e^{-x}$; equality for two tokens with $f = \begin{pmatrix}0 & c\\c & 0\end{pmatrix}$",
        assumptions=("values on the line, or each coordinate of them", "no skip connection"),
        spec=("DL.B10",),
        cites=("dobrushin1956", "birkhoff1957", "ruan2024"),
        provenance=("derived", "recalled", "refereed"),
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
    cases = [(np.array([[0.0, c], [c, 0.0]]), np.array([0.0, 1.0]), True) for c in (0.25, 1.0, 3.0)]
    for rng in run.draws(quick=12, paper=200):
        n = int(rng.integers(2, 9))
        cases.append((10.0 ** rng.uniform(-1, 0.7) * rng.normal(size=(n, n)), rng.normal(size=n), False))
    for f, start, pair in cases:
        values, bound, error = start, Interval.exactly(1), 0.0
        for number in range(4 if pair else 2):  # the second one sees the tokens
            now = f if number == 0 or pair else 2.0 * np.abs(values[:, np.newaxis] - values)
            layer = TokenLayer(np.eye(start.size), 1.0, score=DotProduct(form=-now))
            values = layer(values) if not skip else 0.5 * values + 0.5 * layer(values)
            error += (layer.error + 4 * U) * float(np.abs(start).max())
            size = float(now.std()) if deviation else float(now.max() - now.min())
            bound = bound * hull(tanh(ball(Fraction(size) * share)))
        found = Interval.within(spread(values), 2 * error) / Interval.within(spread(start), 4 * U * spread(start))
        yield at_most(found, bound, scale=1, n=start.size, pair=pair, part="bound")
        if pair:
            yield equals(found, bound, n=2, c=float(f[0, 1]), part="attained")
