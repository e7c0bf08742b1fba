r"""How far the output of a layer over independent tokens spreads, against the bandwidth and the number of tokens.

Above, the variance without a draw against its leading law, and over drawn clouds against the law of the very bandwidth;
below, the same against the number of tokens, and the quotient of what is drawn and what the delta method
predicts, which is exact for many keys in reach.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from theory.diffusion import PeriodicGrid, StepError, studies
from theory.diffusion.settings import (
    CRITICAL_PLACE,
    FIXED_EPSILON,
    FIXED_TOKENS,
    REGULAR_PLACE,
    SAMPLED_DENSITIES,
    sampled_function,
    sampled_places,
)
from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure

TITLE = "the variance of a layer falls with the number of tokens and grows as the bandwidth shrinks, as predicted"
STUDY = studies.sampling
CLAIMS = ("rate.drawn-variance", "rate.drawn-exponents", "rate.drawn-mean")

_HUES = {1: style.BLUE, 2: style.VERMILION}
_MARKS = {1: "o", 2: "s"}
_NAMES = {1: "circle", 2: "torus"}
_NODES = {1: 64, 2: 48}  # of a grid that has the places among its nodes
_GUIDE: dict[str, Any] = {"color": style.GREY, "linewidth": 0.6, "linestyle": (0, (1, 1.5)), "zorder": 0}


def draw(table: Table) -> Figure:
    """Draw variances by bandwidth, with and without a draw, by number, and the quotients."""
    figure = style.canvas(style.DOUBLE, 4.9)
    (without, drawn), (counts, rest) = figure.subplots(2, 2)
    style.panel(without, "a", "without a draw")
    style.panel(drawn, "b", rf"drawn, $N = {FIXED_TOKENS}$")
    style.panel(counts, "c", "drawn, against the number of tokens")
    style.panel(rest, "d", "drawn over predicted for many tokens")
    for d in (1, 2):
        _quadratures(without, table, d)
        _draw_samples(drawn, counts, rest, table, d)
    label = r"variance of $(\hat P_\varepsilon h - h)/\varepsilon$"
    without.set(
        xscale="log", yscale="log", xlabel=r"bandwidth $\varepsilon$", ylabel=rf"$N\times$ {label}", ylim=(1.0, 1e7)
    )
    drawn.set(xscale="log", yscale="log", xlabel=r"bandwidth $\varepsilon$", ylabel=label)
    counts.set(xscale="log", yscale="log", xlabel="tokens $N$", ylabel=label)
    rest.set(
        xscale="log", xlabel=r"keys in reach, $N(4\pi\varepsilon)^{d/2}/(2\pi)^d$", ylabel="ratio", ylim=(0.6, 1.4)
    )
    for axes, ticks in ((counts, (300, 1000, 3000)), (rest, (10, 30, 100, 300, 1000))):
        axes.set_xticks(ticks, [f"{tick:,}".replace(",", "\u2009") for tick in ticks])
        axes.minorticks_off()
    counts.set_yticks([0.01, 0.1], ["$10^{-2}$", "$10^{-1}$"])
    counts.minorticks_off()
    rest.axhline(1.0, **_GUIDE)
    without.legend(loc="upper right", ncols=2, columnspacing=1.0)
    drawn.legend(loc="upper right")
    counts.legend(loc="upper right")
    rest.legend(loc="lower right")
    return figure


def _law(d: int, epsilon: Array | float, slopes: float, density: float) -> Array:
    """Return the leading law where the function is not flat."""
    return np.asarray(slopes / (2.0 * density * epsilon * (4.0 * np.pi * epsilon) ** (d / 2)))


def _quadratures(axes: Axes, table: Table, d: int) -> None:
    """Draw N times the variance at two places, and the leading laws."""
    h = 1e-5
    for part, spots, fill in (("regular", REGULAR_PLACE, _HUES[d]), ("critical", CRITICAL_PLACE, "white")):
        rows = table.where(part=part, d=d)
        place = np.array(spots[d])
        density = float(np.prod([p(x) for p, x in zip(SAMPLED_DENSITIES[d], place, strict=True)]))
        unit = np.eye(d) * h
        first = [(sampled_function(*(place + e)) - sampled_function(*(place - e))) / (2 * h) for e in unit]
        epsilon = np.geomspace(float(rows["epsilon"].min()), float(rows["epsilon"].max()), 50)
        if part == "regular":
            line = _law(d, epsilon, float(np.sum(np.square(first))), density)
        else:
            second = np.array([[_mixed_difference(place, a, b, h) for a in np.eye(d)] for b in np.eye(d)])
            size = 2.0 * float((second**2).sum()) + float(np.trace(second)) ** 2
            line = size / (16.0 * density * (4.0 * np.pi * epsilon) ** (d / 2))
        axes.plot(epsilon, line, color=_HUES[d], linewidth=0.8, linestyle="-" if part == "regular" else "--")
        words = _NAMES[d] if part == "regular" else rf"{_NAMES[d]}, $\nabla h = 0$"
        style.marks(
            axes,
            rows["epsilon"],
            rows.middles("value"),
            _MARKS[d],
            color=_HUES[d],
            size=3.6,
            hollow=True,
            markerfacecolor=fill,
            label=words,
        )


def _mixed_difference(place: Array, a: Array, b: Array, h: float) -> float:
    h = h**0.75
    corners = [(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)]
    return float(sum(sign * sampled_function(*(place + h * (s * a + t * b))) for s, t, sign in corners) / (4.0 * h * h))


def _predict_variance(d: int) -> Any:
    """Return the mean over the places of N times the variance, as a function of the bandwidth."""
    grid = PeriodicGrid((_NODES[d],) * d)
    p = np.ones(grid.shape)
    for each, x in zip(SAMPLED_DENSITIES[d], grid.axes, strict=True):
        p = p * each(x)
    error = StepError(grid, p, np.broadcast_to(sampled_function(*grid.axes), grid.shape))
    nodes = np.rint(sampled_places(d) * _NODES[d] / (2.0 * np.pi)).astype(int)
    return lambda epsilon: float(error.variance(epsilon)[tuple(nodes.T)].mean())


def _draw_samples(bandwidths: Axes, counts: Axes, rest: Axes, table: Table, d: int) -> None:
    """Draw what clouds give, the law of each bandwidth, and the quotient with three standard errors."""
    law = _predict_variance(d)
    spreads = table.where(part="spread", d=d)
    epsilon = np.geomspace(float(spreads["epsilon"].min()), float(spreads["epsilon"].max()), 40)
    bandwidths.plot(epsilon, [law(e) / FIXED_TOKENS for e in epsilon], color=_HUES[d], linewidth=0.8)
    far = np.geomspace(float(spreads["n"].min()), float(spreads["n"].max()), 10)
    counts.plot(far, law(FIXED_EPSILON[d]) / far, color=_HUES[d], linewidth=0.8)
    look: dict[str, Any] = {"color": _HUES[d], "marker": _MARKS[d], "linestyle": "none", "markersize": 3.6,
                            "markerfacecolor": "white", "markeredgewidth": 0.7}  # fmt: skip
    found = []
    for n, e in sorted(set(zip(spreads["n"].tolist(), spreads["epsilon"].tolist(), strict=True))):
        values = spreads.where(n=n, epsilon=e).middles("value")
        found.append((n, e, values.mean(), 3.0 * values.std(ddof=1) / np.sqrt(values.size)))
    n, e, mean, error = (np.array(column) for column in zip(*found, strict=True))
    slope = r"-\frac{3}{2}" if d == 1 else "-2"
    fixed = n == FIXED_TOKENS
    bandwidths.plot(e[fixed], mean[fixed], label=rf"{_NAMES[d]}, exponent ${slope}$", **look)
    chosen = e == FIXED_EPSILON[d]
    label = rf"{_NAMES[d]}, $\varepsilon = {FIXED_EPSILON[d]:g}$, exponent $-1$"
    counts.plot(n[chosen], mean[chosen], label=label, **look)
    size = np.array([law(x) for x in e]) / n
    reach = n * (4.0 * np.pi * e) ** (d / 2) / (2.0 * np.pi) ** d
    look |= {"capsize": 0.0, "elinewidth": 0.6}
    rest.errorbar(reach, mean / size, error / size, label=rf"{_NAMES[d]}, three standard errors", **look)
