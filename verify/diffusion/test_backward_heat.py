"""Layers that compute their weights anew in flat space: the density runs the heat equation backward, to collapse."""

import math
from fractions import Fraction
from functools import cache

import numpy as np

from theory.diffusion import propagate
from theory.diffusion.layers import advance_tokens, line_tokens
from theory.evidence import (
    Claim,
    ball,
    bug,
    constant,
    equals,
    estimated,
    exact,
    hull,
    hypothesis,
    limit,
    order,
    precision,
    verifies,
)

DERIVED = ("derived", "refereed")


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


STEPS = (0.45, 0.36)  # between tokens, in standard deviations of what a layer averages with: two computations


def spaced(means, variances, shares, epsilon, *, step=STEPS[0]):
    """Equidistant tokens on the line with their weights, so close that a layer sees the density."""
    least = min(variances)
    return line_tokens(means, variances, shares, step * math.sqrt(least * epsilon / (least + epsilon)))


def layer(mixture, epsilon):
    """Tokens on the line, where a layer takes them, and their weights."""
    means, variances, shares = mixture
    tokens, weights = spaced(exact(means), variances, shares, epsilon)
    return tokens[:, 0], advance_tokens(exact(tokens), epsilon, weights)[:, 0], weights


@cache
def layered(mixture, epsilon, layers, kept, step):
    """Places before and after some layers of attention, and the weights; once for the claim and its twins."""
    start, weights = spaced(*mixture, epsilon, step=step)
    tokens = start
    for _ in range(layers):
        if kept:
            tokens = propagate(start, start, tokens, epsilon, weights=weights)
        else:
            tokens = advance_tokens(tokens, epsilon, weights)
    return start[:, 0], tokens[:, 0], weights


def after(observe, mixture, epsilon, layers, *, kept=False):
    """What is observed after layers of attention, judged from tokens at two distances."""
    return estimated(*(observe(*layered(mixture, epsilon, layers, kept, step)) for step in STEPS), times=4)


@verifies(
    Claim(
        "layers.backward-heat",
        "in flat space tokens climb the smoothed density, and layer upon layer the density runs the heat equation backward",
        r"$H_{\mathrm{new}} - H = \varepsilon\,\nabla\log(\rho * \mathcal N(0, \varepsilon))$ exactly",
        remark=r"after $\tau/\varepsilon$ layers $\mathbb E\cos\omega H \to e^{\omega^2\tau}\,\mathbb E\cos\omega H_0$ as under $\partial_\tau\rho = -\Delta\rho$, at $\tau = \frac1{16}$, half of the time that this mixture of three Gaussians has; $\omega = \frac12, 1, 2$",
        assumptions=(
            "line, tokens equidistant that weigh the density",
            "weights computed anew by every layer",
            "bandwidths from 1/32 to 1/256: rounding grows from layer to layer, as the equation lets it",
        ),
        spec=("DL.B11",),
        cites=("carreira2006", "ruan2024"),
        source_status=DERIVED,
    ),
    constant("forward", "the heat equation runs forward", rate=-1),
    constant("half", "it runs at half the speed", rate=Fraction(1, 2)),
    bug("not-smoothed", "tokens climb the density itself", smoothed=False),
    hypothesis("kept", "all layers average with the weights of the first", kept=True),
)
def test_backward_heat(run, *, rate=1, smoothed=True, kept=False):
    for level in range(run.pick(quick=5, paper=6)):
        epsilon = 0.0625 * 0.5**level
        tokens, there, weights = layer(MIXTURE, epsilon)
        chosen = np.arange(0, len(tokens), max(1, len(tokens) // 12))
        for at in chosen[weights.mid[chosen] >= 1e-12 * weights.mid.max()].tolist():
            x = float(tokens[at])
            with precision():
                aim = hull(ball(epsilon) * log_slope(ball(x), ball(epsilon if smoothed else 0)))
            yield equals(there[at] - x, aim, scale=1, epsilon=epsilon, x=round(x, 3), part="velocity")
    time = Fraction(1, 16)
    for omega in (Fraction(1, 2), Fraction(1), Fraction(2)):

        def wave(_, x, weights, omega=float(omega)):
            return weights @ np.cos(omega * x)

        found = [after(wave, MIXTURE, 2.0**-k, int(time * 2**k), kept=kept) for k in range(5, 9)]
        with precision():
            claimed = hull(ball(rate * omega**2 * time).exp() * mean_cosine(omega))
        yield equals(limit(found, order=1), claimed, scale=1, omega=omega, part="wave")


def variance(_, x, weights):
    """The variance of places with weights."""
    return weights @ (x - weights @ x) ** 2


def alone(s):
    """One Gaussian around zero, as a mixture."""
    return ((0.0,), (s,), (1.0,))


@verifies(
    Claim(
        "layers.gaussian-collapse",
        "of a Gaussian cloud each layer maps the variance to its cube over the square of s + epsilon: gone after s_0 / 2 epsilon layers",
        r"$s \mapsto \frac{s^3}{(s + \varepsilon)^2}$ exactly; $s_k \to s_0 - 2k\varepsilon$ at fixed $k\varepsilon$, to first order; and $s \mapsto \frac{s^3}{\varepsilon^2}(1 + O(s))$ as $s \to 0$",
        assumptions=(
            "tokens Gaussian on the line",
            "weights computed anew by every layer",
            r"in the limit, half of $s_0 = 1$ and three quarters of $s_0 = 2$, bandwidths down to 1/128 and 1/64",
        ),
        spec=("DL.B11",),
        cites=("ruan2024", "castin2024"),
        source_status=DERIVED,
    ),
    constant("speed", "the variance falls by epsilon per layer", speed=1),
    hypothesis("kept", "all layers average with the weights of the first", kept=True),
    bug("linear", "the step is linear in the ratio: s^2 / (s + epsilon)", power=1),
)
def test_gaussian_collapse(run, *, speed=2, kept=False, power=2):
    for s, epsilon in ((1.0, 0.25), (0.5, 0.5), (2.0, 0.0625), (0.0625, 0.5)):
        claimed = Fraction(s) * (Fraction(s) / (Fraction(s) + Fraction(epsilon))) ** power
        found = variance(*layer(([0.25], [s], [1.0]), epsilon))
        yield equals(found, claimed, scale=1, s=s, epsilon=epsilon, part="step")
    for s, time, finest in ((1.0, Fraction(1, 4), 7), (2.0, Fraction(3, 4), 6)):
        levels = range(run.pick(quick=finest - 3, paper=3), finest + 1)
        found = [after(variance, alone(s), 2.0**-k, int(time * 2**k), kept=kept) for k in levels]
        aim = Fraction(s) - speed * time
        yield equals(limit(found[-4:], order=1), aim, scale=1, s=s, part="flow")
        yield equals(order([value - aim for value in found[-4:]]), 1, scale=1, s=s, part="order")
    cubes = [2 ** ((power + 1) * j) * after(variance, alone(2.0**-j), 1.0, 1) for j in range(2, 8)]
    yield equals(limit(cubes, order=1), 1, scale=1, part="cubic")
