"""Many heads: each adds its own drift-diffusion, so that inverse metrics are averaged, and values must sum to one."""

from functools import cache

import numpy as np

from theory.diffusion import CircleDensity, PeriodicGrid, chordal, chordal_multiplier, convolve, propagate
from theory.diffusion.limits import extrapolate, largest_errors
from theory.evidence import Claim, Interval, bug, constant, equals, exact, hypothesis, limit, order, verifies
from theory.evidence.once import once

MAPS = (
    np.array([[1.0, 1.0], [0.0, 1.0]]),
    np.array([[1.0, 0.0], [1.0, 1.0]]),
)  # of determinant one: no other minimiser
VALUES = np.array([[0.7, 0.3], [-0.2, 0.4]])  # of the first head; they do not commute with their complement
SHARES = (0.3, 0.7)


def torus(x):
    """A density and two columns of features, with the gradients and second derivatives of all, by hand."""
    first, last = (np.broadcast_to(exact(axis), np.broadcast_shapes(x[0].shape, x[1].shape)) for axis in x)
    zero, wave = 0.0 * first, last - first
    p = np.exp(0.5 * np.cos(first) + 0.3 * np.sin(last))
    slopes = np.stack([-0.5 * np.sin(first), 0.3 * np.cos(last)])
    values = np.stack([np.sin(first) + 0.5 * np.cos(wave), np.cos(last)])
    one = np.stack([np.cos(first) + 0.5 * np.sin(wave), -0.5 * np.sin(wave)])
    two = np.stack([zero, -np.sin(last)])
    bend = -0.5 * np.cos(wave)
    curved = np.stack([np.stack([-np.sin(first) + bend, -bend]), np.stack([-bend, bend])])
    waved = np.stack([np.stack([zero, zero]), np.stack([zero, -np.cos(last)])])
    return p, slopes, values, np.stack([one, two]), np.stack([curved, waved])


@cache
def head_multiplier(epsilon, head, size):
    """The Fourier coefficients of the chordal kernel between the images of two tokens under an integer map."""
    back = np.linalg.inv(MAPS[head]).T.round()
    k = PeriodicGrid((size, size)).frequencies
    factors = chordal_multiplier(epsilon)(*(sum(back[i, j] * k[j] for j in range(2)) for i in range(2)))
    return lambda *_: factors


def generators(x, drift, inverses):
    """L_h of both columns, for every inverse metric."""
    _, slopes, _, gradients, seconds = torus(x)
    products = slopes[np.newaxis, :, np.newaxis] * gradients[:, np.newaxis, :]
    return [(g[:, :, np.newaxis, np.newaxis] * (seconds + drift * products)).sum(axis=(1, 2)) for g in inverses]


def combined(columns, weights):
    """Sum over the heads of their columns, shape (2, ...), each times its matrix of values."""
    parts = [
        (v[:, np.newaxis] * w[:, :, np.newaxis, np.newaxis]).sum(axis=0) for v, w in zip(columns, weights, strict=True)
    ]
    return parts[0] + parts[1]


@once
def layer(grid, epsilon, weights):
    """One layer of both heads on the grid."""
    p, _, values, _, _ = torus(grid.axes)
    kernels = [head_multiplier(epsilon, head, 48) for head in range(2)]
    return combined([np.stack([convolve(grid, p, v, kernel) for v in values]) for kernel in kernels], weights)


@verifies(
    Claim(
        "limit.heads",
        "heads add their operators, each applied to its own values: with shared values the inverse metrics are averaged; unless the values sum to one a layer is no small step",
        r"$\sum_hP_hH\tilde W_h \to H\sum_h\tilde W_h$, and $\frac1\varepsilon(\sum_hP_hH\tilde W_h - H) \to \frac12\sum_h(L_{g_h,p_h}H)\tilde W_h$ if $\sum_h\tilde W_h = I$, with an error of order 1, after extrapolation 2",
        remark=r"for $\tilde W_h = w_hI$ the limit is $\frac12\sum_hw_hL_{g_h,p_h}$, with the second-order part $\sum_hw_hg_h^{-1}$",
        assumptions=("flat torus of dimension 2, chordal kernels of two unimodular maps, in the limit of many tokens", "p positive and analytic",
            "limits from the four finest bandwidths of seven: at two of 64 places the next coarser one changes less, and those before it with the other sign",
        ),
        spec=("DL.B14",),
        cites=("ruan2024",),
        source_status=("seen", "derived", "refereed on paper"),
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
    _, _, values, _, _ = torus(grid.axes)
    metrics = [w.T @ w for w in maps]
    inverses = [np.linalg.inv(g).round() for g in metrics]  # of determinant one
    if averaged:
        inverses = [np.linalg.inv(sum(s * g for s, g in zip(SHARES, metrics, strict=True)))] * 2
    operators = generators(grid.axes, drift, inverses)[:: -1 if swapped else 1]
    chosen = (slice(None), slice(None, None, 12), slice(None, None, 12))
    epsilons = [0.04 / 2**level for level in range(7)]
    for name, weights in {"shares": [s * np.eye(2) for s in SHARES], "matrices": [VALUES, np.eye(2) - VALUES]}.items():
        weights[1] = weights[1] + surplus * np.eye(2)
        truth = combined(operators, weights)[chosen].ravel() / 2
        levels = np.stack([((layer(grid, e, weights) - values) / e)[chosen].ravel() for e in epsilons])
        for extrapolations, ladder in enumerate((levels, extrapolate(levels))):
            found = order(largest_errors(ladder, truth))
            yield equals(found, 1 + extrapolations, scale=1, values=name, extrapolations=extrapolations, part="order")
        size = float(abs(truth.mid).max())
        for at, value in enumerate(truth):
            yield equals(limit(levels[-4:, at], order=1), value, scale=size, values=name, place=at)
    yield from _sum(run, grid, total)
    yield from _engine(maps, epsilon=0.1)


def _sum(run, grid, total):
    """Values that sum to one and a half: the layer tends to so much of the function."""
    _, _, values, _, _ = torus(grid.axes)
    weights = [1.5 * s * np.eye(2) for s in SHARES]
    layers = [
        layer(grid, 0.02 / 2**level, weights)[0, ::12, ::12].ravel() for level in range(run.pick(quick=6, paper=8))
    ]
    for at, target in enumerate(values[0, ::12, ::12].ravel()):
        yield equals(limit([found[at] for found in layers], order=1), total * target, scale=1, place=at, part="sum")


def _engine(maps, epsilon):
    """The heads through the engine: tokens on the grid, mapped, against their exact multipliers."""
    grid = PeriodicGrid((48, 48))
    p, _, values, _, _ = torus(grid.axes)
    columns = values.reshape(2, -1).T
    places = grid.nodes[::331]
    for number, w in enumerate(maps):
        tokens, queries = exact(grid.nodes) @ w.T, exact(places) @ w.T
        found = propagate(queries, tokens, columns, epsilon, score=chordal(epsilon), weights=p.ravel())
        claimed = np.stack([convolve(grid, p, v, head_multiplier(epsilon, number, 48)) for v in values])
        yield equals(found, claimed.reshape(2, -1).T[::331], scale=1, head=number, part="engine")


@cache
def quantiles(n):
    """Quantile tokens of the circle."""
    return CircleDensity([0.4], [0.2]).quantiles(exact((np.arange(n) + 0.5) / n))


def displaced(queries, keys, values, epsilon):
    r"""What averages of values move by if keys and queries do, as far as they are off.

    If scores move by t, averages do by the mean of (e^t - 1)(v - m) over that of e^t, where m is what they were.
    """
    scores = chordal(epsilon).matrix(queries, keys)
    moved = exact(scores.width)
    law = np.exp(exact(scores.mid) - scores.mid.max(axis=1, keepdims=True))
    law = law / law.sum(axis=1, keepdims=True)
    apart = abs(values - (law @ values)[:, np.newaxis])
    reach = (law * np.expm1(moved) * apart).sum(axis=1) * np.exp(moved.max())
    return reach * Interval(-1.0, 1.0)


@verifies(
    Claim(
        "limit.heads-density",
        "every head sees the density with respect to its own volume",
        r"$f_h = |e^{i\varphi_h(x)} - e^{i\varphi_h(y)}|^2$, $\varphi_h = x + a_h\sin x$ on the circle: $\frac1\varepsilon(\sum_hw_hP_hH - H) \to \frac12\sum_hw_h\varphi_h'^{-2}\bigl[H'' + \bigl(\frac{2p_0'}{p_0} - \frac{3\varphi_h''}{\varphi_h'}\bigr)H'\bigr]$, $p_0$ with respect to dx, through quantile tokens",
        assumptions=("circle, in the limit of many tokens", "p positive and analytic"),
        spec=("DL.B14", "DL.B4"),
        cites=("ruan2024",),
        source_status=("seen", "derived", "refereed on paper"),
    ),
    hypothesis("shared", "all heads see the density with respect to dx", bend=1),
    constant("drift", "the drift coefficient is one", drift=1),
    bug("metrics", "the metrics are averaged, not their inverses", averaged=True),
)  # fmt: skip
def test_density(run, *, bend=3, drift=2, averaged=False):
    amplitudes, shares = (0.3, -0.25), (0.4, 0.6)
    tokens = quantiles(run.pick(quick=600, paper=1600))
    places = np.linspace(0.2, 6.0, run.pick(quick=6, paper=24))
    x = exact(places)
    first, second = np.cos(x) - np.sin(2 * x), -np.sin(x) - 2 * np.cos(2 * x)
    speeds = [(1 + a * np.cos(x)) ** -2 for a in amplitudes]
    if averaged:
        speeds = [1 / sum(w / s for w, s in zip(shares, speeds, strict=True))] * 2
    slope = -0.4 * np.sin(x) + 0.2 * np.cos(x)
    truth = 0.0
    for w, s, a in zip(shares, speeds, amplitudes, strict=True):
        truth = truth + w * s * (second + (drift * slope + bend * a * np.sin(x) / (1 + a * np.cos(x))) * first) / 2

    def function(t):
        return np.sin(t) + 0.5 * np.cos(2 * t)

    levels = []
    for level in range(run.pick(quick=6, paper=7)):
        epsilon = 0.04 / 2**level
        found = 0.0
        for a, w in zip(amplitudes, shares, strict=True):
            keys = (tokens + a * np.sin(tokens))[:, np.newaxis]
            queries = (x + a * np.sin(x))[:, np.newaxis]
            # tokens are at most 0.65 deviations of the narrowest kernel apart, a trapezoidal rule that errs by exp(-45)
            still = propagate(exact(queries.mid), exact(keys.mid), function(tokens), epsilon, score=chordal(epsilon))
            found = found + w * (still + displaced(queries, keys, function(exact(tokens.mid)), epsilon))
        levels.append((found - function(x)) / epsilon)
    levels = np.stack(levels)
    for extrapolations, ladder in enumerate((levels, extrapolate(levels))):
        found = order(largest_errors(ladder, truth))
        yield equals(found, 1 + extrapolations, scale=1, extrapolations=extrapolations, part="order")
    size = float(abs(truth.mid).max())
    for at, place in enumerate(places.tolist()):
        yield equals(limit(levels[:, at], order=1), truth[at], scale=size, x=round(place, 3))
