"""Tokens of a closed curve that attend to each other: they move by its curvature, and climb their density."""

import math
from fractions import Fraction
from functools import cache

import numpy as np

from theory.diffusion import studies
from theory.diffusion.layers import PlaneCurve, advance_tokens
from theory.evidence import Claim, ball, bug, constant, equals, exact, hull, hypothesis, limit, norm, order, verifies

DERIVED = ("derived", "refereed")
PI = ball(-1).acos()
ELLIPSES = ((1.5, 0.75), (1.0, 1.0), (1.25, 0.75))
BEAN = {"x": ((1, 1.0, 0.0), (2, 0.1, 0.0)), "y": ((1, 0.0, 0.8), (2, 0.05, 0.0), (3, 0.0, 0.02))}  # no symmetry
WAVE = 0.3  # of the density over arc, 1 + 0.3 cos(angle)


def traced(waves, angle, derivative):
    """A derivative of the curve with coordinates sum a cos(kt) + b sin(kt), shape (n, 2)."""
    turn = 0.5 * math.pi * derivative  # every derivative turns by a quarter
    return np.stack(
        [
            sum(k**derivative * (a * np.cos(k * angle + turn) + b * np.sin(k * angle + turn)) for k, a, b in terms)
            for terms in (waves["x"], waves["y"])
        ],
        axis=1,
    )


CURVES = {f"{a}, {b}": {"x": ((1, a, 0.0),), "y": ((1, 0.0, b),)} for a, b in ELLIPSES} | {"bean": BEAN}


@cache
def layered(name, density, nodes, levels):
    """Some angles of a curve, and for falling bandwidths how its tokens move there, and what area it gains."""
    waves = CURVES[name]
    angle = exact(2 * np.pi * np.arange(nodes) / nodes)
    points, tangent = traced(waves, angle, 0), traced(waves, angle, 1)
    speed = norm(tangent, axis=1)
    weights = {"uniform": speed, "even": exact(np.ones(nodes)), "wave": speed * (1 + WAVE * np.cos(angle))}[density]
    chosen = slice(None, None, nodes // 16)
    layers = []
    for level in range(levels):
        epsilon = 0.02 * waves["y"][0][2] ** 2 * 0.5**level
        change = advance_tokens(points, epsilon, weights) - points
        swept = (change[:, 0] * tangent[:, 1] - change[:, 1] * tangent[:, 0]).mean()
        layers.append((epsilon, change[chosen], hull(2 * PI) * swept + PlaneCurve(change).area))
    return angle[chosen], layers


def velocity(waves, angle, density, drift):
    """Curvature vector and drift times the slope of log p over arc, by hand, at angles of a curve."""
    x1, x2 = traced(waves, angle, 1), traced(waves, angle, 2)
    square = (x1 * x1).sum(axis=1)
    along = (x1 * x2).sum(axis=1) / square
    bend = (x2 - along[:, np.newaxis] * x1) / square[:, np.newaxis]
    slope = {  # of log p by the angle
        "uniform": 0.0 * angle, "even": -along, "wave": -WAVE * np.sin(angle) / (1 + WAVE * np.cos(angle)),
    }[density]  # fmt: skip
    return bend + drift * (slope / square)[:, np.newaxis] * x1


@verifies(
    Claim(
        "layers.curvature",
        "a layer moves tokens of a closed curve by half the bandwidth times the curvature vector and twice the slope of log p",
        r"$\frac2\varepsilon(H_{\mathrm{new}} - H) \to \vec{\mathcal H} + 2\nabla\log p$ to first order, for p with respect to arc length",
        remark=r"and then $\frac2\varepsilon(A_{\mathrm{new}} - A) \to -2\pi$ for the enclosed area, whatever p; ellipses with half-axes 1.5, 0.75; 1, 1; 1.25, 0.75 and the curve $(\cos\theta + .1\cos2\theta, .8\sin\theta + .05\cos2\theta + .02\sin3\theta)$, p constant, $1 + 0.3\cos\theta$, or of tokens even in the angle $\theta$",
        assumptions=("closed curve in the plane, in the limit of many tokens", "p positive and analytic"),
        spec=("DL.B11",),
        cites=("ruan2024", "gage1986"),
        source_status=DERIVED,
    ),
    constant("drift", "the slope of log p enters once", drift=1),
    constant("area", "the area falls by pi", area=1),
    hypothesis("uniform", "the density is constant", drift=0),
    bug("whole", "the step is epsilon times the velocity", step=1),
)
def test_curvature(run, *, drift=2, area=2, step=2):
    nodes, levels = run.pick(quick=(640, 6), paper=(800, 7))
    for name, waves in CURVES.items():
        for density in ("uniform", "even", "wave"):
            angle, layers = layered(name, density, nodes, levels)
            aim = velocity(waves, angle, density, drift)
            missed, areas = [], []
            for epsilon, change, grown in layers:
                missed.append(np.sqrt(((change * step / epsilon - aim) ** 2).mean()))  # unlike the largest, smooth
                areas.append(grown * step / epsilon)
            case = {"curve": name, "density": density}
            yield equals(limit(missed[-4:], order=1), 0, scale=1, part="error", **case)
            yield equals(order(missed[-4:]), 1, scale=1, part="its order", **case)
            yield equals(limit(areas[-4:], order=1), -area * PI, part="area", **case)


@verifies(
    Claim(
        "layers.curve-shortening",
        "an ellipse whose tokens weigh their arc shortens as by its curvature: the area falls at the rate 2 pi, all the way",
        r"$A(\tau) \to A_0 - 2\pi\tau$, to second order, $\tau = k\varepsilon/2$ up to 0.5 of 0.5625 at which the area is gone; half-axes 1.5 and 0.75",
        assumptions=(
            "weights computed anew by every layer",
            "tokens weigh the arc they stand for",
            "the order at the last time, where the slopes have come down to two",
        ),
        spec=("DL.B11",),
        cites=("gage1986",),
        source_status=("derived",),
    ),
    constant("rate", "the rate is pi", turn=1),
    bug("clock", "a layer takes the time epsilon", clock=2),
)
def test_curve_shortening(run, *, turn=2, clock=1):
    table = run.study(studies.self_dynamics).where(part="area")
    for t in (0.1, 0.2, 0.3, 0.4, 0.5):
        read = [table.where(epsilon=e, layer=round(2 * t / e))["value"][0] for e in table.levels("epsilon")[::-1]]
        claimed = hull(PI * ball(Fraction(9, 8) - turn * clock * Fraction(str(t))))
        yield equals(limit(read[-4:], order=2), claimed, scale=1, t=t)
        if t == 0.5:  # before, the slopes are still on their way down to two
            yield equals(order([area - claimed for area in read[-4:]]), 2, scale=1, t=t, part="order")
