"""When a trajectory passes a level, by the adaptive integrators of ``flows``, run twice."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_callable, as_positive, as_real
from theory.evidence.convergence import estimated
from theory.evidence.interval import Interval, Kind
from theory.evidence.roundoff import U
from theory.particles.dynamics.flows import finer, moved_by, run, safety_of

Array = NDArray[np.float64]


def first_passage_time(
    field: Callable[[Array], Any], start: ArrayLike, event: Callable[[Array], float], horizon: float, *,
    rtol: float = 1e-11, atol: float = 1e-13, method: str = "DOP853",
) -> Interval:  # fmt: skip
    """Enclose the first time after zero at which ``event`` of the state changes its sign.

    Signs are compared at the ends of the integrator's steps only: an event that changes back within one goes unseen, so
    it should be monotone until it happens.

    Parameters
    ----------
    field, start, rtol, atol, method
        As in :func:`flow`.
    event : callable
        From a state to a real number, not zero at the start.
    horizon : float
        Time up to which is looked; positive.

    Returns
    -------
    Interval
        Of kind ``ESTIMATED``: the finer run's time, twice the difference of the two runs, and what rounding may have
        moved the event by, divided by its speed there.

    Raises
    ------
    ValueError
        As in :func:`flow`.
    ArithmeticError
        If the event does not happen before ``horizon``, or the integrator gives up.
    """
    y = as_real(start, "start")
    end = as_positive(horizon, "horizon")
    rtol, atol = as_positive(rtol, "rtol"), as_positive(atol, "atol")
    as_callable(field, "field")
    as_callable(event, "event")
    if y.size == 0:
        raise ValueError(f"start: expected a state, got shape {y.shape}")
    if event(y) == 0.0:
        raise ValueError("event: expected a number other than zero at the start, got zero")

    def happens(_t: float, state: Array) -> float:
        return float(event(state.reshape(y.shape)))

    happens.terminal = True  # type: ignore[attr-defined]  # SciPy's way of saying so
    span = np.array([0.0, end])
    fine = run(field, y, span, *finer(rtol, atol), method, happens)
    coarse = run(field, y, span, rtol, atol, method, happens)
    if not fine.t_events[0].size or not coarse.t_events[0].size:
        raise ArithmeticError(f"event: expected it to happen before the time {end}, got none")
    # the event lies on the interpolant of a step; one more run ends there, and one step of Newton's mends the time
    t, state, speed = _arrival(field, y, event, fine, *finer(rtol, atol), method)
    other, _, _ = _arrival(field, y, event, coarse, rtol, atol, method)
    moved = moved_by(event, state, int(fine.nfev), finer(rtol, atol))
    if not speed > 0.0 or not np.isfinite([t, other, moved]).all():
        return Interval.unknown(Kind.ESTIMATED)
    times = safety_of(method)
    return estimated(t, other, times=times) + Interval.within(0.0, times * moved / speed + 8 * U * t)


def _arrival(
    field: Callable[[Array], Any], start: Array, event: Callable[[Array], float], found: Any, rtol: float,
    atol: float, method: str,
) -> tuple[float, Array, float]:  # fmt: skip
    """Return when the event happens, the state about then, and how fast the event passes zero."""
    t = float(found.t_events[0][0])
    state = run(field, start, np.array([0.0, t]), rtol, atol, method).y[:, -1].reshape(start.shape)
    velocity = np.asarray(field(state), dtype=np.float64)
    step = 1e-6 * max(t, 1e-300)  # a difference quotient is enough for the slope of what is almost zero
    slope = (event(state + step * velocity) - event(state - step * velocity)) / (2.0 * step)
    return (t - event(state) / slope if slope else math.nan), state, abs(slope)
