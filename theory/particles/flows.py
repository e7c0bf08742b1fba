r"""Trajectories by SciPy's adaptive integrators, each run twice so that its error can be seen.

Nothing here is validated: the width of an observation is how far two runs at tolerances a hundred times apart differ,
twice, though the finer one is the closer of the two, and what the rounding of its steps may have done. An entry
:math:`y` of the state is charged with :math:`2u|y|` for each evaluation of the field, and the observation is repeated
on states displaced by that much, upwards and with alternating signs. So an observation that cancels (a distance of two
tokens that have almost met) comes out wide, as it should.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_positive, as_real, as_vector
from theory.evidence.interval import Interval, Kind
from theory.evidence.roundoff import U

Array = NDArray[np.float64]
METHODS = ("DOP853", "RK45", "Radau", "LSODA", "BDF")
_APART = 100.0  # chosen: between the tolerances of the two runs
_SMALLEST = 100 * 2.0**-52  # SciPy's own limit of a relative tolerance
_SAFETY = 2.0  # taken


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """States at given times, twice.

    Parameters
    ----------
    times : ndarray, shape (T,)
    states : ndarray, shape (T, ...)
        Of the finer run.
    coarse : ndarray, shape (T, ...)
        Of the other one.
    evaluations : int
        Of the field, in the finer run.
    """

    times: Array
    states: Array
    coarse: Array
    evaluations: int

    @property
    def last(self) -> Array:
        """The state at the last time."""
        state: Array = self.states[-1]
        return state

    def observe(self, function: Callable[[Array], float]) -> list[Interval]:
        """Return ``function`` of the state at every time.

        Parameters
        ----------
        function : callable
            From a state to a real number, in plain float64.

        Returns
        -------
        list of Interval
            Of kind ``NUMERIC``; unknown where the function leaves the real numbers on a displaced state. The rounding
            of the function itself is not counted beyond that.
        """
        return [_observed(function, fine, coarse, self.evaluations) for fine, coarse in self._pairs()]

    def _pairs(self) -> list[tuple[Array, Array]]:
        return list(zip(self.states, self.coarse, strict=True))


def flow(
    field: Callable[[Array], Any], start: ArrayLike, times: ArrayLike, *,
    rtol: float = 1e-11, atol: float = 1e-13, method: str = "DOP853",
) -> Trajectory:  # fmt: skip
    r"""Integrate :math:`\dot x = f(x)`.

    Parameters
    ----------
    field : callable
        From a state to its velocity, of the same shape.
    start : array_like
        State at the first time, of any shape.
    times : array_like, shape (T,)
        At least two, increasing.
    rtol, atol : float
        Tolerances of the coarser run, per step and entry; the finer one has a hundredth of both, and no less than
        SciPy accepts.
    method : {"DOP853", "RK45", "Radau", "LSODA", "BDF"}
        The last three for stiff fields.

    Returns
    -------
    Trajectory

    Raises
    ------
    ValueError
        If an argument is not as above or the field returns another shape.
    ArithmeticError
        If the integrator gives up, as before a blow-up.
    """
    y, when = as_real(start, "start"), as_vector(times, "times")
    if when.size < 2 or not (np.diff(when) > 0.0).all():
        raise ValueError("times: expected at least two increasing numbers, got others")
    fine = _run(field, y, when, *_finer(rtol, atol), method)
    coarse = _run(field, y, when, as_positive(rtol, "rtol"), as_positive(atol, "atol"), method)
    shape = (when.size, *y.shape)
    return Trajectory(when, fine.y.T.reshape(shape), coarse.y.T.reshape(shape), int(fine.nfev))


def passage(
    field: Callable[[Array], Any], start: ArrayLike, event: Callable[[Array], float], horizon: float, *,
    rtol: float = 1e-11, atol: float = 1e-13, method: str = "DOP853",
) -> Interval:  # fmt: skip
    """Enclose the first time after zero at which ``event`` of the state changes its sign.

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
        Of kind ``NUMERIC``: the finer run's time, twice the difference of the two runs, and what rounding may have
        moved the event by, divided by its speed there.

    Raises
    ------
    ValueError
        As in :func:`flow`.
    ArithmeticError
        If the event does not happen before ``horizon``, or the integrator gives up.
    """
    y, end = as_real(start, "start"), as_positive(horizon, "horizon")
    if event(y) == 0.0:
        raise ValueError("event: expected a number other than zero at the start, got zero")

    def happens(_t: float, state: Array) -> float:
        return float(event(state.reshape(y.shape)))

    happens.terminal = True  # type: ignore[attr-defined]  # SciPy's way of saying so
    span = np.array([0.0, end])
    fine = _run(field, y, span, *_finer(rtol, atol), method, happens)
    coarse = _run(field, y, span, as_positive(rtol, "rtol"), as_positive(atol, "atol"), method, happens)
    if not fine.t_events[0].size or not coarse.t_events[0].size:
        raise ArithmeticError(f"event: expected it to happen before the time {end}, got none")
    t, other = float(fine.t_events[0][0]), float(coarse.t_events[0][0])
    state = fine.y_events[0][0].reshape(y.shape)
    velocity = np.asarray(field(state), dtype=np.float64)
    step = 1e-6 * max(t, 1e-300)  # a difference quotient is enough for the slope that rounding is divided by
    speed = abs(event(state + step * velocity) - event(state - step * velocity)) / (2.0 * step)
    moved = _moved(event, state, int(fine.nfev))
    if not speed > 0.0 or not np.isfinite(moved):
        return Interval.unknown(Kind.NUMERIC)
    return Interval.within(t, _SAFETY * (abs(t - other) + moved / speed) + 8 * U * t, Kind.NUMERIC)


def _finer(rtol: float, atol: float) -> tuple[float, float]:
    return max(as_positive(rtol, "rtol") / _APART, _SMALLEST), as_positive(atol, "atol") / _APART


def _run(
    field: Callable[[Array], Any], start: Array, times: Array, rtol: float, atol: float, method: Any,
    event: Any = None,
) -> Any:  # fmt: skip
    from scipy.integrate import solve_ivp  # noqa: PLC0415  slow to load

    if method not in METHODS:
        raise ValueError(f"method: expected one of {', '.join(METHODS)}, got {method!r}")
    if rtol < _SMALLEST:
        raise ValueError(f"rtol: expected at least {_SMALLEST:.1e}, got {rtol}")

    def velocity(_t: float, y: Array) -> Array:
        moving = np.asarray(field(y.reshape(start.shape)), dtype=np.float64)
        if moving.shape != start.shape:
            raise ValueError(f"field: expected velocities of shape {start.shape}, got shape {moving.shape}")
        return moving.ravel()

    found = solve_ivp(
        velocity, (times[0], times[-1]), start.ravel(), method=method, t_eval=times, rtol=rtol, atol=atol, events=event
    )
    if not found.success:
        raise ArithmeticError(f"field: expected a solution up to the time {times[-1]}, got: {found.message}")
    return found


def _observed(function: Callable[[Array], float], fine: Array, coarse: Array, evaluations: int) -> Interval:
    value, other = float(function(fine)), float(function(coarse))
    moved = _moved(function, fine, evaluations)
    if not np.isfinite([value, other, moved]).all():
        return Interval.unknown(Kind.NUMERIC)
    return Interval.within(value, _SAFETY * (abs(value - other) + moved) + 8 * U * abs(value), Kind.NUMERIC)


def _moved(function: Callable[[Array], float], state: Array, evaluations: int) -> float:
    """Return how much the rounding of that many evaluations may have moved an observation of the state."""
    size = 2 * U * evaluations * np.abs(state)
    signs = np.where(np.arange(state.size).reshape(state.shape) % 2, -1.0, 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = [float(function(state + displaced)) for displaced in (size, signs * size)]
    here = float(function(state))
    return float(max(abs(value - here) for value in values))
