"""One valid call of everything that theory.distance shows."""

from __future__ import annotations

from theory.attention import Measure

PLANE = Measure([[0.5, -1.25], [1.5, 0.25]], [0.25, 0.75]), Measure([[1.0, 0.5], [-0.5, 1.25]])
LINE = Measure([[0.5], [1.5]], [0.25, 0.75]), Measure([[1.0], [-0.5]])

VALID = {
    "w1": {"mu": PLANE[0], "nu": PLANE[1], "iterations": 1000, "atoms": 10, "relative_width": 1e-3},
    "w1_line": {"mu": LINE[0], "nu": LINE[1]},
    "w1_to_normal": {"cloud": [[-0.5], [0.25], [1.5]], "deviation": 1.5},
}
