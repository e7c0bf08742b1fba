r"""How much of the variance between tokens is left, block by block, before any training.

Without skip connections, dot products take the variance to about its third power in every block; the squared distances
of few or of standardised features hardly average at all. With skip connections nothing collapses.
"""

from __future__ import annotations

import numpy as np

from theory.evidence import Table
from theory.experiments import studies
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure

TITLE = "an untrained network loses the variance between tokens block by block, and keeps it with skip connections"
STUDY = studies.starts
CLAIMS = ("start.shares",)

_TASKS = {"moons": "two moons", "images": "images, normal tokens", "meshes": "meshes"}
_KINDS = {
    "dot": ("dot product", style.BLACK), "features": ("dot product of features", style.BLUE),
    "distance": ("distance", style.SKY), "metric": ("distance of features", style.ORANGE),
}  # fmt: skip


def draw(table: Table) -> Figure:
    """Draw a panel per task: means over starts, with and without skip connections, and the product of the bounds."""
    figure, panels = style.row(2.7, *_TASKS.values(), sharey=True)
    for axes, task in zip(panels, _TASKS, strict=True):
        for kind, (_, hue) in _KINDS.items():
            own = table.where(task=task, similarity=kind)
            _lines(axes, own, hue)
        axes.set_yscale("symlog", linthresh=1.0)
        axes.set(xlabel="blocks", xticks=range(int(table["block"].max()) + 1), ylim=(-400.0, 6.0))
        style.guide(axes, y=0.0, line="dotted")
    panels[0].set_yticks([-100.0, -10.0, -1.0, 0.0, 1.0], ["$10^{-100}$", "$10^{-10}$", "$10^{-1}$", "1", "10"])
    panels[0].set_ylabel("share of the variance")
    style.note(
        panels[0],
        "circles: published\nsquares: skip connections\ndotted: bound",
        (0.03, 0.03),
        inside=True,
        ha="left",
        va="bottom",
    )
    handles = [
        panels[0].plot([], [], "o", color=hue, markersize=3, linestyle="solid", label=word)[0]
        for word, hue in _KINDS.values()
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=4)
    return figure


def _lines(axes: Axes, table: Table, hue: str) -> None:
    """Draw what is left in the mean over starts, and the product of the bounds where they say something."""
    for way, mark, line in (("published", "o", "solid"), ("residual", "s", (0, (4, 2)))):
        own = table.where(way=way)
        shares = _means(own, "share")
        axes.plot(range(len(shares)), shares, mark, color=hue, markersize=2.6, linestyle=line, linewidth=0.7)
        if way == "published":
            bound = np.cumsum(_means(own, "means"))
            told = bound < 0.0
            axes.plot(np.arange(len(bound))[told], bound[told], color=hue, linestyle=(0, (1, 1.5)), linewidth=0.6)


def _means(table: Table, name: str) -> Array:
    """Return the mean of a column after 0, 1, ... blocks; nothing is lost before the first."""
    return np.array([0.0, *(table.where(block=k)[name].mean() for k in table.levels("block"))])
