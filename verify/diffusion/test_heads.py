"""Many heads: each adds its own drift-diffusion, so that inverse metrics are averaged, and values must sum to one."""

from functools import cache

import numpy as np

from theory.attention import rounding
from theory.diffusion import CircleDensity, PeriodicGrid, chordal, chordal_multiplier, convolve, propagate
from theory.diffusion.limits import extrapolate, largest_errors
from theory.evidence import Claim, Interval, bug, constant, equals, hypothesis, limit, order, verifies
from theory.evidence.roundoff import U

MAPS = (
    np.array([[1.0, 1.0], [0.0, 1.0]]),
    np.array([[1.0, 0.0], [1.0, 1.0]]),
)  # of determinant one: no other minimiser
VALUES = np.array([[0.7, 0.3], [-0.2, 0.4]])  # of the first head; they do not commute with their complement
SHARES = (0.3, 0.7)


def torus(x):
    """A density and two columns of features, with the gradients and second derivatives of all, by hand."""
    zero = np.zeros(np.broadcast_shapes(x[0].shape, x[1].shape))
    slopes = np.stack([-0.5 * np.sin(x[0]) + zero, 0.3 * np.cos(x[1]) + zero])
    p = np.exp(0.5 * np.cos(x[0]) + 0.3 * np.sin(x[1]))
    wave = x[1] - x[0]
    values = np.stack([np.sin(x[0]) + 0.5 * np.cos(wave), np.cos(x[1]) + zero])
    one = np.stack([np.cos(x[0]) + 0.5 * np.sin(wave), -0.5 * np.sin(wave)])
    two = np.stack([zero, -np.sin(x[1]) + zero])
    bend = -0.5 * np.cos(wave)
    second = np.array([[[-np.sin(x[0]) + bend, -bend], [-bend, bend]], [[zero, zero], [zero, -np.cos(x[1]) + zero]]])
    return p, slopes, values, np.stack([one, two]), second


@cache
def head_multiplier(epsilon, head, size):
    """The Fourier coefficients of the chordal kernel between the images of two tokens under an integer map."""
    back, k = np.linalg.inv(MAPS[head]).T.round(), PeriodicGrid((size, size)).frequencies
    factors = chordal_multiplier(epsilon)(*(sum(back[i, j] * k[j] for j in range(2)) for i in range(2)))
    return lambda *_: factors


def generators(x, drift, inverses):
    """L_h of both columns, for every inverse metric."""
    _, slopes, _, gradients, seconds = torus(x)
    return [
        np.einsum("ij,cij...->c...", g, seconds) + drift * np.einsum("ij,i...,cj...->c...", g, slopes, gradients)
        for g in inverses
    ]


@verifies(
    Claim(
        "limit.heads",
        "heads add their operators, each applied to its own values: with shared values the inverse metrics are averaged; unless the values sum to one a layer is no small step",
        r"$\sum_hP_hH\tilde W_h \to H\sum_h\tilde W_h$, and $\frac1\varepsilon(\sum_hP_hH\tilde W_h - H) \to \frac12\sum_h(L_{g_h,p_h}H)\tilde W_h$ if $\sum_h\tilde W_h = I$, with an error of order 1, after extrapolation 2; $\tilde W_h = w_hI$: $\frac12\sum_hw_hL_{g_h,p_h}$, second-order part $\sum_hw_hg_h^{-1}$",
        assumptions=("flat torus of dimension 2, chordal kernels of two unimodular maps, in the limit of many tokens", "p positive and analytic"),
        spec=("DL.B14",),
        cites=("ruan2024",),
        provenance=("seen", "derived", "refereed on paper"),
    ),
    bug("metrics", "the metrics are averaged, not their inverses", averaged=True),
    constant("drift", "the drift coefficient is one", drift=1),
    hypothesis("sum", "the values of the heads sum to 1.01 I", surplus=0.01),
    constant("none", "a layer tends to the function whatever the values sum to", total=1.0),
    bug("swapped", "the values of the two heads are exchanged in the limit", swapped=True),
    bug("transposed", "the heads map tokens by the transposes of their matrices", maps=tuple(w.T for w in MAPS)),
)  # fmt: skip
def test_heads(run, *, averaged=False, drift=2, surplus=0.0, swapped=False, maps=MAPS, total=1.5):
    grid = PeriodicGrid((48, 48))
    x = grid.axes
    p, _, values, _, _ = torus(x)
    metrics = [w.T @ w for w in maps]
    inverses = [np.linalg.inv(g).round() for g in metrics]  # of determinant one
    if averaged:
        inverses = [np.linalg.inv(sum(s * g for s, g in zip(SHARES, metrics, strict=True)))] * 2
    operators = generators(x, drift, inverses)
    chosen = (slice(None, None, 12), slice(None, None, 12))
    for name in ("shares", "matrices"):
        weights = [s * np.eye(2) for s in SHARES] if name == "shares" else [VALUES, np.eye(2) - VALUES]
        weights[1] = weights[1] + surplus * np.eye(2)
        order_of = operators[::-1] if swapped else operators
        half = 0.5 * sum(np.einsum("c...,ce->e...", v, w) for v, w in zip(order_of, weights, strict=True))
        truth = [Interval.within(v, 1e4 * U) for v in half[:, *chosen].ravel().tolist()]
        levels = []
        for level in range(run.pick(quick=6, paper=7)):
            epsilon = 0.04 / 2**level
            found, width = 0.0, 1e3 * U
            for head, w in enumerate(weights):
                kernel = head_multiplier(epsilon, head, 48)
                moved = np.stack([convolve(grid, p, v, kernel) for v in values])
                found = found + np.einsum("c...,ce->e...", moved, w)
                off = max(grid.rounding(v * p) for v in values) + 2.0 * grid.rounding(p)
                width += 2.0 * off / float(p.min()) * float(np.abs(w).sum())
            change = ((found - values) / epsilon)[:, *chosen].ravel()
            levels.append([Interval.within(v, width / epsilon) for v in change.tolist()])
        size = float(np.abs(half).max())
        yield equals(order(largest_errors(levels, truth)), 1, scale=1, values=name, extrapolations=0, part="order")
        yield equals(
            order(largest_errors(extrapolate(levels), truth)), 2, scale=1, values=name, extrapolations=1, part="order"
        )
        for at, value in enumerate(truth):
            yield equals(limit([level[at] for level in levels], order=1), value, scale=size, values=name, place=at)
    yield from _sum(run, grid, total)
    yield from _engine(maps, epsilon=0.1)


def _sum(run, grid, total):
    """Values that sum to one and a half: the layer tends to so much of the function."""
    p, _, (h, _), _, _ = torus(grid.axes)
    levels, width = [], 8.0 * (grid.rounding(h * p) + 2.0 * grid.rounding(p)) / float(p.min()) + 1e3 * U
    for level in range(run.pick(quick=6, paper=8)):
        moved = [convolve(grid, p, h, head_multiplier(0.02 / 2**level, head, 48)) for head in range(2)]
        found = 1.5 * (SHARES[0] * moved[0] + SHARES[1] * moved[1])
        levels.append([Interval.within(v, width) for v in found[::12, ::12].ravel().tolist()])
    for at, target in enumerate(h[::12, ::12].ravel().tolist()):
        claimed = Interval.within(total * target, 64 * U)
        yield equals(limit([level[at] for level in levels], order=1), claimed, scale=1, place=at, part="sum")


def _engine(maps, epsilon):
    """The heads through the engine: tokens on the grid, mapped, against their exact multipliers."""
    grid = PeriodicGrid((48, 48))
    p, _, values, _, _ = torus(grid.axes)
    masses, columns, places = p.ravel(), values.reshape(2, -1).T, grid.nodes[::331]
    for number, w in enumerate(maps):
        tokens, queries = grid.nodes @ w.T, places @ w.T
        found = propagate(queries, tokens, columns, epsilon, score=chordal(epsilon), weights=masses)
        exact = np.stack([convolve(grid, p, v, head_multiplier(epsilon, number, 48)) for v in values])
        width = rounding(queries, tokens, columns, score=chordal(epsilon), weights=masses) + 1e3 * U
        width += 4.0 * max(grid.rounding(v * p) + 2.0 * grid.rounding(p) for v in values) / float(p.min())
        gap = np.abs(found - exact.reshape(2, -1).T[::331])
        yield equals(Interval.within(float(gap.max()), width), 0, scale=1, head=number, part="engine")


@cache
def quantiles(n):
    """Quantile tokens of the circle."""
    return CircleDensity([0.4], [0.2]).tokens(n)


@verifies(
    Claim(
        "limit.heads-density",
        "every head sees the density with respect to its own volume",
        r"$f_h = |e^{i\varphi_h(x)} - e^{i\varphi_h(y)}|^2$, $\varphi_h = x + a_h\sin x$ on the circle: $\frac1\varepsilon(\sum_hw_hP_hH - H) \to \frac12\sum_hw_h\varphi_h'^{-2}\bigl[H'' + \bigl(\frac{2p_0'}{p_0} - \frac{3\varphi_h''}{\varphi_h'}\bigr)H'\bigr]$, $p_0$ with respect to dx, through quantile tokens",
        assumptions=("circle, in the limit of many tokens", "p positive and analytic"),
        spec=("DL.B14", "DL.B4"),
        cites=("ruan2024",),
        provenance=("seen", "derived", "refereed on paper"),
    ),
    hypothesis("shared", "all heads see the density with respect to dx", bend=1),
    constant("drift", "the drift coefficient is one", drift=1),
    bug("metrics", "the metrics are averaged, not their inverses", averaged=True),
)  # fmt: skip
def test_density(run, *, bend=3, drift=2, averaged=False):
    amplitudes, shares = (0.3, -0.25), (0.4, 0.6)
    n = run.pick(quick=600, paper=1600)
    tokens, places = quantiles(n), np.linspace(0.2, 6.0, run.pick(quick=6, paper=24))[:, np.newaxis]
    x = places[:, 0]
    first, second = np.cos(x) - np.sin(2 * x), -np.sin(x) - 2 * np.cos(2 * x)
    speeds = [(1 + a * np.cos(x)) ** -2 for a in amplitudes]
    if averaged:
        speeds = [1 / sum(w / s for w, s in zip(shares, speeds, strict=True))] * 2
    slope = -0.4 * np.sin(x) + 0.2 * np.cos(x)
    half = 0.5 * sum(
        w * s * (second + (drift * slope + bend * a * np.sin(x) / (1 + a * np.cos(x))) * first)
        for w, s, a in zip(shares, speeds, amplitudes, strict=True)
    )
    truth = [Interval.within(v, 1e4 * U) for v in half.tolist()]

    def function(t):
        return np.sin(t) + 0.5 * np.cos(2 * t)

    levels = []
    for level in range(run.pick(quick=6, paper=7)):
        epsilon, found, width = 0.04 / 2**level, 0.0, 64 * U
        for a, w in zip(amplitudes, shares, strict=True):
            keys, queries = tokens + a * np.sin(tokens), places + a * np.sin(places)
            score = chordal(epsilon)
            found = found + w * propagate(queries, keys, function(tokens[:, 0]), epsilon, score=score)
            width += w * rounding(queries, keys, function(tokens), score=score)
            # tokens are at most 0.65 deviations of the narrowest kernel apart, a trapezoidal rule that errs by exp(-45);
            # images of tokens are off by a few units; a score of keys within ten deviations by as many of those
            width += w * 2.0 * 1.5 * 64 * U * 10.0 / np.sqrt(epsilon)
        change = (found - function(x)) / epsilon
        levels.append([Interval.within(v, width / epsilon) for v in change.tolist()])
    yield equals(order(largest_errors(levels, truth)), 1, scale=1, extrapolations=0, part="order")
    yield equals(order(largest_errors(extrapolate(levels), truth)), 2, scale=1, extrapolations=1, part="order")
    for at, value in enumerate(truth):
        yield equals(
            limit([level[at] for level in levels], order=1),
            value,
            scale=float(np.abs(half).max()),
            x=round(float(x[at]), 3),
        )
