"""A query off the circle of keys: the nearest key, and a bandwidth that its distance from the centre divides."""

import math
from fractions import Fraction

import numpy as np

from theory.attention import SquaredDistance, rounding
from theory.diffusion import propagate
from theory.diffusion.limits import extrapolate, largest_errors
from theory.diffusion.similarity import radial_multiplier
from theory.evidence import Claim, Interval, ball, bug, constant, equals, hypothesis, limit, order, verifies
from theory.evidence.roundoff import U
from verify.textbook import hull

RUAN = ("ruan2024",)


def off_circle(x, radius, epsilon, a, w, pull=lambda radius: radius):
    """P h at angle x and distance r from the centre, keys 1 + 2 sum of a_k cos k y on the circle, h = sum of w_k cos k y.

    The weights e^(r cos(x - y) / eps) multiply the waves of degree k by I_k(r / eps) / I_0(r / eps); ``pull`` is r.
    """
    b, x = ball(pull(radius)) / ball(epsilon), ball(x)
    zeroth = b.bessel_i(0) if radius else ball(1)

    def smoothed(waves):
        factors = {k: (b.bessel_i(k) / zeroth if radius else ball(int(k == 0))) for k in waves}
        return sum(ball(c) * factors[k] * (k * x).cos() for k, c in waves.items())

    density = {0: Fraction(1)} | {k: 2 * c for k, c in a.items()}
    product = {}
    for k, c in density.items():
        for m, d in w.items():
            for degree in (k + m, abs(k - m)):
                product[degree] = product.get(degree, 0) + c * d / 2
    return smoothed(product) / smoothed(density)


DENSE, WAVE = {1: Fraction(1, 5), 2: Fraction(1, 10)}, {1: Fraction(1), 2: Fraction(1, 2)}


@verifies(
    Claim(
        "score.off-manifold",
        "a query off the circle of keys sees the nearest point, blurred by the bandwidth over its distance from the centre",
        r"$f = |x - y|^2$, keys on the unit circle, $|x| = r$: $P_\varepsilon h(x) = h(x/r) + \frac\varepsilon{2r}L_ph(x/r) + O(\varepsilon^2)$ for $r > 0$, $\frac12L_p$ only on the circle; at $r = 0$ every key is a minimiser and $P_\varepsilon h = \int hp$",
        assumptions=("p and h trigonometric polynomials", r"$r = \frac25, 1, 2$"),
        spec=("DL.D4",),
        cites=RUAN,
        provenance=("derived", "refereed"),
    ),
    constant("on-circle", "the first order is epsilon / 2 at every distance", share=lambda _: Fraction(1, 2)),
    constant("drift", "the drift of the density is taken once", drift=1),
    bug("inverted", "the first order is r epsilon / 2", share=lambda r: r / 2),
    hypothesis("uniform", "the density is taken to be constant", drift=0, dense={}),
    bug("reach", "the waves are multiplied by quotients of Bessel functions of 1 / (r epsilon)", pull=lambda r: 1 / r),
)
def test_off_manifold(run, *, share=lambda r: 1 / (2 * r), drift=2, dense=DENSE, pull=lambda r: r):
    circle = 2.0 * math.pi * (np.arange(512) + 0.5) / 512
    masses = 1.0 + 2.0 * sum(float(c) * np.cos(k * circle) for k, c in DENSE.items())
    values = sum(float(c) * np.cos(k * circle) for k, c in WAVE.items())
    keys = np.stack([np.cos(circle), np.sin(circle)], axis=1)
    for radius in (Fraction(2, 5), Fraction(1), Fraction(2)):
        for x in run.pick(quick=(0.7, 2.0), paper=(0.7, 1.3, 2.0, 2.9)):
            y = ball(x)
            h, slope, bend = (sum(ball(c) * k**n * part(k * y) for k, c in WAVE.items()) for n, part in DERIVATIVES)
            p = 1 + sum(2 * ball(c) * (k * y).cos() for k, c in DENSE.items())
            log_slope = -sum(2 * ball(c) * k * (k * y).sin() for k, c in DENSE.items()) / p
            truth = hull(ball(share(radius)) * (bend + drift * log_slope * slope))
            epsilons = [radius * Fraction(1, 50 * 2**k) for k in range(run.pick(quick=7, paper=10))]
            levels = [[hull((off_circle(x, radius, e, DENSE, WAVE, pull) - h) / ball(e))] for e in epsilons]
            yield equals(limit([level[0] for level in levels], order=1), truth, scale=1, r=float(radius), x=x)
            if x == 0.7:
                yield equals(
                    order(largest_errors(levels, [truth])), 1, scale=1, r=float(radius), extrapolations=0, part="order"
                )
                yield equals(
                    order(largest_errors(extrapolate(levels), [truth])),
                    2,
                    scale=1,
                    r=float(radius),
                    extrapolations=1,
                    part="order",
                )
            place = float(radius) * np.array([[math.cos(x), math.sin(x)]])
            found = propagate(place, keys, values, float(epsilons[0]), weights=masses)[0]
            score = SquaredDistance(0.5 / float(epsilons[0]))
            width = rounding(place, keys, values[:, np.newaxis], score=score, weights=masses) + 2.0**12 * U
            exact = hull(off_circle(x, radius, float(epsilons[0]), DENSE, WAVE, pull))
            yield equals(Interval.within(found, width), exact, scale=1, r=float(radius), x=x, part="engine")
    centre = propagate(np.zeros((1, 2)), keys, values, 0.1, weights=masses)[0]
    mean = sum(c * dense.get(k, 0) for k, c in WAVE.items())
    yield equals(Interval.within(centre, 2.0**12 * U), mean, scale=1, r=0, part="centre")
    for radius in (0.4, 2.0):
        b, waves = ball(pull(radius)) / ball(0.125), np.arange(4)
        for k, factor in zip(waves.tolist(), radial_multiplier(radius, 0.125)(waves).tolist(), strict=True):
            exact = hull(b.bessel_i(k) / b.bessel_i(0))
            yield equals(Interval.within(factor, 2.0**8 * U), exact, scale=1, r=float(radius), k=k, part="multiplier")


DERIVATIVES = (
    (0, lambda ball: ball.cos()),
    (1, lambda ball: -ball.sin()),
    (2, lambda ball: -ball.cos()),
)
