r"""Trajectories by SciPy's adaptive integrators, each run twice so that its error can be seen.

Nothing here is validated: the width of an observation is how far two runs at tolerances a hundred times apart differ,
twice (ten times for multistep methods), though the finer one is the closer of the two, and what the rounding of its
steps may have done. An entry :math:`y` of the state is charged with :math:`2u|y|` for each evaluation of the field and
with the tolerance of one step of the finer run, because two runs may agree by chance, and the observation is repeated
on states displaced by that much, upwards and with alternating signs. So an observation that cancels (a distance of two
tokens that have almost met) comes out wide, as it should.

Neither run sees the field between the states at which it evaluates it. A spike that is much narrower than a step (a
force that acts in a thin shell, or for a moment of a time that is carried as a coordinate) may be stepped over by both
runs, which then agree, and no width says so. One-step methods start anew at every one of the ``times``: put some before
the spike and within it, no further apart than it is wide.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_callable, as_choice, as_positive, as_real, as_vector
from theory.evidence import Intervals, within
from theory.evidence.interval import Interval, Kind
from theory.evidence.roundoff import U

Array = NDArray[np.float64]
METHODS = ("DOP853", "RK45", "Radau", "LSODA", "BDF")
_APART = 100.0  # chosen: between the tolerances of the two runs
_SMALLEST = 100 * 2.0**-52  # SciPy's own limit of a relative tolerance
_SAFETY, _MULTISTEP = 2.0, 10.0  # taken; steps of multistep methods are worse than their tolerance


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
    tolerance : tuple of two floats, default (0.0, 0.0)
        Relative and absolute, of a step of the finer run.
    safety : float, default 2.0
        By how many times the difference of the runs an observation is widened.
    """

    times: Array
    states: Array
    coarse: Array
    evaluations: int
    tolerance: tuple[float, float] = (0.0, 0.0)
    safety: float = _SAFETY

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
            Of kind ``ESTIMATED``; unknown where the function leaves the real numbers on a displaced state. The rounding
            of the function itself is not counted beyond that.
        """
        as_callable(function, "function")
        return [_observed(function, *pair, self.evaluations, self.tolerance, self.safety) for pair in self._pairs()]

    def enclosed(self) -> Intervals:
        """Return the states, shape (T, ...), each entry with its width: what :meth:`observe` says of single entries."""
        states = self.states
        rounded = (2 * U * self.evaluations + self.tolerance[0]) * np.abs(states) + self.tolerance[1]
        error = self.safety * (np.abs(states - self.coarse) + rounded) + 8 * U * np.abs(states)
        enclosed: Intervals = within(states, error, Kind.ESTIMATED)
        return enclosed

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
        From a state to its velocity, of the same shape; what changes within less than a step may go unseen (see above).
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
    y = as_real(start, "start")
    when = as_vector(times, "times")
    as_callable(field, "field")
    if y.size == 0:
        raise ValueError(f"start: expected a state, got shape {y.shape}")
    if when.size < 2 or not (np.diff(when) > 0.0).all():
        raise ValueError("times: expected at least two increasing numbers, got others")
    if not (0.5 * np.diff(when) > 0.0).all():
        raise ValueError(f"times: expected steps that float64 can halve, got {np.diff(when).min()}")
    fine = run(field, y, when, *finer(rtol, atol), method, parts=2)
    coarse = run(field, y, when, as_positive(rtol, "rtol"), as_positive(atol, "atol"), method)
    shape = (when.size, *y.shape)
    states = fine.y.T.reshape(shape), coarse.y.T.reshape(shape)
    return Trajectory(when, *states, int(fine.nfev), finer(rtol, atol), safety_of(method))


def safety_of(method: str) -> float:
    """Return by how many times the difference of two runs of a method is taken for the error of the finer one."""
    return _MULTISTEP if method in ("LSODA", "BDF") else _SAFETY


def finer(rtol: float, atol: float) -> tuple[float, float]:
    """Return the tolerances of the finer run."""
    return max(as_positive(rtol, "rtol") / _APART, _SMALLEST), as_positive(atol, "atol") / _APART


def run(
    field: Callable[[Array], Any], start: Array, times: Array, rtol: float, atol: float, method: Any,
    event: Any = None, *, parts: int = 1,
) -> Any:  # fmt: skip
    """Run one of SciPy's integrators, from stop to stop."""
    from scipy.integrate import solve_ivp  # noqa: PLC0415  slow to load

    as_choice(method, "method", METHODS)
    if rtol < _SMALLEST:
        raise ValueError(f"rtol: expected at least {_SMALLEST:.1e}, got {rtol}")

    def velocity(_t: float, y: Array) -> Array:
        moving = np.asarray(field(y.reshape(start.shape)), dtype=np.float64)
        if moving.shape != start.shape:
            raise ValueError(f"field: expected velocities of shape {start.shape}, got shape {moving.shape}")
        return moving.ravel()

    # Between the ends of its steps a one-step method interpolates, with an error that no tolerance controls and that
    # two runs may share. So it stops at every time that is asked for; the finer run takes two steps at least between
    # two of them, or both would take the same single one and agree on its error.
    at_once = event is not None or method in ("LSODA", "BDF")
    spans = [times] if at_once else [times[k : k + 2] for k in range(times.size - 1)]
    found = None
    states = [start.ravel()]
    evaluations = 0
    step = math.inf
    for span in spans:
        first = None if math.isinf(step) else min(step, float(span[-1] - span[0]))
        found = solve_ivp(
            velocity, (span[0], span[-1]), states[-1], method=method, t_eval=span if at_once else None,
            rtol=rtol, atol=atol, events=event, first_step=first,
            max_step=math.inf if at_once else float(span[-1] - span[0]) / parts,
        )  # fmt: skip
        if not found.success:
            raise ArithmeticError(f"field: expected a solution up to the time {times[-1]}, got: {found.message}")
        if at_once:
            return found
        states.append(found.y[:, -1])
        evaluations += int(found.nfev)
        step = 2.0 * float(np.diff(found.t).max())
    if found is not None:
        found.y = np.stack(states, axis=1)
        found.nfev = evaluations
    return found


def _observed(
    function: Callable[[Array], float],
    fine: Array,
    coarse: Array,
    evaluations: int,
    tolerance: tuple[float, float],
    safety: float,
) -> Interval:
    value, other = float(function(fine)), float(function(coarse))
    moved = moved_by(function, fine, evaluations, tolerance)
    if not np.isfinite([value, other, moved]).all():
        return Interval.unknown(Kind.ESTIMATED)
    return Interval.within(value, safety * (abs(value - other) + moved) + 8 * U * abs(value), Kind.ESTIMATED)


def moved_by(
    function: Callable[[Array], float], state: Array, evaluations: int, tolerance: tuple[float, float] = (0.0, 0.0)
) -> float:
    """Return how much the rounding of that many evaluations, and one step, may have moved an observation of the state.

    Two runs may agree by chance, where the difference of their errors changes its sign; hence the tolerance of a step.
    """
    size = (2 * U * evaluations + tolerance[0]) * np.abs(state) + tolerance[1]
    odd = np.indices(state.shape).sum(axis=0) % 2  # neighbours in every direction go opposite ways: tokens and axes
    signs = np.where(odd, -1.0, 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = [float(function(state + displaced)) for displaced in (size, signs * size)]
    here = float(function(state))
    return float(max(abs(value - here) for value in values))
