"""A score carries its own metric: any symmetric one on a curve, the pull-back of features, a matrix on the torus."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from theory.diffusion import PeriodicGrid, convolve, propagate, studies
from theory.diffusion.geometry import layer_change, linear_multiplier, root_length
from theory.diffusion.limits import divide_series, extrapolate, laplace_series, largest_errors, read_levels
from theory.diffusion.settings import LEARNED_CURVES, WAVY_DENSITY, wavy_function
from theory.evidence import (
    Claim,
    Interval,
    ball,
    bug,
    constant,
    equals,
    estimated,
    exact,
    hull,
    hypothesis,
    limit,
    order,
    verifies,
)
from theory.evidence.enclosure import variable
from theory.evidence.quadrature import integral_over

RUAN = ("ruan2024", "coifman2006")
SCORES = {  # f, and g with its derivative, of balls, series or floats, by hand
    "modulated": (
        lambda x, y: (2 - 2 * (x - y).cos()) * (1 + (x + y).cos() * 3 / 10),
        lambda x: (1 + 0.3 * np.cos(2 * x), -0.6 * np.sin(2 * x)),
    ),
    "lopsided": (
        lambda x, y: (2 - 2 * (x - y).cos()) * (1 + (2 * x).cos() * 3 / 10),
        lambda x: (1 + 0.3 * np.cos(2 * x), -0.6 * np.sin(2 * x)),
    ),
    "reparametrised": (
        lambda x, y: 2 - 2 * (x - y + (x.sin() - y.sin()) * 2 / 5).cos(),
        lambda x: ((1 + 0.4 * np.cos(x)) ** 2, -0.8 * (1 + 0.4 * np.cos(x)) * np.sin(x)),
    ),
    "ellipse": (
        lambda x, y: (x.cos() - y.cos()) ** 2 + (x.sin() - y.sin()) ** 2 * 49 / 100,
        lambda x: (np.sin(x) ** 2 + 0.49 * np.cos(x) ** 2, 0.51 * np.sin(2 * x)),
    ),
}
SPEEDS = {  # the roots of g, of series of balls
    "modulated": lambda x: (1 + (2 * x).cos() * 3 / 10).sqrt(),
    "reparametrised": lambda x: 1 + x.cos() * 2 / 5,
    "ellipse": lambda x: (x.sin() ** 2 + x.cos() ** 2 * 49 / 100).sqrt(),
}


def half_operator(metric, places, drift, volume):
    """Half the drift-diffusion of h in the metric g, for p = exp(u) sqrt(1/g) relative to its volume, by hand."""
    x = exact(places)
    g, slope = metric(x)
    u1 = -0.8 * np.sin(x) + 0.6 * np.cos(2 * x)
    h1 = np.cos(x) - np.sin(2 * x)
    h2 = -np.sin(x) - 2 * np.cos(2 * x)
    # the Laplacian has -g'/2g beside h'', and the density relative to the volume another -g'/2g in log p, doubled
    return 0.5 * (h2 + (drift * (u1 - float(volume) * slope / g) - 0.5 * slope / g) * h1) / g


@cache
def certified(curve, x, epsilon):
    """P h(x) in balls, over one turn of keys."""
    x = ball(x)
    turn = ball(-1).acos()
    rate = 1 / (2 * ball(epsilon))

    def weight(y):
        return (y.cos() * 4 / 5 + (2 * y).sin() * 3 / 10 - SCORES[curve][0](x + 0 * y, y) * rate).exp()

    mass = integral_over(weight, x - turn, x + turn)
    return integral_over(lambda y: (y.sin() + (2 * y).cos() / 2) * weight(y), x - turn, x + turn) / mass


def ladder(table, curve, drift, volume, *, shown=None):
    """Find orders one and two, the limit at every place, and three values of the table in balls.

    The table is read for ``shown``, if that is another curve.
    """
    part = table.where(curve=shown or curve)
    places, (epsilons, levels) = part.levels("x"), read_levels(part, "change")
    truth = half_operator(SCORES[curve][1], places, drift, volume)
    size = float(abs(truth.mid).max())
    for extrapolations, values in enumerate((levels, extrapolate(levels))):
        found = order(largest_errors(values, truth)[-4:])
        yield equals(found, 1 + extrapolations, scale=1, curve=curve, extrapolations=extrapolations, part="order")
    for at, place in enumerate(places):
        yield equals(limit(levels[-5:, at], order=1), truth[at], scale=size, curve=curve, x=round(place, 3))
    for at, level in ((1, 0), (1, 3), (8, 2)):
        x = places[at]
        epsilon = float(epsilons[level])
        start = ball(x).sin() + (2 * ball(x)).cos() / 2
        claimed = (certified(curve, x, epsilon) - start) / ball(epsilon)
        yield equals(
            levels[level, at], claimed, scale=size, curve=curve, x=round(x, 3), epsilon=epsilon, part="in balls"
        )


def polynomial(waves, x, order=0):
    """A trigonometric polynomial of floats, or a derivative of it; ``waves`` are its cosines and sines."""
    turn = 0.5 * np.pi * order
    return sum(
        k**order * (a * np.cos(k * x + turn) + b * np.sin(k * x + turn)) for k, (a, b) in enumerate(waves, start=1)
    )


def exactly(waves, x):
    """The same of balls or series."""
    return sum(ball(a) * (k * x).cos() + ball(b) * (k * x).sin() for k, (a, b) in enumerate(waves, start=1))


@dataclass(frozen=True)
class Weighed:
    r"""The symmetric score :math:`f = c(1 + ac)(1 + \frac12w(x) + \frac12w(y))` of the squared chord c; w has ``waves``.

    Without symmetry :math:`1 + w(x)` stands for the last factor, which leaves the metric as it is.
    """

    shape: float
    waves: tuple[tuple[float, float], ...]
    symmetric: bool = True

    def dissimilarity(self, x, y):
        """Of floats, relatively accurate near the diagonal."""
        chord = 4.0 * np.sin(0.5 * (y - x)[..., 0]) ** 2
        here = polynomial(self.waves, x[..., 0])
        there = polynomial(self.waves, y[..., 0])
        return chord * (1.0 + self.shape * chord) * (1.0 + (0.5 * (here + there) if self.symmetric else here))

    def between(self, x, y):
        """The same of balls or series."""
        chord = 2 - 2 * (y - x).cos()
        here = exactly(self.waves, x)
        there = exactly(self.waves, y)
        return chord * (1 + ball(self.shape) * chord) * (1 + ((here + there) / 2 if self.symmetric else here))

    def metric(self, x):
        """1 + w."""
        return 1.0 + polynomial(self.waves, x)

    def with_slope(self, x):
        """The metric and its derivative."""
        return self.metric(x), polynomial(self.waves, x, 1)


@dataclass(frozen=True)
class Embedded:
    """Squared distances of features: the circle, and more coordinates that are trigonometric polynomials."""

    more: tuple[tuple[tuple[float, float], ...], ...]

    @property
    def coordinates(self):
        """The waves of every coordinate."""
        return (((1.0, 0.0),), ((0.0, 1.0),), *self.more)

    def dissimilarity(self, x, y):
        """Of floats, relatively accurate near the diagonal: differences of waves are products."""
        middle, half = 0.5 * (x + y)[..., 0], 0.5 * (y - x)[..., 0]
        found = 0.0
        for waves in self.coordinates:
            apart = (
                2.0 * np.sin(k * half) * (b * np.cos(k * middle) - a * np.sin(k * middle))
                for k, (a, b) in enumerate(waves, start=1)
            )
            found = found + sum(apart) ** 2
        return found

    def between(self, x, y):
        """The same of balls or series."""
        return sum((exactly(waves, y) - exactly(waves, x)) ** 2 for waves in self.coordinates)

    def metric(self, x):
        """The squared speed."""
        return sum(polynomial(waves, x, 1) ** 2 for waves in self.coordinates)

    def with_slope(self, x):
        """The metric and its derivative."""
        slope = sum(2.0 * polynomial(waves, x, 1) * polynomial(waves, x, 2) for waves in self.coordinates)
        return self.metric(x), slope


def drawn_waves(rng, size):
    """Coefficients of three waves, whose sizes add up to ``size``."""
    found = rng.normal(size=(3, 2))
    return tuple(map(tuple, (found * (size / np.abs(found).sum())).tolist()))


ANGLES = (0.3, 1.9, 3.4, 5.2)
WAVES = ((0.2, -0.1), (0.0, 0.15), (-0.1, 0.0))
CLOSER = ((0.1, 0.2), (0.25, 0.0), (0.0, -0.05))


@cache
def risen(curve):
    """The changes under a curve at the angles, for six bandwidths."""
    return [[layer_change(curve, WAVY_DENSITY, wavy_function, 0.005 * 0.5**k, x) for x in ANGLES] for k in range(6)]


@cache
def expanded(curve):
    """The first-order coefficients under a curve at the angles, by the moments of the Gaussian, in balls."""
    found = []
    for x in map(ball, ANGLES):
        y = x + variable(5)[()]
        p = (y.cos() * 4 / 5 + (2 * y).sin() * 3 / 10).exp()
        f = curve.between(x, y)
        hp = p * (y.sin() + (2 * y).cos() / 2)
        found.append(divide_series(laplace_series(f, hp, 2), laplace_series(f, p, 2))[1])
    return found


def others(curves, shown, drift, volume):
    """More curves: of the first the limits at the angles, of all the coefficients, beside their drift-diffusions."""
    for number, (curve, seen) in enumerate(zip(curves, shown, strict=True)):
        truth = half_operator(curve.with_slope, ANGLES, drift, volume)
        size = float(abs(truth.mid).max())
        for at, x in enumerate(ANGLES):
            yield equals(expanded(seen)[at], truth[at], scale=size, curve=number, x=x, part="moments of the Gaussian")
            if number == 0:
                found = limit([level[at] for level in risen(seen)], order=1)
                yield equals(found, truth[at], scale=size, curve=number, x=x)


@verifies(
    Claim(
        "limit.metric",
        "any symmetric score with its least value on the diagonal has a metric of its own, in which a layer drifts and diffuses",
        r"$f \in C^5$ symmetric, $f(x, x) = f_{\min}$, larger off the diagonal, $g = \frac12\partial_y^2f|_{y=x} \succ 0$ $\Rightarrow$ $\frac{P_\varepsilon h - h}\varepsilon \to \frac12L_{g,p}h$ with $p$ relative to $\mathrm{vol}_g$",
        remark=r"$f = 4\sin^2\frac{x-y}2(1 + 0.3\cos(x + y))$ on the circle, with errors of order 1, after extrapolation 2; and, one in the limit and the drawn ones by the moments of the Gaussian, $c(1 + ac)(1 + \frac12w(x) + \frac12w(y))$ of the squared chord c with three waves in w, whose metrics $1 + w$ are any trigonometric polynomials",
        assumptions=(
            "circle, in the limit of many tokens; the algebra of any metric in one and two dimensions is score.symmetric",
            "p positive and analytic", "row-normalised",
            "orders from the four finest of seven bandwidths, as few as there may be, limits from the five: coarser ones are not yet asymptotic",
        ),
        spec=("DL.B3",),
        cites=RUAN,
        source_status=("derived", "refereed"),
    ),
    hypothesis("asymmetric", "f has the same Hessian on the diagonal and is not symmetric", symmetric=False),
    bug("coordinates", "the density is the one with respect to the angle", volume=0),
    constant("drift", "the drift coefficient is one", drift=1),
)  # fmt: skip
def test_metric(run, *, symmetric=True, drift=2, volume=Fraction(1, 2)):
    yield from ladder(
        run.study(studies.metrics), "modulated", drift, volume, shown="modulated" if symmetric else "lopsided"
    )
    drawn = [(float(rng.uniform(-0.15, 0.5)), drawn_waves(rng, 0.6)) for rng in run.draws(quick=3, paper=20)]
    curves = [Weighed(shape, waves, symmetric) for shape, waves in ((0.3, WAVES), *drawn)]
    yield from others(curves, curves, drift, volume)


@verifies(
    Claim(
        "limit.distance",
        "the distance of the learned metric is what the root of the score measures in small steps, not that root itself",
        r"$\sum_i\sqrt{f(x_i, x_{i+1})} \to \int\sqrt g\,dx$ at order 2 in the step, so that $\sqrt{c + f}$ of a chord is a Riemannian distance for no $c$ ($c = 0$ by the diagonal)",
        remark=r"from $0$ to $\pi$ on the unit circle $\sqrt f = 2$ and the distance is $\pi$; and no limit needs it",
        assumptions=("f symmetric, zero on the diagonal, of second order there", "circle; three scores"),
        spec=("DL.B3",),
        cites=("ruan2024",),
        source_status=("seen", "derived", "refereed"),
    ),
    constant("printed", "the root of the score is the distance", chord=True),
    bug("squared", "the metric is not rooted", power=2),
)
def test_distance(run, *, chord=False, power=1):
    for curve, speed in SPEEDS.items():
        for start, end in ((0, 3), (Fraction(1, 2), Fraction(5, 2))):
            steps = [2**k for k in range(4, run.pick(quick=10, paper=13))]
            lengths = [root_length(LEARNED_CURVES[curve], np.linspace(float(start), float(end), n + 1)) for n in steps]
            whole = integral_over(lambda x, speed=speed: speed(x) ** power, start, end)
            claimed = hull(SCORES[curve][0](ball(start), ball(end)).sqrt() if chord else whole)
            yield equals(limit(lengths, order=2), claimed, curve=curve, start=float(start), end=float(end))
            errors = [length - claimed for length in lengths]
            yield equals(order(errors), 2, scale=1, curve=curve, part="order")


@verifies(
    Claim(
        "limit.pull-back",
        "of learned features the metric is the pull-back, and the density that drifts is the one relative to it",
        r"$f = |F(x) - F(y)|^2$: $L = \varphi'^{-2}\bigl[\partial^2 + \bigl(2\frac{p_0'}{p_0} - 3\frac{\varphi''}{\varphi'}\bigr)\partial\bigr]$, $\varphi'^2 = |F'|^2$, $p_0$ with respect to the angle",
        remark=r"$\varphi = x + 0.4\sin x$ and the ellipse $(\cos x, 0.7\sin x)$, with errors of order 1, after extrapolation 2, where real attention of 256 quantile tokens has the same values; and, one in the limit and the drawn ones by the moments of the Gaussian, curves in four dimensions with three waves in a coordinate",
        assumptions=(
            "circle, in the limit of many tokens", "p positive and analytic", "F an immersion without double points",
            "orders from the four finest of seven bandwidths, as few as there may be, limits from the five: coarser ones are not yet asymptotic",
        ),
        spec=("DL.B4",),
        cites=RUAN,
        source_status=("seen", "derived", "refereed"),
    ),
    bug("old-density", "the density stays the one with respect to the angle: -phi''/phi' instead of -3", volume=0),
    constant("drift", "the drift coefficient is one", drift=1),
    hypothesis("other", "the features are those of the other curve", swap=-1),
)  # fmt: skip
def test_pull_back(run, *, drift=2, volume=Fraction(1, 2), swap=1):
    table = run.study(studies.metrics)
    names = ("reparametrised", "ellipse")
    for claimed, curve in zip(names, names[::swap], strict=True):
        yield from _tokens(claimed, curve)
        yield from ladder(table, claimed, drift, volume, shown=curve)
    drawn = [(drawn_waves(rng, 0.5), drawn_waves(rng, 0.5)) for rng in run.draws(quick=2, paper=20)]
    curves = [Embedded((WAVES, CLOSER)), *map(Embedded, drawn)]
    yield from others(curves, curves[::swap], drift, volume)


@cache
def quantiles(n):
    return WAVY_DENSITY.quantiles(exact((np.arange(n) + 0.5) / n))


def _tokens(claimed, curve, epsilon=0.04):
    """The features of quantile tokens, attended to by those of a few queries, against balls."""
    angles = np.array([0.4, 2.0, 4.5])
    found = []
    for n in (224, 256):  # twice what the difference leaves bounds an error that falls geometrically
        tokens = quantiles(n)
        keys = LEARNED_CURVES[curve].features(tokens[:, np.newaxis])
        queries = LEARNED_CURVES[curve].features(exact(angles)[:, np.newaxis])
        found.append(propagate(queries, keys, wavy_function(tokens), epsilon))
    for x, coarse, fine in zip(angles.tolist(), *found, strict=True):
        value = estimated(fine, coarse, times=2)
        yield equals(value, certified(claimed, x, epsilon), scale=1, curve=claimed, tokens=n, x=x, part="tokens")


@verifies(
    Claim(
        "limit.linear",
        "a matrix on the coordinates turns the principal part into the inverse of its Gram matrix, and scaling into a square",
        r"$f = |W(x - y)|^2$ on $\mathbb T^2$: $\frac{P_\varepsilon h - h}\varepsilon \to \frac12\bigl[(W^\top W)^{-1}\bigr]^{ij}(\partial_i\partial_jh + 2\,\partial_i\log p\,\partial_jh)$",
        remark=r"$g \to g/m^2$ multiplies both terms by $m^2$; error of order 1, after extrapolation 2",
        assumptions=("flat torus of dimension 2, in the limit of many tokens", "p positive and analytic"),
        spec=("DL.B4",),
        cites=RUAN,
        source_status=("seen", "derived", "refereed"),
    ),
    bug("not-inverted", "the principal part is W^T W", inverted=False),
    constant("drift", "the drift coefficient is one", drift=1),
    constant("scaling", "a metric divided by m^2 is faster by m", power=1),
    bug("transposed", "features are those of the transpose of W", transposed=True),
)
def test_linear(run, *, inverted=True, drift=2, power=2, transposed=False):
    w = np.array([[1.25, 0.5], [-0.25, 0.75]])
    for m in (1, 2):
        mapped = (w.T if transposed else w) / m
        yield from _torus(run, w / m, mapped, drift, inverted, Fraction(m) ** (power - 2), m)


def _torus(run, w, mapped, drift, inverted, factor, m):
    grid = PeriodicGrid((run.pick(quick=32, paper=48),) * 2)
    x, y = (np.broadcast_to(exact(axis), grid.shape) for axis in grid.axes)
    p = np.exp(0.4 * np.cos(x) + 0.3 * np.sin(x + y))
    h = np.sin(x) * np.cos(y) + 0.5 * np.cos(x + y)
    rows = [[Fraction(v) for v in row] for row in mapped.tolist()]
    (a, b), (_, c) = [[sum(r[i] * r[j] for r in rows) for j in (0, 1)] for i in (0, 1)]
    det = a * c - b * b
    metric = [c / det, -b / det, a / det] if inverted else [a, b, c]
    s = np.sin(x + y)
    t = np.cos(x + y)
    ux, uy = -0.4 * np.sin(x) + 0.3 * t, 0.3 * t
    hx = np.cos(x) * np.cos(y) - 0.5 * s
    hy = -np.sin(x) * np.sin(y) - 0.5 * s
    xx = -np.sin(x) * np.cos(y) - 0.5 * t
    xy = -np.cos(x) * np.sin(y) - 0.5 * t
    terms = (xx + drift * ux * hx, 2 * xy + drift * (ux * hy + uy * hx), xx + drift * uy * hy)  # h_yy is h_xx here
    half = float(factor) / 2 * sum(Interval.exactly(k) * term for k, term in zip(metric, terms, strict=True))
    chosen = (slice(None, None, 8), slice(None, None, 8))
    truth = half[chosen].ravel()
    size = float(abs(half.mid).max())
    epsilons = [0.08 * 0.5**level / m**2 for level in range(7)]
    layers = [convolve(grid, p, h, linear_multiplier(epsilon, w)) for epsilon in epsilons]
    levels = np.stack([((found - h) / e)[chosen].ravel() for found, e in zip(layers, epsilons, strict=True)])
    for extrapolations, values in enumerate((levels, extrapolate(levels))):
        found = order(largest_errors(values, truth))
        yield equals(found, 1 + extrapolations, scale=1, m=m, extrapolations=extrapolations, part="order")
    for at, target in enumerate(truth):
        yield equals(limit(levels[:, at], order=1), target, scale=size, m=m, place=at)
    # attention itself, to tokens of three turns, by their features W y
    shifts = 2 * math.pi * np.stack(np.meshgrid([-1, 0, 1], [-1, 0, 1]), axis=-1).reshape(-1, 1, 2)
    keys = exact((grid.nodes + shifts).reshape(-1, 2)) @ mapped.T
    epsilon = 0.1 / m**2
    queries = exact(grid.nodes[:: grid.size // 7]) @ mapped.T
    found = propagate(queries, keys, np.tile(h.ravel(), 9), epsilon, weights=np.tile(p.ravel(), 9))
    claimed = convolve(grid, p, h, linear_multiplier(epsilon, w)).ravel()[:: grid.size // 7]
    for at, value in enumerate(found):
        yield equals(value, claimed[at], scale=1, m=m, token=at, part="engine")
