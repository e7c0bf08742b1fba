"""The heat equation of theorem 4 as a flow: stacks of layers against its solutions in a new metric, with its clock.

The equation is solved by collocation in the angles, from nothing but the metric and the speed: determinant, inverse and
divergence are taken numerically. It shares neither code nor transforms with attention.
"""

from functools import cache

import numpy as np

from theory.diffusion import studies
from theory.diffusion.geometry import heat_flow
from theory.diffusion.limits import largest_errors, read_levels
from theory.diffusion.stack_settings import METRIC_STACKS
from theory.evidence import Claim, bug, constant, equals, exact, hypothesis, limit, order, verifies
from verify.textbook import learned

RUAN = ("ruan2024",)
DERIVED = ("derived", "refereed")
LIFTED_NODES = {"ellipse": (35,), "torus": (29, 25)}
DIMENSIONS = {"ellipse": 1, "bent": 1, "torus": 2, "cube": 3}


@cache
def extreme(way, *, least):
    """The least or the largest relative density, on a grid."""
    line = np.linspace(0.0, 2.0 * np.pi, 33)
    axes = np.meshgrid(*[line] * DIMENSIONS[way], sparse=True)
    found = learned.relative_density(learned.METRICS[way], axes)
    return float(found.min() if least else found.max())


@cache
def conformal(way, exponent, clock):
    """The heat equation in q^exponent g at the speed q^clock, q relative to the volume of g."""
    metric = learned.METRICS[way]
    nodes = learned.NODES[way]
    unit = extreme(way, least=exponent > 0.0)  # masses have any total; this one makes no flow faster than that of g

    def scaled(*axes):
        factor = (learned.relative_density(metric, axes) / unit) ** exponent
        return [[factor * entry for entry in row] for row in metric(*axes)]

    def speed(*axes):
        return (learned.relative_density(metric, axes) / unit) ** clock

    start = learned.STARTS[len(nodes)]
    return heat_flow(scaled, start, METRIC_STACKS[way].time, METRIC_STACKS[way].places, nodes=nodes, speed=speed)


@cache
def lifted(way, power):
    """The heat equation in g + c q^power dtheta^2, one dimension more, at unit speed."""
    metric = learned.METRICS[way]
    flat = learned.STARTS[DIMENSIONS[way]]
    unit = extreme(way, least=True)  # the circle is as long as it likes

    def above(*axes):
        below = axes[:-1]
        rows = [[*row, 0.0] for row in metric(*below)]
        length = (learned.relative_density(metric, below) / unit) ** power
        return [*rows, [0.0] * len(rows) + [length]]

    places = METRIC_STACKS[way].places
    around = np.full((len(places), 1), 0.7)
    return heat_flow(
        above,
        lambda *axes: flat(*axes[:-1]),
        METRIC_STACKS[way].time,
        np.concatenate([places, around], axis=1),
        nodes=(*LIFTED_NODES[way], 5),
    )


def converges(table, way, truth):
    """Find the order of the largest error, and its limit."""
    _, levels = read_levels(table.where(way=way), "value")
    size = float(np.ptp(truth.mid))
    d = DIMENSIONS[way]
    errors = largest_errors(levels, truth)[-4:]
    yield equals(order(errors), 1, scale=1, way=way, d=d, part="order")
    yield equals(limit(errors, order=1), 0, scale=size, way=way, d=d, part="largest error")


@verifies(
    Claim(
        "heat.flow",
        "in one and in three dimensions a stack of layers runs a heat equation, in a conformal metric and with a clock that goes differently at every place",
        r"$P_\varepsilon^{2t/\varepsilon}h \to u(t)$, $\partial_tu = f\Delta_{\tilde g}u$, $u(0) = h$, $\tilde g = q^{4/(d-2)}g$, $f = q^{4/(d-2)}$, with error of order 1",
        remark=r"$d = 1$: two closed curves with their learned metric, $t = \frac14$; $d = 3$: $(e^{ix}, e^{iy}, e^{iz})$ with a density that is no product, $t = \frac14$, up to 27000 tokens",
        assumptions=(
            "F an immersion without double points",
            "q, the density relative to the volume of g, positive and analytic",
            "weights computed from features that stay; values averaged without a residual",
            "d = 3 with the flat metric, and density and start symmetric as the cube is; neighbours at most 1.2 roots of epsilon apart, which takes a share of some 6e-5 of the time of every layer",
            "orders and limits from the four finest bandwidths, as few as there may be",
        ),
        spec=("DL.C1", "DL.B8"),
        cites=RUAN,
        source_status=DERIVED,
    ),
    constant("half", "the exponent is 2 / (d - 2)", exponent=lambda d: 2.0 / (d - 2), clock=lambda d: 2.0 / (d - 2)),
    constant("sign", "the exponent is -4 / (d - 2)", exponent=lambda d: -4.0 / (d - 2), clock=lambda d: -4.0 / (d - 2)),
    bug("no-clock", "the factor is dropped: a pure heat equation", clock=lambda _: 0.0),
    hypothesis("uniform", "the density is taken to be constant", exponent=lambda _: 0.0, clock=lambda _: 0.0),
)
def test_flow(run, *, exponent=lambda d: 4.0 / (d - 2), clock=lambda d: 4.0 / (d - 2)):
    table = run.study(studies.metric_stack)
    for way in ("ellipse", "bent", "cube"):
        d = DIMENSIONS[way]
        yield from converges(table, way, conformal(way, exponent(d), clock(d)))


@verifies(
    Claim(
        "heat.lifted-flow",
        "with one dimension more a stack of layers runs a pure heat equation, in two dimensions, too, where it runs none in q^4 g, with the clock or without",
        r"$P_\varepsilon^{2t/\varepsilon}h \to e^{t\Delta_G}h$ for $G = g + cq^4d\theta^2$ on $M \times S^1$ and h independent of $\theta$, with error of order 1",
        remark=r"an ellipse and a twisted torus in space with their learned metrics, $t = \frac14, \frac38$; in the plane $q^eg$ with the clock $q^e$ has the flow of g for every e",
        assumptions=(
            "F an immersion without double points",
            "q, the density relative to the volume of g, positive and analytic",
            "weights computed from features that stay; values averaged without a residual",
            "orders and limits from the four finest bandwidths, as few as there may be",
        ),
        spec=("DL.C3", "DL.C4", "DL.B8"),
        cites=RUAN,
        source_status=DERIVED,
    ),
    constant("square", "the circle has length q", power=2),
    hypothesis("clock", "in two dimensions q^4 g with its clock", plane=(4.0, 4.0)),
    bug("no-clock", "in two dimensions q^4 g without a clock", plane=(4.0, 0.0)),
)
def test_lifted_flow(run, *, power=4, plane=None):
    table = run.study(studies.metric_stack)
    yield from converges(table, "ellipse", lifted("ellipse", power))
    yield from converges(table, "torus", lifted("torus", power) if plane is None else conformal("torus", *plane))


@cache
def copies():
    """How often a place of the cube stands for another one, and one for each place of a curve."""
    steps = np.rint(METRIC_STACKS["cube"].places * 8 / np.pi).astype(int)
    signs = np.where((steps > 0) & (steps < 8), 2, 1).prod(axis=1)
    orders = np.array([{1: 1, 2: 3, 3: 6}[len(set(row))] for row in steps.tolist()])
    return signs * orders


def weighed(way, exponent, heat):
    """The weights at the places of the volume of q^exponent g times a specific heat q^heat, of sum one."""
    metric = learned.METRICS[way]
    axes = METRIC_STACKS[way].places.T
    d = DIMENSIONS[way]
    q = learned.relative_density(metric, axes)
    weights = q ** (exponent * d / 2 + heat) * learned.volume(metric, axes) * (copies() if way == "cube" else 1)
    return weights / weights.sum()


@verifies(
    Claim(
        "heat.clock",
        "no one number is the rescaled time: what the heat equation keeps at any common speed moves, and what it keeps with the clock stays",
        r"$\int P_\varepsilon^{2t/\varepsilon}h\,f^{-1}d\mathrm{vol}_{\tilde g} \to \int h\,f^{-1}d\mathrm{vol}_{\tilde g}$, and $\int P_\varepsilon^{2t/\varepsilon}h\,d\mathrm{vol}_{\tilde g}$ tends to that of $\partial_tu = f\Delta_{\tilde g}u$, while $e^{s\Delta_{\tilde g}}$ keeps it for every s",
        remark=r"relative to the total, by the trapezoidal rule at the places; two closed curves and $d = 3$",
        assumptions=(
            "F an immersion without double points",
            "q, the density relative to the volume of g, positive and analytic",
            "weights computed from features that stay; values averaged without a residual",
            "d = 3 with the flat metric, and density and start symmetric as the cube is; neighbours at most 1.2 roots of epsilon apart, which takes a share of some 6e-5 of the time of every layer",
            "limits from the four finest bandwidths, as few as there may be",
        ),
        spec=("DL.C2",),
        cites=RUAN,
        source_status=DERIVED,
    ),
    hypothesis("one-speed", "the clock is one number, any", clocked=False),
    constant("heat", "the specific heat is the factor itself", heat=1),
    bug("volume", "the specific heat is left out", heat=0),
)
def test_clock(run, *, clocked=True, heat=-1):
    table = run.study(studies.metric_stack)
    for way in ("ellipse", "bent", "cube"):
        exponent = 4.0 / (DIMENSIONS[way] - 2)
        _, levels = read_levels(table.where(way=way), "value")
        start = learned.STARTS[DIMENSIONS[way]](*METRIC_STACKS[way].places.T)
        kept = weighed(way, exponent, heat * exponent)
        found = limit((levels[-4:] * kept).sum(axis=1), order=1)
        yield equals(found, exact((start * kept).sum()), scale=np.ptp(start), way=way, part="kept with the clock")
        total = weighed(way, exponent, 0.0)
        ends = conformal(way, exponent, exponent) if clocked else exact(start)
        found = limit((levels[-4:] * total).sum(axis=1), order=1)
        yield equals(found, (ends * total).sum(), scale=np.ptp(start), way=way, part="moves at one speed")
