"""What a layer with learned features does to functions: the drift-diffusion in the metric that the features pull back."""

import math
from fractions import Fraction
from functools import cache

import numpy as np

from theory.attention import attend
from theory.diffusion.limits import extrapolate, largest_errors
from theory.evidence import (
    Claim,
    at_most,
    ball,
    balls,
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
from theory.evidence.enclosure import coefficient, variable
from theory.metric import MetricScore, ResidualFeatures
from verify.inputs import whole_numbers
from verify.textbook import residual_jacobian

RUAN = ("ruan2024", "coifman2006")
DEEPEST = -45.0  # a score below which weights are a share of 1e-19, and tokens are left out
START = {"circle": 0.01, "torus": 0.04}
LEVELS = 5
PLANE = ResidualFeatures(  # the norms of the two matrices multiply to 0.54
    np.array([[0.75, -0.5, 0.25], [0.5, 0.75, -0.5]]), np.array([0.25, -0.5, 0.125]),
    np.array([[0.25, -0.25], [0.125, 0.25], [-0.25, 0.25]]), np.array([0.5, 0.0]),
)  # fmt: skip
SPACE = ResidualFeatures(  # 0.62
    np.array([[0.5, -0.25], [0.25, 0.5], [-0.5, 0.25], [0.25, 0.5]]), np.array([0.25, -0.125]),
    np.array([[0.5, 0.25, -0.25, 0.5], [-0.25, 0.5, 0.5, 0.25]]), np.zeros(4),
)  # fmt: skip
PLACES = {
    "circle": ((0.3,), (1.4,), (2.6,), (3.7,), (4.9,), (5.8,)),
    "torus": ((0.5, 1.0), (2.0, 4.0), (4.5, 2.5)),
}
FEATURES = {"circle": PLANE, "torus": SPACE}


def points(x):
    """Angles on the circle in the plane, or on the torus in four dimensions."""
    return np.concatenate([part(x[:, [k]]) for k in range(x.shape[1]) for part in (np.cos, np.sin)], axis=1)


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
    """(P h - h) / epsilon at the places, through the layer on tokens that are a lattice around the query."""
    epsilon = START[space] * 0.5**level
    found = []
    score = MetricScore(FEATURES[space], epsilon)
    for place in PLACES[space]:
        least = hull(np.diagonal(metric_of("pull-back", space, balls(place)))).mid.min()
        width = 1.5 * math.sqrt(epsilon / least)  # beyond the deviation of the weights
        coarse, fine = (change(score, place, width, per_width) for per_width in (6.0, 7.5))
        # the coarser lattice is off by far more than the finer one: twice what separates them
        found.append(estimated(fine, coarse, times=2.0) / epsilon)
    return found


def change(score, place, width, per_width):
    """P h - h at a place, for a lattice of so many tokens per width."""
    count = math.floor(min(9.0, math.pi / width) * per_width)
    x = exact([place])
    tokens = x + whole_numbers(*[count] * len(place)) * (width / per_width)
    tokens = tokens[score.matrix(points(x).mid, points(tokens).mid)[0] > DEEPEST]
    rise = function(tokens) - function(x)
    masses = np.exp(log_density(tokens))
    return attend(points(x), points(tokens), rise[:, np.newaxis], score=score, weights=masses)[0, 0]


def tangents(x):
    """The derivatives of the points in the angles, in balls, as columns."""
    columns = balls(np.zeros((2 * len(x), len(x))))
    for k, angle in enumerate(x):
        columns[2 * k, k], columns[2 * k + 1, k] = -angle.sin(), angle.cos()
    return columns


def metric_of(name, space, x):
    """A metric in the angles, in balls or in power series of balls."""
    j = residual_jacobian(FEATURES[space], points(x[np.newaxis])[0])
    e = tangents(x)
    return e.T @ {"pull-back": j.T @ j, "transposed": j @ j.T, "input": balls(np.eye(len(e)))}[name] @ e


def inverted(m):
    """The inverse of a matrix of order one or two, and the logarithm of the determinant."""
    if len(m) == 1:
        return 1 / m, np.log(m)[0, 0]
    det = m[:1, :1] * m[1:, 1:] - m[:1, 1:] * m[1:, :1]  # a matrix of order one, since arrays take a series apart
    return m[::-1, ::-1].T * np.array([[1, -1], [-1, 1]]) / det, np.log(det)[0, 0]


derivative = np.frompyfunc(lambda series: coefficient(series, 1), 1, 1)


@cache
def geometry(name, space, place):
    """The inverse metric, its divergence and the slope of log det at a place, in balls."""
    x = balls(place)
    t = variable(2)
    along = [inverted(metric_of(name, space, x + way * t)) for way in balls(np.eye(len(x)))]
    divergence = sum(derivative(inverse[k]) for k, (inverse, _) in enumerate(along))
    return (
        inverted(metric_of(name, space, x))[0],
        divergence,
        np.array([coefficient(log_det, 1) for _, log_det in along]),
    )


def slopes(f, place):
    """The gradient and the Hessian of a function of the angles at a place, in balls."""
    x = balls(place)
    t = variable(3)
    ways = balls(np.eye(len(place)))

    def bend(way):
        return coefficient(f((x + way * t)[np.newaxis])[0], 2)

    gradient = np.array([coefficient(f((x + way * t)[np.newaxis])[0], 1) for way in ways])
    return gradient, np.array([[bend(a + b) - bend(a) - bend(b) for b in ways] for a in ways])


def step(space, *, metric, volume, drift, time):
    """What the layer is to change per epsilon: time times the drift-diffusion of h."""
    claimed = []
    for place in PLACES[space]:
        inverse, divergence, log_det = geometry(metric, space, place)
        (gradient, hessian), (log_slope, _) = slopes(function, place), slopes(log_density, place)
        drifts = log_det / 2 + ball(drift) * (log_slope - ball(volume) * log_det)
        value = (inverse * hessian).sum() + (divergence + inverse @ drifts) @ gradient
        claimed.append(hull(ball(time) * value))
    return claimed


@verifies(
    Claim(
        "metric.drift-diffusion",
        "one layer moves a function by epsilon/2 times the drift-diffusion in the pulled-back metric, for a density relative to that metric",
        r"$f = |g(x) - g(y)|^2$ with g an injective immersion: $P_\varepsilon h = h + \tau L_{J^\top J, p}h + O(\varepsilon^2)$, $\tau = \frac\varepsilon2$, $L_{g, p} = \Delta_g + 2\langle\nabla\log p, \nabla\cdot\rangle_g$, $p = p_0/\sqrt{\det J^\top J}$ on the tangent space",
        remark=r"at the bandwidth in use, $\varepsilon = \frac12$, this is $\tau = \frac14$; residual tanh networks on the circle in the plane and on the torus in four dimensions, error of order 1, after extrapolation 2",
        assumptions=("in the limit of many tokens", "p positive and analytic", r"$\|U\|\|W\| < 1$"),
        spec=("DL.E2", "DL.B3", "DL.B4"),
        cites=RUAN,
        source_status=("derived", "refereed on paper"),
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
