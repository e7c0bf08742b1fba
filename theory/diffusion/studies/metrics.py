r"""One layer on the circle under four learned metrics, for falling bandwidths.

``modulated`` is a symmetric score that is no squared distance, ``lopsided`` one with the same Hessian on the diagonal
that is not symmetric; ``reparametrised`` and ``ellipse`` are squared distances of features.
"""

from __future__ import annotations

import numpy as np

from theory.diffusion.geometry.curves import Curve, Ellipse, Modulated, Reparametrised, layer_change
from theory.diffusion.studies.wavy import WAVY_DENSITY, wavy_function
from theory.evidence import Kind, Table

LEARNED_CURVES: dict[str, Curve] = {
    "modulated": Modulated(0.3), "lopsided": Modulated(0.3, symmetric=False), "reparametrised": Reparametrised(0.4),
    "ellipse": Ellipse(1.0, 0.7),
}  # fmt: skip
LEVELS = 7
PLACES = {"quick": 12, "paper": 48}
_START = 0.01


def metrics(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    r"""Return :math:`(P_\varepsilon h - h)/\varepsilon` at angles of the circle."""
    rows = []
    places = (2.0 * np.pi * np.arange(PLACES[scale]) / PLACES[scale]).tolist()
    for name, curve in LEARNED_CURVES.items():
        for level in range(LEVELS):
            epsilon = _START * 0.5**level
            rows += [(name, epsilon, x, layer_change(curve, WAVY_DENSITY, wavy_function, epsilon, x)) for x in places]
    curves, epsilons, angles, changes = zip(*rows, strict=True)
    units = {"curve": "1", "epsilon": "1", "x": "rad", "change": "1"}
    return Table(Kind.ESTIMATED, units, {"curve": curves, "epsilon": epsilons, "x": angles, "change": changes})
