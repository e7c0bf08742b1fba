"""A query off the circle of keys: the nearest key, and a bandwidth that its distance from the centre divides."""

from fractions import Fraction

import flint
import numpy as np

from theory.attention import SquaredDistance, attend
from theory.diffusion import propagate
from theory.diffusion.limits import extrapolate, largest_errors
from theory.diffusion.similarity import radial_multiplier
from theory.evidence import (
    Claim,
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
# cosines of p and h
DENSE = {1: Fraction(1, 5), 2: Fraction(1, 10)}
WAVE = {1: Fraction(1), 2: Fraction(1, 2)}


def off_circle(x, radius, epsilon, pull=lambda radius: radius):
    """P h at angle x and distance r from the centre, keys 1 + 2 sum of a_k cos k y on the circle, h = sum of w_k cos k y.

    The weights e^(r cos(x - y) / eps) multiply the waves of degree k by I_k(r / eps) / I_0(r / eps); ``pull`` is r.
    """
    b = ball(pull(radius)) / ball(epsilon)

    def smoothed(waves):
        return sum(ball(c) * b.bessel_i(k) / b.bessel_i(0) * (k * ball(x)).cos() for k, c in waves.items())

    density = {0: Fraction(1)} | {k: 2 * c for k, c in DENSE.items()}
    product = {}
    for k, c in density.items():
        for m, d in WAVE.items():
            for degree in (k + m, abs(k - m)):
                product[degree] = product.get(degree, 0) + c * d / 2
    return smoothed(product) / smoothed(density)


def on_circle(x, *, drift, dense):
    """h, and half of h'' + drift (log p)' h' twice over, at an angle."""
    y = ball(x)
    h = sum(ball(c) * (k * y).cos() for k, c in WAVE.items())
    slope = -sum(ball(c) * k * (k * y).sin() for k, c in WAVE.items())
    bend = -sum(ball(c) * k**2 * (k * y).cos() for k, c in WAVE.items())
    p = 1 + sum(2 * ball(c) * (k * y).cos() for k, c in dense.items())
    log_slope = -sum(2 * ball(c) * k * (k * y).sin() for k, c in dense.items()) / p
    return h, bend + drift * log_slope * slope


def quadrature(nodes=512):
    """Keys on the circle, their masses and the function on them, enclosed."""
    angles = (np.arange(nodes) + 0.5) * hull(2 * flint.arb.pi() / nodes)
    masses = 1 + sum(hull(ball(2 * c)) * np.cos(k * angles) for k, c in DENSE.items())
    values = sum(hull(ball(c)) * np.cos(k * angles) for k, c in WAVE.items())
    return np.stack([np.cos(angles), np.sin(angles)], axis=1), masses, values


@verifies(
    Claim(
        "score.off-manifold",
        "a query off the circle of keys sees the nearest point, blurred by the bandwidth over its distance from the centre",
        r"$f = |x - y|^2$, keys on the unit circle, $|x| = r$: $P_\varepsilon h(x) = h(x/r) + \frac\varepsilon{2r}L_ph(x/r) + O(\varepsilon^2)$ for $r > 0$, $\frac12L_p$ only on the circle",
        remark=r"at $r = 0$ every key is a minimiser and $P_\varepsilon h = \int hp$",
        assumptions=("p and h trigonometric polynomials", r"$r = \frac25, 1, 2$"),
        spec=("DL.D4",),
        cites=RUAN,
        source_status=("derived", "refereed"),
    ),
    constant("on-circle", "the first order is epsilon / 2 at every distance", share=lambda _: Fraction(1, 2)),
    constant("drift", "the drift of the density is taken once", drift=1),
    bug("inverted", "the first order is r epsilon / 2", share=lambda r: r / 2),
    hypothesis("uniform", "the density is taken to be constant", drift=0, dense={}),
    bug("reach", "the waves are multiplied by quotients of Bessel functions of 1 / (r epsilon)", pull=lambda r: 1 / r),
)
def test_off_manifold(run, *, share=lambda r: 1 / (2 * r), drift=2, dense=DENSE, pull=lambda r: r):
    keys, masses, values = quadrature()
    for radius in (Fraction(2, 5), Fraction(1), Fraction(2)):
        for x in run.pick(quick=(0.7, 2.0), paper=(0.7, 1.3, 2.0, 2.9)):
            case = {"r": float(radius), "x": x}
            h, flow = on_circle(x, drift=drift, dense=dense)
            truth = ball(share(radius)) * flow
            epsilons = [radius * Fraction(1, 50 * 2**k) for k in range(run.pick(quick=7, paper=10))]
            levels = [[hull((off_circle(x, radius, e, pull) - h) / ball(e))] for e in epsilons]
            yield equals(limit([level[0] for level in levels], order=1), truth, scale=1, **case)
            for k, ladder in ((0, levels), (1, extrapolate(levels))):
                if x == 0.7:
                    found = order(largest_errors(ladder, [truth]))
                    yield equals(found, k + 1, scale=1, r=case["r"], extrapolations=k, part="order")
            scale = float(1 / (2 * epsilons[0]))
            place = np.stack([np.cos(exact([x])), np.sin(exact([x]))], axis=1) * hull(ball(radius))
            found = attend(place, keys, values[:, np.newaxis], score=SquaredDistance(scale), weights=masses)[0, 0]
            claimed = off_circle(x, radius, 1 / (2 * ball(scale)), pull)
            yield equals(found, claimed, scale=1, part="engine", **case)
    centre = propagate(exact(np.zeros((1, 2))), keys, values, 0.125, weights=masses)[0]
    mean = sum(c * dense.get(k, 0) for k, c in WAVE.items())
    yield equals(centre, mean, scale=1, r=0, part="centre")
    for radius in (0.4, 2.0):
        b = ball(pull(radius)) / ball(0.125)
        orders = np.arange(4)
        factors = radial_multiplier(radius, 0.125)(exact(orders))
        for k, factor in zip(orders.tolist(), factors, strict=True):
            claimed = b.bessel_i(k) / b.bessel_i(0)
            yield equals(factor, claimed, scale=1, r=radius, k=k, part="multiplier")
