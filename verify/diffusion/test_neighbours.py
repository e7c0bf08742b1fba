"""Attention to the nearest neighbours has the radius of its ball in the limit: where tokens are sparse it goes faster."""

from fractions import Fraction
from functools import cache

import flint
import numpy as np

from theory.attention import SquaredDistance
from theory.attention.variants import top_k
from theory.diffusion import CircleDensity, Neighbourhoods, PeriodicGrid
from theory.diffusion.limits import largest_errors
from theory.evidence import Claim, at_most, bug, constant, equals, exact, hull, hypothesis, limit, order, verifies
from verify.textbook import balls

TING = ("ruan2024", "ting2010")
KNOWN = ("recalled", "derived")
PI = flint.arb.pi()
VOLUME = {1: 2, 2: PI}
PLACES = {1: np.array([[0.3], [1.5], [2.5], [4.0], [5.5]]), 2: np.array([[0.3, 1.0], [2.0, 5.0], [4.0, 2.5]])}


def density(x):
    """The density of the tokens, relative to the uniform law."""
    if len(x) == 1:
        return 1 + 0.5 * np.cos(x[0]) + 0.2 * np.sin(2 * x[0])
    return 1 + 0.4 * np.cos(x[0]) + 0.2 * np.sin(x[1]) + 0.1 * np.cos(x[0] - x[1])


def log_slope(x):
    """The gradient of the logarithm of the density."""
    if len(x) == 1:
        return [(-0.5 * np.sin(x[0]) + 0.4 * np.cos(2 * x[0])) / density(x)]
    both = 0.1 * np.sin(x[0] - x[1])
    return [(-0.4 * np.sin(x[0]) - both) / density(x), (0.2 * np.cos(x[1]) + both) / density(x)]


def laplacian(x):
    """The Laplacian of the density."""
    if len(x) == 1:
        return -0.5 * np.cos(x[0]) - 0.8 * np.sin(2 * x[0])
    return -0.4 * np.cos(x[0]) - 0.2 * np.sin(x[1]) - 0.2 * np.cos(x[0] - x[1])


def function(x):
    """What is averaged."""
    return np.sin(x[0]) + 0.5 * (np.cos(2 * x[0]) if len(x) == 1 else np.cos(x[1] - x[0]))


def operator(x, drift):
    """L h by hand."""
    if len(x) == 1:
        (slope,) = log_slope(x)
        return -np.sin(x[0]) - 2 * np.cos(2 * x[0]) + drift * slope * (np.cos(x[0]) - np.sin(2 * x[0]))
    wave = 0.5 * np.sin(x[1] - x[0])
    first, second = log_slope(x)
    return -np.sin(x[0]) - 2 * 0.5 * np.cos(x[1] - x[0]) + drift * (first * (np.cos(x[0]) + wave) - second * wave)


def neighbourhoods(dim, share):
    """Those of the places, with the function on their grid."""
    grid = PeriodicGrid((32,) * dim)
    p = np.broadcast_to(density(grid.axes), grid.shape)
    return Neighbourhoods(grid, p, exact(PLACES[dim]), share), np.broadcast_to(function(grid.axes), grid.shape)


def changes(dim, share):
    """(P h - h) / share^(2/d) at the places."""
    held, h = neighbourhoods(dim, share)
    return (held.average(h) - function(exact(PLACES[dim]).T)) / share ** (2 // dim)


@verifies(
    Claim(
        "edge.knn",
        "attention to the k nearest of N tokens tends to the drift-diffusion at a speed that falls with the density",
        r"$(\frac kN)^{-2/d}(Ph - h) \to \frac{L h}{2(d + 2)(V_dp)^{2/d}}$ as $\frac kN \to 0$, in $d = 1$ $\frac{Lh}{24p^2}$ of order 2 in $\frac kN$, in $d = 2$ $\frac{Lh}{8\pi p}$ of order 1",
        assumptions=("flat torus of dimension 1 or 2, in the limit of many tokens", "p a positive trigonometric polynomial"),
        spec=("DL.B13",),
        cites=TING,
        source_status=KNOWN,
    ),
    hypothesis("radius", "all balls have the radius of the mean density: no power of p", power=0),
    constant("drift", "the drift coefficient is one", drift=1),
    constant("moment", "the divisor is 2 (d + 1)", beyond=1),
    bug("linear", "the power of p is 1 / d", power=0.5),
)  # fmt: skip
def test_knn(run, *, power=1, drift=2, beyond=2):
    for dim in (1, 2):
        x = balls(PLACES[dim].T)
        rate = 2 // dim
        mean = (VOLUME[dim] / (2 * PI) ** dim) ** rate
        truth = operator(x, drift) / (2 * (dim + beyond) * mean * density(x) ** (rate * power))
        levels = np.stack([changes(dim, 0.16 / 2**level) for level in range(run.pick(quick=7, paper=8))])
        yield equals(order(largest_errors(levels, truth)), rate, scale=1, d=dim, part="order")
        size = abs(hull(truth)).max()
        for at, value in enumerate(truth):
            yield equals(limit(levels[:, at], order=rate), value, scale=size, d=dim, place=at)


@verifies(
    Claim(
        "edge.knn-radius",
        "the ball that holds k of N tokens has the volume of that share divided by the density, up to the square of its radius",
        r"$\frac{r_k}{(\kappa/V_dp)^{1/d}} = 1 - \frac{r_k^2}{2d(d + 2)}\frac{\Delta p}p + O(r_k^4)$, $\kappa = \frac kN$; $d = 1, 2$",
        assumptions=("flat torus of dimension 1 or 2, in the limit of many tokens", "p a positive trigonometric polynomial"),
        spec=("DL.B13",),
        cites=TING,
        source_status=KNOWN,
    ),
    constant("dimension", "the power is 1 / (d + 1)", power=1),
    constant("moment", "the coefficient of the curvature of p is 1 / 2(d + 2)", divisor=1),
    bug("box", "the volume is that of the cube", volume={1: 2.0, 2: 4.0}),
)  # fmt: skip
def test_radius(run, *, power=0, divisor=None, volume=VOLUME):
    for dim in (1, 2):
        x = exact(PLACES[dim].T)
        rate = 2 // dim
        p = density(x)
        shares = [0.16 / 4 ** (level * dim) for level in range(run.pick(quick=5, paper=6))]
        ratios, beyond = [], []
        for share in shares:
            uniform = share / p * (2 * PI) ** dim  # times the volume of the unit ball, that of the ball
            ratios.append(neighbourhoods(dim, share)[0].radii() / (uniform / volume[dim]) ** (1 / (dim + power)))
            beyond.append((ratios[-1] - 1) / (uniform / VOLUME[dim]) ** rate)
        claimed = -laplacian(x) / p / (2 * (divisor or dim) * (dim + 2))
        for at in range(len(PLACES[dim])):
            yield equals(limit([level[at] for level in ratios], ratio=16, order=1), 1, d=dim, place=at)
            found = limit([level[at] for level in beyond], ratio=16, order=1)
            yield equals(found, claimed[at], scale=1, d=dim, place=at, part="next order")


@cache
def quantiles(n):
    """The quantile tokens of the density on the circle."""
    return CircleDensity([0.5, 0.0], [0.0, 0.2], logarithmic=False).tokens(n)


@verifies(
    Claim(
        "edge.knn-tokens",
        "attention to the k best of N quantile tokens is that average, up to half a token at either end",
        r"row map: the $k$ largest scores with equal weights, $N$ tokens $F^{-1}((j + \frac12)/N)$ on the circle: the mean is within $\frac{\mathrm{osc}(h)}{2k} + \frac1{24N^2}\sup|(h \circ F^{-1})''|$ of $\frac1\kappa\int_{|y - x| \le r}hp$, $\kappa = \frac kN$",
        remark=r"osc over the ball and half a token more; attained as N grows where the next token on the other side is as near as the last, $h$ monotonic",
        assumptions=("circle", "p a positive trigonometric polynomial", "the ball does not reach around"),
        spec=("DL.B13",),
        cites=TING,
        source_status=("derived",),
    ),
    constant("nine-tenths", "the bound is a tenth smaller", factor=Fraction(9, 10)),
    bug("softmax", "the k best keep their softmax weights", flat=False),
    hypothesis("uniform", "the tokens are evenly spaced", even=True),
)  # fmt: skip
def test_tokens(run, *, factor=1, flat=True, even=False):
    grid = PeriodicGrid((32,))
    for n in run.pick(quick=(400, 1600), paper=(400, 1600, 6400)):
        k = n // 20
        tokens = 2 * np.pi * (np.arange(n) + 0.5)[:, np.newaxis] / n if even else quantiles(n)
        first = int(np.searchsorted(tokens[:, 0], 3.6))  # h falls from 2.6 to 4.7
        between = 0.5 * (tokens[first] + tokens[first + k])
        step = tokens[first + 1] - tokens[first]
        # away from where the angles start anew, and where the keys are one side's by a thousandth of a token
        places = np.concatenate([PLACES[1][1:4], [between - 1e-3 * step, between + 1e-3 * step]])
        rows = top_k(SquaredDistance(20.0).matrix(places, tokens), k)
        found = (np.sign(rows) / exact(k) if flat else rows) @ function(exact(tokens).T)
        held = Neighbourhoods(grid, density(grid.axes), exact(places), k / n)
        off = abs(found - held.average(function(grid.axes)))
        for at, (x, radius) in enumerate(zip(places[:, 0], held.radii().mid, strict=True)):
            bound = between_tokens(x, radius, n, k)
            yield at_most(off[at], factor * bound, N=n, k=k, place=at)


def between_tokens(x, radius, n, k):
    """What half a token at either end, and the midpoint rule, may change in an average over a ball."""
    ball = x + radius * (1 + 6 / k) * np.linspace(-1.0, 1.0, 2001)  # densities differ by a factor below six
    half = np.pi / (n * float(density(ball[np.newaxis]).min()) * (1 - 1e-3))  # of a token, at the most
    ball = x + (radius + half) * np.linspace(-1.0, 1.0, 2001)
    swing = float(np.ptp(function(ball[np.newaxis]))) * (1 + 1e-4)
    return swing / (2 * k) + second_by_level(ball) * (1 + 1e-3) / (24 * n**2)


def second_by_level(x):
    """The largest second derivative of h by the level F."""
    p, (slope,) = density(x[np.newaxis]) / (2 * np.pi), log_slope(x[np.newaxis])
    first, second = np.cos(x) - np.sin(2 * x), -np.sin(x) - 2 * np.cos(2 * x)
    return float(np.abs((second - first * slope) / p**2).max())
