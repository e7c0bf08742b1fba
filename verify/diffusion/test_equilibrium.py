"""Which law attention keeps: that of the tokens if normalised twice, where it is softmax attention to another law."""

from fractions import Fraction

import numpy as np

from theory.diffusion import CircleDensity, PeriodicGrid, convolve, convolve_reweighted, heat_multiplier, studies
from theory.diffusion.limits import sinkhorn_change
from theory.diffusion.settings import ALPHAS
from theory.evidence import (
    Claim,
    Interval,
    ball,
    balls,
    bug,
    constant,
    equals,
    exact,
    hull,
    hypothesis,
    limit,
    verifies,
)

GRID = PeriodicGrid((256,))
X = GRID.axes[0]
P = CircleDensity([0.8, 0.0], [0.0, 0.3])(exact(X))
H = np.sin(exact(X)) + 0.5 * np.cos(2 * exact(X))
CHOSEN = slice(None, None, 32)


@verifies(
    Claim(
        "normaliser.equilibrium",
        "doubly normalised attention keeps the law of its tokens; softmax gathers where they are dense",
        r"$\pi P = \pi$ for $\pi = m\,K_\varepsilon m$, $m = p(K_\varepsilon p)^{-\alpha}$, and $\pi \to p^{2(1-\alpha)}$ up to a constant: $p^2$ (softmax), $p$ ($\alpha = \frac12$), uniform ($\alpha = 1$)",
        remark=r"$\pi = p$ for Sinkhorn at every bandwidth: $\sum_iP_{ij} = 1$ for equal masses",
        assumptions=("circle, in the limit of many tokens, and 20 quantile tokens", "p positive and analytic"),
        spec=("DL.C5", "DL.B9"),
        cites=("ruan2024", "coifman2006", "marshall2019"),
        source_status=("recalled", "derived", "refereed"),
    ),
    constant("first", "softmax keeps the law of its tokens", power=1),
    constant("linear", "the power is 2 - alpha", slope=1),
    hypothesis("rows", "the rows alone are normalised", way="alpha 0"),
    bug(
        "unsmoothed",
        "the law kept is taken to be that of the weighted tokens",
        balance=lambda weights, _smooth: weights,
    ),
)
def test_equilibrium(run, *, power=2, slope=None, way="sinkhorn", balance=lambda weights, smooth: weights * smooth):
    part = run.study(studies.normalisers).where(part="matrix", way=way)
    for y in np.unique(part["y"]).tolist():
        column = part.where(y=y).intervals("value")
        yield equals(sum(column, Interval.exactly(0)) / len(column), 1, y=round(y, 3), part="columns")
    x = exact(X[CHOSEN])
    logs = 0.8 * np.cos(x) + 0.3 * np.sin(2 * x)
    for alpha in ALPHAS:
        exponent = power - (slope or power) * alpha
        levels = []
        for level in range(run.pick(quick=10, paper=11)):
            multiplier = heat_multiplier(0.08 * 0.5**level)
            weights = P * GRID.multiply(P, multiplier) ** -alpha
            law = balance(weights, GRID.multiply(weights, multiplier))
            moved = convolve_reweighted(GRID, P, H, multiplier, alpha=alpha) - H
            yield equals(
                GRID.integral(law * moved) / GRID.integral(law), 0, scale=1, alpha=alpha, level=level, part="kept"
            )
            levels.append(np.log(law[CHOSEN] / law[0]))
        for at in range(1, len(logs)):
            claimed = exponent * (logs[at] - logs[0])
            yield equals(limit([level[at] for level in levels[-5:]], order=1), claimed, scale=1, alpha=alpha, place=at)


@verifies(
    Claim(
        "normaliser.another-law",
        "doubly normalised attention to one law is softmax attention to another",
        r"$u K(u p) = 1$ with $m = up$: $uK(up h) = \frac{K(mh)}{Km}$ and $m\,Km = p$; with $2\pi m = 1 + \frac25\cos x + \frac15\cos 2x$ and $p = m\,Km$ both sides are finite sums",
        assumptions=("circle, heat kernel, even m and h",),
        spec=("DL.C5",),
        cites=("marshall2019", "sinkhorn1967"),
        source_status=("derived",),
    ),
    bug("root", "the other law is the root of p", root=True),
    constant("power", "p = m", power=0),
    hypothesis("narrow", "the other kernel has one per cent less variance", ratio=Fraction(99, 100)),
)
def test_another_law(run, *, root=False, power=1, ratio=1):
    m = {0: Fraction(1), 1: Fraction(1, 5), 2: Fraction(1, 10)}  # of exp(ikx), for k and -k
    h = {0: Fraction(1, 3), 1: Fraction(1, 2), 3: Fraction(-1, 4)}
    for epsilon in run.pick(
        quick=(Fraction(1, 4), Fraction(1, 32)), paper=(Fraction(1, 4), Fraction(1, 32), Fraction(1, 256))
    ):
        places = balls(X[CHOSEN])
        multiplier = heat_multiplier(float(epsilon))
        smooth, own = series(m, places, epsilon * ratio), series(m, places, 0)
        law, values = hull(series(m, balls(X), 0)), hull(series(h, balls(X), 0))
        p = law * GRID.multiply(law, multiplier) ** power
        found = sinkhorn_change(GRID, p, values, multiplier)[CHOSEN]
        claimed = series(product(m, h), places, epsilon * ratio) / smooth
        if root:
            claimed = convolve(GRID, np.sqrt(p), values, multiplier)[CHOSEN]
        for at, target in enumerate(claimed):
            yield equals(found[at], target, scale=1, epsilon=epsilon, place=at)
        if power:
            for at, target in enumerate(own * smooth):
                yield equals(p[CHOSEN][at], target, part="m K m", epsilon=epsilon, place=at)


def product(a, b):
    """The Fourier coefficients of a product of even functions."""
    full = [{s * k: v for k, v in c.items() for s in (1, -1)} for c in (a, b)]
    found = {}
    for j, u in full[0].items():
        for k, v in full[1].items():
            found[j + k] = found.get(j + k, 0) + u * v
    return {k: v for k, v in found.items() if k >= 0}


def series(coefficients, x, epsilon):
    """The smoothed even function in balls: c_0 + 2 sum c_k exp(-epsilon k^2 / 2) cos kx."""
    one = ball(Fraction(epsilon)) / 2
    total = x * 0
    for k, value in coefficients.items():
        total = total + (1 if k == 0 else 2) * ball(value) * (-one * k * k).exp() * np.cos(x * k)
    return total
