"""Parts of bodies that no network has seen in training: the truth, and what four classifiers take the faces for.

A linear classifier tells every face by itself. The networks, without residual connections, differ in their attention
alone; one run of each at the learning rate 0.003, of 0.001, 0.003 and 0.01 that at which the dot product does best with
this seed; the same training bodies, order and outer layers for all. Below each body the share of its faces that are
right; faces that are wrong have dark edges.
"""

from __future__ import annotations

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch

from theory.evidence import Table
from theory.experiments import studies
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure

TITLE = "distance and metric see the parts of bodies; dot products see less than no attention at all"
STUDY = studies.segmented_bodies
CLAIMS = ("trained.segmented-bodies",)

_PARTS = {
    "head": style.YELLOW, "torso": style.SKY, "upper arm": style.ORANGE, "forearm": style.VERMILION,
    "hand": style.PURPLE, "thigh": style.GREEN, "shank": style.BLUE, "foot": style.GREY,
}  # fmt: skip
_ROWS = {"part": "truth", "linear": "no attention", "self": "dot product", "l2": "distance", "metric": "metric"}
_LIGHT = np.array([-0.4, 0.5, 0.77])  # from above on the left, towards the viewer
_TILT = np.deg2rad(8.0)  # how far the viewer looks down
_FRAME = (-0.9, 0.9), (-0.88, 0.66)  # of a body of unit area; larger ones have a larger one


def draw(table: Table) -> Figure:
    """Draw a row for the truth and for each classifier, a column per body."""
    bodies = table.levels("body")
    figure = style.canvas(style.DOUBLE, 8.2)
    panels = figure.subplots(len(_ROWS), len(bodies), squeeze=False)
    for (column, words), letter, row in zip(_ROWS.items(), "abcde", panels, strict=True):
        style.panel(row[0], letter, words)
        for number, axes in zip(bodies, row, strict=True):
            _body(axes, table.where(body=number), column)
    handles = [Patch(facecolor=hue, label=name) for name, hue in _PARTS.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), columnspacing=1.2)
    return figure


def _body(axes: Axes, part: Table, column: str) -> None:
    triangles = _turn(np.stack([np.stack([part[f"{a}{k}"] for a in "xyz"], axis=1) for k in range(3)], axis=1))
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    order = np.argsort(triangles[:, :, 2].mean(axis=1))  # the nearest last
    order = order[normals[order, 2] > 0.0]  # of a closed surface the others are hidden
    hues = np.array([to_rgb(hue) for hue in _PARTS.values()])[part[column]]
    light = np.clip(normals @ _LIGHT, 0.0, 1.0)[:, np.newaxis]
    shaded = hues * (0.55 + 0.45 * light) + 0.12 * light**4
    wrong = part[column] != part["part"]
    edges = np.where(wrong[:, np.newaxis], 0.0, np.clip(0.93 * shaded, 0.0, 1.0))
    axes.add_collection(
        PolyCollection(
            list(triangles[order][:, :, :2]), facecolors=np.clip(shaded, 0.0, 1.0)[order], edgecolors=edges[order],
            linewidths=np.where(wrong, 0.45, 0.3)[order], joinstyle="round",
        )
    )  # fmt: skip
    if column != "part":
        right = f"{np.mean(~wrong):.2f} right"
        style.note(axes, right, (0.0, triangles[..., 1].min() - 0.03), ha="center", va="top")
    low, high = triangles[..., 1].min() - 0.13, triangles[..., 1].max() + 0.03
    axes.set(xlim=_FRAME[0], ylim=(min(_FRAME[1][0], low), max(_FRAME[1][1], high)), aspect="equal")
    axes.set_axis_off()


def _turn(triangles: Array) -> Array:
    """Turn a body about the vertical to be seen broadside, then tilt it; the viewer is far along the third axis."""
    flat = triangles.reshape(-1, 3)[:, [0, 2]]
    widest = np.linalg.svd(flat - flat.mean(axis=0), full_matrices=False)[2][0]
    x = triangles[..., [0, 2]] @ widest
    z = triangles[..., [0, 2]] @ np.array([-widest[1], widest[0]])
    cosine = np.cos(_TILT)
    sine = np.sin(_TILT)
    height = triangles[..., 1]
    middle = 0.5 * (x.min() + x.max())
    return np.stack([x - middle, cosine * height - sine * z, sine * height + cosine * z], axis=-1)
