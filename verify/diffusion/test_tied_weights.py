"""Which dot products are squared distances in disguise: four conditions, of which three do not do."""

from fractions import Fraction
from functools import cache

import flint
import numpy as np

from theory.attention import DotProduct, attend
from theory.diffusion import CircleDensity
from theory.diffusion.limits import extrapolate, largest_errors
from theory.evidence import Claim, ball, balls, bug, constant, equals, exact, hull, hypothesis, limit, order, verifies

RUAN = ("ruan2024", "coifman2006")
DENSITY = CircleDensity([0.5, 0.0], [0.3, 0.2])  # of which the logarithm is given
PI = flint.arb.pi()
Q = np.array([[1.0, 0.5, 0.0, 0.25], [0.0, 1.0, -0.5, 0.0], [0.25, 0.0, 1.0, 0.5], [0.0, -0.25, 0.0, 1.0]])
INVERSE = hull(np.array(flint.arb_mat(Q.tolist()).inv().tolist()))
TILT = np.array([[0.0, 0.25, 0.0, 0.0], [-0.25, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
FORMS = {  # B of A = Q^T B Q
    "identity": np.eye(4),
    "skew": np.eye(4) + TILT,
    "uneven": np.diag([1.25, 1.0, 1.0, 1.0]),
    "low rank": np.diag([2.0, 2.0, 0.0, 0.0]),
    "indefinite": np.diag([2.5, 2.5, -0.5, -0.5]),
}


def curve(u):
    """Points Q^-1 (cos 2u, sin 2u, cos u, sin u) / sqrt 2, on which x^T Q^T Q x = 1, of enclosed angles."""
    points = np.stack([np.cos(2 * u), np.sin(2 * u), np.cos(u), np.sin(u)], axis=1)
    return points @ INVERSE.T * np.sqrt(exact(0.5))


def function(u):
    return np.sin(u) + 0.5 * np.cos(2 * u)


def density(u):
    """The density, of any total mass."""
    return np.exp(0.5 * np.cos(u) + 0.3 * np.sin(u) + 0.2 * np.sin(2 * u))


@cache
def trapezoid(nodes=768):
    """Angles that resolve the layers here, enclosed."""
    return np.arange(nodes) * hull(2 * PI / nodes)


def layer(form, scale, at):
    """P h on the curve by attention with the score scale x^T A y."""
    u = trapezoid()
    score = DotProduct(scale, Q.T @ FORMS[form] @ Q)
    return attend(curve(exact(at)), curve(u), function(u)[:, np.newaxis], score=score, weights=DENSITY(u))[:, 0]


def places(run):
    n = run.pick(quick=8, paper=32)
    return 2 * np.pi * (np.arange(n) + 0.25) / n


@verifies(
    Claim(
        "limit.bilinear",
        "a dot product with tied weights on a set of constant length in them is a squared distance, and has its limit",
        r"$-x^\top Ay$ is symmetric, least on the diagonal and there constant and of Hessian $2g \succ 0$ iff on $M$ $x^\top Ay = y^\top Ax$, $x^\top Ax = c$, $A|_{TM} \succ 0$ and $x^\top Ay < c$ off the diagonal",
        remark=r"then $g = \frac12A|_{TM}$ and $\frac{P_\varepsilon h - h}\varepsilon \to L_{A,p}h$: $A = Q^\top Q$, $M = Q^{-1}\{(\cos2u, \sin2u, \cos u, \sin u)/\sqrt2\}$; error of order 1, after extrapolation 2",
        assumptions=(
            "closed curve in four dimensions, in the limit of many tokens", "p positive and analytic",
            "limits from the four finest of seven bandwidths, as few as there may be: coarser ones may change with the other sign",
        ),
        spec=("DL.B5",),
        cites=RUAN,
        source_status=("derived", "refereed on paper"),
    ),
    constant("printed", "the score is -2 + |Q(x - y)|^2, as printed, and the limit half as fast", speed=Fraction(1, 2)),
    constant("drift", "the drift coefficient is one", drift=1),
    hypothesis("skew", "A is not symmetric on M", form="skew"),
    hypothesis("uneven", "x^T A x is not constant on M", form="uneven"),
    hypothesis("low-rank", "x^T A y reaches c off the diagonal", form="low rank"),
    hypothesis("indefinite", "x^T A y exceeds c off the diagonal", form="indefinite"),
)  # fmt: skip
def test_bilinear(run, *, speed=1, drift=2, form="identity"):
    u = balls(places(run))
    log_slope = -0.5 * np.sin(u) + 0.3 * np.cos(u) + 0.4 * np.cos(2 * u)
    bend, slope = -np.sin(u) - 2 * np.cos(2 * u), np.cos(u) - np.sin(2 * u)
    truth = ball(Fraction(2, 5) * speed) * (
        bend + drift * log_slope * slope
    )  # the metric A has the speed 5 / 2, squared
    start = function(exact(places(run)))
    size = abs(hull(truth)).max()
    scales = [6.25 * 2**k for k in range(7)]
    found = np.stack([layer(form, scale, places(run)) for scale in scales])
    levels = np.stack([(row - start) * (2 * scale) for row, scale in zip(found, scales, strict=True)])
    for at, here in enumerate(start):  # what relabels is no small step
        yield equals(limit(found[-4:, at], order=1), here, scale=1, place=at, part="a small step")
    for k, values in ((1, levels), (2, extrapolate(levels))):
        yield equals(order(largest_errors(values, truth)), k, scale=1, extrapolations=k - 1, part="order")
    for at, target in enumerate(truth):
        yield equals(limit(levels[-4:, at], order=1), target, scale=size, place=at)


@verifies(
    Claim(
        "limit.bilinear-global",
        "symmetry, constant length and a positive tangent metric alone are not enough: a layer may mix or swap distant points",
        r"on the same $M$: $A = Q^\top\mathrm{diag}(2, 2, 0, 0)Q$ has $x^\top Ay = \cos2(u - v)$ and $P_\varepsilon h \to \frac{(hp)(u) + (hp)(u + \pi)}{p(u) + p(u + \pi)}$",
        remark=r"$A = Q^\top\mathrm{diag}(\frac52, \frac52, -\frac12, -\frac12)Q$ has $x^\top Ay = \frac54\cos2(u - v) - \frac14\cos(u - v)$ and $P_\varepsilon h \to h(u + \pi)$",
        assumptions=(
            "closed curve in four dimensions, in the limit of many tokens", "p positive and analytic",
            "limits from the five finest of seven bandwidths: coarser ones are not yet asymptotic",
        ),
        spec=("DL.B5",),
        cites=("ruan2024",),
        source_status=("derived",),
    ),
    constant("printed", "with the three conditions a layer changes nothing to zeroth order", trivial=True),
    bug("unweighted", "both points count the same", weighted=False),
    hypothesis(
        "definite", "A = Q^T Q, of which the score is least on the diagonal only", forms=("identity", "identity")
    ),
)  # fmt: skip
def test_bilinear_global(run, *, trivial=False, weighted=True, forms=("low rank", "indefinite")):
    u = balls(places(run))
    here, there = (density(v) if weighted else balls(np.ones(len(v))) for v in (u, u + PI))
    claims = {
        "mixes": (here * function(u) + there * function(u + PI)) / (here + there),
        "swaps": function(u + PI),
    }
    for form, (name, claimed) in zip(forms, claims.items(), strict=True):
        levels = np.stack([layer(form, 12.5 * 2**k, places(run)) for k in range(7)])
        for at, target in enumerate(function(u) if trivial else claimed):
            yield equals(limit(levels[-5:, at], order=1), target, scale=1, case=name, place=at)
