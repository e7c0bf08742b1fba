r"""Saturation: what the softmax of dot products lets through as the dimension grows, with and without the scale.

For independent normal scores of variance :math:`\sigma^2`, :math:`\mathbb E\,\mathrm{tr}\,J = \mathbb E\langle s,
p\rangle/\sigma^2 \le \mathbb E\max_i Z_i/\sigma`; unscaled dot products have :math:`\sigma = \sqrt d`. The mean of the
largest of :math:`n` standard normals is drawn as :math:`\int z\,d\Phi(z)^n`.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from theory.attention import saturation
from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure

TITLE = "unscaled dot products saturate softmax: its Jacobian fades with the dimension, and scaled ones keep it"
STUDY = saturation.saturation
CLAIMS = ("layer.saturation",)

_HUES = (style.VERMILION, style.BLUE)  # unscaled, scaled
_MARKS = ("o", "s")
_NAMES = (r"$\langle q, k\rangle$", r"$\langle q, k\rangle/\sqrt{d}$")
_SHADES = (style.SKY, style.GREEN, style.ORANGE, style.VERMILION)
_SHAPES = ("^", "D", "v", "o")


def draw(table: Table) -> Figure:
    """Draw the ordered weights, the trace against the dimension, and the trace times the deviation."""
    figure, (first, second, third) = style.row(
        2.5,
        "mean ordered weights",
        "mean trace of the Jacobian",
        "Stein's identity, times $\\sigma$",
        widths=[1.0, 1.1, 1.0],
    )
    _weights(first, table)
    _trace(second, table)
    _stein(third, table.where(scaled=0))
    return figure


def _bars(axes: Axes, x: Array, table: Table, name: str, *, per: Array | float = 1.0, **look: object) -> None:
    """Draw intervals as markers with bars that end where they do."""
    low, high = table[f"{name}.lo"] / per, table[f"{name}.hi"] / per
    middle = low / 2 + high / 2
    axes.errorbar(
        x, middle, np.vstack([middle - low, high - middle]), linestyle="none", markersize=3.4, elinewidth=0.8,
        capsize=1.6, capthick=0.8, **look,  # type: ignore[arg-type]
    )  # fmt: skip


def _weights(axes: Axes, table: Table) -> None:
    """Draw the mean of the largest weight, of the second, and so on; scaled ones once, for they do not change."""
    ranks = np.arange(1, saturation.RANKS + 1)
    dimensions = np.unique(table["d"])
    parts = [(table.where(d=d, scaled=0), f"$d = {d}$", hue) for d, hue in zip(dimensions, _SHADES, strict=True)]
    parts.append((table.where(d=dimensions[-1], scaled=1), f"scaled, $d = {dimensions[-1]}$", style.BLUE))
    for (part, name, hue), mark in zip(parts, (*_SHAPES, "s"), strict=True):
        ends = [(part[f"weight{rank}.lo"][0], part[f"weight{rank}.hi"][0]) for rank in ranks]
        axes.plot(ranks, [low / 2 + high / 2 for low, high in ends], f"{mark}-", color=hue, label=name, markersize=3.0)
    axes.set(xlabel="rank of the key", ylabel="mean weight", xticks=ranks, ylim=(-0.02, 1.0))
    axes.legend(loc="upper right")


def _trace(axes: Axes, table: Table) -> None:
    across = np.geomspace(8.0, 2048.0, 60)
    axes.plot(across, _largest(saturation.KEYS) / np.sqrt(across), color=style.BLACK, linewidth=0.7, zorder=1)
    style.note(
        axes, r"$\mathbb{E}\max_i Z_i/\sqrt{d}$", (90.0, _largest(saturation.KEYS) / np.sqrt(90.0)), offset=(2, 4)
    )
    for scaled in (1, 0):
        part = table.where(scaled=scaled)
        _bars(axes, part["d"], part, "trace", fmt=_MARKS[scaled], color=_HUES[scaled], label=_NAMES[scaled])
    axes.set(xscale="log", yscale="log", xlabel="dimension $d$", ylim=(0.045, 1.4))
    axes.set(ylabel=r"$\mathbb{E}\,\mathrm{tr}\,J = \mathbb{E}[1 - \|p\|_2^2]$")
    style.ticks(axes, x=[16, 64, 256, 1024], y=[0.05, 0.1, 0.2, 0.5, 1.0])
    axes.legend(loc="lower left", title=f"$n = {saturation.KEYS}$ keys, scores", title_fontsize=style.SMALL)


def _stein(axes: Axes, table: Table) -> None:
    """Draw both sides times the deviation, between what they cannot leave."""
    sigma = np.sqrt(table["d"])
    across = np.geomspace(3.2, 42.0, 60)
    top = _largest(saturation.KEYS)
    low = top - np.log(saturation.KEYS) / across
    name = r"within $\log n\,/\,\sigma$ below it"
    axes.fill_between(across, low, top, color=style.PALE, linewidth=0.0, zorder=0, label=name)
    style.guide(axes, y=top, color=style.BLACK)
    style.note(axes, r"$\mathbb{E}\max_i Z_i$", (3.3, top), offset=(0, 3), va="bottom")
    _bars(axes, sigma / 1.04, table, "trace", per=1.0 / sigma, fmt="o", color=style.VERMILION,
          label=r"$\sigma\,\mathbb{E}\,\mathrm{tr}\,J$")  # fmt: skip
    _bars(axes, sigma * 1.04, table, "score", per=sigma, fmt="D", color=style.GREY, markerfacecolor="white",
          label=r"$\mathbb{E}\langle s, p\rangle/\sigma$")  # fmt: skip
    axes.set(xscale="log", xlabel=r"deviation of the scores $\sigma = \sqrt{d}$", xlim=(3.2, 42.0), ylim=(1.0, 2.9))
    style.ticks(axes, x=[4, 8, 16, 32])
    axes.legend(loc="lower right")


def _largest(n: int) -> float:
    """Return the mean of the largest of n standard normals, by the trapezoidal rule."""
    z, step = np.linspace(-9.0, 9.0, 2001, retstep=True)
    density = n * np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi) * ndtr(z) ** (n - 1)
    return float(step * (z * density).sum())
