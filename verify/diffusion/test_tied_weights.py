"""Which dot products are squared distances in disguise: four conditions, of which three do not do."""

import math
from fractions import Fraction

import numpy as np

from theory.attention import DotProduct, rounding
from theory.diffusion import CircleDensity, propagate
from theory.diffusion.limits import extrapolate, largest_errors
from theory.evidence import Claim, Interval, bug, constant, equals, hypothesis, limit, order, verifies
from theory.evidence.roundoff import U

RUAN = ("ruan2024", "coifman2006")
DENSITY = CircleDensity([0.5, 0.0], [0.3, 0.2])
Q = np.array([[1.0, 0.5, 0.0, 0.25], [0.0, 1.0, -0.5, 0.0], [0.25, 0.0, 1.0, 0.5], [0.0, -0.25, 0.0, 1.0]])
TILT = np.array([[0.0, 0.25, 0.0, 0.0], [-0.25, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
FORMS = {  # B of A = Q^T B Q
    "identity": np.eye(4),
    "skew": np.eye(4) + TILT,
    "uneven": np.diag([1.25, 1.0, 1.0, 1.0]),
    "low rank": np.diag([2.0, 2.0, 0.0, 0.0]),
    "indefinite": np.diag([2.5, 2.5, -0.5, -0.5]),
}


def curve(u):
    """Points Q^-1 (cos 2u, sin 2u, cos u, sin u) / sqrt 2, on which x^T Q^T Q x = 1."""
    return np.linalg.solve(Q, np.stack([np.cos(2 * u), np.sin(2 * u), np.cos(u), np.sin(u)]) * math.sqrt(0.5)).T


def function(u):
    return np.sin(u) + 0.5 * np.cos(2 * u)


def layer(form, epsilon, at, nodes=768):
    """P h on the curve by attention with the score x^T A y / (2 eps), over a trapezoidal rule that resolves it."""
    u = 2 * math.pi * np.arange(nodes) / nodes
    keys, queries, h, p = curve(u), curve(at), function(u), DENSITY(u)
    score = DotProduct(0.5 / epsilon, Q.T @ FORMS[form] @ Q)
    found = propagate(queries, keys, h, epsilon, score=score, weights=p)
    # points off by 32 u each move a score by that times |A| |x| |y| / eps, and a weight twice as much
    size, _ = score.bounds(queries, keys)
    width = rounding(queries, keys, h[:, np.newaxis], score=score, weights=p) + 1.5 * 256 * U * size
    return [Interval.within(v, width) for v in found.tolist()]


def queries(run):
    n = run.pick(quick=8, paper=32)
    return 2 * math.pi * (np.arange(n) + 0.25) / n


def near(values):
    return [Interval.within(float(v), 1e4 * U) for v in values]


@verifies(
    Claim(
        "limit.bilinear",
        "a dot product with tied weights on a set of constant length in them is a squared distance, and has its limit",
        r"$-x^\top Ay$ is symmetric, least on the diagonal and there constant and of Hessian $2g \succ 0$ iff on $M$ $x^\top Ay = y^\top Ax$, $x^\top Ax = c$, $A|_{TM} \succ 0$ and $x^\top Ay < c$ off the diagonal; then $g = \frac12A|_{TM}$ and $\frac{P_\varepsilon h - h}\varepsilon \to L_{A,p}h$: $A = Q^\top Q$, $M = Q^{-1}\{(\cos2u, \sin2u, \cos u, \sin u)/\sqrt2\}$; error of order 1, after extrapolation 2",
        assumptions=(
            "closed curve in four dimensions, in the limit of many tokens", "p positive and analytic",
            "limits from the four finest of seven bandwidths, as few as there may be: coarser ones may change with the other sign",
        ),
        spec=("DL.B5",),
        cites=RUAN,
        provenance=("derived", "refereed on paper"),
    ),
    constant("printed", "the score is -2 + |Q(x - y)|^2, as printed, and the limit half as fast", speed=Fraction(1, 2)),
    constant("drift", "the drift coefficient is one", drift=1),
    hypothesis("skew", "A is not symmetric on M", form="skew"),
    hypothesis("uneven", "x^T A x is not constant on M", form="uneven"),
    hypothesis("low-rank", "x^T A y reaches c off the diagonal", form="low rank"),
    hypothesis("indefinite", "x^T A y exceeds c off the diagonal", form="indefinite"),
)  # fmt: skip
def test_bilinear(run, *, speed=1, drift=2, form="identity"):
    u = queries(run)
    u1, h1 = -0.5 * np.sin(u) + 0.3 * np.cos(u) + 0.4 * np.cos(2 * u), np.cos(u) - np.sin(2 * u)
    h2 = -np.sin(u) - 2 * np.cos(2 * u)
    values = float(Fraction(2, 5) * speed) * (h2 + drift * u1 * h1)  # the metric A has the speed 5 / 2, squared
    truth, size = near(values), float(np.abs(values).max())
    epsilons = [0.08 * 0.5**k for k in range(7)]
    found, start = [layer(form, e, u) for e in epsilons], near(function(u))
    levels = [[(a - b) / e for a, b in zip(row, start, strict=True)] for row, e in zip(found, epsilons, strict=True)]
    for at, here in enumerate(start):  # what relabels is no small step
        tended = limit([row[at] for row in found[-4:]], order=1)
        yield equals(tended, here, scale=1, place=at, part="a small step")
    for k, ladder in ((1, levels), (2, extrapolate(levels))):
        yield equals(order(largest_errors(ladder, truth)), k, scale=1, extrapolations=k - 1, part="order")
    for at, target in enumerate(truth):
        yield equals(limit([level[at] for level in levels[-4:]], order=1), target, scale=size, place=at)


@verifies(
    Claim(
        "limit.bilinear-global",
        "symmetry, constant length and a positive tangent metric alone are not enough: a layer may mix or swap distant points",
        r"on the same $M$: $A = Q^\top\mathrm{diag}(2, 2, 0, 0)Q$ has $x^\top Ay = \cos2(u - v)$ and $P_\varepsilon h \to \frac{(hp)(u) + (hp)(u + \pi)}{p(u) + p(u + \pi)}$; $A = Q^\top\mathrm{diag}(\frac52, \frac52, -\frac12, -\frac12)Q$ has $x^\top Ay = \frac54\cos2(u - v) - \frac14\cos(u - v)$ and $P_\varepsilon h \to h(u + \pi)$",
        assumptions=(
            "closed curve in four dimensions, in the limit of many tokens", "p positive and analytic",
            "limits from the five finest of seven bandwidths: coarser ones are not yet asymptotic",
        ),
        spec=("DL.B5",),
        cites=("ruan2024",),
        provenance=("derived",),
    ),
    constant("printed", "with the three conditions a layer changes nothing to zeroth order", trivial=True),
    bug("unweighted", "both points count the same", weighted=False),
    hypothesis(
        "definite", "A = Q^T Q, of which the score is least on the diagonal only", forms=("identity", "identity")
    ),
)  # fmt: skip
def test_bilinear_global(run, *, trivial=False, weighted=True, forms=("low rank", "indefinite")):
    u = queries(run)
    here, there = (DENSITY(v) if weighted else np.ones_like(v) for v in (u, u + math.pi))
    mixed = (here * function(u) + there * function(u + math.pi)) / (here + there)
    for name, form, claimed in zip(("mixes", "swaps"), forms, (mixed, function(u + math.pi)), strict=True):
        levels = [layer(form, 0.04 * 0.5**k, u) for k in range(7)]
        for at, target in enumerate(near(function(u) if trivial else claimed)):
            yield equals(limit([level[at] for level in levels[-5:]], order=1), target, scale=1, case=name, place=at)
