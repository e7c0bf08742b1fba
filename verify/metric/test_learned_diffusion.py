"""What a layer with learned features does to functions: the drift-diffusion in the metric that the features pull back."""

import math
from fractions import Fraction
from functools import cache

import numpy as np

from theory.attention import attend, rounding
from theory.diffusion.limits import extrapolate, largest_errors, lattice
from theory.evidence import (
    Claim,
    Interval,
    Kind,
    at_most,
    ball,
    bug,
    constant,
    equals,
    hypothesis,
    limit,
    order,
    verifies,
)
from theory.evidence.enclosure import precision
from theory.evidence.roundoff import U
from theory.metric import MetricScore, ResidualFeatures
from verify.metric.residual import jacobian, parameters
from verify.textbook import balls, hull

RUAN = ("ruan2024", "coifman2006")
START, LEVELS = {"circle": 0.01, "torus": 0.04}, 5
PLANE = ResidualFeatures(  # the norms of the two matrices multiply to 0.54
    np.array([[0.75, -0.5, 0.25], [0.5, 0.75, -0.5]]), np.array([0.25, -0.5, 0.125]),
    np.array([[0.25, -0.25], [0.125, 0.25], [-0.25, 0.25]]), np.array([0.5, 0.0]),
)  # fmt: skip
SPACE = ResidualFeatures(  # 0.62
    np.array([[0.5, -0.25], [0.25, 0.5], [-0.5, 0.25], [0.25, 0.5]]), np.array([0.25, -0.125]),
    np.array([[0.5, 0.25, -0.25, 0.5], [-0.25, 0.5, 0.5, 0.25]]), np.zeros(4),
)  # fmt: skip
PLACES = {
    "circle": [[0.3], [1.4], [2.6], [3.7], [4.9], [5.8]],
    "torus": [[0.5, 1.0], [2.0, 4.0], [4.5, 2.5]],
}
FEATURES = {"circle": PLANE, "torus": SPACE}


def points(x):
    """Angles on the circle in the plane, or on the torus in four dimensions."""
    return np.concatenate([part(x[:, [k]]) for k in range(x.shape[1]) for part in (np.cos, np.sin)], axis=1)


EMBEDDING = {  # derivatives of the points in the angles, columns
    "circle": lambda x: np.array([[-np.sin(x[0])], [np.cos(x[0])]]),
    "torus": lambda x: np.array([[-np.sin(x[0]), 0], [np.cos(x[0]), 0], [0, -np.sin(x[1])], [0, np.cos(x[1])]]),
}


def function(x):
    """The function on tokens, by their angles."""
    return (
        np.sin(x[:, 0]) + 0.5 * np.cos(2.0 * x[:, 0]) + (0.0 if x.shape[1] == 1 else 0.75 * np.cos(x[:, 0] - x[:, 1]))
    )


def log_density(x):
    """The logarithm of the density with respect to the angles."""
    return 0.8 * np.cos(x[:, 0]) + (0.3 * np.sin(2 * x[:, 0]) if x.shape[1] == 1 else 0.4 * np.sin(x[:, 0] + x[:, 1]))


@cache
def changes(space, level):
    """(P h - h) / epsilon at the places, through the layer on tokens that are a lattice about the query."""
    epsilon, g = START[space] * 0.5**level, FEATURES[space]
    score, found = MetricScore(g, epsilon), []
    for place in PLACES[space]:
        x = np.array(place)
        pulled = np.linalg.norm(g.jacobian(points(x[np.newaxis]))[0] @ EMBEDDING[space](x), 2, axis=0)
        width, values = 1.5 * math.sqrt(epsilon) / float(pulled.min()), []  # beyond the deviation of the weights
        for per_width in (6.0, 7.5):
            tokens = lattice(x, np.full(x.size, width), reach=min(9.0, math.pi / width), per_width=per_width)
            rise, masses = (function(tokens) - function(x[np.newaxis]))[:, np.newaxis], np.exp(log_density(tokens))
            keys, query = points(tokens), points(x[np.newaxis])
            values.append(attend(query, keys, rise, score=score, weights=masses).item())
        # keys, rises and masses are within 64 u; the score of a key that is off by 8 u moves by 16 u |J|^2 / 2 epsilon
        # times its distance, of which the weights leave less than nine roots of epsilon; and all this four times over
        loose = (
            64 * U + 32 * U * g.lipschitz**2 / epsilon * math.sqrt(epsilon) * 9.0 + 64 * U * float(np.abs(rise).max())
        )
        error = rounding(query, keys, rise, score=score, weights=masses) + 4.0 * loose
        # the coarser lattice is off by far more than the finer one: twice what separates them
        found.append(
            Interval.within(values[1], error + 2.0 * abs(values[1] - values[0]), Kind.ESTIMATED)
            / Interval.exactly(epsilon)
        )
    return found


def tangents(x):
    """The derivatives of the embedding at angles in balls, as columns."""
    columns = balls(np.zeros((2 * len(x), len(x))))
    for k, angle in enumerate(x):
        columns[2 * k, k], columns[2 * k + 1, k] = -angle.sin(), angle.cos()
    return columns


def metric_of(name, space, x):
    """A metric in the angles, in balls."""
    place = np.array([part for angle in x for part in (angle.cos(), angle.sin())], dtype=object)
    j, e = jacobian(parameters(FEATURES[space]), place), tangents(x)
    return e.T @ {"pull-back": j.T @ j, "transposed": j @ j.T, "input": balls(np.eye(len(place)))}[name] @ e


@cache
def geometry(name, space, place):
    """The inverse metric, its divergence and the slope of log det at a place; slopes by differences in 256 bits."""
    with precision(256):
        x, step = balls(np.array(place)), ball(Fraction(1, 2**80))
        d = len(x)

        def inverse(at):
            m = metric_of(name, space, at)
            det = m[0, 0] if d == 1 else m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]
            adj = (
                balls(np.ones((1, 1))) if d == 1 else np.array([[m[1, 1], -m[0, 1]], [-m[1, 0], m[0, 0]]], dtype=object)
            )
            return adj / det, det.log()

        here, divergence, slope = inverse(x)[0], np.zeros(d), np.zeros(d)
        for k, unit in enumerate(np.eye(d)):
            (above, more), (below, less) = (inverse(x + sign * step * balls(unit)) for sign in (1, -1))
            divergence += [hull((a - b) / (2 * step)).mid for a, b in zip(above[k], below[k], strict=True)]
            slope[k] = hull((more - less) / (2 * step)).mid
        return np.array([[hull(b).mid for b in row] for row in here]), divergence, slope


def step(space, *, metric, volume, drift, time):
    """What the layer is to change per epsilon: time times the drift-diffusion of h, by hand."""
    claimed = []
    for place in PLACES[space]:
        inverse, divergence, slope = geometry(metric, space, tuple(place))
        x, y = (*place, 0.0)[:2]
        one = len(place) == 1
        u = [-0.8 * math.sin(x) + (0.6 * math.cos(2 * x) if one else 0.4 * math.cos(x + y)), 0.4 * math.cos(x + y)]
        c, s = (0.0, 0.0) if one else (0.75 * math.cos(x - y), 0.75 * math.sin(x - y))
        h1 = np.array([math.cos(x) - math.sin(2 * x) - s, s])[: len(place)]
        h2 = np.array([[-math.sin(x) - 2 * math.cos(2 * x) - c, c], [c, -c]])[: len(place), : len(place)]
        log_p = np.array(u)[: len(place)] - float(volume) * slope
        value = np.sum(inverse * h2) + (divergence + inverse @ (0.5 * slope + drift * log_p)) @ h1
        claimed.append(Interval.within(float(time) * float(value), 1e5 * U))
    return claimed


@verifies(
    Claim(
        "metric.drift-diffusion",
        "one layer moves a function by epsilon/2 times the drift-diffusion in the pulled-back metric, for a density relative to that metric",
        r"$f = |g(x) - g(y)|^2$ with g an injective immersion: $P_\varepsilon h = h + \tau L_{J^\top J, p}h + O(\varepsilon^2)$, $\tau = \frac\varepsilon2$, $L_{g, p} = \Delta_g + 2\langle\nabla\log p, \nabla\cdot\rangle_g$, $p = p_0/\sqrt{\det J^\top J}$ on the tangent space; at the bandwidth in use, $\varepsilon = \frac12$, this is $\tau = \frac14$; residual tanh networks on the circle in the plane and on the torus in four dimensions, error of order 1, after extrapolation 2",
        assumptions=("in the limit of many tokens", "p positive and analytic", r"$\|U\|\|W\| < 1$"),
        spec=("DL.E2", "DL.B3", "DL.B4"),
        cites=RUAN,
        provenance=("derived", "refereed on paper"),
    ),
    hypothesis("straight", "the metric is that of the tokens themselves", metric="input"),
    bug("transposed", "the metric is J J^T", metric="transposed"),
    bug("density", "the density stays the one with respect to the angles", volume=0),
    constant("time", "a layer advances the time by epsilon", time=1),
    constant("drift", "the drift coefficient is one", drift=1),
)
def test_drift_diffusion(run, *, metric="pull-back", volume=Fraction(1, 2), drift=2, time=Fraction(1, 2)):
    for space in ("circle", "torus"):
        levels = [changes(space, level) for level in range(LEVELS + run.pick(quick=0, paper=1))]
        truth = step(space, metric=metric, volume=volume, drift=drift, time=time)
        size = max(abs(t.mid) for t in truth)
        for k, values in ((1, levels), (2, extrapolate(levels))):
            errors = largest_errors(values, truth)
            yield equals(order(errors[-4:]), k, scale=1, space=space, extrapolations=k - 1)
        yield at_most(errors[-1], Fraction(1, 10**4), scale=Fraction(1, 10**4), space=space, part="left at the end")
        for at, target in enumerate(truth):
            found = limit([level[at] for level in levels[-5:]], order=1)
            yield equals(found, target, scale=size, space=space, place=at)
