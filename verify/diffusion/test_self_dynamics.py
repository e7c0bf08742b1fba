"""Layers that compute their weights anew: spheres collapse, where weights that are kept only let them shrink."""

from fractions import Fraction
from functools import cache

import numpy as np

from theory.diffusion import studies
from theory.diffusion.layers import sphere_layer
from theory.evidence import (
    Claim,
    Interval,
    Kind,
    ball,
    bug,
    constant,
    equals,
    exact,
    hull,
    hypothesis,
    limit,
    order,
    verifies,
)

RUAN = ("ruan2024",)
DERIVED = ("derived", "refereed")


def ratio(dim, b, *, up=2):
    """I of order (d + 1) / 2 over I of order (d - 1) / 2."""
    low = ball(Fraction(dim - 1, 2))
    return b.bessel_i(low + ball(Fraction(up, 2)), scaled=True) / b.bessel_i(low, scaled=True)


@verifies(
    Claim(
        "layers.sphere-step",
        "a layer of self-attention among uniform tokens of a sphere shrinks it by a ratio of Bessel functions",
        r"$R \mapsto R\,I_{(d+1)/2}(b)/I_{(d-1)/2}(b)$, $b = R^2/\varepsilon$, for tokens on $S^d_R$ with weights $e^{-|x-y|^2/2\varepsilon}$; for $d = 2$ it is $R - \frac\varepsilon R + \frac{2R}{e^{2b} - 1}$",
        assumptions=("tokens uniform on the sphere",),
        spec=("DL.B11",),
        cites=RUAN,
        source_status=DERIVED,
    ),
    constant("first-order", "it is R - d epsilon / 2 R", linear=True),
    constant("half-order", "the orders differ by one half", up=1),
    bug("temperature", "b is R squared over 2 epsilon", share=2),
    hypothesis("circle", "the sphere has one dimension less", lower=1),
)
def test_sphere_step(run, *, linear=False, up=2, share=1, lower=0):
    for dim in run.pick(quick=(1, 2, 3), paper=(1, 2, 3, 4, 5, 8)):
        for radius, epsilon in ((1.0, 0.5), (1.0, 0.0625), (0.25, 0.125), (1.5, 0.03125)):
            case = {"d": dim, "R": radius, "epsilon": epsilon}
            found = sphere_layer(exact(radius), epsilon, dim)
            r = ball(radius)
            e = ball(epsilon)
            b = r * r / (e * share)
            claimed = r - dim * e / (2 * r) if linear else r * ratio(max(dim - lower, 1), b, up=up)
            yield equals(found, claimed, scale=radius, **case)
            if dim == 2:
                closed = r - e * share / r + (0 if linear else 2 * r / ((2 * b).exp() - 1))
                yield equals(found, closed, scale=radius, part="closed form", **case)


def radii(table, part, dim):
    """Bandwidths, coarse to fine, and the radii at the time when d tau = 0.3."""
    rows = table.where(part=part, dim=dim)
    epsilons = rows.levels("epsilon")[::-1]
    found = []
    for epsilon in epsilons:
        found += rows.where(epsilon=epsilon, layer=round(0.6 / (dim * epsilon))).intervals("value")
    return epsilons, found


@verifies(
    Claim(
        "layers.radius",
        "the radius follows the square root law of mean curvature flow if weights are computed anew, and an exponential one if they are kept",
        r"$R_k = \sqrt{R_0^2 - 2d\tau} + \varepsilon\,\frac{d-1}{2R}\ln\frac{R_0}R + O(\varepsilon^2)$ at $\tau = k\varepsilon/2$, weights computed anew: order exactly 1 for $d = 2, 3$ and 2 for $d = 1$",
        remark=r"$R_k \to R_0e^{-d\tau/R_0^2}$, weights of the first layer kept: $.6325$ and $.7408$ at $R_0 = 1$, $d\tau = 0.3$; the first layer is $R_0 - \frac{\varepsilon d}{2R_0} + O(\varepsilon^2)$ either way, so that $\partial_tH = L_{g,p}H$ with the metric and the density of the start holds for one layer and for weights that are kept",
        assumptions=("tokens uniform on the sphere of dimension 1, 2, 3",),
        spec=("DL.B11", "DL.B8"),
        cites=RUAN,
        source_status=("seen", "derived", "refereed"),
    ),
    constant("frozen", "the law is R_0 exp(-d tau / R_0^2), that of weights kept", law="frozen"),
    constant("averaged", "the speed is the average of the principal curvatures", law="averaged"),
    constant("orders", "the order is one on the circle, too", circle=1),
    constant("half", "the term of first order is half of it", share=Fraction(1, 2)),
    bug("clock", "the first layer takes the time epsilon", clock=1),
    hypothesis(
        "exchanged", "weights that are kept are computed anew, and the other way round", read=("kept", "recomputed")
    ),
)
def test_radius(run, *, law="root", circle=2, share=1, clock=2, read=("recomputed", "kept")):
    table = run.study(studies.self_dynamics)
    frozen = ball(Fraction(-3, 10)).exp()
    for dim in (1, 2, 3):
        averaged = ball(1 - Fraction(6, 10) / dim).sqrt()
        aim = hull({"root": ball(Fraction(2, 5)).sqrt(), "frozen": frozen, "averaged": averaged}[law])
        power = circle if dim == 1 else 1
        epsilons, found = radii(table, read[0], dim)
        errors = [value - aim for value in found]
        slopes = [error / epsilon for error, epsilon in zip(errors, epsilons, strict=True)]
        claimed = share * Fraction(dim - 1, 2) / aim * hull(ball(Fraction(5, 2)).log() / 2)
        still = radii(table, read[1], dim)[1]
        yield equals(limit(found[-4:], order=power), aim, d=dim, part="limit")
        yield equals(order(errors[-4:]), power, scale=1, d=dim, part="order")
        yield equals(limit(slopes[-4:], order=1), claimed, scale=1, d=dim, part="coefficient")
        yield equals(limit(still[-4:], order=1), frozen, d=dim, part="weights kept")
        firsts = [clock * (sphere_layer(exact(1.0), epsilon, dim) - 1) / epsilon for epsilon in epsilons]
        yield equals(limit(firsts[-4:], order=1), -dim, scale=1, d=dim, part="first layer")


@cache
def collapse(dim, level, frozen):
    """Enclose the time k epsilon / 2, epsilon = 2**-level, at which R squared falls below epsilon, by attention.

    A sphere that is not there after four times as many layers as the law allows is given up.
    """
    epsilon = 2.0**-level
    radius = exact(1.0)
    first = sphere_layer(radius, epsilon, dim)
    early, count = None, 0
    while not (radius * radius).hi < epsilon and count < 4 * 2**level:
        if early is None and (radius * radius).lo < epsilon:
            early = count  # from here on it may be there
        radius = radius * first if frozen else sphere_layer(radius, epsilon, dim)
        count += 1
    return Interval((count if early is None else early) - 1, count, Kind.NUMERIC) / 2 ** (level + 1)


@verifies(
    Claim(
        "layers.collapse",
        "a sphere collapses in finite time, and at last each layer cubes its radius",
        r"$\tau = k\varepsilon/2$ at which $R_k^2$ falls below $\varepsilon$ tends to $\frac{R_0^2}{2d}$; as $R \to 0$, $R \mapsto \frac{R^3}{(d+1)\varepsilon}(1 + O(R^2))$",
        assumptions=("tokens uniform on the sphere of dimension 1, 2, 3", "weights computed anew by every layer"),
        spec=("DL.B11",),
        cites=RUAN,
        source_status=DERIVED,
    ),
    constant("twice", "the time is R_0^2 / d", share=1),
    constant("square", "each layer multiplies the radius by R / sqrt(d + 1)", power=2),
    hypothesis("kept", "all layers average with the weights of the first", frozen=True),
)
def test_collapse(run, *, share=2, power=3, frozen=False):
    for dim in (1, 2, 3):
        times = [collapse(dim, level, frozen) for level in range(3, run.pick(quick=9, paper=12))]
        yield equals(limit(times, order=1), Fraction(1, share * dim), scale=1, d=dim, part="time")
        shares = []
        for radius in (2.0**-level for level in range(4, 10)):  # epsilon = 1
            found = sphere_layer(exact(radius), 1.0, dim) / radius**power
            shares.append(found * np.sqrt(ball(dim + 1)) ** (power - 1))
        yield equals(limit(shares, order=2), 1, scale=1, d=dim, part="cubic")
