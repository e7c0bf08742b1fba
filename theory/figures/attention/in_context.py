r"""What linear attention learns from N examples in the plane, beside least squares and ridge regression.

Left and middle: mean square errors over N at two variances of the noise; marks are computed from the density of the
eigenvalues, lines are formulas of attention and of least squares, for ridge regression they join marks. Dotted: from
where least squares is better than attention. Right: how many times the error of ridge regression attention has; bands
are what is claimed, dashed lines the limits :math:`1 + (d + 1)/\sigma^2`.
"""

from __future__ import annotations

import numpy as np

from theory.attention import in_context
from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure

TITLE = "linear attention errs up to seven times as much as ridge regression, and least squares passes it"
STUDY = in_context.in_context
CLAIMS = ("descent.ridge",)

_D = in_context.PLANE
_SHOWN = (0.5, 3.0)  # variances of the noise
_HUES = {0.5: style.BLUE, 1.0: style.GREEN, 3.0: style.VERMILION}
_MARKS = {0.5: "o", 1.0: "s", 3.0: "^"}


def draw(table: Table) -> Figure:
    """Draw errors at two variances, and the quotient at all."""
    figure, (first, second, third) = style.row(
        2.7, *(rf"errors, $d = {_D}$, $\sigma^2 = {noise:g}$" for noise in _SHOWN), "attention over ridge regression"
    )
    plane = table.where(d=_D)
    for axes, noise in ((first, _SHOWN[0]), (second, _SHOWN[1])):
        _errors(axes, plane.where(noise=noise), noise)
    first.set(ylabel="mean square error")
    first.legend(loc="upper right")
    style.note(second, "dotted: where least\nsquares is better", (0.97, 0.97), inside=True, ha="right", va="top")
    for noise in _HUES:
        _quotient(third, plane.where(noise=noise), noise)
    third.set(xscale="log", yscale="log", xlabel="examples $N$", ylabel="quotient of errors", ylim=(0.7, 14.0))
    style.ticks(third, x=[3, 5, 10, 20, 50, 100], y=[1, 2, 4, 7])
    style.note(third, "dashed: limits; bands: claimed", (0.97, 0.04), inside=True, ha="right")
    third.legend(loc="upper left", ncols=3, columnspacing=0.8, handletextpad=0.2)
    return figure


def _attention(n: Array, noise: float) -> Array:
    return _D * (_D + 1.0 + noise) / (n + _D + 1.0 + noise)


def _errors(axes: Axes, table: Table, noise: float) -> None:
    n = table["n"].astype(float)
    known = n >= _D + 3
    across = np.geomspace(n[0], n[-1], 100)
    axes.plot(across, _attention(across, noise), "-", color=style.BLUE, linewidth=0.8)
    style.marks(axes, n[known], table.middles("attention")[known], "o", color=style.BLUE, label="linear attention")
    beyond = np.geomspace(_D + 1.2, n[-1], 200)
    axes.plot(beyond, _D * noise / (beyond - _D - 1.0), "-", color=style.VERMILION, linewidth=0.8)
    style.marks(axes, n[known], table.middles("squares")[known], "s", color=style.VERMILION, label="least squares")
    axes.plot(n, table.middles("ridge"), "-", color=style.GREEN, linewidth=0.8)
    style.marks(axes, n, table.middles("ridge"), "^", color=style.GREEN, label="ridge regression")
    style.guide(axes, x=(_D + 1.0 + noise) ** 2 / (_D + 1.0), line="dotted", color=style.BLACK)
    axes.set(xscale="log", yscale="log", xlabel="examples $N$", ylim=(0.007, 8.0))
    style.ticks(axes, x=[3, 5, 10, 20, 50, 100], y=[0.01, 0.1, 1])


def _quotient(axes: Axes, table: Table, noise: float) -> None:
    hue, n = _HUES[noise], table["n"].astype(float)
    total, factor = _D + 1.0 + noise, 1.0 + (_D + 1.0) / noise
    low, high = factor * (n - _D - 1.0) / (n + total), factor * (n + noise) / (n + total)
    axes.fill_between(n, np.maximum(low, 1.0), high, color=hue, alpha=0.2, linewidth=0.0)
    axes.axhline(factor, color=hue, linewidth=0.8, linestyle=(0, (4, 2)))
    quotient = _attention(n, noise) / table.middles("ridge")
    style.marks(axes, n, quotient, _MARKS[noise], color=hue, label=rf"$\sigma^2 = {noise:g}$")
