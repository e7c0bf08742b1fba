r"""The laws of entmax that are drawn: against a score, against the order, and along the temperature.

The error of an order of at most two is that of :func:`theory.maxent.sparse.weight_error`. Above it a base that is
known to :math:`(2(\alpha-1) + 8)u` moves the weight :math:`x^{1/(\alpha-1)}` by :math:`p^{2-\alpha}/(\alpha-1)` of
that; twice that is taken, to cover the higher orders. A weight that is zero stays zero: no entry here is within
rounding of the edge of the support.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from theory.evidence import Interval, Kind, Table
from theory.evidence.roundoff import U
from theory.maxent.sparse.entmax import entmax
from theory.maxent.sparse.threshold import weight_error
from theory.maxent.sparse.tsallis import tsallis

ORDERS = (1.0, 1.5, 2.0, np.inf)
THREE = (1.0, 0.9, 0.0)
TABULATED = (1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 8.0)
PATH_SCORES = (1.0, 0.6, 0.0)
PATH_ORDERS = (1.0, 1.5, 2.0)

Array = NDArray[np.float64]


def weights(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    """Return entmax of two scores against their difference, and of three against the order.

    Rows hold the scores ``s1``, ``s2``, ``s3``, the third of which is masked where there are two, the order and the
    weights; ``scores`` says which of both sweeps a row belongs to.
    """
    steps = 64 if scale == "quick" else 256
    rows: list[tuple[str, tuple[float, ...], float]] = []
    for alpha in ORDERS:
        rows += [("two", (float(d), 0.0, -np.inf), alpha) for d in np.linspace(-4.0, 4.0, steps + 1)]
    low = np.linspace(0.5, 2.0, steps + 1)
    high = np.linspace(2.0, 8.0, steps // 2 + 1)  # a weight vanishes below two
    orders = sorted({*low.tolist(), *high.tolist(), *TABULATED})
    return _solved(rows + [("three", THREE, alpha) for alpha in orders], {})


def paths(*, scale: str, root: int) -> Table:  # noqa: ARG001
    """Return entmax of three scores along a grid of temperatures that is uniform in their inverse, with its entropy."""
    steps = 100 if scale == "quick" else 400  # none of them falls on a temperature at which a weight vanishes
    inverse = np.linspace(0.0, 6.0, steps + 1)[1:]
    rows = [("three", PATH_SCORES, alpha) for alpha in PATH_ORDERS for _ in inverse]
    return _solved(rows, {"tau": np.tile(1.0 / inverse, len(PATH_ORDERS)), "inverse": np.tile(inverse, 3)})


def _solved(rows: Sequence[tuple[str, tuple[float, ...], float]], more: dict[str, Array]) -> Table:
    scores = np.array([s for _, s, _ in rows])
    alpha = np.array([a for _, _, a in rows])
    p = entmax(scores, alpha, tau=more.get("tau", np.ones(len(rows))))
    off = _error(p, alpha[:, np.newaxis])
    columns: dict[str, object] = {"scores": [name for name, _, _ in rows], "alpha": alpha, **more}
    for k in range(3):
        columns[f"s{k + 1}"] = scores[:, k]
    for k in range(3):
        columns[f"p{k + 1}"] = [Interval.within(float(x), float(e)) for x, e in zip(p[:, k], off[:, k], strict=True)]
    columns["support"] = np.count_nonzero(p, axis=1)
    columns["entropy"] = tsallis(p, np.ones(len(rows)))
    return Table(Kind.NUMERIC, dict.fromkeys(columns, "1"), columns)  # type: ignore[arg-type]


def _error(p: Array, alpha: Array) -> Array:
    """Return by how much the weights may be off; the infinite order compares scores and rounds one quotient."""
    e = np.where(np.isinf(alpha), 1.0, np.maximum(alpha - 1.0, 1.0))
    steep = np.where(p > 0.0, p, 1.0) ** (1.0 - e) * (4.0 + 16.0 / e) * U
    least = weight_error(1.0, p.shape[-1])
    return np.where(p > 0.0, np.where(e > 1.0, np.maximum(steep, least), least), 0.0)
