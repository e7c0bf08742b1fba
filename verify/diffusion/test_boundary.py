"""Where the tokens end: a layer pushes inwards by the root of the bandwidth, and stacks feel a nearer, reflecting wall."""

import math
from fractions import Fraction

import flint
import numpy as np

from theory.diffusion import studies
from theory.diffusion.geometry import gauss_tokens, layer_rise
from theory.diffusion.settings import SEGMENT_TIME
from theory.evidence import Claim, Interval, ball, bug, constant, equals, hypothesis, limit, order, verifies
from verify.textbook import hull

LAFON = ("coifman2006", "belkin2012")
SPOTS = tuple(map(Fraction, (0, 1, 2, 4, 7)))


def normal(s):
    """The density and the distribution function of the standard normal, in balls."""
    s = ball(s)
    density = (-s * s / 2).exp() / (2 * flint.arb.pi()).sqrt()
    return density, (1 + (s / ball(2).sqrt()).erf()) / 2


def ratio(s):
    density, mass = normal(s)
    return density / mass


@verifies(
    Claim(
        "edge.half-line",
        "near a wall a layer moves straight lines by the root of the bandwidth times a ratio of the normal law, and parabolas by the bandwidth",
        r"uniform tokens on $x \ge 0$, $x = s\sqrt\varepsilon$, $R = \phi(s)/\Phi(s)$: $P_\varepsilon x - x = \sqrt\varepsilon R$ and $P_\varepsilon x^2 - x^2 = \varepsilon(1 + sR)$, exactly, for every $\varepsilon$",
        assumptions=("flat wall", "uniform tokens, many", "weights of squared distance"),
        spec=("DL.B12",),
        cites=LAFON,
        source_status=("derived", "refereed"),
    ),
    constant("order", "a layer moves straight lines by the bandwidth, as inside", power=1),
    bug("mass", "the mass that is cut off is not made up for", conditional=False),
    constant("defect", "the parabola loses what the line gains: 1 - sR", sign=-1),
)
def test_half_line(run, *, power=Fraction(1, 2), conditional=True, sign=1):
    for epsilon in run.pick(
        quick=(0.5, 2.0**-12, 2.0**-40, 2.0**40), paper=(0.5, 0.04, 2.0**-7, 2.0**-12, 2.0**-20, 2.0**-40, 2.0**40)
    ):
        for s in SPOTS:
            r = ratio(s) if conditional else normal(s)[0]
            claimed = ball(Fraction(epsilon)) ** ball(power) * r
            unit = math.sqrt(epsilon)
            place = float(s)
            rise = layer_rise(lambda x: x, np.ones_like, epsilon, place)
            yield equals(rise, hull(claimed), scale=unit, part="lines", epsilon=epsilon, s=place)
            rise = layer_rise(lambda x: x**2, np.ones_like, epsilon, place)
            claimed = ball(Fraction(epsilon)) * (1 + sign * ball(s) * r)
            yield equals(rise, hull(claimed), scale=epsilon, part="parabolas", epsilon=epsilon, s=place)


@verifies(
    Claim(
        "edge.layer",
        "on a wall the change by a layer, over its bandwidth, diverges like its inverse root times the normal derivative",
        r"$P_\varepsilon h - h = \sqrt\varepsilon\frac{\phi(s)}{\Phi(s)}\partial_\nu h + O(\varepsilon)$ at $x = s\sqrt\varepsilon$",
        remark=r"$\sqrt\varepsilon\,\frac{P_\varepsilon h - h}\varepsilon \to \sqrt{2/\pi}\,\partial_\nu h$ on it: $h = \sin x + \frac12\cos 2x$, $p \propto e^{0.7\sin x}$",
        assumptions=("flat wall", "p positive and smooth", "row-normalised"),
        spec=("DL.B12",),
        cites=LAFON,
        source_status=("derived", "refereed"),
    ),
    constant("uniform", "the change is of order one up to the wall", factor=0, power=1),
    constant("half", "on the wall the rate is half of it, that of a normal law not conditioned", factor=Fraction(1, 2)),
    hypothesis("neumann", "the normal derivative vanishes", part="flat"),
)
def test_layer(run, *, factor=1, power=Fraction(1, 2), part="slope"):
    table = run.study(studies.boundary).where(part=part)
    for s in table.levels("place"):
        column = table.where(place=s)
        levels = [column.where(epsilon=e) for e in sorted(set(column["epsilon"].tolist()), reverse=True)]
        rises = [level.intervals("value")[0] / float(level["epsilon"][0] ** 0.5) for level in levels]
        claimed = factor * hull(ratio(Fraction(s)))
        yield equals(limit(rises, ratio=4.0, order=0.5), claimed, scale=1, s=s)
        if s == 0.0:
            wall = factor * hull((2 / flint.arb.pi()).sqrt())
            yield equals(limit(rises, ratio=4.0, order=0.5), wall, scale=1, s=s, part="square root of 2 / pi")
            sizes = [level.intervals("value")[0] for level in levels]
            yield equals(order(sizes, ratio=4.0), power, scale=1, s=s, part="order of a layer's change")


@verifies(
    Claim(
        "edge.defect",
        "beside a wall with vanishing normal derivative a layer does more than half the second derivative, not less",
        r"$\partial_\nu h = 0$ $\Rightarrow$ $\frac{P_\varepsilon h - h}\varepsilon \to \frac12\partial_\nu^2h\,\bigl(1 + s\frac{\phi(s)}{\Phi(s)}\bigr)$ at $x = s\sqrt\varepsilon$",
        remark=r"against the mass $\Phi(s)$ of the keys in sight the excess integrates to $+\phi(0)$: $h = \cos x$, $p \propto e^{0.7\sin x}$",
        assumptions=("half-line, or h and p constant along a flat wall", "p positive and smooth", "row-normalised"),
        spec=("DL.B12",),
        cites=LAFON,
        source_status=("derived",),
    ),
    constant(
        "printed", "the defect is that of the second moment alone, E[u^2 | u > -s] - 1, of integral -phi(0)", sign=-1
    ),
    hypothesis("sloped", "the normal derivative is 1", part="slope"),
    constant("none", "there is no defect", sign=0),
)
def test_defect(run, *, sign=1, part="flat"):
    table = run.study(studies.boundary).where(part=part)
    for s in table.levels("place"):
        column = table.where(place=s)
        levels = [column.where(epsilon=e) for e in sorted(set(column["epsilon"].tolist()), reverse=True)]
        rates = [level.intervals("value")[0] / float(level["epsilon"][0]) for level in levels]
        claimed = -hull(1 + sign * ball(Fraction(s)) * ratio(Fraction(s))) / 2
        sizes = [level.intervals("value")[0] for level in levels]
        yield equals(order(sizes, ratio=4.0), 1, scale=1, s=s, part="order of a layer's change")
        yield equals(limit(rates, ratio=4.0, order=0.5), claimed, scale=1, s=s)
    # x^2 has exactly the limiting profile, so that its excess can be integrated at one bandwidth
    places, weights = gauss_tokens(np.arange(0.0, 13.0), run.pick(quick=10, paper=16))
    excess = [layer_rise(lambda x: x**2, np.ones_like, 1.0, s) - 1 for s in places[:, 0].tolist()]
    parts = [
        e * hull(normal(Fraction(s))[1]) * w
        for e, s, w in zip(excess, places[:, 0].tolist(), weights.tolist(), strict=True)
    ]
    claimed = sign * hull(normal(0)[0])
    yield equals(sum(parts[1:], parts[0]), claimed, scale=1, part="integral")


def shortfall(x, sign, terms=400):
    """The coefficient of the root of the bandwidth in a stack's error: a source on either wall, by cosines, in balls."""
    pi = flint.arb.pi()
    t = ball(Fraction(1, 10))
    x = ball(Fraction(x))
    first = (-pi * pi * t).exp()
    total = 4 * pi * pi * t * first * (pi * x).cos()
    for k in range(3, 2 * terms, 2):
        total += 4 * (first - (-k * k * pi * pi * t).exp()) / (k * k - 1) * (k * pi * x).cos()
    tail = 4 * first * ball(Fraction(1, 4 * (terms - 1)))  # the sum of 1 / (k^2 - 1) over odd k from 2 n + 1 is 1 / 4 n
    return -sign * normal(0)[0] * (total + tail * flint.arb(0, 1))


@verifies(
    Claim(
        "edge.stack",
        "stacks on a segment tend to the reflected diffusion at order one half, as if either wall stood phi(0) bandwidths' roots nearer",
        r"uniform tokens on $[0, 1]$, $h = \cos\pi x$, $t = \frac1{10}$: $P_\varepsilon^{2t/\varepsilon}h - e^{t\Delta_N}h = \sqrt\varepsilon\,e + O(\varepsilon)$ with $e = \phi(0)\int_0^t\sum_{b = 0, 1}G_{t-\tau}(x, b)\,\partial_x^2e^{\tau\Delta_N}h(b)\,d\tau$ with the Neumann heat kernel $G$",
        assumptions=("segment", "uniform tokens, many", "the normal derivative of h vanishes at the walls"),
        spec=("DL.B12",),
        cites=LAFON,
        source_status=("derived",),
    ),
    constant("uniform", "the order is 1 up to the walls", power=1),
    constant("printed", "the source has the strength -phi(0): the stack lags behind", sign=-1),
    bug("time", "a layer takes the time epsilon", clock=2),
)
def test_stack(run, *, power=Fraction(1, 2), sign=1, clock=1):
    table = run.study(studies.boundary).where(part="stack")
    epsilons = sorted(set(table["epsilon"].tolist()), reverse=True)
    places = table.where(epsilon=epsilons[0])["place"].tolist()
    pi = flint.arb.pi()
    t = clock * ball(Fraction(str(SEGMENT_TIME)))
    truth = [hull((-pi * pi * t).exp() * (pi * ball(Fraction(x))).cos()) for x in places]
    levels = [table.where(epsilon=e).intervals("value") for e in epsilons]
    yield equals(order([level[0] - truth[0] for level in levels]), power, scale=1, x=0.0, part="order")
    sources = [hull(shortfall(x, sign)) for x in places]
    scaled = [
        [(value - u) / Interval.exactly(Fraction(e)).sqrt() for value, u in zip(level, truth, strict=True)]
        for level, e in zip(levels, epsilons, strict=True)
    ]
    for at, x in enumerate(places):
        yield equals(limit([level[at] for level in scaled], order=0.5), sources[at], scale=1, x=x)
    wall = [
        (level[0] - sources[0]) * Interval.exactly(Fraction(e)).sqrt()
        for level, e in zip(scaled, epsilons, strict=True)
    ]
    yield equals(order(wall), 2 * power, scale=1, x=0.0, part="order of what is left")
