r"""What rounding may add to a run of fixed steps.

Two solutions of :math:`x' = f(x)` move apart at most like :math:`e^{\int\mu}`, where :math:`\mu` is the logarithmic
norm of the Jacobian, the largest eigenvalue of its symmetric part (Dahlquist); on the sphere the same holds in charts.
So :math:`N` steps that round by :math:`\delta` each are off by at most :math:`N\delta` times the largest such factor
from any time to the end. The Jacobians are seen at points of the path, and doubled for what lies between them.

References
----------
E. Hairer, S. P. Nørsett and G. Wanner, *Solving Ordinary Differential Equations I*, 2nd ed., Springer 1993, I.10.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theory._validate import as_between, as_callable, as_count, as_instance, as_positive, as_real
from theory.evidence.roundoff import gamma
from theory.particles.dynamics.runge_kutta import FLAT, SPHERE, Method, Space, chart_rate

Array = NDArray[np.float64]
_QUOTIENT = 2.0**-20  # taken: displacement of a difference quotient, of which the error is far below the margin
_MARGIN = 2.0  # taken: for what lies beside the points that are seen, and for the steps not being the flow


@dataclass(frozen=True, slots=True)
class Stability:
    """How a path answers to disturbances.

    Parameters
    ----------
    lipschitz : float
        Largest norm of the Jacobian, per unit of time.
    factor : float
        Largest factor by which a disturbance may have grown at the end.
    """

    lipschitz: float
    factor: float


def stability(
    fields: Sequence[Callable[[Array], Array]], states: Sequence[Array], step: float, space: Space = FLAT
) -> Stability:
    """See how a path answers to disturbances, from the field and the state at times ``step`` apart.

    Raises
    ------
    ValueError
        If there are not as many fields as states, at least two.
    """
    for name, given in (("fields", fields), ("states", states)):
        if not isinstance(given, (list, tuple, np.ndarray)):
            raise TypeError(f"{name}: expected a sequence, got {type(given).__name__}")
    if len(fields) != len(states) or len(states) < 2:
        raise ValueError(f"states: expected as many as fields, at least two, got {len(states)} and {len(fields)}")
    jacobians = [jacobian(field, x, space) for field, x in zip(fields, states, strict=True)]
    slopes = np.array([np.linalg.eigvalsh((j + j.T) / 2.0)[-1] for j in jacobians])
    parts = (slopes[1:] + slopes[:-1]) / 2.0 * as_positive(step, "step")
    ahead = np.cumsum(parts[::-1])
    steepest = max(float(np.linalg.norm(j, 2)) for j in jacobians)
    return Stability(_MARGIN * steepest, _MARGIN * math.exp(max(0.0, float(ahead.max()))))


def jacobian(field: Callable[[Array], Array], x: Array, space: Space = FLAT) -> Array:
    """Return the Jacobian at ``x`` by central differences, on the sphere that of the rate in the charts about ``x``."""
    as_callable(field, "field")
    as_instance(space, "space", Space)
    x = as_real(x, "x")
    columns = []
    if x.size == 0:
        raise ValueError(f"x: expected a state, got shape {x.shape}")
    for k in range(x.size):
        v = (_QUOTIENT * (np.arange(x.size) == k)).reshape(x.shape)
        if space is SPHERE:  # only tangent vectors are coordinates
            v = v - np.einsum("ij,ij->i", x, v)[:, np.newaxis] * x
            ahead, back = (chart_rate(field, x, w) for w in (v, -v))
        else:
            ahead, back = field(x + v), field(x - v)
        columns.append((ahead - back).ravel() / (2.0 * _QUOTIENT))
    return np.stack(columns, axis=1)


def rounding(
    method: Method, *, step: float, steps: int, stable: Stability, size: float, speed: float, relative: float
) -> float:
    """Bound what rounding adds to the final state, in the Euclidean norm of all its coordinates.

    Parameters
    ----------
    method, step, steps
        Of the run.
    stable : Stability
        Of the path.
    size, speed : float
        Bounds on the Euclidean norms of state and velocity, all tokens together.
    relative : float
        Bound on the error of a computed velocity, as a part of ``speed``.
    """
    h = as_positive(step, "step")
    count = as_count(steps, "steps", least=0)
    as_instance(method, "method", Method)
    as_instance(stable, "stable", Stability)
    size, speed, relative = (
        as_between(value, name, 0.0, sys.float_info.max)
        for value, name in ((size, "size"), (speed, "speed"), (relative, "relative"))
    )
    weight = math.fsum(abs(float(w)) for w in method.b)
    unit = gamma(method.stages + 16)  # the products of a stage, their sum, and on the sphere a division by the length
    stages: list[float] = []  # how far each stage's velocity may be off
    for row in method.a:
        reach = math.fsum(abs(float(w)) for w in row)
        taken = math.fsum(abs(float(w)) * off for w, off in zip(row, stages, strict=True))
        stages.append(relative * speed + stable.lipschitz * (unit * (size + h * reach * speed) + h * taken))
    handed = math.fsum(abs(float(w)) * off for w, off in zip(method.b, stages, strict=True))
    return count * (unit * (size + h * weight * speed) + h * handed) * stable.factor
