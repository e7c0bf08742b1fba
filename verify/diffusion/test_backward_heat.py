"""Layers that compute their weights anew in flat space: the density runs the heat equation backward, to collapse."""

import math
from fractions import Fraction

import numpy as np

from theory.diffusion.self_dynamics import line_tokens, moved, rounded
from theory.evidence import Claim, Interval, bug, constant, equals, hypothesis, limit, order, verifies
from theory.evidence.enclosure import precision
from theory.evidence.roundoff import U
from verify.textbook import balls, hull

DERIVED = ("derived", "refereed")


def ball(value):
    return balls(value).item()


MIXTURE = ((-1.0, 0.5, 2.0), (0.5, 0.25, 0.375), (0.25, 0.5, 0.25))


def mean_cosine(omega, epsilon=0):
    """The mean of cos(omega x) under the mixture, smoothed by a Gaussian of variance epsilon."""
    means, variances, shares = MIXTURE
    return sum(
        ball(w) * (-(ball(omega) ** 2) * (ball(s) + epsilon) / 2).exp() * (ball(omega) * ball(m)).cos()
        for m, s, w in zip(means, variances, shares, strict=True)
    )


def log_slope(x, epsilon):
    """The slope of the logarithm of the mixture, smoothed by a Gaussian of variance epsilon."""
    parts = [
        (
            ball(w) / (ball(s) + epsilon).sqrt() * (-((x - ball(m)) ** 2) / (2 * (ball(s) + epsilon))).exp(),
            -(x - ball(m)) / (ball(s) + epsilon),
        )
        for m, s, w in zip(*MIXTURE, strict=True)
    ]
    return sum(p * slope for p, slope in parts) / sum(p for p, _ in parts)


@verifies(
    Claim(
        "layers.backward-heat",
        "in flat space tokens climb the smoothed density, and the density runs the heat equation backward",
        r"$H_{\mathrm{new}} - H = \varepsilon\,\nabla\log(\rho * \mathcal N(0, \varepsilon))$ exactly; so $\frac1\varepsilon(\mathbb E g(H_{\mathrm{new}}) - \mathbb Eg(H)) \to -\mathbb E\Delta g$, $\partial\rho/\partial(k\varepsilon) = -\Delta\rho$: the mean of $\cos\omega x$ grows at the rate $\omega^2$; a mixture of three Gaussians, $\omega = \frac12, 1, 2$",
        assumptions=("line, tokens equidistant that weigh the density",),
        spec=("DL.B11",),
        cites=("carreira2006", "ruan2024"),
        provenance=DERIVED,
    ),
    constant("forward", "the heat equation runs forward", rate=-1),
    constant("half", "it runs at half the speed", rate=Fraction(1, 2)),
    bug("not-smoothed", "tokens climb the density itself", smoothed=False),
)
def test_backward_heat(run, *, rate=1, smoothed=True):
    waves = (Fraction(1, 2), Fraction(1), Fraction(2))
    levels = {omega: [] for omega in waves}
    for level in range(run.pick(quick=5, paper=6)):
        epsilon = 0.0625 * 0.5**level
        narrow = math.sqrt(0.25 * epsilon / (0.25 + epsilon))
        tokens, masses = line_tokens(*MIXTURE, 0.45 * narrow)
        after = moved(tokens, epsilon, masses)
        off = rounded(tokens, epsilon, masses) + 1e4 * U  # densities are known to some hundred u
        for at in range(0, len(tokens), max(1, len(tokens) // 12)):
            if masses[at] < 1e-12 * masses.max():
                continue
            with precision():
                aim = hull(ball(epsilon) * log_slope(ball(float(tokens[at, 0])), ball(epsilon if smoothed else 0)))
            step = Interval.within(float(after[at, 0] - tokens[at, 0]), off)
            yield equals(step, aim, scale=1, epsilon=epsilon, x=round(float(tokens[at, 0]), 3), part="velocity")
        for omega in waves:
            gain = float(masses @ (np.cos(float(omega) * after[:, 0]) - np.cos(float(omega) * tokens[:, 0])))
            levels[omega].append(Interval.within(gain / epsilon, float(omega) * off / epsilon))
    for omega in waves:
        with precision():
            claimed = rate * hull(ball(omega) ** 2 * mean_cosine(omega))
        yield equals(limit(levels[omega][-4:], order=1), claimed, scale=1, omega=omega, part="rate")


@verifies(
    Claim(
        "layers.gaussian-collapse",
        "of a Gaussian cloud each layer maps the variance to its cube over the square of s + epsilon: gone after s_0 / 2 epsilon layers",
        r"$s \mapsto \frac{s^3}{(s + \varepsilon)^2}$ exactly; $s_k \to s_0 - 2k\varepsilon$ at fixed $k\varepsilon$, to first order; and $s \mapsto \frac{s^3}{\varepsilon^2}(1 + O(s))$ as $s \to 0$",
        assumptions=("tokens Gaussian on the line", "weights computed anew by every layer"),
        spec=("DL.B11",),
        cites=("ruan2024", "castin2024"),
        provenance=DERIVED,
    ),
    constant("speed", "the variance falls by epsilon per layer", speed=1),
    hypothesis("kept", "all layers average with the weights of the first", kept=True),
    bug("linear", "the step is linear in the ratio: s^2 / (s + epsilon)", power=1),
)
def test_gaussian_collapse(run, *, speed=2, kept=False, power=2):
    for s, epsilon in ((1.0, 0.25), (0.5, 0.5), (2.0, 0.0625), (0.0625, 0.5)):
        narrow = math.sqrt(s * epsilon / (s + epsilon))
        tokens, masses = line_tokens([0.25], [s], [1.0], 0.45 * narrow)
        after, off = moved(tokens, epsilon, masses)[:, 0], rounded(tokens, epsilon, masses) + 1e4 * U
        mean = float(masses @ after)
        variance = float(masses @ (after - mean) ** 2)
        claimed = Fraction(s) * (Fraction(s) / (Fraction(s) + Fraction(epsilon))) ** power
        width = 4 * math.sqrt(variance) * off + 4 * off**2 + 1e3 * U * variance
        yield equals(Interval.within(variance, width), claimed, scale=1, s=s, epsilon=epsilon, part="step")
    for start, time in ((Fraction(1), Fraction(1, 4)), (Fraction(2), Fraction(3, 4))):
        found = []
        for level in range(4, run.pick(quick=10, paper=13)):
            with precision(128 + 4 * 2**level):  # each layer may double the radius of a ball, and some
                s, e = ball(start), ball(Fraction(1, 2**level))
                first = s / (s + e)
                for _ in range(int(time * 2**level)):
                    s = s * (first if kept else s / (s + e)) ** power
                found.append(hull(s))
        aim = start - speed * time
        yield equals(limit(found[-4:], order=1), aim, scale=1, s=start, part="flow")
        yield equals(order([v - aim for v in found[-4:]]), 1, scale=1, s=start, part="order")
    cubes = [(Fraction(1, 2**j) / (Fraction(1, 2**j) + 1)) ** power * 4**j for j in range(4, 12)]
    yield equals(limit(cubes, order=1), 1, scale=1, part="cubic")
