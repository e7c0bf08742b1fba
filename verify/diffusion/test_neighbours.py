"""Attention to the nearest neighbours has the radius of its ball in the limit: where tokens are sparse it goes faster."""

from fractions import Fraction
from functools import cache

import numpy as np

from theory.attention import SquaredDistance, attend_rows, top_k
from theory.diffusion import CircleDensity, Neighbourhoods, PeriodicGrid
from theory.diffusion.limits import largest_errors
from theory.evidence import Claim, Interval, at_most, bug, constant, equals, hypothesis, limit, order, verifies
from theory.evidence.roundoff import U

TING = ("ruan2024", "ting2010")
KNOWN = ("recalled", "derived")
VOLUME = {1: 2.0, 2: np.pi}
PLACES = {1: np.array([[0.3], [1.5], [2.5], [4.0], [5.5]]), 2: np.array([[0.3, 1.0], [2.0, 5.0], [4.0, 2.5]])}


def density(x, dim):
    """The density of the tokens, with respect to the flat volume."""
    if dim == 1:
        return (1 + 0.5 * np.cos(x[0]) + 0.2 * np.sin(2 * x[0])) / (2 * np.pi)
    return (1 + 0.4 * np.cos(x[0]) + 0.2 * np.sin(x[1]) + 0.1 * np.cos(x[0] - x[1])) / (4 * np.pi**2)


def function(x, dim):
    """What is averaged."""
    return np.sin(x[0]) + 0.5 * np.cos(2 * x[0]) if dim == 1 else np.sin(x[0]) + 0.5 * np.cos(x[1] - x[0])


def operator(x, dim, drift):
    """L h by hand."""
    p = density(x, dim)
    if dim == 1:
        slope = (-0.5 * np.sin(x[0]) + 0.4 * np.cos(2 * x[0])) / (2 * np.pi)
        return -np.sin(x[0]) - 2 * np.cos(2 * x[0]) + drift * slope / p * (np.cos(x[0]) - np.sin(2 * x[0]))
    wave, both = np.sin(x[1] - x[0]), np.sin(x[0] - x[1])
    first = (-0.4 * np.sin(x[0]) - 0.1 * both) / (4 * np.pi**2 * p)
    second = (0.2 * np.cos(x[1]) + 0.1 * both) / (4 * np.pi**2 * p)
    inner = first * (np.cos(x[0]) + 0.5 * wave) - 0.5 * second * wave
    return -np.sin(x[0]) - np.cos(x[1] - x[0]) + drift * inner


def balls_of(dim, share):
    """The neighbourhoods of the places."""
    grid = PeriodicGrid((32,) * dim)
    p = np.broadcast_to(density(grid.axes, dim), grid.shape)
    return Neighbourhoods(grid, p, PLACES[dim], share)


def changes(dim, share):
    """(P h - h) / share^(2/d) at the places, with widths."""
    held = balls_of(dim, share)
    h = np.broadcast_to(function(held.grid.axes, dim), held.grid.shape)
    found, width = held.average(h), held.rounding(h) + 64 * U
    here = function(PLACES[dim].T, dim)
    return [
        (Interval.within(a, width) - b) / share ** (2 / dim) for a, b in zip(found.tolist(), here.tolist(), strict=True)
    ]


@verifies(
    Claim(
        "edge.knn",
        "attention to the k nearest of N tokens tends to the drift-diffusion at a speed that falls with the density",
        r"$(\frac kN)^{-2/d}(Ph - h) \to \frac{L h}{2(d + 2)(V_dp)^{2/d}}$ as $\frac kN \to 0$, in $d = 1$ $\frac{Lh}{24p^2}$ of order 2 in $\frac kN$, in $d = 2$ $\frac{Lh}{8\pi p}$ of order 1",
        assumptions=("flat torus of dimension 1 or 2, in the limit of many tokens", "p a positive trigonometric polynomial"),
        spec=("DL.B13",),
        cites=TING,
        provenance=KNOWN,
    ),
    hypothesis("radius", "all balls have the radius of the mean density: no power of p", power=0),
    constant("drift", "the drift coefficient is one", drift=1),
    constant("moment", "the divisor is 2 (d + 1)", beyond=1),
    bug("linear", "the power of p is 1 / d", power=Fraction(1, 2)),
)  # fmt: skip
def test_knn(run, *, power=1, drift=2, beyond=2):
    for dim in (1, 2):
        x = PLACES[dim].T
        mean = 1 / (2 * np.pi) ** dim
        speed = (VOLUME[dim] * mean) ** (2 / dim) * (density(x, dim) / mean) ** (2 * float(power) / dim)
        target = operator(x, dim, drift) / (2 * (dim + beyond) * speed)
        truth = [Interval.within(v, 1e3 * U * abs(v) + 1e3 * U) for v in target.tolist()]
        levels = [changes(dim, 0.16 / 2**level) for level in range(run.pick(quick=7, paper=8))]
        rate, size = 2 // dim, float(np.abs(target).max())
        yield equals(order(largest_errors(levels, truth)), rate, scale=1, d=dim, part="order")
        for at, value in enumerate(truth):
            yield equals(limit([level[at] for level in levels], order=rate), value, scale=size, d=dim, place=at)


@verifies(
    Claim(
        "edge.knn-radius",
        "the ball that holds k of N tokens has the volume of that share divided by the density, up to the square of its radius",
        r"$\frac{r_k}{(\kappa/V_dp)^{1/d}} = 1 - \frac{r_k^2}{2d(d + 2)}\frac{\Delta p}p + O(r_k^4)$, $\kappa = \frac kN$; $d = 1, 2$",
        assumptions=("flat torus of dimension 1 or 2, in the limit of many tokens", "p a positive trigonometric polynomial"),
        spec=("DL.B13",),
        cites=TING,
        provenance=KNOWN,
    ),
    constant("dimension", "the power is 1 / (d + 1)", power=1),
    constant("moment", "the coefficient of the curvature of p is 1 / 2(d + 2)", divisor=1),
    bug("box", "the volume is that of the cube", volume={1: 2.0, 2: 4.0}),
)  # fmt: skip
def test_radius(run, *, power=0, divisor=None, volume=VOLUME):
    for dim in (1, 2):
        x = PLACES[dim].T
        p = density(x, dim)
        if dim == 1:
            second = (-0.5 * np.cos(x[0]) - 0.8 * np.sin(2 * x[0])) / (2 * np.pi)
        else:
            second = (-0.4 * np.cos(x[0]) - 0.2 * np.sin(x[1]) - 0.2 * np.cos(x[0] - x[1])) / (4 * np.pi**2)
        levels, shares = [], [0.16 / 4 ** (level * dim) for level in range(run.pick(quick=5, paper=6))]
        for share in shares:
            found = balls_of(dim, share).radii()
            ratio = found / (share / (volume[dim] * p)) ** (1 / (dim + power))
            width = 2000 * U * ratio
            levels.append([Interval.within(r, w) for r, w in zip(ratio.tolist(), width.tolist(), strict=True)])
        scale = [(share / (VOLUME[dim] * float(p.max()))) ** (2 / dim) for share in shares]
        for at in range(len(PLACES[dim])):
            yield equals(limit([level[at] for level in levels], ratio=16, order=1), 1, d=dim, place=at)
            curvature = -float(second[at] / p[at]) / (2 * (divisor or dim) * (dim + 2))
            own = (float(p.max()) / float(p[at])) ** (2 / dim)
            beyond = [(level[at] - 1) / (s * own) for level, s in zip(levels, scale, strict=False)]
            claimed = Interval.within(curvature, 100 * U)
            yield equals(limit(beyond, ratio=16, order=1), claimed, scale=1, d=dim, place=at, part="next order")


@cache
def quantiles(n):
    """The quantile tokens of the density on the circle."""
    return CircleDensity([0.5, 0.0], [0.0, 0.2], logarithmic=False).tokens(n)


@verifies(
    Claim(
        "edge.knn-tokens",
        "attention to the k best of N quantile tokens is that average, up to half a token at either end",
        r"row map: the $k$ largest scores with equal weights, $N$ tokens $F^{-1}((j + \frac12)/N)$ on the circle: the mean is within $\frac{\mathrm{osc}(h)}{2k} + \frac1{24N^2}\sup|(h \circ F^{-1})''|$ of $\frac1\kappa\int_{|y - x| \le r}hp$, $\kappa = \frac kN$, osc over the ball and half a token more; attained as N grows where the next token on the other side is as near as the last, $h$ monotonic",
        assumptions=("circle", "p a positive trigonometric polynomial", "the ball does not reach around"),
        spec=("DL.B13",),
        cites=TING,
        provenance=("derived",),
    ),
    constant("nine-tenths", "the bound is a tenth smaller", factor=Fraction(9, 10)),
    bug("softmax", "the k best keep their softmax weights", flat=False),
    hypothesis("uniform", "the tokens are evenly spaced", even=True),
)  # fmt: skip
def test_tokens(run, *, factor=1, flat=True, even=False):
    for n in run.pick(quick=(400, 1600), paper=(400, 1600, 6400)):
        k = n // 20
        tokens = 2 * np.pi * (np.arange(n) + 0.5)[:, np.newaxis] / n if even else quantiles(n)
        first = int(np.searchsorted(tokens[:, 0], 3.6))  # h falls from 2.6 to 4.7
        between, step = 0.5 * (tokens[first] + tokens[first + k]), tokens[first + 1] - tokens[first]
        # away from where the angles start anew, and where the keys are one side's by a thousandth of a token
        places = np.concatenate([PLACES[1][1:4], [between - 1e-3 * step, between + 1e-3 * step]])
        h = function(tokens.T, 1)[:, np.newaxis]

        def rows(scores, k=k):
            best = top_k(scores, k)
            return np.where(best > 0.0, 1.0 / k, 0.0) if flat else best

        found = attend_rows(places, tokens, h, rows=rows, score=SquaredDistance(20.0))[:, 0]
        held = Neighbourhoods(PeriodicGrid((32,)), density(PeriodicGrid((32,)).axes, 1), places, k / n)
        function_on = function(held.grid.axes, 1)
        exact, r = held.average(function_on), held.radii()
        rounding = held.rounding(function_on) + 4 * k * U
        for at, x in enumerate(places[:, 0].tolist()):
            ball = x + r[at] * (1 + 6 / k) * np.linspace(-1.0, 1.0, 2001)  # densities differ by a factor below six
            half = 0.5 / (n * float(density(ball[np.newaxis], 1).min()) * (1 - 1e-3))  # of a token, at the most
            ball = x + (r[at] + half) * np.linspace(-1.0, 1.0, 2001)
            swing = float(np.ptp(function(ball[np.newaxis], 1))) * (1 + 1e-4)
            curved = _second(ball) * (1 + 1e-3)
            gap = Interval.within(abs(float(found[at] - exact[at])), rounding)
            yield at_most(gap, factor * (swing / (2 * k) + curved / (24 * n**2)), N=n, k=k, place=at)


def _second(x):
    """The largest second derivative of h by the level F."""
    p = density(x[np.newaxis], 1)
    slope = (-0.5 * np.sin(x) + 0.4 * np.cos(2 * x)) / (2 * np.pi)
    first, second = np.cos(x) - np.sin(2 * x), -np.sin(x) - 2 * np.cos(2 * x)
    return float(np.abs(second / p**2 - first * slope / p**3).max())
