r"""The largest gap of tokens, and their norm, over time under Pre-LN and Post-LN.

``part`` says what moves: ``simplex`` the scalar equation, ``overlaps`` those of drawn tokens, ``tokens`` the very same
tokens in coordinates, as long as these hold the digits of the gap. ``norm`` is that of the first token, one under
Post-LN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.attention import DotProduct
from theory.evidence import Interval, Kind, Table, stream
from theory.particles.dynamics.fields import PreNorm, SoftmaxField, Tangential
from theory.particles.dynamics.flows import Trajectory, flow
from theory.particles.exact.equiangular import Equiangular
from theory.particles.exact.overlaps import GapField, gaps

Array = NDArray[np.float64]
NORM_SIMPLICES = ((4, 1.0, 0.75), (16, 3.0, 1.0))  # tokens, beta and the gap at the start
NORM_BETA, NORM_TOKENS, DIM = 2.0, 6, 3  # of the drawn tokens
_TINY = 1e-60  # chosen: absolute tolerance, so that gaps keep their digits
_LAST = {"pre": 1e8, "post": 40.0}  # of gaps, which keep their digits
_HELD = {"pre": 1e4, "post": 9.0}  # of coordinates
_TOLERANCE = 1e-10  # chosen: of the steps


def norms(*, scale: str, root: int) -> Table:
    """Return gaps and norms at powers of the fourth root of ten (Pre-LN) and at whole times (Post-LN)."""
    rows: list[dict[str, Any]] = []
    for case, (n, beta, gap) in enumerate(NORM_SIMPLICES):
        simplex = Equiangular(n, beta)
        for norm in ("pre", "post"):
            start = np.array([math.log(gap), 0.0] if norm == "pre" else [math.log(gap)])
            path = flow(simplex.pre_norm if norm == "pre" else simplex.post_norm, start, _times(norm, _LAST[norm]))
            log_norm = (lambda state: float(state[1])) if norm == "pre" else None
            _add(rows, ("simplex", norm, case, n, beta, gap), path, lambda state: float(state[0]), log_norm)
    for case in range(1 if scale == "quick" else 4):
        x = np.abs(stream("studies.norms", case, root=root).normal(size=(NORM_TOKENS, DIM)))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        given = gaps(x)
        softmax = SoftmaxField(DotProduct(scale=NORM_BETA))
        for norm in ("pre", "post"):
            named = (norm, case, NORM_TOKENS, NORM_BETA, float(given.max()))
            pre = norm == "pre"
            start = np.hstack([given, np.zeros((NORM_TOKENS, 1))]) if pre else given
            times = _times(norm, _LAST[norm])
            path = flow(GapField(NORM_BETA, pre_norm=pre), start, times, rtol=_TOLERANCE, atol=_TINY)
            log_norm = (lambda state: float(state[0, -1])) if pre else None
            _add(rows, ("overlaps", *named), path, lambda state: math.log(state[:, :NORM_TOKENS].max()), log_norm)
            field = PreNorm(softmax) if pre else Tangential(softmax)
            path = flow(field, x, _times(norm, _HELD[norm]), rtol=_TOLERANCE)
            log_norm = (lambda state: math.log(np.linalg.norm(state[0]))) if pre else None
            _add(rows, ("tokens", *named), path, _log_gap, log_norm)
    kinds = ("part", "norm", "case", "n", "beta", "start", "t", "log_gap", "log_norm")
    units = {**dict.fromkeys(kinds, "1"), "t": "time"}
    return Table(Kind.ESTIMATED, units, {k: [row[k] for row in rows] for k in kinds})


def _times(norm: str, last: float) -> Array:
    if norm == "pre":
        return np.concatenate([[0.0], 10.0 ** np.arange(0.0, math.log10(last) + 0.125, 0.25)])
    return np.arange(0.0, last + 0.5)


def _log_gap(x: Array) -> float:
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    return math.log(gaps(unit).max())


def _add(
    rows: list[dict[str, Any]], named: tuple[Any, ...], path: Trajectory, log_gap: Callable[[Array], float],
    log_norm: Callable[[Array], float] | None,
) -> None:  # fmt: skip
    found = path.observe(log_gap)
    grown = [Interval.exactly(0.0)] * len(found) if log_norm is None else path.observe(log_norm)
    for t, g, r in zip(path.times.tolist(), found, grown, strict=True):
        if t > 0.0:
            row = dict(zip(("part", "norm", "case", "n", "beta", "start"), named, strict=True))
            rows.append(row | {"t": t, "log_gap": g, "log_norm": r})
