r"""Explicit Runge-Kutta methods of fixed step, on flat space and on the sphere, each a tableau of exact rationals.

A method is data: :math:`k_i = f(t + c_i h, x + h\sum_j a_{ij}k_j)` and :math:`x \mapsto x + h\sum_i b_i k_i`. On a
product of unit spheres every step is made in a chart of its own about the present point :math:`x`: with
:math:`v \perp x`, :math:`y = x + v` and the projective retraction :math:`R = y/|y|`, the equation :math:`R' = f(R)`
reads :math:`v' = |y|\,(f(R) - \langle x, f(R)\rangle y)`, which is integrated from :math:`v = 0` in flat space. So the
order is the tableau's, the state stays on the sphere, and a normal part of the field has no effect. The first-order
method is then the step :math:`x \mapsto (x + hf)/|x + hf|`.

References
----------
E. Hairer, S. P. Nørsett and G. Wanner, *Solving Ordinary Differential Equations I*, 2nd ed., Springer 1993, II.1-2.
E. Hairer, C. Lubich and G. Wanner, *Geometric Numerical Integration*, 2nd ed., Springer 2006, IV.5.3 (local
coordinates).
J. C. Butcher, *J. Austral. Math. Soc.* 4 (1964), 179-194 (order six in seven stages).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_callable, as_count, as_instance, as_number, as_positive, as_real, as_text

Array = NDArray[np.float64]
Field: TypeAlias = "Callable[[Array], Array] | Callable[[float, Array], Array]"


class Space(Enum):
    """Where the state lives."""

    FLAT = "flat"
    SPHERE = "sphere"
    """Rows of the state are unit vectors."""


FLAT, SPHERE = Space.FLAT, Space.SPHERE


@dataclass(frozen=True, slots=True)
class Method:
    """A tableau; only its shape is checked, for what its numbers are worth is a theorem.

    Parameters
    ----------
    name : str
        How it is called.
    order : int
        The order that its source states.
    a : tuple of tuples of Fraction
        Row ``i`` has ``i`` entries: a stage uses those before it.
    b, c : tuple of Fraction, length s
        Weights, and the parts of the step at which the stages lie.
    source : str
        Where the numbers are from.

    Raises
    ------
    ValueError
        If the lengths do not make an explicit tableau or ``order < 1``.
    TypeError
        If an entry is no ``Fraction``.
    """

    name: str
    order: int
    a: tuple[tuple[Fraction, ...], ...]
    b: tuple[Fraction, ...]
    c: tuple[Fraction, ...]
    source: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", as_count(self.order, "order"))
        for name in ("name", "source"):
            as_text(getattr(self, name), name)
        for name in ("a", "b", "c"):
            as_instance(getattr(self, name), name, tuple)
        if [len(row) for row in self.a] != list(range(len(self.b))) or len(self.c) != len(self.b) or not self.b:
            raise ValueError(
                f"a, b, c: expected an explicit tableau with rows of 0, 1, ... entries and as many weights and nodes, "
                f"got rows of {[len(row) for row in self.a]}, {len(self.b)} weights, {len(self.c)} nodes"
            )
        for entry in (*self.b, *self.c, *(entry for row in self.a for entry in row)):
            if not isinstance(entry, Fraction):
                raise TypeError(f"a, b, c: expected Fractions, got {type(entry).__name__}")

    @property
    def stages(self) -> int:
        """How often a step evaluates the field."""
        return len(self.b)


def _method(name: str, order: int, rows: str, weights: str, nodes: str, source: str) -> Method:
    def read(text: str) -> tuple[Fraction, ...]:
        return tuple(Fraction(word) for word in text.split())

    return Method(name, order, ((), *(read(row) for row in rows.split(",") if row)), read(weights), read(nodes), source)


EULER = _method("Euler", 1, "", "1", "0", "Euler 1768")
HEUN = _method("Heun", 2, "1", "1/2 1/2", "0 1", "Heun 1900")
RK4 = _method(
    "Kutta", 4, "1/2, 0 1/2, 0 0 1", "1/6 1/3 1/3 1/6", "0 1/2 1/2 1", "Kutta 1901, the classical method",
)  # fmt: skip
BUTCHER6 = _method(
    "Butcher", 6,
    "1/3, 0 2/3, 1/12 1/3 -1/12, -1/16 9/8 -3/16 -3/8, 0 9/8 -3/8 -3/4 1/2, 9/44 -9/11 63/44 18/11 0 -16/11",
    "11/120 0 27/40 27/40 -4/15 -4/15 11/120", "0 1/3 2/3 1/3 1/2 1/2 1", "Butcher 1964",
)  # fmt: skip
METHODS = (EULER, HEUN, RK4, BUTCHER6)


def integrate(
    field: Field, start: ArrayLike, *, step: float, steps: int, method: Method = RK4, space: Space = FLAT,
    time: float | None = None,
) -> Array:  # fmt: skip
    """Make ``steps`` steps of length ``step`` and return the final state.

    Parameters
    ----------
    field : callable
        ``field(x)``, or ``field(t, x)`` if ``time`` is given; takes and returns an array of the shape of ``start``.
    start : array_like
        Initial state, of any shape; on the sphere (n, d) with rows of length one.
    step : float
        Length of a step, in the unit of time; positive.
    steps : int
        Number of steps, at least 0.
    method : Method, default RK4
        The tableau.
    space : Space, default FLAT
        ``SPHERE`` steps in charts of the unit sphere.
    time : float, optional
        Initial time, for a field that depends on it.

    Returns
    -------
    ndarray
        The state at the end, float64; the stages are all that is held besides it.

    Raises
    ------
    ValueError
        If ``start`` is not finite, does not lie where ``space`` says, or the field returns another shape.
    OverflowError
        If the state leaves float64.
    """
    stepper = RungeKutta(field, step, method, space, time)
    x = stepper.checked(start)
    for number in range(as_count(steps, "steps", least=0)):
        x = stepper(number, x)
    return x


def as_state(value: ArrayLike, space: Space, name: str = "start") -> Array:
    """Convert to a state in ``space``; unit vectors must be so up to the rounding of their own normalisation."""
    x = as_real(value, name).copy()
    if x.size == 0:
        raise ValueError(f"{name}: expected a state, got shape {x.shape}")
    if not isinstance(space, Space):
        raise TypeError(f"space: expected FLAT or SPHERE, got {space!r}")
    if space is SPHERE:
        if x.ndim != 2 or x.shape[1] < 2:
            raise ValueError(f"{name}: expected shape (n, d) with d >= 2 on the sphere, got shape {x.shape}")
        off = np.abs(np.einsum("ij,ij->i", x, x) - 1.0)
        if not float(off.max()) <= (x.shape[1] + 8) * 2.0**-51:
            at = int(off.argmax())
            raise ValueError(
                f"{name}: expected rows of length 1, got length {float(np.linalg.norm(x[at]))!r} in row {at}"
            )
    return x


@dataclass(frozen=True, slots=True, eq=False)
class RungeKutta:
    """One step of a method, as a value that can be called and fingerprinted.

    Parameters
    ----------
    field, step, method, space, time
        As in :func:`integrate`.
    """

    field: Field
    step: float
    method: Method = RK4
    space: Space = FLAT
    time: float | None = None

    def __post_init__(self) -> None:
        as_callable(self.field, "field")
        object.__setattr__(self, "step", as_positive(self.step, "step"))
        if not isinstance(self.space, Space):
            raise TypeError(f"space: expected FLAT or SPHERE, got {self.space!r}")
        if not isinstance(self.method, Method):
            raise TypeError(f"method: expected a Method, got {type(self.method).__name__}")
        if self.time is not None:
            object.__setattr__(self, "time", as_number(self.time, "time"))

    def checked(self, start: ArrayLike) -> Array:
        """Convert a state to float64, or say what is wrong with it."""
        return as_state(start, self.space)

    def __call__(self, number: int, x: Array, /) -> Array:
        """Return the state after step ``number``, counted from zero, of a state that was checked before."""
        clock = None if self.time is None else self.time + number * self.step

        def slope(node: Fraction, point: Array) -> Array:
            value = self.field(point) if clock is None else self.field(clock + self.step * float(node), point)  # type: ignore[call-arg,arg-type]
            if np.shape(value) != x.shape:
                raise ValueError(f"field: expected a value of shape {x.shape}, got shape {np.shape(value)}")
            return np.asarray(value, dtype=np.float64)

        on_sphere = self.space is SPHERE
        origin = np.zeros_like(x) if on_sphere else x
        stages: list[Array] = []
        for row, node in zip(self.method.a, self.method.c, strict=True):
            point = _combined(origin, row, stages, self.step)
            rate = partial(slope, node)
            stages.append(chart_rate(rate, x, point) if on_sphere else rate(point))
        moved = _combined(origin, self.method.b, stages, self.step)
        if on_sphere:
            moved = retracted(x, moved)
        if not np.isfinite(moved).all():
            raise OverflowError("state: expected finite numbers, but a step left float64 (is it too long?)")
        return moved


def retracted(x: Array, v: Array) -> Array:
    """Return the points of the sphere that lie in the directions ``x + v``."""
    y = x + v
    unit: Array = y / np.sqrt(np.einsum("ij,ij->i", y, y))[:, np.newaxis]
    return unit


def chart_rate(field: Callable[[Array], Array], x: Array, v: Array) -> Array:
    """Return the velocity of the coordinates ``v`` about ``x`` under a field on the sphere."""
    y = x + v
    length = np.sqrt(np.einsum("ij,ij->i", y, y))[:, np.newaxis]
    f = field(y / length)
    rate: Array = length * (f - np.einsum("ij,ij->i", x, f)[:, np.newaxis] * y)
    return rate


def _combined(origin: Array, weights: tuple[Fraction, ...], stages: list[Array], step: float) -> Array:
    """Return the origin plus the weighted stages; weights of zero cost nothing."""
    parts = [(step * float(weight), stage) for weight, stage in zip(weights, stages, strict=True) if weight]
    if not parts:
        return origin
    total = parts[0][0] * parts[0][1]
    for weight, stage in parts[1:]:
        total += weight * stage
    return np.asarray(origin + total)
