r"""Attention with additive noise: schemes of weak order one and two in flat space, and walks on the sphere.

In flat space (angles among them) :math:`dX = f(X)\,dt + \sigma\,dW`. The scheme of Euler and Maruyama adds
:math:`hf(x) + \sigma\,\Delta W`; Platen's averages the drift at both ends, :math:`x + \tfrac h2(f(x) + f(\bar x)) +
\sigma\,\Delta W` with :math:`\bar x` the step of Euler and Maruyama. On the sphere the noise is Brownian motion, whose
generator is :math:`\tfrac{\sigma^2}2\Delta`: with :math:`v = P^\perp_x(hf(x) + \sigma\,\Delta W)` a step goes along the
geodesic, to :math:`\cos|v|\,x + \sin|v|\,v/|v|`, or to :math:`(x + v)/|x + v|`, which differ by the third order of
:math:`v`. No correction of the drift is needed, for both curve towards the centre by :math:`\tfrac12|v|^2`.

The normal numbers of a step depend on a key, the number of the step and that of the row, and on nothing that was drawn
before: a run can be cut in time, and independent rows in memory, without a change of a byte.

References
----------
P. E. Kloeden and E. Platen, *Numerical Solution of Stochastic Differential Equations*, Springer 1992, 10.2 and 15.1.

E. P. Hsu, *Stochastic Analysis on Manifolds*, American Mathematical Society 2002.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_callable, as_count, as_generator, as_having, as_points, as_positive
from theory.particles.dynamics.runge_kutta import FLAT, SPHERE, Space, as_state, retracted

Array = NDArray[np.float64]
BLOCK = 4096  # rows drawn from one stream; part of what the numbers are
_WORD = 2**64


@dataclass(frozen=True, slots=True)
class Scheme:
    """What is known of a scheme.

    Parameters
    ----------
    name : str
        How it is called.
    weak : int
        Order of the error of expectations.
    strong : int or None
        Order of the error of a path under additive noise; ``None`` where none is stated.
    space : Space
        Where it lives.
    """

    name: str
    weak: int
    strong: int | None
    space: Space


EULER_MARUYAMA = Scheme("Euler-Maruyama", 1, 1, FLAT)
PLATEN = Scheme("Platen", 2, 1, FLAT)
GEODESIC = Scheme("geodesic walk", 1, None, SPHERE)
PROJECTED = Scheme("projected walk", 1, None, SPHERE)
SCHEMES = (EULER_MARUYAMA, PLATEN, GEODESIC, PROJECTED)


@dataclass(frozen=True, slots=True)
class Noise:
    """Standard normal numbers by a key (Philox, a generator that counts).

    Parameters
    ----------
    first, second : int
        The key: two words of 64 bits.

    Raises
    ------
    ValueError
        If a word is negative or too large.
    """

    first: int
    second: int

    def __post_init__(self) -> None:
        for name in ("first", "second"):
            word = as_count(getattr(self, name), name, least=0)
            if word >= _WORD:
                raise ValueError(f"{name}: expected a word of 64 bits, got {word}")
            object.__setattr__(self, name, word)

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> Noise:
        """Draw a key."""
        first, second = as_generator(rng).integers(_WORD, size=2, dtype=np.uint64, endpoint=False).tolist()
        return cls(first, second)

    def normals(self, number: int, rows: int, columns: int, *, above: int = 0) -> Array:
        """Return the numbers of step ``number`` of ``rows`` rows that have ``above`` rows above them.

        Raises
        ------
        ValueError
            If ``above`` is no multiple of ``BLOCK``, a size is not positive or a number is negative.
        """
        count = as_count(number, "number", least=0)
        skipped = as_count(above, "above", least=0)
        if skipped % BLOCK:
            raise ValueError(f"above: expected a multiple of {BLOCK}, got {skipped}")
        found = np.empty((as_count(rows, "rows"), as_count(columns, "columns")))
        for start in range(0, len(found), BLOCK):
            counter = np.array([0, 0, (skipped + start) // BLOCK, count], dtype=np.uint64)
            bits = np.random.Philox(key=np.array([self.first, self.second], dtype=np.uint64), counter=counter)
            part = found[start : start + BLOCK]
            part[...] = np.random.Generator(bits).standard_normal(part.shape)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Diffusion:
    r"""One step of :math:`dX = f(X)\,dt + \sigma\,dW`, as a value that can be called and fingerprinted.

    Parameters
    ----------
    drift : callable or None
        The field :math:`f`, from (n, d) to (n, d); none for noise alone.
    sigma : float
        Size of the noise, in units of the state per root of the unit of time; positive.
    step : float
        Length of a step; positive.
    noise : Noise
        Key of the increments.
    scheme : Scheme, default EULER_MARUYAMA
    above : int, default 0
        How many rows of a larger state lie above those of this one; a multiple of ``BLOCK``.
    """

    drift: Callable[[Array], Array] | None
    sigma: float
    step: float
    noise: Noise
    scheme: Scheme = EULER_MARUYAMA
    above: int = 0

    def __post_init__(self) -> None:
        if self.drift is not None:
            as_callable(self.drift, "drift")
        for name in ("sigma", "step"):
            object.__setattr__(self, name, as_positive(getattr(self, name), name))
        as_having(self.noise, "noise", "normals")
        object.__setattr__(self, "above", as_count(self.above, "above", least=0))
        if self.above % BLOCK:
            raise ValueError(f"above: expected a multiple of {BLOCK}, got {self.above}")
        if self.scheme not in SCHEMES:
            raise ValueError(f"scheme: expected one of {', '.join(s.name for s in SCHEMES)}, got {self.scheme!r}")

    def checked(self, start: ArrayLike) -> Array:
        """Convert a state to float64, or say what is wrong with it."""
        x = as_state(start, self.scheme.space)
        if x.ndim != 2 or x.size == 0:
            raise ValueError(f"start: expected a non-empty state of shape (n, d), got shape {x.shape}")
        return x

    def __call__(self, number: int, x: Array, /) -> Array:
        """Return the state after step ``number``, counted from zero, of a state that was checked before."""
        drawn = self.noise.normals(number, *x.shape, above=self.above)
        return self._moved(x, np.sqrt(self.step) * drawn)

    def moved(self, x: Array, increment: Array) -> Array:
        """Return the state after one step with the given increment of Brownian motion, of the shape of ``x``."""
        given = as_points(x, "x")
        return self._moved(given, as_points(increment, "increment", size=given.shape[0], dim=given.shape[1]))

    def _moved(self, x: Array, increment: Array) -> Array:
        f = self._drifted(x)
        kick = self.sigma * increment
        ahead: Array = x + self.step * f + kick
        if self.scheme == PLATEN:
            ahead = x + 0.5 * self.step * (f + self._drifted(ahead)) + kick
        elif self.scheme.space is SPHERE:
            v = self.step * f + kick
            v -= np.einsum("ij,ij->i", x, v)[:, np.newaxis] * x
            ahead = retracted(x, v) if self.scheme == PROJECTED else _along(x, v)
        if not np.isfinite(ahead).all():
            raise OverflowError("state: expected finite numbers, but a step left float64 (is it too long?)")
        return ahead

    def _drifted(self, x: Array) -> Array:
        value = np.zeros_like(x) if self.drift is None else np.asarray(self.drift(x), dtype=np.float64)
        if value.shape != x.shape:
            raise ValueError(f"drift: expected a value of shape {x.shape}, got shape {value.shape}")
        return value


def _along(x: Array, v: Array) -> Array:
    """Return the ends of geodesics from ``x`` with tangents ``v``, of length one to rounding."""
    length = np.sqrt(np.einsum("ij,ij->i", v, v))[:, np.newaxis]
    ends = np.cos(length) * x + np.sinc(length / np.pi) * v
    unit: Array = ends / np.sqrt(np.einsum("ij,ij->i", ends, ends))[:, np.newaxis]
    return unit


def sample(stepper: Diffusion, start: ArrayLike, *, steps: int, first: int = 0) -> Array:
    """Make ``steps`` steps from the state ``start`` before step ``first`` and return the final state.

    Raises
    ------
    ValueError
        If ``start`` is not finite, not of shape (n, d), or does not lie where the scheme lives.
    OverflowError
        If the state leaves float64.
    """
    as_having(stepper, "stepper", "checked")
    x = stepper.checked(start)
    begin = as_count(first, "first", least=0)
    for number in range(begin, begin + as_count(steps, "steps", least=0)):
        x = stepper(number, x)
    return x
