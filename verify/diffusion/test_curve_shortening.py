"""Tokens of a closed curve that attend to each other: they move by its curvature, and climb their density."""

import math
from fractions import Fraction

import numpy as np

from theory.diffusion import studies
from theory.diffusion.self_dynamics import Curve, ellipse, moved, rounded
from theory.evidence import Claim, Interval, bug, constant, equals, hypothesis, limit, order, verifies
from theory.evidence.roundoff import U

DERIVED = ("derived", "refereed")
CURVES = ((1.5, 0.75), (1.0, 1.0), (1.25, 0.75))
WAVE = 0.3  # of the density over arc, 1 + 0.3 cos(angle)


def velocity(first, second, angle, density, drift):
    """Curvature vector and drift times the slope of log p over arc, by hand, at eccentric angles of an ellipse."""
    x1 = np.stack([-first * np.sin(angle), second * np.cos(angle)], axis=1)
    x2 = np.stack([-first * np.cos(angle), -second * np.sin(angle)], axis=1)
    square = np.einsum("ij,ij->i", x1, x1)
    along = np.einsum("ij,ij->i", x1, x2) / square
    bend = (x2 - along[:, np.newaxis] * x1) / square[:, np.newaxis]
    slope = {  # of log p by the angle
        "uniform": np.zeros(angle.size), "even": -along, "wave": -WAVE * np.sin(angle) / (1 + WAVE * np.cos(angle)),
    }[density]  # fmt: skip
    return bend + drift * (slope / square)[:, np.newaxis] * x1


@verifies(
    Claim(
        "layers.curvature",
        "a layer moves tokens of a curve by half the bandwidth times the curvature vector and twice the slope of log p",
        r"$\frac2\varepsilon(H_{\mathrm{new}} - H) \to \vec{\mathcal H} + 2\nabla\log p$ to first order, for p with respect to arc length; and then $\frac2\varepsilon(A_{\mathrm{new}} - A) \to -2\pi$ for the enclosed area, whatever p; ellipses with half-axes 1.5, 0.75; 1, 1; 1.25, 0.75 and p constant, $1 + 0.3\cos\theta$, or of tokens even in the eccentric angle $\theta$",
        assumptions=("closed curve in the plane, in the limit of many tokens", "p positive and analytic"),
        spec=("DL.B11",),
        cites=("ruan2024", "gage1986"),
        provenance=DERIVED,
    ),
    constant("drift", "the slope of log p enters once", drift=1),
    constant("area", "the area falls by pi", area=1),
    hypothesis("uniform", "the density is constant", drift=0),
    bug("whole", "the step is epsilon times the velocity", step=1),
)
def test_curvature(run, *, drift=2, area=2, step=2):
    nodes = run.pick(quick=480, paper=640)
    chosen = np.arange(0, nodes, nodes // 16)
    for first, second in CURVES:
        curve = ellipse(first, second, nodes)
        angle = 2 * np.pi * np.arange(nodes) / nodes
        speed = np.hypot(first * np.sin(angle), second * np.cos(angle))
        masses = {"uniform": speed, "even": np.ones(nodes), "wave": speed * (1 + WAVE * np.cos(angle))}
        for density, mass in masses.items():
            areas, largest = [], []
            aim = velocity(first, second, angle[chosen], density, drift)
            for level in range(run.pick(quick=6, paper=7)):
                epsilon = min(first, second) ** 2 * 0.04 * 0.5**level
                after = moved(curve.points, epsilon, mass)
                error = rounded(curve.points, epsilon, mass) + 64 * U * 10 / math.sqrt(epsilon) * first
                change = (after - curve.points)[chosen] * step / epsilon
                worst = np.abs(change - aim).max()
                largest.append(Interval.within(float(worst), error * step / epsilon + 1e3 * U))
                grown = Curve(after).area - curve.area
                areas.append(Interval.within(grown * step / epsilon, 16 * error * step / epsilon))
            yield equals(limit(largest[-4:], order=1), 0, scale=1, axes=first, density=density, part="largest error")
            if density == "even":  # the others' slopes have not settled at these bandwidths
                yield equals(order(largest[-4:]), 1, scale=1, axes=first, density=density, part="its order")
            yield equals(
                limit(areas[-4:], order=1),
                -area * Interval.within(math.pi, 4 * U),
                axes=first,
                density=density,
                part="area",
            )


@verifies(
    Claim(
        "layers.curve-shortening",
        "an ellipse whose tokens weigh their arc shortens as by its curvature: the area falls at the rate 2 pi, all the way",
        r"$A(\tau) \to A_0 - 2\pi\tau$, to second order, $\tau = k\varepsilon/2$ up to 0.5 of 0.5625 at which the area is gone; half-axes 1.5 and 0.75",
        assumptions=("weights computed anew by every layer", "tokens weigh the arc they stand for"),
        spec=("DL.B11",),
        cites=("gage1986",),
        provenance=("derived",),
    ),
    constant("rate", "the rate is pi", turn=1),
    bug("clock", "a layer takes the time epsilon", clock=2),
)
def test_curve_shortening(run, *, turn=2, clock=1):
    table = run.study(studies.self_dynamics).where(part="area")
    epsilons = sorted(set(table["epsilon"].tolist()), reverse=True)
    for t in (0.1, 0.2, 0.3, 0.4, 0.5):
        read = [table.where(epsilon=e, layer=round(2 * t / e)).intervals("value")[0] for e in epsilons]
        claimed = Interval.within(math.pi, 4 * U) * (Fraction(9, 8) - Fraction(turn * clock) * Fraction(str(t)))
        yield equals(limit(read[-4:], order=2), claimed, scale=1, t=t)
        if t == 0.5:  # before, the slopes are still on their way down to two
            yield equals(order([area - claimed for area in read[-4:]]), 2, scale=1, t=t, part="order")
