r"""Tokens that form clusters on the circle and on the sphere: three temperatures, three times, one random start each.

Tokens nearer than 0.02 are drawn as one dot, whose area is in proportion to their number. At :math:`\beta = 1` all
have merged at :math:`t = 27`; the colder, the more clusters, and the longer they last.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure
from theory.particles import flow, on_sphere, studies
from theory.particles.studies import settings

TITLE = "tokens form clusters on the circle and on the sphere, more of them at larger beta"
STUDY = studies.clusters
CLAIMS = ("consensus.almost-every",)

_NEAR = 0.02  # chosen: what the eye does not separate
_TILT = np.deg2rad(25.0)
_VIEW = np.array([[1.0, 0.0, 0.0], [0.0, np.sin(_TILT), np.cos(_TILT)], [0.0, -np.cos(_TILT), np.sin(_TILT)]])
_AREA = (2.0, 75.0)  # square points: of one token, and of all together
_FRAMES = 46


def draw(table: Table) -> Figure:
    """Draw one row per temperature: three times on the circle, and the same on the sphere."""
    betas = np.unique(table["beta"])
    times = np.unique(table["time"])[1:]
    figure = style.canvas(style.DOUBLE, 3.75)
    axes = figure.subplots(betas.size, 2 * times.size)
    for level, (row, beta) in enumerate(zip(axes, betas.tolist(), strict=True)):
        for number, (each, d, time) in enumerate(
            zip(row, np.repeat([2, 3], times.size), np.tile(times, 2), strict=True)
        ):
            _still(each, _tokens(table.where(d=int(d), beta=beta, time=float(time))), sphere=d == 3)
            if level == 0 and number % times.size == 0:
                style.panel(each, "ab"[number // times.size], f"{'circle' if d == 2 else 'sphere'}, $t = {time:g}$")
            elif level == 0:
                each.set_title(f"$t = {time:g}$", size=style.TEXT)
        row[0].text(
            -0.16, 0.5, f"$\\beta = {beta:g}$", transform=row[0].transAxes, rotation=90, ha="center", va="center"
        )
    return figure


def animate(table: Table) -> Iterator[Figure]:
    """Yield the sphere at the three temperatures over time, from the start in the table."""
    betas = table.levels("beta")
    end = float(table["time"].max())
    times = np.concatenate([[0.0], np.geomspace(0.25, end, _FRAMES - 1)])
    paths = []
    for beta in betas:
        start = _tokens(table.where(d=3, beta=beta, time=0.0))
        start /= np.linalg.norm(start, axis=1, keepdims=True)
        paths.append(flow(on_sphere(beta), start, times, rtol=settings.CLUSTER_RTOL, atol=settings.CLUSTER_ATOL).states)
    for number, time in enumerate(times.tolist()):
        figure = Figure(figsize=(5.4, 2.1))
        for column, (beta, states) in enumerate(zip(betas, paths, strict=True)):
            axes = figure.add_axes((column / 3.0 + 0.01, 0.02, 1.0 / 3.0 - 0.02, 0.84))
            _still(axes, states[number], sphere=True)
            axes.set_title(f"$\\beta = {beta:g}$", loc="center", pad=1.0)
        figure.text(0.02, 0.96, f"$t = {time:.2f}$", size=style.TEXT, va="top")
        yield figure


def _tokens(part: Table) -> Array:
    return np.stack([part.middles(axis) for axis in "xyz"], axis=1)


def _still(axes: Axes, tokens: Array, *, sphere: bool) -> None:
    """Draw tokens as dots, one for all that have met."""
    places, counts = _merge_tokens(tokens)
    sizes = _AREA[0] + (_AREA[1] - _AREA[0]) * (counts - 1) / max(len(tokens) - 1, 1)
    axes.set(xlim=(-1.22, 1.22), ylim=(-1.22, 1.22), aspect="equal")
    axes.axis("off")
    turn = np.linspace(0.0, 2.0 * np.pi, 181)
    plain: dict[str, Any] = {"color": style.PALE, "linewidth": 0.6, "zorder": 1}
    axes.plot(np.cos(turn), np.sin(turn), **plain)
    if sphere:
        axes.fill(np.cos(turn), np.sin(turn), color=style.PALE, alpha=0.3, linewidth=0.0, zorder=0)
    if not sphere:
        axes.scatter(places[:, 0], places[:, 1], s=sizes, c=style.BLUE, alpha=0.8, linewidths=0.0, zorder=3)
        return
    for level in (-0.5, 0.0, 0.5):
        circle = np.stack([np.cos(turn), np.sin(turn), np.full(turn.size, level)], axis=1)
        circle[:, :2] *= np.sqrt(1.0 - level**2)
        seen = circle @ _VIEW.T
        seen[seen[:, 2] < 0.0] = np.nan
        axes.plot(seen[:, 0], seen[:, 1], **plain)
    seen = places @ _VIEW.T
    front = seen[:, 2] >= 0.0
    for part, hue, alpha, level in ((~front, style.SKY, 0.45, 2), (front, style.BLUE, 0.9, 3)):
        axes.scatter(seen[part, 0], seen[part, 1], s=sizes[part], c=hue, alpha=alpha, linewidths=0.0, zorder=level)


def _merge_tokens(tokens: Array) -> tuple[Array, Array]:
    """Return the means of the groups of tokens that are linked by short steps, and how many are in each."""
    near = ((tokens[:, np.newaxis] - tokens) ** 2).sum(axis=2) < _NEAR**2
    groups, label = connected_components(csr_array(near), directed=False)
    counts = np.bincount(label, minlength=groups).astype(np.float64)
    sums = np.stack([np.bincount(label, weights=tokens[:, k], minlength=groups) for k in range(3)], axis=1)
    return sums / counts[:, np.newaxis], counts
