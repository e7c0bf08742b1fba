"""Stacks of metric-attention: the drift-diffusion in the metric that is learned, on closed curves and on a torus.

The equation is solved by collocation in the angles and one of SciPy's methods, which share neither code nor transforms
with attention; the metrics are written down by hand.
"""

from fractions import Fraction
from functools import cache

import numpy as np

from theory.diffusion import studies
from theory.diffusion.geometry import heat_flow
from theory.diffusion.limits import extrapolate, largest_errors, read_levels
from theory.diffusion.stack_settings import METRIC_STACKS
from theory.evidence import Claim, bug, constant, equals, hypothesis, limit, order, verifies
from verify.textbook import learned

RUAN = ("ruan2024", "coifman2006")
DERIVED = ("derived", "refereed")


@cache
def flow(way, shown, relative, drift, clock=1):
    """The drift-diffusion of ``way`` in the metric ``shown``, of the density relative to its volume or not."""
    metric = learned.METRICS[shown]
    nodes = learned.NODES[way]

    def weight(*axes):
        return learned.relative_density(metric, axes, float(relative)) ** drift

    start = learned.STARTS[len(nodes)]
    return heat_flow(
        metric, start, clock * METRIC_STACKS[way].time, METRIC_STACKS[way].places, nodes=nodes, weight=weight
    )


def settled(errors):
    """The errors, coarse to fine, until rounding is more than a tenth; four at least, which carry theirs."""
    return list(errors)[: max(4, sum(error.width <= 0.1 * error.lo for error in errors))]


def converges(table, way, truth):
    """Find the order of the largest error, after one extrapolation where levels are left, and the limits."""
    _, levels = read_levels(table.where(way=way), "value")
    size = float(np.ptp(truth.mid))
    for extrapolations, values in enumerate((levels, extrapolate(levels))):
        if len(values) >= 4:
            errors = settled(largest_errors(values, truth))
            yield equals(
                order(errors[-4:]), 1 + extrapolations, scale=1, way=way, extrapolations=extrapolations, part="order"
            )
    for at, target in enumerate(truth):
        yield equals(limit(levels[-4:, at], order=1), target, scale=size, way=way, place=at, part="limit")


@verifies(
    Claim(
        "layers.metric-curve",
        "a stack of metric-attention on a closed curve runs the drift-diffusion in the metric of its features, with the density relative to that metric, to first order",
        r"$\|P_\varepsilon^{2t/\varepsilon}h - e^{tL_{g,q}}h\| = O(\varepsilon)$ for weights $e^{-|F(x) - F(y)|^2/2\varepsilon}$, $g = |F'|^2$, $q = p/\sqrt g$, order exactly 1, after extrapolation 2",
        remark=r"the ellipse $(\cos x, 0.7\sin x)$ and $(\cos x, 0.8\sin x, 0.4\sin 2x)$, $t = \frac14$, 8 to 256 layers among $24/\sqrt\varepsilon$ quantile tokens",
        assumptions=(
            "F an immersion without double points",
            "p positive and analytic",
            "weights computed from features that stay; values averaged without a residual",
            "orders and limits from the four finest bandwidths, as few as there may be, orders from those at which rounding is not yet seen",
        ),
        spec=("DL.B4", "DL.B8"),
        cites=RUAN,
        source_status=DERIVED,
    ),
    bug("old-density", "the density stays the one with respect to the angle", relative=0),
    constant("drift", "the drift coefficient is one", drift=1),
    constant("clock", "a layer takes the time epsilon", clock=2),
    hypothesis("round", "distances are those of the angle", shown="round"),
)
def test_curve(run, *, relative=1, drift=2, clock=1, shown=None):
    table = run.study(studies.metric_stack)
    for way in ("ellipse", "bent"):
        yield from converges(table, way, flow(way, shown or way, relative, drift, clock))


@verifies(
    Claim(
        "layers.metric-torus",
        "so does a stack on a torus in space, whose metric is neither flat nor diagonal",
        r"$\|P_\varepsilon^{2t/\varepsilon}h - e^{tL_{g,q}}h\| = O(\varepsilon)$ on $\mathbb T^2$, $g = DF^\top DF$, $q = p/\sqrt{\det g}$, order exactly 1",
        remark=r"$F = ((2 + \cos\theta)\cos u, (2 + \cos\theta)\sin u, \sin\theta)$, $\theta = v + 0.4\sin u$, $t = \frac38$, 4 to 32 layers among up to 4332 tokens that weigh their density; at the paper scale 64 layers and, after extrapolation, order 2",
        assumptions=(
            "F an immersion without double points",
            "p positive and analytic",
            "weights computed from features that stay; values averaged without a residual",
            "orders and limits from the four finest bandwidths, as few as there may be, orders from those at which rounding is not yet seen",
            "neighbours at most 1.1 roots of epsilon apart, which takes a share of some 5e-6 of the time of every layer",
        ),
        spec=("DL.B4", "DL.B8"),
        cites=RUAN,
        source_status=DERIVED,
    ),
    bug("old-density", "the density stays the one with respect to the angles", relative=0),
    bug("root", "the density is divided by the root of the volume", relative=Fraction(1, 2)),
    constant("drift", "the drift coefficient is one", drift=1),
    hypothesis("straight", "the metric has no entry off the diagonal", shown="straight"),
)
def test_torus(run, *, relative=1, drift=2, shown="torus"):
    table = run.study(studies.metric_stack)
    yield from converges(table, "torus", flow("torus", shown, relative, drift))
