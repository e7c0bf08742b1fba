"""The bandwidth that suits N tokens best, and the error that is left at it."""

from fractions import Fraction
from functools import cache

import numpy as np

from theory.diffusion import PeriodicGrid, StepError
from theory.diffusion.settings import SAMPLED_DENSITIES, sampled_function
from theory.evidence import Claim, ball, bug, constant, equals, hypothesis, limit, order, verifies
from verify.diffusion.test_sampling_rates import DENSITY, FUNCTION, PI, density, generator, gradient_squared
from verify.textbook import hull

NODES = {1: 32, 2: 24}
REGULAR, CRITICAL = {1: (5,), 2: (4, 3)}, {1: (8,), 2: (6, 6)}
SETTING = (
    "independent tokens of density p on the circle and the torus", "fixed query", "chordal kernel",
    "bias of all orders, variance by the delta method",
)  # fmt: skip


@cache
def ladder(d, node, extrapolated, counts):
    """The best bandwidths and the errors at them, for falling errors."""
    grid = PeriodicGrid((NODES[d],) * d)
    p = np.ones(grid.shape)
    for each, x in zip(SAMPLED_DENSITIES[d], grid.axes, strict=True):
        p = p * each(x)
    error = StepError(grid, p, np.broadcast_to(sampled_function(*grid.axes), grid.shape))
    found = [error.best(node, float(n), extrapolated=extrapolated) for n in counts]
    return [o.place for o in found], [o.value for o in found]


def second(d, place, *, chordal=True):
    """The second-order bias B h = (Lap^2(hp) - h Lap^2 p)/8p - Lap p L h/4p + L h/4."""
    p, h = DENSITY[d], FUNCTION[d]
    square = (h * p).laplacian().laplacian().at(place) - h.at(place) * p.laplacian().laplacian().at(place)
    moved = generator(d, place)
    return (square / 8 - p.laplacian().at(place) * moved / 4) / p.at(place) + (moved / 4 if chordal else 0)


def counts_of(run, extrapolated):
    top = run.pick(quick=14, paper=16) if extrapolated else run.pick(quick=12, paper=13)
    return tuple(10**k for k in range(top - 5, top + 1))


@verifies(
    Claim(
        "rate.bandwidth",
        "the best of small bandwidths and the error left at it fall like N to the power -2/(d + 6), with their constants",
        r"$\varepsilon_* = \bigl[\frac{(1 + d/2)V}{2b^2N}\bigr]^{1/(3 + d/2)}(1 + o(1))$, $b = Bh$, $V = \frac{|\nabla h|^2}{2p(4\pi)^{d/2}}$, and root mean square error $|b|\varepsilon_*\sqrt{\frac{d + 6}{d + 2}}$, both $\sim N^{-2/(d + 6)}$",
        remark=r"$N^{-2/(d + 4)}$ where $\nabla h = 0$; $d = 1, 2$",
        assumptions=(*SETTING, r"$b \ne 0$; $\nabla h \ne 0$ but in the remark"),
        spec=("DL.B7",),
        cites=("singer2006",),
        source_status=("derived", "refereed on paper"),
    ),
    constant("older", "the exponent -2/(d + 4) everywhere", more=4),
    hypothesis("flat", "the exponent -2/(d + 6) also where the function is flat", flat=6),
    bug("heat", "the second-order bias of the heat kernel for the chordal one", chordal=False),
    constant("factor", "the factor 1 + d/2 of the derivative of the variance is left out", factor=False),
)
def test_bandwidth(run, *, more=6, flat=4, chordal=True, factor=True):
    counts = counts_of(run, False)
    for d in (1, 2):
        grid = PeriodicGrid((NODES[d],) * d)
        place = tuple(float(axis.ravel()[k]) for axis, k in zip(grid.axes, REGULAR[d], strict=True))
        half = ball(d) / 2
        b = abs(second(d, place, chordal=chordal))
        v = gradient_squared(d, place) / (2 * density(d, place) * (4 * PI) ** half)
        bandwidths, errors = ladder(d, REGULAR[d], False, counts)
        power = Fraction(2, d + 6)
        ratios = ([], [])
        for n, bandwidth, error in zip(counts, bandwidths, errors, strict=True):
            share = (1 + half if factor else 1) / ball(2)
            best = (share * v / (b**2 * n)) ** (1 / (3 + half))
            ratios[0].append(bandwidth / hull(best))
            ratios[1].append(error / hull(b * best * ((d + ball(6)) / (d + 2)) ** (ball(1) / 2)))
        for name, values, ratio in zip(("bandwidth", "error"), (bandwidths, errors), ratios, strict=True):
            yield equals(order(values, ratio=10), Fraction(2, d + more), scale=1, d=d, part=name)
            yield equals(limit(ratio, ratio=10, order=float(power)), 1, d=d, part=f"{name}, constant")
        flat_counts = tuple(n // 1000 for n in counts)  # the best bandwidths are smaller there
        for name, values in zip(("bandwidth", "error"), ladder(d, CRITICAL[d], False, flat_counts), strict=True):
            yield equals(order(values, ratio=10), Fraction(2, d + flat), scale=1, d=d, part=f"{name}, flat")


@verifies(
    Claim(
        "rate.bandwidth-extrapolated",
        "with one extrapolation over the same tokens the error falls like N to the power -4/(d + 10)",
        r"$2A_{\varepsilon/2} - A_\varepsilon$ at its best bandwidth: $\varepsilon_* \sim N^{-2/(d + 10)}$, root mean square error $\sim N^{-4/(d + 10)}$, $d = 1, 2$",
        remark=r"$A_\varepsilon = (\hat P_\varepsilon h - h)/\varepsilon$, both over the same N tokens",
        assumptions=SETTING,
        spec=("DL.B7",),
        cites=("singer2006",),
        source_status=("derived", "refereed on paper"),
    ),
    constant("older", "the error falls like N to the power -4/(d + 8)", more=8),
    hypothesis("plain", "without the extrapolation", extrapolated=False),
    bug("same", "the error falls like the bandwidth itself", error=2),
)
def test_bandwidth_extrapolated(run, *, more=10, extrapolated=True, error=4):
    counts = counts_of(run, True)
    for d in (1, 2):
        bandwidths, errors = ladder(d, REGULAR[d], extrapolated, counts)
        yield equals(order(bandwidths, ratio=10), Fraction(2, d + more), scale=1, d=d, part="bandwidth")
        yield equals(order(errors, ratio=10), Fraction(error, d + more), scale=1, d=d, part="error")
