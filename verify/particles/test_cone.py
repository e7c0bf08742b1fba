"""Tokens in one hemisphere stay in their cone, average each other in its chart, and meet at a stated rate."""

import math
from itertools import pairwise

import numpy as np

from theory.attention import DotProduct, SquaredDistance
from theory.evidence import (
    Claim,
    at_least,
    at_most,
    ball,
    bug,
    constant,
    equals,
    exact,
    first_best,
    hypothesis,
    norm,
    verifies,
)
from theory.particles import SoftmaxField, Tangential, UnnormalisedField, studies
from theory.particles.exact import central_projection, diameter
from theory.particles.studies.settings import CONE_BETA as BETA, CONE_MIRROR as MIRROR, CONE_TOKENS as TOKENS
from verify.textbook import balls, exp, hull

CONSENSUS = ("geshkovski2025",)
UP = np.array([0.0, 0.0, 1.0])


def unit(x):
    """Directions of enclosures, or of balls."""
    return x / norm(x, axis=1, keepdims=True)


def dots(form):
    """The scores <x, B y> of balls."""
    return lambda x: x @ balls(form) @ x.T


def distances(x):
    """The scores -1.5 |x - y|^2 of balls."""
    apart = x[:, np.newaxis] - x
    return (apart * apart).sum(axis=2) * -ball("1.5")


class Layer:
    """Attention of one kind at unit tokens: its velocities, enclosed, and its weights in balls."""

    def __init__(self, x, score, scores, *, masses=None, normalised=True, causal=False, value=None):
        n = len(x)
        kind = SoftmaxField if normalised else UnnormalisedField
        self.tokens, self.x = unit(exact(x)), unit(balls(x))
        self.velocity = Tangential(kind(score, weights=masses, causal=causal, value=value))(self.tokens)
        weights = exp(scores(self.x)) * (balls(np.ones(n)) / n if masses is None else balls(masses))
        weights = weights * balls(np.tri(n, dtype=int)) if causal else weights
        self.weights = weights / weights.sum(axis=1)[:, np.newaxis] if normalised else weights
        top = 1.0 if normalised else hull(weights.sum(axis=1)).hi.max()
        self.size = top * (1.0 if value is None else float(np.abs(value).sum()))


def upper(rng, n, axis, least=0.02):
    """Draw unit tokens in the open hemisphere of the axis."""
    x = rng.normal(size=(4 * n + 20, axis.size))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    heights = x @ axis
    x[heights < 0.0] *= -1.0
    return x[np.abs(heights) > least][:n]


def latitude(height=0.4, n=5):
    """Tokens at equal heights over the third axis."""
    angle = 2.0 * np.pi * np.arange(n) ** 2 / 17.0
    return np.column_stack(
        [*(math.sqrt(1.0 - height**2) * part for part in (np.cos(angle), np.sin(angle))), np.full(n, height)]
    )


def layers(run, *, quick, paper, value=None):
    """Yield layers with an axis that has all tokens above it: tokens at equal heights first, then random ones."""
    for normalised in (True, False):
        x = latitude()
        score = DotProduct(scale=2.0)
        yield "latitude", UP, Layer(x, score, dots(2 * np.eye(3)), normalised=normalised, value=value)
    for number, rng in enumerate(run.draws(quick=quick, paper=paper)):
        n, d = int(rng.integers(2, 9)), int(rng.integers(2, 6))
        axis = rng.normal(size=d)
        axis /= np.linalg.norm(axis)
        x = upper(rng, n, axis)
        if number % 4 == 3:
            score = SquaredDistance(1.5)
            scores = distances
        else:
            form = rng.normal(size=(d, d)) @ rng.normal(size=(d, d)).T if number % 4 else rng.normal(size=(d, d))
            score = DotProduct(form=form)
            scores = dots(form)
        masses = rng.dirichlet(np.ones(n)) if number % 3 else None
        drawn = rng.normal(size=(d, d))
        yield "random", axis, Layer(
            x, score, scores, masses=masses, normalised=number % 5 > 0, causal=number % 2 == 1,
            value=None if value is None else drawn,
        )  # fmt: skip


@verifies(
    Claim(
        "cone.monotone",
        "the lowest token over an axis that all are above rises, whatever the scores and the mask",
        r"$\frac{d}{dt}\langle x_i, w\rangle \ge \langle x_i, w\rangle\sum_jW_{ij}(1 - \langle x_i, x_j\rangle) \ge 0$ for the lowest token, $\dot x_i = P^\perp_{x_i}\sum_jW_{ij}x_j$; equality if all are equally high",
        assumptions=(
            r"$\langle x_j, w\rangle > 0$ for all $j$",
            "weights of any scores or mask, normalised or not",
            "value matrix the identity",
        ),
        spec=("FR.F14",),
        cites=CONSENSUS,
        source_status=("derived", "refereed"),
    ),
    hypothesis("value", "the value matrix mirrors the axis, or is drawn", value=MIRROR),
    hypothesis("below", "all tokens are below the axis", side=-1.0),
    constant("near", "the bound is one per cent larger", factor=1.01),
    bug("self", "a token's own weight counts as one that pulls it fully", own=0),
)
def test_monotone(run, *, value=None, side=1.0, factor=1.0, own=1):
    for name, axis, layer in layers(run, quick=16, paper=600, value=value):
        heights = layer.x @ balls(side * axis)
        lowest = min(range(len(heights)), key=lambda k: float(heights[k].mid()))
        gaps = 1 - layer.x @ layer.x[lowest]
        gaps[lowest] = gaps[lowest] * 0 + (1 - own)
        bound = factor * hull(heights[lowest] * (layer.weights[lowest] * gaps).sum())
        rate = layer.velocity[lowest] @ (side * axis)
        case = {"input": name, "n": len(heights), "d": axis.size}
        yield at_least(rate, bound, scale=layer.size, part="bound", **case)
        yield at_least(rate, 0, scale=layer.size, part="sign", **case)
        if name == "latitude":  # floats are as high as each other up to rounding, by which the others pull
            pull = (layer.weights[lowest] * (heights - heights[lowest])).sum()
            yield equals(rate - hull(pull), bound, scale=layer.size, part="equal heights", **case)


def shared(weights, heights):
    """The least overlap of two rows of W_ij a_j / a_i, over all pairs, in balls."""
    rows = [(row * heights) / own for row, own in zip(weights, heights, strict=True)]
    return rows, [[sum(least(a, b) for a, b in zip(one, two, strict=True)) for two in rows] for one in rows]


def least(a, b):
    """The smaller of two balls."""
    return (a + b - abs(a - b)) / 2


@verifies(
    Claim(
        "cone.chart",
        "in the chart of the hemisphere tokens average each other, so that their diameter shrinks by the overlap of two rows",
        r"$\dot y_i = \sum_jW_{ij}\frac{a_j}{a_i}(y_j - y_i)$ for $y_i = x_i/a_i$, $a_i = \langle x_i, w\rangle$; $\dot D \le -D\min_{i, k}\sum_j\min\big(W_{ij}\frac{a_j}{a_i}, W_{kj}\frac{a_j}{a_k}\big)$, two tokens with equality if $W_{12}\frac{a_2}{a_1} \le W_{22}$ and $W_{21}\frac{a_1}{a_2} \le W_{11}$",
        assumptions=(
            r"$\langle x_j, w\rangle > 0$ for all $j$",
            "weights of any scores or mask, normalised or not",
            "value matrix the identity",
        ),
        spec=("FR.F14",),
        cites=("dobrushin1956", *CONSENSUS),
        source_status=("derived",),
    ),
    bug("heights", "the weights are not multiplied by the ratio of heights", lifted=False),
    constant("near", "the diameter shrinks one per cent faster", factor=1.01),
    hypothesis("value", "the value matrix mirrors the axis, or is drawn", value=MIRROR),
    hypothesis("low", "the second of two tokens is so low that it is drawn more than it keeps", low=(0.96, 0.28)),
)
def test_chart(run, *, lifted=True, factor=1.0, value=None, low=(0.8, 0.6)):
    pairs = [np.array([[0.6, 0.0, 0.8], [0.0, -side, height]]) for side, height in ((0.6, 0.8), low)]
    two = [("two", UP, Layer(pair, DotProduct(scale=1.0), dots(np.eye(3)), value=value)) for pair in pairs]
    for name, axis, layer in [*two, *layers(run, quick=12, paper=200, value=value)]:
        n, d = layer.x.shape
        case = {"input": name, "n": n, "d": d}
        heights = layer.x @ balls(axis)
        size = layer.size / hull(heights).lo.min() ** 2
        places = central_projection(layer.tokens, axis)
        lifting = layer.velocity - places * (layer.velocity @ axis)[:, np.newaxis]
        moving = lifting / (layer.tokens @ axis)[:, np.newaxis]
        y = layer.x / heights[:, np.newaxis]
        rows, overlaps = shared(layer.weights, heights if lifted else heights * 0 + 1)
        claimed = [(row[:, np.newaxis] * (y - own)).sum(axis=0) for row, own in zip(rows, y, strict=True)]
        yield equals(moving, np.array(claimed), scale=size, part="velocity", **case)
        if n < 2:
            continue
        square = ((places[:, np.newaxis] - places) ** 2).sum(axis=2)
        # tokens of equal height are as far apart in several pairs: order decides, not rounding
        i, k = np.unravel_index(first_best(square.mid.ravel().tolist(), 1e-12), square.shape)
        rate = (moving[i] - moving[k]) @ (places[i] - places[k]) / square[i, k]
        # other pairs may be as far apart up to rounding, and the least overlap is over all pairs anyway
        kappa = hull(least_of([overlaps[p][q] for p in range(n) for q in range(p)]))
        yield at_most(rate, -factor * kappa, scale=size, part="diameter", **case)
        if name == "two":
            yield equals(rate, -factor * kappa, part="two tokens", **case)


def least_of(given):
    """The smallest of several balls."""
    found = given[0]
    for other in given[1:]:
        found = least(found, other)
    return found


def rate_of(name, height, beta=BETA):
    """The claimed rate of contraction for tokens at least that high, in balls; it grows with the height."""
    c, beta = ball(height), ball(beta)
    return c * (-2 * beta * (1 - c**2)).exp() * (beta.exp() if name == "USA" else 1)


@verifies(
    Claim(
        "cone.consensus",
        "from any open hemisphere tokens converge exponentially to one point, at a rate that their lowest height tells",
        r"$D(t) \le D(0)e^{-ct\exp(-2\beta(1 - c^2))}$ (SA), $D(0)e^{-ct\exp(\beta(2c^2 - 1))}$ (USA), an $n$-th of the exponent under a causal mask (SA); $c = \min_i\langle x_i(0), w\rangle$, $D$ the diameter in the chart of $w$, above that on the sphere",
        assumptions=(
            r"$c > 0$",
            r"scores $\beta\langle x, y\rangle$, $\beta > 0$",
            "value matrix the identity",
            "three runs over time; for random tokens the rate is below the overlap of two rows, by which cone.chart contracts",
        ),
        spec=("FR.F14",),
        cites=CONSENSUS,
        source_status=("seen", "derived"),
    ),
    constant("faster", "the rate, and what is below the diameter, are one per cent larger", factor=1.01),
    hypothesis("mirror", "the value matrix mirrors the axis", runs=("SA", "USA", "causal", "mirror")),
    bug("causal", "the rate of a causal mask is not divided by the number of tokens", among=lambda _n: 1),
)
def test_consensus(run, *, factor=1.0, runs=("SA", "USA", "causal"), among=lambda n: n):
    table = run.study(studies.cones)
    for name in runs:
        lowest = table.where(part="lowest", run=name).intervals("value")
        for before, after in pairwise(lowest):
            yield at_least(after - before, 0, scale=1, run=name, part="lowest")
        if name == "mirror":
            continue
        parts = (table.where(part=part, run=name) for part in ("height", "before", "after"))
        heights, before, after = (part.intervals("value") for part in parts)
        ends = [0.0, *table.where(part="after", run=name)["time"].tolist()]
        for height, wide, narrow, (start, end) in zip(heights, before, after, pairwise(ends), strict=True):
            rate = hull(rate_of(name, height.lo) / (among(TOKENS) if name == "causal" else 1))
            decay = np.log(narrow / wide) / (exact(end) - start)
            yield at_most(decay, -factor * rate, scale=1, run=name, time=end, part="rate")
    for height in (0.4, 0.7, 0.99999):
        x = exact(latitude(height))
        wide = diameter(central_projection(x, UP))
        yield at_most(factor * diameter(x), wide, scale=wide, part="sphere", height=height)
    cases = [(latitude(0.99999), BETA, name) for name in ("SA", "USA", "causal")]  # nearly attained
    for number, rng in enumerate(run.draws(quick=9, paper=60)):
        # random tokens, near the axis too: by cone.chart the diameter shrinks at least by the overlap of two rows
        n = int(rng.integers(2, 6))
        d = int(rng.integers(2, 5))
        beta = float(10.0 ** rng.uniform(-2.0, 1.0))
        spread = (1.0, 0.1, 0.001)[number % 3]
        axis = np.eye(d)[-1]
        x = axis + spread * (upper(rng, n, axis) - axis)
        cases.append((x / np.linalg.norm(x, axis=1, keepdims=True), beta, ("SA", "USA", "causal")[number // 3 % 3]))
    for x, beta, name in cases:
        n, d = x.shape
        score = DotProduct(scale=beta)
        scores = dots(beta * np.eye(d))
        layer = Layer(x, score, scores, normalised=name != "USA", causal=name == "causal")
        heights = layer.x[:, -1]
        _, overlaps = shared(layer.weights, heights)
        kappa = hull(least_of([overlaps[p][q] for p in range(n) for q in range(p)]))
        least_height = min(heights, key=lambda height: float(height.mid()))
        claimed = hull(rate_of(name, least_height, beta) / (among(n) if name == "causal" else 1))
        case = {"run": name, "n": n, "d": d, "beta": beta}
        yield at_least(kappa, factor * claimed, scale=claimed, part="overlap", **case)
