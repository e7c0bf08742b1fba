r"""How a query learns to select tokens by gradient ascent: its way, its direction, and what is left.

Three queries in the plane start at zero. Left: their ways up to the time :math:`10^{12}`, with dots at powers of ten,
and dashed the rays of :math:`\hat p`, the shortest :math:`p` with all :math:`\langle p, d_i\rangle \ge 1`. Middle: the
angle to :math:`\hat p`; lines are the angle of :math:`\hat p\log t + \tilde p`, dashed that of the mean difference.
Right: the distance from :math:`\hat p\log t + \tilde p`, and as a band what the claim allows: a third of
:math:`t^{-\kappa}` to twice that where :math:`\kappa < 1`, else
:math:`2(\alpha_1^2/c_1 + \alpha_2^2/c_2)|\hat p|^{-1}\log t/t` up to :math:`3/(2t)`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure
from theory.maxent.studies import selecting

TITLE = "a query that learns to select turns to the largest margin, with an angle like one over the logarithm of time"
STUDY = selecting.selecting
CLAIMS = ("descent.oblique",)

_HUES = {"acute": style.BLUE, "obtuse": style.VERMILION, "steep": style.GREEN}
_MARKS = {"acute": "o", "obtuse": "s", "steep": "^"}


class _Limit(NamedTuple):
    heading: Array  # the separating query
    offset: Array
    power: float
    resonance: float


def draw(table: Table) -> Figure:
    """Draw ways, angles and distances."""
    figure, (first, second, third) = style.row(
        2.7, "the way of the query", "its angle to the largest margin", "its distance from the limit"
    )
    for name, hue in _HUES.items():
        part = table.where(query=name)
        times = 10.0 ** part["exponent"].astype(float)
        p = np.stack([part.middles("x"), part.middles("y")], axis=1)
        limit = _limit(name)
        first.plot(*np.vstack([np.zeros(2), p]).T, "-", color=hue, linewidth=0.7)
        style.marks(first, p[:, 0], p[:, 1], _MARKS[name], color=hue)
        end = limit.heading * np.log(times[-1])
        first.plot([0.0, end[0]], [0.0, end[1]], color=hue, linewidth=0.8, linestyle=(0, (4, 2)))
        _angles(second, times, p, limit, name)
        _distances(third, times, part, limit, name)
    first.set(xlabel="$p_1$", ylabel="$p_2$")
    style.note(first, r"dashed: $\hat p\log t$", (0.97, 0.04), inside=True, ha="right")
    second.set(xscale="log", yscale="log", xlabel="time $t$", ylabel="degrees", ylim=(1.2, 60.0))
    style.ticks(second, y=[2, 5, 10, 20, 50])
    style.note(second, "dashed: the mean token", (0.97, 0.97), inside=True, ha="right", va="top")
    third.set(
        xscale="log", yscale="log", xlabel="time $t$", ylabel=r"$|p - \hat p\log t - \tilde p|$", ylim=(2e-12, 5.0)
    )
    style.note(third, "bands: what is claimed", (0.97, 0.97), inside=True, ha="right", va="top")
    figure.legend(*second.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def _limit(name: str) -> _Limit:
    """Return what the claim states of a query, from the first two differences."""
    differences, worths = (np.array(part) for part in selecting.QUERIES[name])
    pair, worth = differences[:2], worths[:2]
    heading = np.linalg.solve(pair, np.ones(2))
    shares = np.linalg.solve(pair.T, heading)
    power = float(shares @ (pair**2).sum(axis=1)) - 1.0
    resonance = 2.0 * float((shares**2 / worth).sum()) / float(np.linalg.norm(heading))
    return _Limit(heading, np.linalg.solve(pair, np.log(worth / shares)), power, resonance)


def _angle(p: Array, heading: Array) -> Array:
    found: Array = np.degrees(np.arccos(p @ heading / np.linalg.norm(p, axis=-1) / np.linalg.norm(heading)))
    return found


def _angles(axes: Axes, times: Array, p: Array, limit: _Limit, name: str) -> None:
    hue = _HUES[name]
    across = np.geomspace(times[0], times[-1], 200)
    line = np.log(across)[:, np.newaxis] * limit.heading + limit.offset
    axes.plot(across, _angle(line, limit.heading), color=hue, linewidth=0.7)
    mean = np.mean(selecting.QUERIES[name][0], axis=0)
    axes.axhline(float(_angle(mean, limit.heading)), color=hue, linewidth=0.8, linestyle=(0, (4, 2)))
    style.marks(
        axes, times, _angle(p, limit.heading), _MARKS[name], color=hue, label=rf"{name}, $\kappa = {limit.power:.2f}$"
    )


def _distances(axes: Axes, times: Array, part: Table, limit: _Limit, name: str) -> None:
    hue = _HUES[name]
    heights = np.log(times)[:, np.newaxis] * limit.heading + limit.offset
    left = np.hypot(part.middles("x") - heights[:, 0], part.middles("y") - heights[:, 1])
    style.marks(axes, times, left, _MARKS[name], color=hue)
    if limit.power < 1.0:
        low, high = times**-limit.power / 3.0, 2.0 * times**-limit.power
    else:
        middle, rest = limit.resonance * np.log(times) / times, 1.5 / times
        low, high = middle - rest, middle + rest
    axes.fill_between(times, low, high, where=low > 0.0, color=hue, alpha=0.2, linewidth=0.0)
