"""Marks in rows along logarithmic axes: those that would coincide part across their row, and the rows fit a page.

Nothing is moved along its axis. What lies beyond an axis stands in a zone of its own at that end, where the place along
the axis means nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

DOT = 0.036  # inches of a mark with its edge
PAGE = 3.6  # chosen: inches of all rows together; where that is too little, marks overlap in part
ROW = (0.101, 0.17)  # inches: the least, for a line of type, and the most without need
_ROOM = 1.5 * DOT  # of the first mark and the last, and between rows
_TOUCH = 1.0 - 1e-9  # marks nearer than this, in their own size, overlap


class LogAxis(NamedTuple):
    """A logarithmic axis with a zone at either end for what lies beyond."""

    title: str
    low: int  # decades
    high: int
    step: int  # from tick to tick
    width: float  # inches, at least
    zones: tuple[int, int]  # marks side by side below and above the axis

    @property
    def apart(self) -> float:
        """Decades that a mark takes."""
        return (self.high - self.low) / (self.width / DOT - sum(self.zones) - 2)

    @property
    def ends(self) -> tuple[float, float]:
        """Decades at which the zones end."""
        return self.low - (self.zones[0] + 1) * self.apart, self.high + (self.zones[1] + 1) * self.apart


class Spot(NamedTuple):
    """Where a mark stands: along the axis, and among the marks that it would overlap."""

    place: float  # decades
    lane: float  # from the middle of the row
    lanes: int  # that its neighbours and itself take

    def lift(self, height: float) -> float:
        """Return the inches from the middle of a row of the given height."""
        return self.lane * min(DOT, (height - _ROOM) / max(1, self.lanes - 1))


def place_marks(scale: LogAxis, values: Sequence[float]) -> list[Spot]:
    """Return the spots of the marks of a row, one per value; a value that is not positive lies below the axis."""
    numbers = np.array(values, dtype=np.float64)
    below, above = numbers < 10.0**scale.low, numbers > 10.0**scale.high
    places = np.log10(np.where(below | above, 1.0, numbers))
    places[below] = scale.low - scale.apart * (1.0 + np.arange(below.sum()) % scale.zones[0])
    places[above] = scale.high + scale.apart * (1.0 + np.arange(above.sum()) % scale.zones[1])
    lanes = assign_lanes(places / scale.apart)
    return [Spot(place, *lane) for place, lane in zip(places.tolist(), lanes, strict=True)]


def assign_lanes(places: NDArray[np.float64]) -> list[tuple[float, int]]:
    """Return the lane of each mark, so that marks of one lane are at least 1 apart, and how many lanes there are.

    Lanes are counted from their middle, anew for each group of marks that is at least 1 from all others.
    """
    lanes: dict[int, tuple[float, int]] = {}
    order = np.argsort(places, kind="stable")
    for group in np.split(order, 1 + np.flatnonzero(np.diff(places[order]) >= _TOUCH)):
        ends: list[float] = []  # the last mark of each lane
        taken: dict[int, int] = {}
        for mark in group.tolist():
            place = float(places[mark])
            taken[mark] = next((k for k, end in enumerate(ends) if place - end >= _TOUCH), len(ends))
            ends[taken[mark] : taken[mark] + 1] = [place]
        lanes |= {mark: (lane - 0.5 * (len(ends) - 1), len(ends)) for mark, lane in taken.items()}
    return [lanes[mark] for mark in range(places.size)]


def row_heights(lanes: Sequence[int]) -> NDArray[np.float64]:
    """Return the heights of rows that have so many lanes, in inches.

    A lane is as high as a mark if all rows fit the page. If they do not, the highest are cut to one height, at which
    they do; if there is room left, the least grow. Rows so many that no line of type fits leave the page.
    """
    needed = np.maximum(DOT * (np.array(lanes, dtype=np.float64) - 1.0) + _ROOM, ROW[0])
    for most in np.geomspace(PAGE, ROW[0], 99):
        cut = np.minimum(needed, most)
        if cut.sum() <= PAGE:
            break
    for least in np.linspace(ROW[1], ROW[0], 19):
        grown: NDArray[np.float64] = np.maximum(cut, least)
        if grown.sum() <= PAGE:
            break
    return grown
