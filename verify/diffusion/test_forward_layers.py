"""Layers that move tokens so that their density runs a well-posed equation, and those that only seem to.

Equations are solved by the method of lines, with a matrix of derivatives and SciPy; layers are the engine's attention.
"""

from fractions import Fraction
from functools import cache

import numpy as np

from theory.diffusion import studies
from theory.diffusion.limits import largest_errors, read_levels
from theory.diffusion.moving import (
    CircleLayer,
    NoisyLayer,
    circle_points,
    far_means,
    solve_density,
    turn_angles,
    wave_factor,
)
from theory.diffusion.settings import WAVY_DENSITY
from theory.diffusion.stack_settings import CONTEXT_DENSITY, EVEN_DENSITY, FORWARD_PLACES
from theory.evidence import (
    Claim,
    at_least,
    at_most,
    ball,
    bug,
    constant,
    equals,
    estimated,
    hull,
    hypothesis,
    limit,
    order,
    precision,
    sup_over,
    verifies,
)

DERIVED = ("derived",)
ON_CIRCLE = "tokens on the unit circle, normalised after every layer, at quantiles of a smooth positive density"
ANEW = "weights computed anew by every layer"
LADDER = "bandwidths down to 1/128; the density at 16 places, the order that of the root mean square error"
FINER = LADDER.replace("1/128", "1/256")


def heat(rate):
    """The heat equation at a rate."""
    return lambda u, d, _: rate * d(d(u))


def porous(rate):
    """The equation of a porous medium, whose velocity is minus the slope of the density."""
    return lambda u, d, _: rate * d(u * d(u))


def towards_context(pull):
    """The Fokker-Planck equation of the density of the context."""
    return lambda u, d, x: d(d(u) - pull * u * CONTEXT_DENSITY.log_slope(x))


def fourth(rate):
    """The equation of fourth order of keys divided by their density."""
    return lambda u, d, _: -rate * d(u * d(d(d(u)) / u))


def fourth_linear(rate):
    """The same around a uniform density."""
    return lambda u, d, _: -rate * d(d(d(d(u))))


@cache
def solved(equation, number, time, even=False):
    """The solution at the places, once for a claim and its twins."""
    start = EVEN_DENSITY if even else WAVY_DENSITY
    return solve_density(equation(number), lambda x: 2 * np.pi * start(x), time, places=FORWARD_PLACES)


def densities(table, way, t):
    """The density after the layers, for falling bandwidths."""
    return read_levels(table.where(way=way, t=t), "value")[1]


def covered(levels, target, even):
    """What part of the change since the start, which is along it, the layers have made."""
    start = 2 * np.pi * (EVEN_DENSITY if even else WAVY_DENSITY)(2 * np.pi * np.arange(FORWARD_PLACES) / FORWARD_PLACES)
    change = target - start
    return ((levels - start) * change).mean(axis=1) / (change**2).mean()


def follows(table, way, equation, number, even=False, degree=1):
    """Yield that a stack tends to an equation, in the largest error and along its change, and to first order.

    The largest error has no sign, so that its limit may hide a rate that is wrong by 2 %. The part of the change has one,
    and shows 1 %.
    """
    for t in table.where(way=way).levels("t"):
        target = solved(equation, number, t, even)
        levels = densities(table, way, t)[-4:]
        case = {"way": way, "t": t}
        yield equals(limit(largest_errors(levels, target), order=1), 0, scale=1, part="density", **case)
        yield equals(limit(covered(levels, target, even), order=1), 1, part="rate", **case)
        mean_square = np.sqrt(((levels - target) ** 2).mean(axis=1))
        yield equals(order(mean_square), degree, scale=1, part="order", **case)


@verifies(
    Claim(
        "layers.forward",
        "a layer that steps away from the average runs the heat equation forward, to first order in the bandwidth",
        r"$x \leftarrow (x + s(m - x))/|\cdot|$, $s = -1, -\frac12$: at $k\varepsilon = t$ the density tends to that of $\partial_t\rho = |s|\,\partial^2\rho$, with an error of order 1",
        remark=r"$s = -1$ ($x \leftarrow 2x - m$) at $t = \frac18, \frac12, 2$; $s = -\frac12$ at $t = \frac18, \frac12$. Below $s = -e$ no such limit is there: layers.forward-steps",
        assumptions=(ON_CIRCLE, ANEW, LADDER),
        spec=("DL.B11",),
        cites=("carreira2006",),
        source_status=DERIVED,
    ),
    constant("half", "half the rate, as of functions under kept weights", share=0.5),
    constant("near", "a rate one per cent larger", share=1.01),
    constant("second", "the error is of second order", degree=2),
    hypothesis("kept", "all layers average with the weights of the first", first="kept"),
)
def test_forward(run, *, share=1.0, first="reversed", degree=1):
    table = run.study(studies.forward)
    yield from follows(table, first, heat, share, degree=degree)
    yield from follows(table, "half step", heat, 0.5 * share, degree=degree)


@cache
def turned(epsilon, connection):
    """By what a layer of value matrix -I beside a residual connection turns tokens at the places, by two numbers."""
    found = []
    for per in (24, 16):
        x = 2 * np.pi * np.arange(per * FORWARD_PLACES) / (per * FORWARD_PLACES)
        shifts = (connection - 2) * circle_points(x) - CircleLayer(epsilon).shift(x, WAVY_DENSITY(x))
        found.append((turn_angles(x, shifts) - x)[::per].tolist())
    return [estimated(a, b, times=2.0) for a, b in zip(*found, strict=True)]


@verifies(
    Claim(
        "layers.forward-plain",
        "the value matrix -I beside a plain residual connection diffuses nothing: tokens turn by angles of order one in one layer",
        r"$x \leftarrow (x - m)/|x - m|$ turns tokens by $-\arctan(2(\log\rho)')$ as $\varepsilon \to 0$",
        remark="both parts of x - m, along the circle and across it, are of the size of the bandwidth",
        assumptions=(
            "tokens on the unit circle, normalised after the layer, that weigh a smooth positive density",
            "bandwidths down to 1/256, 16 places",
        ),
        spec=("DL.B11",),
        source_status=DERIVED,
    ),
    constant("once", "the slope once", slope=1),
    hypothesis("doubled", "a residual connection of weight two", connection=2.0),
)
def test_plain(run, *, slope=2, connection=1.0):
    angles = np.stack([turned(2.0**-k, connection) for k in range(5, 9)])
    for place in range(FORWARD_PLACES):
        with precision():
            x = 2 * ball(place) * ball(1).atan() * 4 / FORWARD_PLACES
            aim = hull(-(slope * (ball("0.6") * (2 * x).cos() - ball("0.8") * x.sin())).atan())
        yield equals(limit(list(angles[:, place]), order=1), aim, scale=1, place=place)


@verifies(
    Claim(
        "layers.forward-corrected",
        "reversed layers whose keys are divided by a power alpha of their density run the heat equation at the rate 1 - alpha, at alpha = 1/2 and -1/2",
        r"keys weighted by $(K_\varepsilon\rho)^{-\alpha}$, $s = -1$, $\alpha = \pm\frac12$: $\partial_t\rho = (1 - \alpha)\,\partial^2\rho$ at $k\varepsilon = t$, order 1",
        remark=r"$t = \frac18, \frac12$. For $\alpha > 1$ the equation is ill-posed, and of averaging layers with $\alpha > 1$ it is the layers that are unstable, as of reversed ones at $\alpha = -4$: layers.forward-waves",
        assumptions=(ON_CIRCLE, ANEW, LADDER),
        spec=("DL.B11",),
        cites=("coifman2006",),
        source_status=DERIVED,
    ),
    constant("uncorrected", "the density is not divided out", power=0.0),
    bug("half", "half of the power, as in a symmetric normalisation", power=0.5),
    hypothesis("multiplied", "keys are multiplied by the power", sign=-1.0),
    constant("near", "a power two per cent larger", power=1.02),
)
def test_corrected(run, *, power=1.0, sign=1.0):
    table = run.study(studies.forward)
    for alpha in (0.5, -0.5):
        yield from follows(table, f"alpha {sign * alpha:g}", heat, 1.0 - power * alpha)


@verifies(
    Claim(
        "layers.forward-fourth",
        "reversed layers whose keys are divided by their density stand still to first order and run an equation of fourth order",
        r"$\alpha = 1$, $s = -1$: $\partial_\tau\rho = -\frac12\,\partial(\rho\,\partial(\rho''/\rho))$ at $k\varepsilon^2 = \tau$, order 1",
        remark=r"$\tau = \frac1{64}$",
        assumptions=(ON_CIRCLE, ANEW, LADDER),
        spec=("DL.B11",),
        source_status=DERIVED,
    ),
    constant("whole", "the coefficient is one", rate=1.0),
    constant("near", "a coefficient two per cent larger", rate=0.51),
    bug("linear", "the equation around a uniform density", equation=fourth_linear),
)
def test_fourth(run, *, rate=0.5, equation=fourth):
    yield from follows(run.study(studies.forward), "alpha 1", equation, rate)


@verifies(
    Claim(
        "layers.forward-sinkhorn",
        "reversed layers with Sinkhorn's weights run the heat equation at half the rate",
        r"doubly stochastic weights, $s = -1$: $\partial_t\rho = \frac12\,\partial^2\rho$ at $k\varepsilon = t$, order 1",
        remark=r"$t = \frac18, \frac12$; the keys' law tends to $\sqrt\rho$",
        assumptions=(ON_CIRCLE, ANEW, LADDER),
        spec=("DL.B11",),
        cites=("sander2022", "marshall2019"),
        source_status=DERIVED,
    ),
    constant("whole", "the rate of softmax", rate=1.0),
    constant("near", "a rate one per cent larger", rate=0.505),
    hypothesis("rows", "only the rows are normalised", way="reversed"),
)
def test_sinkhorn(run, *, rate=0.5, way="sinkhorn"):
    yield from follows(run.study(studies.forward), way, heat, rate)


@verifies(
    Claim(
        "layers.forward-sum",
        "reversed layers whose sums no row divides run the equation of a porous medium",
        r"$x \leftarrow x - \frac1n\sum_jk_\varepsilon(x, x_j)(x_j - x)$: $\partial_tu = \partial(u\,\partial u)$ for $u = 2\pi\rho$ at $k\varepsilon = t$, order 1",
        remark=r"$t = \frac18, \frac12$; kernel of mean one over equidistant tokens, 1/n of the sum. Here u is at most 2.18; waves see a step that is u times as large (layers.forward-waves), and with step three, $3u \le 6.5$, the error grows as the bandwidth is halved",
        assumptions=(ON_CIRCLE, r"$2\pi\rho < e$ everywhere", ANEW, FINER),
        spec=("DL.B11",),
        source_status=DERIVED,
    ),
    constant("square", "the Laplacian of the square, not of its half", rate=2.0),
    bug("heat", "the equation of softmax", equation=heat),
    hypothesis("softmax", "every row is divided by its sum", way="reversed"),
    hypothesis("thin", "the step beyond is not taken", beyond=("sum", 1.0)),
)
def test_sum(run, *, rate=1.0, equation=porous, way="sum", beyond=("sum step 3", 3.0)):
    table = run.study(studies.forward)
    yield from follows(table, way, equation, rate)
    name, step = beyond
    first, second = largest_errors(densities(table, name, 0.5)[:2], solved(porous, step, 0.5))
    yield at_least(second / first, 2, part="beyond e")


@verifies(
    Claim(
        "layers.forward-context",
        "a head that attends to fixed tokens minus one that attends to its own runs the Fokker-Planck equation to their law",
        r"$x \leftarrow (x + m_\pi(x) - m_\rho(x))/|\cdot|$: $\partial_t\rho = \partial^2\rho - \partial(\rho\,\partial\log\pi)$ at $k\varepsilon = t$, order 1",
        remark=r"plain residual connection, value matrices $I$ and $-I$; $t = \frac18, \frac12, 2$",
        assumptions=(ON_CIRCLE, "those of the context at quantiles of another", ANEW, LADDER),
        spec=("DL.B11",),
        source_status=DERIVED,
    ),
    constant("half", "the drift is half as strong, to the root of that law", pull=0.5),
    constant("near", "a drift two per cent stronger", pull=1.02),
    hypothesis("alone", "there is no context", way="reversed"),
)
def test_context(run, *, pull=1.0, way="context"):
    yield from follows(run.study(studies.forward), way, towards_context, pull)


@verifies(
    Claim(
        "layers.forward-noise",
        "noise of variance two sigma epsilon adds sigma to the rate: less one if tokens average, and one if the layer is reversed",
        r"$\partial_t\rho = (\sigma - s)\,\partial^2\rho$ at $k\varepsilon = t$, order 1",
        remark=r"$s = 1, \sigma = 2$ and $s = -1, \sigma = 1$ at $t = \frac18, \frac12$; for $s = 1$ well-posed from $\sigma = 1$ on: layers.forward-waves",
        assumptions=(ON_CIRCLE, ANEW, "in the limit of many tokens: nothing is drawn", LADDER),
        spec=("DL.B11",),
        source_status=DERIVED,
    ),
    constant("alone", "the noise alone", drift=0.0),
    constant("near", "a drift two per cent stronger", drift=1.02),
    bug("variance", "a variance of sigma epsilon", share=0.5),
    hypothesis("sign", "the layers are exchanged", ways=("reversed noise 1", "noise 2")),
)
def test_noise(run, *, drift=1.0, share=1.0, ways=("noise 2", "reversed noise 1")):
    table = run.study(studies.forward)
    for way, step, noise in zip(ways, (1.0, -1.0), (2.0, 1.0), strict=True):
        yield from follows(table, way, heat, share * noise - drift * step)


# what a layer does to a wave

FREQUENCIES = (4, 8, 16, 32)


@cache
def waved(z, frequencies=FREQUENCIES, layers=1, **settings):
    """The factor of a wave in the limit of small bandwidths, at a fixed product of bandwidth and squared frequency."""
    factors = [wave_factor(CircleLayer(z / m**2, **settings), m, layers=layers) for m in frequencies]
    return limit(factors, ratio=float(frequencies[1] / frequencies[0]) ** 2, order=1)


@cache
def noisy(z, sigma):
    """The same where tokens average and there is noise."""
    factors = []
    for m in FREQUENCIES:
        layer = NoisyLayer(CircleLayer(z / m**2, step=1.0), sigma, modes=2 * m - 1)
        factors.append(wave_factor(layer, m))
    return limit(factors, ratio=4.0, order=1)


def smoothing(z):
    """What a kernel multiplies a wave by."""
    return (-ball(z) / 2).exp()


@cache
def most_taken(long, share):
    """What a reversed layer of unit step takes from a wave at most at alpha = -3.71; beyond two it is amplified."""
    kernel = "1" if long else "exp(-z/2)"
    return sup_over(f"z*{kernel}*(1 + {share}*371/100*{kernel})", z=(0, 64))


RULES = (
    ("softmax", {}, lambda z, _: smoothing(z)),
    ("sum", {"rule": "sum"}, lambda z, _: smoothing(z)),
    ("alpha", {"alpha": 0.5}, lambda z, share: smoothing(z) * (1 - share * smoothing(z) / 2)),
    ("alpha", {"alpha": 1.0}, lambda z, share: smoothing(z) * (1 - share * smoothing(z))),
    ("alpha", {"alpha": 2.0}, lambda z, share: smoothing(z) * (1 - share * 2 * smoothing(z))),
    ("sinkhorn", {"rule": "sinkhorn"}, lambda z, share: 1 / (share + 1 / smoothing(z))),
)


@verifies(
    Claim(
        "layers.forward-waves",
        "by what a layer multiplies a wave: averaging with keys divided by the square of their density amplifies short ones, though its equation diffuses",
        r"$1 + s\,z\,c(z)$ as $\varepsilon \to 0$ at $\varepsilon m^2 = z$: $c = e^{-z/2}$ for softmax and undivided sums, $e^{-z/2}(1 - \alpha e^{-z/2})$ for keys divided by $q^\alpha$, $1/(1 + e^{z/2})$ for Sinkhorn's weights; $(1 + ze^{-z/2})e^{-\sigma z}$ with noise",
        remark=r"$z = \frac12, 2, 4$, $\alpha = \frac12, 1, 2$, $\sigma = \frac12, 1, 2$. For $s = 1$, $\alpha = 2$ the equation is the heat equation, yet a wave at $z = 4$ is 14 times as large after eight layers, as small as the bandwidth may be. For $s = -1$ no wave is amplified at $\alpha = -3.71$, and one at $z = 1$ is multiplied by $-1.08$ at $\alpha = -4$",
        assumptions=("equidistant tokens on the unit circle, small waves", ANEW, "frequencies from 4 to 32"),
        spec=("DL.B11",),
        source_status=DERIVED,
    ),
    constant("density", "waves as the limiting equation has them, at every z", long=True),
    hypothesis("averaging", "the tokens of those layers average", step=1.0),
    bug("uncorrected", "what keys are divided by does not move with the wave", share=0),
)
def test_waves(run, *, long=False, step=-1.0, share=1):
    for z in (Fraction(1, 2), Fraction(2), Fraction(4)):
        seen = Fraction(0) if long else z
        for part, settings, shape in RULES:
            with precision():
                aim = hull(1 - ball(z) * shape(seen, share))
            found = waved(float(z), step=step, **settings)
            yield equals(found, aim, scale=1, z=z, alpha=settings.get("alpha", 0.0), part=part)
        for sigma in (Fraction(1, 2), Fraction(1), Fraction(2)):
            with precision():
                aim = hull((1 + ball(z) * smoothing(seen)) * (-ball(sigma * z)).exp())
            yield equals(noisy(float(z), float(sigma)), aim, scale=1, z=z, sigma=sigma, part="noise")
    with precision():
        aim = hull((1 + 4 * smoothing(4) * (1 - share * 2 * smoothing(4))) ** 8)
        below = hull(1 - smoothing(0 if long else 1) * (1 + share * 4 * smoothing(0 if long else 1)))
    yield equals(waved(4.0, layers=8, step=-step, alpha=2.0), aim, part="averaging")
    yield equals(waved(1.0, step=step, alpha=-4.0), below, part="negative alpha")
    yield at_most(most_taken(long, share), 2, part="all waves", alpha=-3.71)


def inverse_lambert():
    """The solution W of W exp(W) = 1/e."""
    return (-ball(1)).exp().lambertw()


def steepest(rule, width=1):
    """The wave that a rule changes most, z, and the largest step that does not amplify it, as balls."""
    exponent = ball(1) if rule == "softmax" else 1 + inverse_lambert()
    return 2 * exponent / width, width * exponent.exp()


BESIDE = Fraction(1, 32)
CHANGES = {"softmax": "z*exp(-z/2)", "sinkhorn": "z/(1 + exp(z/2))"}


@cache
def largest_change(rule):
    """What the unit step of a rule takes from a wave at most, of all up to z = 64."""
    return sup_over(CHANGES[rule], z=(0, 64))


@verifies(
    Claim(
        "layers.forward-steps",
        "the largest stable step of a reversed layer is e, and with Sinkhorn's weights e to the power 1 + W(1/e), which is 3.59",
        r"for $\sigma > 0$, $|1 - \sigma zc(z)| \le 1$ for all z if and only if $\sigma \le e$, and $\sigma \le e^{1 + W(1/e)}$; equal at $z = 2$, and $z = 2(1 + W(1/e))$",
        remark=r"the step beyond is taken 1/32 larger and smaller. From a smooth density, step 2.5 converges at $k\varepsilon = 1$ to the heat equation at time $\frac52$; with step 3.2 the error grows as the bandwidth is halved",
        assumptions=(
            "equidistant tokens on the unit circle, small waves, z up to 64",
            ANEW,
            "frequencies from 4 to 32",
        ),
        spec=("DL.B11",),
        source_status=DERIVED,
    ),
    constant("two", "two, as for an explicit step without smoothing", share=0.75),
    bug("width", "kernels of twice the variance", width=2),
    hypothesis("sweep", "the rules are exchanged, as of one sweep of Sinkhorn's", rules=("sinkhorn", "softmax")),
    hypothesis("small", "the smaller step is taken beyond", beyond="step 2.5"),
)
def test_steps(run, *, share=1.0, width=1, rules=("softmax", "sinkhorn"), beyond="step 3.2"):
    for rule, measured in zip(("softmax", "sinkhorn"), rules, strict=True):
        with precision():
            z, largest = (hull(value) for value in steepest(rule, width))
        step = share * largest.mid
        factors = [abs(waved(z.mid, step=-step * float(1 + side), rule=measured)) for side in (-BESIDE, 0, BESIDE)]
        yield at_most(factors[0], 1, part=f"{rule}, below", step=step)
        yield equals(factors[1], 1, part=f"{rule}, at", step=step)
        yield at_least(factors[2], 1, part=f"{rule}, above", step=step)
        with precision():
            most = hull(2 / (share * steepest(measured, width)[1]))
        yield equals(largest_change(rule), most, part=f"{rule}, all waves")
    table = run.study(studies.forward)
    (t,) = table.where(way="step 2.5").levels("t")
    errors = largest_errors(densities(table, "step 2.5", t)[:4], solved(heat, 2.5 * share, t))
    yield equals(limit(errors, order=1), 0, scale=1, part="small step")
    target = solved(heat, float(beyond.split()[1]), t)
    first, second = largest_errors(densities(table, beyond, t)[:2], target)
    yield at_least(second / first, 2, part="large step")


ODD = (1, 3, 9, 27)


@verifies(
    Claim(
        "layers.forward-negative",
        "at negative temperature tokens go to where the others are far: on the circle even waves decay, odd waves grow, and on a segment all go to the other end",
        r"$\partial_t\rho = \partial^2\rho$ at $k\varepsilon = t$, order 1, for densities of period $\pi$; waves are multiplied by $1 - (-1)^mze^{-z/2}$ at $\varepsilon m^2 = z$; on $[-1, 1]$, $m(x) \to -1$ for $x > 0$",
        remark=r"weights $e^{+|x - y|^2/2\varepsilon}$, $x \leftarrow (x + \frac13(m - x))/|\cdot|$; even densities at $t = \frac1{16}, \frac18$, as rounding wakes odd waves, up to $1 + 2/e$ times as large after a layer; frequencies 4 to 32, and 1 to 27",
        assumptions=(ON_CIRCLE, ANEW, FINER, r"on the segment uniform tokens, $x = \frac14, \frac12, 1$"),
        spec=("DL.B11",),
        source_status=DERIVED,
    ),
    constant("half", "half of the rate", rate=0.5),
    hypothesis("positive", "odd waves decay as even ones", sign=-1),
    bug("backward", "even waves grow", even=-1),
    bug("middle", "tokens of the segment go to its middle", end=0),
)
def test_negative(run, *, rate=1.0, sign=1, even=1, end=-1):
    yield from follows(run.study(studies.forward), "negative", heat, rate, even=True)
    far = {"rule": "far", "step": 1.0 / 3.0}
    for z in (Fraction(1, 2), Fraction(2)):
        with precision():
            change = ball(z) * smoothing(z)
            aims = hull(1 - even * change), hull(1 + sign * change)
        yield equals(waved(float(z), **far), aims[0], scale=1, z=z, part="even waves")
        yield equals(waved(float(z), ODD, **far), aims[1], scale=1, z=z, part="odd waves")
    for at, levels in enumerate(np.stack([across(2.0**-k) for k in range(5, 9)]).T):
        yield equals(limit(list(levels), order=1), end, scale=1, place=PLACES[at], part="segment")


PLACES = (0.25, 0.5, 1.0)


@cache
def across(epsilon):
    """Where places of the segment are taken, by two numbers of tokens."""
    found = []
    for n in (8192, 4096):
        tokens = (np.arange(n) + 0.5)[:, np.newaxis] * (2.0 / n) - 1.0
        found.append(far_means(np.array(PLACES)[:, np.newaxis], tokens, epsilon)[:, 0])
    return [estimated(float(a), float(b), times=2.0) for a, b in zip(*found, strict=True)]
