r"""Random features of the softmax kernel: the variance of one estimate by angle, and the bias of attention with m.

Left, for two unit vectors, the variance of the estimate by one frequency over :math:`K^2`: curves are the formulas,
marks what the features give on a lattice of frequencies, bars what drawn frequencies give. Right, how far the mean
output with :math:`m` frequencies is from the softmax output, by an integral and by drawing, and a line of slope -1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from theory.attention import feature_study
from theory.evidence import Interval, Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure

TITLE = "trigonometric features vary least at small angles, positive ones at large; the bias falls like 1/m"
STUDY = feature_study.random_features
CLAIMS = ("variant.feature-bias", "variant.feature-sampling")

_LOOK = {"positive": (style.BLUE, "o"), "paired": (style.VERMILION, "^"), "trigonometric": (style.GREEN, "s")}
_BARS: dict[str, Any] = {"color": style.BLACK, "width": 0.7, "cap": 2.2, "zorder": 3}
_LEAST = 1e-4  # smaller relative variances are below the panel, zero among them


def draw(table: Table) -> Figure:
    """Draw the variances by angle and the bias by the number of frequencies."""
    figure, (left, right) = style.row(2.9, "variance of the estimate by one frequency", "bias of the normalised output")
    _variances(left, table.where(part="variance"))
    _bias(right, table.where(part="output"))
    return figure


def _variances(axes: Axes, table: Table) -> None:
    angles = np.linspace(0.0, 180.0, 721)
    look: dict[str, Any] = {"markersize": 3.2, "markeredgewidth": 0, "linestyle": "none", "zorder": 2}
    for name, (hue, mark) in _LOOK.items():
        axes.plot(angles, _formula(name, angles), color=hue, linewidth=0.8, zorder=1)
        exact, drawn = (_relative(table.where(features=name, method=method)) for method in ("lattice", "drawn"))
        seen = {angle: ratio.mid for angle, ratio in exact.items() if ratio.lo > _LEAST}
        axes.plot(list(seen), list(seen.values()), marker=mark, color=hue, label=name, **look)
        label = "drawn frequencies" if name == "trigonometric" else None
        style.intervals(axes, list(drawn), list(drawn.values()), label=label, **_BARS)
    axes.plot([], [], color=style.GREY, label="formula")
    axes.set(yscale="log", xlabel=r"angle between $q$ and $k$, degrees", xlim=(-4.0, 184.0), ylim=(_LEAST, 300.0))
    axes.set_ylabel(r"variance over $K^2$,  $K = e^{\cos\theta}$")
    axes.set_xticks(range(0, 181, 30))
    axes.legend(loc="lower left", bbox_to_anchor=(0.13, 0.0))


def _bias(axes: Axes, table: Table) -> None:
    softmax = table.where(method="exact").intervals("value")[0]
    found, drawn = (table.where(method=method) for method in ("integral", "drawn"))
    bias = np.array([abs(value - softmax).mid for value in found.intervals("value")])
    style.power(axes, found["m"], (found["m"][-1], bias[-1]), -1.0, linestyle="--", label="slope $-1$")
    style.marks(axes, found["m"], bias, "o", color=style.BLUE, label="integral", zorder=2)
    errors = [abs(value - softmax) for value in drawn.intervals("value")]
    style.intervals(axes, drawn["m"], errors, label="drawn frequencies", **_BARS)
    axes.set(xlabel="number $m$ of frequencies", ylabel="|mean output $-$ softmax output|")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    style.ticks(axes, x=[1, 4, 16, 64, 256, 1024, 4096])
    axes.minorticks_off()
    axes.legend(loc="lower left")


def _relative(table: Table) -> dict[float, Interval]:
    """Return the variances over the squared kernel, by angle."""
    kernel = np.exp(np.cos(np.radians(table["angle"]))).tolist()
    found = zip(table["angle"].tolist(), table.intervals("value"), kernel, strict=True)
    return {angle: value / k**2 for angle, value, k in found}


def _formula(name: str, angles: Array) -> Array:
    """Return the variance over the squared kernel for two unit vectors."""
    cosine = np.cos(np.radians(angles))
    near, apart = 2.0 + 2.0 * cosine, 2.0 - 2.0 * cosine
    if name == "trigonometric":
        return np.asarray(0.5 * np.exp(near - 4.0 * cosine) * np.expm1(-apart) ** 2)
    factor = -0.5 * np.expm1(-near) if name == "paired" else np.ones_like(near)
    return np.asarray(factor * np.expm1(near))
