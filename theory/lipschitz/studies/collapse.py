r"""The diameter of clouds over the depth of attention without anything else, in arithmetic of hundreds of digits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.evidence import Interval, Kind, Table
from theory.evidence.enclosure import balls, exp, hull, precision

DIGITS = 400
_BITS = math.log2(10.0)
_LAYERS = 40
_ENOUGH = 1e-9  # taken: where the logarithm of a diameter is known less well, the digits are used up

Balls = NDArray[np.object_]
# both of norm one
FORM = np.array([[0.0, 1.0], [-0.5, 0.0]])
VALUE = np.array([[0.0, -1.0], [1.0, 0.0]])
CLOUD = np.array([[0.5, 0.0], [-0.25, 0.5], [-0.5, -0.25], [0.125, -0.5], [0.25, 0.375]])
STARTS = (1.0, 1.5, 1.75, 1.9375, 2.0, 2.25, 2.5, 3.0)  # diameters of two tokens on the line; the threshold is two


def collapse(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    r"""Return the logarithm of the diameter after every layer, as long as the digits last.

    ``way`` is ``pair`` for two tokens on the line under form and value one, ``residual`` for the same layers with a
    skip connection, and ``cloud`` for five tokens in the plane under a form and a value matrix of norm one. ``log`` is
    the natural logarithm of the diameter, ``start`` the diameter before the first layer.
    """
    digits = DIGITS if scale == "quick" else 10 * DIGITS
    columns: dict[str, list[object]] = {key: [] for key in ("way", "start", "depth", "log")}
    one = np.ones((1, 1))
    runs = [(way, s, s / 2 * np.array([[-1.0], [1.0]]), one, one) for way in ("pair", "residual") for s in STARTS]
    runs += [("cloud", s, s / diameter(CLOUD) * CLOUD, FORM, VALUE) for s in STARTS]
    with precision(int(digits * _BITS) + 64):
        for way, start, points, form, value in runs:
            for depth, found in enumerate(_path(points, form, value, residual=way == "residual")):
                for key, cell in zip(columns, (way, start, depth, found), strict=True):
                    columns[key].append(cell)
    units = dict.fromkeys(columns, "1")
    return Table(Kind.CERTIFIED, units, columns)  # type: ignore[arg-type]


def diameter(points: NDArray[np.float64]) -> float:
    """Return the largest distance of two points."""
    return float(np.linalg.norm(points[:, np.newaxis] - points, axis=2).max())


def attended(points: Balls, form: Balls, value: Balls) -> Balls:
    """Return the outputs of self-attention as it is printed."""
    weights = exp(points @ form @ points.T)
    outputs: Balls = (weights @ points) / weights.sum(axis=1)[:, np.newaxis] @ value.T
    return outputs


def log_diameter(points: Balls) -> Interval:
    """Return the logarithm of the largest distance; unknown if all distances may vanish."""
    squares = [((points[i] - points[j]) ** 2).sum() for i in range(len(points)) for j in range(i)]
    return Interval.largest(_log(square) for square in squares)


def _log(square: Any) -> Interval:
    """Return half the logarithm, unbounded below where a distance may vanish."""
    if square > 0:
        return hull(square.log() / 2)
    top = square.upper()
    return Interval(-math.inf, hull(top.log() / 2).hi if top > 0 else 0.0, Kind.CERTIFIED)


def _path(points: Any, form: Any, value: Any, *, residual: bool) -> list[Interval]:
    x, b, v = balls(points), balls(form), balls(value)
    found: list[Interval] = []
    for _ in range(_LAYERS + 1):
        size = log_diameter(x)
        if not size.width <= _ENOUGH * max(1.0, abs(size.mid)):
            break
        found.append(size)
        if residual and len(found) > 6:  # the skip connection: six layers say enough
            break
        out = attended(x, b, v)
        x = x + out if residual else out
    return found
