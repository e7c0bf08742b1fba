r"""One layer on waves of the circle and of the sphere, from small bandwidths to beyond those in use."""

from __future__ import annotations

from theory.evidence import Kind, Table
from theory.metric.half_bandwidth import SPACES, wave_multipliers

DEGREES = 3
_FOURTHS = range(-20, 7)  # a fourth of an octave each; a half and one are among them
_LADDER = {"quick": range(6, 9), "paper": range(6, 11)}  # further halvings


def half_bandwidth(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    """Return the multipliers of the first three degrees."""
    epsilons = [2.0 ** -float(k) for k in reversed(_LADDER[scale])] + [2.0 ** (k / 4.0) for k in _FOURTHS]
    rows = [
        (space, degree, epsilon, value)
        for space in SPACES
        for epsilon in epsilons
        for degree, value in enumerate(wave_multipliers(space, DEGREES, epsilon), start=1)
    ]
    spaces, degrees, widths, values = zip(*rows, strict=True)
    units = {"space": "1", "degree": "1", "epsilon": "1", "multiplier": "1"}
    return Table(Kind.NUMERIC, units, {"space": spaces, "degree": degrees, "epsilon": widths, "multiplier": values})
